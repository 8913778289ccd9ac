/* fuzz.h: what the fuzz targets share. A target is a function over the bytes of one file of a format, and a mutator
 * that knows the format, so that most of what it makes still opens and goes deep. targets.c lists them; libfuzzer.c
 * runs one with libFuzzer (clang), replay.c over files (any compiler).
 *
 *   bytes -> mutate: parsed, changed, written again with lengths and sums that fit -> run: opened, and everything done
 *   with it that users do */
#ifndef WICK_TESTS_FUZZ_H
#define WICK_TESTS_FUZZ_H

#include <stdlib.h>

#include "base/base.h"
#include "wick/wick.h"

/* ---- random numbers: what a mutator does follows from the seed --------------------------------------------------- */

typedef struct fuzz_random {
    uint64_t state;
} fuzz_random;
static inline uint64_t fuzz_next(fuzz_random *r) { /* splitmix64 */
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static inline size_t fuzz_below(fuzz_random *r, size_t n) { return n ? (size_t)(fuzz_next(r) % n) : 0; }
static inline bool fuzz_chance(fuzz_random *r, unsigned percent) { return fuzz_next(r) % 100 < percent; }
/* The one fault of a file that is made: 1..n, mostly none. */
static inline size_t fuzz_fault(fuzz_random *r, size_t n) { return fuzz_chance(r, 20) ? 1 + fuzz_below(r, n) : 0; }
#define FUZZ_PICK(r, table) ((table)[fuzz_below(r, WICK_COUNTOF(table))])
int64_t fuzz_integer(fuzz_random *r); /* at and beside the ends of every width, or small */
double fuzz_real(fuzz_random *r);     /* NaN, Inf, 0, huge, tiny, ordinary */

/* ---- targets ----------------------------------------------------------------------------------------------------- */

typedef struct fuzz_target {
    const char *name;
    /* 1: it was opened; 0: refused */
    int (*run)(const uint8_t *data, size_t size);
    size_t (*mutate)(uint8_t *data, size_t size, size_t max, fuzz_random *r); /* the new size; NULL: bytes alone */
} fuzz_target;
extern const fuzz_target fuzz_targets[];
extern const size_t fuzz_n_targets;
const fuzz_target *fuzz_find(const char *name); /* NULL: no such */

#define FUZZ_TARGET(name)  int fuzz_run_##name(const uint8_t *data, size_t size)
#define FUZZ_MUTATOR(name) size_t fuzz_mutate_##name(uint8_t *data, size_t size, size_t max, fuzz_random *r)
/* Every target, by its name. */
#define FUZZ_TARGETS(X)                                                                                                \
    X(onnx)                                                                                                            \
    X(external) X(value) X(safetensors) X(checkpoint) X(npy) X(npz) X(shards) X(json) X(image) X(idx) X(wav) X(tar)    \
        X(dataset) X(gzip) X(zstd) X(records) X(csv) X(webdataset)
#define FUZZ_DECLARE(name) FUZZ_TARGET(name); FUZZ_MUTATOR(name);
FUZZ_TARGETS(FUZZ_DECLARE)

/* Changes bytes with no idea of the format: libFuzzer's own mutator where there is one. */
extern size_t (*fuzz_bytes)(uint8_t *data, size_t size, size_t max);

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

wick_context *fuzz_context(void); /* made again now and then; one thread */
void fuzz_context_drop(void);
/* A folder that is removed at exit, and a file there with these bytes. */
const char *fuzz_folder(void);
const char *fuzz_file(const char *name, const uint8_t *data, size_t size);
/* Stops the program where the condition, a promise of the library, does not hold. */
#define FUZZ_PROMISE(condition) ((condition) ? (void)0 : fuzz_broken(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_broken(const char *what, const char *file, int line);
void fuzz_touch(const void *data, size_t size); /* reads every byte */

/* ---- bytes being written ----------------------------------------------------------------------------------------- */

typedef struct fuzz_buffer {
    uint8_t *at;
    size_t n, max;
    bool full; /* something did not fit: what was written is of no use */
} fuzz_buffer;
void fuzz_put(fuzz_buffer *b, const void *data, size_t n);
void fuzz_print(fuzz_buffer *b, const char *fmt, ...) WICK_PRINTF(2, 3);
void fuzz_fill(fuzz_buffer *b, size_t n, fuzz_random *r); /* some bytes */
void fuzz_little(fuzz_buffer *b, uint64_t v, int bytes); /* a number, its lowest byte first */
void fuzz_big(fuzz_buffer *b, uint64_t v, int bytes);
/* by zlib; bits: 15 with zlib's ends, WICK_Z_GZIP, WICK_Z_RAW */
void fuzz_deflate(fuzz_buffer *b, int bits, const void *data, size_t n);
size_t fuzz_make_npy(uint8_t *to, size_t max, fuzz_random *r); /* a whole file; 0: no room */
size_t fuzz_make_png(uint8_t *to, size_t max, fuzz_random *r);
/* Changes one token, member or element of a JSON text, or of a Python literal. */
size_t fuzz_json_text(char *text, size_t size, size_t max, fuzz_random *r);

#endif
