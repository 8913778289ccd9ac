/* data.c: files of data sets: pictures, IDX, WAV, tar, gzip. Mutators know chunks, headers, checksums; compressed data are written anew as stored
 * blocks, which need no compressor. */
#include <stdio.h>

#include "base/inflate.h"
#include "data/gzip.h"
#include "data/idx.h"
#include "data/tar.h"
#include "fuzz.h"

static void little(uint8_t *at, uint64_t v, int n) {
    for (int i = 0; i < n; i++) at[i] = (uint8_t)(v >> 8 * i);
}
static void big(uint8_t *at, uint64_t v, int n) {
    for (int i = n; i--; v >>= 8) at[i] = (uint8_t)v;
}
static uint64_t read_big(const uint8_t *at, int n) {
    uint64_t v = 0;
    for (int i = 0; i < n; i++) v = v << 8 | at[i];
    return v;
}

/* ---- gzip --------------------------------------------------------------------------------------------------------------------------------- */

FUZZ_TARGET(gzip) {
    wick_gzip *g;
    wick_msg msg = {0};
    if (!wick_gzip_is(data, size) || wick_gzip_open(&g, data, size, "file", &msg) != WICK_OK) return 0;
    uint8_t buffer[2];
    wick_status status = size % 2 ? wick_gzip_read(g, buffer, sizeof buffer, &msg) : WICK_OK;
    if (status == WICK_OK) status = wick_gzip_drain(g, &msg);
    if (status == WICK_OK) status = wick_gzip_finish(g, &msg);
    FUZZ_PROMISE(status == WICK_OK || strstr(msg.text, "file"));
    wick_gzip_close(&g);
    return status == WICK_OK;
}

/* A member around these bytes; the sum is wrong now and then. 0: no room. */
static size_t gzip_of(const uint8_t *plain, size_t n, uint8_t *to, size_t max, fuzz_random *r) {
    static const uint8_t head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    fuzz_buffer b = {to, 0, max, n > 65535};
    uint8_t block[5] = {1}, tail[8];
    little(block + 1, n, 2), little(block + 3, ~n, 2);
    little(tail, fuzz_crc32(0, plain, n) ^ (fuzz_chance(r, 5) ? 1 : 0), 4), little(tail + 4, n, 4);
    fuzz_put(&b, head, sizeof head);
    fuzz_put(&b, block, sizeof block);
    fuzz_put(&b, plain, n);
    fuzz_put(&b, tail, sizeof tail);
    return b.full ? 0 : b.n;
}
/* What is inside, at most `most` bytes of it. */
static size_t gunzip(const uint8_t *data, size_t size, uint8_t *to, size_t most) {
    wick_gzip *g;
    wick_msg msg;
    size_t n = 0;
    if (!wick_gzip_is(data, size) || wick_gzip_open(&g, data, size, "", &msg) != WICK_OK) return 0;
    while (n < most && wick_gzip_read(g, to + n, 1, &msg) == WICK_OK) n++;
    wick_gzip_close(&g);
    return n;
}
/* The plain contents changed by fn. */
static size_t change_inside(uint8_t *data, size_t size, size_t max, fuzz_random *r, size_t (*fn)(uint8_t *, size_t, size_t, fuzz_random *)) {
    static uint8_t plain[1 << 15], out[1 << 16];
    size_t n = gunzip(data, size, plain, sizeof plain / 2);
    if (!n) return fuzz_bytes(data, size, max);
    n = fn ? fn(plain, n, sizeof plain, r) : fuzz_bytes(plain, n, sizeof plain);
    n = gzip_of(plain, n, out, WICK_MIN(max, sizeof out), r);
    if (n) memcpy(data, out, n);
    return n ? n : size;
}
FUZZ_MUTATOR(gzip) { return fuzz_chance(r, 40) ? fuzz_bytes(data, size, max) : change_inside(data, size, max, r, NULL); }

/* ---- tar ------------------------------------------------------------------------------------------------------------------------------------ */

