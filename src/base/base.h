/* base.h: layer 0. Messages, checked arithmetic, arena, hash, random numbers, clock, CPU features, OS calls.
 * Nothing here knows a tensor. Nothing here prints, exits or aborts. */
#ifndef WICK_BASE_BASE_H
#define WICK_BASE_BASE_H

#include <stdarg.h>
#include <string.h>

#include "wick/types.h"

#define WICK_LIKELY(x) __builtin_expect(!!(x), 1)
#define WICK_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WICK_MIN(a, b) ((a) < (b) ? (a) : (b))
#define WICK_MAX(a, b) ((a) > (b) ? (a) : (b))
#if defined(__SANITIZE_ADDRESS__)
#define WICK_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WICK_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef WICK_ADDRESS_SANITIZER
#define WICK_ADDRESS_SANITIZER 0
#endif
#define WICK_COUNTOF(a) (sizeof(a) / sizeof((a)[0]))
#define WICK_ALIGN_UP(n, a) (((n) + ((a)-1)) & ~((size_t)(a)-1))

/* Every buffer that kernels touch is aligned to this, and so are the parts of a plan's arena. */
#define WICK_ALIGN 64

/* Forwards a failure to the caller. */
#define WICK_TRY(call)                                     \
    do {                                                   \
        wick_status wick_try_ = (call);                    \
        if (WICK_UNLIKELY(wick_try_ != WICK_OK)) return wick_try_; \
    } while (0)

/* ---- message: the text of the last failure of one object --------------------------------------------------------- */

#define WICK_MSG_MAX 1024
typedef struct wick_msg {
    wick_status status;
    char text[WICK_MSG_MAX]; /* always terminated; "" when status is 0 */
} wick_msg;

/* Stores status and formatted text, and returns status. msg may be NULL. Text that does not fit ends in "...". */
wick_status wick_msg_set(wick_msg *msg, wick_status status, const char *fmt, ...) WICK_PRINTF(3, 4);
wick_status wick_msg_setv(wick_msg *msg, wick_status status, const char *fmt, va_list args);
/* Adds formatted text in front: "reading x.idx: " + what was there. Returns msg->status. */
wick_status wick_msg_prefix(wick_msg *msg, const char *fmt, ...) WICK_PRINTF(2, 3);

/* A bounded string builder: appends, never overflows, remembers that it was cut. */
typedef struct wick_str {
    char *at;
    size_t len, cap; /* len excludes the terminator; cap includes it */
    bool cut;
} wick_str;
static inline wick_str wick_str_on(char *buf, size_t cap) {
    wick_str s = {buf, 0, cap, false};
    if (cap) buf[0] = 0;
    return s;
}
void wick_str_add(wick_str *s, const char *fmt, ...) WICK_PRINTF(2, 3);

/* ---- checked arithmetic: true when the result does not fit ------------------------------------------------------- */

#define wick_add_overflows(a, b, out) __builtin_add_overflow((a), (b), (out))
#define wick_sub_overflows(a, b, out) __builtin_sub_overflow((a), (b), (out))
#define wick_mul_overflows(a, b, out) __builtin_mul_overflow((a), (b), (out))

static inline int64_t wick_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* The greatest common divisor; of 0 and 0 it is 0. Neither is INT64_MIN. */
static inline int64_t wick_common_divisor(int64_t a, int64_t b) {
    while (b) {
        const int64_t rest = a % b;
        a = b, b = rest;
    }
    return a < 0 ? -a : a;
}

/* ---- elements in memory: packed ones have no address of their own ------------------------------------------------ */

static inline bool wick_dtype_is_packed(int dtype) { return dtype >= WICK_I4 && dtype < WICK_DTYPE_COUNT; }
/* Element i as it lies in memory, in the low bits. */
uint64_t wick_element_get(wick_dtype dtype, const void *data, int64_t i);
/* The low bits of `bits` become element i. Of a packed dtype it clears those behind it in its byte: elements are put in
 * order. */
void wick_element_put(wick_dtype dtype, void *data, int64_t i, uint64_t bits);
/* Zeroes the bits behind the last of count elements. */
void wick_elements_end(wick_dtype dtype, void *data, int64_t count);

/* ---- allocation -------------------------------------------------------------------------------------------------- */

/* malloc-backed default; `a` may be NULL everywhere below to mean it. Never returns less than WICK_ALIGN alignment. */
const wick_allocator *wick_allocator_default(void);
/* size 0 gives a valid pointer. NULL when out of memory. */
void *wick_alloc(const wick_allocator *a, size_t size);
void *wick_calloc(const wick_allocator *a, size_t size);
void wick_release(const wick_allocator *a, void *ptr, size_t size); /* ptr may be NULL */
/* Of a large block only what is used will be used, here and there: no huge pages, so that the rest takes no memory. */
void wick_use_sparsely(void *ptr, size_t size);
/* What a large block holds is needed no more, but its memory may be: the system takes the pages if it is short of them.
 */
void wick_give_up(void *ptr, size_t size);
/* Grows an array (*ptr, *cap elements of elem bytes) to hold at least need; doubles. false: out of memory, unchanged.
 */
