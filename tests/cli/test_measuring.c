/* What wick bench makes of times, of ceilings and of JSON. */
#include "../../cli/bench/roof.h"
#include "../../cli/bench/rows.h"
#include "../../cli/bench/stats.h"
#include "../../cli/cli.h"

#include <unistd.h>
#include "../../cli/json_read.h"

#include "test.h"

static samples of(int n, const double *values) {
    samples s = {0};
    for (int i = 0; i < n; i++) CHECK(samples_add(&s, values[i]));
    samples_sort(&s);
    return s;
}
static samples wave(int n, double step, double shift) {
    samples s = {0};
    for (int i = 0; i < n; i++) CHECK(samples_add(&s, fmod(i * step, 1) + shift));
    samples_sort(&s);
    return s;
}

TEST(quantiles_and_the_median_deviation) {
    samples s = of(5, (const double[]){16, 1, 4, 2, 8}), none = {0};
    CHECK(stats_quantile(&s, 0) == 1 && stats_quantile(&s, 0.5) == 4 && stats_quantile(&s, 0.95) == 16 &&
          stats_quantile(&s, 1) == 16);
    CHECK(stats_mad(&s) == 3);
    double low, high;
    stats_median_interval(&s, &low, &high);
    CHECK(low == 1 && high == 16);
    CHECK(stats_quantile(&none, 0.5) == 0);
    samples_free(&s);
}

/* scipy.stats.mannwhitneyu(a, b, method="asymptotic").pvalue, SciPy 1.16. */
TEST(the_rank_test_is_scipys) {
    samples a = of(8, (const double[]){1, 2, 2, 3.5, 7.25, 8, 9.5, 11}),
            b = of(7, (const double[]){2, 4, 8, 8, 12, 13, 15.5});
    CHECK_MSG(fabs(stats_same(&a, &b) - 0.14510568048514996) < 1e-12, "%.17g", stats_same(&a, &b));
    CHECK(stats_same(&a, &b) == stats_same(&b, &a));
    CHECK(stats_same(&a, &a) == 1);
    samples c = wave(40, 0.37, 0), d = wave(30, 0.61, 0.2);
    CHECK_MSG(fabs(stats_same(&c, &d) - 0.016785853987473297) < 1e-12, "%.17g", stats_same(&c, &d));
    samples_free(&a), samples_free(&b), samples_free(&c), samples_free(&d);
}

TEST(a_ratio_and_its_interval) {
    samples a = wave(60, 0.37, 2), b = wave(60, 0.61, 1);
    double low, high, low2, high2;
    const double ratio = stats_ratio(&a, &b, &low, &high);
    CHECK(ratio == stats_quantile(&a, 0.5) / stats_quantile(&b, 0.5));
    CHECK(low < ratio && ratio < high && high - low < 0.6);
    CHECK(stats_ratio(&a, &b, &low2, &high2) == ratio && low2 == low && high2 == high); /* the same draws */
    samples same = of(4, (const double[]){3, 3, 3, 3});
    CHECK(stats_ratio(&same, &same, &low, &high) == 1 && low == 1 && high == 1);
    samples_free(&a), samples_free(&b), samples_free(&same);
}

