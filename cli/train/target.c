#include "target.h"
#include "../json_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char compiler[] = "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -O2",
                  emulator[] = "qemu-system-arm", compiler_64[] = "aarch64-linux-gnu-gcc -O3",
                  emulator_64[] = "qemu-aarch64";

/* The board MPS2 AN386: 4 MB of code at 0, 4 MB of RAM at 0x20000000 (Arm DAI0386, table 3-1). */
static const char board_ld[] =
    "MEMORY { ROM (rx) : ORIGIN = 0, LENGTH = 4M  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 4M }\nENTRY(reset)\n"
    "SECTIONS {\n"
    ".vectors : { KEEP(*(.vectors)) } > ROM\n"
    ".text : { *(.text*) *(.rodata*) KEEP(*(.init)) KEEP(*(.fini)) *(.eh_frame*) . = ALIGN(8); } > ROM\n"
    ".ARM.exidx : { *(.ARM.exidx*) } > ROM\n"
    ".init_array : { PROVIDE_HIDDEN(__init_array_start = .); KEEP(*(.init_array*)) PROVIDE_HIDDEN(__init_array_end = "
    ".); PROVIDE_HIDDEN(__fini_array_start = .); PROVIDE_HIDDEN(__fini_array_end = .); "
    "PROVIDE_HIDDEN(__preinit_array_start = .); PROVIDE_HIDDEN(__preinit_array_end = .); } > ROM\n"
    ".data : { data_begin = .; *(.data*) . = ALIGN(8); data_end = .; } > RAM AT > ROM\n"
    "data_from = LOADADDR(.data);\n"
    ".bss : { __bss_start__ = .; *(.bss*) *(COMMON) . = ALIGN(8); __bss_end__ = .; } > RAM\n"
    "end = .; __end__ = .; stack_top = ORIGIN(RAM) + LENGTH(RAM);\n}\n";
/* SysTick counts down from 2^24 - 1 by the clock of 25 MHz, and qemu's -icount takes 1 ns for an instruction. */
static const char main_c[] =
    "#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n#include \"out/net.h\"\n"
    "extern char data_begin[], data_end[], data_from[], stack_top[];\nvoid _start(void);\n"
    "#define SYSTICK ((volatile uint32_t *)0xE000E010)\n"
    "static volatile uint32_t wraps;\nstatic void tick(void) { wraps++; }\n"
    "void reset(void) {\n    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;\n"
    "    memcpy(data_begin, data_from, (size_t)(data_end - data_begin));\n    _start();\n}\n"
    "static void fault(void) {\n    for (;;) __asm__ volatile(\"bkpt 0\");\n}\n"
    "__attribute__((section(\".vectors\"), used)) static void *const vectors[16] = {stack_top, (void *)reset, (void "
    "*)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault, 0, 0, 0, 0, 0, 0, 0, 0, (void *)tick};\n"
    "static _Alignas(8) unsigned char x[8 * (size_t)IN], y[8 * (size_t)OUT];\n"
    "int main(void) {\n    void *in = x, *out = y;\n"
    "    SYSTICK[1] = 0xffffff, SYSTICK[2] = 0, SYSTICK[0] = 7;\n"
    "    const int code = net_run(in, out);\n    const uint32_t left = SYSTICK[2], over = wraps;\n"
    "    SYSTICK[0] = 0;\n"
    "    printf(\"%.0f\\n\", 40 * ((double)over * 16777216 + (0xffffff - (double)left)));\n    return code;\n}\n";

/* One run for each argument. */
static const char main_64_c[] =
    "#include <stddef.h>\n#include \"out/net.h\"\n"
    "static _Alignas(64) unsigned char x[8 * (size_t)IN], y[8 * (size_t)OUT];\n"
    "int main(int argc, char **argv) {\n    void *in = x, *out = y;\n    int code = 0;\n"
    "    for (int i = 1; i < argc && argv[i]; i++) code |= net_run(in, out);\n    return code;\n}\n";
/* Counts instructions, block of instructions by block (the interface of qemu's TCG plugins, as its documentation has
 * it; versions that it takes differ by release). */
static const char plugin_c[] =
    "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n"
    "struct qemu_plugin_tb;\n"
    "void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t, void (*)(uint64_t, struct qemu_plugin_tb *));\n"
    "void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *), int, void *);\n"
    "size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);\n"
    "void qemu_plugin_register_atexit_cb(uint64_t, void (*)(uint64_t, void *), void *);\n"
    "int qemu_plugin_version = VERSION;\nstatic uint64_t count;\n"
    "static void ran(unsigned cpu, void *n) {\n    (void)cpu;\n    count += (uintptr_t)n;\n}\n"
    "static void translated(uint64_t id, struct qemu_plugin_tb *tb) {\n    (void)id;\n"
    "    qemu_plugin_register_vcpu_tb_exec_cb(tb, ran, 0, (void *)(uintptr_t)qemu_plugin_tb_n_insns(tb));\n}\n"
    "static void done(uint64_t id, void *user) {\n    (void)id, (void)user;\n"
    "    printf(\"%llu\\n\", (unsigned long long)count);\n    fflush(stdout);\n}\n"
    "int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv) {\n"
    "    (void)info, (void)argc, (void)argv;\n    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);\n"
    "    qemu_plugin_register_atexit_cb(id, done, NULL);\n    return 0;\n}\n";

