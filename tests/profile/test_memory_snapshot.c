/* Snapshots of memory: their sums are the tracker's, their text is read back, what differs is found and drawn. */
#include "profile/net.h"
#include "profile/memory_snapshot.h"
#include "wick/memory.h"

static wick_memory_snapshot *taken(wick_context *ctx) {
    wick_memory_snapshot *s = NULL;
    CHECK_INT(wick_memory_snapshot_take(ctx, &s), WICK_OK);
    return s;
}

/* "x.c:1" of 2 MB, from a line that is known. */
static wick_tensor *tensor_of(wick_context *ctx, int64_t n) {
    wick_tensor *x = wick_keep(wick_random_normal(ctx, WICK_F32, 1, &n));
    return wick_eval(ctx, 1, &x, NULL) == WICK_OK ? x : NULL;
}

TEST(a_snapshot_has_the_trackers_sums_and_its_text_says_the_same) {
    wick_context *ctx = new_context(.threads = 1, .track_memory = true);
    REQUIRE(ctx);
    REQUIRE(wick_memory_record(ctx) == WICK_OK);
    wick_tensor *a = tensor_of(ctx, 500000), *b = tensor_of(ctx, 1000000);
    REQUIRE(a && b);
    const size_t most = wick_memory_all(ctx).bytes;
    wick_tensor_free(&b);
    wick_memory_snapshot *s = taken(ctx), *read = NULL;
    REQUIRE(s);
    const wick_memory_snapshot_info i = wick_memory_snapshot_get_info(s);
    CHECK(i.bytes == wick_memory_all(ctx).bytes && i.blocks == wick_memory_all(ctx).blocks);
    CHECK_MSG(i.course_peak >= most && i.course_peak == i.peak, "%zu of %zu", i.course_peak, most);
    CHECK(i.points > 0 && i.seconds > 0 && i.regions > 0 && i.holes < i.extent);
    size_t rows = 0;
    for (size_t k = 0; k < s->n_rows; k++) rows += s->rows[k].bytes;
    CHECK(rows == i.bytes);
    size_t end = 0; /* the course ends with what there is */
    for (int u = 0; u < WICK_TAGS; u++) end += s->points[s->n_points - 1].bytes[u];
    CHECK(end == s->points[s->n_points - 1].all);

    REQUIRE(wick_memory_snapshot_write(ctx, s, NULL, path_of("a.tsv")) == WICK_OK);
    REQUIRE(wick_memory_snapshot_read(ctx, path_of("a.tsv"), &read) == WICK_OK);
    REQUIRE(wick_memory_snapshot_write(ctx, read, NULL, path_of("b.tsv")) == WICK_OK);
    size_t n = 0, m = 0;
    char *x = read_all(path_of("a.tsv"), &n), *y = read_all(path_of("b.tsv"), &m);
    CHECK(n > 100 && n == m && memcmp(x, y, n) == 0);
    wick_memory_row r;
    CHECK(wick_memory_snapshot_change(s, read, 0, &r) && r.grown == 0);
    free(x), free(y);
    wick_memory_snapshot_free(&s), wick_memory_snapshot_free(&read);
    wick_tensor_free(&a);
    wick_context_free(&ctx);
}

TEST(what_grew_between_two_snapshots_is_first_with_its_line) {
    wick_context *ctx = new_context(.threads = 1, .track_memory = true);
    REQUIRE(ctx && wick_memory_record(ctx) == WICK_OK);
    wick_tensor *gone = tensor_of(ctx, 100000);
    wick_memory_snapshot *before = taken(ctx);
    wick_tensor_free(&gone);
    const int64_t d = 500000;
    wick_tensor *grown = wick_keep(wick_zeros(ctx, WICK_F32, 1, &d));
    CHECK_INT(wick_eval(ctx, 1, &grown, NULL), WICK_OK);
    wick_memory_snapshot *now = taken(ctx);
    REQUIRE(before && now);
    wick_memory_row first, second;
    CHECK(wick_memory_snapshot_change(now, before, 0, &first) && wick_memory_snapshot_change(now, before, 1, &second));
    CHECK_MSG(first.grown >= 2000000 && first.grown < 2100000, "%lld", (long long)first.grown);
    CHECK_STR_HAS(first.place, "test_memory_snapshot.c:");
    CHECK_MSG(second.grown <= -400000 && second.bytes == 0, "%lld", (long long)second.grown);
    CHECK(!wick_memory_snapshot_change(now, before, 1 << 20, &first) && *first.place == 0);
    REQUIRE(wick_memory_snapshot_write(ctx, now, before, path_of("d.html")) == WICK_OK);
    REQUIRE(wick_memory_snapshot_write(ctx, now, before, path_of("d.html")) == WICK_OK); /* it is ours */
    REQUIRE(wick_memory_snapshot_write(ctx, now, before, path_of("d.svg")) == WICK_OK);
    size_t n = 0;
    char *page = read_all(path_of("d.html"), &n);
    CHECK_STR_HAS(page, "What changed most");
    CHECK_STR_HAS(page, "test_memory_snapshot.c:");
    CHECK_STR_HAS(page, "all of it, before");
    CHECK(!strstr(page, "http:") || strstr(page, "http://www.w3.org/2000/svg")); /* it fetches nothing */
    CHECK(!strstr(page, "src="));
    free(page);
    wick_memory_snapshot_free(&before), wick_memory_snapshot_free(&now);
    wick_tensor_free(&grown);
    wick_context_free(&ctx);
}

