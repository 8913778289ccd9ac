/* fft_tier.c: Fourier transforms for one tier: the code of fft_body.h over its vectors, or the reference. */
#include "kernels/fft/fft.h"
#include "kernels/neon.h"

#define FFT_CAT_(a, b) a##b
#define FFT_CAT(a, b)  FFT_CAT_(a, b)
#define FFT_STR_(a)    #a
#define FFT_STR(a)     FFT_STR_(a)
#define FFT_INLINE     static inline __attribute__((always_inline, unused))

#if WICK_TIER_ID == 0
#define FFT_T       float
#define FFT_NAME(x) x##_f32
#include "kernels/fft/fft_ref.h"
#undef FFT_T
#undef FFT_NAME
#define FFT_T       double
#define FFT_NAME(x) x##_f64
#include "kernels/fft/fft_ref.h"

const wick_fft_kernels wick_fft_kernels_ref = {
    {{{"fft_f32_ref", "fft_f32_ref"}, 0, run_f32}, {{"fft_f64_ref", "fft_f64_ref"}, 0, run_f64}}};

#else

#if defined(__clang__)
#define FFT_UNROLL _Pragma("unroll")
#else
#define FFT_UNROLL _Pragma("GCC unroll 16")
#endif
#define FFT_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

#if WICK_TIER_ID > 1 && defined(__x86_64__)
#include <immintrin.h>
#endif
#if WICK_TIER_ID == 3
#define FFT_BYTES 64
#elif WICK_TIER_ID == 2
#define FFT_BYTES 32
#else
#define FFT_BYTES 16
#endif

/* What shuffles take, by the number of lanes. */
#define ZIP_LOW_2   0, 2
#define ZIP_HIGH_2  1, 3
#define EVEN_2      0, 2
#define ODD_2       1, 3
#define BACK_2      1, 0
#define ZIP_LOW_4   0, 4, 1, 5
#define ZIP_HIGH_4  2, 6, 3, 7
#define EVEN_4      0, 2, 4, 6
#define ODD_4       1, 3, 5, 7
#define BACK_4      3, 2, 1, 0
#define ZIP_LOW_8   0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_HIGH_8  4, 12, 5, 13, 6, 14, 7, 15
#define EVEN_8      0, 2, 4, 6, 8, 10, 12, 14
#define ODD_8       1, 3, 5, 7, 9, 11, 13, 15
#define BACK_8      7, 6, 5, 4, 3, 2, 1, 0
#define ZIP_LOW_16  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define EVEN_16     0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_16      1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define BACK_16     15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0

#define FFT_ZIP_LOW  FFT_CAT(ZIP_LOW_, FFT_LANES)
#define FFT_ZIP_HIGH FFT_CAT(ZIP_HIGH_, FFT_LANES)
#define FFT_EVEN     FFT_CAT(EVEN_, FFT_LANES)
#define FFT_ODD      FFT_CAT(ODD_, FFT_LANES)
#define FFT_BACK     FFT_CAT(BACK_, FFT_LANES)

#define FFT_T       float
#define FFT_NAME(x) x##_f32
#if WICK_TIER_ID == 3
#define FFT_LANES 16
#define FFT_FMA   _mm512_fmadd_ps
#elif WICK_TIER_ID == 2
#define FFT_LANES 8
#define FFT_FMA   _mm256_fmadd_ps
#else
#define FFT_LANES 4
#ifdef WICK_NEON
#define FFT_FMA(a, b, c) vfmaq_f32(c, a, b)
#endif
#endif
#include "kernels/fft/fft_body.h"
enum { FFT_LANES_F32 = FFT_LANES };
#undef FFT_T
#undef FFT_NAME
#undef FFT_LANES
#undef FFT_FMA

#define FFT_T       double
#define FFT_NAME(x) x##_f64
#if WICK_TIER_ID == 3
#define FFT_LANES 8
#define FFT_FMA   _mm512_fmadd_pd
#elif WICK_TIER_ID == 2
#define FFT_LANES 4
#define FFT_FMA   _mm256_fmadd_pd
#else
#define FFT_LANES 2
#ifdef WICK_NEON
#define FFT_FMA(a, b, c) vfmaq_f64(c, a, b)
#endif
#endif
#include "kernels/fft/fft_body.h"

#define TIER FFT_STR(WICK_TIER_NAME)
const wick_fft_kernels FFT_CAT(wick_fft_kernels_, WICK_TIER_NAME) = {{
    {{"fft_f32_" TIER, "fft_bluestein_f32_" TIER}, FFT_LANES_F32, run_f32},
    {{"fft_f64_" TIER, "fft_bluestein_f64_" TIER}, FFT_LANES, run_f64},
}};
#endif
