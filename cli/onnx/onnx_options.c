/* The options of compare, run, inspect, verify, convert, in the order of help. */
#include "../option_rows.h"

/* clang-format off */
#define OPT_INPUT_OF_CONVERT {"input", "NAME=N", EACH, "", AT(inputs), 0, 0, "an input of a .onnx that becomes a constant, N everywhere, such as the sampling rate that a branch hangs on: sr=16000"}

const option_row cmd_compare_options[] = {
    HEADING("Data"),
    OPT_DATA,
    OPT_SEPARATOR,
    OPT_DECIMAL,
    OPT_NO_HEADER,
    {"layout", "auto|nchw|nhwc", WORD, "auto", AT(layout), 0, 0, "of tensors: where the channels are; auto: by an extent of 1 or 3, else nchw"},
    {"image-size", "HxW", TEXT, "", AT(image_size), 0, 0, "resize pictures to this before all else, as wick eval does"},
    OPT_AS_STORED,
    HEADING("Output"),
    {"html", "FILE", TEXT, "", AT(html), 0, 0, "of two or three folders of runs: draw their curves beside each other, as one page; of models: the same as a page"},
    OPT_JSON,
    OPT_HELP,
    HEADING("Machine"),
    OPT_THREADS,
    HEADING("Other"),
    {"layers", "", FLAG, "", AT(of_compare.layers), 0, 0, "A is a model, B has its \"input\" and what each layer gave for it, by the layer's name: run the model, and compare in order"},
    {"tolerance", "T", REAL, "-1", AT(of_compare.tolerance), -1, 1e30, "what may differ, as part of the largest magnitude of the tensor in B; -1: 0.00001, or nothing beside --rtol or --atol"},
    {"rtol", "R", REAL, "-1", AT(rtol), -1, 1e30, "what may differ, as part of each element of B; -1: nothing"},
    {"atol", "A", REAL, "-1", AT(atol), -1, 1e30, "what may differ besides; -1: nothing. With --atol 0 alone any difference counts"},
    {"only", "PATTERN", TEXT, "", AT(of_compare.only), 0, 0, "compare only what has such a name: \"*.weight\""},
    OPTIONS_END
};

const option_row cmd_run_options[] = {
    HEADING("Inputs"),
    {"input", "NAME=FILE", EACH, "", AT(inputs), 0, 0, "an input from a .npy, .pb, .wav, picture, number (NAME=16000) or NAME=random[:DIMS]; random alone: all that are not named. Given again for " "one NAME, or a .npy with one axis more than the input has: the steps of a sequence"},
    {"state", "IN=OUT", EACH, "", AT(of_run.states), 0, 0, "the input IN of a step is the output OUT of the step before; at first zeros, or what --input gives; may be given again"},
    {"dim", "NAME=N|A..B", EACH, "", AT(dims), 0, 0, "extent of an open dim, by its name or as INPUT.axis (x.2=224), of random inputs and zeros: else that of an input with the name, else 1. Files have to have it, or one of batch=1..256, or seq=8..512/8 for multiples of 8"},
    {"scale", "S", TEXT, "1", AT(of_run.scale), 0, 0, "pictures: pixels of 0 to 255 times this, such as 1/255; then mean and std. Recordings: samples of -1 to 1 times this"},
    {"mean", "LIST", TEXT, "0", AT(of_run.mean), 0, 0, "pictures: what to subtract, one number or one for each channel: 0.485,0.456,0.406"},
    {"std", "LIST", TEXT, "1", AT(of_run.std), 0, 0, "pictures: what to divide by then"},
    {"transform", "LIST", TEXT, "", AT(transform), 0, 0, "pictures and recordings: what training had them go through, without chance: resize=256,center=224,normalise=0.5/0.25 or fit=8000,logmel=40 ... (wick/transform.h)"},
    {"layout", "auto|nchw|nhwc", WORD, "auto", AT(layout), 0, 0, "pictures: where the channels are; auto: by an extent of 1 or 3, else nchw"},
    OPT_AS_STORED,
    {"bgr", "", FLAG, "", AT(of_run.bgr), 0, 0, "pictures: channels in the order blue, green, red; --mean and --std are in that order too"},
    {"rate", "HZ", INTEGER, "0", AT(rate), 0, 768000, "recordings: resample to so many samples a second; 0: take them as they are"},
    {"hop", "N", INTEGER, "0", AT(of_run.hop), 0, MANY, "recordings, with --state: samples from a step's beginning to the next one's; what a step has more are the last of the steps before; 0: as many as it has"},
    {"seed", "N", INTEGER, "1", AT(seed), 0, MANY, "of random inputs, and of random ops"},
    HEADING("Check"),
    {"check", "DIR", TEXT, "", AT(of_run.check), 0, 0, "compare with the outputs in DIR: output_0.pb or .npy for input_0.pb or .npy ..., or such sets in DIR/test_data_set_0, 1 ...; with --state they " "are one sequence; exit 5 if any differs"},
    {"rtol", "R", REAL, "0.001", AT(rtol), 0, 1e30, "--check: what may differ, as part of the expected number"},
    {"atol", "A", REAL, "1e-7", AT(atol), 0, 1e30, "--check: what may differ besides"},
    HEADING("Timing"),
    {"bench", "", FLAG, "", AT(of_run.bench), 0, 0, "show times instead: run until the median is known within 1 %, or --time is over"},
    {"time", "S", REAL, "5", AT(time), 0, 1e6, "--bench: seconds at most, besides the warm-up"},
    {"repeat", "N", INTEGER, "0", AT(repeat), 0, 1e6, "show times of N runs, besides the outputs; 0: of none, or with --bench of as many as it takes"},
    HEADING("Output"),
    {"output", "DIR", TEXT, "", AT(of_run.output), 0, 0, "write each output to DIR/NAME.npy instead of showing it; those of a sequence are stacked"},
    {"topk", "K", INTEGER, "0", AT(of_run.topk), 0, MANY, "of outputs with a score for each class, show the K highest; 0: 5 with --labels, else all of the output"},
    {"labels", "FILE", TEXT, "", AT(of_run.labels), 0, 0, "names of the classes, a line each"},
    {"values", "N", INTEGER, "1000", AT(of_run.values), 0, MANY, "with --json: the numbers of outputs that have at most N of them; 0: of all"},
    OPT_PROFILE,
    OPTS_MEMORY,
    OPT_QUIET,
    OPT_JSON,
    OPT_HELP,
    HEADING("Machine"),
    OPT_THREADS,
    OPT_PIN,
    OPT_BALANCE,
    OPT_NUMA,
    OPT_MEMORY_POOL,
    OPT_HUGE_PAGES,
    OPTS_LIMITS,
    OPTIONS_END
};

