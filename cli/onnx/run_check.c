/* wick run --check: the model beside the outputs that it gave elsewhere. */
#include "../paths.h"
#include "runner.h"
#include "../term/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, MOST_SETS = 100000 };

typedef struct checker {
    runner *r;
    json *j;       /* of --json */
    feed *in, *want; /* of the set at hand, by input and by output */
    int compared, differing, sets;
    int64_t steps, at; /* of all sets; at: of the set's first */
} checker;

/* FOLDER/KIND_i.pb, .npy or _all_steps.npy; false: none of them is there. */
static bool value_path(const char *folder, const char *kind, int i, char path[PATH_SIZE]) {
    static const char *const ends[] = {".pb", ".npy", "_all_steps.npy"};
    for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
        snprintf(path, PATH_SIZE, "%.4000s/%s_%d%s", folder, kind, i, ends[k]);
        if (access(path, R_OK) == 0) return true;
    }
    return false;
}

/* What the set has for each input and output. An exit code; steps: how many it is. */
static int open_set(checker *c, const char *folder, int64_t *steps) {
    runner *r = c->r;
    char path[PATH_SIZE];
    *steps = 1;
    for (int i = 0; i < r->n_in + r->n_out; i++) {
        const bool input = i < r->n_in;
        const wick_onnx_port port = input ? wick_onnx_input(r->onnx, i) : wick_onnx_output(r->onnx, i - r->n_in);
        feed *f = input ? &c->in[i] : &c->want[i - r->n_in];
        *f = (feed){0};
        if (value_path(folder, input ? "input" : "output", input ? i : i - r->n_in, path)) {
            const wick_status status = feed_open(r->o, r->ctx, r->onnx, &port, path, f);
            if (status != WICK_OK) return runner_failed(r, status);
        } else if (!input || r->feeds[i].steps || r->others || port.optional || r->back[i] >= 0) continue;
        else
            return log_fail(CLI_BAD_FILE,
                            "%s has no input_%d.pb or .npy, for %s; --input %s=FILE gives what a set lacks, --state "
                            "%s=OUTPUT carries an output back",
                            folder, i, port.name, port.name, port.name);
        if (f->steps == *steps || (f->steps == 1 && !f->stacked)) continue;
        if (*steps != 1)
            return log_fail(CLI_BAD_FILE, "%s has %lld steps, where others have %lld", path, (long long)f->steps,
                            (long long)*steps);
        *steps = f->steps;
    }
    return CLI_OK;
}

static int feed_step(checker *c, int64_t step) {
    runner *r = c->r;
    const int known = r->n_said;
    int code = CLI_OK;
    for (int later = 0; later < 2; later++) /* as runner_feed */
        for (int i = 0; i < r->n_in && code == CLI_OK; i++) {
            const wick_onnx_port port = wick_onnx_input(r->onnx, i);
            const bool from_set = c->in[i].steps && !r->carried[i];
            if ((!from_set && !r->feeds[i].steps && !r->carried[i]) != later) continue;
            if (from_set) {
                wick_status status = feed_at(r->o, r->ctx, r->onnx, &port, &c->in[i], step, &r->in[i]);
                if (status == WICK_OK) status = runner_learn(r, i, &r->in[i], false);
                if (status != WICK_OK) code = runner_failed(r, status);
            } else code = runner_feed_one(r, i, c->at + step);
        }
    runner_unlearn(r, known);
    const wick_status status = code == CLI_OK ? runner_hold(r) : WICK_OK;
    return status == WICK_OK ? code : runner_failed(r, status);
}

/* The steps of a set, each output beside what is wanted; of one that differs, the first step where it does. */
static int check_set(checker *c, const char *folder) {
    runner *r = c->r;
    int64_t steps;
    int code = open_set(c, folder, &steps);
    struct verdict {
        int64_t step; /* the first that differs; -1: none */
        char why[1024];
    } *verdicts = calloc((size_t)r->n_out + 1, sizeof *verdicts);
    if (!verdicts) return log_fail(CLI_FAILED, "out of memory");
    for (int i = 0; i < r->n_out; i++) verdicts[i].step = -1;
    for (int64_t step = 0; step < steps && code == CLI_OK; step++) {
        wick_scope *scope = wick_scope_open(r->ctx);
        wick_status status = WICK_OK;
        if ((code = feed_step(c, step)) == CLI_OK) status = runner_step(r);
        for (int i = 0; i < r->n_out && code == CLI_OK && status == WICK_OK; i++) {
            const wick_onnx_port port = wick_onnx_output(r->onnx, i);
            wick_onnx_value want = c->want[i].value;
            if (!c->want[i].steps || verdicts[i].step >= 0) continue;
            if (steps > 1 && !c->want[i].stacked) continue; /* of a sequence only the whole is compared */
            if (c->want[i].stacked) status = feed_at(r->o, r->ctx, r->onnx, &port, &c->want[i], step, &want);
            if (status != WICK_OK) break;
            const wick_status agrees = wick_onnx_value_compare(r->ctx, &r->out[i], &want, r->o->rtol, r->o->atol);
            if (agrees == WICK_ERR_MISMATCH) {
                verdicts[i].step = step;
                snprintf(verdicts[i].why, sizeof verdicts[i].why, "%s", wick_context_error(r->ctx));
            } else status = agrees;
        }
        if (code == CLI_OK && status == WICK_OK) status = runner_carry(r);
        wick_scope_close(&scope);
        if (status != WICK_OK && code == CLI_OK)
            code =
                log_fail(log_code(status, CLI_BAD_FILE), "with the inputs of %s: %s", folder, log_why(r->ctx, status));
        runner_progress(r, folder, step + 1, steps);
    }
    for (int i = 0; i < r->n_out && code == CLI_OK; i++) {
        const wick_onnx_port port = wick_onnx_output(r->onnx, i);
        const bool agrees = verdicts[i].step < 0;
        if (!c->want[i].steps || (steps > 1 && !c->want[i].stacked)) continue;
        c->compared++;
        c->differing += !agrees;
        if (c->j) {
            json_open(c->j, NULL, '{');
            json_text(c->j, "set", folder);
            json_text(c->j, "output", port.name);
            json_integer(c->j, "steps", steps);
            json_bool(c->j, "agrees", agrees);
            if (steps > 1 && !agrees) json_integer(c->j, "step", verdicts[i].step);
            json_text(c->j, "why", agrees ? NULL : verdicts[i].why);
            json_close(c->j, '}');
        } else {
            log_print("%s  %s: ", folder, port.name);
            if (agrees && steps > 1) printf("agrees at all %lld steps\n", (long long)steps);
            else if (agrees) printf("agrees\n");
            else if (steps > 1)
                log_print("differs from step %lld on: %s\n", (long long)verdicts[i].step, verdicts[i].why);
            else log_print("differs: %s\n", verdicts[i].why);
        }
    }
    free(verdicts);
    c->steps += steps;
    c->at += steps;
    return code;
}

