#include "results.h"

#include "../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double result_share(const bench_result *r) {
    const double median = stats_quantile(&r->times.seconds, 0.5);
    return r->floor.seconds > 0 && median > 0 ? r->floor.seconds / median : NAN;
}

const char *text_time(time_text text, double seconds) {
    const double scale = seconds < 1e-6 ? 1e9 : seconds < 1e-3 ? 1e6 : seconds < 1 ? 1e3 : 1;
    snprintf(text, sizeof(time_text), "%.3g %s", seconds * scale,
             scale == 1e9   ? "ns"
             : scale == 1e6 ? "us"
             : scale == 1e3 ? "ms"
                            : "s");
    return text;
}

void results_print_ceilings(const roof *r) {
    printf("ceilings of %d thread%s, tier %s\n", r->threads, plural(r->threads), r->tier);
    for (int i = 0; i < CEILING_COMPUTES; i++)
        if (r->compute[i] > 0)
            printf("  %-8s %8.1f %s  %s\n", ceiling_compute_name((ceiling_compute)i), 1e-9 * r->compute[i],
                   ceiling_compute_unit((ceiling_compute)i), ceiling_compute_how((ceiling_compute)i, r->tier));
    for (int i = 0; i < r->n_levels; i++) {
        const double *rate = r->level[i].rate;
        printf("  %-8s %8.1f GB/s read, %.1f written, %.1f copied (both ways), over %zu KiB\n", r->level[i].name,
               1e-9 * rate[CEILING_READ], 1e-9 * rate[CEILING_WRITE], 1e-9 * rate[CEILING_COPY],
               r->level[i].measured >> 10);
    }
    fflush(stdout);
}

void results_print_header(void) {
    printf("\n%-44s %3s %10s %7s %10s %14s  %s\n", "row", "thr", "median", "+-95 %", "p95", "rate", "of the ceiling");
}

static const char *const verdicts[] = {"", "new", "same", "faster", "SLOWER"};

void results_print(const bench_result *r) {
    if (*r->why) {
        printf("%-44s %3d not run: %s\n", r->key, r->threads, r->why);
        fflush(stdout);
        return;
    }
    const samples *s = &r->times.seconds;
    const double median = stats_quantile(s, 0.5), share = result_share(r);
    double low, high;
    time_text a, b;
    char rate[32] = "";
    stats_median_interval(s, &low, &high);
    if (r->flops > 0 && r->flops > r->read + r->written)
        snprintf(rate, sizeof rate, "%.1f GFLOP/s", 1e-9 * r->flops / median);
    else if (r->read + r->written > 0) snprintf(rate, sizeof rate, "%.1f GB/s", 1e-9 * (r->read + r->written) / median);
    printf("%-44s %3d %10s %6.1f%% %10s %14s", r->key, r->threads, text_time(a, median), 50 * (high - low) / median,
           text_time(b, stats_quantile(s, 0.95)), rate);
    if (share == share) printf("  %3.0f %% of %s", 100 * share, r->floor.bound);
    if (r->verdict) printf("  %s", verdicts[r->verdict]);
    if (r->verdict > VERDICT_NEW) printf(" %.3f (%.3f .. %.3f, p %.2g)", r->speedup, r->low, r->high, r->chance);
    printf("\n");
    if (r->instructions > 0)
        printf("    %-40s %3d %10.4g  a run, counted by %s\n", "instructions", r->threads, r->instructions,
               r->counted_by);
    if (r->memory > 0) {
        printf("    %-40s %3d %7.1f MB besides inputs", "memory", r->threads, 1e-6 * r->memory);
        if (r->planned > 0) printf(", of which the plan and its results %.1f", 1e-6 * r->planned);
        for (int i = 0; i < r->n_peers; i++)
            if (r->peers[i].memory > 0) printf("; %s %.1f MB", r->peers[i].name, 1e-6 * r->peers[i].memory);
        printf("\n");
    }
    for (int i = 0; i < r->n_peers; i++) {
        const peer_times *p = &r->peers[i];
        printf("    %-40s %3d %10s %7s %10s  %.2f (%.2f .. %.2f) of Wick's time%s\n", p->name, r->threads,
               text_time(a, stats_quantile(&p->times.seconds, 0.5)), "",
               text_time(b, stats_quantile(&p->times.seconds, 0.95)), p->ratio, p->low, p->high,
               p->differs ? "; ANOTHER RESULT" : "");
    }
    fflush(stdout);
}

typedef struct mean {
    double logs, worst;
    int n;
    const char *worst_key;
} mean;
static void add(mean *m, double value, const char *key) {
    if (!(value > 0)) return;
    m->logs += log(value);
    if (!m->n++ || value < m->worst) m->worst = value, m->worst_key = key;
}

