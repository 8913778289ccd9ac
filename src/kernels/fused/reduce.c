/* reduce.c: programs that end in a reduction: units, chunks and the pairwise order of fused.h. */
#include "kernels/fused/run.h"

/* The most chunks of a plane between two looks at the stack. */
#define CHUNKS_AT_ONCE 16

static const wick_red_rows *const tables[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_red_table)};

/* A stack of partial results, oldest first. Pushing number n (from 1 on) combines the newest two as often as n is even:
 * the shape of a binary counter, which is pairwise summation without knowing the count beforehand. */
typedef struct stack {
    const wick_red_kernels *red;
    uint8_t *at;
    size_t entry, elem; /* bytes */
    int depth;
    int64_t pushed;
    size_t width[WICK_RED_UNIT_DEPTH]; /* elements of each entry; an older one is never narrower */
} stack;

static void stack_init(stack *s, const wick_red_kernels *red, void *at, size_t width, size_t elem) {
    s->red = red;
    s->at = at;
    s->entry = width * elem;
    s->elem = elem;
    s->depth = 0;
    s->pushed = 0;
}
static uint8_t *stack_top(stack *s) { return s->at + (size_t)s->depth * s->entry; } /* where the next entry goes */
static void stack_combine(stack *s) {
    s->depth--;
    s->red->add(s->at + (size_t)(s->depth - 1) * s->entry, s->at + (size_t)s->depth * s->entry, s->width[s->depth]);
}
static void stack_push(stack *s, size_t width) {
    s->width[s->depth++] = width;
    for (int64_t n = ++s->pushed; n % 2 == 0; n /= 2) stack_combine(s);
}
static void stack_finish(stack *s) {
    while (s->depth > 1) stack_combine(s);
}

/* What a run of a reduction knows. cols: of the unit at hand, whose tile may be the narrow last one. */
typedef struct reduction {
    wick_machine *m;
    const wick_red_kernels *red;
    const wick_fused_layout *l;
    size_t elem; /* bytes of an element of the result's ctype */
    int reg;
    int64_t cols;
    int64_t out_dims[WICK_MAX_DIMS];
    uint8_t *out;
    int64_t transposed; /* the first of the units that buffers hold turned; -1: none */
    int sums;           /* of planes: WICK_RED_OF_..., below 0: what the program makes */
} reduction;

/* Points inputs that lie across units at unit u, turned; offsets: of it, in elements. Those beside it come along. */
static void turn_units(reduction *r, int64_t u, const int64_t *offsets) {
    wick_machine *m = r->m;
    const wick_fused *f = m->f;
    const wick_fused_layout *l = r->l;
    const int64_t inner = f->dims[l->n_unit - 1], within = u % inner % WICK_RED_TURNED, first = u - within;
    for (int i = 0; i < f->n_in; i++) {
        if (!(l->transposed >> i & 1)) continue;
        uint8_t *buffer = m->scratch + l->in_offset[i];
        if (first != r->transposed)
            m->convert->transpose((int)m->in_size[i],
                                  (const uint8_t *)m->ptr[i] + (offsets[i] - within) * m->in_size[i],
                                  f->in[i].strides[l->space], buffer, l->reduced,
                                  WICK_MIN(WICK_RED_TURNED, inner - first % inner), l->reduced, false);
        m->in_base[i] = buffer + within * l->reduced * m->in_size[i];
    }
    r->transposed = first;
}

