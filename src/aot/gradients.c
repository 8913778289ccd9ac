/* gradients.c: kernels of training as loops, beside those of products.c, convolutions.c and kernels.c: gradients of
 * convolutions and of pooling, cross-entropy, and what checks a run. Sums are in the order of the base tier. */
#include <stdio.h>

#include "aot/print.h"
#include "kernels/gemm/gemm_tuning.h"
#include "kernels/window/window.h"

#define line wick_c_line

static void two_arguments(wick_c_printer *p, const wick_step *s, int a, int b, wick_dtype dtype) {
    wick_c_argument(p, &s->refs[a], dtype);
    wick_text_add(&p->calls, ", ");
    wick_c_argument(p, &s->refs[b], dtype);
}

/* total += acc, where a block of a chain ends. */
static void print_flush(wick_text *t, int depth, const char *width) {
    line(t, depth, "for (long j = 0; j < %s; j++) total[j] = total[j] + acc[j], acc[j] = 0;", width);
}

/* ---- a convolution's gradient of its input, by strides ----------------------------------------------------------- */

/* What the parts of a strided convolution's text share: names of types and functions, and how chains are cut. */
typedef struct strided {
    const wick_convolution *c;
    const char *fma, *y, *w, *load_y, *load_w;
    bool merged, blocks, long_runs; /* rows of taps are runs; chains have blocks; runs are longer than these */
} strided;

/* Opens the loops over the taps that an input meets. Returns the depth. */
static int open_taps(wick_text *t, int depth, const strided *s) {
    const wick_convolution *c = s->c;
    for (int d = 0; d < 3; d++) {
        line(t, depth++, "for (long k%d = %lld; k%d >= 0; k%d--) {", d, LL(c->kernel[d] - 1), d, d);
        line(t, depth, "const long t%d = i%d + %lld - k%d * %lld, o%d = t%d / %lld;", d, d, LL(c->pad[d]), d,
             LL(c->dilation[d]), d, d, LL(c->stride[d]));
        if (c->stride[d] > 1) line(t, depth, "if (t%d %% %lld != 0) continue;", d, LL(c->stride[d]));
        if (!s->blocks) line(t, depth, "if (t%d < 0 || o%d >= %lld) continue;", d, d, LL(c->out[d]));
        if (s->blocks && d == (s->merged ? 1 : 2)) {
            line(t, depth, "if (at + run > %d) {", WICK_GEMM_KC);
            print_flush(t, depth + 1, "width");
            line(t, depth + 1, "at = 0;");
            line(t, depth, "}");
            if (!s->long_runs) line(t, depth, "at += run;");
        }
    }
    if (s->blocks)
        line(t, depth, "const int inside = t0 >= 0 && o0 < %lld && t1 >= 0 && o1 < %lld && t2 >= 0 && o2 < %lld;",
             LL(c->out[0]), LL(c->out[1]), LL(c->out[2]));
    if (s->blocks && !s->long_runs) line(t, depth, "if (!inside) continue;");
    return depth;
}

