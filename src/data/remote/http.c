/* http.c: attempts at a file until it is whole. An attempt that breaks off is gone on with by a range of bytes, which
 * the server grants only if the file's ETag is still the same (RFC 9110, If-Range). Facts of libcurl's interface
 * (curl/curl.h) are declared here by hand. */
#include "data/remote/http.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/library.h"

/* curl/curl.h: options by type of their value (long, pointer, function), and what is asked of a handle */
enum {
    OPT_LOW_SPEED_LIMIT = 19,
    OPT_LOW_SPEED_TIME = 20,
    OPT_NOPROGRESS = 43,
    OPT_FOLLOWLOCATION = 52,
    OPT_MAXREDIRS = 68,
    OPT_CONNECTTIMEOUT = 78,
    OPT_NOSIGNAL = 99,
    OPT_PROTOCOLS = 181,
    OPT_REDIR_PROTOCOLS = 182,
    OPT_WRITEDATA = 10001,
    OPT_URL = 10002,
    OPT_ERRORBUFFER = 10010,
    OPT_USERAGENT = 10018,
    OPT_HTTPHEADER = 10023,
    OPT_HEADERDATA = 10029,
    OPT_XFERINFODATA = 10057,
    OPT_USERNAME = 10173,
    OPT_PASSWORD = 10174,
    OPT_AWS_SIGV4 = 10305,
    OPT_WRITEFUNCTION = 20011,
    OPT_HEADERFUNCTION = 20079,
    OPT_XFERINFOFUNCTION = 20219,
    PROTOCOLS_HTTP_AND_HTTPS = 3,
    INFO_RESPONSE_CODE = 0x200002,
    GLOBAL_ALL = 3,
    ERROR_SIZE = 256
};

static struct {
    void *handle;
    int (*global_init)(long flags);
    void *(*easy_init)(void);
    void (*easy_cleanup)(void *easy);
    int (*easy_setopt)(void *easy, int option, ...);
    int (*easy_getinfo)(void *easy, int info, ...);
    int (*easy_perform)(void *easy);
    const char *(*easy_strerror)(int code);
    void *(*slist_append)(void *list, const char *text);
    void (*slist_free_all)(void *list);
} curl;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

