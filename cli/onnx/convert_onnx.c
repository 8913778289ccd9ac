/* convert_onnx.c: wick convert's rows to ONNX: from a checkpoint or the folder of a run, and from ONNX for another
 * opset or with its weights elsewhere. */
#include "../train/classifier.h"
#include "../train/heads.h"
#include "convert.h"
#include "ports.h"
#include "../term/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "net.safetensors" for "folder/net.onnx", malloc'ed, where --external asks for it. */
static char *weights_name(const cli_options *o) {
    const char *slash = strrchr(o->files[0], '/'), *name = slash ? slash + 1 : o->files[0];
    const size_t stem = strlen(name) - strlen(".onnx"), size = stem + sizeof ".safetensors";
    char *text = malloc(size);
    if (text) {
        memcpy(text, name, stem);
        memcpy(text + stem, ".safetensors", sizeof ".safetensors");
    }
    return text;
}

static int said(wick_context *ctx, wick_status status) {
    return status == WICK_OK ? CLI_OK : log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(ctx, status));
}

/* The same where all that is read has been read. */
static int wrote(wick_context *ctx, wick_status status) {
    return status == WICK_ERR_IO ? log_fail(CLI_FAILED, "%s", log_why(ctx, status)) : said(ctx, status);
}

/* The sample as an autoencoder makes it again, in the units of what it was given. */
static wick_tensor *made_again(classifier *c, wick_tensor *x) {
    wick_tensor *y = wick_reshape(classifier_logits(c, x), wick_tensor_rank(x), wick_tensor_dims(x));
    if (c->standard) y = wick_add(wick_mul(y, classifier_state(c, STATE_DEVIATION)), classifier_state(c, STATE_MEAN));
    if (!c->floats) y = wick_add(wick_mul(y, wick_like(y, c->deviation > 0 ? c->deviation : 1)), wick_like(y, c->mean));
    return y;
}

/* Several inputs as the row of numbers that the network was trained on; one as it is. */
static wick_tensor *in_a_row(const classifier *c, wick_tensor *const *in) {
    source_input list[SOURCE_MOST_INPUTS];
    wick_tensor *rows[SOURCE_MOST_INPUTS];
    const int n = source_read_inputs(c->coding, list);
    for (int k = 0; k < n; k++) rows[k] = wick_flatten(in[k], 1);
    return n > 1 ? wick_concat(n, rows, 1) : n ? rows[0] : in[0];
}

/* Pixels from 0 to 1 [N, ...] -> predictions: what the training did to pixels is part of the model. */
static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    classifier *c = user;
    wick_tensor *x = in_a_row(c, in);
    const double deviation = c->deviation > 0 ? c->deviation : 1;
    if (wick_tensor_dtype(x) != WICK_F32) x = wick_cast(x, WICK_F32); /* numbers of tokens */
    if (c->mean != 0) x = wick_sub(x, wick_constant(ctx, WICK_F32, c->mean));
    if (deviation != 1) x = wick_div(x, wick_constant(ctx, WICK_F32, deviation));
    out[0] = classifier_predictions(c, x);
    if (c->task->kind == TASK_AUTOENCODE) out[1] = made_again(c, x);
    if (!c->heads) return WICK_OK;
    wick_tensor *all = out[0];
    for (int i = 0; i < c->heads->n; i++) {
        const head *h = &c->heads->list[i];
        out[i] = wick_slice(all, 1, h->first, h->first + h->n, 1);
    }
    return WICK_OK;
}
static wick_status prepare(void *user, const wick_spec *in) { return classifier_prepare(user, in[0].dims[0]); }

/* Whether it learned classes or numbers from the rows of a table, so that metadata say all that is needed to take
 * another. */
static bool is_of_rows(const classifier *c) {
    return c->floats && !c->heads && !c->window && !c->transform && c->coding &&
           (c->task->kind == TASK_CLASSIFY || c->task->kind == TASK_REGRESS) && strncmp(c->coding, "\"table\"", 7) == 0;
}

/* The mean and the deviation of each target, malloc'ed, by which the loss is that of the checkpoint; NULL: out of
 * memory. */
static char *scales_of(classifier *c) {
    char *text = NULL;
    size_t size;
    const void *mean, *deviation;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    bool whole = wick_data(classifier_state(c, STATE_TARGET_MEAN), &mean) == WICK_OK &&
                 wick_data(classifier_state(c, STATE_TARGET_DEVIATION), &deviation) == WICK_OK;
    for (int64_t k = 0; whole && k < c->classes; k++)
        fprintf(out, "%s%.9g %.9g", k ? " " : "", (double)((const float *)mean)[k],
                (double)((const float *)deviation)[k]);
    whole = whole && !ferror(out);
    if (fclose(out) == 0 && whole) return text;
    free(text);
    return NULL;
}

