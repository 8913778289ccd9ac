/* kinds.c: the one table of what files begin with. */
#include "base/kinds.h"

#include <stdio.h>

#define SOUND "ffmpeg -i %s new.wav makes a WAV of it"
#define FILM  "ffmpeg -i %s frame%03d.png makes pictures of it, ffmpeg -i %s new.wav a recording"
#define PHOTO "ffmpeg -i %s new.png, or any program for pictures, makes a PNG of it"
#define UNPACK "unpack it, and name what was in it"

typedef struct mark {
    size_t at;
    const char *bytes;
    size_t size;
} mark;
#define MARK(at, bytes) {at, bytes, sizeof bytes - 1}

/* A second mark must fit too, where there is one. */
typedef struct row {
    mark marks[2];
    wick_kind kind;
} row;
/* The first that fits; of what is text at its beginning those of few letters don't count: "BMW" is no picture. */
static const row kinds[] = {
    {{MARK(5, "\0\0\0{")},
     {"safetensors", "a safetensors file", WICK_KIND_OTHER, NULL}}, /* bytes of the header, and its first character */
    /* pictures that are read */
    {{MARK(0, "\x89PNG")}, {"png", "a PNG picture", WICK_KIND_PICTURE, NULL}},
    {{MARK(0, "\xff\xd8\xff")}, {"jpeg", "a JPEG picture", WICK_KIND_PICTURE, NULL}},
    {{MARK(0, "RIFF"), MARK(8, "WEBP")}, {"webp", "a WebP picture", WICK_KIND_PICTURE, NULL}},
    {{MARK(0, "BM"), MARK(15, "\0\0\0")}, {"bmp", "a BMP picture", WICK_KIND_PICTURE, NULL}},
    /* recordings */
    {{MARK(0, "RIFF"), MARK(8, "WAVE")}, {"wav", "a WAV recording", WICK_KIND_RECORDING, NULL}},
    {{MARK(0, "RF64")}, {"rf64", "a WAV recording of the kind RF64", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "BW64")}, {"rf64", "a WAV recording of the kind BW64", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "RIFX")}, {"rifx", "a WAV recording of the kind RIFX", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "riff\x2e\x91\xcf\x11")}, {"w64", "a Wave64 recording", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "FORM"), MARK(8, "AIF")}, {"aiff", "an AIFF recording", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "fLaC")}, {"flac", "a FLAC recording", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "OggS")}, {"ogg", "an Ogg recording", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "ID3")}, {"mp3", "an MP3 recording", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, ".snd")}, {"au", "an AU recording", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "caff")}, {"caf", "a CAF recording", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "\xff\xf1")}, {"aac", "an AAC recording", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "\xff\xf9")}, {"aac", "an AAC recording", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "\xff\xfb")}, {"mp3", "an MP3 recording", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "\xff\xf3")}, {"mp3", "an MP3 recording", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "\xff\xf2")}, {"mp3", "an MP3 recording", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "\xff\xfa")}, {"mp3", "an MP3 recording", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "MThd")}, {"midi", "a MIDI file, notes without sound", WICK_KIND_OTHER, NULL}},
    {{MARK(4, "ftypM4A")}, {"m4a", "an M4A recording", WICK_KIND_OTHER, SOUND}},
    /* other pictures */
    {{MARK(0, "GIF8")}, {"gif", "a GIF picture", WICK_KIND_PICTURE, NULL}},
    {{MARK(0, "II*\0")}, {"tiff", "a TIFF picture", WICK_KIND_PICTURE, NULL}},
    {{MARK(0, "MM\0*")}, {"tiff", "a TIFF picture", WICK_KIND_PICTURE, NULL}},
    {{MARK(0, "II+\0")}, {"tiff", "a TIFF picture (BigTIFF)", WICK_KIND_PICTURE, NULL}},
    {{MARK(0, "MM\0+")}, {"tiff", "a TIFF picture (BigTIFF)", WICK_KIND_PICTURE, NULL}},
    {{MARK(0, "\0\0\0\x0cjP  ")}, {"jp2", "a JPEG 2000 picture", WICK_KIND_PICTURE, NULL}},
    {{MARK(0, "\xff\x4f\xff\x51")}, {"jp2", "a JPEG 2000 picture", WICK_KIND_PICTURE, NULL}},
    {{MARK(0, "\0\0\0\x0cJXL ")}, {"jxl", "a JPEG XL picture", WICK_KIND_OTHER, PHOTO}},
    {{MARK(0, "\xff\x0a")}, {"jxl", "a JPEG XL picture", WICK_KIND_OTHER, PHOTO}},
    {{MARK(4, "ftypavi")},
     {"avif", "an AVIF picture", WICK_KIND_OTHER, "avifdec %s new.png (libavif) makes a PNG of it"}},
    {{MARK(4, "ftyphei")},
     {"heic", "a HEIC picture, as phones take them", WICK_KIND_OTHER,
      "heif-convert %s new.png (libheif) makes a PNG of it"}},
    {{MARK(4, "ftyphev")},
     {"heic", "a HEIC picture, as phones take them", WICK_KIND_OTHER,
      "heif-convert %s new.png (libheif) makes a PNG of it"}},
    {{MARK(4, "ftypmif1")},
     {"heic", "a HEIC or AVIF picture", WICK_KIND_OTHER, "heif-convert %s new.png (libheif) makes a PNG of it"}},
    {{MARK(4, "ftypmsf1")},
     {"heic", "a HEIC or AVIF picture", WICK_KIND_OTHER, "heif-convert %s new.png (libheif) makes a PNG of it"}},
    {{MARK(0, "\0\0\1\0")}, {"ico", "an icon (ICO)", WICK_KIND_OTHER, PHOTO}},
    {{MARK(0, "8BPS")}, {"psd", "a Photoshop picture", WICK_KIND_OTHER, PHOTO}},
    {{MARK(0, "gimp xcf")}, {"xcf", "a GIMP picture", WICK_KIND_OTHER, PHOTO}},
    {{MARK(0, "\x76\x2f\x31\x01")}, {"exr", "an OpenEXR picture", WICK_KIND_OTHER, PHOTO}},
    {{MARK(0, "qoif")}, {"qoi", "a QOI picture", WICK_KIND_OTHER, PHOTO}},
    {{MARK(0, "DDS ")}, {"dds", "a DDS texture", WICK_KIND_OTHER, PHOTO}},
    {{MARK(0, "FUJIFILMCCD-RAW")}, {"raw", "a camera's raw picture", WICK_KIND_OTHER, PHOTO}},
    {{MARK(128, "DICM")},
     {"dicom", "a DICOM picture", WICK_KIND_OTHER,
      "pydicom's pixel_array gives an array, which numpy.save writes as .npy"}},
    /* films */
    {{MARK(4, "ftypqt")}, {"mov", "a QuickTime film", WICK_KIND_OTHER, FILM}},
    {{MARK(4, "ftyp")}, {"mp4", "an MP4 film", WICK_KIND_OTHER, FILM}},
    {{MARK(0, "RIFF"), MARK(8, "AVI ")}, {"avi", "an AVI film", WICK_KIND_OTHER, FILM}},
    {{MARK(0, "\x1a\x45\xdf\xa3")}, {"mkv", "a Matroska or WebM film", WICK_KIND_OTHER, FILM}},
    {{MARK(0, "FLV")}, {"flv", "a Flash film", WICK_KIND_OTHER, FILM}},
    {{MARK(0, "\0\0\1\xba")}, {"mpeg", "an MPEG film", WICK_KIND_OTHER, FILM}},
    {{MARK(0, "\x30\x26\xb2\x75\x8e\x66\xcf\x11")},
     {"asf", "a Windows Media film or recording", WICK_KIND_OTHER, FILM}},
    /* arrays and models */
    {{MARK(0, "\0\0\x08")}, {"idx", "a file of pictures (IDX)", WICK_KIND_OTHER, NULL}},
    {{MARK(0, "\x93NUMPY")}, {"npy", "an array of numbers (.npy)", WICK_KIND_OTHER, NULL}},
    {{MARK(0, "WICKREC\n")}, {"records", "a record file", WICK_KIND_OTHER, NULL}},
    {{MARK(0, "GGUF")}, {"gguf", "a GGUF model", WICK_KIND_OTHER, "export the network that it was made of as ONNX"}},
    {{MARK(4, "TFL3")},
     {"tflite", "a TensorFlow Lite model", WICK_KIND_OTHER,
      "python3 -m tf2onnx.convert --tflite %s --output NEW.onnx makes ONNX of it"}},
    {{MARK(4, "ORTM")},
     {"ort", "a model in ONNX Runtime's own format", WICK_KIND_OTHER, "name the .onnx file that it was made of"}},
    {{MARK(0, "\x89HDF")},
     {"hdf5", "an HDF5 file, as Keras writes", WICK_KIND_OTHER,
      "python3 -m tf2onnx.convert makes ONNX of what Keras saves in a folder"}},
    {{MARK(0, "MATLAB 5.0 MAT-file")},
     {"mat", "a MATLAB file", WICK_KIND_OTHER, "scipy.io.loadmat gives arrays, which numpy.save writes as .npy"}},
    /* tables */
    {{MARK(0, "PAR1")},
     {"parquet", "a Parquet table", WICK_KIND_OTHER, "pandas.read_parquet and its to_csv make a .csv of it"}},
    {{MARK(0, "ARROW1")},
     {"arrow", "an Arrow table", WICK_KIND_OTHER, "pandas.read_feather and its to_csv make a .csv of it"}},
    {{MARK(0, "FEA1")},
     {"feather", "a Feather table", WICK_KIND_OTHER, "pandas.read_feather and its to_csv make a .csv of it"}},
    {{MARK(0, "SQLite format 3")},
     {"sqlite", "an SQLite database", WICK_KIND_OTHER,
      "sqlite3 -header -csv %s \"select * from TABLE\" makes a .csv of a table"}},
    {{MARK(0, "\xd0\xcf\x11\xe0")},
     {"office", "an old Office document", WICK_KIND_OTHER, "save a table in it as .csv"}},
    /* archives and the rest */
    {{MARK(0, "\x1f\x8b")}, {"gzip", "a compressed file (gzip)", WICK_KIND_OTHER, NULL}},
    {{MARK(257, "ustar")}, {"tar", "a tar archive", WICK_KIND_OTHER, UNPACK}},
    {{MARK(0, "\xfd"
              "7zXZ")},
     {"xz", "a compressed file (xz)", WICK_KIND_OTHER, "unxz --keep %s unpacks it"}},
    {{MARK(0, "\x28\xb5\x2f\xfd")}, {"zstd", "a compressed file (Zstandard)", WICK_KIND_OTHER, "unzstd %s unpacks it"}},
    {{MARK(0, "\x04\x22\x4d\x18")}, {"lz4", "a compressed file (LZ4)", WICK_KIND_OTHER, "unlz4 %s unpacks it"}},
    {{MARK(0, "BZh")}, {"bzip2", "a compressed file (bzip2)", WICK_KIND_OTHER, "bunzip2 --keep %s unpacks it"}},
    {{MARK(0, "7z\xbc\xaf\x27\x1c")}, {"7z", "a 7z archive", WICK_KIND_OTHER, UNPACK}},
    {{MARK(0, "Rar!")}, {"rar", "a RAR archive", WICK_KIND_OTHER, UNPACK}},
    {{MARK(0, "\x7f"
              "ELF")},
     {"elf", "a program or library (ELF)", WICK_KIND_OTHER, NULL}},
    {{MARK(0, "MZ")}, {"exe", "a program of Windows", WICK_KIND_OTHER, NULL}},
    {{MARK(0, "#!AMR")}, {"amr", "an AMR recording", WICK_KIND_OTHER, SOUND}},
    {{MARK(0, "NIST_1A")}, {"sphere", "a NIST SPHERE recording", WICK_KIND_OTHER, "sox %s new.wav makes a WAV of it"}},
    {{MARK(0, "#?RADIANCE")}, {"hdr", "a Radiance HDR picture", WICK_KIND_OTHER, PHOTO}},
    {{MARK(0, "SIMPLE  =")},
     {"fits", "a FITS picture", WICK_KIND_OTHER,
      "astropy's fits.getdata gives an array, which numpy.save writes as .npy"}},
    {{MARK(0, "<svg")}, {"svg", "an SVG drawing", WICK_KIND_OTHER, "rsvg-convert %s -o new.png makes a PNG of it"}},
    {{MARK(0, "%PDF")},
     {"pdf", "a PDF document", WICK_KIND_OTHER, "pdftoppm -png %s page makes pictures of its pages"}},
    {{MARK(0, "%!PS")}, {"ps", "a PostScript document", WICK_KIND_OTHER, NULL}},
    {{MARK(0, "{\\rtf")}, {"rtf", "an RTF document", WICK_KIND_OTHER, NULL}},
    {{MARK(0, "version https://git-lfs")},
     {"lfs", "a pointer of Git LFS, without the file's contents", WICK_KIND_OTHER, "git lfs pull fetches them"}},
};

