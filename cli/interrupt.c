#include "interrupt.h"

#include "cli.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t asked;

static void on_signal(int number) {
    (void)number;
    if (asked) _exit(CLI_INTERRUPTED);
    asked = 1;
}

void interrupt_watch(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool interrupted(void) { return asked; }
