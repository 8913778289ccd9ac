/* YOLO's texts: a file for each picture, a line for each box: the number of the class, and the middle, width and height
 * as shares of the picture's (Redmon's darknet; Ultralytics). */
#include "box_set.h"

#include "../../paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wick_status read_line(wick_context *ctx, const char *path, int64_t line, char *text, int64_t picture,
                             const char *const *names, int n_names, box_set *s) {
    double v[5];
    int n = 0;
    char *at = text, *end;
    for (; n < 5; n++, at = end) {
        v[n] = strtod(at, &end);
        if (end == at) break;
    }
    at += strspn(at, " \t\r");
    if (n != 5 || *at)
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s, line %lld: is not five numbers, the class and the middle, width and height as "
                                 "shares of the picture's",
                                 path, (long long)line);
    if (!(v[0] >= 0 && v[0] < BOX_MOST_CLASSES) || v[0] != (double)(int)v[0])
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: %g is the number of no class", path,
                                 (long long)line, v[0]);
    if (n_names && v[0] >= n_names)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: class %g is none of the %d that are named", path,
                                 (long long)line, v[0], n_names);
    for (int k = 1; k < 5; k++)
        if (!(v[k] >= 0 && v[k] <= 1))
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: number %d is %g, and shares are from 0 to 1",
                                     path, (long long)line, k + 1, v[k]);
    box b = {
        .at = {v[1] - v[3] / 2, v[2] - v[4] / 2, v[1] + v[3] / 2, v[2] + v[4] / 2}, .picture = picture, .line = line};
    char number[24];
    snprintf(number, sizeof number, "%d", (int)v[0]);
    wick_status status = box_check(ctx, path, line, b.at);
    if (status == WICK_OK) status = box_set_class(ctx, s, n_names ? names[(int)v[0]] : number, path, line, &b.class);
    return status == WICK_OK ? box_set_add(ctx, s, &b) : status;
}

wick_status box_read_yolo(wick_context *ctx, const char *path, int64_t picture, const char *const *names, int n_names,
                          box_set *s) {
    size_t size;
    char *text = path_read(path, &size), *rest = text;
    if (!text) return wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", path, strerror(errno));
    wick_status status = strlen(text) == size
                             ? WICK_OK
                             : wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has a byte 0 in it, and is no text", path);
    for (int64_t line = 1; rest && status == WICK_OK; line++) {
        char *at = strsep(&rest, "\n");
        if (at[strspn(at, " \t\r")]) status = read_line(ctx, path, line, at, picture, names, n_names, s);
    }
    free(text);
    return status;
}

/* ---- names of classes -------------------------------------------------------------------------------------------- */

static bool add_name(char ***names, int *n, const char *at, size_t length) {
    char **more = realloc(*names, (size_t)(*n + 1) * sizeof *more);
    if (!more) return false;
    *names = more;
    return ((*names)[*n] = strndup(at, length)) && ++*n;
}

/* A name without blanks and quotes around it. */
static bool add_bare(char ***names, int *n, const char *at, const char *end) {
    while (at < end && strchr(" \t\r\"'", *at)) at++;
    while (end > at && strchr(" \t\r\"'", end[-1])) end--;
    return at == end || add_name(names, n, at, (size_t)(end - at));
}

/* The "names:" of a data.yaml, [a, b], or lines "- a" or "0: a" below it, numbered from 0 on in their order. */
static wick_status read_yaml(wick_context *ctx, const char *path, char *text, char ***names, int *n) {
    char *at = strncmp(text, "names:", 6) == 0 ? text : strstr(text, "\nnames:"), *line;
    if (!at) return WICK_OK;
    at += *at == '\n' ? 7 : 6;
    at += strspn(at, " \t");
    bool ok = true;
    if (*at == '[') {
        char *end = strchr(at, ']');
        if (!end) return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: the list of names has no end", path);
        *end = '\0';
        for (char *rest = at + 1; ok && (line = strsep(&rest, ","));)
            ok = add_bare(names, n, line, line + strlen(line));
        return ok ? WICK_OK : box_out_of_memory(ctx, path);
    }
    at = strchr(at, '\n');
    for (char *rest = at ? at + 1 : NULL; ok && (line = strsep(&rest, "\n"));) {
        char *name = line + strspn(line, " \t"), *end;
        if (!*name || *name == '#' || *name == '\r') continue;
        if (*name == '-')
            name++;
        else if (name > line && strtol(name, &end, 10) == *n && end > name && *end == ':')
            name = end + 1;
        else if (name > line)
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: \"%.40s\" is not name %d of the list, \"%d: NAME\"",
                                     path, name, *n, *n);
        else
            break;
        char *remark = strstr(name, " #");
        if (remark) *remark = '\0';
        ok = add_bare(names, n, name, name + strlen(name));
    }
    return ok ? WICK_OK : box_out_of_memory(ctx, path);
}

wick_status box_yolo_names(wick_context *ctx, const char *folder, char ***names, int *n) {
    static const char *const files[] = {"classes.txt", "obj.names", "data.yaml", "dataset.yaml"};
    *names = NULL, *n = 0;
    wick_status status = WICK_OK;
    for (int k = 0; k < 4 && !*n && status == WICK_OK; k++) {
        char *path = path_join(folder, files[k]);
        size_t size;
        char *text = path && path_exists(path) ? path_read(path, &size) : NULL, *rest = text, *line;
        bool ok = path != NULL;
        if (text && k >= 2) status = read_yaml(ctx, path, text, names, n);
        while (ok && k < 2 && (line = strsep(&rest, "\n"))) ok = add_bare(names, n, line, line + strlen(line));
        if (!ok) status = box_out_of_memory(ctx, folder);
        free(text);
        free(path);
    }
    return status;
}
