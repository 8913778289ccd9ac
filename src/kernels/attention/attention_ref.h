/* attention_ref.h: attention in plain C, score by score, the oracle of the others; included once per type. What is
 * seen, block by block, is as in attention.c: a hidden key of the block weighs 0, and 0 times NaN is NaN. Products are
 * of the type (where denormals count as 0), sums in long double. */

#define ATT_AT(p, view, batch, head, row, col)                                                                         \
    ((const ATT_T *)(p))[(batch) * (view)[0] + (head) * (view)[1] + (row) * (view)[2] + (col) * (view)[3]]

static ATT_T ATT_NAME(score)(const wick_attention_job *a, int64_t batch, int64_t head, int64_t query, int64_t key,
                             const wick_attention_memory *at) {
    const int64_t kv = head / (a->heads / a->kv_heads);
    long double sum = 0;
    for (int64_t d = 0; d < a->dim; d++)
        sum += (long double)(ATT_AT(at->q, a->q, batch, head, query, d) * ATT_AT(at->k, a->k, batch, kv, key, d));
    ATT_T s = (ATT_T)sum * (ATT_T)a->scale;
    if (a->masked) s += ATT_AT(at->mask, a->mask, batch, head, query, key);
    return a->causal && key > query + a->shift ? -(ATT_T)INFINITY : s;
}
/* What dropout makes of a weight: 0, or what to multiply by. */
static ATT_T ATT_NAME(kept)(const wick_attention_job *a, int64_t batch, int64_t head, int64_t query, int64_t key,
                            const wick_attention_memory *at) {
    if (!(a->dropout > 0)) return 1;
    const int64_t place = wick_attention_stream(a, batch, head, query, key) + query % BQ, begin = place & ~(int64_t)3;
    float four[4];
    wick_attention_uniforms(*at->seed, begin, four);
    return four[place - begin] >= (float)a->dropout ? (ATT_T)(1 / (1 - a->dropout)) : 0;
}

static void ATT_NAME(forward)(const wick_attention_job *a, int64_t batch, int64_t head, int64_t begin, int64_t end,
                              const wick_attention_memory *at, void *scratch) {
    const int64_t kv = head / (a->heads / a->kv_heads), seen = wick_attention_seen(a, end);
    ATT_T *w = scratch;
    for (int64_t i = begin; i < end; i++) {
        ATT_T max = -(ATT_T)INFINITY, *y = (ATT_T *)at->y + batch * a->y[0] + head * a->y[1] + i * a->y[2];
        long double sum = 0;
        for (int64_t j = 0; j < seen; j++)
            w[j] = ATT_NAME(score)(a, batch, head, i, j, at), max = w[j] > max ? w[j] : max;
        for (int64_t j = 0; j < seen; j++)
            w[j] = ATT_EXP(w[j] - (max == -(ATT_T)INFINITY ? 0 : max)), sum += (long double)w[j];
        for (int64_t j = 0; j < seen; j++) {
            const ATT_T kept = ATT_NAME(kept)(a, batch, head, i, j, at);
            w[j] = kept == 0 ? 0 : w[j] * kept;
        }
        for (int64_t c = 0; c < a->value_dim; c++) {
            long double total = 0;
            for (int64_t j = 0; j < seen; j++) total += (long double)(w[j] * ATT_AT(at->v, a->v, batch, kv, j, c));
            y[c] = sum == 0 ? 0 : (ATT_T)(total / sum);
        }
        ((ATT_T *)at->lse)[(batch * a->heads + head) * a->queries + i] =
            sum == 0 ? (ATT_T)INFINITY : max + ATT_LOG((ATT_T)sum);
    }
}

static void ATT_NAME(backward)(const wick_attention_job *a, int64_t batch, int64_t kv, int64_t split,
                               const wick_attention_memory *at, void *scratch) {
    (void)scratch;
    const int64_t group = a->heads / a->kv_heads, begin = split * a->split_keys,
                  end = WICK_MIN(a->keys, begin + a->split_keys);
    const int64_t part[4] = {a->heads * a->queries * a->dim, a->queries * a->dim, a->dim, 1},
                  *to = a->splits > 1 ? part : a->gq;
    ATT_T *all = a->splits > 1 ? (ATT_T *)at->parts + split * a->batch * part[0] : (ATT_T *)at->gq;
    for (int64_t head = kv * group; head < (kv + 1) * group; head++)
        for (int64_t i = 0; i < a->queries; i++)
            for (int64_t d = 0; d < a->dim; d++) all[batch * to[0] + head * to[1] + i * to[2] + d] = 0;
    for (int64_t j = begin; j < end; j++) {
        ATT_T *gk = (ATT_T *)at->gk + batch * a->gk[0] + kv * a->gk[1] + j * a->gk[2],
              *gv = (ATT_T *)at->gv + batch * a->gv[0] + kv * a->gv[1] + j * a->gv[2];
        for (int64_t d = 0; d < a->dim; d++) gk[d] = 0;
        for (int64_t c = 0; c < a->value_dim; c++) gv[c] = 0;
        for (int64_t head = kv * group; head < (kv + 1) * group; head++) {
            for (int64_t i = 0; i < a->queries; i++) {
                if (wick_attention_seen(a, WICK_MIN(a->queries, i / BQ * BQ + BQ)) <= j / BK * BK) continue;
                const int64_t row = (batch * a->heads + head) * a->queries + i;
                const bool hidden = a->causal && j > i + a->shift;
                const ATT_T p =
                    hidden ? 0 : ATT_EXP(ATT_NAME(score)(a, batch, head, i, j, at) - ((const ATT_T *)at->lse)[row]);
                const ATT_T kept = ATT_NAME(kept)(a, batch, head, i, j, at);
                long double sum = 0;
                for (int64_t c = 0; c < a->value_dim; c++)
                    sum +=
                        (long double)(ATT_AT(at->gy, a->gy, batch, head, i, c) * ATT_AT(at->v, a->v, batch, kv, j, c));
                const ATT_T gp = kept == 0 ? 0 : (ATT_T)sum * kept, dropped = kept == 0 ? 0 : p * kept;
                const ATT_T gs = hidden ? 0 : p * (gp - ((const ATT_T *)at->delta)[row]) * (ATT_T)a->scale;
                ATT_T *gq = all + batch * to[0] + head * to[1] + i * to[2];
                for (int64_t d = 0; d < a->dim; d++) {
                    gk[d] += gs * ATT_AT(at->q, a->q, batch, head, i, d);
                    gq[d] += gs * ATT_AT(at->k, a->k, batch, kv, j, d);
                }
                for (int64_t c = 0; c < a->value_dim; c++) gv[c] += dropped * ATT_AT(at->gy, a->gy, batch, head, i, c);
            }
        }
    }
}

static void ATT_NAME(add)(int64_t n, int64_t parts, const void *const *from, void *to) {
    for (int64_t i = 0; i < n; i++) {
        ATT_T sum = 0;
        for (int64_t p = 0; p < parts; p++) sum += ((const ATT_T *)from[p])[i];
        ((ATT_T *)to)[i] = sum;
    }
}
#undef ATT_AT
