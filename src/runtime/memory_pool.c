#include "runtime/memory_pool.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

enum {
    UNIT = 64,    /* sizes of blocks are multiples of it, and what they hold begins at one */
    HEADER = 16,  /* before what a block holds */
    SUB_BITS = 3, /* lists of a power of two: 2^SUB_BITS */
    LOOKS = 16,   /* at blocks of a list */
    SUBS = 1 << SUB_BITS,
    POWERS = 42,          /* of units: 2^48 bytes */
    PAGE = 4096,          /* or less than the system's: madvise then refuses odd ones, and nothing changes */
    GRAIN = 65536,        /* capacities are multiples of it */
    TRIM_FROM = 65536,    /* free blocks of less keep their pages */
    HUGE_GRAIN = 2 << 20, /* a huge page: capacities in them are multiples of it */
    HUGE_INITIAL = 64 << 20
};
#define KEEP_IDLE ((size_t)1 << 20) /* bytes that stay when nothing is in use */
#define HUGE_FROM ((size_t)4 << 20) /* blocks of this ask for huge pages, as those of wick_allocator_default do */

/* A block begins 16 bytes before a multiple of 64. Free: next and previous of its list follow. */
typedef struct block {
    uint64_t size;   /* of all of it; USED, DIRTY in the low bits */
    uint64_t before; /* size of the block before; 0: it is the first */
    struct block *next, *prev;
} block;
enum { USED = 1, DIRTY = 2 /* a free block some of whose pages may be the system's no more */, FLAGS = 3 };

struct wick_mempool {
    pthread_mutex_t lock;
    char *base;                      /* blocks begin at base + UNIT - HEADER */
    void *mapped;                    /* base is the first multiple of a huge page from there on */
    size_t mapped_bytes;
    size_t huge, grain;              /* bytes from base that are in huge pages; what capacities are multiples of */
    bool wants_huge;                 /* and so far there were enough */
    int huge_refused;                /* errno, where huge is 0 */
    const wick_numa_policy *policy;  /* or NULL */
    size_t top, high, capacity, max; /* bytes from base */
    size_t last;                     /* size of the block before top; 0: none */
    double growth, fragmentation;
    size_t free_bytes, dirty, clean; /* of free blocks; of TRIM_FROM and more that are dirty, and that are not */
    uint64_t powers;                 /* bit p: some list of power p has a block */
    uint32_t subs[POWERS];
    block *lists[POWERS][SUBS];
    wick_memory_pool_info stats;
    char refusal[200];
};

#if defined(__linux__)

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static size_t size_of(const block *b) { return b->size & ~(uint64_t)FLAGS; }
static block *behind(block *b) { return (block *)(void *)((char *)b + size_of(b)); }
static block *ahead(block *b) { return (block *)(void *)((char *)b - b->before); }
static void *held(block *b) { return (char *)b + HEADER; }

/* The list that a free block of this size is in. */
static void class_of(size_t size, int *power, int *sub) {
    const uint64_t units = size / UNIT;
    const int top = 63 - __builtin_clzll(units);
    *power = top;
    *sub = (int)(top >= SUB_BITS ? units >> (top - SUB_BITS) : units << (SUB_BITS - top)) & (SUBS - 1);
}

static void count(wick_mempool *p, const block *b, int sign) {
    const size_t n = size_of(b);
    p->free_bytes += sign > 0 ? n : 0 - n;
    if (n >= TRIM_FROM) *(b->size & DIRTY ? &p->dirty : &p->clean) += sign > 0 ? n : 0 - n;
}

static void put_in(wick_mempool *p, block *b) {
    int power, sub;
    class_of(size_of(b), &power, &sub);
    block **list = &p->lists[power][sub];
    b->next = *list;
    b->prev = NULL;
    if (*list) (*list)->prev = b;
    *list = b;
    p->powers |= (uint64_t)1 << power;
    p->subs[power] |= 1u << sub;
    count(p, b, 1);
}

