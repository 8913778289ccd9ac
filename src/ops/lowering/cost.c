/* cost.c: the work of a step, as the model of kernels/cost.h counts it. Time depends on it and bits never do: what is
 * left out makes a prediction worse, not a result. */
#include "ops/lowering/cost.h"

#include "ops/ops.h"

enum { LANES = 16, FEW_ROWS = 6 }; /* of a tile's columns; of products that read B once and pad nothing */
enum { SPARSE_TIMES = 2 }; /* multiply-adds of dense tiles that one with a sparse weight takes */

static double padded(int64_t columns) {
    return columns > 0 ? (double)WICK_ALIGN_UP(columns, LANES) / (double)columns : 1;
}

static void add_program(wick_work *w, const wick_tuning *t, const wick_fused *f) {
    const double columns = f->columns ? (double)f->columns : 1;
    wick_program_shape p = {
        .n = (double)f->layout.total * columns, .registers = f->n_reg, .reduces = f->reduces, .cols = 1, .results = 1};
    for (int i = 0; i < f->n_instr; i++) wick_op_is_light(f->instr[i].op) ? p.light++ : p.heavy++;
    for (int i = 0; f->reduces && i < f->rank; i++) {
        if (i < f->n_keep || i >= f->n_keep + f->n_red) p.results *= (double)f->dims[i];
        if (i >= f->n_keep + f->n_red) p.cols *= (double)f->dims[i];
    }
    p.results *= f->reduces ? columns : 1;
    wick_work_program(w, t, &p);
}

/* A product's rows of C that a task makes are done by more arithmetic where a program rides on them. */
static void add_epilogue(wick_work *w, const wick_tuning *t, const wick_epilogue *r) {
    if (r->program) add_program(w, t, &r->program->fused);
}

static void add_program_step(wick_work *w, const wick_tuning *t, const wick_step *s) {
    add_program(w, t, &((const wick_step_program *)s->args)->fused);
}

static void add_channel_loop(wick_work *w, const wick_tuning *t, const wick_step *s) {
    const wick_channel_loop *loop = s->args;
    for (int i = 0; i < loop->runs; i++) add_program(w, t, &loop->part[i].fused);
}

static void add_sums(wick_work *w, const wick_tuning *t, const wick_step *s) {
    (void)t;
    w->ops[WICK_RATE_REDUCE] = s->bytes / 4;
}

static void add_pack(wick_work *w, const wick_tuning *t, const wick_step *s) {
    (void)t; /* taps of a convolution lie apart */
    w->ops[WICK_RATE_OTHER] = s->bytes / (s->node->op == &wick_op_matmul ? 16 : 4);
}

static void add_gemm(wick_work *w, const wick_tuning *t, const wick_step *s) {
    const wick_step_gemm *a = s->args;
    /* few rows of A: columns of B are then transposed in registers, at a fifth of the rate */
    const bool transposed = a->gemm.b_row == 1 && a->gemm.n > 1;
    w->ops[WICK_RATE_GEMM] = s->flops * (a->gemm.sparse.kernel      ? SPARSE_TIMES
                                         : a->gemm.m > FEW_ROWS ? padded(a->gemm.n)
                                         : transposed           ? 5
                                                                : 1);
    add_epilogue(w, t, &a->epilogue);
}

static void add_conv(wick_work *w, const wick_tuning *t, const wick_step *s) {
    const wick_step_conv *a = s->args;
    const wick_convolution *c = &a->conv;
    const double pad = padded(c->what == WICK_CONV_DATA ? c->ci : c->co);
    if (c->depthwise) w->ops[WICK_RATE_DEPTHWISE] = s->flops;
    else if (c->winograd) w->ops[WICK_RATE_WINOGRAD] = s->flops;
    else w->ops[WICK_RATE_CONV] = s->flops * pad;
    add_epilogue(w, t, &a->epilogue);
}

static void add_put(wick_work *w, const wick_tuning *t, const wick_step *s) {
    (void)t; /* element by element, with branches */
    w->ops[WICK_RATE_OTHER] = 3 * s->flops;
}

static void add_int4(wick_work *w, const wick_tuning *t, const wick_step *s) {
    (void)t; /* weights are f32 as products take them */
    w->ops[WICK_RATE_GEMM] = 2 * s->flops;
}

