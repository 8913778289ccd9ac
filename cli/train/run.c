#include "run.h"

#include "../options.h"
#include "../paths.h"
#include "../term/log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* What of run_state a checkpoint keeps, as "run.NAME". */
/* clang-format off */
static const struct {
    const char *name;
    bool real;
    size_t offset;
} fields[] = {
#define INTEGER(name) {#name, false, offsetof(run_state, name)}
#define REAL(name) {#name, true, offsetof(run_state, name)}
    INTEGER(epoch),      INTEGER(sample),       INTEGER(step),   REAL(loss_sum),
    INTEGER(correct),    INTEGER(seen),         REAL(train_loss), REAL(train_accuracy),
    REAL(test_loss),     REAL(test_accuracy),   REAL(best),      INTEGER(best_epoch),
    REAL(best_loss),     INTEGER(stale),        REAL(seconds), REAL(valid_loss),
    REAL(valid_score),   INTEGER(looks),
#undef INTEGER
#undef REAL
};
/* clang-format on */
enum { FIELDS = sizeof fields / sizeof fields[0], KEY = 80 };

static int out_of_memory(void) { return log_fail(CLI_FAILED, "out of memory"); }

int run_open(run *r, const cli_options *o, classifier *c, const char *folder) {
    *r = (run){.o = o, .c = c, .folder = folder};
    r->state = (run_state){.train_loss = NAN,
                           .train_accuracy = NAN,
                           .test_loss = NAN,
                           .test_accuracy = NAN,
                           .valid_loss = NAN,
                           .valid_score = NAN,
                           .best = -INFINITY,
                           .best_loss = INFINITY};
    r->last = path_join(folder, "last.safetensors");
    r->previous = path_join(folder, "last.safetensors.prev");
    r->best = path_join(folder, "best.safetensors");
    r->lock = path_join(folder, ".lock");
    r->log = path_join(folder, "log.jsonl");
    return r->last && r->previous && r->best && r->lock && r->log ? CLI_OK : out_of_memory();
}

void run_close(run *r) {
    wick_checkpoint_free(&r->file);
    options_free(&r->kept);
    if (r->locked) fclose(r->locked);
    free(r->last);
    free(r->previous);
    free(r->best);
    free(r->lock);
    free(r->log);
    *r = (run){0};
}

/* Two trainings in one folder would replace each other's checkpoints. The kernel lets go of the lock when the process
 * ends, however it ends. Where a folder can't be written or a file system can't lock, the training goes on without. */
