#include "facts.h"

enum { LABEL_WIDTH = 14 };

void facts_open(facts *s, bool as_json) {
    *s = (facts){.as_json = as_json, .color = log_color(stdout)};
    if (!as_json) return;
    s->j = log_json_open();
    json_bool(&s->j, "ok", true);
}

void facts_close(facts *s) {
    if (s->as_json) log_json_close(&s->j);
}

void facts_section(facts *s, const char *key, const char *title) {
    if (s->as_json)
        json_open(&s->j, key, '{');
    else
        printf("%s%s%s\n", s->color ? "\x1b[1m" : "", title, s->color ? "\x1b[0m" : "");
}

void facts_section_end(facts *s) {
    if (s->as_json)
        json_close(&s->j, '}');
    else
        fputc('\n', stdout);
}

static void line(const char *key, const char *label, const char *shown) {
    printf("  %-*s  %s\n", LABEL_WIDTH, label ? label : key, shown);
}

void facts_none(facts *s, const char *key, const char *label, const char *shown) {
    if (s->as_json)
        json_raw(&s->j, key, "null");
    else
        line(key, label, shown);
}

void facts_text(facts *s, const char *key, const char *label, const char *value) {
    if (!value || !value[0])
        facts_none(s, key, label, "unknown");
    else if (s->as_json)
        json_text(&s->j, key, value);
    else
        line(key, label, value);
}

void facts_integer(facts *s, const char *key, const char *label, int64_t value, const char *shown) {
    if (s->as_json)
        json_integer(&s->j, key, value);
    else
        line(key, label, shown);
}

void facts_real(facts *s, const char *key, const char *label, double value, const char *shown) {
    if (value < 0)
        facts_none(s, key, label, "unknown");
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
