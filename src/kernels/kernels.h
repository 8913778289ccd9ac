/* kernels.h: everything the kernels layer offers. Raw pointers, sizes and strides only: no tensor, no thread pool.
 * A kernel that is worth cutting says into how many tasks it is cut (by problem size, never by thread count) and runs
 * any range of them; tasks write disjoint memory, so any thread may run any task and the bits are the same.
 *
 * A file named *_tier.c is compiled once per tier with that tier's flags, WICK_TIER_NAME (ref, base, avx2, avx512) and
 * WICK_TIER_ID (wick_tier's value) defined; it holds kernels and constant tables only, and exports one table
 * per tier. Strides are in elements everywhere. */
#ifndef WICK_KERNELS_KERNELS_H
#define WICK_KERNELS_KERNELS_H

#include "base/base.h"
#include "kernels/elementwise/table.h"

/* The types kernels compute in. */
typedef enum wick_ctype {
    WICK_CF32,
    WICK_CF64,
    WICK_CI32,
    WICK_CI64,
    WICK_CU64,
    WICK_CBOOL,
    WICK_CTYPE_COUNT
} wick_ctype;
/* f16, bf16, f8 -> f32; i8 i16 u8 u16, packed ones -> i32; u32 -> u64; the rest are their own. Bool registers hold
 * bytes 0 or 1. */
wick_ctype wick_ctype_of(wick_dtype dtype);
size_t wick_ctype_size(wick_ctype type);
/* One step of what is computed in type: CF64, or CF32 by rounding the step's double. */
static inline double wick_rounded_to(wick_ctype type, double v) { return type == WICK_CF64 ? v : (double)(float)v; }

#define WICK_EW_ENUM(name, ...) WICK_EW_##name,
typedef enum wick_ew { WICK_EW_TABLE(WICK_EW_ENUM) WICK_EW_COUNT } wick_ew;

typedef enum wick_red { WICK_RED_SUM, WICK_RED_PROD, WICK_RED_MAX, WICK_RED_MIN, WICK_RED_COUNT } wick_red;

/* Whether row `op` exists for inputs of type t (for where: type of b and c). */
bool wick_ew_has(wick_ew op, wick_ctype t);

/* ---- fused elementwise programs, optionally ending in a reduction --------------------------------------------------
 *
 * A program runs over an iteration space of up to 8 dims, block by block, so that intermediates stay in L1. Registers
 * hold a block of one ctype each: 0..n_in-1 are the inputs as loaded (converted to their ctype), then instruction
 * results. An instruction is a table row, or WICK_FUSED_CAST. */
#define WICK_FUSED_CAST                                                                                                \
    0xffff /* dst type = `to`; float to integer truncates toward zero and saturates, NaN gives 0; x to bool is x != 0  \
            */
#define WICK_FUSED_MAX_OPS 64
#define WICK_FUSED_MAX_IO 24

typedef struct wick_fused_instr {
    uint16_t op;         /* wick_ew or WICK_FUSED_CAST */
    uint8_t type;        /* wick_ctype of the inputs (of b and c for where) */
    uint8_t to;          /* wick_ctype of the result */
    uint8_t dst, src[3]; /* registers */
} wick_fused_instr;

typedef struct wick_fused_io {
    /* wick_dtype in memory; converted to and from its ctype. Storing to a narrower integer wraps. */
    uint8_t dtype;
    uint8_t reg;                   /* outputs: the register to store. inputs: its own index */
    int64_t strides[WICK_MAX_DIMS]; /* elements, one per iteration dim; 0 broadcasts */
} wick_fused_io;

/* How prepare laid a program out; private to fused/, explained where it is made (fused/prepare.c). */
typedef struct wick_fused_layout {
    int64_t total, task_items, units, chunks, cols, tile, tiles, reduced, chunk_group;
    int64_t in_run[WICK_FUSED_MAX_IO], in_period[WICK_FUSED_MAX_IO], out_run[WICK_FUSED_MAX_IO];
    size_t slot_stride, in_offset[WICK_FUSED_MAX_IO], raw_offset, lanes_offset, results_offset;
    uint8_t in_kind[WICK_FUSED_MAX_IO], mode, program, streams, far, planes;
    uint8_t reach[WICK_FUSED_MAX_IO]; /* of a reduction whose lines may be machine code (fused/native.c) */
    uint8_t slot[WICK_FUSED_MAX_IO + WICK_FUSED_MAX_OPS], last_use[WICK_FUSED_MAX_IO + WICK_FUSED_MAX_OPS];
    int n_unit, lane_rows, space, out_rank, part;
    uint32_t transposed; /* inputs, a bit each */
    int64_t out_dims[WICK_MAX_DIMS], out_strides[WICK_MAX_DIMS];
} wick_fused_layout;

typedef struct wick_fused {
    int rank; /* iteration dims, outermost first */
    int64_t dims[WICK_MAX_DIMS];
    int n_in, n_out, n_instr, n_reg;
    wick_fused_io in[WICK_FUSED_MAX_IO], out[WICK_FUSED_MAX_IO];
    wick_fused_instr instr[WICK_FUSED_MAX_OPS];
    /* With a reduction n_out is 1, and the dims are ordered: n_keep kept dims, n_red reduced dims, then the rest kept
     * (so a row reduction has no trailing dims, a column sum has no leading ones). out[0].strides are 0 on reduced
     * dims. The result is multiplied by `scale` when scale != 1 (mean; float types only). The sum of nothing is 0, the
     * product 1, the largest of nothing is an error that the caller has already refused. max and min propagate NaN.
     * Order of summation is fixed by the problem size: 64 lanes interleaved per chunk, chunks combined pairwise. */
    bool reduces;
    uint8_t red; /* wick_red */
    int n_keep, n_red;
    double scale;
    /* 0; or how many such programs there are beside each other, of one column each: the order of sums, and whether
     * results stay in caches, is that of all of them as one */
    int64_t columns;

    /* filled by wick_fused_prepare */
    int64_t tasks;   /* stage 0 */
    int64_t tasks2;  /* stage 1: combining partial results; 0: none */
    size_t partials; /* bytes shared by the stages; 0: none */
    size_t scratch;  /* bytes that each worker needs */
    int block;       /* elements per block */
    wick_fused_layout layout;
} wick_fused;

