/* The options of zoo, in the order of help. */
#include "../option_rows.h"

/* clang-format off */
const option_row cmd_zoo_options[] = {
    HEADING("Data"),
    {"data", "DIR", TEXT, "", AT(data), 0, 0, "the folder that has the public sets, as docs/zoo.md lays them out; without it $WICK_ZOO, or zoo-data"},
    {"free", "", FLAG, "", AT(of_zoo.free_only), 0, 0, "leave out models whose data have no licence, or one that forbids some use"},
    {"shuffle-labels", "", FLAG, "", AT(of_zoo.shuffle_labels), 0, 0, "train, eval: labels of the training are dealt at random; what is still right on the held-out part is chance, or a leak"},
    HEADING("Training"),
    {"seed", "N", INTEGER, "1", AT(seed), 0, MANY, "of weights, order and dropout"},
    {"runs", "N", INTEGER, "1", AT(runs), 1, 1000, "train, eval: so many seeds, from --seed on"},
    {"force", "", FLAG, "", AT(force), 0, 0, "train: start over what has a result"},
    {"trials", "N", INTEGER, "100", AT(repeat), 1, 1e6, "bench: runs that are timed, of one sample each, after 10 that are not"},
    HEADING("Output"),
    {"out", "DIR", TEXT, "wick-zoo", AT(out), 0, 0, "where it all goes: data/MODEL is what the training reads, with manifest.json; MODEL/seed-N is a run of wick train, with recipe.txt and result.json; MODEL/bench.json; report.html"},
    {"verbose", "", FLAG, "", AT(verbose), 0, 0, "also show what wick train says"},
    OPT_QUIET,
    OPT_JSON,
    OPT_COLOR,
    OPT_HELP,
    HEADING("Machine"),
    OPT_THREADS,
    OPTIONS_END
};
/* clang-format on */
