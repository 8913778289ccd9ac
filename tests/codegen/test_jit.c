/* Machine code for fused programs: the same bits as without, whatever happens to compiler and cache; and a note of what
 * happened. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"
#include "wick/wick.h"

/* ---- a folder of the test's own ---------------------------------------------------------------------------------- */

static char folder[64], file_name[400];
static void new_folder(void) {
    strcpy(folder, "/tmp/wick-jit-XXXXXX"); /* mkdtemp(3) writes a name of its own over the last six letters */
    if (!mkdtemp(folder)) abort();
    unsetenv("WICK_CC");
    unsetenv("WICK_JIT");
}
/* How many names end so; file_name becomes the path of one. */
static int files(const char *end) {
    int n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));) {
        const size_t length = strlen(e->d_name), tail = strlen(end);
        if (e->d_name[0] == '.' || length < tail || strcmp(e->d_name + length - tail, end) != 0) continue;
        snprintf(file_name, sizeof file_name, "%s/%s", folder, e->d_name);
        n++;
    }
    if (d) closedir(d);
    return n;
}
static void remove_folder(void) {
    while (files("")) unlink(file_name);
    CHECK(rmdir(folder) == 0);
}

/* ---- one program, with notes ------------------------------------------------------------------------------------- */

static char note[300];
static void on_remark(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)user, (void)node, (void)place;
    if (!strcmp(pass, "jit")) snprintf(note, sizeof note, "%s", text);
}

enum { ROWS = 5, COLS = 300, N = ROWS * COLS };
static float x[N], y[COLS];
static double xd[N], yd[COLS];
static int32_t xi[N], yi[COLS];
static void make_inputs(void) {
    for (int i = 0; i < N; i++) xd[i] = x[i] = (float)test_rand_real(-3, 3), xi[i] = test_rand_int(-1000, 1000);
    for (int i = 0; i < COLS; i++) yd[i] = y[i] = (float)test_rand_real(0.1, 3), yi[i] = test_rand_int(1, 9);
}

/* The expression of x [ROWS, COLS], y [COLS] and z, a number, in that dtype and mode; returns the bytes of the result,
 * 0: it failed. */
static size_t evaluate(wick_jit_mode mode, const char *text, wick_dtype dtype, void *out, int runs) {
    wick_context *ctx;
    wick_kernel *k = NULL;
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    note[0] = 0;
    if (wick_context_new(&(wick_context_options){.threads = 1, .jit = mode, .jit_folder = folder}, &ctx)) return 0;
    wick_status status = wick_kernel_from_expr(ctx, text, &k);
    wick_spec specs[3];
    const void *in[3];
    const double zd = 0.75;
    const float zf = 0.75f;
    const int32_t zi = 3;
    for (int i = 0; !status && i < wick_kernel_inputs(k); i++) {
        const char c = wick_kernel_input(k, i)[0];
        specs[i] = c == 'x'   ? (wick_spec){.dtype = dtype, .rank = 2, .dims = {ROWS, COLS}}
                   : c == 'y' ? (wick_spec){.dtype = dtype, .rank = 1, .dims = {COLS}}
                              : (wick_spec){.dtype = dtype};
        in[i] = dtype == WICK_F64 ? (c == 'x' ? (void *)xd : c == 'y' ? (void *)yd : (void *)(uintptr_t)&zd)
                : dtype == WICK_I32 ? (c == 'x' ? (void *)xi : c == 'y' ? (void *)yi : (void *)(uintptr_t)&zi)
                                    : (c == 'x' ? (void *)x : c == 'y' ? (void *)y : (void *)(uintptr_t)&zf);
    }
    if (!status)
        status = wick_kernel_compile(k, wick_kernel_inputs(k), specs, &(wick_compile_options){.on_remark = on_remark},
                                     &plan);
    if (!status) status = wick_workspace_new(plan, &ws);
    for (int i = 0; i < runs && !status; i++) status = wick_run(ws, in, (void *[]){out});
    wick_spec made = {0};
    if (!status) made = wick_plan_output(plan, 0);
    CHECK_MSG(!status, "%s: %s", text, wick_context_error(ctx));
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_kernel_free(&k);
    wick_context_free(&ctx);
    return status ? 0 : wick_spec_bytes(&made);
}
static char plain[N * 8], native[N * 8];
static bool same_values(wick_dtype dtype, size_t bytes) {
    if (dtype != WICK_F32 && dtype != WICK_F64) return memcmp(plain, native, bytes) == 0;
    const size_t size = dtype == WICK_F32 ? 4 : 8;
    if (bytes == N) return memcmp(plain, native, bytes) == 0; /* bool */
    for (size_t i = 0; i < bytes / size; i++) {
        const double a = size == 4 ? (double)((float *)plain)[i] : ((double *)plain)[i],
                     b = size == 4 ? (double)((float *)native)[i] : ((double *)native)[i];
        if (memcmp(plain + i * size, native + i * size, size) != 0 && !(isnan(a) && isnan(b))) return false;
    }
    return true;
}
/* With and without: the same; note is what the JIT said. */
static void same_with(const char *text, wick_dtype dtype) {
    memset(plain, 1, sizeof plain);
    memset(native, 2, sizeof native);
    const size_t bytes = evaluate(WICK_JIT_OFF, text, dtype, plain, 1);
    CHECK(!note[0]);
    CHECK_MSG(bytes > 0 && evaluate(WICK_JIT_WAIT, text, dtype, native, 1) == bytes && same_values(dtype, bytes),
              "%s of dtype %d: %s", text, dtype, note);
}
#define CHAIN "((x + y) * z - 1) * x + y / 2"
#define NOTED(part) CHECK_MSG(strstr(note, part) != NULL, "\"%s\" lacks \"%s\"", note, part)
#define NEEDS_CC \
    if (access("/usr/bin/cc", X_OK) != 0) SKIP("there is no cc here")

