/* ew_tier.c: every row of table.h as a block kernel of this tier, for each type the row allows.
 */
#include "kernels/elementwise/ew.h"
#include "kernels/elementwise/rows.h"

/* A row's expression is written for all its types: a != a is how it finds NaN, a < 0 means nothing to u64. */
#pragma GCC diagnostic ignored "-Wtautological-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* the scalar tier vectorises nothing */
#endif

/* EW_IF_<class>_<type>(x) is x if rows of the class exist for the type. */
#define EW_YES(...) __VA_ARGS__
#define EW_NO(...)
#define EW_IF_FLOAT_f32  EW_YES
#define EW_IF_FLOAT_f64  EW_YES
#define EW_IF_FLOAT_i32  EW_NO
#define EW_IF_FLOAT_i64  EW_NO
#define EW_IF_FLOAT_u64  EW_NO
#define EW_IF_FLOAT_b8   EW_NO
#define EW_IF_WIDE_f32   EW_YES
#define EW_IF_WIDE_f64   EW_YES
#define EW_IF_WIDE_i32   EW_NO
#define EW_IF_WIDE_i64   EW_NO
#define EW_IF_WIDE_u64   EW_NO
#define EW_IF_WIDE_b8    EW_NO
#define EW_IF_ARITH_f32  EW_YES
#define EW_IF_ARITH_f64  EW_YES
#define EW_IF_ARITH_i32  EW_YES
#define EW_IF_ARITH_i64  EW_YES
#define EW_IF_ARITH_u64  EW_YES
#define EW_IF_ARITH_b8   EW_NO
#define EW_IF_ANY_f32    EW_YES
#define EW_IF_ANY_f64    EW_YES
#define EW_IF_ANY_i32    EW_YES
#define EW_IF_ANY_i64    EW_YES
#define EW_IF_ANY_u64    EW_YES
#define EW_IF_ANY_b8     EW_YES
#define EW_IF_SELECT_f32 EW_YES
#define EW_IF_SELECT_f64 EW_YES
#define EW_IF_SELECT_i32 EW_YES
#define EW_IF_SELECT_i64 EW_YES
#define EW_IF_SELECT_u64 EW_YES
#define EW_IF_SELECT_b8  EW_YES
#define EW_IF_INTS_f32   EW_NO
#define EW_IF_INTS_f64   EW_NO
#define EW_IF_INTS_i32   EW_YES
#define EW_IF_INTS_i64   EW_YES
#define EW_IF_INTS_u64   EW_YES
#define EW_IF_INTS_b8    EW_NO
#define EW_IF_BITS_f32   EW_NO
#define EW_IF_BITS_f64   EW_NO
#define EW_IF_BITS_i32   EW_YES
#define EW_IF_BITS_i64   EW_YES
#define EW_IF_BITS_u64   EW_YES
#define EW_IF_BITS_b8    EW_YES
#define EW_IF_LOGIC_f32  EW_NO
#define EW_IF_LOGIC_f64  EW_NO
#define EW_IF_LOGIC_i32  EW_NO
#define EW_IF_LOGIC_i64  EW_NO
#define EW_IF_LOGIC_u64  EW_NO
#define EW_IF_LOGIC_b8   EW_YES

/* The type of input a: bool for where. */
#define EW_A_FLOAT(T)  T
#define EW_A_WIDE(T)   T
#define EW_A_ARITH(T)  T
#define EW_A_ANY(T)    T
#define EW_A_LOGIC(T)  T
#define EW_A_INTS(T)   T
#define EW_A_BITS(T)   T
#define EW_A_SELECT(T) uint8_t
#define EW_R_SAME(T)   T
#define EW_R_PLAIN(T)  T
#define EW_R_BOOL(T)   uint8_t

