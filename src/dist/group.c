/* group.c: opening a group, and the calls of all ranks that move bytes as they are. */
#include "dist/group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double TIMEOUT = 60, START_TIMEOUT = 300, TIMEOUT_MAX = 1e7; /* seconds */

/* ---- errors ------------------------------------------------------------------------------------------------------ */

wick_status wick_group_fail(wick_group *g, wick_status status, const char *fmt, ...) {
    va_list args;
    if (g->broken) return g->msg.status; /* the first error is the one that tells */
    va_start(args, fmt);
    wick_msg_setv(&g->msg, status, fmt, args);
    va_end(args);
    return status;
}

wick_status wick_group_usable(wick_group *g) {
    wick_group_await_pieces(g);
    return g->broken ? g->msg.status : WICK_OK;
}

const char *wick_group_error(const wick_group *g) { return g->msg.text; }

static const char *const op_names[WICK_GROUP_OPS] = {
    [WICK_GROUP_OPEN] = "open",           [WICK_GROUP_SUM] = "finish",    [WICK_GROUP_COLLECT] = "finish",
    [WICK_GROUP_BROADCAST] = "broadcast", [WICK_GROUP_GATHER] = "gather", [WICK_GROUP_BARRIER] = "barrier",
    [WICK_GROUP_AGREE] = "agree",         [WICK_GROUP_PARTS] = "finish_parts",
    [WICK_GROUP_PARTS_COLLECT] = "collect"};

const char *wick_group_op_name(uint32_t op) {
    return op < WICK_GROUP_OPS && op_names[op] ? op_names[op] : "an unknown call";
}

wick_status wick_parcel_check(const wick_parcel_head *got, const wick_exchange *x, const wick_parcel *in,
                              wick_msg *msg) {
    if (got->op == x->op && got->sequence == x->sequence && got->size == in->size) return WICK_OK;
    if (got->op != x->op)
        return wick_msg_set(msg, WICK_ERR_MISMATCH, "group: %s: rank %d is at %s instead", x->what, in->peer,
                            wick_group_op_name(got->op));
    if (got->size != in->size)
        return wick_msg_set(msg, WICK_ERR_MISMATCH, "group: %s: rank %d sends %llu bytes where %zu are expected",
                            x->what, in->peer, (unsigned long long)got->size, in->size);
    return wick_msg_set(msg, WICK_ERR_MISMATCH, "group: %s: rank %d is at another call of it", x->what, in->peer);
}

void wick_ranks_text(wick_str *text, const bool *of, int ranks) {
    int n = 0, said = 0;
    for (int r = 0; r < ranks; r++) n += of[r];
    wick_str_add(text, n == 1 ? "rank" : "ranks");
    for (int r = 0; r < ranks; r++) {
        if (!of[r]) continue;
        int last = r;
        while (last + 1 < ranks && of[last + 1]) last++;
        if (last == r + 1) last = r; /* two are not a range */
        said += last - r + 1;
        wick_str_add(text, "%s %d", said == last - r + 1 ? "" : said == n ? " and" : ",", r);
        if (last > r) wick_str_add(text, " to %d", last);
        r = last;
    }
}

/* ---- exchanges --------------------------------------------------------------------------------------------------- */

wick_status wick_group_exchange(wick_group *g, wick_group_op op, int n_out, const wick_parcel *out, int n_in,
                                const wick_parcel *in) {
    if (g->broken) return g->msg.status;
    if (!g->wire.transport) return WICK_OK;
    for (int i = 0; i < n_out; i++) g->sent += out[i].size;
    const wick_exchange x = {.op = op,
                             .sequence = g->sequence++,
                             .what = wick_group_op_name(op),
                             .timeout = g->opening ? g->start_timeout : g->timeout,
                             .patient = g->patient,
                             .n_out = n_out,
                             .n_in = n_in,
                             .out = out,
                             .in = in};
    const wick_status status = g->wire.transport->exchange(g->wire.self, &x, &g->msg);
    if (status != WICK_OK) g->broken = true;
    return status;
}