/* A tap's terms, for all channels. */
static void print_terms(wick_text *t, int depth, const strided *s) {
    const wick_convolution *c = s->c;
    const int64_t out = c->out[0] * c->out[1] * c->out[2], from = c->depthwise ? c->groups : c->groups * c->co;
    char place[80];
    snprintf(place, sizeof place, "((k0 * %lld + k1) * %lld + k2)", LL(c->kernel[1]), LL(c->kernel[2]));
    char pixel[128];
    snprintf(pixel, sizeof pixel, "(o0 * %lld + o1) * %lld + o2", LL(c->out[1]), LL(c->out[2]));
    if (c->depthwise) {
        if (c->planes[0])
            line(t, depth, "const %s *v = y + (n * %lld + o) * %lld + %s;", s->y, LL(c->groups), LL(out), pixel);
        else
            line(t, depth, "const %s *v = y + (n * %lld + %s) * %lld + o;", s->y, LL(out), pixel, LL(c->groups));
        line(t, depth, "const %s *u = w + %s * %lld + o;", s->w, place, LL(c->groups));
        line(t, depth, "for (long j = 0; j < width; j++) acc[j] = %s(%s(u[j]), %s(v[j * %lld]), acc[j]);", s->fma,
             s->load_w, s->load_y, LL(c->planes[0] ? out : 1));
    } else {
        char read[160];
        snprintf(read, sizeof read, s->long_runs ? "(inside ? %s : 0)" : "%s", pixel);
        line(t, depth, "const %s *v = y + (n * %lld + %s) * %lld%s;", s->y, LL(out), read, LL(from),
             c->groups > 1 ? " + g * CO" : "");
        line(t, depth, "const %s *u = w + %sPANEL + %s * width * %lld;", s->w, c->groups > 1 ? "g * PER_GROUP + " : "",
             place, LL(c->co));
        line(t, depth++, "for (long c = 0; c < %lld; c++) {", LL(c->co));
        if (s->long_runs) {
            line(t, depth, "if (at == %d) {", WICK_GEMM_KC);
            print_flush(t, depth + 1, "width");
            line(t, depth + 1, "at = 0;");
            line(t, depth, "}");
            line(t, depth, "at++;");
            line(t, depth, "if (inside)");
            depth++;
        }
        line(t, depth, "for (long j = 0; j < width; j++) acc[j] = %s(%s(v[c]), %s(u[c * width + j]), acc[j]);", s->fma,
             s->load_y, s->load_w);
        depth -= s->long_runs;
        line(t, --depth, "}");
    }
}

/* An input meets the taps that its place leaves it, from the last on. Blocks of a chain are those of the kernel: as
 * many rows of taps as fit, where these are neighbours. */
void wick_c_print_strided(wick_text *t, const wick_convolution *c, int64_t lanes, wick_dtype held,
                          wick_dtype from_dtype, wick_dtype into) {
    const char *type = wick_c_type(c->type);
    const int64_t in = c->in[0] * c->in[1] * c->in[2], taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    const int64_t outputs = c->depthwise ? c->groups : c->ci, to = c->depthwise ? c->groups : c->groups * c->ci;
    int64_t every = 1;
    while (every * c->dilation[2] % c->stride[2]) every++;
    const bool merged = c->groups == 1 && every * c->dilation[2] == c->stride[2];
    const bool blocks = !c->depthwise && taps * c->co > WICK_GEMM_KC,
               long_runs = blocks && (merged ? c->kernel[2] : 1) * c->co > WICK_GEMM_KC;
    const strided s = {.c = c,
                       .fma = c->type == WICK_CF32 ? "WICK_FMAF" : "WICK_FMA",
                       .y = wick_c_memory(from_dtype),
                       .w = wick_c_memory(held),
                       .load_y = wick_c_load(from_dtype),
                       .load_w = wick_c_load(held),
                       .merged = merged,
                       .blocks = blocks,
                       .long_runs = long_runs};
    int depth = 1;
    wick_text_add(t, "(const %s *y, const %s *w, %s *x) {\n", s.y, s.w, wick_c_memory(into));
    line(t, depth++, "for (long n = 0; n < %lld; n++) {", LL(c->batch));
    for (int d = 0; d < 3; d++) line(t, depth++, "for (long i%d = 0; i%d < %lld; i%d++) {", d, d, LL(c->in[d]), d);
    if (!c->depthwise && c->groups > 1) line(t, depth++, "for (long g = 0; g < %lld; g++) {", LL(c->groups));
    line(t, depth++, "for (long o = 0; o < %lld; o += %lld) {", LL(outputs), LL(lanes));
    line(t, depth, "const long width = o + %lld <= %lld ? %lld : %lld - o;", LL(lanes), LL(outputs), LL(lanes),
         LL(outputs));
    line(t, depth, "%s acc[%lld] = {0};", type, LL(lanes));
    if (blocks) {
        line(t, depth, "%s total[%lld] = {0};", type, LL(lanes));
        line(t, depth, "long at = 0, run = %lld; /* terms in the block so far; of a piece */", LL(merged ? 0 : c->co));
        if (merged)
            line(t, depth, "for (long k2 = 0; k2 < %lld; k2++) run += (i2 + %lld - k2 * %lld) %% %lld == 0 ? %lld : 0;",
                 LL(c->kernel[2]), LL(c->pad[2]), LL(c->dilation[2]), LL(c->stride[2]), LL(c->co));
    }
    const int chain = depth;
    depth = open_taps(t, depth, &s);
    print_terms(t, depth, &s);
    while (depth > chain) line(t, --depth, "}");
    char sum[80];
    snprintf(sum, sizeof sum, "%s(%s)", wick_c_store(into), blocks ? "total[j] + acc[j]" : "acc[j]");
    if (c->depthwise && c->planes[1])
        line(t, depth,
             "for (long j = 0; j < width; j++) x[(n * %lld + o + j) * %lld + (i0 * %lld + i1) * %lld + i2] = %s;",
             LL(c->groups), LL(in), LL(c->in[1]), LL(c->in[2]), sum);
    else
        line(t, depth,
             "for (long j = 0; j < width; j++) x[(((n * %lld + i0) * %lld + i1) * %lld + i2) * %lld%s + o + j] = %s;",
             LL(c->in[0]), LL(c->in[1]), LL(c->in[2]), LL(to), c->groups > 1 && !c->depthwise ? " + g * CI" : "", sum);
    while (depth > 1) line(t, --depth, "}");
    wick_text_add(t, "}\n");
    char ci[32], co[32], per[32], panel[64];
    snprintf(ci, sizeof ci, "%lld", LL(c->ci)), snprintf(co, sizeof co, "%lld", LL(c->co)),
        snprintf(per, sizeof per, "%lld", LL(c->co * c->ci * taps));
    snprintf(panel, sizeof panel, "o * %lld", LL(taps * c->co));
    const char *const numbers[][2] = {{"PER_GROUP", per}, {"PANEL", panel}, {"CI", ci}, {"CO", co}};
    wick_text done = {0};
    if (t->at) wick_text_replaced(&done, t->at, t->len, numbers, 4);
    done.failed = done.failed || t->failed;
    wick_text_free(t);
    *t = done;
}

