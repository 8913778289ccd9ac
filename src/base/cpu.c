/* cpu.c: which kernel tier this machine runs. Decided by feature bits and by what the OS saves on a context switch,
 * never by model number. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "wick/context.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const tier_names[WICK_TIER_COUNT] = {"ref", "base", "avx2", "avx512"};

const char *wick_tier_name(wick_tier tier) { return (unsigned)tier < WICK_TIER_COUNT ? tier_names[tier] : "?"; }

#define BIT(n) ((uint32_t)1 << (n))

/* What each tier's compiler flags let the compiler use, implied instruction sets included. Intel SDM vol. 2A, CPUID. */
static const struct {
    uint32_t leaf1_ecx, leaf7_ebx;
    uint64_t xcr0;
} tier_needs[WICK_TIER_COUNT] = {
    [WICK_TIER_AVX2] =
        {
            .leaf1_ecx = BIT(0)    /* SSE3 */
                         | BIT(9)  /* SSSE3 */
                         | BIT(12) /* FMA */
                         | BIT(19) /* SSE4.1 */
                         | BIT(20) /* SSE4.2 */
                         | BIT(23) /* POPCNT */
                         | BIT(27) /* OSXSAVE */
                         | BIT(28) /* AVX */
                         | BIT(29) /* F16C */,
            .leaf7_ebx = BIT(5) /* AVX2 */
                         | BIT(8) /* BMI2 */,
            .xcr0 = 0x06, /* SSE and AVX state */
        },
    [WICK_TIER_AVX512] =
        {
            .leaf7_ebx = BIT(16)   /* F */
                         | BIT(17) /* DQ */
                         | BIT(28) /* CD */
                         | BIT(30) /* BW */
                         | BIT(31) /* VL */,
            .xcr0 = 0xE6, /* and opmask, upper halves, zmm16-31 */
        },
};

wick_tier wick_tier_of_cpuid(const wick_cpuid *id) {
    int tier = WICK_TIER_REF; /* climbs while the next tier's needs are met: each is a superset of the one before */
    while (tier + 1 < WICK_TIER_COUNT && (tier_needs[tier + 1].leaf1_ecx & ~id->leaf1_ecx) == 0 &&
           (tier_needs[tier + 1].leaf7_ebx & ~id->leaf7_ebx) == 0 && (tier_needs[tier + 1].xcr0 & ~id->xcr0) == 0)
        tier++;
    return (wick_tier)tier;
}

bool wick_tier_built(wick_tier tier) {
    static const bool built[WICK_TIER_COUNT] = {[WICK_TIER_BASE] = true,
                                                WICK_IF_REF([WICK_TIER_REF] = true, )
                                                    WICK_IF_AVX2([WICK_TIER_AVX2] = true, )
                                                        WICK_IF_AVX512([WICK_TIER_AVX512] = true, )};
    return (unsigned)tier < WICK_TIER_COUNT && built[tier];
}

/* The next one below that the build has; the plain one's stand-in is base, which every CPU runs. */
static wick_tier built_below(int tier) {
    while (tier > WICK_TIER_REF && !wick_tier_built((wick_tier)tier)) tier--;
    return wick_tier_built((wick_tier)tier) ? (wick_tier)tier : WICK_TIER_BASE;
}

wick_tier wick_tier_best(void) {
    static _Atomic int known = -1; /* CPUID traps to the hypervisor in a virtual machine: asked once */
    int best = atomic_load_explicit(&known, memory_order_relaxed);
    if (best >= 0) return (wick_tier)best;
    wick_cpuid id = {0};
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d)) id.leaf1_ecx = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) id.leaf7_ebx = b;
    if (id.leaf1_ecx & BIT(27)) {
        uint32_t lo, hi;
        __asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
        id.xcr0 = (uint64_t)hi << 32 | lo;
    }
#endif
    best = (int)built_below((int)wick_tier_of_cpuid(&id));
    atomic_store_explicit(&known, best, memory_order_relaxed);
    return (wick_tier)best;
}

/* ---- extensions within a tier ------------------------------------------------------------------------------------ */

static const struct {
    const char *name; /* in WICK_ISA */
    unsigned bit;     /* wick_extension */
} extensions[] = {
    {"vnni", WICK_AVX512_VNNI}, {"avxvnni", WICK_AVX_VNNI}, {"bf16", WICK_AVX512_BF16}, {"amx", WICK_AMX}};

static _Atomic unsigned extension_mask = ~0u, extension_environment = ~0u;