/* `size` bytes of every rank, at their places in `all`, where this rank's are. */
static wick_status gather(wick_group *g, wick_group_op op, void *all, size_t size) {
    const int me = g->wire.rank, ranks = g->wire.size;
    const size_t bytes = 2 * (size_t)ranks * sizeof(wick_parcel);
    if (ranks == 1) return wick_group_usable(g);
    wick_parcel *in = wick_alloc(&g->ctx->alloc, bytes), *out = in + ranks;
    if (!in) return wick_group_fail(g, WICK_ERR_NOMEM, "group: %s: out of memory", wick_group_op_name(op));
    uint8_t *at = all;
    for (int k = 1; k < ranks; k++) {
        const int r = (me + k) % ranks;
        out[k - 1] = (wick_parcel){r, size ? at + (size_t)me * size : NULL, size};
        in[k - 1] = (wick_parcel){r, size ? at + (size_t)r * size : NULL, size};
    }
    const wick_status status = wick_group_exchange(g, op, ranks - 1, out, ranks - 1, in);
    wick_release(&g->ctx->alloc, in, bytes);
    return status;
}

wick_status wick_group_gather(wick_group *g, const void *mine, size_t size, void *all) {
    size_t bytes;
    WICK_TRY(wick_group_usable(g));
    if (size && (!mine || !all)) return wick_group_fail(g, WICK_ERR_INVALID, "group_gather: mine or all is NULL");
    if (wick_mul_overflows(size, (size_t)g->wire.size, &bytes))
        return wick_group_fail(g, WICK_ERR_NOMEM, "group_gather: out of memory");
    if (size) memmove((uint8_t *)all + (size_t)g->wire.rank * size, mine, size);
    return gather(g, WICK_GROUP_GATHER, all, size);
}

/* A message that left rank 0 at s, by its clock, came here before a, by ours: we are ahead by a - s at most; and those
 * that leave here say by how much at least. */
wick_status wick_group_clock(wick_group *g, int64_t *ahead, int64_t *error) {
    enum { ROUNDS = 8 };
    typedef struct times {
        uint64_t sent, arrived; /* of this message; of the one before */
    } times;
    const size_t bytes = (size_t)g->wire.size * sizeof(times);
    int64_t least = INT64_MIN, most = INT64_MAX;
    uint64_t sent = 0, arrived = 0;
    WICK_TRY(wick_group_usable(g));
    if (!ahead) return wick_group_fail(g, WICK_ERR_INVALID, "group_clock: ahead is NULL");
    times *all = wick_alloc(&g->ctx->alloc, bytes);
    if (!all) return wick_group_fail(g, WICK_ERR_NOMEM, "group_clock: out of memory");
    wick_status status = WICK_OK;
    for (int i = 0; i <= ROUNDS && status == WICK_OK; i++) {
        const uint64_t before = sent;
        sent = wick_now_ns();
        const times mine = {sent, arrived};
        status = wick_group_gather(g, &mine, sizeof mine, all);
        arrived = wick_now_ns();
        if (status == WICK_OK) most = WICK_MIN(most, (int64_t)(arrived - all[0].sent));
        if (status == WICK_OK && i) least = WICK_MAX(least, (int64_t)(before - all[0].arrived));
    }
    wick_release(&g->ctx->alloc, all, bytes);
    if (status != WICK_OK) return status;
    const bool same = g->wire.rank == 0 || (least <= 0 && most >= 0);
    *ahead = same ? 0 : least + (most - least) / 2;
    if (error) *error = g->wire.rank == 0 ? 0 : same ? WICK_MAX(most, -least) : (most - least + 1) / 2;
    return WICK_OK;
}

