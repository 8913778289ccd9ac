/* task_draw.h: what tasks draw with: colours of classes, and pictures as files. */
#ifndef WICK_CLI_TASK_DRAW_H
#define WICK_CLI_TASK_DRAW_H

#include "task.h"

#include "../boxes/box_fit.h"

/* Colours of the first classes, which differ also to the colour-blind; those behind are bits of the number, as Pascal
 * VOC's. A class that is named as a colour, #rrggbb, has that. */
void task_colour(const struct classifier *c, int64_t k, uint8_t rgb[3]);
/* STEM and end, as png_encode has it. An exit code; what went wrong has been said. */
int task_save_png(const struct classifier *c, const char *stem, const char *end, const uint8_t *pixels, int64_t height,
                  int64_t width, int channels, const uint8_t *palette);
/* Text as a file STEM and end; frees it. */
int task_save_text(const struct classifier *c, const char *stem, const char *end, char *text, size_t size, bool whole);
/* How the picture at hand became what the network takes. */
box_fit task_fit(const struct classifier *c);
/* A cell of a table, in quotes where it needs them. */
void task_cell(const char *text);
/* [channels, height, width] as [height, width, 3]. */
void task_rgb(const uint8_t *pixels, int64_t channels, int64_t height, int64_t width, uint8_t *rgb);
/* A picture, u8 [height, width, 3], with a line below it, in a report. false: memory is out. */
bool task_figure(FILE *out, const uint8_t *rgb, int64_t height, int64_t width, const char *what);
/* The first pictures of a round in a report: `pair` writes what is there and what is found in picture i. false: it
 * failed, or memory is out. */
bool task_report_pictures(FILE *out, const struct evaluator *e,
                          bool (*pair)(FILE *out, const struct evaluator *e, const uint8_t *rgb, int64_t i));

#endif
