/* Mapped files and the atomic writer, in a folder of their own. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/temp.h"
#include "test.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define TEST_POISONED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TEST_POISONED
#endif
#ifdef TEST_POISONED
#include <sanitizer/asan_interface.h> /* for which bytes behind a file are no memory */
#endif

static char dir[64];

static const char *at(const char *name) {
    static char path[4][512];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

static void begin(void) {
    strcpy(dir, "/tmp/wick-file-XXXXXX");
    if (!mkdtemp(dir)) dir[0] = 0;
    CHECK(dir[0]);
}

static void end(void) {
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+rwX '%s' && rm -rf '%s'", dir, dir);
    CHECK_INT(system(command), 0);
}

static int entries(void) {
    int n = 0;
    DIR *d = opendir(dir);
    if (!d) return -1;
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

static void put_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    if (!f) return;
    fputs(text, f);
    fclose(f);
}

static bool holds(const char *path, const void *data, size_t size) {
    wick_map m;
    if (wick_map_open(&m, path, NULL) != WICK_OK) return false;
    const bool same = m.size == size && memcmp(m.data, data, size) == 0;
    wick_map_close(&m);
    return same;
}

static wick_status (*const ways[])(wick_map *, const char *, wick_msg *) = {wick_map_open, wick_map_read};

TEST(map_reads_a_file_of_any_size) {
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 100000};
    static uint8_t data[100000];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)test_rand();
    begin();
    for (size_t i = 0; i < WICK_COUNTOF(sizes); i++) {
        FILE *f = fopen(at("x"), "wb");
        REQUIRE(f != NULL);
        CHECK_INT(fwrite(data, 1, sizes[i], f), sizes[i]);
        fclose(f);
        wick_map m;
        wick_msg msg = {0};
        for (size_t k = 0; k < WICK_COUNTOF(ways); k++) {
            CHECK_INT(ways[k](&m, at("x"), &msg), WICK_OK);
            CHECK_INT(m.size, sizes[i]);
            REQUIRE(m.data != NULL);
            CHECK(memcmp(m.data, data, sizes[i]) == 0);
#ifdef TEST_POISONED
            CHECK(!sizes[i] || __asan_address_is_poisoned(m.data + m.size) ||
                  (ways[k] == wick_map_open && sizes[i] % 4096 == 0));
#endif
            wick_map_close(&m);
            CHECK(m.data == NULL && m.size == 0);
            wick_map_close(&m);
        }
    }
    end();
}

static void refuses_to_map(const char *path, const char *why) {
    for (size_t k = 0; k < WICK_COUNTOF(ways); k++) {
        wick_map m;
        wick_msg msg = {0};
        CHECK_INT(ways[k](&m, path, &msg), WICK_ERR_IO);
        CHECK(m.data == NULL && m.size == 0);
        CHECK_STR_HAS(msg.text, path);
        CHECK_STR_HAS(msg.text, why);
        wick_map_close(&m);
    }
}

/* What is mapped would be gone, and reading it the end of the process. */
TEST(a_file_that_was_read_may_become_shorter) {
    static uint8_t data[100000];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)test_rand();
    begin();
    FILE *f = fopen(at("x"), "wb");
    REQUIRE(f != NULL && fwrite(data, 1, sizeof data, f) == sizeof data);
    fclose(f);
    wick_map m;
    REQUIRE(wick_map_read(&m, at("x"), NULL) == WICK_OK);
    CHECK_INT(truncate(at("x"), 1), 0);
    CHECK(m.size == sizeof data && memcmp(m.data, data, sizeof data) == 0);
    wick_map_close(&m);
    end();
}
/* Files of sysfs say that they have a page, and have a few bytes. */
TEST(a_file_that_ends_before_its_size_is_an_error) {
    static const char path[] = "/sys/devices/system/cpu/possible";
    struct stat st;
    if (stat(path, &st) != 0 || st.st_size < 1000) return;
    wick_map m;
    wick_msg msg = {0};
    CHECK_INT(wick_map_read(&m, path, &msg), WICK_ERR_IO);
    CHECK(m.data == NULL && m.size == 0);
    CHECK_STR_HAS(msg.text, path);
    CHECK_STR_HAS(msg.text, "was cut off to ");
}

