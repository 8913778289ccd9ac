/* run.c: runs a prepared program: inputs become pointers to blocks, one kernel call per instruction, outputs are
 * written in place or stored. */
#include "kernels/fused/run.h"

/* An output's register may lie in its memory from the moment it is made: unless that memory is an input which later
 * instructions still read, or another output shares the register. */
static bool may_write_through(const wick_fused *f, int o, void *const *ptr) {
    const wick_fused_io *out = &f->out[o];
    if (f->reduces || !wick_fused_native((wick_dtype)out->dtype) || out->reg < f->n_in) return false;
    for (int k = 0; k < o; k++)
        if (f->out[k].reg == out->reg) return false;
    int made = 0;
    while (made < f->n_instr && f->instr[made].dst != out->reg) made++;
    for (int i = 0; i < f->n_in; i++)
        if (ptr[i] == ptr[f->n_in + o] && f->layout.last_use[i] > made + 1) return false;
    return true;
}

/* An input that is itself an output may be stored after another output has been written over it: it is copied first. */
static bool overwritten_early(const wick_fused *f, int i, void *const *ptr) {
    if (f->reduces || f->layout.last_use[i] <= f->n_instr) return false;
    for (int o = 0; o < f->n_out; o++)
        if (ptr[f->n_in + o] == ptr[i]) return true;
    return false;
}

/* An output over an input gains nothing: its lines have been read by then. */
static bool may_stream(const wick_fused *f, int o, void *const *ptr) {
    for (int i = 0; i < f->n_in; i++)
        if (ptr[i] == ptr[f->n_in + o]) return false;
    return true;
}

void wick_machine_init(wick_machine *m, const wick_fused *f, const wick_native *native, void *const *ptr,
                       void *scratch) {
    const wick_fused_layout *l = &f->layout;
    const wick_tier tier = wick_tier_current();
    const wick_ew_rows *rows = wick_ew_kernels(tier);
    m->f = f;
    m->convert = wick_convert_kernels(tier);
    m->scratch = scratch;
    m->ptr = ptr;
    m->space_rank = f->rank - l->space;
    m->space_total = 1;
    for (int d = 0; d < m->space_rank; d++) {
        m->space_dims[d] = f->dims[l->space + d];
        m->space_total *= m->space_dims[d];
    }
    for (int i = 0; i < f->n_in; i++) {
        m->in_run[i] = l->in_run[i];
        m->in_size[i] = (int64_t)wick_dtype_size((wick_dtype)f->in[i].dtype);
        m->filled_from[i] = NULL;
        m->in_place[i] = wick_fused_native((wick_dtype)f->in[i].dtype) && !overwritten_early(f, i, ptr);
    }
    m->streams = l->streams;
    for (int o = 0; o < f->n_out; o++) m->streams = m->streams && may_stream(f, o, ptr);
    for (int o = 0; o < f->n_out; o++) {
        m->out_run[o] = l->out_run[o];
        m->out_base[o] = ptr[f->n_in + o];
        m->out_size[o] = (int64_t)wick_dtype_size((wick_dtype)f->out[o].dtype);
        m->direct[o] = may_write_through(f, o, ptr) && !m->streams;
    }
    m->whole = l->program ? wick_program_kernel(tier, l->program - 1) : NULL;
    const bool may = native && native->program.tier == tier;
    m->native = may ? atomic_load_explicit(&native->code, memory_order_acquire) : NULL;
    m->units = may ? atomic_load_explicit(&native->units, memory_order_acquire) : NULL;
    m->lines = m->units ? atomic_load_explicit(&native->lines, memory_order_acquire) : NULL;
    m->at_once = m->whole || m->native;
    m->stills = m->single = false;
    for (int i = 0; i < f->n_in; i++) m->stills |= l->in_kind[i] == WICK_FUSED_STILL;
    /* A whole program reads all of an element before it writes any of it. One whose numbers change goes by its
     * instructions where they do within a block. */
    for (int o = 0; o < f->n_out && m->at_once && !m->stills; o++)
        m->direct[o] = !m->streams && !f->reduces && wick_fused_native((wick_dtype)f->out[o].dtype);
    for (int i = 0; i < f->n_instr; i++) {
        const wick_fused_instr *in = &f->instr[i];
        const bool cast = in->op == WICK_FUSED_CAST;
        m->rows[i] = cast ? NULL : (*rows)[in->op][in->type];
        m->casts[i] = cast ? m->convert->cast[in->type][in->to] : NULL;
        m->reg[in->dst] = m->scratch + l->slot[in->dst] * l->slot_stride;
    }
}

