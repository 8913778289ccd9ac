/* Texts: what is learned of each is a class, or a tag for each of its words. Tokens are numbered by what the training
 * texts have, which the model's coding keeps: "text" KIND LENGTH COLUMN, a line of tags with tabs between, and a line
 * for each token. */
#include "source_kinds.h"

#include "text_table.h"
#include "vocabulary.h"
#include "../paths.h"
#include "../term/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TAGS = 254, NONE = 255, MOST_LENGTH = 4096, USUAL_LENGTH = 512 };
enum { WORDS = 20000, SUBWORDS = 4000, MOST_SUBWORDS = 32000 }; /* of vocabularies */

static const char prefix[] = "\"text\" ";
static const char *const kinds[VOCABULARY_KINDS] = {"words", "bytes", "tags", "characters", "subwords"};

/* How texts become numbers. */
typedef struct text_coding {
    vocabulary_kind kind;
    int64_t length;
    char column[128];
    vocabulary *words;
    char *names; /* of tags or classes, joined by tabs; NULL: not yet */
} text_coding;

typedef struct texts {
    int64_t n, rows, length;
    float *tokens;  /* [n, rows, length] */
    int64_t *label; /* [n], of classes; or NULL */
    uint8_t *tags;  /* [n, length], or NULL */
    char **names;
    int64_t classes;
} texts;

static const void *at(void *user, int64_t i, int field) {
    const texts *t = user;
    if (!field) return t->tokens + i * t->rows * t->length;
    return t->tags ? (const void *)(t->tags + i * t->length) : (const void *)(t->label + i);
}
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const texts *t = user;
    (void)fault;
    if (out[0]) memcpy(out[0], at(user, i, 0), (size_t)(t->rows * t->length) * sizeof *t->tokens);
    if (out[1] && t->tags) memcpy(out[1], at(user, i, 1), (size_t)t->length);
    if (out[1] && !t->tags) *(int64_t *)out[1] = t->label[i];
    return WICK_OK;
}
static int64_t label_of(void *user, int64_t i) {
    const texts *t = user;
    return t->label ? t->label[i] : -1;
}
static const char *class_name(void *user, int64_t k) { return ((const texts *)user)->names[k]; }
static void drop(void *user) {
    texts *t = user;
    if (!t) return;
    for (int64_t k = 0; k < t->classes; k++) free(t->names[k]);
    free(t->names);
    free(t->tokens);
    free(t->label);
    free(t->tags);
    free(t);
}
static wick_status no_memory(wick_context *ctx, const char *path) {
    return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
}

/* ---- the coding -------------------------------------------------------------------------------------------------- */

bool source_is_text_coding(const char *coding) { return coding && strncmp(coding, prefix, sizeof prefix - 1) == 0; }

static char *write_coding(const text_coding *c) {
    char *words = vocabulary_write(c->words), *text = NULL;
    if (!words || asprintf(&text, "%s%s %lld %s\n%s\n%s", prefix, kinds[c->kind], (long long)c->length, c->column,
                           c->kind == VOCABULARY_TAGS ? c->names : "", words) < 0)
        text = NULL;
    free(words);
    return text;
}

static void free_coding(text_coding *c) {
    vocabulary_free(c->words);
    free(c->names);
}

/* False: it is none, or out of memory. */
static bool read_coding(const char *text, text_coding *c) {
    char kind[16];
    long long length;
    int used = 0, k = 0;
    if (!source_is_text_coding(text)) return false;
    text += sizeof prefix - 1;
    if (sscanf(text, "%15s %lld%n", kind, &length, &used) != 2 || length < 1 || length > MOST_LENGTH) return false;
    while (k < VOCABULARY_KINDS && strcmp(kinds[k], kind) != 0) k++;
    text += used + (text[used] == ' ');
    const size_t column = strcspn(text, "\n"), names = text[column] ? strcspn(text + column + 1, "\n") : 0;
    if (k == VOCABULARY_KINDS || column >= sizeof c->column || !text[column] || !text[column + 1 + names]) return false;
    memcpy(c->column, text, column);
    c->kind = (vocabulary_kind)k, c->length = length;
    c->names = strndup(text + column + 1, names);
    c->words = c->names ? vocabulary_read(c->kind, text + column + names + 2) : NULL;
    return c->words != NULL;
}

/* ---- what is learned --------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    return (*(const int64_t *)a > *(const int64_t *)b) - (*(const int64_t *)a < *(const int64_t *)b);
}
static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* As long as the longest of tagged sentences; of others as 99 of 100 are. */
static int64_t usual_length(const text_table *t, const text_coding *c) {
    int64_t *lengths = malloc((size_t)t->n * sizeof *lengths), length = 1;
    if (!lengths) return 0;
    for (int64_t i = 0; i < t->n; i++) lengths[i] = vocabulary_length(c->words, t->rows[i].text);
    qsort(lengths, (size_t)t->n, sizeof *lengths, by_value);
    length = lengths[c->kind == VOCABULARY_TAGS ? t->n - 1 : (t->n - 1) * 99 / 100];
    free(lengths);
    return length < 1 ? 1 : length > USUAL_LENGTH ? USUAL_LENGTH : length;
}

