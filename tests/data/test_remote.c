/* Files from afar: the same samples as from the files themselves, whatever the server does. remote_server.py is the
 * other side; it checks S3's signatures by their definition. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

enum { SHARDS = 6, SAMPLES = 40, TEXT = 6000 };
static char folder[64];

/* ---- a server ---------------------------------------------------------------------------------------------------- */

typedef struct server {
    pid_t pid;
    int port;
} server;

/* options: up to three, NULL: none. port 0: there is no Python here. */
static server serve(const char *const options[6]) {
    server s = {0};
    int out[2];
    char root[80];
    const char *argv[10] = {"python3", WICK_SOURCE_DIR "/tests/data/remote_server.py", root};
    snprintf(root, sizeof root, "%s/far", folder);
    for (int i = 0; i < 6 && options && options[i]; i++) argv[3 + i] = options[i];
    if (pipe(out) != 0) return s;
    s.pid = fork();
    if (!s.pid) {
        dup2(out[1], 1);
        close(out[0]);
        execvp("python3", (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(out[1]);
    FILE *f = fdopen(out[0], "r");
    if (!f || fscanf(f, "%d", &s.port) != 1) s.port = 0;
    if (f) fclose(f);
    return s;
}
static void stop(server *s) {
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

static void put_file(FILE *f, const char *name, const char *text, size_t n) {
    char block[512] = {0};
    unsigned sum = 0;
    snprintf(block, 100, "%s", name);
    snprintf(block + 100, 8, "%07o", 0644);
    snprintf(block + 124, 12, "%011zo", n);
    memset(block + 148, ' ', 8);
    block[156] = '0';
    memcpy(block + 257,
           "ustar\0"
           "00",
           8);
    for (int i = 0; i < 512; i++) sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
    fwrite(block, 1, 512, f);
    fwrite(text, 1, n, f);
    static const char zeros[1024];
    fwrite(zeros, 1, (512 - n % 512) % 512, f);
}

/* Sample i of shard k is a text of i + 1 + 100 k bytes and more, and the class i % 7. */
static void write_shards(void) {
    static char text[TEXT + SAMPLES + 100 * SHARDS];
    char path[128], name[32];
    snprintf(path, sizeof path, "%s/far/set with spaces", folder);
    REQUIRE(mkdir(path, 0777) == 0);
    for (int k = 0; k < SHARDS; k++) {
        snprintf(path, sizeof path, "%s/far/set with spaces/%d.tar", folder, k);
        FILE *f = fopen(path, "wb");
        REQUIRE(f);
        for (int i = 0; i < SAMPLES; i++) {
            const size_t n = (size_t)(TEXT + i + 100 * k);
            memset(text, 'a' + (i * SHARDS + k) % 26, n);
            snprintf(name, sizeof name, "%03d.txt", i);
            put_file(f, name, text, n);
            snprintf(name, sizeof name, "%03d.cls", i);
            put_file(f, name, &"0123456"[i % 7], 1);
        }
        fwrite(text, 1, 0, f);
        static const char zeros[1024];
        fwrite(zeros, 1, sizeof zeros, f);
        fclose(f);
    }
}

static char paths[SHARDS][160];
static const char *const *shards_at(const char *base) {
    static const char *list[SHARDS];
    for (int k = 0; k < SHARDS; k++) {
        snprintf(paths[k], sizeof paths[k], "%s/%d.tar", base, k);
        list[k] = paths[k];
    }
    return list;
}

/* All samples of two epochs, as one number. */
static uint64_t hash_of(wick_context *ctx, const char *base, wick_remote *remote) {
    wick_dataset *set = NULL;
    wick_loader *loader = NULL;
    uint64_t hash = 1;
    const wick_status status = wick_dataset_of_shard_stream(
        ctx, SHARDS, shards_at(base),
        &(wick_shard_stream_options){.stream = {.shuffle = 16, .window = 64, .seed = 5}, .remote = remote}, &set);
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(ctx));
    if (status != WICK_OK) return 0;
    const wick_status made = wick_loader_new(ctx, set, &(wick_loader_options){.batch = 8, .workers = 2}, &loader);
    CHECK_MSG(made == WICK_OK, "%s", wick_context_error(ctx));
    for (int epoch = 0; made == WICK_OK && epoch < 2; epoch++) {
        wick_batch b;
        int64_t n = 0;
        wick_status taken = WICK_OK;
        while ((taken = wick_loader_take(loader, &b)) == WICK_OK && b.count) {
            hash = wick_hash(b.fields[0], (size_t)(b.count * b.padded[0]), hash);
            hash = wick_hash(b.fields[1], (size_t)b.count * sizeof(int64_t), hash);
            n += b.count;
        }
        CHECK_MSG(taken == WICK_OK, "%s", wick_context_error(ctx));
        CHECK_INT(n, SHARDS * SAMPLES);
    }
    wick_loader_free(&loader);
    wick_dataset_free(&set);
    return hash;
}

static uint64_t bytes_of_folder(const char *path) {
    char command[256];
    unsigned long long n = 0;
    snprintf(command, sizeof command,
             "find %s -type f -not -name '*.from' -printf '%%s\\n' | awk '{n += $1} END {print n + 0}'", path);
    FILE *f = popen(command, "r");
    if (f && fscanf(f, "%llu", &n) != 1) n = 0;
    if (f) pclose(f);
    return n;
}

/* ---- what is promised -------------------------------------------------------------------------------------------- */

#define SERVE(s, ...)                                                                                                  \
    server s = serve((const char *const[6]){__VA_ARGS__});                                                             \
    if (!s.port) SKIP("no python3 here");

static wick_remote *new_remote(wick_context *ctx, const char *name, uint64_t bytes) {
    char path[128];
    wick_remote *r = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const wick_status status =
        wick_remote_open(ctx, &(wick_remote_options){.folder = path, .bytes = bytes, .patience = 5}, &r);
    if (status == WICK_ERR_UNSUPPORTED) return NULL; /* no libcurl here */
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(ctx));
    return r;
}

static wick_remote_stats stats_of(const wick_remote *r) {
    wick_remote_stats stats;
    wick_remote_get_stats(r, &stats);
    return stats;
}

TEST(samples_are_those_of_the_files_whatever_the_server_does) {
    wick_context *ctx = new_context(.threads = 2);
    char base[128];
    snprintf(base, sizeof base, "%s/far/set with spaces", folder);
    const uint64_t here = hash_of(ctx, base, NULL);
    for (int faults = 0; faults < 2; faults++) {
        SERVE(s, "--faults", faults ? "0.4" : "0", "--seed", "3")
        wick_remote *r = new_remote(ctx, faults ? "faults" : "quiet", 0);
        if (!r) {
            stop(&s);
            break;
        }
        snprintf(base, sizeof base, "http://127.0.0.1:%d/set%%20with%%20spaces", s.port);
        CHECK(hash_of(ctx, base, r) == here);
        wick_remote_stats stats = stats_of(r);
        CHECK_MSG(faults ? stats.retries > 0 : stats.requests == SHARDS && !stats.retries, "%llu, %llu",
                  (unsigned long long)stats.requests, (unsigned long long)stats.retries);
        const uint64_t received = stats.received;
        CHECK(hash_of(ctx, base, r) == here); /* kept: nothing is asked for */
        stats = stats_of(r);
        CHECK(stats.received == received && stats.hits >= 2 * SHARDS);
        wick_remote_free(&r);
        /* By another process the server is asked whether they are still the same, and sends nothing. */
        r = new_remote(ctx, faults ? "faults" : "quiet", 0);
        CHECK(hash_of(ctx, base, r) == here);
        stats = stats_of(r);
        CHECK(faults || (stats.received == 0 && stats.requests == SHARDS));
        wick_remote_free(&r);
        stop(&s);
    }
    wick_context_free(&ctx);
}

TEST(an_interrupted_file_goes_on_where_it_stopped) {
    wick_context *ctx = new_context(.threads = 1);
    char url[128], path[256], log[128], line[600];
    snprintf(log, sizeof log, "%s/log", folder);
    SERVE(s, "--faults", "0.7", "--log", log)
    wick_remote *r = new_remote(ctx, "interrupted", 0);
    if (!r) {
        stop(&s);
        wick_context_free(&ctx);
        SKIP("no libcurl here");
    }
    for (int k = 0; k < SHARDS; k++) {
        snprintf(url, sizeof url, "http://127.0.0.1:%d/set%%20with%%20spaces/%d.tar", s.port, k);
        CHECK_MSG(wick_remote_get(r, url, path, sizeof path) == WICK_OK, "%s", wick_remote_error(r));
        snprintf(line, sizeof line, "cmp -s '%s' '%s/far/set with spaces/%d.tar'", path, folder, k);
        CHECK(system(line) == 0);
    }
    const wick_remote_stats stats = stats_of(r);
    uint64_t whole = 0;
    snprintf(line, sizeof line, "%s/interrupted", folder);
    whole = bytes_of_folder(line);
    CHECK_MSG(stats.received < whole * 5 / 4, "%llu of %llu bytes", (unsigned long long)stats.received,
              (unsigned long long)whole);
    FILE *f = fopen(log, "r");
    int parts = 0;
    while (f && fgets(line, sizeof line, f)) parts += strstr(line, "bytes=") && strstr(line, "206");
    if (f) fclose(f);
    CHECK(parts > 0);
    wick_remote_free(&r);
    stop(&s);
    wick_context_free(&ctx);
}

TEST(what_is_kept_stays_within_its_bytes) {
    wick_context *ctx = new_context(.threads = 1);
    char base[128], path[256], kept[128];
    struct stat st;
    SERVE(s, NULL)
    snprintf(path, sizeof path, "%s/far/set with spaces/0.tar", folder);
    REQUIRE(stat(path, &st) == 0);
    const uint64_t most = 5 * (uint64_t)st.st_size / 2;
    wick_remote *r = new_remote(ctx, "small", most);
    if (!r) {
        stop(&s);
        wick_context_free(&ctx);
        SKIP("no libcurl here");
    }
    snprintf(base, sizeof base, "%s/far/set with spaces", folder);
    const uint64_t here = hash_of(ctx, base, NULL);
    snprintf(base, sizeof base, "http://127.0.0.1:%d/set%%20with%%20spaces", s.port);
    CHECK(hash_of(ctx, base, r) == here);
    snprintf(kept, sizeof kept, "%s/small", folder);
    CHECK(bytes_of_folder(kept) <= most);
    CHECK(stats_of(r).evicted > 0);
    wick_remote_free(&r);
    r = new_remote(ctx, "tiny", 1000);
    CHECK_INT(wick_remote_get(r, shards_at(base)[0], path, sizeof path), WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_remote_error(r), "has 1000");
    wick_remote_free(&r);
    stop(&s);
    wick_context_free(&ctx);
}

TEST(what_is_damaged_or_changed_is_fetched_again) {
    wick_context *ctx = new_context(.threads = 1);
    char url[128], path[256], own[160];
    SERVE(s, NULL)
    snprintf(own, sizeof own, "%s/far/changes.bin", folder);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/changes.bin?x=1", s.port);
    for (int turn = 0; turn < 4; turn++) {
        wick_remote *r = new_remote(ctx, "changing", 0);
        if (!r) {
            stop(&s);
            wick_context_free(&ctx);
            SKIP("no libcurl here");
        }
        const char *text = turn < 3 ? "first" : "another text";
        FILE *f = fopen(own, "wb");
        REQUIRE(f && fputs(text, f) >= 0 && fclose(f) == 0);
        CHECK_MSG(wick_remote_get(r, url, path, sizeof path) == WICK_OK, "%s", wick_remote_error(r));
        char got[64] = "";
        f = fopen(path, "rb");
        REQUIRE(f);
        got[fread(got, 1, sizeof got - 1, f)] = 0;
        fclose(f);
        CHECK(strcmp(got, text) == 0);
        const wick_remote_stats stats = stats_of(r);
        CHECK_INT(stats.received, turn == 1 ? 0 : strlen(text));
        CHECK_INT(stats.hits, turn == 1);
        if (turn == 1) { /* the disk lost a byte: the third turn fetches it */
            f = fopen(path, "r+b");
            REQUIRE(f && fputs("f1", f) >= 0 && fclose(f) == 0);
        }
        wick_remote_free(&r);
    }
    stop(&s);
    wick_context_free(&ctx);
}

TEST(s3_is_asked_with_a_right_signature) {
    wick_context *ctx = new_context(.threads = 1);
    char endpoint[64], path[256], own[160];
    SERVE(s, "--keys", "ID:SECRET/+KEY:TOKEN==", "--faults", "0.3")
    snprintf(own, sizeof own, "%s/far/bucket", folder);
    CHECK(mkdir(own, 0777) == 0);
    snprintf(own, sizeof own, "%s/far/bucket/a b+c=\xc3\xa4.bin", folder);
    FILE *f = fopen(own, "wb");
    REQUIRE(f);
    for (int i = 0; i < 100000; i++) fputc(i % 251, f);
    fclose(f);
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d/", s.port);
    setenv("AWS_ENDPOINT_URL", endpoint, 1);
    setenv("AWS_ACCESS_KEY_ID", "ID", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "SECRET/+KEY", 1);
    setenv("AWS_SESSION_TOKEN", "TOKEN==", 1);
    setenv("AWS_REGION", "eu-north-1", 1);
    wick_remote *r = new_remote(ctx, "s3", 0);
    if (!r) {
        stop(&s);
        wick_context_free(&ctx);
        SKIP("no libcurl here");
    }
    const char *url = "s3://bucket/a b+c=\xc3\xa4.bin";
    CHECK_MSG(wick_remote_get(r, url, path, sizeof path) == WICK_OK, "%s", wick_remote_error(r));
    setenv("AWS_SECRET_ACCESS_KEY", "another", 1);
    CHECK_INT(wick_remote_get(r, "s3://bucket/other", path, sizeof path), WICK_ERR_IO);
    CHECK_STR_HAS(wick_remote_error(r), "s3://bucket/other: the server answers 403: SignatureDoesNotMatch");
    setenv("AWS_SESSION_TOKEN", "expired", 1);
    CHECK_INT(wick_remote_get(r, "s3://bucket/other", path, sizeof path), WICK_ERR_IO);
    CHECK_STR_HAS(wick_remote_error(r), "403: InvalidToken");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    CHECK_INT(wick_remote_get(r, "s3://bucket/other", path, sizeof path), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_remote_error(r), "one is not set");
    unsetenv("AWS_ACCESS_KEY_ID");
    CHECK_INT(wick_remote_get(r, "s3://bucket/other", path, sizeof path), WICK_ERR_IO);
    CHECK_STR_HAS(wick_remote_error(r), "AccessDenied");
    CHECK_INT(wick_remote_get(r, "s3://bucket", path, sizeof path), WICK_ERR_INVALID);
    unsetenv("AWS_ENDPOINT_URL");
    wick_remote_free(&r);
    stop(&s);
    wick_context_free(&ctx);
}

TEST(errors_name_the_url_and_what_is_wrong) {
    wick_context *ctx = new_context(.threads = 1);
    char url[128], path[256];
    wick_remote *r = NULL;
    wick_dataset *set = NULL;
    SERVE(s, NULL)
    snprintf(path, sizeof path, "%s/errors", folder);
    REQUIRE(wick_remote_open(ctx, &(wick_remote_options){.folder = path, .attempts = 2, .patience = 2}, &r) == WICK_OK);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/nothing.tar", s.port);
    CHECK_INT(wick_remote_get(r, url, path, sizeof path), WICK_ERR_IO);
    CHECK_STR_HAS(wick_remote_error(r), "/nothing.tar: the server answers 404: NoSuchKey");
    CHECK_INT(stats_of(r).requests, 1); /* asking again would be of no use */
    const char *list[] = {url};
    CHECK_INT(wick_dataset_of_shard_stream(ctx, 1, list, &(wick_shard_stream_options){.remote = r}, &set), WICK_ERR_IO);
    CHECK_STR_HAS(wick_context_error(ctx), "the server answers 404");
    wick_files *files = NULL;
    CHECK_INT(wick_files_open(ctx, url, &(wick_files_options){.remote = r}, &files), WICK_ERR_IO);
    CHECK_STR_HAS(wick_context_error(ctx), "the server answers 404");
    snprintf(url, sizeof url, "http://127.0.0.1:%d/set%%20with%%20spaces/0.tar?unframed", s.port);
    CHECK_INT(wick_remote_get(r, url, path, sizeof path), WICK_ERR_IO);
    CHECK_STR_HAS(wick_remote_error(r), "does not say how long it is");
    CHECK_INT(wick_remote_get(r, "/etc/passwd", path, sizeof path), WICK_ERR_INVALID);
    CHECK_INT(wick_remote_get(r, "file:///etc/passwd", path, sizeof path), WICK_ERR_INVALID);
    stop(&s);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/x.tar", s.port);
    CHECK_INT(wick_remote_get(r, url, path, sizeof path), WICK_ERR_IO);
    CHECK_STR_HAS(wick_remote_error(r), "/x.tar: ");
    CHECK_INT(stats_of(r).retries, 1);
    wick_remote_free(&r);
    CHECK_INT(wick_remote_open(ctx, &(wick_remote_options){.folder = "/dev/null/x"}, &r), WICK_ERR_IO);
    CHECK_INT(wick_remote_open(ctx, &(wick_remote_options){.attempts = -1}, &r), WICK_ERR_INVALID);
    wick_context_free(&ctx);
}

/* A remote whose thread is fetching from a server that says nothing ends at once. */
TEST(what_is_read_ahead_does_not_hold_up_the_end) {
    wick_context *ctx = new_context(.threads = 1);
    char url[128], path[256];
    SERVE(s, NULL)
    wick_remote *r = new_remote(ctx, "ahead", 0);
    if (!r) {
        stop(&s);
        wick_context_free(&ctx);
        SKIP("no libcurl here");
    }
    snprintf(url, sizeof url, "http://127.0.0.1:%d/set%%20with%%20spaces/1.tar", s.port);
    wick_remote_ahead(r, url);
    for (int i = 0; i < 500 && !stats_of(r).received; i++) usleep(10000);
    CHECK_MSG(wick_remote_get(r, url, path, sizeof path) == WICK_OK, "%s", wick_remote_error(r));
    const wick_remote_stats stats = stats_of(r);
    CHECK(stats.files == 1 && stats.hits == 1 && stats.requests == 1);
    kill(s.pid, SIGSTOP);
    for (int i = 0; i < 20; i++) {
        snprintf(url, sizeof url, "http://127.0.0.1:%d/set%%20with%%20spaces/%d.tar", s.port, 2 + i);
        wick_remote_ahead(r, url);
    }
    usleep(100000);
    const uint64_t began = wick_now_ns();
    wick_remote_free(&r);
    CHECK_MSG((double)(wick_now_ns() - began) * 1e-9 < 2.5, "%g s", (double)(wick_now_ns() - began) * 1e-9);
    stop(&s);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) {
    char path[128];
    snprintf(folder, sizeof folder, "/tmp/wick-remote-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/far", folder);
    if (mkdir(path, 0777) != 0) return 1;
    write_shards();
    const int code = test_main(argc, argv);
    snprintf(path, sizeof path, "rm -rf %s", folder);
    return system(path) == 0 ? code : 1;
}
