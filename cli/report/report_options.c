/* The options of report, in the order of help. */
#include "../option_rows.h"

/* clang-format off */
const option_row cmd_report_options[] = {
    HEADING("Data"),
    OPT_DATA,
    HEADING("Output"),
    {"out", "FILE", TEXT, "", AT(out), 0, 0, "the page to write; without it, report.html in RUN"},
    OPT_QUIET,
    OPT_JSON,
    OPT_HELP,
    HEADING("Machine"),
    OPT_THREADS,
    OPTIONS_END
};
/* clang-format on */
