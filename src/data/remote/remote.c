/* remote.c: the folder that keeps files from afar, and a thread that fetches ahead.
 *
 *   HASH-NAME        the contents: 16 hexadecimal digits of the URL's hash, and the end of its path
 *   HASH-NAME.from   what they are: the URL, its ETag, "SIZE CRC", a line each; written after the contents, so that a
 *                    pair that does not fit together is what a crash left, and is fetched anew
 *   HASH-NAME.lock   empty, locked by the process that fetches it
 *   room.lock        the same, while one makes room for a file and gives it its name */
#include "data/remote/remote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/remote/http.h"
#include "tensor/tensor.h"

enum { WAITING = 16, NAME = 96, PATH = 4096, URL = 4096, FROM = URL + 512 };
#define FROM_END ".from"
#define LOCK_END ".lock"

/* A file that this process has asked for. */
typedef struct known {
    struct known *next;
    bool checked;  /* it is what the server has, as far as this process goes */
    bool fetching; /* by a thread; others wait */
    char name[NAME];
    char url[];
} known;

struct wick_remote {
    wick_allocator alloc;
    char folder[PATH];
    uint64_t bytes;
    int attempts;
    double patience;
    atomic_bool stop;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    known *files;
    wick_remote_stats stats;
    uint64_t taken; /* bytes of files that are being fetched */
    char *waiting[WAITING];
    int first, n_waiting;
    bool started;
    pthread_t thread;
};

static _Thread_local wick_msg last; /* of this thread */

bool wick_remote_is_url(const char *path) {
    static const char *const begins[] = {"http://", "https://", "s3://"};
    for (size_t i = 0; path && i < WICK_COUNTOF(begins); i++)
        if (strncmp(path, begins[i], strlen(begins[i])) == 0) return true;
    return false;
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

static wick_status make_folder(char *path, wick_msg *msg) {
    for (char *at = path + 1;; at++) {
        if (*at && *at != '/') continue;
        const char was = *at;
        *at = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot be made: %s", path, strerror(errno));
        *at = was;
        if (!was) return WICK_OK;
    }
}

static bool default_folder(char *to) {
    const char *cache = getenv("WICK_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache) return snprintf(to, PATH, "%s", cache) < PATH;
    if (xdg && *xdg == '/') return snprintf(to, PATH, "%s/wick", xdg) < PATH;
    return home && *home == '/' && snprintf(to, PATH, "%s/.cache/wick", home) < PATH;
}

/* False: WICK_CACHE_BYTES is no number of bytes. */
static bool default_bytes(uint64_t *bytes) {
    const char *text = getenv("WICK_CACHE_BYTES");
    char *end;
    *bytes = UINT64_C(10000000000);
    if (!text || !*text) return true;
    const double n = strtod(text, &end);
    if (*end || !(n >= 1 && n <= 0x1p62)) return false;
    *bytes = (uint64_t)n;
    return true;
}

static void name_of(char to[NAME], const char *url) {
    const char *end = url + strcspn(url, "?#"), *base = end;
    char plain[48];
    int n = 0;
    while (base > url && base[-1] != '/') base--;
    if (end - base > 47) base = end - 47;
    for (; base < end; base++) {
        const char c = *base;
        const bool keep =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("._-", c));
        plain[n++] = keep ? c : '_';
    }
    plain[n] = 0;
    snprintf(to, NAME, "%016llx-%s", (unsigned long long)wick_hash(url, strlen(url), 0), plain);
}

static bool path_of(const wick_remote *r, char to[PATH + NAME], const char *name, const char *end) {
    return snprintf(to, PATH + NAME, "%s/%s%s", r->folder, name, end) < PATH + NAME;
}

static bool ends_with(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}
static bool is_kept(const char *name) {
    return strspn(name, "0123456789abcdef") == 16 && name[16] == '-' && !ends_with(name, FROM_END) &&
           !ends_with(name, LOCK_END) && !strstr(name, ".tmp-");
}

/* Deletes what was longest without use until `more` bytes fit. lock is held. */
static wick_status make_room(wick_remote *r, uint64_t more, const char *url, wick_msg *msg) {
    char path[PATH + NAME];
    if (more > r->bytes)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: has %llu bytes; the folder that keeps files, %s, has %llu",
                            url, (unsigned long long)more, r->folder, (unsigned long long)r->bytes);
    for (;;) {
        uint64_t sum = 0;
        struct stat oldest = {0};
        char name[NAME] = "";
        DIR *d = opendir(r->folder);
        for (struct dirent *e; d && (e = readdir(d));) {
            struct stat st;
            if (!is_kept(e->d_name) || strlen(e->d_name) >= NAME || !path_of(r, path, e->d_name, "") ||
                stat(path, &st) != 0)
                continue;
            sum += (uint64_t)st.st_size;
            if (*name && (st.st_mtim.tv_sec > oldest.st_mtim.tv_sec ||
                          (st.st_mtim.tv_sec == oldest.st_mtim.tv_sec && st.st_mtim.tv_nsec >= oldest.st_mtim.tv_nsec)))
                continue;
            oldest = st;
            memcpy(name, e->d_name, strlen(e->d_name) + 1);
        }
        if (d) closedir(d);
        if (sum <= r->bytes - more || !*name) return WICK_OK;
        path_of(r, path, name, FROM_END);
        unlink(path);
        path_of(r, path, name, "");
        if (unlink(path) != 0 && errno != ENOENT)
            return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot be deleted to make room: %s", path, strerror(errno));
        r->stats.evicted += (uint64_t)oldest.st_size;
    }
}

