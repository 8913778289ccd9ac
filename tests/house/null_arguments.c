/* null_arguments.c: every function of the public headers is called with each of its pointers NULL in turn, beside
 * otherwise valid arguments. The answer is an error with a text, a poisoned tensor, or nothing done, as its header
 * says; never a crash.
 *
 *   null_arguments [NAME]      NAME: wick_item, say
 *
 * The functions and the types of their parameters are read from the headers, so a new one is called here too; what has
 * a type of which there is no value below fails. A call goes by the platform's convention: whole numbers and pointers
 * in one row, doubles in another, both of which x86-64 and AArch64 keep apart; each call is in a process of its own. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "wick/wick.h"

enum { MOST_ARGUMENTS = 16, MOST_SECONDS = 20, SCRATCH = 1 << 16 };

/* ---- what there is of each type ---------------------------------------------------------------------------------- */

static wick_context *ctx;
static char scratch[MOST_ARGUMENTS][SCRATCH]
    __attribute__((aligned(64))); /* zeros: options of defaults, and room for what is written */
static float numbers[4096];
static char folder[64];

typedef struct value {
    const char *type; /* without const */
    void *at;
} value;
static value values[64];
static int n_values;
static void have(const char *type, void *at) { values[n_values++] = (value){type, at}; }

static wick_status linear(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *state) {
    (void)c;
    out[0] = wick_linear(in[0], state, NULL);
    return WICK_OK;
}
static wick_status hidden(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c;
    out[0] = wick_nn_linear(user, "out", wick_relu(wick_nn_linear(user, "in", in[0], 4)), 2);
    return WICK_OK;
}
static wick_status record(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = wick_add(in[0], in[0]);
    return WICK_OK;
}
/* a body of any number of inputs, also of none */
static wick_status ones(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)in, (void)user;
    out[0] = wick_ones(c, WICK_F32, WICK_DIMS(2, 3));
    return WICK_OK;
}
static wick_tensor *scalar_of(wick_context *c, wick_tensor *const *in, void *user) {
    return (void)c, (void)user, wick_sum(in[0], WICK_ALL_AXES, false);
}
static uint64_t nothing(void) { return 0; } /* of every other callback */
static wick_status shape_of(void *user, const void *attr, int n_in, const wick_spec *in, int n_out, wick_spec *out,
                            char *error, size_t size) {
    (void)user, (void)attr, (void)n_in, (void)n_out, (void)error, (void)size;
    out[0] = in[0];
    return WICK_OK;
}
static int64_t kernel_of(const wick_custom_work *work, int64_t begin, int64_t end) {
    return (void)work, (void)begin, (void)end, -1;
}

static const char *path_of(const char *name) {
    static char paths[16][128];
    static int n;
    snprintf(paths[n], sizeof paths[n], "%s/%s", folder, name);
    return paths[n++];
}
static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    if (f) fputs(text, f), fclose(f);
}

/* A picture of 1 x 1, and two samples of 8,000 a second. */
static const uint8_t bmp[58] = {'B', 'M', 58, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0,
                                1,   0,   0,  0, 1, 0, 0, 0, 1, 0, 24, 0, 0, 0, 0,  0, 4};
static const uint8_t wav[48] = {'R', 'I', 'F', 'F', 40, 0, 0,   0,   'W', 'A',  'V',  'E', 'f', 'm',  't',
                                ' ', 16,  0,   0,   0,  1, 0,   1,   0,   0x40, 0x1f, 0,   0,   0x80, 0x3e,
                                0,   0,   2,   0,   16, 0, 'd', 'a', 't', 'a',  4,    0,   0,   0};

