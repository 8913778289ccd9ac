#include "help.h"

#include "onnx/convert.h"
#include "options.h"
#include "term/page.h"

#include "wick/zoo.h"

#include <string.h>

const char help_model[] = "MODEL is a checkpoint, or the folder of a run: then its best.safetensors.";
static const char help_onnx[] = "MODEL.onnx is an ONNX file; weights outside of it are looked for in its folder.";
static const char help_any[] =
    "FILE is an ONNX model, safetensors or an index of their shards, a .npz or a .npy: its first bytes say which.";
static const char help_planned[] =
    "MODEL is an ONNX file, a checkpoint, or the folder of a run; or --arch or --net name a network, without a file.";
static const char help_verified[] =
    "FILE is of any kind that Wick reads: a model, tensors, pictures or a recording; its first bytes say which.";
const char help_pair[] = "A and B are safetensors files, or folders of runs: then their best.safetensors.";
static const char help_conversions[] =
    "A's first bytes say what it is, the end of B's name what it becomes. B is written as a whole, or not at all.";
static const char help_bench_rows[] =
    "ROW is a row (gemm/f32_64x64x64), a suite (gemm), or a pattern (conv/*_n1); or memory, targets or goals: the rows "
    "that tell of memory, "
    "of figures that others publish, and of the kernels' goals, with a table of what they come to. Without any, all "
    "rows: a quarter of an "
    "hour, with --peers an hour. \"wick bench ceilings\" tells what the machine can do, and measures no row.";
static const char help_data[] = "PATH is a folder of files, CLASS/NAME; an archive of one (.tar, .tar.gz, .tar.zst); "
                                "an IDX file, or a folder of them; a record file (.wrec); a set by name; or a folder "
                                "that holds such as train and test (--split). What lies in a folder is of the class "
                                "that the folder is named after.\n"
                                "  info              what it is\n  head              the first ones: pictures in the "
                                "terminal, recordings also as SVG\n"
                                "  stats             how many of each class, sizes, mean and deviation, what is "
                                "broken\n  verify            whether all of it can be read: exit 0, or 3\n"
                                "  pack PATH TO      make the record file TO of it\n  unpack PATH TO    make files of "
                                "it again, in the new folder TO, or in the archive TO.tar\n"
                                "  split PATH TO     record files in the folder TO, with the same share of each class\n"
                                "  bench             how fast batches of it can be made, and what holds them up; "
                                "pictures in folders are decoded by the workers\n"
                                "  boxes PATH TO     the boxes of pictures in another form, checked against them: a "
                                "table, COCO's JSON, YOLO's texts, Pascal VOC's XML";
static const char help_launch[] =
    "COMMAND is started as every rank, with what follows it; options of wick launch stand before it. The output of "
    "rank 0 is shown; what the others print is kept, and shown if they fail. When a rank fails the others are ended "
    "within 5 s. SIGINT, SIGTERM and SIGHUP are passed on to all.";
static const char help_zoo[] =
    "NAME is a model, by its name or number (V5), or all; the data it learns from are public sets that are there "
    "already, below --data.\n"
    "  list              what there is: shapes, parameters, data, licences, and what is not there yet\n"
    "  prepare NAME      make its data ready, and look at them, without training\n"
    "  train NAME        prepare the data and train; what has a result stays, unless --force is given\n"
    "  eval              judge again what is trained, by its last epoch, on the held-out part\n"
    "  bench             the time of one sample on one core, of the first output, memory and bytes\n"
    "  report            one HTML page of it all\n"
    "  recipe NAME       the options that train it, as wick train --config reads them\n"
    "  first NAME        what bench starts: a process that gives an output, and says how long it took";
const char help_file[] =
    "FILE is a picture, a recording (.wav), a table (.csv), arrays (.npz) or pictures in MNIST's format (IDX): of the "
    "kind that the model learned from.";

