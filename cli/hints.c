#include "hints.h"

#include "options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Words between blanks, and what to say of them. */
typedef struct hint {
    const char *words, *says;
} hint;

static const hint commands[] = {
    {"infer inference forward", "wick run MODEL.onnx runs an ONNX model, wick predict RUN one that was trained here"},
    {"classify recognise recognize label", "wick predict RUN FILE... says what a trained model takes files for"},
    {"test evaluate validate score accuracy", "wick eval RUN measures a trained model"},
    {"fit learn finetune fine-tune resume",
     "wick train does: --model FILE.onnx starts from a network, --resume DIR goes on"},
    {"export save onnx to-onnx", "wick convert RUN net.onnx writes a trained model as ONNX, wick compile writes C"},
    {"codegen emit build aot deploy", "wick compile MODEL -o DIR writes a model as C"},
    {"sparsify sparse slim", "wick prune MODEL -o OUT.onnx --macs 0.5 writes a trained classifier with fewer channels"},
    {"budget smaller fit-into", "wick shrink MODEL -o OUT.onnx --max-kb 40 tries all that makes a classifier smaller"},
    {"quantise int8 compress", "wick quantize MODEL -o OUT.onnx writes a trained classifier in 8 bits"},
    {"regression regress",
     "wick train learns numbers of a table by itself, or those that --target names; --task regress says so"},
    {"anomaly autoencoder denoise",
     "wick train --task autoencode learns what samples are like, and wick eval and predict say which are not"},
    {"multilabel", "wick train --target a,b,c takes columns of 0 and 1 as labels, any of which a sample may have"},
    {"distill distil", "wick train --teacher MODEL also learns from what a trained model says"},
    {"benchmark speed perf time", "wick bench measures kernels, wick run MODEL.onnx --input random --bench a model"},
    {"trace analyze analyse flamegraph perf-report bottleneck", "wick profile MODEL tells where the time goes"},
    {"show summary describe view cat ls list print",
     "wick inspect FILE tells of ONNX models and tensors, wick info RUN of a checkpoint, wick data info of data"},
    {"check lint validate-model", "wick verify FILE tells whether a file is sound"},
    {"draw visualize visualise plot netron", "wick graph MODEL --svg FILE draws a network, wick report RUN a training"},
    {"diff cmp", "wick compare A B"},
    {"layers networks models zoo", "wick help net lists layers and networks"},
    {"split pack unpack head stats dataset datasets",
     "wick data ACTION PATH: info, head, stats, verify, pack, unpack, split, bench, boxes"},
    {"optimize optimise autotune", "wick tune fits sizes of tasks to this machine"},
    {"version", "wick --version"},
    {"man usage commands", "wick help COMMAND, or wick help --man COMMAND"},
    {"serve server api", "no command serves; examples/serve_onnx.c is such a program"},
};

/* An option is said only to a command that has it; a text with a blank always. */
static const hint options[] = {
    {"learning-rate learningrate alpha eta lr0", "lr"},
    {"batch-size batchsize bs minibatch batches", "batch"},
    {"epoch num-epochs n-epochs max-epochs iterations iters", "epochs"},
    {"lr-scheduler scheduler lr-schedule lr-policy sched", "schedule"},
    {"step-size lr-step", "lr-every"},
    {"gamma lr-decay decay-rate", "lr-gamma"},
    {"milestones", "lr-at"},
    {"min-lr eta-min final-lr", "lr-min"},
    {"warmup-steps warmup-epochs", "warmup"},
    {"optim opt solver", "optimizer"},
    {"wd decay l2 regularization", "weight-decay"},
    {"grad-clip clip-grad clip-norm max-norm max-grad-norm gradient-clip", "clip"},
    {"grad-accum accumulate-grad-batches gradient-accumulation-steps accum", "accumulate"},
    {"micro-batches microbatches num-microbatches", "leaves"},
    {"early-stopping early-stop", "patience"},
    {"targets target-column y-column", "target"},
    {"class-weight weights-of-classes balanced", "class-weights"},
    {"smoothing", "label-smoothing"},
    {"num-workers loader-workers dataloader-workers", "workers"},
    {"jobs j num-threads n-threads nproc cores cpus", "threads"},
    {"affinity cpu-affinity taskset pin-threads proc-bind bind", "pin"},
    {"load-balance load-balancer schedule dynamic-schedule work-stealing", "balance"},
    {"numactl membind numa-policy", "numa"},
    {"fp16 half amp mixed-precision bf16 bfloat16 float16", "precision"},
    {"dataset data-dir data-path data-root dataset-dir train-data input-dir train-dir", "data"},
    {"target label-column target-column", "label"},
    {"architecture model-name backbone net-name", "arch"},
    {"network layer", "net"},
    {"pretrained init-from load checkpoint ckpt", "weights"},
    {"continue restore resume-from", "resume"},
    {"output output-dir outdir save-dir logdir log-dir save dest destination o", "out"},
    {"output-file file outfile", "out"},
    {"out output-dir outdir o save", "output"},
    {"overwrite f yes y", "force"},
    {"augmentation augmentations aug", "augment"},
    {"transforms preprocess preprocessing resize image-size img-size imgsz crop", "transform"},
    {"subset max-samples num-samples n-samples fraction", "limit"},
    {"random-seed random-state manual-seed", "seed"},
    {"num-classes n-classes nc", "classes"},
    {"top-k topk k n", "top"},
    {"top top-k k", "topk"},
    {"image images picture input-file file x", "input"},
    {"shape input-shape dims batch-size size", "dim"},
    {"expected reference golden compare", "check"},
    {"tolerance tol eps", "rtol"},
    {"benchmark timing", "bench"},
    {"trace timeline flamegraph flame-graph", "profile"},
    {"runs repeats iterations n", "repeat"},
    {"class-names names labels-file", "labels"},
    {"normalize normalise", "mean"},
    {"sample-rate sampling-rate sr", "rate"},
    {"dry-run test-only shape-only no-graph", "shallow"},
    {"opset-version target-opset", "opset"},
    {"external-data save-as-external-data", "external"},
    {"float16 fp16 half bf16 type", "dtype"},
    {"memory mem max-mem ram", "max-memory"},
    {"timeout", "max-seconds"},
    {"silent q no-progress", "quiet"},
    {"v debug progress", "verbose"},
    {"no-color colour", "color"},
    {"format output-format", "json"},
    {"draw plot image-out", "svg"},
    {"device gpu cuda gpus accelerator mps backend", "Wick computes on the CPU: --threads N says on how many of them"},
    {"val valid-data val-data val-split val-fraction validation-split validation-data", "validation"},
    {"test-size test-data", "the data say it: train and test folders, which wick data split makes"},
    {"cfg yaml hyp options-file", "config"},
    {"tb tensorboard-dir tb-dir summary-dir", "tensorboard"},
    {"prometheus openmetrics metrics-file", "metrics"},
    {"wandb mlflow",
     "wick train --tensorboard DIR writes curves, wick report RUN draws them, and RUN/log.jsonl has each step"},
    {"distributed ddp nodes world-size", "a training runs on one machine"},
    {"momentum-decay", "momentum"},
    {"V version", "wick --version shows it"},
    {"h usage", "help"},
};

