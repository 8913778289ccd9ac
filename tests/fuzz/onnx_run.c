/* onnx_run.c: the targets of ONNX: a model is opened, asked about, compiled and run; a value is read; a model's
 * external data stay in its folder. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

enum {
    ELEMENTS_MAX = 4096,
    PORTS_MAX = 16,
    SECONDS = 5 /* what does not end then is a finding, after scripts/fuzz's 20 */
};

static const wick_onnx_limits limits = {
    .memory = 16 << 20, .tensor_bytes = 1 << 20, .nodes = 500, .depth = 12, .seconds = SECONDS};

/* Something of the port's kind and shape; unknown extents are small. false: too large to bother. */
static bool make_input(wick_context *ctx, const wick_onnx_port *p, wick_onnx_value *v) {
    static wick_text texts[ELEMENTS_MAX];
    static wick_onnx_value items[PORTS_MAX];
    static int used;
    for (size_t i = 0; i < ELEMENTS_MAX && !texts[i].at; i++) texts[i] = (wick_text){i % 4 ? "a b" : "", i % 4};
    int64_t dims[WICK_MAX_DIMS], n = 1;
    const int rank = p->rank < 0 ? 2 : p->rank;
    for (int i = 0; i < rank; i++) {
        dims[i] = i < p->rank && p->dims[i] >= 0 ? p->dims[i] : 1 + i % 3;
        if (wick_mul_overflows(n, dims[i], &n) || n > ELEMENTS_MAX) return false;
    }
    wick_dtype dtype = WICK_F32;
    (void)wick_onnx_elem_dtype(p->elem, &dtype);
    *v = (wick_onnx_value){.kind = p->kind};
    wick_tensor *t = wick_dtype_size(dtype) && !(dtype >= WICK_F8_E4M3FN && dtype <= WICK_F8_E8M0)
                         ? wick_cast(wick_arange(ctx, WICK_F32, 0, 1, n), dtype)
                         : wick_zeros(ctx, dtype, 1, &n);
    t = wick_reshape(t, rank, dims);
    if (wick_tensor_error(t, NULL) != WICK_OK) return false;
    if (p->kind == WICK_VALUE_TENSOR) v->tensor = t;
    else if (p->kind == WICK_VALUE_STRINGS) {
        v->rank = rank, v->n = (size_t)n, v->texts = texts;
        memcpy(v->dims, dims, sizeof dims);
    } else if (p->kind == WICK_VALUE_SEQUENCE) {
        wick_onnx_value *item = &items[used++ % PORTS_MAX];
        *item = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = t};
        v->n = 1, v->items = item;
    } else return false;
    return true;
}

/* Everything in it is evaluated and read. */
static void use(const wick_onnx_value *v, int depth) {
    if (v->kind == WICK_VALUE_TENSOR) {
        const void *data;
        FUZZ_PROMISE(v->tensor);
        if (wick_data(v->tensor, &data) != WICK_OK) return;
        fuzz_touch(data, wick_dtype_bytes(wick_tensor_dtype(v->tensor), wick_tensor_count(v->tensor)));
    }
    if (v->kind == WICK_VALUE_STRINGS)
        for (size_t i = 0; i < v->n; i++) fuzz_touch(v->texts[i].at, v->texts[i].size);
    if (v->kind == WICK_VALUE_SEQUENCE)
        for (size_t i = 0; i < v->n && depth < 8; i++) use(&v->items[i], depth + 1);
}

