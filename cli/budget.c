#include "budget.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { LOOK_SECONDS = 120 }; /* of a file that is only looked at */
static double seconds_of(const cli_options *o) {
    return o->limits.max_seconds > 0                               ? o->limits.max_seconds
           : o->command == CMD_INSPECT || o->command == CMD_VERIFY ? LOOK_SECONDS
                                                                   : 0;
}

wick_onnx_limits budget_limits(const cli_options *o) {
    return (wick_onnx_limits){.memory = (size_t)o->limits.max_memory << 20,
                              .tensor_bytes = (size_t)o->limits.max_tensor << 20,
                              .output_bytes = (size_t)o->limits.max_output << 20,
                              .nodes = o->limits.max_nodes,
                              .depth = (int)o->limits.max_depth,
                              .seconds = seconds_of(o)};
}

size_t budget_memory(const cli_options *o) {
    if (o->limits.max_memory) return (size_t)o->limits.max_memory << 20;
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const uint64_t machine = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0,
                   group = wick_limits_get().memory;
    return group && (!machine || group < machine) ? group : machine;
}

static bool as_json;
static void on_alarm(int number) { /* what is written here is all: nothing was before */
    static const char text[] = "wick: it takes longer than --max-seconds\n",
                      object[] = "{\"ok\": false, \"exit\": 3, \"error\": \"it takes longer than --max-seconds\"}\n";
    (void)number;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0 ||
        (as_json && write(STDOUT_FILENO, object, sizeof object - 1) < 0))
        _exit(CLI_FAILED);
    _exit(CLI_BAD_FILE);
}
void budget_watch(const cli_options *o) {
    const double seconds = seconds_of(o) + 1;
    if (seconds == 1) return; /* as long as it takes */
    const struct itimerval timer = {
        .it_value = {(time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)}};
    struct sigaction action = {.sa_handler = on_alarm};
    sigemptyset(&action.sa_mask);
    as_json = o->json;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}
