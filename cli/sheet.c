#include "sheet.h"

enum { LABEL_WIDTH = 14 };

void sheet_open(sheet *s, bool as_json) {
    *s = (sheet){.as_json = as_json, .color = talk_color(stdout)};
    if (!as_json) return;
    s->j = talk_json_open();
    json_bool(&s->j, "ok", true);
}

void sheet_close(sheet *s) {
    if (s->as_json) talk_json_close(&s->j);
}

void sheet_section(sheet *s, const char *key, const char *title) {
    if (s->as_json)
        json_open(&s->j, key, '{');
    else
        printf("%s%s%s\n", s->color ? "\x1b[1m" : "", title, s->color ? "\x1b[0m" : "");
}

void sheet_section_end(sheet *s) {
    if (s->as_json)
        json_close(&s->j, '}');
    else
        fputc('\n', stdout);
}

static void line(const char *key, const char *label, const char *shown) {
    printf("  %-*s  %s\n", LABEL_WIDTH, label ? label : key, shown);
}

void sheet_none(sheet *s, const char *key, const char *label, const char *shown) {
    if (s->as_json)
        json_raw(&s->j, key, "null");
    else
        line(key, label, shown);
}

void sheet_text(sheet *s, const char *key, const char *label, const char *value) {
    if (!value || !value[0])
        sheet_none(s, key, label, "unknown");
    else if (s->as_json)
        json_text(&s->j, key, value);
    else
        line(key, label, value);
}

void sheet_integer(sheet *s, const char *key, const char *label, int64_t value, const char *shown) {
    if (s->as_json)
        json_integer(&s->j, key, value);
    else
        line(key, label, shown);
}

void sheet_real(sheet *s, const char *key, const char *label, double value, const char *shown) {
    if (value < 0)
        sheet_none(s, key, label, "unknown");
    else if (s->as_json)
        json_real(&s->j, key, value, 6);
    else
        line(key, label, shown);
}

const char *format_bytes(char text[32], uint64_t bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double n = (double)bytes;
    int unit = 0;
    for (; n >= 1024 && unit < 4; unit++) n /= 1024;
    snprintf(text, 32, n < 10 && unit > 0 && n != (int)n ? "%.1f %s" : "%.0f %s", n, units[unit]);
    return text;
}
