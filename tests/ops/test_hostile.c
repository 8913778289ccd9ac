/* Hostile arguments: every public function that gives tensors is called with random arguments, many of them wrong: axes
 * and extents out of any range, NaN, NULL, poison, wrong dtypes and shapes, results in one place. A call may be
 * refused, with a text, or give a value; never crash (CTest of a build with sanitizers sees that), run for ever, or
 * give values that depend on memory nobody wrote: two contexts, one eager, whose memory begins with different bytes,
 * must give the same bits, gradients too.
 *
 * WICK_HOSTILE=N in the environment: N times as many calls. A failure prints the function and its seed;
 * test_ops_hostile NAME runs one function alone. */
#include <float.h>
#include <limits.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <stdarg.h>

#include "base/base.h"
#include "kernels/elementwise/table.h"
#include "kernels/kernels.h"
#include "tensor/tensor.h"
#include "test.h"
#include "wick/wick.h"

enum { OUTS = 16, LEAVES = 24, CALLS = 200, MOST_MEMORY = 64 << 20, MOST_SECONDS = 10 };

/* ---- what a call is made of -------------------------------------------------------------------------------------- */

/* The shape and dtype that most arguments of a call are related to, so that many fit; and what has been made for it. */
static struct {
    wick_context *ctx;
    int rank;
    int64_t dims[WICK_MAX_DIMS];
    wick_dtype dtype;
    int64_t gates; /* of a recurrent layer */
    int n_leaves;
    wick_tensor *leaves[LEAVES]; /* floats that a gradient can be asked for */
} call;

static bool chance(int percent) { return test_rand_int(0, 99) < percent; }
#define PICK(list) (list)[test_rand() % WICK_COUNTOF(list)]

static int64_t any_extent(void) {
    static const int64_t odd[] = {INT64_MAX,
                                  INT64_MIN,
                                  INT64_MAX - 1,
                                  INT64_MIN + 1,
                                  -1,
                                  -2,
                                  -7,
                                  1 << 20,
                                  (int64_t)1 << 31,
                                  (int64_t)1 << 32,
                                  (int64_t)1 << 40,
                                  (int64_t)1 << 62,
                                  -((int64_t)1 << 40),
                                  INT_MAX,
                                  INT_MIN,
                                  100};
    return chance(80) ? test_rand_int(0, 4) : PICK(odd);
}
static int any_axis(void) {
    static const int odd[] = {8, 9, -9, 100, INT_MAX, INT_MIN, INT_MIN + 1};
    return chance(85) ? test_rand_int(-3, 3) : PICK(odd);
}
static double any_number(void) {
    static const double odd[] = {0,       -0.0,     1,       -1,     2,    NAN,   INFINITY, -INFINITY,
                                 DBL_MAX, -DBL_MAX, DBL_MIN, 1e-300, 1e18, -1e18, 1e9,      5e-324};
    return chance(60) ? test_rand_real(0, 2) : PICK(odd);
}
static int any_enum(void) { return chance(95) ? test_rand_int(0, 4) : chance(50) ? -1 : INT_MAX; }
static wick_dtype any_dtype(void) {
    static const wick_dtype usual[] = {WICK_F32, WICK_F32,  WICK_F64, WICK_I64, WICK_I32,
                                       WICK_F16, WICK_BF16, WICK_U8,  WICK_BOOL};
    return chance(85)   ? PICK(usual)
           : chance(80) ? (wick_dtype)test_rand_int(0, WICK_DTYPE_COUNT - 1)
                        : (wick_dtype)any_enum();
}

static void new_call(wick_context *ctx) {
    call.ctx = ctx;
    call.n_leaves = 0;
    call.rank = (int[]){0, 1, 2, 2, 3, 3, 4, 4, 5}[test_rand() % 9];
    int empty = -1;
    for (int k = 0; k < call.rank; k++)
        if (!(call.dims[k] = chance(95) ? test_rand_int(1, 4) : 0)) empty = k;
    /* nothing, but many times */
    if (empty >= 0 && call.rank > 1 && chance(30)) call.dims[(empty + 1) % call.rank] = (int64_t)1 << 40;
    if (call.rank > 1 && chance(40)) call.dims[call.rank - 1] = call.dims[call.rank - 2]; /* square */
    if (call.rank > 1 && chance(15)) call.dims[call.rank - 1] = 2; /* complex */
    call.gates = (int64_t[]){1, 3, 4}[test_rand() % 3];
    call.dtype = chance(50) ? WICK_F32 : chance(50) ? WICK_F64 : any_dtype();
    if (wick_dtype_bits(call.dtype) == 0) call.dtype = WICK_F32;
}