/* What samples are, for who runs the model elsewhere. */
static int describe_samples(const classifier *c, char **doc) {
    const bool table = c->coding && strncmp(c->coding, "\"table\"", 7) == 0;
    if (!c->floats) {
        log_note("the model takes pixels of 0 to 1: a picture's, in wick run, by --scale 1/255");
        const bool lines = source_is_line_coding(c->coding);
        if (asprintf(doc, "image: pixels from 0 to 1, channels first; %s: %s%s%s", c->task->output, c->task->doc,
                     lines ? "; the others are the characters of the second line. Coded as:\n" : "",
                     lines ? c->coding : "") >= 0)
            return CLI_OK;
        *doc = NULL;
        return log_fail(CLI_FAILED, "out of memory");
    }
    if (table)
        log_note(
            "the model takes the %lld numbers that rows of the table are coded as; how is in its doc_string%s, and "
            "not in its graph",
            (long long)c->pixels, is_of_rows(c) ? " and metadata, by which wick eval and predict take tables" : "");
    if (c->rate && c->transform)
        log_note(
            "the model takes what --transform \"%s\" makes of a recording of %lld samples a second: in wick run too",
            c->transform, (long long)c->rate);
    if (source_is_text_coding(c->coding)) {
        log_note("the model takes numbers of tokens, int64; the vocabulary is in its doc_string");
        const char *how =
            strstr(c->coding, "\"text\" tags") == c->coding
                ? "words between blanks, each as four tokens, a row each: w and the word in small ASCII "
                  "letters; s and how it is written (a letter for each run: X capitals, XX two or more at "
                  "the begin, x small letters, d digits, . others; 6 at most); p and its first, e and its "
                  "last 3 characters"
            : strstr(c->coding, "\"text\" bytes") == c->coding ? "bytes, b being b + 2"
            : strstr(c->coding, "\"text\" characters") == c->coding
                ? "characters of UTF-8, a run of blanks being one, U+2581"
            : strstr(c->coding, "\"text\" subwords") == c->coding
                ? "parts of words: runs of letters and digits (bytes above 127 are letters; pieces of at most 59 "
                  "bytes) "
                  "and other characters by themselves, in small ASCII letters, U+2581 in front; taken apart into "
                  "characters, of which the two neighbours that make the first token of the list become one, the left "
                  "ones of equals, until none do"
                : "runs of letters and digits (bytes above 127 are letters) and other characters by "
                  "themselves, in small ASCII letters";
        const int written =
            asprintf(doc,
                     "tokens: [N, rows, length] of %s; 0: padding behind them, 1: none of those below, which are 2, 3 "
                     "...; %s: %s. Coded as:\n%s",
                     how, c->task->output, c->task->doc, c->coding);
        if (written >= 0) return CLI_OK;
        *doc = NULL;
        return log_fail(CLI_FAILED, "out of memory");
    }
    const char *coded = c->coding ? ". Coded as:\n" : "";
    source_input list[SOURCE_MOST_INPUTS];
    if (source_read_inputs(c->coding, list)) {
        if (asprintf(doc, "inputs as they were learned from; %s: %s", c->task->output, c->task->doc) >= 0)
            return CLI_OK;
        *doc = NULL;
        return log_fail(CLI_FAILED, "out of memory");
    }
    const int n = asprintf(doc, "image: a sample as it was learned from; %s: %s%s%s", c->task->output, c->task->doc,
                           coded, c->coding ? c->coding : "");
    if (n >= 0) return CLI_OK;
    *doc = NULL;
    return log_fail(CLI_FAILED, "out of memory");
}

int convert_classifier_to_onnx(classifier *c, wick_model *model, int64_t opset, const char *weights, const char *path) {
    wick_onnx_symbol batch[SOURCE_MOST_INPUTS]; /* the first extent of each input */
    wick_spec specs[SOURCE_MOST_INPUTS];
    source_input inputs[SOURCE_MOST_INPUTS];
    const int n = source_read_inputs(c->coding, inputs);
    for (int k = 0; k < SOURCE_MOST_INPUTS; k++) batch[k] = (wick_onnx_symbol){"N", k, 0};
    char *doc = NULL;
    const bool rows = is_of_rows(c), numbers = rows && c->task->kind == TASK_REGRESS;
    char *scales = numbers ? scales_of(c) : NULL;
    const char *const pairs[] = {
        CLASSIFIER_META_CODING, c->coding, CLASSIFIER_META_NAMES, c->names, CLASSIFIER_META_LOSS, c->loss,
        CLASSIFIER_META_TARGET, scales};
    const char *names[MOST_HEADS] = {c->task->output, "reconstruction"};
    int code = numbers && !scales ? log_fail(CLI_FAILED, "out of memory") : describe_samples(c, &doc);
    int outputs = c->task->kind == TASK_AUTOENCODE ? 2 : 1;
    for (int i = 0; c->heads && i < c->heads->n; i++) names[i] = c->heads->list[i].name, outputs = c->heads->n;
    if (code == CLI_OK) {
        const wick_onnx_save_options options = {.opset = (int)opset,
                                                .outputs = names,
                                                .n_symbols = n ? n : 1,
                                                .symbols = batch,
                                                .weights = weights,
                                                .graph = c->onnx ? "network" : c->arch,
                                                .prepare = prepare,
                                                .n_meta = numbers ? 4
                                                          : rows  ? 2
                                                                  : 0,
                                                .meta = pairs,
                                                .doc = doc};
        classifier_specs(c, 1, specs);
        specs[0].name = "image";
        if (source_is_text_coding(c->coding)) specs[0].name = "tokens", specs[0].dtype = WICK_I64;
        for (int k = 0; k < n; k++) {
            specs[k] = (wick_spec){inputs[k].name, WICK_F32, inputs[k].rank + 1, {1}};
            for (int d = 0; d < inputs[k].rank; d++) specs[k].dims[d + 1] = inputs[k].dims[d];
        }
        code = wrote(c->ctx, wick_onnx_save(model, record, c, n ? n : 1, specs, outputs, path, &options));
    }
    free(scales);
    free(doc);
    return code;
}

