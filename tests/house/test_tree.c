/* The source tree as a whole: who may include whom, and what no file may hold. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "test.h"

/* ---- the layers of docs/architecture.md, the only copy of its table ---------------------------------------------- */

static const struct layer {
    const char *folder;
    int level;
} layers[] = {
    {"src/base", 0},  {"src/runtime", 1}, {"src/kernels", 1},  {"src/tensor", 2},  {"src/ops", 3},
    {"src/graph", 4}, {"src/codegen", 5}, {"src/exec", 5},     {"src/aot", 6},     {"src/nn", 6},
    {"src/optim", 6}, {"src/data", 6},    {"src/io", 6},       {"src/compress", 6}, {"src/profile", 6},
    {"src/dist", 6},  {"src/zoo", 7},     {"cli", 7},          {"examples", 7},
};
enum {
    PUBLIC_ONLY = 7
}; /* from this level on nothing internal may be included, and this level is nobody's to include */

static const struct layer *layer_of(const char *path) {
    for (size_t i = 0; i < WICK_COUNTOF(layers); i++) {
        size_t n = strlen(layers[i].folder);
        if (!strncmp(path, layers[i].folder, n) && path[n] == '/') return &layers[i];
    }
    return NULL;
}

/* May a file of `from` include `path`, a path within the tree? A folder may include itself and what stands above it. */
static bool may_include(const struct layer *from, const char *path) {
    if (!strncmp(path, "include/wick/", 13)) return true;
    const struct layer *to = layer_of(path);
    return to && (to == from || (to->level < from->level && from->level < PUBLIC_ONLY));
}

/* ---- walking the tree -------------------------------------------------------------------------------------------- */

enum { PATH_MAX_ = 1024 };
typedef void (*visit_fn)(const char *path, char *text, size_t size);

static char *read_whole(const char *path, size_t *size) {
    char full[PATH_MAX_];
    snprintf(full, sizeof full, "%s/%s", WICK_SOURCE_DIR, path);
    FILE *f = fopen(full, "rb");
    if (!f) return NULL;
    size_t cap = 1 << 16;
    char *text = malloc(cap);
    *size = 0;
    for (size_t got; text && (got = fread(text + *size, 1, cap - 1 - *size, f)) > 0;) {
        *size += got;
        if (*size == cap - 1) text = realloc(text, cap *= 2);
    }
    if (text) text[*size] = 0;
    fclose(f);
    return text;
}

static bool is_ours(const char *folder, const char *name) { /* not what git ignores */
    if (!*folder && (!strncmp(name, "build", 5) || !strncmp(name, ".venv", 5))) return false;
    return strcmp(name, ".") && strcmp(name, "..") && strcmp(name, ".git") && !strstr(name, ".tmp-") &&
           strcmp(name, "compile_commands.json");
}

/* Calls visit for every file below `folder` ("" is the root). Returns how many there were. */
static int walk(const char *folder, visit_fn visit) {
    char full[PATH_MAX_];
    snprintf(full, sizeof full, "%s/%s", WICK_SOURCE_DIR, folder);
    DIR *dir = opendir(full);
    if (!dir) return 0;
    int files = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!is_ours(folder, entry->d_name)) continue;
        char path[PATH_MAX_], at[2 * PATH_MAX_];
        snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", entry->d_name);
        snprintf(at, sizeof at, "%s/%s", WICK_SOURCE_DIR, path);
        struct stat st;
        if (lstat(at, &st)) continue; /* an editor's temporary that is gone already */
        if (S_ISDIR(st.st_mode)) {
            files += walk(path, visit);
        } else if (S_ISREG(st.st_mode)) {
            size_t size;
            char *text = read_whole(path, &size);
            if (text) visit(path, text, size), files++;
            free(text);
        }
    }
    closedir(dir);
    return files;
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}
static bool is_code(const char *path) {
    return ends_with(path, ".c") || ends_with(path, ".h") || ends_with(path, ".cpp");
}
static bool exists(const char *path) {
    char full[4 * PATH_MAX_];
    snprintf(full, sizeof full, "%s/%s", WICK_SOURCE_DIR, path);
    return access(full, R_OK) == 0;
}

/* ---- includes ---------------------------------------------------------------------------------------------------- */

/* Where `#include "name"` of the file at path leads, as the compiler's search order has it; "" when nowhere. */
static void resolve(const char *path, const char *name, bool quoted, char out[3 * PATH_MAX_]) {
    const char *slash = strrchr(path, '/');
    if (quoted && slash) {
        snprintf(out, 3 * PATH_MAX_, "%.*s/%s", (int)(slash - path), path, name);
        if (exists(out)) return;
    }
    snprintf(out, 3 * PATH_MAX_, "include/%s", name);
    if (!strcmp(name, "wick/elementwise.h") || exists(out)) return; /* that one is generated */
    snprintf(out, 3 * PATH_MAX_, "src/%s", name);
    if (strcmp(name, "codegen/math_lines.h") && !exists(out)) *out = 0; /* and so is that one */
}

