/* proto_tree.h: a protocol buffer as a tree that can be changed and written again: lengths fit by construction. Which
 * delimited fields are messages is read from the reader's own tables (io/onnx/schema.h). */
#ifndef WICK_TESTS_FUZZ_PROTO_TREE_H
#define WICK_TESTS_FUZZ_PROTO_TREE_H

#include "fuzz.h"
#include "io/onnx/onnx.h"

typedef struct tree_message tree_message;
typedef struct tree_field {
    uint32_t number;
    uint8_t wire;
    const wick_proto_field *field; /* NULL: the reader doesn't know it */
    uint64_t value;                /* VARINT, FIXED64, FIXED32 */
    const uint8_t *data;           /* DELIMITED, and no message */
    size_t size;
    tree_message *message;
} tree_field;
struct tree_message {
    const wick_proto_message *type;
    tree_field *at;
    size_t n, cap;
};
enum { TREE_VARINT = 0, TREE_FIXED64 = 1, TREE_DELIMITED = 2, TREE_FIXED32 = 5 };

/* What does not parse as its type stays bytes. NULL: the whole doesn't. */
tree_message *tree_read(wick_arena *arena, const wick_proto_message *type, const uint8_t *data, size_t size);
/* packed: repeated numbers are written together. */
void tree_write(const tree_message *m, bool packed, fuzz_buffer *out);

/* The i-th field of that number; NULL: there is none. */
tree_field *tree_get(tree_message *m, uint32_t number, size_t i);
/* at: place; m->n and beyond: the end */
tree_field *tree_add(wick_arena *arena, tree_message *m, size_t at, tree_field f);
void tree_remove(tree_message *m, size_t i);
tree_field tree_int(const tree_message *m, uint32_t number, int64_t value);
tree_field tree_bytes(wick_arena *arena, const tree_message *m, uint32_t number, const void *data, size_t n);
tree_field tree_empty(wick_arena *arena, const tree_message *m, uint32_t number); /* a message without fields */
tree_message *tree_copy(wick_arena *arena, const tree_message *m);

/* Every field of the tree, each with the message that it lies in. */
typedef struct tree_place {
    tree_message *in;
    size_t i;
} tree_place;
typedef struct tree_places {
    tree_place *at;
    size_t n, cap;
} tree_places;
void tree_list(wick_arena *arena, tree_message *m, tree_places *out);

#endif
