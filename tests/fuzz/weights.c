/* weights.c: archives of NumPy's arrays, and indexes of shards. Archives are written anew with their arrays changed,
 * indexes and shards are made to fit each other; most with no fault, some with one. */
#include <stdio.h>
#include <unistd.h>

#include "base/inflate.h"
#include "fuzz.h"
#include "io/zip.h"

/* A network that takes what fits, by rules that most names don't need. */
static void load_all(wick_context *ctx, const wick_weights *w) {
    static const wick_rename rules[] = {{"x/", "fc"},       {"*.y", "*.weight"}, {"a.", ""},
                                        {"t*", "fc*.bias"}, {"a", "fc.weight"},  {"b", "fc.bias"}};
    wick_model *model;
    if (wick_model_new(ctx, &model) != WICK_OK) return;
    (void)wick_nn_linear(model, "fc", wick_ones(ctx, WICK_F32, WICK_DIMS(1, 2)), 3);
    for (int i = 0; i < 3; i++) {
        const wick_weights_options o = {.n_rename = i ? (int)WICK_COUNTOF(rules) : 0,
                                        .rename = rules,
                                        .fitting = i > 0,
                                        .transpose = i > 1 ? "*.weight" : NULL};
        wick_load_report report;
        if (wick_weights_load(w, model, &o, &report) == WICK_OK) FUZZ_PROMISE(report.loaded + report.kept == 2);
    }
    wick_model_free(&model);
}

/* All tensors of a file that opens, and written again as another kind. */
static int read_all(const char *path) {
    enum { MOST = 1 << 24 };
    wick_context *ctx = fuzz_context();
    wick_weights *w;
    if (wick_weights_open(ctx, path, &w) != WICK_OK) {
        FUZZ_PROMISE(!w && strstr(wick_context_error(ctx), fuzz_folder()));
        return 0;
    }
    wick_scope *scope = wick_scope_open(ctx);
    wick_named_tensor named[64];
    int good = 0;
    const int n = wick_weights_count(w);
    for (int i = 0; i < n && i < 64; i++) {
        const wick_spec s = wick_weights_at(w, i);
        double bytes = (double)WICK_MAX(wick_dtype_size(s.dtype), 1);
        for (int d = 0; d < s.rank; d++) bytes *= (double)s.dims[d];
        FUZZ_PROMISE(wick_weights_find(w, s.name) == i);
        if (bytes > MOST) continue;
        const void *at;
        wick_tensor *t = wick_weights_tensor(w, i);
        if (wick_tensor_error(t, NULL) != WICK_OK || wick_data(t, &at) != WICK_OK) continue;
        fuzz_touch(at, wick_dtype_bytes(wick_tensor_dtype(t), wick_tensor_count(t)));
        named[good++] = (wick_named_tensor){s.name, t};
    }
    char again[300];
    snprintf(again, sizeof again, "%s/again.npz", fuzz_folder());
    if (wick_weights_write(ctx, again, good, named, &(wick_weights_write_options){.compress = good % 2}) == WICK_OK) {
        wick_weights *u;
        FUZZ_PROMISE(wick_weights_open(ctx, again, &u) == WICK_OK && wick_weights_count(u) == good);
        wick_weights_free(&u);
    }
    load_all(ctx, w);
    wick_scope_close(&scope);
    wick_weights_free(&w);
    return 1;
}

FUZZ_TARGET(npz) { return read_all(fuzz_file("a.npz", data, size)); }

/* ---- archives ---------------------------------------------------------------------------------------------------- */

enum { MEMBERS = 8, ROOM = 1 << 14 };
typedef struct member {
    char name[64];
    uint8_t bytes[ROOM];
    size_t n;
} member;

