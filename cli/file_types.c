#include "file_types.h"

#include "paths.h"
#include "term/log.h"

#include "wick/kinds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FEED    "wick run MODEL.onnx --input %s gives it to a model"
#define LIST    "wick inspect %s lists what is in it"

static const file_kind folder = {"folder", "a directory", AS_RUN, NULL}, empty = {"empty", "an empty file", 0, NULL},
                       model = {"onnx", "an ONNX model", AS_MODEL,
                                "wick inspect %s tells about it, wick run %s runs it"},
                       tensor = {"tensor", "a TensorProto (.pb), as in ONNX's test sets", AS_ARRAY, FEED},
                       unknown = {"onnx", KIND_UNKNOWN, AS_MODEL | AS_RUN | AS_TENSORS | AS_ARRAY,
                                  NULL}; /* its reader says what is wrong */

/* What the command takes of wick_kind_of's. */
static const struct {
    const char *format; /* there */
    file_kind kind;
} taken[] = {
    {"npy", {"npy", "an array of numbers (.npy)", AS_TENSORS | AS_ARRAY, FEED}},
    {"safetensors", {"safetensors", "a safetensors file", AS_TENSORS | AS_RUN, LIST}},
    {"idx",
     {"idx", "a file of pictures (IDX)", AS_PICTURE, "wick predict RUN %s shows what a trained model takes them for"}},
    {"gzip", {"idx", "a compressed file (gzip)", AS_PICTURE, "wick predict RUN %s reads pictures (IDX) in it"}},
    {"npz", {"npz", "an archive of arrays (.npz)", AS_TENSORS, LIST}},
    {"zip", {"npz", "a ZIP archive", AS_TENSORS, "unpack it, and name what was in it"}},
    {"json", {"shards", "JSON, as an index of safetensors in shards is", AS_TENSORS, LIST}},
    {"pickle",
     {"pickle", "a pickle, as PyTorch writes", AS_TENSORS | AS_RUN,
      "torch.onnx.export makes ONNX of a network"}}, /* where weights are read, it is refused with the line that makes
                                                        safetensors of it */
    {"records",
     {"records", "a record file", 0, "wick data info %s tells about it, wick data verify %s reads all of it"}},
};

/* Neither has a mark, but what writers begin with is always the same: of a model the version (field 1), then a length
 * (wire type 2) or the model's version (field 5), of a tensor its dims (field 1, a varint each), then its type (field
 * 2, a varint). */
static const file_kind *proto_kind(const unsigned char *head, size_t n) {
    size_t at = 0, fields = 0;
    while (at + 2 < n && head[at] == 0x08) {
        for (at++; at < n && head[at] & 0x80; at++) continue;
        at++, fields++;
    }
    if (at < n && head[at] == 0x10) return &tensor;
    return at < n && fields == 1 && (head[at] % 8 == 2 || head[at] == 0x28) ? &model : &unknown;
}

/* Valid until the next call, where it is of a kind that is not taken. */
static const file_kind *kind_as(const wick_kind *k) {
    static file_kind other;
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(taken[i].format, k->format) == 0) return &taken[i].kind;
    other = (file_kind){k->format, k->name,
                        k->use == WICK_KIND_PICTURE     ? AS_PICTURE
                        : k->use == WICK_KIND_RECORDING ? AS_RECORDING
                                                        : 0,
                        k->use ? FEED : k->advice};
    return &other;
}

const file_kind *kind_of(const char *path) {
    unsigned char head[WICK_KIND_BYTES] = {0};
    if (path_is_folder(path)) return &folder;
    const int read = path_head(path, head, sizeof head);
    if (read < 0) return NULL;
    if (read == 0) return &empty;
    const wick_kind *known = wick_kind_of(head, (size_t)read);
    return known ? kind_as(known) : proto_kind(head, (size_t)read);
}

const char *kind_why(const char *path, const file_kind *kind, const char *wanted, char *text, size_t size) {
    size_t n =
        (size_t)snprintf(text, size, "%.900s is %s, not %s%s", path, kind->name, wanted, kind->advice ? "; " : "");
    for (const char *s = kind->advice ? kind->advice : ""; *s && n + 1 < size; s++) {
        if (s[0] == '%' && s[1] == 's') n += (size_t)snprintf(text + n, size - n, "%.900s", path), s++;
        else text[n++] = *s, text[n] = 0;
    }
    return text;
}

int kind_refuse(const char *path, const file_kind *kind, const char *wanted) {
    char text[4096];
    if (!kind)
        return log_fail(CLI_BAD_FILE, "%s: cannot be read: %s", path,
                        errno == ENOTSUP ? "it is a pipe or a device, no file" : strerror(errno));
    return log_fail(CLI_BAD_FILE, "%s", kind_why(path, kind, wanted, text, sizeof text));
}

int kind_check(const char *path, unsigned as, const char *wanted) {
    const file_kind *kind = kind_of(path);
    return kind && kind->as & as ? CLI_OK : kind_refuse(path, kind, wanted);
}
