/* local.c: messages between ranks of one machine, through rings of shared memory (local.h). */
#include "dist/local.h"

#include "dist/group.h"

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    PIECE = 1 << 17, /* bytes after which a rank looks at its other rings */
    SPINS = 200,     /* looks at the bell before it sleeps */
    SLICE_MS = 50,   /* the longest sleep: then it looks whether others are still there */
    SILENT_MS = 1000 /* a rank that has not looked around for so long does not wait for others: it hangs */
};

/* One direction to one peer: which message is under way, and how much of it (its head first) is done. */
typedef struct lane {
    int at; /* n: none is left */
    size_t done;
    wick_parcel_head head;
} lane;

typedef struct local {
    const wick_allocator *alloc;
    size_t bytes;                   /* of this block */
    int rank, ranks, memory, n_fds; /* memory -1: the host's, in this very process */
    local_head *shared;
    size_t shared_bytes;
    int *fds;      /* of each rank: the pipe's end; NULL: threads of one process */
    bool *suspect; /* gone, but what it sent before may still be in the ring */
    lane *out, *in;
} local;

static local_slot *slot_of(const local *l, int rank) { return &l->shared->slots[rank]; }
static local_ring *ring_of(const local *l, int from, int to) {
    const size_t size = sizeof(local_ring) + l->shared->ring_bytes,
                 i = (size_t)from * (size_t)(l->ranks - 1) + (size_t)(to < from ? to : to - 1);
    return (local_ring *)((uint8_t *)l->shared + local_rings_at((uint32_t)l->ranks) + i * size);
}

static void futex_wait(_Atomic uint32_t *word, uint32_t seen, int ms) {
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    (void)syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0); /* wakes early: whoever waits looks again */
}

