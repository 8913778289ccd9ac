/* host.c: what ranks of one machine share, before there are any. */
#include "dist/group.h"
#include "dist/local.h"

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of a ring: the larger, the fewer times that ranks which share a CPU have to take turns; less where many ranks would
 * take more together. */
enum { RING_MOST = 1 << 20, RING_LEAST = 1 << 12, MEMORY_MOST = 64 << 20 };

static size_t host_bytes(int ranks) { return sizeof(wick_group_host) + (size_t)ranks * 2 * sizeof(int); }

static int make_memory(int ranks) {
    const uint32_t n = (uint32_t)ranks;
    uint32_t ring = RING_MOST;
    while (ring > RING_LEAST && local_bytes(n, ring) > MEMORY_MOST) ring /= 2;
    const local_head head = {.magic = LOCAL_MAGIC, .version = LOCAL_VERSION, .ranks = n, .ring_bytes = ring};
    const int fd = memfd_create("wick-group", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return -1;
    /* all pages now: a rank that got none later would be ended by the system */
    const int refused = posix_fallocate(fd, 0, (off_t)local_bytes(n, ring));
    if (!refused && pwrite(fd, &head, sizeof head, 0) == (ssize_t)sizeof head) {
        (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW); /* without it all works as well */
        return fd;
    }
    close(fd);
    if (refused) errno = refused;
    return -1;
}

wick_status wick_group_host_new(wick_context *ctx, int ranks, wick_group_host **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "group_host_new: out is NULL");
    *out = NULL;
    if (ranks < 1 || ranks > LOCAL_RANKS_MAX)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "group_host_new: %d ranks: 1 to %d on one machine", ranks,
                                 LOCAL_RANKS_MAX);
    wick_group_host *h = wick_calloc(&ctx->alloc, host_bytes(ranks));
    if (!h) return wick_context_fail(ctx, WICK_ERR_NOMEM, "group_host_new: out of memory");
    h->alloc = &ctx->alloc;
    h->ranks = ranks;
    for (int r = 0; r < ranks; r++) h->pipes[r][0] = h->pipes[r][1] = -1;
    h->memory = make_memory(ranks);
    bool ok = h->memory >= 0;
    for (int r = 0; r < ranks && ok; r++) ok = pipe2(h->pipes[r], O_CLOEXEC) == 0;
    if (ok) {
        *out = h;
        return WICK_OK;
    }
    const int why = errno;
    wick_group_host_free(&h);
    return wick_context_fail(ctx, WICK_ERR_IO, "group_host_new: %d ranks: %s", ranks, strerror(why));
}

static void close_end(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

wick_status wick_group_host_enter(wick_group_host *h, int rank) {
    if (rank < 0 || rank >= h->ranks || h->entered) return WICK_ERR_INVALID;
    const size_t room = 16 * ((size_t)h->ranks + 1);
    char *list = wick_alloc(h->alloc, room), number[16];
    if (!list) return WICK_ERR_NOMEM;
    wick_str s = wick_str_on(list, room);
    bool ok = fcntl(h->memory, F_SETFD, 0) == 0;
    wick_str_add(&s, "%d", h->memory);
    for (int r = 0; r < h->ranks && ok; r++) {
        const int keep = r == rank; /* the end to write to: nobody ever does */
        wick_str_add(&s, ",%d", h->pipes[r][keep]);
        close_end(&h->pipes[r][!keep]);
        ok = fcntl(h->pipes[r][keep], F_SETFD, 0) == 0;
    }
    h->entered = true;
    snprintf(number, sizeof number, "%d", rank);
    ok = ok && setenv("WICK_GROUP_FDS", list, 1) == 0 && setenv("WICK_RANK", number, 1) == 0;
    snprintf(number, sizeof number, "%d", h->ranks);
    ok = ok && setenv("WICK_RANKS", number, 1) == 0;
    wick_release(h->alloc, list, room);
    return ok ? WICK_OK : WICK_ERR_IO;
}

void wick_group_host_free(wick_group_host **host) {
    wick_group_host *h = host ? *host : NULL;
    if (!h) return;
    *host = NULL;
    if (!h->entered) {
        close_end(&h->memory);
        for (int r = 0; r < h->ranks; r++) close_end(&h->pipes[r][0]), close_end(&h->pipes[r][1]);
    }
    wick_release(h->alloc, h, host_bytes(h->ranks));
}

#else

wick_status wick_group_host_new(wick_context *ctx, int ranks, wick_group_host **out) {
    (void)ranks;
    if (out) *out = NULL;
    return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "group_host_new: ranks on one machine need Linux");
}
wick_status wick_group_host_enter(wick_group_host *h, int rank) {
    (void)h, (void)rank;
    return WICK_ERR_UNSUPPORTED;
}
void wick_group_host_free(wick_group_host **host) { (void)host; }

#endif
