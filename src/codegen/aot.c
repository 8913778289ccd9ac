/* aot.c: what a file of C is made of: constants, functions, the call of each, and what they need above them. How a kernel is printed is in aot_kernels.c. */
#include "codegen/aot_print.h"

#include <ctype.h>

#include "codegen/math_c.h"

wick_status wick_c_refuse(wick_c_printer *p, const wick_step *s, const char *why) {
    const wick_node *node = s->node;
    return wick_msg_set(p->msg, WICK_ERR_UNSUPPORTED, "%s: %s%s%s cannot be written as C: %s", p->m->name, node->op->name, node->site ? " at " : "", node->site ? node->site : "", why);
}

/* ---- constants ----------------------------------------------------------------------------------------------------------------------------- */

int wick_c_constant(wick_c_printer *p, wick_dtype dtype, const void *data, int64_t count) {
    const size_t elem = wick_dtype_size(dtype), bytes = (size_t)count * elem;
    for (size_t i = 0; i < p->n_constants; i++) {
        const wick_c_constant_array *c = &p->constants[i];
        if (c->dtype == dtype && c->count == count && memcmp(c->data, data, bytes) == 0) return (int)i;
    }
    void *all = p->constants, *copy = wick_arena_alloc(&p->arena, bytes + 1);
    if (!copy || !wick_grow(NULL, &all, &p->cap_constants, p->n_constants + 1, sizeof *p->constants)) {
        p->functions.failed = true;
        return 0;
    }
    memcpy(copy, data, bytes);
    p->constants = all;
    p->constants[p->n_constants] = (wick_c_constant_array){dtype, count, copy, p->const_bytes};
    p->const_bytes += WICK_ALIGN_UP(bytes, 16);
    return (int)p->n_constants++;
}

static void print_value(wick_text *out, wick_dtype dtype, const void *data, int64_t i) {
    const wick_ctype type = wick_ctype_of(dtype);
    if (dtype == WICK_F32) {
        wick_c_number(out, type, (double)((const float *)data)[i]);
    } else if (dtype == WICK_F64) {
        wick_c_number(out, type, ((const double *)data)[i]);
    } else {
        const size_t bits = 8 * wick_dtype_size(dtype);
        const uint64_t raw = wick_element_get(dtype, data, i);
        const bool is_signed = dtype == WICK_I8 || dtype == WICK_I16 || dtype == WICK_I32 || dtype == WICK_I64;
        const int64_t value = (int64_t)(raw << (64 - bits)) >> (64 - bits);
        if (!is_signed)
            wick_text_add(out, bits == 64 ? "UINT64_C(%llu)" : bits == 32 ? "%lluu" : "%llu", (unsigned long long)raw);
        else if (bits == 64)
            wick_text_add(out, value == INT64_MIN ? "INT64_MIN" : "INT64_C(%lld)", (long long)value);
        else
            wick_text_add(out, bits == 32 && value == INT32_MIN ? "INT32_MIN" : "%lld", (long long)value);
    }
}

static void print_constants(wick_c_printer *p, wick_text *out) {
    for (size_t i = 0; i < p->n_constants; i++) {
        const wick_c_constant_array *c = &p->constants[i];
        wick_text_add(out, "static const %s w%zu[%lld] = {", wick_c_memory(c->dtype), i, (long long)WICK_MAX(c->count, 1));
        for (int64_t k = 0; k < c->count; k++) {
            wick_text_add(out, k % 8 ? ", " : k ? ",\n    " : "\n    ");
            print_value(out, c->dtype, c->data, k);
        }
        wick_text_add(out, c->count ? "};\n" : "0};\n");
    }
}

static void write_constants(wick_c_printer *p, wick_text *out) {
    static const char zeros[16] = {0};
    for (size_t i = 0; i < p->n_constants; i++) {
        const size_t bytes = (size_t)p->constants[i].count * wick_dtype_size(p->constants[i].dtype);
        wick_text_bytes(out, p->constants[i].data, bytes);
        wick_text_bytes(out, zeros, WICK_ALIGN_UP(bytes, 16) - bytes);
    }
}

void wick_c_constant_at(wick_c_printer *p, int number, int64_t offset) {
    wick_text *call = &p->calls;
    const wick_c_constant_array *c = &p->constants[number];
    if (!p->n_constants) return; /* out of memory */
    if (p->m->weights_apart)
        wick_text_add(call, "(const %s *)(const void *)(bytes + %zu)", wick_c_memory(c->dtype), c->at);
    else
        wick_text_add(call, "w%d", number);
    if (offset) wick_text_add(call, " + %lld", (long long)offset);
}