const char *help_argument(cli_command_id command) {
    switch (command) {
    case CMD_RUN: return help_onnx;
    case CMD_INSPECT: return help_any;
    case CMD_PLAN:
    case CMD_EXPLAIN:
    case CMD_GRAPH:
    case CMD_COMPILE: return help_planned;
    case CMD_VERIFY: return help_verified;
    case CMD_COMPARE: return help_pair;
    case CMD_CONVERT: return help_conversions;
    case CMD_BENCH: return help_bench_rows;
    case CMD_DATA: return help_data;
    case CMD_ZOO: return help_zoo;
    case CMD_LAUNCH: return help_launch;
    case CMD_EVAL:
    case CMD_PREDICT:
    case CMD_REPORT:
    case CMD_INFO: return help_model;
    default: return NULL;
    }
}

bool help_conversion(int i, char *to, size_t size, const char **from) {
    const conversion *c = &conversions[i];
    size_t n = 0;
    for (int k = 0; k < MOST_ENDS && c->fn && c->to[k] && n < size; k++)
        n += (size_t)snprintf(to + n, size - n, "%s%s", k ? ", " : "", c->to[k]);
    *from = c->from;
    return c->fn != NULL;
}

enum {
    ALL = ~0,
    OF_TRAIN = 1 << CMD_TRAIN,
    OF_READERS = OF_TRAIN | 1 << CMD_EVAL | 1 << CMD_PREDICT | 1 << CMD_REPORT | 1 << CMD_COMPARE | 1 << CMD_INFO |
                 1 << CMD_RUN | 1 << CMD_INSPECT | 1 << CMD_VERIFY | 1 << CMD_CONVERT | 1 << CMD_BENCH | 1 << CMD_PLAN |
                 1 << CMD_EXPLAIN | 1 << CMD_GRAPH | 1 << CMD_COMPILE | 1 << CMD_DATA | 1 << CMD_QUANTIZE |
                 1 << CMD_PRUNE | 1 << CMD_SHRINK | 1 << CMD_ZOO,
};
static const struct {
    int code, commands; /* a bit set of cli_command_id */
    const char *doc;
} codes[] = {
    {CLI_OK, ALL, "done, or nothing was left to do"},
    {CLI_FAILED, ALL, "it failed while running: a write, memory, another training in the folder, an internal error"},
    {CLI_USAGE, ALL, "the command line is wrong"},
    {CLI_BAD_FILE, OF_READERS,
     "a file that was to be read is missing, damaged, of another version or of another model"},
    {CLI_NOT_FINITE, OF_TRAIN,
     "the training met NaN or Inf; the step and the op are named, the last checkpoint is whole"},
    {CLI_DIFFERENT, 1 << CMD_COMPARE,
     "compare: the two differ by more than the tolerance, in shape, or in what there is"},
    {CLI_DIFFERENT, 1 << CMD_RUN, "run --check: an output differs by more than the tolerance, in dtype or in shape"},
    {CLI_MISSED, 1 << CMD_QUANTIZE | 1 << CMD_PRUNE | 1 << CMD_SHRINK,
     "quantize, prune, shrink: the best that was found is written, and doesn't keep to what --max-... allows"},
    {CLI_FAILED, 1 << CMD_BENCH, "bench: a row could not be run, or with --against or --regress is slower"},
    {CLI_INTERRUPTED, OF_TRAIN | 1 << CMD_DATA, "interrupted (Ctrl-C, SIGTERM, SIGHUP)"},
    {CLI_INTERRUPTED, 1 << CMD_DATA, "data: what was being written is gone, what was there before is not"},
    {CLI_INTERRUPTED, OF_TRAIN, "train, also after SIGXCPU and SIGPIPE, has saved its place and printed how to go on"},
    {CLI_FAILED, 1 << CMD_LAUNCH,
     "launch: else the code is that of the first rank that failed, 128 and a signal's number if that ended it"},
    {CLI_UNREAD, ALL, "who read the output is gone (SIGPIPE); nothing is said"},
};

