/* The JSON reader and writer: what is read, what is refused and where, and that no input makes it stumble. */
#include <locale.h>

#include "io/json.h"
#include "test.h"

static wick_arena arena;
static wick_msg msg;

static wick_status parse(const char *text, size_t size, const wick_json **out) {
    char *copy = malloc(size + !size); /* of exact size, so that a sanitizer sees a read beyond */
    memcpy(copy, text, size);
    wick_arena_free(&arena);
    wick_arena_init(&arena, NULL, 256);
    msg = (wick_msg){0};
    const wick_status status = wick_json_parse(&arena, copy, size, NULL, out, &msg);
    free(copy);
    return status;
}
static const wick_json *good(const char *text) {
    const wick_json *v = NULL;
    const wick_status status = parse(text, strlen(text), &v);
    CHECK_MSG(status == WICK_OK && v, "%s: %s", text, msg.text);
    return v;
}

TEST(reads_every_kind_of_value) {
    const wick_json *v = good(" {\"a\": [1, -2.5, true, false, null, \"x\"], \"b\":{}, \"c\":[]}\n\t\r ");
    REQUIRE(v);
    CHECK(v->type == WICK_JSON_OBJECT && v->count == 3 && v->offset == 1);
    const wick_json *a = wick_json_get(v, "a"), *e;
    REQUIRE(a && a->type == WICK_JSON_ARRAY && a->count == 6);
    e = a->child;
    CHECK(e->type == WICK_JSON_NUMBER && e->is_integer && e->integer == 1 && e->number == 1);
    e = e->next;
    CHECK(e->type == WICK_JSON_NUMBER && !e->is_integer && e->number == -2.5 && e->offset == 11);
    e = e->next;
    CHECK(e->type == WICK_JSON_BOOL && e->boolean);
    e = e->next;
    CHECK(e->type == WICK_JSON_BOOL && !e->boolean);
    e = e->next;
    CHECK(e->type == WICK_JSON_NULL);
    e = e->next;
    CHECK(e->type == WICK_JSON_STRING && !strcmp(e->text, "x") && !e->next);
    CHECK(wick_json_get(v, "b")->type == WICK_JSON_OBJECT && wick_json_get(v, "b")->count == 0);
    CHECK(wick_json_get(v, "c")->count == 0 && !wick_json_get(v, "c")->child);
    CHECK(!wick_json_get(v, "d") && !wick_json_get(a, "a") && !wick_json_get(NULL, "a") &&
          !wick_json_get(wick_json_get(v, "b"), ""));
}

TEST(finds_members_among_many) {
    char text[40000], key[16];
    wick_str s = wick_str_on(text, sizeof text);
    for (int i = 0; i < 2000; i++) wick_str_add(&s, "%s\"k%d\":%d", i ? "," : "{", (i * 7919) % 2000, i);
    wick_str_add(&s, "}");
    REQUIRE(!s.cut);
    const wick_json *v = good(text);
    REQUIRE(v);
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "k%d", (i * 7919) % 2000);
        const wick_json *m = wick_json_get(v, key);
        CHECK(m && m->integer == i);
    }
    CHECK_INT(v->child->integer, 0); /* the list keeps the input's order */
    CHECK_INT(v->child->next->integer, 1);
}

TEST(numbers_are_exact) {
    static const struct {
        const char *text;
        double number;
        bool is_integer;
        int64_t integer;
    } rows[] = {
        {"0", 0, true, 0},
        {"-0", -0.0, true, 0},
        {"9223372036854775807", 0x1p63, true, INT64_MAX},
        {"-9223372036854775808", -0x1p63, true, INT64_MIN},
        {"9223372036854775808", 0x1p63, false, 0},
        {"-9223372036854775809", -0x1p63, false, 0},
        {"18446744073709551616", 0x1p64, false, 0},
        {"9007199254740993", 9007199254740992, true, 9007199254740993},
        {"1.0", 1, false, 0},
        {"1e3", 1000, false, 0},
        {"1E+2", 100, false, 0},
        {"25e-1", 2.5, false, 0},
        {"0.1", 0.1, false, 0},
        {"4.9e-324", 0x1p-1074, false, 0},
        {"1e-400", 0, false, 0},
        {"1.7976931348623157e308", 0x1.fffffffffffffp1023, false, 0},
        {"123456789012345678901234567890", 123456789012345678901234567890.0, false, 0},
    };
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        const wick_json *v = good(rows[i].text);
        if (!v) continue;
        CHECK_MSG(v->number == rows[i].number && signbit(v->number) == signbit(rows[i].number), "%s: %.17g",
                  rows[i].text, v->number);
        CHECK_MSG(v->is_integer == rows[i].is_integer, "%s", rows[i].text);
        if (v->is_integer) CHECK_INT(v->integer, rows[i].integer);
    }
}

