/* wick eval: accuracy and loss of a model, and the accuracy of each class. */
#include "evaluate.h"
#include "talk.h"

static int report(const cli_options *o, const classifier *c, const evaluator *e, const evaluation *r, const char *data,
                  double seconds) {
    double accuracy = (double)r->correct / (double)r->count, speed = (double)r->count / seconds;
    if (!o->json) {
        printf("accuracy %.2f %%\nloss %.4f\nimages %lld\n\n", accuracy * 100, r->loss, (long long)r->count);
        for (int64_t k = 0; k < c->classes; k++)
            if (e->count[k])
                printf("%6.2f %%  %s\n", 100.0 * (double)e->correct[k] / (double)e->count[k],
                       wick_dataset_class_name(e->dataset, k));
        talk("%s %s: %lld image%s in %.2f s, %.0f a second", data, o->split, (long long)r->count, plural(r->count),
             seconds, speed);
        return CLI_OK;
    }
    json j = talk_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "model", o->model);
    json_text(&j, "data", data);
    json_text(&j, "split", o->split);
    json_integer(&j, "images", r->count);
    json_integer(&j, "correct", r->correct);
    json_real(&j, "accuracy", accuracy, 9);
    json_real(&j, "loss", r->loss, 9);
    json_real(&j, "seconds", seconds, 6);
    json_real(&j, "samples_per_second", speed, 6);
    json_open(&j, "classes", '[');
    for (int64_t k = 0; k < c->classes; k++) {
        if (!e->count[k]) continue;
        json_open(&j, NULL, '{');
        json_text(&j, "name", wick_dataset_class_name(e->dataset, k));
        json_integer(&j, "images", e->count[k]);
        json_integer(&j, "correct", e->correct[k]);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    talk_json_close(&j);
    return CLI_OK;
}

static int measure(const cli_options *o, classifier *c, const wick_dataset *dataset) {
    const char *data = o->data[0] ? o->data : c->data;
    evaluator e = {0};
    evaluation result;
    int code = evaluator_new(&e, c, dataset);
    double start = now_seconds();
    if (code == CLI_OK) code = evaluator_run(&e, &result);
    if (code == CLI_OK) code = report(o, c, &e, &result, data, now_seconds() - start);
    evaluator_free(&e);
    return code;
}

int cmd_eval(cli_options *o) {
    wick_context *ctx;
    classifier c = {0};
    wick_dataset *dataset = NULL;
    if (wick_context_new(&ctx, &(wick_context_options){.threads = (int)o->threads}) != WICK_OK)
        return talk_fail(CLI_FAILED, "could not start: out of memory or threads");
    int code = classifier_load(&c, ctx, o->model);
    if (code == CLI_OK) code = classifier_open_data(&c, o->data, o->split, &dataset);
    if (code == CLI_OK) code = measure(o, &c, dataset);
    classifier_free(&c);
    wick_dataset_free(&dataset);
    wick_context_free(&ctx);
    return code;
}
