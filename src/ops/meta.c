/* meta.c: ops about the graph itself: gradients, effects, fused groups; and the list of all ops. */
#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/ops.h"

double wick_no_flops(const wick_node *node) { return (void)node, 0; }
double wick_flops_per_input(const wick_node *node) { return (double)wick_type_count(&node->in[0]->type); }

static wick_status infer_same(wick_infer *i) {
    *i->out = *i->in[0];
    return WICK_OK;
}
static bool view_same(const wick_node *node, const wick_layout *in, wick_layout *out) {
    (void)node;
    *out = *in;
    return true;
}

/* ---- stop_gradient, custom_gradient ------------------------------------------------------------------------------ */

const wick_op wick_op_stop_gradient = {.name = "stop_gradient",
                                       .doc = "x, as a constant to gradients",
                                       .torch = "Tensor.detach",
                                       .cost = "0",
                                       .min_in = 1,
                                       .max_in = 1,
                                       .n_out = 1,
                                       .flags = WICK_OP_VIEW | WICK_OP_MOVES | WICK_OP_WHOLE,
                                       .infer = infer_same,
                                       .flops = wick_no_flops,
                                       .view = view_same};
wick_tensor *wick_stop_gradient(wick_tensor *x) { return wick_record(NULL, &wick_op_stop_gradient, 1, &x, NULL, 0); }

static void grad_custom(wick_gradient *g) { /* inputs: y, then xs */
    const wick_custom_attr *attr = g->node->attr;
    attr->rule(attr->user, g->gout[0], g->in[0], g->n_in - 1, g->in + 1, g->gin + 1);
    for (int i = 1; i < g->n_in; i++) {
        wick_tensor *gx = g->gin[i];
        if (gx && !gx->error && !wick_same_dims(&gx->value->type, &g->node->in[i]->type))
            g->gin[i] = wick_poison(gx->ctx, WICK_ERR_SHAPE,
                                    "custom_gradient: the rule's gradient %d is not of its tensor's shape", i - 1);
    }
}
const wick_op wick_op_custom_gradient = {.name = "custom_gradient",
                                         .doc = "y, with a gradient of the caller's own",
                                         .torch = "autograd.Function",
                                         .cost = "0",
                                         .min_in = 1,
                                         .max_in = 255,
                                         .n_out = 1,
                                         .flags = WICK_OP_VIEW | WICK_OP_POINTERS,
                                         .infer = infer_same,
                                         .grad = grad_custom,
                                         .flops = wick_no_flops,
                                         .view = view_same};
wick_tensor *wick_custom_gradient(wick_tensor *y, int n, wick_tensor *const *xs, wick_gradient_rule rule, void *user) {
    wick_tensor *in[64];
    if (!y) return NULL;
    if (n < 0 || n > 63 || !rule || (n && !xs))
        return wick_poison(y->ctx, WICK_ERR_INVALID, "custom_gradient: needs a rule and at most 63 tensors");
    in[0] = y;
    for (int i = 0; i < n; i++) in[i + 1] = xs[i];
    wick_custom_attr attr = {rule, user};
    return wick_record(NULL, &wick_op_custom_gradient, n + 1, in, &attr, sizeof attr);
}

/* ---- grad: (loss, wrt...) -> gradients; a pass replaces it by what it stands for --------------------------------- */

static wick_status infer_grad(wick_infer *i) {
    if (!wick_dtype_is_float(i->in[0]->dtype) || wick_type_count(i->in[0]) != 1)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the loss must be one number of a float type");
    for (int k = 0; k < i->n_out; k++) {
        i->out[k] = *i->in[k + 1];
        if (!wick_dtype_is_float(i->out[k].dtype))
            return wick_infer_fail(i, WICK_ERR_DTYPE, "tensor %d is of integers, which have no gradient", k);
    }
    return WICK_OK;
}
const wick_op wick_op_grad = {.name = "grad", .doc = "gradients of a loss; expanded when a plan is made",
                              .torch = "autograd.grad", .min_in = 2, .max_in = 255, .infer = infer_grad};

/* What wick_grad checks by, once it is recorded: nodes to look at. */
typedef struct reach {
    wick_context *ctx;
    wick_node **stack;
    size_t n, cap;
    bool nomem;
} reach;
static void reach_push(reach *r, wick_node *node) {
    if (node->mark == r->ctx->walk) return;
    node->mark = r->ctx->walk;
    if (!wick_grow(&r->ctx->alloc, (void **)&r->stack, &r->cap, r->n + 1, sizeof *r->stack))
        r->nomem = true;
    else
        r->stack[r->n++] = node;
}

