/* layer_hints.h: --hint: what a network learns from layers of its teachers, by name (docs/compress.md). */
#ifndef WICK_CLI_LAYER_HINTS_H
#define WICK_CLI_LAYER_HINTS_H

#include "classifier.h"

enum { MOST_HINTS = 16 };
typedef enum hint_kind { HINT_FEATURES, HINT_ATTENTION } hint_kind;
typedef struct layer_hint {
    const char *teacher, *student;        /* names of layers */
    wick_tensor *of_teacher, *of_student; /* what they gave, while a step is recorded; NULL: nothing so far */
    bool met;                             /* some teacher has it */
} layer_hint;
typedef struct layer_hints {
    int n; /* 0: none */
    layer_hint all[MOST_HINTS];
    char *text; /* that names are parts of */
    hint_kind kind;
    double weight;
} layer_hints;

/* Reads the list of --hint, "TEACHER=STUDENT" between ';'. Exit codes; to be freed whatever it returns. */
int layer_hints_read(layer_hints *h, const cli_options *o);
void layer_hints_free(layer_hints *h);
/* From here on what the layers of the model give is noted, until NULL is watched; as the student's, or a teacher's. */
void layer_hints_watch(layer_hints *h, classifier *c, bool student);
void layer_hints_rest(classifier *c);
/* The sum of all terms for the teacher that was watched last, times the weight, in the student's model; NULL: it has
 * none of the layers. Poisoned where the student has none of that name. */
wick_tensor *layer_hints_loss(layer_hints *h, classifier *student);
/* Poisoned where no teacher has a layer; NULL: all were met. */
wick_tensor *layer_hints_missing(const layer_hints *h, const classifier *student);

#endif
