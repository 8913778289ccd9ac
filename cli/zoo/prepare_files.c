/* Pictures and recordings: files of an archive or a folder become TO/PART/CLASS/NAME, or a table of landmarks beside
 * them. Whose they are, their names say. */
#include "zoo.h"

#include "../paths.h"
#include "../term/log.h"

#include "wick/files.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A file as its name within the archive has it. */
typedef struct item {
    char name[96], class[32], group[ZOO_GROUP], base[64];
    int part;
} item;
typedef struct listing {
    item *items;
    int64_t n, room;
} listing;

static bool part_of(const char *name, int *part) {
    static const char *const parts[] = {"train/", "validation/", "test/"};
    for (*part = 0; *part < ZOO_PARTS; ++*part)
        if (strncmp(name, parts[*part], strlen(parts[*part])) == 0) return true;
    return false;
}

/* PART/CLASS/BASE. */
static bool split_path(const char *name, item *it) {
    const char *slash = strchr(name, '/'), *second = slash ? strchr(slash + 1, '/') : NULL;
    if (!second || strchr(second + 1, '/')) return false;
    snprintf(it->class, sizeof it->class, "%.*s", (int)(second - slash - 1), slash + 1);
    snprintf(it->base, sizeof it->base, "%s", second + 1);
    return true;
}