TEST(every_row_of_the_table_keeps_its_bits) {
    NEEDS_CC;
    new_folder();
    make_inputs();
    for (int dtype = 0; dtype < 3; dtype++) {
        static const wick_dtype of[] = {WICK_F32, WICK_F64, WICK_I32};
        char text[2000] = "x";
        int n = 0, programs = 0, used = 0;
        for (int i = 0; i < wick_op_count(); i++) {
            const wick_op_info op = wick_op_at(i);
            if (!op.elementwise || !strcmp(op.name, "cast") || !wick_op_takes(i, of[dtype])) continue;
            if (dtype == 2 && (!strcmp(op.name, "left_shift") || !strcmp(op.name, "pow"))) continue;
            char term[100];
            snprintf(term, sizeof term,
                     op.max_inputs == 1          ? " + %s(x)"
                     : op.max_inputs == 2        ? " + %s(x, y)"
                     : !strcmp(op.name, "where") ? " + %s(x > y, x, y)"
                                                 : " + %s(x, y, z)",
                     op.name);
            strcat(text, term);
            if (++n % 14) continue;
            same_with(text, of[dtype]);
            const bool slower = strstr(note, "slower than the kernel") != NULL; /* compared it was */
            if (!slower) NOTED("one loop of machine code");
            programs++, used += !slower;
            strcpy(text, "x");
        }
        CHECK_MSG(programs >= (dtype == 2 ? 1 : 5) && 2 * used >= programs, "%d of %d", used, programs);
    }
    remove_folder();
}