/* The archive's arrays where it reads, or new ones; one of them changed, taken away or added. */
static size_t members_of(const uint8_t *data, size_t size, member *m, fuzz_random *r) {
    static const char *const names[] = {"a.npy",        "b.npy", "fc.weight.npy", "x/y.npy",
                                        "\xc3\xa9.npy", ".npy",  "arr_0.npy",     "a b.npy"};
    wick_arena arena;
    wick_zip_entry *e;
    size_t count, n = 0;
    wick_arena_init(&arena, NULL, 4096);
    if (wick_zip_parse(&arena, data, size, "", &e, &count, NULL) == WICK_OK)
        for (size_t i = 0; i < count && n < MEMBERS; i++) {
            if (e[i].size > ROOM || strlen(e[i].name) >= sizeof m->name ||
                wick_zip_read(&e[i], "", m[n].bytes, e[i].size, NULL) != WICK_OK)
                continue;
            snprintf(m[n].name, sizeof m[n].name, "%s", e[i].name);
            m[n++].n = e[i].size;
        }
    wick_arena_free(&arena);
    for (size_t more = n && fuzz_chance(r, 70) ? 0 : 1 + fuzz_below(r, 2); more-- && n < MEMBERS;) {
        const char *name = FUZZ_PICK(r, names);
        bool there = false;
        for (size_t i = 0; i < n; i++) there |= !strcmp(m[i].name, name);
        if (there && fuzz_chance(r, 95)) continue;
        snprintf(m[n].name, sizeof m[n].name, "%s", name);
        m[n].n = fuzz_make_npy(m[n].bytes, ROOM, r);
        n += m[n].n != 0;
    }
    if (n > 1 && fuzz_chance(r, 15)) m[fuzz_below(r, n)] = m[n - 1], n--;
    if (n && fuzz_chance(r, 25)) {
        member *c = &m[fuzz_below(r, n)];
        c->n = fuzz_mutate_npy(c->bytes, c->n, ROOM, r);
    }
    return n;
}

