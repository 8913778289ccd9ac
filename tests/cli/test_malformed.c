/* Every file of the shared malformed ones goes through wick verify, wick inspect and wick run in processes of their
 * own, which may use 256 MB and a second of a CPU: read or refused, with an exit code that says so, and nothing else.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#ifndef WICK_COMMAND /* it is not built */
#define WICK_COMMAND ""
#endif

enum { MEMORY = 256 << 20 };
static const rlim_t cpu_seconds = TEST_SANITIZED ? 60 : 1;

typedef struct extreme {
    double value;
    char what[600];
} extreme;
static extreme slowest, largest;
static int files, runs, read_cleanly;

static void note(extreme *e, double value, const char *command, const char *path) {
    if (value <= e->value) return;
    e->value = value;
    snprintf(e->what, sizeof e->what, "wick %s %s", command, strrchr(path, '/') + 1);
}

static void run_command(const char *command, const char *path) {
    const pid_t child = fork();
    if (child == 0) {
        const int null = open("/dev/null", O_WRONLY);
        dup2(null, 1), dup2(null, 2);
        setrlimit(RLIMIT_CPU, &(struct rlimit){cpu_seconds, cpu_seconds + 1});
        if (!TEST_SANITIZED) setrlimit(RLIMIT_AS, &(struct rlimit){MEMORY, MEMORY}); /* sanitizers reserve terabytes */
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        const bool run = !strcmp(command, "run");
        execl(WICK_COMMAND, WICK_COMMAND, command, path, "--json", run ? "--input" : NULL, "random", "--threads", "1",
              (char *)NULL);
        _exit(99);
    }
    int status = -1;
    struct rusage used;
    CHECK(child > 0 && wait4(child, &status, 0, &used) == child);
    runs++;
    CHECK_MSG(WIFEXITED(status), "wick %s %s: signal %d", command, path, WTERMSIG(status));
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    CHECK_MSG(code == 0 || code == 2 || code == 3 || code < 0, "wick %s %s: exit code %d", command, path, code);
    read_cleanly += code == 0;
    if (!TEST_SANITIZED)
        CHECK_MSG(used.ru_maxrss <= MEMORY >> 10, "wick %s %s: %ld KiB", command, path, used.ru_maxrss);
    note(&slowest,
         (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
             1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec),
         command, path);
    note(&largest, (double)used.ru_maxrss / 1024, command, path);
}

static void all_below(const char *folder) {
    struct dirent **names;
    const int n = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[1024];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && stat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode)) all_below(path);
            else {
                files++;
                static const char *const commands[] = {"verify", "inspect", "run"};
                for (int k = 0; k < 3; k++) run_command(commands[k], path);
            }
        }
        free(names[i]);
    }
    if (n >= 0) free(names);
}

TEST(malformed_files_are_read_or_refused_within_a_second_and_256_megabytes) {
    char folder[512];
    const char *models = getenv("WICK_MODELS");
    struct stat st;
    snprintf(folder, sizeof folder, "%s/malformed", models ? models : ".");
    if (!*WICK_COMMAND || stat(folder, &st) != 0) SKIP("no command, or WICK_MODELS names no folder of models");
    all_below(folder);
    CHECK(files > 0 && read_cleanly < runs / 2);
    printf("%d files, %d runs, %d of them clean; slowest %.3f s (%s), largest %.1f MiB (%s)\n", files, runs,
           read_cleanly, slowest.value, slowest.what, largest.value, largest.what);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
