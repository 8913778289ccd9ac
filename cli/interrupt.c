#include "interrupt.h"

#include "cli.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t asked, insisted;

static void on_signal(int number) {
    asked = 1;
    if (number != SIGINT && number != SIGTERM) return;
    if (insisted) _exit(CLI_INTERRUPTED);
    insisted = 1;
}

void interrupt_watch(void) {
    static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGPIPE};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++) {
        const bool by_hand = watched[i] == SIGINT || watched[i] == SIGTERM;
        if (by_hand || (sigaction(watched[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN))
            sigaction(watched[i], &action, NULL);
    }
}

bool interrupted(void) { return asked; }
