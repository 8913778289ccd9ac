/* shards.c: safetensors in several files, with an index of which tensor is where, as Hugging Face's tools write them
 * (huggingface.co, "Serialization"):
 *
 *   {"metadata": {"total_size": BYTES}, "weight_map": {"TENSOR": "FILE.safetensors", ...}}
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/beneath.h"
#include "io/json.h"
#include "io/weights.h"

enum { SHARDS_MAX = 9999 };

static wick_status bad(const wick_weights *w, const wick_json *at, const char *what, const char *name, wick_msg *msg) {
    char shown[WICK_JSON_SHOWN];
    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: weight_map \"%s\" (byte %zu): %s", w->path,
                        wick_json_show(shown, name), at->offset, what);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* A shard's name is that of a file in the index's own folder. */
static bool is_shard_name(const char *name) {
    const size_t n = strlen(name);
    return n > 12 && n < 256 && name[0] != '.' && !strpbrk(name, "/\\") && !strcmp(name + n - 12, ".safetensors");
}

static int by_file(const void *a, const void *b) {
    const wick_json *x = *(const wick_json *const *)a, *y = *(const wick_json *const *)b;
    const int files = strcmp(x->text, y->text);
    return files ? files : strcmp(x->key, y->key);
}

/* The shard that names[0 .. n) of the map are said to be in, which has to have them and nothing else. */
static wick_status read_shard(wick_weights *w, int folder, const wick_json **names, size_t n, wick_msg *msg) {
    const char *file = names[0]->text;
    char path[1024], shown[WICK_JSON_SHOWN];
    const char *slash = strrchr(w->path, '/');
    snprintf(path, sizeof path, "%.*s%s", slash ? (int)WICK_MIN(slash - w->path + 1, 700) : 0, w->path, file);
    wick_map map;
    weights_file *f;
    wick_msg why = {0};
    const wick_status status = wick_map_beside(&map, w->path, folder, file, &why);
    if (status != WICK_OK) return wick_msg_set(msg, status, "%s: shard %.420s", w->path, why.text);
    WICK_TRY(wick_weights_add_file(w, &map, path, &f, msg));
    WICK_TRY(wick_weights_add_safetensors(w, f, msg));
    for (size_t i = 0; i < n; i++)
        if (!wick_safetensors_find(&f->tensors, names[i]->key))
            return bad(w, names[i], "is not in the shard that it names", names[i]->key, msg);
    if (f->tensors.count == n) return WICK_OK;
    for (size_t i = 0, k = 0; i < f->tensors.count; i++) { /* both in byte order */
        while (k < n && strcmp(names[k]->key, f->tensors.by_name[i]->name) < 0) k++;
        if (k < n && !strcmp(names[k]->key, f->tensors.by_name[i]->name)) continue;
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: tensor \"%s\" is not in the index %s", path,
                            wick_json_show(shown, f->tensors.by_name[i]->name), w->path);
    }
    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: has other tensors than the index says", path);
}

static wick_status check_total(const wick_weights *w, const wick_json *root, wick_msg *msg) {
    const wick_json *total = wick_json_get(wick_json_get(root, "metadata"), "total_size");
    uint64_t bytes = 0;
    if (!total) return WICK_OK;
    for (size_t i = 0; i < w->n; i++) bytes += w->entries[i].bytes;
    if (total->type == WICK_JSON_NUMBER && total->number == (double)bytes) return WICK_OK;
    return wick_msg_set(msg, WICK_ERR_FORMAT,
                        "%s: metadata total_size (byte %zu): the shards have %llu bytes of tensors", w->path,
                        total->offset, (unsigned long long)bytes);
}

static wick_status read_map(wick_weights *w, const wick_json *map, wick_msg *msg) {
    const wick_json **names = wick_arena_alloc(&w->arena, ((size_t)map->count + 1) * sizeof *names);
    if (!names) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", w->path);
    size_t n = 0, shards = 0;
    for (const wick_json *v = map->child; v; v = v->next) {
        if (v->type != WICK_JSON_STRING) return bad(w, v, "is not the name of a file", v->key, msg);
        if (!is_shard_name(v->text))
            return bad(w, v, "names no .safetensors file in the folder of the index", v->key, msg);
        names[n++] = v;
    }
    if (n) qsort(names, n, sizeof *names, by_file);
    const int folder = wick_folder_of(w->path);
    if (folder < 0) return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot open its folder", w->path);
    wick_status status = WICK_OK;
    for (size_t i = 0, next; i < n && status == WICK_OK; i = next) {
        for (next = i + 1; next < n && !strcmp(names[next]->text, names[i]->text);) next++;
        status = ++shards > SHARDS_MAX
                     ? wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: names more than %d shards", w->path, SHARDS_MAX)
                     : read_shard(w, folder, names + i, next - i, msg);
    }
    close(folder);
    return status;
}

