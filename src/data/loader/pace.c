#include "data/loader/pace.h"

#include "base/base.h"
#include "wick/loader.h"

int64_t wick_batch_follow(int64_t batch, double seconds, double target, int64_t most) {
    if (seconds > target) return WICK_MAX(1, batch * 3 / 4);
    if (seconds < target / 2) return WICK_MIN(most, (batch * 5 + 3) / 4);
    return WICK_MIN(batch, most);
}

bool wick_pace_follow(wick_pace *p, uint64_t now, uint64_t waited, int full, int given) {
    enum { BATCHES = 8 };
    if (!p->look.since)
        p->look.since = now;
    else
        p->look.batches++, p->look.waited += waited, p->look.full += full, p->look.given += given;
    if (p->look.batches < BATCHES) return false;
    const int before = p->workers;
    const double waiting = (double)p->look.waited / (double)WICK_MAX(now - p->look.since, 1);
    const bool ready = p->look.full * 4 >= p->look.given * 3;
    p->quiet = waiting < 0.01 && ready ? p->quiet + 1 : 0;
    if (waiting > 0.05 && p->workers < p->most_workers) {
        p->workers++;
        if (p->shrunk) p->floor = p->workers;
    } else if (waiting > 0.05 && p->ahead < p->most_ahead) {
        p->ahead++;
    } else if (p->quiet >= 2 && p->workers > WICK_MAX(1, p->floor)) {
        p->quiet = 0;
        p->shrunk = true;
        p->workers--;
    }
    p->look.since = now;
    p->look.waited = 0;
    p->look.batches = p->look.full = p->look.given = 0;
    return p->workers != before;
}

int64_t wick_pace_at_once(uint64_t samples, uint64_t ns) {
    enum { TAKE_NS = 20000 };
    return ns ? WICK_MAX((int64_t)(samples * TAKE_NS / ns), 1) : 1;
}