static void ring_bell(const local *l, int rank) {
    local_slot *s = slot_of(l, rank);
    atomic_fetch_add(&s->bell, 1);
    if (atomic_load(&s->sleeping)) (void)syscall(SYS_futex, &s->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* ---- rings ------------------------------------------------------------------------------------------------------- */

static size_t ring_write(const local *l, local_ring *r, const void *from, size_t n) {
    const size_t size = l->shared->ring_bytes;
    const uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed),
                   tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    const size_t at = head & (size - 1), room = size - (size_t)(head - tail);
    n = WICK_MIN(WICK_MIN(n, room), size - at);
    if (!n) return 0;
    memcpy(r->data + at, from, n);
    atomic_store_explicit(&r->head, head + n, memory_order_release);
    return n;
}

static size_t ring_read(const local *l, local_ring *r, void *to, size_t n) {
    const size_t size = l->shared->ring_bytes;
    const uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed),
                   head = atomic_load_explicit(&r->head, memory_order_acquire);
    const size_t at = tail & (size - 1);
    n = WICK_MIN(WICK_MIN(n, (size_t)(head - tail)), size - at);
    if (!n) return 0;
    memcpy(to, r->data + at, n);
    atomic_store_explicit(&r->tail, tail + n, memory_order_release);
    return n;
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

/* The first message of the list from `at` on that is the peer's. */
static int next_of(const wick_parcel *list, int n, int at, int peer) {
    while (at < n && list[at].peer != peer) at++;
    return at;
}

static size_t send_some(local *l, const wick_exchange *x, int peer) {
    lane *a = &l->out[peer];
    local_ring *ring = ring_of(l, l->rank, peer);
    size_t moved = 0, n = 1;
    while (a->at < x->n_out && moved < PIECE && n) {
        const wick_parcel *p = &x->out[a->at];
        const size_t head = sizeof a->head;
        if (!a->done) a->head = (wick_parcel_head){x->op, x->sequence, p->size};
        n = a->done < head ? ring_write(l, ring, (uint8_t *)&a->head + a->done, head - a->done)
                           : ring_write(l, ring, (const uint8_t *)p->data + (a->done - head),
                                        WICK_MIN(p->size - (a->done - head), (size_t)PIECE));
        a->done += n, moved += n;
        if (a->done < head + p->size) continue;
        *a = (lane){.at = next_of(x->out, x->n_out, a->at + 1, peer)};
        n = 1;
    }
    return moved;
}

static size_t receive_some(local *l, const wick_exchange *x, int peer, wick_status *status, wick_msg *msg) {
    lane *a = &l->in[peer];
    local_ring *ring = ring_of(l, peer, l->rank);
    size_t moved = 0, n = 1;
    while (a->at < x->n_in && moved < PIECE && n) {
        const wick_parcel *p = &x->in[a->at];
        const size_t head = sizeof a->head;
        n = a->done < head ? ring_read(l, ring, (uint8_t *)&a->head + a->done, head - a->done)
                           : ring_read(l, ring, (uint8_t *)p->data + (a->done - head),
                                       WICK_MIN(p->size - (a->done - head), (size_t)PIECE));
        const bool whole_head = a->done < head && a->done + n == head;
        a->done += n, moved += n;
        if (whole_head && (*status = wick_parcel_check(&a->head, x, p, msg)) != WICK_OK) return moved;
        if (a->done < head + p->size) continue;
        *a = (lane){.at = next_of(x->in, x->n_in, a->at + 1, peer)};
        n = 1;
    }
    return moved;
}

static bool unfinished(const local *l, const wick_exchange *x, int peer) {
    return l->out[peer].at < x->n_out || l->in[peer].at < x->n_in;
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* This rank gives up: others that wait for it learn for whom. */
static wick_status give_up(local *l, int rank, local_reason why, wick_status status) {
    local_slot *me = slot_of(l, l->rank);
    atomic_store(&me->reason, (uint32_t)why);
    atomic_store(&me->blamed, (uint32_t)rank + 1);
    for (int r = 0; r < l->ranks; r++)
        if (r != l->rank) ring_bell(l, r);
    return status;
}

/* Whether the peer's process has ended: nobody has the writing end of its pipe. */
static bool hung_up(const local *l, int peer) {
    if (!l->fds) return false;
    struct pollfd p = {.fd = l->fds[peer], .events = POLLIN};
    return poll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLERR | POLLNVAL);
}

static wick_status say_gone(local *l, const wick_exchange *x, int peer, wick_msg *msg) {
    const local_slot *s = slot_of(l, peer);
    const int blamed = (int)atomic_load(&s->blamed) - 1;
    const local_reason why = blamed < 0 ? LOCAL_FINE : (local_reason)atomic_load(&s->reason);
    if (blamed == l->rank || why == LOCAL_MISMATCH) {
        wick_msg_set(msg, WICK_ERR_IO, "group: %s: rank %d gave up: %s", x->what, peer,
                     why == LOCAL_SILENT ? "this rank did not answer in time" : "ranks are not at the same call");
        return give_up(l, peer, LOCAL_GONE, WICK_ERR_IO);
    }
    if (blamed >= 0) { /* whoever asks this rank hears of the same one */
        wick_msg_set(msg, why == LOCAL_SILENT ? WICK_ERR_DEADLINE : WICK_ERR_IO,
                     "group: %s: rank %d %s, as rank %d found", x->what, blamed,
                     why == LOCAL_SILENT ? "did not answer in time" : "is gone", peer);
        return give_up(l, blamed, why, msg ? msg->status : WICK_ERR_IO);
    }
    wick_msg_set(msg, WICK_ERR_IO, "group: %s: rank %d %s", x->what, peer,
                 atomic_load(&s->closed)  ? "has left the group"
                 : atomic_load(&s->taken) ? "is gone: its process ended"
                                          : "is gone: its process ended without joining the group");
    return give_up(l, peer, LOCAL_GONE, WICK_ERR_IO);
}

/* Of the peers that are waited for one has left, gave up, or (every slice) died: an error, once nothing more came. */
static wick_status look_for_gone(local *l, const wick_exchange *x, bool slept, bool *again, wick_msg *msg) {
    *again = false;
    for (int r = 0; r < l->ranks; r++) {
        const local_slot *s = slot_of(l, r);
        if (r == l->rank || !unfinished(l, x, r)) continue;
        if (!atomic_load(&s->closed) && !atomic_load(&s->blamed) && !(slept && hung_up(l, r))) continue;
        if (l->suspect[r]) return say_gone(l, x, r, msg);
        l->suspect[r] = *again = true;
    }
    return WICK_OK;
}

/* Nothing came for too long. Ranks that wait as this one does look around; those that don't are at fault. */
static wick_status say_silent(local *l, const wick_exchange *x, uint64_t now, wick_msg *msg) {
    const double limit = WICK_MIN(SILENT_MS * 1e-3, x->timeout / 2);
    char text[256];
    wick_str s = wick_str_on(text, sizeof text);
    int first = -1;
    for (int r = 0; r < l->ranks; r++) {
        const uint64_t beat = atomic_load(&slot_of(l, r)->beat);
        l->suspect[r] = r != l->rank && now > beat && (double)(now - beat) * 1e-9 > limit;
        if (l->suspect[r] && first < 0) first = r;
    }
    for (int r = 0; r < l->ranks && first < 0; r++)
        if (r != l->rank && unfinished(l, x, r)) l->suspect[first = r] = true;
    wick_ranks_text(&s, l->suspect, l->ranks);
    wick_msg_set(msg, WICK_ERR_DEADLINE, "group: %s: %s did not answer in %g s", x->what, text, x->timeout);
    return give_up(l, first, LOCAL_SILENT, WICK_ERR_DEADLINE);
}

/* Until the bell rings, or for a slice. *idle: since when nothing moved; 0: until now something did. */
static wick_status wait_for_bell(local *l, const wick_exchange *x, uint32_t seen, uint64_t *idle, wick_msg *msg) {
    local_slot *me = slot_of(l, l->rank);
    bool again;
    WICK_TRY(look_for_gone(l, x, false, &again, msg));
    if (again) return WICK_OK;
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&me->bell, memory_order_relaxed) != seen) return WICK_OK;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    uint64_t now = wick_now_ns();
    if (!*idle) *idle = now;
    const double left = x->timeout - (double)(now - *idle) * 1e-9;
    if (left <= 0) return say_silent(l, x, now, msg);
    atomic_store(&me->beat, now);
    atomic_store(&me->sleeping, 1);
    if (atomic_load(&me->bell) == seen)
        futex_wait(&me->bell, seen, left * 1e3 < SLICE_MS ? (int)(left * 1e3) + 1 : SLICE_MS);
    atomic_store(&me->sleeping, 0);
    atomic_store(&me->beat, now = wick_now_ns());
    return atomic_load(&me->bell) != seen ? WICK_OK : look_for_gone(l, x, true, &again, msg);
}

