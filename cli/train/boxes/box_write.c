/* Sets of boxes as files that the readers give back. */
#include "box_set.h"

#include "../../json.h"
#include "../../paths.h"

#include "wick/io.h"
#include "wick/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shortest text that is read as the same number, but for what is below a millionth of a millionth of it: half of
 * a width, or a share of one, is not to bring in digits that nobody wrote. */
static const char *exact(char text[32], double value) {
    for (int digits = 6; digits <= 12; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    return text;
}

static wick_status save(wick_context *ctx, const char *path, char *text, size_t size, bool whole) {
    const wick_status status = whole ? wick_file_write(ctx, path, text, size) : box_out_of_memory(ctx, path);
    free(text);
    return status;
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

static void cell(FILE *out, const char *text) {
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void write_csv(const box_set *s, FILE *out) {
    char number[32];
    fputs("path,class,xmin,ymin,xmax,ymax\n", out);
    for (int64_t i = 0; i < s->n; i++) {
        const box_picture *p = &s->pictures[i];
        for (int64_t k = 0; k < p->n + !p->n; k++) {
            const box *b = p->n ? &s->boxes[p->first + k] : NULL;
            cell(out, p->name);
            fputc(',', out);
            if (b) cell(out, s->classes[b->class]);
            for (int side = 0; side < 4; side++) fprintf(out, ",%s", b ? exact(number, b->at[side]) : "");
            fputc('\n', out);
        }
    }
}

/* ---- COCO -------------------------------------------------------------------------------------------------------- */

static void write_coco(const box_set *s, const int64_t (*sizes)[2], FILE *out) {
    json j = {.out = out};
    json_open(&j, NULL, '{');
    json_open(&j, "images", '[');
    for (int64_t i = 0; i < s->n; i++) {
        json_open(&j, NULL, '{');
        json_integer(&j, "id", i + 1);
        json_text(&j, "file_name", s->pictures[i].name);
        json_integer(&j, "height", sizes[i][0]);
        json_integer(&j, "width", sizes[i][1]);
        json_close(&j, '}');
        fputc('\n', out);
    }
    json_close(&j, ']');
    json_open(&j, "categories", '[');
    for (int k = 0; k < s->n_classes; k++) {
        json_open(&j, NULL, '{');
        json_integer(&j, "id", k + 1);
        json_text(&j, "name", s->classes[k]);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_open(&j, "annotations", '[');
    for (int64_t i = 0; i < s->n_boxes; i++) {
        const box *b = &s->boxes[i];
        const double wide = b->at[2] - b->at[0], high = b->at[3] - b->at[1],
                     place[4] = {b->at[0], b->at[1], wide, high};
        json_open(&j, NULL, '{');
        json_integer(&j, "id", i + 1);
        json_integer(&j, "image_id", b->picture + 1);
        json_integer(&j, "category_id", b->class + 1);
        json_open(&j, "bbox", '[');
        for (int k = 0; k < 4; k++) json_real(&j, NULL, place[k], 12);
        json_close(&j, ']');
        json_real(&j, "area", wide * high, 12);
        json_integer(&j, "iscrowd", 0);
        json_close(&j, '}');
        fputc('\n', out);
    }
    json_close(&j, ']');
    json_close(&j, '}');
    fputc('\n', out);
}

/* ---- a file for each picture ------------------------------------------------------------------------------------- */

static void write_yolo(const box_set *s, int64_t i, const int64_t size[2], FILE *out) {
    const box_picture *p = &s->pictures[i];
    char text[4][32];
    for (const box *b = s->boxes + p->first; b < s->boxes + p->first + p->n; b++) {
        const double wide = (double)size[1], high = (double)size[0],
                     v[4] = {(b->at[0] + b->at[2]) / 2 / wide, (b->at[1] + b->at[3]) / 2 / high,
                             (b->at[2] - b->at[0]) / wide, (b->at[3] - b->at[1]) / high};
        fprintf(out, "%d %s %s %s %s\n", b->class, exact(text[0], v[0]), exact(text[1], v[1]), exact(text[2], v[2]),
                exact(text[3], v[3]));
    }
}

static void escaped(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else
            fputc(*text, out);
    }
}

static void write_voc(const box_set *s, int64_t i, const int64_t size[2], FILE *out) {
    const box_picture *p = &s->pictures[i];
    char text[4][32];
    fputs("<annotation>\n  <filename>", out);
    escaped(out, p->name);
    fprintf(out, "</filename>\n  <size><width>%lld</width><height>%lld</height></size>\n", (long long)size[1],
            (long long)size[0]);
    for (const box *b = s->boxes + p->first; b < s->boxes + p->first + p->n; b++) {
        fputs("  <object>\n    <name>", out);
        escaped(out, s->classes[b->class]);
        fprintf(out,
                "</name>\n    <bndbox><xmin>%s</xmin><ymin>%s</ymin><xmax>%s</xmax><ymax>%s</ymax></bndbox>\n"
                "  </object>\n",
                exact(text[0], b->at[0] + 1), exact(text[1], b->at[1] + 1), exact(text[2], b->at[2]),
                exact(text[3], b->at[3]));
    }
    fputs("</annotation>\n", out);
}

/* TO/NAME.txt or TO/NAME.xml, in folders as the names have them. */
static wick_status write_one(wick_context *ctx, const box_set *s, int64_t i, const int64_t size[2], box_form form,
                             const char *to) {
    const char *name = s->pictures[i].name, *dot = strrchr(name, '.'), *slash = strrchr(name, '/');
    char path[BOX_PATH], parent[BOX_PATH], *text = NULL;
    size_t length = 0;
    const int stem = dot && (!slash || dot > slash) ? (int)(dot - name) : (int)strlen(name);
    if (snprintf(path, sizeof path, "%s/%.*s%s", to, stem, name, form == BOX_YOLO ? ".txt" : ".xml") >=
        (int)sizeof path)
        return wick_context_fail(ctx, WICK_ERR_IO, "%s/%s: the name is too long", to, name);
    snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(path, '/') - path), path);
    if (!path_make_folder(parent)) return wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", parent, strerror(errno));
    FILE *out = open_memstream(&text, &length);
    if (!out) return box_out_of_memory(ctx, path);
    if (form == BOX_YOLO)
        write_yolo(s, i, size, out);
    else
        write_voc(s, i, size, out);
    const bool whole = fclose(out) == 0;
    return save(ctx, path, text, length, whole);
}

static wick_status write_names(wick_context *ctx, const box_set *s, const char *to) {
    char path[BOX_PATH], *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) return box_out_of_memory(ctx, to);
    for (int k = 0; k < s->n_classes; k++) fprintf(out, "%s\n", s->classes[k]);
    const bool whole = fclose(out) == 0;
    snprintf(path, sizeof path, "%s/classes.txt", to);
    return save(ctx, path, text, length, whole);
}

wick_status box_write(wick_context *ctx, const box_set *s, const int64_t (*sizes)[2], box_form form, const char *to) {
    wick_status status = WICK_OK;
    if (form == BOX_CSV || form == BOX_COCO) {
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        if (!out) return box_out_of_memory(ctx, to);
        if (form == BOX_CSV)
            write_csv(s, out);
        else
            write_coco(s, sizes, out);
        const bool whole = fclose(out) == 0;
        return save(ctx, to, text, length, whole);
    }
    if (!path_make_folder(to)) return wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", to, strerror(errno));
    for (int64_t i = 0; i < s->n && status == WICK_OK; i++) status = write_one(ctx, s, i, sizes[i], form, to);
    return status == WICK_OK ? write_names(ctx, s, to) : status;
}
