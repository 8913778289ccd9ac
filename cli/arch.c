#include "arch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    bool hidden;
} kinds[] = {
    {"mlp", true},
    {"linear", false},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], WIDEST = 1 << 20 };

static bool parse_sizes(arch *a, const char *text, char *error, size_t size) {
    for (const char *s = text;; s++) {
        char *end;
        errno = 0;
        long long width = strtoll(s, &end, 10);
        if (errno || end == s || (*end != ',' && *end != '\0') || width < 1 || width > WIDEST) {
            snprintf(error, size, "hidden sizes '%s' must be numbers from 1 to %d, separated by commas", text, WIDEST);
            return false;
        }
        if (a->n_hidden == ARCH_MAX_LAYERS) {
            snprintf(error, size, "more than %d hidden layers in '%s'", ARCH_MAX_LAYERS, text);
            return false;
        }
        a->hidden[a->n_hidden++] = width;
        if (*end == '\0') return true;
        s = end;
    }
}

bool arch_parse(arch *a, const char *text, const char *sizes, char *error, size_t size) {
    size_t length = strcspn(text, ":");
    bool own_sizes = text[length] == ':';
    *a = (arch){.kind = -1};
    char known[64] = "";
    for (int i = 0; i < KINDS; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", kinds[i].name);
        if (strlen(kinds[i].name) == length && memcmp(kinds[i].name, text, length) == 0) a->kind = i;
    }
    if (a->kind < 0) {
        snprintf(error, size, "unknown architecture '%.*s'; known: %s", (int)(length < 64 ? length : 64), text, known);
        return false;
    }
    if (own_sizes) sizes = text + length + 1;
    if (kinds[a->kind].hidden) return parse_sizes(a, sizes ? sizes : "", error, size);
    if (own_sizes) snprintf(error, size, "architecture %s takes no hidden sizes", kinds[a->kind].name);
    return !own_sizes;
}

void arch_format(const arch *a, char text[ARCH_TEXT]) {
    int length = snprintf(text, ARCH_TEXT, "%s", kinds[a->kind].name);
    for (int i = 0; i < a->n_hidden; i++)
        length += snprintf(text + length, (size_t)(ARCH_TEXT - length), "%c%lld", i ? ',' : ':', (long long)a->hidden[i]);
}

double arch_weights(const arch *a, int64_t pixels, int64_t classes) {
    double weights = 0, width = (double)pixels;
    for (int i = 0; i < a->n_hidden; i++) {
        weights += width * (double)a->hidden[i];
        width = (double)a->hidden[i];
    }
    return weights + width * (double)classes;
}

wick_tensor *arch_logits(const arch *a, wick_model *model, wick_tensor *x, int64_t classes, double dropout) {
    wick_tensor *h = wick_flatten(x, 1);
    for (int i = 0; i < a->n_hidden; i++) {
        char name[16];
        snprintf(name, sizeof name, "fc%d", i + 1);
        h = wick_relu(wick_nn_linear(model, name, h, a->hidden[i]));
        if (dropout > 0) h = wick_nn_dropout(model, h, dropout);
    }
    return wick_nn_linear(model, "out", h, classes);
}
