#include "identity.h"

#include "../paths.h"
#include "source.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 16, BUDGET = 1 << 26, MOST_READ = 1024, MOST_FILES = 1 << 20, MOST_DEPTH = 16 };

typedef struct entry {
    char *name; /* from the folder that was asked for */
    int64_t size;
} entry;
typedef struct listing {
    entry *list;
    int count, room;
    bool failed; /* out of memory */
} listing;

/* ---- hashing ----------------------------------------------------------------------------------------------------- */

/* The 64-bit finalizer of MurmurHash3, word by word; words are little-endian. */
static uint64_t stir(uint64_t h, uint64_t word) {
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    return h ^ h >> 33;
}
static uint64_t stir_bytes(uint64_t h, const unsigned char *bytes, size_t n) {
    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = 0;
        for (size_t k = 0; k < 8 && i + k < n; k++) word |= (uint64_t)bytes[i + k] << 8 * k;
        h = stir(h, word);
    }
    return stir(h, n);
}

/* At most `budget` bytes of a file: pieces from its beginning to its end. False: it can't be read. */
static bool stir_file(const char *path, int64_t size, int64_t budget, uint64_t *h) {
    unsigned char *piece = malloc(PIECE);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const int64_t all = (size + PIECE - 1) / PIECE, most = budget / PIECE, n = all < most ? all : most;
    bool ok = piece && fd >= 0;
    for (int64_t k = 0; k < n && ok; k++) {
        const int64_t at = n == all ? k : n > 1 ? (int64_t)((double)k / (double)(n - 1) * (double)(all - 1)) : 0;
        const ssize_t got = pread(fd, piece, PIECE, (off_t)(at * PIECE));
        ok = got >= 0;
        if (ok) *h = stir_bytes(*h, piece, (size_t)got);
    }
    if (fd >= 0) close(fd);
    free(piece);
    return ok;
}

static char *text_of(uint64_t h, int64_t bytes) {
    char *text;
    return asprintf(&text, "%016" PRIx64 " %lld", h, (long long)bytes) < 0 ? NULL : text;
}

static char *of_file(const char *path, int64_t size) {
    uint64_t h = stir(0, (uint64_t)size);
    return stir_file(path, size, BUDGET, &h) ? text_of(h, size) : NULL;
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) { return strcmp(((const entry *)a)->name, ((const entry *)b)->name); }

static void add(listing *l, char *name, int64_t size) {
    if (l->count == l->room) {
        const int room = l->room ? 2 * l->room : 256;
        entry *grown = realloc(l->list, (size_t)room * sizeof *grown);
        if (!grown) {
            l->failed = true;
            free(name);
            return;
        }
        l->list = grown, l->room = room;
    }
    l->list[l->count++] = (entry){name, size};
}

/* A run lies in it, whose files change while it trains. */
static bool has_run(const char *folder) {
    char *last = path_join(folder, "last.safetensors");
    const bool has = last && path_exists(last);
    free(last);
    return has;
}

/* Files that a run, or a report of it, writes into its folder, which may be that of the data. */
static bool is_of_run(const char *name) {
    static const char *const begins[] = {"last.safetensors", "best.safetensors", "int8.onnx",   "int4.onnx",
                                         "log.jsonl",        "options.txt",      "report.html", "model.onnx"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0) return true;
    return false;
}

/* All files below folder/name. */
static void walk(listing *l, const char *folder, const char *name, int depth) {
    char *path = *name ? path_join(folder, name) : strdup(folder);
    DIR *dir = path && !(depth && has_run(path)) ? opendir(path) : NULL;
    l->failed |= !path;
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e && !l->failed && l->count < MOST_FILES;
         e = readdir(dir)) {
        if (e->d_name[0] == '.' || is_of_run(e->d_name)) continue;
        char *below = *name ? path_join(name, e->d_name) : strdup(e->d_name), *at = path_join(path, e->d_name);
        struct stat st;
        l->failed |= !below || !at;
        const bool there = !l->failed && stat(at, &st) == 0;
        if (there && S_ISDIR(st.st_mode) && depth < MOST_DEPTH) walk(l, folder, below, depth + 1);
        if (there && S_ISREG(st.st_mode))
            add(l, below, (int64_t)st.st_size);
        else
            free(below);
        free(at);
    }
    if (dir) closedir(dir);
    free(path);
}

