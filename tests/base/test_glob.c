/* Patterns of names. */
#include "base/base.h"
#include "test.h"

TEST(stars_and_question_marks_match_as_documented) {
    const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"*", "", true},
        {"*", "conv1.weight", true},
        {"?", "", false},
        {"?", "a", true},
        {"??", "a", false},
        {"conv*", "conv1.bias", true},
        {"conv*", "bn.conv", false},
        {"*.weight", "fc.weight", true},
        {"*.weight", "fc.weights", false},
        {"*.weight", ".weight.weight", true},
        {"a*b*c", "aXbYbZc", true},
        {"a*b*c", "aXcYb", false},
        {"*a*", "bbb", false},
        {"**", "x", true},
        {"a**b", "ab", true},
        {"fc?.bias", "fc2.bias", true},
        {"fc?.bias", "fc12.bias", false},
        {"[ab]", "a", false},
        {"[ab]", "[ab]", true},
        {"*?", "", false},
        {"*?", "ab", true},
        {"a*", "a", true},
        {"a|b", "a", true},
        {"a|b", "b", true},
        {"a|b", "a|b", false},
        {"*.bias|bn*", "bn1.weight", true},
        {"*.bias|bn*", "fc.bias", true},
        {"*.bias|bn*", "fc.weight", false},
        {"a|", "", true},
        {"a||b", "b", true},
        {"*x|?", "|", true},
        {"x*|y", "xy|z", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_MSG(wick_glob(cases[i].pattern, cases[i].name) == cases[i].matches, "\"%s\" and \"%s\"", cases[i].pattern,
                  cases[i].name);
}

TEST(a_hostile_name_takes_no_longer_than_its_length_times_the_patterns) {
    enum { N = 1 << 20 };
    char *name = malloc(N + 1);
    REQUIRE(name);
    memset(name, 'a', N);
    name[N] = 0;
    CHECK(!wick_glob("*a*a*a*a*a*a*a*a*a*a*b", name));
    free(name);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
