/* net.h: a small network that tests of profiles run, and a folder for what they write. */
#ifndef WICK_TESTS_PROFILE_NET_H
#define WICK_TESTS_PROFILE_NET_H

#include <unistd.h>

#include "context.h"
#include "test.h"
#include "wick/datasets.h"
#include "wick/loader.h"
#include "wick/profile.h"

#include "profile/profile.h" /* behind the headers whose macros name lines */

enum { ROWS = 64, WIDTH = 256 };

typedef struct net {
    wick_context *ctx;
    wick_tensor *w1, *w2;
    wick_plan *plan;
    wick_workspace *ws;
    float *x, *y;
} net;

static inline wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    net *n = user;
    wick_tensor *h = wick_matmul(in[0], n->w1);
    h = wick_mul(wick_tanh(h), wick_square(h));
    out[0] = wick_softmax(wick_matmul(h, n->w2), 1);
    return WICK_OK;
}

static inline bool net_open(net *n, int threads) {
    *n = (net){.ctx = new_context(.threads = threads, .seed = 1)};
    const int64_t dims[] = {WIDTH, WIDTH};
    n->w1 = wick_keep(wick_random_normal(n->ctx, WICK_F32, 2, dims));
    n->w2 = wick_keep(wick_random_normal(n->ctx, WICK_F32, 2, dims));
    if (wick_eval(n->ctx, 2, (wick_tensor *[]){n->w1, n->w2}, NULL) != WICK_OK) return false;
    const wick_spec in = {.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {ROWS, WIDTH}};
    n->x = calloc(ROWS * WIDTH, sizeof *n->x);
    n->y = calloc(ROWS * WIDTH, sizeof *n->y);
    for (int i = 0; i < ROWS * WIDTH; i++) n->x[i] = (float)(i % 17) * 0.01f;
    return wick_compile(n->ctx, record, n, 1, &in, 1, NULL, &n->plan) == WICK_OK &&
           wick_workspace_new(n->plan, &n->ws) == WICK_OK;
}
static inline wick_status net_run(net *n) { return wick_run(n->ws, (const void *[]){n->x}, (void *[]){n->y}); }
static inline void net_close(net *n) {
    wick_workspace_free(&n->ws);
    wick_plan_free(&n->plan);
    wick_context_free(&n->ctx);
    free(n->x);
    free(n->y);
}

static char folder[64];
static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}
static char *read_all(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = calloc(1, 1 << 24);
    *size = fread(text, 1, (1 << 24) - 1, f);
    fclose(f);
    return text;
}

/* The tests, in a folder of their own. */
static int run_in_folder(int argc, char **argv) {
    snprintf(folder, sizeof folder, "/tmp/wick-profile-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    const int code = test_main(argc, argv);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) ? 1 : code;
}

#endif