/* Collapses dims that all operands walk alike, chooses block and tasks. Call once after filling; deterministic. */
void wick_fused_prepare(wick_fused *f);
/* A way to compute that there is and that was not taken, and the reason. Texts are constants. */
typedef struct wick_rejected {
    const char *kernel, *why;
} wick_rejected;
enum { WICK_REJECTED = 8 }; /* the most of one step */
/* Of a prepared program: the way it runs, and by the same tests the others, as all functions _rejected below: how many,
 * into out. */
const char *wick_fused_name(const wick_fused *f);
int wick_fused_rejected(const wick_fused *f, wick_rejected *out);
/* ptr: n_in input pointers, then n_out output pointers (each at the element of index 0). An output may be the same
 * memory as an input only if both walk it with the same strides and dtype. Runs tasks [begin, end) of the stage. */
void wick_fused_run(const wick_fused *f, int stage, int64_t begin, int64_t end, void *const *ptr, void *partials,
                    void *scratch);

/* Converts and copies between any dtypes and strides; runs [begin, end) of wick_copy_tasks(). Same conversion rules as
 * WICK_FUSED_CAST between ctypes and as storing to memory. Packed dtypes are contiguous, and so is what they are
 * converted from or to; the rest of the last byte is zeroed. */
typedef struct wick_copy {
    int rank;
    int64_t dims[WICK_MAX_DIMS], src_strides[WICK_MAX_DIMS], dst_strides[WICK_MAX_DIMS];
    wick_dtype src, dst;
} wick_copy;
int64_t wick_copy_tasks(const wick_copy *c);
const char *wick_copy_name(const wick_copy *c);
int wick_copy_rejected(const wick_copy *c, wick_rejected *out);
void wick_copy_run(const wick_copy *c, int64_t begin, int64_t end, const void *src, void *dst);

/* ---- argmax, argmin over the middle of [outer, n, inner], contiguous input, i64 output; first of ties; NaN wins ----
 */
void wick_arg_reduce(wick_ctype type, bool largest, int64_t n, int64_t inner, int64_t outer_begin, int64_t outer_end,
                     const void *src, int64_t *dst);

/* ---- matrix products: C = A B (+ C) for f32 and f64, C = A B for bf16 and f16 ---------------------------------------
 *
 * A is m x k with strides (a_row, a_col), B is k x n with (b_row, b_col), C is m x n with row stride c_row and column
 * stride 1. All transposes and views are strides. Stage 0 packs B into `packed` (tasks_pack tasks; 0 when B is used in
 * place), stage 1 computes tiles of C. Each element of C is one fixed order of FMAs (base tier: multiply, add) over k
 * in blocks of kc, whatever the tasks. k = 0 gives zeros (or C unchanged). */
typedef struct wick_gemm {
    wick_ctype type; /* WICK_CF32 or WICK_CF64 */
    int64_t m, n, k;
    int64_t a_row, a_col, b_row, b_col, c_row;
    bool accumulate; /* C += A B */
    /* C is square and symmetric, and what lies above its diagonal is not wanted: tiles that are all there are left out
     */
    bool lower;
    uint8_t precision; /* wick_f32_precision: which ways to multiply f32 may be taken */
    /* B is packed once, for many products: stage 0 always packs it (f16, and bf16 without dot products: never) */
    bool keep;
    /* B is the same in all of them: stage 0 packs it if it has to be packed at all, however few rows there are */
    bool b_constant;
    /* 0, or the dtype of A and B: WICK_BF16 or WICK_F16. Then type is WICK_CF32, in which sums are made; C and bias are
     * of result, that dtype or WICK_F32; and C is not accumulated. With a bias and a narrow result, A B is rounded to
     * it first: the same as two ops. */
    uint8_t narrow, result;
    /* epilogue, applied to the tile while it is in cache: C = act(A B + bias) */
    int8_t bias; /* 0 none, 1 a vector of n (per column), 2 a vector of m (per row) */
    bool relu;

    /* filled by wick_gemm_prepare */
    int64_t tasks_pack, tasks;
    size_t packed;  /* bytes shared by the stages */
    size_t scratch; /* bytes that each worker needs */
    int64_t kc, mc, nc;
    uint32_t how; /* which operands are packed or swapped: gemm.c's own */
    const struct wick_gemm_kernel *kernel;
    const struct wick_amx_kernel *amx; /* not NULL: by tiles, */
    uint8_t parts;                     /* of an f32 that became a sum of this many bf16 */
} wick_gemm;
/* Uses the current tier. threads_hint must not change bits; there is none. */
void wick_gemm_prepare(wick_gemm *g);
/* Before it is prepared: B's columns are contiguous, and a copy of B whose rows are, made once for many products, would
 * be faster and give the same bits. */
bool wick_gemm_wants_rows(const wick_gemm *g);
void wick_gemm_pack(const wick_gemm *g, int64_t begin, int64_t end, const void *b, void *packed);
void wick_gemm_run(const wick_gemm *g, int64_t begin, int64_t end, const void *a, const void *b, const void *bias,
                   void *c, const void *packed, void *scratch);
/* Of a prepared one: which rows and columns of C, first and end, a task makes. false: not told. */
bool wick_gemm_task_block(const wick_gemm *g, int64_t task, int64_t rows[2], int64_t cols[2]);
const char *wick_gemm_name(const wick_gemm *g); /* "gemm_f32_nt_14x32_avx512" */

/* Of a prepared product: how many, into out. By the same tests as wick_gemm_prepare. */
int wick_gemm_rejected(const wick_gemm *g, wick_rejected *out);

/* Rows [begin, end) of C = A B for i32, i64 and u64, which wrap; A has any strides, B and C are contiguous. */
void wick_matmul_integers(wick_ctype type, int64_t begin, int64_t end, int64_t n, int64_t k, int64_t a_row,
                          int64_t a_col, const void *a, const void *b, void *c);