/* A function of each element, so that a row's expression can be stepped into by name. */
#define EW_CALL_1(f, i) f(va[i])
#define EW_CALL_2(f, i) f(va[i], vb[i])
#define EW_CALL_3(f, i) f(va[i], vb[i], vc[i])
#define EW_ARGS_1(A, T) A a
#define EW_ARGS_2(A, T) A a, T b
#define EW_ARGS_3(A, T) A a, T b, T c
#define EW_INPUTS_1(A, T)                                                                                              \
    const A *va = pa;                                                                                                  \
    (void)pb;                                                                                                          \
    (void)pc
#define EW_INPUTS_2(A, T)                                                                                              \
    const A *va = pa;                                                                                                  \
    const T *vb = pb;                                                                                                  \
    (void)pc
#define EW_INPUTS_3(A, T)                                                                                              \
    const A *va = pa;                                                                                                  \
    const T *vb = pb;                                                                                                  \
    const T *vc = pc

#define EW_BY_ELEMENT(name, t, T, A, R, arity, expression)                                                             \
    static inline R wick_ew_one_##name##_##t(EW_ARGS_##arity(A, T)) { return (R)(expression); }                        \
    static void wick_ew_##name##_##t(void *dst, const void *pa, const void *pb, const void *pc, size_t n) {            \
        EW_INPUTS_##arity(A, T);                                                                                       \
        R *d = dst;                                                                                                    \
        WICK_IVDEP for (size_t i = 0; i < n; i++) d[i] = EW_CALL_##arity(wick_ew_one_##name##_##t, i);                 \
    }

/* Functions of floats, which are long: whole lines of 64 bytes, so that compilers need no second, scalar form for what
 * is left. That is a line of its own, filled up with its first elements. */
#if WICK_TIER_ID > 0
static __attribute__((noinline)) void ew_rest(wick_ew_fn f, void *d, const void *a, const void *b, const void *c,
                                              size_t n, size_t elem, size_t result_elem) {
    _Alignas(64) char in[3][64], out[64];
    const void *const from[3] = {a, b, c};
    for (int k = 0; k < 3; k++) {
        if (!from[k]) continue;
        if (elem == 4) {
            uint32_t line[16];
            for (int i = 0; i < 16; i++) memcpy(line + i, from[k], 4);
            memcpy(in[k], line, sizeof line);
        } else {
            uint64_t line[8];
            for (int i = 0; i < 8; i++) memcpy(line + i, from[k], 8);
            memcpy(in[k], line, sizeof line);
        }
        memcpy(in[k], from[k], n * elem);
    }
    f(out, in[0], in[1], in[2], sizeof in[0] / elem);
    memcpy(d, out, n * result_elem);
}
#define EW_BY_LINE(name, t, T, A, R, arity, expression)                                                                \
    static inline R wick_ew_one_##name##_##t(EW_ARGS_##arity(A, T)) { return (R)(expression); }                        \
    static void wick_ew_##name##_##t(void *dst, const void *pa, const void *pb, const void *pc, size_t n) {            \
        EW_INPUTS_##arity(A, T);                                                                                       \
        R *d = dst;                                                                                                    \
        const size_t whole = n & ~(64 / sizeof(T) - 1);                                                                \
        WICK_IVDEP for (size_t i = 0; i < whole; i++) d[i] = EW_CALL_##arity(wick_ew_one_##name##_##t, i);             \
        if (whole < n)                                                                                                 \
            ew_rest(wick_ew_##name##_##t, d + whole, va + whole, arity > 1 ? (const T *)pb + whole : NULL,             \
                    arity > 2 ? (const T *)pc + whole : NULL, n - whole, sizeof(T), sizeof(R));                        \
    }
#else
#define EW_BY_LINE EW_BY_ELEMENT
#endif
#define EW_FORM_FLOAT  EW_BY_LINE
#define EW_FORM_WIDE   EW_BY_LINE
#define EW_FORM_ARITH  EW_BY_ELEMENT
#define EW_FORM_ANY    EW_BY_ELEMENT
#define EW_FORM_SELECT EW_BY_ELEMENT

/* Rows that need a remainder of floats: a chunk at a time by the form without a loop, again by the other where a
 * quotient was too large. */
