/* launch.c: starts ranks, passes signals on to them, and ends all when one fails. */
#include "launch.h"

#include "../options.h"
#include "../term/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    KEPT = 1 << 16,  /* bytes of what a rank prints */
    LINE = 1 << 12,  /* --verbose: longer lines are cut in two */
    TERM_MS = 500,   /* after a rank failed the others may say so themselves before they get SIGTERM */
    KILL_MS = 4000,  /* and then SIGKILL */
    INSISTS = 3,     /* signals to this process after which ranks get SIGKILL */
    WAIT_MOST = 3600 /* seconds that poll waits at once */
};

typedef struct rank_process {
    pid_t pid;
    int out;          /* what it prints; -1: it prints where this process does */
    bool ended, told; /* told: it ended before it was asked to */
    int status;       /* as waitpid has it */
    char *kept;       /* the last KEPT bytes of it: a ring */
    size_t n;         /* bytes so far */
    char line[LINE];  /* --verbose: of the line under way */
    size_t in_line;
} rank_process;

typedef struct ranks {
    launch *l;
    rank_process *at;
    int n, running;
    double failed;    /* when the first one did; 0: none has */
    double told;      /* when this process got its first signal; 0: none came */
    int first, asked; /* the rank that failed first, or -1; how many signals this process got */
    bool terminated, killed;
} ranks;

static bool failed(int status) { return !WIFEXITED(status) || WEXITSTATUS(status) != 0; }
static int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

/* ---- a rank's process -------------------------------------------------------------------------------------------- */

static void set_number(const char *name, double value) {
    char text[32];
    snprintf(text, sizeof text, "%.9g", value);
    setenv(name, text, 1);
}

static int threads_of(const launch *l) {
    const wick_limits limits = wick_limits_get();
    const int cpus = limits.quota && limits.quota < limits.affinity ? limits.quota : limits.affinity;
    return l->o->threads ? (int)l->o->threads : cpus / l->ranks > 1 ? cpus / l->ranks : 1;
}

static void become(const launch *l, wick_group_host *host, int rank, int out, pid_t parent) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0); /* a terminal's Ctrl-C is passed on by the parent alone, to the rank and what it starts */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(CLI_FAILED);
    const bool terminal = rank == 0 && isatty(STDIN_FILENO); /* a group in the background may not read it */
    const int null = rank || terminal ? open("/dev/null", O_RDONLY) : -1;
    if ((null >= 0 && dup2(null, STDIN_FILENO) < 0) ||
        (out >= 0 && (dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)) ||
        wick_group_host_enter(host, rank) != WICK_OK)
        _exit(CLI_FAILED);
    set_number("WICK_RESTART", l->restart);
    if (l->o->threads || !getenv("WICK_THREADS")) set_number("WICK_THREADS", threads_of(l));
    if (options_given(l->o, "timeout") || !getenv("WICK_GROUP_TIMEOUT"))
        set_number("WICK_GROUP_TIMEOUT", l->o->of_launch.timeout);
    execvp(l->command[0], l->command);
    const int why = errno;
    fprintf(stderr, "wick: could not start %s: %s\n", l->command[0], strerror(why));
    _exit(why == ENOENT ? 127 : 126); /* as shells count */
}

static int start(ranks *r, wick_group_host *host, int rank) {
    rank_process *p = &r->at[rank];
    int ends[2] = {-1, -1};
    const bool own = rank > 0;
    if (own && !(p->kept = malloc(KEPT))) return log_fail(CLI_FAILED, "out of memory");
    if (own && pipe2(ends, O_CLOEXEC) != 0) return log_fail(CLI_FAILED, "could not make a pipe: %s", strerror(errno));
    if (own) fcntl(ends[0], F_SETFL, O_NONBLOCK);
    const pid_t parent = getpid();
    p->pid = fork();
    if (p->pid == 0) become(r->l, host, rank, ends[1], parent);
    if (own) close(ends[1]);
    p->out = ends[0];
    if (p->pid < 0) return log_fail(CLI_FAILED, "could not start rank %d: %s", rank, strerror(errno));
    setpgid(p->pid, p->pid); /* whoever comes first */
    r->running++;
    return CLI_OK;
}

