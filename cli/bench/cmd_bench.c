/* wick bench: how fast Wick is here, row by row, beside what the machine can do; beside others; and beside another
 * version of itself. */
#include "alone.h"
#include "peers.h"
#include "../options.h"
#include "../paths.h"
#include "../term/log.h"

#include "wick/io.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_SAMPLES = 10, MOST_THREAD_COUNTS = 8 };

/* Networks, and rows that are about memory, have it measured. */
static bool is_of_memory(const bench_row *row) { return row->network || strcmp(row->suite, "memory") == 0; }

/* "gemm", "f32_*" and "gemm/f32_*" are all patterns of a row. */
static bool matches(const char *pattern, const bench_row *row) {
    bench_key both;
    snprintf(both, sizeof both, "%s/%s", row->suite, row->name);
    return fnmatch(pattern, row->suite, 0) == 0 || fnmatch(pattern, row->name, 0) == 0 ||
           fnmatch(pattern, both, 0) == 0 || (strcmp(pattern, "memory") == 0 && is_of_memory(row));
}
static bool wanted(const cli_options *o, const bench_row *row) {
    bool any = !o->model || matches(o->model, row);
    for (int i = 0; i < o->n_files; i++) any |= matches(o->files[i], row);
    return any;
}
static bool known_sizes(const char *list) {
    static const bench_row sized = {.inputs = "(s)"};
    bool known = *list != '\0';
    for (const char *s = list; known && *s; s += strcspn(s, ","), s += *s == ',') {
        const size_t n = strcspn(s, ",");
        known = false;
        for (int k = 0; k < BENCH_SIZES; k++)
            known |= strlen(bench_row_size(&sized, k)) == n && memcmp(bench_row_size(&sized, k), s, n) == 0;
    }
    return known;
}
/* A word of the list "1K,64K"; an empty size is always wanted. */
static bool in_list(const char *list, const char *word) {
    const size_t n = strlen(word);
    for (const char *s = list; n; s += strcspn(s, ","), s += *s == ',') {
        const size_t length = strcspn(s, ",");
        if (length == n && memcmp(s, word, n) == 0) return true;
        if (!s[length]) return false;
    }
    return true;
}

static const char *suite_or_row(int i, const void *user) {
    (void)user;
    const bench_row *row = bench_row_at(i / 2);
    return i % 2 ? row->name : row->suite;
}
static int refuse_pattern(const char *pattern) {
    int n = 0;
    while (bench_row_at(n)) n++;
    const char *near = nearest_name(pattern, 2 * n, suite_or_row, NULL);
    if (path_exists(pattern))
        return log_fail(CLI_USAGE, "%s is a file, and rows are measured: wick run MODEL.onnx --bench measures a model",
                        pattern);
    return log_fail(
        CLI_USAGE, near ? "no row matches '%s'; did you mean %s?" : "no row matches '%s'; wick bench --list shows them",
        pattern, near);
}

static int read_threads(const cli_options *o, int *counts, int *n) {
    for (const char *s = o->of_bench.thread_counts; *n < MOST_THREAD_COUNTS;) {
        char *end;
        const long value = strtol(s, &end, 10);
        if (end == s || value < 1 || value > WICK_THREADS_MAX || (*end && *end != ',')) break;
        counts[(*n)++] = (int)value;
        if (!*end) return CLI_OK;
        s = end + 1;
    }
    return log_fail(CLI_USAGE, "--threads needs numbers of threads up to %d, such as 1,2, not '%s'", WICK_THREADS_MAX,
                    o->of_bench.thread_counts);
}

static ceiling_compute arithmetic(const subject *s) {
    ceiling_compute kind = CEILING_F32;
    for (int i = 0; i < s->n_in; i++) {
        const wick_dtype d = s->in[i].dtype;
        if (d == WICK_F64) kind = CEILING_F64;
        if (d == WICK_BF16 && kind == CEILING_F32) kind = CEILING_BF16;
        /* beside f32 they are weights, which become such */
        if ((d == WICK_I8 || d == WICK_U8) && kind == CEILING_F32 && s->in[0].dtype != WICK_F32) kind = CEILING_INT8;
    }
    return kind;
}

/* A line on a terminal that the next takes away. */
typedef struct progress_line {
    bool on, shown;
    int row, rows;
    double spent; /* on rows */
} progress_line;
static void show_progress(progress_line *p, const char *key) {
    if (!p->on) return;
    const double left = p->row ? p->spent / p->row * (p->rows - p->row) : 0;
    fprintf(stderr, "\r\x1b[2K%d/%d  %s", p->row + 1, p->rows, key);
    if (p->row) fprintf(stderr, left < 100 ? "  %.0f s left" : "  %.0f min left", left < 100 ? left : left / 60);
    fflush(stderr);
    p->shown = true;
}
static void clear_progress(progress_line *p) {
    if (p->shown) fputs("\r\x1b[2K", stderr);
    p->shown = false;
}

