/* files.c: files one after another out of folders, archives, IDX files and record files. */
#include "data/sets/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/formats/codecs.h"
#include "data/formats/idx.h"
#include "data/formats/records.h"
#include "data/formats/tar.h"
#include "data/remote/remote.h"
#include "wick/data.h"

enum { DEPTH = 16, PATH_BYTES = 4096 };

struct wick_files {
    wick_context *ctx;
    wick_allocator alloc;
    wick_arena arena;
    char *path;
    const char *form;
    bool all;
    int64_t count, passed, next, classes;
    const char **class_names; /* sorted, but for those of record files and sets */
    size_t class_cap;         /* 0: they are in the arena, or the set's */
    wick_map map;             /* of the archive, or of the present file */
    char **names;             /* of a folder's files */
    size_t n, cap;
    wick_tar *tar;
    wick_idx idx;
    wick_dataset *set;
    wick_spec spec; /* of arrays */
    bool arrays;
    wick_records *records;
    wick_packed_meta meta;
    uint8_t *buffer;
    size_t room;
    char name[WICK_FILE_NAME_MAX];
};

wick_context *wick_files_context(const wick_files *f) { return f->ctx; }

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static size_t place_of(const char *const *names, size_t n, const char *name) {
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (strcmp(names[middle], name) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}
int64_t wick_class_find(const char *const *names, int64_t n, const char *name) {
    const size_t at = place_of(names, (size_t)n, name);
    return at < (size_t)n && strcmp(names[at], name) == 0 ? (int64_t)at : -1;
}

wick_status wick_class_of(const char *name, char class_name[256], const char *path, wick_msg *msg) {
    const char *end = strrchr(name, '/'), *begin = end;
    class_name[0] = 0;
    while (begin && begin > name && begin[-1] != '/') begin--;
    const size_t n = begin ? (size_t)(end - begin) : 0;
    if (n <= 2 && strspn(begin ? begin : "", ".") >= n) return WICK_OK; /* "./a.jpg" lies in no folder */
    if (n > 255)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: %.200s: the name of a class has at most 255 bytes", path,
                            name);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)begin[i] < ' ' || begin[i] == 127)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %.200s: a control character in the name of its class", path,
                                name);
    memcpy(class_name, begin, n);
    class_name[n] = 0;
    return WICK_OK;
}

static wick_status no_memory(const wick_files *f, wick_msg *msg) {
    return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", f->path);
}

/* One more file of that name: its class gets a place among the others. */
static wick_status survey(wick_files *f, const char *name, wick_msg *msg) {
    char class_name[256];
    WICK_TRY(wick_class_of(name, class_name, f->path, msg));
    f->count++;
    if (!*class_name) return WICK_OK;
    const size_t n = (size_t)f->classes, at = place_of(f->class_names, n, class_name);
    if (at < n && strcmp(f->class_names[at], class_name) == 0) return WICK_OK;
    if (n == WICK_FILE_CLASSES_MAX)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: more than %d folders, which would be classes", f->path,
                            WICK_FILE_CLASSES_MAX);
    const char *copy = wick_arena_strdup(&f->arena, class_name);
    if (!copy || !wick_grow(&f->alloc, (void **)&f->class_names, &f->class_cap, n + 1, sizeof *f->class_names))
        return no_memory(f, msg);
    memmove(f->class_names + at + 1, f->class_names + at, (n - at) * sizeof *f->class_names);
    f->class_names[at] = copy;
    f->classes++;
    return WICK_OK;
}

static wick_status label_of(const wick_files *f, const char *name, int64_t *label, wick_msg *msg) {
    char class_name[256];
    WICK_TRY(wick_class_of(name, class_name, f->path, msg));
    *label = *class_name ? wick_class_find(f->class_names, f->classes, class_name) : -1;
    return WICK_OK;
}

/* Whether a name is one of those that are taken; hidden ones, and those in hidden folders, never are. Others are
 * counted. */
