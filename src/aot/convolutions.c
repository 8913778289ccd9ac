/* convolutions.c: convolutions as loops, with the sums of the base tier, as products.c has them. Padding is passed
 * over: its zeros change no sum that begins with +0. */
#include <stdio.h>

#include "aot/print.h"
#include "kernels/gemm/gemm_tuning.h"

#define line wick_c_line

typedef struct conv_print {
    const wick_convolution *c;
    const char *type, *fma;
    wick_dtype held, from, into; /* of weights, image and result in memory */
    /* results at once; of a group; pieces of a block of the chain, 0: pieces are cut themselves */
    int64_t lanes, co, per_block;
    bool merged, blocks; /* a piece is a row of the kernel, not a tap; there are several blocks */
} conv_print;

/* Whether a tap may lie outside of the image, in dim d. */
static bool may_leave(const wick_convolution *c, int d) {
    return c->pad[d] > 0 ||
           (c->out[d] - 1) * c->stride[d] - c->pad[d] + (c->kernel[d] - 1) * c->dilation[d] >= c->in[d];
}

/* Opens a loop over the taps of dim d, where there are several; or one of a single turn, where a tap may lie outside
 * and no loop is open that it could be passed over in. */
static int open_taps(wick_text *t, int depth, const wick_convolution *c, int d, bool inside) {
    if (c->kernel[d] > 1 || (!inside && may_leave(c, d)))
        line(t, depth++, "for (long k%d = 0; k%d < %lld; k%d++) {", d, d, LL(c->kernel[d]), d);
    return depth;
}

/* Whether dim d has more than one place: then i<d> is the one that is read. */
static bool moves(const wick_convolution *c, int d) { return c->in[d] > 1 || may_leave(c, d); }

static void print_place(wick_text *t, int depth, const wick_convolution *c, int d) {
    char text[160] = "";
    size_t n = 0;
    if (!moves(c, d)) return;
    if (c->out[d] > 1)
        n += (size_t)snprintf(text + n, sizeof text - n, c->stride[d] > 1 ? "o%d * %lld" : "o%d", d, LL(c->stride[d]));
    if (c->kernel[d] > 1)
        n += (size_t)snprintf(text + n, sizeof text - n, c->dilation[d] > 1 ? "%sk%d * %lld" : "%sk%d", n ? " + " : "",
                              d, LL(c->dilation[d]));
    if (c->pad[d] || !n)
        snprintf(text + n, sizeof text - n,
                 n && c->pad[d] > 0 ? " - %lld"
                 : n                ? " + %lld"
                                    : "%lld",
                 LL(n && c->pad[d] > 0 ? c->pad[d] : -c->pad[d]));
    line(t, depth, "const long i%d = %s;", d, text);
}

/* "i1 < 0 || i1 >= 28", or "". */
static void outside(char *text, size_t size, const wick_convolution *c, int d) {
    *text = 0;
    if (may_leave(c, d)) snprintf(text, size, "i%d < 0 || i%d >= %lld", d, d, LL(c->in[d]));
}

/* The pixel that is read, or the one that is written: "((n * 8 + i1) * 28 + i2)". */
static void print_pixel(char *text, size_t size, const wick_convolution *c, char which, const int64_t *dims) {
    char before[256];
    snprintf(text, size, c->batch > 1 ? "n" : "0");
    for (int d = 0; d < 3; d++) {
        const bool has = which == 'i' ? moves(c, d) : dims[d] > 1;
        snprintf(before, sizeof before, "%s", text);
        const bool zero = strcmp(before, "0") == 0;
        if (zero && has)
            snprintf(text, size, "%c%d", which, d);
        else if (!zero && (has || dims[d] > 1))
            snprintf(text, size, has ? "(%.200s * %lld + %c%d)" : "%.200s * %lld", before, LL(dims[d]), which, d);
    }
}

/* A place among the taps of dims 0 to d: "(k1 * 5 + k2)", "0". */
static void print_tap(char *text, size_t size, const wick_convolution *c, int d) {
    snprintf(text, size, "0");
    for (int e = 0; e <= d; e++) {
        char before[128];
        snprintf(before, sizeof before, "%.120s", text);
        if (c->kernel[e] <= 1) continue;
        if (strcmp(before, "0") == 0)
            snprintf(text, size, "k%d", e);
        else
            snprintf(text, size, "(%s * %lld + k%d)", before, LL(c->kernel[e]), e);
    }
}

/* The sums of `width` outputs of a group from o0 (a number or a variable) on. weights: an expression of where theirs
 * begin, [tap][ci][width]. */
