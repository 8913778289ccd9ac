/* glyphs.h: letters of font files as grey pixels, by FreeType, which is opened when it is needed. Exit codes; what went
 * wrong has been said. */
#ifndef WICK_CLI_GLYPHS_H
#define WICK_CLI_GLYPHS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct glyphs glyphs;
typedef struct glyph_font glyph_font;

/* A letter: rows of coverage from 0 to 255, where it stands from the pen on the base line, and how far the pen goes. */
typedef struct glyph {
    const uint8_t *pixels;
    int width, height, pitch, left, top; /* top: of the first row above the base line */
    double advance;
} glyph;

int glyphs_open(glyphs **out);
void glyphs_close(glyphs **library);
/* false, and *out NULL: the file is no font that scales, which is not said. */
bool glyph_font_open(glyphs *library, const char *path, glyph_font **out);
void glyph_font_close(glyphs *library, glyph_font **font);
const char *glyph_font_family(const glyph_font *font);
const char *glyph_font_style(const glyph_font *font);
bool glyph_font_has(glyphs *library, const glyph_font *font, uint32_t code);
/* How many pixels the em is wide and high from now on. */
bool glyph_font_size(glyphs *library, glyph_font *font, int width, int height);
/* What it points to lives until the next one is drawn. false: it can't be. */
bool glyph_draw(glyphs *library, glyph_font *font, uint32_t code, glyph *out);

#endif
