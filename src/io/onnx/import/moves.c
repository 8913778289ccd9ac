/* moves.c: elements that kernels don't have, in ops that only move them. Texts are numbered, and the numbers moved in
 * their place; packed numbers (2 or more in a byte) are moved in bytes, or as f32. */
#define WICK_NO_SITES
#include "io/onnx/onnx.h"
#include "wick/shape.h"

enum { PACKED = 1, TEXTS = 2, SAME = 4 /* equal texts have one number */ };
typedef struct mover {
    const char *name;
    unsigned flags;
    unsigned texts; /* bit i: output i has texts where an input has */
} mover;
enum { NONE = 0, FIRST = 1, ALL = ~0 };
static const mover movers[] = {
    {"CenterCropPad", PACKED | TEXTS, FIRST},
    {"Compress", PACKED | TEXTS, FIRST},
    {"Concat", PACKED | TEXTS, FIRST},
    {"ConcatFromSequence", PACKED | TEXTS, FIRST},
    {"DepthToSpace", PACKED | TEXTS, FIRST},
    {"Expand", PACKED | TEXTS, FIRST},
    {"ExpandDims", TEXTS, FIRST},
    {"Flatten", TEXTS, FIRST},
    {"Gather", PACKED | TEXTS, FIRST},
    {"GatherElements", PACKED | TEXTS, FIRST},
    {"GatherND", PACKED | TEXTS, FIRST},
    {"NonZero", PACKED | TEXTS, NONE},
    {"OneHot", PACKED | TEXTS, FIRST},
    {"Pad", PACKED | TEXTS, FIRST},
    {"RandomNormalLike", TEXTS, NONE},
    {"RandomUniformLike", TEXTS, NONE},
    {"Reshape", TEXTS, FIRST},
    {"Resize", TEXTS, FIRST},
    {"ReverseSequence", PACKED | TEXTS, FIRST},
    {"Scatter", PACKED | TEXTS, FIRST},
    {"ScatterElements", PACKED | TEXTS, FIRST},
    {"ScatterND", PACKED | TEXTS, FIRST},
    {"Slice", PACKED | TEXTS, FIRST},
    {"SpaceToDepth", PACKED | TEXTS, FIRST},
    {"Split", PACKED | TEXTS, (unsigned)ALL},
    {"SplitToSequence", PACKED | TEXTS, FIRST},
    {"Squeeze", TEXTS, FIRST},
    {"TensorScatter", PACKED | TEXTS, FIRST},
    {"Tile", PACKED | TEXTS, FIRST},
    {"Transpose", PACKED | TEXTS, FIRST},
    {"Trilu", PACKED | TEXTS, FIRST},
    {"Unique", TEXTS | SAME, FIRST},
    {"Unsqueeze", TEXTS, FIRST},
    {"Upsample", TEXTS, FIRST},
    {"Where", PACKED | TEXTS, FIRST},
};

static const mover *mover_of(const onnx_call *c, unsigned flag) {
    for (size_t i = 0; i < WICK_COUNTOF(movers); i++)
        if (movers[i].flags & flag && !strcmp(c->step->op->name, movers[i].name)) return &movers[i];
    return NULL;
}

/* What makes new elements of those there are makes none of these. */
static bool only_moves(onnx_call *c, const char *what) {
    const char *op = c->step->op->name;
    if (!strncmp(op, "Scatter", 7) && !wick_onnx_text_is(c, "reduction", "none", "none"))
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "reduces %s: it can only set them", what);
    if (!strcmp(op, "Resize") || !strcmp(op, "Upsample")) {
        if (!wick_onnx_text_is(c, "mode", "nearest", "nearest"))
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "of %s can only take the nearest", what);
        if (wick_onnx_text_is(c, "coordinate_transformation_mode", "", "tf_crop_and_resize"))
            return wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "of %s has no extrapolation_value", what);
    }
    return true;
}