/* Data of that type, in memory of some layout; a view may be of other data. */
static wick_tensor *data(wick_dtype d, int rank, const int64_t *dims, double lo, double hi, bool odd_values) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 1e30, -1e30, 1e-40};
    int64_t count = 1;
    for (int k = 0; k < rank; k++) count *= dims[k];
    const bool real = wick_dtype_is_float(d), packed = wick_dtype_size(d) == 0;
    double values[4096];
    if (count > 4096) return wick_zeros(call.ctx, d, rank, dims);
    for (int64_t i = 0; i < count; i++) {
        values[i] = real ? test_rand_real(lo, hi) : test_rand_int((int)lo, (int)hi);
        if (real && odd_values) values[i] = PICK(odd);
    }
    wick_tensor *x = wick_cast(wick_from(call.ctx, WICK_F64, rank, dims, values), d);
    if (chance(80) && wick_eval(call.ctx, 1, &x, NULL)) return x; /* otherwise pending */
    if (!packed && rank && chance(15)) x = wick_flip(x, 1, (const int[]){test_rand_int(0, rank - 1)});
    if (!packed && rank > 1 && chance(15))
        x = wick_transpose(wick_cast(wick_transpose(x, 0, rank - 1), d), 0, rank - 1);
    if (!packed && rank && chance(5)) x = wick_expand(wick_slice(x, 0, 0, 1, 1), rank, dims);
    if (wick_dtype_is_float(wick_tensor_dtype(x)) && call.n_leaves < LEAVES) call.leaves[call.n_leaves++] = x;
    return x;
}
static wick_tensor *tensor(wick_dtype usual, double lo, double hi) {
    int rank = call.rank;
    int64_t dims[WICK_MAX_DIMS];
    memcpy(dims, call.dims, sizeof dims);
    const int roll = test_rand_int(0, 99);
    if (roll < 1) return NULL;
    if (roll < 2) return wick_poison(call.ctx, WICK_ERR_INVALID, "poison of the test");
    if (roll < 12 && rank) { /* an axis less */
        const int axis = test_rand_int(0, rank - 1);
        memmove(dims + axis, dims + axis + 1, (size_t)(rank - axis - 1) * sizeof *dims);
        rank--;
    } else if (roll < 18 && rank)
        dims[test_rand_int(0, rank - 1)] = 1;
    else if (roll < 23 && rank > 1)
        dims[rank - 1] = call.dims[rank - 2], dims[rank - 2] = call.dims[rank - 1];
    else if (roll < 31 && rank)
        dims[0] = call.dims[test_rand_int(0, rank - 1)], rank = 1;
    else if (roll < 34 && rank)
        dims[test_rand_int(0, rank - 1)] = test_rand_int(0, 6);
    else if (roll < 38) {
        rank = test_rand_int(0, WICK_MAX_DIMS);
        for (int k = 0; k < rank; k++) dims[k] = test_rand_int(rank > 5 ? 1 : 0, rank > 5 ? 2 : 4);
    }
    return data(chance(92) ? usual : (wick_dtype)test_rand_int(0, WICK_DTYPE_COUNT - 1), rank, dims, lo, hi, chance(4));
}
static wick_tensor *any_tensor(void) { return tensor(call.dtype, -3, 3); }
static wick_tensor *any_index(void) {
    static const wick_dtype usual[] = {WICK_I64, WICK_I64, WICK_I32, WICK_U8, WICK_I8};
    if (chance(30) && call.rank)
        return data(PICK(usual), 1, (const int64_t[]){call.dims[test_rand_int(0, call.rank - 1)]}, 0, 2, false);
    return tensor(PICK(usual), chance(80) ? 0 : -4, chance(80) ? 2 : 5);
}
static wick_tensor *any_vector(void) {
    if (chance(30)) return NULL;
    if (chance(60) && call.rank)
        return data(call.dtype, 1,
                    (const int64_t[]){call.dims[chance(50) ? call.rank - 1 : test_rand_int(0, call.rank - 1)]}, 0, 2,
                    false);
    return any_tensor();
}
static wick_tensor *any_target(void) { return chance(50) ? any_index() : any_tensor(); }
static wick_tensor *maybe(wick_tensor *x) { return chance(50) ? x : NULL; }
/* Arguments of other shapes: a number, or any; labels of [N, C, ...]; weights of a convolution; boxes; scales and 8-bit
 * numbers of a quantisation. */
static wick_tensor *any_value(void) { return chance(50) ? data(call.dtype, 0, NULL, -2, 2, false) : any_tensor(); }
static wick_tensor *any_label(void) {
    if (chance(20)) return any_index();
    int64_t dims[WICK_MAX_DIMS] = {call.dims[0]};
    for (int k = 2; k < call.rank; k++) dims[k - 1] = call.dims[k];
    return data(chance(50) ? WICK_I64 : WICK_I32, WICK_MAX(call.rank - 1, 0), dims, 0, chance(80) ? 0 : 3, false);
}
static wick_tensor *any_filter(bool transposed) {
    int64_t dims[WICK_MAX_DIMS] = {transposed ? call.dims[1] : test_rand_int(1, 3),
                                   transposed ? test_rand_int(1, 3) : call.dims[1]};
    if (call.rank < 3 || chance(15)) return any_tensor();
    for (int k = 2; k < call.rank; k++) dims[k] = test_rand_int(1, 2);
    return data(call.dtype, call.rank, dims, -2, 2, false);
}
static wick_tensor *any_box(int columns) {
    const int64_t n = test_rand_int(0, 3);
    if (chance(20)) return any_tensor();
    if (columns) return data(chance(80) ? WICK_F32 : call.dtype, 2, (const int64_t[]){n, columns}, 0, 4, chance(5));
    return data(chance(80) ? WICK_F32 : call.dtype, 3, (const int64_t[]){1, chance(80) ? 2 : n, 4}, 0, 4, chance(5));
}
static wick_tensor *any_scores(void) {
    return chance(80) ? data(WICK_F32, 3, (const int64_t[]){1, 2, 2}, 0, 1, chance(5)) : any_tensor();
}
static wick_tensor *any_scale(wick_dtype d) {
    if (chance(20)) return any_vector();
    if (chance(60)) return data(d, 0, NULL, 0, 2, chance(5));
    return data(d, 1, (const int64_t[]){call.rank ? call.dims[call.rank - 1] : 1}, 0, 2, chance(5));
}
static wick_tensor *any_bytes(void) { return chance(90) ? tensor(chance(50) ? WICK_I8 : WICK_U8, 0, 9) : any_tensor(); }
/* Weights of 4 bits, [rows, blocks, bytes]; their scales, zeros. */
static wick_tensor *any_blocks(void) {
    if (chance(20)) return any_tensor();
    const int64_t rows = call.rank ? call.dims[call.rank - 1] : 1;
    if (chance(50)) return data(WICK_U8, 3, (const int64_t[]){rows, 1, chance(90) ? 8 : 16}, 0, 255, false);
    return data(chance(60) ? WICK_F32 : WICK_U8, 2, (const int64_t[]){rows, 1}, 0, 2, chance(5));
}
/* Weights of 8 bits, or zero points of such. */
static wick_tensor *any_rows_of_bytes(void) {
    if (chance(20)) return any_tensor();
    const int64_t rows = call.rank ? call.dims[call.rank - 1] : 1;
    const wick_dtype d = chance(60) ? WICK_I8 : WICK_U8;
    return data(d, chance(70) ? 3 : 2, (const int64_t[]){rows, 1, rows}, 0, 100, false);
}
static int64_t any_option(void) { return chance(95) ? test_rand_int(0, 2) : any_extent(); }
static int64_t any_kernel(void) { return chance(97) ? test_rand_int(1, 2) : any_extent(); }

