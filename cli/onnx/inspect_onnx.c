/* What an ONNX model takes and gives, what it is made of, and what it costs. */
#include "../budget.h"
#include "../plan/draw_graph.h"
#include "inspect.h"
#include "open_dims.h"
#include "ports.h"
#include "recorded.h"
#include "../term/log.h"

#include "wick/io.h"

#include <stdlib.h>
#include <string.h>

enum { LAYERS_SHOWN = 10, METADATA_SHOWN = 300 /* bytes of a value */ };

typedef struct layer {
    const wick_onnx_node *node;
    double flops, parameters;
    const wick_spec *result; /* NULL: none */
} layer;

typedef struct subject {
    const cli_options *o;
    wick_context *ctx;
    wick_onnx *onnx;
    wick_spec *specs; /* of the inputs; NULL: they are not all tensors of known rank */
    wick_plan *plan;  /* NULL: why */
    char why[1024];
    wick_onnx_graph graph;
    layer *layers; /* those with parameters or FLOPs, the largest first */
    double *flops; /* by node */
    int64_t n_layers;
    double total; /* FLOPs of all nodes */
    char open[512]; /* names of dims without an extent, that --dim gives none either */
    open_dims dims;
    recorded recording; /* of a model without a plan: what is wrong with it */
} subject;

static int larger(const void *a, const void *b) {
    const layer *x = a, *y = b;
    if (x->flops != y->flops) return (x->flops < y->flops) - (x->flops > y->flops);
    return x->parameters != y->parameters ? (x->parameters < y->parameters) - (x->parameters > y->parameters)
                                          : (x->node > y->node) - (x->node < y->node);
}

static double count_of(const wick_spec *s) {
    double n = s->rank < 0 ? 0 : 1;
    for (int i = 0; i < s->rank; i++) n *= (double)s->dims[i];
    return n;
}

typedef struct named_flops {
    const char *place;
    double flops;
} named_flops;
static int by_place(const void *a, const void *b) {
    return strcmp(((const named_flops *)a)->place, ((const named_flops *)b)->place);
}

/* FLOPs of kernels by the node that recorded them; of fused ones by one of theirs. */
static bool find_layers(subject *s) {
    const wick_onnx_graph *g = &s->graph;
    const int kernels = s->plan ? wick_plan_get_info(s->plan).kernels : 0;
    named_flops *by = calloc((size_t)kernels + 1, sizeof *by);
    s->flops = calloc((size_t)g->n_nodes + 1, sizeof *s->flops);
    s->layers = calloc((size_t)g->n_nodes + 1, sizeof *s->layers);
    if (!by || !s->flops || !s->layers) return free(by), false;
    int n = 0;
    for (int i = 0; i < kernels; i++) {
        const wick_plan_kernel k = wick_plan_kernel_at(s->plan, i);
        if (k.place && k.flops > 0) by[n++] = (named_flops){k.place, k.flops};
    }
    qsort(by, (size_t)n, sizeof *by, by_place);
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (kept && strcmp(by[kept - 1].place, by[i].place) == 0) by[kept - 1].flops += by[i].flops;
        else by[kept++] = by[i];
    }
    for (int64_t v = 0; v < g->n_nodes; v++) {
        const wick_onnx_node *node = &g->nodes[v];
        layer l = {.node = node, .result = node->n_out && node->out[0] >= 0 ? &g->wires[node->out[0]].spec : NULL};
        named_flops *found =
            node->place ? bsearch(&(named_flops){node->place, 0}, by, (size_t)kept, sizeof *by, by_place) : NULL;
        if (found) l.flops = found->flops, found->flops = 0;
        for (int i = 0; i < node->n_in; i++) {
            if (node->in[i] < 0) continue;
            const wick_onnx_wire *w = &g->wires[node->in[i]];
            const bool constant = w->from >= 0 && strcmp(g->nodes[w->from].op, "Constant") == 0;
            if ((w->from == -2 || constant) && w->spec.rank > 0 &&
                (w->spec.dtype == WICK_F32 || w->spec.dtype == WICK_F64 || w->spec.dtype == WICK_F16 ||
                 w->spec.dtype == WICK_BF16 || w->spec.dtype == WICK_I8 || w->spec.dtype == WICK_U8))
                l.parameters += count_of(&w->spec);
        }
        s->flops[v] = l.flops;
        s->total += l.flops;
        if (l.flops > 0 || l.parameters > 0) s->layers[s->n_layers++] = l;
    }
    qsort(s->layers, (size_t)s->n_layers, sizeof *s->layers, larger);
    free(by);
    return true;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void print_port(const char *what, const wick_onnx_port *p) {
    char text[256];
    log_print("%-11s %s  %s\n", what, p->name, port_type(p, text, sizeof text));
}