/* Runs the row on other inputs. */
static bool run_on(onnx_call *c, const onnx_value **args) {
    const onnx_value **in = c->in;
    c->in = args;
    c->step->op->fn(c);
    c->in = in;
    return c->status == WICK_OK;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* All texts that go in, by their numbers from 1 on. 0 is the empty text, which fills what has nothing. */
typedef struct pool {
    const wick_text **texts;
    int64_t *numbers; /* by the order in which texts go in */
    size_t n;
} pool;

static size_t count_texts(const wick_onnx_value *v) {
    size_t n = v->kind == WICK_VALUE_STRINGS ? v->n : 0;
    for (size_t i = 0; v->kind == WICK_VALUE_SEQUENCE && i < v->n; i++) n += count_texts(&v->items[i]);
    return n;
}

/* v with its texts as i64 numbers. */
static bool as_numbers(onnx_call *c, const wick_onnx_value *v, pool *p, wick_onnx_value *out) {
    *out = *v;
    if (v->kind == WICK_VALUE_STRINGS) {
        for (size_t k = 0; k < v->n; k++) {
            p->texts[p->n + k] = &v->texts[k];
            p->numbers[p->n + k] = v->texts[k].size ? (int64_t)(p->n + k) + 1 : 0;
        }
        *out = (wick_onnx_value){.kind = WICK_VALUE_TENSOR,
                                 .tensor = wick_from(c->ctx, WICK_I64, v->rank, v->dims, p->numbers + p->n)};
        p->n += v->n;
    } else if (v->kind == WICK_VALUE_SEQUENCE) {
        wick_onnx_value *items = wick_onnx_alloc(c, v->n, sizeof *items);
        for (size_t i = 0; i < v->n && items; i++)
            if (!as_numbers(c, &v->items[i], p, &items[i])) return false;
        out->items = items;
    }
    return c->status == WICK_OK;
}

/* Equal texts get one number, that of the first of them; the numbers rise with the texts. */
static bool in_order(onnx_call *c, const wick_onnx_value *v, pool *p, wick_onnx_value *out) {
    onnx_host h;
    if (!wick_onnx_number_texts(c, 1, &v, &out->tensor) || !wick_onnx_host_of(c, out->tensor, false, &h)) return false;
    for (int64_t k = 0; k < h.n; k++) p->texts[h.ints[k]] = &v->texts[k], p->numbers[k] = h.ints[k] + 1;
    *out = (wick_onnx_value){.kind = WICK_VALUE_TENSOR,
                             .tensor = wick_from(c->ctx, WICK_I64, v->rank, v->dims, p->numbers)};
    p->n = v->n;
    return c->status == WICK_OK;
}

/* The way back. */
static bool as_texts(onnx_call *c, const pool *p, bool dynamic, wick_onnx_value *v) {
    static const wick_text none = {"", 0};
    onnx_host h;
    if (v->kind == WICK_VALUE_SEQUENCE) {
        wick_onnx_value *items = wick_onnx_alloc(c, v->n, sizeof *items);
        for (size_t i = 0; i < v->n && items; i++) {
            items[i] = v->items[i];
            if (!as_texts(c, p, dynamic, &items[i])) return false;
        }
        v->items = items;
        return items != NULL;
    }
    if (v->kind != WICK_VALUE_TENSOR) return true;
    if (!wick_onnx_host_of(c, v->tensor, dynamic, &h)) return false;
    wick_text *texts = wick_onnx_alloc(c, (size_t)h.n, sizeof *texts);
    for (int64_t k = 0; k < h.n && texts; k++) {
        if ((uint64_t)h.ints[k] > p->n || wick_tensor_dtype(v->tensor) != WICK_I64)
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "has strings and numbers to move");
        texts[k] = h.ints[k] ? *p->texts[h.ints[k] - 1] : none;
    }
    *v = (wick_onnx_value){.kind = WICK_VALUE_STRINGS, .rank = h.rank, .n = (size_t)h.n, .texts = texts};
    memcpy(v->dims, h.dims, (size_t)h.rank * sizeof *h.dims);
    return texts != NULL;
}