/* ---- one file ---------------------------------------------------------------------------------------------------- */

/* The ETag of what is kept, if it is whole and of that URL; else "". */
static void look_at_kept(const wick_remote *r, const char *name, const char *url, char etag[HTTP_ETAG]) {
    char path[PATH + NAME], line[HTTP_ETAG];
    unsigned long long size;
    unsigned crc;
    wick_msg msg;
    wick_map from, kept;
    etag[0] = 0;
    if (!path_of(r, path, name, FROM_END) || wick_map_read(&from, path, &msg) != WICK_OK) return;
    const size_t n = strlen(url);
    char text[FROM] = "";
    memcpy(text, from.data, WICK_MIN(from.size, sizeof text - 1));
    wick_map_close(&from);
    if (strncmp(text, url, n) != 0 || text[n] != '\n') return;
    const char *second = text + n + 1, *third = strchr(second, '\n');
    if (!third || third - second >= HTTP_ETAG || third == second) return;
    memcpy(line, second, (size_t)(third - second));
    line[third - second] = 0;
    if (sscanf(third + 1, "%llu %8x\n", &size, &crc) != 2 || !path_of(r, path, name, "")) return;
    if (wick_map_open(&kept, path, &msg) != WICK_OK) return;
    if (kept.size == size && wick_crc32c(0, kept.data, kept.size) == crc) memcpy(etag, line, sizeof line);
    wick_map_close(&kept);
}

static wick_status say_from(const wick_remote *r, const char *name, const http_file *f, uint32_t crc, wick_msg *msg) {
    char path[PATH + NAME], text[FROM];
    wick_writer *w = NULL;
    path_of(r, path, name, FROM_END);
    const int n = snprintf(text, sizeof text, "%s\n%s\n%llu %08x\n", f->url, f->etag, (unsigned long long)f->size, crc);
    wick_status status = wick_writer_open(&w, path, msg);
    if (status == WICK_OK) status = wick_writer_write(w, text, (size_t)n, msg);
    if (status == WICK_OK) status = wick_writer_commit(&w, msg);
    wick_writer_abort(&w);
    return status;
}

/* A file that is being fetched has its room from its first byte on. */
typedef struct room_for {
    wick_remote *r;
    const char *url;
    uint64_t size; /* 0: it has none so far */
} room_for;
/* lock is held. Beside what is kept, the files that other threads fetch have theirs. */
static wick_status take_room(room_for *q, uint64_t size, wick_msg *msg) {
    wick_remote *r = q->r;
    r->taken -= q->size;
    q->size = 0;
    const uint64_t others = WICK_MIN(r->taken, r->bytes - WICK_MIN(size, r->bytes));
    const wick_status status = make_room(r, size + others, q->url, msg);
    if (status == WICK_OK) r->taken += q->size = size;
    return status;
}
static void give_room(room_for *q) {
    pthread_mutex_lock(&q->r->lock);
    q->r->taken -= q->size;
    pthread_mutex_unlock(&q->r->lock);
}
static wick_status room(void *user, uint64_t size, wick_msg *msg) {
    room_for *q = user;
    pthread_mutex_lock(&q->r->lock);
    const wick_status status = take_room(q, size, msg);
    pthread_mutex_unlock(&q->r->lock);
    return status;
}

