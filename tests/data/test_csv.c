/* Tables: what Python's csv module writes is read as Python reads it; types, categories and what is missing; lines that
 * don't fit are named. */
#include <locale.h>
#include <unistd.h>

#include "data/formats/csv.h"
#include "base/counting_alloc.h"
#include "test.h"
#include "wick/wick.h"

static wick_context *ctx;
static char path[64];
static bool begin(const wick_allocator *allocator) {
    snprintf(path, sizeof path, "/tmp/wick-csv-%ld", (long)getpid());
    return wick_context_new(&(wick_context_options){.threads = 1, .allocator = allocator}, &ctx) == WICK_OK;
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
static wick_status table(const char *text, const wick_csv_options *o, wick_csv **t) {
    return table_text(text, strlen(text), o, t);
}
/* Weka's file of that text. */
static wick_status relation_text(const char *text, size_t n, const wick_csv_options *o, wick_csv **t) {
    char plain[sizeof path];
    memcpy(plain, path, sizeof path);
    strncat(path, ".arff", sizeof path - strlen(path) - 1);
    const wick_status status = table_text(text, n, o, t);
    unlink(path);
    memcpy(path, plain, sizeof path);
    return status;
}
static wick_status relation(const char *text, const wick_csv_options *o, wick_csv **t) {
    return relation_text(text, strlen(text), o, t);
}
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
        CHECK(wick_dataset_get(d, i, (void *[]){x, labels ? (void *)&y : &target, &target}, NULL) == WICK_OK &&
              !memcmp(wick_dataset_at(d, i, 0), x, (size_t)n * sizeof *x));
        for (int k = 0; k < n; k++)
            CHECK_MSG(same(x[k], want[i * n + k]), "row %lld, feature %d: %g, not %g", (long long)i, k, (double)x[k],
                      (double)want[i * n + k]);
        if (labels) CHECK(y == labels[i] && wick_dataset_label(d, i) == y);
        free(x);
    }
    wick_dataset_free(&d);
}

TEST(types_categories_and_missing_values) {
    static const char text[] =
        "\xef\xbb\xbfid, size ,colour,\"a "
        "\"\"class\"\"\",y\r\n1,1.5,red,10,0.5\r\n\r\n2,NA,blue,9,-1e3\r\n3,+2.5e0,,10,inf\r\n4, 3 ,\"r,e\nd\",100,7";
    wick_csv *t;
    REQUIRE(begin(NULL));
    REQUIRE(table(text, &(wick_csv_options){.label = "a \"class\"", .target = "y", .skip = "id"}, &t) == WICK_OK);
    CHECK(wick_csv_rows(t) == 4 && wick_csv_columns(t) == 5 && !wick_csv_column_at(t, 5) && !wick_csv_column_at(t, -1));
    const wick_csv_column *size = wick_csv_column_at(t, 1), *colour = wick_csv_column_at(t, 2),
                          *class = wick_csv_column_at(t, 3);
    CHECK(wick_csv_column_at(t, 0)->type == WICK_CSV_LEFT_OUT && size->type == WICK_CSV_NUMBER && size->missing == 1 &&
          size->min == 1.5 && size->max == 3 && fabs(size->mean - 7. / 3) < 1e-12);
    CHECK(strcmp(size->name, "size") == 0 && colour->type == WICK_CSV_CATEGORY && colour->categories == 3 &&
          colour->missing == 1);
    CHECK(strcmp(wick_csv_category(t, 2, 0), "blue") == 0 && strcmp(wick_csv_category(t, 2, 1), "r,e\nd") == 0 &&
          strcmp(wick_csv_category(t, 2, 2), "red") == 0 && !wick_csv_category(t, 2, 3));
    /* numbers in their order */
    CHECK(class->categories == 3 && strcmp(wick_csv_category(t, 3, 0), "9") == 0 &&
          strcmp(wick_csv_category(t, 3, 2), "100") == 0);
    check_rows(t, 2, (const float[]){1.5f, 2, NAN, 0, 2.5f, -1, 3, 1}, (const int64_t[]){1, 0, 1, 2});
    wick_csv_free(&t);
    REQUIRE(table(text, &(wick_csv_options){.label = "colour", .skip = "id|a*|y", .missing = WICK_CSV_MEAN}, &t) ==
            WICK_ERR_INVALID);
    CHECK_STR_HAS(
        wick_context_error(ctx),
        "line 5: column \"colour\": \"\" is a missing value, and it is the class"); /* the empty line counts */
    REQUIRE(table(text, &(wick_csv_options){.one_hot = true, .skip = "id|a*|y", .missing = WICK_CSV_MEAN}, &t) ==
            WICK_OK);
    check_rows(t, 4, (const float[]){1.5f, 0, 0, 1, (float)(7. / 3), 1, 0, 0, 2.5f, 0, 0, 0, 3, 0, 1, 0}, NULL);
    wick_csv_free(&t);
    REQUIRE(table("1;2\n3;4\n", &(wick_csv_options){.separator = ';', .no_header = true, .target = "1"}, &t) ==
            WICK_OK);
    check_rows(t, 1, (const float[]){1, 3}, NULL);
    wick_csv_free(&t);
    REQUIRE(table("a\tb\n1\t\n\t2", &(wick_csv_options){.separator = '\t'}, &t) == WICK_OK);
    check_rows(t, 2, (const float[]){1, NAN, NAN, 2}, NULL);
    wick_csv_free(&t);
    REQUIRE(table("a\n0x10\n--5\n1_000\n1.2.3\n", NULL, &t) == WICK_OK &&
            wick_csv_column_at(t, 0)->type == WICK_CSV_CATEGORY && wick_csv_column_at(t, 0)->categories == 4);
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
        {"a,b\n1,2\n1,x\n", "line 3: column \"b\": \"x\" is no number", {.target = "b"}, WICK_ERR_INVALID},
        {"a,b\n1,2\nnull,3\n",
         "line 3: column \"a\": \"null\" is a missing value",
         {.missing = WICK_CSV_REFUSE},
         WICK_ERR_INVALID},
    };
    REQUIRE(begin(NULL));
    for (size_t k = 0; k < WICK_COUNTOF(cases); k++) {
        wick_csv *t;
        const wick_status status = table(cases[k].text, &cases[k].o, &t);
        CHECK_MSG(status == cases[k].status && !t && strstr(wick_context_error(ctx), cases[k].says) &&
                      strstr(wick_context_error(ctx), path),
                  "case %zu: %d: %s", k, (int)status, wick_context_error(ctx));
    }
    wick_csv *t;
    CHECK(table_text("a\n1\0002\n", 6, NULL, &t) == WICK_ERR_FORMAT && strstr(wick_context_error(ctx), "a zero byte"));
    CHECK(wick_csv_read(ctx, "/nowhere/x.csv", NULL, &t) == WICK_ERR_IO && !t);
    /* 5000 categories of 5000 rows would be 25 million columns of one_hot. */
    char *text = malloc(5000 * 6 + 3), *to = text + sprintf(text, "a\n");
    for (int i = 0; i < 5000; i++) to += sprintf(to, "c%d\n", i);
    CHECK(table(text, &(wick_csv_options){.one_hot = true}, &t) == WICK_ERR_INVALID &&
          strstr(wick_context_error(ctx), "without one_hot"));
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
        "r = random.Random(int(sys.argv[3])); kinds = [r.randrange(3) for _ in range(r.randrange(1, 8))]; rows = "
        "r.randrange(1, 60)\n"
        "words = ['a', 'b c', 'x,y', 'say \"hi\"', 'two\\nlines', 'Zebra', '\\u00e4', ';']\n"
        "quoting = r.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]); end = r.choice(['\\n', '\\r\\n'])\n"
        "cells = [[[r.choice(words), repr(r.uniform(-1e6, 1e6)), '%.3e' % r.gauss(0, 1)][k] if r.random() < .9 else "
        "r.choice(['', 'NA']) for k in kinds] for _ in range(rows)]\n"
        "with open(sys.argv[1], 'w', newline='', encoding='utf-8') as f:\n"
        "    w = csv.writer(f, quoting=quoting, lineterminator=end); w.writerow(['c%d' % i for i in "
        "range(len(kinds))]); w.writerows(cells)\n"
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
        "            f.write(struct.pack('<f', (float('nan') if gone else float(c)) if numeric[i] else -1 if gone else "
        "names[i].index(c)))\n";
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

