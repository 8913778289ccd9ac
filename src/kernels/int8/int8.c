/* int8.c: control flow of products of 8-bit integers: what is packed, where the rows of A come from, how C is cut into
 * tasks. */
#include <math.h>

#include "kernels/gemm/amx.h"
#include "kernels/int8/int8.h"
#include "kernels/tuning.h"

/* Rows from which on tiles are taken: reckoned, not measured (half of a tile's 16 would be idle below). */
enum { INT8_AMX_ROWS = 8 };
/* Tiles of rows of a task, at least; bytes of rows that it lays out; bytes of columns that are packed in a task; bytes
 * of C from which on it is asked for early. */
enum { INT8_SWEEP_LEAST = 512, INT8_SWEEP_MOST = 2048 }; /* columns of a task of a few rows, whose sums wait in L1 */
enum { INT8_TASKS = 16 };                                /* that keep any number of threads busy, about */
enum { INT8_TILES = 4, INT8_ROWS = 64 << 10, INT8_PACK = 65536, INT8_FAR = 512 << 10, INT8_SLACK = 64 };

static const wick_int8_table *const int8_tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_int8_table)};

/* Why a way is not taken; NULL: it is. In the order in which they are tried. */
static const char *depthwise_refused(const wick_int8 *p) {
    if (p->groups < 2) return "there is one group";
    return p->ci == 1 && p->n == 1 ? NULL : "groups have more than one channel";
}
static const char *amx_refused(const wick_int8 *p) {
    if (p->depthwise) return "each channel is on its own";
    if (p->m < INT8_AMX_ROWS) return "there are too few rows";
    return wick_amx_now() ? NULL : "this CPU has none, or the tier in use";
}
static const char *vnni_refused(const wick_int8 *p) {
    static const unsigned needs[WICK_TIER_COUNT] = {
        [WICK_TIER_AVX2] = WICK_AVX_VNNI, [WICK_TIER_AVX512] = WICK_AVX512_VNNI};
    const wick_tier tier = wick_tier_current();
    if (!int8_tiers[tier]->vnni.group) return "this tier has none";
    if (p->depthwise && (!p->b_signed || p->has_b_zero)) return "weights less their zero points are no signed bytes";
    return wick_extensions() & needs[tier] ? NULL : "this CPU has none";
}
static const char *few_refused(const wick_int8 *p, const wick_int8_kernel *q) {
    if (p->conv) return "it is for products of matrices";
    if (p->m > WICK_INT8_FEW) return "there are more rows";
    /* Pairs take twice the bytes of B. From no near cache one row reads B as it is, sooner. */
    const bool from_dram = p->m == 1 && q->elem == 2 && p->n > INT8_FAR / WICK_MAX(p->k, 1);
    if (p->keep && !from_dram) return "B is kept packed";
    if (p->b_col != 1) return "rows of B are not contiguous";
    if (!p->k) return "there is nothing to multiply";
    return q->few ? NULL : "this tier has none";
}

static const char *bytes_refused(const wick_int8 *p) {
    if (!int8_tiers[wick_tier_current()]->bytes.group) return "this tier has none";
    if (p->depthwise) return "each channel is on its own";
    if (!p->keep) return "weights change";
    if (!p->conv && p->b_count > 1) return "there are several B";
    return NULL;
}
/* From memory a row's time is that of B, of which pairs take twice the bytes. */
static bool is_row(const wick_int8 *p) { return !p->conv && p->m == 1; }
static const wick_int8_kernel *kernel_now(wick_int8 *p) {
    const wick_int8_table *t = int8_tiers[wick_tier_current()];
    p->amx = amx_refused(p) ? NULL : wick_amx_now();
    return p->amx                                         ? &t->amx
           : !vnni_refused(p)                             ? &t->vnni
           : !bytes_refused(p) && (p->known || p->small || is_row(p)) ? &t->bytes
                                                          : &t->plain;
}

