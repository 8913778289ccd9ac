/* shard_stream.c: archives in WebDataset's layout, read from front to back: plain or packed, by memory that does not
 * grow with them.
 *
 * A record is a header and behind it the files of a sample, each aligned to 8 bytes; or, of a sample that is none, what
 * is wrong with it, so that the loader's policy decides. */
#include <stdarg.h>
#include <stdio.h>

#include "data/loader/order.h"
#include "data/remote/remote.h"
#include "data/sets/shards.h"
#include "wick/datasets.h"

enum { NAME = 256 };

typedef struct header {
    wick_status status; /* the sample's */
    char name[NAME];
    char text[512]; /* what is wrong with it */
    struct { size_t at, size; int64_t length; } cell[WICK_DATASET_FIELDS];
} header;

typedef struct reader {
    wick_allocator alloc;
    wick_arena arena;   /* paths, and the order they are read in */
    const char **paths; /* [n] */
    int *order, n;
    int at;       /* of the order: the shard that is open, or comes next */
    bool open;    /* map and tar */
    bool pending; /* tar is at the first file of the next sample */
    wick_map map;
    wick_tar *tar;
    wick_shard_sample *sample;
    wick_shard_fields of;
    wick_shard_stream_options options;
    wick_remote *remote, *own; /* NULL: no shard is a URL; own: freed with the reader */
    int64_t rate;              /* of the first recording */
} reader;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void close_shard(reader *r) {
    if (!r->open) return;
    wick_tar_close(r->tar);
    wick_map_close(&r->map);
    r->open = r->pending = false;
    r->at++;
}

static wick_status open_shard(reader *r, wick_msg *msg) {
    const char *path = r->paths[r->order[r->at]];
    WICK_TRY(wick_remote_map(r->remote, &r->map, path, msg));
    if (r->at + 1 < r->n) wick_remote_ahead(r->remote, r->paths[r->order[r->at + 1]]);
    const wick_status status = wick_tar_open(r->tar, r->map.data, r->map.size, path, msg);
    if (status != WICK_OK) wick_map_close(&r->map);
    r->open = status == WICK_OK;
    return status;
}

static WICK_PRINTF(3, 4) void spoil(header *h, wick_status status, const char *fmt, ...) { /* the first reason stays */
    if (h->status != WICK_OK) return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(h->text, sizeof h->text, fmt, args);
    va_end(args);
    h->status = status;
}

/* All of the first sample, by which the fields are chosen. */
static bool is_wanted(const reader *r, const char *end) {
    for (int k = 0; k < r->of.n; k++)
        if (strcmp(r->of.field[k].end, end) == 0) return true;
    return !r->of.n;
}

static wick_status take_file(reader *r, header *h, size_t *used, const char *end, wick_msg *msg) {
    wick_tar *t = r->tar;
    const size_t from = WICK_ALIGN_UP(*used, 8), most = r->options.most;
    const char *path = r->paths[r->order[r->at]];
    if (from > most || t->size > most - from) {
        spoil(h, WICK_ERR_UNSUPPORTED, "%s: its files have more than the %zu bytes that are read at once", h->name,
              most);
        return WICK_OK;
    }
    const wick_shard_cell c = {.data = (uint8_t *)(h + 1) + from, .size = t->size};
    wick_msg why = {0};
    const wick_status status = wick_shard_add(r->sample, end, &c, path, &why);
    if (status != WICK_OK) return spoil(h, status, "%s", why.text), WICK_OK;
    *used = from + t->size;
    return wick_tar_read(t, (uint8_t *)(h + 1) + from, msg);
}

/* What the files are: nothing while the fields are not chosen. */
static void close_sample(const reader *r, header *h) {
    for (int k = 0; k < r->of.n && h->status == WICK_OK; k++) {
        wick_msg msg = {0};
        int64_t rate = r->rate;
        const wick_shard_cell *found = wick_shard_find(&r->of, r->sample, k, h->name, &msg);
        wick_shard_cell c = found ? *found : (wick_shard_cell){0};
        const wick_status status = found ? wick_shard_measure(&r->of, k, &c, &rate, h->name, &msg) : WICK_ERR_FORMAT;
        const wick_shard_kind what = r->of.field[k].kind;
        if (status != WICK_OK) spoil(h, status, "%s", msg.text);
        else if (r->rate && rate != r->rate)
            spoil(h, WICK_ERR_FORMAT, "%s.%s: %lld samples a second; the first one has %lld", h->name,
                  r->of.field[k].end, (long long)rate, (long long)r->rate);
        else if ((what == WICK_SHARD_BYTES || what == WICK_SHARD_RECORDING) && c.length > r->options.longest)
            spoil(h, WICK_ERR_UNSUPPORTED, "%s.%s: is %lld long; at most %lld are taken", h->name, r->of.field[k].end,
                  (long long)c.length, (long long)r->options.longest);
        else if (what == WICK_SHARD_LABEL && r->options.classes && c.length >= r->options.classes)
            spoil(h, WICK_ERR_FORMAT, "%s: class %lld of %lld", h->name, (long long)c.length,
                  (long long)r->options.classes);
        if (h->status != WICK_OK) return;
        h->cell[k].at = (size_t)(c.data - (uint8_t *)(h + 1));
        h->cell[k].size = c.size;
        h->cell[k].length = c.length;
    }
}