/* Samples of Wick and of its peers in turn. */
static bool measure(bench_result *r, subject *s, peers *others, double seconds, bool one_thread) {
    if (!timing_start(&r->times, s, one_thread)) return false;
    if (others && !peers_open(others, r, s)) return snprintf(s->why, sizeof s->why, "the peers' process ended"), false;
    const double began = bench_now(false);
    seconds *= 1 + r->n_peers;
    for (int64_t look = LEAST_SAMPLES;;) {
        if (!timing_sample(&r->times, s, one_thread, r->n_peers > 0)) return false;
        for (int i = 0; i < r->n_peers; i++)
            if (!peers_sample(others, &r->peers[i]))
                return snprintf(s->why, sizeof s->why, "the peers' process ended at %s", r->peers[i].name), false;
        const double spent = bench_now(false) - began;
        if (r->times.seconds.n >= look) {
            if (spent > seconds / 4 && timing_tight(&r->times)) break;
            look += look / 4;
        }
        if (spent > seconds && r->times.seconds.n >= 3) break;
    }
    samples_sort(&r->times.seconds);
    for (int i = 0; i < r->n_peers; i++) {
        peer_times *p = &r->peers[i];
        samples_sort(&p->times.seconds);
        p->ratio = stats_ratio(&p->times.seconds, &r->times.seconds, &p->low, &p->high);
    }
    return true;
}

/* What a row takes besides time. */
static void measure_alone(bench_result *r, int size, subject *s, const cli_options *o, const counter *instructions) {
    const double seconds = stats_quantile(&r->times.seconds, 0.5);
    char why[96];
    if (instructions->file >= 0) {
        const double before = counter_read(instructions);
        if (!subject_run(s, r->times.batch)) return;
        r->instructions = (counter_read(instructions) - before) / (double)r->times.batch;
        snprintf(r->counted_by, sizeof r->counted_by, "the CPU");
    } else if (o->of_bench.instructions && !alone_instructions(r, size, seconds, why, sizeof why)) {
        snprintf(r->why, sizeof r->why, "--instructions: %s", why);
    }
    if (!o->of_bench.memory && !is_of_memory(r->row)) return;
    if (alone_memory(r, size) && *o->of_bench.peers && r->n_peers && !peers_memory(o->of_bench.peers, r, s))
        log_note("%s: the memory of its peers could not be measured", r->key);
}

static void run_row(bench_result *r, int size, const roof *ceilings, peers *others, const cli_options *o) {
    subject s;
    counter instructions; /* of the threads too, which the row starts */
    counter_open(&instructions);
    bool ok = subject_open(&s, r->row, size, r->threads);
    if (ok) {
        r->flops = s.flops;
        r->read = s.read;
        r->written = s.written;
        if (!r->row->call)
            r->floor =
                roof_floor(ceilings, arithmetic(&s), s.flops - SOFTMAX_FLOPS * s.exps, s.exps, s.read, s.written);
        ok = measure(r, &s, *r->row->peer ? others : NULL, o->time, r->threads == 1);
        if (ok) measure_alone(r, size, &s, o, &instructions);
    }
    if (!ok) snprintf(r->why, sizeof r->why, "%s", s.why);
    subject_close(&s);
    counter_close(&instructions);
}

static void list_rows(const cli_options *o) {
    const bench_row *row;
    const char *size;
    for (int i = 0; (row = bench_row_at(i)); i++) {
        if (!wanted(o, row)) continue;
        printf("%s/%s", row->suite, row->name);
        for (int k = 0; (size = bench_row_size(row, k)); k++) printf("%s%s", *size ? " " : "", size);
        printf("\n");
    }
}

static void results_free(bench_results *all) {
    for (int i = 0; i < all->n; i++) {
        samples_free(&all->at[i].times.seconds);
        samples_free(&all->at[i].base);
        for (int p = 0; p < all->at[i].n_peers; p++) samples_free(&all->at[i].peers[p].times.seconds);
    }
    free(all->at);
    free(all->roofs);
}