TEST(map_refuses_what_is_not_a_regular_file) {
    begin();
    REQUIRE(mkdir(at("d"), 0755) == 0 && mkfifo(at("fifo"), 0644) == 0);
    refuses_to_map(at("none"), "No such file");
    refuses_to_map(at("d"), "Is a directory");
    refuses_to_map(at("fifo"), "not a regular file"); /* and does not wait for a writer */
    refuses_to_map("/dev/zero", "not a regular file");
    refuses_to_map("", "No such file");
    wick_map m;
    for (size_t k = 0; k < WICK_COUNTOF(ways); k++) CHECK_INT(ways[k](&m, NULL, NULL), WICK_ERR_INVALID);
    end();
}

/* A writer that is handed pieces of every size around the buffer's. */
TEST(writer_writes_pieces_of_any_size) {
    static const size_t pieces[] = {0, 1, 65535, 1, 65536, 3, 65537, 7, 200000, 0, 65530, 6, 1};
    enum { TOTAL = 600000 };
    uint8_t *data = malloc(TOTAL);
    REQUIRE(data != NULL);
    for (size_t i = 0; i < TOTAL; i++) data[i] = (uint8_t)test_rand();
    begin();
    for (int step = 1; step < 3; step++) {
        wick_writer *w;
        wick_msg msg = {0};
        size_t n = 0;
        REQUIRE(wick_writer_open(&w, at("x"), &msg) == WICK_OK);
        for (size_t i = 0; i < WICK_COUNTOF(pieces); i += (size_t)step) {
            CHECK_INT(wick_writer_write(w, data + n, pieces[i], &msg), WICK_OK);
            n += pieces[i];
        }
        REQUIRE(n <= TOTAL);
        CHECK_INT(wick_writer_commit(&w, &msg), WICK_OK);
        CHECK(w == NULL);
        CHECK(holds(at("x"), data, n));
        CHECK_INT(entries(), 1);
    }
    free(data);
    end();
}

TEST(old_file_stays_until_commit_and_after_abort) {
    begin();
    put_file(at("x"), "old");
    wick_writer *w;
    REQUIRE(wick_writer_open(&w, at("x"), NULL) == WICK_OK);
    CHECK_INT(wick_writer_write(w, "new", 3, NULL), WICK_OK);
    CHECK_INT(entries(), 2);
    CHECK(holds(at("x"), "old", 3));
    wick_writer_abort(&w);
    CHECK(w == NULL);
    wick_writer_abort(&w);
    CHECK(holds(at("x"), "old", 3));
    CHECK_INT(entries(), 1);
    REQUIRE(wick_writer_open(&w, at("x"), NULL) == WICK_OK);
    CHECK_INT(wick_writer_write(w, "new!", 4, NULL), WICK_OK);
    CHECK_INT(wick_writer_commit(&w, NULL), WICK_OK);
    CHECK(holds(at("x"), "new!", 4));
    wick_msg msg = {0};
    CHECK_INT(wick_writer_commit(&w, &msg), WICK_ERR_INVALID);
    CHECK(msg.text[0]);
    end();
}

TEST(a_mapped_old_file_stays_readable) {
    begin();
    put_file(at("x"), "old");
    wick_map m;
    wick_writer *w;
    REQUIRE(wick_map_open(&m, at("x"), NULL) == WICK_OK && wick_writer_open(&w, at("x"), NULL) == WICK_OK);
    CHECK_INT(wick_writer_commit(&w, NULL), WICK_OK);
    CHECK(m.size == 3 && memcmp(m.data, "old", 3) == 0);
    wick_map_close(&m);
    CHECK(holds(at("x"), "", 0));
    end();
}

