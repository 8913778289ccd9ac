/* Words, drawn: FOLDER/words, a word a line, in the families of FOLDER/fonts, become pictures of 128 x 32 grey pixels
 * and TO/PART.tsv with what they say. Neither a family nor a word is in two parts. Of the families below all that are
 * there are drawn with, upright and slanted, regular and bold; those of `held`, the ten of the lowest hash among those
 * without a relative in the table, are the test. */
#include "zoo.h"

#include "../paths.h"
#include "../term/log.h"
#include "glyphs.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    HIGH = 32,
    WIDE = 128,
    STEPS = 16, /* that the network gives */
    FEWEST = 3,
    MOST = 10,      /* letters */
    A_FACE = 135,   /* words in each of the training */
    A_FAMILY = 200, /* in each that is held out */
    HELD_OUT = 10,
    ENOUGH = 8,  /* families to learn from */
    ROOM = 4096, /* of a path */
    FIFTH = 5
};

static const struct {
    const char *name;
    bool held;
} families[] = {{"Accanthis ADF Std", false},
                {"Andika", false},
                {"Anonymous Pro", false},
                {"Averia Sans GWF", false},
                {"Averia Serif GWF", false},
                {"B612", true},
                {"Baskervald ADF Std", false},
                {"C059", false},
                {"CMU Serif", true},
                {"Cabin", false},
                {"Caladea", false},
                {"Cantarell", false},
                {"Charis SIL", false},
                {"Comfortaa", false},
                {"Comic Neue", true},
                {"Courier Prime", false},
                {"DejaVu Sans", false},
                {"DejaVu Serif", false},
                {"Dosis", false},
                {"Dustismo Roman", false},
                {"EB Garamond", false},
                {"Fanwood", false},
                {"Fira Code", false},
                {"GFS Artemisia", false},
                {"GFS Didot", true},
                {"GFS Neohellenic", false},
                {"Gentium", true},
                {"Gillius ADF", false},
                {"Goudy Bookletter 1911", false},
                {"Hermit", false},
                {"Ikarius ADF Std", false},
                {"Inconsolata", true},
                {"JetBrains Mono", true},
                {"Junicode Two Beta", false},
                {"Jura", true},
                {"Karla", false},
                {"Lato", false},
                {"League Spartan", false},
                {"Liberation Mono", false},
                {"Liberation Sans", false},
                {"Liberation Serif", false},
                {"Libris ADF Std", false},
                {"Linux Biolinum O", false},
                {"Linux Libertine O", false},
                {"Nimbus Mono PS", false},
                {"Nimbus Roman", false},
                {"Nimbus Sans", false},
                {"OCR B", true},
                {"Old Standard TT", false},
                {"Open Sans", false},
                {"OpenDyslexic", false},
                {"P052", false},
                {"Play", false},
                {"Quattrocento", false},
                {"Roboto", true},
                {"Vollkorn", false},
                {"Yanone Kaffeesatz", false},
                {"monofur", false},
                {"mononoki", false}};
enum { FAMILIES = sizeof families / sizeof *families };
static const char *const styles[] = {"regular", "book",    "roman",       "medium",     "normal",       "bold",
                                     "italic",  "oblique", "bold italic", "bolditalic", "bold oblique", "boldoblique"};

/* ---- fonts ------------------------------------------------------------------------------------------------------- */

typedef struct font_file {
    char *path, style[24];
    int family;
} font_file;
typedef struct shelf {
    font_file *list;
    int64_t n, room;
} shelf;

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
static int by_face(const void *a, const void *b) {
    const font_file *x = a, *y = b;
    const int order = x->family != y->family ? x->family - y->family : strcmp(x->style, y->style);
    return order ? order : strcmp(x->path, y->path);
}

