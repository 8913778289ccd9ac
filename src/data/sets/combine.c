/* combine.c: data sets made of others. Parts, sums, repetitions and mixtures are one thing: a list that says of which
 * set, and which of its samples. */
#include "data/sets/dataset.h"
#include "wick/datasets.h"

#include <math.h>
#include <stdlib.h>

/* ---- lists ------------------------------------------------------------------------------------------------------- */

enum { SETS = 255 };

typedef struct list {
    wick_allocator alloc;
    int64_t n;        /* of the list; sample i is place i % n in it */
    int64_t *numbers; /* NULL: 0, 1, 2, ... */
    uint8_t *which;   /* of the sets; NULL: all of the first */
    int sets;
    const wick_dataset *set[];
} list;

static const wick_dataset *place(const list *l, int64_t i, int64_t *number) {
    i %= l->n;
    *number = l->numbers ? l->numbers[i] : i;
    return l->set[l->which ? l->which[i] : 0];
}
static wick_status list_get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const wick_dataset *d = place(user, i, &i);
    return wick_dataset_get(d, i, out, fault);
}
static const void *list_at(void *user, int64_t i, int field) {
    const wick_dataset *d = place(user, i, &i);
    return wick_dataset_at(d, i, field);
}
static void list_ahead(void *user, const int64_t *indices, int64_t n) {
    for (int64_t k = 0, i; k < n; k++) {
        const wick_dataset *d = place(user, indices[k], &i);
        wick_dataset_ahead(d, &i, 1);
    }
}
static int64_t list_length(void *user, int64_t i, int field) {
    const wick_dataset *d = place(user, i, &i);
    return wick_dataset_length(d, i, field);
}
static int64_t list_label(void *user, int64_t i) {
    const wick_dataset *d = place(user, i, &i);
    return wick_dataset_label(d, i);
}
static const char *list_class(void *user, int64_t label) {
    return wick_dataset_class_name(((const list *)user)->set[0], label);
}
static void list_free(void *user) {
    list *l = user;
    const wick_allocator alloc = l->alloc;
    wick_release(&alloc, l->numbers, (size_t)l->n * sizeof *l->numbers);
    wick_release(&alloc, l->which, (size_t)l->n);
    wick_release(&alloc, l, sizeof *l + (size_t)l->sets * sizeof *l->set);
}

static wick_status no_memory(wick_context *ctx, int64_t n) {
    return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory for a list of %lld samples", (long long)n);
}

/* Of one kind: what reads the one can read the other. */
static wick_status check_alike(wick_context *ctx, const wick_dataset *a, const wick_dataset *b, int k) {
    bool same = wick_dataset_fields(a) == wick_dataset_fields(b);
    for (int f = 0; same && f < wick_dataset_fields(a); f++) {
        const wick_spec *x = wick_dataset_field(a, f), *y = wick_dataset_field(b, f);
        same = x->dtype == y->dtype && x->rank == y->rank && strcmp(x->name, y->name) == 0 &&
               memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims) == 0;
        if (!same)
            return wick_context_fail(
                ctx, WICK_ERR_INVALID,
                "dataset: field \"%s\" of set %d is not as \"%s\" of set 0: dtype, dims and name must be", y->name, k,
                x->name);
    }
    if (!same)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: set %d has %d fields, set 0 has %d", k,
                                 wick_dataset_fields(b), wick_dataset_fields(a));
    if (wick_dataset_classes(a) == wick_dataset_classes(b)) return WICK_OK;
    return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: set %d has %lld classes, set 0 has %lld", k,
                             (long long)wick_dataset_classes(b), (long long)wick_dataset_classes(a));
}

