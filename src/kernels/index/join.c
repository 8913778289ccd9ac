/* join.c: rows of several tensors side by side, written in one pass: each row of the result is touched once, in order.
 */
#include "kernels/index/index_api.h"

void wick_join_rows(const wick_join *j, int64_t begin, int64_t end, const void *const *parts, void *dst) {
    char *to = (char *)dst + begin * j->width;
    for (int64_t row = begin; row < end; row++) {
        if (j->block && (row == begin || row % j->block == 0))
            to = (char *)dst + row / j->block * j->block_step + row % j->block * j->width;
        for (int k = 0; k < j->n; k++) {
            const char *from = (const char *)parts[k] + row * j->step[k];
            if (j->bytes[k] == 4) /* an edge of one number: a call would take longer than it */
                memcpy(to, from, 4);
            else
                memcpy(to, from, (size_t)j->bytes[k]);
            to += j->bytes[k];
        }
    }
}