/* Families of the table, in those styles, with all letters and digits. */
static int family_of(glyphs *g, const glyph_font *font, char style[24]) {
    const char *is = glyph_font_style(font);
    int family = 0;
    size_t s = 0, n = 0;
    while (family < FAMILIES && strcmp(families[family].name, glyph_font_family(font)) != 0) family++;
    if (family == FAMILIES || strlen(is) >= 24) return -1;
    for (; is[n]; n++) style[n] = (char)tolower((unsigned char)is[n]);
    style[n] = '\0';
    while (s < sizeof styles / sizeof *styles && strcmp(styles[s], style) != 0) s++;
    if (s == sizeof styles / sizeof *styles) return -1;
    for (uint32_t c = '0'; c <= 'z'; c++)
        if (isalnum((int)c) && !glyph_font_has(g, font, c)) return -1;
    return family;
}

static int take_font(glyphs *g, const char *path, shelf *fonts) {
    glyph_font *font;
    font_file f = {.family = -1};
    if (!glyph_font_open(g, path, &font)) return CLI_OK;
    f.family = family_of(g, font, f.style);
    glyph_font_close(g, &font);
    if (f.family < 0) return CLI_OK;
    if (fonts->n == fonts->room) {
        font_file *more = realloc(fonts->list, (size_t)(fonts->room = 2 * fonts->room + 64) * sizeof *more);
        if (!more) return zoo_out_of_memory();
        fonts->list = more;
    }
    if (!(f.path = strdup(path))) return zoo_out_of_memory();
    fonts->list[fonts->n++] = f;
    return CLI_OK;
}

/* Names in a folder, in their order; how many, -1: no memory. */
static int64_t list_names(const char *folder, char ***out) {
    int64_t n = 0, room = 0;
    bool ok = true;
    DIR *dir = opendir(folder);
    *out = NULL;
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e && ok; e = readdir(dir)) {
        if (e->d_name[0] == '.') continue;
        if (n == room) {
            char **more = realloc(*out, (size_t)(room = 2 * room + 64) * sizeof *more);
            if (more) *out = more;
            ok = more != NULL;
        }
        ok = ok && ((*out)[n] = strdup(e->d_name)) != NULL;
        n += ok;
    }
    if (dir) closedir(dir);
    for (int64_t i = 0; i < n && !ok; i++) free((*out)[i]);
    if (!ok) return free(*out), *out = NULL, -1;
    if (n) qsort(*out, (size_t)n, sizeof **out, by_name);
    return n;
}

static int find_fonts(glyphs *g, const char *folder, int depth, shelf *fonts) {
    enum { DEEPEST = 8 };
    char **names;
    const int64_t n = list_names(folder, &names);
    int code = n < 0 ? zoo_out_of_memory() : CLI_OK;
    for (int64_t i = 0; i < n; i++) {
        char *path = code == CLI_OK ? path_join(folder, names[i]) : NULL;
        const size_t length = strlen(names[i]);
        const char *end = length > 4 ? names[i] + length - 4 : "";
        if (code == CLI_OK && !path) code = zoo_out_of_memory();
        if (path && path_is_folder(path))
            code = depth < DEEPEST ? find_fonts(g, path, depth + 1, fonts) : CLI_OK;
        else if (path && (strcmp(end, ".ttf") == 0 || strcmp(end, ".otf") == 0 || strcmp(end, ".t1") == 0))
            code = take_font(g, path, fonts);
        free(path);
        free(names[i]);
    }
    free(names);
    return code;
}

/* A face that several files have is taken from the first. */
static void drop_copies(shelf *fonts) {
    int64_t kept = 0;
    qsort(fonts->list, (size_t)fonts->n, sizeof *fonts->list, by_face);
    for (int64_t i = 0; i < fonts->n; i++) {
        font_file *f = &fonts->list[i];
        const font_file *last = kept ? &fonts->list[kept - 1] : NULL;
        if (last && last->family == f->family && strcmp(last->style, f->style) == 0)
            free(f->path);
        else
            fonts->list[kept++] = *f;
    }
    fonts->n = kept;
}