/* Lists: their addresses are fixed, so that the order in which arguments are made does not matter. */
static int axes_list[16], other_axes_list[16];
static int64_t dims_list[16], after_list[16];
static wick_tensor *tensor_list[16];
static int any_rank(int usual) {
    static const int odd[] = {-1, 9, 16, INT_MAX, INT_MIN};
    return chance(90) ? usual : chance(60) ? test_rand_int(0, 8) : PICK(odd);
}
static int any_axes(void) {
    const int n = any_rank(test_rand_int(0, 2)), from = test_rand_int(-2, 2);
    for (int k = 0; k < 16; k++) axes_list[k] = chance(90) ? from + k : any_axis(), other_axes_list[k] = any_axis();
    return n;
}
static int any_dims(void) {
    const bool theme = chance(50);
    for (int k = 0; k < 16; k++)
        dims_list[k] = theme && k < call.rank ? call.dims[k] : any_extent(), after_list[k] = any_extent();
    if (theme && call.rank && chance(30)) dims_list[test_rand_int(0, call.rank - 1)] = -1;
    return any_rank(call.rank);
}
static const int64_t *any_sizes(void) { return (void)any_dims(), chance(90) ? dims_list : NULL; }
static int any_tensors(void) {
    const int n = chance(95) ? test_rand_int(0, 4) : chance(50) ? -1 : INT_MIN;
    for (int k = 0; k < 16; k++) tensor_list[k] = k < n ? any_tensor() : NULL;
    return n;
}
static int any_indices(void) {
    const int n = chance(95) ? test_rand_int(0, 3) : chance(50) ? -1 : 9;
    for (int k = 0; k < 16; k++) tensor_list[k] = k < n ? any_index() : NULL;
    return n;
}
static const char *any_einsum(void) {
    static const char *const texts[] = {
        "...,...->...", "...->...", "...,...,...", "...a->...", "ij,jk->ik",        "...ij,...jk",
        "ii->i",        "ij->ji",   "i,i",         "abc,abc->", "a...b,b...->...a", "ij,ij,ij->i",
        "->",           "",         "ijkl->k",     ",",         "a,b->ab"};
    static char text[64];
    static const char letters[] = "abij.,-> A\x7f\xff";
    snprintf(text, sizeof text, "%s", PICK(texts));
    if (chance(40)) text[test_rand_int(0, 8)] = letters[test_rand() % (sizeof letters - 1)];
    return chance(98) ? text : NULL;
}

#define T any_tensor()
#define I any_index()
#define M (chance(90) ? tensor(WICK_BOOL, 0, 1) : any_tensor())
#define V any_vector()
#define L any_target()
#define A any_axis()
#define N any_extent()
#define F any_number()
#define B chance(50)
#define D any_dtype()
#define E(type) ((type)any_enum())
#define COUNT (chance(90) ? test_rand_int(0, 5) : -1)
#define AXES any_axes(), axes_list
#define PAIRS any_axes(), axes_list, chance(80) ? other_axes_list : NULL
#define O any_option()
#define K any_kernel()
#define DIMS any_dims(), dims_list
#define DIMS_OF(n, extent)                                                                                             \
    (chance(80) ? (any_dims(), dims_list[0] = dims_list[1] = (extent), (n)) : any_dims()), dims_list
#define SIZED (chance(90) ? test_rand_int(0, 4) : -1), any_sizes_()
#define PADS any_dims(), dims_list, chance(70) ? after_list : NULL
#define SHIFTS any_axes(), (any_dims(), dims_list), axes_list
#define SIZES any_sizes()
#define XS any_tensors(), tensor_list
#define INDICES any_indices(), tensor_list
#define EINSUM any_einsum()
#define OUT(k) (chance(85) ? &out[k] : chance(50) ? NULL : &out[0])
static const int64_t *any_sizes_(void) { return (void)any_dims(), dims_list; }

#define OPTIONAL(type, ...) (chance(90) ? &(const type){__VA_ARGS__} : NULL)
/* For the dims that [N, C, dims] has; more are refused. */
#define FOR_DIM(d, x) (call.rank > (d) + 2 || chance(3) ? (x) : 0)
#define BY_DIM(x) {FOR_DIM(0, x), FOR_DIM(1, x), FOR_DIM(2, x)}
#define CONV                                                                                                           \
    OPTIONAL(wick_conv_options, .stride = BY_DIM(O), .dilation = BY_DIM(O), .pad = BY_DIM(O), .pad_end = BY_DIM(O),    \
             .output_pad = {chance(80) ? 0 : O}, .groups = O)
#define POOL                                                                                                           \
    OPTIONAL(wick_pool_options, .kernel = BY_DIM(K), .stride = BY_DIM(O), .dilation = {chance(80) ? 0 : O},            \
             .pad = {chance(70) ? 0 : O}, .ceil_mode = B, .exclude_pad = B)
#define INTERPOLATE                                                                                                    \
    OPTIONAL(wick_interpolate_options, .mode = E(wick_interpolation), .coordinates = E(wick_coordinates),              \
             .rounding = E(wick_rounding), .cubic_a = F, .antialias = B, .single = B, .repeat_edge = B,                \
             .exclude_outside = B, .scale = B ? NULL : numbers_(0), .start = B ? NULL : numbers_(1),                   \
             .end = B ? NULL : numbers_(2), .extrapolation = F)
static const double *numbers_(int which) {
    static double lists[3][16];
    for (int k = 0; k < 16; k++) lists[which][k] = any_number();
    return lists[which];
}
#define UNFOLD                                                                                                         \
    OPTIONAL(wick_unfold_options, .kernel = BY_DIM(K), .stride = BY_DIM(O), .dilation = BY_DIM(O), .pad = BY_DIM(O))
#define GRID                                                                                                           \
    OPTIONAL(wick_grid_options, .mode = E(wick_interpolation), .padding = E(wick_grid_padding), .align_corners = B)
#define ROI OPTIONAL(wick_roi_options, .out = {K, K}, .samples = O, .scale = F, .aligned = B, .max = B)
#define NMS OPTIONAL(wick_nms_options, .most = O, .overlap = F, .by_score = B, .score = F, .center = B)
#define RNN_INPUTS                                                                                                     \
    OPTIONAL(wick_rnn_inputs, .w_ih = gates_(0), .w_hh = gates_(1), .b_ih = chance(10) ? V : NULL,                     \
             .b_hh = chance(10) ? V : NULL, .peephole = chance(10) ? V : NULL, .h0 = chance(10) ? T : NULL,            \
             .c0 = chance(10) ? T : NULL, .lengths = chance(20) ? I : NULL)