static int lock(run *r) {
    enum { TRIES = 50, MILLISECONDS = 20 };
    const int fd = open(r->lock, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
    if (fd < 0 && errno == ELOOP)
        return log_fail(CLI_FAILED, "%s is a symbolic link, which no run makes: remove it", r->lock);
    r->locked = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (fd >= 0 && !r->locked) close(fd);
    /* One that was killed holds the lock until its memory is given back, so try for a second. */
    for (int i = 0; r->locked && flock(fileno(r->locked), LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK) return CLI_OK;
        if (i == TRIES)
            return log_fail(CLI_FAILED, "another training is at work in %s; wait for it, or choose another --out",
                            r->folder);
        usleep(MILLISECONDS * 1000);
    }
    return CLI_OK;
}

/* Integers of an earlier run, as --quantize leaves them, unless this one begins with them. */
static int remove_integers(const run *r) {
    static const char *const names[] = {"int8.onnx", "int4.onnx"};
    int code = CLI_OK;
    for (int i = 0; i < 2 && code == CLI_OK; i++) {
        char *path = path_join(r->folder, names[i]);
        if (!path) return log_fail(CLI_FAILED, "out of memory");
        const bool begins = *r->o->of_train.onnx && path_same(path, r->o->of_train.onnx);
        if (path_exists(path) && !begins && unlink(path) != 0)
            code = log_fail(CLI_FAILED, "could not remove %s: %s", path, strerror(errno));
        free(path);
    }
    return code;
}

int run_start(run *r) {
    const char *folder = r->folder;
    if (r->guest) return CLI_OK;
    if (!path_make_folder(folder))
        return log_fail(CLI_FAILED, "could not make the folder %s: %s", folder, strerror(errno));
    int code = lock(r);
    if (code != CLI_OK) return code;
    const char *const old[] = {r->last, r->previous, r->best};
    for (int i = 0; i < 3; i++) {
        if (!path_exists(old[i])) continue;
        if (!r->o->force)
            return log_fail(CLI_USAGE,
                            "%s holds a run; go on with --resume %s, start over with --force, or choose another --out",
                            folder, folder);
        if (unlink(old[i]) != 0) return log_fail(CLI_FAILED, "could not remove %s: %s", old[i], strerror(errno));
    }
    return r->o->force ? remove_integers(r) : CLI_OK;
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

static bool add_options(const run *r, meta *list) {
    const char *name, *text;
    for (int i = 0; (name = options_kept(r->o, i, &text)); i++) {
        char key[KEY];
        snprintf(key, sizeof key, "option.%s", name);
        if (!meta_add(list, key, "%s", text)) return false;
    }
    return true;
}

static bool add_state(const run *r, meta *list) {
    for (int i = 0; i < FIELDS; i++) {
        const char *field = (const char *)&r->state + fields[i].offset;
        char key[KEY];
        snprintf(key, sizeof key, "run.%s", fields[i].name);
        bool ok = fields[i].real ? meta_add(list, key, "%.17g", *(const double *)field)
                                 : meta_add(list, key, "%lld", (long long)*(const int64_t *)field);
        if (!ok) return false;
    }
    return true;
}

static int save(run *r, const char *path, meta *list, bool complete, wick_save_options how) {
    int code = CLI_OK;
    wick_status status;
    how.n_meta = list->count;
    how.meta = list->pairs;
    if (!complete)
        code = out_of_memory();
    else if ((status = wick_save(r->c->model, path, &how)) != WICK_OK)
        code = log_fail(CLI_FAILED, "could not save: %s", log_why(r->c->ctx, status));
    meta_free(list);
    return code;
}

int run_save_last(run *r, const void *(*whole)(void *user, int k), void *whole_user) {
    if (r->guest) return CLI_OK;
    meta list = {0};
    bool complete = classifier_add_meta(r->c, &list) && add_options(r, &list) && add_state(r, &list);
    /* The context's own random state is no part of a run, whose streams depend on the seed and the step alone; what was
     * compiled in this process must not show in the file. */
    wick_context_set_random(r->c->ctx, (uint64_t)r->o->seed, 0);
    return save(r, r->last, &list, complete,
                (wick_save_options){.keep_previous = true, .whole = whole, .whole_user = whole_user});
}

int run_save_best(run *r) {
    if (r->guest) return CLI_OK;
    meta list = {0};
    const bool classes = r->c->task->kind == TASK_CLASSIFY, weighted = *r->o->of_train.class_weights;
    const char *score = !classes ? r->c->task->score : weighted ? "weighted_accuracy" : "accuracy";
    const double value = classes && !weighted ? r->state.best : r->state.valid_score;
    bool complete = classifier_add_meta(r->c, &list) && meta_add(&list, score, "%.17g", value) &&
                    meta_add(&list, "loss", "%.17g", r->state.best_loss) &&
                    meta_add(&list, "epoch", "%lld", (long long)r->state.epoch) &&
                    meta_add(&list, "step", "%lld", (long long)r->state.step) &&
                    (!r->o->of_train.limit || meta_add(&list, "limit", "%lld", (long long)r->o->of_train.limit));
    wick_context_set_random(r->c->ctx, (uint64_t)r->o->seed, 0);
    wick_model_set_averaged(r->c->model, true); /* what was measured */
    int code = save(r, r->best, &list, complete, (wick_save_options){.weights_only = true});
    wick_model_set_averaged(r->c->model, false);
    return code;
}

/* ---- going on ---------------------------------------------------------------------------------------------------- */

/* Options that there were not always: a run without them has their defaults. */
static bool is_later(const char *name) {
    static const char *const names[] = {
        "separator", "decimal", "no-header", "skip", "layout", "image-size", "as-stored", "task", "target",
        "validation", "no-standardise", "loss", "noise", "class-weights", "window", "horizon", "text", "tokens",
        "inputs", "vocabulary", "length", "leaves", "letterbox", "heads", "embedding", "margin", "mode", "wire",
        "shard-optimizer", "quantize", "quantize-epochs", "hint", "hint-kind", "hint-weight", "pairs"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* What a run without the option did: it chose the best epoch by its test set, and took numbers as they were. */
static const char *fallback_of(const char *name, int i) {
    return strcmp(name, "validation") == 0 ? "test" : strcmp(name, "no-standardise") == 0 ? "yes" : options_fallback(i);
}

int run_options(const wick_checkpoint *file, const char *path, cli_options *kept) {
    const char *name, *text;
    char error[512];
    kept->command = CMD_TRAIN;
    for (int i = 0; (name = options_kept(kept, i, &text)); i++) {
        char key[KEY];
        snprintf(key, sizeof key, "option.%s", name);
        const char *value = wick_checkpoint_meta(file, key);
        if (!value && is_later(name)) value = fallback_of(name, i);
        if (!value)
            return log_fail(CLI_BAD_FILE, "%s has no '%s' in its metadata: it is no run of this version", path, key);
        int code = options_restore(kept, i, value, error, sizeof error);
        if (code != CLI_OK) return log_fail(code == CLI_USAGE ? CLI_BAD_FILE : code, "%s: %s", path, error);
    }
    return CLI_OK;
}

/* What is wrong with the file's options by themselves is not the command line's fault. */
static int restore_options(run *r, cli_options *o, const char *path) {
    int code = run_options(r->file, path, &r->kept);
    const char *name, *text;
    char error[512];
    for (int i = 0; code == CLI_OK && (name = options_kept(&r->kept, i, &text)); i++) {
        code = options_restore(o, i, text, error, sizeof error);
        if (code != CLI_OK) return log_fail(code, "%s", error);
    }
    return code;
}

static bool read_field(int i, const char *text, run_state *state) {
    char *field = (char *)state + fields[i].offset, *end;
    errno = 0;
    if (fields[i].real) {
        *(double *)field = strtod(text, &end);
    } else {
        *(int64_t *)field = strtoll(text, &end, 10);
        if (*(int64_t *)field < 0) return false;
    }
    return end != text && *end == '\0' && errno != EINVAL;
}

static int restore_state(run *r, const char *path) {
    for (int i = 0; i < FIELDS; i++) {
        char key[KEY];
        snprintf(key, sizeof key, "run.%s", fields[i].name);
        const char *value = wick_checkpoint_meta(r->file, key);
        const bool later = strncmp(fields[i].name, "valid_", 6) == 0 || strcmp(fields[i].name, "looks") == 0;
        if (!value && later) continue; /* runs that chose by their test set */
        if (!value || !read_field(i, value, &r->state))
            return log_fail(CLI_BAD_FILE, "%s: bad or missing '%s' in its metadata", path, key);
    }
    const run_state *s = &r->state;
    if (s->seen != s->sample || s->correct > s->seen || s->best_epoch > s->epoch || s->stale > s->epoch)
        return log_fail(CLI_BAD_FILE, "%s: its metadata contradict each other in 'run.*'", path);
    return CLI_OK;
}

/* Puts the checkpoint that is whole in the damaged one's place, or the next save would keep the damaged one as the
 * former. The damaged file, if there is one, stays beside it. */
static int replace_damaged(run *r) {
    char *damaged;
    if (asprintf(&damaged, "%s.damaged", r->last) < 0) return out_of_memory();
    bool ok = rename(r->last, damaged) == 0 || errno == ENOENT;
    free(damaged);
    ok = ok && rename(r->previous, r->last) == 0;
    return ok ? CLI_OK : log_fail(CLI_FAILED, "could not rename %s: %s", r->last, strerror(errno));
}

int run_find(run *r, wick_context *ctx, cli_options *o) {
    if (!path_exists(r->last) && !path_exists(r->previous))
        return log_fail(CLI_BAD_FILE, "there is no run to resume: %s does not exist", r->last);
    int code = r->guest ? CLI_OK : lock(r);
    if (code != CLI_OK) return code;
    const char *path = r->last;
    wick_status status = wick_checkpoint_open(ctx, path, &r->file);
    /* A file that is there and can't be opened, for want of rights or memory, is not damaged. */
    bool damaged = (status == WICK_ERR_FORMAT || !path_exists(path)) && path_exists(r->previous);
    if (damaged) {
        log_note("%s; going on from the one before", log_why(ctx, status));
        path = r->previous;
        status = wick_checkpoint_open(ctx, path, &r->file);
    }
    if (status == WICK_OK) meta_note(r->file, path);
    if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(ctx, status));
    code = restore_options(r, o, path);
    if (code == CLI_OK) code = restore_state(r, path);
    return code == CLI_OK && damaged ? replace_damaged(r) : code;
}

/* Other samples under the same name. The test alone may be another one, where it lies apart. */
static int check_identity(const run *r, const char *key, const char *then, const char *now) {
    /* runs of an older Wick have none, or no @ before it */
    if (!then || strcmp(then + (*then == '@'), now + (*now == '@')) == 0) return CLI_OK;
    if (strcmp(key, CLASSIFIER_IDENTITY "test") != 0)
        return log_fail(CLI_BAD_FILE,
                        "%s has changed since the run was started: its files hold other samples. A new run "
                        "(--out) learns from them",
                        strcmp(key, CLASSIFIER_IDENTITY "val") == 0 && path_exists(r->o->of_train.validation)
                            ? r->o->of_train.validation
                            : r->c->data);
    log_warn("%s has changed since the run was started: its test samples are others", r->c->data);
    return CLI_OK;
}

/* The data must be those that the run was started with, or its normalisation and its order would be others. */
static int check_data(run *r) {
    meta now = {0};
    if (!classifier_add_meta(r->c, &now)) {
        meta_free(&now);
        return out_of_memory();
    }
    int code = CLI_OK;
    for (int i = 0; i < now.count && code == CLI_OK; i++) {
        const char *key = now.pairs[i].key, *then = wick_checkpoint_meta(r->file, key);
        if (strcmp(key, "arch") == 0 || (!then && strcmp(key, "onnx.crc32c") == 0))
            continue; /* the weights will tell; runs of an older Wick have none */
        const bool coding = strcmp(key, "coding") == 0,
                   identity = strncmp(key, CLASSIFIER_IDENTITY, strlen(CLASSIFIER_IDENTITY)) == 0;
        if (identity) {
            code = check_identity(r, key, then, now.pairs[i].value);
            continue;
        }
        if (!then && coding) {
            log_note("the run was started by a Wick that kept nothing of how columns are coded: they are coded anew");
            continue;
        }
        if (coding && strcmp(then, now.pairs[i].value) != 0)
            code = log_fail(
                CLI_BAD_FILE,
                "%s has changed since the run was started: its columns, categories, means or layout are others",
                r->c->data);
        else if (!then || strcmp(then, now.pairs[i].value) != 0)
            code = log_fail(CLI_BAD_FILE, "%s has changed since the run was started: its %s was %s and is %s",
                            strcmp(key, "onnx.crc32c") ? r->c->data : "the run's " CLASSIFIER_ONNX, key,
                            then ? then : "?", now.pairs[i].value);
    }
    meta_free(&now);
    return code;
}

int run_load(run *r) {
    int code = check_data(r);
    if (code != CLI_OK) return code;
    const char *then = wick_checkpoint_meta(r->file, "wick.numerics"), *now = wick_context_numerics(r->c->ctx);
    if (then && strcmp(then, now) != 0)
        log_note("the run was started with the numerics %s, and goes on with %s: it will not end in the same bits",
                 then, now);
    wick_status status = wick_checkpoint_load(r->file, r->c->model, true);
    wick_checkpoint_free(&r->file);
    if (status == WICK_OK) return CLI_OK;
    return log_fail(log_code(status, CLI_BAD_FILE), "the checkpoint does not fit: %s", log_why(r->c->ctx, status));
}