bool wick_grow(const wick_allocator *a, void **ptr, size_t *cap, size_t need, size_t elem);

/* ---- arena: bump allocation in chunks; freed at once ------------------------------------------------------------
 *
 *   chunk: [next|size| used .............. free ............ ]
 */
typedef struct wick_arena {
    const wick_allocator *alloc;
    struct wick_arena_chunk *chunk; /* newest first */
    size_t chunk_size;              /* of the next chunk */
    size_t bytes;                   /* held in all chunks */
} wick_arena;
void wick_arena_init(wick_arena *arena, const wick_allocator *alloc, size_t chunk_size);
void *wick_arena_alloc(wick_arena *arena, size_t size);  /* 16-byte aligned; uninitialised; NULL: out of memory */
void *wick_arena_zalloc(wick_arena *arena, size_t size); /* zeroed */
char *wick_arena_strdup(wick_arena *arena, const char *s);
void wick_arena_reset(wick_arena *arena); /* keeps the largest chunk */
void wick_arena_free(wick_arena *arena);

/* ---- hash -------------------------------------------------------------------------------------------------------- */

/* Whether all of the name matches the pattern, in which * is any text, ? any one byte, and | separates alternatives.
 * Time is at most the product of their lengths. */
bool wick_glob(const char *pattern, const char *name);

/* A fast 64-bit hash of bytes (not for hostile keys: a hit is always confirmed by comparing). */
uint64_t wick_hash(const void *data, size_t size, uint64_t seed);
/* CRC-32C (Castagnoli), start with crc 0; for checksums in files. Uses the CPU's instruction where present. */
uint32_t wick_crc32c(uint32_t crc, const void *data, size_t size);
/* CRC-32 of ISO 3309, as zip, gzip and PNG have it; start with 0. */
uint32_t wick_crc32(uint32_t crc, const void *data, size_t size);

/* ---- counter-based random numbers: Philox 4x32-10 (Salmon et al., SC 2011) --------------------------------------- */

void wick_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* ---- clock ------------------------------------------------------------------------------------------------------- */

uint64_t wick_now_ns(void); /* monotonic */

/* A watch over work whose length a stranger's file decides. Whoever does such work says how much it was, and stops
 * where that is false; who began it asks why. The clock, and the host, are asked only now and then, so that it may be
 * said in the innermost loop. */
typedef struct wick_watch {
    uint64_t deadline;          /* in wick_now_ns time; 0: none */
    bool (*cancel)(void *user); /* true: the host has enough. May be NULL */
    void *user;
    size_t work;      /* since the clock was looked at */
    wick_status over; /* WICK_OK, or for good WICK_ERR_DEADLINE or WICK_ERR_CANCELLED */
} wick_watch;
/* units from look to look; a unit is a few nanoseconds: a comparison, a byte that is changed */
enum { WICK_WATCH_WORK = 1 << 16 };
bool wick_watch_look(wick_watch *w);
static inline bool wick_watch_spend(wick_watch *w, size_t units) { /* w may be NULL: nobody watches */
    if (!w) return true;
    if (WICK_LIKELY(units < WICK_WATCH_WORK) && (w->work += units) < WICK_WATCH_WORK) return w->over == WICK_OK;
    return wick_watch_look(w);
}

/* ---- CPU --------------------------------------------------------------------------------------------------------- */

/* Kernel tiers, each a superset of the one before it. REF is the plain C oracle. */
typedef enum wick_tier {
    WICK_TIER_REF = 0, /* scalar C */
    WICK_TIER_BASE,    /* the architecture's baseline vectors (SSE2, NEON) */
    WICK_TIER_AVX2,    /* AVX2 + FMA + F16C */
    WICK_TIER_AVX512,  /* AVX-512 F/BW/CD/DQ/VL */
    WICK_TIER_COUNT
} wick_tier;
const char *wick_tier_name(wick_tier tier); /* "ref", "base", "avx2", "avx512" */
/* A build has the tiers of cmake's WICK_TIERS, base among them, and WICK_HAS_REF and so on say which. What a table has
 * for each of them:
 *     static const wick_x_table *const tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_x_table)};
 * of wick_x_table_ref ... */
