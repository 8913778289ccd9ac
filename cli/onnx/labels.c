#include "labels.h"

#include "../file_types.h"
#include "../paths.h"
#include "../term/log.h"

#include "wick/ops.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int read_names(labels *l, const char *path) {
    const file_kind *kind = kind_of(path);
    const bool text = kind ? strcmp(kind->format, "text") == 0 : errno == ENOTSUP; /* a pipe will do */
    if (!text) return kind_refuse(path, kind, "a list of names, a line each");
    size_t size;
    if (!(l->text = path_read(path, &size)))
        return log_fail(CLI_BAD_FILE, "%s: cannot be read: %s", path, strerror(errno));
    size_t lines = 1;
    for (const char *s = l->text; *s; s++) lines += *s == '\n';
    if (!(l->names = calloc(lines, sizeof *l->names))) return log_fail(CLI_FAILED, "out of memory");
    for (char *rest = l->text, *line; (line = strsep(&rest, "\n"));) {
        if (!rest && !*line) break;
        const size_t n = strlen(line);
        if (n && line[n - 1] == '\r') line[n - 1] = 0;
        l->names[l->n++] = line;
    }
    return CLI_OK;
}

int labels_open(labels *l, const cli_options *o) {
    *l = (labels){.top = o->of_run.topk ? o->of_run.topk : *o->of_run.labels ? 5 : 0};
    return *o->of_run.labels ? read_names(l, o->of_run.labels) : CLI_OK;
}

void labels_free(labels *l) {
    free(l->text);
    free(l->names);
    *l = (labels){0};
}

bool labels_fit(wick_tensor *x) {
    const int r = wick_tensor_rank(x);
    const wick_dtype d = wick_tensor_dtype(x);
    return r > 0 && wick_tensor_dim(x, r - 1) > 1 && wick_tensor_count(x) == wick_tensor_dim(x, r - 1) &&
           (d == WICK_F32 || d == WICK_F64 || d == WICK_F16 || d == WICK_BF16);
}

typedef struct score {
    int64_t number;
    double value;
} score;
/* Higher ones first, of equal ones the lower number; NaN last. */
static int by_score(const void *a, const void *b) {
    const score *x = a, *y = b;
    if (isnan(x->value) != isnan(y->value)) return isnan(x->value) ? 1 : -1;
    return x->value != y->value && !isnan(x->value) ? (x->value < y->value) - (x->value > y->value)
                                                    : (x->number > y->number) - (x->number < y->number);
}

/* Malloc'ed; NULL: none. */
static score *scores_of(wick_tensor *x, int64_t *n) {
    *n = wick_tensor_count(x);
    score *s = malloc((size_t)*n * sizeof *s);
    double *v = malloc((size_t)*n * sizeof *v);
    const bool good = s && v && wick_read(wick_cast(x, WICK_F64), v, (size_t)*n * sizeof *v) == WICK_OK;
    for (int64_t i = 0; good && i < *n; i++) s[i] = (score){i, v[i]};
    free(v);
    if (!good) {
        free(s);
        return NULL;
    }
    qsort(s, (size_t)*n, sizeof *s, by_score);
    return s;
}

void labels_print(const labels *l, wick_tensor *x) {
    int64_t n;
    score *s = scores_of(x, &n);
    for (int64_t i = 0; s && i < n && i < l->top; i++) {
        printf("%12.6g  ", s[i].value);
        if (n == l->n) log_print("%s\n", l->names[s[i].number]);
        else printf("class %lld\n", (long long)s[i].number);
    }
    free(s);
}

void labels_json(json *j, const labels *l, wick_tensor *x) {
    int64_t n;
    score *s = scores_of(x, &n);
    json_open(j, "top", '[');
    for (int64_t i = 0; s && i < n && i < l->top; i++) {
        json_open(j, NULL, '{');
        json_integer(j, "class", s[i].number);
        json_text(j, "label", n == l->n ? l->names[s[i].number] : NULL);
        json_real(j, "score", s[i].value, 9);
        json_close(j, '}');
    }
    json_close(j, ']');
    free(s);
}
