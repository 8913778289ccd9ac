/* epilogue.c: elementwise programs that run on what a product or a convolution makes, task by task, while it is in
 * cache. Nothing is computed otherwise than by a step of their own: the bits are the same. */
#include "exec/rewrite/rewrite.h"
#include "kernels/fused/fused.h"
#include "ops/lowering/cost.h"
#include "ops/ops.h"

/* steps between the two that are looked at; tasks that make any number of threads busy */
enum { WAY_BACK = 16, TASKS_ENOUGH = 16 };

/* Which ref of the step is its result. */
static int result_of(const wick_step *s) {
    return s->kind == WICK_STEP_CONV ? ((const wick_step_conv *)s->args)->at[WICK_STEP_CONV_DST] - 1 : 2;
}
static const wick_epilogue *epilogue_of(const wick_step *s) {
    return s->kind == WICK_STEP_CONV ? &((const wick_step_conv *)s->args)->epilogue
                                     : &((const wick_step_gemm *)s->args)->epilogue;
}

/* Does the program read all that the step writes, element by element in the order of memory? */
static bool reads_whole(const wick_step *program, const wick_step *s) {
    const wick_fused *f = &((const wick_step_program *)program->args)->fused;
    const wick_ref *to = &s->refs[result_of(s)];
    for (int k = 0; k < f->n_in; k++) {
        const wick_ref *from = &program->refs[k];
        if (from->buffer == to->buffer && from->offset == to->offset && f->layout.in_kind[k] == WICK_FUSED_WALK &&
            f->layout.in_run[k] == f->layout.total)
            return true;
    }
    return false;
}

static bool meet(const wick_step *a, const wick_step *b, bool only_reads) {
    for (int i = 0; i < a->n_refs; i++)
        for (int k = 0; k < b->n_refs; k++)
            if (a->refs[i].buffer == b->refs[k].buffer &&
                (only_reads ? !a->refs[i].write && b->refs[k].write : a->refs[i].write || b->refs[k].write))
                return true;
    return false;
}

/* Why the program, step `at`, cannot run within step i; NULL: it can. */
static const char *why_not(const wick_lower *l, size_t i, size_t at) {
    const wick_step *s = &l->steps[i], *program = &l->steps[at];
    const bool conv = s->kind == WICK_STEP_CONV;
    int64_t rows[2], cols[2];
    if (s->commits || program->commits) return "what writes states comes last";
    if (epilogue_of(s)->program) return "another kernel runs in it already";
    if (conv ? !wick_conv_makes_pixels(&((const wick_step_conv *)s->args)->conv)
             : !wick_gemm_task_block(&((const wick_step_gemm *)s->args)->gemm, 0, rows, cols))
        return "its kernel makes parts that lie apart";
    if (s->tasks < WICK_MIN(program->tasks, TASKS_ENOUGH)) return "it has fewer tasks to share between threads";
    if (s->n_refs + program->n_refs > WICK_STEP_BUFFERS) return "together they have too many buffers";
    if (meet(s, program, true)) return "it would write over what the other still reads";
    for (size_t k = i + 1; k < at; k++)
        if (l->steps[k].jump || l->steps[k].tap || meet(&l->steps[k], program, false))
            return "something between them has to run first";
    return NULL;
}

/* How often the program begins anew on the parts that the step's tasks make: on rows, where these are not whole. */
static double runs_within(const wick_step *s) {
    if (s->kind == WICK_STEP_CONV) return (double)((const wick_step_conv *)s->args)->conv.units;
    int64_t rows[2], cols[2];
    const wick_gemm *g = &((const wick_step_gemm *)s->args)->gemm;
    return !wick_gemm_task_block(g, 0, rows, cols) || cols[1] - cols[0] == g->n
               ? (double)s->tasks
               : (double)s->tasks * (double)(rows[1] - rows[0]);
}

/* The program, step `at`, becomes the epilogue of step i. */
static wick_status take(wick_rewriting *r, size_t i, size_t at) {
    wick_step *s = wick_rewriting_step(r, i);
    wick_step *program = &r->l->steps[at];
    void *args = s ? wick_rewriting_args(r, s) : NULL;
    if (!args) return wick_rewriting_no_memory(r);
    const size_t scratch = WICK_ALIGN_UP(s->scratch, WICK_ALIGN);
    const wick_epilogue epilogue = {program->args, s->n_refs, scratch};
    if (!wick_rewriting_join_refs(r, s, program)) return wick_rewriting_no_memory(r);
    if (s->kind == WICK_STEP_CONV) {
        wick_step_conv *conv = args;
        conv->epilogue = epilogue;
        wick_conv_make_pixels(&conv->conv, &r->l->ctx->tuning);
        conv->conv.nontemporal = false; /* it is read again at once */
        s->tasks = conv->conv.tasks[1];
    } else {
        ((wick_step_gemm *)args)->epilogue = epilogue;
    }
    s->scratch = scratch + program->scratch;
    program->rides = true;
    wick_rewriting_lives(r, i, program->refs, program->n_refs);
    return WICK_OK;
}

wick_status wick_rewrite_epilogue(wick_rewriting *r, const wick_lowered_program *p) {
    wick_lower *l = r->l;
    const size_t at = p->step;
    const wick_step *program = &l->steps[at];
    const wick_fused *f = program->args;
    if (f->layout.total == 0 || program->tasks == 0) return WICK_OK;
    for (size_t i = at; i-- > 0 && at - i <= WAY_BACK;) {
        const wick_step *s = &l->steps[i];
        if ((s->kind != WICK_STEP_CONV && s->kind != WICK_STEP_GEMM) || !reads_whole(program, s)) continue;
        const char *site = s->node->site ? s->node->site : "?", *why = why_not(l, i, at);
        if (why) {
            wick_remark(l->planning, "ride", l->node, "not within %s (%s): %s", s->name, site, why);
            return WICK_OK;
        }
        double apart;
        const double within = wick_epilogue_ns(
            &l->ctx->tuning, program, (double)l->buffers[s->refs[result_of(s)].buffer].size, runs_within(s), &apart);
        if (within > apart) {
            wick_remark(l->planning, "ride", l->node,
                        "not within %s (%s): predicted %.3g us there, %.3g as a step of its own", s->name, site,
                        within * 1e-3, apart * 1e-3);
            return WICK_OK;
        }
        uint32_t number;
        const bool out = wick_left_out(l->planning, WICK_CHOOSES_RIDE, &number);
        wick_remark(l->planning, "ride", l->node,
                    "%s ride:%u: within %s (%s), on what each of its tasks has made; predicted to save %.3g us of %.3g",
                    out ? "left out, as asked for:" : "taken as", number, s->name, site, (apart - within) * 1e-3,
                    apart * 1e-3);
        return out ? WICK_OK : take(r, i, at);
    }
    return WICK_OK;
}
