/* Pictures with masks: a picture of the same size for each, whose pixels say the class there. What the numbers or
 * colours of masks mean is learned of the training, or said by a file classes.txt in the data's folder:
 *
 *   NAME          a class a line, the numbers of masks being those of the lines, from 0 on
 *   NAME V        ... of the pixels with the number V
 *   NAME R G B    ... of the pixels of that colour
 *
 * The name "ignore" is no class: its pixels count for nothing. Without such lines 255 is that. */
#include "source_kinds.h"

#include "mask_file.h"
#include "mask_pairs.h"
#include "../paths.h"
#include "../term/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 256, NAME = 64, MOST_COLOURS = 64 };

/* Which class a number or colour stands for. */
typedef struct mask_keys {
    int n; /* 0: numbers are classes */
    bool colours;
    uint32_t key[MOST_KEYS]; /* a number, or 0xRRGGBB */
    uint8_t class[MOST_KEYS];
    int classes;
    char names[MOST_KEYS][NAME];
} mask_keys;

typedef struct masks {
    int64_t n, dims[3];
    uint8_t *pixels, *labels; /* [n, dims], [n, height, width] */
} masks;

static size_t area_of(const masks *m) { return (size_t)(m->dims[1] * m->dims[2]); }
static const void *at(void *user, int64_t i, int field) {
    const masks *m = user;
    const size_t area = area_of(m);
    return field ? m->labels + (size_t)i * area : m->pixels + (size_t)i * area * (size_t)m->dims[0];
}
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const masks *m = user;
    (void)fault;
    if (out[0]) memcpy(out[0], at(user, i, 0), area_of(m) * (size_t)m->dims[0]);
    if (out[1]) memcpy(out[1], at(user, i, 1), area_of(m));
    return WICK_OK;
}
static void drop(void *user) {
    masks *m = user;
    if (!m) return;
    free(m->pixels);
    free(m->labels);
    free(m);
}

/* ---- classes.txt ------------------------------------------------------------------------------------------------- */

/* A line without the numbers at its end, which are taken off: how many. */
static int take_numbers(char *line, long number[3]) {
    int n = 0;
    for (;;) {
        size_t end = strlen(line);
        while (end && strchr(" \t,;\r", line[end - 1])) line[--end] = '\0';
        size_t begin = end;
        while (begin && line[begin - 1] >= '0' && line[begin - 1] <= '9') begin--;
        if (n == 3 || begin == end || !begin || !strchr(" \t,;", line[begin - 1])) return n;
        for (int k = n; k > 0; k--) number[k] = number[k - 1];
        number[0] = strtol(line + begin, NULL, 10);
        n++;
        line[begin] = '\0';
    }
}

static wick_status read_line(wick_context *ctx, const char *path, int line, char *text, int *form, mask_keys *k) {
    long number[3] = {0};
    const int numbers = take_numbers(text, number);
    if (!*text) return WICK_OK;
    if (numbers == 2 || strlen(text) >= NAME || strchr(text, '\t'))
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s, line %d: is not a class as NAME, NAME NUMBER or NAME RED GREEN BLUE", path, line);
    if (*form >= 0 && numbers != *form)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %d: has %d number%s, and the lines above have %d",
                                 path, line, numbers, plural(numbers), *form);
    *form = numbers;
    for (int i = 0; i < numbers; i++)
        if (number[i] > 255)
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %d: %ld is above 255", path, line, number[i]);
    const bool ignored = strcmp(text, "ignore") == 0;
    if (k->classes + !ignored > MOST_KEYS - 1 || k->n == MOST_KEYS)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %d: more than 255 classes", path, line);
    if (ignored && !numbers)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %d: which pixels are ignored, a number or colour says",
                                 path, line);
    const uint32_t key = numbers == 3 ? (uint32_t)(number[0] << 16 | number[1] << 8 | number[2]) : (uint32_t)number[0];
    int class = ignored ? 255 : k->classes;
    for (int c = 0; c < k->classes && !ignored; c++)
        if (strcmp(k->names[c], text) == 0) class = c; /* one class may have several colours */
    if (class == k->classes) snprintf(k->names[k->classes++], NAME, "%s", text);
    if (!numbers) return WICK_OK;
    k->colours = numbers == 3;
    for (int i = 0; i < k->n; i++)
        if (k->key[i] == key)
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %d: the lines above have that %s", path, line,
                                     numbers == 3 ? "colour" : "number");
    k->key[k->n] = key, k->class[k->n++] = (uint8_t) class;
    return WICK_OK;
}

