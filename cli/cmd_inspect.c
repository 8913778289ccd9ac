/* wick inspect and wick verify: what a model file is, and whether it is sound. */
#include "options.h"
#include "talk.h"

#include "wick/onnx.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 256 };

/* A plan for the declared inputs, unknown extents 1; NULL: none can be made, with the reason in the context. */
static wick_plan *plan_of(wick_context *ctx, wick_onnx *onnx) {
    const int n = wick_onnx_inputs(onnx);
    wick_spec *specs = calloc((size_t)n + 1, sizeof *specs);
    wick_plan *plan = NULL;
    bool good = specs && n <= MOST_INPUTS;
    for (int i = 0; i < n && good; i++) {
        const wick_onnx_port p = wick_onnx_input(onnx, i);
        specs[i] = (wick_spec){p.name, WICK_F32, p.rank, {0}};
        good = p.kind == WICK_VALUE_TENSOR && p.rank >= 0 && wick_onnx_elem_dtype(p.elem, &specs[i].dtype);
        for (int d = 0; d < p.rank && good; d++) specs[i].dims[d] = p.dims[d] >= 0 ? p.dims[d] : 1;
    }
    if (good && wick_onnx_compile(onnx, specs, NULL, &plan) != WICK_OK) plan = NULL;
    if (!good) (void)wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "its inputs are not all tensors of known rank");
    free(specs);
    return plan;
}

static void dims_text(const wick_onnx_port *p, char *text, size_t size) {
    size_t n = (size_t)snprintf(text, size, "%s", p->rank < 0 ? "of any shape" : "[");
    for (int i = 0; i < p->rank && n < size; i++) {
        if (p->dims[i] >= 0) n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? ", " : "", (long long)p->dims[i]);
        else n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "", p->dim_names[i] ? p->dim_names[i] : "?");
    }
    if (p->rank >= 0 && n < size) snprintf(text + n, size - n, "]");
}

static void print_port(const char *what, const wick_onnx_port *p) {
    static const char *const kinds[] = {"", "", "", "sequence of ", "map of "};
    char text[256];
    dims_text(p, text, sizeof text);
    talk_print("%-11s %s  %s%s%s %s\n", what, p->name, p->optional ? "optional " : "", kinds[p->kind], wick_onnx_elem_name(p->elem), text);
}

static void json_port(json *j, const wick_onnx_port *p) {
    json_open(j, NULL, '{');
    json_text(j, "name", p->name);
    json_text(j, "type", wick_onnx_elem_name(p->elem));
    if (p->rank >= 0) {
        json_open(j, "dims", '[');
        for (int i = 0; i < p->rank; i++) {
            if (p->dims[i] >= 0) json_integer(j, NULL, p->dims[i]);
            else json_text(j, NULL, p->dim_names[i]);
        }
        json_close(j, ']');
    }
    json_close(j, '}');
}

static void print_text(wick_context *ctx, wick_onnx *onnx, const wick_plan *plan) {
    const wick_onnx_info info = wick_onnx_get_info(onnx);
    talk_print("%-11s %s%s%s, IR %lld, opset %lld\n", "made by", *info.producer ? info.producer : "?", *info.producer_version ? " " : "",
               info.producer_version, (long long)info.ir_version, (long long)info.opset);
    for (int i = 0; i < wick_onnx_inputs(onnx); i++) {
        const wick_onnx_port p = wick_onnx_input(onnx, i);
        print_port("input", &p);
    }
    for (int i = 0; i < wick_onnx_outputs(onnx); i++) {
        const wick_onnx_port p = wick_onnx_output(onnx, i);
        print_port("output", &p);
    }
    printf("%-11s %lld\n", "parameters", (long long)info.parameters);
    printf("%-11s %lld", "nodes", (long long)info.nodes);
    if (info.functions) printf(", in functions too (%lld)", (long long)info.functions);
    for (int i = 0; i < info.ops; i++) {
        const wick_onnx_op op = wick_onnx_op_at(onnx, i);
        talk_print("%s%lld %s%s%s%s", i ? ", " : ": ", (long long)op.count, op.domain, *op.domain ? "::" : "", op.name,
                   op.supported ? "" : " (Wick has no such op)");
    }
    printf("\n");
    if (plan) {
        const wick_plan_info p = wick_plan_get_info(plan);
        printf("%-11s %d kernels, %.4g GFLOP, %.4g MB moved; memory besides weights and inputs: %.4g MB (unknown extents taken as 1)\n", "plan",
               p.kernels, p.flops * 1e-9, p.bytes * 1e-6, (double)(p.arena_bytes + p.scratch_bytes) * 1e-6);
    } else talk_print("%-11s none: %s\n", "plan", wick_context_error(ctx));
    if (*wick_onnx_unsupported(onnx)) talk_print("%-11s %s\n", "lacks", wick_onnx_unsupported(onnx));
}

