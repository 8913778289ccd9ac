/* docs/ops.md lists the ops of the registry. With --write this writes the page instead: run it when ops changed. */
#include <stdarg.h>

#include "test.h"
#include "wick/registry.h"

static char page[1 << 16];
static size_t length;

static void add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(page + length, sizeof page - length, fmt, args);
    va_end(args);
    length += n > 0 ? (size_t)n : 0;
}

static void make_page(void) {
    length = 0;
    add("# Ops\n\n"
        "What the registry of this version holds (`wick/registry.h`, `wick ops`). Written by `test_house_ops_page\n"
        "--write`; a test compares. The public functions, with arguments, shapes and errors, are in\n"
        "`include/wick/ops.h`; those built from several ops (`var`, `batch_norm`, `dropout`, `mse` ...) have no row\n"
        "of their own. More in [tensors and ops](tensors.md).\n");
    for (int elementwise = 1; elementwise >= 0; elementwise--) {
        add("%s", elementwise ? "\n## Elementwise\n\nOne row each in `src/kernels/elementwise/table.h`.\n\n"
                              : "\n## The others\n\n");
        add("| op | inputs | gradient | what |\n|---|---|---|---|\n");
        for (int i = 0; i < wick_op_count(); i++) {
            wick_op_info op = wick_op_at(i);
            if (op.elementwise != (bool)elementwise) continue;
            char inputs[32];
            if (op.max_inputs < 0)
                snprintf(inputs, sizeof inputs, "%d or more", op.min_inputs);
            else if (op.max_inputs > op.min_inputs)
                snprintf(inputs, sizeof inputs, "%d to %d", op.min_inputs, op.max_inputs);
            else
                snprintf(inputs, sizeof inputs, "%d", op.min_inputs);
            add("| `%s` | %s | %s | %s |\n", op.name, inputs, op.differentiable ? "yes" : "", op.doc);
        }
    }
}

#define PAGE WICK_SOURCE_DIR "/docs/ops.md"
TEST(the_page_of_ops_is_current) {
    static char have[sizeof page];
    make_page();
    REQUIRE(length < sizeof page);
    FILE *f = fopen(PAGE, "rb");
    REQUIRE(f);
    size_t n = fread(have, 1, sizeof have - 1, f);
    fclose(f);
    bool current = n == length && !memcmp(have, page, n);
    CHECK_MSG(current, "docs/ops.md is out of date: run %s", "test_house_ops_page --write");
}

int main(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--write")) return test_main(argc, argv);
    make_page();
    FILE *f = fopen(PAGE, "wb");
    if (!f || fwrite(page, 1, length, f) != length) return perror(PAGE), 1;
    return fclose(f) != 0;
}
