/* dynamic.c: open extents of a file as named dims of one function. */
#define WICK_NO_SITES
#include "exec/dynamic.h"
#include "graph/extents.h"
#include "io/onnx/onnx.h"

#include <stdio.h>

typedef struct opened {
    wick_arena arena;
    int n_dims;
    wick_dim dims[WICK_MAX_NAMED_DIMS];
    const char *names[WICK_MAX_NAMED_DIMS];
    wick_dynamic_input *in;
} opened;

/* The name of an open extent: the file's, or INPUT.axis. */
static const char *name_of(wick_arena *arena, const wick_onnx_port *p, int d) {
    if (p->dim_names[d] && *p->dim_names[d]) return p->dim_names[d];
    const size_t size = strlen(p->name) + 24;
    char *text = wick_arena_alloc(arena, size);
    if (text) snprintf(text, size, "%s.%d", p->name, d);
    return text;
}

static bool is_formula(const char *name) { return strpbrk(name, "+-*/") != NULL; }

/* Is it one of the dims, or made of them, as "past + seq" of exporters is? */
static bool is_known(opened *o, const char *name) {
    for (int k = 0; k < o->n_dims; k++)
        if (strcmp(o->dims[k].name, name) == 0) return true;
    wick_extents x;
    static const int64_t point[WICK_MAX_NAMED_DIMS];
    return is_formula(name) && wick_extents_init(&x, &o->arena, o->n_dims, o->names, 1, point) &&
           wick_extents_parse(&x, name) >= 0;
}

static wick_status add_dim(wick_onnx *onnx, opened *o, const char *name, int n_dims, const wick_dim *dims) {
    if (o->n_dims == WICK_MAX_NAMED_DIMS)
        return wick_context_fail(onnx->ctx, WICK_ERR_UNSUPPORTED,
                                 "%s: more than %d open dims: give some of them one value, min and max", onnx->path,
                                 WICK_MAX_NAMED_DIMS);
    wick_dim dim = {name, 1, INT32_MAX, 0};
    for (int k = 0; k < n_dims; k++)
        if (strcmp(dims[k].name, name) == 0) dim = dims[k];
    o->names[o->n_dims] = name;
    o->dims[o->n_dims++] = dim;
    return WICK_OK;
}

static wick_status open_dims(wick_onnx *onnx, opened *o, int n_dims, const wick_dim *dims) {
    o->in = wick_arena_zalloc(&o->arena, ((size_t)onnx->n_in + 1) * sizeof *o->in);
    bool good = o->in != NULL;
    for (int formulas = 0; formulas < 2 && good; formulas++)
        for (int i = 0; i < onnx->n_in && good; i++) {
            const wick_onnx_port *p = &onnx->in_ports[i];
            const wick_spec spec = wick_onnx_input_spec(onnx, i);
            if (spec.rank < 0)
                return wick_context_fail(onnx->ctx, WICK_ERR_UNSUPPORTED,
                                         "%s: input \"%s\" is no tensor of known rank, of a dtype that Wick has",
                                         onnx->path, p->name);
            o->in[i].name = p->name, o->in[i].dtype = spec.dtype, o->in[i].rank = spec.rank;
            for (int d = 0; d < spec.rank && good; d++) {
                char *number = p->dims[d] >= 0 ? wick_arena_alloc(&o->arena, 24) : NULL;
                if (number) snprintf(number, 24, "%lld", (long long)p->dims[d]);
                const char *name = p->dims[d] >= 0 ? number : name_of(&o->arena, p, d);
                o->in[i].dims[d] = name;
                good = name != NULL;
                if (good && !number && is_formula(name) == formulas && !is_known(o, name))
                    WICK_TRY(add_dim(onnx, o, name, n_dims, dims));
            }
        }
    if (!good) return wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    for (int k = 0; k < n_dims; k++) {
        bool found = false;
        for (int l = 0; l < o->n_dims; l++) found |= strcmp(o->dims[l].name, dims[k].name) == 0;
        if (!found)
            return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "%s: no input has an open dim \"%s\"", onnx->path,
                                     dims[k].name);
    }
    return WICK_OK;
}

static wick_status prepare(void *user, const wick_spec *in) { return wick_onnx_prepare(user, in); }

wick_status wick_onnx_dynamic(wick_onnx *onnx, int n_dims, const wick_dim *dims, const wick_dynamic_options *options,
                              wick_dynamic **out) {
    if (!out) return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "onnx_dynamic: out is NULL");
    if (n_dims > 0 && !dims) return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "onnx_dynamic: dims is NULL");
    *out = NULL;
    opened o = {0};
    wick_arena_init(&o.arena, &onnx->ctx->alloc, 4096);
    wick_status status = open_dims(onnx, &o, n_dims, dims);
    wick_dynamic_options with = options ? *options : (wick_dynamic_options){0};
    with.prepare = prepare;
    if (status == WICK_OK)
        status = wick_dynamic_new(onnx->ctx, wick_onnx_function, onnx, o.n_dims, o.dims, onnx->n_in, o.in, onnx->n_out,
                                  &with, out);
    wick_arena_free(&o.arena);
    return status;
}

