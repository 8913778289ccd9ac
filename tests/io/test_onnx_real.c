/* Real models, of ../shared/models/onnx and bench: each against the outputs that came with it, by a table that says how
 * near and why. What runs also shows:
 *  - recorded lazily, op by op (eager), and as one plan without the passes that may change bits it gives the same bits;
 *  with them it is as close to what is expected,
 *  - on one thread and on two as well,
 *  - and where its batch is open, several inputs in one run the same bits as each by itself.
 * A folder without a row fails. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "test.h"
#include "wick/wick.h"

enum { PORTS = 8, SETS = 16, PATH = 2048 };

/* Outputs agree if |got - want| <= atol + rtol |want|. The models ask for rtol 1e-3, atol 1e-4; here both are nearer,
 * three to ten times what was seen on any tier, so that a kernel that loses some of its accuracy is found. The last
 * column says what the numbers are, and where they are from. */
static const struct real {
    const char *name;
    double rtol, atol;
    bool open;          /* its batch */
    /* rows of an output of data set `exact_set` as computed in f64, where the expected ones are further off than the
     * models ask for */
    const char *exact;
    int exact_set;
    const char *why;
} models[] = {
    {"bench/autoencoder", 1e-5, 1e-6, false, NULL, 0, "10 Gemm, below 1"},
    {"bench/dscnn", 1e-5, 1e-7, false, NULL, 0, "probabilities"},
    {"bench/lenet", 1e-5, 1e-6, false, NULL, 0, "logits below 1"},
    {"bench/mnist_cnn", 1e-5, 1e-6, false, NULL, 0, "logits below 1"},
    {"bench/mobilenetv1_025", 1e-5, 1e-7, false, NULL, 0, "probabilities"},
    {"bench/resnet8", 1e-5, 1e-7, false, NULL, 0, "probabilities"},
    {"onnx/dnsmos_bak_ovr", 1e-5, 1e-6, true, NULL, 0, "scores of 1 to 5"},
    {"onnx/dnsmos_sig_bak_ovr", 1e-5, 1e-6, true, NULL, 0, "scores of 1 to 5, of logarithms of a spectrum"},
    {"onnx/dtln_1", 1e-5, 1e-5, false, NULL, 0, "a mask of 0 to 1, and an LSTM's state"},
    {"onnx/espcn_x3", 1e-5, 1e-5, false, NULL, 0, "pixels of 0 to 1"},
    {"onnx/magika_standard_v3_3", 1e-3, 1e-4, true, "magika_f64.npy", 2,
     "probabilities, after a norm that subtracts nearly equal sums"},
    {"onnx/mnist-8", 1e-5, 1e-3, false, NULL, 0, "logits of pixels up to 255: thousands"},
    {"onnx/mnist-opt", 1e-5, 1e-3, false, NULL, 0, "logits of pixels up to 255: thousands"},
    {"onnx/ppocr_cls", 1e-5, 1e-5, true, NULL, 0, "probabilities, 53 convolutions deep"},
    {"onnx/ppocr_v4_det", 1e-3, 1e-4, true, NULL, 0, "probabilities, 62 convolutions deep"},
    {"onnx/silero_vad_16k_op15", 1e-5, 1e-5, true, NULL, 0, "a probability, and an LSTM's state"},
    {"onnx/silero_vad_openvino_16k", 1e-5, 1e-5, false, NULL, 0, "a probability, and an LSTM's state"},
    {"onnx/silero_vad_v6", 1e-5, 1e-5, true, NULL, 0, "a probability, and an LSTM's state"},
    {"onnx/ultraface_version-RFB-320", 1e-5, 1e-5, false, NULL, 0, "probabilities and corners of 0 to 1"},
    {"onnx/ultraface_version-RFB-320_simplified", 1e-5, 1e-4, false, NULL, 0, "probabilities, and offsets of corners"},
    {"onnx/ultraface_version-RFB-320_without_postprocessing", 1e-5, 1e-4, false, NULL, 0,
     "probabilities, and offsets of corners"},
};

static const char *folder(void) { return getenv("WICK_MODELS"); }
/* difference from the expected outputs of the model at hand, and as a part of the tolerance */
static double largest, share;

/* ---- a model, and one of its sets of data ------------------------------------------------------------------------ */

