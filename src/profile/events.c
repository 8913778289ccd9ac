/* events.c: TensorBoard's event files: records, each with checksums, of a protocol buffer (tensorboard/compat/proto,
 * event.proto and summary.proto).
 *
 *   record:  [u64 length][u32 masked CRC-32C of it][bytes of an Event][u32 masked CRC-32C of them]
 *
 * The first event names the format. The second says where the run goes on: TensorBoard then forgets what earlier files
 * have from that step on, so that no step is there twice after a crash. */
#include "wick/events.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exec/exec.h"

enum { FLUSH_NS = 1000000000, BUCKETS = 774 }; /* of either sign: 1e-12 to 1e20, each a tenth wider */

struct wick_events {
    wick_context *ctx;
    int fd;
    int error; /* errno of the first write that failed */
    uint64_t flushed;
    uint8_t *at; /* what waits to be written */
    size_t used, cap;
    double *limits; /* of buckets, ascending: [2 * BUCKETS + 1] */
    double *counts;
    char path[];
};

/* ---- protocol buffers, in memory that grows ---------------------------------------------------------------------- */

typedef struct proto {
    uint8_t *at;
    size_t n, cap;
    bool failed;
} proto;

static void raw(proto *p, const void *bytes, size_t n) {
    if (p->failed || !wick_grow(NULL, (void **)&p->at, &p->cap, p->n + n + 1, 1)) {
        p->failed = true;
        return;
    }
    if (n) memcpy(p->at + p->n, bytes, n);
    p->n += n;
}
static void varint(proto *p, uint64_t v) {
    uint8_t bytes[10];
    size_t n = 0;
    for (; v > 127; v >>= 7) bytes[n++] = (uint8_t)(v | 128);
    bytes[n++] = (uint8_t)v;
    raw(p, bytes, n);
}
/* Zeros are what fields are without being there. */
static void number(proto *p, uint32_t field, int64_t v) {
    if (!v) return;
    varint(p, (uint64_t)field << 3);
    varint(p, (uint64_t)v);
}
static void real64(proto *p, uint32_t field, double v) {
    if (v == 0) return;
    varint(p, (uint64_t)field << 3 | 1);
    raw(p, &v, sizeof v);
}
static void real32(proto *p, uint32_t field, float v) {
    varint(p, (uint64_t)field << 3 | 5);
    raw(p, &v, sizeof v);
}
static void bytes(proto *p, uint32_t field, const void *at, size_t n) {
    varint(p, (uint64_t)field << 3 | 2);
    varint(p, n);
    raw(p, at, n);
}
static void text(proto *p, uint32_t field, const char *s) { bytes(p, field, s, strlen(s)); }
/* The inner message becomes a field, and is freed. */
static void message(proto *p, uint32_t field, proto *inner) {
    bytes(p, field, inner->at, inner->n);
    p->failed |= inner->failed;
    wick_release(NULL, inner->at, inner->cap);
    *inner = (proto){0};
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static uint32_t masked(const void *at, size_t n) {
    const uint32_t crc = wick_crc32c(0, at, n);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static wick_status failed(wick_events *e) {
    return wick_context_fail(e->ctx, WICK_ERR_IO, "%s: cannot write: %s", e->path, strerror(e->error));
}

wick_status wick_events_flush(wick_events *e) {
    for (size_t done = 0; !e->error && done < e->used;) {
        const ssize_t n = write(e->fd, e->at + done, e->used - done);
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            e->error = errno;
    }
    e->used = 0;
    e->flushed = wick_now_ns();
    return e->error ? failed(e) : WICK_OK;
}

static wick_status no_memory(wick_events *e) {
    return wick_context_fail(e->ctx, WICK_ERR_NOMEM, "%s: out of memory for an event", e->path);
}

static double wall_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The event's one field besides its time and step; `what` is freed. */
static wick_status add_event(wick_events *e, int64_t step, uint32_t field, proto *what) {
    proto event = {0};
    real64(&event, 1, wall_time());
    number(&event, 2, step);
    message(&event, field, what);
    const uint64_t length = event.n;
    const uint32_t of_length = masked(&length, sizeof length), of_event = masked(event.at, event.n);
    const size_t whole = event.n + 16;
    wick_status status = WICK_OK;
    if (event.failed || !wick_grow(NULL, (void **)&e->at, &e->cap, e->used + whole, 1)) {
        status = no_memory(e);
    } else {
        uint8_t *to = e->at + e->used;
        memcpy(to, &length, 8);
        memcpy(to + 8, &of_length, 4);
        memcpy(to + 12, event.at, event.n);
        memcpy(to + 12 + event.n, &of_event, 4);
        e->used += whole;
    }
    wick_release(NULL, event.at, event.cap);
    if (status != WICK_OK) return status;
    if (e->error) return failed(e);
    return wick_now_ns() - e->flushed > FLUSH_NS || e->used > (1 << 16) ? wick_events_flush(e) : WICK_OK;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static wick_status open_file(wick_events *e, const char *folder, size_t size) {
    static _Atomic unsigned files;
    char host[256] = "host";
    wick_context *ctx = e->ctx;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return wick_context_fail(ctx, WICK_ERR_IO, "%s: cannot make the folder: %s", folder, strerror(errno));
    if (gethostname(host, sizeof host - 1) != 0) snprintf(host, sizeof host, "host");
    for (char *c = host; *c; c++)
        if (*c == '/') *c = '_';
    snprintf(e->path, size, "%s/events.out.tfevents.%lld.%s.%d.%u", folder, (long long)time(NULL), host, (int)getpid(),
             atomic_fetch_add(&files, 1));
    e->fd = open(e->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    return e->fd >= 0 ? WICK_OK : wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", e->path, strerror(errno));
}

static void events_free(wick_events *e) {
    if (e->fd >= 0) close(e->fd);
    wick_release(NULL, e->at, e->cap);
    wick_release(NULL, e->limits, 1);
    wick_release(NULL, e, 1);
}

wick_status wick_events_open(wick_context *ctx, const char *folder, int64_t step, wick_events **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "events_open: out is NULL");
    *out = NULL;
    if (!folder || !*folder) return wick_context_fail(ctx, WICK_ERR_INVALID, "events_open: no folder is given");
    const size_t size = strlen(folder) + 400;
    wick_events *e = wick_calloc(NULL, sizeof *e + size);
    if (e) e->limits = wick_alloc(NULL, 2 * (2 * BUCKETS + 1) * sizeof(double));
    if (!e || !e->limits) {
        if (e) e->fd = -1, events_free(e);
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "events_open: out of memory");
    }
    e->ctx = ctx;
    e->counts = e->limits + 2 * BUCKETS + 1;
    double v = 1e-12;
    for (int i = 0; i < BUCKETS; i++, v *= 1.1) {
        e->limits[BUCKETS + 1 + i] = v;
        e->limits[BUCKETS - 1 - i] = -v;
    }
    e->limits[BUCKETS] = 0;
    e->limits[2 * BUCKETS] = 1.7976931348623157e308; /* all that is finite has a place */
    wick_status status = open_file(e, folder, size);
    proto version = {0}, session = {0};
    raw(&version, "brain.Event:2", 13); /* a text where others have a message */
    if (status == WICK_OK) status = add_event(e, 0, 3, &version);
    number(&session, 1, 1); /* START */
    if (status == WICK_OK) status = add_event(e, step, 7, &session);
    wick_release(NULL, version.at, version.cap);
    wick_release(NULL, session.at, session.cap);
    if (status == WICK_OK) status = wick_events_flush(e);
    if (status != WICK_OK) {
        events_free(e);
        return status;
    }
    *out = e;
    return WICK_OK;
}

wick_status wick_events_close(wick_events **events) {
    wick_events *e = events ? *events : NULL;
    if (!e) return WICK_OK;
    *events = NULL;
    wick_status status = wick_events_flush(e);
    if (close(e->fd) != 0 && status == WICK_OK) {
        e->error = errno;
        status = failed(e);
    }
    e->fd = -1;
    events_free(e);
    return status;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

static wick_status refuse(wick_events *e, const char *what) {
    return wick_context_fail(e->ctx, WICK_ERR_INVALID, "events: %s", what);
}

/* A value of a summary; what it is by the plugin `plugin`, unless that is NULL. */
static wick_status add_value(wick_events *e, const char *tag, int64_t step, const char *plugin, proto *value) {
    proto named = {0}, summary = {0};
    text(&named, 1, tag);
    raw(&named, value->at, value->n);
    named.failed |= value->failed;
    wick_release(NULL, value->at, value->cap);
    if (plugin) {
        proto data = {0}, metadata = {0};
        text(&data, 1, plugin);
        message(&metadata, 1, &data);
        message(&named, 9, &metadata);
    }
    message(&summary, 1, &named);
    return add_event(e, step, 5, &summary);
}

wick_status wick_events_scalar(wick_events *e, const char *tag, int64_t step, double value) {
    if (!tag || !*tag) return refuse(e, "no tag is given");
    proto p = {0};
    real32(&p, 2, (float)value);
    return add_value(e, tag, step, NULL, &p);
}

wick_status wick_events_histogram(wick_events *e, const char *tag, int64_t step, const float *values, int64_t n) {
    enum { ALL = 2 * BUCKETS + 1 };
    if (!tag || !*tag) return refuse(e, "no tag is given");
    if (n < 0 || (n && !values)) return refuse(e, "a histogram of no numbers");
    double least = 0, most = 0, sum = 0, squares = 0, count = 0;
    memset(e->counts, 0, ALL * sizeof *e->counts);
    for (int64_t i = 0; i < n; i++) {
        const double v = (double)values[i];
        if (!(v - v == 0)) continue;
        least = count ? WICK_MIN(least, v) : v;
        most = count ? WICK_MAX(most, v) : v;
        count++, sum += v, squares += v * v;
        int low = 0, high = ALL - 1; /* the first bucket whose limit is above v */
        while (low < high) {
            const int middle = (low + high) / 2;
            if (e->limits[middle] > v)
                high = middle;
            else
                low = middle + 1;
        }
        e->counts[low]++;
    }
    int first = 0, last = ALL - 1;
    while (first < last && !e->counts[first]) first++;
    while (last > first && !e->counts[last]) last--;
    int kept = 0; /* a run of empty buckets is one */
    proto h = {0}, p = {0}, bounds = {0};
    for (int i = first; i <= last; i++) {
        if (i < last && !e->counts[i] && !e->counts[i + 1]) continue;
        raw(&bounds, &e->limits[i], sizeof(double));
        e->counts[kept++] = e->counts[i];
    }
    real64(&h, 1, least), real64(&h, 2, most), real64(&h, 3, count), real64(&h, 4, sum), real64(&h, 5, squares);
    message(&h, 6, &bounds);
    bytes(&h, 7, e->counts, (size_t)kept * sizeof(double));
    message(&p, 5, &h);
    return add_value(e, tag, step, NULL, &p);
}

wick_status wick_events_picture(wick_events *e, const char *tag, int64_t step, int64_t height, int64_t width,
                                const void *data, size_t size) {
    if (!tag || !*tag) return refuse(e, "no tag is given");
    if (!data || !size || height < 1 || width < 1) return refuse(e, "a picture without bytes, or without an extent");
    proto image = {0}, p = {0};
    number(&image, 1, height), number(&image, 2, width), number(&image, 3, 3);
    bytes(&image, 4, data, size);
    message(&p, 4, &image);
    return add_value(e, tag, step, NULL, &p);
}

wick_status wick_events_text(wick_events *e, const char *tag, int64_t step, const char *what) {
    if (!tag || !*tag) return refuse(e, "no tag is given");
    if (!what) return refuse(e, "a text that is NULL");
    proto tensor = {0}, shape = {0}, dim = {0}, p = {0};
    number(&tensor, 1, 7); /* DT_STRING, of shape [1] */
    number(&dim, 1, 1);
    message(&shape, 2, &dim);
    message(&tensor, 2, &shape);
    text(&tensor, 8, what);
    message(&p, 8, &tensor);
    return add_value(e, tag, step, "text", &p);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* The layer of "net.c:12 conv1", of "layer conv1", or of an imported node's own name; "": a line alone. */
static const char *layer_of(const char *site) {
    static const char word[] = "layer ";
    const char *blank = site ? strchr(site, ' ') : NULL;
    if (!site) return "";
    if (strncmp(site, word, sizeof word - 1) == 0) return site + sizeof word - 1;
    if (blank) return blank + 1;
    const char *colon = strrchr(site, ':');
    return colon && colon[1] >= '0' && colon[1] <= '9' ? "" : site;
}

/* Letters, digits and what else GraphDef's names may have; dots part groups. */
static size_t node_name(const wick_node *node, char *out, size_t size) {
    const char *layer = layer_of(node->site);
    const int n = snprintf(out, size, "%.200s%s%s_%u", layer, *layer ? "/" : "", node->op->name, node->position);
    for (char *c = out; *c; c++) {
        const bool plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (*c == '.')
            *c = '/';
        else if (!plain && *c != '/' && *c != '-')
            *c = '_';
    }
    return (size_t)n;
}

/* Entry `key` of a node's attributes. */
static void attribute(proto *node, const char *key, proto *value) {
    proto entry = {0};
    text(&entry, 1, key);
    message(&entry, 2, value);
    message(node, 5, &entry);
}

static void add_node(proto *graph, const wick_node *node) {
    char name[300];
    proto p = {0}, list = {0}, shapes = {0}, dtype = {0};
    node_name(node, name, sizeof name);
    text(&p, 1, name);
    text(&p, 2, node->op->name);
    for (int i = 0; i < node->n_in; i++) {
        const wick_value *v = node->in[i];
        const size_t n = node_name(v->node, name, sizeof name - 12);
        if (v->index) snprintf(name + n, sizeof name - n, ":%u", v->index);
        text(&p, 3, name);
    }
    for (int k = 0; k < node->n_out; k++) {
        proto shape = {0};
        for (int d = 0; d < node->out[k].type.rank; d++) {
            proto dim = {0};
            number(&dim, 1, WICK_MAX(node->out[k].type.dims[d], -1));
            message(&shape, 2, &dim);
        }
        message(&list, 7, &shape);
    }
    message(&shapes, 1, &list);
    attribute(&p, "_output_shapes", &shapes);
    if (node->n_out) text(&dtype, 2, wick_dtype_name((wick_dtype)node->out[0].type.dtype));
    attribute(&p, "dtype", &dtype);
    message(graph, 1, &p);
}

wick_status wick_events_graph(wick_events *e, const wick_plan *plan) {
    if (!plan) return refuse(e, "a plan that is NULL");
    proto graph = {0}, versions = {0};
    for (size_t i = 0; i < plan->graph->n; i++) add_node(&graph, plan->graph->nodes[i]);
    number(&versions, 1, 22);
    message(&graph, 4, &versions);
    return add_event(e, 0, 4, &graph);
}