wick_status wick_group_barrier(wick_group *g) {
    WICK_TRY(wick_group_usable(g));
    return gather(g, WICK_GROUP_BARRIER, NULL, 0);
}

/* A binomial tree: in round i the ranks below 2^i, counted from the root, have it, and each sends it to the one 2^i
 * behind. */
wick_status wick_group_broadcast(wick_group *g, int root, void *data, size_t size) {
    const int ranks = g->wire.size;
    WICK_TRY(wick_group_usable(g));
    if (root < 0 || root >= ranks)
        return wick_group_fail(g, WICK_ERR_INVALID, "group_broadcast: root %d: ranks are 0 to %d", root, ranks - 1);
    if (!data && size) return wick_group_fail(g, WICK_ERR_INVALID, "group_broadcast: data is NULL");
    const int at = (g->wire.rank - root + ranks) % ranks;
    for (int have = 1; have < ranks; have *= 2) {
        const int to = at + have, from = at - have;
        const wick_parcel out = {(to + root) % ranks, data, size}, in = {(from + root + ranks) % ranks, data, size};
        const bool sends = at < have && to < ranks, gets = at >= have && at < 2 * have;
        WICK_TRY(wick_group_exchange(g, WICK_GROUP_BROADCAST, sends, &out, gets, &in));
    }
    return WICK_OK;
}

/* ---- whether ranks agree ----------------------------------------------------------------------------------------- */

/* What a rank tells of its bytes. */
typedef struct claim {
    uint64_t hash[2], field, size;
    char text[64]; /* the bytes, where they are a text */
} claim;

static bool is_text(const void *data, size_t size) {
    const unsigned char *at = data;
    for (size_t i = 0; i < size; i++)
        if (at[i] < ' ' || at[i] > '~') return false;
    return size > 0 && size < sizeof((claim *)0)->text;
}

static bool same_claim(const claim *a, const claim *b) { return memcmp(a, b, sizeof *a) == 0; }

/* "32 on rank 0, 64 on ranks 1 to 3" */
static wick_status describe(wick_group *g, const char *field, const claim *claims, bool *of) {
    const int ranks = g->wire.size;
    char text[700];
    wick_str s = wick_str_on(text, sizeof text);
    for (int r = 0; r < ranks; r++) {
        bool first = true;
        for (int k = 0; k < r; k++) first = first && !same_claim(&claims[k], &claims[r]);
        if (!first) continue;
        for (int k = 0; k < ranks; k++) of[k] = same_claim(&claims[k], &claims[r]);
        wick_str_add(&s, "%s%s on ", r ? ", " : "", claims[r].text[0] ? claims[r].text : r ? "another" : "one value");
        wick_ranks_text(&s, of, ranks);
    }
    return wick_group_fail(g, WICK_ERR_MISMATCH, "group: %s differs: %s", field, text);
}

static wick_status agree(wick_group *g, wick_group_op op, const char *field, const void *data, size_t size) {
    const int ranks = g->wire.size;
    const size_t bytes = (size_t)ranks * (sizeof(claim) + sizeof(bool));
    if (ranks == 1) return wick_group_usable(g);
    claim *claims = wick_calloc(&g->ctx->alloc, bytes), *mine = claims + g->wire.rank;
    if (!claims) return wick_group_fail(g, WICK_ERR_NOMEM, "group: %s: out of memory", wick_group_op_name(op));
    mine->hash[0] = wick_hash(data, size, 1);
    mine->hash[1] = wick_hash(data, size, 2);
    mine->field = wick_hash(field, strlen(field), 3);
    mine->size = size;
    if (is_text(data, size)) memcpy(mine->text, data, size);
    wick_status status = gather(g, op, claims, sizeof *claims);
    for (int r = 0; status == WICK_OK && r < ranks; r++)
        if (claims[r].field != mine->field)
            status = wick_group_fail(g, WICK_ERR_MISMATCH, "group: agree: rank %d asks about another field than '%s'",
                                     r, field);
    for (int r = 1; status == WICK_OK && r < ranks; r++)
        if (!same_claim(&claims[r], &claims[0])) status = describe(g, field, claims, (bool *)(claims + ranks));
    wick_release(&g->ctx->alloc, claims, bytes);
    return status;
}