bool help_exit_code(cli_command_id command, int i, int *code, char *text, size_t size) {
    size_t n = 0;
    for (int c = 0; c < 256 && !n; c++) {
        for (size_t row = 0; row < sizeof codes / sizeof codes[0]; row++) {
            if (codes[row].code != c || (command != CMD_COUNT && !(codes[row].commands >> command & 1))) continue;
            if (n < size) n += (size_t)snprintf(text + n, size - n, "%s%s", n ? "; " : "", codes[row].doc);
        }
        *code = c;
        if (n && i-- > 0) n = 0;
    }
    return n > 0;
}

const help_row help_environment[] = {
    {"WICK_ZOO", "folder of the public sets that wick zoo trains on, without --data"},
    {"WICK_DATA", "folder of the data sets that are known by name; /usr/share/datasets is looked into after it"},
    {"WICK_ISA", "use at most this tier of kernels, one of those that wick doctor lists; -NAME leaves an extension "
                 "out: avx512-vnni, or -vnni alone"},
    {"WICK_TUNING", "the file of wick tune to use instead of the one in the cache folder; off: the defaults"},
    {"WICK_JIT",
     "machine code for fused programs: 0: none; 1: wherever it is worth it; wait: runs wait for the compiler"},
    {"WICK_CC", "the C compiler that makes it, instead of cc"},
    {"WICK_F32", "how exactly AMX multiplies f32: highest, split, high, medium"},
    {"WICK_THREADS", "how many threads compute where no --threads says otherwise; wick launch sets it for its ranks"},
    {"WICK_MPI", "file of the MPI library that ranks of mpirun and srun use, if the right one isn't found"},
    {"WICK_GROUP_TIMEOUT", "seconds without a byte after which a rank that others wait for is taken for hung [60]"},
    {"WICK_EAGER", "1: run op by op, without passes"},
    {"WICK_VERIFY", "1: check each graph after each pass"},
    {"NO_COLOR", "if set, no colours unless --color always"},
    {NULL, NULL},
};

const help_row help_files[] = {
    {"DIR/last.safetensors", "everything a run needs to go on; .prev is the one before"},
    {"DIR/best.safetensors", "weights of the best epoch, and what rebuilds the network"},
    {"DIR/log.jsonl", "every step and epoch, a JSON object a line"},
    {"DIR/report.html", "what wick report draws of it all"},
    {NULL, NULL},
};