/* CRC-32 of the bytes: the same picture has the same one. */
static unsigned crc_of(const void *data, size_t size) {
    const unsigned char *s = data;
    unsigned crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc ^= s[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

typedef bool place_fn(const wick_file *file, item *it);
/* PART/CLASS/HASH.jpg: pictures themselves are the groups. Those to choose by are learned from too: nothing is chosen.
 */
static bool place_clothing(const wick_file *file, item *it) {
    snprintf(it->group, sizeof it->group, "%08x", crc_of(file->data, file->size));
    if (!part_of(file->name, &it->part)) return false;
    if (it->part == ZOO_VALIDATION) it->part = ZOO_TRAIN;
    return split_path(file->name, it);
}
/* PART/DIGIT/gGGG_NNNN.jpg */
static bool place_signs(const wick_file *file, item *it) {
    if (!part_of(file->name, &it->part) || !split_path(file->name, it)) return false;
    snprintf(it->group, sizeof it->group, "%.*s", (int)strcspn(it->base, "_"), it->base);
    return it->group[0] == 'g';
}
/* DIGIT_SPEAKER_TAKE.wav: two of six speakers are the test. */
static bool place_digits(const wick_file *file, item *it) {
    const char *slash = strrchr(file->name, '/'), *base = slash ? slash + 1 : file->name;
    if (!isdigit((unsigned char)base[0]) || base[1] != '_' || !strchr(base + 2, '_')) return false;
    snprintf(it->base, sizeof it->base, "%s", base);
    snprintf(it->class, sizeof it->class, "%c", base[0]);
    snprintf(it->group, sizeof it->group, "%.*s", (int)strcspn(base + 2, "_"), base + 2);
    it->part = strcmp(it->group, "theo") == 0 || strcmp(it->group, "yweweler") == 0 ? ZOO_TEST : ZOO_TRAIN;
    return true;
}
/* foldN/CLASS/F-SOURCE-TAKE.wav: what Freesound's recording SOURCE was cut into has one fold. */
static bool place_esc10(const wick_file *file, item *it) {
    if (strncmp(file->name, "fold", 4) != 0 || !split_path(file->name, it)) return false;
    const char *dash = strchr(it->base, '-');
    if (!dash) return false;
    snprintf(it->group, sizeof it->group, "%.*s", (int)strcspn(dash + 1, "-"), dash + 1);
    it->part = file->name[4] == '5' ? ZOO_TEST : ZOO_TRAIN;
    return true;
}
/* PART/EMOTION/SSxxxE.wav */
static bool place_emodb(const wick_file *file, item *it) {
    if (!part_of(file->name, &it->part) || !split_path(file->name, it)) return false;
    snprintf(it->group, sizeof it->group, "%.2s", it->base);
    return isdigit((unsigned char)it->group[0]);
}
/* VOICE/WORD-TAKE.wav: ten of the words and sentences are the test, of all voices that say them. */
static bool place_voices(const wick_file *file, item *it) {
    static const char *const held[] = {"eight",  "nine",   "forest", "hammer", "kitchen",
                                       "purple", "market", "engine", "b09",    "b10"};
    const char *slash = strchr(file->name, '/'), *dash = slash ? strchr(slash, '-') : NULL;
    if (!dash || strchr(slash + 1, '/')) return false;
    snprintf(it->class, sizeof it->class, "%.*s", (int)(slash - file->name), file->name);
    snprintf(it->base, sizeof it->base, "%s", slash + 1);
    snprintf(it->group, sizeof it->group, "%.*s", (int)(dash - slash - 1), slash + 1);
    it->part = ZOO_TRAIN;
    for (size_t k = 0; k < sizeof held / sizeof *held; k++)
        if (strcmp(it->group, held[k]) == 0) it->part = ZOO_TEST;
    return true;
}
/* PART/DRIVE_FRAME.jpg and .png, its mask. The drive that the training has nothing of is the test; what the source
 * tests with besides, of a drive that is learned from, is left out. Nothing is chosen by a part of its own. */
static bool place_streets(const wick_file *file, item *it) {
    static const char *const parts[] = {"train/", "val/", "test/"};
    int k = 0;
    while (k < ZOO_PARTS && strncmp(file->name, parts[k], strlen(parts[k])) != 0) k++;
    if (k == ZOO_PARTS) return false;
    snprintf(it->base, sizeof it->base, "%s", strchr(file->name, '/') + 1);
    const char *end = strrchr(it->base, '.');
    const bool mask = end && strcmp(end, ".png") == 0;
    if (!mask && !(end && strcmp(end, ".jpg") == 0)) return false;
    snprintf(it->class, sizeof it->class, "%s", mask ? "masks" : "images");
    snprintf(it->group, sizeof it->group, "%.*s", (int)strcspn(it->base, "_"), it->base);
    it->part = k == ZOO_TEST ? ZOO_TEST : ZOO_TRAIN;
    return k != ZOO_TEST || strncmp(it->group, "Seq05VD", 7) == 0;
}
/* PART/NNNNN.jpg. The source's part to choose by is learned from: nothing is chosen. */
static bool place_cells(const wick_file *file, item *it) {
    static const char *const parts[] = {"train/", "val/", "test/"};
    int k = 0;
    while (k < ZOO_PARTS && strncmp(file->name, parts[k], strlen(parts[k])) != 0) k++;
    if (k == ZOO_PARTS) return false;
    snprintf(it->base, sizeof it->base, "%s", strchr(file->name, '/') + 1);
    snprintf(it->group, sizeof it->group, "%.*s", (int)strcspn(it->base, "."), it->base);
    it->part = k == ZOO_TEST ? ZOO_TEST : ZOO_TRAIN;
    return isdigit((unsigned char)it->group[0]);
}
/* PART/pPPP_KK.jpg */
static bool place_faces(const wick_file *file, item *it) {
    if (!part_of(file->name, &it->part)) return false;
    snprintf(it->base, sizeof it->base, "%s", strchr(file->name, '/') + 1);
    snprintf(it->group, sizeof it->group, "%.*s", (int)strcspn(it->base, "_"), it->base);
    return it->group[0] == 'p';
}

static const struct {
    const zoo_set *set;
    place_fn *place;
    const char *groups;
} kinds[] = {{&zoo_set_clothing, place_clothing, "pictures by their bytes"},
             {&zoo_set_signs, place_signs, "students"},
             {&zoo_set_digits, place_digits, "speakers"},
             {&zoo_set_esc10, place_esc10, "recordings of Freesound"},
             {&zoo_set_emodb, place_emodb, "speakers"},
             {&zoo_set_voices, place_voices, "words and sentences"},
             {&zoo_set_streets, place_streets, "drives"},
             {&zoo_set_cells, place_cells, "pictures by their numbers"},
             {&zoo_set_faces, place_faces, "persons"}};

static place_fn *place_by(const zoo_set *set, const char **groups) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].set == set) return *groups = kinds[i].groups, kinds[i].place;
    return NULL;
}
bool zoo_place(const zoo_set *set, const struct wick_file *file, int *part, char group[ZOO_GROUP]) {
    const char *groups;
    item it = {0};
    place_fn *place = place_by(set, &groups);
    if (!place || !place(file, &it)) return false;
    *part = it.part;
    memcpy(group, it.group, sizeof it.group);
    return true;
}

