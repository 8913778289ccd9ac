/* Dtypes for storage: their codes and rounding against ml_dtypes, PyTorch and ONNX (golden/storage.safetensors, made by
 * golden/make_storage.py) on every tier, casts between all dtypes, everything that moves elements, and that nothing
 * else takes them. */
#define GOLDEN_FILE  "storage.safetensors"
#define GOLDEN_FLOOR 1
#include "kernels/convert/convert.h"
#include "ops/goldens.h"
#include "wick/attention.h"
#include "wick/control.h"
#include "wick/distance.h"
#include "wick/image.h"
#include "wick/index.h"
#include "wick/linalg.h"
#include "wick/loss.h"
#include "wick/plan.h"
#include "wick/pointwise.h"
#include "wick/reduce.h"
#include "wick/sequence.h"
#include "wick/shape.h"
#include "wick/signal.h"
#include "wick/sort.h"

static const struct {
    wick_dtype dtype;
    const char *golden;
} f8[] = {{WICK_F8_E4M3FN, "float8_e4m3fn"},
          {WICK_F8_E4M3FNUZ, "float8_e4m3fnuz"},
          {WICK_F8_E5M2, "float8_e5m2"},
          {WICK_F8_E5M2FNUZ, "float8_e5m2fnuz"}};
#define FORMATS WICK_COUNTOF(f8)

static uint8_t all_codes[256];
static void set_codes(void) {
    for (int i = 0; i < 256; i++) all_codes[i] = (uint8_t)i;
}
static bool same_float(float a, float b) { return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0; }

TEST(every_code_of_f8_loads_exactly_and_stores_back) {
    set_codes();
    REQUIRE(open_goldens());
    for (size_t k = 0; k < FORMATS; k++)
        for (int run = 0; run < 2 * ((int)wick_tier_best() + 1); run++) { /* with denormals flushed and without */
            array *up = find(f8[k].golden, "up");
            REQUIRE(up && up->bytes == 256 * sizeof(float));
            const wick_convert_table *t = wick_convert_kernels((wick_tier)(run / 2));
            float got[256];
            uint8_t back[256];
            uint64_t word = run % 2 ? wick_fp_enter() : 0;
            t->load[f8[k].dtype](got, all_codes, 256);
            t->store[f8[k].dtype](back, got, 256);
            if (run % 2) wick_fp_restore(word);
            for (int i = 0; i < 256; i++) {
                CHECK_MSG(same_float(got[i], ((const float *)up->data)[i]), "%s %02x is %g on tier %d", f8[k].golden, i,
                          (double)got[i], run / 2);
                /* NaN's payload too */
                CHECK_MSG(back[i] == i, "%s %02x comes back as %02x on tier %d", f8[k].golden, i, back[i], run / 2);
            }
        }
}

static bool same_code(size_t k, uint8_t a, uint8_t b) {
    float x, y;
    wick_convert_kernels(WICK_TIER_REF)->load[f8[k].dtype](&x, &a, 1);
    wick_convert_kernels(WICK_TIER_REF)->load[f8[k].dtype](&y, &b, 1);
    return a == b || (isnan(x) && isnan(y));
}

TEST(f32_rounds_to_f8_to_nearest_even_and_saturates_where_asked) {
    const wick_tier before = wick_tier_current();
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        REQUIRE(wick_tier_force((wick_tier)tier));
        wick_context *ctx = golden_context();
        REQUIRE(ctx != NULL);
        array *in = find("values", "in");
        REQUIRE(in && in->rank == 1);
        for (size_t k = 0; k < FORMATS; k++)
            for (int saturate = 0; saturate < 2; saturate++) {
                array *out = find(f8[k].golden, saturate ? "saturated" : "out");
                wick_tensor *x = wick_from(ctx, WICK_F32, 1, in->dims, in->data),
                            *y = (saturate ? wick_cast_saturate : wick_cast)(x, f8[k].dtype);
                const void *data = NULL;
                REQUIRE(out && wick_data(y, &data) == WICK_OK && wick_tensor_dtype(y) == f8[k].dtype);
                for (int64_t i = 0; i < in->dims[0]; i++) {
                    const uint8_t got = ((const uint8_t *)data)[i], want = ((const uint8_t *)out->data)[i];
                    CHECK_MSG(same_code(k, got, want), "%s of %.9g is %02x, not %02x", f8[k].golden,
                              (double)((const float *)in->data)[i], got, want);
                }
            }
        wick_context_free(&ctx);
    }
    wick_tier_force(before);
}

/* Every upper half of an f32, with lower halves on both sides of what rounding looks at, against the nearest of the
 * golden's 256 numbers. */
TEST(every_f32_rounds_to_the_nearest_code) {
    static const uint32_t low[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    enum { N = WICK_COUNTOF(low) << 15 };
    float *x = malloc(N * sizeof *x);
    uint8_t *first = malloc(N), *got = malloc(N);
    REQUIRE(x && first && got && open_goldens());
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t u = (i >> 15 == 0 ? low[0] : low[i >> 15]) | (i & 0x7fff) << 16;
        memcpy(&x[i], &u, 4);
    }
    for (size_t k = 0; k < FORMATS; k++) {
        for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
            wick_convert_kernels((wick_tier)tier)->store[f8[k].dtype](tier ? got : first, x, N);
            CHECK_MSG(!tier || !memcmp(got, first, N), "%s differs on tier %d", f8[k].golden, tier);
        }
        const float *up = find(f8[k].golden, "up")->data;
        int last = 0x7f; /* the largest finite code; positive ones grow with the value */
        while (!isfinite(up[last])) last--;
        /* from its middle on, values overflow: up[last] is odd or even */
        const double beyond = 2 * (double)up[last] - (double)up[last - 1];
        for (int i = 0; i < N; i++) {
            uint8_t want = 0xff;
            if (!isnan(x[i])) {
                int low_code = 0, high = last + 1;
                while (high - low_code > 1) {
                    const int mid = (low_code + high) / 2;
                    if ((double)up[mid] <= (double)x[i]) low_code = mid;
                    else high = mid;
                }
                const double above = low_code == last ? beyond : (double)up[low_code + 1],
                             lower = (double)x[i] - (double)up[low_code], upper = above - (double)x[i];
                want = (uint8_t)(low_code + (upper < lower || (upper == lower && low_code & 1)));
            }
            if (want > last)
                want = f8[k].dtype == WICK_F8_E5M2     ? (isnan(x[i]) ? 0x7e : 0x7c)
                       : f8[k].dtype == WICK_F8_E4M3FN ? 0x7f
                                                       : 0x80;
            CHECK_MSG(same_code(k, first[i], want), "%s of %.9g is %02x, not %02x", f8[k].golden, (double)x[i],
                      first[i], want);
        }
    }
    free(x), free(first), free(got);
}

