/* Lines of text, written or spoken: a table names pictures or recordings beside it, and the text of each. Characters
 * (code points) are numbered by the training's texts, which the model's coding keeps: "lines" KIND LONGEST COLUMN, and
 * a line with the alphabet. Symbol 0 is the blank of the CTC. */
#include "source_kinds.h"

#include "text_table.h"
#include "../term/log.h"
#include "../term/utf8.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SYMBOLS = 20000, MOST_PATH = 4096, TOLD = 8 };

static const char prefix[] = "\"lines\" ";

typedef struct line_coding {
    bool sound;
    int64_t longest;
    char column[128];  /* as --text */
    uint32_t *letters; /* code points, in their order; symbol k is letters[k - 1] */
    int64_t n;
} line_coding;

typedef struct lines {
    int64_t n, longest, dims[3], rate;
    uint8_t *pixels; /* [n, channels, height, width] */
    float **sounds;  /* n of them, malloc'ed */
    int64_t *lengths;
    int64_t *labels; /* [n, longest], as source_open says */
} lines;

static size_t bytes_of(const lines *l) { return (size_t)(l->dims[0] * l->dims[1] * l->dims[2]); }
static const void *at(void *user, int64_t i, int field) {
    const lines *l = user;
    if (field) return l->labels + i * l->longest;
    return l->sounds ? (const void *)l->sounds[i] : (const void *)(l->pixels + (size_t)i * bytes_of(l));
}
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const lines *l = user;
    (void)fault;
    if (out[0]) memcpy(out[0], at(user, i, 0), l->sounds ? (size_t)l->lengths[i] * sizeof(float) : bytes_of(l));
    if (out[1]) memcpy(out[1], at(user, i, 1), (size_t)l->longest * sizeof *l->labels);
    return WICK_OK;
}
static int64_t length(void *user, int64_t i, int field) { return field ? -1 : ((const lines *)user)->lengths[i]; }
static void drop(void *user) {
    lines *l = user;
    for (int64_t i = 0; l->sounds && i < l->n; i++) free(l->sounds[i]);
    free(l->sounds);
    free(l->lengths);
    free(l->pixels);
    free(l->labels);
    free(l);
}
static wick_status no_memory(wick_context *ctx, const char *path) {
    return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
}

/* ---- the coding -------------------------------------------------------------------------------------------------- */

bool source_is_line_coding(const char *coding) { return coding && strncmp(coding, prefix, sizeof prefix - 1) == 0; }

static void put_letter(FILE *out, uint32_t code) {
    if (code < 0x80)
        fputc((int)code, out);
    else {
        static const uint32_t lead[] = {0, 0xC0, 0xE0, 0xF0};
        const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        fputc((int)(lead[more] | code >> (6 * more)), out);
        for (int k = more - 1; k >= 0; k--) fputc((int)(0x80 | (code >> (6 * k) & 0x3F)), out);
    }
}

static char *write_coding(const line_coding *c) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fprintf(out, "%s%s %lld %s\n", prefix, c->sound ? "recordings" : "pictures", (long long)c->longest, c->column);
    for (int64_t k = 0; k < c->n; k++) put_letter(out, c->letters[k]);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

static bool read_coding(const char *text, line_coding *c) {
    char kind[16];
    long long longest;
    int used = 0;
    if (!source_is_line_coding(text)) return false;
    text += sizeof prefix - 1;
    if (sscanf(text, "%15s %lld%n", kind, &longest, &used) != 2 || longest < 1 || longest > INT_MAX) return false;
    c->sound = strcmp(kind, "recordings") == 0;
    if (!c->sound && strcmp(kind, "pictures") != 0) return false;
    c->longest = longest;
    text += used + (text[used] == ' ');
    const size_t column = strcspn(text, "\n");
    if (column >= sizeof c->column || !text[column]) return false;
    memcpy(c->column, text, column);
    text += column + 1;
    c->letters = malloc((strlen(text) + 1) * sizeof *c->letters);
    for (int n; c->letters && *text; text += n) {
        n = utf8_length((const unsigned char *)text);
        if (!n || c->n == MOST_SYMBOLS) return false;
        c->letters[c->n++] = utf8_code((const unsigned char *)text, n);
        if (c->n > 1 && c->letters[c->n - 2] >= c->letters[c->n - 1]) return false;
    }
    return c->letters && c->n > 0;
}