static int check_families(const char *folder, const shelf *fonts) {
    bool there[FAMILIES] = {false};
    int learned = 0;
    for (int64_t i = 0; i < fonts->n; i++) there[fonts->list[i].family] = true;
    for (int k = 0; k < FAMILIES; k++) {
        learned += there[k] && !families[k].held;
        if (families[k].held && !there[k])
            return log_fail(CLI_BAD_FILE,
                            "%s: has no font of the family \"%s\" with all letters and digits, which is "
                            "one of the ten that are held out",
                            folder, families[k].name);
    }
    if (learned < ENOUGH)
        return log_fail(CLI_BAD_FILE, "%s: has %d of the families that are learned from, and %d are needed", folder,
                        learned, ENOUGH);
    log_note("  %lld faces; %d of the %d families that may be learned from are there", (long long)fonts->n, learned,
             FAMILIES - HELD_OUT);
    return CLI_OK;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* FNV-1a, and the finalizer of MurmurHash3: whether it is of the fifth that is held out. */
static bool is_held(const char *word) {
    uint64_t h = 0xcbf29ce484222325u;
    for (const char *s = word; *s; s++) h = (h ^ (uint64_t)tolower((unsigned char)*s)) * 0x100000001b3u;
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return (h ^ h >> 33) % FIFTH == 0;
}

/* Steps that a text takes: one for each letter, and one between two that are the same. */
static int steps_of(const char *word) {
    int n = 0;
    for (; word[n]; n++) continue;
    for (int i = 1; word[i]; i++) n += word[i] == word[i - 1];
    return n;
}
/* Two letters are kept apart also where capitals make them the same. */
static bool is_word(const char *word) {
    int n = 0;
    for (; word[n]; n++)
        if (!isalpha((unsigned char)word[n]) || (unsigned char)word[n] > 'z') return false;
    return n >= FEWEST && n <= MOST && steps_of(word) < STEPS - 2;
}

typedef struct words {
    zoo_table table;
    const char **list[2]; /* of training and test */
    int64_t n[2];
} words;

static int read_words(const char *path, words *w) {
    int code = zoo_read_table(path, &w->table);
    for (int k = 0; k < 2 && code == CLI_OK; k++)
        if (!(w->list[k] = malloc((size_t)(w->table.n + 1) * sizeof *w->list[k]))) code = zoo_out_of_memory();
    for (int64_t i = 0; code == CLI_OK && i < w->table.n; i++) {
        const char *word = w->table.lines[i];
        if (!is_word(word)) continue;
        const int k = is_held(word);
        w->list[k][w->n[k]++] = word;
    }
    if (code == CLI_OK && (w->n[0] < 100 || w->n[1] < 10))
        code = log_fail(CLI_BAD_FILE, "%s: has %lld words of %d to %d letters, which are too few", path,
                        (long long)(w->n[0] + w->n[1]), FEWEST, MOST);
    return code;
}

static int draw_to(uint64_t *state, int n) { return (int)(zoo_random(state) % (uint64_t)n); }

/* As the list has it, with a capital, all in capitals, or a number of 3 to 8 digits. */
static void pick_word(const words *w, bool held, uint64_t *state, char word[MOST + 1]) {
    const int how = draw_to(state, 20);
    if (how < 3) {
        do {
            const int n = 3 + draw_to(state, 6);
            for (int i = 0; i < n; i++) word[i] = (char)('0' + draw_to(state, 10));
            word[n] = '\0';
        } while (is_held(word) != held);
        return;
    }
    snprintf(word, MOST + 1, "%s", w->list[held][draw_to(state, (int)w->n[held])]);
    for (int i = 0; word[i] && (how < 6 || (how < 10 && !i)); i++) word[i] = (char)toupper((unsigned char)word[i]);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

/* The box of ink of a word, from the pen's begin on the base line. */
typedef struct box {
    int left, right, top, bottom;
} box;

/* Adds the letters to `page`, [HIGH, WIDE], with the pen's begin at (x, y), where page is not NULL; the box of all. */
static bool set_word(glyphs *g, glyph_font *font, const char *word, double tracking, uint8_t *page, int x, int y,
                     box *out) {
    double pen = 0;
    *out = (box){1 << 20, -(1 << 20), 1 << 20, -(1 << 20)};
    for (const char *s = word; *s; s++) {
        glyph l;
        if (!glyph_draw(g, font, (uint32_t)*s, &l) || l.width <= 0) return false;
        const int left = (int)lrint(pen) + l.left, top = -l.top;
        if (left < out->left) out->left = left;
        if (left + l.width > out->right) out->right = left + l.width;
        if (top < out->top) out->top = top;
        if (top + l.height > out->bottom) out->bottom = top + l.height;
        for (int r = 0; page && r < l.height; r++)
            for (int c = 0; c < l.width; c++) {
                const int u = y + top + r, v = x + left + c;
                if (u < 0 || u >= HIGH || v < 0 || v >= WIDE) continue;
                const uint8_t ink = l.pixels[r * l.pitch + c];
                if (ink > page[u * WIDE + v]) page[u * WIDE + v] = ink;
            }
        pen += l.advance + tracking;
    }
    return true;
}

/* The word in a size that fits, at a place of chance. false: the font can't. */
static bool place_word(glyphs *g, glyph_font *font, const char *word, uint64_t *state, uint8_t *page) {
    int high = 18 + draw_to(state, 11);
    double stretch = 0.9 + 0.4 * zoo_uniform(state);
    const double tracking = draw_to(state, 3) ? 0 : 2 * zoo_uniform(state), wanted = 7.5 * steps_of(word);
    box b;
    memset(page, 0, HIGH * WIDE);
    for (int tries = 0; tries < 40; tries++) {
        const int wide = (int)lrint(high * stretch);
        if (!glyph_font_size(g, font, wide < 4 ? 4 : wide, high) || !set_word(g, font, word, tracking, NULL, 0, 0, &b))
            return false;
        const int w = b.right - b.left, h = b.bottom - b.top;
        if (h > HIGH - 2)
            high--;
        else if (w > WIDE - 2)
            stretch > 0.75 ? (void)(stretch *= 0.95) : (void)high--;
        else if (w < wanted && stretch < 1.8)
            stretch *= 1.05;
        else {
            const int x = draw_to(state, WIDE - w + 1) - b.left, y = draw_to(state, HIGH - h + 1) - b.top;
            return set_word(g, font, word, tracking, page, x, y, &b);
        }
    }
    return false;
}

/* Paper and ink of two greys, and noise. */
static void print_page(const uint8_t *ink, uint64_t *state, uint8_t *out) {
    double dark = 100 * zoo_uniform(state), light = dark + 80 + (175 - dark) * zoo_uniform(state);
    const double noise = 14 * zoo_uniform(state), slope = 40 * zoo_uniform(state) - 20;
    if (draw_to(state, 3) == 0) {
        const double was = dark;
        dark = light, light = was;
    }
    for (int i = 0; i < HIGH * WIDE; i++) {
        const double cover = ink[i] / 255.0, paper = light + slope * (i % WIDE / (double)WIDE - 0.5);
        const double grain = zoo_uniform(state) + zoo_uniform(state) + zoo_uniform(state) - 1.5;
        const double v = paper + (dark - paper) * cover + noise * grain;
        out[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5);
    }
}

typedef struct drawing {
    zoo_prep *p;
    glyphs *g;
    const shelf *fonts;
    glyph_font **open; /* one for each file, opened when it is first needed */
    const words *w;
} drawing;

static int draw_one(drawing *d, int part, int64_t i, const int64_t *of, int64_t n_of, uint64_t *state, FILE *table,
                    const char *shuffled) {
    enum { TRIES = 1000 };
    static const char head[] = "P5\n128 32\n255\n";
    enum { BEGIN = sizeof head - 1 };
    uint8_t ink[HIGH * WIDE], file[BEGIN + HIGH * WIDE];
    char word[MOST + 1], path[ROOM];
    for (int tries = 0; tries < TRIES; tries++) {
        const int64_t k = of[draw_to(state, (int)n_of)];
        const font_file *f = &d->fonts->list[k];
        if (!d->open[k] && !glyph_font_open(d->g, f->path, &d->open[k]))
            return log_fail(CLI_BAD_FILE, "%s: is no font any more", f->path);
        pick_word(d->w, part == ZOO_TEST, state, word);
        if (!place_word(d->g, d->open[k], word, state, ink)) continue;
        memcpy(file, head, BEGIN);
        print_page(ink, state, file + BEGIN);
        snprintf(path, sizeof path, "%s/%s/%05lld.pgm", d->p->to, d->p->parts[part].name, (long long)i);
        fprintf(table, "%s/%05lld.pgm\t%s\n", d->p->parts[part].name, (long long)i, shuffled ? shuffled : word);
        const int code = zoo_put(path, file, sizeof file);
        return code == CLI_OK ? zoo_count_in(d->p, part, families[f->family].name) : code;
    }
    return log_fail(CLI_BAD_FILE, "%s: its words can't be drawn in its fonts", d->p->source);
}

/* Families are as likely as each other, however many faces they have. */
static int64_t deal_faces(const shelf *fonts, bool held, int64_t *of) {
    enum { MOST_FACES = 4 };
    int64_t n = 0;
    for (int64_t i = 0, end; i < fonts->n; i = end) {
        const int family = fonts->list[i].family;
        for (end = i; end < fonts->n && fonts->list[end].family == family; end++) continue;
        for (int64_t k = 0; families[family].held == held && k < MOST_FACES * 3; k++) of[n++] = i + k % (end - i);
    }
    return n;
}

static int draw_part(drawing *d, int part, int64_t count) {
    char path[ROOM], other[MOST + 1], *text = NULL;
    size_t size = 0;
    uint64_t state = part == ZOO_TEST ? 7 : 6, shuffler = 5;
    int64_t *of = malloc((size_t)(FAMILIES * 12) * sizeof *of);
    FILE *table = open_memstream(&text, &size);
    int code = of && table ? CLI_OK : zoo_out_of_memory();
    const int64_t n = of ? deal_faces(d->fonts, part == ZOO_TEST, of) : 0;
    snprintf(path, sizeof path, "%s/%s", d->p->to, d->p->parts[part].name);
    if (code == CLI_OK && !path_make_folder(path)) code = log_fail(CLI_FAILED, "%s: cannot be a folder", path);
    if (table) fputs("path\ttext\n", table);
    const bool shuffle = d->p->shuffle && part == ZOO_TRAIN;
    for (int64_t i = 0; code == CLI_OK && i < count; i++) {
        if (shuffle) pick_word(d->w, false, &shuffler, other);
        code = draw_one(d, part, i, of, n, &state, table, shuffle ? other : NULL);
    }
    if (table && fclose(table) != 0 && code == CLI_OK) code = zoo_out_of_memory();
    snprintf(path, sizeof path, "%s/%s.tsv", d->p->to, d->p->parts[part].name);
    if (code == CLI_OK) code = zoo_put(path, text, size);
    free(text);
    free(of);
    return code;
}

int zoo_prepare_words(zoo_prep *p) {
    shelf fonts = {0};
    words w = {0};
    char *folder = path_join(p->source, "fonts"), *list = path_join(p->source, "words");
    drawing d = {.p = p, .fonts = &fonts, .w = &w};
    p->groups = "families of fonts";
    int code = folder && list ? glyphs_open(&d.g) : zoo_out_of_memory();
    if (code == CLI_OK) code = read_words(list, &w);
    if (code == CLI_OK) code = find_fonts(d.g, folder, 0, &fonts);
    if (fonts.n) drop_copies(&fonts);
    if (code == CLI_OK) code = check_families(folder, &fonts);
    if (code == CLI_OK && !(d.open = calloc((size_t)fonts.n, sizeof *d.open))) code = zoo_out_of_memory();
    int64_t faces = 0;
    for (int64_t i = 0; i < fonts.n; i++) faces += !families[fonts.list[i].family].held;
    if (code == CLI_OK) code = draw_part(&d, ZOO_TRAIN, A_FACE * faces);
    if (code == CLI_OK) code = draw_part(&d, ZOO_TEST, A_FAMILY * HELD_OUT);
    for (int64_t i = 0; i < fonts.n; i++) {
        if (d.open) glyph_font_close(d.g, &d.open[i]);
        free(fonts.list[i].path);
    }
    if (d.g) glyphs_close(&d.g);
    free(d.open), free(fonts.list), free(folder), free(list);
    free(w.list[0]), free(w.list[1]);
    zoo_free_table(&w.table);
    return code;
}