/* ---- another table by the coding of one -------------------------------------------------------------------------- */

/* What the last table was coded as; the caller frees it. */
static char *coding_of(const char *text, const wick_csv_options *o) {
    wick_csv *t;
    CHECK_MSG(table(text, o, &t) == WICK_OK, "%s", wick_context_error(ctx));
    char *coding = t ? strdup(wick_csv_coding(t)) : NULL;
    wick_csv_free(&t);
    return coding;
}
static bool tells(const wick_csv *t, const char *part) {
    const char *note;
    for (int i = 0; (note = wick_csv_note(t, i)); i++)
        if (strstr(note, part)) return true;
    return false;
}

TEST(numbers_that_f32_rounds_are_told) {
    wick_csv *t;
    REQUIRE(begin(NULL));
    REQUIRE(table("t,u,v,w,y\n1700000000,16777216,0.1,1e6,1\n1700000059,-16777216,1e9,1000000.01,16777217\n",
                  &(wick_csv_options){.target = "y"}, &t) == WICK_OK);
    CHECK(tells(t, "column \"y\" has whole numbers above 2^24, up to 16777217, which are rounded to 32-bit floats, the "
                   "largest to multiples of 2; its numbers lie within 1.67772e+07"));
    CHECK(!tells(t, "column \"u\"") && !tells(t, "column \"v\""));
    wick_csv_free(&t);
    end();
}

/* Times in seconds are exact as differences from the first one, also in a table that is read by the coding; a coding of
 * version 2 has none, and is written as it was. */
TEST(differences_that_f32_rounds_or_cannot_hold_are_told_and_refused) {
    wick_csv *t;
    REQUIRE(begin(NULL));
    REQUIRE(table("t,i\n1000000000001,1\n1000000000101,200000001\n2600000000101,5900000001\n", NULL, &t) == WICK_OK);
    CHECK(wick_csv_column_at(t, 0)->offset == 0 && wick_csv_column_at(t, 1)->offset == 0);
    CHECK(tells(t, "column \"t\" has whole numbers above 2^24, up to 2.6e+12, which are rounded"));
    CHECK(tells(t, "column \"i\" has whole numbers above 2^24, up to 5900000001, which are rounded"));
    wick_csv_free(&t);
    REQUIRE(table("t\n1000000000001\n1000000000101\n1400000000101\n", NULL, &t) == WICK_OK);
    CHECK(wick_csv_column_at(t, 0)->offset == 1000000000001);
    CHECK(tells(t, "column \"t\" has whole numbers above 2^24, up to 4.000000001e+11, as differences from "
                   "1000000000001, which are rounded"));
    wick_csv_free(&t);
    CHECK(table("t\n3e38\n",
                &(wick_csv_options){.coding = "\"table\",\"3\",\"one_hot\",\"mean\",\"\"\n"
                                              "\"number\",\"t\",\"-3e38\",\"-3e38\""},
                &t) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "less the column's offset, more than 32 bits can hold");
    end();
}

