/* targets.c: figures that others publish, which Wick sets out to beat, and the rows that answer them. */
#include "tables.h"

#include <math.h>
#include <string.h>

typedef enum target_kind {
    SECONDS,    /* of `times` runs of the row */
    PER_SECOND, /* `times` for each run */
    BYTES,      /* that the row takes besides its inputs, and `plus` */
    FASTER,     /* the other row's time by this one's */
    SMALLER     /* this row's memory by the other's */
} target_kind;

typedef struct target {
    const char *name;
    double published;
    target_kind kind;
    const char *row;
    double times, plus;
    const char *other;
} target;

/* clang-format off */
/* The epochs: steps of 64 images; their memory is that of training, and of the images as f32 with their labels. The model has 12.5 million parameters. */
#define EPOCH(images, seconds, bytes)                                                                                                \
    {"MNIST epoch of " #images " images, batch 64, from a step's time", seconds, SECONDS, "train/mnist_12m_64", ((images) + 63) / 64, 0, NULL}, \
    {"memory of it, with the images", bytes, BYTES, "train/mnist_12m_64", 0, (images) * (784.0 * 4 + 8), NULL}
#define SAMPLES(batch, rate, bytes)                                                                                                  \
    {"inference, batch " #batch ", samples a second", rate, PER_SECOND, "infer/mnist_12m_" #batch, batch, 0, NULL},                  \
    {"memory of it", bytes, BYTES, "infer/mnist_12m_" #batch, 0, 0, NULL}
static const target targets[] = {
    {"matmul 1000 x 1000", 10e-3, SECONDS, "gemm/f32_1000x1000x1000", 1, 0, NULL},
    {"elementwise, 1M elements: add", 1e-3, SECONDS, "elementwise/add_1M", 1, 0, NULL},
    {"reduction, 1M elements: sum", 2e-3, SECONDS, "reduce/sum_1M", 1, 0, NULL},
    {"graph compilation: training of ResNet-8", 100e-3, SECONDS, "compile/resnet8_training", 1, 0, NULL},
    {"GEMM 64", 101e-6, SECONDS, "gemm/f32_64x64x64", 1, 0, NULL},
    {"GEMM 128", 893e-6, SECONDS, "gemm/f32_128x128x128", 1, 0, NULL},
    {"GEMM 256", 10.1e-3, SECONDS, "gemm/f32_256x256x256", 1, 0, NULL},
    {"GEMM 512", 82e-3, SECONDS, "gemm/f32_512x512x512", 1, 0, NULL},
    EPOCH(10000, 45, 0.8e9),
    EPOCH(50000, 210, 1.2e9),
    EPOCH(100000, 425, 1.5e9),
    SAMPLES(1, 120, 0.5e9),
    SAMPLES(32, 2800, 0.7e9),
    SAMPLES(64, 5200, 0.9e9),
    {"blocked against naive matmul, 1000: times as fast", 100, FASTER, "gemm/f32_1000x1000x1000", 0, 0, "gemm/naive_f32_1000x1000x1000"},
    {"pooled (64 ops in an arena) against allocating: times as fast", 2.5, FASTER, "memory/chain_64_in_arena", 0, 0, "memory/chain_64_allocating"},
    {"memory of it, as part", 0.25, SMALLER, "memory/chain_64_in_arena", 0, 0, "memory/chain_64_allocating"},
    {"pooled against allocating, 64 items of relu, product, softmax: times as fast", 2.5, FASTER, "memory/items_64_in_arena", 0, 0, "memory/items_64_allocating"},
    {"memory of it, as part", 0.25, SMALLER, "memory/items_64_in_arena", 0, 0, "memory/items_64_allocating"},
};
/* clang-format on */
enum { N_TARGETS = sizeof targets / sizeof targets[0] };

bool targets_want(const char *key) {
    bool want = false;
    for (int i = 0; i < N_TARGETS; i++)
        want |= strcmp(targets[i].row, key) == 0 || (targets[i].other && strcmp(targets[i].other, key) == 0);
    return want;
}

static const bench_result *find(const bench_results *all, const char *key, int threads) {
    for (int i = 0; key && i < all->n; i++)
        if (all->at[i].threads == threads && strcmp(all->at[i].key, key) == 0 && !*all->at[i].why) return &all->at[i];
    return NULL;
}

/* NAN: it was not measured. */
static double measured(const target *t, const bench_results *all, int threads) {
    const bench_result *r = find(all, t->row, threads), *other = find(all, t->other, threads);
    if (!r || (t->other && !other)) return NAN;
    const double seconds = stats_quantile(&r->times.seconds, 0.5);
    switch (t->kind) {
    case SECONDS: return seconds * t->times;
    case PER_SECOND: return t->times / seconds;
    case BYTES: return r->memory > 0 ? r->memory + t->plus : NAN;
    case FASTER: return stats_quantile(&other->times.seconds, 0.5) / seconds;
    case SMALLER: return r->memory > 0 && other->memory > 0 ? r->memory / other->memory : NAN;
    }
    return NAN;
}
static double ratio(const target *t, double value) {
    return t->kind == PER_SECOND || t->kind == FASTER ? value / t->published : t->published / value;
}

static void print_value(char *text, size_t size, const target *t, double value) {
    time_text time;
    if (t->kind == SECONDS) snprintf(text, size, "%s", text_time(time, value));
    else if (t->kind == BYTES)
        snprintf(text, size, value < 1e8 ? "%.3g MB" : "%.2f GB", value < 1e8 ? 1e-6 * value : 1e-9 * value);
    else snprintf(text, size, value < 1e4 ? "%.4g" : "%.0f", value);
}

void targets_fill(bench_table *out, const bench_results *all) {
    static const char *const heads[] = {"published figure", "threads", "published", "measured", "times better", "row"};
    out->note = "Figures that others publish, and what this machine does. MNIST and inference: a network of "
                "784-2560-2560-1536-10, 12.5 million parameters, in f32; memory is measured in a process of its own.";
    out->columns = (int)(sizeof heads / sizeof *heads);
    memcpy(out->heads, heads, sizeof heads);
    for (int k = 0; k < all->n_roofs; k++)
        for (int i = 0; i < N_TARGETS && out->n < TABLE_ROWS; i++) {
            const target *t = &targets[i];
            const double value = measured(t, all, all->roofs[k].threads);
            if (value != value) continue;
            char(*cells)[96] = out->cells[out->n++];
            snprintf(cells[0], sizeof *cells, "%s", t->name);
            snprintf(cells[1], sizeof *cells, "%d", all->roofs[k].threads);
            print_value(cells[2], sizeof *cells, t, t->published);
            print_value(cells[3], sizeof *cells, t, value);
            snprintf(cells[4], sizeof *cells, "%.3g", ratio(t, value));
            snprintf(cells[5], sizeof *cells, "%s", t->row);
        }
}

void targets_write_json(json *j, const bench_results *all) {
    static const char *const kinds[] = {"seconds", "samples_per_second", "bytes", "times_as_fast", "part"};
    for (int k = 0; k < all->n_roofs; k++)
        for (int i = 0; i < N_TARGETS; i++) {
            const double value = measured(&targets[i], all, all->roofs[k].threads);
            if (value != value) continue;
            json_open(j, NULL, '{');
            json_text(j, "name", targets[i].name);
            json_integer(j, "threads", all->roofs[k].threads);
            json_text(j, "unit", kinds[targets[i].kind]);
            json_real(j, "published", targets[i].published, 6);
            json_real(j, "measured", value, 6);
            json_real(j, "ratio", ratio(&targets[i], value), 4);
            json_text(j, "row", targets[i].row);
            json_close(j, '}');
        }
}
