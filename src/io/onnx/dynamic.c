/* dynamic.c: open extents of a file as named dims of one function. */
#define WICK_NO_SITES
#include "graph/extents.h"
#include "io/onnx/onnx.h"
#include "wick/dynamic.h"

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
    return is_formula(name) && wick_extents_init(&x, &o->arena, o->n_dims, o->names, 1, point) && wick_extents_parse(&x, name) >= 0;
}

static wick_status add_dim(wick_onnx *onnx, opened *o, const char *name, int n_dims, const wick_dim *dims) {
    if (o->n_dims == WICK_MAX_NAMED_DIMS)
        return wick_context_fail(onnx->ctx, WICK_ERR_UNSUPPORTED, "%s: more than %d open dims: give some of them one value, min and max", onnx->path, WICK_MAX_NAMED_DIMS);
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
                return wick_context_fail(onnx->ctx, WICK_ERR_UNSUPPORTED, "%s: input \"%s\" is no tensor of known rank, of a dtype that Wick has", onnx->path, p->name);
            o->in[i].name = p->name, o->in[i].dtype = spec.dtype, o->in[i].rank = spec.rank;
            for (int d = 0; d < spec.rank && good; d++) {
                char *number = p->dims[d] >= 0 ? wick_arena_alloc(&o->arena, 24) : NULL;
                if (number) snprintf(number, 24, "%lld", (long long)p->dims[d]);
                const char *name = p->dims[d] >= 0 ? number : name_of(&o->arena, p, d);
                o->in[i].dims[d] = name;
                good = name != NULL;
                if (good && !number && is_formula(name) == formulas && !is_known(o, name)) WICK_TRY(add_dim(onnx, o, name, n_dims, dims));
            }
        }
    if (!good) return wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    for (int k = 0; k < n_dims; k++) {
        bool found = false;
        for (int l = 0; l < o->n_dims; l++) found |= strcmp(o->dims[l].name, dims[k].name) == 0;
        if (!found) return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "%s: no input has an open dim \"%s\"", onnx->path, dims[k].name);
    }
    return WICK_OK;
}

static wick_status prepare(void *user, const wick_spec *in) { return wick_onnx_prepare(user, in); }

wick_status wick_onnx_dynamic(wick_onnx *onnx, int n_dims, const wick_dim *dims, const wick_dynamic_options *options, wick_dynamic **out) {
    *out = NULL;
    opened o = {0};
    wick_arena_init(&o.arena, &onnx->ctx->alloc, 4096);
    wick_status status = open_dims(onnx, &o, n_dims, dims);
    wick_dynamic_options with = options ? *options : (wick_dynamic_options){0};
    with.prepare = prepare;
    if (status == WICK_OK) status = wick_dynamic_new(onnx->ctx, wick_onnx_function, onnx, o.n_dims, o.dims, onnx->n_in, o.in, onnx->n_out, &with, out);
    wick_arena_free(&o.arena);
    return status;
}
