/* What profiles write: timelines, flame graphs, stacks. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "profile/net.h"

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* A packet's length, and where it begins; 0: it is cut off. */
static size_t varint(const uint8_t *at, const uint8_t *end, uint64_t *v) {
    *v = 0;
    for (size_t i = 0; at + i < end && i < 10; i++) {
        *v |= (uint64_t)(at[i] & 127) << 7 * i;
        if (at[i] < 128) return i + 1;
    }
    return 0;
}
/* Slices that begin and end among whole packets; -1: it is no trace. */
static int slices(const uint8_t *at, size_t size, int *ends) {
    const uint8_t *end = at + size;
    int begins = 0;
    *ends = 0;
    while (at < end) {
        uint64_t key, length;
        const size_t k = varint(at, end, &key), l = k ? varint(at + k, end, &length) : 0;
        if (k && key != 0x0a) return -1;
        if (!l || length > (uint64_t)(end - at) - k - l) break; /* cut off */
        const uint8_t *p = at + k + l, *stop = p + length;
        while (p < stop) {
            uint64_t field, v;
            size_t m = varint(p, stop, &field);
            if (!m) return -1;
            p += m;
            if ((field & 7) == 0) {
                if (!(m = varint(p, stop, &v))) return -1;
                p += m;
            } else if ((field & 7) == 2) {
                if (!(m = varint(p, stop, &v)) || v > (uint64_t)(stop - p) - m) return -1;
                if (field >> 3 == 11 && v >= 2 && p[m] == 9 << 3) *(p[m + 1] == 1 ? &begins : ends) += 1;
                p += m + v;
            } else
                return -1;
        }
        at = stop;
    }
    return begins;
}

static wick_status timeline_of(net *n, const char *path, int runs, wick_profile_info *info) {
    wick_profile *p = NULL;
    wick_status status = wick_profile_start(n->ctx, &(wick_profile_options){.timeline = path, .marks = 64}, &p);
    if (status != WICK_OK) return status;
    for (int i = 0; i < runs && status == WICK_OK; i++) status = net_run(n);
    if (status == WICK_OK) status = wick_profile_stop(p);
    *info = wick_profile_get_info(p);
    wick_profile_free(&p);
    return status;
}

TEST(packets_have_all_spans_and_few_bytes) {
    net n;
    wick_profile_info info;
    size_t size;
    int ends;
    REQUIRE(net_open(&n, 2));
    CHECK_INT(timeline_of(&n, path_of("a.pftrace"), 300, &info), WICK_OK);
    uint8_t *text = (uint8_t *)read_all(path_of("a.pftrace"), &size);
    REQUIRE(text);
    CHECK_INT(slices(text, size, &ends), info.spans);
    CHECK_INT(ends, info.spans);
    CHECK(info.spans >= 300 + info.steps);
    CHECK_INT(info.dropped, 0);
    CHECK_MSG((double)size / (double)info.spans <= 40, "%g bytes a span", (double)size / (double)info.spans);
    for (size_t cut = 0; cut < size; cut += 1 + size / 3000) CHECK(slices(text, cut, &ends) >= 0);
    free(text);
    net_close(&n);
}

TEST(chrome_s_events_have_the_same_spans) {
    net n;
    wick_profile_info info;
    size_t size;
    REQUIRE(net_open(&n, 2));
    CHECK_INT(timeline_of(&n, path_of("a.json"), 100, &info), WICK_OK);
    char *text = read_all(path_of("a.json"), &size);
    REQUIRE(text);
    uint64_t spans = 0;
    for (char *at = text; (at = strstr(at, "\"ph\":\"X\"")); at++) spans++;
    CHECK_INT(spans, info.spans);
    CHECK(spans >= 100 + info.steps);
    CHECK(!strcmp(text + size - 5, "\n{}]\n"));
    free(text);
    net_close(&n);
}

/* How often a text is there. */
static int count_of(const char *text, const char *word) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) n++;
    return n;
}

/* Three ranks write into one file, by turns; the first to end is a follower. All spans are there, each rank's by
 * numbers of its own, and what an earlier run left is not. */
