/* pack.c: files into a record file, and out of it: what lies in a record, what meta says, and the writing of folders,
 * archives and IDX. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temp.h"
#include "data/sets/files.h"

/* ---- meta -------------------------------------------------------------------------------------------------------- */

static const char *const kinds[] = {"", "files", "array"};

/* A non-negative number of at most 18 digits before a blank or the end; false: none. */
static bool read_number(const char **at, const char *end, int64_t *value) {
    const char *p = *at, *begin = p;
    *value = 0;
    for (; p < end && *p >= '0' && *p <= '9' && p - begin < 18; p++) *value = *value * 10 + (*p - '0');
    if (p == begin || (p < end && *p != ' ')) return false;
    *at = p + (p < end);
    return true;
}

static wick_status read_line(wick_packed_meta *m, const char *line, size_t n, size_t *cap, wick_arena *arena,
                             const char *name, wick_msg *msg) {
    const char *blank = memchr(line, ' ', n), *rest = blank ? blank + 1 : line + n, *end = line + n;
    const size_t key = blank ? (size_t)(blank - line) : n, left = (size_t)(end - rest);
    bool good = true;
    if (key == 4 && memcmp(line, "kind", 4) == 0) {
        for (size_t k = 1; k < WICK_COUNTOF(kinds); k++)
            if (strlen(kinds[k]) == left && memcmp(rest, kinds[k], left) == 0) m->kind = (wick_packed)k;
    } else if (key == 5 && memcmp(line, "dtype", 5) == 0) {
        char text[16] = "";
        memcpy(text, rest, WICK_MIN(left, sizeof text - 1));
        m->spec.dtype = wick_dtype_from_name(text);
        good = m->spec.dtype != WICK_DTYPE_COUNT && wick_dtype_size(m->spec.dtype) && left < sizeof text;
    } else if (key == 4 && memcmp(line, "dims", 4) == 0) {
        for (m->spec.rank = 0; rest < end && good; m->spec.rank++)
            good = m->spec.rank < WICK_MAX_DIMS && read_number(&rest, end, &m->spec.dims[m->spec.rank]);
    } else if (key == 5 && memcmp(line, "class", 5) == 0) {
        char *copy = wick_arena_alloc(arena, left + 1);
        if ((size_t)m->classes == *cap) { /* twice as many, in the arena: those before are given up */
            const char **more = wick_arena_alloc(arena, (*cap = 2 * *cap + 16) * sizeof *more);
            if (more && m->classes) memcpy(more, m->names, (size_t)m->classes * sizeof *more);
            m->names = more;
        }
        if (!copy || !m->names) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
        memcpy(copy, rest, left);
        copy[left] = 0;
        for (size_t i = 0; i < left; i++) good &= (unsigned char)copy[i] >= ' ' && copy[i] != 127;
        good &= m->classes < WICK_FILE_CLASSES_MAX && left > 0 && left < 256;
        m->names[m->classes++] = copy;
    }
    return good ? WICK_OK
                : wick_msg_set(msg, WICK_ERR_FORMAT, "%s: meta: \"%.*s\" cannot be", name,
                               (int)WICK_MIN(n, (size_t)100), line);
}

wick_status wick_packed_read(wick_packed_meta *m, const char *text, wick_arena *arena, const char *name,
                             wick_msg *msg) {
    size_t cap = 0;
    *m = (wick_packed_meta){.spec = {.name = "array", .dtype = WICK_U8}};
    for (const char *line = text; *line;) {
        const size_t n = strcspn(line, "\n");
        WICK_TRY(read_line(m, line, n, &cap, arena, name, msg));
        line += n + (line[n] == '\n');
    }
    if (m->kind == WICK_PACKED_ARRAY && wick_spec_bytes(&m->spec) == SIZE_MAX)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: meta: dims of more than 2^63 bytes", name);
    return WICK_OK;
}

