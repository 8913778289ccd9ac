#include "data/formats/squeeze.h"

#include <dlfcn.h>
#include <pthread.h>

#include "base/library.h"

/* What is used of lz4.h, lz4hc.h, zstd.h and zdict.h, whose interfaces are stable (zstd.h, "Stable API"; lz4.h,
 * "LZ4_VERSION"). */
typedef struct lz4_functions {
    int (*bound)(int size);
    int (*pack)(const char *from, char *to, int size, int room);
    int (*pack_hc)(const char *from, char *to, int size, int room, int level);
    int (*unpack)(const char *from, char *to, int packed, int room);
} lz4_functions;
typedef struct zstd_functions {
    size_t (*bound)(size_t size);
    unsigned (*is_error)(size_t code);
    const char *(*error)(size_t code);
    void *(*new_writer)(void);
    size_t (*free_writer)(void *);
    size_t (*pack)(void *writer, void *to, size_t room, const void *from, size_t size, int level);
    void *(*new_writing)(const void *dictionary, size_t size, int level);
    size_t (*free_writing)(void *);
    size_t (*pack_by)(void *writer, void *to, size_t room, const void *from, size_t size, const void *dictionary);
    void *(*new_reader)(void);
    size_t (*free_reader)(void *);
    size_t (*unpack)(void *reader, void *to, size_t room, const void *from, size_t size);
    void *(*new_reading)(const void *dictionary, size_t size);
    size_t (*free_reading)(void *);
    size_t (*unpack_by)(void *reader, void *to, size_t room, const void *from, size_t size, const void *dictionary);
} zstd_functions;

static const wick_library lz4 = {
    "compression by LZ4", "liblz4 (liblz4.so.1; Debian: liblz4-1)", {"liblz4.so.1", "liblz4.so", "liblz4.1.dylib"}};
static const wick_library zstd = {"compression by Zstandard",
                                  "libzstd (libzstd.so.1; Debian: libzstd1)",
                                  {"libzstd.so.1", "libzstd.so", "libzstd.1.dylib"}};

enum { READERS = 64, LZ4_MOST = 0x7E000000, LZ4_HC_FROM = 2 };

struct wick_squeezer {
    void *library;
    wick_compression compression;
    int level;
    lz4_functions lz4;
    zstd_functions zstd;
    void *writer, *writing, *reading; /* of Zstandard: a context, and the dictionary prepared for either way */
    pthread_mutex_t lock;
    void *readers[READERS]; /* contexts that no thread has */
    int idle;
};

static wick_status open_zstd(wick_squeezer *s, const wick_squeezer_options *o, const char *name, wick_msg *msg) {
    zstd_functions *f = &s->zstd;
    const wick_symbol symbols[] = {
        {"ZSTD_compressBound", &f->bound},
        {"ZSTD_isError", &f->is_error},
        {"ZSTD_getErrorName", &f->error},
        {"ZSTD_createCCtx", &f->new_writer},
        {"ZSTD_freeCCtx", &f->free_writer},
        {"ZSTD_compressCCtx", &f->pack},
        {"ZSTD_createCDict", &f->new_writing},
        {"ZSTD_freeCDict", &f->free_writing},
        {"ZSTD_compress_usingCDict", &f->pack_by},
        {"ZSTD_createDCtx", &f->new_reader},
        {"ZSTD_freeDCtx", &f->free_reader},
        {"ZSTD_decompressDCtx", &f->unpack},
        {"ZSTD_createDDict", &f->new_reading},
        {"ZSTD_freeDDict", &f->free_reading},
        {"ZSTD_decompress_usingDDict", &f->unpack_by},
    };
    WICK_TRY(wick_library_open(&s->library, &zstd, WICK_COUNTOF(symbols), symbols, name, msg));
    if (o->dictionary_bytes) {
        void **prepared = o->write ? &s->writing : &s->reading;
        *prepared = o->write ? f->new_writing(o->dictionary, o->dictionary_bytes, s->level)
                             : f->new_reading(o->dictionary, o->dictionary_bytes);
        if (!*prepared)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: the dictionary is damaged, or memory is out", name);
    }
    if (o->write && !(s->writer = f->new_writer())) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    return WICK_OK;
}

wick_status wick_squeezer_open(wick_squeezer **out, const wick_squeezer_options *o, const char *name, wick_msg *msg) {
    wick_squeezer *s = *out = wick_calloc(NULL, sizeof *s);
    if (!s) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    const wick_symbol symbols[] = {{"LZ4_compressBound", &s->lz4.bound},
                                   {"LZ4_compress_default", &s->lz4.pack},
                                   {"LZ4_compress_HC", &s->lz4.pack_hc},
                                   {"LZ4_decompress_safe", &s->lz4.unpack}};
    pthread_mutex_init(&s->lock, NULL);
    s->compression = o->compression;
    s->level = o->level;
    const wick_status status = o->compression == WICK_LZ4
                                   ? wick_library_open(&s->library, &lz4, WICK_COUNTOF(symbols), symbols, name, msg)
                                   : open_zstd(s, o, name, msg);
    if (status != WICK_OK) wick_squeezer_close(out);
    return status;
}