TEST(every_cast_keeps_its_bits) {
    NEEDS_CC;
    new_folder();
    make_inputs();
    wick_context *ctx[2];
    static const wick_dtype types[] = {WICK_F32, WICK_F64, WICK_F16, WICK_I8,  WICK_I32,
                                       WICK_I64, WICK_U8,  WICK_U64, WICK_BOOL};
    enum { TYPES = sizeof types / sizeof *types };
    for (int m = 0; m < 2; m++)
        REQUIRE(
            wick_context_new(
                &(wick_context_options){.threads = 1, .jit = m ? WICK_JIT_WAIT : WICK_JIT_OFF, .jit_folder = folder},
                &ctx[m]) == WICK_OK);
    for (int a = 0; a < TYPES; a++) {
        static double out[2][TYPES][N];
        for (int m = 0; m < 2; m++) {
            wick_tensor *from = wick_cast(wick_mul(wick_from(ctx[m], WICK_F64, WICK_DIMS(N), xd),
                                                   wick_constant(ctx[m], WICK_F64, 40)),
                                          types[a]),
                        *all[TYPES];
            for (int b = 0; b < TYPES; b++) all[b] = wick_cast(wick_cast(from, types[b]), WICK_F64);
            REQUIRE(wick_eval(ctx[m], TYPES, all, NULL) == WICK_OK);
            for (int b = 0; b < TYPES; b++) REQUIRE(wick_read(all[b], out[m][b], sizeof out[m][b]) == WICK_OK);
        }
        for (int b = 0; b < TYPES; b++)
            CHECK_MSG(memcmp(out[0][b], out[1][b], sizeof out[0][b]) == 0, "%s to %s", wick_dtype_name(types[a]),
                      wick_dtype_name(types[b]));
    }
    CHECK(files(".so") > 0);
    for (int m = 0; m < 2; m++) wick_context_free(&ctx[m]);
    remove_folder();
}

/* Reductions, several results, half precision, in place, many threads: as plans meet them. */
static wick_status network(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user, (void)ctx;
    wick_tensor *a = in[0], *b = in[1], *h = wick_cast(a, WICK_BF16);
    wick_tensor *t = wick_mul(wick_sub(a, wick_mean(a, WICK_AXES(1), true)), b);
    out[0] = wick_sum(wick_square(wick_add(wick_mul(t, t), b)), WICK_AXES(1), false);
    out[1] = wick_sum(wick_mul(wick_sub(a, b), wick_relu(t)), WICK_AXES(0), false);
    out[2] = wick_max(wick_abs(wick_sub(wick_mul(a, a), b)), WICK_ALL_AXES, false);
    out[3] = wick_add(wick_mul(h, h), wick_neg(h));
    out[4] = wick_tanh(wick_add(wick_mul(t, wick_like(t, 0.3)), wick_sigmoid(b)));
    out[5] = wick_mul(out[4], wick_sub(wick_gelu(t), a));
    out[6] = wick_sum(wick_mul(wick_transpose(wick_add(a, b), 0, 1), wick_like(a, 2)), WICK_AXES(1), false);
    return WICK_OK;
}
TEST(networks_keep_their_bits_on_any_number_of_threads) {
    NEEDS_CC;
    new_folder();
    make_inputs();
    const wick_spec specs[2] = {{.dtype = WICK_F32, .rank = 2, .dims = {ROWS, COLS}},
                                {.dtype = WICK_F32, .rank = 1, .dims = {COLS}}};
    static char first[7][N * 4], out[7][N * 4];
    for (int threads = 0; threads <= 3; threads++) {
        wick_context *ctx;
        wick_plan *plan;
        wick_workspace *ws;
        REQUIRE(wick_context_new(&(wick_context_options){.threads = threads ? threads : 1,
                                                         .jit = threads ? WICK_JIT_WAIT : WICK_JIT_OFF,
                                                         .jit_folder = folder},
                                 &ctx) == WICK_OK);
        note[0] = 0;
        REQUIRE(wick_compile(ctx, network, NULL, 2, specs, 7, &(wick_compile_options){.on_remark = on_remark}, &plan) ==
                WICK_OK);
        if (threads) NOTED("one loop of machine code");
        REQUIRE(wick_workspace_new(plan, &ws) == WICK_OK);
        void *to[7];
        for (int i = 0; i < 7; i++) to[i] = threads ? out[i] : first[i];
        CHECK(wick_run(ws, (const void *[]){x, y}, to) == WICK_OK);
        CHECK(!threads || memcmp(first, out, sizeof out) == 0);
        wick_workspace_free(&ws);
        wick_plan_free(&plan);
        wick_context_free(&ctx);
    }
    CHECK_MSG(files(".so") >= 2, "%d", files(".so"));
    remove_folder();
}

