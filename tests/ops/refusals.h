/* refusals.h: uses of ops that are mistakes. */
#ifndef WICK_TESTS_REFUSALS_H
#define WICK_TESTS_REFUSALS_H

#include "test.h"
#include "wick/tensor.h"

/* A result, and a part of its message; "": it is no mistake. */
typedef struct refusal {
    wick_tensor *t;
    const char *says;
} refusal;

static inline void check_refusals(const refusal *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *text = "", *says = cases[i].says;
        const bool refused = wick_tensor_error(cases[i].t, &text) != WICK_OK;
        test_count("wrong uses refused with the right message", refused);
        CHECK_MSG(refused == (*says != 0) && strstr(text, says), "case %d: \"%s\" lacks \"%s\"", (int)i, text, says);
    }
}

#endif
