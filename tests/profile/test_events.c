/* Event files for TensorBoard, beside its own bytes; and the monitor, beside what the system says elsewhere. */
#include <arpa/inet.h>
#include <dirent.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "context.h"
#include "golden/events.h"
#include "test.h"
#include "wick/events.h"
#include "wick/monitor.h"

static char folder[64];

/* ---- event files ------------------------------------------------------------------------------------------------- */

static uint8_t *read_folder(const char *path, size_t *size) {
    static uint8_t bytes[1 << 20];
    DIR *d = opendir(path);
    *size = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        char name[512];
        if (strncmp(e->d_name, "events.out.tfevents.", 20) != 0) continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        FILE *f = fopen(name, "rb");
        *size = f ? fread(bytes, 1, sizeof bytes, f) : 0;
        if (f) fclose(f);
    }
    if (d) closedir(d);
    return bytes;
}

static size_t from_hex(const char *hex, uint8_t *out) {
    size_t n = 0;
    for (unsigned byte; sscanf(hex + 2 * n, "%2x", &byte) == 1; n++) out[n] = (uint8_t)byte;
    return n;
}
static uint32_t masked(const void *at, size_t n) {
    const uint32_t crc = wick_crc32c(0, at, n);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}
/* The record at p, of at most n bytes: its payload; 0: it is none. */
static size_t payload(const uint8_t *p, size_t n, const uint8_t **at) {
    uint64_t length;
    uint32_t of_length, of_data;
    if (n < 16) return 0;
    memcpy(&length, p, 8);
    memcpy(&of_length, p + 8, 4);
    if (of_length != masked(p, 8) || length > n - 16) return 0;
    memcpy(&of_data, p + 12 + length, 4);
    *at = p + 12;
    return of_data == masked(p + 12, length) ? length : 0;
}

TEST(events_have_tensorboard_s_bytes) {
    static const float values[] = {0, 1, -1, 0.5f, 0.5f, 1e-13f, -3.25f, 100, NAN, INFINITY};
    wick_context *ctx = new_context(.threads = 1);
    wick_events *e = NULL;
    char path[128];
    snprintf(path, sizeof path, "%s/tb", folder);
    REQUIRE(wick_events_open(ctx, path, 7, &e) == WICK_OK);
    CHECK_INT(wick_events_scalar(e, "train/loss", 8, 0.1), WICK_OK);
    CHECK_INT(wick_events_scalar(e, "zero", (int64_t)1 << 40, 0), WICK_OK);
    CHECK_INT(wick_events_histogram(e, "w", 9, values, 10), WICK_OK);
    CHECK_INT(wick_events_picture(e, "p", 9, 2, 3, "\x89PNG", 4), WICK_OK);
    CHECK_INT(wick_events_text(e, "a text", 10, "hello"), WICK_OK);
    CHECK_INT(wick_events_close(&e), WICK_OK);
    size_t size;
    const uint8_t *bytes = read_folder(path, &size), *end = bytes + size, *got, *want;
    static uint8_t golden[1 << 16];
    for (size_t i = 0; i < WICK_COUNTOF(golden_events); i++) {
        const size_t n = payload(golden, from_hex(golden_events[i], golden), &want),
                     have = payload(bytes, (size_t)(end - bytes), &got);
        REQUIRE(n && have);
        CHECK_INT(have, n);
        /* all but the time: a tag and a double */
        CHECK_MSG(have == n && got[0] == want[0] && !memcmp(got + 9, want + 9, n - 9), "event %zu differs", i);
        bytes += have + 16;
    }
    CHECK(bytes == end);
    wick_context_free(&ctx);
}