int wick_int8_rejected(const wick_int8 *p, wick_rejected *out) {
    int n = 0;
    if (wick_tier_current() == WICK_TIER_REF || !p->tasks) return 0;
    if (p->conv && !p->depthwise) out[n++] = (wick_rejected){"channel by channel (depthwise)", depthwise_refused(p)};
    if (!p->amx) out[n++] = (wick_rejected){"tiles of AMX", amx_refused(p)};
    if (!p->amx && vnni_refused(p)) out[n++] = (wick_rejected){"dot products of quads (VNNI)", vnni_refused(p)};
    if (!p->amx && vnni_refused(p) && !p->kernel->wide)
        out[n++] = (wick_rejected){"fours of bytes in 16 bits",
                                   bytes_refused(p) ? bytes_refused(p)
                                                    : "weights are not known while it is planned, or too large"};
    if (!p->few) out[n++] = (wick_rejected){"one pass over B for few rows", few_refused(p, p->kernel)};
    return n;
}

static int64_t product(const int64_t *x) { return x[0] * x[1] * x[2]; }

/* ---- plan -------------------------------------------------------------------------------------------------------- */

static int64_t width_of(const wick_int8 *p) { return (int64_t)WICK_ALIGN_UP(p->n, p->kernel->nr); }
size_t wick_int8_columns_bytes(int64_t n) { return (size_t)(4 * n + 3) * sizeof(int32_t); }
int8_columns wick_int8_columns_at(const wick_int8 *p, void *packed, int64_t n) {
    int32_t *at = (int32_t *)(void *)((char *)packed + p->at_columns);
    return (int8_columns){at,
                          at + n,
                          (float *)(void *)(at + 2 * n),
                          (float *)(void *)(at + 3 * n),
                          (float *)(void *)(at + 4 * n),
                          at + 4 * n + 2};
}

/* Quads take A unsigned and B signed, a few rows B signed: the others are moved by so much. */
static bool moves(const wick_int8 *p) { return p->kernel->group == 4 && !p->kernel->any_sign; }
static int32_t moved_a(const wick_int8 *p) { return moves(p) && p->a_signed ? 128 : 0; }
static int32_t moved_b(const wick_int8 *p) { return (moves(p) || p->few) && !p->b_signed ? -128 : 0; }

static size_t reserve(size_t *at, size_t bytes) {
    const size_t was = *at;
    *at = WICK_ALIGN_UP(was + bytes, WICK_ALIGN);
    return was;
}

/* A task may pack what it takes of B, panel by panel, into its scratch, for all rows: then no core reads or writes over
 * what another packed. Where that costs little: B is used once, and what a task lays out of A stays in a cache. */
static bool packs_its_own(const wick_int8 *p) {
    const int64_t row = p->padded * p->kernel->elem;
    return !p->conv && !p->keep && p->b_count == p->batch && wick_tier_current() != WICK_TIER_REF &&
           p->kernel->nr * row <= INT8_ROWS && (p->in_place || p->m * row <= INT8_ROWS);
}

