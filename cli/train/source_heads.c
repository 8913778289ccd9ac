/* Samples of which several things are learned at once (heads.h): columns of a table, or arrays beside the samples, each
 * a class, numbers or labels. Their targets are put behind the samples, laid out as the network's numbers. */
#include "source_heads.h"

#include "../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a column has ------------------------------------------------------------------------------------------- */

void found_free(found *f) {
    wick_dataset_free(&f->set);
    wick_csv_free(&f->csv);
    free(f->numbers);
    free(f->at);
    free(f->texts);
    free(f->names);
    free(f->held);
    *f = (found){0};
}

static int by_number(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}
static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static wick_status no_memory(wick_context *ctx, const char *path) {
    return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
}

static bool add_output(head *to, const char *name) {
    char **more = realloc(to->outputs, (size_t)(to->n + 1) * sizeof *more);
    if (!more) return false;
    to->outputs = more;
    if (!(more[to->n] = strdup(name))) return false;
    to->n++;
    return true;
}

/* The different ones of the numbers that are there, in order; malloc'ed, NULL: out of memory. */
static float *different(const found *f, class_look *look) {
    float *v = malloc((size_t)(f->rows + !f->rows) * sizeof *v);
    int64_t n = 0;
    *look = (class_look){.numbers = true, .whole = true};
    for (int64_t i = 0; v && i < f->rows; i++)
        if (!isnan(f->numbers[i])) v[look->samples++] = f->numbers[i];
    if (v) qsort(v, (size_t)look->samples, sizeof *v, by_number);
    for (int64_t i = 0; v && i < look->samples; i++) {
        look->whole &= v[i] == floorf(v[i]);
        if (!n || v[i] != v[n - 1]) v[n++] = v[i];
    }
    look->classes = n;
    if (v && n) look->low = (double)v[0], look->high = (double)v[n - 1];
    return v;
}

static bool are_zero_or_one(const found *f) {
    bool are = true;
    for (int64_t i = 0; i < f->rows * f->n && are; i++)
        are = isnan(f->numbers[i]) || f->numbers[i] == 0 || f->numbers[i] == 1;
    return are;
}

/* The next of the labels in a cell, its length in *n; NULL: there is none. They have ; or | between, and - says that
 * there is none. */
static const char *next_label(const char **cell, int *n) {
    for (;;) {
        *cell += strspn(*cell, " ;|");
        if (!**cell) return NULL;
        const char *from = *cell;
        *cell += strcspn(*cell, ";|");
        *n = (int)(*cell - from);
        while (from[*n - 1] == ' ') (*n)--;
        if (*n != 1 || *from != '-') return from;
    }
}