wick_status wick_group_agree(wick_group *g, const char *field, const void *data, size_t size) {
    WICK_TRY(wick_group_usable(g));
    if (!field || (!data && size)) return wick_group_fail(g, WICK_ERR_INVALID, "group_agree: field or data is NULL");
    return agree(g, WICK_GROUP_AGREE, field, size ? data : "", size);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* A whole number of the environment in [low, high]; false: it is set, and is none. Unset or empty, *found is false. */
static bool env_number(const char *name, int low, int high, bool *found, int *value) {
    const char *text = getenv(name);
    char *end;
    *found = text && *text;
    if (!*found) return true;
    const long n = strtol(text, &end, 10);
    if (*end || end == text || n < low || n > high) return false;
    *value = (int)n;
    return true;
}

static wick_status seconds(wick_group *g, const char *name, double option, double otherwise, double *out) {
    const char *text = getenv(name);
    char *end;
    *out = option ? option : otherwise;
    if (!option && text && *text) {
        *out = strtod(text, &end);
        if (*end || !(*out > 0 && *out <= TIMEOUT_MAX))
            return wick_group_fail(g, WICK_ERR_INVALID, "group_open: %s=%s: seconds above 0, at most %g", name, text,
                                   TIMEOUT_MAX);
    }
    if (!(*out > 0 && *out <= TIMEOUT_MAX))
        return wick_group_fail(g, WICK_ERR_INVALID, "group_open: a timeout of %g s: above 0, at most %g", *out,
                               TIMEOUT_MAX);
    return WICK_OK;
}

/* What mpirun and srun tell their processes: the variable of the rank; NULL: neither started this one with others.
 * *size: how many there are; 0: nothing tells. */
static const char *mpi_launcher(int *size) {
    static const struct {
        const char *rank, *sizes[2];
    } launchers[] = {{"OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE"}},
                     {"PMIX_RANK", {"PMIX_SIZE", "SLURM_STEP_NUM_TASKS"}}, /* newer ones tell no size */
                     {"PMI_RANK", {"PMI_SIZE"}},
                     {"SLURM_PROCID", {"SLURM_STEP_NUM_TASKS"}}}; /* which a batch script by itself doesn't have */
    for (size_t i = 0; i < WICK_COUNTOF(launchers); i++) {
        const char *rank = getenv(launchers[i].rank), *text = NULL;
        for (size_t k = 0; k < 2 && !text && launchers[i].sizes[k]; k++) text = getenv(launchers[i].sizes[k]);
        *size = text ? atoi(text) : 0;
        if (!rank || !*rank || (!text && strcmp(launchers[i].rank, "PMIX_RANK") != 0)) continue;
        return *size == 1 ? NULL : launchers[i].rank;
    }
    return NULL;
}

static wick_status open_mpi(wick_group *g, const char *launcher, int told) {
    const char *named = getenv("WICK_MPI");
    /* else the library might end the process: Open MPI's does */
    if (strcmp(launcher, "SLURM_PROCID") == 0 && !(named && *named))
        return wick_group_fail(g, WICK_ERR_UNSUPPORTED,
                               "group_open: srun started %d tasks, and gave them nothing by which MPI finds the "
                               "others: srun --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH",
                               told);
    return wick_mpi_open(&g->wire, &g->ctx->alloc, launcher, told, &g->msg);
}

