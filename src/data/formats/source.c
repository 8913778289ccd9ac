#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/inflate.h"
#include "data/formats/source.h"

wick_status wick_source_open(wick_source *s, const void *data, size_t size, const char *name, wick_msg *msg) {
    *s = (wick_source){.at = data, .left = size, .most = size, .name = name};
    const bool gzip = wick_gzip_is(data, size), zstd = wick_zstd_is(data, size);
    if (!gzip && !zstd) return WICK_OK;
    if (wick_mul_overflows(size, (size_t)(gzip ? WICK_DEFLATE_RATIO_MAX : WICK_ZSTD_RATIO_MAX), &s->most))
        s->most = SIZE_MAX;
    return gzip ? wick_gzip_open(&s->gzip, data, size, name, msg) : wick_zstd_open(&s->zstd, data, size, name, msg);
}

void wick_source_open_file(wick_source *s, int fd, size_t size, const char *name) {
    *s = (wick_source){.fd = fd, .left = size, .most = size, .name = name};
}

wick_status wick_source_read(wick_source *s, void *to, size_t size, wick_msg *msg) {
    if (s->gzip) return wick_gzip_read(s->gzip, to, size, msg);
    if (s->zstd) return wick_zstd_read(s->zstd, to, size, msg);
    if (size > s->left)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: cut off: %zu bytes where %zu should be", s->name, s->left, size);
    if (size && to && s->at) memcpy(to, s->at, size);
    else if (size && to) WICK_TRY(wick_read_at(s->fd, s->offset, to, size, s->name, msg));
    if (s->at) s->at += size;
    s->offset += size;
    s->left -= size;
    return WICK_OK;
}

wick_status wick_source_finish(wick_source *s, wick_msg *msg) {
    if (s->gzip) return wick_gzip_finish(s->gzip, msg);
    if (s->zstd) return wick_zstd_finish(s->zstd, msg);
    if (s->left)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %zu byte%s too many after the data", s->name, s->left,
                            s->left == 1 ? "" : "s");
    return WICK_OK;
}

wick_status wick_source_drain(wick_source *s, wick_msg *msg) {
    if (s->gzip) WICK_TRY(wick_gzip_drain(s->gzip, msg));
    if (s->zstd) WICK_TRY(wick_zstd_drain(s->zstd, msg));
    return s->gzip || s->zstd ? wick_source_finish(s, msg) : WICK_OK;
}

void wick_source_close(wick_source *s) {
    wick_gzip_close(&s->gzip);
    wick_zstd_close(&s->zstd);
}

void wick_read_ahead(int fd, const uint8_t *data, uint64_t at, size_t n) {
    if (!data) {
        (void)posix_fadvise(fd, (off_t)at, (off_t)n, POSIX_FADV_WILLNEED);
        return;
    }
    /* advice is for whole pages */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)(data + at) & ~(page - 1);
    (void)madvise((void *)begin, (uintptr_t)(data + at) + n - begin, MADV_WILLNEED);
}
