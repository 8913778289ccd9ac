/* fast.c: sums that give the promise of the tree up (wick_group_set_fast). A rank adds its leaves into one vector, and
 * one vector of each rank is summed: by the transport's own all-reduce, or by parts as in sum.c:
 *
 *   all n floats, f32     the transport's own; without one: part s to rank s, who adds up and sends the sum to all
 *   bf16                  the same by parts, in words of 16 bits; sums are made in f32
 *   powersgd              low_rank.c
 *
 * What rounding to bf16 takes away is added to the next vector, on both ways (error feedback, Seide et al. 2014; of the
 * sums too: Tang et al. 2019, "DoubleSqueeze"): `lost` has it for the parts that go to others, and in this rank's own
 * part for the sums that it sends out. */
#include "dist/group.h"
#include "kernels/convert/halves.h"

#include <stdio.h>

enum { TASK = 1 << 15 /* floats of a task of the pool */ };
static const double ASK_SECONDS = 5; /* that ranks have to say that they are there, after a sum came to no end */

/* ---- the mode ---------------------------------------------------------------------------------------------------- */

static void add_wire(wick_str *s, wick_wire_type wire, int rank) {
    static const char *const names[] = {"f32", "bf16", "powersgd"};
    wick_str_add(s, wire == WICK_WIRE_POWERSGD ? "%s:%d" : "%s", names[wire], rank);
}

/* The end of the context's numerics key: ";sum=fast;wire=bf16;ranks=3;over=local"; without text what it was before. */
static void write_key(wick_group *g) {
    char *key = g->ctx->numerics;
    if (!g->fast.key) g->fast.key = strlen(key) + 1;
    const size_t at = g->fast.key - 1;
    key[at] = '\0';
    if (!g->fast.on) return;
    wick_str s = wick_str_on(key + at, sizeof g->ctx->numerics - at);
    wick_str_add(&s, ";sum=fast;wire=");
    add_wire(&s, g->fast.wire, g->fast.rank);
    wick_str_add(&s, ";ranks=%d;over=%s", g->wire.size, wick_group_transport(g));
}

/* That all ranks ask for the same. */
static wick_status agree_on(wick_group *g, const wick_group_fast *o, size_t matrices) {
    char text[96];
    wick_str s = wick_str_on(text, sizeof text);
    wick_str_add(&s, o ? "fast, " : "exact");
    if (o) add_wire(&s, o->wire, o->rank);
    if (o) wick_str_add(&s, ", %zu exact", o->exact);
    if (o && o->wire == WICK_WIRE_POWERSGD) wick_str_add(&s, ", %d matrices", o->n_matrices);
    WICK_TRY(wick_group_agree(g, "the mode of sums", text, strlen(text)));
    return matrices ? wick_group_agree(g, "matrices of sums", o->matrices, matrices) : WICK_OK;
}

wick_status wick_group_set_fast(wick_group *g, const wick_group_fast *options) {
    WICK_TRY(wick_group_usable(g));
    if (options && (unsigned)options->wire > WICK_WIRE_POWERSGD)
        return wick_group_fail(g, WICK_ERR_INVALID,
                               "group_set_fast: wire %d: WICK_WIRE_F32, WICK_WIRE_BF16 or WICK_WIRE_POWERSGD",
                               (int)options->wire);
    const bool low = options && options->wire == WICK_WIRE_POWERSGD;
    if (low) WICK_TRY(wick_group_low_rank_check(g, options));
    const size_t bytes = low ? (size_t)options->n_matrices * sizeof *options->matrices : 0;
    wick_group_matrix *matrices = bytes ? wick_alloc(&g->ctx->alloc, bytes) : NULL;
    if (bytes && !matrices) return wick_group_fail(g, WICK_ERR_NOMEM, "group_set_fast: out of memory");
    const wick_status status = agree_on(g, options, bytes);
    if (status != WICK_OK) {
        wick_release(&g->ctx->alloc, matrices, bytes);
        return status;
    }
    if (bytes) memcpy(matrices, options->matrices, bytes);
    wick_group_fast_free(g);
    wick_group_sum_free(g); /* a sum that was begun is one of the other mode */
    if (options) g->fast.on = true, g->fast.wire = options->wire, g->fast.exact = options->exact;
    if (low) g->fast.rank = options->rank, g->fast.n_matrices = options->n_matrices, g->fast.matrices = matrices;
    write_key(g);
    return WICK_OK;
}

