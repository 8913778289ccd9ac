/* wick convert: a file becomes one of another kind: what A is its first bytes say, what it becomes the end of B's name.
 */
#include "convert.h"
#include "../file_types.h"
#include "../options.h"
#include "../paths.h"
#include "../term/log.h"
#include "../tuned.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { TO_ONNX = 1, FROM_ONNX = 2, TO_TENSORS = 4, TO_SHARDS = 8, TO_NPZ = 16 };

const conversion conversions[] = {
    {AS_MODEL, "an ONNX model", {".onnx"}, convert_onnx_to_onnx, TO_ONNX | FROM_ONNX},
    {AS_RUN, "the folder of a run, or a checkpoint", {".onnx"}, convert_run_to_onnx, TO_ONNX},
    {AS_TENSORS,
     "tensors: .safetensors, their .safetensors.index.json, .npz, .npy",
     {".safetensors.index.json", ".safetensors", ".npz", ".npy"},
     convert_weights,
     TO_TENSORS},
    {0, NULL, {NULL}, NULL, 0},
};

static const option_case cases[] = {
    {"opset", TO_ONNX, "what becomes ONNX"},
    {"external", TO_ONNX, "what becomes ONNX"},
    {"dim", FROM_ONNX, "ONNX models that become others"},
    {"fix-open", FROM_ONNX, "ONNX models that become others"},
    {"max-memory", FROM_ONNX, "ONNX models that become others"},
    {"input", FROM_ONNX, "ONNX models that become others"},
    {"dtype", TO_TENSORS, "tensors"},
    {"max-shard", TO_SHARDS, "tensors that become shards: a B whose name ends in .safetensors.index.json"},
    {"compress", TO_NPZ, "a B whose name ends in .npz"},
};

static bool has_end(const char *path, const char *end) {
    const size_t n = strlen(path), m = strlen(end);
    return n > m && strcasecmp(path + n - m, end) == 0;
}

/* The row that makes B of A; NULL: none, and it has been said. */
static const conversion *find(const char *from, const file_kind *kind, const char *to) {
    char ends[256];
    size_t at = 0;
    for (const conversion *c = conversions; c->fn; c++) {
        if (!(c->as & kind->as)) continue;
        for (int i = 0; i < MOST_ENDS && c->to[i]; i++) {
            if (has_end(to, c->to[i])) return c;
            at += (size_t)snprintf(ends + at, sizeof ends - at, "%s%s", at ? ", " : "", c->to[i]);
        }
    }
    if (at)
        log_fail(CLI_USAGE, "%s, %s, does not become %s; what it becomes is a file whose name ends in %s", from,
                 kind->name, to, ends);
    return NULL;
}

int cmd_convert(cli_options *o) {
    if (o->n_files != 1)
        return log_fail(CLI_USAGE, o->n_files ? "takes two files, not %d" : "needs two files: A B", o->n_files + 1);
    const char *to = o->files[0];
    const file_kind *kind = kind_of(o->model);
    unsigned as = 0;
    for (const conversion *c = conversions; c->fn; c++) as |= c->as;
    if (!kind || !(kind->as & as)) return kind_refuse(o->model, kind, "something that wick convert takes");
    const conversion *c = find(o->model, kind, to);
    if (!c) return CLI_USAGE;
    const option_case *idle = options_idle(o, cases, sizeof cases / sizeof cases[0],
                                           c->cases | (has_end(to, ".json")  ? TO_SHARDS
                                                       : has_end(to, ".npz") ? TO_NPZ
                                                                             : 0));
    if (idle) return log_fail(CLI_USAGE, "--%s has no effect here: it is for %s", idle->name, idle->what);
    if (path_same(o->model, to))
        return log_fail(CLI_USAGE, "%s would be written over what it is made of: name another file", to);
    wick_context *ctx;
    if (wick_context_new(&(wick_context_options){.tuning = tuned(),
                                                 .threads = (int)o->threads,
                                                 .max_memory = (size_t)o->limits.max_memory << 20},
                         &ctx) != WICK_OK)
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    const int code = c->fn(ctx, o);
    if (code == CLI_OK && o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "wrote", to);
        log_json_close(&j);
    } else if (code == CLI_OK)
        log_note("wrote %s", to);
    wick_context_free(&ctx);
    return code;
}