static void prepare(wick_int8 *p, const wick_tuning *tuning) {
    const wick_int8_kernel *q = kernel_now(p);
    p->kernel = q;
    p->tasks = p->tasks_pack = 0;
    p->packed = p->scratch = p->scratch_pack = 0;
    p->few = !few_refused(p, q);
    p->late_zero &= !p->few; /* which packs nothing */
    p->late_scale &= !p->few;
    p->row_sums = !p->depthwise && (p->has_b_zero || moved_b(p));
    p->padded = p->piece = (int64_t)WICK_ALIGN_UP(p->k, q->along);
    p->pieces = 1;
    if (p->depthwise) p->b_count = 1;
    if (!p->m || !p->n || !p->b_count || (p->conv && !p->batch)) return;

    if (p->conv && !p->amx) {
        wick_int8_conv_prepare(p, tuning);
        return;
    }
    if (p->few) {
        const double work = (double)p->m * (double)p->n * (double)(p->k + 8), task = (double)tuning->int8_task_work;
        const double each = (double)p->n / (1 + work / task);
        p->in_place = false;
        p->rows = p->m;
        p->cols = WICK_ALIGN_UP(WICK_MAX(INT8_SWEEP_LEAST, (int64_t)WICK_MIN(each, (double)INT8_SWEEP_MOST)), 64);
        p->tasks = wick_ceil_div(p->n, p->cols);
        size_t scratch = 0;
        reserve(&scratch, (size_t)(p->rows * p->padded * q->elem) + INT8_SLACK);
        p->at_sums = reserve(&scratch, (size_t)p->rows * sizeof(int32_t));
        p->at_tile = reserve(&scratch, (size_t)((p->rows + 1) * p->cols) * sizeof(int32_t));
        p->at_columns = reserve(&scratch, wick_int8_columns_bytes(p->cols));
        p->at_raw = reserve(&scratch, (size_t)p->k + INT8_SLACK);
        p->scratch = scratch;
        return;
    }
    const int64_t panels = wick_ceil_div(p->n, q->nr);
    const bool bytes = q->group == 4 && !moved_a(p) && !p->row_sums && p->k % q->along == 0;
    bool every_pixel = p->conv;
    for (int d = 0; d < 3 && every_pixel; d++)
        every_pixel = p->kernel_dims[d] == 1 && p->stride[d] == 1 && !p->pad[d] && p->in[d] == p->out[d];
    p->in_place = bytes && (p->conv ? every_pixel : p->a_col == 1);

    /* tiles are as much faster, about */
    const double task_work = (double)tuning->int8_task_work * (p->amx ? 8 : 1);
    const double row_work = (double)p->n * (double)(p->k + 8);
    /* twice as many: no more is packed for it */
    int64_t across = (int64_t)WICK_MIN((double)(2 * INT8_TASKS), 1 + 2 * row_work * (double)p->m / task_work);
    p->own = packs_its_own(p) && panels >= across / 2;
    if (p->own) {
        p->rows = p->m;
        across = WICK_MIN(across, p->in_place ? panels : wick_ceil_div(panels, 2)); /* each task lays out A */
    } else {
        /* Rows are cut so that a task has enough to do, goes over a panel of B some times, and lays out no more than
         * stays in a cache; then columns. */
        const int64_t most = WICK_MAX(q->mr, p->in_place ? p->m : INT8_ROWS / WICK_MAX(p->padded * q->elem, 1));
        p->rows = (int64_t)WICK_MAX(1.0, WICK_MIN((double)p->m, task_work / row_work));
        p->rows = WICK_MAX(p->rows, INT8_TILES * q->mr);
        p->rows = WICK_MIN(WICK_MIN(most, wick_ceil_div(p->rows, q->mr) * q->mr), p->m);
        p->rows = wick_ceil_div(p->m, wick_ceil_div(p->m, p->rows));
        across = (int64_t)WICK_MIN((double)(p->in_place ? panels : wick_ceil_div(panels, 4)),
                                   1 + row_work * (double)p->rows / task_work);
    }
    p->cols = wick_ceil_div(panels, across) * q->nr;
    p->tasks = wick_ceil_div(p->m, p->rows) * wick_ceil_div(p->n, p->cols) * (p->conv ? p->groups : 1);

    size_t at = 0;
    if (!p->own) {
        reserve(&at, (size_t)(panels * q->nr * p->padded * q->elem));
        p->at_columns = reserve(&at, wick_int8_columns_bytes(width_of(p)));
        wick_int8_reserve_splits(p, &at, panels);
        p->packed = at;
        p->tasks_pack = wick_ceil_div(panels, 1 + INT8_PACK / (q->nr * (p->k + 1)));
        if (p->conv && product(p->kernel_dims) > 1) p->scratch_pack = WICK_ALIGN_UP((size_t)(q->nr * p->k), WICK_ALIGN);
        at = 0;
    }
    if (!p->in_place) reserve(&at, (size_t)(p->rows * p->padded * q->elem) + INT8_SLACK);
    p->at_sums = reserve(&at, (size_t)p->rows * sizeof(int32_t));
    p->at_tile = reserve(&at, (size_t)(q->mr * q->nr) * sizeof(int32_t));
    p->at_raw = reserve(&at, (size_t)p->k + INT8_SLACK);
    wick_int8_reserve_late(p, &at, width_of(p));
    if (p->own) {
        p->at_panel = reserve(&at, (size_t)(q->nr * p->padded * q->elem));
        p->at_columns = reserve(&at, wick_int8_columns_bytes(q->nr));
    }
    p->scratch = at;
}

void wick_int8_prepare(wick_int8 *p, const wick_tuning *tuning) {
    tuning = wick_tuning_or_default(tuning);
    p->depthwise = p->conv && !depthwise_refused(p);
    p->split_room = 0;
    p->late_zero &= p->keep && p->result <= WICK_INT8_F32;
    p->late_scale &= p->keep && p->result == WICK_INT8_F32 && (!p->has_bias || p->bias_is_f32);
    prepare(p, tuning);
    if (p->kernel->wide && p->tasks) {
        int64_t most = 0;
        if (p->small) /* no pair is split */
            p->split_room = 0;
        else if (!p->known || !wick_int8_count_splits(p, &most))
            p->known = NULL;
        else
            p->split_room = WICK_MIN(most + most / 2, p->padded / p->kernel->group);
        prepare(p, tuning);
    }
    p->known = NULL;
}

