#include "leaf_pieces.h"

#include "trainer.h"

#include <stdlib.h>
#include <string.h>

/* Floats of a piece, at least: below that the latency of its messages would be felt; and into how many parts of a
 * leaf's predicted time they may fall. */
enum { LEAST = 1 << 14, PARTS = 24 };

/* ---- the cut ----------------------------------------------------------------------------------------------------- */

/* When each gradient is written, in ns by the model of the machine. */
static double *times_of(const wick_plan *plan, int gradients) {
    double *times = calloc((size_t)gradients + 1, sizeof *times), ns;
    for (int i = 0, k; times && (k = wick_plan_done_output(plan, i, &ns)) >= 0; i++)
        if (k >= 2) times[k - 2] = ns;
    return times;
}

/* From the last gradient to the first: a piece ends where it is long enough and the next gradient takes a while. One
 * that is written long after the one before it, as those of shortcuts are, goes by itself, behind the others. */
static int cut(const leaf_pieces *p, const wick_plan *plan, const double *times, wick_range *pieces) {
    const double while_ns = wick_plan_get_info(plan).predicted_seconds * 1e9 / PARTS;
    wick_range late[LEAF_PIECES_MOST];
    int64_t end = p->at[p->n_gradients];
    double begun = 0, latest = 0;
    int n = 0, n_late = 0;
    for (int i = p->n_gradients - 1; i >= 0; i--) {
        const bool room = n + n_late < LEAF_PIECES_MOST - 4, begins = end == p->at[i + 1];
        const double next = i ? times[i - 1] : latest;
        const wick_range own = {(size_t)p->at[i], (size_t)p->at[i + 1]};
        if (i && room && times[i] > next + while_ns && own.end > own.begin) {
            if (!begins) pieces[n++] = (wick_range){own.end, (size_t)end};
            late[n_late++] = own;
            end = p->at[i];
            continue;
        }
        latest = begins || times[i] > latest ? times[i] : latest;
        if (begins) begun = latest;
        const bool due = end - p->at[i] >= LEAST && next - begun > while_ns && room;
        if ((!i || due) && end > p->at[i]) {
            pieces[n++] = (wick_range){(size_t)p->at[i], (size_t)end};
            end = p->at[i];
        }
    }
    while (n_late) pieces[n++] = late[--n_late];
    return n;
}

static bool take_memory(leaf_pieces *p) {
    const size_t n = (size_t)p->n_gradients;
    p->left = calloc(LEAF_PIECES_MOST, sizeof *p->left);
    p->whole = calloc(LEAF_PIECES_MOST, sizeof *p->whole);
    p->of = calloc(n + 1, sizeof *p->of);
    p->at = calloc(n + 1, sizeof *p->at);
    p->outputs = calloc(n + 2, sizeof *p->outputs);
    return p->left && p->whole && p->of && p->at && p->outputs;
}

wick_status leaf_pieces_new(trainer *t) {
    leaf_cut *v = &t->leaves;
    leaf_pieces *p = &v->pieces;
    const char *when = p->on ? "early" : "late";
    const wick_status same = wick_group_agree(v->group, "--sums", when, strlen(when));
    if (same != WICK_OK || !p->on) return same;
    const wick_plan *plan = t->steps[1][0].plan;
    if (!take_memory(p)) return WICK_ERR_NOMEM;
    for (int i = 0; i < p->n_gradients; i++) p->at[i + 1] = p->at[i] + wick_plan_output(plan, 2 + i).dims[0];
    double *times = times_of(plan, p->n_gradients);
    if (!times) return WICK_ERR_NOMEM;
    struct {
        int64_t n;
        wick_range list[LEAF_PIECES_MOST];
    } all = {0};
    all.n = cut(p, plan, times, all.list);
    free(times);
    all.list[all.n++] = (wick_range){(size_t)v->gradients, (size_t)v->count};
    /* the model of another machine may say other times */
    wick_status status = wick_group_broadcast(v->group, 0, &all, sizeof all);
    if (status == WICK_OK) status = wick_group_set_pieces(v->group, (int)all.n, all.list);
    if (status != WICK_OK) return status;
    p->n = (int)all.n;
    for (int i = 0; i < p->n_gradients; i++)
        for (int k = 0; k < p->n - 1; k++)
            /* a parameter that the loss does not depend on has no gradient to wait for */
            if (p->at[i + 1] > p->at[i] && (size_t)p->at[i] >= all.list[k].begin &&
                (size_t)p->at[i + 1] <= all.list[k].end) {
                p->of[i] = k;
                p->whole[k]++;
                break;
            }
    return WICK_OK;
}

void leaf_pieces_free(leaf_pieces *p) {
    free(p->left);
    free(p->whole);
    free(p->of);
    free(p->at);
    free(p->outputs);
    *p = (leaf_pieces){0};
}

/* ---- a leaf ------------------------------------------------------------------------------------------------------ */

void *const *leaf_pieces_outputs(leaf_cut *v, int64_t *correct) {
    leaf_pieces *p = &v->pieces;
    p->outputs[0] = v->vector + v->gradients + v->buffers + LEAF_LOSS;
    p->outputs[1] = correct;
    for (int i = 0; i < p->n_gradients; i++) p->outputs[2 + i] = v->vector + p->at[i];
    return p->outputs;
}

static void written(void *user, int output) {
    leaf_cut *v = user;
    leaf_pieces *p = &v->pieces;
    if (output < 2 || p->at[output - 1] == p->at[output - 2]) return;
    p->left[p->of[output - 2]]--;
    for (; p->added < p->n - 1 && !p->left[p->added] && p->status == WICK_OK; p->added++)
        p->status = wick_group_add_piece(v->group, p->leaf, v->vector);
}

void leaf_pieces_watch(leaf_cut *v, const step *plan, int leaf) {
    leaf_pieces *p = &v->pieces;
    if (!p->on || (leaf >= 0 && leaf < v->end - 1)) return;
    if (leaf >= 0) {
        memcpy(p->left, p->whole, (size_t)(p->n - 1) * sizeof *p->left);
        p->leaf = leaf;
    }
    wick_workspace_on_output(plan->workspace, leaf >= 0 ? written : NULL, v);
}

wick_status leaf_pieces_add(leaf_cut *v, int leaf) {
    leaf_pieces *p = &v->pieces;
    if (!p->on || leaf < v->end - 1) return wick_group_add(v->group, leaf, v->vector);
    for (; p->added < p->n && p->status == WICK_OK; p->added++)
        p->status = wick_group_add_piece(v->group, leaf, v->vector);
    const wick_status status = p->status;
    p->added = 0;
    p->status = WICK_OK;
    return status;
}
