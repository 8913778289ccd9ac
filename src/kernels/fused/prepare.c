/* prepare.c: lays a fused program out: dims collapsed, inputs classified, registers put into slots, block and tasks
 * chosen. Everything follows from the program and its sizes; nothing depends on the machine or on thread counts.
 *
 *   scratch: | slot 0 | pad | slot 1 | pad | ... | input buffers ... | raw | lanes | results |
 *
 * A slot holds a block of the widest ctype in use; the pad of a few cache lines keeps slots from sharing the low 12
 * bits of their addresses (a load that follows a store with equal ones waits for it). raw is where elements are packed
 * before they are converted. lanes and results are the stacks of a reduction.
 *
 * Fields of the layout:
 *   total            elements of all units
 *   task_items       per task: elements (plain), units (short, long) or chunks (split)
 *   units, reduced   as in fused.h, and so is cols, of one tile
 *   tile, tiles      of the first trailing dim
 *   in_run, out_run  elements of the space that are contiguous in memory
 *   space            the first dim of the space that blocks run over
 *   chunks           of a unit, in chunk_group groups of it when split
 *   out_*            the kept dims that results of a space are stored over
 *   reach            native.c explains it
 *   program          1 + the number of the compiled program that this is; 0: it is interpreted
 *   whole_in, _out   the places that inputs and results have in its table; reordered: of inputs others than their own
 *   streams          stores are nontemporal, `part` elements at a time: few, so that reads overlap the stores before
 *   from_dram              inputs come from memory
 *   planes           a unit is a column whose elements are contiguous
 *   transposed       inputs whose units are interleaved: the buffer holds some of them, transposed */
#include "kernels/fused/fused.h"
#include "kernels/fused/programs.h"
#include "kernels/tuning.h"

/* The range of a block; tuning->fused_block_bytes is what all of them may take of L1. */
#define BLOCK_MIN          64
#define BLOCK_MIN_REDUCING 128 /* a line of lanes of fewer than WICK_RED_LANES cols is shorter than this */
#define BLOCK_MAX          1024
#define BLOCK_FAR          512
#define SLOT_PAD           192
/* Bytes of a block of a reduction without instructions before it. Its rows may be interleaved, and are then read some
 * cache lines at a time. */
#define BLOCK_BARE 16384
/* Elements of a block and of a task of a program that is a compiled loop: it has no blocks of registers that have to
 * fit in L1, and reads its arrays in place. */
#define WHOLE_BLOCK 1024
#define WHOLE_TASK  16384
/* A block spans many rows unless rows are at least this long: then it ends where they end, and they are used in place.
 */
#define RUN_MIN            128
/* Bytes of interleaved units that are transposed at a time, at most. */
#define TURNED_BYTES (256 << 10)
/* Shorter planes are turned. The most lanes of one: a chunk of them is a block. */
#define PLANE_MIN   32
#define PLANE_LANES 8

/* Instructions of a program that is still bound by memory, at most: of one that is interpreted, and of one that is a
 * compiled loop. All of them are cheap ones. */
#define STREAM_INSTRS  4
#define STREAM_PROGRAM 6

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

static int operands(const wick_fused *f) { return f->n_in + f->n_out; }
static wick_fused_io *operand(wick_fused *f, int i) { return i < f->n_in ? &f->in[i] : &f->out[i - f->n_in]; }

static void move_dim(wick_fused *f, int from, int to) {
    f->dims[to] = f->dims[from];
    for (int i = 0; i < operands(f); i++) operand(f, i)->strides[to] = operand(f, i)->strides[from];
}

/* Which group a dim of a reduction is in: kept, reduced, trailing. */
static int group_of(const wick_fused *f, int d) {
    return !f->reduces ? 0 : d < f->n_keep ? 0 : d < f->n_keep + f->n_red ? 1 : 2;
}

/* Without a reduction the order of elements is free: walk memory in the order of the first output. */
static void sort_dims(wick_fused *f) {
    for (int i = 1; i < f->rank; i++)
        for (int d = i; d > 0 && magnitude(f->out[0].strides[d - 1]) < magnitude(f->out[0].strides[d]); d--) {
            int64_t dim = f->dims[d];
            f->dims[d] = f->dims[d - 1], f->dims[d - 1] = dim;
            for (int k = 0; k < operands(f); k++) {
                int64_t *s = operand(f, k)->strides, stride = s[d];
                s[d] = s[d - 1], s[d - 1] = stride;
            }
        }
}

