#include "predict_shared.h"

#include "../term/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int dealt_begin(dealt *d, FILE **list) {
    if (shared_is_alone(d->group)) return CLI_OK;
    d->terminal = -1;
    d->kept = tmpfile();
    bool ok = d->kept != NULL;
    if (ok && list) {
        d->list = list, d->to = *list;
        *list = d->kept;
    } else if (ok) {
        fflush(stdout);
        d->terminal = dup(STDOUT_FILENO);
        ok = d->terminal >= 0 && dup2(fileno(d->kept), STDOUT_FILENO) >= 0;
    }
    return ok ? CLI_OK : log_fail(CLI_FAILED, "there is no temporary file for what is to be shown");
}

/* Bytes that were written so far. */
static int64_t written(dealt *d) {
    const bool ok = fflush(d->list ? d->kept : stdout) == 0;
    const off_t at = ok ? lseek(fileno(d->kept), 0, SEEK_CUR) : -1;
    d->failed |= at < 0;
    return at < 0 ? 0 : at;
}

bool dealt_mine(dealt *d) {
    if (!d->kept) return true;
    if (d->seen++ % wick_group_size(d->group) != wick_group_rank(d->group)) return false;
    if (d->n == d->room) {
        const int64_t room = d->room ? 2 * d->room : 64;
        int64_t *more = realloc(d->begins, (size_t)room * sizeof *more);
        d->failed |= !more;
        if (!more) return false;
        d->begins = more, d->room = room;
    }
    d->begins[d->n++] = written(d);
    return true;
}

/* What a rank has written. */
typedef struct share {
    int64_t code, n, size;
    int64_t *begins;
    char *text;
} share;

/* All of kept, read again; false: it can't be. */
static bool read_own(const dealt *d, share *s) {
    s->begins = calloc((size_t)s->n + 1, sizeof *s->begins);
    s->text = malloc((size_t)s->size + 1);
    if (!s->begins || !s->text) return false;
    if (s->n) memcpy(s->begins, d->begins, (size_t)s->n * sizeof *s->begins);
    for (int64_t at = 0; at < s->size;) {
        const ssize_t got = pread(fileno(d->kept), s->text + at, (size_t)(s->size - at), at);
        if (got <= 0) return false;
        at += got;
    }
    return true;
}

/* The heads are here; the rest comes from each rank in turn. */
static wick_status fill(const dealt *d, share *all) {
    wick_status status = WICK_OK;
    for (int r = 0; r < wick_group_size(d->group) && status == WICK_OK; r++) {
        share *s = &all[r];
        if (r != wick_group_rank(d->group)) {
            s->begins = calloc((size_t)s->n + 1, sizeof *s->begins);
            s->text = malloc((size_t)s->size + 1);
            if (!s->begins || !s->text) return WICK_ERR_NOMEM;
        }
        if (s->n) status = wick_group_broadcast(d->group, r, s->begins, (size_t)s->n * sizeof *s->begins);
        if (status == WICK_OK && s->size) status = wick_group_broadcast(d->group, r, s->text, (size_t)s->size);
    }
    return status;
}

/* In the order of their numbers, as one process writes them. */
static void put_together(const dealt *d, const share *all, FILE *out) {
    const int ranks = wick_group_size(d->group);
    bool more = true, first = true;
    for (int64_t k = 0; more; k++) {
        more = false;
        for (int r = 0; r < ranks; r++) {
            const share *s = &all[r];
            if (k >= s->n) continue;
            more = true;
            const int64_t end = k + 1 < s->n ? s->begins[k + 1] : s->size;
            const char *text = s->text + s->begins[k];
            size_t n = (size_t)(end - s->begins[k]);
            if (d->list && n > 2 && memcmp(text, ", ", 2) == 0) text += 2, n -= 2;
            if (d->list && n && !first) fputs(", ", out);
            first = first && !n;
            fwrite(text, 1, n, out);
        }
    }
}

static void restore(dealt *d) {
    if (d->list)
        *d->list = d->to;
    else if (d->terminal >= 0) {
        fflush(stdout);
        dup2(d->terminal, STDOUT_FILENO);
        close(d->terminal);
    }
    fclose(d->kept);
    free(d->begins);
    d->kept = NULL;
    d->begins = NULL;
}

int dealt_end(dealt *d, int code) {
    if (!d->kept) return code;
    const int ranks = wick_group_size(d->group), me = wick_group_rank(d->group);
    share *all = calloc((size_t)ranks, sizeof *all), own = {.n = d->n, .size = written(d)};
    if (code == CLI_OK && (!all || d->failed || !read_own(d, &own)))
        code = log_fail(CLI_FAILED, "what is shown could not be kept: out of memory, or of room for temporary files");
    restore(d);
    if (code != CLI_OK) own.n = own.size = 0;
    int64_t head[3] = {code, own.n, own.size}, *heads = calloc((size_t)ranks, sizeof head);
    wick_status status = all && heads ? wick_group_gather(d->group, head, sizeof head, heads) : WICK_ERR_NOMEM;
    for (int r = 0; status == WICK_OK && r < ranks; r++)
        all[r].code = heads[3 * r], all[r].n = heads[3 * r + 1], all[r].size = heads[3 * r + 2];
    if (all) all[me].begins = own.begins, all[me].text = own.text;
    if (status == WICK_OK) status = fill(d, all);
    if (status == WICK_OK && !me) put_together(d, all, d->list ? d->to : stdout);
    for (int r = 0; status == WICK_OK && code == CLI_OK && r < ranks; r++)
        if (all[r].code != CLI_OK)
            code = me ? (int)all[r].code : log_fail((int)all[r].code, "rank %d failed, and has said why", r);
    for (int r = 0; all && r < ranks; r++) free(all[r].begins), free(all[r].text);
    if (!all) free(own.begins), free(own.text);
    free(all);
    free(heads);
    if (status == WICK_OK || code != CLI_OK) return code;
    return status == WICK_ERR_NOMEM ? log_fail(CLI_FAILED, "out of memory") : shared_failed(d->group, status);
}