wick_status wick_packed_name(const uint8_t *record, size_t size, char name[WICK_FILE_NAME_MAX], size_t *before,
                             const char *path, int64_t i, wick_msg *msg) {
    const size_t n = size >= 2 ? (size_t)record[0] | (size_t)record[1] << 8 : SIZE_MAX;
    *before = 2 + n;
    if (size < 2 || n > size - 2 || n >= WICK_FILE_NAME_MAX || memchr(record + 2, 0, n))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: record %lld: it does not begin with the name of a file", path,
                            (long long)i);
    memcpy(name, record + 2, n);
    name[n] = 0;
    return WICK_OK;
}

/* The whole text, for wick_release with *bytes. */
static char *make_meta(const wick_files *f, const wick_allocator *alloc, size_t *bytes) {
    const wick_spec *a = wick_files_array(f);
    *bytes = 512;
    for (int64_t k = 0; k < wick_files_classes(f); k++) *bytes += strlen(wick_files_class(f, k)) + 8;
    char *text = wick_alloc(alloc, *bytes);
    if (!text) return NULL;
    wick_str s = wick_str_on(text, *bytes);
    wick_str_add(&s, "kind %s\n", kinds[a ? WICK_PACKED_ARRAY : WICK_PACKED_FILES]);
    if (a) {
        wick_str_add(&s, "dtype %s\ndims", wick_dtype_name(a->dtype));
        for (int d = 0; d < a->rank; d++) wick_str_add(&s, " %lld", (long long)a->dims[d]);
        wick_str_add(&s, "\n");
    }
    for (int64_t k = 0; k < wick_files_classes(f); k++) wick_str_add(&s, "class %s\n", wick_files_class(f, k));
    return text;
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* What goes through the files, for both directions. */
typedef struct job {
    wick_files *f;
    const wick_pack_options *o;
    wick_pack_report report;
    int64_t of;
    int32_t *labels; /* append: what the file has for each class; NULL: the same */
    size_t labels_bytes;
    uint8_t *buffer;
    size_t room;
} job;

static wick_status take(job *j, wick_file *file, bool *more) {
    wick_status status = WICK_OK;
    if (!j->o->order) status = wick_files_next(j->f, file, more);
    else if ((*more = j->report.count < j->o->n_order))
        status = wick_files_at(j->f, j->o->order[j->report.count], file);
    j->report.unread = status != WICK_OK;
    return status;
}

static wick_status done(job *j, const wick_file *file) {
    j->report.count++;
    j->report.bytes += file->size;
    if (!j->o->progress || j->o->progress(j->o->user, j->report.count, j->of, j->report.bytes)) return WICK_OK;
    return wick_context_fail(wick_files_context(j->f), WICK_ERR_CANCELLED, "files: stopped");
}

/* The name, as it stands before the bytes in a record. */
static wick_status add(job *j, wick_records_writer *w, const wick_file *file, const wick_allocator *alloc) {
    wick_context *ctx = wick_files_context(j->f);
    const size_t n = strlen(file->name), all = 2 + n + file->size;
    if (file->label > INT32_MAX)
        return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "files: label %lld", (long long)file->label);
    const int32_t label = j->labels && file->label >= 0 && file->label < wick_files_classes(j->f)
                              ? j->labels[file->label]
                              : (int32_t)file->label;
    if (wick_files_array(j->f)) return wick_records_add(w, file->data, file->size, label);
    if (!wick_grow(alloc, (void **)&j->buffer, &j->room, all, 1))
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "files: %s: out of memory", file->name);
    j->buffer[0] = (uint8_t)n, j->buffer[1] = (uint8_t)(n >> 8);
    memcpy(j->buffer + 2, file->name, n);
    if (file->size) memcpy(j->buffer + 2 + n, file->data, file->size);
    return wick_records_add(w, j->buffer, all, label);
}

static wick_status begin(job *j, wick_files *f, const wick_pack_options *o) {
    static const wick_pack_options none;
    *j = (job){.f = f, .o = o ? o : &none};
    j->of = j->o->order ? j->o->n_order : wick_files_count(f);
    if (j->o->order && strcmp(wick_files_form(f), "tar") == 0)
        return wick_context_fail(wick_files_context(f), WICK_ERR_UNSUPPORTED,
                                 "files: %s: an archive is read in its own order: pack it first", wick_files_path(f));
    return wick_files_rewind(f);
}

