/* Pictures with maps: a file beside each that has a number for every pixel (map_file.h), such as how far away it is.
 * What the numbers mean is said by a file maps.txt in the data's folder, a line for each:
 *
 *   name depth      what they are; without it "value"
 *   unit m
 *   scale 0.001     a number of a file times this is in that unit; without it 1
 *   unknown 0       the number of a file that stands for pixels of which nothing is known; NaN is that too
 *
 * Pixels of which nothing is known count for nothing. */
#include "source_kinds.h"

#include "map_file.h"
#include "mask_pairs.h"
#include "../paths.h"
#include "../term/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 32 };
typedef struct map_form {
    char name[WORD], unit[WORD];
    double scale, unknown; /* NaN: none stands for that */
} map_form;

typedef struct maps {
    int64_t n, dims[3];
    uint8_t *pixels; /* [n, dims] */
    float *values;   /* [n, height, width]; NaN: not known */
} maps;

static size_t area_of(const maps *m) { return (size_t)(m->dims[1] * m->dims[2]); }
static const void *at(void *user, int64_t i, int field) {
    const maps *m = user;
    const size_t area = area_of(m);
    return field ? (const void *)(m->values + (size_t)i * area)
                 : (const void *)(m->pixels + (size_t)i * area * (size_t)m->dims[0]);
}
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const maps *m = user;
    (void)fault;
    if (out[0]) memcpy(out[0], at(user, i, 0), area_of(m) * (size_t)m->dims[0]);
    if (out[1]) memcpy(out[1], at(user, i, 1), area_of(m) * sizeof *m->values);
    return WICK_OK;
}
static void drop(void *user) {
    maps *m = user;
    if (!m) return;
    free(m->pixels);
    free(m->values);
    free(m);
}

/* ---- maps.txt, and the coding: "maps" SCALE UNKNOWN NAME UNIT ---------------------------------------------------- */

static const char prefix[] = "\"maps\"";

static wick_status read_form_line(wick_context *ctx, const char *path, int line, char *text, map_form *f) {
    char key[WORD] = "", value[WORD] = "", more[2] = "", *end = value;
    const int n = sscanf(text, "%31s %31s %1s", key, value, more);
    if (n <= 0) return WICK_OK;
    double *number = strcmp(key, "scale") == 0 ? &f->scale : strcmp(key, "unknown") == 0 ? &f->unknown : NULL;
    char *word = strcmp(key, "name") == 0 ? f->name : strcmp(key, "unit") == 0 ? f->unit : NULL;
    if (n != 2 || !(number || word))
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s, line %d: is not \"name WORD\", \"unit WORD\", \"scale NUMBER\" or \"unknown "
                                 "NUMBER\"",
                                 path, line);
    if (word) snprintf(word, WORD, "%s", value);
    if (number) *number = strtod(value, &end);
    if (number && (end == value || *end || !isfinite(*number) || (number == &f->scale && !(*number > 0))))
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %d: '%s' is no %s", path, line, value,
                                 number == &f->scale ? "scale, a number above 0" : "number");
    return WICK_OK;
}

static wick_status read_form(wick_context *ctx, const char *data, map_form *f, bool *found) {
    char *path = path_join(data, "maps.txt");
    size_t size;
    char *text = path && path_exists(path) ? path_read(path, &size) : NULL, *rest = text;
    wick_status status = path ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", data);
    *found = text != NULL;
    for (int line = 1; rest && status == WICK_OK; line++)
        status = read_form_line(ctx, path, line, strsep(&rest, "\n"), f);
    free(text);
    free(path);
    return status;
}

static char *write_coding(const map_form *f) {
    char *text = NULL;
    return asprintf(&text, "%s %.17g %.17g %s %s", prefix, f->scale, f->unknown, f->name, f->unit) < 0 ? NULL : text;
}

static bool read_coding(const char *text, map_form *f) {
    if (!text || strncmp(text, prefix, sizeof prefix - 1) != 0) return false;
    *f = (map_form){.scale = 1, .unknown = NAN};
    const int n = sscanf(text + sizeof prefix - 1, " %lf %lf %31s %31s", &f->scale, &f->unknown, f->name, f->unit);
    return n >= 3 && f->scale > 0 && isfinite(f->scale);
}

bool source_is_map_coding(const char *coding) {
    map_form f;
    return read_coding(coding, &f);
}
const char *source_map_unit(const char *coding, char unit[SOURCE_UNIT]) {
    map_form f;
    unit[0] = '\0';
    if (read_coding(coding, &f) && f.unit[0]) snprintf(unit, SOURCE_UNIT, " %s", f.unit);
    return unit;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Picture i, of the size of the first, or that which the context asks for; its own size in the file. */
static wick_status read_picture(wick_context *ctx, const char *file, int64_t i, maps *m, int64_t size[2]) {
    wick_image *image;
    wick_status status = source_read_alike(ctx, file, i, m->dims, size, &image);
    if (status != WICK_OK) return status;
    const int64_t *d = m->dims;
    if (!i) {
        const size_t area = area_of(m), n = (size_t)m->n;
        if (area * sizeof *m->values < SIZE_MAX / 2 / n)
            m->pixels = malloc(n * area * (size_t)d[0]), m->values = malloc(n * area * sizeof *m->values);
        if (!m->pixels || !m->values)
            status =
                wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory: %zu pictures of %zu pixels", file, n, area);
    }
    if (status == WICK_OK) memcpy((uint8_t *)at(m, i, 0), wick_image_pixels(image, 0), area_of(m) * (size_t)d[0]);
    wick_image_free(&image);
    return status;
}

/* Its map: of another size the pixels nearest to the middles of those that are wanted. */
static wick_status take_map(wick_context *ctx, const char *path, const map_file *f, const int64_t size[2],
                            const map_form *form, const maps *m, float *to) {
    const int64_t high = m->dims[1], wide = m->dims[2];
    if (f->height != size[0] || f->width != size[1])
        return wick_context_fail(ctx, WICK_ERR_SHAPE, "%s: has %lld x %lld pixels, and its picture has %lld x %lld",
                                 path, (long long)f->height, (long long)f->width, (long long)size[0],
                                 (long long)size[1]);
    for (int64_t y = 0; y < high; y++)
        for (int64_t x = 0; x < wide; x++) {
            const int64_t from_y = (2 * y + 1) * f->height / (2 * high), from_x = (2 * x + 1) * f->width / (2 * wide);
            const double v = (double)f->values[from_y * f->width + from_x];
            if (isinf(v))
                return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                         "%s: pixel (%lld, %lld) is infinite; what is not known is NaN", path,
                                         (long long)from_x, (long long)from_y);
            *to++ = v == form->unknown ? NAN : (float)(v * form->scale);
        }
    return WICK_OK;
}

