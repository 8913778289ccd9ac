/* point_pairs.h: which points of a picture are each other in a mirror, such as a left and a right hand. */
#ifndef WICK_CLI_POINT_PAIRS_H
#define WICK_CLI_POINT_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct point_pairs {
    int64_t (*at)[2]; /* numbers of points; malloc'ed */
    int64_t n;
} point_pairs;

/* text: "left_hand:right_hand,3:4", by the points' names; "none": all stay what they are; "": by names that differ in
 * left and right (or l_ and r_, _l and _r) alone, of which n may be 0. False: `error` says why. */
bool point_pairs_read(const char *text, int64_t points, const char *const *names, point_pairs *out, char *error,
                      size_t size);

#endif