/* The labels, or the tags in them, without repeats, in the order of their bytes; tags begin with O. NULL: no memory. */
static char *all_names(const text_table *t, bool tags, int64_t *count) {
    int64_t n = 0, room = 0;
    char **names = NULL, *joined = NULL;
    size_t size;
    bool ok = true;
    for (int64_t i = 0; ok && i < t->n; i++) {
        const char *text = t->rows[i].label;
        while (ok && text && *text) {
            text += tags ? strspn(text, " ") : 0;
            const size_t length = tags ? strcspn(text, " ") : strlen(text);
            int64_t k = n;
            while (k > 0 && (strncmp(names[k - 1], text, length) != 0 || names[k - 1][length])) k--;
            if (!k && length) {
                if (n == room) {
                    char **more = realloc(names, (size_t)(room = 2 * room + 64) * sizeof *more);
                    if (!(ok = more != NULL)) break;
                    names = more;
                }
                ok = (names[n] = strndup(text, length)) != NULL;
                n += ok;
            }
            text += length;
        }
    }
    if (n) qsort(names, (size_t)n, sizeof *names, by_name);
    for (int64_t k = n - 1; k > 0 && tags; k--)
        if (strcmp(names[k], "O") == 0) {
            char *none = names[k];
            names[k] = names[k - 1], names[k - 1] = none;
        }
    FILE *out = ok ? open_memstream(&joined, &size) : NULL;
    for (int64_t k = 0; out && k < n; k++) fprintf(out, "%s%s", k ? "\t" : "", names[k]);
    if (out && fclose(out) != 0) free(joined), joined = NULL;
    for (int64_t k = 0; k < n; k++) free(names[k]);
    free(names);
    *count = n;
    return joined;
}

/* Joined names, apart. */
static bool split_names(texts *t, const char *joined) {
    int64_t n = 1;
    for (const char *s = joined; *s; s++) n += *s == '\t';
    t->names = calloc((size_t)n, sizeof *t->names);
    for (; t->names && t->classes < n; t->classes++) {
        const size_t length = strcspn(joined, "\t");
        if (!(t->names[t->classes] = strndup(joined, length))) return false;
        joined += length + (joined[length] != '\0');
    }
    return t->names != NULL;
}

static wick_status learn(wick_context *ctx, const char *path, const source_options *so, const text_table *t,
                         text_coding *c) {
    c->kind = VOCABULARY_WORDS;
    if (so->task == TASK_TAG) c->kind = VOCABULARY_TAGS;
    for (int k = 0; so->task != TASK_TAG && so->tokens && k < VOCABULARY_KINDS; k++)
        if (strcmp(so->tokens, kinds[k]) == 0) c->kind = (vocabulary_kind)k;
    const int64_t most = so->vocabulary > 0 ? so->vocabulary : c->kind == VOCABULARY_SUBWORDS ? SUBWORDS : WORDS;
    if (c->kind == VOCABULARY_SUBWORDS && most > MOST_SUBWORDS)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "--vocabulary %lld: of subwords at most %d are learned",
                                 (long long)most, MOST_SUBWORDS);
    snprintf(c->column, sizeof c->column, "%s", so->text ? so->text : "");
    c->words = vocabulary_new(c->kind);
    bool ok = c->words;
    for (int64_t i = 0; ok && i < t->n; i++) ok = vocabulary_count(c->words, t->rows[i].text);
    ok = ok && vocabulary_fix(c->words, most);
    if (ok) c->length = so->length > 0 ? so->length : usual_length(t, c);
    if (!ok || !c->length) return no_memory(ctx, path);
    log_note("%s: %lld texts as %s, %lld of them kept apart (as many as %s), %lld places each", path, (long long)t->n,
             kinds[c->kind], (long long)vocabulary_size(c->words),
             c->kind == VOCABULARY_BYTES ? "there are bytes" : "occur twice, with padding and unknown ones",
             (long long)c->length);
    return WICK_OK;
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* One of each text; of tagged ones longer than a sample as many as they take. */
static int64_t count_samples(const text_table *t, const text_coding *c) {
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const int64_t length = vocabulary_length(c->words, t->rows[i].text);
        n += c->kind == VOCABULARY_TAGS && length > 0 ? (length + c->length - 1) / c->length : 1;
    }
    return n;
}