/* Enters unit u: bases of all operands, and the dims of its tile. */
static void enter_unit(reduction *r, int64_t u) {
    wick_machine *m = r->m;
    const wick_fused *f = m->f;
    const wick_fused_layout *l = r->l;
    const int cut = l->n_unit + f->n_red; /* the dim that tiles cut */
    const int64_t tile = u % l->tiles, unit = u / l->tiles;
    int64_t offsets[WICK_FUSED_MAX_IO] = {0}, start = l->tiles > 1 ? tile * l->tile : 0;
    for (int i = 0; i < f->n_in; i++)
        offsets[i] =
            wick_walk_offset(l->n_unit, f->dims, f->in[i].strides, unit) + (start ? start * f->in[i].strides[cut] : 0);
    r->cols = l->cols;
    if (l->tiles > 1) {
        const int64_t width = WICK_MIN(l->tile, f->dims[cut] - start);
        r->cols = l->cols / l->tile * width;
        m->space_dims[f->n_red] = r->out_dims[0] = width;
        m->space_total = l->reduced * r->cols;
        for (int i = 0; i < f->n_in; i++) {
            int64_t run = 1;
            for (int d = m->space_rank - 1; d >= f->n_red && f->in[i].strides[l->space + d] == run; d--)
                run *= m->space_dims[d];
            m->in_run[i] = run;
        }
    }
    wick_machine_enter(m, offsets);
    if (l->transposed) turn_units(r, u, offsets);
    r->out = (uint8_t *)m->ptr[f->n_in] + (wick_walk_offset(l->n_unit, f->dims, f->out[0].strides, unit) +
                                           (start ? start * f->out[0].strides[cut] : 0)) *
                                              (int64_t)wick_dtype_size((wick_dtype)f->out[0].dtype);
}

/* Scales, converts and stores n results, from linear position `at` of the kept dims on. values are overwritten. */
static void store_results(reduction *r, void *values, int64_t at, int64_t n) {
    const wick_machine *m = r->m;
    const wick_fused_io *io = &m->f->out[0];
    const wick_convert_fn convert = m->convert->store[io->dtype];
    if (m->f->scale != 1 && r->red->scale) r->red->scale(values, m->f->scale, (size_t)n);
    for (int64_t done = 0; done < n; done += m->f->block) { /* raw holds a block */
        const int64_t part = WICK_MIN(n - done, m->f->block);
        const uint8_t *from = (const uint8_t *)values + (size_t)done * r->elem;
        if (convert) {
            convert(m->scratch + r->l->raw_offset, from, (size_t)part);
            from = m->scratch + r->l->raw_offset;
        }
        wick_walk_scatter((int)wick_dtype_size((wick_dtype)io->dtype), r->l->out_rank, r->out_dims, r->l->out_strides,
                          at + done, part, from, r->out);
    }
}

/* Lines of the only input, when the program is that input and its lines are contiguous: they are reduced where they
 * lie. Returns the stride of lines in elements, or 0. */
static int64_t lines_in_place(const reduction *r, bool bf16) {
    const wick_machine *m = r->m;
    const wick_fused *f = m->f;
    if (f->n_instr > 0 || r->l->in_kind[r->reg] != WICK_FUSED_WALK ||
        !(bf16 || wick_fused_native((wick_dtype)f->in[r->reg].dtype)))
        return 0;
    const int64_t line = r->l->lane_rows * r->cols, *strides = f->in[r->reg].strides + r->l->space;
    if (m->in_run[r->reg] == m->space_total) return line;
    return r->l->lane_rows == 1 && m->space_rank == 2 && f->n_red == 1 && strides[1] == 1 ? strides[0] : 0;
}

/* How arrays that lie in memory, or what one instruction makes of them, are summed; x, y: the places of its inputs at
 * element `at` of the space. NULL: it is nothing of that. */