void wick_squeezer_close(wick_squeezer **slot) {
    wick_squeezer *s = *slot;
    if (!s) return;
    *slot = NULL;
    while (s->idle) s->zstd.free_reader(s->readers[--s->idle]);
    if (s->writer) s->zstd.free_writer(s->writer);
    if (s->writing) s->zstd.free_writing(s->writing);
    if (s->reading) s->zstd.free_reading(s->reading);
    if (s->library) dlclose(s->library);
    pthread_mutex_destroy(&s->lock);
    wick_release(NULL, s, sizeof *s);
}

size_t wick_squeezer_bound(const wick_squeezer *s, size_t size) {
    if (s->compression == WICK_LZ4) return size > LZ4_MOST ? 0 : (size_t)s->lz4.bound((int)size);
    const size_t bound = s->zstd.bound(size);
    return s->zstd.is_error(bound) ? 0 : bound;
}

wick_status wick_squeezer_pack(wick_squeezer *s, const void *from, size_t size, void *to, size_t room, size_t *packed,
                               const char *name, wick_msg *msg) {
    if (s->compression == WICK_LZ4) {
        const int most = (int)WICK_MIN(room, (size_t)INT32_MAX);
        const int n = s->level < LZ4_HC_FROM ? s->lz4.pack(from, to, (int)size, most)
                                             : s->lz4.pack_hc(from, to, (int)size, most, s->level);
        *packed = (size_t)WICK_MAX(n, 0);
        return n > 0 ? WICK_OK
                     : wick_msg_set(msg, WICK_ERR_INTERNAL, "%s: LZ4 could not compress %zu bytes", name, size);
    }
    const size_t n = s->writing ? s->zstd.pack_by(s->writer, to, room, from, size, s->writing)
                                : s->zstd.pack(s->writer, to, room, from, size, s->level);
    *packed = s->zstd.is_error(n) ? 0 : n;
    return s->zstd.is_error(n) ? wick_msg_set(msg, WICK_ERR_NOMEM, "%s: Zstandard could not compress %zu bytes: %s",
                                              name, size, s->zstd.error(n))
                               : WICK_OK;
}

static void *take_reader(wick_squeezer *s) {
    pthread_mutex_lock(&s->lock);
    void *reader = s->idle ? s->readers[--s->idle] : NULL;
    pthread_mutex_unlock(&s->lock);
    return reader ? reader : s->zstd.new_reader();
}
static void leave_reader(wick_squeezer *s, void *reader) {
    pthread_mutex_lock(&s->lock);
    if (s->idle < READERS) s->readers[s->idle++] = reader, reader = NULL;
    pthread_mutex_unlock(&s->lock);
    if (reader) s->zstd.free_reader(reader);
}

wick_status wick_squeezer_unpack(wick_squeezer *s, const void *from, size_t packed, void *to, size_t size,
                                 const char *name, wick_msg *msg) {
    size_t n;
    if (s->compression == WICK_LZ4) {
        if (packed > LZ4_MOST || size > LZ4_MOST)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %zu bytes for %zu, more than an LZ4 block can hold", name,
                                packed, size);
        const int got = s->lz4.unpack(from, to, (int)packed, (int)size);
        if (got < 0)
            return wick_msg_set(msg, WICK_ERR_FORMAT,
                                "%s: damaged LZ4 data, or more than the %zu bytes that are promised", name, size);
        n = (size_t)got;
    } else {
        void *reader = take_reader(s);
        if (!reader) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory in libzstd", name);
        n = s->reading ? s->zstd.unpack_by(reader, to, size, from, packed, s->reading)
                       : s->zstd.unpack(reader, to, size, from, packed);
        leave_reader(s, reader);
        if (s->zstd.is_error(n))
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged Zstandard data: %s", name, s->zstd.error(n));
    }
    return n == size
               ? WICK_OK
               : wick_msg_set(msg, WICK_ERR_FORMAT, "%s: unpacks to %zu bytes where %zu are promised", name, n, size);
}

uint64_t wick_squeezer_most(wick_compression compression, uint64_t packed) {
    uint64_t most;
    if (compression == WICK_STORED) return packed;
    if (compression == WICK_LZ4) return wick_mul_overflows(packed, (uint64_t)255, &most) ? UINT64_MAX : most;
    return wick_mul_overflows(packed, (uint64_t)WICK_ZSTD_RATIO_MAX, &most) ? UINT64_MAX : most;
}

