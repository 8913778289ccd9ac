/* wick info: this build on this machine, or what a checkpoint holds. */
#include "classifier.h"
#include "talk.h"

#include <stdlib.h>
#include <string.h>

/* The tier is the first field of the numerics key: "tier=avx512;...". */
static void copy_tier(char *text, size_t size, const char *numerics) {
    const char *value = strncmp(numerics, "tier=", 5) == 0 ? numerics + 5 : numerics;
    snprintf(text, size, "%.*s", (int)strcspn(value, ";"), value);
}

static int show_build(const cli_options *o, wick_context *ctx) {
    char tier[32];
    const char *numerics = wick_context_numerics(ctx);
    copy_tier(tier, sizeof tier, numerics);
    if (!o->json) {
        printf("version   %s\ntier      %s\nthreads   %d\nnumerics  %s\n", wick_version(), tier,
               wick_context_threads(ctx), numerics);
        return CLI_OK;
    }
    json j = talk_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "version", wick_version());
    json_text(&j, "tier", tier);
    json_integer(&j, "threads", wick_context_threads(ctx));
    json_text(&j, "numerics", numerics);
    talk_json_close(&j);
    return CLI_OK;
}

static double elements(const wick_spec *spec) {
    double n = 1;
    for (int i = 0; i < spec->rank; i++) n *= (double)spec->dims[i];
    return n;
}

static void show_text(const wick_checkpoint *file, const char *path) {
    const char *key, *value;
    double numbers = 0, bytes = 0;
    printf("%s\n\nmetadata\n", path);
    for (int i = 0; wick_checkpoint_meta_at(file, i, &key, &value); i++) printf("  %-18s %s\n", key, value);
    printf("\ntensors\n");
    for (int i = 0; i < wick_checkpoint_count(file); i++) {
        wick_spec spec = wick_checkpoint_tensor(file, i);
        printf("  %-28s %-5s [", spec.name, wick_dtype_name(spec.dtype));
        for (int d = 0; d < spec.rank; d++) printf("%s%lld", d ? ", " : "", (long long)spec.dims[d]);
        printf("]\n");
        numbers += elements(&spec);
        bytes += elements(&spec) * (double)wick_dtype_size(spec.dtype);
    }
    int count = wick_checkpoint_count(file);
    printf("\n%d tensor%s, %.0f number%s, %.0f bytes\n", count, plural(count), numbers, plural((int64_t)numbers),
           bytes);
}

static void show_json(const wick_checkpoint *file, const char *path) {
    const char *key, *value;
    json j = talk_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "path", path);
    json_open(&j, "metadata", '{');
    for (int i = 0; wick_checkpoint_meta_at(file, i, &key, &value); i++) json_text(&j, key, value);
    json_close(&j, '}');
    json_open(&j, "tensors", '[');
    for (int i = 0; i < wick_checkpoint_count(file); i++) {
        wick_spec spec = wick_checkpoint_tensor(file, i);
        json_open(&j, NULL, '{');
        json_text(&j, "name", spec.name);
        json_text(&j, "dtype", wick_dtype_name(spec.dtype));
        json_open(&j, "shape", '[');
        for (int d = 0; d < spec.rank; d++) json_integer(&j, NULL, spec.dims[d]);
        json_close(&j, ']');
        json_close(&j, '}');
    }
    json_close(&j, ']');
    talk_json_close(&j);
}

static int show_checkpoint(const cli_options *o, wick_context *ctx) {
    wick_checkpoint *file;
    char *path;
    int code = model_open(ctx, o->model, &file, &path);
    if (code == CLI_OK) (o->json ? show_json : show_text)(file, path);
    wick_checkpoint_free(&file);
    free(path);
    return code;
}

int cmd_info(cli_options *o) {
    wick_context *ctx;
    if (wick_context_new(&ctx, &(wick_context_options){.threads = (int)o->threads}) != WICK_OK)
        return talk_fail(CLI_FAILED, "could not start: out of memory or threads");
    int code = o->model ? show_checkpoint(o, ctx) : show_build(o, ctx);
    wick_context_free(&ctx);
    return code;
}
