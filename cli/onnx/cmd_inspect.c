/* wick inspect: what a file is. */
#include "../budget.h"
#include "inspect.h"
#include "../file_types.h"
#include "../term/log.h"
#include "../tuned.h"

int cmd_inspect(cli_options *o) {
    const file_kind *kind = kind_of(o->model);
    if (!kind || !(kind->as & (AS_MODEL | AS_TENSORS)))
        return kind_refuse(o->model, kind, "a model or a file of tensors");
    const bool graph = kind->as & AS_MODEL;
    if (*o->svg && !graph)
        return log_fail(CLI_USAGE, "--svg draws the graphs of ONNX models, and %s is %s", o->model, kind->name);
    if ((o->dims.n || o->inputs.n) && !graph)
        return log_fail(CLI_USAGE, "--%s is for the inputs of an ONNX model, and %s is %s", o->dims.n ? "dim" : "input",
                        o->model, kind->name);
    budget_watch(o);
    wick_context *ctx;
    const wick_status status = wick_context_new(
        &(wick_context_options){.tuning = tuned(), .threads = (int)o->threads, .max_memory = budget_memory(o)}, &ctx);
    if (status != WICK_OK) return log_fail(CLI_FAILED, "cannot start: %s", wick_status_name(status));
    const int code = graph ? inspect_onnx(o, ctx) : inspect_tensors(o, ctx, kind);
    wick_context_free(&ctx);
    return code;
}
