/* The file of a machine's tuning: what is written reads back, and what is damaged, of another machine or in no place to
 * write is told and not used. */
#include <sys/stat.h>
#include <unistd.h>

#include "io/scratch.h"

static char text[8192], why[512];
static size_t n_text;

/* A good file at `path`, and its text. */
static wick_tuning good(const char *path) {
    wick_tuning t = {0};
    for (int i = 0; i < wick_tuning_count(); i++) *wick_tuning_at(i).of(&t) = wick_tuning_at(i).low + i;
    const wick_status status = wick_tuning_save(path, &t, why, sizeof why);
    CHECK_MSG(status == WICK_OK, "%s", why);
    FILE *f = fopen(path, "rb");
    n_text = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n_text] = 0;
    if (f) fclose(f);
    return t;
}
static bool is_zero(const wick_tuning *t) {
    static const wick_tuning zero;
    return !memcmp(t, &zero, sizeof zero);
}

TEST(what_is_saved_reads_back) {
    REQUIRE(scratch_context(NULL));
    const wick_tuning t = good(at("new/folder/tuning.txt"));
    wick_tuning back;
    CHECK_INT(wick_tuning_load(at("new/folder/tuning.txt"), &back, why, sizeof why), WICK_OK);
    CHECK(!memcmp(&t, &back, sizeof t));
    CHECK_STR_HAS(text, wick_tuning_machine());
    CHECK_STR_HAS(text, "gemm_task_work ");
    wick_context *tuned = NULL; /* and a context takes it */
    CHECK_INT(wick_context_new(&(wick_context_options){.threads = 1, .tuning = &back}, &tuned), WICK_OK);
    wick_context_free(&tuned);
    CHECK_INT(wick_tuning_save(at("zeros.txt"), &(wick_tuning){0}, NULL, 0), WICK_OK);
    CHECK_INT(wick_tuning_load(at("zeros.txt"), &back, NULL, 0), WICK_OK);
    for (int i = 0; i < wick_tuning_count(); i++) CHECK(*wick_tuning_at(i).of(&back) == wick_tuning_at(i).fallback);
    wick_context_free(&ctx);
}

/* Text `from` becomes `to`, once; the rest stays. */
static void refused(const char *from, const char *to, wick_status status, const char *says) {
    char changed[9000];
    const char *place = strstr(text, from);
    REQUIRE(place != NULL);
    const int n = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(place - text), text, to, place + strlen(from));
    REQUIRE(put(at("bad.txt"), changed, (size_t)n));
    wick_tuning t;
    memset(&t, 1, sizeof t);
    CHECK_MSG((int)wick_tuning_load(at("bad.txt"), &t, why, sizeof why) == (int)status, "'%s' for '%s': %s", to, from,
              why);
    CHECK_STR_HAS(why, says);
    CHECK_STR_HAS(why, "bad.txt");
    CHECK(is_zero(&t));
}

TEST(what_is_damaged_or_of_another_machine_is_told_and_not_used) {
    REQUIRE(scratch_context(NULL));
    good(at("tuning.txt"));
    refused("wick tuning 2", "wick tuning 1", WICK_ERR_FORMAT, "line 1 is not"); /* of a version that knew no costs */
    refused("wick tuning 2\n", "", WICK_ERR_FORMAT, "line 1 is not");
    refused("machine ", "engine ", WICK_ERR_FORMAT, "names no machine");
    refused("; Wick ", "; Wick 9", WICK_ERR_MISMATCH, "another CPU, tier or version");
    refused("machine ", "machine x", WICK_ERR_MISMATCH, wick_tuning_machine());
    refused("\nend\n", "\n", WICK_ERR_FORMAT, "ends before its last line");
    refused("\nend\n", "\nend", WICK_ERR_FORMAT, "ends before its last line");
    refused("\nend\n", "\nend\nend\n", WICK_ERR_FORMAT, "something follows");
    refused("\nend\n", "\nparallel_flops 2000\nend\n", WICK_ERR_FORMAT, "a second time");
    refused("\nend\n", "\n\nend\n", WICK_ERR_FORMAT, "of no known number");
    refused("parallel_flops", "parallel_flop", WICK_ERR_FORMAT, "line 3 is of no known number");
    refused("parallel_flops 1000\n", "", WICK_ERR_FORMAT, "parallel_flops is missing");
    refused("parallel_flops 1000\n", "parallel_flops\n", WICK_ERR_FORMAT, "is no number");
    refused("parallel_flops 1000\n", "parallel_flops \n", WICK_ERR_FORMAT, "is no number");
    refused("parallel_flops 1000\n", "parallel_flops -1000\n", WICK_ERR_FORMAT, "is no number");
    refused("parallel_flops 1000\n", "parallel_flops 1000 \n", WICK_ERR_FORMAT, "is no number");
    refused("parallel_flops 1000\n", "parallel_flops 1e5\n", WICK_ERR_FORMAT, "is no number");
    refused("parallel_flops 1000\n", "parallel_flops 99999999999999999999\n", WICK_ERR_FORMAT, "is no number");
    refused("parallel_flops 1000\n", "parallel_flops 0\n", WICK_ERR_FORMAT, "is 0, not from");
    refused("parallel_flops 1000\n", "parallel_flops 999\n", WICK_ERR_FORMAT, "is 999, not from 1000");
    refused("parallel_flops 1000\n", "parallel_flops 100000001\n", WICK_ERR_FORMAT, "not from");
    refused("\ncost_gemm_rate ", "\ncost_gemm_rate 0\n", WICK_ERR_FORMAT, "cost_gemm_rate is 0, not from 1");
    refused("\ncost_memory_rate ", "\ncost_memory_rate 99999999", WICK_ERR_FORMAT, "not from 10 to 100000000");
    refused("\ncost_l2_bytes ", "\ncost_l2_bytes -", WICK_ERR_FORMAT, "is no number");
    refused("\ncost_other_rate ", "\ncost_other ", WICK_ERR_FORMAT, "of no known number");
    wick_context_free(&ctx);
}

