/* NumPy's files: read, written, refused. */
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "wick/wick.h"

static wick_context *ctx;
static char path[] = "/tmp/wick-npy-XXXXXX";

static bool set_up(void) {
    static bool made;
    if (!made) {
        const int fd = mkstemp(path);
        if (fd < 0) return false;
        close(fd);
        made = true;
    }
    return wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK;
}

static void put(const char *header, const void *data, size_t bytes, int version) {
    FILE *f = fopen(path, "wb");
    const size_t n = strlen(header);
    const unsigned char head[12] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0, (unsigned char)n, (unsigned char)(n >> 8), 0, 0};
    if (!f) return;
    fwrite(head, 1, version == 1 ? 10 : 12, f);
    fwrite(header, 1, n, f);
    fwrite(data, 1, bytes, f);
    fclose(f);
}

static void refused(wick_status want, const char *part) {
    const char *text = "";
    wick_tensor *t = wick_npy_read(ctx, path);
    CHECK_INT(wick_tensor_error(t, &text), want);
    CHECK_STR_HAS(text, part);
}

TEST(every_dtype_comes_back) {
    REQUIRE(set_up());
    static const wick_dtype dtypes[] = {WICK_F16, WICK_F32, WICK_F64, WICK_I8,  WICK_I16, WICK_I32,
                                        WICK_I64, WICK_U8,  WICK_U16, WICK_U32, WICK_U64, WICK_BOOL};
    static const int64_t dims[] = {2, 3, 1, 2};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        for (int rank = 0; rank <= 4; rank++) {
            int64_t n = 1;
            for (int k = 0; k < rank; k++) n *= dims[k];
            wick_tensor *x = wick_cast(wick_reshape(wick_arange(ctx, WICK_F64, 0, 1, n), rank, dims), dtypes[i]), *y;
            CHECK(wick_npy_write(ctx, path, x) == WICK_OK);
            y = wick_npy_read(ctx, path);
            CHECK(wick_tensor_dtype(y) == dtypes[i] && wick_tensor_rank(y) == rank);
            char a[256], b[256];
            const size_t bytes = (size_t)n * wick_dtype_size(dtypes[i]);
            CHECK(wick_read(x, a, bytes) == WICK_OK && wick_read(y, b, bytes) == WICK_OK && !memcmp(a, b, bytes));
        }
    wick_tensor *none = wick_zeros(ctx, WICK_F32, WICK_DIMS(0, 3));
    CHECK(wick_npy_write(ctx, path, none) == WICK_OK && wick_tensor_dim(wick_npy_read(ctx, path), 1) == 3);
    CHECK(wick_npy_write(ctx, path, wick_zeros(ctx, WICK_BF16, WICK_DIMS(1))) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "bf16");
    wick_context_free(&ctx);
}

TEST(columns_first_and_the_other_byte_order) {
    REQUIRE(set_up());
    const float columns[] = {1, 4, 2, 5, 3, 6};
    float got[6];
    put("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", columns, sizeof columns, 1);
    CHECK(wick_read(wick_npy_read(ctx, path), got, sizeof got) == WICK_OK);
    for (int i = 0; i < 6; i++) CHECK(got[i] == (float)(i + 1));
    const unsigned char big[] = {0x3f, 0x80, 0, 0, 0x40, 0, 0, 0};
    put("{'descr':'>f4','fortran_order':False,'shape':(2L,)}", big, sizeof big, 2);
    CHECK(wick_read(wick_npy_read(ctx, path), got, 8) == WICK_OK && got[0] == 1 && got[1] == 2);
    wick_context_free(&ctx);
}

TEST(bad_files_are_refused) {
    REQUIRE(set_up());
    const float two[] = {1, 2};
    static const struct {
        const char *header, *part;
        int version;
        wick_status want;
    } rows[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "shape and dtype make 12", 1, WICK_ERR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 4), }", "cannot be counted", 1,
         WICK_ERR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 4, 0), }", "cannot be counted", 1,
         WICK_ERR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "whole numbers", 1,
         WICK_ERR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "whole numbers", 1, WICK_ERR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2), }", "more than 8 dims", 1,
         WICK_ERR_FORMAT},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", "pickle", 1, WICK_ERR_FORMAT},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", "records", 1, WICK_ERR_FORMAT},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "twice", 1, WICK_ERR_FORMAT},
        {"{'descr': '<f4', 'shape': (2,), }", "lacks", 1, WICK_ERR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } x", "follows", 1, WICK_ERR_FORMAT},
        {"{'descr': '<f4", "byte", 1, WICK_ERR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "version", 9, WICK_ERR_VERSION},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        put(rows[i].header, two, sizeof two, rows[i].version);
        refused(rows[i].want, rows[i].part);
    }
    put("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "\1\7", 2, 1),
        refused(WICK_ERR_FORMAT, "neither 0 nor 1");
    FILE *f = fopen(path, "wb");
    REQUIRE(f);
    fclose(f);
    refused(WICK_ERR_FORMAT, "not a .npy file");
    CHECK(wick_tensor_error(wick_npy_read(ctx, "/nonexistent/x.npy"), NULL) == WICK_ERR_IO);
    wick_context_free(&ctx);
}

TEST(cut_and_changed_files_are_read_or_refused) {
    REQUIRE(set_up());
    unsigned char bytes[256];
    REQUIRE(wick_npy_write(ctx, path, wick_ones(ctx, WICK_I16, WICK_DIMS(3, 2))) == WICK_OK);
    FILE *f = fopen(path, "rb");
    REQUIRE(f);
    const size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    for (size_t i = 0; i < 2 * n; i++) {
        f = fopen(path, "wb");
        REQUIRE(f);
        if (i >= n) bytes[i - n] ^= 0x15;
        fwrite(bytes, 1, i < n ? i : n, f);
        if (i >= n) bytes[i - n] ^= 0x15;
        fclose(f);
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *t = wick_npy_read(ctx, path);
        if (wick_tensor_error(t, NULL) == WICK_OK) (void)!wick_eval(ctx, 1, &t, NULL);
        wick_scope_close(&scope);
    }
    wick_context_free(&ctx);
}

int main(int argc, char **argv) {
    const int failed = test_main(argc, argv);
    unlink(path);
    return failed;
}