#define EW_CHUNK 128
#define EW_FAR_f32 uint32_t
#define EW_FAR_f64 uint64_t
#define EW_BY_REMAINDER(name, t, T, A, R, arity, expression)                                                           \
    static void wick_ew_##name##_##t(void *dst, const void *pa, const void *pb, const void *pc, size_t n) {            \
        EW_INPUTS_2(T, T);                                                                                             \
        T *d = dst, r[EW_CHUNK];                                                                                       \
        for (size_t at = 0; at < n; at += EW_CHUNK) {                                                                  \
            const size_t m = WICK_MIN((size_t)EW_CHUNK, n - at);                                                       \
            EW_FAR_##t far = 0;                                                                                        \
            for (size_t i = 0; i < m; i++) r[i] = wick_fmod_near_##t(va[at + i], vb[at + i], &far);                    \
            for (size_t i = 0; far && i < m; i++) r[i] = wick_fmod_##t(va[at + i], vb[at + i]);                        \
            WICK_IVDEP for (size_t i = 0; i < m; i++) d[at + i] = wick_##name##_of_##t(va[at + i], vb[at + i], r[i]);  \
        }                                                                                                              \
    }
/* Rows that reduce by turns: a chunk at a time by the form without a branch, unless an argument of it is too large for
 * that. */
#define EW_BY_TURN(name, t, T, A, R, arity, expression)                                                                \
    EW_BY_LINE(name##_near, t, T, A, R, 1, wick_##name##_##t(a))                                                       \
    static void wick_ew_##name##_##t(void *dst, const void *pa, const void *pb, const void *pc, size_t n) {            \
        EW_INPUTS_1(T, T);                                                                                             \
        T *d = dst;                                                                                                    \
        for (size_t at = 0; at < n; at += EW_TURNS) {                                                                  \
            const size_t m = WICK_MIN((size_t)EW_TURNS, n - at);                                                       \
            EW_FAR_##t far = 0;                                                                                        \
            for (size_t i = 0; i < m; i++) far |= (EW_FAR_##t)(wick_abs_##t(va[at + i]) > WICK_TURN_LIMIT_##t);        \
            if (far)                                                                                                   \
                for (size_t i = 0; i < m; i++) d[at + i] = wick_##name##_any_##t(va[at + i]);                          \
            else                                                                                                       \
                wick_ew_##name##_near_##t(d + at, va + at, NULL, NULL, m);                                             \
        }                                                                                                              \
    }
#define EW_TURNS 512
/* These loop, so nothing makes vectors of them. */
#define EW_WAY_polygamma_f32    ~, EW_BY_ELEMENT
#define EW_WAY_polygamma_f64    ~, EW_BY_ELEMENT
#define EW_WAY_gamma_slope_f32  ~, EW_BY_ELEMENT
#define EW_WAY_gamma_slope_f64  ~, EW_BY_ELEMENT
#if WICK_TIER_ID > 0 /* the reference keeps to the definition */
#define EW_WAY_fmod_f32         ~, EW_BY_REMAINDER
#define EW_WAY_fmod_f64         ~, EW_BY_REMAINDER
#define EW_WAY_remainder_f32    ~, EW_BY_REMAINDER
#define EW_WAY_remainder_f64    ~, EW_BY_REMAINDER
#define EW_WAY_floor_divide_f32 ~, EW_BY_REMAINDER
#define EW_WAY_floor_divide_f64 ~, EW_BY_REMAINDER
#define EW_WAY_sin_f32          ~, EW_BY_TURN
#define EW_WAY_sin_f64          ~, EW_BY_TURN
#define EW_WAY_cos_f32          ~, EW_BY_TURN
#define EW_WAY_cos_f64          ~, EW_BY_TURN
#define EW_WAY_tan_f32          ~, EW_BY_TURN
#define EW_WAY_tan_f64          ~, EW_BY_TURN
#endif
#if WICK_TIER_ID == 3
#include "kernels/elementwise/vec512.h"
#elif WICK_TIER_ID == 2
#include "kernels/elementwise/vec256.h"
#endif
#define EW_SECOND_(a, b, ...)   b
#define EW_SECOND(...)          EW_SECOND_(__VA_ARGS__)
/* The way that is defined for the row and type, or the form of its class. */
#define EW_KERNEL(form, name, t, ...) EW_SECOND(EW_WAY_##name##_##t, form, ~)(name, t, __VA_ARGS__)

#define K(x) ((EW_T)(x))

#define EW_T float
#define M(f) wick_##f##_f32
#define EW_ROW(name, arity, types, result, expression, ...)                                                            \
    EW_IF_##types##_f32(                                                                                               \
        EW_KERNEL(EW_FORM_##types, name, f32, float, EW_A_##types(float), EW_R_##result(float), arity, expression))
WICK_EW_TABLE(EW_ROW)
#undef EW_T
#undef M
#undef EW_ROW

#define EW_T double
#define M(f) wick_##f##_f64
#define EW_ROW(name, arity, types, result, expression, ...)                                                            \
    EW_IF_##types##_f64(                                                                                               \
        EW_KERNEL(EW_FORM_##types, name, f64, double, EW_A_##types(double), EW_R_##result(double), arity, expression))
WICK_EW_TABLE(EW_ROW)
#undef EW_T
#undef M
#undef EW_ROW

#define EW_T int32_t
#define M(f) wick_##f##_i32
#define EW_ROW(name, arity, types, result, expression, ...)                                                            \
    EW_IF_##types##_i32(EW_KERNEL(EW_BY_ELEMENT, name, i32, int32_t, EW_A_##types(int32_t), EW_R_##result(int32_t),    \
                                  arity, expression))
WICK_EW_TABLE(EW_ROW)
#undef EW_T
#undef M
#undef EW_ROW

#define EW_T int64_t
#define M(f) wick_##f##_i64
#define EW_ROW(name, arity, types, result, expression, ...)                                                            \
    EW_IF_##types##_i64(EW_KERNEL(EW_BY_ELEMENT, name, i64, int64_t, EW_A_##types(int64_t), EW_R_##result(int64_t),    \
                                  arity, expression))