const char *wick_int8_name(const wick_int8 *p) { return p->kernel->names[p->conv]; }

/* ---- stage 0 ----------------------------------------------------------------------------------------------------- */

/* To the nearest whole number, half to even, within i32; NaN gives the least. */
static int32_t rounded(double x) {
    if (!(x > INT32_MIN)) return INT32_MIN;
    if (x >= INT32_MAX) return INT32_MAX;
    const double r = 6755399441055744.0; /* 1.5 2^52 */
    return (int32_t)((x + r) - r);
}

void wick_int8_set_columns(const wick_int8 *p, const wick_int8_data *d, const int8_columns *to, int64_t j,
                           int64_t channel, int64_t n, const int32_t *sums) {
    const uint32_t za = p->late_zero ? 0 : (uint32_t)(wick_int8_byte(d->a_zero, p->a_signed, 0) + moved_a(p)),
                   all = za * (uint32_t)p->k;
    /* depthwise weights have no zero point left */
    const int32_t moved = moved_b(p), one = p->depthwise ? 0 : wick_int8_byte(d->b_zero, p->b_signed, 0) + moved;
    const bool each = p->b_zero_each && !p->depthwise, quantised = p->result > WICK_INT8_F32,
               real = p->has_bias && p->bias_is_f32, whole = p->has_bias && !p->bias_is_f32;
    int32_t *const offset = to->offset + j, *const zero = to->zero + j;
    for (int64_t i = 0; i < n; i++) {
        const int32_t z = each ? wick_int8_byte(d->b_zero, p->b_signed, channel + i) + moved : one;
        zero[i] = z;
        offset[i] = p->late_zero ? sums[i] : (int32_t)((uint32_t)z * all - za * (uint32_t)sums[i]);
    }
    if (p->result == WICK_INT8_I32) return; /* has neither scale nor bias */
    const float *const real_bias = real ? (const float *)d->bias + channel : NULL;
    const int32_t *const whole_bias = whole ? (const int32_t *)d->bias + channel : NULL;
    for (int64_t i = 0; i < n; i++) {
        const float scale = (p->late_scale ? 1 : *d->a_scale) * d->b_scale[p->b_scale_each ? channel + i : 0];
        to->scale[j + i] = quantised ? scale / *d->c_scale : scale;
        to->bias[j + i] = quantised ? 0 : real ? real_bias[i] : whole ? (float)whole_bias[i] * scale : -0.0f;
        if (quantised && p->has_bias)
            offset[i] = (int32_t)((uint32_t)offset[i] +
                                  (uint32_t)(real ? rounded((double)(real_bias[i] / scale)) : whole_bias[i]));
    }
}

void wick_int8_reserve_late(wick_int8 *p, size_t *at, int64_t width) {
    const size_t each = (size_t)width * sizeof(int32_t);
    if (p->late_zero || p->late_scale) p->at_late = reserve(at, (size_t)(p->late_zero + p->late_scale) * each);
}
int8_columns wick_int8_late_columns(const wick_int8 *p, const wick_int8_data *d, int8_columns packed, int64_t width,
                                    int64_t first, int64_t n, char *scratch) {
    int32_t *at = (int32_t *)(void *)(scratch + p->at_late);
    if (p->late_zero) {
        const uint32_t za = (uint32_t)(wick_int8_byte(d->a_zero, p->a_signed, 0) + moved_a(p)),
                       all = za * (uint32_t)p->k;
        const int32_t *zero = packed.zero, *sums = packed.offset;
        for (int64_t j = first; j < first + n; j++)
            at[j] = (int32_t)((uint32_t)zero[j] * all - za * (uint32_t)sums[j]);
        packed.offset = at;
        at += width;
    }
    if (p->late_scale) {
        float *scale = (float *)(void *)at;
        for (int64_t j = first; j < first + n; j++) scale[j] = *d->a_scale * packed.scale[j];
        packed.scale = scale;
    }
    return packed;
}