/* ---- where operands are ---------------------------------------------------------------------------------------------------------------------- */

bool wick_c_is_data(const wick_c_printer *p, const wick_ref *ref) { return p->m->buffers[ref->buffer].place == WICK_C_DATA; }

const void *wick_c_data(const wick_c_printer *p, const wick_ref *ref) { return (const char *)p->m->buffers[ref->buffer].data + ref->offset; }

void wick_c_argument(wick_c_printer *p, const wick_ref *ref, wick_dtype dtype) {
    const wick_c_buffer *b = &p->m->buffers[ref->buffer];
    const int64_t elem = (int64_t)wick_dtype_size(dtype), offset = ref->offset / elem;
    const char *type = wick_c_memory(dtype);
    switch (b->place) {
    case WICK_C_ARENA:
        wick_text_add(&p->calls, "(%s *)(void *)(arena + %lld)", type, (long long)b->offset + (long long)ref->offset);
        return;
    case WICK_C_INPUT:
    case WICK_C_OUTPUT: {
        const bool in = b->place == WICK_C_INPUT;
        const wick_c_port *port = in ? &p->m->in[b->index] : &p->m->out[b->index];
        if (port->type.dtype != dtype) wick_text_add(&p->calls, "(%s%s *)(%svoid *)", in ? "const " : "", type, in ? "const " : ""); /* seen as bits of another type */
        wick_text_add(&p->calls, "%s", port->name);
        if (offset) wick_text_add(&p->calls, " + %lld", (long long)offset);
        return;
    }
    case WICK_C_DATA:
        wick_c_constant_at(p, wick_c_constant(p, dtype, b->data, (int64_t)b->size / elem), offset);
        return;
    case WICK_C_NOWHERE:
        p->broken = true;
        return;
    }
}

/* ---- functions -------------------------------------------------------------------------------------------------------------------------------- */

void wick_c_function(wick_c_printer *p, const char *kind, wick_text *text) {
    p->functions.failed = p->functions.failed || text->failed;
    int number = -1;
    for (size_t i = 0; i < p->n_seen && !text->failed; i++)
        if (strcmp(p->seen[i].kind, kind) == 0 && strcmp(p->seen[i].text, text->at) == 0) number = (int)i;
    void *seen = p->seen;
    char *copy = number < 0 && !text->failed ? wick_arena_strdup(&p->arena, text->at) : NULL;
    if (number < 0 && (!copy || !wick_grow(NULL, &seen, &p->cap_seen, p->n_seen + 1, sizeof *p->seen))) {
        p->functions.failed = true;
    } else if (number < 0) {
        p->seen = seen;
        number = (int)p->n_seen++;
        p->seen[number] = (wick_c_seen){kind, copy};
        wick_text_add(&p->functions, "\nstatic void %s_%d%s", kind, number, text->at);
    }
    wick_text_free(text);
    wick_text_add(&p->calls, "    %s_%d(", kind, number);
}

/* Text for a comment on one line. */
static void print_comment(wick_text *out, const char *text) {
    for (; text && *text; text++) wick_text_add(out, "%c", (unsigned char)*text < ' ' || (*text == '*' && text[1] == '/') ? ' ' : *text);
}

static void print_note(wick_c_printer *p, const wick_step *s) {
    wick_text_add(&p->calls, "    /* ");
    if (s->node->n_regions) {
        const char *before = "";
        for (size_t i = 0; i < s->node->regions[0]->n; i++) {
            const wick_op *op = s->node->regions[0]->nodes[i]->op;
            if (op->flags & WICK_OP_LEAF) continue;
            wick_text_add(&p->calls, "%s%s", before, op->name);
            before = ", ";
        }
    } else {
        wick_text_add(&p->calls, "%s", s->node->op->name);
    }
    const wick_type *t = &s->node->out[0].type;
    wick_text_add(&p->calls, " -> %s[", wick_dtype_name((wick_dtype)t->dtype));
    for (int d = 0; d < t->rank; d++) wick_text_add(&p->calls, "%s%lld", d ? ", " : "", (long long)t->dims[d]);
    wick_text_add(&p->calls, "]%s", s->node->site ? ": " : "");
    print_comment(&p->calls, s->node->site);
    wick_text_add(&p->calls, " */\n");
}

