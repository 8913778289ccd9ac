/* streams.h: standard input, output and error, before anything is written. */
#ifndef WICK_CLI_STREAMS_H
#define WICK_CLI_STREAMS_H

/* Descriptors 0 to 2 that are closed become /dev/null: the next file that is opened would get their number, and talk
 * would go into it. Standard error is written a line at a time, so that lines of several processes do not mix. Writing
 * beyond a limit of file sizes (SIGXFSZ) becomes an error. */
void streams_setup(void);
/* The exit code once all is written: `code`, unless results did not reach their file. Nothing is said where only their
 * reader is gone. */
int streams_end(int code);

#endif