TEST(mode_follows_the_umask) {
    begin();
    const mode_t was = umask(027);
    wick_writer *w;
    struct stat st;
    REQUIRE(wick_writer_open(&w, at("x"), NULL) == WICK_OK);
    CHECK_INT(wick_writer_commit(&w, NULL), WICK_OK);
    umask(was);
    REQUIRE(stat(at("x"), &st) == 0);
    CHECK_INT(st.st_mode & 07777, 0640);
    end();
}

TEST(relative_paths_work_even_if_the_folder_changes) {
    char here[512];
    REQUIRE(getcwd(here, sizeof here) != NULL);
    begin();
    REQUIRE(mkdir(at("d"), 0755) == 0 && chdir(dir) == 0);
    wick_writer *a, *b;
    REQUIRE(wick_writer_open(&a, "plain", NULL) == WICK_OK && wick_writer_open(&b, "d/below", NULL) == WICK_OK);
    CHECK_INT(chdir("/"), 0);
    CHECK_INT(wick_writer_write(a, "1", 1, NULL), WICK_OK);
    CHECK_INT(wick_writer_write(b, "2", 1, NULL), WICK_OK);
    CHECK_INT(wick_writer_commit(&a, NULL), WICK_OK);
    CHECK_INT(wick_writer_commit(&b, NULL), WICK_OK);
    CHECK(holds(at("plain"), "1", 1) && holds(at("d/below"), "2", 1));
    CHECK_INT(chdir(here), 0);
    end();
}

TEST(two_writers_of_one_file_do_not_mix) {
    begin();
    wick_writer *a, *b;
    REQUIRE(wick_writer_open(&a, at("x"), NULL) == WICK_OK && wick_writer_open(&b, at("x"), NULL) == WICK_OK);
    CHECK_INT(wick_writer_write(a, "first", 5, NULL), WICK_OK);
    CHECK_INT(wick_writer_write(b, "second", 6, NULL), WICK_OK);
    CHECK_INT(wick_writer_commit(&b, NULL), WICK_OK);
    CHECK(holds(at("x"), "second", 6));
    CHECK_INT(wick_writer_commit(&a, NULL), WICK_OK);
    CHECK(holds(at("x"), "first", 5));
    CHECK_INT(entries(), 1);
    end();
}

/* A name in the making of `x`, "x.tmp-PID-N"; N counts on from what this process has used. */
static const char *made_name(pid_t pid, int n) {
    static char name[4][64];
    static int turn;
    char *to = name[turn++ % 4], mine[64];
    wick_temp_name(mine, "x");
    snprintf(to, sizeof name[0], "x.tmp-%ld-%d", (long)pid, atoi(strrchr(mine, '-') + 1) + n);
    return to;
}

TEST(what_killed_writers_left_is_removed_by_the_next_one) {
    begin();
    const pid_t dead = fork();
    if (dead == 0) _exit(0);
    REQUIRE(dead > 0 && waitpid(dead, NULL, 0) == dead);
    const char *const gone[] = {
        made_name(dead, 0),
        made_name(getpid(), 50)}; /* the second: of another process that had this number, as in a container */
    const char *const stay[] = {made_name(getpid(), -1), made_name(getppid(), 0)};
    for (int i = 0; i < 2; i++) put_file(at(gone[i]), "half"), put_file(at(stay[i]), "half");
    char folder_of[64], below[512];
    snprintf(folder_of, sizeof folder_of, "%s", made_name(dead, 1));
    snprintf(below, sizeof below, "%s/d", at(folder_of));
    REQUIRE(mkdir(at(folder_of), 0755) == 0 && mkdir(below, 0755) == 0 && symlink(dir, at("y")) == 0);
    put_file(at("kept"), "kept");
    snprintf(below, sizeof below, "%s/link", at(folder_of));
    REQUIRE(symlink("../kept", below) == 0);
    put_file(at("x"), "old");
    wick_writer *w;
    REQUIRE(wick_writer_open(&w, at("x"), NULL) == WICK_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_MSG(access(at(gone[i]), F_OK) != 0, "%s is still there", gone[i]);
        CHECK_MSG(access(at(stay[i]), F_OK) == 0, "%s was removed", stay[i]);
    }
    CHECK(access(at(folder_of), F_OK) != 0 && holds(at("kept"), "kept", 4) && holds(at("x"), "old", 3));
    wick_writer_abort(&w);
    end();
}

