/* jit.c: fused programs become loops of machine code, by the system's C compiler, in the background.
 *
 *   plan is made:  find ── program known? its entry: the loop if it is there
 *                          new? an entry without a loop, pushed to the thread
 *                          nothing here waits, locks or starts a process
 *   thread:        prints C ── in the folder? ── no: sh ── cc, at idle priority, to a temporary name
 *                  sealed: a CRC behind it, and its own name
 *                  checked (owner, mode, extents, what it says it is), loaded, compared with the built-in kernel
 *                  published
 *
 * Every run asks the entry, so that a loop is used as soon as it is published. It is published only if its results
 * have the bits of the built-in kernel. A compiler that is at work when the process ends goes on; the next process that
 * wants its result seals it. */
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu.h"
#include "codegen/native_c.h"
#include "kernels/fused/fused.h"
#include "ops/lowering/native.h"

enum {
    MOST_PROGRAMS = 1024,           /* of a context */
    MOST_FILE = 4 << 20,            /* bytes of one compiled program */
    MOST_FOLDER = 64 << 20,         /* bytes of all; the oldest go, */
    MOST_SECONDS = 60,              /* that a compiler may take */
    MOST_AT_END = 8,                /* programs that are still given to a compiler when the context goes */
    STALE_SECONDS = 3600,           /* after which a temporary file is nobody's */
};

#define SAYS "wick_native_says" /* what a compiled file says of itself: what it was made from */

typedef enum state { QUEUED, READY, REFUSED } state;

typedef struct entry {
    wick_native native; /* first: what others have */
    struct entry *next; /* of all, newest first */
    struct entry *queued;
    void *handle;
    _Atomic(state) state; /* set after what it tells of: note, native.code */
    char note[200];
} entry;

typedef struct wick_jit {
    wick_jit_mode mode;
    pid_t process;
    char folder[PATH_MAX], compiler[PATH_MAX];
    char compiler_is[64]; /* size and time of it: another compiler makes other files */
    int folder_fd;
    char why[200]; /* nothing can be compiled; "": it can */
    entry *entries;
    int n;
    _Atomic(entry *) queue;
    atomic_bool stop;
    sem_t work;
    int stopped; /* eventfd: the thread stops waiting for a compiler */
    pthread_t thread;
    bool started;
} wick_jit;

static void settle(entry *e, state s, const char *fmt, ...) WICK_PRINTF(3, 4);
static void settle(entry *e, state s, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(e->note, sizeof e->note, fmt, args);
    va_end(args);
    atomic_store_explicit(&e->state, s, memory_order_release);
}

/* ---- the folder and the compiler --------------------------------------------------------------------------------- */

/* A folder of this user's own that nobody else may write to or read. */
static int open_folder(wick_jit *j) {
    for (char *p = j->folder + 1; (p = strchr(p, '/')); p++) { /* its parents, as far as they are not there */
        *p = 0;
        (void)!mkdir(j->folder, 0700);
        *p = '/';
    }
    (void)!mkdir(j->folder, 0700);
    const int fd = open(j->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat s;
    if (fd < 0) return snprintf(j->why, sizeof j->why, "%.140s: %s", j->folder, strerror(errno)), -1;
    if (fstat(fd, &s) == 0 && s.st_uid == geteuid() && (s.st_mode & 077) == 0) {
        if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0) return fd;
        snprintf(j->why, sizeof j->why, "%.140s may not be written", j->folder);
    } else {
        snprintf(j->why, sizeof j->why,
                 "%.100s is not a folder of this user alone (mode 0700): nothing in it is trusted", j->folder);
    }
    close(fd);
    return -1;
}

/* cc on the PATH, or what WICK_CC names. */
static bool find_compiler(wick_jit *j) {
    const char *name = secure_getenv("WICK_CC"), *path = secure_getenv("PATH");
    struct stat s;
    if (!name || !*name) name = "cc";
    bool found = strchr(name, '/') && snprintf(j->compiler, sizeof j->compiler, "%s", name) < (int)sizeof j->compiler &&
                 access(name, X_OK) == 0;
    for (const char *p = path; p && *p && !found && !strchr(name, '/'); p += strcspn(p, ":"), p += *p == ':') {
        const int n = snprintf(j->compiler, sizeof j->compiler, "%.*s/%s", (int)strcspn(p, ":"), p, name);
        found = *p == '/' && n > 0 && n < (int)sizeof j->compiler && access(j->compiler, X_OK) == 0 &&
                stat(j->compiler, &s) == 0 && S_ISREG(s.st_mode);
    }
    if (!found || stat(j->compiler, &s) != 0) {
        snprintf(j->why, sizeof j->why, "there is no C compiler: %.60s is not on the PATH", name);
        return false;
    }
    snprintf(j->compiler_is, sizeof j->compiler_is, "%lld,%lld", (long long)s.st_size, (long long)s.st_mtime);
    return true;
}

