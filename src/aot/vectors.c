/* vectors.c: convolutions and products of f32 over vectors of gcc and clang, for --isa: tiles of several pixels
 * (rows) by several vectors of outputs, whose sums are variables, so that they stay in registers. Weights lie as tiles
 * read them, filled up with zeros to whole vectors; images are copied into a frame of zeros where there is padding,
 * which changes no sum that begins with +0. Each sum is the chain that convolutions.c prints. */
#include <stdio.h>

#include "aot/print.h"
#include "kernels/gemm/gemm_tuning.h"

#define line wick_c_line

/* Registers of the tiers: sums may take all but those of a row of weights and a number. */
enum { MOST_VECTORS = 4 };
static int64_t lanes_of(const wick_c_model *m) { return m->isa == WICK_C_AVX512 ? 16 : 8; }
static int64_t most_rows(const wick_c_model *m, int64_t vectors) {
    const int64_t registers = m->isa == WICK_C_AVX512 ? 32 : 16;
    return WICK_MAX(1, WICK_MIN((registers - vectors - 1) / vectors, 14));
}

/* Outputs as panels of so many vectors; the last one may have fewer. */
typedef struct panels {
    int64_t lanes, n, vectors, panels;
} panels;
static panels panels_of(const wick_c_model *m, int64_t outputs, int64_t most) {
    panels p = {.lanes = lanes_of(m), .n = outputs};
    const int64_t all = (outputs + p.lanes - 1) / p.lanes, pieces = (all + most - 1) / most;
    p.vectors = (all + pieces - 1) / pieces;
    p.panels = (all + p.vectors - 1) / p.vectors;
    return p;
}
static int64_t vectors_in(const panels *p, int64_t panel) {
    return WICK_MIN(p->vectors, (p->n + p->lanes - 1) / p->lanes - panel * p->vectors);
}
static int64_t padded(const panels *p) { return (p->n + p->lanes - 1) / p->lanes * p->lanes; }

