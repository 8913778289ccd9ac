/* Preparing a set: its public file becomes what wick train reads, in OUT/data/MODEL, with manifest.json, which lists
 * who is on which side. A set whose parts share a group is refused. */
#include "zoo.h"

#include "../json_read.h"
#include "../paths.h"
#include "../term/log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORM = 2 }; /* of what is prepared; another one is made anew */

int zoo_out_of_memory(void) { return log_fail(CLI_FAILED, "out of memory"); }
int zoo_checked(const zoo_prep *p, wick_status status) {
    return status == WICK_OK ? CLI_OK : log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(p->ctx, status));
}

/* SplitMix64 (Steele et al. 2014). */
uint64_t zoo_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
double zoo_uniform(uint64_t *state) { return (double)(zoo_random(state) >> 11) * 0x1p-53; }
double zoo_between(uint64_t *state, double low, double high) { return low + (high - low) * zoo_uniform(state); }
int64_t zoo_below(uint64_t *state, int64_t n) { return (int64_t)(zoo_random(state) % (uint64_t)n); }
void zoo_deal(int64_t *order, int64_t n) {
    uint64_t state = 30;
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = n; i > 1; i--) {
        const int64_t j = (int64_t)(zoo_random(&state) % (uint64_t)i), was = order[i - 1];
        order[i - 1] = order[j];
        order[j] = was;
    }
}

/* Without a wait for the disk: a folder without its manifest, which comes last, is prepared anew. */
int zoo_put(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wbe");
    const bool written = f && fwrite(data, 1, size, f) == size;
    if ((f && fclose(f) != 0) || !written) return log_fail(CLI_FAILED, "%s: cannot be written", path);
    return CLI_OK;
}

int zoo_read_table(const char *path, zoo_table *t) {
    size_t size;
    char *rest;
    t->text = path_read(path, &size);
    if (!t->text) return log_fail(CLI_BAD_FILE, "%s: cannot be read", path);
    int64_t room = 2;
    for (const char *s = t->text; *s; s++) room += *s == '\n';
    t->lines = malloc((size_t)room * sizeof *t->lines);
    if (!t->lines) return zoo_out_of_memory();
    t->head = strtok_r(t->text, "\r\n", &rest);
    for (char *line; t->head && (line = strtok_r(NULL, "\r\n", &rest));) t->lines[t->n++] = line;
    return t->head ? CLI_OK : log_fail(CLI_BAD_FILE, "%s: is empty", path);
}
void zoo_free_table(zoo_table *t) { free(t->text), free(t->lines); }

static bool has_group(const zoo_part *part, const char *group) {
    for (int64_t i = part->n - 1; i >= 0; i--) /* the last one is the likeliest */
        if (strcmp(part->groups[i], group) == 0) return true;
    return false;
}
int zoo_group_in(zoo_prep *p, int which, const char *group) {
    zoo_part *part = &p->parts[which];
    if (has_group(part, group)) return CLI_OK;
    if (part->n == part->room) {
        const int64_t room = part->room ? 2 * part->room : 64;
        void *groups = realloc(part->groups, (size_t)room * sizeof *part->groups);
        if (!groups) return zoo_out_of_memory();
        part->groups = groups;
        part->room = room;
    }
    snprintf(part->groups[part->n++], ZOO_GROUP, "%s", group);
    return CLI_OK;
}

int zoo_count_in(zoo_prep *p, int which, const char *group) {
    p->parts[which].samples++;
    return zoo_group_in(p, which, group);
}

static int check_parts(const zoo_prep *p) {
    for (int a = 0; a < ZOO_PARTS; a++)
        for (int b = a + 1; b < ZOO_PARTS; b++)
            for (int64_t i = 0; i < p->parts[a].n; i++)
                if (has_group(&p->parts[b], p->parts[a].groups[i]))
                    return log_fail(CLI_BAD_FILE, "%s: \"%s\" (%s) is in %s and in %s: what is learned would be known",
                                    p->source, p->parts[a].groups[i], p->groups, p->parts[a].name, p->parts[b].name);
    if (!p->parts[ZOO_TRAIN].samples || !p->parts[ZOO_TEST].samples)
        return log_fail(CLI_BAD_FILE, "%s: has nothing to %s", p->source,
                        p->parts[ZOO_TRAIN].samples ? "be tested with" : "learn from");
    return CLI_OK;
}

static int64_t size_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : 0;
}

