/* The table of printers of steps has each kind, or the kind stands here. */
#include "aot/aot.h"
#include "test.h"

TEST(each_kind_of_step_is_printed_or_is_listed_here) {
    for (int kind = 0; kind < WICK_STEP_KINDS; kind++) {
        const wick_step s = {.kind = (wick_step_kind)kind};
        const wick_c_step_printer *row = wick_c_step_printer_of(&s);
        const bool listed = kind == WICK_STEP_OTHER || kind == WICK_STEP_CHANNEL_LOOP;
        CHECK_MSG((row->print != NULL) + row->elsewhere + listed == 1,
                  "kind %d of wick_step_kind: needs one row of printers (src/aot/steps.c), with .print or .elsewhere",
                  kind);
        CHECK_MSG(!row->packs || row->scratch, "kind %d packs, and says of no bytes", kind);
        CHECK_MSG(!row->scratch || row->shares, "kind %d has scratch, and no ref where that is", kind);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
