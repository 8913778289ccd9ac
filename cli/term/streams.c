#include "streams.h"

#include "../cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void streams_setup(void) {
    static char buffer[BUFSIZ];
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) < 0)
            _exit(CLI_FAILED); /* the lowest number that is free: fd */
    setvbuf(stderr, buffer, _IOLBF, sizeof buffer);
    signal(SIGXFSZ, SIG_IGN);
}

int streams_end(int code) {
    if ((fflush(stdout) == 0 && !ferror(stdout)) || code != CLI_OK) return code;
    if (errno == EPIPE) return CLI_UNREAD;
    fprintf(stderr, "wick: writing to standard output: %s\n", strerror(errno));
    return CLI_FAILED;
}
