/* conv_ref.h: the oracle: the definition in conv_api.h as loops. Compiled into conv_tier.c for tier ref, once per type.
 */
static double CONV_NAME(at)(const CONV_T *channel, const int64_t *dims, int64_t channels, const int64_t *i) {
    for (int d = 0; d < 3; d++)
        if (i[d] < 0 || i[d] >= dims[d]) return 0;
    return channel[((i[0] * dims[1] + i[1]) * dims[2] + i[2]) * channels];
}
#define CONV_EACH(i, dims)                      \
    for (int64_t i[3] = {0}; i[0] < (dims)[0]; i[0]++) \
        for (i[1] = 0; i[1] < (dims)[1]; i[1]++)  \
            for (i[2] = 0; i[2] < (dims)[2]; i[2]++)

static void CONV_NAME(direct)(const wick_convolution *c, int64_t begin, int64_t end, const void *av, const void *bv,
                              const void *biasv, void *dstv) {
    const CONV_T *a = av, *b = bv, *bias = biasv;
    const int64_t in = c->in[0] * c->in[1] * c->in[2], out = c->out[0] * c->out[1] * c->out[2], xs = c->groups * c->ci,
                  ys = c->groups * c->co, taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    for (int64_t ch = begin; ch < end; ch++) {
        CONV_T *dst = dstv;
        if (c->what == WICK_CONV_FORWARD) {
            const int64_t g = ch / c->co;
            for (int64_t n = 0; n < c->batch; n++)
                CONV_EACH(p, c->out) {
                    double sum = 0;
                    for (int64_t ci = 0; ci < c->ci; ci++) {
                        const CONV_T *x = a + n * in * xs + g * c->ci + ci, *w = b + (ch * c->ci + ci) * taps;
                        CONV_EACH(k, c->kernel) {
                            int64_t i[3];
                            for (int d = 0; d < 3; d++) i[d] = p[d] * c->stride[d] - c->pad[d] + k[d] * c->dilation[d];
                            sum +=
                                CONV_NAME(at)(x, c->in, xs, i) * w[(k[0] * c->kernel[1] + k[1]) * c->kernel[2] + k[2]];
                        }
                    }
                    CONV_T y = (CONV_T)sum;
                    if (c->bias) y += bias[ch];
                    if (c->relu) y = y < 0 ? 0 : y;
                    dst[(n * out + (p[0] * c->out[1] + p[1]) * c->out[2] + p[2]) * ys + ch] = y;
                }
        } else if (c->what == WICK_CONV_DATA) {
            const int64_t g = ch / c->ci;
            for (int64_t n = 0; n < c->batch; n++)
                CONV_EACH(p, c->in) {
                    double sum = 0;
                    for (int64_t o = 0; o < c->co; o++) {
                        const CONV_T *y = a + n * out * ys + g * c->co + o,
                                     *w = b + ((g * c->co + o) * c->ci + ch % c->ci) * taps;
                        CONV_EACH(k, c->kernel) {
                            int64_t i[3];
                            bool whole = true;
                            for (int d = 0; d < 3; d++) {
                                const int64_t at = p[d] + c->pad[d] - k[d] * c->dilation[d];
                                whole &= at % c->stride[d] == 0;
                                i[d] = at / c->stride[d];
                            }
                            if (whole)
                                sum += CONV_NAME(at)(y, c->out, ys, i) *
                                       w[(k[0] * c->kernel[1] + k[1]) * c->kernel[2] + k[2]];
                        }
                    }
                    dst[(n * in + (p[0] * c->in[1] + p[1]) * c->in[2] + p[2]) * xs + ch] = (CONV_T)sum;
                }
        } else {
            const int64_t g = ch / c->co;
            for (int64_t ci = 0; ci < c->ci; ci++)
                CONV_EACH(k, c->kernel) {
                    double sum = 0;
                    for (int64_t n = 0; n < c->batch; n++) {
                        const CONV_T *x = a + n * in * xs + g * c->ci + ci, *y = b + n * out * ys + ch;
                        CONV_EACH(p, c->out) {
                            int64_t i[3];
                            for (int d = 0; d < 3; d++) i[d] = p[d] * c->stride[d] - c->pad[d] + k[d] * c->dilation[d];
                            sum +=
                                CONV_NAME(at)(x, c->in, xs, i) * y[((p[0] * c->out[1] + p[1]) * c->out[2] + p[2]) * ys];
                        }
                    }
                    dst[(ch * c->ci + ci) * taps + (k[0] * c->kernel[1] + k[1]) * c->kernel[2] + k[2]] = (CONV_T)sum;
                }
        }
    }
}
#undef CONV_EACH
