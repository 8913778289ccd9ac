/* Tables: what Python's csv module writes is read as Python reads it; types, categories and what is missing; lines that don't fit are named. */
#include <locale.h>
#include <unistd.h>

#include "base/counting_alloc.h"
#include "test.h"
#include "wick/wick.h"

static wick_context *ctx;
static char path[64];
static bool begin(const wick_allocator *allocator) {
    snprintf(path, sizeof path, "/tmp/wick-csv-%ld", (long)getpid());
    return wick_context_new(&ctx, &(wick_context_options){.threads = 1, .allocator = allocator}) == WICK_OK;
}
static void end(void) {
    wick_context_free(&ctx);
    unlink(path);
}
static wick_status table_text(const char *text, size_t n, const wick_csv_options *o, wick_csv **t) {
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(text, 1, n, f) == n);
    if (f) fclose(f);
    return wick_csv_read(ctx, path, o, t);
}
static wick_status table(const char *text, const wick_csv_options *o, wick_csv **t) { return table_text(text, strlen(text), o, t); }
static bool same(float a, float b) { return a == b || (isnan(a) && isnan(b)); }

/* Row by row the features, each row's label and target behind them. */
static void check_rows(const wick_csv *t, int n, const float *want, const int64_t *labels) {
    wick_dataset *d;
    CHECK_MSG(wick_dataset_of_csv(ctx, t, &d) == WICK_OK, "%s", wick_context_error(ctx));
    if (!d) return;
    CHECK_INT(wick_dataset_dims(d)[0], n);
    for (int64_t i = 0; i < wick_dataset_count(d); i++) {
        float *x = malloc((size_t)(n + !n) * sizeof *x), target;
        int64_t y = -7;
        CHECK(wick_dataset_get(d, i, (void *[]){x, labels ? (void *)&y : &target, &target}, NULL) == WICK_OK && !memcmp(wick_dataset_at(d, i, 0), x, (size_t)n * sizeof *x));
        for (int k = 0; k < n; k++) CHECK_MSG(same(x[k], want[i * n + k]), "row %lld, feature %d: %g, not %g", (long long)i, k, (double)x[k], (double)want[i * n + k]);
        if (labels) CHECK(y == labels[i] && wick_dataset_label(d, i) == y);
        free(x);
    }
    wick_dataset_free(&d);
}

TEST(types_categories_and_missing_values) {
    static const char text[] = "\xef\xbb\xbfid, size ,colour,\"a \"\"class\"\"\",y\r\n1,1.5,red,10,0.5\r\n\r\n2,NA,blue,9,-1e3\r\n3,+2.5e0,,10,inf\r\n4, 3 ,\"r,e\nd\",100,7";
    wick_csv *t;
    REQUIRE(begin(NULL));
    REQUIRE(table(text, &(wick_csv_options){.label = "a \"class\"", .target = "y", .skip = "id"}, &t) == WICK_OK);
    CHECK(wick_csv_rows(t) == 4 && wick_csv_columns(t) == 5 && !wick_csv_column_at(t, 5) && !wick_csv_column_at(t, -1));
    const wick_csv_column *size = wick_csv_column_at(t, 1), *colour = wick_csv_column_at(t, 2), *class = wick_csv_column_at(t, 3);
    CHECK(wick_csv_column_at(t, 0)->type == WICK_CSV_LEFT_OUT && size->type == WICK_CSV_NUMBER && size->missing == 1 && size->min == 1.5 && size->max == 3 && fabs(size->mean - 7. / 3) < 1e-12);
    CHECK(strcmp(size->name, "size") == 0 && colour->type == WICK_CSV_CATEGORY && colour->categories == 3 && colour->missing == 1);
    CHECK(strcmp(wick_csv_category(t, 2, 0), "blue") == 0 && strcmp(wick_csv_category(t, 2, 1), "r,e\nd") == 0 && strcmp(wick_csv_category(t, 2, 2), "red") == 0 && !wick_csv_category(t, 2, 3));
    CHECK(class->categories == 3 && strcmp(wick_csv_category(t, 3, 0), "9") == 0 && strcmp(wick_csv_category(t, 3, 2), "100") == 0); /* numbers in their order */
    check_rows(t, 2, (const float[]){1.5f, 2, NAN, 0, 2.5f, -1, 3, 1}, (const int64_t[]){1, 0, 1, 2});
    wick_csv_free(&t);
    REQUIRE(table(text, &(wick_csv_options){.label = "colour", .skip = "id|a*|y", .missing = WICK_CSV_MEAN}, &t) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "line 5: column \"colour\" is missing in row 2"); /* the empty line counts */
    REQUIRE(table(text, &(wick_csv_options){.one_hot = true, .skip = "id|a*|y", .missing = WICK_CSV_MEAN}, &t) == WICK_OK);
    check_rows(t, 4, (const float[]){1.5f, 0, 0, 1, (float)(7. / 3), 1, 0, 0, 2.5f, 0, 0, 0, 3, 0, 1, 0}, NULL);
    wick_csv_free(&t);
    REQUIRE(table("1;2\n3;4\n", &(wick_csv_options){.separator = ';', .no_header = true, .target = "1"}, &t) == WICK_OK);
    check_rows(t, 1, (const float[]){1, 3}, NULL);
    wick_csv_free(&t);
    REQUIRE(table("a\tb\n1\t\n\t2", &(wick_csv_options){.separator = '\t'}, &t) == WICK_OK);
    check_rows(t, 2, (const float[]){1, NAN, NAN, 2}, NULL);
    wick_csv_free(&t);
    REQUIRE(table("a\n0x10\n--5\n1_000\n1.2.3\n", NULL, &t) == WICK_OK && wick_csv_column_at(t, 0)->type == WICK_CSV_CATEGORY && wick_csv_column_at(t, 0)->categories == 4);
    wick_csv_free(&t);
    REQUIRE(table("a,b\n", NULL, &t) == WICK_OK && wick_csv_rows(t) == 0);
    check_rows(t, 2, NULL, NULL);
    wick_csv_free(&t);
    end();
}