/* ---- products of 8-bit integers: matrices, and convolutions of channels-last images ---------------------------------
 *
 *     s[i, j] = sum over p < k of (a[i, p] - a_zero) (b[p, j] - b_zero[j])     in 32 bits, which wrap: the same bits
 *         however it is computed
 *
 * I32: c = s. With scale[j] = a_scale b_scale[j]:
 * F32: c = s scale[j] + bias[j]
 * U8, I8: c = zero + round(clamp((s + bias[j]) (scale[j] / c_scale))), to nearest even, all in f32 but for the sum; the
 * bias is i32, or f32 and then rounded to whole scale[j]. The bounds are those of the dtype, and of real numbers low
 * and high.
 *
 * A matrix A [m, k] and B [k, n] have any strides; batches of products follow each other in tasks. Of a convolution, A
 * is x, whose rows are the pixels that an output reads (a_zero outside of the image), and B is w [groups * co, ci,
 * kernel]. Stage 0 packs B (and what stands beside it), stage 1 makes C. */
typedef enum wick_int8_result { WICK_INT8_I32, WICK_INT8_F32, WICK_INT8_U8, WICK_INT8_I8 } wick_int8_result;
typedef struct wick_int8 {
    bool a_signed, b_signed, has_b_zero;
    wick_int8_result result;
    bool b_zero_each, b_scale_each, bias_is_f32, has_bias; /* each: by column (output channel), else one for all */
    double low, high;
    /* of one product: convolutions: pixels of an image, outputs of a group, inputs of a group times taps */
    int64_t m, n, k;
    int64_t a_row, a_col, b_row, b_col;      /* matrices */
    int64_t b_count;                         /* B's that are packed: of a batch, or groups */
    bool conv;
    bool keep; /* B is packed once, for many products */
    int64_t batch, groups, ci, in[3], out[3], kernel_dims[3], stride[3], dilation[3], pad[3];

    /* filled by wick_int8_prepare */
    int64_t tasks_pack, tasks; /* of one B; of one product, all groups of an image */
    size_t packed, scratch_pack, scratch; /* packed: bytes of one B */
    int64_t rows, cols, padded; /* of a task; of k */
    bool in_place, row_sums, depthwise;
    int64_t pieces, piece; /* of a row of A, and elements of one, as tiles read it */
    /* convolutions but AMX's: outputs of a task; depthwise: pixels that a vector of channels holds; columns that are
     * packed */
    int64_t task_y, task_x, fold, packed_width;
    bool few; /* rows, for which nothing is packed: wick_int8_run reads d->b and what stands by columns */
    bool own; /* there is no stage 0: a task of wick_int8_run packs the panels of d->b that it takes */
    size_t at_columns, at_sums, at_tile, at_taps, at_raw, at_panel;
    const struct wick_int8_kernel *kernel;
    const struct wick_amx_kernel *amx; /* NULL: tiles of the kernel */
} wick_int8;
typedef struct wick_int8_data { /* NULL: not there */
    const void *a, *b, *a_zero, *b_zero; /* zero points are of the dtypes of a and b */
    const float *a_scale, *b_scale, *c_scale;
    const void *c_zero, *bias;
    void *c, *packed;
} wick_int8_data;
/* Uses the current tier and the CPU's extensions. */
void wick_int8_prepare(wick_int8 *p);
/* Tasks [begin, end) of B number `which`, of b_count; d->b is at that B for matrices, at all weights for convolutions;
 * packed at the first. */
void wick_int8_pack(const wick_int8 *p, int64_t which, int64_t begin, int64_t end, const wick_int8_data *d,
                    void *scratch);
/* Tasks of one product: a, c and packed are its own (convolutions: an image's, and the first group's B). */
void wick_int8_run(const wick_int8 *p, int64_t begin, int64_t end, const wick_int8_data *d, void *scratch);
const char *wick_int8_name(const wick_int8 *p);
int wick_int8_rejected(const wick_int8 *p, wick_rejected *out);

/* C = A W^T + bias in f32, of weights of 4 bits in blocks along k, each with a scale and a zero point:
 *
 *   W[n][p] = (q[n][p] - zero[n][p / block]) scale[n][p / block]
 *
 * q [n][blocks][block / 2] bytes, an even p in the low bits, what lies beyond k whatever it is; scales [n][blocks];
 * zeros [n][(blocks + 1) / 2] bytes, likewise, or NULL for 8. A [m][k] and C [m][n] are row-major. Order of sums: of up
 * to 4 rows a chain over the 8 numbers of each word of 32 bits, times the scale, lane by lane (words as many apart as
 * the tier has lanes), lanes then in pairs. Of more rows that of wick_gemm over W in f32. With f64, A, C and bias are
 * such, and W is rounded to f32 nevertheless: plain loops. */
typedef struct wick_int4 {
    int64_t m, n, k, block; /* block: a power of 2, 16 at least */
    bool f64;

    /* filled by wick_int4_prepare */
    int64_t tasks;
    size_t scratch;
    int64_t rows, cols, kc; /* of a task; a block of k */
    const struct wick_int4_kernel *kernel;
    const struct wick_gemm_kernel *tiles;
} wick_int4;
typedef struct wick_int4_data {
    const void *a, *bias; /* bias NULL: none */
    const float *scales;
    const uint8_t *q, *zeros;
    void *c;
} wick_int4_data;
/* Uses the current tier. */
void wick_int4_prepare(wick_int4 *p);
void wick_int4_run(const wick_int4 *p, int64_t begin, int64_t end, const wick_int4_data *d, void *scratch);
/* Rows [begin, end) of W in f32, to c [n][k]. Needs no wick_int4_prepare. */
void wick_int4_dequantize(const wick_int4 *p, int64_t begin, int64_t end, const wick_int4_data *d);
const char *wick_int4_name(const wick_int4 *p);
int wick_int4_rejected(const wick_int4 *p, wick_rejected *out);

/* ---- convolutions: f32 and f64, contiguous, channels last; dims are always three, leading ones 1 --------------------
 *
 * x is [batch, in, groups * ci], w is [groups * co, ci, kernel], y is [batch, out, groups * co]; channels of one group:
 *
 *     y[n, p, o] = sum over c < ci and k of x[n, p * stride - pad + k * dilation, c] w[o, c, k]    (x is 0 outside)
 *
 * what: which of the three is made from the other two. DATA and WEIGHT are the gradients, and DATA the transposed
 * convolution. Stage 0 packs weights, stage 1 computes, stage 2 adds up parts (WEIGHT); tasks[] of a stage may be 0. */