static bool has_word(const char *words, const char *word) {
    const size_t n = strlen(word);
    for (const char *at = words; n && (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

static const char *command_name(int i, const void *user) {
    (void)user;
    return cli_commands[i].name;
}
static const char *option_name(int i, const void *user) {
    static option_view view;
    return options_at(*(const cli_command_id *)user, i, &view) ? view.name : NULL;
}
static int count_options(cli_command_id command) {
    int n = 0;
    while (option_name(n, &command)) n++;
    return n;
}
static bool has_option(cli_command_id command, const char *name) {
    for (int i = 0, n = count_options(command); i < n; i++)
        if (strcmp(option_name(i, &command), name) == 0) return true;
    return false;
}

/* As options and commands are spelled here. */
static void plain(const char *word, char *text, size_t size) {
    size_t n = 0;
    for (; word[n] && n + 1 < size; n++) text[n] = word[n] == '_' ? '-' : (char)tolower((unsigned char)word[n]);
    text[n] = 0;
}

const char *hint_command(const char *word, char *text, size_t size) {
    char name[64];
    plain(word, name, sizeof name);
    const char *near = nearest_name(name, CMD_COUNT, command_name, NULL);
    *text = 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands && !*text; i++)
        if (has_word(commands[i].words, word) || has_word(commands[i].words, name))
            snprintf(text, size, "%s", commands[i].says);
    if (!*text && near) snprintf(text, size, "did you mean %s?", near);
    return text;
}

/* The row for a word that a command may have; its first row for another command's, or NULL. */
static const hint *find_option(cli_command_id command, const char *word) {
    const hint *other = NULL;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (!has_word(options[i].words, word)) continue;
        if (strchr(options[i].says, ' ') || has_option(command, options[i].says)) return &options[i];
        if (!other) other = &options[i];
    }
    return other;
}

/* "--batch is an option of wick train, plan" */
static void say_others(const char *name, char *text, size_t size) {
    for (int c = 0, n = 0; c < CMD_COUNT && n < (int)size; c++)
        if (has_option((cli_command_id)c, name))
            n += n ? snprintf(text + n, size - (size_t)n, ", %s", cli_commands[c].name)
                   : snprintf(text, size, "--%s is an option of wick %s", name, cli_commands[c].name);
}

const char *hint_option(cli_command_id command, const char *word, char *text, size_t size) {
    char name[64];
    plain(word, name, sizeof name);
    *text = 0;
    const hint *h = find_option(command, word);
    if (!h) h = find_option(command, name);
    const char *near = has_option(command, name)           ? name
                       : h && has_option(command, h->says) ? h->says
                       : h                                 ? NULL
                           : nearest_name(name, count_options(command), option_name, &command);
    if (near)
        snprintf(text, size, "did you mean --%s?", near);
    else if (h && strchr(h->says, ' '))
        snprintf(text, size, "%s", h->says);
    else
        say_others(h ? h->says : name, text, size);
    return text;
}
