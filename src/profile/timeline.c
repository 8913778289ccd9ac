/* timeline.c: Perfetto's TrackEvent packets (perfetto.dev/docs/reference/trace-packet-proto) and Chrome's trace events
 * ("Trace Event Format", JSON array form, whose closing bracket may be missing), alone or in a page that shows them.
 *
 * Packets: a sequence for each track, whose first packet describes the track and makes it the default one; names are
 * interned once a sequence. Then a span takes two packets:
 *
 *   begin 22 to 34 bytes   timestamp, sequence, needs what came before; slice begin, number of the name, flow if any
 *   end   17 bytes         timestamp, sequence; slice end
 */
#include "profile/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { TIMELINE_OPEN = 64 };
/* Which names a track has had: bits by number. */
typedef struct timeline_names {
    struct timeline_names *next;
    uint32_t track;
    bool skipping;  /* the span that is open was dropped, and so its end is */
    uint32_t depth; /* of spans that are open; of these, as many as lie within a dropped one are dropped */
    uint64_t *known;
    size_t cap;
    uint64_t open[TIMELINE_OPEN]; /* of OpenTelemetry: ids of spans that are open */
    uint32_t n_open;
} timeline_names;

/* ---- the file ---------------------------------------------------------------------------------------------------- */

void timeline_flush(timeline *t) {
    size_t done = 0;
    while (t->fd >= 0 && !t->error && done < t->used) {
        const ssize_t n = write(t->fd, t->buffer + done, t->used - done);
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            t->error = errno;
    }
    t->used = 0;
}

static bool room_for(timeline *t, size_t n) {
    if (t->fd < 0 || t->error || t->bytes + n > t->limit) return false;
    if (t->used + n > sizeof t->buffer) timeline_flush(t);
    return !t->error;
}

static void add(timeline *t, const void *bytes, size_t n) {
    memcpy(t->buffer + t->used, bytes, n);
    t->used += n;
    t->bytes += n;
}

bool timeline_add(timeline *t, const void *bytes, size_t n) {
    if (!room_for(t, n)) return false;
    add(t, bytes, n);
    return true;
}

/* ---- protocol buffers -------------------------------------------------------------------------------------------- */

enum { PACKET_ROOM = 512, NAME_MAX_BYTES = 200 };
typedef struct proto {
    uint8_t at[PACKET_ROOM];
    size_t n;
} proto;

static void put_varint(proto *p, uint64_t v) {
    for (; v > 127; v >>= 7) p->at[p->n++] = (uint8_t)(v | 128);
    p->at[p->n++] = (uint8_t)v;
}
static void put_number(proto *p, uint32_t field, uint64_t v) {
    put_varint(p, (uint64_t)field << 3);
    put_varint(p, v);
}
static void put_bytes(proto *p, uint32_t field, const void *bytes, size_t n) {
    put_varint(p, (uint64_t)field << 3 | 2);
    put_varint(p, n);
    memcpy(p->at + p->n, bytes, n);
    p->n += n;
}
static void put_message(proto *p, uint32_t field, const proto *m) { put_bytes(p, field, m->at, m->n); }
static void put_text(proto *p, uint32_t field, const char *text) {
    const size_t n = strlen(text);
    put_bytes(p, field, text, WICK_MIN(n, (size_t)NAME_MAX_BYTES));
}
static void put_fixed64(proto *p, uint32_t field, uint64_t v) {
    put_varint(p, (uint64_t)field << 3 | 1);
    for (int i = 0; i < 8; i++) p->at[p->n++] = (uint8_t)(v >> 8 * i);
}

/* Fields, by Perfetto's names. */
enum {
    TRACE_PACKET = 1,
    TIMESTAMP = 8,
    SEQUENCE_ID = 10,
    TRACK_EVENT = 11,
    INTERNED_DATA = 12,
    SEQUENCE_FLAGS = 13,
    TRACE_PACKET_DEFAULTS = 59,
    TRACK_DESCRIPTOR = 60,
    STATE_CLEARED = 1,
    NEEDS_STATE = 2,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK = 11,
    EVENT_FLOWS = 47,
    EVENT_BEGIN = 1,
    EVENT_END = 2,
    DEFAULTS_EVENT = 11,
    EVENT_NAMES = 2,
    PROCESS_TRACK = 1
};

