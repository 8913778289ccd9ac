/* wick info: this build on this machine, what a checkpoint holds, or what a network costs. */
#include "layers.h"
#include "../options.h"
#include "../term/log.h"
#include "../tuned.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The tier is the first field of the numerics key: "tier=avx512;...". */
static void copy_tier(char *text, size_t size, const char *numerics) {
    const char *value = strncmp(numerics, "tier=", 5) == 0 ? numerics + 5 : numerics;
    snprintf(text, size, "%.*s", (int)strcspn(value, ";"), value);
}

static int show_build(const cli_options *o, wick_context *ctx) {
    char tier[32];
    const char *numerics = wick_context_numerics(ctx);
    copy_tier(tier, sizeof tier, numerics);
    if (!o->json) {
        printf("version   %s\ntier      %s\nthreads   %d\nnumerics  %s\n", wick_version(), tier,
               wick_context_threads(ctx), numerics);
        return CLI_OK;
    }
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "version", wick_version());
    json_text(&j, "tier", tier);
    json_integer(&j, "threads", wick_context_threads(ctx));
    json_text(&j, "numerics", numerics);
    log_json_close(&j);
    return CLI_OK;
}

static double elements(const wick_spec *spec) {
    double n = 1;
    for (int i = 0; i < spec->rank; i++) n *= (double)spec->dims[i];
    return n;
}

/* One value of the metadata. Reals are written with 17 digits, which always read back; fewer often do. (A checksum may
 * look like 1e5.) Names have tabs between. */
static void show_value(const char *value) {
    char *end, number[32];
    const double real = strtod(value, &end);
    int digits = 1;
    if (*value && !*end && strchr(value, '.')) {
        do snprintf(number, sizeof number, "%.*g", digits++, real);
        while (digits <= 17 && strtod(number, NULL) != real);
        value = number;
    }
    for (size_t n; n = strcspn(value, "\t"), value[n]; value += n + 1) log_print("%.*s, ", (int)n, value);
    log_print("%s\n", value);
}

static void show_text(const wick_checkpoint *file, const char *path) {
    const char *key, *value;
    double numbers = 0, bytes = 0;
    log_print("%s\n\n", path);
    printf("metadata\n");
    for (int i = 0; wick_checkpoint_meta_at(file, i, &key, &value); i++) {
        log_print("  %-18s ", key);
        show_value(value);
    }
    printf("\ntensors\n");
    for (int i = 0; i < wick_checkpoint_count(file); i++) {
        wick_spec spec = wick_checkpoint_tensor(file, i);
        log_print("  %-28s %-5s [", spec.name, wick_dtype_name(spec.dtype));
        for (int d = 0; d < spec.rank; d++) printf("%s%lld", d ? ", " : "", (long long)spec.dims[d]);
        printf("]\n");
        numbers += elements(&spec);
        bytes += ceil(elements(&spec) * wick_dtype_bits(spec.dtype) / 8);
    }
    int count = wick_checkpoint_count(file);
    printf("\n%d tensor%s, %.0f number%s, %.0f bytes\n", count, plural(count), numbers, plural((int64_t)numbers),
           bytes);
}

static void show_json(const wick_checkpoint *file, const char *path, const classifier *c, const wick_summary *layers) {
    const char *key, *value;
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "path", path);
    json_open(&j, "metadata", '{');
    for (int i = 0; wick_checkpoint_meta_at(file, i, &key, &value); i++) {
        if (!layers || strcmp(key, "names") != 0) {
            json_text(&j, key, value);
            continue;
        }
        json_open(&j, key, '[');
        for (int64_t k = 0; k < c->classes; k++) json_text(&j, NULL, c->class_names[k]);
        json_close(&j, ']');
    }
    json_close(&j, '}');
    json_open(&j, "tensors", '[');
    for (int i = 0; i < wick_checkpoint_count(file); i++) {
        wick_spec spec = wick_checkpoint_tensor(file, i);
        json_open(&j, NULL, '{');
        json_text(&j, "name", spec.name);
        json_text(&j, "dtype", wick_dtype_name(spec.dtype));
        json_open(&j, "shape", '[');
        for (int d = 0; d < spec.rank; d++) json_integer(&j, NULL, spec.dims[d]);
        json_close(&j, ']');
        json_close(&j, '}');
    }
    json_close(&j, ']');
    if (layers) layers_json(c, layers, &j);
    log_json_close(&j);
}

/* The layers follow where the metadata says which network it is. */
static int show_checkpoint(const cli_options *o, wick_context *ctx) {
    wick_checkpoint *file;
    classifier c = {0};
    wick_summary *layers = NULL;
    char *path;
    int code = model_open(ctx, o->model, &file, &path);
    if (code == CLI_OK && !o->json) show_text(file, path);
    if (code == CLI_OK && classifier_is_in(file)) {
        code = classifier_build(&c, ctx, file, path);
        if (code == CLI_OK) code = layers_of(&c, CLI_BAD_FILE, &layers);
    }
    if (code == CLI_OK && o->json) show_json(file, path, &c, layers);
    if (layers && !o->json) {
        printf("\n");
        layers_print(&c, layers);
    }
    wick_summary_free(&layers);
    classifier_free(&c);
    wick_checkpoint_free(&file);
    free(path);
    return code;
}

static int show_network(const cli_options *o, wick_context *ctx) {
    char arch[4096];
    classifier c = {0};
    wick_summary *layers = NULL;
    if (o->model) return log_fail(CLI_USAGE, "MODEL has its network; it takes no --arch or --net beside it");
    if (*o->arch && *o->net) return log_fail(CLI_USAGE, "--net says all; it takes no --arch beside it");
    if (!*o->input)
        return log_fail(CLI_USAGE, "--%s needs --input, the extents of an image: 28,28 or 3,32,32",
                        *o->net ? "net" : "arch");
    if ((size_t)snprintf(arch, sizeof arch, "%s%s", *o->net ? "net:" : "", *o->net ? o->net : o->arch) >= sizeof arch)
        return log_fail(CLI_USAGE, "the network is longer than any");
    int code = classifier_for_arch(&c, ctx, arch, o->input, o->classes);
    if (code == CLI_OK) code = layers_of(&c, CLI_USAGE, &layers);
    if (code == CLI_OK && o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        layers_json(&c, layers, &j);
        log_json_close(&j);
    } else if (code == CLI_OK)
        layers_print(&c, layers);
    wick_summary_free(&layers);
    classifier_free(&c);
    return code;
}

int cmd_info(cli_options *o) {
    if ((*o->input || options_given(o, "classes")) && !*o->arch && !*o->net)
        return log_fail(CLI_USAGE, "--input and --classes are of a network; give --arch or --net");
    wick_context *ctx;
    if (wick_context_new(&(wick_context_options){.tuning = tuned(), .threads = (int)o->threads}, &ctx) != WICK_OK)
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    const bool network = *o->arch || *o->net;
    int code = network ? show_network(o, ctx) : o->model ? show_checkpoint(o, ctx) : show_build(o, ctx);
    wick_context_free(&ctx);
    return code;
}
