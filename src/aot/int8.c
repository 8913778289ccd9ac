/* int8.c: products and convolutions of 8-bit integers. Zero points are taken from both sides before they are
 * multiplied, so that padding is passed over; weights whose zero point is 0 stay bytes. Sums are exact, and what
 * becomes of them is that of kernels/int8. What is known of weights, scales and biases is computed when the code is
 * written; for the rest the step that packs for the kernels prints functions that lay it out in the run, in the place
 * of what kernels pack:
 *
 *     weights   scale [columns]   bias or what is added to sums [columns]   low, high, zero point */
#include <math.h>
#include <stdio.h>

#include "aot/int8.h"

#define line wick_c_line

/* ---- what is known ----------------------------------------------------------------------------------------------- */

static const wick_ref *ref_at(const int8_print *q, int which) {
    const int at = q->m->at[which];
    return at ? &q->from->refs[at - 1] : NULL;
}
static bool is_known(const int8_print *q, int which) {
    const wick_ref *r = ref_at(q, which);
    return !r || q->buffers[r->buffer].place == WICK_C_DATA;
}
static const void *data_at(const int8_print *q, int which) {
    const wick_ref *r = ref_at(q, which);
    return r ? (const char *)q->buffers[r->buffer].data + r->offset : NULL;
}
static int32_t byte_at(const void *data, bool is_signed, int64_t i) {
    return !data ? 0 : is_signed ? ((const int8_t *)data)[i] : ((const uint8_t *)data)[i];
}
/* Where what is laid out in the run lies: packed by a step before, or, of a product without one, scratch of its own
 * (wick_c_int8_own_scratch). */
static const wick_ref *packed_of(const int8_print *q) {
    return ref_at(q, WICK_INT8_AT_PACKED) ? ref_at(q, WICK_INT8_AT_PACKED)
           : q->bytes                     ? &q->from->refs[q->from->n_refs - 1]
                                          : NULL;
}

static bool has_zeros(const int8_print *q) {
    const int64_t n = q->p->b_zero_each ? q->columns : 1;
    const void *zeros = data_at(q, WICK_INT8_AT_B_ZERO);
    bool any = false;
    for (int64_t i = 0; i < n && zeros; i++) any |= byte_at(zeros, q->p->b_signed, i) != 0;
    return any;
}

static int8_print print_of(const wick_step *from, const wick_c_buffer *buffers) {
    int8_print q = {.from = from, .m = from->args, .buffers = buffers};
    const wick_int8 *p = q.p = &q.m->product;
    q.columns = p->n * (p->conv ? p->groups : 1);
    q.weights = p->conv ? q.columns * p->k : WICK_MAX(p->b_count, 1) * p->k * p->n;
    q.weights_known = is_known(&q, WICK_INT8_AT_B) && is_known(&q, WICK_INT8_AT_B_ZERO);
    q.columns_known = true;
    for (int k = WICK_INT8_AT_A_SCALE; k <= WICK_INT8_AT_BIAS; k++) q.columns_known &= is_known(&q, k);
    q.w_dtype = p->has_b_zero && (!q.weights_known || has_zeros(&q)) ? WICK_I16 : p->b_signed ? WICK_I8 : WICK_U8;
    q.at_columns = q.weights_known ? 0 : WICK_ALIGN_UP((size_t)q.weights * wick_dtype_size(q.w_dtype), 16);
    q.bytes = q.at_columns + (q.columns_known ? 0 : WICK_ALIGN_UP((size_t)(2 * q.columns + 3) * 4, 16));
    q.a = p->a_signed ? "int8_t" : "uint8_t";
    q.w = wick_c_memory(q.w_dtype);
    q.c = p->result == WICK_INT8_I32   ? "int32_t"
          : p->result == WICK_INT8_F32 ? "float"
          : p->result == WICK_INT8_U8  ? "uint8_t"
                                       : "int8_t";
    q.sum = p->k <= INT32_MAX / (255 * 255) ? "int32_t" : "uint32_t"; /* sums wrap */
    return q;
}

size_t wick_c_int8_scratch(const wick_step *s, const wick_c_buffer *buffers, wick_c_isa isa) {
    (void)isa;
    return print_of(s, buffers).bytes;
}
/* What is laid out in the run, then what pairs take. */
size_t wick_c_int8_own_scratch(const wick_step *s, const wick_c_buffer *buffers, bool pairs) {
    const size_t own = wick_c_int8_packed(s) < 0 ? print_of(s, buffers).bytes : 0;
    return own + (pairs ? wick_c_int8_pairs_scratch(&((const wick_step_int8 *)s->args)->product) : 0);
}
int wick_c_int8_packed(const wick_step *s) { return ((const wick_step_int8 *)s->args)->at[WICK_INT8_AT_PACKED] - 1; }