static void print_outputs(wick_text *t, int depth, const conv_print *q, int64_t width, const char *o0,
                          const char *weights, int pixels) {
    const wick_convolution *c = q->c;
    char text[256], out[3][64], pixel[300];
    wick_c_print_sums(t, depth, width, q->blocks, q->type, pixels);
    const int opened = depth;
    int conditions = 0; /* the first dim whose place is not looked at yet */
    for (int d = 0; d < 3; d++) {
        depth = open_taps(t, depth, c, d, depth > opened);
        const int piece_ends = q->merged ? 1 : 2;
        if (d == piece_ends && q->blocks && q->per_block) {
            char number[160];
            print_tap(number, sizeof number, c, d);
            snprintf(text, sizeof text, "%.150s %% %lld == 0", number, LL(q->per_block));
            wick_c_print_flush(t, depth, width, text, pixels);
        }
        if (q->blocks && d < piece_ends) continue; /* a piece that is passed over still ends the block before it */
        for (; conditions <= d; conditions++) {
            outside(out[0], sizeof out[0], c, conditions);
            print_place(t, depth, c, conditions);
            if (*out[0] && !(q->blocks && !q->per_block && conditions == 2))
                line(t, depth, "if (%s) continue;", out[0]);
        }
    }
    print_pixel(pixel, sizeof pixel, c, 'i', c->in);
    char tap[160];
    print_tap(tap, sizeof tap, c, 2);
    const int64_t plane = c->in[0] * c->in[1] * c->in[2], of_channel = c->planes[0] ? plane : 1,
                  of_pixel = c->planes[0] ? 1 : c->groups * c->ci;
    char image[64] = "", channel[64] = "c";
    /* pixels count those of one plane an image */
    if (c->planes[0] && c->batch > 1) snprintf(image, sizeof image, " + n * %lld", LL((c->ci - 1) * plane));
    if (of_channel > 1) snprintf(channel, sizeof channel, "c * %lld", LL(of_channel));
    line(t, depth, "const %s *v = x + %s * %lld%s%s;", wick_c_memory(q->from), pixel, LL(of_pixel), image,
         c->groups > 1 ? " + g * CI" : "");
    const char *load_x = wick_c_load(q->from), *open_x = *load_x ? "(" : "", *end_x = *load_x ? ")" : "",
               *load = wick_c_load(q->held), *open = *load ? "(" : "", *end = *load ? ")" : "";
    line(t, depth, "const %s *u = %s + %s * %lld;", wick_c_memory(q->held), weights, tap, LL(c->ci * width));
    line(t, depth, "for (long c = 0; c < %lld; c++) {", LL(c->ci));
    if (q->blocks && !q->per_block) {
        if (q->merged && c->kernel[2] > 1)
            snprintf(text, sizeof text, "(k2 * %lld + c) %% %d == 0", LL(c->ci), WICK_GEMM_KC);
        else
            snprintf(text, sizeof text, "c %% %d == 0", WICK_GEMM_KC);
        wick_c_print_flush(t, depth + 1, width, text, pixels);
        outside(out[0], sizeof out[0], c, 2);
        if (*out[0]) line(t, depth + 1, "if (%s) continue;", out[0]);
    }
    if (pixels == 1) {
        line(t, depth + 1,
             "KEEP for (long j = 0; j < %lld; j++) acc[j] = %s(%s%sv[%s]%s, %s%su[c * %lld + j]%s, acc[j]);", LL(width),
             q->fma, load_x, open_x, channel, end_x, load, open, LL(width), end);
    } else {
        line(t, depth + 1, "KEEP for (long j = 0; j < %lld; j++) {", LL(width));
        for (int r = 0; r < pixels; r++)
            line(t, depth + 2, "acc%d[j] = %s(%s%sv[%s + %lld]%s, %s%su[c * %lld + j]%s, acc%d[j]);", r, q->fma, load_x,
                 open_x, channel, LL(r * c->stride[2] * of_pixel), end_x, load, open, LL(width), end, r);
        line(t, depth + 1, "}");
    }
    line(t, depth, "}");
    while (depth > opened) line(t, --depth, "}");
    snprintf(out[0], sizeof out[0], "to[%s + j]", o0);
    if (c->groups > 1)
        snprintf(out[1], sizeof out[1], "bias[g * %lld + %s + j]", LL(q->co), o0);
    else
        snprintf(out[1], sizeof out[1], "bias[%s + j]", o0);
    wick_c_print_epilogue(t, depth, width, q->blocks, c->bias ? out[1] : NULL, WICK_F32, c->relu, out[0], q->into,
                          pixels, c->groups * c->co);
}

static int open_pixels(wick_text *t, int depth, const wick_convolution *c, int dims) {
    wick_text none = (wick_text){0}; /* t NULL: the depth alone */
    t = t ? t : &none;
    if (c->batch > 1) line(t, depth++, "for (long n = 0; n < %lld; n++) {", LL(c->batch));
    for (int d = 0; d < dims; d++)
        if (c->out[d] > 1) line(t, depth++, "for (long o%d = 0; o%d < %lld; o%d++) {", d, d, LL(c->out[d]), d);
    wick_text_free(&none);
    return depth;
}

static void begin_conv(wick_text *t, const conv_print *q) {
    const bool bias = q->c->bias;
    wick_text_add(t, "(const %s *x, const %s *w, %s%s%s%s *y) {\n", wick_c_memory(q->from), wick_c_memory(q->held),
                  bias ? "const " : "", bias ? q->type : "", bias ? " *bias, " : "", wick_c_memory(q->into));
}