/* An empty list over the sets; numbers and which, where they are asked for, are the caller's to fill. */
static wick_status new_list(wick_context *ctx, int n_sets, const wick_dataset *const *sets, int64_t n, bool numbers,
                            bool which, list **out) {
    *out = NULL;
    if (n_sets < 1 || n_sets > SETS)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: %d sets; 1 to %d go together", n_sets, SETS);
    for (int k = 1; k < n_sets; k++) WICK_TRY(check_alike(ctx, sets[0], sets[k], k));
    if (n < 0 || (uint64_t)n > PTRDIFF_MAX / sizeof(int64_t)) return no_memory(ctx, n);
    list *l = wick_calloc(&ctx->alloc, sizeof *l + (size_t)n_sets * sizeof *l->set);
    if (!l) return no_memory(ctx, n);
    l->alloc = ctx->alloc;
    l->n = n;
    l->sets = n_sets;
    memcpy(l->set, sets, (size_t)n_sets * sizeof *l->set);
    if (numbers) l->numbers = wick_alloc(&l->alloc, (size_t)n * sizeof *l->numbers);
    if (which) l->which = wick_alloc(&l->alloc, (size_t)n);
    if ((numbers && !l->numbers) || (which && !l->which)) return list_free(l), no_memory(ctx, n);
    *out = l;
    return WICK_OK;
}

/* Takes the list over. */
static wick_status as_dataset(wick_context *ctx, list *l, int64_t count, wick_dataset **out) {
    const wick_dataset *first = l->set[0];
    wick_dataset_source s = {.count = count,
                             .rate = wick_dataset_rate(first),
                             .n_fields = wick_dataset_fields(first),
                             .get = list_get,
                             .at = list_at,
                             .ahead = list_ahead,
                             .length = list_length,
                             .classes = wick_dataset_classes(first),
                             .class_name = list_class,
                             .free = list_free,
                             .user = l};
    for (int k = 0; k < s.n_fields; k++) s.fields[k] = *wick_dataset_field(first, k);
    if (first->source.label) s.label = list_label;
    for (int k = 0; k < l->sets; k++)
        if (wick_dataset_rate(l->set[k]) != s.rate) s.rate = 0;
    const wick_status status = wick_dataset_new(ctx, &s, out);
    if (status != WICK_OK) return list_free(l), status;
    (*out)->parts = l->set;
    (*out)->n_parts = l->sets;
    return status;
}

wick_status wick_dataset_subset(wick_context *ctx, const wick_dataset *d, int64_t n, const int64_t *numbers,
                                wick_dataset **out) {
    if (!d) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_subset: dataset is NULL");
    if (n > 0 && !numbers) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_subset: numbers is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_subset: out is NULL");
    list *l;
    *out = NULL;
    WICK_TRY(wick_dataset_by_number(ctx, 1, &d));
    for (int64_t i = 0; i < n; i++)
        if (numbers[i] < 0 || numbers[i] >= wick_dataset_count(d))
            return wick_context_fail(ctx, WICK_ERR_INDEX,
                                     "dataset: number %lld of a subset is %lld; there are %lld samples", (long long)i,
                                     (long long)numbers[i], (long long)wick_dataset_count(d));
    WICK_TRY(new_list(ctx, 1, &d, n, true, false, &l));
    if (n) memcpy(l->numbers, numbers, (size_t)n * sizeof *numbers);
    return as_dataset(ctx, l, n, out);
}

wick_status wick_dataset_filter(wick_context *ctx, const wick_dataset *d,
                                bool (*keep)(void *, const wick_dataset *, int64_t, wick_status *), void *user,
                                wick_dataset **out) {
    if (!d) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_filter: dataset is NULL");
    if (!keep) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_filter: keep is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_filter: out is NULL");
    list *l;
    *out = NULL;
    WICK_TRY(wick_dataset_by_number(ctx, 1, &d));
    const int64_t count = wick_dataset_count(d);
    int64_t *kept = wick_alloc(&ctx->alloc, (size_t)count * sizeof *kept), n = 0;
    if (!kept) return no_memory(ctx, count);
    wick_status status = WICK_OK;
    for (int64_t i = 0; i < count && status == WICK_OK; i++)
        if (keep(user, d, i, &status)) kept[n++] = i;
    if (status != WICK_OK) (void)wick_context_fail(ctx, status, "dataset: the filter failed");
    else status = new_list(ctx, 1, &d, n, true, false, &l);
    if (status == WICK_OK) {
        memcpy(l->numbers, kept, (size_t)n * sizeof *kept);
        status = as_dataset(ctx, l, n, out);
    }
    wick_release(&ctx->alloc, kept, (size_t)count * sizeof *kept);
    return status;
}

