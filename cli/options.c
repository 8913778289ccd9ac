#include "options.h"
#include "paths.h"

#include "hints.h"
#include "option_rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const option_row *table_of(cli_command_id command) { return cli_commands[command].options; }

static int find_row(cli_command_id command, const char *name, size_t length) {
    const option_row *rows = table_of(command);
    for (int i = 0; rows[i].doc; i++)
        if (rows[i].name && strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0) return i;
    return -1;
}

bool options_at(cli_command_id command, int i, option_view *out) {
    const char *heading = "";
    for (const option_row *r = table_of(command); r->doc; r++) {
        if (!r->name) heading = r->doc;
        if (!r->name || i-- > 0) continue;
        *out = (option_view){
            r->name, r->argument, r->fallback, r->doc, heading, r->kind == FLAG, r->kind == CHOICE || r->kind == WORD};
        return true;
    }
    return false;
}

static const struct {
    char letter;
    const char *word;
} letters[] = {{'o', "--out"}, {'n', "--ranks"}};

char option_letter(const char *name) {
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (strcmp(letters[i].word + 2, name) == 0) return letters[i].letter;
    return 0;
}

/* The number of `text` among choices "a|b|c", or -1. */
static int find_choice(const char *choices, const char *text) {
    size_t length = strlen(text);
    for (int i = 0;; i++) {
        size_t n = strcspn(choices, "|");
        if (n == length && memcmp(choices, text, n) == 0) return i;
        if (choices[n] == '\0') return -1;
        choices += n + 1;
    }
}

static bool out_of_range(const option_row *row, double value) { return !(value >= row->low && value <= row->high); }

/* A network that lies in a file, as one line: line ends are blanks, and what follows a # on its line is left out. */
static int read_net(const char *path, char **text, char *error, size_t size) {
    size_t bytes;
    *text = path_read(path, &bytes);
    if (!*text || strlen(*text) != bytes) {
        snprintf(error, size, "--net @%s: %s", path, *text ? "is no text" : "cannot be read");
        free(*text);
        return CLI_BAD_FILE;
    }
    bool comment = false;
    char *to = *text;
    for (const char *s = *text; *s; s++) {
        comment = *s == '\n' ? false : comment || *s == '#';
        const bool blank = comment || *s == '\n' || *s == '\r' || *s == '\t' || *s == ' ';
        if (!blank)
            *to++ = *s;
        else if (to > *text && to[-1] != ' ')
            *to++ = ' ';
    }
    *(to > *text && to[-1] == ' ' ? to - 1 : to) = 0;
    if (**text) return CLI_OK;
    snprintf(error, size, "--net @%s: has no layers", path);
    free(*text);
    return CLI_BAD_FILE;
}

/* An exit code; anything but CLI_OK leaves one line in `error`. */
static int set_value(cli_options *o, int index, const char *text, char *error, size_t size) {
    const option_row *row = &table_of(o->command)[index];
    char *field = (char *)o + row->offset, *end;
    errno = 0;
    switch (row->kind) {
    case FLAG:
        *(bool *)field = strcmp(text, "yes") == 0;
        break;
    case INTEGER: {
        long long value = strtoll(text, &end, 10);
        if (errno || end == text || *end) {
            snprintf(error, size, "--%s needs a whole number, not '%s'", row->name, text);
            return CLI_USAGE;
        }
        if (out_of_range(row, (double)value)) {
            snprintf(error, size, "--%s must be from %.0f to %.0f, not %s", row->name, row->low, row->high, text);
            return CLI_USAGE;
        }
        *(int64_t *)field = value;
        break;
    }
    case BYTES: {
        static const char units[] = "KMG";
        double value = *text >= '0' && *text <= '9' ? strtod(text, &end) : -1;
        const char *unit = value < 0 || !*end ? NULL : strchr(units, *end);
        if (value < 0 || (*end && (!unit || end[1])) || !(value * (unit ? 1 << 10 * (unit - units + 1) : 1) < MANY)) {
            snprintf(error, size, "--%s needs bytes such as 64M, 512K or 1.5G, not '%s'", row->name, text);
            return CLI_USAGE;
        }
        for (const char *u = units; unit && u <= unit; u++) value *= 1024;
        *(int64_t *)field = (int64_t)value;
        break;
    }
    case REAL: {
        double value = strtod(text, &end);
        if (end == text || *end || !isfinite(value)) {
            snprintf(error, size, "--%s needs a number, not '%s'", row->name, text);
            return CLI_USAGE;
        }
        if (out_of_range(row, value)) {
            snprintf(error, size, "--%s must be from %g to %g, not %s", row->name, row->low, row->high, text);
            return CLI_USAGE;
        }
        *(double *)field = value;
        break;
    }
    case CHOICE:
    case WORD: {
        int choice = find_choice(row->argument, text);
        if (choice < 0) {
            snprintf(error, size, "--%s must be one of %s, not '%s'", row->name, row->argument, text);
            return CLI_USAGE;
        }
        if (row->kind == CHOICE) *(int *)field = choice;
        break;
    }
    case TEXT:
    case LIST:
    case EACH:
        break;
    }
    char *copy = strdup(text);
    if (!copy) {
        snprintf(error, size, "out of memory");
        return CLI_FAILED;
    }
    if (row->kind == TEXT && strcmp(row->name, "net") == 0 && text[0] == '@') {
        free(copy);
        const int code = read_net(text + 1, &copy, error, size);
        if (code != CLI_OK) return code;
    }
    free(o->text[index]);
    o->text[index] = copy;
    if (row->kind == TEXT || row->kind == WORD || row->kind == LIST) *(const char **)field = copy;
    return CLI_OK;
}

