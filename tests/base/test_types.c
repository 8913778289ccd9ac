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
        CHECK(wick_dtype_bits((wick_dtype)i) > 0 &&
              wick_dtype_size((wick_dtype)i) == (size_t)wick_dtype_bits((wick_dtype)i) / 8);
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
    CHECK_INT(wick_dtype_size(WICK_F8_E5M2), 1);
}

TEST(packed_elements_fill_bytes_from_the_low_bits) {
    static const struct {
        wick_dtype dtype;
        int64_t count;
        size_t bytes;
    } sizes[] = {{WICK_I4, 0, 0},
                 {WICK_I4, 1, 1},
                 {WICK_U4, 2, 1},
                 {WICK_U4, 5, 3},
                 {WICK_I2, 4, 1},
                 {WICK_U2, 5, 2},
                 {WICK_I4, (int64_t)1 << 62, (size_t)1 << 61},
                 {WICK_F64, 3, 24},
                 {WICK_F8_E4M3FN, 3, 3},
                 {(wick_dtype)99, 3, 0}};
    for (size_t i = 0; i < WICK_COUNTOF(sizes); i++)
        CHECK_INT(wick_dtype_bytes(sizes[i].dtype, sizes[i].count), sizes[i].bytes);
    CHECK_INT(wick_dtype_bits(WICK_U2), 2);
    CHECK_INT(wick_dtype_bits((wick_dtype)-1), 0);
    uint8_t data[4] = {0xff, 0xff, 0xff, 0xff};
    for (int i = 0; i < 5; i++) wick_element_put(WICK_U4, data, i, (uint64_t)i + 0x31);
    CHECK(data[0] == 0x21 && data[1] == 0x43 && data[2] == 0x05 && data[3] == 0xff);
    for (int i = 0; i < 5; i++) CHECK_INT(wick_element_get(WICK_I4, data, i), i + 1);
    for (int i = 0; i < 5; i++) wick_element_put(WICK_I2, data, i, (uint64_t)i);
    CHECK(data[0] == 0xe4 && data[1] == 0);
    CHECK_INT(wick_element_get(WICK_U2, data, 3), 3);
    data[1] = 0xff;
    wick_elements_end(WICK_U2, data, 4), wick_elements_end(WICK_U8, data, 1);
    CHECK(data[0] == 0xe4 && data[1] == 0xff);
    wick_elements_end(WICK_U2, data, 5), wick_elements_end(WICK_I4, data, 1);
    CHECK(data[0] == 4 && data[1] == 3);
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