static wick_status connect_ranks(wick_group *g, const wick_group_options *o) {
    const wick_allocator *alloc = &g->ctx->alloc;
    bool has_rank, has_size;
    int rank = 0, size = 1;
    if (o->host) return wick_local_open(&g->wire, alloc, o->host, o->rank, &g->msg);
    if (!env_number("WICK_RANKS", 1, WICK_RANKS_MAX, &has_size, &size))
        return wick_group_fail(g, WICK_ERR_INVALID, "group_open: WICK_RANKS=%s: 1 to %d", getenv("WICK_RANKS"),
                               WICK_RANKS_MAX);
    if (!env_number("WICK_RANK", 0, size - 1, &has_rank, &rank))
        return wick_group_fail(g, WICK_ERR_INVALID, "group_open: WICK_RANK=%s: 0 to %d, with WICK_RANKS=%d",
                               getenv("WICK_RANK"), size - 1, size);
    if (has_rank != has_size)
        return wick_group_fail(g, WICK_ERR_INVALID, "group_open: %s is set without %s",
                               has_rank ? "WICK_RANK" : "WICK_RANKS", has_rank ? "WICK_RANKS" : "WICK_RANK");
    if (has_size && size > 1) {
        const char *fds = getenv("WICK_GROUP_FDS");
        if (!fds || !*fds)
            return wick_group_fail(g, WICK_ERR_INVALID,
                                   "group_open: WICK_RANK and WICK_RANKS are set without WICK_GROUP_FDS: ranks are "
                                   "started by wick launch");
        return wick_local_open_inherited(&g->wire, alloc, rank, size, fds, &g->msg);
    }
    int told = 0;
    const char *launcher = has_size ? NULL : mpi_launcher(&told);
    if (launcher) return open_mpi(g, launcher, told);
    g->wire.size = 1;
    return WICK_OK;
}

/* All ranks are there, and bits depend on the same. */
static wick_status meet(wick_group *g) {
    const char *numerics = wick_context_numerics(g->ctx), *version = wick_version();
    g->opening = true;
    wick_status status = agree(g, WICK_GROUP_OPEN, "version of Wick", version, strlen(version));
    g->opening = false;
    if (status == WICK_OK) status = agree(g, WICK_GROUP_OPEN, "numerics", numerics, strlen(numerics));
    return status;
}

wick_status wick_group_open(wick_context *ctx, const wick_group_options *options, wick_group **out) {
    static const wick_group_options defaults;
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "group_open: out is NULL");
    *out = NULL;
    if (!options) options = &defaults;
    wick_group *g = wick_calloc(&ctx->alloc, sizeof *g);
    if (!g) return wick_context_fail(ctx, WICK_ERR_NOMEM, "group_open: out of memory");
    g->ctx = ctx;
    wick_status status = seconds(g, "WICK_GROUP_TIMEOUT", options->timeout, TIMEOUT, &g->timeout);
    if (status == WICK_OK)
        status = seconds(g, "WICK_GROUP_START_TIMEOUT", options->start_timeout, START_TIMEOUT, &g->start_timeout);
    if (status == WICK_OK) status = connect_ranks(g, options);
    if (status == WICK_OK) status = meet(g);
    if (status == WICK_OK) {
        *out = g;
        return WICK_OK;
    }
    wick_context_fail(ctx, status, "%s", g->msg.text);
    wick_group_close(&g);
    return status;
}

void wick_group_close(wick_group **group) {
    wick_group *g = group ? *group : NULL;
    if (!g) return;
    *group = NULL;
    wick_group_pieces_free(g);
    wick_group_fast_free(g);
    wick_group_sum_free(g);
    wick_group_shares_free(g);
    if (g->wire.transport) g->wire.transport->close(g->wire.self, g->broken);
    wick_release(&g->ctx->alloc, g, sizeof *g);
}

int wick_group_rank(const wick_group *g) { return g->wire.rank; }
int wick_group_size(const wick_group *g) { return g->wire.size; }
uint64_t wick_group_sent(const wick_group *g) { return g->sent; }
const char *wick_group_transport(const wick_group *g) { return g->wire.transport ? g->wire.transport->name : "none"; }