/* All outputs of so many pixels of a row. */
enum { TILE_PIXELS = 4, TILE_LANES = 16 };
static void print_pixels(wick_text *t, int depth, const conv_print *q, int pixels) {
    const wick_convolution *c = q->c;
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2], whole = c->co - c->co % q->lanes;
    const int opened = depth;
    char pixel[300], w[128];
    print_pixel(pixel, sizeof pixel, c, 'o', c->out);
    if (c->groups > 1) line(t, depth++, "for (long g = 0; g < %lld; g++) {", LL(c->groups));
    line(t, depth, "%s *to = y + %s * %lld%s;", wick_c_memory(q->into), pixel, LL(c->groups * c->co),
         c->groups > 1 ? " + g * CO" : "");
    const char *group = c->groups > 1 ? "w + g * PER_GROUP" : "w";
    if (whole) {
        line(t, depth, "for (long o = 0; o < %lld; o += %lld) {", LL(whole), LL(q->lanes));
        snprintf(w, sizeof w, "%s + o * %lld", group, LL(taps * c->ci));
        print_outputs(t, depth + 1, q, q->lanes, "o", w, pixels);
        line(t, depth, "}");
    }
    if (whole < c->co) {
        char first[32];
        snprintf(first, sizeof first, "%lld", LL(whole));
        snprintf(w, sizeof w, "%s + %lld", group, LL(whole * taps * c->ci));
        line(t, depth, "{");
        print_outputs(t, depth + 1, q, c->co - whole, first, w, pixels);
        line(t, depth, "}");
    }
    if (depth > opened) line(t, --depth, "}");
}

/* Each channel on its own: one chain over the taps. Images may have their channels first, on either side. */
static void print_depthwise(wick_text *t, const conv_print *q) {
    const wick_convolution *c = q->c;
    const int64_t lanes = q->lanes;
    const char *type = q->type, *fma = q->fma, *load = wick_c_load(q->held), *load_x = wick_c_load(q->from),
               *weight = *load ? "(u[j])" : "u[j]", *open_x = *load_x ? "(" : "", *end_x = *load_x ? ")" : "";
    const int64_t in = c->in[0] * c->in[1] * c->in[2], out = c->out[0] * c->out[1] * c->out[2],
                  whole = c->groups - c->groups % lanes;
    char pixel[2][300], text[700], tap[160];
    print_tap(tap, sizeof tap, c, 2);
    begin_conv(t, q);
    int depth = open_pixels(t, 1, c, 3);
    wick_convolution one = *c;
    one.batch = 1; /* images are apart: planes lie between */
    print_pixel(pixel[0], sizeof pixel[0], &one, 'i', c->in);
    print_pixel(pixel[1], sizeof pixel[1], &one, 'o', c->out);
    for (int part = 0; part < 2; part++) {
        const int64_t width = part ? c->groups - whole : lanes;
        char c0[32];
        if (part ? whole == c->groups : !whole) continue;
        snprintf(c0, sizeof c0, "%s", part ? "" : "c0");
        if (part) snprintf(c0, sizeof c0, "%lld", LL(whole));
        if (part)
            line(t, depth++, "{");
        else
            line(t, depth++, "for (long c0 = 0; c0 < %lld; c0 += %lld) {", LL(whole), LL(lanes));
        wick_c_print_sums(t, depth, width, false, type, 1);
        const int opened = depth;
        for (int d = 0; d < 3; d++) {
            depth = open_taps(t, depth, c, d, depth > opened);
            print_place(t, depth, c, d);
            outside(text, sizeof text, c, d);
            if (*text) line(t, depth, "if (%s) continue;", text);
        }
        char image[64] = "";
        if (c->batch > 1) snprintf(image, sizeof image, "n * %lld + ", LL(in * c->groups));
        if (c->planes[0])
            line(t, depth, "const %s *v = x + %s%s * %lld + %s;", wick_c_memory(q->from), image, c0, LL(in), pixel[0]);
        else
            line(t, depth, "const %s *v = x + %s%s * %lld + %s;", wick_c_memory(q->from), image, pixel[0],
                 LL(c->groups), c0);
        line(t, depth, "const %s *u = w + %s * %lld + %s;", wick_c_memory(q->held), tap, LL(c->groups), c0);
        if (c->planes[0])
            line(t, depth, "KEEP for (long j = 0; j < %lld; j++) acc[j] = %s(%s%s, %s%sv[j * %lld]%s, acc[j]);",
                 LL(width), fma, load, weight, load_x, open_x, LL(in), end_x);
        else
            line(t, depth, "KEEP for (long j = 0; j < %lld; j++) acc[j] = %s(%s%s, %s%sv[j]%s, acc[j]);", LL(width),
                 fma, load, weight, load_x, open_x, end_x);
        while (depth > opened) line(t, --depth, "}");
        if (c->batch > 1) snprintf(image, sizeof image, "n * %lld + ", LL(out * c->groups));
        if (c->planes[1])
            snprintf(text, sizeof text, "y[%s(%s + j) * %lld + %s]", image, c0, LL(out), pixel[1]);
        else
            snprintf(text, sizeof text, "y[%s%s * %lld + %s + j]", image, pixel[1], LL(c->groups), c0);
        char bias[64];
        snprintf(bias, sizeof bias, "bias[%s + j]", c0);
        wick_c_print_epilogue(t, depth, width, false, c->bias ? bias : NULL, WICK_F32, c->relu, text, q->into, 1, 0);
        line(t, --depth, "}");
    }
    while (depth > 1) line(t, --depth, "}");
    wick_text_add(t, "}\n");
}