static void take_out(wick_mempool *p, block *b) {
    int power, sub;
    class_of(size_of(b), &power, &sub);
    if (b->next) b->next->prev = b->prev;
    if (b->prev)
        b->prev->next = b->next;
    else if (!(p->lists[power][sub] = b->next) && !(p->subs[power] &= ~(1u << sub)))
        p->powers &= ~((uint64_t)1 << power);
    count(p, b, -1);
}

/* The lowest of a list's first blocks that have `size`: low addresses fill up, and the pool's end comes down. */
static block *lowest(block *b, size_t size) {
    block *found = NULL;
    for (int i = 0; b && i < LOOKS; i++, b = b->next)
        if (size_of(b) >= size && (!found || b < found)) found = b;
    return found;
}

/* A free block of at least `size`: of its own list, or of the first list all of whose blocks are. */
static block *find(const wick_mempool *p, size_t size) {
    int power, sub;
    class_of(size, &power, &sub);
    uint32_t subs = sub + 1 < SUBS ? p->subs[power] >> (sub + 1) << (sub + 1) : 0;
    block *own = lowest(p->lists[power][sub], size);
    if (own) return own;
    if (!subs) {
        const uint64_t powers = power + 1 < 64 ? p->powers >> (power + 1) << (power + 1) : 0;
        if (!powers) return NULL;
        power = __builtin_ctzll(powers);
        subs = p->subs[power];
    }
    return lowest(p->lists[power][__builtin_ctz(subs)], size);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static bool is_last(const wick_mempool *p, block *b) { return (char *)behind(b) == p->base + UNIT - HEADER + p->top; }

/* What is behind b, or top, has to know b's size. */
static void tell_behind(wick_mempool *p, block *b) {
    if (is_last(p, b))
        p->last = size_of(b);
    else
        behind(b)->before = size_of(b);
}

/* The part of b beyond `size` becomes a free block. b is not in a list. */
static void cut(wick_mempool *p, block *b, size_t size) {
    const size_t rest = size_of(b) - size;
    if (!rest) return;
    const bool last = is_last(p, b);
    block *r = (block *)(void *)((char *)b + size);
    *r = (block){.size = rest | (b->size & DIRTY), .before = size};
    b->size = size | (b->size & FLAGS);
    if (last)
        p->last = rest;
    else
        behind(r)->before = rest;
    put_in(p, r);
}

static bool refuse(wick_mempool *p, size_t asked) {
    size_t largest = p->max - UNIT - p->top;
    if (p->powers) {
        const int power = 63 - __builtin_clzll(p->powers);
        for (block *b = p->lists[power][31 - __builtin_clz(p->subs[power])]; b; b = b->next)
            largest = WICK_MAX(largest, size_of(b));
    }
    p->stats.refused++;
    snprintf(p->refusal, sizeof p->refusal,
             "the memory pool of %.6g MB is full: %.6g MB are in use, the largest piece that is free has %.6g MB, and "
             "%.6g MB were asked for",
             (double)p->max * 1e-6, (double)p->stats.used * 1e-6, (double)largest * 1e-6, (double)asked * 1e-6);
    return false;
}

/* Puts huge pages there, reserved with the mapping, so that writing them can't fail. 0, or an errno. What was there
 * goes before the system knows whether it has enough, so it is asked elsewhere first. */
static int put_huge(wick_mempool *p, char *from, size_t bytes) {
#if defined(MAP_HUGETLB) && defined(MAP_HUGE_SHIFT) && defined(MAP_FIXED_NOREPLACE)
    const int access = PROT_READ | PROT_WRITE,
              flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << MAP_HUGE_SHIFT,
              kept = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void *there = mmap(NULL, bytes, access, flags, -1, 0);
    if (there == MAP_FAILED) return errno;
    munmap(there, bytes);
    if (mmap(from, bytes, access, flags | MAP_FIXED, -1, 0) != MAP_FAILED) return 0;
    const int refused = errno; /* others were quicker */
    there = mmap(from, bytes, PROT_NONE, kept, -1, 0);
    if (there != from) { /* and another thread has the addresses: the pool ends before them */
        if (there != MAP_FAILED) munmap(there, bytes);
        char *end = (char *)p->mapped + p->mapped_bytes;
        if (from + bytes < end) munmap(from + bytes, (size_t)(end - from) - bytes);
        p->mapped_bytes = (size_t)(from - (char *)p->mapped);
        p->max = p->capacity;
    }
    return refused;
#else
    (void)p, (void)from, (void)bytes;
    return ENOSYS;
#endif
}

/* Makes the bytes of capacity up to `to` accessible. */
static bool commit(wick_mempool *p, size_t to) {
    char *from = p->base + p->capacity;
    const size_t bytes = to - p->capacity;
    const int refused = p->wants_huge && bytes ? put_huge(p, from, bytes) : 0;
    if (p->wants_huge && bytes && !refused) {
        if (p->policy) (void)wick_numa_apply(p->policy, from, bytes);
        p->huge = p->capacity = to;
        return true;
    }
    if (refused && !p->huge) p->huge_refused = refused;
    p->wants_huge = false;
    if (to > p->max) return false;
    if (bytes && mprotect(from, bytes, PROT_READ | PROT_WRITE) != 0) return false;
    p->capacity = to;
    return true;
}

/* Lets top be at `to`. */
static bool reach(wick_mempool *p, size_t to, size_t asked) {
    size_t capacity = p->capacity;
    uint64_t grown = 0;
    if (to > p->max - UNIT) return refuse(p, asked);
    for (; capacity - UNIT < to; grown++) {
        const double more = (double)capacity * p->growth;
        capacity = more >= (double)p->max ? p->max : WICK_MIN(WICK_ALIGN_UP((size_t)more, p->grain), p->max);
    }
    if (grown && !commit(p, capacity)) return refuse(p, asked);
    p->stats.grown += grown;
    return true;
}

/* A block at top; the free one before it, if there is one, is a part of it. */
static block *extend(wick_mempool *p, size_t size, size_t asked) {
    block *end = (block *)(void *)(p->base + UNIT - HEADER + p->top), *b = end;
    if (p->last) {
        block *last = (block *)(void *)((char *)end - p->last);
        if (!(last->size & USED)) b = last;
    }
    const size_t has = (size_t)((char *)end - (char *)b);
    if (!reach(p, p->top - has + size, asked)) return NULL;
    if (has) {
        take_out(p, b);
    } else {
        b->before = p->last;
    }
    b->size = size;
    p->top += size - has;
    p->high = WICK_MAX(p->high, p->top);
    p->last = size;
    return b;
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

static void give_back(const wick_mempool *p, char *from, char *to) {
    if (from < p->base + p->huge) from = p->base + p->huge; /* nobody promises that one comes back */
    if (from >= to) return;
    const uintptr_t a = WICK_ALIGN_UP((uintptr_t)from, (uintptr_t)PAGE), b = (uintptr_t)to / PAGE * PAGE;
    if (b > a) (void)madvise((void *)a, b - a, MADV_DONTNEED);
}

/* Gives back pages of free blocks, of the largest first, until at most `keep` bytes of them are dirty. */
static void trim_holes(wick_mempool *p, size_t keep) {
    const int first = 63 - __builtin_clzll(TRIM_FROM / UNIT);
    for (int power = POWERS - 1; power >= first && p->dirty > keep; power--)
        for (int sub = SUBS - 1; sub >= 0 && p->subs[power]; sub--)
            for (block *b = p->lists[power][sub]; b && p->dirty > keep; b = b->next) {
                if (!(b->size & DIRTY)) continue;
                give_back(p, (char *)(b + 1), (char *)behind(b));
                b->size &= ~(uint64_t)DIRTY;
                p->dirty -= size_of(b);
                p->clean += size_of(b);
            }
    p->stats.trimmed++;
}

static void trim(wick_mempool *p) {
    trim_holes(p, 0);
    give_back(p, p->base + UNIT + WICK_MAX(p->top, p->stats.used ? 0 : KEEP_IDLE), p->base + UNIT + p->high);
    p->high = p->top;
}

/* Bytes of free blocks that may keep their pages: what `fragmentation` allows less the blocks that are too small to be
 * given back, whose sum can't be changed. */
static size_t dirty_allowed(const wick_mempool *p) {
    const size_t all = WICK_MAX((size_t)(p->fragmentation * (double)p->top), KEEP_IDLE),
                 small = p->free_bytes - p->dirty - p->clean;
    return WICK_MAX(all - WICK_MIN(small, all), all / 4);
}

/* ---- the allocator ----------------------------------------------------------------------------------------------- */

static void *pool_alloc(void *user, size_t size, size_t align) {
    wick_mempool *p = user;
    const size_t more = align > UNIT ? align : 0; /* room to begin later in */
    if (size > PTRDIFF_MAX - 2 * (size_t)UNIT - more) return NULL;
    size_t need = WICK_ALIGN_UP(size + HEADER, (size_t)UNIT) + more;
    pthread_mutex_lock(&p->lock);
    block *b = need <= p->max ? find(p, need) : NULL;
    if (b)
        take_out(p, b);
    else if (need > p->max)
        refuse(p, size);
    else
        b = extend(p, need, size);
    if (b && more) { /* the part before the boundary becomes a block of its own */
        const size_t skip = WICK_ALIGN_UP((uintptr_t)held(b), align) - (uintptr_t)held(b);
        if (skip) {
            cut(p, b, skip);
            block *front = b;
            b = behind(front);
            take_out(p, b);
            put_in(p, front); /* its neighbour before is in use, or there is none */
        }
        need -= more;
    }
    if (b) {
        cut(p, b, need);
        b->size = size_of(b) | USED;
        p->stats.used += size;
        p->stats.peak = WICK_MAX(p->stats.peak, p->stats.used);
        p->stats.allocations++;
    }
    pthread_mutex_unlock(&p->lock);
#ifdef MADV_HUGEPAGE
    if (b && size >= HUGE_FROM && (char *)held(b) >= p->base + p->huge) {
        const uintptr_t huge = 2u << 20, from = WICK_ALIGN_UP((uintptr_t)held(b), huge),
                        to = ((uintptr_t)held(b) + size) / huge * huge;
        if (to > from) (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
    }
#endif
    return b ? held(b) : NULL;
}

static void pool_release(void *user, void *ptr, size_t size) {
    wick_mempool *p = user;
    pthread_mutex_lock(&p->lock);
    block *b = (block *)(void *)((char *)ptr - HEADER);
    b->size = size_of(b) | DIRTY;
    p->stats.used -= size;
    p->stats.releases++;
    if (!is_last(p, b) && !(behind(b)->size & USED)) {
        take_out(p, behind(b));
        b->size += size_of(behind(b));
        tell_behind(p, b);
    }
    if (b->before && !(ahead(b)->size & USED)) {
        block *a = ahead(b);
        take_out(p, a);
        a->size = (size_of(a) + size_of(b)) | DIRTY;
        b = a;
        tell_behind(p, b);
    }
    if (is_last(p, b)) {
        p->top -= size_of(b);
        p->last = b->before;
    } else {
        put_in(p, b);
    }
    const size_t lies = p->dirty + (p->high - p->top), most = dirty_allowed(p);
    if ((double)lies > p->fragmentation * (double)p->capacity || (!p->stats.used && lies > KEEP_IDLE))
        trim(p);
    else if (p->dirty > most) /* little more than has to be: pages that come back are cleared first */
        trim_holes(p, most - most / 8);
    pthread_mutex_unlock(&p->lock);
}

wick_allocator wick_mempool_allocator(wick_mempool *p) { return (wick_allocator){p, pool_alloc, pool_release}; }

/* ---- making and asking ------------------------------------------------------------------------------------------- */

wick_status wick_mempool_new(wick_mempool **out, const wick_memory_pool_options *o, const wick_numa_policy *policy) {
    const size_t most = (size_t)1 << 47, grain = o->huge_pages ? HUGE_GRAIN : GRAIN,
                 first = o->huge_pages ? HUGE_INITIAL : (size_t)2 << 30,
                 max = WICK_ALIGN_UP(WICK_MIN(o->max ? o->max : (size_t)8 << 30, most), grain),
                 initial = WICK_ALIGN_UP(o->initial ? WICK_MIN(o->initial, most) : WICK_MIN(first, max), grain);
    const double growth = o->growth == 0 ? 1.5 : o->growth, part = o->fragmentation == 0 ? 0.15 : o->fragmentation;
    *out = NULL;
    if (o->max > most || initial > max || !(growth >= 1.01 && growth <= 16) || !(part > 0 && part <= 1))
        return WICK_ERR_INVALID;
    wick_mempool *p = wick_calloc(NULL, sizeof *p);
    if (!p) return WICK_ERR_NOMEM;
    p->mapped_bytes = max + (o->huge_pages ? HUGE_GRAIN : 0);
    p->mapped = mmap(NULL, p->mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const bool mapped = p->mapped != MAP_FAILED;
    if (mapped) {
        p->base = o->huge_pages ? (char *)WICK_ALIGN_UP((uintptr_t)p->mapped, (uintptr_t)HUGE_GRAIN) : p->mapped;
        if (policy) (void)wick_numa_apply(policy, p->base, max);
    }
    p->max = max;
    p->grain = grain;
    /* The machine keeps huge pages for all nodes together: the first write to one that its own node lacks would end the
     * process where no other node may stand in. */
    const bool bound = policy && policy->mode == WICK_NUMA_BIND;
    p->wants_huge = o->huge_pages && !bound;
    p->huge_refused = o->huge_pages && bound ? EOPNOTSUPP : 0;
    p->policy = policy;
    if (!mapped || !commit(p, initial)) {
        if (mapped) munmap(p->mapped, p->mapped_bytes);
        wick_release(NULL, p, sizeof *p);
        return WICK_ERR_NOMEM;
    }
    p->growth = growth;
    p->fragmentation = part;
    pthread_mutex_init(&p->lock, NULL);
    *out = p;
    return WICK_OK;
}

void wick_mempool_free(wick_mempool **slot) {
    wick_mempool *p = *slot;
    if (!p) return;
    *slot = NULL;
    munmap(p->mapped, p->mapped_bytes);
    pthread_mutex_destroy(&p->lock);
    wick_release(NULL, p, sizeof *p);
}

void wick_mempool_stats(wick_mempool *p, wick_memory_pool_info *s) {
    pthread_mutex_lock(&p->lock);
    *s = p->stats;
    s->capacity = p->capacity;
    s->max = p->max;
    s->extent = p->top;
    s->huge_bytes = p->huge;
    s->free_bytes = p->free_bytes;
    s->fragmentation = p->top ? (double)(p->free_bytes - p->clean) / (double)p->top : 0;
    pthread_mutex_unlock(&p->lock);
}

void wick_mempool_trim(wick_mempool *p) {
    pthread_mutex_lock(&p->lock);
    trim(p);
    pthread_mutex_unlock(&p->lock);
}
#else
wick_status wick_mempool_new(wick_mempool **out, const wick_memory_pool_options *o, const wick_numa_policy *policy) {
    (void)o, (void)policy;
    *out = NULL;
    return WICK_ERR_UNSUPPORTED;
}
void wick_mempool_free(wick_mempool **pool) { *pool = NULL; }
wick_allocator wick_mempool_allocator(wick_mempool *p) { return (void)p, *wick_allocator_default(); }
void wick_mempool_stats(wick_mempool *p, wick_memory_pool_info *s) { (void)p, *s = (wick_memory_pool_info){0}; }
void wick_mempool_trim(wick_mempool *p) { (void)p; }
#endif

int wick_mempool_huge_refused(const wick_mempool *p) { return p->huge_refused; }
const char *wick_mempool_refusal(const wick_mempool *p) { return p->refusal; }

static pthread_mutex_t default_lock = PTHREAD_MUTEX_INITIALIZER;
static bool has_default;
static wick_memory_pool_options default_options;

void wick_memory_pool_set_default(const wick_memory_pool_options *options) {
    pthread_mutex_lock(&default_lock);
    has_default = options != NULL;
    if (options) default_options = *options;
    pthread_mutex_unlock(&default_lock);
}
bool wick_mempool_default(wick_memory_pool_options *out) {
    pthread_mutex_lock(&default_lock);
    const bool has = has_default;
    if (has) *out = default_options;
    pthread_mutex_unlock(&default_lock);
    return has;
}
