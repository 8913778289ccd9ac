/* Tensors from data, memory, files and numbers: dtypes, alignment, ownership of the memory they show. */
#include <unistd.h>

#include "tensor/tensors.h"

static const wick_dtype all[] = {WICK_F32,  WICK_F64,       WICK_F16,         WICK_BF16,    WICK_I8,          WICK_I16,
                                 WICK_I32,  WICK_I64,       WICK_U8,          WICK_U16,     WICK_U32,         WICK_U64,
                                 WICK_BOOL, WICK_F8_E4M3FN, WICK_F8_E4M3FNUZ, WICK_F8_E5M2, WICK_F8_E5M2FNUZ, WICK_I4,
                                 WICK_U4,   WICK_I2,        WICK_U2,          WICK_F4_E2M1};

TEST(every_dtype_round_trips_through_from_and_read) {
    wick_context *ctx = context();
    for (int d = 0; d < (int)(sizeof all / sizeof *all); d++) {
        unsigned char in[6 * 8], out[6 * 8];
        size_t size = wick_dtype_bytes(all[d], 6);
        for (size_t i = 0; i < size; i++) in[i] = (unsigned char)(all[d] == WICK_BOOL ? i & 1 : 17 * i + 3);
        if (wick_dtype_bits(all[d]) == 2) in[1] &= 15; /* behind the last element there is nothing to keep */
        wick_tensor *x = wick_from(ctx, all[d], WICK_DIMS(2, 3), in);
        CHECK_INT(wick_tensor_dtype(x), all[d]);
        CHECK_INT(wick_tensor_rank(x), 2);
        CHECK_INT(wick_tensor_dim(x, 0), 2);
        CHECK_INT(wick_tensor_dim(x, -1), 3);
        CHECK_INT(wick_tensor_dim(x, 2), 0);
        CHECK(wick_tensor_ready(x));
        CHECK_OK(ctx, wick_read(x, out, size));
        CHECK_MSG(!memcmp(in, out, size), "%s", wick_dtype_name(all[d]));
    }
    wick_context_free(&ctx);
}

TEST(numbers_are_stored_exactly_in_every_dtype) {
    wick_context *ctx = context();
    for (int d = 0; d < (int)(sizeof all / sizeof *all); d++) {
        double one = all[d] == WICK_BOOL || all[d] == WICK_I2 ? 1 : 3; /* numbers are held to the range of integers */
        CHECK_VALUES(wick_full(ctx, all[d], WICK_DIMS(2), 3), one, one);
        CHECK_VALUES(wick_zeros(ctx, all[d], WICK_DIMS(2)), 0, 0);
        CHECK_VALUES(wick_ones(ctx, all[d], WICK_DIMS(2)), 1, 1);
        CHECK_VALUES(wick_scalar(ctx, all[d], 3), one);
        CHECK_VALUES(wick_constant(ctx, all[d], 3), one);
    }
    CHECK_VALUES(wick_arange(ctx, WICK_I64, 5, -2, 4), 5, 3, 1, -1);
    CHECK_VALUES(wick_arange(ctx, WICK_F32, 0, 0.5, 3), 0, 0.5, 1);
    CHECK_INT(wick_tensor_count(wick_arange(ctx, WICK_F32, 0, 1, 0)), 0);
    wick_context_free(&ctx);
}

TEST(data_and_results_are_64_byte_aligned) {
    wick_context *ctx = context();
    for (int n = 1; n < 40; n += 3) {
        int64_t dim = n;
        wick_tensor *x = wick_ones(ctx, WICK_F32, 1, &dim), *y = wick_add(x, x);
        const void *p = NULL, *q = NULL;
        CHECK_OK(ctx, wick_data(x, &p));
        CHECK_OK(ctx, wick_data(y, &q));
        CHECK_INT((uintptr_t)p % 64, 0);
        CHECK_INT((uintptr_t)q % 64, 0);
    }
    wick_context_free(&ctx);
}