#define WICK_TIER_ENTRIES(table)                                                                                       \
    WICK_IF_REF([WICK_TIER_REF] = table##_ref, )                                                                       \
    [WICK_TIER_BASE] = table##_base,                                                                                   \
   WICK_IF_AVX2([WICK_TIER_AVX2] = table##_avx2, ) WICK_IF_AVX512([WICK_TIER_AVX512] = table##_avx512, )
#ifdef WICK_HAS_REF
#define WICK_IF_REF(...) __VA_ARGS__
#else
#define WICK_IF_REF(...)
#endif
#ifdef WICK_HAS_AVX2
#define WICK_IF_AVX2(...) __VA_ARGS__
#else
#define WICK_IF_AVX2(...)
#endif
#ifdef WICK_HAS_AVX512
#define WICK_IF_AVX512(...) __VA_ARGS__
#else
#define WICK_IF_AVX512(...)
#endif
bool wick_tier_built(wick_tier tier);
/* The best tier that CPU and OS support and the build has. */
wick_tier wick_tier_best(void);
/* The tier in use: the best, or a lower one that WICK_ISA names (the next below it that the build has), or the one
 * forced by wick_tier_force. */
wick_tier wick_tier_current(void);
/* For tests and benches: false when the CPU cannot run it, or the build has it not. */
bool wick_tier_force(wick_tier tier);

/* Instructions that some machines of a tier have: kernels that use them are chosen within the tier, and give its bits.
 * Each has a row in cpu.c, with the name by which WICK_ISA leaves it out. */
typedef enum wick_extension {
    WICK_AVX512_VNNI = 1, /* vpdpbusd of 512 bits: tier avx512 */
    WICK_AVX_VNNI = 2,    /* of 256 bits, VEX: tier avx2 */
    WICK_AVX512_BF16 = 4, /* vdpbf16ps: tier avx512 */
    WICK_AMX = 8         /* tiles with products of bf16 and of bytes: tier avx512, once wick_amx_permitted */
} wick_extension;
unsigned wick_extensions(void); /* bits of those in use */
/* Whether the operating system lets this process use tiles, where there are any; asks it, once, the first time. All
 * threads and children may then. Without, tile instructions are illegal ones. */
bool wick_amx_permitted(void);
/* CPUs this process may use: affinity mask and cgroup v1/v2 quota (rounded up), at least 1. */
int wick_cpu_count(void);

/* Flush denormals to zero on this thread; returns the former control word for wick_fp_restore. */
uint64_t wick_fp_enter(void);
void wick_fp_restore(uint64_t word);

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* A file mapped for reading. An empty file maps as size 0 with data non-NULL. Folders, pipes and devices are refused,
 * without waiting for anything. */
typedef struct wick_map {
    const uint8_t *data;
    size_t size;
    bool mapped, copied;
} wick_map;
wick_status wick_map_open(wick_map *map, const char *path, wick_msg *msg);
/* The same, but the bytes are read into memory of their own: what another process does to the file later changes
 * nothing, and a file that becomes shorter meanwhile is an error, where a mapped one ends the process (SIGBUS). For
 * what is decoded at once, not for what stays open. */
wick_status wick_map_read(wick_map *map, const char *path, wick_msg *msg);
/* A regular file to read from, for wick_read_at and close(2); and its size. */
wick_status wick_file_open(int *fd, size_t *size, const char *path, wick_msg *msg);
/* n bytes from byte `at` on, however many reads that takes; fewer are an error. Any number of threads may. */
wick_status wick_read_at(int fd, uint64_t at, void *to, size_t n, const char *path, wick_msg *msg);
/* of an open file, which stays open; path is for messages */
wick_status wick_map_descriptor(wick_map *map, int fd, const char *path, wick_msg *msg);
void wick_map_close(wick_map *map);
/* A descriptor of the folder that the file lies in, for close(2); -1: errno says why. */
int wick_folder_of(const char *path);
/* A file in that folder or below it, which another file names: no part of the path is "..", or a link, and the file has
 * no second name. */
wick_status wick_map_beneath(wick_map *map, int folder, const char *path, wick_msg *msg);

/* The name of a file in the making: "<name>.tmp-<pid>-<n>", another n for each call of this process; `to` has room for
 * name and WICK_TEMP_SUFFIX. A process of another container may have the same number, so whoever makes something of
 * that name does it exclusively, and asks for the next name where one is there. */
enum { WICK_TEMP_SUFFIX = 48 };
void wick_temp_name(char *to, const char *name);
/* A new file of such a name in the folder, to write to; -1: errno says why. */
int wick_temp_create(int folder, const char *name, char *temp);

/* Atomic writer: "<path>.tmp-<pid>-<n>" beside the target; commit is write-out, fsync, rename, fsync of the folder.
 * Until commit succeeds the old file is untouched; abort (or a failed commit) removes the temporary. Messages name
 * path. */
typedef struct wick_writer wick_writer;
wick_status wick_writer_open(wick_writer **out, const char *path, wick_msg *msg);
wick_status wick_writer_write(wick_writer *w, const void *data, size_t size, wick_msg *msg);
wick_status wick_writer_commit(wick_writer **w, wick_msg *msg); /* frees and nulls in every case */
void wick_writer_abort(wick_writer **w);                        /* null-safe */
/* Everything written so far reaches the disk before these bytes, which replace what was written `at` bytes from the
 * file's beginning. */
wick_status wick_writer_patch(wick_writer *w, uint64_t at, const void *data, size_t size, wick_msg *msg);
/* A file that grows in place, which one writer at a time may: *map is what it has now, for wick_map_close. What is
 * written goes behind `keep` bytes of it, once wick_writer_keep has cut off the rest; commit writes out and syncs,
 * abort cuts the file to those bytes again. WICK_ERR_BUSY: another writer has it. */
wick_status wick_writer_extend(wick_writer **out, const char *path, wick_map *map, wick_msg *msg);
wick_status wick_writer_keep(wick_writer *w, uint64_t keep, wick_msg *msg);

#endif