WICK_EW_TABLE(EW_ROW)
#undef EW_T
#undef M
#undef EW_ROW

#define EW_T uint64_t
#define M(f) wick_##f##_u64
#define EW_ROW(name, arity, types, result, expression, ...)                                                            \
    EW_IF_##types##_u64(EW_KERNEL(EW_BY_ELEMENT, name, u64, uint64_t, EW_A_##types(uint64_t), EW_R_##result(uint64_t), \
                                  arity, expression))
WICK_EW_TABLE(EW_ROW)
#undef EW_T
#undef M
#undef EW_ROW

#define EW_T uint8_t
#define M(f) wick_##f##_b8
#define EW_ROW(name, arity, types, result, expression, ...)                                                            \
    EW_IF_##types##_b8(                                                                                                \
        EW_KERNEL(EW_BY_ELEMENT, name, b8, uint8_t, EW_A_##types(uint8_t), EW_R_##result(uint8_t), arity, expression))
WICK_EW_TABLE(EW_ROW)
#undef EW_T
#undef M
#undef EW_ROW

#define EW_ENTRY(name, arity, types, result, expression, ...)                                                          \
    [WICK_EW_##name] = {EW_IF_##types##_f32([WICK_CF32] = wick_ew_##name##_f32, )                                      \
                            EW_IF_##types##_f64([WICK_CF64] = wick_ew_##name##_f64, )                                  \
                                EW_IF_##types##_i32([WICK_CI32] = wick_ew_##name##_i32, )                              \
                                    EW_IF_##types##_i64([WICK_CI64] = wick_ew_##name##_i64, )                          \
                                        EW_IF_##types##_u64([WICK_CU64] = wick_ew_##name##_u64, )                      \
                                            EW_IF_##types##_b8([WICK_CBOOL] = wick_ew_##name##_b8, )},
const wick_ew_rows WICK_TIER_SYMBOL(wick_ew_table_) = {WICK_EW_TABLE(EW_ENTRY)};
