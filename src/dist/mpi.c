/* mpi.c: messages between ranks by an MPI library (mpi_library.h). All messages of an exchange are under way at once
 * and are polled, so that a rank that hangs is found out; the standard's own waiting has no end. */
#include "dist/group.h"
#include "dist/mpi_library.h"

#include <sched.h>
#include <time.h>

enum {
    PIECE = 1 << 30, /* bytes of a message: counts are ints */
    TAG_OPS = 16,    /* a tag is an op and the low bits of the sequence: at most 32767, which every library has */
    TAG_SEQUENCES = 2047,
    TAG_LEAVE = 0, /* a rank leaves; no op has that number */
    SUM_PIECE = 1 << 24, /* floats that the library sums at once */
    SPINS = 2000,  /* polls without success before the thread sleeps between them */
    SLEEP_NS = 50000,
    PATIENT_SPINS = 2, /* the same of a thread beside one that computes, which yielding would take turns with */
    LEAVE_SECONDS = 5 /* that a rank which leaves waits for the others */
};

_Static_assert((int)WICK_GROUP_OPS <= (int)TAG_OPS, "each op has tags of its own");

typedef struct pending {
    mpi_handle request;
    int peer, size; /* bytes expected; -1: it goes out */
    bool done;
} pending;

typedef struct mpi_wire {
    const wick_allocator *alloc;
    mpi_library lib;
    mpi_handle comm;
    int rank, ranks;
    bool ours;  /* we called MPI_Init */
    bool turns; /* threads may take turns */
    pending *list;
    size_t list_bytes;
    int n;
} mpi_wire;

static wick_status say_error(mpi_wire *w, int code, const char *what, wick_msg *msg) {
    char text[300];
    mpi_error_text(&w->lib, code, text, sizeof text);
    return wick_msg_set(msg, WICK_ERR_IO, "group: %s: %s: %s", what, w->lib.name, text);
}

static int pieces_of(const wick_parcel *p) { return p->size ? (int)((p->size + PIECE - 1) / PIECE) : 1; }

static bool make_room(mpi_wire *w, const wick_exchange *x) {
    size_t n = 0, bytes;
    for (int i = 0; i < x->n_in; i++) n += (size_t)pieces_of(&x->in[i]);
    for (int i = 0; i < x->n_out; i++) n += (size_t)pieces_of(&x->out[i]);
    w->n = 0;
    bytes = n * sizeof *w->list;
    if (bytes <= w->list_bytes) return true;
    wick_release(w->alloc, w->list, w->list_bytes);
    w->list_bytes = 0;
    w->list = wick_alloc(w->alloc, bytes);
    if (w->list) w->list_bytes = bytes;
    return w->list != NULL;
}

/* Starts the messages of a parcel. */
static int start(mpi_wire *w, const wick_parcel *p, bool out, int tag) {
    uint8_t *at = p->data;
    size_t left = p->size;
    for (int i = pieces_of(p); i > 0; i--) {
        const int n = (int)WICK_MIN(left, (size_t)PIECE);
        pending *q = &w->list[w->n++];
        *q = (pending){.peer = p->peer, .size = out ? -1 : n};
        const int code = out ? mpi_isend(&w->lib, at, n, p->peer, tag, w->comm, &q->request)
                             : mpi_irecv(&w->lib, at, n, p->peer, w->lib.any_tag, w->comm, &q->request);
        if (code) {
            w->n--;
            return code;
        }
        if (left) at += n, left -= (size_t)n;
    }
    return 0;
}

/* Whether what came in is what was expected; `code` is what its receiving gave. */
static wick_status check(mpi_wire *w, const wick_exchange *x, const pending *p, int tag, const mpi_status *status,
                         int code, wick_msg *msg) {
    const int got = status->words[w->lib.tag_word];
    int bytes = 0;
    if (code && mpi_error_class(&w->lib, code) != w->lib.truncated) return say_error(w, code, x->what, msg);
    if (!code && p->size < 0) return WICK_OK;
    if (!code && got == TAG_LEAVE && tag != TAG_LEAVE)
        return wick_msg_set(msg, WICK_ERR_IO, "group: %s: rank %d has left the group", x->what, p->peer);
    if (x->asking) return WICK_OK;
    if (!code && got != tag) {
        const wick_parcel_head head = {.op = (uint32_t)got % TAG_OPS, .sequence = x->sequence + 1};
        return wick_parcel_check(&head, x, &(wick_parcel){p->peer, NULL, 0}, msg);
    }
    if (code || mpi_count(&w->lib, status, &bytes) || bytes != p->size)
        return wick_msg_set(msg, WICK_ERR_MISMATCH, "group: %s: rank %d sends %s bytes than are expected", x->what,
                            p->peer, code ? "more" : "fewer");
    return WICK_OK;
}

