/* Where the heads of samples (source_heads.h) are: columns of a table, or arrays of a .npz or safetensors file. */
#include "source_heads.h"
#include "text_table.h"

#include "../term/log.h"

#include "wick/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_pattern(const char *name) { return strchr(name, '*') != NULL; }

/* Whether a known head was learned from numbers: classes and labels may have been texts. */
static bool was_numbers(const head *h) {
    bool numbers = true;
    if (h->kind == HEAD_NUMBERS || is_pattern(h->name)) return true;
    if (h->kind == HEAD_LABELS) return strncmp(h->outputs[0], h->name, strlen(h->name)) == 0;
    for (int64_t k = 0; k < h->n && numbers; k++) {
        char *end;
        (void)strtod(h->outputs[k], &end);
        numbers = end != h->outputs[k] && !*end;
    }
    return numbers;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

typedef struct table_reader {
    heads_reader r;
    wick_csv_options form; /* how its text is read */
    wick_csv *header;      /* its columns by name */
} table_reader;

static bool has_column(const wick_csv *csv, const char *name) {
    bool has = false;
    for (int c = 0; c < wick_csv_columns(csv); c++) {
        const char *column = wick_csv_column_at(csv, c)->name;
        has |= strcmp(column, name) == 0 || (is_pattern(name) && heads_match(name, column));
    }
    return has;
}

/* The columns of that name or pattern as numbers. */
static wick_status read_numbers(const table_reader *t, const char *name, found *f) {
    wick_context *ctx = t->r.ctx;
    wick_csv_options form = t->form;
    form.target = name;
    wick_status status = wick_csv_read(ctx, t->r.path, &form, &f->csv);
    if (status == WICK_OK) status = wick_dataset_of_csv(ctx, f->csv, &f->set);
    if (status != WICK_OK) return status;
    f->rows = wick_csv_rows(f->csv);
    f->names = malloc((size_t)(wick_csv_columns(f->csv) + 1) * sizeof *f->names);
    for (int c = 0; f->names && c < wick_csv_columns(f->csv); c++)
        if (wick_csv_column_at(f->csv, c)->target) f->names[f->n++] = wick_csv_column_at(f->csv, c)->name;
    f->numbers = malloc((size_t)(f->rows * f->n + 1) * sizeof *f->numbers);
    if (!f->names || !f->numbers) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", t->r.path);
    for (int64_t i = 0; i < f->rows && status == WICK_OK; i++)
        status = wick_dataset_get(f->set, i, (void *[WICK_DATASET_FIELDS]){NULL, f->numbers + i * f->n}, NULL);
    return status;
}

static wick_status read_texts(const table_reader *t, const char *name, found *f) {
    wick_context *ctx = t->r.ctx;
    wick_csv_options form = t->form;
    form.label = name;
    wick_status status = wick_csv_read(ctx, t->r.path, &form, &f->csv);
    if (status == WICK_OK) status = wick_dataset_of_csv(ctx, f->csv, &f->set);
    if (status != WICK_OK) return status;
    f->rows = wick_csv_rows(f->csv);
    int column = 0;
    while (strcmp(wick_csv_column_at(f->csv, column)->name, name) != 0) column++;
    f->k = wick_csv_column_at(f->csv, column)->categories;
    f->texts = malloc((size_t)(f->k + 1) * sizeof *f->texts);
    f->at = malloc((size_t)(f->rows + 1) * sizeof *f->at);
    if (!f->texts || !f->at) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", t->r.path);
    for (int64_t k = 0; k < f->k; k++) f->texts[k] = wick_csv_category(f->csv, column, k);
    for (int64_t i = 0; i < f->rows; i++) f->at[i] = wick_dataset_label(f->set, i);
    return WICK_OK;
}

static wick_status fetch_columns(heads_reader *r, const head *h, found *f) {
    const table_reader *t = (const table_reader *)r; /* its first member */
    if (!has_column(t->header, h->name)) {
        if (r->so->unlabelled) return f->rows = -1, WICK_OK;
        return wick_context_fail(r->ctx, r->known ? WICK_ERR_MISMATCH : WICK_ERR_INVALID,
                                 "%s: has no column \"%.100s\", which is %s", r->path, h->name,
                                 is_pattern(h->name) ? "a pattern of what is to be learned" : "to be learned");
    }
    if (r->known) return was_numbers(h) ? read_numbers(t, h->name, f) : read_texts(t, h->name, f);
    const wick_status status = read_numbers(t, h->name, f);
    /* that it holds texts is what the error says, where numbers were not asked for */
    if (status != WICK_ERR_INVALID || h->kind == HEAD_NUMBERS || is_pattern(h->name)) return status;
    wick_context_clear_error(r->ctx);
    found_free(f);
    return read_texts(t, h->name, f);
}

/* Features are all columns but those of heads and what --skip says. */
static char *columns_to_skip(const heads *h, const char *skip) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fputs(skip ? skip : "", out);
    for (int i = 0; i < h->n; i++) fprintf(out, "%s%s", i || (skip && *skip) ? "|" : "", h->list[i].name);
    const bool failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed) return text;
    free(text);
    return NULL;
}

