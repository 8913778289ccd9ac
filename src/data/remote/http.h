/* http.h: one file over HTTP, by libcurl. */
#ifndef WICK_DATA_HTTP_H
#define WICK_DATA_HTTP_H

#include <stdatomic.h>

#include "base/base.h"

enum { HTTP_ETAG = 256 };

typedef struct http_file {
    const char *url;
    const char *known; /* the ETag of what is kept; "": nothing is */
    int fd;            /* it is written to, from its beginning */
    int attempts;
    double patience;         /* seconds */
    const atomic_bool *stop; /* true: give up */
    /* The file has `size` bytes: whether there is room. NULL: there is */
    wick_status (*room)(void *user, uint64_t size, wick_msg *msg);
    void *user;
    /* what became of it */
    bool unchanged; /* the kept one is what the server has; nothing was written */
    uint64_t size;
    char etag[HTTP_ETAG]; /* "": the server gives none */
    uint64_t requests, retries, received;
} http_file;

/* Loads the library, which stays: programs that have used it can't do without again. Errors name `name`. */
wick_status http_load(const char *name, wick_msg *msg);
/* After http_load. WICK_ERR_IO, WICK_ERR_CANCELLED (stop), what room said, WICK_ERR_NOMEM. */
wick_status http_fetch(http_file *f, wick_msg *msg);

#endif
