/* environment.h: the variables of the environment that Wick reads. */
#ifndef WICK_CLI_ENVIRONMENT_H
#define WICK_CLI_ENVIRONMENT_H

/* Says on standard error which of them have a value that does nothing. */
void environment_check(void);

#endif
