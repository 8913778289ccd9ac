/* safetensors.c: files of safetensors and Wick's checkpoints. A file that reads is changed as a list of tensors and
 * written again whole, with offsets and sums that fit, or its header is changed as a text; one that doesn't, as a text.
 */
#include <stdio.h>

#include "fuzz.h"
#include "io/checkpoint.h"

FUZZ_TARGET(safetensors) {
    wick_safetensors f;
    wick_msg msg = {0};
    if (wick_safetensors_parse(&f, data, size, "file", &msg) != WICK_OK) {
        FUZZ_PROMISE(!strncmp(msg.text, "file", 4));
        return 0;
    }
    const uint8_t *end = data + size;
    for (size_t i = 0; i < f.count; i++) {
        const wick_safetensors_tensor *t = &f.tensors[i];
        FUZZ_PROMISE((const uint8_t *)t->data >= f.data && (size_t)(end - (const uint8_t *)t->data) >= t->bytes);
        FUZZ_PROMISE(wick_safetensors_find(&f, t->name) == t);
        fuzz_touch(t->data, t->bytes);
    }
    for (size_t i = 0; i < f.meta_count; i++) FUZZ_PROMISE(wick_safetensors_get_meta(&f, f.meta[i].key));
    wick_safetensors_close(&f);
    return 1;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static wick_status net(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_model *m = user;
    (void)ctx;
    out[0] = wick_nn_linear(m, "fc", in[0], 3);
    return WICK_OK;
}

FUZZ_TARGET(checkpoint) {
    wick_context *ctx = fuzz_context();
    wick_checkpoint *c;
    const char *path = fuzz_file("a.safetensors", data, size);
    if (wick_checkpoint_open(ctx, path, &c) != WICK_OK) {
        FUZZ_PROMISE(strstr(wick_context_error(ctx), path));
        return 0;
    }
    const char *key, *value;
    for (int i = 0; wick_checkpoint_meta_at(c, i, &key, &value); i++) FUZZ_PROMISE(wick_checkpoint_meta(c, key));
    for (int i = 0; i < wick_checkpoint_count(c); i++) FUZZ_PROMISE(wick_checkpoint_tensor(c, i).name);
    wick_scope *scope = wick_scope_open(ctx);
    wick_model *model = NULL;
    if (wick_model_new(ctx, &model) == WICK_OK) {
        wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(1, 2)), *y;
        if (net(ctx, &x, &y, model) != WICK_OK || wick_eval(ctx, 1, &y, NULL) != WICK_OK) abort();
        (void)!wick_checkpoint_load(c, model, false);
        (void)!wick_checkpoint_load(c, model, true);
        (void)!wick_checkpoint_load_some(c, model, &(wick_load_options){.fitting = true}, NULL);
        if (net(ctx, &x, &y, model) != WICK_OK || wick_eval(ctx, 1, &y, NULL) != WICK_OK) abort();
    }
    wick_scope_close(&scope);
    wick_model_free(&model);
    wick_checkpoint_free(&c);
    return 1;
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

enum { TENSORS_MAX = 64, META_MAX = 32, ELEMENTS_MAX = 256 };

static const char *const names[] = {"fc.weight",
                                    "fc.bias",
                                    "a",
                                    "b",
                                    "c.d",
                                    "",
                                    "__metadata__",
                                    "\\u00e9",
                                    "x y",
                                    "optim.fc.weight.m",
                                    "fc.weight.num_batches_tracked",
                                    "\\\"",
                                    "a/b",
                                    "e",
                                    "f",
                                    "g"};
static const char *const metas[] = {"format",       WICK_META_FORMAT, WICK_META_CRC, WICK_META_NUMERICS,
                                    WICK_META_SEED, WICK_META_STREAM, "wick.dataset"};
static const char *const meta_values[] = {
    "1", "2", "0", "-1", "18446744073709551615", "18446744073709551616", "", "pt", "deadbeef", "tier=ref", "1.5", "{"};

static size_t write_all(const wick_safetensors_tensor *const *t, size_t n, const wick_safetensors_meta *meta,
                        size_t n_meta, uint8_t *to, size_t max, fuzz_random *r) {
    fuzz_buffer b = {to, 8, max, max < 8};
    const uint8_t *from[TENSORS_MAX];
    size_t bytes[TENSORS_MAX], at = 0;
    fuzz_print(&b, "{");
    if (n_meta) {
        fuzz_print(&b, "\"__metadata__\":{");
        for (size_t i = 0; i < n_meta; i++) fuzz_print(&b, "%s\"%s\":\"%s\"", i ? "," : "", meta[i].key, meta[i].value);
        fuzz_print(&b, "}%s", n ? "," : "");
    }
    for (size_t i = 0; i < n; i++) {
        from[i] = t[i]->data;
        if (!wick_safetensors_bytes(t[i]->dtype, t[i]->rank, t[i]->dims, &bytes[i])) return 0;
        fuzz_print(&b, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", i ? "," : "", t[i]->name,
                   wick_safetensors_dtype_name(t[i]->dtype));
        for (int k = 0; k < t[i]->rank; k++) fuzz_print(&b, "%s%lld", k ? "," : "", (long long)t[i]->dims[k]);
        fuzz_print(&b, "],\"data_offsets\":[%zu,%zu]}", at, at + bytes[i]);
        at += bytes[i];
    }
    fuzz_print(&b, "}%*s", (int)fuzz_below(r, 9), "");
    if (b.full) return 0;
    const uint64_t header = b.n - 8;
    for (int i = 0; i < 8; i++) to[i] = (uint8_t)(header >> 8 * i);
    for (size_t i = 0; i < n; i++) {
        const size_t have = from[i] ? WICK_MIN(t[i]->bytes, bytes[i]) : 0;
        fuzz_put(&b, from[i], have);
        fuzz_fill(&b, bytes[i] - have, r);
    }
    return b.full ? 0 : b.n;
}

/* The list, changed; 0: it cannot be. The sum of a checkpoint is made right most of the time. */
static size_t change_list(const wick_safetensors *f, bool own_kind, uint8_t *to, size_t max, fuzz_random *r) {
    wick_safetensors_tensor own[TENSORS_MAX];
    const wick_safetensors_tensor *list[TENSORS_MAX];
    wick_safetensors_meta meta[META_MAX];
    size_t n = WICK_MIN(f->count, (size_t)TENSORS_MAX - 8), n_meta = WICK_MIN(f->meta_count, (size_t)META_MAX - 8);
    for (size_t i = 0; i < n; i++) own[i] = f->tensors[i];
    for (size_t i = 0; i < n_meta; i++) meta[i] = f->meta[i];
    if (own_kind && fuzz_chance(r, n ? 20 : 90)) { /* the network's own checkpoint, of a run that could go on */
        static const wick_safetensors_tensor tensors[] = {{.name = "fc.weight", .rank = 2, .dims = {3, 2}},
                                                          {.name = "fc.bias", .rank = 1, .dims = {3}},
                                                          {.name = "optim.fc.bias.m", .rank = 1, .dims = {3}}};
        static const wick_safetensors_meta own_meta[] = {{WICK_META_FORMAT, "1"},
                                                         {WICK_META_CRC, "00000000"},
                                                         {WICK_META_NUMERICS, "tier=ref"},
                                                         {WICK_META_SEED, "1"},
                                                         {WICK_META_STREAM, "5"}};
        memcpy(own, tensors, sizeof tensors), n = 2 + fuzz_below(r, 2);
        memcpy(meta, own_meta, sizeof own_meta), n_meta = WICK_COUNTOF(own_meta);
        for (size_t i = 0; i < n; i++) own[i].dtype = WICK_F32;
    }
    for (size_t changes = own_kind ? fuzz_below(r, 3) : 1 + fuzz_below(r, 3); changes--;) {
        const size_t k = fuzz_below(r, n);
        switch (fuzz_below(r, 7)) {
        case 0:
            if (n) own[k] = own[--n];
            break;
        case 1: {
            wick_safetensors_tensor t = {.name = FUZZ_PICK(r, names), .rank = (int)fuzz_below(r, 4)};
            for (int i = 0; i < t.rank; i++) t.dims[i] = (int64_t)fuzz_below(r, 5);
            own[n++] = t;
            break;
        }
        case 2:
            if (n) {
                own[k].rank = (int)fuzz_below(r, WICK_MAX_DIMS + 1);
                for (int i = 0; i < own[k].rank; i++) own[k].dims[i] = (int64_t)fuzz_below(r, i < 3 ? 4 : 2) + (i >= 3);
            }
            break;
        case 3:
            if (n) own[k].dtype = (wick_dtype)fuzz_below(r, WICK_DTYPE_COUNT);
            break;
        case 4:
            if (n) own[k].name = FUZZ_PICK(r, names);
            break;
        case 5:
            if (n) {
                const wick_safetensors_tensor t = own[k];
                own[k] = own[0], own[0] = t;
            }
            break;
        default:
            if (n_meta && fuzz_chance(r, 30)) meta[fuzz_below(r, n_meta)] = meta[n_meta - 1], n_meta--;
            else meta[n_meta++] = (wick_safetensors_meta){FUZZ_PICK(r, metas), FUZZ_PICK(r, meta_values)};
        }
    }
    if (fuzz_chance(r, 90)) { /* no name twice */
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < i; k++)
                if (!strcmp(own[i].name, own[k].name)) own[i--] = own[--n], k = i;
        for (size_t i = 0; i < n_meta; i++)
            for (size_t k = 0; k < i; k++)
                if (!strcmp(meta[i].key, meta[k].key)) meta[k] = meta[i], meta[i--] = meta[--n_meta], k = i;
    }
    for (size_t i = 0; i < n; i++) list[i] = &own[i];
    size_t size = write_all(list, n, meta, n_meta, to, max, r);
    if (!size || fuzz_chance(r, 10)) return size;
    wick_safetensors g;
    wick_msg msg;
    if (wick_safetensors_parse(&g, to, size, "", &msg) != WICK_OK) return size;
    char crc[16];
    const char *format = wick_safetensors_get_meta(&g, WICK_META_FORMAT);
    snprintf(crc, sizeof crc, "%08x",
             wick_seal_crc(g.by_name, g.count, format && !strcmp(format, "1") ? NULL : g.meta, g.meta_count));
    wick_safetensors_close(&g);
    for (size_t i = 0; i < n_meta; i++)
        if (!strcmp(meta[i].key, WICK_META_CRC)) {
            char *at = memmem(to, size, WICK_META_CRC, strlen(WICK_META_CRC)); /* of the same length: written over */
            if (at && strlen(meta[i].value) == 8) memcpy(at + strlen(WICK_META_CRC) + 3, crc, 8);
        }
    return size;
}