#define MAKE(call) CHECK_MSG((call) == WICK_OK, "%s: %s", #call, wick_context_error(ctx))
static void make_values(void) {
    static wick_spec spec = {.dtype = WICK_F32, .rank = 2, .dims = {2, 3}};
    static wick_tensor *xs[4];
    static wick_model *model;
    static wick_plan *plan;
    static wick_workspace *workspace;
    static wick_shared_arena *arena;
    static wick_onnx *onnx;
    static wick_optimizer *optimizer;
    static wick_dataset *dataset;
    static wick_loader *loader;
    static wick_checkpoint *checkpoint;
    static wick_weights *weights;
    static wick_csv *csv;
    static wick_files *files;
    static wick_records *records;
    static wick_records_writer *writer, *kept;
    static wick_comparison *comparison;
    static wick_summary *summary;
    static wick_transform *transform;
    static wick_kernel *kernel;
    static wick_dynamic *dynamic;
    static wick_quantizer *quantizer;
    static wick_pruner *pruner;
    static wick_layer_errors *errors;
    static wick_session *session;
    static wick_runner *runner;
    static wick_shapes *shapes;
    static wick_profile *profile;
    static wick_monitor *monitor;
    static wick_events *events;
    static wick_remote *remote;
    static wick_group *group;
    static wick_group_host *host;
    static wick_scope *scope;
    static const wick_custom_op *custom;
    static const uint8_t pixels[8 * 4 * 4];
    static int64_t ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static wick_image *image;
    static wick_audio *audio;
    MAKE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx));
    scope = wick_scope_open(ctx);
    xs[0] = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3));
    for (int i = 1; i < 4; i++) xs[i] = xs[0];
    MAKE(wick_eval(ctx, 1, xs, NULL));
    MAKE(wick_model_new(ctx, &model));
    wick_tensor *state = wick_model_state(model, "w", WICK_ROLE_PARAM, WICK_F32, 2, spec.dims, wick_init_constant(1));
    CHECK(state != NULL);
    MAKE(wick_compile(ctx, record, NULL, 1, &spec, 1, NULL, &plan));
    MAKE(wick_workspace_new(plan, &workspace));
    MAKE(wick_shared_arena_new(ctx, &arena));
    MAKE(wick_onnx_save(model, record, NULL, 1, &spec, 1, path_of("m.onnx"), NULL));
    MAKE(wick_onnx_open(ctx, path_of("m.onnx"), NULL, &onnx));
    MAKE(wick_session_open(ctx, path_of("m.onnx"), NULL, &session));
    MAKE(wick_optimizer_new(model, NULL, &optimizer));
    MAKE(wick_save(model, path_of("c.safetensors"), NULL));
    MAKE(wick_checkpoint_open(ctx, path_of("c.safetensors"), &checkpoint));
    MAKE(wick_weights_open(ctx, path_of("c.safetensors"), &weights));
    MAKE(wick_compare_files(ctx, path_of("c.safetensors"), path_of("c.safetensors"), NULL, &comparison));
    const wick_spec fields[2] = {{.name = "x", .dtype = WICK_U8, .rank = 2, .dims = {4, 4}},
                                 {.name = "label", .dtype = WICK_I64}};
    static const int64_t labels[8];
    MAKE(wick_dataset_of_arrays(ctx, 8, 2, fields, (const void *const[]){pixels, labels}, 1, 2, &dataset));
    MAKE(wick_loader_new(ctx, dataset, &(wick_loader_options){.batch = 2}, &loader));
    write_file(path_of("t.csv"), "a,b\n1,2\n3,4\n");
    MAKE(wick_csv_read(ctx, path_of("t.csv"), NULL, &csv));
    MAKE(wick_records_create(ctx, path_of("r.wrec"), NULL, &writer));
    MAKE(wick_records_add(writer, "x", 1, 0));
    MAKE(wick_records_commit(&writer));
    MAKE(wick_records_open(ctx, path_of("r.wrec"), NULL, &records));
    MAKE(wick_files_open(ctx, path_of("r.wrec"), NULL, &files));
    MAKE(wick_records_create(ctx, path_of("w.wrec"), NULL, &kept));
    MAKE(wick_model_summary(model, record, NULL, 1, &spec, &summary));
    MAKE(wick_transform_new(ctx, "flip", NULL, &fields[0], &transform));
    MAKE(wick_kernel_from_expr(ctx, "x + 1", &kernel));
    MAKE(wick_dynamic_new(ctx, record, NULL, 1, &(wick_dim){.name = "n", .min = 1, .max = 8}, 1,
                          &(wick_dynamic_input){.name = "x", .dtype = WICK_F32, .rank = 1, .dims = {"n"}}, 1, NULL,
                          &dynamic));
    MAKE(wick_dynamic_find_shapes(dynamic, &shapes));
    MAKE(wick_quantizer_new(ctx, model, linear, state, 1, &spec, 1, NULL, &quantizer));
    MAKE(wick_pruner_new(ctx, model, hidden, model, 1, &spec, 1, &pruner));
    MAKE(wick_layer_errors_new(ctx, model, (const wick_function[]){linear, linear}, (void *[]){state, state}, 1, &spec,
                               &errors));
    MAKE(wick_runner_new(dynamic, &runner));
    MAKE(wick_custom_register(ctx,
                              &(wick_custom_def){.name = "nothing",
                                                 .version = 1,
                                                 .min_inputs = 1,
                                                 .max_inputs = 1,
                                                 .results = 1,
                                                 .shape = shape_of,
                                                 .kernel = kernel_of},
                              &custom));
    MAKE(wick_image_decode(ctx, bmp, sizeof bmp, "p.bmp", 0, &image));
    MAKE(wick_audio_decode(ctx, wav, sizeof wav, "a.wav", 0, &audio));
    MAKE(wick_profile_start(ctx, NULL, &profile));
    MAKE(wick_profile_stop(profile));
    MAKE(wick_monitor_new(ctx, NULL, &monitor));
    MAKE(wick_events_open(ctx, path_of("events"), 0, &events));
    /* Where there is no libcurl its calls are made with nothing. */
    if (wick_remote_open(ctx, &(wick_remote_options){.folder = path_of("remote")}, &remote) != WICK_OK) remote = NULL;
    MAKE(wick_group_open(ctx, NULL, &group));
    MAKE(wick_group_host_new(ctx, 2, &host));
    have("wick_context", ctx), have("wick_tensor", xs[0]), have("wick_tensor *", xs), have("wick_model", model),
        have("wick_plan", plan), have("wick_workspace", workspace), have("wick_shared_arena", arena);
    have("wick_onnx", onnx), have("wick_optimizer", optimizer), have("wick_dataset", dataset),
        have("wick_loader", loader), have("wick_checkpoint", checkpoint);
    have("wick_weights", weights), have("wick_csv", csv), have("wick_files", files), have("wick_records", records),
        have("wick_records_writer", kept), have("wick_comparison", comparison);
    have("wick_summary", summary), have("wick_transform", transform), have("wick_kernel", kernel),
        have("wick_spec", &spec), have("float", numbers);
    have("wick_dynamic", dynamic), have("wick_runner", runner), have("wick_shapes", shapes),
        have("wick_custom_op", (void *)(uintptr_t)custom), have("wick_scope", scope), have("int64_t", ones);
    have("wick_image", image), have("wick_audio", audio);
    have("wick_quantizer", quantizer), have("wick_pruner", pruner), have("wick_layer_errors", errors),
        have("wick_session", session);
    have("wick_profile", profile), have("wick_monitor", monitor), have("wick_events", events);
    have("wick_remote", remote);
    have("wick_group", group), have("wick_group_host", host);
}

