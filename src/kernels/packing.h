/* packing.h: what packing goes by. Of prepared products and convolutions these clear all that laying out weights does
 * not look at: those that do it alike, whatever the other operand is, become equal byte by byte. They can only be
 * packed with. */
#ifndef WICK_KERNELS_PACKING_H
#define WICK_KERNELS_PACKING_H

#include "kernels/conv/conv_api.h"
#include "kernels/recurrent/recurrent_api.h"

void wick_gemm_keep_packing(wick_gemm *g);
/* Of a prepared product whose B is another one each time: what stage 0 would pack, tasks pack for themselves, where
 * columns alone make enough of them. No core then reads or writes over what another packed. */
void wick_gemm_pack_in_tasks(wick_gemm *g, const wick_tuning *tuning);
/* of those that wick_gemm.narrow names, without tiles of AMX: for wick_gemm_keep_packing */
void wick_narrow_keep_packing(wick_gemm *g);
void wick_conv_keep_packing(wick_convolution *c); /* stage 0 */
void wick_recurrent_keep_packing(wick_recurrent *r);

#endif
