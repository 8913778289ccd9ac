#include "open_dims.h"

#include "../term/log.h"

#include <stdlib.h>
#include <string.h>

/* Ranges for dims that --dim says nothing of, one after the other until the model can be recorded in one: any size,
 * then a batch along first axes with sizes of images that are halved five times, then with lengths of recordings. Small
 * ones: for some models much is computed while they are recorded. */
static const struct guess {
    wick_dim first, other;
} guesses[] = {{{NULL, 1, 16, 0}, {NULL, 1, 16, 0}},
               {{NULL, 1, 4, 0}, {NULL, 32, 160, 32}},
               {{NULL, 1, 4, 0}, {NULL, 256, 640, 64}}};
enum { GUESSES = sizeof guesses / sizeof guesses[0] };

/* Whether dim `axis` of the input is called name. */
static bool has_name(const wick_onnx_port *p, int axis, const char *name) {
    char place[300];
    return p->dims[axis] < 0 && strcmp(port_dim_name(p, axis, place, sizeof place), name) == 0;
}

static wick_status find_in(open_dims *d, wick_onnx *onnx, const struct guess *guess) {
    wick_dim ranges[WICK_MAX_NAMED_DIMS];
    int n = 0;
    for (int k = 0; k < d->n; k++) {
        bool first = false;
        for (int i = 0; i < wick_onnx_inputs(onnx); i++) {
            const wick_onnx_port p = wick_onnx_input(onnx, i);
            first |= p.rank > 0 && has_name(&p, 0, d->dims[k].name);
        }
        d->tried[k] = d->dims[k].given ? d->dims[k].range : first ? guess->first : guess->other;
        d->tried[k].name = d->dims[k].name;
        if (!d->dims[k].formula) ranges[n++] = d->tried[k];
    }
    wick_status status = wick_onnx_dynamic(onnx, n, ranges, NULL, &d->dynamic);
    if (status == WICK_OK) status = wick_dynamic_find_shapes(d->dynamic, &d->shapes);
    if (status != WICK_OK) wick_dynamic_free(&d->dynamic);
    return status;
}

int open_dims_find(open_dims *d, const cli_options *o, wick_context *ctx, wick_onnx *onnx) {
    int asked = 0, guessed = 0;
    const int code = ports_dims(o, onnx, &d->dims, &d->n);
    if (code != CLI_OK || !d->n) return code;
    for (int k = 0; k < d->n; k++) asked += !d->dims[k].formula, guessed += !d->dims[k].given && !d->dims[k].formula;
    if (asked > WICK_MAX_NAMED_DIMS)
        return snprintf(d->why, sizeof d->why, "more than %d dims are open", WICK_MAX_NAMED_DIMS), CLI_OK;
    if (*wick_onnx_unsupported(onnx))
        return snprintf(d->why, sizeof d->why, "Wick lacks %s", wick_onnx_unsupported(onnx)), CLI_OK;
    d->tried = calloc((size_t)d->n, sizeof *d->tried);
    if (!d->tried) return log_fail(CLI_FAILED, "out of memory");
    for (int g = 0; g < (guessed ? GUESSES : 1); g++) {
        const wick_status status = find_in(d, onnx, &guesses[g]);
        if (status == WICK_OK) return CLI_OK;
        if (status == WICK_ERR_CANCELLED || status == WICK_ERR_DEADLINE)
            return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(ctx, status));
        if (!*d->why) snprintf(d->why, sizeof d->why, "%s", log_why(ctx, status));
    }
    free(d->tried);
    d->tried = NULL;
    return CLI_OK;
}

void open_dims_free(open_dims *d) {
    wick_shapes_free(&d->shapes);
    wick_dynamic_free(&d->dynamic);
    free(d->dims);
    free(d->tried);
    *d = (open_dims){0};
}

static const char *range_text(const wick_dim *r, char *text, size_t size) {
    if (r->min == r->max) snprintf(text, size, "%lld", (long long)r->min);
    else if (r->multiple > 1)
        snprintf(text, size, "%lld..%lld/%lld", (long long)r->min, (long long)r->max, (long long)r->multiple);
    else snprintf(text, size, "%lld..%lld", (long long)r->min, (long long)r->max);
    return text;
}

