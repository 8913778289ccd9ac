/* wick inspect: what a file is. */
#include "budget.h"
#include "inspect.h"
#include "options.h"
#include "paths.h"
#include "talk.h"

#include <errno.h>
#include <string.h>

/* By its first bytes, not by its name. */
int cmd_inspect(cli_options *o) {
    unsigned char head[16] = {0};
    const int n = path_head(o->model, head, sizeof head);
    if (n < 0) return talk_fail(CLI_BAD_FILE, "%s: cannot be read: %s", o->model, strerror(errno));
    const char *format = NULL; /* of tensors; else it is a graph */
    if (n >= 6 && memcmp(head, "\x93NUMPY", 6) == 0) format = "npy";
    else if (n >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0)) format = "npz";
    else if (n >= 1 && head[0] == '{') format = "safetensors in shards";
    else if (n >= 9 && head[8] == '{') format = "safetensors";
    budget_watch(o);
    wick_context *ctx;
    const wick_status status = wick_context_new(&ctx, &(wick_context_options){.threads = (int)o->threads, .max_memory = budget_memory(o)});
    if (status != WICK_OK) return talk_fail(CLI_FAILED, "cannot start: %s", wick_status_name(status));
    const int code = *o->svg && format ? talk_fail(CLI_USAGE, "--svg draws the graphs of ONNX models, and %s is none", o->model)
                     : format          ? inspect_tensors(o, ctx, format)
                                       : inspect_onnx(o, ctx);
    wick_context_free(&ctx);
    return code;
}