/* x / scale as a whole number, within +-512: outside of what any of 256 numbers, less a zero point, is. */
static float whole_steps(double x, float scale) {
    return (float)rounded((double)WICK_MAX(-512.0f, WICK_MIN((float)x / scale, 512.0f)));
}

void wick_int8_set_bounds(const wick_int8 *p, const wick_int8_data *d, const int8_columns *to) {
    const bool is_signed = p->result == WICK_INT8_I8;
    if (p->result != WICK_INT8_U8 && !is_signed) return;
    const int32_t point = wick_int8_byte(d->c_zero, is_signed, 0), least = is_signed ? -128 : 0;
    float low = (float)(least - point), high = (float)(least + 255 - point);
    if (p->low > -INFINITY) low = WICK_MIN(WICK_MAX(low, whole_steps(p->low, *d->c_scale)), high);
    if (p->high < INFINITY) high = WICK_MAX(WICK_MIN(high, whole_steps(p->high, *d->c_scale)), low);
    to->bounds[0] = low;
    to->bounds[1] = high;
    *to->point = point;
}

/* A panel of columns [channel, channel + cols) of all to `at`, and what stands beside it at place j. */
static void pack_panel(const wick_int8 *p, const wick_int8_data *d, int64_t cols, const uint8_t *from, int64_t row,
                       int64_t col, char *at, const int8_columns *to, int64_t j, int64_t channel) {
    const wick_int8_kernel *q = p->kernel;
    const int64_t run = p->k / p->pieces, had = (int64_t)WICK_ALIGN_UP(run, q->group) * q->nr * q->elem,
                  bytes = p->piece * q->nr * q->elem;
    int32_t sums[64] = {0}, more[64];
    for (int64_t i = 0; i < p->pieces; i++, at += bytes) {
        q->pack(run, cols, p->b_signed, from + i * run * row, row, col, at, more);
        memset(at + had, 0, (size_t)(bytes - had));
        for (int64_t x = 0; x < cols; x++) sums[x] = (int32_t)((uint32_t)sums[x] + (uint32_t)more[x]);
    }
    wick_int8_set_columns(p, d, to, j, channel, cols, sums);
}

void wick_int8_pack(const wick_int8 *p, int64_t which, int64_t begin, int64_t end, const wick_int8_data *d,
                    void *scratch) {
    const wick_int8_kernel *q = p->kernel;
    if (p->depthwise) {
        wick_int8_pack_depthwise(p, d);
        return;
    }
    char *packed = (char *)d->packed + (size_t)which * p->packed;
    const int8_columns to = wick_int8_columns_at(p, packed, width_of(p));
    const int64_t nr = q->nr, panels = wick_ceil_div(p->n, nr), per_task = wick_ceil_div(panels, p->tasks_pack),
                  taps = p->conv ? product(p->kernel_dims) : 1;
    const uint8_t *b = (const uint8_t *)d->b + (p->conv ? which * p->n * p->k : 0);
    if (begin == 0) wick_int8_set_bounds(p, d, &to);
    if (begin == 0 && p->conv && p->row_sums && !p->amx) { /* ones, whose products are sums of rows */
        static const int8_t one = 1;
        const int64_t run = p->k / p->pieces, bytes = p->piece * nr * q->elem;
        int32_t sums[64];
        for (int64_t i = 0; i < p->pieces; i++)
            q->pack(run, 1, true, &one, 0, 0, packed + panels * nr * p->padded * q->elem + i * bytes, sums);
        if (q->wide) wick_int8_split_panel(p, packed, panels);
    }
    for (int64_t panel = begin * per_task; panel < WICK_MIN(panels, end * per_task); panel++) {
        const int64_t first = panel * nr, cols = WICK_MIN(nr, p->n - first);
        const uint8_t *from = b + (p->conv ? first * p->k : first * p->b_col);
        int64_t row = p->conv ? 1 : p->b_row, col = p->conv ? p->k : p->b_col;
        if (taps > 1) { /* [ci][taps] of a column become [taps][ci], as rows of A have them */
            uint8_t *transposed = scratch;
            for (int64_t j = 0; j < cols; j++, from += p->k)
                for (int64_t t = 0; t < taps; t++)
                    for (int64_t c = 0; c < p->ci; c++) *transposed++ = from[c * taps + t];
            from = scratch;
        }
        pack_panel(p, d, cols, from, row, col, packed + panel * nr * p->padded * q->elem, &to, first,
                   which * (p->conv ? p->n : 0) + first);
        if (q->wide) wick_int8_split_panel(p, packed, panel);
    }
}