static wick_status read_classes(wick_context *ctx, const char *data, mask_keys *k, bool *found) {
    char *path = path_join(data, "classes.txt");
    size_t size;
    char *text = path && path_exists(path) ? path_read(path, &size) : NULL, *rest = text;
    wick_status status = path ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", data);
    int form = -1;
    *found = text != NULL;
    for (int line = 1; text && rest && status == WICK_OK; line++)
        status = read_line(ctx, path, line, strsep(&rest, "\n"), &form, k);
    if (status == WICK_OK && text && k->classes < 2)
        status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: names %d class%s; two are the fewest", path, k->classes,
                                   k->classes == 1 ? "" : "es");
    free(text);
    free(path);
    return status;
}

/* ---- what masks hold --------------------------------------------------------------------------------------------- */

typedef struct census {
    bool any, colours;
    int64_t count[256]; /* of numbers */
    uint32_t colour[MOST_COLOURS];
    int n; /* colours */
} census;

static uint32_t key_at(const mask_file *f, int64_t i, bool colours) {
    const uint8_t *v = f->values + (f->colours ? 3 * i : i);
    if (f->colours) return (uint32_t)v[0] << 16 | (uint32_t)v[1] << 8 | v[2];
    return colours ? v[0] * 0x10101u : v[0];
}

static wick_status count_mask(wick_context *ctx, const char *path, const mask_file *f, census *s) {
    if (s->any && s->colours != f->colours)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has %s, and the masks before it %s", path,
                                 f->colours ? "colours" : "numbers", f->colours ? "numbers" : "colours");
    s->any = true, s->colours = f->colours;
    int last = 0;
    for (int64_t i = 0; i < f->height * f->width; i++) {
        const uint32_t key = key_at(f, i, f->colours);
        if (!f->colours) {
            s->count[key]++;
            continue;
        }
        if (last < s->n && s->colour[last] == key) continue;
        for (last = 0; last < s->n && s->colour[last] != key;) last++;
        if (last < s->n) continue;
        if (s->n == MOST_COLOURS)
            return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                     "%s: the masks have more than %d colours: a mask has one for each class", path,
                                     MOST_COLOURS);
        s->colour[s->n++] = key;
    }
    return WICK_OK;
}

static int by_key(const void *a, const void *b) {
    return (*(const uint32_t *)a > *(const uint32_t *)b) - (*(const uint32_t *)a < *(const uint32_t *)b);
}

/* Classes of masks that no classes.txt explains. */
static wick_status learn_keys(wick_context *ctx, const char *data, census *s, mask_keys *k) {
    if (s->colours) {
        qsort(s->colour, (size_t)s->n, sizeof *s->colour, by_key);
        k->colours = true;
        for (int i = 0; i < s->n; i++) {
            k->key[i] = s->colour[i], k->class[i] = (uint8_t)i;
            snprintf(k->names[i], NAME, "#%06x", s->colour[i]);
        }
        k->n = k->classes = s->n;
        log_note(
            "%s: its masks have %d colours, each of which is a class; a file classes.txt with lines NAME RED GREEN "
            "BLUE names them",
            data, s->n);
    } else {
        int most = -1, present = 0;
        for (int v = 0; v < 255; v++)
            if (s->count[v]) most = v, present++;
        if (most == 0 && s->count[255]) {
            k->n = k->classes = most = 2;
            k->key[1] = 255, k->class[1] = 1;
            log_note("%s: its masks have 0 and 255 alone: these are classes 0 and 1", data);
        } else if (2 * present < most + 1)
            return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                     "%s: its masks have %d numbers from 0 to %d, which are no classes, counted from "
                                     "0: a file classes.txt with lines NAME NUMBER says what they are",
                                     data, present, most);
        else {
            k->classes = most + 1;
            if (present < most + 1)
                log_note("%s: of the classes 0 to %d the training has %d: no pixel is of the others", data, most,
                         present);
        }
        for (int c = 0; c < k->classes; c++) snprintf(k->names[c], NAME, "%d", c);
    }
    return k->classes > 1
               ? WICK_OK
               : wick_context_fail(ctx, WICK_ERR_FORMAT,
                                   "%s: all pixels of its masks are of one class: there is nothing to learn", data);
}

static wick_status take_census(wick_context *ctx, const mask_pairs *pairs, census *s) {
    wick_status status = WICK_OK;
    for (int64_t i = 0; i < pairs->n && status == WICK_OK; i++) {
        mask_file f;
        if (!pairs->list[i].mask) continue;
        status = mask_read(ctx, pairs->list[i].mask, &f);
        if (status == WICK_OK) status = count_mask(ctx, pairs->list[i].mask, &f, s);
        free(f.values);
    }
    return status;
}