FUZZ_TARGET(tar) {
    wick_tar t;
    wick_msg msg = {0};
    bool more;
    wick_status status = wick_tar_open(&t, data, size, "file", &msg);
    if (status != WICK_OK) return 0;
    int files = 0;
    while ((status = wick_tar_next(&t, &more, &msg)) == WICK_OK && more) {
        FUZZ_PROMISE(strlen(t.name) < WICK_TAR_NAME_MAX && t.size <= size * WICK_DEFLATE_RATIO_MAX);
        if (t.size > 1 << 20 || files++ % 3 == 2) continue; /* unread ones are passed over */
        uint8_t *to = malloc(t.size + 1);
        if (to && (status = wick_tar_read(&t, to, &msg)) == WICK_OK) fuzz_touch(to, t.size);
        free(to);
        if (status != WICK_OK) break;
    }
    FUZZ_PROMISE(status == WICK_OK || strstr(msg.text, "file"));
    wick_tar_close(&t);
    return status == WICK_OK;
}

/* One header's field, with the sum made right again; or a file more. */
static size_t change_tar(uint8_t *data, size_t size, size_t max, fuzz_random *r) {
    enum { BLOCK = 512 };
    static const char types[] = "005LxgKD12";
    static const char *const sizes[] = {"00000000000", "00000000001", "00000000777", "00000001000", "00000001001", "77777777777", "-0000000001", "        10 "};
    static const char *const pax[] = {"12 path=a/b\n", "10 size=1\n", "27 size=99999999999999999999\n", "99 path=x\n", "5 a=\n", "0 a=b\n", "30 path=0123456789012345678901\n"};
    if (size < BLOCK) return fuzz_bytes(data, size, max);
    uint8_t *h = data + BLOCK * fuzz_below(r, size / BLOCK);
    switch (fuzz_below(r, 7)) {
    case 0: h[156] = (uint8_t)types[fuzz_below(r, sizeof types - 1)]; break;
    case 1: memcpy(h + 124, sizes[fuzz_below(r, WICK_COUNTOF(sizes))], 12); break;
    case 2: h[124] = 0x80, big(h + 125, (uint64_t)fuzz_integer(r), 11); break;
    case 3: memset(h + (fuzz_chance(r, 50) ? 0 : 345), 'a', 100); break;
    case 4: { /* a pax header with its records in front of this one */
        const char *text = pax[fuzz_below(r, WICK_COUNTOF(pax))];
        if (size + 2 * BLOCK > max) break;
        memmove(h + 2 * BLOCK, h, size - (size_t)(h - data));
        size += 2 * BLOCK;
        h[156] = fuzz_chance(r, 70) ? 'x' : 'L';
        snprintf((char *)h + 124, 12, "%011o", (unsigned)strlen(text));
        memset(h + BLOCK, 0, BLOCK);
        memcpy(h + BLOCK, text, strlen(text));
        break;
    }
    case 5: h[fuzz_below(r, BLOCK)] ^= (uint8_t)(1u << fuzz_below(r, 8)); break;
    default: return fuzz_chance(r, 50) ? size - BLOCK * fuzz_below(r, size / BLOCK) : fuzz_bytes(data, size, max);
    }
    unsigned sum = 0;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++) sum += h[i];
    snprintf((char *)h + 148, 8, "%06o", sum);
    return size;
}
FUZZ_MUTATOR(tar) { return wick_gzip_is(data, size) ? change_inside(data, size, max, r, change_tar) : change_tar(data, size, max, r); }

/* ---- IDX ------------------------------------------------------------------------------------------------------------------------------------ */

