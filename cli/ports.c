#include "ports.h"

#include "options.h"
#include "talk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *port_type(const wick_onnx_port *p, char *text, size_t size) {
    static const char *const kinds[] = {"", "", "", "sequence of ", "map of "};
    size_t n = (size_t)snprintf(text, size, "%s%s%s", p->optional ? "optional " : "", kinds[p->kind], wick_onnx_elem_name(p->elem));
    if (n < size) n += (size_t)snprintf(text + n, size - n, "%s", p->rank < 0 ? " of any shape" : " [");
    for (int i = 0; i < p->rank && n < size; i++) {
        if (p->dims[i] >= 0) n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? ", " : "", (long long)p->dims[i]);
        else n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "", p->dim_names[i] && *p->dim_names[i] ? p->dim_names[i] : "?");
    }
    if (p->rank >= 0 && n < size) snprintf(text + n, size - n, "]");
    return text;
}

void port_json(json *j, const wick_onnx_port *p) {
    static const char *const kinds[] = {"tensor", "tensor", "strings", "sequence", "map"};
    json_text(j, "name", p->name);
    json_text(j, "kind", kinds[p->kind]);
    json_text(j, "type", wick_onnx_elem_name(p->elem));
    json_bool(j, "optional", p->optional);
    if (p->rank < 0) {
        json_text(j, "dims", NULL);
        return;
    }
    json_open(j, "dims", '[');
    for (int i = 0; i < p->rank; i++) {
        if (p->dims[i] >= 0) json_integer(j, NULL, p->dims[i]);
        else json_text(j, NULL, p->dim_names[i]);
    }
    json_close(j, ']');
}

const char *spec_text(wick_dtype dtype, int rank, const int64_t *dims, char *text, size_t size) {
    size_t n = (size_t)snprintf(text, size, "%s [", wick_dtype_name(dtype));
    for (int i = 0; i < rank && n < size; i++) n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? ", " : "", (long long)dims[i]);
    if (n < size) snprintf(text + n, size - n, "]");
    return text;
}

void dims_json(json *j, const char *key, int rank, const int64_t *dims) {
    json_open(j, key, '[');
    for (int i = 0; i < rank; i++) json_integer(j, NULL, dims[i]);
    json_close(j, ']');
}

/* ---- --dim ------------------------------------------------------------------------------------------------------------------------------------- */

/* The next NAME=N of "a=1;b=2": its name's length and the number; false: the list is over. Number -1: it is no such thing. */
static bool next_dim(const char **list, const char **name, size_t *length, int64_t *extent) {
    while (**list == ';') ++*list;
    if (!**list) return false;
    const size_t item = strcspn(*list, ";");
    *name = *list;
    *list += item;
    *length = item;
    while (*length && (*name)[*length - 1] != '=') --*length;
    *extent = -1;
    if (*length < 2) return true; /* no =, or nothing before it */
    const char *number = *name + *length;
    char *end;
    --*length;
    errno = 0;
    const long long value = strtoll(number, &end, 10);
    if (!errno && end != number && end == *name + item && value >= 0) *extent = value;
    return true;
}

/* The file's name of it, or INPUT.d in place. */
static const char *dim_name(const wick_onnx_port *p, int d, char *place, size_t size) {
    if (p->dim_names[d] && *p->dim_names[d]) return p->dim_names[d];
    snprintf(place, size, "%.250s.%d", p->name, d);
    return place;
}

static bool is_dim(const wick_onnx_port *p, int d, const char *name, size_t length) {
    char place[300];
    const char *own = p->dim_names[d];
    if (own && strlen(own) == length && length && memcmp(own, name, length) == 0) return true;
    const int n = snprintf(place, sizeof place, "%.250s.%d", p->name, d);
    return (size_t)n == length && memcmp(place, name, length) == 0;
}

int64_t port_extent(const cli_options *o, const wick_onnx_port *p, int d, int64_t open) {
    if (p->dims[d] >= 0) return p->dims[d];
    const char *list = o->dim, *name;
    size_t length;
    int64_t extent, found = open;
    while (next_dim(&list, &name, &length, &extent))
        if (is_dim(p, d, name, length)) found = extent;
    return found;
}