static bool write_packet(timeline *t, const proto *packet) {
    proto whole = {.n = 0};
    put_message(&whole, TRACE_PACKET, packet);
    if (!room_for(t, whole.n)) return false;
    add(t, whole.at, whole.n);
    return true;
}

/* Numbers that no other rank has: of processes, tracks, sequences, threads and flows. Two machines may give theirs
 * twice. */
static int process_of(const timeline *t) { return t->ranks ? t->rank + 1 : (int)getpid(); }
static uint64_t number_of(const timeline *t, uint32_t track) {
    return PROCESS_TRACK + track + ((uint64_t)t->rank << 16);
}
static uint64_t thread_of(const timeline *t, const wick_track *track) {
    return t->ranks ? (uint64_t)process_of(t) * 100000 + track->number : (uint64_t)track->thread;
}
static uint64_t flow_of(const timeline *t, uint64_t flow) { return flow ? flow ^ (uint64_t)t->rank << 52 : 0; }
static void process_name(const timeline *t, char name[32]) {
    if (t->ranks) snprintf(name, 32, "wick, rank %d", t->rank);
    else snprintf(name, 32, "wick");
}

static bool describe_process(timeline *t) {
    proto process = {.n = 0}, track = {.n = 0}, packet = {.n = 0};
    char name[32];
    process_name(t, name);
    put_number(&process, 1, (uint64_t)process_of(t));
    put_text(&process, 6, name);
    put_number(&track, 1, number_of(t, 0));
    put_message(&track, 3, &process);
    put_number(&packet, SEQUENCE_ID, number_of(t, 0));
    put_message(&packet, TRACK_DESCRIPTOR, &track);
    return write_packet(t, &packet);
}

static bool describe_track(timeline *t, const wick_track *track) {
    proto thread = {.n = 0}, descriptor = {.n = 0}, event = {.n = 0}, defaults = {.n = 0}, packet = {.n = 0};
    const uint64_t id = number_of(t, track->number);
    put_number(&descriptor, 1, id);
    if (track->worker) { /* of a pool, whose threads' numbers nobody knows */
        put_text(&descriptor, 2, track->name);
        put_number(&descriptor, 5, number_of(t, 0));
    } else {
        put_number(&thread, 1, (uint64_t)process_of(t));
        put_number(&thread, 2, thread_of(t, track));
        put_text(&thread, 5, track->name);
        put_message(&descriptor, 4, &thread);
    }
    put_number(&event, EVENT_TRACK, id);
    put_message(&defaults, DEFAULTS_EVENT, &event);
    put_number(&packet, SEQUENCE_ID, id);
    put_number(&packet, SEQUENCE_FLAGS, STATE_CLEARED);
    put_message(&packet, TRACE_PACKET_DEFAULTS, &defaults);
    put_message(&packet, TRACK_DESCRIPTOR, &descriptor);
    return write_packet(t, &packet);
}

static bool proto_begin(timeline *t, const wick_track *track, timeline_names *names, uint64_t at, uint32_t name,
                        const char *text, uint64_t flow) {
    proto packet = {.n = 0}, event = {.n = 0};
    const bool known = name / 64 < names->cap && names->known[name / 64] >> name % 64 & 1;
    put_number(&packet, TIMESTAMP, at);
    put_number(&packet, SEQUENCE_ID, number_of(t, track->number));
    put_number(&packet, SEQUENCE_FLAGS, NEEDS_STATE);
    if (!known) {
        proto entry = {.n = 0}, data = {.n = 0};
        put_number(&entry, 1, name + 1);
        put_text(&entry, 2, text);
        put_message(&data, EVENT_NAMES, &entry);
        put_message(&packet, INTERNED_DATA, &data);
    }
    put_number(&event, EVENT_TYPE, EVENT_BEGIN);
    put_number(&event, EVENT_NAME_IID, name + 1);
    if (flow) put_fixed64(&event, EVENT_FLOWS, flow_of(t, flow));
    put_message(&packet, TRACK_EVENT, &event);
    if (!write_packet(t, &packet)) return false;
    if (!known && name / 64 < names->cap) names->known[name / 64] |= (uint64_t)1 << name % 64;
    return true;
}

