#include "ceilings.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wick/context.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

/* Twelve independent chains (more would not fit 16 registers) in the width and with the instructions of a tier. Written
 * per tier with target attributes because this file is compiled for the baseline. Operands are no zeros, on which some
 * hardware is faster. */
enum { CHAINS = 12 };
static double same(double x) { return x; }
#define PEAK(name, isa, type, bytes, operand, multiply_add)                                                            \
    typedef type name##_vec __attribute__((vector_size(bytes)));                                                       \
    isa static void name(int64_t steps, double *sink) {                                                                \
        name##_vec acc[CHAINS], x = {0}, y = {0};                                                                      \
        for (int i = 0; i < CHAINS; i++) acc[i] = (name##_vec){0} + (type)i;                                           \
        for (size_t l = 0; l < bytes / sizeof(type); l++) {                                                            \
            x[l] = (type)operand(sink[0] + 0.02 * (double)l);                                                          \
            y[l] = (type)operand(sink[1] + 0.02 * (double)l);                                                          \
        }                                                                                                              \
        for (; steps > 0; steps--) {                                                                                   \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) acc[i] = multiply_add;                           \
        }                                                                                                              \
        for (int i = 1; i < CHAINS; i++) acc[0] += acc[i];                                                             \
        for (size_t l = 0; l < bytes / sizeof(type); l++) sink[2] += (double)acc[0][l];                                \
    }
PEAK(base_f32, , float, 16, same, acc[i] * x + y)
PEAK(base_f64, , double, 16, same, acc[i] * x + y)
/* Chains of x = e^-x by the shortest way to an error of a unit in the last place: 2^n 2^r of x log2 e, 2^r a polynomial
 * of degree 6 (its constants are those of Wick's own exp2; ranges are not checked). fused(a, b, c): a b + c. */
