/* amx.h: matrix products by tiles (Intel AMX): the seam between the control flow (amx.c; int8/int8.c for bytes) and the
 * kernels (amx_tier.c).
 *
 * A tile is 16 rows of 64 bytes. One instruction multiplies a tile of A (16 rows by 64 bytes along k) by a tile of B,
 * whose rows are groups of 4 bytes along k (pairs of bf16, fours of bytes), for 16 columns each, and adds to a tile of
 * 16 x 16 sums. A block is 2 x 2 tiles of C over 2 tiles of A and 2 of B: four products for four loads (Intel 64 and
 * IA-32 Architectures Optimization Reference Manual, chapter "Intel AMX").
 *
 * All of this has run under emulation only (tests/kernels/amx_emulation.h): nothing here has been measured on a CPU
 * that has AMX. */
#ifndef WICK_KERNELS_GEMM_AMX_H
#define WICK_KERNELS_GEMM_AMX_H

#include "kernels/gemm/gemm.h"

/* rows and columns of sums; bytes of a row and of a tile */
enum { WICK_AMX_SIDE = 16, WICK_AMX_ROW = 64, WICK_AMX_TILE = 1024 };

/* Why a product is not computed by tiles; NULL: it is. */
const char *wick_amx_refused(const wick_gemm *g);

typedef enum wick_amx_dot {
    WICK_AMX_BF16,
    WICK_AMX_UU,
    WICK_AMX_US,
    WICK_AMX_SU,
    WICK_AMX_SS,
    WICK_AMX_DOTS
} wick_amx_dot;

/* c = the sum over products p and steps s of A[p][s] B[p][s], from zero. Distances are bytes. */
typedef struct wick_amx_block {
    const void *a, *b;
    int64_t steps;                  /* along k: 64 bytes of a row of A each */
    int64_t a_step, b_step;         /* from a step's tile to the next one's */
    int64_t a_row, b_row;           /* between rows of a tile */
    int64_t a_next, b_next;         /* from the first tile of rows, of columns, to the second one's */
    int products;                   /* smallest first */
    const int64_t *a_part, *b_part; /* of a product: where its operands begin */
    void *c;                        /* f32 or i32; rows that the configuration leaves out are not written */
    int64_t c_row;
} wick_amx_block;
typedef void wick_amx_block_fn(const wick_amx_block *t);

/* What a panel of 16 rows or columns holds, as the bits of |x|: the largest, and the smallest of normal numbers less
 * 0x800000 (none: above 0x7fffffff). */
typedef struct wick_amx_range {
    uint32_t largest, smallest;
} wick_amx_range;

/* Lines of 16 pairs: line r of step s is made of the 16 elements at src + s * step + r * line and the 16 that lie
 * `pair` behind (elements). dst[part][step][16][16] pairs; parts are `part` bytes apart. An f32 becomes the sum of so
 * many bf16 parts, scaled first. The pair of k is k + 16, so that no element changes its lane. */
typedef wick_amx_range wick_amx_split_fn(int64_t steps, const float *src, int64_t step, int64_t line, int64_t pair,
                                         float scale, void *dst, int64_t part);

/* c (+)= sums * scale[0] * scale[1], and what follows the last block of k. */
typedef struct wick_amx_finish {
    int rows, cols; /* of a tile */
    const float *sums;
    int64_t sums_row;
    float scale[2];
    bool add, relu;
    int bias_mode; /* as wick_gemm.bias */
    const float *bias;
    float *c;
    int64_t c_row;
} wick_amx_finish;

typedef struct wick_amx_kernel {
    const char *name;                                                  /* "amx" */
    /* loads the configuration: rows of the first and of the second tile of rows, 1 to 16 each; 0 more: there is one */
    void (*begin)(int rows, int more);
    void (*end)(void);
    wick_amx_block_fn *block[WICK_AMX_DOTS][2][2]; /* [tiles of rows - 1][tiles of columns - 1] */
    /* into one part, rounded to nearest even; two; three, which hold f32 exactly */
    wick_amx_split_fn *split[3];
    void (*finish)(const wick_amx_finish *f);
    /* bf16 as they are */
    void (*pairs)(int64_t steps, const uint16_t *src, int64_t step, int64_t line, int64_t pair, void *dst);
} wick_amx_kernel;

/* NULL: no tiles here, by the CPU, the operating system, WICK_ISA or the tier in use. */
const wick_amx_kernel *wick_amx_now(void);
/* Tests put the emulation here, in place of what there is, for products of any size; NULL takes it back. */
void wick_amx_use(const wick_amx_kernel *kernel);

/* What gemm.c hands over. false: not one for tiles, and nothing is set; else g->amx is. */
bool wick_amx_prepare(wick_gemm *g);
void wick_amx_pack(const wick_gemm *g, int64_t begin, int64_t end, const void *b, void *packed);
void wick_amx_run(const wick_gemm *g, int64_t begin, int64_t end, const void *a, const void *b, const void *bias,
                  void *c, const void *packed, void *scratch);
const char *wick_amx_name(const wick_gemm *g);

#endif