typedef struct run {
    wick_context *ctx;
    wick_onnx *onnx;
    wick_scope *scope;
    int n_in, n_out;
    wick_onnx_value in[PORTS], want[PORTS];
    wick_spec spec[PORTS];
    void *got[PORTS]; /* contiguous */
    size_t bytes[PORTS];
    bool good;
} run;

static void close_run(run *r) {
    for (int i = 0; i < PORTS; i++) free(r->got[i]);
    wick_scope_close(&r->scope);
    wick_onnx_free(&r->onnx);
    wick_context_free(&r->ctx);
}

/* FOLDER/test_data_set_K/WHAT_I.pb, else, K 0, FOLDER/WHAT_I.npy. 0: there is none, 1: read, -1: cannot be read. */
static int read_port(run *r, const struct real *m, int set, const char *what, int i, const wick_onnx_port *port,
                     wick_onnx_value *out) {
    char path[PATH];
    snprintf(path, sizeof path, "%.900s/%s/test_data_set_%d/%s_%d.pb", folder(), m->name, set, what, i);
    if (access(path, R_OK) == 0)
        return wick_onnx_read_value(r->onnx, port, path, out) == WICK_OK && out->kind == WICK_VALUE_TENSOR ? 1 : -1;
    snprintf(path, sizeof path, "%.900s/%s/%s_%d.npy", folder(), m->name, what, i);
    if (set || access(path, R_OK) != 0) return 0;
    *out = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = wick_npy_read(r->ctx, path)};
    return out->tensor ? 1 : -1;
}

/* Opens the model and reads set `set`; a condition on the sampling rate is fixed, so that there is one plan. False:
 * there is no such set, or r is not good. */
static bool open_run(run *r, const struct real *m, int set, const wick_context_options *options) {
    char path[PATH];
    *r = (run){0};
    snprintf(path, sizeof path, "%.900s/%s/model.onnx", folder(), m->name);
    r->good = wick_context_new(options, &r->ctx) == WICK_OK && wick_onnx_open(r->ctx, path, NULL, &r->onnx) == WICK_OK;
    if (!r->good) return false;
    r->scope = wick_scope_open(r->ctx);
    for (int i = wick_onnx_inputs(r->onnx) - 1; i >= 0 && r->good; i--) {
        const wick_onnx_port port = wick_onnx_input(r->onnx, i);
        wick_onnx_value rate;
        if (strcmp(port.name, "sr") != 0) continue;
        const int found = read_port(r, m, set, "input", i, &port, &rate);
        if (!found) return false;
        r->good =
            found == 1 && i == wick_onnx_inputs(r->onnx) - 1 && wick_onnx_fix_input(r->onnx, i, rate.tensor) == WICK_OK;
    }
    r->n_in = wick_onnx_inputs(r->onnx), r->n_out = wick_onnx_outputs(r->onnx);
    r->good = r->good && r->n_in <= PORTS && r->n_out <= PORTS;
    for (int i = 0; i < r->n_in && r->good; i++) {
        const wick_onnx_port port = wick_onnx_input(r->onnx, i);
        const int found = read_port(r, m, set, "input", i, &port, &r->in[i]);
        if (!found && !i) return false;
        r->good = found == 1;
        if (!r->good) break;
        r->spec[i] = (wick_spec){port.name, wick_tensor_dtype(r->in[i].tensor), wick_tensor_rank(r->in[i].tensor), {0}};
        memcpy(r->spec[i].dims, wick_tensor_dims(r->in[i].tensor), (size_t)r->spec[i].rank * sizeof(int64_t));
    }
    for (int i = 0; i < r->n_out && r->good; i++) {
        const wick_onnx_port port = wick_onnx_output(r->onnx, i);
        r->good = read_port(r, m, set, "output", i, &port, &r->want[i]) >= 0;
    }
    return r->good;
}

