/* wick/files.h: labelled files, one after another, wherever they lie: a folder, an archive, a set of arrays (IDX), or a
 * record file, into which they can be packed, and out of it again. */
#ifndef WICK_FILES_H
#define WICK_FILES_H

#include "wick/plan.h"
#include "wick/records.h"
#include "wick/remote.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_files wick_files;

typedef struct wick_files_options {
    const char *split; /* of a path that has several: "train" (NULL), "test" */
    bool all; /* files of every kind; without it those whose names end as pictures (.jpg .jpeg .png .bmp .webp .gif .tif
                 .tiff .pbm .pgm .ppm .pnm .jp2 .j2k) and recordings (.wav) do */
    bool salvage;      /* of a damaged record file what is whole */
    bool copy;         /* a record file is read by pread, not mapped */
    /* wick_dataset_of_files: recordings become so many samples a second, 1000 to 768000, by wick_audio_resample's
     * formula; 0: they stay as they are */
    int64_t rate;
    int64_t least; /* wick_dataset_of_files: JPEGs are decoded at 1/8, 1/4 or 1/2 of their size, the smallest both of
                    * whose sides have at least so many pixels, which takes a fraction of the time; 0: whole. Sides are
                    * n / 8 of what they were, rounded up; each pixel is about the mean of those that it stands for */
    wick_remote *remote; /* by which a URL is fetched; NULL: one of the defaults */
} wick_files_options;

/* path is one of
 *
 *   a record file   as wick_files_pack or another writer made it
 *   an archive      .tar, also packed by gzip or Zstandard: its first bytes say which
 *   an IDX file     [count, dims] of any type; or a folder with sets named as LeCun's (wick_dataset_open), of which the
 *                   split is taken
 *   a folder        of files at any depth, in the order of their paths' bytes, without hidden ones; or one that holds
 *                   SPLIT.wrec, SPLIT.tar[.gz|.zst] or SPLIT/, which is taken then
 *   a name          of a set known by name: the folder where it is
 *   a URL           of a record file, an archive or an IDX file (wick/remote.h)
 *
 * A file's class is the folder that it lies in, if it lies in one; classes are numbered in the order of their bytes.
 * Archives are walked once to find them. WICK_ERR_IO, WICK_ERR_FORMAT, WICK_ERR_VERSION, WICK_ERR_UNSUPPORTED,
 * WICK_ERR_NOMEM. The context must outlive the files. options may be NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_files_open(wick_context *ctx, const char *path,
                                                     const wick_files_options *options, wick_files **out);
WICK_API void wick_files_free(wick_files **files);            /* null-safe, nulls */
/* what was opened in the end: a set's file of the split */
WICK_API const char *wick_files_path(const wick_files *files);
WICK_API const char *wick_files_form(const wick_files *files); /* "folder", "tar", "idx", "records" */
WICK_API int64_t wick_files_count(const wick_files *files);
WICK_API int64_t wick_files_passed(const wick_files *files); /* files of other kinds, which are passed over */
WICK_API int64_t wick_files_classes(const wick_files *files); /* 0: nothing lies in a folder */
WICK_API const char *wick_files_class(const wick_files *files, int64_t label); /* NULL outside */
/* Where they are arrays, of one shape and without names: it. NULL: they are files. */
WICK_API const wick_spec *wick_files_array(const wick_files *files);
WICK_API const wick_records *wick_files_records(const wick_files *files); /* NULL: it is no record file */

typedef struct wick_file {
    const char *name; /* its path within: "train/cat/0001.jpg"; "": of an array */
    int64_t label;    /* -1: none */
    const void *data; /* until the next call, aligned to 64 bytes where it is an array */
    size_t size;
    size_t stored; /* bytes that it takes in a record file; else `size` */
} wick_file;
/* The next one; *more false: there are none left. After a failure the next call gives the one behind it, where there is
 * a way to it: a folder's file that cannot be read, a record that is damaged. *more is false then if there is not: an
 * archive's header. */
WICK_API WICK_MUST_CHECK wick_status wick_files_next(wick_files *files, wick_file *out, bool *more);
/* One of them; quick only of records, arrays and folders: an archive is walked. WICK_ERR_INDEX: there is none. */
WICK_API WICK_MUST_CHECK wick_status wick_files_at(wick_files *files, int64_t i, wick_file *out);
/* From the first one again. */
WICK_API WICK_MUST_CHECK wick_status wick_files_rewind(wick_files *files);

typedef struct wick_pack_options {
    wick_records_write_options write; /* but for its meta, which is written */
    /* Which are taken, in what order: n numbers, as of wick_files_at; NULL: all. Not of archives. */
    const int64_t *order;
    int64_t n_order;
    bool append;   /* pack: to the record file that is there, with its compression, whose level alone counts here */
    /* after each; false: stop, WICK_ERR_CANCELLED. NULL: none */
    bool (*progress)(void *user, int64_t done, int64_t of, uint64_t bytes);
    void *user;
} wick_pack_options;
/* What was done. */
typedef struct wick_pack_report {
    int64_t count;
    uint64_t bytes, stored; /* of the contents, and of the file or files that were written */
    bool unread;            /* after a failure: what was to be read is to blame, not the writing */
} wick_pack_report;
/* A record file of them, atomically; report may be NULL. What the files lack (a damaged one) is an error, and nothing
 * is written. docs/data.md has what lies in each record. With `append` they come behind the records of a file that
 * wick_files_pack made, which holds the same: files, or arrays of that dtype and those dims (WICK_ERR_SHAPE). Classes
 * are matched by their names, and have to be among the file's (WICK_ERR_INVALID); whether a file of that name is in it
 * already is not looked at. Whatever stops it leaves the file with the records it had: wick_records_append. */
WICK_API WICK_MUST_CHECK wick_status wick_files_pack(wick_files *files, const char *path,
                                                     const wick_pack_options *options, wick_pack_report *report);
/* Them as files of a new folder (arrays: as IDX, images-idx3-ubyte and labels-idx1-ubyte, whose labels are below 256),
 * or, where the path ends in .tar, as an archive. Whole or not at all: it is made under another name beside it. Names
 * that lead out of the folder are refused: WICK_ERR_FORMAT. WICK_ERR_INVALID: the path is there already. */
WICK_API WICK_MUST_CHECK wick_status wick_files_unpack(wick_files *files, const char *path,
                                                       const wick_pack_options *options, wick_pack_report *report);

#ifdef __cplusplus
}
#endif
#endif
