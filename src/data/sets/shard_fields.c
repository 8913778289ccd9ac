/* shard_fields.c: the files of a sample and what they become, whichever way shards are read. */
#include "data/sets/shards.h"

#include <stdio.h>
#include <strings.h>

#include "data/formats/wav.h"

void wick_shard_fields_init(wick_shard_fields *f) { pthread_mutex_init(&f->loading, NULL); }
void wick_shard_fields_free(wick_shard_fields *f) {
    wick_codecs_close(&f->codecs);
    pthread_mutex_destroy(&f->loading);
}

/* ---- putting a sample together ----------------------------------------------------------------------------------- */

bool wick_shard_split(const char *path, size_t *key, const char **end) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strchr(base, '.');
    if (!dot || dot == base || !dot[1] || strlen(dot + 1) >= WICK_SHARD_END) return false;
    *key = (size_t)(dot - path);
    *end = dot + 1;
    return true;
}

bool wick_shard_same(const wick_shard_sample *o, const char *path, size_t key) {
    return o->begun && strncmp(o->key, path, key) == 0 && !o->key[key];
}

void wick_shard_begin(wick_shard_sample *o, const char *path, size_t key) {
    memcpy(o->key, path, key);
    o->key[key] = 0;
    o->begun = true;
    o->have = 0;
}

/* ": a.0.png, a.1.png ...: the name of a sample ends ..." where dots within names may have made one sample of many;
 * else "". */
static const char *dots(const wick_shard_sample *o, char text[512]) {
    size_t n = 0;
    bool within = false;
    for (int i = 0; i < o->have; i++) within |= strchr(o->files[i].end, '.') != NULL;
    *text = 0;
    for (int i = 0; i < o->have && i < 3 && within; i++)
        n += (size_t)snprintf(text + n, 512 - n, "%s%.60s.%s", i ? ", " : ": ", o->key, o->files[i].end);
    if (within)
        snprintf(text + n, 512 - n,
                 "%s: a sample's key ends at the first dot of a name, as in WebDataset, so these are one sample; name "
                 "them without other dots, %.60s_%s",
                 o->have > 3 ? " ..." : "", o->key, o->files[0].end);
    return text;
}

wick_status wick_shard_add(wick_shard_sample *o, const char *end, const wick_shard_cell *cell, const char *archive,
                           wick_msg *msg) {
    char text[512];
    if (o->have == (int)WICK_COUNTOF(o->files))
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: %.200s: more than %zu files in a sample%s", archive, o->key,
                            WICK_COUNTOF(o->files), dots(o, text));
    for (int i = 0; i < o->have; i++)
        if (strcmp(o->files[i].end, end) == 0)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %.400s.%s is there twice", archive, o->key, end);
    memset(o->files[o->have].end, 0, WICK_SHARD_END);
    memcpy(o->files[o->have].end, end, strlen(end));
    o->files[o->have++].cell = *cell;
    return WICK_OK;
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static wick_shard_kind kind_of(const char *end) {
    const char *last = strrchr(end, '.') ? strrchr(end, '.') + 1 : end;
    char name[WICK_SHARD_END + 2];
    snprintf(name, sizeof name, ".%s", last);
    if (wick_picture_named(name)) return WICK_SHARD_PICTURE;
    return strcasecmp(last, "wav") == 0  ? WICK_SHARD_RECORDING
           : strcasecmp(end, "cls") == 0 ? WICK_SHARD_LABEL
                                         : WICK_SHARD_BYTES;
}

static wick_status header_of(wick_shard_fields *f, const wick_shard_cell *c, wick_picture *p, const char *name,
                             wick_msg *msg) {
    pthread_mutex_lock(&f->loading);
    const wick_status status = wick_picture_header(&f->codecs, c->data, c->size, p, name, msg);
    pthread_mutex_unlock(&f->loading);
    return status;
}

wick_status wick_shard_choose(wick_shard_fields *f, const wick_shard_sample *o, wick_shard_look look, void *user,
                              const char *archive, wick_msg *msg) {
    char text[512];
    for (int what = 0; what < WICK_SHARD_KINDS; what++)
        for (int i = 0; i < o->have; i++) {
            if ((int)kind_of(o->files[i].end) != what) continue;
            if (f->n == WICK_DATASET_FIELDS)
                return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: %.200s: more than %d files in a sample%s", archive,
                                    o->key, WICK_DATASET_FIELDS, dots(o, text));
            memcpy(f->field[f->n].end, o->files[i].end, WICK_SHARD_END);
            f->field[f->n].kind = (wick_shard_kind)what;
            if (what == WICK_SHARD_PICTURE) {
                wick_picture p;
                wick_shard_cell c = o->files[i].cell;
                if (look) WICK_TRY(look(user, &o->files[i].cell, &c, archive, msg));
                WICK_TRY(header_of(f, &c, &p, archive, msg));
                f->field[f->n].dims[0] = 3, f->field[f->n].dims[1] = p.height, f->field[f->n].dims[2] = p.width;
                if (f->codecs.how.height)
                    f->field[f->n].dims[1] = f->codecs.how.height, f->field[f->n].dims[2] = f->codecs.how.width;
            }
            f->n++;
        }
    return WICK_OK;
}

