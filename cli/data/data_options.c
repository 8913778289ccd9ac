/* The options of data, in the order of help. */
#include "../option_rows.h"

/* clang-format off */
const option_row cmd_data_options[] = {
    HEADING("Reading"),
    {"split", "NAME", TEXT, "train", AT(split), 0, 0, "of a PATH with several splits, this one"},
    {"all", "", FLAG, "", AT(all), 0, 0, "take files of every kind, not pictures and recordings alone"},
    {"salvage", "", FLAG, "", AT(salvage), 0, 0, "of a damaged record file, take what is whole before the damage"},
    OPT_AS_STORED,
    {"rate", "HZ", INTEGER, "0", AT(rate), 0, 768000, "bench: resample recordings to so many samples a second; 0: they stay as they are"},
    OPT_SEPARATOR,
    OPT_DECIMAL,
    OPT_NO_HEADER,
    HEADING("Looking"),
    {"count", "N", INTEGER, "8", AT(count), 1, MANY, "head: how many to show"},
    {"from", "I", INTEGER, "0", AT(from), 0, MANY, "head: the first one, from 0"},
    {"svg", "FILE", TEXT, "", AT(svg), 0, 0, "head: draw the first recording, its samples and its spectrogram"},
    HEADING("Packing"),
    {"compression", "none|lz4|zstd", CHOICE, "none", AT(compression), 0, 0, "of a record file that is written; split keeps that of the one it reads"},
    {"level", "N", INTEGER, "0", AT(level), 0, 22, "how hard to compress: zstd 1 to 22, lz4 2 to 12; 0: the library's own"},
    {"dictionary", "KB", INTEGER, "0", AT(dictionary), 0, 16384, "--compression zstd: learn so large a dictionary from the first records, which helps where they are small and alike; 0: none"},
    {"append", "", FLAG, "", AT(append), 0, 0, "pack: add to the record file TO, which holds the same and has the classes; interrupted or not, it keeps what it had"},
    HEADING("Splitting"),
    {"part", "NAME=SHARE", EACH, "", AT(parts), 0, 0, "split: a part of each class becomes TO/NAME.wrec; may be given again; without any train=0.8 and test=0.2"},
    {"seed", "N", INTEGER, "1", AT(seed), 0, MANY, "split: which go where"},
    HEADING("Batches"),
    {"batch", "N", INTEGER, "64", AT(batch), 1, 1e6, "bench: samples in a batch"},
    {"workers", "LIST", TEXT, "0,1,2", AT(worker_counts), 0, 0, "bench: numbers of threads that make batches, one after the other"},
    {"prefetch", "N", INTEGER, "0", AT(prefetch), 0, WICK_PREFETCH_MAX, "bench: batches made ahead; 0: 2, or one more than workers"},
    {"transform", "LIST", TEXT, "", AT(transform), 0, 0, "bench: what samples go through: crop=4,flip,normalise or fit=8000,logmel=40 ... (wick/transform.h); without it, bytes to numbers"},
    OPT_ADAPTIVE,
    {"cache", "MB", INTEGER, "0", AT(cache), 0, 1 << 20, "bench: keep so much of the decoded samples that were asked for last; 0: none"},
    {"time", "S", REAL, "2", AT(time), 0, 1e6, "bench: seconds for each number of workers"},
    {"skip", "", FLAG, "", AT(skip), 0, 0, "bench: leave out what cannot be read, and say how many"},
    HEADING("Output"),
    OPT_QUIET,
    OPT_JSON,
    OPT_COLOR,
    OPT_HELP,
    OPTIONS_END
};
/* clang-format on */