TEST(strings_are_decoded) {
    static const char *const rows[][2] = {
        {"\"\"", ""},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\"",
         "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"},
        {"\"\x7f\"", "\x7f"},
    };
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        const wick_json *v = good(rows[i][0]);
        CHECK_MSG(v && v->type == WICK_JSON_STRING && !strcmp(v->text, rows[i][1]), "%s", rows[i][0]);
    }
}

TEST(malformed_text_is_refused_with_its_place) {
    static const struct {
        const char *text;
        size_t at;
    } rows[] = {
        {"", 0},
        {"  ", 2},
        {"nul", 0},
        {"nulL", 0},
        {"True", 0},
        {"tru", 0},
        {"+1", 0},
        {".5", 0},
        {"01", 0},
        {"-", 0},
        {"-a", 0},
        {"1.", 0},
        {"1.e5", 0},
        {"1e", 0},
        {"1e+", 0},
        {"0x10", 1},
        {"1 2", 2},
        {"NaN", 0},
        {"Infinity", 0},
        {"-Infinity", 0},
        {"1e999", 0},
        {"[", 1},
        {"[1", 2},
        {"[1,", 3},
        {"[1,]", 3},
        {"[,1]", 1},
        {"[1 2]", 3},
        {"]", 0},
        {"{", 1},
        {"{\"a\"", 4},
        {"{\"a\":", 5},
        {"{\"a\":1", 6},
        {"{\"a\":1,}", 7},
        {"{a:1}", 1},
        {"{1:1}", 1},
        {"{\"a\" 1}", 5},
        {"{\"a\":1 \"b\":2}", 7},
        {"[1}", 2},
        {"{\"a\":1]", 6},
        {"\"", 0},
        {"\"a", 0},
        {"\"\\", 0},
        {"\"\\\"", 0},
        {"\"\\x\"", 1},
        {"\"\\u12\"", 1},
        {"\"\\u12g4\"", 1},
        {"\"\\u0000\"", 1},
        {"\"\\ud800\"", 1},
        {"\"\\ud800\\u0041\"", 1},
        {"\"\\udc00\"", 1},
        {"\"\\ud800x\"", 1},
        {"\"a\nb\"", 2},
        {"\"\x01\"", 1},
        {"\"\x80\"", 1},
        {"\"\xc0\x80\"", 1},
        {"\"\xc1\xbf\"", 1},
        {"\"\xe0\x9f\xbf\"", 1},
        {"\"\xed\xa0\x80\"", 1},
        {"\"\xf0\x8f\xbf\xbf\"", 1},
        {"\"\xf4\x90\x80\x80\"", 1},
        {"\"\xf5\x80\x80\x80\"", 1},
        {"\"\xc3\"", 1},
        {"\"\xe2\x82\"", 1},
        {"\xef\xbb\xbf"
         "1",
         0},
        {"{\"a\":1,\"b\":2,\"a\":3}", 17},
        {"{\"\\u0061\":1,\"a\":2}", 16},
        {"// x\n1", 0},
        {"'a'", 0},
    };
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        const wick_json *v = NULL;
        char at[32];
        snprintf(at, sizeof at, "byte %zu: ", rows[i].at);
        const wick_status status = parse(rows[i].text, strlen(rows[i].text), &v);
        CHECK_MSG(status == WICK_ERR_FORMAT && !v && strstr(msg.text, at), "%s: %d \"%s\", want %s", rows[i].text,
                  (int)status, msg.text, at);
    }
    const wick_json *v;
    CHECK(parse("\"a\0b\"", 5, &v) == WICK_ERR_FORMAT);
    CHECK(parse("1\0", 2, &v) == WICK_ERR_FORMAT);
}

