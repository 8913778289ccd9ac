/* wick/datasets.h: data sets made of others (parts, sums, products, caches), and of files: record files, archives,
 * folders, arrays and tables. wick/dataset.h has the interface. */
#ifndef WICK_DATASETS_H
#define WICK_DATASETS_H

#include "wick/dataset.h"
#include "wick/files.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- made of others: which must outlive what is made of them. WICK_ERR_INVALID, WICK_ERR_NOMEM ------------------- */

/* Samples numbers[0..n), in that order; also again and again. WICK_ERR_INDEX: one is not there. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_subset(wick_context *ctx, const wick_dataset *dataset, int64_t n,
                                                         const int64_t *numbers, wick_dataset **out);
/* Parts without a common sample, drawn by the seed alone, each in the order of the whole. Where samples have classes
 * the share of each class is that of the part, to within a sample. shares come to 1 at most. out[0..n) are all NULL on
 * failure. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_split(wick_context *ctx, const wick_dataset *dataset, int n,
                                                        const double *shares, uint64_t seed, wick_dataset **out);
/* The samples for which keep says true; it is asked once for each, now. It may say *status: the error that ends it. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_filter(wick_context *ctx, const wick_dataset *dataset,
                                                         bool (*keep)(void *user, const wick_dataset *dataset,
                                                                      int64_t i, wick_status *status),
                                                         void *user, wick_dataset **out);
/* One behind the other: fields of one name, dtype and dims (the first of which may vary), and as many classes. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_concat(wick_context *ctx, int n, const wick_dataset *const *sets,
                                                         wick_dataset **out);
/* So many times over: an epoch is that long. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_repeat(wick_context *ctx, const wick_dataset *dataset, int64_t times,
                                                         wick_dataset **out);
/* `count` samples, each of a set drawn as its weight says (by the seed and its number), and of that set the next one,
 * from the first again behind the last. Sets as of concat. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_mix(wick_context *ctx, int n, const wick_dataset *const *sets,
                                                      const double *weights, int64_t count, uint64_t seed,
                                                      wick_dataset **out);
/* Side by side: sample i has the fields of sample i of each, whose names differ; the class is that of the first set
 * that has classes. All have as many samples. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_zip(wick_context *ctx, int n, const wick_dataset *const *sets,
                                                      wick_dataset **out);

typedef struct wick_dataset_mapping {
    int n_fields; /* what becomes of a sample; dims[0] -1 with `length`, as of wick_dataset_source */
    wick_spec fields[WICK_DATASET_FIELDS];
    /* Writes the fields out[k] that are not NULL from all fields `in` of sample `index`, aligned to 64 bytes;
     * lengths[k] is dims[0] of one that varies. By any number of threads at once. */
    wick_status (*map)(void *user, int64_t index, const void *const *in, const int64_t *lengths, void *const *out,
                       wick_fault *fault);
    /* dims[0] of a field that varies; was: of the first field before */
    int64_t (*length)(void *user, int64_t index, int field, int64_t was);
    void *user;
} wick_dataset_mapping;
/* The samples as a function makes them; classes and labels stay. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_map(wick_context *ctx, const wick_dataset *dataset,
                                                      const wick_dataset_mapping *mapping, wick_dataset **out);
/* The same samples, of which the ones asked for last are kept in memory, `bytes` of them at most: wick_dataset_cache
 * and the loader's stats have hits, misses and bytes. Samples are kept whole, and one that is larger is not. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_cached(wick_context *ctx, const wick_dataset *dataset, size_t bytes,
                                                         wick_dataset **out);

/* ---- streams: samples that come one after the other and have no number to ask for them by: of a pipe, a socket, a
 * packed archive, a simulation ---- */

