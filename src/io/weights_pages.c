/* weights_pages.c: which pages of mapped weights are in memory. They are a file's, and nobody writes them: one that
 * goes comes again, with the same bytes, when it is read. */
#include "io/pages.h"
#include "io/weights.h"

/* errno, or 0. */
static int advise_all(const wick_weights *w, wick_weights_use use) {
    int refused = 0;
    for (size_t k = 0; k < w->n_files; k++) {
        const int now =
            w->files[k]->map.mapped ? wick_pages_advise(w->files[k]->map.data, w->files[k]->map.size, use) : 0;
        refused = now ? now : refused;
    }
    for (size_t k = 0; use == WICK_WEIGHTS_DONE && k < w->n; k++) w->entries[k].asked = 0;
    return refused;
}

wick_status wick_weights_advise(wick_weights *w, int i, wick_weights_use use) {
    if ((unsigned)use > WICK_WEIGHTS_DONE || i < -1 || (i >= 0 && (size_t)i >= w->n))
        return wick_context_fail(w->ctx, WICK_ERR_INVALID, "%s: weights_advise: tensor %d of %zu, use %d", w->path, i,
                                 w->n, (int)use);
    const weights_entry *e = i < 0 ? NULL : &w->entries[i];
    const int refused = !e ? advise_all(w, use) : e->data ? wick_pages_advise(e->data, e->bytes, use) : 0;
    if (e && use == WICK_WEIGHTS_DONE) w->entries[i].asked = 0;
    return refused ? wick_context_fail(w->ctx, WICK_ERR_UNSUPPORTED, "%s: the system takes no such advice: %s", w->path,
                                       strerror(refused))
                   : WICK_OK;
}

void wick_weights_set_limit(wick_weights *w, size_t bytes) {
    w->pages->limit = bytes;
    /* checksums were looked at when it was opened: that read all of it */
    if (bytes) advise_all(w, WICK_WEIGHTS_DONE);
}

void wick_weights_ask(const wick_weights *w, size_t i) {
    weights_pages *p = w->pages;
    if (!p->limit || !w->entries[i].data) return;
    w->entries[i].asked = ++p->asked;
    for (;;) {
        size_t bytes = 0;
        weights_entry *oldest = NULL;
        for (size_t k = 0; k < w->n; k++) {
            weights_entry *e = &w->entries[k];
            if (!e->asked) continue;
            bytes += e->bytes;
            if (k != i && (!oldest || e->asked < oldest->asked)) oldest = e;
        }
        if (bytes <= p->limit || !oldest) return;
        (void)wick_pages_advise(oldest->data, oldest->bytes, WICK_WEIGHTS_DONE);
        oldest->asked = 0;
    }
}

bool wick_weights_resident(const wick_weights *w, size_t *bytes) {
    if (!bytes) return false;
    *bytes = 0;
    bool known = true;
    for (size_t k = 0; known && k < w->n_files; k++)
        known = !w->files[k]->map.mapped || wick_pages_count(w->files[k]->map.data, w->files[k]->map.size, bytes);
    if (!known) *bytes = 0;
    return known;
}