static int64_t lanes_of(const wick_c_printer *p, const int8_print *q) {
    return WICK_MAX(1, WICK_MIN(p->m->lanes, q->p->depthwise ? q->p->groups : q->p->n));
}

/* ---- in the order in which loops read them: [tap][groups] of depthwise ones, else [group or
 * product][panel][tap][source][lanes], the last panel narrower ---- */

static void put(char *to, wick_dtype dtype, int64_t at, int32_t value) {
    const int16_t wide = (int16_t)value;
    if (dtype == WICK_I16) memcpy(to + 2 * at, &wide, 2);
    else to[at] = (char)value;
}

/* Where product number `which` begins, of a batch. */
static int64_t offset_of(const wick_step_int8 *m, int64_t which) {
    int64_t at = 0;
    for (int d = m->batch_rank - 1; d >= 0; d--) {
        at += which % m->batch[d] * m->b[d];
        which /= m->batch[d];
    }
    return at;
}

int wick_c_int8_weights(wick_c_printer *printer, const int8_print *q, int64_t lanes) {
    const wick_int8 *p = q->p;
    const int64_t taps = wick_c_int8_taps(p), elem = (int64_t)wick_dtype_size(q->w_dtype);
    const void *zeros = data_at(q, WICK_INT8_AT_B_ZERO);
    char *to = wick_arena_alloc(&printer->step, (size_t)(q->weights * elem) + 1);
    int64_t at = 0;
    if (!to) {
        printer->functions.failed = true;
        return 0;
    }
    if (p->depthwise) {
        for (int64_t t = 0; t < taps; t++)
            for (int64_t g = 0; g < p->groups; g++)
                put(to, q->w_dtype, at++,
                    byte_at(data_at(q, WICK_INT8_AT_B), p->b_signed, g * taps + t) -
                        byte_at(zeros, p->b_signed, p->b_zero_each ? g : 0));
    } else {
        const int64_t sources = p->conv ? p->ci : p->k, row = p->conv ? taps : p->b_row,
                      column = p->conv ? p->k : p->b_col;
        for (int64_t g = 0; g < WICK_MAX(p->b_count, 1); g++) {
            const char *b = (const char *)data_at(q, WICK_INT8_AT_B) + (p->conv          ? g * p->n * p->k
                                                                        : p->b_count > 1 ? offset_of(q->m, g)
                                                                                         : 0);
            const int64_t channel = p->conv ? g * p->n : 0;
            for (int64_t o = 0; o < p->n; o += lanes)
                for (int64_t t = 0; t < taps; t++)
                    for (int64_t i = 0; i < sources; i++)
                        for (int64_t j = o; j < WICK_MIN(o + lanes, p->n); j++)
                            put(to, q->w_dtype, at++,
                                byte_at(b, p->b_signed, j * column + i * row + t) -
                                    byte_at(zeros, p->b_signed, p->b_zero_each ? channel + j : 0));
        }
    }
    return wick_c_constant(printer, q->w_dtype, to, q->weights);
}

