#include "log.h"

#include "utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Of the one command that this process runs; read-only after the last log_setup. */
static struct {
    bool quiet, json;
    bool told; /* --json: the one object is out */
    int color;
    const char *command;
    char rank[24]; /* " (rank 3)"; or "" */
} setup;

/* Where remarks go instead of standard error, and who leaves the terminal for what went wrong. */
static struct {
    void (*line)(void *user, const char *text);
    void (*leave)(void *user);
    void *user;
} divert;

void log_divert(void (*line)(void *user, const char *text), void (*leave)(void *user), void *user) {
    divert.line = line;
    divert.leave = leave;
    divert.user = user;
}
static void leave(void) {
    if (divert.leave) divert.leave(divert.user);
}

/* Where what goes wrong is kept instead of being said. */
static struct {
    char *text;
    size_t size;
} caught;

void log_catch(char *text, size_t size) {
    caught.text = text;
    caught.size = size;
    if (text && size) text[0] = 0;
}

void log_setup(const cli_options *options) {
    setup.quiet = options->quiet;
    setup.json = options->json;
    setup.color = options->color;
    setup.command = options->command < CMD_COUNT ? cli_commands[options->command].name : NULL;
}

void log_rank(int rank) { snprintf(setup.rank, sizeof setup.rank, " (rank %d)", rank); }

/* Texts hold names from files that anyone may have made: what of them is hidden becomes \xNN. */
static void write_shown(FILE *out, const char *text, size_t length) {
    for (const unsigned char *s = (const unsigned char *)text, *end = s + length; s < end;) {
        const int found = utf8_length(s), n = found ? found : 1;
        if (utf8_hidden(s, found))
            for (int i = 0; i < n; i++) fprintf(out, "\\x%02x", s[i]);
        else
            fwrite(s, 1, (size_t)n, out);
        s += n;
    }
}

void log_warn(const char *format, ...) {
    char text[4096];
    leave();
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "wick%s: ", setup.rank);
    write_shown(stderr, text, strlen(text));
    fputc('\n', stderr);
}

void log_note(const char *format, ...) {
    if (setup.quiet) return;
    char text[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (divert.line) {
        divert.line(divert.user, text);
        return;
    }
    write_shown(stderr, text, strlen(text));
    fputc('\n', stderr);
}

void log_print(const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) >= 0) {
        /* The format's last newlines are the command's own, all others a file's. */
        size_t lines = 0, n = strlen(format), length = strlen(text);
        while (lines < n && lines < length && format[n - 1 - lines] == '\n') lines++;
        write_shown(stdout, text, length - lines);
        for (; lines > 0; lines--) fputc('\n', stdout);
        free(text);
    }
    va_end(args);
}

void log_lines(const char *text) {
    while (*text) {
        const size_t n = strcspn(text, "\n");
        write_shown(stdout, text, n);
        if (text[n]) fputc('\n', stdout);
        text += n + (text[n] != 0);
    }
}

/* "FILE: FIELD (byte 17): WHAT" is what readers of files say: field and byte once more, for programs. */
static void json_place(json *j, const char *text) {
    static const char mark[] = "(byte ";
    const char *at = strstr(text, mark), *field = strstr(text, ": ");
    if (!at || at[sizeof mark - 1] < '0' || at[sizeof mark - 1] > '9') return;
    char name[256];
    const size_t n = field && field + 2 < at ? (size_t)(at - field - 2) : 0;
    snprintf(name, sizeof name, "%.*s", (int)(n ? n - 1 : 0), n ? field + 2 : "");
    json_text(j, "field", name);
    json_integer(j, "byte", strtoll(at + sizeof mark - 1, NULL, 10));
}

int log_fail(int code, const char *format, ...) {
    char text[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (caught.text) {
        if (!caught.text[0]) snprintf(caught.text, caught.size, "%s", text);
        return code;
    }
    leave();
    fprintf(stderr, "wick%s%s%s: ", setup.command ? " " : "", setup.command ? setup.command : "", setup.rank);
    write_shown(stderr, text, strlen(text));
    fputc('\n', stderr);
    if (setup.json && !setup.told) {
        json j = log_json_open();
        json_bool(&j, "ok", false);
        json_integer(&j, "exit", code);
        json_text(&j, "error", text);
        json_place(&j, text);
        log_json_close(&j);
    }
    return code;
}

int log_code(wick_status status, int blame) {
    if (status == WICK_ERR_NOT_FINITE) return CLI_NOT_FINITE;
    return status == WICK_ERR_NOMEM || status == WICK_ERR_BUSY || status == WICK_ERR_INTERNAL ? CLI_FAILED : blame;
}

const char *log_why(const wick_context *ctx, wick_status status) {
    /* An older failure's text tells nothing of this one. */
    bool told = wick_context_status(ctx) == status && wick_context_error(ctx)[0];
    return told ? wick_context_error(ctx) : wick_status_name(status);
}

const char *log_compiling(const wick_context *ctx, wick_status status, const wick_compile_options *options) {
    if (status == WICK_ERR_NOMEM && options->memory_budget && strstr(log_why(ctx, status), "memory_budget"))
        return "memory-budget";
    return status == WICK_ERR_INVALID && options->wide && strstr(log_why(ctx, status), "mixed precision narrows no op")
               ? "wide"
               : NULL;
}

bool log_live(FILE *stream) {
    const char *term = getenv("TERM");
    return !(term && strcmp(term, "dumb") == 0) && isatty(fileno(stream));
}

bool log_color(FILE *stream) {
    enum { AUTO, ALWAYS, NEVER };
    if (setup.color != AUTO) return setup.color == ALWAYS;
    const char *no_color = getenv("NO_COLOR");
    return !(no_color && no_color[0]) && log_live(stream);
}

int log_columns(FILE *stream) {
    struct winsize size;
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

json log_json_open(void) {
    json j = {.out = stdout};
    json_open(&j, NULL, '{');
    return j;
}

void log_json_close(json *j) {
    json_close(j, '}');
    fputc('\n', stdout);
    setup.told = true;
}

const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
