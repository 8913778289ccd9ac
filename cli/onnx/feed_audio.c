/* feed_audio.c: a recording as an input: at the rate, and in the steps, that a model takes. */
#include "feed.h"
#include "numbers.h"
#include "ports.h"
#include "../term/log.h"

#include "wick/data.h"
#include "wick/ops.h"

/* One channel of it at --rate. */
static wick_status open_recording(const cli_options *o, wick_context *ctx, const char *path, wick_audio **out) {
    wick_status status = wick_audio_open(ctx, path, 0, out);
    if (status != WICK_OK) return status;
    const int64_t channels = wick_audio_channels(*out), rate = wick_audio_rate(*out), length = wick_audio_length(*out);
    if (channels > 1) {
        log_note("%s: its %lld channels are mixed to one", path, (long long)channels);
        wick_audio_free(out);
        if ((status = wick_audio_open(ctx, path, 1, out)) != WICK_OK) return status;
    }
    if (wick_audio_unmeasured(*out))
        log_note(
            "%s: doesn't say how long it is, as what was written into a pipe: all samples that are there are taken",
            path);
    if (!o->rate)
        log_note("%s: %lld samples, %lld a second, taken as they are; --rate HZ resamples", path, (long long)length,
                 (long long)rate);
    if (!o->rate || o->rate == rate) return WICK_OK;
    wick_audio *other;
    status = wick_audio_resample(ctx, *out, o->rate, &other);
    wick_audio_free(out);
    if (status != WICK_OK) return status;
    *out = other;
    log_note("%s: %lld samples, %lld a second, are resampled to %lld, %lld a second", path, (long long)length,
             (long long)rate, (long long)wick_audio_length(other), (long long)o->rate);
    return WICK_OK;
}

/* The axis that samples lie along: the last one that is not fixed at 1. All others have to be 1; -1: they can't. */
static int time_axis(const cli_options *o, const wick_onnx_port *p) {
    int axis = p->rank - 1;
    while (axis > 0 && p->dims[axis] == 1) axis--;
    for (int d = 0; d < p->rank; d++)
        if (d != axis && port_extent(o, p, d, 1) != 1) return -1;
    return axis;
}

/* Samples in [-1, 1], times --scale. Where the input's extent is known they are cut, or filled with silence; of a
 * sequence (--state) they become steps of that extent, [steps, ...], which begin --hop samples behind each other. What
 * a step has more than that are samples of those before it, at first silence. */
wick_status feed_recording(const cli_options *o, wick_context *ctx, const wick_onnx_port *p, const char *path,
                           wick_tensor **out, bool *stacked) {
    char type[256], name[300];
    const int rank = p->rank < 0 ? 2 : p->rank, axis = p->rank < 0 ? 1 : time_axis(o, p);
    if (axis < 0)
        return wick_context_fail(
            ctx, WICK_ERR_INVALID,
            "%s: a recording is one row of samples, and the input %s, %s, has no place for that: --transform makes "
            "what it takes (fit=8000,logmel=40, as in training), or give it as a .npy",
            path, p->name, port_type(p, type, sizeof type));
    const char *text = o->of_run.scale;
    double scale;
    if (!number_read(&text, &scale) || *text)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "--scale %s is no number, as 32767 is one", o->of_run.scale);
    const wick_dtype dtype = feed_dtype(p);
    if (scale == 1 && !feed_is_float(dtype))
        return wick_context_fail(
            ctx, WICK_ERR_INVALID,
            "%s: samples are numbers of -1 to 1, and the input %s is %s: --scale 32767 makes integers of them", path,
            p->name, port_type(p, type, sizeof type));
    const int64_t wanted = p->rank < 0 ? -1 : port_extent(o, p, axis, -1);
    if (o->of_run.states.n && wanted < 1)
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "%s is cut into the steps of a sequence, and the input %s, %s, does not say how many "
                                 "samples a step has: --dim %s=512 does",
                                 path, p->name, port_type(p, type, sizeof type),
                                 p->rank < 0 ? p->name : port_dim_name(p, axis, name, sizeof name));
    if (o->of_run.hop > wanted && o->of_run.states.n)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "--hop %lld: a step of the input %s has %lld samples only",
                                 (long long)o->of_run.hop, p->name, (long long)wanted);
    wick_audio *audio;
    const wick_status status = open_recording(o, ctx, path, &audio);
    if (status != WICK_OK) return status;
    const int64_t length = wick_audio_length(audio), each = wanted > 0 ? wanted : length,
                  hop = o->of_run.states.n && o->of_run.hop ? o->of_run.hop : each;
    const int64_t steps = o->of_run.states.n ? length / hop + (length % hop > 0) : 1, before = each - hop;
    wick_tensor *x = wick_from(ctx, WICK_F32, 1, &length, wick_audio_samples(audio, 0));
    wick_audio_free(&audio);
    if (!o->of_run.states.n && each != length)
        log_note("%s has %lld samples here, and the input %s takes %lld: %s", path, (long long)length, p->name,
                 (long long)each, each < length ? "the rest is left out" : "silence follows");
    if (each < length && !o->of_run.states.n)
        x = wick_slice(x, 0, 0, each, 1);
    else x = wick_pad(x, 1, (int64_t[]){before}, (int64_t[]){steps * hop - length}, 0);
    int64_t dims[WICK_MAX_DIMS + 1] = {steps};
    *stacked = steps > 1;
    for (int d = 0; d < rank; d++) dims[d + *stacked] = d == axis ? each : 1;
    if (*stacked && before) { /* steps overlap: gathered by their places */
        wick_tensor *starts = wick_reshape(wick_arange(ctx, WICK_I64, 0, (double)hop, steps), 2, (int64_t[]){steps, 1});
        x = wick_gather(x, 0, wick_add(starts, wick_arange(ctx, WICK_I64, 0, 1, each)));
    }
    if (scale != 1) x = wick_mul(x, wick_constant(ctx, WICK_F32, scale));
    if (!feed_is_float(dtype)) x = wick_round(x);
    *out = wick_reshape(x, rank + *stacked, dims);
    bool rounded;
    return number_convert(ctx, p, path, out, &rounded);
}