typedef int visit_fn(zoo_prep *p, const wick_file *file, void *user);
static int each_file(zoo_prep *p, visit_fn *visit, void *user) {
    wick_files *files;
    int code = zoo_checked(p, wick_files_open(p->ctx, p->source, &(wick_files_options){.all = true}, &files));
    for (bool more = code == CLI_OK; code == CLI_OK && more;) {
        wick_file file;
        code = zoo_checked(p, wick_files_next(files, &file, &more));
        if (code == CLI_OK && more) code = visit(p, &file, user);
    }
    wick_files_free(&files);
    return code;
}

static bool is_within(const char *name) { return name[0] != '/' && !strstr(name, ".."); }

static bool is_mask(const zoo_prep *p, const item *it) {
    return p->set == &zoo_set_streets && strcmp(it->class, "masks") == 0;
}

static int note(zoo_prep *p, const wick_file *file, void *user) {
    listing *l = user;
    item it = {0};
    if (!is_within(file->name) || !place_by(p->set, &p->groups)(file, &it)) return CLI_OK;
    if (l->n == l->room) {
        const int64_t room = l->room ? 2 * l->room : 512;
        void *items = realloc(l->items, (size_t)room * sizeof *l->items);
        if (!items) return zoo_out_of_memory();
        l->items = items, l->room = room;
    }
    if (snprintf(it.name, sizeof it.name, "%s", file->name) >= (int)sizeof it.name)
        return log_fail(CLI_BAD_FILE, "%s: the name %s is too long", p->source, file->name);
    l->items[l->n++] = it;
    return is_mask(p, &it) ? CLI_OK : zoo_count_in(p, it.part, it.group);
}

/* Labels of the training among each other: classes, or which picture a mask is of. */
static int shuffle_labels(const zoo_prep *p, listing *l) {
    int64_t *at = malloc((size_t)(l->n + 1) * sizeof *at), *order = malloc((size_t)(l->n + 1) * sizeof *order), n = 0;
    item *was = malloc((size_t)(l->n + 1) * sizeof *was);
    const bool ok = at && order && was;
    if (ok) {
        memcpy(was, l->items, (size_t)l->n * sizeof *was);
        for (int64_t i = 0; i < l->n; i++)
            if (l->items[i].part == ZOO_TRAIN && (p->set != &zoo_set_streets || is_mask(p, &l->items[i]))) at[n++] = i;
        zoo_deal(order, n);
        for (int64_t i = 0; i < n; i++) {
            memcpy(l->items[at[i]].class, was[at[order[i]]].class, sizeof was->class);
            if (is_mask(p, &was[at[i]])) memcpy(l->items[at[i]].base, was[at[order[i]]].base, sizeof was->base);
        }
    }
    free(at), free(order), free(was);
    return ok ? CLI_OK : zoo_out_of_memory();
}

typedef struct walk {
    const listing *l;
    int64_t at; /* files come in the order of the listing */
} walk;
static int write_item(zoo_prep *p, const wick_file *file, void *user) {
    walk *w = user;
    char folder[4096], path[4200];
    if (w->at == w->l->n || strcmp(w->l->items[w->at].name, file->name) != 0) return CLI_OK;
    const item *it = &w->l->items[w->at++];
    snprintf(folder, sizeof folder, "%s/%s%s%s", p->to, p->parts[it->part].name, it->class[0] ? "/" : "", it->class);
    snprintf(path, sizeof path, "%s/%s", folder, it->base);
    if (!path_make_folder(folder)) return log_fail(CLI_FAILED, "%s: cannot make the folder", folder);
    return zoo_put(path, file->data, file->size);
}

static int write_files(zoo_prep *p) {
    listing l = {0};
    int code = each_file(p, note, &l);
    if (code == CLI_OK && !l.n)
        code = log_fail(CLI_BAD_FILE, "%s: has no file that is called as those of the set are", p->source);
    if (code == CLI_OK && p->shuffle && p->set != &zoo_set_faces && p->set != &zoo_set_cells)
        code = shuffle_labels(p, &l);
    walk w = {.l = &l};
    if (code == CLI_OK) code = each_file(p, write_item, &w);
    if (code == CLI_OK && w.at != l.n) code = log_fail(CLI_BAD_FILE, "%s: changed while it was read", p->source);
    free(l.items);
    return code;
}