static const wick_red_mapped *mapped_of(const reduction *r, int64_t at, const float **x, const float **y) {
    static const uint32_t zero = 0;
    const wick_machine *m = r->m;
    const wick_fused *f = m->f;
    const wick_fused_instr *in = f->instr;
    if (!r->red->mapped || f->n_instr > 1 || r->l->lane_rows != WICK_RED_LANES || r->l->cols != 1) return NULL;
    int map = r->l->from_dram ? WICK_MAP_FAR : WICK_MAP_SAME;
    if (f->n_instr) {
        map = in->op == WICK_EW_square        ? WICK_MAP_SQUARE
              : in->op == WICK_EW_mul         ? WICK_MAP_MUL
              : in->op == WICK_EW_replace_nan ? WICK_MAP_KNOWN
                                              : -1;
        if (map < 0 || r->reg != in->dst || in->type != WICK_CF32) return NULL;
        if (map == WICK_MAP_KNOWN &&
            (r->l->in_kind[in->src[1]] != WICK_FUSED_SAME || memcmp(m->reg[in->src[1]], &zero, sizeof zero)))
            return NULL;
    }
    const float *from[2];
    for (int k = 0; k < 2; k++) {
        const int i = f->n_instr ? in->src[map == WICK_MAP_MUL ? k : 0] : r->reg;
        if (f->in[i].dtype != WICK_F32 || r->l->in_kind[i] != WICK_FUSED_WALK || m->in_run[i] != m->space_total)
            return NULL;
        from[k] = (const float *)(const void *)m->in_base[i] + at;
    }
    *x = from[0], *y = from[1];
    return &r->red->mapped[map];
}
/* The same of a part of a line: n values to acc. */
static void map_rest(const wick_red_mapped *mapped, float *acc, const float *x, const float *y, int64_t n) {
    float from[2][WICK_RED_LANES] = {{0}};
    memcpy(from[0], x, (size_t)n * sizeof *x);
    memcpy(from[1], y, (size_t)n * sizeof *y);
    mapped->lines(acc, from[0], from[1], 1, false);
}

/* Where the elements of a chunk come from. */
typedef struct source {
    void (*lanes)(void *acc, const void *x, size_t rows, size_t lanes, size_t stride, bool cont);
    wick_convert_fn load; /* to what lanes are; NULL: they are */
    int64_t elem;         /* bytes of one */
    const wick_red_mapped *mapped; /* its lines are taken instead, of x and y; NULL: there is no y */
    const float *y;
} source;

/* Adds n elements (whole lines, and at the end of the unit a part of one) to the runs on the stack. in_run counts lines
 * of the current run. row_stride: elements from line to line. */
static void feed(stack *s, const source *from, const uint8_t *x, int64_t n, int64_t line, int64_t row_stride,
                 int *in_run, bool last) {
    double rest[WICK_RED_LINE];
    const float *y = from->y;
    while (n > 0) {
        const int64_t lines = WICK_MIN(n / line, WICK_RED_RUN - *in_run);
        if (lines > 0) {
            if (from->mapped) {
                from->mapped->lines((float *)(void *)stack_top(s), (const float *)(const void *)x, y, (size_t)lines,
                                    *in_run > 0);
                y += lines * line;
            } else
                from->lanes(stack_top(s), x, (size_t)lines, (size_t)line, (size_t)row_stride, *in_run > 0);
            s->width[s->depth] = (size_t)line;
            *in_run += (int)lines;
            x += lines * row_stride * from->elem;
            n -= lines * line;
        } else {
            if (from->mapped)
                map_rest(from->mapped, (float *)(void *)rest, (const float *)(const void *)x, y, n),
                    x = (const uint8_t *)rest;
            if (from->load) from->load(rest, x, (size_t)n), x = (const uint8_t *)rest;
            if (*in_run > 0)
                s->red->add(stack_top(s), x, (size_t)n);
            else
                memcpy(stack_top(s), x, (size_t)n * s->elem), s->width[s->depth] = (size_t)n;
            ++*in_run;
            n = 0;
        }
        if (*in_run == WICK_RED_RUN || (last && n == 0)) {
            stack_push(s, s->width[s->depth]);
            *in_run = 0;
        }
    }
}

/* ---- lines as machine code: no block, the program's values go from registers to lanes ---------------------------- */

/* What the lines at hand are made from: as wick_native_lines_fn has it. */
typedef struct lines {
    const uint8_t *in[WICK_FUSED_MAX_IO];
    int64_t step[WICK_FUSED_MAX_IO];
    bool packs; /* an input comes by blocks */
} lines;

