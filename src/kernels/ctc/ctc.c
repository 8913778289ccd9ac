/* ctc.c: forward and backward sums over all alignments of a label sequence, in the log domain. With l' the labels with
 * blanks between them and around, alpha[t][s] is the log of the probability of all prefixes that are at l'[s] after
 * step t, and beta[t][s] that of all ends after t, without t's own factor. */
#include "kernels/elementwise/math.h"
#include "kernels/ctc/ctc_api.h"

/* alpha of all steps, two rows of beta. */
size_t wick_ctc_scratch(const wick_ctc *c) {
    return ((size_t)c->steps + 2) * (2 * (size_t)c->room + 1) * sizeof(double);
}

static double log_add(double a, double b) {
    const double most = a > b ? a : b, least = a > b ? b : a;
    if (least == -INFINITY) return most;
    return most + wick_log1p_f64(wick_exp_f64(least - most));
}

typedef struct sample {
    const wick_ctc *c;
    const void *log_probs;
    const int64_t *labels;
    int64_t n, steps, states;
} sample;

static int64_t label_at(const sample *q, int64_t s) { return s % 2 ? q->labels[s / 2] : q->c->blank; }
static double emission(const sample *q, int64_t t, int64_t s) {
    const int64_t at = (t * q->c->batch + q->n) * q->c->classes + label_at(q, s);
    return q->c->type == WICK_CF32 ? (double)((const float *)q->log_probs)[at] : ((const double *)q->log_probs)[at];
}
/* May a path go from l'[s - 2] straight to l'[s]? */
static bool skips(const sample *q, int64_t s) { return s >= 2 && s % 2 && q->labels[s / 2] != q->labels[s / 2 - 1]; }

static void put(const sample *q, void *to, int64_t at, double value, bool add) {
    if (q->c->type == WICK_CF32)
        ((float *)to)[at] = (float)(add ? (double)((float *)to)[at] + value : value);
    else
        ((double *)to)[at] = add ? ((double *)to)[at] + value : value;
}

/* log P(labels). */
static double forward(const sample *q, double *alpha) {
    const int64_t m = q->states;
    if (q->steps == 0) return m == 1 ? 0 : -INFINITY;
    for (int64_t s = 0; s < m; s++) alpha[s] = s < 2 ? emission(q, 0, s) : -INFINITY;
    for (int64_t t = 1; t < q->steps; t++) {
        const double *was = alpha + (t - 1) * m;
        double *now = alpha + t * m;
        for (int64_t s = 0; s < m; s++) {
            double sum = was[s];
            if (s >= 1) sum = log_add(sum, was[s - 1]);
            if (skips(q, s)) sum = log_add(sum, was[s - 2]);
            now[s] = sum + emission(q, t, s);
        }
    }
    const double *last = alpha + (q->steps - 1) * m;
    return m == 1 ? last[0] : log_add(last[m - 1], last[m - 2]);
}

/* d loss / d log_probs[t][k] = -P(at a k after step t, given the labels). */
static void backward(const sample *q, const double *alpha, double *beta, double total, void *grad) {
    const int64_t m = q->states, classes = q->c->classes;
    double *next = beta + m;
    for (int64_t s = 0; s < m; s++) beta[s] = s >= m - 2 ? 0 : -INFINITY;
    for (int64_t t = q->steps; t-- > 0;) {
        for (int64_t s = 0; s < m; s++) {
            const double joint = alpha[t * m + s] + beta[s];
            if (joint != -INFINITY)
                put(q, grad, (t * q->c->batch + q->n) * classes + label_at(q, s), -wick_exp_f64(joint - total), true);
        }
        for (int64_t s = 0; s < m; s++) next[s] = beta[s] + emission(q, t, s);
        for (int64_t s = 0; s < m; s++) {
            double sum = next[s];
            if (s + 1 < m) sum = log_add(sum, next[s + 1]);
            if (s + 2 < m && skips(q, s + 2)) sum = log_add(sum, next[s + 2]);
            beta[s] = sum;
        }
    }
}

static bool possible(const sample *q, int64_t count, int64_t left) {
    if (q->steps < 0 || q->steps > q->c->steps || count < 0 || count > left) return false;
    for (int64_t i = 0; i < count; i++)
        if (q->labels[i] < 0 || q->labels[i] >= q->c->classes || q->labels[i] == q->c->blank) return false;
    return true;
}

int64_t wick_ctc_run(const wick_ctc *c, int64_t begin, int64_t end, const void *log_probs, const int64_t *labels,
                     const int64_t *steps_of, const int64_t *labels_of, void *loss, void *dlog_probs, void *scratch) {
    int64_t at = 0, fault = -1;
    for (int64_t n = 0; n < begin && c->most < 0; n++)
        at = wick_add_overflows(at, labels_of[n], &at) ? c->room + 1 : at;
    for (int64_t n = begin; n < end; n++) {
        const int64_t count = labels_of[n], left = c->most < 0 ? c->room - at : c->most;
        sample q = {.c = c,
                    .log_probs = log_probs,
                    .labels = labels + (c->most < 0 ? at : n * c->most),
                    .n = n,
                    .steps = steps_of[n]};
        for (int64_t t = 0; t < c->steps && dlog_probs; t++)
            for (int64_t k = 0; k < c->classes; k++) put(&q, dlog_probs, (t * c->batch + n) * c->classes + k, 0, false);
        if ((c->most < 0 && at < 0) || !possible(&q, count, left)) {
            if (loss) put(&q, loss, n, 0, false);
            if (fault < 0) fault = n;
            if (c->most < 0) return fault;
            continue;
        }
        at += count;
        q.states = 2 * count + 1;
        double *alpha = scratch;
        const double total = forward(&q, alpha);
        const bool never = total == -INFINITY;
        if (loss) put(&q, loss, n, never && c->zero_infinity ? 0 : -total, false);
        if (!dlog_probs || (never && c->zero_infinity)) continue;
        if (never) /* no alignment: nothing says where to go */
            for (int64_t t = 0; t < q.steps; t++)
                for (int64_t k = 0; k < c->classes; k++)
                    put(&q, dlog_probs, (t * c->batch + n) * c->classes + k, NAN, false);
        else
            backward(&q, alpha, alpha + (size_t)c->steps * (size_t)q.states, total, dlog_probs);
    }
    return fault;
}