TEST(numbers_far_from_zero_are_learned_as_differences) {
    wick_csv *t;
    wick_dataset *d;
    float row[4];
    void *const to[WICK_DATASET_FIELDS] = {row};
    REQUIRE(begin(NULL));
    REQUIRE(table("t,u,w,x\n1700000003,16777217,1e6,1\n,-16777217,1000000.25,2\n1700000059,5,1000000.5,3\n",
                  &(wick_csv_options){.missing = WICK_CSV_MEAN}, &t) == WICK_OK);
    CHECK(tells(t, "column \"t\" has whole numbers above 2^24, up to 1700000059: what is learned from is by how much "
                   "they are above 1700000003"));
    CHECK(tells(t, "column \"u\" has whole numbers above 2^24, up to 16777217, which are rounded"));
    CHECK(tells(t, "column \"w\" has numbers that lie close together, up to 1000000.5: what is learned from is by how "
                   "much they are above 1000000"));
    CHECK(wick_csv_column_at(t, 0)->offset == 1700000003 && wick_csv_column_at(t, 1)->offset == 0 &&
          wick_csv_column_at(t, 2)->offset == 1000000 && wick_csv_column_at(t, 3)->offset == 0);
    REQUIRE(wick_dataset_of_csv(ctx, t, &d) == WICK_OK);
    const float first[3][4] = {{0, 16777216, 0, 1}, {28, -16777216, 0.25f, 2}, {56, 5, 0.5f, 3}};
    for (int i = 0; i < 3; i++)
        CHECK(wick_dataset_get(d, i, to, NULL) == WICK_OK && memcmp(row, first[i], sizeof row) == 0);
    wick_dataset_free(&d);
    char *coding = strdup(wick_csv_coding(t));
    wick_csv_free(&t);
    REQUIRE(coding);
    CHECK_STR_HAS(coding, "\"table\",\"3\"");
    CHECK_STR_HAS(coding, "\"number\",\"t\",\"1700000031\",\"1700000003\"");
    REQUIRE(table("w,t\n999999,1700000001\n,1700001003\n", &(wick_csv_options){.coding = coding}, &t) == WICK_OK);
    CHECK(strcmp(wick_csv_coding(t), coding) == 0 && wick_csv_column_at(t, 0)->offset == 1700000003);
    REQUIRE(wick_dataset_of_csv(ctx, t, &d) == WICK_OK);
    CHECK(wick_dataset_get(d, 0, to, NULL) == WICK_OK && row[0] == -2 && row[2] == -1);
    CHECK(wick_dataset_get(d, 1, to, NULL) == WICK_OK && row[0] == 1000 && row[2] == 0.25f);
    wick_dataset_free(&d);
    wick_csv_free(&t);
    free(coding);
    static const char old[] = "\"table\",\"2\",\"numbers\",\"mean\",\"\"\n\"number\",\"t\",\"1700000031\"\n";
    REQUIRE(table("t\n1700000059\n", &(wick_csv_options){.coding = old}, &t) == WICK_OK);
    CHECK(strcmp(wick_csv_coding(t), old) == 0);
    REQUIRE(wick_dataset_of_csv(ctx, t, &d) == WICK_OK);
    CHECK(wick_dataset_get(d, 0, to, NULL) == WICK_OK && row[0] == 1.7e9f);
    wick_dataset_free(&d);
    wick_csv_free(&t);
    end();
}

/* A row's hash is that of its cells by name, wherever it and its columns stand, also of columns that are left out. */
TEST(rows_have_a_hash_that_goes_by_what_is_in_them) {
    wick_csv *t, *other;
    REQUIRE(begin(NULL));
    REQUIRE(table("a,b,id\n1,x,7\n2,y,8\n2,\"y\",8\n2,y,9\ny,2,8\n", &(wick_csv_options){.skip = "id"}, &t) == WICK_OK);
    const uint64_t h = wick_csv_row_hash(t, 1);
    CHECK(h && h == wick_csv_row_hash(t, 2) && h != wick_csv_row_hash(t, 0) && h != wick_csv_row_hash(t, 3) &&
          h != wick_csv_row_hash(t, 4));
    CHECK(wick_csv_row_hash(t, -1) == 0 && wick_csv_row_hash(t, 5) == 0);
    REQUIRE(table("id;b;more;a\n3;z;0;5\n8;y;1;2\n", &(wick_csv_options){.coding = wick_csv_coding(t)}, &other) ==
            WICK_OK);
    CHECK(wick_csv_row_hash(other, 1) == h && wick_csv_row_hash(other, 0) != h);
    wick_csv_free(&other);
    REQUIRE(table("a,b,id\n2,y,8\n", &(wick_csv_options){.skip = "*"}, &other) == WICK_OK);
    CHECK(wick_csv_row_hash(other, 0) == h);
    wick_csv_free(&other);
    wick_csv_free(&t);
    end();
}

TEST(columns_of_one_name_are_told_and_no_one_is_guessed) {
    static const char twice[] = "a,y,a,y,\n1,2,3,4,\n";
    wick_csv *t;
    REQUIRE(begin(NULL));
    REQUIRE(table(twice, NULL, &t) == WICK_OK);
    CHECK(tells(t, "columns share a name, and each counts as one of its own: \"a\" (2), \"y\" (2)"));
    wick_csv_free(&t);
    REQUIRE(table(twice, &(wick_csv_options){.label = "y"}, &t) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "2 columns are called \"y\", and one is to be learned");
    REQUIRE(table(twice, &(wick_csv_options){.target = "y"}, &t) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "2 columns are called \"y\"");
    REQUIRE(table(twice, &(wick_csv_options){.target = "y,y"}, &t) == WICK_OK); /* both are meant */
    CHECK(tells(t, "\"a\" (2), \"y\" (2)"));
    wick_csv_free(&t);
    REQUIRE(table(twice, &(wick_csv_options){.skip = "a"}, &t) == WICK_OK);
    CHECK(!tells(t, "\"a\" (2)"));
    wick_csv_free(&t);
    REQUIRE(table("a,b\n1,2\n", NULL, &t) == WICK_OK);
    CHECK(!tells(t, "share a name"));
    wick_csv_free(&t);
    end();
}