TEST(what_does_not_fit_is_named) {
    static const struct {
        const char *text, *says;
        wick_csv_options o;
        wick_status status;
    } cases[] = {
        {"", "has no line", {0}, WICK_ERR_FORMAT},
        {"a,b\n1,2\n3\n", "line 3: 1 cell where the first line has 2", {0}, WICK_ERR_FORMAT},
        {"a,b\n1,2\n\n3,4,5\n", "line 4: 3 cells", {0}, WICK_ERR_FORMAT},
        {"a,b\n1,\"2\n3,4\n", "a quote that does not end", {0}, WICK_ERR_FORMAT},
        {"a,b\n1,\"2\" x\n", "line 2: text behind a quoted cell", {0}, WICK_ERR_FORMAT},
        {"a,b\n1,2\n", "has no column \"c\"", {.label = "c"}, WICK_ERR_INVALID},
        {"a,b\n1,2\n", "has no column \"c\"", {.target = "c"}, WICK_ERR_INVALID},
        {"a,b\n1,2\n1,x\n", "line 3: column \"b\" is to be a number, not \"x\"", {.target = "b"}, WICK_ERR_INVALID},
        {"a,b\n1,2\nnull,3\n", "line 3: column \"a\" is missing in row 1", {.missing = WICK_CSV_REFUSE}, WICK_ERR_INVALID},
    };
    REQUIRE(begin(NULL));
    for (size_t k = 0; k < WICK_COUNTOF(cases); k++) {
        wick_csv *t;
        const wick_status status = table(cases[k].text, &cases[k].o, &t);
        CHECK_MSG(status == cases[k].status && !t && strstr(wick_context_error(ctx), cases[k].says) && strstr(wick_context_error(ctx), path), "case %zu: %d: %s", k, (int)status,
                  wick_context_error(ctx));
    }
    wick_csv *t;
    CHECK(table_text("a\n1\0002\n", 6, NULL, &t) == WICK_ERR_FORMAT && strstr(wick_context_error(ctx), "a zero byte"));
    CHECK(wick_csv_read(ctx, "/nowhere/x.csv", NULL, &t) == WICK_ERR_IO && !t);
    /* 5000 categories of 5000 rows would be 25 million columns of one_hot. */
    char *text = malloc(5000 * 6 + 3), *to = text + sprintf(text, "a\n");
    for (int i = 0; i < 5000; i++) to += sprintf(to, "c%d\n", i);
    CHECK(table(text, &(wick_csv_options){.one_hot = true}, &t) == WICK_ERR_INVALID && strstr(wick_context_error(ctx), "without one_hot"));
    CHECK(table(text, NULL, &t) == WICK_OK && wick_csv_column_at(t, 0)->categories == 5000);
    wick_csv_free(&t);
    free(text);
    end();
}

TEST(numbers_do_not_follow_the_locale) {
    wick_csv *t;
    REQUIRE(begin(NULL));
    const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"};
    bool set = false;
    for (size_t i = 0; i < 3 && !set; i++) set = setlocale(LC_NUMERIC, names[i]) != NULL;
    REQUIRE(table("a,b\n1.25,\"1,25\"\n", NULL, &t) == WICK_OK);
    CHECK(wick_csv_column_at(t, 0)->mean == 1.25 && wick_csv_column_at(t, 1)->type == WICK_CSV_CATEGORY);
    wick_csv_free(&t);
    setlocale(LC_NUMERIC, "C");
    end();
}

