/* winograd.c: control flow of winograd.h. Tiles are processed in blocks, in the order of outputs, so that V and M stay
 * in a cache. Where weights are near enough to be read for every block, blocks are small, V and M stay in L1, and
 * vectors of output channels are made one after the other. Elsewhere V and M stay in L2 and are multiplied as matrices.
 *
 *   scratch: | a line of zeros | V [16][tiles][channels in] | M [16][tiles][channels out, or lanes] |        packed:
 *       [panel][16][channel in][width]
 */
#include "kernels/conv/conv.h"
#include "kernels/conv/winograd.h"
#include "kernels/gemm/gemm.h"

/* BLOCK: tiles of a block, a multiple of the rows of gemm's tiles. MOST: channels at most. PAIRS: pairs of channels
 * that a tile of an image pays for, since transforming the weights takes as long as some tiles save. Tiles are counted
 * in one image, not in the batch, so that an image's results are the same in every batch. */
enum { WINOGRAD_BLOCK = 42, WINOGRAD_MOST = 512, WINOGRAD_PAIRS = 1536 };

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
    return from * to <= WINOGRAD_PAIRS * ((dims[1] + 1) / 2) * ((dims[2] + 1) / 2)
               ? NULL
               : "the image is too small for so many channels: transforming the weights would not pay";
}

size_t wick_winograd_packed(const wick_convolution *c) { return (size_t)(16 * c->ci * c->co) * sizeof(float); }

static bool is_near(const wick_convolution *c) { return wick_winograd_packed(c) <= c->code->winograd->near; }
static int64_t line_of(const wick_convolution *c) {
    return (c->what == WICK_CONV_DATA ? c->out : c->in)[2] * from_channels(c);
}
static int64_t block_of(const wick_convolution *c) { return is_near(c) ? WICK_WINOGRAD_TILES : WINOGRAD_BLOCK; }
size_t wick_winograd_scratch(const wick_convolution *c) {
    const size_t of_block =
        (size_t)(16 * block_of(c) * (from_channels(c) + (is_near(c) ? c->code->winograd->lanes : to_channels(c)))) *
        sizeof(float);
    return WICK_ALIGN_UP((size_t)line_of(c) * sizeof(float), WICK_ALIGN) + of_block;
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
    const int64_t from = from_channels(c), first = panel * c->gemm->nr,
                  width = WICK_MIN(c->gemm->nr, to_channels(c) - first), every = from * width;
    float *to = packed + 16 * from * first;
    for (int64_t i = 0, n; i < every; i += n) { /* some lines of each tap at a time: they may all share a set of L1 */
        four u[4][16];
        n = WICK_MIN(every - i, 16);
        for (int64_t at = 0; at < n; at += 4) {
            four columns[3][4], row[4];
            for (int x = 0; x < 3; x++) {
                const float *g = w + i + at + x * every;
                stretch(*(const four_anywhere *)g, *(const four_anywhere *)(g + 3 * every),
                        *(const four_anywhere *)(g + 6 * every), columns[x]);
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

/* M of a block. */
static void multiply(const wick_convolution *c, int64_t tiles, const float *v, const float *packed, float *m) {
    const wick_gemm_kernel *q = c->gemm;
    const int64_t from = from_channels(c), outputs = to_channels(c), pieces = (tiles + q->mr - 1) / q->mr,
                  tall = tiles / pieces, taller = tiles % pieces;
    for (int k = 0; k < 16; k++)
        for (int64_t first = 0; first < outputs; first += q->nr) {
            const int64_t cols = WICK_MIN(q->nr, outputs - first);
            wick_gemm_tile t = {.k = from,
                                .a = v + k * WINOGRAD_BLOCK * from,
                                .a_row = from,
                                .a_col = 1,
                                .b = packed + 16 * from * first + k * from * cols,
                                .b_row = cols,
                                .c = m + k * WINOGRAD_BLOCK * outputs + first,
                                .c_row = outputs,
                                .c_col = 1,
                                .cols = cols};
            for (int64_t i = 0; i < pieces; i++) {
                const int64_t n = tall + (i < taller);
                q->tiles[(cols / q->lanes - 1) * q->mr + n - 1](&t);
                t.a = (const float *)t.a + n * from;
                t.c = (float *)t.c + n * outputs;
            }
        }
}

bool wick_winograd_run(const wick_convolution *c, int64_t height, int64_t width, const float *image,
                       const int64_t *dims, const int64_t *lo, const float *packed, const float *bias, float *dst,
                       int64_t dst_line, void *scratch) {
    const wick_winograd_kernels *q = c->code->winograd;
    const int64_t from = from_channels(c), outputs = to_channels(c), across = (width + 1) / 2,
                  all = across * ((height + 1) / 2), block = block_of(c), nr = c->gemm->nr;
    const int64_t at_once = is_near(c) ? q->lanes : outputs;
    float *zeros = scratch,
          *v = (float *)(void *)((char *)scratch + WICK_ALIGN_UP((size_t)line_of(c) * sizeof(float), WICK_ALIGN)),
          *m = v + 16 * block * from;
    memset(zeros, 0, (size_t)line_of(c) * sizeof(float));
    for (int64_t begin = 0, tiles; begin < all; begin += tiles) {
        tiles = WICK_MIN(block, all - begin);
        for (int64_t tile = 0, n; tile < tiles; tile += n) { /* those side by side */
            const int64_t x = (begin + tile) % across, y = lo[1] + (begin + tile) / across * 2;
            const float *line[4];
            n = WICK_MIN(tiles - tile, across - x);
            for (int k = 0; k < 4; k++) line[k] = y + k >= 0 && y + k < dims[1] ? image + (y + k) * line_of(c) : zeros;
            q->in(n, from, line, lo[2] + 2 * x, dims[2], v + tile * from, block * from);
        }
        for (int64_t o = 0; o < outputs; o += at_once) {
            if (is_near(c))
                q->products(tiles, from, v, packed + 16 * from * (o / nr * nr) + o % nr,
                            WICK_MIN(nr, outputs - o / nr * nr), m);
            else
                multiply(c, tiles, v, packed, m);
            for (int64_t tile = 0, n; tile < tiles; tile += n) {
                const int64_t x = (begin + tile) % across, y = (begin + tile) / across * 2;
                n = WICK_MIN(tiles - tile, across - x);
                const wick_winograd_to to = {.bias = bias ? bias + o : NULL,
                                             .relu = c->relu,
                                             .width = width - 2 * x,
                                             .lines = WICK_MIN(2, height - y),
                                             .pixel = outputs,
                                             .line = dst_line,
                                             .dst = dst + y * dst_line + 2 * x * outputs + o};
                if (!q->out(n, at_once, m + tile * at_once, block * at_once, &to)) return false;
            }
        }
    }
    return true;
}