/* ---- stage 1 ----------------------------------------------------------------------------------------------------- */

/* dst may be written, src read, to the next 16 bytes where `far` says so. */
static inline void copy_piece(uint8_t *dst, const uint8_t *src, int64_t n, bool far) {
    if (!far) {
        memcpy(dst, src, (size_t)n);
        return;
    }
    for (int64_t i = 0; i < n; i += 16) memcpy(dst + i, src + i, 16);
}

/* What output pixel i of a group reads, by taps, then channels. */
static void gather(const wick_int8 *p, const uint8_t *image, int64_t group, int64_t i, int zero, uint8_t *dst) {
    const int64_t pixel = p->groups * p->ci, *in = p->in, *kernel = p->kernel_dims;
    const int64_t at[3] = {i / p->out[2] / p->out[1], i / p->out[2] % p->out[1], i % p->out[2]};
    const int64_t x0 = at[2] * p->stride[2] - p->pad[2], run = kernel[2] * p->ci;
    const bool whole = p->groups == 1 && p->dilation[2] == 1 && x0 >= 0 && x0 + kernel[2] <= in[2];
    const uint8_t *const end = image + product(in) * pixel;
    for (int64_t kz = 0; kz < kernel[0]; kz++) {
        const int64_t z = at[0] * p->stride[0] - p->pad[0] + kz * p->dilation[0];
        for (int64_t ky = 0; ky < kernel[1]; ky++, dst += run) {
            const int64_t y = at[1] * p->stride[1] - p->pad[1] + ky * p->dilation[1];
            if (z < 0 || z >= in[0] || y < 0 || y >= in[1]) {
                memset(dst, zero, (size_t)run);
                continue;
            }
            const uint8_t *line = image + (z * in[1] + y) * in[2] * pixel + group * p->ci;
            if (whole) {
                const uint8_t *from = line + x0 * pixel;
                copy_piece(dst, from, run, end - from >= run + 16);
                continue;
            }
            for (int64_t kx = 0; kx < kernel[2]; kx++) {
                const int64_t x = x0 + kx * p->dilation[2];
                if (x < 0 || x >= in[2])
                    memset(dst + kx * p->ci, zero, (size_t)p->ci);
                else
                    copy_piece(dst + kx * p->ci, line + x * pixel, p->ci, end - (line + x * pixel) >= p->ci + 16);
            }
        }
    }
}

/* Row r of A as the tiles read it. */
static int32_t lay_out_row(const wick_int8 *p, const uint8_t *a, int64_t group, int64_t r, int zero, uint8_t *raw,
                           uint8_t *dst) {
    const wick_int8_kernel *q = p->kernel;
    const uint8_t *from = raw;
    if (p->conv) {
        if (q->group == 4 && !moved_a(p) && !p->row_sums) { /* straight there */
            gather(p, a, group, r, zero, dst);
            memset(dst + p->k, 0, (size_t)(p->padded - p->k));
            return 0;
        }
        gather(p, a, group, r, zero, raw);
    } else if (p->a_col == 1) {
        from = a + r * p->a_row;
    } else {
        for (int64_t i = 0; i < p->k; i++) raw[i] = a[r * p->a_row + i * p->a_col];
    }
    return q->row(p->k, p->padded, p->a_signed, from, dst);
}

/* A tile of sums by AMX; `rows` is what the tiles are configured for. */
static void amx_tile(const wick_int8 *p, const wick_int8_tile *t, int64_t rows, int64_t cols, int64_t *configured) {
    static const int64_t first[1] = {0};
    const int64_t more = WICK_MAX(rows - WICK_AMX_SIDE, 0);
    if (rows != *configured) p->amx->begin((int)(rows - more), (int)more);
    *configured = rows;
    const wick_amx_block block = {.a = t->a,
                                  .b = t->b,
                                  .steps = p->padded / WICK_AMX_ROW,
                                  .a_step = WICK_AMX_ROW,
                                  .b_step = WICK_AMX_SIDE * p->kernel->nr * 4,
                                  .a_row = t->a_row,
                                  .b_row = p->kernel->nr * 4,
                                  .a_next = WICK_AMX_SIDE * t->a_row,
                                  .b_next = WICK_AMX_ROW,
                                  .products = 1,
                                  .a_part = first,
                                  .b_part = first,
                                  .c = t->sums,
                                  .c_row = p->kernel->nr * 4};
    p->amx->block[WICK_AMX_UU + 2 * p->a_signed + p->b_signed][more > 0][cols > WICK_AMX_SIDE](&block);
}

