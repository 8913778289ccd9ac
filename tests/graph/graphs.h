/* graphs.h: graphs for tests of passes: recorded with the public ops, or written node by node; compared as text. */
#ifndef WICK_TESTS_GRAPHS_H
#define WICK_TESTS_GRAPHS_H

#include "exec/exec.h"
#include "tensor/tensors.h"
#include "wick/ops.h"

typedef struct fixture {
    wick_context *ctx;
    wick_arena arena;
    wick_graph *graph;
    wick_msg msg;
    char text[8192];
} fixture;

static inline void fixture_open(fixture *b) {
    memset(b, 0, sizeof *b);
    b->ctx = context();
    wick_arena_init(&b->arena, wick_allocator_default(), 4096);
}
static inline void fixture_close(fixture *b) {
    b->ctx->target = NULL;
    wick_context_free(&b->ctx); /* its handles may name nodes of the arena */
    wick_arena_free(&b->arena);
}

/* The graph that computes the tensors, as an eval would copy it. */
static inline void fixture_collect(fixture *b, int n, wick_tensor *const *tensors) {
    wick_wanted wanted[16];
    for (int i = 0; i < n; i++) wanted[i] = (wick_wanted){tensors[i]->value, NULL};
    CHECK_OK(b->ctx, wick_walk_run(b->ctx, b->ctx->reached, (size_t)n, wanted, 0, NULL, 0));
    b->graph = wick_graph_from_walk(b->ctx, &b->arena, b->ctx->reached, (size_t)n, wanted);
}
#define FIXTURE_COLLECT(b, ...)                                                                                        \
    fixture_collect(b, (int)(sizeof((wick_tensor *[]){__VA_ARGS__}) / sizeof(wick_tensor *)),                          \
                    (wick_tensor *[]){__VA_ARGS__})

/* Runs a pass, which must leave a sound graph. */
static inline void fixture_pass(fixture *b, wick_status (*pass)(wick_graph *, wick_msg *)) {
    wick_status status = pass(b->graph, &b->msg);
    if (status == WICK_OK) status = wick_graph_verify(b->graph, &b->msg);
    CHECK_MSG(status == WICK_OK, "%s", b->msg.text);
}
static inline const char *fixture_text(fixture *b) {
    wick_str s = wick_str_on(b->text, sizeof b->text);
    wick_graph_print(&s, b->graph, false);
    return b->text;
}
#define CHECK_GRAPH(b, want)                                                                                           \
    do {                                                                                                               \
        const char *text_ = fixture_text(b), *want_ = (want);                                                          \
        CHECK_MSG(!strcmp(text_, want_), "the graph is\n%s  not\n%s", text_, want_);                                   \
    } while (0)
/* How many nodes of this op. */
static inline int fixture_count(const fixture *b, const char *op) {
    int n = 0;
    for (size_t i = 0; i < b->graph->n; i++) n += !strcmp(b->graph->nodes[i]->op->name, op);
    return n;
}

#endif