/* ---- declarations ------------------------------------------------------------------------------------------------ */

typedef struct parameter {
    char text[160], type[80]; /* type: without const and stars */
    int stars;
    bool is_const, callback, real;
} parameter;
typedef struct declaration {
    char name[80], returns[80];
    bool returns_pointer;
    int n;
    parameter at[MOST_ARGUMENTS];
} declaration;

/* Structs that functions return, or are given, by value. What is longer than 16 bytes is returned through memory. */
#define STRUCTS(S)                                                                                                     \
    S(wick_context_stats)                                                                                              \
    S(wick_difference) S(wick_dim) S(wick_dynamic_info) S(wick_init) S(wick_isa) S(wick_layer_info) S(wick_limits)     \
        S(wick_class_score) S(wick_mix) S(wick_named) S(wick_onnx_info) S(wick_onnx_op) S(wick_onnx_port)              \
        S(wick_quantizer_layer) S(wick_pruner_layer) S(wick_layer_error) \
            S(wick_onnx_row) S(wick_op_info) S(wick_pass_info) S(wick_plan_buffer) S(wick_plan_info)                   \
                S(wick_plan_kernel) S(wick_shape_row) S(wick_spec) S(wick_summary_totals) S(wick_tuning)               \
                S(wick_tuning_field)                                                                                  \
                    S(wick_loader_place) S(wick_pictures) S(wick_profile_info) S(wick_profile_row)       \
                    S(wick_memory_snapshot_info)                                                                       \
                    S(wick_memory_use) S(wick_memory_row)
