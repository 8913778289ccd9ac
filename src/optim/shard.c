/* shard.c: an update of which each rank does a part (Rajbhandari et al. 2020: ZeRO). The vector of gradients is dealt
 * out in runs, one to each rank, who has the moments and averages of those numbers alone:
 *
 *   parameters       |  a   |     b      | c |        d         |
 *   rank 0 of 3      |=============|
 *   rank 1                         |=============|              a run may begin and end within a parameter
 *   rank 2                                       |==============|
 *   gradients of 1   ..............|================............|   d begins in 1's run: so 1 finds its norm
 *
 * Rules that are elementwise give the same bits wherever a parameter is cut. Norms are not cut: that of a parameter is
 * found by the rank in whose run it begins, who gets the gradients of all of it, along the tree of an update that is
 * not dealt out; so are the others' numbers of one rank added in the order of parameters. */
#include "optim/optimizer.h"

/* ---- dealing out ------------------------------------------------------------------------------------------------- */

static const wick_rule *rule_of(const wick_optimizer *opt, int i) {
    return wick_rule_of(&opt->of[i]->options, wick_tensor_rank(opt->params[i]));
}
static bool is_whole(const wick_optimizer *opt, int i) { return wick_rule_is_whole(rule_of(opt, i)); }

/* Bytes of states for a number of parameter i; where there are none, of the number itself. */
static int64_t bytes_each(const wick_optimizer *opt, int i) {
    int64_t states = opt->options.average.kind != WICK_AVERAGE_NONE;
    for (int k = 0; k < WICK_RULE_MOMENTS; k++) states += rule_of(opt, i)->moments[k] != NULL;
    return WICK_MAX(states, 1) * (int64_t)wick_dtype_size(wick_optim_dtype(opt->params[i]));
}

/* Fills ranks one after another with up to `most` bytes. false: they are too few. begin: where each rank's run does. */
static bool deal(const wick_optimizer *opt, int64_t most, int64_t *begin) {
    const int ranks = opt->options.shard.ranks;
    int64_t left = most, at = 0;
    int rank = 0;
    begin[0] = 0;
    for (int i = 0; i < opt->n; i++) {
        int64_t rest = opt->given[i] ? wick_tensor_count(opt->params[i]) : 0;
        const int64_t each = rest ? bytes_each(opt, i) : 1, least = rest && is_whole(opt, i) ? rest : 1;
        while (rest > 0) {
            const int64_t take = WICK_MIN(rest, left / each);
            if (take >= least) {
                rest -= take, at += take, left -= take * each;
                continue;
            }
            if (++rank == ranks) return false;
            begin[rank] = at;
            left = most;
            if (left / each < least) return false;
        }
    }
    while (++rank <= ranks) begin[rank] = at;
    return true;
}

/* The least bytes of the fullest rank with which all are dealt out. */
static void deal_evenly(const wick_optimizer *opt, int64_t *begin) {
    int64_t enough = 0;
    for (int i = 0; i < opt->n; i++)
        if (opt->given[i]) enough += wick_tensor_count(opt->params[i]) * bytes_each(opt, i);
    int64_t few = -1;
    while (enough - few > 1) {
        const int64_t middle = few + (enough - few) / 2;
        if (deal(opt, middle, begin))
            enough = middle;
        else
            few = middle;
    }
    deal(opt, enough, begin);
}

wick_status wick_optim_deal(wick_optimizer *opt) {
    const size_t n = (size_t)opt->n, runs = (size_t)opt->options.shard.ranks + 1;
    const size_t block = (runs + n) * sizeof(int64_t) + n * sizeof(wick_optim_cut);
    opt->begin = wick_alloc(&opt->alloc, block);
    if (!opt->begin) return wick_context_fail(opt->ctx, WICK_ERR_NOMEM, "optimizer: out of memory");
    opt->shard_block = block;
    opt->at = opt->begin + runs;
    opt->cut = (wick_optim_cut *)(void *)(opt->at + n);
    deal_evenly(opt, opt->begin);
    const int64_t from = opt->begin[opt->options.shard.rank], to = opt->begin[opt->options.shard.rank + 1];
    int64_t at = 0;
    for (int i = 0; i < opt->n; i++) {
        const int64_t count = opt->given[i] ? wick_tensor_count(opt->params[i]) : 0;
        const int64_t begin = WICK_MIN(WICK_MAX(from - at, 0), count);
        opt->at[i] = at;
        opt->cut[i] = (wick_optim_cut){begin, WICK_MAX(WICK_MIN(to - at, count), begin)};
        at += count;
    }
    return WICK_OK;
}

/* How many norms a parameter has. */
static int norms_each(const wick_optimizer *opt) { return (opt->options.clip_norm > 0) + wick_optim_scales(opt); }