typedef enum wick_conv_what { WICK_CONV_FORWARD, WICK_CONV_DATA, WICK_CONV_WEIGHT } wick_conv_what;
typedef struct wick_convolution {
    wick_ctype type; /* WICK_CF32 or WICK_CF64 */
    wick_conv_what what;
    int64_t batch, groups, ci, co;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3];
    bool bias, relu; /* FORWARD: y = act(y + bias[o]) */
    /* Row-major instead of channels last, where wick_conv_takes_planes: x (of DATA y), and the other one of x and y */
    bool planes[2];

    /* filled by wick_conv_prepare */
    int64_t tasks[3];
    size_t shared;  /* bytes between the stages */
    size_t scratch; /* bytes that each worker needs */
    /* conv.c's own: slabs of rows outputs along dim cut; units of work; parts of the batch that a unit of WEIGHT takes,
     * and of the taps, else of the output channels; where things are in the scratch. Prepared once, dims may have been
     * merged. */
    int64_t cut, rows, slabs, units, per_task, chunks, splits, block, blocks;
    size_t at_taps, at_rows, at_panel, at_finite, at_more;
    bool depthwise, winograd;
    bool few;   /* FORWARD: few channels to few outputs, from planes */
    bool whole; /* DATA with a stride: all phases at once */
    bool runs;  /* depthwise: units make pixels that lie one after the other */
    bool nontemporal;  /* depthwise: results are written past the caches, since nothing of them would stay there */
    bool ahead; /* depthwise: what is read next is asked for, since it may come from memory */
    const struct wick_conv_kernel *code;
    const struct wick_gemm_kernel *gemm;
} wick_convolution;
/* Of the shapes and the tier: whether images may be row-major: planes[which]. */
bool wick_conv_takes_planes(const wick_convolution *c, int which);
void wick_conv_prepare(wick_convolution *c);
/* a, b: the two given ones, x before w, y before w, x before y. dst: the third. */
void wick_conv_run(const wick_convolution *c, int stage, int64_t begin, int64_t end, const void *a, const void *b,
                   const void *bias, void *dst, void *shared, void *scratch);
/* Of a prepared one: whether each task of stage 1 can make whole pixels, of all channels, that lie one after the other.
 * After wick_conv_make_pixels, which may cut it into other tasks, unit u of a task (those from task * per_task on,
 * per_task of them, below units) makes pixels [*first, *first + *count) of all images. */
bool wick_conv_makes_pixels(const wick_convolution *c);
void wick_conv_make_pixels(wick_convolution *c);
void wick_conv_unit_pixels(const wick_convolution *c, int64_t unit, int64_t *first, int64_t *count);
const char *wick_conv_name(const wick_convolution *c); /* "conv_f32_14x32_avx512" */
int wick_conv_rejected(const wick_convolution *c, wick_rejected *out); /* as wick_gemm_rejected */

/* ---- pooling: f32 and f64, contiguous planes, or images with channels last, of three dims (leading ones 1) ----------
 *
 * Output o of a dim looks at inputs o * stride - pad + k * dilation, k < kernel, those that exist; adaptive: at
 * [floor(o * in / out), ceil((o + 1) * in / out)). NaN is the largest. Each function runs planes or images [begin,
 * end). */
typedef struct wick_windows {
    wick_ctype type;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
    bool adaptive;
    bool inside;      /* averages are over inputs that exist, not over padding too */
    bool far;         /* images come from memory: the next are asked for */
    int64_t channels; /* of images that have them last; 0: planes of one */
} wick_windows;
size_t wick_windows_scratch(const wick_windows *w); /* bytes that each worker needs, for max and mean */
void wick_windows_max(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y, void *scratch);
void wick_windows_mean(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y, void *scratch);
/* With i the first of the largest in a window of x (the last NaN): y = v[i], and v[i] += y over zeros. */
void wick_windows_pick(const wick_windows *w, int64_t begin, int64_t end, const void *x, const void *v, void *y);
/* on this tier: y is written to v, and not added to zeros: the sign of a zero stays */
bool wick_windows_put_copies(const wick_windows *w);
void wick_windows_put(const wick_windows *w, int64_t begin, int64_t end, const void *x, const void *y, void *v);
/* y = i, in its plane; planes only; -1: none */
void wick_windows_index(const wick_windows *w, int64_t begin, int64_t end, const void *x, int64_t *y);
/* The transpose of mean: every input gets the sum of y / count of its windows. */
void wick_windows_share(const wick_windows *w, int64_t begin, int64_t end, const void *y, void *v);
const char *wick_windows_name(const wick_windows *w, bool max);
int wick_windows_rejected(const wick_windows *w, bool max, wick_rejected *out);

/* ---- weighted sums along an axis: x is [outer, in, inner], y is [outer, out, inner], contiguous ---------------------
 *
 * y[n, o] = sum over k in [start[o], start[o + 1]) of weight[k] x[n, index[k]], in order; of nothing it is fill. copy:
 * of any elements, `elem` bytes each; the first tap is copied, weights are not looked at. Both run the rows [begin,
 * end) of outer * out. */
typedef struct wick_resample {
    wick_ctype type; /* WICK_CF32 or WICK_CF64; of the weights too */
    size_t elem;     /* copy only */
    int64_t outer, in, out, inner;
    int64_t uniform; /* taps of every output; 0: they differ */
    const int32_t *start, *index;
    const void *weight;
    double fill;
    uint64_t fill_bits; /* copy: as it is in memory */
} wick_resample;
void wick_resample_run(const wick_resample *r, int64_t begin, int64_t end, const void *x, void *y);
void wick_resample_copy(const wick_resample *r, int64_t begin, int64_t end, const void *x, void *y);

/* ---- kernels over rows: x is rows x cols, contiguous; f32 or f64; a range of rows. past: y is written past the
 * caches, where it is aligned and a row fits L1 ---- */
void wick_softmax_rows(wick_ctype type, bool log, bool nontemporal, int64_t begin, int64_t end, int64_t cols,
                       const void *x, void *y);