typedef struct wick_stream_source {
    int n_fields; /* as of wick_dataset_source; where dims[0] is -1 there are `length` and `longest` */
    wick_spec fields[WICK_DATASET_FIELDS];
    int64_t longest[WICK_DATASET_FIELDS]; /* dims[0] at most, of a field where it varies */
    int64_t classes, rate;
    const char *(*class_name)(void *user, int64_t label); /* NULL: numbers */
    size_t record; /* bytes at most that `next` reads at once, and `get` makes a sample of */
    /* The next record, to `record` bytes aligned to 64; *end: there is none. One thread at a time, in order. A failure
     * ends the stream, whatever the loader's policy is: what comes after it is not known. */
    wick_status (*next)(void *user, void *record, bool *end, wick_fault *fault);
    /* An epoch is to be read from the beginning, the first one too. NULL: it cannot be; epochs of options->count
     * samples go on where the one before ended, and what was handed over does not come back: asking a loader for it is
     * WICK_ERR_UNSUPPORTED. */
    wick_status (*begin)(void *user, int64_t epoch, wick_fault *fault);
    /* A record's fields to those out[k] that are not NULL: decoding, by several threads at once, each with another
     * record. A failure is that of this sample alone. */
    wick_status (*get)(void *user, const void *record, void *const *out, wick_fault *fault);
    /* dims[0] of a field that varies, at most `longest`; quick */
    int64_t (*length)(void *user, const void *record, int field);
    void (*free)(void *user);
    void *user;
} wick_stream_source;
typedef struct wick_stream_options {
    /* samples of an epoch; an earlier end is an error. 0: until `next` says that it ends; wick_dataset_count and
     * wick_loader_batches are -1 then */
    int64_t count;
    /* records that are kept until they are asked for: at least those of all batches that a loader makes at once,
     * (prefetch + 1) x batch x ranks. 0: 1,024 */
    int64_t window;
    /* a buffer of so many more, of which each next sample is drawn by (seed, epoch); 0: samples come as they are read
     */
    int64_t shuffle;
    uint64_t seed;
} wick_stream_options;
/* A data set for one loader at a time, at any number of workers, or for wick_dataset_get from the first sample on, each
 * once. The same batches for any number of workers; a place is come back to by reading what is in front of it (not
 * decoding it). The loader shuffles, weighs and substitutes nothing; of what sets are made of, a map of fixed dims
 * takes a stream. Memory, (window + shuffle) x record, is allocated here. options may be NULL. Where this fails
 * source->free has not been called. WICK_ERR_INVALID, WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_of_stream(wick_context *ctx, const wick_stream_source *source,
                                                            const wick_stream_options *options, wick_dataset **out);

/* ---- of files ---------------------------------------------------------------------------------------------------- */

/* The files of a folder, an archive or a record file (wick_files_open), decoded when they are asked for, by as many
 * threads as ask. What the first is, all are:
 *
 *   pictures    "image", u8 [3, height, width]. All have one size, or the error names the one that differs
 *   recordings  "audio", f32 [-1]: one channel, as long as it is; options->rate brings all to one rate (of at most 16
 *               different ones)
 *   arrays      "image" or "array", of their dtype and dims
 *   others      "bytes", u8 [-1]
 *
 * and where they lie in folders, "label", i64. Record files and folders are read as they are asked for; of an archive
 * the files' bytes are kept, as they are. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_of_files(wick_context *ctx, const char *path,
                                                           const wick_files_options *options, wick_dataset **out);

/* Archives as WebDataset lays them out (github.com/webdataset/webdataset): files whose paths are the same up to the
 * first dot of their names are one sample, and lie behind each other. n shards, one behind the other; .tar, also packed
 * by gzip or Zstandard. The fields are those of the first sample, called by what is behind that dot, and each sample
 * must have them; other files are passed over. Pictures (their endings are in wick/files.h) are u8 [3, height, width],
 * .wav f32 [-1], both decoded when they are asked for; .cls, a whole number as digits, is "label", i64; others ("json",
 * "txt") are their bytes, u8 [-1]. Pictures come first, the label last. Plain archives stay mapped; of packed ones the
 * contents are kept. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_of_shards(wick_context *ctx, int n, const char *const *paths,
                                                            wick_dataset **out);
typedef struct wick_shards_options {
    /* plain archives are read by pread when a sample is asked for, not mapped: a disk that fails, or a file that
     * becomes shorter, is a sample that cannot be read, where a mapping ends the process (SIGBUS) */
    bool copy;
    wick_remote *remote; /* by which shards whose paths are URLs are fetched, all of them; NULL: one of the defaults */
} wick_shards_options;
/* options may be NULL */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_of_shards_with(wick_context *ctx, int n, const char *const *paths,
                                                                 const wick_shards_options *options,
                                                                 wick_dataset **out);