/* Python's csv module writes cells of every kind, and says what floats they are. */
TEST(what_python_writes_is_read_as_python_reads_it) {
    static const char program[] =
        "import csv, random, struct, sys\n"
        "r = random.Random(int(sys.argv[3])); kinds = [r.randrange(3) for _ in range(r.randrange(1, 8))]; rows = r.randrange(1, 60)\n"
        "words = ['a', 'b c', 'x,y', 'say \"hi\"', 'two\\nlines', 'Zebra', '\\u00e4', ';']\n"
        "quoting = r.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]); end = r.choice(['\\n', '\\r\\n'])\n"
        "cells = [[[r.choice(words), repr(r.uniform(-1e6, 1e6)), '%.3e' % r.gauss(0, 1)][k] if r.random() < .9 else r.choice(['', 'NA']) for k in kinds] for _ in range(rows)]\n"
        "with open(sys.argv[1], 'w', newline='', encoding='utf-8') as f:\n"
        "    w = csv.writer(f, quoting=quoting, lineterminator=end); w.writerow(['c%d' % i for i in range(len(kinds))]); w.writerows(cells)\n"
        "back = list(csv.reader(open(sys.argv[1], newline='', encoding='utf-8')))[1:]\n"
        "back = [b for b in back if b]\n"
        "out = [len(back), len(kinds)]\n"
        "with open(sys.argv[2], 'wb') as f:\n"
        "    f.write(struct.pack('<2q', *out))\n"
        "    number = lambda c: c in ('', 'NA') or c[-1].isdigit()\n"
        "    numeric = [all(number(b[i]) for b in back) for i in range(len(kinds))]\n"
        "    names = [sorted({b[i] for b in back} - {'', 'NA'}, key=lambda s: s.encode()) for i in range(len(kinds))]\n"
        "    for b in back:\n"
        "        for i, c in enumerate(b):\n"
        "            gone = c in ('', 'NA')\n"
        "            f.write(struct.pack('<f', (float('nan') if gone else float(c)) if numeric[i] else -1 if gone else names[i].index(c)))\n";
    if (system("python3 -c 0 2>/dev/null")) SKIP("no python3");
    REQUIRE(begin(NULL));
    char script[96], want_path[96], command[512];
    snprintf(script, sizeof script, "%s.py", path);
    snprintf(want_path, sizeof want_path, "%s.bin", path);
    FILE *f = fopen(script, "w");
    REQUIRE(f && fwrite(program, 1, sizeof program - 1, f) == sizeof program - 1 && fclose(f) == 0);
    for (int seed = 0; seed < 12; seed++) {
        snprintf(command, sizeof command, "python3 %s %s %s %d", script, path, want_path, seed);
        REQUIRE(system(command) == 0);
        int64_t size[2];
        f = fopen(want_path, "rb");
        REQUIRE(f && fread(size, sizeof size, 1, f) == 1);
        float *want = malloc((size_t)(size[0] * size[1]) * sizeof *want + 1);
        CHECK(fread(want, sizeof *want, (size_t)(size[0] * size[1]), f) == (size_t)(size[0] * size[1]));
        fclose(f);
        wick_csv *t;
        CHECK_MSG(wick_csv_read(ctx, path, NULL, &t) == WICK_OK, "seed %d: %s", seed, wick_context_error(ctx));
        if (t) {
            CHECK_INT(wick_csv_rows(t), size[0]);
            if (wick_csv_rows(t) == size[0]) check_rows(t, (int)size[1], want, NULL);
            test_count("cells of Python's tables", (long)(size[0] * size[1]));
        }
        wick_csv_free(&t);
        free(want);
    }
    unlink(script);
    unlink(want_path);
    end();
}

TEST(memory_that_runs_out_is_an_error_and_leaks_nothing) {
    counting c = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&c);
    REQUIRE(begin(&allocator));
    bool done = false;
    const int64_t live = c.live;
    for (int64_t k = 0; k < 100 && !done; k++) {
        wick_csv *t;
        wick_dataset *d = NULL;
        c.fail_at = c.calls + k;
        wick_status status = table("a,b,c\n1,x,2\n3,y,4\n5,z,6\n", &(wick_csv_options){.label = "b", .target = "c"}, &t);
        if (status == WICK_OK) status = wick_dataset_of_csv(ctx, t, &d);
        CHECK_MSG(status == WICK_OK || status == WICK_ERR_NOMEM, "%s", wick_context_error(ctx));
        done = status == WICK_OK;
        c.fail_at = -1;
        wick_dataset_free(&d);
        wick_csv_free(&t);
        wick_context_clear_error(ctx);
        CHECK_INT(c.live, live);
    }
    CHECK(done);
    end();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