static bool proto_end(timeline *t, const wick_track *track, uint64_t at) {
    proto packet = {.n = 0}, event = {.n = 0};
    put_number(&packet, TIMESTAMP, at);
    put_number(&packet, SEQUENCE_ID, number_of(t, track->number));
    put_number(&event, EVENT_TYPE, EVENT_END);
    put_message(&packet, TRACK_EVENT, &event);
    return write_packet(t, &packet);
}

/* ---- Chrome's events --------------------------------------------------------------------------------------------- */

void timeline_quote(wick_str *s, const char *text) {
    wick_str_add(s, "\"");
    for (size_t i = 0; text[i] && i < NAME_MAX_BYTES; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            wick_str_add(s, "\\%c", c);
        else if (c < 32 || c == '<') /* the page's block of data ends with a tag */
            wick_str_add(s, "\\u%04x", c);
        else
            wick_str_add(s, "%c", c);
    }
    wick_str_add(s, "\"");
}

static bool write_line(timeline *t, const wick_str *s) {
    if (s->cut || !room_for(t, s->len)) return false;
    add(t, s->at, s->len);
    return true;
}

static bool chrome_track(timeline *t, const wick_track *track) {
    char line[512];
    wick_str s = wick_str_on(line, sizeof line);
    wick_str_add(&s, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":", process_of(t),
                 track->number);
    timeline_quote(&s, track->name);
    wick_str_add(&s, "}},\n");
    return write_line(t, &s);
}

/* A span, and the arrow that leaves it or leads to it. */
static bool chrome_span(timeline *t, const wick_track *track, const wick_mark *mark, uint64_t begin, uint64_t end,
                        const char *text) {
    char line[1600];
    wick_str s = wick_str_on(line, sizeof line);
    const int pid = process_of(t);
    wick_str_add(&s, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"name\":", pid, track->number,
                 (double)begin * 1e-3, (double)(end - begin) * 1e-3);
    timeline_quote(&s, text);
    wick_str_add(&s, "},\n");
    if (mark->flow && (mark->name == WICK_SPAN_MAKE || mark->kind == WICK_MARK_END))
        wick_str_add(&s,
                     "{\"ph\":\"%s\",\"pid\":%d,\"tid\":%u,\"ts\":%.3f,\"cat\":\"batch\",\"name\":\"batch\","
                     "\"id\":\"%llu\"},\n",
                     mark->name == WICK_SPAN_MAKE ? "s" : "f\",\"bp\":\"e", pid, track->number, (double)begin * 1e-3,
                     (unsigned long long)flow_of(t, mark->flow));
    return write_line(t, &s);
}

/* ---- marks ------------------------------------------------------------------------------------------------------- */

/* The track's names, with room for one more; NULL: out of memory, or of the file's. */
static timeline_names *names_of(timeline *t, const wick_track *track, uint32_t name) {
    timeline_names *n = t->names;
    while (n && n->track != track->number) n = n->next;
    if (!n) {
        if (!t->otlp && !(t->chrome ? chrome_track(t, track) : describe_track(t, track))) return NULL;
        if (!(n = wick_calloc(t->alloc, sizeof *n))) return NULL;
        n->track = track->number;
        n->next = t->names;
        t->names = n;
    }
    const size_t words = n->cap, want = (size_t)name / 64 + 1;
    if (want > words && wick_grow(t->alloc, (void **)&n->known, &n->cap, want, sizeof *n->known))
        memset(n->known + words, 0, (n->cap - words) * sizeof *n->known);
    return n;
}

/* Of spans that lie deeper than there is room for, those within don't name them. */
static void put_otlp(timeline *t, timeline_names *n, const wick_track *track, const wick_mark *mark, uint64_t begin,
                     uint64_t end, const char *text) {
    uint64_t id = 0;
    if (mark->kind == WICK_MARK_BEGIN) {
        if (n && n->n_open < TIMELINE_OPEN) n->open[n->n_open] = ++t->id;
        if (n) n->n_open++;
        return;
    }
    if (n && mark->kind == WICK_MARK_END && n->n_open && --n->n_open < TIMELINE_OPEN) id = n->open[n->n_open];
    if (!id) id = ++t->id;
    const uint64_t parent = n && n->n_open ? n->open[WICK_MIN(n->n_open, (uint32_t)TIMELINE_OPEN) - 1] : 0;
    if (n && otlp_span(t, track, mark, id, parent, begin, end, text)) t->spans++;
    else t->dropped++;
}

