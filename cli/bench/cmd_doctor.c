/* wick doctor: what of this machine Wick uses, how fast it is, and what would make it faster. */
#include "checklist.h"

#include "../child.h"
#include "../paths.h"
#include "machine.h"
#include "measure.h"
#include "../term/facts.h"
#include "../tuned.h"

#include "wick/data.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char *const compilers[] = {"cc", "gcc", "clang"};
enum { COMPILERS = sizeof compilers / sizeof compilers[0] };

static const char benchmark_peer[] = "not used; a peer in benchmarks";
static const struct {
    const char *name, *use; /* what Wick does with it */
    const char *package;    /* of Debian; NULL: nobody misses it */
    const char *files[2];   /* names for the loader; the first that it finds counts */
} libraries[] = {
    {"zlib", "reads gzip data", "zlib1g", {"libz.so.1"}},
    {"libjpeg-turbo", "reads JPEG pictures", "libturbojpeg0", {"libturbojpeg.so.0"}},
    {"libspng", "reads PNG pictures", "libspng0", {"libspng.so.0"}},
    {"libwebp", "reads WebP pictures", "libwebp7", {"libwebp.so.7"}},
    {"libtiff", "reads TIFF pictures", "libtiff6", {"libtiff.so.6"}},
    {"OpenJPEG", "reads JPEG 2000 pictures", "libopenjp2-7", {"libopenjp2.so.7"}},
    {"zstd", "packs and reads record files", "libzstd1", {"libzstd.so.1"}},
    {"lz4", "packs and reads record files", "liblz4-1", {"liblz4.so.1"}},
    {"OpenBLAS", benchmark_peer, NULL, {"libopenblas.so.0"}},
    {"MKL", benchmark_peer, NULL, {"libmkl_rt.so.2", "libmkl_rt.so"}},
    {"BLIS", benchmark_peer, NULL, {"libblis.so.4"}},
    {"oneDNN", benchmark_peer, NULL, {"libdnnl.so.3", "libdnnl.so.2"}},
};
enum { LIBRARIES = sizeof libraries / sizeof libraries[0], MOST_ADVICE = 32 };

typedef struct patient {
    machine m;
    wick_limits limits;
    int threads;
    const char *chosen, *best;                              /* tiers */
    char compiler[COMPILERS][256], library[LIBRARIES][512]; /* first words and paths; "": not here */
    facts s;
    char *advice[MOST_ADVICE]; /* owned; what memory is short for is left out */
    int n_advice;
} patient;

WICK_PRINTF(2, 3) static void advise(patient *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (p->n_advice < MOST_ADVICE && vasprintf(&p->advice[p->n_advice], format, args) >= 0) p->n_advice++;
    va_end(args);
}

static void system_section(patient *p) {
    struct utsname host;
    char text[512] = "";
    if (uname(&host) == 0)
        snprintf(text, sizeof text, "%.64s %.64s on %.64s", host.sysname, host.release, host.machine);
    facts_section(&p->s, "system", "System");
    facts_text(&p->s, "version", "Wick", wick_version());
    facts_text(&p->s, "kernel", NULL, text);
    facts_section_end(&p->s);
#ifndef __OPTIMIZE__
    advise(p, "this command was built without optimisation: configure with -DCMAKE_BUILD_TYPE=Release");
#endif
#ifndef NDEBUG
    advise(p, "this is a build for debugging, which checks every graph after every pass: -DCMAKE_BUILD_TYPE=Release "
              "does not");
#endif
    const char *eager = getenv("WICK_EAGER");
    if (eager && strcmp(eager, "1") == 0) advise(p, "WICK_EAGER=1 runs op by op, without passes: unset it");
}

/* Instructions that some machines of a tier have, and those that WICK_ISA leaves out. */
static void show_extensions(patient *p) {
    char list[256] = "";
    if (p->s.as_json) json_open(&p->s.j, "extensions", '[');
    for (int i = 0; i < wick_isa_extension_count(); i++) {
        const wick_isa isa = wick_isa_extension_at(i);
        if (!isa.supported) continue;
        if (!isa.chosen) advise(p, "WICK_ISA=%s keeps Wick from using %s: unset it", getenv("WICK_ISA"), isa.name);
        if (p->s.as_json && isa.chosen) json_text(&p->s.j, NULL, isa.name);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s%s", list[0] ? ", " : "",
                 isa.chosen ? "" : "not ", isa.name);
    }
    if (p->s.as_json)
        json_close(&p->s.j, ']');
    else
        facts_text(&p->s, "extensions", NULL, list[0] ? list : "none");
}

