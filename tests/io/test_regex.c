/* Regular expressions: what matches as a whole, what is no expression, and that time stays in bounds. */
#include "io/onnx/import/regex.h"
#include "test.h"

static int match(const char *pattern, const char *text, size_t size) {
    wick_regex *r;
    wick_msg msg = {0};
    if (wick_regex_new(pattern, strlen(pattern), &r, &msg) != WICK_OK) return -1;
    const int yes = wick_regex_full_match(r, text, size, NULL);
    wick_regex_free(&r);
    return yes;
}

TEST(expressions_match_whole_texts) {
    static const struct {
        const char *pattern, *yes[6], *no[6];
    } rows[] = {
        {"", {""}, {"a"}},
        {"abc", {"abc"}, {"", "ab", "abcd", "xabc", "ABC"}},
        {"a|bc|", {"a", "bc", ""}, {"b", "abc", "c"}},
        {"a|b|c|d", {"a", "b", "c", "d"}, {"", "ab"}},
        {"(a|b)*c", {"c", "abbac"}, {"ab", "abcc", "d"}},
        {"x(ab|cd)+y|z", {"xaby", "xcdaby", "z"}, {"xy", "xab", "zz"}},
        {"a*?b+?c??", {"b", "aabbc"}, {"aa", "c"}},
        {"a{3}", {"aaa"}, {"aa", "aaaa"}},
        {"a{2,}", {"aa", "aaaaa"}, {"a", ""}},
        {"a{0,2}b", {"b", "ab", "aab"}, {"aaab"}},
        {"(ab?){1,3}", {"a", "ab", "aab", "ababab"}, {"", "b", "aaaa", "abb"}},
        {"a{0}b", {"b"}, {"ab"}},
        {"(a{2}){2,3}", {"aaaa", "aaaaaa"}, {"aaa", "aaaaa", "aaaaaaaa"}},
        {"a{x", {"a{x"}, {"a"}},
        {"[a-c0-9_]+", {"a1_c"}, {"d", "A", ""}},
        {"[^a-c]", {"d", "\xc3\xa4"}, {"a", "dd"}},
        {"[]a-]+", {"]-a"}, {"b"}},
        {"[a\\]\\-z]+", {"a]-z"}, {"b", "\\"}},
        {"[[:alpha:][:digit:]]+", {"aZ9"}, {"_", " "}},
        {"[[:^alpha:]]+", {"9_"}, {"a"}},
        {"\\d{3}-\\d{4}", {"555-1234"}, {"555-123", "5551234"}},
        {"\\w+@\\w+\\.(com|org)", {"me@x.com", "a_1@b.org"}, {"me@x.net", "me@.com", "@x.com"}},
        {"\\s\\S", {" a", "\tb"}, {"ab", "a "}},
        {"[\\d\\s]+\\D", {"1 2a"}, {"12"}},
        {".", {"a", "\xe2\x98\x83"}, {"", "\n", "ab"}},
        {"(?s).", {"\n"}, {""}},
        {"(?i)hello W", {"HeLLo w"}, {"hallo w"}},
        {"(?i:a)b", {"ab", "Ab"}, {"AB"}},
        {"a(?i)b|c", {"aB", "C"}, {"Ab"}},
        {"(?i)[x-z]+", {"xYZ"}, {"w"}},
        {"(?P<year>\\d+)/(?<month>\\d+)", {"2026/11"}, {"2026"}},
        {"^abc$", {"abc"}, {"aabc"}},
        {"a^b|a$b", {NULL}, {"ab", "a", "b"}},
        {"\\Aa\\z", {"a"}, {"b"}},
        {"foo\\b.+\\Bar", {"foo! bar", "foo xar"}, {"foobar", "foo ar"}},
        {"\\Qa.b*\\E+", {"a.b*", "a.b**"}, {"axb*"}},
        {"\\x41\\x{1F600}\\t\\.", {"A\xf0\x9f\x98\x80\t."}, {"A"}},
        {"\xc3\xa4+", {"\xc3\xa4\xc3\xa4"}, {"\xc3"}},
        {"()*a", {"a"}, {""}},
        {"(a*)*|b", {"", "aaa", "b"}, {"ab"}},
        {"((a|b)|(c|d)){2}", {"ad", "cb"}, {"a", "abc"}},
    };
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++)
        for (int k = 0; k < 6; k++) {
            if (rows[i].yes[k])
                CHECK_MSG(match(rows[i].pattern, rows[i].yes[k], strlen(rows[i].yes[k])) == 1,
                          "/%s/ should match \"%s\"", rows[i].pattern, rows[i].yes[k]);
            if (rows[i].no[k])
                CHECK_MSG(match(rows[i].pattern, rows[i].no[k], strlen(rows[i].no[k])) == 0,
                          "/%s/ should not match \"%s\"", rows[i].pattern, rows[i].no[k]);
        }
    CHECK(match("a\\0b", "a\0b", 3) == 1 && match(".*", "\xff\xfe", 2) == 1);
}

