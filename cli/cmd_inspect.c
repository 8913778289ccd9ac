/* wick inspect and wick verify: what a file is, and whether it is sound. */
#include "inspect.h"
#include "options.h"
#include "talk.h"

#include "wick/onnx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* By its first bytes, not by its name. */
int cmd_inspect(cli_options *o) {
    unsigned char head[16] = {0};
    FILE *f = fopen(o->model, "rb");
    if (!f) return talk_fail(CLI_BAD_FILE, "%s: %s", o->model, strerror(errno));
    const size_t n = fread(head, 1, sizeof head, f);
    const bool unread = ferror(f);
    fclose(f);
    if (unread) return talk_fail(CLI_BAD_FILE, "%s: cannot be read: %s", o->model, strerror(EISDIR));
    inspector *inspect = inspect_onnx;
    if (n >= 6 && memcmp(head, "\x93NUMPY", 6) == 0) inspect = inspect_npy;
    else if (n >= 9 && head[8] == '{') inspect = inspect_safetensors;
    wick_context *ctx;
    const wick_status status = wick_context_new(&ctx, &(wick_context_options){.threads = (int)o->threads});
    if (status != WICK_OK) return talk_fail(CLI_FAILED, "cannot start: %s", wick_status_name(status));
    const int code = *o->svg && inspect != inspect_onnx ? talk_fail(CLI_USAGE, "--svg draws the graphs of ONNX models, and %s is none", o->model) : inspect(o, ctx);
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