static bool mergeable(wick_fused *f, int outer, int inner) {
    for (int i = 0; i < operands(f); i++) {
        const int64_t *s = operand(f, i)->strides;
        if (s[outer] != s[inner] * f->dims[inner]) return false;
    }
    return true;
}

/* Drops dims of 1 and merges neighbours of one group. */
static void collapse(wick_fused *f) {
    int kept = 0, count[3] = {0, 0, 0}, last = -1;
    for (int d = 0; d < f->rank; d++) {
        if (f->dims[d] == 1) continue;
        int group = group_of(f, d);
        if (last == group && mergeable(f, kept - 1, d)) {
            int64_t dim = f->dims[kept - 1];
            move_dim(f, d, kept - 1);
            f->dims[kept - 1] *= dim;
        } else {
            move_dim(f, d, kept++);
            count[group]++;
        }
        last = group;
    }
    f->rank = kept;
    if (f->reduces) f->n_keep = count[0], f->n_red = count[1];
}

static int64_t product(const int64_t *dims, int from, int to) {
    int64_t n = 1;
    for (int d = from; d < to; d++) n *= dims[d];
    return n;
}

/* Elements from the end of the space that lie one after the other in memory. */
static int64_t linear_run(const int64_t *dims, const int64_t *strides, int from, int to) {
    int64_t run = 1;
    for (int d = to - 1; d >= from && strides[d] == run; d--) run *= dims[d];
    return run;
}

/* Maps registers to slots; a slot is free again after the last use. An instruction may write over an input of its own
 * if the elements are of one size. Returns how many slots it takes. */
static int assign_slots(wick_fused *f) {
    wick_fused_layout *l = &f->layout;
    uint8_t size[WICK_FUSED_MAX_REGS] = {0}, free_slots[WICK_FUSED_MAX_REGS];
    int n_free = 0, slots = 0;
    memset(l->last_use, 0, sizeof l->last_use); /* of an input that nothing reads too: 1 + index of the instruction */
    for (int i = 0; i < f->n_in; i++) size[i] = (uint8_t)wick_ctype_size(wick_ctype_of((wick_dtype)f->in[i].dtype));
    for (int i = 0; i < f->n_instr; i++) {
        size[f->instr[i].dst] = (uint8_t)wick_ctype_size((wick_ctype)f->instr[i].to);
        for (int k = 0; k < 3; k++)
            if (k < wick_fused_arity(&f->instr[i])) l->last_use[f->instr[i].src[k]] = (uint8_t)(i + 1);
    }
    for (int i = 0; i < f->n_out; i++) l->last_use[f->out[i].reg] = (uint8_t)(f->n_instr + 1);
    for (int i = 0; i < f->n_instr; i++) {
        const wick_fused_instr *in = &f->instr[i];
        uint8_t dying[3];
        int n_dying = 0, arity = wick_fused_arity(in), slot = -1;
        for (int k = 0; k < arity; k++) {
            bool seen = in->src[k] < f->n_in || l->last_use[in->src[k]] != i + 1;
            for (int j = 0; j < k; j++) seen |= in->src[j] == in->src[k];
            if (!seen) dying[n_dying++] = in->src[k];
        }
        for (int k = 0; k < n_dying; k++) {
            if (slot < 0 && size[dying[k]] == size[in->dst] && in->op != WICK_FUSED_CAST) slot = l->slot[dying[k]];
        }
        bool reused = slot >= 0;
        if (!reused) slot = n_free ? free_slots[--n_free] : slots++;
        l->slot[in->dst] = (uint8_t)slot;
        for (int k = 0; k < n_dying; k++)
            if (l->slot[dying[k]] != slot) free_slots[n_free++] = l->slot[dying[k]];
        if (l->last_use[in->dst] == 0) free_slots[n_free++] = (uint8_t)slot; /* nobody wants it */
    }
    return slots;
}

/* Whether units are interleaved: neighbours in memory, each with its elements apart, as channels that come last. Some
 * at a time are transposed, as many as stay in L2. */
