#include "ports.h"

#include "numbers.h"
#include "../options.h"
#include "../term/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *port_type(const wick_onnx_port *p, char *text, size_t size) {
    static const char *const kinds[] = {"", "", "", "sequence of ", "map of "};
    size_t n = (size_t)snprintf(text, size, "%s%s%s", p->optional ? "optional " : "", kinds[p->kind],
                                wick_onnx_elem_name(p->elem));
    if (n < size) n += (size_t)snprintf(text + n, size - n, "%s", p->rank < 0 ? " of any shape" : " [");
    for (int i = 0; i < p->rank && n < size; i++) {
        if (p->dims[i] >= 0) n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? ", " : "", (long long)p->dims[i]);
        else
            n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "",
                                  p->dim_names[i] && *p->dim_names[i] ? p->dim_names[i] : "?");
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
    for (int i = 0; i < rank && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? ", " : "", (long long)dims[i]);
    if (n < size) snprintf(text + n, size - n, "]");
    return text;
}

void dims_json(json *j, const char *key, int rank, const int64_t *dims) {
    json_open(j, key, '[');
    for (int i = 0; i < rank; i++) json_integer(j, NULL, dims[i]);
    json_close(j, ']');
}

/* ---- --dim ------------------------------------------------------------------------------------------------------- */

static bool read_extent(const char **at, int64_t *value) {
    char *end;
    errno = 0;
    *value = **at >= '0' && **at <= '9' ? strtoll(*at, &end, 10) : -1;
    if (*value < 0 || errno) return false;
    *at = end;
    return true;
}

bool port_range(const char *item, size_t *length, wick_dim *range) {
    const char *at = strrchr(item, '=');
    *length = at ? (size_t)(at - item) : strlen(item);
    *range = (wick_dim){.name = range->name};
    if (!at++ || !*length || !read_extent(&at, &range->min)) return false;
    range->max = range->min;
    if (!*at) return true;
    if (strncmp(at, "..", 2) != 0 || !read_extent((at += 2, &at), &range->max)) return false;
    if (*at == '/' && (at++, !read_extent(&at, &range->multiple) || !range->multiple)) return false;
    return !*at && range->max >= range->min;
}

bool ports_have_range(const cli_options *o) {
    size_t length;
    wick_dim range = {0};
    for (int i = 0; i < o->dims.n; i++)
        if (port_range(o->dims.items[i], &length, &range) && range.max > range.min) return true;
    return false;
}

/* The least number of the range that is a multiple as it says. */
static int64_t least_of(const wick_dim *range) {
    const int64_t by = range->multiple > 1 ? range->multiple : 1;
    return (range->min / by + (range->min % by != 0)) * by;
}

const char *port_dim_name(const wick_onnx_port *p, int d, char *place, size_t size) {
    if (p->dim_names[d] && *p->dim_names[d]) return p->dim_names[d];
    snprintf(place, size, "%.250s.%d", p->name, d);
    return place;
}

static bool is_dim(const wick_onnx_port *p, int d, const char *name, size_t length) {
    char place[300];
    const char *own = p->dim_names[d];
    if (own && strlen(own) == length && memcmp(own, name, length) == 0) return true;
    const int n = snprintf(place, sizeof place, "%.250s.%d", p->name, d);
    return (size_t)n == length && memcmp(place, name, length) == 0;
}

int64_t port_extent(const cli_options *o, const wick_onnx_port *p, int d, int64_t open) {
    if (p->dims[d] >= 0) return p->dims[d];
    int64_t found = open;
    for (int i = 0; i < o->dims.n; i++) {
        size_t length;
        wick_dim range = {0};
        const bool read = port_range(o->dims.items[i], &length, &range);
        if (is_dim(p, d, o->dims.items[i], length))
            found = !read ? -1 : open < 0 && range.max > range.min ? open : least_of(&range);
    }
    return found;
}

bool port_suits(const cli_options *o, const wick_onnx_port *p, int d, int64_t extent, const char **said) {
    *said = NULL;
    if (p->dims[d] >= 0) return p->dims[d] == extent;
    for (int i = 0; i < o->dims.n; i++) {
        size_t length;
        wick_dim r = {0};
        if (!port_range(o->dims.items[i], &length, &r) || !is_dim(p, d, o->dims.items[i], length)) continue;
        if (extent < r.min || extent > r.max || (r.multiple > 1 && extent % r.multiple)) *said = o->dims.items[i];
    }
    return !*said;
}

