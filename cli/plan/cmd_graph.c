/* wick graph: the graph of a model as text or drawn, as recorded or behind any pass, and what passes change. */
#include "draw_graph.h"
#include "graph_text.h"
#include "planned.h"
#include "../term/log.h"
#include "../tuned.h"

#include "wick/registry.h"

#include <stdlib.h>
#include <string.h>

/* The text before a pass runs first, or after it ran last; "recorded": before all. An exit code. */
static int find(const planned *p, const char *pass, bool before, const char **text) {
    *text = strcmp(pass, "recorded") == 0 ? p->graphs[0].text : NULL;
    for (size_t i = 1; i < p->n_graphs; i++) {
        if (strcmp(p->graphs[i].pass, pass) != 0) continue;
        if (!before || !*text) *text = p->graphs[before ? i - 1 : i].text;
    }
    if (*text) return CLI_OK;
    char list[512] = "";
    for (size_t i = 1; i < p->n_graphs; i++) {
        size_t k = 1, n = strlen(list);
        while (k < i && strcmp(p->graphs[k].pass, p->graphs[i].pass) != 0) k++;
        if (k == i) snprintf(list + n, sizeof list - n, " %s", p->graphs[i].pass);
    }
    return log_fail(CLI_USAGE, "--%s: no pass '%s' ran; those that did:%s", before ? "before" : "after", pass, list);
}

/* Writes what draw gives into a file, whole or not at all. */
static int to_file(const planned *p, const char *path, bool (*draw)(FILE *out, const void *arg), const void *arg) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const bool drawn = out && draw(out, arg), whole = out && fclose(out) == 0 && drawn;
    const wick_status status = whole ? wick_file_write(p->ctx, path, text, size) : WICK_OK;
    free(text);
    if (!whole)
        return log_fail(CLI_FAILED, "%s: the graph has more nodes than can be drawn, %d, or than fit into memory", path,
                        DRAW_MOST_NODES);
    return status == WICK_OK ? CLI_OK : log_fail(log_code(status, CLI_FAILED), "%s", log_why(p->ctx, status));
}

static bool svg(FILE *out, const void *arg) { return draw_graph(out, arg); }

typedef struct dot_of {
    const graph_text *graph;
    const char *title;
} dot_of;
static bool dot(FILE *out, const void *arg) {
    const dot_of *d = arg;
    graph_text_dot(out, d->graph, d->title);
    return true;
}

static int draw(const planned *p, const char *text) {
    const cli_options *o = p->o;
    graph_text g;
    if (!graph_text_read(&g, text, p->n_in, p->in)) return log_fail(CLI_FAILED, "out of memory");
    for (int i = 0; i < g.n_outputs; i++) {
        /* that made it, or an input with its own name */
        wick_onnx_wire *w = g.graph.outputs[i] < 0 ? NULL : &g.wires[g.graph.outputs[i]];
        if (w && !*w->name) w->name = p->onnx ? wick_onnx_output(p->onnx, i).name : o->train ? "loss" : "scores";
    }
    char subtitle[160];
    snprintf(subtitle, sizeof subtitle, "%lld nodes", (long long)g.graph.n_nodes);
    const drawing d = {.graph = &g.graph, .n_outputs = g.n_outputs, .title = p->title, .subtitle = subtitle};
    int code = *o->svg ? to_file(p, o->svg, svg, &d) : CLI_OK;
    if (code == CLI_OK && *o->of_graph.dot) code = to_file(p, o->of_graph.dot, dot, &(dot_of){&g, p->title});
    graph_text_free(&g);
    return code;
}

static int64_t nodes_in(const char *text) {
    int64_t n = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        n += *line == '%';
    }
    return n;
}

static void print_json(const planned *p, const char *before, const char *text) {
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "model", p->title);
    json_open(&j, "passes", '[');
    for (size_t i = 0; i < p->n_graphs; i++) {
        json_open(&j, NULL, '{');
        json_text(&j, "pass", i ? p->graphs[i].pass : "recorded");
        json_integer(&j, "nodes", nodes_in(p->graphs[i].text));
        json_close(&j, '}');
    }
    json_close(&j, ']');
    if (before) json_text(&j, "before", before);
    json_text(&j, before ? "after" : "graph", text);
    log_json_close(&j);
}

static int show(const planned *p) {
    const cli_options *o = p->o;
    const char *before = NULL, *text = p->graphs[p->n_graphs - 1].text;
    int code = *o->of_graph.before ? find(p, o->of_graph.before, true, &before) : CLI_OK;
    if (code == CLI_OK && *o->of_graph.after) code = find(p, o->of_graph.after, false, &text);
    if (code != CLI_OK) return code;
    if (before && !*o->of_graph.after) text = before, before = NULL;
    if (*o->svg || *o->of_graph.dot) code = draw(p, text);
    if (code != CLI_OK) return code;
    if (o->json) print_json(p, before, text);
    else if (before) {
        char *lines = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&lines, &size);
        const bool made = out && graph_text_difference(out, before, text);
        if (out && fclose(out) == 0 && made) log_lines(lines);
        else code = log_fail(CLI_FAILED, "out of memory");
        free(lines);
    } else if (o->of_graph.as_text || (!*o->svg && !*o->of_graph.dot))
        log_lines(text);
    return code;
}

int cmd_graph(cli_options *o) {
    wick_context *ctx;
    if (wick_context_new(&(wick_context_options){.tuning = tuned(), .threads = (int)o->threads}, &ctx) != WICK_OK)
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    planned p = {.keeps_graphs = true};
    int code = planned_open(&p, o, ctx);
    if (code == CLI_OK) code = show(&p);
    planned_free(&p);
    wick_context_free(&ctx);
    return code;
}
