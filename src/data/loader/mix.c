/* mix.c: reading, drawing and doing mixup (Zhang et al. 2018) and cutmix (Yun et al. 2019). */
#include "data/loader/mix.h"

#include <math.h>

#include "data/sets/dataset.h"
#include "kernels/kernels.h"
#include "kernels/pixels/pixels.h"

enum { MOST_ALPHA = 1000 };
static const wick_transform_form forms[WICK_MIXES] = {
    [WICK_MIXUP] = {"mixup", false, 1, 2}, [WICK_CUTMIX] = {"cutmix", false, 1, 2}};

/* ---- reading ----------------------------------------------------------------------------------------------------- */

size_t wick_mixing_find(const char *text) {
    for (const char *at = text;; at++) {
        const char *name = at + strspn(at, " ");
        const size_t length = strcspn(name, "=,");
        for (int k = 0; k < WICK_MIXES; k++)
            if (strlen(forms[k].name) == length && memcmp(forms[k].name, name, length) == 0) return (size_t)(at - text);
        at += strcspn(at, ",");
        if (!*at) return (size_t)(at - text);
    }
}

const char *wick_mixing_read(const char *text, wick_mixing *m, const char **at) {
    for (const char *next = text;; next++) {
        wick_transform_step s;
        *at = next;
        if (!wick_transform_read(&next, forms, WICK_MIXES, -1, &s))
            return "mixup=ALPHA[:P] and cutmix=ALPHA[:P] come last, and nothing else behind them";
        if (m->alpha[s.kind] > 0) return "mixes twice in the same way";
        if (!(s.number[0] > 0 && s.number[0] <= MOST_ALPHA)) return "ALPHA is above 0, up to 1000";
        if (s.n > 1 && !(s.number[1] >= 0 && s.number[1] <= 1)) return "a probability is from 0 to 1";
        m->alpha[s.kind] = s.number[0];
        m->chance[s.kind] = s.n > 1 ? s.number[1] : 1;
        if (!*next) return NULL;
    }
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

/* Beta(alpha, alpha): a share of two gamma numbers. Where both are too small to be numbers, one is as good as all of
 * it. */
static double draw_share(double alpha, const uint32_t word[4]) {
    const double alphas[2] = {alpha, alpha};
    const uint64_t bits[2] = {word[0] | (uint64_t)word[1] << 32, word[2] | (uint64_t)word[3] << 32};
    double y[2];
    wick_draw_gamma(WICK_CF64, 0, 2, alphas, bits, y);
    return y[0] + y[1] > 0 ? y[0] / (y[0] + y[1]) : (double)(word[0] & 1);
}

wick_mix wick_mixing_draw(const wick_mixing *m, const wick_draws *d, int64_t height, int64_t width) {
    wick_mix mix = {.own = 1};
    uint32_t word[4], more[4];
    if (!wick_mixing_any(m)) return mix;
    wick_draw(d, WICK_BLOCK_MIX, word);
    wick_draw(d, WICK_BLOCK_MIX + 1, more);
    const int kind =
        m->alpha[WICK_MIXUP] > 0 && m->alpha[WICK_CUTMIX] > 0 ? (int)(word[0] >> 31) : m->alpha[WICK_CUTMIX] > 0;
    if ((double)word[1] >= m->chance[kind] * 0x1p32) return mix;
    mix.own = draw_share(m->alpha[kind], more);
    if (kind == WICK_MIXUP) return mix;
    const double half = 0.5 * sqrt(1 - mix.own);
    const int64_t x = wick_draw_below(word[2], width), y = wick_draw_below(word[3], height),
                  wide = (int64_t)(half * (double)width), high = (int64_t)(half * (double)height);
    mix.cut = true;
    mix.left = WICK_MAX(x - wide, 0), mix.top = WICK_MAX(y - high, 0);
    mix.width = WICK_MIN(x + wide, width) - mix.left, mix.height = WICK_MIN(y + high, height) - mix.top;
    mix.own = 1 - (double)(mix.width * mix.height) / (double)(width * height);
    return mix;
}

/* ---- doing ------------------------------------------------------------------------------------------------------- */

void wick_mix_numbers(const wick_mix *mix, int64_t n, const float *other, float *x) {
    if (!mix || !other || !x) return;
    if (mix->own < 1) wick_pixels_kernels()->share(n, (float)mix->own, (float)(1 - mix->own), other, x);
}

void wick_mix_samples(const wick_mix *mix, const wick_spec *spec, const float *other, float *x) {
    if (!mix || !spec || !other || !x) return;
    const int64_t n = wick_field_elements(spec, 0);
    if (!mix->cut) {
        wick_mix_numbers(mix, n, other, x);
        return;
    }
    const int64_t height = spec->dims[spec->rank - 2], width = spec->dims[spec->rank - 1];
    for (int64_t plane = 0; plane < n; plane += height * width)
        for (int64_t row = mix->top; row < mix->top + mix->height; row++) {
            const int64_t at = plane + row * width + mix->left;
            memcpy(x + at, other + at, (size_t)mix->width * sizeof *x);
        }
}
