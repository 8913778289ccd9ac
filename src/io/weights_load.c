/* weights_load.c: tensors of a file into a model, by name. */
#define WICK_NO_SITES
#include <stdio.h>

#include "io/json.h"
#include "io/weights.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

enum { STARS = 8, NAME_MAX_BYTES = 1024 };

typedef struct capture {
    const char *at;
    size_t n;
} capture;

/* Where `part` is first found in [at, end); NULL: nowhere. */
static const char *find_part(const char *at, const char *end, const char *part, size_t n) {
    for (; (size_t)(end - at) >= n; at++)
        if (!memcmp(at, part, n)) return at;
    return NULL;
}

/* What each * of the pattern stands for, each as short as it can be; -1: the name does not match. */
static int match(const char *pattern, const char *name, capture stars[STARS]) {
    const char *end = name + strlen(name);
    size_t n = strcspn(pattern, "*");
    if (strncmp(pattern, name, n) != 0) return -1;
    int found = 0;
    for (pattern += n, name += n; *pattern; pattern += n) {
        n = strcspn(++pattern, "*");
        const char *next = pattern[n]                                               ? find_part(name, end, pattern, n)
                           : (size_t)(end - name) >= n && !strcmp(end - n, pattern) ? end - n
                                                                                    : NULL;
        if (!next) return -1;
        stars[found++] = (capture){name, (size_t)(next - name)};
        name = next + n;
    }
    return name == end ? found : -1;
}

static bool has_end(const char *text, char c) { return *text && text[strlen(text) - 1] == c; }

/* The name after the rules; false: it would be too long. */
static bool rename_of(const wick_weights_options *o, const char *name, char out[NAME_MAX_BYTES]) {
    wick_str s = wick_str_on(out, NAME_MAX_BYTES);
    for (int i = 0; i < o->n_rename; i++) {
        const wick_rename *r = &o->rename[i];
        capture stars[STARS];
        const size_t length = strlen(r->from);
        if (!strchr(r->from, '*') && has_end(r->from, '.')) {
            if (strncmp(name, r->from, length) != 0) continue;
            wick_str_add(&s, "%s%s", r->to, name + length);
            return !s.cut;
        }
        if (match(r->from, name, stars) < 0) continue;
        int star = 0;
        for (const char *at = r->to; *at; at++) {
            if (*at == '*') wick_str_add(&s, "%.*s", (int)stars[star].n, stars[star].at), star++;
            else wick_str_add(&s, "%c", *at);
        }
        return !s.cut;
    }
    wick_str_add(&s, "%s", name);
    return !s.cut;
}

static int count_stars(const char *text) {
    int n = 0;
    for (; *text; text++) n += *text == '*';
    return n;
}

