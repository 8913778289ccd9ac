/* An update of which each rank does a part: the bits of the whole one with any number of ranks, whose optimizers are
 * all in this process here; what each rank has; files that any number of ranks reads; misuse. */
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "context.h"
#include "tensor/tensors.h"
#include "test.h"
#include "wick/wick.h"

enum {
    ROWS = 8,
    WIDTH = 33,
    MIDDLE = 67,
    OUT = 3,
    STEPS = 5,
    NUMBERS = MIDDLE * WIDTH + MIDDLE + OUT * MIDDLE + 1,
    MOST = 7
};

/* One rank; of 1 rank the update is the whole one. */
typedef struct member {
    wick_context *ctx;
    wick_model *model;
    wick_optimizer *optimizer;
    wick_dtype dtype;
    wick_optim_part part;
    int64_t n_norms;    /* of all ranks */
    wick_plan *plan[4]; /* gradients; norms; update; weights */
    wick_workspace *space[4];
} member;

static wick_tensor *weight(member *n, const char *name, int rank, const int64_t *dims) {
    return wick_model_state(n->model, name, WICK_ROLE_PARAM, n->dtype, rank, dims, wick_init_linear(4));
}

/* Two layers, a parameter that the loss does not depend on, and one without a dim. */
static wick_status gradients(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    member *n = user;
    wick_tensor *w = weight(n, "a.w", WICK_DIMS(MIDDLE, WIDTH)), *idle = weight(n, "idle", WICK_DIMS(4)),
                *b = weight(n, "a.b", WICK_DIMS(MIDDLE)), *v = weight(n, "b.w", WICK_DIMS(OUT, MIDDLE)),
                *gain = weight(n, "gain", WICK_SCALAR);
    (void)idle;
    wick_tensor *y = wick_linear(wick_tanh(wick_linear(wick_cast(in[0], n->dtype), w, b)), v, NULL);
    out[0] = wick_mse(wick_cast(wick_mul(y, gain), WICK_F32), in[1]);
    return wick_optimizer_gradients(n->optimizer, out[0], &out[1]);
}
static wick_status update(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)out;
    return wick_optimizer_update(((member *)user)->optimizer, in[0]);
}
static wick_status norms(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    return wick_optimizer_norms(((member *)user)->optimizer, in[0], &out[0]);
}
static wick_status update_part(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    member *n = user;
    return wick_optimizer_update_part(n->optimizer, in[0], n->n_norms ? in[1] : NULL, &out[0]);
}
static wick_status set_weights(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)out;
    return wick_optimizer_set_weights(((member *)user)->optimizer, in[0]);
}

static wick_status compile(member *n, int k, wick_function fn, int n_in, const wick_spec *in, int n_out) {
    const wick_status status = wick_compile(n->ctx, fn, n, n_in, in, n_out, NULL, &n->plan[k]);
    return status == WICK_OK ? wick_workspace_new(n->plan[k], &n->space[k]) : status;
}

