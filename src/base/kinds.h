/* kinds.h: how a reader refuses a file of another kind than its own. */
#ifndef WICK_BASE_KINDS_H
#define WICK_BASE_KINDS_H

#include "base/base.h"
#include "wick/kinds.h"

/* "NAME: is a TIFF picture, not WANTED; ADVICE" and `status`. */
WICK_MUST_CHECK wick_status wick_kind_refuse(const wick_kind *kind, wick_status status, const char *name,
                                             const char *wanted, wick_msg *msg);

#endif
