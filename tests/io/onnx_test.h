/* onnx_test.h: what tests of the importer share: a folder of their own for models, the path of one in it, a context. */
#ifndef WICK_TESTS_IO_ONNX_TEST_H
#define WICK_TESTS_IO_ONNX_TEST_H

#include <stdio.h>
#include <stdlib.h>

#include "pb.h"
#include "test.h"
#include "wick/wick.h"

static char folder[] = "/tmp/wick-onnx-XXXXXX"; /* mkdtemp's template */
static char path[128];
static wick_context *ctx;

static bool set_up_with(const wick_context_options *options) {
    static bool made;
    if (!made && !mkdtemp(folder)) return false;
    made = true;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    return wick_context_new(&ctx, options) == WICK_OK;
}
static void write_file(const char *name, const void *data, size_t n) {
    char full[256];
    snprintf(full, sizeof full, "%s/%s", folder, name);
    FILE *f = fopen(full, "wb");
    if (!f) return;
    if (n) fwrite(data, 1, n, f);
    fclose(f);
}
/* Writes the model, which is freed, and opens it: NULL is a failure. */
static wick_onnx *open_model(pb *m, const wick_onnx_limits *limits) {
    wick_onnx *onnx = NULL;
    write_file("model.onnx", m->at, m->n);
    free(m->at);
    *m = (pb){0};
    const wick_status status = wick_onnx_open(ctx, path, limits, &onnx);
    CHECK((status == WICK_OK) == (onnx != NULL));
    return onnx;
}

#endif