TEST(floors_are_the_larger_of_arithmetic_and_bytes) {
    roof r = {
        .n_levels = 2,
        .compute =
            {[CEILING_F32] = 100, [CEILING_F64] = 50, [CEILING_BF16] = 200, [CEILING_INT8] = 60, [CEILING_EXP] = 4},
        .level = {{"L1", 1000, 500, {10, 5, 8}}, {"memory", SIZE_MAX, 5000, {2, 1, 1.5}}}};
    floor_time f = roof_floor(&r, CEILING_F32, 1000, 0, 0, 0);
    CHECK(f.seconds == 10 && !strcmp(f.bound, "f32 arithmetic"));
    f = roof_floor(&r, CEILING_BF16, 1000, 0, 0, 0);
    CHECK(f.seconds == 5 && !strcmp(f.bound, "bf16 arithmetic"));
    f = roof_floor(&r, CEILING_INT8, 1000, 0, 0, 0); /* slower than f32 here */
    CHECK(f.seconds == 10 && !strcmp(f.bound, "f32 arithmetic"));
    f = roof_floor(&r, CEILING_F64, 1000, 0, 0, 0);
    CHECK(f.seconds == 20 && !strcmp(f.bound, "f64 arithmetic"));
    f = roof_floor(&r, CEILING_F32, 0, 0, 500, 300); /* 300 read and written, 200 more read */
    CHECK(f.seconds == 600 / 8.0 + 200 / 10.0 && !strcmp(f.bound, "L1"));
    f = roof_floor(&r, CEILING_F32, 0, 0, 500, 501);
    CHECK(f.seconds == 1000 / 1.5 + 1 / 1.0 && !strcmp(f.bound, "memory"));
    f = roof_floor(&r, CEILING_F32, 1000, 8, 0, 0); /* one after the other */
    CHECK(f.seconds == 12 && !strcmp(f.bound, "f32 and exp"));
}

static bool accepts(const char *text, double *sum) {
    json_in j = {.at = text};
    char key[4], word[4];
    *sum = 0;
    for (json_enter(&j, '{'); json_key(&j, key, sizeof key);) {
        if (strcmp(key, "a") != 0) {
            if (!strcmp(key, "s")) json_string(&j, word, sizeof word), *sum += (double)strlen(word);
            else json_skip(&j);
            continue;
        }
        for (json_enter(&j, '['); json_item(&j);) {
            double value;
            if (json_number(&j, &value) && value == value) *sum += value;
        }
    }
    return !j.bad;
}
TEST(json_is_read_or_refused) {
    static const struct {
        const char *text;
        double sum; /* -1: refused */
    } cases[] = {
        {"{}", 0},
        {" { \"a\" : [ 1 , 2.5,-3e1 ] } ", -26.5},
        {"{\"a\":[]}", 0},
        {"{\"a\":[1,null]}", 1},
        {"{\"x\":{\"a\":[1,{\"b\":[]}],\"c\":\"]}\\\"\"},\"a\":[2]}", 2},
        {"{\"x\":true,\"y\":false,\"z\":null,\"a\":[4]}", 4},
        {"{\"s\":\"a\\\"b/long\"}", 3},
        {"{\"x\":[[[[]]]],\"a\":[3]}", 3},
        {"{\"s\":\"\\u0041\",\"a\":[1]}", 2},
        {"{\"s\":\"\\u20aC\"}", 3},         /* bytes of UTF-8 */
        {"{\"s\":\"a\\ud83d\\ude00\"}", 1}, /* a pair, which has no room */
        {"{\"s\":\"\\u00g9\"}", -1},
        {"{\"s\":\"\\x\"}", -1},
        {"", -1},
        {"[", -1},
        {"{", -1},
        {"{\"a\"", -1},
        {"{\"a\":", -1},
        {"{\"a\":[", -1},
        {"{\"a\":[1", -1},
        {"{\"a\":[1,]}", -1},
        {"{\"a\":[1 2]}", -1},
        {"{\"a\":[x]}", -1},
        {"{\"x\":]}", -1},
        {"{\"x\":}", -1},
        {"{\"x\":[}", -1},
        {"{\"x\":\"", -1},
        {"{\"x\":\"\\", -1},
        {"{\"x\":\"\n\"}", -1},
        {"{\"a\":[1] \"b\":2}", -1},
        {"{a:[1]}", -1},
        {"{\"x\":tru}", -1},
        {"{,}", -1},
        {"{\"x\":nan}", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double sum;
        const bool ok = accepts(cases[i].text, &sum);
        CHECK_MSG(ok == (cases[i].sum != -1) && (!ok || sum == cases[i].sum), "%s: %d %g", cases[i].text, ok, sum);
    }
}

TEST(every_row_has_a_name_and_sizes_of_its_own) {
    int n = 0;
    for (const bench_row *row; (row = bench_row_at(n)); n++) {
        CHECK_MSG(bench_row_size(row, 0) && !bench_row_size(row, *bench_row_size(row, 0) ? BENCH_SIZES : 1), "%s",
                  row->name);
        for (int i = 0; i < n; i++)
            CHECK_MSG(strcmp(bench_row_at(i)->suite, row->suite) != 0 || strcmp(bench_row_at(i)->name, row->name) != 0,
                      "%s/%s twice", row->suite, row->name);
    }
    CHECK(n > 250 && !bench_row_at(-1));
}

TEST(results_of_a_row_are_right) {
    for (int i = 0; bench_row_at(i); i++) {
        const bench_row *row = bench_row_at(i);
        subject s;
        if (strcmp(row->name, "f32_8x8x8") != 0) continue;
        REQUIRE(subject_open(&s, row, 0, 1));
        REQUIRE(subject_run(&s, 3));
        const float *x = s.data[0], *a = s.data[1], *y = s.out[0];
        for (int r = 0; r < 8; r++)
            for (int c = 0; c < 8; c++) {
                double sum = 0;
                for (int k = 0; k < 8; k++) sum += (double)x[8 * r + k] * a[8 * k + c];
                CHECK(fabs(sum - y[8 * r + c]) < 1e-5);
            }
        CHECK(s.flops == 1024 && s.read == 512 && s.written == 256);
        subject_close(&s);
        return;
    }
    CHECK(false);
}

/* No draw of samples that are all alike is another. */
TEST(a_ratio_has_an_interval) {
    samples at[4] = {{0}};
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < 4; k++)
            REQUIRE(samples_add(&at[k], (double[]){2, 1, 24, 3}[k] * (k == 3 ? 1 + 0.01 * (i % 2) : 1)));
    for (int k = 0; k < 4; k++) samples_sort(&at[k]);
    double low, high;
    CHECK(stats_ratio(&at[0], &at[1], &low, &high) == 2 && low == 2 && high == 2);
    const double ratio = stats_ratio(&at[2], &at[3], &low, &high);
    CHECK_MSG(ratio == 8 && high == 8 && low > 7.9 && low < 7.93, "%g %g %g", ratio, low, high);
    for (int k = 0; k < 4; k++) samples_free(&at[k]);
}

