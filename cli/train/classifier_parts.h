/* classifier_parts.h: what the files of the classifier share: classifier.c (made, saved, loaded), classifier_onnx.c (of
 * an ONNX file) and classifier_data.c (the data it looks at). Those that return int give exit codes, and have said what
 * went wrong. */
#ifndef WICK_CLI_CLASSIFIER_PARTS_H
#define WICK_CLI_CLASSIFIER_PARTS_H

#include "classifier.h"

enum { CLASSIFIER_MOST_PIXELS = 1 << 24, CLASSIFIER_MOST_CLASSES = 1 << 20 };

int classifier_out_of_memory(void);
/* What a data set says of its samples and classes; *c is begun. */
int classifier_describe(classifier *c, wick_context *ctx, const wick_dataset *dataset, const char *data,
                        const char *transform, const char *label, const char *arch);
/* Makes the parameters: recording the network once is what creates them. whose: named where that fails. */
int classifier_make_parameters(classifier *c, const char *whose, int blame);
/* c->names: those of the data set joined by tabs, or (NULL) numbers. */
int classifier_join_names(classifier *c, const wick_dataset *dataset);
/* c->names becomes c->class_names; *fits: there are as many as classes. */
int classifier_split_names(classifier *c, bool *fits);

/* The ONNX file's input for a batch of n, as the file has it: [n, H, W, C] where c->last. */
wick_spec classifier_onnx_spec(const classifier *c, int64_t n);
/* Whether that input holds integers; *least and *most: from where to where. */
bool classifier_takes_integers(const classifier *c, int64_t *least, uint64_t *most);
/* Of a checkpoint, whose ONNX file lies beside it; crc: that file's checksum as the checkpoint has it, or NULL. */
int classifier_build_onnx(classifier *c, const char *checkpoint, const char *crc);
/* Whether images [C, H, W], or [H, W], can be made what a network takes, [C, H, W] or [H, W, C] of these extents; then
 * c->net and c->last say how. */
bool classifier_can_be_resized(classifier *c, int rank, const int64_t *dims);
void classifier_tell_resized(const classifier *c);
/* Whether a, [H, W, C], is b, [C, H, W], turned. */
bool classifier_is_turned(const int64_t *a, const int64_t *b);
/* "3, 32, 32" */
const char *classifier_extents(int rank, const int64_t *dims, char text[WICK_MAX_DIMS * 24]);

/* Dims of a sample as the network gets it. */
int classifier_sample_dims(const classifier *c, const wick_dataset *dataset, int *rank, int64_t dims[WICK_MAX_DIMS],
                           int64_t *pixels);

#endif