static wick_c_weights view_of(const wick_convolution *c, bool from_last) {
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    const bool data = c->what == WICK_CONV_DATA && !c->depthwise;
    return (wick_c_weights){.of_group = c->co * c->ci * taps,
                            .of_out = data ? taps : c->ci * taps,
                            .of_source = data ? c->ci * taps : taps,
                            .tap = from_last ? taps - 1 : 0,
                            .of_tap = from_last ? -1 : 1};
}

/* By the convolution `c` as it is printed: [tap][groups] of depthwise ones, else [group][panel][tap][source][lanes],
 * the last panel narrower. */
static int packed_weights(wick_c_printer *p, const wick_convolution *c, wick_c_weights v, const char *w, int64_t lanes,
                          wick_dtype held) {
    const int64_t elem = (int64_t)wick_ctype_size(c->type), taps = c->kernel[0] * c->kernel[1] * c->kernel[2],
                  count = c->groups * c->co * c->ci * taps;
    char *packed = wick_arena_alloc(&p->step, (size_t)(count * elem) + 1), *to = packed;
    if (!packed) {
        p->functions.failed = true;
        return 0;
    }
    w += v.tap * elem;
    if (c->depthwise) {
        for (int64_t t = 0; t < taps; t++)
            for (int64_t g = 0; g < c->groups; g++, to += elem)
                memcpy(to, w + (g * v.of_group + t * v.of_tap) * elem, (size_t)elem);
    } else {
        for (int64_t g = 0; g < c->groups; g++)
            for (int64_t o = 0; o < c->co; o += lanes)
                for (int64_t t = 0; t < taps; t++)
                    for (int64_t i = 0; i < c->ci; i++)
                        for (int64_t j = o; j < WICK_MIN(o + lanes, c->co); j++, to += elem)
                            memcpy(to, w + (g * v.of_group + j * v.of_out + i * v.of_source + t * v.of_tap) * elem,
                                   (size_t)elem);
    }
    return wick_c_held_constant(p, held, packed, count);
}

/* The same in the run. */
static void print_packing(wick_c_printer *p, const wick_convolution *c, wick_c_weights v, int64_t lanes) {
    const char *type = wick_c_type(c->type);
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(const %s *w, %s *u) {\n", type, type);
    if (c->depthwise) {
        line(&t, 1, "for (long t = 0; t < %lld; t++)", LL(taps));
        line(&t, 2, "for (long g = 0; g < %lld; g++) *u++ = w[g * %lld + %lld + t * %lld];", LL(c->groups),
             LL(v.of_group), LL(v.tap), LL(v.of_tap));
    } else {
        line(&t, 1, "for (long g = 0; g < %lld; g++)", LL(c->groups));
        line(&t, 2, "for (long o = 0; o < %lld; o += %lld)", LL(c->co), LL(lanes));
        line(&t, 3, "for (long t = 0; t < %lld; t++)", LL(taps));
        line(&t, 4, "for (long c = 0; c < %lld; c++)", LL(c->ci));
        line(&t, 5,
             "for (long j = o; j < o + %lld && j < %lld; j++) *u++ = w[g * %lld + j * %lld + c * %lld + %lld + t * "
             "%lld];",
             LL(lanes), LL(c->co), LL(v.of_group), LL(v.of_out), LL(v.of_source), LL(v.tap), LL(v.of_tap));
    }
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, "pack", &t);
}

/* ---- Winograd's minimal filtering, F(2 x 2, 3 x 3) (kernels/conv/winograd.h) ------------------------------------- */

/* G g of three numbers. */
static void stretch(const float g[3], float u[4]) {
    u[0] = g[0];
    u[1] = 0.5f * (g[0] + g[2] + g[1]);
    u[2] = 0.5f * (g[0] + g[2] - g[1]);
    u[3] = g[2];
}

/* G w G' of all channels, [panel][16][ci][lanes], the last panel narrower. */
static int stretched_weights(wick_c_printer *p, const wick_convolution *c, wick_c_weights v, const float *w,
                             int64_t lanes) {
    const int64_t count = 16 * c->ci * c->co;
    float *packed = wick_arena_alloc(&p->step, (size_t)count * sizeof *packed + 1);
    if (!packed) {
        p->functions.failed = true;
        return 0;
    }
    const uint64_t word = wick_fp_enter(); /* as when a plan packs them */
    for (int64_t o = 0; o < c->co; o++) {
        const int64_t first = o - o % lanes, width = WICK_MIN(lanes, c->co - first);
        for (int64_t i = 0; i < c->ci; i++) {
            const float *g = w + v.tap + o * v.of_out + i * v.of_source;
            float columns[3][4], u[4];
            for (int x = 0; x < 3; x++)
                stretch((const float[3]){g[x * v.of_tap], g[(3 + x) * v.of_tap], g[(6 + x) * v.of_tap]}, columns[x]);
            for (int y = 0; y < 4; y++) {
                stretch((const float[3]){columns[0][y], columns[1][y], columns[2][y]}, u);
                for (int x = 0; x < 4; x++)
                    packed[16 * c->ci * first + ((4 * y + x) * c->ci + i) * width + o - first] = u[x];
            }
        }
    }
    wick_fp_restore(word);
    return wick_c_constant(p, WICK_F32, packed, count);
}