/* Whether `word` stands in the path with no letter beside it. */
static bool names_word(const char *path, const char *word) {
    const size_t n = strlen(word);
    for (const char *at = strstr(path, word); at; at = strstr(at + 1, word))
        if ((at == path || !isalpha((unsigned char)at[-1])) && !isalpha((unsigned char)at[n])) return true;
    return false;
}
typedef enum part { TRAIN, TEST, VAL, PARTS } part;
static bool names_part(const char *path, part which) {
    static const char *const words[PARTS][3] = {
        {"train", NULL, NULL}, {"test", "t10k", NULL}, {"val", "valid", "validation"}};
    for (int i = 0; i < 3; i++)
        if (words[which][i] && names_word(path, words[which][i])) return true;
    return false;
}

/* Leaves those of the part. */
static void keep_part(listing *l, part which) {
    bool any = false;
    for (int i = 0; i < l->count; i++) any |= names_part(l->list[i].name, which);
    int kept = 0;
    for (int i = 0; i < l->count; i++) {
        bool other = false;
        for (part p = 0; p < PARTS; p++) other |= names_part(l->list[i].name, p);
        if (any ? names_part(l->list[i].name, which) : !other)
            l->list[kept++] = l->list[i];
        else
            free(l->list[i].name);
    }
    l->count = kept;
}

static char *of_folder(const char *folder, part which) {
    listing l = {0};
    walk(&l, folder, "", 0);
    keep_part(&l, which);
    if (l.count) qsort(l.list, (size_t)l.count, sizeof *l.list, by_name);
    uint64_t h = stir(0, (uint64_t)l.count);
    int64_t bytes = 0;
    bool ok = l.count && l.count < MOST_FILES && !l.failed;
    for (int i = 0; i < l.count; i++) {
        const entry *e = &l.list[i];
        h = stir(stir_bytes(h, (const unsigned char *)e->name, strlen(e->name)), (uint64_t)e->size);
        bytes += e->size;
        char *path = ok && l.count <= MOST_READ ? path_join(folder, e->name) : NULL;
        ok = ok && (path ? stir_file(path, e->size, BUDGET / l.count, &h) : l.count > MOST_READ);
        free(path);
        free(e->name);
    }
    free(l.list);
    return ok ? text_of(h, bytes) : NULL;
}

/* ---- any of them ------------------------------------------------------------------------------------------------- */

/* Where a named set lies, malloc'ed, as wick_dataset_open looks for it. */
static char *named_place(const char *name) {
    const char *home = getenv("WICK_DATA");
    const char *const bases[] = {home && *home ? home : NULL, "/usr/share/datasets"};
    for (int i = 0; i < 2 && !strchr(name, '/'); i++) {
        char *path = bases[i] ? path_join(bases[i], name) : NULL;
        if (path && path_is_folder(path)) return path;
        free(path);
    }
    return NULL;
}

char *identity_of(const char *place, const char *name) {
    struct stat st;
    const part which = strcmp(name, "train") == 0 ? TRAIN : strcmp(name, "test") == 0 ? TEST : VAL;
    char *found = stat(place, &st) == 0 ? source_find_file(place, name) : named_place(place), *text = NULL;
    const char *at = found ? found : place;
    if (stat(at, &st) == 0)
        text = S_ISREG(st.st_mode)   ? of_file(at, (int64_t)st.st_size)
               : S_ISDIR(st.st_mode) ? of_folder(at, which)
                                     : NULL;
    free(found);
    return text;
}
