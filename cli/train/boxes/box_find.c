/* Where the boxes of a part of the data are: by the names of files and folders. */
#include "box_set.h"
#include "point_table.h"

#include "../source_kinds.h"
#include "../../paths.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const box_forms[] = {"", "a table", "COCO's JSON", "YOLO's texts", "Pascal VOC's XML"};

static const char *const of_pictures[] = {"images", "image", "imgs", "img", "pictures", "JPEGImages", ""},
                         *const of_labels[] = {"labels", "label", "annotations", "Annotations", "boxes", "xml", ""};
enum { PICTURES = sizeof of_pictures / sizeof *of_pictures, LABELS = sizeof of_labels / sizeof *of_labels };

static bool is_picture(const char *name) {
    static const char *const endings[] = {".jpg",  ".jpeg", ".png", ".webp", ".bmp", ".tif",
                                          ".tiff", ".gif",  ".pgm", ".ppm",  ".pnm"};
    bool is = false;
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) is |= source_ends(name, endings[k]);
    return is && name[0] != '.';
}

/* base/first/second, where first and second may be ""; false: too long, or no such folder. */
static bool folder(const char *base, const char *first, const char *second, char path[BOX_PATH]) {
    const int n = snprintf(path, BOX_PATH, "%s%s%s%s%s", base, *first ? "/" : "", first, *second ? "/" : "", second);
    return n > 0 && n < BOX_PATH && path_is_folder(path);
}

/* folder/STEM.ending, the stem being that of a picture. */
static bool label_path(const char *labels, const char *picture, const char *ending, char path[BOX_PATH]) {
    const char *dot = strrchr(picture, '.');
    const int n = snprintf(path, BOX_PATH, "%s/%.*s%s", labels, (int)(dot ? dot - picture : (long)strlen(picture)),
                           picture, ending);
    return n > 0 && n < BOX_PATH;
}

/* Whether a folder of pictures has labels of YOLO or VOC in another, or in itself. */
static box_form look_at_pair(const char *pictures, const char *labels) {
    char path[BOX_PATH];
    box_form form = BOX_NONE;
    DIR *dir = opendir(pictures);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e && !form; e = readdir(dir)) {
        if (!is_picture(e->d_name)) continue;
        if (label_path(labels, e->d_name, ".xml", path) && path_exists(path)) form = BOX_VOC;
        if (!form && label_path(labels, e->d_name, ".txt", path) && path_exists(path)) form = BOX_YOLO;
    }
    if (dir) closedir(dir);
    return form;
}

static bool find_pair(const char *data, const char *split, box_place *p) {
    for (int way = 0; way < 2; way++) /* the part's name outside, or inside */
        for (int i = 0; i < PICTURES; i++)
            for (int k = 0; k < LABELS; k++) {
                if (!(way ? folder(data, of_pictures[i], split, p->pictures) &&
                                folder(data, of_labels[k], split, p->labels)
                          : folder(data, split, of_pictures[i], p->pictures) &&
                                folder(data, split, of_labels[k], p->labels)))
                    continue;
                if (!*split && !*of_pictures[i] && *of_labels[k]) continue; /* DATA beside DATA/labels is no pair */
                p->form = look_at_pair(p->pictures, p->labels);
                if (p->form) return true;
            }
    return false;
}

static bool is_boxes(const char *path, char separator, box_place *p) {
    if (source_ends(path, ".csv") || source_ends(path, ".tsv"))
        p->form = box_is_csv(path, separator, NULL) ? BOX_CSV : BOX_NONE;
    else
        p->form = source_ends(path, ".json") && box_is_coco(path, &p->points) ? BOX_COCO : BOX_NONE;
    if (p->form) snprintf(p->file, sizeof p->file, "%s", path);
    return p->form != BOX_NONE;
}

/* instances_SPLIT*.json, or another beginning, in the folder of annotations. */
static bool find_begun(const char *data, const char *begins, const char *split, box_place *p) {
    char annotations[BOX_PATH], begin[80], path[BOX_PATH + 256];
    bool found = false;
    if (!folder(data, "annotations", "", annotations)) return false;
    snprintf(begin, sizeof begin, "%s_%s", begins, split);
    DIR *dir = opendir(annotations);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e && !found; e = readdir(dir)) {
        if (strncmp(e->d_name, begin, strlen(begin)) != 0 || !source_ends(e->d_name, ".json")) continue;
        snprintf(path, sizeof path, "%s/%s", annotations, e->d_name);
        found = strlen(path) < BOX_PATH && is_boxes(path, 0, p);
    }
    if (dir) closedir(dir);
    return found;
}

