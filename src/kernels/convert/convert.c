/* convert.c: which converters run, and the strided copy between any two dtypes. */
#include "kernels/convert/convert.h"

static const wick_convert_table *const tables[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_convert_table)};

const wick_convert_table *wick_convert_kernels(wick_tier tier) { return tables[tier]; }

/* TASK: elements of a task, some tens of microseconds. Copies of fewer than four such tasks are cut finer, into a power
 * of two of parts of at least PART, so that threads find in their own caches what they made. */
#define COPY_TASK  32768
#define COPY_PART  4096
/* A tile of a transposing copy: bytes of a column, read one after the other; elements of a row. Both sides together
 * stay in L2, and the pages of both are few enough. */
#define COPY_ROW_BYTES 1024
#define COPY_COLS  64
/* Transpositions from so many bytes on use nontemporal stores. */
#define COPY_PAST  ((int64_t)16 << 20)
/* So are copies of arrays that lie together, of more than caches keep: then lines need not be read before they are
 * written over. */
#define COPY_WHOLE_PAST ((int64_t)32 << 20)
/* Elements per block of a converting copy; two blocks of 8 bytes each lie on the stack. */
#define COPY_BLOCK 512

/* A copy in its simplest form: dims of 1 dropped, ordered so that dst is walked as it lies in memory, neighbours
 * merged. A task is a range of elements in that order; of a transpose, a range of tiles. */
typedef struct plan {
    int rank;
    int64_t dims[WICK_MAX_DIMS], src[WICK_MAX_DIMS], dst[WICK_MAX_DIMS];
    int64_t total;
    int across; /* the dim along which src is contiguous though dst is not; -1: no transpose */
    int64_t tile_rows, tiles[2], all_tiles; /* of a transpose: across and along; all */
    int elem; /* bytes of what moves as one: an element, or a pair of neighbours, as complex numbers are */
} plan;

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* Why a copy is no transpose of tiles; NULL: it is, and *across is the dim along which src is contiguous. */
static const char *tiles_refused(const wick_copy *c, const plan *p, int *across) {
    *across = -1;
    if (c->src != c->dst) return "dtypes differ";
    const int last = p->rank - 1;
    if (last < 1) return "memory is gone through in one row";
    if (p->dst[last] != 1) return "results are contiguous along no dim";
    if (magnitude(p->src[last]) <= 1) return "both are contiguous along the same dim";
    for (int d = 0; d < last; d++)
        if (p->src[d] == 1 && p->dims[d] >= 2 && p->dims[last] >= 2) *across = d;
    return *across < 0 ? "the source is contiguous along no dim" : NULL;
}

/* Takes pairs as elements of twice the size, if both sides have the last dim's two next to each other and nothing lies
 * an odd way off. */
static void take_pairs(plan *p) {
    const int last = p->rank - 1;
    if (last < 1 || p->elem > 4 || p->dims[last] != 2 || p->src[last] != 1 || p->dst[last] != 1) return;
    for (int d = 0; d < last; d++)
        if (p->src[d] % 2 || p->dst[d] % 2) return;
    for (int d = 0; d < last; d++) p->src[d] /= 2, p->dst[d] /= 2;
    p->rank--, p->total /= 2, p->elem *= 2;
}