/* The rank in whose run parameter i begins: the first that ends behind that place. */
static int finder_of(const wick_optimizer *opt, int i) {
    int rank = 0, last = opt->options.shard.ranks - 1;
    while (rank < last) {
        const int middle = (rank + last) / 2;
        if (opt->begin[middle + 1] > opt->at[i])
            last = middle;
        else
            rank = middle + 1;
    }
    return rank;
}

static wick_status check_dealt(wick_optimizer *opt, const char *call) {
    if (opt->begin) return WICK_OK;
    if (!wick_optim_sharded(opt))
        return wick_context_fail(opt->ctx, WICK_ERR_INVALID, "optimizer: %s: needs options.shard", call);
    return wick_context_fail(opt->ctx, WICK_ERR_INVALID,
                             "optimizer: %s: gradients have to be recorded before (wick_optimizer_gradients)", call);
}

wick_status wick_optimizer_part(wick_optimizer *opt, int rank, wick_optim_part *part) {
    WICK_TRY(check_dealt(opt, "part"));
    if (!part || rank < 0 || rank >= opt->options.shard.ranks)
        return wick_context_fail(opt->ctx, WICK_ERR_INVALID, "optimizer: part of rank %d: ranks are 0 to %d", rank,
                                 opt->options.shard.ranks - 1);
    *part = (wick_optim_part){.begin = opt->begin[rank], .end = opt->begin[rank + 1], .needed = opt->begin[rank + 1]};
    for (int i = 0; i < opt->n && norms_each(opt); i++) {
        if (!opt->given[i]) continue;
        const int finder = finder_of(opt, i);
        part->first_norm += finder < rank ? norms_each(opt) : 0;
        part->end_norm += finder <= rank ? norms_each(opt) : 0;
        if (finder == rank) part->needed = WICK_MAX(part->needed, opt->at[i] + wick_tensor_count(opt->params[i]));
    }
    return WICK_OK;
}

/* ---- numbers of this rank ---------------------------------------------------------------------------------------- */

static wick_tensor *vector_of(const wick_tensor *x, wick_tensor *reshaped) {
    return wick_reshape(reshaped, 1, (const int64_t[]){wick_tensor_count(x)});
}

wick_tensor *wick_optim_own(const wick_optimizer *opt, int i, wick_tensor *x) {
    if (is_whole(opt, i)) return x;
    return wick_slice(vector_of(x, x), 0, opt->cut[i].begin, opt->cut[i].end, 1);
}

wick_tensor *wick_optim_flat(const wick_optimizer *opt, int i, wick_tensor *own) {
    return is_whole(opt, i) ? vector_of(own, own) : own;
}

wick_tensor *wick_optim_shaped(const wick_optimizer *opt, int i, wick_tensor *flat) {
    const wick_tensor *p = opt->params[i];
    return flat && is_whole(opt, i) ? wick_reshape(flat, wick_tensor_rank(p), wick_tensor_dims(p)) : flat;
}