/* ---- a convolution's gradient of its weights --------------------------------------------------------------------- */

/* What an output's place reads in dim d, or nothing: padding is passed over. */
static void print_place(wick_text *t, int depth, const wick_convolution *c, int d) {
    line(t, depth, "const long i%d = o%d * %lld + k%d * %lld - %lld;", d, d, LL(c->stride[d]), d, LL(c->dilation[d]),
         LL(c->pad[d]));
}
static bool may_leave(const wick_convolution *c, int d) {
    return c->pad[d] > 0 ||
           (c->out[d] - 1) * c->stride[d] - c->pad[d] + (c->kernel[d] - 1) * c->dilation[d] >= c->in[d];
}

/* One chain for each row of outputs; rows are added up, then images, parts of the batch apart. */
static void print_depthwise_weight(wick_text *t, const wick_convolution *c, const char *type, const char *fma) {
    const int64_t in = c->in[0] * c->in[1] * c->in[2], out = c->out[0] * c->out[1] * c->out[2],
                  images = (c->batch + c->chunks - 1) / c->chunks;
    char x[160], y[160];
    if (c->planes[0])
        snprintf(x, sizeof x, "x[(n * %lld + g) * %lld + (i0 * %lld + i1) * %lld + i2]", LL(c->groups), LL(in),
                 LL(c->in[1]), LL(c->in[2]));
    else
        snprintf(x, sizeof x, "x[(((n * %lld + i0) * %lld + i1) * %lld + i2) * %lld + g]", LL(c->in[0]), LL(c->in[1]),
                 LL(c->in[2]), LL(c->groups));
    if (c->planes[1])
        snprintf(y, sizeof y, "y[(n * %lld + g) * %lld + (o0 * %lld + o1) * %lld + o2]", LL(c->groups), LL(out),
                 LL(c->out[1]), LL(c->out[2]));
    else
        snprintf(y, sizeof y, "y[(((n * %lld + o0) * %lld + o1) * %lld + o2) * %lld + g]", LL(c->out[0]), LL(c->out[1]),
                 LL(c->out[2]), LL(c->groups));
    int depth = 1;
    line(t, depth++, "for (long part = 0; part < %lld; part++) {", LL(c->chunks));
    for (int d = 0; d < 3; d++) line(t, depth++, "for (long k%d = 0; k%d < %lld; k%d++) {", d, d, LL(c->kernel[d]), d);
    line(t, depth++, "for (long g = 0; g < %lld; g++) {", LL(c->groups));
    line(t, depth, "%s total = 0;", type);
    line(t, depth++, "for (long n = part * %lld; n < (part + 1) * %lld && n < %lld; n++) {", LL(images), LL(images),
         LL(c->batch));
    for (int d = 0; d < 3; d++) {
        if (d == 2) line(t, depth, "%s acc = 0;", type);
        line(t, depth++, "for (long o%d = 0; o%d < %lld; o%d++) {", d, d, LL(c->out[d]), d);
        print_place(t, depth, c, d);
        if (may_leave(c, d)) line(t, depth, "if (i%d < 0 || i%d >= %lld) continue;", d, d, LL(c->in[d]));
    }
    line(t, depth, "acc = %s(%s, %s, acc);", fma, x, y);
    line(t, --depth, "}");
    line(t, depth, "total = total + acc;");
    while (depth > 6) line(t, --depth, "}");
    line(t, depth, "*w++ = total;");
    while (depth > 1) line(t, --depth, "}");
}

