/* stream.c: a data set of samples that come one after the other. Those that were read lie in a ring until they are
 * asked for, since a loader's threads ask a little out of order:
 *
 *   source ──► shuffle: a buffer of which the next one is drawn ──►
 *   ring: [head - window, head) ──► get: each sample once
 *
 * Records change places by their pointers and are not copied. One lock is held while the source reads; what a sample is
 * made of its record for, decoding, is done outside of it. */
#include "data/sets/stream.h"

#include <pthread.h>

#include "data/loader/order.h"
#include "wick/datasets.h"

enum { WINDOW = 1024 };

typedef struct entry {
    uint8_t *record;
    int64_t number; /* of the sample in its epoch; -1: none */
    bool taken, pinned; /* pinned: it is being decoded */
} entry;

struct wick_stream {
    wick_allocator alloc;
    wick_stream_source source;
    wick_stream_options options;
    uint8_t *rooms; /* [window + shuffle] records */
    size_t room;
    entry *ring;      /* [window] */
    uint8_t **buffer; /* [shuffle] */
    int64_t buffered;
    int64_t epoch, head; /* the sample that is read next; epoch -1: nothing is */
    int64_t wanted;      /* the epoch that `again` is for */
    int64_t taken;       /* behind the last one that was handed over */
    bool again;          /* an epoch begins before anything is read */
    bool touched;        /* something was read, ever */
    bool dry;            /* the source has ended */
    wick_words words;
    wick_stream_state state; /* at `head` */
    wick_status status;
    wick_fault fault; /* of BROKEN */
    pthread_mutex_t lock;
    pthread_cond_t decoded;
};

/* ---- reading, under the lock ------------------------------------------------------------------------------------- */

static void break_off(wick_stream *s, wick_status status) {
    s->state = WICK_STREAM_BROKEN;
    s->status = status;
}

static void read_record(wick_stream *s, uint8_t *to) {
    s->touched = true;
    s->fault.text[0] = 0;
    const wick_status status = s->source.next(s->source.user, to, &s->dry, &s->fault);
    if (status != WICK_OK) break_off(s, status);
}

/* What was left of the epoch before is read over where the source only goes on: samples of its count. */
static void restart(wick_stream *s) {
    const bool next_one = !s->source.begin && s->options.count && s->state == WICK_STREAM_GOES_ON && s->touched &&
                          s->wanted == s->epoch + 1;
    for (uint8_t *room = s->ring[0].record;
         next_one && s->head < s->options.count && s->state == WICK_STREAM_GOES_ON && !s->dry; s->head++)
        read_record(s, room);
    s->again = false;
    if (s->state == WICK_STREAM_BROKEN && next_one) return;
    s->state = WICK_STREAM_GOES_ON;
    s->epoch = s->wanted;
    s->head = s->taken = 0;
    s->words = wick_words_of_epoch(s->options.seed, (uint64_t)s->epoch);
    for (int64_t i = 0; i < s->options.window; i++) s->ring[i].number = -1;
    if (next_one) return;
    s->dry = false;
    s->buffered = 0;
    s->fault.text[0] = 0;
    if (s->source.begin) {
        const wick_status status = s->source.begin(s->source.user, s->epoch, &s->fault);
        if (status != WICK_OK) break_off(s, status);
    } else if (s->touched) {
        break_off(s, wick_fault_set(&s->fault, WICK_ERR_UNSUPPORTED,
                                    "this stream can be read once: its source has no `begin`"));
    }
}

/* The next record in the place of one that is of no use any more. */
static void advance(wick_stream *s, entry *e) {
    const int64_t shuffle = s->options.shuffle;
    while (shuffle && s->buffered < shuffle && !s->dry && s->state == WICK_STREAM_GOES_ON) {
        read_record(s, s->buffer[s->buffered]);
        if (!s->dry && s->state == WICK_STREAM_GOES_ON) s->buffered++;
    }
    if (!shuffle && !s->dry) read_record(s, e->record);
    if (s->state == WICK_STREAM_BROKEN) return;
    if (shuffle ? !s->buffered : s->dry) {
        s->state = WICK_STREAM_ENDED;
        if (s->options.count)
            break_off(s, wick_fault_set(&s->fault, WICK_ERR_FORMAT, "the stream ended after %lld of %lld samples",
                                        (long long)s->head, (long long)s->options.count));
        return;
    }
    if (shuffle) {
        uint8_t **drawn = &s->buffer[wick_word_below(&s->words, (uint32_t)s->buffered)], *room = e->record;
        e->record = *drawn;
        *drawn = s->buffer[--s->buffered];
        s->buffer[s->buffered] = room;
    }
    e->number = s->head++;
    e->taken = false;
}