/* Weights [G H, in] or [G H, H] with H of 1 or 2, for x [T, B, in]. */
static wick_tensor *gates_(int hidden) {
    const int64_t in = hidden || !call.rank ? 1 : call.dims[call.rank - 1];
    return chance(70) ? data(call.dtype, 2, (const int64_t[]){call.gates, in}, -1, 1, false) : any_tensor();
}
#define ACT E(wick_rnn_act)
#define RNN                                                                                                            \
    OPTIONAL(wick_rnn_options, .batch_first = B, .direction = E(wick_rnn_direction),                                   \
             .acts = {{chance(70) ? 0 : ACT, 0, ACT}, {0, 0, 0}}, .clip = chance(80) ? 0 : F, .input_forget = B,       \
             .reset_first = B)
#define CTC_LISTS ctc_(0), ctc_(1), ctc_(2), ctc_(3)
/* log_probs [4, 2, 3] of labels [2, 1], and lengths. */
static wick_tensor *ctc_(int which) {
    if (chance(10)) return which ? any_index() : any_tensor();
    if (which == 0) return data(call.dtype, 3, (const int64_t[]){4, 2, 3}, -3, 0, chance(5));
    if (which == 1) return data(WICK_I64, 2, (const int64_t[]){2, 1}, chance(80) ? 1 : -1, chance(80) ? 2 : 4, false);
    return data(WICK_I64, 1, (const int64_t[]){2}, chance(80) ? which == 2 ? 2 : 0 : -1,
                chance(80) ? which == 2 ? 4 : 1 : 6, false);
}
#define CTC OPTIONAL(wick_ctc_options, .blank = O, .zero_infinity = B, .reduction = E(wick_reduction))
#define ATTENTION                                                                                                      \
    OPTIONAL(wick_attention_options, .mask = maybe(M), .causal = B, .causal_end = B, .grouped = B, .scale = F,         \
             .dropout = chance(70) ? 0 : F, .plain = B)
#define ROTARY OPTIONAL(wick_rotary_options, .base = F, .dims = O, .interleaved = B)
#define STFT_FIELDS                                                                                                    \
    .n_fft = chance(90) ? test_rand_int(1, 6) : N, .hop = O, .win_length = chance(70) ? 0 : O,                         \
    .window = chance(20) ? V : NULL, .no_center = B, .pad = E(wick_stft_pad), .normalized = B, .two_sided = B,         \
    .length = chance(70) ? 0 : O
#define STFT OPTIONAL(wick_stft_options, STFT_FIELDS)
#define MEL                                                                                                            \
    OPTIONAL(wick_mel_options, .stft = {STFT_FIELDS}, .sample_rate = F, .n_mels = O, .f_min = F, .f_max = F,           \
             .scale = E(wick_mel_scale), .slaney_norm = B, .power = F, .log = E(wick_mel_log), .top_db = F,            \
             .n_mfcc = O)
#define CROSS                                                                                                          \
    OPTIONAL(wick_cross_entropy_options, .reduction = E(wick_reduction), .smoothing = B ? 0 : F, .weight = V,          \
             .ignore = B, .ignore_index = N)
#define POISSON OPTIONAL(wick_poisson_options, .reduction = E(wick_reduction), .plain_rate = B, .full = B, .eps = F)
#define GAUSSIAN OPTIONAL(wick_gaussian_options, .reduction = E(wick_reduction), .full = B, .eps = F)
#define TRIPLET OPTIONAL(wick_triplet_options, .reduction = E(wick_reduction), .margin = F, .p = F, .eps = F, .swap = B)
#define INT8                                                                                                           \
    OPTIONAL(wick_int8_options, .a_zero = maybe(any_scale(WICK_U8)), .b_zero = maybe(any_scale(WICK_U8)),              \
             .a_scale = maybe(any_scale(WICK_F32)), .b_scale = maybe(any_scale(WICK_F32)),                             \
             .scale = chance(20) ? any_scale(WICK_F32) : NULL, .zero = chance(20) ? any_scale(WICK_U8) : NULL,         \
             .bias = chance(20) ? any_scale(WICK_F32) : NULL, .dtype = D, .low = F, .high = F)
#define TRIANGULAR OPTIONAL(wick_triangular_options, .upper = B, .transposed = B, .unit = B, .right = B)
#define TREES                                                                                                          \
    OPTIONAL(wick_tree_tables, .nodes = tree_nodes_(), .splits = tree_list_(call.dtype),                               \
             .roots = tree_list_(WICK_I32), .targets = tree_list_(WICK_I32), .weights = tree_list_(call.dtype),        \
             .n_targets = K, .sum = E(wick_tree_sum))
static wick_tensor *tree_nodes_(void) {
    return chance(90) ? data(WICK_I32, 2, (const int64_t[]){2, 4}, 0, chance(60) ? 0 : 3, false) : any_tensor();
}
static wick_tensor *tree_list_(wick_dtype d) {
    return chance(95) ? data(d, 1, (const int64_t[]){2}, 0, chance(60) ? 0 : 2, false) : any_tensor();
}