static wick_status read_pairs(wick_context *ctx, const mask_pairs *pairs, const map_form *form, bool bare, maps *m) {
    wick_status status = WICK_OK;
    for (int64_t i = 0; i < pairs->n && status == WICK_OK; i++) {
        const mask_pair *p = &pairs->list[i];
        int64_t size[2];
        map_file f;
        status = read_picture(ctx, p->picture, i, m, size);
        if (status != WICK_OK) return status;
        float *to = m->values + (size_t)i * area_of(m);
        if (!p->mask && !bare) return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no map", p->picture);
        for (size_t k = 0; k < area_of(m); k++) to[k] = NAN;
        if (!p->mask) continue;
        status = map_read(ctx, p->mask, &f);
        if (status == WICK_OK) status = take_map(ctx, p->mask, &f, size, form, m, to);
        free(f.values);
    }
    return status;
}

static wick_status tell(wick_context *ctx, const char *data, const maps *m, const map_form *f, bool said, bool quiet) {
    const size_t all = (size_t)m->n * area_of(m);
    size_t unknown = 0;
    float low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < all; i++) {
        unknown += isnan(m->values[i]);
        low = fminf(low, m->values[i]), high = fmaxf(high, m->values[i]);
    }
    if (unknown == all)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: nothing is known of any pixel of its maps", data);
    if (quiet) return WICK_OK;
    log_note("%s: %lld pictures with a %s for each pixel, from %.5g to %.5g%s%s%s", data, (long long)m->n, f->name,
             (double)low, (double)high, f->unit[0] ? " " : "", f->unit,
             said ? "" : ", as they are in the files; a file maps.txt with lines \"scale\", \"unit\" says otherwise");
    if (unknown)
        log_note("nothing is known of %.2f %% of the pixels, which don't count", 100 * (double)unknown / (double)all);
    return WICK_OK;
}

bool source_has_maps(wick_context *ctx, const char *data, const char *split) {
    mask_pairs pairs;
    if (!path_is_folder(data) || mask_pairs_find_maps(ctx, data, split, &pairs) != WICK_OK)
        return wick_context_clear_error(ctx), false;
    mask_pairs_free(&pairs);
    return true;
}
bool source_maps_are_whole(wick_context *ctx, const char *data) {
    mask_pairs pairs;
    if (!path_is_folder(data) || mask_pairs_find_maps(ctx, data, "test", &pairs) != WICK_OK)
        return wick_context_clear_error(ctx), false;
    const bool whole = pairs.whole;
    mask_pairs_free(&pairs);
    return whole;
}

wick_status source_open_maps(wick_context *ctx, const char *data, const char *split, const source_options *so, owned *o,
                             bool *whole) {
    mask_pairs pairs;
    map_form f = {.name = "value", .scale = 1, .unknown = NAN}, known;
    maps *m = calloc(1, sizeof *m);
    bool said = false;
    wick_status status = m ? mask_pairs_find_maps(ctx, data, split, &pairs)
                           : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", data);
    if (status != WICK_OK) return free(m), status;
    *whole = pairs.whole;
    m->n = pairs.n;
    status = read_form(ctx, data, &f, &said);
    if (status == WICK_OK && so->coding && !read_coding(so->coding, &known))
        status = wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s: has maps, and the model learned from other data", data);
    /* the data's own words count, where there are any: other data may have another scale */
    if (status == WICK_OK && so->coding && !said) f = known;
    if (status == WICK_OK && so->coding) memcpy(f.name, known.name, sizeof f.name);
    if (status == WICK_OK && so->coding && strcmp(f.unit, known.unit) != 0)
        status = wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s/maps.txt: the unit is '%s', and the model learned '%s'",
                                   data, f.unit, known.unit);
    if (status == WICK_OK) status = read_pairs(ctx, &pairs, &f, so->unlabelled, m);
    if (status == WICK_OK && !so->unlabelled) status = tell(ctx, data, m, &f, said, so->coding || so->told);
    if (status == WICK_OK) status = source_keep_names(ctx, data, (const char *const[]){f.name}, 1, o);
    if (status == WICK_OK && !(o->coding = write_coding(&f)))
        status = wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", data);
    const wick_dataset_source source = {.count = m->n,
                                        .n_fields = 2,
                                        .fields = {{"image", WICK_U8, 3, {m->dims[0], m->dims[1], m->dims[2]}},
                                                   {"map", WICK_F32, 2, {m->dims[1], m->dims[2]}}},
                                        .get = get,
                                        .at = at,
                                        .free = drop,
                                        .user = m};
    if (status == WICK_OK) status = wick_dataset_new(ctx, &source, &o->set);
    if (status != WICK_OK) drop(m);
    mask_pairs_free(&pairs);
    return status;
}