static void show_tiers(patient *p) {
    char list[128] = "";
    if (p->s.as_json) json_open(&p->s.j, "tiers", '[');
    for (int i = 0; i < wick_isa_count(); i++) {
        wick_isa isa = wick_isa_at(i);
        if (!isa.supported) continue;
        if (p->s.as_json) json_text(&p->s.j, NULL, isa.name);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] ? ", " : "", isa.name);
    }
    if (p->s.as_json)
        json_close(&p->s.j, ']');
    else
        facts_text(&p->s, "tiers", NULL, list);
    facts_text(&p->s, "tier", "tier in use", p->chosen);
    show_extensions(p);
    if (strcmp(p->chosen, p->best) != 0)
        advise(p, "WICK_ISA=%s keeps Wick from using %s: unset it", getenv("WICK_ISA"), p->best);
    if (tuned_from())
        facts_text(&p->s, "tuning", NULL, tuned_from());
    else
        facts_none(&p->s, "tuning", NULL, "none: the defaults hold (wick tune measures this machine)");
#if defined(__x86_64__)
    if (strcmp(p->best, "base") == 0)
        advise(p, "no AVX2 here: in a virtual machine let the CPU's features through (QEMU: -cpu host), else products "
                  "run at a fraction");
#endif
}

static void show_caches(patient *p) {
    const machine *m = &p->m;
    if (p->s.as_json) json_open(&p->s.j, "caches", '[');
    for (int i = 0; i < m->n_caches; i++) {
        const machine_cache *c = &m->caches[i];
        char name[32], bytes[32], text[160];
        const char *kind = strcmp(c->type, "Data") == 0 ? "d" : strcmp(c->type, "Instruction") == 0 ? "i" : "";
        snprintf(name, sizeof name, "L%d%s", c->level, kind);
        if (p->s.as_json) {
            json_open(&p->s.j, NULL, '{');
            json_text(&p->s.j, "name", name);
            json_integer(&p->s.j, "bytes", (int64_t)c->bytes);
            json_text(&p->s.j, "shared", c->shared[0] ? c->shared : NULL);
            json_close(&p->s.j, '}');
        } else {
            snprintf(text, sizeof text, "%s, of CPUs %s", format_bytes(bytes, c->bytes),
                     c->shared[0] ? c->shared : "unknown");
            facts_text(&p->s, name, NULL, text);
        }
    }
    if (p->s.as_json) json_close(&p->s.j, ']');
}

static void show_count(patient *p, const char *key, const char *label, int count) {
    char text[16];
    snprintf(text, sizeof text, "%d", count);
    if (count)
        facts_integer(&p->s, key, label, count, text);
    else
        facts_none(&p->s, key, label, "none");
}

static void cpu_section(patient *p) {
    const machine *m = &p->m;
    const wick_limits *l = &p->limits;
    char text[160];
    facts_section(&p->s, "cpu", "CPU");
    facts_text(&p->s, "model", NULL, m->cpu);
    show_tiers(p);
    show_count(p, "online", "CPUs online", l->online);
    show_count(p, "affinity", "affinity mask", l->affinity);
    show_count(p, "quota", "cgroup quota", l->quota);
    show_count(p, "threads", NULL, p->threads);
    show_caches(p);
    const bool no = strncmp(m->smt, "not", 3) == 0; /* the kernel writes "notsupported" */
    snprintf(text, sizeof text, "%s%.100s", no ? "not " : "", m->smt + (no ? 3 : 0));
    facts_text(&p->s, "smt", "SMT", text);
    snprintf(text, sizeof text, "%s%s%s", m->governor, m->driver[0] ? " of " : "", m->driver);
    facts_text(&p->s, "governor", NULL, text);
    snprintf(text, sizeof text, "%.2f over the last minute", m->load);
    facts_real(&p->s, "load", NULL, m->load, text);
    facts_section_end(&p->s);

    if (l->quota && l->quota < l->affinity)
        advise(p, "a cgroup quota leaves the time of %d of %d CPUs: raise it (docker run --cpus, systemd CPUQuota=)",
               l->quota, l->affinity);
    if (p->threads < l->affinity && !(l->quota && p->threads >= l->quota))
        advise(p, "--threads %d leaves CPUs idle: without it %d are used", p->threads, l->affinity);
    if (l->quota && p->threads > l->quota)
        advise(p, "--threads %d is more than the quota of %d CPUs: all of them stop when it is used up", p->threads,
               l->quota);
    if (m->load > 0.5 * l->online)
        advise(p, "other processes want %.1f CPUs of %d: what Wick measures and does will vary until they are done",
               m->load, l->online);
}

static void show_bytes(patient *p, const char *key, const char *label, uint64_t bytes, const char *none) {
    char text[32];
    if (bytes)
        facts_integer(&p->s, key, label, (int64_t)bytes, format_bytes(text, bytes));
    else
        facts_none(&p->s, key, label, none);
}