#define EXP(name, isa, bytes, fused)                                                                                   \
    typedef float name##_vec __attribute__((vector_size(bytes)));                                                      \
    typedef uint32_t name##_bits __attribute__((vector_size(bytes)));                                                  \
    isa static void name(int64_t steps, double *sink) {                                                                \
        static const float c[] = {0x1.62e43p-1f,  0x1.ebfbdcp-3f,  0x1.c6aee6p-5f,                                     \
                                  0x1.3b2d52p-7f, 0x1.5f400ep-10f, 0x1.41fa94p-13f};                                   \
        const name##_vec zero = {0}, one = zero + 1;                                                                   \
        name##_vec acc[CHAINS], by[6];                                                                                 \
        for (int k = 0; k < 6; k++) by[k] = zero + c[k];                                                               \
        for (int i = 0; i < CHAINS; i++) acc[i] = zero + (float)(sink[0] + 0.05 * i);                                  \
        for (; steps > 0; steps--) {                                                                                   \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) {                                                \
                const name##_vec t = acc[i] * -0x1.715476p+0f, high = t + 0x1.8p23f, r = t - (high - 0x1.8p23f);       \
                name##_vec p = by[5];                                                                                  \
                _Pragma("GCC unroll 5") for (int k = 4; k >= 0; k--) p = (name##_vec)fused(p, r, by[k]);               \
                p = (name##_vec)fused(p, r, one);                                                                      \
                acc[i] = p * (name##_vec)(((name##_bits)high << 23) + 0x3f800000u);                                    \
            }                                                                                                          \
        }                                                                                                              \
        for (int i = 1; i < CHAINS; i++) acc[0] += acc[i];                                                             \
        for (size_t l = 0; l < bytes / sizeof(float); l++) sink[2] += (double)acc[0][l];                               \
    }
#define PLAIN(a, b, c) ((a) * (b) + (c))
EXP(base_exp, , 16, PLAIN)
#if defined(__x86_64__)
static double whole(double x) { return 1e9 * x; } /* four bytes of anything */
/* Two bf16 in the place of an f32. */
static float pair(double x) {
    const float number = (float)x;
    uint32_t bits;
    float two;
    memcpy(&bits, &number, sizeof bits);
    bits = bits >> 16 | (bits >> 16 << 16);
    memcpy(&two, &bits, sizeof two);
    return two;
}
#define AVX2   __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f")))
PEAK(avx2_f32, AVX2, float, 32, same, (avx2_f32_vec)_mm256_fmadd_ps((__m256)acc[i], (__m256)x, (__m256)y))
PEAK(avx2_f64, AVX2, double, 32, same, (avx2_f64_vec)_mm256_fmadd_pd((__m256d)acc[i], (__m256d)x, (__m256d)y))
PEAK(avx512_f32, AVX512, float, 64, same, (avx512_f32_vec)_mm512_fmadd_ps((__m512)acc[i], (__m512)x, (__m512)y))
PEAK(avx512_f64, AVX512, double, 64, same, (avx512_f64_vec)_mm512_fmadd_pd((__m512d)acc[i], (__m512d)x, (__m512d)y))
PEAK(avx512_bf16, __attribute__((target("avx512f,avx512bf16"))), float, 64, pair,
     (avx512_bf16_vec)_mm512_dpbf16_ps((__m512)acc[i], (__m512bh)x, (__m512bh)y))
PEAK(avx512_int8, __attribute__((target("avx512f,avx512vnni"))), int, 64, whole,
     (avx512_int8_vec)_mm512_dpbusd_epi32((__m512i)acc[i], (__m512i)x, (__m512i)y))
#define FMA256(a, b, c) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define FMA512(a, b, c) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
EXP(avx2_exp, AVX2, 32, FMA256)
EXP(avx512_exp, AVX512, 64, FMA512)
static bool avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
static bool avx512(void) { return __builtin_cpu_supports("avx512f"); }
static bool bf16(void) { return avx512() && __builtin_cpu_supports("avx512bf16"); }
static bool vnni(void) { return avx512() && __builtin_cpu_supports("avx512vnni"); }
#if __has_include(<amxbf16intrin.h>) || __has_include(<amxintrin.h>)
#define HAS_AMX
/* As many products of tiles as there are chains, into four of them: 16 rows of 64 bytes each. */
#define TILES(name, fill, dot)                                                                                         \
    __attribute__((target("amx-tile,amx-bf16,amx-int8"))) static void name(int64_t steps, double *sink) {              \
        struct { /* palette 1 */                                                                                       \
            uint8_t palette, rest[15];                                                                                 \
            uint16_t bytes[16];                                                                                        \
            uint8_t rows[16];                                                                                          \
        } config = {.palette = 1};                                                                                     \
        uint16_t numbers[512], sums[512];                                                                              \
        for (int t = 0; t < 6; t++) config.bytes[t] = 64, config.rows[t] = 16;                                         \
        for (int i = 0; i < 512; i++) numbers[i] = (uint16_t)(fill);                                                   \
        __asm__ volatile("" ::"r"(&config), "r"(numbers) : "memory");                                                  \
        _tile_loadconfig(&config);                                                                                     \
        _tile_loadd(4, numbers, 64);                                                                                   \
        _tile_loadd(5, numbers, 64);                                                                                   \
        _tile_zero(0);                                                                                                 \
        _tile_zero(1);                                                                                                 \
        _tile_zero(2);                                                                                                 \
        _tile_zero(3);                                                                                                 \
        for (; steps > 0; steps--) {                                                                                   \
            dot(0, 4, 5);                                                                                              \
            dot(1, 4, 5);                                                                                              \
            dot(2, 4, 5);                                                                                              \
            dot(3, 4, 5);                                                                                              \
            dot(0, 4, 5);                                                                                              \
            dot(1, 4, 5);                                                                                              \
            dot(2, 4, 5);                                                                                              \
            dot(3, 4, 5);                                                                                              \
            dot(0, 4, 5);                                                                                              \
            dot(1, 4, 5);                                                                                              \
            dot(2, 4, 5);                                                                                              \
            dot(3, 4, 5);                                                                                              \
        }                                                                                                              \
        _tile_stored(0, sums, 64);                                                                                     \
        _tile_release();                                                                                               \
        sink[2] += sums[0];                                                                                            \
    }
TILES(amx_bf16, (i & 1 ? 0x3f80 : 0xbf80) + i % 120, _tile_dpbf16ps) /* 1 to 2, of both signs: sums stay finite */
TILES(amx_int8, 0x0101 * (i % 255 + 1), _tile_dpbusd)
/* In use by the library: the CPU has it, the operating system permits it, and WICK_ISA doesn't leave it out. */
static bool amx(void) {
    for (int i = 0; i < wick_isa_extension_count(); i++)
        if (strcmp(wick_isa_extension_at(i).name, "amx") == 0) return wick_isa_extension_at(i).chosen;
    return false;
}
#endif
#endif
static bool always(void) { return true; }

/* Best first; the first of a kind that the tier allows counts. */
static const struct {
    ceiling_compute kind;
    const char *tier, *how;
    int operations; /* of one instruction */
    bool (*has)(void);
    void (*run)(int64_t steps, double *sink);
} loops[] = {
#if defined(__x86_64__)
    {CEILING_F32, "avx512", "AVX-512 multiply-add", 32, avx512, avx512_f32},
    {CEILING_F32, "avx2", "AVX2 multiply-add", 16, avx2, avx2_f32},
    {CEILING_F64, "avx512", "AVX-512 multiply-add", 16, avx512, avx512_f64},
    {CEILING_F64, "avx2", "AVX2 multiply-add", 8, avx2, avx2_f64},
#if defined(HAS_AMX)
    {CEILING_BF16, "avx512", "AMX product of tiles", 16384, amx, amx_bf16},
    {CEILING_INT8, "avx512", "AMX product of tiles", 32768, amx, amx_int8},
#endif
    {CEILING_BF16, "avx512", "AVX-512 dot product of pairs", 64, bf16, avx512_bf16},
    {CEILING_INT8, "avx512", "AVX-512 VNNI dot product of fours", 128, vnni, avx512_int8},
    {CEILING_EXP, "avx512", "AVX-512 f32 exponentials", 16, avx512, avx512_exp},
    {CEILING_EXP, "avx2", "AVX2 f32 exponentials", 8, avx2, avx2_exp},
#endif
    {CEILING_F32, "base", "the baseline's multiply and add", 8, always, base_f32},
    {CEILING_F64, "base", "the baseline's multiply and add", 4, always, base_f64},
    {CEILING_EXP, "base", "the baseline's f32 exponentials", 4, always, base_exp},
};
enum { LOOPS = sizeof loops / sizeof loops[0] };

/* Tiers by rank: a loop is allowed where its tier is at or below the one in use. */
static int tier_rank(const char *tier) { return strcmp(tier, "avx512") == 0 ? 2 : strcmp(tier, "avx2") == 0 ? 1 : 0; }
static int find_loop(ceiling_compute kind, const char *tier) {
    for (int i = 0; i < LOOPS; i++)
        if (loops[i].kind == kind && tier_rank(loops[i].tier) <= tier_rank(tier) && loops[i].has()) return i;
    return -1;
}

const char *ceiling_compute_name(ceiling_compute kind) {
    return (const char *[]){"f32", "f64", "bf16", "int8", "exp"}[kind];
}
const char *ceiling_compute_unit(ceiling_compute kind) {
    return kind == CEILING_EXP ? "Gexp/s" : kind == CEILING_INT8 ? "GOP/s" : "GFLOP/s";
}
const char *ceiling_compute_how(ceiling_compute kind, const char *tier) {
    const int i = find_loop(kind, tier);
    return i < 0 ? NULL : loops[i].how;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* n bytes, a multiple of 2048, at an aligned place. Four places a quarter apart are read at once: one stream doesn't
 * keep memory busy. */
#define READ(name, isa, bytes)                                                                                         \
    typedef uint64_t name##_vec __attribute__((vector_size(bytes)));                                                   \
    isa static uint64_t name(const void *from, size_t n) {                                                             \
        const name##_vec *p = from;                                                                                    \
        const size_t quarter = n / 4 / bytes;                                                                          \
        name##_vec acc[8] = {{0}};                                                                                     \
        for (size_t i = 0; i < quarter; i += 2)                                                                        \
            _Pragma("GCC unroll 8") for (int k = 0; k < 8; k++) acc[k] |=                                              \
                p[(size_t)(k / 2) * quarter + i + (size_t)(k % 2)];                                                    \
        for (int k = 1; k < 8; k++) acc[0] |= acc[k];                                                                  \
        return acc[0][0];                                                                                              \
    }
READ(base_read, , 16)
#if defined(__x86_64__)
READ(avx2_read, AVX2, 32)
READ(avx512_read, AVX512, 64)
#endif

/* Past the caches, which would read each line of the target before it is written: faster where they don't hold it. A
 * quarter apart too. */
static void stream(const void *from, void *to, size_t n) {
#if defined(__x86_64__)
    const size_t quarter = n / 4 / 16;
    const __m128i *p = from;
    __m128i *q = to;
    const __m128i value = _mm_set1_epi8((char)n);
    for (size_t i = 0; i < quarter; i += 4)
        for (size_t k = 0; k < 4; k++)
            _Pragma("GCC unroll 4") for (size_t l = 0; l < 4; l++)
                _mm_stream_si128(&q[k * quarter + i + l], p ? p[k * quarter + i + l] : value);
    _mm_sfence();
#else
    if (from) memcpy(to, from, n);
    else memset(to, 1, n);
#endif
}

typedef uint64_t read_fn(const void *from, size_t n);
static read_fn *reader(const char *tier) {
#if defined(__x86_64__)
    if (tier_rank(tier) >= 2 && avx512()) return avx512_read;
    if (tier_rank(tier) >= 1 && avx2()) return avx2_read;
#endif
    return base_read;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static cpu_set_t allowed_cpus(void) {
    static cpu_set_t cpus; /* as the process was given them: pinning changes what the kernel answers */
    static bool known;
    if (!known) known = sched_getaffinity(0, sizeof cpus, &cpus) == 0;
    if (!known) CPU_SET(0, &cpus);
    return cpus;
}
void ceiling_pin(int threads, int number) {
    const cpu_set_t cpus = allowed_cpus();
    const int count = CPU_COUNT(&cpus), n = threads < count ? threads : count;
    cpu_set_t kept;
    CPU_ZERO(&kept);
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cpus) && seen++ >= count - n && (number < 0 || seen - 1 == count - n + number % n))
            CPU_SET(cpu, &kept);
    if (CPU_COUNT(&kept)) (void)sched_setaffinity(0, sizeof kept, &kept);
}

/* Of this thread: other programs don't lengthen it. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { ROUNDS = 6 };
#define ROUND_SECONDS 0.002

/* One thread's part: `amount` of something for each of `steps` (arithmetic), or of repeated passes over memory. */
typedef struct part {
    pthread_mutex_t *gate; /* opens once all threads are there */
    pthread_barrier_t *barrier;
    int number, threads;
    int loop;        /* of arithmetic, or -1 */
    ceiling_access access;
    read_fn *read;
    bool nontemporal; /* for writing and copying */
    char *from, *to; /* memory of all */
    size_t bytes;    /* of this part: a multiple of 2048 */
    int64_t repeats;
    double rates[ROUNDS];
    volatile uint64_t sink;
} part;

static void work(part *p, int64_t repeats) {
    double sink[3] = {0.5, 0.25, 0};
    const size_t at = p->bytes * (size_t)p->number;
    if (p->loop >= 0) loops[p->loop].run(repeats, sink), p->sink = sink[2] > 0;
    else
        for (; repeats > 0; repeats--) {
            if (p->access == CEILING_READ) p->sink = p->read(p->from + at, p->bytes);
            else if (p->nontemporal) stream(p->access == CEILING_COPY ? p->from + at : NULL, p->to + at, p->bytes);
            else if (p->access == CEILING_WRITE) memset(p->to + at, (int)repeats & 1, p->bytes);
            else memcpy(p->to + at, p->from + at, p->bytes);
            __asm__ volatile("" ::: "memory");
        }
}
static double amount(const part *p) {
    if (p->loop >= 0) return (double)loops[p->loop].operations * CHAINS;
    return (double)p->bytes * (p->access == CEILING_COPY ? 2 : 1);
}
static void *run_part(void *user) {
    part *p = user;
    pthread_mutex_lock(p->gate);
    pthread_mutex_unlock(p->gate);
    ceiling_pin(p->threads, p->number);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(p->barrier);
        const double start = now();
        work(p, p->repeats);
        p->rates[round] = amount(p) * (double)p->repeats / (now() - start);
    }
    return NULL;
}

/* The best round of all threads together. */
static double best_rate(part *first, int threads) {
    for (first->repeats = 1;; first->repeats *= 2) { /* how many are a round */
        const double start = now();
        work(first, first->repeats);
        if (now() - start > ROUND_SECONDS / 2 || first->repeats > INT64_MAX / 4) break;
    }
    first->repeats *= 2;
    part *parts = calloc((size_t)threads, sizeof *parts);
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_barrier_t barrier;
    double best = 0;
    int made = 0;
    pthread_mutex_lock(&gate);
    for (int i = 0; parts && i < threads; i++) {
        parts[i] = *first;
        parts[i].number = i;
        parts[i].threads = threads;
        parts[i].gate = &gate;
        parts[i].barrier = &barrier;
    }
    while (parts && ids && made < threads && pthread_create(&ids[made], NULL, run_part, &parts[made]) == 0) made++;
    if (made) pthread_barrier_init(&barrier, NULL, (unsigned)made);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < made; i++) pthread_join(ids[i], NULL);
    for (int round = 0; made == threads && round < ROUNDS; round++) {
        double sum = 0;
        for (int i = 0; i < threads; i++) sum += parts[i].rates[round];
        if (sum > best) best = sum;
    }
    if (made) pthread_barrier_destroy(&barrier);
    free(parts);
    free(ids);
    return best;
}