TEST(another_table_is_read_as_the_one_that_was_learned_from) {
    static const char learned[] = "id,u,town,v,kind\n1,1,Rome,10,yes\n2,2,\"say \"\"hi\"\"\",20,no\n3,3,Oslo,,maybe\n";
    wick_csv *t;
    REQUIRE(begin(NULL));
    char *coding = coding_of(
        learned, &(wick_csv_options){.label = "kind", .skip = "id", .one_hot = true, .missing = WICK_CSV_MEAN});
    REQUIRE(coding);
    CHECK_STR_HAS(coding, "\"category\",\"town\",\"Oslo\",\"Rome\",\"say \"\"hi\"\"\"");
    /* Columns in another order, one more, one less, a category that is not known, and values missing. */
    REQUIRE(table("kind;more;town;u\nyes;7;Oslo;4\nno;8;Bonn;\nno;8;;6,5\n", &(wick_csv_options){.coding = coding},
                  &t) == WICK_OK);
    check_rows(t, 5, (const float[]){4, 1, 0, 0, 15, 2, 0, 0, 0, 15, 6.5f, 0, 0, 0, 15}, (const int64_t[]){2, 1, 1});
    CHECK(tells(t, "cells are separated by a semicolon, and numbers have a decimal comma") &&
          tells(t, "1 column was not learned from and is passed over: \"more\""));
    CHECK(tells(t, "\"town\": 1 cell is of categories that are not among the coding's 3, the first \"Bonn\" in line 3: "
                   "all zeros") &&
          tells(t, "is not in the table and counts as missing: \"v\""));
    const wick_csv_column *town = wick_csv_column_at(t, 2), *v = wick_csv_column_at(t, 3);
    CHECK(wick_csv_columns(t) == 5 && town->categories == 3 && town->unknown == 1 && town->present && !v->present &&
          v->mean == 15);
    CHECK(strcmp(wick_csv_coding(t), coding) == 0);
    wick_csv_free(&t);
    /* Rows to be told the class of. */
    REQUIRE(table("u,town,v\n4,Rome,1\n", &(wick_csv_options){.coding = coding}, &t) == WICK_ERR_MISMATCH);
    CHECK_STR_HAS(wick_context_error(ctx), "has no column \"kind\", which is the class");
    REQUIRE(table("u,town,v\n4,Rome,1\n", &(wick_csv_options){.coding = coding, .unlabelled = true}, &t) == WICK_OK);
    check_rows(t, 5, (const float[]){4, 0, 1, 0, 1}, NULL);
    wick_csv_free(&t);
    REQUIRE(table("u,kind\n4,perhaps\n5,\n6,no", &(wick_csv_options){.coding = coding, .unlabelled = true}, &t) ==
            WICK_OK);
    wick_dataset *d;
    REQUIRE(wick_dataset_of_csv(ctx, t, &d) == WICK_OK);
    CHECK(wick_dataset_classes(d) == 3 && wick_dataset_label(d, 0) == -1 && wick_dataset_label(d, 1) == -1 &&
          wick_dataset_label(d, 2) == 1);
    wick_dataset_free(&d);
    wick_csv_free(&t);
    /* Of classes that are numbers, 1 and 1.0 are one. */
    free(coding);
    REQUIRE((coding = coding_of("x,y\n1,1\n2,2.0\n3,10\n", &(wick_csv_options){.label = "y"})));
    REQUIRE(table("y,x\n10.0,5\n2,6\n", &(wick_csv_options){.coding = coding}, &t) == WICK_OK);
    check_rows(t, 1, (const float[]){5, 6}, (const int64_t[]){2, 1});
    wick_csv_free(&t);
    free(coding);
    end();
}

/* "1,234" is 1234 or 1.234: as in the table that was learned from, unless this one tells otherwise itself. */
TEST(decimals_are_those_of_the_table_that_was_learned_from) {
    static const struct {
        const char *learned, *text;
        float want;
    } rows[] = {
        {"u;v\n0,5;1\n", "u,v\n\"1,234\",1\n", 1.234f},
        {"u;v\n0,5;1\n", "u;v\n1.234;1\n", 1234},
        {"u;v\n0.5;1\n", "u;v\n1,234;1\n", 1234},
        {"u;v\n0,5;1\n", "u,v\n\"1,234\",0.5\n", 1234},
        {"u,v\n0.5,\"1\"\n", "u;v\n1,234;1\n", 1234},
        {"u,v\n5,1\n", "u;v\n1,234;1\n", 1.234f}, /* nothing told there, and ; here */
    };
    wick_csv *t;
    REQUIRE(begin(NULL));
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        char *coding = coding_of(rows[i].learned, NULL);
        REQUIRE(coding);
        CHECK_MSG(table(rows[i].text, &(wick_csv_options){.coding = coding}, &t) == WICK_OK, "%zu: %s", i,
                  wick_context_error(ctx));
        CHECK_MSG(t && t->values[0] == rows[i].want, "%zu: %g", i, t ? (double)t->values[0] : 0.0);
        CHECK(t && strcmp(wick_csv_coding(t), coding) == 0);
        wick_csv_free(&t);
        free(coding);
    }
    /* one of before, which says nothing of it */
    REQUIRE(table("u\n\"1,234\"\n",
                  &(wick_csv_options){.coding = "\"table\",\"1\",\"one_hot\",\"mean\"\n\"number\",\"u\",\"1\"\n"},
                  &t) == WICK_OK);
    CHECK(t->values[0] == 1234);
    wick_csv_free(&t);
    end();
}