static bool lies_across(const wick_fused *f, int i) {
    const wick_fused_layout *l = &f->layout;
    const int64_t *s = f->in[i].strides, size = (int64_t)wick_dtype_size((wick_dtype)f->in[i].dtype);
    if (!f->reduces || l->mode != WICK_FUSED_LONG || l->planes || l->tiles != 1 || l->cols != 1 || f->n_red != 1 ||
        l->n_unit == 0)
        return false;
    return l->in_kind[i] == WICK_FUSED_WALK && wick_fused_native((wick_dtype)f->in[i].dtype) && s[l->n_unit - 1] == 1 &&
           s[l->space] > 1 && WICK_RED_TURNED * l->reduced * size <= TURNED_BYTES;
}

/* Kind, run and period of every input over the space of dims [space, rank). */
static void classify(wick_fused *f, int64_t block_max) {
    wick_fused_layout *l = &f->layout;
    for (int i = 0; i < f->n_in; i++) {
        const int64_t *s = f->in[i].strides;
        int first = l->space; /* the first dim that the input walks */
        while (first < f->rank && s[first] == 0) first++;
        l->in_run[i] = linear_run(f->dims, s, l->space, f->rank);
        l->in_period[i] = product(f->dims, first, f->rank);
        const bool periodic = first > l->space && l->in_period[i] <= block_max && l->tiles == 1;
        int last = f->rank;
        while (last > first && s[last - 1] == 0) last--;
        const int64_t still = product(f->dims, last, f->rank);
        l->in_kind[i] = !l->last_use[i] || l->mode == WICK_FUSED_EMPTY ? WICK_FUSED_UNUSED
                        : first == f->rank                             ? WICK_FUSED_SAME
                        : periodic                                     ? WICK_FUSED_PERIOD
                        : still >= RUN_MIN && l->tiles == 1            ? WICK_FUSED_STILL
                                                                       : WICK_FUSED_WALK;
        if (l->in_kind[i] == WICK_FUSED_STILL) l->in_run[i] = still;
        if (!lies_across(f, i)) continue;
        l->transposed |= (uint32_t)1 << i;
        l->in_run[i] = l->reduced;
    }
    for (int i = 0; i < f->n_out; i++) l->out_run[i] = linear_run(f->dims, f->out[i].strides, l->space, f->rank);
}

/* Whether an input ever needs a buffer of its own, and of how many elements. */
static int64_t buffer_items(const wick_fused *f, int i) {
    const wick_fused_layout *l = &f->layout;
    const wick_dtype dtype = (wick_dtype)f->in[i].dtype;
    if (l->transposed >> i & 1) return WICK_RED_TURNED * l->reduced;
    switch (l->in_kind[i]) {
    case WICK_FUSED_UNUSED:
        return 0;
    case WICK_FUSED_SAME:
    case WICK_FUSED_STILL:
        return f->block;
    case WICK_FUSED_PERIOD:
        return f->block + l->in_period[i];
    default:
        if (l->last_use[i] > f->n_instr) return f->block; /* stored as an output: see overwritten_early in run.c */
        return l->in_run[i] == product(f->dims, l->space, f->rank) && l->tiles == 1 && wick_fused_native(dtype)
                   ? 0
                   : f->block;
    }
}

/* How many blocks of 8 or 4 bytes fit the budget, counting what is read in place as well. (An output that is written in
 * place leaves its slot untouched.) */
static int choose_block(const wick_fused *f, const wick_tuning *tuning, int slots, size_t widest, int block_min) {
    const size_t room = (size_t)tuning->fused_block_bytes;
    int live = slots + f->n_in, block = (int)(room / ((size_t)WICK_MAX(live, 1) * widest)) / 64 * 64;
    return WICK_MIN(WICK_MAX(block, block_min), BLOCK_MAX);
}

/* Rows of a view: a block that divides them never straddles two, so that they are used in place. */
static int fit_block_to_runs(const wick_fused *f, int block) {
    const wick_fused_layout *l = &f->layout;
    int64_t run = 0;
    for (int i = 0; i < operands(f); i++) {
        if (i < f->n_in && l->in_kind[i] != WICK_FUSED_WALK) continue;
        int64_t r = i < f->n_in ? l->in_run[i] : l->out_run[i - f->n_in];
        if (r >= RUN_MIN && r < l->total && (run == 0 || r < run)) run = r;
    }
    for (int b = block; run && b >= RUN_MIN; b -= 64)
        if (run % b == 0) return b;
    return block;
}