static void lines_of(lines *x, const reduction *r) {
    const wick_fused *f = r->m->f;
    x->packs = false;
    for (int i = 0; i < f->n_in; i++) {
        const uint8_t reach = r->l->reach[i];
        const bool strided =
            reach == WICK_REACH_ROW_NUMBER || (reach == WICK_REACH_LINES && r->l->lane_rows == 1 && f->n_red == 1);
        const bool number = reach == 0 || reach == WICK_REACH_NUMBER ||
                            (reach == WICK_REACH_BLOCKS && r->l->in_kind[i] == WICK_FUSED_STILL);
        x->step[i] = number ? 0 : strided ? f->in[i].strides[r->l->n_unit] : r->l->lane_rows * r->cols;
        x->packs |= reach == WICK_REACH_BLOCKS;
    }
}

/* feed, from lines. */
static void feed_lines(const reduction *r, stack *s, lines *x, int64_t n, int64_t line, int *in_run, bool last) {
    while (n > 0) {
        const int64_t part = WICK_MIN(n, (WICK_RED_RUN - *in_run) * line);
        const size_t whole = (size_t)(part / line), rest = (size_t)(part % line);
        r->m->lines(stack_top(s), (const void *const *)(const void *)x->in, x->step, whole, (size_t)line, rest,
                    *in_run > 0, r->m->rows);
        if (*in_run == 0) s->width[s->depth] = whole ? (size_t)line : rest;
        const int64_t done = (part + line - 1) / line;
        *in_run += (int)done;
        n -= part;
        for (int i = 0; i < r->m->f->n_in && n > 0; i++)
            if (x->step[i])
                x->in[i] +=
                    done * x->step[i] * (int64_t)wick_ctype_size(wick_ctype_of((wick_dtype)r->m->f->in[i].dtype));
        if (*in_run == WICK_RED_RUN || (last && n == 0)) {
            stack_push(s, s->width[s->depth]);
            *in_run = 0;
        }
    }
}

static void feed_chunk(const reduction *r, stack *s, int64_t line, int64_t first, int64_t end) {
    wick_machine *m = r->m;
    lines x;
    lines_of(&x, r);
    const int64_t most = x.packs ? m->f->block / line * line : WICK_RED_CHUNK * line;
    int in_run = 0;
    for (int64_t at = first, n; at < end; at += n) {
        n = WICK_MIN(most, end - at);
        for (int i = 0; i < m->f->n_in; i++) /* a number that changes does so between lines */
            if (r->l->reach[i] == WICK_REACH_BLOCKS && r->l->in_kind[i] == WICK_FUSED_STILL)
                n = WICK_MIN(n, m->in_run[i] - at % m->in_run[i]);
        for (int i = 0; i < m->f->n_in; i++) {
            const uint8_t reach = r->l->reach[i];
            if (reach == WICK_REACH_BLOCKS) wick_machine_input(m, i, at, n);
            x.in[i] = reach == WICK_REACH_BLOCKS || reach == WICK_REACH_NUMBER
                          ? m->reg[i]
                          : m->in_base[i] + at / line * x.step[i] * m->in_size[i];
        }
        feed_lines(r, s, &x, n, line, &in_run, at + n == end);
    }
}