/* Behind what a LIST has so far. */
static int add_value(cli_options *o, int index, const char *text, char *error, size_t size) {
    char *both;
    if (asprintf(&both, "%s;%s", o->text[index], text) < 0) {
        snprintf(error, size, "out of memory");
        return CLI_FAILED;
    }
    const int code = set_value(o, index, both, error, size);
    free(both);
    return code;
}

static int append_value(cli_options *o, int index, const char *text, char *error, size_t size) {
    cli_list *list = (cli_list *)((char *)o + table_of(o->command)[index].offset);
    const char **more = realloc(list->items, ((size_t)list->n + 1) * sizeof *more);
    if (!more) {
        snprintf(error, size, "out of memory");
        return CLI_FAILED;
    }
    list->items = more;
    list->items[list->n++] = text;
    return CLI_OK;
}

static int refuse_empty(const option_row *row, char *error, size_t size) {
    snprintf(error, size, "--%s needs %s, not an empty text", row->name, row->argument);
    return CLI_USAGE;
}

int options_parse(cli_options *o, int argc, char **argv, int first, char *error, size_t size) {
    const cli_command *command = &cli_commands[o->command];
    const option_row *rows = command->options;
    int code = CLI_OK;
    for (int i = 0; rows[i].doc && code == CLI_OK; i++) /* a number without a fallback stays 0: nothing is said */
        if (rows[i].name && (*rows[i].fallback || (rows[i].kind != INTEGER && rows[i].kind != REAL)))
            code = set_value(o, i, rows[i].fallback, error, size);
    if (code != CLI_OK) return code;
    bool only_positional = false;
    for (int i = first; i < argc; i++) {
        const char *word = argv[i];
        if (only_positional || word[0] != '-' || word[1] == '\0') {
            if (!command->arguments[0] || (o->model && !command->takes_files)) {
                snprintf(error, size, "unexpected argument '%s'", word);
                return CLI_USAGE;
            }
            if (!*word && !(command->takes_command && o->model)) {
                snprintf(error, size, "%s: an argument is an empty text", command->arguments);
                return CLI_USAGE;
            }
            if (!o->model) {
                o->model = word;
                only_positional = only_positional || command->takes_command;
            } else {
                if (!o->files) o->files = calloc((size_t)argc, sizeof *o->files);
                if (!o->files) {
                    snprintf(error, size, "out of memory");
                    return CLI_FAILED;
                }
                o->files[o->n_files++] = word;
            }
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_positional = true;
            continue;
        }
        if (strcmp(word, "-h") == 0) word = "--help";
        for (size_t k = 0; word[1] != '-' && !word[2] && k < sizeof letters / sizeof *letters; k++)
            if (word[1] == letters[k].letter &&
                find_row(o->command, letters[k].word + 2, strlen(letters[k].word) - 2) >= 0)
                word = letters[k].word;
        size_t dashes = word[1] == '-' ? 2 : 1, length = strcspn(word + dashes, "=");
        const char *name = word + dashes, *value = name[length] == '=' ? name + length + 1 : NULL;
        int index = dashes == 2 ? find_row(o->command, name, length) : -1;
        if (index < 0) {
            char wanted[64], hint[300];
            snprintf(wanted, sizeof wanted, "%.*s", (int)(length < sizeof wanted ? length : sizeof wanted - 1), name);
            hint_option(o->command, wanted, hint, sizeof hint);
            snprintf(error, size, "unknown option %.*s%s%s", (int)(dashes + length), word, *hint ? "; " : "", hint);
            return CLI_USAGE;
        }
        if (rows[index].kind == FLAG) {
            if (value) {
                snprintf(error, size, "--%s takes no value", rows[index].name);
                return CLI_USAGE;
            }
            value = "yes";
        } else if (!value) {
            if (i + 1 >= argc) {
                snprintf(error, size, "--%s needs %s", rows[index].name, rows[index].argument);
                return CLI_USAGE;
            }
            value = argv[++i];
        }
        /* A variable of a script that is not set must not become a default. */
        if ((rows[index].kind == TEXT || rows[index].kind == LIST || rows[index].kind == EACH) && !*value)
            return refuse_empty(&rows[index], error, size);
        code = rows[index].kind == EACH                      ? append_value(o, index, value, error, size)
               : rows[index].kind == LIST && o->given[index] ? add_value(o, index, value, error, size)
                                                             : set_value(o, index, value, error, size);
        if (code != CLI_OK) return code;
        o->given[index] = true;
    }
    if (command->needs_model && !o->model && !o->help) {
        snprintf(error, size, "needs %s", command->arguments);
        return CLI_USAGE;
    }
    return CLI_OK;
}

