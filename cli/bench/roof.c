#include "roof.h"

#include "machine.h"

#include <stdio.h>
#include <string.h>

#include "wick/context.h"

void roof_measure(roof *r, int threads, size_t most) {
    machine m;
    machine_read(&m, "");
    *r = (roof){.threads = threads, .tier = "base"};
    for (int i = 0; i < wick_isa_count(); i++)
        if (wick_isa_at(i).chosen) r->tier = wick_isa_at(i).name;
    for (int kind = 0; kind < CEILING_COMPUTES; kind++)
        r->compute[kind] = ceiling_compute_rate((ceiling_compute)kind, r->tier, threads);
    size_t last = 1 << 25; /* the largest cache; of a machine that doesn't tell, a guess that errs upwards */
    for (int i = 0; i < m.n_caches && r->n_levels < ROOF_LEVELS - 1; i++) {
        const machine_cache *c = &m.caches[i];
        if (strcmp(c->type, "Instruction") == 0 || !c->bytes) continue;
        const bool own = !strpbrk(c->shared, ",-"); /* one for each CPU */
        snprintf(r->level[r->n_levels].name, sizeof r->level[0].name, "L%d", c->level % 10);
        r->level[r->n_levels].size = last = (size_t)c->bytes * (size_t)(own ? threads : 1);
        r->level[r->n_levels++].measured = last / 2;
    }
    size_t far = 4 * last;
    if (m.available && far > m.available / 4) far = (size_t)(m.available / 4);
    snprintf(r->level[r->n_levels].name, sizeof r->level[0].name, "memory");
    r->level[r->n_levels].size = SIZE_MAX;
    r->level[r->n_levels++].measured = far;
    for (int i = 0; i < r->n_levels; i++) {
        size_t *measured = &r->level[i].measured;
        if (*measured > most) *measured = most;
        if (i && *measured == r->level[i - 1].measured)
            memcpy(r->level[i].rate, r->level[i - 1].rate, sizeof r->level[i].rate);
        else for (int access = 0; access < CEILING_ACCESSES; access++)
            r->level[i].rate[access] = ceiling_memory_rate((ceiling_access)access, r->tier, threads, *measured);
    }
}

floor_time roof_floor(const roof *r, ceiling_compute kind, double flops, double exps, double read, double written) {
    floor_time f = {0};
    const double own = r->compute[kind], f32 = r->compute[CEILING_F32],
                 rate = kind == CEILING_F64 || own > f32 ? own : f32;
    if (rate > 0) f.seconds = flops / rate;
    if (exps > 0 && r->compute[CEILING_EXP] > 0) f.seconds += exps / r->compute[CEILING_EXP];
    snprintf(f.bound, sizeof f.bound, "%s %s", ceiling_compute_name(rate == own ? kind : CEILING_F32),
             exps > 0 ? "and exp" : "arithmetic");
    int i = 0;
    while (i + 1 < r->n_levels && read + written > (double)r->level[i].size) i++;
    const double *rates = r->level[i].rate, pairs = read < written ? read : written;
    const double seconds = 2 * pairs / rates[CEILING_COPY] + (read - pairs) / rates[CEILING_READ] +
                           (written - pairs) / rates[CEILING_WRITE];
    if (seconds > f.seconds) {
        f.seconds = seconds;
        snprintf(f.bound, sizeof f.bound, "%s", r->level[i].name);
    }
    return f;
}