TEST(what_was_compiled_is_found_again) {
    NEEDS_CC;
    new_folder();
    make_inputs();
    same_with(CHAIN, WICK_F32);
    NOTED("one loop of machine code");
    struct stat before, after;
    REQUIRE(files(".so") == 1 && stat(file_name, &before) == 0);
    CHECK_INT(before.st_mode & 022, 0);
    same_with(CHAIN, WICK_F32);
    NOTED("one loop of machine code");
    REQUIRE(files("") == 1 && stat(file_name, &after) == 0);
    CHECK(before.st_ino == after.st_ino);
    same_with(CHAIN, WICK_F64); /* another program */
    CHECK_INT(files(""), 2);
    remove_folder();
}

/* Its ops are the name that profilers show: a text of the file's. */
TEST(the_loop_has_the_name_of_its_ops) {
    NEEDS_CC;
    new_folder();
    make_inputs();
    same_with(CHAIN, WICK_F32);
    NOTED("one loop of machine code");
    REQUIRE(files(".so") == 1);
    FILE *f = fopen(file_name, "rb");
    static char bytes[1 << 20];
    const size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f) fclose(f);
    const char *name = memmem(bytes, n, "wick_jit_", 9);
    REQUIRE(name != NULL);
    CHECK_STR_HAS(name, "_mul_");
    remove_folder();
}

TEST(without_a_compiler_nothing_but_speed_is_missing) {
    new_folder();
    make_inputs();
    setenv("WICK_CC", "/nowhere/cc", 1);
    same_with(CHAIN, WICK_F32);
    NOTED("no machine code: there is no C compiler: /nowhere/cc");
    setenv("WICK_CC", "false", 1);
    same_with(CHAIN, WICK_F32);
    NOTED("false failed");
    unsetenv("WICK_CC");
    remove_folder();
}

TEST(a_folder_that_others_may_write_to_is_not_used) {
    new_folder();
    make_inputs();
    CHECK(chmod(folder, 0777) == 0);
    same_with(CHAIN, WICK_F32);
    NOTED("is not a folder of this user alone");
    CHECK_INT(files(""), 0);
    rmdir(folder);
    CHECK(symlink("/tmp", folder) == 0);
    same_with(CHAIN, WICK_F32);
    NOTED("no machine code");
    unlink(folder);
    const int fd = open(folder, O_CREAT | O_WRONLY, 0600); /* a file is in the way */
    close(fd);
    same_with(CHAIN, WICK_F32);
    NOTED("Not a directory");
    unlink(folder);
}

static void spoil(const char *how) {
    struct stat s;
    REQUIRE(files(".so") == 1 && stat(file_name, &s) == 0);
    if (!strcmp(how, "mode")) CHECK(chmod(file_name, 0666) == 0);
    if (!strcmp(how, "cut")) CHECK(truncate(file_name, s.st_size / 2) == 0);
    if (!strcmp(how, "empty")) CHECK(truncate(file_name, 0) == 0);
    if (!strcmp(how, "bit")) { /* any: here in the middle */
        FILE *f = fopen(file_name, "r+b");
        REQUIRE(f && fseek(f, s.st_size / 2, SEEK_SET) == 0);
        const int byte = fgetc(f);
        CHECK(fseek(f, s.st_size / 2, SEEK_SET) == 0 && fputc(byte ^ 16, f) == (byte ^ 16) && fclose(f) == 0);
    }
    if (!strcmp(how, "link")) {
        char other[400];
        snprintf(other, sizeof other, "%s/other", folder);
        CHECK(rename(file_name, other) == 0 && symlink(other, file_name) == 0);
    }
}
TEST(a_poisoned_cache_is_refused) {
    NEEDS_CC;
    static const char *const ways[][2] = {{"mode", "is not a file that this user alone may write"},
                                          {"link", "is not a file that this user alone may write"},
                                          {"cut", "was not what it should be: it was removed"},
                                          {"empty", "was not what it should be"},
                                          {"bit", "was not what it should be"}};
    make_inputs();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        new_folder();
        same_with(CHAIN, WICK_F32);
        NOTED("one loop of machine code");
        spoil(ways[i][0]);
        same_with(CHAIN, WICK_F32);
        NOTED(ways[i][1]);
        if (i >= 2) same_with(CHAIN, WICK_F32);
        if (i >= 2) NOTED("one loop of machine code"); /* made again */
        remove_folder();
    }
    /* another program under this one's name */
    new_folder();
    char first[400], second[400];
    same_with(CHAIN, WICK_F32);
    files(".so");
    strcpy(first, file_name);
    snprintf(second, sizeof second, "%s/kept", folder);
    CHECK(rename(first, second) == 0);
    same_with("x * y + z * x", WICK_F32);
    REQUIRE(files(".so") == 1);
    CHECK(rename(file_name, first) == 0);
    same_with(CHAIN, WICK_F32);
    NOTED("was not what it should be");
    remove_folder();
}

