#include "tables.h"

#include <string.h>

static const struct {
    const char *name, *title;
    bool (*want)(const char *key);
    void (*fill)(bench_table *t, const bench_results *all);
    void (*write_json)(json *j, const bench_results *all);
} tables[TABLES] = {{"targets", "Published figures", targets_want, targets_fill, targets_write_json},
                    {"goals", "Goals", goals_want, goals_fill, goals_write_json}};

unsigned tables_named(const char *pattern) {
    unsigned named = 0;
    for (int i = 0; i < TABLES; i++) named |= (unsigned)(strcmp(tables[i].name, pattern) == 0) << i;
    return named;
}
bool tables_want(const char *pattern, const char *key) {
    bool want = false;
    for (int i = 0; i < TABLES; i++) want |= strcmp(tables[i].name, pattern) == 0 && tables[i].want(key);
    return want;
}

const bench_table *tables_fill(bench_table_id which, const bench_results *all) {
    static bench_table t;
    if (!(all->tables >> which & 1)) return NULL;
    memset(&t, 0, sizeof t);
    t.title = tables[which].title;
    tables[which].fill(&t, all);
    return t.n ? &t : NULL;
}

void tables_write_json(bench_table_id which, json *j, const bench_results *all) {
    if (!(all->tables >> which & 1)) return;
    json_open(j, tables[which].name, '[');
    tables[which].write_json(j, all);
    json_close(j, ']');
}

void table_print(const bench_table *t) {
    size_t width[TABLE_COLUMNS] = {0};
    if (!t) return;
    for (int c = 0; c < t->columns; c++) {
        width[c] = strlen(t->heads[c]);
        for (int i = 0; i < t->n; i++)
            if (strlen(t->cells[i][c]) > width[c]) width[c] = strlen(t->cells[i][c]);
    }
    printf("\n%s\n", t->title);
    for (int i = -1; i < t->n; i++) {
        for (int c = 0; c < t->columns; c++)
            printf("%-*s%s", c + 1 < t->columns ? (int)width[c] : 0, i < 0 ? t->heads[c] : t->cells[i][c],
                   c + 1 < t->columns ? "  " : "\n");
    }
    printf("%s\n", t->note);
}