unsigned wick_extensions_of_cpuid(uint32_t leaf7_ecx, uint32_t leaf7_1_eax) {
    return (leaf7_ecx & BIT(11) ? WICK_AVX512_VNNI : 0u) | (leaf7_1_eax & BIT(4) ? WICK_AVX_VNNI : 0u) |
           (leaf7_1_eax & BIT(5) ? WICK_AVX512_BF16 : 0u);
}
void wick_extensions_mask(unsigned mask) { atomic_store_explicit(&extension_mask, mask, memory_order_relaxed); }

unsigned wick_extensions_found(void) {
    static _Atomic int known = -1;
    int found = atomic_load_explicit(&known, memory_order_relaxed);
    if (found < 0) {
        uint32_t ecx = 0, eax = 0;
#if defined(__x86_64__)
        unsigned a, b, c, d;
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
            ecx = c;
            if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) eax = a;
        }
#endif
        found = (int)(wick_extensions_of_cpuid(ecx, eax) | wick_amx_found());
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
    return (unsigned)found;
}

/* ---- WICK_ISA: [TIER][-EXTENSION]... ----------------------------------------------------------------------------- */

static bool is_name(const char *name, const char *text, size_t n) {
    return strlen(name) == n && memcmp(name, text, n) == 0;
}

/* The tier that the text names, the best if it begins with a minus, and the extensions that it leaves. false: it is no
 * such text, and nothing is set. */
static bool read_isa(const char *text, wick_tier *tier, unsigned *left) {
    size_t n = strcspn(text, "-"), i = 0;
    int named = (int)wick_tier_best();
    unsigned mask = ~0u;
    if (!*text) return false;
    while (n && i < WICK_TIER_COUNT && !is_name(tier_names[i], text, n)) i++;
    if (i == WICK_TIER_COUNT) return false;
    if (n) named = WICK_MIN(named, (int)i);
    for (text += n; *text; text += n) {
        n = strcspn(++text, "-");
        for (i = 0; i < WICK_COUNTOF(extensions) && !is_name(extensions[i].name, text, n); i++) {}
        if (i == WICK_COUNTOF(extensions)) return false;
        mask &= ~extensions[i].bit;
    }
    *tier = (wick_tier)named, *left = mask;
    return true;
}

bool wick_isa_known(const char *text) {
    if (!text) return false;
    wick_tier tier;
    unsigned left;
    return read_isa(text, &tier, &left);
}

static _Atomic int current = -1; /* -1: WICK_ISA not read yet */

wick_tier wick_tier_current(void) {
    int tier = atomic_load_explicit(&current, memory_order_relaxed);
    if (WICK_LIKELY(tier >= 0)) return (wick_tier)tier;
    wick_tier named = wick_tier_best();
    unsigned left = ~0u;
    int unread = -1;
    const char *text = getenv("WICK_ISA");
    if (text) read_isa(text, &named, &left);
    atomic_store_explicit(&extension_environment, left, memory_order_relaxed);
    tier = (int)built_below((int)named);
    /* A tier forced meanwhile by another thread stays. */
    if (!atomic_compare_exchange_strong(&current, &unread, tier)) tier = unread;
    return (wick_tier)tier;
}

unsigned wick_extensions(void) {
    if (atomic_load_explicit(&current, memory_order_acquire) < 0) wick_tier_current(); /* reads WICK_ISA */
    return wick_extensions_found() & atomic_load_explicit(&extension_mask, memory_order_relaxed) &
           atomic_load_explicit(&extension_environment, memory_order_relaxed);
}

int wick_isa_count(void) { return WICK_TIER_COUNT; }

wick_isa wick_isa_at(int i) {
    if ((unsigned)i >= WICK_TIER_COUNT) return (wick_isa){0};
    return (wick_isa){tier_names[i], i <= (int)wick_tier_best() && wick_tier_built((wick_tier)i),
                      i == (int)wick_tier_current()};
}

int wick_isa_extension_count(void) { return (int)WICK_COUNTOF(extensions); }

wick_isa wick_isa_extension_at(int i) {
    if ((unsigned)i >= WICK_COUNTOF(extensions)) return (wick_isa){0};
    return (wick_isa){extensions[i].name, (wick_extensions_found() & extensions[i].bit) != 0,
                      (wick_extensions() & extensions[i].bit) != 0};
}

bool wick_tier_force(wick_tier tier) {
    if ((unsigned)tier > (unsigned)wick_tier_best() || !wick_tier_built(tier)) return false;
    wick_tier_current(); /* what WICK_ISA says of extensions holds in every tier */
    atomic_store_explicit(&current, (int)tier, memory_order_release);
    return true;
}
