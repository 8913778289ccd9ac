/* What wick eval makes of boxes. */
#include "../../cli/train/boxes/box_scores.h"

#include "golden/golden.h"
#include "test.h"

enum { MOST = 4096, MOST_CLASSES = 8 };

static bool near(double a, double b) { return fabs(a - b) <= 1e-12; }

static void check_case(const golden *all, const char *name) {
    static box_truth truth[MOST];
    static box_found found[MOST];
    box_score each[MOST_CLASSES], mean;
    char key[64];
    const golden *g[5];
    static const char *const keys[] = {"truth", "found", "mean", "each", "precision"};
    for (int k = 0; k < 5; k++) {
        snprintf(key, sizeof key, "%s.%s", name, keys[k]);
        g[k] = golden_find(all, key);
        REQUIRE(g[k] && g[k]->dims[0] <= MOST);
    }
    for (int64_t i = 0; i < g[0]->dims[0]; i++) {
        const double *v = g[0]->values + 6 * i;
        truth[i] = (box_truth){(int64_t)v[0], (int)v[1], {(float)v[2], (float)v[3], (float)v[4], (float)v[5]}};
    }
    for (int64_t i = 0; i < g[1]->dims[0]; i++) {
        const double *v = g[1]->values + 7 * i;
        found[i] =
            (box_found){(int64_t)v[0], (int)v[1], (float)v[2], {(float)v[3], (float)v[4], (float)v[5], (float)v[6]}};
    }
    const int classes = (int)g[3]->dims[0];
    REQUIRE(box_scores_of(found, g[1]->dims[0], truth, g[0]->dims[0], classes, each, &mean));
    const double *m = g[2]->values;
    CHECK_MSG(near(mean.ap, m[0]) && near(mean.ap50, m[1]) && near(mean.ap75, m[2]) && near(mean.recall, m[3]),
              "%s: %.12f %.12f %.12f %.12f", name, mean.ap, mean.ap50, mean.ap75, mean.recall);
    for (int k = 0; k < classes; k++) {
        const double *want = g[3]->values + 4 * k;
        const box_score *s = &each[k];
        if (want[3] < 0) { /* no box of it is there */
            CHECK(s->there == 0 && isnan(s->ap) && isnan(s->recall));
            continue;
        }
        CHECK_MSG(near(s->ap, want[0]) && near(s->ap50, want[1]) && near(s->ap75, want[2]) && near(s->recall, want[3]),
                  "%s, class %d: %.12f %.12f", name, k, s->ap, s->ap50);
        for (int i = 0; i < BOX_RECALLS; i++) CHECK(near(s->precision[i], g[4]->values[k * BOX_RECALLS + i]));
    }
}

TEST(scores_of_boxes_are_those_of_pycocotools) {
    golden *all = golden_load("boxes.txt");
    REQUIRE(all);
    static const char *const names[] = {"usual", "loose", "ties", "one"};
    for (int i = 0; i < 4; i++) check_case(all, names[i]);
    golden_free(all);
}

TEST(scores_where_nothing_is_there_or_found) {
    const box_truth one = {0, 0, {0, 0, 4, 4}};
    const box_found hit = {0, 0, 0.5F, {0, 0, 4, 4}};
    box_score each[2], mean;
    REQUIRE(box_scores_of(NULL, 0, &one, 1, 2, each, &mean));
    CHECK(mean.ap == 0 && mean.recall == 0 && each[0].there == 1 && each[1].there == 0);
    REQUIRE(box_scores_of(&hit, 1, NULL, 0, 2, each, &mean));
    CHECK(isnan(mean.ap) && each[0].found == 1);
    REQUIRE(box_scores_of(&hit, 1, &one, 1, 2, each, &mean));
    CHECK(near(mean.ap, 1) && near(mean.ap75, 1) && mean.recall == 1);
}

TEST(overlap_of_boxes) {
    CHECK(near(box_overlap((const float[]){0, 0, 4, 4}, (const float[]){2, 0, 6, 4}), 1. / 3));
    CHECK(box_overlap((const float[]){0, 0, 4, 4}, (const float[]){4, 0, 6, 4}) == 0);
    CHECK(box_overlap((const float[]){0, 0, 0, 0}, (const float[]){0, 0, 0, 0}) == 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
