/* A disk that fails below a loader: reads that are interrupted or short go on, those that fail are what the loader's
 * policy says, for folders, record files and shards. */
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "io/scratch.h"

enum { COUNT = 30, CLASSES = 3, BYTES = 400, BAD_EVERY = 7 };

/* ---- the program's own read and pread, which the library calls: samples 3, 3 + BAD_EVERY, ... lie where the disk
 * fails ---- */

enum { HONEST, INTERRUPTED, SHORT, FAILING, ENDING };
static _Atomic int reads;
static struct { dev_t device; ino_t file; off_t begin, end; } places[COUNT]; /* of each sample */
static _Atomic int failures;

static bool is_bad(int64_t i) { return i % BAD_EVERY == 3; }
static bool touches(int fd, off_t at, size_t n) {
    struct stat st;
    if (fstat(fd, &st) != 0) return false;
    for (int i = 0; i < COUNT; i++)
        if (is_bad(i) && st.st_dev == places[i].device && st.st_ino == places[i].file && at < places[i].end &&
            at + (off_t)n > places[i].begin)
            return true;
    return false;
}
/* false: it is answered with *got. */
static bool honest(int fd, off_t at, size_t *n, ssize_t *got) {
    static _Atomic unsigned turns;
    const unsigned turn = turns++;
    if (reads == INTERRUPTED && turn % 2) return errno = EINTR, *got = -1, false;
    if (reads == SHORT && *n > 1) *n = 1 + turn % 61 % *n;
    if ((reads != FAILING && reads != ENDING) || !touches(fd, at, *n)) return true;
    failures++;
    *got = reads == ENDING ? 0 : -1;
    errno = EIO;
    return false;
}
ssize_t pread(int fd, void *to, size_t n, off_t at);
ssize_t pread(int fd, void *to, size_t n, off_t at) {
    ssize_t got;
    return honest(fd, at, &n, &got) ? syscall(SYS_pread64, fd, to, n, at) : got;
}
ssize_t read(int fd, void *to, size_t n);
ssize_t read(int fd, void *to, size_t n) {
    ssize_t got;
    return honest(fd, lseek(fd, 0, SEEK_CUR), &n, &got) ? syscall(SYS_read, fd, to, n) : got;
}

/* ---- the same samples in a folder, a record file and shards ------------------------------------------------------ */

static void fill(int64_t i, char text[BYTES]) {
    const int n = snprintf(text, BYTES, "sample %02d:", (int)i);
    for (int k = n; k < BYTES; k++) text[k] = (char)('a' + (i * 7 + k) % 26);
}

/* Where each sample's bytes lie in a file that holds all of them. */
static bool find_places(const char *path) {
    static char bytes[1 << 17];
    struct stat st;
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (!f || fclose(f) != 0 || n == sizeof bytes || stat(path, &st) != 0) return false;
    for (int i = 0; i < COUNT; i++) {
        char text[BYTES];
        fill(i, text);
        const char *at = memmem(bytes, n, text, BYTES);
        if (!at) return false;
        places[i].device = st.st_dev, places[i].file = st.st_ino, places[i].begin = at - bytes,
        places[i].end = at - bytes + BYTES;
    }
    return true;
}

enum { FOLDER, RECORDS, SHARDS, FORMS };
static const char *const forms[] = {"a folder", "a record file", "shards"};

static wick_dataset *open_form(int form, bool copy) { /* copy: read by pread, not mapped */
    wick_dataset *set = NULL;
    wick_files *f = NULL;
    char line[600], text[BYTES], name[64];
    struct stat st;
    for (int i = 0; i < COUNT; i++) {
        const int class = i * CLASSES / COUNT;
        fill(i, text);
        if (!i && system(strcat(strcpy(line, "rm -rf "), at("*"))) != 0) return NULL;
        snprintf(name, sizeof name, form == SHARDS ? "tar" : "files");
        mkdir(at(name), 0755);
        snprintf(name, sizeof name, form == SHARDS ? "tar" : "files/%c", 'a' + class);
        mkdir(at(name), 0755);
        snprintf(name, sizeof name, form == SHARDS ? "tar/%02d.txt" : "files/%c/%02d.txt",
                 form == SHARDS ? i : 'a' + class, i);
        if (!put(at(name), text, BYTES) || stat(at(name), &st) != 0) return NULL;
        places[i].device = st.st_dev, places[i].file = st.st_ino, places[i].begin = 0, places[i].end = BYTES;
        snprintf(name, sizeof name, "tar/%02d.cls", i);
        snprintf(text, sizeof text, "%d", class);
        if (form == SHARDS && !put(at(name), text, 1)) return NULL;
    }
    const wick_files_options all = {.all = true, .copy = copy};
    if (form == FOLDER) return wick_dataset_of_files(ctx, at("files"), &all, &set) == WICK_OK ? set : NULL;
    if (form == RECORDS) {
        const bool packed = wick_files_open(ctx, at("files"), &all, &f) == WICK_OK &&
                            wick_files_pack(f, at("a.wrec"), NULL, NULL) == WICK_OK;
        wick_files_free(&f);
        return packed && find_places(at("a.wrec")) && wick_dataset_of_files(ctx, at("a.wrec"), &all, &set) == WICK_OK
                   ? set
                   : NULL;
    }
    snprintf(line, sizeof line, "cd %s/tar && tar -cf ../a.tar *", folder);
    const char *path = at("a.tar");
    return system(line) == 0 && find_places(path) &&
                   wick_dataset_of_shards_with(ctx, 1, &path, &(wick_shards_options){.copy = copy}, &set) == WICK_OK
               ? set
               : NULL;
}