static void ask(wick_onnx *onnx) {
    const wick_onnx_info info = wick_onnx_get_info(onnx);
    FUZZ_PROMISE(info.producer && info.producer_version && info.graph && info.nodes >= 0 && info.parameters >= 0);
    FUZZ_PROMISE(wick_onnx_unsupported(onnx) != NULL);
    for (int i = 0; i < info.ops; i++)
        FUZZ_PROMISE(wick_onnx_op_at(onnx, i).name && wick_onnx_op_at(onnx, i).count > 0);
    for (int i = 0; i < wick_onnx_inputs(onnx); i++)
        FUZZ_PROMISE(wick_onnx_input(onnx, i).name && wick_onnx_input(onnx, i).rank <= WICK_MAX_DIMS);
    for (int i = 0; i < wick_onnx_outputs(onnx); i++) FUZZ_PROMISE(wick_onnx_output(onnx, i).name);
}

static void compile(wick_context *ctx, wick_onnx *onnx, const wick_onnx_value *in, int n_in, int n_out) {
    wick_spec specs[PORTS_MAX] = {{0}};
    wick_plan *plan;
    wick_workspace *ws = NULL;
    for (int i = 0; i < n_in; i++) {
        if (in[i].kind != WICK_VALUE_TENSOR) return;
        specs[i] = (wick_spec){
            wick_onnx_input(onnx, i).name, wick_tensor_dtype(in[i].tensor), wick_tensor_rank(in[i].tensor), {0}};
        memcpy(specs[i].dims, wick_tensor_dims(in[i].tensor), (size_t)specs[i].rank * sizeof *specs[i].dims);
    }
    if (wick_onnx_compile(onnx, specs, NULL, &plan) != WICK_OK) {
        FUZZ_PROMISE(*wick_context_error(ctx));
        return;
    }
    const void *args[PORTS_MAX] = {0};
    void *results[PORTS_MAX] = {0};
    bool good = wick_workspace_new(plan, &ws) == WICK_OK;
    if (good) wick_workspace_deadline(ws, (uint64_t)SECONDS * 1000000000u);
    for (int i = 0; i < n_in && good; i++) good = wick_data(in[i].tensor, &args[i]) == WICK_OK;
    size_t sizes[PORTS_MAX] = {0};
    for (int i = 0; i < n_out && good; i++) {
        const wick_spec s = wick_plan_output(plan, i);
        int64_t n = 1;
        for (int k = 0; k < s.rank; k++) n *= s.dims[k];
        sizes[i] = wick_dtype_bytes(s.dtype, n);
        good = sizes[i] <= limits.tensor_bytes && (results[i] = malloc(sizes[i] + 1)) != NULL;
    }
    if (good && wick_run(ws, args, results) == WICK_OK)
        for (int i = 0; i < n_out; i++) fuzz_touch(results[i], sizes[i]);
    for (int i = 0; i < n_out; i++) free(results[i]);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
}

static int run_model(const char *path, void (*check)(wick_onnx *)) {
    wick_context *ctx = fuzz_context();
    wick_onnx *onnx;
    if (wick_onnx_open(ctx, path, &limits, &onnx) != WICK_OK) {
        FUZZ_PROMISE(!onnx && strstr(wick_context_error(ctx), path));
        return 0;
    }
    ask(onnx);
    if (check) check(onnx);
    wick_scope *scope = wick_scope_open(ctx);
    const int n_in = wick_onnx_inputs(onnx), n_out = wick_onnx_outputs(onnx);
    wick_onnx_value in[PORTS_MAX], out[PORTS_MAX] = {{0}};
    bool good = n_in <= PORTS_MAX && n_out <= PORTS_MAX;
    for (int i = 0; i < n_in && good; i++) {
        const wick_onnx_port p = wick_onnx_input(onnx, i);
        good = make_input(ctx, &p, &in[i]);
    }
    if (good && wick_onnx_apply(onnx, in, out) == WICK_OK) {
        for (int i = 0; i < n_out; i++) use(&out[i], 0);
        compile(ctx, onnx, in, n_in, n_out);
    } else if (good) FUZZ_PROMISE(*wick_context_error(ctx));
    wick_scope_close(&scope);
    wick_onnx_free(&onnx);
    return 1;
}

FUZZ_TARGET(onnx) { return run_model(fuzz_file("model.onnx", data, size), NULL); }

