/* Pixels to numbers: every tier gives the table's bits, of every byte, around every boundary. */
#include "kernels/pixels/pixels.h"
#include "test.h"

static const struct {
    double mean, deviation;
} ranges[] = {{0, 1}, {0.13, 0.3}, {0.4914, 0.2470}, {-3, 0.01}, {0.5, 0.5}, {1e-9, 255}, {0, 1e-30}, {1e30, 1}};

TEST(all_tiers_give_the_tables_bits) {
    enum { MOST = 300 };
    uint8_t src[MOST + 1];
    float dst[MOST + 2];
    for (size_t r = 0; r < WICK_COUNTOF(ranges); r++) {
        wick_pixel_map m;
        wick_pixel_map_make(&m, ranges[r].mean, ranges[r].deviation);
        for (int p = 0; p < 256; p++) CHECK(m.table[p] == (float)((p / 255.0 - ranges[r].mean) / ranges[r].deviation));
        if (r < 5) CHECK_MSG(m.affine, "range %d", (int)r); /* or all of this tests the table alone */
        for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
            if (!wick_tier_force((wick_tier)tier)) continue;
            for (int forced = 0; forced < 2; forced++, m.affine = !m.affine)
                for (int n = 0; n <= MOST; n += n < 70 ? 1 : 23)
                    for (int mirrored = 0; mirrored < 2; mirrored++) {
                        if (m.affine && forced) continue; /* what was not seen to be right must not be computed */
                        for (int i = 0; i <= n; i++) src[i] = (uint8_t)(i * 37 + n);
                        for (int i = 0; i < n + 2; i++) dst[i] = -77;
                        wick_pixels_map(&m, n, src + 1, mirrored, dst + 1);
                        bool same = dst[0] == -77 && dst[n + 1] == -77;
                        for (int i = 0; i < n; i++)
                            same = same &&
                                   memcmp(&dst[i + 1], &m.table[src[1 + (mirrored ? n - 1 - i : i)]], sizeof *dst) == 0;
                        CHECK_MSG(same, "range %d, tier %s, n %d, mirrored %d", (int)r, wick_tier_name((wick_tier)tier),
                                  n, mirrored);
                        test_count("rows of pixels", 1);
                    }
            wick_pixel_map_make(&m, ranges[r].mean, ranges[r].deviation);
        }
    }
    (void)wick_tier_force(wick_tier_best());
}

TEST(windows_are_cut_padded_and_mirrored) {
    enum { PLANES = 2, H = 5, W = 19 };
    static uint8_t src[PLANES * H * W];
    static float dst[PLANES * H * W + 1];
    wick_pixel_map m;
    wick_pixel_map_make(&m, 0.3, 0.7);
    for (int i = 0; i < PLANES * H * W; i++) src[i] = (uint8_t)(i * 11 + 3);
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        for (int top = -H - 1; top <= H + 1; top++)
            for (int left = -W - 1; left <= W + 1; left++)
                for (int mirrored = 0; mirrored < 2; mirrored++) {
                    dst[PLANES * H * W] = -77;
                    const bool upturned = (top + left) & 1;
                    for (int p = 0; p < PLANES; p++)
                        wick_pixels_window(&m, &(wick_pixel_window){H, W, top, left, H, W, mirrored, upturned},
                                           src + p * H * W, dst + p * H * W);
                    bool same = dst[PLANES * H * W] == -77;
                    for (int p = 0; p < PLANES; p++)
                        for (int y = 0; y < H; y++)
                            for (int x = 0; x < W; x++) {
                                const int from = (upturned ? H - 1 - y : y) + top,
                                          at = (mirrored ? W - 1 - x : x) + left;
                                const int pixel =
                                    from >= 0 && from < H && at >= 0 && at < W ? src[(p * H + from) * W + at] : 0;
                                same = same && dst[(p * H + y) * W + x] == m.table[pixel];
                            }
                    CHECK_MSG(same, "tier %s, %d, %d, mirrored %d", wick_tier_name((wick_tier)tier), top, left,
                              mirrored);
                }
    }
    (void)wick_tier_force(wick_tier_best());
}

int main(int argc, char **argv) { return test_main(argc, argv); }