static bool is_whole(const wick_batch *b, int64_t k) {
    char text[BYTES];
    fill(b->samples[k], text);
    return b->lengths[0][k] == BYTES && memcmp((char *)b->fields[0] + k * b->padded[0], text, BYTES) == 0 &&
           ((int64_t *)b->fields[1])[k] == b->samples[k] * CLASSES / COUNT;
}

/* Hashes of the batches of two epochs; 0 at the end of each. */
static int hash_all(wick_loader *l, uint64_t hashes[32]) {
    wick_batch b;
    int n = 0;
    for (int epochs = 0; epochs < 2 && n < 32; n++) {
        if (wick_loader_take(l, &b) != WICK_OK) return -1;
        epochs += !b.count;
        hashes[n] = b.count ? wick_hash(b.fields[0], (size_t)(b.count * b.padded[0]),
                                        wick_hash(b.fields[1], (size_t)b.count * sizeof(int64_t),
                                                  wick_hash(b.samples, (size_t)b.count * sizeof(int64_t), 1)))
                            : 0;
    }
    return n;
}
TEST(either_way_of_reading_makes_the_same_batches_with_any_number_of_workers) {
    static const int crews[] = {0, 1, 2, 5};
    static uint64_t want[32], got[32];
    REQUIRE(scratch_context(NULL));
    reads = HONEST;
    for (int form = 0; form < FORMS; form++)
        for (int copy = 0; copy < 2; copy++) {
            wick_dataset *set = open_form(form, copy);
            CHECK_MSG(set != NULL, "%s: %s", forms[form], wick_context_error(ctx));
            REQUIRE(set != NULL);
            for (int c = 0; c < 4; c++) {
                wick_loader *loader;
                const bool first = !form && !copy && !c;
                REQUIRE(wick_loader_new(ctx, set,
                                        &(wick_loader_options){
                                            .batch = 4, .shuffle = true, .seed = 1, .raw = true, .workers = crews[c]},
                                        &loader) == WICK_OK);
                CHECK_INT(hash_all(loader, first ? want : got), 18);
                if (!first)
                    CHECK_MSG(memcmp(want, got, sizeof want) == 0, "%s, %s, %d workers", forms[form],
                              copy ? "read" : "mapped", crews[c]);
                wick_loader_free(&loader);
            }
            wick_dataset_free(&set);
        }
    CHECK(want[0] != want[1] && want[0] != want[9]);
    wick_context_free(&ctx);
}

TEST(interrupted_and_short_reads_go_on_while_batches_are_made) {
    REQUIRE(scratch_context(NULL));
    for (int form = 0; form < FORMS; form++) {
        reads = HONEST;
        wick_dataset *set = open_form(form, true);
        CHECK_MSG(set != NULL, "%s: %s", forms[form], wick_context_error(ctx));
        REQUIRE(set && wick_dataset_count(set) == COUNT);
        for (int k = INTERRUPTED; k <= SHORT; k++)
            for (int workers = 0; workers < 4; workers++) {
                wick_loader *loader;
                wick_batch b;
                int64_t seen = 0;
                reads = k;
                REQUIRE(wick_loader_new(ctx, set,
                                        &(wick_loader_options){
                                            .batch = 4, .shuffle = true, .seed = 1, .raw = true, .workers = workers},
                                        &loader) == WICK_OK);
                for (int epoch = 0; epoch < 2;) {
                    REQUIRE(wick_loader_take(loader, &b) == WICK_OK);
                    epoch += !b.count;
                    for (int64_t i = 0; i < b.count; i++, seen++) CHECK(is_whole(&b, i));
                }
                CHECK_INT(seen, 2 * COUNT);
                test_count("samples read through interrupted or short reads", seen);
                wick_loader_free(&loader);
            }
        reads = HONEST;
        wick_dataset_free(&set);
    }
    wick_context_free(&ctx);
}