void wick_group_fast_free(wick_group *g) {
    group_fast *f = &g->fast;
    wick_group_low_rank_free(g);
    wick_release(&g->ctx->alloc, f->matrices, (size_t)f->n_matrices * sizeof *f->matrices);
    wick_release(&g->ctx->alloc, f->words, f->words_bytes);
    *f = (group_fast){.key = f->key};
    if (f->key) write_key(g);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* How many floats of the vector go in bf16: those in front. */
static size_t narrow_count(const wick_group *g) {
    const size_t n = g->sum.count;
    if (g->fast.wire != WICK_WIRE_BF16 || g->wire.size == 1) return 0;
    return n - WICK_MIN(g->fast.exact, n);
}

/* Whether the transport sums f32 by itself. */
static bool has_own(const wick_group *g) { return g->wire.transport && g->wire.transport->reduce; }

static bool take_words(wick_group *g, size_t narrow) {
    group_fast *f = &g->fast;
    const size_t bytes = narrow * sizeof *f->lost, words = narrow * sizeof *f->words;
    if (bytes == f->lost_bytes && words == f->words_bytes) return true;
    wick_release(&g->ctx->alloc, f->lost, f->lost_bytes);
    wick_release(&g->ctx->alloc, f->words, f->words_bytes);
    f->lost = NULL, f->words = NULL, f->lost_bytes = f->words_bytes = 0;
    if (!narrow) return true;
    f->lost = wick_calloc(&g->ctx->alloc, bytes);
    if (f->lost) f->lost_bytes = bytes;
    f->words = wick_alloc(&g->ctx->alloc, words);
    if (f->words) f->words_bytes = words;
    return f->lost && f->words;
}

bool wick_group_fast_memory(wick_group *g) {
    const int me = g->wire.rank, ranks = g->wire.size;
    const size_t narrow = narrow_count(g), wide = g->sum.count - narrow, others = (size_t)ranks - 1;
    if (ranks == 1) return true;
    if (g->fast.wire == WICK_WIRE_POWERSGD) return wick_group_low_rank_memory(g);
    const size_t words = wick_part_size(narrow, me, ranks) * sizeof(uint16_t),
                 floats = has_own(g) ? 0 : wick_part_size(wide, me, ranks) * sizeof(float);
    size_t parts;
    return take_words(g, narrow) && !wick_mul_overflows(WICK_MAX(words, floats), others, &parts) &&
           wick_group_sum_room(g, parts, 2 * others * sizeof(wick_parcel));
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

/* A range of floats, as tasks of the pool have them. */
typedef struct range {
    void (*run)(const struct range *r, size_t from, size_t to);
    size_t count;
    float *values, *lost;
    uint16_t *words;
    const uint8_t *in; /* others' parts, one behind the other, `count` floats or words each */
    int n_in;
} range;

static void run_range(void *arg, int64_t task, int worker) {
    (void)worker;
    const range *r = arg;
    const size_t from = (size_t)task * TASK;
    r->run(r, from, WICK_MIN(from + TASK, r->count));
}

static void run(wick_group *g, range r) {
    const uint64_t word = wick_fp_enter();
    wick_pool_run(g->ctx->pool, run_range, &r, (int64_t)((r.count + TASK - 1) / TASK));
    wick_fp_restore(word);
}

static void add_floats(const range *r, size_t from, size_t to) {
    float *restrict values = r->values;
    const float *restrict in = (const float *)(const void *)r->in;
    for (int k = 0; k < r->n_in; k++, in += r->count)
        for (size_t i = from; i < to; i++) values[i] += in[i];
}

static void add_words(const range *r, size_t from, size_t to) {
    float *restrict values = r->values;
    const uint16_t *restrict in = (const uint16_t *)(const void *)r->in;
    for (int k = 0; k < r->n_in; k++, in += r->count)
        for (size_t i = from; i < to; i++) values[i] += wick_bf16_to_f32(in[i]);
}

/* words = values + lost, rounded; lost: what that takes away. Of what isn't finite nothing is lost: that would be with
 * all vectors to come. */
static void round_off(const range *r, size_t from, size_t to) {
    const float *restrict values = r->values;
    float *restrict lost = r->lost;
    uint16_t *restrict words = r->words;
    for (size_t i = from; i < to; i++) {
        const float exact = values[i] + lost[i];
        const uint16_t word = wick_bf16_from_f32(exact);
        const float less = exact - wick_bf16_to_f32(word);
        words[i] = word;
        lost[i] = less - less == 0 ? less : 0;
    }
}

static void widen(const range *r, size_t from, size_t to) {
    float *restrict values = r->values;
    const uint16_t *restrict words = r->words;
    for (size_t i = from; i < to; i++) values[i] = wick_bf16_to_f32(words[i]);
}

/* ---- by parts ---------------------------------------------------------------------------------------------------- */

/* Part s of `values` to rank s; all others' of this rank's part into the sum's `parts`. */
static wick_status send_parts(wick_group *g, void *values, size_t count, size_t size) {
    const int me = g->wire.rank, ranks = g->wire.size;
    wick_parcel *in = g->sum.parcels, *out = in + ranks - 1;
    const size_t own = wick_part_size(count, me, ranks) * size;
    uint8_t *at = (uint8_t *)g->sum.parts;
    int n_in = 0, n_out = 0;
    for (int r = 0; r < ranks && own; r++) {
        if (r == me) continue;
        in[n_in++] = (wick_parcel){r, at, own};
        at += own;
    }
    for (int k = 1; k < ranks; k++) { /* beginning with the next rank: not all with the first */
        const int r = (me + k) % ranks;
        const size_t n = wick_part_size(count, r, ranks) * size;
        if (n) out[n_out++] = (wick_parcel){r, (uint8_t *)values + wick_part_begin(count, r, ranks) * size, n};
    }
    return wick_group_exchange(g, WICK_GROUP_SUM, n_out, out, n_in, in);
}

/* This rank's part of `values` to all, and theirs to their places. */
static wick_status collect_parts(wick_group *g, void *values, size_t count, size_t size) {
    const int me = g->wire.rank, ranks = g->wire.size;
    wick_parcel *in = g->sum.parcels, *out = in + ranks - 1;
    uint8_t *const at = values;
    const size_t own = wick_part_size(count, me, ranks) * size;
    int n_in = 0, n_out = 0;
    for (int k = 1; k < ranks; k++) {
        const int r = (me + k) % ranks;
        const size_t n = wick_part_size(count, r, ranks) * size;
        if (own) out[n_out++] = (wick_parcel){r, at + wick_part_begin(count, me, ranks) * size, own};
        if (n) in[n_in++] = (wick_parcel){r, at + wick_part_begin(count, r, ranks) * size, n};
    }
    return wick_group_exchange(g, WICK_GROUP_COLLECT, n_out, out, n_in, in);
}

wick_status wick_group_sum_floats(wick_group *g, float *values, size_t count) {
    const int me = g->wire.rank, ranks = g->wire.size;
    WICK_TRY(send_parts(g, values, count, sizeof *values));
    run(g, (range){.run = add_floats,
                   .count = wick_part_size(count, me, ranks),
                   .values = values + wick_part_begin(count, me, ranks),
                   .in = (const uint8_t *)g->sum.parts,
                   .n_in = ranks - 1});
    return collect_parts(g, values, count, sizeof *values);
}

static wick_status sum_words(wick_group *g, float *values, size_t count) {
    const group_fast *f = &g->fast;
    const int me = g->wire.rank, ranks = g->wire.size;
    const size_t begin = wick_part_begin(count, me, ranks), size = wick_part_size(count, me, ranks);
    const size_t behind = begin + size;
    run(g, (range){.run = round_off, .count = begin, .values = values, .lost = f->lost, .words = f->words});
    run(g, (range){.run = round_off,
                   .count = count - behind,
                   .values = values + behind,
                   .lost = f->lost + behind,
                   .words = f->words + behind});
    WICK_TRY(send_parts(g, f->words, count, sizeof *f->words));
    const range own = {.count = size,
                       .values = values + begin,
                       .lost = f->lost + begin,
                       .words = f->words + begin,
                       .in = (const uint8_t *)g->sum.parts,
                       .n_in = ranks - 1};
    range r = own;
    r.run = add_words;
    run(g, r);
    r.run = round_off;
    run(g, r);
    WICK_TRY(collect_parts(g, f->words, count, sizeof *f->words));
    run(g, (range){.run = widen, .count = count, .values = values, .words = f->words});
    return WICK_OK;
}

/* ---- by the transport -------------------------------------------------------------------------------------------- */

/* The transport's sum came to no end, and can't tell for whom it waits. Ranks that hang don't say that they are there;
 * those for which it did come to an end are at another call. */
static wick_status ask_who_hangs(wick_group *g, wick_status status, const wick_msg *said) {
    const int others = g->wire.size - 1;
    wick_parcel *in = g->sum.parcels, *out = in + others;
    for (int k = 0; k < others; k++) in[k] = out[k] = (wick_parcel){k + (k >= g->wire.rank), NULL, 0};
    const wick_exchange x = {.op = WICK_GROUP_SUM,
                             .sequence = g->sequence++,
                             .what = wick_group_op_name(WICK_GROUP_SUM),
                             .timeout = WICK_MIN(g->timeout, ASK_SECONDS),
                             .n_out = others,
                             .n_in = others,
                             .out = out,
                             .in = in,
                             .asking = true};
    const wick_status answered = g->wire.transport->exchange(g->wire.self, &x, &g->msg);
    g->broken = true;
    if (answered != WICK_OK) return answered;
    g->msg = *said;
    return status;
}

static wick_status sum_by_transport(wick_group *g, float *values, size_t count) {
    wick_msg said = {0};
    const wick_wire_sum x = {
        .what = wick_group_op_name(WICK_GROUP_SUM), .timeout = g->timeout, .values = values, .count = count};
    const wick_status status = g->wire.transport->reduce(g->wire.self, &x, &said);
    if (status == WICK_OK) return WICK_OK;
    g->sum.n_vectors = 0; /* the library may still write into them: they are its own now */
    if (status == WICK_ERR_DEADLINE) return ask_who_hangs(g, status, &said);
    g->msg = said, g->broken = true;
    return status;
}

wick_status wick_group_fast_finish(wick_group *g, float *sum) {
    const size_t count = g->sum.count, narrow = narrow_count(g);
    float *v = g->sum.vectors[0];
    wick_status status = WICK_OK;
    if (!count) return WICK_OK;
    const bool low = g->fast.wire == WICK_WIRE_POWERSGD && g->wire.size > 1;
    if (low) status = wick_group_low_rank_finish(g);
    if (narrow) status = sum_words(g, v, narrow);
    if (status == WICK_OK && !low && count > narrow && g->wire.size > 1)
        status =
            (has_own(g) ? sum_by_transport : wick_group_sum_floats)(g, v + narrow, count - narrow);
    if (status == WICK_OK) memcpy(sum, v, count * sizeof *sum);
    return status;
}