static void print_layers(const subject *s) {
    if (!s->n_layers) return;
    printf("\n%-24s %-10s %11s %7s  %-20s %s\n", "largest layers", "", "MFLOP", "share", "result", "parameters");
    for (int64_t i = 0; i < s->n_layers && i < LAYERS_SHOWN; i++) {
        const layer *l = &s->layers[i];
        char text[128] = "?";
        if (l->result && l->result->rank >= 0)
            spec_text(l->result->dtype, l->result->rank, l->result->dims, text, sizeof text);
        log_print("  %-22.40s %-10.24s",
                  *l->node->name                           ? l->node->name
                  : l->node->n_out && l->node->out[0] >= 0 ? s->graph.wires[l->node->out[0]].name
                                                           : "",
                  l->node->op);
        printf(" %11.4g %6.1f%%  %-20s %.0f\n", l->flops * 1e-6, s->total > 0 ? 100 * l->flops / s->total : 0, text,
               l->parameters);
    }
}

static void print_text(const subject *s) {
    const wick_onnx *onnx = s->onnx;
    const wick_onnx_info info = wick_onnx_get_info(onnx);
    const char *key, *value;
    int64_t version;
    log_print("%-11s %s%s%s%s%s\n", "model", info.graph, *info.producer ? ", made by " : "", info.producer,
              *info.producer_version ? " " : "", info.producer_version);
    printf("%-11s IR %lld, opset", "format", (long long)info.ir_version);
    for (int i = 0; wick_onnx_opset_at(onnx, i, &key, &version); i++)
        log_print("%s %s%s%lld", i ? "," : "", key, *key ? " " : "", (long long)version);
    printf("\n");
    for (int i = 0; wick_onnx_meta_at(onnx, i, &key, &value); i++)
        log_print("%-11s %s: %.*s%s\n", i ? "" : "metadata", key, METADATA_SHOWN, value,
                  strlen(value) > METADATA_SHOWN ? "..." : "");
    for (int i = 0; i < wick_onnx_inputs(onnx); i++) {
        const wick_onnx_port p = wick_onnx_input(onnx, i);
        print_port("input", &p);
    }
    for (int i = 0; i < wick_onnx_defaults(onnx); i++) {
        const wick_onnx_port p = wick_onnx_default_at(onnx, i);
        print_port("default", &p); /* of which the file has a value, among the weights */
    }
    for (int i = 0; i < wick_onnx_outputs(onnx); i++) {
        const wick_onnx_port p = wick_onnx_output(onnx, i);
        print_port("output", &p);
    }
    printf("%-11s %.4g MB, with %lld parameters that can be trained\n", "weights", (double)info.weight_bytes * 1e-6,
           (long long)info.parameters);
    printf("%-11s %lld", "nodes", (long long)info.nodes);
    if (info.functions) printf(", in functions too (%lld)", (long long)info.functions);
    for (int i = 0; i < info.ops; i++) {
        const wick_onnx_op op = wick_onnx_op_at(onnx, i);
        log_print("%s%lld %s%s%s%s", i ? ", " : ": ", (long long)op.count, op.domain, *op.domain ? "::" : "", op.name,
                  op.supported ? "" : " (Wick has no such op)");
    }
    printf("\n");
    if (s->plan) {
        const wick_plan_info p = wick_plan_get_info(s->plan);
        printf("%-11s %d kernels, %.4g GFLOP, %.4g MB moved\n", "plan", p.kernels, p.flops * 1e-9, p.bytes * 1e-6);
        printf("%-11s at most %.4g MB besides weights, inputs and outputs\n", "memory",
               (double)(p.arena_bytes + p.scratch_bytes) * 1e-6);
    } else log_print("%-11s none: %s\n", "plan", s->why);
    if (*s->open) log_print("%-11s %s: 1 here; --dim NAME=N says another\n", "open", s->open);
    open_dims_print(&s->dims, onnx);
    if (*wick_onnx_unsupported(onnx)) log_print("%-11s %s\n", "lacks", wick_onnx_unsupported(onnx));
    if (*s->recording.fault) log_print("%-11s %s\n", "fault", s->recording.fault);
    if (*s->recording.note) log_print("%-11s %s\n", "note", s->recording.note);
    print_layers(s);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void print_json(const subject *s) {
    const wick_onnx *onnx = s->onnx;
    const wick_onnx_info info = wick_onnx_get_info(onnx);
    const char *key, *value;
    int64_t version;
    json j = log_json_open();
    json_bool(&j, "ok", !*s->recording.fault);
    if (*s->recording.fault) json_integer(&j, "exit", CLI_BAD_FILE), json_text(&j, "error", s->recording.fault);
    json_text(&j, "format", "onnx");
    json_text(&j, "graph", info.graph);
    json_text(&j, "producer", info.producer);
    json_text(&j, "producer_version", info.producer_version);
    json_integer(&j, "ir_version", info.ir_version);
    json_integer(&j, "opset", info.opset);
    json_open(&j, "opsets", '[');
    for (int i = 0; wick_onnx_opset_at(onnx, i, &key, &version); i++) {
        json_open(&j, NULL, '{');
        json_text(&j, "domain", key);
        json_integer(&j, "version", version);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_open(&j, "metadata", '{');
    for (int i = 0; wick_onnx_meta_at(onnx, i, &key, &value); i++) json_text(&j, key, value);
    json_close(&j, '}');
    static const char *const lists[] = {"inputs", "defaults", "outputs"};
    static int (*const counts[])(const wick_onnx *) = {wick_onnx_inputs, wick_onnx_defaults, wick_onnx_outputs};
    static wick_onnx_port (*const ports[])(const wick_onnx *, int) = {wick_onnx_input, wick_onnx_default_at,
                                                                      wick_onnx_output};
    for (int k = 0; k < 3; k++) {
        json_open(&j, lists[k], '[');
        for (int i = 0; i < counts[k](onnx); i++) {
            const wick_onnx_port p = ports[k](onnx, i);
            json_open(&j, NULL, '{');
            port_json(&j, &p);
            json_close(&j, '}');
        }
        json_close(&j, ']');
    }
    json_integer(&j, "parameters", info.parameters);
    json_integer(&j, "weight_bytes", (int64_t)info.weight_bytes);
    json_integer(&j, "nodes", info.nodes);
    json_integer(&j, "functions", info.functions);
    json_open(&j, "ops", '[');
    for (int i = 0; i < info.ops; i++) {
        const wick_onnx_op op = wick_onnx_op_at(onnx, i);
        json_open(&j, NULL, '{');
        json_text(&j, "domain", op.domain);
        json_text(&j, "name", op.name);
        json_integer(&j, "count", op.count);
        json_bool(&j, "supported", op.supported);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_text(&j, "open", s->open);
    open_dims_json(&j, &s->dims, onnx);
    json_text(&j, "unsupported", wick_onnx_unsupported(onnx));
    if (s->plan) {
        const wick_plan_info p = wick_plan_get_info(s->plan);
        json_open(&j, "plan", '{');
        json_integer(&j, "kernels", p.kernels);
        json_real(&j, "flops", p.flops, 6);
        json_real(&j, "bytes", p.bytes, 6);
        json_integer(&j, "memory_bytes", (int64_t)(p.arena_bytes + p.scratch_bytes));
        json_close(&j, '}');
    } else {
        json_text(&j, "plan", NULL);
        json_text(&j, "why_no_plan", s->why);
    }
    json_open(&j, "layers", '[');
    for (int64_t i = 0; i < s->n_layers; i++) {
        const layer *l = &s->layers[i];
        json_open(&j, NULL, '{');
        json_text(&j, "name", l->node->name);
        json_text(&j, "op", l->node->op);
        json_real(&j, "flops", l->flops, 9);
        json_real(&j, "parameters", l->parameters, 15);
        if (l->result && l->result->rank >= 0) dims_json(&j, "dims", l->result->rank, l->result->dims);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    log_json_close(&j);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int draw(const subject *s) {
    char *text = NULL, title[300], subtitle[300];
    size_t size = 0;
    const char *name = strrchr(s->o->model, '/');
    const wick_onnx_info info = wick_onnx_get_info(s->onnx);
    snprintf(title, sizeof title, "%.200s", name ? name + 1 : s->o->model);
    snprintf(subtitle, sizeof subtitle, "%lld nodes, %lld parameters, %.4g GFLOP%s", (long long)info.nodes,
             (long long)info.parameters, s->total * 1e-9, *s->open ? ", open extents 1" : "");
    FILE *out = open_memstream(&text, &size);
    const drawing d = {.graph = &s->graph,
                       .n_outputs = wick_onnx_outputs(s->onnx),
                       .flops = s->flops,
                       .total = s->total,
                       .title = title,
                       .subtitle = subtitle};
    const bool good = out && draw_graph(out, &d);
    const bool whole = out && fclose(out) == 0 && good;
    int code = CLI_OK;
    if (!whole)
        code = log_fail(CLI_FAILED, "%s: %lld nodes are more than can be drawn: %d, or what fits into memory",
                        s->o->model, (long long)s->graph.n_nodes, DRAW_MOST_NODES);
    else {
        const wick_status status = wick_file_write(s->ctx, s->o->svg, text, size);
        if (status != WICK_OK) code = log_fail(log_code(status, CLI_FAILED), "%s", log_why(s->ctx, status));
    }
    free(text);
    return code;
}

int inspect_onnx(const cli_options *o, wick_context *ctx) {
    subject s = {.o = o, .ctx = ctx};
    const wick_onnx_limits limits = budget_limits(o);
    wick_status status = wick_onnx_open(ctx, o->model, &limits, &s.onnx);
    int code = status == WICK_OK ? ports_check_dims(o, s.onnx)
                                 : log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(ctx, status));
    if (code == CLI_OK) code = ports_fix_inputs(o, s.onnx);
    if (code == CLI_OK) {
        const int n = wick_onnx_inputs(s.onnx);
        wick_spec *specs = calloc((size_t)n + 1, sizeof *specs);
        if (specs && ports_specs(o, s.onnx, -1, specs)) {
            ports_open(s.onnx, specs, s.open, sizeof s.open);
            ports_specs(o, s.onnx, 1, specs);
            s.specs = specs;
        }
        if (!s.specs) snprintf(s.why, sizeof s.why, "its inputs are not all tensors of known rank");
        else if (wick_onnx_compile(s.onnx, specs, NULL, &s.plan) != WICK_OK)
            snprintf(s.why, sizeof s.why, "%s", wick_context_error(ctx));
        status = wick_onnx_get_graph(s.onnx, s.specs, &s.graph);
        if (status != WICK_OK) code = log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(ctx, status));
        else if (!find_layers(&s)) code = log_fail(CLI_FAILED, "out of memory");
        const bool asked = o->dims.n || o->inputs.n; /* then it may be those numbers that don't fit */
        if (code == CLI_OK && !s.plan && !asked && !*wick_onnx_unsupported(s.onnx))
            code = recorded_find(o, ctx, s.onnx, &s.recording);
        if (code == CLI_OK && *o->svg) code = draw(&s);
        if (code == CLI_OK) code = open_dims_find(&s.dims, o, ctx, s.onnx);
        if (code == CLI_OK) (o->json ? print_json : print_text)(&s);
        if (code == CLI_OK && *s.recording.fault) {
            fflush(stdout);
            code = o->json ? CLI_BAD_FILE : log_fail(CLI_BAD_FILE, "%s", s.recording.fault);
        }
        free(specs);
    }
    free(s.flops);
    free(s.layers);
    open_dims_free(&s.dims);
    wick_plan_free(&s.plan);
    wick_onnx_free(&s.onnx);
    return code;
}
