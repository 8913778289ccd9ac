/* wick data: looks at sets of pictures, recordings and arrays, and packs them into record files and out of them. */
#include "data.h"
#include "../interrupt.h"
#include "../options.h"
#include "../paths.h"
#include "../term/facts.h"
#include "../term/log.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { INFO = 1, HEAD = 2, STATS = 4, VERIFY = 8, PACK = 16, UNPACK = 32, SPLIT = 64, BENCH = 128, BOXES = 256 };
static const struct {
    const char *name;
    unsigned bit;
    bool to;
    int (*run)(data_job *d);
} actions[] = {
    {"info", INFO, false, data_info},       {"head", HEAD, false, data_head},    {"stats", STATS, false, data_stats},
    {"verify", VERIFY, false, data_verify}, {"pack", PACK, true, data_pack},     {"unpack", UNPACK, true, data_unpack},
    {"split", SPLIT, true, data_split},     {"bench", BENCH, false, data_bench}, {"boxes", BOXES, true, data_boxes}};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

static const option_case cases[] = {
    {"compression", PACK | SPLIT, "pack and split"},
    {"level", PACK | SPLIT, "pack and split"},
    {"dictionary", PACK | SPLIT, "pack and split"},
    {"append", PACK, "pack"},
    {"count", HEAD, "head"},
    {"from", HEAD, "head"},
    {"svg", HEAD, "head"},
    {"color", HEAD, "head"},
    {"part", SPLIT, "split"},
    {"seed", SPLIT, "split"},
    {"batch", BENCH, "bench"},
    {"workers", BENCH, "bench"},
    {"prefetch", BENCH, "bench"},
    {"transform", BENCH, "bench"},
    {"adaptive", BENCH, "bench"},
    {"rate", BENCH, "bench"},
    {"time", BENCH, "bench"},
    {"skip", BENCH, "bench"},
    {"cache", BENCH, "bench"},
    {"form", BOXES, "boxes"},
    {"as-stored", HEAD | STATS | BENCH, "head, stats and bench"},
};

const char *data_action(int i) { return i < ACTIONS ? actions[i].name : NULL; }
static const char *action_name(int i, const void *user) {
    (void)user;
    return actions[i].name;
}

/* ---- what all share ---------------------------------------------------------------------------------------------- */

void data_json_ok(const data_job *d, json *j, int64_t broken, int64_t count) {
    char text[1024];
    json_bool(j, "ok", !broken);
    if (!broken) return;
    snprintf(text, sizeof text, "%.900s: %lld of %lld are broken", wick_files_path(d->f), (long long)broken,
             (long long)count);
    json_integer(j, "exit", CLI_BAD_FILE);
    json_text(j, "error", text);
}

int data_failed(data_job *d, wick_status status, int blame) {
    data_progress_end(d);
    if (status == WICK_ERR_CANCELLED) return log_fail(CLI_INTERRUPTED, "interrupted: nothing was written");
    return log_fail(log_code(status, blame), "%s", log_why(d->ctx, status));
}

void data_progress_end(data_job *d) {
    if (d->live) fputs("\r\x1b[2K", stderr);
    d->live = false;
}

bool data_progress(data_job *d, const char *doing, int64_t done, int64_t of) {
    if (interrupted()) return false;
    if (d->o->quiet) return true;
    const bool terminal = log_live(stderr);
    const double now = now_seconds();
    if (now - d->shown < (terminal ? 0.1 : 10)) return true;
    d->shown = now;
    d->live = terminal;
    fprintf(stderr, terminal ? "\r\x1b[2K%s: %lld of %lld" : "%s: %lld of %lld\n", doing, (long long)done,
            (long long)of);
    fflush(stderr);
    return true;
}

const char *data_what(const data_job *d, const wick_file *file) {
    const wick_kind *kind = wick_kind_of(file->data, file->size);
    const char *dot = strrchr(file->name, '.');
    if (wick_files_array(d->f)) return "array";
    if (kind && kind->use) return kind->use == WICK_KIND_PICTURE ? "picture" : "recording";
    /* One whose bytes are not what its name says is a broken one of those. */
    static const char *const ends[] = {".jpg",  ".jpeg", ".png", ".bmp", ".webp", ".gif", ".tif",
                                       ".tiff", ".pbm",  ".pgm", ".ppm", ".pnm",  ".jp2", ".j2k"};
    for (size_t i = 0; dot && i < sizeof ends / sizeof ends[0]; i++)
        if (strcasecmp(dot, ends[i]) == 0) return "picture";
    return dot && strcasecmp(dot, ".wav") == 0 ? "recording" : "file";
}

