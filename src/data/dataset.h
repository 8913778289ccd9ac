/* dataset.h: what the loader needs of a dataset beyond wick/data.h. */
#ifndef WICK_DATA_DATASET_H
#define WICK_DATA_DATASET_H

#define WICK_NO_SITES
#include "base/base.h"
#include "tensor/tensor.h" /* the context's allocator */
#include "wick/data.h"

int64_t wick_dataset_sample_size(const wick_dataset *dataset); /* pixels of one sample */

#endif