/* ---- inputs that go together ------------------------------------------------------------------------------------- */

/* The names of open extents, each with the input where it was seen first. */
typedef struct named {
    wick_arena arena;
    const char **names;
    int64_t *values;
    struct {
        int input, axis;
    } *first;
    int n;
} named;

static int find_name(const named *a, const char *name) {
    int k = 0;
    while (k < a->n && strcmp(a->names[k], name) != 0) k++;
    return k;
}

/* The same name, the same number; and that in its range. */
static wick_status take_extent(wick_onnx *onnx, named *a, int i, int d, int64_t value, int n_dims,
                               const wick_dim *dims) {
    wick_msg *msg = &onnx->ctx->msg;
    const wick_onnx_port *p = &onnx->in_ports[i];
    const char *name = name_of(&a->arena, p, d);
    if (!name) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory");
    const int k = find_name(a, name);
    if (k < a->n && a->values[k] != value)
        return wick_msg_set(msg, WICK_ERR_SHAPE,
                            "input %s: dim %d (%s) is %lld, but dim %d of input %s, of the same name, is %lld", p->name,
                            d, name, (long long)value, a->first[k].axis, onnx->in_ports[a->first[k].input].name,
                            (long long)a->values[k]);
    if (k < a->n) return WICK_OK;
    a->names[k] = name, a->values[k] = value, a->first[k].input = i, a->first[k].axis = d;
    a->n++;
    for (int l = 0; l < n_dims; l++)
        if (strcmp(dims[l].name, name) == 0) WICK_TRY(wick_dim_guard(&dims[l], value, p->name, d, msg));
    return WICK_OK;
}

/* Names that are expressions of others, "past + seq", where all of those were given. */
static wick_status check_formulas(wick_onnx *onnx, named *a) {
    wick_msg *msg = &onnx->ctx->msg;
    const char **names = wick_arena_alloc(&a->arena, ((size_t)a->n + 1) * sizeof *names);
    int64_t *point = wick_arena_alloc(&a->arena, ((size_t)a->n + 1) * sizeof *point);
    int n = 0;
    for (int k = 0; k < a->n && names && point; k++)
        if (!is_formula(a->names[k])) names[n] = a->names[k], point[n++] = a->values[k];
    wick_extents x;
    bool good = names && point && wick_extents_init(&x, &a->arena, n, names, 1, point);
    for (int k = 0; k < a->n && good; k++) {
        if (!is_formula(a->names[k])) continue;
        const int32_t e = wick_extents_parse(&x, a->names[k]);
        good = !x.nomem;
        if (e < 0 || x.values[e] == a->values[k]) continue;
        char text[256];
        wick_str s = wick_str_on(text, sizeof text);
        for (int l = 0; l < n; l++) wick_str_add(&s, "%s%s=%lld", l ? ", " : "", names[l], (long long)point[l]);
        return wick_msg_set(msg, WICK_ERR_SHAPE, "input %s: dim %d (%s) is %lld, but %s makes it %lld",
                            onnx->in_ports[a->first[k].input].name, a->first[k].axis, a->names[k],
                            (long long)a->values[k], text, (long long)x.values[e]);
    }
    return good ? WICK_OK : wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory");
}

wick_status wick_onnx_check_inputs(wick_onnx *onnx, const wick_spec *in, int n_dims, const wick_dim *dims) {
    if ((onnx->n_in && !in) || (n_dims > 0 && !dims))
        return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "onnx_check_inputs: in or dims is NULL");
    const size_t most = (size_t)onnx->n_in * WICK_MAX_DIMS + 1;
    named a = {0};
    wick_arena_init(&a.arena, &onnx->ctx->alloc, 4096);
    a.names = wick_arena_alloc(&a.arena, most * sizeof *a.names);
    a.values = wick_arena_alloc(&a.arena, most * sizeof *a.values);
    a.first = wick_arena_alloc(&a.arena, most * sizeof *a.first);
    wick_status status =
        a.names && a.values && a.first ? WICK_OK : wick_msg_set(&onnx->ctx->msg, WICK_ERR_NOMEM, "out of memory");
    for (int i = 0; i < onnx->n_in && status == WICK_OK; i++) {
        const wick_onnx_port *p = &onnx->in_ports[i];
        for (int d = 0; d < p->rank && p->rank == in[i].rank && status == WICK_OK; d++)
            if (p->dims[d] < 0) status = take_extent(onnx, &a, i, d, in[i].dims[d], n_dims, dims);
    }
    if (status == WICK_OK) status = check_formulas(onnx, &a);
    wick_arena_free(&a.arena);
    return status;
}