static const wick_kind npz = {"npz", "an archive of arrays (.npz)", WICK_KIND_OTHER, NULL},
                       zip = {"zip", "a ZIP archive", WICK_KIND_OTHER, UNPACK},
                       empty_zip = {"npz", "an empty archive (.npz)", WICK_KIND_OTHER, NULL},
                       office = {"office", "an Office document", WICK_KIND_OTHER, "save a table in it as .csv"},
                       keras = {"keras", "a Keras model", WICK_KIND_OTHER,
                                "python3 -m tf2onnx.convert makes ONNX of what Keras saves in a folder"},
                       pickle = {"pickle", "a pickle, as PyTorch writes", WICK_KIND_OTHER,
                                 "torch.onnx.export makes ONNX of a network"},
                       pnm = {"pnm", "a PNM picture (PBM, PGM, PPM)", WICK_KIND_PICTURE, NULL},
                       pam = {"pam", "a PAM picture", WICK_KIND_OTHER, PHOTO},
                       pfm = {"pfm", "a PFM picture", WICK_KIND_OTHER, PHOTO},
                       html = {"html", "a web page, as a server sends instead of a file that it doesn't have",
                               WICK_KIND_OTHER, "fetch the file again"},
                       xml = {"xml", "an XML file", WICK_KIND_OTHER, NULL},
                       json = {"json", "a JSON text", WICK_KIND_OTHER, NULL},
                       text = {"text", "a text", WICK_KIND_OTHER, NULL};