/* Keeps the bytes of a result. */
static bool keep(run *r, int i, wick_tensor *t) {
    const void *data;
    if (wick_data(t, &data) != WICK_OK) return false;
    int64_t n = 1;
    for (int d = 0; d < wick_tensor_rank(t); d++) n *= wick_tensor_dims(t)[d];
    r->bytes[i] = wick_dtype_bytes(wick_tensor_dtype(t), n);
    free(r->got[i]);
    if ((r->got[i] = malloc(r->bytes[i] + 1))) memcpy(r->got[i], data, r->bytes[i]);
    return r->got[i] != NULL;
}
static bool run_recorded(run *r, wick_onnx_value *out) {
    wick_tensor *tensors[PORTS];
    bool good = wick_onnx_apply(r->onnx, r->in, out) == WICK_OK;
    for (int i = 0; i < r->n_out && good; i++) good = (tensors[i] = out[i].tensor) != NULL;
    good = good && wick_eval(r->ctx, r->n_out, tensors, NULL) == WICK_OK;
    for (int i = 0; i < r->n_out && good; i++) good = keep(r, i, tensors[i]);
    return good;
}
static bool run_compiled(run *r, const char *without) {
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    const void *data[PORTS];
    bool good = wick_onnx_compile(r->onnx, r->spec, &(wick_compile_options){.without = without}, &plan) == WICK_OK &&
                wick_workspace_new(plan, &ws) == WICK_OK;
    for (int i = 0; i < r->n_in && good; i++) good = wick_data(r->in[i].tensor, &data[i]) == WICK_OK;
    for (int i = 0; i < r->n_out && good; i++) {
        const wick_spec spec = wick_plan_output(plan, i);
        r->bytes[i] = wick_spec_bytes(&spec);
        free(r->got[i]);
        good = (r->got[i] = malloc(r->bytes[i] + 1)) != NULL;
    }
    if (good && wick_run(ws, data, r->got) != WICK_OK)
        good = wick_context_fail(r->ctx, WICK_ERR_INTERNAL, "%s", wick_workspace_error(ws)) == WICK_OK;
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    return good;
}

/* The expected output, with rows of it as they are in f64. */
static wick_tensor *corrected(run *r, const char *file, wick_tensor *want) {
    const float *exact, *rows;
    wick_tensor *all = wick_npy_read(r->ctx, file);
    if (!all || wick_data(all, (const void **)&exact) != WICK_OK || wick_data(want, (const void **)&rows) != WICK_OK)
        return NULL;
    const int64_t n = wick_tensor_dims(want)[0], width = wick_tensor_dims(want)[1];
    float *copy = malloc((size_t)(n * width) * sizeof *copy);
    if (!copy) return NULL;
    memcpy(copy, rows, (size_t)(n * width) * sizeof *copy);
    for (int64_t i = 0; i < wick_tensor_dims(all)[0]; i++)
        memcpy(copy + (int64_t)exact[i * (width + 1)] * width, exact + i * (width + 1) + 1,
               (size_t)width * sizeof *copy);
    wick_tensor *t = wick_from(r->ctx, WICK_F32, 2, wick_tensor_dims(want), copy);
    free(copy);
    return t;
}

static void compare(run *r, const struct real *m, int set, const wick_onnx_value *got) {
    for (int i = 0; i < r->n_out; i++) {
        wick_onnx_value want = r->want[i];
        if (want.kind != WICK_VALUE_TENSOR) continue;
        char file[PATH];
        snprintf(file, sizeof file, "%s/tests/golden/onnx/%s", WICK_SOURCE_DIR, m->exact ? m->exact : "");
        if (m->exact && set == m->exact_set && !i) want.tensor = corrected(r, file, want.tensor);
        CHECK_MSG(want.tensor, "%s: %s", file, wick_context_error(r->ctx));
        if (!want.tensor) continue;
        const wick_status same = wick_onnx_value_compare(r->ctx, &got[i], &want, m->rtol, m->atol);
        CHECK_MSG(same == WICK_OK, "%s, set %d, output %d: %s", m->name, set, i, wick_context_error(r->ctx));
        const float *a = r->got[i], *b;
        if (same != WICK_OK || wick_tensor_dtype(want.tensor) != WICK_F32 ||
            wick_data(want.tensor, (const void **)&b) != WICK_OK)
            continue;
        for (size_t k = 0; k < r->bytes[i] / sizeof *a; k++) {
            const double off = fabs((double)a[k] - (double)b[k]);
            largest = fmax(largest, off);
            share = fmax(share, off / (m->atol + m->rtol * fabs((double)b[k])));
        }
    }
}
/* Passes that may change bits (docs/numerics.md): left out where bits are compared. */
#define CHANGES_BITS "fold_scale,attention"
static void same_bits(const run *a, const run *b, const char *what, const struct real *m, int set) {
    for (int i = 0; i < a->n_out; i++)
        CHECK_MSG(a->bytes[i] == b->bytes[i] && memcmp(a->got[i], b->got[i], a->bytes[i]) == 0,
                  "%s, set %d, output %d: other bits %s", m->name, set, i, what);
}

