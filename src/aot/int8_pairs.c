/* int8_pairs.c: products and convolutions of 8-bit integers for Cortex-M: pairs of 16 bits, which SMLAD multiplies and
 * adds, and sums that become bytes by integers alone.
 *
 * What an output reads is laid out as i16 less the zero point, two outputs of neighbouring places at once; numbers of
 * every four in the order 0, 2, 1, 3, as SXTB16 widens four weights of a word. Weights lie [output][tap][source] and
 * stay bytes. Depthwise convolutions take four channels at once, tap by tap, where they lie.
 *
 * Steps. A kernel has v = (float)s * scale, rounded to 24 bits, and then the nearest whole number, halves to even. Here
 * v is the 64-bit product of s 2^left and a whole number scale 2^(32 + fraction - left), exact: its upper word has
 * `fraction` bits behind the point. Both roundings together differ from one only where v is so near to k + 1/2 that 24
 * bits don't tell it from that: then the even neighbour is taken (wick_tie). That happens once in thousands of sums. */
#include <math.h>
#include <stdio.h>

#include "aot/int8.h"

#define line wick_c_line

enum { MOST_TERMS = 32768, MOST_ADDED = 1 << 30, MOST_FRACTION = 20 };

/* Which shapes can: whether their weights are known doesn't count here. */
static bool goes_by_pairs(const wick_int8 *p) {
    return p->b_signed && p->k > 0 && p->k <= MOST_TERMS && (p->conv || p->b_count <= 1);
}

bool wick_c_int8_pairs(const int8_print *q, const int8_known *known, int32_t zero) {
    const wick_int8 *p = q->p;
    if (!q->weights_known || !q->columns_known || q->w_dtype != WICK_I8 || !goes_by_pairs(p)) return false;
    for (int64_t j = 0; j < q->columns && wick_c_int8_quantises(p); j++)
        if (known->added[j] > MOST_ADDED || known->added[j] < -MOST_ADDED) return false;
    return zero >= -128 && zero <= 255;
}

/* Of scratch: two places as i16, then one as it lies. */
static int64_t pairs_of(const wick_int8 *p) { return (int64_t)WICK_ALIGN_UP(p->k, 4); }
size_t wick_c_int8_pairs_scratch(const wick_int8 *p) {
    return p->depthwise || !goes_by_pairs(p) ? 0 : (size_t)WICK_ALIGN_UP(5 * pairs_of(p), 16);
}

/* ---- steps by integers ------------------------------------------------------------------------------------------- */

typedef struct int8_steps {
    bool exact;         /* integers say the same as floats */
    int left, fraction; /* see above */
    int32_t near;       /* so many units of the upper word around k + 1/2 are looked at closely */
    int32_t *factor;    /* by column */
} int8_steps;

/* The largest magnitude that a sum may have. */
static int64_t bound_of(const int8_print *q, const int8_known *known, int32_t zero, const int8_t *w) {
    const wick_int8 *p = q->p;
    const int64_t low = p->a_signed ? -128 - zero : -zero, high = p->a_signed ? 127 - zero : 255 - zero,
                  each = WICK_MAX(-low, high);
    int64_t most = 1;
    for (int64_t j = 0; j < q->columns; j++) {
        int64_t sum = 0;
        for (int64_t i = 0; i < p->k; i++) {
            const int64_t x = w[p->depthwise ? i * q->columns + j : j * p->k + i];
            sum += (x < 0 ? -x : x) * each;
        }
        sum += known->added[j] < 0 ? -(int64_t)known->added[j] : known->added[j];
        most = WICK_MAX(most, sum);
    }
    return most;
}

