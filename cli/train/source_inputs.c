/* Several inputs: arrays of a .npz or safetensors file, [n, ...] each, of which a sample is all, one behind the other
 * in a row of numbers. The coding of tensors has a tab, the name and the shape of each, "\tecg 1x250". Layers of the
 * text of a network take them by name: "input ecg". */
#include "source_kinds.h"
#include "../term/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next of names with commas between, without blanks around; false: there is none. */
static bool next_name(const char **at, const char **name, int *length) {
    *at += strspn(*at, ", ");
    *name = *at;
    *length = (int)strcspn(*at, ", ");
    *at += *length;
    return *length > 0;
}

static wick_status add_dims(wick_context *ctx, const char *path, const wick_spec *spec, source_input *in) {
    in->rank = spec->rank - 1, in->count = 1;
    if (in->rank < 1 || in->rank > SOURCE_INPUT_DIMS)
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s: \"%s\" has %d dims, and an input is [n, ...] with one to three dims a sample",
                                 path, spec->name, spec->rank);
    for (int d = 0; d < in->rank; d++) {
        in->dims[d] = spec->dims[d + 1];
        if (in->dims[d] < 1 || in->count > SOURCE_MOST_NUMBERS / in->dims[d])
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: \"%s\": samples of no numbers, or of more than %d",
                                     path, spec->name, SOURCE_MOST_NUMBERS);
        in->count *= in->dims[d];
    }
    return WICK_OK;
}

/* Which tensor that is, of the split if the file has several; -1: none. */
static int find(const wick_weights *file, const char *split, const char *name) {
    char base[SOURCE_BASE];
    for (int i = 0; i < wick_weights_count(file); i++) {
        const char *whole = wick_weights_at(file, i).name;
        if (split ? source_strip_split(whole, split, base) && strcmp(base, name) == 0 : strcmp(whole, name) == 0)
            return i;
    }
    return -1;
}

static wick_status check_numbers(wick_context *ctx, const char *path, const source_input *in, wick_tensor *x) {
    const void *data;
    const wick_status status = wick_data(x, &data);
    const int64_t n = status == WICK_OK ? wick_tensor_count(x) : 0;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(((const float *)data)[i]))
            return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                     "%s: \"%s\": sample %lld has NaN, or a number beyond 32 bits", path, in->name,
                                     (long long)(i / in->count));
    return status;
}

wick_status source_take_inputs(wick_context *ctx, const wick_weights *file, const char *path, const char *split,
                               const char *names, source_input list[SOURCE_MOST_INPUTS], int *n, wick_tensor **out) {
    wick_tensor *parts[SOURCE_MOST_INPUTS];
    const char *name;
    int64_t samples = -1, first = 0;
    *n = 0;
    for (int length; next_name(&names, &name, &length); ++*n) {
        if (*n == SOURCE_MOST_INPUTS || length >= SOURCE_INPUT_NAME)
            return wick_context_fail(ctx, WICK_ERR_INVALID, "--inputs: more than %d, or a name of more than %d letters",
                                     SOURCE_MOST_INPUTS, SOURCE_INPUT_NAME - 1);
        source_input *in = &list[*n];
        *in = (source_input){.first = first};
        snprintf(in->name, sizeof in->name, "%.*s", length, name);
        for (int k = 0; k < *n; k++)
            if (strcmp(list[k].name, in->name) == 0)
                return wick_context_fail(ctx, WICK_ERR_INVALID, "--inputs: \"%s\" is named twice", in->name);
        in->tensor = find(file, split, in->name);
        if (in->tensor < 0)
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no array \"%s%s%s\" to be an input", path, in->name,
                                     split ? "_" : "", split ? split : "");
        const wick_spec spec = wick_weights_at(file, in->tensor);
        wick_status status = add_dims(ctx, path, &spec, in);
        if (status == WICK_OK && samples >= 0 && spec.dims[0] != samples)
            status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: \"%s\" has %lld samples, and \"%s\" %lld", path,
                                       spec.name, (long long)spec.dims[0], list[0].name, (long long)samples);
        if (status != WICK_OK) return status;
        samples = spec.dims[0], first += in->count;
        wick_tensor *x = wick_cast(wick_weights_tensor(file, in->tensor), WICK_F32);
        parts[*n] = wick_reshape(x, 2, (const int64_t[]){samples, in->count});
        status = check_numbers(ctx, path, in, parts[*n]);
        if (status != WICK_OK) return status;
    }
    if (!*n) return wick_context_fail(ctx, WICK_ERR_INVALID, "--inputs names no array");
    *out = *n > 1 ? wick_concat(*n, parts, 1) : parts[0];
    return wick_tensor_error(*out, NULL) == WICK_OK ? WICK_OK
                                                    : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
}