static wick_status print_step(wick_c_printer *p, const wick_step *s) {
    print_note(p, s);
    switch (s->kind) {
    case WICK_STEP_COPY:
        return wick_c_print_copy(p, s);
    case WICK_STEP_PROGRAM:
        return wick_c_print_program(p, s);
    case WICK_STEP_GEMM:
        return wick_c_print_gemm(p, s);
    case WICK_STEP_CONV:
        return wick_c_print_conv(p, s);
    case WICK_STEP_MAX_POOL:
    case WICK_STEP_MEAN_POOL:
        return wick_c_print_pool(p, s);
    case WICK_STEP_SOFTMAX:
        return wick_c_print_softmax(p, s);
    case WICK_STEP_LAYER_NORM:
        return wick_c_print_layer_norm(p, s);
    case WICK_STEP_JOIN:
        return wick_c_print_join(p, s);
    case WICK_STEP_PACK:
    case WICK_STEP_PROGRAM_END:
    case WICK_STEP_MIRROR:
    case WICK_STEP_OTHER:
        break;
    }
    return wick_c_refuse(p, s, "its kernel has no printer yet");
}

/* ---- files -------------------------------------------------------------------------------------------------------------------------------------- */

static void print_upper(wick_text *out, const char *name) {
    for (; *name; name++) wick_text_add(out, "%c", toupper((unsigned char)*name));
}

static void print_signature(const wick_c_model *m, wick_text *out) {
    wick_text_add(out, "int %s_run(", m->name);
    if (m->weights_apart) wick_text_add(out, "const void *weights%s", m->n_in + m->n_out ? ", " : "");
    for (int i = 0; i < m->n_in; i++) wick_text_add(out, "%sconst %s *%s", i ? ", " : "", wick_c_memory((wick_dtype)m->in[i].type.dtype), m->in[i].name);
    for (int i = 0; i < m->n_out; i++) wick_text_add(out, "%s%s *%s", i + m->n_in ? ", " : "", wick_c_memory((wick_dtype)m->out[i].type.dtype), m->out[i].name);
    wick_text_add(out, "%s)", m->n_in || m->n_out || m->weights_apart ? "" : "void");
}

static void print_port(const wick_c_model *m, wick_text *out, const wick_c_port *port, const char *what) {
    wick_text_add(out, " * %s %s: %s[", what, port->name, wick_dtype_name((wick_dtype)port->type.dtype));
    for (int d = 0; d < port->type.rank; d++) wick_text_add(out, "%s%lld", d ? ", " : "", (long long)port->type.dims[d]);
    wick_text_add(out, "]\n");
    (void)m;
}

static void print_size(const wick_c_model *m, wick_text *out, const wick_c_port *port) {
    wick_text_add(out, "#define ");
    print_upper(out, m->name);
    wick_text_add(out, "_");
    print_upper(out, port->name);
    wick_text_add(out, "_SIZE %lld /* elements */\n", (long long)wick_type_count(&port->type));
}

