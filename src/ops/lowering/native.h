/* native.h: what lowering asks of the JIT, which stands below it (src/codegen/jit.c). */
#ifndef WICK_OPS_NATIVE_H
#define WICK_OPS_NATIVE_H

#include "kernels/fused/native.h"
#include "tensor/tensor.h"

struct wick_jit;

/* For a context with these options; *jit is NULL where they ask for none. */
wick_status wick_jit_open(struct wick_jit **jit, wick_jit_mode mode, const char *folder);
/* No plan is left that has something of it. Null-safe, nulls. */
void wick_jit_close(struct wick_jit **jit);
/* The loop for a prepared program, which lives as long as jit: there already, on its way, or never to come; NULL: it
 * could not be one. note gets what a person may want to know of it, or "". Doesn't wait, but in WICK_JIT_WAIT. */
const wick_native *wick_jit_find(struct wick_jit *jit, const wick_fused *f, char *note, size_t size);

#endif