static bool open_rank(member *n, wick_optim_options options, wick_dtype dtype, int at, int ranks) {
    *n = (member){.ctx = new_context(.threads = 1 + at % 2, .seed = 4), .dtype = dtype};
    options.shard = (wick_shard){at, ranks};
    if (!n->ctx || wick_model_new(n->ctx, &n->model) != WICK_OK) return false;
    const wick_dtype sums = dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    const wick_spec batch[2] = {{.dtype = WICK_F32, .rank = 2, .dims = {ROWS, WIDTH}},
                                {.dtype = WICK_F32, .rank = 2, .dims = {ROWS, OUT}}},
                    all = {.dtype = sums, .rank = 1, .dims = {NUMBERS}};
    wick_status status = wick_optimizer_new(n->model, &options, &n->optimizer);
    if (status == WICK_OK) status = compile(n, 0, gradients, 2, batch, 2);
    if (status == WICK_OK && ranks == 1) status = compile(n, 2, update, 1, &all, 0);
    wick_optim_part last = {0};
    if (status == WICK_OK && ranks > 1) status = wick_optimizer_part(n->optimizer, at, &n->part);
    if (status == WICK_OK && ranks > 1) status = wick_optimizer_part(n->optimizer, ranks - 1, &last);
    n->n_norms = last.end_norm;
    const wick_spec own[2] = {{.dtype = sums, .rank = 1, .dims = {n->part.needed - n->part.begin}},
                              {.dtype = WICK_F64, .rank = 1, .dims = {n->n_norms}}};
    if (status == WICK_OK && ranks > 1) status = compile(n, 1, norms, 1, own, 1);
    if (status == WICK_OK && ranks > 1) status = compile(n, 2, update_part, 1 + (n->n_norms > 0), own, 1);
    if (status == WICK_OK && ranks > 1) status = compile(n, 3, set_weights, 1, &all, 0);
    CHECK_OK(n->ctx, status);
    return status == WICK_OK;
}
static void close_rank(member *n) {
    for (int i = 0; i < 4; i++) {
        wick_workspace_free(&n->space[i]);
        wick_plan_free(&n->plan[i]);
    }
    wick_optimizer_free(&n->optimizer);
    wick_model_free(&n->model);
    wick_context_free(&n->ctx);
}
static bool open_ranks(member *all, const wick_optim_options *options, wick_dtype dtype, int ranks) {
    bool ok = true;
    for (int r = 0; r < ranks; r++) ok = open_rank(&all[r], *options, dtype, r, ranks) && ok;
    return ok;
}
static void close_ranks(member *all, int ranks) {
    for (int r = 0; r < ranks; r++) close_rank(&all[r]);
}

/* Step 3 may have a number whose scaled gradients are more than f32 holds. */
static void fill(float *x, int count, int step, bool large) {
    for (int i = 0; i < count; i++)
        x[i] = large && step == 3 && i == 2 ? 1e12f : (float)(((i * 37 + step * 101) % 64 - 32) / 32.0);
}

/* All ranks have the same batch; what ranks send each other is copied. */
static void run_step(member *all, int ranks, int step, bool large) {
    static double vector[NUMBERS], weights[NUMBERS], found[64];
    float x[ROWS * WIDTH], t[ROWS * OUT], loss;
    const size_t size = all->dtype == WICK_F64 ? 8 : 4;
    fill(x, ROWS * WIDTH, step, false);
    fill(t, ROWS * OUT, step, large);
    CHECK_OK(all->ctx, wick_run(all->space[0], (const void *[]){x, t}, (void *[]){&loss, vector}));
    if (ranks == 1) CHECK_OK(all->ctx, wick_run(all->space[2], (const void *[]){vector}, NULL));
    for (int r = 0; r < ranks && ranks > 1; r++) {
        const char *own = (char *)vector + (size_t)all[r].part.begin * size;
        CHECK_OK(all[r].ctx,
                 wick_run(all[r].space[1], (const void *[]){own}, (void *[]){found + all[r].part.first_norm}));
    }
    for (int r = 0; r < ranks && ranks > 1; r++) {
        const char *own = (char *)vector + (size_t)all[r].part.begin * size;
        char *become = (char *)weights + (size_t)all[r].part.begin * size;
        CHECK_OK(all[r].ctx, wick_run(all[r].space[2], (const void *[]){own, found}, (void *[]){become}));
    }
    for (int r = 0; r < ranks && ranks > 1; r++)
        CHECK_OK(all[r].ctx, wick_run(all[r].space[3], (const void *[]){weights}, NULL));
}

/* That rank b has what it should of the states of a. */
static void check_states(const char *name, const member *a, const member *b) {
    CHECK_INT(wick_model_count(a->model), wick_model_count(b->model));
    for (int i = 0; i < wick_model_count(a->model); i++) {
        const wick_named want = wick_model_at(a->model, i), got = wick_model_at(b->model, i);
        const size_t size = wick_dtype_size(wick_tensor_dtype(want.tensor));
        wick_state_part part = {.end = wick_tensor_count(want.tensor)};
        const void *x, *y;
        wick_model_part(b->model, got.name, &part);
        CHECK(strcmp(got.name, want.name) == 0);
        CHECK_INT(wick_tensor_count(got.tensor), part.end - part.begin);
        if (part.begin == part.end) continue;
        CHECK_OK(a->ctx, wick_data(want.tensor, &x));
        CHECK_OK(b->ctx, wick_data(got.tensor, &y));
        CHECK_MSG(memcmp((const char *)x + (size_t)part.begin * size, y, (size_t)(part.end - part.begin) * size) == 0,
                  "%s: %s from %lld to %lld has other bits", name, want.name, (long long)part.begin,
                  (long long)part.end);
    }
}