#define SIZE_OF(name) {#name, sizeof(name)},
static const struct {
    const char *name;
    size_t size;
} structs[] = {STRUCTS(SIZE_OF)};
static size_t struct_size(const char *type) {
    for (size_t i = 0; i < sizeof structs / sizeof *structs; i++)
        if (!strcmp(structs[i].name, type)) return structs[i].size;
    return 0;
}
/* Types that are passed as whole numbers: those of C, and enums. */
static const char *const whole[] = {"int",
                                    "unsigned",
                                    "size_t",
                                    "int64_t",
                                    "uint64_t",
                                    "int32_t",
                                    "uint32_t",
                                    "uint8_t",
                                    "bool",
                                    "void",
                                    "char",
                                    "wick_status",
                                    "wick_dtype",
                                    "wick_role",
                                    "wick_bag",
                                    "wick_bottleneck",
                                    "wick_compression",
                                    "wick_fft_norm",
                                    "wick_mel_scale",
                                    "wick_pad_mode",
                                    "wick_profile_view",
                                    "wick_put",
                                    "wick_quantile_mode",
                                    "wick_reduction",
                                    "wick_resize_mode",
                                    "wick_score_mean",
                                    "wick_weights_use",
                                    "wick_window_kind"};
static const char *const callbacks[] = {"wick_function", "wick_output_fn", "wick_scalar_function", "wick_layer_watch",
                                        "wick_init_rule", "wick_layer_fn", "wick_gradient_rule", "wick_tap_fn"};
#define IS_IN(list, text) is_in(list, sizeof list / sizeof *list, text)
static bool is_in(const char *const *list, size_t n, const char *text) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], text)) return true;
    return false;
}

/* Comments and lines of the preprocessor become blanks. */
static void strip(char *t) {
    for (bool line = true; *t; t++) {
        if (line && *t == '#') {
            for (bool more = true; more && *t; t++) {
                more = *t != '\n' || t[-1] == '\\';
                *t = ' ';
            }
            t--;
        } else if (t[0] == '/' && t[1] == '*') {
            char *end = strstr(t + 2, "*/");
            memset(t, ' ', end ? (size_t)(end + 2 - t) : strlen(t));
        } else if (*t == '\n') {
            *t = ' ';
            line = true;
            continue;
        }
        if (*t != ' ') line = false;
    }
}