/* One chunk of the unit that was entered; returns cols values. */
static const uint8_t *reduce_chunk(reduction *r, int64_t chunk) {
    wick_machine *m = r->m;
    const bool bf16 = m->f->n_instr == 0 && m->f->in[r->reg].dtype == WICK_BF16 && r->red->lanes_bf16;
    const int64_t line = r->l->lane_rows * r->cols, first = chunk * WICK_RED_CHUNK * line;
    const int64_t end = WICK_MIN(first + WICK_RED_CHUNK * line, m->space_total), stride = lines_in_place(r, bf16);
    stack s;
    int in_run = 0;
    stack_init(&s, r->red, m->scratch + r->l->lanes_offset, (size_t)line, r->elem);
    source from = {r->red->lanes, NULL, (int64_t)r->elem, NULL, NULL};
    const float *x = NULL;
    const int64_t run = WICK_RED_RUN * line;
    from.mapped = m->lines ? NULL : mapped_of(r, first, &x, &from.y);
    if (from.mapped && from.mapped->chunk && (end - first) % run == 0) {
        const float sum = from.mapped->chunk(x, from.y, (size_t)((end - first) / run));
        return memcpy(s.at, &sum, sizeof sum);
    }
    if (from.mapped && !from.mapped->lines) from.mapped = NULL;
    if (m->lines) {
        feed_chunk(r, &s, line, first, end);
    } else if (from.mapped) {
        feed(&s, &from, (const uint8_t *)x, end - first, line, line, &in_run, true);
    } else if (stride) {
        if (bf16) from = (source){r->red->lanes_bf16, m->convert->load[WICK_BF16], 2, NULL, NULL};
        if (r->l->from_dram && stride == line && !bf16 && r->red->lanes_far) from.lanes = r->red->lanes_far;
        feed(&s, &from, m->in_base[r->reg] + first / line * stride * from.elem, end - first, line, stride, &in_run,
             true);
    } else {
        const int64_t block = m->f->block / line * line;
        for (int64_t at = first; at < end; at += block) {
            const int64_t n = WICK_MIN(block, end - at);
            wick_machine_block(m, at, n);
            feed(&s, &from, m->reg[r->reg], n, line, line, &in_run, at + n == end);
        }
    }
    stack_finish(&s);
    r->red->fold(s.at, s.width[0], (size_t)r->l->lane_rows, (size_t)r->cols);
    return s.at;
}

/* n rows of `items` elements, one result each. */
static void units_mapped(const reduction *r, const wick_red_mapped *mapped, const float *x, const float *y, int64_t n,
                         int64_t items, float *results) {
    const int64_t whole = items / WICK_RED_LANES, rest = items % WICK_RED_LANES;
    _Alignas(64) float acc[WICK_RED_LANES], part[WICK_RED_LANES];
    for (int64_t u = 0; u < n; u++, x += items, y += items) {
        if (whole) mapped->lines(acc, x, y, (size_t)whole, false);
        if (rest) map_rest(mapped, whole ? part : acc, x + whole * WICK_RED_LANES, y + whole * WICK_RED_LANES, rest);
        if (rest && whole) r->red->add(acc, part, (size_t)rest);
        r->red->fold(acc, whole ? WICK_RED_LANES : (size_t)rest, WICK_RED_LANES, 1);
        results[u] = acc[0];
    }
}

static void run_short(reduction *r, int64_t first, int64_t last) {
    wick_machine *m = r->m;
    const float *x, *y;
    const int64_t items = r->l->reduced * r->l->cols, per_block = m->f->block / items;
    uint8_t *results = m->scratch + r->l->results_offset;
    wick_machine_enter(m, NULL);
    r->out = m->ptr[m->f->n_in];
    for (int64_t u = first; u < last; u += per_block) {
        const int64_t n = WICK_MIN(per_block, last - u);
        const wick_red_mapped *mapped = mapped_of(r, u * items, &x, &y);
        if (mapped && mapped->lines) {
            units_mapped(r, mapped, x, y, n, items, (float *)(void *)results);
        } else {
            wick_machine_block(m, u * items, n * items);
            r->red->units(results, m->reg[r->reg], (size_t)n, (size_t)r->l->reduced, (size_t)r->l->lane_rows,
                          (size_t)r->l->cols);
        }
        store_results(r, results, u * r->l->cols, n * r->l->cols);
    }
}

