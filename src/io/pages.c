#include "io/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Whole pages that hold [at, at + n): those at the ends hold parts of neighbours, which come again, too. */
static size_t pages_of(const uint8_t *at, size_t n, uintptr_t *begin) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)at / page * page;
    *begin = from;
    return n ? WICK_ALIGN_UP((uintptr_t)at + n, page) - from : 0;
}

int wick_pages_advise(const uint8_t *at, size_t n, wick_weights_use use) {
    static const int advice[] = {
        [WICK_WEIGHTS_NORMAL] = MADV_NORMAL, [WICK_WEIGHTS_SEQUENTIAL] = MADV_SEQUENTIAL,
        [WICK_WEIGHTS_RANDOM] = MADV_RANDOM, [WICK_WEIGHTS_SOON] = MADV_WILLNEED,
        [WICK_WEIGHTS_DONE] = MADV_DONTNEED,
    };
    uintptr_t begin;
    const size_t bytes = pages_of(at, n, &begin);
    return !bytes || madvise((void *)begin, bytes, advice[use]) == 0 ? 0 : errno;
}

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

bool wick_pages_count(const uint8_t *at, size_t n, size_t *resident) {
    const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    const bool known = fd >= 0 && count_pages(fd, at, n, resident);
    if (fd >= 0) close(fd);
    return known;
}