TEST(a_course_of_any_length_keeps_its_peak) {
    wick_tracker t;
    REQUIRE(wick_tracker_init(&t, wick_allocator_default(), wick_site) == WICK_OK);
    REQUIRE(wick_tracker_record(&t) == WICK_OK);
    const wick_allocator a = wick_tracker_allocator(&t);
    t.course->width = 1; /* ns: pieces become longer at once */
    void *keep = wick_alloc(&a, 1000);
    for (int i = 0; i < 3000; i++) {
        const size_t size = i == 1234 ? 777000 : 100;
        void *p = wick_alloc(&a, size);
        wick_release(&a, p, size);
    }
    CHECK(t.course->n <= WICK_COURSE_POINTS && t.course->width > 1);
    size_t most = 0;
    for (int i = 0; i < t.course->n; i++) most = WICK_MAX(most, t.course->at[i].all);
    CHECK(most == 778000);
    CHECK(t.course->at[t.course->n - 1].all >= 1000);
    wick_release(&a, keep, 1000);
    wick_tracker_free(&t);
}

TEST(damaged_and_foreign_files_are_refused) {
    wick_context *ctx = new_context(.threads = 1, .track_memory = true), *plain = new_context(.threads = 1);
    REQUIRE(ctx && plain && wick_memory_record(ctx) == WICK_OK);
    wick_memory_snapshot *s = taken(ctx), *read = NULL;
    REQUIRE(s);
    CHECK_INT(wick_memory_snapshot_take(plain, &read), WICK_ERR_INVALID);
    CHECK_INT(wick_memory_record(plain), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(plain), "without track_memory");
    CHECK_INT(wick_memory_snapshot_write(ctx, s, NULL, path_of("x.png")), WICK_ERR_INVALID);
    CHECK_INT(wick_memory_snapshot_read(ctx, path_of("none.tsv"), &read), WICK_ERR_IO);
    REQUIRE(wick_memory_snapshot_write(ctx, s, NULL, path_of("c.tsv")) == WICK_OK);
    size_t n = 0;
    char *text = read_all(path_of("c.tsv"), &n);
    for (int turn = 0; turn < 400; turn++) { /* cut off, or a byte changed: refused, or a snapshot that can be drawn */
        const size_t cut = turn % 2 ? n : test_rand() % n, at = test_rand() % n;
        const char was = text[at];
        if (turn % 2) text[at] = (char)test_rand();
        FILE *f = fopen(path_of("d.tsv"), "wb");
        REQUIRE(f && fwrite(text, 1, cut, f) == cut && fclose(f) == 0);
        text[at] = was;
        const wick_status status = wick_memory_snapshot_read(ctx, path_of("d.tsv"), &read);
        CHECK_MSG(status == WICK_ERR_FORMAT || (turn % 2 && status == WICK_OK), "turn %d: %d", turn, (int)status);
        if (status == WICK_ERR_FORMAT) CHECK_STR_HAS(wick_context_error(ctx), "d.tsv: line ");
        if (status == WICK_OK) CHECK_INT(wick_memory_snapshot_write(ctx, s, read, path_of("d.svg")), WICK_OK);
        wick_memory_snapshot_free(&read);
    }
    FILE *f = fopen(path_of("mine.svg"), "wb");
    REQUIRE(f && fputs("<svg>", f) >= 0 && fclose(f) == 0);
    CHECK_INT(wick_memory_snapshot_write(ctx, s, NULL, path_of("mine.svg")), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "is no profile");
    free(text);
    wick_memory_snapshot_free(&s);
    wick_context_free(&ctx), wick_context_free(&plain);
}

int main(int argc, char **argv) { return run_in_folder(argc, argv); }