/* The next include of the text, or NULL; *name gets up to 255 bytes of it. */
static const char *next_include(const char *text, char name[256], bool *quoted) {
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *p = line + strspn(line, " \t");
        if (*p != '#') continue;
        p += 1 + strspn(p + 1, " \t");
        if (strncmp(p, "include", 7)) continue;
        p += 7 + strspn(p + 7, " \t");
        if (*p != '"' && *p != '<') continue;
        *quoted = *p == '"';
        size_t n = strcspn(p + 1, "\">\n");
        if (n > 255) n = 255;
        memcpy(name, p + 1, n);
        name[n] = 0;
        return p + 1 + n;
    }
    return NULL;
}

static int includes_seen;
static void check_includes(const char *path, char *text, size_t size) {
    (void)size;
    if (!is_code(path)) return;
    const struct layer *from = layer_of(path);
    CHECK_MSG(from, "%s: its folder is not in the table of layers", path);
    if (!from) return;
    char name[256], at[3 * PATH_MAX_];
    bool quoted;
    for (const char *p = text; (p = next_include(p, name, &quoted));) {
        if (!quoted && strncmp(name, "wick/", 5)) continue; /* the system's */
        resolve(path, name, quoted, at);
        CHECK_MSG(*at, "%s includes %s, which is nowhere", path, name);
        if (*at) CHECK_MSG(may_include(from, at), "%s (layer %d) may not include %s", path, from->level, at);
        includes_seen++;
    }
}

TEST(a_folder_includes_only_what_stands_above_it) {
    includes_seen = 0;
    CHECK(walk("src", check_includes) > 50);
    walk("cli", check_includes);
    walk("examples", check_includes);
    CHECK_MSG(includes_seen > 100, "only %d includes were found", includes_seen);
}

TEST(the_table_of_layers_lists_what_exists) {
    for (size_t i = 0; i < WICK_COUNTOF(layers); i++) CHECK_MSG(exists(layers[i].folder), "no %s", layers[i].folder);
}

TEST(the_rule_itself_refuses_what_it_should) {
    CHECK(may_include(layer_of("src/graph/walk.c"), "src/ops/ops.h"));
    CHECK(!may_include(layer_of("src/graph/walk.c"), "src/exec/exec.h"));   /* below */
    CHECK(!may_include(layer_of("src/kernels/x.c"), "src/runtime/pool.h")); /* a sibling */
    CHECK(!may_include(layer_of("src/nn/model.c"), "src/optim/optim.h"));   /* a sibling */
    CHECK(!may_include(layer_of("cli/main.c"), "src/base/base.h"));         /* not public */
    CHECK(!may_include(layer_of("src/zoo/mlp.c"), "src/nn/nn.h"));          /* not public */
    CHECK(!may_include(layer_of("src/exec/exec.c"), "src/zoo/zoo.h"));      /* nobody's */
    CHECK(may_include(layer_of("examples/xor.c"), "include/wick/wick.h"));
    CHECK(!layer_of("src/unheard_of/x.c"));
}

static void check_public(const char *path, char *text, size_t size) {
    (void)size;
    char name[256];
    bool quoted;
    CHECK_MSG(strstr(text, "#ifndef WICK_"), "%s has no include guard", path);
    for (const char *p = text; (p = next_include(p, name, &quoted));) {
        bool standard =
            !quoted && (!strcmp(name, "stdbool.h") || !strcmp(name, "stddef.h") || !strcmp(name, "stdint.h"));
        CHECK_MSG(standard || !strncmp(name, "wick/", 5), "%s includes %s: only public headers and those of types",
                  path, name);
    }
}
TEST(public_headers_include_only_public_headers) { CHECK(walk("include/wick", check_public) > 5); }

