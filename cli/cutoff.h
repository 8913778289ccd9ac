/* cutoff.h: files that become shorter while they are read. */
#ifndef WICK_CLI_CUTOFF_H
#define WICK_CLI_CUTOFF_H

/* From now on such a file ends the process with CLI_BAD_FILE and a line that names it. */
void cutoff_watch(void);

#endif