/* What is in the file must be what is added, and have its classes. */
static wick_status match(job *j, const wick_packed_meta *m, const char *path, wick_msg *msg) {
    const wick_spec *a = wick_files_array(j->f);
    const wick_packed kind = a ? WICK_PACKED_ARRAY : WICK_PACKED_FILES;
    const int64_t classes = wick_files_classes(j->f);
    if (m->kind != kind)
        return wick_msg_set(msg, WICK_ERR_SHAPE, "%s: holds %s, and %s holds %s", path,
                            m->kind == WICK_PACKED_OTHER ? "records of another writer" : kinds[m->kind],
                            wick_files_path(j->f), kinds[kind]);
    if (a && (m->spec.dtype != a->dtype || m->spec.rank != a->rank ||
              memcmp(m->spec.dims, a->dims, (size_t)a->rank * sizeof *a->dims) != 0))
        return wick_msg_set(msg, WICK_ERR_SHAPE, "%s: its arrays are of another dtype or other dims than those of %s",
                            path, wick_files_path(j->f));
    if (!classes) return WICK_OK;
    j->labels_bytes = (size_t)classes * sizeof *j->labels;
    j->labels = wick_alloc(&wick_files_context(j->f)->alloc, j->labels_bytes);
    if (!j->labels) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    for (int64_t k = 0; k < classes; k++) {
        const char *name = wick_files_class(j->f, k);
        int64_t at = 0;
        while (at < m->classes && strcmp(m->names[at], name) != 0) at++;
        if (at == m->classes)
            return wick_msg_set(msg, WICK_ERR_INVALID,
                                "%s: class \"%s\" of %s is none of its %lld: pack all of them together", path, name,
                                wick_files_path(j->f), (long long)m->classes);
        j->labels[k] = (int32_t)at;
    }
    return WICK_OK;
}

/* The writer first, which is the only one from then on. */
static wick_status extend(job *j, const char *path, wick_records_writer **w) {
    wick_context *ctx = wick_files_context(j->f);
    wick_records *r;
    wick_packed_meta m;
    wick_arena arena;
    wick_msg msg = {0};
    WICK_TRY(wick_records_append(ctx, path, j->o->write.level, w));
    WICK_TRY(wick_records_open(ctx, path, NULL, &r));
    wick_arena_init(&arena, &ctx->alloc, 0);
    wick_status status = wick_packed_read(&m, wick_records_meta(r), &arena, path, &msg);
    if (status == WICK_OK) status = match(j, &m, path, &msg);
    wick_arena_free(&arena);
    wick_records_free(&r);
    return status == WICK_OK ? WICK_OK : wick_context_fail(ctx, status, "files: %s", msg.text);
}

static wick_status create(job *j, const char *path, wick_records_writer **w) {
    wick_context *ctx = wick_files_context(j->f);
    size_t bytes;
    char *meta = make_meta(j->f, &ctx->alloc, &bytes);
    if (!meta) return wick_context_fail(ctx, WICK_ERR_NOMEM, "files: %s: out of memory", path);
    wick_records_write_options write = j->o->write;
    write.meta = meta;
    const wick_status status = wick_records_create(ctx, path, &write, w);
    wick_release(&ctx->alloc, meta, bytes);
    return status;
}

wick_status wick_files_pack(wick_files *f, const char *path, const wick_pack_options *options,
                            wick_pack_report *report) {
    job j;
    wick_context *ctx = wick_files_context(f);
    wick_records_writer *w = NULL;
    wick_status status = begin(&j, f, options);
    if (status != WICK_OK) return status;
    status = j.o->append ? extend(&j, path, &w) : create(&j, path, &w);
    for (bool more = true; status == WICK_OK && more;) {
        wick_file file;
        status = take(&j, &file, &more);
        if (status != WICK_OK || !more) break;
        status = add(&j, w, &file, &ctx->alloc);
        if (status == WICK_OK) status = done(&j, &file);
    }
    if (status == WICK_OK) status = wick_records_commit(&w);
    else wick_records_abort(&w);
    wick_release(&ctx->alloc, j.buffer, j.room);
    wick_release(&ctx->alloc, j.labels, j.labels_bytes);
    struct stat st;
    if (status == WICK_OK && stat(path, &st) == 0) j.report.stored = (uint64_t)st.st_size;
    if (report) *report = j.report;
    return status;
}

