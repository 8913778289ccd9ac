/* pnm.c: PBM, PGM and PPM pictures, as text or as bytes, of up to 16 bits, read here (the formats are those of netpbm's
 * manual pages). The first one of a file. */
#include "data/formats/codecs.h"

typedef struct pnm {
    const uint8_t *at, *end;
    int kind;          /* 1 to 6: bits, grey and RGB as text, then as bytes */
    int64_t width, height;
    uint32_t most;     /* a sample's largest value: white */
} pnm;

static bool is_blank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_pnm(const uint8_t *data, size_t size) {
    return size >= 3 && data[0] == 'P' && data[1] >= '1' && data[1] <= '6' && (is_blank(data[2]) || data[2] == '#');
}

/* White space and comments, then a number; false: there is none, or it is above `most`. */
static bool read_number(pnm *p, uint32_t most, uint32_t *value) {
    while (p->at < p->end && (is_blank(*p->at) || *p->at == '#'))
        if (*p->at++ == '#')
            while (p->at < p->end && *p->at != '\n' && *p->at != '\r') p->at++;
    const uint8_t *begin = p->at;
    for (*value = 0; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++) {
        *value = *value * 10 + (uint32_t)(*p->at - '0');
        if (*value > most) return false;
    }
    return p->at > begin;
}

static int channels_of(const pnm *p) { return p->kind % 3 == 0 ? 3 : 1; }

static wick_status read_pnm(const uint8_t *data, size_t size, pnm *p, const char *name, wick_msg *msg) {
    uint32_t width, height;
    *p = (pnm){.at = data + 2, .end = data + size, .kind = data[1] - '0', .most = 1};
    const bool bits = p->kind == 1 || p->kind == 4;
    if (!read_number(p, WICK_PICTURE_PIXELS_MAX, &width) || !read_number(p, WICK_PICTURE_PIXELS_MAX, &height) ||
        (!bits && (!read_number(p, 65535, &p->most) || !p->most)))
        return wick_msg_set(msg, WICK_ERR_FORMAT,
                            "%s: damaged PNM: its header ends at byte %zu without width, height%s", name,
                            (size_t)(p->at - data), bits ? "" : " and a largest value of 1 to 65535");
    p->width = width, p->height = height;
    if (p->kind <= 3) return WICK_OK;
    if (p->at == p->end || !is_blank(*p->at))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged PNM: no white space behind its header", name);
    p->at++;
    const uint64_t row = p->kind == 4 ? ((uint64_t)width + 7) / 8
                                      : (uint64_t)width * (uint64_t)channels_of(p) * (p->most > 255 ? 2 : 1),
                   left = (uint64_t)(p->end - p->at);
    if (height && row > left / height)
        return wick_msg_set(msg, WICK_ERR_FORMAT,
                            "%s: damaged PNM: its %u rows of %llu bytes are cut off: %llu are left", name, height,
                            (unsigned long long)row, (unsigned long long)left);
    return WICK_OK;
}

static wick_status open_pnm(void **library, const char *name, wick_msg *msg) {
    (void)library, (void)name, (void)msg;
    return WICK_OK;
}
static void close_pnm(void **library) { *library = NULL; }

static wick_status pnm_header(void *library, const uint8_t *data, size_t size, wick_picture *picture, const char *name,
                              wick_msg *msg) {
    pnm p;
    (void)library;
    WICK_TRY(read_pnm(data, size, &p, name, msg));
    *picture = (wick_picture){.codec = picture->codec,
                              .channels = channels_of(&p),
                              .height = p.height,
                              .width = p.width,
                              .stride = channels_of(&p)};
    return WICK_OK;
}

/* The next sample; of bits 1 is black. Those as text need no space between them where they are bits. */
static bool read_sample(pnm *p, int64_t column, uint32_t *v) {
    switch (p->kind) {
    case 1:
        while (p->at < p->end && (is_blank(*p->at) || *p->at == '#'))
            if (*p->at++ == '#')
                while (p->at < p->end && *p->at != '\n' && *p->at != '\r') p->at++;
        if (p->at == p->end || (*p->at != '0' && *p->at != '1')) return false;
        *v = *p->at++ == '0';
        return true;
    case 4:
        *v = !(*p->at >> (7 - column % 8) & 1);
        if (column % 8 == 7 || column == p->width - 1) p->at++;
        return true;
    case 2:
    case 3: return read_number(p, p->most, v);
    default:
        *v = *p->at++;
        if (p->most > 255) *v = *v << 8 | *p->at++;
        return *v <= p->most;
    }
}

static wick_status decode_pnm(void *library, const uint8_t *data, size_t size, const wick_picture *picture,
                              uint8_t *out, const char *name, wick_msg *msg) {
    pnm p;
    (void)library;
    WICK_TRY(read_pnm(data, size, &p, name, msg));
    const int64_t each = channels_of(&p);
    if (p.height != picture->height || p.width != picture->width || each != picture->channels)
        return wick_msg_set(msg, WICK_ERR_INTERNAL, "%s: another picture than its header's", name);
    for (int64_t y = 0; y < p.height; y++)
        for (int64_t x = 0; x < p.width * each; x++) {
            uint32_t v;
            if (!read_sample(&p, x, &v))
                return wick_msg_set(msg, WICK_ERR_FORMAT,
                                    "%s: damaged PNM: no sample of 0 to %u at byte %zu, for row %lld", name, p.most,
                                    (size_t)(p.at - data), (long long)y);
            *out++ = (uint8_t)((v * 255 + p.most / 2) / p.most);
        }
    return WICK_OK;
}

const wick_codec wick_codec_pnm = {"PNM", WICK_PICTURE_RATIO_MAX, is_pnm, open_pnm, close_pnm, pnm_header, decode_pnm};