/* Looks at all messages once; how many have ended since the last look. */
static int look(mpi_wire *w, const wick_exchange *x, int tag, int *left, wick_status *status, wick_msg *msg) {
    int moved = 0;
    *left = 0;
    for (int i = 0; i < w->n && *status == WICK_OK; i++) {
        pending *p = &w->list[i];
        mpi_status s = {{0}};
        int done = 0;
        if (p->done) continue;
        const int code = mpi_test(&w->lib, &p->request, &done, &s);
        p->done = done || code;
        moved += p->done;
        *left += !p->done;
        if (p->done) *status = check(w, x, p, tag, &s, code, msg);
    }
    return moved;
}

static void pause_a_little(int spins, int most) {
    if (spins < most) {
        sched_yield();
        return;
    }
    nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
}

static wick_status say_silent(mpi_wire *w, const wick_exchange *x, wick_msg *msg) {
    char text[300];
    wick_str s = wick_str_on(text, sizeof text);
    bool *of = wick_calloc(w->alloc, (size_t)w->ranks);
    for (int i = 0; i < w->n && of; i++) of[w->list[i].peer] |= !w->list[i].done;
    if (of) wick_ranks_text(&s, of, w->ranks);
    wick_release(w->alloc, of, (size_t)w->ranks);
    return wick_msg_set(msg, WICK_ERR_DEADLINE, "group: %s: %s did not answer in %g s", x->what, of ? text : "a rank",
                        x->timeout);
}

/* After an error: so that nothing arrives in memory that may be somebody else's by then. */
static void cancel_all(mpi_wire *w) {
    for (int i = 0; i < w->n; i++) {
        mpi_status s = {{0}};
        int done = 0;
        if (w->list[i].done || w->list[i].size < 0) continue;
        if (mpi_cancel(&w->lib, &w->list[i].request) == 0) (void)mpi_test(&w->lib, &w->list[i].request, &done, &s);
    }
}

static wick_status exchange(void *self, const wick_exchange *x, wick_msg *msg) {
    mpi_wire *w = self;
    const int tag = (int)(x->op % TAG_OPS + TAG_OPS * (x->sequence % TAG_SEQUENCES));
    wick_status status = WICK_OK;
    uint64_t idle = 0;
    int code = 0, left = 1, spins = 0;
    if (!make_room(w, x)) return wick_msg_set(msg, WICK_ERR_NOMEM, "group: %s: out of memory", x->what);
    /* What goes out first: else a peer whose message is here is told to send it before it hears of ours, and a library
     * may have all of that on its way before it answers (Open MPI by TCP: one direction, then the other). */
    for (int i = 0; i < x->n_out && !code; i++) code = start(w, &x->out[i], true, tag);
    for (int i = 0; i < x->n_in && !code; i++) code = start(w, &x->in[i], false, tag);
    if (code) status = say_error(w, code, x->what, msg);
    while (left && status == WICK_OK) {
        if (look(w, x, tag, &left, &status, msg)) {
            idle = 0, spins = 0;
            continue;
        }
        if (!left || status != WICK_OK) break;
        const uint64_t now = wick_now_ns();
        if (!idle) idle = now;
        if ((double)(now - idle) * 1e-9 > x->timeout) status = say_silent(w, x, msg);
        pause_a_little(spins++, x->patient ? PATIENT_SPINS : SPINS);
    }
    if (status != WICK_OK) cancel_all(w);
    return status;
}

/* The library's own sum of a piece, which can't be taken back: on failure it stays under way. */
static wick_status sum_piece(mpi_wire *w, const wick_wire_sum *x, float *values, int n, wick_msg *msg) {
    mpi_handle request;
    int done = 0, code = mpi_sum(&w->lib, values, n, w->comm, &request);
    const uint64_t began = wick_now_ns();
    for (int spins = 0; !code && !done; spins++) {
        mpi_status s = {{0}};
        code = mpi_test(&w->lib, &request, &done, &s);
        if (code || done) break;
        if ((double)(wick_now_ns() - began) * 1e-9 > x->timeout)
            return wick_msg_set(msg, WICK_ERR_DEADLINE, "group: %s: the all-reduce of %s did not end in %g s", x->what,
                                w->lib.name, x->timeout);
        pause_a_little(spins, SPINS);
    }
    return code ? say_error(w, code, x->what, msg) : WICK_OK;
}

static wick_status reduce(void *self, const wick_wire_sum *x, wick_msg *msg) {
    wick_status status = WICK_OK;
    for (size_t at = 0; at < x->count && status == WICK_OK; at += SUM_PIECE)
        status = sum_piece(self, x, x->values + at, (int)WICK_MIN(x->count - at, (size_t)SUM_PIECE), msg);
    return status;
}