/* The same in the run. */
static void print_stretching(wick_c_printer *p, const wick_convolution *c, wick_c_weights v, int64_t lanes) {
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(const float *w, float *u) {\n");
    line(&t, 1, "for (long o = 0; o < %lld; o++)", LL(c->co));
    line(&t, 2, "for (long c = 0; c < %lld; c++) {", LL(c->ci));
    line(&t, 3, "const float *g = w + %lld + o * %lld + c * %lld;", LL(v.tap), LL(v.of_out), LL(v.of_source));
    line(&t, 3, "const long first = o - o %% %lld, width = first + %lld <= %lld ? %lld : %lld - first;", LL(lanes),
         LL(lanes), LL(c->co), LL(lanes), LL(c->co));
    line(&t, 3, "float r[4][3];");
    line(&t, 3, "for (long x = 0; x < 3; x++) {");
    line(&t, 4, "r[0][x] = g[x * %lld];", LL(v.of_tap));
    line(&t, 4, "r[1][x] = 0.5f * (g[x * %lld] + g[(6 + x) * %lld] + g[(3 + x) * %lld]);", LL(v.of_tap), LL(v.of_tap),
         LL(v.of_tap));
    line(&t, 4, "r[2][x] = 0.5f * (g[x * %lld] + g[(6 + x) * %lld] - g[(3 + x) * %lld]);", LL(v.of_tap), LL(v.of_tap),
         LL(v.of_tap));
    line(&t, 4, "r[3][x] = g[(6 + x) * %lld];", LL(v.of_tap));
    line(&t, 3, "}");
    line(&t, 3, "for (long y = 0; y < 4; y++) {");
    line(&t, 4, "float *to = u + %lld * first + (4 * y * %lld + c) * width + o - first;", LL(16 * c->ci), LL(c->ci));
    line(&t, 4, "to[0] = r[y][0];");
    line(&t, 4, "to[%lld * width] = 0.5f * (r[y][0] + r[y][2] + r[y][1]);", LL(c->ci));
    line(&t, 4, "to[%lld * width] = 0.5f * (r[y][0] + r[y][2] - r[y][1]);", LL(2 * c->ci));
    line(&t, 4, "to[%lld * width] = r[y][2];", LL(3 * c->ci));
    line(&t, 3, "}");
    line(&t, 2, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, "stretch", &t);
}

/* Weights that are held as halves, [tap][ci][width], are transformed where they are used. */
static void print_stretched_sums(wick_text *t, int depth, const wick_convolution *c, int64_t width, wick_dtype held) {
    line(t, depth, "for (long c = 0; c < %lld; c++, u += %lld)", LL(c->ci), LL(width));
    line(t, depth + 1, "KEEP for (long j = 0; j < %lld; j++) {", LL(width));
    for (int k = 0; k < 9; k++)
        line(t, depth + 2, "const float g%d%d = %s(u[%lld + j]);", k / 3, k % 3, wick_c_load(held),
             LL(k * c->ci * width));
    for (int x = 0; x < 3; x++)
        line(t, depth + 2, "const float r1%d = 0.5f * (g0%d + g2%d + g1%d), r2%d = 0.5f * (g0%d + g2%d - g1%d);", x, x,
             x, x, x, x, x, x);
    for (int y = 0; y < 4; y++) {
        const char *of = y == 0 ? "g0" : y == 1 ? "r1" : y == 2 ? "r2" : "g2";
        for (int x = 0; x < 4; x++) {
            char u[64];
            if (x == 0 || x == 3)
                snprintf(u, sizeof u, "%s%d", of, x ? 2 : 0);
            else
                snprintf(u, sizeof u, "0.5f * (%s0 + %s2 %c %s1)", of, of, x == 1 ? '+' : '-', of);
            line(t, depth + 2, "m[%d][j] = WICK_FMAF(v[%lld + c], %s, m[%d][j]);", 4 * y + x, LL((4 * y + x) * c->ci),
                 u, 4 * y + x);
        }
    }
    line(t, depth + 1, "}");
}

/* Outputs [o0, o0 + width) of a tile. */
static void print_winograd_panel(wick_text *t, int depth, const conv_print *p, int64_t width, const char *o0) {
    const wick_convolution *c = p->c;
    const wick_dtype held = p->held;
    const bool halves = *wick_c_load(held);
    line(t, depth, "const %s *u = w + %s * %lld;", wick_c_memory(held), o0, LL((halves ? 9 : 16) * c->ci));
    line(t, depth, "float m[16][%lld] = {{0}};", LL(width));
    if (halves) {
        print_stretched_sums(t, depth, c, width, held);
    } else {
        line(t, depth, "for (long k = 0; k < 16; k++)");
        line(t, depth + 1, "for (long c = 0; c < %lld; c++, u += %lld)", LL(c->ci), LL(width));
        line(t, depth + 2, "KEEP for (long j = 0; j < %lld; j++) m[k][j] = WICK_FMAF(v[k * %lld + c], u[j], m[k][j]);",
             LL(width), LL(c->ci));
    }
    line(t, depth, "for (long j = 0; j < %lld; j++) {", LL(width));
    line(t, depth + 1, "float a[2][4];");
    line(t, depth + 1, "for (long k = 0; k < 4; k++) {");
    line(t, depth + 2, "a[0][k] = m[k][j] + m[4 + k][j] + m[8 + k][j];");
    line(t, depth + 2, "a[1][k] = m[4 + k][j] - m[8 + k][j] - m[12 + k][j];");
    line(t, depth + 1, "}");
    line(t, depth + 1, "for (long r = 0; r < 2 && ty + r < %lld; r++) {", LL(c->out[1]));
    line(t, depth + 2, "float s[2] = {a[r][0] + a[r][1] + a[r][2], a[r][1] - a[r][2] - a[r][3]};");
    line(t, depth + 2, "for (long q = 0; q < 2 && tx + q < %lld; q++) {", LL(c->out[2]));
    if (c->bias) line(t, depth + 3, "s[q] = s[q] + bias[%s + j];", o0);
    if (c->relu) line(t, depth + 3, "s[q] = s[q] < 0 ? 0 : s[q];");
    line(t, depth + 3, "y[((n * %lld + ty + r) * %lld + tx + q) * %lld + %s + j] = %s%ss[q]%s;", LL(c->out[1]),
         LL(c->out[2]), LL(c->co), o0, wick_c_store(p->into), p->into ? "(" : "", p->into ? ")" : "");
    line(t, depth + 2, "}");
    line(t, depth + 1, "}");
    line(t, depth, "}");
}

static void print_winograd(wick_text *t, const conv_print *q) {
    const wick_convolution *c = q->c;
    const int64_t lanes = q->lanes, whole = c->co - c->co % lanes;
    wick_text_add(t, "(const %s *x, const %s *w, %sfloat *v, %s *y) {\n", wick_c_memory(q->from),
                  wick_c_memory(q->held), c->bias ? "const float *bias, " : "", wick_c_memory(q->into));
    line(t, 1, "for (long n = 0; n < %lld; n++)", LL(c->batch));
    line(t, 2, "for (long ty = 0; ty < %lld; ty += 2)", LL(c->out[1]));
    line(t, 3, "for (long tx = 0; tx < %lld; tx += 2) {", LL(c->out[2]));
    line(t, 4, "for (long c = 0; c < %lld; c++) {", LL(c->ci));
    line(t, 5, "float d[4][4], b[4][4];");
    line(t, 5, "for (long i = 0; i < 4; i++)");
    line(t, 6, "for (long j = 0; j < 4; j++) {");
    line(t, 7, "const long iy = ty + i - %lld, ix = tx + j - %lld;", LL(c->pad[1]), LL(c->pad[2]));
    line(t, 7,
         "d[i][j] = iy < 0 || iy >= %lld || ix < 0 || ix >= %lld ? 0 : %s%sx[((n * %lld + iy) * %lld + ix) * %lld + "
         "c]%s;",
         LL(c->in[1]), LL(c->in[2]), wick_c_load(q->from), q->from ? "(" : "", LL(c->in[1]), LL(c->in[2]), LL(c->ci),
         q->from ? ")" : "");
    line(t, 6, "}");
    line(t, 5, "for (long j = 0; j < 4; j++) {");
    line(t, 6, "b[0][j] = d[0][j] - d[2][j], b[1][j] = d[1][j] + d[2][j];");
    line(t, 6, "b[2][j] = d[2][j] - d[1][j], b[3][j] = d[1][j] - d[3][j];");
    line(t, 5, "}");
    line(t, 5, "for (long i = 0; i < 4; i++) {");
    line(t, 6, "float *to = v + i * %lld + c;", LL(4 * c->ci));
    line(t, 6, "to[0] = b[i][0] - b[i][2], to[%lld] = b[i][1] + b[i][2];", LL(c->ci));
    line(t, 6, "to[%lld] = b[i][2] - b[i][1], to[%lld] = b[i][1] - b[i][3];", LL(2 * c->ci), LL(3 * c->ci));
    line(t, 5, "}");
    line(t, 4, "}");
    if (whole) {
        line(t, 4, "for (long o = 0; o < %lld; o += %lld) {", LL(whole), LL(lanes));
        print_winograd_panel(t, 5, q, lanes, "o");
        line(t, 4, "}");
    }
    if (whole < c->co) {
        char first[32];
        snprintf(first, sizeof first, "%lld", LL(whole));
        line(t, 4, "{");
        print_winograd_panel(t, 5, q, c->co - whole, first);
        line(t, 4, "}");
    }
    line(t, 3, "}");
    wick_text_add(t, "}\n");
}

static bool all_finite(wick_ctype type, const void *data, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const double x = type == WICK_CF32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
        if (!(x - x == 0)) return false;
    }
    return true;
}

