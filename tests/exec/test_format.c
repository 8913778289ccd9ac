/* Tensors as text: the same as NumPy's str(), and the contract of snprintf. */
#include <inttypes.h>

#include "tensor/tensors.h"
#include "wick/ops.h"

#define GOLDEN WICK_SOURCE_DIR "/tests/golden/format.txt"

/* ---- goldens ----------------------------------------------------------------------------------------------------- */

/* One case of format.txt; tests/golden/make_format.py describes the file. */
typedef struct sample {
    char dtype[16], view[16], text[8192];
    int rank;
    int64_t dims[WICK_MAX_DIMS], count;
    void *data; /* row-major, count elements */
} sample;

/* Reads the elements that the file lists, and repeats them up to count. */
static bool read_data(FILE *f, sample *s, size_t size) {
    long long listed = 0;
    if (fscanf(f, "%lld", &listed) != 1 || listed < 0 || (!listed && s->count)) return false;
    s->data = calloc((size_t)(s->count > listed ? s->count : listed) + 1, size);
    for (int64_t i = 0; i < listed; i++) {
        uint64_t bits;
        if (fscanf(f, "%" SCNx64, &bits) != 1) return false;
        memcpy((char *)s->data + i * (int64_t)size, &bits, size); /* little-endian, as everywhere in Wick */
    }
    for (int64_t i = listed; i < s->count; i++)
        memcpy((char *)s->data + i * (int64_t)size, (char *)s->data + (i - listed) * (int64_t)size, size);
    return true;
}

/* False at the end of the file, or with a failed check where it is malformed. The caller frees data. */
static bool next_sample(FILE *f, sample *s) {
    int c;
    while ((c = fgetc(f)) == '#' || c == '\n')
        while (c != '\n' && c != EOF) c = fgetc(f);
    if (c == EOF) return false;
    ungetc(c, f);
    *s = (sample){.count = 1};
    bool ok = fscanf(f, "%15s %15s %d", s->dtype, s->view, &s->rank) == 3 && s->rank >= 0 && s->rank <= WICK_MAX_DIMS;
    for (int i = 0; ok && i < s->rank; i++) {
        ok = fscanf(f, "%" SCNd64, &s->dims[i]) == 1;
        s->count *= s->dims[i];
    }
    ok = ok && wick_dtype_from_name(s->dtype) != WICK_DTYPE_COUNT &&
         read_data(f, s, wick_dtype_size(wick_dtype_from_name(s->dtype)));
    ok = ok && fgetc(f) == '\n';
    size_t n = 0;
    while (ok && (c = fgetc(f)) == '|') {
        if (n) s->text[n++] = '\n';
        while ((c = fgetc(f)) != '\n' && c != EOF && n + 2 < sizeof s->text) s->text[n++] = (char)c;
        ok = c == '\n';
    }
    if (ok && c != EOF) ungetc(c, f);
    CHECK_MSG(ok && n, "malformed: %s %s", s->dtype, s->view);
    return ok && n;
}

/* The tensor that a case prints. */
static wick_tensor *tensor_of(wick_context *ctx, const sample *s) {
    wick_tensor *x = wick_from(ctx, wick_dtype_from_name(s->dtype), s->rank, s->dims, s->data);
    if (!strcmp(s->view, "transposed")) {
        int axes[WICK_MAX_DIMS];
        for (int i = 0; i < s->rank; i++) axes[i] = s->rank - 1 - i;
        return wick_permute(x, s->rank, axes);
    }
    if (!strcmp(s->view, "reversed")) return wick_slice(x, -1, -1, INT64_MIN, -2);
    if (!strcmp(s->view, "expanded")) {
        int64_t dims[WICK_MAX_DIMS + 1] = {3};
        memcpy(dims + 1, s->dims, sizeof s->dims);
        return wick_expand(x, s->rank + 1, dims);
    }
    CHECK_MSG(!strcmp(s->view, "plain"), "%s", s->view);
    return x;
}

