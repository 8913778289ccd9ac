/* checkpoint.h: what writing and reading a checkpoint share. */
#ifndef WICK_IO_CHECKPOINT_H
#define WICK_IO_CHECKPOINT_H

#include "io/safetensors.h"
#include "tensor/tensor.h" /* the context's allocator, types and their text */
#include "wick/io.h"

/* Version of the layout of names and metadata. 1: the first. */
#define WICK_CHECKPOINT_FORMAT 1

/* Metadata that every checkpoint has. */
#define WICK_META_FORMAT   "wick.format"
#define WICK_META_CRC      "wick.crc32c" /* 8 hex digits: wick_checkpoint_crc of all tensors */
#define WICK_META_NUMERICS "wick.numerics"
#define WICK_META_SEED     "wick.seed"   /* decimal */
#define WICK_META_STREAM   "wick.stream" /* decimal */
#define WICK_META_OWN      5

/* CRC-32C of names, dtypes, shapes and data (docs/checkpoints.md). The tensors come sorted by name, since other
 * programs write them in an order of their own. */
uint32_t wick_checkpoint_crc(const wick_safetensors_tensor *const *by_name, size_t count);

#endif