/* Functions and their arguments. VOID has no result but those it writes. */
#define FUNCTIONS(ROW, VOID) \
    ROW(reshape, T, DIMS) ROW(flatten, T, A) ROW(permute, T, AXES) ROW(transpose, T, A, A) ROW(slice, T, A, N, N, N) \
    ROW(expand, T, DIMS) ROW(squeeze, T, A) ROW(unsqueeze, T, A) ROW(bit_cast, T, D) ROW(diagonal, T, N, A, A) \
    ROW(sum, T, AXES, B) ROW(mean, T, AXES, B) ROW(prod, T, AXES, B) ROW(max, T, AXES, B) ROW(min, T, AXES, B) \
    ROW(var, T, AXES, F, B) ROW(argmax, T, A, B) ROW(argmin, T, A, B) ROW(matmul, T, T) ROW(linear, T, T, T) \
    ROW(conv, T, any_filter(false), V, CONV) ROW(conv_transpose, T, any_filter(true), V, CONV) ROW(max_pool, T, POOL) \
    ROW(avg_pool, T, POOL) ROW(adaptive_max_pool, T, SIZES) ROW(adaptive_avg_pool, T, SIZES) ROW(flip, T, AXES) \
    ROW(pad, T, PADS, F) ROW(resize, T, SIZES, E(wick_resize_mode)) ROW(softmax, T, A) ROW(log_softmax, T, A) \
    ROW(layer_norm, T, V, V, F) ROW(batch_norm, T, V, V, V, V, F) ROW(rms_norm, T, V, F) \
    ROW(group_norm, T, N, V, V, F) ROW(instance_norm, T, V, V, F) ROW(local_response_norm, T, N, F, F, F) \
    ROW(normalize, T, F, A, F) ROW(gather, T, A, I) ROW(scatter_add, T, A, I, T) ROW(one_hot, I, N, D) \
    ROW(concat, XS, A) ROW(cast, T, D) ROW(cast_saturate, T, D) ROW(random_uniform, ctx, D, DIMS) \
    ROW(random_normal, ctx, D, DIMS) ROW(random_bits, ctx, DIMS) ROW(random_bernoulli, T) \
    ROW(random_exponential, ctx, D, DIMS, F) ROW(random_truncated_normal, ctx, D, DIMS, F, F, F, F) \
    ROW(random_integers, ctx, D, DIMS, N, N) ROW(random_gamma, T) ROW(random_permutation, ctx, N) \
    ROW(random_shuffle, T, A) ROW(multinomial, V, N, B) ROW(random_categorical, T) ROW(dropout, T, F) \
    ROW(dropout_channels, T, F) ROW(alpha_dropout, T, F) ROW(gumbel_softmax, T, F, B, A) ROW(stop_gradient, T) \
    ROW(clip, T, F, F) ROW(threshold, T, F, F) ROW(leaky_relu, T, F) ROW(elu, T, F) ROW(celu, T, F) \
    ROW(softplus_beta, T, F) ROW(softshrink, T, F) ROW(hardshrink, T, F) ROW(tanhshrink, T) ROW(glu, T, A) \
    ROW(logit, T, F) ROW(nan_to_num, T, F, F, F) ROW(addcmul, T, T, T, F) ROW(addcdiv, T, T, T, F) \
    ROW(isclose, T, T, F, F) ROW(sinc, T) ROW(heaviside, T, F) ROW(softmin, T, A) ROW(logsumexp, T, AXES, B) \
    ROW(std, T, AXES, F, B) ROW(norm, T, F, AXES, B) ROW(any, T, AXES, B) ROW(all, T, AXES, B) \
    ROW(count_nonzero, T, AXES, B) ROW(nansum, T, AXES, B) ROW(nanmean, T, AXES, B) \
    ROW(max_with_index, T, A, B, OUT(1)) ROW(min_with_index, T, A, B, OUT(1)) ROW(cumsum, T, A) ROW(cumprod, T, A) \
    ROW(cumsum_with, T, A, B, B) ROW(logcumsumexp, T, A) ROW(cummax, T, A, OUT(1)) ROW(cummin, T, A, OUT(1)) \
    ROW(einsum, EINSUM, XS) ROW(einsum_within, EINSUM, XS, N) ROW(addmm, T, T, T, F, F) ROW(outer, T, T) \
    ROW(dot, T, T) ROW(vdot, T, T) ROW(tensordot, T, T, PAIRS) ROW(kron, T, T) ROW(matrix_power, T, N) ROW(trace, T) \
    ROW(solve_triangular, T, T, TRIANGULAR) ROW(cholesky, T, B) ROW(cholesky_solve, T, T, B) ROW(solve, T, T) \
    ROW(inverse, T) ROW(det, T) VOID(slogdet, T, &out[0], &out[1]) VOID(qr, T, B, &out[0], &out[1]) \
    VOID(eigh, T, &out[0], &out[1]) VOID(eig, T, &out[0], &out[1]) VOID(svd, T, B, &out[0], &out[1], &out[2]) \
    ROW(pinv, T, F) ROW(matrix_rank, T, F) ROW(lstsq, T, T) ROW(take_along_axis, T, A, I) \
    ROW(put_along_axis, T, A, I, T, E(wick_put)) ROW(scatter_reduce, T, A, I, T, E(wick_put), B) \
    ROW(scatter, T, A, I, T, E(wick_put)) ROW(gather_nd, T, A, I) ROW(scatter_nd, T, I, T, E(wick_put)) \
    ROW(index, T, INDICES) ROW(index_put, T, INDICES, any_value(), B) ROW(update_slice, T, T, A, I) \
    ROW(embedding, V, I, N) ROW(embedding_bag, T, I, maybe(I), chance(20) ? V : NULL, E(wick_bag)) \
    ROW(masked_fill, T, M, F) ROW(masked_scatter, T, M, T) ROW(nonzero, T) ROW(nonzero_padded, T, N, N, OUT(1)) \
    ROW(masked_select, T, M) ROW(sort, T, A, B, OUT(1)) ROW(argsort, T, A, B) ROW(topk, T, N, A, B, OUT(1)) \
    ROW(kthvalue, T, N, A, B, OUT(1)) ROW(median, T, A, B, OUT(1)) ROW(nanmedian, T, A, B, OUT(1)) \
    ROW(quantile, T, F, A, B, E(wick_quantile_mode)) ROW(searchsorted, T, T, B) ROW(bincount_fixed, T, V, N) \
    ROW(histogram, T, N, F, F, V, OUT(1)) ROW(histogram_edges, T, T, V) ROW(unique, T, OUT(1), OUT(2)) \
    ROW(unique_consecutive, T, OUT(1), OUT(2)) ROW(unique_padded, T, OUT(1), OUT(2), OUT(3)) \
    ROW(unique_axis, T, A, OUT(1), OUT(2)) ROW(unique_axis_padded, T, A, OUT(1), OUT(2), OUT(3)) \
    ROW(bincount, T, V, N) ROW(stack, XS, A) VOID(split, T, A, SIZED, out) VOID(chunk, T, COUNT, A, out, NULL) \
    ROW(tile, T, DIMS) ROW(repeat_interleave, T, N, A) ROW(roll, T, SHIFTS) ROW(move_axis, T, A, A) \
    VOID(meshgrid, XS, B, out) ROW(pad_with, T, PADS, E(wick_pad_mode)) ROW(tril, T, N) ROW(triu, T, N) \
    ROW(diagonal_matrix, T, N) ROW(eye, ctx, D, N, N, N) ROW(linspace, ctx, D, F, F, N) \
    ROW(logspace, ctx, D, F, F, N, F) ROW(interpolate, T, AXES, SIZES, INTERPOLATE) \
    ROW(sliding_window, T, A, N, N, N) ROW(unfold, T, UNFOLD) \
    ROW(fold, chance(80) ? data(call.dtype, 3, (const int64_t[]){2, 4, 3}, -2, 2, false) : T, DIMS_OF( 1, 4), \
        OPTIONAL( wick_unfold_options, .kernel = {K}, .stride = {O}, .dilation = {O}, .pad = { O})) \
    ROW(max_pool_indices, T, POOL) ROW(adaptive_max_pool_indices, T, SIZES) ROW(max_unpool, T, I, SIZES) \
    ROW(lp_pool, T, F, POOL) ROW(pixel_shuffle, T, N) ROW(pixel_unshuffle, T, N) ROW(depth_to_space, T, N) \
    ROW(space_to_depth, T, N) ROW(channel_shuffle, T, N) ROW(grid_sample, T, T, GRID) \
    ROW(affine_grid, chance(80) ? data(call.dtype, 3, (const int64_t[]){2, 2, 3}, -2, 2, false) : T, DIMS_OF(2, 3), B) \
    ROW(roi_align, T, chance( 80) ? data( WICK_F32, 2, (const int64_t []){ 2, 4}, -1, 5, chance( 5)) : any_box( 4), \
        chance( 80) ? data( WICK_I64, 1, (const int64_t []){ 2}, 0, 1, false) : I, ROI) \
    ROW(box_iou, any_box( 4), any_box(4)) ROW(nms_padded, any_box(0), any_scores(), NMS, OUT( 1)) \
    ROW(non_max_suppression, any_box(0), any_scores(), NMS) \
    ROW(nms, any_box(4), chance(80) ? data(WICK_F32, 1, (const int64_t[]){2}, 0, 1, chance(5)) : T, F) \
    ROW(rnn, T, RNN_INPUTS, RNN, OUT(1)) ROW(lstm, T, RNN_INPUTS, RNN, OUT(1), OUT(2)) \
    ROW(gru, T, RNN_INPUTS, RNN, OUT(1)) ROW(ctc_loss, CTC_LISTS, CTC) ROW(attention, T, T, T, ATTENTION) \
    ROW(rotary, T, I, ROTARY) ROW(sinusoidal, I, N, D) ROW(alibi, ctx, D, N, N) ROW(complex, T, V) ROW(real, T) \
    ROW(imag, T) ROW(complex_mul, T, T) ROW(complex_conj, T) ROW(complex_abs2, T) ROW(complex_abs, T) \
    ROW(fft, T, N, A, E(wick_fft_norm)) ROW(ifft, T, N, A, E(wick_fft_norm)) ROW(rfft, T, N, A, E( wick_fft_norm)) \
    ROW(irfft, T, N, A, E( wick_fft_norm)) ROW(fft2, T, E(wick_fft_norm)) ROW(ifft2, T, E(wick_fft_norm)) \
    ROW(rfft2, T, E(wick_fft_norm)) ROW(irfft2, T, N, E(wick_fft_norm)) \
    ROW(window, ctx, E(wick_window_kind), D, N, B, F) ROW(frames, T, N, N) ROW(overlap_add, T, N) ROW(stft, T, STFT) \
    ROW(istft, T, STFT) ROW(mel_filters, ctx, D, N, N, F, F, F, E(wick_mel_scale), B) ROW(mel_spectrogram, T, MEL) \
    ROW(log_mel, T, MEL) ROW(mfcc, T, MEL) ROW(dct, T, A, A, B) \
    ROW(cross_entropy_with, T, chance( 60) ? any_label() : L, CROSS) ROW(cross_entropy, T, any_label()) \
    ROW(cross_entropy_rows, T, any_label()) ROW(nll_loss, T, any_label(), CROSS) \
    ROW(multi_margin_loss, T, any_label(), chance(80) ? 1 : A, F, V, E(wick_reduction)) ROW(mse, T, L) \
    ROW( mse_loss, T, L, E( wick_reduction)) ROW(l1_loss, T, L, E( wick_reduction)) \
    ROW(huber_loss, T, L, F, E(wick_reduction)) ROW(smooth_l1_loss, T, L, F, E(wick_reduction)) \
    ROW(binary_cross_entropy, T, L, V, E(wick_reduction)) \
    ROW( binary_cross_entropy_logits, T, L, V, V, E(wick_reduction)) \
    ROW(multilabel_soft_margin_loss, T, L, V, E(wick_reduction)) ROW(focal_loss, T, L, F, F, E(wick_reduction)) \
    ROW( kl_div, T, L, B, E( wick_reduction)) ROW(poisson_nll_loss, T, L, POISSON) \
    ROW(gaussian_nll_loss, V, L, T, GAUSSIAN) ROW(margin_ranking_loss, T, T, T, F, E(wick_reduction)) \
    ROW( hinge_embedding_loss, T, T, F, E( wick_reduction)) ROW(soft_margin_loss, T, T, E(wick_reduction)) \
    ROW(cosine_embedding_loss, T, T, T, F, E(wick_reduction)) ROW( triplet_margin_loss, T, T, T, TRIPLET) \
    ROW(dice_loss, T, L, F, E(wick_reduction)) ROW(top_k_accuracy, T, any_label(), N) \
    ROW( perplexity, T, any_label(), CROSS) ROW(confusion_matrix, I, I, N) ROW(cosine_similarity, T, T, A, F) \
    ROW(pairwise_distance, T, T, F, F, B) ROW(cdist, T, T, F) ROW( cross, T, T, A) ROW(cov, T, F) ROW(corrcoef, T) \
    ROW(diff, T, N, A) ROW( quantize, T, any_scale(WICK_F32), maybe(any_scale(WICK_U8)), A, chance(70) ? WICK_U8 : D) \
    ROW(quantize_blocks, T, chance(60) ? 16 : any_extent(), OUT(1), chance(50) ? OUT(2) : NULL) \
    ROW(dequantize_blocks, any_blocks(), any_blocks(), maybe(any_blocks()), N) \
    ROW(int4_linear, T, any_blocks(), any_blocks(), maybe( any_blocks()), maybe( any_vector())) \
    ROW(int8_linear, T, any_rows_of_bytes(), any_blocks(), maybe( any_rows_of_bytes()), maybe( any_vector())) \
    ROW(dequantize, any_bytes(), any_scale(WICK_F32), maybe(any_scale( WICK_U8)), A) \
    ROW(quantize_dynamic, T, OUT(1), OUT(2)) \
    ROW(int8_matmul, any_bytes(), any_bytes(), INT8) ROW(int8_conv, any_bytes(), any_bytes(), CONV, INT8) \
    ROW(tree_ensemble, T, TREES) ROW(full, ctx, D, DIMS, F) ROW( zeros, ctx, D, DIMS) ROW(ones, ctx, D, DIMS) \
    ROW(arange, ctx, D, F, F, N) ROW(scalar, ctx, D, F) ROW(constant, ctx, D, F) ROW(like, T, F)