const option_row cmd_inspect_options[] = {
    HEADING("Inputs"),
    OPT_INPUT_OF_CONVERT,
    {"dim", "NAME=N|A..B", EACH, "", AT(dims), 0, 0, "extent of an open dim, by its name or as INPUT.axis (x.2=224); else 1. batch=1..256, or seq=8..512/8 for multiples of 8: the range that output shapes are found in; the rest is for the least"},
    HEADING("Output"),
    OPT_SVG,
    OPT_JSON,
    OPT_HELP,
    HEADING("Machine"),
    OPT_THREADS,
    OPTS_LIMITS,
    OPTIONS_END
};

const option_row cmd_verify_options[] = {
    HEADING("Inputs"),
    {"dim", "NAME=N", EACH, "", AT(dims), 0, 0, "extent of an open dim of a .onnx, by its name or as INPUT.axis (x.2=224); else 1, or more where its graph can't be recorded with 1"},
    HEADING("Output"),
    OPT_JSON,
    OPT_HELP,
    OPTS_LIMITS,
    HEADING("Other"),
    {"shallow", "", FLAG, "", AT(of_verify.shallow), 0, 0, "of a .onnx, look at the file alone: structure, names, weights; ops, attributes and shapes of its graph are not looked at"},
    OPTIONS_END
};

const option_row cmd_convert_options[] = {
    HEADING("Conversion"),
    {"dtype", "keep|f64|f32|f16|bf16", WORD, "keep", AT(of_convert.dtype), 0, 0, "what floats become"},
    {"compress", "", FLAG, "", AT(of_convert.compress), 0, 0, "to .npz: deflate the arrays, as numpy.savez_compressed does; without it they can be read in place"},
    {"max-shard", "MB", INTEGER, "5000", AT(of_convert.max_shard), 1, 1 << 30, "bytes of tensors in a shard, in millions"},
    OPT_OPSET,
    {"external", "", FLAG, "", AT(of_convert.external), 0, 0, "put the weights of an ONNX model into a file beside it, B.safetensors"},
    OPT_INPUT_OF_CONVERT,
    {"dim", "NAME=N|A..B", EACH, "", AT(dims), 0, 0, "number for an open dim, by its name or as INPUT.axis (x.2=224); or seq=8..512/8, what it stays open for: without it, from 1 on. Others stay open, or it is refused"},
    {"fix-open", "", FLAG, "", AT(of_convert.fix_open), 0, 0, "an ONNX model whose dims can't stay open: write it for 1 of each that --dim gives no number"},
    HEADING("Output"),
    OPT_QUIET,
    OPT_JSON,
    OPT_HELP,
    HEADING("Machine"),
    OPT_THREADS,
    HEADING("Limits"),
    OPT_MAX_MEMORY,
    OPTIONS_END
};
/* clang-format on */