static void run_few(const wick_int8 *p, int64_t begin, int64_t end, const wick_int8_data *d, char *scratch) {
    const int zero = wick_int8_byte(d->a_zero, p->a_signed, 0);
    const int64_t size = p->result < WICK_INT8_U8 ? 4 : 1, w = p->cols, a_row = p->padded * p->kernel->elem;
    int32_t *row_sums = (int32_t *)(void *)(scratch + p->at_sums), *sums = (int32_t *)(void *)(scratch + p->at_tile),
            *by_column = sums + p->rows * w;
    const int8_columns columns = wick_int8_columns_at(p, scratch, w);
    for (int64_t i = 0; i < p->m; i++)
        row_sums[i] = lay_out_row(p, d->a, 0, i, zero, (uint8_t *)scratch + p->at_raw, (uint8_t *)scratch + i * a_row);
    const bool summed = zero + moved_a(p) != 0;
    memset(by_column, 0, (size_t)w * sizeof *by_column);
    wick_int8_set_bounds(p, d, &columns);
    for (int64_t t = begin; t < end; t++) {
        const int64_t c0 = t * w, cols = WICK_MIN(w, p->n - c0);
        const wick_int8_sweep s = {.k = p->k,
                                   .cols = cols,
                                   .a = (const uint8_t *)scratch,
                                   .a_row = a_row,
                                   .padded = p->padded,
                                   .b = (const uint8_t *)d->b + c0,
                                   .b_row = p->b_row,
                                   .flip = moved_b(p) ? 0x80 : 0,
                                   .sums = sums,
                                   .columns = summed ? by_column : NULL,
                                   .width = w};
        p->kernel->few[p->m - 1](&s);
        wick_int8_set_columns(p, d, &columns, 0, c0, cols, by_column);
        p->kernel->finish(&(wick_int8_finish){.rows = p->m,
                                              .cols = cols,
                                              .sums = sums,
                                              .sums_row = w,
                                              .row_sums = p->row_sums ? row_sums : NULL,
                                              .offset = columns.offset,
                                              .zero = columns.zero,
                                              .scale = columns.scale,
                                              .bias = columns.bias,
                                              .result = p->result,
                                              .low = columns.bounds[0],
                                              .high = columns.bounds[1],
                                              .point = *columns.point,
                                              .c = (char *)d->c + c0 * size,
                                              .c_row = p->n});
    }
}

/* Prefetches the lines of rows that will be written. */
static inline void ask_for(const void *c, int64_t rows, int64_t row_bytes, int64_t bytes) {
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < bytes; x += 64) __builtin_prefetch((const char *)c + y * row_bytes + x, 1);
}

/* Nothing is added to a tile; its only piece begins at once. */
static const int32_t none[64];
static const int64_t first[1] = {0};

