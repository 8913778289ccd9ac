/* bench_recurrent.c: LSTM, GRU and RNN layers, forward and forward with backward; f32.
 *
 *   bench_recurrent THREADS T B I H    one line of milliseconds for each line read (bench/recurrent.py): of lstm, gru, rnn each forward, with backward */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "wick/nn.h"

typedef struct how {
    wick_model *model;
    int64_t units;
    int cell;
    bool backward;
} how;

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const how *h = user;
    char name[2] = {(char)('a' + h->cell), 0};
    wick_tensor *y = h->cell == 0   ? wick_nn_lstm(h->model, name, in[0], h->units, NULL, NULL, NULL)
                     : h->cell == 1 ? wick_nn_gru(h->model, name, in[0], h->units, NULL, NULL)
                                    : wick_nn_rnn(h->model, name, in[0], h->units, NULL, NULL);
    out[0] = y;
    if (!h->backward) return WICK_OK;
    wick_tensor *wrt[5] = {in[0]};
    static const char *const parts[] = {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"};
    for (int i = 0; i < 4; i++) {
        char full[32];
        snprintf(full, sizeof full, "%s.%s", name, parts[i]);
        wrt[i + 1] = wick_model_find(h->model, full);
    }
    wick_grad(wick_sum(wick_mul(y, in[1]), WICK_ALL_AXES, false), 5, wrt, out + 1);
    (void)ctx;
    return WICK_OK;
}

int main(int argc, char **argv) {
    wick_context *ctx;
    wick_model *model;
    if (argc != 6) return fprintf(stderr, "usage: bench_recurrent THREADS T B I H\n"), 1;
    if (wick_context_new(&ctx, &(wick_context_options){.threads = atoi(argv[1])}) || wick_model_new(ctx, &model)) return 1;
    const int64_t T = atoi(argv[2]), B = atoi(argv[3]), I = atoi(argv[4]), H = atoi(argv[5]);
    const wick_spec specs[2] = {{"x", WICK_F32, 3, {T, B, I}}, {"r", WICK_F32, 3, {T, B, H}}};
    float *in[2];
    for (int i = 0; i < 2; i++) {
        const size_t count = (size_t)(T * B * (i ? H : I));
        in[i] = aligned_alloc(64, WICK_ALIGN_UP(count * 4, 64));
        for (size_t k = 0; in[i] && k < count; k++) in[i][k] = (float)(k * 2654435761u % 1000003) / 500001.5f - 1;
    }
    wick_workspace *space[6];
    how h[6];
    for (int i = 0; i < 6; i++) {
        wick_plan *plan;
        h[i] = (how){model, H, i / 2, i % 2};
        if (!in[0] || !in[1] || wick_compile(ctx, record, &h[i], 2, specs, i % 2 ? 6 : 1, NULL, &plan) || wick_workspace_new(plan, &space[i]))
            return fprintf(stderr, "%s\n", wick_context_error(ctx)), 1;
    }
    const bool alone = atoi(argv[1]) == 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int c; (c = getchar()) != EOF;) {
        if (c != '\n') continue;
        for (int i = 0; i < 6; i++) {
            const double start = bench_us(alone);
            if (wick_run(space[i], (const void *const *)in, NULL)) return fprintf(stderr, "%s\n", wick_workspace_error(space[i])), 1;
            printf("%g ", (bench_us(alone) - start) * 1e-3);
        }
        printf("\n");
    }
    return 0;
}
