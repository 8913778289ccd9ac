#include "steplog.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The end of the last whole line that is kept. Steps begin {"step": N, "epoch": E, "loss"; the line of an epoch has the
 * number of its last step and "train_loss". A checkpoint of that step may be older than the epoch's line. */
static off_t end_of_kept(FILE *file, int64_t steps, int64_t epochs) {
    char line[4096]; /* a line has about 150; what has more is none of ours */
    off_t end = 0;
    for (size_t length; fgets(line, sizeof line, file); end += (off_t)length) {
        long long step, epoch;
        int of_epoch = 0;
        length = strlen(line);
        if (length == 0 || line[length - 1] != '\n' ||
            sscanf(line, "{\"step\": %lld, \"epoch\": %lld, \"train_loss\"%n", &step, &epoch, &of_epoch) != 2 ||
            step > steps || (of_epoch && epoch > epochs))
            break;
    }
    return end;
}

bool steplog_open(steplog *log, const char *path, int64_t step, int64_t epochs) {
    struct stat st;
    const bool lines = stat(path, &st) != 0 || S_ISREG(st.st_mode); /* a device or pipe has none to keep, and reading might wait for ever */
    *log = (steplog){.path = path};
    log->file = fopen(path, step > 0 && lines ? "a+" : "w");
    if (!log->file || step == 0 || !lines) return log->file != NULL;
    rewind(log->file);
    off_t end = end_of_kept(log->file, step, epochs);
    if (!ferror(log->file) && ftruncate(fileno(log->file), end) == 0 && fseeko(log->file, end, SEEK_SET) == 0)
        return true;
    int error = errno;
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
