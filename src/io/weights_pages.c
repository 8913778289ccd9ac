/* weights_pages.c: which pages of mapped weights are in memory. They are a file's, and nobody writes them: one that
 * goes comes again, with the same bytes, when it is read. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/weights.h"

/* Whole pages that hold [at, at + n): those at the ends hold parts of neighbours, which come again, too. */
static size_t pages_of(const uint8_t *at, size_t n, uintptr_t *begin) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)at / page * page;
    *begin = from;
    return n ? WICK_ALIGN_UP((uintptr_t)at + n, page) - from : 0;
}

static int advise(const uint8_t *at, size_t n, wick_weights_use use) {
    static const int advice[] = {
        [WICK_WEIGHTS_NORMAL] = MADV_NORMAL,     [WICK_WEIGHTS_SEQUENTIAL] = MADV_SEQUENTIAL,
        [WICK_WEIGHTS_RANDOM] = MADV_RANDOM,     [WICK_WEIGHTS_SOON] = MADV_WILLNEED,
        [WICK_WEIGHTS_DONE] = MADV_DONTNEED,
    };
    uintptr_t begin;
    const size_t bytes = pages_of(at, n, &begin);
    return !bytes || madvise((void *)begin, bytes, advice[use]) == 0 ? 0 : errno;
}

/* errno, or 0. */
static int advise_all(const wick_weights *w, wick_weights_use use) {
    int refused = 0;
    for (size_t k = 0; k < w->n_files; k++) {
        const int now = w->files[k]->map.mapped ? advise(w->files[k]->map.data, w->files[k]->map.size, use) : 0;
        refused = now ? now : refused;
    }
    for (size_t k = 0; use == WICK_WEIGHTS_DONE && k < w->n; k++) w->entries[k].asked = 0;
    return refused;
}

wick_status wick_weights_advise(wick_weights *w, int i, wick_weights_use use) {
    if ((unsigned)use > WICK_WEIGHTS_DONE || i < -1 || (i >= 0 && (size_t)i >= w->n))
        return wick_context_fail(w->ctx, WICK_ERR_INVALID, "%s: weights_advise: tensor %d of %zu, use %d", w->path, i,
                                 w->n, (int)use);
    const weights_entry *e = i < 0 ? NULL : &w->entries[i];
    const int refused = !e ? advise_all(w, use) : e->data ? advise(e->data, e->bytes, use) : 0;
    if (e && use == WICK_WEIGHTS_DONE) w->entries[i].asked = 0;
    return refused ? wick_context_fail(w->ctx, WICK_ERR_UNSUPPORTED, "%s: the system takes no such advice: %s", w->path,
                                       strerror(refused))
                   : WICK_OK;
}

void wick_weights_set_limit(wick_weights *w, size_t bytes) {
    w->pages->limit = bytes;
    /* checksums were looked at when it was opened: that read all of it */
    if (bytes) advise_all(w, WICK_WEIGHTS_DONE);
}

void wick_weights_ask(const wick_weights *w, size_t i) {
    weights_pages *p = w->pages;
    if (!p->limit || !w->entries[i].data) return;
    w->entries[i].asked = ++p->asked;
    for (;;) {
        size_t bytes = 0;
        weights_entry *oldest = NULL;
        for (size_t k = 0; k < w->n; k++) {
            weights_entry *e = &w->entries[k];
            if (!e->asked) continue;
            bytes += e->bytes;
            if (k != i && (!oldest || e->asked < oldest->asked)) oldest = e;
        }
        if (bytes <= p->limit || !oldest) return;
        (void)advise(oldest->data, oldest->bytes, WICK_WEIGHTS_DONE);
        oldest->asked = 0;
    }
}

/* Bytes of [at, at + n) that are in this process's memory; false: the system does not tell. */
static bool count_pages(int fd, const uint8_t *at, size_t n, size_t *resident) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), present = (uint64_t)1 << 63;
    uint64_t words[512];
    uintptr_t begin;
    for (uint64_t left = pages_of(at, n, &begin) / page, first = begin / page; left;) {
        const uint64_t some = WICK_MIN(left, WICK_COUNTOF(words));
        const ssize_t got = pread(fd, words, some * sizeof *words, (off_t)(first * sizeof *words));
        if (got < (ssize_t)sizeof *words) return false;
        const uint64_t have = (uint64_t)got / sizeof *words;
        for (uint64_t k = 0; k < have; k++) *resident += words[k] & present ? page : 0;
        left -= have;
        first += have;
    }
    return true;
}

bool wick_weights_resident(const wick_weights *w, size_t *bytes) {
    if (!bytes) return false;
    *bytes = 0;
    const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    bool known = fd >= 0;
    for (size_t k = 0; known && k < w->n_files; k++)
        if (w->files[k]->map.mapped) known = count_pages(fd, w->files[k]->map.data, w->files[k]->map.size, bytes);
    if (fd >= 0) close(fd);
    if (!known) *bytes = 0;
    return known;
}