int ports_check_dims(const cli_options *o, const wick_onnx *onnx) {
    const char *list = o->dim, *name;
    size_t length;
    int64_t extent;
    while (next_dim(&list, &name, &length, &extent)) {
        const char *first = NULL;
        char place[300];
        bool known = false;
        if (extent < 0) return talk_fail(CLI_USAGE, "--dim needs NAME=N, not '%.*s'", (int)strcspn(name, ";"), name);
        for (int i = 0; i < wick_onnx_inputs(onnx); i++) {
            const wick_onnx_port p = wick_onnx_input(onnx, i);
            for (int d = 0; d < p.rank; d++) {
                if (p.dims[d] >= 0) continue;
                known |= is_dim(&p, d, name, length);
                if (first) continue;
                first = dim_name(&p, d, place, sizeof place);
            }
        }
        if (!known && !first) return talk_fail(CLI_USAGE, "--dim %.*s: all extents of the model's inputs are fixed", (int)length, name);
        if (!known) return talk_fail(CLI_USAGE, "--dim: no input has an open dim '%.*s'; one is %s", (int)length, name, first);
    }
    return CLI_OK;
}

bool ports_specs(const cli_options *o, const wick_onnx *onnx, int64_t open, wick_spec *specs) {
    for (int i = 0; i < wick_onnx_inputs(onnx); i++) {
        const wick_onnx_port p = wick_onnx_input(onnx, i);
        specs[i] = wick_onnx_input_spec(onnx, i);
        if (specs[i].rank < 0) return false;
        for (int d = 0; d < p.rank; d++) specs[i].dims[d] = port_extent(o, &p, d, open);
    }
    return true;
}

const char *ports_open(const wick_onnx *onnx, const wick_spec *specs, char *text, size_t size) {
    size_t n = 0;
    *text = 0;
    for (int i = 0; i < wick_onnx_inputs(onnx); i++) {
        const wick_onnx_port p = wick_onnx_input(onnx, i);
        for (int d = 0; d < specs[i].rank && n < size; d++) {
            char place[300];
            if (specs[i].dims[d] >= 0) continue;
            const char *name = dim_name(&p, d, place, sizeof place), *seen = name == place ? NULL : strstr(text, name);
            if (!seen) n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", name);
        }
    }
    return text;
}

/* ---- --input of a constant ----------------------------------------------------------------------------------------------------------------- */

int ports_fix_inputs(const cli_options *o, wick_onnx *onnx) {
    wick_context *ctx = wick_model_context(wick_onnx_model(onnx));
    for (const char *item = o->input; *item; item += strcspn(item, ";"), item += *item == ';') {
        const size_t length = strcspn(item, ";");
        size_t name = length;
        while (name && item[name - 1] != '=') name--;
        char *end;
        const double value = name ? strtod(item + name, &end) : 0;
        if (name < 2 || end == item + name || end != item + length) return talk_fail(CLI_USAGE, "--input needs NAME=NUMBER, not '%.*s'", (int)length, item);
        int i = 0;
        const int n = wick_onnx_inputs(onnx);
        while (i < n && (strlen(wick_onnx_input(onnx, i).name) != name - 1 || memcmp(wick_onnx_input(onnx, i).name, item, name - 1) != 0)) i++;
        if (i == n) return talk_fail(CLI_USAGE, "--input: the model has no input '%.*s'", (int)name - 1, item);
        const wick_onnx_port p = wick_onnx_input(onnx, i);
        wick_spec spec = wick_onnx_input_spec(onnx, i);
        for (int d = 0; d < spec.rank; d++) spec.dims[d] = port_extent(o, &p, d, 1);
        if (spec.rank < 0 || wick_onnx_fix_input(onnx, i, wick_cast(wick_full(ctx, WICK_F64, spec.rank, spec.dims, value), spec.dtype)) != WICK_OK)
            return talk_fail(CLI_BAD_FILE, "--input %.*s: %s", (int)length, item, spec.rank < 0 ? "it is no tensor of known dims" : wick_context_error(ctx));
    }
    return CLI_OK;
}
