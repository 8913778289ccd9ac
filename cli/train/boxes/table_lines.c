#include "table_lines.h"

#include <string.h>
#include <strings.h>

const char *const table_of_pictures[] = {"path",       "file",    "filename", "file_name", "image",
                                         "image_path", "picture", "img",      NULL},
                  *const table_of_parts[] = {"split", NULL};

bool table_cut_line(char *line, char separator, char *cells[TABLE_COLUMNS], int *n) {
    char *to = line, *at = line;
    *n = 0;
    for (;;) {
        if (*n == TABLE_COLUMNS) return false;
        cells[(*n)++] = to;
        const bool quoted = *at == '"';
        at += quoted;
        for (; *at && (quoted || *at != separator); at++) {
            if (quoted && *at == '"' && at[1] != '"') break;
            if (quoted && *at == '"') at++;
            *to++ = *at;
        }
        if (quoted && *at != '"') return false;
        at += quoted;
        const char behind = *at;
        if (behind && behind != separator) return false;
        at += behind != '\0';
        *to++ = '\0';
        if (!behind) return true;
    }
}

char table_separator(const char *line) {
    static const char kinds[] = ",;\t|";
    size_t most = 0, count;
    char best = ',';
    for (const char *k = kinds; *k; k++) {
        count = 0;
        for (const char *s = line; *s; s++) count += *s == *k;
        if (count > most) most = count, best = *k;
    }
    return best;
}

char *table_next_line(char **rest) {
    char *line = strsep(rest, "\n");
    const size_t n = line ? strlen(line) : 0;
    if (n && line[n - 1] == '\r') line[n - 1] = '\0';
    return line;
}

int table_column(char *const *cells, int n, const char *name) {
    for (int c = 0; c < n; c++)
        if (strcasecmp(cells[c], name) == 0) return c;
    return -1;
}
int table_column_of(char *const *cells, int n, const char *const *names) {
    for (; *names; names++) {
        const int c = table_column(cells, n, *names);
        if (c >= 0) return c;
    }
    return -1;
}

bool table_is_part(const char *cell, const char *split) {
    static const char *const held[] = {"validation", "valid", "val", "dev"};
    if (strcmp(split, "all") == 0 || strcasecmp(cell, split) == 0) return true;
    bool is = false, asked = false;
    for (int i = 0; i < 4; i++) is |= strcasecmp(cell, held[i]) == 0, asked |= strcmp(split, held[i]) == 0;
    return is && asked;
}