/* A gradient of the input without strides is a convolution of what comes to the outputs, by the kernel from its last
 * tap on. */
static wick_convolution transposed(const wick_convolution *c) {
    wick_convolution t = *c;
    if (c->what != WICK_CONV_DATA) return t;
    t.ci = c->co, t.co = c->ci;
    for (int d = 0; d < 3; d++)
        t.in[d] = c->out[d], t.out[d] = c->in[d], t.pad[d] = (c->kernel[d] - 1) * c->dilation[d] - c->pad[d];
    return t;
}
static bool has_strides(const wick_convolution *c) {
    return c->stride[0] != 1 || c->stride[1] != 1 || c->stride[2] != 1;
}

/* Printed over vectors, if the weights are known. */
static bool is_vectors(const wick_convolution *c, wick_c_isa isa) {
    return isa && c->type == WICK_CF32 && !(c->what == WICK_CONV_DATA && has_strides(c)) &&
           !(c->depthwise && (c->planes[0] || c->planes[1] || c->groups % (isa == WICK_C_AVX512 ? 16 : 8)));
}

/* Of weights that are not known when the code is made: as they are read; and a tile of all channels, transformed. */
static size_t scratch_weights(const wick_convolution *c) {
    const int64_t taps = c->winograd ? 16 : c->kernel[0] * c->kernel[1] * c->kernel[2];
    return WICK_ALIGN_UP((size_t)(c->groups * c->co * c->ci * taps) * wick_ctype_size(c->type), 16);
}
size_t wick_c_conv_scratch(const wick_step *s, const wick_c_buffer *buffers, wick_c_isa isa) {
    const wick_step_conv *m = s->args;
    if (m->conv.what == WICK_CONV_WEIGHT) return 0;
    const wick_convolution *c = &m->conv, geometry = transposed(c);
    const bool known = buffers[s->refs[m->at[WICK_STEP_CONV_B] - 1].buffer].place == WICK_C_DATA;
    if (known && is_vectors(c, isa)) return wick_c_vector_scratch(&geometry);
    return (known ? 0 : scratch_weights(c)) +
           (c->winograd ? (size_t)(16 * (c->what == WICK_CONV_DATA ? c->co : c->ci)) * sizeof(float) : 0);
}

