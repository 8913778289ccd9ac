/* group.c: ranks train one network together, and end with the same weights to the bit, however many they are.
 *
 *   group                        one rank
 *   wick launch -n 4 group       four on this machine
 *   mpirun -n 4 group            the same by MPI
 *
 * A batch has 8 leaves of 16 samples. Each rank computes the gradients of its leaves; wick_group adds all of them up
 * along one tree, and every rank takes the same step.   Usage: group [STEPS] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <wick/wick.h>

enum { LEAVES = 8, SAMPLES = 16, INPUTS = 12, HIDDEN = 24, PARAMS = 4, COUNT = INPUTS * HIDDEN + 2 * HIDDEN + 1 };
static const size_t sizes[PARAMS] = {INPUTS * HIDDEN, HIDDEN, HIDDEN, 1}; /* w1, b1, w2, b2 */

/* The samples of a leaf depend on its number and the step, not on who computes it: the sign of a product of inputs. */
static void make_samples(int64_t number, float x[SAMPLES * INPUTS], float y[SAMPLES]) {
    uint64_t state = (uint64_t)number * 0x9E3779B97F4A7C15u + 1;
    for (int i = 0; i < SAMPLES; i++) {
        for (int k = 0; k < INPUTS; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            x[i * INPUTS + k] = (float)(state >> 40) / (1 << 23) - 1;
        }
        y[i] = x[i * INPUTS] * x[i * INPUTS + 1] > 0 ? 1 : 0;
    }
}

static void say(int rank, const char *why) { fprintf(stderr, "rank %d: %s\n", rank, why); }

/* The gradients of one leaf, as one vector in the sum; *loss becomes greater by its mean loss. */
static wick_status add_leaf(wick_context *ctx, wick_group *group, wick_tensor **p, int leaf, int64_t number,
                            double *loss) {
    static float x[SAMPLES * INPUTS], y[SAMPLES];
    wick_scope *scope = wick_scope_open(ctx); /* frees this leaf's tensors */
    wick_tensor *results[1 + PARAMS];
    double value;
    make_samples(number, x, y);
    wick_tensor *in = wick_from(ctx, WICK_F32, WICK_DIMS(SAMPLES, INPUTS), x);
    wick_tensor *hidden = wick_tanh(wick_add(wick_matmul(in, p[0]), p[1]));
    wick_tensor *out = wick_sigmoid(wick_add(wick_matmul(hidden, p[2]), p[3]));
    results[0] = wick_mse(out, wick_from(ctx, WICK_F32, WICK_DIMS(SAMPLES, 1), y));
    wick_grad(results[0], PARAMS, p, results + 1);
    wick_status status = wick_eval(ctx, 1 + PARAMS, results, NULL);
    if (!status) status = wick_item(results[0], &value);
    if (!status) *loss += value;
    for (int i = 0; i < PARAMS && !status; i++) {
        const void *data;
        status = wick_data(results[1 + i], &data);
        if (!status) status = wick_group_add_part(group, leaf, data, sizes[i]);
    }
    wick_scope_close(&scope);
    return status;
}

/* p -= rate * (the mean gradient of the leaves) */
static wick_status update(wick_context *ctx, wick_tensor **p, const float *sum, double rate) {
    wick_scope *scope = wick_scope_open(ctx);
    wick_status status = WICK_OK;
    for (int i = 0; i < PARAMS && !status; sum += sizes[i++]) {
        wick_tensor *g = wick_from(ctx, WICK_F32, wick_tensor_rank(p[i]), wick_tensor_dims(p[i]), sum);
        status = wick_assign(p[i], wick_sub(p[i], wick_mul(g, wick_like(g, rate / LEAVES))));
    }
    if (!status) status = wick_eval(ctx, 0, NULL, NULL);
    wick_scope_close(&scope);
    return status;
}

static wick_status train(wick_context *ctx, wick_group *group, wick_tensor **p, int steps, double *loss) {
    static float sum[COUNT];
    int first, end;
    wick_status status = wick_group_leaves(group, LEAVES, &first, &end);
    for (int step = 0; step < steps && !status; step++) {
        *loss = 0;
        status = wick_group_begin(group, LEAVES, COUNT);
        for (int leaf = first; leaf < end && !status; leaf++)
            status = add_leaf(ctx, group, p, leaf, (int64_t)step * LEAVES + leaf, loss);
        if (!status) status = wick_group_finish(group, sum);
        if (!status) status = update(ctx, p, sum, 2);
    }
    return status;
}

/* FNV-1a over the bytes of all weights. */
static wick_status hash_of(wick_tensor **p, uint64_t *hash) {
    *hash = 0xcbf29ce484222325u;
    for (int i = 0; i < PARAMS; i++) {
        const void *data;
        const wick_status status = wick_data(p[i], &data);
        if (status) return status;
        for (size_t k = 0; k < sizes[i] * sizeof(float); k++)
            *hash = (*hash ^ ((const unsigned char *)data)[k]) * 0x100000001b3u;
    }
    return WICK_OK;
}

int main(int argc, char **argv) {
    const int steps = argc > 1 ? atoi(argv[1]) : 100;
    wick_context *ctx = NULL;
    wick_group *group = NULL;
    uint64_t hash = 0;
    double loss = 0, losses[WICK_RANKS_MAX];
    wick_status status = wick_context_new(&(wick_context_options){.threads = 1}, &ctx);
    if (status) return fprintf(stderr, "could not start: %s\n", wick_status_name(status)), 1;
    status = wick_group_open(ctx, NULL, &group);
    if (status) return fprintf(stderr, "%s\n", wick_context_error(ctx)), wick_context_free(&ctx), 1;
    const int rank = wick_group_rank(group), ranks = wick_group_size(group);

    float first[COUNT];
    for (int i = 0; i < COUNT; i++) first[i] = (float)(i * 2654435761u >> 8) / (1 << 23) - 1;
    wick_tensor *p[PARAMS] = {wick_from(ctx, WICK_F32, WICK_DIMS(INPUTS, HIDDEN), first),
                              wick_from(ctx, WICK_F32, WICK_DIMS(HIDDEN), first + sizes[0]),
                              wick_from(ctx, WICK_F32, WICK_DIMS(HIDDEN, 1), first + sizes[0] + sizes[1]),
                              wick_from(ctx, WICK_F32, WICK_DIMS(1), first + COUNT - 1)};
    status = hash_of(p, &hash);
    if (!status) status = wick_group_agree(group, "first weights", &hash, sizeof hash);
    if (!status) status = wick_group_agree(group, "number of steps", &steps, sizeof steps);
    if (!status) status = train(ctx, group, p, steps, &loss);
    if (!status) status = hash_of(p, &hash);
    if (!status) status = wick_group_agree(group, "last weights", &hash, sizeof hash);
    if (!status) status = wick_group_gather(group, &loss, sizeof loss, losses);
    if (status) say(rank, *wick_group_error(group) ? wick_group_error(group) : wick_context_error(ctx));
    for (int r = 1; r < ranks && !status; r++) losses[0] += losses[r];
    if (!status && rank == 0)
        printf("loss %.4f\nweights %016" PRIx64 "\n%d by %s\n", losses[0] / LEAVES, hash, ranks,
               wick_group_transport(group));
    wick_group_close(&group);
    wick_context_free(&ctx);
    return status != WICK_OK;
}
