/* regex.h: regular expressions in RE2's syntax, matched in time that grows with the text's length times the
 * expression's: no backtracking. */
#ifndef WICK_IO_ONNX_REGEX_H
#define WICK_IO_ONNX_REGEX_H

#include "base/base.h"

typedef struct wick_regex wick_regex;
/* Literals, ".", classes with ranges, escapes and POSIX names, groups of every kind, "|", "*", "+", "?", "{n,m}" (lazy
 * ones too: what matches as a whole is the same), "^", "$", \A, \z, \b, \B, \d, \w, \s, \Q...\E, flags i and s for all
 * or a group. Code points of UTF-8; case folds in ASCII. WICK_ERR_UNSUPPORTED: flags m and U, Unicode classes, or a
 * program over the limit; WICK_ERR_FORMAT: no expression. */
wick_status wick_regex_new(const char *text, size_t size, wick_regex **out, wick_msg *msg);
void wick_regex_free(wick_regex **regex);
size_t wick_regex_size(const wick_regex *regex); /* instructions: the steps of one character of text, at most */
/* watch: over the time that it takes; where it ends it the answer is false. May be NULL. */
bool wick_regex_full_match(wick_regex *regex, const char *text, size_t size, wick_watch *watch);

#endif