static int64_t find_output(const head *h, const char *name, int length) {
    int64_t low = 0, high = h->n;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        int order = strncmp(h->outputs[middle], name, (size_t)length);
        if (!order) order = h->outputs[middle][length] != 0;
        if (!order) return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* ---- what a head is ---------------------------------------------------------------------------------------------- */

static wick_status refuse(const heads_reader *r, const head *h, const char *why) {
    return wick_context_fail(r->ctx, WICK_ERR_FORMAT, "%s: \"%.100s\" %s", r->path, h->name, why);
}

/* Labels of texts, in the order of their bytes. */
static wick_status settle_labels(const heads_reader *r, head *h, const found *f) {
    char **all = NULL;
    size_t n = 0, room = 0;
    bool ok = true;
    for (int64_t k = 0; k < f->k && ok; k++) {
        int length;
        for (const char *cell = f->texts[k], *label; ok && (label = next_label(&cell, &length));) {
            if (n == room) {
                room = room ? 2 * room : 64;
                char **more = realloc(all, room * sizeof *all);
                ok = more != NULL;
                if (ok) all = more;
            }
            ok = ok && (all[n] = strndup(label, (size_t)length)) && ++n;
        }
    }
    if (ok && n) qsort(all, n, sizeof *all, by_text);
    for (size_t i = 0; i < n; i++)
        if (ok && (!i || strcmp(all[i], all[i - 1]) != 0)) ok = add_output(h, all[i]);
    for (size_t i = 0; i < n; i++) free(all[i]);
    free(all);
    if (!ok) return no_memory(r->ctx, r->path);
    return h->n ? WICK_OK : refuse(r, h, "has no label in any row");
}

static wick_status settle_texts(const heads_reader *r, head *h, const found *f) {
    if (h->kind == HEAD_NUMBERS) return refuse(r, h, "has texts, and is to be a number");
    if (h->kind == HEAD_LABELS) return settle_labels(r, h, f);
    h->kind = HEAD_CLASSES;
    const class_look look = {.samples = f->rows, .classes = f->k};
    const wick_status status = source_check_names(r->ctx, r->path, h->name, &look);
    if (status != WICK_OK) return status;
    for (int64_t k = 0; k < f->k; k++)
        if (!add_output(h, f->texts[k])) return no_memory(r->ctx, r->path);
    return WICK_OK;
}

/* The numbers of one column: a class of each, or learned as they are. */
static wick_status settle_column(const heads_reader *r, head *h, const found *f) {
    class_look look;
    float *v = different(f, &look);
    wick_status status = v ? WICK_OK : no_memory(r->ctx, r->path);
    if (status == WICK_OK && !look.samples) status = refuse(r, h, "has no value in any row");
    if (status == WICK_OK && h->kind == HEAD_AUTO) {
        h->kind = source_are_targets(&look) ? HEAD_NUMBERS : HEAD_CLASSES;
        if (h->kind == HEAD_NUMBERS)
            log_note("%s: \"%.100s\" has %s (%lld different ones, from %.6g to %.6g): it is learned as a number",
                     r->path, h->name,
                     look.whole ? "almost as many numbers as a measurement has" : "numbers that are not whole",
                     (long long)look.classes, look.low, look.high);
    }
    if (status == WICK_OK && h->kind == HEAD_LABELS && !are_zero_or_one(f))
        status = refuse(r, h, "has other numbers than 0 and 1: a label is there, or not");
    if (status == WICK_OK && h->kind == HEAD_CLASSES && (fabs(look.low) > 0x1p24 || fabs(look.high) > 0x1p24))
        status = refuse(r, h, "has numbers above 2^24, which as 32-bit floats are not told apart: they are no classes");
    if (status == WICK_OK && h->kind != HEAD_CLASSES && !add_output(h, f->names[0]))
        status = no_memory(r->ctx, r->path);
    for (int64_t k = 0; status == WICK_OK && h->kind == HEAD_CLASSES && k < look.classes; k++) {
        char number[32];
        snprintf(number, sizeof number, "%.9g", (double)v[k]);
        if (!add_output(h, number)) status = no_memory(r->ctx, r->path);
    }
    free(v);
    return status;
}

/* Several columns that a pattern says, or an array with several numbers for each sample. */
static wick_status settle_columns(const heads_reader *r, head *h, const found *f) {
    const bool labels = are_zero_or_one(f);
    if (h->kind == HEAD_CLASSES)
        return refuse(r, h, "has several numbers in each row, and a class is one column or array of its own");
    if (h->kind == HEAD_LABELS && !labels)
        return refuse(r, h, "has other numbers than 0 and 1: a label is there, or not");
    if (h->kind == HEAD_AUTO) h->kind = labels ? HEAD_LABELS : HEAD_NUMBERS;
    for (int64_t k = 0; k < f->n; k++)
        if (!add_output(h, f->names[k])) return no_memory(r->ctx, r->path);
    return WICK_OK;
}

static wick_status settle(const heads_reader *r, head *h, const found *f) {
    wick_status status = !f->numbers ? settle_texts(r, h, f)
                         : f->n == 1 ? settle_column(r, h, f)
                                     : settle_columns(r, h, f);
    if (status == WICK_OK && h->kind == HEAD_CLASSES && h->n < 2)
        status = refuse(r, h, "is to be a class, and there are not two of them");
    for (int64_t k = 0; k < h->n && status == WICK_OK; k++)
        if (strpbrk(h->outputs[k], "\f\t\n"))
            status = refuse(r, h, "has a tab, a line or a page that ends in the name of a class or label");
    return status;
}

/* ---- targets of a row -------------------------------------------------------------------------------------------- */

static wick_status unknown(const heads_reader *r, const head *h, int64_t row, const char *what, int length) {
    return wick_context_fail(r->ctx, WICK_ERR_MISMATCH,
                             "%s: \"%.100s\": row %lld is \"%.*s\", which is not among the %lld %s that were learned",
                             r->path, h->name, (long long)row, length > 100 ? 100 : length, what, (long long)h->n,
                             h->kind == HEAD_CLASSES ? "classes" : "labels");
}

/* Which class a number is; -1: none. */
static int64_t class_of_number(const head *h, float v) {
    char number[32];
    snprintf(number, sizeof number, "%.9g", (double)v);
    for (int64_t k = 0; k < h->n; k++)
        if (strcmp(h->outputs[k], number) == 0) return k;
    return -1;
}

static wick_status put_texts(const heads_reader *r, const head *h, const found *f, int64_t i, float *to) {
    const int64_t at = f->at[i];
    if (at < 0) return WICK_OK;
    for (int64_t k = 0; k < h->n; k++) to[k] = 0;
    if (h->kind == HEAD_CLASSES) {
        const char *text = f->texts[at];
        const int64_t k = find_output(h, text, (int)strlen(text));
        if (k < 0) return unknown(r, h, i, text, (int)strlen(text));
        to[k] = 1;
        return WICK_OK;
    }
    int length;
    for (const char *cell = f->texts[at], *label; (label = next_label(&cell, &length));) {
        const int64_t k = find_output(h, label, length);
        if (k < 0) return unknown(r, h, i, label, length);
        to[k] = 1;
    }
    return WICK_OK;
}

static wick_status put_numbers(const heads_reader *r, const head *h, const found *f, int64_t i, float *to) {
    const float *v = f->numbers + i * f->n;
    if (h->kind == HEAD_CLASSES) {
        const int64_t k = isnan(*v) ? -1 : class_of_number(h, *v);
        char number[32];
        if (isnan(*v)) return WICK_OK;
        snprintf(number, sizeof number, "%.9g", (double)*v);
        if (k < 0) return unknown(r, h, i, number, (int)strlen(number));
        for (int64_t c = 0; c < h->n; c++) to[c] = c == k;
        return WICK_OK;
    }
    for (int64_t k = 0; k < h->n; k++) {
        const float x = v[k];
        if (isinf(x))
            return wick_context_fail(r->ctx, WICK_ERR_FORMAT, "%s: \"%.100s\": row %lld is more than 32 bits can hold",
                                     r->path, h->outputs[k], (long long)i);
        if (h->kind == HEAD_LABELS && !isnan(x) && x != 0 && x != 1)
            return wick_context_fail(r->ctx, WICK_ERR_FORMAT,
                                     "%s: \"%.100s\": row %lld is %.9g, and a label is 0 or 1: there, or not", r->path,
                                     h->outputs[k], (long long)i, (double)x);
        to[k] = x;
    }
    return WICK_OK;
}

/* Another file may have the columns of a pattern in another order, or others beside them. */
static wick_status order_columns(const heads_reader *r, const head *h, found *f) {
    float *ordered = malloc((size_t)(f->rows * h->n + 1) * sizeof *ordered);
    wick_status status = ordered ? WICK_OK : no_memory(r->ctx, r->path);
    for (int64_t k = 0; k < h->n && status == WICK_OK; k++) {
        int64_t from = 0;
        while (from < f->n && strcmp(f->names[from], h->outputs[k]) != 0) from++;
        if (from == f->n && !r->so->unlabelled)
            status = wick_context_fail(r->ctx, WICK_ERR_MISMATCH, "%s: has no \"%.100s\", which is to be learned",
                                       r->path, h->outputs[k]);
        for (int64_t i = 0; i < f->rows && status == WICK_OK; i++)
            ordered[i * h->n + k] = from < f->n ? f->numbers[i * f->n + from] : NAN;
    }
    free(f->numbers);
    f->numbers = ordered;
    f->n = h->n;
    return status;
}

wick_status heads_put(heads_reader *r, int i, found *f, int64_t *missing) {
    const head *h = &r->heads->list[i];
    wick_status status = WICK_OK;
    *missing = 0;
    if (f->rows != r->rows)
        return wick_context_fail(r->ctx, WICK_ERR_FORMAT, "%s: \"%.100s\" has %lld rows, and there are %lld samples",
                                 r->path, h->name, (long long)f->rows, (long long)r->rows);
    if (f->numbers && h->kind != HEAD_CLASSES) status = order_columns(r, h, f);
    if (status == WICK_OK && !f->numbers && h->kind == HEAD_NUMBERS)
        status = refuse(r, h, "has texts, and was learned as a number");
    if (status == WICK_OK && f->numbers && h->kind == HEAD_CLASSES && f->n != 1)
        status = refuse(r, h, "has several numbers in each row, and was learned as a class");
    for (int64_t row = 0; row < f->rows && status == WICK_OK; row++) {
        float *to = r->targets + row * r->heads->outputs + h->first;
        status = f->numbers ? put_numbers(r, h, f, row, to) : put_texts(r, h, f, row, to);
        *missing += isnan(to[0]);
    }
    return status;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static void say(const heads_reader *r, const int64_t *missing) {
    for (int i = 0; i < r->heads->n; i++) {
        const head *h = &r->heads->list[i];
        static const char *const nouns[] = {"", "class", "number", "label"};
        log_note("head \"%.100s\": %lld %s%s, weight %g", h->name, (long long)h->n, nouns[h->kind],
                 h->n == 1                 ? ""
                 : h->kind == HEAD_CLASSES ? "es"
                                           : "s",
                 h->weight);
        if (missing[i])
            log_note("%s: %lld of %lld rows say nothing of \"%.100s\": they have no part in its loss and scores",
                     r->path, (long long)missing[i], (long long)r->rows, h->name);
    }
}

static wick_status make_targets(heads_reader *r) {
    heads *h = r->heads;
    h->outputs = 0;
    for (int i = 0; i < h->n; i++) h->list[i].first = h->outputs, h->outputs += h->list[i].n;
    if ((size_t)h->outputs > SIZE_MAX / 8 / (size_t)(r->rows + 1)) return no_memory(r->ctx, r->path);
    r->targets = malloc((size_t)(h->outputs * r->rows + 1) * sizeof *r->targets);
    for (int64_t i = 0; r->targets && i < h->outputs * r->rows; i++) r->targets[i] = NAN;
    return r->targets ? WICK_OK : no_memory(r->ctx, r->path);
}

wick_status heads_take(heads_reader *r, heads_fetch *fetch) {
    found *all = calloc(MOST_HEADS, sizeof *all);
    int64_t missing[MOST_HEADS] = {0};
    const int n = r->heads->n;
    wick_status status = all ? WICK_OK : no_memory(r->ctx, r->path);
    for (int i = 0; i < n && status == WICK_OK; i++) {
        status = fetch(r, &r->heads->list[i], &all[i]);
        if (status == WICK_OK && !r->known) status = settle(r, &r->heads->list[i], &all[i]);
    }
    if (status == WICK_OK) status = make_targets(r);
    for (int i = 0; i < n && status == WICK_OK; i++)
        if (all[i].rows >= 0) status = heads_put(r, i, &all[i], &missing[i]);
    if (status == WICK_OK && !r->known) say(r, missing);
    for (int i = 0; all && i < n; i++) found_free(&all[i]);
    free(all);
    return status;
}

/* ---- samples with their targets ---------------------------------------------------------------------------------- */

typedef struct headed {
    wick_dataset *samples;
    float *targets; /* [samples, outputs] */
    int64_t outputs;
} headed;
static const void *at(void *user, int64_t i, int field) {
    const headed *h = user;
    return field ? h->targets + i * h->outputs : wick_dataset_at(h->samples, i, 0);
}
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const headed *h = user;
    if (out[1]) memcpy(out[1], h->targets + i * h->outputs, (size_t)h->outputs * sizeof *h->targets);
    return out[0] ? wick_dataset_get(h->samples, i, (void *[WICK_DATASET_FIELDS]){out[0]}, fault) : WICK_OK;
}
static void drop(void *user) {
    headed *h = user;
    wick_dataset_free(&h->samples);
    free(h->targets);
    free(h);
}

static wick_status name_outputs(const heads_reader *r, owned *o) {
    const char **names = malloc((size_t)r->heads->outputs * sizeof *names);
    int64_t k = 0;
    if (!names) return no_memory(r->ctx, r->path);
    for (int i = 0; i < r->heads->n; i++)
        for (int64_t c = 0; c < r->heads->list[i].n; c++) names[k++] = r->heads->list[i].outputs[c];
    const wick_status status = source_keep_names(r->ctx, r->path, names, k, o);
    free(names);
    return status;
}

/* What was learned of the samples, and the heads behind it. */
static wick_status write_coding(const heads_reader *r, owned *o) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return no_memory(r->ctx, r->path);
    fputs(o->coding, out);
    heads_write(out, r->heads);
    const bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed || !text) return free(text), no_memory(r->ctx, r->path);
    free(o->coding);
    o->coding = text;
    return WICK_OK;
}