static bool find_file(const char *data, const char *split, char separator, box_place *p) {
    static const char *const of_part[] = {"%s.csv",
                                          "%s.tsv",
                                          "%s/boxes.csv",
                                          "%s.json",
                                          "annotations/%s.json",
                                          "%s/_annotations.csv",
                                          "%s/annotations.csv",
                                          "%s/_annotations.coco.json",
                                          "%s/annotations.json"},
                             *const of_all[] = {"boxes.csv",     "annotations.csv",  "_annotations.csv",
                                                "boxes.tsv",     "annotations.json", "_annotations.coco.json",
                                                "instances.json"};
    const size_t n = *split ? sizeof of_part / sizeof *of_part : sizeof of_all / sizeof *of_all;
    char name[128], path[BOX_PATH];
    for (size_t k = 0; k < n; k++) {
        const char *form = *split ? of_part[k] : of_all[k], *hole = strstr(form, "%s");
        snprintf(name, sizeof name, "%.*s%s%s", hole ? (int)(hole - form) : (int)strlen(form), form, hole ? split : "",
                 hole ? hole + 2 : "");
        if (snprintf(path, sizeof path, "%s/%s", data, name) < (int)sizeof path && path_exists(path) &&
            is_boxes(path, separator, p))
            return true;
    }
    return *split && find_begun(data, "instances", split, p);
}

/* The development kit of VOC: ImageSets/Main/SPLIT.txt lists the pictures of a part. */
static bool find_kit(const char *data, const char *split, box_place *p) {
    char main[BOX_PATH], part[64];
    if (!folder(data, "ImageSets", "Main", main) || !folder(data, "JPEGImages", "", p->pictures) ||
        !folder(data, "Annotations", "", p->labels))
        return false;
    snprintf(part, sizeof part, "%s.txt", split);
    const int n = snprintf(p->list, sizeof p->list, "%s/%s", main, part);
    if (n > 0 && n < (int)sizeof p->list && path_exists(p->list)) return p->form = BOX_VOC, true;
    return p->list[0] = '\0', false;
}

static bool find_part(const char *data, const char *split, char separator, box_place *p) {
    *p = (box_place){0};
    return find_file(data, split, separator, p) || (*split && find_kit(data, split, p)) || find_pair(data, split, p);
}

bool box_find(const char *data, const char *split, char separator, box_place *p) {
    static const char *const parts[] = {"train", "test", "val", "valid", "validation"};
    *p = (box_place){0};
    if (!path_is_folder(data)) return p->whole = true, path_exists(data) && is_boxes(data, separator, p);
    if (find_part(data, split, separator, p)) return true;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (find_part(data, parts[k], separator, p)) return *p = (box_place){0}, false;
    const bool found = find_part(data, "", separator, p);
    p->whole = true;
    return found;
}

bool box_find_points(const char *data, const char *split, box_place *p) {
    static const char *const parts[] = {"train", "test", "val", "valid", "validation"};
    if (box_find(data, split, 0, p) && p->form == BOX_COCO && p->points) return true;
    *p = (box_place){0};
    if (!path_is_folder(data)) return false;
    if (find_begun(data, "person_keypoints", split, p)) return p->points;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (find_begun(data, "person_keypoints", parts[k], p)) return *p = (box_place){0}, false;
    return false;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void free_names(char **names, int64_t n) {
    for (int64_t i = 0; i < n; i++) free(names[i]);
    free(names);
}

/* The pictures of a folder in order; -1: out of memory. */
static int64_t list_folder(const char *path, char ***names) {
    int64_t n = 0;
    bool ok = true;
    DIR *dir = opendir(path);
    *names = NULL;
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e && ok; e = readdir(dir)) {
        if (!is_picture(e->d_name)) continue;
        if ((n & (n - 1)) == 0) {
            char **more = realloc(*names, (size_t)(n ? 2 * n : 1) * sizeof *more);
            ok = more != NULL;
            if (ok) *names = more;
        }
        ok = ok && ((*names)[n] = strdup(e->d_name));
        n += ok;
    }
    if (dir) closedir(dir);
    if (!ok) return free_names(*names, n), -1;
    if (n) qsort(*names, (size_t)n, sizeof **names, by_name);
    return n;
}

/* Whether the list of a part names the picture, by its stem; text: the list, lines of names and what stands behind. */
static bool is_listed(const char *text, const char *picture) {
    const size_t n = (size_t)(strrchr(picture, '.') - picture);
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strcspn(at, " \t\r\n") == n && memcmp(at, picture, n) == 0) return true;
    return false;
}

static wick_status read_picture(wick_context *ctx, const box_place *p, const char *name, char *const *names,
                                int n_names, box_set *s) {
    char label[BOX_PATH];
    char *path = path_join(p->pictures, name);
    int64_t number;
    const bool fits = label_path(p->labels, name, p->form == BOX_VOC ? ".xml" : ".txt", label),
               there = fits && path_exists(label);
    wick_status status = path && fits ? WICK_OK : box_out_of_memory(ctx, p->pictures);
    if (status == WICK_OK) status = box_set_picture(ctx, s, path, name, there ? label : NULL, &number);
    free(path);
    if (status != WICK_OK || !there) return s->bare += status == WICK_OK, status;
    return p->form == BOX_VOC ? box_read_voc(ctx, label, number, s)
                              : box_read_yolo(ctx, label, number, (const char *const *)names, n_names, s);
}