static void write_compiler(char *path, const char *body) {
    snprintf(path, 100, "%s/compiler", folder);
    FILE *f = fopen(path, "w");
    REQUIRE(f != NULL);
    fprintf(f, "#!/bin/sh\n%s\n", body);
    fclose(f);
    CHECK(chmod(path, 0700) == 0);
    setenv("WICK_CC", path, 1);
}
TEST(a_loop_with_other_bits_is_not_used) {
    NEEDS_CC;
    char path[100];
    new_folder();
    make_inputs();
    write_compiler(path, "sed 's/a [*] b/a * b * 1.0000001f/' | cc \"$@\"");
    same_with(CHAIN, WICK_F32);
    NOTED("other bits than the kernel: it is not used");
    write_compiler(path, "cc \"$@\"");
    same_with(CHAIN, WICK_F32);
    NOTED("one loop of machine code");
    unsetenv("WICK_CC");
    remove_folder();
}

/* Nor does each context that comes begin one of its own. */
TEST(nobody_waits_for_a_slow_compiler) {
    NEEDS_CC;
    char path[100], body[200];
    new_folder();
    make_inputs();
    snprintf(body, sizeof body, "echo >%s/started-$$; while [ -d %s ]; do sleep 0.1; done; exit 1", folder, folder);
    write_compiler(path, body); /* runs for as long as the folder is there */
    const size_t bytes = evaluate(WICK_JIT_OFF, CHAIN, WICK_F32, plain, 1);
    for (int i = 0; i < 10; i++) {
        CHECK(evaluate(WICK_JIT_ON, CHAIN, WICK_F32, native, 1) == bytes && same_values(WICK_F32, bytes));
        NOTED("being compiled");
        snprintf(body, sizeof body, "ls %s | grep -c started >/dev/null", folder);
        while (!i && system(body)) usleep(10000);
    }
    snprintf(body, sizeof body, "[ $(ls %s | grep -c started) = 1 ]", folder);
    CHECK(system(body) == 0);
    unsetenv("WICK_CC");
    while (files("")) unlink(file_name);
    rmdir(folder);
}

TEST(what_ends_early_is_compiled_for_the_next_and_used_by_later_plans) {
    NEEDS_CC;
    new_folder();
    make_inputs();
    const size_t bytes = evaluate(WICK_JIT_OFF, CHAIN, WICK_F32, plain, 1);
    bool used = false;
    /* contexts come and go; the first one's compiler goes on */
    while (!used) {
        CHECK(evaluate(WICK_JIT_ON, CHAIN, WICK_F32, native, 3) == bytes && same_values(WICK_F32, bytes));
        used = files(".so") > 0;
        usleep(20000);
    }
    wick_context *ctx;
    wick_kernel *k;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .jit = WICK_JIT_ON, .jit_folder = folder}, &ctx) ==
            WICK_OK);
    REQUIRE(wick_kernel_from_expr(ctx, CHAIN, &k) == WICK_OK);
    const wick_spec specs[3] = {{.dtype = WICK_F32, .rank = 2, .dims = {ROWS, COLS}},
                                {.dtype = WICK_F32, .rank = 1, .dims = {COLS}},
                                {.dtype = WICK_F32}};
    note[0] = 0;
    for (; !strstr(note, "one loop"); usleep(1000)) {
        wick_plan *plan;
        REQUIRE(wick_kernel_compile(k, 3, specs, &(wick_compile_options){.on_remark = on_remark}, &plan) == WICK_OK);
        wick_plan_free(&plan);
    }
    NOTED("one loop of machine code");
    wick_kernel_free(&k);
    wick_context_free(&ctx);
    usleep(200000); /* compilers that other contexts began and left */
    while (files("")) unlink(file_name);
    rmdir(folder);
}