static void read_type(const char *from, size_t n, parameter *p) {
    memset(p, 0, sizeof *p);
    while (n && *from == ' ') from++, n--;
    snprintf(p->text, sizeof p->text, "%.*s", (int)n, from);
    p->callback = strstr(p->text, "(*") != NULL;
    p->is_const = strncmp(p->text, "const ", 6) == 0 || strstr(p->text, "*const ") != NULL;
    for (const char *c = p->text; *c && *c != '('; c++) p->stars += *c == '*' || *c == '[';
    const char *t = p->text;
    for (bool again = true; again;) {
        again = false;
        static const char *const skipped[] = {"const ", "struct ", "WICK_MUST_CHECK "};
        for (size_t i = 0; i < 3; i++)
            if (strncmp(t, skipped[i], strlen(skipped[i])) == 0) t += strlen(skipped[i]), again = true;
    }
    snprintf(p->type, sizeof p->type, "%.*s", (int)strspn(t, "abcdefghijklmnopqrstuvwxyz0123456789_"), t);
    if (IS_IN(callbacks, p->type)) p->callback = true;
    p->real = !p->stars && (!strcmp(p->type, "double") || !strcmp(p->type, "float"));
}

/* "WICK_API type name(a, b)"; false: not a function. */
static bool read_declaration(char *at, declaration *d) {
    char *open = strchr(at, '('), *end = open ? strchr(open, ';') : NULL, *name = open;
    parameter returns;
    memset(d, 0, sizeof *d);
    if (!end) return false;
    while (name > at &&
           (name[-1] == '_' || (name[-1] >= 'a' && name[-1] <= 'z') || (name[-1] >= '0' && name[-1] <= '9')))
        name--;
    snprintf(d->name, sizeof d->name, "%.*s", (int)(open - name), name);
    read_type(at, (size_t)(name - at), &returns);
    snprintf(d->returns, sizeof d->returns, "%s", returns.type);
    d->returns_pointer = returns.stars > 0;
    int depth = 0;
    char *from = open + 1;
    for (char *c = open + 1; c < end; c++) {
        if (*c == '(') depth++;
        if ((*c == ',' || *c == ')') && depth == 0) {
            if (d->n < MOST_ARGUMENTS && c > from) read_type(from, (size_t)(c - from), &d->at[d->n++]);
            from = c + 1;
            if (*c == ')') break;
        }
        if (*c == ')') depth--;
    }
    if (d->n && (!strcmp(d->at[d->n - 1].text, "...") || !strcmp(d->at[d->n - 1].text, "void"))) d->n--;
    return true;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* 0: there is no value of that type. */
static bool value_of(const declaration *d, int k, uint64_t *out, double *real) {
    const parameter *p = &d->at[k];
    static void *slots[MOST_ARGUMENTS];
    *out = 0, *real = 1;
    if (p->real) {
        const float one = 1;
        if (!strcmp(p->type, "float")) memcpy(real, &one, sizeof one);
        return true;
    }
    if (p->callback) {
        void (*fn)(void) = !strcmp(p->type, "wick_function")          ? (void (*)(void))ones
                           : !strcmp(p->type, "wick_scalar_function") ? (void (*)(void))scalar_of
                                                                      : (void (*)(void))nothing;
        memcpy(out, &fn, sizeof fn);
        return true;
    }
    if (!p->stars) {
        const char *last = strrchr(p->text, ' ');
        if (struct_size(p->type) || !IS_IN(whole, p->type)) return false;
        *out = last && (!strcmp(last, " n") || !strncmp(last, " n_", 3) || !strcmp(last, " classes") ||
                        !strcmp(last, " times") || !strcmp(last, " steps") || !strcmp(last, " count") ||
                        !strcmp(last, " n_a") || !strcmp(last, " n_b"))
                   ? 1
               : last && !strcmp(last, " rank")                                                        ? 2
               : last && (!strcmp(last, " size") || !strcmp(last, " room") || !strcmp(last, " bytes")) ? 24
                                                                                                       : 0;
        return true;
    }
    static char text[] = "x";
    void *at = scratch[k];
    if (!strcmp(p->type, "char") && p->stars == 1 && p->is_const) at = text;
    for (int i = 0; i < n_values; i++) {
        const size_t length = strlen(values[i].type);
        if (p->stars == 1 && !strcmp(values[i].type, p->type)) at = values[i].at;
        if (p->stars == 2 && p->is_const && !strncmp(values[i].type, p->type, length - 2) &&
            values[i].type[length - 1] == '*' && length - 2 == strlen(p->type))
            at = values[i].at;
        const bool ends = strstr(d->name, "_free") || strstr(d->name, "_close") || strstr(d->name, "_commit") ||
                          strstr(d->name, "_abort");
        if (p->stars == 2 && !p->is_const && ends && !strcmp(values[i].type, p->type))
            slots[k] = values[i].at, at = &slots[k];
    }
    *out = (uint64_t)(uintptr_t)at;
    return true;
}

typedef struct big {
    uint64_t words[256];
} big;
#define ARGUMENTS(i, r)                                                                                                \
    i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7], i[8], i[9], i[10], i[11], i[12], i[13], r[0], r[1], r[2], r[3],    \
        r[4], r[5], r[6], r[7]