TEST(what_is_not_of_the_coding_is_refused) {
    static const struct {
        const char *text, *says;
    } tables[] = {
        {"a,b\n1,2\n", "none of its columns is one of the 2 that were learned from, as \"u\": it has \"a\", \"b\""},
        {"u,town,kind\n1,Rome,new\n", "line 2: column \"kind\": \"new\" is not among the classes that were learned"},
        {"u,town,kind\nx,Rome,yes\ny,Rome,yes\n1,Rome,no\n",
         "column \"u\" was one of numbers, and here 2 of 3 values are none"},
    };
    static const struct {
        const char *coding, *says;
        wick_status status;
    } codings[] = {
        {"", "line 1 of the coding: is empty", WICK_ERR_FORMAT},
        {"\"chair\"", "is not that of a table", WICK_ERR_FORMAT},
        {"\"table\",\"4\"", "version 4, which is not read", WICK_ERR_VERSION},
        {"\"table\",\"3\",\"one_hot\",\"mean\",\"\"\n\"number\",\"u\",\"1\",\"x\"", "its offset is no number",
         WICK_ERR_FORMAT},
        {"\"table\",\"3\",\"one_hot\",\"mean\",\"\"\n\"number\",\"u\",\"1\",\"1e300\"", "its offset is no number",
         WICK_ERR_FORMAT},
        {"\"table\",\"2\",\"one_hot\",\"mean\",\"\"\n\"number\",\"u\",\"1\",\"1\"", "goes on", WICK_ERR_FORMAT},
        {"\"table\",\"2\",\"one_hot\",\"mean\"", "is cut off", WICK_ERR_FORMAT},
        {"\"table\",\"2\",\"one_hot\",\"mean\",\";\"", "decimals are behind neither", WICK_ERR_FORMAT},
        {"\"table\",\"1\",\"one_hot\",\"mean\",\",\"", "goes on", WICK_ERR_FORMAT},
        {"\"table\",\"1\",\"one_hot\"", "is cut off", WICK_ERR_FORMAT},
        {"\"table\",\"1\",\"one_hot\",\"often\"", "neither \"nan\"", WICK_ERR_FORMAT},
        {"\"table\",\"1\",\"one_hot\",\"mean\"\n\"leg\",\"u\"", "line 2 of the coding: is no kind of column",
         WICK_ERR_FORMAT},
        {"\"table\",\"1\",\"one_hot\",\"mean\"\n\"number\",\"u\",\"1e999\"", "its mean is no number", WICK_ERR_FORMAT},
        {"\"table\",\"1\",\"one_hot\",\"mean\"\n\"category\",\"u\",\"b\",\"a\"", "not in their order", WICK_ERR_FORMAT},
        {"\"table\",\"1\",\"one_hot\",\"mean\"\n\"category\",\"u\",\"b\",\"b\"", "not in their order", WICK_ERR_FORMAT},
        {"\"table\",\"1\",\"one_hot\",\"mean\"\n\"class\",\"u\",\"texts\",\"b\"\n\"class\",\"v\",\"texts\"",
         "there is one already", WICK_ERR_FORMAT},
    };
    wick_csv *t;
    REQUIRE(begin(NULL));
    char *coding = coding_of("u,town,kind\n1,Rome,yes\n2,Oslo,no\n",
                             &(wick_csv_options){.label = "kind", .missing = WICK_CSV_MEAN});
    REQUIRE(coding);
    for (size_t i = 0; i < WICK_COUNTOF(tables); i++)
        CHECK_MSG(table(tables[i].text, &(wick_csv_options){.coding = coding}, &t) == WICK_ERR_MISMATCH &&
                      strstr(wick_context_error(ctx), tables[i].says),
                  "table %zu: %s", i, wick_context_error(ctx));
    for (size_t i = 0; i < WICK_COUNTOF(codings); i++)
        CHECK_MSG(table("u\n1\n", &(wick_csv_options){.coding = codings[i].coding}, &t) == codings[i].status &&
                      strstr(wick_context_error(ctx), codings[i].says),
                  "coding %zu: %s", i, wick_context_error(ctx));
    free(coding);
    end();
}

TEST(means_and_categories_follow_from_the_rows_that_are_learned_from) {
    wick_csv *t;
    REQUIRE(begin(NULL));
    const bool rows[] = {true, true, false, true};
    const wick_csv_options o = {
        .label = "y", .one_hot = true, .missing = WICK_CSV_MEAN, .learned = rows, .n_learned = 4};
    REQUIRE(table("a,c,e,y\n1,p,,0\n3,q,,1\n100,r,5,2\n,p,,0\n", &o, &t) == WICK_OK);
    CHECK(wick_csv_column_at(t, 0)->mean == 2 && wick_csv_column_at(t, 1)->categories == 2 &&
          wick_csv_column_at(t, 2)->type == WICK_CSV_LEFT_OUT && wick_csv_column_at(t, 3)->categories == 3);
    check_rows(t, 3, (const float[]){1, 1, 0, 3, 0, 1, 100, 0, 0, 2, 1, 0}, (const int64_t[]){0, 1, 2, 0});
    CHECK(tells(t, "no value in any row and is left out: \"e\""));
    wick_csv_free(&t);
    REQUIRE(table("a,y\n1,0\n", &o, &t) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "has 1 rows, and `learned` speaks of 4");
    /* A target is one in every row. */
    CHECK(table("a,t\n1,0\n2,often\n",
                &(wick_csv_options){.target = "t", .learned = (bool[]){true, false}, .n_learned = 2},
                &t) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "line 3: column \"t\": \"often\" is no number");
    /* Lines are those of the file. */
    CHECK(table("sep=;\na;t\n1;0\n2;often\n", &(wick_csv_options){.target = "t"}, &t) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "line 4: column \"t\"");
    end();
}

