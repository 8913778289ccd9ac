/* nll_targets_body.h: one row of wick_nll_targets_rows; included once per type, BODY_T. The sum is in double, in lanes
 * that are added up in order. */

static BODY_T BODY_NAME(BODY_T nll, const BODY_T *x, int64_t cols, int64_t label, const BODY_T *weight,
                        double smoothing, double total) {
    enum { LANES = 8 };
    const double at = (double)x[label], own = (1 - smoothing) * (weight ? (double)weight[label] : 1),
                 share = smoothing / (double)cols;
    double lanes[LANES] = {0}, sum = 0;
    if (smoothing == 0) return (BODY_T)(own * (double)nll);
    for (int64_t c = 0; c < cols; c += LANES)
        for (int64_t l = 0; l < WICK_MIN(cols - c, LANES); l++)
            lanes[l] += (at - (double)x[c + l]) * (weight ? (double)weight[c + l] : 1);
    for (int l = 0; l < LANES; l++) sum += lanes[l];
    return (BODY_T)((own + share * total) * (double)nll + share * sum);
}
