/* onnx_test.h: what tests of the importer share: a folder of their own for models, the path of one in it, a context. */
#ifndef WICK_TESTS_IO_ONNX_TEST_H
#define WICK_TESTS_IO_ONNX_TEST_H

#include "pb.h"
#include "scratch.h"

static char path[128]; /* of the model */

static bool set_up_with(const wick_context_options *options) {
    const bool good = scratch_context(options);
    snprintf(path, sizeof path, "%s", at("model.onnx"));
    return good;
}
static void write_file(const char *name, const void *data, size_t n) { (void)put(at(name), data, n); }
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