/* Does a gradient flow from node to its input k? */
static bool flows(const wick_node *node, int k) {
    if (node->op == &wick_op_grad) return true; /* it stands for ops that have gradients */
    return node->op->grad && (node->op != &wick_op_custom_gradient || k > 0);
}

/* Marks the values of wrt (id 1) that loss depends on through pending nodes. */
static uint32_t find_reached(reach *r, const wick_tensor *loss, int n, wick_tensor *const *wrt) {
    uint32_t wanted = ++r->ctx->walk;
    for (int i = 0; i < n; i++) wrt[i]->value->mark = wanted, wrt[i]->value->id = wrt[i]->value == loss->value;
    r->ctx->walk++;
    if (!(loss->value->node->flags & WICK_NODE_EVALUATED)) reach_push(r, loss->value->node);
    while (r->n && !r->nomem) {
        wick_node *node = r->stack[--r->n];
        for (int k = 0; k < node->n_in; k++) {
            if (node->in[k]->mark == wanted) node->in[k]->id = 1;
            if (!(node->in[k]->node->flags & WICK_NODE_EVALUATED)) reach_push(r, node->in[k]->node);
        }
    }
    return wanted;
}

wick_status wick_reached(const wick_tensor *loss, int n, wick_tensor *const *wrt, bool *reached) {
    reach r = {.ctx = loss->ctx};
    find_reached(&r, loss, n, wrt);
    for (int i = 0; i < n; i++) reached[i] = wrt[i]->value->id;
    wick_release(&r.ctx->alloc, r.stack, r.cap * sizeof *r.stack);
    return r.nomem ? wick_msg_set(&r.ctx->msg, WICK_ERR_NOMEM, "out of memory looking at what the loss depends on")
                   : WICK_OK;
}

/* There must be a path from the loss to each tensor through pending nodes, and none through values that were evaluated:
 * those are leaves, and the gradient behind them would silently be missing. Checked when it is recorded (grad is NULL),
 * where the caller's line is known, and again when it is computed, if anything was evaluated in between. The poison, or
 * NULL. */
static wick_tensor *check_paths(wick_context *ctx, const wick_tensor *loss, int n, wick_tensor *const *wrt,
                                const wick_node *grad) {
    const char *advice = grad ? "ask for gradients before what they go through, or for both in one wick_eval"
                              : "record wick_grad first, or cut the path with wick_stop_gradient";
    reach r = {.ctx = ctx};
    wick_tensor *poison = NULL;
    wick_node *evaluated = NULL, *start = loss->value->node;
    uint32_t wanted = find_reached(&r, loss, n, wrt);
    if (grad && start->flags & WICK_NODE_EVALUATED)
        poison = wick_poison(ctx, WICK_ERR_INVALID, "grad (recorded at %s): the loss has been evaluated since; %s",
                             grad->site ? grad->site : "?", advice);
    for (int i = 0; i < n && !poison && !grad; i++)
        if (!wrt[i]->value->id)
            poison =
                start->flags & WICK_NODE_EVALUATED
                    ? wick_poison(
                          ctx, WICK_ERR_INVALID,
                          "grad: the loss has been evaluated already; record wick_grad before asking for its value")
                    : wick_poison(ctx, WICK_ERR_INVALID,
                                  "grad: the loss does not depend on tensor %d through pending ops", i);
    /* Which evaluated nodes do gradients come to? */
    ctx->walk++;
    reach_push(&r, start);
    while (r.n && !r.nomem) {
        wick_node *node = r.stack[--r.n];
        if (node->flags & WICK_NODE_EVALUATED) {
            node->next = evaluated;
            evaluated = node;
            continue;
        }
        for (int k = 0; k < node->n_in; k++)
            if (flows(node, k)) reach_push(&r, node->in[k]->node);
    }
    /* Would they go on from there to a tensor asked for? */
    ctx->walk++;
    for (wick_node *e = evaluated; e && !poison; e = e->next) {
        /* a state's new version, which has no history any more */
        if (grad && !e->n_in && (int32_t)(e->position - (uint32_t)grad->slot[0]) > 0)
            poison =
                wick_poison(ctx, WICK_ERR_INVALID,
                            "grad (recorded at %s): a state that the path leads through has been evaluated since; %s",
                            grad->site ? grad->site : "?", advice);
        reach_push(&r, e);
        while (r.n && !r.nomem && !poison) {
            wick_node *node = r.stack[--r.n];
            for (int k = 0; k < node->n_in && !poison; k++) {
                if (!flows(node, k)) continue;
                for (int i = 0; i < n && node->in[k]->mark == wanted && !poison; i++)
                    if (wrt[i]->value == node->in[k])
                        poison = wick_poison(ctx, WICK_ERR_INVALID,
                                             "grad: the path to tensor %d leads through %s (recorded at %s), which has "
                                             "been evaluated already; %s",
                                             i, e->op->name, e->site ? e->site : "?", advice);
                reach_push(&r, node->in[k]->node);
            }
        }
    }
    if (r.nomem) poison = &ctx->nomem;
    wick_release(&ctx->alloc, r.stack, r.cap * sizeof *r.stack);
    return poison;
}

