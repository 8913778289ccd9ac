/* proto_tree.c: see proto_tree.h. Recursion ends at DEEPEST: what lies deeper stays bytes. */
#include "proto_tree.h"

enum { DEEPEST = 40 };

static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
    *out = 0;
    for (int shift = 0; shift < 70 && *at < end; shift += 7) {
        const uint8_t b = *(*at)++;
        if (shift < 64) *out |= (uint64_t)(b & 127) << shift;
        if (!(b & 128)) return true;
    }
    return false;
}

static const wick_proto_field *known(const wick_proto_message *m, uint32_t number) {
    for (int i = 0; i < m->n; i++)
        if (m->fields[i].number == number) return &m->fields[i];
    return NULL;
}

tree_field *tree_add(wick_arena *arena, tree_message *m, size_t at, tree_field f) {
    if (m->n == m->cap) {
        m->cap = 2 * m->cap + 4;
        tree_field *more = wick_arena_alloc(arena, m->cap * sizeof *more);
        if (!more) abort();
        if (m->n) memcpy(more, m->at, m->n * sizeof *more);
        m->at = more;
    }
    at = WICK_MIN(at, m->n);
    memmove(m->at + at + 1, m->at + at, (m->n - at) * sizeof f);
    m->at[at] = f;
    m->n++;
    return &m->at[at];
}
void tree_remove(tree_message *m, size_t i) {
    memmove(m->at + i, m->at + i + 1, (m->n - i - 1) * sizeof *m->at);
    m->n--;
}

static tree_message *read_message(wick_arena *arena, const wick_proto_message *type, const uint8_t *at, size_t size,
                                  int depth) {
    const uint8_t *end = at + size;
    tree_message *m = wick_arena_zalloc(arena, sizeof *m);
    if (!m) abort();
    m->type = type;
    while (at < end) {
        uint64_t key;
        if (!varint(&at, end, &key) || !(key >> 3) || key >> 3 > 536870911) return NULL;
        tree_field f = {.number = (uint32_t)(key >> 3), .wire = key & 7, .field = known(type, (uint32_t)(key >> 3))};
        if (f.wire == TREE_VARINT) {
            if (!varint(&at, end, &f.value)) return NULL;
        } else if (f.wire == TREE_FIXED64 || f.wire == TREE_FIXED32) {
            const size_t n = f.wire == TREE_FIXED64 ? 8 : 4;
            if ((size_t)(end - at) < n) return NULL;
            memcpy(&f.value, at, n);
            at += n;
        } else if (f.wire == TREE_DELIMITED) {
            uint64_t n;
            if (!varint(&at, end, &n) || n > (size_t)(end - at)) return NULL;
            f.data = at, f.size = n, at += n;
            if (f.field && f.field->kind == WICK_PROTO_MESSAGE && depth < DEEPEST)
                f.message = read_message(arena, f.field->message, f.data, f.size, depth + 1);
            /* packed: one by one, so that each can be changed */
            if (f.field && f.field->repeated && f.field->kind <= WICK_PROTO_DOUBLE) {
                const uint8_t *one = f.data, *last = f.data + f.size;
                tree_field g = {.number = f.number, .field = f.field};
                bool good = true;
                while (one < last && good) {
                    const size_t n_bytes = f.field->kind == WICK_PROTO_FLOAT ? 4 : 8;
                    if (f.field->kind == WICK_PROTO_INT) good = varint(&one, last, &g.value), g.wire = TREE_VARINT;
                    else if ((good = (size_t)(last - one) >= n_bytes)) {
                        g.value = 0;
                        memcpy(&g.value, one, n_bytes);
                        one += n_bytes, g.wire = n_bytes == 4 ? TREE_FIXED32 : TREE_FIXED64;
                    }
                    if (good) tree_add(arena, m, m->n, g);
                }
                if (good) continue;
            }
        } else return NULL;
        tree_add(arena, m, m->n, f);
    }
    return m;
}
tree_message *tree_read(wick_arena *arena, const wick_proto_message *type, const uint8_t *data, size_t size) {
    return read_message(arena, type, data, size, 0);
}

