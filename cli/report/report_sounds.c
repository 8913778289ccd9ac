/* Recordings that were measured: of a few classes the first one, over time and over frequencies. */
#include "report.h"

#include "chart.h"
#include "html.h"
#include "sound.h"
#include "../term/log.h"

#include <stdlib.h>

enum { DRAWN = 3 };

static bool draw_one(FILE *out, const report *r, int64_t i) {
    const int64_t n = wick_dataset_length(r->measured, i, 0), rate = wick_dataset_rate(r->measured);
    const bool classes = r->predicted != NULL;
    wick_fault fault = {0};
    char title[240];
    float *x = malloc((size_t)(n > 0 ? n : 1) * sizeof *x);
    if (!x) return false;
    wick_status status = n > 0 && rate > 0 ? wick_dataset_get(r->measured, i, (void *[WICK_DATASET_FIELDS]){x}, &fault)
                                           : WICK_ERR_FORMAT;
    if (classes)
        snprintf(title, sizeof title, "#%lld, %.60s, taken for %.60s with %.1f" NBSP "%%", (long long)i,
                 report_class(r, wick_dataset_label(r->measured, i)), report_class(r, r->predicted[i]),
                 100 * (double)r->probability[i]);
    else
        snprintf(title, sizeof title, "#%lld", (long long)i);
    if (status == WICK_OK) {
        fputs("<figure class=\"card wide\" style=\"margin:14px 0 0\">\n", out);
        status = sound_draw(out, r->ctx, x, n, rate, title, false);
        fputs("</figure>\n", out);
    }
    free(x);
    return status != WICK_ERR_NOMEM; /* one that can't be read is no figure */
}

bool report_sounds(FILE *out, const report *r) {
    if (!source_is_audio(r->measured)) return true;
    const int64_t n = wick_dataset_count(r->measured);
    bool ok = true;
    fputs("<section id=\"sounds\"><h2>Recordings</h2>\n<p>Samples over time, and below them the spectrogram: how loud "
          "each frequency is, from 80 dB below the loudest to that. Of the first classes the first one that was "
          "measured, before what <code>--transform</code> makes of it.</p>\n",
          out);
    int64_t drawn[DRAWN];
    int found = 0;
    for (int64_t i = 0; i < n && found < DRAWN && ok; i++) {
        const int64_t label = r->predicted ? wick_dataset_label(r->measured, i) : i;
        bool seen = false;
        for (int k = 0; k < found; k++) seen |= drawn[k] == label;
        if (seen) continue;
        drawn[found++] = label;
        ok = draw_one(out, r, i);
    }
    fputs("</section>\n", out);
    return ok;
}