int64_t wick_walk_offset(int rank, const int64_t *dims, const int64_t *strides, int64_t at) {
    int64_t offset = 0;
    for (int d = rank - 1; d > 0; d--) {
        offset += at % dims[d] * strides[d];
        at /= dims[d];
    }
    return rank ? offset + at * strides[0] : 0;
}

/* n elements from linear position `at` of the space, where they lie in memory if they are contiguous there, else NULL.
 */
static uint8_t *in_memory(const wick_machine *m, const wick_fused_io *io, int64_t elem, int64_t run,
                          const uint8_t *base, int64_t at, int64_t n) {
    if (run == m->space_total) return (uint8_t *)(uintptr_t)base + at * elem;
    if (at % run + n > run) return NULL;
    return (uint8_t *)(uintptr_t)base +
           wick_walk_offset(m->space_rank, m->space_dims, io->strides + m->f->layout.space, at) * elem;
}

/* Packs and converts n elements into `to`, as registers hold them. */
static void load(const wick_machine *m, int i, int64_t at, int64_t n, uint8_t *to) {
    const wick_fused_io *io = &m->f->in[i];
    const wick_convert_fn convert = m->convert->load[io->dtype];
    const uint8_t *from = in_memory(m, io, m->in_size[i], m->in_run[i], m->in_base[i], at, n);
    if (!from) {
        uint8_t *packed = convert ? m->scratch + m->f->layout.raw_offset : to;
        wick_walk_gather((int)m->in_size[i], m->space_rank, m->space_dims, io->strides + m->f->layout.space, at, n,
                         m->in_base[i], packed);
        from = packed;
    }
    if (convert)
        convert(to, from, (size_t)n);
    else if (from != to)
        memcpy(to, from, (size_t)(n * m->in_size[i]));
}

void wick_machine_enter(wick_machine *m, const int64_t *in_offsets) {
    const wick_fused *f = m->f;
    const wick_fused_layout *l = &f->layout;
    for (int i = 0; i < f->n_in; i++) {
        const wick_dtype dtype = (wick_dtype)f->in[i].dtype;
        m->in_base[i] = (const uint8_t *)m->ptr[i] + (in_offsets ? in_offsets[i] * m->in_size[i] : 0);
        m->reg[i] = m->scratch + l->in_offset[i];
        m->still[i] = -1;
        if ((l->in_kind[i] != WICK_FUSED_SAME && l->in_kind[i] != WICK_FUSED_PERIOD) ||
            m->filled_from[i] == m->in_base[i])
            continue;
        const int64_t elem = (int64_t)wick_ctype_size(wick_ctype_of(dtype));
        m->filled_from[i] = m->in_base[i];
        if (l->in_kind[i] == WICK_FUSED_SAME) {
            uint64_t value = 0;
            load(m, i, 0, 1, (uint8_t *)&value);
            m->convert->fill((int)elem, m->reg[i], &value,
                             m->lines || (m->at_once && !m->stills) ? 1 : (size_t)WICK_MIN(f->block, m->space_total));
            continue;
        }
        /* one period, then what is there already, twice as much each time */
        const int64_t all = WICK_MIN(f->block, m->space_total) + l->in_period[i];
        int64_t have = l->in_period[i];
        load(m, i, 0, have, m->reg[i]);
        for (; have < all; have *= 2)
            memcpy(m->reg[i] + have * elem, m->reg[i], (size_t)(WICK_MIN(have, all - have) * elem));
    }
}

