#include "kinds.h"

#include "paths.h"
#include "talk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FEED    "wick run MODEL.onnx --input %s gives it to a model"
#define LIST    "wick inspect %s lists what is in it"

static const file_kind folder = {"folder", "a directory", AS_RUN, NULL}, empty = {"empty", "an empty file", 0, NULL}, words = {"text", "a text", 0, NULL},
                       /* Where weights are read it is refused with the line that makes safetensors of it. */
                       pickle = {"pickle", "a pickle, as PyTorch writes", AS_TENSORS | AS_RUN, "torch.onnx.export makes ONNX of a network"},
                       model = {"onnx", "an ONNX model", AS_MODEL, "wick inspect %s tells about it, wick run %s runs it"},
                       tensor = {"tensor", "a TensorProto (.pb), as in ONNX's test sets", AS_ARRAY, FEED},
                       unknown = {"onnx", "of no kind that its first bytes tell", AS_MODEL | AS_RUN | AS_TENSORS | AS_ARRAY, NULL}; /* its reader says what is wrong */

/* The first that fits. */
static const struct {
    size_t at;
    const char *magic;
    size_t size;
    file_kind kind;
} marks[] = {
    {0, "\x93NUMPY", 6, {"npy", "an array of numbers (.npy)", AS_TENSORS | AS_ARRAY, FEED}},
    {8, "{", 1, {"safetensors", "a safetensors file", AS_TENSORS | AS_RUN, LIST}},
    {0, "\x89PNG", 4, {"png", "a PNG picture", AS_PICTURE, FEED}},
    {0, "\xff\xd8\xff", 3, {"jpeg", "a JPEG picture", AS_PICTURE, FEED}},
    {0, "BM", 2, {"bmp", "a BMP picture", AS_PICTURE, FEED}},
    {8, "WEBP", 4, {"webp", "a WebP picture", AS_PICTURE, FEED}},
    {0, "GIF8", 4, {"gif", "a GIF picture", 0, "save it as PNG"}},
    {0, "\0\0\x08", 3, {"idx", "a file of pictures (IDX)", AS_PICTURE, "wick predict RUN %s shows what a trained model takes them for"}},
    {0, "\x1f\x8b", 2, {"idx", "a compressed file (gzip)", AS_PICTURE, "wick predict RUN %s reads pictures (IDX) in it"}},
    {8, "WAVE", 4, {"wav", "a WAV recording", AS_RECORDING, FEED}},
    {0, "fLaC", 4, {"flac", "a FLAC recording", 0, "ffmpeg -i %s new.wav makes a WAV of it"}},
    {0, "OggS", 4, {"ogg", "an Ogg recording", 0, "ffmpeg -i %s new.wav makes a WAV of it"}},
    {0, "ID3", 3, {"mp3", "an MP3 recording", 0, "ffmpeg -i %s new.wav makes a WAV of it"}},
    {0, "GGUF", 4, {"gguf", "a GGUF model", 0, "export the network that it was made of as ONNX"}},
    {0, "WICKREC\n", 8, {"records", "a record file", 0, "wick data info %s tells about it, wick data verify %s reads all of it"}},
    {4, "TFL3", 4, {"tflite", "a TensorFlow Lite model", 0, "python3 -m tf2onnx.convert --tflite %s --output NEW.onnx makes ONNX of it"}},
    {0, "\x89HDF", 4, {"hdf5", "an HDF5 file, as Keras writes", 0, "python3 -m tf2onnx.convert makes ONNX of what Keras saves in a folder"}},
    {0, "PK\3\4", 4, {"npz", "an archive of arrays (.npz)", AS_TENSORS, LIST}},
    {0, "PK\5\6", 4, {"npz", "an empty archive (.npz)", AS_TENSORS, LIST}},
    {0, "{", 1, {"shards", "JSON, as an index of safetensors in shards is", AS_TENSORS, LIST}},
};

/* A zip's first name lies at byte 30; PyTorch's is ARCHIVE/data.pkl. */
static bool holds_pickle(const unsigned char *head, size_t n) {
    for (size_t i = 30; i + 8 <= n; i++)
        if (memcmp(head + i, "data.pkl", 8) == 0) return true;
    return n >= 2 && head[0] == 0x80 && head[1] >= 1 && head[1] <= 5;
}

/* No byte that texts have not. What ONNX writes begins with the number of a field and a length. */
static bool is_text(const unsigned char *head, size_t n) {
    for (size_t i = 0; i < n; i++)
        if ((head[i] < 32 && !memchr("\t\n\r\f", head[i], 4)) || head[i] == 127) return false;
    return true;
}

/* Neither has a mark, but what writers begin with is always the same: of a model the version (field 1), then a length (wire type 2) or the model's version
 * (field 5), of a tensor its dims (field 1, a varint each), then its type (field 2, a varint). */
static const file_kind *proto_kind(const unsigned char *head, size_t n) {
    size_t at = 0, fields = 0;
    while (at + 2 < n && head[at] == 0x08) {
        for (at++; at < n && head[at] & 0x80; at++) continue;
        at++, fields++;
    }
    if (at < n && head[at] == 0x10) return &tensor;
    return at < n && fields == 1 && (head[at] % 8 == 2 || head[at] == 0x28) ? &model : &unknown;
}

const file_kind *kind_of(const char *path) {
    unsigned char head[160] = {0};
    if (path_is_folder(path)) return &folder;
    const int read = path_head(path, head, sizeof head);
    if (read < 0) return NULL;
    const size_t n = (size_t)read;
    if (n == 0) return &empty;
    if (holds_pickle(head, n)) return &pickle;
    if (head[0] != '{' && is_text(head, n)) return &words; /* "BMW" is no picture */
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (n >= marks[i].at + marks[i].size && memcmp(head + marks[i].at, marks[i].magic, marks[i].size) == 0) return &marks[i].kind;
    return proto_kind(head, n);
}

const char *kind_why(const char *path, const file_kind *kind, const char *wanted, char *text, size_t size) {
    size_t n = (size_t)snprintf(text, size, "%.900s is %s, not %s%s", path, kind->name, wanted, kind->advice ? "; " : "");
    for (const char *s = kind->advice ? kind->advice : ""; *s && n + 1 < size; s++) {
        if (s[0] == '%' && s[1] == 's') n += (size_t)snprintf(text + n, size - n, "%.900s", path), s++;
        else text[n++] = *s, text[n] = 0;
    }
    return text;
}

int kind_refuse(const char *path, const file_kind *kind, const char *wanted) {
    char text[4096];
    if (!kind) return talk_fail(CLI_BAD_FILE, "%s: cannot be read: %s", path, errno == ENOTSUP ? "it is a pipe or a device, no file" : strerror(errno));
    return talk_fail(CLI_BAD_FILE, "%s", kind_why(path, kind, wanted, text, sizeof text));
}

int kind_check(const char *path, unsigned as, const char *wanted) {
    const file_kind *kind = kind_of(path);
    return kind && kind->as & as ? CLI_OK : kind_refuse(path, kind, wanted);
}
