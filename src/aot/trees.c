/* trees.c: ensembles of decision trees as a walk over their tables, a row at a time. Tables that are known are looked
 * at when the code is written; of any other each step of the walk is. */
#include <stdio.h>

#include "aot/print.h"
#include "kernels/trees/trees.h"

#define line wick_c_line

enum { X, NODES, SPLITS, ROOTS, TARGETS, WEIGHTS, RESULT };

static bool has_extremes(const wick_forest *f) { return f->how == WICK_FOREST_MIN || f->how == WICK_FOREST_MAX; }

/* A sum for each target; for extremes whether there was one, too. */
size_t wick_c_trees_scratch(const wick_step *s, const wick_c_buffer *buffers, bool pairs) {
    (void)pairs;
    (void)buffers;
    const wick_forest *f = s->args;
    return WICK_ALIGN_UP((size_t)((has_extremes(f) ? 2 : 1) * f->targets + 1) * sizeof(double), 16);
}

/* Whether no walk leaves the tables. how: the one test that all nodes make, or -1. */
static bool stays_inside(wick_c_printer *p, const wick_step *s, int32_t *how) {
    const wick_forest *f = s->args;
    for (int k = NODES; k <= TARGETS; k++)
        if (!wick_c_is_data(p, &s->refs[k])) return false;
    const int32_t *nodes = wick_c_data(p, &s->refs[NODES]);
    const int32_t *roots = wick_c_data(p, &s->refs[ROOTS]), *targets = wick_c_data(p, &s->refs[TARGETS]);
    bool inside = true, some = false;
    for (int64_t t = 0; t < f->trees; t++) inside &= (uint64_t)roots[t] < (uint64_t)f->nodes;
    for (int64_t e = 0; e < f->entries; e++) inside &= (uint64_t)targets[e] < (uint64_t)f->targets;
    for (int64_t i = 0; i < f->nodes; i++) {
        const int32_t *n = nodes + 4 * i;
        if (n[0] == WICK_FOREST_LEAF) {
            inside &= n[1] >= 0 && n[2] >= 0 && n[1] <= f->entries - n[2];
            continue;
        }
        inside &= (uint64_t)n[1] < (uint64_t)f->columns;
        for (int k = 2; k < 4; k++) inside &= n[k] > i && n[k] < f->nodes;
        *how = !some || *how == n[0] ? n[0] : -1;
        some = true;
    }
    return inside;
}

/* yes = what the node at `at` says of v. */
static void print_test(wick_text *t, int depth, int32_t how) {
    static const char *const tests[] = {
        [WICK_FOREST_LE] = "v <= s", [WICK_FOREST_LT] = "v < s",  [WICK_FOREST_GE] = "v >= s",
        [WICK_FOREST_GT] = "v > s",  [WICK_FOREST_EQ] = "v == s", [WICK_FOREST_NE] = "v != s"};
    if (how > 0) {
        const int32_t test = how & ~WICK_FOREST_MISSING;
        const char *text = tests[test > WICK_FOREST_LEAF && test < WICK_FOREST_NE ? test : WICK_FOREST_NE];
        line(t, depth, how & WICK_FOREST_MISSING ? "const int yes = v != v || %s;" : "const int yes = %s;", text);
        return;
    }
    line(t, depth, "int yes = v != s;");
    line(t, depth, "switch (node[0] & ~%d) {", WICK_FOREST_MISSING);
    for (int k = WICK_FOREST_LE; k < WICK_FOREST_NE; k++) line(t, depth, "case %d: yes = %s; break;", k, tests[k]);
    line(t, depth, "}");
    line(t, depth, "if (v != v && node[0] & %d) yes = 1;", WICK_FOREST_MISSING);
}

