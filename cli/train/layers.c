#include "layers.h"

#include "../term/facts.h"
#include "../term/log.h"

#include <string.h>

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = classifier_predictions(user, in[0]);
    return WICK_OK;
}

int layers_of(classifier *c, int blame, wick_summary **out) {
    wick_spec specs[2];
    classifier_specs(c, 1, specs);
    wick_status status = classifier_prepare(c, 1);
    if (status == WICK_OK) status = wick_model_summary(c->model, record, c, 1, specs, out);
    return status == WICK_OK ? CLI_OK : log_fail(log_code(status, blame), "%s: %s", c->arch, log_why(c->ctx, status));
}

void layer_shape(const wick_spec *spec, char *text, size_t size) {
    size_t n = 0;
    text[0] = '\0';
    for (int d = 1; d < spec->rank && n < size; d++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", d > 1 ? ", " : "", (long long)spec->dims[d]);
}

/* "25.4 MFLOP" */
static const char *format_flops(char text[32], double n) {
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    int unit = 0;
    for (; n >= 999.5 && unit < 5; unit++) n /= 1000;
    snprintf(text, 32, "%.3g %sFLOP", n, units[unit]);
    return text;
}

void layers_print(const classifier *c, const wick_summary *layers) {
    const int count = wick_summary_count(layers);
    const wick_summary_totals t = wick_summary_total(layers);
    char shape[LAYER_SHAPE], in[LAYER_SHAPE], flops[32], bytes[32];
    wick_spec specs[2];
    size_t name = 5, kind = 4, output = 6; /* widths */
    for (int i = 0; i < count; i++) {
        const wick_layer_info row = wick_summary_at(layers, i);
        layer_shape(&row.output, shape, sizeof shape);
        if (strlen(row.output.name) > name) name = strlen(row.output.name);
        if (strlen(row.kind) > kind) kind = strlen(row.kind);
        if (strlen(shape) > output) output = strlen(shape);
    }
    classifier_specs(c, 1, specs);
    layer_shape(&specs[0], in, sizeof in);
    log_print("%s\n", c->arch);
    char learned[96];
    snprintf(learned, sizeof learned, c->task->learned, (long long)c->classes, TASK_PLURAL(c->task, c->classes));
    if (c->task->kind == TASK_CLASSIFY)
        printf("images of [%s], %lld classes\n\n", in, (long long)c->classes);
    else
        printf("samples of [%s], %s\n\n", in, learned);
    printf("%-*s  %-*s  %-*s  %11s  %13s  %12s\n", (int)name, "layer", (int)kind, "kind", (int)output, "output",
           "parameters", "work", "memory");
    for (int i = 0; i < count; i++) {
        const wick_layer_info row = wick_summary_at(layers, i);
        layer_shape(&row.output, shape, sizeof shape);
        log_print("%-*s  %-*s  %-*s  %11lld  %13s  %12s\n", (int)name, row.output.name, (int)kind, row.kind,
                  (int)output, shape, (long long)row.parameters, format_flops(flops, row.flops),
                  format_bytes(bytes, (uint64_t)row.bytes));
    }
    printf("%-*s  %11lld  %13s  %12s\n", (int)(name + kind + output) + 4, "total", (long long)t.parameters,
           format_flops(flops, t.flops), format_bytes(bytes, (uint64_t)t.bytes));
    printf("\nOne sample, forward; a multiply-add counts as 2 FLOP. Memory is of outputs; they share it: the peak "
           "memory of one pass is %s.\n",
           format_bytes(bytes, t.arena_bytes));
}

void layers_json(const classifier *c, const wick_summary *layers, json *j) {
    const wick_summary_totals t = wick_summary_total(layers);
    json_open(j, "network", '{');
    json_text(j, "arch", c->arch);
    json_integer(j, c->task->kind == TASK_CLASSIFY ? "classes" : "outputs", c->classes);
    json_open(j, "layers", '[');
    for (int i = 0; i < wick_summary_count(layers); i++) {
        const wick_layer_info row = wick_summary_at(layers, i);
        json_open(j, NULL, '{');
        json_text(j, "name", row.output.name);
        json_text(j, "kind", row.kind);
        json_open(j, "output", '[');
        for (int d = 1; d < row.output.rank; d++) json_integer(j, NULL, row.output.dims[d]);
        json_close(j, ']');
        json_integer(j, "parameters", row.parameters);
        json_real(j, "flops", row.flops, 17);
        json_integer(j, "bytes", row.bytes);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_integer(j, "parameters", t.parameters);
    json_real(j, "flops", t.flops, 17);
    json_real(j, "bytes", t.bytes, 17);
    json_integer(j, "arena_bytes", (int64_t)t.arena_bytes);
    json_close(j, '}');
}