TEST(what_is_no_expression_is_named) {
    static const struct {
        const char *pattern, *says;
        wick_status status;
    } rows[] = {{"(a", "a \"(\" without its \")\"", WICK_ERR_FORMAT},
                {"a)", "byte 1: a \")\" without its \"(\"", WICK_ERR_FORMAT},
                {"*a", "byte 1: nothing to repeat", WICK_ERR_FORMAT},
                {"a**", "nothing to repeat", WICK_ERR_FORMAT},
                {"(|*)", "nothing to repeat", WICK_ERR_FORMAT},
                {"[a", "a class without its end", WICK_ERR_FORMAT},
                {"[b-a]", "backwards", WICK_ERR_FORMAT},
                {"[[:foo:]]", "no such class", WICK_ERR_FORMAT},
                {"a\\", "ends with a backslash", WICK_ERR_FORMAT},
                {"\\pL", "an escape", WICK_ERR_UNSUPPORTED},
                {"\\1", "an escape", WICK_ERR_FORMAT},
                {"a{3,2}", "from many to few", WICK_ERR_FORMAT},
                {"a{1001}", "more than 1000 times", WICK_ERR_FORMAT},
                {"(?=a)", "another kind", WICK_ERR_UNSUPPORTED},
                {"(?P<x", "a name without its end", WICK_ERR_FORMAT},
                {"\\x{110000}", "without a code point", WICK_ERR_FORMAT},
                {"((a{100}){100}){100}", "too large", WICK_ERR_UNSUPPORTED}};
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        wick_regex *r = NULL;
        wick_msg msg = {0};
        CHECK_INT(wick_regex_new(rows[i].pattern, strlen(rows[i].pattern), &r, &msg), rows[i].status);
        CHECK_STR_HAS(msg.text, rows[i].says);
        CHECK(!r);
    }
    char deep[1000];
    memset(deep, '(', sizeof deep);
    wick_regex *r;
    wick_msg msg = {0};
    CHECK_INT(wick_regex_new(deep, sizeof deep, &r, &msg), WICK_ERR_UNSUPPORTED);
}

/* What takes backtracking matchers longer than there is time. */
TEST(hard_expressions_take_time_that_grows_with_the_text) {
    enum { N = 3000 };
    char text[N + 1];
    memset(text, 'a', N);
    text[N] = 0;
    CHECK_INT(match("(a*)*b", text, N), 0);
    CHECK_INT(match("(a|a)*b|(a|aa)+", text, N), 1);
    CHECK_INT(match("(a?){500}a{500}", text, 500), 1);
    CHECK_INT(match("(.*)(.*)(.*)(.*)x", text, N), 0);
}

/* Any bytes are an expression or are refused (run with sanitizers in CI). */
TEST(random_expressions_do_no_harm) {
    static const char alphabet[] = "ab()[]{}*+?|\\^$.-:,019dwsQEx\xc3\xa4iP<>=";
    for (int i = 0; i < 20000; i++) {
        char pattern[24];
        const size_t n = (size_t)test_rand_int(0, 23);
        for (size_t k = 0; k < n; k++) pattern[k] = alphabet[test_rand_int(0, sizeof alphabet - 2)];
        wick_regex *r;
        wick_msg msg = {0};
        if (wick_regex_new(pattern, n, &r, &msg) != WICK_OK) continue;
        (void)wick_regex_full_match(r, "abba", 4, NULL);
        (void)wick_regex_full_match(r, pattern, n, NULL);
        wick_regex_free(&r);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