typedef struct wick_shard_stream_options {
    /* window 0: 1,024 samples; with shuffle the shards of an epoch have an order of their own, too */
    wick_stream_options stream;
    size_t most;                /* bytes that the files of one sample have together; 0: 1 MiB */
    int64_t longest;            /* bytes of a text, and samples of a recording, at most; 0: 65,536 */
    int64_t classes;            /* that .cls are below; 0: not known, and samples have a label but no class */
    /* By which shards whose paths are URLs are fetched, the next one while one is read; NULL: one of the defaults */
    wick_remote *remote;
} wick_shard_stream_options;
/* The same shards, read from front to back as a stream: packed ones too by memory that does not grow with them, (window
 * + shuffle) x most, of which nothing is touched that isn't needed. A sample that lacks a file, is too large or too
 * long, or of another class or rate, is one that cannot be read, and the loader's policy is for it; an archive that is
 * damaged ends the epoch. The fields are those of the first sample of the first shard. options may be NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_of_shard_stream(wick_context *ctx, int n, const char *const *paths,
                                                                  const wick_shard_stream_options *options,
                                                                  wick_dataset **out);

/* Tensors as columns: sample i is row i of each, i.e. field k has the dims of tensors[k] but the first, which is the
 * count. They are evaluated and kept; rows are not copied. label names the column, integers of rank 1, that is the
 * class, below classes; -1: none. It becomes an i64. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_of_tensors(wick_context *ctx, int n, const char *const *names,
                                                             struct wick_tensor *const *tensors, int label,
                                                             int64_t classes, wick_dataset **out);
/* ---- tables of comma-separated values (RFC 4180; also other separators, blanks around cells, empty lines) --------
 * By its name also .arff, Weka's, with names, types and values as its header says them (whatever is not numeric is
 * categories, "NA" one as any other, but for targets), and .ts, sktime's series of one length: a row is all dimensions,
 * one behind the other, t0 ... or d0_t0 ..., and then its "class", or "target". */

typedef enum wick_csv_type { WICK_CSV_NUMBER, WICK_CSV_CATEGORY, WICK_CSV_LEFT_OUT } wick_csv_type;
typedef enum wick_csv_missing { WICK_CSV_NAN, WICK_CSV_MEAN, WICK_CSV_REFUSE } wick_csv_missing;
typedef struct wick_csv_options {
    char separator;           /* 0: found, of comma, semicolon, tab and | */
    char decimal; /* '.' or ',', in numbers; 0: found. The other one may separate thousands: "1,234.5" is 1234.5 */
    bool no_header;           /* the first line has values; columns are called 0, 1, ... */
    const char *label;        /* the column that is the class; NULL: none */
    /* the column that is a number to learn, or several with commas between, also patterns: "height,x*"; NULL: none */
    const char *target;
    const char *skip;         /* columns of such names are left out, as of wick_model_freeze: "id|*_note"; NULL: none */
    /* a category is as many numbers as there are, one of them 1; otherwise it is its number */
    bool one_hot;
    /* what a number that is missing becomes: NaN, or the mean of its column; or that is an error. A category that is
     * missing is -1, or all zeros */
    wick_csv_missing missing;
    /* wick_csv_coding of the table that a model learned from: this one is read as that was, and label, target, skip,
     * one_hot, missing and learned are not looked at. Columns are matched by their names, in any order. One that the
     * table lacks counts as missing in each row; one that the coding lacks is passed over; a category that the coding
     * lacks is -1, or all zeros; a class that it lacks is an error. NULL: the coding follows from this table. */
    const char *coding;
    bool unlabelled; /* with a coding: rows need no class or target; where it is missing or not known, the label is -1,
                        the target NaN */
    /* [n_learned], n_learned the number of rows: those that are learned from. Types, categories and means follow from
     * them alone, classes from all rows. NULL: all */
    const bool *learned;
    int64_t n_learned;
} wick_csv_options;
/* The columns in their order: of the table, or with a coding of that. Counts are of all rows; min, max, mean and whole
 * of those that are learned from. */
