/* proto.c: the reader of protocol buffers. A list of messages is worked off from its front; decoding one appends those
 * inside it, so that depth is a number in the list and not on the stack. A message is passed over twice: to count its
 * repeated fields, and to fill the arrays. */
#include "io/onnx/proto.h"

enum { MAX_FIELDS = 32, VARINT = 0, FIXED64 = 1, DELIMITED = 2, FIXED32 = 5 };

typedef struct entry {
    const wick_proto_message *message;
    void *out;
    const uint8_t *at, *end;
    size_t parent; /* index of the entry it is in */
    int depth;
    uint32_t field; /* of the parent's table */
    size_t index;   /* among the values of that field */
} entry;

typedef struct decoder {
    const uint8_t *input;
    wick_arena *arena;
    size_t memory_max;
    int depth_max;
    entry *list;
    size_t n, cap;
    wick_watch *watch;
    wick_msg *msg;
} decoder;

/* One field as it lies in the input. */
typedef struct item {
    uint32_t number;
    int wire;
    uint64_t value;      /* VARINT, FIXED64, FIXED32 */
    const uint8_t *data; /* DELIMITED, of `value` bytes */
} item;

/* "graph.node[3].attribute (byte 17): " goes before the text of a failure. */
static wick_status fail(const decoder *d, const entry *e, const char *field, const uint8_t *at, wick_status status,
                        const char *what) {
    char path[256];
    const entry *up[100];
    int n = 0;
    for (const entry *p = e; p->parent != SIZE_MAX && n < (int)WICK_COUNTOF(up); p = &d->list[p->parent]) up[n++] = p;
    wick_str s = wick_str_on(path, sizeof path);
    while (n--) {
        const wick_proto_field *f = &d->list[up[n]->parent].message->fields[up[n]->field];
        wick_str_add(&s, f->repeated ? "%s[%zu]." : "%s.", f->name, up[n]->index);
    }
    if (field) wick_str_add(&s, "%s", field);
    else if (s.len) path[--s.len] = 0;
    return wick_msg_set(d->msg, status, "%s%s(byte %zu): %s", path, s.len ? " " : "", (size_t)(at - d->input), what);
}

/* The varint at *at, at most ten bytes; false: it ends early, or does not fit 64 bits. */
static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
    uint64_t v = 0;
    for (int shift = 0; shift < 70 && *at < end; shift += 7) {
        const uint8_t b = *(*at)++;
        if (shift == 63 && b > 1) return false;
        v |= (uint64_t)(b & 127) << shift;
        if (!(b & 128)) return *out = v, true;
    }
    return false;
}

static uint64_t little(const uint8_t *at, int bytes) {
    uint64_t v = 0;
    while (bytes--) v = v << 8 | at[bytes];
    return v;
}

/* The next field of e from *at on. */
static wick_status next(const decoder *d, const entry *e, const uint8_t **at, item *it) {
    const uint8_t *begin = *at;
    if (!wick_watch_spend(d->watch, 8))
        return fail(d, e, NULL, begin, d->watch->over,
                    d->watch->over == WICK_ERR_CANCELLED ? "cancelled by the host"
                                                         : "reading takes longer than the limit of time");
    uint64_t key;
    if (!varint(at, e->end, &key))
        return fail(d, e, NULL, begin, WICK_ERR_FORMAT, "a field's number is cut off or too long");
    if (key >> 3 == 0 || key >> 3 > 536870911)
        return fail(d, e, NULL, begin, WICK_ERR_FORMAT, "a field's number is out of range");
    it->number = (uint32_t)(key >> 3);
    it->wire = key & 7;
    const size_t left = (size_t)(e->end - *at);
    if (it->wire == VARINT) {
        if (!varint(at, e->end, &it->value))
            return fail(d, e, NULL, begin, WICK_ERR_FORMAT, "a number is cut off or too long");
        return WICK_OK;
    }
    if (it->wire == FIXED64 || it->wire == FIXED32) {
        const size_t bytes = it->wire == FIXED64 ? 8 : 4;
        if (left < bytes) return fail(d, e, NULL, begin, WICK_ERR_FORMAT, "a number is cut off");
        it->value = little(*at, (int)bytes);
        *at += bytes;
        return WICK_OK;
    }
    if (it->wire != DELIMITED)
        return fail(d, e, NULL, begin, WICK_ERR_FORMAT,
                    "a field of a wire type that does not exist: not a model, or damaged");
    if (!varint(at, e->end, &it->value))
        return fail(d, e, NULL, begin, WICK_ERR_FORMAT, "a length is cut off or too long");
    if (it->value > (size_t)(e->end - *at))
        return fail(d, e, NULL, begin, WICK_ERR_FORMAT,
                    "a length goes beyond the end of what it is in: cut off, or damaged");
    it->data = *at;
    *at += it->value;
    return WICK_OK;
}