static bool same_bytes(wick_tensor *a, wick_tensor *b, size_t size) {
    uint8_t x[4096], y[4096];
    return size <= sizeof x && wick_read(a, x, size) == WICK_OK && wick_read(b, y, size) == WICK_OK &&
           !memcmp(x, y, size);
}

TEST(casts_to_and_from_every_dtype_go_through_f32) {
    set_codes();
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    for (size_t k = 0; k < FORMATS; k++)
        for (int d = 0; d < WICK_DTYPE_COUNT; d++) {
            const wick_dtype to = (wick_dtype)d;
            wick_scope *scope = wick_scope_open(ctx);
            /* no NaN to bytes */
            wick_tensor *x = wick_from(ctx, f8[k].dtype, WICK_DIMS(16, 16), all_codes),
                        *half = wick_slice(x, 0, 0, 7, 1);
            wick_tensor *down = wick_cast(half, to), *through = wick_cast(wick_cast(half, WICK_F32), to);
            CHECK_MSG(wick_tensor_dtype(down) == to && same_bytes(down, through, wick_dtype_bytes(to, 7 * 16)),
                      "%s to %s: %s", f8[k].golden, wick_dtype_name(to), wick_context_error(ctx));
            /* saturated in small ones */
            wick_tensor *numbers = wick_cast(wick_arange(ctx, WICK_F32, to == WICK_BOOL ? 0 : 1, 1, 100), to);
            wick_tensor *up = wick_cast(numbers, f8[k].dtype);
            CHECK_MSG(same_bytes(up, wick_cast(wick_cast(numbers, WICK_F32), f8[k].dtype), 100), "%s to %s",
                      wick_dtype_name(to), f8[k].golden);
            wick_scope_close(&scope);
        }
    wick_context_free(&ctx);
}

TEST(saturating_casts_keep_to_the_range_of_any_dtype) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    static const struct {
        wick_dtype from, to;
        double in, out;
    } cases[] = {
        {WICK_F32, WICK_F16, 1e30, 65504},
        {WICK_F32, WICK_F16, -INFINITY, -65504},
        {WICK_F32, WICK_F16, NAN, NAN},
        {WICK_F16, WICK_BF16, INFINITY, 0x1.fep127},
        {WICK_F16, WICK_F8_E5M2, 60000, 57344},
        {WICK_F64, WICK_F32, 1e300, 0x1.fffffep127},
        {WICK_F32, WICK_F64, INFINITY, 0x1.fffffffffffffp1023},
        {WICK_F64, WICK_F8_E4M3FN, -1e300, -448},
        {WICK_F8_E5M2, WICK_F8_E4M3FN, 57344, 448},
        {WICK_F8_E5M2, WICK_F8_E4M3FNUZ, -INFINITY, -240},
        {WICK_F8_E4M3FN, WICK_F8_E5M2, 448, 448},
        {WICK_F32, WICK_I8, 300, 127},
        {WICK_F32, WICK_U8, -5, 0},
        {WICK_F32, WICK_I32, NAN, 0},
        {WICK_I32, WICK_I8, 300, 127},
        {WICK_I32, WICK_I8, -300, -128},
        {WICK_I32, WICK_U8, -1, 0},
        {WICK_I64, WICK_I32, 1e12, INT32_MAX},
        {WICK_U8, WICK_I8, 200, 127},
        {WICK_U64, WICK_I64, 0x1p63, 0x1p63},
        {WICK_I64, WICK_U64, -1, 0},
        {WICK_U32, WICK_I32, 4e9, INT32_MAX},
        {WICK_I8, WICK_U64, -1, 0},
        {WICK_I8, WICK_F8_E4M3FN, -128, -128},
        {WICK_U8, WICK_F8_E4M3FNUZ, 255, 240},
        {WICK_I64, WICK_F8_E5M2, -1e6, -57344},
        {WICK_U64, WICK_F16, 1e6, 65504},
        {WICK_BOOL, WICK_F8_E4M3FN, 1, 1},
        {WICK_F8_E4M3FN, WICK_U8, -3, 0},
        {WICK_F8_E5M2, WICK_I8, 1024, 127},
        {WICK_F32, WICK_BOOL, 5, 1},
        {WICK_U16, WICK_F16, 65535, 65504},
    };
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        double got = 0;
        wick_tensor *y = wick_cast_saturate(wick_full(ctx, cases[i].from, WICK_SCALAR, cases[i].in), cases[i].to);
        CHECK_MSG(wick_item(y, &got) == WICK_OK && wick_tensor_dtype(y) == cases[i].to &&
                      (got == cases[i].out || (isnan(got) && isnan(cases[i].out))),
                  "%s to %s: %g became %g", wick_dtype_name(cases[i].from), wick_dtype_name(cases[i].to), cases[i].in,
                  got);
    }
    uint64_t most = UINT64_MAX;
    int64_t got = 0;
    CHECK(wick_read(wick_cast_saturate(wick_from(ctx, WICK_U64, WICK_SCALAR, &most), WICK_I64), &got, sizeof got) ==
              WICK_OK &&
          got == INT64_MAX);
    CHECK(wick_tensor_error(wick_cast_saturate(wick_ones(ctx, WICK_F32, WICK_SCALAR), (wick_dtype)99), NULL) ==
          WICK_ERR_INVALID);
    wick_context_free(&ctx);
}

/* ---- formats of blocks ------------------------------------------------------------------------------------------- */