/* Every wanted row at every wanted size, for each number of threads. */
static int plan_rows(const cli_options *o, const int *threads, int n_threads, bench_results *all) {
    const bench_row *row;
    const char *size;
    int rows = 0;
    while (bench_row_at(rows)) rows++;
    all->at = calloc((size_t)(rows * BENCH_SIZES * n_threads) + 1, sizeof *all->at);
    all->roofs = calloc((size_t)n_threads, sizeof *all->roofs);
    if (!all->at || !all->roofs) return log_fail(CLI_FAILED, "out of memory");
    for (int t = 0; t < n_threads; t++)
        for (int i = 0; (row = bench_row_at(i)); i++)
            for (int k = 0; (size = bench_row_size(row, k)); k++) {
                if (!wanted(o, row) || !in_list(o->of_bench.sizes, size)) continue;
                bench_result *r = &all->at[all->n++];
                *r = (bench_result){.row = row, .threads = threads[t]};
                snprintf(r->key, sizeof r->key, "%s/%s%s%s", row->suite, row->name, *size ? " " : "", size);
            }
    return CLI_OK;
}

static int size_of_key(const bench_result *r) {
    int k = 0;
    for (const char *size; (size = bench_row_size(r->row, k)) && *size; k++)
        if (strcmp(strrchr(r->key, ' ') + 1, size) == 0) return k;
    return 0;
}

/* Whether instructions can be counted, if that is asked for; `why` not by the CPU. */
static int check_counters(const cli_options *o, char *why, size_t room) {
    counter c;
    counter_open(&c);
    snprintf(why, room, "%s", c.why);
    counter_close(&c);
    if (!*why || !o->of_bench.instructions || alone_has_callgrind()) return CLI_OK;
    return log_fail(
        CLI_FAILED,
        "--instructions: the CPU's counters: %s; valgrind is not installed (on Debian: apt install valgrind)", why);
}

static bool is_held(const cli_options *o) { return strcmp(o->isa, "any") != 0; }
static int check_isa(const cli_options *o) {
    for (int i = 0; i < wick_isa_count() && is_held(o); i++)
        if (wick_isa_at(i).chosen && strcmp(wick_isa_at(i).name, o->isa) != 0)
            return log_fail(CLI_FAILED, "--isa %s: this CPU has no such tier: %s is its best", o->isa,
                            wick_isa_at(i).name);
    return CLI_OK;
}
/* What each peer says; a line for who reads rows, a message beside JSON. One that goes beyond is no peer. */
static int check_peers(peers *others, const cli_options *o) {
    char line[512];
    if (!peers_instructions(others, line, sizeof line)) return CLI_OK; /* the first row says that they have ended */
    if (strchr(line, '!')) return log_fail(CLI_FAILED, "--isa %s: a peer goes beyond it (!): %s", o->isa, line);
    if (o->json)
        log_note("peers by their own word: %s", line);
    else
        printf("  peers by their own word: %s\n", line);
    return CLI_OK;
}

static int run_all(bench_results *all, const cli_options *o, const int *threads, int n_threads) {
    char no_counters[96];
    progress_line progress = {.on = !o->quiet && log_columns(stderr) > 0, .rows = all->n};
    int code = check_counters(o, no_counters, sizeof no_counters);
    for (int t = 0; code == CLI_OK && t < n_threads; t++) {
        ceiling_pin(threads[t], -1);
        roof *ceilings = &all->roofs[all->n_roofs++];
        roof_measure(ceilings, threads[t], o->time > 0 ? SIZE_MAX : ROOF_BRIEF);
        if (!o->json) {
            if (t) printf("\n");
            results_print_ceilings(ceilings);
            if (*no_counters) printf("  counters of instructions: %s (--instructions takes callgrind)\n", no_counters);
            if (all->n && !*o->of_bench.against) results_print_header();
        }
        peers others = {0};
        if (*o->of_bench.peers) code = peers_start(&others, o->of_bench.peers, threads[t]);
        if (code == CLI_OK && *o->of_bench.peers && is_held(o)) code = check_peers(&others, o);
        for (; code == CLI_OK && progress.row < all->n && all->at[progress.row].threads == threads[t]; progress.row++) {
            bench_result *r = &all->at[progress.row];
            const double began = bench_now(false);
            show_progress(&progress, r->key);
            run_row(r, size_of_key(r), ceilings, *o->of_bench.peers ? &others : NULL, o);
            progress.spent += bench_now(false) - began;
            clear_progress(&progress);
            /* who interrupts has what was measured, in a file too */
            if (!o->json && !*o->of_bench.against) results_print(r), fflush(stdout);
        }
        peers_stop(&others);
    }
    return code;
}

/* Rows for other programs' eyes. */
static int run_alone(const bench_results *all, const cli_options *o) {
    bool ok = true;
    for (int i = 0; i < all->n; i++) {
        if (i == 0 || all->at[i].threads != all->at[i - 1].threads) ceiling_pin(all->at[i].threads, -1);
        ok = alone_run(&all->at[i], size_of_key(&all->at[i]), o->runs, o->json) && ok;
    }
    return ok ? CLI_OK : CLI_FAILED;
}

