/* The options of doctor, bench, tune, in the order of help. */
#include "../option_rows.h"

/* clang-format off */
const option_row cmd_doctor_options[] = {
    HEADING("Output"),
    OPT_JSON,
    OPT_COLOR,
    OPT_HELP,
    HEADING("Machine"),
    OPT_THREADS,
    HEADING("Other"),
    {"no-measure", "", FLAG, "", AT(of_doctor.no_measure), 0, 0, "leave out the half second of measuring speeds"},
    {"root", "DIR", TEXT, "", AT(of_doctor.root), 0, 0, "read what Linux tells of the machine below DIR: DIR/proc and DIR/sys, as a copy of another machine's"},
    OPTIONS_END
};

const option_row cmd_bench_options[] = {
    HEADING("Rows"),
    {"list", "", FLAG, "", AT(of_bench.list), 0, 0, "show the rows and their sizes, and measure none"},
    {"size", "LIST", TEXT, "1K,64K,16M", AT(of_bench.sizes), 0, 0, "elements, of rows that come in several sizes"},
    {"threads", "LIST", TEXT, "1", AT(of_bench.thread_counts), 0, 0, "numbers of threads, one after the other: 1,2. They, and peers, are kept on as many CPUs; one thread's time is what it computed"},
    {"time", "S", REAL, "1", AT(time), 0, 1e6, "seconds for a row at most; a quarter of it will do where the median is known within 1 %; 0: a glance at each, and at the ceilings"},
    HEADING("Measurements"),
    {"peers", "PYTHON", TEXT, "", AT(of_bench.peers), 0, 0, "race PyTorch, ONNX Runtime, OpenBLAS, BLIS and oneDNN too, in turn, where this interpreter has them: scripts/peers makes such an environment"},
    {"isa", "any|avx2", WORD, "any", AT(isa), 0, 0, "keep Wick to that tier of kernels, and peers to its instructions by settings of theirs; what each says that it runs is printed. ONNX Runtime and BLIS have no such setting. any: what this CPU has"},
    {"memory", "", FLAG, "", AT(of_bench.memory), 0, 0, "measure every row's memory too, in a process of its own; without it that of networks and of the suite memory"},
    {"instructions", "", FLAG, "", AT(of_bench.instructions), 0, 0, "count every row's instructions: by the CPU, or, where its counters can't be read, by valgrind's callgrind, which takes a while"},
    {"runs", "N", INTEGER, "0", AT(runs), 0, MANY, "run each row N times and measure nothing but memory: for perf stat, valgrind and debuggers"},
    {"against", "FILE.json", TEXT, "", AT(of_bench.against), 0, 0, "beside what --json wrote earlier: which rows are faster or slower, by 2 % and more and not by chance (p < 0.05); exit 1 if any is slower"},
    {"regress", "COMMIT", TEXT, "", AT(of_bench.regress), 0, 0, "build that commit of the repository here in build/regress, run both versions in turn, and judge as --against does; this one should be a release build too"},
    HEADING("Output"),
    {"html", "FILE", TEXT, "", AT(html), 0, 0, "also draw it all, as one page"},
    {"markdown", "FILE", TEXT, "", AT(of_bench.markdown), 0, 0, "also write tables for documents"},
    OPT_QUIET,
    OPT_JSON,
    OPT_HELP,
    OPTIONS_END
};

const option_row cmd_tune_options[] = {
    HEADING("Output"),
    OPT_QUIET,
    OPT_JSON,
    OPT_COLOR,
    OPT_HELP,
    HEADING("Machine"),
    OPT_THREADS,
    HEADING("Other"),
    {"time", "S", REAL, "20", AT(time), 0, 1e6, "seconds to measure for, about; 0: a glance, for trying it"},
    {"show", "", FLAG, "", AT(of_tune.show), 0, 0, "measure nothing: what is used now, and the file that it is from"},
    {"reset", "", FLAG, "", AT(of_tune.reset), 0, 0, "measure nothing: remove the file, so that the defaults hold"},
    HEADING("batch MODEL"),
    OPT_ARCH,
    OPT_NET,
    OPT_INPUT_OF_PLAN,
    OPT_CLASSES,
    OPT_TRAIN,
    OPT_DIM,
    OPT_MEMORY_BUDGET,
    OPT_PRECISION,
    OPT_WIDE,
    OPT_WITHOUT,
    {"latency", "MS", REAL, "10", AT(of_tune.latency), 0.000001, 1e9, "milliseconds that 95 of 100 runs may take"},
    {"memory-part", "P", REAL, "0.9", AT(of_tune.memory_part), 0.000001, 1, "part of the memory that is free, or that the cgroup leaves, which a run may take"},
    {"most", "N", INTEGER, "256", AT(of_tune.most), 1, 1e9, "the largest batch of the sweep 1, 2, 4, 8 ..."},
    OPT_MAX_MEMORY,
    OPT_MAX_TENSOR,
    OPT_MAX_OUTPUT,
    OPT_MAX_NODES,
    OPT_MAX_DEPTH,
    OPT_MAX_SECONDS,
    OPTIONS_END
};
/* clang-format on */