const help_example help_examples[] = {
    {CMD_TRAIN, "wick train --data fashion-mnist --hidden 256,128 --epochs 12 --out run", "train into the folder run"},
    {CMD_TRAIN, "wick train --net \"conv 32 3, relu, maxpool 2, flatten, linear classes\" --out cnn",
     "another network, as layers"},
    {CMD_TRAIN, "wick train --data cifar10 --arch resnet8 --augment flip,crop=4 --out resnet",
     "a network by name, on images that vary"},
    {CMD_TRAIN, "wick train --data street --task segment --transform \"flip, normalise\" --out street_run",
     "the class of each pixel, of pictures and masks"},
    {CMD_TRAIN, "wick train --data cells --image-size 96 --transform \"flip, normalise\" --out cells_run",
     "where things are, of pictures and boxes: a table, COCO's JSON, YOLO's texts or VOC's XML"},
    {CMD_TRAIN, "wick train --data faces --task keypoints --image-size 80 --out faces_run",
     "where points are, of pictures and a table of x0, y0, x1, y1 ..."},
    {CMD_TRAIN, "wick train --data ner.tsv --task tag --out tags",
     "a tag for each word, of words and tags between blanks"},
    {CMD_TRAIN, "wick train --resume run --epochs 20", "go on where it ended, or was interrupted"},
    {CMD_EVAL, "wick eval run", "the best checkpoint of that run on the test images"},
    {CMD_EVAL, "wick eval run --split train --json | jq .confusion", "one table for another program"},
    {CMD_PREDICT, "wick predict run --index 0,3-5 --top 3", "four test images with the three likeliest classes"},
    {CMD_PREDICT, "wick predict run a.png b.jpg --json", "pictures of your own"},
    {CMD_PREDICT, "wick predict street_run photo.jpg --draw found", "the mask of a photo, and both together, as PNG"},
    {CMD_REPORT, "wick report run", "a page about that run, run/report.html, for a browser"},
    {CMD_RUN, "wick run net.onnx --input x=photo.png", "the outputs for a picture"},
    {CMD_RUN, "wick run net.onnx --check tests", "whether it gives the outputs in tests/test_data_set_0, 1, ..."},
    {CMD_RUN,
     "wick run net.onnx --input photo.jpg --scale 1/255 --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 --labels "
     "names.txt",
     "the five likeliest classes of a photo, its pixels as networks of PyTorch take them"},
    {CMD_RUN, "wick run vad.onnx --input input=frames.npy --input sr=16000 --state state=stateN --output out",
     "a sequence: frames.npy has one axis more than the input"},
    {CMD_RUN,
     "wick run vad.onnx --input input=speech.wav --rate 16000 --input sr=16000 --state state=stateN --dim input.1=576 "
     "--hop 512 --output out",
     "a recording in steps of 576 samples, each 512 behind the one before"},
    {CMD_RUN, "wick run net.onnx --input random --bench --threads 1", "how long it takes"},
    {CMD_INSPECT, "wick inspect net.onnx", "what it takes and gives, and what it costs"},
    {CMD_INSPECT, "wick inspect net.onnx --dim batch=8 --svg net.svg", "for batches of 8, and drawn for a browser"},
    {CMD_INSPECT, "wick inspect net.onnx --dim batch=1..64 --dim seq=8..512/8",
     "its outputs in terms of batch and seq"},
    {CMD_INSPECT, "wick inspect weights.safetensors",
     "what tensors are in it; also of an index of shards, a .npz or a .npy"},
    {CMD_VERIFY, "wick verify net.onnx --json", "for scripts: exit 0 if it is sound, else 3 and the reason"},
    {CMD_CONVERT, "wick convert run net.onnx", "the best model of a run as ONNX, for any number of images at once"},
    {CMD_CONVERT, "wick convert old.onnx new.onnx --opset 21 --external",
     "another opset, with the weights in new.safetensors"},
    {CMD_CONVERT, "wick convert columns.npy rows.npy", "an array, row by row and in this machine's byte order"},
    {CMD_QUANTIZE, "wick quantize run -o net8.onnx --max-drop 0.5",
     "the best model of a run in 8 bits, if need be with some layers in f32"},
    {CMD_QUANTIZE, "wick quantize net.onnx --data pictures -o net8.onnx --images 1000",
     "an ONNX file, with ranges of a thousand of your pictures"},
    {CMD_QUANTIZE, "wick quantize run -o net4.onnx --weight-bits 4 --max-kb 60",
     "60 KB of 4, 8 and 32 bits, by what rounding each layer adds to the loss"},
    {CMD_PRUNE, "wick prune run -o small.onnx --macs 0.5 --epochs 10 --max-drop 1",
     "half of the multiply-adds, trained on for ten epochs, with at most a point lost"},
    {CMD_PRUNE, "wick prune run -o sparse.onnx --sparsity 0.9 --epochs 10",
     "nine of ten weights become 0 while it is trained"},
    {CMD_SHRINK, "wick shrink run -o small.onnx --max-kb 40 --epochs 2",
     "the most accurate that takes 40 KB, each trained on for two epochs"},
    {CMD_SHRINK, "wick shrink run -o small.onnx --max-drop 1", "the fastest that loses at most a point"},
    {CMD_SHRINK, "wick shrink run -o small.onnx --target cortex-m4 --max-kb 256 --max-ram 64",
     "what fits a microcontroller: constants and code, and the static arena"},
    {CMD_COMPARE, "wick compare a/last.safetensors b/last.safetensors --atol 0",
     "whether two runs ended in the same bits"},
    {CMD_COMPARE, "wick compare mine.safetensors theirs.safetensors --only \"*.weight\" --rtol 1e-4 --atol 1e-6",
     "as numpy.allclose, tensor by tensor"},
    {CMD_COMPARE, "wick compare --layers run activations.safetensors",
     "the first layer of a port that differs; wick/compare.h has the lines for PyTorch that write the file"},
    {CMD_COMPARE, "wick compare runs/a runs/b --html compare.html", "the curves of two runs beside each other"},
    {CMD_COMPARE, "wick compare run net8.onnx",
     "before and after: accuracy, bytes, time, and the error of each layer"},
    {CMD_INFO, "wick info", "version, tier and threads"},
    {CMD_INFO, "wick info run/last.safetensors", "what a checkpoint holds"},
    {CMD_INFO, "wick info --arch resnet8 --input 3,32,32", "the layers of a network, and what they cost"},
    {CMD_OPS, "wick ops softmax", "its dtypes, gradient, cost, and what others call it"},
    {CMD_OPS, "wick ops --json | jq -r '.ops[].name'", "the names alone"},
    {CMD_OPS, "wick ops --onnx Resize", "the opsets in which Wick runs an op of ONNX"},
    {CMD_PLAN, "wick plan net.onnx --dim batch=8 --svg memory.svg",
     "what runs for a batch of 8, and a picture of its memory"},
    {CMD_PLAN, "wick plan net.onnx --dim batch=1..256 --dim seq=8..512/8",
     "what any run of those ranges takes at most, and shapes in their terms"},
    {CMD_PLAN, "wick plan --arch resnet8 --input 3,32,32 --batch 64 --train",
     "a step of training, before there is anything to train"},
    {CMD_PLAN,
     "wick plan --arch resnet8 --input 3,32,32 --batch 256 --train --ranks 64 --link 2us,12GB/s",
     "the same on up to 64 machines that such a network joins: the time of a step, and what bounds it"},
    {CMD_EXPLAIN, "wick explain run --batch 64 --threads 1",
     "which kernels take the time, how far each is from what this machine can do, and why"},
    {CMD_PROFILE, "wick profile net.onnx --profile net.pftrace --profile net.svg",
     "tables here, a timeline for ui.perfetto.dev, and a flame graph"},
    {CMD_PROFILE, "wick profile --arch resnet8 --input 3,32,32 --batch 64 --train --runs 20",
     "which layers a step of training spends its time in, and what would make it shorter"},
    {CMD_GRAPH, "wick graph net.onnx --svg graph.svg", "what is left of it after all passes"},
    {CMD_GRAPH, "wick graph run --before epilogue --after fuse",
     "what those passes and the ones between change, line by line"},
    {CMD_COMPILE, "wick compile net.onnx -o out --name net",
     "out/net.c and out/net.h, with int net_run(const float *x, float *y)"},
    {CMD_COMPILE, "wick compile net.onnx -o out --weights file --cc \"arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -Os\"",
     "weights as out/model.bin, and how many bytes it is on a microcontroller"},
    {CMD_COMPILE, "wick compile net.onnx -o out --isa avx512 --cc \"cc -O3 -march=native\"",
     "faster, for CPUs with AVX-512 alone"},
    {CMD_COMPILE, "wick compile run -o out --name net --train --batch 4 --freeze 'conv*' --optimizer sgd --lr 0.01",
     "net_train as well: the network of a run goes on learning, but for its convolutions, where it is used"},
    {CMD_DOCTOR, "wick doctor", "why is it slow here?"},
    {CMD_TUNE, "wick tune", "fit task sizes and thresholds to this machine, once"},
    {CMD_TUNE, "wick tune batch net.onnx --latency 5",
     "the batch of most samples a second whose runs take at most 5 ms"},
    {CMD_TUNE, "wick tune --show", "what is used now, and from where"},
    {CMD_BENCH, "wick bench gemm --threads 1,2", "matrix products, on one thread and on two"},
    {CMD_BENCH, "wick bench elementwise reduce --size 16M", "what doesn't fit into the caches"},
    {CMD_BENCH, "wick bench conv/*_n1 --peers build/peers/bin/python --markdown conv.md",
     "how far convolutions are from the machine's limit, and from the best of others"},
    {CMD_BENCH, "wick bench conv/3x3_64_56_n1 --instructions --memory", "all that can be told of one row"},
    {CMD_BENCH, "wick bench --json >before.json", "all of it, to compare with later"},
    {CMD_BENCH, "wick bench conv --against before.json --html page.html",
     "whether convolutions are slower since, and a page of charts"},
    {CMD_BENCH, "wick bench gemm --regress main --size 64K", "whether matrix products got slower on this branch"},
    {CMD_DATA, "wick data head cifar10 --count 3", "the first three pictures"},
    {CMD_DATA, "wick data stats photos --json | jq .broken", "which files of a folder can't be read"},
    {CMD_DATA, "wick data pack train.tar.gz train.wrec",
     "an archive as a record file: read from any place, each record with a checksum"},
    {CMD_DATA, "wick data pack texts texts.wrec --all --compression zstd --dictionary 64",
     "many small files that are alike, compressed"},
    {CMD_DATA, "wick data pack more.tar.gz train.wrec --append",
     "behind what is in it, which stays as it was whatever happens"},
    {CMD_DATA, "wick data split photos.wrec sets --part train=0.9 --part test=0.1",
     "sets/train.wrec and sets/test.wrec, with the same share of each class"},
    {CMD_DATA, "wick data unpack train.wrec folder", "the files again"},
    {CMD_DATA, "wick data boxes annotations.json labels --form yolo",
     "COCO's boxes as YOLO's texts, after a look at each picture"},
    {CMD_DATA, "wick data bench photos --transform crop=4,flip,normalise --workers 0,1,2",
     "samples a second, times, and who waits for whom"},
    {CMD_ZOO, "wick zoo train S6 --data sets --out zoo", "a forecast of the demand for electricity, in seconds"},
    {CMD_ZOO, "wick zoo train all --data sets --free --runs 3", "all with free data, of three seeds each"},
    {CMD_ZOO, "wick zoo recipe V5 >v5.txt && wick train --config v5.txt --data hands --out v5",
     "the same network on data of your own"},
    {CMD_LAUNCH, "wick launch -n 4 ./program", "four processes of a program that opens a group (wick/dist.h)"},
    {CMD_LAUNCH, "wick launch --ranks 2:8 --restarts 3 wick train --data cifar10 --leaves 8 --out run",
     "start with eight; when one is lost go on from the last checkpoint with those that are left, down to two"},
    {CMD_COMPLETIONS, "wick completions bash >~/.local/share/bash-completion/completions/wick",
     "for bash, from the next shell on"},
    {CMD_COMPLETIONS, "wick completions fish >~/.config/fish/completions/wick.fish", "for fish"},
    {CMD_COUNT, NULL, NULL},
};