/* run_short with lines: units that lie equally far apart at a time. */
static void run_short_lines(reduction *r, int64_t first, int64_t last) {
    wick_machine *m = r->m;
    const wick_fused *f = m->f;
    const int64_t items = r->l->reduced * r->l->cols, line = r->l->lane_rows * r->cols,
                  inner = f->dims[r->l->n_unit - 1];
    const size_t whole = (size_t)(items / line), rest = (size_t)(items % line);
    lines x;
    lines_of(&x, r);
    const int64_t most = f->block / (x.packs ? items : r->cols);
    int64_t unit_step[WICK_FUSED_MAX_IO];
    uint8_t *results = m->scratch + r->l->results_offset;
    wick_machine_enter(m, NULL);
    r->out = m->ptr[f->n_in];
    for (int i = 0; i < f->n_in; i++)
        unit_step[i] = r->l->reach[i] == WICK_REACH_BLOCKS ? items : f->in[i].strides[r->l->n_unit - 1];
    for (int64_t u = first, n; u < last; u += n) {
        n = WICK_MIN(most, last - u);
        for (int i = 0; i < f->n_in; i++)
            if (r->l->reach[i] == WICK_REACH_BLOCKS) wick_machine_input(m, i, u * items, n * items);
        for (int64_t k = 0, part; k < n; k += part) {
            part = r->l->n_unit == 1 ? n : WICK_MIN(n - k, inner - (u + k) % inner);
            for (int i = 0; i < f->n_in; i++) {
                if (r->l->reach[i] == WICK_REACH_BLOCKS)
                    x.in[i] =
                        m->reg[i] + k * items * (int64_t)wick_ctype_size(wick_ctype_of((wick_dtype)f->in[i].dtype));
                else if (r->l->in_kind[i] == WICK_FUSED_SAME)
                    x.in[i] = m->reg[i];
                else
                    x.in[i] = m->in_base[i] +
                              wick_walk_offset(r->l->n_unit, f->dims, f->in[i].strides, u + k) * m->in_size[i];
            }
            m->units(results + (size_t)(k * r->cols) * r->elem, (size_t)part, (size_t)r->cols, unit_step,
                     (const void *const *)(const void *)x.in, x.step, whole, (size_t)line, rest, m->rows, r->red->fold);
        }
        store_results(r, results, u * r->cols, n * r->cols);
    }
}

/* What the kernel of chunks makes itself of inputs x, m and maybe g, of which m is a number: x, (x - m)^2 or g (x - m).
 * Below 0: nothing. */
static int summed_as(const reduction *r) {
    const wick_fused *f = r->m->f;
    const wick_fused_instr *sub = &f->instr[0], *last = &f->instr[1];
    if (f->n_instr == 0) return WICK_RED_OF_X;
    if (f->n_in < 2 || f->n_instr != 2 || last->dst != r->reg || r->l->in_kind[1] != WICK_FUSED_SAME) return -1;
    for (int i = 0; i < f->n_in; i++)
        if (f->in[i].dtype != WICK_F32 || (i != 1 && r->l->in_kind[i] <= WICK_FUSED_STILL)) return -1;
    if (sub->op != WICK_EW_sub || sub->src[0] != 0 || sub->src[1] != 1) return -1;
    if (f->n_in == 2 && last->op == WICK_EW_square && last->src[0] == sub->dst) return WICK_RED_OF_SQUARES;
    return f->n_in == 3 && last->op == WICK_EW_mul && last->src[0] == 2 && last->src[1] == sub->dst
               ? WICK_RED_OF_PRODUCTS
               : -1;
}

/* Chunks of the unit that was entered from the first on, before end, to dst, cols values each: one, or whole ones of a
 * plane, as many as a block holds. Returns how many. */