/* ---- unpacking --------------------------------------------------------------------------------------------------- */

/* Whether a path of the file's own leads nowhere but below the folder that is made. */
static bool is_safe(const char *name) {
    if (!*name) return false;
    for (const char *part = name;;) {
        const size_t n = strcspn(part, "/");
        if (!n || n > 255 || (n == 2 && part[0] == '.' && part[1] == '.')) return false;
        if (!part[n]) return true;
        part += n + 1;
    }
}

/* The folders above a path below `folder`. */
static bool make_folders(int folder, char *name) {
    for (char *p = name; (p = strchr(p, '/')) != NULL; *p++ = '/') {
        *p = 0;
        const bool made = mkdirat(folder, name, 0777) == 0 || errno == EEXIST;
        if (!made) return *p = '/', false;
    }
    return true;
}

static bool write_all(int fd, const uint8_t *data, size_t size) {
    while (size) {
        const ssize_t n = write(fd, data, WICK_MIN(size, (size_t)1 << 30));
        if (n > 0) data += n, size -= (size_t)n;
        else if (n == 0) return errno = ENOSPC, false;
        else if (errno != EINTR) return false;
    }
    return true;
}

/* Where files go: a folder under another name, or an archive. */
typedef struct target {
    wick_context *ctx;
    const char *path;
    int folder;
    char temp[4200];
    wick_writer *tar, *images, *labels; /* of an archive; of a folder of arrays */
    bool is_tar;
} target;

static wick_status failed(const target *t, const char *what) {
    return wick_context_fail(t->ctx, WICK_ERR_IO, "files: %s: cannot write %s: %s", t->path, what, strerror(errno));
}

static wick_status write_file(target *t, const wick_file *file) {
    char name[WICK_FILE_NAME_MAX];
    snprintf(name, sizeof name, "%s", file->name);
    if (!is_safe(name))
        return wick_context_fail(t->ctx, WICK_ERR_FORMAT, "files: \"%s\" is no name for a file below %s", name,
                                 t->path);
    if (!make_folders(t->folder, name)) return failed(t, name);
    const int fd = openat(t->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0 && errno == EEXIST)
        return wick_context_fail(t->ctx, WICK_ERR_FORMAT, "files: two files are called \"%s\"", name);
    if (fd < 0) return failed(t, name);
    const bool good = write_all(fd, file->data, file->size);
    const int error = errno;
    if (close(fd) != 0 && good) return failed(t, name);
    errno = error;
    return good ? WICK_OK : failed(t, name);
}

/* A header of POSIX.1-2017's ustar; a name that does not fit its fields goes into a pax record before it. */
static wick_status tar_header(wick_writer *w, const char *name, char type, uint64_t size, wick_msg *msg) {
    char h[512] = {0};
    unsigned sum = 0;
    memcpy(h, name, WICK_MIN(strlen(name), (size_t)100));
    memcpy(h + 100, "0000644\0000000000\0000000000", 24);
    snprintf(h + 124, 12, "%011llo", (unsigned long long)size);
    memcpy(h + 136, "00000000000", 12);
    memset(h + 148, ' ', 8);
    h[156] = type;
    memcpy(h + 257, "ustar\00000", 8);
    for (size_t i = 0; i < sizeof h; i++) sum += (unsigned char)h[i];
    snprintf(h + 148, 8, "%06o", sum);
    return wick_writer_write(w, h, sizeof h, msg);
}
static wick_status tar_pad(wick_writer *w, uint64_t size, wick_msg *msg) {
    static const char zeros[512];
    return wick_writer_write(w, zeros, (size_t)(-size % sizeof zeros), msg);
}
static wick_status tar_file(wick_writer *w, const wick_file *file, wick_msg *msg) {
    const size_t n = strlen(file->name);
    if (file->size >> 33) return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: 8 GiB or more in an archive", file->name);
    if (n > 100) {
        char record[WICK_FILE_NAME_MAX + 32];
        size_t all = n + 7, digits = 1; /* a blank, "path=" and a line's end */
        for (size_t k = 10; all + digits >= k; k *= 10) digits++;
        const int length = snprintf(record, sizeof record, "%zu path=%s\n", all + digits, file->name);
        WICK_TRY(tar_header(w, "PaxHeader", 'x', (uint64_t)length, msg));
        WICK_TRY(wick_writer_write(w, record, (size_t)length, msg));
        WICK_TRY(tar_pad(w, (uint64_t)length, msg));
    }
    WICK_TRY(tar_header(w, file->name, '0', file->size, msg));
    WICK_TRY(wick_writer_write(w, file->data, file->size, msg));
    return tar_pad(w, file->size, msg);
}