static void exit_codes(const page *p, cli_command_id command) {
    char text[1024], number[16];
    int code;
    fprintf(p->out, "\nExit codes:\n");
    const page narrow = {p->out, p->width, 7};
    for (int i = 0; help_exit_code(command, i, &code, text, sizeof text); i++) {
        snprintf(number, sizeof number, "%3d", code);
        page_row(&narrow, number, text);
    }
}

void help_general(FILE *out) {
    const page p = page_on(out);
    fprintf(out, "wick: train, measure and look into models\n\n");
    for (int i = 0; i < CMD_COUNT; i++) {
        char left[64];
        snprintf(left, sizeof left, "wick %s %s", cli_commands[i].name, cli_commands[i].arguments);
        page_row(&p, left, cli_commands[i].doc);
    }
    fputc('\n', out);
    page_text(&p, 0, help_model);
    page_text(&p, 0, help_file);
    fputc('\n', out);
    page_row(&p, "wick help COMMAND", "its options and examples; wick COMMAND --help is the same");
    page_row(&p, "wick help net", "the layers and networks that --net and --arch take");
    page_row(&p, "wick help --man [COMMAND]", "the man page, for man -l -");
    page_row(&p, "wick --version", "the version; -V is the same");
    fprintf(out, "\nEnvironment:\n");
    for (const help_row *row = help_environment; row->left; row++) page_row(&p, row->left, row->right);
    exit_codes(&p, CMD_COUNT);
}

