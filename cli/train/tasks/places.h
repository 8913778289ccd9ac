/* places.h: what tasks share that learn a class for each place of a sample, of a pixel or a word. The network gives [n,
 * classes, places], labels are u8 [n, places], of which 255 is no class. */
#ifndef WICK_CLI_PLACES_H
#define WICK_CLI_PLACES_H

#include "task.h"
#include "../metrics.h"

enum { PLACES_IGNORED = 255 };

int64_t places_of(const struct classifier *c); /* of a sample */
/* The mean cross-entropy of a sample's places that have a class. */
wick_tensor *places_rows(struct classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target);
wick_tensor *places_predictions(struct classifier *c, wick_tensor *x, wick_tensor *y); /* probabilities */
int64_t places_width(const struct classifier *c);
/* The likeliest class of each place; of equal ones the first. p: [classes, places] */
void places_take(const struct classifier *c, const float *p, uint8_t *to);
/* Adds to e->confusion. */
void places_count(struct evaluator *e, const uint8_t *labels, const uint8_t *predicted);
/* e->classes of e->confusion; the share that is right; NaN: no place has a class */
double places_sum(const struct evaluator *e);
void places_print(const struct evaluator *e, const char *noun);
void places_json(const struct evaluator *e, json *j, const char *noun);
/* colour: of a class, as text; NULL: none */
void places_report(FILE *out, const struct evaluator *e, const char *noun,
                   void (*colour)(const struct classifier *c, int64_t k, uint8_t rgb[3]));
/* Adds the spans of a text of at most so many words: those that are there, those that the tags say, those right. */
void tag_count_spans(const struct classifier *c, const uint8_t *labels, const uint8_t *tags, int64_t most,
                     class_counts *spans);

#endif