int ports_dims(const cli_options *o, const wick_onnx *onnx, port_dim **out, int *n) {
    size_t most = 1;
    *n = 0;
    for (int i = 0; i < wick_onnx_inputs(onnx); i++)
        most += (size_t)(wick_onnx_input(onnx, i).rank > 0 ? wick_onnx_input(onnx, i).rank : 0);
    port_dim *list = *out = calloc(most, sizeof *list);
    if (!list) return log_fail(CLI_FAILED, "out of memory");
    for (int i = 0; i < wick_onnx_inputs(onnx); i++) {
        const wick_onnx_port p = wick_onnx_input(onnx, i);
        for (int d = 0; d < p.rank; d++) {
            char place[300];
            int k = 0;
            if (p.dims[d] >= 0) continue;
            const char *name = port_dim_name(&p, d, place, sizeof place);
            while (k < *n && strcmp(list[k].name, name) != 0) k++;
            port_dim *at = &list[k];
            if (k == *n) {
                snprintf(at->name, sizeof at->name, "%.290s", name);
                at->range = (wick_dim){at->name, 1, 1, 0};
                at->formula = strpbrk(name, "+-*/") != NULL;
                ++*n;
            }
            for (int l = 0; l < o->dims.n; l++) {
                size_t length;
                wick_dim range = {.name = at->name};
                if (port_range(o->dims.items[l], &length, &range) && is_dim(&p, d, o->dims.items[l], length))
                    at->range = range, at->given = true;
            }
        }
    }
    return CLI_OK;
}

/* The commands that take ranges. */
static bool takes_ranges(const cli_options *o) {
    return o->command == CMD_PLAN || o->command == CMD_RUN || o->command == CMD_INSPECT || o->command == CMD_CONVERT;
}

int ports_check_dims(const cli_options *o, const wick_onnx *onnx) {
    for (int k = 0; k < o->dims.n; k++) {
        const char *item = o->dims.items[k];
        size_t length;
        char names[1024] = "";
        size_t at = 0;
        bool known = false;
        wick_dim range = {0};
        if (!port_range(item, &length, &range))
            return log_fail(CLI_USAGE, "--dim needs NAME=N%s, not '%s'",
                            takes_ranges(o) ? ", NAME=A..B or NAME=A..B/M" : "", item);
        if (range.max > range.min && !takes_ranges(o))
            return log_fail(CLI_USAGE, "--dim %s: a range is for wick plan, run, inspect and convert", item);
        if (least_of(&range) > range.max)
            return log_fail(CLI_USAGE, "--dim %s: there is no multiple of %lld in that range", item,
                            (long long)range.multiple);
        for (int i = 0; i < k; i++)
            if (strncmp(o->dims.items[i], item, length + 1) == 0)
                return log_fail(CLI_USAGE, "--dim %s and --dim %s: which of both?", o->dims.items[i], item);
        for (int i = 0; i < wick_onnx_inputs(onnx); i++) {
            const wick_onnx_port p = wick_onnx_input(onnx, i);
            for (int d = 0; d < p.rank; d++) {
                char name[300];
                if (p.dims[d] >= 0) continue;
                known |= is_dim(&p, d, item, length);
                const char *own = port_dim_name(&p, d, name, sizeof name);
                if (at < sizeof names && !strstr(names, own))
                    at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "", own);
            }
        }
        if (!known && !*names)
            return log_fail(CLI_USAGE, "--dim %s: all extents of the model's inputs are fixed", item);
        if (!known)
            return log_fail(CLI_USAGE, "--dim %s: no input has an open dim '%.*s'; there %s %s", item, (int)length,
                            item, strstr(names, ", ") ? "are" : "is", names);
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
            const char *name = port_dim_name(&p, d, place, sizeof place),
                       *seen = name == place ? NULL : strstr(text, name);
            if (!seen) n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", name);
        }
    }
    return text;
}

/* ---- --input of a constant --------------------------------------------------------------------------------------- */

int ports_fix_inputs(const cli_options *o, wick_onnx *onnx) {
    wick_context *ctx = wick_model_context(wick_onnx_model(onnx));
    for (int k = 0; k < o->inputs.n; k++) {
        const char *item = o->inputs.items[k], *equals = strrchr(item, '=');
        const char *rest = equals ? equals + 1 : "";
        double value;
        if (!equals || equals == item || !number_read(&rest, &value) || *rest)
            return log_fail(CLI_USAGE, "--input needs NAME=NUMBER here, not '%s': the input becomes that constant",
                             item);
        const size_t name = (size_t)(equals - item);
        const int n = wick_onnx_inputs(onnx);
        int i = 0;
        while (i < n && (strlen(wick_onnx_input(onnx, i).name) != name ||
                         memcmp(wick_onnx_input(onnx, i).name, item, name) != 0))
            i++;
        if (i == n) return log_fail(CLI_USAGE, "--input: the model has no input '%.*s'", (int)name, item);
        const wick_onnx_port p = wick_onnx_input(onnx, i);
        wick_spec spec = wick_onnx_input_spec(onnx, i);
        for (int d = 0; d < spec.rank; d++) spec.dims[d] = port_extent(o, &p, d, 1);
        if (spec.rank < 0) return log_fail(CLI_BAD_FILE, "--input %s: it is no tensor of known dims", item);
        wick_tensor *constant;
        if (number_fill(ctx, &p, item, equals + 1, spec.rank, spec.dims, &constant) != WICK_OK)
            return log_fail(CLI_USAGE, "--input %s", wick_context_error(ctx));
        if (wick_onnx_fix_input(onnx, i, constant) != WICK_OK)
            return log_fail(CLI_BAD_FILE, "--input %s: %s", item, wick_context_error(ctx));
    }
    return CLI_OK;
}
