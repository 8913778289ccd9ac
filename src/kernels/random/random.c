/* random.c: cuts a range of elements into chunks that stay in L1 and hands them to the current tier: first the words,
 * then the values made of them. A value depends on its position alone, so the cutting leaves no trace. */
#include "kernels/random/random.h"

enum { CHUNK_WORDS = 2048 }; /* 8 KiB; a multiple of 8, so that chunks begin at blocks and pairs stay together */

static const wick_random_table *const random_tables[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_random_table)};

const wick_random_table *wick_random_kernels(void) { return random_tables[wick_tier_current()]; }

static wick_random_blocks blocks_of(const wick_random_key *key) {
    return (wick_random_blocks){
        {(uint32_t)key->seed ^ (uint32_t)(key->stream >> 32),
         (uint32_t)(key->seed >> 32) ^ (uint32_t)(key->offset >> 32)},
        (uint32_t)key->stream,
        (uint32_t)key->offset,
    };
}

static void random_run(bool normal, wick_ctype type, const wick_random_key *key, int64_t begin, int64_t end,
                       void *dst) {
    const wick_random_table *table = wick_random_kernels();
    const wick_random_blocks k = blocks_of(key);
    const int64_t words_each = type == WICK_CF64 ? 2 : 1;
    _Alignas(WICK_ALIGN) uint32_t words[CHUNK_WORDS];
    for (int64_t i = begin; i < end;) {
        int64_t count = WICK_MIN(end - i, CHUNK_WORDS / words_each);
        table->words(&k, (uint64_t)i * (uint64_t)words_each / 4, (size_t)(count * words_each + 3) / 4, words);
        /* The last pair of normal numbers may be cut: its second half goes nowhere. */
        int64_t whole = normal ? count & ~(int64_t)1 : count;
        if (type == WICK_CF64) {
            double *out = (double *)dst + i, pair[2];
            (normal ? table->normal_f64 : table->uniform_f64)(words, (size_t)whole, out);
            if (whole < count) {
                table->normal_f64(words + 2 * whole, 2, pair);
                out[whole] = pair[0];
            }
        } else {
            float *out = (float *)dst + i, pair[2];
            (normal ? table->normal_f32 : table->uniform_f32)(words, (size_t)whole, out);
            if (whole < count) {
                table->normal_f32(words + whole, 2, pair);
                out[whole] = pair[0];
            }
        }
        i += count;
    }
}

void wick_fill_uniform(wick_ctype type, const wick_random_key *key, int64_t begin, int64_t end, void *dst) {
    random_run(false, type, key, begin, end, dst);
}

void wick_fill_normal(wick_ctype type, const wick_random_key *key, int64_t begin, int64_t end, void *dst) {
    random_run(true, type, key, begin, end, dst);
}

void wick_fill_bits(const wick_random_key *key, int64_t begin, int64_t end, uint64_t *dst) {
    const wick_random_table *table = wick_random_kernels();
    const wick_random_blocks k = blocks_of(key);
    uint32_t words[CHUNK_WORDS];
    for (int64_t i = begin; i < end;) { /* begin is even: it starts a block */
        const int64_t count = WICK_MIN(end - i, CHUNK_WORDS / 2);
        table->words(&k, (uint64_t)i / 2, (size_t)(count * 2 + 3) / 4, words);
        for (int64_t j = 0; j < count; j++) dst[i + j] = words[2 * j] | (uint64_t)words[2 * j + 1] << 32;
        i += count;
    }
}
