/* wick run: the open extents of a model's inputs, by name. What is given says what the rest is, and all of it has to go
 * together. */
#include "ports.h"
#include "runner.h"

#include <stdlib.h>
#include <string.h>

int runner_open_dims(runner *r) {
    size_t room = (size_t)r->o->dims.n + 1;
    r->filled = *r->o;
    r->filled.dims = (cli_list){0};
    const int code = ports_dims(r->o, r->onnx, &r->dims, &r->n_dims);
    if (code != CLI_OK) return code;
    room += (size_t)r->n_dims;
    r->texts = calloc(room, sizeof *r->texts);
    r->filled.dims.items = calloc(room, sizeof *r->filled.dims.items);
    if (!r->texts || !r->filled.dims.items) return runner_failed(r, WICK_ERR_NOMEM);
    for (int i = 0; i < r->o->dims.n; i++) r->filled.dims.items[r->filled.dims.n++] = r->o->dims.items[i];
    return CLI_OK;
}

void runner_close_dims(runner *r) {
    runner_unlearn(r, 0);
    free(r->texts);
    free(r->filled.dims.items);
    free(r->dims);
}

/* Whether the extent of this name is known already: --dim gives a number, or an input had it. */
static bool is_known(const runner *r, const char *name) {
    const size_t length = strlen(name);
    for (int k = 0; k < r->n_dims; k++)
        if (strcmp(r->dims[k].name, name) == 0 && r->dims[k].given && r->dims[k].range.min == r->dims[k].range.max)
            return true;
    for (int k = 0; k < r->n_said; k++)
        if (strncmp(r->texts[k], name, length) == 0 && strrchr(r->texts[k], '=') == r->texts[k] + length) return true;
    return false;
}

wick_status runner_learn(runner *r, int i, const wick_onnx_value *v, bool stacked) {
    const wick_onnx_port p = wick_onnx_input(r->onnx, i);
    if (v->kind != WICK_VALUE_TENSOR || wick_tensor_rank(v->tensor) != p.rank + stacked) return WICK_OK;
    for (int d = 0; d < p.rank; d++) {
        char place[300], text[340];
        if (p.dims[d] >= 0) continue;
        const char *name = port_dim_name(&p, d, place, sizeof place);
        if (is_known(r, name) || r->n_said == r->n_dims) continue;
        const int length =
            snprintf(text, sizeof text, "%s=%lld", name, (long long)wick_tensor_dim(v->tensor, d + stacked));
        if (length < 0 || (size_t)length >= sizeof text) continue; /* a name longer than any --dim could say */
        if (!(r->texts[r->n_said] = strdup(text))) return WICK_ERR_NOMEM;
        r->filled.dims.items[r->filled.dims.n++] = r->texts[r->n_said++]; /* the last one counts, behind a range */
    }
    return WICK_OK;
}

void runner_unlearn(runner *r, int n_said) {
    while (r->n_said > n_said) {
        free(r->texts[--r->n_said]);
        r->filled.dims.n--;
    }
}

wick_status runner_hold(const runner *r) {
    wick_spec *specs = calloc((size_t)r->n_in + 1, sizeof *specs);
    wick_dim *ranges = calloc((size_t)r->n_dims + 1, sizeof *ranges);
    int n = 0;
    for (int k = 0; k < r->n_dims && ranges; k++)
        if (r->dims[k].given) ranges[n++] = r->dims[k].range;
    for (int i = 0; i < r->n_in && specs; i++) {
        const bool tensor = r->in[i].kind == WICK_VALUE_TENSOR && r->in[i].tensor;
        specs[i].rank = tensor ? wick_tensor_rank(r->in[i].tensor) : -1;
        if (specs[i].rank > 0)
            memcpy(specs[i].dims, wick_tensor_dims(r->in[i].tensor), (size_t)specs[i].rank * sizeof *specs[i].dims);
    }
    const wick_status status = specs && ranges ? wick_onnx_check_inputs(r->onnx, specs, n, ranges) : WICK_ERR_NOMEM;
    free(specs);
    free(ranges);
    return status;
}
