#include "peers.h"

#include "../json.h"
#include "../paths.h"
#include "../term/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { RESULT = BENCH_INPUTS, MODEL };
#define SLOW_PEER 2.0 /* seconds of a run, of which one is enough */
enum { FIRST = 100 }; /* what the peers know the files as: /dev/fd/100 and on */

static bool make_files(peers *p) {
    for (int i = 0; i < PEER_FILES; i++)
        if ((p->files[i] = memfd_create("wick-bench", MFD_CLOEXEC)) < 0) return false;
    return true;
}
static bool write_file(const peers *p, int i, const void *data, size_t size) {
    size_t done = 0;
    if (ftruncate(p->files[i], 0) != 0) return false;
    while (done < size) {
        const ssize_t n = pwrite(p->files[i], (const char *)data + done, size - done, (off_t)done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}
static void empty_files(const peers *p) {
    for (int i = 0; i < PEER_FILES; i++)
        if (ftruncate(p->files[i], 0) != 0) return;
}

int peers_start(peers *p, const char *python, int threads) {
    int to[2], from[2];
    char count[16];
    *p = (peers){0};
    for (int i = 0; i < PEER_FILES; i++) p->files[i] = -1;
    signal(SIGPIPE, SIG_IGN); /* it may end; then writing to it fails */
    snprintf(count, sizeof count, "%d", threads);
    if (!make_files(p)) return log_fail(CLI_FAILED, "no memory for the peers' inputs: %s", strerror(errno));
    if (pipe2(to, O_CLOEXEC) != 0) return log_fail(CLI_FAILED, "no pipe: %s", strerror(errno));
    if (pipe2(from, O_CLOEXEC) != 0)
        return close(to[0]), close(to[1]), log_fail(CLI_FAILED, "no pipe: %s", strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    for (int i = 0; i < PEER_FILES; i++) posix_spawn_file_actions_adddup2(&actions, p->files[i], FIRST + i);
    char *words[] = {(char *)(uintptr_t)python, (char *)(uintptr_t) "-c", (char *)(uintptr_t)peers_py, count, NULL};
    const int error = posix_spawnp(&p->child, python, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    p->to = fdopen(to[1], "w");
    p->from = fdopen(from[0], "r");
    if (error) p->child = 0;
    if (error || !p->to || !p->from)
        return log_fail(CLI_FAILED, "%s could not be started: %s", python, strerror(error ? error : errno));
    return CLI_OK;
}

static bool answer(peers *p, char *line, size_t size) {
    fflush(p->to);
    if (!fgets(line, (int)size, p->from)) return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static void name_file(json *j, const char *key, int i) {
    char path[32];
    snprintf(path, sizeof path, "/dev/fd/%d", FIRST + i);
    json_text(j, key, path);
}

static bool write_data(json *j, const char *key, const peers *p, int i, const wick_spec *spec, const void *data,
                       bool complex, bool kept) {
    json_open(j, key, '{');
    name_file(j, "file", i);
    json_text(j, "dtype", wick_dtype_name(spec->dtype));
    json_bool(j, "complex", complex);
    json_bool(j, "kept", kept);
    json_open(j, "dims", '[');
    for (int d = 0; d < spec->rank; d++) json_integer(j, NULL, spec->dims[d]);
    json_close(j, ']');
    json_close(j, '}');
    return write_file(p, i, data, wick_spec_bytes(spec));
}

/* The row as an ONNX model, which the library writes to a name. */
static bool write_model(const peers *p, subject *s) {
    char path[64];
    size_t size;
    snprintf(path, sizeof path, "%s/wick-bench-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    const int file = mkstemp(path);
    if (file < 0) return false;
    char *text = subject_export(s, path) ? path_read(path, &size) : NULL;
    const bool good = text && write_file(p, MODEL, text, size);
    unlink(path);
    close(file);
    free(text);
    return good;
}

/* One line: the row, and where its numbers are. */
static bool write_row(peers *p, const bench_result *r, subject *s, bool memory) {
    static const char *const forms[] = {"result", "result", "pair", "gradients", "infer", "train", "update", "call"};
    enum { LARGEST_CHECKED = 1 << 20 }; /* bytes of a result that is compared */
    json j = {.out = p->to};
    char optimizer[64];
    bool good = true;
    const wick_optim_options *how = &r->row->optimizer;
    snprintf(optimizer, sizeof optimizer, "%s %g %g", how->kind == WICK_ADAM ? "adam" : "sgd", how->lr, how->momentum);
    json_open(&j, NULL, '{');
    json_text(&j, "row", r->key);
    json_text(&j, "form", forms[r->row->form]);
    json_text(&j, "text", r->row->peer);
    json_text(&j, "optimizer", optimizer);
    json_bool(&j, "memory", memory);
    json_open(&j, "inputs", '[');
    for (int i = 0; i < s->n_in; i++)
        good = write_data(&j, NULL, p, i, &s->in[i], s->data[i], s->complex[i], s->kept[i]) && good;
    json_close(&j, ']');
    const bool checked =
        !memory && !r->row->network && r->row->form != ROW_UPDATE && wick_spec_bytes(&s->results[0]) <= LARGEST_CHECKED;
    if (checked)
        good = write_data(&j, "result", p, RESULT, &s->results[0], s->out[0], false, false) && good;
    else
        json_text(&j, "result", NULL);
    if (!memory && write_model(p, s))
        name_file(&j, "model", MODEL);
    else
        json_text(&j, "model", NULL);
    json_close(&j, '}');
    fputc('\n', p->to);
    return good;
}

bool peers_open(peers *p, bench_result *r, subject *s) {
    char line[256];
    const bool good = write_row(p, r, s, false);
    if (!answer(p, line, sizeof line) || !good) return false;
    empty_files(p);
    if (strcmp(line, "-") == 0) return true;
    for (char *rest = line, *name; (name = strsep(&rest, ",")) && r->n_peers < BENCH_PEERS;) {
        peer_times *peer = &r->peers[r->n_peers++];
        snprintf(peer->name, sizeof peer->name, "%.*s", (int)strcspn(name, "!"), name);
        peer->differs = strchr(name, '!') != NULL;
    }
    return true;
}

bool peers_memory(const char *python, bench_result *r, subject *s) {
    peers p;
    char line[64] = "";
    bool good =
        peers_start(&p, python, r->threads) == CLI_OK && write_row(&p, r, s, true) && answer(&p, line, sizeof line);
    if (good && strcmp(line, "-") != 0) {
        fprintf(p.to, "memory\n");
        good = answer(&p, line, sizeof line);
        int i = 0;
        while (i < r->n_peers && strcmp(r->peers[i].name, "PyTorch") != 0) i++;
        if (i < r->n_peers) r->peers[i].memory = atof(line);
    }
    peers_stop(&p);
    return good;
}

static bool run(peers *p, const peer_times *peer, int64_t times, double *seconds) {
    char line[64];
    fprintf(p->to, "run %lld %s\n", (long long)times, peer->name);
    if (!answer(p, line, sizeof line)) return false;
    *seconds = atof(line);
    return true;
}

bool peers_sample(peers *p, peer_times *peer) {
    double seconds;
    if (!peer->times.batch) { /* how many make a sample */
        for (peer->times.batch = 1;; peer->times.batch *= 2) {
            if (!run(p, peer, peer->times.batch, &seconds)) return false;
            peer->times.about = seconds;
            if (seconds * (double)peer->times.batch >= TIMING_SAMPLE || peer->times.batch > INT64_MAX / 4) break;
        }
        /* long enough to be its own warm-up */
        if (seconds > SLOW_PEER) return samples_add(&peer->times.seconds, seconds);
    }
    if (peer->times.seconds.n && peer->times.seconds.at[0] > SLOW_PEER) return true;
    const int64_t warm = timing_warm_runs(&peer->times);
    if (warm && !run(p, peer, warm, &seconds)) return false;
    return run(p, peer, peer->times.batch, &seconds) && samples_add(&peer->times.seconds, seconds);
}

bool peers_instructions(peers *p, char *line, size_t size) {
    fprintf(p->to, "instructions\n");
    return answer(p, line, size);
}

void peers_hold_to_avx2(void) {
    static const char *const settings[][2] = {{"ONEDNN_MAX_CPU_ISA", "AVX2"}, /* alone, and within PyTorch */
                                              {"MKL_ENABLE_INSTRUCTIONS", "AVX2"},
                                              {"ATEN_CPU_CAPABILITY", "avx2"},
                                              {"OPENBLAS_CORETYPE", "Haswell"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) setenv(settings[i][0], settings[i][1], 1);
}

void peers_stop(peers *p) {
    if (p->to) fclose(p->to);
    if (p->from) fclose(p->from);
    if (p->child) {
        kill(p->child, SIGKILL);
        while (waitpid(p->child, NULL, 0) < 0 && errno == EINTR) continue;
    }
    for (int i = 0; i < PEER_FILES; i++)
        if (p->files[i] > 0) close(p->files[i]);
    *p = (peers){0};
}