static wick_status copy_names(wick_context *ctx, const box_set *s, char ***names, int *n) {
    *names = calloc((size_t)s->n_classes, sizeof **names);
    for (; *names && *n < s->n_classes; ++*n)
        if (!((*names)[*n] = strdup(s->classes[*n]))) return box_out_of_memory(ctx, "classes");
    return *names ? WICK_OK : box_out_of_memory(ctx, "classes");
}

static wick_status read_pairs(wick_context *ctx, const char *data, const box_place *p, box_set *s) {
    char **names = NULL, **pictures, *list = NULL;
    int n_names = 0;
    size_t size;
    const int64_t n = list_folder(p->pictures, &pictures);
    wick_status status = n < 0 ? box_out_of_memory(ctx, p->pictures) : WICK_OK;
    if (status == WICK_OK && p->list[0] && !(list = path_read(p->list, &size)))
        status = wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", p->list, strerror(errno));
    if (status == WICK_OK && p->form == BOX_YOLO) status = box_yolo_names(ctx, data, &names, &n_names);
    if (status == WICK_OK && p->form == BOX_YOLO && !n_names) status = box_yolo_names(ctx, p->labels, &names, &n_names);
    /* classes that are named are known, also those that no box has; numbers without names are those of the model */
    if (status == WICK_OK && n_names && !s->fixed) status = box_set_fix(ctx, s, n_names, (const char *const *)names);
    if (status == WICK_OK && p->form == BOX_YOLO && !n_names && s->fixed) status = copy_names(ctx, s, &names, &n_names);
    for (int64_t i = 0; i < n && status == WICK_OK; i++)
        if (!list || is_listed(list, pictures[i])) status = read_picture(ctx, p, pictures[i], names, n_names, s);
    if (status == WICK_OK && !s->n)
        status =
            wick_context_fail(ctx, WICK_ERR_IO, "%s: has none of the pictures", p->list[0] ? p->list : p->pictures);
    s->shares = p->form == BOX_YOLO;
    free_names(names, n_names);
    if (n > 0) free_names(pictures, n);
    free(list);
    return status;
}

/* A file classes.txt in the data's folder names the classes of tables and of VOC, in their order. */
static wick_status read_classes(wick_context *ctx, const char *data, box_set *s) {
    char **names = NULL, *path = path_is_folder(data) ? path_join(data, "classes.txt") : NULL;
    int n = 0;
    wick_status status = WICK_OK;
    if (path && path_exists(path)) status = box_yolo_names(ctx, data, &names, &n);
    if (status == WICK_OK && n) status = box_set_fix(ctx, s, n, (const char *const *)names);
    free_names(names, n);
    free(path);
    return status;
}

void box_coco_folders(const char *data, const char *split, const char *file, char (*paths)[BOX_PATH],
                      const char *folders[BOX_FOLDERS + 1]) {
    static const char *const begins[] = {"instances_", "person_keypoints_"};
    const char *const firsts[] = {split, "images", "images", ""}, *const seconds[] = {"images", split, "", ""};
    int n = 0;
    for (int k = 0; k < BOX_FOLDERS && path_is_folder(data); k++)
        if (folder(data, firsts[k], seconds[k], paths[n])) folders[n] = paths[n], n++;
    /* COCO's own folders have the year behind: train2017 beside instances_train2017.json */
    const char *base = strrchr(file, '/');
    for (size_t k = 0; base && k < sizeof begins / sizeof *begins && n < BOX_FOLDERS; k++) {
        const char *part = strstr(base, begins[k]);
        char year[64];
        if (!part) continue;
        part += strlen(begins[k]);
        snprintf(year, sizeof year, "%.*s", (int)strcspn(part, "."), part);
        if (folder(data, year, "", paths[n]) || folder(data, "images", year, paths[n])) folders[n] = paths[n], n++;
    }
    folders[n] = NULL;
}

static wick_status read_coco(wick_context *ctx, const char *data, const char *split, const box_place *p, box_set *s) {
    char paths[BOX_FOLDERS][BOX_PATH];
    const char *folders[BOX_FOLDERS + 1];
    box_coco_folders(data, split, p->file, paths, folders);
    return box_read_coco(ctx, p->file, folders, s);
}

wick_status box_read(wick_context *ctx, const char *data, const char *split, const box_place *p, char separator,
                     int n_fixed, const char *const *fixed, box_set *s) {
    *s = (box_set){0};
    wick_status status = WICK_OK;
    if (n_fixed)
        status = box_set_fix(ctx, s, n_fixed, fixed);
    else if (p->form == BOX_CSV || p->form == BOX_VOC)
        status = read_classes(ctx, data, s);
    if (status == WICK_OK)
        status = p->form == BOX_CSV    ? box_read_csv(ctx, p->file, split, separator, s)
                 : p->form == BOX_COCO ? read_coco(ctx, data, split, p, s)
                                       : read_pairs(ctx, data, p, s);
    if (status == WICK_OK) status = box_set_sort(ctx, s);
    if (status != WICK_OK) box_set_free(s);
    return status;
}