FUZZ_TARGET(idx) {
    wick_idx idx;
    wick_msg msg = {0};
    const bool good = wick_idx_parse(&idx, data, size, "file", NULL, &msg) == WICK_OK;
    if (good) {
        FUZZ_PROMISE(idx.rank >= 1 && idx.rank <= WICK_MAX_DIMS);
        fuzz_touch(idx.data, idx.bytes);
    } else FUZZ_PROMISE(strstr(msg.text, "file"));
    wick_idx_free(&idx);
    return good;
}
static size_t change_idx(uint8_t *data, size_t size, size_t max, fuzz_random *r) {
    static const uint8_t types[] = {8, 9, 11, 12, 13, 14, 0, 10};
    static const uint8_t widths[] = {1, 1, 2, 4, 4, 8, 1, 1};
    if (size < 4 || fuzz_chance(r, 10)) return fuzz_bytes(data, size, max);
    const size_t type = fuzz_below(r, 8), rank = fuzz_below(r, 10);
    if (4 + 4 * rank > max) return size;
    data[0] = data[1] = 0, data[2] = types[type], data[3] = (uint8_t)rank;
    size_t bytes = widths[type];
    for (size_t i = 0; i < rank; i++) {
        const uint64_t extent = fuzz_chance(r, 10) ? (uint64_t)fuzz_integer(r) & UINT32_MAX : 1 + fuzz_below(r, 4);
        big(data + 4 + 4 * i, extent, 4);
        bytes *= WICK_MIN(extent, 64);
    }
    const size_t now = 4 + 4 * rank + bytes;
    if (now > max) return size;
    for (size_t i = size; i < now; i++) data[i] = (uint8_t)i;
    return now;
}
FUZZ_MUTATOR(idx) { return wick_gzip_is(data, size) ? change_inside(data, size, max, r, change_idx) : change_idx(data, size, max, r); }

/* ---- WAV ------------------------------------------------------------------------------------------------------------------------------------ */

FUZZ_TARGET(wav) {
    wick_context *ctx = fuzz_context();
    wick_audio *audio;
    if (wick_audio_decode(ctx, data, size, "file", (int64_t)(size % 3 ? 0 : 1), &audio) != WICK_OK) {
        FUZZ_PROMISE(strstr(wick_context_error(ctx), "file"));
        return 0;
    }
    const int64_t channels = wick_audio_channels(audio), length = wick_audio_length(audio);
    for (int64_t i = 0; i < channels; i++) fuzz_touch(wick_audio_samples(audio, i), (size_t)length * sizeof(float));
    wick_audio_free(&audio);
    return 1;
}
/* A chunk of a RIFF file: of its own length, mostly. */
FUZZ_MUTATOR(wav) {
    if (size < 44 || fuzz_chance(r, 15)) return fuzz_bytes(data, size, max);
    size_t at[16], n = 0;
    for (size_t i = 12; i + 8 <= size && n < 16;) {
        at[n++] = i;
        const size_t length = data[i + 4] | (size_t)data[i + 5] << 8 | (size_t)data[i + 6] << 16 | (size_t)data[i + 7] << 24;
        if (length > size - i - 8) break;
        i += 8 + length + (length & 1);
    }
    uint8_t *c = data + at[fuzz_below(r, n)];
    const size_t left = size - (size_t)(c - data);
    switch (fuzz_below(r, 6)) {
    case 0: little(c + 4, (uint64_t)fuzz_integer(r), 4); break;
    case 1: /* format: 1 PCM, 3 float, 6 A-law, -2 extensible */
    case 2: {
        static const int formats[] = {1, 1, 3, 3, 6, -2, 0}, bits[] = {8, 16, 24, 32, 64, 0, 12, 65535}, counts[] = {1, 1, 2, 3, 0, 65535};
        uint8_t *f = data + at[0] + 8;
        if (size < at[0] + 24) break;
        const int b = bits[fuzz_below(r, 8)], k = counts[fuzz_below(r, 6)];
        little(f, (uint64_t)formats[fuzz_below(r, 7)], 2), little(f + 2, (uint64_t)k, 2), little(f + 14, (uint64_t)b, 2);
        if (fuzz_chance(r, 80)) little(f + 12, (uint64_t)(b / 8 * k), 2);
        if (fuzz_chance(r, 20)) little(f + 4, (uint64_t)fuzz_integer(r), 4);
        break;
    }
    case 3: /* a chunk more in front */
        if (size + 12 > max) break;
        memmove(c + 12, c, left);
        memcpy(c, "LIST\4\0\0\0abcd", 12);
        return size + 12;
    case 4: memcpy(c, fuzz_chance(r, 50) ? "data" : "fmt ", 4); break;
    default: return size - fuzz_below(r, left);
    }
    return size;
}

/* ---- pictures --------------------------------------------------------------------------------------------------------------------------------- */