TEST(several_targets_are_columns_that_are_learned) {
    wick_csv *t, *again;
    wick_dataset *d;
    float x[1], y[2];
    REQUIRE(begin(NULL));
    /* In the order of the columns, however they were asked for; a name with a comma in it stands alone. */
    REQUIRE(table("h,a,\"w,x\",w\n1,10,3,5\n2,20,4,6\n", &(wick_csv_options){.target = "w,h", .skip = "w,x"}, &t) ==
            WICK_OK);
    CHECK(wick_csv_column_at(t, 0)->target && !wick_csv_column_at(t, 1)->target && !wick_csv_column_at(t, 2)->target &&
          wick_csv_column_at(t, 3)->target);
    REQUIRE(wick_dataset_of_csv(ctx, t, &d) == WICK_OK);
    const wick_spec *f = wick_dataset_field(d, 1);
    CHECK(wick_dataset_fields(d) == 2 && strcmp(f->name, "target") == 0 && f->dtype == WICK_F32 && f->rank == 1 &&
          f->dims[0] == 2 && wick_dataset_dims(d)[0] == 1);
    CHECK(wick_dataset_get(d, 1, (void *[]){x, y}, NULL) == WICK_OK && x[0] == 20 && y[0] == 2 && y[1] == 6);
    CHECK(((const float *)wick_dataset_at(d, 0, 1))[1] == 5);
    wick_dataset_free(&d);
    /* Another table by that coding: one target is not there, columns in another order. */
    REQUIRE(table("w,a\n7,1\n,2\n", &(wick_csv_options){.coding = wick_csv_coding(t)}, &again) == WICK_ERR_MISMATCH);
    CHECK_STR_HAS(wick_context_error(ctx), "has no column \"h\", which is to be learned");
    REQUIRE(table("w,a\n7,1\n,2\n", &(wick_csv_options){.coding = wick_csv_coding(t), .unlabelled = true}, &again) ==
            WICK_OK);
    REQUIRE(wick_dataset_of_csv(ctx, again, &d) == WICK_OK);
    CHECK(wick_dataset_get(d, 0, (void *[]){x, y}, NULL) == WICK_OK && x[0] == 1 && isnan(y[0]) && y[1] == 7);
    CHECK(wick_dataset_get(d, 1, (void *[]){x, y}, NULL) == WICK_OK && isnan(y[0]) && isnan(y[1]));
    wick_dataset_free(&d);
    wick_csv_free(&again);
    wick_csv_free(&t);
    REQUIRE(table("a,\"h,w\"\n1,2\n", &(wick_csv_options){.target = "h,w"}, &t) == WICK_OK);
    CHECK(wick_csv_column_at(t, 1)->target);
    wick_csv_free(&t);
    CHECK(table("a,h\n1,2\n", &(wick_csv_options){.target = "h,w"}, &t) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "has no (other) column \"w\"");
    CHECK(table("a,h\n1,2\n", &(wick_csv_options){.target = "h,h"}, &t) == WICK_ERR_INVALID);
    REQUIRE(table("x1,a,y1,x2\n1,2,3,4\n", &(wick_csv_options){.target = "x*,y?"}, &t) == WICK_OK);
    CHECK(wick_csv_column_at(t, 0)->target && !wick_csv_column_at(t, 1)->target && wick_csv_column_at(t, 2)->target &&
          wick_csv_column_at(t, 3)->target);
    wick_csv_free(&t);
    end();
}

/* ---- what people's tables look like ------------------------------------------------------------------------------ */

TEST(forms_that_spreadsheets_write_are_found) {
    static const struct {
        const char *text;
        size_t n;
        const char *note;
    } forms[] = {
        {"a;b\n1.5;2\n3;4\n", 0, "a semicolon, and numbers have a decimal point"},
        {"a;b\n1,5;2\n3;4\n", 0, "a semicolon, and numbers have a decimal comma"},
        {"a\tb\n1,5\t2\n3\t4\n", 0, "a tab, and numbers have a decimal comma"},
        {"a|b\r\n1.5|2\r\n3|4", 0, "|, and numbers have a decimal point"},
        {"sep=;\r\na;b\r\n1,5;2\r\n3;4\r\n", 0, "decimal comma"},
        {"a,b\n\"1,5\",2\n3,4\n", 0, "a comma, and numbers have a decimal comma"},
        {"a,b\r1.5,2\r3,4\r", 0, "lines end with a carriage return alone"},
        {"\xff\xfe"
         "a\0,\0b\0\n\0001\0.\0005\0,\0002\0\n\0003\0,\0004\0",
         28, "the text is UTF-16"},
        {"\xfe\xff"
         "\0a\0,\0b\0\n\0001\0.\0005\0,\0002\0\n\0003\0,\0004",
         28, "the text is UTF-16"},
    };
    wick_csv *t;
    REQUIRE(begin(NULL));
    for (size_t i = 0; i < WICK_COUNTOF(forms); i++) {
        const size_t n = forms[i].n ? forms[i].n : strlen(forms[i].text);
        CHECK_MSG(table_text(forms[i].text, n, NULL, &t) == WICK_OK, "form %zu: %s", i, wick_context_error(ctx));
        if (!t) continue;
        CHECK_MSG(tells(t, forms[i].note), "form %zu: %s", i, wick_csv_note(t, 0) ? wick_csv_note(t, 0) : "(nothing)");
        check_rows(t, 2, (const float[]){1.5f, 2, 3, 4}, NULL);
        wick_csv_free(&t);
    }
    /* Latin-1, and the bytes that Windows has between; damage is no Latin-1. */
    REQUIRE(table("gr\xf6\xdf"
                  "e,b\n\x80,1\n",
                  NULL, &t) == WICK_OK &&
            tells(t, "Windows-1252"));
    CHECK(strcmp(wick_csv_column_at(t, 0)->name, "gr\xc3\xb6\xc3\x9f"
                                                 "e") == 0 &&
          strcmp(wick_csv_category(t, 0, 0), "\xe2\x82\xac") == 0);
    wick_csv_free(&t);
    CHECK(table("\xc3\xa4,b\n\xe4,1\n", NULL, &t) == WICK_ERR_FORMAT &&
          strstr(wick_context_error(ctx), "line 2: byte 5 is not UTF-8"));
    CHECK(table_text("\xff\xfe"
                     "a\0\0\xd8",
                     6, NULL, &t) == WICK_ERR_FORMAT &&
          strstr(wick_context_error(ctx), "half a character"));
    CHECK(table_text("\xff\xfe"
                     "a\0b",
                     5, NULL, &t) == WICK_ERR_FORMAT &&
          table_text("\xff\xfe\0\0", 4, NULL, &t) == WICK_ERR_UNSUPPORTED);
    /* The first line of names. */
    REQUIRE(table("5.1,3.5,setosa\n4.9,3.0,setosa\n", NULL, &t) == WICK_OK &&
            tells(t, "2 of the 3 names of columns in the first line are numbers"));
    wick_csv_free(&t);
    REQUIRE(table("0,1,2,y\n4.9,3.0,5,a\n", NULL, &t) == WICK_OK && !tells(t, "first line"));
    wick_csv_free(&t);
    /* A comma in texts is no separator, and what is said counts. */
    REQUIRE(table("a;b\nx, y;1\nz, w;2\n", NULL, &t) == WICK_OK && wick_csv_columns(t) == 2);
    wick_csv_free(&t);
    REQUIRE(table("a;b\n1,5;2\n", &(wick_csv_options){.separator = ';', .decimal = '.'}, &t) == WICK_OK &&
            wick_csv_column_at(t, 0)->type == WICK_CSV_CATEGORY && !wick_csv_note(t, 1));
    wick_csv_free(&t);
    end();
}