static const wick_optim_options lion = {.kind = WICK_LION, .lr = 0.01};
static const wick_param_group groups[] = {{.pattern = "a.b", .freeze = true}, {.pattern = "b*", .rule = &lion}};
static const struct {
    const char *name;
    wick_optim_options options;
    wick_dtype dtype;
    bool large;
} cases[] = {
    {"sgd alone", {.lr = 0.1}, WICK_F32, false},
    {"sgd", {.lr = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01}, WICK_F32, false},
    {"adamw, clipped, averaged",
     {.kind = WICK_ADAMW, .lr = 0.02, .clip_norm = 0.05, .average = {.kind = WICK_AVERAGE_EMA, .decay = 0.8}},
     WICK_F32,
     false},
    {"amsgrad in f64", {.kind = WICK_ADAM, .amsgrad = true, .clip_norm = 0.05}, WICK_F64, false},
    {"bf16", {.kind = WICK_ADAMW, .lr = 0.02, .clip_norm = 0.05}, WICK_BF16, false},
    {"muon", {.kind = WICK_MUON, .clip_norm = 0.1}, WICK_F32, false},
    {"lamb", {.kind = WICK_LAMB, .lr = 0.01}, WICK_F32, false},
    {"nadam", {.kind = WICK_NADAM}, WICK_F32, false},
    {"adadelta", {.kind = WICK_ADADELTA}, WICK_F32, false},
    {"rmsprop", {.kind = WICK_RMSPROP, .momentum = 0.9, .centered = true}, WICK_F32, false},
    {"scaled", {.kind = WICK_ADAM, .loss_scale = {.initial = 0x1p100}, .clip_norm = 0.05}, WICK_F32, true},
    {"scaled alone", {.kind = WICK_ADAM, .loss_scale = {.initial = 0x1p100}}, WICK_F32, true},
    {"one cycle",
     {.kind = WICK_ADAMW, .schedule = {.kind = WICK_SCHEDULE_ONE_CYCLE, .total = STEPS, .cycle_momentum = true}},
     WICK_F32,
     false},
};

TEST(any_number_of_ranks_has_the_bits_of_one) {
    for (size_t c = 0; c < WICK_COUNTOF(cases); c++) {
        member one, all[MOST];
        REQUIRE(open_ranks(&one, &cases[c].options, cases[c].dtype, 1));
        for (int step = 0; step < STEPS; step++) run_step(&one, 1, step, cases[c].large);
        for (int ranks = 2; ranks <= MOST; ranks++) {
            if (open_ranks(all, &cases[c].options, cases[c].dtype, ranks)) {
                for (int step = 0; step < STEPS; step++) run_step(all, ranks, step, cases[c].large);
                for (int r = 0; r < ranks; r++) check_states(cases[c].name, &one, &all[r]);
            }
            close_ranks(all, ranks);
        }
        double skipped = 0;
        if (cases[c].large)
            CHECK(wick_item(wick_model_find(one.model, "optim.skipped"), &skipped) == WICK_OK && skipped == 1);
        close_rank(&one);
        test_count("optimizers", 1);
    }
}