wick_status heads_join(heads_reader *r, owned *o) {
    headed *h = malloc(sizeof *h);
    wick_dataset *made = NULL;
    wick_status status = h ? name_outputs(r, o) : no_memory(r->ctx, r->path);
    if (status == WICK_OK) status = write_coding(r, o);
    if (status != WICK_OK) return free(h), status;
    *h = (headed){.samples = o->set, .targets = r->targets, .outputs = r->heads->outputs};
    const wick_dataset_source source = {
        .count = r->rows,
        .n_fields = 2,
        .fields = {*wick_dataset_field(o->set, 0), {"heads", WICK_F32, 1, {r->heads->outputs}}},
        .get = get,
        .at = at,
        .free = drop,
        .user = h};
    status = wick_dataset_new(r->ctx, &source, &made);
    if (status != WICK_OK) return free(h), status;
    r->targets = NULL;
    o->set = made;
    o->targets = o->headed = true;
    return WICK_OK;
}

wick_status heads_begin(wick_context *ctx, const char *path, const source_options *so, heads_reader *r) {
    const char *section = heads_in(so->coding);
    char error[512];
    *r = (heads_reader){.ctx = ctx, .path = path, .so = so, .known = section != NULL};
    if (so->coding && !section)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: the model does not say what its heads are", path);
    const char *named = so->heads && *so->heads ? so->heads : so->target;
    if (!section && !(named && *named))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "%s: --heads says what is learned, as \"rhythm=classes*0.5, hr=number, tags=labels\"",
                                 path);
    r->heads = section ? heads_read_coding(section) : heads_read(named, named == so->heads, error, sizeof error);
    if (r->heads) return WICK_OK;
    return section
               ? wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: the heads of the model are damaged", path)
               : wick_context_fail(ctx, WICK_ERR_INVALID, "--%s: %s", named == so->heads ? "heads" : "target", error);
}
void heads_end(heads_reader *r) {
    heads_free(&r->heads);
    free(r->targets);
}