/* The same in the run. */
static void print_weights(wick_c_printer *printer, const int8_print *q) {
    const wick_int8 *p = q->p;
    const int64_t lanes = lanes_of(printer, q), taps = wick_c_int8_taps(p);
    const char *b = p->b_signed ? "int8_t" : "uint8_t", *each = p->b_zero_each  ? p->conv && !p->depthwise
                                                                                      ? " - zero[g * N + j]"
                                                                                  : p->conv ? " - zero[g]"
                                                                                            : " - zero[j]"
                                                                : p->has_b_zero ? " - *zero"
                                                                                : "";
    wick_text t = {0};
    wick_text_add(&t, "(const %s *b, ", b);
    if (p->has_b_zero) wick_text_add(&t, "const %s *zero, ", b);
    wick_text_add(&t, "%s *w) {\n", q->w);
    if (p->depthwise) {
        line(&t, 1, "for (long t = 0; t < %lld; t++)", LL(taps));
        line(&t, 2, "for (long g = 0; g < %lld; g++) *w++ = (%s)(b[g * %lld + t]%s);", LL(p->groups), q->w, LL(taps),
             each);
    } else if (p->conv) {
        wick_text_add(&t, "    enum { N = %lld };\n", LL(p->n));
        line(&t, 1, "for (long g = 0; g < %lld; g++)", LL(p->groups));
        line(&t, 2, "for (long o = 0; o < N; o += %lld)", LL(lanes));
        line(&t, 3, "for (long t = 0; t < %lld; t++)", LL(taps));
        line(&t, 4, "for (long c = 0; c < %lld; c++)", LL(p->ci));
        line(&t, 5,
             "for (long j = o; j < o + %lld && j < N; j++) *w++ = (%s)(b[((g * N + j) * %lld + c) * %lld + t]%s);",
             LL(lanes), q->w, LL(p->ci), LL(taps), each);
    } else {
        int depth = 1;
        char at[128] = "";
        for (int d = 0; d < q->m->batch_rank && p->b_count > 1; d++) {
            line(&t, depth++, "for (long n%d = 0; n%d < %lld; n%d++)", d, d, LL(q->m->batch[d]), d);
            snprintf(at + strlen(at), sizeof at - strlen(at), "n%d * %lld + ", d, LL(q->m->b[d]));
        }
        line(&t, depth, "for (long o = 0; o < %lld; o += %lld)", LL(p->n), LL(lanes));
        line(&t, depth + 1, "for (long k = 0; k < %lld; k++)", LL(p->k));
        line(&t, depth + 2, "for (long j = o; j < o + %lld && j < %lld; j++) *w++ = (%s)(b[%sk * %lld + j * %lld]%s);",
             LL(lanes), LL(p->n), q->w, at, LL(p->b_row), LL(p->b_col), each);
    }
    wick_text_add(&t, "}\n");
    wick_c_kernel(printer, "int8_weights", &t);
    wick_c_argument(printer, ref_at(q, WICK_INT8_AT_B), p->b_signed ? WICK_I8 : WICK_U8);
    wick_text_add(&printer->calls, ", ");
    if (p->has_b_zero) {
        wick_c_argument(printer, ref_at(q, WICK_INT8_AT_B_ZERO), p->b_signed ? WICK_I8 : WICK_U8);
        wick_text_add(&printer->calls, ", ");
    }
    wick_c_argument(printer, packed_of(q), q->w_dtype);
    wick_text_add(&printer->calls, ");\n");
}

/* ---- what stands beside the weights: scale [columns], bias [columns] (of sums: of i32), low, high and zero point ----
 */

/* To the nearest whole number, half to even, within i32; NaN gives the least. */
static int32_t rounded(double x) {
    const double r = 6755399441055744.0; /* 1.5 2^52 */
    return !(x > INT32_MIN) ? INT32_MIN : x >= INT32_MAX ? INT32_MAX : (int32_t)((x + r) - r);
}
static float whole_steps(double x, float scale) {
    return (float)rounded((double)WICK_MAX(-512.0f, WICK_MIN((float)x / scale, 512.0f)));
}

static bool find_columns(wick_c_printer *printer, const int8_print *q, int8_known *k) {
    const wick_int8 *p = q->p;
    *k = (int8_known){.same_scale = true};
    if (p->result == WICK_INT8_I32) return true;
    k->scale = wick_arena_zalloc(&printer->step, (size_t)(3 * q->columns + 1) * 4);
    if (!k->scale) {
        printer->functions.failed = true;
        return false;
    }
    k->bias = k->scale + q->columns;
    k->added = (int32_t *)(void *)(k->bias + q->columns);
    const float *a_scale = data_at(q, WICK_INT8_AT_A_SCALE), *b_scale = data_at(q, WICK_INT8_AT_B_SCALE),
                *c_scale = data_at(q, WICK_INT8_AT_SCALE);
    const void *bias = data_at(q, WICK_INT8_AT_BIAS);
    const uint64_t word = wick_fp_enter(); /* as when a plan packs them */
    for (int64_t j = 0; j < q->columns; j++) {
        const float scale = (p->late_scale ? 1 : *a_scale) * b_scale[p->b_scale_each ? j : 0];
        k->scale[j] = wick_c_int8_quantises(p) ? scale / *c_scale : scale;
        k->same_scale &= k->scale[j] == k->scale[0];
        if (!bias) continue;
        if (wick_c_int8_quantises(p))
            k->added[j] =
                p->bias_is_f32 ? rounded((double)(((const float *)bias)[j] / scale)) : ((const int32_t *)bias)[j];
        else
            k->bias[j] = p->bias_is_f32 ? ((const float *)bias)[j] : (float)((const int32_t *)bias)[j] * scale;
    }
    if (wick_c_int8_quantises(p)) {
        const bool is_signed = p->result == WICK_INT8_I8;
        const int32_t point = byte_at(data_at(q, WICK_INT8_AT_ZERO), is_signed, 0), least = is_signed ? -128 : 0;
        float low = (float)(least - point), high = (float)(least + 255 - point);
        if (p->low > -INFINITY) low = WICK_MIN(WICK_MAX(low, whole_steps(p->low, *c_scale)), high);
        if (p->high < INFINITY) high = WICK_MAX(WICK_MIN(high, whole_steps(p->high, *c_scale)), low);
        k->bounds[0] = low, k->bounds[1] = high, k->bounds[2] = (float)point;
    }
    wick_fp_restore(word);
    return true;
}

