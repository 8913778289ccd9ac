/* interrupt.h: signals as a wish to stop soon. */
#ifndef WICK_CLI_INTERRUPT_H
#define WICK_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on Ctrl-C (SIGINT), SIGTERM, a terminal that closes (SIGHUP, unless nohup has it ignored), a limit of CPU
 * time (SIGXCPU) and a reader of the output that is gone (SIGPIPE) are remembered. A second SIGINT or SIGTERM ends the
 * process at once with CLI_INTERRUPTED; the others may come many times. */
void interrupt_watch(void);
bool interrupted(void);
/* What a second signal, which ends the process at once, writes to standard error before; static. NULL: nothing. */
void interrupt_last_words(const char *text);

#endif
