/* profile_race.h: advice of a profile about threads is tried before it is given. */
#ifndef WICK_CLI_PROFILE_RACE_H
#define WICK_CLI_PROFILE_RACE_H

#include "bound.h"

#include "wick/profile.h"

/* The model is run with the numbers of threads that findings name, in turn with what was profiled, which has stopped.
 * What came of it becomes the findings' advice. Where a race can't be run the advice stays as it was. */
void profile_race(wick_profile *profile, const bound *b);

#endif