static void signal_all(const ranks *r, int number) {
    for (int i = 0; i < r->n; i++)
        if (r->at[i].pid > 0 && !r->at[i].ended) kill(-r->at[i].pid, number);
}

/* ---- what ranks print -------------------------------------------------------------------------------------------- */

static void show_line(int rank, const char *line, size_t n) { fprintf(stderr, "[%d] %.*s\n", rank, (int)n, line); }

static void show_as_it_comes(ranks *r, int rank, const char *text, size_t n) {
    rank_process *p = &r->at[rank];
    for (size_t i = 0; i < n; i++) {
        if (text[i] != '\n') p->line[p->in_line++] = text[i];
        if (text[i] != '\n' && p->in_line < LINE) continue;
        show_line(rank, p->line, p->in_line);
        p->in_line = 0;
    }
}

/* Takes what there is; false: the end. */
static bool take_output(ranks *r, int rank) {
    rank_process *p = &r->at[rank];
    char text[4096];
    ssize_t n;
    while ((n = read(p->out, text, sizeof text)) > 0) {
        for (ssize_t i = 0; i < n; i++) p->kept[p->n++ % KEPT] = text[i];
        if (r->l->o->verbose) show_as_it_comes(r, rank, text, (size_t)n);
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static bool same_output(const rank_process *a, const rank_process *b) {
    return a->n == b->n && memcmp(a->kept, b->kept, a->n < KEPT ? a->n : KEPT) == 0;
}

/* What a failed rank printed, a line each with its number. */
static void show_kept(const ranks *r, int rank) {
    const rank_process *p = &r->at[rank];
    const size_t from = p->n > KEPT ? p->n - KEPT : 0;
    char line[LINE];
    size_t n = 0;
    for (size_t i = from; i < p->n; i++) {
        const char c = p->kept[i % KEPT];
        if (c != '\n') line[n++] = c;
        if (c != '\n' && n < LINE && i + 1 < p->n) continue;
        show_line(rank, line, n);
        n = 0;
    }
}

static void show_failures(const ranks *r) {
    int shown = -1, same = 0;
    if (r->l->o->verbose) return;
    for (int k = -1; k < r->n; k++) { /* the first that failed, then the others that did by themselves */
        const int i = k < 0 ? r->first : k;
        const rank_process *p = &r->at[i];
        if (i < 1 || (k >= 0 && (i == r->first || !p->told)) || !failed(p->status) || !p->n) continue;
        if (shown >= 0 && same_output(p, &r->at[shown])) {
            same++;
            continue;
        }
        show_kept(r, i);
        if (shown < 0) shown = i;
    }
    if (same) log_warn("%d other rank%s said the same as rank %d", same, plural(same), shown);
}

/* ---- watching ---------------------------------------------------------------------------------------------------- */

/* Of ranks that are found at the same time one that a signal ended is the cause, and not those that noticed. */
static void reap(ranks *r) {
    int first = -1;
    for (int i = 0; i < r->n; i++) {
        rank_process *p = &r->at[i];
        if (p->pid <= 0 || p->ended || waitpid(p->pid, &p->status, WNOHANG) != p->pid) continue;
        p->ended = true;
        p->told = !r->terminated && !r->killed;
        r->running--;
        if (!failed(p->status)) continue;
        if (first < 0 || (WIFSIGNALED(p->status) && !WIFSIGNALED(r->at[first].status))) first = i;
    }
    if (first < 0 || r->first >= 0) return;
    r->first = first;
    r->failed = now_seconds();
}

static void read_signals(ranks *r) {
    struct signalfd_siginfo info;
    while (read(r->l->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD) continue;
        if (!r->asked++) r->told = now_seconds();
        signal_all(r, r->asked < INSISTS ? (int)info.ssi_signo : SIGKILL);
    }
}

/* Ends those that did not heed a signal in the time that --grace gives; returns as end_others. */
static int end_the_deaf(ranks *r) {
    const double grace = r->l->o->of_launch.grace, left = grace - (now_seconds() - r->told);
    if (!grace || r->killed) return -1;
    if (left > 0) return left < WAIT_MOST ? (int)(left * 1e3) + 1 : (int)(WAIT_MOST * 1e3);
    for (int i = 0; i < r->n; i++)
        if (!r->at[i].ended) log_warn("rank %d did not end within %g s of the signal: killed", i, grace);
    r->killed = true;
    signal_all(r, SIGKILL);
    return -1;
}

/* Ends those that are left after a failure; returns milliseconds until there is something to do, -1: nothing. */
static int end_others(ranks *r) {
    if (r->asked) return end_the_deaf(r); /* they save what they have, also where one failed meanwhile */
    if (!r->failed) return -1;
    const double ms = (now_seconds() - r->failed) * 1e3;
    if (ms >= TERM_MS && !r->terminated) r->terminated = true, signal_all(r, SIGTERM);
    if (ms >= KILL_MS && !r->killed) r->killed = true, signal_all(r, SIGKILL);
    return r->killed ? -1 : (int)((r->terminated ? KILL_MS : TERM_MS) - ms) + 1;
}

static void watch(ranks *r, struct pollfd *polls) {
    while (r->running > 0) {
        const int wait = end_others(r);
        polls[0] = (struct pollfd){.fd = r->l->signals, .events = POLLIN};
        for (int i = 0; i < r->n; i++) polls[1 + i] = (struct pollfd){.fd = r->at[i].out, .events = POLLIN};
        const int ready = poll(polls, (nfds_t)r->n + 1, wait);
        if (ready < 0 && errno != EINTR) return;
        for (int i = 0; i < r->n && ready > 0; i++) {
            if (!polls[1 + i].revents || take_output(r, i)) continue;
            close(r->at[i].out);
            r->at[i].out = -1;
        }
        read_signals(r);
        reap(r);
    }
    for (int i = 0; i < r->n; i++)
        if (r->at[i].out >= 0) (void)take_output(r, i); /* what it started may have the pipe still: no waiting for it */
}

static void describe(const ranks *r, launch_end *end) {
    end->rank = r->first;
    end->interrupted = r->asked > 0;
    if (r->first < 0) return;
    const int status = r->at[r->first].status;
    end->code = code_of(status);
    if (WIFSIGNALED(status))
        snprintf(end->how, sizeof end->how, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(end->how, sizeof end->how, "exit code %d", end->code);
}

int launch_once(launch *l, launch_end *end) {
    wick_group_host *host = NULL;
    const size_t n = (size_t)l->ranks;
    ranks r = {.l = l, .n = l->ranks, .first = -1, .at = calloc(n, sizeof *r.at)};
    struct pollfd *polls = calloc(n + 1, sizeof *polls);
    *end = (launch_end){.rank = -1};
    for (size_t i = 0; i < n && r.at; i++) r.at[i].out = -1;
    int code = r.at && polls ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK && wick_group_host_new(l->ctx, l->ranks, &host) != WICK_OK)
        code = log_fail(CLI_FAILED, "could not start ranks: %s", wick_context_error(l->ctx));
    for (int i = 0; i < l->ranks && code == CLI_OK; i++) code = start(&r, host, i);
    wick_group_host_free(&host); /* or the others would not see that a rank is gone */
    if (code != CLI_OK && r.at) signal_all(&r, SIGKILL);
    if (r.at && polls) watch(&r, polls);
    if (code == CLI_OK) describe(&r, end), show_failures(&r);
    for (int i = 0; r.at && i < l->ranks; i++) {
        if (r.at[i].out >= 0) close(r.at[i].out);
        free(r.at[i].kept);
    }
    free(r.at);
    free(polls);
    return code;
}
