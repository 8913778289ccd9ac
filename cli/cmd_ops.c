/* wick ops: what can be recorded in a graph, and what else computes. */
#include "option_rows.h"
#include "options.h"
#include "signatures.h"
#include "term/log.h"

#include "wick/onnx.h"
#include "wick/registry.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
const option_row cmd_ops_options[] = {
    HEADING("Output"),
    OPT_JSON,
    OPT_HELP,
    HEADING("Other"),
    {"onnx", "", FLAG, "", AT(onnx_ops), 0, 0, "list ONNX's ops that Wick runs, with their opsets; OP is one of them then"},
    OPTIONS_END
};
/* clang-format on */

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

/* Of wick_NAME; NULL: an op that only others record. */
static const signature *signature_of(const char *op) {
    for (const signature *s = signatures; s->name; s++)
        if (strcmp(s->name + strlen("wick_"), op) == 0) return s;
    return NULL;
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
    const signature *s = signature_of(op.name);
    json_text(j, "c", s ? s->text : NULL);
    json_text(j, "header", s ? s->header : NULL);
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
    line("kind", "",
         op.function      ? "a function built from ops"
         : op.elementwise ? "elementwise: broadcasts, and fuses"
                          : "op");
    format_inputs(&op, text, sizeof text);
    if (!op.function) line("inputs", "", text);
    size_t n = 0;
    for (int d = 0; d < WICK_DTYPE_COUNT; d++)
        if (wick_op_takes(i, (wick_dtype)d))
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", wick_dtype_name((wick_dtype)d));
    if (n) line("dtypes", "", text);
    line("gradient", "", op.differentiable ? "yes" : "no");
    line("ONNX", "", op.onnx);
    line("PyTorch", "torch.", op.torch);
    line("FLOPs", "", op.flops);
    const signature *s = signature_of(op.name);
    if (s) line("C", "", s->text), line("header", "", s->header);
    if (op.flops[0] && !op.function) printf("\n  n: elements of the first result, m: of the first input\n");
}

static const char *name_at(int i, const void *user) {
    (void)user;
    return wick_op_at(i).name;
}

/* ---- --onnx: what the importer knows ----------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    const wick_onnx_row *x = a, *y = b;
    const int domain = strcmp(x->domain, y->domain), name = strcmp(x->name, y->name);
    return domain ? domain : name ? name : x->since - y->since;
}
static const char *row_name(int i, const void *user) { return ((const wick_onnx_row *)user)[i].name; }

static int list_onnx(const cli_options *o) {
    int n = 0, shown = 0;
    while (wick_onnx_row_at(n).name) n++;
    wick_onnx_row *rows = calloc((size_t)n + 1, sizeof *rows);
    if (!rows) return log_fail(CLI_FAILED, "out of memory");
    for (int i = 0; i < n; i++) {
        rows[i] = wick_onnx_row_at(i);
        shown += !o->model || strcmp(rows[i].name, o->model) == 0;
    }
    qsort(rows, (size_t)n, sizeof *rows, by_name);
    int code = CLI_OK;
    if (!shown) {
        const char *near = nearest_name(o->model, n, row_name, rows);
        code = log_fail(CLI_USAGE,
                        near ? "Wick runs no ONNX op '%s'; did you mean %s?"
                             : "Wick runs no ONNX op '%s'; wick ops --onnx lists those that it does",
                        o->model, near);
    } else if (o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_open(&j, "rows", '[');
        for (int i = 0; i < n; i++) {
            if (o->model && strcmp(rows[i].name, o->model) != 0) continue;
            json_open(&j, NULL, '{');
            json_text(&j, "domain", rows[i].domain);
            json_text(&j, "name", rows[i].name);
            json_integer(&j, "since", rows[i].since);
            if (rows[i].until) json_integer(&j, "until", rows[i].until);
            else json_text(&j, "until", NULL);
            json_close(&j, '}');
        }
        json_close(&j, ']');
        log_json_close(&j);
    } else {
        printf("%-28s %-22s %s\n", "ONNX op", "domain", "opsets");
        for (int i = 0; i < n; i++) {
            if (o->model && strcmp(rows[i].name, o->model) != 0) continue;
            printf("%-28s %-22s %d to ", rows[i].name, *rows[i].domain ? rows[i].domain : "ai.onnx", rows[i].since);
            if (rows[i].until) printf("%d\n", rows[i].until);
            else printf("the newest\n");
        }
    }
    free(rows);
    return code;
}

int cmd_ops(cli_options *o) {
    if (o->onnx_ops) return list_onnx(o);
    int count = wick_op_count(), one = 0;
    while (o->model && one < count && strcmp(wick_op_at(one).name, o->model) != 0) one++;
    if (one == count) {
        const char *near = nearest_name(o->model, count, name_at, NULL);
        return log_fail(CLI_USAGE,
                        near ? "there is no op '%s'; did you mean %s?" : "there is no op '%s'; wick ops lists them",
                        o->model, near);
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
    json j = log_json_open();
    json_bool(&j, "ok", true);
    if (o->model)
        write_json(&j, "op", one);
    else {
        json_open(&j, "ops", '[');
        for (int i = 0; i < count; i++) write_json(&j, NULL, i);
        json_close(&j, ']');
    }
    log_json_close(&j);
    return CLI_OK;
}