static wick_status exchange(void *self, const wick_exchange *x, wick_msg *msg) {
    local *l = self;
    wick_status status = WICK_OK;
    uint64_t idle = 0;
    for (int r = 0; r < l->ranks; r++) {
        l->out[r] = (lane){.at = next_of(x->out, x->n_out, 0, r)};
        l->in[r] = (lane){.at = next_of(x->in, x->n_in, 0, r)};
        l->suspect[r] = false;
    }
    for (bool left = true; left && status == WICK_OK;) {
        const uint32_t seen = atomic_load(&slot_of(l, l->rank)->bell);
        size_t moved = 0;
        left = false;
        for (int k = 1; k < l->ranks && status == WICK_OK; k++) {
            const int r = (l->rank + k) % l->ranks;
            if (!unfinished(l, x, r)) continue;
            const size_t n = send_some(l, x, r) + receive_some(l, x, r, &status, msg);
            if (n) ring_bell(l, r);
            moved += n;
            left = left || unfinished(l, x, r);
            if (status != WICK_OK) return give_up(l, r, LOCAL_MISMATCH, status);
        }
        if (moved)
            idle = 0;
        else if (left)
            status = wait_for_bell(l, x, seen, &idle, msg);
    }
    return status;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void close_local(void *self, bool broken) {
    (void)broken;
    local *l = self;
    if (l->shared) {
        atomic_store(&slot_of(l, l->rank)->closed, 1);
        for (int r = 0; r < l->ranks; r++)
            if (r != l->rank) ring_bell(l, r);
        munmap(l->shared, l->shared_bytes);
    }
    for (int r = 0; l->fds && r < l->ranks; r++) close(l->fds[r]);
    if (l->memory >= 0) close(l->memory);
    wick_release(l->alloc, l, l->bytes);
}

static const wick_transport transport = {"local", exchange, NULL, NULL, close_local};

static local *new_local(const wick_allocator *alloc, int rank, int ranks, bool fds) {
    const size_t n = (size_t)ranks, bytes = sizeof(local) + n * (2 * sizeof(lane) + sizeof(int) + sizeof(bool));
    local *l = wick_calloc(alloc, bytes);
    if (!l) return NULL;
    *l = (local){.alloc = alloc, .bytes = bytes, .rank = rank, .ranks = ranks, .memory = -1};
    l->out = (lane *)(l + 1);
    l->in = l->out + n;
    l->fds = fds ? (int *)(l->in + n) : NULL;
    l->suspect = (bool *)((int *)(l->in + n) + n);
    return l;
}

/* Maps the memory that the descriptor is of, and takes the seat. */
static wick_status take_seat(local *l, int memory, wick_msg *msg) {
    struct stat st;
    local_head head;
    const uint32_t ranks = (uint32_t)l->ranks;
    if (fstat(memory, &st) != 0 || pread(memory, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        head.magic != LOCAL_MAGIC)
        return wick_msg_set(msg, WICK_ERR_INVALID, "group_open: WICK_GROUP_FDS: descriptor %d is no group's memory",
                            memory);
    if (head.version != LOCAL_VERSION)
        return wick_msg_set(msg, WICK_ERR_MISMATCH, "group_open: wick launch is of another version of Wick");
    if (head.ranks != ranks || !head.ring_bytes || (head.ring_bytes & (head.ring_bytes - 1)) ||
        (uint64_t)st.st_size != local_bytes(ranks, head.ring_bytes))
        return wick_msg_set(msg, WICK_ERR_INVALID, "group_open: WICK_RANKS=%d, where the group's memory is of %u ranks",
                            l->ranks, head.ranks);
    l->shared_bytes = local_bytes(ranks, head.ring_bytes);
    void *at = mmap(NULL, l->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (at == MAP_FAILED)
        return wick_msg_set(msg, WICK_ERR_NOMEM, "group_open: out of addresses for %zu bytes", l->shared_bytes);
    l->shared = at;
    if (!atomic_exchange(&slot_of(l, l->rank)->taken, 1)) return WICK_OK;
    munmap(at, l->shared_bytes);
    l->shared = NULL;
    return wick_msg_set(msg, WICK_ERR_INVALID, "group_open: rank %d was opened before: it can be once", l->rank);
}

static wick_status open_as(wick_wire *wire, local *l, int memory, wick_msg *msg) {
    const wick_status status = take_seat(l, memory, msg);
    if (status != WICK_OK) { /* descriptors stay: they may be those of a group that was opened before */
        wick_release(l->alloc, l, l->bytes);
        return status;
    }
    *wire = (wick_wire){&transport, l, l->rank, l->ranks};
    return WICK_OK;
}

wick_status wick_local_open(wick_wire *wire, const wick_allocator *alloc, const wick_group_host *host, int rank,
                            wick_msg *msg) {
    if (rank < 0 || rank >= host->ranks)
        return wick_msg_set(msg, WICK_ERR_INVALID, "group_open: rank %d: 0 to %d", rank, host->ranks - 1);
    if (host->entered) return wick_msg_set(msg, WICK_ERR_INVALID, "group_open: a seat of the host was entered");
    local *l = new_local(alloc, rank, host->ranks, false);
    if (!l) return wick_msg_set(msg, WICK_ERR_NOMEM, "group_open: out of memory");
    return open_as(wire, l, host->memory, msg);
}

/* "3,4,5": the memory, then a pipe's end of each rank. */
static bool read_fds(local *l, const char *text) {
    for (int i = -1; i < l->ranks; i++) {
        char *end;
        const long fd = strtol(text, &end, 10);
        struct stat st;
        if (end == text || *end != (i + 1 < l->ranks ? ',' : '\0') || fd < 0 || fd > INT32_MAX ||
            fstat((int)fd, &st) != 0 || !(i < 0 ? S_ISREG(st.st_mode) : S_ISFIFO(st.st_mode)))
            return false;
        *(i < 0 ? &l->memory : &l->fds[i]) = (int)fd;
        text = end + 1;
    }
    return true;
}

wick_status wick_local_open_inherited(wick_wire *wire, const wick_allocator *alloc, int rank, int ranks,
                                      const char *fds, wick_msg *msg) {
    if (ranks > LOCAL_RANKS_MAX)
        return wick_msg_set(msg, WICK_ERR_INVALID, "group_open: WICK_RANKS=%d: at most %d on one machine", ranks,
                            LOCAL_RANKS_MAX);
    local *l = new_local(alloc, rank, ranks, true);
    if (!l) return wick_msg_set(msg, WICK_ERR_NOMEM, "group_open: out of memory");
    if (!read_fds(l, fds)) {
        wick_release(alloc, l, l->bytes);
        return wick_msg_set(msg, WICK_ERR_INVALID,
                            "group_open: WICK_GROUP_FDS=%s: not what wick launch gave to this process", fds);
    }
    for (int r = -1; r < ranks; r++) (void)fcntl(r < 0 ? l->memory : l->fds[r], F_SETFD, FD_CLOEXEC);
    return open_as(wire, l, l->memory, msg);
}

#else

wick_status wick_local_open(wick_wire *wire, const wick_allocator *alloc, const wick_group_host *host, int rank,
                            wick_msg *msg) {
    (void)wire, (void)alloc, (void)host, (void)rank;
    return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "group_open: ranks on one machine need Linux");
}
wick_status wick_local_open_inherited(wick_wire *wire, const wick_allocator *alloc, int rank, int ranks,
                                      const char *fds, wick_msg *msg) {
    (void)wire, (void)alloc, (void)rank, (void)ranks, (void)fds;
    return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "group_open: ranks on one machine need Linux");
}

#endif
