/* clock.c: monotonic time, and what must end in time. */
#include <time.h>

#include "base/base.h"

uint64_t wick_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool wick_watch_look(wick_watch *w) {
    w->work = 0;
    if (w->over == WICK_OK && w->deadline && wick_now_ns() > w->deadline) w->over = WICK_ERR_DEADLINE;
    if (w->over == WICK_OK && w->cancel && w->cancel(w->user)) w->over = WICK_ERR_CANCELLED;
    return w->over == WICK_OK;
}