static const float e2m1[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

TEST(formats_of_blocks_load_exactly_and_round_to_the_nearest_on_every_tier) {
    for (int run = 0; run < 2 * ((int)wick_tier_best() + 1); run++) { /* with denormals flushed and without */
        const wick_convert_table *t = wick_convert_kernels((wick_tier)(run / 2));
        uint8_t bytes[128], back[256];
        float got[256];
        const uint64_t word = run % 2 ? wick_fp_enter() : 0;
        set_codes();
        t->load[WICK_F8_E8M0](got, all_codes, 256);
        t->store[WICK_F8_E8M0](back, got, 256);
        if (run % 2) wick_fp_restore(word);
        for (int i = 0; i < 256; i++) {
            const float power = ldexpf(1, i - 127);
            CHECK_MSG(i == 255 ? isnan(got[i]) : !memcmp(&got[i], &power, 4), "e8m0 %d is %g", i, (double)got[i]);
            CHECK_INT(back[i], i);
        }
        for (int n = 0; n <= 255; n++) {
            for (int i = 0; i < 128; i++) bytes[i] = (uint8_t)(i * 37 + n);
            memset(back, 0x77, sizeof back);
            t->load[WICK_F4_E2M1](got, bytes, (size_t)n);
            t->store[WICK_F4_E2M1](back, got, (size_t)n);
            wick_elements_end(WICK_F4_E2M1, bytes, n);
            for (int i = 0; i < n; i++) CHECK(!memcmp(&got[i], &e2m1[bytes[i / 2] >> (i % 2 * 4) & 15], 4));
            CHECK(!memcmp(back, bytes, (size_t)(n + 1) / 2) && back[(n + 1) / 2] == 0x77);
        }
        /* ml_dtypes' codes */
        static const float hard[] = {0.25f, 0.2500001f, 0.75f,    1.25f,     1.75f,  2.5f,   3.5f, 5,     5.000001f,
                                     7,     1e30f,      INFINITY, -INFINITY, -0.25f, -0.26f, NAN,  1e-40f};
        static const uint8_t codes[] = {0, 1, 2, 2, 4, 4, 6, 6, 7, 7, 7, 7, 15, 8, 9, 8, 0};
        t->store[WICK_F4_E2M1](back, hard, WICK_COUNTOF(hard));
        for (size_t i = 0; i < WICK_COUNTOF(hard); i++)
            CHECK_MSG((back[i / 2] >> (i % 2 * 4) & 15) == codes[i], "e2m1 of %g", (double)hard[i]);
        static const float sizes[] = {0,  -0.0f,    1e-45f,    1e-40f, 0x1p-127f, 0x1.8p-127f, 0x1.6p-126f,
                                      1,  1.25f,    1.49f,     1.5f,   2,         3,           6,
                                      -1, INFINITY, -INFINITY, NAN,    3e38f,     0x1.7fp127f};
        static const uint8_t powers[] = {255, 255, 0,   0,   0,   1,   1,   127, 127, 127,
                                         128, 128, 129, 130, 255, 255, 255, 255, 255, 254};
        t->store[WICK_F8_E8M0](back, sizes, WICK_COUNTOF(sizes));
        for (size_t i = 0; i < WICK_COUNTOF(sizes); i++)
            CHECK_MSG(back[i] == powers[i], "e8m0 of %g is %d", (double)sizes[i], back[i]);
    }
}

TEST(formats_of_blocks_are_cast_saturated_and_moved) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    static const float x[] = {-100, -2.4f, 0.3f, 100, 0};
    float y[5];
    wick_tensor *t = wick_from(ctx, WICK_F32, WICK_DIMS(5), x);
    CHECK(wick_read(wick_cast(wick_cast_saturate(t, WICK_F4_E2M1), WICK_F32), y, sizeof y) == WICK_OK && y[0] == -6 &&
          y[1] == -2 && y[2] == 0.5f && y[3] == 6 && y[4] == 0);
    CHECK(wick_read(wick_cast(wick_cast_saturate(t, WICK_F8_E8M0), WICK_F32), y, sizeof y) == WICK_OK &&
          y[0] == 0x1p-127f && y[2] == 0.25f && y[3] == 128 && y[4] == 0x1p-127f);
    CHECK(wick_read(wick_cast(wick_flip(wick_cast(t, WICK_F8_E8M0), WICK_ALL_AXES), WICK_F32), y, sizeof y) ==
              WICK_OK &&
          y[1] == 128 && isnan(y[0]));
    CHECK(wick_read(
              wick_cast(wick_reshape(wick_cast(wick_slice(t, 0, 0, 4, 1), WICK_F4_E2M1), WICK_DIMS(2, 2)), WICK_F32), y,
              16) == WICK_OK &&
          y[3] == 6);
    wick_context_free(&ctx);
}

/* ---- packed integers --------------------------------------------------------------------------------------------- */

static const struct {
    wick_dtype dtype;
    const char *golden;
    int least, most;
} packed[] = {{WICK_I4, "int4", -8, 7}, {WICK_U4, "uint4", 0, 15}, {WICK_I2, "int2", -2, 1}, {WICK_U2, "uint2", 0, 3}};
#define PACKED WICK_COUNTOF(packed)

TEST(packed_integers_are_cast_and_packed_as_onnx_does) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    for (size_t k = 0; k < PACKED; k++)
        for (int wide = 0; wide < 2; wide++) {
            array *in = find(packed[k].golden, wide ? "wide" : "in"),
                  *out = find(packed[k].golden, wide ? "wrapped" : "out");
            REQUIRE(in && out && in->rank == 1);
            wick_tensor *x = wick_from(ctx, in->dtype, 1, in->dims, in->data), *y = wick_cast(x, packed[k].dtype);
            uint8_t bytes[256];
            int32_t numbers[256];
            CHECK(out->bytes == wick_dtype_bytes(packed[k].dtype, in->dims[0]) && out->bytes <= sizeof bytes);
            CHECK_MSG(wick_read(y, bytes, out->bytes) == WICK_OK && !memcmp(bytes, out->data, out->bytes), "%s %d: %s",
                      packed[k].golden, wide, wick_context_error(ctx));
            /* What lies in a file is read as it is. */
            wick_tensor *again = wick_cast(wick_from(ctx, packed[k].dtype, 1, in->dims, out->data), WICK_I32);
            REQUIRE(wick_read(again, numbers, (size_t)in->dims[0] * 4) == WICK_OK);
            for (int64_t i = 0; i < in->dims[0]; i++) {
                const double v = element(in->dtype, in->data, i);
                const int range = packed[k].most - packed[k].least + 1,
                          want = wide ? (((int)v - packed[k].least) % range + range) % range + packed[k].least : (int)v;
                CHECK_MSG(numbers[i] == want, "%s %g: %d", packed[k].golden, v, numbers[i]);
            }
        }
    wick_context_free(&ctx);
}