TEST(groups_of_parameters_may_have_rules_of_their_own) {
    member n;
    const wick_optim_options options = {.kind = WICK_ADAMW, .n_groups = 2, .groups = groups, .shard = {1, 3}};
    n = (member){.ctx = new_context(.threads = 1), .dtype = WICK_F32};
    wick_optim_part part;
    REQUIRE(n.ctx && wick_model_new(n.ctx, &n.model) == WICK_OK);
    REQUIRE(wick_optimizer_new(n.model, &options, &n.optimizer) == WICK_OK);
    wick_tensor *in[2] = {wick_ones(n.ctx, WICK_F32, WICK_DIMS(ROWS, WIDTH)),
                          wick_ones(n.ctx, WICK_F32, WICK_DIMS(ROWS, OUT))},
                *out[2];
    CHECK_OK(n.ctx, gradients(n.ctx, in, out, &n));
    int64_t bytes[3];
    const int64_t heavy = MIDDLE * WIDTH, light = OUT * MIDDLE; /* of two moments, and of one; then gain, of two */
    for (int r = 0; r < 3; r++) {
        CHECK_OK(n.ctx, wick_optimizer_part(n.optimizer, r, &part));
        const int64_t a = WICK_MIN(part.end, heavy) - WICK_MIN(part.begin, heavy);
        const int64_t b = WICK_MIN(part.end, heavy + light) - WICK_MIN(part.begin, heavy + light) - a;
        bytes[r] = 8 * a + 4 * b + 8 * (part.end - part.begin - a - b);
    }
    CHECK_INT(bytes[0] + bytes[1] + bytes[2], 8 * heavy + 4 * light + 8);
    for (int r = 0; r < 3; r++) CHECK(bytes[r] <= (8 * heavy + 4 * light + 8) / 3 + 8);
    close_rank(&n);
}

static double own_bytes(const member *n) {
    double bytes = 0;
    for (int i = 0; i < wick_model_count(n->model); i++) {
        const wick_named state = wick_model_at(n->model, i);
        if (state.role == WICK_ROLE_OPTIM)
            bytes += (double)wick_tensor_count(state.tensor) * (double)wick_dtype_size(wick_tensor_dtype(state.tensor));
    }
    return bytes;
}

static wick_status large_loss(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in;
    member *n = user;
    wick_tensor *w = weight(n, "w", WICK_DIMS(300, 301)), *b = weight(n, "b", WICK_DIMS(7));
    out[0] = wick_add(wick_mean(wick_square(w), WICK_ALL_AXES, false), wick_mean(wick_square(b), WICK_ALL_AXES, false));
    return wick_optimizer_gradients(n->optimizer, out[0], &out[1]);
}

static double tensor_bytes(const wick_context *ctx) {
    wick_memory_use use;
    for (int i = 0; (use = wick_memory_use_at(ctx, i)).name; i++)
        if (strcmp(use.name, "tensors") == 0) return (double)use.bytes;
    return NAN;
}

/* Of what the context's memory tracker counts as tensors, what is there more when the update was recorded. */
static double tracked_states(int at, int ranks) {
    enum { COUNT = 300 * 301 + 7 };
    const wick_optim_options options = {.kind = WICK_ADAMW, .shard = {at, ranks}};
    member n = {.ctx = new_context(.threads = 1, .track_memory = true), .dtype = WICK_F32};
    double before = 0, after = 0;
    if (!n.ctx || wick_model_new(n.ctx, &n.model) != WICK_OK) return NAN;
    CHECK_OK(n.ctx, wick_optimizer_new(n.model, &options, &n.optimizer));
    CHECK_OK(n.ctx, compile(&n, 0, large_loss, 0, NULL, 2));
    before = tensor_bytes(n.ctx);
    n.part = (wick_optim_part){.end = COUNT, .needed = COUNT};
    if (ranks > 1) CHECK_OK(n.ctx, wick_optimizer_part(n.optimizer, at, &n.part));
    const wick_spec own = {.dtype = WICK_F32, .rank = 1, .dims = {n.part.needed - n.part.begin}};
    CHECK_OK(n.ctx, compile(&n, 2, ranks > 1 ? update_part : update, 1, &own, ranks > 1));
    after = tensor_bytes(n.ctx);
    close_rank(&n);
    return after - before;
}