static bool is_wanted(wick_files *f, const char *name) {
    for (const char *part = name;; part += strcspn(part, "/") + 1) {
        const size_t n = strcspn(part, "/");
        if (*part == '.' && !(n <= 2 && strspn(part, ".") >= n)) return false;
        if (!part[n]) break;
    }
    const char *dot = strrchr(name, '.');
    const bool wanted = f->all || wick_picture_named(name) || (dot && strcasecmp(dot, ".wav") == 0);
    f->passed += !wanted;
    return wanted;
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* below: the path within f->path, "" or "a/b/". */
static wick_status list(wick_files *f, const char *below, int depth, wick_msg *msg) {
    char path[PATH_BYTES];
    if (depth > DEPTH)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s/%s: more than %d folders within each other", f->path, below,
                            DEPTH);
    if (snprintf(path, sizeof path, "%s/%s", f->path, below) >= (int)sizeof path)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: a path of more than %d bytes", f->path, PATH_BYTES - 1);
    DIR *dir = opendir(path);
    if (!dir)
        return wick_msg_set(msg, errno == ENOMEM ? WICK_ERR_NOMEM : WICK_ERR_IO, "%s: cannot list: %s", path,
                            strerror(errno));
    wick_status status = WICK_OK;
    for (struct dirent *entry; status == WICK_OK && (errno = 0, entry = readdir(dir));) {
        char name[PATH_BYTES], full[PATH_BYTES];
        struct stat st;
        if (entry->d_name[0] == '.') continue;
        if (snprintf(name, sizeof name, "%s%s", below, entry->d_name) >= (int)sizeof name ||
            snprintf(full, sizeof full, "%s/%s", f->path, name) >= (int)sizeof full - 1) {
            status =
                wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: a path of more than %d bytes", f->path, PATH_BYTES - 1);
        } else if (stat(full, &st) != 0) {
            f->passed++; /* a link to nothing */
        } else if (S_ISDIR(st.st_mode)) {
            strcat(name, "/");
            status = list(f, name, depth + 1, msg);
        } else if (S_ISREG(st.st_mode) && is_wanted(f, name)) {
            if (!wick_grow(&f->alloc, (void **)&f->names, &f->cap, f->n + 1, sizeof *f->names) ||
                !(f->names[f->n] = wick_arena_strdup(&f->arena, name)))
                status = no_memory(f, msg);
            else f->n++, status = survey(f, name, msg);
        }
        errno = 0;
    }
    if (status == WICK_OK && errno)
        status = wick_msg_set(msg, WICK_ERR_IO, "%s: cannot list: %s", path, strerror(errno));
    closedir(dir);
    return status;
}

static wick_status open_folder(wick_files *f, wick_msg *msg) {
    f->form = "folder";
    WICK_TRY(list(f, "", 0, msg));
    if (f->n) qsort(f->names, f->n, sizeof *f->names, by_bytes);
    return WICK_OK;
}

static wick_status next_of_folder(wick_files *f, wick_file *out, wick_msg *msg) {
    char path[2 * PATH_BYTES];
    out->name = f->names[f->next++];
    WICK_TRY(label_of(f, out->name, &out->label, msg));
    snprintf(path, sizeof path, "%s/%s", f->path, out->name);
    wick_map_close(&f->map);
    WICK_TRY(wick_map_read(&f->map, path, msg));
    out->data = f->map.data;
    out->size = out->stored = f->map.size;
    return WICK_OK;
}

/* ---- archives ---------------------------------------------------------------------------------------------------- */

static wick_status begin_tar(wick_files *f, wick_msg *msg) {
    wick_tar_close(f->tar);
    return wick_tar_open(f->tar, f->map.data, f->map.size, f->path, msg);
}

static wick_status next_wanted(wick_files *f, bool *more, wick_msg *msg) {
    do WICK_TRY(wick_tar_next(f->tar, more, msg));
    while (*more && !is_wanted(f, f->tar->name));
    return WICK_OK;
}