double ceiling_compute_rate(ceiling_compute kind, const char *tier, int threads) {
    part p = {.loop = find_loop(kind, tier)};
    return p.loop < 0 ? 0 : best_rate(&p, threads);
}

const char *ceiling_access_name(ceiling_access access) { return (const char *[]){"read", "write", "copy"}[access]; }

double ceiling_memory_rate(ceiling_access access, const char *tier, int threads, size_t bytes) {
    /* A copy's bytes are those of both sides. */
    const size_t each = bytes / (size_t)threads / (access == CEILING_COPY ? 2 : 1) / 2048 * 2048,
                 all = each * (size_t)threads;
    part p = {.loop = -1, .access = access, .read = reader(tier), .bytes = each};
    double rate = 0;
    if (each && (access == CEILING_WRITE || (p.from = aligned_alloc(2048, all))) &&
        (access == CEILING_READ || (p.to = aligned_alloc(2048, all)))) {
        if (p.from) memset(p.from, 1, all);
        if (p.to) memset(p.to, 1, all);
        rate = best_rate(&p, threads);
        p.nontemporal = access != CEILING_READ;
        const double other = p.nontemporal ? best_rate(&p, threads) : 0;
        if (other > rate) rate = other;
    }
    free(p.from);
    free(p.to);
    return rate;
}