TEST(processes_share_a_folder) {
    NEEDS_CC;
    new_folder();
    make_inputs();
    const size_t bytes = evaluate(WICK_JIT_OFF, CHAIN, WICK_F32, plain, 1);
    pid_t child[4];
    for (int i = 0; i < 4; i++)
        if (!(child[i] = fork()))
            _exit(evaluate(WICK_JIT_WAIT, CHAIN, WICK_F32, native, 1) == bytes && same_values(WICK_F32, bytes) &&
                          strstr(note, "one loop")
                      ? 0
                      : (printf("  %s\n", note), fflush(stdout), 1));
    for (int i = 0; i < 4; i++) {
        int status = -1;
        CHECK(waitpid(child[i], &status, 0) == child[i]);
        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d", status);
    }
    CHECK_INT(files(""), 1);
    remove_folder();
}

/* Contexts of one process that make the same program at once: each has a file of its own in the making. */
enum { CONTEXTS = 12 };
static void on_own_remark(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)node, (void)place;
    if (!strcmp(pass, "jit")) snprintf(user, sizeof note, "%s", text);
}
static void *one_context(void *own_note) {
    const wick_spec specs[3] = {{.dtype = WICK_F32, .rank = 2, .dims = {ROWS, COLS}},
                                {.dtype = WICK_F32, .rank = 1, .dims = {COLS}},
                                {.dtype = WICK_F32}};
    wick_context *ctx = NULL;
    wick_kernel *k = NULL;
    wick_plan *plan = NULL;
    if (!wick_context_new(&(wick_context_options){.threads = 1, .jit = WICK_JIT_WAIT, .jit_folder = folder}, &ctx) &&
        !wick_kernel_from_expr(ctx, CHAIN, &k))
        (void)!wick_kernel_compile(k, 3, specs, &(wick_compile_options){.on_remark = on_own_remark, .user = own_note},
                                   &plan);
    wick_plan_free(&plan);
    wick_kernel_free(&k);
    wick_context_free(&ctx);
    return NULL;
}
TEST(contexts_of_one_process_share_a_folder) {
    NEEDS_CC;
    char path[100];
    static char notes[CONTEXTS][sizeof note];
    pthread_t threads[CONTEXTS];
    new_folder();
    write_compiler(path, "cc \"$@\" && sleep 0.3"); /* all are there before one is done */
    for (int i = 0; i < CONTEXTS; i++) REQUIRE(pthread_create(&threads[i], NULL, one_context, notes[i]) == 0);
    for (int i = 0; i < CONTEXTS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < CONTEXTS; i++) CHECK_MSG(strstr(notes[i], "one loop of machine code"), "%d: %s", i, notes[i]);
    CHECK_INT(files(""), 2); /* with the compiler */
    unsetenv("WICK_CC");
    remove_folder();
}

/* A folder of programs where cc finds its assembler and its linker: the whole PATH. */
static void only_a_compiler(char *path) {
    static const char *const names[] = {"cc", "as", "ld"};
    char command[300];
    sprintf(path, "%s-bin", folder);
    REQUIRE(mkdir(path, 0700) == 0);
    for (int i = 0; i < 3; i++) {
        snprintf(command, sizeof command, "ln -s \"$(command -v %s)\" %s/%s", names[i], path, names[i]);
        CHECK(system(command) == 0);
    }
}
TEST(nothing_but_a_compiler_is_needed) {
    NEEDS_CC;
    char path[100], command[200], *was = strdup(getenv("PATH"));
    struct stat before, after;
    new_folder();
    make_inputs();
    only_a_compiler(path);
    setenv("PATH", path, 1);
    same_with(CHAIN, WICK_F32);
    NOTED("one loop of machine code");
    REQUIRE(files("") == 1 && stat(file_name, &before) == 0);
    same_with(CHAIN, WICK_F32); /* not made again */
    NOTED("one loop of machine code");
    CHECK(files("") == 1 && stat(file_name, &after) == 0 && before.st_ino == after.st_ino);
    setenv("PATH", was, 1);
    free(was);
    snprintf(command, sizeof command, "rm -r %s", path);
    CHECK(system(command) == 0);
    remove_folder();
}

