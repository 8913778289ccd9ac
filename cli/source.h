/* source.h: whatever a network can be trained on and tested with. */
#ifndef WICK_CLI_SOURCE_H
#define WICK_CLI_SOURCE_H

#include "wick/data.h"

/* What wick_dataset_open takes, images u8 in memory; else, as samples of two fields, what is learned from and "label", i64:
 *
 *   tables     FILE.csv or .tsv, or a folder with SPLIT.csv: "features", f32 [n]
 *   tensors    FILE.npz or .safetensors, or a folder with SPLIT.npz: one of them is the label, the other is learned from
 *   shards     a folder with SPLIT-*.tar, also .tar.gz and .tar.zst, as WebDataset lays them out
 *   files      a folder SPLIT/CLASS/NAME of recordings, f32 [-1], or pictures that are decoded when they are asked for; an archive or a record file of such
 *
 * A file that is no part of a folder has both splits: a fifth of each class, the same ones every time, is "test". label: the column or tensor that is the class; NULL or "": "label", "labels",
 * "class", "target" or "y", or of a table the last one. rate: what
 * recordings are resampled to; 0: they stay as they are. *out owns all that it is made of. A failure is the context's error; WICK_ERR_IO: there is no such split. */
wick_status source_open(wick_context *ctx, const char *data, const char *split, const char *label, int64_t rate, wick_dataset **out);
/* Whether the samples are recordings. */
bool source_is_audio(const wick_dataset *dataset);

#endif
