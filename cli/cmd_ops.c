/* wick ops: what can be recorded in a graph, and what else computes. */
#include "options.h"
#include "talk.h"

#include "wick/registry.h"

#include <string.h>

static void format_inputs(const wick_op_info *op, char *text, size_t size) {
    if (op->function)
        snprintf(text, size, "-");
    else if (op->max_inputs < 0)
        snprintf(text, size, "%d or more", op->min_inputs);
    else if (op->min_inputs == op->max_inputs)
        snprintf(text, size, "%d", op->min_inputs);
    else
        snprintf(text, size, "%d to %d", op->min_inputs, op->max_inputs);
}

static void write_json(json *j, const char *key, int i) {
    wick_op_info op = wick_op_at(i);
    json_open(j, key, '{');
    json_text(j, "name", op.name);
    json_text(j, "doc", op.doc);
    json_text(j, "kind", op.function ? "function" : op.elementwise ? "elementwise" : "op");
    if (!op.function) {
        json_integer(j, "min_inputs", op.min_inputs);
        json_integer(j, "max_inputs", op.max_inputs);
        json_integer(j, "results", op.results);
        json_open(j, "dtypes", '[');
        for (int d = 0; d < WICK_DTYPE_COUNT; d++)
            if (wick_op_takes(i, (wick_dtype)d)) json_text(j, NULL, wick_dtype_name((wick_dtype)d));
        json_close(j, ']');
    }
    json_bool(j, "elementwise", op.elementwise);
    json_bool(j, "differentiable", op.differentiable);
    json_text(j, "onnx", op.onnx[0] ? op.onnx : NULL);
    json_text(j, "torch", op.torch[0] ? op.torch : NULL);
    json_text(j, "flops", op.flops[0] ? op.flops : NULL);
    json_close(j, '}');
}

static void line(const char *left, const char *prefix, const char *right) {
    if (right[0]) printf("  %-10s %s%s\n", left, prefix, right);
}
static void print_one(int i) {
    wick_op_info op = wick_op_at(i);
    char text[512] = "";
    printf("%s: %s\n\n", op.name, op.doc);
    line("kind", "", op.function ? "a function built from ops" : op.elementwise ? "elementwise: broadcasts, and fuses" : "op");
    format_inputs(&op, text, sizeof text);
    if (!op.function) line("inputs", "", text);
    size_t n = 0;
    for (int d = 0; d < WICK_DTYPE_COUNT; d++)
        if (wick_op_takes(i, (wick_dtype)d)) n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", wick_dtype_name((wick_dtype)d));
    if (n) line("dtypes", "", text);
    line("gradient", "", op.differentiable ? "yes" : "no");
    line("ONNX", "", op.onnx);
    line("PyTorch", "torch.", op.torch);
    line("FLOPs", "", op.flops);
    if (op.flops[0] && !op.function) printf("\n  n: elements of the first result, m: of the first input\n");
}

static const char *name_at(int i, const void *user) {
    (void)user;
    return wick_op_at(i).name;
}

int cmd_ops(cli_options *o) {
    int count = wick_op_count(), one = 0;
    while (o->model && one < count && strcmp(wick_op_at(one).name, o->model) != 0) one++;
    if (one == count) {
        const char *near = nearest_name(o->model, count, name_at, NULL);
        return talk_fail(CLI_USAGE, near ? "there is no op '%s'; did you mean %s?" : "there is no op '%s'; wick ops lists them", o->model, near);
    }
    if (!o->json && o->model) {
        print_one(one);
        return CLI_OK;
    }
    if (!o->json) {
        printf("%-20s %-10s %-8s %s\n", "op", "inputs", "gradient", "what it is");
        for (int i = 0; i < count; i++) {
            wick_op_info op = wick_op_at(i);
            char inputs[32];
            format_inputs(&op, inputs, sizeof inputs);
            printf("%-20s %-10s %-8s %s\n", op.name, inputs, op.differentiable ? "yes" : "no", op.doc);
        }
        return CLI_OK;
    }
    json j = talk_json_open();
    json_bool(&j, "ok", true);
    if (o->model)
        write_json(&j, "op", one);
    else {
        json_open(&j, "ops", '[');
        for (int i = 0; i < count; i++) write_json(&j, NULL, i);
        json_close(&j, ']');
    }
    talk_json_close(&j);
    return CLI_OK;
}