static bool fits_mark(const mark *m, const uint8_t *head, size_t n) {
    return n >= m->at + m->size && memcmp(head + m->at, m->bytes, m->size) == 0;
}

static bool has(const uint8_t *head, size_t n, const char *what) {
    const size_t size = strlen(what);
    for (size_t i = 0; i + size <= n; i++)
        if (memcmp(head + i, what, size) == 0) return true;
    return false;
}

/* By the names in it; the first lies at byte 30. PyTorch's is ARCHIVE/data.pkl. */
static const wick_kind *zip_kind(const uint8_t *head, size_t n) {
    const size_t named = n > 30 ? (size_t)head[26] | (size_t)head[27] << 8 : 0, end = 30 + named;
    if (has(head, n, "data.pkl") || has(head, n, "/version")) return &pickle;
    if (end <= n && named >= 4 && memcmp(head + end - 4, ".npy", 4) == 0) return &npz;
    if (has(head, n, "[Content_Types].xml") || has(head, n, "mimetypeapplication/vnd")) return &office;
    return n > 30 && (has(head, end < n ? end : n, "metadata.json") || has(head, end < n ? end : n, "config.json"))
               ? &keras
               : &zip;
}

/* No byte that texts have not. What ONNX writes begins with the number of a field and a length. */
static bool is_text(const uint8_t *head, size_t n) {
    for (size_t i = 0; i < n; i++)
        if ((head[i] < 32 && !memchr("\t\n\r\f", head[i], 4)) || head[i] == 127) return false;
    return true;
}