/* A zip archive as any writer may make one (PKWARE, APPNOTE 6.3), with at most one fault. */
static size_t write_zip(const member *m, size_t n, uint8_t *to, size_t max, fuzz_random *r) {
    enum { DESCRIPTOR = 8, UTF8 = 1 << 11 };
    static uint8_t packed[2 * ROOM];
    static const uint32_t all = UINT32_MAX;
    uint8_t central[1 << 12];
    fuzz_buffer b = {to, 0, max, false}, c = {central, 0, sizeof central, false};
    const size_t fault = fuzz_fault(r, 20), bad = fuzz_below(r, n);
    if (fuzz_chance(r, 5)) fuzz_put(&b, "PK\3\4", 4); /* bytes of nobody */
    for (size_t i = 0; i < n; i++) {
        const size_t now = i == bad ? fault : 0, offset = b.n, name = strlen(m[i].name),
                     extra = fuzz_chance(r, 30) ? 8 : 0, comment = fuzz_chance(r, 10) ? 3 : 0;
        const bool deflated = fuzz_chance(r, 50), wide = fuzz_chance(r, 25);
        fuzz_buffer z = {packed, 0, sizeof packed, false};
        if (!deflated) fuzz_put(&z, m[i].bytes, m[i].n);
        else if (fuzz_chance(r, 70)) fuzz_deflate(&z, WICK_Z_RAW, m[i].bytes, m[i].n);
        else { /* stored blocks, of which the first may be empty */
            const size_t first = fuzz_below(r, m[i].n + 1);
            fuzz_little(&z, 0, 1), fuzz_little(&z, first, 2), fuzz_little(&z, ~first, 2),
                fuzz_put(&z, m[i].bytes, first);
            fuzz_little(&z, 1, 1), fuzz_little(&z, m[i].n - first, 2), fuzz_little(&z, ~(m[i].n - first), 2),
                fuzz_put(&z, m[i].bytes + first, m[i].n - first);
        }
        if (now == 1 && z.n) packed[fuzz_below(r, z.n)] ^= (uint8_t)(1u << fuzz_below(r, 8));
        if (now == 2 && z.n) z.n--;
        if (now == 3) fuzz_put(&z, "x", 1);
        const uint64_t size = now == 4 ? (uint64_t)fuzz_integer(r) : m[i].n,
                       length = now == 5 ? (uint64_t)fuzz_integer(r) : z.n,
                       place = now == 6 ? (uint64_t)fuzz_integer(r) : offset;
        const uint32_t crc = wick_crc32(0, m[i].bytes, m[i].n) ^ (now == 7);
        const uint64_t flags =
                           (fuzz_chance(r, 30) ? DESCRIPTOR : 0) | (fuzz_chance(r, 20) ? UTF8 : 0) | (now == 8 ? 1 : 0),
                       method = now == 9   ? fuzz_below(r, 100)
                                : deflated ? 8
                                           : 0;
        const bool later = flags & DESCRIPTOR;
        fuzz_put(&b, "PK\3\4", 4), fuzz_little(&b, 20, 2), fuzz_little(&b, flags, 2),
            fuzz_little(&b, now == 10 ? 12 : method, 2), fuzz_little(&b, 33, 4);
        fuzz_little(&b, later ? 0 : crc, 4),
            fuzz_little(&b,
                        wide    ? all
                        : later ? 0
                                : length,
                        4),
            fuzz_little(&b,
                        wide    ? all
                        : later ? 0
                                : size,
                        4);
        fuzz_little(&b, name + (now == 11), 2), fuzz_little(&b, extra + (wide ? 20u : 0), 2),
            fuzz_put(&b, m[i].name, name);
        if (wide) fuzz_little(&b, 1, 2), fuzz_little(&b, 16, 2), fuzz_little(&b, size, 8), fuzz_little(&b, length, 8);
        fuzz_put(&b, "AB\4\0abcd", extra), fuzz_put(&b, packed, z.n);
        if (later)
            fuzz_put(&b, "PK\7\10", 4), fuzz_little(&b, crc, 4), fuzz_little(&b, length, wide ? 8 : 4),
                fuzz_little(&b, size, wide ? 8 : 4);
        fuzz_put(&c, "PK\1\2\24\0\24\0", 8), fuzz_little(&c, flags, 2), fuzz_little(&c, method, 2),
            fuzz_little(&c, 33, 4), fuzz_little(&c, crc, 4);
        fuzz_little(&c, wide ? all : length, 4), fuzz_little(&c, wide ? all : size, 4),
            fuzz_little(&c, now == 12 ? 0 : name, 2);
        fuzz_little(&c, extra + (wide ? 28u : 0), 2), fuzz_little(&c, comment, 2), fuzz_little(&c, 0, 8),
            fuzz_little(&c, wide ? all : place, 4), fuzz_put(&c, m[i].name, name);
        if (wide)
            fuzz_little(&c, 1, 2), fuzz_little(&c, now == 13 ? fuzz_below(r, 40) : 24, 2), fuzz_little(&c, size, 8),
                fuzz_little(&c, length, 8), fuzz_little(&c, place, 8);
        fuzz_put(&c, "AB\4\0abcd", extra), fuzz_put(&c, "abc", comment);
    }
    const size_t begin = b.n, length = c.n;
    const bool wide = fuzz_chance(r, 30), all_wide = wide && fuzz_chance(r, 50);
    const uint64_t count = n + (fault == 14), bytes = length + (fault == 15), at = begin - (fault == 16);
    fuzz_put(&b, central, length);
    if (fault == 17) fuzz_put(&b, "x", 1);
    if (wide) {
        const size_t end = b.n + (fault == 18);
        fuzz_put(&b, "PK\6\6", 4), fuzz_little(&b, 44, 8), fuzz_little(&b, 45, 2), fuzz_little(&b, 45, 2),
            fuzz_little(&b, 0, 8), fuzz_little(&b, count, 8), fuzz_little(&b, count, 8);
        fuzz_little(&b, bytes, 8), fuzz_little(&b, at, 8);
        fuzz_put(&b, "PK\6\7", 4), fuzz_little(&b, 0, 4), fuzz_little(&b, end, 8), fuzz_little(&b, 1, 4);
    }
    fuzz_put(&b, "PK\5\6\0\0\0\0", 8), fuzz_little(&b, all_wide ? all : count, 2),
        fuzz_little(&b, all_wide ? all : count, 2), fuzz_little(&b, all_wide ? all : bytes, 4);
    fuzz_little(&b, wide ? all : at, 4);
    const size_t comment = fuzz_chance(r, 20) ? fuzz_below(r, 30) : 0;
    fuzz_little(&b, comment + (fault == 19), 2), fuzz_put(&b, "PK\5\6 and whatever else one says", comment);
    if (fault == 20) b.n -= 1 + fuzz_below(r, WICK_MIN(b.n, (size_t)60));
    return b.full || c.full ? 0 : b.n;
}