static void print_json(wick_context *ctx, wick_onnx *onnx, const wick_plan *plan) {
    const wick_onnx_info info = wick_onnx_get_info(onnx);
    json j = talk_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "producer", info.producer);
    json_text(&j, "producer_version", info.producer_version);
    json_integer(&j, "ir_version", info.ir_version);
    json_integer(&j, "opset", info.opset);
    json_open(&j, "inputs", '[');
    for (int i = 0; i < wick_onnx_inputs(onnx); i++) {
        const wick_onnx_port p = wick_onnx_input(onnx, i);
        json_port(&j, &p);
    }
    json_close(&j, ']');
    json_open(&j, "outputs", '[');
    for (int i = 0; i < wick_onnx_outputs(onnx); i++) {
        const wick_onnx_port p = wick_onnx_output(onnx, i);
        json_port(&j, &p);
    }
    json_close(&j, ']');
    json_integer(&j, "parameters", info.parameters);
    json_integer(&j, "nodes", info.nodes);
    json_open(&j, "ops", '[');
    for (int i = 0; i < info.ops; i++) {
        const wick_onnx_op op = wick_onnx_op_at(onnx, i);
        json_open(&j, NULL, '{');
        json_text(&j, "domain", op.domain);
        json_text(&j, "name", op.name);
        json_integer(&j, "count", op.count);
        json_bool(&j, "supported", op.supported);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_text(&j, "unsupported", wick_onnx_unsupported(onnx));
    if (plan) {
        const wick_plan_info p = wick_plan_get_info(plan);
        json_open(&j, "plan", '{');
        json_integer(&j, "kernels", p.kernels);
        json_real(&j, "flops", p.flops, 6);
        json_real(&j, "bytes", p.bytes, 6);
        json_integer(&j, "memory_bytes", (int64_t)(p.arena_bytes + p.scratch_bytes));
        json_close(&j, '}');
    } else {
        json_text(&j, "plan", NULL);
        json_text(&j, "why_no_plan", wick_context_error(ctx));
    }
    talk_json_close(&j);
}

int cmd_inspect(cli_options *o) {
    wick_context *ctx;
    wick_onnx *onnx;
    wick_status status = wick_context_new(&ctx, &(wick_context_options){.threads = (int)o->threads});
    if (status != WICK_OK) return talk_fail(CLI_FAILED, "cannot start: %s", wick_status_name(status));
    int code = CLI_OK;
    status = wick_onnx_open(ctx, o->model, NULL, &onnx);
    if (status != WICK_OK) code = talk_fail(talk_code(status, CLI_BAD_FILE), "%s", talk_why(ctx, status));
    else {
        wick_plan *plan = plan_of(ctx, onnx);
        (o->json ? print_json : print_text)(ctx, onnx, plan);
        wick_plan_free(&plan);
    }
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
    return code;
}

/* Sound: structure, names and weights are read, within the limits. What Wick lacks is no fault of the file. */
int cmd_verify(cli_options *o) {
    wick_context *ctx;
    wick_onnx *onnx;
    const wick_onnx_limits limits = {.memory = (size_t)o->max_memory << 20, .tensor_bytes = (size_t)o->max_tensor << 20};
    wick_status status = wick_context_new(&ctx, &(wick_context_options){.threads = 1});
    if (status != WICK_OK) return talk_fail(CLI_FAILED, "cannot start: %s", wick_status_name(status));
    int code = CLI_OK;
    status = wick_onnx_open(ctx, o->model, &limits, &onnx);
    if (status != WICK_OK) code = talk_fail(talk_code(status, CLI_BAD_FILE), "%s", talk_why(ctx, status));
    else if (o->json) {
        json j = talk_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "unsupported", wick_onnx_unsupported(onnx));
        talk_json_close(&j);
    } else {
        talk_print("%s is sound", o->model);
        if (*wick_onnx_unsupported(onnx)) talk_print("; Wick lacks %s", wick_onnx_unsupported(onnx));
        printf("\n");
    }
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
    return code;
}