/* Rows of which nothing but their number counts. */
static wick_status number_of_row(void *user, int64_t i, void *const *out, wick_fault *fault) {
    (void)user, (void)fault;
    if (out[0]) *(int64_t *)out[0] = i;
    return WICK_OK;
}

/* The pictures that a column names, of which the rest of the table says what they are. */
static wick_status open_pictures(const table_reader *t, const char *files, owned *o) {
    wick_context *ctx = t->r.ctx;
    const wick_dataset_source rows = {
        .count = wick_csv_rows(t->header), .n_fields = 1, .fields = {{"row", WICK_I64, 0, {0}}}, .get = number_of_row};
    wick_csv_options plain = t->form;
    plain.skip = NULL, plain.unlabelled = false;
    if (!(o->coding = strdup(wick_csv_coding(t->header))))
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", t->r.path);
    wick_status status = source_take_hashes(ctx, t->r.path, t->header, t->r.so->coding, o);
    if (status == WICK_OK) status = wick_dataset_new(ctx, &rows, &o->set);
    if (status != WICK_OK) return status;
    if (!t->r.known)
        log_note("%s: \"%s\" names pictures, which are what is learned from; of the other columns only what is learned "
                 "counts",
                 t->r.path, files);
    return source_make_pictures(ctx, t->r.path, plain, files, o);
}

/* The samples, without what is learned of them. */
static wick_status open_samples(table_reader *t, bool parted, owned *o) {
    heads_reader *r = &t->r;
    char files[64];
    const bool pictures = (!r->known || r->so->pictures) && source_has_pictures(r->ctx, r->path, t->form, files);
    if (pictures) {
        r->rows = wick_csv_rows(t->header);
        return open_pictures(t, files, o);
    }
    if (r->known && r->so->pictures)
        return wick_context_fail(r->ctx, WICK_ERR_MISMATCH, "%s: has no column with names of pictures beside it",
                                 r->path);
    source_options so = *r->so;
    const char *section = heads_in(so.coding);
    char *coding = section ? strndup(so.coding, (size_t)(section - so.coding)) : NULL,
         *skip = columns_to_skip(r->heads, so.skip);
    wick_status status = skip && (coding || !section)
                             ? WICK_OK
                             : wick_context_fail(r->ctx, WICK_ERR_NOMEM, "%s: out of memory", r->path);
    for (int i = 0; i < r->heads->n && status == WICK_OK; i++)
        if (strpbrk(r->heads->list[i].name, "|?"))
            status = wick_context_fail(r->ctx, WICK_ERR_UNSUPPORTED,
                                       "%s: the name of column \"%.100s\" has a | or a ? in it, and a head's may not",
                                       r->path, r->heads->list[i].name);
    so.task = TASK_HEADS;
    so.coding = coding;
    so.skip = skip;
    so.target = so.label = so.heads = NULL;
    if (status == WICK_OK) status = source_open_table(r->ctx, r->path, &so, parted, o);
    if (status == WICK_OK) r->rows = wick_dataset_count(o->set);
    free(coding);
    free(skip);
    return status;
}