/* An update reads and writes parameters and what the optimizer keeps: of Adam two numbers for each parameter. */
TEST(bytes_of_an_update_are_those_of_its_states) {
    for (int i = 0; bench_row_at(i); i++) {
        subject s;
        if (strcmp(bench_row_at(i)->suite, "update") != 0 || strcmp(bench_row_at(i)->name, "adam") != 0) continue;
        REQUIRE(subject_open(&s, bench_row_at(i), 0, 1));
        const double mb = 4.0 * (1 << 20);
        CHECK_MSG(s.read >= 4 * mb && s.read < 4.01 * mb && s.written >= 3 * mb && s.written < 3.01 * mb, "%g %g",
                  s.read, s.written);
        subject_close(&s);
        return;
    }
    CHECK(false);
}

TEST(a_row_of_an_op_becomes_an_onnx_model) {
    for (int i = 0; bench_row_at(i); i++) {
        subject s;
        if (strcmp(bench_row_at(i)->name, "f32_8x8x8") != 0) continue;
        REQUIRE(subject_open(&s, bench_row_at(i), 0, 1));
        char path[] = "/tmp/wick-test-XXXXXX";
        const int file = mkstemp(path);
        REQUIRE(file >= 0);
        wick_onnx *onnx;
        CHECK(subject_export(&s, path));
        REQUIRE(wick_onnx_open(s.ctx, path, NULL, &onnx) == WICK_OK);
        CHECK(wick_onnx_inputs(onnx) == 2 && wick_onnx_outputs(onnx) == 1);
        wick_onnx_free(&onnx);
        unlink(path);
        close(file);
        subject_close(&s);
        return;
    }
    CHECK(false);
}

const cli_command cli_commands[CMD_COUNT]; /* main.c's, whose names log.c says */

int main(int argc, char **argv) { return test_main(argc, argv); }