/* (x - mean) * rstd * weight + bias; weight, bias (cols, or NULL); mean and rstd (one per row) are written.
 * Variance is the biased one, in two passes over the row; rstd = 1 / sqrt(var + eps). mean NULL: nothing is subtracted,
 * and the variance is the mean of the squares: RMS norm. */
void wick_layer_norm_rows(wick_ctype type, bool nontemporal, int64_t begin, int64_t end, int64_t cols, double eps,
                          const void *x, const void *weight, const void *bias, void *y, void *mean, void *rstd);
/* loss[r] = logsumexp(x[r]) - x[r][label[r]]; probs (NULL or rows x cols) gets softmax(x). labels are i64.
 * Returns -1, or the first row whose label is outside [0, cols): that row's outputs are then 0. */
int64_t wick_nll_rows(wick_ctype type, int64_t begin, int64_t end, int64_t cols, const void *x, const int64_t *label,
                      void *loss, void *probs);
/* After wick_nll_rows on the same rows: loss[r] becomes the sum over c of q[c] (logsumexp(x[r]) - x[r][c]), where q[c]
 * = (1 - smoothing) w[c] at the label and smoothing / cols w[c] everywhere; weight w: cols, or NULL for ones. Rows
 * whose label is *ignored (or NULL) get zeros. Returns -1, or the first row whose label is neither a class nor that. */
int64_t wick_nll_targets_rows(wick_ctype type, int64_t begin, int64_t end, int64_t cols, const void *x,
                              const int64_t *label, const void *weight, double smoothing, const int64_t *ignored,
                              void *loss, void *probs);

/* ---- recurrent cells: f32 and f64 -----------------------------------------------------------------------------------
 *
 * The time loop of a layer, forward or backward. What every step gets from its input (x W' + b) is given as x; the loop
 * adds h W'. With G gates of H units and S saved rows of H:
 *
 *   RNN     G 1: h = act0(a)                                                                            S 0
 *   LSTM    G 4, i f g o: c = f c + i g, h = o act2(c); i, f, o by act0, g by act1; peepholes i, f, o   S 4: i f g o
 *   GRU     G 3, r z n: n = act1(x + r (h W' + bias)), h = (1 - z) n + z h; r, z by act0
 *                                                                                             S 4: r z n, h W' + bias
 *   GRU_RESET_FIRST     n = act1(x + (r h) W')                                                          S 4: r z n, r h
 *
 * Sequences are rows of [directions, width]; step t of sample b is row t * step + b * row. Directions and blocks of
 * samples are tasks, each with a time loop of its own: no step waits for another task. Stage 0 packs the weights, stage
 * 1 runs. */
typedef enum wick_cell {
    WICK_CELL_RNN,
    WICK_CELL_LSTM,
    WICK_CELL_GRU,
    WICK_CELL_GRU_RESET_FIRST,
    WICK_CELL_COUNT
} wick_cell;
enum {
    WICK_CELL_SIGMOID,
    WICK_CELL_TANH,
    WICK_CELL_RELU,
    WICK_CELL_HARD_SIGMOID,
    WICK_CELL_SOFTSIGN,
    WICK_CELL_IDENTITY,
    WICK_CELL_ACTS
};
typedef struct wick_recurrent {
    wick_ctype type; /* WICK_CF32 or WICK_CF64 */
    wick_cell cell;
    bool backward, coupled; /* coupled: f = 1 - i */
    int64_t steps, batch, hidden, directions;
    bool reverse[2];            /* by direction: time runs from the end */
    uint8_t act[2][4];          /* by direction */
    double clip;                /* of what goes into act (not of c), to +-clip; 0: none */
    int64_t x_step, x_row;      /* of x, in elements; its rows are contiguous */
    int64_t step, row;          /* of all other sequences, in rows */

    /* filled by wick_recurrent_prepare */
    int64_t tasks_pack, tasks, block, blocks, pack_split; /* samples of a block */
    size_t packed, scratch;
    size_t packed_each[2];
    int64_t h_stride, g_stride;
    int products;
    wick_gemm product[2][2]; /* by product, for whole blocks and for the last */
} wick_recurrent;
/* NULL: not wanted, or zero. Results of the forward run are inputs of the backward one */
typedef struct wick_recurrent_data {
    const void *x, *w, *h0, *c0; /* w [directions, G H, H]; h0, c0 [directions, batch, H] */
    const void *peephole;        /* [directions, 3 H]: i, f, o */
    const void *bias;            /* GRU: [directions, H] */
    const int64_t *lengths;      /* steps of each sample, 0 to steps. After them results are 0 and states stay */
    void *y, *h, *c;             /* h, c: states after the last step */
    void *gates, *c_prev, *h_prev; /* saved; the states that each step started from. RNN: gates is y */
    const void *gy, *gh, *gc, *ggates, *gc_prev, *gh_prev; /* gradients of the results */
    void *dx, *dh0, *dc0;
    void *dside; /* GRU: the gradient of h W' + bias, [directions, 3 H]; it differs from dx in n */
    void *packed;
} wick_recurrent_data;
int wick_cell_gates(wick_cell cell);
void wick_recurrent_prepare(wick_recurrent *r);
/* Of its products, and of the rows between them; peephole, ggates: whether the data will have them. */
const char *wick_recurrent_name(const wick_recurrent *r);
int wick_recurrent_rejected(const wick_recurrent *r, bool peephole, bool ggates, wick_rejected *out);
void wick_recurrent_pack(const wick_recurrent *r, int64_t begin, int64_t end, const void *w, void *packed);
void wick_recurrent_run(const wick_recurrent *r, int64_t begin, int64_t end, const wick_recurrent_data *d,
                        void *scratch);
