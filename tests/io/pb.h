/* pb.h: writes protocol buffers for tests: messages into fixed buffers. */
#ifndef WICK_TESTS_PB_H
#define WICK_TESTS_PB_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct pb {
    unsigned char *at;
    size_t n, cap;
} pb;

static inline void pb_bytes(pb *p, const void *data, size_t n) {
    if (p->n + n > p->cap) p->at = realloc(p->at, p->cap = 2 * (p->n + n) + 64);
    if (n) memcpy(p->at + p->n, data, n);
    p->n += n;
}
static inline void pb_varint(pb *p, uint64_t v) {
    for (; v > 127; v >>= 7) pb_bytes(p, &(unsigned char){(unsigned char)(v | 128)}, 1);
    pb_bytes(p, &(unsigned char){(unsigned char)v}, 1);
}
static inline void pb_int(pb *p, int field, int64_t v) {
    pb_varint(p, (uint64_t)field << 3);
    pb_varint(p, (uint64_t)v);
}
static inline void pb_blob(pb *p, int field, const void *data, size_t n) {
    pb_varint(p, (uint64_t)field << 3 | 2);
    pb_varint(p, n);
    pb_bytes(p, data, n);
}
static inline void pb_text(pb *p, int field, const char *s) { pb_blob(p, field, s, strlen(s)); }
/* The message is put in and freed. */
static inline void pb_message(pb *p, int field, pb *m) {
    pb_blob(p, field, m->at, m->n);
    free(m->at);
    *m = (pb){0};
}

/* ---- ONNX -------------------------------------------------------------------------------------------------------- */

static inline pb pb_tensor(const char *name, int type, int rank, const int64_t *dims, const void *raw, size_t bytes) {
    pb t = {0};
    for (int i = 0; i < rank; i++) pb_int(&t, 1, dims[i]);
    pb_int(&t, 2, type);
    pb_text(&t, 8, name);
    if (raw) pb_blob(&t, 9, raw, bytes);
    return t;
}
/* name: float[n] or of any shape (n < 0) */
static inline pb pb_value(const char *name, int64_t n) {
    pb v = {0}, type = {0}, tensor = {0}, shape = {0}, dim = {0};
    pb_int(&tensor, 1, 1);
    if (n >= 0) {
        pb_int(&dim, 1, n);
        pb_message(&shape, 1, &dim);
        pb_message(&tensor, 2, &shape);
    }
    pb_message(&type, 1, &tensor);
    pb_text(&v, 1, name);
    pb_message(&v, 2, &type);
    return v;
}
static inline pb pb_node(const char *op, const char *in0, const char *in1, const char *out) {
    pb n = {0};
    if (in0) pb_text(&n, 1, in0);
    if (in1) pb_text(&n, 1, in1);
    pb_text(&n, 2, out);
    pb_text(&n, 4, op);
    return n;
}
/* The graph is put in and freed. */
static inline pb pb_model(pb *graph, int opset) {
    pb m = {0}, set = {0};
    pb_int(&m, 1, 8);
    pb_text(&set, 1, "");
    pb_int(&set, 2, opset);
    pb_message(&m, 8, &set);
    pb_text(&set, 1, "ai.onnx.ml");
    pb_int(&set, 2, 3);
    pb_message(&m, 8, &set);
    pb_message(&m, 7, graph);
    return m;
}

#endif
