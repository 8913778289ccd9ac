/* cells.c: the elementwise part of a step of recurrent cells, unit by unit: kernels/recurrent/cell_body.h with the
 * choices made. Arrays are rows of a sample's: in (of x), pre (the sums of products), h, c, side, gates; backward h and
 * c are their gradients. */
#include <stdio.h>

#include "aot/cells.h"

#define line wick_c_line

const char *wick_c_cell_part(char *text, const wick_c_cell *q, const char *array, int64_t row) {
    if (row)
        snprintf(text, 64, "%s[%lld + j]", array, LL(row * q->h));
    else
        snprintf(text, 64, "%s[j]", array);
    return text;
}
#define PART(array, row) wick_c_cell_part((char[64]){0}, q, array, row)

static const char *function_of(const wick_c_cell *q, int act) {
    static const char *const names[WICK_CELL_ACTS] = {"sigmoid", "tanh", "relu", "hard_sigmoid", "softsign", NULL};
    return names[q->r->act[q->direction][act]];
}
static void print_clip(wick_text *t, const wick_c_cell *q, double sign) {
    wick_c_number(t, q->r->type, sign * (q->r->type == WICK_CF32 ? (double)(float)q->r->clip : q->r->clip));
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* "const float v = act(clipped(x));" */
static void print_gate(wick_text *t, int depth, const wick_c_cell *q, const char *name, int act, const char *x) {
    const char *f = function_of(q, act);
    wick_text_add(t, "%*sconst %s %s = ", 4 * depth, "", q->type, name);
    if (f) wick_text_add(t, "wick_cell_%s_%s(", f, q->suffix);
    if (q->r->clip > 0) {
        wick_text_add(t, "wick_cell_clipped_%s(", q->suffix);
        print_clip(t, q, 1);
        wick_text_add(t, ", %s)", x);
    } else
        wick_text_add(t, "%s", x);
    wick_text_add(t, f ? ");\n" : ";\n");
}

/* "act2(of)", of a state, which is not clipped. */
static const char *shown(char *text, const wick_c_cell *q, const char *of) {
    if (function_of(q, 2))
        snprintf(text, 64, "wick_cell_%s_%s(%s)", function_of(q, 2), q->suffix, of);
    else
        snprintf(text, 64, "%s", of);
    return text;
}

/* pre + in, of gate k. */
static const char *sum(char *text, const wick_c_cell *q, int64_t k) {
    snprintf(text, 160, "%s + %s", PART("pre", k), PART("in", k));
    return text;
}

static void print_saved(wick_text *t, int depth, const wick_c_cell *q, const char *const values[4]) {
    for (int k = 0; k < 4 && q->has_gates; k++)
        if (values[k]) line(t, depth, "%s = %s;", PART("gates", k), values[k]);
}

static void print_rnn(wick_text *t, int depth, const wick_c_cell *q) {
    char text[160];
    print_gate(t, depth, q, "now", 0, sum(text, q, 0));
    line(t, depth, "h[j] = now;");
}

static void print_lstm(wick_text *t, int depth, const wick_c_cell *q) {
    static const char *const sums[] = {"ai", "af", "ag", "ao"};
    char text[160];
    line(t, depth, "const %s was = c[j];", q->type);
    for (int k = 0; k < 4; k++) {
        if (k == 1 && q->r->coupled) continue;
        line(t, depth, "%s%s %s = %s;", k == 2 || !q->has_peephole ? "const " : "", q->type, sums[k], sum(text, q, k));
        if (q->has_peephole && k < 2) line(t, depth, "%s = %s + %s * was;", sums[k], sums[k], PART("peephole", k));
    }
    print_gate(t, depth, q, "i", 0, "ai");
    if (q->r->coupled)
        line(t, depth, "const %s f = 1 - i;", q->type);
    else
        print_gate(t, depth, q, "f", 0, "af");
    print_gate(t, depth, q, "g", 1, "ag");
    line(t, depth, "const %s now = f * was + i * g;", q->type);
    if (q->has_peephole) line(t, depth, "ao = ao + %s * now;", PART("peephole", 2));
    print_gate(t, depth, q, "o", 0, "ao");
    print_saved(t, depth, q, (const char *[]){"i", "f", "g", "o"});
    line(t, depth, "c[j] = now;");
    line(t, depth, "h[j] = o * %s;", shown((char[64]){0}, q, "now"));
}

static void print_gru(wick_text *t, int depth, const wick_c_cell *q) {
    char text[160];
    print_gate(t, depth, q, "r", 0, sum(text, q, 0));
    print_gate(t, depth, q, "z", 0, sum(text, q, 1));
    line(t, depth, "const %s side = %s + %s;", q->type, PART("pre", 2), q->has_bias ? "bias[j]" : "0");
    snprintf(text, sizeof text, "%s + r * side", PART("in", 2));
    print_gate(t, depth, q, "now", 1, text);
    print_saved(t, depth, q, (const char *[]){"r", "z", "now", "side"});
    line(t, depth, "h[j] = (1 - z) * now + z * h[j];");
}

/* z stays in the place of its sums until r h has met the weights. */
static void print_gru_first(wick_text *t, int depth, const wick_c_cell *q) {
    char text[160];
    print_gate(t, depth, q, "r", 0, sum(text, q, 0));
    print_gate(t, depth, q, "z", 0, sum(text, q, 1));
    line(t, depth, "%s = z;", PART("pre", 1));
    line(t, depth, "side[j] = r * h[j];");
    print_saved(t, depth, q, (const char *[]){"r", "z", NULL, "side[j]"});
}
static void print_gru_after(wick_text *t, int depth, const wick_c_cell *q) {
    char text[160];
    line(t, depth, "const %s z = %s;", q->type, PART("pre", 1));
    snprintf(text, sizeof text, "%s + %s", PART("in", 2), PART("pre", 2));
    print_gate(t, depth, q, "now", 1, text);
    print_saved(t, depth, q, (const char *[]){NULL, NULL, "now", NULL});
    line(t, depth, "h[j] = (1 - z) * now + z * h[j];");
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* An argument that is clipped has no gradient from the clip on, which the result tells: "most0" is the one there. */
void wick_c_print_cell_limits(wick_text *t, int depth, const wick_c_cell *q) {
    for (int act = 0; act < (q->r->cell == WICK_CELL_RNN ? 1 : 2) && q->r->clip > 0; act++)
        for (int below = 0; below < 2; below++) {
            wick_text_add(t, "%*sconst %s %s%d = ", 4 * depth, "", q->type, below ? "least" : "most", act);
            if (function_of(q, act)) wick_text_add(t, "wick_cell_%s_%s(", function_of(q, act), q->suffix);
            print_clip(t, q, below ? -1 : 1);
            wick_text_add(t, function_of(q, act) ? ");\n" : ";\n");
        }
}

/* The derivative of such a function, by its result y. text: 160 bytes. */
static const char *slope(char *text, const wick_c_cell *q, int act, const char *y) {
    switch (q->r->act[q->direction][act]) {
    case WICK_CELL_SIGMOID: snprintf(text, 160, "(%s * (1 - %s))", y, y); break;
    case WICK_CELL_TANH: snprintf(text, 160, "(1 - %s * %s)", y, y); break;
    case WICK_CELL_RELU: snprintf(text, 160, "(%s > 0 ? 1 : 0)", y); break;
    case WICK_CELL_HARD_SIGMOID: snprintf(text, 160, "(%s > 0 && %s < 1 ? (%s)0.2 : 0)", y, y, q->type); break;
    case WICK_CELL_SOFTSIGN:
        snprintf(text, 160, "((1 - wick_abs_%s(%s)) * (1 - wick_abs_%s(%s)))", q->suffix, y, q->suffix, y);
        break;
    default: snprintf(text, 160, "1");
    }
    return text;
}
static const char *clipped_slope(char *text, const wick_c_cell *q, int act, const char *y) {
    char all[160];
    if (q->r->clip <= 0) return slope(text, q, act, y);
    snprintf(text, 240, "(%s >= most%d || %s <= least%d ? 0 : %s)", y, act, y, act, slope(all, q, act, y));
    return text;
}
#define SLOPE(act, y) clipped_slope((char[240]){0}, q, act, y)

/* What arrived for saved row k; 0 where nothing could. */
static const char *arrived(char *text, const wick_c_cell *q, int64_t k) {
    return q->has_ggates ? wick_c_cell_part(text, q, "ggates", k) : "0";
}
#define ARRIVED(k) arrived((char[64]){0}, q, k)

/* Gradients of what went into gate k. */
static void print_gradient(wick_text *t, int depth, const wick_c_cell *q, int64_t k, const char *value) {
    line(t, depth, "%s = %s = %s;", PART("pre", k), PART("dx", k), value);
}

static void print_rnn_back(wick_text *t, int depth, const wick_c_cell *q) {
    line(t, depth, "const %s y = gates[j], a = (h[j] + %s) * %s;", q->type, q->has_gy ? "gy[j]" : "0", SLOPE(0, "y"));
    if (!function_of(q, 0) && q->r->clip <= 0) line(t, depth, "(void)y;"); /* the identity's slope is 1 anywhere */
    print_gradient(t, depth, q, 0, "a");
    line(t, depth, "h[j] = 0;");
}

static void print_lstm_back(wick_text *t, int depth, const wick_c_cell *q) {
    static const char *const sums[] = {"ai", "af", "ag", "ao"};
    line(t, depth, "const %s i = %s, f = %s, g = %s, o = %s, was = c_prev[j];", q->type, PART("gates", 0),
         PART("gates", 1), PART("gates", 2), PART("gates", 3));
    line(t, depth, "const %s now = f * was + i * g, shown = %s, a = h[j] + %s;", q->type,
         shown((char[64]){0}, q, "now"), q->has_gy ? "gy[j]" : "0");
    line(t, depth, "const %s ao = (a * shown + %s) * %s;", q->type, ARRIVED(3), SLOPE(0, "o"));
    line(t, depth, "%s d = c[j] + a * o * %s;", q->type, slope((char[160]){0}, q, 2, "shown"));
    if (q->has_peephole) line(t, depth, "d = d + ao * %s;", PART("peephole", 2));
    line(t, depth, "const %s df = d * was + %s, di = d * g + %s%s;", q->type, ARRIVED(1), ARRIVED(0),
         q->r->coupled ? " - df" : "");
    line(t, depth, "const %s ai = di * %s;", q->type, SLOPE(0, "i"));
    if (q->r->coupled)
        line(t, depth, "const %s af = 0;", q->type);
    else
        line(t, depth, "const %s af = df * %s;", q->type, SLOPE(0, "f"));
    line(t, depth, "const %s ag = (d * i + %s) * %s;", q->type, ARRIVED(2), SLOPE(1, "g"));
    line(t, depth, "d = d * f;");
    if (q->has_peephole) line(t, depth, "d = d + (ai * %s + af * %s);", PART("peephole", 0), PART("peephole", 1));
    line(t, depth, "c[j] = d;");
    line(t, depth, "h[j] = 0;");
    for (int k = 0; k < 4; k++) print_gradient(t, depth, q, k, sums[k]);
}

static void print_gru_back(wick_text *t, int depth, const wick_c_cell *q) {
    line(t, depth, "const %s r = %s, z = %s, now = %s, side = %s, a = h[j] + %s;", q->type, PART("gates", 0),
         PART("gates", 1), PART("gates", 2), PART("gates", 3), q->has_gy ? "gy[j]" : "0");
    line(t, depth, "const %s az = (a * (h_prev[j] - now) + %s) * %s;", q->type, ARRIVED(1), SLOPE(0, "z"));
    line(t, depth, "const %s an = (a * (1 - z) + %s) * %s;", q->type, ARRIVED(2), SLOPE(1, "now"));
    line(t, depth, "const %s ar = (an * side + %s) * %s;", q->type, ARRIVED(0), SLOPE(0, "r"));
    line(t, depth, "h[j] = a * z;");
    print_gradient(t, depth, q, 0, "ar");
    print_gradient(t, depth, q, 1, "az");
    line(t, depth, "%s = an;", PART("dx", 2));
    line(t, depth, "%s = an * r + %s;", PART("pre", 2), ARRIVED(3));
}

static void print_gru_first_back(wick_text *t, int depth, const wick_c_cell *q) {
    line(t, depth, "const %s z = %s, now = %s, a = h[j] + %s;", q->type, PART("gates", 1), PART("gates", 2),
         q->has_gy ? "gy[j]" : "0");
    line(t, depth, "const %s az = (a * (h_prev[j] - now) + %s) * %s;", q->type, ARRIVED(1), SLOPE(0, "z"));
    line(t, depth, "const %s an = (a * (1 - z) + %s) * %s;", q->type, ARRIVED(2), SLOPE(1, "now"));
    print_gradient(t, depth, q, 1, "az");
    print_gradient(t, depth, q, 2, "an");
    line(t, depth, "h[j] = a * z;");
}
/* The gradient of r h is in side. */
static void print_gru_after_back(wick_text *t, int depth, const wick_c_cell *q) {
    line(t, depth, "const %s r = %s, d = side[j] + %s;", q->type, PART("gates", 0), ARRIVED(3));
    line(t, depth, "const %s ar = (d * h_prev[j] + %s) * %s;", q->type, ARRIVED(0), SLOPE(0, "r"));
    print_gradient(t, depth, q, 0, "ar");
    line(t, depth, "h[j] = h[j] + d * r;");
}

void wick_c_print_cell(wick_text *t, int depth, const wick_c_cell *q, int stage) {
    static void (*const print[2][WICK_CELL_COUNT + 1])(wick_text *, int, const wick_c_cell *) = {
        {print_rnn, print_lstm, print_gru, print_gru_first, print_gru_after},
        {print_rnn_back, print_lstm_back, print_gru_back, print_gru_first_back, print_gru_after_back}};
    line(t, depth, "for (long j = 0; j < %lld; j++) {", LL(q->h));
    print[q->r->backward][q->r->cell + stage](t, depth + 1, q);
    if (q->has_y && stage + 1 == q->r->products) line(t, depth + 1, "y[j] = h[j];");
    line(t, depth, "}");
}