static wick_status record_sum(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_sum(wick_matmul(in[0], in[0]), WICK_ALL_AXES, false);
    return WICK_OK;
}
/* Every node is there by its op, and names its inputs. TensorBoard's own reader: tests/profile/check_events.py. */
TEST(a_graph_is_an_event) {
    wick_context *ctx = new_context(.threads = 1);
    wick_events *e = NULL;
    wick_plan *plan = NULL;
    char path[128];
    const wick_spec in = {.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {3, 3}};
    snprintf(path, sizeof path, "%s/graph", folder);
    REQUIRE(wick_compile(ctx, record_sum, NULL, 1, &in, 1, NULL, &plan) == WICK_OK);
    REQUIRE(wick_events_open(ctx, path, 0, &e) == WICK_OK);
    CHECK_INT(wick_events_graph(e, NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_events_graph(e, plan), WICK_OK);
    CHECK_INT(wick_events_close(&e), WICK_OK);
    size_t size;
    const uint8_t *bytes = read_folder(path, &size);
    static const char *const parts[] = {"matmul_1", "sum_2", "_output_shapes", "f32"};
    for (size_t i = 0; i < WICK_COUNTOF(parts); i++)
        CHECK_MSG(memmem(bytes, size, parts[i], strlen(parts[i])), "%s", parts[i]);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

TEST(events_refuse_what_makes_no_curve) {
    wick_context *ctx = new_context(.threads = 1);
    wick_events *e = NULL;
    CHECK_INT(wick_events_open(ctx, "/dev/null/x", 0, &e), WICK_ERR_IO);
    CHECK_INT(wick_events_open(ctx, "", 0, &e), WICK_ERR_INVALID);
    char path[128];
    snprintf(path, sizeof path, "%s/refused", folder);
    REQUIRE(wick_events_open(ctx, path, 0, &e) == WICK_OK);
    CHECK_INT(wick_events_scalar(e, "", 1, 1), WICK_ERR_INVALID);
    CHECK_INT(wick_events_histogram(e, "h", 1, NULL, 3), WICK_ERR_INVALID);
    CHECK_INT(wick_events_picture(e, "p", 1, 0, 3, "x", 1), WICK_ERR_INVALID);
    CHECK_INT(wick_events_text(e, "t", 1, NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_events_close(&e), WICK_OK);
    wick_context_free(&ctx);
}

/* ---- the monitor ------------------------------------------------------------------------------------------------- */

static int calls;
static double heard[32];
static void hear(void *user, wick_monitor *m, const wick_monitor_step_info *step) {
    (void)m;
    heard[calls++ % 32] = step->seconds;
    *(double *)user += step->seconds;
}
static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

TEST(latencies_are_those_of_the_window) {
    wick_context *ctx = new_context(.threads = 1);
    wick_monitor *m = NULL;
    wick_monitor_stats s;
    double all = 0;
    REQUIRE(wick_monitor_new(ctx, &(wick_monitor_options){.window = 10, .on_step = hear, .user = &all}, &m) == WICK_OK);
    calls = 0;
    for (int i = 0; i < 25; i++) {
        wick_monitor_begin(m);
        usleep(i == 24 ? 20000 : 1000);
        wick_monitor_step(m, 32);
    }
    wick_monitor_get_stats(m, &s);
    CHECK_INT(s.steps, 25);
    CHECK_INT(s.samples, 800);
    CHECK_INT(calls, 25);
    CHECK(fabs(all - s.seconds) < 1e-9);
    CHECK(heard[24] >= 0.02);
    /* of the last ten, as on_step was told them, however long others had the CPU */
    qsort(heard + 15, 10, sizeof *heard, by_size);
    CHECK_INT(s.latency.count, 10);
    CHECK(fabs(s.latency.min - heard[15]) < 1e-9 && fabs(s.latency.max - heard[24]) < 1e-9);
    CHECK(s.latency.min >= 0.001 && s.latency.max == s.latency.p99 && s.latency.p95 == s.latency.max);
    CHECK_MSG(fabs(s.latency.median - heard[19]) < 1e-9, "%g of %g", s.latency.median, heard[19]);
    CHECK(fabs(s.samples_per_second * s.latency.total / 320 - 1) < 1e-9);
    CHECK(s.counters.why && strcmp(s.counters.why, "not asked for") == 0 && isnan(s.counters.cycles));
    wick_monitor_free(&m);
    wick_context_free(&ctx);
}

/* The system's own files say the same. */
TEST(memory_and_cpu_are_what_the_system_says) {
    wick_context *ctx = new_context(.threads = 1);
    wick_monitor *m = NULL;
    wick_monitor_stats s;
    REQUIRE(wick_monitor_new(ctx, &(wick_monitor_options){.window = 8, .counters = true}, &m) == WICK_OK);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    volatile double x = 0;
    const uint64_t from = wick_now_ns();
    while (wick_now_ns() - from < 200000000)
        for (int i = 0; i < 1000; i++) x += i;
    char *block = calloc(1, 64 << 20);
    memset(block, x > 0, 64 << 20);
    wick_monitor_step(m, 1);
    wick_monitor_get_stats(m, &s);
    getrusage(RUSAGE_SELF, &after);
    const double used =
        (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
        1e-6 * (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec -
                        before.ru_stime.tv_usec);
    unsigned long long rss = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f)) sscanf(line, "VmRSS: %llu", &rss);
    if (f) fclose(f);
    if (rss) CHECK_MSG(fabs((double)s.memory / (1024.0 * (double)rss) - 1) < 0.01, "%zu, %llu KB", s.memory, rss);
    CHECK(s.memory_peak >= s.memory);
    /* of a moment later; other programs may take the CPU, which both see */
    CHECK_MSG(fabs(s.cpu * s.wall - used) < 0.05 * s.wall + 0.02, "%g of %g s", s.cpu * s.wall, used);
    CHECK(s.minor_faults >= (64 << 20) / 4096 / 512); /* in huge pages, if there are */
    CHECK_MSG(s.counters.why ? isnan(s.counters.instructions) : s.counters.instructions > 1e6, "%s",
              s.counters.why ? s.counters.why : "");
    free(block);
    wick_monitor_free(&m);
    wick_context_free(&ctx);
}

TEST(metrics_are_openmetrics_text) {
    wick_context *ctx = new_context(.threads = 1);
    wick_monitor *m = NULL;
    char path[128], text[8192], name[100];
    snprintf(path, sizeof path, "%s/metrics.txt", folder);
    REQUIRE(wick_monitor_new(ctx, NULL, &m) == WICK_OK);
    wick_monitor_step(m, 4);
    CHECK(wick_monitor_set(m, "train/loss", 0.25) && wick_monitor_set(m, "a \"name\"\n", 1));
    CHECK(wick_monitor_set(m, "train/loss", 0.5));
    memset(name, 'x', 99), name[99] = 0;
    CHECK(!wick_monitor_set(m, name, 1) && !wick_monitor_set(m, "", 1) && !wick_monitor_set(m, NULL, 1));
    for (int i = 0; i < 62; i++) {
        snprintf(name, sizeof name, "n%d", i);
        CHECK(wick_monitor_set(m, name, i));
    }
    CHECK(!wick_monitor_set(m, "one more", 1));
    CHECK_INT(wick_monitor_write(m, path), WICK_OK);
    FILE *f = fopen(path, "r");
    REQUIRE(f);
    const size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    CHECK_STR_HAS(text, "# TYPE wick_steps counter\n");
    CHECK_STR_HAS(text, "\nwick_steps_total 1\n");
    CHECK_STR_HAS(text, "\nwick_samples_total 4\n");
    CHECK_STR_HAS(text, "\nwick_step_seconds{quantile=\"0.99\"} ");
    CHECK_STR_HAS(text, "\nwick_value{name=\"train/loss\"} 0.5\n");
    CHECK_STR_HAS(text, "\nwick_value{name=\"a \\\"name\\\"\\n\"} 1\n");
    CHECK(n > 6 && !strcmp(text + n - 6, "# EOF\n"));
    CHECK_INT(wick_monitor_write(m, "/nowhere/metrics"), WICK_ERR_IO);
    CHECK_STR_HAS(wick_monitor_error(m), "/nowhere/metrics");
    wick_monitor_free(&m);
    CHECK_INT(wick_monitor_new(ctx, &(wick_monitor_options){.window = -1}, &m), WICK_ERR_INVALID);
    wick_context_free(&ctx);
}

static int connect_to(int port) {
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* What comes back for a request, sent in two pieces. */
static const char *ask(int port, const char *request) {
    static char reply[16384];
    const int fd = connect_to(port);
    size_t n = 0;
    reply[0] = 0;
    if (fd < 0) return reply;
    const size_t half = strlen(request) / 2;
    if (send(fd, request, half, MSG_NOSIGNAL) > 0) send(fd, request + half, strlen(request) - half, MSG_NOSIGNAL);
    for (ssize_t some; n < sizeof reply - 1 && (some = recv(fd, reply + n, sizeof reply - 1 - n, 0)) > 0;)
        n += (size_t)some;
    reply[n] = 0;
    close(fd);
    return reply;
}

TEST(metrics_are_served_while_steps_go_on) {
    wick_context *ctx = new_context(.threads = 1);
    wick_monitor *m = NULL, *other = NULL;
    REQUIRE(wick_monitor_new(ctx, NULL, &m) == WICK_OK && wick_monitor_new(ctx, NULL, &other) == WICK_OK);
    CHECK_INT(wick_monitor_port(m), 0);
    CHECK_INT(wick_monitor_serve(m, 65536), WICK_ERR_INVALID);
    CHECK_INT(wick_monitor_serve(m, -1), WICK_ERR_INVALID);
    REQUIRE(wick_monitor_serve(m, 0) == WICK_OK);
    const int port = wick_monitor_port(m);
    CHECK(port > 0);
    CHECK_INT(wick_monitor_serve(m, 0), WICK_ERR_BUSY);
    CHECK_INT(wick_monitor_serve(other, port), WICK_ERR_IO);
    CHECK_STR_HAS(wick_monitor_error(other), "127.0.0.1: Address already in use");
    for (int i = 1; i <= 50; i++) {
        char line[64];
        wick_monitor_step(m, 2);
        wick_monitor_set(m, "loss", 1.0 / i);
        if (i % 10) continue;
        const char *reply = ask(port, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), *body = strstr(reply, "\r\n\r\n");
        snprintf(line, sizeof line, "\nwick_steps_total %d\n", i);
        CHECK(strncmp(reply, "HTTP/1.1 200 OK\r\n", 17) == 0);
        CHECK_STR_HAS(reply, "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n");
        CHECK_STR_HAS(reply, line);
        REQUIRE(body);
        CHECK_INT(strlen(body + 4), atoi(strstr(reply, "Content-Length: ") + 16));
        CHECK(strcmp(body + strlen(body) - 6, "# EOF\n") == 0);
    }
    CHECK_STR_HAS(ask(port, "GET / HTTP/1.1\r\n\r\n"), "404 Not Found");
    CHECK_STR_HAS(ask(port, "POST /metrics HTTP/1.1\r\n\r\n"), "405 Method Not Allowed");
    CHECK_STR_HAS(ask(port, "HEAD /metrics HTTP/1.1\r\n\r\n"), "200 OK");
    /* One that never asks: others are answered after it, and the end does not wait for it. */
    const int silent = connect_to(port);
    CHECK(silent >= 0);
    const double began = (double)wick_now_ns() * 1e-9;
    wick_monitor_free(&m);
    CHECK((double)wick_now_ns() * 1e-9 - began < 1.5);
    close(silent);
    CHECK_INT(connect_to(port), -1);
    wick_monitor_free(&other);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) {
    snprintf(folder, sizeof folder, "/tmp/wick-events-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    const int code = test_main(argc, argv);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) ? 1 : code;
}
