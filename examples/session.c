/* session.c: an ONNX model by names, as who comes from another runtime wants it: each input is ones, with 1 where the
 * file leaves an extent open, and the first numbers of each output are shown.
 *
 *     session NET.onnx */
#include <stdio.h>
#include <stdlib.h>
#include <wick/wick.h>

/* Ones for one input; NULL: its dtype is none of those that are filled here. */
static void *ones(const wick_spec *spec, int64_t *n) {
    *n = 1;
    for (int d = 0; d < spec->rank; d++) *n *= spec->dims[d];
    void *data = calloc((size_t)*n + 1, 8);
    for (int64_t i = 0; data && i < *n; i++) switch (spec->dtype) {
        case WICK_F32: ((float *)data)[i] = 1; break;
        case WICK_F64: ((double *)data)[i] = 1; break;
        case WICK_I32: ((int32_t *)data)[i] = 1; break;
        case WICK_I64: ((int64_t *)data)[i] = 1; break;
        default: free(data); return NULL;
        }
    return data;
}

int main(int argc, char **argv) {
    wick_context *ctx;
    wick_session *s = NULL;
    void *data[16] = {0};
    if (argc != 2) return fprintf(stderr, "usage: session NET.onnx\n"), 2;
    if (wick_context_new(NULL, &ctx)) return 1;
    int failed = wick_session_open(ctx, argv[1], NULL, &s) != WICK_OK;
    if (failed) fprintf(stderr, "session: %s\n", wick_context_error(ctx));
    for (int i = 0; !failed && i < wick_session_inputs(s) && i < 16; i++) {
        wick_spec in = wick_session_input(s, i);
        int64_t n;
        for (int d = 0; d < in.rank; d++)
            if (in.dims[d] < 0) in.dims[d] = 1;
        if (!(data[i] = ones(&in, &n))) failed = fprintf(stderr, "session: %s is of another dtype\n", in.name) > 0;
        else failed = wick_session_set(s, in.name, in.dtype, in.rank, in.dims, data[i]) != WICK_OK;
        if (!failed) printf("%s: %lld ones\n", in.name, (long long)n);
    }
    if (!failed) failed = wick_session_run(s) != WICK_OK;
    if (failed && s) fprintf(stderr, "session: %s\n", wick_session_error(s));
    for (int i = 0; !failed && i < wick_session_outputs(s); i++) {
        wick_spec out;
        const void *y = wick_session_get(s, wick_session_output(s, i).name, &out);
        const size_t n = wick_spec_bytes(&out) / sizeof(float);
        printf("%s:", out.name);
        for (size_t k = 0; k < n && k < 8 && out.dtype == WICK_F32; k++) printf(" %g", (double)((const float *)y)[k]);
        printf(n > 8 ? " ...\n" : "\n");
    }
    wick_session_free(&s);
    for (int i = 0; i < 16; i++) free(data[i]);
    wick_context_free(&ctx);
    return failed;
}