bool data_is_picture(const wick_spec *a, int64_t shape[3]) {
    if (a->dtype != WICK_U8 || a->rank < 2 || a->rank > 3 || (a->rank == 3 && a->dims[0] != 1 && a->dims[0] != 3))
        return false;
    shape[0] = a->rank == 3 ? a->dims[0] : 1;
    shape[1] = a->dims[a->rank - 2];
    shape[2] = a->dims[a->rank - 1];
    return shape[1] > 0 && shape[2] > 0;
}

/* ---- info -------------------------------------------------------------------------------------------------------- */

int data_info(data_job *d) {
    const wick_records *r = wick_files_records(d->f);
    const wick_spec *a = wick_files_array(d->f);
    facts s;
    char text[256], bytes[32];
    facts_open(&s, d->o->json);
    const int64_t count = wick_files_count(d->f), classes = wick_files_classes(d->f), passed = wick_files_passed(d->f);
    if (d->o->json) json_text(&s.j, "path", wick_files_path(d->f));
    else log_print("%s\n", wick_files_path(d->f));
    facts_text(&s, "form", "form", wick_files_form(d->f));
    snprintf(text, sizeof text, "%lld %s", (long long)count, a ? "arrays" : "files");
    facts_integer(&s, "count", "holds", count, text);
    if (a) {
        int n = snprintf(text, sizeof text, "%s [", wick_dtype_name(a->dtype));
        for (int k = 0; k < a->rank; k++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld", k ? ", " : "", (long long)a->dims[k]);
        snprintf(text + n, sizeof text - (size_t)n, "]");
        facts_text(&s, "array", "each", text);
    }
    snprintf(text, sizeof text, "%lld", (long long)classes);
    facts_integer(&s, "classes", "classes", classes, text);
    if (passed) {
        snprintf(text, sizeof text, "%lld files of other kinds (--all takes them)", (long long)passed);
        facts_integer(&s, "passed_over", "passed over", passed, text);
    }
    if (r) {
        uint64_t size = 0, stored = 0;
        wick_record_entry e;
        for (int64_t i = 0; i < wick_records_count(r); i++)
            if (wick_records_at(r, i, &e) == WICK_OK) size += e.size, stored += e.stored;
        facts_text(&s, "compression", NULL, wick_compression_name(wick_records_compression(r)));
        facts_integer(&s, "bytes", NULL, (int64_t)size, format_bytes(bytes, size));
        snprintf(text, sizeof text, "%s (%.1f %%)", format_bytes(bytes, stored),
                 size ? 100.0 * (double)stored / (double)size : 100.0);
        facts_integer(&s, "stored", "as stored", (int64_t)stored, text);
        if (wick_records_dictionary(r))
            facts_integer(&s, "dictionary", NULL, (int64_t)wick_records_dictionary(r),
                          format_bytes(bytes, wick_records_dictionary(r)));
        snprintf(text, sizeof text, "%lld", (long long)wick_records_parts(r));
        facts_integer(&s, "parts", NULL, wick_records_parts(r), text);
        if (wick_records_tail(r))
            facts_integer(&s, "tail", NULL, (int64_t)wick_records_tail(r), wick_records_tail_reason(r));
    }
    if (d->o->json) {
        json_open(&s.j, "class_names", '[');
        for (int64_t k = 0; k < classes; k++) json_text(&s.j, NULL, wick_files_class(d->f, k));
        json_close(&s.j, ']');
    } else if (classes) {
        enum { SHOWN = 20 };
        printf("  %-14s  ", "");
        for (int64_t k = 0; k < classes && k < SHOWN; k++) log_print("%s%s", k ? ", " : "", wick_files_class(d->f, k));
        printf(classes > SHOWN ? ", ...\n" : "\n");
    }
    facts_close(&s);
    return CLI_OK;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool step(void *user, int64_t done, int64_t of, uint64_t bytes) {
    (void)bytes;
    return data_progress(user, "packing", done, of);
}
static bool step_back(void *user, int64_t done, int64_t of, uint64_t bytes) {
    (void)bytes;
    return data_progress(user, "unpacking", done, of);
}

static wick_pack_options pack_options(data_job *d) {
    const cli_options *o = d->o;
    const wick_records *r = wick_files_records(d->f);
    wick_pack_options p = {.write = {.compression = (wick_compression)o->of_data.compression,
                                     .level = (int)o->of_data.level,
                                     .train_dictionary = (size_t)o->of_data.dictionary << 10},
                           .append = o->of_data.append,
                           .progress = step,
                           .user = d};
    if (r && !options_given(o, "compression")) p.write.compression = wick_records_compression(r); /* as they were */
    return p;
}

static int told(data_job *d, const wick_pack_report *r) {
    char bytes[32], stored[32];
    data_progress_end(d);
    if (d->o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "wrote", d->to);
        json_bool(&j, "appended", d->o->of_data.append);
        json_integer(&j, "count", r->count);
        json_integer(&j, "bytes", (int64_t)r->bytes);
        json_integer(&j, "stored", (int64_t)r->stored);
        json_integer(&j, "passed_over", wick_files_passed(d->f));
        log_json_close(&j);
    } else {
        log_note(d->o->of_data.append ? "added to %s: %lld %s of %s; it has %s now" : "wrote %s: %lld %s, %s in %s",
                 d->to, (long long)r->count, wick_files_array(d->f) ? "arrays" : "files", format_bytes(bytes, r->bytes),
                 format_bytes(stored, r->stored));
        if (wick_files_passed(d->f))
            log_note("%lld files of other kinds were passed over; --all takes them",
                     (long long)wick_files_passed(d->f));
    }
    return CLI_OK;
}

int data_pack(data_job *d) {
    const wick_pack_options p = pack_options(d);
    wick_pack_report report = {0};
    if (!wick_files_count(d->f))
        return log_fail(CLI_BAD_FILE, "%s: holds nothing to pack%s", wick_files_path(d->f),
                        wick_files_passed(d->f) ? ": --all takes files of every kind" : "");
    if (p.append && (options_given(d->o, "compression") || options_given(d->o, "dictionary")))
        return log_fail(CLI_USAGE, "--append takes no --compression or --dictionary: %s has its own", d->to);
    const wick_status status = wick_files_pack(d->f, d->to, &p, &report);
    if (status == WICK_ERR_SHAPE || (p.append && status == WICK_ERR_INVALID)) return data_failed(d, status, CLI_USAGE);
    return status == WICK_OK ? told(d, &report) : data_failed(d, status, report.unread ? CLI_BAD_FILE : CLI_FAILED);
}

int data_unpack(data_job *d) {
    wick_pack_report report = {0};
    const wick_status status =
        wick_files_unpack(d->f, d->to, &(wick_pack_options){.progress = step_back, .user = d}, &report);
    return status == WICK_OK
               ? told(d, &report)
               : data_failed(d, status, report.unread || status == WICK_ERR_FORMAT ? CLI_BAD_FILE : CLI_FAILED);
}

/* ---- split ------------------------------------------------------------------------------------------------------- */

enum { PARTS = 16 };
typedef struct part {
    char name[64];
    double share;
    int64_t *order, n;
} part;

/* --part train=0.8 ..., or 0.8 and 0.2. An exit code. */
static int read_parts(const cli_options *o, part parts[PARTS], int *n) {
    double all = 0;
    *n = 0;
    static const char *const fallback[] = {"train=0.8", "test=0.2"};
    const int given = o->of_data.parts.n ? o->of_data.parts.n : 2;
    for (int i = 0; i < given; i++) {
        const char *text = o->of_data.parts.n ? o->of_data.parts.items[i] : fallback[i], *equals = strchr(text, '=');
        char *end = NULL;
        part *p = &parts[*n];
        const size_t length = equals ? (size_t)(equals - text) : 0;
        p->share = equals ? strtod(equals + 1, &end) : 0;
        if (!length || length >= sizeof p->name || memchr(text, '/', length) || text[0] == '.' || !end ||
            end == equals + 1 || *end || !(p->share > 0 && p->share <= 1))
            return log_fail(CLI_USAGE, "--part %s is not NAME=SHARE, as in train=0.8", text);
        snprintf(p->name, sizeof p->name, "%.*s", (int)length, text);
        for (int k = 0; k < *n; k++)
            if (strcmp(parts[k].name, p->name) == 0)
                return log_fail(CLI_USAGE, "--part %s: there is another of that name", text);
        all += p->share;
        if (++*n == PARTS && i + 1 < given) return log_fail(CLI_USAGE, "more than %d parts", PARTS);
    }
    return all <= 1 + 1e-9 ? CLI_OK : log_fail(CLI_USAGE, "the shares of --part come to %g, more than 1", all);
}

/* splitmix64 (Steele, Lea, Flood 2014): the same split for a seed on every machine. */
static uint64_t random_next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int by_number(const void *a, const void *b) {
    const int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;
    return (p > q) - (p < q);
}

/* Each class by itself is shuffled and cut at the shares. labels are -1 and up to classes - 1; places has room for all.
 */
static void deal(part *parts, int n, const int32_t *labels, int64_t *places, int64_t count, int64_t classes,
                 uint64_t seed) {
    for (int64_t k = -1; k < classes; k++) {
        int64_t m = 0, from = 0;
        double sum = 0;
        uint64_t state = seed + (uint64_t)(k + 1) * 0x632be59bd9b4e019u;
        for (int64_t i = 0; i < count; i++)
            if (labels[i] == k) places[m++] = i;
        for (int64_t i = m; i > 1; i--) {
            const int64_t j = (int64_t)(random_next(&state) % (uint64_t)i), was = places[i - 1];
            places[i - 1] = places[j];
            places[j] = was;
        }
        for (int p = 0; p < n; p++) {
            sum += parts[p].share;
            const int64_t to = sum >= 1 - 1e-9 ? m : (int64_t)(sum * (double)m + 0.5);
            for (; from < to; from++) parts[p].order[parts[p].n++] = places[from];
        }
    }
    for (int p = 0; p < n; p++) qsort(parts[p].order, (size_t)parts[p].n, sizeof *parts[p].order, by_number);
}

static wick_status read_labels(data_job *d, int32_t *labels) {
    const wick_records *r = wick_files_records(d->f);
    const int64_t count = wick_files_count(d->f), classes = wick_files_classes(d->f);
    for (int64_t i = 0; i < count; i++) {
        wick_file file = {.label = -1};
        wick_record_entry e = {.label = -1};
        const wick_status status = r ? wick_records_at(r, i, &e) : wick_files_at(d->f, i, &file);
        if (status != WICK_OK) return status;
        labels[i] = r ? e.label : (int32_t)file.label;
        if (labels[i] < -1 || labels[i] >= classes) labels[i] = -1;
        if (!data_progress(d, "looking", i, count)) return WICK_ERR_CANCELLED;
    }
    return WICK_OK;
}

static int write_parts(data_job *d, part *parts, int n) {
    char path[4096];
    json j = {0};
    wick_pack_report reports[PARTS] = {0};
    for (int p = 0; p < n; p++) {
        snprintf(path, sizeof path, "%s/%s.wrec", d->to, parts[p].name);
        wick_pack_options o = pack_options(d);
        o.order = parts[p].order;
        o.n_order = parts[p].n;
        const wick_status status = wick_files_pack(d->f, path, &o, &reports[p]);
        if (status != WICK_OK) return data_failed(d, status, reports[p].unread ? CLI_BAD_FILE : CLI_FAILED);
        data_progress_end(d);
        log_note("wrote %s: %lld of %lld", path, (long long)parts[p].n, (long long)wick_files_count(d->f));
    }
    if (!d->o->json) return CLI_OK;
    j = log_json_open();
    json_bool(&j, "ok", true);
    json_open(&j, "parts", '[');
    for (int p = 0; p < n; p++) {
        json_open(&j, NULL, '{');
        snprintf(path, sizeof path, "%s/%s.wrec", d->to, parts[p].name);
        json_text(&j, "wrote", path);
        json_integer(&j, "count", parts[p].n);
        json_integer(&j, "bytes", (int64_t)reports[p].bytes);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    log_json_close(&j);
    return CLI_OK;
}

int data_split(data_job *d) {
    part parts[PARTS] = {0};
    int n, code = read_parts(d->o, parts, &n);
    if (code != CLI_OK) return code;
    const int64_t count = wick_files_count(d->f);
    if (!count) return log_fail(CLI_BAD_FILE, "%s: holds nothing to split", wick_files_path(d->f));
    if (strcmp(wick_files_form(d->f), "tar") == 0)
        return log_fail(
            CLI_USAGE,
            "%s: an archive is read in its own order: wick data pack makes a record file of it, which can be split",
            d->path);
    int32_t *labels = malloc((size_t)count * sizeof *labels);
    int64_t *places = malloc((size_t)count * sizeof *places);
    bool good = labels && places;
    for (int p = 0; p < n; p++) good &= (parts[p].order = malloc((size_t)count * sizeof *places)) != NULL;
    if (!good) code = log_fail(CLI_FAILED, "out of memory");
    const wick_status status = good ? read_labels(d, labels) : WICK_OK;
    if (status != WICK_OK) code = data_failed(d, status, CLI_BAD_FILE);
    if (code == CLI_OK && !path_make_folder(d->to)) code = log_fail(CLI_FAILED, "%s: cannot be made", d->to);
    if (code == CLI_OK) {
        deal(parts, n, labels, places, count, wick_files_classes(d->f), (uint64_t)d->o->seed);
        code = write_parts(d, parts, n);
    }
    for (int p = 0; p < n; p++) free(parts[p].order);
    free(places);
    free(labels);
    return code;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

int cmd_data(cli_options *o) {
    int i = 0;
    while (i < ACTIONS && strcmp(o->model, actions[i].name) != 0) i++;
    if (i == ACTIONS) {
        const char *near = nearest_name(o->model, ACTIONS, action_name, NULL);
        return log_fail(
            CLI_USAGE,
            "there is no action '%s'%s%s; they are info, head, stats, verify, pack, unpack, split, bench and "
            "boxes",
            o->model, near ? "; did you mean " : "", near ? near : "");
    }
    const int want = 1 + actions[i].to;
    if (o->n_files != want)
        return log_fail(CLI_USAGE,
                        want == 1 ? "%s needs one PATH, not %d" : "%s needs PATH and what to write, TO, not %d",
                        actions[i].name, o->n_files);
    const option_case *idle = options_idle(o, cases, sizeof cases / sizeof cases[0], actions[i].bit);
    if (idle) return log_fail(CLI_USAGE, "--%s has no effect here: it is for %s", idle->name, idle->what);
    if (o->of_data.dictionary && o->of_data.compression != WICK_ZSTD)
        return log_fail(CLI_USAGE, "--dictionary is for --compression zstd");
    if (o->of_data.level && o->of_data.compression == WICK_STORED && !o->of_data.append)
        return log_fail(CLI_USAGE, "--level is for --compression zstd or lz4");
    if (o->of_data.level && o->of_data.compression == WICK_LZ4 && (o->of_data.level < 2 || o->of_data.level > 12))
        return log_fail(CLI_USAGE, "--level of lz4 must be from 2 to 12, not %lld", (long long)o->of_data.level);
    data_job d = {.o = o, .path = o->files[0], .to = actions[i].to ? o->files[1] : NULL, .shown = now_seconds()};
    if (d.to && path_same(d.path, d.to))
        return log_fail(CLI_USAGE, "%s would be written over what it is made of: name another file", d.to);
    wick_status status =
        wick_context_new(&(wick_context_options){.threads = 1, .pictures = {.as_stored = o->as_stored}}, &d.ctx);
    if (status != WICK_OK) return log_fail(CLI_FAILED, "cannot start: %s", wick_status_name(status));
    if (actions[i].to) interrupt_watch();
    if (actions[i].bit == BOXES) {
        const int done = data_boxes(&d);
        wick_context_free(&d.ctx);
        return done;
    }
    char *table = data_find_table(d.path, o->split);
    if (table) {
        d.path = table;
        const int done = data_table(&d, actions[i].name);
        free(table);
        wick_context_free(&d.ctx);
        return done;
    }
    status = wick_files_open(
        d.ctx, d.path, &(wick_files_options){.split = o->split, .all = o->of_data.all, .salvage = o->of_data.salvage},
        &d.f);
    const int code =
        status == WICK_OK ? actions[i].run(&d) : log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(d.ctx, status));
    wick_files_free(&d.f);
    wick_context_free(&d.ctx);
    return code;
}