/* Tasks of about task_items: an even number of equal ones, so that two threads have as much to do, and halves of what
 * products before and after give each of them. */
static void cut_evenly(wick_fused *f) {
    wick_fused_layout *l = &f->layout;
    int64_t tasks = wick_ceil_div(l->total, l->task_items);
    if (tasks > 1)
        tasks += tasks % 2, l->task_items = wick_ceil_div(wick_ceil_div(l->total, tasks), f->block) * f->block;
    f->tasks = wick_ceil_div(l->total, l->task_items);
}

static void plan_plain(wick_fused *f, const wick_tuning *tuning) {
    wick_fused_layout *l = &f->layout;
    l->mode = WICK_FUSED_PLAIN;
    f->block = fit_block_to_runs(f, f->block);
    int64_t items = tuning->fused_task_work / (f->n_instr + 1);
    l->task_items = WICK_MAX(items / f->block, 1) * f->block;
    if (l->total <= 2 * l->task_items) l->task_items = wick_ceil_div(WICK_MAX(l->total, 1), f->block) * f->block;
    cut_evenly(f);
}

/* Whether columns are planes: apart in memory, each contiguous, as channels that come first. Lanes of one column never
 * meet another's, so that each column is a unit and nothing is transposed. A line is then lane_rows elements, few
 * enough that a block holds whole chunks of lines. */
static bool has_planes(const wick_fused *f) {
    const wick_fused_layout *l = &f->layout;
    const int cols = f->n_keep + f->n_red;
    if (f->red != WICK_RED_SUM || f->out[0].dtype != WICK_F32 || cols + !f->columns != f->rank || f->n_red == 0)
        return false;
    if (f->dims[cols - 1] < PLANE_MIN || l->lane_rows > PLANE_LANES || l->reduced < 2 * WICK_RED_CHUNK * l->lane_rows)
        return false;
    bool apart = false;
    for (int i = 0; i < f->n_in; i++) {
        const int64_t *s = f->in[i].strides;
        if (s[cols - 1] != 0 && s[cols - 1] != 1) return false;
        apart |= s[cols - 1] == 1 && (f->columns || magnitude(s[cols]) > 1);
    }
    return apart;
}

/* Trailing dims that make a line too long are moved in front, to the units, and the one at the edge is cut into tiles.
 */
static void tile_cols(wick_fused *f) {
    wick_fused_layout *l = &f->layout;
    const int64_t longest = WICK_MIN(WICK_RED_LINE, f->block);
    int first = f->n_keep + f->n_red, edge = f->rank;
    int64_t cols = 1;
    while (!l->planes && edge > first && cols * f->dims[edge - 1] <= longest) cols *= f->dims[--edge];
    l->tile = l->tiles = 1;
    if (edge > first && !l->planes) { /* dims[edge - 1] is the one to cut */
        edge--;
        l->tile = WICK_MAX(longest / cols, 1);
        l->tiles = wick_ceil_div(f->dims[edge], l->tile);
    } else if (edge < f->rank)
        l->tile = f->dims[edge];
    l->cols = cols * (l->tiles > 1 ? l->tile : 1);
    const int moved = edge - first;
    for (int m = 0; m < moved; m++) { /* rotate dims[first + m] down to n_keep + m */
        int64_t dim = f->dims[first + m];
        for (int d = first + m; d > f->n_keep + m; d--) f->dims[d] = f->dims[d - 1];
        f->dims[f->n_keep + m] = dim;
        for (int i = 0; i < operands(f); i++) {
            int64_t *s = operand(f, i)->strides, stride = s[first + m];
            for (int d = first + m; d > f->n_keep + m; d--) s[d] = s[d - 1];
            s[f->n_keep + m] = stride;
        }
    }
    l->n_unit = f->n_keep + moved;
}

/* Why a way to reduce is not taken; NULL: it is. The block comes last: it is cut to whole units or lines by what is
 * taken. */