/* ---- the coding: "masks" CLASSES [grey|colours KEY=CLASS ...] ---------------------------------------------------- */

static const char prefix[] = "\"masks\"";

static char *write_coding(const mask_keys *k) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fprintf(out, "%s %d", prefix, k->classes);
    if (k->n) fputs(k->colours ? " colours" : " grey", out);
    for (int i = 0; i < k->n; i++) fprintf(out, " %06x=%d", k->key[i], k->class[i]);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

static bool read_coding(const char *text, mask_keys *k) {
    int classes, used = 0;
    if (strncmp(text, prefix, sizeof prefix - 1) != 0) return false;
    text += sizeof prefix - 1;
    if (sscanf(text, " %d%n", &classes, &used) != 1 || classes < 2 || classes > 255) return false;
    text += used;
    k->classes = classes;
    k->colours = strncmp(text, " colours", 8) == 0;
    if (*text) text += k->colours ? 8 : strncmp(text, " grey", 5) == 0 ? 5 : 0;
    for (unsigned key, class; *text; text += used) {
        if (k->n == MOST_KEYS || sscanf(text, " %6x=%u%n", &key, &class, &used) != 2 ||
            (class >= (unsigned)classes && class != 255))
            return false;
        k->key[k->n] = key, k->class[k->n++] = (uint8_t) class;
    }
    return true;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Picture i, of the size of the first, or that which the context asks for; its own size in the file. */
static wick_status read_picture(wick_context *ctx, const char *file, int64_t i, masks *m, int64_t size[2]) {
    wick_image *image;
    wick_status status = source_read_alike(ctx, file, i, m->dims, size, &image);
    if (status != WICK_OK) return status;
    const int64_t *d = m->dims;
    if (!i) {
        const size_t bytes = area_of(m) * (size_t)(d[0] + 1), n = (size_t)m->n;
        if (bytes < SIZE_MAX / 2 / n)
            m->pixels = malloc(n * area_of(m) * (size_t)d[0]), m->labels = malloc(n * area_of(m));
        if (!m->pixels || !m->labels)
            status =
                wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory: %zu pictures of %zu bytes", file, n, bytes);
    }
    if (status == WICK_OK) memcpy((uint8_t *)at(m, i, 0), wick_image_pixels(image, 0), area_of(m) * (size_t)d[0]);
    wick_image_free(&image);
    return status;
}

/* Its mask: of another size the pixels nearest to the middles of those that are wanted. */
static wick_status take_mask(wick_context *ctx, const char *file, const mask_file *f, const int64_t size[2],
                             const mask_keys *k, const masks *m, uint8_t *to) {
    const int64_t high = m->dims[1], wide = m->dims[2];
    if (f->height != size[0] || f->width != size[1])
        return wick_context_fail(ctx, WICK_ERR_SHAPE, "%s: has %lld x %lld pixels, and its picture has %lld x %lld",
                                 file, (long long)f->height, (long long)f->width, (long long)size[0],
                                 (long long)size[1]);
    if (f->colours && !k->colours)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has colours, and the masks learned from have numbers",
                                 file);
    for (int64_t y = 0; y < high; y++)
        for (int64_t x = 0; x < wide; x++) {
            const int64_t from_y = (2 * y + 1) * f->height / (2 * high), from_x = (2 * x + 1) * f->width / (2 * wide);
            const uint32_t key = key_at(f, from_y * f->width + from_x, k->colours);
            int class = !k->n && (key < (uint32_t)k->classes || key == 255) ? (int)key : -1;
            for (int i = 0; i < k->n; i++)
                if (k->key[i] == key) class = k->class[i];
            if (class < 0)
                return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                         k->colours ? "%s: pixel (%lld, %lld) is of the colour #%06x, which is none of "
                                                      "the %d classes"
                                                    : "%s: pixel (%lld, %lld) is %u, which is none of the %d classes",
                                         file, (long long)from_x, (long long)from_y, key, k->classes);
            *to++ = (uint8_t) class;
        }
    return WICK_OK;
}