/* In a container all commands may have the same number, and see none of the others. */
TEST(a_locked_file_in_the_making_stays_whoever_it_belongs_to) {
    begin();
    const pid_t dead = fork();
    if (dead == 0) _exit(0);
    REQUIRE(dead > 0 && waitpid(dead, NULL, 0) == dead);
    wick_writer *w;
    char name[64];
    REQUIRE(wick_writer_open(&w, at("x"), NULL) == WICK_OK);
    DIR *d = opendir(dir);
    REQUIRE(d != NULL);
    name[0] = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (strstr(e->d_name, ".tmp-")) snprintf(name, sizeof name, "%.60s", e->d_name);
    closedir(d);
    const char *other = made_name(dead, 0);
    REQUIRE(rename(at(name), at(other)) == 0);
    wick_temp_clean(AT_FDCWD, "x"); /* another folder */
    const int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    wick_temp_clean(folder, "x");
    CHECK(access(at(other), F_OK) == 0);
    wick_writer_abort(&w);
    wick_temp_clean(folder, "x");
    CHECK(access(at(other), F_OK) != 0);
    close(folder);
    end();
}

TEST(a_file_is_not_extended_through_a_link) {
    begin();
    put_file(at("real"), "real");
    REQUIRE(symlink("real", at("link")) == 0);
    wick_writer *w = NULL;
    wick_map map;
    wick_msg msg = {0};
    CHECK_INT(wick_writer_extend(&w, at("link"), &map, &msg), WICK_ERR_IO);
    CHECK_STR_HAS(msg.text, "is a symbolic link");
    CHECK(holds(at("real"), "real", 4));
    end();
}

static void refuses_to_write(const char *path, wick_status status, const char *why) {
    wick_writer *w = NULL;
    wick_msg msg = {0};
    CHECK_INT(wick_writer_open(&w, path, &msg), status);
    CHECK(w == NULL);
    if (path) CHECK_STR_HAS(msg.text, path);
    CHECK_STR_HAS(msg.text, why);
    wick_writer_abort(&w);
}

TEST(writer_refuses_what_it_cannot_replace) {
    char name[400];
    begin();
    REQUIRE(mkdir(at("d"), 0755) == 0 && mkfifo(at("fifo"), 0644) == 0 && symlink("/dev/null", at("null")) == 0);
    const int before = entries();
    refuses_to_write(at("d"), WICK_ERR_IO, "Is a directory");
    refuses_to_write(at("d/"), WICK_ERR_IO, "Is a directory");
    refuses_to_write(".", WICK_ERR_IO, "Is a directory");
    refuses_to_write("/", WICK_ERR_IO, "Is a directory");
    refuses_to_write(at("fifo"), WICK_ERR_IO, "not a regular file");
    refuses_to_write(at("null"), WICK_ERR_IO, "not a regular file");
    refuses_to_write("/dev/full", WICK_ERR_IO, "not a regular file");
    refuses_to_write(at("none/x"), WICK_ERR_IO, "No such file");
    put_file(at("file"), "");
    refuses_to_write(at("file/x"), WICK_ERR_IO, "Not a directory");
    memset(name, 'n', 300);
    name[300] = 0;
    refuses_to_write(at(name), WICK_ERR_IO, "too long");
    name[250] = 0; /* a name that fits, but not with the suffix */
    refuses_to_write(at(name), WICK_ERR_IO, "too long");
    CHECK_INT(wick_writer_open(&(wick_writer *){NULL}, NULL, NULL), WICK_ERR_INVALID);
    refuses_to_write("", WICK_ERR_INVALID, "no path");
    CHECK_INT(entries(), before + 1);
    end();
}