TEST(pandas_missing_values_are_missing) {
    static const char *const texts[] = {"",     "#N/A",      "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN", "-NaN",
                                        "-nan", "1.#IND",    "1.#QNAN",  "<NA>", "N/A",     "NA",       "NULL",
                                        "NaN",  "None",      "n/a",      "nan",  "null",    "NAN",      "-NAN",
                                        "+nan", "-nan(ind)", "nan(0x1)", "?"};
    wick_csv *t;
    REQUIRE(begin(NULL));
    for (size_t i = 0; i < WICK_COUNTOF(texts); i++) {
        char text[64];
        snprintf(text, sizeof text, "a,b\n%s,1\n2,3\n", texts[i]);
        CHECK_MSG(table(text, NULL, &t) == WICK_OK && wick_csv_column_at(t, 0)->type == WICK_CSV_NUMBER &&
                      wick_csv_column_at(t, 0)->missing == 1,
                  "%s", texts[i]);
        wick_csv_free(&t);
    }
    REQUIRE(table("a,b\nnano,1\nnan(,3\n", NULL, &t) == WICK_OK && wick_csv_column_at(t, 0)->categories == 2);
    wick_csv_free(&t);
    end();
}

TEST(a_cell_among_numbers_that_is_none_is_told) {
    char text[4096] = "a,b\n", *to = text + 4;
    wick_csv *t;
    REQUIRE(begin(NULL));
    for (int i = 0; i < 40; i++)
        to += sprintf(to, "%s,%d\n",
                      i == 3   ? "12 cm"
                      : i == 5 ? "\"1,234.5\""
                      : i == 6 ? "\"1,234,567\""
                               : (const char *[]){"0.5", "7", "-2e3"}[i % 3],
                      i);
    /* Three different numbers and a text may well be categories; forty and a text are numbers. */
    REQUIRE(table(text, NULL, &t) == WICK_OK);
    CHECK(wick_csv_column_at(t, 0)->type == WICK_CSV_CATEGORY && tells(t, "1 column is of categories: \"a\" (6)"));
    wick_csv_free(&t);
    for (int i = 40; i < 80; i++) to += sprintf(to, "%d.25,%d\n", i, i);
    REQUIRE(table(text, NULL, &t) == WICK_OK);
    const wick_csv_column *a = wick_csv_column_at(t, 0);
    CHECK(a->type == WICK_CSV_NUMBER && a->odd == 1 && a->max == 1234567 && !a->whole &&
          tells(t, "column \"a\" is of numbers, and 1 of 80 cells are none, the first \"12 cm\" in line 5"));
    CHECK(tells(t, "column \"a\" has 2 numbers with thousands separators, the first \"1,234.5\" in line 7"));
    wick_dataset *d;
    REQUIRE(wick_dataset_of_csv(ctx, t, &d) == WICK_OK);
    CHECK(isnan(*(const float *)wick_dataset_at(d, 3, 0)) && *(const float *)wick_dataset_at(d, 5, 0) == 1234.5f);
    wick_dataset_free(&d);
    wick_csv_free(&t);
    CHECK(table(text, &(wick_csv_options){.missing = WICK_CSV_REFUSE}, &t) == WICK_ERR_INVALID &&
          strstr(wick_context_error(ctx), "line 5: column \"a\": \"12 cm\" is no number"));
    /* No thousands: groups of other sizes, and a zero in front. */
    REQUIRE(table("a\n\"12,34\"\n\"0,123\"\n\"1234,567\"\n1.5\n2.5\n3.5\n4.5\n", NULL, &t) == WICK_OK &&
            wick_csv_column_at(t, 0)->type == WICK_CSV_CATEGORY);
    wick_csv_free(&t);
    end();
}