TEST(packed_integers_saturate_floats_and_wrap_integers_unless_asked) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    static const float odd[] = {1e30f, -1e30f, INFINITY, -INFINITY, NAN, 0.99f, -0.99f};
    for (size_t k = 0; k < PACKED; k++) {
        const double least = packed[k].least, most = packed[k].most, want[] = {most, least, most, least, 0, 0, 0};
        for (int f = 0; f < 5; f++) {
            static const wick_dtype floats[] = {WICK_F32, WICK_F64, WICK_F16, WICK_BF16, WICK_F8_E5M2};
            double got[7];
            wick_tensor *x = wick_cast(wick_from(ctx, WICK_F32, WICK_DIMS(7), odd), floats[f]);
            CHECK(wick_read(wick_cast(wick_cast(x, packed[k].dtype), WICK_F64), got, sizeof got) == WICK_OK);
            for (int i = 0; i < 7; i++)
                CHECK_MSG(got[i] == want[i] || (f == 4 && i > 4), "%s of %g in %s: %g", packed[k].golden,
                          (double)odd[i], wick_dtype_name(floats[f]), got[i]);
        }
        const int32_t far[] = {100, -100};
        double got[2];
        CHECK(wick_read(
                  wick_cast(wick_cast_saturate(wick_from(ctx, WICK_I32, WICK_DIMS(2), far), packed[k].dtype), WICK_F64),
                  got, sizeof got) == WICK_OK &&
              got[0] == most && got[1] == least);
        CHECK(wick_item(wick_cast_saturate(wick_full(ctx, packed[k].dtype, WICK_SCALAR, 1e9), WICK_I2), got) ==
                  WICK_OK &&
              got[0] == 1);
        CHECK(wick_item(wick_full(ctx, packed[k].dtype, WICK_SCALAR, -1e9), got) == WICK_OK && got[0] == least);
    }
    wick_context_free(&ctx);
}

static wick_status unpack(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_mul(wick_cast(in[0], WICK_F32), in[1]);
    out[1] = wick_cast(out[0], WICK_I4);
    return WICK_OK;
}
/* a loop that captures */
static wick_status add_weight(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = wick_add(in[0], wick_cast(user, WICK_F32));
    return WICK_OK;
}

/* Odd counts on every way in and out, eager and planned, alone and between ops that fuse. */
TEST(packed_tensors_are_made_reshaped_assigned_and_planned) {
    for (int eager = 0; eager < 2; eager++)
        for (int n = 0; n < 12; n++) {
            wick_context *ctx = NULL;
            REQUIRE(wick_context_new(&(wick_context_options){.threads = 2, .eager = eager}, &ctx) == WICK_OK);
            const int64_t dims[2] = {n, 3}, flat = 3 * n;
            static float numbers[36], got[36];
            for (int64_t i = 0; i < flat; i++) numbers[i] = (float)(i % 16 - 8);
            const size_t size = wick_dtype_bytes(WICK_I4, flat);
            uint8_t packed_numbers[18] = {0};
            for (int64_t i = 0; i < flat; i++)
                wick_element_put(WICK_I4, packed_numbers, i, (uint64_t)(int64_t)numbers[i]);
            uint8_t out[18];
            wick_tensor *x = wick_from(ctx, WICK_F32, 2, dims, numbers), *w = wick_cast(wick_neg(wick_neg(x)), WICK_I4);
            wick_tensor *r = wick_stop_gradient(wick_reshape(w, 1, &flat));
            CHECK(wick_read(r, out, size) == WICK_OK && !memcmp(out, packed_numbers, size));
            CHECK(wick_read(wick_mul(wick_cast(wick_reshape(r, 2, dims), WICK_F32), wick_constant(ctx, WICK_F32, 2)),
                            got, (size_t)flat * 4) == WICK_OK);
            for (int64_t i = 0; i < flat; i++) CHECK(got[i] == 2 * numbers[i]);
            const void *data = NULL;
            CHECK(wick_data(w, &data) == WICK_OK && !memcmp(data, packed_numbers, size));
            wick_tensor *t = wick_cast(wick_transpose(x, 0, 1), WICK_I4); /* packed in the order of its own rows */
            CHECK(wick_read(t, out, size) == WICK_OK);
            for (int64_t i = 0; i < flat; i++)
                CHECK((int)(wick_element_get(WICK_I4, out, i) ^ 8) - 8 == (int)numbers[i % n * 3 + i / n]);

            wick_tensor *state = wick_zeros(ctx, WICK_I4, 2, dims);
            CHECK(wick_assign(state, w) == WICK_OK && wick_read(state, out, size) == WICK_OK &&
                  !memcmp(out, packed_numbers, size));
            CHECK(wick_assign(wick_reshape(state, 1, &flat),
                              wick_cast(wick_full(ctx, WICK_F32, 1, &flat, -3), WICK_I4)) == WICK_OK);
            CHECK(wick_read(state, out, size) == WICK_OK &&
                  (!n || (out[0] == 0xdd && out[size - 1] == (flat % 2 ? 0x0d : 0xdd))));
            memset(out, 0xff, sizeof out);
            CHECK(wick_write(state, out, size) == WICK_OK && wick_data(state, &data) == WICK_OK &&
                  (!n || ((const uint8_t *)data)[size - 1] == (flat % 2 ? 0x0f : 0xff)));
            CHECK(wick_read(state, out, size + 1) == WICK_ERR_INVALID &&
                  wick_write(state, out, size + 1) == WICK_ERR_INVALID);

            wick_tensor *sum = wick_zeros(ctx, WICK_F32, 2, dims), *summed = NULL;
            wick_scan_loop(ctx, add_weight, w, &(wick_scan_options){.n_state = 1, .state = &sum, .rounds = 3}, &summed);
            CHECK_MSG(wick_read(summed, got, (size_t)flat * 4) == WICK_OK, "%s", wick_context_error(ctx));
            for (int64_t i = 0; i < flat; i++) CHECK(got[i] == 3 * numbers[i]);
            wick_context_free(&ctx);
        }
}