static int64_t unit_items_of(const wick_fused *f) { return f->layout.reduced * f->layout.cols; }
static int64_t unit_work_of(const wick_fused *f) { return WICK_MAX(unit_items_of(f), 1) * (f->n_instr + 1); }
static const char *short_refused(const wick_fused *f) {
    const wick_fused_layout *l = &f->layout;
    if (l->units <= 1) return "there is one row of results";
    if (l->tiles != 1) return "results are cut into tiles";
    if (wick_ceil_div(l->reduced, l->lane_rows) > WICK_RED_RUN) return "there is much to each result";
    return unit_items_of(f) * 2 <= f->block ? NULL : "a block has no room for what two results are made of";
}
static const char *split_refused(const wick_fused *f, const wick_tuning *tuning) {
    const wick_fused_layout *l = &f->layout;
    if (l->units >= 32 || f->columns) return "there are results enough for all threads";
    if (l->chunks <= 1) return "there is little to each result";
    return l->units * unit_work_of(f) >= 4 * tuning->fused_task_work ? NULL : "there is too little to do";
}

static void plan_reduction(wick_fused *f, const wick_tuning *tuning, size_t size) {
    wick_fused_layout *l = &f->layout;
    const int64_t all_cols = product(f->dims, f->n_keep + f->n_red, f->rank);
    if (all_cols * product(f->dims, 0, f->n_keep) == 0) {
        f->tasks = 0;
        return;
    }
    l->reduced = product(f->dims, f->n_keep, f->n_keep + f->n_red);
    l->lane_rows = 1;
    while (l->lane_rows * all_cols * WICK_MAX(f->columns, 1) < WICK_RED_LANES) l->lane_rows *= 2;
    l->planes = has_planes(f);
    tile_cols(f);
    l->units = product(f->dims, 0, l->n_unit) * l->tiles;
    const int64_t line = l->lane_rows * l->cols, lines = wick_ceil_div(l->reduced, l->lane_rows);
    const int64_t unit_items = unit_items_of(f), unit_work = unit_work_of(f);
    l->chunks = wick_ceil_div(lines, WICK_RED_CHUNK);
    l->chunk_group = 1;
    l->space = l->n_unit;
    if (l->reduced == 0) {
        l->mode = WICK_FUSED_EMPTY;
        l->task_items = l->units;
        f->tasks = 1;
        return;
    }
    if (!short_refused(f)) {
        l->mode = WICK_FUSED_SHORT;
        l->space = 0;
        f->block = (int)(f->block / unit_items * unit_items);
        const int64_t per_block = f->block / unit_items;
        l->task_items = WICK_MAX(tuning->fused_task_work / unit_work / per_block, 1) * per_block;
        f->tasks = wick_ceil_div(l->units, l->task_items);
        return;
    }
    const int64_t whole = l->planes ? WICK_RED_CHUNK * line : line;
    /* rows of a tile lie apart: one by one they are read in place */
    f->block = (int)(l->tiles > 1 ? line : WICK_MAX(f->block / whole, 1) * whole);
    if (!split_refused(f, tuning)) {
        const int64_t chunk_work = WICK_RED_CHUNK * line * (f->n_instr + 1);
        l->mode = WICK_FUSED_SPLIT;
        l->task_items = WICK_MAX(tuning->fused_task_work / chunk_work, 1);
        l->chunk_group = wick_ceil_div(l->chunks, l->task_items);
        f->tasks = l->units * l->chunk_group;
        f->tasks2 = l->units;
        f->partials = (size_t)(l->units * l->chunks * l->cols) * size;
        return;
    }
    l->mode = WICK_FUSED_LONG;
    l->task_items = WICK_MAX(tuning->fused_task_work / unit_work, 1);
    f->tasks = wick_ceil_div(l->units, l->task_items);
}

/* Results of a reduction are stored over the kept dims: in short mode all of them, else the trailing ones of a unit. */
static void plan_results(wick_fused *f) {
    wick_fused_layout *l = &f->layout;
    l->out_rank = 0;
    for (int d = l->space; d < f->rank; d++) {
        if (d >= l->n_unit && d < l->n_unit + f->n_red) continue;
        l->out_dims[l->out_rank] = f->dims[d];
        l->out_strides[l->out_rank++] = f->out[0].strides[d];
    }
}