static void option(const page *p, const option_view *o) {
    char left[256], right[1024];
    const char letter = option_letter(o->name);
    if (letter) snprintf(left, sizeof left, "--%s %s, -%c %s", o->name, o->argument, letter, o->argument);
    else snprintf(left, sizeof left, "--%s%s%s", o->name, o->flag ? "" : " ", o->argument);
    snprintf(right, sizeof right, "%s%s%s%s", o->doc, o->fallback[0] ? " [" : "", o->fallback,
             o->fallback[0] ? "]" : "");
    page_row(p, left, right);
}

/* Few stand below one heading. */
static void options_of(const page *p, cli_command_id command) {
    enum { FEW = 10 };
    option_view o;
    int n = 0;
    while (options_at(command, n, &o)) n++;
    if (n <= FEW) fprintf(p->out, "\nOptions:\n");
    for (int i = 0; n <= FEW && options_at(command, i, &o); i++) option(p, &o);
    const char *heading = NULL;
    for (int i = 0; n > FEW && options_at(command, i, &o); i++) {
        if (o.heading != heading) fprintf(p->out, "\n%s:\n", o.heading);
        heading = o.heading;
        option(p, &o);
    }
}

/* Lines that begin with blanks are rows of two texts, which have more than one blank between them. */
static void argument(const page *p, const char *text) {
    char left[64], right[256];
    for (int n; *text; text += n + (text[n] == '\n')) {
        n = (int)strcspn(text, "\n");
        const char *gap = *text == ' ' ? strstr(text + 2, "  ") : NULL;
        if (gap && gap < text + n) {
            const int blanks = (int)strspn(gap, " ");
            snprintf(left, sizeof left, "%.*s", (int)(gap - text) - 2, text + 2);
            snprintf(right, sizeof right, "%.*s", n - (int)(gap - text) - blanks, gap + blanks);
            page_row(p, left, right);
            continue;
        }
        char line[1024];
        snprintf(line, sizeof line, "%.*s", n, text);
        page_text(p, 0, line);
    }
}

