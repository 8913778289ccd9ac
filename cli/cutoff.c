/* cutoff.c: files stay mapped while a command runs. One that another program makes shorter meanwhile, or whose disk
 * fails, has pages that are no longer there: reading them raises SIGBUS. The command then ends with the exit code of a
 * bad file, and a line that names it. Only what is safe in a signal handler is used. */
#include "cutoff.h"

#include "cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static void say(const char *text, size_t n) {
    while (n) {
        const ssize_t done = write(STDERR_FILENO, text, n);
        if (done <= 0) return;
        text += done, n -= (size_t)done;
    }
}

static uintptr_t read_hex(const char **at) {
    uintptr_t v = 0;
    for (;; ++*at) {
        const char c = **at;
        if (c >= '0' && c <= '9') v = v << 4 | (uintptr_t)(c - '0');
        else if (c >= 'a' && c <= 'f') v = v << 4 | (uintptr_t)(c - 'a' + 10);
        else return v;
    }
}

/* The path of a line of /proc/self/maps, "BEGIN-END flags offset device inode   PATH", if the address is in it. */
static const char *path_of(const char *line, uintptr_t address) {
    const uintptr_t begin = read_hex(&line);
    if (*line++ != '-' || address < begin || address >= read_hex(&line)) return NULL;
    return strchr(line, '/');
}

static bool name_file(uintptr_t address) {
    static char line[8192];
    const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    char c;
    bool found = false;
    while (fd >= 0 && !found && read(fd, &c, 1) == 1) {
        if (c != '\n') {
            if (n < sizeof line - 1) line[n++] = c;
            continue;
        }
        line[n] = 0;
        const char *path = path_of(line, address);
        if (path) say(path, strlen(path));
        found = path != NULL;
        n = 0;
    }
    if (fd >= 0) close(fd);
    return found;
}

static void on_fault(int number, siginfo_t *info, void *user) {
    static const char head[] = "wick: ", file[] = "a file",
                      why[] = ": was cut off, or could not be read from its disk, while it was in use\n";
    (void)user;
    if (info->si_code != BUS_ADRERR) { /* not of a file: what it would have been */
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    say(head, sizeof head - 1);
    if (!name_file((uintptr_t)info->si_addr)) say(file, sizeof file - 1);
    say(why, sizeof why - 1);
    _exit(CLI_BAD_FILE);
}

void cutoff_watch(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