/* In single quotes, for a shell; NULL: out of memory. */
static char *quoted(const char *text) {
    char *all = malloc(4 * strlen(text) + 3), *to = all;
    if (!all) return NULL;
    *to++ = '\'';
    for (; *text; text++) {
        if (*text == '\'')
            memcpy(to, "'\\''", 4), to += 4;
        else
            *to++ = *text;
    }
    memcpy(to, "'", 2);
    return all;
}

/* Runs a command in the folder; what it says goes to the file `says` there. */
static bool done_in(const char *folder, const char *says, const char *command) {
    char *all, *at = quoted(folder);
    if (!at || asprintf(&all, "cd %s && { %s; } </dev/null >%s 2>&1", at, command, says) < 0) return free(at), false;
    const bool good = system(all) == 0;
    free(all);
    free(at);
    return good;
}
static char *text_of(const char *folder, const char *name) {
    char *path, *text = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0) return NULL;
    FILE *f = fopen(path, "rb");
    const long size = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (size >= 0 && (text = calloc((size_t)size + 1, 1)) != NULL) {
        rewind(f);
        if (fread(text, 1, (size_t)size, f) != (size_t)size) free(text), text = NULL;
    }
    if (f) fclose(f);
    free(path);
    return text;
}
static bool text_to(const char *folder, const char *name, const char *text) {
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0) return false;
    FILE *f = fopen(path, "wb");
    bool good = f && fputs(text, f) >= 0;
    if (f) good = fclose(f) == 0 && good;
    free(path);
    return good;
}

/* What wick compile --json says. */
static bool read_sizes(const char *text, target_costs *out) {
    json_in j = {.at = text};
    char key[64];
    double constants = 0, arena = 0, object = 0, code = 0, value;
    for (json_enter(&j, '{'); json_key(&j, key, sizeof key);) {
        double *to = strcmp(key, "const_bytes") == 0          ? &constants
                     : strcmp(key, "arena_bytes") == 0        ? &arena
                     : strcmp(key, "object_code_bytes") == 0  ? &code
                     : strcmp(key, "object_const_bytes") == 0 ? &object
                                                              : NULL;
        if (!to)
            json_skip(&j);
        else if (json_number(&j, &value))
            *to = value;
    }
    out->flash = (int64_t)((object > constants ? object : constants) + code);
    out->ram = (int64_t)arena;
    out->code = code > 0;
    if (!out->code) out->lacks = "there is no arm-none-eabi-gcc here";
    return !j.bad && constants > 0;
}

/* The extents of its first input and its first output that net.h names, in order. */
static bool read_extents(const char *folder, long long *in, long long *to) {
    char *text = text_of(folder, "out/net.h");
    long long found[2] = {0, 0};
    int n = 0;
    for (const char *at = text; at && n < 2 && (at = strstr(at, "_SIZE ")) != NULL; at += 6)
        if (sscanf(at + 6, "%lld", &found[n]) == 1) n++;
    free(text);
    *in = found[0], *to = found[1];
    return n == 2 && found[0] > 0 && found[1] > 0;
}

static void count_instructions(const char *folder, target_costs *out) {
    long long in, to;
    char command[1024];
    if (system("command -v qemu-system-arm >/dev/null 2>&1") != 0) {
        out->lacks = "there is no qemu-system-arm here";
        return;
    }
    if (!read_extents(folder, &in, &to) || !text_to(folder, "main.c", main_c) || !text_to(folder, "board.ld", board_ld))
        return;
    snprintf(command, sizeof command,
             "%s -std=c11 -DIN=%lld -DOUT=%lld main.c out/net.c --specs=rdimon.specs -T "
             "board.ld -lm -o net.elf",
             compiler, in, to);
    if (!done_in(folder, "said", command)) {
        out->lacks = "it could not be linked into 4 MB";
        return;
    }
    snprintf(command, sizeof command,
             "timeout 300 %s -M mps2-an386 -nographic -semihosting -icount shift=0 -kernel "
             "net.elf",
             emulator);
    char *count = done_in(folder, "count", command) ? text_of(folder, "count") : NULL;
    if (count)
        out->instructions = atof(count);
    else
        out->lacks = "it did not run to its end within 300 s";
    free(count);
}

