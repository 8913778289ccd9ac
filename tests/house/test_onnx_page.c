/* docs/onnx.md has a table of the ops that the importer knows, with the cases of the back-end suite that each is in.
 * With --write this writes it instead: run it when rows changed, or what passes. What does not pass is what
 * tests/io/onnx_known.txt names; test_io_onnx_suite sees to that. */
#include <dirent.h>
#include <unistd.h>

#include "house/page.h"
#include "wick/wick.h"

enum { MOST = 2048, CASES = 4096, PATH_SIZE = 2048 };
#define PAGE  WICK_SOURCE_DIR "/docs/onnx.md"
#define BEGIN "<!-- ops: written by test_house_onnx_page -->\n"
#define END   "<!-- ops: end -->\n"

/* An op: what all its rows say. */
typedef struct known_op {
    const char *domain, *name;
    char opsets[128];
    int last, cases, passed;
} known_op;
static known_op ops[MOST];
static int n_ops, unread;

static int by_row(const void *a, const void *b) {
    const wick_onnx_row *x = a, *y = b;
    const int domain = strcmp(x->domain, y->domain), name = strcmp(x->name, y->name);
    return domain ? domain : name ? name : x->since - y->since;
}

static void read_rows(void) {
    static wick_onnx_row rows[MOST];
    int n = 0;
    while (n < MOST && wick_onnx_row_at(n).name) rows[n] = wick_onnx_row_at(n), n++;
    qsort(rows, (size_t)n, sizeof *rows, by_row);
    n_ops = 0;
    for (int i = 0; i < n; i++) {
        known_op *op = n_ops ? &ops[n_ops - 1] : NULL;
        const bool same = op && !strcmp(op->domain, rows[i].domain) && !strcmp(op->name, rows[i].name);
        if (!same) op = &ops[n_ops++], *op = (known_op){rows[i].domain, rows[i].name, "", 0, 0, 0};
        const size_t used = strlen(op->opsets);
        char *dash = strrchr(op->opsets, '-');
        /* goes on where the last one ends */
        if (same && rows[i].since == op->last + 1 && dash)
            snprintf(dash, sizeof op->opsets - (size_t)(dash - op->opsets), "-");
        else snprintf(op->opsets + used, sizeof op->opsets - used, "%s%d-", used ? ", " : "", rows[i].since);
        if (rows[i].until)
            snprintf(op->opsets + strlen(op->opsets), sizeof op->opsets - strlen(op->opsets), "%d", rows[i].until);
        op->last = rows[i].until ? rows[i].until : 1 << 20;
    }
}