static wick_status take_tags(wick_context *ctx, const char *path, const text_row *row, int64_t words, uint8_t *to,
                             int64_t samples, const texts *t) {
    const char *text = row->label;
    int64_t n = 0;
    memset(to, NONE, (size_t)(samples * t->length));
    for (text += text ? strspn(text, " ") : 0; text && *text; n++) {
        const size_t length = strcspn(text, " ");
        int64_t k = 0;
        while (k < t->classes && (strncmp(t->names[k], text, length) != 0 || t->names[k][length])) k++;
        if (k == t->classes)
            return wick_context_fail(ctx, WICK_ERR_MISMATCH,
                                     "%s, line %lld: the tag \"%.*s\" is none of the %lld that the model knows", path,
                                     (long long)row->line, length > 60 ? 60 : (int)length, text, (long long)t->classes);
        if (n < words) to[n] = (uint8_t)k;
        text += length, text += strspn(text, " ");
    }
    if (row->label && n != words)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: has %lld words and %lld tags", path,
                                 (long long)row->line, (long long)words, (long long)n);
    return WICK_OK;
}

static int64_t class_of(const texts *t, const char *name) {
    char *const *found =
        name && t->classes ? bsearch(&name, t->names, (size_t)t->classes, sizeof *t->names, by_name) : NULL;
    return found ? found - t->names : -1;
}

static wick_status fill(wick_context *ctx, const char *path, const text_table *table, const text_coding *c, texts *t) {
    int64_t sample = 0, cut = 0;
    for (int64_t i = 0; i < table->n; i++) {
        const text_row *row = &table->rows[i];
        const int64_t length = vocabulary_length(c->words, row->text), before = sample;
        do {
            float *to = t->tokens + sample * t->rows * t->length;
            vocabulary_encode(c->words, row->text, (sample - before) * t->length, t->length, to);
            sample++;
        } while (t->tags && (sample - before) * t->length < length);
        cut += length > t->length;
        if (t->label) t->label[before] = class_of(t, row->label);
        if (!t->tags) continue;
        const wick_status status = take_tags(ctx, path, row, length, t->tags + before * t->length, sample - before, t);
        if (status != WICK_OK) return status;
    }
    if (cut)
        log_note(t->tags ? "%s: %lld texts are longer than %lld words: each is taken in pieces"
                         : "%s: %lld texts are longer than %lld tokens: what is behind is left out",
                 path, (long long)cut, (long long)t->length);
    return WICK_OK;
}

static wick_status make(wick_context *ctx, const char *path, const text_table *table, const text_coding *c, owned *o) {
    texts *t = calloc(1, sizeof *t);
    if (!t) return no_memory(ctx, path);
    t->rows = vocabulary_rows(c->kind), t->length = c->length;
    t->n = count_samples(table, c);
    const bool tags = c->kind == VOCABULARY_TAGS;
    t->tokens = malloc((size_t)(t->n * t->rows * t->length) * sizeof *t->tokens);
    if (tags)
        t->tags = malloc((size_t)(t->n * t->length));
    else
        t->label = malloc((size_t)t->n * sizeof *t->label);
    wick_status status = t->tokens && (t->tags || t->label) && (!*c->names || split_names(t, c->names))
                             ? fill(ctx, path, table, c, t)
                             : no_memory(ctx, path);
    const char *const *names = (const char *const *)t->names;
    if (status == WICK_OK && tags) status = source_keep_names(ctx, path, names, t->classes, o);
    const wick_dataset_source source = {
        .count = t->n,
        .n_fields = 2,
        .fields = {{"tokens", WICK_F32, 2, {t->rows, t->length}},
                   tags ? (wick_spec){"tags", WICK_U8, 1, {t->length}} : (wick_spec){"label", WICK_I64, 0, {0}}},
        .get = get,
        .at = at,
        .label = label_of,
        .classes = tags ? 0 : t->classes,
        .class_name = tags ? NULL : class_name,
        .free = drop,
        .user = t};
    if (status == WICK_OK) status = wick_dataset_new(ctx, &source, &o->set);
    if (status != WICK_OK) drop(t);
    return status;
}

/* ---- which rows -------------------------------------------------------------------------------------------------- */

bool source_is_text(const char *path, const source_options *so) {
    if (so->coding) return source_is_text_coding(so->coding);
    if (so->task == TASK_TAG) return true;
    if ((so->task != TASK_AUTO && so->task != TASK_CLASSIFY) || (so->target && *so->target) || so->window) return false;
    if (so->text && *so->text) return true;
    return text_table_is(path, NULL);
}

bool source_text_has_val(wick_context *ctx, const char *path) {
    const text_columns columns = {.no_label = true};
    text_table t;
    if (!text_table_is(path, NULL) || text_table_read(ctx, path, "val", &columns, &t) != WICK_OK)
        return wick_context_clear_error(ctx), false;
    const bool has = t.parted;
    text_table_free(&t);
    return has;
}