static void print_weight(wick_text *t, const wick_convolution *c, const char *type, const char *fma, int64_t lanes) {
    const int64_t images = (c->batch + c->chunks - 1) / c->chunks, width = c->out[2];
    int depth = 1;
    line(t, depth++, "for (long part = 0; part < %lld; part++) {", LL(c->chunks));
    line(t, depth++, "for (long g = 0; g < %lld; g++) {", LL(c->groups));
    for (int d = 0; d < 3; d++) line(t, depth++, "for (long k%d = 0; k%d < %lld; k%d++) {", d, d, LL(c->kernel[d]), d);
    line(t, depth++, "for (long c = 0; c < %lld; c++, w += %lld) {", LL(c->ci), LL(c->co));
    for (int rest = 0; rest < 2; rest++) { /* whole panels of outputs, then what is left */
        const int64_t whole = c->co - c->co % lanes, panel = rest ? c->co % lanes : lanes;
        char sums[32];
        if (rest ? !panel : !whole) continue;
        snprintf(sums, sizeof sums, "%lld", LL(panel));
        if (rest)
            line(t, depth++, "for (long o = %lld; o < %lld; o += %lld) {", LL(whole), LL(c->co), LL(panel));
        else
            line(t, depth++, "for (long o = 0; o < %lld; o += %lld) {", LL(whole), LL(panel));
        line(t, depth, "%s acc[%lld] = {0}, total[%lld] = {0};", type, LL(panel), LL(panel));
        line(t, depth++, "for (long n = part * %lld; n < (part + 1) * %lld && n < %lld; n++) {", LL(images), LL(images),
             LL(c->batch));
        for (int d = 0; d < 3; d++) {
            line(t, depth++, "for (long o%d = 0; o%d < %lld; o%d++) {", d, d, LL(c->out[d]), d);
            if (d == 1 && c->cut < 2) { /* a slab begins, or a block of rows in it */
                const int64_t rows = width > WICK_GEMM_KC ? 1 : WICK_GEMM_KC / width;
                if (c->cut == 0)
                    line(t, depth, "if ((o0 %% %lld * %lld + o1) %% %lld == 0)", LL(c->rows), LL(c->out[1]), LL(rows));
                else
                    line(t, depth, "if (o1 %% %lld %% %lld == 0)", LL(c->rows), LL(rows));
                print_flush(t, depth + 1, sums);
            }
            if (d == 2 && (c->cut == 2 ? c->slabs > 1 : width > WICK_GEMM_KC)) {
                line(t, depth, "if (o2 %% %lld == 0)",
                     LL(c->cut == 2 ? WICK_MIN(c->rows, WICK_GEMM_KC) : WICK_GEMM_KC));
                print_flush(t, depth + 1, sums);
            }
            print_place(t, depth, c, d);
        }
        for (int d = 0; d < 3; d++)
            if (may_leave(c, d)) line(t, depth, "if (i%d < 0 || i%d >= %lld) continue;", d, d, LL(c->in[d]));
        line(t, depth, "const %s v = x[(((n * %lld + i0) * %lld + i1) * %lld + i2) * %lld + g * %lld + c];", type,
             LL(c->in[0]), LL(c->in[1]), LL(c->in[2]), LL(c->groups * c->ci), LL(c->ci));
        line(t, depth, "const %s *u = y + (((n * %lld + o0) * %lld + o1) * %lld + o2) * %lld + g * %lld + o;", type,
             LL(c->out[0]), LL(c->out[1]), LL(c->out[2]), LL(c->groups * c->co), LL(c->co));
        line(t, depth, "KEEP for (long j = 0; j < %lld; j++) acc[j] = %s(v, u[j], acc[j]);", LL(panel), fma);
        for (int d = 0; d < 3; d++) line(t, --depth, "}");
        print_flush(t, depth, sums);
        line(t, --depth, "}");
        line(t, depth, "for (long j = 0; j < %lld; j++) w[o + j] = total[j];", LL(panel));
        line(t, --depth, "}");
    }
    while (depth > 1) line(t, --depth, "}");
}

