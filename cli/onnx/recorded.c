#include "recorded.h"

#include "feed.h"
#include "open_dims.h"
#include "ports.h"
#include "../term/log.h"

#include "wick/io.h"
#include "wick/ops.h"

#include <stdlib.h>
#include <string.h>

/* What open dims are tried as, one after the other, until the graph can be recorded: first axes, which are batches
 * mostly, and the others. The first row is what wick run takes. An input of unknown rank has that rank. */
static const struct {
    int64_t first, other;
    int rank;
} guesses[] = {{1, 1, 0}, {1, 32, 4}, {1, 224, 3}, {1, 512, 2}, {64, 64, 1}};
enum { GUESSES = sizeof guesses / sizeof guesses[0], TEXTS_MOST = 1 << 20 };

/* What inputs hold where shapes depend on that. */
typedef enum contents { ZEROS, ONES, CHANCE, CONTENTS } contents;

typedef struct subject {
    const cli_options *o;
    wick_context *ctx;
    wick_onnx *onnx;
    int n_in, n_out;
    wick_spec *specs;
    bool texts; /* some input is */
} subject;

/* Shapes of the inputs by guess g. False: everything is said by the file or by --dim. */
static bool guess_specs(subject *s, int g) {
    bool guessed = false;
    for (int i = 0; i < s->n_in; i++) {
        const wick_onnx_port p = wick_onnx_input(s->onnx, i);
        wick_spec *spec = &s->specs[i];
        *spec = wick_onnx_input_spec(s->onnx, i);
        if (spec->rank < 0 && !wick_onnx_elem_dtype(p.elem, &spec->dtype)) spec->dtype = WICK_F32;
        spec->rank = p.rank < 0 ? guesses[g].rank : p.rank;
        guessed |= p.rank < 0;
        for (int d = 0; d < spec->rank; d++) {
            const int64_t guess = d ? guesses[g].other : guesses[g].first,
                          known = p.rank < 0 ? -1 : port_extent(s->o, &p, d, -1);
            spec->dims[d] = known < 0 ? guess : known;
            guessed |= known < 0;
        }
    }
    return guessed;
}

/* texts: room that is freed behind the recording. */
static wick_status fill_texts(subject *s, int i, contents what, wick_onnx_value *out, wick_text **texts) {
    static const wick_text kinds[CONTENTS] = {{"", 0}, {"1", 1}, {"a", 1}};
    const wick_spec *spec = &s->specs[i];
    int64_t n = 1;
    for (int d = 0; d < spec->rank; d++)
        n = spec->dims[d] <= TEXTS_MOST && n <= TEXTS_MOST ? n * spec->dims[d] : TEXTS_MOST + 1;
    if (n > TEXTS_MOST)
        return wick_context_fail(s->ctx, WICK_ERR_NOMEM, "the input %s has more than %d texts", spec->name, TEXTS_MOST);
    wick_text *t = *texts = calloc((size_t)n + 1, sizeof *t);
    if (!t) return wick_context_fail(s->ctx, WICK_ERR_NOMEM, "out of memory");
    for (int64_t k = 0; k < n; k++) t[k] = kinds[what];
    *out = (wick_onnx_value){.kind = WICK_VALUE_STRINGS, .rank = spec->rank, .n = (size_t)n, .texts = t};
    memcpy(out->dims, spec->dims, (size_t)spec->rank * sizeof *spec->dims);
    return WICK_OK;
}

static wick_tensor *fill(const subject *s, int i, contents what) {
    const wick_spec *spec = &s->specs[i];
    const bool whole = !feed_is_float(spec->dtype);
    if (what == ZEROS) return wick_zeros(s->ctx, spec->dtype, spec->rank, spec->dims);
    if (what == ONES)
        return wick_cast(wick_ones(s->ctx, whole ? WICK_I64 : WICK_F32, spec->rank, spec->dims), spec->dtype);
    if (whole) return wick_cast(wick_random_integers(s->ctx, WICK_I64, spec->rank, spec->dims, 0, 2), spec->dtype);
    return wick_cast(wick_random_uniform(s->ctx, WICK_F32, spec->rank, spec->dims), spec->dtype);
}

static wick_status record_with(subject *s, contents what) {
    wick_onnx_value *values = calloc((size_t)(s->n_in + s->n_out) + 1, sizeof *values);
    wick_text **texts = calloc((size_t)s->n_in + 1, sizeof *texts);
    wick_scope *scope = wick_scope_open(s->ctx);
    wick_status status =
        values && texts && scope ? WICK_OK : wick_context_fail(s->ctx, WICK_ERR_NOMEM, "out of memory");
    for (int i = 0; i < s->n_in && status == WICK_OK; i++) {
        if (wick_onnx_input(s->onnx, i).kind == WICK_VALUE_STRINGS)
            status = fill_texts(s, i, what, &values[i], &texts[i]);
        else values[i] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = fill(s, i, what)};
    }
    if (status == WICK_OK) status = wick_onnx_apply(s->onnx, values, values + s->n_in);
    wick_scope_close(&scope);
    for (int i = 0; i < s->n_in && texts; i++) free(texts[i]);
    free(texts);
    free(values);
    return status;
}