FUZZ_MUTATOR(npz) {
    static member m[MEMBERS];
    const size_t made = fuzz_chance(r, 95) ? write_zip(m, members_of(data, size, m, r), data, max, r) : 0;
    return made ? made : fuzz_bytes(data, size, max);
}

/* ---- shards: the index, a zero, and then of each file its number, its length in 4 bytes, and the file. Alone, an
 * index is of one file with a and b ---- */

enum { SHARDS = 4 };
static const char plain_shard[] = "\x6c\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]},"
                                  "\"b\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[24,28]}}";

FUZZ_TARGET(shards) {
    uint8_t shard[sizeof plain_shard - 1 + 28] = {0};
    char name[] = "s0.safetensors", path[300];
    memcpy(shard, plain_shard, sizeof plain_shard - 1);
    shard[0] = sizeof plain_shard - 1 - 8;
    fuzz_file("s.safetensors", shard, sizeof shard);
    for (int i = 0; i < SHARDS; i++) {
        snprintf(path, sizeof path, "%s/s%d.safetensors", fuzz_folder(), i);
        unlink(path);
    }
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL, *end = data + size;
    for (const uint8_t *at = zero ? zero + 1 : end; end - at >= 5;) {
        uint32_t n;
        memcpy(&n, at + 1, 4);
        name[1] = (char)('0' + at[0] % SHARDS);
        at += 5;
        n = (uint32_t)WICK_MIN((size_t)n, (size_t)(end - at));
        fuzz_file(name, at, n);
        at += n;
    }
    return read_all(fuzz_file("x.safetensors.index.json", data, zero ? (size_t)(zero - data) : size));
}

