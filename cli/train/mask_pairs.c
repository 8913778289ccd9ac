#include "mask_pairs.h"

#include "../paths.h"
#include "source_kinds.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PATH = 4096 };

static const char *const of_pictures[] = {"images", "image", "imgs", "img", "pictures"};
enum { PICTURES = sizeof of_pictures / sizeof *of_pictures, MOST_NAMES = 12 };
/* What belongs to pictures: how its folder is called, and what its name has behind its picture's. NULL ends a list. */
typedef struct pair_form {
    const char *folders[MOST_NAMES], *suffixes[MOST_NAMES];
    bool arrays; /* it may be a .npy */
} pair_form;
static const pair_form of_masks = {{"masks", "mask", "labels", "annotations", "segmentation"},
                                   {"", "_mask", "-mask", "_masks", "_label", "_labels", "_gt", "_seg", "_L"},
                                   false},
                       of_maps = {{"depth", "depths", "maps", "map", "dense", "disparity"},
                                  {"", "_depth", "-depth", "_map", "-map", "_dense", "_disparity"},
                                  true};
#define ARRAY ".npy"
/* The first LOSSY of these are no masks. */
static const char *const endings[] = {".jpg",  ".jpeg", ".webp", ".png", ".bmp", ".tif",
                                      ".tiff", ".gif",  ".pgm",  ".ppm", ".pnm"};
enum { ENDINGS = sizeof endings / sizeof *endings, LOSSY = 3 };

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void free_names(char **names, int64_t n) {
    for (int64_t i = 0; i < n; i++) free(names[i]);
    free(names);
}

/* The pictures of a folder, in order, and arrays; how many. */
static int64_t list(const char *folder, bool arrays, char ***names) {
    int64_t n = 0, room = 0;
    DIR *dir = opendir(folder);
    *names = NULL;
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        bool is = arrays && source_ends(e->d_name, ARRAY);
        for (int k = 0; k < ENDINGS; k++) is |= source_ends(e->d_name, endings[k]);
        if (!is || e->d_name[0] == '.') continue;
        if (n == room) {
            char **more = realloc(*names, (size_t)(room = 2 * room + 64) * sizeof **names);
            if (!more) break;
            *names = more;
        }
        if (!((*names)[n] = strdup(e->d_name))) break;
        n++;
        continue;
    }
    if (dir) closedir(dir);
    if (n) qsort(*names, (size_t)n, sizeof **names, by_name);
    return n;
}

static bool has_name(char *const *names, int64_t n, const char *name, int64_t *at) {
    char *const *found = n ? bsearch(&name, names, (size_t)n, sizeof *names, by_name) : NULL;
    *at = found ? found - names : -1;
    return found != NULL;
}

/* Which of the masks is that of a picture; -1: none. */
static int64_t mask_of(const pair_form *f, const char *picture, char *const *masks, int64_t n, bool same_folder) {
    char name[MOST_PATH];
    const char *dot = strrchr(picture, '.');
    bool lossy = false;
    int64_t at;
    for (int k = 0; k < LOSSY; k++) lossy |= source_ends(picture, endings[k]);
    for (int s = 0; f->arrays && f->suffixes[s]; s++) {
        snprintf(name, sizeof name, "%.*s%s" ARRAY, (int)(dot - picture), picture, f->suffixes[s]);
        if (has_name(masks, n, name, &at)) return at;
    }
    /* in one folder a.png is the mask of a.jpg, and not of a.bmp; and no map */
    for (int s = same_folder && (!lossy || f->arrays) ? 1 : 0; f->suffixes[s]; s++)
        for (int k = LOSSY; k < ENDINGS; k++) {
            snprintf(name, sizeof name, "%.*s%s%s", (int)(dot - picture), picture, f->suffixes[s], endings[k]);
            if (has_name(masks, n, name, &at)) return at;
        }
    return -1;
}