int64_t source_line_longest(const char *coding) {
    line_coding c = {0};
    const int64_t longest = read_coding(coding, &c) ? c.longest : 1;
    free(c.letters);
    return longest;
}

char *source_line_text(const int64_t *labels, int64_t n, const char *const *names) {
    char *text = NULL;
    size_t size;
    FILE *out = n < 1 || labels[0] != SOURCE_NO_TEXT ? open_memstream(&text, &size) : NULL;
    for (int64_t i = 0; out && i < n && labels[i] != SOURCE_NO_LETTER; i++) {
        if (labels[i] > 0)
            fputs(names[labels[i]], out);
        else if (labels[i] <= SOURCE_UNKNOWN)
            put_letter(out, (uint32_t)(SOURCE_UNKNOWN - labels[i]));
    }
    if (!out || fclose(out) == 0) return text;
    free(text);
    return NULL;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static int by_code(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Without the blanks at its ends. */
static const char *trim(const char *text, size_t *bytes) {
    text += strspn(text, " ");
    *bytes = strlen(text);
    while (*bytes && text[*bytes - 1] == ' ') (*bytes)--;
    return text;
}

/* The code points of a text into `to`, where that is not NULL; how many. -1: one is a control character. */
static int64_t letters_of(const char *text, uint32_t *to) {
    size_t bytes;
    int64_t n = 0;
    text = trim(text, &bytes);
    for (const char *end = text + bytes; text < end; n++) {
        const int length_ = utf8_length((const unsigned char *)text);
        const uint32_t code = utf8_code((const unsigned char *)text, length_);
        if (code < 0x20 || code == 0x7F) return -1;
        if (to) to[n] = code;
        text += length_;
    }
    return n;
}

static wick_status count_letters(wick_context *ctx, const char *path, const text_table *t, int64_t *longest,
                                 int64_t *all) {
    *longest = 1, *all = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const int64_t n = t->rows[i].label ? letters_of(t->rows[i].label, NULL) : 0;
        if (n < 0)
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: its text has a control character", path,
                                     (long long)t->rows[i].line);
        if (n > *longest) *longest = n;
        *all += n;
    }
    return WICK_OK;
}

static wick_status learn_letters(wick_context *ctx, const char *path, const text_table *t, line_coding *c) {
    int64_t all, n = 0;
    const wick_status status = count_letters(ctx, path, t, &c->longest, &all);
    if (status != WICK_OK) return status;
    if (!all) return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: all texts are empty", path);
    c->letters = malloc((size_t)all * sizeof *c->letters);
    if (!c->letters) return no_memory(ctx, path);
    for (int64_t i = 0; i < t->n; i++) n += letters_of(t->rows[i].label, c->letters + n);
    qsort(c->letters, (size_t)n, sizeof *c->letters, by_code);
    for (int64_t i = 0; i < n; i++)
        if (!c->n || c->letters[c->n - 1] != c->letters[i]) c->letters[c->n++] = c->letters[i];
    if (c->n < MOST_SYMBOLS) return WICK_OK;
    return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: its texts have %lld different characters, more than %d", path,
                             (long long)c->n, MOST_SYMBOLS - 1);
}

/* Characters that the model doesn't know, for people. */
typedef struct strangers {
    uint32_t code[TOLD];
    int kinds;
    int64_t count;
} strangers;

static void meet(strangers *s, uint32_t code) {
    int k = 0;
    s->count++;
    while (k < s->kinds && s->code[k] != code) k++;
    if (k == s->kinds && k < TOLD) s->code[s->kinds++] = code;
}