/* Why they are not taken; NULL: they are. Nontemporal stores spare reading the lines that they write over.
 * That pays where memory is all that bounds a program: what computes for longer overlaps with it anyhow, and wants
 * longer blocks. */
static const char *streams_refused(const wick_fused *f, const wick_tuning *tuning) {
#define YES(name) [WICK_EW_##name] = true
    static const bool light[WICK_EW_COUNT] = {YES(add),
                                              YES(sub),
                                              YES(mul),
                                              YES(div),
                                              YES(maximum),
                                              YES(minimum),
                                              YES(fmax),
                                              YES(fmin),
                                              YES(copysign),
                                              YES(neg),
                                              YES(abs),
                                              YES(sign),
                                              YES(square),
                                              YES(sqrt),
                                              YES(rsqrt),
                                              YES(reciprocal),
                                              YES(relu),
                                              YES(relu6),
                                              YES(prelu),
                                              YES(hardsigmoid),
                                              YES(hardswish),
                                              YES(softsign),
                                              YES(floor),
                                              YES(ceil),
                                              YES(round),
                                              YES(trunc),
                                              YES(frac),
                                              YES(eq),
                                              YES(ne),
                                              YES(lt),
                                              YES(le),
                                              YES(gt),
                                              YES(ge),
                                              YES(isfinite),
                                              YES(isnan),
                                              YES(isinf),
                                              YES(signbit),
                                              YES(logical_and),
                                              YES(logical_or),
                                              YES(logical_xor),
                                              YES(logical_not),
                                              YES(bitwise_and),
                                              YES(bitwise_or),
                                              YES(bitwise_xor),
                                              YES(bitwise_not),
                                              YES(left_shift),
                                              YES(right_shift),
                                              YES(clamp),
                                              YES(lerp),
                                              YES(nextafter),
                                              YES(soft_threshold),
                                              YES(hard_threshold),
                                              YES(replace_nan),
                                              YES(replace_inf),
                                              YES(where)};
#undef YES
    if (f->reduces) return "it reduces";
    if (f->n_instr > (f->layout.program ? STREAM_PROGRAM : STREAM_INSTRS))
        return "it computes for longer than memory takes";
    for (int i = 0; i < f->n_instr; i++)
        if (f->instr[i].op != WICK_FUSED_CAST && !light[f->instr[i].op])
            return "it computes for longer than memory takes";
    for (int o = 0; o < f->n_out; o++)
        if (f->layout.total * WICK_MAX(f->columns, 1) * (int64_t)wick_dtype_size((wick_dtype)f->out[o].dtype) <
            tuning->stream_bytes)
            return "a result may stay in caches";
    return NULL;
}

/* Bytes of an element of the inputs that come one line after the other. */
static int64_t bytes_in_line(const wick_fused *f) {
    int64_t bytes = 0;
    for (int i = 0; i < f->n_in; i++)
        if (f->layout.in_kind[i] == WICK_FUSED_WALK &&
            f->layout.in_run[i] == product(f->dims, f->layout.space, f->rank))
            bytes += (int64_t)wick_dtype_size((wick_dtype)f->in[i].dtype);
    return bytes;
}
/* Is an input packed or converted, a block at a time? */
static bool packs(const wick_fused *f) {
    for (int i = 0; i < f->n_in; i++)
        if (f->layout.in_kind[i] == WICK_FUSED_WALK && buffer_items(f, i)) return true;
    return false;
}
/* A block of inputs from memory prefetches a later block when it begins. Blocks are made short for that, so that the
 * prefetched lines are few enough to be worth it. */
static void shorten_block(wick_fused *f, int64_t bytes) {
    const wick_fused_layout *l = &f->layout;
    const int64_t unit = !f->reduces                   ? BLOCK_MIN
                         : l->mode == WICK_FUSED_SHORT ? unit_items_of(f)
                                                       : l->lane_rows * l->cols * (l->planes ? WICK_RED_CHUNK : 1);
    const int64_t most = WICK_MIN(BLOCK_FAR, 2 * WICK_ASK_BYTES / bytes);
    if (f->block > most) f->block = (int)(WICK_MAX(most / unit, 1) * unit);
}

/* Numbers that change should do so between blocks: then a block is a run, or the largest part of one that divides it.
 */
