#include "interrupt.h"

#include "cli.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t asked, insisted;
static const char *volatile last_words; /* NULL: none */

static void on_signal(int number) {
    asked = 1;
    if (number != SIGINT && number != SIGTERM) return;
    const char *words = last_words;
    size_t n = 0;
    while (insisted && words && words[n]) n++;
    if (n && write(STDERR_FILENO, words, n) < 0) n = 0; /* there is nobody to tell */
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

void interrupt_last_words(const char *text) { last_words = text; }

bool interrupted(void) { return asked; }