#define ELEMENTWISE_1 T
#define ELEMENTWISE_2 T, T
#define ELEMENTWISE_3 T, T, T
#define CALL_ROW(name, ...) \
    static void call_##name(wick_context *ctx, wick_tensor **out) { (void)ctx, out[0] = wick_##name(__VA_ARGS__); }
#define CALL_VOID(name, ...) \
    static void call_##name(wick_context *ctx, wick_tensor **out) { (void)ctx, wick_##name(__VA_ARGS__); }
#define CALL_EW(name, arity, ...) CALL_ROW(name, ELEMENTWISE_##arity)
FUNCTIONS(CALL_ROW, CALL_VOID)
WICK_EW_TABLE(CALL_EW)

typedef struct row {
    const char *name;
    void (*call)(wick_context *ctx, wick_tensor **out);
} row;
#define ROW_OF(name, ...) {#name, call_##name},
static const row rows[] = {FUNCTIONS(ROW_OF, ROW_OF) WICK_EW_TABLE(ROW_OF)};

/* ---- one call ---------------------------------------------------------------------------------------------------- */

/* Memory that begins with a byte. */
static void *dirty_alloc(void *user, size_t size, size_t align) {
    void *at = NULL;
    if (posix_memalign(&at, align < sizeof(void *) ? sizeof(void *) : align, size)) return NULL;
    return memset(at, *(const unsigned char *)user, size);
}
static void dirty_release(void *user, void *at, size_t size) { (void)user, (void)size, free(at); }