static void move_texts(onnx_call *c, const mover *m) {
    size_t total = 0;
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i]) total += count_texts(&c->in[i]->v);
    pool p = {wick_onnx_alloc(c, total, sizeof(wick_text *)), NULL, 0};
    p.numbers = p.texts ? wick_onnx_alloc(c, total, sizeof *p.numbers) : NULL;
    onnx_value *values = p.numbers ? wick_onnx_alloc(c, (size_t)c->n_in, sizeof *values) : NULL;
    const onnx_value **args = values ? wick_onnx_alloc(c, (size_t)c->n_in, sizeof(onnx_value *)) : NULL;
    if (!args || !only_moves(c, "texts")) return;
    for (int i = 0; i < c->n_in; i++) {
        if (!(args[i] = c->in[i])) continue;
        values[i] = *c->in[i];
        const bool good = m->flags & SAME && values[i].v.kind == WICK_VALUE_STRINGS
                              ? in_order(c, &c->in[i]->v, &p, &values[i].v)
                              : as_numbers(c, &c->in[i]->v, &p, &values[i].v);
        if (!good) return;
        args[i] = &values[i];
    }
    if (!run_on(c, args)) return;
    for (int i = 0; i < c->n_out; i++)
        if (m->texts >> WICK_MIN(i, 31) & 1 && !as_texts(c, &p, c->out[i].dynamic, &c->out[i].v)) return;
}

/* ---- packed numbers ---------------------------------------------------------------------------------------------- */

/* The dtype that holds all of a packed one's numbers. */
static wick_dtype unpacked(wick_dtype d) {
    return d == WICK_F4_E2M1 ? WICK_F32 : d == WICK_I4 || d == WICK_I2 ? WICK_I8 : WICK_U8;
}

static wick_onnx_value *cast_values(onnx_call *c, const wick_onnx_value *v, size_t n, wick_dtype from, wick_dtype to) {
    wick_onnx_value *out = wick_onnx_alloc(c, n, sizeof *out);
    for (size_t i = 0; i < n && out; i++) {
        out[i] = v[i];
        if (v[i].kind == WICK_VALUE_TENSOR && wick_tensor_dtype(v[i].tensor) == from)
            out[i].tensor = wick_cast(v[i].tensor, to);
        if (v[i].kind == WICK_VALUE_SEQUENCE && !(out[i].items = cast_values(c, v[i].items, v[i].n, from, to)))
            return NULL;
    }
    return out;
}

/* The packed dtype of a value, or of its first item. */
static bool is_packed(const onnx_value *v, wick_dtype *out) {
    const wick_onnx_value *t = v ? &v->v : NULL;
    while (t && t->kind == WICK_VALUE_SEQUENCE && t->n) t = t->items;
    if (!t || t->kind != WICK_VALUE_TENSOR || !t->tensor) return false;
    *out = wick_tensor_dtype(t->tensor);
    return wick_dtype_is_packed(*out);
}

static void move_packed(onnx_call *c, const mover *m, wick_dtype packed) {
    onnx_value *values = wick_onnx_alloc(c, (size_t)c->n_in, sizeof *values);
    const onnx_value **args = values ? wick_onnx_alloc(c, (size_t)c->n_in, sizeof(onnx_value *)) : NULL;
    if (!args || !only_moves(c, "packed numbers")) return;
    for (int i = 0; i < c->n_in; i++) {
        if (!(args[i] = c->in[i])) continue;
        const wick_onnx_value *cast = cast_values(c, &c->in[i]->v, 1, packed, unpacked(packed));
        if (!cast) return;
        values[i] = (onnx_value){*cast, c->in[i]->dynamic};
        args[i] = &values[i];
    }
    if (!run_on(c, args)) return;
    for (int i = 0; i < c->n_out; i++) {
        const wick_onnx_value *cast =
            m->texts >> WICK_MIN(i, 31) & 1 ? cast_values(c, &c->out[i].v, 1, unpacked(packed), packed) : NULL;
        if (cast) c->out[i].v = *cast;
    }
}

/* ---- rows of loops ----------------------------------------------------------------------------------------------- */

/* x as kernels have its elements; *was: its dtype. */
static wick_tensor *open_packed(wick_tensor *x, wick_dtype *was) {
    *was = wick_tensor_dtype(x);
    return wick_dtype_is_packed(*was) ? wick_cast(x, unpacked(*was)) : x;
}

wick_tensor *wick_onnx_expand(wick_tensor *x, int rank, const int64_t *dims) {
    wick_dtype was;
    x = wick_expand(open_packed(x, &was), rank, dims);
    return wick_cast(x, was);
}

/* Extents before and after an axis. */
static void around(int rank, const int64_t *dims, int axis, int64_t *outer, int64_t *inner) {
    *outer = *inner = 1;
    for (int d = 0; d < rank; d++) *(d < axis ? outer : inner) *= d == axis ? 1 : dims[d];
}