int convert_run_to_onnx(wick_context *ctx, const cli_options *o) {
    classifier c = {0};
    char *weights = weights_name(o);
    int code = weights ? classifier_load(&c, ctx, o->model) : log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK)
        code = convert_classifier_to_onnx(&c, c.model, o->opset, o->of_convert.external ? weights : NULL, o->files[0]);
    classifier_free(&c);
    free(weights);
    return code;
}

/* With the extents open that --dim gives no number. Where they can't be, it is refused, or with --fix-open they are 1,
 * which is said. */
static int resave(wick_context *ctx, const cli_options *o, wick_onnx *onnx, wick_spec *specs,
                  const wick_onnx_save_options *options) {
    char open[512], why[1024];
    if (!ports_specs(o, onnx, -1, specs))
        return log_fail(CLI_BAD_FILE, "%s: not all inputs are tensors of known dims", o->model);
    wick_status status = wick_onnx_resave(onnx, specs, o->files[0], options);
    ports_open(onnx, specs, open, sizeof open);
    if (status == WICK_OK && o->of_convert.fix_open)
        log_note("--fix-open: nothing had to be fixed%s%s", *open ? "; open stay " : "", open);
    if (status == WICK_OK || status == WICK_ERR_IO || !*open) return wrote(ctx, status);
    snprintf(why, sizeof why, "%s", log_why(ctx, status));
    wick_context_clear_error(ctx);
    if (!o->of_convert.fix_open) {
        log_note("open extents are %s; --dim NAME=N gives one a number, --dim NAME=A..B what it is for, --input NAME=N "
                 "makes an input a constant, --fix-open makes all that are open 1",
                 open);
        return log_fail(log_code(status, CLI_BAD_FILE), "%s", why);
    }
    ports_specs(o, onnx, 1, specs);
    status = wick_onnx_resave(onnx, specs, o->files[0], options);
    if (status == WICK_OK)
        return log_note("with %s open it can't be recorded (%s): written for 1 each; --dim NAME=N gives other numbers",
                        open, why),
               CLI_OK;
    return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(ctx, status));
}

/* The ranges of --dim, for extents that stay open; to be freed. */
static wick_dim *ranges(const cli_options *o, const wick_onnx *onnx, port_dim **all, int *n) {
    int n_all = 0;
    *n = 0;
    if (ports_dims(o, onnx, all, &n_all) != CLI_OK) return NULL;
    wick_dim *list = calloc((size_t)n_all + 1, sizeof *list);
    for (int k = 0; k < n_all && list; k++)
        if ((*all)[k].given && (*all)[k].range.max > (*all)[k].range.min) list[(*n)++] = (*all)[k].range;
    return list;
}

int convert_onnx_to_onnx(wick_context *ctx, const cli_options *o) {
    wick_onnx *onnx = NULL;
    char *weights = weights_name(o);
    const wick_onnx_limits limits = {.memory = (size_t)o->limits.max_memory << 20};
    int code =
        weights ? said(ctx, wick_onnx_open(ctx, o->model, &limits, &onnx)) : log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK && *wick_onnx_unsupported(onnx))
        code = log_fail(CLI_BAD_FILE, "%s uses what Wick does not have: %s", o->model, wick_onnx_unsupported(onnx));
    if (code == CLI_OK && o->dims.n) code = ports_check_dims(o, onnx);
    if (code == CLI_OK) code = ports_fix_inputs(o, onnx);
    if (code == CLI_OK) {
        port_dim *dims = NULL;
        int n = 0;
        wick_dim *open_for = ranges(o, onnx, &dims, &n);
        wick_spec *specs = calloc((size_t)wick_onnx_inputs(onnx) + 1, sizeof *specs);
        const wick_onnx_save_options options = {.opset = (int)o->opset,
                                                .n_ranges = n,
                                                .ranges = open_for,
                                                .weights = o->of_convert.external ? weights : NULL,
                                                .graph = wick_onnx_get_info(onnx).graph};
        code = specs && open_for ? resave(ctx, o, onnx, specs, &options) : log_fail(CLI_FAILED, "out of memory");
        free(specs);
        free(open_for);
        free(dims);
    }
    wick_onnx_free(&onnx);
    free(weights);
    return code;
}