static void tell_strangers(const char *path, const strangers *s) {
    char *text = NULL;
    size_t size;
    FILE *out = s->count ? open_memstream(&text, &size) : NULL;
    for (int k = 0; out && k < s->kinds; k++) fputs(k ? " '" : "'", out), put_letter(out, s->code[k]), fputc('\'', out);
    if (out && fclose(out) == 0)
        log_note("%s: %lld characters of its texts are none that the model learned, each of which counts as wrong, and "
                 "their texts for nothing in the loss: %s%s",
                 path, (long long)s->count, text, s->kinds == TOLD ? " ..." : "");
    free(text);
}

static wick_status encode(wick_context *ctx, const char *path, const text_table *t, const line_coding *c, lines *l) {
    int64_t all;
    strangers s = {0};
    const wick_status status = count_letters(ctx, path, t, &l->longest, &all);
    if (status != WICK_OK) return status;
    uint32_t *codes = malloc((size_t)l->longest * sizeof *codes);
    l->labels = malloc((size_t)(l->n * l->longest) * sizeof *l->labels);
    for (int64_t i = 0; codes && l->labels && i < l->n; i++) {
        int64_t *to = l->labels + i * l->longest;
        const int64_t n = t->rows[i].label ? letters_of(t->rows[i].label, codes) : 0;
        for (int64_t k = 0; k < l->longest; k++) to[k] = SOURCE_NO_LETTER;
        if (!t->rows[i].label) to[0] = SOURCE_NO_TEXT;
        for (int64_t k = 0; k < n; k++) {
            const uint32_t *known = bsearch(&codes[k], c->letters, (size_t)c->n, sizeof *codes, by_code);
            to[k] = known ? known - c->letters + 1 : SOURCE_UNKNOWN - (int64_t)codes[k];
            if (!known) meet(&s, codes[k]);
        }
    }
    const bool ok = codes && l->labels;
    free(codes);
    if (ok) tell_strangers(path, &s);
    return ok ? WICK_OK : no_memory(ctx, path);
}

/* Names of the symbols, which are what the network's numbers are of. */
static wick_status name_symbols(wick_context *ctx, const char *path, const line_coding *c, owned *o) {
    char *joined = NULL;
    size_t size;
    FILE *out = open_memstream(&joined, &size);
    const char **names = malloc((size_t)(c->n + 1) * sizeof *names);
    size_t *begin = malloc((size_t)(c->n + 1) * sizeof *begin);
    wick_status status = WICK_OK;
    for (int64_t k = 0; out && begin && k <= c->n; k++) {
        begin[k] = (size_t)ftell(out);
        if (k)
            put_letter(out, c->letters[k - 1]);
        else
            fputs(SOURCE_BLANK, out);
        fputc('\0', out);
    }
    if ((out && fclose(out) != 0) || !out || !names || !begin) status = no_memory(ctx, path);
    for (int64_t k = 0; status == WICK_OK && k <= c->n; k++) names[k] = joined + begin[k];
    if (status == WICK_OK) status = source_keep_names(ctx, path, names, c->n + 1, o);
    free(joined);
    free(names);
    free(begin);
    return status;
}

/* ---- pictures and recordings ------------------------------------------------------------------------------------- */

wick_status source_fit_line(wick_context *ctx, const wick_image *image, int64_t i, int64_t height, int64_t width,
                            uint8_t *to) {
    const int64_t *d = wick_image_dims(image), channels = d[0];
    int64_t wide = (2 * d[2] * height + d[1]) / (2 * d[1]);
    wide = wide < 1 ? 1 : wide > width ? width : wide;
    wick_image *sized = NULL;
    if (d[1] != height || d[2] != wide) {
        const wick_status status = wick_image_resize(ctx, image, height, wide, &sized);
        if (status != WICK_OK) return status;
    }
    const uint8_t *from = wick_image_pixels(sized ? sized : image, i);
    for (int64_t c = 0; c < channels; c++)
        for (int64_t y = 0; y < height; y++) {
            memcpy(to + (c * height + y) * width, from + (c * height + y) * wide, (size_t)wide);
            memset(to + (c * height + y) * width + wide, from[c * height * wide + wide - 1], (size_t)(width - wide));
        }
    wick_image_free(&sized);
    return WICK_OK;
}