TEST(the_memory_tracker_counts_its_share_of_the_states) {
    const double whole = tracked_states(0, 1);
    CHECK_MSG(whole >= 8.0 * 300 * 301, "%g bytes", whole);
    for (int ranks = 2; ranks <= 4; ranks++)
        for (int r = 0; r < ranks; r++) {
            const double own = tracked_states(r, ranks);
            CHECK_MSG(own <= whole * (1.0 / ranks + 0.01), "rank %d of %d: %g of %g bytes", r, ranks, own, whole);
        }
}

TEST(a_rank_has_its_share_of_the_bytes) {
    member one, all[MOST];
    const wick_optim_options options = {.kind = WICK_ADAMW, .clip_norm = 1};
    REQUIRE(open_ranks(&one, &options, WICK_F32, 1));
    for (int ranks = 2; ranks <= MOST; ranks++) {
        REQUIRE(open_ranks(all, &options, WICK_F32, ranks));
        for (int r = 0; r < ranks; r++)
            CHECK_MSG(own_bytes(&all[r]) <= own_bytes(&one) * (1.0 / ranks + 0.01), "rank %d of %d has %g of %g bytes",
                      r, ranks, own_bytes(&all[r]), own_bytes(&one));
        close_ranks(all, ranks);
    }
    close_rank(&one);
}

/* The whole states of ranks, in one block. */
static char *join_states(member *all, int ranks, const void **whole) {
    char *block = calloc(64, 4 * NUMBERS), *to = block;
    wick_state_part part;
    int k = 0;
    for (int i = 0; i < wick_model_count(all->model); i++) {
        if (!wick_model_part(all->model, wick_model_at(all->model, i).name, &part)) continue;
        whole[k++] = to;
        for (int r = 0; r < ranks; r++) {
            const wick_named state = wick_model_at(all[r].model, i);
            const void *data;
            CHECK(wick_model_part(all[r].model, state.name, &part));
            if (part.begin == part.end) continue;
            CHECK_OK(all[r].ctx, wick_data(state.tensor, &data));
            memcpy(to + 4 * part.begin, data, (size_t)(part.end - part.begin) * 4);
        }
        to += 4 * NUMBERS;
    }
    return block;
}

static const void *give(void *user, int k) { return ((const void **)user)[k]; }
static const void *give_none(void *user, int k) { return (void)user, (void)k, NULL; }

/* An empty file of that name. */
static bool take_path(char *path) {
    const int file = mkstemp(path);
    return file >= 0 && close(file) == 0;
}

static void load(member *n, const char *path) {
    wick_checkpoint *file = NULL;
    CHECK_OK(n->ctx, wick_checkpoint_open(n->ctx, path, &file));
    if (file) CHECK_OK(n->ctx, wick_checkpoint_load(file, n->model, true));
    wick_checkpoint_free(&file);
}

TEST(a_file_of_any_number_of_ranks_is_read_by_any_other) {
    char path[] = "/tmp/wick-shard-XXXXXX";
    const wick_optim_options options = {
        .kind = WICK_ADAMW, .lr = 0.02, .clip_norm = 0.05, .average = {.kind = WICK_AVERAGE_EMA, .decay = 0.8}};
    REQUIRE(take_path(path));
    member one, all[MOST];
    REQUIRE(open_ranks(&one, &options, WICK_F32, 1));
    for (int step = 0; step < STEPS; step++) run_step(&one, 1, step, false);
    const int by[] = {3, 1, 5, 2, 7};
    for (int step = 0; step < STEPS; step++) { /* each by another number of ranks than the step before */
        const void *whole[16] = {NULL};
        const int ranks = by[step];
        REQUIRE(open_ranks(all, &options, WICK_F32, ranks));
        for (int r = 0; r < ranks && step; r++) load(&all[r], path);
        run_step(all, ranks, step, false);
        char *block = ranks > 1 ? join_states(all, ranks, whole) : NULL;
        CHECK_OK(all->ctx, wick_save(all->model, path,
                                     &(wick_save_options){.whole = ranks > 1 ? give : NULL, .whole_user = whole}));
        for (int r = 0; r < ranks && step == STEPS - 1; r++) check_states("saved", &one, &all[r]);
        free(block);
        close_ranks(all, ranks);
    }
    close_rank(&one);
    unlink(path);
}