static int find(const wick_proto_message *m, uint32_t number) {
    for (int i = 0; i < m->n; i++)
        if (m->fields[i].number == number) return i;
    return -1;
}

static int wire_of(uint8_t kind) {
    static const int wires[] = {VARINT, FIXED32, FIXED64, DELIMITED, DELIMITED};
    return wires[kind];
}

/* Values of one field in it: several where a repeated number is packed. false: its wire type is not that of the table.
 */
static bool count_values(const decoder *d, const wick_proto_field *f, const item *it, size_t *n) {
    if (it->wire == wire_of(f->kind)) return *n = 1, true;
    if (!f->repeated || it->wire != DELIMITED) return false;
    *n = 0;
    wick_watch_spend(d->watch, it->value); /* the next field looks */
    if (f->kind == WICK_PROTO_INT)
        for (uint64_t i = 0; i < it->value; i++) *n += !(it->data[i] & 128);
    else *n = it->value / (f->kind == WICK_PROTO_FLOAT ? 4 : 8);
    return true;
}

static bool fits(const decoder *d, size_t n, size_t size) {
    size_t bytes;
    return !wick_mul_overflows(n, size, &bytes) && bytes <= d->memory_max && d->arena->bytes <= d->memory_max - bytes;
}
/* Room for n more structs; NULL: beyond the limit or out of memory. */
static void *take(const decoder *d, size_t n, size_t size) {
    return fits(d, n, size) ? wick_arena_zalloc(d->arena, n * size) : NULL;
}

static wick_status no_room(const decoder *d, const entry *e, const uint8_t *at, bool fits) {
    char text[96];
    wick_str s = wick_str_on(text, sizeof text);
    if (fits) return fail(d, e, NULL, at, WICK_ERR_NOMEM, "out of memory");
    wick_str_add(&s, "needs more memory than the limit of %zu bytes (--max-memory)", d->memory_max);
    return fail(d, e, NULL, at, WICK_ERR_UNSUPPORTED, text);
}

static wick_status append(decoder *d, size_t parent, int field, size_t index, const item *it, void *out) {
    const entry *p = &d->list[parent];
    const wick_proto_field *f = &p->message->fields[field];
    if (p->depth + 1 > d->depth_max)
        return fail(d, p, f->name, it->data, WICK_ERR_UNSUPPORTED,
                    "messages lie within each other deeper than the limit");
    const entry e = {f->message, out, it->data, it->data + it->value, parent, p->depth + 1, (uint32_t)field, index};
    const bool small = d->n < d->memory_max / sizeof e;
    if (!small || !wick_grow(d->arena->alloc, (void **)&d->list, &d->cap, d->n + 1, sizeof e))
        return no_room(d, &d->list[parent], it->data, small);
    d->list[d->n++] = e;
    return WICK_OK;
}

static void put(uint8_t kind, char *to, const item *it) {
    if (kind == WICK_PROTO_INT) memcpy(to, &it->value, 8);
    if (kind == WICK_PROTO_DOUBLE) memcpy(to, &it->value, 8);
    if (kind == WICK_PROTO_FLOAT) memcpy(to, &(uint32_t){(uint32_t)it->value}, 4);
    if (kind == WICK_PROTO_BYTES) memcpy(to, &(wick_bytes){(const char *)it->data, it->value}, sizeof(wick_bytes));
}

/* The values of a packed field, after *n others. */
static wick_status unpack(const decoder *d, const entry *e, const wick_proto_field *f, const item *it, char *array,
                          size_t *n) {
    const uint8_t *at = it->data, *end = at + it->value;
    const int bytes = f->kind == WICK_PROTO_FLOAT ? 4 : 8;
    while (at < end) {
        item one = {0};
        if (f->kind == WICK_PROTO_INT ? !varint(&at, end, &one.value) : (size_t)(end - at) < (size_t)bytes)
            return fail(d, e, f->name, at, WICK_ERR_FORMAT, "a number among others is cut off or too long");
        if (f->kind != WICK_PROTO_INT) one.value = little(at, bytes), at += bytes;
        put(f->kind, array + (*n)++ * (size_t)bytes, &one);
    }
    return WICK_OK;
}

