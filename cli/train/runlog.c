#include "runlog.h"

#include "../term/log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096 };        /* a line has about 150 */
#define LOG_MAX_BYTES ((off_t)1 << 30) /* more than 5 million steps */

static const struct {
    const char *key;
    size_t offset;
} fields[] = {
#define FIELD(name)                                                                                                    \
    { #name, offsetof(log_row, name) }
    FIELD(step),        FIELD(epoch),     FIELD(loss),          FIELD(accuracy),       FIELD(lr),
    FIELD(samples),     FIELD(seconds),   FIELD(train_loss),    FIELD(train_accuracy), FIELD(valid_loss),
    FIELD(valid_score), FIELD(test_loss), FIELD(test_accuracy),
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static const char *skip(const char *s, const char *word) {
    s += strspn(s, " \t\r\n");
    size_t n = strlen(word);
    return strncmp(s, word, n) == 0 ? s + n : NULL;
}

/* One flat object of numbers, nulls and lists of numbers; keys that are not known are passed over. */
static bool parse_row(const char *s, log_row *row) {
    for (int i = 0; i < FIELDS; i++) *(double *)((char *)row + fields[i].offset) = NAN;
    if (!(s = skip(s, "{"))) return false;
    for (;;) {
        if (!(s = skip(s, "\""))) return false;
        size_t length = strcspn(s, "\"\\");
        const char *key = s;
        if (s[length] != '"' || !(s = skip(s + length + 1, ":"))) return false;
        char *end;
        double value = strtod(s, &end);
        if (end == s) {
            value = NAN;
            const char *list = skip(s, "["); /* shares of ranks, in which are no others */
            if (!(s = list ? skip(list + strcspn(list, "]"), "]") : skip(s, "null"))) return false;
        } else {
            s = end;
            if (!isfinite(value)) value = NAN;
        }
        for (int i = 0; i < FIELDS; i++)
            if (strlen(fields[i].key) == length && memcmp(fields[i].key, key, length) == 0)
                *(double *)((char *)row + fields[i].offset) = value;
        const char *next = skip(s, ",");
        if (!next) break;
        s = next;
    }
    return (s = skip(s, "}")) && s[strspn(s, " \t\r\n")] == '\0' && row->step >= 1 && row->step <= 0x1p53;
}

static bool append(log_row **rows, size_t *count, size_t *room, const log_row *row) {
    if (*count == *room) {
        size_t more = *room ? 2 * *room : 256;
        log_row *grown = realloc(*rows, more * sizeof *grown); /* less than a line of the file for each */
        if (!grown) return false;
        *rows = grown;
        *room = more;
    }
    (*rows)[(*count)++] = *row;
    return true;
}

static int read_lines(runlog *log, FILE *file, const char *path) {
    char line[LINE_MAX_BYTES];
    long long number = 0;
    double last = 0;
    int code = CLI_OK;
    while (code == CLI_OK && fgets(line, sizeof line, file)) {
        log_row row;
        const size_t length = strlen(line);
        const bool whole = length && line[length - 1] == '\n';
        number++;
        if (!whole && feof(file)) break;
        if (!whole || !parse_row(line, &row)) {
            code = log_fail(CLI_BAD_FILE, "%s:%lld is no line of a training's log", path, number);
        } else if (row.step < last) {
            code = log_fail(CLI_BAD_FILE, "%s:%lld goes back to step %.0f", path, number, row.step);
        } else {
            bool of_epoch = isnan(row.loss) && !isnan(row.epoch) && isnan(row.lr);
            if (of_epoch && isnan(row.train_loss) && !isnan(row.test_loss)) continue; /* the end of the run */
            bool ok = of_epoch ? append(&log->epochs, &log->n_epochs, &log->epoch_room, &row)
                               : append(&log->steps, &log->n_steps, &log->step_room, &row);
            if (!ok) code = log_fail(CLI_FAILED, "out of memory");
            last = row.step;
        }
    }
    if (code == CLI_OK && ferror(file)) code = log_fail(CLI_BAD_FILE, "could not read %s: %s", path, strerror(errno));
    return code;
}

int runlog_read(runlog *log, const char *path) {
    *log = (runlog){0};
    struct stat st;
    /* O_NONBLOCK: a FIFO must not wait for its writer */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    FILE *file = fd >= 0 && fstat(fd, &st) == 0 ? fdopen(fd, "r") : NULL;
    int code = CLI_OK;
    if (!file)
        code = log_fail(errno == ENOMEM ? CLI_FAILED : CLI_BAD_FILE, "could not read the log %s: %s", path,
                        strerror(errno));
    else if (!S_ISREG(st.st_mode))
        code = log_fail(CLI_BAD_FILE, "could not read the log %s: not a regular file", path);
    else if (st.st_size > LOG_MAX_BYTES)
        code = log_fail(CLI_BAD_FILE, "could not read the log %s: it has more than 1 GiB", path);
    else
        code = read_lines(log, file, path);
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    return code;
}

void runlog_free(runlog *log) {
    free(log->steps);
    free(log->epochs);
    *log = (runlog){0};
}
