#include "steplog.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The end of the last whole line that is kept. A run that goes on has not come to its end, whose line, with
 * "best_epoch", is cut off. Steps begin {"step": N, "epoch": E, "loss"; the line of an epoch has the
 * number of its last step and "train_loss". A checkpoint of that step may be older than the epoch's line. A line that
 * is none, as one with a flipped bit, is no reason to lose those after it. */
static off_t end_of_kept(FILE *file, int64_t steps, int64_t epochs) {
    char line[4096]; /* a line has about 150; what has more is none of ours */
    off_t end = 0;
    while (fgets(line, sizeof line, file)) {
        long long step, epoch;
        int of_epoch = 0, of_end = 0;
        const size_t length = strlen(line);
        if (length && line[length - 1] == '\n' &&
            sscanf(line, "{\"step\": %lld, \"epoch\": %lld, \"train_loss\"%n", &step, &epoch, &of_epoch) == 2 &&
            step <= steps && !(of_epoch && epoch > epochs) &&
            !(sscanf(line, "{\"step\": %lld, \"epoch\": %lld, \"best_epoch\"%n", &step, &epoch, &of_end) == 2 &&
              of_end))
            end = ftello(file);
    }
    return end;
}

/* A device or a pipe has no lines to keep, and reading might wait for ever. Links to one are followed, as /dev/stdout
 * and a shell's >(...) are links; those to a file are not. */
static int open_log(const char *path, bool *lines) {
    struct stat st;
    *lines = stat(path, &st) != 0 || S_ISREG(st.st_mode);
    const int fd =
        open(path, (*lines ? O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW : O_WRONLY) | O_CLOEXEC | O_NOCTTY, 0644);
    if (fd < 0 || fstat(fd, &st) != 0) return fd;
    const int error = *lines != S_ISREG(st.st_mode) ? EINVAL : *lines && st.st_nlink > 1 ? EMLINK : 0;
    if (!error) return fd;
    close(fd);
    errno = error;
    return -1;
}

const char *steplog_why(int error) {
    return error == ELOOP    ? "it is a symbolic link: name the file that it leads to"
           : error == EMLINK ? "it has a second name (a hard link), whose file would change too"
                             : strerror(error);
}

bool steplog_open(steplog *log, const char *path, int64_t step, int64_t epochs) {
    bool lines;
    *log = (steplog){.path = path};
    const int fd = open_log(path, &lines);
    log->file = fd >= 0 ? fdopen(fd, lines ? "a+" : "w") : NULL;
    if (!log->file) {
        const int error = errno;
        if (fd >= 0) close(fd);
        errno = error;
        return false;
    }
    if (!lines) return true;
    const off_t end = step > 0 ? end_of_kept(log->file, step, epochs) : 0;
    if (!ferror(log->file) && ftruncate(fd, end) == 0 && fseeko(log->file, end, SEEK_SET) == 0) return true;
    const int error = errno;
    fclose(log->file);
    log->file = NULL;
    errno = error;
    return false;
}

json steplog_begin(steplog *log, int64_t step) {
    json j = {.out = log->file};
    json_open(&j, NULL, '{');
    json_integer(&j, "step", step);
    return j;
}

void steplog_end(steplog *log, json *j) {
    json_close(j, '}');
    fputc('\n', log->file);
}

bool steplog_sync(steplog *log) {
    if (!log->file) return true;
    /* A device or pipe can't be synchronised (EINVAL), which is no failure of the log. */
    return fflush(log->file) == 0 && !ferror(log->file) && (fsync(fileno(log->file)) == 0 || errno == EINVAL);
}

bool steplog_close(steplog *log) {
    if (!log->file) return true;
    bool ok = steplog_sync(log);
    ok = fclose(log->file) == 0 && ok;
    log->file = NULL;
    return ok;
}
