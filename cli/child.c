#include "child.h"

#include "term/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SECONDS = 2 };

static void in_child(int out, void (*fn)(const void *arg), const void *arg) {
    int null = open("/dev/null", O_RDWR);
    setpgid(0, 0); /* so that its own children can be ended with it */
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
        _exit(127);
    fn(arg);
    fflush(stdout);
    _exit(0);
}

void child_output(char *text, size_t size, void (*fn)(const void *arg), const void *arg) {
    int ends[2];
    size_t length = 0;
    text[0] = '\0';
    fflush(stdout); /* or the child would write it a second time */
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    pid_t child = fork();
    if (child == 0) in_child(ends[1], fn, arg);
    close(ends[1]);
    double end = now_seconds() + MOST_SECONDS;
    while (child > 0 && length + 1 < size) {
        double left = end - now_seconds();
        struct pollfd wait = {.fd = ends[0], .events = POLLIN};
        int ready = left > 0 ? poll(&wait, 1, (int)(left * 1000) + 1) : 0;
        if (ready < 0 && errno == EINTR) continue;
        ssize_t n = ready > 0 ? read(ends[0], text + length, size - 1 - length) : 0;
        if (n <= 0) break;
        length += (size_t)n;
    }
    text[length] = '\0';
    close(ends[0]);
    if (child <= 0) return;
    kill(-child, SIGKILL);
    kill(child, SIGKILL); /* if it had no time to become a group */
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
}