static size_t varint_size(uint64_t v) {
    size_t n = 1;
    while (v > 127) v >>= 7, n++;
    return n;
}
static void put_varint(fuzz_buffer *b, uint64_t v) {
    for (; v > 127; v >>= 7) fuzz_put(b, &(uint8_t){(uint8_t)(v | 128)}, 1);
    fuzz_put(b, &(uint8_t){(uint8_t)v}, 1);
}
static size_t scalar_size(const tree_field *f) {
    return f->wire == TREE_VARINT ? varint_size(f->value) : f->wire == TREE_FIXED64 ? 8 : 4;
}
static void put_scalar(fuzz_buffer *b, const tree_field *f) {
    if (f->wire == TREE_VARINT) put_varint(b, f->value);
    else fuzz_put(b, &f->value, f->wire == TREE_FIXED64 ? 8 : 4);
}
/* How many fields from i on are written as one. */
static size_t run_of(const tree_message *m, size_t i, bool packed) {
    size_t n = 1;
    const tree_field *f = &m->at[i];
    if (!packed || f->wire == TREE_DELIMITED || !f->field || !f->field->repeated) return 1;
    while (i + n < m->n && m->at[i + n].number == f->number && m->at[i + n].wire == f->wire) n++;
    return n;
}

static size_t message_size(const tree_message *m, bool packed) {
    size_t total = 0;
    for (size_t i = 0, n; i < m->n; i += n) {
        const tree_field *f = &m->at[i];
        n = run_of(m, i, packed);
        size_t inside = 0;
        if (f->message) inside = message_size(f->message, packed);
        else if (f->wire == TREE_DELIMITED) inside = f->size;
        else
            for (size_t k = 0; k < n; k++) inside += scalar_size(&m->at[i + k]);
        total += varint_size((uint64_t)f->number << 3) + inside +
                 (f->wire == TREE_DELIMITED || n > 1 ? varint_size(inside) : 0);
    }
    return total;
}
void tree_write(const tree_message *m, bool packed, fuzz_buffer *out) {
    for (size_t i = 0, n; i < m->n && !out->full; i += n) {
        const tree_field *f = &m->at[i];
        n = run_of(m, i, packed);
        put_varint(out, (uint64_t)f->number << 3 | (n > 1 ? TREE_DELIMITED : f->wire));
        if (f->message) {
            put_varint(out, message_size(f->message, packed));
            tree_write(f->message, packed, out);
        } else if (f->wire == TREE_DELIMITED) {
            put_varint(out, f->size);
            fuzz_put(out, f->data, f->size);
        } else {
            size_t inside = 0;
            for (size_t k = 0; k < n; k++) inside += scalar_size(&m->at[i + k]);
            if (n > 1) put_varint(out, inside);
            for (size_t k = 0; k < n; k++) put_scalar(out, &m->at[i + k]);
        }
    }
}

tree_field *tree_get(tree_message *m, uint32_t number, size_t i) {
    for (size_t k = 0; k < m->n; k++)
        if (m->at[k].number == number && !i--) return &m->at[k];
    return NULL;
}
tree_field tree_int(const tree_message *m, uint32_t number, int64_t value) {
    return (tree_field){
        .number = number, .wire = TREE_VARINT, .field = known(m->type, number), .value = (uint64_t)value};
}
tree_field tree_bytes(wick_arena *arena, const tree_message *m, uint32_t number, const void *data, size_t n) {
    uint8_t *copy = wick_arena_alloc(arena, n + 1);
    if (!copy) abort();
    if (n) memcpy(copy, data, n);
    return (tree_field){
        .number = number, .wire = TREE_DELIMITED, .field = known(m->type, number), .data = copy, .size = n};
}
tree_field tree_empty(wick_arena *arena, const tree_message *m, uint32_t number) {
    tree_field f = tree_bytes(arena, m, number, "", 0);
    f.message = wick_arena_zalloc(arena, sizeof *f.message);
    if (!f.message) abort();
    f.message->type = f.field->message;
    return f;
}
tree_message *tree_copy(wick_arena *arena, const tree_message *m) {
    tree_message *c = wick_arena_zalloc(arena, sizeof *c);
    if (!c) abort();
    c->type = m->type;
    for (size_t i = 0; i < m->n; i++) {
        tree_field f = m->at[i];
        if (f.message) f.message = tree_copy(arena, f.message);
        tree_add(arena, c, c->n, f);
    }
    return c;
}

void tree_list(wick_arena *arena, tree_message *m, tree_places *out) {
    for (size_t i = 0; i < m->n; i++) {
        if (out->n == out->cap) {
            tree_place *more = wick_arena_alloc(arena, (out->cap = 2 * out->cap + 64) * sizeof *more);
            if (!more) abort();
            if (out->n) memcpy(more, out->at, out->n * sizeof *more);
            out->at = more;
        }
        out->at[out->n++] = (tree_place){m, i};
        if (m->at[i].message) tree_list(arena, m->at[i].message, out);
    }
}
