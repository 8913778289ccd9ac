/* endpoint.h: a page of text over HTTP, to programs of this machine. */
#ifndef WICK_PROFILE_ENDPOINT_H
#define WICK_PROFILE_ENDPOINT_H

#include "base/base.h"
#include "codegen/text.h"

typedef struct endpoint endpoint;

/* Answers GET /metrics on 127.0.0.1 with what page writes, by a thread of its own, one request at a time. port 0: one
 * that is free. */
wick_status endpoint_open(endpoint **out, int port, void (*page)(void *user, wick_text *out), void *user,
                          wick_msg *msg);
int endpoint_port(const endpoint *e);
void endpoint_close(endpoint **e); /* waits for the thread; null-safe, nulls */

#endif
