/* shared_values.h: values of options that several commands have, by what they are about. */
#ifndef WICK_CLI_SHARED_VALUES_H
#define WICK_CLI_SHARED_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* What an option that may be given several times was given, in order. */
typedef struct cli_list {
    const char **items; /* of the command line */
    int n;
} cli_list;

/* How weights are updated: of train, zoo, and of plan and its kin with --train. */
typedef struct update_values {
    const char *group;
    double lr, beta1, beta2, momentum, weight_decay, clip;
    int optimizer;
    bool nesterov, amsgrad;
} update_values;

/* How much a model of somebody else may take. */
typedef struct limits_values {
    int64_t max_memory, max_tensor, max_output, max_nodes, max_depth;
    double max_seconds;
} limits_values;

/* The files of --profile and --memory. */
typedef struct recording_values {
    cli_list profiles, memory_files;
    const char *memory_before;
} recording_values;

/* Where threads run and memory lies. */
typedef struct placement_values {
    const char *pin, *numa;
    bool balance, huge_pages;
    int64_t memory_pool;
} placement_values;

/* How tables of text are written. */
typedef struct table_values {
    const char *separator, *decimal;
    bool no_header;
} table_values;

#endif