TEST(compiled_functions_take_and_give_packed_tensors) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    const wick_spec specs[2] = {{.dtype = WICK_I4, .rank = 1, .dims = {7}}, {.dtype = WICK_F32, .rank = 0}};
    wick_plan *plan = NULL;
    wick_workspace *space = NULL;
    REQUIRE(wick_compile(ctx, unpack, NULL, 2, specs, 2, NULL, &plan) == WICK_OK &&
            wick_workspace_new(plan, &space) == WICK_OK);
    const uint8_t codes[4] = {0x21, 0x43, 0xcb, 0xfe}; /* 1 2 3 4 -5 -4 -2, and what is not there */
    const float half = 0.5f;
    float wide[7];
    uint8_t narrow[5] = {0, 0, 0, 0, 0x77};
    CHECK_MSG(wick_run(space, (const void *const[]){codes, &half}, (void *const[]){wide, narrow}) == WICK_OK, "%s",
              wick_workspace_error(space));
    CHECK(wide[0] == 0.5f && wide[3] == 2 && wide[4] == -2.5f && wide[6] == -1);
    CHECK(narrow[0] == 0x10 && narrow[1] == 0x21 && narrow[2] == 0xee && narrow[3] == 0x0f && narrow[4] == 0x77);
    wick_workspace_free(&space);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

/* states f8 and f32, rows of f8 */
static wick_status rows(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = in[2];
    out[1] = wick_add(in[1], wick_cast(in[0], WICK_F32));
    out[2] = wick_flip(in[2], WICK_ALL_AXES);
    return WICK_OK;
}
static wick_status halved(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in;
    out[0] = wick_cast(wick_mul(wick_cast(user, WICK_F32), wick_like(wick_cast(user, WICK_F32), 0.5)), WICK_U4);
    return WICK_OK;
}
static wick_status unchanged(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in;
    out[0] = user;
    return WICK_OK;
}

TEST(loops_and_branches_carry_them) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    /* 9 rounds to 8, 11 to 12, 13 to 12 */
    wick_tensor *x = wick_cast(wick_reshape(wick_arange(ctx, WICK_F32, 0, 1, 15), WICK_DIMS(5, 3)), WICK_F8_E5M2);
    wick_tensor *states[2] = {wick_zeros(ctx, WICK_F8_E5M2, WICK_DIMS(3)), wick_zeros(ctx, WICK_F32, WICK_DIMS(3))},
                *out[3];
    wick_scan_loop(ctx, rows, NULL, &(wick_scan_options){.n_state = 2, .n_x = 1, .n_y = 1, .state = states, .x = &x},
                   out);
    float sum[3], flipped[15];
    CHECK_MSG(wick_read(out[1], sum, sizeof sum) == WICK_OK && sum[0] == 0 + 3 + 6 + 8 && sum[2] == 2 + 5 + 8 + 12,
              "%s", wick_context_error(ctx));
    CHECK(wick_read(wick_cast(out[2], WICK_F32), flipped, sizeof flipped) == WICK_OK && flipped[0] == 2 &&
          flipped[3] == 5 && flipped[14] == 12);
    for (int side = 0; side < 2; side++) {
        wick_tensor *w = wick_arange(ctx, WICK_U4, 1, 2, 5), *y;
        uint8_t got[3];
        wick_if(ctx, wick_constant(ctx, WICK_BOOL, side), halved, unchanged, w, 1, &y);
        CHECK_MSG(wick_read(y, got, sizeof got) == WICK_OK, "%s", wick_context_error(ctx));
        CHECK(side ? got[0] == 0x10 && got[1] == 0x32 && got[2] == 4 : got[0] == 0x31 && got[1] == 0x75 && got[2] == 9);
    }
    wick_context_free(&ctx);
}

TEST(constants_of_them_fold_and_numbers_are_slots) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(3));
    for (int d = WICK_BOOL + 1; d < WICK_DTYPE_COUNT; d++) {
        const wick_dtype dtype = (wick_dtype)d;
        wick_tensor *same[] = {wick_constant(ctx, dtype, 1), wick_scalar(ctx, dtype, 1),
                               wick_reshape(wick_constant(ctx, dtype, 1), WICK_DIMS(1, 1)),
                               wick_cast(wick_constant(ctx, WICK_F32, 1), dtype),
                               wick_cast(wick_scalar(ctx, WICK_I64, 1), dtype)};
        for (size_t i = 0; i < WICK_COUNTOF(same); i++) {
            float got[3];
            CHECK_MSG(wick_read(wick_add(x, wick_cast(same[i], WICK_F32)), got, sizeof got) == WICK_OK && got[0] == 2 &&
                          got[2] == 2,
                      "%s, %zu: %s", wick_dtype_name(dtype), i, wick_context_error(ctx));
        }
    }
    wick_context_free(&ctx);
}

TEST(packed_tensors_print_and_refuse_what_needs_addresses) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    char text[64];
    wick_tensor *x = wick_arange(ctx, WICK_I4, -8, 5, 4),
                *u = wick_reshape(wick_arange(ctx, WICK_U2, 0, 1, 4), WICK_DIMS(2, 2));
    wick_format(x, text, sizeof text);
    CHECK_MSG(!strcmp(text, "[-8 -3  2  7]"), "%s", text);
    wick_format(u, text, sizeof text);
    CHECK_MSG(!strcmp(text, "[[0 1]\n [2 3]]"), "%s", text);
    wick_tensor *row = wick_constant(ctx, WICK_I64, 0), *loop[1] = {NULL},
                *sum = wick_zeros(ctx, WICK_F32, WICK_DIMS(4));
    wick_scan_loop(ctx, add_weight, x, &(wick_scan_options){.n_state = 1, .state = &sum, .n_x = 1, .x = &u}, loop);
    const refusal cases[] = {
        {wick_slice(x, 0, 0, 2, 1), "i4 is packed, 2 to a byte: cast, to i8 or u8"},
        {wick_transpose(u, 0, 1), "u2 is packed, 4 to a byte"},
        {wick_gather(u, 0, row), "packed"},
        {wick_concat(2, (wick_tensor *[]){x, x}, 0), "packed"},
        {wick_expand(x, WICK_DIMS(2, 4)), "packed"},
        {wick_where(wick_ones(ctx, WICK_BOOL, WICK_DIMS(4)), x, x), "packed"},
        {wick_pad(x, WICK_DIMS(1), NULL, 0), "packed"},
        {wick_add(x, x), "for storage: cast to compute"},
        {wick_matmul(u, u), "for storage"},
        {wick_add(x, wick_ones(ctx, WICK_I8, WICK_DIMS(4))), "not promoted"},
        {wick_sum(x, WICK_ALL_AXES, false), "for storage"},
        {wick_wrap(ctx, WICK_I4, 1, (const int64_t[]){4}, (const int64_t[]){2}, "1234", NULL, NULL), "no strides"},
        {loop[0], "packed"},
        {wick_wrap(ctx, WICK_I4, 1, (const int64_t[]){4}, NULL, "1234", NULL, NULL), ""},
        {wick_slice(wick_cast(x, WICK_I8), 0, 0, 2, 1), ""},
    };
    check_refusals(cases, WICK_COUNTOF(cases));
    wick_context_free(&ctx);
}