/* pairs: both addresses suit them. */
static plan copy_plan(const wick_copy *c, bool pairs) {
    plan p = {.rank = 0, .total = 1, .across = -1, .elem = (int)wick_dtype_size(c->src)};
    for (int d = 0; d < c->rank; d++) {
        p.total *= c->dims[d];
        if (c->dims[d] == 1) continue;
        int at = p.rank++; /* insertion by falling dst stride; equal ones keep their order */
        for (; at > 0 && magnitude(p.dst[at - 1]) < magnitude(c->dst_strides[d]); at--)
            p.dims[at] = p.dims[at - 1], p.src[at] = p.src[at - 1], p.dst[at] = p.dst[at - 1];
        p.dims[at] = c->dims[d], p.src[at] = c->src_strides[d], p.dst[at] = c->dst_strides[d];
    }
    int kept = 0;
    for (int d = 1; d < p.rank; d++) {
        if (p.src[kept] == p.src[d] * p.dims[d] && p.dst[kept] == p.dst[d] * p.dims[d])
            p.dims[kept] *= p.dims[d];
        else
            p.dims[++kept] = p.dims[d];
        p.src[kept] = p.src[d], p.dst[kept] = p.dst[d];
    }
    if (p.rank) p.rank = kept + 1;
    if (pairs && c->src == c->dst && !wick_dtype_is_packed(c->src)) take_pairs(&p);
    if (!tiles_refused(c, &p, &p.across)) {
        const int last = p.rank - 1;
        p.tile_rows = COPY_ROW_BYTES / p.elem;
        p.tiles[0] = (p.dims[p.across] + p.tile_rows - 1) / p.tile_rows;
        p.tiles[1] = (p.dims[last] + COPY_COLS - 1) / COPY_COLS;
        p.all_tiles = p.tiles[0] * p.tiles[1];
        for (int d = 0; d < last; d++)
            if (d != p.across) p.all_tiles *= p.dims[d];
    }
    return p;
}

const char *wick_copy_name(const wick_copy *c) {
    const plan p = copy_plan(c, true);
    return p.across >= 0      ? p.total * p.elem >= COPY_PAST ? "copied by tiles, transposed, nontemporal"
                                                              : "copied by tiles, transposed"
           : c->src != c->dst ? "copied in blocks, converted"
                              : "copied row by row";
}
int wick_copy_rejected(const wick_copy *c, wick_rejected *out) {
    const plan p = copy_plan(c, true);
    int across;
    if (!p.total || p.across >= 0) return 0;
    out[0] = (wick_rejected){"by tiles, transposed", tiles_refused(c, &p, &across)};
    return 1;
}

int64_t wick_copy_tasks(const wick_copy *c) {
    const plan p = copy_plan(c, true);
    if (p.total == 0) return 0;
    const int64_t few = p.total >= 4 * COPY_PART   ? 4
                        : p.total >= 2 * COPY_PART ? 2
                                                   : 1,
                  tasks = WICK_MAX((p.total + COPY_TASK - 1) / COPY_TASK, few);
    return p.across < 0 ? tasks : WICK_MIN(tasks, p.all_tiles);
}

/* Tiles in the order: the other dims (slowest first), along, across. */
static void copy_tile(const plan *p, const wick_convert_table *code, int elem, int64_t tile, const uint8_t *src,
                      uint8_t *dst) {
    const int last = p->rank - 1, a = p->across;
    const int64_t row = tile % p->tiles[0] * p->tile_rows, col = tile / p->tiles[0] % p->tiles[1] * COPY_COLS;
    int64_t s = row + col * p->src[last], d = row * p->dst[a] + col, rest = tile / p->tiles[0] / p->tiles[1];
    for (int i = last - 1; i >= 0; i--) {
        if (i == a) continue;
        s += rest % p->dims[i] * p->src[i];
        d += rest % p->dims[i] * p->dst[i];
        rest /= p->dims[i];
    }
    code->transpose(elem, src + s * elem, p->src[last], dst + d * elem, p->dst[a],
                    WICK_MIN(p->dims[a] - row, p->tile_rows), WICK_MIN(p->dims[last] - col, COPY_COLS),
                    p->total * elem >= COPY_PAST);
}

static bool is_linear(const plan *p, const int64_t *strides) {
    int64_t step = 1;
    for (int d = p->rank - 1; d >= 0; step *= p->dims[d--])
        if (strides[d] != step) return false;
    return true;
}

static void copy_same(const plan *p, int elem, int64_t at, int64_t end, const uint8_t *src, uint8_t *dst) {
    if (at >= end) return;
    if (is_linear(p, p->dst) && is_linear(p, p->src) && p->total * elem >= COPY_WHOLE_PAST) {
        wick_convert_kernels(wick_tier_current())
            ->stream(dst + at * elem, src + at * elem, (size_t)((end - at) * elem));
        wick_stream_end();
    } else if (is_linear(p, p->dst))
        wick_walk_gather(elem, p->rank, p->dims, p->src, at, end - at, src, dst + at * elem);
    else
        wick_walk_move(elem, p->rank, p->dims, p->src, p->dst, at, end - at, src, dst);
}