wick_status wick_c_print_conv_weight(wick_c_printer *p, const wick_step *s) {
    const wick_step_conv *m = s->args;
    const wick_convolution *c = &m->conv;
    const char *type = wick_c_type(c->type), *fma = c->type == WICK_CF32 ? "WICK_FMAF" : "WICK_FMA";
    const wick_dtype dtype = c->type == WICK_CF32 ? WICK_F32 : WICK_F64;
    wick_text t = {0};
    wick_text_add(&t, "(const %s *x, const %s *y, %s *w) {\n", type, type, type);
    if (c->depthwise)
        print_depthwise_weight(&t, c, type, fma);
    else
        print_weight(&t, c, type, fma, WICK_MIN(p->m->lanes, c->co));
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, "conv_weight", &t);
    two_arguments(p, s, m->at[WICK_STEP_CONV_A] - 1, m->at[WICK_STEP_CONV_B] - 1, dtype);
    wick_text_add(&p->calls, ", ");
    wick_c_argument(p, &s->refs[m->at[WICK_STEP_CONV_SHARED] - 1], dtype);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}

/* Parts [part][group][tap][ci][co], depthwise [part][tap][group], become [group][co][ci][tap]. */
wick_status wick_c_print_conv_sum(wick_c_printer *p, const wick_step *s) {
    const wick_step_conv *m = s->args;
    const wick_convolution *c = &m->conv;
    const char *type = wick_c_type(c->type);
    const wick_dtype dtype = c->type == WICK_CF32 ? WICK_F32 : WICK_F64;
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2], groups = c->depthwise ? 1 : c->groups,
                  co = c->depthwise ? c->groups : c->co, ci = c->ci, all = c->groups * c->co * ci * taps;
    wick_text t = {0};
    if (!m->at[WICK_STEP_CONV_SHARED]) return wick_c_refuse(p, s, "a gradient of weights of no images is not written");
    wick_text_add(&t, "(const %s *parts, %s *w) {\n", type, type);
    line(&t, 1, "for (long g = 0; g < %lld; g++)", LL(groups));
    line(&t, 2, "for (long o = 0; o < %lld; o++)", LL(co));
    line(&t, 3, "for (long c = 0; c < %lld; c++)", LL(ci));
    line(&t, 4, "for (long t = 0; t < %lld; t++) {", LL(taps));
    line(&t, 5, "%s sum = 0;", type);
    line(&t, 5,
         "for (long part = 0; part < %lld; part++) sum = sum + parts[part * %lld + ((g * %lld + t) * %lld + c) * %lld "
         "+ o];",
         LL(c->chunks), LL(all), LL(taps), LL(ci), LL(co));
    line(&t, 5, "*w++ = sum;");
    line(&t, 4, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, "conv_sum", &t);
    two_arguments(p, s, m->at[WICK_STEP_CONV_SHARED] - 1, m->at[WICK_STEP_CONV_DST] - 1, dtype);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}

