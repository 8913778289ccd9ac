/* safetensors_write.c: the safetensors writer. */
#include <stdlib.h>

#include "io/json.h"
#include "io/safetensors.h"

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* WICK_ERR_INVALID when a text appears twice; `what` and the text are named. */
static wick_status check_distinct(const char **list, size_t n, const char *path, const char *what, wick_msg *msg) {
    char shown[WICK_JSON_SHOWN];
    qsort(list, n, sizeof *list, by_text);
    for (size_t i = 1; i < n; i++)
        if (strcmp(list[i - 1], list[i]) == 0)
            return wick_msg_set(msg, WICK_ERR_INVALID, "%s: %s \"%s\" is given twice", path, what,
                                wick_json_show(shown, list[i]));
    return WICK_OK;
}

static wick_status check_names(const char *path, const wick_safetensors_tensor *tensors, size_t count,
                               const wick_safetensors_meta *meta, size_t meta_count, wick_msg *msg) {
    const size_t n = WICK_MAX(count, meta_count);
    const char **list = wick_alloc(NULL, n * sizeof *list);
    if (!list) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    for (size_t i = 0; i < count; i++) list[i] = tensors[i].name;
    wick_status status = check_distinct(list, count, path, "tensor", msg);
    for (size_t i = 0; i < meta_count; i++) list[i] = meta[i].key;
    if (status == WICK_OK) status = check_distinct(list, meta_count, path, "metadata key", msg);
    wick_release(NULL, list, n * sizeof *list);
    return status;
}

/* One tensor's entry; *end goes from its first byte to its last. */
static wick_status add_tensor(wick_json_writer *w, const char *path, const wick_safetensors_tensor *t, size_t *end,
                              wick_msg *msg) {
    char shown[WICK_JSON_SHOWN];
    const char *dtype = wick_safetensors_dtype_name(t->dtype), *wrong = NULL;
    size_t bytes = 0, begin = *end;
    if (strcmp(t->name, "__metadata__") == 0)
        wrong = "is the name of the metadata";
    else if (!dtype)
        wrong = "has no valid dtype";
    else if (t->rank < 0 || t->rank > WICK_MAX_DIMS || !wick_safetensors_bytes(t->dtype, t->rank, t->dims, &bytes) ||
             wick_add_overflows(begin, bytes, end) || *end > PTRDIFF_MAX)
        wrong = "has a shape that does not fit";
    if (wrong)
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: tensor \"%s\" %s", path, wick_json_show(shown, t->name), wrong);
    wick_json_key(w, t->name);
    wick_json_open(w, '{');
    wick_json_key(w, "dtype");
    wick_json_string(w, dtype);
    wick_json_key(w, "shape");
    wick_json_open(w, '[');
    for (int d = 0; d < t->rank; d++) wick_json_integer(w, t->dims[d]);
    wick_json_close(w);
    wick_json_key(w, "data_offsets");
    wick_json_open(w, '[');
    wick_json_integer(w, (int64_t)begin);
    wick_json_integer(w, (int64_t)*end);
    wick_json_close(w);
    wick_json_close(w);
    return WICK_OK;
}

static wick_status make_header(wick_json_writer *w, const char *path, const wick_safetensors_tensor *tensors,
                               size_t count, const wick_safetensors_meta *meta, size_t meta_count, wick_msg *msg) {
    size_t end = 0;
    wick_json_open(w, '{');
    if (meta_count) {
        wick_json_key(w, "__metadata__");
        wick_json_open(w, '{');
        for (size_t i = 0; i < meta_count; i++) {
            wick_json_key(w, meta[i].key);
            wick_json_string(w, meta[i].value);
        }
        wick_json_close(w);
    }
    for (size_t i = 0; i < count; i++) WICK_TRY(add_tensor(w, path, &tensors[i], &end, msg));
    wick_json_close(w);
    const wick_status status = wick_json_finish(w);
    if (status == WICK_ERR_NOMEM) return wick_msg_set(msg, status, "%s: out of memory", path);
    if (status != WICK_OK) return wick_msg_set(msg, status, "%s: a name or metadata text is not UTF-8", path);
    return WICK_OK;
}

static wick_status write_all(wick_writer *out, const wick_json_writer *header, const wick_safetensors_tensor *tensors,
                             size_t count, wick_msg *msg) {
    static const char spaces[WICK_ALIGN] = "                                                                ";
    const size_t padded = WICK_ALIGN_UP(header->len + 8, WICK_ALIGN) - 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)((uint64_t)padded >> 8 * i);
    WICK_TRY(wick_writer_write(out, length, sizeof length, msg));
    WICK_TRY(wick_writer_write(out, header->at, header->len, msg));
    WICK_TRY(wick_writer_write(out, spaces, padded - header->len, msg));
    for (size_t i = 0; i < count; i++) {
        size_t bytes = 0;
        if (!wick_safetensors_bytes(tensors[i].dtype, tensors[i].rank, tensors[i].dims, &bytes) || !bytes) continue;
        const void *data = wick_safetensors_data(&tensors[i]);
        char shown[WICK_JSON_SHOWN];
        if (!data)
            return wick_msg_set(msg, WICK_ERR_CANCELLED, "the bytes of \"%s\" could not be had",
                                wick_json_show(shown, tensors[i].name));
        WICK_TRY(wick_writer_write(out, data, bytes, msg));
    }
    return WICK_OK;
}

wick_status wick_safetensors_write(const char *path, const wick_safetensors_tensor *tensors, size_t count,
                                   const wick_safetensors_meta *meta, size_t meta_count, wick_msg *msg) {
    WICK_TRY(check_names(path, tensors, count, meta, meta_count, msg));
    wick_json_writer header;
    wick_writer *out = NULL;
    wick_json_writer_init(&header, NULL);
    wick_status status = make_header(&header, path, tensors, count, meta, meta_count, msg);
    if (status == WICK_OK) status = wick_writer_open(&out, path, msg);
    if (status == WICK_OK) status = write_all(out, &header, tensors, count, msg);
    if (status == WICK_OK)
        status = wick_writer_commit(&out, msg);
    else
        wick_writer_abort(&out);
    wick_json_writer_free(&header);
    return status;
}