static int8_steps steps_of(wick_c_printer *printer, const int8_print *q, const int8_known *known, int32_t zero,
                           const int8_t *w) {
    int8_steps s = {0};
    if (!wick_c_int8_quantises(q->p) || !q->columns) return s;
    const int64_t bound = bound_of(q, known, zero, w);
    float most = 0, least = INFINITY;
    for (int64_t j = 0; j < q->columns; j++) {
        most = WICK_MAX(most, known->scale[j]);
        least = WICK_MIN(least, known->scale[j]);
    }
    /* (float)s is s, or ends at a bound */
    if (!(least >= 0x1p-60f && most <= 0x1p20f) || (bound >= 1 << 24 && least * 0x1p24f < 512)) return s;
    s.factor = wick_arena_alloc(&printer->arena, (size_t)q->columns * sizeof *s.factor);
    if (!s.factor) {
        printer->functions.failed = true;
        return s;
    }
    while (bound << (s.left + 1) < INT64_C(1) << 31) s.left++;
    int exponent; /* most < 2^exponent */
    (void)frexpf(most, &exponent);
    s.fraction = WICK_MIN(MOST_FRACTION, s.left - 1 - exponent);
    if (s.fraction < 6) return s;
    const int place = 32 + s.fraction - s.left; /* below 31 - exponent: factors fit */
    s.exact = true;
    for (int64_t j = 0; j < q->columns; j++) {
        const double factor = ldexp((double)known->scale[j], place);
        s.exact &= factor == floor(factor) && factor < 2147483648.0;
        s.factor[j] = s.exact ? (int32_t)factor : 0;
    }
    s.near = (s.fraction > 17 ? 1 << (s.fraction - 17) : 1) + 1;
    return s;
}

/* ---- what stands above the functions ----------------------------------------------------------------------------- */

static const char words_text[] =
    "/* Four bytes at once, for Cortex-M4 and later; elsewhere one by one. */\n"
    "#if defined(__GNUC__) && defined(__ARM_FEATURE_DSP) && !defined(__ARM_BIG_ENDIAN)\n"
    "#define WICK_PAIRS 1\n"
    "#define WICK_1(name, text) static inline uint32_t name(uint32_t a) { uint32_t r; __asm__(text : \"=r\"(r) : "
    "\"r\"(a)); return r; }\n"
    "WICK_1(wick_even_i8, \"sxtb16 %0, %1\") WICK_1(wick_odd_i8, \"sxtb16 %0, %1, ror #8\")\n"
    "WICK_1(wick_even_u8, \"uxtb16 %0, %1\") WICK_1(wick_odd_u8, \"uxtb16 %0, %1, ror #8\")\n"
    "static inline uint32_t wick_less(uint32_t a, uint32_t b) { uint32_t r; __asm__(\"ssub16 %0, %1, %2\" : "
    "\"=r\"(r) : \"r\"(a), \"r\"(b)); return r; }\n"
    "#define WICK_3(name, text) static inline int32_t name(uint32_t a, uint32_t b, int32_t c) { int32_t r; "
    "__asm__(text : \"=r\"(r) : \"r\"(a), \"r\"(b), \"r\"(c)); return r; }\n"
    "WICK_3(wick_smlad, \"smlad %0, %1, %2, %3\")\n"
    "WICK_3(wick_smlabb, \"smlabb %0, %1, %2, %3\") WICK_3(wick_smlatt, \"smlatt %0, %1, %2, %3\")\n"
    "static inline uint32_t wick_word(const void *p) { uint32_t r; memcpy(&r, p, 4); return r; }\n"
    "#endif\n"
    "#ifdef __GNUC__\n#define WICK_INLINE static inline __attribute__((always_inline, unused))\n"
    "#define WICK_COLD static __attribute__((noinline, unused))\n"
    "#else\n#define WICK_INLINE static inline\n#define WICK_COLD static\n#endif\n\n";