wick_status http_load(const char *name, wick_msg *msg) {
    static const wick_library library = {"fetching it",
                                         "libcurl (libcurl.so.4; Debian: libcurl4)",
                                         {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.dylib"}};
    const wick_symbol symbols[] = {
        {"curl_global_init", &curl.global_init},      {"curl_easy_init", &curl.easy_init},
        {"curl_easy_cleanup", &curl.easy_cleanup},    {"curl_easy_setopt", &curl.easy_setopt},
        {"curl_easy_getinfo", &curl.easy_getinfo},    {"curl_easy_perform", &curl.easy_perform},
        {"curl_easy_strerror", &curl.easy_strerror},  {"curl_slist_append", &curl.slist_append},
        {"curl_slist_free_all", &curl.slist_free_all}};
    wick_status status = WICK_OK;
    pthread_mutex_lock(&loading);
    if (!curl.handle) {
        void *handle;
        status = wick_library_open(&handle, &library, WICK_COUNTOF(symbols), symbols, name, msg);
        if (status == WICK_OK && curl.global_init(GLOBAL_ALL) != 0)
            status = wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: libcurl cannot be set up", name);
        else if (status == WICK_OK)
            curl.handle = handle;
    }
    pthread_mutex_unlock(&loading);
    return status;
}

/* ---- where a file is --------------------------------------------------------------------------------------------- */

typedef struct request {
    char url[4096];
    bool s3; /* and signed, if there are keys */
    char region[64];
    const char *key, *secret, *token;
} request;

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* As S3 wants paths in a request and in its signature: all but letters, digits, -._~ and the slash by their bytes. */
static bool add_path(wick_str *s, const char *path) {
    for (; *path; path++) {
        const unsigned char c = (unsigned char)*path;
        const bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~/", c);
        wick_str_add(s, plain ? "%c" : "%%%02X", c);
    }
    return !s->cut;
}

static wick_status find_s3(request *q, const char *url, wick_msg *msg) {
    const char *bucket = url + strlen("s3://"), *slash = strchr(bucket, '/');
    const char *region = variable("AWS_REGION"), *endpoint = variable("AWS_ENDPOINT_URL");
    if (!region) region = variable("AWS_DEFAULT_REGION");
    if (!region) region = "us-east-1";
    if (!slash || slash == bucket || !slash[1])
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: is written s3://BUCKET/KEY", url);
    const int n = (int)(slash - bucket);
    wick_str s = wick_str_on(q->url, sizeof q->url);
    /* A bucket whose name has dots would not fit the certificate for *.s3.amazonaws.com. */
    const bool as_host = !endpoint && !memchr(bucket, '.', (size_t)n);
    if (endpoint)
        wick_str_add(&s, "%.*s/%.*s", (int)strlen(endpoint) - (endpoint[strlen(endpoint) - 1] == '/'), endpoint, n,
                     bucket);
    else if (as_host)
        wick_str_add(&s, "https://%.*s.s3.%s.amazonaws.com", n, bucket, region);
    else
        wick_str_add(&s, "https://s3.%s.amazonaws.com/%.*s", region, n, bucket);
    if (!add_path(&s, slash) || strlen(region) >= sizeof q->region - 20)
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: is too long", url);
    snprintf(q->region, sizeof q->region, "aws:amz:%s:s3", region);
    q->s3 = true;
    q->key = variable("AWS_ACCESS_KEY_ID");
    q->secret = variable("AWS_SECRET_ACCESS_KEY");
    q->token = variable("AWS_SESSION_TOKEN");
    if (!q->key != !q->secret)
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY one is not set",
                            url);
    return WICK_OK;
}

static wick_status find(request *q, const char *url, wick_msg *msg) {
    *q = (request){.s3 = false};
    if (strncmp(url, "s3://", 5) == 0) return find_s3(q, url, msg);
    if (strlen(url) >= sizeof q->url) return wick_msg_set(msg, WICK_ERR_INVALID, "%.60s...: is too long", url);
    memcpy(q->url, url, strlen(url) + 1);
    return WICK_OK;
}

/* ---- an attempt -------------------------------------------------------------------------------------------------- */

/* What the server said. */
typedef struct answer {
    http_file *f;
    void *easy;
    uint64_t have;  /* bytes that are written */
    uint64_t total; /* bytes of the file; 0: not known */
    bool framed;    /* the end of the contents can be told from a connection that broke */
    uint64_t first; /* of what comes, in a part */
    bool begun;     /* the first bytes of the contents were looked at */
    double wait;    /* seconds the server wants to be left alone */
    char etag[HTTP_ETAG];
    char body[1024]; /* of an error */
    size_t body_size;
    wick_status status; /* of this machine's side: room, disk */
    wick_msg *msg;
} answer;

static long code_of(const answer *a) {
    long code = 0;
    curl.easy_getinfo(a->easy, INFO_RESPONSE_CODE, &code);
    return code;
}

static size_t take_header(char *line, size_t size, size_t n, void *user) {
    answer *a = user;
    char text[512];
    const size_t all = size * n, some = WICK_MIN(all, sizeof text - 1);
    memcpy(text, line, some);
    text[some] = 0;
    text[strcspn(text, "\r\n")] = 0;
    char *value = strchr(text, ':');
    if (strncmp(text, "HTTP/", 5) == 0) { /* of the next answer: there was a redirection */
        a->etag[0] = 0;
        a->total = a->first = 0;
        a->framed = text[5] >= '2'; /* later versions close streams, not connections */
    }
    if (!value) return all;
    *value++ = 0;
    value += strspn(value, " \t");
    if (strcasecmp(text, "etag") == 0 && strlen(value) < sizeof a->etag) strcpy(a->etag, value);
    if (strcasecmp(text, "content-length") == 0 && code_of(a) == 200) a->total = strtoull(value, NULL, 10);
    if (strcasecmp(text, "content-length") == 0 || strcasecmp(text, "transfer-encoding") == 0) a->framed = true;
    if (strcasecmp(text, "retry-after") == 0) a->wait = strtod(value, NULL);
    if (strcasecmp(text, "content-range") == 0 && strncasecmp(value, "bytes ", 6) == 0) {
        a->first = strtoull(value + 6, NULL, 10);
        const char *slash = strchr(value, '/');
        a->total = slash ? strtoull(slash + 1, NULL, 10) : 0;
    }
    return all;
}

/* Before the first byte is written: where it belongs, and whether there is room. */
static bool begin(answer *a, long code) {
    a->begun = true;
    if (code == 200) a->have = 0; /* all of it comes, whatever was asked for */
    if (code == 206 && a->first != a->have) {
        a->status = wick_msg_set(a->msg, WICK_ERR_IO, "%s: asked for bytes from %llu on, the server sends from %llu on",
                                 a->f->url, (unsigned long long)a->have, (unsigned long long)a->first);
        return false;
    }
    if (ftruncate(a->f->fd, (off_t)a->have) != 0 || lseek(a->f->fd, (off_t)a->have, SEEK_SET) < 0) {
        a->status = wick_msg_set(a->msg, WICK_ERR_IO, "%s: keeping it: %s", a->f->url, strerror(errno));
        return false;
    }
    if (a->f->room && a->total) a->status = a->f->room(a->f->user, a->total, a->msg);
    return a->status == WICK_OK;
}

static size_t take_bytes(char *bytes, size_t size, size_t n, void *user) {
    answer *a = user;
    const long code = code_of(a);
    const size_t all = size * n;
    if (code != 200 && code != 206) {
        const size_t some = WICK_MIN(all, sizeof a->body - 1 - a->body_size);
        memcpy(a->body + a->body_size, bytes, some);
        a->body_size += some;
        return all;
    }
    if (!a->begun && !begin(a, code)) return 0;
    for (size_t done = 0; done < all;) {
        const ssize_t some = write(a->f->fd, bytes + done, all - done);
        if (some < 0 && errno == EINTR) continue;
        if (some < 0) {
            a->status = wick_msg_set(a->msg, WICK_ERR_IO, "%s: keeping it: %s", a->f->url, strerror(errno));
            return 0;
        }
        done += (size_t)some;
    }
    a->have += all;
    a->f->received += all;
    return all;
}

static int go_on(void *user, int64_t a, int64_t b, int64_t c, int64_t d) {
    (void)a, (void)b, (void)c, (void)d;
    const http_file *f = user;
    return f->stop && atomic_load(f->stop);
}

static bool add_line(void **list, const char *text) {
    void *longer = curl.slist_append(*list, text);
    if (longer) *list = longer;
    return longer != NULL;
}

/* Headers of our own; false: out of memory. */
static bool add_lines(void **list, const request *q, const answer *a) {
    char line[4200];
    bool ok = true;
    if (a->have) {
        snprintf(line, sizeof line, "Range: bytes=%llu-", (unsigned long long)a->have);
        ok = add_line(list, line);
        snprintf(line, sizeof line, "If-Range: %s", a->f->etag);
        ok = ok && add_line(list, line);
    } else if (*a->f->known) {
        snprintf(line, sizeof line, "If-None-Match: %s", a->f->known);
        ok = add_line(list, line);
    }
    if (q->s3 && q->key) ok = ok && add_line(list, "x-amz-content-sha256: UNSIGNED-PAYLOAD");
    if (q->s3 && q->key && q->token) {
        snprintf(line, sizeof line, "x-amz-security-token: %s", q->token);
        ok = ok && strlen(q->token) < sizeof line - 32 && add_line(list, line);
    }
    return ok;
}

static bool set_options(const request *q, answer *a, char error[ERROR_SIZE]) {
    void *e = a->easy;
    int bad = 0;
    bad |= curl.easy_setopt(e, OPT_URL, q->url);
    bad |= curl.easy_setopt(e, OPT_PROTOCOLS, (long)PROTOCOLS_HTTP_AND_HTTPS);
    bad |= curl.easy_setopt(e, OPT_REDIR_PROTOCOLS, (long)PROTOCOLS_HTTP_AND_HTTPS);
    /* A signature is for one server: it is not carried to another. */
    bad |= curl.easy_setopt(e, OPT_FOLLOWLOCATION, (long)!q->s3);
    bad |= curl.easy_setopt(e, OPT_MAXREDIRS, 5L);
    bad |= curl.easy_setopt(e, OPT_CONNECTTIMEOUT, (long)WICK_MAX(a->f->patience, 1.0));
    bad |= curl.easy_setopt(e, OPT_LOW_SPEED_LIMIT, 1L);
    bad |= curl.easy_setopt(e, OPT_LOW_SPEED_TIME, (long)WICK_MAX(a->f->patience, 1.0));
    bad |= curl.easy_setopt(e, OPT_NOSIGNAL, 1L);
    bad |= curl.easy_setopt(e, OPT_USERAGENT, "wick");
    bad |= curl.easy_setopt(e, OPT_ERRORBUFFER, error);
    bad |= curl.easy_setopt(e, OPT_HEADERFUNCTION, take_header);
    bad |= curl.easy_setopt(e, OPT_HEADERDATA, a);
    bad |= curl.easy_setopt(e, OPT_WRITEFUNCTION, take_bytes);
    bad |= curl.easy_setopt(e, OPT_WRITEDATA, a);
    bad |= curl.easy_setopt(e, OPT_XFERINFOFUNCTION, go_on);
    bad |= curl.easy_setopt(e, OPT_XFERINFODATA, a->f);
    bad |= curl.easy_setopt(e, OPT_NOPROGRESS, 0L);
    if (q->s3 && q->key) {
        bad |= curl.easy_setopt(e, OPT_AWS_SIGV4, q->region); /* libcurl 7.75 or later */
        bad |= curl.easy_setopt(e, OPT_USERNAME, q->key);
        bad |= curl.easy_setopt(e, OPT_PASSWORD, q->secret);
    }
    return !bad;
}

typedef enum outcome { DONE, AGAIN, GIVEN_UP } outcome;

/* What S3 names an error by, or nothing. */
static void find_code(const answer *a, char to[80]) {
    const char *begin = strstr(a->body, "<Code>"), *end = begin ? strstr(begin, "</Code>") : NULL;
    snprintf(to, 80, "%s%.*s", end ? ": " : "", end ? (int)WICK_MIN(end - begin - 6, 70) : 0, end ? begin + 6 : "");
    for (char *c = to; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
}

static outcome judge(answer *a, int failure, const char *error) {
    http_file *f = a->f;
    const long code = code_of(a);
    if (f->stop && atomic_load(f->stop)) {
        a->status = wick_msg_set(a->msg, WICK_ERR_CANCELLED, "%s: given up", f->url);
        return GIVEN_UP;
    }
    if (a->status != WICK_OK) return GIVEN_UP;
    if (!failure && code == 304 && *f->known) {
        f->unchanged = true;
        return DONE;
    }
    if (!failure && code == 200 && !a->framed) {
        a->status = wick_msg_set(a->msg, WICK_ERR_IO,
                                 "%s: the server does not say how long it is, so that a part of it "
                                 "would pass for all",
                                 f->url);
        return GIVEN_UP;
    }
    /* An empty file has no bytes that would begin it. */
    if (!failure && code == 200 && !a->begun && !begin(a, code)) return GIVEN_UP;
    if (!failure && (code == 200 || code == 206) && (!a->total || a->have == a->total)) {
        f->size = a->have;
        memcpy(f->etag, a->etag, sizeof f->etag);
        return DONE;
    }
    char why[80] = "";
    if (!failure) find_code(a, why);
    if (failure)
        a->status = wick_msg_set(a->msg, WICK_ERR_IO, "%s: %s", f->url, *error ? error : curl.easy_strerror(failure));
    else if (code == 200 || code == 206)
        a->status = wick_msg_set(a->msg, WICK_ERR_IO, "%s: %llu of %llu bytes came", f->url,
                                 (unsigned long long)a->have, (unsigned long long)a->total);
    else
        a->status = wick_msg_set(a->msg, WICK_ERR_IO, "%s: the server answers %ld%s", f->url, code, why);
    /* What was kept of a file that has no ETag could be of another. */
    if (code == 200 || code == 206) memcpy(f->etag, a->etag, sizeof f->etag);
    if (!*f->etag || f->etag[0] == 'W') a->have = 0;
    const bool passes = code == 408 || code == 429 || code == 500 || code == 502 || code == 503 || code == 504;
    return failure                                ? AGAIN
           : code == 200 || code == 206 || passes ? AGAIN
           : code == 416                          ? (a->have = 0, AGAIN)
                                                  : GIVEN_UP;
}

static outcome attempt(const request *q, answer *a) {
    char error[ERROR_SIZE] = "";
    void *lines = NULL;
    outcome o = GIVEN_UP;
    a->begun = false;
    a->body_size = 0;
    a->wait = 0;
    a->etag[0] = 0;
    a->status = WICK_OK;
    memset(a->body, 0, sizeof a->body);
    a->easy = curl.easy_init();
    if (!a->easy || !add_lines(&lines, q, a))
        a->status = wick_msg_set(a->msg, WICK_ERR_NOMEM, "%s: out of memory", a->f->url);
    else if (!set_options(q, a, error) || curl.easy_setopt(a->easy, OPT_HTTPHEADER, lines))
        a->status = wick_msg_set(a->msg, WICK_ERR_UNSUPPORTED, "%s: libcurl lacks an option, or memory", a->f->url);
    else {
        a->f->requests++;
        o = judge(a, curl.easy_perform(a->easy), error);
    }
    if (a->easy) curl.easy_cleanup(a->easy);
    curl.slist_free_all(lines);
    return o;
}

/* Sleeps, unless it is to stop. */
static void wait(const http_file *f, double seconds) {
    while (seconds > 0 && !(f->stop && atomic_load(f->stop))) {
        const double some = WICK_MIN(seconds, 0.05);
        nanosleep(&(struct timespec){.tv_nsec = (long)(some * 1e9)}, NULL);
        seconds -= some;
    }
}

wick_status http_fetch(http_file *f, wick_msg *msg) {
    request q;
    WICK_TRY(find(&q, f->url, msg));
    answer a = {.f = f, .msg = msg};
    f->unchanged = false;
    f->size = f->requests = f->retries = f->received = 0;
    f->etag[0] = 0;
    for (int i = 0;; i++) {
        const outcome o = attempt(&q, &a);
        if (o == DONE) return WICK_OK;
        if (o == GIVEN_UP || i + 1 >= f->attempts) return a.status;
        f->retries++;
        /* Many that wait for one server come back at different times: by half of the pause, drawn from the URL. */
        const double pause = WICK_MIN(0.1 * (double)(1 << WICK_MIN(i, 8)), 10),
                     part = (double)(wick_hash(f->url, strlen(f->url), (uint64_t)i) >> 11) * 0x1p-53;
        wait(f, WICK_MAX(pause * (0.5 + 0.5 * part), WICK_MIN(a.wait, 60)));
    }
}