/* ---- what moves elements ----------------------------------------------------------------------------------------- */

/* The same moves of f8 and of its codes as u8. */
static int moves(wick_tensor *x, wick_tensor **y) {
    wick_context *ctx = wick_tensor_context(x);
    static const int64_t index[] = {3, 0, -1, 3};
    wick_tensor *at = wick_from(ctx, WICK_I64, WICK_DIMS(4), index), *other = wick_flip(x, WICK_ALL_AXES);
    wick_tensor *mask =
        wick_gt(wick_random_uniform(ctx, WICK_F32, WICK_DIMS(16, 16)), wick_constant(ctx, WICK_F32, 0.5));
    wick_tensor *places = wick_expand(wick_reshape(at, WICK_DIMS(1, 4)), WICK_DIMS(16, 4));
    int n = 0;
    y[n++] = x;
    y[n++] = other;
    y[n++] = wick_reshape(wick_transpose(x, 0, 1), WICK_DIMS(4, 64));
    y[n++] = wick_slice(wick_slice(x, 1, -2, INT64_MIN, -3), 0, 1, INT64_MAX, 2);
    y[n++] = wick_expand(wick_slice(x, 0, 8, 9, 1), WICK_DIMS(3, 16));
    y[n++] = wick_diagonal(x, 2, 0, 1);
    y[n++] = wick_concat(3, (wick_tensor *[]){x, wick_transpose(x, 0, 1), other}, 1);
    y[n++] = wick_stack(2, (wick_tensor *[]){x, other}, 1);
    y[n++] = wick_gather(x, 1, at);
    y[n++] = wick_take_along_axis(x, 1, places);
    y[n++] = wick_put_along_axis(x, 1, places, wick_slice(other, 1, 0, 4, 1), WICK_PUT_SET);
    y[n++] = wick_where(mask, x, other);
    y[n++] = wick_where(wick_logical_not(mask), wick_transpose(x, 0, 1), wick_slice(x, 0, 0, 1, 1));
    y[n++] = wick_pad(x, WICK_DIMS(1, 2), NULL, 0);
    y[n++] = wick_tile(x, WICK_DIMS(2, 1));
    y[n++] = wick_roll(x, 1, (const int64_t[]){5}, (const int[]){1});
    y[n++] = wick_update_slice(x, wick_slice(other, 0, 0, 5, 1), 0, wick_constant(ctx, WICK_I64, 7));
    y[n++] = wick_tril(x, 1);
    y[n++] = wick_stop_gradient(x);
    return n;
}

TEST(moves_give_the_codes_as_they_are) {
    set_codes();
    for (size_t k = 0; k < FORMATS; k++)
        for (int eager = 0; eager < 2; eager++) {
            wick_context *ctx[2] = {NULL};
            wick_tensor *y[2][24];
            int n = 0;
            for (int c = 0; c < 2; c++) {
                /* the same random mask in both */
                REQUIRE(wick_context_new(&(wick_context_options){.threads = 2, .eager = eager}, &ctx[c]) == WICK_OK);
                n = moves(wick_from(ctx[c], c ? WICK_U8 : f8[k].dtype, WICK_DIMS(16, 16), all_codes), y[c]);
                CHECK_MSG(wick_eval(ctx[c], n, y[c], NULL) == WICK_OK, "%s: %s", f8[k].golden,
                          wick_context_error(ctx[c]));
            }
            for (int i = 0; i < n; i++) {
                CHECK(wick_tensor_dtype(y[0][i]) == f8[k].dtype);
                CHECK_MSG(same_bytes(y[0][i], y[1][i], (size_t)wick_tensor_count(y[1][i])), "%s: move %d", f8[k].golden,
                          i);
            }
            for (int c = 0; c < 2; c++) wick_context_free(&ctx[c]);
        }
}

TEST(text_is_that_of_the_same_values_in_f32) {
    set_codes();
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    for (size_t k = 0; k < FORMATS; k++)
        for (int part = 0; part < 4; part++) {
            static char text[2][1 << 14];
            wick_tensor *x = wick_slice(wick_from(ctx, f8[k].dtype, WICK_DIMS(16, 16), all_codes), 0, 4 * part,
                                        4 * part + 4, part % 2 ? 2 : 1);
            wick_format(x, text[0], sizeof text[0]);
            wick_format(wick_cast(x, WICK_F32), text[1], sizeof text[1]);
            CHECK_MSG(!strcmp(text[0], text[1]) && !strstr(text[0], "poison"), "%s\n%s", text[0], text[1]);
        }
    wick_context_free(&ctx);
}

/* ---- what computes ----------------------------------------------------------------------------------------------- */

TEST(nothing_computes_in_a_dtype_for_storage) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    for (size_t k = 0; k < FORMATS; k++) {
        wick_tensor *x = wick_ones(ctx, f8[k].dtype, WICK_DIMS(2, 2)), *f = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 2));
        wick_tensor *loss = wick_sum(wick_cast(x, WICK_F32), WICK_ALL_AXES, false), *gradient = NULL;
        wick_grad(loss, 1, &x, &gradient);
        const refusal cases[] = {
            {wick_exp(x), "for storage: cast to compute"},  {wick_neg(x), "for storage"},
            {wick_add(x, x), "for storage"},                {wick_mul(x, f), "not promoted"},
            {wick_where(wick_gt(f, f), x, f), "not promoted"}, {wick_eq(x, x), "for storage"},
            {wick_sum(x, WICK_ALL_AXES, false), "for storage"}, {wick_matmul(x, x), "for storage"},
            {wick_linear(f, x, NULL), "not promoted"}, {wick_softmax(x, 1), "for storage"},
            {wick_random_uniform(ctx, f8[k].dtype, WICK_DIMS(2)), "makes f32 or f64"},
            {gradient, "for storage"},
            {wick_mul(wick_cast(x, WICK_F32), f), ""},      {wick_cast(x, f8[k].dtype), ""},
        };
        check_refusals(cases, WICK_COUNTOF(cases));
    }
    wick_context_free(&ctx);
}