static size_t size_of(const wick_proto_field *f) {
    static const size_t sizes[] = {8, 4, 8, sizeof(wick_bytes)};
    return f->kind == WICK_PROTO_MESSAGE ? f->message->size : sizes[f->kind];
}

static wick_status decode_message(decoder *d, size_t index) {
    const entry e = d->list[index];
    const wick_proto_message *m = e.message;
    size_t counts[MAX_FIELDS] = {0};
    char *arrays[MAX_FIELDS] = {0}, *out = e.out;
    wick_proto_head head = {(size_t)(e.at - d->input), 0};
    item it = {0};
    for (const uint8_t *at = e.at; at < e.end;) {
        const uint8_t *begin = at;
        size_t n;
        WICK_TRY(next(d, &e, &at, &it));
        const int k = find(m, it.number);
        if (k < 0) continue;
        if (!count_values(d, &m->fields[k], &it, &n))
            return fail(d, &e, m->fields[k].name, begin, WICK_ERR_FORMAT, "has the wrong wire type");
        if (!m->fields[k].repeated && head.has >> k & 1)
            return fail(d, &e, m->fields[k].name, begin, WICK_ERR_FORMAT, "is there twice");
        counts[k] += n;
        head.has |= 1u << k;
    }
    for (int k = 0; k < m->n; k++) {
        const wick_proto_field *f = &m->fields[k];
        /* never NULL */
        if (!f->repeated && f->kind == WICK_PROTO_BYTES)
            memcpy(out + f->offset, &(wick_bytes){"", 0}, sizeof(wick_bytes));
        if (!counts[k] || (!f->repeated && f->kind != WICK_PROTO_MESSAGE)) continue;
        arrays[k] = take(d, counts[k], size_of(f));
        if (!arrays[k]) return no_room(d, &e, e.at, fits(d, counts[k], size_of(f)));
        memcpy(out + f->offset, &arrays[k], sizeof arrays[k]);
        if (f->repeated) memcpy(out + f->offset + sizeof(void *), &counts[k], sizeof counts[k]);
        counts[k] = 0;
    }
    memcpy(out, &head, sizeof head);
    for (const uint8_t *at = e.at; at < e.end;) {
        WICK_TRY(next(d, &e, &at, &it));
        const int k = find(m, it.number);
        if (k < 0) continue;
        const wick_proto_field *f = &m->fields[k];
        if (f->kind == WICK_PROTO_MESSAGE) {
            WICK_TRY(append(d, index, k, counts[k], &it, arrays[k] + counts[k] * f->message->size));
            counts[k]++;
        } else if (!f->repeated) put(f->kind, out + f->offset, &it);
        else if (it.wire == wire_of(f->kind)) put(f->kind, arrays[k] + counts[k]++ * size_of(f), &it);
        else WICK_TRY(unpack(d, &e, f, &it, arrays[k], &counts[k]));
    }
    return WICK_OK;
}

wick_status wick_proto_decode(const wick_proto_message *message, const void *input, size_t size,
                              const wick_proto_limits *limits, wick_arena *arena, void *out, wick_msg *msg) {
    const wick_proto_limits none = {0};
    if (!limits) limits = &none;
    decoder d = {.input = input,
                 .arena = arena,
                 .memory_max = limits->memory ? limits->memory : (size_t)1 << 30,
                 .depth_max = limits->depth ? limits->depth : 100,
                 .watch = limits->watch,
                 .msg = msg};
    memset(out, 0, message->size);
    if (!wick_grow(arena->alloc, (void **)&d.list, &d.cap, 1, sizeof *d.list))
        return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory");
    d.list[d.n++] = (entry){message, out, d.input, d.input + size, SIZE_MAX, 0, 0, 0};
    wick_status status = WICK_OK;
    for (size_t i = 0; i < d.n && status == WICK_OK; i++) status = decode_message(&d, i);
    wick_release(arena->alloc, d.list, d.cap * sizeof *d.list);
    return status;
}