/* Whether two texts are one value: 1e-3 and 0.001 are. */
static bool same_value(const option_row *row, const char *a, const char *b) {
    bool number = row->kind == INTEGER || row->kind == REAL;
    return strcmp(a, b) == 0 || (number && strtod(a, NULL) == strtod(b, NULL));
}

/* Whether a file may have it: what a run keeps, where it goes, and how it is computed. How the command talks is asked
 * for before a file is read. */
static bool may_be_in_file(const char *name) {
    static const char *const others[] = {"out",         "threads",    "pin",     "numa",     "balance",
                                         "memory-pool", "huge-pages", "workers", "adaptive", "shares", "sums"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0) return true;
    for (int i = 0; train_kept[i].name; i++)
        if (strcmp(name, train_kept[i].name) == 0) return true;
    return false;
}

/* One line of a file; of_file: by row, whether a line before gave it. */
static int read_line(cli_options *o, char *line, bool *of_file, char *error, size_t size) {
    const option_row *rows = table_of(o->command);
    char *stop = line + strlen(line);
    while (stop > line && strchr(" \t\r\n", stop[-1])) *--stop = '\0';
    char *name = line + strspn(line, " \t"), *end = name + strcspn(name, " \t="), *value = end + strspn(end, " \t");
    const bool equals = *value == '=';
    if (equals) value++, value += strspn(value, " \t");
    if (!*name || *name == '#') return CLI_OK;
    const int index = find_row(o->command, name, (size_t)(end - name));
    if (index < 0) {
        char hint[300];
        *end = '\0';
        hint_option(o->command, name, hint, sizeof hint);
        snprintf(error, size, "unknown option %.60s%s%s", name, *hint ? "; " : "", hint);
        return CLI_USAGE;
    }
    if (!may_be_in_file(rows[index].name)) {
        snprintf(error, size, "--%s belongs on the command line", rows[index].name);
        return CLI_USAGE;
    }
    const bool flag = rows[index].kind == FLAG, list = rows[index].kind == LIST;
    if (flag && (!*value || strcmp(value, "yes") == 0))
        value = "yes";
    else if (flag || !equals || !*value) {
        snprintf(error, size, flag ? "%s takes no value" : "%s needs \"= %s\"", rows[index].name, rows[index].argument);
        return CLI_USAGE;
    }
    if (of_file[index] && !list) {
        snprintf(error, size, "%s is there twice", rows[index].name);
        return CLI_USAGE;
    }
    if (o->given[index] && !of_file[index]) return CLI_OK; /* the command line says it otherwise */
    const int code =
        list && of_file[index] ? add_value(o, index, value, error, size) : set_value(o, index, value, error, size);
    of_file[index] = o->given[index] = true;
    return code;
}

int options_read(cli_options *o, const char *path, char *error, size_t size) {
    bool of_file[CLI_MAX_OPTIONS] = {false};
    char *line = NULL, why[512];
    size_t room = 0;
    int code = CLI_OK;
    long long number = 0;
    FILE *file = fopen(path, "re");
    if (!file) {
        snprintf(error, size, "%s: %s", path, strerror(errno));
        return CLI_BAD_FILE;
    }
    while (code == CLI_OK && getline(&line, &room, file) >= 0) {
        if (number++ == 0 && strncmp(line, "\xef\xbb\xbf", 3) == 0) memset(line, ' ', 3); /* a byte order mark */
        if ((code = read_line(o, line, of_file, why, sizeof why)) != CLI_OK)
            snprintf(error, size, "%s:%lld: %s", path, number, why);
    }
    if (code == CLI_OK && ferror(file)) {
        snprintf(error, size, "%s: %s", path, strerror(errno));
        code = CLI_BAD_FILE;
    }
    free(line);
    fclose(file);
    return code;
}

