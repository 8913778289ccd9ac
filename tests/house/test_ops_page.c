/* docs/ops.md lists the ops of the registry. With --write this writes the page instead: run it when ops changed. */
#include <glob.h>

#include "house/page.h"

/* A bar would end the cell. */
static void add_text(const char *text) {
    for (; *text; text++) add(*text == '|' ? "\\|" : "%c", *text);
}
static void add_name(const char *name) { add(name[0] ? " `%s` |" : " %s|", name); }

static void make_page(void) {
    length = 0;
    add("# Ops\n\n"
        "What the registry of this version holds (`wick/registry.h`, `wick ops NAME`, `wick ops --json`). Written by\n"
        "`test_house_ops_page --write`; a test compares. The public functions, with arguments, shapes and errors, are "
        "in\n"
        "the headers of `include/wick`. More in [tensors and ops](tensors.md).\n\n"
        "Dtypes are those an op computes in or converts as it loads and stores (of its first input, or of what it "
        "makes);\n"
        "its function takes more and casts. *floats* are f32, f64, f16 and bf16, *integers* i8 to i64 and u8 to u64,\n"
        "*numbers* both, *all* also bool; in *f8* and in *packed* ones (i4, u4, i2, u2) nothing computes. Names of "
        "PyTorch\n"
        "stand below `torch.`. FLOPs are counted by n, the elements of the (first) result, and m, those of the first "
        "input;\n"
        "a multiply-add counts 2.\n");
    for (int part = 0; part < 3; part++) {
        static const char *const heads[] = {
            "\n## Elementwise\n\nOne row each in `src/kernels/elementwise/table.h`: broadcast, fuse, n FLOPs.\n\n",
            "\n## The others\n\n",
            "\n## Functions\n\nBuilt from ops, without a node of their own. Their FLOPs are those of the ops.\n\n"};
        static const char *const titles[] = {
            "| op | inputs | dtypes | gradient | ONNX | PyTorch | what |\n|---|---|---|---|---|---|---|\n",
            "| op | inputs | dtypes | gradient | ONNX | PyTorch | FLOPs | what |\n|---|---|---|---|---|---|---|---|\n",
            "| function | gradient | ONNX | PyTorch | what |\n|---|---|---|---|---|\n"};
        add("%s%s", heads[part], titles[part]);
        for (int i = 0; i < wick_op_count(); i++) {
            wick_op_info op = wick_op_at(i);
            if ((op.function ? 2 : op.elementwise ? 0 : 1) != part) continue;
            add("| `%s` |", op.name);
            if (op.max_inputs < 0)
                add(" %d or more |", op.min_inputs);
            else if (op.max_inputs > op.min_inputs)
                add(" %d to %d |", op.min_inputs, op.max_inputs);
            else if (!op.function)
                add(" %d |", op.min_inputs);
            if (!op.function) add(" %s |", dtypes_of(i));
            add(" %s |", op.differentiable ? "yes" : "");
            add_name(op.onnx);
            add_name(op.torch);
            if (part == 1) add(" %s |", op.flops);
            add(" ");
            add_text(op.doc);
            add(" |\n");
        }
    }
}

/* Every function of the registry is declared, as is every op that isn't internal; a name of the list is not an op's. */
TEST(functions_of_the_registry_are_public) {
    static char headers[1 << 20];
    size_t n = 0;
    glob_t found;
    REQUIRE(glob(WICK_SOURCE_DIR "/include/wick/*.h", 0, NULL, &found) == 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *f = fopen(found.gl_pathv[i], "rb");
        REQUIRE(f);
        n += fread(headers + n, 1, sizeof headers - 1 - n, f);
        fclose(f);
    }
    globfree(&found);
    REQUIRE(n < sizeof headers - 1);
    for (int i = 0; i < wick_op_count(); i++) {
        wick_op_info op = wick_op_at(i);
        char call[128];
        snprintf(call, sizeof call, "wick_%s(", op.name);
        CHECK_MSG(!op.function || strstr(headers, call), "%s is in functions.h, but no header declares it", op.name);
        CHECK_MSG(op.name[0] && op.doc[0] && op.onnx && op.torch && op.flops, "%s lacks a text", op.name);
        for (int k = 0; k < i; k++) CHECK_MSG(strcmp(op.name, wick_op_at(k).name), "two are called %s", op.name);
    }
    CHECK(!wick_op_takes(-1, WICK_F32) && !wick_op_takes(wick_op_count(), WICK_F32) &&
          wick_op_at(wick_op_count()).name == NULL);
    CHECK(wick_op_takes(0, WICK_F32) && wick_op_takes(0, WICK_U8) && !wick_op_takes(0, WICK_BOOL)); /* add */
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
