#include "page.h"

#include "log.h"

#include <stdbool.h>
#include <string.h>

enum { WIDTH = 80, NARROWEST = 40, WIDEST = 120, WIDE = 100, NARROW = 64 };

page page_on(FILE *out) {
    const int columns = log_columns(out), width = columns <= 0          ? WIDTH
                                                   : columns < NARROWEST ? NARROWEST
                                                   : columns > WIDEST    ? WIDEST
                                                                         : columns;
    return (page){out, width, width >= WIDE ? 34 : width >= NARROW ? 26 : 6};
}

/* Length of the first word. Choices between | may be cut behind one: then as many as fit into `room`, or all, if none
 * does. */
static int word_length(const char *text, int room) {
    const int n = (int)strcspn(text, " \n");
    int cut = 0;
    for (int i = 0; n > room && i < room && i < n; i++)
        if (text[i] == '|') cut = i + 1;
    return cut ? cut : n;
}

/* Words from `column` on, lines after the first behind `indent` blanks; the column behind them. */
static int words(const page *p, int indent, int column, const char *text) {
    for (bool blank = false; *text;) { /* blank: between the last word and this one */
        if (*text == ' ' || *text == '\n') {
            blank = *text == ' ';
            if (*text == '\n' && text[1]) fprintf(p->out, "\n%*s", indent, ""), column = indent;
            text++;
            continue;
        }
        int n = word_length(text, p->width - column - blank);
        if (column > indent && column + blank + n > p->width) {
            fprintf(p->out, "\n%*s", indent, "");
            column = indent, blank = false;
            n = word_length(text, p->width - column);
        }
        column += fprintf(p->out, "%s%.*s", blank ? " " : "", n, text);
        text += n;
        blank = false;
    }
    return column;
}

void page_row(const page *p, const char *left, const char *right) {
    fputs("  ", p->out);
    int column = words(p, 6, 2, left);
    if (column >= p->left) fputc('\n', p->out), column = 0;
    fprintf(p->out, "%*s", p->left - column, "");
    words(p, p->left, p->left, right);
    fputc('\n', p->out);
}

void page_text(const page *p, int indent, const char *text) {
    fprintf(p->out, "%*s", indent, "");
    words(p, indent, indent, text);
    fputc('\n', p->out);
}

/* Length of the first word for a shell, where quotes hold blanks; of an option with its value. */
static int shell_word(const char *line) {
    const bool option = *line == '-';
    bool value = false;
    int n = 0;
    for (char quote = 0; line[n]; n++) {
        if (quote && line[n] == quote) quote = 0;
        else if (!quote && (line[n] == '"' || line[n] == '\'')) quote = line[n];
        else if (!quote && line[n] == ' ') {
            if (!option || value || line[n + 1] == '-') break;
            value = true;
        }
    }
    return n;
}

void page_line(const page *p, const char *line) {
    fputs("  ", p->out);
    for (int column = 2; *line;) {
        const int n = shell_word(line), rest = line[n] ? 2 : 0; /* " \" */
        if (column > 6 && column + 1 + n + rest > p->width) fputs(" \\\n      ", p->out), column = 6;
        else if (column > 2) fputc(' ', p->out), column++;
        fprintf(p->out, "%.*s", n, line);
        column += n;
        line += n + (line[n] == ' ');
    }
    fputc('\n', p->out);
}