/* Whether onnx_known.txt has a line "name: ...". */
static bool fails(const char *known, const char *name) {
    const size_t n = strlen(name);
    for (const char *line = known; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (!strncmp(line, name, n) && line[n] == ':') return true;
    return false;
}

static void count_case(const char *path, const char *name, const char *known) {
    wick_context *ctx;
    wick_onnx *onnx;
    if (wick_context_new(&(wick_context_options){.threads = 1}, &ctx) != WICK_OK) return;
    if (wick_onnx_open(ctx, path, NULL, &onnx) != WICK_OK) unread++;
    for (int i = 0; onnx && wick_onnx_op_at(onnx, i).name; i++) {
        const wick_onnx_op used = wick_onnx_op_at(onnx, i);
        for (int k = 0; k < n_ops; k++) {
            if (strcmp(ops[k].name, used.name) ||
                strcmp(ops[k].domain, strcmp(used.domain, "ai.onnx") ? used.domain : ""))
                continue;
            ops[k].cases++;
            ops[k].passed += !fails(known, name);
        }
    }
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

/* False: there is no suite here. */
static bool count_cases(void) {
    static const char *const folders[] = {"node", "simple", "light", "pytorch-converted", "pytorch-operator"};
    static char known[1 << 16];
    const char *models = getenv("WICK_MODELS");
    int found = 0;
    FILE *f = fopen(WICK_SOURCE_DIR "/tests/io/onnx_known.txt", "rb");
    if (f) known[fread(known, 1, sizeof known - 1, f)] = 0, fclose(f);
    for (size_t s = 0; models && s < sizeof folders / sizeof folders[0]; s++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%.1000s/onnx-tests/%s", models, folders[s]);
        DIR *dir = opendir(path);
        for (struct dirent *e; dir && (e = readdir(dir));) {
            const size_t n = strlen(e->d_name);
            const bool file = n > 5 && !strcmp(e->d_name + n - 5, ".onnx");
            snprintf(path, sizeof path, "%.1000s/onnx-tests/%s/%.255s%s", models, folders[s], e->d_name,
                     file ? "" : "/model.onnx");
            if (e->d_name[0] == '.' || access(path, R_OK)) continue;
            count_case(path, e->d_name, known);
            found++;
        }
        if (dir) closedir(dir);
    }
    return found > 0;
}

/* Of the op of Wick's that says to be this one; "": none does. */
static const char *dtypes_by_name(const char *name) {
    const size_t n = strlen(name);
    for (int i = 0; i < wick_op_count(); i++) {
        const wick_op_info op = wick_op_at(i);
        for (const char *at = op.onnx; !op.function && *at; at += strcspn(at, ", "), at += strspn(at, ", "))
            if (strcspn(at, ", ") == n && !memcmp(at, name, n)) return dtypes_of(i);
    }
    return "";
}

/* Rows up to their dtypes are the same where there is no suite. */
static void make_table(bool counted) {
    length = 0;
    add("%d ops in %s.\n", n_ops, "these opsets (no number at the end: to the newest)");
    for (int i = 0; i < n_ops; i++) {
        const known_op *op = &ops[i];
        if (!i || strcmp(op->domain, ops[i - 1].domain))
            add("\n### `%s`\n\n| op | opsets | dtypes | cases | passed |\n|---|---|---|---|---|\n",
                *op->domain ? op->domain : "ai.onnx");
        add("| %s | %s | %s |", op->name, op->opsets, *op->domain ? "" : dtypes_by_name(op->name));
        if (counted && op->cases) add(" %d | %d |\n", op->cases, op->passed);
        else add(counted ? " | |\n" : "\n");
    }
}

static char have[sizeof page * 2];
/* The table of the file, from its first byte to the one behind it; false: there are no markers. */
static bool read_page(char **from, char **to) {
    FILE *f = fopen(PAGE, "rb");
    if (!f) return false;
    have[fread(have, 1, sizeof have - 1, f)] = 0;
    fclose(f);
    *from = strstr(have, BEGIN);
    *to = *from ? strstr(*from, END) : NULL;
    if (*to) *from += strlen(BEGIN);
    return *to != NULL;
}

TEST(the_table_of_onnx_ops_is_current) {
    char *from, *to;
    read_rows();
    REQUIRE(n_ops > 100 && read_page(&from, &to));
    const bool counted = count_cases();
    make_table(counted);
    *to = 0;
    bool current = true;
    for (char *line = page; counted ? false : *line;) { /* each row without counts begins one with them */
        const size_t n = strcspn(line, "\n");
        line[n] = 0;
        if (!strstr(from, line)) current = false;
        line += n + 1;
    }
    if (counted) current = !strcmp(from, page);
    else printf("  skipped: WICK_MODELS has no suite, so only the rows are compared\n");
    CHECK_MSG(current, "the table in docs/onnx.md is out of date: run %s", "test_house_onnx_page --write");
    CHECK_INT(unread, 0);
}

int main(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--write")) return test_main(argc, argv);
    char *from, *to;
    read_rows();
    if (!read_page(&from, &to)) return fprintf(stderr, "%s has no markers\n", PAGE), 1;
    if (!count_cases()) return fprintf(stderr, "WICK_MODELS names no folder with the suite\n"), 1;
    make_table(true);
    FILE *f = fopen(PAGE, "wb");
    if (!f || fwrite(have, 1, (size_t)(from - have), f) != (size_t)(from - have) ||
        fwrite(page, 1, length, f) != length || fputs(to, f) < 0)
        return perror(PAGE), 1;
    if (unread) fprintf(stderr, "%d models can't be opened\n", unread);
    return fclose(f) != 0;
}
