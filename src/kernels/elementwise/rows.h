/* rows.h: the functions that the rows of table.h name. */
#ifndef WICK_KERNELS_ROWS_FUNCTIONS_H
#define WICK_KERNELS_ROWS_FUNCTIONS_H

#include "kernels/elementwise/angles.h"
#include "kernels/elementwise/hyperbolic.h"
#include "kernels/elementwise/special.h"
#include "kernels/elementwise/turns.h"
#include "kernels/elementwise/whole.h"

#endif