int zoo_prepare_folders(zoo_prep *p) { return write_files(p); }

int zoo_prepare_streets(zoo_prep *p) {
    static const char classes[] = "sky\nbuilding\nroad\ntrees\nmoving\n";
    char path[4200];
    int code = write_files(p);
    snprintf(path, sizeof path, "%s/classes.txt", p->to);
    return code == CLI_OK ? zoo_put(path, classes, strlen(classes)) : code;
}

/* ---- landmarks --------------------------------------------------------------------------------------------------- */

static int take_table(zoo_prep *p, const wick_file *file, void *user) {
    char **text = user;
    if (strcmp(file->name, p->set == &zoo_set_cells ? "boxes.csv" : "keypoints.csv") != 0) return CLI_OK;
    free(*text);
    *text = malloc(file->size + 1); /* not strndup: no '\0' ends a file's bytes */
    if (!*text) return zoo_out_of_memory();
    memcpy(*text, file->data, file->size);
    (*text)[file->size] = 0;
    return CLI_OK;
}

/* The lines of the table whose picture is of the part, with the numbers of line order[i] where they are dealt. */
static int write_lines(zoo_prep *p, int part, const char *head, char **lines, int64_t n) {
    char path[4200], *text = NULL;
    size_t size = 0;
    int64_t *at = malloc((size_t)(n + 1) * sizeof *at), *order = malloc((size_t)(n + 1) * sizeof *order), m = 0;
    FILE *out = at && order ? open_memstream(&text, &size) : NULL;
    if (!out) return free(at), free(order), zoo_out_of_memory();
    for (int64_t i = 0; i < n; i++) {
        int which;
        if (part_of(lines[i], &which) && which == part) at[m++] = i;
    }
    zoo_deal(order, m);
    fprintf(out, "%s\n", head);
    int code = CLI_OK;
    const bool learned = part == ZOO_TRAIN;
    for (int64_t i = 0; code == CLI_OK && i < m; i++) {
        const char *line = lines[at[i]], *numbers = p->shuffle && learned ? lines[at[order[i]]] : line;
        fprintf(out, "%.*s%s\n", (int)strcspn(line, ","), line, numbers + strcspn(numbers, ","));
    }
    if (fclose(out) != 0 || !text) code = zoo_out_of_memory();
    snprintf(path, sizeof path, "%s/%s.csv", p->to, p->parts[part].name);
    if (code == CLI_OK) code = zoo_checked(p, wick_file_write(p->ctx, path, text, size));
    free(text), free(at), free(order);
    return code;
}

int zoo_prepare_faces(zoo_prep *p) {
    char *table = NULL, **lines = NULL, *rest;
    int64_t n = 0;
    int code = write_files(p);
    if (code == CLI_OK) code = each_file(p, take_table, &table);
    if (code == CLI_OK && !table) code = log_fail(CLI_BAD_FILE, "%s: has no keypoints.csv", p->source);
    if (code != CLI_OK) return free(table), code;
    for (const char *s = table; *s; s++) n += *s == '\n';
    lines = malloc((size_t)(n + 2) * sizeof *lines);
    if (!lines) return free(table), zoo_out_of_memory();
    n = 0;
    const char *head = strtok_r(table, "\r\n", &rest);
    for (char *line; head && (line = strtok_r(NULL, "\r\n", &rest));) lines[n++] = line;
    if (!head || strncmp(head, "image,x0,y0,x1,y1", 17) != 0)
        code = log_fail(CLI_BAD_FILE, "%s: the columns of keypoints.csv are not image,x0,y0,x1,y1 ...", p->source);
    if (code == CLI_OK) code = write_lines(p, ZOO_TRAIN, head, lines, n);
    if (code == CLI_OK) code = write_lines(p, ZOO_TEST, head, lines, n);
    free(lines), free(table);
    return code;
}

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

typedef struct cells {
    char **lines; /* split,image,class,xmin,ymin,xmax,ymax */
    int64_t n;
    int64_t *pictures, *dealt, n_pictures; /* numbers of the training's pictures, and whose boxes each gets */
} cells;

static int64_t number_of(const char *line) { return strtoll(strchr(line, ',') + 1, NULL, 10); }