static size_t mutate(bool own_kind, uint8_t *data, size_t size, size_t max, fuzz_random *r) {
    wick_safetensors f;
    wick_msg msg;
    size_t made = 0;
    const bool reads = wick_safetensors_parse(&f, data, size, "", &msg) == WICK_OK; /* else one is made from nothing */
    if (fuzz_chance(r, 80)) {
        uint8_t *to = malloc(max);
        bool plain = to != NULL; /* texts go back as they are: no escapes */
        for (size_t i = 0; i < f.count; i++) plain &= !strpbrk(f.tensors[i].name, "\"\\");
        for (size_t i = 0; i < f.meta_count; i++)
            plain &= !strpbrk(f.meta[i].key, "\"\\\n") && !strpbrk(f.meta[i].value, "\"\\\n");
        if (plain) made = change_list(&f, own_kind, to, max, r);
        if (made) memcpy(data, to, made);
        free(to);
    }
    if (reads) wick_safetensors_close(&f);
    if (made) return made;
    if (size < 8) return fuzz_bytes(data, size, max);
    uint64_t header = 0;
    for (int i = 8; i--;) header = header << 8 | data[i];
    if (header > size - 8) return fuzz_bytes(data, size, max);
    if (fuzz_chance(r, 10)) { /* the length itself */
        const uint64_t v = (uint64_t)fuzz_integer(r);
        memcpy(data, &v, 8);
        return size;
    }
    char *text = malloc(max); /* header first, then the data behind it */
    if (!text) abort();
    memcpy(text, data + 8, header);
    const size_t rest = size - 8 - header, length = fuzz_json_text(text, header, max - 8 - rest, r);
    memmove(data + 8 + length, data + 8 + header, rest);
    memcpy(data + 8, text, length);
    for (int i = 0; i < 8; i++) data[i] = (uint8_t)((uint64_t)length >> 8 * i);
    free(text);
    return 8 + length + rest;
}
FUZZ_MUTATOR(safetensors) { return mutate(false, data, size, max, r); }
FUZZ_MUTATOR(checkpoint) { return mutate(true, data, size, max, r); }