static wick_status open_tar(wick_files *f, wick_msg *msg) {
    bool more = true;
    f->form = "tar";
    if (!(f->tar = wick_calloc(&f->alloc, sizeof *f->tar))) return no_memory(f, msg);
    WICK_TRY(begin_tar(f, msg));
    while (more) {
        WICK_TRY(next_wanted(f, &more, msg));
        if (more) WICK_TRY(survey(f, f->tar->name, msg));
    }
    return begin_tar(f, msg);
}

static wick_status grow(wick_files *f, size_t size, wick_msg *msg) {
    if (size <= f->room) return WICK_OK;
    wick_release(&f->alloc, f->buffer, f->room);
    f->buffer = wick_alloc(&f->alloc, size);
    f->room = f->buffer ? size : 0;
    return f->buffer ? WICK_OK : wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu bytes", f->path, size);
}

static wick_status next_of_tar(wick_files *f, wick_file *out, bool *more, wick_msg *msg) {
    const int64_t passed = f->passed;
    const wick_status status = next_wanted(f, more, msg);
    f->passed = passed; /* they were counted at first */
    if (status != WICK_OK || !*more) {
        *more = false;
        if (status == WICK_OK) f->next = f->count;
        return status;
    }
    f->next++;
    *more = false; /* until the bytes are there: a damaged archive has nothing behind the damage */
    out->name = f->tar->name;
    WICK_TRY(label_of(f, out->name, &out->label, msg));
    WICK_TRY(grow(f, f->tar->size, msg));
    out->size = out->stored = f->tar->size;
    out->data = f->buffer;
    WICK_TRY(wick_tar_read(f->tar, f->buffer, msg));
    *more = true;
    return WICK_OK;
}

/* ---- IDX --------------------------------------------------------------------------------------------------------- */

static bool has_idx(const char *folder, const char *split) {
    for (int rank = 1; rank <= WICK_MAX_DIMS; rank++)
        for (int gz = 0; gz < 2; gz++) {
            char path[PATH_BYTES];
            const int n = snprintf(path, sizeof path, "%s/%s-images-idx%d-ubyte%s", folder,
                                   strcmp(split, "test") == 0 ? "t10k" : split, rank, gz ? ".gz" : "");
            if (n < (int)sizeof path && access(path, R_OK) == 0) return true;
        }
    return false;
}

static wick_status open_idx(wick_files *f, const char *split, bool set, wick_msg *msg) {
    f->form = "idx";
    f->arrays = true;
    f->spec = (wick_spec){.name = "image", .dtype = WICK_U8};
    if (set) {
        const wick_status status = wick_dataset_open(f->ctx, f->path, split, &f->set);
        if (status != WICK_OK) return wick_msg_set(msg, status, "%s", wick_context_error(f->ctx));
        f->count = wick_dataset_count(f->set);
        f->classes = wick_dataset_classes(f->set);
        f->spec.rank = wick_dataset_rank(f->set);
        memcpy(f->spec.dims, wick_dataset_dims(f->set), (size_t)f->spec.rank * sizeof *f->spec.dims);
        return WICK_OK;
    }
    WICK_TRY(wick_idx_parse(&f->idx, f->map.data, f->map.size, f->path, &f->alloc, msg));
    f->count = f->idx.dims[0];
    f->spec = (wick_spec){.name = "array", .dtype = f->idx.dtype, .rank = f->idx.rank - 1};
    memcpy(f->spec.dims, f->idx.dims + 1, (size_t)f->spec.rank * sizeof *f->spec.dims);
    return WICK_OK;
}

static wick_status next_of_idx(wick_files *f, wick_file *out) {
    const int64_t i = f->next++;
    out->name = "";
    out->size = out->stored = wick_spec_bytes(&f->spec);
    out->data = f->set ? (const void *)wick_dataset_sample(f->set, i) : (uint8_t *)f->idx.data + (size_t)i * out->size;
    out->label = f->set ? wick_dataset_label(f->set, i) : -1;
    return WICK_OK;
}

/* ---- record files ------------------------------------------------------------------------------------------------ */