static void write_others(json *j, const zoo_prep *p) {
    json_open(j, "with", '[');
    for (int i = 1; i < ZOO_SOURCES && p->sources[i]; i++) {
        const zoo_set *set = zoo_set_of(p->set, i);
        json_open(j, NULL, '{');
        json_text(j, "source", p->sources[i]);
        json_integer(j, "source_bytes", size_of(p->sources[i]));
        json_text(j, "home", set->home);
        json_text(j, "licence", set->licence);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static int write_manifest(const zoo_prep *p, const char *path) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return zoo_out_of_memory();
    json j = {.out = out};
    json_open(&j, NULL, '{');
    json_integer(&j, "form", FORM);
    json_text(&j, "source", p->source);
    json_integer(&j, "source_bytes", size_of(p->source));
    json_text(&j, "home", p->set->home);
    json_text(&j, "licence", p->set->licence);
    if (p->sources[1]) write_others(&j, p);
    json_bool(&j, "labels_shuffled", p->shuffle);
    json_text(&j, "groups_are", p->groups);
    json_bool(&j, "groups_shared", false); /* check_parts has looked */
    for (int k = 0; k < ZOO_PARTS; k++) {
        if (!p->parts[k].samples) continue;
        json_open(&j, p->parts[k].name, '{');
        json_integer(&j, "samples", p->parts[k].samples);
        json_open(&j, "groups", '[');
        for (int64_t i = 0; i < p->parts[k].n; i++) json_text(&j, NULL, p->parts[k].groups[i]);
        json_close(&j, ']');
        json_close(&j, '}');
    }
    json_close(&j, '}');
    fputc('\n', out);
    int code = fclose(out) == 0 && text ? CLI_OK : zoo_out_of_memory();
    if (code == CLI_OK) code = zoo_checked(p, wick_file_write(p->ctx, path, text, size));
    free(text);
    return code;
}

/* Whether an object of a manifest names that very file; form: where it is, NULL: it has none. */
static bool is_source(json_in *j, const zoo_prep *p, int i, double *form);
static bool are_others(json_in *j, const zoo_prep *p) {
    int n = 1;
    bool same = true;
    for (json_enter(j, '['); json_item(j); n++) same = n < ZOO_SOURCES && is_source(j, p, n, NULL) && same;
    return same && (n == ZOO_SOURCES || !p->sources[n]);
}
static bool is_source(json_in *j, const zoo_prep *p, int i, double *form) {
    char source[4096] = "", key[64];
    double bytes = -1;
    bool others = i > 0 || !p->sources[1];
    for (json_enter(j, '{'); json_key(j, key, sizeof key);) {
        if (strcmp(key, "source") == 0)
            json_string(j, source, sizeof source);
        else if (strcmp(key, "source_bytes") == 0)
            json_number(j, &bytes);
        else if (form && strcmp(key, "form") == 0)
            json_number(j, form);
        else if (form && strcmp(key, "with") == 0)
            others = are_others(j, p);
        else
            json_skip(j);
    }
    const char *wanted = p->sources[i];
    return others && wanted && strcmp(source, wanted) == 0 && bytes == (double)size_of(wanted);
}

/* Whether the folder was made of those very files, by this form. */
static bool is_prepared(const zoo_prep *p, const char *manifest) {
    size_t size;
    char *text = path_exists(manifest) ? path_read(manifest, &size) : NULL;
    double form = 0;
    json_in j = {.at = text ? text : ""};
    const bool same = is_source(&j, p, 0, &form) && text && !j.bad && form == FORM;
    free(text);
    return same;
}

/* Where the set is: --data, $WICK_ZOO, or the folder zoo-data. */
static char *find_source(const cli_options *o, const zoo_set *set) {
    if (strcmp(set->file, ZOO_MADE) == 0) {
        char *name = strdup(ZOO_MADE);
        if (!name) zoo_out_of_memory();
        return name;
    }
    const char *folder = o->data && o->data[0] ? o->data : getenv("WICK_ZOO");
    if (!folder || !*folder) folder = "zoo-data";
    char *path = path_join(folder, set->file), *whole = path && path_exists(path) ? path_absolute(path) : NULL;
    if (!path) {
        zoo_out_of_memory();
    } else if (!whole) {
        log_fail(
            CLI_BAD_FILE,
            "%s: is not there; the set comes from %s (licence: %s), docs/zoo.md says how it is laid out, and --data "
            "or WICK_ZOO names the folder of sets",
            path, set->home, set->licence);
    }
    free(path);
    return whole;
}

static int make(zoo_prep *p, const char *manifest) {
    unlink(manifest);
    log_note("preparing %s from %s", p->to, p->source);
    int code = p->set->prepare(p);
    if (code == CLI_OK) code = check_parts(p);
    if (code == CLI_OK) code = write_manifest(p, manifest);
    for (int k = 0; k < ZOO_PARTS; k++) {
        if (code == CLI_OK && p->parts[k].samples)
            log_note("  %s: %lld samples of %lld %s", p->parts[k].name, (long long)p->parts[k].samples,
                     (long long)p->parts[k].n, p->groups);
        free(p->parts[k].groups);
    }
    return code;
}

int zoo_prepare(wick_context *ctx, const cli_options *o, const zoo_model *m, char **folder) {
    char name[64];
    snprintf(name, sizeof name, "data/%s%s", m->name, o->of_zoo.shuffle_labels ? "-shuffled" : "");
    zoo_prep p = {.ctx = ctx,
                  .set = m->set,
                  .groups = "groups",
                  .shuffle = o->of_zoo.shuffle_labels,
                  .parts = {{.name = "train"}, {.name = "validation"}, {.name = "test"}}};
    char *to = path_join(o->out, name), *whole = NULL, *manifest = NULL;
    int code = CLI_OK;
    for (int i = 0; code == CLI_OK && i < ZOO_SOURCES && zoo_set_of(m->set, i); i++)
        if (!(p.sources[i] = find_source(o, zoo_set_of(m->set, i)))) code = CLI_BAD_FILE;
    if (code == CLI_OK &&
        !(to && path_make_folder(to) && (whole = path_absolute(to)) && (manifest = path_join(whole, "manifest.json"))))
        code = log_fail(CLI_FAILED, "%s: cannot be a folder", to ? to : o->out);
    if (code == CLI_OK) {
        p.source = p.sources[0], p.to = whole;
        if (!is_prepared(&p, manifest)) code = make(&p, manifest);
    }
    for (int i = 0; i < ZOO_SOURCES; i++) free(p.sources[i]);
    free(to), free(manifest);
    *folder = code == CLI_OK ? whole : (free(whole), NULL);
    return code;
}
