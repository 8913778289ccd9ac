/* dynamic_prove.c: the memory of a range of extents, from plans that are made and not run. What a plan takes is no
 * smooth function of its extents: kernels are chosen by them, and what they pack and sum with is theirs. So a bound is
 * proven by making all plans of the range, where that is possible; where not, it is kept by refusing what would break
 * it. */
#include "exec/dynamic.h"

typedef struct proof {
    wick_dynamic *d;
    wick_spec *specs;
    wick_dynamic_bound bound;
} proof;

static wick_status look(proof *p, const int64_t *extents) {
    wick_dynamic *d = p->d;
    wick_plan *plan = NULL;
    wick_msg *msg = &d->ctx->msg;
    wick_status status = wick_dynamic_specs(d, extents, d->values, p->specs, msg);
    if (status == WICK_OK) status = wick_dynamic_compile(d, p->specs, &plan);
    if (status != WICK_OK) {
        char text[256];
        wick_str s = wick_str_on(text, sizeof text);
        wick_dynamic_say(&s, d, extents);
        return msg->status ? wick_msg_prefix(msg, "with %s: ", text)
                           : wick_msg_set(msg, status, "with %s: %s", text, wick_status_name(status));
    }
    const wick_plan_info info = wick_plan_get_info(plan);
    wick_plan_free(&plan);
    const size_t bytes = info.arena_bytes + info.scratch_bytes;
    p->bound.planned++;
    /* it is refused, and takes nothing */
    if (bytes > d->options.memory_limit && d->options.memory_limit) return WICK_OK;
    if (bytes >= p->bound.bytes)
        p->bound.bytes = bytes, memcpy(p->bound.at, extents, (size_t)d->n_dims * sizeof *extents);
    return WICK_OK;
}

static wick_status look_everywhere(proof *p) {
    const wick_dynamic *d = p->d;
    int64_t extents[WICK_MAX_NAMED_DIMS] = {0};
    for (int64_t i = 0; i < p->bound.points; i++) {
        int64_t rest = i;
        for (int k = d->n_dims; k-- > 0;) {
            const int64_t n = wick_dim_values(&d->dims[k]);
            extents[k] = wick_dim_value(&d->dims[k], rest % n);
            rest /= n;
        }
        WICK_TRY(look(p, extents));
    }
    return WICK_OK;
}

/* Corners, the largest first, then others at random, some of which may meet. */
static wick_status look_around(proof *p, int64_t most) {
    const wick_dynamic *d = p->d;
    uint64_t state = 2;
    for (int64_t i = 0; i < most; i++) {
        int64_t extents[WICK_MAX_NAMED_DIMS] = {0};
        if (i < (int64_t)1 << d->n_dims)
            for (int k = 0; k < d->n_dims; k++)
                extents[k] = wick_dim_value(&d->dims[k], i >> k & 1 ? 0 : wick_dim_values(&d->dims[k]) - 1);
        else wick_dynamic_draw(d, &state, extents);
        WICK_TRY(look(p, extents));
    }
    return WICK_OK;
}

wick_status wick_dynamic_prove(wick_dynamic *d, int64_t most_plans, wick_dynamic_bound *out) {
    if (!out) return wick_context_fail(d->ctx, WICK_ERR_INVALID, "dynamic_prove: out is NULL");
    *out = (wick_dynamic_bound){0};
    if (most_plans < 1)
        return wick_msg_set(&d->ctx->msg, WICK_ERR_INVALID, "prove: needs a number of plans that may be made");
    const size_t size = ((size_t)d->n_in + 1) * sizeof(wick_spec);
    proof p = {.d = d, .specs = wick_calloc(&d->ctx->alloc, size), .bound = {.points = 1}};
    if (!p.specs) return wick_msg_set(&d->ctx->msg, WICK_ERR_NOMEM, "out of memory");
    for (int k = 0; k < d->n_dims; k++)
        if (wick_mul_overflows(p.bound.points, wick_dim_values(&d->dims[k]), &p.bound.points))
            p.bound.points = INT64_MAX;
    pthread_mutex_lock(&d->compiler);
    p.bound.proven = p.bound.points <= most_plans;
    const wick_status status = p.bound.proven ? look_everywhere(&p) : look_around(&p, most_plans);
    if (status == WICK_OK) d->limit = WICK_MIN(d->limit, p.bound.bytes);
    pthread_mutex_unlock(&d->compiler);
    wick_release(&d->ctx->alloc, p.specs, size);
    if (status == WICK_OK) *out = p.bound;
    return status;
}