/* ns since what is 0 of the file; what was before that is there. */
static uint64_t shifted(const timeline *t, uint64_t ns) {
    return t->shift >= 0 || ns >= (uint64_t)-t->shift ? ns + (uint64_t)t->shift : 0;
}

void timeline_put(timeline *t, const wick_track *track, const wick_mark *mark, uint64_t begin, uint64_t end,
                  const char *text) {
    if (t->fd < 0) return;
    if (!t->otlp) begin = shifted(t, begin), end = shifted(t, end);
    const bool opens = mark->kind == WICK_MARK_BEGIN, closes = mark->kind == WICK_MARK_END;
    if (t->chrome && opens) return; /* it is written when it ends */
    timeline_names *names = names_of(t, track, mark->name);
    bool written = false;
    if (t->otlp) {
        put_otlp(t, names, track, mark, begin, end, text);
        return;
    }
    if (t->chrome) {
        written = names && chrome_span(t, track, mark, begin, end, text);
    } else if (closes && names) { /* what is open is closed whatever the limit */
        if (names->skipping && !--names->depth)
            names->skipping = false;
        else if (!names->skipping)
            t->limit += 64, proto_end(t, track, end), t->limit -= 64, written = true;
        if (written) return; /* counted when it began */
    } else if (names && !names->skipping) {
        written = proto_begin(t, track, names, begin, mark->name, text, mark->flow && opens ? mark->flow : 0);
        if (written && !opens) t->limit += 64, proto_end(t, track, end), t->limit -= 64;
    }
    if (!t->chrome && opens && names && !written) names->skipping = true, names->depth++;
    if (closes && !t->chrome) return;
    if (written)
        t->spans++;
    else
        t->dropped++;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

#define OTLP_OURS ":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"wick\"}}"
static const char chrome_head[] = "[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":";

/* How the files that are written here begin: the process's track of a timeline, and the others' first lines. */
static bool is_ours(const uint8_t *head, size_t n) {
    static const char *const texts[] = {chrome_head,
                                        "<!doctype html><!--wick profile-->",
                                        "<!doctype html><!--wick memory-->",
                                        "<svg wick=\"profile\"",
                                        "<svg wick=\"memory\"",
                                        "wick memory\t",
                                        "{\n  \"wick_profile\"",
                                        "wick profile\n",
                                        "{\"resourceSpans\"" OTLP_OURS,
                                        "{\"resourceMetrics\"" OTLP_OURS,
                                        "main;"};
    if (n == 0) return true; /* what a run that was killed at once leaves */
    for (size_t i = 0; i < WICK_COUNTOF(texts); i++) {
        const size_t length = strlen(texts[i]);
        if (n >= length && memcmp(head, texts[i], length) == 0) return true;
    }
    /* packet { sequence 1, track_descriptor { uuid 1 ...; of another rank a sequence of more bytes */
    size_t at = 3;
    while (at < n && at < 8 && head[at] & 128) at++;
    return n > at + 3 && head[0] == 0x0a && head[2] == 0x50 && head[at + 1] == 0xe2 && head[at + 2] == 3 &&
           memmem(head, n, "wick", 4);
}

wick_status profile_may_replace(const char *path, wick_msg *msg) {
    uint8_t head[128];
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT) return WICK_OK;
    if (fd < 0) return wick_msg_set(msg, WICK_ERR_IO, "%s: %s", path, strerror(errno));
    const bool file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    const ssize_t n = file ? read(fd, head, sizeof head) : -1;
    close(fd);
    if (n >= 0 && is_ours(head, (size_t)n)) return WICK_OK;
    return wick_msg_set(msg, WICK_ERR_INVALID, "%s is there already and is no profile: it is not replaced", path);
}

/* Whether the file lies where several machines write: there, what two of them append may be lost. */
static bool is_network(int fd) {
    static const uint32_t types[] = {0x6969 /* NFS */, 0x517b /* SMB */, 0xff534d42 /* CIFS */, 0xfe534d42 /* SMB 2 */};
    struct statfs st;
    for (size_t i = 0; i < WICK_COUNTOF(types) && fstatfs(fd, &st) == 0; i++)
        if ((uint32_t)st.f_type == types[i]) return true;
    return false;
}

