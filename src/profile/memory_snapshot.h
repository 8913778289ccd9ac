/* memory_snapshot.h: what a context's memory was at a moment. */
#ifndef WICK_PROFILE_MEMORY_SNAPSHOT_H
#define WICK_PROFILE_MEMORY_SNAPSHOT_H

#include "codegen/text.h"
#include "exec/exec.h"
#include "wick/memory.h"

enum { SNAPSHOT_CELLS = 100, SNAPSHOT_REGIONS = 64 };
/* A range of addresses whose blocks lie close to each other. */
typedef struct snapshot_region {
    size_t bytes, used;
    uint64_t blocks;
    char cells[SNAPSHOT_CELLS + 1]; /* of equal length: '0' nothing in use ... '9' all of it */
} snapshot_region;

struct wick_memory_snapshot {
    wick_arena arena;
    wick_memory_use all, uses[WICK_TAGS];
    uint64_t width; /* ns of a point */
    int n_points;
    wick_course_point points[WICK_COURSE_POINTS];
    wick_memory_row *rows; /* most first; texts are the arena's */
    size_t n_rows;
    int n_regions; /* the largest ones */
    snapshot_region regions[SNAPSHOT_REGIONS];
};

size_t snapshot_course_peak(const wick_memory_snapshot *s);
/* memory_drawing.c */
void snapshot_draw(const wick_memory_snapshot *s, const wick_memory_snapshot *before, wick_text *out);
void snapshot_page(const wick_memory_snapshot *s, const wick_memory_snapshot *before, wick_text *out);

#endif
