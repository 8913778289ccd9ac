/* npy_texts.c: tensors of texts in NumPy's files: "<U5" has five UCS-4 each, "|S5" five bytes. */
#define WICK_NO_SITES
#include <stdio.h>

#include "base/utf8.h"
#include "io/npy.h"
#include "io/onnx/onnx.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Which element of the file is number i in row-major order. */
static size_t place_of(const wick_npy_header *h, size_t i) {
    size_t place = 0, step = 1, at[WICK_MAX_DIMS];
    if (!h->fortran) return i;
    for (int d = h->rank - 1; d >= 0; d--) at[d] = i % (size_t)h->dims[d], i /= (size_t)h->dims[d];
    for (int d = 0; d < h->rank; d++) place += at[d] * step, step *= (size_t)h->dims[d];
    return place;
}

wick_status wick_onnx_read_npy_texts(wick_onnx *onnx, const wick_map *map, const char *name, wick_onnx_value *out) {
    wick_npy_header h;
    const char **all;
    size_t n;
    WICK_TRY(wick_npy_parse(map->data, map->size, map->size, name, &h, &onnx->msg));
    if (!h.texts)
        return wick_msg_set(&onnx->msg, WICK_ERR_DTYPE, "%s: holds numbers (%s), and texts are wanted", name,
                            wick_dtype_name(h.dtype));
    WICK_TRY(wick_npy_texts(&onnx->arena, &h, map->data + h.offset, name, &all, &n, &onnx->msg));
    wick_text *texts = wick_arena_alloc(&onnx->arena, (n + 1) * sizeof *texts);
    if (!texts) return wick_msg_set(&onnx->msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    for (size_t i = 0; i < n; i++) {
        const char *text = all[place_of(&h, i)];
        texts[i] = (wick_text){text, strlen(text)};
    }
    *out = (wick_onnx_value){.kind = WICK_VALUE_STRINGS, .rank = h.rank, .n = n, .texts = texts};
    memcpy(out->dims, h.dims, sizeof out->dims);
    return WICK_OK;
}

wick_status wick_onnx_fill_texts(wick_onnx *onnx, const char *text, int rank, const int64_t *dims,
                                 wick_onnx_value *out) {
    int64_t n = 1;
    bool good = text && out && rank >= 0 && rank <= WICK_MAX_DIMS && (dims || !rank);
    for (int d = 0; d < rank && good; d++) good = dims[d] >= 0 && !wick_mul_overflows(n, dims[d], &n);
    if (!good) return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "there are no texts of such dims");
    const size_t length = strlen(text);
    const bool fits = (uint64_t)n <= onnx->limits.memory / sizeof(wick_text);
    wick_text *texts = fits ? wick_arena_alloc(&onnx->arena, ((size_t)n + 1) * sizeof *texts) : NULL;
    char *copy = texts ? wick_arena_alloc(&onnx->arena, length + 1) : NULL;
    if (!copy)
        return wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%lld texts: out of memory, or beyond the limit",
                                 (long long)n);
    memcpy(copy, text, length + 1);
    for (int64_t i = 0; i < n; i++) texts[i] = (wick_text){copy, length};
    *out = (wick_onnx_value){.kind = WICK_VALUE_STRINGS, .rank = rank, .n = (size_t)n, .texts = texts};
    if (rank) memcpy(out->dims, dims, (size_t)rank * sizeof *dims);
    return WICK_OK;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The character at text[at ..), and its bytes; 0: it is no UTF-8. */
static size_t get_utf8(const wick_text *t, size_t at, uint32_t *c) {
    const uint8_t *s = (const uint8_t *)t->at + at;
    const size_t n = wick_utf8_next(s, t->size - at);
    *c = n == 1 ? *s : *s & (0x7Fu >> n);
    for (size_t k = 1; k < n; k++) *c = *c << 6 | (s[k] & 0x3F);
    return n;
}

/* The longest text in characters, or in bytes where one is no UTF-8. */
static size_t widest(const wick_onnx_value *v, bool *unicode) {
    size_t chars = 1, bytes = 1;
    *unicode = true;
    for (size_t i = 0; i < v->n; i++) {
        size_t k = 0;
        uint32_t c;
        for (size_t at = 0, n; at < v->texts[i].size && *unicode; at += n, k++)
            if (!(n = get_utf8(&v->texts[i], at, &c))) *unicode = false;
        chars = WICK_MAX(chars, k), bytes = WICK_MAX(bytes, v->texts[i].size);
    }
    return *unicode ? chars : bytes;
}

static wick_status write_text(wick_writer *w, const wick_text *t, size_t width, bool unicode, wick_msg *msg) {
    static const uint8_t zeros[64] = {0};
    size_t left = unicode ? 4 * width : width;
    uint32_t c;
    for (size_t at = 0, n; at < t->size && unicode; at += n, left -= 4) {
        n = get_utf8(t, at, &c);
        WICK_TRY(wick_writer_write(w, &c, 4, msg));
    }
    if (!unicode && t->size) WICK_TRY(wick_writer_write(w, t->at, t->size, msg));
    if (!unicode) left -= t->size;
    for (size_t n; left; left -= n) {
        n = WICK_MIN(left, sizeof zeros);
        WICK_TRY(wick_writer_write(w, zeros, n, msg));
    }
    return WICK_OK;
}

wick_status wick_onnx_write_texts(wick_context *ctx, const wick_onnx_value *v, const char *path) {
    char head[WICK_NPY_HEADER], descr[32];
    wick_msg msg = {0};
    wick_writer *w = NULL;
    bool unicode;
    if (!path || !v || v->kind != WICK_VALUE_STRINGS)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "no path or no texts given to write");
    for (size_t i = 0; i < v->n; i++)
        if (v->texts[i].size && !v->texts[i].at[v->texts[i].size - 1])
            return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                     "%s: text %zu ends in a zero, which NumPy's files cannot say", path, i);
    const size_t width = widest(v, &unicode);
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    snprintf(descr, sizeof descr, "%c%c%zu", !unicode ? '|' : little ? '<' : '>', unicode ? 'U' : 'S', width);
    const size_t n = wick_npy_make_header_of(head, descr, v->rank, v->dims);
    wick_status status = wick_writer_open(&w, path, &msg);
    if (status == WICK_OK) status = wick_writer_write(w, head, n, &msg);
    for (size_t i = 0; i < v->n && status == WICK_OK; i++) status = write_text(w, &v->texts[i], width, unicode, &msg);
    if (status == WICK_OK) status = wick_writer_commit(&w, &msg);
    if (w) wick_writer_abort(&w);
    return status == WICK_OK ? status : wick_context_fail(ctx, status, "%s", msg.text);
}
