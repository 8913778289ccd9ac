/* peers.h: PyTorch and libraries of C, raced by peers.py in a process of its own. */
#ifndef WICK_CLI_BENCH_PEERS_H
#define WICK_CLI_BENCH_PEERS_H

#include <stdio.h>
#include <sys/types.h>

#include "results.h"

enum { PEER_FILES = BENCH_INPUTS + 2 }; /* inputs, a result, a model */

typedef struct peers {
    pid_t child;
    FILE *to, *from;
    int files[PEER_FILES]; /* numbers for the peers: memory without a name, of which nothing is left whatever happens */
} peers;

extern const char peers_py[]; /* the text of peers.py, which the build puts in */

/* python: the interpreter that has them. CLI_OK or an exit code, with what is wrong said. */
int peers_start(peers *p, const char *python, int threads);
/* The peers that have the row, in result->peers, without times. */
bool peers_open(peers *p, bench_result *result, subject *s);
/* One more sample of it. */
bool peers_sample(peers *p, peer_times *peer);
/* What PyTorch's memory grows by at its peak, in a process that has done nothing else, in result->peers; nothing where
 * it lacks the row. */
bool peers_memory(const char *python, bench_result *result, subject *s);
/* One line: what each peer says that it runs by. False: the process ended. */
bool peers_instructions(peers *p, char *line, size_t size);
/* Peers that are started from now on are told to go by the instructions of AVX2 at most. */
void peers_hold_to_avx2(void);
void peers_stop(peers *p);

#endif