TEST(impossible_shapes_and_dtypes_are_refused) {
    wick_context *ctx = context();
    CHECK_POISON(wick_from(ctx, (wick_dtype)77, WICK_DIMS(2), "xx"), WICK_ERR_INVALID, "dtype 77");
    CHECK_POISON(wick_zeros(ctx, WICK_F32, WICK_DIMS(-1)), WICK_ERR_INVALID, "dim 0 is -1");
    CHECK_POISON(wick_zeros(ctx, WICK_F32, WICK_DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1)), WICK_ERR_INVALID, "9 dims");
    CHECK_POISON(wick_zeros(ctx, WICK_F64, WICK_DIMS(INT64_MAX / 4, 4)), WICK_ERR_INVALID, "cannot be counted");
    CHECK_POISON(wick_zeros(ctx, WICK_F64, WICK_DIMS(0, INT64_MAX / 4, 4)), WICK_ERR_INVALID, "cannot be counted");
    CHECK_POISON(wick_from(ctx, WICK_F32, WICK_DIMS(2), NULL), WICK_ERR_INVALID, "NULL");
    wick_tensor *big = wick_zeros(ctx, WICK_F64, WICK_DIMS(1, 1, 1, 1, 1, 1, 1, 1));
    CHECK_INT(wick_tensor_rank(big), 8);
    CHECK_VALUES(big, 0);
    wick_context_free(&ctx);
}

TEST(empty_tensors_compute) {
    wick_context *ctx = context();
    wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(0, 3), NULL);
    CHECK_INT(wick_tensor_count(wick_exp(x)), 0);
    const void *p = NULL;
    CHECK_OK(ctx, wick_data(wick_exp(x), &p));
    CHECK(p != NULL);
    CHECK_VALUES(wick_sum(x, WICK_AXES(0), false), 0, 0, 0);
    wick_context_free(&ctx);
}

/* ---- user memory ------------------------------------------------------------------------------------------------- */

static void count_release(void *user) { ++*(int *)user; }

TEST(wrapped_memory_is_used_without_a_copy) {
    wick_context *ctx = context();
    float data[6] = {1, 2, 3, 4, 5, 6};
    int released = 0;
    wick_tensor *x = wick_wrap(ctx, WICK_F32, WICK_DIMS(2, 3), NULL, data, count_release, &released);
    const void *p = NULL;
    CHECK_OK(ctx, wick_data(x, &p));
    CHECK(p == data);
    CHECK_VALUES(wick_sum(x, WICK_AXES(1), false), 6, 15);
    CHECK_INT(released, 0);
    wick_context_free(&ctx);
    CHECK_INT(released, 1);
}

TEST(wrapped_memory_with_strides_reads_as_its_view) {
    wick_context *ctx = context();
    float data[6] = {1, 2, 3, 4, 5, 6};
    int64_t transposed[2] = {1, 3}, backwards[1] = {-2}, repeated[2] = {0, 1};
    CHECK_VALUES(wick_wrap(ctx, WICK_F32, WICK_DIMS(3, 2), transposed, data, NULL, NULL), 1, 4, 2, 5, 3, 6);
    CHECK_VALUES(wick_wrap(ctx, WICK_F32, WICK_DIMS(3), backwards, data + 5, NULL, NULL), 6, 4, 2);
    CHECK_VALUES(wick_add(wick_wrap(ctx, WICK_F32, WICK_DIMS(2, 2), repeated, data, NULL, NULL), VEC(ctx, 1, 1)), 2, 3,
                 2, 3);
    const void *p = NULL;
    wick_tensor *t = wick_wrap(ctx, WICK_F32, WICK_DIMS(3, 2), transposed, data, NULL, NULL);
    CHECK_OK(ctx, wick_data(t, &p)); /* row-major: a copy has to be made */
    REQUIRE(p != NULL);
    CHECK(p != data && ((const float *)p)[1] == 4);
    wick_context_free(&ctx);
}

TEST(release_is_called_once_when_the_last_reader_is_gone) {
    wick_context *ctx = context();
    float data[4] = {1, 2, 3, 4};
    int released = 0;
    wick_tensor *y;
    {
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *x = wick_wrap(ctx, WICK_F32, WICK_DIMS(4), NULL, data, count_release, &released);
        y = wick_keep(wick_mul(x, x)); /* pending: still needs the memory */
        wick_scope_close(&scope);
    }
    CHECK_INT(released, 0);
    CHECK_VALUES(y, 1, 4, 9, 16);
    wick_tensor_free(&y);
    CHECK_INT(released, 1);
    wick_context_free(&ctx);
    CHECK_INT(released, 1);
}

