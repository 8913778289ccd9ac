/* Data of other machines: what a URL names is fetched before it is opened as any other file.
 *
 *   HASH-NAME                what wick/remote.h keeps of each URL
 *   set-HASH/NAME            a link to it, under the name that its URL ends in: kinds and parts are told by names
 *
 * so `https://host/set/{train,test}.csv` is a folder with train.csv and test.csv. */
#include "source_kinds.h"

#include "../paths.h"
#include "../term/log.h"

#include "wick/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILES = 4096, MOST_PATH = 4400, MOST_WIDTH = 9 };

/* ---- {a,b} and {000..127} ---------------------------------------------------------------------------------------- */

typedef struct urls {
    char *of[MOST_FILES];
    int n;
} urls;

static void urls_free(urls *u) {
    while (u->n) free(u->of[--u->n]);
}

static wick_status expand(wick_context *ctx, const char *url, const char *whole, urls *u);

/* url with `n` bytes at `middle` in place of what stands from `begin` on to `end`. */
static wick_status expand_one(wick_context *ctx, const char *url, const char *begin, const char *end,
                              const char *middle, int n, const char *whole, urls *u) {
    char *one;
    if (asprintf(&one, "%.*s%.*s%s", (int)(begin - url), url, n, middle, end) < 0)
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", whole);
    const wick_status status = expand(ctx, one, whole, u);
    free(one);
    return status;
}

/* "000..127"; false: it is no range. */
static bool read_range(const char *text, size_t n, long *first, long *last, int *width) {
    char copy[2 * MOST_WIDTH + 3];
    if (n >= sizeof copy) return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    const size_t low = strspn(copy, "0123456789");
    if (!low || low > MOST_WIDTH || strncmp(copy + low, "..", 2) != 0) return false;
    const size_t high = strspn(copy + low + 2, "0123456789");
    if (!high || high > MOST_WIDTH || copy[low + 2 + high]) return false;
    *first = strtol(copy, NULL, 10), *last = strtol(copy + low + 2, NULL, 10);
    *width = copy[0] == '0' ? (int)low : 1;
    return true;
}

static wick_status expand(wick_context *ctx, const char *url, const char *whole, urls *u) {
    const char *begin = NULL, *end = strchr(url, '}'); /* the innermost pair, so they may be nested */
    for (const char *at = url; *at && (!end || at < end); at++)
        if (*at == '{') begin = at;
    if (!begin && !end) {
        for (int i = 0; i < u->n; i++)
            if (strcmp(u->of[i], url) == 0) return WICK_OK;
        if (u->n == MOST_FILES)
            return wick_context_fail(ctx, WICK_ERR_INVALID, "%s: names more than %d files", whole, MOST_FILES);
        u->of[u->n] = strdup(url);
        return u->of[u->n] ? (u->n++, WICK_OK) : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", whole);
    }
    if (!begin || !end)
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "%s: its braces do not pair: {train,test} and {000..127} stand for several files",
                                 whole);
    long first, last;
    int width;
    wick_status status = WICK_OK;
    if (read_range(begin + 1, (size_t)(end - begin - 1), &first, &last, &width)) {
        if (last < first)
            return wick_context_fail(ctx, WICK_ERR_INVALID, "%s: {%ld..%ld} names no file", whole, first, last);
        for (; first <= last && status == WICK_OK; first++) {
            char number[32];
            const int n = snprintf(number, sizeof number, "%0*ld", width, first);
            status = expand_one(ctx, url, begin, end + 1, number, n, whole, u);
        }
        return status;
    }
    for (const char *at = begin + 1; status == WICK_OK; at++) {
        const int n = (int)strcspn(at, ",}");
        status = expand_one(ctx, url, begin, end + 1, at, n, whole, u);
        at += n;
        if (at == end) break;
    }
    return status;
}

/* ---- links with the files' own names ----------------------------------------------------------------------------- */

/* What stands behind the last slash of a URL's path; *n 0: nothing that can be a file's name. */
static const char *name_in(const char *url, int *n) {
    const char *host = strstr(url, "://") + 3, *end = host + strcspn(host, "?#"), *name = end;
    while (name > host && name[-1] != '/') name--;
    *n = name > host && end - name < 200 ? (int)(end - name) : 0;
    if ((*n == 1 && name[0] == '.') || (*n == 2 && name[0] == '.' && name[1] == '.')) *n = 0;
    return name;
}

/* folder/NAME leads to the file kept beside the folder. */
static wick_status put_link(wick_context *ctx, const char *url, const char *folder, const char *kept) {
    char link[MOST_PATH + 256], temp[MOST_PATH + 300], to[256], is[256];
    int n;
    const char *name = name_in(url, &n), *slash = strrchr(kept, '/');
    snprintf(link, sizeof link, "%s/%.*s", folder, n, name);
    snprintf(to, sizeof to, "../%.200s", slash ? slash + 1 : kept);
    const ssize_t length = readlink(link, is, sizeof is - 1);
    if (length >= 0 && (size_t)length == strlen(to) && memcmp(is, to, (size_t)length) == 0) return WICK_OK;
    snprintf(temp, sizeof temp, "%s.tmp-%ld", link, (long)getpid());
    unlink(temp);
    if (symlink(to, temp) == 0 && rename(temp, link) == 0) return WICK_OK;
    const int error = errno;
    unlink(temp);
    return wick_context_fail(ctx, WICK_ERR_IO, "%s: keeping it: %s: %s", url, link, strerror(error));
}

