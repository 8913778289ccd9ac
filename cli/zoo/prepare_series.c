/* Series as tables: rows in order of time, each part a file of its own, so that no window reaches into another part. */
#include "zoo.h"

#include "../paths.h"
#include "../term/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_part(zoo_prep *p, int part, const char *text, size_t size) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s.csv", p->to, p->parts[part].name);
    return zoo_checked(p, wick_file_write(p->ctx, path, text, size));
}

/* ---- ETTh1 ------------------------------------------------------------------------------------------------------- */

/* gzip unpacks it, which every system has. */
static int unpack(const zoo_prep *p, char *to, size_t size) {
    snprintf(to, size, "%s/unpacked.csv", p->to);
    const int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out < 0) return log_fail(CLI_FAILED, "%s: cannot be written", to);
    double seconds;
    const int code = zoo_start((const char *const[]){"gzip", "-dc", p->source, NULL}, out, &seconds);
    close(out);
    return code == 0 ? CLI_OK : log_fail(CLI_BAD_FILE, "%s: gzip could not unpack it", p->source);
}

/* The benchmark's parts: 12 months of 30 days, 4 and 4 (Zhou et al. 2021). */
int zoo_prepare_etth1(zoo_prep *p) {
    static const int64_t ends[] = {0, 8640, 11520, 14400};
    char path[4200], group[ZOO_GROUP], *text = NULL;
    size_t size = 0;
    zoo_table t = {0};
    p->groups = "months of 30 days";
    int code = unpack(p, path, sizeof path);
    if (code == CLI_OK) code = zoo_read_table(path, &t);
    unlink(path);
    if (code == CLI_OK && (t.n < ends[ZOO_PARTS] || strncmp(t.head, "date,HUFL,HULL,", 15) != 0))
        code = log_fail(CLI_BAD_FILE, "%s: has %lld rows below \"%.60s\", and ETTh1 has 17420 below date,HUFL,HULL,...",
                        p->source, (long long)t.n, t.head);
    for (int part = 0; code == CLI_OK && part < ZOO_PARTS; part++) {
        FILE *out = open_memstream(&text, &size);
        if (!out) code = zoo_out_of_memory();
        for (int64_t i = ends[part] - 1; out && code == CLI_OK && i < ends[part + 1]; i++) {
            /* the columns behind date: HUFL, HULL, MUFL, MULL, LUFL, LULL, OT; the first, second and last are taken */
            const char *line = i < ends[part] ? t.head : t.lines[i], *a = strchr(line, ','), *last = strrchr(line, ',');
            const char *b = a ? strchr(a + 1, ',') : NULL, *c = b ? strchr(b + 1, ',') : NULL;
            if (!c || last == c)
                code = log_fail(CLI_BAD_FILE, "%s: line %lld has too few cells", p->source, (long long)i + 2);
            else
                fprintf(out, "%.*s%s\n", (int)(c - a - 1), a + 1, last);
            if (code != CLI_OK || i < ends[part]) continue;
            snprintf(group, sizeof group, "%lld", (long long)i / 720);
            code = zoo_count_in(p, part, group);
        }
        if (out && fclose(out) != 0 && code == CLI_OK) code = zoo_out_of_memory();
        if (code == CLI_OK) code = write_part(p, part, text, size);
        free(text), text = NULL;
    }
    zoo_free_table(&t);
    return code;
}

/* ---- elecdemand -------------------------------------------------------------------------------------------------- */

enum { AHEAD = 24, HALF_HOURS = 48 };
typedef struct reading {
    char part[16];
    long long number;
    double demand, temperature;
    int workday;
} reading;

static int read_readings(const zoo_prep *p, const zoo_table *t, reading *r) {
    if (strcmp(t->head, "halfhour,demand_gw,workday,temperature_c,split") != 0)
        return log_fail(CLI_BAD_FILE,
                        "%s: its columns are \"%.80s\", not halfhour,demand_gw,workday,temperature_c,split", p->source,
                        t->head);
    for (int64_t i = 0; i < t->n; i++)
        if (sscanf(t->lines[i], "%lld,%lf,%d,%lf,%15s", &r[i].number, &r[i].demand, &r[i].workday, &r[i].temperature,
                   r[i].part) != 5 ||
            (strcmp(r[i].part, "train") != 0 && strcmp(r[i].part, "test") != 0))
            return log_fail(CLI_BAD_FILE, "%s: line %lld is \"%.60s\", not five cells with train or test at the end",
                            p->source, (long long)i + 2, t->lines[i]);
        else if (i && strcmp(r[i].part, "train") == 0 && strcmp(r[i - 1].part, "test") == 0)
            return log_fail(CLI_BAD_FILE, "%s: line %lld: training behind the test", p->source, (long long)i + 2);
    return CLI_OK;
}

/* Whether a day is one of work is known ahead, so a row has it for half a day later; the last ones have their own. */
static int write_readings(zoo_prep *p, int part, const reading *r, int64_t n) {
    char *text = NULL, group[ZOO_GROUP];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return zoo_out_of_memory();
    int code = CLI_OK;
    fprintf(out, "workday_ahead,temperature_c,time,demand_gw\n");
    for (int64_t i = 0; code == CLI_OK && i < n; i++) {
        const reading *ahead = &r[i + AHEAD < n ? i + AHEAD : i];
        fprintf(out, "%d,%.9g,%.6f,%.9g\n", ahead->workday, r[i].temperature,
                (double)(r[i].number % HALF_HOURS) / HALF_HOURS, r[i].demand);
        snprintf(group, sizeof group, "%lld", r[i].number / HALF_HOURS);
        code = zoo_count_in(p, part, group);
    }
    if (fclose(out) != 0 && code == CLI_OK) code = zoo_out_of_memory();
    if (code == CLI_OK) code = write_part(p, part, text, size);
    free(text);
    return code;
}

int zoo_prepare_elecdemand(zoo_prep *p) {
    zoo_table t = {0};
    p->groups = "days";
    int code = zoo_read_table(p->source, &t);
    reading *r = calloc((size_t)t.n + 1, sizeof *r);
    if (code == CLI_OK && !r) code = zoo_out_of_memory();
    if (code == CLI_OK) code = read_readings(p, &t, r);
    int64_t first = 0;
    while (code == CLI_OK && first < t.n && strcmp(r[first].part, "train") == 0) first++;
    if (code == CLI_OK) code = write_readings(p, ZOO_TRAIN, r, first);
    if (code == CLI_OK) code = write_readings(p, ZOO_TEST, r + first, t.n - first);
    free(r);
    zoo_free_table(&t);
    return code;
}
