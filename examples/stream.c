/* stream.c: learning from what comes one after the other and cannot be asked for again. A simulation without an end
 * gives raw packets of 12 bits a reading; two threads unpack them, a buffer mixes neighbours, and a network learns
 * which of three waves a packet holds. Nothing is ever seen twice. Usage: stream */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wick/wick.h>

enum { READINGS = 64, PACKET = 4 + READINGS * 3 / 2, BATCH = 32, EPOCH = 4096, EPOCHS = 8 };

/* The device: one packet after the other, the kind of wave and then readings in pairs of 12 bits. For a pipe or a
 * socket this would be fread or recv. */
typedef struct device { unsigned state; } device;
static double chance(device *d) { return (d->state = d->state * 1664525u + 1013904223u) / 4294967296.0; }
static wick_status next_packet(void *user, void *record, bool *end, wick_fault *fault) {
    device *d = user;
    (void)end, (void)fault; /* it never ends, and never fails */
    const int kind = (int)(3 * chance(d));
    const double step = 0.1 + 0.2 * chance(d), phase = 6.283 * chance(d);
    unsigned short reading[READINGS];
    for (int t = 0; t < READINGS; t++) {
        const double s = sin(step * t + phase), wave = kind == 0   ? s
                                                       : kind == 1 ? (s > 0 ? 0.8 : -0.8)
                                                                   : 2 / 3.1416 * asin(s);
        reading[t] = (unsigned short)(2048 + 900 * wave + 200 * (chance(d) - 0.5));
    }
    unsigned char *bytes = record;
    memcpy(bytes, &(unsigned){(unsigned)kind}, 4);
    for (int t = 0; t < READINGS; t += 2, bytes += 3)
        bytes[4] = (unsigned char)reading[t], bytes[5] = (unsigned char)(reading[t] >> 8 | (reading[t + 1] & 15) << 4),
        bytes[6] = (unsigned char)(reading[t + 1] >> 4);
    return WICK_OK;
}

/* A packet as a sample, by any thread. */
static wick_status unpack(void *user, const void *record, void *const *out, wick_fault *fault) {
    const unsigned char *bytes = record;
    unsigned kind;
    (void)user;
    memcpy(&kind, bytes, 4);
    if (kind > 2) return wick_fault_set(fault, WICK_ERR_FORMAT, "device: a packet of kind %u", kind);
    if (out[1]) *(int64_t *)out[1] = kind;
    for (int t = 0; t < READINGS && out[0]; t += 2, bytes += 3) {
        ((float *)out[0])[t] = (float)((bytes[4] | (bytes[5] & 15) << 8) - 2048) / 900;
        ((float *)out[0])[t + 1] = (float)((bytes[5] >> 4 | bytes[6] << 4) - 2048) / 900;
    }
    return WICK_OK;
}

static wick_model *model;
static wick_optimizer *adam;
static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *h = wick_relu(wick_nn_linear(model, "fc2", wick_relu(wick_nn_linear(model, "fc1", in[0], 64)), 64));
    wick_tensor *logits = wick_nn_linear(model, "fc3", h, 3);
    out[0] = wick_cross_entropy(logits, in[1]);
    out[1] = wick_mean(wick_cast(wick_eq(wick_argmax(logits, 1, false), in[1]), WICK_F32), WICK_ALL_AXES, false);
    return wick_optimizer_step(adam, out[0]);
}

#define STOP_IF(failed, why) if (failed) return fprintf(stderr, "%s\n", why), 1
#define CHECK(call) STOP_IF((call) != WICK_OK, wick_context_error(ctx))

int main(void) {
    device sensor = {1};
    wick_context *ctx;
    wick_dataset *set;
    wick_loader *loader;
    wick_plan *plan;
    wick_workspace *work;
    wick_batch batch;
    STOP_IF(wick_context_new(NULL, &ctx) != WICK_OK, "could not start");
    const wick_stream_source source = {.n_fields = 2,
                                       .fields = {{"readings", WICK_F32, 1, {READINGS}}, {"kind", WICK_I64, 0, {0}}},
                                       .classes = 3,
                                       .record = PACKET,
                                       .next = next_packet,
                                       .get = unpack,
                                       .user = &sensor};
    CHECK(wick_dataset_of_stream(
        ctx, &source, &(wick_stream_options){.count = EPOCH, .window = 256, .shuffle = 512, .seed = 1}, &set));
    CHECK(wick_loader_new(ctx, set, &(wick_loader_options){.batch = BATCH, .workers = 2, .drop_last = true}, &loader));

    CHECK(wick_model_new(ctx, &model));
    CHECK(wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.002}, &adam));
    const wick_spec specs[] = {{"readings", WICK_F32, 2, {BATCH, READINGS}}, {"kind", WICK_I64, 1, {BATCH}}};
    CHECK(wick_compile(ctx, train, NULL, 2, specs, 2, NULL, &plan));
    CHECK(wick_workspace_new(plan, &work));
    double right = 0;
    for (int epoch = 0; epoch < EPOCHS;) {
        float loss, share;
        CHECK(wick_loader_take(loader, &batch));
        if (batch.count) {
            STOP_IF(wick_run(work, (const void *[]){batch.fields[0], batch.fields[1]}, (void *[]){&loss, &share}) !=
                        WICK_OK,
                    wick_workspace_error(work));
            right += (double)share * BATCH;
            continue;
        }
        printf("%d packets: %.1f %% of the last %d were known before they were learned from\n", ++epoch * EPOCH,
               100 * right / EPOCH, EPOCH);
        STOP_IF(epoch == EPOCHS && right < 0.9 * EPOCH, "it was not learned");
        right = 0;
    }
    wick_loader_free(&loader), wick_dataset_free(&set);
    wick_workspace_free(&work), wick_plan_free(&plan), wick_optimizer_free(&adam), wick_model_free(&model),
        wick_context_free(&ctx);
}