TEST(text_is_what_numpy_writes) {
    wick_context *ctx = context();
    FILE *f = fopen(GOLDEN, "r");
    REQUIRE(f);
    static sample s;
    static char text[sizeof s.text];
    int cases = 0;
    bool seen[WICK_DTYPE_COUNT] = {false};
    for (bool more = true; more;) {
        more = next_sample(f, &s);
        if (more) {
            wick_scope *scope = wick_scope_open(ctx);
            size_t n = wick_format(tensor_of(ctx, &s), text, sizeof text);
            CHECK_MSG(!strcmp(text, s.text) && n == strlen(s.text),
                      "case %d, %s %s rank %d: %zu characters\n%s\nNumPy:\n%s", cases, s.dtype, s.view, s.rank, n, text,
                      s.text);
            wick_scope_close(&scope);
            seen[wick_dtype_from_name(s.dtype)] = true;
            cases++;
        }
        free(s.data);
        s.data = NULL;
    }
    fclose(f);
    CHECK(cases > 400);
    for (int i = 0; i <= WICK_BOOL; i++) CHECK_MSG(seen[i], "%s", wick_dtype_name((wick_dtype)i));
    wick_context_free(&ctx);
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

#define CHECK_TEXT(x, want)                                                                                            \
    do {                                                                                                               \
        char text_[256];                                                                                               \
        size_t n_ = wick_format((x), text_, sizeof text_);                                                             \
        CHECK_MSG(!strcmp(text_, (want)) && n_ == strlen(want), "\"%s\"", text_);                                      \
    } while (0)

TEST(the_length_is_returned_and_no_more_than_size_is_written) {
    wick_context *ctx = context();
    wick_tensor *x = wick_reshape(VEC(ctx, 1, 2.5, 3, 4), WICK_DIMS(2, 2));
    const char *whole = "[[1.  2.5]\n [3.  4. ]]";
    size_t length = strlen(whole);
    CHECK_INT(wick_format(x, NULL, 0), length);
    for (size_t size = 0; size <= length + 2; size++) {
        char text[64];
        memset(text, '~', sizeof text);
        CHECK_INT(wick_format(x, text, size), length);
        size_t written = !size ? 0 : size - 1 < length ? size - 1 : length;
        CHECK_MSG(!memcmp(text, whole, written), "%zu", size);
        CHECK(!size || text[written] == 0);
        for (size_t i = size; i < sizeof text; i++) CHECK_MSG(text[i] == '~', "%zu of %zu", i, size);
    }
    wick_context_free(&ctx);
}

TEST(a_pending_tensor_is_evaluated) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2, 3), *y = wick_mul(x, x);
    CHECK(!wick_tensor_ready(y));
    CHECK_TEXT(y, "[1. 4. 9.]");
    CHECK(wick_tensor_ready(y));
    CHECK_OK(ctx, wick_assign(x, wick_neg(x)));
    CHECK_TEXT(x, "[-1. -2. -3.]");
    CHECK_TEXT(wick_sum(y, WICK_ALL_AXES, false), "14.0");
    wick_context_free(&ctx);
}

TEST(memory_of_any_strides_is_printed_in_order) {
    wick_context *ctx = context();
    const uint16_t data[6] = {1, 2, 3, 4, 5, 6};
    CHECK_TEXT(wick_wrap(ctx, WICK_U16, WICK_DIMS(2, 3), (int64_t[]){1, 2}, data, NULL, NULL), "[[1 3 5]\n [2 4 6]]");
    CHECK_TEXT(wick_wrap(ctx, WICK_U16, WICK_DIMS(2, 2), (int64_t[]){-3, -1}, data + 5, NULL, NULL), "[[6 5]\n [3 2]]");
    CHECK_TEXT(wick_wrap(ctx, WICK_U16, WICK_DIMS(2, 2), (int64_t[]){0, 5}, data, NULL, NULL), "[[1 6]\n [1 6]]");
    wick_context_free(&ctx);
}

TEST(an_error_prints_as_poisoned) {
    wick_context *ctx = context();
    char text[512], part[16];
    const char *error = "";
    wick_tensor *bad = wick_neg(wick_add(VEC(ctx, 1, 2), VEC(ctx, 1, 2, 3)));
    CHECK_INT(wick_tensor_error(bad, &error), WICK_ERR_SHAPE);
    size_t n = wick_format(bad, text, sizeof text);
    CHECK_INT(n, strlen("<poisoned: >") + strlen(error));
    CHECK_INT(strlen(text), n);
    CHECK(!strncmp(text, "<poisoned: ", 11) && text[n - 1] == '>');
    CHECK_STR_HAS(text, "add(f32[2], f32[3])");
    CHECK_INT(wick_format(bad, part, sizeof part), n);
    CHECK(!strncmp(part, text, 15) && !part[15]);
    CHECK_TEXT(NULL, "<poisoned: out of memory>");
    wick_tensor *beyond = wick_from(ctx, WICK_I64, WICK_DIMS(1), (int64_t[]){2});
    CHECK(wick_format(wick_gather(VEC(ctx, 1, 2), 0, beyond), text, sizeof text) > 0); /* found when it runs */
    CHECK(!strncmp(text, "<poisoned: ", 11));
    CHECK_STR_HAS(text, "gather");
    CHECK_TEXT(VEC(ctx, 1), "[1.]"); /* the context goes on */
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