/* Nobody else writes into the file now, and nobody can begin to. */
static bool lock_alone(const timeline *t, int tries) {
    enum { MILLISECONDS = 10 };
    for (int i = 0; i < tries && !t->error; i++) {
        if (flock(t->fd, LOCK_EX | LOCK_NB) == 0) return true;
        usleep(MILLISECONDS * 1000);
    }
    return false;
}

/* Ranks of a machine append to one file, whole events at a time, and hold a shared lock while they do. Who finds it
 * unlocked is the first, and empties it: on rank 0's machine that is rank 0, whom the others wait for. One that was
 * killed may hold its lock a little longer. */
static wick_status share(timeline *t, const char *path, bool *first, wick_msg *msg) {
    const char *why = NULL;
    if (is_network(t->fd)) why = "it is on a network's file system, on which ranks can't append: name another folder";
    *first = !why && lock_alone(t, t->rank ? 1 : 100);
    if (!why && !t->rank && !*first) why = "others are writing it";
    if (*first && ftruncate(t->fd, 0) != 0) why = strerror(errno);
    if (!why && flock(t->fd, LOCK_SH) != 0) why = strerror(errno);
    if (!why) return WICK_OK;
    close(t->fd);
    t->fd = -1;
    return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot be shared by ranks: %s", path, why);
}

/* Rank 0 writes the end when all others have ended; false: they have not in 3 s. */
static bool others_ended(const timeline *t) { return !t->ranks || (t->rank == 0 && lock_alone(t, 300)); }

wick_status timeline_open(timeline *t, const char *path, size_t limit, uint64_t zero, const wick_allocator *alloc,
                          wick_msg *msg) {
    t->fd = -1;
    t->alloc = alloc;
    t->limit = limit;
    if (!path) return WICK_OK;
    const size_t length = strlen(path);
    t->page = length > 5 && strcmp(path + length - 5, ".html") == 0;
    t->chrome = t->page || (length > 5 && strcmp(path + length - 5, ".json") == 0);
    t->otlp = length > 11 && strcmp(path + length - 11, ".otlp.jsonl") == 0;
    WICK_TRY(profile_may_replace(path, msg));
    const int how = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | (t->ranks ? O_APPEND : O_TRUNC);
    t->fd = open(path, how, 0644);
    if (t->fd < 0) return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    bool begun, first = true;
    if (t->ranks) WICK_TRY(share(t, path, &first, msg));
    if (t->otlp) {
        begun = otlp_begin(t, zero);
    } else if (t->chrome) {
        char line[256], name[32];
        wick_str s = wick_str_on(line, sizeof line);
        process_name(t, name);
        wick_str_add(&s, "%s%d,\"args\":{\"name\":\"%s\"}},\n", first ? chrome_head : chrome_head + strlen("[\n"),
                     process_of(t), name);
        begun = true;
        for (int i = 0; t->page && first && i < TIMELINE_PAGE_PARTS && begun; i++) {
            const size_t n = strlen(timeline_page[i]);
            begun = room_for(t, n);
            if (begun) add(t, timeline_page[i], n);
        }
        begun = begun && write_line(t, &s);
    } else
        begun = describe_process(t);
    timeline_flush(t);
    if (begun && !t->error) return WICK_OK;
    const int error = timeline_close(t);
    return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot write: %s", path, error ? strerror(error) : "timeline_bytes");
}

int timeline_close(timeline *t) {
    static const char end[] = "{}]\n</script>\n"; /* behind a comma; the tag ends a page's data */
    const size_t length = t->page ? sizeof end - 1 : strlen("{}]\n");
    if (t->fd < 0) return t->error;
    if (t->otlp) (void)otlp_end_line(t);
    timeline_flush(t);
    if (others_ended(t) && t->chrome) {
        t->limit += length;
        if (room_for(t, length)) add(t, end, length);
        timeline_flush(t);
    }
    if (close(t->fd) != 0 && !t->error) t->error = errno;
    t->fd = -1;
    for (timeline_names *n = t->names, *next; n; n = next) {
        next = n->next;
        wick_release(t->alloc, n->known, n->cap * sizeof *n->known);
        wick_release(t->alloc, n, sizeof *n);
    }
    t->names = NULL;
    return t->error;
}
