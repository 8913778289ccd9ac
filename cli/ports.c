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

static bool is_dim(const wick_onnx_port *p, int d, const char *name, size_t length) {
    char place[300];
    const char *own = p->dim_names[d];
    if (own && strlen(own) == length && length && memcmp(own, name, length) == 0) return true;
    const int n = snprintf(place, sizeof place, "%.250s.%d", p->name, d);
    return (size_t)n == length && memcmp(place, name, length) == 0;
}

int64_t port_extent(const cli_options *o, const wick_onnx_port *p, int d) {
    if (p->dims[d] >= 0) return p->dims[d];
    const char *list = o->dim, *name;
    size_t length;
    int64_t extent, found = 1;
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
                snprintf(place, sizeof place, "%.250s.%d", p.name, d);
                first = p.dim_names[d] && *p.dim_names[d] ? p.dim_names[d] : place;
            }
        }
        if (!known && !first) return talk_fail(CLI_USAGE, "--dim %.*s: all extents of the model's inputs are fixed", (int)length, name);
        if (!known) return talk_fail(CLI_USAGE, "--dim: no input has an open dim '%.*s'; one is %s", (int)length, name, first);
    }
    return CLI_OK;
}

bool ports_specs(const cli_options *o, const wick_onnx *onnx, wick_spec *specs) {
    for (int i = 0; i < wick_onnx_inputs(onnx); i++) {
        const wick_onnx_port p = wick_onnx_input(onnx, i);
        specs[i] = wick_onnx_input_spec(onnx, i);
        if (specs[i].rank < 0) return false;
        for (int d = 0; d < p.rank; d++) specs[i].dims[d] = port_extent(o, &p, d);
    }
    return true;
}