/* From the root to the leaf, node at the end. */
static void print_walk(wick_text *t, int depth, const wick_forest *f, bool checked, int32_t how) {
    const char *type = f->wide ? "double" : "float";
    line(t, depth, "long at = roots[t];");
    if (checked) line(t, depth, "if (at < 0 || at >= %lld) return 1;", LL(f->nodes));
    line(t, depth, "const int32_t *node = nodes + 4 * at;");
    line(t, depth, "while (node[0]) {");
    if (checked) line(t, depth + 1, "if (node[1] < 0 || node[1] >= %lld) return 1;", LL(f->columns));
    line(t, depth + 1, "const %s v = x[node[1]], s = splits[at];", type);
    print_test(t, depth + 1, how);
    line(t, depth + 1, "const long next = node[yes ? 2 : 3];");
    if (checked) line(t, depth + 1, "if (next <= at || next >= %lld) return 1;", LL(f->nodes));
    line(t, depth + 1, "at = next, node = nodes + 4 * at;");
    line(t, depth, "}");
}

static void print_entries(wick_text *t, int depth, const wick_forest *f, bool checked) {
    const char *const than = f->how == WICK_FOREST_MIN ? "<" : ">";
    if (checked)
        line(t, depth, "if (node[1] < 0 || node[2] < 0 || node[1] > %lld - node[2]) return 1;", LL(f->entries));
    line(t, depth, "for (long e = node[2]; e < (long)node[2] + node[1]; e++) {");
    if (checked) line(t, depth + 1, "if (targets[e] < 0 || targets[e] >= %lld) return 1;", LL(f->targets));
    line(t, depth + 1, "double *const sum = sums + targets[e], w = weights[e];");
    if (has_extremes(f))
        line(t, depth + 1, "if (sum[%lld] == 0 || w %s *sum) *sum = w;", LL(f->targets), than);
    else
        line(t, depth + 1, "*sum += w;");
    if (has_extremes(f)) line(t, depth + 1, "sum[%lld] = 1;", LL(f->targets));
    line(t, depth, "}");
}

wick_status wick_c_print_trees(wick_c_printer *p, const wick_step *s) {
    const wick_forest *f = s->args;
    const wick_dtype dtype = f->wide ? WICK_F64 : WICK_F32;
    const char *type = f->wide ? "double" : "float";
    int32_t how = -1;
    const bool checked = !stays_inside(p, s, &how);
    wick_text t = {0};
    wick_text_add(&t,
                  "(const %s *x, const int32_t *nodes, const %s *splits, const int32_t *roots, const int32_t *targets, "
                  "const %s *weights, %s *y, double *sums) {\n",
                  type, type, type, type);
    if (!f->trees) line(&t, 1, "(void)x, (void)nodes, (void)splits, (void)roots, (void)targets, (void)weights;");
    line(&t, 1, "for (long r = 0; r < %lld; r++, x += %lld, y += %lld) {", LL(f->rows), LL(f->columns), LL(f->targets));
    line(&t, 2, "for (long j = 0; j < %lld; j++) sums[j] = 0;", LL((has_extremes(f) ? 2 : 1) * f->targets));
    if (f->trees) {
        line(&t, 2, "for (long t = 0; t < %lld; t++) {", LL(f->trees));
        print_walk(&t, 3, f, checked, checked ? -1 : how);
        print_entries(&t, 3, f, checked);
        line(&t, 2, "}");
    }
    if (f->how == WICK_FOREST_MEAN && f->trees)
        line(&t, 2, "for (long j = 0; j < %lld; j++) y[j] = (%s)(sums[j] / %lld);", LL(f->targets), type, LL(f->trees));
    else
        line(&t, 2, "for (long j = 0; j < %lld; j++) y[j] = (%s)sums[j];", LL(f->targets), type);
    line(&t, 1, "}");
    if (checked) line(&t, 1, "return 0;");
    wick_text_add(&t, "}\n");
    if (checked)
        wick_c_checking_kernel(p, "trees", &t, WICK_C_INDEX);
    else
        wick_c_kernel(p, "trees", &t);
    const wick_dtype dtypes[] = {dtype, WICK_I32, dtype, WICK_I32, WICK_I32, dtype, dtype, WICK_F64};
    for (int k = 0; k <= RESULT + 1; k++) {
        if (k) wick_text_add(&p->calls, ", ");
        wick_c_argument(p, &s->refs[k], dtypes[k]);
    }
    wick_text_add(&p->calls, checked ? ")) return 2;\n" : ");\n");
    return WICK_OK;
}