static const char widen_text[] =
    "/* n bytes as i16 less zero, of every four the numbers 0, 2, 1, 3. */\n"
    "WICK_INLINE void wick_widen_X(const TYPE *from, long n, int32_t zero, int16_t *to) {\n"
    "    long i = 0;\n"
    "#ifdef WICK_PAIRS\n"
    "    const uint32_t zeros = (uint32_t)zero * 0x10000u + ((uint32_t)zero & 0xffffu);\n"
    "    for (; i + 4 <= n; i += 4) {\n"
    "        const uint32_t v = wick_word(from + i), a = wick_less(wick_even_X(v), zeros), b = "
    "wick_less(wick_odd_X(v), zeros);\n"
    "        memcpy(to + i, &a, 4), memcpy(to + i + 2, &b, 4);\n"
    "    }\n"
    "#else\n"
    "    for (; i + 4 <= n; i += 4)\n"
    "        for (long j = 0; j < 4; j++) to[i + j] = (int16_t)(from[i + (j == 1 ? 2 : j == 2 ? 1 : j)] - zero);\n"
    "#endif\n"
    "    for (; i < n; i++) to[i] = (int16_t)(from[i] - zero);\n"
    "}\n"
    "/* Of four channels: s[j] += (x[j] - zero) w[j]. */\n"
    "WICK_INLINE void wick_four_X(const TYPE *x, const int8_t *w, int32_t zero, int32_t *s) {\n"
    "#ifdef WICK_PAIRS\n"
    "    const uint32_t zeros = (uint32_t)zero * 0x10000u + ((uint32_t)zero & 0xffffu);\n"
    "    const uint32_t v = wick_word(x), u = wick_word(w), a = wick_less(wick_even_X(v), zeros), b = "
    "wick_less(wick_odd_X(v), zeros), c = wick_even_i8(u), d = wick_odd_i8(u);\n"
    "    s[0] = wick_smlabb(a, c, s[0]), s[1] = wick_smlabb(b, d, s[1]);\n"
    "    s[2] = wick_smlatt(a, c, s[2]), s[3] = wick_smlatt(b, d, s[3]);\n"
    "#else\n"
    "    for (long j = 0; j < 4; j++) s[j] += (x[j] - zero) * w[j];\n"
    "#endif\n"
    "}\n";
static const char dots_text[] =
    "/* Sums of two outputs at two places, or at one: s += [w0 a, w1 a, w0 b, w1 b]. */\n"
    "WICK_INLINE void wick_dots(const int8_t *w0, const int8_t *w1, const int16_t *a, const int16_t *b, long k, "
    "int32_t *s, const int two) {\n"
    "    int32_t s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];\n"
    "    const int8_t *const end = w0 + k;\n"
    "    for (; end - w0 >= 4; w0 += 4, w1 += 4, a += 4, b += 4) {\n"
    "#ifdef WICK_PAIRS\n"
    "        const uint32_t u = wick_word(w0), v = wick_word(w1), x = wick_word(a), y = wick_word(a + 2);\n"
    "        const uint32_t u0 = wick_even_i8(u), v0 = wick_even_i8(v), u1 = wick_odd_i8(u), v1 = "
    "wick_odd_i8(v);\n"
    "        s0 = wick_smlad(u0, x, s0), s1 = wick_smlad(v0, x, s1);\n"
    "        s0 = wick_smlad(u1, y, s0), s1 = wick_smlad(v1, y, s1);\n"
    "        if (two) {\n"
    "            const uint32_t z = wick_word(b), t = wick_word(b + 2);\n"
    "            s2 = wick_smlad(u0, z, s2), s3 = wick_smlad(v0, z, s3);\n"
    "            s2 = wick_smlad(u1, t, s2), s3 = wick_smlad(v1, t, s3);\n"
    "        }\n"
    "#else\n"
    "        s0 += w0[0] * a[0] + w0[2] * a[1] + w0[1] * a[2] + w0[3] * a[3];\n"
    "        s1 += w1[0] * a[0] + w1[2] * a[1] + w1[1] * a[2] + w1[3] * a[3];\n"
    "        if (two) {\n"
    "            s2 += w0[0] * b[0] + w0[2] * b[1] + w0[1] * b[2] + w0[3] * b[3];\n"
    "            s3 += w1[0] * b[0] + w1[2] * b[1] + w1[1] * b[2] + w1[3] * b[3];\n"
    "        }\n"
    "#endif\n"
    "    }\n"
    "    for (; w0 < end; w0++, w1++, a++, b++) {\n"
    "        s0 += *w0 * *a, s1 += *w1 * *a;\n"
    "        if (two) s2 += *w0 * *b, s3 += *w1 * *b;\n"
    "    }\n"
    "    s[0] = s0, s[1] = s1, s[2] = s2, s[3] = s3;\n"
    "}\n";
