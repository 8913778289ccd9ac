/* profiling.h: --profile: what a command does in a context is recorded, and written to files at its end. */
#ifndef WICK_CLI_PROFILING_H
#define WICK_CLI_PROFILING_H

#include "cli.h"

#include "wick/dist.h"
#include "wick/memory.h"
#include "wick/profile.h"

typedef struct profiling {
    const cli_options *o;
    wick_profile *profile; /* NULL: nobody asked for one */
    bool told;             /* what was found is on standard output already */
    int rank, ranks;       /* that write into one timeline; ranks 0: nobody else does */
    uint64_t zero;         /* what is 0 there */
    wick_context *ctx;     /* whose memory --memory asks for; NULL: nobody did, or it is written */
    wick_memory_snapshot *before;
} profiling;

/* Exit codes; what went wrong has been said. Names are looked at before any work. *g is cleared, or --memory has begun:
 * earlier than the rest, where that is wanted. */
int profiling_memory_begin(profiling *g, const cli_options *o, wick_context *ctx);
int profiling_begin(profiling *g, const cli_options *o, wick_context *ctx);
/* The same of all ranks of a group (NULL: this process is alone), which have one timeline, with a process for each. */
int profiling_begin_shared(profiling *g, const cli_options *o, wick_context *ctx, wick_group *group);
/* What a rank that follows keeps of --profile and --memory: the timeline. */
void profiling_follow(cli_options *o);
/* Writes the files and says what bounds the run, whatever became of it: code is what it ended with, and is returned
 * unless that was CLI_OK and the files failed. Before the context is freed. */
int profiling_end(profiling *g, int code);
/* wick profile -- COMMAND: what it runs is recorded also without --profile, and what was found is kept; and told, as
 * remarks, once the command has ended. */
void profiling_expect(bool on);
void profiling_tell(void);
/* Writes what --memory asks for as it is now, where that is to be before the end. */
int profiling_memory(profiling *g);

#endif