/* Whether no input changes its number within the block. */
static bool single_numbers(const wick_machine *m, int64_t at, int64_t n) {
    for (int i = 0; i < m->f->n_in; i++)
        if (m->f->layout.in_kind[i] == WICK_FUSED_STILL && at % m->in_run[i] + n > m->in_run[i]) return false;
    return true;
}

/* n elements of an input whose value changes every in_run elements; of single numbers one, for a whole program. */
static void fill_still(wick_machine *m, int i, int64_t at, int64_t n, uint8_t *to) {
    const wick_fused_io *io = &m->f->in[i];
    const wick_convert_fn convert = m->convert->load[io->dtype];
    const int elem = (int)wick_ctype_size(wick_ctype_of((wick_dtype)io->dtype));
    const int64_t length = m->in_run[i], within = m->single ? -1 : at % length + n <= length ? at / length : -1;
    if (m->single) n = 1;
    if (within >= 0) {
        if (m->still[i] == within) return;
        n = WICK_MIN(m->f->block, length);
    }
    m->still[i] = within;
    for (int64_t done = 0, next; done < n; done = next) {
        next = within >= 0 ? n : WICK_MIN(n, ((at + done) / length + 1) * length - at);
        const void *from =
            m->in_base[i] +
            wick_walk_offset(m->space_rank, m->space_dims, io->strides + m->f->layout.space, at + done) * m->in_size[i];
        uint64_t value;
        if (convert) convert(&value, from, 1);
        m->convert->fill(elem, to + done * elem, convert ? &value : from, (size_t)(next - done));
    }
}

void wick_machine_input(wick_machine *m, int i, int64_t at, int64_t n) {
    const wick_fused_layout *l = &m->f->layout;
    const wick_dtype dtype = (wick_dtype)m->f->in[i].dtype;
    uint8_t *buffer = m->scratch + l->in_offset[i];
    if (l->in_kind[i] == WICK_FUSED_PERIOD) {
        m->reg[i] = buffer + at % l->in_period[i] * (int64_t)wick_ctype_size(wick_ctype_of(dtype));
        return;
    }
    if (l->in_kind[i] == WICK_FUSED_STILL) {
        m->reg[i] = buffer;
        fill_still(m, i, at, n, buffer);
        return;
    }
    uint8_t *there =
        m->in_place[i] ? in_memory(m, &m->f->in[i], m->in_size[i], m->in_run[i], m->in_base[i], at, n) : NULL;
    m->reg[i] = there ? there : buffer;
    if (l->from_dram && (!m->streams || !there) && m->in_run[i] == m->space_total)
        wick_ask_ahead(m->in_base[i] + at * m->in_size[i], n * m->in_size[i]);
    if (!there) load(m, i, at, n, buffer);
}

/* Stores n elements of an output that lie at `to`; NULL: across their strides, from position `at` on. */
static void store(wick_machine *m, int o, uint8_t *to, int64_t at, int64_t n) {
    const wick_fused_io *io = &m->f->out[o];
    const wick_convert_fn convert = m->convert->store[io->dtype];
    const uint8_t *from = m->reg[io->reg];
    if (convert) {
        uint8_t *raw = to && !m->streams ? to : m->scratch + m->f->layout.raw_offset;
        convert(raw, from, (size_t)n);
        from = raw;
    }
    if (!to)
        wick_walk_scatter((int)m->out_size[o], m->space_rank, m->space_dims, io->strides + m->f->layout.space, at, n,
                          from, m->out_base[o]);
    else if (m->streams)
        m->convert->stream(to, from, (size_t)(n * m->out_size[o]));
    else if (from != to)
        memcpy(to, from, (size_t)(n * m->out_size[o]));
}