/* ---- the coding -------------------------------------------------------------------------------------------------- */

char *source_write_inputs(const source_input *list, int n) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fprintf(out, "tensors nchw %lld", (long long)(list[n - 1].first + list[n - 1].count));
    for (int k = 0; k < n; k++) {
        fprintf(out, "\t%s ", list[k].name);
        for (int d = 0; d < list[k].rank; d++) fprintf(out, "%s%lld", d ? "x" : "", (long long)list[k].dims[d]);
    }
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

int source_read_inputs(const char *coding, source_input list[SOURCE_MOST_INPUTS]) {
    int n = 0;
    int64_t first = 0;
    if (!coding || strncmp(coding, "tensors ", 8) != 0) return 0;
    for (const char *at = strchr(coding, '\t'); at && n < SOURCE_MOST_INPUTS; at = strchr(at, '\t'), n++) {
        source_input *in = &list[n];
        at++;
        const char *blank = at + strcspn(at, " \t");
        *in = (source_input){.first = first, .count = 1};
        if (*blank != ' ' || blank - at >= SOURCE_INPUT_NAME) return 0;
        memcpy(in->name, at, (size_t)(blank - at));
        for (at = blank; (*at == ' ' || *at == 'x') && in->rank < SOURCE_INPUT_DIMS;) {
            char *end;
            const long long extent = strtoll(at + 1, &end, 10);
            if (extent < 1 || in->count > SOURCE_MOST_NUMBERS / extent) return 0;
            in->dims[in->rank++] = extent, in->count *= extent, at = end;
        }
        first += in->count;
    }
    return n;
}

/* ---- in the text of a network ------------------------------------------------------------------------------------ */

bool source_fill_inputs(const char *coding, char *text, size_t size, char unknown[SOURCE_INPUT_NAME]) {
    source_input list[SOURCE_MOST_INPUTS];
    const int n = source_read_inputs(coding, list);
    static const char word[] = "input ";
    for (char *at = text; (at = strstr(at, word));) {
        const bool begins = at == text || strchr(" ,(:\t\n", at[-1]) != NULL;
        at += sizeof word - 1;
        const size_t length = strcspn(at, " ,()\t\n");
        if (!begins || (*at >= '0' && *at <= '9')) continue; /* "input 250 1x100" is the layer itself */
        int k = 0;
        while (k < n && (strlen(list[k].name) != length || memcmp(list[k].name, at, length) != 0)) k++;
        snprintf(unknown, SOURCE_INPUT_NAME, "%.*s", (int)length, at);
        if (k == n) return false;
        char layer[96];
        int used = snprintf(layer, sizeof layer, "%lld ", (long long)list[k].first);
        for (int d = 0; d < list[k].rank; d++)
            used +=
                snprintf(layer + used, sizeof layer - (size_t)used, "%s%lld", d ? "x" : "", (long long)list[k].dims[d]);
        const size_t rest = strlen(at + length) + 1, begin = (size_t)(at - text);
        *unknown = '\0';
        if (begin + (size_t)used + rest > size) return false;
        memmove(at + used, at + length, rest);
        memcpy(at, layer, (size_t)used);
    }
    return true;
}