/* Until sample i is there, or nothing comes. NULL: it is not. */
static entry *reach(wick_stream *s, int64_t i) {
    if (s->again) restart(s);
    while (s->head <= i && s->state == WICK_STREAM_GOES_ON) {
        entry *e = &s->ring[s->head % s->options.window];
        if (e->pinned) pthread_cond_wait(&s->decoded, &s->lock);
        else advance(s, e);
    }
    entry *e = &s->ring[i % s->options.window];
    return e->number == i && !e->taken ? e : NULL;
}

/* ---- as a data set ----------------------------------------------------------------------------------------------- */

static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    wick_stream *s = user;
    wick_status status = WICK_OK;
    pthread_mutex_lock(&s->lock);
    entry *e = reach(s, i);
    if (e) e->taken = e->pinned = true, s->taken = WICK_MAX(s->taken, i + 1);
    else if (i < s->head)
        status = wick_fault_set(fault, WICK_ERR_INDEX,
                                "sample %lld of the stream was handed over or passed: its window has the last %lld",
                                (long long)i, (long long)s->options.window);
    else if (s->state == WICK_STREAM_ENDED)
        status = wick_fault_set(fault, WICK_ERR_INDEX, "the stream ended after %lld samples", (long long)s->head);
    else status = s->status, *fault = s->fault;
    pthread_mutex_unlock(&s->lock);
    if (!e) return status;
    status = s->source.get(s->source.user, e->record, out, fault);
    pthread_mutex_lock(&s->lock);
    e->pinned = false;
    pthread_cond_broadcast(&s->decoded);
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* Behind the end 0: asking for the sample itself says what is wrong. */
static int64_t length(void *user, int64_t i, int field) {
    wick_stream *s = user;
    pthread_mutex_lock(&s->lock);
    const entry *e = reach(s, i);
    const int64_t n = e ? s->source.length(s->source.user, e->record, field) : i < s->head ? -1 : 0;
    pthread_mutex_unlock(&s->lock);
    return n;
}
static int64_t no_label(void *user, int64_t i) { return (void)user, (void)i, -1; }
static const char *class_name(void *user, int64_t label) {
    return ((wick_stream *)user)->source.class_name(((wick_stream *)user)->source.user, label);
}

static void release(void *user) {
    wick_stream *s = user;
    const wick_allocator alloc = s->alloc;
    const size_t window = (size_t)s->options.window, shuffle = (size_t)s->options.shuffle;
    if (s->source.free) s->source.free(s->source.user);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->decoded);
    wick_release(&alloc, s->rooms, (window + shuffle) * s->room);
    wick_release(&alloc, s->ring, window * sizeof *s->ring);
    wick_release(&alloc, s->buffer, shuffle * sizeof *s->buffer);
    wick_release(&alloc, s, sizeof *s);
}

/* ---- what a loader asks ------------------------------------------------------------------------------------------ */

/* Nothing behind `first` was handed over, and `first` is in the ring or comes yet: then it goes on as it is. */
void wick_stream_begin(wick_stream *s, int64_t epoch, int64_t first) {
    pthread_mutex_lock(&s->lock);
    s->wanted = epoch;
    s->again = !(epoch == s->epoch && s->state != WICK_STREAM_BROKEN && first >= s->taken &&
                 first + s->options.window >= s->head);
    pthread_mutex_unlock(&s->lock);
}

wick_stream_state wick_stream_at(wick_stream *s, int64_t i) {
    pthread_mutex_lock(&s->lock);
    const wick_stream_state state = i >= s->head ? s->state : WICK_STREAM_GOES_ON;
    pthread_mutex_unlock(&s->lock);
    return state;
}