static void prepare(wick_jit *j) {
    if (j->folder[0] != '/')
        snprintf(j->why, sizeof j->why, "neither XDG_CACHE_HOME nor HOME says where compiled programs are kept");
    else if (strpbrk(j->folder, "\"\\\n"))
        snprintf(j->why, sizeof j->why, "the folder for compiled programs has a quote in its name");
    else if (find_compiler(j))
        j->folder_fd = open_folder(j);
}

/* The oldest files go until three quarters of the limit are left, and temporary ones that a compiler left behind. */
static void tidy(wick_jit *j) {
    typedef struct file {
        char name[64];
        time_t time;
        off_t size;
    } file;
    const int fd = openat(j->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0) close(fd);
        return;
    }
    file *files = NULL;
    size_t n = 0, cap = 0;
    off_t all = 0;
    for (const struct dirent *d; (d = readdir(dir));) {
        struct stat s;
        const size_t length = strlen(d->d_name);
        if (length >= sizeof files->name || fstatat(j->folder_fd, d->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(s.st_mode))
            continue;
        if (strstr(d->d_name, ".tmp")) {
            if (s.st_mtime < time(NULL) - STALE_SECONDS) unlinkat(j->folder_fd, d->d_name, 0);
        } else if (length > 3 && !strcmp(d->d_name + length - 3, ".so") &&
                   wick_grow(NULL, (void **)&files, &cap, n + 1, sizeof *files)) {
            memcpy(files[n].name, d->d_name, length + 1);
            files[n].time = s.st_mtime;
            all += files[n++].size = s.st_size;
        }
    }
    closedir(dir);
    for (const off_t goal = all > MOST_FOLDER ? MOST_FOLDER / 4 * 3 : MOST_FOLDER; all > goal;) {
        file *oldest = NULL;
        for (size_t i = 0; i < n; i++)
            if (files[i].size >= 0 && files[i].name[0] && (!oldest || files[i].time < oldest->time)) oldest = &files[i];
        if (!oldest) break;
        unlinkat(j->folder_fd, oldest->name, 0);
        all -= oldest->size;
        oldest->name[0] = 0;
    }
    wick_release(NULL, files, cap * sizeof *files);
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

#define MADE "wick made\n" /* behind what a compiler made well, until it is sealed */

/* The shell's part: the compiler in the background, and MADE; at idle priority, but where a run waits for it. These are
 * words of the shell itself: the PATH may have a compiler and nothing else. The shell ends at once, and so is waited
 * for. */
static const char script[] =
    "umask 077; T=$1 W=$2; shift 2; case $W in idle) if command -v nice >/dev/null; then set -- nice -n 19 \"$@\"; fi; "
    "if command -v chrt >/dev/null; then set -- chrt -i 0 \"$@\"; fi;; esac; { \"$@\" <&3 && echo wick made >>\"$T\"; "
    "} >&4 "
    "2>&4 &";

static bool spawn(const char *const *argv, int in, int out) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    if (posix_spawn_file_actions_init(&actions) != 0) return false;
    if (posix_spawnattr_init(&attr) != 0) return posix_spawn_file_actions_destroy(&actions), false;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    bool good = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
                posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) == 0 &&
                posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) == 0 &&
                posix_spawn_file_actions_adddup2(&actions, in, 3) == 0 &&
                posix_spawn_file_actions_adddup2(&actions, out, 4) == 0;
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    good = good && posix_spawn_file_actions_addclosefrom_np(&actions, 5) == 0;
#endif
    good =
        good &&
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) == 0 &&
        posix_spawnattr_setsigmask(&attr, &none) == 0 && posix_spawnattr_setsigdefault(&attr, &all) == 0;
    pid_t pid = 0;
    good = good && posix_spawn(&pid, "/bin/sh", &actions, &attr, (char *const *)(uintptr_t)argv, environ) == 0;
    while (good && waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return good;
}

/* Reads what the compiler says until nobody holds the pipe any more; only the first line is kept. false: it takes too
 * long, or the context goes. */
static bool await(wick_jit *j, int fd, char *said, size_t size) {
    const uint64_t end = wick_now_ns() + (uint64_t)MOST_SECONDS * 1000000000u;
    size_t n = 0;
    for (char buffer[512];;) {
        struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = j->stopped, .events = POLLIN}};
        if (poll(p, 2, 1000) < 0 && errno != EINTR) return false;
        if (p[1].revents || atomic_load(&j->stop) || wick_now_ns() > end) return false;
        if (!p[0].revents) continue;
        const ssize_t got = read(fd, buffer, sizeof buffer);
        if (got <= 0) break;
        for (ssize_t i = 0; i < got && n + 1 < size; i++) said[n++] = buffer[i];
    }
    said[n] = 0;
    said[strcspn(said, "\n")] = 0;
    return true;
}

