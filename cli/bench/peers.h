/* peers.h: PyTorch and libraries of C, raced by peers.py in a process of its own. */
#ifndef WICK_CLI_BENCH_PEERS_H
#define WICK_CLI_BENCH_PEERS_H

#include <stdio.h>
#include <sys/types.h>

#include "results.h"

typedef struct peers {
    pid_t child;
    FILE *to, *from;
    char folder[64]; /* of inputs, while a row runs */
} peers;

extern const char peers_py[]; /* the text of peers.py, which the build puts in */

/* python: the interpreter that has them. CLI_OK or an exit code, with what is wrong said. */
int peers_start(peers *p, const char *python, int threads);
/* The peers that have the row, in result->peers, without times. */
bool peers_open(peers *p, bench_result *result, const subject *s);
/* One more sample of it. */
bool peers_sample(peers *p, peer_times *peer);
void peers_stop(peers *p);

#endif