bool wick_onnx_take_row(onnx_call *c, const wick_onnx_value *v, int axis, int64_t i, wick_onnx_value *out) {
    *out = *v;
    if (v->kind == WICK_VALUE_TENSOR) {
        wick_dtype was;
        wick_tensor *row = wick_squeeze(wick_slice(open_packed(v->tensor, &was), axis, i, i + 1, 1), axis);
        out->tensor = wick_cast(row, was);
        return true;
    }
    int64_t outer, inner;
    around(v->rank, v->dims, axis, &outer, &inner);
    wick_text *texts = wick_onnx_alloc2(c, outer, inner, sizeof *texts);
    for (int64_t o = 0; o < outer && texts; o++)
        for (int64_t k = 0; k < inner; k++) texts[o * inner + k] = v->texts[(o * v->dims[axis] + i) * inner + k];
    memmove(out->dims + axis, out->dims + axis + 1, (size_t)(v->rank - 1 - axis) * sizeof *out->dims);
    out->rank = v->rank - 1, out->n = (size_t)(outer * inner), out->texts = texts;
    return texts != NULL;
}

static bool stack_tensors(onnx_call *c, size_t n, const wick_onnx_value *rows, int axis, wick_onnx_value *out) {
    wick_tensor **xs = wick_onnx_alloc(c, n, sizeof(wick_tensor *));
    wick_dtype was = WICK_F32;
    for (size_t i = 0; i < n && xs; i++) xs[i] = open_packed(rows[i].tensor, &was);
    if (xs) *out = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = wick_cast(wick_stack((int)n, xs, axis), was)};
    return xs != NULL;
}

bool wick_onnx_stack(onnx_call *c, size_t n, const wick_onnx_value *rows, int axis, wick_onnx_value *out) {
    const wick_onnx_value *v = &rows[0];
    for (size_t i = 0; i < n; i++)
        if (rows[i].kind != v->kind || (v->kind != WICK_VALUE_TENSOR && v->kind != WICK_VALUE_STRINGS))
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "what is collected is neither tensors nor texts");
    if (v->kind == WICK_VALUE_TENSOR) return stack_tensors(c, n, rows, axis, out);
    if (v->rank == WICK_MAX_DIMS || axis < 0 || axis > v->rank)
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "axis %d of texts of %d dims", axis, v->rank + 1);
    int64_t outer, inner;
    *out = *v;
    memmove(out->dims + axis + 1, out->dims + axis, (size_t)(v->rank - axis) * sizeof *out->dims);
    out->dims[axis] = (int64_t)n, out->rank = v->rank + 1;
    around(out->rank, out->dims, axis, &outer, &inner);
    wick_text *texts = wick_onnx_alloc2(c, (int64_t)n, outer * inner, sizeof *texts);
    for (size_t i = 0; i < n && texts; i++) {
        if (rows[i].rank != v->rank || memcmp(rows[i].dims, v->dims, (size_t)v->rank * sizeof *v->dims))
            return wick_onnx_fail(c, WICK_ERR_SHAPE, "rows of texts have different shapes");
        for (int64_t o = 0; o < outer; o++)
            for (int64_t k = 0; k < inner; k++)
                texts[(o * (int64_t)n + (int64_t)i) * inner + k] = rows[i].texts[o * inner + k];
    }
    out->n = n * v->n, out->texts = texts;
    return texts != NULL;
}

bool wick_onnx_move(onnx_call *c) {
    wick_dtype packed = WICK_F32, of;
    bool texts = false, any = false;
    for (int i = 0; i < c->n_in; i++) {
        if (!c->in[i]) continue;
        texts |= c->in[i]->v.kind == WICK_VALUE_STRINGS || (c->in[i]->v.kind == WICK_VALUE_SEQUENCE && c->in[i]->v.n &&
                                                            c->in[i]->v.items->kind == WICK_VALUE_STRINGS);
        if (!any && is_packed(c->in[i], &of)) any = true, packed = of;
    }
    const mover *m = texts ? mover_of(c, TEXTS) : any ? mover_of(c, PACKED) : NULL;
    if (m && texts) move_texts(c, m);
    else if (m) move_packed(c, m, packed);
    return m != NULL;
}