wick_status wick_zstd_train(void *to, size_t *size, const void *samples, const size_t *sizes, size_t n,
                            const char *name, wick_msg *msg) {
    size_t (*train)(void *to, size_t room, const void *samples, const size_t *sizes, unsigned n);
    unsigned (*is_error)(size_t);
    const char *(*error)(size_t);
    const wick_symbol symbols[] = {
        {"ZDICT_trainFromBuffer", &train}, {"ZDICT_isError", &is_error}, {"ZDICT_getErrorName", &error}};
    void *library;
    WICK_TRY(wick_library_open(&library, &zstd, WICK_COUNTOF(symbols), symbols, name, msg));
    const size_t made = train(to, *size, samples, sizes, (unsigned)WICK_MIN(n, (size_t)INT32_MAX));
    wick_status status = WICK_OK;
    if (is_error(made))
        status = wick_msg_set(msg, WICK_ERR_INVALID, "%s: no dictionary could be made of %zu records: %s", name, n,
                              error(made));
    else *size = made;
    dlclose(library);
    return status;
}

/* ---- a stream ---------------------------------------------------------------------------------------------------- */

typedef struct zstd_input {
    const void *at;
    size_t size, pos;
} zstd_input;
typedef struct zstd_output {
    void *at;
    size_t size, pos;
} zstd_output;

struct wick_zstd {
    void *library, *stream;
    size_t (*read)(void *stream, zstd_output *out, zstd_input *in);
    size_t (*free)(void *stream);
    unsigned (*is_error)(size_t code);
    const char *(*error)(size_t code);
    zstd_input in;
    bool within; /* a frame that has not ended */
    uint64_t out;
    const char *name;
};

bool wick_zstd_is(const void *data, size_t size) { return size >= 4 && memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0; }

void wick_zstd_close(wick_zstd **slot) {
    wick_zstd *z = *slot;
    if (!z) return;
    *slot = NULL;
    if (z->stream) z->free(z->stream);
    if (z->library) dlclose(z->library);
    wick_release(NULL, z, sizeof *z);
}

wick_status wick_zstd_open(wick_zstd **out, const void *data, size_t size, const char *name, wick_msg *msg) {
    wick_zstd *z = *out = wick_calloc(NULL, sizeof *z);
    if (!z) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    void *(*new)(void);
    const wick_symbol symbols[] = {{"ZSTD_createDStream", &new},
                                   {"ZSTD_freeDStream", &z->free},
                                   {"ZSTD_decompressStream", &z->read},
                                   {"ZSTD_isError", &z->is_error},
                                   {"ZSTD_getErrorName", &z->error}};
    z->in = (zstd_input){data, size, 0};
    z->within = true;
    z->name = name;
    wick_status status = wick_library_open(&z->library, &zstd, WICK_COUNTOF(symbols), symbols, name, msg);
    if (status == WICK_OK && !(z->stream = new ()))
        status = wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory in libzstd", name);
    if (status != WICK_OK) wick_zstd_close(out);
    return status;
}

/* As many bytes as the stream still has, up to size; to NULL: they are skipped. */
static wick_status read_some(wick_zstd *z, uint8_t *to, size_t size, size_t *got, wick_msg *msg) {
    uint8_t skipped[4096];
    *got = 0;
    while (*got < size && (z->within || z->in.pos < z->in.size)) {
        zstd_output out = {to ? to + *got : skipped, WICK_MIN(size - *got, to ? SIZE_MAX : sizeof skipped), 0};
        const size_t before = z->in.pos, code = z->read(z->stream, &out, &z->in);
        *got += out.pos;
        z->out += out.pos;
        if (z->is_error(code))
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged Zstandard data near byte %zu: %s", z->name,
                                z->in.pos, z->error(code));
        z->within = code != 0;
        if (z->within && !out.pos && z->in.pos == before)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: the Zstandard data is cut off after %llu bytes of output",
                                z->name, (unsigned long long)z->out);
    }
    return WICK_OK;
}

wick_status wick_zstd_read(wick_zstd *z, void *to, size_t size, wick_msg *msg) {
    size_t got;
    WICK_TRY(read_some(z, to, size, &got, msg));
    return got == size ? WICK_OK
                       : wick_msg_set(msg, WICK_ERR_FORMAT, "%s: the Zstandard data ends after %llu bytes of output",
                                      z->name, (unsigned long long)z->out);
}

wick_status wick_zstd_drain(wick_zstd *z, wick_msg *msg) {
    size_t got;
    return read_some(z, NULL, SIZE_MAX, &got, msg);
}

wick_status wick_zstd_finish(wick_zstd *z, wick_msg *msg) {
    uint8_t extra;
    size_t got;
    WICK_TRY(read_some(z, &extra, 1, &got, msg));
    return got ? wick_msg_set(msg, WICK_ERR_FORMAT, "%s: the Zstandard data is longer than what it holds says", z->name)
               : WICK_OK;
}
