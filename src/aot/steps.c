/* steps.c: the table of how steps are printed, by kind. */
#include "aot/print.h"

static bool gemm_shares(const wick_step *s, int ref) {
    return ref == 3 && ((const wick_step_gemm *)s->args)->gemm.tasks_pack;
}
static bool conv_shares(const wick_step *s, int ref) {
    const wick_step_conv *m = s->args;
    return ref + 1 == m->at[WICK_STEP_CONV_SHARED] && m->conv.what != WICK_CONV_WEIGHT;
}
static bool program_shares(const wick_step *s, int ref) {
    const wick_fused *f = s->args;
    return ref == f->n_in + f->n_out;
}
static bool int8_shares(const wick_step *s, int ref) { return ref == wick_c_int8_packed(s); }
static bool recurrent_shares(const wick_step *s, int ref) { return ref == wick_c_recurrent_packed(s); }
static bool scan_shares(const wick_step *s, int ref) { return ref >= 2 + ((const wick_step_scan *)s->args)->index; }
static bool ranging_shares(const wick_step *s, int ref) { return (void)s, ref >= 4; }
static bool sort_shares(const wick_step *s, int ref) { return (void)s, ref >= 3; }

static const wick_c_step_printer printers[WICK_STEP_KINDS] = {
    [WICK_STEP_STAGE] = {.elsewhere = true},
    [WICK_STEP_PACK] = {.elsewhere = true},
    [WICK_STEP_PROGRAM_END] = {.elsewhere = true},
    [WICK_STEP_MIRROR] = {.elsewhere = true},
    [WICK_STEP_COPY] = {.print = wick_c_print_copy},
    [WICK_STEP_PROGRAM] = {.print = wick_c_print_program, .shares = program_shares},
    [WICK_STEP_GEMM] = {.print = wick_c_print_gemm, .shares = gemm_shares},
    [WICK_STEP_CONV] = {.print = wick_c_print_conv, .shares = conv_shares, .scratch = wick_c_conv_scratch},
    [WICK_STEP_CONV_SUM] = {.print = wick_c_print_conv_sum},
    [WICK_STEP_MAX_POOL] = {.print = wick_c_print_pool},
    [WICK_STEP_MAX_POOL_PUT] = {.print = wick_c_print_pool_gradient},
    [WICK_STEP_MEAN_POOL] = {.print = wick_c_print_pool},
    [WICK_STEP_MEAN_POOL_SHARE] = {.print = wick_c_print_pool_gradient},
    [WICK_STEP_SOFTMAX] = {.print = wick_c_print_softmax},
    [WICK_STEP_LAYER_NORM] = {.print = wick_c_print_layer_norm},
    [WICK_STEP_JOIN] = {.print = wick_c_print_join},
    [WICK_STEP_CROSS_ENTROPY] = {.print = wick_c_print_cross_entropy},
    [WICK_STEP_ONE_HOT] = {.print = wick_c_print_one_hot},
    [WICK_STEP_CHECK] = {.print = wick_c_print_check},
    [WICK_STEP_GATHER] = {.print = wick_c_print_gather},
    [WICK_STEP_RESAMPLE] = {.print = wick_c_print_resample},
    [WICK_STEP_RECURRENT] = {.print = wick_c_print_recurrent,
                             .shares = recurrent_shares,
                             .scratch = wick_c_recurrent_scratch},
    [WICK_STEP_INT8_PACK] = {.print = wick_c_print_int8_pack,
                             .packs = true,
                             .shares = int8_shares,
                             .scratch = wick_c_int8_scratch},
    [WICK_STEP_INT8] = {.print = wick_c_print_int8,
                        .packed = wick_c_int8_packed,
                        .own_scratch = wick_c_int8_own_scratch},
    [WICK_STEP_INT4] = {.print = wick_c_print_int4},
    [WICK_STEP_LINEAR8] = {.print = wick_c_print_linear8, .shares = wick_c_linear8_shares},
    [WICK_STEP_INTEGERS] = {.print = wick_c_print_integers},
    [WICK_STEP_ATTENTION] = {.print = wick_c_print_attention, .own_scratch = wick_c_attention_scratch},
    [WICK_STEP_RANDOM] = {.print = wick_c_print_random},
    [WICK_STEP_DRAW] = {.print = wick_c_print_draw, .own_scratch = wick_c_draw_scratch},
    [WICK_STEP_ARG] = {.print = wick_c_print_arg},
    [WICK_STEP_SCAN] = {.print = wick_c_print_scan, .shares = scan_shares},
    [WICK_STEP_SORT] = {.print = wick_c_print_sort, .shares = sort_shares},
    [WICK_STEP_ALONG] = {.print = wick_c_print_along},
    [WICK_STEP_TRIANGLE] = {.print = wick_c_print_triangle},
    [WICK_STEP_RAVEL] = {.print = wick_c_print_ravel},
    [WICK_STEP_RANGING] = {.print = wick_c_print_ranging, .shares = ranging_shares},
    [WICK_STEP_TREES] = {.print = wick_c_print_trees, .own_scratch = wick_c_trees_scratch},
};

const wick_c_step_printer *wick_c_step_printer_of(const wick_step *s) { return &printers[s->kind]; }

size_t wick_c_scratch(const wick_step *s, const wick_c_buffer *buffers, wick_c_isa isa) {
    return printers[s->kind].scratch ? printers[s->kind].scratch(s, buffers, isa) : 0;
}

bool wick_c_prints(const wick_step *s, const wick_c_buffer *buffers, wick_c_isa isa) {
    return !printers[s->kind].packs || wick_c_scratch(s, buffers, isa);
}
