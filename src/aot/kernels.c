/* kernels.c: copies, programs, pooling, softmax, norms and concatenation as loops. Each prints the sums of the base
 * tier: which terms make a chain, in which order, and where a chain is cut (lanes in softmax); docs/numerics.md says it
 * in words. */
#include <math.h>
#include <stdio.h>

#include "aot/print.h"
#include "kernels/window/window.h"

#define line wick_c_line

/* ---- copies and programs ----------------------------------------------------------------------------------------- */

static wick_status print_fused(wick_c_printer *p, const wick_step *s, const wick_fused *f, const char *kind) {
    wick_text whole = (wick_text){0}, body = (wick_text){0};
    const char *why = NULL;
    const bool good = wick_c_program(&whole, f, "", &p->uses, &why);
    if (!good && !whole.failed) {
        char text[96];
        snprintf(text, sizeof text, "elements of %s are not written yet", why);
        wick_text_free(&whole);
        return wick_c_refuse(p, s, text);
    }
    if (good) wick_text_bytes(&body, whole.at + strlen("static void "), whole.len - strlen("static void "));
    body.failed = body.failed || whole.failed;
    wick_text_free(&whole);
    wick_c_kernel(p, kind, &body);
    for (int i = 0; i < f->n_in + f->n_out; i++) {
        if (i) wick_text_add(&p->calls, ", ");
        wick_c_argument(p, &s->refs[i], (wick_dtype)(i < f->n_in ? f->in[i].dtype : f->out[i - f->n_in].dtype));
    }
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}

wick_status wick_c_print_program(wick_c_printer *p, const wick_step *s) {
    const wick_fused *f = s->args;
    return print_fused(p, s, f, f->reduces ? "reduce" : "map");
}