static wick_status check_rules(wick_context *ctx, const wick_weights_options *o) {
    for (int i = 0; i < o->n_rename; i++) {
        const char *from = o->rename[i].from, *to = o->rename[i].to, *wrong = NULL;
        if (!from || !*from || !to) wrong = "needs a name to change, and what it becomes";
        else if (count_stars(from) > STARS) wrong = "has more than 8 stars";
        else if (count_stars(to) > count_stars(from))
            wrong = "has more stars in what a name becomes than in what it was";
        else if (strstr(from, "**")) wrong = "has two stars side by side";
        if (wrong)
            return wick_context_fail(ctx, WICK_ERR_INVALID, "the rule %s=%s for names %s", from ? from : "",
                                     to ? to : "", wrong);
    }
    return WICK_OK;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

typedef struct loader {
    const wick_weights *w;
    wick_model *model;
    wick_context *ctx;
    const wick_weights_options *o;
    int *of_state; /* by state of the model: the tensor that it takes; -1: none */
    int states, loaded, kept, unused;
    int troubles[3];
    wick_str lists[3]; /* of the names in trouble */
    char text[3][WICK_MSG_MAX];
} loader;

static bool selected(const loader *l, const char *name) {
    return (!l->o->only || wick_glob(l->o->only, name)) && !(l->o->skip && wick_glob(l->o->skip, name));
}
static bool turned(const loader *l, const char *name) { return l->o->transpose && wick_glob(l->o->transpose, name); }

static void note(loader *l, wick_weights_trouble what, const char *name, const char *text) {
    char shown[WICK_JSON_SHOWN];
    wick_str_add(&l->lists[what], "%s%s", l->troubles[what]++ ? ", " : "", text ? text : wick_json_show(shown, name));
    if (l->o->trouble) l->o->trouble(l->o->user, what, name, text ? text : shown);
}

/* Whether the state can take the tensor; `text` says why not. */
static bool fits(const loader *l, const char *name, const wick_tensor *state, const wick_spec *spec, char *text,
                 size_t size) {
    int64_t dims[WICK_MAX_DIMS];
    memcpy(dims, spec->dims, sizeof dims);
    const bool turn = turned(l, name) && spec->rank == 2;
    if (turn) dims[0] = spec->dims[1], dims[1] = spec->dims[0];
    const wick_dtype dtype = wick_tensor_dtype(state);
    const bool same =
        spec->dtype == dtype || (!l->o->exact && wick_dtype_is_float(spec->dtype) && wick_dtype_is_float(dtype));
    if (same && spec->rank == wick_tensor_rank(state) &&
        !memcmp(dims, wick_tensor_dims(state), (size_t)spec->rank * sizeof *dims))
        return true;
    wick_type there;
    char shown[WICK_JSON_SHOWN];
    wick_str s = wick_str_on(text, size);
    wick_str_add(&s, "%s is ", wick_json_show(shown, name));
    if (wick_type_make(&there, spec->dtype, spec->rank, dims)) wick_type_print(&s, &there);
    wick_str_add(&s, "%s there and ", turn ? " (turned)" : "");
    wick_type_print(&s, &state->value->type);
    wick_str_add(&s, " here");
    return false;
}

static int state_index(const loader *l, const wick_tensor *state) {
    for (int i = 0; i < l->states; i++)
        if (wick_model_at(l->model, i).tensor == state) return i;
    return -1;
}

/* PyTorch's batch norms count their batches; optimizers' states are no weights. */
static bool is_no_weight(const char *name) {
    static const char counter[] = ".num_batches_tracked";
    const size_t n = strlen(name);
    return !strncmp(name, "optim.", 6) || (n >= sizeof counter && !strcmp(name + n - (sizeof counter - 1), counter));
}

/* Gives tensor i of the file to its state, or says why not. */
static void give(loader *l, int i) {
    const wick_spec spec = l->w->entries[i].spec;
    char name[NAME_MAX_BYTES], text[3 * WICK_JSON_SHOWN + 400], shown[WICK_JSON_SHOWN], from[WICK_JSON_SHOWN];
    const char *first = spec.name, *prefix = l->o->prefix ? l->o->prefix : "";
    if (strncmp(first, prefix, strlen(prefix)) != 0) {
        l->unused++;
        return;
    }
    const bool named = rename_of(l->o, first + strlen(prefix), name);
    wick_tensor *state = named ? wick_model_find(l->model, name) : NULL;
    const int at = state ? state_index(l, state) : -1;
    const char *own = at >= 0 ? wick_model_at(l->model, at).name : named ? name : first;
    if (!selected(l, own)) {
        l->unused++;
        return;
    }
    if (at < 0 || wick_model_at(l->model, at).role == WICK_ROLE_OPTIM) {
        l->unused++;
        if (is_no_weight(own)) return;
        const bool same = !strcmp(own, first);
        if (!same)
            snprintf(text, sizeof text, "%s (%s there)", wick_json_show(shown, own), wick_json_show(from, first));
        note(l, WICK_WEIGHTS_UNEXPECTED, own, same ? NULL : text);
        return;
    }
    if (l->of_state[at] >= 0) {
        l->unused++;
        snprintf(text, sizeof text, "%s for %s, which %s is too", wick_json_show(from, first),
                 wick_json_show(shown, own), l->w->entries[l->of_state[at]].spec.name);
        note(l, WICK_WEIGHTS_UNEXPECTED, own, text);
        return;
    }
    l->of_state[at] = i;
    if (fits(l, own, state, &spec, text, sizeof text)) return;
    l->of_state[at] = -2; /* there, but of no use */
    l->unused++;
    note(l, WICK_WEIGHTS_MISFIT, own, text);
}

static wick_status compare(loader *l) {
    for (size_t i = 0; i < l->w->n; i++) give(l, (int)i);
    bool recorded = false;
    for (int i = 0; i < l->states; i++) {
        const wick_named s = wick_model_at(l->model, i);
        if (s.role == WICK_ROLE_OPTIM) continue;
        recorded = true;
        if (l->of_state[i] >= 0) l->loaded++;
        else l->kept++;
        if (l->of_state[i] == -1 && selected(l, s.name)) note(l, WICK_WEIGHTS_MISSING, s.name, NULL);
    }
    if (recorded) return WICK_OK;
    return wick_context_fail(
        l->ctx, WICK_ERR_MISMATCH,
        "the model has no states yet: record its network once (call the function that builds it), then load weights");
}

/* "2 missing: a, b; 1 unexpected: c". Each list has its part of the room. */
static void summarise(const loader *l, char *text, size_t size) {
    static const char *const names[] = {"missing", "unexpected", "of another shape or dtype"};
    wick_str s = wick_str_on(text, size);
    for (int i = 0; i < 3; i++) {
        if (!l->troubles[i]) continue;
        const size_t room = size / 3 - 60;
        wick_str_add(&s, "%s%d %s: %.*s%s", s.len ? "; " : "", l->troubles[i], names[i], (int)room, l->text[i],
                     l->lists[i].len > room || l->lists[i].cut ? "..." : "");
    }
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static wick_status write_state(loader *l, int i) {
    const wick_named s = wick_model_at(l->model, i);
    const wick_dtype dtype = wick_tensor_dtype(s.tensor);
    const void *data;
    wick_scope *scope = wick_scope_open(l->ctx);
    if (!scope) return wick_context_fail(l->ctx, WICK_ERR_NOMEM, "weights: out of memory");
    wick_tensor *t = wick_weights_tensor(l->w, l->of_state[i]);
    if (turned(l, s.name) && wick_tensor_rank(t) == 2) t = wick_transpose(t, 0, 1);
    if (wick_tensor_error(t, NULL) == WICK_OK && wick_tensor_dtype(t) != dtype) t = wick_cast(t, dtype);
    wick_status status = wick_data(t, &data);
    if (status == WICK_OK) status = wick_write(s.tensor, data, wick_dtype_bytes(dtype, wick_tensor_count(s.tensor)));
    wick_scope_close(&scope);
    return status;
}

/* Data that are damaged are found before any state is written. */
static wick_status check_data(const loader *l) {
    for (int i = 0; i < l->states; i++) {
        if (l->of_state[i] < 0 || !l->w->entries[l->of_state[i]].is_npy) continue;
        const char *text;
        wick_scope *scope = wick_scope_open(l->ctx);
        if (!scope) return wick_context_fail(l->ctx, WICK_ERR_NOMEM, "weights: out of memory");
        const wick_status status = wick_tensor_error(wick_weights_tensor(l->w, l->of_state[i]), &text);
        if (status != WICK_OK) wick_context_fail(l->ctx, status, "%s", text);
        wick_scope_close(&scope);
        if (status != WICK_OK) return status;
    }
    return WICK_OK;
}

static wick_status load(loader *l, wick_load_report *report) {
    char text[WICK_MSG_MAX - 100];
    WICK_TRY(compare(l));
    summarise(l, text, sizeof text);
    const int troubles = l->troubles[0] + l->troubles[1] + l->troubles[2];
    if (troubles && !l->o->fitting)
        return wick_context_fail(l->ctx, WICK_ERR_MISMATCH, "%.100s: not this model's weights: %s", l->w->path, text);
    if (!l->loaded)
        return wick_context_fail(l->ctx, WICK_ERR_MISMATCH, "%.100s: nothing would be loaded: %s", l->w->path,
                                 troubles ? text : "no state that the model has is selected");
    WICK_TRY(check_data(l));
    for (int i = 0; i < l->states; i++)
        if (l->of_state[i] >= 0) WICK_TRY(write_state(l, i));
    if (!report) return WICK_OK;
    *report = (wick_load_report){.loaded = l->loaded, .kept = l->kept, .unused = l->unused};
    snprintf(report->differs, sizeof report->differs, "%.*s", (int)sizeof report->differs - 1, text);
    return WICK_OK;
}

wick_status wick_weights_load(const wick_weights *w, wick_model *model, const wick_weights_options *options,
                              wick_load_report *report) {
    if (!model) return wick_context_fail(w->ctx, WICK_ERR_INVALID, "weights_load: model is NULL");
    static const wick_weights_options plain;
    wick_context *ctx = wick_model_context(model);
    const wick_weights_options *o = options ? options : &plain;
    if (o->n_rename < 0 || (o->n_rename && !o->rename))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "weights: %d rules at NULL", o->n_rename);
    WICK_TRY(check_rules(ctx, o));
    WICK_TRY(wick_eval(ctx, 0, NULL, NULL)); /* what is pending belongs before what is loaded */
    const int states = wick_model_count(model);
    const size_t bytes = ((size_t)states + 1) * sizeof(int);
    loader *l = wick_calloc(NULL, sizeof *l);
    int *of_state = wick_alloc(NULL, bytes);
    wick_status status = l && of_state ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "weights: out of memory");
    if (status == WICK_OK) {
        *l = (loader){.w = w, .model = model, .ctx = ctx, .o = o, .of_state = of_state, .states = states};
        for (int i = 0; i < 3; i++) l->lists[i] = wick_str_on(l->text[i], sizeof l->text[i]);
        for (int i = 0; i < states; i++) of_state[i] = -1;
        status = load(l, report);
    }
    wick_release(NULL, of_state, bytes);
    wick_release(NULL, l, sizeof *l);
    return status;
}

wick_status wick_model_load_weights(wick_model *model, const char *path, const wick_weights_options *options,
                                    wick_load_report *report) {
    wick_weights *w;
    WICK_TRY(wick_weights_open(wick_model_context(model), path, &w));
    const wick_status status = wick_weights_load(w, model, options, report);
    wick_weights_free(&w);
    return status;
}
