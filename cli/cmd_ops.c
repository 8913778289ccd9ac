/* wick ops: what can be recorded in a graph. */
#include "talk.h"

#include "wick/registry.h"

static void print_inputs(const wick_op_info *op, char *text, size_t size) {
    if (op->max_inputs < 0)
        snprintf(text, size, "%d or more", op->min_inputs);
    else if (op->min_inputs == op->max_inputs)
        snprintf(text, size, "%d", op->min_inputs);
    else
        snprintf(text, size, "%d to %d", op->min_inputs, op->max_inputs);
}

int cmd_ops(cli_options *o) {
    int count = wick_op_count();
    if (!o->json) {
        printf("%-20s %-10s %-8s %s\n", "op", "inputs", "gradient", "what it is");
        for (int i = 0; i < count; i++) {
            wick_op_info op = wick_op_at(i);
            char inputs[32];
            print_inputs(&op, inputs, sizeof inputs);
            printf("%-20s %-10s %-8s %s\n", op.name, inputs, op.differentiable ? "yes" : "no", op.doc);
        }
        return CLI_OK;
    }
    json j = talk_json_open();
    json_bool(&j, "ok", true);
    json_open(&j, "ops", '[');
    for (int i = 0; i < count; i++) {
        wick_op_info op = wick_op_at(i);
        json_open(&j, NULL, '{');
        json_text(&j, "name", op.name);
        json_text(&j, "doc", op.doc);
        json_integer(&j, "min_inputs", op.min_inputs);
        json_integer(&j, "max_inputs", op.max_inputs);
        json_integer(&j, "results", op.results);
        json_bool(&j, "elementwise", op.elementwise);
        json_bool(&j, "differentiable", op.differentiable);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    talk_json_close(&j);
    return CLI_OK;
}
