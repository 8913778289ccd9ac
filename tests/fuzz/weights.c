/* weights.c: archives of NumPy's arrays, and indexes of shards. Of an archive, arrays are changed as the target npy does it, and put back with sums that fit. */
#include <stdio.h>

#include "fuzz.h"
#include "io/zip.h"

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
    if (wick_weights_write(ctx, again, good, named, NULL) == WICK_OK) {
        wick_weights *u;
        FUZZ_PROMISE(wick_weights_open(ctx, again, &u) == WICK_OK && wick_weights_count(u) == good);
        wick_weights_free(&u);
    }
    wick_scope_close(&scope);
    wick_weights_free(&w);
    return 1;
}

FUZZ_TARGET(npz) { return read_all(fuzz_file("a.npz", data, size)); }

/* One array changed, all of them written again. */
static size_t change_array(uint8_t *data, size_t size, size_t max, fuzz_random *r) {
    enum { ENTRIES = 16, ROOM = 1 << 16 };
    wick_arena arena;
    wick_zip_entry *entries;
    size_t n, made = 0;
    wick_zip_piece pieces[ENTRIES];
    uint8_t *room = malloc((size_t)ENTRIES * ROOM);
    wick_arena_init(&arena, NULL, 4096);
    bool good = room && wick_zip_parse(&arena, data, size, "", &entries, &n, NULL) == WICK_OK && n && n <= ENTRIES;
    const size_t chosen = good ? fuzz_below(r, n) : 0;
    for (size_t i = 0; good && i < n; i++) {
        uint8_t *to = room + i * ROOM;
        size_t bytes = entries[i].size;
        good = bytes <= ROOM && wick_zip_read(&entries[i], "", to, bytes, NULL) == WICK_OK;
        if (good && i == chosen) bytes = fuzz_mutate_npy(to, bytes, ROOM, r);
        pieces[i] = (wick_zip_piece){entries[i].name, "", to, 0, bytes};
    }
    char path[300];
    snprintf(path, sizeof path, "%s/mutant.npz", fuzz_folder());
    wick_map map;
    if (good && wick_zip_write(path, pieces, n, NULL) == WICK_OK && wick_map_open(&map, path, NULL) == WICK_OK) {
        if (map.size <= max) memcpy(data, map.data, made = map.size);
        wick_map_close(&map);
    }
    wick_arena_free(&arena);
    free(room);
    return made;
}

FUZZ_MUTATOR(npz) {
    const size_t made = fuzz_chance(r, 60) ? change_array(data, size, max, r) : 0;
    return made ? made : fuzz_bytes(data, size, max);
}

FUZZ_TARGET(shards) {
    static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]},\"b\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[24,28]}}";
    uint8_t shard[8 + sizeof header - 1 + 28] = {sizeof header - 1};
    memcpy(shard + 8, header, sizeof header - 1);
    fuzz_file("s.safetensors", shard, sizeof shard);
    return read_all(fuzz_file("x.safetensors.index.json", data, size));
}
FUZZ_MUTATOR(shards) {
    char *text = malloc(max + 1);
    if (!text) return size;
    memcpy(text, data, size);
    const size_t n = fuzz_json_text(text, size, max, r);
    memcpy(data, text, n);
    free(text);
    return n;
}
