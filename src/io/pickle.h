/* pickle.h: pickles are programs: they are never read. */
#ifndef WICK_IO_PICKLE_H
#define WICK_IO_PICKLE_H

#include "base/base.h"

/* Whether these bytes begin as a pickle does, or as an archive in which PyTorch keeps one. */
bool wick_is_pickle(const uint8_t *bytes, size_t size);
/* WICK_ERR_UNSUPPORTED, with a line that makes safetensors of it. */
wick_status wick_refuse_pickle(const char *name, wick_msg *msg);

#endif