/* ---- each set ---------------------------------------------------------------------------------------------------- */

/* False: there is no such set. */
static bool check_set(const struct real *m, int set) {
    run lazy, other;
    const bool there = open_run(&lazy, m, set, &(wick_context_options){.threads = 1});
    if (there) {
        wick_onnx_value out[PORTS] = {0};
        bool good = run_recorded(&lazy, out);
        CHECK_MSG(good, "%s, set %d: %s", m->name, set, wick_context_error(lazy.ctx));
        if (good) compare(&lazy, m, set, out);
        static const struct {
            const char *what;
            wick_context_options options;
            bool compiled;
        } ways[] = {{"op by op", {.threads = 1, .eager = true}, false},
                    {"as one plan", {.threads = 1}, true},
                    {"as one plan on two threads", {.threads = 2}, true}};
        for (size_t w = 0; w < WICK_COUNTOF(ways) && good; w++) {
            const bool ran = open_run(&other, m, set, &ways[w].options) &&
                             (ways[w].compiled ? run_compiled(&other, CHANGES_BITS) : run_recorded(&other, out));
            CHECK_MSG(ran, "%s, set %d, %s: %s", m->name, set, ways[w].what,
                      other.ctx ? wick_context_error(other.ctx) : "no context");
            if (ran) same_bits(&lazy, &other, ways[w].what, m, set);
            close_run(&other);
        }
        /* With all passes: close to what came with the model, as the recorded one is. */
        if (good) {
            wick_onnx_value all[PORTS] = {0};
            good = open_run(&other, m, set, &(wick_context_options){.threads = 1}) && run_compiled(&other, NULL);
            CHECK_MSG(good, "%s, set %d, with all passes: %s", m->name, set, wick_context_error(other.ctx));
            for (int i = 0; i < other.n_out && good; i++) {
                const wick_tensor *like = other.want[i].tensor;
                if (other.want[i].kind != WICK_VALUE_TENSOR) continue;
                all[i] =
                    (wick_onnx_value){.kind = WICK_VALUE_TENSOR,
                                      .tensor = wick_from(other.ctx, wick_tensor_dtype(like), wick_tensor_rank(like),
                                                          wick_tensor_dims(like), other.got[i])};
            }
            if (good) compare(&other, m, set, all);
            close_run(&other);
        }
    } else
        CHECK_MSG(lazy.good, "%s, set %d: %s", m->name, set, lazy.ctx ? wick_context_error(lazy.ctx) : "no context");
    close_run(&lazy);
    return there && set < SETS;
}

TEST(real_models_give_the_outputs_that_came_with_them_in_the_same_bits_however_they_run) {
    if (!folder()) SKIP("WICK_MODELS names no folder of models");
    for (size_t i = 0; i < WICK_COUNTOF(models); i++) {
        int sets = 0;
        largest = share = 0;
        while (check_set(&models[i], sets)) sets++;
        CHECK_MSG(sets > 0, "%s: nothing to compare with", models[i].name);
        printf("  %-53s %d set%s at most %.2g off, %.0f %% of the tolerance: %s\n", models[i].name, sets,
               sets == 1 ? ", " : "s,", largest, 100 * share, models[i].why);
    }
    test_count("models", (int)WICK_COUNTOF(models));
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* States are [layers, batch, features]. */
static int batch_axis(const wick_onnx_port *p) { return strncmp(p->name, "state", 5) == 0; }

/* Input i, other numbers for other k: its elements moved around by k. */
static wick_tensor *varied(wick_tensor *x, int k) {
    return wick_reshape(wick_roll(wick_reshape(x, 1, (int64_t[]){-1}), 1, (int64_t[]){k}, (int[]){0}),
                        wick_tensor_rank(x), wick_tensor_dims(x));
}

static void check_batch(const struct real *m) {
    enum { BATCH = 3 };
    run r;
    wick_onnx_value in[PORTS] = {0}, out[PORTS] = {0};
    wick_tensor *parts[PORTS][BATCH], *singles[PORTS][BATCH];
    bool good = open_run(&r, m, 0, &(wick_context_options){.threads = 1});
    for (int k = 0; k < BATCH && good; k++) {
        for (int i = 0; i < r.n_in; i++) {
            const wick_onnx_port port = wick_onnx_input(r.onnx, i);
            parts[i][k] = wick_slice(varied(r.in[i].tensor, k), batch_axis(&port), 0, 1, 1);
            in[i] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = parts[i][k]};
        }
        good = wick_onnx_apply(r.onnx, in, out) == WICK_OK;
        for (int i = 0; i < r.n_out && good; i++)
            good = wick_eval(r.ctx, 1, &out[i].tensor, NULL) == WICK_OK && (singles[i][k] = out[i].tensor);
    }
    for (int i = 0; i < r.n_in && good; i++) {
        const wick_onnx_port port = wick_onnx_input(r.onnx, i);
        r.in[i].tensor = wick_concat(BATCH, parts[i], batch_axis(&port));
        good = wick_eval(r.ctx, 1, &r.in[i].tensor, NULL) == WICK_OK;
        if (good) memcpy(r.spec[i].dims, wick_tensor_dims(r.in[i].tensor), (size_t)r.spec[i].rank * sizeof(int64_t));
    }
    good = good && run_compiled(&r, CHANGES_BITS);
    for (int i = 0; i < r.n_out && good; i++) {
        const wick_onnx_port port = wick_onnx_output(r.onnx, i);
        wick_tensor *all = wick_concat(BATCH, singles[i], batch_axis(&port));
        const void *want;
        good = wick_data(all, &want) == WICK_OK;
        CHECK_MSG(good && memcmp(want, r.got[i], r.bytes[i]) == 0,
                  "%s: output %d of a batch of %d has other bits than each by itself", m->name, i, BATCH);
    }
    CHECK_MSG(good, "%s, a batch: %s", m->name, r.ctx ? wick_context_error(r.ctx) : "no context");
    close_run(&r);
}