static wick_status read_picture(wick_context *ctx, const char *file, int64_t i, lines *l) {
    const wick_pictures how = wick_context_pictures(ctx);
    wick_image *image;
    wick_status status = wick_image_open(ctx, file, i ? l->dims[0] : 0, &image);
    if (status != WICK_OK) return status;
    const int64_t *d = wick_image_dims(image);
    if (!i) {
        l->dims[0] = d[0];
        l->dims[1] = how.height ? how.height : d[1], l->dims[2] = how.height ? how.width : d[2];
        const size_t n = (size_t)l->n;
        if (bytes_of(l) < SIZE_MAX / 2 / n) l->pixels = malloc(n * bytes_of(l));
        if (!l->pixels)
            status = wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory: %zu pictures of %zu bytes", file, n,
                                       bytes_of(l));
    } else if (!how.height && memcmp(l->dims, d, sizeof l->dims) != 0)
        status =
            wick_context_fail(ctx, WICK_ERR_SHAPE, "%s: %lld x %lld pixels, and the first picture has %lld x %lld",
                              file, (long long)d[1], (long long)d[2], (long long)l->dims[1], (long long)l->dims[2]);
    if (status == WICK_OK)
        status = source_fit_line(ctx, image, 0, l->dims[1], l->dims[2], l->pixels + (size_t)i * bytes_of(l));
    wick_image_free(&image);
    return status;
}

/* At the rate that is asked for, or that of the first; else the set has none, which those who open it refuse. */
static wick_status read_sound(wick_context *ctx, const char *file, int64_t i, int64_t rate, lines *l) {
    wick_audio *audio, *other;
    wick_status status = wick_audio_open(ctx, file, 1, &audio);
    if (status == WICK_OK && rate && wick_audio_rate(audio) != rate) {
        status = wick_audio_resample(ctx, audio, rate, &other);
        wick_audio_free(&audio);
        audio = status == WICK_OK ? other : NULL;
    }
    if (status != WICK_OK) return status;
    const int64_t n = wick_audio_length(audio), is = wick_audio_rate(audio);
    l->rate = !i || l->rate == is ? is : 0;
    l->lengths[i] = n;
    l->sounds[i] = n ? malloc((size_t)n * sizeof(float)) : NULL;
    if (!n)
        status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no sample", file);
    else if (!l->sounds[i])
        status = no_memory(ctx, file);
    else
        memcpy(l->sounds[i], wick_audio_samples(audio, 0), (size_t)n * sizeof(float));
    wick_audio_free(&audio);
    return status;
}

static wick_status read_files(wick_context *ctx, const char *path, const text_table *t, const source_options *so,
                              bool sound, lines *l) {
    char file[MOST_PATH];
    wick_status status = WICK_OK;
    if (sound) {
        l->sounds = calloc((size_t)l->n, sizeof *l->sounds);
        l->lengths = calloc((size_t)l->n, sizeof *l->lengths);
        if (!l->sounds || !l->lengths) return no_memory(ctx, path);
    }
    for (int64_t i = 0; status == WICK_OK && i < l->n; i++) {
        if (!text_table_place(path, t->rows[i].text, file, sizeof file))
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: \"%.200s\" is no file beside the table",
                                     path, (long long)t->rows[i].line, t->rows[i].text);
        status = sound ? read_sound(ctx, file, i, so->rate, l) : read_picture(ctx, file, i, l);
        if (status == WICK_OK || status == WICK_ERR_SHAPE || status == WICK_ERR_NOMEM) continue;
        char why[1024];
        snprintf(why, sizeof why, "%s", wick_context_error(ctx));
        status = wick_context_fail(ctx, status, "%s, line %lld: %s", path, (long long)t->rows[i].line, why);
    }
    return status;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