/* Row of an output's shape; -1: it has none. */
static int row_of(const open_dims *d, int output) { return d->shapes ? wick_shapes_output(d->shapes, output) : -1; }

void open_dims_print(const open_dims *d, const wick_onnx *onnx) {
    char range[80];
    for (int k = 0; k < d->n; k++) {
        log_print("%-11s %s: ", k ? "" : "dims", d->dims[k].name);
        bool any = false;
        for (int i = 0; i < wick_onnx_inputs(onnx); i++) {
            const wick_onnx_port p = wick_onnx_input(onnx, i);
            for (int a = 0; a < p.rank; a++) {
                if (!has_name(&p, a, d->dims[k].name)) continue;
                log_print("%s%s axis %d", any ? ", " : "", p.name, a);
                any = true;
            }
        }
        if (d->dims[k].given) printf("; %s", range_text(&d->dims[k].range, range, sizeof range));
        printf("\n");
    }
    if (!d->n) return;
    if (!d->shapes) {
        log_print("%-11s not known in terms of the dims: %s\n", "shapes", d->why);
        return;
    }
    for (int i = 0; i < wick_onnx_outputs(onnx); i++) {
        const int row = row_of(d, i);
        if (row < 0) continue;
        const wick_shape_row shape = wick_shapes_at(d->shapes, row);
        log_print("%-11s %s: %s%s\n", i ? "" : "shapes", wick_onnx_output(onnx, i).name, wick_dtype_name(shape.dtype),
                  shape.text);
    }
    printf("%-11s for ", "");
    for (int k = 0, n = 0; k < d->n; k++)
        if (!d->dims[k].formula)
            log_print("%s%s=%s", n++ ? ", " : "", d->dims[k].name, range_text(&d->tried[k], range, sizeof range));
    printf("\n");
    const int other = wick_shapes_exceptions(d->shapes);
    if (other)
        log_print("%-11s other ops are recorded for %d of %d lists of extents that were tried: %s\n", "", other,
                  wick_shapes_recordings(d->shapes), wick_shapes_exception(d->shapes));
}

void open_dims_json(json *j, const open_dims *d, const wick_onnx *onnx) {
    json_open(j, "dims", '[');
    for (int k = 0; k < d->n; k++) {
        const wick_dim *r = d->tried ? &d->tried[k] : d->dims[k].given ? &d->dims[k].range : NULL;
        json_open(j, NULL, '{');
        json_text(j, "name", d->dims[k].name);
        json_open(j, "axes", '[');
        for (int i = 0; i < wick_onnx_inputs(onnx); i++) {
            const wick_onnx_port p = wick_onnx_input(onnx, i);
            for (int a = 0; a < p.rank; a++) {
                if (!has_name(&p, a, d->dims[k].name)) continue;
                json_open(j, NULL, '{');
                json_text(j, "input", p.name);
                json_integer(j, "axis", a);
                json_close(j, '}');
            }
        }
        json_close(j, ']');
        json_bool(j, "given", d->dims[k].given);
        if (r && !d->dims[k].formula) {
            json_integer(j, "min", r->min);
            json_integer(j, "max", r->max);
            json_integer(j, "multiple", r->multiple > 1 ? r->multiple : 1);
        }
        json_close(j, '}');
    }
    json_close(j, ']');
    if (d->n && !d->shapes) json_text(j, "why_no_shapes", d->why);
    json_open(j, "output_shapes", '[');
    for (int i = 0; i < wick_onnx_outputs(onnx) && d->shapes; i++) {
        const int row = row_of(d, i);
        json_open(j, NULL, '{');
        json_text(j, "output", wick_onnx_output(onnx, i).name);
        json_text(j, "shape", row < 0 ? NULL : wick_shapes_at(d->shapes, row).text);
        json_bool(j, "known", row >= 0 && wick_shapes_at(d->shapes, row).known);
        json_close(j, '}');
    }
    json_close(j, ']');
}