static bool begins(const char *at, size_t n, const char *with) {
    for (; *with; at++, with++, n--)
        if (!n || (*at >= 'A' && *at <= 'Z' ? *at | 32 : *at) != *with) return false;
    return true;
}

static const wick_kind *text_kind(const uint8_t *head, size_t n) {
    const char *at = (const char *)head;
    if (n >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3, n -= 3;
    while (n && memchr(" \t\r\n", *at, 4)) at++, n--;
    if (begins(at, n, "<!doctype html") || begins(at, n, "<html") || begins(at, n, "<head")) return &html;
    if (begins(at, n, "<?xml")) return has(head, n, "<svg") ? wick_kind_of("<svg", 4) : &xml;
    return n && *at == '{' ? &json : &text;
}

/* P1 to P6, behind which stands white space or a comment, then a number. */
static const wick_kind *portable_kind(const uint8_t *head, size_t n) {
    const bool blank = n >= 3 && head[0] == 'P' && memchr(" \t\r\n#", head[2], 5);
    if (!blank) return NULL;
    return head[1] >= '1' && head[1] <= '6'   ? &pnm
           : head[1] == '7'                   ? &pam
           : head[1] == 'F' || head[1] == 'f' ? &pfm
                                              : NULL;
}

static bool fits(const row *r, const uint8_t *head, size_t n, bool is_words) {
    const bool strong = r->marks[0].size + r->marks[1].size >= 4 || (uint8_t)r->marks[0].bytes[0] >= 0x80;
    return (strong || !is_words) && fits_mark(&r->marks[0], head, n) &&
           (!r->marks[1].size || fits_mark(&r->marks[1], head, n));
}

wick_status wick_kind_refuse(const wick_kind *kind, wick_status status, const char *name, const char *wanted,
                             wick_msg *msg) {
    char advice[512];
    size_t n = 0;
    for (const char *s = kind->advice ? kind->advice : ""; *s && n + 1 < sizeof advice; s++) {
        const bool names = s[0] == '%' && s[1] == 's';
        n += (size_t)snprintf(advice + n, sizeof advice - n, names ? "%.100s" : "%.1s", names ? name : s);
        n = WICK_MIN(n, sizeof advice - 1);
        s += names;
    }
    advice[n] = 0;
    return wick_msg_set(msg, status, "%s: is %s, not %s%s%s", name, kind->name, wanted, n ? "; " : "", advice);
}

const wick_kind *wick_kind_of(const void *data, size_t size) {
    if (!data) return NULL;
    const uint8_t *head = data;
    const size_t n = WICK_MIN(size, (size_t)WICK_KIND_BYTES);
    const bool is_words = is_text(head, n);
    const wick_kind *found = n ? portable_kind(head, n) : NULL;
    if (found || !n) return found;
    for (size_t i = 0; i < WICK_COUNTOF(kinds); i++)
        if (fits(&kinds[i], head, n, is_words)) return &kinds[i].kind;
    if (n >= 4 && memcmp(head, "PK\3\4", 4) == 0) return zip_kind(head, n);
    if (n >= 4 && memcmp(head, "PK\5\6", 4) == 0) return &empty_zip;
    if (n >= 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5) return &pickle;
    return is_words ? text_kind(head, n) : NULL;
}
