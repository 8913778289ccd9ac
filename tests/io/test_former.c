/* Keeping the former file: where hard links exist, and where they don't (link below stands in for the system's). */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/previous_file.h"
#include "test.h"

static int link_error; /* what link answers; 0: works */
static int existing;   /* names left by another process that link stumbles over first */

int link(const char *from, const char *to) {
    if (existing > 0) {
        existing--;
        int file = open(to, O_CREAT | O_WRONLY, 0644);
        if (file >= 0) close(file);
    }
    if (link_error) return errno = link_error, -1;
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

static char folder[64], path[96], prev[96];

static bool folder_make(void) {
    link_error = existing = 0;
    strcpy(folder, "/tmp/wick-test-XXXXXX");
    bool ok = mkdtemp(folder) != NULL;
    snprintf(path, sizeof path, "%s/f", folder);
    snprintf(prev, sizeof prev, "%s/f.prev", folder);
    return ok;
}

/* Removes what is expected; a folder that then is not empty has something left behind. */
static void folder_remove(void) {
    unlink(path), unlink(prev);
    CHECK(rmdir(folder) == 0);
}

static void put(const char *at, const char *text) {
    FILE *f = fopen(at, "w");
    if (!f) return;
    fputs(text, f);
    fclose(f);
}

static const char *get(const char *at) {
    static char text[64];
    FILE *f = fopen(at, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    return f ? text : "(none)";
}

/* As the writer does: another file takes the name in one step. */
static void replace(const char *text) {
    char temp[128];
    snprintf(temp, sizeof temp, "%s/new", folder);
    put(temp, text);
    CHECK(rename(temp, path) == 0);
}

TEST(kept_when_the_new_file_is_in_place) {
    for (int stale = 0; stale < 2; stale++) {
        REQUIRE(folder_make());
        wick_previous_file f;
        wick_msg msg;
        put(path, "one"), put(prev, "zero");
        existing = stale;
        REQUIRE(wick_previous_file_hold(&f, path, NULL, &msg) == WICK_OK);
        CHECK(strcmp(get(path), "one") == 0 && strcmp(get(prev), "zero") == 0); /* both whole until the last step */
        replace("two");
        CHECK(strcmp(get(prev), "zero") == 0);
        CHECK(wick_previous_file_keep(&f, &msg) == WICK_OK);
        CHECK(strcmp(get(path), "two") == 0 && strcmp(get(prev), "one") == 0);
        folder_remove();
    }
}

TEST(dropped_when_there_is_no_new_file) {
    REQUIRE(folder_make());
    wick_previous_file f;
    wick_msg msg;
    put(path, "one"), put(prev, "zero");
    REQUIRE(wick_previous_file_hold(&f, path, NULL, &msg) == WICK_OK);
    wick_previous_file_drop(&f);
    CHECK(strcmp(get(path), "one") == 0 && strcmp(get(prev), "zero") == 0);
    folder_remove();
}

TEST(without_hard_links_it_is_moved_and_moved_back) {
    const int errors[] = {EPERM, EOPNOTSUPP, ENOSYS, EMLINK};
    for (int i = 0; i < 4; i++) {
        REQUIRE(folder_make());
        link_error = errors[i];
        wick_previous_file f;
        wick_msg msg;
        put(path, "one");
        REQUIRE(wick_previous_file_hold(&f, path, NULL, &msg) == WICK_OK);
        CHECK(strcmp(get(prev), "one") == 0); /* whole all the time, if only here */
        wick_previous_file_drop(&f);
        CHECK(strcmp(get(path), "one") == 0 && access(prev, F_OK) != 0);
        REQUIRE(wick_previous_file_hold(&f, path, NULL, &msg) == WICK_OK);
        replace("two");
        CHECK(wick_previous_file_keep(&f, &msg) == WICK_OK);
        CHECK(strcmp(get(path), "two") == 0 && strcmp(get(prev), "one") == 0);
        folder_remove();
    }
}

/* rename leaves both names when they are of one file. */
TEST(two_savers_that_held_the_same_file_leave_no_name_behind) {
    REQUIRE(folder_make());
    wick_previous_file f, g;
    wick_msg msg;
    put(path, "one");
    REQUIRE(wick_previous_file_hold(&f, path, NULL, &msg) == WICK_OK &&
            wick_previous_file_hold(&g, path, NULL, &msg) == WICK_OK);
    replace("two");
    CHECK(wick_previous_file_keep(&f, &msg) == WICK_OK);
    replace("three");
    CHECK(wick_previous_file_keep(&g, &msg) == WICK_OK);
    CHECK(strcmp(get(path), "three") == 0 && strcmp(get(prev), "one") == 0);
    folder_remove();
}

TEST(other_failures_change_nothing_and_are_told) {
    REQUIRE(folder_make());
    wick_previous_file f;
    wick_msg msg;
    put(path, "one"), put(prev, "zero");
    link_error = ENOSPC;
    CHECK_INT(wick_previous_file_hold(&f, path, NULL, &msg), WICK_ERR_IO);
    CHECK_STR_HAS(msg.text, path);
    wick_previous_file_drop(&f); /* nothing held: fine */
    CHECK(wick_previous_file_keep(&f, &msg) == WICK_OK);
    CHECK(strcmp(get(path), "one") == 0 && strcmp(get(prev), "zero") == 0);
    folder_remove();
}

TEST(where_no_file_stands_there_is_nothing_to_keep) {
    REQUIRE(folder_make());
    wick_previous_file f;
    wick_msg msg;
    CHECK(wick_previous_file_hold(&f, path, NULL, &msg) == WICK_OK); /* the first save */
    CHECK(wick_previous_file_keep(&f, &msg) == WICK_OK);
    CHECK(wick_previous_file_hold(&f, folder, NULL, &msg) == WICK_OK); /* a folder is never moved */
    wick_previous_file_drop(&f);
    CHECK(wick_previous_file_hold(&f, "", NULL, &msg) == WICK_OK);
    wick_previous_file_drop(&f);
    struct stat st;
    CHECK(stat(folder, &st) == 0 && access(prev, F_OK) != 0);
    folder_remove();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