static void of_ranks(const char *name, bool packets, const char *const of_rank[3]) {
    enum { RANKS = 3 };
    net n[RANKS];
    wick_profile *p[RANKS] = {NULL};
    wick_profile_info info[RANKS];
    const char *path = path_of(name);
    uint64_t spans = 0;
    size_t size;
    int ends = 0;
    const uint64_t zero = wick_now_ns();
    for (int r = 0; r < RANKS; r++) {
        const wick_profile_options o = {.timeline = path, .marks = 64, .rank = r, .ranks = RANKS, .zero = zero};
        REQUIRE(net_open(&n[r], 1));
        REQUIRE(wick_profile_start(n[r].ctx, &o, &p[r]) == WICK_OK);
    }
    net other;
    wick_profile *late = NULL;
    REQUIRE(net_open(&other, 1));
    CHECK_INT(wick_profile_start(other.ctx, &(wick_profile_options){.timeline = path, .ranks = 2}, &late), WICK_ERR_IO);
    CHECK_STR_HAS(wick_context_error(other.ctx), "cannot be shared by ranks: others are writing it");
    net_close(&other);
    for (int i = 0; i < 400; i++)
        for (int r = 0; r < RANKS; r++) CHECK_INT(net_run(&n[r]), WICK_OK);
    for (int r = RANKS - 1; r >= 0; r--) {
        CHECK_INT(wick_profile_stop(p[r]), WICK_OK);
        info[r] = wick_profile_get_info(p[r]);
        CHECK_INT(info[r].dropped, 0);
        spans += info[r].spans;
        wick_profile_free(&p[r]);
        net_close(&n[r]);
    }
    char *text = read_all(path, &size);
    REQUIRE(text);
    CHECK(size > 3 * sizeof(((timeline *)0)->buffer) / 2); /* they did write by turns */
    if (packets) {
        CHECK_INT(slices((uint8_t *)text, size, &ends), spans);
        CHECK_INT(ends, spans);
        for (int r = 0; r < RANKS; r++) CHECK(memmem(text, size, of_rank[r], strlen(of_rank[r])) != NULL);
    } else {
        for (int r = 0; r < RANKS; r++) CHECK_INT(count_of(text, of_rank[r]), info[r].spans);
    }
    free(text);
}

TEST(ranks_share_a_timeline) {
    for (int again = 0; again < 2; again++) {
        of_ranks("r.pftrace", true, (const char *const[]){"wick, rank 0", "wick, rank 1", "wick, rank 2"});
        of_ranks(
            "r.json", false,
            (const char *const[]){"\"ph\":\"X\",\"pid\":1,", "\"ph\":\"X\",\"pid\":2,", "\"ph\":\"X\",\"pid\":3,"});
        of_ranks("r.otlp.jsonl", false,
                 (const char *const[]){"\"wick.rank\",\"value\":{\"intValue\":\"0\"}",
                                       "\"wick.rank\",\"value\":{\"intValue\":\"1\"}",
                                       "\"wick.rank\",\"value\":{\"intValue\":\"2\"}"});
    }
    size_t size;
    char *text = read_all(path_of("r.json"), &size);
    REQUIRE(text);
    CHECK_INT(count_of(text, "process_name"), 3);
    CHECK_INT(count_of(text, "{}]"), 1);
    CHECK(!strcmp(text + size - 5, "\n{}]\n") && text[0] == '[');
    free(text);
    net n;
    wick_profile *p = NULL;
    REQUIRE(net_open(&n, 1));
    static const int wrong[][2] = {{1, 0}, {2, 2}, {-1, 2}, {0, 4097}, {0, -1}};
    for (size_t i = 0; i < WICK_COUNTOF(wrong); i++) {
        const wick_profile_options o = {.timeline = path_of("w.json"), .rank = wrong[i][0], .ranks = wrong[i][1]};
        CHECK_INT(wick_profile_start(n.ctx, &o, &p), WICK_ERR_INVALID);
        CHECK_STR_HAS(wick_context_error(n.ctx), "profile: rank ");
    }
    net_close(&n);
}

