#include "options.h"

#include "hints.h"

#include "wick/loader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a CHOICE the field holds the number, of a WORD the text. */
/* A LIST may be given several times: its texts are joined by ;. EACH may too, and stays apart, whatever is in the
 * texts: a cli_list. */
/* BYTES are a number with K, M or G behind it, 1024 each. */
typedef enum value_kind { FLAG, INTEGER, BYTES, REAL, TEXT, CHOICE, WORD, LIST, EACH } value_kind;
/* What a resumed run does with an option: forget it, keep it fixed, or keep it until the command line gives another. */
typedef enum kept { FORGET, FIXED, CHANGEABLE } kept;

typedef struct option_row {
    const char *name;
    const char *argument; /* shown in --help; of a CHOICE or WORD the choices, joined by '|' */
    value_kind kind;
    unsigned commands; /* bit set of cli_command_id */
    const char *fallback;
    size_t offset; /* into cli_options */
    double low, high;
    kept keep;
    const char *doc;
} option_row;

#define T         (1u << CMD_TRAIN)
#define E         (1u << CMD_EVAL)
#define P         (1u << CMD_PREDICT)
#define M         (1u << CMD_COMPARE)
#define I         (1u << CMD_INFO)
#define O         (1u << CMD_OPS)
#define D         (1u << CMD_DOCTOR)
#define C         (1u << CMD_COMPLETIONS)
#define R         (1u << CMD_REPORT)
#define X         (1u << CMD_RUN)
#define S         (1u << CMD_INSPECT)
#define V         (1u << CMD_VERIFY)
#define K         (1u << CMD_CONVERT)
#define B         (1u << CMD_BENCH)
#define L         (1u << CMD_PLAN)
#define W         (1u << CMD_EXPLAIN)
#define G         (1u << CMD_GRAPH)
#define N         (1u << CMD_TUNE)
#define Z         (1u << CMD_COMPILE)
#define A         (1u << CMD_DATA)
#define Q         (1u << CMD_QUANTIZE)
#define AT(field) offsetof(cli_options, field)
#define MANY      9007199254740992.0 /* 2^53: every whole number up to here is a double */