/* ---- Fourier transforms of rows: f32 and f64, any length ------------------------------------------------------------
 *
 * COMPLEX     y[k] = scale * sum over j < n of x[j] exp(-+2 pi i j k / n)      x, y: n pairs (re, im); + when inverse
 * REAL        the same of n real numbers, for k <= n / 2; times `inner` for all k but 0 and n / 2
 * HERMITIAN   n real numbers y[j] = scale * sum over all k of x[k] exp(+2 pi i j k / n), where x has k <= n / 2, as
 *             written by REAL, and is taken times `inner` for all k but 0 and n / 2, whose imaginary parts are passed
 *             over; x[n - k] is conj(x[k])
 *
 * Rows are contiguous, n is below 2^30; with `columns`, of COMPLEX ones that wick_fft_takes_columns, x and y are [., n,
 * columns] pairs of which columns are transformed as they lie, a column each lane. Lengths with prime factors up to 13
 * go by mixed radix in two steps of about sqrt(n) (Bailey 1990), or, if short, several rows at once; others by
 * Bluestein's convolution (1970) with a power of two. */
typedef enum wick_fourier_what { WICK_FFT_COMPLEX, WICK_FFT_REAL, WICK_FFT_HERMITIAN } wick_fourier_what;
typedef struct wick_fft_passes { /* a transform of n along columns: what fft.c and the tiers share */
    int64_t n, block;            /* columns taken together */
    int n_radix;
    int radix[64];
    size_t twiddles; /* in the table, as all places: elements */
} wick_fft_passes;
typedef struct wick_fourier {
    wick_ctype type; /* WICK_CF32 or WICK_CF64 */
    wick_fourier_what what;
    bool inverse; /* COMPLEX */
    int64_t n, rows, columns; /* rows: how many transforms; columns: 0, or how many of them lie side by side */
    double scale, inner;

    /* filled by wick_fft_prepare */
    int64_t places; /* of rows: with columns, those of one x are filled up to whole vectors */
    int64_t unit; /* places that are computed together: ranges of places start at multiples */
    size_t table; /* bytes of constants, filled by wick_fft_tables */
    size_t scratch;
    double flops; /* of a row: 5 n log2 n by convention, half for real ones */
    int64_t core, size;              /* complex numbers transformed; size: core, or Bluestein's power of two */
    bool batch;                      /* `unit` rows at once, one each lane; else size is passes[0].n * passes[1].n */
    wick_fft_passes passes[2];
    size_t at_middle, at_untangle, at_chirp, at_filter, cap, cap_block; /* in elements */
    const struct wick_fft_kernel *kernel;
} wick_fourier;
/* May columns of n be transformed as they lie? Of other lengths they are to be made rows. */
bool wick_fft_takes_columns(int64_t n);
/* Uses the current tier. n > 0. */
void wick_fft_prepare(wick_fourier *f);
void wick_fft_tables(const wick_fourier *f, void *table);
void wick_fft_run(const wick_fourier *f, int64_t begin, int64_t end, const void *x, void *y, const void *table,
                  void *scratch);
const char *wick_fft_name(const wick_fourier *f);
/* Row `row` of y [rows, t] becomes the sum of frames x[row] [frames, n], each `hop` behind the one before; f32 and f64.
 */
void wick_overlap_add_row(wick_ctype type, int64_t frames, int64_t n, int64_t hop, int64_t t, int64_t row,
                          const void *x, void *y);

/* ---- connectionist temporal classification (Graves et al. 2006) -----------------------------------------------------
 *
 * log_probs [steps, batch, classes] contiguous, f32 or f64; sums in f64. Labels of sample n start at n * most, or, with
 * most < 0, where those of the samples before end. Samples [begin, end): loss[n] = -log P(labels), and, where they are
 * not NULL, dlog_probs gets its gradient. A sample whose lengths or labels are impossible is passed over; -1, or the
 * first. */
typedef struct wick_ctc {
    wick_ctype type;
    int64_t steps, batch, classes, most, room, blank; /* room: most labels that a sample has */
    bool zero_infinity;
} wick_ctc;
size_t wick_ctc_scratch(const wick_ctc *c);
int64_t wick_ctc_run(const wick_ctc *c, int64_t begin, int64_t end, const void *log_probs, const int64_t *labels,
                     const int64_t *steps_of, const int64_t *labels_of, void *loss, void *dlog_probs, void *scratch);

/* ---- sliding windows put back, and places of planes -----------------------------------------------------------------
 *
 * y[o, c step + k dilation, i] += x[o, c, i, k] over zeros, in the order of c, then k; o in [begin, end). x is [outer,
 * count, inner, size], y is [outer, extent, inner]. */
typedef struct wick_window_sum {
    wick_ctype type; /* WICK_CF32 or WICK_CF64 */
    int64_t extent, count, inner, size, step, dilation;
} wick_window_sum;
void wick_window_sum_run(const wick_window_sum *w, int64_t begin, int64_t end, const void *x, void *y);
/* Planes of n values with a place each in planes of `extent`, planes [begin, end). put: y[index] = x, the last of those
 * with one place; zeros elsewhere. take: x = y[index] for those that put kept, 0 for the others; scratch: extent int64.
 * Returns -1, or the first place outside. */
int64_t wick_plane_put(size_t elem, int64_t begin, int64_t end, int64_t n, int64_t extent, const void *x,
                       const int64_t *index, void *y);
int64_t wick_plane_take(size_t elem, int64_t begin, int64_t end, int64_t n, int64_t extent, const void *y,
                        const int64_t *index, void *x, int64_t *scratch);

/* ---- weighted sums of rows by index: x is [images, places, channels], index and weight [images, taps, rows], y
 * [images, rows, channels] ---- An index outside [0, places) counts for nothing. The three are the derivatives of sum
 * over everything of weight x[index] y, by each. */
typedef struct wick_taps {
    wick_ctype type; /* WICK_CF32 or WICK_CF64 */
    int64_t images, places, channels, rows, taps;
    int64_t parts; /* put: an image's places are cut into so many units */
} wick_taps;
/* rows of images * rows */
void wick_taps_sum(const wick_taps *t, int64_t begin, int64_t end, const void *x, const int64_t *index,
                   const void *weight, void *y);
/* units of images * parts */
void wick_taps_put(const wick_taps *t, int64_t begin, int64_t end, const void *y, const int64_t *index,
                   const void *weight, void *x);
/* rows */
void wick_taps_dot(const wick_taps *t, int64_t begin, int64_t end, const void *x, const int64_t *index, const void *y,
                   void *weight);

