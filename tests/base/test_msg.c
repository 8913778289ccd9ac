/* Messages and the string builder. */
#include "base/base.h"
#include "test.h"

TEST(set_stores_text_and_returns_status) {
    wick_msg m = {0};
    CHECK_INT(wick_msg_set(&m, WICK_ERR_SHAPE, "[%d,%d] against [%d]", 2, 3, 4), WICK_ERR_SHAPE);
    CHECK_INT(m.status, WICK_ERR_SHAPE);
    CHECK(strcmp(m.text, "[2,3] against [4]") == 0);
    CHECK_INT(wick_msg_set(&m, WICK_OK, "ignored %d", 1), WICK_OK);
    CHECK_INT(m.status, WICK_OK);
    CHECK(m.text[0] == 0);
}

TEST(null_message_keeps_the_status) {
    CHECK_INT(wick_msg_set(NULL, WICK_ERR_IO, "%s", "x"), WICK_ERR_IO);
    CHECK_INT(wick_msg_prefix(NULL, "%s", "x"), WICK_OK);
}

TEST(text_of_every_length_is_terminated_and_marked_when_cut) {
    char text[WICK_MSG_MAX + 64];
    for (size_t n = WICK_MSG_MAX - 8; n < WICK_MSG_MAX + 40; n++) {
        wick_msg m;
        memset(&m, 'Z', sizeof m);
        memset(text, 'a', n);
        text[n] = 0;
        wick_msg_set(&m, WICK_ERR_IO, "%s", text);
        REQUIRE(memchr(m.text, 0, sizeof m.text) != NULL);
        if (n < WICK_MSG_MAX) {
            CHECK_INT(strlen(m.text), n);
            CHECK(!strstr(m.text, "..."));
        } else {
            CHECK_INT(strlen(m.text), WICK_MSG_MAX - 1);
            CHECK(strcmp(m.text + WICK_MSG_MAX - 4, "...") == 0);
        }
    }
}

TEST(a_cut_never_splits_a_character) {
    char text[2 * WICK_MSG_MAX + 1];
    for (int shift = 0; shift < 3; shift++) {
        int n = 0;
        while (n < shift) text[n++] = 'a';
        for (; n + 3 < (int)sizeof text; n += 3) memcpy(text + n, "\xE2\x82\xAC", 3); /* U+20AC */
        text[n] = 0;
        wick_msg m;
        wick_msg_set(&m, WICK_ERR_IO, "%s", text);
        size_t len = strlen(m.text);
        CHECK(strcmp(m.text + len - 3, "...") == 0);
        CHECK_INT((len - 3 - (size_t)shift) % 3, 0);
    }
}

TEST(prefix_goes_in_front) {
    wick_msg m;
    wick_msg_set(&m, WICK_ERR_FORMAT, "bad magic");
    CHECK_INT(wick_msg_prefix(&m, "reading %s: ", "x.idx"), WICK_ERR_FORMAT);
    CHECK(strcmp(m.text, "reading x.idx: bad magic") == 0);
    for (int i = 0; i < 200; i++) wick_msg_prefix(&m, "level %d: ", i);
    CHECK(strncmp(m.text, "level 199: ", 11) == 0);
    CHECK(strcmp(m.text + strlen(m.text) - 3, "...") == 0);
    CHECK_INT(m.status, WICK_ERR_FORMAT);
}

TEST(an_argument_may_be_the_old_text) {
    wick_msg m;
    wick_msg_set(&m, WICK_ERR_IO, "disk full");
    wick_msg_set(&m, WICK_ERR_IO, "saving: %s (%s)", m.text, m.text);
    CHECK(strcmp(m.text, "saving: disk full (disk full)") == 0);
}

TEST(str_appends_within_its_room) {
    char buf[12];
    memset(buf, 'Z', sizeof buf);
    wick_str s = wick_str_on(buf, 8);
    wick_str_add(&s, "ab%d", 1);
    wick_str_add(&s, "%s", "");
    CHECK(!s.cut);
    CHECK_INT(s.len, 3);
    wick_str_add(&s, "%s", "cdef");
    CHECK(!s.cut);
    CHECK(strcmp(buf, "ab1cdef") == 0);
    wick_str_add(&s, "%s", "");
    CHECK(!s.cut);
    wick_str_add(&s, "g");
    CHECK(s.cut);
    wick_str_add(&s, "hij");
    CHECK_INT(s.len, 7);
    CHECK(strcmp(buf, "ab1cdef") == 0);
    CHECK(memcmp(buf + 8, "ZZZZ", 4) == 0);
}

TEST(str_on_tiny_buffers) {
    char one[2] = {'Z', 'Z'};
    wick_str s = wick_str_on(one, 1);
    wick_str_add(&s, "x");
    CHECK(s.cut && s.len == 0 && one[0] == 0 && one[1] == 'Z');
    s = wick_str_on(NULL, 0);
    wick_str_add(&s, "x");
    CHECK(s.cut && s.len == 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