char *options_lines(const cli_options *o) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *name, *value;
    if (!out) return NULL;
    for (int i = 0; (name = options_kept(o, i, &value)); i++) {
        const option_row *row = &table_of(CMD_TRAIN)[find_row(CMD_TRAIN, name, strlen(name))];
        if (!*value || same_value(row, value, options_fallback(i)) || strchr(value, '\n')) continue;
        if (row->kind != LIST) {
            fprintf(out, row->kind == FLAG ? "%s\n" : "%s = %s\n", name, value);
            continue;
        }
        for (const char *at = value; *at; at += strcspn(at, ";"), at += *at == ';')
            fprintf(out, "%s = %.*s\n", name, (int)strcspn(at, ";"), at);
    }
    const bool whole = !ferror(out);
    if (fclose(out) == 0 && whole) return text;
    free(text);
    return NULL;
}

bool options_given(const cli_options *o, const char *name) {
    const int row = find_row(o->command, name, strlen(name)); /* below 0: the command doesn't have it */
    return row >= 0 && o->given[row];
}

const option_case *options_idle(const cli_options *o, const option_case *uses, int n, unsigned now) {
    for (int i = 0; i < n; i++)
        if (options_given(o, uses[i].name) && !(uses[i].when & now)) return &uses[i];
    return NULL;
}

const char *options_text(const cli_options *o, const char *name) {
    return o->text[find_row(o->command, name, strlen(name))];
}

const char *options_nth(const cli_options *o, const char *name, int k) {
    const int index = find_row(o->command, name, strlen(name));
    if (index < 0) return NULL;
    const option_row *row = &table_of(o->command)[index];
    if (row->kind != EACH) return k == 0 && (row->kind == TEXT || row->kind == LIST) ? o->text[index] : NULL;
    const cli_list *list = (const cli_list *)(const void *)((const char *)o + row->offset);
    return k < list->n ? list->items[k] : NULL;
}

void options_free(cli_options *o) {
    const option_row *rows = table_of(o->command);
    for (int i = 0; rows[i].doc; i++) {
        free(o->text[i]);
        o->text[i] = NULL;
        if (rows[i].kind != EACH) continue;
        cli_list *list = (cli_list *)((char *)o + rows[i].offset);
        free(list->items);
        *list = (cli_list){0};
    }
    free(o->files);
    o->files = NULL;
}

const char *options_kept(const cli_options *o, int i, const char **text) {
    const char *name = train_kept[i].name;
    if (name) *text = options_text(o, name);
    return name;
}

const char *options_fallback(int i) {
    const char *name = train_kept[i].name;
    return table_of(CMD_TRAIN)[find_row(CMD_TRAIN, name, strlen(name))].fallback;
}

int options_restore(cli_options *o, int i, const char *text, char *error, size_t size) {
    const kept_option *kept = &train_kept[i];
    const int index = find_row(CMD_TRAIN, kept->name, strlen(kept->name));
    const option_row *row = &table_of(CMD_TRAIN)[index];
    if (o->given[index]) {
        if (kept->changes || same_value(row, o->text[index], text)) return CLI_OK;
        const bool stands = kept->value && strcmp(text, kept->value) == 0;
        snprintf(error, size, "--%s %s can't be changed on --resume: the run was started with '%s'%s%s", row->name,
                 o->text[index], text, stands ? ": " : "", stands ? kept->means : "");
        return CLI_USAGE;
    }
    if (row->kind == TEXT && !*text && *row->fallback) return refuse_empty(row, error, size);
    return set_value(o, index, text, error, size);
}

bool options_replace(cli_options *o, const char *name, const char *text) {
    char error[160];
    return set_value(o, find_row(o->command, name, strlen(name)), text, error, sizeof error) == CLI_OK;
}

/* Levenshtein's distance with neighbours swapped counting as one edit (Damerau 1964); words longer than 31 are cut. */
static int edit_distance(const char *a, const char *b) {
    enum { MOST = 31 };
    int d[MOST + 1][MOST + 1];
    int na = (int)strnlen(a, MOST), nb = (int)strnlen(b, MOST);
    for (int i = 0; i <= na; i++) {
        for (int j = 0; j <= nb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    }
    return d[na][nb];
}

const char *nearest_name(const char *wanted, int n, const char *(*name)(int i, const void *user), const void *user) {
    const char *best = NULL;
    int least = (int)strlen(wanted) / 2 + 1; /* farther than half of the word is a guess, not a help */
    for (int i = 0; i < n; i++) {
        const char *candidate = name(i, user);
        if (!candidate) continue;
        int distance = edit_distance(wanted, candidate);
        if (distance < least) {
            least = distance;
            best = candidate;
        }
    }
    return best;
}