static const char steps_text[] =
    "/* p 2^-(32 + fraction), which is near to a whole number and a half: what rounding to 24 bits, then to a whole "
    "number, halves to even, makes of it. */\n"
    "WICK_COLD int32_t wick_tie(int64_t p, int fraction) {\n"
    "    const int64_t one = (int64_t)1 << (32 + fraction), up = p + one / 2, whole = (up - (up & (one - 1))) / one, "
    "rest = up & (one - 1);\n"
    "    const int64_t above = rest < one / 2 ? whole : whole + 1, off = rest < one / 2 ? rest : one - rest;\n"
    "    uint32_t k = (uint32_t)(above > 0 ? above - 1 : -above); /* |v| is about k + 1/2 */\n"
    "    int64_t same = (int64_t)1 << (7 + fraction);            /* so near, 24 bits don't tell */\n"
    "    for (; k && same <= (one >> 2); k /= 2) same *= 2;\n"
    "    return (int32_t)(off > same ? whole : above % 2 ? above - 1 : above);\n"
    "}\n"
    "/* s 2^left factor is p above. near: around a half, in units of the upper word. */\n"
    "WICK_INLINE int32_t wick_steps(int32_t s, int32_t factor, const int left, const int fraction, const int32_t "
    "near) {\n"
    "    const int64_t p = (int64_t)(s * (1 << left)) * factor;\n"
    "    const int32_t v = (int32_t)(p >> 32) + (1 << (fraction - 1));\n"
    "    if (((uint32_t)(v + near) & (((uint32_t)1 << fraction) - 1)) <= 2 * (uint32_t)near) return wick_tie(p, "
    "fraction);\n"
    "    return v >> fraction;\n"
    "}\n\n";
void wick_c_print_pairs(wick_text *out) {
    static const char *const types[][2][2] = {{{"X", "u8"}, {"TYPE", "uint8_t"}}, {{"X", "i8"}, {"TYPE", "int8_t"}}};
    wick_text_add(out, "%s", words_text);
    for (int i = 0; i < 2; i++) wick_text_replaced(out, widen_text, sizeof widen_text - 1, types[i], 2);
    wick_text_add(out, "%s%s", dots_text, steps_text);
}

/* ---- what becomes of a sum --------------------------------------------------------------------------------------- */

typedef struct pairs_print {
    const int8_print *q;
    const int8_known *known;
    const int8_steps *steps;
    int32_t zero;
} pairs_print;

/* `to` = what the sum `sum` of column `column` becomes; both are expressions. */
static void print_result(wick_text *t, int depth, const pairs_print *r, const char *sum, const char *column,
                         const char *to) {
    const int8_known *known = r->known;
    const int low = (int)known->bounds[0] + (int)known->bounds[2], high = (int)known->bounds[1] + (int)known->bounds[2];
    wick_text number = {0};
    char scale[64];
    if (r->q->p->result == WICK_INT8_I32) {
        line(t, depth, "%s = %s;", to, sum);
        return;
    }
    if (known->same_scale) wick_c_number(&number, WICK_CF32, (double)known->scale[0]);
    snprintf(scale, sizeof scale, number.at ? "%s" : "scale[%s]", number.at ? number.at : column);
    t->failed = t->failed || number.failed;
    wick_text_free(&number);
    if (r->q->p->result == WICK_INT8_F32) {
        if (r->q->p->has_bias)
            line(t, depth, "%s = (float)%s * %s + added[%s];", to, sum, scale, column);
        else
            line(t, depth, "%s = (float)%s * %s;", to, sum, scale);
        return;
    }
    line(t, depth, "{");
    if (r->steps->exact) {
        if (known->same_scale) snprintf(scale, sizeof scale, "%d", (int)r->steps->factor[0]);
        line(t, depth + 1, "const int32_t v = wick_steps(%s, %s, %d, %d, %d) + %d;", sum, scale, r->steps->left,
             r->steps->fraction, (int)r->steps->near, (int)known->bounds[2]);
    } else {
        line(t, depth + 1, "float f = (float)%s * %s;", sum, scale);
        line(t, depth + 1, "f = f > %d ? f : %d;", (int)known->bounds[0], (int)known->bounds[0]);
        line(t, depth + 1, "f = f < %d ? f : %d;", (int)known->bounds[1], (int)known->bounds[1]);
        line(t, depth + 1, "const int32_t v = (int32_t)((f + 12582912.0f) - 12582912.0f) + %d;", (int)known->bounds[2]);
    }
    line(t, depth + 1, "%s = (%s)(v < %d ? %d : v > %d ? %d : v);", to, r->q->c, low, low, high, high);
    line(t, depth, "}");
}