TEST(limits_hold) {
    char text[2100];
    const wick_json *v;
    for (int depth = 1; depth < 1000; depth += depth < 70 ? 1 : 200) {
        for (int i = 0; i < depth; i++) text[i] = '[', text[2 * depth - 1 - i] = ']';
        const wick_status status = parse(text, (size_t)(2 * depth), &v);
        CHECK_MSG(status == (depth <= 64 ? WICK_OK : WICK_ERR_UNSUPPORTED), "depth %d: %d", depth, (int)status);
    }
    const wick_json_limits few = {.values = 4}, small = {.bytes = 8};
    wick_arena_reset(&arena);
    CHECK(wick_json_parse(&arena, "[1,2,3]", 7, &few, &v, NULL) == WICK_OK);
    CHECK(wick_json_parse(&arena, "[1,2,3,4]", 9, &few, &v, &msg) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(msg.text, "byte 7");
    CHECK(wick_json_parse(&arena, "[1,2,3]", 7, &small, &v, NULL) == WICK_OK);
    CHECK(wick_json_parse(&arena, "[1,2,3,4]", 9, &small, &v, NULL) == WICK_ERR_UNSUPPORTED);
    memset(text, '1', sizeof text);
    CHECK(parse(text, 300, &v) == WICK_OK);
    CHECK(parse(text, 390, &v) == WICK_ERR_FORMAT); /* beyond f64 */
    CHECK(parse(text, 1000, &v) == WICK_ERR_FORMAT);
}

TEST(no_prefix_and_no_flipped_bit_makes_it_stumble) {
    static const char text[] =
        "{\"a\\u00e9\\ud83d\\ude00\":[1,-2.5e-3,true,null,{\"\xc3\xa9\":\"x\\n\"}],\"b\":[[],{}]}";
    char copy[sizeof text];
    const wick_json *v;
    for (size_t n = 0; n < sizeof text - 1; n++) CHECK(parse(text, n, &v) == WICK_ERR_FORMAT);
    for (size_t i = 0; i < sizeof text - 1; i++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, text, sizeof text);
            copy[i] = (char)(copy[i] ^ 1 << bit);
            const wick_status status = parse(copy, sizeof text - 1, &v);
            CHECK((status == WICK_OK) == (v != NULL) && (status == WICK_OK) == (msg.text[0] == 0));
        }
    for (int i = 0; i < 20000; i++) { /* pieces of JSON in any order */
        static const char *const pieces[] = {"{", "}", "[",  "]",  ",",    ":", "\"a\"", "\"\\",
                                             "1", "-", ".5", "e9", "true", " ", "\"",    "\xe2"};
        char soup[64] = "";
        for (int k = test_rand_int(0, 12); k > 0; k--) strcat(soup, pieces[test_rand() % WICK_COUNTOF(pieces)]);
        const wick_status status = parse(soup, strlen(soup), &v);
        CHECK((status == WICK_OK) == (v != NULL));
    }
}

/* Fails the n-th allocation. */
static int allocs_left;
static void *failing_alloc(void *user, size_t size, size_t align) {
    (void)user;
    return allocs_left-- > 0 ? aligned_alloc(align, (size + align - 1) / align * align) : NULL;
}
static void failing_release(void *user, void *ptr, size_t size) {
    (void)user, (void)size;
    free(ptr);
}
static const wick_allocator failing = {NULL, failing_alloc, failing_release};

TEST(running_out_of_memory_is_an_error_like_any_other) {
    static const char text[] =
        "{\"a\":[1,2,3,\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"],\"b\":{\"c\":null}}";
    int refused = 0;
    for (int n = 0; n < 100; n++) {
        wick_arena a;
        const wick_json *v;
        allocs_left = n;
        wick_arena_init(&a, &failing, 64);
        const wick_status status = wick_json_parse(&a, text, sizeof text - 1, NULL, &v, &msg);
        wick_arena_free(&a);
        if (status == WICK_OK) break;
        CHECK_INT(status, WICK_ERR_NOMEM);
        refused++;
    }
    CHECK(refused > 2 && refused < 100);
    allocs_left = 0;
    wick_json_writer w;
    wick_json_writer_init(&w, &failing);
    wick_json_integer(&w, 1);
    CHECK_INT(wick_json_finish(&w), WICK_ERR_NOMEM);
    wick_json_writer_free(&w);
}

TEST(what_is_written_reads_back) {
    static const double numbers[] = {0.1, 1e300, -2.5, 1.0 / 3, 0x1p-1074, 5e-5, 123456789.125, 0x1.fffffffffffffp1023,
                                     -0.0};
    char any[128];
    for (int i = 1; i < 128; i++) any[i - 1] = (char)i;
    any[127] = 0;
    wick_json_writer w;
    wick_json_writer_init(&w, NULL);
    wick_json_open(&w, '{');
    wick_json_key(&w, any);
    wick_json_open(&w, '[');
    for (size_t i = 0; i < WICK_COUNTOF(numbers); i++) wick_json_number(&w, numbers[i]);
    wick_json_integer(&w, INT64_MIN);
    wick_json_integer(&w, INT64_MAX);
    wick_json_close(&w);
    wick_json_key(&w, "\xf0\x9f\x98\x80");
    wick_json_string(&w, any);
    wick_json_key(&w, "");
    wick_json_open(&w, '{');
    wick_json_close(&w);
    wick_json_key(&w, "t");
    wick_json_boolean(&w, true);
    wick_json_key(&w, "f");
    wick_json_boolean(&w, false);
    wick_json_key(&w, "n");
    wick_json_null(&w);
    wick_json_close(&w);
    REQUIRE(wick_json_finish(&w) == WICK_OK);
    const wick_json *v;
    REQUIRE(parse(w.at, w.len, &v) == WICK_OK);
    const wick_json *e = v->child;
    CHECK(!strcmp(e->key, any));
    e = e->child;
    for (size_t i = 0; i < WICK_COUNTOF(numbers); i++, e = e->next)
        CHECK_MSG(e->number == numbers[i] && signbit(e->number) == signbit(numbers[i]), "%.17g", e->number);
    CHECK(e->is_integer && e->integer == INT64_MIN && e->next->integer == INT64_MAX);
    CHECK(!strcmp(wick_json_get(v, "\xf0\x9f\x98\x80")->text, any));
    CHECK(wick_json_get(v, "")->type == WICK_JSON_OBJECT && wick_json_get(v, "t")->boolean &&
          !wick_json_get(v, "f")->boolean);
    CHECK(wick_json_get(v, "n")->type == WICK_JSON_NULL);
    wick_json_writer_free(&w);
}

