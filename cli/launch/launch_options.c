/* The options of launch, in the order of help. */
#include "../option_rows.h"

/* clang-format off */
const option_row cmd_launch_options[] = {
    HEADING("Ranks"),
    {"ranks", "N", TEXT, "", AT(of_launch.ranks), 0, 0, "start so many, 1 to 128; MIN:MAX starts MAX, and after each rank that was lost one less, down to MIN (--restarts)"},
    {"restarts", "N", INTEGER, "0", AT(of_launch.restarts), 0, 1e6, "when a rank is lost, start again up to N times; wick train goes on from its last checkpoint"},
    {"threads", "N", INTEGER, "0", AT(threads), 0, WICK_THREADS_MAX, "of each rank, as WICK_THREADS tells it; 0: the CPUs that this process may use, divided by the ranks"},
    {"timeout", "S", REAL, "60", AT(of_launch.timeout), 0.01, 1e7, "seconds without a byte after which ranks take one that they wait for as hung"},
    {"grace", "S", REAL, "30", AT(of_launch.grace), 0, 1e7, "seconds that ranks have to save and end after a signal to wick launch; who is left then is killed. 0: as long as they take"},
    HEADING("Output"),
    {"verbose", "", FLAG, "", AT(verbose), 0, 0, "also show what ranks other than 0 print, as it comes, each line with the rank's number; without it, only if they fail"},
    OPT_QUIET,
    OPT_HELP,
    OPTIONS_END
};
/* clang-format on */
