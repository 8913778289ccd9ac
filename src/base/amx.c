/* amx.c: whether this process may use tile registers (Intel AMX). Linux saves 8 KiB more for each thread that has used
 * them, so that a process has to ask first (from 5.16 on; Documentation/arch/x86/xstate.rst). The answer holds for all
 * threads of the process, those that run already too, and for its children; a new program asks again. It is no where a
 * thread has an alternative signal stack that is too small for what the kernel would put there, or where a filter of
 * system calls refuses the question. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/cpu.h"

enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25 }; /* CPUID leaf 7, EDX */
#define AMX_STATES ((uint64_t)3 << 17)                               /* XCR0: tile configuration and data */

unsigned wick_amx_of_cpuid(uint32_t leaf7_edx, uint64_t xcr0, uint32_t tile_bytes_row, uint32_t tiles_rows) {
    const uint32_t needs = AMX_BF16 | AMX_TILE | AMX_INT8;
    /* Palette 1, of which tiles of 16 rows of 64 bytes are used: leaf 0x1D, subleaf 1. */
    const bool large = (tile_bytes_row & 0xffff) >= 64 && tile_bytes_row >> 16 >= 8 && (tiles_rows & 0xffff) >= 16;
    return (leaf7_edx & needs) == needs && (xcr0 & AMX_STATES) == AMX_STATES && large ? WICK_AMX : 0;
}

#if defined(__x86_64__)
#include <cpuid.h>
unsigned wick_amx_found(void) {
    unsigned a, b, c, edx, row, rows;
    if (!__get_cpuid(1, &a, &b, &c, &edx) || !(c & 1 << 27)) return 0; /* OSXSAVE */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &edx) || !__get_cpuid_count(0x1d, 1, &a, &row, &rows, &b)) return 0;
    uint32_t lo, hi;
    __asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return wick_amx_of_cpuid(edx, (uint64_t)hi << 32 | lo, row, rows);
}
#else
unsigned wick_amx_found(void) { return 0; }
#endif

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

enum { GET_PERMISSION = 0x1022, ASK_PERMISSION = 0x1023, TILE_DATA = 18 }; /* asm/prctl.h; the state's bit in XCR0 */

static bool ask(void) {
    unsigned long states = 0;
    return syscall(SYS_arch_prctl, ASK_PERMISSION, TILE_DATA) == 0 &&
           syscall(SYS_arch_prctl, GET_PERMISSION, &states) == 0 && (states >> TILE_DATA & 1);
}
#else
static bool ask(void) { return false; }
#endif

bool wick_amx_permitted(void) {
    static _Atomic int known = -1; /* threads that ask at once get the same answer */
    int permitted = atomic_load_explicit(&known, memory_order_relaxed);
    if (WICK_UNLIKELY(permitted < 0)) {
        const char *isa = getenv("WICK_ISA"); /* "-amx" in it leaves tiles out, and the question unasked */
        permitted = !(isa && strstr(isa, "-amx")) && ask();
        atomic_store_explicit(&known, permitted, memory_order_relaxed);
    }
    return permitted;
}