TEST(what_a_file_has_no_room_for_is_counted) {
    net n;
    wick_profile *p = NULL;
    size_t size;
    int ends;
    REQUIRE(net_open(&n, 1));
    const wick_profile_options options = {.timeline = path_of("small.pftrace"), .timeline_bytes = 5000};
    REQUIRE(wick_profile_start(n.ctx, &options, &p) == WICK_OK);
    for (int i = 0; i < 500; i++) CHECK_INT(net_run(&n), WICK_OK);
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    const wick_profile_info info = wick_profile_get_info(p);
    uint8_t *text = (uint8_t *)read_all(path_of("small.pftrace"), &size);
    REQUIRE(text);
    CHECK(size <= 5000 + 128);
    CHECK_INT(slices(text, size, &ends), info.spans);
    CHECK_INT(ends, info.spans);
    CHECK_INT(info.spans + info.dropped, 500 + info.steps + 1); /* and the profile's own */
    CHECK_INT(info.run_times.count, 500);                       /* counts are whole all the same */
    free(text);
    wick_profile_free(&p);
    net_close(&n);
}

TEST(a_full_disk_ends_the_timeline_and_nothing_else) {
    net n;
    wick_profile *p = NULL;
    if (access("/dev/full", W_OK) != 0) SKIP("no /dev/full");
    REQUIRE(net_open(&n, 1));
    REQUIRE(wick_profile_start(n.ctx, &(wick_profile_options){.timeline = path_of("full.pftrace")}, &p) == WICK_OK);
    const int full = open("/dev/full", O_WRONLY);
    REQUIRE(full >= 0 && dup2(full, p->timeline.fd) >= 0);
    close(full);
    for (int i = 0; i < 3000; i++) CHECK_INT(net_run(&n), WICK_OK);
    CHECK_INT(wick_profile_stop(p), WICK_ERR_IO);
    CHECK_STR_HAS(wick_profile_error(p), "No space left");
    CHECK(wick_profile_get_info(p).dropped > 0);
    CHECK_INT(wick_profile_get_info(p).runs, 3000);
    wick_profile_free(&p);
    net_close(&n);
}

TEST(a_fork_s_child_leaves_the_file_alone) {
    net n;
    wick_profile *p = NULL;
    size_t size;
    int ends, state;
    REQUIRE(net_open(&n, 1));
    REQUIRE(wick_profile_start(n.ctx, &(wick_profile_options){.timeline = path_of("f.pftrace"), .marks = 64}, &p) ==
            WICK_OK);
    for (int i = 0; i < 20; i++) CHECK_INT(net_run(&n), WICK_OK);
    const pid_t child = fork();
    if (child == 0) {
        bool good = true;
        for (int i = 0; i < 200; i++) good &= net_run(&n) == WICK_OK;
        wick_profile_free(&p);
        _exit(good ? 0 : 1);
    }
    REQUIRE(child > 0 && waitpid(child, &state, 0) == child);
    CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 0);
    for (int i = 0; i < 20; i++) CHECK_INT(net_run(&n), WICK_OK);
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    const wick_profile_info info = wick_profile_get_info(p);
    CHECK_INT(info.runs, 40);
    uint8_t *text = (uint8_t *)read_all(path_of("f.pftrace"), &size);
    REQUIRE(text);
    CHECK_INT(slices(text, size, &ends), info.spans);
    CHECK_INT(ends, info.spans);
    free(text);
    wick_profile_free(&p);
    net_close(&n);
}

TEST(only_a_profile_is_replaced) {
    wick_context *ctx = new_context(.threads = 1);
    wick_profile *p = NULL;
    FILE *f = fopen(path_of("weights.pftrace"), "w");
    REQUIRE(f);
    fputs("not a profile", f);
    fclose(f);
    const wick_profile_options options = {.timeline = path_of("weights.pftrace")};
    CHECK_INT(wick_profile_start(ctx, &options, &p), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "is no profile");
    CHECK(!p);
    const wick_profile_options good = {.timeline = path_of("again.pftrace")};
    for (int i = 0; i < 2; i++) {
        CHECK_INT(wick_profile_start(ctx, &good, &p), WICK_OK);
        wick_profile_free(&p);
    }
    CHECK_INT(wick_profile_start(ctx, &(wick_profile_options){.timeline = "/nowhere/at/all"}, &p), WICK_ERR_IO);
    CHECK_INT(wick_profile_start(ctx, &(wick_profile_options){.overhead = 2}, &p), WICK_ERR_INVALID);
    CHECK_INT(wick_profile_start(ctx, NULL, &p), WICK_OK);
    wick_profile *other = NULL;
    CHECK_INT(wick_profile_start(ctx, NULL, &other), WICK_ERR_BUSY);
    CHECK_INT(wick_profile_write(p, path_of("x.png")), WICK_ERR_INVALID);
    wick_profile_free(&p);
    wick_context_free(&ctx);
}