TEST(numbers_that_are_too_large_are_named) {
    wick_csv *t;
    REQUIRE(begin(NULL));
    CHECK(table("a,b\n1,2\n3,1e400\n", NULL, &t) == WICK_ERR_INVALID &&
          strstr(wick_context_error(ctx), "line 3: column \"b\": \"1e400\" is more than a number of 32 bits can hold"));
    CHECK(table("a,b\n1,2\n-1e39,1\n", NULL, &t) == WICK_ERR_INVALID &&
          strstr(wick_context_error(ctx), "line 3: column \"a\""));
    CHECK(table("a,b\n1,2\n-inf,1\n", &(wick_csv_options){.missing = WICK_CSV_MEAN}, &t) == WICK_ERR_INVALID &&
          strstr(wick_context_error(ctx), "line 3: column \"a\": \"-inf\" is no finite number"));
    REQUIRE(table("a,b\n1,2\n-inf,1\n", NULL, &t) == WICK_OK);
    check_rows(t, 2, (const float[]){1, 2, -INFINITY, 1}, NULL);
    wick_csv_free(&t);
    /* A column without a value: left out where it would be its mean. */
    REQUIRE(table("a,b,\n1,2,\n3,4,\n", &(wick_csv_options){.missing = WICK_CSV_MEAN}, &t) == WICK_OK &&
            tells(t, "1 column has no value in any row and is left out: 3, which has no name"));
    check_rows(t, 2, (const float[]){1, 2, 3, 4}, NULL);
    wick_csv_free(&t);
    end();
}

TEST(memory_that_runs_out_is_an_error_and_leaks_nothing) {
    counting c = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&c);
    REQUIRE(begin(&allocator));
    bool done = false;
    const int64_t live = c.live;
    for (int64_t k = 0; k < 400 && !done; k++) {
        wick_csv *t;
        wick_dataset *d = NULL;
        c.fail_at = c.calls + k;
        wick_status status = table("a,b,c,\xe4\n1,x,2,p\n3,y,4,q\n5,z,\"6,5\",p\n",
                                   &(wick_csv_options){.label = "b", .target = "c"}, &t);
        char *coding = status == WICK_OK ? strdup(wick_csv_coding(t)) : NULL;
        if (coding)
            wick_csv_free(&t), status = table("c,more,b,a\n1,2,x,3\n", &(wick_csv_options){.coding = coding}, &t);
        free(coding);
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

TEST(zero_bytes_and_empty_values_of_relations) {
#define SIZED(text) {text, sizeof text - 1}
    static const struct {
        const char *text;
        size_t size;
    } zeros[] = {SIZED("@attribute a {x,\0y}\n@data\nx\n"), SIZED("@attribute a {x,y\0}\n@data\nx\n"),
                 SIZED("@attribute \0a numeric\n@data\n1\n"), SIZED("@attribute a numeric\n@data\n\0\n")};
#undef SIZED
    wick_csv *t;
    REQUIRE(begin(NULL));
    for (size_t k = 0; k < WICK_COUNTOF(zeros); k++) {
        CHECK_INT(relation_text(zeros[k].text, zeros[k].size, NULL, &t), WICK_ERR_FORMAT);
        CHECK_MSG(strstr(wick_context_error(ctx), "a zero byte"), "%zu: %s", k, wick_context_error(ctx));
    }
    REQUIRE(relation("@attribute a {'',p,q}\n@attribute b {}\n@data\n'',?\np,?\nq,?\n", NULL, &t) == WICK_OK);
    CHECK_INT(wick_csv_rows(t), 3);
    wick_csv_free(&t);
    CHECK_INT(relation("@attribute a {'',p,q}\n@data\nr\n", NULL, &t), WICK_ERR_FORMAT);
    CHECK(strstr(wick_context_error(ctx), "line 3: value 1 is none of its attribute's: \"r\""));
    end();
}

TEST(types_of_relations_are_those_of_their_headers) {
    static const char head[] = "@attribute zip {10115,20095,010115}\n@attribute note string\n@attribute x numeric\n"
                               "@attribute class {1,01,NA}\n@attribute y {0,1}\n@data\n";
    char text[512];
    wick_csv *t;
    wick_dataset *d;
    snprintf(text, sizeof text, "%s%s", head, "20095,'',1,01,1\n10115,NA,?,NA,0\n?,7,2.5,1,1\n010115,?,-1,1,0\n");
    REQUIRE(begin(NULL));
    REQUIRE(relation(text, &(wick_csv_options){.label = "class", .target = "y"}, &t) == WICK_OK);
    const wick_csv_column *zip = wick_csv_column_at(t, 0), *note = wick_csv_column_at(t, 1);
    CHECK(zip->type == WICK_CSV_CATEGORY && zip->categories == 3 && zip->missing == 1);
    CHECK(note->type == WICK_CSV_CATEGORY && note->categories == 3 && note->missing == 1);
    CHECK(!strcmp(wick_csv_category(t, 1, 0), "") && !strcmp(wick_csv_category(t, 1, 2), "NA"));
    CHECK(wick_csv_column_at(t, 2)->type == WICK_CSV_NUMBER && wick_csv_column_at(t, 2)->missing == 1);
    static const float rows[] = {2, 0, 1, 1, 2, NAN, -1, 1, 2.5f, 0, -1, -1};
    static const int64_t labels[] = {0, 2, 1, 1};
    check_rows(t, 3, rows, labels);
    char *coding = strdup(wick_csv_coding(t));
    wick_csv_free(&t);
    REQUIRE(coding && relation(text, &(wick_csv_options){.coding = coding}, &t) == WICK_OK);
    check_rows(t, 3, rows, labels);
    free(coding);
    wick_csv_free(&t);
    /* as a table of numbers that was learned from has it */
    REQUIRE(table("zip,class\n10115,1\n20095,2\n", &(wick_csv_options){.label = "class"}, &t) == WICK_OK);
    coding = strdup(wick_csv_coding(t));
    wick_csv_free(&t);
    REQUIRE(coding && relation("@attribute zip {10115,20095}\n@attribute class {1,2}\n@data\n20095,2\n",
                               &(wick_csv_options){.coding = coding}, &t) == WICK_OK);
    check_rows(t, 1, (const float[]){20095}, (const int64_t[]){1});
    REQUIRE(wick_dataset_of_csv(ctx, t, &d) == WICK_OK);
    wick_dataset_free(&d);
    free(coding);
    wick_csv_free(&t);
    end();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