static int source_file(const char *text, size_t n) {
    const int fd = memfd_create("wick-program", MFD_CLOEXEC);
    for (size_t at = 0; fd >= 0 && at < n;) {
        const ssize_t put = write(fd, text + at, n - at);
        if (put <= 0) return close(fd), -1;
        at += (size_t)put;
    }
    if (fd >= 0) lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Whether it is a plain file that this user alone may write to. */
static bool is_own_file(int fd, struct stat *s) {
    return fd >= 0 && fstat(fd, s) == 0 && S_ISREG(s->st_mode) && s->st_uid == geteuid() && !(s->st_mode & 022) &&
           s->st_nlink == 1;
}
static int open_file(const wick_jit *j, const char *name) {
    return openat(j->folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

/* Before the machine started: after a loss of power, not all of a file that nobody synced may be there. */
static bool is_from_before(time_t when) {
    struct timespec now, up;
    return clock_gettime(CLOCK_REALTIME, &now) != 0 || clock_gettime(CLOCK_BOOTTIME, &up) != 0 ||
           when <= now.tv_sec - up.tv_sec;
}

/* What a compiler made well, in place of MADE its CRC-32 and size, gets its name in one step. WICK_ERR_INVALID: it
 * isn't made well, or not yet. */
static wick_status seal(const wick_jit *j, const char *temporary, const char *name, wick_msg *msg) {
    struct stat s;
    char path[128];
    const int fd = open_file(j, temporary);
    const size_t mark = sizeof MADE - 1;
    const bool may_be =
        is_own_file(fd, &s) && s.st_size > (off_t)mark && s.st_size <= MOST_FILE && !is_from_before(s.st_mtime);
    const size_t size = may_be ? (size_t)s.st_size : 0, body = size - mark;
    uint8_t *all = may_be ? wick_alloc(NULL, size) : NULL;
    wick_writer *w = NULL;
    wick_status status =
        may_be ? all ? wick_read_at(fd, 0, all, size, temporary, msg) : WICK_ERR_NOMEM : WICK_ERR_INVALID;
    if (!status && memcmp(all + body, MADE, mark) != 0) status = WICK_ERR_INVALID;
    snprintf(path, sizeof path, "/proc/self/fd/%d/%s", j->folder_fd, name);
    if (!status) status = wick_writer_open(&w, path, msg);
    if (!status) status = wick_writer_write(w, all, body, msg);
    if (!status)
        status = wick_writer_write(w, (uint32_t[]){wick_crc32(0, all, body), (uint32_t)body}, 8,
                                   msg); /* little-endian, as are the CPUs that code is made for */
    if (!status) status = wick_writer_commit(&w, msg);
    wick_writer_abort(&w);
    wick_release(NULL, all, size);
    if (fd >= 0) close(fd);
    if (!status) unlinkat(j->folder_fd, temporary, 0);
    return status;
}

/* Seals what a compiler made after its process had ended. */
static bool seal_left(const wick_jit *j, const char *name) {
    const int fd = openat(j->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const size_t length = strlen(name);
    bool sealed = false;
    wick_msg msg;
    for (const struct dirent *d; dir && !sealed && (d = readdir(dir));)
        if (strncmp(d->d_name, name, length) == 0 && strncmp(d->d_name + length, ".tmp-", 5) == 0)
            sealed = seal(j, d->d_name, name, &msg) == WICK_OK;
    if (dir) closedir(dir);
    else if (fd >= 0) close(fd);
    return sealed;
}

/* Whether another context or process, perhaps one that has ended, began a compiler of this program a short while ago.
 */
static bool is_being_made(const wick_jit *j, const char *name) {
    const int fd = openat(j->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const size_t length = strlen(name);
    struct stat s;
    bool made = false;
    for (const struct dirent *d; dir && !made && (d = readdir(dir));)
        made = strncmp(d->d_name, name, length) == 0 && strncmp(d->d_name + length, ".tmp-", 5) == 0 &&
               fstatat(j->folder_fd, d->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0 &&
               llabs((long long)time(NULL) - (long long)s.st_mtime) < MOST_SECONDS;
    if (dir) closedir(dir);
    else if (fd >= 0) close(fd);
    return made;
}
/* Waits for the compiler of another. Where runs do not wait for machine code, contexts that come and go would each
 * begin one, and these, at idle priority, would pile up. true: there is a file, or nobody makes one any more. false:
 * the context goes; the entry has been told. */
static bool others_are_done(wick_jit *j, entry *e, const char *name) {
    struct pollfd stopped = {.fd = j->stopped, .events = POLLIN};
    while (faccessat(j->folder_fd, name, R_OK, 0) != 0 && !seal_left(j, name) && is_being_made(j, name)) {
        (void)poll(&stopped, 1, 100);
        if (atomic_load(&j->stop))
            return settle(e, REFUSED, "the context ended before the compiler that another began"), false;
    }
    return true;
}

/* Starts a compiler of the source for that temporary file, and reads what it says. Not ended: the entry has been told
 * why. */
static bool run_compiler(wick_jit *j, entry *e, const char *temporary, const wick_text *source, char *said,
                         size_t size) {
    char path[PATH_MAX + 128];
    snprintf(path, sizeof path, "%s/%s", j->folder, temporary);
    const char *argv[48] = {"sh",
                            "-c",
                            script,
                            "sh",
                            path,
                            j->mode == WICK_JIT_WAIT ? "now" : "idle",
                            j->compiler,
                            "-x",
                            "c",
                            "-std=gnu11",
                            "-w",
                            "-fwrapv",
                            "-ffp-contract=off",
                            "-fno-math-errno",
                            "-fno-trapping-math",
                            "-fvisibility=hidden",
                            "-fPIC",
                            "-shared",
                            "-nostartfiles",
                            "-nodefaultlibs"};
    int n = 0, ends[2];
    while (argv[n]) n++;
    for (const char *const *flag = wick_native_c_flags((wick_tier)e->native.program.tier); *flag; flag++)
        argv[n++] = *flag;
    argv[n++] = "-o", argv[n++] = path, argv[n++] = "-";
    const int in = source_file(source->at, source->len);
    if (in < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        if (in >= 0) close(in);
        return settle(e, REFUSED, "no compiler could be started: %s", strerror(errno)), false;
    }
    const bool spawned = spawn(argv, in, ends[1]);
    close(in), close(ends[1]);
    const bool ended = spawned && await(j, ends[0], said, size);
    close(ends[0]);
    if (!spawned) settle(e, REFUSED, "no compiler could be started");
    if (spawned && !ended)
        settle(e, REFUSED, atomic_load(&j->stop) ? "the context ended first" : "the compiler took too long");
    return ended;
}

/* A compiler takes some 50 MB, in the cgroup of a program that may be about to use all that is left there; and one of
 * both would be killed. */
#define COMPILER_ROOM ((uint64_t)512 << 20)
static bool has_room(entry *e) {
    const uint64_t left = wick_cgroup_memory_left("");
    if (!left || left >= COMPILER_ROOM) return true;
    settle(e, REFUSED, "the cgroup leaves %.4g MB of memory, and a compiler is started where there are %.4g",
           (double)left * 1e-6, (double)COMPILER_ROOM * 1e-6);
    return false;
}

static bool compile(wick_jit *j, entry *e, const char *name, const wick_text *source) {
    char temporary[128], said[160] = "";
    wick_msg msg = {0};
    if (!has_room(e)) return false;
    const int fd = wick_temp_create(j->folder_fd, name, temporary); /* the name is this compiler's alone */
    if (fd < 0) return settle(e, REFUSED, "%.140s: %s", j->folder, strerror(errno)), false;
    close(fd);
    if (!run_compiler(j, e, temporary, source, said, sizeof said)) return false; /* it may go on */
    const wick_status status = seal(j, temporary, name, &msg);
    if (status) unlinkat(j->folder_fd, temporary, 0);
    if (!status || faccessat(j->folder_fd, name, R_OK, 0) == 0) return true; /* another process may have sealed it */
    if (status == WICK_ERR_INVALID)
        settle(e, REFUSED, "%.60s failed: %.100s", j->compiler, *said ? said : "it said nothing");
    else settle(e, REFUSED, "%.60s was not kept: %.100s", name, msg.text);
    return false;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Whether all that is mapped of it is there: a file that was cut off would end the process. */
static bool is_whole(int fd, off_t size) {
    Elf64_Ehdr head;
    if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    if (head.e_phentsize != sizeof(Elf64_Phdr) || head.e_shoff > (uint64_t)size ||
        (uint64_t)head.e_shnum * sizeof(Elf64_Shdr) > (uint64_t)size - head.e_shoff)
        return false;
    for (int i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr part;
        if (pread(fd, &part, sizeof part, (off_t)(head.e_phoff + (uint64_t)i * sizeof part)) != (ssize_t)sizeof part)
            return false;
        if (part.p_offset > (uint64_t)size || part.p_filesz > (uint64_t)size - part.p_offset) return false;
    }
    return head.e_phnum > 0;
}

/* Whether its CRC is that of when it was made: machine code with another bit might do anything. */
static bool is_as_made(int fd, off_t size) {
    uint8_t part[4096];
    uint32_t crc = 0, end[2]; /* little-endian, as are the CPUs that code is made for */
    const off_t body = size - (off_t)sizeof end;
    for (off_t at = 0; at < body;) {
        const ssize_t n = pread(fd, part, (size_t)WICK_MIN(body - at, (off_t)sizeof part), at);
        if (n <= 0) return false;
        crc = wick_crc32(crc, part, (size_t)n);
        at += n;
    }
    return body > 0 && pread(fd, end, sizeof end, body) == (ssize_t)sizeof end && end[0] == crc &&
           end[1] == (uint32_t)body;
}

/* Open, but not if another program of the same name took its place meanwhile: then that one. */
static int open_program(const wick_jit *j, const char *name) {
    enum { TRIES = 16 };
    for (int i = 0;; i++) {
        struct stat s;
        const int fd = open_file(j, name);
        if (fd < 0 || fstat(fd, &s) != 0 || s.st_nlink > 0 || i == TRIES) return fd;
        close(fd);
    }
}

typedef enum found { NOTHING, FOUND, BAD } found;

/* BAD: the entry has been told why. */
static found load(wick_jit *j, entry *e, const char *name, const char *says, wick_native *made) {
    char path[128];
    struct stat s;
    const int fd = open_program(j, name);
    if (fd < 0 && errno == ENOENT) return NOTHING;
    if (!is_own_file(fd, &s)) {
        if (fd >= 0) close(fd);
        return settle(e, REFUSED, "%s is not a file that this user alone may write: it is not loaded", name), BAD;
    }
    const bool whole = s.st_size <= MOST_FILE && is_as_made(fd, s.st_size) && is_whole(fd, s.st_size);
    /* in the very folder that was looked at; another name for each, by which dlopen knows them */
    snprintf(path, sizeof path, "/proc/self/fd/%d/%s", j->folder_fd, name);
    e->handle = whole ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const char *says_it = e->handle ? dlsym(e->handle, SAYS) : NULL;
    const bool has_lines = made->program.lines;
    void *at = e->handle ? dlsym(e->handle, WICK_NATIVE_C_FUNCTION) : NULL,
         *units_at = e->handle && has_lines ? dlsym(e->handle, WICK_NATIVE_C_UNITS) : NULL;
    wick_native_fn code;
    wick_native_lines_fn lines;
    wick_native_units_fn units;
    memcpy(&code, &at, sizeof at); /* ISO C has no conversion from void * to a function pointer; POSIX promises this */
    memcpy(&lines, &at, sizeof at);
    memcpy(&units, &units_at, sizeof units_at);
    atomic_init(&made->code, has_lines ? NULL : code);
    atomic_init(&made->lines, has_lines ? lines : NULL);
    atomic_init(&made->units, units);
    if (at && (units_at || !has_lines) && says_it && !strcmp(says_it, says)) {
        futimens(fd, NULL); /* used: it goes last */
        close(fd);
        return FOUND;
    }
    const char *why = whole && !e->handle ? dlerror() : NULL;
    close(fd);
    unlinkat(j->folder_fd, name, 0); /* the next process makes it again */
    return settle(e, REFUSED, "%s was not what it should be: it was removed%s%.90s", name, why ? ": " : "",
                  why ? why : ""),
           BAD;
}

/* ---- comparing with the built-in kernel -------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *seed) { /* SplitMix64 (Steele, Lea, Flood 2014) */
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}
static double any_number(bool may_be_odd, uint64_t *seed) {
    static const double odd[] = {0,     -0.0,    1,    -1,     0.5,  -0.5,  INFINITY, -INFINITY, NAN,
                                 1e-40, -1e-310, 3e38, -1e300, 88.7, -87.3, 709.5,    1e10};
    const uint64_t r = draw(seed);
    const double unit = (double)(r >> 11) * 0x1p-53;
    return r % 8 == 0 && may_be_odd ? odd[(r >> 8) % WICK_COUNTOF(odd)] : r % 8 < 3 ? 200 * unit - 100 : 8 * unit - 4;
}
static void fill(wick_ctype type, void *at, int64_t n, bool odd, uint64_t *seed) {
    for (int64_t i = 0; i < n; i++) {
        const uint64_t r = draw(seed);
        const int shift = (int)(r >> 58);
        switch (type) {
        case WICK_CF32: ((float *)at)[i] = (float)any_number(odd, seed); break;
        case WICK_CF64: ((double *)at)[i] = any_number(odd, seed); break;
        case WICK_CI32: ((int32_t *)at)[i] = (int32_t)(uint32_t)draw(seed) >> shift % 32; break;
        case WICK_CI64: ((int64_t *)at)[i] = (int64_t)draw(seed) >> shift; break;
        case WICK_CU64: ((uint64_t *)at)[i] = draw(seed) >> shift; break;
        default: ((uint8_t *)at)[i] = r & 1;
        }
    }
}
static bool same(wick_ctype type, const void *a, const void *b, int64_t n) {
    for (int64_t i = 0; i < n; i++) { /* which NaN it is, is nobody's promise */
        if (type == WICK_CF32 && ((const float *)a)[i] != ((const float *)a)[i] &&
            ((const float *)b)[i] != ((const float *)b)[i])
            continue;
        if (type == WICK_CF64 && ((const double *)a)[i] != ((const double *)a)[i] &&
            ((const double *)b)[i] != ((const double *)b)[i])
            continue;
        const size_t size = wick_ctype_size(type);
        if (memcmp((const char *)a + (size_t)i * size, (const char *)b + (size_t)i * size, size) != 0) return false;
    }
    return true;
}

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

enum { CHECKED = 1500, ROUNDS = 8, TIMED_NS = 50000 }; /* elements: whole vectors, and odd ends */

/* A program over arrays of the comparison's own: inputs, the built-in kernel's results and the loop's, scratch. */
typedef struct trial {
    wick_fused f;
    void *ptr[2 * WICK_FUSED_MAX_IO], *out[WICK_FUSED_MAX_IO];
    char *memory, *scratch;
    size_t size;
} trial;

static bool trial_new(trial *t, const wick_native_program *p, int64_t rows, int64_t n, bool odd) {
    wick_native_fused(p, rows, n, &t->f);
    const size_t array = WICK_ALIGN_UP((size_t)(rows * n) * 8, WICK_ALIGN);
    t->size = array * (size_t)(p->n_in + 2 * p->n_out) + t->f.scratch + t->f.partials;
    char *at = t->memory = wick_calloc(NULL, t->size);
    if (!at) return false;
    uint64_t seed = 1;
    for (int i = 0; i < p->n_in; i++, at += array)
        fill((wick_ctype)p->type[i], t->ptr[i] = at,
             p->kind[i] == 'A'   ? rows * n
             : p->kind[i] == 'R' ? rows
                                 : 1,
             odd, &seed);
    for (int i = 0; i < p->n_in; i++) /* a number that is not finite says little */
        if (p->kind[i] == 'S' && p->type[i] <= WICK_CF64)
            p->type[i] == WICK_CF32 ? (*(float *)t->ptr[i] = 0.7f + (float)i) : (*(double *)t->ptr[i] = 0.7 + i);
    for (int o = 0; o < p->n_out; o++, at += 2 * array) t->ptr[p->n_in + o] = at, t->out[o] = at + array;
    t->scratch = at;
    return true;
}
static void trial_free(trial *t) { wick_release(NULL, t->memory, t->size); }
static void trial_run(trial *t, const wick_native *with) {
    void *const partials = t->scratch + t->f.scratch;
    wick_fused_run_native(&t->f, with, 0, 0, t->f.tasks, t->ptr, partials, t->scratch);
    if (t->f.tasks2) wick_fused_run_native(&t->f, with, 1, 0, t->f.tasks2, t->ptr, partials, t->scratch);
}
static bool trial_same(const trial *t, int64_t n) {
    bool good = true;
    for (int o = 0; o < t->f.n_out; o++)
        good = good && same(wick_ctype_of((wick_dtype)t->f.out[o].dtype), t->ptr[t->f.n_in + o], t->out[o], n);
    return good;
}

static bool same_elements(const wick_native *with) {
    const wick_native_program *p = &with->program;
    trial t;
    if (!trial_new(&t, p, 1, CHECKED, true)) return false;
    void *part_out[WICK_FUSED_MAX_IO];
    const void *part_in[WICK_FUSED_MAX_IO];
    wick_ew_fn rows[WICK_FUSED_MAX_OPS];
    for (int i = 0; i < p->n_instr; i++)
        rows[i] = p->instr[i].op == WICK_FUSED_CAST
                      ? NULL
                      : (*wick_ew_kernels((wick_tier)p->tier))[p->instr[i].op][p->instr[i].type];
    trial_run(&t, NULL);
    /* runs of 1, 4, 13, ... */
    for (int64_t from = 0, n = 1; from < CHECKED; from += n, n = WICK_MIN(n * 3 + 1, CHECKED - from)) {
        for (int i = 0; i < p->n_in; i++)
            part_in[i] = (const char *)t.ptr[i] +
                         (p->kind[i] == 'A' ? (size_t)from * wick_ctype_size((wick_ctype)p->type[i]) : 0);
        for (int o = 0; o < p->n_out; o++)
            part_out[o] = (char *)t.out[o] + (size_t)from * wick_dtype_size((wick_dtype)t.f.out[o].dtype);
        with->code(part_in, part_out, (size_t)n, rows);
    }
    const bool good = trial_same(&t, CHECKED);
    trial_free(&t);
    return good;
}

/* Reductions of a few shapes, of all numbers there are and of ordinary ones, since one NaN is all that is left of a
 * sum; in one call, and in two. */
static bool same_lines(const wick_native *with) {
    static const int64_t rows_of[][2] = {{3, 70}, {20, 150}, {2, 1500}, {1, 20000}},
                         cols_of[][2] = {{90, 7}, {2, 1000}, {5, 100}, {37, 300}, {200, 65}};
    const wick_native_program *p = &with->program;
    const bool rows = p->lines == WICK_NATIVE_ROWS;
    bool good = true;
    for (int k = 0; good && k < 2 * (int)(rows ? WICK_COUNTOF(rows_of) : WICK_COUNTOF(cols_of)); k++) {
        const int64_t *shape = rows ? rows_of[k / 2] : cols_of[k / 2], n = shape[!rows];
        trial t;
        if (!trial_new(&t, p, shape[0], shape[1], k % 2)) return false;
        wick_native_program again;
        /* of fewer columns a line has several rows, and numbers of rows are another program */
        if (!wick_native_program_of(&t.f, &again) || memcmp(&again, p, sizeof again) != 0) {
            trial_free(&t);
            continue;
        }
        trial_run(&t, NULL);
        memcpy(t.out[0], t.ptr[p->n_in], (size_t)n * wick_dtype_size((wick_dtype)t.f.out[0].dtype));
        trial_run(&t, with);
        good = trial_same(&t, n);
        wick_fused_layout *l = &t.f.layout;
        if (l->mode != WICK_FUSED_SHORT) { /* three lines or fewer in each call: the lanes of those before go on */
            for (int i = 0; i < p->n_in; i++)
                if (l->reach[i] == WICK_REACH_LINES) l->reach[i] = WICK_REACH_BLOCKS;
            t.f.block = (int)WICK_MIN(t.f.block, 3 * l->lane_rows * l->cols);
            trial_run(&t, with);
            good = good && trial_same(&t, n);
        }
        trial_free(&t);
    }
    return good;
}

static bool has_the_same_bits(const wick_native *with) {
    return with->program.tier == wick_tier_current() && (with->program.lines ? same_lines : same_elements)(with);
}

/* Compilers don't make vectors of everything. */
static bool is_slower(const wick_native *with) {
    trial t;
    const int lines = with->program.lines;
    if (!trial_new(&t, &with->program, lines == WICK_NATIVE_ROWS ? 16 : lines ? 64 : 1, lines ? 500 : CHECKED, true))
        return false;
    uint64_t best[2] = {UINT64_MAX, UINT64_MAX};
    for (int round = 0, times = 1; round < 2 * ROUNDS; round++) { /* in turn: what disturbs one disturbs the other */
        const uint64_t start = cpu_ns();
        for (int i = 0; i < times; i++) trial_run(&t, round % 2 ? with : NULL);
        const uint64_t ns = cpu_ns() - start;
        if (round >= 2) best[round % 2] = WICK_MIN(best[round % 2], ns);
        if (round == 1) times = (int)WICK_MAX(WICK_MIN(TIMED_NS / (ns + 1), 256), 1); /* long enough for the clock */
    }
    trial_free(&t);
    return (double)best[1] > (lines ? 1 : 1.05) * (double)best[0];
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

/* What a file is made from: program, source, flags, compiler. The file has it as a text, behind the program's source.
 */
static bool describe(wick_jit *j, const wick_native_program *p, wick_text *source, wick_text *says) {
    if (strpbrk(j->compiler, "\"\\\n") || !wick_native_c(source, p)) return false;
    wick_text_add(says, "Wick %s, %s, %s %s, source %016llx, program ", wick_version(),
                  wick_tier_name((wick_tier)p->tier), j->compiler, j->compiler_is,
                  (unsigned long long)wick_hash(source->at, source->len, 0));
    const size_t used = offsetof(wick_native_program, instr) + p->n_instr * sizeof *p->instr;
    for (size_t i = 0; i < used; i++) wick_text_add(says, "%02x", ((const uint8_t *)p)[i]);
    if (!says->failed)
        wick_text_add(source, "__attribute__((visibility(\"default\"))) const char " SAYS "[] = \"%s\";\n", says->at);
    return !says->failed && !source->failed;
}

static void make(wick_jit *j, entry *e) {
    wick_text says = {0}, source = {0};
    char name[64];
    if (!describe(j, &e->native.program, &source, &says)) {
        settle(e, REFUSED, "it could not be printed as C");
    } else {
        wick_native with = {.program = e->native.program};
        snprintf(name, sizeof name, "%016llx%016llx.so", (unsigned long long)wick_hash(says.at, says.len, 1),
                 (unsigned long long)wick_hash(says.at, says.len, 2));
        found there = load(j, e, name, says.at, &with);
        if (there == NOTHING && j->mode != WICK_JIT_WAIT)
            there = others_are_done(j, e, name) ? load(j, e, name, says.at, &with) : BAD;
        if (there == NOTHING && (seal_left(j, name) || compile(j, e, name, &source))) {
            there = load(j, e, name, says.at, &with);
            if (there == NOTHING) settle(e, REFUSED, "%s is gone", name);
            tidy(j);
        }
        const uint64_t word = wick_fp_enter();
        const bool same_bits = there == FOUND && has_the_same_bits(&with), slower = same_bits && is_slower(&with);
        wick_fp_restore(word);
        if (slower) {
            settle(e, REFUSED, "the compiled loop is slower than the kernel");
        } else if (same_bits) {
            atomic_store_explicit(&e->native.code, with.code, memory_order_release);
            atomic_store_explicit(&e->native.lines, with.lines, memory_order_release);
            atomic_store_explicit(&e->native.units, with.units, memory_order_release);
            settle(e, READY, "one loop of machine code%s, %s", with.program.lines ? " with the reduction" : "", name);
        } else if (there == FOUND) {
            settle(e, REFUSED, "the compiled loop has other bits than the kernel: it is not used");
        }
    }
    wick_text_free(&says);
    wick_text_free(&source);
}

static void *work(void *arg) {
    wick_jit *j = arg;
    if (j->mode != WICK_JIT_WAIT) setpriority(PRIO_PROCESS, (id_t)gettid(), 10); /* of this thread, on Linux */
    int last = 0; /* compilers that are begun when the context goes: what they make is for the next one */
    prepare(j);
    for (bool ends = false; !ends;) {
        while (sem_wait(&j->work) != 0 && errno == EINTR) continue;
        ends = atomic_load(&j->stop);
        entry *newest = atomic_exchange_explicit(&j->queue, NULL, memory_order_acquire), *first = NULL;
        while (newest) { /* in the order they came */
            entry *e = newest;
            newest = e->queued;
            e->queued = first;
            first = e;
        }
        for (; first && (!atomic_load(&j->stop) || last++ < MOST_AT_END); first = first->queued) {
            if (j->folder_fd < 0)
                settle(first, REFUSED, "%s", j->why);
            else
                make(j, first);
        }
    }
    return NULL;
}

static bool start(wick_jit *j) {
    sigset_t all, was;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was); /* the host's signals are for its own threads */
    j->started = pthread_create(&j->thread, NULL, work, j) == 0;
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return j->started;
}

/* ---- what plans ask ---------------------------------------------------------------------------------------------- */

wick_status wick_jit_open(wick_jit **out, wick_jit_mode mode, const char *folder) {
    *out = NULL;
    if (mode == WICK_JIT_OFF) return WICK_OK;
    wick_jit *j = wick_calloc(NULL, sizeof *j);
    if (!j) return WICK_ERR_NOMEM;
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    int n = 0;
    if (folder)
        n = snprintf(j->folder, sizeof j->folder, "%s", folder);
    else if (cache && cache[0] == '/')
        n = snprintf(j->folder, sizeof j->folder, "%s/wick/jit", cache);
    else if (home && home[0] == '/')
        n = snprintf(j->folder, sizeof j->folder, "%s/.cache/wick/jit", home);
    if (n >= (int)sizeof j->folder) j->folder[0] = 0;
    j->mode = mode;
    j->process = getpid();
    j->folder_fd = -1;
    j->stopped = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (j->stopped < 0 || sem_init(&j->work, 0, 0) != 0) {
        if (j->stopped >= 0) close(j->stopped);
        wick_release(NULL, j, sizeof *j);
        return WICK_ERR_NOMEM;
    }
    *out = j;
    return WICK_OK;
}

void wick_jit_close(wick_jit **jit) {
    wick_jit *j = jit ? *jit : NULL;
    if (!j) return;
    *jit = NULL;
    if (j->started && j->process == getpid()) { /* a forked child has no such thread */
        atomic_store(&j->stop, true);
        (void)!write(j->stopped, &(uint64_t){1}, sizeof(uint64_t));
        sem_post(&j->work);
        pthread_join(j->thread, NULL);
    }
    while (j->entries) {
        entry *e = j->entries;
        j->entries = e->next;
        if (e->handle) dlclose(e->handle);
        wick_release(NULL, e, sizeof *e);
    }
    if (j->folder_fd >= 0) close(j->folder_fd);
    close(j->stopped);
    sem_destroy(&j->work);
    wick_release(NULL, j, sizeof *j);
}

const wick_native *wick_jit_find(wick_jit *j, const wick_fused *f, char *note, size_t size) {
    wick_native_program p;
    note[0] = 0;
    if (!wick_native_program_of(f, &p)) return NULL;
    if (wick_native_c_is_call(&p))
        return snprintf(note, size, "no machine code: the op before the reduction is a kernel of its own"), NULL;
    entry *e = j->entries;
    while (e && memcmp(&e->native.program, &p, sizeof p) != 0) e = e->next;
    if (!e) {
        if (j->n == MOST_PROGRAMS || j->process != getpid() || (!j->started && !start(j)) ||
            !(e = wick_calloc(NULL, sizeof *e)))
            return NULL;
        e->native.program = p;
        e->next = j->entries;
        j->entries = e;
        j->n++;
        e->queued = atomic_load_explicit(&j->queue, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&j->queue, &e->queued, e, memory_order_release,
                                                      memory_order_relaxed))
            continue;
        sem_post(&j->work);
    }
    while (j->mode == WICK_JIT_WAIT && atomic_load_explicit(&e->state, memory_order_acquire) == QUEUED &&
           j->process == getpid())
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    const state s = atomic_load_explicit(&e->state, memory_order_acquire);
    const char *apart = p.lines ? NULL : wick_native_lines_refused(f);
    snprintf(note, size, "%s%s%s%s", s == REFUSED ? "no machine code: " : "",
             s == QUEUED ? "being compiled: until then it runs instruction by instruction" : e->note,
             apart ? "; the reduction is the built-in kernel's: " : "", apart ? apart : "");
    return &e->native;
}