/* A copy is a program of no instruction, or of a cast. */
wick_status wick_c_print_copy(wick_c_printer *p, const wick_step *s) {
    const wick_copy *c = s->args;
    const wick_ctype from = wick_ctype_of(c->src), to = wick_ctype_of(c->dst);
    wick_fused f;
    memset(&f, 0, sizeof f);
    f.rank = c->rank;
    f.n_in = f.n_out = f.n_reg = 1;
    f.scale = 1;
    const bool halves = c->src == c->dst && *wick_c_load(c->src); /* whose bits are moved */
    f.in[0].dtype = (uint8_t)(halves ? WICK_U16 : c->src);
    f.out[0].dtype = (uint8_t)(halves ? WICK_U16 : c->dst);
    for (int d = 0; d < c->rank; d++) {
        f.dims[d] = c->dims[d];
        f.in[0].strides[d] = c->src_strides[d];
        f.out[0].strides[d] = c->dst_strides[d];
    }
    if (from != to) {
        f.instr[0] = (wick_fused_instr){.op = WICK_FUSED_CAST, .type = (uint8_t)from, .to = (uint8_t)to, .dst = 1};
        f.n_instr = 1;
        f.n_reg = 2;
        f.out[0].reg = 1;
    }
    wick_fused_prepare(&f, NULL);
    return print_fused(p, s, &f, "copy");
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

int wick_c_windows(wick_text *t, int depth, const wick_step_pool *m, bool max, int64_t *steps) {
    const wick_windows *w = &m->windows;
    const char axis[] = "zyx";
    line(t, depth++, "for (long n = 0; n < %lld; n++) {", LL(m->planes));
    for (int d = 0; d < 3; d++) {
        const char a = axis[d];
        line(t, depth++, "for (long o%c = 0; o%c < %lld; o%c++) {", a, a, LL(w->out[d]), a);
        if (w->adaptive) {
            line(t, depth, "const long %c0 = o%c * %lld / %lld, %c1 = ((o%c + 1) * %lld + %lld) / %lld;", a, a,
                 LL(w->in[d]), LL(w->out[d]), a, a, LL(w->in[d]), LL(w->out[d] - 1), LL(w->out[d]));
            continue;
        }
        line(t, depth, "long %c0 = o%c * %lld - %lld, %c1 = %c0 + %lld;", a, a, LL(w->stride[d]), LL(w->pad[d]), a, a,
             LL((w->kernel[d] - 1) * w->dilation[d] + 1));
        if (!max && !w->inside)
            line(t, depth, "const long n%c = (%c1 < %lld ? %c1 : %lld) - %c0; /* with the padding */", a, a,
                 LL(w->in[d] + w->pad_end[d]), a, LL(w->in[d] + w->pad_end[d]), a);
        if (w->pad[d]) line(t, depth, "while (%c0 < 0) %c0 += %lld;", a, a, LL(w->dilation[d]));
        line(t, depth, "if (%c1 > %lld) %c1 = %lld;", a, LL(w->in[d]), a, LL(w->in[d]));
    }
    for (int d = 0; d < 3; d++) steps[d] = w->adaptive ? 1 : w->dilation[d];
    if (!max && (w->adaptive || w->inside))
        line(t, depth,
             "const long nz = z1 > z0 ? z1 - z0 : 0, ny = y1 > y0 ? y1 - y0 : 0, nx = x1 > x0 ? x1 - x0 : 0;");
    if (!max) line(t, depth, "const long n_all = nz * ny * nx;");
    line(t, depth++, "for (long c = 0; c < %lld; c++) {", LL(WICK_MAX(w->channels, 1)));
    return depth;
}

/* The rows of a window are joined column by column, then its columns. */
wick_status wick_c_print_pool(wick_c_printer *p, const wick_step *s) {
    const wick_step_pool *m = s->args;
    const wick_windows *w = &m->windows;
    const bool max = s->kind == WICK_STEP_MAX_POOL;
    const wick_dtype dtype = w->type == WICK_CF32 ? WICK_F32 : WICK_F64, from = p->f->buffers[s->refs[0].buffer].halves,
                     into = p->f->buffers[s->refs[1].buffer].halves;
    const char *type = wick_c_type(w->type), *load = wick_c_load(from), *store = wick_c_store(into);
    const int64_t channels = WICK_MAX(w->channels, 1);
    wick_text t = (wick_text){0};
    int depth = 1;
    wick_text_add(&t, "(const %s *x, %s *y) {\n", wick_c_memory(from ? from : dtype),
                  wick_c_memory(into ? into : dtype));
    int64_t steps[3];
    depth = wick_c_windows(&t, depth, m, max, steps);
    line(&t, depth, "%s all = %s;", type, max ? "-INFINITY" : "0");
    line(&t, depth, "int any = 0;");
    line(&t, depth++, "for (long ix = x0; ix < x1; ix += %lld) {", LL(steps[2]));
    line(&t, depth, "%s column = 0;", type);
    line(&t, depth, "int rows = 0;");
    line(&t, depth, "for (long iz = z0; iz < z1; iz += %lld)", LL(steps[0]));
    line(&t, depth + 1, "for (long iy = y0; iy < y1; iy += %lld) {", LL(steps[1]));
    line(&t, depth + 2, "const %s v = %s(x[(((n * %lld + iz) * %lld + iy) * %lld + ix) * %lld + c]);", type, load,
         LL(w->in[0]), LL(w->in[1]), LL(w->in[2]), LL(channels));
    line(&t, depth + 2,
         max ? "column = !rows || v > column || v != v ? v : column;" : "column = rows ? column + v : v;");
    line(&t, depth + 2, "rows = 1;");
    line(&t, depth + 1, "}");
    line(&t, depth, "if (!rows) break;");
    line(&t, depth,
         max ? "all = !any || column > all || column != column ? column : all;" : "all = any ? all + column : column;");
    line(&t, depth, "any = 1;");
    line(&t, --depth, "}");
    if (max)
        line(&t, depth, "y[(((n * %lld + oz) * %lld + oy) * %lld + ox) * %lld + c] = %s(all);", LL(w->out[0]),
             LL(w->out[1]), LL(w->out[2]), LL(channels), store);
    else
        line(&t, depth,
             "y[(((n * %lld + oz) * %lld + oy) * %lld + ox) * %lld + c] = %s(n_all > 0 ? all / (%s)n_all : 0);",
             LL(w->out[0]), LL(w->out[1]), LL(w->out[2]), LL(channels), store, type);
    while (depth > 1) line(&t, --depth, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, max ? "max_pool" : "mean_pool", &t);
    wick_c_argument(p, &s->refs[0], from ? from : dtype);
    wick_text_add(&p->calls, ", ");
    wick_c_argument(p, &s->refs[1], into ? into : dtype);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}

/* ---- softmax ----------------------------------------------------------------------------------------------------- */

/* Rows are summed in chunks of 1,024, 16 lanes each folded by halves, and chunks in double; in softmax rows of up to 32
 * columns in order. */
enum { SOFTMAX_SHORT = 32, SOFTMAX_CHUNK = 1024, SOFTMAX_LANES = 16 };
/* On the tiers: four vectors, but never fewer than 16. */
static int row_lanes(wick_c_isa isa, wick_ctype type) {
    return WICK_MAX(SOFTMAX_LANES, (isa == WICK_C_AVX512 ? 256
                                    : isa == WICK_C_AVX2 ? 128
                                                         : 0) /
                                       (int)wick_ctype_size(type));
}
wick_status wick_c_print_softmax(wick_c_printer *p, const wick_step *s) {
    const wick_step_softmax *m = s->args;
    const wick_dtype dtype = m->type == WICK_CF32 ? WICK_F32 : WICK_F64;
    const char *type = wick_c_type(m->type), *t_name = wick_c_suffix(m->type);
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(const %s *x, %s *y) {\n", type, type);
    line(&t, 1, "for (long r = 0; r < %lld; r++, x += %lld, y += %lld) {", LL(m->rows), LL(m->cols), LL(m->cols));
    line(&t, 2, "%s most = -INFINITY;", type);
    line(&t, 2, "for (long c = 0; c < %lld; c++) most = x[c] > most ? x[c] : most;", LL(m->cols));
    const int lanes = row_lanes(p->m->isa, m->type);
    if (m->cols <= SOFTMAX_SHORT) {
        line(&t, 2, "%s sum = 0;", type);
        line(&t, 2, "for (long c = 0; c < %lld; c++) {", LL(m->cols));
        line(&t, 3, "const %s e = wick_weight_exp_%s(x[c] - most);", type, t_name);
        line(&t, 3, "sum = sum + e;");
        if (!m->log) line(&t, 3, "y[c] = e;");
        line(&t, 2, "}");
        line(&t, 2, m->log ? "const %s end = wick_log_%s(sum);" : "const %s end = 1 / sum;", type, t_name);
    } else {
        line(&t, 2, "double sum = 0;");
        line(&t, 2, "for (long c0 = 0; c0 < %lld; c0 += %d) {", LL(m->cols), SOFTMAX_CHUNK);
        line(&t, 3, "%s lane[%d] = {0};", type, lanes);
        line(&t, 3, "for (long c = c0; c < %lld && c < c0 + %d; c++) {", LL(m->cols), SOFTMAX_CHUNK);
        line(&t, 4, "const %s e = wick_weight_exp_%s(x[c] - most);", type, t_name);
        line(&t, 4, "lane[c %% %d] = lane[c %% %d] + e;", lanes, lanes);
        if (!m->log) line(&t, 4, "y[c] = e;");
        line(&t, 3, "}");
        line(&t, 3, "for (long h = %d; h > 0; h /= 2)", lanes / 2);
        line(&t, 4, "for (long l = 0; l < h; l++) lane[l] = lane[l] + lane[l + h];");
        line(&t, 3, "sum = sum + (double)lane[0];");
        line(&t, 2, "}");
        if (m->log)
            line(&t, 2, "const %s end = wick_log_%s((%s)sum);", type, t_name, type);
        else
            line(&t, 2, "const %s end = (%s)(1 / sum);", type, type);
    }
    line(&t, 2,
         m->log ? "for (long c = 0; c < %lld; c++) y[c] = x[c] - most - end;"
                : "for (long c = 0; c < %lld; c++) y[c] = y[c] * end;",
         LL(m->cols));
    line(&t, 1, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, m->log ? "log_softmax" : "softmax", &t);
    wick_c_argument(p, &s->refs[0], dtype);
    wick_text_add(&p->calls, ", ");
    wick_c_argument(p, &s->refs[1], dtype);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}

/* ---- products of integers ---------------------------------------------------------------------------------------- */

/* A panel of columns [first, first + width). */
static void print_integers(wick_text *t, int depth, const wick_step_integers *m, const char *type, const char *sum,
                           int64_t width, const char *first) {
    line(t, depth, "%s acc[%lld] = {0};", sum, LL(width));
    line(t, depth, "for (long k = 0; k < %lld; k++) {", LL(m->k));
    line(t, depth + 1, "const %s x = (%s)from[i * %lld + k * %lld];", sum, sum, LL(m->a_row), LL(m->a_col));
    line(t, depth + 1, "KEEP for (long j = 0; j < %lld; j++) acc[j] += x * (%s)row[k * %lld + %s + j];", LL(width), sum,
         LL(m->n), first);
    line(t, depth, "}");
    line(t, depth, "for (long j = 0; j < %lld; j++) c[%s + j] = (%s)acc[j];", LL(width), first, type);
}

wick_status wick_c_print_integers(wick_c_printer *p, const wick_step *s) {
    const wick_step_integers *m = s->args;
    const wick_dtype dtype = (wick_dtype)s->node->out[0].type.dtype;
    const char *type = wick_c_memory(dtype), *sum = wick_dtype_size(dtype) == 8 ? "uint64_t" : "uint32_t";
    const int64_t elem = (int64_t)wick_dtype_size(dtype), lanes = WICK_MIN(p->m->lanes, WICK_MAX(m->n, 1)),
                  whole = m->n - m->n % lanes;
    wick_text t = (wick_text){0}, a = (wick_text){0}, b = (wick_text){0};
    int depth = 1;
    wick_text_add(&t, "(const %s *a, const %s *b, %s *c) {\n", type, type, type);
    for (int d = 0; d < m->at.batch_rank; d++) {
        line(&t, depth++, "for (long n%d = 0; n%d < %lld; n%d++)", d, d, LL(m->at.batch[d]), d);
        wick_text_add(&a, " + n%d * %lld", d, LL(m->at.a[d] / elem));
        wick_text_add(&b, " + n%d * %lld", d, LL(m->at.b[d] / elem));
    }
    line(&t, depth++, "for (long i = 0; i < %lld; i++, c += %lld) {", LL(m->m), LL(m->n));
    wick_text_add(&t, "%*sconst %s *from = a%s, *row = b%s;\n", 4 * depth, "", type, a.at ? a.at : "",
                  b.at ? b.at : "");
    if (whole) {
        line(&t, depth, "for (long j0 = 0; j0 < %lld; j0 += %lld) {", LL(whole), LL(lanes));
        print_integers(&t, depth + 1, m, type, sum, lanes, "j0");
        line(&t, depth, "}");
    }
    if (whole < m->n) {
        char first[32];
        snprintf(first, sizeof first, "%lld", LL(whole));
        line(&t, depth, "{");
        print_integers(&t, depth + 1, m, type, sum, m->n - whole, first);
        line(&t, depth, "}");
    }
    line(&t, depth - 1, "}");
    wick_text_add(&t, "}\n");
    t.failed = t.failed || a.failed || b.failed;
    wick_text_free(&a);
    wick_text_free(&b);
    wick_c_kernel(p, "integers", &t);
    for (int i = 0; i < 3; i++) {
        if (i) wick_text_add(&p->calls, ", ");
        wick_c_argument(p, &s->refs[i], dtype);
    }
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}

/* ---- layer norm, and concatenation ------------------------------------------------------------------------------- */

/* double NAME: the sum over a row of what `term` makes of x[c]. */
static void print_row_sum(wick_text *t, int depth, int lanes, const char *type, const char *name, int64_t cols,
                          const char *term) {
    line(t, depth, "double %s = 0;", name);
    line(t, depth, "for (long c0 = 0; c0 < %lld; c0 += %d) {", LL(cols), SOFTMAX_CHUNK);
    line(t, depth + 1, "%s lane[%d] = {0};", type, lanes);
    line(t, depth + 1, "for (long c = c0; c < %lld && c < c0 + %d; c++) lane[c %% %d] = lane[c %% %d] + %s;", LL(cols),
         SOFTMAX_CHUNK, lanes, lanes, term);
    line(t, depth + 1, "for (long h = %d; h > 0; h /= 2)", lanes / 2);
    line(t, depth + 2, "for (long l = 0; l < h; l++) lane[l] = lane[l] + lane[l + h];");
    line(t, depth + 1, "%s = %s + (double)lane[0];", name, name);
    line(t, depth, "}");
}

wick_status wick_c_print_layer_norm(wick_c_printer *p, const wick_step *s) {
    const wick_step_layer_norm *m = s->args;
    const wick_dtype dtype = m->type == WICK_CF32 ? WICK_F32 : WICK_F64;
    const char *type = wick_c_type(m->type);
    const int refs = m->n_in + 2 + m->centred, lanes = row_lanes(p->m->isa, m->type);
    wick_text t = (wick_text){0}, eps = (wick_text){0};
    wick_c_number(&eps, WICK_CF64, m->eps);
    wick_text_add(&t, "(const %s *x, ", type);
    if (m->n_in > 1) wick_text_add(&t, "const %s *weight, ", type);
    if (m->n_in > 2) wick_text_add(&t, "const %s *bias, ", type);
    wick_text_add(&t, "%s *y, ", type);
    if (m->centred) wick_text_add(&t, "%s *means, ", type);
    wick_text_add(&t, "%s *rstds) {\n", type);
    line(&t, 1, "for (long r = 0; r < %lld; r++, x += %lld, y += %lld) {", LL(m->rows), LL(m->cols), LL(m->cols));
    if (m->centred) {
        print_row_sum(&t, 2, lanes, type, "sum", m->cols, "x[c]");
        line(&t, 2, "const %s mean = (%s)(sum / %lld);", type, type, LL(m->cols));
        line(&t, 2, "means[r] = mean;");
    }
    print_row_sum(&t, 2, lanes, type, "squares", m->cols, m->centred ? "(x[c] - mean) * (x[c] - mean)" : "x[c] * x[c]");
    line(&t, 2, "const %s rstd = (%s)(1 / sqrt(squares / %lld + %s));", type, type, LL(m->cols), eps.at ? eps.at : "0");
    line(&t, 2, "rstds[r] = rstd;");
    line(&t, 2, "for (long c = 0; c < %lld; c++) {", LL(m->cols));
    line(&t, 3, m->centred ? "%s v = (x[c] - mean) * rstd;" : "%s v = x[c] * rstd;", type);
    if (m->n_in > 1) line(&t, 3, "v = v * weight[c];");
    if (m->n_in > 2) line(&t, 3, "v = v + bias[c];");
    line(&t, 3, "y[c] = v;");
    line(&t, 2, "}");
    line(&t, 1, "}");
    wick_text_add(&t, "}\n");
    t.failed = t.failed || eps.failed;
    wick_text_free(&eps);
    wick_c_kernel(p, m->centred ? "layer_norm" : "rms_norm", &t);
    for (int i = 0; i < refs; i++) {
        if (i) wick_text_add(&p->calls, ", ");
        wick_c_argument(p, &s->refs[i], dtype);
    }
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}

wick_status wick_c_print_join(wick_c_printer *p, const wick_step *s) {
    const wick_join *m = &((const wick_step_join *)s->args)->join;
    const wick_dtype dtype = (wick_dtype)s->node->out[0].type.dtype;
    const char *type = wick_c_memory(dtype);
    const int64_t elem = (int64_t)wick_dtype_size(dtype);
    if (!type) return wick_c_refuse(p, s, "its elements are not written as C yet");
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(");
    for (int k = 0; k < m->n; k++) wick_text_add(&t, "const %s *x%d, ", type, k);
    wick_text_add(&t, "%s *y) {\n", type);
    line(&t, 1, "for (long r = 0; r < %lld; r++) {", LL(m->rows));
    if (m->block)
        line(&t, 2, "if (r && r %% %lld == 0) y += %lld;", LL(m->block),
             LL((m->block_step - m->block * m->width) / elem));
    for (int k = 0; k < m->n; k++) {
        line(&t, 2, "memcpy(y, x%d + r * %lld, %lld);", k, LL(m->step[k] / elem), LL(m->bytes[k]));
        line(&t, 2, "y += %lld;", LL(m->bytes[k] / elem));
    }
    line(&t, 1, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, "join", &t);
    for (int k = 0; k <= m->n; k++) {
        if (k) wick_text_add(&p->calls, ", ");
        wick_c_argument(p, &s->refs[k], dtype);
    }
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}
