/* checkpoint.h: what writing and reading a checkpoint share. */
#ifndef WICK_IO_CHECKPOINT_H
#define WICK_IO_CHECKPOINT_H

#include "io/seal.h"
#include "tensor/tensor.h" /* the context's allocator, types and their text */
#include "wick/io.h"

/* Metadata that every checkpoint has, besides those of io/seal.h. */
#define WICK_META_NUMERICS "wick.numerics"
#define WICK_META_SEED     "wick.seed"   /* decimal */
#define WICK_META_STREAM   "wick.stream" /* decimal */
#define WICK_META_OWN      4             /* with "wick.format" */

#endif
