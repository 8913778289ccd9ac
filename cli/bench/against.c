/* against.c: beside the rows of an earlier run. */
#include "results.h"

#include "../json_read.h"
#include "../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A difference counts from here on, and when chance makes one as large less often than this. */
#define THRESHOLD   0.02
#define SIGNIFICANT 0.05

typedef struct read_row {
    bench_key key;
    double threads;
    samples us;
} read_row;

static bool read_samples(json_in *j, samples *s) {
    double value;
    for (json_enter(j, '['); json_item(j);)
        if (!json_number(j, &value) || !samples_add(s, value)) return false;
    return !j->bad;
}

static bool read_fields(json_in *j, read_row *row) {
    char key[32];
    for (json_enter(j, '{'); json_key(j, key, sizeof key);) {
        const bool ok = strcmp(key, "row") == 0          ? json_string(j, row->key, sizeof row->key)
                        : strcmp(key, "threads") == 0    ? json_number(j, &row->threads)
                        : strcmp(key, "samples_us") == 0 ? read_samples(j, &row->us)
                                                         : json_skip(j);
        if (!ok) return false;
    }
    return !j->bad;
}

static bool keep(bench_result *r, read_row *row, results_kept what) {
    samples *to = what == KEEP_MEDIAN ? &r->times.seconds : &r->base;
    bool ok = true;
    samples_sort(&row->us);
    if (what != KEEP_BASE) return !row->us.n || samples_add(to, 1e-6 * stats_quantile(&row->us, 0.5));
    for (int64_t i = 0; i < row->us.n && ok; i++) ok = samples_add(to, 1e-6 * row->us.at[i]);
    return ok;
}

int results_read(bench_results *all, const char *text, const char *path, results_kept what) {
    json_in j = {.at = text};
    char key[32];
    bool any = false, memory = true;
    for (json_enter(&j, '{'); json_key(&j, key, sizeof key);) {
        if (strcmp(key, "rows") != 0) {
            json_skip(&j);
            continue;
        }
        for (json_enter(&j, '['); json_item(&j);) {
            read_row row = {.threads = NAN};
            if (!read_fields(&j, &row)) j.bad = true;
            for (int i = 0; i < all->n && !j.bad; i++)
                if (all->at[i].threads == row.threads && strcmp(all->at[i].key, row.key) == 0)
                    memory = keep(&all->at[i], &row, what) && memory;
            any = true;
            samples_free(&row.us);
        }
    }
    if (j.bad)
        return log_fail(CLI_BAD_FILE, "%s is no result of wick bench --json: byte %td is not what belongs there", path,
                        j.at - text);
    if (!any) return log_fail(CLI_BAD_FILE, "%s has no rows: is it a result of wick bench --json?", path);
    return memory ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
}

void results_judge(bench_results *all) {
    for (int i = 0; i < all->n; i++) {
        bench_result *r = &all->at[i];
        samples_sort(&r->times.seconds);
        samples_sort(&r->base);
        if (!r->times.seconds.n) continue;
        r->verdict = VERDICT_NEW;
        if (!r->base.n) continue;
        r->speedup = stats_ratio(&r->base, &r->times.seconds, &r->low, &r->high);
        r->chance = stats_same(&r->base, &r->times.seconds);
        const bool sure = r->chance < SIGNIFICANT;
        r->verdict = sure && r->speedup < 1 / (1 + THRESHOLD) ? VERDICT_SLOWER
                     : sure && r->speedup > 1 + THRESHOLD     ? VERDICT_FASTER
                                                              : VERDICT_SAME;
    }
}
