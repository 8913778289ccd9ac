#include "object_size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ELF: Tool Interface Standard, version 1.2, and the 64-bit form of System V's ABI. */
enum { SECTION_NOBITS = 8, FLAG_WRITE = 1, FLAG_ALLOC = 2, FLAG_CODE = 4 };

static uint64_t number(const uint8_t *p, int bytes) {
    uint64_t x = 0;
    while (bytes-- > 0) x = x << 8 | p[bytes];
    return x;
}

bool object_size_read(const uint8_t *data, size_t size, object_size *out) {
    *out = (object_size){0};
    if (size < 64 || memcmp(data, "\x7f" "ELF", 4) != 0 || data[4] < 1 || data[4] > 2 || data[5] != 1) return false;
    const bool wide = data[4] == 2;
    const uint64_t table = wide ? number(data + 40, 8) : number(data + 32, 4),
                   each = number(data + (wide ? 58 : 46), 2), count = number(data + (wide ? 60 : 48), 2);
    if (each < (wide ? 64u : 40u) || table > size || count > (size - table) / each) return false;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *s = data + table + i * each;
        const uint64_t type = number(s + 4, 4), flags = wide ? number(s + 8, 8) : number(s + 8, 4);
        const int64_t bytes = (int64_t)(wide ? number(s + 32, 8) : number(s + 20, 4));
        if (!(flags & FLAG_ALLOC) || bytes < 0) continue;
        if (type == SECTION_NOBITS || flags & FLAG_WRITE)
            out->ram += bytes;
        else if (flags & FLAG_CODE)
            out->code += bytes;
        else
            out->constant += bytes;
    }
    return true;
}

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    long end = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    uint8_t *data = end >= 0 ? malloc((size_t)end + 1) : NULL;
    if (data && (fseek(f, 0, SEEK_SET) != 0 || fread(data, 1, (size_t)end, f) != (size_t)end)) free(data), data = NULL;
    if (f) fclose(f);
    *size = data ? (size_t)end : 0;
    return data;
}

/* In single quotes, for a shell. */
static void quoted(FILE *out, const char *text) {
    fputc('\'', out);
    for (; *text; text++) fputs(*text == '\'' ? "'\\''" : (const char[]){*text, 0}, out);
    fputc('\'', out);
}

bool object_size_compiled(const char *cc, const char *source, object_size *out) {
    char *object = NULL, *command = NULL;
    size_t length, size = 0;
    /* Not beside the source: who is killed here would leave it there. */
    const char *folder = getenv("TMPDIR");
    if (asprintf(&object, "%s/wick-XXXXXX.o", folder && *folder ? folder : "/tmp") < 0) return false;
    const int file = mkstemps(object, 2);
    if (file < 0) return free(object), false;
    close(file);
    FILE *text = open_memstream(&command, &length);
    if (text) {
        fprintf(text, "%s -std=c11 -c ", cc);
        quoted(text, source);
        fputs(" -o ", text);
        quoted(text, object);
        fputs(" >/dev/null 2>&1", text);
    }
    bool good = text && fclose(text) == 0 && system(command) == 0;
    uint8_t *data = good ? read_file(object, &size) : NULL;
    good = data && object_size_read(data, size, out);
    unlink(object);
    free(data);
    free(command);
    free(object);
    return good;
}