static time_t began;
static bool too_long(void *user) { return (void)user, time(NULL) - began > MOST_SECONDS; }
static wick_context *open_context(bool eager, const unsigned char *byte) {
    wick_context *ctx = NULL;
    const wick_allocator allocator = {(void *)(uintptr_t)byte, dirty_alloc, dirty_release};
    setenv("WICK_VERIFY", "1", 1);
    const wick_context_options options = {.threads = eager ? 1 : 2,
                                          .eager = eager,
                                          .seed = 5,
                                          .allocator = &allocator,
                                          .max_memory = MOST_MEMORY,
                                          .cancel = too_long};
    return wick_context_new(&options, &ctx) == WICK_OK ? ctx : NULL;
}

/* What came of a call, as text: a line for each result and gradient. */
typedef struct outcome {
    char text[16384];
    size_t length;
    bool accepted;
    bool starved; /* out of memory, of which plans need more or less than ops one by one */
    bool lacking; /* it needs a library that is not on this machine */
} outcome;
__attribute__((format(printf, 2, 3))) static void say(outcome *o, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(o->text + o->length, sizeof o->text - o->length, fmt, args);
    va_end(args);
    o->length = WICK_MIN(o->length + (size_t)WICK_MAX(n, 0), sizeof o->text - 1);
}
static void fault(outcome *o, const char *what, wick_status status, const char *text) {
    say(o, "%s %s: %s\n", what, wick_status_name(status), text ? text : "");
    o->starved |= status == WICK_ERR_NOMEM;
    o->lacking |= status == WICK_ERR_UNSUPPORTED && text && strstr(text, "which is not on this machine");
    const bool good = status > WICK_OK && status < WICK_STATUS_COUNT && status != WICK_ERR_INTERNAL &&
                      status != WICK_ERR_CANCELLED && text && *text;
    CHECK_MSG(good, "%s: %s: %s", what, wick_status_name(status), text ? text : "no text");
}
static void describe(outcome *o, const char *what, wick_tensor *x) {
    const char *text = NULL;
    const int64_t count = wick_tensor_count(x);
    wick_status status = wick_tensor_error(x, &text);
    if (status) {
        fault(o, what, status, text);
        return;
    }
    say(o, "%s %s[", what, wick_dtype_name(wick_tensor_dtype(x)));
    for (int k = 0; k < wick_tensor_rank(x); k++) {
        say(o, "%lld,", (long long)wick_tensor_dim(x, k));
        CHECK(wick_tensor_dim(x, k) >= 0);
    }
    say(o, "]\n");
    if (count > 1000000) return; /* a view of so many */
    const size_t bytes = wick_dtype_bytes(wick_tensor_dtype(x), count);
    char *value = malloc(bytes + 1);
    if ((status = wick_read(x, value, bytes))) {
        fault(o, what, status, wick_context_error(call.ctx));
    } else {
        const bool real = wick_dtype_is_float(wick_tensor_dtype(x));
        const size_t elem = wick_dtype_size(wick_tensor_dtype(x));
        if (real) /* all NaN are one */
            for (int64_t i = 0; i < count; i++) {
                const wick_copy one = {.rank = 0, .src = wick_tensor_dtype(x), .dst = WICK_F64};
                double v;
                wick_copy_run(&one, 0, 1, value + (size_t)i * elem, &v);
                if (v != v) memset(value + (size_t)i * elem, 0x7F, elem);
            }
        say(o, "  %016llx", (unsigned long long)wick_hash(value, bytes, 7));
        for (size_t i = 0; i < WICK_MIN(bytes, (size_t)32); i++) say(o, " %02x", (unsigned char)value[i]);
        say(o, "\n");
        o->accepted = true;
    }
    free(value);
}

