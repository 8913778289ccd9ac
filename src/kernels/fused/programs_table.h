/* programs_table.h: the programs of programs.h, which says how to read them. Written by
 * `test_house_programs --write` from the plans of optimizers and graphs that are listed there. */
#ifndef WICK_KERNELS_FUSED_PROGRAMS_TABLE_H
#define WICK_KERNELS_FUSED_PROGRAMS_TABLE_H

/* clang-format off */
#define WICK_PROGRAMS(P) \
    P(sgd, 3, A(0) S(1) A(2), I2(3,mul,0,1) I2(4,sub,2,3), O(0,4)) \
    P(sgd_with_momentum, 5, A(0) S(1) A(2) S(3) A(4), I2(5,mul,0,1) I2(6,add,5,2) I2(7,mul,6,3) I2(8,sub,4,7), \
      O(0,6) O(1,8)) \
    P(sgd_with_momentum_decay, 6, A(0) S(1) A(2) S(3) A(4) S(5), I2(6,mul,0,1) I2(7,mul,2,3) I2(8,add,4,7) \
      I2(9,add,6,8) I2(10,mul,9,5) I2(11,sub,2,10), O(0,9) O(1,11)) \
    P(nesterov_decay, 6, A(0) S(1) A(2) S(3) A(4) S(5), I2(6,mul,0,1) I2(7,mul,2,3) I2(8,add,4,7) I2(9,add,6,8) \
      I2(10,mul,9,1) I2(11,add,8,10) I2(12,mul,11,5) I2(13,sub,2,12), O(0,9) O(1,13)) \
    P(adam, 10, A(0) A(1) S(2) A(3) S(4) S(5) S(6) S(7) S(8) A(9), I2(10,sub,0,1) I2(11,mul,10,2) I2(12,add,1,11) \
      I2(13,mul,3,4) I1(14,square,0) I2(15,mul,14,5) I2(16,add,13,15) I1(17,sqrt,16) I2(18,mul,17,6) I2(19,add,18,7) \
      I2(20,div,12,19) I2(21,mul,20,8) I2(22,sub,9,21), O(0,12) O(1,16) O(2,22)) \
    P(adam_decoupled_decay, 11, A(0) A(1) S(2) A(3) S(4) S(5) A(6) S(7) S(8) S(9) S(10), I2(11,sub,0,1) \
      I2(12,mul,11,2) I2(13,add,1,12) I2(14,mul,3,4) I1(15,square,0) I2(16,mul,15,5) I2(17,add,14,16) I2(18,mul,6,7) \
      I1(19,sqrt,17) I2(20,mul,19,8) I2(21,add,20,9) I2(22,div,13,21) I2(23,mul,22,10) I2(24,sub,18,23), O(0,13) \
      O(1,17) O(2,24)) \
    P(adam_clipping, 11, A(0) S(1) A(2) S(3) A(4) S(5) S(6) S(7) S(8) S(9) A(10), I2(11,mul,0,1) I2(12,sub,11,2) \
      I2(13,mul,12,3) I2(14,add,2,13) I2(15,mul,4,5) I1(16,square,11) I2(17,mul,16,6) I2(18,add,15,17) \
      I1(19,sqrt,18) I2(20,mul,19,7) I2(21,add,20,8) I2(22,div,14,21) I2(23,mul,22,9) I2(24,sub,10,23), O(0,14) \
      O(1,18) O(2,24)) \
    P(adamw_decay_clipping, 12, A(0) S(1) A(2) S(3) A(4) S(5) S(6) A(7) S(8) S(9) S(10) S(11), I2(12,mul,0,1) \
      I2(13,sub,12,2) I2(14,mul,13,3) I2(15,add,2,14) I2(16,mul,4,5) I1(17,square,12) I2(18,mul,17,6) \
      I2(19,add,16,18) I2(20,mul,7,8) I1(21,sqrt,19) I2(22,mul,21,9) I2(23,add,22,10) I2(24,div,15,23) \
      I2(25,mul,24,11) I2(26,sub,20,25), O(0,15) O(1,19) O(2,26)) \
    P(adamw_decay_ema, 13, A(0) A(1) S(2) A(3) S(4) S(5) A(6) S(7) S(8) S(9) S(10) A(11) S(12), I2(13,sub,0,1) \
      I2(14,mul,13,2) I2(15,add,1,14) I2(16,mul,3,4) I1(17,square,0) I2(18,mul,17,5) I2(19,add,16,18) I2(20,mul,6,7) \
      I1(21,sqrt,19) I2(22,mul,21,8) I2(23,add,22,9) I2(24,div,15,23) I2(25,mul,24,10) I2(26,sub,20,25) \
      I2(27,sub,26,11) I2(28,mul,27,12) I2(29,add,11,28), O(0,15) O(1,19) O(2,26) O(3,29)) \
    P(adamax, 8, A(0) A(1) S(2) A(3) S(4) S(5) S(6) A(7), I2(8,sub,0,1) I2(9,mul,8,2) I2(10,add,1,9) I2(11,mul,3,4) \
      I1(12,abs,0) I2(13,add,12,5) I2(14,maximum,11,13) I2(15,div,10,14) I2(16,mul,15,6) I2(17,sub,7,16), O(0,10) \
      O(1,14) O(2,17)) \
    P(rmsprop, 7, A(0) S(1) A(2) S(3) S(4) S(5) A(6), I2(7,mul,0,1) I1(8,square,2) I2(9,mul,8,3) I2(10,add,7,9) \
      I1(11,sqrt,10) I2(12,add,11,4) I2(13,div,2,12) I2(14,mul,13,5) I2(15,sub,6,14), O(0,10) O(1,15)) \
    P(adagrad, 5, A(0) A(1) S(2) S(3) A(4), I1(5,square,0) I2(6,add,1,5) I1(7,sqrt,6) I2(8,add,7,2) I2(9,div,0,8) \
      I2(10,mul,9,3) I2(11,sub,4,10), O(0,6) O(1,11)) \
    P(lion, 6, A(0) A(1) S(2) S(3) S(4) A(5), I2(6,sub,0,1) I2(7,mul,6,2) I2(8,add,1,7) I2(9,mul,6,3) I2(10,add,1,9) \
      I1(11,sign,10) I2(12,mul,11,4) I2(13,sub,5,12), O(0,8) O(1,13)) \
    P(lion_decay, 7, A(0) A(1) S(2) A(3) S(4) S(5) S(6), I2(7,sub,0,1) I2(8,mul,7,2) I2(9,add,1,8) I2(10,mul,3,4) \
      I2(11,mul,7,5) I2(12,add,1,11) I1(13,sign,12) I2(14,mul,13,6) I2(15,sub,10,14), O(0,9) O(1,15)) \
    P(norm_planes, 4, A(0) S(1) S(2) S(3), I2(4,sub,0,1) I2(5,mul,4,2) I2(6,add,5,3), O(0,6)) \
    P(norm_planes_relu, 4, A(0) S(1) S(2) S(3), I2(4,sub,0,1) I2(5,mul,4,2) I2(6,add,5,3) I1(7,relu,6), O(0,7)) \
    P(norm_planes_trained_1, 2, A(0) S(1), I2(2,sub,0,1) I1(3,square,2), O(0,3)) \
    P(norm_planes_trained_2, 3, A(0) S(1) A(2), I2(3,sub,0,1) I2(4,mul,2,3), O(0,4)) \
    P(norm_planes_trained_3, 6, A(0) S(1) S(2) S(3) A(4) S(5), I2(6,sub,0,1) I2(7,mul,6,2) I2(8,add,7,3) \
      I2(9,mul,4,5) I2(10,add,9,8), O(0,10)) \
    P(norm_channels, 4, A(0) A(1) A(2) A(3), I2(4,sub,0,1) I2(5,mul,4,2) I2(6,add,5,3), O(0,6)) \
    P(norm_channels_relu, 4, A(0) A(1) A(2) A(3), I2(4,sub,0,1) I2(5,mul,4,2) I2(6,add,5,3) I1(7,relu,6), O(0,7)) \
    P(residual_trained_1, 5, A(0) A(1) A(2) A(3) S(4), I2(5,sub,0,1) I2(6,mul,5,2) I2(7,add,6,3) I1(8,relu,7) \
      C2(9,gt,8,4), O(0,8) B(1,9)) \
    P(residual_trained_2, 6, A(0) A(1) A(2) A(3) A(4) S(5), I2(6,sub,0,1) I2(7,mul,6,2) I2(8,add,7,3) I2(9,add,8,4) \
      I1(10,relu,9) C2(11,gt,10,5), O(0,10) B(1,11)) \
    P(residual_trained_3, 9, A(0) A(1) A(2) A(3) A(4) A(5) A(6) A(7) S(8), I2(9,sub,0,1) I2(10,mul,9,2) \
      I2(11,add,10,3) I2(12,sub,4,5) I2(13,mul,12,6) I2(14,add,13,7) I2(15,add,11,14) I1(16,relu,15) C2(17,gt,16,8), \
      O(0,16) B(1,17)) \
    P(residual_trained_4, 3, M(0) A(1) S(2), I3(3,where,0,1,2), O(0,3)) \
    P(residual_trained_5, 6, A(0) A(1) A(2) A(3) A(4) A(5), I2(6,sub,0,1) I2(7,mul,6,2) I2(8,add,7,3) I2(9,mul,4,5) \
      I2(10,add,9,8), O(0,10)) \
    P(residual_trained_6, 4, A(0) A(1) M(2) S(3), I2(4,add,0,1) I3(5,where,2,4,3), O(0,5)) \
    P(layer_norm_trained_1, 3, A(0) S(1) S(2), I2(3,sub,0,1) I2(4,mul,3,2), O(0,4)) \
    P(layer_norm_trained_2, 6, A(0) A(1) A(2) S(3) S(4) S(5), I2(6,mul,0,1) I2(7,mul,2,3) I2(8,sub,6,4) \
      I2(9,sub,8,7) I2(10,mul,5,9), O(0,10)) \
    P(add_number, 2, A(0) S(1), I2(2,add,0,1), O(0,2)) \
    P(sub_number, 2, A(0) S(1), I2(2,sub,0,1), O(0,2)) \
    P(mul_number, 2, A(0) S(1), I2(2,mul,0,1), O(0,2)) \
    P(number_mul, 2, S(0) A(1), I2(2,mul,0,1), O(0,2)) \
    P(mul_add, 3, A(0) A(1) A(2), I2(3,mul,0,1) I2(4,add,3,2), O(0,4)) \
    P(mul_add_numbers, 3, A(0) S(1) S(2), I2(3,mul,0,1) I2(4,add,3,2), O(0,4)) \
    P(mul_add_relu, 3, A(0) A(1) A(2), I2(3,mul,0,1) I2(4,add,3,2) I1(5,relu,4), O(0,5)) \
    P(addcmul, 4, A(0) S(1) A(2) A(3), I2(4,mul,0,1) I2(5,mul,4,2) I2(6,add,3,5), O(0,6)) \
    P(clip, 3, A(0) S(1) S(2), I3(3,clamp,0,1,2), O(0,3)) \
    P(elu, 3, A(0) S(1) S(2), I3(3,scaled_elu,0,1,2), O(0,3)) \
    P(leaky_relu, 2, A(0) S(1), I2(2,prelu,0,1), O(0,2)) \
    P(softshrink, 2, A(0) S(1), I2(2,soft_threshold,0,1), O(0,2)) \
    P(hardshrink, 2, A(0) S(1), I2(2,hard_threshold,0,1), O(0,2)) \
    P(nan_to_num, 4, A(0) S(1) S(2) S(3), I3(4,replace_inf,0,1,2) I2(5,replace_nan,4,3), O(0,5))
/* clang-format on */

#endif