#define U uint64_t
typedef U scalar_fn(U, U, U, U, U, U, U, U, U, U, U, U, U, U, double, double, double, double, double, double, double,
                    double);
typedef big big_fn(U, U, U, U, U, U, U, U, U, U, U, U, U, U, double, double, double, double, double, double, double,
                   double);

enum { FINE, SILENT = 2 };
/* In a child: the call, with argument `missing` NULL. */
static int call(const declaration *d, void *function, int missing) {
    U row[MOST_ARGUMENTS + 8] = {0}, number;
    double reals[MOST_ARGUMENTS + 8] = {0}, real;
    int n = 0, n_real = 0;
    for (int k = 0; k < d->n; k++) {
        value_of(d, k, &number, &real);
        if (d->at[k].real) reals[n_real++] = real;
        else row[n++] = k == missing ? 0 : number;
    }
    wick_context_clear_error(ctx);
    if (!d->returns_pointer && struct_size(d->returns) > 16) {
        big_fn *fn;
        memcpy(&fn, &function, sizeof fn);
        (void)fn(ARGUMENTS(row, reals));
        return FINE;
    }
    scalar_fn *fn;
    memcpy(&fn, &function, sizeof fn);
    const U result = fn(ARGUMENTS(row, reals));
    const bool of_context = !strcmp(d->at[0].type, "wick_context") || !strcmp(d->at[0].type, "wick_tensor") ||
                            !strcmp(d->at[0].type, "wick_model");
    if (!d->returns_pointer && !strcmp(d->returns, "wick_status") && (int)result && missing > 0 && of_context &&
        strcmp(d->name, "wick_tensor_error") && strcmp(d->name, "wick_context_status"))
        return *wick_context_error(ctx) ? FINE : SILENT;
    if (d->returns_pointer && !strcmp(d->returns, "wick_tensor") && result) {
        const char *text = "x";
        return wick_tensor_error((wick_tensor *)(uintptr_t)result, &text) && !(text && *text) ? SILENT : FINE;
    }
    return FINE;
}

/* What a function is of has to be there: its context, or the object that comes first; all but tensors, which may be
 * NULL everywhere, and what is freed. */
static bool is_object(const declaration *d, int k) {
    const parameter *p = &d->at[k];
    if (p->stars != 1 || p->callback || !strcmp(p->type, "wick_tensor")) return false;
    if (!strcmp(p->type, "wick_context")) return true;
    static const char *const objects[] = {
        "wick_profile",        "wick_monitor",    "wick_events",
       
        "wick_model",          "wick_plan",       "wick_workspace", "wick_onnx",      "wick_optimizer", "wick_dataset",
        "wick_loader",         "wick_checkpoint", "wick_weights",   "wick_csv",       "wick_files",     "wick_records",
        "wick_records_writer", "wick_comparison", "wick_summary",   "wick_transform", "wick_kernel",    "wick_dynamic",
        "wick_runner",         "wick_shapes",     "wick_image",     "wick_audio",     "wick_custom_op",
        "wick_quantizer",      "wick_session",    "wick_pruner",    "wick_remote",
        "wick_layer_errors",
        "wick_group",          "wick_group_host"};
    return k == 0 && IS_IN(objects, p->type);
}

