/* zoo.h: one line per architecture. */
#ifndef WICK_ZOO_INTERNAL_H
#define WICK_ZOO_INTERNAL_H

#define WICK_NO_SITES
#include "wick/zoo.h"

extern const wick_architecture wick_zoo_mlp;

#endif