/* The folder of set number `set`: DIR/test_data_set_0, 1, ... or DIR itself; false: there is none. */
static bool set_folder(const runner *r, int set, char folder[PATH_SIZE]) {
    if (set == MOST_SETS) return false;
    snprintf(folder, PATH_SIZE, "%.4000s/test_data_set_%d", r->o->of_run.check, set);
    if (access(folder, R_OK) == 0) return true;
    snprintf(folder, PATH_SIZE, "%.4000s", r->o->of_run.check);
    return set == 0;
}

int runner_check_defaults(runner *r) {
    char folder[PATH_SIZE], path[PATH_SIZE];
    for (int set = 0; set_folder(r, set, folder); set++)
        while (wick_onnx_defaults(r->onnx) && value_path(folder, "input", wick_onnx_inputs(r->onnx), path)) {
            const wick_status status = wick_onnx_open_default(r->onnx, 0);
            if (status != WICK_OK) return runner_failed(r, status);
        }
    return CLI_OK;
}

/* An exit code: whether every --input gives something that a set lacks. */
static int check_inputs(const runner *r) {
    char folder[PATH_SIZE], path[PATH_SIZE];
    bool any = false;
    for (int i = 0; i < r->n_in; i++) {
        bool lacks = false;
        for (int set = 0; !lacks && set_folder(r, set, folder); set++) lacks = !value_path(folder, "input", i, path);
        any |= lacks && !r->feeds[i].steps;
        if (!lacks && r->feeds[i].steps)
            return log_fail(CLI_USAGE, "--input %s has no effect here: the sets in %s have it, %s",
                            wick_onnx_input(r->onnx, i).name, r->o->of_run.check, path);
    }
    return r->others && !any ? log_fail(CLI_USAGE, "--input random has no effect here: the sets in %s have all inputs",
                                        r->o->of_run.check)
                             : CLI_OK;
}

/* Sets DIR/test_data_set_0, 1 ... or DIR itself. With --state the sets are one sequence, in this order. */
int runner_check(runner *r) {
    char folder[PATH_SIZE];
    json j = {0};
    checker c = {.r = r, .j = r->o->json ? &j : NULL};
    c.in = calloc((size_t)(r->n_in + r->n_out) + 1, sizeof *c.in);
    if (!c.in) return log_fail(CLI_FAILED, "out of memory");
    c.want = c.in + r->n_in;
    int code = path_is_folder(r->o->of_run.check)
                   ? check_inputs(r)
                   : log_fail(CLI_BAD_FILE, "--check %s: no such directory", r->o->of_run.check);
    FILE *held = NULL; /* the object is held back: a failure prints another one */
    char *text = NULL;
    size_t text_size = 0;
    if (c.j && code == CLI_OK) {
        if (!(held = open_memstream(&text, &text_size))) code = log_fail(CLI_FAILED, "out of memory");
        j.out = held;
        if (held) json_open(&j, NULL, '{'), json_open(&j, "outputs", '[');
    }
    for (int set = 0; code == CLI_OK && set_folder(r, set, folder); set++) {
        wick_scope *scope = wick_scope_open(r->ctx);
        code = check_set(&c, folder);
        wick_scope_close(&scope);
        c.sets++;
    }
    if (code == CLI_OK && !c.compared)
        code = log_fail(CLI_BAD_FILE, "%s has no output_0.pb or .npy to compare with", r->o->of_run.check);
    const int verdict = c.differing ? CLI_DIFFERENT : CLI_OK;
    if (code == CLI_OK && c.j) {
        json_close(&j, ']');
        json_integer(&j, "sets", c.sets);
        json_integer(&j, "steps", c.steps);
        json_bool(&j, "ok", verdict == CLI_OK);
        json_close(&j, '}');
        fputc('\n', held);
        if (fflush(held) == 0) fwrite(text, 1, text_size, stdout);
    } else if (code == CLI_OK && !c.differing)
        log_note("%d output%s of %d set%s agree%s", c.compared, plural(c.compared), c.sets, plural(c.sets),
                 c.compared == 1 ? "s" : "");
    else if (code == CLI_OK)
        log_note("%d of %d outputs differ", c.differing, c.compared);
    if (held) fclose(held);
    free(text);
    free(c.in);
    return code == CLI_OK ? verdict : code;
}