static int64_t reduce_chunks(reduction *r, int64_t first, int64_t end, uint8_t *dst) {
    wick_machine *m = r->m;
    const int64_t chunk = WICK_RED_CHUNK * r->l->lane_rows, whole = WICK_MIN(end, r->l->reduced / chunk) - first;
    if (!r->l->planes || whole < 1) {
        memcpy(dst, reduce_chunk(r, first), (size_t)r->cols * r->elem);
        return 1;
    }
    /* what goes on in another place is copied */
    const int64_t run = m->f->dims[m->f->rank - 1], here = (run - first * chunk % run) / chunk;
    const int64_t n = WICK_MAX(WICK_MIN(WICK_MIN(whole, here), WICK_MIN(m->f->block / chunk, CHUNKS_AT_ONCE)), 1);
    const int of = r->sums;
    int x = of ? 0 : r->reg, g = of == WICK_RED_OF_PRODUCTS ? 2 : x;
    if (of < 0) {
        wick_machine_block(m, first * chunk, n * chunk);
        x = g = r->reg;
    } else {
        wick_machine_input(m, x, first * chunk, n * chunk);
        if (g != x) wick_machine_input(m, g, first * chunk, n * chunk);
    }
    const float *from = (const float *)(const void *)m->reg[x], *with = (const float *)(const void *)m->reg[g],
                mean = of > 0 ? *(const float *)(const void *)m->reg[1] : 0;
    const int64_t most =
        r->l->from_dram ? WICK_MAX(1, WICK_ASK_BYTES / (chunk * (int64_t)sizeof *from * (1 + (g != x)))) : n;
    for (int64_t k = 0, part; k < n; k += part) {
        part = WICK_MIN(most, n - k);
        if (r->l->from_dram) wick_ask_ahead(from + k * chunk, part * chunk * (int64_t)sizeof *from);
        if (r->l->from_dram && g != x) wick_ask_ahead(with + k * chunk, part * chunk * (int64_t)sizeof *from);
        r->red->chunks((float *)(void *)dst + k, WICK_MAX(of, WICK_RED_OF_X), from + k * chunk, with + k * chunk, mean,
                       (size_t)part, (size_t)r->l->lane_rows);
    }
    return n;
}

/* The stack of a plane, whose entries are one number each. */
static float sum_of_plane(reduction *r) {
    float chunks[CHUNKS_AT_ONCE], at[WICK_RED_UNIT_DEPTH];
    int64_t pushed = 0;
    int depth = 0;
    for (int64_t c = 0; c < r->l->chunks;) {
        const int64_t n = reduce_chunks(r, c, r->l->chunks, (uint8_t *)chunks);
        for (int64_t k = 0; k < n; k++) {
            float sum = chunks[k];
            for (int64_t i = ++pushed; i % 2 == 0; i /= 2) sum = at[--depth] + sum;
            at[depth++] = sum;
        }
        c += n;
    }
    for (; depth > 1; depth--) at[depth - 2] += at[depth - 1];
    return at[0];
}

/* Units that are sums of whole runs that lie together, of one array or of two, from memory to results; false: they are
 * not. */
static bool run_sums(reduction *r, int64_t first, int64_t last) {
    wick_machine *m = r->m;
    const wick_fused *f = m->f;
    const wick_fused_layout *l = r->l;
    const int64_t chunk = WICK_RED_CHUNK * WICK_RED_LANES, run = WICK_RED_RUN * WICK_RED_LANES;
    const float *x, *y;
    if (l->planes || l->transposed || l->tiles > 1 || m->lines || l->reduced % run || first == last) return false;
    enter_unit(r, first);
    const wick_red_mapped *mapped = mapped_of(r, 0, &x, &y);
    if (!mapped || !mapped->chunk) return false;
    for (int64_t u = first; u < last; u++) {
        float at[WICK_RED_UNIT_DEPTH];
        int depth = 0;
        for (int i = 0; i < f->n_in; i++)
            m->in_base[i] =
                (const uint8_t *)m->ptr[i] + wick_walk_offset(l->n_unit, f->dims, f->in[i].strides, u) * m->in_size[i];
        mapped_of(r, 0, &x, &y);
        for (int64_t done = 0; done < l->reduced; done += chunk) {
            float sum = mapped->chunk(x + done, y + done, (size_t)(WICK_MIN(chunk, l->reduced - done) / run));
            for (int64_t n = done / chunk + 1; n % 2 == 0; n /= 2) sum = at[--depth] + sum;
            at[depth++] = sum;
        }
        for (; depth > 1; depth--) at[depth - 2] += at[depth - 1];
        r->out =
            (uint8_t *)m->ptr[f->n_in] + wick_walk_offset(l->n_unit, f->dims, f->out[0].strides, u) * m->out_size[0];
        store_results(r, at, 0, 1);
    }
    return true;
}

