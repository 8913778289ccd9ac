/* wick/remote.h: files of other machines, by http://, https:// and s3://BUCKET/KEY, through a folder that keeps them.
 *
 *   wick_remote_open(ctx, &(wick_remote_options){.bytes = 4000000000}, &remote);
 *   wick_dataset_of_shard_stream(ctx, n, urls, &(wick_shard_stream_options){.remote = remote}, &set);
 *   ...
 *   wick_remote_free(&remote);                       // after what reads through it
 *
 * Where a function takes a URL (wick/files.h, the shards of wick/datasets.h) and no remote, it opens one with the
 * defaults for itself. A file is fetched whole, once: interrupted transfers go on where they stopped, as long as the
 * server says that the file is the same; the server is asked once a process whether what is kept is still what it has
 * (by its ETag), and what is kept is checked by its size and CRC-32C. libcurl is opened at run time:
 * WICK_ERR_UNSUPPORTED names it where it is missing.
 *
 * Of s3://BUCKET/KEY the server is AWS_ENDPOINT_URL (then ENDPOINT/BUCKET/KEY), or Amazon's of AWS_REGION
 * (AWS_DEFAULT_REGION; else us-east-1). Requests are signed (SigV4) with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
 * AWS_SESSION_TOKEN, or not at all where these are not set. */
#ifndef WICK_REMOTE_H
#define WICK_REMOTE_H

#include "wick/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_remote wick_remote;

typedef struct wick_remote_options {
    const char *folder; /* made if need be; NULL: WICK_CACHE, else XDG_CACHE_HOME/wick, else HOME/.cache/wick */
    /* The folder's files have at most so many bytes: the ones that were longest without use are deleted before a file
     * is fetched. Files that are open stay readable, and take disk space until they are closed. 0: WICK_CACHE_BYTES of
     * the environment, else 10^10 */
    uint64_t bytes;
    int attempts; /* of a file, before its error is one; 0: 8. Between them it waits 0.1, 0.2, 0.4 ... at most 10 s */
    double patience; /* seconds without a byte, after which an attempt ends; 0: 30 */
} wick_remote_options;

/* options may be NULL. WICK_ERR_IO: the folder cannot be made; WICK_ERR_INVALID: options, or WICK_CACHE_BYTES;
 * WICK_ERR_UNSUPPORTED; WICK_ERR_NOMEM. The context must outlive it. */
WICK_API WICK_MUST_CHECK wick_status wick_remote_open(wick_context *ctx, const wick_remote_options *options,
                                                      wick_remote **out);
WICK_API void wick_remote_free(wick_remote **remote); /* null-safe, nulls; ends what is being read ahead */
WICK_API bool wick_remote_is_url(const char *path);   /* http://, https:// or s3:// */
/* The file's path in the folder, fetched unless it is there. Any number of threads. Others that share the folder may
 * delete it once theirs needs room: open it at once. WICK_ERR_IO: the server, after all attempts, or the disk;
 * WICK_ERR_UNSUPPORTED: it is larger than the folder may be; WICK_ERR_INVALID: no URL, or the path has no room. */
WICK_API WICK_MUST_CHECK wick_status wick_remote_get(wick_remote *remote, const char *url, char *path, size_t size);
/* The file will be asked for soon: a thread of its own fetches it, one after the other. What fails is tried again when
 * it is asked for. Of more than 16 that wait the last ones are forgotten. */
WICK_API void wick_remote_ahead(wick_remote *remote, const char *url);

typedef struct wick_remote_stats {
    uint64_t files, hits; /* asked for; of these, kept already */
    uint64_t requests, retries;
    uint64_t received, evicted; /* bytes of contents */
} wick_remote_stats;
WICK_API void wick_remote_get_stats(const wick_remote *remote, wick_remote_stats *stats);
/* Of the calling thread's last call that failed. */
WICK_API const char *wick_remote_error(const wick_remote *remote);

#ifdef __cplusplus
}
#endif
#endif