static void print_header(const wick_c_printer *p, wick_text *out) {
    const wick_c_model *m = p->m;
    wick_text_add(out, "/* %s.h: ", m->name);
    print_comment(out, m->title);
    wick_text_add(out, ". Written by wick %s.\n *\n", wick_version());
    for (int i = 0; i < m->n_in; i++) print_port(m, out, &m->in[i], "in ");
    for (int i = 0; i < m->n_out; i++) print_port(m, out, &m->out[i], "out");
    wick_text_add(out, " * Row-major; an output must not overlap an input. */\n#ifndef ");
    print_upper(out, m->name);
    wick_text_add(out, "_H\n#define ");
    print_upper(out, m->name);
    wick_text_add(out, "_H\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    for (int i = 0; i < m->n_in; i++) print_size(m, out, &m->in[i]);
    for (int i = 0; i < m->n_out; i++) print_size(m, out, &m->out[i]);
    wick_text_add(out, "#define ");
    print_upper(out, m->name);
    wick_text_add(out, "_ARENA_BYTES %zu /* of RAM, static: one call at a time */\n#define ", m->arena_bytes);
    print_upper(out, m->name);
    wick_text_add(out, "_CONST_BYTES %zu /* of weights and other constants */\n\n", p->const_bytes);
    if (m->weights_apart) wick_text_add(out, "/* weights: the bytes of %s.bin, at an address that is a multiple of 16; little-endian machines only. 1: it is NULL, or at another address. */\n", m->name);
    else wick_text_add(out, "/* Always 0. */\n");
    print_signature(m, out);
    wick_text_add(out, ";\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

static void print_source(wick_c_printer *p, wick_text *out) {
    const wick_c_model *m = p->m;
    wick_text rows = {0};
    wick_c_used(&rows, &p->uses);
    wick_text_add(out, "/* %s.c: ", m->name);
    print_comment(out, m->title);
    wick_text_add(out, ". Written by wick %s.\n"
                  " * C11, and nothing but memcpy and functions of math.h. Rounding is part of the result: compile without -ffast-math and, in a compiler that contracts\n"
                  " * a * b + c by itself, with -ffp-contract=off. */\n#include \"%s.h\"\n\n#include <math.h>\n#include <string.h>\n\n",
                  wick_version(), m->name);
    wick_text_add(out, "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n#endif\n\n/* Whether a multiply-add is rounded once, as in Wick's tiers with such instructions, or twice, as in its base tier. */\n#ifndef ");
    print_upper(out, m->name);
    wick_text_add(out, "_FMA\n#define ");
    print_upper(out, m->name);
    wick_text_add(out, "_FMA %d\n#endif\n#if ", m->fused);
    print_upper(out, m->name);
    wick_text_add(out, "_FMA\n#define WICK_FMAF(a, b, c) fmaf((a), (b), (c))\n#define WICK_FMA(a, b, c) fma((a), (b), (c))\n#else\n"
                  "#define WICK_FMAF(a, b, c) ((a) * (b) + (c))\n#define WICK_FMA(a, b, c) ((a) * (b) + (c))\n#endif\n\n"
                  "/* gcc unrolls short loops before it could make vectors of them. */\n#if defined(__GNUC__) && !defined(__clang__) && (defined(__SSE__) || defined(__ARM_NEON))\n"
                  "#define KEEP _Pragma(\"GCC unroll 1\")\n#else\n#define KEEP\n#endif\n\n");
    wick_text needs = {0}; /* what names math functions */
    if (rows.at) wick_text_bytes(&needs, rows.at, rows.len);
    if (p->functions.at) wick_text_bytes(&needs, p->functions.at, p->functions.len);
    if (needs.at && !wick_c_math(out, needs.at)) out->failed = true;
    if (rows.at) wick_text_bytes(out, rows.at, rows.len);
    out->failed = out->failed || needs.failed || rows.failed || p->functions.failed || p->calls.failed;
    wick_text_free(&needs);
    wick_text_free(&rows);
    if (m->arena_bytes) wick_text_add(out, "\n/* Intermediates; what lives at different times shares bytes. */\nstatic _Alignas(16) unsigned char arena[%zu];\n\n", m->arena_bytes);
    if (!m->weights_apart) print_constants(p, out);
    if (p->functions.at) wick_text_bytes(out, p->functions.at, p->functions.len);
    wick_text_add(out, "\n");
    print_signature(m, out);
    wick_text_add(out, " {\n");
    if (m->weights_apart) {
        if (p->n_constants) wick_text_add(out, "    const unsigned char *bytes = weights;\n");
        wick_text_add(out, "    if (!weights || (uintptr_t)weights %% 16) return 1;\n");
    }
    for (int i = 0; i < m->n_in; i++) wick_text_add(out, "    (void)%s;\n", m->in[i].name);
    for (int i = 0; i < m->n_out; i++)
        if (wick_type_count(&m->out[i].type) == 0) wick_text_add(out, "    (void)%s;\n", m->out[i].name);
    if (p->calls.at) wick_text_bytes(out, p->calls.at, p->calls.len);
    wick_text_add(out, "    return 0;\n}\n");
}

wick_status wick_c_print(const wick_c_model *m, wick_c_text *out, wick_msg *msg) {
    wick_c_printer p = {.m = m, .msg = msg};
    wick_status status = WICK_OK;
    *out = (wick_c_text){0};
    wick_arena_init(&p.arena, NULL, 64 * 1024);
    for (size_t i = 0; i < m->n_steps && status == WICK_OK; i++) {
        status = print_step(&p, m->steps[i]);
        if (status == WICK_OK && p.broken) status = wick_c_refuse(&p, m->steps[i], "an operand has no place");
    }
    if (status == WICK_OK) {
        out->const_bytes = p.const_bytes;
        print_header(&p, &out->header);
        print_source(&p, &out->source);
        if (m->weights_apart) write_constants(&p, &out->weights);
        if (out->header.failed || out->source.failed || out->weights.failed) status = wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory writing C", m->name);
    }
    if (status != WICK_OK) wick_c_text_free(out);
    wick_text_free(&p.calls);
    wick_text_free(&p.functions);
    wick_release(NULL, p.constants, p.cap_constants * sizeof *p.constants);
    wick_release(NULL, p.seen, p.cap_seen * sizeof *p.seen);
    wick_arena_free(&p.arena);
    return status;
}

void wick_c_text_free(wick_c_text *t) {
    wick_text_free(&t->source);
    wick_text_free(&t->header);
    wick_text_free(&t->weights);
}