static void run_call(wick_context *ctx, const row *r, uint64_t seed, outcome *o) {
    wick_tensor *out[OUTS] = {NULL}, *gradient[LEAVES] = {NULL};
    o->length = 0, o->text[0] = 0, o->accepted = o->starved = o->lacking = false;
    began = time(NULL);
    test_seed = seed;
    wick_context_set_random(ctx, 5, 1);
    wick_scope *scope = wick_scope_open(ctx);
    REQUIRE(scope != NULL);
    new_call(ctx);
    r->call(ctx, out);
    /* The gradient first: evaluated values let none through. */
    wick_tensor *loss = NULL, *all[OUTS + LEAVES];
    for (int k = 0; k < OUTS; k++)
        if (out[k] && !wick_tensor_error(out[k], NULL) && wick_tensor_dtype(out[k]) <= WICK_BF16 &&
            wick_tensor_count(out[k]) <= 100000) {
            wick_tensor *sum = wick_sum(wick_sin(out[k]), WICK_ALL_AXES, false);
            loss = loss ? wick_add(loss, sum) : sum;
        }
    for (int k = 0; loss && k < call.n_leaves; k++) wick_grad(loss, 1, &call.leaves[k], &gradient[k]);
    int n = 0;
    for (int k = 0; k < OUTS; k++)
        if (out[k] && !wick_tensor_error(out[k], NULL) && wick_tensor_count(out[k]) <= 1000000) all[n++] = out[k];
    for (int k = 0; k < LEAVES; k++)
        if (gradient[k] && !wick_tensor_error(gradient[k], NULL)) all[n++] = gradient[k];
    const wick_status status = wick_eval(ctx, n, all, NULL);
    if (status) fault(o, "all", status, wick_context_error(ctx));
    for (int k = 0; k < OUTS && !status; k++)
        if (out[k]) describe(o, "result", out[k]);
    for (int k = 0; k < LEAVES && !status; k++) {
        if (!gradient[k]) continue;
        describe(o, "gradient", gradient[k]);
        if (!wick_tensor_error(gradient[k], NULL)) {
            bool same = wick_tensor_rank(gradient[k]) == wick_tensor_rank(call.leaves[k]);
            for (int i = 0; same && i < wick_tensor_rank(gradient[k]); i++)
                same = wick_tensor_dim(gradient[k], i) == wick_tensor_dim(call.leaves[k], i);
            CHECK_MSG(same, "the shape of a gradient");
        }
    }
    if (time(NULL) - began > MOST_SECONDS) CHECK_MSG(false, "too long");
    wick_scope_close(&scope);
}

/* The call that runs, for those who look at a crash. */
static char running[128];
static void on_signal(int number) {
    (void)!write(1, running, strlen(running));
    signal(number, SIG_DFL);
    raise(number);
}

static const char *only;
TEST(hostile_arguments_are_refused_or_give_the_same_values_everywhere) {
    static const unsigned char bytes[2] = {0xA5, 0x7F};
    wick_context *ctx[2] = {open_context(false, &bytes[0]), open_context(true, &bytes[1])};
    REQUIRE(ctx[0] && ctx[1]);
    const char *more = getenv("WICK_HOSTILE"), *given = getenv("WICK_HOSTILE_SEED");
    const int calls = (TEST_SANITIZED ? CALLS / 3 : CALLS) * (more ? WICK_MAX(atoi(more), 1) : 1);
    static outcome o[2];
    long accepted_calls = 0, refused_calls = 0;
    signal(SIGALRM, on_signal);
    signal(SIGABRT, on_signal);
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        const row *r = &rows[i];
        int accepted = 0;
        bool lacking = false;
        if (only && strcmp(only, r->name) != 0) continue;
        uint64_t seed = wick_hash(r->name, strlen(r->name), 11) | 1;
        if (given) seed = strtoull(given, NULL, 16);
        for (int k = 0; k < (given ? 1 : calls); k++) {
            const int before = test_fails;
            snprintf(running, sizeof running, "  running: %s, WICK_HOSTILE_SEED=%llx\n", r->name,
                     (unsigned long long)seed);
            alarm(6 * MOST_SECONDS);
            for (int c = 0; c < 2; c++) run_call(ctx[c], r, seed, &o[c]);
            /* Where several ops meet an index that is out of range, the one that runs first says so: plans have an
             * order of their own. */
            const bool indices = strstr(o[0].text, "index out of range") && strstr(o[1].text, "index out of range");
            CHECK_MSG(o[0].starved || o[1].starved || indices || strcmp(o[0].text, o[1].text) == 0,
                      "%s differs:\n%s-- eager:\n%s", r->name, o[0].text, o[1].text);
            if (test_fails > before && test_fails <= 40) printf("%s", running);
            if (given || getenv("WICK_HOSTILE_TEXT")) printf("%s", o[0].text);
            accepted += o[0].accepted, lacking |= o[0].lacking;
            seed = wick_hash(&seed, sizeof seed, 13) | 1;
        }
        accepted_calls += accepted, refused_calls += calls - accepted;
        if (getenv("WICK_HOSTILE_RATES")) printf("%-30s %d of %d\n", r->name, accepted, calls);
        if (lacking) printf("  %s was only refused: it needs a library that is not on this machine\n", r->name);
        CHECK_MSG(given || accepted || lacking || calls < CALLS, "%s was never accepted", r->name);
    }
    alarm(0);
    test_count("calls with hostile arguments that gave values", accepted_calls);
    test_count("calls with hostile arguments that were refused", refused_calls);
    for (int c = 0; c < 2; c++) wick_context_free(&ctx[c]);
}

/* What a header declares has a row, so that a new function is called here too. */
TEST(every_function_that_gives_tensors_has_a_row) {
    static const char *const headers[] = {"ops",     "pointwise", "reduce",   "linalg",    "index",  "sort",
                                          "shape",   "image",     "sequence", "attention", "signal", "loss",
                                          "metrics", "distance",  "quantize", "trees",     "tensor"};
    /* not of arguments alone */
    static const char *const others[] = {"from",   "wrap", "map_file",        "keep",
                                         "retain", "grad", "custom_gradient", "poison"};
    static char text[1 << 16];
    int found = 0;
    for (size_t h = 0; h < WICK_COUNTOF(headers) && !only; h++) {
        char path[512];
        snprintf(path, sizeof path, "%s/include/wick/%s.h", WICK_SOURCE_DIR, headers[h]);
        FILE *file = fopen(path, "rb");
        REQUIRE(file != NULL);
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        for (const char *at = text; (at = strstr(at, "WICK_API ")) != NULL; at++) {
            char name[64];
            if (sscanf(at, "WICK_API wick_tensor *wick_%63[a-z0-9_](", name) != 1 &&
                (sscanf(at, "WICK_API void wick_%63[a-z0-9_](", name) != 1 || !strstr(at, "wick_tensor **") ||
                 strstr(at, "wick_tensor **") > strchr(at, ';')))
                continue;
            bool known = strcmp(name, "tensor_free") == 0;
            for (size_t i = 0; i < WICK_COUNTOF(rows); i++) known |= strcmp(rows[i].name, name) == 0;
            for (size_t i = 0; i < WICK_COUNTOF(others); i++) known |= strcmp(others[i], name) == 0;
            CHECK_MSG(known, "wick_%s of wick/%s.h has no row", name, headers[h]);
            found++;
        }
    }
    CHECK(only || found > 250);
}

int main(int argc, char **argv) {
    if (argc > 1) only = argv[1];
    return test_main(1, argv);
}