const wick_shard_cell *wick_shard_find(const wick_shard_fields *f, const wick_shard_sample *o, int k, const char *name,
                                       wick_msg *msg) {
    for (int i = 0; i < o->have; i++)
        if (strcmp(o->files[i].end, f->field[k].end) == 0) return &o->files[i].cell;
    (void)wick_msg_set(
        msg, WICK_ERR_FORMAT, "%s: has no .%s, which the first sample has%s", name, f->field[k].end,
        strchr(f->field[k].end, '.') ? ": a sample's key ends at the first dot of a name, as in WebDataset" : "");
    return NULL;
}

/* At most 18 digits, with blanks around them. */
static bool read_class(const wick_shard_cell *c, int64_t *value) {
    size_t at = 0, digits = 0;
    *value = 0;
    while (at < c->size && strchr(" \t\r\n", c->data[at]) && c->data[at]) at++;
    for (; at < c->size && c->data[at] >= '0' && c->data[at] <= '9' && digits < 18; at++, digits++)
        *value = *value * 10 + (c->data[at] - '0');
    while (at < c->size && strchr(" \t\r\n", c->data[at]) && c->data[at]) at++;
    return digits && at == c->size && *value < WICK_SHARD_CLASSES;
}

wick_status wick_shard_measure(const wick_shard_fields *f, int k, wick_shard_cell *c, int64_t *rate, const char *name,
                               wick_msg *msg) {
    c->length = (int64_t)c->size;
    if (f->field[k].kind == WICK_SHARD_RECORDING) return wick_wav_length(c->data, c->size, &c->length, rate, name, msg);
    if (f->field[k].kind == WICK_SHARD_LABEL && !read_class(c, &c->length))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: .cls is no number of a class, 0 to %d", name,
                            WICK_SHARD_CLASSES - 1);
    return WICK_OK;
}

wick_status wick_shard_decode(wick_shard_fields *f, int k, const wick_shard_cell *c, void *out, const char *of,
                              wick_msg *msg) {
    char name[600];
    wick_picture p;
    snprintf(name, sizeof name, "%.550s.%s", of, f->field[k].end);
    switch (f->field[k].kind) {
    case WICK_SHARD_PICTURE:
        WICK_TRY(header_of(f, c, &p, name, msg));
        if (!f->codecs.how.height && (p.height != f->field[k].dims[1] || p.width != f->field[k].dims[2]))
            return wick_msg_set(msg, WICK_ERR_SHAPE, "%s: is %lld x %lld pixels; the first one is %lld x %lld", name,
                                (long long)p.height, (long long)p.width, (long long)f->field[k].dims[1],
                                (long long)f->field[k].dims[2]);
        return wick_picture_decode_to(&f->codecs, c->data, c->size, &p, 3, f->field[k].dims[1], f->field[k].dims[2],
                                      out, name, msg);
    case WICK_SHARD_RECORDING: return wick_wav_mono(c->data, c->size, out, c->length, name, msg);
    case WICK_SHARD_LABEL: return *(int64_t *)out = c->length, WICK_OK;
    case WICK_SHARD_BYTES:
    case WICK_SHARD_KINDS: break;
    }
    if (c->size) memcpy(out, c->data, c->size);
    return WICK_OK;
}

void wick_shard_specs(const wick_shard_fields *f, wick_spec specs[WICK_DATASET_FIELDS]) {
    for (int k = 0; k < f->n; k++) {
        const wick_shard_kind what = f->field[k].kind;
        specs[k] = (wick_spec){what == WICK_SHARD_LABEL ? "label" : f->field[k].end,
                               what == WICK_SHARD_LABEL       ? WICK_I64
                               : what == WICK_SHARD_RECORDING ? WICK_F32
                                                              : WICK_U8,
                               what == WICK_SHARD_LABEL     ? 0
                               : what == WICK_SHARD_PICTURE ? 3
                                                            : 1,
                               {-1}};
        if (what == WICK_SHARD_PICTURE) memcpy(specs[k].dims, f->field[k].dims, sizeof f->field[k].dims);
    }
}