void help_command(cli_command_id command, FILE *out) {
    const page p = page_on(out);
    const cli_command *c = &cli_commands[command];
    char text[512];
    const char *gap = c->arguments[0] ? " " : "";
    if (c->takes_command) snprintf(text, sizeof text, "wick %s [options] %s: %s", c->name, c->arguments, c->doc);
    else snprintf(text, sizeof text, "wick %s%s%s [options]: %s", c->name, gap, c->arguments, c->doc);
    page_text(&p, 0, text);
    if (help_argument(command)) fputc('\n', out), argument(&p, help_argument(command));
    const char *from;
    for (int i = 0; command == CMD_CONVERT && help_conversion(i, text, sizeof text, &from); i++) {
        page_text(&p, 2, from);
        fputs("      becomes ", out);
        page_text(&(page){out, p.width - 14, 0}, 0, text);
    }
    options_of(&p, command);
    bool any = false;
    for (const help_example *e = help_examples; e->line; e++) {
        if (e->command != command) continue;
        if (!any) fprintf(out, "\nExamples:\n");
        page_line(&p, e->line);
        page_text(&p, 6, e->doc);
        any = true;
    }
    exit_codes(&p, command);
}

void help_net(FILE *out) {
    const page p = page_on(out);
    page_text(&p, 0, "A network as text is a list of layers between commas, for example");
    fputc('\n', out);
    page_line(&p, "wick train --net \"conv 32 3, relu, maxpool 2, flatten, linear classes\"");
    fputc('\n', out);
    page_text(&p, 0,
              "Options of a layer, in brackets here, come in any order; \"same\" pads so that the output has "
              "ceil(extent / stride).");
    fputc('\n', out);
    for (int i = 0; i < wick_net_layers(); i++) {
        page_text(&p, 2, wick_net_layer_form(i));
        page_text(&p, 6, wick_net_layer_doc(i));
    }
    fprintf(out, "\nNetworks by name, for --arch:\n\n");
    for (int i = 0; i < wick_zoo_count(); i++) page_row(&p, wick_zoo_at(i)->form, wick_zoo_at(i)->doc);
}