/* ---- external data ----------------------------------------------------------------------------------------------- */

static const char secret[] = "secretsecretsecretsecretsecretsecretsecretsecretsecretsecretsecr";

/* No weight may hold what lies outside. */
static void no_secrets(wick_onnx *onnx) {
    wick_model *model = wick_onnx_model(onnx);
    for (int i = 0; i < wick_model_count(model); i++) {
        wick_tensor *t = wick_model_at(model, i).tensor;
        const void *data;
        if (wick_data(t, &data) != WICK_OK) continue;
        const size_t n = wick_dtype_bytes(wick_tensor_dtype(t), wick_tensor_count(t));
        fuzz_touch(data, n);
        FUZZ_PROMISE(!(n >= 12 && memmem(data, n, "secretsecret", 12)));
    }
}

/* folder/in: the model, files that it may read, and every kind that it may not; folder/out.bin: what lies outside. */
static void make_folder(void) {
    static bool made;
    char a[300], b[300];
    if (made) return;
    made = true;
    const char *folder = fuzz_folder();
    snprintf(a, sizeof a, "%s/in", folder);
    if (mkdir(a, 0700) != 0) abort();
    snprintf(a, sizeof a, "%s/in/sub", folder);
    if (mkdir(a, 0700) != 0) abort();
    uint8_t bytes[256];
    for (int i = 0; i < 256; i++) bytes[i] = (uint8_t)i & 1;
    fuzz_file("in/w.bin", bytes, sizeof bytes);
    fuzz_file("in/sub/w.bin", bytes, sizeof bytes);
    fuzz_file("out.bin", (const uint8_t *)secret, sizeof secret - 1);
    fuzz_file("hard.bin", (const uint8_t *)secret, sizeof secret - 1);
    snprintf(a, sizeof a, "%s/hard.bin", folder), snprintf(b, sizeof b, "%s/in/hard.bin", folder);
    if (link(a, b) != 0) abort();
    snprintf(b, sizeof b, "%s/in/link.bin", folder);
    if (symlink("../out.bin", b) != 0) abort();
    snprintf(b, sizeof b, "%s/in/up", folder);
    if (symlink("..", b) != 0) abort();
    snprintf(b, sizeof b, "%s/in/pipe", folder);
    if (mkfifo(b, 0600) != 0) abort();
}
FUZZ_TARGET(external) {
    make_folder();
    return run_model(fuzz_file("in/model.onnx", data, size), no_secrets);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* The first byte: the kind that the port declares (2 bits), optional (1 bit). */
FUZZ_TARGET(value) {
    static const unsigned char model[] = {8, 8, 58, 0, 66, 2, 16, 13}; /* ir_version 8, an empty graph, opset 13 */
    wick_context *ctx = fuzz_context();
    wick_onnx *onnx;
    if (!size || wick_onnx_open(ctx, fuzz_file("model.onnx", model, sizeof model), &limits, &onnx) != WICK_OK) return 0;
    static const wick_value_kind kinds[] = {WICK_VALUE_TENSOR, WICK_VALUE_SEQUENCE, WICK_VALUE_STRINGS,
                                            WICK_VALUE_TENSOR};
    const wick_onnx_port port = {.name = "v", .kind = kinds[data[0] & 3], .optional = data[0] & 4, .rank = -1};
    wick_scope *scope = wick_scope_open(ctx);
    wick_onnx_value v;
    const char *path = fuzz_file("value.pb", data + 1, size - 1);
    const bool good = wick_onnx_read_value(onnx, &port, path, &v) == WICK_OK;
    if (good) {
        use(&v, 0);
        (void)!wick_onnx_value_compare(ctx, &v, &v, 1e-3, 1e-7);
    } else FUZZ_PROMISE(strstr(wick_context_error(ctx), path));
    wick_scope_close(&scope);
    wick_onnx_free(&onnx);
    return good;
}
