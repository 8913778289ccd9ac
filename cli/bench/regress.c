/* regress.c: this version beside another commit of it, in turn. */
#include "results.h"

#include "../options.h"
#include "../paths.h"
#include "../term/log.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 7, MOST_WORDS = 64 };
extern char **environ;

/* Runs a command to its end, its output in the file `out` where it is not NULL. Its exit code; -1: it could not be
 * started, or was killed. */
static int run(const char *const *words, const char *out) {
    pid_t child;
    int code;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (out) posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    else posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    const int error = posix_spawnp(&child, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) return errno = error, -1;
    while (waitpid(child, &code, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}
#define RUN(out, ...) run((const char *const[]){__VA_ARGS__, NULL}, out)

/* "\n" and what follows it go. NULL: it has no such line. */
static char *first_line(const char *path) {
    size_t size;
    char *text = path_read(path, &size);
    if (text) text[strcspn(text, "\n")] = '\0';
    return text;
}

#define FOLDER "build/regress" /* of worktrees, by commit */

/* The commit in a worktree, built as releases are; `program` is its command. What was built before is used again. */
static int build(const char *revision, char program[96]) {
    static const char line[] = FOLDER "/commit";
    char tree[64], made[80], named[256], jobs[24];
    snprintf(named, sizeof named, "%s^{commit}", revision);
    if (RUN(line, "git", "rev-parse", "--verify", "--quiet", "--short=12", named) != 0)
        return log_fail(CLI_USAGE, "--regress: git knows no commit %s here", revision);
    char *commit = first_line(line);
    if (!commit) return log_fail(CLI_FAILED, "%s: cannot be read: %s", line, strerror(errno));
    snprintf(tree, sizeof tree, FOLDER "/%.40s", commit);
    free(commit);
    snprintf(made, sizeof made, "%s/build", tree);
    /* without a number make would start all compilers at once */
    snprintf(jobs, sizeof jobs, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    snprintf(program, 96, "%s/bin/wick", made);
    if (path_exists(program)) return CLI_OK;
    log_note("building %s in %s", revision, tree);
    if (!path_exists(tree) && RUN(NULL, "git", "worktree", "add", "--quiet", "--force", "--detach", tree, named) != 0)
        return log_fail(CLI_FAILED, "git could not make a worktree of %s in %s", revision, tree);
    if (RUN("/dev/null", "cmake", "-S", tree, "-B", made, "-DCMAKE_BUILD_TYPE=Release", "-DWICK_TESTS=OFF",
            "-DWICK_BENCH=OFF", "-DWICK_EXAMPLES=OFF") != 0 ||
        RUN("/dev/null", "cmake", "--build", made, "--parallel", jobs, "--target", "wick_cli") != 0)
        return log_fail(CLI_FAILED, "%s could not be built: cmake --build %s shows why", revision, made);
    return CLI_OK;
}

/* Results of one version, of a part of the time. */
static int bench(bench_results *all, const cli_options *o, const char *program, const char *out, bool base) {
    const char *words[MOST_WORDS] = {program, "bench"};
    char seconds[32];
    int n = 2;
    size_t size;
    snprintf(seconds, sizeof seconds, "%g", o->time / ROUNDS);
    for (int i = -1; i < o->n_files && o->model && n < MOST_WORDS - 12; i++)
        words[n++] = i < 0 ? o->model : o->files[i];
    const char *rest[] = {"--json", "--quiet",         "--time",    seconds,
                          "--size", o->of_bench.sizes, "--threads", o->of_bench.thread_counts};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) words[n++] = rest[i];
    const int code = run(words, out);
    if (code == CLI_USAGE) return log_fail(CLI_FAILED, "%s has no such rows, or no wick bench", program);
    if (code != CLI_OK) return log_fail(CLI_FAILED, "%s bench ended with %d", program, code);
    char *text = path_read(out, &size);
    if (!text) return log_fail(CLI_FAILED, "%s: cannot be read: %s", out, strerror(errno));
    const int read = results_read(all, text, out, base ? KEEP_BASE_MEDIAN : KEEP_MEDIAN);
    free(text);
    return read;
}

int results_regress(bench_results *all, const cli_options *o) {
    char out[64], program[96], self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) return log_fail(CLI_FAILED, "/proc/self/exe: %s", strerror(errno));
    self[length] = '\0';
    if (!path_make_folder(FOLDER)) return log_fail(CLI_FAILED, "%s: cannot be made: %s", FOLDER, strerror(errno));
    snprintf(out, sizeof out, FOLDER "/%d.json", (int)getpid());
    int code = build(o->of_bench.regress, program);
    for (int round = 0; round < 2 * ROUNDS && code == CLI_OK; round++) {
        log_note("round %d of %d", round + 1, 2 * ROUNDS);
        const bool base = (round ^ round >> 1) & 1; /* each is first in every other pair */
        code = bench(all, o, base ? program : self, out, base);
    }
    unlink(out);
    return code;
}