/* What sums of column `o` begin with. */
static void add_start(char *text, size_t size, const pairs_print *r, const char *column) {
    if (wick_c_int8_quantises(r->q->p) && r->q->p->has_bias)
        snprintf(text, size, "added[%s]", column);
    else
        snprintf(text, size, "0");
}

/* All columns of a group from places a and b; results go to to[0] and to[1]. n: columns, from g * n on. */
static void print_columns(wick_text *t, int depth, const pairs_print *r, int64_t n, bool two) {
    const wick_int8 *p = r->q->p;
    char start[2][64], sum[16], to[32];
    line(t, depth, "for (long o = 0; o < %lld; o += 2) {", LL(n));
    line(t, depth + 1, "const long e = o + 1 < %lld ? o + 1 : o, c = g * %lld + o, d = g * %lld + e;", LL(n), LL(n),
         LL(n));
    add_start(start[0], sizeof start[0], r, "c");
    add_start(start[1], sizeof start[1], r, "d");
    line(t, depth + 1, "int32_t s[4] = {%s, %s, %s, %s};", start[0], start[1], start[0], start[1]);
    line(t, depth + 1, "wick_dots(w + c * %lld, w + d * %lld, a, %s, %lld, s, %d);", LL(p->k), LL(p->k),
         two ? "b" : "a", LL(p->k), two);
    for (int i = 0; i < (two ? 4 : 2); i++) {
        snprintf(sum, sizeof sum, "s[%d]", i);
        snprintf(to, sizeof to, "to[%d][%c]", i / 2, i % 2 ? 'e' : 'o');
        print_result(t, depth + 1, r, sum, i % 2 ? "d" : "c", to);
    }
    line(t, depth + 1, "(void)d;");
    line(t, depth, "}");
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

/* Where an output begins to read, of each dim, and its taps [f, l) inside of the image. */
static void print_window(wick_text *t, int depth, const wick_int8 *p) {
    for (int d = 0; d < 3; d++) {
        const int64_t step = p->dilation[d];
        line(t, depth, "const long i%d = o%d * %lld - %lld;", d, d, LL(p->stride[d]), LL(p->pad[d]));
        line(t, depth, "const long f%d = i%d < 0 ? (%lld - i%d) / %lld : 0;", d, d, LL(step - 1), d, LL(step));
        line(t, depth, "const long r%d = i%d < %lld ? (%lld - i%d) / %lld : 0, l%d = r%d < %lld ? r%d : %lld;", d, d,
             LL(p->in[d]), LL(p->in[d] + step - 1), d, LL(step), d, d, LL(p->kernel_dims[d]), d, LL(p->kernel_dims[d]));
    }
}
static void print_places(wick_text *t, int depth, const wick_int8 *p, const char *at) {
    line(t, depth, "const long o2 = %s %% %lld, o1 = %s / %lld %% %lld, o0 = %s / %lld %% %lld, n = %s / %lld;", at,
         LL(p->out[2]), at, LL(p->out[2]), LL(p->out[1]), at, LL(p->out[2] * p->out[1]), LL(p->out[0]), at,
         LL(p->out[2] * p->out[1] * p->out[0]));
}

/* The bytes that a place reads, one behind another, and zero points outside of the image. */
static void print_gather(wick_text *t, int depth, const wick_int8 *p, const char *type, int zero) {
    const int64_t channels = p->groups * p->ci, k2 = p->kernel_dims[2];
    const bool runs = p->dilation[2] == 1 && p->groups == 1; /* neighbouring taps are neighbouring bytes */
    line(t, depth, "if (l0 - f0 < %lld || l1 - f1 < %lld || l2 - f2 < %lld) memset(bytes, %d, %lld);",
         LL(p->kernel_dims[0]), LL(p->kernel_dims[1]), LL(k2), zero, LL(p->k));
    line(t, depth, "for (long k0 = f0; k0 < l0; k0++)");
    line(t, depth + 1, "for (long k1 = f1; k1 < l1; k1++) {");
    line(t, depth + 2, "%s *out = bytes + (k0 * %lld + k1) * %lld;", type, LL(p->kernel_dims[1]), LL(k2 * p->ci));
    line(t, depth + 2,
         "const %s *from = x + (((n * %lld + i0 + k0 * %lld) * %lld + i1 + k1 * %lld) * %lld + i2) * %lld + g * %lld;",
         type, LL(p->in[0]), LL(p->dilation[0]), LL(p->in[1]), LL(p->dilation[1]), LL(p->in[2]), LL(channels),
         LL(p->ci));
    if (runs) {
        line(t, depth + 2, "if (l2 - f2 == %lld) memcpy(out, from, %lld);", LL(k2), LL(k2 * p->ci));
        line(t, depth + 2, "else if (l2 > f2) memcpy(out + f2 * %lld, from + f2 * %lld, (size_t)(l2 - f2) * %lld);",
             LL(p->ci), LL(p->ci), LL(p->ci));
    } else {
        line(t, depth + 2, "for (long k2 = f2; k2 < l2; k2++) memcpy(out + k2 * %lld, from + k2 * %lld, %lld);",
             LL(p->ci), LL(p->dilation[2] * channels), LL(p->ci));
    }
    line(t, depth + 1, "}");
}

static void print_conv(wick_text *t, const pairs_print *r) {
    const wick_int8 *p = r->q->p;
    const int64_t places = p->batch * p->out[0] * p->out[1] * p->out[2], columns = p->n * p->groups;
    const char *kind = p->a_signed ? "i8" : "u8";
    bool one_tap = p->k == p->ci; /* what an output reads lies together */
    for (int d = 0; d < 3; d++) one_tap &= p->pad[d] == 0;
    for (int d = 0; d < 3 && one_tap; d++) one_tap &= (p->out[d] - 1) * p->stride[d] < p->in[d];
    line(t, 1, "int16_t *const a = pairs, *const b = pairs + %lld;", LL(pairs_of(p)));
    if (!one_tap) line(t, 1, "%s *const bytes = (%s *)(void *)(pairs + %lld);", r->q->a, r->q->a, LL(2 * pairs_of(p)));
    line(t, 1, "for (long g = 0; g < %lld; g++)", LL(p->groups));
    line(t, 2, "for (long i = 0; i < %lld; i += 2) {", LL(places));
    line(t, 3, "%s *to[2];", r->q->c);
    line(t, 3, "for (long h = 0; h < 2; h++) {");
    line(t, 4, "const long at = i + h < %lld ? i + h : i;", LL(places));
    print_places(t, 4, p, "at");
    line(t, 4, "to[h] = y + at * %lld + g * %lld;", LL(columns), LL(p->n));
    if (one_tap) {
        line(t, 4, "const %s *from = x + (((n * %lld + o0 * %lld) * %lld + o1 * %lld) * %lld + o2 * %lld) * %lld;",
             r->q->a, LL(p->in[0]), LL(p->stride[0]), LL(p->in[1]), LL(p->stride[1]), LL(p->in[2]), LL(p->stride[2]),
             LL(p->groups * p->ci));
        line(t, 4, "wick_widen_%s(from + g * %lld, %lld, %d, h ? b : a);", kind, LL(p->ci), LL(p->k), (int)r->zero);
    } else {
        print_window(t, 4, p);
        print_gather(t, 4, p, r->q->a, (int)r->zero);
        line(t, 4, "wick_widen_%s(bytes, %lld, %d, h ? b : a);", kind, LL(p->k), (int)r->zero);
    }
    line(t, 3, "}");
    print_columns(t, 3, r, p->n, true);
    line(t, 2, "}");
}

/* Channels by fours, and the rest. */
static void print_channels(wick_text *t, int depth, const pairs_print *r, int64_t first, int64_t last, int width) {
    const wick_int8 *p = r->q->p;
    const int64_t channels = p->groups;
    const char *kind = p->a_signed ? "i8" : "u8";
    char start[64], sum[24], to[24], column[24];
    if (first >= last) return;
    line(t, depth, "for (long c = %lld; c < %lld; c += %d) {", LL(first), LL(last), width);
    wick_text_add(t, "%*sint32_t s[%d] = {", 4 * (depth + 1), "", width);
    for (int j = 0; j < width; j++) {
        snprintf(column, sizeof column, "c + %d", j);
        add_start(start, sizeof start, r, column);
        wick_text_add(t, "%s%s", j ? ", " : "", start);
    }
    wick_text_add(t, "};\n");
    line(t, depth + 1, "for (long k0 = f0; k0 < l0; k0++)");
    line(t, depth + 2, "for (long k1 = f1; k1 < l1; k1++) {");
    line(t, depth + 3,
         "const %s *from = x + (((n * %lld + i0 + k0 * %lld) * %lld + i1 + k1 * %lld) * %lld + i2 + f2 * %lld) * %lld "
         "+ c;",
         r->q->a, LL(p->in[0]), LL(p->dilation[0]), LL(p->in[1]), LL(p->dilation[1]), LL(p->in[2]), LL(p->dilation[2]),
         LL(channels));
    line(t, depth + 3, "const int8_t *u = w + ((k0 * %lld + k1) * %lld + f2) * %lld + c;", LL(p->kernel_dims[1]),
         LL(p->kernel_dims[2]), LL(channels));
    line(t, depth + 3, "for (long k2 = f2; k2 < l2; k2++, from += %lld, u += %lld) {", LL(p->dilation[2] * channels),
         LL(channels));
    if (width == 4)
        line(t, depth + 4, "wick_four_%s(from, u, %d, s);", kind, (int)r->zero);
    else
        line(t, depth + 4, "s[0] += (*from - %d) * *u;", (int)r->zero);
    line(t, depth + 3, "}");
    line(t, depth + 2, "}");
    for (int j = 0; j < width; j++) {
        snprintf(sum, sizeof sum, "s[%d]", j);
        snprintf(column, sizeof column, "c + %d", j);
        snprintf(to, sizeof to, "to[c + %d]", j);
        print_result(t, depth + 1, r, sum, column, to);
    }
    line(t, depth, "}");
}

static void print_depthwise(wick_text *t, const pairs_print *r) {
    const wick_int8 *p = r->q->p;
    const int64_t places = p->batch * p->out[0] * p->out[1] * p->out[2], whole = p->groups - p->groups % 4;
    line(t, 1, "for (long i = 0; i < %lld; i++) {", LL(places));
    print_places(t, 2, p, "i");
    print_window(t, 2, p);
    line(t, 2, "%s *to = y + i * %lld;", r->q->c, LL(p->groups));
    print_channels(t, 2, r, 0, whole, 4);
    print_channels(t, 2, r, whole, p->groups, 1);
    line(t, 1, "}");
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static void print_row(wick_text *t, int depth, const pairs_print *r, const char *row, const char *to) {
    const wick_int8 *p = r->q->p;
    const char *kind = p->a_signed ? "i8" : "u8";
    line(t, depth, "const %s *from = x0 + %s * %lld;", r->q->a, row, LL(p->a_row));
    if (p->a_col != 1) {
        line(t, depth, "for (long k = 0; k < %lld; k++) bytes[k] = from[k * %lld];", LL(p->k), LL(p->a_col));
        line(t, depth, "from = bytes;");
    }
    line(t, depth, "wick_widen_%s(from, %lld, %d, %s);", kind, LL(p->k), (int)r->zero, to);
}

static void print_products(wick_text *t, const pairs_print *r) {
    const wick_int8 *p = r->q->p;
    const wick_step_int8 *m = r->q->m;
    int depth = 1;
    const bool two = p->m > 1;
    wick_text at = {0};
    line(t, depth, "int16_t *const a = pairs;");
    if (two) line(t, depth, "int16_t *const b = pairs + %lld;", LL(pairs_of(p)));
    if (p->a_col != 1)
        line(t, depth, "%s *const bytes = (%s *)(void *)(pairs + %lld);", r->q->a, r->q->a, LL(2 * pairs_of(p)));
    line(t, depth, "const long g = 0;");
    for (int d = 0; d < m->batch_rank; d++) {
        line(t, depth++, "for (long n%d = 0; n%d < %lld; n%d++)%s", d, d, LL(m->batch[d]), d,
             d + 1 == m->batch_rank ? " {" : "");
        if (m->a[d]) wick_text_add(&at, " + n%d * %lld", d, LL(m->a[d]));
    }
    wick_text_add(t, "%*sconst %s *const x0 = x%s;\n", 4 * depth, "", r->q->a, at.at ? at.at : "");
    line(t, depth, "for (long i = 0; i < %lld; i += %d) {", LL(p->m), two ? 2 : 1);
    if (two) {
        line(t, depth + 1, "const long j = i + 1 < %lld ? i + 1 : i;", LL(p->m));
        line(t, depth + 1, "%s *const to[2] = {y + i * %lld, y + j * %lld};", r->q->c, LL(p->n), LL(p->n));
        line(t, depth + 1, "for (long h = 0; h < 2; h++) {");
        print_row(t, depth + 2, r, "(h ? j : i)", "h ? b : a");
        line(t, depth + 1, "}");
    } else {
        line(t, depth + 1, "%s *const to[1] = {y + i * %lld};", r->q->c, LL(p->n));
        print_row(t, depth + 1, r, "i", "a");
    }
    print_columns(t, depth + 1, r, p->n, two);
    line(t, depth, "}");
    if (m->batch_rank) {
        line(t, depth, "y += %lld;", LL(p->m * p->n));
        line(t, depth - 1, "}");
    }
    t->failed = t->failed || at.failed;
    wick_text_free(&at);
}

/* ---- the function and its call ----------------------------------------------------------------------------------- */

static void argument_end(wick_c_printer *printer) { wick_text_add(&printer->calls, ", "); }

void wick_c_print_int8_pairs(wick_c_printer *printer, const wick_step *s, const int8_print *q, const int8_known *known,
                             int32_t zero, const wick_ref *scratch) {
    const wick_step_int8 *m = s->args;
    const wick_int8 *p = q->p;
    const int weights = wick_c_int8_weights(printer, q, 1);
    if (printer->functions.failed || !printer->n_constants) return;
    const int8_steps steps = steps_of(printer, q, known, zero, printer->constants[weights].data);
    const pairs_print r = {q, known, &steps, zero};
    const bool quantised = wick_c_int8_quantises(p), adds = p->has_bias && p->result != WICK_INT8_I32,
               scales = p->result != WICK_INT8_I32 && !known->same_scale;
    const wick_dtype a_dtype = p->a_signed ? WICK_I8 : WICK_U8, c_dtype = p->result == WICK_INT8_I32   ? WICK_I32
                                                                          : p->result == WICK_INT8_F32 ? WICK_F32
                                                                          : p->result == WICK_INT8_U8  ? WICK_U8
                                                                                                       : WICK_I8;
    wick_text t = {0};
    wick_text_add(&t, "(const %s *x, const int8_t *w, ", q->a);
    if (scales) wick_text_add(&t, "const %s *scale, ", steps.exact ? "int32_t" : "float");
    if (adds) wick_text_add(&t, "const %s *added, ", quantised ? "int32_t" : "float");
    if (scratch) wick_text_add(&t, "int16_t *pairs, ");
    wick_text_add(&t, "%s *y) {\n", q->c);
    (p->depthwise ? print_depthwise : p->conv ? print_conv : print_products)(&t, &r);
    wick_text_add(&t, "}\n");
    wick_c_kernel(printer, p->conv ? "int8_conv" : "int8_product", &t);
    wick_c_argument(printer, &s->refs[m->at[WICK_INT8_AT_A] - 1], a_dtype);
    argument_end(printer);
    wick_c_constant_at(printer, weights, 0);
    argument_end(printer);
    if (scales) {
        const void *data = steps.exact ? (const void *)steps.factor : (const void *)known->scale;
        wick_c_constant_at(printer, wick_c_constant(printer, steps.exact ? WICK_I32 : WICK_F32, data, q->columns), 0);
        argument_end(printer);
    }
    if (adds) {
        const void *data = quantised ? (const void *)known->added : (const void *)known->bias;
        wick_c_constant_at(printer, wick_c_constant(printer, quantised ? WICK_I32 : WICK_F32, data, q->columns), 0);
        argument_end(printer);
    }
    if (scratch) {
        wick_c_argument(printer, scratch, WICK_I16);
        argument_end(printer);
    }
    wick_c_argument(printer, &s->refs[m->at[WICK_INT8_AT_C] - 1], c_dtype);
    wick_text_add(&printer->calls, ");\n");
}