/* ---- gradients of pooling ---------------------------------------------------------------------------------------- */

/* Of max pooling: what comes to a window goes to its largest, the first of several, NaN being the largest. Of the mean:
 * it is shared. */
wick_status wick_c_print_pool_gradient(wick_c_printer *p, const wick_step *s) {
    const wick_step_pool *m = s->args;
    const wick_windows *w = &m->windows;
    const bool max = s->kind == WICK_STEP_MAX_POOL_PUT;
    const wick_dtype dtype = w->type == WICK_CF32 ? WICK_F32 : WICK_F64;
    const char *type = wick_c_type(w->type), axis[] = "zyx";
    const int64_t channels = WICK_MAX(w->channels, 1), in = w->in[0] * w->in[1] * w->in[2];
    wick_text t = {0};
    int depth = 1;
    wick_text_add(&t, max ? "(const %s *x, const %s *y, %s *v) {\n" : "(const %s *y, %.0s%s *v) {\n", type, type, type);
    line(&t, depth, "for (long i = 0; i < %lld; i++) v[i] = 0;", LL(m->planes * in * channels));
    int64_t steps[3];
    depth = wick_c_windows(&t, depth, m, max, steps);
    line(&t, depth, "const %s from = y[(((n * %lld + oz) * %lld + oy) * %lld + ox) * %lld + c];", type, LL(w->out[0]),
         LL(w->out[1]), LL(w->out[2]), LL(channels));
    if (max)
        line(&t, depth, "long largest = -1;");
    else
        line(&t, depth, "const %s part = n_all > 0 ? from / (%s)n_all : 0;", type, type);
    for (int d = 0; d < 3; d++)
        line(&t, depth++, "for (long i%c = %c0; i%c < %c1; i%c += %lld) {", axis[d], axis[d], axis[d], axis[d], axis[d],
             LL(steps[d]));
    line(&t, depth, "const long at = (((n * %lld + iz) * %lld + iy) * %lld + ix) * %lld + c;", LL(w->in[0]),
         LL(w->in[1]), LL(w->in[2]), LL(channels));
    line(&t, depth,
         max ? "if (largest < 0 || x[at] > x[largest] || x[at] != x[at]) largest = at;" : "v[at] = v[at] + part;");
    for (int d = 0; d < 3; d++) line(&t, --depth, "}");
    if (max)
        line(&t, depth,
             wick_windows_put_copies(w) ? "if (largest >= 0) v[largest] = from;"
                                        : "if (largest >= 0) v[largest] = v[largest] + from;");
    while (depth > 1) line(&t, --depth, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, max ? "max_pool_put" : "mean_pool_share", &t);
    two_arguments(p, s, 0, 1, dtype);
    if (max) wick_text_add(&p->calls, ", "), wick_c_argument(p, &s->refs[2], dtype);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}

/* ---- losses, and checks ------------------------------------------------------------------------------------------ */

/* Sums of a row as in softmax: short rows in order, long ones in chunks of 1,024 of 16 lanes. */
enum { LOSS_SHORT = 32, LOSS_CHUNK = 1024 };
/* What weights and smoothing make of losses[r]: sums in double, in eight lanes that are added in order
 * (kernels/rows/nll_targets_body.h). */