static void run_instructions(wick_machine *m, int64_t n) {
    const wick_fused *f = m->f;
    if (m->native && (m->single || !m->stills)) {
        void *out[WICK_FUSED_MAX_IO];
        for (int o = 0; o < f->n_out; o++) out[o] = m->reg[f->out[o].reg];
        m->native((const void *const *)(const void *)m->reg, out, (size_t)n, m->rows);
        return;
    }
    if (m->whole && (m->single || !m->stills)) {
        const wick_fused_layout *l = &f->layout;
        const void *in[WICK_FUSED_MAX_IO];
        void *out[WICK_FUSED_MAX_IO];
        for (int o = 0; o < f->n_out; o++) out[l->whole_out[o]] = m->reg[f->out[o].reg];
        for (int i = 0; l->reordered && i < f->n_in; i++) in[l->whole_in[i]] = m->reg[i];
        m->whole(l->reordered ? in : (const void *const *)(const void *)m->reg, out, (size_t)n);
        return;
    }
    for (int i = 0; i < f->n_instr; i++) {
        const wick_fused_instr *in = &f->instr[i];
        uint8_t *dst = m->reg[in->dst], *const *reg = m->reg;
        if (m->rows[i])
            m->rows[i](dst, reg[in->src[0]], reg[in->src[1]], reg[in->src[2]], (size_t)n);
        else if (m->casts[i])
            m->casts[i](dst, reg[in->src[0]], (size_t)n);
        else
            memcpy(dst, reg[in->src[0]], (size_t)n * wick_ctype_size((wick_ctype)in->to));
    }
}

/* A block whose outputs are stored nontemporally, a part at a time. */
static void stream_block(wick_machine *m, uint8_t **to, int64_t at, int64_t n) {
    const wick_fused *f = m->f;
    for (int64_t done = 0, part; done < n; done += part) {
        part = WICK_MIN(f->layout.part, n - done);
        for (int i = 0; i < f->n_in && f->layout.from_dram; i++)
            if (m->in_place[i] && f->layout.in_kind[i] == WICK_FUSED_WALK)
                wick_ask_ahead(m->reg[i], part * m->in_size[i]);
        run_instructions(m, part);
        for (int o = 0; o < f->n_out; o++) {
            store(m, o, to[o], at + done, part);
            if (to[o]) to[o] += part * m->out_size[o];
        }
        for (int i = 0; i < f->n_in; i++)
            if (f->layout.in_kind[i] > WICK_FUSED_STILL || (f->layout.in_kind[i] == WICK_FUSED_STILL && !m->single))
                m->reg[i] += part * (int64_t)wick_ctype_size(wick_ctype_of((wick_dtype)f->in[i].dtype));
    }
}

void wick_machine_block(wick_machine *m, int64_t at, int64_t n) {
    const wick_fused *f = m->f;
    const wick_fused_layout *l = &f->layout;
    uint8_t *to[WICK_FUSED_MAX_IO];
    m->single = m->at_once && m->stills && single_numbers(m, at, n);
    for (int i = 0; i < f->n_in; i++)
        if (l->in_kind[i] >= WICK_FUSED_STILL) wick_machine_input(m, i, at, n);
    for (int o = 0; o < f->n_out && !f->reduces; o++) {
        to[o] = in_memory(m, &f->out[o], m->out_size[o], m->out_run[o], m->out_base[o], at, n);
        if (m->direct[o]) m->reg[f->out[o].reg] = to[o] ? to[o] : m->scratch + l->slot[f->out[o].reg] * l->slot_stride;
    }
    if (m->streams) {
        stream_block(m, to, at, n);
        return;
    }
    run_instructions(m, n);
    for (int o = 0; o < f->n_out && !f->reduces; o++)
        if (!m->direct[o] || !to[o]) store(m, o, to[o], at, n);
}

static void run_bare(const wick_fused *f, int64_t at, int64_t stop, void *const *ptr) {
    const wick_fused_instr *in = &f->instr[0];
    const wick_ew_fn row = (*wick_ew_kernels(wick_tier_current()))[in->op][in->type];
    const uint8_t *from[WICK_FUSED_MAX_IO];
    for (int i = 0; i < f->n_in; i++)
        from[i] = (const uint8_t *)ptr[i] + at * (int64_t)wick_dtype_size((wick_dtype)f->in[i].dtype);
    const int arity = wick_fused_arity(in);
    row((uint8_t *)ptr[f->n_in] + at * (int64_t)wick_dtype_size((wick_dtype)f->out[0].dtype), from[in->src[0]],
        arity > 1 ? from[in->src[1]] : NULL, arity > 2 ? from[in->src[2]] : NULL, (size_t)(stop - at));
}

