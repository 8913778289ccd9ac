/* Files of tensors: names, dtypes, dims and bytes. */
#include "inspect.h"
#include "ports.h"
#include "../term/log.h"

#include "wick/weights.h"

typedef struct total {
    int tensors;
    double numbers, bytes;
} total;

static void show(const cli_options *o, json *j, const wick_spec *s, total *t) {
    char text[256];
    const size_t bytes = wick_spec_bytes(s);
    double numbers = 1;
    for (int i = 0; i < s->rank; i++) numbers *= (double)s->dims[i];
    t->tensors++, t->numbers += numbers, t->bytes += (double)bytes;
    if (!o->json) {
        log_print("  %-40s %-24s %12zu bytes\n", s->name, spec_text(s->dtype, s->rank, s->dims, text, sizeof text),
                  bytes);
        return;
    }
    json_open(j, NULL, '{');
    json_text(j, "name", s->name);
    json_text(j, "dtype", wick_dtype_name(s->dtype));
    dims_json(j, "dims", s->rank, s->dims);
    json_integer(j, "bytes", (int64_t)bytes);
    json_close(j, '}');
}

static void show_texts(const cli_options *o, json *j, const wick_texts *t) {
    if (!o->json) {
        log_print("  %-40s %lld text%s%s%s%s\n", t->name, (long long)t->count, plural(t->count), t->count ? ": " : "",
                   t->count ? t->texts[0] : "", t->count > 1 ? " ..." : "");
        return;
    }
    json_open(j, NULL, '{');
    json_text(j, "name", t->name);
    dims_json(j, "dims", t->rank, t->dims);
    json_open(j, "texts", '[');
    for (int64_t i = 0; i < t->count; i++) json_text(j, NULL, t->texts[i]);
    json_close(j, ']');
    json_close(j, '}');
}

static void finish(const cli_options *o, json *j, const total *t) {
    if (o->json) {
        json_close(j, ']');
        json_real(j, "numbers", t->numbers, 15);
        json_real(j, "bytes", t->bytes, 15);
        log_json_close(j);
    } else printf("%d tensor%s, %.0f numbers, %.4g MB\n", t->tensors, plural(t->tensors), t->numbers, t->bytes * 1e-6);
}

static json begin(const cli_options *o, const file_kind *kind) {
    json j = {0};
    if (!o->json) return log_print("%s is %s\n", o->model, kind->name), j;
    j = log_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "format", kind->format);
    return j;
}

int inspect_tensors(const cli_options *o, wick_context *ctx, const file_kind *kind) {
    wick_weights *file;
    const wick_status status = wick_weights_open(ctx, o->model, &file);
    if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(ctx, status));
    json j = begin(o, kind);
    const char *key, *value;
    total t = {0};
    if (o->json) json_open(&j, "metadata", '{');
    for (int i = 0; wick_weights_meta_at(file, i, &key, &value); i++) {
        if (o->json) json_text(&j, key, value);
        else log_print("  %s: %.100s\n", key, value);
    }
    if (o->json) json_close(&j, '}'), json_open(&j, "tensors", '[');
    for (int i = 0; i < wick_weights_count(file); i++) {
        const wick_spec s = wick_weights_at(file, i);
        show(o, &j, &s, &t);
    }
    wick_texts texts;
    if (o->json) json_close(&j, ']'), json_open(&j, "texts", '[');
    for (int i = 0; wick_weights_texts_at(file, i, &texts); i++) show_texts(o, &j, &texts);
    finish(o, &j, &t);
    wick_weights_free(&file);
    return CLI_OK;
}
