/* interrupt.h: Ctrl-C (SIGINT) and SIGTERM as a wish to stop soon. */
#ifndef WICK_CLI_INTERRUPT_H
#define WICK_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on the first signal is remembered, and the second ends the process at once with CLI_INTERRUPTED. */
void interrupt_watch(void);
bool interrupted(void);

#endif
