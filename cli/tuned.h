/* tuned.h: what wick tune measured on this machine, for every context of the command. */
#ifndef WICK_CLI_TUNED_H
#define WICK_CLI_TUNED_H

#include "wick/tuning.h"

/* From the file that WICK_TUNING names, or that wick tune writes; NULL: the defaults, since there is none, it does not
 * fit, or WICK_TUNING is "off". */
const wick_tuning *tuned(void);
/* The file that tuned() uses, or NULL. */
const char *tuned_from(void);
/* Why a file that is there is not used; "" where none is, or it is. */
const char *tuned_trouble(void);

#endif