static wick_csv_options form_of(const char *path, const source_options *so) {
    return (wick_csv_options){.separator = so->separator            ? so->separator
                                           : source_is_tabbed(path) ? '\t'
                                                                    : 0,
                              .decimal = so->decimal,
                              .no_header = so->no_header,
                              .skip = "*",
                              .unlabelled = true};
}

wick_status source_open_headed_table(wick_context *ctx, const char *path, const source_options *so, bool parted,
                                     owned *o) {
    table_reader t = {.form = form_of(path, so)};
    if (!so->coding && !(so->skip && *so->skip) && text_table_is(path, NULL))
        return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                 "%s: has a column of texts, of which one class is learned, or tags, and not several "
                                 "heads; --skip NAME leaves it out",
                                 path);
    wick_status status = heads_begin(ctx, path, so, &t.r);
    if (status == WICK_OK) status = wick_csv_read(ctx, path, &t.form, &t.header);
    if (status == WICK_OK) status = open_samples(&t, parted, o);
    if (status == WICK_OK) status = heads_take(&t.r, fetch_columns);
    if (status == WICK_OK) status = heads_join(&t.r, o);
    wick_csv_free(&t.header);
    heads_end(&t.r);
    return status;
}

bool source_targets_differ(wick_context *ctx, const char *path, const source_options *so) {
    char error[512];
    int texts = 0;
    table_reader t = {.form = form_of(path, so), .r = {.ctx = ctx, .path = path, .so = so}};
    heads *h = so->target && *so->target ? heads_read(so->target, false, error, sizeof error) : NULL;
    if (h && h->n > 1 && wick_csv_read(ctx, path, &t.form, &t.header) == WICK_OK)
        for (int i = 0; i < h->n; i++) {
            found f = {0};
            const bool there = has_column(t.header, h->list[i].name);
            if (there && read_numbers(&t, h->list[i].name, &f) != WICK_OK)
                texts += strstr(wick_context_error(ctx), "is no number") != NULL;
            found_free(&f);
        }
    wick_context_clear_error(ctx);
    wick_csv_free(&t.header);
    heads_free(&h);
    return texts > 0;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

typedef struct tensors_reader {
    heads_reader r;
    const wick_weights *file;
    const char *split; /* by the names of its arrays; NULL: they have none */
} tensors_reader;

/* Whether an array is that of the head, as it is called or with its split. */
static bool is_of(const tensors_reader *t, const char *array, const char *head_name) {
    char base[SOURCE_BASE], asked[SOURCE_BASE];
    if (!t->split) return strcmp(array, head_name) == 0;
    const bool named = source_strip_split(head_name, "train", asked) || source_strip_split(head_name, "test", asked);
    return source_strip_split(array, t->split, base) && strcmp(base, named ? asked : head_name) == 0;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static wick_status take_texts(const tensors_reader *t, const wick_texts *texts, found *f) {
    f->rows = texts->count;
    f->texts = malloc((size_t)(f->rows + 1) * sizeof *f->texts);
    f->at = malloc((size_t)(f->rows + 1) * sizeof *f->at);
    if (!f->texts || !f->at) return wick_context_fail(t->r.ctx, WICK_ERR_NOMEM, "%s: out of memory", t->r.path);
    for (int64_t i = 0; i < f->rows; i++)
        if (*texts->texts[i]) f->texts[f->k++] = texts->texts[i];
    qsort((void *)f->texts, (size_t)f->k, sizeof *f->texts, by_text);
    int64_t n = 0;
    for (int64_t i = 0; i < f->k; i++)
        if (!n || strcmp(f->texts[i], f->texts[n - 1]) != 0) f->texts[n++] = f->texts[i];
    f->k = n;
    for (int64_t i = 0; i < f->rows; i++) {
        const char **found_at = bsearch(&texts->texts[i], (void *)f->texts, (size_t)n, sizeof *f->texts, by_text);
        f->at[i] = found_at ? found_at - f->texts : -1; /* an empty one says nothing */
    }
    return WICK_OK;
}

/* "hr", or of several numbers "hr[0]", "hr[1]". */
static wick_status name_numbers(const tensors_reader *t, const char *name, found *f) {
    const size_t room = strlen(name) + 24;
    f->held = malloc((size_t)f->n * room);
    f->names = malloc((size_t)f->n * sizeof *f->names);
    if (!f->held || !f->names) return wick_context_fail(t->r.ctx, WICK_ERR_NOMEM, "%s: out of memory", t->r.path);
    for (int64_t k = 0; k < f->n; k++) {
        f->names[k] = f->held + (size_t)k * room;
        if (f->n == 1)
            strcpy(f->held, name);
        else
            snprintf(f->held + (size_t)k * room, room, "%s[%lld]", name, (long long)k);
    }
    return WICK_OK;
}

static wick_status take_numbers(const tensors_reader *t, int i, const head *h, found *f) {
    wick_context *ctx = t->r.ctx;
    const wick_spec spec = wick_weights_at(t->file, i);
    const void *data;
    if ((spec.rank != 1 && spec.rank != 2) || (spec.rank == 2 && spec.dims[1] < 1))
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: \"%s\" has %d dims, and what is learned has [n] or [n, k]",
                                 t->r.path, spec.name, spec.rank);
    f->rows = spec.dims[0], f->n = spec.rank == 2 ? spec.dims[1] : 1;
    wick_status status = wick_data(wick_cast(wick_weights_tensor(t->file, i), WICK_F32), &data);
    if (status == WICK_OK) status = name_numbers(t, h->name, f);
    if (status != WICK_OK) return status;
    const size_t bytes = (size_t)(f->rows * f->n) * sizeof *f->numbers;
    if (!(f->numbers = malloc(bytes + 1)))
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", t->r.path);
    memcpy(f->numbers, data, bytes);
    return WICK_OK;
}

static wick_status fetch_array(heads_reader *r, const head *h, found *f) {
    const tensors_reader *t = (const tensors_reader *)r; /* its first member */
    wick_texts texts;
    for (int i = 0; i < wick_weights_count(t->file); i++)
        if (is_of(t, wick_weights_at(t->file, i).name, h->name)) return take_numbers(t, i, h, f);
    for (int i = 0; wick_weights_texts_at(t->file, i, &texts); i++)
        if (is_of(t, texts.name, h->name)) return take_texts(t, &texts, f);
    if (r->so->unlabelled) return f->rows = -1, WICK_OK;
    return wick_context_fail(r->ctx, r->known ? WICK_ERR_MISMATCH : WICK_ERR_INVALID,
                             "%s: has no array \"%.100s%s%s\", which is to be learned", r->path, h->name,
                             t->split ? "_" : "", t->split ? t->split : "");
}

wick_status source_open_headed_tensors(wick_context *ctx, const char *path, const char *split,
                                       const source_options *given, bool parted, owned *o) {
    tensors_reader t = {0};
    source_options so = *given;
    wick_weights *file = NULL;
    wick_scope *scope = NULL;
    wick_status status = heads_begin(ctx, path, given, &t.r);
    const char *section = heads_in(so.coding);
    char *coding = section ? strndup(so.coding, (size_t)(section - so.coding)) : NULL;
    so.task = TASK_HEADS;
    so.coding = coding;
    so.target = so.label = so.heads = NULL;
    if (status == WICK_OK && section && !coding)
        status = wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    if (status == WICK_OK) status = source_open_tensors(ctx, path, split, &so, parted, o);
    if (status == WICK_OK) status = wick_weights_open(ctx, path, &file);
    if (status == WICK_OK && !(scope = wick_scope_open(ctx)))
        status = wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    if (status == WICK_OK) {
        bool divided;
        t.file = file;
        t.split = parted ? source_split_named(file, split, &divided) : NULL;
        t.r.rows = wick_dataset_count(o->set);
        status = heads_take(&t.r, fetch_array);
    }
    if (scope) wick_scope_close(&scope);
    if (status == WICK_OK) status = heads_join(&t.r, o);
    wick_weights_free(&file);
    free(coding);
    heads_end(&t.r);
    return status;
}