wick_status wick_dataset_concat(wick_context *ctx, int n, const wick_dataset *const *sets, wick_dataset **out) {
    if (n > 0 && !sets) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_concat: sets is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_concat: out is NULL");
    int64_t count = 0;
    list *l;
    *out = NULL;
    WICK_TRY(wick_dataset_by_number(ctx, n, sets));
    for (int k = 0; k < n; k++)
        if (wick_add_overflows(count, wick_dataset_count(sets[k]), &count)) return no_memory(ctx, INT64_MAX);
    WICK_TRY(new_list(ctx, n, sets, count, true, true, &l));
    for (int64_t k = 0, i = 0; k < n; k++)
        for (int64_t j = 0; j < wick_dataset_count(sets[k]); j++, i++) l->numbers[i] = j, l->which[i] = (uint8_t)k;
    return as_dataset(ctx, l, count, out);
}

wick_status wick_dataset_repeat(wick_context *ctx, const wick_dataset *d, int64_t times, wick_dataset **out) {
    if (!d) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_repeat: dataset is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_repeat: out is NULL");
    int64_t count;
    list *l;
    *out = NULL;
    WICK_TRY(wick_dataset_by_number(ctx, 1, &d));
    if (times < 0 || wick_mul_overflows(times, wick_dataset_count(d), &count))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: %lld samples %lld times",
                                 (long long)wick_dataset_count(d), (long long)times);
    WICK_TRY(new_list(ctx, 1, &d, wick_dataset_count(d), false, false, &l));
    return as_dataset(ctx, l, count, out);
}

/* A number in [0, 1) that follows from the seed and i. */
static double drawn(uint64_t seed, int64_t i) {
    uint32_t out[4];
    wick_philox((const uint32_t[4]){(uint32_t)i, (uint32_t)((uint64_t)i >> 32), 0x6d69782eu},
                (const uint32_t[2]){(uint32_t)seed, (uint32_t)(seed >> 32)}, out);
    return ((double)out[0] * 0x1p21 + (double)(out[1] >> 11)) * 0x1p-53;
}

wick_status wick_dataset_mix(wick_context *ctx, int n, const wick_dataset *const *sets, const double *weights,
                             int64_t count, uint64_t seed, wick_dataset **out) {
    if (n > 0 && !sets) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_mix: sets is NULL");
    if (n > 0 && !weights) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_mix: weights is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_mix: out is NULL");
    int64_t next[SETS] = {0};
    double sum = 0;
    list *l;
    *out = NULL;
    WICK_TRY(wick_dataset_by_number(ctx, n, sets));
    for (int k = 0; k < n && k < SETS; k++) {
        if (!(weights[k] >= 0) || isinf(weights[k]) || (weights[k] > 0 && !wick_dataset_count(sets[k])))
            return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: set %d has weight %g and %lld samples", k,
                                     weights[k], (long long)wick_dataset_count(sets[k]));
        sum += weights[k];
    }
    if (!(sum > 0) || isinf(sum))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: the weights of a mixture come to %g", sum);
    WICK_TRY(new_list(ctx, n, sets, count, true, true, &l));
    for (int64_t i = 0; i < count; i++) {
        double left = drawn(seed, i) * sum;
        int k = 0, last = 0;
        for (; k < n; k++) {
            if (weights[k] > 0) last = k; /* rounding may lead behind the last */
            if (weights[k] > 0 && left < weights[k]) break;
            left -= weights[k];
        }
        if (k == n) k = last;
        l->which[i] = (uint8_t)k;
        l->numbers[i] = next[k];
        next[k] = (next[k] + 1) % wick_dataset_count(sets[k]);
    }
    return as_dataset(ctx, l, count, out);
}

