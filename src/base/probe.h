/* probe.h: places at which bpftrace, perf and SystemTap can stop a running program: a nop, and a note of the file that
 * says where it is and where its arguments are (user-space statically defined tracing; the note's format is
 * sourceware.org/systemtap/wiki/UserSpaceProbeImplementation). Nothing is linked, and nobody who isn't traced pays
 * more than the nop and its arguments' registers. On other systems and CPUs there is nothing.
 *
 * Arguments are numbers or pointers of up to 64 bits, seen as signed ones of 64. */
#ifndef WICK_BASE_PROBE_H
#define WICK_BASE_PROBE_H

#include <stdint.h>

#if defined(__linux__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
#define WICK_PROBE_(name, args, ...)                                                                                   \
    __asm__ volatile("990: nop\n"                                                                                      \
                     ".pushsection .note.stapsdt,\"\",\"note\"\n"                                                      \
                     ".balign 4\n"                                                                                     \
                     ".4byte 992f-991f, 994f-993f, 3\n"                                                                \
                     "991: .asciz \"stapsdt\"\n"                                                                       \
                     "992: .balign 4\n"                                                                                \
                     "993: .8byte 990b, _.stapsdt.base, 0\n"                                                           \
                     ".asciz \"wick\"\n"                                                                               \
                     ".asciz \"" name "\"\n"                                                                           \
                     ".asciz \"" args "\"\n"                                                                           \
                     "994: .balign 4\n"                                                                                \
                     ".popsection\n"                                                                                   \
                     ".ifndef _.stapsdt.base\n"                                                                        \
                     ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                           \
                     ".weak _.stapsdt.base\n"                                                                          \
                     ".hidden _.stapsdt.base\n"                                                                        \
                     "_.stapsdt.base: .space 1\n"                                                                      \
                     ".size _.stapsdt.base, 1\n"                                                                       \
                     ".popsection\n"                                                                                   \
                     ".endif\n" ::__VA_ARGS__)
#define WICK_PROBE_ARGUMENT_(x) "r"((int64_t)(x))
#define WICK_PROBE1(name, a)    WICK_PROBE_(name, "-8@%0", WICK_PROBE_ARGUMENT_(a))
#define WICK_PROBE2(name, a, b) WICK_PROBE_(name, "-8@%0 -8@%1", WICK_PROBE_ARGUMENT_(a), WICK_PROBE_ARGUMENT_(b))
#define WICK_PROBE3(name, a, b, c)                                                                                     \
    WICK_PROBE_(name, "-8@%0 -8@%1 -8@%2", WICK_PROBE_ARGUMENT_(a), WICK_PROBE_ARGUMENT_(b), WICK_PROBE_ARGUMENT_(c))
#else
#define WICK_PROBE1(name, a)       ((void)(a))
#define WICK_PROBE2(name, a, b)    ((void)(a), (void)(b))
#define WICK_PROBE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#endif

#endif
