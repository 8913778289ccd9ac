/* wick launch: starts the ranks of a group on this machine. */
#include "launch.h"

#include "../options.h"
#include "../term/log.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { RANKS_MOST = 128, NOT_FOUND = 127, NOT_STARTED = 126 };

/* "4", or "2:8". */
static int read_ranks(launch *l, const char *text) {
    char *end;
    const long first = strtol(text, &end, 10), last = *end == ':' ? strtol(end + 1, &end, 10) : first;
    if (!*text) return log_fail(CLI_USAGE, "how many ranks? --ranks N, or -n N (see wick launch --help)");
    if (*end || end == text || end[-1] == ':' || first < 1 || last < first || last > RANKS_MOST)
        return log_fail(CLI_USAGE, "--ranks %s: 1 to %d, or MIN:MAX", text, RANKS_MOST);
    l->least = (int)first;
    l->ranks = (int)last;
    return CLI_OK;
}

/* The signals that are passed on, and those of ranks that end, are read from a descriptor. */
static int watch_signals(launch *l) {
    static const int watched[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
        struct sigaction before;
        const bool ignored = sigaction(watched[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
        if (watched[i] == SIGHUP && ignored) continue; /* nohup */
        sigaddset(&set, watched[i]);
    }
    /* of ranks too; a shell's background has SIGINT ignored, as interrupt_watch doesn't */
    static const int by_default[] = {SIGCHLD, SIGINT, SIGTERM, SIGPIPE};
    for (size_t i = 0; i < sizeof by_default / sizeof *by_default; i++) signal(by_default[i], SIG_DFL);
    l->signals = sigprocmask(SIG_BLOCK, &set, NULL) == 0 ? signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK) : -1;
    return l->signals >= 0 ? CLI_OK : log_fail(CLI_FAILED, "could not watch signals: %s", strerror(errno));
}

/* Ranks that can't be started, or are started wrongly, would fail again. */
static bool may_restart(const launch *l, const launch_end *end) {
    return end->code != CLI_OK && !end->interrupted && l->restart < l->o->of_launch.restarts &&
           end->code != CLI_USAGE && end->code != NOT_FOUND && end->code != NOT_STARTED;
}

static int restart(launch *l, char **original) {
    const char *folder;
    char **again = launch_again(original, &folder);
    if (!again) return log_fail(CLI_FAILED, "out of memory");
    if (l->command != original) free(l->command);
    l->command = again;
    if (l->ranks > l->least) l->ranks--;
    l->restart++;
    log_note("restart %d of %lld with %d rank%s%s%s", l->restart, (long long)l->o->of_launch.restarts, l->ranks,
             plural(l->ranks), folder ? ", from the last checkpoint in " : "", folder ? folder : "");
    return CLI_OK;
}

static int run(launch *l, char **original) {
    launch_end end;
    for (;;) {
        int code = launch_once(l, &end);
        if (code != CLI_OK || end.code == CLI_OK) return code;
        log_warn("rank %d of %d failed: %s", end.rank, l->ranks, end.how);
        if (!may_restart(l, &end)) return end.code;
        if ((code = restart(l, original)) != CLI_OK) return code;
    }
}

int cmd_launch(cli_options *o) {
    launch l = {.o = o, .signals = -1};
    char **command = calloc((size_t)o->n_files + 2, sizeof *command);
    int code = command ? read_ranks(&l, o->of_launch.ranks) : log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK && wick_context_new(&(wick_context_options){.threads = 1}, &l.ctx) != WICK_OK)
        code = log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK) code = watch_signals(&l);
    if (code == CLI_OK) {
        command[0] = (char *)(uintptr_t)o->model; /* of the command line; execvp takes no const */
        for (int i = 0; i < o->n_files; i++) command[1 + i] = (char *)(uintptr_t)o->files[i];
        l.command = command;
        code = run(&l, command);
    }
    if (l.command != command) free(l.command);
    free(command);
    if (l.signals >= 0) close(l.signals);
    wick_context_free(&l.ctx);
    return code;
}