static char umbrella[1 << 14];
static void check_umbrella(const char *path, char *text, size_t size) {
    (void)text, (void)size;
    char line[PATH_MAX_ + 16];
    snprintf(line, sizeof line, "#include \"%s\"", path + strlen("include/"));
    if (!ends_with(path, "/wick.h")) CHECK_MSG(strstr(umbrella, line), "wick/wick.h lacks %s", line);
}
TEST(the_umbrella_header_has_every_public_one) {
    size_t size;
    char *text = read_whole("include/wick/wick.h", &size);
    REQUIRE(text && size < sizeof umbrella);
    memcpy(umbrella, text, size + 1);
    free(text);
    CHECK(walk("include/wick", check_umbrella) > 5);
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

static int links_seen;
static void check_links(const char *path, char *text, size_t size) {
    (void)size;
    if (!ends_with(path, ".md")) return;
    const char *slash = strrchr(path, '/');
    for (const char *p = text; (p = strstr(p, "]("));) {
        p += 2;
        size_t n = strcspn(p, ")#\n");
        if (!n || !strncmp(p, "http", 4)) continue;
        char at[PATH_MAX_];
        snprintf(at, sizeof at, "%.*s%.*s", slash ? (int)(slash - path + 1) : 0, path, (int)n, p);
        CHECK_MSG(exists(at), "%s links to %s, which is nowhere", path, at);
        links_seen++;
    }
}
TEST(links_between_documents_lead_somewhere) {
    links_seen = 0;
    walk("", check_links);
    CHECK_MSG(links_seen > 20, "only %d links were found", links_seen);
}

/* ---- what no file may hold --------------------------------------------------------------------------------------- */

static char private_places[4][PATH_MAX_];
static void check_private(const char *path, char *text, size_t size) {
    for (size_t i = 0; i < WICK_COUNTOF(private_places); i++)
        if (*private_places[i])
            CHECK_MSG(!memmem(text, size, private_places[i], strlen(private_places[i])), "%s names %s", path,
                      private_places[i]);
}
/* The checkout's folder, the one it stands in, and the home of whoever runs this: true on one machine only. Folders
 * that every system has are no secret. */
TEST(no_file_names_a_place_of_one_machine) {
    const char *home = getenv("HOME"),
               *common[] = {"/", "/tmp/", "/usr/", "/usr/src/", "/opt/", "/srv/", "/var/", "/var/tmp/"};
    snprintf(private_places[0], PATH_MAX_, "%s/", WICK_SOURCE_DIR);
    snprintf(private_places[1], PATH_MAX_, "%s", WICK_SOURCE_DIR);
    char *slash = strrchr(private_places[1], '/');
    REQUIRE(slash);
    slash[1] = 0;
    snprintf(private_places[2], PATH_MAX_, "%s/", home ? home : "");
    snprintf(private_places[3], PATH_MAX_, "%s",
             "/ho"
             "me/"); /* anyone's; apart, since this file is searched too */
    for (size_t i = 1; i < 3; i++)
        for (size_t k = 0; k < WICK_COUNTOF(common); k++)
            if (!strcmp(private_places[i], common[k])) private_places[i][0] = 0;
    CHECK(walk("", check_private) > 100);
}

/* A library that a host links must not print, end the process or assert; the shared library's imports are tested too
 * (house/exports), this names the line. */
static void check_manners(const char *path, char *text, size_t size) {
    (void)size;
    if (!is_code(path)) return;
    static const char *const bad[] = {"printf", "puts", "putchar", "perror", "exit", "_exit", "abort", "assert"};
    for (size_t i = 0; i < WICK_COUNTOF(bad); i++) {
        size_t n = strlen(bad[i]);
        for (const char *p = text; (p = strstr(p, bad[i])); p += n) {
            bool word =
                p == text || !(p[-1] == '_' || (p[-1] >= 'a' && p[-1] <= 'z') || (p[-1] >= 'A' && p[-1] <= 'Z'));
            CHECK_MSG(!word || p[n] != '(', "%s calls %s", path, bad[i]);
        }
    }
}
/* A table whose rows are worth more than its width stands between clang-format off and on; documents have tables and
 * code of their own. */
static void check_width(const char *path, char *text, size_t size) {
    enum { COLUMNS = 120 };
    (void)size;
    const bool document = ends_with(path, ".md");
    if ((!is_code(path) && !document) || ends_with(path, ".cpp")) return;
    bool table = false, code = false;
    int number = 0;
    for (char *line = text, *end; *line; line = end) {
        size_t columns = 0;
        number++;
        end = line + strcspn(line, "\n");
        for (const char *p = line; p < end; p++)
            columns += ((unsigned char)*p & 0xC0) != 0x80; /* characters of UTF-8 */
        if (*end) *end++ = 0;
        if (strstr(line, "clang-format o")) table = strstr(line, "clang-format off") != NULL;
        if (document && strncmp(line, "```", 3) == 0) code = !code;
        if (document)
            table = code || line[strspn(line, " ")] == '|' || strncmp(line, "    ", 4) == 0 || strstr(line, "](");
        CHECK_MSG(columns <= COLUMNS || table, "%s:%d: %zu columns, more than %d", path, number, columns, COLUMNS);
    }
}
TEST(lines_are_no_wider_than_120_columns) {
    static const char *const pages[] = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"};
    static const char *const folders[] = {"src", "include", "cli", "examples", "bench", "tests", "docs"};
    for (size_t i = 0; i < WICK_COUNTOF(folders); i++) CHECK(walk(folders[i], check_width) > 5);
    for (size_t i = 0; i < WICK_COUNTOF(pages); i++) {
        size_t size;
        char *text = read_whole(pages[i], &size);
        REQUIRE(text);
        check_width(pages[i], text, size);
        free(text);
    }
}

TEST(the_library_never_prints_or_exits) { CHECK(walk("src", check_manners) > 50); }

int main(int argc, char **argv) { return test_main(argc, argv); }
