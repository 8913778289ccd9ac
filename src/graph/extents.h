/* extents.h: extents as expressions over named dims: numbers, dims, sums, products, the lesser or greater of two,
 * quotients rounded down, and extents that are only known at the points. Expressions are numbered in order, what they
 * are made of first, so evaluating all of them is one loop. Each also has its values at some points of the range: two
 * with the same values there are one, which makes looking for the expression of a list of values a matter of hashing.
 */
#ifndef WICK_GRAPH_EXTENTS_H
#define WICK_GRAPH_EXTENTS_H

#include "base/base.h"

typedef enum wick_extent_kind {
    WICK_EXTENT_NUMBER,
    WICK_EXTENT_DIM,
    WICK_EXTENT_SUM,
    WICK_EXTENT_PRODUCT,
    WICK_EXTENT_MIN,
    WICK_EXTENT_MAX,
    WICK_EXTENT_QUOTIENT,
    WICK_EXTENT_SEEN
} wick_extent_kind;
typedef struct wick_extent {
    uint8_t kind; /* SEEN: no more is known of it than its values at the points */
    int32_t a, b;   /* DIM: a is its number; SUM, PRODUCT, MIN, MAX: of both; QUOTIENT: of a by number */
    int64_t number; /* NUMBER, QUOTIENT */
    /* QUOTIENT by number of x + b, as wick_extents_find made it: any b of these gives the same values at the points */
    int64_t least, most;
    struct {
        int32_t of;
        int64_t times, add, by; /* as does (times * of + add) / by; by 0: there is no such */
    } other;
} wick_extent;

typedef struct wick_extents {
    wick_arena *arena;
    int n_dims, n_points;
    const char *const *names; /* of the dims */
    /* [n_points][n_dims]; the first is the base, and point 1 + s differs from it in dim s alone, if at all */
    const int64_t *points;
    wick_extent *at;
    int64_t *values; /* [n][n_points] */
    int32_t n, cap;
    int32_t *table; /* open addressing, by values; -1: empty */
    uint32_t slots;
    bool nomem;
} wick_extents;

/* names and points stay the caller's. false: out of memory, as every call on it then says. The dims are expressions 0
 * .. n_dims - 1. */
bool wick_extents_init(wick_extents *x, wick_arena *arena, int n_dims, const char *const *names, int n_points,
                       const int64_t *points);
/* The expression made of others; -1: it is too large at a point, or out of memory. */
int32_t wick_extents_number(wick_extents *x, int64_t number);
int32_t wick_extents_sum(wick_extents *x, int32_t a, int32_t b);
int32_t wick_extents_product(wick_extents *x, int32_t a, int32_t b);
int32_t wick_extents_quotient(wick_extents *x, int32_t a, int64_t by); /* by >= 1 */
int32_t wick_extents_seen(wick_extents *x,
                          const int64_t *values); /* with these values at the points, whatever makes them */
/* One that was made and has these values; -1: there is none. Values that are the same everywhere are a number,
 * whichever dims have it too. */
int32_t wick_extents_known(wick_extents *x, const int64_t *values);
/* Forgets all but the first n, which are at least the dims. */
void wick_extents_cut(wick_extents *x, int32_t n);
/* Is the expression settled by the points? false: it is, or has in it, a quotient for which they allow another, with
 * other values elsewhere. */
bool wick_extents_settled(const wick_extents *x, int32_t e);
/* An expression with these values at the points; -1: none that is simple. near: the extents that an op had, of which it
 * was made, most likely. */
int32_t wick_extents_find(wick_extents *x, const int64_t *values, int n_near, const int32_t *near);
/* "2*batch + 3", "batch-1", "h/2" or a name; n_names may be 0. Words that are no name make it -1, as anything else that
 * is no such expression: numbers, names, + - * / and ( ). */
int32_t wick_extents_parse(wick_extents *x, const char *text);
/* All of them at a point: into out[n]. false: one of them is too large. */
bool wick_extents_eval(const wick_extents *x, const int64_t *point, int64_t *out);
void wick_extents_print(wick_str *s, const wick_extents *x, int32_t e);

#endif