static void memory_section(patient *p) {
    const machine *m = &p->m;
    const long page = sysconf(_SC_PAGESIZE);
    facts_section(&p->s, "memory", "Memory");
    show_bytes(p, "total", NULL, m->total, "unknown");
    show_bytes(p, "available", NULL, m->available, "unknown");
    show_bytes(p, "limit", "cgroup limit", p->limits.memory, "none");
    show_bytes(p, "page", NULL, page > 0 ? (uint64_t)page : 0, "unknown");
    facts_text(&p->s, "huge_pages", "huge pages", m->huge);
    facts_section_end(&p->s);
    char left[32];
    if (p->limits.memory && p->limits.memory < m->total / 2)
        advise(
            p,
            "cgroups let this process have %s of the machine's memory: raise it (docker run --memory) for large models",
            format_bytes(left, p->limits.memory));
    if (m->available && m->available < 1u << 30)
        advise(p, "%s of memory are available: large data sets may not fit", format_bytes(left, m->available));
}

/* Settings that slow all programs down, each with its fix. */
static void checklist_section(patient *p, const char *root) {
    static const char *const states[] = {[CHECK_UNKNOWN] = "unknown", [CHECK_GOOD] = "good", [CHECK_BAD] = "bad"};
    check checks[CHECKS_MAX];
    const int n = checklist(root, checks);
    if (p->s.as_json)
        json_open(&p->s.j, "checks", '[');
    else
        facts_section(&p->s, NULL, "Checklist");
    for (int i = 0; i < n; i++) {
        const check *c = &checks[i];
        if (p->s.as_json) {
            json_open(&p->s.j, NULL, '{');
            json_text(&p->s.j, "name", c->name);
            json_text(&p->s.j, "state", states[c->state]);
            json_text(&p->s.j, "found", *c->found ? c->found : NULL);
            json_text(&p->s.j, "fix", *c->fix ? c->fix : NULL);
            json_close(&p->s.j, '}');
        } else if (c->state == CHECK_UNKNOWN) {
            facts_none(&p->s, NULL, c->name, "not told");
        } else {
            char text[200];
            snprintf(text, sizeof text, "%s: %s", states[c->state], c->found);
            facts_text(&p->s, NULL, c->name, text);
        }
        if (*c->fix) advise(p, "%s: %s", c->name, c->fix);
    }
    if (p->s.as_json)
        json_close(&p->s.j, ']');
    else
        facts_section_end(&p->s);
}

static void run_compiler(const void *name) {
    execlp(name, name, "--version", (char *)NULL); /* a program that is not there says nothing */
}

/* Loading runs code of the library, which may start threads or fail badly: a child's business. */
static void find_library(const void *files) {
    const char *const *file = files;
    for (int i = 0; i < 2 && file[i]; i++) {
        void *library = dlopen(file[i], RTLD_LAZY | RTLD_LOCAL);
        struct link_map *map;
        if (!library) continue;
        printf("%s", dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] ? map->l_name : file[i]);
        return;
    }
}

static void look_around(patient *p) {
    for (int i = 0; i < COMPILERS; i++) {
        child_output(p->compiler[i], sizeof p->compiler[i], run_compiler, compilers[i]);
        p->compiler[i][strcspn(p->compiler[i], "\r\n")] = '\0';
    }
    for (int i = 0; i < LIBRARIES; i++)
        child_output(p->library[i], sizeof p->library[i], find_library, libraries[i].files);
}

static void compiler_section(patient *p) {
    facts_section(&p->s, "compilers", "Compilers (to build Wick, not to run it)");
    for (int i = 0; i < COMPILERS; i++) {
        if (p->compiler[i][0])
            facts_text(&p->s, compilers[i], NULL, p->compiler[i]);
        else
            facts_none(&p->s, compilers[i], NULL, "not found");
    }
    facts_section_end(&p->s);
}

static void library_section(patient *p) {
    facts_section(&p->s, "libraries", "Libraries");
    for (int i = 0; i < LIBRARIES; i++) {
        const char *path = p->library[i], *use = libraries[i].use;
        char text[640];
        if (p->s.as_json) {
            json_open(&p->s.j, libraries[i].name, '{');
            json_text(&p->s.j, "path", path[0] ? path : NULL);
            json_text(&p->s.j, "use", use);
            json_close(&p->s.j, '}');
        } else {
            snprintf(text, sizeof text, "%s (%s)", path[0] ? path : "not found", use);
            facts_text(&p->s, NULL, libraries[i].name, text);
        }
        if (!path[0] && libraries[i].package)
            advise(p, "%s is missing, which %s: apt install %s", libraries[i].name, use, libraries[i].package);
    }
    facts_section_end(&p->s);
}

