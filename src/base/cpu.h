/* cpu.h: the parts of CPU detection that tests feed with made-up machines. */
#ifndef WICK_BASE_CPU_H
#define WICK_BASE_CPU_H

#include "base/base.h"

/* What CPUID and XGETBV say; all zero for an unknown CPU. */
typedef struct wick_cpuid {
    uint32_t leaf1_ecx, leaf7_ebx;
    uint64_t xcr0; /* register state that the OS saves; 0 without OSXSAVE */
} wick_cpuid;
wick_tier wick_tier_of_cpuid(const wick_cpuid *id);
/* The extensions (wick_extension, base.h) among CPUID leaf 7's ECX of subleaf 0 and EAX of subleaf 1. The tier says
 * whether the OS saves their registers. */
unsigned wick_extensions_of_cpuid(uint32_t leaf7_ecx, uint32_t leaf7_1_eax);
unsigned wick_extensions_found(void); /* bits of what there is, whatever is left out */
/* WICK_AMX or 0: of CPUID leaf 7's EDX, and leaf 0x1D's EBX and ECX of subleaf 1; and of this CPU. */
unsigned wick_amx_of_cpuid(uint32_t leaf7_edx, uint64_t xcr0, uint32_t tile_bytes_row, uint32_t tiles_rows);
unsigned wick_amx_found(void);
/* Tests leave some out: what is used is `mask` of what there is and WICK_ISA leaves. */
void wick_extensions_mask(unsigned mask);

/* Bytes of a core's data caches, and of the largest cache from its second on; 0: not known. */
typedef struct wick_caches {
    int64_t l1, l2, last;
} wick_caches;
wick_caches wick_caches_found(void);
/* Adds the cache that a subleaf of CPUID leaf 4 or 0x8000001D tells of; false: it tells of none, and none follows. */
bool wick_cache_of_cpuid(wick_caches *caches, uint32_t eax, uint32_t ebx, uint32_t ecx);
/* What the files of CPU 0 say. root is put before /sys. */
wick_caches wick_caches_of_system(const char *root);

/* The CPUs that the cgroup quotas of this process allow, rounded up; 0: no quota. root is put before /proc and /sys. */
int wick_cgroup_cpus(const char *root);
/* The bytes of memory that they allow; 0: no limit. */
uint64_t wick_cgroup_memory(const char *root);
/* The bytes that they still leave, 1 or more; 0: no limit. */
uint64_t wick_cgroup_memory_left(const char *root);
/* The bytes that this process can still take: what the machine has, its cgroups and its limit of addresses leave; 0:
 * not known. */
uint64_t wick_memory_left(const char *root);
/* Reads a small file of /proc or /sys into text[cap], terminated, cut where it is longer; false: not readable or empty.
 */
bool wick_text_of_file(const char *path, char *text, size_t cap);

#endif