/* clang-format off */
static const option_row rows[] = {
    {"data", "SET", TEXT, T, "fashion-mnist", AT(data), 0, 0, FIXED, "mnist, fashion-mnist, cifar10, or a folder of IDX files, archives, pictures, recordings or shards; a table (.csv), tensors (.npz, .safetensors)"},
    {"label", "NAME", TEXT, T, "", AT(label), 0, 0, FIXED, "of a table or tensors, the column that is the class; without it label, labels, class, target or y, or the last column of a table"},
    {"separator", "CHAR", TEXT, T, "", AT(separator), 0, 0, FIXED, "what is between the cells of a table: a character, or tab; without it, found of comma, semicolon, tab and |"},
    {"decimal", "auto|point|comma", WORD, T, "auto", AT(decimal), 0, 0, FIXED, "of a table: what is before the decimals of its numbers; auto: found"},
    {"no-header", "", FLAG, T, "", AT(no_header), 0, 0, FIXED, "of a table: the first line has values, not names; columns are called 0, 1, ..."},
    {"skip", "PATTERN", TEXT, T, "", AT(skip_columns), 0, 0, FIXED, "of a table: columns of such names are left out: \"id|*_note\""},
    {"layout", "auto|nchw|nhwc", WORD, T, "auto", AT(layout), 0, 0, FIXED, "of tensors [N, A, B, C] that are learned from: where the channels are; auto: by an extent of 1 or 3, else nchw"},
    {"separator", "CHAR", TEXT, E | P | A | Q, "", AT(separator), 0, 0, FORGET, "what is between the cells of a table: a character, or tab; without it, found"},
    {"decimal", "auto|point|comma", WORD, E | P | A | Q, "auto", AT(decimal), 0, 0, FORGET, "of a table: what is before the decimals of its numbers; auto: found"},
    {"no-header", "", FLAG, E | P | A | Q, "", AT(no_header), 0, 0, FORGET, "of a table: the first line has values, not names"},
    {"layout", "auto|nchw|nhwc", WORD, E | P | Q, "auto", AT(layout), 0, 0, FORGET, "of tensors [N, A, B, C]: where the channels are; auto: as the model learned"},
    {"data", "SET", TEXT, E | P | R | Q, "", AT(data), 0, 0, FORGET,
     "mnist, fashion-mnist, cifar10, or a folder of IDX files, archives or pictures; without it, what the model was trained on"},
    {"split", "train|test|all", WORD, E | P, "test", AT(split), 0, 0, FORGET, "part of the data; all: of a table or tensors in a file of its own, every row, as of one that the model was not trained on without it"},
    {"index", "LIST", TEXT, P, "0", AT(index), 0, 0, FORGET, "samples to look at, of the data or of each FILE, from 0: 3,7,20-24; of an IDX FILE it is 0-15 without it"},
    {"top", "N", INTEGER, P, "0", AT(top), 0, 1000, FORGET, "show the N likeliest classes; 0: all, in order"},
    {"top", "K", INTEGER, E, "0", AT(top), 0, MANY, FORGET, "count labels among the K likeliest classes; 0: 5, or none where 5 are all"},
    {"limit", "N", INTEGER, T, "0", AT(limit), 0, MANY, FIXED, "take at most N training and N test samples, drawn evenly from the whole; 0: all"},
    {"augment", "LIST", TEXT, T, "none", AT(augment), 0, 0, FIXED,
     "change training images at random: flip mirrors, crop=N pads by N and cuts out, or both: flip,crop=4"},
    {"transform", "LIST", TEXT, T, "", AT(transform), 0, 0, FIXED,
     "instead of --augment, what training samples go through, in order: crop=4, flip, affine=15, jitter=B:C:S:H, normalise ..., mixup=ALPHA, cutmix=ALPHA; of recordings fit=8000, logmel=40 ...; wick/transform.h lists them"},
    {"arch", "NET", TEXT, T, "mlp", AT(arch), 0, 0, FIXED,
     "network: mlp, or all of it, mlp:256,128,dropout=0.1; lenet, cnn, resnet8, dscnn, mobilenet"},
    {"net", "LAYERS", TEXT, T, "", AT(net), 0, 0, FIXED,
     "network as layers: \"conv 32 3, relu, maxpool 2, flatten, linear classes\"; wick help net lists them"},
    {"model", "FILE.onnx", TEXT, T, "", AT(onnx), 0, 0, FIXED, "start from this network and its weights; a copy is kept in --out"},
    {"head", "", FLAG, Z, "", AT(head), 0, 0, FORGET, "--train of a .onnx: fresh weights for its last linear layer, also where it has --classes outputs, or without --classes"},
    {"head", "", FLAG, T, "", AT(head), 0, 0, FIXED, "--model: fresh weights for its last linear layer, also where it has as many outputs as the data have classes"},
    {"input-range", "LOW,HIGH", TEXT, T, "", AT(input_range), 0, 0, FIXED,
     "what the network takes pixels as: 0,255 leaves them as bytes, 0,1 and -1,1 scale; auto: mean 0 and deviation 1 over the data; without it, auto, of --model 0,1, or 0,255 where that takes integers"},
    {"input-range", "LOW,HIGH", TEXT, E | P | Q, "", AT(input_range), 0, 0, FORGET, "of a MODEL.onnx, what it takes pixels as: 0,255, 0,1, -1,1 ...; without it 0,1, or 0,255 where it takes integers"},
    {"image-size", "HxW", TEXT, T, "", AT(image_size), 0, 0, FIXED, "resize pictures of the data to so many pixels, height and width, or N for both: 224x224; without it all have one size, or that which --model takes"},
    {"image-size", "HxW", TEXT, E | P | Q, "", AT(image_size), 0, 0, FORGET, "of a MODEL.onnx that leaves its size open: resize pictures of the data to so many pixels, height and width: 224x224"},
    {"as-stored", "", FLAG, T, "", AT(as_stored), 0, 0, FIXED, "leave pictures as they are stored; without it they are turned as their EXIF orientation says"},
    {"as-stored", "", FLAG, E | P | Q | X | A, "", AT(as_stored), 0, 0, FORGET, "leave pictures as they are stored; without it they are turned as their EXIF orientation says, or as in the training"},
    {"freeze", "PATTERN", LIST, T | Z, "", AT(freeze), 0, 0, FIXED, "parameters of such names are not trained: \"*.bias|conv1*\"; of those that no --group matches; may be given again"},
    {"weights", "FILE", TEXT, T, "", AT(weights), 0, 0, FIXED, "start from the weights of this file: .safetensors, its .index.json of shards, .npz"},
    {"rename", "FROM=TO", LIST, T, "", AT(rename), 0, 0, FIXED,
     "--weights: what FROM is in a name of the file is TO in the network's: \"backbone.*=*\", \"*.gamma=*.weight\"; the first that matches counts; may be given again"},
    {"fit", "", FLAG, T, "", AT(fit), 0, 0, FIXED, "--weights: take what fits, and leave what is missing or of another shape as it is"},
    {"dtype", "keep|f64|f32|f16|bf16", WORD, K, "keep", AT(dtype), 0, 0, FORGET, "what floats become"},
    {"compress", "", FLAG, K, "", AT(compress), 0, 0, FORGET, "to .npz: deflate the arrays, as numpy.savez_compressed does; without it they can be read in place"},
    {"max-shard", "MB", INTEGER, K, "5000", AT(max_shard), 1, 1 << 30, FORGET, "bytes of tensors in a shard, in millions"},
    {"arch", "NET", TEXT, L | W | G | Z, "", AT(arch), 0, 0, FORGET, "instead of MODEL: this network, mlp:256,128, resnet8, ... (with --input)"},
    {"net", "LAYERS", TEXT, L | W | G | Z, "", AT(net), 0, 0, FORGET, "instead of MODEL: a network as text; wick help net lists the layers"},
    {"arch", "NET", TEXT, I, "", AT(arch), 0, 0, FORGET, "show this network's layers: mlp:256,128, resnet8, ... (with --input)"},
    {"net", "LAYERS", TEXT, I, "", AT(net), 0, 0, FORGET, "show the layers of a network as text; wick help net lists them"},
    {"input", "DIMS", TEXT, I, "", AT(input), 0, 0, FORGET, "extents of an image: 28,28 or 3,32,32"},
    {"input", "DIMS|NAME=N", EACH, L | W | G | Z, "", AT(inputs), 0, 0, FORGET, "--arch, --net: extents of an image, 28,28 or 3,32,32. Of a .onnx: an input that becomes a constant, N everywhere"},
    {"batch", "N", INTEGER, L | W | G, "1", AT(batch), 1, 1e6, FORGET, "images at once; of a .onnx --dim says it"},
    {"batch", "N", INTEGER, Z, "1", AT(batch), 1, 1e6, FORGET, "images at once, with --train in a step, NAME_run then takes one; of a .onnx without --train --dim says it"},
    {"train", "", FLAG, L | W | G, "", AT(train), 0, 0, FORGET, "the whole step of training instead: forward, backward, and Adam's update"},
    {"train", "", FLAG, Z, "", AT(train), 0, 0, FORGET, "beside NAME_run also a step of training, NAME_train: forward, backward and update, with weights in RAM"},
    {"loss", "cross-entropy|mse", CHOICE, Z, "cross-entropy", AT(loss), 0, 0, FORGET, "--train: of labels [N], or of targets [N, --classes]"},
    {"without", "PASSES", TEXT, L | W | G | Z, "", AT(without), 0, 0, FORGET, "leave passes out, by name with commas between: fuse,epilogue; or single decisions that explain numbers: fuse:3"},
    {"classes", "N", INTEGER, I | L | W | G, "10", AT(classes), 1, 1 << 20, FORGET, "how many the network tells apart"},
    {"classes", "N", INTEGER, Z, "10", AT(classes), 1, 1 << 20, FORGET, "how many the network tells apart; --train of a .onnx: it gets a fresh head where it has other outputs. Without it, as many as it has"},
    {"hidden", "SIZES", TEXT, T, "256,128", AT(hidden), 0, 0, FIXED, "widths of the hidden layers"},
    {"dropout", "P", REAL, T, "0.1", AT(dropout), 0, 0.99, FIXED,
     "chance that a hidden unit is zeroed in training"},
    {"memory-budget", "BYTES", BYTES, T | L | W | G, "0", AT(memory_budget), 0, 0, CHANGEABLE,
     "the most that a step's intermediates may take, 64M: what gradients need is made again instead of kept where it must be, for the same bits; 0: no limit"},
    {"precision", "f32|bf16|f16", CHOICE, T | L | W | G | Z, "f32", AT(precision), 0, 0, FIXED,
     "what products take and give, with sums, weights and all else in f32; f16 of train scales the loss, and skips steps whose gradients overflow"},
    {"wide", "OPS", TEXT, T | L | W | G | Z, "", AT(wide), 0, 0, FIXED, "with --precision: ops that stay in f32 all the same, by name with commas between: attention,conv"},
    {"max-batch", "BYTES", BYTES, L | W | G, "0", AT(max_batch), 0, 0, FORGET,
     "instead of --batch: the largest with which a step takes no more than so many bytes (64M, 1.5G), with weights, inputs and scratch; found without running one"},
    {"epochs", "N", INTEGER, T, "12", AT(epochs), 1, 1e6, CHANGEABLE, "passes over the training data"},
    {"batch", "N", INTEGER, T, "128", AT(batch), 1, 1e6, FIXED, "samples in a step"},
    {"accumulate", "N", INTEGER, T, "1", AT(accumulate), 1, 1e6, FIXED, "batches whose gradients make one update"},
    {"optimizer", "sgd|adam|adamw|muon|adamax|nadam|radam|rmsprop|adagrad|adadelta|lamb|lion", CHOICE, T | Z, "adam", AT(optimizer), 0, 0, FIXED,
     "update rule of the weights"},
    {"lr", "RATE", REAL, T | Z, "0", AT(lr), 0, 1e30, FIXED, "peak learning rate; 0: the optimizer's own, 0.001 for most, 0.01 for sgd and muon"},
    {"schedule", "constant|step|cosine|multistep|exponential|restarts|onecycle|polynomial|plateau", CHOICE, T, "cosine", AT(schedule), 0, 0, FIXED,
     "course of the learning rate"},
    {"warmup", "N", INTEGER, T, "-1", AT(warmup), -1, MANY, FIXED,
     "updates over which the rate grows from 0; -1: a twentieth of them, of onecycle none"},
    {"lr-min", "RATE", REAL, T, "0", AT(lr_min), 0, 1e30, FIXED, "where the cosine, restarts, polynomial and plateau schedules end"},
    {"lr-every", "N", INTEGER, T, "1000", AT(lr_every), 1, MANY, FIXED, "updates between drops of the step schedule, or in the first period of restarts"},
    {"lr-gamma", "FACTOR", REAL, T, "0.5", AT(lr_gamma), 0, 1, FIXED, "factor of each drop (step, multistep, plateau) or of each update (exponential)"},
    {"lr-at", "LIST", TEXT, T, "", AT(lr_at), 0, 0, FIXED, "updates at which the multistep schedule drops: 1000,3000"},
    {"lr-mult", "N", INTEGER, T, "1", AT(lr_mult), 1, 1000, FIXED, "how much longer each period of restarts is than the one before"},
    {"lr-power", "P", REAL, T, "1", AT(lr_power), 0, 100, FIXED, "exponent of the polynomial schedule; 1: a straight line"},
    {"lr-rise", "PART", REAL, T, "0.3", AT(lr_rise), 0.001, 0.999, FIXED, "part of the updates in which the rate of onecycle grows"},
    {"cycle-momentum", "", FLAG, T, "", AT(cycle_momentum), 0, 0, FIXED, "onecycle: momentum, or beta1, goes from 0.95 down to 0.85 while the rate rises, and back"},
    {"lr-patience", "N", INTEGER, T, "3", AT(lr_patience), 0, 1e6, FIXED, "epochs without a better loss that plateau puts up with before a drop"},
    {"momentum", "M", REAL, T | Z, "-1", AT(momentum), -1, 0.9999, FIXED, "momentum of sgd, muon and rmsprop; -1: 0.9 for sgd, 0.95 for muon, 0 for rmsprop"},
    {"nesterov", "", FLAG, T | Z, "", AT(nesterov), 0, 0, FIXED, "Nesterov momentum for sgd"},
    {"beta1", "B", REAL, T | Z, "-1", AT(beta1), -1, 0.9999999, FIXED, "decay of the mean of gradients, of adam and its kin; -1: 0.9"},
    {"beta2", "B", REAL, T | Z, "-1", AT(beta2), -1, 0.9999999, FIXED, "decay of the mean of squares; -1: the optimizer's own, 0.999 for most"},
    {"amsgrad", "", FLAG, T | Z, "", AT(amsgrad), 0, 0, FIXED, "adam, adamw: by the largest mean of squares so far"},
    {"weight-decay", "W", REAL, T | Z, "0", AT(weight_decay), 0, 1e30, FIXED, "pull of the weights to zero"},
    {"group", "GROUP", LIST, T | Z, "", AT(group), 0, 0, FIXED,
     "parameters by name, and what is different about them: \"*.bias|bn*:decay=0\", \"conv*:lr=0.1x\" (or lr=RATE), \"fc1.*:freeze\"; the first that "
     "matches counts; may be given again"},
    {"clip", "NORM", REAL, T | Z, "0", AT(clip), 0, 1e30, FIXED, "largest norm of all gradients together; 0: no limit"},
    {"label-smoothing", "P", REAL, T, "0", AT(label_smoothing), 0, 1, FIXED, "part of the target that is spread over all classes"},
    {"label-smoothing", "P", REAL, Z, "0", AT(label_smoothing), 0, 1, FORGET, "--train: part of the target that is spread over all classes"},
    {"teacher", "MODEL", LIST, T, "", AT(teacher), 0, 0, FIXED, "also learn from what this trained model says of the images (distillation): a run, a checkpoint or an ONNX file; of several, from their mean"},
    {"temperature", "T", REAL, T, "4", AT(temperature), 0.1, 100, FIXED, "--teacher: scores are divided by T before they become probabilities"},
    {"alpha", "A", REAL, T, "0.7", AT(alpha), 0, 1, FIXED, "--teacher: how much of the loss is T^2 times the divergence from the teacher; the rest is that of the labels"},
    {"ema", "DECAY", REAL, T, "0", AT(ema), 0, 0.9999999, FIXED,
     "measure and save as best a mean of the weights: DECAY of it and the rest of the new ones, each update; 0: the weights"},
    {"patience", "N", INTEGER, T, "0", AT(patience), 0, 1e6, CHANGEABLE,
     "stop after N epochs without a better test accuracy (or, at the same, a lower loss); 0: never"},
    {"seed", "N", INTEGER, T, "1", AT(seed), 0, MANY, FIXED, "of weights, order and dropout"},
    {"threads", "N", INTEGER, T | E | P | M | I | D | R | X | S | K | L | W | G | Z | N | Q, "0", AT(threads), 0, WICK_THREADS_MAX, FORGET,
     "at most 1024; 0: every CPU this process may use. Results don't depend on it"},
    {"workers", "N", INTEGER, T, "0", AT(workers), 0, WICK_WORKERS_MAX, FORGET,
     "threads that make batches ahead, besides those that compute; 0: each batch is made when it is needed. Results don't depend on it"},
    {"verbose", "", FLAG, T, "", AT(verbose), 0, 0, FORGET, "also say after each epoch how the images came, and who waited for whom"},
    {"out", "DIR", TEXT, T, "wick-run", AT(out), 0, 0, FORGET, "where last.safetensors and best.safetensors go"},
    {"out", "DIR", TEXT, Z, "", AT(out), 0, 0, FORGET, "where NAME.c and NAME.h go; -o DIR is the same"},
    {"name", "NAME", TEXT, Z, "model", AT(name), 0, 0, FORGET, "of the files, and the prefix of what they declare: NAME_run"},
    {"weights", "array|file", WORD, Z, "array", AT(weights), 0, 0, FORGET, "as arrays in NAME.c, or as NAME.bin, which NAME_run is given"},
    {"isa", "plain|avx2|avx512", WORD, Z, "plain", AT(isa), 0, 0, FORGET, "C11 for any machine; or with vector types of gcc and clang, and the bits of that tier: this CPU must have it"},
    {"lanes", "N", INTEGER, Z, "8", AT(lanes), 1, 64, FORGET, "sums that loops carry at once: more suit CPUs with vectors (32), fewer those with few registers; the bits are the same"},
    {"cc", "COMMAND", TEXT, Z, "cc -O2", AT(cc), 0, 0, FORGET, "the compiler that tells how large the code is: \"arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -Os\""},
    {"out", "FILE", TEXT, Q, "", AT(out), 0, 0, FORGET, "the .onnx to write; -o FILE is the same"},
    {"block", "N", INTEGER, Q, "0", AT(block), 0, 1 << 20, FORGET, "4 bits for weights of products of matrices, in blocks of N along what is summed, 16, 32, 64 ...; all else stays f32. 0: 8 bits for weights and activations"},
    {"images", "N", INTEGER, Q, "512", AT(images), 1, 1e7, FORGET, "training images that ranges of activations are taken from"},
    {"judge", "N", INTEGER, Q, "2000", AT(judge), 1, 1e7, FORGET, "other training images, on which integers are held against floats"},
    {"calibration", "mse|minmax|percentile|entropy|moving", CHOICE, Q, "mse", AT(calibration), 0, 0, FORGET, "how a range follows from what was seen: least square error, all of it, all but --percentile, least divergence, or moving averages of batches"},
    {"percentile", "P", REAL, Q, "99.999", AT(percentile), 50.001, 100, FORGET, "--calibration percentile: how many of all numbers a range holds"},
    {"per-tensor", "", FLAG, Q, "", AT(per_tensor), 0, 0, FORGET, "one scale for all of a weight, instead of one for each output channel"},
    {"reduce-range", "", FLAG, Q, "", AT(reduce_range), 0, 0, FORGET, "weights of 7 bits, for ONNX Runtime on CPUs with AVX2 and without VNNI, where it saturates sums of more"},
    {"keep", "PATTERN", TEXT, Q, "", AT(keep), 0, 0, FORGET, "layers of such names stay f32: \"conv1*|*.fc.*\""},
    {"max-drop", "POINTS", REAL, Q, "-1", AT(max_drop), -1, 100, FORGET, "how much accuracy may be lost, with 95 % confidence; where it is more, the layers that it comes from stay f32. -1: whatever is lost"},
    {"epochs", "N", INTEGER, Q, "0", AT(epochs), 0, 1e6, FORGET, "train so long with rounded weights and activations, on the images that judge nothing; the best epoch counts"},
    {"lr", "RATE", REAL, Q, "0", AT(lr), 0, 1e30, FORGET, "--epochs: peak learning rate of adam; 0: 0.0001"},
    {"seed", "N", INTEGER, Q, "1", AT(seed), 0, MANY, FORGET, "which images are taken"},
    {"out", "FILE", TEXT, R, "", AT(out), 0, 0, FORGET, "the page to write; without it, report.html in RUN"},
    {"force", "", FLAG, T, "", AT(force), 0, 0, FORGET, "start over in an --out that holds a run"},
    {"resume", "DIR", TEXT, T, "", AT(resume), 0, 0, FORGET,
     "go on with the run in DIR, with its options; epochs and patience may be given anew"},
    {"save-every", "N", INTEGER, T, "1000", AT(save_every), 0, MANY, CHANGEABLE,
     "steps between checkpoints, besides one an epoch; 0: none between"},
    {"log", "FILE", TEXT, T, "", AT(log), 0, 0, FIXED, "the log, a JSON object a line for every step; without it, log.jsonl in --out"},
    {"layers", "", FLAG, M, "", AT(layers), 0, 0, FORGET,
     "A is a model, B has its \"input\" and what each layer gave for it, by the layer's name: run the model, and compare in order"},
    {"tolerance", "T", REAL, M, "-1", AT(tolerance), -1, 1e30, FORGET,
     "what may differ, as part of the largest magnitude of the tensor in B; -1: 0.00001, or nothing beside --rtol or --atol"},
    {"rtol", "R", REAL, M, "-1", AT(rtol), -1, 1e30, FORGET, "what may differ, as part of each element of B; -1: nothing"},
    {"atol", "A", REAL, M, "-1", AT(atol), -1, 1e30, FORGET, "what may differ besides; -1: nothing. With --atol 0 alone any difference counts"},
    {"only", "PATTERN", TEXT, M, "", AT(only), 0, 0, FORGET, "compare only what has such a name: \"*.weight\""},
    {"input", "NAME=FILE", EACH, X, "", AT(inputs), 0, 0, FORGET,
     "an input from a .npy, .pb, .wav, picture, number (NAME=16000) or NAME=random[:DIMS]; random alone: all that are not named. Given again for "
     "one NAME, or a .npy with one axis more than the input has: the steps of a sequence"},
    {"input", "NAME=N", EACH, K | S, "", AT(inputs), 0, 0, FORGET, "an input of a .onnx that becomes a constant, N everywhere, such as the sampling rate that a branch hangs on: sr=16000"},
    {"state", "IN=OUT", EACH, X, "", AT(states), 0, 0, FORGET,
     "the input IN of a step is the output OUT of the step before; at first zeros, or what --input gives; may be given again"},
    {"dim", "NAME=N|A..B", EACH, L, "", AT(dims), 0, 0, FORGET,
     "extent of an open dim, by its name or as INPUT.axis (x.2=224), where no file says it; else 1. batch=1..256, or seq=8..512/8 for multiples of 8: shapes and memory over the range, and the plan that takes most"},
    {"plans", "N", INTEGER, L, "1000", AT(plans), 1, 1e7, FORGET, "with ranges of --dim: plans that may be made to bound their memory; proven, if there are no more lists of extents"},
    {"dim", "NAME=N|A..B", EACH, X, "", AT(dims), 0, 0, FORGET,
     "extent of an open dim, by its name or as INPUT.axis (x.2=224), of random inputs and zeros: else that of an input with the name, else 1. Files have to have it, or one of batch=1..256, or seq=8..512/8 for multiples of 8"},
    {"dim", "NAME=N|A..B", EACH, S, "", AT(dims), 0, 0, FORGET,
     "extent of an open dim, by its name or as INPUT.axis (x.2=224); else 1. batch=1..256, or seq=8..512/8 for multiples of 8: the range that output shapes are found in; the rest is for the least"},
    {"dim", "NAME=N", EACH, W | G | Z, "", AT(dims), 0, 0, FORGET, "extent of an open dim, by its name or as INPUT.axis (x.2=224), where no file says it; else 1"},
    {"dim", "NAME=N", EACH, V, "", AT(dims), 0, 0, FORGET, "extent of an open dim of a .onnx, by its name or as INPUT.axis (x.2=224); else 1, or more where its graph can't be recorded with 1"},
    {"shallow", "", FLAG, V, "", AT(shallow), 0, 0, FORGET, "of a .onnx, look at the file alone: structure, names, weights; ops, attributes and shapes of its graph are not looked at"},
    {"dim", "NAME=N|A..B", EACH, K, "", AT(dims), 0, 0, FORGET,
     "number for an open dim, by its name or as INPUT.axis (x.2=224); or seq=8..512/8, what it stays open for: without it, from 1 on. Others stay open, or it is refused"},
    {"fix-open", "", FLAG, K, "", AT(fix_open), 0, 0, FORGET, "an ONNX model whose dims can't stay open: write it for 1 of each that --dim gives no number"},
    {"output", "DIR", TEXT, X, "", AT(output), 0, 0, FORGET, "write each output to DIR/NAME.npy instead of showing it; those of a sequence are stacked"},
    {"values", "N", INTEGER, X, "1000", AT(values), 0, MANY, FORGET, "with --json: the numbers of outputs that have at most N of them; 0: of all"},
    {"topk", "K", INTEGER, X, "0", AT(topk), 0, MANY, FORGET, "of outputs with a score for each class, show the K highest; 0: 5 with --labels, else all of the output"},
    {"labels", "FILE", TEXT, X, "", AT(labels), 0, 0, FORGET, "names of the classes, a line each"},
    {"scale", "S", TEXT, X, "1", AT(scale), 0, 0, FORGET, "pictures: pixels of 0 to 255 times this, such as 1/255; then mean and std. Recordings: samples of -1 to 1 times this"},
    {"mean", "LIST", TEXT, X, "0", AT(mean), 0, 0, FORGET, "pictures: what to subtract, one number or one for each channel: 0.485,0.456,0.406"},
    {"std", "LIST", TEXT, X, "1", AT(std), 0, 0, FORGET, "pictures: what to divide by then"},
    {"transform", "LIST", TEXT, X, "", AT(transform), 0, 0, FORGET, "pictures and recordings: what training had them go through, without chance: resize=256,center=224,normalise=0.5/0.25 or fit=8000,logmel=40 ... (wick/transform.h)"},
    {"layout", "auto|nchw|nhwc", WORD, X, "auto", AT(layout), 0, 0, FORGET, "pictures: where the channels are; auto: by an extent of 1 or 3, else nchw"},
    {"bgr", "", FLAG, X, "", AT(bgr), 0, 0, FORGET, "pictures: channels in the order blue, green, red; --mean and --std are in that order too"},
    {"rate", "HZ", INTEGER, T, "0", AT(rate), 0, 768000, FIXED, "resample recordings to so many samples a second, also when the network is tested and used; 0: they have one rate, and keep it"},
    {"rate", "HZ", INTEGER, A, "0", AT(rate), 0, 768000, FORGET, "bench: resample recordings to so many samples a second; 0: they stay as they are"},
    {"rate", "HZ", INTEGER, X, "0", AT(rate), 0, 768000, FORGET, "recordings: resample to so many samples a second; 0: take them as they are"},
    {"hop", "N", INTEGER, X, "0", AT(hop), 0, MANY, FORGET,
     "recordings, with --state: samples from a step's beginning to the next one's; what a step has more are the last of the steps before; 0: as many as it has"},
    {"seed", "N", INTEGER, X, "1", AT(seed), 0, MANY, FORGET, "of random inputs, and of random ops"},
    {"check", "DIR", TEXT, X, "", AT(check), 0, 0, FORGET,
     "compare with the outputs in DIR: output_0.pb or .npy for input_0.pb or .npy ..., or such sets in DIR/test_data_set_0, 1 ...; with --state they "
     "are one sequence; exit 5 if any differs"},
    {"rtol", "R", REAL, X, "0.001", AT(rtol), 0, 1e30, FORGET, "--check: what may differ, as part of the expected number"},
    {"atol", "A", REAL, X, "1e-7", AT(atol), 0, 1e30, FORGET, "--check: what may differ besides"},
    {"bench", "", FLAG, X, "", AT(bench), 0, 0, FORGET, "show times instead: run until the median is known within 1 %, or --time is over"},
    {"time", "S", REAL, X, "5", AT(time), 0, 1e6, FORGET, "--bench: seconds at most, besides the warm-up"},
    {"repeat", "N", INTEGER, X, "0", AT(repeat), 0, 1e6, FORGET, "show times of N runs, besides the outputs; 0: of none, or with --bench of as many as it takes"},
    {"onnx", "", FLAG, O, "", AT(onnx_ops), 0, 0, FORGET, "list ONNX's ops that Wick runs, with their opsets; OP is one of them then"},
    {"svg", "FILE", TEXT, L, "", AT(svg), 0, 0, FORGET, "draw memory over time: what is in use, and each intermediate's place and life"},
    {"before", "PASS", TEXT, G, "", AT(before), 0, 0, FORGET, "the graph as it is before that pass; with --after, what changed between the two. recorded: before all passes"},
    {"after", "PASS", TEXT, G, "", AT(after), 0, 0, FORGET, "the graph after that pass, the last time it runs; without it, after all"},
    {"dot", "FILE", TEXT, G, "", AT(dot), 0, 0, FORGET, "write it for Graphviz instead of as text"},
    {"svg", "FILE", TEXT, S | G, "", AT(svg), 0, 0, FORGET, "draw the graph"},
    {"text", "", FLAG, G, "", AT(as_text), 0, 0, FORGET, "print it as text also where --svg or --dot writes it"},
    {"opset", "N", INTEGER, K | Q, "18", AT(opset), 13, 28, FORGET, "version of the ops of an ONNX model that is written"},
    {"external", "", FLAG, K, "", AT(external), 0, 0, FORGET, "put the weights of an ONNX model into a file beside it, B.safetensors"},
    {"max-memory", "MB", INTEGER, K | X | S | V | L | W | G | Z, "", AT(max_memory), 1, 1 << 24, FORGET,
     "memory that it may take besides the file's own pages; without it what this machine has, of that 1024 for what a file describes and a run records of it"},
    {"max-tensor", "MB", INTEGER, X | S | V | L | W | G | Z, "8192", AT(max_tensor), 1, 1 << 24, FORGET, "the largest tensor that it may make"},
    {"max-output", "MB", INTEGER, X | S | V | L | W | G | Z, "8192", AT(max_output), 1, 1 << 24, FORGET, "all outputs of a run together"},
    {"max-nodes", "N", INTEGER, X | S | V | L | W | G | Z, "", AT(max_nodes), 1, MANY, FORGET,
     "nodes that a run may execute, those of loops and functions each time; without it 200000, and one for each byte of the file, up to 10000000"},
    {"max-depth", "N", INTEGER, X | S | V | L | W | G | Z, "64", AT(max_depth), 1, 1000, FORGET, "how deep graphs and functions may lie within each other"},
    {"max-seconds", "S", REAL, X | S | V | L | W | G | Z, "", AT(max_seconds), 0.001, 1e6, FORGET,
     "end with an error after that time; without it inspect and verify after 120, while in run opening a file may take an hour, and its graph too"},
    {"list", "", FLAG, B, "", AT(list), 0, 0, FORGET, "show the rows and their sizes, and measure none"},
    {"size", "LIST", TEXT, B, "1K,64K,16M", AT(sizes), 0, 0, FORGET, "elements, of rows that come in several sizes"},
    {"threads", "LIST", TEXT, B, "1", AT(thread_counts), 0, 0, FORGET, "numbers of threads, one after the other: 1,2. They, and peers, are kept on as many CPUs; one thread's time is what it computed"},
    {"time", "S", REAL, W, "1", AT(time), 0, 1e6, FORGET, "seconds of running, at most 101 times"},
    {"time", "S", REAL, B, "1", AT(time), 0, 1e6, FORGET, "seconds for a row at most; a quarter of it will do where the median is known within 1 %; 0: a glance at each, and at the ceilings"},
    {"peers", "PYTHON", TEXT, B, "", AT(peers), 0, 0, FORGET,
     "race PyTorch, ONNX Runtime, OpenBLAS, BLIS and oneDNN too, in turn, where this interpreter has them: scripts/peers makes such an environment"},
    {"memory", "", FLAG, B, "", AT(memory), 0, 0, FORGET, "measure every row's memory too, in a process of its own; without it that of networks and of the suite memory"},
    {"instructions", "", FLAG, B, "", AT(instructions), 0, 0, FORGET, "count every row's instructions: by the CPU, or, where its counters can't be read, by valgrind's callgrind, which takes a while"},
    {"runs", "N", INTEGER, B, "0", AT(runs), 0, MANY, FORGET, "run each row N times and measure nothing but memory: for perf stat, valgrind and debuggers"},
    {"html", "FILE", TEXT, B, "", AT(html), 0, 0, FORGET, "also draw it all, as one page"},
    {"markdown", "FILE", TEXT, B, "", AT(markdown), 0, 0, FORGET, "also write tables for documents"},
    {"against", "FILE.json", TEXT, B, "", AT(against), 0, 0, FORGET,
     "beside what --json wrote earlier: which rows are faster or slower, by 2 % and more and not by chance (p < 0.05); exit 1 if any is slower"},
    {"regress", "COMMIT", TEXT, B, "", AT(regress), 0, 0, FORGET,
     "build that commit of the repository here in build/regress, run both versions in turn, and judge as --against does; this one should be a release build too"},
    {"time", "S", REAL, N, "20", AT(time), 0, 1e6, FORGET, "seconds to measure for, about; 0: a glance, for trying it"},
    {"show", "", FLAG, N, "", AT(show), 0, 0, FORGET, "measure nothing: what is used now, and the file that it is from"},
    {"reset", "", FLAG, N, "", AT(reset), 0, 0, FORGET, "measure nothing: remove the file, so that the defaults hold"},
    {"compression", "none|lz4|zstd", CHOICE, A, "none", AT(compression), 0, 0, FORGET, "of a record file that is written; split keeps that of the one it reads"},
    {"level", "N", INTEGER, A, "0", AT(level), 0, 22, FORGET, "how hard to compress: zstd 1 to 22, lz4 2 to 12; 0: the library's own"},
    {"dictionary", "KB", INTEGER, A, "0", AT(dictionary), 0, 16384, FORGET, "--compression zstd: learn so large a dictionary from the first records, which helps where they are small and alike; 0: none"},
    {"append", "", FLAG, A, "", AT(append), 0, 0, FORGET, "pack: add to the record file TO, which holds the same and has the classes; interrupted or not, it keeps what it had"},
    {"count", "N", INTEGER, A, "8", AT(count), 1, MANY, FORGET, "head: how many to show"},
    {"from", "I", INTEGER, A, "0", AT(from), 0, MANY, FORGET, "head: the first one, from 0"},
    {"svg", "FILE", TEXT, A, "", AT(svg), 0, 0, FORGET, "head: draw the first recording, its samples and its spectrogram"},
    {"part", "NAME=SHARE", EACH, A, "", AT(parts), 0, 0, FORGET, "split: a part of each class becomes TO/NAME.wrec; may be given again; without any train=0.8 and test=0.2"},
    {"seed", "N", INTEGER, A, "1", AT(seed), 0, MANY, FORGET, "split: which go where"},
    {"split", "NAME", TEXT, A, "train", AT(split), 0, 0, FORGET, "of a PATH with several splits, this one"},
    {"all", "", FLAG, A, "", AT(all), 0, 0, FORGET, "take files of every kind, not pictures and recordings alone"},
    {"batch", "N", INTEGER, A, "64", AT(batch), 1, 1e6, FORGET, "bench: samples in a batch"},
    {"workers", "LIST", TEXT, A, "0,1,2", AT(worker_counts), 0, 0, FORGET, "bench: numbers of threads that make batches, one after the other"},
    {"prefetch", "N", INTEGER, A, "0", AT(prefetch), 0, WICK_PREFETCH_MAX, FORGET, "bench: batches made ahead; 0: 2, or one more than workers"},
    {"transform", "LIST", TEXT, A, "", AT(transform), 0, 0, FORGET, "bench: what samples go through: crop=4,flip,normalise or fit=8000,logmel=40 ... (wick/transform.h); without it, bytes to numbers"},
    {"adaptive", "", FLAG, T | A, "", AT(adaptive), 0, 0, FORGET, "--workers (and --prefetch) are the most; how many are used follows how long is waited for batches, which have the same bits"},
    {"cache", "MB", INTEGER, A, "0", AT(cache), 0, 1 << 20, FORGET, "bench: keep so much of the decoded samples that were asked for last; 0: none"},
    {"time", "S", REAL, A, "2", AT(time), 0, 1e6, FORGET, "bench: seconds for each number of workers"},
    {"skip", "", FLAG, A, "", AT(skip), 0, 0, FORGET, "bench: leave out what cannot be read, and say how many"},
    {"salvage", "", FLAG, A, "", AT(salvage), 0, 0, FORGET, "of a damaged record file, take what is whole before the damage"},
    {"no-measure", "", FLAG, D, "", AT(no_measure), 0, 0, FORGET, "leave out the half second of measuring speeds"},
    {"color", "auto|always|never", CHOICE, T | E | P | D | N | A, "auto", AT(color), 0, 0, FORGET,
     "auto: on a terminal, unless NO_COLOR is set"},
    {"json", "", FLAG, T | E | P | M | I | O | D | R | X | S | V | K | B | L | W | G | Z | N | A | Q, "", AT(json), 0, 0, FORGET,
     "print one JSON object on standard output instead"},
    {"quiet", "", FLAG, T | E | P | R | X | K | B | L | W | G | Z | N | A | Q, "", AT(quiet), 0, 0, FORGET, "no talk on standard error but what went wrong; results stay"},
    {"help", "", FLAG, T | E | P | M | I | O | D | C | R | X | S | V | K | B | L | W | G | Z | N | A | Q, "", AT(help), 0, 0, FORGET, "this text"},
};
/* Under which heading help shows an option of these commands; the first row that has it counts, and headings stand in the order of their first rows. */
static const struct {
    const char *group;
    unsigned commands;
    const char *names; /* between blanks */
} headings[] = {
    {"Inputs", X | S | V, "input state dim scale mean std transform layout image-size as-stored bgr rate hop seed"},
    {"Data", T | E | P | R | Q, "data label separator decimal no-header skip layout image-size as-stored split index limit augment transform input-range rate"},
    {"Network", T, "arch net model head weights rename fit freeze hidden dropout"},
    {"Network", I | L | W | G | Z, "arch net input classes batch train dim"},
    {"Training", T, "epochs batch accumulate label-smoothing teacher temperature alpha ema patience precision wide memory-budget seed"},
    {"Training", Z, "loss label-smoothing head freeze"},
    {"Optimizer", T | Z, "optimizer lr momentum nesterov beta1 beta2 amsgrad weight-decay group clip"},
    {"Schedule", T, "schedule warmup lr-min lr-every lr-gamma lr-at lr-mult lr-power lr-rise cycle-momentum lr-patience"},
    {"Plan", L | W | G | Z, "memory-budget precision wide max-batch plans without before after"},
    {"Quantisation", Q, "block images judge calibration percentile per-tensor reduce-range keep max-drop epochs lr opset seed"},
    {"Conversion", K, "dtype compress max-shard opset external input dim fix-open"},
    {"C", Z, "name weights isa lanes cc"},
    {"Check", X, "check rtol atol"},
    {"Timing", X | W, "bench time repeat"},
    {"Rows", B, "list size threads time"},
    {"Measurements", B, "peers memory instructions runs against regress"},
    {"Reading", A, "split all salvage as-stored rate separator decimal no-header"},
    {"Looking", A, "count from svg"},
    {"Packing", A, "compression level dictionary append"},
    {"Splitting", A, "part seed"},
    {"Batches", A, "batch workers prefetch transform adaptive cache time skip"},
    {"Output", ~0u, "out output force resume save-every log svg dot text top topk labels values html markdown verbose quiet json color help"},
    {"Machine", ~0u, "threads workers adaptive"},
    {"Limits", ~0u, "max-memory max-tensor max-output max-nodes max-depth max-seconds"},
    {"Other", ~0u, ""},
};
enum { HEADINGS = sizeof headings / sizeof headings[0] };

