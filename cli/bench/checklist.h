/* checklist.h: what of a machine's settings makes programs slow, and how each is changed. */
#ifndef WICK_CLI_CHECKLIST_H
#define WICK_CLI_CHECKLIST_H

enum { CHECKS_MAX = 20 };

typedef enum check_state { CHECK_UNKNOWN, CHECK_GOOD, CHECK_BAD } check_state;
typedef struct check {
    const char *name; /* "governor" */
    check_state state;
    char found[160]; /* what there is; "" where it is not told */
    char fix[240];   /* of BAD */
} check;

/* Each of them, in the order in which they are shown; how many. root goes before /proc and /sys: "", or the folder of a
 * made-up machine, or of a copy of another one's. A file that is missing or odd leaves its check UNKNOWN. */
int checklist(const char *root, check checks[CHECKS_MAX]);

#endif
