/* zoo.h: one line per architecture. */
#ifndef WICK_ZOO_INTERNAL_H
#define WICK_ZOO_INTERNAL_H

#define WICK_NO_SITES
#include "wick/zoo.h"

extern const wick_architecture wick_zoo_mlp, wick_zoo_net;
enum { WICK_ZOO_NETS = 10 };
extern const wick_architecture wick_zoo_nets[WICK_ZOO_NETS];

/* "0", "0.25", ".5": at most 15 digits. */
bool wick_zoo_fraction(const char *text, size_t length, double *value);

#define WICK_ZOO_TRY(call)                         \
    do {                                           \
        wick_status try_ = (call);                 \
        if (try_ != WICK_OK) return try_;          \
    } while (0)

#endif