void wick_c_print_vectors(const wick_c_model *m, wick_text *out) {
    const bool wide = m->isa == WICK_C_AVX512;
    wick_text_add(out,
                  "#if !defined(__GNUC__) || !defined(%s)\n#error \"this variant needs gcc or clang, and %s; wick "
                  "compile without --isa writes C for any machine\"\n#endif\n#include <immintrin.h>\n",
                  wide ? "__AVX512F__" : "__FMA__", wide ? "-mavx512f -mfma" : "-mavx2 -mfma");
    wick_text_add(
        out,
        "typedef float vec __attribute__((vector_size(%d)));\ntypedef float vec_at __attribute__((vector_size(%d), "
        "aligned(4), may_alias));\ntypedef int vec_bits __attribute__((vector_size(%d)));\n",
        wide ? 64 : 32, wide ? 64 : 32, wide ? 64 : 32);
    wick_text_add(out, "#define ALL _Pragma(\"GCC unroll 4\")\n#define AT(p) (*(const vec_at *)(p))\n#define SPREAD(x) "
                       "((x) - (vec){0})\n#define ABOVE_0(v) ((vec)((vec_bits)(v) & ~(vec_bits)((v) < 0)))\n");
    wick_text_add(out, "#if FUSED\n#define VEC_FMA(a, b, c) %s((a), (b), (c))\n",
                  wide ? "_mm512_fmadd_ps" : "_mm256_fmadd_ps");
    wick_text_add(out, "#else\n#define VEC_FMA(a, b, c) ((a) * (b) + (c))\n#endif\n\n");
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

static void declare(wick_text *t, int depth, char name, int64_t rows, int64_t vectors) {
    for (int64_t r = 0; r < rows; r++) {
        wick_text_add(t, "%*svec ", 4 * depth, "");
        for (int64_t n = 0; n < vectors; n++)
            wick_text_add(t, "%s%c%lld_%lld = {0}", n ? ", " : "", name, LL(r), LL(n));
        wick_text_add(t, ";\n");
    }
}

/* One term of each sum: `number` has a %lld for the row's offset, weights lie at u. */
static void add_term(wick_text *t, int depth, const char *number, int64_t step, int64_t rows, int64_t vectors,
                     int64_t lanes, bool spread) {
    for (int64_t n = 0; n < vectors; n++) line(t, depth, "const vec b%lld = AT(u + %lld);", LL(n), LL(n * lanes));
    for (int64_t r = 0; r < rows; r++) {
        wick_text_add(t, "%*s", 4 * depth, "");
        if (spread) wick_text_add(t, "const vec x%lld = SPREAD(%s%lld]); ", LL(r), number, LL(r * step));
        for (int64_t n = 0; n < vectors; n++) {
            if (spread)
                wick_text_add(t, "a%lld_%lld = VEC_FMA(x%lld, b%lld, a%lld_%lld);%s", LL(r), LL(n), LL(r), LL(n), LL(r),
                              LL(n), n + 1 < vectors ? " " : "\n");
            else
                wick_text_add(t, "a%lld_%lld = VEC_FMA(b%lld, AT(%s%lld), a%lld_%lld);%s", LL(r), LL(n), LL(n), number,
                              LL(r * step + n * lanes), LL(r), LL(n), n + 1 < vectors ? " " : "\n");
        }
    }
}

/* Ends a block of the chain. */
static void flush(wick_text *t, int depth, const char *condition, int64_t rows, int64_t vectors) {
    line(t, depth, "if (%s) {", condition);
    for (int64_t r = 0; r < rows; r++) {
        wick_text_add(t, "%*s", 4 * depth + 4, "");
        for (int64_t n = 0; n < vectors; n++)
            wick_text_add(t, "t%lld_%lld = t%lld_%lld + a%lld_%lld, a%lld_%lld = (vec){0}%s", LL(r), LL(n), LL(r),
                          LL(n), LL(r), LL(n), LL(r), LL(n), n + 1 < vectors ? ", " : ";\n");
    }
    line(t, depth, "}");
}

/* y = act(sum + bias): rows are `step` elements apart at `to`; `part` elements are of the last vector, or 0: all. */
static void finish(wick_text *t, int depth, bool blocks, const char *bias, bool bias_of_row, bool relu, const char *to,
                   int64_t step, int64_t rows, int64_t vectors, int64_t lanes, int64_t part) {
    for (int64_t n = 0; n < vectors; n++) {
        const bool cut = part && n + 1 == vectors;
        line(t, depth, "{");
        if (bias && !bias_of_row && cut)
            line(t, depth + 1, "vec b = {0};"),
                line(t, depth + 1, "memcpy(&b, %s + %lld, %lld);", bias, LL(n * lanes), LL(4 * part));
        else if (bias && !bias_of_row)
            line(t, depth + 1, "const vec b = AT(%s + %lld);", bias, LL(n * lanes));
        for (int64_t r = 0; r < rows; r++) {
            char sum[64];
            if (blocks)
                line(t, depth + 1, "t%lld_%lld = t%lld_%lld + a%lld_%lld;", LL(r), LL(n), LL(r), LL(n), LL(r), LL(n));
            snprintf(sum, sizeof sum, "%c%lld_%lld", blocks ? 't' : 'a', LL(r), LL(n));
            if (bias && bias_of_row) line(t, depth + 1, "%s = %s + SPREAD(%s[%lld]);", sum, sum, bias, LL(r));
            if (bias && !bias_of_row) line(t, depth + 1, "%s = %s + b;", sum, sum);
            if (relu) line(t, depth + 1, "%s = ABOVE_0(%s);", sum, sum);
            if (cut)
                line(t, depth + 1, "memcpy(%s + %lld, &%s, %lld);", to, LL(r * step + n * lanes), sum, LL(4 * part));
            else
                line(t, depth + 1, "*(vec_at *)(%s + %lld) = %s;", to, LL(r * step + n * lanes), sum);
        }
        line(t, depth, "}");
    }
}

/* n places in tiles of nearly equal height: how many of the taller ones, and of the others. */
typedef struct tiling {
    int64_t tall, n_tall, n_low; /* low ones are one lower */
} tiling;
static tiling tiles_of(int64_t n, int64_t most) {
    const int64_t tiles = (n + most - 1) / most, height = n / tiles;
    if (n % tiles == 0) return (tiling){height, tiles, 0};
    return (tiling){height + 1, n % tiles, tiles - n % tiles};
}

/* ---- images in a frame ------------------------------------------------------------------------------------------- */

/* What outputs reach: extents with the zeros around. */
static void framed(const wick_convolution *c, int64_t dims[3]) {
    /* whole tiles */
    for (int d = 0; d < 3; d++)
        dims[d] = (c->out[d] - 1) * c->stride[d] + (c->kernel[d] - 1) * c->dilation[d] + 1 +
                  (c->winograd ? c->out[d] % 2 * (d > 0) : 0);
}
bool wick_c_has_frame(const wick_convolution *c) {
    int64_t dims[3];
    framed(c, dims);
    for (int d = 0; d < 3; d++)
        if (c->pad[d] || dims[d] > c->in[d]) return true;
    return c->planes[0]; /* the frame has channels last */
}
size_t wick_c_frame_bytes(const wick_convolution *c) {
    int64_t dims[3];
    framed(c, dims);
    return wick_c_has_frame(c)
               ? WICK_ALIGN_UP(
                     (size_t)(dims[0] * dims[1] * dims[2] * c->groups * (c->depthwise ? 1 : c->ci)) * sizeof(float), 64)
               : 0;
}
/* "frame_1(x, to": an image, whose number is n, into a frame. */
static void print_frame(wick_text *t, int depth, const wick_convolution *c) {
    int64_t dims[3];
    framed(c, dims);
    const int64_t channels = c->groups * (c->depthwise ? 1 : c->ci), image = c->in[0] * c->in[1] * c->in[2] * channels;
    /* of a row: zeros, what is there, zeros */
    const int64_t before = WICK_MIN(WICK_MAX(c->pad[2], 0), dims[2]), first = WICK_MAX(-c->pad[2], 0),
                  there = WICK_MAX(0, WICK_MIN(dims[2] - before, c->in[2] - first));
    line(t, depth, "float *to = frame;");
    line(t, depth, "for (long z = 0; z < %lld; z++)", LL(dims[0]));
    line(t, depth + 1, "for (long r = 0; r < %lld; r++, to += %lld) {", LL(dims[1]), LL(dims[2] * channels));
    line(t, depth + 2, "const long iz = z - (%lld), ir = r - (%lld);", LL(c->pad[0]), LL(c->pad[1]));
    line(t, depth + 2, "if (iz < 0 || iz >= %lld || ir < 0 || ir >= %lld) {", LL(c->in[0]), LL(c->in[1]));
    line(t, depth + 3, "memset(to, 0, %lld);", LL(4 * dims[2] * channels));
    line(t, depth + 3, "continue;");
    line(t, depth + 2, "}");
    if (before) line(t, depth + 2, "memset(to, 0, %lld);", LL(4 * before * channels));
    if (c->planes[0]) {
        line(t, depth + 2, "for (long i = 0; i < %lld; i++)", LL(there));
        line(t, depth + 3,
             "for (long c = 0; c < %lld; c++) to[(%lld + i) * %lld + c] = x[((n * %lld + c) * %lld + iz) * %lld + ir * "
             "%lld + %lld + i];",
             LL(channels), LL(before), LL(channels), LL(channels), LL(c->in[0]), LL(c->in[1] * c->in[2]), LL(c->in[2]),
             LL(first));
    } else {
        line(t, depth + 2, "memcpy(to + %lld, x + n * %lld + ((iz * %lld + ir) * %lld + %lld) * %lld, %lld);",
             LL(before * channels), LL(image), LL(c->in[1]), LL(c->in[2]), LL(first), LL(channels),
             LL(4 * there * channels));
    }
    if (before + there < dims[2])
        line(t, depth + 2, "memset(to + %lld, 0, %lld);", LL((before + there) * channels),
             LL(4 * (dims[2] - before - there) * channels));
    line(t, depth + 1, "}");
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

/* Weights by the view: [group][panel][tap][source][vectors of the panel]. */
static int packed(wick_c_printer *p, const wick_convolution *c, wick_c_weights v, const panels *q, const float *w) {
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2], sources = c->ci,
                  count = c->groups * taps * sources * padded(q);
    float *all = wick_arena_zalloc(&p->step, (size_t)count * sizeof *all + 1), *to = all;
    if (!all) {
        p->functions.failed = true;
        return 0;
    }
    for (int64_t g = 0; g < c->groups; g++)
        for (int64_t panel = 0; panel < q->panels; panel++) {
            const int64_t first = panel * q->vectors * q->lanes, width = vectors_in(q, panel) * q->lanes;
            for (int64_t t = 0; t < taps; t++)
                for (int64_t i = 0; i < sources; i++, to += width)
                    for (int64_t j = 0; j < WICK_MIN(width, q->n - first); j++)
                        to[j] = w[v.tap + g * v.of_group + (first + j) * v.of_out + i * v.of_source + t * v.of_tap];
        }
    return wick_c_constant(p, WICK_F32, all, count);
}

/* Winograd's minimal filtering, a row of tiles at a time: scratch holds V [16][tiles][ci] and M [16][tiles][co]. */
static int64_t tiles_across(const wick_convolution *c) { return (c->out[2] + 1) / 2; }
size_t wick_c_vector_scratch(const wick_convolution *c) {
    return wick_c_frame_bytes(c) + (c->winograd ? (size_t)(16 * tiles_across(c) * (c->ci + c->co)) * sizeof(float) : 0);
}
int64_t wick_c_panel(const wick_c_model *m, int64_t outputs) {
    const panels q = panels_of(m, outputs, MOST_VECTORS);
    return q.vectors * q.lanes;
}
void wick_c_print_vector_winograd(const wick_c_model *m, const wick_convolution *c, wick_text *t) {
    const panels q = panels_of(m, c->co, MOST_VECTORS);
    const bool frame = wick_c_has_frame(c);
    const int64_t across = tiles_across(c), image = c->in[1] * c->in[2] * c->ci, L = q.lanes;
    const tiling tiles = tiles_of(across, most_rows(m, q.vectors));
    int64_t dims[3];
    framed(c, dims);
    if (!frame) memcpy(dims, c->in, sizeof dims);
    wick_text_add(t, "(const float *x, const float *w, %s%sfloat *v, float *y) {\n",
                  c->bias ? "const float *bias, " : "", frame ? "float *frame, " : "");
    line(t, 1, "float *m = v + %lld;", LL(16 * across * c->ci));
    line(t, 1, "for (long n = 0; n < %lld; n++) {", LL(c->batch));
    if (frame) {
        line(t, 2, "{");
        print_frame(t, 3, c);
        line(t, 2, "}");
        line(t, 2, "const float *from = frame;");
    } else {
        line(t, 2, "const float *from = x + n * %lld;", LL(image));
    }
    line(t, 2, "for (long ty = 0; ty < %lld; ty += 2) {", LL(c->out[1]));
    line(t, 3, "for (long tx = 0; tx < %lld; tx++)", LL(across));
    line(t, 4, "for (long c = 0; c < %lld; c += %lld) {", LL(c->ci), LL(L));
    line(t, 5, "const float *d = from + (ty * %lld + 2 * tx) * %lld + c;", LL(dims[2]), LL(c->ci));
    line(t, 5, "float *to = v + tx * %lld + c;", LL(c->ci));
    line(t, 5, "vec b[4][4];");
    line(t, 5, "ALL for (int j = 0; j < 4; j++) {");
    for (int i = 0; i < 4; i++)
        line(t, 6, "const vec d%d = AT(d + j * %lld + %lld);", i, LL(c->ci), LL(i * dims[2] * c->ci));
    line(t, 6, "b[0][j] = d0 - d2, b[1][j] = d1 + d2, b[2][j] = d2 - d1, b[3][j] = d1 - d3;");
    line(t, 5, "}");
    line(t, 5, "ALL for (int i = 0; i < 4; i++) {");
    static const char *const last[] = {"b[i][0] - b[i][2]", "b[i][1] + b[i][2]", "b[i][2] - b[i][1]",
                                       "b[i][1] - b[i][3]"};
    for (int j = 0; j < 4; j++)
        line(t, 6, "*(vec_at *)(to + (4 * i + %d) * %lld) = %s;", j, LL(across * c->ci), last[j]);
    line(t, 5, "}");
    line(t, 4, "}");
    line(t, 3, "for (long k = 0; k < 16; k++) {");
    line(t, 4, "const float *at = v + k * %lld;", LL(across * c->ci));
    for (int64_t panel = 0; panel < q.panels; panel++)
        for (int low = 0; low < 2; low++) {
            const int64_t rows = tiles.tall - low, count = low ? tiles.n_low : tiles.n_tall,
                          begin = low ? tiles.n_tall * tiles.tall : 0;
            const int64_t vectors = vectors_in(&q, panel), width = vectors * L, first = panel * q.vectors * L;
            char to[96];
            if (!count) continue;
            line(t, 4, "for (long i = %lld; i < %lld; i += %lld) {", LL(begin), LL(begin + count * rows), LL(rows));
            line(t, 5, "const float *u = w + %lld + k * %lld;", LL(16 * c->ci * first), LL(c->ci * width));
            declare(t, 5, 'a', rows, vectors);
            line(t, 5, "for (long c = 0; c < %lld; c++, u += %lld) {", LL(c->ci), LL(width));
            snprintf(to, sizeof to, "at[i * %lld + c + ", LL(c->ci));
            add_term(t, 6, to, c->ci, rows, vectors, L, true);
            line(t, 5, "}");
            snprintf(to, sizeof to, "m + (k * %lld + i) * %lld + %lld", LL(across), LL(c->co), LL(first));
            finish(t, 5, false, NULL, false, false, to, c->co, rows, vectors, L, 0);
            line(t, 4, "}");
        }
    line(t, 3, "}");
    line(t, 3, "for (long tx = 0; tx < %lld; tx++)", LL(across));
    line(t, 4, "for (long o = 0; o < %lld; o += %lld) {", LL(c->co), LL(L));
    line(t, 5, "const float *at = m + tx * %lld + o;", LL(c->co));
    line(t, 5, "vec a[2][4];");
    line(t, 5, "ALL for (int j = 0; j < 4; j++) {");
    for (int i = 0; i < 4; i++) line(t, 6, "const vec m%d = AT(at + (%d + j) * %lld);", i, 4 * i, LL(across * c->co));
    line(t, 6, "a[0][j] = m0 + m1 + m2, a[1][j] = m1 - m2 - m3;");
    line(t, 5, "}");
    line(t, 5, "for (int r = 0; r < 2 && ty + r < %lld; r++) {", LL(c->out[1]));
    line(t, 6, "float *to = y + ((n * %lld + ty + r) * %lld + 2 * tx) * %lld + o;", LL(c->out[1]), LL(c->out[2]),
         LL(c->co));
    for (int x = 0; x < 2; x++) {
        line(t, 6, x ? "vec s1 = a[r][1] - a[r][2] - a[r][3];" : "vec s0 = a[r][0] + a[r][1] + a[r][2];");
        if (c->bias) line(t, 6, "s%d = s%d + AT(bias + o);", x, x);
        if (c->relu) line(t, 6, "s%d = ABOVE_0(s%d);", x, x);
    }
    line(t, 6, "*(vec_at *)to = s0;");
    if (c->out[2] % 2)
        line(t, 6, "if (2 * tx + 1 < %lld) *(vec_at *)(to + %lld) = s1;", LL(c->out[2]), LL(c->co));
    else
        line(t, 6, "*(vec_at *)(to + %lld) = s1;", LL(c->co));
    line(t, 5, "}");
    line(t, 4, "}");
    line(t, 2, "}");
    line(t, 1, "}");
    wick_text_add(t, "}\n");
}

typedef struct conv_vectors {
    const wick_convolution *c;
    panels q;
    int64_t frame[3], per_block; /* as in convolutions.c */
    bool merged, blocks;
} conv_vectors;

/* A tile of `rows` pixels, from o2 on, by one panel of the group, at w, from output o0 on. */
static void print_tile(wick_text *t, int depth, const conv_vectors *v, int64_t rows, int64_t panel) {
    const wick_convolution *c = v->c;
    const int64_t vectors = vectors_in(&v->q, panel), width = vectors * v->q.lanes, channels = c->groups * c->ci,
                  taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    const int64_t first = panel * v->q.vectors * v->q.lanes,
                  part = first + width > v->q.n ? v->q.lanes - (first + width - v->q.n) : 0;
    char text[200], to[160];
    line(t, depth, "const float *u = w + %s%lld;", c->groups > 1 ? "g * PER_GROUP + " : "", LL(first * taps * c->ci));
    declare(t, depth, 'a', rows, vectors);
    if (v->blocks) declare(t, depth, 't', rows, vectors);
    const int opened = depth;
    for (int d = 0; d < 3; d++) {
        if (c->kernel[d] > 1) line(t, depth++, "for (long k%d = 0; k%d < %lld; k%d++) {", d, d, LL(c->kernel[d]), d);
        if (v->blocks && v->per_block && d == (v->merged ? 1 : 2)) {
            char at[120] = "0";
            for (int e = 0; e <= d; e++) {
                char before[100];
                snprintf(before, sizeof before, "%.90s", at);
                if (c->kernel[e] <= 1) continue;
                if (strcmp(before, "0") == 0)
                    snprintf(at, sizeof at, "k%d", e);
                else
                    snprintf(at, sizeof at, "(%.90s * %lld + k%d)", before, LL(c->kernel[e]), e);
            }
            snprintf(text, sizeof text, "%.120s %% %lld == 0", at, LL(v->per_block));
            flush(t, depth, text, rows, vectors);
        }
    }
    char place[300] = "";
    size_t n = 0;
    const int64_t strides[3] = {v->frame[1] * v->frame[2] * channels, v->frame[2] * channels, channels};
    for (int d = 0; d < 3; d++) {
        if (c->out[d] > 1)
            n += (size_t)snprintf(place + n, sizeof place - n, " + o%d * %lld", d, LL(c->stride[d] * strides[d]));
        if (c->kernel[d] > 1)
            n += (size_t)snprintf(place + n, sizeof place - n, " + k%d * %lld", d, LL(c->dilation[d] * strides[d]));
    }
    line(t, depth, "const float *v = from%s%s;", place, c->groups > 1 ? " + g * CI" : "");
    line(t, depth++, "for (long c = 0; c < %lld; c++, u += %lld) {", LL(c->ci), LL(width));
    if (v->blocks && !v->per_block) {
        if (v->merged && c->kernel[2] > 1)
            snprintf(text, sizeof text, "(k2 * %lld + c) %% %d == 0", LL(c->ci), WICK_GEMM_KC);
        else
            snprintf(text, sizeof text, "c %% %d == 0", WICK_GEMM_KC);
        flush(t, depth, text, rows, vectors);
    }
    add_term(t, depth, "v[c + ", c->stride[2] * channels, rows, vectors, v->q.lanes, true);
    while (depth > opened) line(t, --depth, "}");
    snprintf(to, sizeof to, "to + %s%lld", c->groups > 1 ? "g * CO + " : "", LL(first));
    snprintf(text, sizeof text, "bias + %s%lld", c->groups > 1 ? "g * CO + " : "", LL(first));
    finish(t, depth, v->blocks, c->bias ? text : NULL, false, c->relu, to, c->groups * c->co, rows, vectors, v->q.lanes,
           part);
}

/* To the loop over images, in which `from` is one of them, with its frame of zeros where it needs one. Returns the
 * depth there. */
static int begin_images(wick_text *t, const wick_convolution *c) {
    const bool frame = wick_c_has_frame(c);
    wick_text_add(t, "(const float *x, const float *w, %s%sfloat *y) {\n", c->bias ? "const float *bias, " : "",
                  frame ? "float *frame, " : "");
    int depth = 1;
    line(t, depth++, "for (long n = 0; n < %lld; n++) {", LL(c->batch));
    if (frame) {
        line(t, depth, "{");
        print_frame(t, depth + 1, c);
        line(t, depth, "}");
        line(t, depth, "const float *from = frame;");
    } else {
        line(t, depth, "const float *from = x + n * %lld;",
             LL(c->in[0] * c->in[1] * c->in[2] * c->groups * (c->depthwise ? 1 : c->ci)));
    }
    return depth;
}

static void print_conv(wick_text *t, const conv_vectors *v, int64_t most) {
    const wick_convolution *c = v->c;
    const int64_t out = c->out[0] * c->out[1] * c->out[2] * c->groups * c->co;
    const tiling tiles = tiles_of(c->out[2], most);
    int depth = begin_images(t, c);
    for (int d = 0; d < 2; d++)
        if (c->out[d] > 1) line(t, depth++, "for (long o%d = 0; o%d < %lld; o%d++) {", d, d, LL(c->out[d]), d);
    if (c->groups > 1) line(t, depth++, "for (long g = 0; g < %lld; g++) {", LL(c->groups));
    char row[160] = "";
    if (c->out[0] > 1) snprintf(row, sizeof row, " + o0 * %lld", LL(c->out[1] * c->out[2] * c->groups * c->co));
    if (c->out[1] > 1)
        snprintf(row + strlen(row), sizeof row - strlen(row), " + o1 * %lld", LL(c->out[2] * c->groups * c->co));
    for (int64_t panel = 0; panel < v->q.panels; panel++)
        for (int low = 0; low < 2; low++) {
            const int64_t rows = tiles.tall - low, count = low ? tiles.n_low : tiles.n_tall,
                          first = low ? tiles.n_tall * tiles.tall : 0;
            if (!count) continue;
            line(t, depth, "for (long o2 = %lld; o2 < %lld; o2 += %lld) {", LL(first), LL(first + count * rows),
                 LL(rows));
            line(t, depth + 1, "float *to = y + n * %lld%s + o2 * %lld;", LL(out), row, LL(c->groups * c->co));
            print_tile(t, depth + 1, v, rows, panel);
            line(t, depth, "}");
        }
    while (depth > 1) line(t, --depth, "}");
    wick_text_add(t, "}\n");
}

/* Channels on their own: a panel of them by some pixels. */
static void print_depthwise(wick_text *t, const wick_c_model *m, const wick_convolution *c, const panels *q) {
    const bool frame = wick_c_has_frame(c);
    const int64_t channels = c->groups, out = c->out[0] * c->out[1] * c->out[2] * channels;
    int64_t dims[3];
    framed(c, dims);
    if (!frame) memcpy(dims, c->in, sizeof dims);
    const int64_t strides[3] = {dims[1] * dims[2] * channels, dims[2] * channels, channels};
    const tiling tiles = tiles_of(c->out[2], WICK_MIN(most_rows(m, q->vectors), 6));
    int depth = begin_images(t, c);
    for (int d = 0; d < 2; d++) line(t, depth++, "for (long o%d = 0; o%d < %lld; o%d++) {", d, d, LL(c->out[d]), d);
    for (int64_t panel = 0; panel < q->panels; panel++)
        for (int low = 0; low < 2; low++) {
            const int64_t rows = tiles.tall - low, count = low ? tiles.n_low : tiles.n_tall,
                          begin = low ? tiles.n_tall * tiles.tall : 0;
            const int64_t vectors = vectors_in(q, panel), width = vectors * q->lanes,
                          first = panel * q->vectors * q->lanes;
            char text[64];
            if (!count) continue;
            line(t, depth++, "for (long o2 = %lld; o2 < %lld; o2 += %lld) {", LL(begin), LL(begin + count * rows),
                 LL(rows));
            line(t, depth, "float *to = y + n * %lld + ((o0 * %lld + o1) * %lld + o2) * %lld + %lld;", LL(out),
                 LL(c->out[1]), LL(c->out[2]), LL(channels), LL(first));
            line(t, depth, "const float *u = w + %lld;", LL(first * c->kernel[0] * c->kernel[1] * c->kernel[2]));
            declare(t, depth, 'a', rows, vectors);
            for (int d = 0; d < 3; d++)
                line(t, depth++, "for (long k%d = 0; k%d < %lld; k%d%s) {", d, d, LL(c->kernel[d]), d,
                     d == 2 ? "++, u += WIDTH" : "++");
            line(t, depth,
                 "const float *v = from + (o0 * %lld + k0 * %lld) * %lld + (o1 * %lld + k1 * %lld) * %lld + (o2 * %lld "
                 "+ k2 * %lld) * %lld + %lld;",
                 LL(c->stride[0]), LL(c->dilation[0]), LL(strides[0]), LL(c->stride[1]), LL(c->dilation[1]),
                 LL(strides[1]), LL(c->stride[2]), LL(c->dilation[2]), LL(strides[2]), LL(first));
            add_term(t, depth, "v + ", c->stride[2] * channels, rows, vectors, q->lanes, false);
            for (int d = 0; d < 3; d++) line(t, --depth, "}");
            snprintf(text, sizeof text, "bias + %lld", LL(first));
            finish(t, depth, false, c->bias ? text : NULL, false, c->relu, "to", channels, rows, vectors, q->lanes, 0);
            line(t, --depth, "}");
            char number[32];
            snprintf(number, sizeof number, "%lld", LL(width));
            const char *const numbers[][2] = {{"WIDTH", number}};
            wick_text done = {0};
            if (t->at) wick_text_replaced(&done, t->at, t->len, numbers, 1);
            done.failed = done.failed || t->failed;
            wick_text_free(t);
            *t = done;
        }
    while (depth > 1) line(t, --depth, "}");
    wick_text_add(t, "}\n");
}

int wick_c_print_vector_conv(wick_c_printer *p, const wick_convolution *c, wick_c_weights view, const void *weights,
                             wick_text *t) {
    const panels q = panels_of(p->m, c->depthwise ? c->groups : c->co, MOST_VECTORS);
    if (c->depthwise) {
        wick_convolution one = *c; /* group by group is output by output */
        one.groups = 1;
        print_depthwise(t, p->m, c, &q);
        view.of_out = view.of_group;
        return packed(p, &one, view, &q, weights);
    }
    conv_vectors v = {.c = c, .q = q};
    framed(c, v.frame);
    if (!wick_c_has_frame(c)) memcpy(v.frame, c->in, sizeof v.frame);
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    v.merged = c->groups == 1 && c->dilation[2] == 1;
    const int64_t run = (v.merged ? c->kernel[2] : 1) * c->ci, pieces = taps * c->ci / run;
    v.per_block = run > WICK_GEMM_KC ? 0 : WICK_GEMM_KC / run;
    v.blocks = !v.per_block || pieces > v.per_block;
    print_conv(t, &v, most_rows(p->m, q.vectors));
    char ci[32], co[32], per[32];
    snprintf(ci, sizeof ci, "%lld", LL(c->ci)), snprintf(co, sizeof co, "%lld", LL(c->co)),
        snprintf(per, sizeof per, "%lld", LL(taps * c->ci * padded(&q)));
    const char *const numbers[][2] = {{"PER_GROUP", per}, {"CI", ci}, {"CO", co}};
    if (c->groups > 1 && t->at) {
        wick_text done = {0};
        wick_text_replaced(&done, t->at, t->len, numbers, 3);
        done.failed = done.failed || t->failed;
        wick_text_free(t);
        *t = done;
    }
    return packed(p, c, view, &q, weights);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

wick_status wick_c_print_vector_product(wick_c_printer *p, const wick_step *s) {
    const wick_step_gemm *m = s->args;
    const wick_gemm *g = &m->gemm;
    const panels q = panels_of(p->m, g->n, g->m == 1 ? 8 : MOST_VECTORS);
    const float *b = wick_c_data(p, &s->refs[1]);
    float *all = wick_arena_zalloc(&p->step, (size_t)(g->k * padded(&q)) * sizeof *all + 1), *to = all;
    wick_text t = {0};
    if (!all) {
        p->functions.failed = true;
        return WICK_OK;
    }
    wick_text_add(&t, "(const float *a, const float *b, %sfloat *c) {\n", g->bias ? "const float *bias, " : "");
    int depth = 1;
    for (int d = 0; d < m->batch_rank; d++)
        line(&t, depth++, "for (long n%d = 0; n%d < %lld; n%d++) {", d, d, LL(m->batch[d]), d);
    wick_text_add(&t, "%*sconst float *x = a", 4 * depth, "");
    int64_t product = m->c / 4;
    for (int d = 0; d < m->batch_rank; d++) wick_text_add(&t, " + n%d * %lld", d, LL(m->a[d] / 4));
    wick_text_add(&t, ";\n%*sfloat *y = c", 4 * depth, "");
    for (int d = m->batch_rank - 1; d >= 0; d--) {
        wick_text_add(&t, " + n%d * %lld", d, LL(product));
        product *= m->batch[d];
    }
    wick_text_add(&t, ";\n");
    const bool blocks = g->k > g->kc;
    const tiling tiles = tiles_of(g->m, most_rows(p->m, q.vectors));
    for (int64_t panel = 0; panel < q.panels; panel++) {
        const int64_t vectors = vectors_in(&q, panel), width = vectors * q.lanes, first = panel * q.vectors * q.lanes,
                      part = first + width > g->n ? q.lanes - (first + width - g->n) : 0;
        for (int64_t k = 0; k < g->k; k++, to += width)
            for (int64_t j = 0; j < WICK_MIN(width, g->n - first); j++)
                to[j] = b[k * g->b_row + (first + j) * g->b_col];
        for (int low = 0; low < 2; low++) {
            const int64_t rows = tiles.tall - low, count = low ? tiles.n_low : tiles.n_tall,
                          begin = low ? tiles.n_tall * tiles.tall : 0;
            char text[96], out[96], number[64];
            if (!count) continue;
            line(&t, depth++, "for (long i = %lld; i < %lld; i += %lld) {", LL(begin), LL(begin + count * rows),
                 LL(rows));
            line(&t, depth, "const float *u = b + %lld;", LL(first * g->k));
            declare(&t, depth, 'a', rows, vectors);
            if (blocks) declare(&t, depth, 't', rows, vectors);
            line(&t, depth++, "for (long k = 0; k < %lld; k++, u += %lld) {", LL(g->k), LL(width));
            snprintf(text, sizeof text, "k %% %lld == 0", LL(g->kc));
            if (blocks) flush(&t, depth, text, rows, vectors);
            snprintf(number, sizeof number, "x[i * %lld + k * %lld + ", LL(g->a_row), LL(g->a_col));
            add_term(&t, depth, number, g->a_row, rows, vectors, q.lanes, true);
            line(&t, --depth, "}");
            snprintf(out, sizeof out, "y + i * %lld + %lld", LL(g->c_row), LL(first));
            snprintf(text, sizeof text, g->bias == 1 ? "bias + %lld" : "(bias + i)", LL(first));
            finish(&t, depth, blocks, g->bias ? text : NULL, g->bias && g->bias != 1, g->relu, out, g->c_row, rows,
                   vectors, q.lanes, part);
            line(&t, --depth, "}");
        }
    }
    while (depth > 1) line(&t, --depth, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, "product", &t);
    wick_c_argument(p, &s->refs[0], WICK_F32);
    wick_text_add(&p->calls, ", ");
    wick_c_constant_at(p, wick_c_constant(p, WICK_F32, all, g->k * padded(&q)), 0);
    wick_text_add(&p->calls, ", ");
    if (g->bias) {
        wick_c_argument(p, &s->refs[m->bias], WICK_F32);
        wick_text_add(&p->calls, ", ");
    }
    wick_c_argument(p, &s->refs[2], WICK_F32);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}