TEST(written_text_is_compact) {
    wick_json_writer w;
    wick_json_writer_init(&w, NULL);
    wick_json_open(&w, '{');
    wick_json_key(&w, "a\"");
    wick_json_open(&w, '[');
    wick_json_integer(&w, -1);
    wick_json_number(&w, 0.1);
    wick_json_open(&w, '{');
    wick_json_close(&w);
    wick_json_string(&w, "\n\x1f");
    wick_json_close(&w);
    wick_json_key(&w, "b");
    wick_json_null(&w);
    wick_json_close(&w);
    static const char want[] = "{\"a\\\"\":[-1,0.1,{},\"\\n\\u001f\"],\"b\":null}";
    CHECK(wick_json_finish(&w) == WICK_OK && w.len == sizeof want - 1 && !memcmp(w.at, want, w.len));
    wick_json_writer_free(&w);
}

TEST(misuse_of_the_writer_is_refused) {
    for (int k = 0; k < 12; k++) {
        wick_json_writer w;
        wick_json_writer_init(&w, NULL);
        switch (k) {
        case 0:
            break; /* nothing */
        case 1:
            wick_json_open(&w, '[');
            break;
        case 2:
            wick_json_close(&w);
            break;
        case 3:
            wick_json_null(&w), wick_json_null(&w);
            break;
        case 4:
            wick_json_open(&w, '{'), wick_json_null(&w), wick_json_close(&w);
            break;
        case 5:
            wick_json_open(&w, '{'), wick_json_key(&w, "a"), wick_json_close(&w);
            break;
        case 6:
            wick_json_open(&w, '['), wick_json_key(&w, "a"), wick_json_null(&w), wick_json_close(&w);
            break;
        case 7:
            wick_json_number(&w, NAN);
            break;
        case 8:
            wick_json_number(&w, -INFINITY);
            break;
        case 9:
            wick_json_string(&w, "\xff");
            break;
        case 10:
            for (int i = 0; i < 65; i++) wick_json_open(&w, '[');
            for (int i = 0; i < 65; i++) wick_json_close(&w);
            break;
        case 11:
            wick_json_open(&w, '(');
            break;
        }
        CHECK_MSG(wick_json_finish(&w) == WICK_ERR_INVALID, "case %d", k);
        wick_json_writer_free(&w);
    }
}

TEST(the_host_locale_does_not_matter) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "de_DE"};
    bool found = false;
    for (size_t i = 0; i < WICK_COUNTOF(names) && !found; i++) found = setlocale(LC_ALL, names[i]) != NULL;
    if (!found) SKIP("no locale with a decimal comma on this machine");
    const wick_json *v = good("2.5");
    CHECK(v && v->number == 2.5);
    wick_json_writer w;
    wick_json_writer_init(&w, NULL);
    wick_json_number(&w, 2.5);
    CHECK(wick_json_finish(&w) == WICK_OK && w.len == 3 && !memcmp(w.at, "2.5", 3));
    wick_json_writer_free(&w);
    setlocale(LC_ALL, "C");
}

TEST(texts_in_messages_are_short_and_plain) {
    char buf[WICK_JSON_SHOWN], longer[200];
    CHECK(!strcmp(wick_json_show(buf, "a\x1b[31m\n\xc2\x9b\xc3\xa9\xff"), "a?[31m?"
                                                                          "?"
                                                                          "\xc3\xa9?"));
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    wick_json_show(buf, longer);
    CHECK(strlen(buf) < WICK_JSON_SHOWN && !strcmp(buf + strlen(buf) - 4, "x..."));
}

int main(int argc, char **argv) {
    const int rc = test_main(argc, argv);
    wick_arena_free(&arena);
    return rc;
}