static void data_section(patient *p) {
    bool found = false;
    const char *name, *folder = getenv("WICK_DATA");
    facts_section(&p->s, "data", "Data");
    if (folder && *folder)
        facts_text(&p->s, "WICK_DATA", NULL, folder);
    else
        facts_none(&p->s, "WICK_DATA", NULL, "not set");
    for (int i = 0; (name = wick_dataset_known(i)); i++) {
        char path[1024];
        if (wick_dataset_find(name, path, sizeof path)) {
            facts_text(&p->s, name, NULL, path);
            found = true;
        } else {
            facts_none(&p->s, name, NULL, "not found");
        }
    }
    facts_section_end(&p->s);
    if (!found)
        advise(p, "no data set is found by name: apt install dataset-fashion-mnist, or set WICK_DATA to the folder "
                  "that has them");
}

/* Vectors that are larger than every cache, of no more than a part of what is free. */
static uint64_t room_for_vectors(const patient *p) {
    uint64_t most = 512u << 20, room = 64u << 20, largest = 0;
    for (int i = 0; i < p->m.n_caches; i++)
        if (p->m.caches[i].bytes > largest) largest = p->m.caches[i].bytes;
    if (room < 4 * largest) room = 4 * largest;
    if (p->m.available && most > p->m.available / 8) most = p->m.available / 8;
    if (p->limits.memory && most > p->limits.memory / 8) most = p->limits.memory / 8;
    return room < most ? room : most;
}

/* 0: it could not be measured. */
WICK_PRINTF(5, 6)
static void show_speed(patient *p, const char *key, const char *label, double speed, const char *format, ...) {
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    facts_real(&p->s, key, label, speed > 0 ? speed : -1, text);
}

static void speed_section(patient *p) {
    speeds v;
    measure_speeds(&v, p->threads, room_for_vectors(p));
    double share = v.peak > 0 ? v.product / v.peak : 0, scaling = v.product > 0 ? v.products / v.product : 0;
    facts_section(&p->s, "measured", "Measured");
    show_speed(p, "core_peak_gflops", "peak of a core", v.peak, "%.1f GFLOP/s: f32 multiply-adds in registers", v.peak);
    show_speed(p, "product_gflops", "matrix product", v.product, "%.1f GFLOP/s on one thread, %.0f %% of the peak",
               v.product, 100 * share);
    show_speed(p, "threads_product_gflops", "", v.products, "%.1f GFLOP/s on %d thread%s, %.2f times that", v.products,
               p->threads, plural(p->threads), scaling);
    show_speed(p, "memory_gb_per_second", "memory", v.memory, "%.1f GB/s read and written on %d thread%s", v.memory,
               p->threads, plural(p->threads));
    facts_section_end(&p->s);
    if (scaling > 0 && p->threads > 1 && scaling < 0.6 * p->threads)
        advise(p,
               "%d threads were only %.1f times as fast as one: cores that are shared, other processes or a busy host "
               "take the rest",
               p->threads, scaling);
}

static void advice_section(patient *p) {
    if (p->s.as_json) {
        json_open(&p->s.j, "advice", '[');
        for (int i = 0; i < p->n_advice; i++) json_text(&p->s.j, NULL, p->advice[i]);
        json_close(&p->s.j, ']');
        return;
    }
    printf("%sAdvice%s\n", p->s.color ? "\x1b[1m" : "", p->s.color ? "\x1b[0m" : "");
    for (int i = 0; i < p->n_advice; i++) printf("  - %s\n", p->advice[i]);
    if (!p->n_advice) printf("  none: Wick uses what is here\n");
}

int cmd_doctor(cli_options *o) {
    patient p = {.limits = wick_limits_get()};
    wick_context *ctx;
    if (*o->of_doctor.root && !path_is_folder(o->of_doctor.root))
        return log_fail(CLI_BAD_FILE, "--root: %s is no folder", o->of_doctor.root);
    look_around(&p); /* before there are threads */
    if (wick_context_new(&(wick_context_options){.tuning = tuned(), .threads = (int)o->threads}, &ctx) != WICK_OK)
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    p.threads = wick_context_threads(ctx);
    wick_context_free(&ctx);
    for (int i = 0; i < wick_isa_count(); i++) {
        wick_isa isa = wick_isa_at(i);
        if (isa.supported) p.best = isa.name;
        if (isa.chosen) p.chosen = isa.name;
    }
    machine_read(&p.m, o->of_doctor.root);
    facts_open(&p.s, o->json);
    system_section(&p);
    cpu_section(&p);
    memory_section(&p);
    checklist_section(&p, o->of_doctor.root);
    compiler_section(&p);
    library_section(&p);
    data_section(&p);
    if (!o->of_doctor.no_measure) speed_section(&p);
    advice_section(&p);
    facts_close(&p.s);
    for (int i = 0; i < p.n_advice; i++) free(p.advice[i]);
    return CLI_OK;
}
