/* fp.c: the floating-point control word of this thread. Denormals cost up to 100 cycles an operation on common CPUs, so
 * runs flush them: results (FTZ) and operands (DAZ) alike. */
#include "base/base.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

uint64_t wick_fp_enter(void) {
    unsigned word = _mm_getcsr();
    _mm_setcsr(word | 0x8040u); /* MXCSR: FTZ is bit 15, DAZ bit 6 */
    return word;
}

void wick_fp_restore(uint64_t word) { _mm_setcsr((unsigned)word); }

#elif defined(__aarch64__)

void wick_fp_restore(uint64_t word) { __asm__ volatile("msr fpcr, %0" ::"r"(word) : "memory"); }

uint64_t wick_fp_enter(void) {
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word)::"memory");
    wick_fp_restore(word | (uint64_t)1 << 24); /* FPCR.FZ flushes operands and results */
    return word;
}

#else /* no such mode here: the numerics key records what the tier does */

uint64_t wick_fp_enter(void) { return 0; }
void wick_fp_restore(uint64_t word) { (void)word; }

#endif
