/* roi_body.h: RoIAlign over planes, once per type; the sums of a bin are in double. */

static void ROI_NAME(run)(const wick_roi *r, roi_what what, int64_t begin, int64_t end, const void *from,
                          const void *boxes, const int64_t *image, void *to, int64_t c0, int64_t c1) {
    const int64_t plane = r->height * r->width, bins = r->out[0] * r->out[1];
    for (int64_t n = begin; n < end; n++) {
        if ((uint64_t)image[n] >= (uint64_t)r->images) continue;
        double corner[4], size[2], bin[2];
        int64_t count[2];
        for (int k = 0; k < 4; k++) {
            const double at = r->box_type == WICK_CF64 ? ((const double *)boxes)[4 * n + k]
                                                       : (double)((const float *)boxes)[4 * n + k];
            const double scaled = wick_rounded_to(r->box_type, at * r->scale);
            corner[k] = wick_rounded_to(r->box_type, scaled - (r->aligned ? 0.5 : 0));
        }
        for (int d = 0; d < 2; d++) { /* 0: y, 1: x */
            size[d] = wick_rounded_to(r->box_type, corner[3 - d] - corner[1 - d]);
            if (!r->aligned && !(size[d] >= 1)) size[d] = 1;
            bin[d] = wick_rounded_to(r->box_type, size[d] / (double)r->out[d]);
            const double limit = 2 * (double)(d ? r->width : r->height) + 2; /* more would all lie outside */
            count[d] = r->samples   ? r->samples
                       : bin[d] > 0 ? (int64_t)__builtin_ceil(bin[d] < limit ? bin[d] : limit)
                                    : 0;
        }
        const double share = 1 / (double)WICK_MAX(count[0] * count[1], 1);
        for (int64_t b = 0; b < bins; b++)
            for (int64_t c = c0; c < c1; c++) {
                const int64_t at = (image[n] * r->channels + c) * plane, bin_at = (n * r->channels + c) * bins + b;
                const double given = what == ROI_PUT ? (double)((const ROI_T *)from)[bin_at] * share : 0;
                double sum = 0, most = 0;
                bool any = false;
                for (int64_t i = 0; i < count[0]; i++)
                    for (int64_t j = 0; j < count[1]; j++) {
                        neighbours q;
                        const double y = place_of(r, corner[1], bin[0], b / r->out[1], i, count[0]),
                                     x = place_of(r, corner[0], bin[1], b % r->out[1], j, count[1]);
                        if (!neighbours_of(r, y, x, &q)) {
                            if (what == ROI_MAX && (!any || most < 0)) most = 0, any = true;
                            continue;
                        }
                        double value = 0, largest = 0;
                        for (int k = 0; k < 4; k++) {
                            if (what == ROI_PUT) {
                                ((ROI_T *)to)[at + q.at[k]] += (ROI_T)(given * q.part[k]);
                                continue;
                            }
                            const double v = q.part[k] * (double)((const ROI_T *)from)[at + q.at[k]];
                            value += v;
                            largest = k && !(v > largest) ? largest : v;
                        }
                        sum += value;
                        if (!any || largest > most) most = largest;
                        any = true;
                    }
                if (what != ROI_PUT) ((ROI_T *)to)[bin_at] = (ROI_T)(what == ROI_MAX ? most : sum * share);
            }
    }
}
#undef ROI_T
#undef ROI_NAME
