/* cells.h: between recurrent loops (recurrent.c) and what they do for each unit (cells.c). */
#ifndef WICK_AOT_CELLS_H
#define WICK_AOT_CELLS_H

#include "aot/print.h"

/* Of a direction; which arrays there are is as in wick_recurrent_data. */
typedef struct wick_c_cell {
    const wick_recurrent *r;
    const char *type, *suffix;
    int direction;
    int64_t h;
    bool has_y, has_gates, has_bias, has_peephole, has_gy, has_ggates;
} wick_c_cell;

/* "in[42 + j]": unit j in row `row` of an array of rows of h. text: 64 bytes. */
const char *wick_c_cell_part(char *text, const wick_c_cell *q, const char *array, int64_t row);
/* What backward cells compare results with where arguments are clipped. */
void wick_c_print_cell_limits(wick_text *t, int depth, const wick_c_cell *q);
/* What kernels/recurrent/cell_body.h does for all units of a sample's step, behind product `stage`. */
void wick_c_print_cell(wick_text *t, int depth, const wick_c_cell *q, int stage);

#endif