TEST(writer_in_an_unwritable_folder_says_so) {
    if (geteuid() == 0) SKIP("the superuser may write anywhere");
    begin();
    REQUIRE(chmod(dir, 0555) == 0);
    refuses_to_write(at("x"), WICK_ERR_IO, "Permission denied");
    REQUIRE(chmod(dir, 0333) == 0); /* writable, not readable: works, without the folder's sync */
    wick_writer *w;
    CHECK_INT(wick_writer_open(&w, at("x"), NULL), WICK_OK);
    CHECK_INT(wick_writer_commit(&w, NULL), WICK_OK);
    REQUIRE(chmod(dir, 0755) == 0);
    CHECK(holds(at("x"), "", 0));
    end();
}

/* Writes `size` bytes in `piece`s over an old file in a process whose files may not grow past 100,000 bytes. */
static void fills_the_disk(size_t size, size_t piece) {
    begin();
    put_file(at("x"), "old");
    int status = 0;
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        static uint8_t data[300000];
        struct rlimit limit = {100000, 100000};
        wick_writer *w;
        wick_msg msg = {0};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        if (wick_writer_open(&w, at("x"), &msg) != WICK_OK) _exit(1);
        for (size_t n = 0; n < size; n += piece)
            if (wick_writer_write(w, data, piece, &msg) != WICK_OK) {
                if (!strstr(msg.text, at("x")) || !strstr(msg.text, "too large, beyond what ulimit -f")) _exit(2);
                /* once failed, it never succeeds again */
                if (piece > 65536 && wick_writer_write(w, data, 1, &msg) != WICK_ERR_IO) _exit(3);
            }
        msg = (wick_msg){0};
        if (wick_writer_commit(&w, &msg) != WICK_ERR_IO) _exit(4);
        if (msg.status != WICK_ERR_IO || !strstr(msg.text, at("x")) || w) _exit(5);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
    CHECK(holds(at("x"), "old", 3));
    CHECK_INT(entries(), 1);
    end();
}

TEST(a_full_disk_keeps_the_old_file) {
    fills_the_disk(300000, 300000); /* one direct write, short and then refused */
    fills_the_disk(300000, 1000);   /* refused while the buffer is emptied */
    fills_the_disk(101000, 1000);   /* refused only by commit */
}

TEST(commit_fails_when_its_folder_is_gone) {
    begin();
    REQUIRE(mkdir(at("d"), 0755) == 0);
    wick_writer *w;
    wick_msg msg = {0};
    char command[256];
    REQUIRE(wick_writer_open(&w, at("d/x"), NULL) == WICK_OK);
    snprintf(command, sizeof command, "rm -rf '%s/d'", dir);
    CHECK_INT(system(command), 0);
    CHECK_INT(wick_writer_commit(&w, &msg), WICK_ERR_IO);
    CHECK(w == NULL);
    CHECK_STR_HAS(msg.text, "d/x");
    end();
}

TEST(a_symbolic_link_is_replaced_and_its_target_kept) {
    begin();
    put_file(at("real"), "real");
    REQUIRE(symlink("real", at("link")) == 0);
    wick_writer *w;
    REQUIRE(wick_writer_open(&w, at("link"), NULL) == WICK_OK);
    CHECK_INT(wick_writer_write(w, "new", 3, NULL), WICK_OK);
    CHECK_INT(wick_writer_commit(&w, NULL), WICK_OK);
    CHECK(holds(at("link"), "new", 3) && holds(at("real"), "real", 4));
    end();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