bool wick_c_converts(const wick_step *s) {
    const wick_step_conv *m = s->kind == WICK_STEP_CONV ? s->args : NULL;
    return m && m->conv.type == WICK_CF32 && m->conv.what != WICK_CONV_WEIGHT;
}
/* The halves that an image or result is, or 0: it is none. */
static wick_dtype converts(const wick_c_printer *p, const wick_step *s, const wick_ref *ref) {
    return wick_c_converts(s) ? p->f->buffers[ref->buffer].halves : (wick_dtype)0;
}

/* Weights that are not known yet are laid out before. */
static void call_packing(wick_c_printer *p, const wick_convolution *c, wick_c_weights view, int64_t lanes,
                         const wick_ref *const *at, wick_dtype dtype) {
    if (c->winograd)
        print_stretching(p, c, view, lanes);
    else
        print_packing(p, c, view, lanes);
    wick_c_argument(p, at[WICK_STEP_CONV_B], dtype);
    wick_text_add(&p->calls, ", ");
    wick_c_argument(p, at[WICK_STEP_CONV_SHARED], dtype);
    wick_text_add(&p->calls, ");\n");
}

/* By the vectors of one instruction set: the function, and its call. */
static void print_vectors(wick_c_printer *p, const wick_convolution *c, wick_c_weights view, const char *weights,
                          const wick_ref *const *at, wick_dtype dtype) {
    wick_text t = (wick_text){0};
    int number;
    if (c->winograd) {
        wick_c_print_vector_winograd(p->m, c, &t);
        number = stretched_weights(p, c, view, (const float *)(const void *)weights, wick_c_panel(p->m, c->co));
    } else {
        number = wick_c_print_vector_conv(p, c, view, weights, &t);
    }
    wick_c_kernel(p, c->winograd ? "winograd" : "conv", &t);
    wick_c_argument(p, at[WICK_STEP_CONV_A], dtype);
    wick_text_add(&p->calls, ", ");
    wick_c_constant_at(p, number, 0);
    wick_text_add(&p->calls, ", ");
    for (int k = 0; k < 2; k++) {
        if (k ? !wick_c_has_frame(c) : !c->bias) continue;
        wick_c_argument(p, at[k ? WICK_STEP_CONV_SHARED : WICK_STEP_CONV_BIAS], dtype);
        wick_text_add(&p->calls, ", ");
    }
    if (c->winograd) {
        wick_ref v = *at[WICK_STEP_CONV_SHARED];
        v.offset += (int64_t)wick_c_frame_bytes(c);
        wick_c_argument(p, &v, dtype);
        wick_text_add(&p->calls, ", ");
    }
    wick_c_argument(p, at[WICK_STEP_CONV_DST], dtype);
    wick_text_add(&p->calls, ");\n");
}

