/* programs_tier.c: the programs of programs.h as one loop each, for this tier. */
#include "kernels/elementwise/ew.h"
#include "kernels/elementwise/rows.h"
#include "kernels/fused/programs.h"

/* The rows as functions of one f32 element, and of bools. */
#pragma GCC diagnostic ignored "-Wunused-function"
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* the scalar tier vectorises nothing */
#endif
#define K(x) ((float)(x))
#define M(f) wick_##f##_f32
#define ONE_1(name, expression) \
    static inline float one_##name(float a) { return expression; }
#define ONE_2(name, expression) \
    static inline float one_##name(float a, float b) { return expression; }
#define ONE_3(name, expression) \
    static inline float one_##name(float a, float b, float c) { return expression; }
#define ONE_SAME_FLOAT(name, arity, expression) ONE_##arity(name, expression)
#define ONE_SAME_ARITH(name, arity, expression) ONE_##arity(name, expression)
#define ONE_SAME_ANY(name, arity, expression)
#define ONE_SAME_SELECT(name, arity, expression) \
    static inline float one_##name(uint8_t a, float b, float c) { return expression; }
#define ONE_PLAIN_FLOAT(name, arity, expression)
#define ONE_PLAIN_WIDE(name, arity, expression)
#define ONE_PLAIN_INTS(name, arity, expression)
#define ONE_PLAIN_BITS(name, arity, expression)
#define ONE_BOOL_FLOAT(name, arity, expression)
#define ONE_BOOL_ANY(name, arity, expression) \
    static inline uint8_t one_##name(float a, float b) { return expression; }
#define ONE_BOOL_LOGIC(name, arity, expression)
#define ONE(name, arity, types, result, expression, ...) ONE_##result##_##types(name, arity, expression)
WICK_EW_TABLE(ONE)

#undef M

/* What inputs and results are. */
#define A(r) 'A',
#define M(r) 'M',
#define S(r) 'S',
#define O(i, r) 'O',
#define B(i, r) 'B',
#define KINDS(name, n_in, inputs, instructions, outputs) \
    static const char inputs_##name[] = {inputs}, outputs_##name[] = {outputs};
WICK_PROGRAMS(KINDS)
#undef A
#undef M
#undef S
#undef O
#undef B

/* Numbers that do not vary are copied before the loop, since a result may lie over an array; so are pointers, since
 * bools may lie over anything. */
#define REG(r) WICK_PASTE(reg, r)
#define A(r) const float REG(r) = ((const float *)from[r])[i];
#define M(r) const uint8_t REG(r) = ((const uint8_t *)from[r])[i];
#define S(r) const float REG(r) = number[r];
#define I1(r, row, a) const float REG(r) = one_##row(REG(a));
#define I2(r, row, a, b) const float REG(r) = one_##row(REG(a), REG(b));
#define I3(r, row, a, b, c) const float REG(r) = one_##row(REG(a), REG(b), REG(c));
#define C2(r, row, a, b) const uint8_t REG(r) = one_##row(REG(a), REG(b));
#define O(o, r) ((float *)to[o])[i] = REG(r);
#define B(o, r) ((uint8_t *)to[o])[i] = REG(r);
#define PROGRAM(name, n_in, inputs, instructions, outputs)                                                             \
    static void program_##name(const void *const *in, void *const *out, size_t n) {                                    \
        float number[n_in];                                                                                            \
        const void *from[n_in];                                                                                        \
        void *to[sizeof outputs_##name];                                                                               \
        for (int k = 0; k < n_in; k++)                                                                                 \
            number[k] = inputs_##name[k] == 'S' ? *(const float *)in[k] : 0, from[k] = in[k];                          \
        for (size_t o = 0; o < sizeof outputs_##name; o++) to[o] = out[o];                                             \
        (void)number, (void)from; /* of programs of arrays alone */                                                    \
        WICK_IVDEP for (size_t i = 0; i < n; i++) { inputs instructions outputs }                                      \
    }
WICK_PROGRAMS(PROGRAM)

#define ENTRY(name, ...) program_##name,
const wick_program_fn WICK_TIER_SYMBOL(wick_program_table_)[] = {WICK_PROGRAMS(ENTRY)};