TEST(no_prefix_and_no_changed_byte_is_taken_for_another_file) {
    REQUIRE(scratch_context(NULL));
    const wick_tuning t = good(at("tuning.txt"));
    wick_tuning back;
    for (size_t n = 0; n < n_text; n++) {
        REQUIRE(put(at("cut.txt"), text, n));
        CHECK_MSG(wick_tuning_load(at("cut.txt"), &back, why, sizeof why) != WICK_OK && is_zero(&back), "%zu bytes", n);
    }
    for (size_t i = 0; i < n_text; i++) {
        const char was = text[i];
        text[i] = (char)(was ^ (1 << test_rand_int(0, 7)));
        REQUIRE(put(at("flip.txt"), text, n_text));
        /* a digit became another: still within its range */
        if (wick_tuning_load(at("flip.txt"), &back, why, sizeof why) == WICK_OK)
            for (int k = 0; k < wick_tuning_count(); k++)
                CHECK(*wick_tuning_at(k).of(&back) >= wick_tuning_at(k).low &&
                      *wick_tuning_at(k).of(&back) <= wick_tuning_at(k).high);
        else
            CHECK(is_zero(&back));
        text[i] = was;
    }
    (void)t;
    static char large[70000];
    REQUIRE(put(at("large.txt"), large, sizeof large));
    CHECK_INT(wick_tuning_load(at("large.txt"), &back, why, sizeof why), WICK_ERR_FORMAT);
    CHECK_STR_HAS(why, "70000 bytes are too many");
    wick_context_free(&ctx);
}

TEST(a_file_that_is_not_there_or_cannot_be_written_is_an_error) {
    REQUIRE(scratch_context(NULL));
    wick_tuning t = {0};
    CHECK_INT(wick_tuning_load(at("none.txt"), &t, why, sizeof why), WICK_ERR_IO);
    CHECK_STR_HAS(why, "none.txt");
    CHECK_INT(wick_tuning_load(folder, &t, why, sizeof why), WICK_ERR_IO);
    REQUIRE(put(at("file"), "x", 1));
    CHECK_INT(wick_tuning_save(at("file/below/tuning.txt"), &t, why, sizeof why), WICK_ERR_IO);
    CHECK_STR_HAS(why, "file");
    REQUIRE(mkdir(at("locked"), 0500) == 0);
    if (access(at("locked"), W_OK) != 0) { /* root may write anywhere */
        CHECK_INT(wick_tuning_save(at("locked/tuning.txt"), &t, why, sizeof why), WICK_ERR_IO);
        CHECK_STR_HAS(why, "locked");
        CHECK_INT(wick_tuning_save(at("locked/below/tuning.txt"), &t, why, sizeof why), WICK_ERR_IO);
    }
    CHECK_INT(wick_tuning_save("/proc/wick/tuning.txt", &t, why, sizeof why), WICK_ERR_IO);
    wick_context_free(&ctx);
}

TEST(the_place_follows_the_environment) {
    char path[512], other[512];
    setenv("HOME", "/folder/of-someone", 1);
    setenv("XDG_CACHE_HOME", "/cache", 1);
    CHECK(wick_tuning_path(path, sizeof path) && !strncmp(path, "/cache/wick/tuning-", 19));
    CHECK(!wick_tuning_path(other, strlen(path)) && !other[0]);
    CHECK(wick_tuning_path(other, strlen(path) + 1) && !strcmp(path, other));
    setenv("XDG_CACHE_HOME", "relative", 1); /* the specification says: to be ignored */
    CHECK(wick_tuning_path(path, sizeof path) && !strncmp(path, "/folder/of-someone/.cache/wick/tuning-", 38));
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "", 1);
    CHECK(!wick_tuning_path(path, sizeof path));
    unsetenv("HOME");
    CHECK(!wick_tuning_path(path, sizeof path));
}

int main(int argc, char **argv) { return test_main(argc, argv); }