TEST(folded_stacks_sum_to_what_was_recorded) {
    net n;
    wick_profile *p = NULL;
    size_t size;
    REQUIRE(net_open(&n, 1));
    REQUIRE(wick_profile_start(n.ctx, NULL, &p) == WICK_OK);
    for (int i = 0; i < 77; i++) CHECK_INT(net_run(&n), WICK_OK);
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    CHECK_INT(wick_profile_write(p, path_of("a.folded")), WICK_OK);
    CHECK_INT(wick_profile_write(p, path_of("a.folded")), WICK_OK);
    CHECK_INT(wick_profile_write(p, path_of("a.svg")), WICK_OK);
    CHECK_INT(wick_profile_write(p, path_of("a.txt")), WICK_OK);
    CHECK_INT(wick_profile_write(p, path_of("b.json")), WICK_OK);
    char *text = read_all(path_of("a.folded"), &size);
    REQUIRE(text);
    unsigned long long sum = 0, at;
    int stacks = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), stacks++) {
        REQUIRE(strrchr(line, ' ') && sscanf(strrchr(line, ' '), " %llu", &at) == 1);
        sum += at;
    }
    CHECK(stacks >= 4);
    CHECK_INT(sum, p->spans[WICK_SPAN_RUN].total);
    free(text);
    text = read_all(path_of("a.svg"), &size);
    REQUIRE(text);
    CHECK_STR_HAS(text, "matmul");
    CHECK_STR_HAS(text, "</svg>\n");
    CHECK(!strstr(text, "script") && !strstr(text, "href"));
    free(text);
    text = read_all(path_of("a.txt"), &size);
    REQUIRE(text);
    CHECK_STR_HAS(text, "77 runs on 1 thread");
    free(text);
    wick_profile_free(&p);
    net_close(&n);
}

TEST(a_program_has_spans_of_its_own) {
    net n;
    wick_profile *p = NULL;
    size_t size;
    int ends;
    REQUIRE(net_open(&n, 1));
    wick_profile_begin(n.ctx, "before"); /* nothing is recorded yet */
    wick_profile_end(n.ctx);
    REQUIRE(wick_profile_start(n.ctx, &(wick_profile_options){.timeline = path_of("own.pftrace")}, &p) == WICK_OK);
    for (int i = 0; i < 5; i++) {
        wick_profile_begin(n.ctx, "epoch");
        for (int k = 0; k < 3; k++) {
            wick_profile_begin(n.ctx, "step");
            CHECK_INT(net_run(&n), WICK_OK);
            wick_profile_end(n.ctx);
        }
        wick_profile_end(n.ctx);
    }
    wick_profile_end(n.ctx); /* of none */
    for (int i = 0; i < 20; i++) wick_profile_begin(n.ctx, "left open");
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    double epoch = 0, step = 0;
    const int rows = wick_profile_rows(p, WICK_PROFILE_SPANS);
    for (int i = 0; i < rows; i++) {
        const wick_profile_row r = wick_profile_row_at(p, WICK_PROFILE_SPANS, i);
        CHECK(strcmp(r.name, "before") != 0);
        if (!strcmp(r.name, "epoch")) epoch = r.time.total;
        if (!strcmp(r.name, "step")) step = r.time.total;
        CHECK(strcmp(r.name, "epoch") != 0 || r.time.count == 5);
        CHECK(strcmp(r.name, "step") != 0 || r.time.count == 15);
        if (!strcmp(r.name, "left open")) CHECK_INT(r.time.count, WICK_TRACK_OPEN);
    }
    const wick_profile_info info = wick_profile_get_info(p);
    CHECK(step >= info.run && epoch >= step);
    CHECK_INT(info.runs, 15);
    uint8_t *text = (uint8_t *)read_all(path_of("own.pftrace"), &size);
    REQUIRE(text);
    CHECK_INT(slices(text, size, &ends), info.spans);
    CHECK_INT(ends, info.spans);
    free(text);
    wick_profile_free(&p);
    net_close(&n);
}

int main(int argc, char **argv) { return run_in_folder(argc, argv); }