FUZZ_TARGET(image) {
    wick_context *ctx = fuzz_context();
    wick_image *image, *small;
    if (wick_image_decode(ctx, data, size, "file", size % 4 == 0 ? 1 : size % 4 == 1 ? 3 : 0, &image) != WICK_OK) {
        FUZZ_PROMISE(strstr(wick_context_error(ctx), "file"));
        return 0;
    }
    const int64_t *dims = wick_image_dims(image);
    for (int64_t i = 0; i < wick_image_count(image); i++) fuzz_touch(wick_image_pixels(image, i), (size_t)(dims[0] * dims[1] * dims[2]));
    if (dims[1] * dims[2] < 1 << 16 && wick_image_resize(ctx, image, 3, 5, &small) == WICK_OK) wick_image_free(&small);
    wick_image_free(&image);
    return 1;
}

/* A chunk of a PNG file, with its sum made right. */
static size_t change_png(uint8_t *data, size_t size, size_t max, fuzz_random *r) {
    size_t at[32], n = 0;
    for (size_t i = 8; i + 12 <= size && n < 32;) {
        const size_t length = (size_t)read_big(data + i, 4);
        if (length > size - i - 12) break;
        at[n++] = i;
        i += 12 + length;
    }
    if (!n) return fuzz_bytes(data, size, max);
    const size_t k = fuzz_below(r, n);
    uint8_t *c = data + at[k];
    size_t length = (size_t)read_big(c, 4);
    switch (fuzz_below(r, 5)) {
    case 0: { /* the header: sides, depth, colours */
        static const uint8_t depths[] = {1, 2, 4, 8, 16, 3, 0}, colours[] = {0, 2, 3, 4, 6, 1, 7};
        c = data + at[0], length = (size_t)read_big(c, 4);
        if (length < 13) break;
        if (fuzz_chance(r, 40)) big(c + 8 + 4 * fuzz_below(r, 2), fuzz_chance(r, 50) ? 1 + fuzz_below(r, 9) : (uint64_t)fuzz_integer(r) & UINT32_MAX, 4);
        if (fuzz_chance(r, 40)) c[16] = depths[fuzz_below(r, 7)];
        if (fuzz_chance(r, 40)) c[17] = colours[fuzz_below(r, 7)];
        if (fuzz_chance(r, 20)) c[20] ^= 1;
        break;
    }
    case 1: /* again */
        if (size + 12 + length > max) break;
        memmove(c + 12 + length, c, size - at[k]);
        return size + 12 + length;
    case 2: /* not at all */
        memmove(c, c + 12 + length, size - at[k] - 12 - length);
        return size - 12 - length;
    case 3: memcpy(c + 4, (const char *[]){"tRNS", "PLTE", "IDAT", "IEND", "gAMA", "sPLT"}[fuzz_below(r, 6)], 4); break;
    default:
        if (length) c[8 + fuzz_below(r, length)] = (uint8_t)fuzz_next(r);
    }
    big(c + 8 + length, fuzz_crc32(0, c + 4, length + 4), 4);
    return size;
}
/* A marker of a JPEG file. */
static size_t change_jpeg(uint8_t *data, size_t size, size_t max, fuzz_random *r) {
    size_t at = 2;
    for (size_t steps = fuzz_below(r, 12); steps-- && at + 4 < size && data[at] == 0xff && data[at + 1] != 0xda;)
        at += 2 + (size_t)read_big(data + at + 2, 2);
    if (at + 12 >= size || fuzz_chance(r, 30)) return fuzz_bytes(data, size, max);
    uint8_t *m = data + at;
    switch (fuzz_below(r, 3)) {
    case 0: m[1] = (uint8_t)(0xc0 + fuzz_below(r, 32)); break;
    case 1: big(m + 2, (uint64_t)fuzz_below(r, 300), 2); break;
    default: m[4 + fuzz_below(r, 8)] = (uint8_t)fuzz_below(r, fuzz_chance(r, 50) ? 4 : 256);
    }
    return size;
}
FUZZ_MUTATOR(image) {
    for (size_t n = 1 + fuzz_below(r, 2); n--;) {
        if (size > 8 && data[0] == 0x89) size = change_png(data, size, max, r);
        else if (size > 8 && data[0] == 0xff) size = change_jpeg(data, size, max, r);
        else size = fuzz_mutate_idx(data, size, max, r);
    }
    return size;
}