wick_status wick_weights_add_shards(wick_weights *w, const wick_map *index, wick_msg *msg) {
    const wick_json *root;
    if (wick_json_parse(&w->arena, index->data, index->size, NULL, &root, msg) != WICK_OK) {
        wick_msg_prefix(msg, "%s: ", w->path);
        return msg->status;
    }
    const wick_json *map = wick_json_get(root, "weight_map");
    if (!map || map->type != WICK_JSON_OBJECT)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: no index of shards: weight_map is %s", w->path,
                            map ? wick_json_type_name(map->type) : "missing");
    WICK_TRY(read_map(w, map, msg));
    return check_total(w, root, msg);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The shard that each tensor goes to, in order; returns how many there are. */
static size_t assign(const wick_safetensors_tensor *tensors, size_t n, size_t max_shard, size_t *shard) {
    size_t k = 0, filled = 0;
    for (size_t i = 0; i < n; i++) {
        if (filled && (tensors[i].bytes > max_shard || filled > max_shard - tensors[i].bytes)) k++, filled = 0;
        shard[i] = k;
        filled += tensors[i].bytes;
    }
    return n ? k + 1 : 0;
}

static void shard_name(char *out, size_t size, const char *stem, int length, size_t k, size_t shards) {
    snprintf(out, size, "%.*s-%05zu-of-%05zu.safetensors", length, stem, k + 1, shards);
}

static wick_status write_index(const char *path, const char *base, int length, const wick_safetensors_tensor *tensors,
                               size_t n, const size_t *shard, size_t shards, wick_msg *msg) {
    wick_json_writer j;
    uint64_t total = 0;
    char name[512];
    for (size_t i = 0; i < n; i++) total += tensors[i].bytes;
    wick_json_writer_init(&j, NULL);
    wick_json_open(&j, '{');
    wick_json_key(&j, "metadata");
    wick_json_open(&j, '{');
    wick_json_key(&j, "total_size");
    wick_json_integer(&j, (int64_t)total);
    wick_json_close(&j);
    wick_json_key(&j, "weight_map");
    wick_json_open(&j, '{');
    for (size_t i = 0; i < n; i++) {
        shard_name(name, sizeof name, base, length, shard[i], shards);
        wick_json_key(&j, tensors[i].name);
        wick_json_string(&j, name);
    }
    wick_json_close(&j);
    wick_json_close(&j);
    wick_writer *w = NULL;
    wick_status status = wick_json_finish(&j);
    if (status != WICK_OK)
        wick_msg_set(msg, status, status == WICK_ERR_NOMEM ? "%s: out of memory" : "%s: a name is not UTF-8", path);
    if (status == WICK_OK) status = wick_writer_open(&w, path, msg);
    if (status == WICK_OK) status = wick_writer_write(w, j.at, j.len, msg);
    if (status == WICK_OK) status = wick_writer_commit(&w, msg);
    else wick_writer_abort(&w);
    wick_json_writer_free(&j);
    return status;
}

wick_status wick_shards_write(const char *path, const wick_safetensors_tensor *tensors, size_t n,
                              const wick_safetensors_meta *meta, size_t n_meta, size_t max_shard, wick_msg *msg) {
    static const char end[] = ".safetensors.index.json";
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const size_t folder = (size_t)(base - path), length = strlen(base) - (sizeof end - 1);
    char name[512];
    if (length > 200) return wick_msg_set(msg, WICK_ERR_INVALID, "%s: the name is too long for shards", path);
    const size_t bytes = (n + 1) * sizeof(size_t), room = folder + sizeof name;
    size_t *shard = wick_calloc(NULL, bytes);
    char *file = wick_alloc(NULL, room);
    wick_status status = shard && file ? WICK_OK : wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    const size_t shards = status == WICK_OK ? assign(tensors, n, max_shard, shard) : 0;
    if (shards > SHARDS_MAX)
        status = wick_msg_set(msg, WICK_ERR_INVALID, "%s: would be %zu shards; let them be larger", path, shards);
    for (size_t i = 0, next; i < n && status == WICK_OK; i = next) {
        for (next = i + 1; next < n && shard[next] == shard[i];) next++;
        shard_name(name, sizeof name, base, (int)length, shard[i], shards);
        snprintf(file, room, "%.*s%s", (int)folder, path, name);
        status = wick_seal_write(file, tensors + i, next - i, meta, n_meta, msg);
    }
    if (status == WICK_OK) status = write_index(path, base, (int)length, tensors, n, shard, shards, msg);
    wick_release(NULL, shard, bytes);
    wick_release(NULL, file, room);
    return status;
}