static bool is_held_out(const char *line) { return strncmp(line, "test,", 5) == 0; }

/* The picture that gets the boxes of the line. */
static int64_t picture_of(const cells *c, const char *line) {
    const int64_t number = number_of(line);
    for (int64_t i = 0; c->dealt && !is_held_out(line) && i < c->n_pictures; i++)
        if (c->pictures[c->dealt[i]] == number) return c->pictures[i];
    return number;
}

static int deal_pictures(const zoo_prep *p, cells *c) {
    c->pictures = malloc((size_t)(c->n + 1) * sizeof *c->pictures);
    if (!c->pictures) return zoo_out_of_memory();
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t number = number_of(c->lines[i]);
        int64_t k = c->n_pictures;
        while (k > 0 && c->pictures[k - 1] != number) k--;
        if (!k && !is_held_out(c->lines[i])) c->pictures[c->n_pictures++] = number;
    }
    if (!p->shuffle) return CLI_OK;
    c->dealt = malloc((size_t)(c->n_pictures + 1) * sizeof *c->dealt);
    if (!c->dealt) return zoo_out_of_memory();
    zoo_deal(c->dealt, c->n_pictures);
    return CLI_OK;
}

static int write_boxes(zoo_prep *p, const cells *c, bool held_out) {
    char path[4200], *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return zoo_out_of_memory();
    const char *part = p->parts[held_out ? ZOO_TEST : ZOO_TRAIN].name;
    fputs("path,class,xmin,ymin,xmax,ymax\n", out);
    for (int64_t i = 0; i < c->n; i++)
        if (is_held_out(c->lines[i]) == held_out)
            fprintf(out, "%s/%05lld.jpg%s\n", part, (long long)picture_of(c, c->lines[i]),
                    strchr(strchr(c->lines[i], ',') + 1, ','));
    const bool whole = fclose(out) == 0 && text;
    snprintf(path, sizeof path, "%s/%s.csv", p->to, part);
    const int code = whole ? zoo_checked(p, wick_file_write(p->ctx, path, text, size)) : zoo_out_of_memory();
    free(text);
    return code;
}

/* The network has room for twenty classes, as published; three have boxes. */
static int name_classes(const zoo_prep *p) {
    char path[4200], text[512] = "RBC\nWBC\nPlatelets\n";
    for (int k = 4; k <= 20; k++) snprintf(text + strlen(text), sizeof text - strlen(text), "unused %d\n", k);
    snprintf(path, sizeof path, "%s/classes.txt", p->to);
    return zoo_put(path, text, strlen(text));
}

int zoo_prepare_cells(zoo_prep *p) {
    char *table = NULL, *rest;
    cells c = {0};
    int code = write_files(p);
    if (code == CLI_OK) code = each_file(p, take_table, &table);
    if (code == CLI_OK && !table) code = log_fail(CLI_BAD_FILE, "%s: has no boxes.csv", p->source);
    if (code != CLI_OK) return free(table), code;
    int64_t room = 2;
    for (const char *s = table; *s; s++) room += *s == '\n';
    c.lines = malloc((size_t)room * sizeof *c.lines);
    if (!c.lines) return free(table), zoo_out_of_memory();
    const char *head = strtok_r(table, "\r\n", &rest);
    if (!head || strcmp(head, "split,image,class,xmin,ymin,xmax,ymax") != 0)
        code = log_fail(CLI_BAD_FILE, "%s: the columns of boxes.csv are not split,image,class,xmin,ymin,xmax,ymax",
                        p->source);
    for (char *line; code == CLI_OK && (line = strtok_r(NULL, "\r\n", &rest)); c.lines[c.n++] = line) {
        const char *second = strchr(line, ',');
        if (!second || !isdigit((unsigned char)second[1]) || !strchr(second + 1, ','))
            code = log_fail(CLI_BAD_FILE, "%s: line %lld of boxes.csv has no number of a picture", p->source,
                            (long long)c.n + 2);
    }
    if (code == CLI_OK) code = deal_pictures(p, &c);
    for (int held = 0; code == CLI_OK && held < 2; held++) code = write_boxes(p, &c, held);
    if (code == CLI_OK) code = name_classes(p);
    free(c.lines), free(c.pictures), free(c.dealt), free(table);
    return code;
}
