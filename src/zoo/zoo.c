/* zoo.c: the table of architectures, and the reader of "NAME:WIDTH,...,dropout=P". */
#include "zoo/zoo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const wick_architecture *const zoo[] = {
    &wick_zoo_mlp,     &wick_zoo_nets[0], &wick_zoo_nets[1], &wick_zoo_nets[2], &wick_zoo_nets[3], &wick_zoo_nets[4],
    &wick_zoo_nets[5], &wick_zoo_nets[6], &wick_zoo_nets[7], &wick_zoo_nets[8], &wick_zoo_nets[9], &wick_zoo_net,
};
enum { ZOO_COUNT = (int)(sizeof zoo / sizeof zoo[0]), WIDTH_MAX = 1 << 24 };

int wick_zoo_count(void) { return ZOO_COUNT; }
const wick_architecture *wick_zoo_at(int i) { return i >= 0 && i < ZOO_COUNT ? zoo[i] : NULL; }

static wick_status unknown(wick_context *ctx, const char *text) {
    char names[512];
    size_t used = 0;
    names[0] = 0;
    for (int i = 0; i < ZOO_COUNT && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", zoo[i]->form);
    return wick_context_fail(ctx, WICK_ERR_INVALID, "no architecture \"%.64s\"; there are: %s", text, names);
}

static wick_status bad_part(wick_context *ctx, const wick_network *network, const char *part, size_t length,
                            const char *why) {
    return wick_context_fail(ctx, WICK_ERR_INVALID, "architecture \"%s\": \"%.*s\" %s; the form is %s",
                             network->architecture->name, length > 64 ? 64 : (int)length, part, why,
                             network->architecture->form);
}

/* "0", "0.25", ".5": at most 15 digits. Not strtod, whose decimal point is the locale's. */
bool wick_zoo_fraction(const char *text, size_t length, double *value) {
    size_t i = length && text[0] == '0';
    int64_t digits = 0, scale = 1;
    if (i < length && text[i] == '.')
        for (i++; i < length && text[i] >= '0' && text[i] <= '9' && scale < 1000000000000000; i++) {
            digits = digits * 10 + (text[i] - '0');
            scale *= 10;
        }
    *value = (double)digits / (double)scale;
    return length > 0 && i == length && (text[0] == '0' || scale > 1);
}

/* One part between commas: a width, or dropout=P. */
static wick_status read_part(wick_context *ctx, wick_network *network, const char *part, size_t length) {
    static const char dropout[] = "dropout=";
    const size_t prefix = sizeof dropout - 1;
    if (length >= prefix && memcmp(part, dropout, prefix) == 0) {
        if (!wick_zoo_fraction(part + prefix, length - prefix, &network->dropout))
            return bad_part(ctx, network, part, length, "is no probability in [0, 1), written 0.25");
        return WICK_OK;
    }
    char *end;
    const bool digit = length > 0 && part[0] >= '0' && part[0] <= '9'; /* strtoll would take blanks and signs */
    const long long width = digit ? strtoll(part, &end, 10) : 0;
    if (!digit || end != part + length || width < 1 || width > WIDTH_MAX)
        return bad_part(ctx, network, part, length, "is no width from 1 to 16777216");
    if (network->n_widths == WICK_ZOO_MAX_WIDTHS)
        return bad_part(ctx, network, part, length, "is one hidden layer too many (16 at most)");
    network->widths[network->n_widths++] = width;
    return WICK_OK;
}

wick_status wick_zoo_find(wick_context *ctx, const char *text, wick_network *out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "zoo_find: out is NULL");
    memset(out, 0, sizeof *out);
    if (!text) text = "";
    const size_t name = strcspn(text, ":,");
    const wick_architecture *found = NULL;
    for (int i = 0; i < ZOO_COUNT; i++)
        if (strlen(zoo[i]->name) == name && memcmp(zoo[i]->name, text, name) == 0) found = zoo[i];
    if (!found) return unknown(ctx, text);

    wick_network network = {.architecture = found};
    wick_status status = WICK_OK;
    if (found == &wick_zoo_net || found->defaults.net) {
        network.net = found->defaults.net ? found->defaults.net : text + name + (text[name] == ':');
        const bool channels = found->defaults.net && strchr(found->form, '[') && text[name] == ':';
        if (channels) {
            const char *part = text + name + 1;
            WICK_ZOO_TRY(read_part(ctx, &network, part, strlen(part)));
            if (!network.n_widths) return bad_part(ctx, &network, part, strlen(part), "is no number of channels");
        } else if (found->defaults.net && text[name])
            return bad_part(ctx, &network, text + name, strlen(text + name), "says more than it takes");
        WICK_ZOO_TRY(wick_net_check(ctx, network.net));
        *out = network;
        return WICK_OK;
    }
    for (const char *part = text + name; status == WICK_OK && *part;) {
        const size_t length = strcspn(++part, ",");
        status = read_part(ctx, &network, part, length);
        part += length;
    }
    if (status != WICK_OK) return status;
    if (!network.n_widths) {
        network.n_widths = found->defaults.n_widths;
        memcpy(network.widths, found->defaults.widths, sizeof network.widths);
    }
    *out = network;
    return WICK_OK;
}

wick_tensor *wick_zoo_build(const wick_network *network, wick_model *model, wick_tensor *x, int64_t outputs) {
    if (!network || !model || !x)
        return x ? wick_poison(wick_tensor_context(x), WICK_ERR_INVALID, "zoo_build: network or model is NULL") : NULL;
    return network->architecture->build(network, model, x, outputs);
}