bool source_is_lined(const wick_dataset *d) {
    const wick_spec *f = wick_dataset_field(d, 1);
    return f && f->dtype == WICK_I64 && f->rank == 1 && strcmp(f->name, "text") == 0;
}

bool source_has_lines(wick_context *ctx, const char *path, const source_options *so) {
    if (so->coding || so->task != TASK_AUTO) return source_is_line_coding(so->coding) || so->task == TASK_CTC;
    if ((so->target && *so->target) || (so->label && *so->label) || (so->text && *so->text) || so->window) return false;
    return text_table_has_files(ctx, path);
}

static wick_status make(wick_context *ctx, const char *path, const text_table *t, const source_options *so,
                        const line_coding *c, owned *o) {
    lines *l = calloc(1, sizeof *l);
    if (!l) return no_memory(ctx, path);
    l->n = t->n;
    wick_status status = encode(ctx, path, t, c, l);
    if (status == WICK_OK) status = read_files(ctx, path, t, so, c->sound, l);
    if (status == WICK_OK) status = name_symbols(ctx, path, c, o);
    wick_dataset_source source = {
        .count = l->n,
        .n_fields = 2,
        .fields = {{"image", WICK_U8, 3, {l->dims[0], l->dims[1], l->dims[2]}}, {"text", WICK_I64, 1, {l->longest}}},
        .get = get,
        .at = at,
        .free = drop,
        .user = l};
    if (c->sound) {
        source.fields[0] = (wick_spec){"audio", WICK_F32, 1, {-1}};
        source.length = length;
        source.rate = l->rate;
    }
    if (status == WICK_OK) status = wick_dataset_new(ctx, &source, &o->set);
    if (status != WICK_OK) drop(l);
    return status;
}

wick_status source_open_lines(wick_context *ctx, const char *path, const char *split, const source_options *so,
                              bool parted, owned *o) {
    line_coding c = {0};
    text_table table;
    if (so->coding && !read_coding(so->coding, &c)) {
        free(c.letters);
        return wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s: has texts to read, and the model learned from other data",
                                 path);
    }
    const text_columns columns = {.label = so->coding ? c.column : so->text,
                                  .files = true,
                                  .no_label = so->unlabelled,
                                  .separator = so->separator};
    wick_status status = text_table_read(ctx, path, parted ? split : "all", &columns, &table);
    if (status != WICK_OK) return free(c.letters), status;
    const bool first = !so->told && !so->coding, test = strcmp(split, "test") == 0;
    if (*table.others && first) log_note("%s: other columns are passed over: %s", path, table.others);
    if (parted && !table.parted && strcmp(split, "all") != 0) {
        text_table_take_fifth(&table, &columns, test);
        if (first) log_note("%s: a fifth of the texts, by a hash of each, is held out as test", path);
        if (!table.n || (!test && strcmp(split, "train") != 0))
            status = wick_context_fail(ctx, WICK_ERR_IO, "%s: has no part called %s", path, split);
    }
    if (status == WICK_OK && !so->coding) {
        c.sound = source_ends(table.rows[0].text, ".wav");
        snprintf(c.column, sizeof c.column, "%s", so->text ? so->text : "");
        status = learn_letters(ctx, path, &table, &c);
    }
    if (status == WICK_OK) status = make(ctx, path, &table, so, &c, o);
    if (status == WICK_OK && first)
        log_note("%s: %lld %s with texts of %lld different characters, %lld at most", path, (long long)table.n,
                 c.sound ? "recordings" : "pictures", (long long)c.n, (long long)c.longest);
    if (status == WICK_OK && !(o->coding = write_coding(&c))) status = no_memory(ctx, path);
    free(c.letters);
    text_table_free(&table);
    return status;
}
