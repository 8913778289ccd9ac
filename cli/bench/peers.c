#include "peers.h"

#include "../json.h"
#include "../talk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Files of a row's numbers lie in memory where the system has a folder for that. */
static bool make_folder(peers *p) {
    snprintf(p->folder, sizeof p->folder, "%s/wick-bench-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    return mkdtemp(p->folder) != NULL;
}
static void file_of(char *path, size_t size, const peers *p, int i) { snprintf(path, size, "%s/%d", p->folder, i); }

int peers_start(peers *p, const char *python, int threads) {
    int to[2], from[2];
    char count[16];
    *p = (peers){0};
    signal(SIGPIPE, SIG_IGN); /* it may end; then writing to it fails */
    snprintf(count, sizeof count, "%d", threads);
    if (!make_folder(p)) return talk_fail(CLI_FAILED, "%s: cannot be made: %s", p->folder, strerror(errno));
    if (pipe2(to, O_CLOEXEC) != 0) return talk_fail(CLI_FAILED, "no pipe: %s", strerror(errno));
    if (pipe2(from, O_CLOEXEC) != 0) return close(to[0]), close(to[1]), talk_fail(CLI_FAILED, "no pipe: %s", strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    char *words[] = {(char *)(uintptr_t)python, (char *)(uintptr_t) "-c", (char *)(uintptr_t)peers_py, count, NULL};
    const int error = posix_spawnp(&p->child, python, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    p->to = fdopen(to[1], "w");
    p->from = fdopen(from[0], "r");
    if (error) p->child = 0;
    if (error || !p->to || !p->from) return talk_fail(CLI_FAILED, "%s could not be started: %s", python, strerror(error ? error : errno));
    return CLI_OK;
}

static bool answer(peers *p, char *line, size_t size) {
    fflush(p->to);
    if (!fgets(line, (int)size, p->from)) return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static bool write_data(json *j, const char *key, peers *p, int i, const wick_spec *spec, const void *data, bool complex) {
    char path[128];
    const size_t bytes = wick_spec_bytes(spec);
    file_of(path, sizeof path, p, i);
    FILE *f = fopen(path, "wb");
    const bool good = f && fwrite(data, 1, bytes, f) == bytes;
    if (f && fclose(f) != 0) return false;
    json_open(j, key, '{');
    json_text(j, "file", path);
    json_text(j, "dtype", wick_dtype_name(spec->dtype));
    json_bool(j, "complex", complex);
    json_open(j, "dims", '[');
    for (int d = 0; d < spec->rank; d++) json_integer(j, NULL, spec->dims[d]);
    json_close(j, ']');
    json_close(j, '}');
    return good;
}

bool peers_open(peers *p, bench_result *r, const subject *s) {
    static const char *const forms[] = {"result", "pair", "gradients", "infer", "train", "call"};
    enum { LARGEST_CHECKED = 1 << 20 }; /* bytes of a result that is compared */
    json j = {.out = p->to};
    char line[256], optimizer[64];
    bool good = true;
    const wick_optim_options *how = &r->row->optimizer;
    snprintf(optimizer, sizeof optimizer, "%s %g %g", how->kind == WICK_ADAM ? "adam" : "sgd", how->lr, how->momentum);
    json_open(&j, NULL, '{');
    json_text(&j, "row", r->key);
    json_text(&j, "form", forms[r->row->form]);
    json_text(&j, "text", r->row->peer);
    json_text(&j, "optimizer", optimizer);
    json_open(&j, "inputs", '[');
    for (int i = 0; i < s->n_in; i++) good = write_data(&j, NULL, p, i, &s->in[i], s->data[i], s->complex[i]) && good;
    json_close(&j, ']');
    const bool checked = !r->row->network && wick_spec_bytes(&s->results[0]) <= LARGEST_CHECKED;
    if (checked) good = write_data(&j, "result", p, BENCH_INPUTS, &s->results[0], s->out[0], false) && good;
    else json_text(&j, "result", NULL);
    json_close(&j, '}');
    fputc('\n', p->to);
    if (!answer(p, line, sizeof line) || !good) return false;
    if (strcmp(line, "-") == 0) return true;
    for (char *rest = line, *word; (word = strsep(&rest, " ")) && r->n_peers < BENCH_PEERS;) {
        peer_times *peer = &r->peers[r->n_peers++];
        snprintf(peer->name, sizeof peer->name, "%.*s", (int)strcspn(word, "!"), word);
        peer->differs = strchr(word, '!') != NULL;
    }
    for (int i = 0; i <= BENCH_INPUTS; i++) {
        char path[128];
        file_of(path, sizeof path, p, i);
        unlink(path);
    }
    return true;
}

static bool run(peers *p, peer_times *peer, double *seconds) {
    char line[64];
    fprintf(p->to, "run %s %lld\n", peer->name, (long long)peer->times.batch);
    if (!answer(p, line, sizeof line)) return false;
    *seconds = atof(line);
    return true;
}

bool peers_sample(peers *p, peer_times *peer) {
    double seconds;
    if (!peer->times.batch) { /* how many make a sample */
        for (peer->times.batch = 1;; peer->times.batch *= 2) {
            if (!run(p, peer, &seconds)) return false;
            if (seconds * (double)peer->times.batch >= TIMING_SAMPLE || peer->times.batch > INT64_MAX / 4) break;
        }
    }
    return run(p, peer, &seconds) && samples_add(&peer->times.seconds, seconds);
}

void peers_stop(peers *p) {
    if (p->to) fclose(p->to);
    if (p->from) fclose(p->from);
    if (p->child) {
        kill(p->child, SIGKILL);
        while (waitpid(p->child, NULL, 0) < 0 && errno == EINTR) continue;
    }
    for (int i = 0; *p->folder && i <= BENCH_INPUTS; i++) {
        char path[128];
        file_of(path, sizeof path, p, i);
        unlink(path);
    }
    if (*p->folder) rmdir(p->folder);
    *p = (peers){0};
}
