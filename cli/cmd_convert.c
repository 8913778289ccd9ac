/* wick convert: a file becomes one of another kind. A table of what can become what: one row, one function. */
#include "convert.h"
#include "paths.h"
#include "talk.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FOLDER "/" /* as a kind: the folder of a run */

static const struct {
    const char *from, *to; /* ends of names */
    convert_function fn;
} conversions[] = {
    {FOLDER, ".onnx", convert_run_to_onnx},
    {".safetensors", ".onnx", convert_run_to_onnx},
    {".onnx", ".onnx", convert_onnx_to_onnx},
#define TENSORS(from) {from, ".safetensors", convert_weights}, {from, ".safetensors.index.json", convert_weights}, {from, ".npz", convert_weights}, {from, ".npy", convert_weights}
    TENSORS(".safetensors"), TENSORS(".safetensors.index.json"), TENSORS(".npz"), TENSORS(".npy"),
    TENSORS(".pt"), TENSORS(".pth"), TENSORS(".bin"), /* pickles: refused, with the line that makes safetensors of them */
#undef TENSORS
};
enum { CONVERSIONS = sizeof conversions / sizeof conversions[0] };

static bool is_of_kind(const char *path, const char *kind) {
    if (strcmp(kind, FOLDER) == 0) return path_is_folder(path);
    const size_t n = strlen(path), end = strlen(kind);
    return n > end && strcasecmp(path + n - end, kind) == 0;
}

/* ".npy to .npy, ...", for errors. */
static void list_conversions(char *text, size_t size) {
    size_t at = 0;
    for (int i = 0; i < CONVERSIONS && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s to %s", i ? ", " : "", strcmp(conversions[i].from, FOLDER) ? conversions[i].from : "the folder of a run",
                               conversions[i].to);
}

int cmd_convert(cli_options *o) {
    if (o->n_files != 1) return talk_fail(CLI_USAGE, o->n_files ? "takes two files, not %d" : "needs two files: A B", o->n_files + 1);
    convert_function fn = NULL;
    for (int i = 0; i < CONVERSIONS && !fn; i++)
        if (is_of_kind(o->model, conversions[i].from) && is_of_kind(o->files[0], conversions[i].to)) fn = conversions[i].fn;
    if (!fn) {
        char known[2048];
        list_conversions(known, sizeof known);
        return talk_fail(CLI_USAGE, "%s does not become %s; what does: %s", o->model, o->files[0], known);
    }
    if (path_same(o->model, o->files[0])) return talk_fail(CLI_USAGE, "%s would be written over what it is made of: name another file", o->files[0]);
    wick_context *ctx;
    if (wick_context_new(&ctx, &(wick_context_options){.threads = (int)o->threads}) != WICK_OK)
        return talk_fail(CLI_FAILED, "could not start: out of memory or threads");
    const int code = fn(ctx, o);
    if (code == CLI_OK && o->json) {
        json j = talk_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "wrote", o->files[0]);
        talk_json_close(&j);
    } else if (code == CLI_OK) talk("wrote %s", o->files[0]);
    wick_context_free(&ctx);
    return code;
}
