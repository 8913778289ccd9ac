/* texts.c: texts that are compared are numbered. */
#define WICK_NO_SITES
#include "io/onnx/onnx.h"

int wick_onnx_compare_texts(wick_text a, wick_text b, wick_watch *watch) {
    const size_t n = WICK_MIN(a.size, b.size);
    wick_watch_spend(watch, n / 16);
    const int order = n && a.at != b.at ? memcmp(a.at, b.at, n) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

typedef struct numbered {
    wick_text text;
    size_t place;
} numbered;
static int by_text(const void *a, const void *b, wick_watch *watch) {
    return wick_onnx_compare_texts(((const numbered *)a)->text, ((const numbered *)b)->text, watch);
}

bool wick_onnx_number_texts(onnx_call *c, int n, const wick_onnx_value *const *values, wick_tensor **out) {
    size_t total = 0, at = 0;
    for (int i = 0; i < n; i++) total += values[i]->n;
    numbered *all = wick_onnx_alloc(c, total, sizeof *all);
    int64_t *ids = all ? wick_onnx_alloc(c, total, sizeof *ids) : NULL, id = -1;
    if (!ids) return false;
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < values[i]->n; k++, at++) all[at] = (numbered){values[i]->texts[k], at};
    if (!wick_onnx_sort(c, all, total, sizeof *all, by_text)) return false;
    for (size_t i = 0; i < total && wick_onnx_spend(c, 1); i++) {
        if (!i || by_text(&all[i - 1], &all[i], &c->ctx->watch)) id++;
        ids[all[i].place] = id;
    }
    at = 0;
    for (int i = 0; i < n; i++) {
        out[i] = wick_from(c->ctx, WICK_I64, values[i]->rank, values[i]->dims, ids + at);
        at += values[i]->n;
    }
    return c->status == WICK_OK;
}
