/* results.h: what wick bench found, and where it goes: lines, JSON, a page. */
#ifndef WICK_CLI_BENCH_RESULTS_H
#define WICK_CLI_BENCH_RESULTS_H

#include "../cli.h"
#include "roof.h"
#include "timing.h"

#include <stdio.h>

enum { BENCH_PEERS = 5 };

typedef char bench_key[96]; /* "gemm/f32_64x64x64", "elementwise/add 64K" */

/* Another program's turns at a row, between Wick's. */
typedef struct peer_times {
    char name[24]; /* "PyTorch" */
    timing times;
    bool differs;            /* its result is another one */
    double ratio, low, high; /* its median by Wick's, above 1 where Wick is faster, and the 95 % interval */
    double memory;           /* bytes; 0: not measured */
} peer_times;

typedef enum bench_verdict { VERDICT_NONE, VERDICT_NEW, VERDICT_SAME, VERDICT_FASTER, VERDICT_SLOWER } bench_verdict;

typedef struct bench_result {
    const bench_row *row;
    bench_key key;
    int threads;
    timing times;
    double flops, read, written;
    floor_time floor; /* seconds 0: nothing bounds it */
    double planned, memory;  /* bytes besides the inputs: by the plan, and measured; 0: not measured */
    double instructions;     /* of one run; 0: not counted */
    char counted_by[32];
    int n_peers;
    peer_times peers[BENCH_PEERS];
    /* Beside another version, of --against and --regress: its median by this one's, and how likely such a difference is
     * by chance. */
    samples base;
    bench_verdict verdict;
    double speedup, low, high, chance;
    char why[256]; /* it did not run; "" it did */
} bench_result;

typedef struct bench_results {
    int n, n_roofs;
    bench_result *at;
    roof *roofs; /* one for each number of threads */
} bench_results;

typedef char time_text[24];
const char *text_time(time_text text, double seconds); /* "1.23 ms" */
double result_share(const bench_result *r); /* of the ceiling; NAN where nothing bounds it */

void results_print_ceilings(const roof *r);
void results_print_header(void);
void results_print(const bench_result *r);
/* Means by suite: shares of the ceilings, and ratios to peers. */
void results_print_summary(const bench_results *all);
void results_write_json(const bench_results *all);
void results_write_page(FILE *out, const bench_results *all);
void results_write_markdown(FILE *out, const bench_results *all);

typedef enum results_kept { KEEP_BASE, KEEP_MEDIAN, KEEP_BASE_MEDIAN } results_kept;
/* Reads what --json wrote, the text of `path`, for the rows that have the same name and threads: adds its samples to
 * their base; or their median alone to the times or the base, since samples of one process are more alike than those of
 * two. CLI_OK or an exit code, with what is wrong said. */
int results_read(bench_results *all, const char *text, const char *path, results_kept what);
/* Verdicts of all rows from their times and base. */
void results_judge(bench_results *all);
/* Builds another commit of the repository here, and runs both versions in turn, as child processes: the rows' times and
 * base. */
int results_regress(bench_results *all, const cli_options *o);

#endif