/* One epoch of what the policy leaves. */
static void check_policy(const wick_dataset *set, wick_on_fault policy, int workers, const char *what) {
    wick_loader *loader;
    wick_batch b;
    wick_loader_stats stats;
    int times[COUNT] = {0}, total = 0, bad = 0;
    for (int i = 0; i < COUNT; i++) bad += is_bad(i);
    REQUIRE(wick_loader_new(
                ctx, set,
                &(wick_loader_options){.batch = 4, .raw = true, .workers = workers, .on_fault = policy, .prefetch = 1},
                &loader) == WICK_OK);
    if (policy == WICK_FAULT_STOP) {
        for (int i = 0; i < 2; i++) { /* the batch is tried again, and its first bad sample named again */
            CHECK_INT(wick_loader_take(loader, &b), WICK_ERR_IO);
            CHECK_STR_HAS(wick_context_error(ctx), "sample 3, in epoch 0");
            CHECK_STR_HAS(wick_context_error(ctx), what);
            CHECK_STR_HAS(wick_context_error(ctx), reads == FAILING ? "Input/output error" : "cut off");
        }
        const int was = reads;
        reads = HONEST; /* mended: it goes on where it was */
        CHECK(wick_loader_take(loader, &b) == WICK_OK && b.count == 4 && b.samples[0] == 0 && is_whole(&b, 3));
        reads = was;
        wick_loader_free(&loader);
        return;
    }
    for (;;) {
        REQUIRE(wick_loader_take(loader, &b) == WICK_OK);
        if (!b.count) break;
        for (int64_t k = 0; k < b.count; k++, total++) {
            CHECK(is_whole(&b, k) && !is_bad(b.samples[k]));
            times[b.samples[k]]++;
        }
    }
    wick_loader_get_stats(loader, &stats);
    CHECK_INT(total, policy == WICK_FAULT_SKIP ? COUNT - bad : COUNT);
    for (int i = 0; i < COUNT; i++)
        CHECK(is_bad(i) ? times[i] == 0 : policy == WICK_FAULT_SKIP ? times[i] == 1 : times[i] >= 1);
    CHECK(policy == WICK_FAULT_SKIP ? stats.skipped == (uint64_t)bad && stats.substituted == 0
                                    : stats.skipped == 0 && stats.substituted >= (uint64_t)bad);
    wick_loader_free(&loader);
}

TEST(reads_that_fail_stop_are_skipped_or_replaced) {
    static const char *const named[] = {"03.txt", "record 3", "a.tar"};
    REQUIRE(scratch_context(NULL));
    for (int form = 0; form < FORMS; form++) {
        reads = HONEST;
        wick_dataset *set = open_form(form, true);
        REQUIRE(set != NULL);
        for (int k = FAILING; k <= ENDING; k++)
            for (int policy = WICK_FAULT_STOP; policy <= WICK_FAULT_SUBSTITUTE; policy++)
                for (int workers = 0; workers < 6; workers += workers < 2 ? 1 : 3) {
                    reads = k;
                    failures = 0;
                    check_policy(set, (wick_on_fault)policy, workers, form == RECORDS ? "a.wrec" : named[form]);
                    CHECK_MSG(failures > 0, "%s: no read failed", forms[form]);
                    test_count("policies held over a disk that fails", 1);
                }
        reads = HONEST;
        wick_dataset_free(&set);
    }
    wick_context_free(&ctx);
}

TEST(a_disk_that_fails_while_a_set_is_opened_is_an_error_that_names_the_file) {
    REQUIRE(scratch_context(NULL));
    for (int form = 0; form < FORMS; form++) {
        reads = HONEST;
        wick_dataset *set = open_form(form, true);
        REQUIRE(set != NULL);
        wick_dataset_free(&set);
        for (int i = 0; i < COUNT; i++) places[i].begin = 0, places[i].end = INT32_MAX; /* all of it */
        reads = FAILING;
        const char *path = at(form == FOLDER ? "files" : form == RECORDS ? "a.wrec" : "a.tar");
        const wick_status status =
            form == SHARDS ? wick_dataset_of_shards_with(ctx, 1, &path, &(wick_shards_options){.copy = true}, &set)
                           : wick_dataset_of_files(ctx, path, &(wick_files_options){.all = true, .copy = true}, &set);
        reads = HONEST;
        CHECK_MSG(status == WICK_ERR_IO && !set, "%s: %d", forms[form], (int)status);
        CHECK_STR_HAS(wick_context_error(ctx), path);
        CHECK_STR_HAS(wick_context_error(ctx), "Input/output error");
    }
    wick_context_free(&ctx);
}

int main(int argc, char **argv) {
    const int code = test_main(argc, argv);
    char line[128];
    snprintf(line, sizeof line, "rm -rf %s", folder);
    return system(line) == 0 ? code : 1;
}