static wick_status told(const target *t, wick_status status, const wick_msg *msg) {
    return status == WICK_OK ? WICK_OK : wick_context_fail(t->ctx, status, "files: %s", msg->text);
}

/* The first bytes of an IDX file. */
static wick_status idx_header(wick_writer *w, wick_dtype dtype, int64_t count, int rank, const int64_t *dims,
                              const char *path, wick_msg *msg) {
    static const struct {
        wick_dtype dtype;
        uint8_t code;
    } codes[] = {{WICK_U8, 8}, {WICK_I8, 9}, {WICK_I16, 11}, {WICK_I32, 12}, {WICK_F32, 13}, {WICK_F64, 14}};
    uint8_t h[4 + 4 * (WICK_MAX_DIMS + 1)] = {0};
    for (size_t i = 0; i < WICK_COUNTOF(codes); i++)
        if (codes[i].dtype == dtype) h[2] = codes[i].code;
    if (!h[2] || rank >= WICK_MAX_DIMS)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: IDX has no %s of %d dims", path, wick_dtype_name(dtype),
                            rank + 1);
    h[3] = (uint8_t)(rank + 1);
    for (int d = 0; d <= rank; d++) {
        const int64_t v = d ? dims[d - 1] : count;
        if (v > UINT32_MAX)
            return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: IDX has no extent of %lld", path, (long long)v);
        for (int b = 0; b < 4; b++) h[4 + 4 * d + b] = (uint8_t)(v >> 8 * (3 - b));
    }
    return wick_writer_write(w, h, 8 + 4 * (size_t)rank, msg);
}

static wick_status begin_arrays(target *t, const job *j, wick_msg *msg) {
    const wick_spec *a = wick_files_array(j->f);
    char path[4400];
    snprintf(path, sizeof path, "%s/images-idx%d-ubyte", t->temp, a->rank + 1);
    WICK_TRY(wick_writer_open(&t->images, path, msg));
    WICK_TRY(idx_header(t->images, a->dtype, j->of, a->rank, a->dims, t->path, msg));
    if (!wick_files_classes(j->f)) return WICK_OK;
    snprintf(path, sizeof path, "%s/labels-idx1-ubyte", t->temp);
    WICK_TRY(wick_writer_open(&t->labels, path, msg));
    return idx_header(t->labels, WICK_U8, j->of, 0, NULL, t->path, msg);
}

static wick_status write_array(target *t, const job *j, const wick_file *file, wick_msg *msg) {
    const size_t elem = wick_dtype_size(wick_files_array(j->f)->dtype);
    const uint8_t *p = file->data;
    const uint8_t label = (uint8_t)file->label;
    if (t->labels && (file->label < 0 || file->label > 255))
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: array %lld has label %lld; IDX has 0 to 255", t->path,
                            (long long)j->report.count, (long long)file->label);
    if (t->labels) WICK_TRY(wick_writer_write(t->labels, &label, 1, msg));
    if (elem == 1) return wick_writer_write(t->images, p, file->size, msg);
    for (size_t i = 0; i + elem <= file->size; i += elem) {
        uint8_t big[8];
        for (size_t b = 0; b < elem; b++) big[b] = p[i + elem - 1 - b];
        WICK_TRY(wick_writer_write(t->images, big, elem, msg));
    }
    return WICK_OK;
}

