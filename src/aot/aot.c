/* aot.c: what a file of C is made of: constants, functions, the call of each, and what they need above them. How a
 * kernel is printed is in products.c, convolutions.c and kernels.c. */
#include "aot/print.h"

#include <ctype.h>

#include "codegen/math_c.h"

wick_status wick_c_refuse(wick_c_printer *p, const wick_step *s, const char *why) {
    const wick_node *node = s->node;
    return wick_msg_set(p->msg, WICK_ERR_UNSUPPORTED, "%s: %s%s%s cannot be written as C: %s", p->m->name,
                        node->op->name, node->site ? " at " : "", node->site ? node->site : "", why);
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

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

static void print_array(wick_text *out, wick_dtype dtype, const void *data, int64_t count) {
    wick_text_add(out, " = {");
    for (int64_t k = 0; k < count; k++) {
        wick_text_add(out, k % 8 ? ", " : k ? ",\n    " : "\n    ");
        print_value(out, dtype, data, k);
    }
    wick_text_add(out, count ? "};\n" : "0};\n");
}

static void print_constants(wick_c_printer *p, wick_text *out) {
    for (size_t i = 0; i < p->n_constants; i++) {
        const wick_c_constant_array *c = &p->constants[i];
        wick_text_add(out, "static const %s w%zu[%lld]", wick_c_memory(c->dtype), i, (long long)WICK_MAX(c->count, 1));
        print_array(out, c->dtype, c->data, c->count);
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

/* ---- where operands are ------------------------------------------------------------------------------------------ */

bool wick_c_is_data(const wick_c_printer *p, const wick_ref *ref) {
    return p->f->buffers[ref->buffer].place == WICK_C_DATA;
}

const void *wick_c_data(const wick_c_printer *p, const wick_ref *ref) {
    return (const char *)p->f->buffers[ref->buffer].data + ref->offset;
}

void wick_c_argument(wick_c_printer *p, const wick_ref *ref, wick_dtype dtype) {
    const wick_c_buffer *b = &p->f->buffers[ref->buffer];
    const int64_t elem = (int64_t)wick_dtype_size(dtype), offset = ref->offset / elem;
    const char *type = wick_c_memory(dtype);
    switch (b->place) {
    case WICK_C_ARENA:
        wick_text_add(&p->calls, "(%s *)(void *)(arena + %lld)", type, (long long)b->offset + (long long)ref->offset);
        return;
    case WICK_C_INPUT:
    case WICK_C_OUTPUT: {
        const bool in = b->place == WICK_C_INPUT;
        const wick_c_port *port = in ? &p->f->in[b->index] : &p->f->out[b->index];
        /* seen as bits of another type */
        if (port->type.dtype != dtype)
            wick_text_add(&p->calls, "(%s%s *)(%svoid *)", in ? "const " : "", type, in ? "const " : "");
        wick_text_add(&p->calls, "%s", port->name);
        if (offset) wick_text_add(&p->calls, " + %lld", (long long)offset);
        return;
    }
    case WICK_C_STATE:
        if (p->m->states[b->index].type.dtype != dtype) wick_text_add(&p->calls, "(%s *)(void *)", type);
        wick_text_add(&p->calls, "s%u", b->index);
        if (offset) wick_text_add(&p->calls, " + %lld", (long long)offset);
        return;
    case WICK_C_DATA:
        wick_c_constant_at(p, wick_c_constant(p, dtype, b->data, (int64_t)b->size / elem), offset);
        return;
    case WICK_C_NOWHERE:
        p->broken = true;
        return;
    }
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* How a kernel is declared. */
static const char kernel_macro[] =
    "/* Kernels are compiled for all of their calls alike. Of those that are always given the same places gcc makes "
    "clones that know them, and gcc 12.2 -O2 takes some clones\n"
    " * for functions that store nothing, and drops the calls. */\n"
    "#define KERNEL static\n"
    "#if defined(__GNUC__) && !defined(__clang__)\n#undef KERNEL\n#define KERNEL static __attribute__((noinline, "
    "noclone))\n"
    "#if defined(__has_attribute)\n#if __has_attribute(noipa)\n#undef KERNEL\n#define KERNEL static "
    "__attribute__((noipa))\n#endif\n#endif\n#endif\n\n";

static void add_function(wick_c_printer *p, const char *kind, const char *type, wick_text *text, const char *before) {
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
        wick_text_add(&p->functions, "\nKERNEL %s %s_%d%s", type, kind, number, text->at);
    }
    wick_text_free(text);
    wick_text_add(&p->calls, "    %s%s_%d(", before, kind, number);
}
void wick_c_kernel(wick_c_printer *p, const char *kind, wick_text *text) { add_function(p, kind, "void", text, ""); }
void wick_c_checking_kernel(wick_c_printer *p, const char *kind, wick_text *text, wick_c_fault fault) {
    p->faults[p->f - p->m->functions] |= (unsigned char)fault;
    add_function(p, kind, "int", text, "if (");
}

/* Text for a comment on one line. ASCII alone: names come from files, and what turns the direction of text would make
 * code look like another. */
static void print_comment(wick_text *out, const char *text) {
    for (; text && *text; text++)
        wick_text_add(out, "%c", *text < ' ' || *text > '~' || (*text == '*' && text[1] == '/') ? ' ' : *text);
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
    const wick_c_step_printer *kind = wick_c_step_printer_of(s);
    if (!kind->print) return wick_c_refuse(p, s, "its kernel has no printer yet");
    if (wick_c_prints(s, p->f->buffers, p->m->isa)) print_note(p, s);
    return kind->print(p, s);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void print_upper(wick_text *out, const char *name) {
    for (; *name; name++) wick_text_add(out, "%c", toupper((unsigned char)*name));
}

/* "NET_" and more. */
static void print_define(const wick_c_model *m, wick_text *out, const char *name, size_t value, const char *what) {
    wick_text_add(out, "#define ");
    print_upper(out, m->name);
    wick_text_add(out, "_%s %zu /* %s */\n", name, value, what);
}

static void print_signature(const wick_c_model *m, const wick_c_function *f, wick_text *out) {
    wick_text_add(out, "int %s_%s(", m->name, f->verb);
    if (m->weights_apart) wick_text_add(out, "const void *weights%s", f->n_in + f->n_out ? ", " : "");
    for (int i = 0; i < f->n_in; i++)
        wick_text_add(out, "%sconst %s *%s", i ? ", " : "", wick_c_memory((wick_dtype)f->in[i].type.dtype),
                      f->in[i].name);
    for (int i = 0; i < f->n_out; i++)
        wick_text_add(out, "%s%s *%s", i + f->n_in ? ", " : "", wick_c_memory((wick_dtype)f->out[i].type.dtype),
                      f->out[i].name);
    wick_text_add(out, "%s)", f->n_in || f->n_out || m->weights_apart ? "" : "void");
}

static void print_type(wick_text *out, const wick_type *t) {
    wick_text_add(out, "%s[", wick_dtype_name((wick_dtype)t->dtype));
    for (int d = 0; d < t->rank; d++) wick_text_add(out, "%s%lld", d ? ", " : "", (long long)t->dims[d]);
    wick_text_add(out, "]");
}

static void print_port(wick_text *out, const wick_c_port *port, const char *what) {
    wick_text_add(out, " * %s %s: ", what, port->name);
    print_type(out, &port->type);
    wick_text_add(out, "\n");
}

/* NET_X_SIZE of NAME_run, NET_TRAIN_X_SIZE of others. */
static void print_size(const wick_c_model *m, const wick_c_function *f, wick_text *out, const wick_c_port *port) {
    wick_text_add(out, "#define ");
    print_upper(out, m->name);
    if (strcmp(f->verb, "run") != 0) {
        wick_text_add(out, "_");
        print_upper(out, f->verb);
    }
    wick_text_add(out, "_");
    print_upper(out, port->name);
    wick_text_add(out, "_SIZE %lld /* elements */\n", (long long)wick_type_count(&port->type));
}

/* "Always 0.", or what else comes back. */
static void print_returned(const wick_c_model *m, unsigned faults, wick_text *out) {
    if (!faults) {
        if (!m->weights_apart) wick_text_add(out, "/* Always 0. */\n");
        return;
    }
    wick_text_add(out, "/* 0");
    if (faults & WICK_C_LABEL) wick_text_add(out, "; 2: a label is no class");
    if (faults & WICK_C_INDEX) wick_text_add(out, "; 2: an index is outside its axis, or a length is none");
    if (faults & WICK_C_WEIGHT)
        wick_text_add(out, "; 2: a weight to draw by is negative, NaN or Inf, or too few are above 0");
    if (faults & WICK_C_NUMBER) wick_text_add(out, "; 3: a number that is checked, the loss, is NaN or Inf");
    wick_text_add(out, ". Then %s. */\n", m->n_states ? "nothing that stays has changed" : "the outputs hold nothing");
}

static size_t state_bytes(const wick_c_model *m) {
    size_t bytes = 0;
    for (int i = 0; i < m->n_states; i++) bytes += wick_type_bytes(&m->states[i].type);
    return bytes;
}

/* What is declared of the states. */
static void print_state_header(const wick_c_model *m, wick_text *out) {
    wick_text_add(out, "\n/* What is trained, and what the optimizer keeps beside it:\n");
    for (int k = 0; k < m->n_functions; k++)
        if (m->functions[k].random >= 0)
            wick_text_add(out, " * (%s.random: the seed of the random numbers of %s_%s, and how often it has run)\n",
                          m->functions[k].verb, m->name, m->functions[k].verb);
    for (int i = 0; i < m->n_states; i++) {
        wick_text_add(out, " *   %2d ", i);
        print_comment(out, m->states[i].name);
        wick_text_add(out, ": ");
        print_type(out, &m->states[i].type);
        wick_text_add(out, "\n");
    }
    wick_text_add(out,
                  " * They start as they were when this was written, and may be read and written between calls. */\n");
    wick_text_add(
        out, "typedef struct %s_state {\n    const char *name;\n    void *data;\n    uint32_t bytes;\n} %s_state;\n",
        m->name, m->name);
    print_define(m, out, "STATES", (size_t)m->n_states, "all of them");
    print_define(m, out, "PARAMS", (size_t)m->n_params, "of these, the first ones: the network's");
    print_define(m, out, "STATE_BYTES", state_bytes(m), "of RAM, static");
    wick_text_add(out, "extern const %s_state %s_states[%d];\n", m->name, m->name, m->n_states);
    wick_text_add(out,
                  "/* All of them, one after another, STATE_BYTES: what training goes on from. */\nvoid %s_save(void "
                  "*to);\nvoid %s_load(const void *from);\n",
                  m->name, m->name);
    if (m->rate >= 0)
        wick_text_add(out, "/* The learning rate of the next steps. */\nvoid %s_set_rate(double rate);\n", m->name);
}

static void print_header(const wick_c_printer *p, wick_text *out) {
    const wick_c_model *m = p->m;
    wick_text_add(out, "/* %s.h: ", m->name);
    print_comment(out, m->title);
    wick_text_add(out, ". Written by wick %s.\n *\n", wick_version());
    for (int k = 0; k < m->n_functions; k++) {
        const wick_c_function *f = &m->functions[k];
        if (m->n_functions > 1) wick_text_add(out, " * %s_%s:\n", m->name, f->verb);
        for (int i = 0; i < f->n_in; i++) print_port(out, &f->in[i], "in ");
        for (int i = 0; i < f->n_out; i++) print_port(out, &f->out[i], "out");
    }
    wick_text_add(out, " * Row-major; an output must not overlap an input. */\n#ifndef ");
    print_upper(out, m->name);
    wick_text_add(out, "_H\n#define ");
    print_upper(out, m->name);
    wick_text_add(out, "_H\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    for (int k = 0; k < m->n_functions; k++) {
        const wick_c_function *f = &m->functions[k];
        for (int i = 0; i < f->n_in; i++) print_size(m, f, out, &f->in[i]);
        for (int i = 0; i < f->n_out; i++) print_size(m, f, out, &f->out[i]);
    }
    print_define(m, out, "ARENA_BYTES", m->arena_bytes, "of RAM, static: one call at a time");
    print_define(m, out, "CONST_BYTES", p->const_bytes, "of weights and other constants");
    for (int k = 0; k < m->n_functions; k++) {
        const wick_c_function *f = &m->functions[k];
        wick_text_add(out, "\n");
        if (m->weights_apart)
            wick_text_add(out,
                          "/* weights: the bytes of %s.bin, at an address that is a multiple of 16; little-endian "
                          "machines only. 1: it is NULL, or at another address. */\n",
                          m->name);
        print_returned(m, p->faults[k], out);
        print_signature(m, f, out);
        wick_text_add(out, ";\n");
    }
    if (m->n_states) print_state_header(m, out);
    wick_text_add(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

static void print_states(const wick_c_model *m, wick_text *out) {
    for (int i = 0; i < m->n_states; i++) {
        const wick_c_variable *s = &m->states[i];
        const wick_dtype dtype = (wick_dtype)s->type.dtype;
        const int64_t count = wick_type_count(&s->type);
        const char *bytes = s->data;
        bool zeros = true;
        for (size_t k = 0; k < wick_type_bytes(&s->type); k++) zeros &= !bytes[k];
        wick_text_add(out, "static %s s%d[%lld]", wick_c_memory(dtype), i, (long long)WICK_MAX(count, 1));
        if (zeros)
            wick_text_add(out, "; /* "), print_comment(out, s->name), wick_text_add(out, " */\n");
        else
            print_array(out, dtype, s->data, count);
    }
    wick_text_add(out, "\nconst %s_state %s_states[%d] = {\n", m->name, m->name, m->n_states);
    for (int i = 0; i < m->n_states; i++) {
        wick_text_add(out, "    {\"");
        for (const char *c = m->states[i].name; *c; c++)
            wick_text_add(out, "%c", (unsigned char)*c < ' ' || *c == '"' || *c == '\\' || *c == '?' ? '_' : *c);
        wick_text_add(out, "\", s%d, sizeof s%d},\n", i, i);
    }
    wick_text_add(out,
                  "};\n\nvoid %s_save(void *to) {\n    unsigned char *at = to;\n    for (int i = 0; i < %d; at += "
                  "%s_states[i++].bytes) memcpy(at, %s_states[i].data, %s_states[i].bytes);\n}\n",
                  m->name, m->n_states, m->name, m->name, m->name);
    wick_text_add(out,
                  "void %s_load(const void *from) {\n    const unsigned char *at = from;\n    for (int i = 0; i < %d; "
                  "at += %s_states[i++].bytes) memcpy(%s_states[i].data, at, %s_states[i].bytes);\n}\n",
                  m->name, m->n_states, m->name, m->name, m->name);
    if (m->rate >= 0) wick_text_add(out, "void %s_set_rate(double rate) { s%d[0] = rate; }\n", m->name, m->rate);
}

/* What functions do, from the calls of their kernels. */
static void print_body(const wick_c_printer *p, const wick_c_function *f, wick_text *out, const wick_text *calls) {
    const wick_c_model *m = p->m;
    wick_text_add(out, "\n");
    print_signature(m, f, out);
    wick_text_add(out, " {\n");
    if (m->weights_apart) {
        if (p->n_constants) wick_text_add(out, "    const unsigned char *bytes = weights;\n");
        wick_text_add(out, "    if (!weights || (uintptr_t)weights %% 16) return 1;\n");
    }
    for (int i = 0; i < f->n_in; i++) wick_text_add(out, "    (void)%s;\n", f->in[i].name);
    for (int i = 0; i < f->n_out; i++)
        if (wick_type_count(&f->out[i].type) == 0) wick_text_add(out, "    (void)%s;\n", f->out[i].name);
    if (calls->at) wick_text_bytes(out, calls->at, calls->len);
    if (f->random >= 0) wick_text_add(out, "    s%d[1]++;\n", f->random);
    wick_text_add(out, "    return 0;\n}\n");
}

static void print_source(wick_c_printer *p, wick_text *out, const wick_text *bodies) {
    const wick_c_model *m = p->m;
    wick_text rows = {0};
    wick_c_used(&rows, &p->uses);
    wick_text_add(out, "/* %s.c: ", m->name);
    print_comment(out, m->title);
    wick_text_add(out,
                  ". Written by wick %s.\n"
                  " * C11, and nothing but memcpy, memset and functions of math.h. Rounding is part of the result: "
                  "compile without -ffast-math and, in a compiler that contracts\n"
                  " * a * b + c by itself, with -ffp-contract=off. */\n#include \"%s.h\"\n\n#include "
                  "<math.h>\n#include <string.h>\n\n",
                  wick_version(), m->name);
    wick_text_add(
        out, "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n#endif\n\n/* Whether a multiply-add is rounded "
             "once, as in Wick's tiers with such instructions, or twice, as in its base tier. */\n#ifndef ");
    print_upper(out, m->name);
    wick_text_add(out, "_FMA\n#define ");
    print_upper(out, m->name);
    wick_text_add(out, "_FMA %d\n#endif\n#if ", m->fused);
    print_upper(out, m->name);
    wick_text_add(
        out,
        "_FMA\n#define WICK_FMAF(a, b, c) fmaf((a), (b), (c))\n#define WICK_FMA(a, b, c) fma((a), (b), (c))\n#else\n"
        "#define WICK_FMAF(a, b, c) ((a) * (b) + (c))\n#define WICK_FMA(a, b, c) ((a) * (b) + (c))\n#endif\n\n"
        "/* gcc unrolls short loops before it could make vectors of them. */\n#if defined(__GNUC__) && "
        "!defined(__clang__) && (defined(__SSE__) || defined(__ARM_NEON))\n"
        "#define KEEP _Pragma(\"GCC unroll 1\")\n#else\n#define KEEP\n#endif\n\n");
    wick_text_add(out, "%s", kernel_macro);
    if (m->isa) {
        wick_text_add(out, "#define FUSED ");
        print_upper(out, m->name);
        wick_text_add(out, "_FMA\n");
        wick_c_print_vectors(m, out);
    }
    if (m->pairs) wick_c_print_pairs(out);
    wick_text needs = {0}; /* what names math functions */
    if (rows.at) wick_text_bytes(&needs, rows.at, rows.len);
    if (p->functions.at) wick_text_bytes(&needs, p->functions.at, p->functions.len);
    if (needs.at && !wick_c_math(out, needs.at)) out->failed = true;
    if (rows.at) wick_text_bytes(out, rows.at, rows.len);
    out->failed = out->failed || needs.failed || rows.failed || p->functions.failed;
    wick_text_free(&needs);
    wick_text_free(&rows);
    if (m->arena_bytes)
        wick_text_add(out,
                      "\n/* Intermediates; what lives at different times shares bytes. */\nstatic _Alignas(16) "
                      "unsigned char arena[%zu];\n\n",
                      m->arena_bytes);
    if (!m->weights_apart) print_constants(p, out);
    if (m->n_states) print_states(m, out);
    if (p->functions.at) wick_text_bytes(out, p->functions.at, p->functions.len);
    out->failed = out->failed || bodies->failed;
    if (bodies->at) wick_text_bytes(out, bodies->at, bodies->len);
}

wick_status wick_c_print(const wick_c_model *m, wick_c_text *out, wick_msg *msg) {
    wick_c_printer p = {.m = m, .msg = msg};
    wick_text bodies = {0};
    wick_status status = WICK_OK;
    *out = (wick_c_text){0};
    wick_arena_init(&p.arena, NULL, 64 * 1024);
    wick_arena_init(&p.step, NULL, 64 * 1024);
    p.faults = wick_arena_zalloc(&p.arena, (size_t)m->n_functions);
    if (!p.faults) status = wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory writing C", m->name);
    for (int k = 0; k < m->n_functions && status == WICK_OK; k++) {
        p.f = &m->functions[k];
        p.calls = (wick_text){0};
        for (size_t i = 0; i < p.f->n_steps && status == WICK_OK; i++) {
            status = print_step(&p, p.f->steps[i]);
            wick_arena_reset(&p.step);
            if (status == WICK_OK && p.broken) status = wick_c_refuse(&p, p.f->steps[i], "an operand has no place");
        }
        if (status == WICK_OK) print_body(&p, p.f, &bodies, &p.calls);
        bodies.failed = bodies.failed || p.calls.failed;
        wick_text_free(&p.calls);
    }
    if (status == WICK_OK) {
        out->const_bytes = p.const_bytes;
        print_header(&p, &out->header);
        print_source(&p, &out->source, &bodies);
        if (m->weights_apart) write_constants(&p, &out->weights);
        if (out->header.failed || out->source.failed || out->weights.failed)
            status = wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory writing C", m->name);
    }
    if (status != WICK_OK) wick_c_text_free(out);
    wick_text_free(&bodies);
    wick_text_free(&p.functions);
    wick_release(NULL, p.constants, p.cap_constants * sizeof *p.constants);
    wick_release(NULL, p.seen, p.cap_seen * sizeof *p.seen);
    wick_arena_free(&p.step);
    wick_arena_free(&p.arena);
    return status;
}

void wick_c_text_free(wick_c_text *t) {
    wick_text_free(&t->source);
    wick_text_free(&t->header);
    wick_text_free(&t->weights);
}
