#include "glyphs.h"

#include "../term/log.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* What is used of FreeType 2's interface (freetype.org, ftimage.h and freetype.h of 2.10), declared by hand so that its
 * headers are not needed: fields in their order, which the library keeps for all of version 2. */
typedef long ft_pos;
struct glyph_font {
    long num_faces, face_index, face_flags, style_flags, num_glyphs;
    char *family_name, *style_name;
    int num_fixed_sizes;
    void *available_sizes;
    int num_charmaps;
    void *charmaps;
    void *generic[2];
    ft_pos bbox[4];
    unsigned short units_per_em;
    short ascender, descender, height, max_advance_width, max_advance_height, underline_position, underline_thickness;
    const struct ft_slot *glyph;
};
typedef struct ft_bitmap {
    unsigned rows, width;
    int pitch;
    unsigned char *buffer;
    unsigned short num_grays;
    unsigned char pixel_mode, palette_mode;
    void *palette;
} ft_bitmap;
struct ft_slot {
    void *library, *face, *next;
    unsigned glyph_index;
    void *generic[2];
    ft_pos metrics[8];
    long linear_advance[2];
    ft_pos advance[2]; /* in 64ths of a pixel */
    int format;
    ft_bitmap bitmap;
    int bitmap_left, bitmap_top;
};
enum { SCALABLE = 1, LOAD_RENDER = 4, GREY = 2 };

struct glyphs {
    void *handle, *library;
    int (*init)(void **library);
    int (*done)(void *library);
    int (*new_face)(void *library, const char *path, long index, glyph_font **face);
    int (*done_face)(glyph_font *face);
    int (*set_size)(glyph_font *face, unsigned width, unsigned height);
    unsigned (*index_of)(const glyph_font *face, unsigned long code);
    int (*load)(glyph_font *face, unsigned long code, int32_t flags);
};

int glyphs_open(glyphs **out) {
    glyphs *g = *out = calloc(1, sizeof *g);
    if (!g) return log_fail(CLI_FAILED, "out of memory");
    const struct {
        const char *name;
        void *to;
    } wanted[] = {{"FT_Init_FreeType", &g->init},      {"FT_Done_FreeType", &g->done},
                  {"FT_New_Face", &g->new_face},       {"FT_Done_Face", &g->done_face},
                  {"FT_Load_Char", &g->load},          {"FT_Get_Char_Index", &g->index_of},
                  {"FT_Set_Pixel_Sizes", &g->set_size}};
    g->handle = dlopen("libfreetype.so.6", RTLD_NOW | RTLD_LOCAL);
    bool ok = g->handle != NULL;
    for (size_t i = 0; ok && i < sizeof wanted / sizeof *wanted; i++) {
        void *at = dlsym(g->handle, wanted[i].name);
        memcpy(wanted[i].to, &at, sizeof at);
        ok = at != NULL;
    }
    if (ok && g->init(&g->library) == 0) return CLI_OK;
    glyphs_close(out);
    return log_fail(CLI_FAILED, "words are drawn by FreeType (libfreetype.so.6; Debian: libfreetype6), which can't be "
                                "opened");
}

void glyphs_close(glyphs **library) {
    glyphs *g = *library;
    *library = NULL;
    if (g && g->library) g->done(g->library);
    if (g && g->handle) dlclose(g->handle);
    free(g);
}

bool glyph_font_open(glyphs *g, const char *path, glyph_font **out) {
    *out = NULL;
    if (g->new_face(g->library, path, 0, out) != 0) return *out = NULL, false;
    if ((*out)->face_flags & SCALABLE && (*out)->family_name && (*out)->style_name) return true;
    glyph_font_close(g, out);
    return false;
}
void glyph_font_close(glyphs *g, glyph_font **font) {
    if (*font) g->done_face(*font);
    *font = NULL;
}
const char *glyph_font_family(const glyph_font *font) { return font->family_name; }
const char *glyph_font_style(const glyph_font *font) { return font->style_name; }
bool glyph_font_has(glyphs *g, const glyph_font *font, uint32_t code) { return g->index_of(font, code) != 0; }
bool glyph_font_size(glyphs *g, glyph_font *font, int width, int height) {
    return g->set_size(font, (unsigned)width, (unsigned)height) == 0;
}

bool glyph_draw(glyphs *g, glyph_font *font, uint32_t code, glyph *out) {
    if (g->load(font, code, LOAD_RENDER) != 0) return false;
    const struct ft_slot *s = font->glyph;
    const ft_bitmap *b = &s->bitmap;
    if (b->rows && (b->pixel_mode != GREY || b->pitch <= 0)) return false;
    *out = (glyph){
        b->buffer, (int)b->width, (int)b->rows, b->pitch, s->bitmap_left, s->bitmap_top, (double)s->advance[0] / 64};
    return true;
}