static wick_status open_target(target *t, const job *j, wick_msg *msg) {
    const size_t n = strlen(t->path);
    struct stat st;
    t->is_tar = n > 4 && strcmp(t->path + n - 4, ".tar") == 0;
    if (n > 4000 || !n) return wick_msg_set(msg, WICK_ERR_INVALID, "\"%.100s\" is no path to write to", t->path);
    if (lstat(t->path, &st) == 0) return wick_msg_set(msg, WICK_ERR_INVALID, "%s: is there already", t->path);
    if (t->is_tar && wick_files_array(j->f))
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: arrays become IDX files in a folder, not an archive",
                            t->path);
    if (t->is_tar) return wick_writer_open(&t->tar, t->path, msg);
    char base[4001];
    snprintf(base, sizeof base, "%.*s", (int)(n - (t->path[n - 1] == '/')), t->path);
    const char *slash = strrchr(base, '/');
    const int above = wick_folder_of(base);
    if (above >= 0) {
        wick_temp_clean(above, slash ? slash + 1 : base);
        close(above);
    }
    int error = EEXIST;
    for (int i = 0; i < 64 && error == EEXIST; i++) { /* of a process of the same number */
        wick_temp_name(t->temp, base);
        error = mkdir(t->temp, 0777) == 0 ? 0 : errno;
    }
    if (error)
        return t->temp[0] = 0, wick_msg_set(msg, WICK_ERR_IO, "%s: cannot be made: %s", t->path, strerror(error));
    t->folder = open(t->temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (t->folder < 0) return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot be opened: %s", t->path, strerror(errno));
    (void)flock(t->folder, LOCK_EX | LOCK_NB); /* as wick_temp_create's */
    return wick_files_array(j->f) ? begin_arrays(t, j, msg) : WICK_OK;
}

static wick_status commit(target *t, wick_msg *msg) {
    if (t->is_tar) {
        static const char zeros[1024];
        WICK_TRY(wick_writer_write(t->tar, zeros, sizeof zeros, msg));
        return wick_writer_commit(&t->tar, msg);
    }
    if (t->images) WICK_TRY(wick_writer_commit(&t->images, msg));
    if (t->labels) WICK_TRY(wick_writer_commit(&t->labels, msg));
    if (syncfs(t->folder) != 0 || rename(t->temp, t->path) != 0)
        return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot be made: %s", t->path, strerror(errno));
    t->temp[0] = 0;
    return WICK_OK;
}

static void give_up(target *t) {
    wick_writer_abort(&t->tar);
    wick_writer_abort(&t->images);
    wick_writer_abort(&t->labels);
    if (t->folder >= 0) close(t->folder);
    if (t->temp[0]) wick_remove_tree(AT_FDCWD, t->temp);
}

wick_status wick_files_unpack(wick_files *f, const char *path, const wick_pack_options *options,
                              wick_pack_report *report) {
    job j;
    wick_msg msg = {0};
    target t = {.ctx = wick_files_context(f), .path = path ? path : "", .folder = -1};
    wick_status status = begin(&j, f, options);
    if (status != WICK_OK) return status;
    status = told(&t, open_target(&t, &j, &msg), &msg);
    for (bool more = true; status == WICK_OK && more;) {
        wick_file file;
        status = take(&j, &file, &more);
        if (status != WICK_OK || !more) break;
        if (t.is_tar && !is_safe(file.name))
            status = wick_context_fail(t.ctx, WICK_ERR_FORMAT, "files: \"%s\" is no name for a file in an archive",
                                       file.name);
        else if (t.is_tar) status = told(&t, tar_file(t.tar, &file, &msg), &msg);
        else if (t.images) status = told(&t, write_array(&t, &j, &file, &msg), &msg);
        else status = write_file(&t, &file);
        j.report.stored += file.size;
        if (status == WICK_OK) status = done(&j, &file);
    }
    if (status == WICK_OK) status = told(&t, commit(&t, &msg), &msg);
    give_up(&t);
    if (report) *report = j.report;
    return status;
}
