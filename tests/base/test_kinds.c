/* What a file is, by its first bytes. */
#include "test.h"
#include "wick/kinds.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *head;
    size_t size;
    const char *format; /* NULL: they don't tell */
} rows[] = {
#define ROW(head, format) {head, sizeof head - 1, format}
    ROW("\x89PNG\r\n\x1a\n", "png"),
    ROW("\xff\xd8\xff\xe0", "jpeg"),
    ROW("RIFF\x10\0\0\0WEBPVP8 ", "webp"),
    ROW("RIFF\x10\0\0\0WAVEfmt ", "wav"),
    ROW("RIFF\x10\0\0\0AVI LIST", "avi"),
    ROW("RF64\xff\xff\xff\xffWAVE", "rf64"),
    ROW("BM\x42\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0", "bmp"),
    ROW("BMW is a text", "text"),
    ROW("GIF89a\1\0\1\0\0", "gif"),
    ROW("II*\0\x08\0\0\0", "tiff"),
    ROW("MM\0*\0\0\0\x08", "tiff"),
    ROW("MM\0+\0\x08\0\0", "tiff"),
    ROW("P6\n2 2\n255\n\1\2\3", "pnm"),
    ROW("P1 1 1 1\n", "pnm"),
    ROW("P3#a comment\n1 1 255 0 0 0", "pnm"),
    ROW("P7\nWIDTH 2", "pam"),
    ROW("P8\n", "text"),
    ROW("\0\0\0\x0cjP  \r\n\x87\n", "jp2"),
    ROW("\xff\x4f\xff\x51\0", "jp2"),
    ROW("\0\0\0\x18" "ftypheic\0\0\0\0", "heic"),
    ROW("\0\0\0\x18" "ftypavif\0\0\0\0", "avif"),
    ROW("\0\0\0\x18" "ftypM4A \0\0\0\0", "m4a"),
    ROW("\0\0\0\x18" "ftypisom\0\0\0\0", "mp4"),
    ROW("\x1a\x45\xdf\xa3\1", "mkv"),
    ROW("FORM\0\0\1\0AIFFCOMM", "aiff"),
    ROW("FORM\0\0\1\0AIFCFVER", "aiff"),
    ROW("fLaC\0\0\0\x22", "flac"),
    ROW("OggS\0\2", "ogg"),
    ROW("ID3\4\0\0", "mp3"),
    ROW("\xff\xfb\x90\0", "mp3"),
    ROW(".snd\0\0\0\x18", "au"),
    ROW("\0\0\x08\3\0\0\0\1", "idx"),
    ROW("\x93NUMPY\1\0", "npy"),
    ROW("\x10\0\0\0\0\0\0\0{\"x\":1}", "safetensors"),
    ROW("MZ\1\0\0\0\0\0{\"a\"", "safetensors"),
    ROW("PK\3\4\x14\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0x.npy", "npz"),
    ROW("PK\3\4\x14\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0x.txt", "zip"),
    ROW("PK\3\4\x14\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\x0c\0\0\0net/data.pkl", "pickle"),
    ROW("PK\3\4\x14\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\x13\0\0\0[Content_Types].xml", "office"),
    ROW("\x80\2}q\0X", "pickle"),
    ROW("%PDF-1.7\n%\xe2\xe3\xcf\xd3", "pdf"),
    ROW("%PDF-1.4\nno binary\n", "pdf"),
    ROW("<!DOCTYPE html><html>", "html"),
    ROW("\xef\xbb\xbf\n<HTML>", "html"),
    ROW("<?xml version=\"1.0\"?>\n<svg width=\"1\">", "svg"),
    ROW("<?xml version=\"1.0\"?>\n<a/>", "xml"),
    ROW("{\"weight_map\": {}}", "json"),
    ROW("version https://git-lfs.github.com/spec/v1\n", "lfs"),
    ROW("PAR1\x15\4", "parquet"),
    ROW("SQLite format 3\0", "sqlite"),
    ROW("7z\xbc\xaf\x27\x1c\0", "7z"),
    ROW("BZh91AY&SY\x80\0", "bzip2"),
    ROW("\x28\xb5\x2f\xfd\4\0", "zstd"),
    ROW("\x7f" "ELF\2\1", "elf"),
    ROW("a,b,c\n1,2,3\n", "text"),
    ROW("\x08\x08:Y\x0a\x0e", NULL), /* an ONNX model */
    ROW("\x08\1\x10\1", NULL),
    ROW("\1\2\3", NULL),
    ROW("", NULL),
};

TEST(kinds_are_told_by_first_bytes) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const wick_kind *kind = wick_kind_of(rows[i].head, rows[i].size);
        if (!rows[i].format) CHECK_MSG(!kind, "row %zu is %s", i, kind->format);
        else
            CHECK_MSG(kind && strcmp(kind->format, rows[i].format) == 0, "row %zu is %s, not %s", i,
                      kind ? kind->format : "unknown", rows[i].format);
    }
    char tar[WICK_KIND_BYTES] = "a/b.png";
    memcpy(tar + 257, "ustar", 5);
    CHECK(wick_kind_of(tar, sizeof tar) && strcmp(wick_kind_of(tar, sizeof tar)->format, "tar") == 0);
}

/* Beginnings of every length are looked at no further than they go: the address sanitizer watches. */
TEST(short_heads_are_not_read_past_their_end) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t n = 0; n <= rows[i].size; n++) {
            char *copy = malloc(n + !n);
            REQUIRE(copy);
            memcpy(copy, rows[i].head, n);
            (void)wick_kind_of(copy, n);
            free(copy);
        }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