static int whole_block(const wick_fused *f) {
    int64_t run = WHOLE_BLOCK;
    for (int i = 0; i < f->n_in; i++)
        if (f->layout.in_kind[i] == WICK_FUSED_STILL) run = f->layout.in_run[i];
    for (int64_t parts = wick_ceil_div(run, WHOLE_BLOCK); run / parts >= RUN_MIN; parts++)
        if (run % parts == 0) return (int)(run / parts);
    return WHOLE_BLOCK;
}

/* Why an op is not called on arrays as they lie; NULL: it is. */
static const char *bare_refused(const wick_fused *f) {
    const wick_fused_layout *l = &f->layout;
    if (f->n_instr != 1 || f->n_out != 1 || f->instr[0].op == WICK_FUSED_CAST || f->out[0].reg != f->instr[0].dst)
        return "it is more than one op, or a conversion";
    if (l->streams) return "results are written by nontemporal stores";
    if (l->program) return "there is one loop for it";
    if (!wick_fused_native((wick_dtype)f->out[0].dtype)) return "a dtype is none of registers";
    if (l->out_run[0] != l->total) return "an array has strides, or is broadcast";
    for (int i = 0; i < f->n_in; i++) {
        if (l->in_kind[i] != WICK_FUSED_WALK || l->in_run[i] != l->total)
            return "an array has strides, or is broadcast";
        if (!wick_fused_native((wick_dtype)f->in[i].dtype)) return "a dtype is none of registers";
    }
    return NULL;
}

/* Whether a compiled program goes by rows of the last dim, where they lie: long ones, or all there is. */
static bool goes_by_rows(const wick_fused *f) {
    const wick_fused_layout *l = &f->layout;
    const int last = f->rank - 1;
    if (!l->program || f->reduces || l->streams || last < 0 || (last > 0 && f->dims[last] < RUN_MIN)) return false;
    for (int i = 0; i < f->n_in; i++)
        if (f->in[i].strides[last] != !(l->in_kind[i] == WICK_FUSED_SAME || l->in_kind[i] == WICK_FUSED_STILL))
            return false;
    for (int o = 0; o < f->n_out; o++)
        if (f->out[o].strides[last] != 1) return false;
    return true;
}

const char *wick_fused_name(const wick_fused *f) {
    static const char *const reduced[] = {[WICK_FUSED_SHORT] = "several results in a block",
                                          [WICK_FUSED_LONG] = "a result at a time",
                                          [WICK_FUSED_SPLIT] = "parts of a result, then their sum"};
    const wick_fused_layout *l = &f->layout;
    if (!f->tasks || l->mode == WICK_FUSED_EMPTY) return "nothing to read";
    if (f->reduces) return reduced[l->mode];
    return l->program                   ? "one loop"
           : l->mode == WICK_FUSED_BARE ? "one op on whole arrays"
           : l->streams                 ? "blocks, nontemporal"
                                        : "blocks in L1";
}

int wick_fused_rejected(const wick_fused *f, const wick_tuning *tuning, wick_rejected *out) {
    tuning = wick_tuning_or_default(tuning);
    const wick_fused_layout *l = &f->layout;
    int n = 0;
    if (!f->tasks || l->mode == WICK_FUSED_EMPTY) return 0;
    if (f->reduces) {
        if (l->mode != WICK_FUSED_SHORT) out[n++] = (wick_rejected){"several results in a block", short_refused(f)};
        if (l->mode == WICK_FUSED_LONG)
            out[n++] = (wick_rejected){"parts of a result by several threads", split_refused(f, tuning)};
        return n;
    }
    if (!l->program) out[n++] = (wick_rejected){"one loop", "there is none for this program"};
    if (l->mode != WICK_FUSED_BARE) out[n++] = (wick_rejected){"one op on whole arrays", bare_refused(f)};
    if (!l->streams) out[n++] = (wick_rejected){"nontemporal results", streams_refused(f, tuning)};
    return n;
}