int64_t wick_stream_window(const wick_stream *s) { return s->options.window; }
bool wick_stream_ends(const wick_stream *s) { return !s->options.count; }
int64_t wick_stream_longest(const wick_stream *s, int field) { return s->source.longest[field]; }

/* ---- making ------------------------------------------------------------------------------------------------------ */

static wick_status check(wick_context *ctx, const wick_stream_source *source, const wick_stream_options *o) {
    if (!source || !source->next || !source->get)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "stream: needs a source with `next` and `get`");
    if (o->count < 0 || o->count > UINT32_MAX || o->window < 0 || o->shuffle < 0 || o->window > INT32_MAX ||
        o->shuffle > INT32_MAX)
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "stream: %lld samples, a window of %lld, a buffer of %lld to shuffle: they are at "
                                 "least 0 and below 2^32, 2^31 and 2^31",
                                 (long long)o->count, (long long)o->window, (long long)o->shuffle);
    for (int k = 0; k < source->n_fields && k < WICK_DATASET_FIELDS; k++)
        if (wick_field_varies(&source->fields[k]) && source->longest[k] < 1)
            return wick_context_fail(ctx, WICK_ERR_INVALID, "stream: field %d varies, and `longest` of it is %lld", k,
                                     (long long)source->longest[k]);
    return WICK_OK;
}

static wick_status make_rooms(wick_context *ctx, wick_stream *s) {
    const size_t window = (size_t)s->options.window, shuffle = (size_t)s->options.shuffle;
    size_t bytes;
    if (wick_add_overflows(s->source.record, WICK_ALIGN - 1, &s->room) ||
        wick_mul_overflows(s->room &= ~(size_t)(WICK_ALIGN - 1), window + shuffle, &bytes))
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "stream: out of memory for records of %zu bytes",
                                 s->source.record);
    s->rooms = wick_alloc(&s->alloc, bytes);
    s->ring = wick_calloc(&s->alloc, window * sizeof *s->ring);
    s->buffer = wick_calloc(&s->alloc, shuffle * sizeof *s->buffer);
    if (!s->rooms || !s->ring || !s->buffer)
        return wick_context_fail(
            ctx, WICK_ERR_NOMEM,
            "stream: out of memory for a window of %zu records and a buffer of %zu, of %zu bytes each", window, shuffle,
            s->room);
    wick_use_sparsely(s->rooms, bytes); /* records may be smaller than they can be */
    for (size_t i = 0; i < window; i++) s->ring[i] = (entry){.record = s->rooms + i * s->room, .number = -1};
    for (size_t i = 0; i < shuffle; i++) s->buffer[i] = s->rooms + (window + i) * s->room;
    return WICK_OK;
}

wick_status wick_dataset_of_stream(wick_context *ctx, const wick_stream_source *source,
                                   const wick_stream_options *options, wick_dataset **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_of_stream: out is NULL");
    static const wick_stream_options standard = {0};
    *out = NULL;
    if (!options) options = &standard;
    WICK_TRY(check(ctx, source, options));
    wick_stream *s = wick_calloc(&ctx->alloc, sizeof *s);
    if (!s) return wick_context_fail(ctx, WICK_ERR_NOMEM, "stream: out of memory");
    s->alloc = ctx->alloc;
    s->source = *source;
    s->source.free = NULL; /* it stays the caller's until all is made */
    s->options = *options;
    if (!s->options.window) s->options.window = WINDOW;
    s->again = true;
    s->epoch = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->decoded, NULL);
    wick_status status = make_rooms(ctx, s);
    wick_dataset_source d = {.count = options->count ? options->count : UINT32_MAX,
                             .n_fields = source->n_fields,
                             .get = get,
                             .length = source->length ? length : NULL,
                             .classes = source->classes,
                             .label = no_label,
                             .class_name = source->class_name ? class_name : NULL,
                             .rate = source->rate,
                             .free = release,
                             .user = s};
    memcpy(d.fields, source->fields, sizeof d.fields);
    if (status == WICK_OK) status = wick_dataset_new(ctx, &d, out);
    if (status != WICK_OK) return release(s), status;
    (*out)->stream = s;
    s->source.free = source->free;
    return WICK_OK;
}
