/* feed_transform.c: a picture or a recording as an input, as --transform makes it: what the samples went through when
 * the network was tested. */
#include "feed.h"
#include "numbers.h"
#include "../options.h"
#include "ports.h"
#include "../term/log.h"

#include "wick/data.h"
#include "wick/ops.h"

#include <stdlib.h>
#include <string.h>

/* The result of the transform, behind as many dims of 1 as the input has more. */
static wick_status apply(const cli_options *o, wick_context *ctx, const wick_onnx_port *p, const wick_spec *spec,
                         double rate, const void *samples, wick_tensor **out) {
    wick_transform *t;
    wick_fault fault;
    const wick_transform_options options = {.still = true, .rate = rate};
    wick_status status = wick_transform_new(ctx, o->transform, &options, spec, &t);
    if (status != WICK_OK) return status;
    const wick_spec made = *wick_transform_output(t);
    int64_t dims[WICK_MAX_DIMS] = {0}, count = 1;
    const int more = p->rank > made.rank ? p->rank - made.rank : p->rank < 0;
    for (int i = 0; i < more; i++) dims[i] = 1;
    for (int i = 0; i < made.rank; i++) count *= dims[more + i] = made.dims[i];
    const size_t room = wick_transform_scratch(t, spec->dims[0]);
    float *values = malloc((size_t)count * sizeof *values + 1);
    void *scratch = aligned_alloc(64, room / 64 * 64 + 64);
    if (!values || !scratch) status = wick_context_fail(ctx, WICK_ERR_NOMEM, "--transform: out of memory");
    else if ((status = wick_transform_run(t, 0, 0, 0, samples, spec->dims[0], values, scratch, &fault)) != WICK_OK)
        (void)wick_context_fail(ctx, status, "--transform: %s", fault.text);
    else {
        bool rounded;
        *out = wick_from(ctx, WICK_F32, more + made.rank, dims, values);
        status = number_convert(ctx, p, spec->name, out, &rounded);
    }
    free(values);
    free(scratch);
    wick_transform_free(&t);
    return status;
}

wick_status feed_transformed(const cli_options *o, wick_context *ctx, const wick_onnx_port *p, const char *path,
                             bool recording, wick_tensor **out) {
    static const char *const others[] = {"scale", "mean", "std", "layout", "bgr", "rate"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (options_given(o, others[i]))
            return wick_context_fail(ctx, WICK_ERR_INVALID, "--transform says all; it takes no --%s beside it",
                                     others[i]);
    wick_status status;
    if (recording) {
        wick_audio *audio;
        if ((status = wick_audio_open(ctx, path, 1, &audio)) != WICK_OK) return status;
        const wick_spec spec = {path, WICK_F32, 1, {wick_audio_length(audio)}};
        if (spec.dims[0] < 1) status = wick_context_fail(ctx, WICK_ERR_INVALID, "%s: has no sample", path);
        else status = apply(o, ctx, p, &spec, (double)wick_audio_rate(audio), wick_audio_samples(audio, 0), out);
        wick_audio_free(&audio);
        return status;
    }
    wick_image *image;
    const bool grey = p->rank == 2 || (p->rank > 2 && p->dims[p->rank - 3] == 1);
    if ((status = wick_image_open(ctx, path, grey ? 1 : 3, &image)) != WICK_OK) return status;
    const wick_spec spec = {path, WICK_U8, 3, {grey ? 1 : 3, wick_image_dims(image)[1], wick_image_dims(image)[2]}};
    status = apply(o, ctx, p, p->rank == 2 ? &(wick_spec){path, WICK_U8, 2, {spec.dims[1], spec.dims[2]}} : &spec, 0,
                   wick_image_pixels(image, 0), out);
    wick_image_free(&image);
    return status;
}