wick_tensor *wick_optim_norm_of(const wick_optimizer *opt, int i, wick_optim_norm kind) {
    int64_t at = kind == WICK_OPTIM_LARGEST && opt->options.clip_norm > 0;
    for (int k = 0; k < i; k++) at += opt->given[k] ? norms_each(opt) : 0;
    return wick_reshape(wick_slice(opt->norms, 0, at, at + 1, 1), 0, NULL);
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

static wick_optim_part own_part(wick_optimizer *opt) {
    wick_optim_part part = {0};
    (void)!wick_optimizer_part(opt, opt->options.shard.rank, &part);
    return part;
}

/* Numbers from to to - 1 of parameter i, out of this rank's gradients. */
static wick_tensor *numbers_of(const wick_optimizer *opt, int i, wick_tensor *gradients, int64_t from, int64_t to) {
    const int64_t at = opt->at[i] - opt->begin[opt->options.shard.rank];
    return wick_slice(gradients, 0, at + from, at + to, 1);
}
static wick_tensor *as_parameter(const wick_optimizer *opt, int i, wick_tensor *numbers) {
    const wick_tensor *p = opt->params[i];
    return wick_as(wick_reshape(numbers, wick_tensor_rank(p), wick_tensor_dims(p)), wick_optim_dtype(p));
}

/* n vectors behind each other, or, where there are none, nothing. */
static wick_status join(wick_optimizer *opt, const char *what, int n, wick_tensor **parts, wick_dtype dtype,
                        wick_tensor **out) {
    wick_tensor *vector = n ? wick_concat(n, parts, 0) : wick_zeros(opt->ctx, dtype, 1, (const int64_t[]){0});
    if (wick_tensor_error(vector, NULL) != WICK_OK) return wick_optim_fail_with(opt, what, vector);
    *out = vector;
    return WICK_OK;
}

wick_status wick_optimizer_norms(wick_optimizer *opt, wick_tensor *gradients, wick_tensor **out) {
    if (!out) return wick_context_fail(opt->ctx, WICK_ERR_INVALID, "optimizer: norms: out is NULL");
    *out = NULL;
    WICK_TRY(check_dealt(opt, "norms"));
    const wick_optim_part part = own_part(opt);
    WICK_TRY(wick_optim_check_vector(opt, gradients, part.needed - part.begin));
    int n = 0;
    for (int i = 0; i < opt->n && norms_each(opt); i++) {
        if (!opt->given[i] || finder_of(opt, i) != opt->options.shard.rank) continue;
        wick_tensor *g = as_parameter(opt, i, numbers_of(opt, i, gradients, 0, wick_tensor_count(opt->params[i])));
        wick_tensor *norm[2];
        int k = 0;
        if (opt->options.clip_norm > 0) norm[k++] = wick_sum(wick_square(g), WICK_ALL_AXES, false);
        if (wick_optim_scales(opt)) norm[k++] = wick_max(wick_abs(g), WICK_ALL_AXES, false);
        for (int j = 0; j < k; j++) norm[j] = wick_reshape(wick_as(norm[j], WICK_F64), 1, (const int64_t[]){1});
        opt->used[n++] = k == 1 ? norm[0] : wick_concat(k, norm, 0);
    }
    return join(opt, "norms", n, opt->used, WICK_F64, out);
}

/* norms: NULL where there are none to be had. */
static wick_status check_norms(wick_optimizer *opt, const wick_tensor *norms) {
    int64_t count = 0;
    const char *text;
    for (int i = 0; i < opt->n; i++) count += opt->given[i] ? norms_each(opt) : 0;
    if (!norms && count)
        return wick_context_fail(opt->ctx, WICK_ERR_INVALID,
                                 "optimizer: update_part: norms is NULL, and clip_norm and loss_scale need them");
    if (!norms) return WICK_OK;
    const wick_status status = wick_tensor_error(norms, &text);
    if (status != WICK_OK) return wick_context_fail(opt->ctx, status, "%s", text);
    if (wick_tensor_dtype(norms) == WICK_F64 && wick_tensor_rank(norms) == 1 && wick_tensor_dim(norms, 0) == count)
        return WICK_OK;
    return wick_context_fail(opt->ctx, WICK_ERR_SHAPE, "optimizer: update_part: norms are a vector of %lld f64",
                             (long long)count);
}

wick_status wick_optimizer_update_part(wick_optimizer *opt, wick_tensor *gradients, wick_tensor *norms,
                                       wick_tensor **weights) {
    if (!weights) return wick_context_fail(opt->ctx, WICK_ERR_INVALID, "optimizer: update_part: weights is NULL");
    *weights = NULL;
    WICK_TRY(check_dealt(opt, "update_part"));
    const wick_optim_part part = own_part(opt);
    WICK_TRY(wick_optim_check_vector(opt, gradients, part.needed - part.begin));
    WICK_TRY(check_norms(opt, norms));
    for (int i = 0; i < opt->n; i++) {
        const wick_optim_cut cut = opt->cut[i];
        opt->grads[i] = NULL;
        if (!opt->given[i] || cut.begin == cut.end) continue;
        wick_tensor *own = numbers_of(opt, i, gradients, cut.begin, cut.end);
        opt->grads[i] = is_whole(opt, i) ? as_parameter(opt, i, own) : wick_as(own, wick_optim_dtype(opt->params[i]));
    }
    opt->norms = norms_each(opt) ? norms : NULL;
    const wick_status status = wick_optim_record_update(opt);
    opt->norms = NULL;
    WICK_TRY(status);
    const wick_dtype dtype = wick_optim_vector_dtype(opt);
    int n = 0;
    for (int i = 0; i < opt->n; i++)
        if (opt->grads[i]) opt->used[n++] = wick_as(opt->values[i], dtype);
    return join(opt, "weights", n, opt->used, dtype, weights);
}

wick_status wick_optimizer_set_weights(wick_optimizer *opt, wick_tensor *weights) {
    WICK_TRY(check_dealt(opt, "set_weights"));
    WICK_TRY(wick_optim_check_vector(opt, weights, opt->n_given));
    for (int i = 0; i < opt->n; i++) {
        wick_tensor *p = opt->params[i];
        if (!opt->given[i]) continue;
        wick_tensor *own = wick_slice(weights, 0, opt->at[i], opt->at[i] + wick_tensor_count(p), 1);
        own = wick_reshape(own, wick_tensor_rank(p), wick_tensor_dims(p));
        WICK_TRY(wick_assign(p, wick_as(own, wick_tensor_dtype(p))));
    }
    return WICK_OK;
}