/* Bytes from one element to another so far on; packed ones are whole bytes apart then. */
static int64_t distance(wick_dtype dtype, int64_t n) { return n * wick_dtype_bits(dtype) / 8; }

/* Different dtypes, a block at a time: pack, load, cast, store, scatter; a step is left out where it changes nothing,
 * and the first and last converters work on memory itself where it is contiguous. */
static void copy_convert(const plan *p, wick_dtype from, wick_dtype to, int64_t at, int64_t end, const uint8_t *src,
                         uint8_t *dst) {
    const wick_convert_table *table = wick_convert_kernels(wick_tier_current());
    const wick_ctype ft = wick_ctype_of(from), tt = wick_ctype_of(to);
    const wick_convert_fn all[3] = {table->load[from], ft != tt ? table->cast[ft][tt] : NULL, table->store[to]};
    const bool src_linear = is_linear(p, p->src), dst_linear = is_linear(p, p->dst);
    const int se = (int)wick_dtype_size(from), de = (int)wick_dtype_size(to);
    _Alignas(WICK_ALIGN) uint64_t buffer[2][COPY_BLOCK]; /* a step reads one and writes the other */
    wick_convert_fn steps[3];
    int n_steps = 0;
    for (int k = 0; k < 3; k++)
        if (all[k]) steps[n_steps++] = all[k];
    for (; at < end; at += COPY_BLOCK) {
        const int64_t n = WICK_MIN(end - at, COPY_BLOCK);
        const void *now = src + distance(from, at);
        int next = 0;
        if (!src_linear) {
            wick_walk_gather(se, p->rank, p->dims, p->src, at, n, src, buffer[next]);
            now = buffer[next];
            next = 1 - next;
        }
        for (int k = 0; k < n_steps; k++, next = 1 - next) {
            void *out = k == n_steps - 1 && dst_linear ? (void *)(dst + distance(to, at)) : (void *)buffer[next];
            steps[k](out, now, (size_t)n);
            now = out;
        }
        if (!dst_linear) wick_walk_scatter(de, p->rank, p->dims, p->dst, at, n, now, dst);
    }
}

void wick_copy_run(const wick_copy *c, int64_t begin, int64_t end, const void *src, void *dst) {
    const plan p = copy_plan(c, ((uintptr_t)src | (uintptr_t)dst) % WICK_MAX(2 * wick_dtype_size(c->src), 1) == 0);
    const int64_t tasks = wick_copy_tasks(c);
    if (tasks == 0 || begin >= end) return;
    const int elem = p.elem;
    const int64_t items = p.across < 0 ? p.total : p.all_tiles;
    int64_t each = (items + tasks - 1) / tasks;
    const bool packed = wick_dtype_is_packed(c->src) || wick_dtype_is_packed(c->dst);
    if (packed) each = (each + 3) & ~(int64_t)3; /* whole bytes */
    const int64_t first = begin * each, stop = WICK_MIN(end * each, items);
    if (packed && c->src == c->dst) {
        if (first >= stop) return;
        memcpy((char *)dst + distance(c->dst, first), (const char *)src + distance(c->src, first),
               wick_dtype_bytes(c->src, stop - first));
        if (stop == items) wick_elements_end(c->dst, dst, items);
    } else if (p.across >= 0) {
        const wick_convert_table *code = wick_convert_kernels(wick_tier_current());
        for (int64_t tile = first; tile < stop; tile++) copy_tile(&p, code, elem, tile, src, dst);
        if (p.total * elem >= COPY_PAST) wick_stream_end();
    } else if (c->src == c->dst)
        copy_same(&p, elem, first, stop, src, dst);
    else
        copy_convert(&p, c->src, c->dst, first, stop, src, dst);
}