/* The sealed file as a compiler left it, with that for its end, of so many seconds ago. */
static void unseal(const char *end, long age) {
    char left[400];
    static char bytes[4 << 20];
    REQUIRE(files(".so") == 1);
    FILE *f = fopen(file_name, "rb");
    REQUIRE(f != NULL);
    const size_t n = fread(bytes, 1, sizeof bytes, f) - 8; /* CRC and size */
    fclose(f);
    unlink(file_name);
    snprintf(left, sizeof left, "%.300s.tmp-1-0", file_name);
    REQUIRE((f = fopen(left, "wb")) != NULL);
    fwrite(bytes, 1, n, f), fputs(end, f), fclose(f);
    const struct timeval when[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
    CHECK(chmod(left, 0700) == 0 && utimes(left, when) == 0);
}
TEST(what_a_compiler_left_is_used_only_if_it_was_made_well) {
    NEEDS_CC;
    static const struct {
        const char *end;
        long age;
        bool good;
    } left[] = {{"wick made\n", 0, true}, {"", 0, false}, {"wick mad", 0, false}, {"wick made\n", 1000000000, false}};
    char path[100], stop[100];
    make_inputs();
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        new_folder();
        snprintf(stop, sizeof stop, "%s-stop", folder);
        char body[200];
        snprintf(body, sizeof body, "[ -e %s ] || cc \"$@\"", stop);
        write_compiler(path, body);
        same_with(CHAIN, WICK_F32);
        NOTED("one loop of machine code");
        unseal(left[i].end, left[i].age);
        close(open(stop, O_CREAT | O_WRONLY, 0600)); /* from now on the compiler makes nothing, and says that it did */
        same_with(CHAIN, WICK_F32);
        NOTED(left[i].good ? "one loop of machine code" : "no machine code");
        unlink(stop);
        unsetenv("WICK_CC");
        remove_folder();
    }
}

TEST(the_folder_is_bounded) {
    NEEDS_CC;
    new_folder();
    make_inputs();
    for (int i = 0; i < 4; i++) {
        char path[100];
        snprintf(path, sizeof path, "%s/old%d.so", folder, i);
        const int fd = open(path, O_CREAT | O_WRONLY, 0600);
        CHECK(ftruncate(fd, 20 << 20) == 0);
        close(fd);
        const struct timeval when[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        CHECK(utimes(path, when) == 0);
    }
    same_with(CHAIN, WICK_F32);
    NOTED("one loop of machine code");
    CHECK_INT(files(".so"), 3); /* 40 MiB of old ones, and this */
    CHECK_INT(files("old0.so") + files("old1.so"), 0);
    remove_folder();
}

TEST(it_is_off_unless_asked_for_and_the_environment_decides) {
    new_folder();
    make_inputs();
    evaluate(WICK_JIT_OFF, CHAIN, WICK_F32, plain, 1);
    CHECK(!note[0] && files("") == 0);
    setenv("WICK_JIT", "0", 1);
    evaluate(WICK_JIT_WAIT, CHAIN, WICK_F32, plain, 1);
    CHECK(!note[0] && files("") == 0);
    setenv("WICK_JIT", "wait", 1);
    setenv("WICK_CC", "/nowhere/cc", 1);
    evaluate(WICK_JIT_OFF, CHAIN, WICK_F32, plain, 1);
    NOTED("there is no C compiler");
    unsetenv("WICK_CC");
    unsetenv("WICK_JIT");
    remove_folder();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