static wick_status read_pairs(wick_context *ctx, const mask_pairs *pairs, const mask_keys *k, bool bare, masks *m) {
    wick_status status = WICK_OK;
    for (int64_t i = 0; i < pairs->n && status == WICK_OK; i++) {
        const mask_pair *p = &pairs->list[i];
        int64_t size[2];
        mask_file f;
        status = read_picture(ctx, p->picture, i, m, size);
        if (status != WICK_OK) return status;
        uint8_t *to = (uint8_t *)at(m, i, 1);
        if (!p->mask && !bare) return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no mask", p->picture);
        if (!p->mask) {
            memset(to, 255, area_of(m));
            continue;
        }
        status = mask_read(ctx, p->mask, &f);
        if (status == WICK_OK) status = take_mask(ctx, p->mask, &f, size, k, m, to);
        free(f.values);
    }
    return status;
}

static void tell(const char *data, const masks *m, const mask_keys *k) {
    const size_t all = (size_t)m->n * area_of(m);
    size_t ignored = 0;
    for (size_t i = 0; i < all; i++) ignored += m->labels[i] == 255;
    log_note("%s: %lld pictures with masks of %d classes%s", data, (long long)m->n, k->classes,
             ignored ? "" : "; no pixel is ignored");
    if (ignored)
        log_note("%.2f %% of the pixels are of no class, and count for nothing", 100 * (double)ignored / (double)all);
}

bool source_has_masks(wick_context *ctx, const char *data, const char *split) {
    mask_pairs pairs;
    if (!path_is_folder(data) || mask_pairs_find(ctx, data, split, &pairs) != WICK_OK)
        return wick_context_clear_error(ctx), false;
    mask_pairs_free(&pairs);
    return true;
}
bool source_masks_are_whole(wick_context *ctx, const char *data) {
    mask_pairs pairs;
    if (!path_is_folder(data) || mask_pairs_find(ctx, data, "test", &pairs) != WICK_OK)
        return wick_context_clear_error(ctx), false;
    const bool whole = pairs.whole;
    mask_pairs_free(&pairs);
    return whole;
}

/* What masks mean: by the model's coding, classes.txt, or what they hold. */
static wick_status find_keys(wick_context *ctx, const char *data, const source_options *so, const mask_pairs *pairs,
                             mask_keys *k) {
    census s = {0};
    bool named;
    wick_status status = read_classes(ctx, data, k, &named);
    if (status == WICK_OK && so->coding) {
        mask_keys known = {0};
        if (!read_coding(so->coding, &known))
            return wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s: has masks, and the model learned from other data",
                                     data);
        if (named && k->classes != known.classes)
            return wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s/classes.txt: has %d classes, and the model knows %d",
                                     data, k->classes, known.classes);
        if (named) return WICK_OK; /* its names are held against the model's later */
        *k = known;
        for (int c = 0; c < k->classes; c++) snprintf(k->names[c], NAME, "%d", c);
        return WICK_OK;
    }
    if (status == WICK_OK && !named) status = take_census(ctx, pairs, &s);
    return status == WICK_OK && !named ? learn_keys(ctx, data, &s, k) : status;
}

wick_status source_open_masks(wick_context *ctx, const char *data, const char *split, const source_options *so,
                              owned *o, bool *whole) {
    mask_pairs pairs;
    mask_keys *k = calloc(1, sizeof *k);
    masks *m = calloc(1, sizeof *m);
    const char *names[MOST_KEYS];
    wick_status status = k && m ? mask_pairs_find(ctx, data, split, &pairs)
                                : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", data);
    if (status != WICK_OK) return free(k), free(m), status;
    *whole = pairs.whole;
    m->n = pairs.n;
    status = find_keys(ctx, data, so, &pairs, k);
    if (status == WICK_OK) status = read_pairs(ctx, &pairs, k, so->unlabelled, m);
    if (status == WICK_OK && !so->coding && !so->told) tell(data, m, k);
    for (int c = 0; c < k->classes; c++) names[c] = k->names[c];
    if (status == WICK_OK) status = source_keep_names(ctx, data, names, k->classes, o);
    if (status == WICK_OK && !(o->coding = write_coding(k)))
        status = wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", data);
    const wick_dataset_source source = {.count = m->n,
                                        .n_fields = 2,
                                        .fields = {{"image", WICK_U8, 3, {m->dims[0], m->dims[1], m->dims[2]}},
                                                   {"mask", WICK_U8, 2, {m->dims[1], m->dims[2]}}},
                                        .get = get,
                                        .at = at,
                                        .free = drop,
                                        .user = m};
    if (status == WICK_OK) status = wick_dataset_new(ctx, &source, &o->set);
    if (status != WICK_OK) drop(m);
    free(k);
    mask_pairs_free(&pairs);
    return status;
}