/* clang-format on */
#undef T
#undef E
#undef P
#undef M
#undef I
#undef O
#undef D
#undef C
#undef R
#undef X
#undef S
#undef V
#undef K
#undef B
#undef L
#undef W
#undef G
#undef A
enum { ROWS = sizeof rows / sizeof rows[0] };
_Static_assert(sizeof rows / sizeof rows[0] <= CLI_MAX_OPTIONS, "raise CLI_MAX_OPTIONS");

static bool belongs(const option_row *row, cli_command_id command) { return row->commands >> command & 1; }

static int find_row(cli_command_id command, const char *name, size_t length) {
    for (int i = 0; i < ROWS; i++)
        if (belongs(&rows[i], command) && strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return i;
    return -1;
}

/* The heading of a command's option: its row in headings; that of the rest, where none has it. */
static int heading_of(cli_command_id command, const char *name) {
    const size_t n = strlen(name);
    for (int h = 0; h < HEADINGS; h++) {
        const char *names = headings[h].names;
        for (const char *at = names; headings[h].commands >> command & 1 && (at = strstr(at, name)); at += n)
            if ((at == names || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return h;
    }
    return HEADINGS - 1;
}

/* Row of the i-th option below heading h, in the order of its names; of the rest in the table's. -1: past the last. */
static int row_below(cli_command_id command, int h, int *i) {
    if (!*headings[h].names) {
        for (int row = 0; row < ROWS; row++)
            if (belongs(&rows[row], command) && heading_of(command, rows[row].name) == h && (*i)-- == 0) return row;
        return -1;
    }
    for (const char *at = headings[h].names; *at && headings[h].commands >> command & 1; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        const int row = find_row(command, at, n);
        at += n;
        if (row >= 0 && heading_of(command, rows[row].name) == h && (*i)-- == 0) return row;
    }
    return -1;
}

bool options_at(cli_command_id command, int i, option_view *out) {
    for (int h = 0; h < HEADINGS; h++) {
        const int row = row_below(command, h, &i);
        if (row < 0) continue;
        const option_row *r = &rows[row];
        *out = (option_view){r->name,
                             r->argument,
                             r->fallback,
                             r->doc,
                             headings[h].group,
                             r->kind == FLAG,
                             r->kind == CHOICE || r->kind == WORD};
        return true;
    }
    return false;
}

const char *options_heading(int i) {
    for (int h = 0; h < HEADINGS; h++) {
        int before = 0;
        while (strcmp(headings[before].group, headings[h].group) != 0) before++;
        if (before == h && i-- == 0) return headings[h].group;
    }
    return NULL;
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

/* An exit code; anything but CLI_OK leaves one line in `error`. */
static int set_value(cli_options *o, int index, const char *text, char *error, size_t size) {
    const option_row *row = &rows[index];
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
    cli_list *list = (cli_list *)((char *)o + rows[index].offset);
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
    int code = CLI_OK;
    for (int i = 0; i < ROWS && code == CLI_OK; i++) /* a number without a fallback stays 0: nothing is said */
        if (belongs(&rows[i], o->command) && (*rows[i].fallback || (rows[i].kind != INTEGER && rows[i].kind != REAL)))
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
            if (!*word) {
                snprintf(error, size, "%s: an argument is an empty text", command->arguments);
                return CLI_USAGE;
            }
            if (!o->model) {
                o->model = word;
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
        if (strcmp(word, "-o") == 0 && find_row(o->command, "out", 3) >= 0) word = "--out";
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
        code = rows[index].kind == EACH                       ? append_value(o, index, value, error, size)
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

void options_free(cli_options *o) {
    for (int i = 0; i < ROWS; i++) {
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

/* Rows of the train command that are kept, in the table's order. */
static int kept_row(int i) {
    for (int row = 0; row < ROWS; row++)
        if (rows[row].keep != FORGET && i-- == 0) return row;
    return -1;
}

const char *options_kept(const cli_options *o, int i, const char **text) {
    int row = kept_row(i);
    if (row < 0) return NULL;
    *text = o->text[row];
    return rows[row].name;
}

const char *options_fallback(int i) {
    const int row = kept_row(i);
    return row < 0 ? NULL : rows[row].fallback;
}

/* Whether two texts are one value: 1e-3 and 0.001 are. */
static bool same_value(const option_row *row, const char *a, const char *b) {
    bool number = row->kind == INTEGER || row->kind == REAL;
    return strcmp(a, b) == 0 || (number && strtod(a, NULL) == strtod(b, NULL));
}

/* What a value like 0 stands for: ": no limit", as the option's doc says after "; 0", or "". */
static const char *meaning(const option_row *row, const char *text) {
    const char *at = strstr(row->doc, "; ");
    size_t length = strlen(text);
    return at && strncmp(at + 2, text, length) == 0 && at[2 + length] == ':' ? at + 2 + length : "";
}

int options_restore(cli_options *o, int i, const char *text, char *error, size_t size) {
    int row = kept_row(i);
    if (o->given[row]) {
        if (rows[row].keep == CHANGEABLE || same_value(&rows[row], o->text[row], text)) return CLI_OK;
        snprintf(error, size, "--%s %s can't be changed on --resume: the run was started with '%s'%s", rows[row].name,
                 o->text[row], text, meaning(&rows[row], text));
        return CLI_USAGE;
    }
    if (rows[row].kind == TEXT && !*text && *rows[row].fallback) return refuse_empty(&rows[row], error, size);
    return set_value(o, row, text, error, size);
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