TEST(a_batch_of_three_gives_the_bits_of_each_by_itself) {
    if (!folder()) SKIP("WICK_MODELS names no folder of models");
    for (size_t i = 0; i < WICK_COUNTOF(models); i++)
        /* that one is 39 GFLOP an input */
        if (models[i].open && test_sampled(i) && !(TEST_SANITIZED && strstr(models[i].name, "dnsmos")))
            check_batch(&models[i]);
}

TEST(specs_that_are_not_those_of_the_inputs_are_named) {
    if (!folder()) SKIP("WICK_MODELS names no folder of models");
    const struct real state = {.name = "onnx/silero_vad_openvino_16k"};
    run r;
    wick_plan *plan;
    REQUIRE(open_run(&r, &state, 0, &(wick_context_options){.threads = 1}));
    const wick_spec swapped[2] = {r.spec[1], r.spec[0]};
    CHECK(wick_onnx_compile(r.onnx, swapped, NULL, &plan) == WICK_ERR_INVALID && !plan);
    CHECK_STR_HAS(wick_context_error(r.ctx), "input 0 is \"input\", and its spec is called \"state\"");
    r.spec[1].dtype = WICK_F64;
    CHECK(wick_onnx_compile(r.onnx, r.spec, NULL, &plan) == WICK_ERR_DTYPE);
    r.spec[1].dtype = WICK_F32, r.spec[1].rank = 2;
    CHECK(wick_onnx_compile(r.onnx, r.spec, NULL, &plan) == WICK_ERR_SHAPE);
    CHECK_STR_HAS(wick_context_error(r.ctx), "\"state\" has 3 dims, and its spec 2");
    close_run(&r);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

TEST(every_model_that_is_there_has_a_row) {
    static const char *const kinds[] = {"bench", "onnx"};
    if (!folder()) SKIP("WICK_MODELS names no folder of models");
    for (size_t k = 0; k < WICK_COUNTOF(kinds); k++) {
        char path[PATH];
        snprintf(path, sizeof path, "%.900s/%s", folder(), kinds[k]);
        DIR *dir = opendir(path);
        for (struct dirent *e; dir && (e = readdir(dir));) {
            char name[PATH];
            bool has = false;
            snprintf(name, sizeof name, "%.900s/%s/%.255s/model.onnx", folder(), kinds[k], e->d_name);
            if (e->d_name[0] == '.' || access(name, R_OK) != 0) continue;
            snprintf(name, sizeof name, "%s/%.255s", kinds[k], e->d_name);
            for (size_t i = 0; i < WICK_COUNTOF(models); i++) has |= strcmp(models[i].name, name) == 0;
            CHECK_MSG(has, "%s has no row in the table", name);
        }
        if (dir) closedir(dir);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
