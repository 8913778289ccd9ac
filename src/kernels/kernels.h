/* kernels.h: the index of the kernels layer: contracts of families that many files call, FAMILY/FAMILY_api.h; others
 * are included where they are called. Raw pointers, sizes and strides only: no tensor, no thread pool.
 *
 * A kernel that is worth cutting says into how many tasks it is cut (by problem size, never by thread count) and runs
 * any range of them; tasks write disjoint memory, so any thread may run any task and the bits are the same.
 *
 * A file named *_tier.c is compiled once per tier with that tier's flags, WICK_TIER_NAME (ref, base, avx2, avx512) and
 * WICK_TIER_ID (wick_tier's value) defined; it holds kernels and constant tables only, and exports one table
 * per tier. Strides are in elements everywhere. */
#ifndef WICK_KERNELS_KERNELS_H
#define WICK_KERNELS_KERNELS_H

#include "kernels/conv/conv_api.h"
#include "kernels/convert/convert_api.h"
#include "kernels/ctc/ctc_api.h"
#include "kernels/fft/fft_api.h"
#include "kernels/fused/fused_api.h"
#include "kernels/gemm/gemm_api.h"
#include "kernels/index/index_api.h"
#include "kernels/int4/int4_api.h"
#include "kernels/int8/int8_api.h"
#include "kernels/linear8/linear8_api.h"
#include "kernels/quantize/quantize_api.h"
#include "kernels/random/random_api.h"
#include "kernels/recurrent/recurrent_api.h"
#include "kernels/resample/resample_api.h"
#include "kernels/rows/rows_api.h"
#include "kernels/sample/sample_api.h"
#include "kernels/scan/scan_api.h"
#include "kernels/sort/sort_api.h"
#include "kernels/window/window_api.h"
#include "kernels/types.h"

#endif