TEST(release_is_called_once_also_when_wrap_fails) {
    wick_context *ctx = context();
    _Alignas(8) char data[16] = {0};
    int released = 0;
    CHECK_POISON(wick_wrap(ctx, WICK_F32, WICK_DIMS(-2), NULL, data, count_release, &released), WICK_ERR_INVALID,
                 "wrap");
    CHECK_INT(released, 1);
    CHECK_POISON(wick_wrap(ctx, WICK_F32, WICK_DIMS(2), NULL, data + 1, count_release, &released), WICK_ERR_INVALID,
                 "aligned");
    CHECK_INT(released, 2);
    CHECK_POISON(wick_wrap(ctx, WICK_F32, WICK_DIMS(2), NULL, NULL, count_release, &released), WICK_ERR_INVALID,
                 "NULL");
    CHECK_INT(released, 3);
    wick_context_free(&ctx);
    CHECK_INT(released, 3);
}

TEST(assigning_or_writing_a_wrapped_tensor_never_writes_user_memory) {
    wick_context *ctx = context();
    float data[3] = {1, 2, 3};
    wick_tensor *x = wick_wrap(ctx, WICK_F32, WICK_DIMS(3), NULL, data, NULL, NULL);
    CHECK_OK(ctx, wick_assign(x, wick_add(x, VEC(ctx, 10, 10, 10))));
    CHECK_VALUES(x, 11, 12, 13);
    CHECK_OK(ctx, wick_assign(x, wick_mul(x, x)));
    CHECK_VALUES(x, 121, 144, 169);
    wick_tensor *z = wick_wrap(ctx, WICK_F32, WICK_DIMS(3), NULL, data, NULL, NULL);
    CHECK_OK(ctx, wick_write(z, (float[]){7, 8, 9}, 12));
    CHECK_VALUES(z, 7, 8, 9);
    wick_tensor *w = wick_wrap(ctx, WICK_F32, WICK_DIMS(3), NULL, data, NULL, NULL), *v = wick_slice(w, 0, 1, 2, 1);
    CHECK_OK(ctx, wick_assign(v, VEC(ctx, 50)));
    CHECK_VALUES(w, 1, 50, 3);
    CHECK(data[0] == 1 && data[1] == 2 && data[2] == 3);
    wick_context_free(&ctx);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

TEST(a_mapped_file_reads_as_a_tensor_and_is_never_written) {
    char path[] = "/tmp/wick-map-XXXXXX";
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    float data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    CHECK_INT(write(fd, data, sizeof data), (long long)sizeof data);
    wick_context *ctx = context();
    wick_tensor *x = wick_map_file(ctx, path, 8, WICK_F32, WICK_DIMS(2, 3));
    CHECK_VALUES(x, 2, 3, 4, 5, 6, 7);
    CHECK_OK(ctx, wick_assign(x, wick_neg(x)));
    CHECK_VALUES(x, -2, -3, -4, -5, -6, -7);
    float back[8];
    CHECK_INT(pread(fd, back, sizeof back, 0), (long long)sizeof back);
    CHECK(!memcmp(back, data, sizeof data));
    CHECK_POISON(wick_map_file(ctx, path, 12, WICK_F32, WICK_DIMS(2, 3)), WICK_ERR_FORMAT, "has 32 bytes");
    CHECK_POISON(wick_map_file(ctx, path, SIZE_MAX, WICK_F32, WICK_DIMS(1)), WICK_ERR_FORMAT, "do not fit");
    CHECK_POISON(wick_map_file(ctx, path, 2, WICK_F32, WICK_DIMS(1)), WICK_ERR_INVALID, "multiple");
    CHECK_POISON(wick_map_file(ctx, "/nonexistent/x.bin", 0, WICK_F32, WICK_DIMS(1)), WICK_ERR_IO,
                 "/nonexistent/x.bin");
    wick_context_free(&ctx);
    close(fd);
    unlink(path);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
