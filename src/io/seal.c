/* seal.c: the checksum of a whole safetensors file. */
#include "io/seal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool wick_seal_number(const char *text, unsigned base, uint64_t *value) {
    *value = 0;
    if (!text || !*text) return false;
    for (; *text; text++) {
        const unsigned digit = *text >= '0' && *text <= '9'   ? (unsigned)(*text - '0')
                               : *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a') + 10
                                                              : base;
        if (digit >= base || wick_mul_overflows(*value, (uint64_t)base, value) ||
            wick_add_overflows(*value, (uint64_t)digit, value))
            return false;
    }
    return true;
}

uint32_t wick_seal_crc(const wick_safetensors_tensor *const *by_name, size_t count, const wick_safetensors_meta *meta,
                       size_t meta_count) {
    uint32_t crc = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        const wick_safetensors_tensor *t = by_name[i];
        const char *dtype = wick_safetensors_dtype_name(t->dtype);
        crc = wick_crc32c(crc, t->name, strlen(t->name) + 1);
        crc = wick_crc32c(crc, dtype, strlen(dtype) + 1);
        crc = wick_crc32c(crc, t->dims, (size_t)t->rank * sizeof *t->dims);
        size_t bytes = 0;
        if (!wick_safetensors_bytes(t->dtype, t->rank, t->dims, &bytes) || !bytes) continue;
        const void *data = wick_safetensors_data(t);
        if (data) crc = wick_crc32c(crc, data, bytes); /* else the writer will say it */
    }
    if (!meta) return crc;
    for (size_t i = 0; i < meta_count; i++) {
        if (strcmp(meta[i].key, WICK_META_CRC) == 0) continue;
        const uint32_t key = wick_crc32c(0, meta[i].key, strlen(meta[i].key) + 1);
        sum += wick_crc32c(key, meta[i].value, strlen(meta[i].value) + 1);
    }
    const uint8_t end[4] = {(uint8_t)sum, (uint8_t)(sum >> 8), (uint8_t)(sum >> 16), (uint8_t)(sum >> 24)};
    return wick_crc32c(crc, end, sizeof end);
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

/* Outside of strings no white space but blanks, and within no \u with digits in upper case: so no byte can change
 * without changing what the header says. */
static bool is_plain(const uint8_t *header, size_t n) {
    bool in_text = false;
    for (size_t i = 0; i < n; i++) {
        const uint8_t c = header[i];
        if (!in_text && (c == '\t' || c == '\n' || c == '\r')) return false;
        if (c == '"') in_text = !in_text;
        if (!in_text || c != '\\') continue;
        if (header[++i] != 'u') continue; /* the header was read: an escape is whole */
        for (int k = 0; k < 4; k++)
            if (header[++i] >= 'A' && header[i] <= 'F') return false;
    }
    return true;
}

static wick_status damaged(wick_msg *msg, const char *path, const char *why) {
    return wick_msg_set(msg, WICK_ERR_FORMAT,
                        "%s: damaged, or another program changed it: %s; without the metadata " WICK_META_FORMAT
                        " and " WICK_META_CRC " it is taken for another program's",
                        path, why);
}

wick_status wick_seal_check(const wick_safetensors *f, const char *path, wick_msg *msg) {
    const char *text = wick_safetensors_get_meta(f, WICK_META_FORMAT),
               *crc = wick_safetensors_get_meta(f, WICK_META_CRC);
    uint64_t format = WICK_CHECKPOINT_FORMAT, should;
    if (text && (!wick_seal_number(text, 10, &format) || format < 1))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: " WICK_META_FORMAT " is no version", path);
    if (format > WICK_CHECKPOINT_FORMAT)
        return wick_msg_set(msg, WICK_ERR_VERSION, "%s: a checkpoint of format %" PRIu64 "; this Wick reads up to %d",
                            path, format, WICK_CHECKPOINT_FORMAT);
    if (!crc && text && format > 1) return damaged(msg, path, WICK_META_CRC " is missing");
    if (!crc) return WICK_OK;
    if (!wick_seal_number(crc, 16, &should) || strlen(crc) != 8)
        return damaged(msg, path, WICK_META_CRC " is no checksum");
    if (format > 1 && !is_plain(f->header, f->header_bytes))
        return damaged(msg, path, "its header has white space that is no blank, or escapes in upper case");
    const uint32_t is = wick_seal_crc(f->by_name, f->count, format > 1 ? f->meta : NULL, f->meta_count);
    if (is == should) return WICK_OK;
    char why[80];
    snprintf(why, sizeof why, "its checksum is %08" PRIx32 ", and should be %08" PRIx64, is, should);
    return damaged(msg, path, why);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

wick_status wick_seal_write(const char *path, const wick_safetensors_tensor *tensors, size_t count,
                            const wick_safetensors_meta *meta, size_t meta_count, wick_msg *msg) {
    char format[16], crc[16] = "";
    const size_t names = (count + 1) * sizeof(void *), metas = (meta_count + 1) * sizeof *meta;
    const wick_safetensors_tensor **by_name = wick_alloc(NULL, names);
    wick_safetensors_meta *all = wick_alloc(NULL, metas);
    size_t n = 0;
    wick_status status = by_name && all ? WICK_OK : wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    if (status == WICK_OK) {
        all[n++] = (wick_safetensors_meta){WICK_META_CRC, crc};
        for (size_t i = 0; i < meta_count; i++)
            if (strcmp(meta[i].key, WICK_META_CRC) != 0)
                all[n++] = (wick_safetensors_meta){meta[i].key,
                                                   strcmp(meta[i].key, WICK_META_FORMAT) ? meta[i].value : format};
        for (size_t i = 0; i < count; i++) by_name[i] = &tensors[i];
        qsort(by_name, count, sizeof *by_name, wick_safetensors_by_name);
        snprintf(format, sizeof format, "%d", WICK_CHECKPOINT_FORMAT);
        snprintf(crc, sizeof crc, "%08" PRIx32, wick_seal_crc(by_name, count, all, n));
        status = wick_safetensors_write(path, tensors, count, all, n, msg);
    }
    wick_release(NULL, all, metas);
    wick_release(NULL, by_name, names);
    return status;
}