static const char *only;
static long calls;
static void check_function(const declaration *d) {
    void *function = dlsym(RTLD_DEFAULT, d->name);
    CHECK_MSG(function, "%s is declared and not exported", d->name);
    if (!function || (only && strcmp(only, d->name) != 0)) return;
    U number;
    double real;
    for (int k = 0; k < d->n; k++) {
        const bool known = value_of(d, k, &number, &real);
        if (!known && struct_size(d->at[k].type)) return; /* a struct by value: called below */
        CHECK_MSG(known, "%s: there is no value for '%s'", d->name, d->at[k].text);
        if (!known) return;
    }
    CHECK_MSG(d->returns_pointer || struct_size(d->returns) || IS_IN(whole, d->returns) ||
                  !strcmp(d->returns, "double"),
              "%s returns %s, of which nothing is known", d->name, d->returns);
    for (int k = 0; k < d->n; k++) {
        if ((!d->at[k].stars && !d->at[k].callback) || is_object(d, k)) continue;
        fflush(stdout);
        const pid_t child = fork();
        if (!child) {
            alarm(MOST_SECONDS);
            _exit(call(d, function, k));
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child);
        const int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        if (!WIFEXITED(status) || WEXITSTATUS(status))
            test_fails++, printf("  %s with NULL for '%s': %s\n", d->name, d->at[k].text,
                                 signal_number                   ? strsignal(signal_number)
                                 : WEXITSTATUS(status) == SILENT ? "an error without a text"
                                                                 : "ended");
        calls++;
    }
}

static int check_header(const char *path) {
    static char text[1 << 18];
    FILE *file = fopen(path, "rb");
    int n = 0;
    CHECK_MSG(file, "%s", path);
    if (!file) return 0;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    strip(text);
    for (char *at = text; (at = strstr(at, "WICK_API ")) != NULL; n++) {
        declaration d;
        at += strlen("WICK_API ");
        CHECK(read_declaration(at, &d));
        check_function(&d);
    }
    return n;
}

TEST(a_pointer_that_is_null_is_an_error_or_nothing) {
    static const char *const headers[] = {WICK_NULL_HEADERS};
    strcpy(folder, "/tmp/wick-null-XXXXXX"); /* mkdtemp(3) writes a name of its own over the last six letters */
    REQUIRE(mkdtemp(folder));
    make_values();
    REQUIRE(!test_fails);
    REQUIRE(chdir(folder) == 0);
    int n = 0;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) n += check_header(headers[i]);
    CHECK(n > 700);
    test_count("calls with NULL for one of their pointers", calls);
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(chdir("/") == 0 && system(command) == 0);
}

/* Those that are given a struct by value. */
TEST(names_and_extents_of_states_are_needed) {
    wick_context *c;
    wick_model *m;
    REQUIRE(wick_context_new(NULL, &c) == WICK_OK && wick_model_new(c, &m) == WICK_OK);
    CHECK(
        wick_tensor_error(wick_model_state(m, NULL, WICK_ROLE_PARAM, WICK_F32, 0, NULL, wick_init_constant(0)), NULL));
    CHECK(wick_tensor_error(wick_model_state(m, "x", WICK_ROLE_PARAM, WICK_F32, 1, NULL, wick_init_constant(0)), NULL));
    (void)wick_model_state(NULL, "x", WICK_ROLE_PARAM, WICK_F32, 0, NULL, wick_init_constant(0));
    CHECK(wick_model_reinit(NULL, "x", wick_init_constant(0)));
    (void)!wick_model_reinit(m, NULL, wick_init_constant(0));
    wick_model_free(&m);
    wick_context_free(&c);
}

int main(int argc, char **argv) {
    if (argc > 1) only = argv[1];
    return test_main(1, argv);
}