/* Pairs of names; the pictures' folder and the masks' may be one. */
static bool pair(const pair_form *f, const char *pictures, const char *masks, mask_pairs *out) {
    const bool same = strcmp(pictures, masks) == 0;
    char **names, **others;
    const int64_t n = list(pictures, f->arrays && same, &names), m = same ? 0 : list(masks, f->arrays, &others);
    char *const *from = same ? names : others;
    bool *is_mask = calloc((size_t)n + 1, sizeof *is_mask), ok = is_mask != NULL;
    int64_t *of = calloc((size_t)n + 1, sizeof *of);
    out->list = calloc((size_t)n + 1, sizeof *out->list);
    ok = ok && of && out->list;
    for (int64_t i = 0; ok && i < n; i++) {
        if (source_ends(names[i], ARRAY)) {
            is_mask[i] = true;
            continue;
        }
        of[i] = mask_of(f, names[i], from, same ? n : m, same);
        if (same && of[i] >= 0) is_mask[of[i]] = true;
    }
    for (int64_t i = 0; ok && i < n; i++) {
        if (is_mask[i]) continue;
        mask_pair *p = &out->list[out->n++];
        p->picture = path_join(pictures, names[i]);
        p->mask = of[i] >= 0 ? path_join(masks, from[of[i]]) : NULL;
        ok = p->picture && (p->mask || of[i] < 0);
        out->masks += of[i] >= 0;
    }
    free_names(names, n);
    if (!same) free_names(others, m);
    free(is_mask);
    free(of);
    return ok;
}

/* The folder base/first/second, where first and second may be "". */
static bool folder(const char *base, const char *first, const char *second, char path[MOST_PATH]) {
    const int n = snprintf(path, MOST_PATH, "%s%s%s%s%s", base, *first ? "/" : "", first, *second ? "/" : "", second);
    return n > 0 && n < MOST_PATH && path_is_folder(path);
}

/* The two folders of a part, or of all ("" for the split). */
static bool find_folders(const pair_form *f, const char *data, const char *split, char pictures[MOST_PATH],
                         char masks[MOST_PATH]) {
    for (int way = 0; way < 2; way++) /* the part's name outside, or inside */
        for (int p = 0; p < PICTURES; p++)
            for (int m = 0; f->folders[m]; m++)
                if (way ? folder(data, of_pictures[p], split, pictures) && folder(data, f->folders[m], split, masks)
                        : folder(data, split, of_pictures[p], pictures) && folder(data, split, f->folders[m], masks))
                    return true;
    return folder(data, split, "", pictures) && folder(data, split, "", masks);
}

static wick_status find(wick_context *ctx, const pair_form *f, const char *data, const char *split, mask_pairs *out) {
    static const char *const parts[] = {"train", "test", "val", "valid", "validation"};
    char pictures[MOST_PATH], masks[MOST_PATH], other[MOST_PATH], its[MOST_PATH];
    *out = (mask_pairs){0};
    bool there = find_folders(f, data, split, pictures, masks), parted = false;
    for (size_t k = 0; k < sizeof parts / sizeof *parts && !there; k++)
        parted |= find_folders(f, data, parts[k], other, its);
    if (!there && !parted) {
        there = find_folders(f, data, "", pictures, masks);
        out->whole = true;
    }
    if (there && !pair(f, pictures, masks, out)) {
        mask_pairs_free(out);
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", data);
    }
    if (out->masks) return WICK_OK;
    mask_pairs_free(out);
    if (f->arrays)
        return wick_context_fail(ctx, WICK_ERR_IO,
                                 "%s: has no pictures with maps for %s: %s/images/NAME.jpg and %s/depth/NAME.png or "
                                 "NAME.npy, or %s/NAME.jpg and %s/NAME_depth.png, or the same without %s",
                                 data, split, split, split, split, split, split);
    return wick_context_fail(ctx, WICK_ERR_IO,
                             "%s: has no pictures with masks for %s: %s/images/NAME.jpg and %s/masks/NAME.png, or "
                             "%s/NAME.jpg and %s/NAME.png, or the same without %s",
                             data, split, split, split, split, split, split);
}

wick_status mask_pairs_find(wick_context *ctx, const char *data, const char *split, mask_pairs *out) {
    return find(ctx, &of_masks, data, split, out);
}
wick_status mask_pairs_find_maps(wick_context *ctx, const char *data, const char *split, mask_pairs *out) {
    return find(ctx, &of_maps, data, split, out);
}

void mask_pairs_free(mask_pairs *pairs) {
    for (int64_t i = 0; i < pairs->n; i++) {
        free(pairs->list[i].picture);
        free(pairs->list[i].mask);
    }
    free(pairs->list);
    *pairs = (mask_pairs){0};
}