typedef struct wick_csv_column {
    const char *name;
    wick_csv_type type; /* numbers, if all of its values are, or at least half of them where they would be more than 20
                           categories; else categories. One without any value is left out with WICK_CSV_MEAN */
    int64_t missing; /* cells that are empty, or one of the texts that pandas takes for a missing value (NA, n/a, #N/A,
                        null, None, nan, -NaN ...), or ? */
    int64_t odd;     /* cells of a column of numbers that are neither a number nor missing: they count as missing (with
                        WICK_CSV_REFUSE: an error) */
    int64_t unknown;       /* cells of categories that the coding lacks */
    int64_t categories;    /* in the order of their bytes; of a class of numbers in that of numbers */
    double min, max, mean; /* of numbers, without what is missing; NaN: all of it is. With a coding min and max are this
                              table's, the mean is the coding's */
    bool whole;            /* all of its numbers are whole */
    bool present;          /* the table has it; false only with a coding */
    bool target;           /* it is one of the numbers to learn */
    double offset; /* what is taken from each of its numbers, in 64 bits, before it becomes a feature in f32; 0:
                      nothing. Whole numbers above 2^24 that are all far from 0, such as times in seconds, and numbers
                      that lie closer together than 1024 steps of f32, have their least one, rounded down; with a coding
                      its */
} wick_csv_column;
typedef struct wick_csv wick_csv;
/* Reads it all. UTF-8, with or without a byte order mark; UTF-16 with one; what is not UTF-8 is read as Windows-1252
 * (Latin-1). WICK_ERR_IO, WICK_ERR_FORMAT (a line with more or fewer cells, a quote that does not end: file and line
 * are named; a coding that wick_csv_coding didn't write), WICK_ERR_INVALID (a column that is not there, a class that is
 * missing or has a name that another column has too, more than 65,536 categories, a number that f32 cannot hold, and
 * Inf unless missing values are NaN), WICK_ERR_MISMATCH (not of the coding: no column of it, a class that it lacks,
 * text where it has numbers), WICK_ERR_VERSION (of a coding), WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_csv_read(wick_context *ctx, const char *path, const wick_csv_options *options,
                                                   wick_csv **out);
WICK_API void wick_csv_free(wick_csv **csv); /* null-safe, nulls */
WICK_API int64_t wick_csv_rows(const wick_csv *csv);
WICK_API int wick_csv_columns(const wick_csv *csv);
WICK_API const wick_csv_column *wick_csv_column_at(const wick_csv *csv, int column);         /* NULL outside */
WICK_API const char *wick_csv_category(const wick_csv *csv, int column, int64_t number);     /* NULL outside */
/* A number that the texts of a row's cells alone make, with the names of their columns: the same wherever the row
 * stands in a table, and in whichever order the columns are; rows that are alike have one. By a coding, of the columns
 * that it knows. 0 outside. */
WICK_API uint64_t wick_csv_row_hash(const wick_csv *csv, int64_t row);
/* How its columns are coded: names in order, categories, classes, means, what becomes of what is missing. A text in
 * UTF-8, to be kept with a model and given to wick_csv_options.coding. It belongs to the table. docs/data.md has its
 * form. */
WICK_API const char *wick_csv_coding(const wick_csv *csv);
/* Sentence i about what was found by looking (separator, decimal comma, encoding), and what was not taken as it stands:
 * cells that are no numbers, columns without a value, columns and categories that the coding lacks. They belong to the
 * table; NULL past the last. Whoever reads a table for a person shows them. */
WICK_API const char *wick_csv_note(const wick_csv *csv, int i);
/* Its rows: "features", f32 [n], of all columns but label and targets, in order; "label", i64, and "target", f32, where
 * there are such; of several targets f32 [targets], in the order of the columns. Without
 * other columns features are f32 [0]. The table must outlive it. WICK_ERR_INVALID: it has no such columns. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_of_csv(wick_context *ctx, const wick_csv *csv, wick_dataset **out);

/* The lines of a text, without their ends (\n or \\r\n): "text", u8 [-1]. The file stays mapped. */
WICK_API WICK_MUST_CHECK wick_status wick_dataset_of_lines(wick_context *ctx, const char *path, wick_dataset **out);

#ifdef __cplusplus
}
#endif
#endif