wick_status wick_grad_recheck(wick_context *ctx, const wick_node *grad, bool *walked) {
    if ((uint32_t)grad->slot[0] == ctx->evaluated) return WICK_OK;
    *walked = true;
    const size_t n = grad->n_in, size = n * (sizeof(wick_tensor) + sizeof(wick_tensor *)); /* handles on its inputs */
    wick_tensor *handles = wick_calloc(&ctx->alloc, size);
    if (!handles)
        return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory looking at what a gradient goes through");
    wick_tensor **in = (wick_tensor **)(handles + n);
    for (size_t i = 0; i < n; i++) {
        in[i] = &handles[i];
        handles[i].ctx = ctx;
        handles[i].value = grad->in[i];
    }
    wick_tensor *poison = check_paths(ctx, in[0], (int)n - 1, in + 1, grad);
    wick_release(&ctx->alloc, handles, size);
    if (!poison) return WICK_OK;
    const wick_status status = wick_fail_poison(ctx, poison);
    wick_tensor_free(&poison);
    return status;
}

void wick_grad(wick_tensor *loss, int n, wick_tensor *const *wrt, wick_tensor **out) {
    if (!out) return;
    wick_tensor *small[64], **in = small;
    wick_context *ctx = loss ? loss->ctx : n > 0 && wrt && wrt[0] ? wrt[0]->ctx : NULL;
    if (ctx && n > 0 && !wrt) {
        for (int i = 0; i < n; i++) out[i] = wick_poison(ctx, WICK_ERR_INVALID, "grad: wrt is NULL");
        return;
    }
    if (!ctx || n <= 0) {
        for (int i = 0; i < n; i++) out[i] = NULL;
        return;
    }
    wick_tensor *poison = NULL;
    if (n > 63 && !(in = wick_alloc(&ctx->alloc, (size_t)(n + 1) * sizeof *in))) {
        for (int i = 0; i < n; i++) out[i] = &ctx->nomem;
        return;
    }
    in[0] = loss;
    bool sound = loss && !loss->error;
    for (int i = 0; i < n; i++) {
        in[i + 1] = wrt[i];
        sound &= wrt[i] && !wrt[i]->error;
    }
    /* In a graph that is being rewritten (gradient rules that take gradients) everything is pending. */
    if (sound && !ctx->target) poison = check_paths(ctx, loss, n, wrt, NULL);
    if (poison)
        for (int i = 0; i < n; i++) out[i] = i ? wick_poison_like(ctx, poison->error) : poison;
    else
        wick_record_n(ctx, &wick_op_grad, n + 1, in, NULL, 0, n, out);
    /* as far as its paths are known to be pending */
    if (!ctx->target && !out[0]->error) out[0]->value->node->slot[0] = ctx->evaluated;
    if (in != small) wick_release(&ctx->alloc, in, (size_t)(n + 1) * sizeof *in);
}

/* ---- effects ----------------------------------------------------------------------------------------------------- */

static wick_status record_effect(const wick_op *op, wick_tensor *x, const void *attr, size_t attr_size) {
    if (!x) return WICK_ERR_INVALID;
    if (x->error) return wick_fail_poison(x->ctx, x);
    wick_tensor *t = wick_record(NULL, op, 1, &x, attr, attr_size);
    if (t->error) return wick_fail_poison(x->ctx, t);
    wick_status status = wick_effect_push(x->ctx, t->value->node, NULL, NULL);
    wick_tensor_free(&t);
    return status;
}