static void print_bound(wick_text *t, double bound, const char *join, const char *name) {
    wick_text number = {0};
    wick_c_number(&number, WICK_CF32, (double)(float)bound);
    wick_text_add(t, "    v = %s / *c_scale;\n", number.at ? number.at : "0");
    line(t, 1, "v = v < 512.0f ? v : 512.0f;");
    line(t, 1, "v = -512.0f > v ? -512.0f : v;");
    line(t, 1, "v = (float)(((double)v + 6755399441055744.0) - 6755399441055744.0);");
    line(t, 1, join, name, name);
    t->failed = t->failed || number.failed;
    wick_text_free(&number);
}

/* The same in the run. */
static void print_columns(wick_c_printer *printer, const int8_print *q) {
    static const char *const names[] = {"a_scale", "b_scale", "c_scale", "c_zero", "bias"};
    const wick_int8 *p = q->p;
    const bool quantised = wick_c_int8_quantises(p), is_signed = p->result == WICK_INT8_I8;
    const int least = is_signed ? -128 : 0;
    wick_text t = {0};
    wick_text_add(&t, "(");
    for (int k = 0; k < 5; k++) {
        if (!ref_at(q, WICK_INT8_AT_A_SCALE + k)) continue;
        wick_text_add(&t, "const %s *%s, ",
                      k < 3 || (k == 4 && p->bias_is_f32) ? "float"
                      : k == 4                            ? "int32_t"
                                                          : q->c,
                      names[k]);
    }
    wick_text_add(&t, "float *scale, %s *added%s) {\n", quantised ? "int32_t" : "float",
                  quantised ? ", float *bounds" : "");
    line(&t, 1, "for (long j = 0; j < %lld; j++) {", LL(q->columns));
    line(&t, 2, "const float s = %s%s;", p->late_scale ? "" : "*a_scale * ",
         p->b_scale_each ? "b_scale[j]" : "*b_scale");
    line(&t, 2, quantised ? "scale[j] = s / *c_scale;" : "scale[j] = s;");
    if (!p->has_bias) {
        line(&t, 2, "added[j] = 0;");
    } else if (!quantised) {
        line(&t, 2, p->bias_is_f32 ? "added[j] = bias[j];" : "added[j] = (float)bias[j] * s;");
    } else if (!p->bias_is_f32) {
        line(&t, 2, "added[j] = bias[j];");
    } else {
        line(&t, 2, "const double v = (double)(bias[j] / s);");
        line(&t, 2,
             "added[j] = !(v > -2147483648.0) ? INT32_MIN : v >= 2147483647.0 ? INT32_MAX : (int32_t)((v + "
             "6755399441055744.0) - 6755399441055744.0);");
    }
    line(&t, 1, "}");
    if (quantised) {
        line(&t, 1, "const float point = %s;", ref_at(q, WICK_INT8_AT_ZERO) ? "(float)*c_zero" : "0");
        line(&t, 1, "float low = %d - point, high = %d - point%s;", least, least + 255,
             p->low > -INFINITY || p->high < INFINITY ? ", v" : "");
        if (p->low > -INFINITY)
            print_bound(&t, p->low, "%s = low > v ? low : v;", "low"), line(&t, 1, "low = low < high ? low : high;");
        if (p->high < INFINITY)
            print_bound(&t, p->high, "%s = high < v ? high : v;", "high"),
                line(&t, 1, "high = high > low ? high : low;");
        line(&t, 1, "bounds[0] = low, bounds[1] = high, bounds[2] = point;");
    }
    wick_text_add(&t, "}\n");
    wick_c_kernel(printer, "int8_columns", &t);
    for (int k = 0; k < 5; k++) {
        if (!ref_at(q, WICK_INT8_AT_A_SCALE + k)) continue;
        wick_c_argument(printer, ref_at(q, WICK_INT8_AT_A_SCALE + k),
                        k < 3 || (k == 4 && p->bias_is_f32) ? WICK_F32
                        : k == 4                            ? WICK_I32
                        : is_signed                         ? WICK_I8
                                                            : WICK_U8);
        wick_text_add(&printer->calls, ", ");
    }
    for (int k = 0; k < 2 + quantised; k++) {
        wick_ref r = *packed_of(q);
        r.offset += (int64_t)q->at_columns + k * q->columns * 4;
        wick_c_argument(printer, &r, k == 1 && quantised ? WICK_I32 : WICK_F32);
        wick_text_add(&printer->calls, k == 1 + quantised ? ");\n" : ", ");
    }
}