/* ---- split: each class by itself is shuffled and cut at the shares ----------------------------------------------- */

static int by_label(const void *a, const void *b) {
    const int64_t *p = a, *q = b; /* label, number */
    return p[0] != q[0] ? (p[0] > q[0]) - (p[0] < q[0]) : (p[1] > q[1]) - (p[1] < q[1]);
}

static wick_status cut(wick_context *ctx, const wick_dataset *d, int n, const double *shares, uint64_t seed,
                       int64_t (*pairs)[2], uint8_t *part, int64_t *numbers, wick_dataset **out) {
    const int64_t count = wick_dataset_count(d);
    for (int64_t i = 0; i < count; i++) pairs[i][0] = wick_dataset_label(d, i), pairs[i][1] = i;
    qsort(pairs, (size_t)count, sizeof *pairs, by_label);
    for (int64_t i = 0; i < count; i++) part[i] = SETS;
    for (int64_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && pairs[end][0] == pairs[begin][0];) end++;
        const int64_t m = end - begin;
        for (int64_t i = m; i > 1; i--) { /* Fisher and Yates */
            const int64_t j = begin + (int64_t)(drawn(seed, begin + i) * (double)i), was = pairs[begin + i - 1][1];
            pairs[begin + i - 1][1] = pairs[j][1];
            pairs[j][1] = was;
        }
        double sum = 0;
        for (int64_t k = 0, at = 0; k < n; k++) {
            sum += shares[k];
            const int64_t to = sum >= 1 - 1e-9 ? m : (int64_t)(sum * (double)m + 0.5);
            for (; at < to; at++) part[pairs[begin + at][1]] = (uint8_t)k;
        }
    }
    wick_status status = WICK_OK;
    for (int k = 0; k < n && status == WICK_OK; k++) {
        int64_t m = 0;
        for (int64_t i = 0; i < count; i++)
            if (part[i] == k) numbers[m++] = i;
        status = wick_dataset_subset(ctx, d, m, numbers, &out[k]);
    }
    for (int k = 0; k < n && status != WICK_OK; k++) wick_dataset_free(&out[k]);
    return status;
}

wick_status wick_dataset_split(wick_context *ctx, const wick_dataset *d, int n, const double *shares, uint64_t seed,
                               wick_dataset **out) {
    if (!d) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_split: dataset is NULL");
    if (n > 0 && !shares) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_split: shares is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_split: out is NULL");
    const size_t count = (size_t)wick_dataset_count(d);
    double sum = 0;
    if (n < 1 || n >= SETS)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: a split into %d parts; 1 to %d can be", n, SETS - 1);
    for (int k = 0; k < n; k++) {
        out[k] = NULL;
        if (!(shares[k] >= 0))
            return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: share %d of a split is %g", k, shares[k]);
        sum += shares[k];
    }
    WICK_TRY(wick_dataset_by_number(ctx, 1, &d));
    if (sum > 1 + 1e-9)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: the shares of a split come to %g, more than 1", sum);
    int64_t(*pairs)[2] = wick_alloc(&ctx->alloc, count * sizeof *pairs),
    *numbers = wick_alloc(&ctx->alloc, count * sizeof *numbers);
    uint8_t *part = wick_alloc(&ctx->alloc, count);
    const wick_status status = pairs && numbers && part ? cut(ctx, d, n, shares, seed, pairs, part, numbers, out)
                                                        : no_memory(ctx, (int64_t)count);
    wick_release(&ctx->alloc, pairs, count * sizeof *pairs);
    wick_release(&ctx->alloc, numbers, count * sizeof *numbers);
    wick_release(&ctx->alloc, part, count);
    return status;
}

/* ---- zip --------------------------------------------------------------------------------------------------------- */