/* Every function that computes, by as many arguments of the dtype as it takes: a clean refusal, whatever it makes of
 * them on the way. */
#define ROW1(name) wick_##name(x)
#define ROW2(name) wick_##name(x, x)
#define ROW3(name) wick_##name(x, x, x)
#define ROW_CALL(name, arity, ...) {#name, !strcmp(#name, "where") ? wick_neg(x) : ROW##arity(name)},
#define CALL(call) {#call, wick_##call}

TEST(every_function_refuses_them_cleanly) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    for (int d = WICK_BOOL + 1; d < WICK_DTYPE_COUNT; d++) {
        const wick_dtype dtype = (wick_dtype)d;
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *x = wick_ones(ctx, dtype, WICK_DIMS(4, 4)), *v = wick_ones(ctx, dtype, WICK_DIMS(4)),
                    *image = wick_ones(ctx, dtype, WICK_DIMS(1, 2, 4, 4));
        wick_tensor *kernel = wick_ones(ctx, dtype, WICK_DIMS(2, 2, 3, 3)),
                    *f = wick_ones(ctx, WICK_F32, WICK_DIMS(4, 4)), *i = wick_zeros(ctx, WICK_I64, WICK_DIMS(4));
        wick_tensor *square = wick_zeros(ctx, WICK_I64, WICK_DIMS(4, 4)), *more[3],
                    *pairs = wick_ones(ctx, dtype, WICK_DIMS(4, 2));
        const wick_pool_options pool = {.kernel = {2, 2}};
        const int64_t two[] = {2, 2};
        const struct {
            const char *name;
            wick_tensor *result;
        } calls[] = {
            WICK_EW_TABLE(ROW_CALL) CALL(clip(x, 0, 1)),
            CALL(clip(x, -0.5, 0.5)),
            CALL(threshold(x, 0, 1)),
            CALL(leaky_relu(x, 0.1)),
            CALL(elu(x, 1)),
            CALL(celu(x, 1)),
            CALL(softplus_beta(x, 2)),
            CALL(softshrink(x, 0.5)),
            CALL(hardshrink(x, 0.5)),
            CALL(tanhshrink(x)),
            CALL(glu(x, 1)),
            CALL(logit(x, 0.1)),
            CALL(addcmul(x, x, x, 1)),
            CALL(addcdiv(x, x, x, 1)),
            CALL(isclose(x, x, 0, 0)),
            CALL(isclose(x, f, 0, 0)),
            CALL(add(f, x)),
            CALL(where(x, f, f)),
            CALL(masked_fill(f, x, 1)),
            CALL(sum(x, WICK_ALL_AXES, false)),
            CALL(mean(x, WICK_ALL_AXES, false)),
            CALL(prod(x, WICK_ALL_AXES, false)),
            CALL(max(x, WICK_ALL_AXES, false)),
            CALL(min(x, WICK_AXES(0), false)),
            CALL(var(x, WICK_ALL_AXES, 0, false)),
            CALL(std(x, WICK_ALL_AXES, 0, false)),
            CALL(argmax(x, 0, false)),
            CALL(argmin(x, 1, false)),
            CALL(logsumexp(x, WICK_ALL_AXES, false)),
            CALL(norm(x, 2, WICK_ALL_AXES, false)),
            CALL(any(x, WICK_ALL_AXES, false)),
            CALL(all(x, WICK_ALL_AXES, false)),
            CALL(count_nonzero(x, WICK_ALL_AXES, false)),
            CALL(nansum(x, WICK_ALL_AXES, false)),
            CALL(nanmean(x, WICK_ALL_AXES, false)),
            CALL(max_with_index(x, 0, false, more)),
            CALL(cumsum(x, 0)),
            CALL(cumprod(x, 0)),
            CALL(cumsum_with(x, 0, true, true)),
            CALL(logcumsumexp(x, 0)),
            CALL(cummax(x, 0, more)),
            CALL(cummin(x, 1, more)),
            CALL(matmul(x, x)),
            CALL(matmul(f, x)),
            CALL(linear(x, x, v)),
            CALL(addmm(x, x, x, 1, 1)),
            CALL(outer(v, v)),
            CALL(dot(v, v)),
            CALL(vdot(v, v)),
            CALL(kron(x, x)),
            CALL(matrix_power(x, 2)),
            CALL(trace(x)),
            CALL(cholesky(x, false)),
            CALL(solve(x, x)),
            CALL(inverse(x)),
            CALL(det(x)),
            CALL(pinv(x, 0)),
            CALL(matrix_rank(x, 0)),
            CALL(lstsq(x, x)),
            CALL(einsum("ij,jk", 2, (wick_tensor *[]){x, x})),
            CALL(conv(image, kernel, NULL, NULL)),
            CALL(conv_transpose(image, kernel, NULL, NULL)),
            CALL(max_pool(image, &pool)),
            CALL(avg_pool(image, &pool)),
            CALL(adaptive_max_pool(image, two)),
            CALL(adaptive_avg_pool(image, NULL)),
            CALL(lp_pool(image, 2, &pool)),
            CALL(resize(image, two, WICK_RESIZE_LINEAR)),
            CALL(interpolate(image, WICK_AXES(2, 3), two, NULL)),
            CALL(softmax(x, 1)),
            CALL(log_softmax(x, 0)),
            CALL(softmin(x, 1)),
            CALL(layer_norm(x, v, v, 1e-5)),
            CALL(batch_norm(x, v, v, NULL, NULL, 1e-5)),
            CALL(rms_norm(x, v, 1e-5)),
            CALL(group_norm(image, 2, NULL, NULL, 1e-5)),
            CALL(instance_norm(image, NULL, NULL, 1e-5)),
            CALL(local_response_norm(image, 3, 1, 1, 1)),
            CALL(normalize(x, 2, 1, 1e-5)),
            CALL(scatter_add(x, 0, i, x)),
            CALL(gather(f, 0, x)),
            CALL(one_hot(v, 4, WICK_F32)),
            CALL(one_hot(i, 4, dtype)),
            CALL(take_along_axis(f, 0, x)),
            CALL(put_along_axis(x, 0, square, x, WICK_PUT_ADD)),
            CALL(scatter_reduce(x, 0, square, x, WICK_PUT_MUL, true)),
            CALL(embedding(f, x, -1)),
            CALL(index_put(x, 1, &i, x, true)),
            CALL(nonzero(x)),
            CALL(masked_select(f, x)),
            CALL(random_uniform(ctx, dtype, WICK_DIMS(2))),
            CALL(random_normal(ctx, dtype, WICK_DIMS(2))),
            CALL(random_bernoulli(x)),
            CALL(random_gamma(x)),
            CALL(dropout(x, 0.5)),
            CALL(multinomial(x, 2, true)),
            CALL(random_categorical(x)),
            CALL(random_exponential(ctx, dtype, WICK_DIMS(2), 1)),
            CALL(cosine_similarity(x, x, 1, 1e-8)),
            CALL(pairwise_distance(x, x, 2, 0, false)),
            CALL(cdist(x, x, 2)),
            CALL(cov(x, 1)),
            CALL(diff(x, 1, 0)),
            CALL(fft(pairs, 4, 0, WICK_FFT_BACKWARD)),
            CALL(rfft(x, 4, -1, WICK_FFT_BACKWARD)),
            CALL(complex_mul(pairs, pairs)),
            CALL(dct(x, 2, -1, true)),
            CALL(sort(x, 0, false, more)),
            CALL(argsort(x, 1, true)),
            CALL(topk(x, 2, 0, true, more)),
            CALL(kthvalue(x, 1, 0, false, more)),
            CALL(median(x, 0, false, more)),
            CALL(quantile(x, 0.5, 0, false, WICK_QUANTILE_LINEAR)),
            CALL(searchsorted(v, v, false)),
            CALL(bincount(v, NULL, 1)),
            CALL(histogram(v, 2, 0, 1, NULL, more)),
            CALL(unique(v, NULL, NULL)),
            CALL(cross_entropy(x, i)),
            CALL(cross_entropy(f, v)),
            CALL(mse(x, x)),
            CALL(l1_loss(x, f, WICK_REDUCE_MEAN)),
            CALL(huber_loss(x, x, 1, WICK_REDUCE_SUM)),
            CALL(binary_cross_entropy(x, x, NULL, WICK_REDUCE_MEAN)),
            CALL(focal_loss(x, x, 0.5, 2, WICK_REDUCE_MEAN)),
            CALL(kl_div(x, x, false, WICK_REDUCE_MEAN)),
            CALL(attention(image, image, image, NULL)),
            CALL(rotary(x, i, NULL)),
            CALL(max_pool_indices(image, &pool)),
            CALL(grid_sample(image, wick_ones(ctx, dtype, WICK_DIMS(1, 2, 2, 2)), NULL)),
            CALL(box_iou(x, x)),
            CALL(nms(f, v, 0.5)),
        };
        for (size_t k = 0; k < WICK_COUNTOF(calls); k++) {
            const char *text = "";
            const wick_status status = wick_tensor_error(calls[k].result, &text);
            CHECK_MSG(status == WICK_ERR_DTYPE || (status && strstr(text, "floats")), "%s of %s: status %d, %s",
                      calls[k].name, wick_dtype_name(dtype), status, text);
            CHECK_MSG(*text && wick_eval(ctx, 1, &(wick_tensor *){calls[k].result}, NULL) == status, "%s: %s",
                      calls[k].name, wick_context_error(ctx));
        }
        wick_scope_close(&scope);
    }
    wick_context_free(&ctx);
}