static void run_by_rows(const wick_fused *f, int64_t at, int64_t stop, void *const *ptr) {
    const wick_fused_layout *l = &f->layout;
    const wick_program_fn whole = wick_program_kernel(wick_tier_current(), l->program - 1);
    const int last = f->rank - 1;
    const int64_t length = f->dims[last];
    int64_t row = at / length, from = at % length, in_size[WICK_FUSED_MAX_IO], out_size[WICK_FUSED_MAX_IO];
    for (int i = 0; i < f->n_in; i++) in_size[i] = (int64_t)wick_dtype_size((wick_dtype)f->in[i].dtype);
    for (int o = 0; o < f->n_out; o++) out_size[o] = (int64_t)wick_dtype_size((wick_dtype)f->out[o].dtype);
    for (int64_t n; at < stop; at += n, row++, from = 0) {
        const void *in[WICK_FUSED_MAX_IO];
        void *out[WICK_FUSED_MAX_IO];
        n = WICK_MIN(length - from, stop - at);
        for (int i = 0; i < f->n_in; i++)
            in[l->whole_in[i]] =
                (const char *)ptr[i] +
                (wick_walk_offset(last, f->dims, f->in[i].strides, row) + from * f->in[i].strides[last]) * in_size[i];
        for (int o = 0; o < f->n_out; o++)
            out[l->whole_out[o]] = (char *)ptr[f->n_in + o] +
                                   (wick_walk_offset(last, f->dims, f->out[o].strides, row) + from) * out_size[o];
        whole(in, out, (size_t)n);
    }
}

void wick_fused_run(const wick_fused *f, int stage, int64_t begin, int64_t end, void *const *ptr, void *partials,
                    void *scratch) {
    wick_fused_run_native(f, NULL, stage, begin, end, ptr, partials, scratch);
}
void wick_fused_run_native(const wick_fused *f, const wick_native *native, int stage, int64_t begin, int64_t end,
                           void *const *ptr, void *partials, void *scratch) {
    if (begin >= end) return;
    if (f->layout.mode == WICK_FUSED_BARE) {
        run_bare(f, begin * f->layout.task_items, WICK_MIN(end * f->layout.task_items, f->layout.total), ptr);
        return;
    }
    if (f->layout.mode == WICK_FUSED_ROWS) {
        run_by_rows(f, begin * f->layout.task_items, WICK_MIN(end * f->layout.task_items, f->layout.total), ptr);
        return;
    }
    wick_machine m;
    wick_machine_init(&m, f, native, ptr, scratch);
    if (f->reduces) {
        wick_reduce_run(&m, stage, begin, end, partials);
        return;
    }
    const int64_t stop = WICK_MIN(end * f->layout.task_items, f->layout.total);
    wick_machine_enter(&m, NULL);
    for (int64_t at = begin * f->layout.task_items; at < stop; at += f->block)
        wick_machine_block(&m, at, WICK_MIN(f->block, stop - at));
    if (m.streams) wick_stream_end();
}

void wick_fused_run_rows(const wick_fused *f, const wick_native *native, int64_t at, int64_t rows, int64_t row_step,
                         int64_t n, void *const *ptr, void *scratch) {
    if (f->layout.mode == WICK_FUSED_BARE) {
        for (int64_t row = 0; row < rows; row++) run_bare(f, at + row * row_step, at + row * row_step + n, ptr);
        return;
    }
    wick_machine m;
    wick_machine_init(&m, f, native, ptr, scratch);
    wick_machine_enter(&m, NULL);
    for (int64_t row = 0; row < rows; row++, at += row_step)
        for (int64_t i = 0; i < n; i += f->block) wick_machine_block(&m, at + i, WICK_MIN(f->block, n - i));
    if (m.streams) wick_stream_end();
}