wick_status source_open_text(wick_context *ctx, const char *path, const char *split, const source_options *so,
                             bool parted, owned *o) {
    text_coding c = {0};
    text_table table;
    if (so->coding && !read_coding(so->coding, &c)) {
        free_coding(&c);
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "the model's coding of texts is none: it begins \"%.40s\"",
                                 so->coding);
    }
    const bool tags = so->coding ? c.kind == VOCABULARY_TAGS : so->task == TASK_TAG;
    const text_columns columns = {.text = so->coding ? c.column : so->text,
                                  .label = so->label,
                                  .tags = tags,
                                  .no_label = so->unlabelled,
                                  .separator = so->separator};
    wick_status status = text_table_read(ctx, path, parted ? split : "all", &columns, &table);
    if (status != WICK_OK) return free_coding(&c), status;
    if (*table.others && !so->told && !so->coding)
        log_note("%s: what is learned from is the text; the other columns are passed over: %s", path, table.others);
    if (parted && !table.parted && strcmp(split, "all") != 0) {
        const bool test = strcmp(split, "test") == 0;
        text_table_take_fifth(&table, &columns, test);
        if (!so->told && !so->coding)
            log_note("%s: a fifth of the texts, by a hash of each, is held out as test", path);
        if (!table.n || (!test && strcmp(split, "train") != 0))
            status = wick_context_fail(ctx, WICK_ERR_IO, "%s: has no part called %s", path, split);
    }
    if (status == WICK_OK && !so->coding) status = learn(ctx, path, so, &table, &c);
    int64_t n = 0;
    char *names = status == WICK_OK ? all_names(&table, tags, &n) : NULL;
    if (status == WICK_OK && !names) status = no_memory(ctx, path);
    if (status == WICK_OK && tags && n > MOST_TAGS && !so->coding)
        status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has %lld different tags, more than %d", path,
                                   (long long)n, MOST_TAGS);
    if (status == WICK_OK && !tags && !so->coding)
        status = source_check_names(ctx, path, "label", &(class_look){.samples = table.n, .classes = n});
    if (tags && so->coding)
        free(names);
    else
        free(c.names), c.names = names;
    if (status == WICK_OK) status = make(ctx, path, &table, &c, o);
    if (status == WICK_OK && !(o->coding = write_coding(&c))) status = no_memory(ctx, path);
    free_coding(&c);
    text_table_free(&table);
    return status;
}

/* ---- of a model -------------------------------------------------------------------------------------------------- */

int64_t source_text_tokens(const char *coding) {
    text_coding c = {0};
    const int64_t n = read_coding(coding, &c) ? vocabulary_size(c.words) : 0;
    free_coding(&c);
    return n;
}

char *source_text_words(const char *coding, const float *tokens) {
    text_coding c = {0};
    char *text = NULL;
    size_t size;
    FILE *out = read_coding(coding, &c) ? open_memstream(&text, &size) : NULL;
    const bool parts = c.kind == VOCABULARY_CHARACTERS || c.kind == VOCABULARY_SUBWORDS;
    for (int64_t i = 0; out && i < c.length && tokens[i] > 0; i++) {
        const char *token = vocabulary_token(c.words, (int64_t)tokens[i]);
        const bool blank = parts ? strncmp(token, VOCABULARY_BLANK, strlen(VOCABULARY_BLANK)) == 0 : true;
        if (c.kind == VOCABULARY_BYTES)
            fputc((int)tokens[i] - 2, out);
        else
            fprintf(out, "%s%s", i && blank ? " " : "", token + (parts && blank ? strlen(VOCABULARY_BLANK) : 0));
    }
    if (out && fclose(out) != 0) free(text), text = NULL;
    free_coding(&c);
    return text;
}

char **source_texts(wick_context *ctx, const char *path, const char *coding, char separator, int64_t *n) {
    text_coding c = {0};
    text_table table = {0};
    char **list = NULL;
    int64_t sample = 0;
    *n = 0;
    if (read_coding(coding, &c)) {
        const text_columns columns = {
            .text = c.column, .tags = c.kind == VOCABULARY_TAGS, .no_label = true, .separator = separator};
        if (text_table_read(ctx, path, "all", &columns, &table) == WICK_OK)
            *n = count_samples(&table, &c);
        else
            wick_context_clear_error(ctx);
        list = calloc((size_t)*n + 1, sizeof *list);
    }
    for (int64_t i = 0; list && i < table.n; i++) {
        const char *text = table.rows[i].text;
        int64_t length = vocabulary_length(c.words, text), width;
        list[sample++] = strdup(text);
        for (int64_t at = c.length; c.kind == VOCABULARY_TAGS && at < length; at += c.length) {
            const char *begin;
            list[sample++] = vocabulary_word(text, at, &begin, &width) ? strdup(begin) : NULL;
        }
    }
    text_table_free(&table);
    free_coding(&c);
    return list;
}