static wick_status weigh(wick_context *ctx, void *user, wick_tensor *const *in, wick_tensor **out) {
    (void)ctx, (void)user;
    out[0] = wick_cast(wick_mul(in[0], wick_cast(in[1], WICK_F32)), WICK_F8_E4M3FN); /* rounded, and seen rounded */
    out[1] = wick_cast(out[0], WICK_F32);
    return WICK_OK;
}

TEST(states_plans_and_gradients_pass_them_by) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_arange(ctx, WICK_F32, 1, 1, 5),
                *w = wick_cast(wick_full(ctx, WICK_F32, WICK_DIMS(5), 3), WICK_F8_E4M3FN), *out[2];
    REQUIRE(weigh(ctx, NULL, (wick_tensor *[]){x, w}, out) == WICK_OK);
    float got[5];
    uint8_t codes[5];
    wick_tensor *loss = wick_sum(wick_add(out[1], wick_square(x)), WICK_ALL_AXES, false), *gradient;
    wick_grad(loss, 1, &x, &gradient);
    REQUIRE(wick_eval(ctx, 3, (wick_tensor *[]){out[0], out[1], gradient}, NULL) == WICK_OK);
    CHECK(wick_read(out[1], got, sizeof got) == WICK_OK && got[0] == 3 && got[2] == 9 && got[4] == 15);
    wick_tensor *state = wick_zeros(ctx, WICK_F8_E4M3FN, WICK_DIMS(5));
    CHECK(wick_assign(state, out[0]) == WICK_OK &&
          wick_assign(wick_slice(state, 0, 1, 2, 1),
                      wick_cast(wick_full(ctx, WICK_F32, WICK_DIMS(1), -2), WICK_F8_E4M3FN)) == WICK_OK);
    CHECK(wick_read(state, codes, sizeof codes) == WICK_OK && codes[0] == 0x44 && codes[1] == 0xc0 && codes[4] == 0x57);
    /* No gradient comes through a number that is stored in between; beside it, as ever. */
    CHECK_MSG(wick_read(gradient, got, sizeof got) == WICK_OK && got[0] == 2 && got[4] == 10, "%s",
              wick_context_error(ctx));
    wick_context_free(&ctx);
}

TEST(every_golden_was_compared) { check_all_compared(); }

int main(int argc, char **argv) { return test_main(argc, argv); }