static wick_status read_sample(reader *r, header *h, bool *end, wick_msg *msg) {
    wick_shard_sample *o = r->sample;
    size_t used = 0, key;
    const char *ending;
    *h = (header){.status = WICK_OK};
    o->begun = false;
    for (;;) {
        bool more = true;
        if (!r->open && r->at == r->n) return *end = true, WICK_OK;
        if (!r->open) WICK_TRY(open_shard(r, msg));
        if (!r->pending) WICK_TRY(wick_tar_next(r->tar, &more, msg));
        r->pending = false;
        if (!more) { /* no sample goes on in the next shard */
            close_shard(r);
            if (o->begun) break;
            continue;
        }
        if (!wick_shard_split(r->tar->name, &key, &ending)) continue;
        r->pending = o->begun && !wick_shard_same(o, r->tar->name, key);
        if (r->pending) break;
        if (!o->begun) {
            wick_shard_begin(o, r->tar->name, key);
            snprintf(h->name, sizeof h->name, "%.120s: %.120s", r->paths[r->order[r->at]], o->key);
        }
        if (is_wanted(r, ending)) WICK_TRY(take_file(r, h, &used, ending, msg));
    }
    close_sample(r, h);
    return WICK_OK;
}

/* ---- as a stream ------------------------------------------------------------------------------------------------- */

static wick_status next(void *user, void *record, bool *end, wick_fault *fault) {
    wick_msg msg = {0};
    const wick_status status = read_sample(user, record, end, &msg);
    return status == WICK_OK ? WICK_OK : wick_fault_set(fault, status, "%s", msg.text);
}

/* Where samples are shuffled, so are shards. */
static wick_status begin(void *user, int64_t epoch, wick_fault *fault) {
    reader *r = user;
    (void)fault;
    close_shard(r);
    r->at = 0;
    for (int i = 0; i < r->n; i++) r->order[i] = i;
    /* others than those that the buffer draws by */
    wick_words w = wick_words_of_epoch(~r->options.stream.seed, (uint64_t)epoch);
    for (int i = r->n - 1; r->options.stream.shuffle && i > 0; i--) {
        const int k = (int)wick_word_below(&w, (uint32_t)i + 1), was = r->order[i];
        r->order[i] = r->order[k];
        r->order[k] = was;
    }
    return WICK_OK;
}

static wick_status get(void *user, const void *record, void *const *out, wick_fault *fault) {
    reader *r = user;
    const header *h = record;
    if (h->status != WICK_OK) return wick_fault_set(fault, h->status, "%s", h->text);
    for (int k = 0; k < r->of.n; k++) {
        wick_msg msg = {0};
        const wick_shard_cell c = {
            .data = (const uint8_t *)(h + 1) + h->cell[k].at, .size = h->cell[k].size, .length = h->cell[k].length};
        const wick_status status = out[k] ? wick_shard_decode(&r->of, k, &c, out[k], h->name, &msg) : WICK_OK;
        if (status != WICK_OK) return wick_fault_set(fault, status, "%s", msg.text);
    }
    return WICK_OK;
}

static int64_t length(void *user, const void *record, int field) {
    return (void)user, ((const header *)record)->cell[field].length;
}

static void release(void *user) {
    reader *r = user;
    const wick_allocator alloc = r->alloc;
    close_shard(r);
    wick_remote_free(&r->own);
    wick_shard_fields_free(&r->of);
    wick_release(&alloc, r->tar, sizeof *r->tar);
    wick_release(&alloc, r->sample, sizeof *r->sample);
    wick_arena_free(&r->arena);
    wick_release(&alloc, r, sizeof *r);
}

