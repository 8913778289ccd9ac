/* Names, sizes and version of include/wick/types.h. */
#include "base/base.h"
#include "test.h"

TEST(every_status_has_its_own_name) {
    for (int i = 0; i < WICK_STATUS_COUNT; i++) {
        const char *name = wick_status_name((wick_status)i);
        REQUIRE(name && *name);
        for (int j = 0; j < i; j++) CHECK(strcmp(name, wick_status_name((wick_status)j)) != 0);
    }
    CHECK(strcmp(wick_status_name(WICK_ERR_NOMEM), "out of memory") == 0);
    CHECK(wick_status_name((wick_status)WICK_STATUS_COUNT) != NULL);
    CHECK(wick_status_name((wick_status)-1) != NULL);
}

TEST(dtype_names_read_back) {
    for (int i = 0; i < WICK_DTYPE_COUNT; i++) {
        CHECK_INT(wick_dtype_from_name(wick_dtype_name((wick_dtype)i)), i);
        CHECK(wick_dtype_size((wick_dtype)i) > 0);
    }
    static const char *const wrong[] = {"", "f", "f320", "F32", "?", "float", " f32"};
    for (size_t i = 0; i < WICK_COUNTOF(wrong); i++) CHECK_INT(wick_dtype_from_name(wrong[i]), WICK_DTYPE_COUNT);
    CHECK_INT(wick_dtype_from_name(NULL), WICK_DTYPE_COUNT);
}

TEST(dtype_sizes_are_those_of_c) {
    CHECK_INT(wick_dtype_size(WICK_F32), sizeof(float));
    CHECK_INT(wick_dtype_size(WICK_F64), sizeof(double));
    CHECK_INT(wick_dtype_size(WICK_F16), 2);
    CHECK_INT(wick_dtype_size(WICK_BF16), 2);
    CHECK_INT(wick_dtype_size(WICK_I64), sizeof(int64_t));
    CHECK_INT(wick_dtype_size(WICK_U16), sizeof(uint16_t));
    CHECK_INT(wick_dtype_size(WICK_BOOL), 1);
}

TEST(dtypes_outside_the_enum_are_refused) {
    CHECK(strcmp(wick_dtype_name((wick_dtype)WICK_DTYPE_COUNT), "?") == 0);
    CHECK(strcmp(wick_dtype_name((wick_dtype)-1), "?") == 0);
    CHECK_INT(wick_dtype_size((wick_dtype)WICK_DTYPE_COUNT), 0);
    CHECK_INT(wick_dtype_size((wick_dtype)-1), 0);
}

TEST(version_has_three_numbers) {
    int a, b, c;
    char more;
    CHECK_INT(sscanf(wick_version(), "%d.%d.%d%c", &a, &b, &c, &more), 3);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