/* Of any groups, taps and strides: plain loops over pixels. */
static void print_any(wick_text *t, conv_print *q, int64_t vector) {
    const wick_convolution *c = q->c;
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    q->merged = c->groups == 1 && c->dilation[2] == 1;
    const int64_t run = (q->merged ? c->kernel[2] : 1) * c->ci, pieces = taps * c->ci / run;
    q->per_block = run > WICK_GEMM_KC ? 0 : WICK_GEMM_KC / run;
    q->blocks = !q->per_block || pieces > q->per_block;
    begin_conv(t, q);
    /* Four pixels of a row at once read each weight once; where all of them are inside, and sums are many. */
    const int64_t tiled = vector >= TILE_LANES && !may_leave(c, 2) ? c->out[2] - c->out[2] % TILE_PIXELS : 0;
    if (!tiled) {
        print_pixels(t, open_pixels(t, 1, c, 3), q, 1);
    } else {
        const int depth = open_pixels(t, 1, c, 2);
        line(t, depth, "long o2 = 0;");
        line(t, depth, "for (; o2 < %lld; o2 += %d) {", LL(tiled), TILE_PIXELS);
        print_pixels(t, depth + 1, q, TILE_PIXELS);
        line(t, depth, "}");
        if (tiled < c->out[2]) {
            line(t, depth, "for (; o2 < %lld; o2++) {", LL(c->out[2]));
            print_pixels(t, depth + 1, q, 1);
            line(t, depth, "}");
        }
    }
    for (int depth = open_pixels(NULL, 1, c, tiled ? 2 : 3); depth > 1;) line(t, --depth, "}");
    wick_text_add(t, "}\n");
    if (c->groups > 1 && t->at) { /* the numbers behind the names */
        char ci[32], co[32], per[32];
        snprintf(ci, sizeof ci, "%lld", LL(c->ci)), snprintf(co, sizeof co, "%lld", LL(c->co)),
            snprintf(per, sizeof per, "%lld", LL(c->co * c->ci * taps));
        const char *const numbers[][2] = {{"PER_GROUP", per}, {"CI", ci}, {"CO", co}};
        wick_text done = (wick_text){0};
        wick_text_replaced(&done, t->at, t->len, numbers, 3);
        done.failed = done.failed || t->failed;
        wick_text_free(t);
        *t = done;
    }
}

wick_status wick_c_print_conv(wick_c_printer *p, const wick_step *s) {
    const wick_step_conv *m = s->args;
    if (m->conv.what == WICK_CONV_WEIGHT) return wick_c_print_conv_weight(p, s);
    const wick_convolution geometry = transposed(&m->conv), *const c = &geometry;
    const bool strided = m->conv.what == WICK_CONV_DATA && has_strides(&m->conv);
    const wick_ref *at[WICK_STEP_CONV_REFS];
    for (int i = 0; i < WICK_STEP_CONV_REFS; i++) at[i] = m->at[i] ? &s->refs[m->at[i] - 1] : NULL;
    const bool known = wick_c_is_data(p, at[WICK_STEP_CONV_B]);
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    const char *weights = known ? wick_c_data(p, at[WICK_STEP_CONV_B]) : NULL;
    if (known && !all_finite(c->type, weights, c->groups * c->co * c->ci * taps))
        return wick_c_refuse(p, s, "its weights hold NaN or Inf");
    const char *type = wick_c_type(c->type);
    const wick_dtype dtype = c->type == WICK_CF32 ? WICK_F32 : WICK_F64;
    const int64_t lanes = WICK_MIN(p->m->lanes, c->depthwise ? c->planes[0] || c->planes[1] ? 1 : c->groups : c->co);
    const wick_c_weights view = view_of(&m->conv, m->conv.what == WICK_CONV_DATA && !strided);
    const wick_dtype held =
        known && !p->m->isa ? wick_c_held_as(dtype, weights, c->groups * c->co * c->ci * taps) : dtype;
    if (!known) call_packing(p, c, view, lanes, at, dtype);
    const wick_dtype from = converts(p, s, at[WICK_STEP_CONV_A]), into = converts(p, s, at[WICK_STEP_CONV_DST]);
    conv_print q = {.c = c,
                    .type = type,
                    .fma = c->type == WICK_CF32 ? "WICK_FMAF" : "WICK_FMA",
                    .held = held,
                    .from = from ? from : dtype,
                    .into = into ? into : dtype,
                    .lanes = lanes,
                    .co = c->co};
    if (known && is_vectors(&m->conv, p->m->isa)) {
        print_vectors(p, c, view, weights, at, dtype);
        return WICK_OK;
    }
    wick_text t = (wick_text){0};
    if (strided) {
        wick_c_print_strided(&t, &m->conv, lanes, q.held, q.from, q.into);
    } else if (c->depthwise) {
        print_depthwise(&t, &q);
    } else if (c->winograd) {
        print_winograd(&t, &q);
    } else {
        print_any(&t, &q, p->m->lanes);
    }
    wick_c_kernel(p, strided ? "conv_data" : c->depthwise ? "depthwise" : c->winograd ? "winograd" : "conv", &t);
    wick_c_argument(p, at[WICK_STEP_CONV_A], q.from);
    wick_text_add(&p->calls, ", ");
    if (known)
        wick_c_constant_at(p,
                           c->winograd && held == dtype
                               ? stretched_weights(p, c, view, (const float *)(const void *)weights, lanes)
                               : packed_weights(p, c, view, weights, lanes, held),
                           0);
    else
        wick_c_argument(p, at[WICK_STEP_CONV_SHARED], dtype);
    wick_text_add(&p->calls, ", ");
    if (c->bias) {
        wick_c_argument(p, at[WICK_STEP_CONV_BIAS], dtype);
        wick_text_add(&p->calls, ", ");
    }
    if (c->winograd) {
        wick_ref tile = *at[WICK_STEP_CONV_SHARED];
        tile.offset += known ? 0 : (int64_t)scratch_weights(c);
        wick_c_argument(p, &tile, dtype);
        wick_text_add(&p->calls, ", ");
    }
    wick_c_argument(p, at[WICK_STEP_CONV_DST], q.into);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}
