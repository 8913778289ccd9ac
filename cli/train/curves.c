#include "curves.h"

#include "../term/log.h"

#include <math.h>
#include <stdlib.h>

static int failed(const curves *c, const char *option, wick_status status) {
    return log_fail(CLI_FAILED, "--%s: %s", option, log_why(c->ctx, status));
}

/* --metrics :PORT is served, anything else a file. */
static bool is_served(const char *metrics) { return *metrics == ':'; }
static int metrics_failed(const curves *c) {
    return log_fail(CLI_FAILED, "--metrics: %s", wick_monitor_error(c->monitor));
}

int curves_check(const cli_options *o) {
    char *end;
    if (!is_served(o->of_train.metrics)) return CLI_OK;
    const long port = strtol(o->of_train.metrics + 1, &end, 10);
    if (o->of_train.metrics[1] >= '0' && o->of_train.metrics[1] <= '9' && !*end && port <= 65535) return CLI_OK;
    return log_fail(CLI_USAGE, "--metrics %s: a port is a number from 0, any that is free, to 65535",
                    o->of_train.metrics);
}

static int serve(curves *c) {
    if (wick_monitor_serve(c->monitor, atoi(c->o->of_train.metrics + 1)) != WICK_OK) return metrics_failed(c);
    log_note("metrics: http://127.0.0.1:%d/metrics", wick_monitor_port(c->monitor));
    return CLI_OK;
}

/* To its file. */
static int write_metrics(curves *c) {
    if (!*c->o->of_train.metrics || is_served(c->o->of_train.metrics)) return CLI_OK;
    return wick_monitor_write(c->monitor, c->o->of_train.metrics) == WICK_OK ? CLI_OK : metrics_failed(c);
}

int curves_open(curves *c, const cli_options *o, wick_context *ctx, int64_t step) {
    *c = (curves){.o = o, .ctx = ctx};
    wick_status status = wick_monitor_new(ctx, &(wick_monitor_options){.counters = *o->of_train.metrics}, &c->monitor);
    if (status != WICK_OK) return log_fail(CLI_FAILED, "%s", log_why(ctx, status));
    if (*o->of_train.tensorboard) status = wick_events_open(ctx, o->of_train.tensorboard, step, &c->events);
    if (status != WICK_OK) return failed(c, "tensorboard", status);
    return is_served(o->of_train.metrics) ? serve(c) : write_metrics(c);
}

int curves_graph(curves *c, const wick_plan *plan) {
    const wick_status status = c->events ? wick_events_graph(c->events, plan) : WICK_OK;
    return status == WICK_OK ? CLI_OK : failed(c, "tensorboard", status);
}

void curves_begin(curves *c) { wick_monitor_begin(c->monitor); }

static wick_status scalar(const curves *c, wick_status before, const char *tag, int64_t step, double value) {
    if (!isnan(value)) wick_monitor_set(c->monitor, tag, value);
    return before == WICK_OK && c->events && !isnan(value) ? wick_events_scalar(c->events, tag, step, value) : before;
}

int curves_step(curves *c, int64_t step, int64_t samples, double loss, double accuracy, double lr) {
    wick_monitor_step(c->monitor, samples);
    wick_status status = scalar(c, WICK_OK, "step/loss", step, loss);
    status = scalar(c, status, "step/accuracy", step, accuracy);
    status = scalar(c, status, "step/lr", step, lr);
    if (status != WICK_OK) return failed(c, "tensorboard", status);
    const double now = now_seconds();
    if (now - c->written < 1) return CLI_OK;
    c->written = now;
    return write_metrics(c);
}

static wick_status histograms(const curves *c, int64_t step, const wick_model *model) {
    wick_status status = WICK_OK;
    for (int i = 0; i < wick_model_count(model) && status == WICK_OK; i++) {
        const wick_named named = wick_model_at(model, i);
        if (named.role != WICK_ROLE_PARAM || wick_tensor_dtype(named.tensor) != WICK_F32) continue;
        const void *data;
        status = wick_data(named.tensor, &data);
        if (status == WICK_OK)
            status = wick_events_histogram(c->events, named.name, step, data, wick_tensor_count(named.tensor));
    }
    return status;
}

int curves_epoch(curves *c, int64_t step, const wick_model *model, const curves_scores *s) {
    char loss[32], score[32];
    snprintf(loss, sizeof loss, "epoch/%s_loss", s->judge);
    snprintf(score, sizeof score, "epoch/%s_%s", s->judge, s->score_name);
    wick_status status = scalar(c, WICK_OK, "epoch/train_loss", step, s->train_loss);
    status = scalar(c, status, "epoch/train_accuracy", step, s->train_accuracy);
    status = scalar(c, status, loss, step, s->loss);
    status = scalar(c, status, score, step, s->score);
    if (status == WICK_OK && c->events) status = histograms(c, step, model);
    return status == WICK_OK ? CLI_OK : failed(c, "tensorboard", status);
}

int curves_flush(curves *c) {
    const wick_status status = c->events ? wick_events_flush(c->events) : WICK_OK;
    return status == WICK_OK ? CLI_OK : failed(c, "tensorboard", status);
}

int curves_close(curves *c, int code) {
    if (c->monitor && code == CLI_OK) code = write_metrics(c);
    const wick_status status = wick_events_close(&c->events);
    if (status != WICK_OK && code == CLI_OK) code = failed(c, "tensorboard", status);
    wick_monitor_free(&c->monitor);
    return code;
}