/* It is not the graph that ends the recording. */
static bool is_final(wick_status status) {
    return status == WICK_ERR_NOMEM || status == WICK_ERR_DEADLINE || status == WICK_ERR_CANCELLED;
}

/* For these specs. WICK_OK: it was recorded for some contents of the inputs at least. *depends: what holds the graph up
 * then depends on the numbers in its inputs, and is no fault of the file. why: the message of that, or of a failure;
 * "": there was none. */
static wick_status record(subject *s, bool *depends, char *why, size_t size) {
    *depends = false, *why = 0;
    wick_status status = s->texts ? WICK_ERR_UNSUPPORTED : wick_onnx_prepare(s->onnx, s->specs);
    if (status == WICK_OK) return status;
    if (status != WICK_ERR_UNSUPPORTED) { /* nothing was asked for that depends on inputs */
        snprintf(why, size, "%s", log_why(s->ctx, status));
        return status;
    }
    wick_status first = WICK_OK;
    bool any = false;
    for (int k = 0; k < CONTENTS && (k < CHANCE || !any);
         k++) { /* a condition may be true of one and false of the other */
        status = record_with(s, (contents)k);
        const char *text = status == WICK_OK ? "" : log_why(s->ctx, status);
        any |= status == WICK_OK;
        if (status == WICK_OK) continue;
        if (*why && strcmp(why, text) != 0) *depends = true;
        if (is_final(status) || !*why) snprintf(why, size, "%s", text), first = status;
        if (is_final(status)) return status;
    }
    *depends |= any && *why;
    return any ? WICK_OK : first;
}

/* "N, h, w as 32": open dims as they were recorded, with the hint behind them, or "". */
static void say_guess(const subject *s, int g, const char *hint, char *text, size_t size) {
    wick_spec *open = calloc((size_t)s->n_in + 1, sizeof *open);
    char names[512] = "", extents[80];
    bool ranks = false;
    for (int i = 0; i < s->n_in && open; i++) {
        const wick_onnx_port p = wick_onnx_input(s->onnx, i);
        open[i].rank = p.rank < 0 ? 0 : p.rank;
        for (int d = 0; d < p.rank; d++) open[i].dims[d] = port_extent(s->o, &p, d, -1);
        ranks |= p.rank < 0;
    }
    if (open) ports_open(s->onnx, open, names, sizeof names);
    free(open);
    if (guesses[g].first == guesses[g].other) snprintf(extents, sizeof extents, "%lld", (long long)guesses[g].first);
    else
        snprintf(extents, sizeof extents, "%lld along first axes and %lld", (long long)guesses[g].first,
                 (long long)guesses[g].other);
    *text = 0;
    if (*names) snprintf(text, size, "%s as %s%s", names, extents, hint);
    else if (ranks) snprintf(text, size, "inputs of %d dims where the file says no rank", guesses[g].rank);
}

/* How far a recording came that ended with this message: the number of the node that it begins with; 0: of none. */
static int64_t node_of(const wick_onnx_graph *graph, const char *why) {
    for (int64_t v = graph->n_nodes - 1; v > 0; v--) {
        const size_t n = strlen(graph->nodes[v].place);
        if (strncmp(why, graph->nodes[v].place, n) == 0 && why[n] == ':') return v;
    }
    return 0;
}

/* What is said behind the node and its shapes: "Conv "a": conv(f32[1,3,32,32], f32[4,5,3,3]): 3 input channels, but
 * ..." */
static const char *reason_of(const char *why) {
    for (const char *at = why; (at = strstr(at, "): ")); at += 3) why = at + 3;
    return why;
}

/* Whether the two name a fault that the extents have no part in: the same words, and numbers of extents would be among
 * them. */
static bool are_one_fault(const char *a, const char *b) {
    const char *reason = reason_of(a);
    return strcmp(a, b) == 0 || (strcmp(reason, reason_of(b)) == 0 && strpbrk(reason, "0123456789"));
}

/* Whether the two differ in numbers alone. */
static bool are_alike(const char *a, const char *b) {
    for (;; a++, b++) {
        a += strspn(a, "0123456789"), b += strspn(b, "0123456789");
        if (*a != *b) return false;
        if (!*a) return true;
    }
}

/* Names of open dims such as "past + seq" follow others, which the ranges of open_dims know. */
static bool found_in_ranges(const subject *s) {
    open_dims dims = {0};
    const bool found = open_dims_find(&dims, s->o, s->ctx, s->onnx) == CLI_OK && dims.shapes;
    open_dims_free(&dims);
    return found;
}