void wick_int8_run(const wick_int8 *p, int64_t begin, int64_t end, const wick_int8_data *d, void *scratch) {
    if (p->conv && !p->amx) {
        (p->depthwise ? wick_int8_run_depthwise : wick_int8_run_lines)(p, begin, end, d, scratch);
        return;
    }
    if (p->few) {
        run_few(p, begin, end, d, scratch);
        return;
    }
    const wick_int8_kernel *q = p->kernel;
    const int64_t down = wick_ceil_div(p->m, p->rows), across = wick_ceil_div(p->n, p->cols),
                  size = p->result < WICK_INT8_U8 ? 4 : 1, bytes = p->padded * q->elem;
    const int64_t c_row = p->conv ? p->groups * p->n : p->n;
    uint8_t *laid = scratch;
    int32_t *row_sums = (int32_t *)(void *)((char *)scratch + p->at_sums),
            *sums = (int32_t *)(void *)((char *)scratch + p->at_tile);
    uint8_t *raw = (uint8_t *)scratch + p->at_raw;
    const int zero = wick_int8_byte(d->a_zero, p->a_signed, 0);
    /* rows follow each other, before and after */
    const bool as_one = !p->conv && p->a_col == 1 && p->a_row == p->k && p->padded == p->k && !p->row_sums;
    const bool plain = p->result == WICK_INT8_I32 && !p->row_sums && !p->amx;
    int64_t had = -1, configured = 0;                /* the rows that are laid out; that AMX tiles have */
    const bool from_dram =
        p->m * c_row * size > INT8_FAR; /* C is in no near cache: its lines come while sums are made */
    for (int64_t t = begin; t < end; t++) {
        const int64_t column = t % across, block = t / across % down, group = t / across / down, r0 = block * p->rows,
                      r1 = WICK_MIN(p->m, r0 + p->rows);
        const int64_t j1 = WICK_MIN(p->n, (column + 1) * p->cols);
        char *const packed = p->own ? (char *)scratch + p->at_panel : (char *)d->packed + (size_t)group * p->packed;
        const int8_columns columns =
            p->own ? wick_int8_columns_at(p, scratch, q->nr)
                   : wick_int8_late_columns(p, d, wick_int8_columns_at(p, packed, width_of(p)), width_of(p),
                                            column * p->cols, j1 - column * p->cols, scratch);
        if (p->own) wick_int8_set_bounds(p, d, &columns);
        wick_int8_tile tile = {.pieces = 1, .piece = first, .steps = p->padded / q->group, .a_row = bytes};
        const char *a = (const char *)laid;
        if (p->in_place) {
            tile.a_row = p->conv ? p->groups * p->ci : p->a_row;
            a = (const char *)d->a + r0 * tile.a_row + (p->conv ? group * p->ci : 0);
        } else if (had != t / across) {
            const int64_t all = (r1 - r0) * p->k;
            if (as_one) q->row(all, all, p->a_signed, (const char *)d->a + r0 * p->k, laid);
            else
                for (int64_t r = r0; r < r1; r++)
                    row_sums[r - r0] = lay_out_row(p, d->a, group, r, zero, raw, laid + (r - r0) * bytes);
            had = t / across;
        }
        const int64_t tiles = wick_ceil_div(r1 - r0, q->mr), height = (r1 - r0) / tiles, taller = (r1 - r0) % tiles;
        for (int64_t j = column * p->cols; j < j1; j += q->nr) {
            const int64_t cols = WICK_MIN(q->nr, p->n - j);
            wick_int8_tile_fn *const *by_rows =
                p->amx ? NULL : wick_int8_tiles_of(p, packed, j / q->nr, &tile) + (cols > q->nr / 2 ? q->mr : 0) - 1;
            const int64_t at = p->own ? 0 : j; /* of what is packed */
            wick_int8_finish f = {.cols = cols,
                                  .sums = sums,
                                  .sums_row = q->nr,
                                  .offset = columns.offset + at,
                                  .zero = columns.zero + at,
                                  .scale = columns.scale + at,
                                  .bias = columns.bias + at,
                                  .result = p->result,
                                  .low = columns.bounds[0],
                                  .high = columns.bounds[1],
                                  .point = *columns.point,
                                  .c_row = c_row};
            if (p->own)
                pack_panel(p, d, cols, (const uint8_t *)d->b + j * p->b_col, p->b_row, p->b_col, packed, &columns, 0,
                           j);
            /* to C: tiles begin with what is added */
            const bool straight = plain && (cols == q->nr || 2 * cols == q->nr);
            tile.start = straight ? f.offset : none;
            tile.sums_row = straight ? c_row : q->nr;
            tile.b = packed + at * bytes;
            for (int64_t i = 0, r = r0; i < tiles; i++, r += f.rows) {
                f.rows = height + (i < taller);
                tile.a = a + (r - r0) * tile.a_row;
                f.c = (char *)d->c + (r * c_row + group * p->n + j) * size;
                tile.sums = straight ? f.c : sums;
                if (from_dram) ask_for(f.c, f.rows, c_row * size, cols * size);
                if (p->amx)
                    amx_tile(p, &tile, f.rows, cols, &configured);
                else
                    by_rows[f.rows](&tile);
                if (straight) continue;
                f.row_sums = p->row_sums ? row_sums + (r - r0) : NULL;
                q->finish(&f);
            }
        }
    }
    if (configured) p->amx->end();
}