TEST(misuse_is_refused_by_name) {
    member n, plain;
    wick_optim_part part;
    wick_optimizer *opt;
    wick_tensor *out, *vector;
    const wick_optim_options options = {.kind = WICK_ADAMW, .clip_norm = 1};
    REQUIRE(open_rank(&n, options, WICK_F32, 1, 3) && open_rank(&plain, options, WICK_F32, 0, 1));
    vector = wick_zeros(n.ctx, WICK_F32, WICK_DIMS(n.part.needed - n.part.begin));
    CHECK_INT(wick_optimizer_update(n.optimizer, wick_zeros(n.ctx, WICK_F32, WICK_DIMS(NUMBERS))), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(n.ctx), "wick_optimizer_update_part");
    CHECK_INT(wick_optimizer_step(n.optimizer, wick_zeros(n.ctx, WICK_F32, WICK_SCALAR)), WICK_ERR_INVALID);
    CHECK_INT(wick_optimizer_update_part(n.optimizer, vector, NULL, &out), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(n.ctx), "norms is NULL");
    CHECK_INT(wick_optimizer_update_part(n.optimizer, vector, vector, &out), WICK_ERR_SHAPE);
    CHECK_STR_HAS(wick_context_error(n.ctx), "norms are a vector of 4 f64");
    CHECK_INT(wick_optimizer_update_part(n.optimizer, vector, vector, NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_optimizer_norms(n.optimizer, wick_zeros(n.ctx, WICK_F32, WICK_DIMS(2)), &out), WICK_ERR_SHAPE);
    CHECK(out == NULL);
    CHECK_INT(wick_optimizer_norms(n.optimizer, vector, NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_optimizer_set_weights(n.optimizer, vector), WICK_ERR_SHAPE);
    CHECK_INT(wick_optimizer_part(n.optimizer, 3, &part), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(n.ctx), "part of rank 3: ranks are 0 to 2");
    CHECK_INT(wick_optimizer_part(plain.optimizer, 0, &part), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(plain.ctx), "needs options.shard");
    CHECK_INT(wick_optimizer_new(n.model, &(wick_optim_options){.shard = {3, 3}}, &opt), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(n.ctx), "shard.rank must be below shard.ranks");
    CHECK_INT(wick_optimizer_new(n.model, &(wick_optim_options){.shard = {0, 3}}, &opt), WICK_OK);
    CHECK_INT(wick_optimizer_part(opt, 0, &part), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(n.ctx), "wick_optimizer_gradients");
    wick_optimizer_free(&opt);
    char path[] = "/tmp/wick-shard-XXXXXX";
    REQUIRE(take_path(path));
    CHECK_INT(wick_save(n.model, path, NULL), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(n.ctx), "alone of \"optim.m.a.w\"");
    CHECK_INT(wick_save(n.model, path, &(wick_save_options){.whole = give_none}), WICK_ERR_CANCELLED);
    CHECK_STR_HAS(wick_context_error(n.ctx), "the bytes of \"optim.m.a.w\" could not be had");
    CHECK_INT(wick_save(n.model, path, &(wick_save_options){.weights_only = true}), WICK_OK);
    /* a state is one part of itself */
    CHECK(wick_model_find(n.model, "optim.m.a.w") == NULL && !wick_model_part(n.model, "a.w", &(wick_state_part){0}));
    CHECK_INT(wick_tensor_error(wick_model_state(n.model, "optim.m.a.w", WICK_ROLE_OPTIM, WICK_F32,
                                                 WICK_DIMS(MIDDLE, WIDTH), wick_init_constant(0)),
                                NULL),
              WICK_ERR_MISMATCH);
    CHECK_INT(
        wick_tensor_error(
            wick_model_state_part(n.model, "optim.new", WICK_F32, WICK_DIMS(4), 2, 5, wick_init_constant(0)), NULL),
        WICK_ERR_INVALID);
    close_rank(&n);
    close_rank(&plain);
    unlink(path);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