typedef struct failure {
    char why[1024];
    int64_t node;
    int guess, n; /* of how many guesses */
    bool one;     /* all of them name one fault */
} failure;

/* Of the failures of all guesses, the one from farthest in the graph: small extents may have ended others before. What
 * is said of the same thing stays the first, as wick run has it. */
static void keep_farthest(subject *s, wick_onnx_graph *graph, const char *why, int g, failure *f) {
    if (!graph->nodes && wick_onnx_get_graph(s->onnx, NULL, graph) != WICK_OK) *graph = (wick_onnx_graph){0};
    const int64_t node = node_of(graph, why);
    if (f->n && node < f->node) return;
    const bool same = f->n && node == f->node, alike = same && are_alike(why, f->why),
               one = same && are_one_fault(why, f->why);
    f->one = one || alike ? f->one && one : true;
    f->n = one || alike ? f->n + 1 : 1;
    if (alike) return;
    snprintf(f->why, sizeof f->why, "%s", why);
    f->node = node, f->guess = g;
}

/* Whether it is a fault of the file, or may be one of the guesses: another extent or rank might do. First axes of
 * several are batches, which may be any number. */
static bool is_fault(const subject *s, const failure *f) {
    bool ranked = true, batches = true;
    for (int i = 0; i < s->n_in; i++) {
        const wick_onnx_port p = wick_onnx_input(s->onnx, i);
        ranked &= p.rank >= 0;
        for (int d = 0; d < p.rank; d++) batches &= port_extent(s->o, &p, d, -1) >= 0 || (d == 0 && p.rank > 1);
    }
    return ranked ? batches || (f->one && f->n > 1) : f->one && f->n == GUESSES;
}

static int find(subject *s, recorded *out) {
    char why[1024], said[640] = "", dependent[1024] = "";
    wick_onnx_graph graph = {0};
    failure f = {0};
    bool guessed = true, depends = false;
    for (int g = 0; g < GUESSES && guessed && !out->good; g++) {
        guessed = guess_specs(s, g);
        const wick_status status = record(s, &depends, why, sizeof why);
        if (is_final(status)) {
            if (g) break; /* larger extents than the first may be too large */
            return log_fail(log_code(status, CLI_BAD_FILE), "%s", why);
        }
        out->good = status == WICK_OK;
        if (out->good) say_guess(s, g, "", said, sizeof said);
        else if (!depends) keep_farthest(s, &graph, why, g, &f);
        if (depends && !*dependent) snprintf(dependent, sizeof dependent, "%s", why);
    }
    if (out->good) {
        out->whole = true;
        if (*said) snprintf(out->note, sizeof out->note, "recorded with %s", said);
        if (*dependent)
            snprintf(out->note, sizeof out->note, "recorded%s%s; with other numbers in its inputs: %.800s",
                     *said ? " with " : "", said, dependent);
    } else if (*dependent) {
        out->good = true;
        snprintf(out->note, sizeof out->note,
                 "not recorded to its end, which the numbers in its inputs decide: %.1000s", dependent);
    } else if (guessed && found_in_ranges(s)) {
        out->good = out->whole = true;
    } else {
        say_guess(s, f.guess, "; --dim NAME=N gives one another extent", said, sizeof said);
        out->good = guessed && !is_fault(s, &f);
        snprintf(out->good ? out->note : out->fault, sizeof out->fault, "%s%s%s%s%s",
                 out->good ? "not recorded to its end: " : "", f.why, *said ? " (with " : "", said, *said ? ")" : "");
    }
    return CLI_OK;
}

int recorded_find(const cli_options *o, wick_context *ctx, wick_onnx *onnx, recorded *out) {
    subject s = {.o = o, .ctx = ctx, .onnx = onnx, .n_in = wick_onnx_inputs(onnx), .n_out = wick_onnx_outputs(onnx)};
    char type[256];
    *out = (recorded){0};
    if (*wick_onnx_unsupported(onnx)) {
        snprintf(out->fault, sizeof out->fault, "%s uses what Wick does not have: %s", o->model,
                 wick_onnx_unsupported(onnx));
        return CLI_OK;
    }
    for (int i = 0; i < s.n_in; i++) {
        const wick_onnx_port p = wick_onnx_input(onnx, i);
        s.texts |= p.kind == WICK_VALUE_STRINGS;
        if (p.kind == WICK_VALUE_TENSOR || p.kind == WICK_VALUE_STRINGS) continue;
        snprintf(out->note, sizeof out->note, "its graph is not recorded: the input %s is %s", p.name,
                 port_type(&p, type, sizeof type));
        out->good = true;
        return CLI_OK;
    }
    s.specs = calloc((size_t)s.n_in + 1, sizeof *s.specs);
    const int code = s.specs ? find(&s, out) : log_fail(CLI_FAILED, "out of memory");
    free(s.specs);
    return code;
}