typedef struct zipped {
    wick_allocator alloc;
    int n, labels; /* labels: the set that has classes */
    const wick_dataset *set[WICK_DATASET_FIELDS];
    struct { uint8_t set, field; } of[WICK_DATASET_FIELDS];
} zipped;

static wick_status zip_get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const zipped *z = user;
    for (int k = 0; k < z->n; out += wick_dataset_fields(z->set[k++]))
        WICK_TRY(wick_dataset_get(z->set[k], i, out, fault));
    return WICK_OK;
}
static void zip_ahead(void *user, const int64_t *indices, int64_t n) {
    const zipped *z = user;
    for (int k = 0; k < z->n; k++) wick_dataset_ahead(z->set[k], indices, n);
}
static const void *zip_at(void *user, int64_t i, int field) {
    const zipped *z = user;
    return wick_dataset_at(z->set[z->of[field].set], i, z->of[field].field);
}
static int64_t zip_length(void *user, int64_t i, int field) {
    const zipped *z = user;
    return wick_dataset_length(z->set[z->of[field].set], i, z->of[field].field);
}
static int64_t zip_label(void *user, int64_t i) {
    return wick_dataset_label(((const zipped *)user)->set[((const zipped *)user)->labels], i);
}
static const char *zip_class(void *user, int64_t label) {
    return wick_dataset_class_name(((const zipped *)user)->set[((const zipped *)user)->labels], label);
}
static void zip_free(void *user) {
    const wick_allocator alloc = ((zipped *)user)->alloc;
    wick_release(&alloc, user, sizeof(zipped));
}

wick_status wick_dataset_zip(wick_context *ctx, int n, const wick_dataset *const *sets, wick_dataset **out) {
    if (n > 0 && !sets) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_zip: sets is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_zip: out is NULL");
    *out = NULL;
    if (n < 1 || n > WICK_DATASET_FIELDS)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: %d sets side by side; a sample has 1 to %d fields", n,
                                 WICK_DATASET_FIELDS);
    wick_dataset_source s = {.count = wick_dataset_count(sets[0]),
                             .get = zip_get,
                             .at = zip_at,
                             .ahead = zip_ahead,
                             .length = zip_length,
                             .class_name = zip_class,
                             .free = zip_free};
    zipped z = {.alloc = ctx->alloc, .n = n, .labels = -1};
    WICK_TRY(wick_dataset_by_number(ctx, n, sets));
    for (int k = 0; k < n; k++) {
        z.set[k] = sets[k];
        if (wick_dataset_count(sets[k]) != s.count)
            return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: set %d has %lld samples, set 0 has %lld", k,
                                     (long long)wick_dataset_count(sets[k]), (long long)s.count);
        if (z.labels < 0 && wick_dataset_classes(sets[k]))
            z.labels = k, s.label = zip_label, s.classes = wick_dataset_classes(sets[k]);
        for (int f = 0; f < wick_dataset_fields(sets[k]); f++) {
            if (s.n_fields == WICK_DATASET_FIELDS)
                return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: more than %d fields together",
                                         WICK_DATASET_FIELDS);
            z.of[s.n_fields].set = (uint8_t)k;
            z.of[s.n_fields].field = (uint8_t)f;
            s.fields[s.n_fields++] = *wick_dataset_field(sets[k], f);
        }
    }
    zipped *own = s.user = wick_alloc(&ctx->alloc, sizeof z);
    if (!own) return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory");
    *own = z;
    const wick_status status = wick_dataset_new(ctx, &s, out);
    if (status != WICK_OK) return zip_free(own), status;
    (*out)->parts = own->set;
    (*out)->n_parts = n;
    return status;
}

/* ---- map --------------------------------------------------------------------------------------------------------- */

typedef struct mapped {
    wick_allocator alloc;
    const wick_dataset *set;
    wick_dataset_mapping mapping;
} mapped;