void results_print_summary(const bench_results *all) {
    int slower = 0, compared = 0;
    for (int i = 0; i < all->n; i++)
        slower += all->at[i].verdict == VERDICT_SLOWER, compared += all->at[i].verdict > VERDICT_NEW;
    printf("\n%-12s %5s  %s\n", "suite", "rows",
           "geometric means (and the worst row): share of the ceilings, and others' time by Wick's");
    for (int i = 0; i < all->n; i++) {
        const char *suite = all->at[i].row->suite;
        mean share = {0}, ratios[BENCH_PEERS] = {{0}};
        const char *names[BENCH_PEERS] = {0};
        bool before = false;
        int rows = 0;
        for (int k = 0; k < i; k++) before |= strcmp(all->at[k].row->suite, suite) == 0;
        if (before) continue;
        for (int k = i; k < all->n; k++) {
            const bench_result *r = &all->at[k];
            if (strcmp(r->row->suite, suite) != 0 || *r->why) continue;
            const char *name = r->key + strlen(suite) + 1;
            rows++;
            add(&share, result_share(r), name);
            for (int p = 0; p < r->n_peers; p++) {
                int at = 0;
                while (at < BENCH_PEERS - 1 && names[at] && strcmp(names[at], r->peers[p].name) != 0) at++;
                names[at] = r->peers[p].name;
                add(&ratios[at], r->peers[p].ratio, name);
            }
        }
        printf("%-12s %5d", suite, rows);
        if (share.n)
            printf("  %.0f %% (%.0f: %s)", 100 * exp(share.logs / share.n), 100 * share.worst, share.worst_key);
        for (int p = 0; p < BENCH_PEERS && names[p]; p++)
            printf("  %s %.2f (%.2f: %s)", names[p], exp(ratios[p].logs / ratios[p].n), ratios[p].worst,
                   ratios[p].worst_key);
        printf("\n");
    }
    if (compared) printf("%d of %d rows are slower than in the base\n", slower, compared);
}

static void write_times(json *j, const timing *t) {
    const samples *s = &t->seconds;
    double low, high;
    stats_median_interval(s, &low, &high);
    json_integer(j, "batch", t->batch);
    json_real(j, "min_us", 1e6 * stats_quantile(s, 0), 6);
    json_real(j, "median_us", 1e6 * stats_quantile(s, 0.5), 6);
    json_real(j, "low_us", 1e6 * low, 6);
    json_real(j, "high_us", 1e6 * high, 6);
    json_real(j, "p95_us", 1e6 * stats_quantile(s, 0.95), 6);
    json_real(j, "p99_us", 1e6 * stats_quantile(s, 0.99), 6);
    json_real(j, "mad_us", 1e6 * stats_mad(s), 6);
    json_open(j, "samples_us", '[');
    for (int64_t i = 0; i < s->n; i++) json_real(j, NULL, 1e6 * s->at[i], 7);
    json_close(j, ']');
}

static void write_roof(json *j, const roof *r) {
    json_open(j, NULL, '{');
    json_integer(j, "threads", r->threads);
    json_text(j, "tier", r->tier);
    json_open(j, "operations_per_second", '{');
    for (int i = 0; i < CEILING_COMPUTES; i++)
        if (r->compute[i] > 0) json_real(j, ceiling_compute_name((ceiling_compute)i), r->compute[i], 5);
    json_close(j, '}');
    json_open(j, "bytes_per_second", '{');
    for (int i = 0; i < r->n_levels; i++) {
        json_open(j, r->level[i].name, '{');
        json_integer(j, "measured_bytes", (int64_t)r->level[i].measured);
        for (int a = 0; a < CEILING_ACCESSES; a++)
            json_real(j, ceiling_access_name((ceiling_access)a), r->level[i].rate[a], 5);
        json_close(j, '}');
    }
    json_close(j, '}');
    json_close(j, '}');
}

static void write_result(json *j, const bench_result *r) {
    json_open(j, NULL, '{');
    json_text(j, "row", r->key);
    json_integer(j, "threads", r->threads);
    json_bool(j, "ran", !*r->why);
    if (*r->why) {
        json_text(j, "why", r->why);
        json_close(j, '}');
        return;
    }
    write_times(j, &r->times);
    json_real(j, "flops", r->flops, 9);
    json_real(j, "bytes_read", r->read, 9);
    json_real(j, "bytes_written", r->written, 9);
    if (r->floor.seconds > 0) {
        json_text(j, "bound", r->floor.bound);
        json_real(j, "share", result_share(r), 4);
    }
    if (r->instructions > 0)
        json_real(j, "instructions", r->instructions, 10), json_text(j, "counted_by", r->counted_by);
    if (r->memory > 0) json_real(j, "planned_bytes", r->planned, 12), json_real(j, "peak_bytes", r->memory, 12);
    if (r->verdict) {
        json_text(j, "verdict", r->verdict == VERDICT_SLOWER ? "slower" : verdicts[r->verdict]);
        if (r->verdict != VERDICT_NEW) json_real(j, "speedup", r->speedup, 4), json_real(j, "chance", r->chance, 3);
    }
    json_open(j, "peers", '[');
    for (int i = 0; i < r->n_peers; i++) {
        json_open(j, NULL, '{');
        json_text(j, "name", r->peers[i].name);
        json_bool(j, "same_result", !r->peers[i].differs);
        json_real(j, "ratio", r->peers[i].ratio, 4);
        json_real(j, "ratio_low", r->peers[i].low, 4);
        json_real(j, "ratio_high", r->peers[i].high, 4);
        if (r->peers[i].memory > 0) json_real(j, "peak_bytes", r->peers[i].memory, 12);
        write_times(j, &r->peers[i].times);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

void results_write_json(const bench_results *all) {
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "version", wick_version());
    json_open(&j, "ceilings", '[');
    for (int i = 0; i < all->n_roofs; i++) write_roof(&j, &all->roofs[i]);
    json_close(&j, ']');
    json_open(&j, "rows", '[');
    for (int i = 0; i < all->n; i++) write_result(&j, &all->at[i]);
    json_close(&j, ']');
    log_json_close(&j);
}