void wick_fused_prepare(wick_fused *f, const wick_tuning *tuning) {
    tuning = wick_tuning_or_default(tuning);
    wick_fused_layout *l = &f->layout;
    memset(l, 0, sizeof *l);
    if (!f->reduces) f->n_keep = f->n_red = 0;
    if (!f->reduces && f->n_out > 0) sort_dims(f);
    collapse(f);
    l->total = product(f->dims, 0, f->rank);
    l->tiles = 1;
    const int slots = assign_slots(f);
    size_t widest = 1;
    for (int i = 0; i < operands(f); i++)
        widest = WICK_MAX(widest, wick_ctype_size(wick_ctype_of((wick_dtype)operand(f, i)->dtype)));
    for (int i = 0; i < f->n_instr; i++) {
        widest = WICK_MAX(widest, wick_ctype_size((wick_ctype)f->instr[i].type));
        widest = WICK_MAX(widest, wick_ctype_size((wick_ctype)f->instr[i].to));
    }
    const size_t result_size = f->reduces ? wick_ctype_size(wick_ctype_of((wick_dtype)f->out[0].dtype)) : 0;
    f->block = f->reduces && !f->n_instr
                   ? (int)(BLOCK_BARE / widest)
                   : choose_block(f, tuning, slots, widest, f->reduces ? BLOCK_MIN_REDUCING : BLOCK_MIN);
    f->tasks2 = 0;
    f->partials = 0;
    if (f->reduces) plan_reduction(f, tuning, result_size);
    classify(f, f->block);
    if (f->reduces) {
        if (l->transposed) { /* tasks of whole lines */
            l->task_items = wick_ceil_div(l->task_items, WICK_RED_TURNED) * WICK_RED_TURNED;
            f->tasks = wick_ceil_div(l->units, l->task_items);
        }
        plan_results(f);
        wick_native_reach(f);
    } else {
        plan_plain(f, tuning);
    }

    l->program = (uint8_t)(wick_program_find(f) + 1);
    l->streams = !streams_refused(f, tuning);
    if (l->program && !f->reduces) {
        f->block = whole_block(f);
        l->task_items = l->task_items < WHOLE_TASK ? WHOLE_TASK / f->block * f->block
                                                   : wick_ceil_div(l->task_items, f->block) * f->block;
        cut_evenly(f);
        classify(f, f->block);
    }
    const int64_t bytes = bytes_in_line(f);
    l->from_dram = (l->planes ? (int64_t)sizeof(float) : bytes) * l->total >= tuning->stream_bytes;
    l->part = (int)wick_ceil_div(WICK_ASK_BYTES, WICK_MAX(bytes, 4) * 64) * 64;
    if (l->from_dram && bytes &&
        (f->reduces ? (f->n_instr || l->mode == WICK_FUSED_SHORT) && !l->planes : !l->streams || packs(f)))
        shorten_block(f, bytes);
    if (!f->reduces && !bare_refused(f)) l->mode = WICK_FUSED_BARE;
    if (goes_by_rows(f)) l->mode = WICK_FUSED_ROWS;
    size_t at = 0;
    int64_t raw_items = f->block;
    l->slot_stride = WICK_ALIGN_UP((size_t)f->block * widest, WICK_ALIGN) + SLOT_PAD;
    at += (size_t)slots * l->slot_stride;
    for (int i = 0; i < f->n_in; i++) {
        l->in_offset[i] = at;
        const int64_t items = buffer_items(f, i);
        if (l->in_kind[i] == WICK_FUSED_PERIOD) raw_items = WICK_MAX(raw_items, l->in_period[i]);
        if (items)
            at +=
                WICK_ALIGN_UP((size_t)items * wick_ctype_size(wick_ctype_of((wick_dtype)f->in[i].dtype)), WICK_ALIGN) +
                SLOT_PAD;
    }
    l->raw_offset = at;
    at += WICK_ALIGN_UP((size_t)raw_items * 8, WICK_ALIGN) + SLOT_PAD;
    if (f->reduces) {
        const int64_t line = WICK_MAX(l->lane_rows, 1) * l->cols;
        l->lanes_offset = at;
        at += WICK_ALIGN_UP((size_t)(line * WICK_RED_CHUNK_DEPTH) * result_size, WICK_ALIGN);
        l->results_offset = at;
        const int64_t rows = l->mode == WICK_FUSED_SHORT ? f->block : l->cols * WICK_RED_UNIT_DEPTH;
        at += WICK_ALIGN_UP((size_t)rows * result_size, WICK_ALIGN);
    }
    f->scratch = at;
}
