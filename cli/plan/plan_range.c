#include "plan_range.h"

#include "../term/log.h"

#include "wick/onnx.h"

#include <string.h>

static void extents_text(const planned *p, char *text, size_t size) {
    size_t n = 0;
    *text = 0;
    for (int k = 0; k < wick_dynamic_get_info(p->dynamic).dims && n < size; k++)
        n += (size_t)snprintf(text + n, size - n, "%s%.60s=%lld", k ? ", " : "", wick_dynamic_dim(p->dynamic, k).name,
                              (long long)p->bound.at[k]);
}

void plan_range_print(const planned *p) {
    const wick_dynamic_bound *b = &p->bound;
    char at[512];
    for (int k = 0; k < wick_dynamic_get_info(p->dynamic).dims; k++) {
        const wick_dim d = wick_dynamic_dim(p->dynamic, k);
        if (d.min == d.max) log_print("%s is %lld", d.name, (long long)d.min);
        else log_print("%s in %lld..%lld", d.name, (long long)d.min, (long long)d.max);
        if (d.multiple > 1) printf(", multiples of %lld", (long long)d.multiple);
        printf("\n");
    }
    extents_text(p, at, sizeof at);
    log_print("memory of any run: at most %.4g MB of arena and scratch, besides weights as kernels read them, for %s\n",
              (double)b->bytes * 1e-6, at);
    if (b->proven) printf("proven: plans were made for all %lld lists of extents\n", (long long)b->points);
    else
        printf("kept: plans were made for %lld of %lld lists of extents, corners among them; a run that would take "
               "more is refused (--plans says how many to make)\n",
               (long long)b->planned, (long long)b->points);
    for (int i = 0; i < wick_onnx_outputs(p->onnx); i++) {
        const int row = wick_shapes_output(p->shapes, i);
        if (row >= 0)
            log_print("output %s: %s%s\n", wick_onnx_output(p->onnx, i).name,
                      wick_dtype_name(wick_shapes_at(p->shapes, row).dtype), wick_shapes_at(p->shapes, row).text);
    }
    printf("\n%-22s %-56s recorded at\n", "op", "shape");
    int unknown = 0;
    for (int i = 0; i < wick_shapes_count(p->shapes); i++) {
        const wick_shape_row row = wick_shapes_at(p->shapes, i);
        char type[512];
        snprintf(type, sizeof type, "%s%.480s", wick_dtype_name(row.dtype), row.text);
        log_print("%-22.40s %-56s %s\n", row.op, type, row.place ? row.place : "");
        unknown += !row.known;
    }
    if (unknown)
        printf("? : %d shape%s that follow%s the dims in no simple way\n", unknown, plural(unknown),
               unknown == 1 ? "s" : "");
    const int other = wick_shapes_exceptions(p->shapes);
    if (other)
        log_print("other ops are recorded for %d of %d lists of extents that were tried: %s\n", other,
                  wick_shapes_recordings(p->shapes), wick_shapes_exception(p->shapes));
    printf("\nthe plan for %s\n", at);
}

void plan_range_json(json *j, const planned *p) {
    const wick_dynamic_bound *b = &p->bound;
    json_open(j, "range", '{');
    json_open(j, "dims", '[');
    for (int k = 0; k < wick_dynamic_get_info(p->dynamic).dims; k++) {
        const wick_dim d = wick_dynamic_dim(p->dynamic, k);
        json_open(j, NULL, '{');
        json_text(j, "name", d.name);
        json_integer(j, "min", d.min);
        json_integer(j, "max", d.max);
        json_integer(j, "multiple", d.multiple > 1 ? d.multiple : 1);
        json_integer(j, "at", b->at[k]);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_integer(j, "bound_bytes", (int64_t)b->bytes);
    json_bool(j, "proven", b->proven);
    json_integer(j, "points", b->points);
    json_integer(j, "planned", b->planned);
    json_integer(j, "recordings", wick_shapes_recordings(p->shapes));
    json_integer(j, "exceptions", wick_shapes_exceptions(p->shapes));
    json_text(j, "exception", *wick_shapes_exception(p->shapes) ? wick_shapes_exception(p->shapes) : NULL);
    json_open(j, "outputs", '[');
    for (int i = 0; i < wick_onnx_outputs(p->onnx); i++) json_integer(j, NULL, wick_shapes_output(p->shapes, i));
    json_close(j, ']');
    json_open(j, "shapes", '[');
    for (int i = 0; i < wick_shapes_count(p->shapes); i++) {
        const wick_shape_row row = wick_shapes_at(p->shapes, i);
        json_open(j, NULL, '{');
        json_text(j, "op", row.op);
        json_text(j, "dtype", wick_dtype_name(row.dtype));
        json_text(j, "shape", row.text);
        json_bool(j, "known", row.known);
        json_text(j, "place", row.place);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}