/* Tells all that this rank leaves; true: they all do. Without that MPI_Finalize might wait for ever. */
static bool leave(mpi_wire *w) {
    const uint64_t end = wick_now_ns() + LEAVE_SECONDS * 1000000000ull;
    const wick_parcel nothing = {0};
    wick_status status = WICK_OK;
    int left = w->ranks, code = 0;
    const size_t bytes = 2 * (size_t)w->ranks * sizeof *w->list;
    pending *list = wick_alloc(w->alloc, bytes);
    if (!list) return false;
    wick_release(w->alloc, w->list, w->list_bytes);
    w->list = list, w->list_bytes = bytes, w->n = 0;
    for (int r = 0; r < w->ranks && !code; r++) {
        wick_parcel p = nothing;
        p.peer = r;
        if (r == w->rank) continue;
        code = start(w, &p, true, TAG_LEAVE);
        pending *q = &w->list[w->n++];
        *q = (pending){.peer = r, .size = -1};
        if (!code) code = mpi_irecv(&w->lib, NULL, 0, r, TAG_LEAVE, w->comm, &q->request);
    }
    const wick_exchange x = {.what = "close"};
    for (int spins = 0; !code && left && status == WICK_OK && wick_now_ns() < end; spins++) {
        (void)look(w, &x, TAG_LEAVE, &left, &status, NULL);
        if (left) pause_a_little(spins, SPINS);
    }
    return !code && !left && status == WICK_OK;
}

static void close_mpi(void *self, bool broken) {
    mpi_wire *w = self;
    /* of a broken group messages are lost: MPI is left as it is, and ends with the process */
    const bool all = leave(w) && !broken;
    if (all) (void)mpi_free(&w->lib, &w->comm);
    if (all && w->ours) (void)mpi_finalize(&w->lib);
    wick_release(w->alloc, w->list, w->list_bytes);
    wick_release(w->alloc, w, sizeof *w);
}

static bool any_thread(const void *self) { return ((const mpi_wire *)self)->turns; }

static wick_status join(mpi_wire *w, int told, wick_msg *msg) {
    const mpi_library *m = &w->lib;
    int code = 0;
    if (mpi_flag(m, MPI_CALL_FINALIZED) == 1)
        return wick_msg_set(msg, WICK_ERR_INVALID,
                            "group_open: MPI was finalized in this process: it can be opened once");
    w->ours = mpi_flag(m, MPI_CALL_INITIALIZED) == 0;
    if (w->ours) code = mpi_init(m);
    w->turns = !code && mpi_takes_turns(m);
    if (!code) code = mpi_return_errors(m, m->world);
    if (!code) code = mpi_size(m, m->world, &w->ranks);
    if (!code && told && told != w->ranks)
        return wick_msg_set(
            msg, WICK_ERR_UNSUPPORTED,
            "group_open: %d ranks were started, and %s here knows of %d: it is of another kind than the "
            "launcher; WICK_MPI=FILE names the right one",
            told, m->name, w->ranks);
    if (!code) code = mpi_dup(m, m->world, &w->comm);
    if (!code) code = mpi_return_errors(m, w->comm);
    if (!code) code = mpi_rank(m, w->comm, &w->rank);
    return code ? say_error(w, code, "open", msg) : WICK_OK;
}

wick_status wick_mpi_open(wick_wire *wire, const wick_allocator *alloc, const char *launcher, int told, wick_msg *msg) {
    static const wick_transport transports[] = {
        {"Open MPI", exchange, reduce, any_thread, close_mpi},
        {"MPICH", exchange, reduce, any_thread, close_mpi},
        {"MPI", exchange, reduce, any_thread, close_mpi}};
    mpi_wire *w = wick_calloc(alloc, sizeof *w);
    if (!w) return wick_msg_set(msg, WICK_ERR_NOMEM, "group_open: out of memory");
    w->alloc = alloc;
    wick_status status = mpi_library_open(&w->lib, launcher, msg);
    if (status == WICK_OK) status = join(w, told, msg);
    if (status == WICK_OK && w->ranks > WICK_RANKS_MAX)
        status = wick_msg_set(msg, WICK_ERR_INVALID, "group_open: %d ranks: at most %d", w->ranks, WICK_RANKS_MAX);
    if (status != WICK_OK) {
        wick_release(alloc, w, sizeof *w);
        return status;
    }
    size_t t = 0;
    while (strcmp(transports[t].name, w->lib.name) != 0) t++;
    *wire = (wick_wire){&transports[t], w, w->rank, w->ranks};
    return WICK_OK;
}