static wick_status open_records(wick_files *f, const wick_files_options *o, wick_msg *msg) {
    f->form = "records";
    WICK_TRY(wick_records_parse(f->ctx, &f->map, f->path,
                                &(wick_records_options){.salvage = o->salvage, .copy = o->copy}, &f->records, msg));
    WICK_TRY(wick_packed_read(&f->meta, wick_records_meta(f->records), &f->arena, f->path, msg));
    f->count = wick_records_count(f->records);
    f->classes = f->meta.classes;
    f->class_names = f->meta.names;
    f->arrays = f->meta.kind == WICK_PACKED_ARRAY;
    f->spec = f->meta.spec;
    return WICK_OK;
}

static wick_status next_of_records(wick_files *f, wick_file *out, wick_msg *msg) {
    const int64_t i = f->next++;
    wick_record_entry e;
    size_t before = 0;
    WICK_TRY(wick_records_find(f->records, i, &e, msg));
    out->label = e.label;
    out->stored = e.stored;
    if (e.label < -1 || (f->classes && e.label >= f->classes))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: record %lld: its label is %d, of %lld classes", f->path,
                            (long long)i, e.label, (long long)f->classes);
    WICK_TRY(grow(f, e.size, msg));
    WICK_TRY(wick_records_read(f->records, i, f->buffer, f->room, NULL, msg));
    if (f->meta.kind == WICK_PACKED_FILES)
        WICK_TRY(wick_packed_name(f->buffer, e.size, f->name, &before, f->path, i, msg));
    else if (f->arrays) f->name[0] = 0;
    else snprintf(f->name, sizeof f->name, "%09lld", (long long)i);
    if (f->arrays && e.size != wick_spec_bytes(&f->spec))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: record %lld (byte %llu): %u bytes; an array has %zu", f->path,
                            (long long)i, (unsigned long long)e.offset, e.size, wick_spec_bytes(&f->spec));
    out->name = f->name;
    out->data = f->buffer + before;
    out->size = e.size - before;
    return WICK_OK;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* f->path becomes what is to be opened: of a folder with splits the file or folder of this one. *set: it holds IDX
 * files. */
static wick_status resolve(wick_files *f, const char *path, const char *split, bool *set, wick_msg *msg) {
    static const char *const ends[] = {".wrec", ".tar", ".tar.gz", ".tgz", ".tar.zst", ""};
    char at[PATH_BYTES], found[PATH_BYTES];
    const bool known = access(path, F_OK) != 0 && wick_dataset_find(path, found, sizeof found);
    if (known) path = found;
    snprintf(at, sizeof at, "%.4000s/%.80s.wrec", path, split);
    *set = is_folder(path) && has_idx(path, split) &&
           access(at, F_OK) != 0; /* as wick_dataset_open has it: a record file first */
    for (size_t i = 0; is_folder(path) && !*set && i < WICK_COUNTOF(ends); i++) {
        if (snprintf(at, sizeof at, "%s/%s%s", path, split, ends[i]) >= (int)sizeof at || access(at, F_OK) != 0 ||
            is_folder(at) != !*ends[i])
            continue;
        path = at;
        break;
    }
    f->path = wick_arena_strdup(&f->arena, path);
    return f->path ? WICK_OK : wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
}

/* The path of a file from afar. */
static wick_status fetch(wick_context *ctx, const char *url, wick_remote *given, char *to, size_t room, wick_msg *msg) {
    wick_remote *remote, *own;
    WICK_TRY(wick_remote_for(ctx, 1, &url, given, &remote, &own, msg));
    wick_status status = wick_remote_get(remote, url, to, room);
    if (status != WICK_OK) status = wick_msg_set(msg, status, "%s", wick_remote_error(remote));
    wick_remote_free(&own);
    return status;
}

