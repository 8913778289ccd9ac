/* winograd.c: control flow of winograd.h. Tiles are taken some rows at a time, so that V and M stay in L2:
 *
 *   scratch: | V [16][tiles][channels in] | M [16][tiles][channels out] |        packed: [panel][16][channel in][width]
 */
#include "kernels/conv/conv.h"
#include "kernels/conv/winograd.h"
#include "kernels/gemm/gemm.h"

/* Tiles of a block, about; the most channels; and how many pairs of channels a tile of an image pays for: transforming the weights takes as
 * long as some tiles save. Not of the batch, so that an image's results are the same in every batch. */
enum { WINOGRAD_TILES = 48, WINOGRAD_MOST = 512, WINOGRAD_PAIRS = 1536 };

static int64_t from_channels(const wick_convolution *c) { return c->what == WICK_CONV_DATA ? c->co : c->ci; }
static int64_t to_channels(const wick_convolution *c) { return c->what == WICK_CONV_DATA ? c->ci : c->co; }

const char *wick_winograd_refused(const wick_convolution *c) {
    const wick_winograd_kernels *q = c->code->winograd;
    if (!q) return "this tier has none for the dtype";
    if (c->what == WICK_CONV_WEIGHT) return "it is not for gradients of weights";
    if (c->groups != 1) return "there are groups";
    if (c->kernel[0] != 1 || c->in[0] != 1 || c->pad[0] || c->stride[0] != 1) return "there are three dims";
    for (int d = 1; d < 3; d++) {
        if (c->kernel[d] != 3) return "the kernel is not 3 x 3";
        if (c->stride[d] != 1 || c->dilation[d] != 1) return "there is a stride or dilation";
    }
    const int64_t from = from_channels(c), to = to_channels(c), *dims = c->what == WICK_CONV_DATA ? c->in : c->out;
    if (from % q->lanes || to % q->lanes) return "channels are no whole vectors";
    if (from > WINOGRAD_MOST) return "there are too many channels to sum over";
    return from * to <= WINOGRAD_PAIRS * ((dims[1] + 1) / 2) * ((dims[2] + 1) / 2) ? NULL : "the image is too small for so many channels: transforming the weights would not pay";
}

size_t wick_winograd_packed(const wick_convolution *c) { return (size_t)(16 * c->ci * c->co) * sizeof(float); }

static int64_t block_rows(int64_t width) { return WICK_MAX(1, WINOGRAD_TILES / ((width + 1) / 2)); }
size_t wick_winograd_scratch(const wick_convolution *c, int64_t width) {
    return (size_t)(16 * block_rows(width) * ((width + 1) / 2) * (c->ci + c->co)) * sizeof(float);
}

/* Vectors that every CPU has; panels are whole vectors wide. */
typedef float four __attribute__((vector_size(16)));
typedef float four_anywhere __attribute__((vector_size(16), aligned(4), may_alias));

/* G g of a column of three. */
static inline void stretch(four g0, four g1, four g2, four u[4]) {
    u[0] = g0;
    u[1] = 0.5f * (g0 + g2 + g1);
    u[2] = 0.5f * (g0 + g2 - g1);
    u[3] = g2;
}

void wick_winograd_pack(const wick_convolution *c, int64_t panel, const float *w, float *packed) {
    const int64_t from = from_channels(c), first = panel * c->gemm->nr, width = WICK_MIN(c->gemm->nr, to_channels(c) - first), every = from * width;
    float *to = packed + 16 * from * first;
    for (int64_t i = 0, n; i < every; i += n) { /* some lines of each tap at a time: they may all share a set of L1 */
        four u[4][16];
        n = WICK_MIN(every - i, 16);
        for (int64_t at = 0; at < n; at += 4) {
            four columns[3][4], row[4];
            for (int x = 0; x < 3; x++) {
                const float *g = w + i + at + x * every;
                stretch(*(const four_anywhere *)g, *(const four_anywhere *)(g + 3 * every), *(const four_anywhere *)(g + 6 * every), columns[x]);
            }
            for (int y = 0; y < 4; y++) {
                stretch(columns[0][y], columns[1][y], columns[2][y], row);
                for (int x = 0; x < 4; x++) u[at / 4][4 * y + x] = row[x];
            }
        }
        for (int k = 0; k < 16; k++)
            for (int64_t at = 0; at < n; at += 4) *(four_anywhere *)(to + i + at + k * every) = u[at / 4][k];
    }
}

bool wick_winograd_run(const wick_convolution *c, int64_t height, int64_t width, const float *src, int64_t src_line, const float *packed, const float *bias,
                       float *dst, int64_t dst_line, void *scratch) {
    const wick_gemm_kernel *q = c->gemm;
    const int64_t from = from_channels(c), outputs = to_channels(c), across = (width + 1) / 2, rows = block_rows(width);
    float *v = scratch, *m = v + 16 * rows * across * from;
    for (int64_t y = 0; y < height; y += 2 * rows) {
        const int64_t n_rows = WICK_MIN(rows, (height - y + 1) / 2), tiles = n_rows * across;
        for (int64_t r = 0; r < n_rows; r++)
            if (!c->code->winograd->in(across, from, src + (y + 2 * r) * src_line, src_line, v + r * across * from, tiles * from)) return false;
        const int64_t pieces = (tiles + q->mr - 1) / q->mr, tall = tiles / pieces, taller = tiles % pieces;
        for (int k = 0; k < 16; k++)
            for (int64_t first = 0; first < outputs; first += q->nr) {
                const int64_t cols = WICK_MIN(q->nr, outputs - first);
                wick_gemm_tile t = {.k = from, .a = v + k * tiles * from, .a_row = from, .a_col = 1, .b = packed + 16 * from * first + k * from * cols, .b_row = cols,
                                    .c = m + k * tiles * outputs + first, .c_row = outputs, .c_col = 1, .cols = cols};
                for (int64_t i = 0; i < pieces; i++) {
                    const int64_t n = tall + (i < taller);
                    q->tiles[(cols / q->lanes - 1) * q->mr + n - 1](&t);
                    t.a = (const float *)t.a + n * from;
                    t.c = (float *)t.c + n * outputs;
                }
            }
        for (int64_t r = 0; r < n_rows; r++)
            if (!c->code->winograd->out(across, outputs, m + r * across * outputs, tiles * outputs, bias, c->relu, width, WICK_MIN(2, height - y - 2 * r),
                                        dst + (y + 2 * r) * dst_line, dst_line))
                return false;
    }
    return true;
}