static wick_status remote_failed(wick_context *ctx, const wick_remote *remote, wick_status status) {
    return wick_context_fail(ctx, status, "%s", wick_remote_error(remote));
}

static wick_status check_names(wick_context *ctx, const char *data, const urls *u) {
    for (int i = 0; i < u->n; i++) {
        int n, m;
        const char *name = name_in(u->of[i], &n);
        if (!n)
            return wick_context_fail(
                ctx, WICK_ERR_INVALID,
                "%s: names no file; a folder of other machines is written by its files, as in "
                "https://HOST/SET/{train,test}.csv or s3://BUCKET/SET/{train-{000..127},test-000}.tar",
                u->of[i]);
        for (int k = 0; k < i; k++) {
            const char *other = name_in(u->of[k], &m);
            if (n == m && memcmp(name, other, (size_t)n) == 0)
                return wick_context_fail(ctx, WICK_ERR_INVALID, "%s: two files have the name %.*s", data, n, name);
        }
    }
    return WICK_OK;
}

/* All of them, each under its own name in *folder. */
static wick_status fetch_all(wick_context *ctx, const char *data, const urls *u, wick_remote *remote, char *folder) {
    char kept[MOST_PATH];
    wick_status status = WICK_OK;
    *folder = '\0';
    for (int i = 0; i < u->n && status == WICK_OK; i++) {
        if (i + 1 < u->n) wick_remote_ahead(remote, u->of[i + 1]);
        status = wick_remote_get(remote, u->of[i], kept, sizeof kept);
        if (status != WICK_OK) return remote_failed(ctx, remote, status);
        if (!*folder) {
            const char *slash = strrchr(kept, '/');
            snprintf(folder, MOST_PATH, "%.*s/set-%016llx", (int)(slash - kept), kept,
                     (unsigned long long)source_hash(data));
            if (!path_make_folder(folder))
                return wick_context_fail(ctx, WICK_ERR_IO, "%s: keeping it: %s: %s", data, folder, strerror(errno));
        }
        status = put_link(ctx, u->of[i], folder, kept);
    }
    /* what came first may have made room for what came last */
    for (int i = 0; i < u->n && status == WICK_OK; i++) {
        char path[MOST_PATH + 256];
        int n;
        const char *name = name_in(u->of[i], &n);
        snprintf(path, sizeof path, "%s/%.*s", folder, n, name);
        if (!path_exists(path))
            status = wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                       "%s: its %d files are more than the folder that keeps them may have, %s: "
                                       "WICK_CACHE_BYTES sets how many bytes",
                                       data, u->n, folder);
    }
    return status;
}

static wick_status fetch(wick_context *ctx, const char *data, char **place) {
    urls *u = calloc(1, sizeof *u);
    wick_remote *remote = NULL;
    char folder[MOST_PATH];
    if (!u) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", data);
    wick_status status = expand(ctx, data, data, u);
    if (status == WICK_OK) status = check_names(ctx, data, u);
    if (status == WICK_OK) status = wick_remote_open(ctx, NULL, &remote);
    if (status == WICK_OK) status = fetch_all(ctx, data, u, remote, folder);
    if (status == WICK_OK) {
        wick_remote_stats is;
        wick_remote_get_stats(remote, &is);
        log_note("%s: %d file%s, %.3g MB fetched, kept in %s", data, u->n, plural(u->n), (double)is.received / 1e6,
                 folder);
        int n;
        const char *name = name_in(u->of[0], &n);
        const bool one = !strchr(data, '{');
        if (asprintf(place, one ? "%s/%.*s" : "%s", folder, n, name) < 0)
            status = wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", data);
    }
    wick_remote_free(&remote);
    urls_free(u);
    free(u);
    return status;
}

/* ---- once a process ---------------------------------------------------------------------------------------------- */

wick_status source_place(wick_context *ctx, const char *data, const char **place) {
    static struct fetched {
        struct fetched *next;
        char *place, url[];
    } * all;
    *place = data;
    if (!wick_remote_is_url(data)) return WICK_OK;
    for (struct fetched *f = all; f; f = f->next)
        if (strcmp(f->url, data) == 0) return *place = f->place, WICK_OK;
    struct fetched *f = malloc(sizeof *f + strlen(data) + 1);
    if (!f) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", data);
    const wick_status status = fetch(ctx, data, &f->place);
    if (status != WICK_OK) return free(f), status;
    strcpy(f->url, data);
    f->next = all;
    all = f;
    *place = f->place;
    return WICK_OK;
}