/* ---- aarch64 ----------------------------------------------------------------------------------------------------- */

static bool is_there(const char *command) {
    char text[128];
    snprintf(text, sizeof text, "command -v %s >/dev/null 2>&1", command);
    return system(text) == 0;
}
/* Constants and code as the linker gets them. */
static void size_64(const char *folder, target_costs *out) {
    char command[256];
    long long text, data;
    if (!is_there("aarch64-linux-gnu-gcc")) {
        out->lacks = "there is no aarch64-linux-gnu-gcc here";
        out->code = false;
        return;
    }
    snprintf(command, sizeof command, "%s -std=c11 -c out/net.c -o net.o && aarch64-linux-gnu-size net.o | tail -n 1",
             compiler_64);
    char *said = done_in(folder, "said", command) ? text_of(folder, "said") : NULL;
    if (said && sscanf(said, "%lld %lld", &text, &data) == 2)
        out->flash = text + data, out->code = true;
    else
        out->lacks = "its C could not be compiled for aarch64", out->code = false;
    free(said);
}
/* Instructions of a process that runs it so many times; 0: it couldn't be counted. */
static double run_64(const char *folder, int times) {
    char command[256];
    snprintf(command, sizeof command, "timeout 300 %s -plugin ./plugin.so ./net.elf %s", emulator_64,
             times > 1 ? "1 2" : "1");
    char *count = done_in(folder, "count", command) ? text_of(folder, "count") : NULL;
    const double n = count ? atof(count) : 0;
    free(count);
    return n;
}
static void count_64(const char *folder, target_costs *out) {
    enum { VERSIONS = 6 };
    long long in, to;
    char command[256];
    if (!is_there(emulator_64)) {
        out->lacks = "there is no qemu-aarch64 here";
        return;
    }
    if (!read_extents(folder, &in, &to) || !text_to(folder, "main.c", main_64_c) ||
        !text_to(folder, "plugin.c", plugin_c))
        return;
    snprintf(command, sizeof command, "%s -std=c11 -static -DIN=%lld -DOUT=%lld main.c out/net.c -lm -o net.elf",
             compiler_64, in, to);
    if (!done_in(folder, "said", command)) {
        out->lacks = "it could not be linked for aarch64";
        return;
    }
    double once = 0, twice = 0;
    for (int version = 1; version <= VERSIONS && !once; version++) {
        snprintf(command, sizeof command, "cc -std=c11 -shared -fPIC -O2 -DVERSION=%d plugin.c -o plugin.so", version);
        if (!done_in(folder, "said", command)) break;
        once = run_64(folder, 1);
    }
    if (once > 0) twice = run_64(folder, 2);
    out->instructions = twice > once ? twice - once : 0;
    if (!out->instructions) out->lacks = "qemu-aarch64 could not count: it needs cc, and plugins";
}

/* ---- a target ---------------------------------------------------------------------------------------------------- */

static void write_and_count(const char *folder, const char *file, bool large, target_costs *out) {
    char self[4096], *command, *program = NULL;
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) self[length] = 0, program = quoted(self);
    snprintf(out->why, sizeof out->why, "wick compile could not be started");
    if (!program || asprintf(&command, "%s compile %s -o out --name net --isa %s --json 2>why", program, file,
                             large ? "plain" : "cortex-m") < 0) {
        free(program);
        return;
    }
    const bool good = done_in(folder, "json", command);
    char *said = text_of(folder, good ? "json" : "why");
    if (said && good && read_sizes(said, out)) {
        out->why[0] = 0;
        if (large) out->lacks = NULL, size_64(folder, out);
        if (!out->lacks) (large ? count_64 : count_instructions)(folder, out);
    } else if (said) {
        said[strcspn(said, "\n")] = 0;
        snprintf(out->why, sizeof out->why, "%.150s", said);
    }
    free(said);
    free(command);
    free(program);
}

static bool costs_of(const char *onnx, bool large, target_costs *out) {
    const char *tmp = getenv("TMPDIR");
    char folder[512], *whole = realpath(onnx, NULL), *file = whole ? quoted(whole) : NULL;
    *out = (target_costs){0};
    const int n = snprintf(folder, sizeof folder, "%s/wick-target-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    const bool made = file && n > 0 && (size_t)n < sizeof folder && mkdtemp(folder);
    if (made) {
        write_and_count(folder, file, large, out);
        (void)done_in(folder, "/dev/null",
                      "rm -rf out main.c board.ld plugin.c plugin.so net.o net.elf said count json why");
        (void)rmdir(folder);
    }
    free(file);
    free(whole);
    return made;
}
bool target_cortex_m4(const char *onnx, target_costs *out) { return costs_of(onnx, false, out); }
bool target_aarch64(const char *onnx, target_costs *out) { return costs_of(onnx, true, out); }