/* Among processes that share the folder one fetches a file, and the others wait here. Returns the descriptor of the
 * locked HASH-NAME.lock, which the system releases when the process ends; -1: it cannot be locked, and every process
 * may fetch the file. */
static int lock_file(const wick_remote *r, const char *name) {
    char path[PATH + NAME];
    const int fd = path_of(r, path, name, LOCK_END) ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || atomic_load(&r->stop)) return close(fd), -1;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return fd;
}

/* Gives a fetched file its own name in place of the temporary one, and writes NAME.from. First there has to be room for
 * it beside the files that other threads and processes have kept since this one began. */
static wick_status keep(room_for *q, const char *name, const char *temp, int fd, const http_file *f, wick_msg *msg) {
    wick_remote *r = q->r;
    char path[PATH + NAME];
    wick_map map;
    WICK_TRY(wick_map_descriptor(&map, fd, f->url, msg));
    const uint32_t crc = wick_crc32c(0, map.data, map.size);
    wick_map_close(&map);
    const int lock = lock_file(r, "room");
    pthread_mutex_lock(&r->lock);
    wick_status status = take_room(q, f->size, msg);
    if (status == WICK_OK) {
        path_of(r, path, name, FROM_END);
        unlink(path);
        path_of(r, path, name, "");
        if (rename(temp, path) != 0)
            status = wick_msg_set(msg, WICK_ERR_IO, "%s: keeping it: %s", f->url, strerror(errno));
        r->taken -= q->size; /* it counts as what is kept now */
        q->size = 0;
    }
    pthread_mutex_unlock(&r->lock);
    if (lock >= 0) close(lock);
    return status == WICK_OK ? say_from(r, name, f, crc, msg) : status;
}

/* Without the lock. *hit: what is kept is what the server has. */
static wick_status fetch_locked(wick_remote *r, const char *name, const char *url, bool *hit, wick_msg *msg) {
    char path[PATH + NAME], temp[PATH + NAME + WICK_TEMP_SUFFIX], etag[HTTP_ETAG];
    look_at_kept(r, name, url, etag);
    path_of(r, path, name, "");
    int fd;
    do {
        wick_temp_name(temp, path);
        fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EEXIST);
    if (fd < 0) return wick_msg_set(msg, WICK_ERR_IO, "%s: keeping it: %s: %s", url, temp, strerror(errno));
    room_for place = {.r = r, .url = url};
    http_file f = {.url = url,
                   .known = etag,
                   .fd = fd,
                   .attempts = r->attempts,
                   .patience = r->patience,
                   .stop = &r->stop,
                   .room = room,
                   .user = &place};
    wick_status status = http_fetch(&f, msg);
    *hit = status == WICK_OK && f.unchanged;
    if (status == WICK_OK && !*hit) status = keep(&place, name, temp, fd, &f, msg);
    give_room(&place);
    if (status != WICK_OK || *hit) unlink(temp);
    close(fd);
    pthread_mutex_lock(&r->lock);
    r->stats.requests += f.requests;
    r->stats.retries += f.retries;
    r->stats.received += f.received;
    pthread_mutex_unlock(&r->lock);
    return status;
}

static wick_status fetch(wick_remote *r, const char *name, const char *url, bool *hit, wick_msg *msg) {
    const int lock = lock_file(r, name);
    const wick_status status = fetch_locked(r, name, url, hit, msg);
    if (lock >= 0) close(lock);
    return status;
}

static known *find(wick_remote *r, const char *url) {
    known *k = r->files;
    while (k && strcmp(k->url, url) != 0) k = k->next;
    if (k) return k;
    const size_t n = strlen(url) + 1;
    k = wick_calloc(&r->alloc, sizeof *k + n);
    if (!k) return NULL;
    memcpy(k->url, url, n);
    name_of(k->name, url);
    k->next = r->files;
    return r->files = k;
}