static wick_status open_any(wick_files *f, const char *path, const wick_files_options *o, wick_msg *msg) {
    const char *split = o->split ? o->split : "train";
    bool set;
    char kept[PATH_BYTES];
    f->all = o->all;
    if (!path || !*path) return wick_msg_set(msg, WICK_ERR_INVALID, "no path");
    if (wick_remote_is_url(path)) {
        WICK_TRY(fetch(f->ctx, path, o->remote, kept, sizeof kept, msg));
        path = kept;
    }
    if (strchr(split, '/') || !*split)
        return wick_msg_set(msg, WICK_ERR_INVALID, "a split is a name such as train or test, not \"%s\"", split);
    WICK_TRY(resolve(f, path, split, &set, msg));
    if (set) return open_idx(f, split, true, msg);
    if (is_folder(f->path)) return open_folder(f, msg);
    WICK_TRY(wick_map_open(&f->map, f->path, msg));
    const uint8_t *p = f->map.data;
    if (f->map.size >= 8 && memcmp(p, WICK_RECORDS_MAGIC, 8) == 0) return open_records(f, o, msg);
    const char *name = strrchr(f->path, '/') ? strrchr(f->path, '/') + 1 : f->path;
    const bool idx = (f->map.size >= 4 && !p[0] && !p[1] && p[2] >= 8 && p[2] <= 14 && p[3] && p[3] <= WICK_MAX_DIMS) ||
                     (wick_gzip_is(p, f->map.size) && strstr(name, "-idx"));
    return idx ? open_idx(f, split, false, msg) : open_tar(f, msg);
}

wick_status wick_files_open(wick_context *ctx, const char *path, const wick_files_options *options, wick_files **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "files_open: out is NULL");
    static const wick_files_options none;
    wick_msg msg = {0};
    wick_files *f = *out = wick_calloc(&ctx->alloc, sizeof *f);
    if (!f) return wick_context_fail(ctx, WICK_ERR_NOMEM, "files: out of memory");
    f->ctx = ctx;
    f->alloc = ctx->alloc;
    wick_arena_init(&f->arena, &f->alloc, 1 << 14);
    const wick_status status = open_any(f, path, options ? options : &none, &msg);
    if (status == WICK_OK) return WICK_OK;
    wick_files_free(out);
    return wick_context_fail(ctx, status, "files: %s", msg.text);
}

void wick_files_free(wick_files **slot) {
    wick_files *f = slot ? *slot : NULL;
    if (!f) return;
    *slot = NULL;
    const wick_allocator alloc = f->alloc;
    if (f->tar) wick_tar_close(f->tar);
    wick_release(&alloc, f->tar, sizeof *f->tar);
    wick_map_close(&f->map);
    wick_records_free(&f->records);
    wick_dataset_free(&f->set);
    if (f->idx.data) wick_idx_free(&f->idx);
    wick_release(&alloc, f->names, f->cap * sizeof *f->names);
    if (f->class_cap) wick_release(&alloc, f->class_names, f->class_cap * sizeof *f->class_names);
    wick_release(&alloc, f->buffer, f->room);
    wick_arena_free(&f->arena);
    wick_release(&alloc, f, sizeof *f);
}

const char *wick_files_path(const wick_files *f) { return f->path; }
const char *wick_files_form(const wick_files *f) { return f->form; }
int64_t wick_files_count(const wick_files *f) { return f->count; }
int64_t wick_files_passed(const wick_files *f) { return f->passed; }
int64_t wick_files_classes(const wick_files *f) { return f->classes; }
const char *wick_files_class(const wick_files *f, int64_t label) {
    if (label < 0 || label >= f->classes) return NULL;
    return f->set ? wick_dataset_class_name(f->set, label) : f->class_names[label];
}
const wick_spec *wick_files_array(const wick_files *f) { return f->arrays ? &f->spec : NULL; }
const wick_records *wick_files_records(const wick_files *f) { return f->records; }

wick_status wick_files_take(wick_files *f, wick_file *out, bool *more, wick_msg *msg) {
    *out = (wick_file){.name = "", .label = -1};
    *more = f->next < f->count;
    if (f->tar) return next_of_tar(f, out, more, msg);
    if (!*more) return WICK_OK;
    return f->records ? next_of_records(f, out, msg) : f->arrays ? next_of_idx(f, out) : next_of_folder(f, out, msg);
}

