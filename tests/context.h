/* context.h: new_context(.threads = 2, .seed = 1) is a context with these options; NULL where none can be made. */
#ifndef WICK_TESTS_CONTEXT_H
#define WICK_TESTS_CONTEXT_H

#include "wick/context.h"

static inline wick_context *test_context(const wick_context_options *options) {
    wick_context *ctx = NULL;
    return wick_context_new(options, &ctx) == WICK_OK ? ctx : NULL;
}
#define new_context(...) test_context(&(wick_context_options){__VA_ARGS__})

#endif
