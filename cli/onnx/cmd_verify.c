/* wick verify: whether a file is sound: its structure, its names and its data are read, within the budgets, and the
 * graph of a model is recorded as wick run does. */
#include "../budget.h"
#include "../file_types.h"
#include "../train/meta.h"
#include "ports.h"
#include "recorded.h"
#include "../term/log.h"
#include "../tuned.h"

#include "wick/data.h"
#include "wick/io.h"
#include "wick/weights.h"

#include <stdio.h>
#include <string.h>

typedef struct verified {
    const cli_options *o;
    wick_context *ctx;
    const char *path;
    wick_onnx_limits limits;
    char lacks[4096]; /* ops of an ONNX model, with --shallow */
    recorded graph;   /* of an ONNX model */
    int code;         /* it has been said */
    bool uncovered;   /* metadata without a checksum */
} verified;

static wick_status onnx(verified *v) {
    wick_onnx *model;
    const wick_status status = wick_onnx_open(v->ctx, v->path, &v->limits, &model);
    if (status != WICK_OK) return status;
    v->code = ports_check_dims(v->o, model);
    if (v->o->of_verify.shallow)
        snprintf(v->lacks, sizeof v->lacks, "%s", wick_onnx_unsupported(model));
    else if (v->code == CLI_OK) v->code = recorded_find(v->o, v->ctx, model, &v->graph);
    if (v->code == CLI_OK && *v->graph.fault) v->code = log_fail(CLI_BAD_FILE, "%s", v->graph.fault);
    wick_onnx_free(&model);
    return WICK_OK;
}
static wick_status tensors(verified *v) { /* a checkpoint's version and sum too */
    wick_checkpoint *file;
    const wick_status status = wick_checkpoint_open(v->ctx, v->path, &file);
    v->uncovered = status == WICK_OK && !meta_is_covered(file);
    wick_checkpoint_free(&file);
    return status;
}
static wick_status array(verified *v) {
    const char *text;
    const wick_status status = wick_tensor_error(wick_npy_read(v->ctx, v->path), &text);
    return status == WICK_OK ? status : wick_context_fail(v->ctx, status, "%s", text);
}
/* Each tensor of a .npz, or of the shards of an index, is read. */
static wick_status archive(verified *v) {
    wick_weights *w;
    wick_status status = wick_weights_open(v->ctx, v->path, &w);
    for (int i = 0; status == WICK_OK && i < wick_weights_count(w); i++) {
        const char *text;
        wick_scope *scope = wick_scope_open(v->ctx);
        status = wick_tensor_error(wick_weights_tensor(w, i), &text);
        if (status != WICK_OK) status = wick_context_fail(v->ctx, status, "%s", text);
        wick_scope_close(&scope);
    }
    wick_weights_free(&w);
    return status;
}
static wick_status picture(verified *v) {
    wick_image *image;
    const wick_status status = wick_image_open(v->ctx, v->path, 0, &image);
    wick_image_free(&image);
    return status;
}
static wick_status recording(verified *v) {
    wick_audio *audio;
    const wick_status status = wick_audio_open(v->ctx, v->path, 0, &audio);
    wick_audio_free(&audio);
    return status;
}

/* By format (file_types.c). What is not here Wick does not read. */
static const struct {
    const char *format;
    wick_status (*read)(verified *v);
} readers[] = {
    {"onnx", onnx},   {"safetensors", tensors}, {"shards", archive}, {"npz", archive},  {"npy", array},
    {"png", picture}, {"jpeg", picture},        {"bmp", picture},    {"webp", picture}, {"gif", picture},
    {"pnm", picture}, {"tiff", picture},        {"jp2", picture},    {"idx", picture},  {"wav", recording},
};
enum { READERS = sizeof readers / sizeof readers[0] };

int cmd_verify(cli_options *o) {
    const file_kind *kind = kind_of(o->model);
    size_t k = 0;
    while (kind && k < READERS && strcmp(readers[k].format, kind->format) != 0) k++;
    if (!kind || k == READERS) return kind_refuse(o->model, kind, "a file that Wick reads");
    budget_watch(o);
    const bool model = strcmp(kind->format, "onnx") == 0;
    if ((o->of_verify.shallow || o->dims.n) && !model)
        return log_fail(CLI_USAGE, "--%s is for ONNX models, and %s is %s", o->of_verify.shallow ? "shallow" : "dim",
                        o->model, kind->name);
    verified v = {.o = o, .path = o->model, .limits = budget_limits(o)};
    wick_status status = wick_context_new(
        &(wick_context_options){.tuning = tuned(), .threads = 1, .max_memory = budget_memory(o)}, &v.ctx);
    if (status != WICK_OK) return log_fail(CLI_FAILED, "cannot start: %s", wick_status_name(status));
    int code = CLI_OK;
    status = readers[k].read(&v);
    if (status != WICK_OK) code = log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(v.ctx, status));
    else if (v.code != CLI_OK) code = v.code;
    else if (o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "format", kind->format);
        json_text(&j, "unsupported", v.lacks);
        if (model) json_bool(&j, "recorded", v.graph.whole);
        if (model) json_text(&j, "note", v.graph.note);
        log_json_close(&j);
    } else {
        log_print("%s is sound (%s)", o->model, kind->format);
        if (*v.lacks) log_print("; Wick lacks %s", v.lacks);
        if (*v.graph.note) log_print("; %s", v.graph.note);
        if (v.uncovered) printf("; its metadata has no checksum, as of an older Wick");
        printf("\n");
    }
    wick_context_free(&v.ctx);
    return code;
}