/* ---- boxes of fields: x is [images, channels, height, width], y [boxes, channels, out], boxes are x1, y1, x2, y2 ----
 */
typedef struct wick_roi {
    wick_ctype type, box_type; /* WICK_CF32 or WICK_CF64 */
    /* samples of a bin, each way; 0: as many as elements, rounded up */
    int64_t images, channels, height, width, boxes, out[2], samples;
    double scale;                                                   /* elements per unit of the boxes */
    /* half an element back; boxes may be smaller than one */
    bool aligned;
} wick_roi;
/* The mean (or the largest part of a sample) of each bin, boxes [begin, end); and the gradient of the mean, channels
 * [begin, end). They return -1, or the first box that is of no image. */
int64_t wick_roi_bins(const wick_roi *r, bool max, int64_t begin, int64_t end, const void *x, const void *boxes,
                      const int64_t *image, void *y);
int64_t wick_roi_put(const wick_roi *r, int64_t begin, int64_t end, const void *y, const void *boxes,
                     const int64_t *image, void *x);
/* Boxes [images, boxes, 4] by falling scores [images, classes, boxes], without those that overlap a kept one by more
 * than `overlap` of their union: at most `most` for each class of an image, -1 after the last. scratch: boxes int64.
 * Runs rows [begin, end) of images * classes. */
typedef struct wick_suppression {
    wick_ctype type;
    int64_t classes, boxes, most;
    double overlap, least; /* by_score: only scores above `least` */
    bool by_score, center; /* center: boxes are x, y of their middle, and sizes; otherwise two opposite corners */
} wick_suppression;
void wick_suppress(const wick_suppression *s, int64_t begin, int64_t end, const void *boxes, const void *scores,
                   int64_t *kept, int64_t *count, int64_t *scratch);

/* ---- indexing -------------------------------------------------------------------------------------------------------
 * Elements are opaque, `elem` bytes each. Negative indices count from the end. Returns -1, or the position in `index`
 * of the first one outside [-n, n), whose elements are then left zero (gather) or skipped (scatter). */
/* dst[o][i][inner] = src[o][index[i]][inner] for o in [begin, end): src is [outer, n, inner], index has count entries.
 * past: dst is part of more than caches keep. */
int64_t wick_gather_rows(size_t elem, int64_t begin, int64_t end, int64_t n, int64_t inner, int64_t count,
                         const void *src, const int64_t *index, void *dst, bool nontemporal);
/* The same of slices of `size` bytes, from one row of them; `more` indices follow these `count`, and what they name is
 * asked for. */
int64_t wick_gather_some(size_t size, int64_t n, int64_t count, int64_t more, const void *src, const int64_t *index,
                         void *dst);

/* An index of the shape of what is read or written, but for the extent of the data along the axis: with i a position in
 * it and i' the same with index[i] along the axis, reads are other[i] = data[i'], writes data[i'] = how(data[i'],
 * other[i]) in the order of the axis. All have strides of their own. SET takes any elements of 1, 2, 4 or 8 bytes, the
 * others the five arithmetic types; NaN wins max and min. */
enum { WICK_ALONG_SET, WICK_ALONG_ADD, WICK_ALONG_MUL, WICK_ALONG_MAX, WICK_ALONG_MIN };
typedef struct wick_along_dim {
    int64_t n, data, index, other; /* extent of the index, strides */
    /* stride in the row-major order of the index, without dims that it is the same along: filled by prepare */
    int64_t place;
} wick_along_dim;
typedef struct wick_along {
    int rank, axis; /* rank >= 1; the dim `axis` has the data's stride along it */
    int64_t n;      /* extent of the data along the axis */
    wick_along_dim dim[WICK_MAX_DIMS];
    size_t elem;
    wick_ctype type; /* of writes other than SET */
    uint8_t how;
    bool reads;

    /* filled by wick_along_prepare, which also merges dims */
    int64_t tasks, units, units_per_task, inner_block, inner_blocks, axis_block, axis_blocks;
    int64_t place_block, place_blocks; /* a task writes so many places of the axis */
    wick_along_dim along, inner;
} wick_along;
void wick_along_prepare(wick_along *a);
/* Returns -1, or the row-major position in the index of the first one outside [-n, n): zero is read there, nothing
 * written. */
int64_t wick_along_run(const wick_along *a, int64_t begin, int64_t end, void *data, const int64_t *index, void *other);
/* dst[i] = the place of index[i][0..n) in a row-major array of extents dims, for i in [begin, end). Returns -1, or the
 * position in index of the first one out of range. */
int64_t wick_ravel_index(int n, const int64_t *dims, int64_t begin, int64_t end, const int64_t *index, int64_t *dst);
int64_t wick_count_true(int64_t count, const uint8_t *mask);
/* The places of those that are true among elements [begin, end) of a row-major mask, rank numbers each, in order: the
 * first `size`. Returns how many there are in all. */
int64_t wick_nonzero_places(int rank, const int64_t *dims, const uint8_t *mask, int64_t begin, int64_t end,
                            int64_t size, int64_t *dst);
/* Row i of dst is row i of each part, one after the other: rows of part k have bytes[k], step[k] bytes apart. Rows
 * [begin, end) of dst, which lie together, or as many of them as are a block, each block_step bytes after the last. */
enum { WICK_JOIN_PARTS = 8 };
typedef struct wick_join {
    int n;
    int64_t rows, width, bytes[WICK_JOIN_PARTS], step[WICK_JOIN_PARTS]; /* width: the sum of bytes */
    int64_t block, block_step;                                          /* 0: all rows lie together */
} wick_join;
void wick_join_rows(const wick_join *j, int64_t begin, int64_t end, const void *const *parts, void *dst);
/* dst[i] = i for i in [begin, end), as i32 or i64. */
void wick_iota(bool wide, int64_t begin, int64_t end, void *dst);

/* ---- sorting along rows of n, contiguous; types but bool. NaN is the largest, -0 equals 0, equal elements keep their
 * order ---- */
/* The first k of each row in order: values and their places, both [rows, k]. Stages are run one after the other;
 * buffers: two of `buffer` bytes each, shared by all tasks. */
