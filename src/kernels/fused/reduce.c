/* reduce.c: programs that end in a reduction: units, chunks and the pairwise order of fused.h. */
#include "kernels/fused/run.h"

static const wick_red_rows *const tables[WICK_TIER_COUNT] = {
    [WICK_TIER_REF] = &wick_red_table_ref,
    [WICK_TIER_BASE] = &wick_red_table_base,
#ifdef __x86_64__
    [WICK_TIER_AVX2] = &wick_red_table_avx2,
    [WICK_TIER_AVX512] = &wick_red_table_avx512,
#endif
};

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
} reduction;

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

/* Lines of the only input, when the program is that input and its lines are contiguous: they are reduced where they lie.
 * Returns the stride of lines in elements, or 0. */
static int64_t lines_in_place(const reduction *r, bool bf16) {
    const wick_machine *m = r->m;
    const wick_fused *f = m->f;
    if (f->n_instr > 0 || r->l->in_kind[r->reg] != WICK_FUSED_WALK || !(bf16 || wick_fused_native((wick_dtype)f->in[r->reg].dtype))) return 0;
    const int64_t line = r->l->lane_rows * r->cols, *strides = f->in[r->reg].strides + r->l->space;
    if (m->in_run[r->reg] == m->space_total) return line;
    return r->l->lane_rows == 1 && m->space_rank == 2 && f->n_red == 1 && strides[1] == 1 ? strides[0] : 0;
}

/* Where the elements of a chunk come from. */
typedef struct source {
    void (*lanes)(void *acc, const void *x, size_t rows, size_t lanes, size_t stride, bool cont);
    wick_convert_fn load; /* to what lanes are; NULL: they are */
    int64_t elem;         /* bytes of one */
} source;

/* Adds n elements (whole lines, and at the end of the unit a part of one) to the runs on the stack. in_run counts lines
 * of the current run. row_stride: elements from line to line. */
static void feed(stack *s, const source *from, const uint8_t *x, int64_t n, int64_t line, int64_t row_stride, int *in_run, bool last) {
    double rest[WICK_RED_LINE];
    while (n > 0) {
        const int64_t lines = WICK_MIN(n / line, WICK_RED_RUN - *in_run);
        if (lines > 0) {
            from->lanes(stack_top(s), x, (size_t)lines, (size_t)line, (size_t)row_stride, *in_run > 0);
            s->width[s->depth] = (size_t)line;
            *in_run += (int)lines;
            x += lines * row_stride * from->elem;
            n -= lines * line;
        } else {
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

/* One chunk of the unit that was entered; returns cols values. */
static const uint8_t *reduce_chunk(reduction *r, int64_t chunk) {
    wick_machine *m = r->m;
    const bool bf16 = m->f->n_instr == 0 && m->f->in[r->reg].dtype == WICK_BF16 && r->red->lanes_bf16;
    const int64_t line = r->l->lane_rows * r->cols, first = chunk * WICK_RED_CHUNK * line;
    const int64_t end = WICK_MIN(first + WICK_RED_CHUNK * line, m->space_total), stride = lines_in_place(r, bf16);
    stack s;
    int in_run = 0;
    stack_init(&s, r->red, m->scratch + r->l->lanes_offset, (size_t)line, r->elem);
    source from = {r->red->lanes, NULL, (int64_t)r->elem};
    if (stride) {
        if (bf16) from = (source){r->red->lanes_bf16, m->convert->load[WICK_BF16], 2};
        else if (r->l->far && stride == line && r->red->lanes_far) from.lanes = r->red->lanes_far;
        feed(&s, &from, m->in_base[r->reg] + first / line * stride * from.elem, end - first, line, stride, &in_run, true);
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

static void run_short(reduction *r, int64_t first, int64_t last) {
    wick_machine *m = r->m;
    const int64_t items = r->l->reduced * r->l->cols, per_block = m->f->block / items;
    uint8_t *results = m->scratch + r->l->results_offset;
    wick_machine_enter(m, NULL);
    r->out = m->ptr[m->f->n_in];
    for (int64_t u = first; u < last; u += per_block) {
        const int64_t n = WICK_MIN(per_block, last - u);
        wick_machine_block(m, u * items, n * items);
        r->red->units(results, m->reg[r->reg], (size_t)n, (size_t)r->l->reduced, (size_t)r->l->lane_rows,
                      (size_t)r->l->cols);
        store_results(r, results, u * r->l->cols, n * r->l->cols);
    }
}

static void run_units(reduction *r, int64_t first, int64_t last) {
    for (int64_t u = first; u < last; u++) {
        enter_unit(r, u);
        stack s;
        stack_init(&s, r->red, r->m->scratch + r->l->results_offset, (size_t)r->cols, r->elem);
        for (int64_t c = 0; c < r->l->chunks; c++) {
            memcpy(stack_top(&s), reduce_chunk(r, c), s.entry);
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
        for (int64_t c = c0; c < WICK_MIN(c0 + r->l->task_items, r->l->chunks); c++)
            memcpy(partials + (size_t)(u * r->l->chunks + c) * entry, reduce_chunk(r, c), (size_t)r->cols * r->elem);
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
                   .reg = f->out[0].reg};
    memcpy(r.out_dims, l->out_dims, sizeof r.out_dims);
    const int64_t last = WICK_MIN(end * l->task_items, l->units);
    switch ((wick_fused_mode)l->mode) {
    case WICK_FUSED_BARE:
    case WICK_FUSED_PLAIN:
        break;
    case WICK_FUSED_EMPTY:
        run_empty(&r);
        break;
    case WICK_FUSED_SHORT:
        run_short(&r, begin * l->task_items, last);
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