/* The fields are those of the first sample, which is read for it. */
static wick_status choose(reader *r, size_t record, wick_msg *msg) {
    header *h = wick_alloc(&r->alloc, record);
    bool end = false;
    wick_status status =
        h ? begin(r, 0, NULL) : wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu bytes", r->paths[0], record);
    for (int i = 0; i < r->n; i++) r->order[i] = i; /* of the first shard */
    if (status == WICK_OK) status = read_sample(r, h, &end, msg);
    if (status == WICK_OK && end) status = wick_msg_set(msg, WICK_ERR_FORMAT, "%s: holds no sample", r->paths[0]);
    if (status == WICK_OK && h->status != WICK_OK) status = wick_msg_set(msg, h->status, "%s", h->text);
    if (status == WICK_OK) status = wick_shard_choose(&r->of, r->sample, NULL, NULL, r->paths[0], msg);
    for (int k = 0; k < r->of.n && status == WICK_OK; k++)
        if (r->of.field[k].kind == WICK_SHARD_RECORDING && !r->rate) {
            wick_shard_cell c = *wick_shard_find(&r->of, r->sample, k, h->name, msg);
            status = wick_shard_measure(&r->of, k, &c, &r->rate, h->name, msg);
        }
    wick_release(&r->alloc, h, record);
    return status;
}

static reader *new_reader(wick_context *ctx, int n, const char *const *paths,
                          const wick_shard_stream_options *options) {
    reader *r = wick_calloc(&ctx->alloc, sizeof *r);
    if (!r) return NULL;
    r->alloc = ctx->alloc;
    wick_arena_init(&r->arena, &r->alloc, 0);
    wick_shard_fields_init(&r->of);
    r->of.codecs.how = ctx->options.pictures;
    r->options = *options;
    if (!r->options.most) r->options.most = (size_t)1 << 20;
    if (!r->options.longest) r->options.longest = 1 << 16;
    r->tar = wick_calloc(&r->alloc, sizeof *r->tar);
    r->sample = wick_calloc(&r->alloc, sizeof *r->sample);
    r->paths = wick_arena_zalloc(&r->arena, (size_t)n * sizeof *r->paths);
    r->order = wick_arena_zalloc(&r->arena, (size_t)n * sizeof *r->order);
    bool ok = r->tar && r->sample && r->paths && r->order;
    for (r->n = 0; ok && r->n < n; r->n++) ok = (r->paths[r->n] = wick_arena_strdup(&r->arena, paths[r->n]));
    if (!ok) release(r);
    return ok ? r : NULL;
}

wick_status wick_dataset_of_shard_stream(wick_context *ctx, int n, const char *const *paths,
                                         const wick_shard_stream_options *options, wick_dataset **out) {
    if (n > 0 && !paths) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_of_shard_stream: paths is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_of_shard_stream: out is NULL");
    static const wick_shard_stream_options standard = {0};
    wick_msg msg = {0};
    *out = NULL;
    if (!options) options = &standard;
    if (n < 1 || n > WICK_SHARDS_MAX)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: %d shards; there are 1 to %d", n, WICK_SHARDS_MAX);
    for (int i = 0; i < n; i++)
        if (!paths[i]) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: shard %d is NULL", i);
    if (options->longest < 0 || options->classes < 0 || options->classes > WICK_SHARD_CLASSES ||
        options->most > PTRDIFF_MAX / 2)
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "dataset: a stream of shards of samples of %zu bytes, %lld long, of %lld classes",
                                 options->most, (long long)options->longest, (long long)options->classes);
    reader *r = new_reader(ctx, n, paths, options);
    if (!r) return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory");
    wick_stream_source source = {.record = sizeof(header) + r->options.most,
                                 .next = next,
                                 .begin = begin,
                                 .get = get,
                                 .length = length,
                                 .free = release,
                                 .user = r};
    wick_status status = wick_remote_for(ctx, n, paths, options->remote, &r->remote, &r->own, &msg);
    if (status == WICK_OK) status = choose(r, source.record, &msg);
    if (status != WICK_OK) {
        (void)wick_context_fail(ctx, status, "dataset: %s", msg.text);
        release(r);
        return status;
    }
    source.n_fields = r->of.n;
    source.rate = r->rate;
    wick_shard_specs(&r->of, source.fields);
    for (int k = 0; k < r->of.n; k++) source.longest[k] = r->options.longest;
    if (r->of.n && r->of.field[r->of.n - 1].kind == WICK_SHARD_LABEL) source.classes = r->options.classes;
    status = wick_dataset_of_stream(ctx, &source, &options->stream, out);
    if (status != WICK_OK) release(r);
    return status;
}
