/* wick convert: named tensors from a file of one kind to a file of another. */
#include "convert.h"
#include "../options.h"
#include "../term/log.h"

#include "wick/ops.h"
#include "wick/weights.h"

#include <stdlib.h>
#include <string.h>

static int failed(const wick_context *ctx, wick_status status) {
    return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(ctx, status));
}

/* What --dtype says; false: tensors stay what they are. */
static bool wanted_dtype(const cli_options *o, wick_dtype *dtype) {
    static const wick_dtype dtypes[] = {WICK_F64, WICK_F32, WICK_F16, WICK_BF16};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(options_text(o, "dtype"), wick_dtype_name(dtypes[i])) == 0) return *dtype = dtypes[i], true;
    return false;
}

static bool is_float(wick_dtype d) { return d == WICK_F64 || d == WICK_F32 || d == WICK_F16 || d == WICK_BF16; }

static int collect(const cli_options *o, const wick_weights *w, wick_named_tensor *tensors) {
    wick_dtype dtype;
    const bool cast = wanted_dtype(o, &dtype);
    for (int i = 0; i < wick_weights_count(w); i++) {
        wick_tensor *t = wick_weights_tensor(w, i);
        const char *text;
        const wick_status status = wick_tensor_error(t, &text);
        if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s: %s", o->model, text);
        if (cast && is_float(wick_tensor_dtype(t)) && wick_tensor_dtype(t) != dtype) t = wick_cast(t, dtype);
        tensors[i] = (wick_named_tensor){wick_weights_at(w, i).name, t};
    }
    return CLI_OK;
}

static int collect_meta(const wick_weights *w, wick_meta **meta) {
    int n = 0;
    const char *key, *value;
    while (wick_weights_meta_at(w, n, &key, &value)) n++;
    *meta = calloc((size_t)n + 1, sizeof **meta);
    for (int i = 0; *meta && wick_weights_meta_at(w, i, &key, &value); i++) (*meta)[i] = (wick_meta){key, value};
    return n;
}

int convert_weights(wick_context *ctx, const cli_options *o) {
    wick_weights *w;
    wick_status status = wick_weights_open(ctx, o->model, &w);
    if (status != WICK_OK) return failed(ctx, status);
    wick_texts texts;
    for (int i = 0; wick_weights_texts_at(w, i, &texts); i++)
        log_note("%s: \"%s\" is an array of texts, which is no tensor: it is left out", o->model, texts.name);
    const int n = wick_weights_count(w);
    wick_named_tensor *tensors = calloc((size_t)n + 1, sizeof *tensors);
    wick_meta *meta;
    const int n_meta = collect_meta(w, &meta);
    wick_scope *scope = wick_scope_open(ctx);
    int code = tensors && meta && scope ? collect(o, w, tensors) : log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK) {
        const wick_weights_write_options options = {.max_shard = (size_t)o->of_convert.max_shard * 1000000,
                                                    .n_meta = n_meta,
                                                    .meta = meta,
                                                    .compress = o->of_convert.compress};
        status = wick_weights_write(ctx, o->files[0], n, tensors, &options);
        if (status != WICK_OK)
            code = log_fail(status == WICK_ERR_INVALID || status == WICK_ERR_UNSUPPORTED ? CLI_USAGE : CLI_FAILED, "%s",
                            log_why(ctx, status));
    }
    wick_scope_close(&scope);
    free(tensors);
    free(meta);
    wick_weights_free(&w);
    return code;
}