static wick_status map_get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const mapped *m = user;
    const int n = wick_dataset_fields(m->set);
    const void *in[WICK_DATASET_FIELDS] = {NULL};
    void *own[WICK_DATASET_FIELDS] = {NULL};
    int64_t lengths[WICK_DATASET_FIELDS];
    size_t all = 0, at[WICK_DATASET_FIELDS];
    bool copies = false;
    for (int k = 0; k < n; k++) {
        const size_t bytes = wick_dataset_bytes(m->set, i, k);
        if (bytes == SIZE_MAX)
            return wick_fault_set(fault, WICK_ERR_INVALID, "the length of field \"%s\" of sample %lld cannot be told",
                                  wick_dataset_field(m->set, k)->name, (long long)i);
        in[k] = wick_dataset_at(m->set, i, k);
        if ((uintptr_t)in[k] % WICK_ALIGN) in[k] = NULL;
        lengths[k] = wick_dataset_length(m->set, i, k);
        at[k] = all;
        if (in[k]) continue;
        copies = true;
        if (wick_add_overflows(all, WICK_ALIGN_UP(bytes, WICK_ALIGN), &all))
            return wick_fault_set(fault, WICK_ERR_NOMEM, "out of memory: %zu bytes", bytes);
    }
    uint8_t *room = copies ? wick_alloc(&m->alloc, all) : NULL;
    if (copies && !room) return wick_fault_set(fault, WICK_ERR_NOMEM, "out of memory: %zu bytes", all);
    for (int k = 0; k < n && copies; k++)
        if (!in[k]) in[k] = own[k] = room + at[k];
    wick_status status = copies ? wick_dataset_get(m->set, i, own, fault) : WICK_OK;
    if (status == WICK_OK) status = m->mapping.map(m->mapping.user, i, in, lengths, out, fault);
    wick_release(&m->alloc, room, all);
    return status;
}
static int64_t map_length(void *user, int64_t i, int field) {
    const mapped *m = user;
    return m->mapping.length(m->mapping.user, i, field, wick_dataset_length(m->set, i, 0));
}
static int64_t map_label(void *user, int64_t i) { return wick_dataset_label(((const mapped *)user)->set, i); }
static const char *map_class(void *user, int64_t label) {
    return wick_dataset_class_name(((const mapped *)user)->set, label);
}
static void map_free(void *user) {
    const wick_allocator alloc = ((mapped *)user)->alloc;
    wick_release(&alloc, user, sizeof(mapped));
}

wick_status wick_dataset_map(wick_context *ctx, const wick_dataset *d, const wick_dataset_mapping *mapping,
                             wick_dataset **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_map: out is NULL");
    *out = NULL;
    if (!mapping || !mapping->map || mapping->n_fields < 1 || mapping->n_fields > WICK_DATASET_FIELDS)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: a mapping needs a function, and 1 to %d fields",
                                 WICK_DATASET_FIELDS);
    for (int k = 0; d->stream && k < mapping->n_fields; k++)
        if (wick_field_varies(&mapping->fields[k]))
            return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                     "dataset: what a stream is mapped to has fixed dims; \"%s\" varies",
                                     mapping->fields[k].name);
    mapped *m = wick_alloc(&ctx->alloc, sizeof *m);
    if (!m) return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory");
    *m = (mapped){ctx->alloc, d, *mapping};
    wick_dataset_source s = {.count = d->source.count,
                             .n_fields = mapping->n_fields,
                             .get = map_get,
                             .length = mapping->length ? map_length : NULL,
                             .free = map_free,
                             .user = m,
                             .classes = wick_dataset_classes(d),
                             .class_name = map_class};
    if (d->source.label) s.label = map_label;
    memcpy(s.fields, mapping->fields, sizeof s.fields);
    const wick_status status = wick_dataset_new(ctx, &s, out);
    if (status != WICK_OK) return map_free(m), status;
    (*out)->stream = d->stream;
    (*out)->parts = &m->set;
    (*out)->n_parts = 1;
    return status;
}