/* Tensors over a few files, and an index of them, with at most one fault between the two. */
static size_t make_shards(uint8_t *to, size_t max, fuzz_random *r) {
    static const char *const kinds[] = {"F32", "I64", "F16", "BF16", "BOOL", "U8", "F8_E4M3", "F64"},
                             *const others[] = {"../s0.safetensors",
                                                ".safetensors",
                                                "s0.bin",
                                                "s9.safetensors",
                                                "s0",
                                                "/s0.safetensors",
                                                ""};
    static const uint8_t widths[] = {4, 8, 2, 2, 1, 1, 1, 8};
    enum { TENSORS = 8 };
    static uint8_t room[1 << 13];
    fuzz_buffer b = {to, 0, max, false}, files = {room, 0, sizeof room, false};
    const size_t n = fuzz_below(r, TENSORS + 1), shards = 1 + fuzz_below(r, SHARDS), fault = fuzz_fault(r, 13),
                 bad = fuzz_below(r, n);
    size_t of[TENSORS + 1], total = 0;
    for (size_t i = 0; i < n; i++) of[i] = fuzz_below(r, shards);
    for (size_t s = 0; s < shards; s++) {
        char text[2048];
        fuzz_buffer t = {(uint8_t *)text, 0, sizeof text, false};
        size_t at = 0, held = 0;
        fuzz_print(&t, "{");
        if (fuzz_chance(r, 30)) fuzz_print(&t, "\"__metadata__\":{\"format\":\"pt\"}"), held++;
        bool any = false;
        for (size_t i = 0; i < n; i++) {
            if (of[i] != s || (fault == 1 && i == bad)) continue;
            const size_t k = fuzz_below(r, WICK_COUNTOF(kinds)), d0 = fuzz_below(r, 4), d1 = 1 + fuzz_below(r, 4),
                         bytes = d0 * d1 * widths[k];
            fuzz_print(&t, "%s\"t%zu\":{\"dtype\":\"%s\",\"shape\":[%zu,%zu],\"data_offsets\":[%zu,%zu]}",
                       held++ ? "," : "", i, kinds[k], d0, d1, at, at + bytes);
            at += bytes;
            any = true;
        }
        if (fault == 2 && s == 0)
            fuzz_print(&t, "%s\"extra\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[%zu,%zu]}", held ? "," : "",
                       at, at);
        fuzz_print(&t, "}");
        total += at;
        if ((!any && fuzz_chance(r, 80)) || (fault == 3 && s == 0)) continue; /* no file of that name */
        const size_t length = 8 + t.n + at - (fault == 4 && at);
        fuzz_little(&files, s, 1), fuzz_little(&files, length, 4), fuzz_little(&files, t.n, 8),
            fuzz_put(&files, text, t.n);
        fuzz_fill(&files, length - 8 - t.n, r);
    }
    const char *space = fuzz_chance(r, 50) ? " \n" : "";
    fuzz_print(&b, "{%s", space);
    if (fuzz_chance(r, 70))
        fuzz_print(&b, "\"metadata\":{\"total_size\":%zu%s},%s", total + (fault == 5), fuzz_chance(r, 10) ? ".0" : "",
                   space);
    fuzz_print(&b, "\"weight_map\":%s", fault == 6 ? "[]" : "{");
    for (size_t i = 0, turned = fuzz_chance(r, 30), k; i < n && fault != 6; i++) {
        k = turned ? n - 1 - i : i;
        fuzz_print(&b, "%s", i ? "," : "");
        if (fault == 7 && k == bad) fuzz_print(&b, "\"other\":\"s0.safetensors\"");
        else if (fault == 8 && k == bad) fuzz_print(&b, "\"t%zu\":%d", k, (int)fuzz_below(r, 3));
        else if (fault == 9 && k == bad) fuzz_print(&b, "\"t%zu\":\"%s\"", k, FUZZ_PICK(r, others));
        else
            fuzz_print(&b, "\"t%zu\":\"s%zu.safetensors\"", fault == 10 && k == bad ? 0 : k,
                       fault == 11 && k == bad ? (of[k] + 1) % SHARDS : of[k]);
    }
    fuzz_print(&b, "%s%s}", fault == 6 ? "" : "}", space);
    if (fault == 12) b.n = fuzz_json_text((char *)to, b.n, max, r);
    fuzz_put(&b, "", 1);
    if (fault == 13 && files.n) room[fuzz_below(r, files.n)] ^= (uint8_t)(1u << fuzz_below(r, 8));
    fuzz_put(&b, room, files.n);
    return b.full || files.full ? 0 : b.n;
}

FUZZ_MUTATOR(shards) {
    const size_t made = fuzz_chance(r, 75) ? make_shards(data, max, r) : 0;
    if (made) return made;
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    const size_t n = zero ? (size_t)(zero - data) : size, rest = size - n;
    char *text = malloc(max + 1);
    if (!text) abort();
    memcpy(text, data, n);
    const size_t now = fuzz_json_text(text, n, max - rest, r);
    memmove(data + now, data + n, rest);
    memcpy(data, text, now);
    free(text);
    return now + rest;
}
