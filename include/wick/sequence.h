/* wick/sequence.h: recurrent layers as ops (the time loop of a layer is one node, and so is that of its gradient), and
 * CTC. */
#ifndef WICK_SEQUENCE_H
#define WICK_SEQUENCE_H

#include "wick/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- recurrent layers -----------------------------------------------------------------------------------------------
 *
 * Formulas as in PyTorch's RNN, LSTM and GRU, and in ONNX's. x is [T, B, I] (batch_first: [B, T, I]); D directions (1
 * or 2), H units and G gates: 1, 4 (i f g o) or 3 (r z n), in this order along the dim G H. Floats; f16 and bf16 are
 * computed in f32, rounded once at the end. */
typedef struct wick_rnn_inputs {
    wick_tensor *w_ih, *w_hh;     /* [D, G H, I], [D, G H, H]; of one direction also without D, as the biases */
    wick_tensor *b_ih, *b_hh;     /* [D, G H] or NULL */
    /* LSTM: [D, 3 H] or NULL: i f o (Gers, Schmidhuber 2000), o sees the new cell state */
    wick_tensor *peephole;
    wick_tensor *h0, *c0;         /* [D, B, H] or NULL: zeros. c0: LSTM */
    wick_tensor *lengths; /* [B] integers or NULL: steps of each sample, 0 to T (else WICK_ERR_INDEX at run time). Later
                             steps give zeros and leave the states; the reverse direction starts at a sample's last
                             step. PyTorch: a packed sequence */
} wick_rnn_inputs;

typedef enum wick_rnn_direction { WICK_RNN_FORWARD, WICK_RNN_REVERSE, WICK_RNN_BIDIRECTIONAL } wick_rnn_direction;
/* Functions of gates and states; 0: the usual one. hard sigmoid: min(max(0.2 x + 0.5, 0), 1). softsign: x / (1 + |x|).
 */
typedef enum wick_rnn_act {
    WICK_RNN_DEFAULT,
    WICK_RNN_SIGMOID,
    WICK_RNN_TANH,
    WICK_RNN_RELU,
    WICK_RNN_HARD_SIGMOID,
    WICK_RNN_SOFTSIGN,
    WICK_RNN_IDENTITY
} wick_rnn_act;
typedef struct wick_rnn_options {
    bool batch_first;
    wick_rnn_direction direction;
    /* by direction. RNN: of h (tanh). LSTM: of i f o (sigmoid), of g (tanh), of c (tanh). GRU: of r z (sigmoid), of n
     * (tanh) */
    wick_rnn_act acts[2][3];
    /* what goes into the functions of gates is clipped to +-clip (the LSTM's cell state is not, as in ONNX Runtime); 0:
     * it is not */
    double clip;
    bool input_forget;       /* LSTM: f = 1 - i */
    /* GRU: n = tanh(x W + b + (r h) W'), ONNX's linear_before_reset 0. Else n = tanh(x W + b + r (h W' + b')), as
     * PyTorch */
    bool reset_first;
} wick_rnn_options;

/* All states h: [T, B, D H] (batch_first: [B, T, D H]). *h_n, *c_n (each may be NULL) get the states after the last
 * step, [D, B, H]. options may be NULL. Gradients of gradients are not defined: asking for one is an error;
 * wick_nn_rnn_options.plain has them. RNN: h = tanh(x W_ih' + b_ih + h W_hh' + b_hh). */
WICK_API wick_tensor *wick_rnn(wick_tensor *x, const wick_rnn_inputs *inputs, const wick_rnn_options *options,
                               wick_tensor **h_n);
/* Hochreiter, Schmidhuber 1997, with forget gates: c = f c + i g, h = o tanh(c). */
WICK_API wick_tensor *wick_lstm(wick_tensor *x, const wick_rnn_inputs *inputs, const wick_rnn_options *options,
                                wick_tensor **h_n, wick_tensor **c_n);
/* Cho et al. 2014: h = (1 - z) n + z h. */
WICK_API wick_tensor *wick_gru(wick_tensor *x, const wick_rnn_inputs *inputs, const wick_rnn_options *options,
                               wick_tensor **h_n);

/* ---- connectionist temporal classification ----------------------------------------------------------------------- */

typedef struct wick_ctc_options {
    int64_t blank;            /* the class that stands for no label */
    bool zero_infinity;       /* samples without any alignment (too few steps) count 0, not Inf, and give no gradient */
    wick_reduction reduction; /* the mean is that of loss / max(labels, 1) */
} wick_ctc_options;
/* -log of the probability of labels, over all alignments (Graves et al. 2006). log_probs [T, N, C]: log_softmax of a
 * model's outputs. labels [N, S] integers, or one sample's after the other's, [sum of label_lengths]; lengths [N]
 * integers. 0-d, or [N]. A length out of range, a label that is no class or the blank are a run-time error
 * (WICK_ERR_INDEX). The gradient is that of the formula; PyTorch's of log_probs differs by what the log_softmax before
 * it removes, so that those of the logits agree. */
WICK_API wick_tensor *wick_ctc_loss(wick_tensor *log_probs, wick_tensor *labels, wick_tensor *input_lengths,
                                    wick_tensor *label_lengths, const wick_ctc_options *options);
/* Decoding on the host, one sample: log_probs [steps, classes]; labels has room for `steps`. The labels of the most
 * probable path, repeats and blanks dropped; their number. */
WICK_API int64_t wick_ctc_greedy(int64_t steps, int64_t classes, const float *log_probs, int64_t blank,
                                 int64_t *labels);
/* Prefix beam search with `width` beams (0: 16): about the most probable labels over all their alignments, *count of
 * them. *score (or NULL): the log of their probability as far as the beams saw it. */
WICK_API WICK_MUST_CHECK wick_status wick_ctc_beam(wick_context *ctx, int64_t steps, int64_t classes,
                                                   const float *log_probs, int64_t blank, int64_t width,
                                                   int64_t *labels, int64_t *count, double *score);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_ctc_loss(...) WICK_TENSOR_HERE(wick_ctc_loss(__VA_ARGS__))
#define wick_rnn(...) WICK_TENSOR_HERE(wick_rnn(__VA_ARGS__))
#define wick_lstm(...) WICK_TENSOR_HERE(wick_lstm(__VA_ARGS__))
#define wick_gru(...) WICK_TENSOR_HERE(wick_gru(__VA_ARGS__))
/* clang-format on */
#endif
#endif