static void run_units(reduction *r, int64_t first, int64_t last) {
    if (run_sums(r, first, last)) return;
    for (int64_t u = first; u < last; u++) {
        enter_unit(r, u);
        if (r->l->planes) {
            float sum = sum_of_plane(r);
            store_results(r, &sum, 0, 1);
            continue;
        }
        stack s;
        stack_init(&s, r->red, r->m->scratch + r->l->results_offset, (size_t)r->cols, r->elem);
        for (int64_t c = 0; c < r->l->chunks; c++) {
            reduce_chunks(r, c, r->l->chunks, stack_top(&s));
            stack_push(&s, (size_t)r->cols);
        }
        stack_finish(&s);
        store_results(r, s.at, 0, r->cols);
    }
}

/* Stage 0: partials[unit][chunk][cols]. Task t: some chunks of one unit. */
static void run_split(reduction *r, int64_t begin, int64_t end, uint8_t *partials) {
    const size_t entry = (size_t)r->l->cols * r->elem;
    for (int64_t t = begin; t < end; t++) {
        const int64_t u = t / r->l->chunk_group, c0 = t % r->l->chunk_group * r->l->task_items;
        enter_unit(r, u);
        const int64_t c1 = WICK_MIN(c0 + r->l->task_items, r->l->chunks);
        for (int64_t c = c0; c < c1;) c += reduce_chunks(r, c, c1, partials + (size_t)(u * r->l->chunks + c) * entry);
    }
}

/* Stage 1: what run_units does with chunks, from partials. */
static void run_combine(reduction *r, int64_t begin, int64_t end, const uint8_t *partials) {
    const size_t entry = (size_t)r->l->cols * r->elem;
    for (int64_t u = begin; u < end; u++) {
        enter_unit(r, u);
        stack s;
        stack_init(&s, r->red, r->m->scratch + r->l->results_offset, (size_t)r->cols, r->elem);
        for (int64_t c = 0; c < r->l->chunks; c++) {
            memcpy(stack_top(&s), partials + (size_t)(u * r->l->chunks + c) * entry, s.entry);
            stack_push(&s, (size_t)r->cols);
        }
        stack_finish(&s);
        store_results(r, s.at, 0, r->cols);
    }
}

static void run_empty(reduction *r) {
    uint8_t *results = r->m->scratch + r->l->results_offset;
    for (int64_t u = 0; u < r->l->units; u++) {
        enter_unit(r, u);
        r->red->nothing(results, (size_t)r->cols);
        store_results(r, results, 0, r->cols);
    }
}

void wick_reduce_run(wick_machine *m, int stage, int64_t begin, int64_t end, void *partials) {
    const wick_fused *f = m->f;
    const wick_fused_layout *l = &f->layout;
    const wick_ctype type = wick_ctype_of((wick_dtype)f->out[0].dtype);
    reduction r = {.m = m,
                   .red = &(*tables[wick_tier_current()])[f->red][type],
                   .l = l,
                   .elem = wick_ctype_size(type),
                   .reg = f->out[0].reg,
                   .cols = l->cols,
                   .transposed = -1};
    memcpy(r.out_dims, l->out_dims, sizeof r.out_dims);
    if (l->planes) r.sums = summed_as(&r);
    const int64_t last = WICK_MIN(end * l->task_items, l->units);
    switch ((wick_fused_mode)l->mode) {
    case WICK_FUSED_BARE:
    case WICK_FUSED_ROWS:
    case WICK_FUSED_PLAIN:
        break;
    case WICK_FUSED_EMPTY:
        run_empty(&r);
        break;
    case WICK_FUSED_SHORT:
        (m->lines ? run_short_lines : run_short)(&r, begin * l->task_items, last);
        break;
    case WICK_FUSED_LONG:
        run_units(&r, begin * l->task_items, last);
        break;
    case WICK_FUSED_SPLIT:
        if (stage == 0)
            run_split(&r, begin, end, partials);
        else
            run_combine(&r, begin, end, partials);
        break;
    }
}
