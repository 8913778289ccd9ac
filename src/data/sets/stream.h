/* stream.h: what a loader and sets made of others have to know of a data set whose samples come one after the other. */
#ifndef WICK_DATA_STREAM_H
#define WICK_DATA_STREAM_H

#include "data/sets/dataset.h"

typedef struct wick_stream wick_stream;
typedef enum wick_stream_state { WICK_STREAM_GOES_ON, WICK_STREAM_ENDED, WICK_STREAM_BROKEN } wick_stream_state;

/* An epoch goes on from sample `first` of it: those in front are read over. Nothing is read yet; what is wrong is that
 * sample's failure. */
void wick_stream_begin(wick_stream *s, int64_t epoch, int64_t first);
/* Whether sample i could not be had because the stream ended before it, or because reading it failed there, after which
 * nothing comes. */
wick_stream_state wick_stream_at(wick_stream *s, int64_t i);
int64_t wick_stream_window(const wick_stream *s);
bool wick_stream_ends(const wick_stream *s); /* when it says so: how many samples it has is not known */
int64_t wick_stream_longest(const wick_stream *s, int field); /* dims[0] at most, of one that varies */

#endif