static void print_targets(wick_text *t, const wick_step_cross_entropy *m, const char *type) {
    wick_text own = {0}, share = {0};
    wick_c_number(&own, WICK_CF64, 1 - m->smoothing);
    wick_c_number(&share, WICK_CF64, m->smoothing / (double)m->cols);
    wick_text_add(t, "        const double own = %s%s;\n", own.at ? own.at : "0",
                  m->weighted ? " * (double)weight[labels[r]]" : "");
    if (m->smoothing == 0) {
        line(t, 2, "losses[r] = (%s)(own * (double)losses[r]);", type);
    } else {
        line(t, 2, "double lanes[8] = {0}, difference = 0;");
        line(t, 2, "for (long c = 0; c < %lld; c++) lanes[c %% 8] += ((double)x[labels[r]] - (double)x[c])%s;",
             LL(m->cols), m->weighted ? " * (double)weight[c]" : "");
        line(t, 2, "for (long l = 0; l < 8; l++) difference += lanes[l];");
        wick_text_add(t, "        losses[r] = (%s)((own + %s * total) * (double)losses[r] + %s * difference);\n", type,
                      share.at ? share.at : "0", share.at ? share.at : "0");
    }
    t->failed = t->failed || own.failed || share.failed;
    wick_text_free(&own);
    wick_text_free(&share);
}

wick_status wick_c_print_cross_entropy(wick_c_printer *p, const wick_step *s) {
    const wick_step_cross_entropy *m = s->args;
    const wick_dtype dtype = m->type == WICK_CF32 ? WICK_F32 : WICK_F64;
    const char *type = wick_c_type(m->type), *suffix = wick_c_suffix(m->type);
    const int lanes = WICK_MAX(16, (p->m->isa == WICK_C_AVX512 ? 256
                                    : p->m->isa == WICK_C_AVX2 ? 128
                                                               : 0) /
                                       (int)wick_ctype_size(m->type));
    wick_text t = {0};
    wick_text_add(&t, "(const %s *x, const int64_t *labels, ", type);
    if (m->weighted) wick_text_add(&t, "const %s *weight, ", type);
    wick_text_add(&t, "%s *losses, %s *y) {\n", type, type);
    if (m->smoothing != 0) line(&t, 1, "double total = %lld;", LL(m->weighted ? 0 : m->cols));
    if (m->smoothing != 0 && m->weighted)
        line(&t, 1, "for (long c = 0; c < %lld; c++) total += (double)weight[c];", LL(m->cols));
    line(&t, 1, "for (long r = 0; r < %lld; r++, x += %lld, y += %lld) {", LL(m->rows), LL(m->cols), LL(m->cols));
    if (m->ignores) {
        line(&t, 2, "if (labels[r] == %lld) {", LL(m->ignored));
        line(&t, 3, "losses[r] = 0;");
        line(&t, 3, "memset(y, 0, %lld);", LL(m->cols * (int64_t)wick_ctype_size(m->type)));
        line(&t, 3, "continue;");
        line(&t, 2, "}");
    }
    line(&t, 2, "if (labels[r] < 0 || labels[r] >= %lld) return 1;", LL(m->cols));
    line(&t, 2, "%s most = -INFINITY;", type);
    line(&t, 2, "for (long c = 0; c < %lld; c++) most = x[c] > most ? x[c] : most;", LL(m->cols));
    if (m->cols <= LOSS_SHORT) {
        line(&t, 2, "%s sum = 0;", type);
        line(&t, 2, "for (long c = 0; c < %lld; c++) {", LL(m->cols));
        line(&t, 3, "y[c] = wick_weight_exp_%s(x[c] - most);", suffix);
        line(&t, 3, "sum = sum + y[c];");
        line(&t, 2, "}");
    } else {
        line(&t, 2, "double whole = 0;");
        line(&t, 2, "for (long c0 = 0; c0 < %lld; c0 += %d) {", LL(m->cols), LOSS_CHUNK);
        line(&t, 3, "%s lane[%d] = {0};", type, lanes);
        line(&t, 3, "for (long c = c0; c < %lld && c < c0 + %d; c++) {", LL(m->cols), LOSS_CHUNK);
        line(&t, 4, "y[c] = wick_weight_exp_%s(x[c] - most);", suffix);
        line(&t, 4, "lane[c %% %d] = lane[c %% %d] + y[c];", lanes, lanes);
        line(&t, 3, "}");
        line(&t, 3, "for (long h = %d; h > 0; h /= 2)", lanes / 2);
        line(&t, 4, "for (long l = 0; l < h; l++) lane[l] = lane[l] + lane[l + h];");
        line(&t, 3, "whole = whole + (double)lane[0];");
        line(&t, 2, "}");
        line(&t, 2, "const %s sum = (%s)whole;", type, type);
    }
    line(&t, 2, "losses[r] = wick_log_%s(sum) - (x[labels[r]] - most);", suffix);
    if (m->weighted || m->smoothing != 0) print_targets(&t, m, type);
    if (m->cols <= LOSS_SHORT)
        line(&t, 2, "const %s scale = 1 / sum;", type);
    else
        line(&t, 2, "const %s scale = (%s)(1 / whole);", type, type);
    line(&t, 2, "for (long c = 0; c < %lld; c++) y[c] = y[c] * scale;", LL(m->cols));
    line(&t, 1, "}");
    line(&t, 1, "return 0;");
    wick_text_add(&t, "}\n");
    wick_c_checking_kernel(p, "cross_entropy", &t, WICK_C_LABEL);
    wick_c_argument(p, &s->refs[0], dtype);
    wick_text_add(&p->calls, ", ");
    wick_c_argument(p, &s->refs[1], WICK_I64);
    wick_text_add(&p->calls, ", ");
    if (m->weighted) {
        wick_c_argument(p, &s->refs[2], dtype);
        wick_text_add(&p->calls, ", ");
    }
    two_arguments(p, s, 2 + m->weighted, 3 + m->weighted, dtype);
    wick_text_add(&p->calls, ")) return 2;\n");
    return WICK_OK;
}

