/* rows.h: what wick bench measures, row by row, and how a row is made ready to run. */
#ifndef WICK_CLI_BENCH_ROWS_H
#define WICK_CLI_BENCH_ROWS_H

#include <stdbool.h>

#include "memory.h"

#include "wick/wick.h"

/* SOFTMAX_FLOPS: that a plan counts for each weight of attention; rows count the exponential itself instead. */
enum { BENCH_INPUTS = 8, BENCH_SIZES = 3, SOFTMAX_FLOPS = 5 };
typedef struct subject subject;

typedef enum row_form {
    ROW_RESULT,    /* of a graph */
    ROW_PLAIN,     /* of a graph, a kernel for each op */
    ROW_PAIR,      /* two of them */
    ROW_GRADIENTS, /* and the gradients of all float inputs but the last, which is the gradient of the result */
    ROW_INFER,     /* a network's outputs */
    ROW_TRAIN,     /* a step of its training */
    ROW_UPDATE,    /* of parameters by their gradients, which are the inputs */
    ROW_CALL,      /* a function of its own, timed as a whole */
    ROW_PROCESS    /* one that starts a process: its time is the clock's */
} row_form;

typedef struct bench_row {
    const char *suite, *name;
    row_form form;
    /* "(kind, kind)"; "kept kind": a state that stays the same from run to run, as weights of a layer do */
    const char *inputs;
    wick_tensor *(*build)(const subject *s, wick_tensor *const *in, wick_tensor **second);
    /* of INFER and TRAIN, as wick_zoo_find reads it, "lstm:UNITS" or "encoder:LAYERS" */
    const char *network;
    wick_optim_options optimizer;   /* of TRAIN and UPDATE */
    wick_compile_options compiling; /* of TRAIN_IN */
    wick_status (*call)(wick_context *ctx);
    const char *peer;               /* the same in Python, for PyTorch; "": there is nothing to race */
} bench_row;

const bench_row *bench_row_at(int i); /* NULL past the last */
/* "1K"; of rows that have one size only "". NULL: the row has no such. */
const char *bench_row_size(const bench_row *row, int size);

/* A row ready to run. */
struct subject {
    const bench_row *row;
    wick_context *ctx;
    wick_scope *scope;
    wick_model *model; /* of networks, and for layers of other rows */
    wick_network network;
    wick_optimizer *optimizer;
    wick_plan *plan;
    wick_workspace *space;
    int n_in, n_out;
    bool fresh;                     /* results are allocated in every run, as by the peer */
    wick_spec in[BENCH_INPUTS];
    bool complex[BENCH_INPUTS];     /* pairs along the last axis */
    const void *data[BENCH_INPUTS];
    wick_tensor *kept[BENCH_INPUTS]; /* those that are states, which the plan isn't given; else NULL */
    int n_given;                     /* the others, in their order */
    wick_spec given[BENCH_INPUTS];
    const void *given_data[BENCH_INPUTS];
    wick_spec results[BENCH_INPUTS];
    void *out[BENCH_INPUTS];
    /* exponentials of attention: one for each score that is seen, and as many again in its gradient */
    double exps;
    /* of one run; bytes are those of inputs, states and results, each once: no run can do with less */
    double flops, read, written;
    double planned;                 /* bytes that it takes besides its inputs: arena, scratch, states, results */
    memory_mark mark;               /* when it had its inputs */
    char why[256];                  /* it can't be made ready */
};
bool subject_open(subject *s, const bench_row *row, int size, int threads);
void subject_close(subject *s);
/* Runs it that many times. */
bool subject_run(subject *s, int64_t times);
/* Writes what it computes as an ONNX model. False: it is no such row, or ONNX has nothing for an op of it. */
bool subject_export(subject *s, const char *path);

#endif