static void add_linear8(wick_work *w, const wick_tuning *t, const wick_step *s) {
    (void)t;
    w->ops[WICK_RATE_GEMM] = s->flops;
}

static void add_other(wick_work *w, const wick_tuning *t, const wick_step *s) {
    (void)t;
    w->ops[s->node->op == &wick_op_attention_grad ? WICK_RATE_ATTENTION : WICK_RATE_OTHER] = s->flops;
}

/* By kind of step: what adds its operations; or, without that, the rate of its FLOPs. No row: add_other. */
static const struct {
    void (*add)(wick_work *w, const wick_tuning *t, const wick_step *s);
    wick_rate rate;
} kinds[WICK_STEP_KINDS] = {
    [WICK_STEP_PACK] = {.add = add_pack},
    [WICK_STEP_PROGRAM] = {.add = add_program_step},
    [WICK_STEP_PROGRAM_END] = {.add = add_sums},
    [WICK_STEP_CHANNEL_LOOP] = {.add = add_channel_loop},
    [WICK_STEP_GEMM] = {.add = add_gemm},
    [WICK_STEP_CONV] = {.add = add_conv},
    [WICK_STEP_CONV_SUM] = {.add = add_sums},
    [WICK_STEP_MAX_POOL] = {.rate = WICK_RATE_POOL},
    [WICK_STEP_MAX_POOL_PUT] = {.add = add_put},
    [WICK_STEP_MEAN_POOL] = {.rate = WICK_RATE_POOL},
    [WICK_STEP_MEAN_POOL_SHARE] = {.rate = WICK_RATE_POOL},
    [WICK_STEP_SOFTMAX] = {.rate = WICK_RATE_ROWS},
    [WICK_STEP_LAYER_NORM] = {.rate = WICK_RATE_ROWS},
    [WICK_STEP_CROSS_ENTROPY] = {.rate = WICK_RATE_ROWS},
    [WICK_STEP_ATTENTION] = {.rate = WICK_RATE_ATTENTION},
    [WICK_STEP_RECURRENT] = {.rate = WICK_RATE_RECURRENT},
    [WICK_STEP_INT4] = {.add = add_int4},
    [WICK_STEP_LINEAR8] = {.add = add_linear8},
    [WICK_STEP_INT8] = {.rate = WICK_RATE_INT8},
};
_Static_assert(WICK_RATE_LIGHT == 0, "which no row has: 0 is that there is none");

wick_work wick_step_work(const wick_tuning *t, const wick_step *s, const wick_buffer *buffers) {
    wick_work w = {.bytes = s->bytes, .tasks = (double)s->tasks};
    for (int k = 0; k < s->n_refs; k++) {
        const wick_buffer *b = &buffers[s->refs[k].buffer];
        if (k == 1 && s->kind == WICK_STEP_GEMM && ((const wick_step_gemm *)s->args)->gemm.sparse.kernel)
            continue; /* B as it lies is for contents that don't fit what was packed */
        if (!s->refs[k].write && (b->kind == WICK_BUFFER_LEAF || b->kind == WICK_BUFFER_CONST))
            w.far_bytes += (double)b->size;
    }
    w.far_bytes = WICK_MIN(w.far_bytes, w.bytes);
    w.bytes -= w.far_bytes;
    if (kinds[s->kind].add) kinds[s->kind].add(&w, t, s);
    else if (kinds[s->kind].rate) w.ops[kinds[s->kind].rate] = s->flops;
    else add_other(&w, t, s);
    return w;
}

double wick_epilogue_ns(const wick_tuning *t, const wick_step *program, double result_bytes, double runs,
                        double *without) {
    const wick_fused *f = &((const wick_step_program *)program->args)->fused;
    wick_work w = {.bytes = program->bytes};
    add_program(&w, t, f);
    *without = wick_work_ns(t, &w, 0, 1);
    w.bytes = WICK_MAX(w.bytes - result_bytes, 0.0);
    w.overhead += runs * ((double)t->cost_piece_ns + f->n_instr * (double)t->cost_block_ns);
    return wick_work_ns(t, &w, 0, 1) - (double)t->cost_step_ns;
}