wick_status wick_c_print_one_hot(wick_c_printer *p, const wick_step *s) {
    const wick_step_one_hot *m = s->args;
    const wick_dtype dtype = (wick_dtype)s->node->out[0].type.dtype;
    const char *type = wick_c_memory(dtype);
    if (!type) return wick_c_refuse(p, s, "its elements are not written as C yet");
    wick_text t = {0};
    wick_text_add(&t, "(const int64_t *at, %s *y) {\n", type);
    line(&t, 1, "for (long i = 0; i < %lld; i++)", LL(m->count));
    if (*wick_c_store(dtype))
        line(&t, 2, "for (long c = 0; c < %lld; c++) *y++ = %s(at[i] == c ? 1.0f : 0.0f);", LL(m->classes),
             wick_c_store(dtype));
    else
        line(&t, 2, "for (long c = 0; c < %lld; c++) *y++ = at[i] == c;", LL(m->classes));
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, "one_hot", &t);
    wick_c_argument(p, &s->refs[0], WICK_I64);
    wick_text_add(&p->calls, ", ");
    wick_c_argument(p, &s->refs[1], dtype);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}

wick_status wick_c_print_check(wick_c_printer *p, const wick_step *s) {
    const wick_step_check *m = s->args;
    const char *type = m->is_f64 ? "double" : "float";
    wick_text t = {0};
    wick_text_add(&t, "(const %s *x) {\n", type);
    line(&t, 1, "for (long i = 0; i < %lld; i++)", LL(m->count));
    line(&t, 2, "if (!(x[i] - x[i] == 0)) return 1;");
    line(&t, 1, "return 0;");
    wick_text_add(&t, "}\n");
    wick_c_checking_kernel(p, "check", &t, WICK_C_NUMBER);
    wick_c_argument(p, &s->refs[0], m->is_f64 ? WICK_F64 : WICK_F32);
    wick_text_add(&p->calls, ")) return 3;\n");
    return WICK_OK;
}