wick_status wick_files_next(wick_files *f, wick_file *out, bool *more) {
    if (!out || !more) return wick_context_fail(f->ctx, WICK_ERR_INVALID, "files_next: out or more is NULL");
    wick_msg msg = {0};
    const wick_status status = wick_files_take(f, out, more, &msg);
    return status == WICK_OK ? WICK_OK : wick_context_fail(f->ctx, status, "files: %s", msg.text);
}

wick_status wick_files_rewind(wick_files *f) {
    wick_msg msg = {0};
    f->next = 0;
    const wick_status status = f->tar ? begin_tar(f, &msg) : WICK_OK;
    return status == WICK_OK ? WICK_OK : wick_context_fail(f->ctx, status, "files: %s", msg.text);
}

wick_status wick_files_at(wick_files *f, int64_t i, wick_file *out) {
    if (!out) return wick_context_fail(f->ctx, WICK_ERR_INVALID, "files_at: out is NULL");
    bool more = true;
    if (i < 0 || i >= f->count)
        return wick_context_fail(f->ctx, WICK_ERR_INDEX, "files: %s: there is no number %lld: it has %lld", f->path,
                                 (long long)i, (long long)f->count);
    if (!f->tar) f->next = i;
    else if (f->next > i && wick_files_rewind(f) != WICK_OK) return wick_context_status(f->ctx);
    while (f->tar && f->next < i && more)
        if (wick_files_next(f, out, &more) != WICK_OK) return wick_context_status(f->ctx);
    return wick_files_next(f, out, &more);
}

static wick_status check_label(const wick_files *f, int64_t i, int64_t label, wick_msg *msg) {
    if (label >= -1 && (!f->classes || label < f->classes)) return WICK_OK;
    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: record %lld: its label is %lld, of %lld classes", f->path,
                        (long long)i, (long long)label, (long long)f->classes);
}

wick_status wick_files_label(const wick_files *f, int64_t i, int64_t *label, size_t *size, wick_msg *msg) {
    wick_record_entry e;
    *size = 0;
    if (!f->records) return label_of(f, f->names[i], label, msg);
    WICK_TRY(wick_records_find(f->records, i, &e, msg));
    *label = e.label;
    *size = e.size;
    return check_label(f, i, e.label, msg);
}

void wick_files_ahead(const wick_files *f, const int64_t *files, int64_t n) {
    if (f->records) wick_records_ahead(f->records, files, n);
}

wick_status wick_files_bytes(const wick_files *f, int64_t i, const wick_allocator *alloc, wick_file_bytes *out,
                             wick_msg *msg) {
    out->own = NULL;
    out->room = out->size = 0;
    out->label = -1;
    if (f->records) {
        wick_record_entry e;
        size_t before = 0;
        char name[WICK_FILE_NAME_MAX] = "";
        WICK_TRY(wick_records_find(f->records, i, &e, msg));
        WICK_TRY(check_label(f, i, e.label, msg));
        if (!(out->own = wick_alloc(alloc, e.size)))
            return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %u bytes", f->path, e.size);
        out->room = e.size;
        WICK_TRY(wick_records_read(f->records, i, out->own, e.size, NULL, msg));
        if (f->meta.kind == WICK_PACKED_FILES)
            WICK_TRY(wick_packed_name(out->own, e.size, name, &before, f->path, i, msg));
        snprintf(out->name, sizeof out->name, "%s: record %lld%s%s", f->path, (long long)i, *name ? ": " : "", name);
        out->data = out->own + before;
        out->size = e.size - before;
        out->label = e.label;
        return WICK_OK;
    }
    wick_map map;
    snprintf(out->name, sizeof out->name, "%s/%s", f->path, f->names[i]);
    WICK_TRY(label_of(f, f->names[i], &out->label, msg));
    WICK_TRY(wick_map_read(&map, out->name, msg));
    const size_t size = map.size;
    wick_status status = WICK_OK;
    if (!(out->own = wick_alloc(alloc, size)))
        status = wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu bytes", out->name, size);
    if (status == WICK_OK) {
        out->room = out->size = size;
        if (size) memcpy(out->own, map.data, size);
        out->data = out->own;
    }
    wick_map_close(&map);
    return status;
}