/* What can be known to be wrong before rows are measured for an hour: the base that can't be read, and folders to write
 * into. */
static int check_files(bench_results *all, const cli_options *o) {
    const char *const targets[] = {o->html, o->of_bench.markdown};
    int code = CLI_OK;
    if (*o->of_bench.against) {
        size_t size;
        char *text = path_read(o->of_bench.against, &size);
        code = text ? results_read(all, text, o->of_bench.against, KEEP_BASE)
                    : log_fail(CLI_BAD_FILE, "%s: cannot be read: %s", o->of_bench.against, strerror(errno));
        free(text);
    }
    for (int i = 0; i < 2 && code == CLI_OK; i++) {
        const char *slash = strrchr(targets[i], '/');
        char *folder = strndup(targets[i], slash ? (size_t)(slash - targets[i]) + 1 : 0);
        if (!folder)
            code = log_fail(CLI_FAILED, "out of memory");
        else if (*targets[i] && access(*folder ? folder : ".", W_OK) != 0)
            code = log_fail(CLI_FAILED, "%s: cannot be written: %s", targets[i], strerror(errno));
        free(folder);
    }
    return code;
}

/* A file of what is printed, whole or not at all. */
static int write_file(const bench_results *all, const char *path, void (*print)(FILE *out, const bench_results *all)) {
    wick_context *ctx;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out) print(out, all);
    const bool whole = out && !ferror(out);
    if (!out || fclose(out) != 0 || !whole ||
        wick_context_new(&(wick_context_options){.threads = 1}, &ctx) != WICK_OK) {
        free(text);
        return log_fail(CLI_FAILED, "%s: out of memory", path);
    }
    const wick_status status = wick_file_write(ctx, path, text, size);
    const int code = status == WICK_OK ? CLI_OK : log_fail(log_code(status, CLI_FAILED), "%s", log_why(ctx, status));
    wick_context_free(&ctx);
    free(text);
    return code;
}

int cmd_bench(cli_options *o) {
    const bench_row *row;
    bench_results all = {0};
    for (int p = -1; p < o->n_files && o->model; p++) {
        const char *pattern = p < 0 ? o->model : o->files[p];
        bool any = strcmp(pattern, "ceilings") == 0;
        for (int i = 0; !any && (row = bench_row_at(i)); i++) any = matches(pattern, row);
        if (!any) return refuse_pattern(pattern);
    }
    if (o->of_bench.list) return list_rows(o), CLI_OK;
    int threads[MOST_THREAD_COUNTS], n_threads = 0, code = read_threads(o, threads, &n_threads);
    const bool compares = *o->of_bench.against || *o->of_bench.regress;
    if (*o->of_bench.against && *o->of_bench.regress)
        code = log_fail(CLI_USAGE, "--against and --regress are two different bases");
    if (code == CLI_OK && !known_sizes(o->of_bench.sizes))
        code = log_fail(CLI_USAGE, "--size needs some of 1K,64K,16M, not '%s'", o->of_bench.sizes);
    if (*o->of_bench.peers && *o->of_bench.regress)
        code = log_fail(CLI_USAGE, "--peers has no effect beside --regress");
    if (code == CLI_OK) code = check_isa(o);
    if (code == CLI_OK && is_held(o)) peers_hold_to_avx2();
    if (code == CLI_OK) code = plan_rows(o, threads, n_threads, &all);
    if (code == CLI_OK && o->runs) {
        code = run_alone(&all, o);
        results_free(&all);
        return code;
    }
    if (code == CLI_OK) code = check_files(&all, o);
    if (code == CLI_OK && *o->of_bench.regress)
        code = results_regress(&all, o);
    else if (code == CLI_OK)
        code = run_all(&all, o, threads, n_threads);
    if (code == CLI_OK && compares) results_judge(&all);
    if (code == CLI_OK && *o->html) code = write_file(&all, o->html, results_write_page);
    if (code == CLI_OK && *o->of_bench.markdown) code = write_file(&all, o->of_bench.markdown, results_write_markdown);
    if (code == CLI_OK && o->json) results_write_json(&all);
    for (int i = 0; code == CLI_OK && !o->json && compares && i < all.n; i++) {
        if (i == 0) results_print_header();
        results_print(&all.at[i]);
    }
    if (code == CLI_OK && !o->json && all.n) results_print_summary(&all);
    for (int i = 0; i < all.n && code == CLI_OK; i++)
        code = *all.at[i].why || all.at[i].verdict == VERDICT_SLOWER ? CLI_FAILED : CLI_OK;
    results_free(&all);
    return code;
}