static int64_t run_tap(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)begin, (void)end, (void)scratch;
    const wick_node *node = args;
    const wick_tap_attr *attr = node->attr;
    const wick_type *t = &node->in[0]->type;
    attr->fn(attr->user, (wick_dtype)t->dtype, t->rank, t->dims, ptr[0]);
    return -1;
}
static wick_status lower_tap(wick_lower *l, wick_node *node) {
    wick_operand in;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    wick_lower_set(l, node, 0, wick_lower_in(l, node, 0));
    /* The node itself is what the step needs to know; it lives in the plan's arena. */
    size_t size = node->size;
    return wick_lower_step(l, &(wick_step){.name = "tap", .run = run_tap, .tasks = 1, .tap = true}, node, size,
                           (wick_ref[]){wick_lower_ref(&in, false)}, 1);
}
const wick_op wick_op_tap = {.name = "tap",
                             .doc = "shows a value to the host when the plan passes",
                             .cost = "0",
                             .min_in = 1,
                             .max_in = 1,
                             .n_out = 1,
                             .flags = WICK_OP_EFFECT | WICK_OP_POINTERS | WICK_OP_MOVES | WICK_OP_WHOLE,
                             .infer = infer_same,
                             .flops = wick_no_flops,
                             .lower = lower_tap};
wick_status wick_tap(wick_tensor *x, wick_tap_fn fn, void *user) {
    wick_tap_attr attr = {fn, user};
    if (!fn && x) return wick_msg_set(&x->ctx->msg, WICK_ERR_INVALID, "tap: fn is NULL");
    return record_effect(&wick_op_tap, x, &attr, sizeof attr);
}

static wick_status infer_check(wick_infer *i) {
    *i->out = *i->in[0];
    if (i->in[0]->dtype != WICK_F32 && i->in[0]->dtype != WICK_F64)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "checks f32 and f64");
    return WICK_OK;
}
static int64_t run_check(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)begin, (void)end, (void)scratch;
    const wick_step_check *a = args;
    for (int64_t i = 0; i < a->count; i++) {
        double v = a->is_f64 ? ((const double *)ptr[0])[i] : (double)((const float *)ptr[0])[i];
        if (!(v - v == 0)) return i;
    }
    return -1;
}
static wick_status lower_check(wick_lower *l, wick_node *node) {
    wick_operand in;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    wick_lower_set(l, node, 0, wick_lower_in(l, node, 0));
    wick_step_check a = {in.type->dtype == WICK_F64, wick_type_count(in.type)};
    wick_step step = {.name = "check_finite",
                      .kind = WICK_STEP_CHECK,
                      .run = run_check,
                      .tasks = 1,
                      .bytes = (double)wick_type_bytes(in.type),
                      .fault = WICK_ERR_NOT_FINITE,
                      .fault_text = "element %lld is NaN or Inf"};
    return wick_lower_step(l, &step, &a, sizeof a, (wick_ref[]){wick_lower_ref(&in, false)}, 1);
}
const wick_op wick_op_check_finite = {.name = "check_finite",
                                      .doc = "fails the run when a value is NaN or Inf",
                                      .cost = "0",
                                      .min_in = 1,
                                      .max_in = 1,
                                      .n_out = 1,
                                      .flags = WICK_OP_EFFECT | WICK_OP_FAULTS,
                                      .infer = infer_check,
                                      .flops = wick_no_flops,
                                      .lower = lower_check};
wick_status wick_check_finite(wick_tensor *x) {
    if (x && !x->error && (wick_tensor_dtype(x) == WICK_F16 || wick_tensor_dtype(x) == WICK_BF16))
        x = wick_as(x, WICK_F32);
    return record_effect(&wick_op_check_finite, x, NULL, 0);
}

/* ---- fused: a region of elementwise nodes, made by the fusion pass ----------------------------------------------- */

static wick_status infer_fused(wick_infer *i) {
    return wick_infer_fail(i, WICK_ERR_INVALID, "is made by the fusion pass only");
}
static double flops_fused(const wick_node *node) {
    double flops = 0;
    const wick_graph *body = node->regions[0];
    for (size_t i = 0; i < body->n; i++) {
        const wick_node *b = body->nodes[i];
        flops += wick_node_flops(b);
    }
    return flops;
}
static wick_status lower_fused(wick_lower *l, wick_node *node) {
    const wick_graph *body = node->regions[0];
    return wick_lower_program(l, node, body->nodes, body->n, body->inputs, body->outputs);
}
const wick_op wick_op_fused = {.name = "fused", .doc = "elementwise ops run block by block",
                               .cost = "its ops'", .min_in = 0, .max_in = 255, .infer = infer_fused,
                               .flops = flops_fused, .lower = lower_fused};

/* ---- the list ---------------------------------------------------------------------------------------------------- */

#define LISTED(name) &wick_op_##name,
static const wick_op *const others[] = {&wick_op_cast, WICK_OP_LIST(LISTED)};

int wick_ops_count(void) { return WICK_EW_COUNT + (int)WICK_COUNTOF(others); }
const wick_op *wick_ops_at(int i) { return i < WICK_EW_COUNT ? &wick_ew_ops[i] : others[i - WICK_EW_COUNT]; }
