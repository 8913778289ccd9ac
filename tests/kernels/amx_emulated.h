/* amx_emulated.h: the kernels of amx_tier.c over the emulation: put to use by wick_amx_use(&amx_emulated). */
#ifndef WICK_TESTS_AMX_EMULATED_H
#define WICK_TESTS_AMX_EMULATED_H

#include "kernels/amx_emulation.h"

#define WICK_AMX_TIER amx_emulated
#include "kernels/gemm/amx_tier.c"

#endif
