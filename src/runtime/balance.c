/* balance.c: a thread's speed in a region is its tasks by its time, over what the speeds that are known let expect of
 * those that took part. So a region without the fast threads says nothing against them. Speeds are means over regions
 * with weights that decay; shares change where a speed has left its share by a tenth: equal threads keep equal shares,
 * and a share its place in memory. */
#include "runtime/balance.h"

#include <math.h>

static const double DECAY = 0.125,    /* what a new region counts */
                    LEAVES = 0.1,     /* from where on shares follow */
                    JUMP = 2,         /* a region says at most so many times more, or less, than the mean before */
                    SLOWEST = 0.0625; /* a share is never smaller: who is slow is measured on */

bool wick_balance_init(wick_balance *b, int n, const wick_allocator *alloc) {
    *b = (wick_balance){.alloc = alloc, .n = n};
    b->pace = wick_calloc(alloc, (size_t)n * sizeof *b->pace);
    b->until = wick_calloc(alloc, ((size_t)n + 1) * sizeof *b->until);
    if (!b->pace || !b->until) return wick_balance_free(b), false;
    for (int i = 0; i < n; i++) {
        b->pace[i].speed = 1;
        atomic_init(&b->pace[i].weight, WICK_BALANCE_ONE);
        atomic_init(&b->pace[i].shown, WICK_BALANCE_ONE);
        b->until[i + 1] = b->until[i] + WICK_BALANCE_ONE;
    }
    return true;
}

void wick_balance_free(wick_balance *b) {
    if (b->pace) wick_release(b->alloc, b->pace, (size_t)b->n * sizeof *b->pace);
    if (b->until) wick_release(b->alloc, b->until, ((size_t)b->n + 1) * sizeof *b->until);
    *b = (wick_balance){0};
}

/* Tasks that a thread of speed 1 does in a ns, by those that took part; 0: fewer than two did. */
static double rate_of(const wick_balance *b) {
    double tasks = 0, speeds = 0;
    int parts = 0;
    for (int i = 0; i < b->n; i++) {
        const wick_pace *p = &b->pace[i];
        if (!p->tasks || !p->ns) continue;
        tasks += (double)p->tasks;
        speeds += (double)p->ns * p->speed;
        parts++;
    }
    return parts < 2 ? 0 : tasks / speeds;
}

static void change_shares(wick_balance *b) {
    for (int i = 0; i < b->n; i++) {
        const uint32_t weight = (uint32_t)(WICK_MAX(b->pace[i].speed, SLOWEST) * WICK_BALANCE_ONE);
        atomic_store_explicit(&b->pace[i].weight, weight, memory_order_relaxed);
        b->until[i + 1] = b->until[i] + weight;
    }
    b->changes++;
}

bool wick_balance_add(wick_balance *b) {
    const double rate = rate_of(b);
    double sum = 0;
    bool leaves = false;
    if (rate <= 0) return false;
    for (int i = 0; i < b->n; i++) {
        wick_pace *p = &b->pace[i];
        if (p->tasks && p->ns) {
            const double now = (double)p->tasks / ((double)p->ns * rate);
            p->speed += DECAY * (WICK_MIN(WICK_MAX(now, p->speed / JUMP), p->speed * JUMP) - p->speed);
        }
        sum += p->speed;
    }
    for (int i = 0; i < b->n; i++) {
        wick_pace *p = &b->pace[i];
        p->speed *= b->n / sum;
        const double weight =
            (double)atomic_load_explicit(&p->weight, memory_order_relaxed) / (double)WICK_BALANCE_ONE;
        leaves |= fabs(WICK_MAX(p->speed, SLOWEST) - weight) > LEAVES * weight;
        atomic_store_explicit(&p->shown, (uint32_t)(p->speed * WICK_BALANCE_ONE), memory_order_relaxed);
    }
    if (leaves) change_shares(b);
    return leaves;
}