/* The file is there when this returns, and open; fd may be NULL. ahead: nobody has asked for it yet. */
static wick_status have(wick_remote *r, const char *url, bool ahead, int *fd, char path[PATH + NAME], wick_msg *msg) {
    if (strlen(url) >= URL) return wick_msg_set(msg, WICK_ERR_INVALID, "%.60s...: is too long", url);
    pthread_mutex_lock(&r->lock);
    known *k = find(r, url);
    wick_status status = k ? WICK_OK : wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", url);
    while (k && k->fetching) pthread_cond_wait(&r->changed, &r->lock);
    if (!ahead) r->stats.files++;
    for (int turn = 0; status == WICK_OK; turn++) {
        path_of(r, path, k->name, "");
        const int opened = k->checked ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (opened >= 0) {
            if (!turn && !ahead) r->stats.hits++;
            futimens(opened, NULL); /* used now */
            if (fd)
                *fd = opened;
            else
                close(opened);
            break;
        }
        if (turn > 3) {
            status = wick_msg_set(msg, WICK_ERR_IO, "%s: is deleted as often as it is fetched: others share %s", url,
                                  r->folder);
            break;
        }
        bool hit = false;
        k->fetching = true;
        pthread_mutex_unlock(&r->lock);
        status = fetch(r, k->name, url, &hit, msg);
        pthread_mutex_lock(&r->lock);
        k->fetching = false;
        k->checked = status == WICK_OK;
        r->stats.hits += hit && !ahead;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    return status;
}

/* ---- ahead ------------------------------------------------------------------------------------------------------- */

static void *fetch_ahead(void *user) {
    wick_remote *r = user;
    pthread_setname_np(pthread_self(), "wick-remote");
    pthread_mutex_lock(&r->lock);
    while (!atomic_load(&r->stop)) {
        if (!r->n_waiting) {
            pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        char *url = r->waiting[r->first], path[PATH + NAME];
        wick_msg msg;
        r->first = (r->first + 1) % WAITING;
        r->n_waiting--;
        pthread_mutex_unlock(&r->lock);
        (void)!have(r, url, true, NULL, path, &msg); /* who asks for it hears of it */
        pthread_mutex_lock(&r->lock);
        wick_release(&r->alloc, url, strlen(url) + 1);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

void wick_remote_ahead(wick_remote *r, const char *url) {
    if (!r || !wick_remote_is_url(url)) return;
    const size_t n = strlen(url) + 1;
    char *copy = wick_alloc(&r->alloc, n);
    if (!copy) return;
    memcpy(copy, url, n);
    pthread_mutex_lock(&r->lock);
    if (!r->started) { /* signals are for the program's own threads */
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r->started = pthread_create(&r->thread, NULL, fetch_ahead, r) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (r->started && r->n_waiting < WAITING) {
        r->waiting[(r->first + r->n_waiting++) % WAITING] = copy;
        copy = NULL;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    if (copy) wick_release(&r->alloc, copy, n);
}

/* ---- for others -------------------------------------------------------------------------------------------------- */

static wick_status open_remote(const wick_allocator *alloc, const wick_remote_options *o, wick_remote **out,
                               wick_msg *msg) {
    static const wick_remote_options standard;
    uint64_t most;
    if (!o) o = &standard;
    *out = NULL;
    if (!default_bytes(&most))
        return wick_msg_set(msg, WICK_ERR_INVALID, "remote: WICK_CACHE_BYTES=%s: a number of bytes, such as 4e9",
                            getenv("WICK_CACHE_BYTES"));
    if (o->attempts < 0 || !(o->patience >= 0))
        return wick_msg_set(msg, WICK_ERR_INVALID, "remote: %d attempts of %g s", o->attempts, o->patience);
    WICK_TRY(http_load("remote", msg));
    wick_remote *r = wick_calloc(alloc, sizeof *r);
    if (!r) return wick_msg_set(msg, WICK_ERR_NOMEM, "remote: out of memory");
    r->alloc = *alloc;
    r->bytes = o->bytes ? o->bytes : most;
    r->attempts = o->attempts ? o->attempts : 8;
    r->patience = o->patience > 0 ? o->patience : 30;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    *out = r;
    const bool named = o->folder ? snprintf(r->folder, sizeof r->folder, "%s", o->folder) < (int)sizeof r->folder
                                 : default_folder(r->folder);
    wick_status status =
        named && *r->folder ? make_folder(r->folder, msg)
                            : wick_msg_set(msg, WICK_ERR_INVALID, "remote: no folder to keep files in: set WICK_CACHE");
    if (status != WICK_OK) wick_remote_free(out);
    return status;
}

wick_status wick_remote_open(wick_context *ctx, const wick_remote_options *options, wick_remote **out) {
    wick_msg msg = {0};
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "remote_open: out is NULL");
    const wick_status status = open_remote(&ctx->alloc, options, out, &msg);
    return status == WICK_OK ? WICK_OK : wick_context_fail(ctx, status, "%s", msg.text);
}

void wick_remote_free(wick_remote **remote) {
    wick_remote *r = remote ? *remote : NULL;
    if (!r) return;
    *remote = NULL;
    pthread_mutex_lock(&r->lock);
    atomic_store(&r->stop, true);
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    if (r->started) pthread_join(r->thread, NULL);
    for (; r->n_waiting; r->n_waiting--, r->first = (r->first + 1) % WAITING)
        wick_release(&r->alloc, r->waiting[r->first], strlen(r->waiting[r->first]) + 1);
    for (known *k = r->files, *next; k; k = next) {
        next = k->next;
        wick_release(&r->alloc, k, sizeof *k + strlen(k->url) + 1);
    }
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    const wick_allocator alloc = r->alloc;
    wick_release(&alloc, r, sizeof *r);
}

wick_status wick_remote_get(wick_remote *r, const char *url, char *path, size_t size) {
    char found[PATH + NAME];
    if (!path || !wick_remote_is_url(url))
        return wick_msg_set(&last, WICK_ERR_INVALID, "remote_get: %s is no URL, or path is NULL", url ? url : "NULL");
    WICK_TRY(have(r, url, false, NULL, found, &last));
    const size_t n = strlen(found) + 1;
    if (n > size) return wick_msg_set(&last, WICK_ERR_INVALID, "remote_get: the path has %zu bytes", n);
    memcpy(path, found, n);
    return WICK_OK;
}

void wick_remote_get_stats(const wick_remote *remote, wick_remote_stats *stats) {
    wick_remote *r = (wick_remote *)(uintptr_t)remote; /* its lock */
    if (!stats) return;
    pthread_mutex_lock(&r->lock);
    *stats = r->stats;
    pthread_mutex_unlock(&r->lock);
}
const char *wick_remote_error(const wick_remote *remote) {
    (void)remote;
    return last.text;
}

wick_status wick_remote_file(wick_remote *remote, int *fd, size_t *size, const char *path, wick_msg *msg) {
    char found[PATH + NAME];
    struct stat st;
    if (!wick_remote_is_url(path)) return wick_file_open(fd, size, path, msg);
    WICK_TRY(have(remote, path, false, fd, found, msg));
    if (fstat(*fd, &st) == 0) {
        *size = (size_t)st.st_size;
        return WICK_OK;
    }
    close(*fd);
    return wick_msg_set(msg, WICK_ERR_IO, "%s: %s", path, strerror(errno));
}

wick_status wick_remote_map(wick_remote *remote, wick_map *map, const char *path, wick_msg *msg) {
    int fd;
    size_t size;
    if (!wick_remote_is_url(path)) return wick_map_open(map, path, msg);
    WICK_TRY(wick_remote_file(remote, &fd, &size, path, msg));
    const wick_status status = wick_map_descriptor(map, fd, path, msg);
    close(fd);
    return status;
}

wick_status wick_remote_for(wick_context *ctx, int n, const char *const *paths, wick_remote *given, wick_remote **use,
                            wick_remote **own, wick_msg *msg) {
    *use = given;
    *own = NULL;
    for (int i = 0; i < n && !given; i++)
        if (wick_remote_is_url(paths[i])) {
            WICK_TRY(open_remote(&ctx->alloc, NULL, own, msg));
            *use = *own;
            break;
        }
    return WICK_OK;
}