typedef struct wick_sorting {
    wick_ctype type;
    bool descending;
    int64_t rows, n, k;

    /* filled by wick_sort_prepare */
    int stages;
    int64_t tasks[64];
    size_t buffer, scratch;
    int64_t chunks, rows_per_task;
    int mode;
    bool wide;
} wick_sorting;
void wick_sort_prepare(wick_sorting *s);
const char *wick_sort_name(const wick_sorting *s);
int wick_sort_rejected(const wick_sorting *s, wick_rejected *out);
void wick_sort_run(const wick_sorting *s, int stage, int64_t begin, int64_t end, const void *x, void *values,
                   int64_t *index, void *const *buffers, void *scratch);
/* What would stand at place k (0 the smallest) of each row, and the first place it is at among equals in order; or the
 * lower median: of a row with NaN that, or of its numbers. */
typedef enum wick_kth { WICK_KTH, WICK_MEDIAN, WICK_NAN_MEDIAN } wick_kth;
size_t wick_kth_scratch(wick_ctype type, int64_t n); /* bytes that each worker needs */
void wick_kth_rows(wick_ctype type, wick_kth how, int64_t k, int64_t n, int64_t begin, int64_t end, const void *x,
                   void *values, int64_t *index, void *scratch);
/* dst[i] = how many of the n sorted are below values[i], or (right) not above it. */
void wick_search_sorted(wick_ctype type, bool right, int64_t n, const void *sorted, int64_t count, const void *values,
                        int64_t *dst);
/* Runs of equal neighbours in x: their values and lengths (zeros after the last), and inverse[order[i]] = the run of
 * x[i]. Returns how many. */
int64_t wick_equal_runs(wick_ctype type, int64_t n, const void *x, const int64_t *order, void *values, int64_t *inverse,
                        int64_t *counts);
/* dst[b] = how many x are b, i64; or with weights (of type f32 or f64) the sum of theirs, f64. Others than [0, bins)
 * are passed over. */
void wick_count_bins(wick_ctype type, int64_t n, const int64_t *x, const void *weights, int64_t bins, void *dst);
/* Bins [begin, end) of the sum of parts; as i64 (counts), or of type. */
void wick_add_bins(wick_ctype type, bool counts, int64_t parts, int64_t bins, int64_t begin, int64_t end,
                   const void *partial, void *dst);

/* ---- running sums, products and extremes over the middle of [outer, n, inner], contiguous ------------------------ */
/* SUM and PROD: f32 (accumulated in f64), f64, i64, u64. Rows longer than a chunk (of extremes too) are taken in
 * chunks, in an order that n fixes: stage 0 makes the chunks' totals, stage 1 what stands before each, stage 2 the
 * result; partials: bytes shared by the stages. LOG_SUM: the logarithm of the running sum of exponentials; MAX and MIN:
 * the five arithmetic types, with places (the last of equals); NaN stays. */
typedef enum wick_scan_kind {
    WICK_SCAN_SUM,
    WICK_SCAN_PROD,
    WICK_SCAN_LOG_SUM,
    WICK_SCAN_MAX,
    WICK_SCAN_MIN
} wick_scan_kind;
typedef struct wick_scan {
    wick_ctype type;
    wick_scan_kind kind;
    bool exclusive; /* SUM, PROD: of what stands before */
    bool reverse;   /* from the end */
    int64_t outer, n, inner;

    /* filled by wick_scan_prepare */
    int stages;
    int64_t tasks[3];
    size_t partials;
    int64_t chunk, chunks, per_task;
} wick_scan;
void wick_scan_prepare(wick_scan *s);
/* index: of MAX and MIN */
void wick_scan_run(const wick_scan *s, int stage, int64_t begin, int64_t end, const void *x, void *y, int64_t *index,
                   void *partials);

/* ---- random numbers -------------------------------------------------------------------------------------------------
 *
 * Element i comes from Philox(counter = {i/4 low, i/4 high, stream low, offset low}, key = seed ^ high halves): a
 * function of its position alone, so any range can be made by anyone. An f64 element takes two words: i/2 in place of
 * i/4. uniform is in [0, 1), 24 bits (f32) or 53 (f64); normal is Box-Muller on pairs. */
typedef struct wick_random_key {
    uint64_t seed, stream, offset;
} wick_random_key;
void wick_fill_uniform(wick_ctype type, const wick_random_key *key, int64_t begin, int64_t end, void *dst);
void wick_fill_normal(wick_ctype type, const wick_random_key *key, int64_t begin, int64_t end, void *dst);
/* dst points at element 0 in both. Only begin..end are written; begin is a multiple of 4. */
/* all 64: two words, low first */
void wick_fill_bits(const wick_random_key *key, int64_t begin, int64_t end, uint64_t *dst);

/* Element i is a function of bits[i], 64 random bits, and of its parameters. alpha = 0 gives 0, below NaN. */
void wick_draw_gamma(wick_ctype type, int64_t begin, int64_t end, const void *alpha, const uint64_t *bits, void *dst);
/* Normal numbers within [low, high]; low <= high, deviation > 0. */
void wick_draw_truncated(wick_ctype type, double mean, double deviation, double low, double high, int64_t begin,
                         int64_t end, const uint64_t *bits, void *dst);
/* [low, low + range) */
void wick_draw_integers(int64_t low, uint64_t range, int64_t begin, int64_t end, const uint64_t *bits, int64_t *dst);
/* a row each of 0 .. n - 1 */
void wick_draw_permutations(int64_t n, int64_t begin, int64_t end, const uint64_t *bits, int64_t *dst);
/* `count` of n for each of the rows, with a chance as their weights: by uniform numbers in [0, 1), as many as results
 * (choices), or one for each weight (distinct: none twice, in the order drawn). scratch: n doubles. Returns -1, or the
 * first row that has a weight below 0, NaN or Inf, or too few above 0: its results are 0. */
int64_t wick_draw_choices(wick_ctype type, int64_t begin, int64_t end, int64_t n, int64_t count, const void *weights,
                          const double *uniform, int64_t *dst, double *scratch);
int64_t wick_draw_distinct(wick_ctype type, int64_t begin, int64_t end, int64_t n, int64_t count, const void *weights,
                           const double *uniform, int64_t *dst, double *scratch);

#endif