wick_status wick_c_print_int8_pack(wick_c_printer *printer, const wick_step *s) {
    const int8_print q = print_of(s, printer->f->buffers);
    if (!q.weights_known) print_weights(printer, &q);
    if (!q.columns_known) print_columns(printer, &q);
    return WICK_OK;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* The rest of a panel's columns, from number `first` (an expression) of all on; `to`: where the result of j goes. */
static void print_results(wick_text *t, int depth, const int8_print *q, const int8_known *known, int64_t width,
                          const char *first, const char *to) {
    const wick_int8 *p = q->p;
    char scale[128];
    if (p->result == WICK_INT8_I32) {
        line(t, depth, "for (long j = 0; j < %lld; j++) %s = (int32_t)acc[j];", LL(width), to);
        return;
    }
    wick_text number = {0};
    if (q->columns_known && known->same_scale && q->columns) wick_c_number(&number, WICK_CF32, (double)known->scale[0]);
    snprintf(scale, sizeof scale, "%s%s%s%s", p->late_scale ? "(*a_scale * " : "", number.at ? number.at : "scale[",
             number.at ? "" : first, p->late_scale ? number.at ? ")" : " + j])" : number.at ? "" : " + j]");
    t->failed = t->failed || number.failed;
    wick_text_free(&number);
    line(t, depth, "for (long j = 0; j < %lld; j++) {", LL(width));
    if (p->result == WICK_INT8_F32) {
        if (p->has_bias)
            line(t, depth + 1, "%s = (float)(int32_t)acc[j] * %s + added[%s + j];", to, scale, first);
        else
            line(t, depth + 1, "%s = (float)(int32_t)acc[j] * %s;", to, scale);
    } else {
        if (p->has_bias)
            line(t, depth + 1, "float v = (float)(int32_t)((uint32_t)acc[j] + (uint32_t)added[%s + j]) * %s;", first,
                 scale);
        else
            line(t, depth + 1, "float v = (float)(int32_t)acc[j] * %s;", scale);
        line(t, depth + 1, "v = v > low ? v : low;");
        line(t, depth + 1, "v = v < high ? v : high;");
        line(t, depth + 1, "%s = (%s)((int32_t)((v + 12582912.0f) - 12582912.0f) + point);", to, q->c);
    }
    line(t, depth, "}");
}

/* "acc[j] += v * w[...]" for j < width. */
static void print_terms(wick_text *t, int depth, const int8_print *q, int64_t width, const char *v, const char *w) {
    const bool wraps = strcmp(q->sum, "uint32_t") == 0;
    line(t, depth, "KEEP for (long j = 0; j < %lld; j++) acc[j] += %s%s * %s%s;", LL(width), wraps ? "(uint32_t)(" : "",
         v, w, wraps ? ")" : "");
}

/* Opens the loops over images and pixels, and over taps. */
static int open_pixels(wick_text *t, int depth, const wick_int8 *p) {
    line(t, depth++, "for (long n = 0; n < %lld; n++)", LL(p->batch));
    for (int d = 0; d < 3; d++)
        line(t, depth++, "for (long o%d = 0; o%d < %lld; o%d++)%s", d, d, LL(p->out[d]), d, d == 2 ? " {" : "");
    return depth;
}
static int open_taps(wick_text *t, int depth, const wick_int8 *p) {
    for (int d = 0; d < 3; d++) {
        line(t, depth++, "for (long k%d = 0; k%d < %lld; k%d++) {", d, d, LL(p->kernel_dims[d]), d);
        line(t, depth, "const long i%d = o%d * %lld + k%d * %lld - %lld;", d, d, LL(p->stride[d]), d,
             LL(p->dilation[d]), LL(p->pad[d]));
        line(t, depth, "if (i%d < 0 || i%d >= %lld) continue;", d, d, LL(p->in[d]));
    }
    line(t, depth, "const long t = (k0 * %lld + k1) * %lld + k2;", LL(p->kernel_dims[1]), LL(p->kernel_dims[2]));
    return depth;
}

static void print_conv_panel(wick_text *t, int depth, const int8_print *q, const int8_known *known, int64_t width,
                             const char *o) {
    const wick_int8 *p = q->p;
    const int64_t taps = wick_c_int8_taps(p), channels = p->groups * p->ci;
    char first[64], to[96];
    const int opened = depth;
    line(t, depth, "%s acc[%lld] = {0};", q->sum, LL(width));
    depth = open_taps(t, depth, p);
    if (p->depthwise) {
        line(t, depth, "const %s *from = x + (((n * %lld + i0) * %lld + i1) * %lld + i2) * %lld + %s;", q->a,
             LL(p->in[0]), LL(p->in[1]), LL(p->in[2]), LL(channels), o);
        line(t, depth, "const %s *u = w + t * %lld + %s;", q->w, LL(channels), o);
        print_terms(t, depth, q, width, "(from[j] - ZERO)", "u[j]");
        snprintf(first, sizeof first, "%s", o);
    } else {
        line(t, depth, "const %s *from = x + (((n * %lld + i0) * %lld + i1) * %lld + i2) * %lld + g * %lld;", q->a,
             LL(p->in[0]), LL(p->in[1]), LL(p->in[2]), LL(channels), LL(p->ci));
        line(t, depth, "const %s *u = w + g * %lld + %s * %lld + t * %lld;", q->w, LL(p->n * p->k), o, LL(taps * p->ci),
             LL(p->ci * width));
        line(t, depth, "for (long c = 0; c < %lld; c++, u += %lld) {", LL(p->ci), LL(width));
        line(t, depth + 1, "const int32_t v = from[c] - ZERO;");
        print_terms(t, depth + 1, q, width, "v", "u[j]");
        line(t, depth, "}");
        snprintf(first, sizeof first, "g * %lld + %s", LL(p->n), o);
    }
    while (depth > opened) line(t, --depth, "}");
    snprintf(to, sizeof to, "to[%s + j]", first);
    print_results(t, depth, q, known, width, first, to);
}

static void print_product_panel(wick_text *t, int depth, const int8_print *q, const int8_known *known, int64_t width,
                                const char *o) {
    const wick_int8 *p = q->p;
    char to[96];
    line(t, depth, "%s acc[%lld] = {0};", q->sum, LL(width));
    line(t, depth, "const %s *u = b + %s * %lld;", q->w, o, LL(p->k));
    line(t, depth, "for (long k = 0; k < %lld; k++, u += %lld) {", LL(p->k), LL(width));
    line(t, depth + 1, "const int32_t v = from[k * %lld] - ZERO;", LL(p->a_col));
    print_terms(t, depth + 1, q, width, "v", "u[j]");
    line(t, depth, "}");
    snprintf(to, sizeof to, "to[%s + j]", o);
    print_results(t, depth, q, known, width, o, to);
}

/* Whole panels, and the rest. */
static void print_panels(wick_text *t, int depth, const int8_print *q, const int8_known *known, int64_t n,
                         int64_t lanes) {
    void (*const print)(wick_text *, int, const int8_print *, const int8_known *, int64_t, const char *) =
        q->p->conv ? print_conv_panel : print_product_panel;
    const int64_t whole = n - n % lanes;
    if (whole) {
        line(t, depth, "for (long o = 0; o < %lld; o += %lld) {", LL(whole), LL(lanes));
        print(t, depth + 1, q, known, lanes, "o");
        line(t, depth, "}");
    }
    if (whole < n) {
        char first[32];
        snprintf(first, sizeof first, "%lld", LL(whole));
        line(t, depth, "{");
        print(t, depth + 1, q, known, n - whole, first);
        line(t, depth, "}");
    }
}

static void print_conv(wick_text *t, const int8_print *q, const int8_known *known, int64_t lanes) {
    const wick_int8 *p = q->p;
    int depth = open_pixels(t, 1, p);
    line(t, depth, "%s *to = y + (((n * %lld + o0) * %lld + o1) * %lld + o2) * %lld;", q->c, LL(p->out[0]),
         LL(p->out[1]), LL(p->out[2]), LL(q->columns));
    if (p->depthwise) {
        print_panels(t, depth, q, known, p->groups, lanes);
    } else {
        line(t, depth, "for (long g = 0; g < %lld; g++) {", LL(p->groups));
        print_panels(t, depth + 1, q, known, p->n, lanes);
        line(t, depth, "}");
    }
    line(t, depth - 1, "}");
}

static void print_products(wick_text *t, const int8_print *q, const int8_known *known, int64_t lanes) {
    const wick_int8 *p = q->p;
    const wick_step_int8 *m = q->m;
    int depth = 1;
    wick_text at = {0};
    char number[512] = "n0", before[512];
    for (int d = 0; d < m->batch_rank; d++) {
        line(t, depth++, "for (long n%d = 0; n%d < %lld; n%d++)", d, d, LL(m->batch[d]), d);
        if (m->a[d]) wick_text_add(&at, "n%d * %lld + ", d, LL(m->a[d]));
        snprintf(before, sizeof before, "%s", number);
        if (d) snprintf(number, sizeof number, "(%.400s * %lld + n%d)", before, LL(m->batch[d]), d);
    }
    line(t, depth, "for (long i = 0; i < %lld; i++) {", LL(p->m));
    const bool many = m->batch_rank > 0;
    wick_text_add(t, "%*sconst %s *from = x + %si * %lld;\n", 4 * (depth + 1), "", q->a, at.at ? at.at : "",
                  LL(p->a_row));
    if (many && p->b_count > 1)
        wick_text_add(t, "%*sconst %s *b = w + %s * %lld;\n", 4 * (depth + 1), "", q->w, number, LL(p->k * p->n));
    else
        line(t, depth + 1, "const %s *b = w;", q->w);
    if (many)
        wick_text_add(t, "%*s%s *to = y + (%s * %lld + i) * %lld;\n", 4 * (depth + 1), "", q->c, number, LL(p->m),
                      LL(p->n));
    else
        line(t, depth + 1, "%s *to = y + i * %lld;", q->c, LL(p->n));
    print_panels(t, depth + 1, q, known, p->n, lanes);
    line(t, depth, "}");
    t->failed = t->failed || at.failed;
    wick_text_free(&at);
}

/* The step that laid out what this one reads. */
static const wick_step *packing_step(const wick_c_printer *printer, const wick_step *s) {
    const int packed = wick_c_int8_packed(s);
    const wick_step *found = packed < 0 ? s : NULL;
    for (size_t i = 0; i < printer->f->n_steps && packed >= 0 && printer->f->steps[i] != s; i++) {
        const wick_step *before = printer->f->steps[i];
        if (before->kind == WICK_STEP_INT8_PACK &&
            before->refs[wick_c_int8_packed(before)].buffer == s->refs[packed].buffer)
            found = before;
    }
    return found;
}

wick_status wick_c_print_int8(wick_c_printer *printer, const wick_step *s) {
    const wick_step_int8 *m = s->args;
    const wick_step *from = packing_step(printer, s);
    if (!from) return wick_c_refuse(printer, s, "nothing packs its weights");
    const int8_print q = print_of(from, printer->f->buffers);
    const wick_int8 *p = q.p;
    const int64_t lanes = lanes_of(printer, &q);
    const wick_ref *zero = m->at[WICK_INT8_AT_A_ZERO] ? &s->refs[m->at[WICK_INT8_AT_A_ZERO] - 1] : NULL,
                   *packed = from == s ? packed_of(&q) : &s->refs[wick_c_int8_packed(s)];
    const bool zero_known = !zero || wick_c_is_data(printer, zero), quantised = wick_c_int8_quantises(p),
               columns = p->result != WICK_INT8_I32;
    const wick_dtype a_dtype = p->a_signed ? WICK_I8 : WICK_U8;
    const wick_dtype c_dtype = p->result == WICK_INT8_I32   ? WICK_I32
                               : p->result == WICK_INT8_F32 ? WICK_F32
                               : p->result == WICK_INT8_U8  ? WICK_U8
                                                            : WICK_I8;
    if (from == s) WICK_TRY(wick_c_print_int8_pack(printer, s));
    int8_known known = {0};
    if (q.columns_known && !find_columns(printer, &q, &known)) return WICK_OK; /* out of memory, which the text knows */
    const int32_t zero_is = zero && zero_known ? byte_at(wick_c_data(printer, zero), p->a_signed, 0) : 0;
    if (printer->m->pairs && zero_known && !p->late_scale && wick_c_int8_pairs(&q, &known, zero_is)) {
        const wick_ref *scratch = wick_c_int8_pairs_scratch(p) ? &s->refs[s->n_refs - 1] : NULL;
        wick_c_print_int8_pairs(printer, s, &q, &known, zero_is, scratch);
        return WICK_OK;
    }
    const bool scales = columns && !(q.columns_known && known.same_scale), adds = columns && p->has_bias;
    wick_text t = {0}, done = {0};
    char less[32] = " - *zero"; /* than what is read */
    if (zero_known) snprintf(less, sizeof less, " - %d", (int)zero_is);
    wick_text_add(&t, "(const %s *x, const %s *w, ", q.a, q.w);
    if (!zero_known) wick_text_add(&t, "const %s *zero, ", q.a);
    if (p->late_scale) wick_text_add(&t, "const float *a_scale, ");
    if (scales) wick_text_add(&t, "const float *scale, ");
    if (adds) wick_text_add(&t, "const %s *added, ", quantised ? "int32_t" : "float");
    if (quantised && !q.columns_known) wick_text_add(&t, "const float *bounds, ");
    wick_text_add(&t, "%s *y) {\n", q.c);
    if (quantised && q.columns_known)
        line(&t, 1, "const float low = %d, high = %d;", (int)known.bounds[0], (int)known.bounds[1]);
    else if (quantised)
        line(&t, 1, "const float low = bounds[0], high = bounds[1];");
    if (quantised && q.columns_known)
        line(&t, 1, "const int32_t point = %d;", (int)known.bounds[2]);
    else if (quantised)
        line(&t, 1, "const int32_t point = (int32_t)bounds[2];");
    (p->conv ? print_conv : print_products)(&t, &q, &known, lanes);
    wick_text_add(&t, "}\n");
    const char *const zeros[][2] = {{" - ZERO", strcmp(less, " - 0") == 0 ? "" : less}};
    if (t.at) wick_text_replaced(&done, t.at, t.len, zeros, 1);
    done.failed = done.failed || t.failed;
    wick_text_free(&t);
    wick_c_kernel(printer, p->conv ? "int8_conv" : "int8_product", &done);
    wick_c_argument(printer, &s->refs[m->at[WICK_INT8_AT_A] - 1], a_dtype);
    wick_text_add(&printer->calls, ", ");
    if (q.weights_known)
        wick_c_constant_at(printer, wick_c_int8_weights(printer, &q, lanes), 0);
    else
        wick_c_argument(printer, packed, q.w_dtype);
    wick_text_add(&printer->calls, ", ");
    if (!zero_known) {
        wick_c_argument(printer, zero, a_dtype);
        wick_text_add(&printer->calls, ", ");
    }
    if (p->late_scale) {
        wick_c_argument(printer, &s->refs[m->at[WICK_INT8_AT_A_SCALE] - 1], WICK_F32);
        wick_text_add(&printer->calls, ", ");
    }
    for (int k = 0; k < 3; k++) {
        if (k == 0 ? !scales : k == 1 ? !adds : !quantised || q.columns_known) continue;
        const wick_dtype dtype = k == 1 && quantised ? WICK_I32 : WICK_F32;
        if (q.columns_known) {
            wick_c_constant_at(printer,
                               wick_c_constant(printer, dtype,
                                               k == 0      ? (const void *)known.scale
                                               : quantised ? (const void *)known.added
                                                           : (const void *)known.bias,
                                               q.columns),
                               0);
        } else {
            wick_ref r = *packed;
            r.offset += (int64_t)q.at_columns + k * q.columns * 4;
            wick_c_argument(printer, &r, dtype);
        }
        wick_text_add(&printer->calls, ", ");
    }
    wick_c_argument(printer, &s->refs[m->at[WICK_INT8_AT_C] - 1], c_dtype);
    wick_text_add(&printer->calls, ");\n");
    return WICK_OK;
}
