/* man.c: man pages from the tables of help.c and options.c, in the macros of man(7). Nothing in them depends on the
 * day. */
#include "help.h"
#include "options.h"

#include "wick/types.h"
#include "wick/zoo.h"

#include <ctype.h>
#include <string.h>

/* Text as roff shows it unchanged: a hyphen is a minus, a backslash no escape, a leading point or quote no request. */
static void text(FILE *out, const char *s) {
    if (*s == '.' || *s == '\'') fputs("\\&", out);
    for (; *s; s++) {
        const char *as = *s == '-'    ? "\\-"
                         : *s == '\\' ? "\\(rs"
                         : *s == '~'  ? "\\(ti"
                         : *s == '^'  ? "\\(ha"
                         : *s == '`'  ? "\\(ga"
                                      : NULL;
        if (as)
            fputs(as, out);
        else
            fputc(*s, out);
    }
}

static void bold(FILE *out, const char *s) {
    fputs("\\fB", out);
    text(out, s);
    fputs("\\fR", out);
}

/* A paragraph with a hanging tag. */
static void tagged(FILE *out, const char *tag, const char *doc) {
    fputs(".TP\n", out);
    bold(out, tag);
    fputc('\n', out);
    text(out, doc);
    fputc('\n', out);
}

static void heading(FILE *out, const char *name, const char *doc) {
    fputs(".TH ", out);
    for (const char *c = name; *c; c++) fputc(toupper((unsigned char)*c), out);
    fprintf(out, " 1 \"\" \"wick %s\" \"Wick\"\n.SH NAME\n", wick_version());
    text(out, name);
    fputs(" \\- ", out);
    text(out, doc);
    fputc('\n', out);
}

static void examples(FILE *out, cli_command_id command) {
    bool any = false;
    for (const help_example *e = help_examples; e->line; e++) {
        if (e->command != command && command != CMD_COUNT) continue;
        fputs(any ? ".PP\n" : ".SH EXAMPLES\n", out);
        text(out, e->doc);
        fputs(":\n.PP\n.nf\n.RS\n", out);
        text(out, e->line);
        fputs("\n.RE\n.fi\n", out);
        any = true;
    }
}

static void exit_status(FILE *out, cli_command_id command) {
    char doc[1024];
    int code;
    fputs(".SH EXIT STATUS\n", out);
    for (int i = 0; help_exit_code(command, i, &code, doc, sizeof doc); i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", code);
        tagged(out, number, doc);
    }
}

static void rows(FILE *out, const char *title, const help_row *row) {
    fprintf(out, ".SH %s\n", title);
    for (; row->left; row++) tagged(out, row->left, row->right);
}

static void networks(FILE *out) {
    fputs(".SH NETWORKS\nLayers of\n.B train \\-\\-net\nstand in a list between commas. Options of a layer, in "
          "brackets here, come in any order.\n",
          out);
    for (int i = 0; i < wick_net_layers(); i++) tagged(out, wick_net_layer_form(i), wick_net_layer_doc(i));
    fputs(".PP\nNetworks that\n.B train \\-\\-arch\nknows by name:\n", out);
    for (int i = 0; i < wick_zoo_count(); i++) tagged(out, wick_zoo_at(i)->form, wick_zoo_at(i)->doc);
}

static void general_page(FILE *out) {
    heading(out, "wick", "train, measure and look into models");
    fputs(".SH SYNOPSIS\n.B wick\n.I COMMAND\n[\\fIargument\\fR] [\\fIoptions\\fR]\n.br\n.B wick "
          "help\n[\\fICOMMAND\\fR|\\fBnet\\fR]\n"
          ".br\n.B wick \\-\\-version\n.SH DESCRIPTION\nResults go to standard output, talk to standard error. ",
          out);
    text(out, help_model);
    fprintf(out, " %s\n.SH COMMANDS\n", help_file);
    for (int i = 0; i < CMD_COUNT; i++) {
        const cli_command *c = &cli_commands[i];
        fprintf(out, ".TP\n.BR wick\\-%s (1)\n", c->name);
        text(out, c->doc);
        fputc('\n', out);
    }
    networks(out);
    rows(out, "ENVIRONMENT", help_environment);
    rows(out, "FILES", help_files);
    examples(out, CMD_COUNT);
    exit_status(out, CMD_COUNT);
}

static void one_option(FILE *out, const option_view *option) {
    fputs(".TP\n", out);
    if (option_letter(option->name)) fprintf(out, "\\fB\\-%c\\fR, ", option_letter(option->name));
    fputs("\\fB\\-\\-", out);
    text(out, option->name);
    fputs("\\fR", out);
    if (!option->flag) {
        fputs(option->choices ? " \\fB" : " \\fI", out);
        text(out, option->argument);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    text(out, option->doc);
    if (option->fallback[0]) {
        fputs(" [", out);
        text(out, option->fallback);
        fputc(']', out);
    }
    fputc('\n', out);
}

static void command_page(cli_command_id id, FILE *out) {
    const cli_command *command = &cli_commands[id];
    char name[64];
    option_view option;
    snprintf(name, sizeof name, "wick-%s", command->name);
    heading(out, name, command->doc);
    fprintf(out, ".SH SYNOPSIS\n.B wick %s\n", command->name);
    if (command->takes_command) fputs("[\\fIoptions\\fR] ", out);
    if (command->arguments[0]) {
        fputs("\\fI", out);
        text(out, command->arguments);
        fputs("\\fR ", out);
    }
    fputs(command->takes_command ? "\n" : "[\\fIoptions\\fR]\n", out);
    if (help_argument(id)) {
        fputs(".SH DESCRIPTION\n", out);
        text(out, help_argument(id));
        if (command->run == cmd_predict) fprintf(out, " %s", help_file);
        fputc('\n', out);
    }
    char to[256];
    const char *from;
    if (id == CMD_CONVERT) fputs(".SH CONVERSIONS\n", out);
    for (int i = 0; id == CMD_CONVERT && help_conversion(i, to, sizeof to, &from); i++) tagged(out, from, to);
    fputs(".SH OPTIONS\n", out);
    const char *heading = NULL;
    for (int i = 0; options_at(id, i, &option); i++) {
        if (option.heading != heading) fprintf(out, ".SS %s\n", option.heading);
        heading = option.heading;
        one_option(out, &option);
    }
    examples(out, id);
    exit_status(out, id);
    fputs(".SH SEE ALSO\n.BR wick (1)\n", out);
}

void man_page(cli_command_id command, FILE *out) {
    if (command == CMD_COUNT)
        general_page(out);
    else
        command_page(command, out);
}
