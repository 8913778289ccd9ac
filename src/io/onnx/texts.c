/* texts.c: tensors of texts in ops for numbers. Ops that only move elements move the texts' places instead; texts that are compared are numbered. */
#define WICK_NO_SITES
#include "io/onnx/onnx.h"

#include <stdlib.h>

/* ---- moving ----------------------------------------------------------------------------------------------------------------------------------------- */

static const char *const movers[] = {"Compress", "Concat",  "Expand",          "Flatten",   "Gather", "GatherElements", "GatherND",  "Reshape",
                                     "ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "Slice",  "Split",          "Squeeze",   "Tile",
                                     "Transpose",       "Unsqueeze", "Where"};

static bool moves(const onnx_call *c) {
    bool any = false;
    for (int i = 0; i < c->n_in; i++) any |= c->in[i] && c->in[i]->v.kind == WICK_VALUE_STRINGS;
    for (size_t i = 0; any && i < WICK_COUNTOF(movers); i++)
        if (!strcmp(c->step->op->name, movers[i])) return true;
    return false;
}

bool wick_onnx_move_texts(onnx_call *c) {
    if (!moves(c)) return false;
    const onnx_value **in = c->in;
    size_t total = 0;
    for (int i = 0; i < c->n_in; i++)
        if (in[i] && in[i]->v.kind == WICK_VALUE_STRINGS) total += in[i]->v.n;
    onnx_value *places = wick_onnx_alloc(c, (size_t)c->n_in, sizeof *places);
    const onnx_value **args = places ? wick_onnx_alloc(c, (size_t)c->n_in, sizeof(onnx_value *)) : NULL;
    int64_t *numbers = args ? wick_onnx_alloc(c, total, sizeof *numbers) : NULL;
    const wick_text **texts = numbers ? wick_onnx_alloc(c, total, sizeof(wick_text *)) : NULL;
    if (!texts) return true;
    size_t at = 0;
    for (int i = 0; i < c->n_in; i++) {
        args[i] = in[i];
        if (!in[i] || in[i]->v.kind != WICK_VALUE_STRINGS) continue;
        const wick_onnx_value *v = &in[i]->v;
        for (size_t k = 0; k < v->n; k++) numbers[at + k] = (int64_t)(at + k), texts[at + k] = &v->texts[k];
        places[i] = (onnx_value){{.kind = WICK_VALUE_TENSOR, .tensor = wick_from(c->ctx, WICK_I64, v->rank, v->dims, numbers + at)}, in[i]->dynamic};
        args[i] = &places[i];
        at += v->n;
    }
    c->in = args;
    c->step->op->fn(c);
    c->in = in;
    for (int i = 0; i < c->n_out && c->status == WICK_OK; i++) {
        onnx_host h;
        if (c->out[i].v.kind != WICK_VALUE_TENSOR || !wick_onnx_host_of(c, c->out[i].v.tensor, c->out[i].dynamic, &h)) continue;
        wick_text *moved = wick_onnx_alloc(c, (size_t)h.n, sizeof *moved);
        for (int64_t k = 0; k < h.n && moved; k++) {
            if ((uint64_t)h.ints[k] >= total) {
                wick_onnx_fail(c, WICK_ERR_FORMAT, "has strings and numbers to move");
                return true;
            }
            moved[k] = *texts[h.ints[k]];
        }
        if (!moved) return true;
        c->out[i].v = (wick_onnx_value){.kind = WICK_VALUE_STRINGS, .rank = h.rank, .n = (size_t)h.n, .texts = moved};
        memcpy(c->out[i].v.dims, h.dims, (size_t)h.rank * sizeof *h.dims);
    }
    return true;
}

/* ---- numbering -------------------------------------------------------------------------------------------------------------------------------------- */

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
static int by_text(const void *a, const void *b, wick_watch *watch) { return wick_onnx_compare_texts(((const numbered *)a)->text, ((const numbered *)b)->text, watch); }

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
