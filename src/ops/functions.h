/* functions.h: the public functions that are built from ops and have no node of their own, for the registry. One row
 * each:
 *
 *   F(NAME, gradient, doc, onnx, torch)
 *
 *   NAME      wick_NAME is the function
 *   gradient  1: gradients pass, by those of its ops or a rule of its own; 0: none
 *   onnx, torch  as in wick_op; "" where they have none */
#ifndef WICK_OPS_FUNCTIONS_H
#define WICK_OPS_FUNCTIONS_H

/* clang-format off */
#define WICK_FUNCTION_LIST(F) \
 F(quantize_blocks, 0, "to weights of 4 bits in blocks, each with a scale", "QuantizeLinear", "") \
 F(cast_saturate, 1, "another dtype; what does not fit becomes the nearest number that does", "Cast", "") \
 F(clip, 1, "x held between two numbers", "Clip", "clip") \
 F(threshold, 1, "a number where x is not above a threshold", "", "nn.functional.threshold") \
 F(leaky_relu, 1, "x where positive, else slope x", "LeakyRelu", "nn.functional.leaky_relu") \
 F(elu, 1, "x where positive, else alpha (exp(x) - 1)", "Elu", "nn.functional.elu") \
 F(celu, 1, "x where positive, else alpha (exp(x / alpha) - 1)", "Celu", "nn.functional.celu") \
 F(softplus_beta, 1, "log(1 + exp(beta x)) / beta", "", "nn.functional.softplus") \
 F(softshrink, 1, "x moved towards 0 by lambda", "Shrink", "nn.functional.softshrink") \
 F(hardshrink, 1, "x, 0 where not above lambda", "Shrink", "nn.functional.hardshrink") \
 F(tanhshrink, 1, "x - tanh(x)", "", "nn.functional.tanhshrink") \
 F(glu, 1, "one half of an axis times the sigmoid of the other", "", "nn.functional.glu") \
 F(logit, 1, "log(x / (1 - x))", "", "logit") \
 F(nan_to_num, 1, "numbers for NaN and Infs", "", "nan_to_num") \
 F(addcmul, 1, "x + value a b", "", "addcmul") \
 F(addcdiv, 1, "x + value a / b", "", "addcdiv") \
 F(isclose, 0, "near by absolute and relative tolerance", "", "isclose") \
 F(sinc, 1, "sin(pi x) / (pi x)", "", "sinc") \
 F(heaviside, 0, "0, 1, or between them a number", "", "heaviside") \
 F(softmin, 1, "softmax of -x", "", "nn.functional.softmin") \
 F(cosine_similarity, 1, "cosine of the angle between vectors", "", "nn.functional.cosine_similarity") \
 F(pairwise_distance, 1, "distances of vectors from each other", "", "nn.functional.pairwise_distance") \
 F(cdist, 1, "distances of all rows from all", "", "cdist") \
 F(cross, 1, "the cross product", "", "linalg.cross") \
 F(cov, 1, "covariances", "", "cov") \
 F(corrcoef, 1, "correlations", "", "corrcoef") \
 F(diff, 1, "differences of neighbours", "", "diff") \
 F(transpose, 1, "two axes exchanged", "Transpose", "transpose") \
 F(squeeze, 1, "an axis of extent 1 dropped", "Squeeze", "squeeze") \
 F(unsqueeze, 1, "an axis of extent 1 added", "Unsqueeze", "unsqueeze") \
 F(flatten, 1, "axes from one on made a single one", "Flatten", "flatten") \
 F(flip, 1, "axes reversed", "", "flip") \
 F(pad, 1, "a number around a tensor", "Pad", "nn.functional.pad") \
 F(resize, 1, "images of another size: nearest or linear", "Resize", "nn.functional.interpolate") \
 F(interpolate, 1, "another number of elements along any axes: nearest, linear, cubic; every rule of ONNX", "Resize", "nn.functional.interpolate") \
 F(unfold, 1, "im2col", "", "nn.functional.unfold") \
 F(fold, 1, "col2im", "Col2Im", "nn.functional.fold") \
 F(max_pool_indices, 0, "where max_pool found its values", "MaxPool", "nn.functional.max_pool2d") \
 F(max_unpool, 1, "values back where max_pool found them", "MaxUnpool", "nn.functional.max_unpool2d") \
 F(lp_pool, 1, "the norm of each window", "LpPool", "nn.functional.lp_pool2d") \
 F(pixel_shuffle, 1, "channels to places (CRD)", "DepthToSpace", "nn.functional.pixel_shuffle") \
 F(pixel_unshuffle, 1, "places to channels (CRD)", "", "nn.functional.pixel_unshuffle") \
 F(depth_to_space, 1, "channels to places (DCR)", "DepthToSpace", "") \
 F(space_to_depth, 1, "places to channels (DCR)", "SpaceToDepth", "") \
 F(channel_shuffle, 1, "channels of groups interleaved", "", "nn.functional.channel_shuffle") \
 F(grid_sample, 1, "a field at any places", "GridSample", "nn.functional.grid_sample") \
 F(affine_grid, 1, "the places of an affine transformation", "AffineGrid", "nn.functional.affine_grid") \
 F(box_iou, 1, "intersections of boxes over their unions", "", "torchvision.ops.box_iou") \
 F(non_max_suppression, 0, "boxes without those that overlap better ones", "NonMaxSuppression", "torchvision.ops.nms") \
 F(var, 1, "variance over axes", "", "var") \
 F(stack, 1, "tensors along a new axis", "", "stack") \
 F(split, 1, "an axis cut into parts of given sizes", "Split", "split") \
 F(chunk, 1, "an axis cut into equal parts", "", "chunk") \
 F(tile, 1, "a tensor repeated along its axes", "Tile", "tile") \
 F(repeat_interleave, 1, "every place of an axis repeated", "", "repeat_interleave") \
 F(roll, 1, "elements moved along axes, in circles", "", "roll") \
 F(move_axis, 1, "an axis put at another place", "", "movedim") \
 F(meshgrid, 1, "vectors as grids", "", "meshgrid") \
 F(pad_with, 1, "a margin of reflected, repeated or wrapped values", "Pad", "nn.functional.pad") \
 F(tril, 1, "what is on and below a diagonal", "Trilu", "tril") \
 F(triu, 1, "what is on and above a diagonal", "Trilu", "triu") \
 F(diagonal_matrix, 1, "vectors as diagonals of matrices", "", "diag_embed") \
 F(eye, 0, "1 on a diagonal", "EyeLike", "eye") \
 F(linspace, 0, "evenly spaced values", "", "linspace") \
 F(logspace, 0, "powers of evenly spaced values", "", "logspace") \
 F(scatter, 1, "slices put, added, multiplied or compared into one axis by index", "", "index_reduce") \
 F(scatter_reduce, 1, "put_along_axis, also without what was there", "", "scatter_reduce") \
 F(gather_nd, 1, "slices by tuples of indices", "GatherND", "") \
 F(scatter_nd, 1, "slices put by tuples of indices", "ScatterND", "") \
 F(index, 1, "elements that index tensors name together", "", "Tensor.__getitem__") \
 F(index_put, 1, "values where index tensors point", "", "index_put") \
 F(embedding, 1, "rows of a weight by index", "Gather", "nn.functional.embedding") \
 F(embedding_bag, 1, "sums, means or maxima of rows by index", "", "nn.functional.embedding_bag") \
 F(masked_fill, 1, "a number where a mask is true", "", "masked_fill") \
 F(masked_scatter, 1, "elements in order where a mask is true", "", "masked_scatter") \
 F(masked_select, 1, "the elements where a mask is true", "Compress", "masked_select") \
 F(nonzero_padded, 0, "nonzero up to a size", "", "nonzero_static") \
 F(argsort, 0, "places in order of the elements", "", "argsort") \
 F(median, 1, "the lower middle element", "", "median") \
 F(nanmedian, 1, "the lower middle of the numbers", "", "nanmedian") \
 F(quantile, 1, "what a share of the elements is below", "", "quantile") \
 F(histogram, 0, "counts of bins of equal width", "", "histogram") \
 F(histogram_edges, 0, "counts between edges", "", "histogram") \
 F(unique, 0, "the distinct elements", "Unique", "unique") \
 F(unique_padded, 0, "unique, of a fixed size", "", "") \
 F(unique_axis, 0, "the distinct slices along an axis", "Unique", "unique") \
 F(unique_axis_padded, 0, "unique_axis, of a fixed size", "", "") \
 F(unique_consecutive, 0, "one of each run of equals", "", "unique_consecutive") \
 F(bincount_fixed, 1, "bincount with a fixed number of bins", "", "") \
 F(logsumexp, 1, "log(sum(exp(x)))", "ReduceLogSumExp", "logsumexp") \
 F(std, 1, "standard deviation over axes", "", "std") \
 F(norm, 1, "sum(|x|^p)^(1/p)", "ReduceL2", "linalg.vector_norm") \
 F(any, 0, "whether one is not 0", "", "any") \
 F(all, 0, "whether none is 0", "", "all") \
 F(count_nonzero, 0, "how many are not 0", "", "count_nonzero") \
 F(nansum, 1, "sum of what is not NaN", "", "nansum") \
 F(nanmean, 1, "mean of what is not NaN", "", "nanmean") \
 F(max_with_index, 1, "the largest along an axis and its place", "", "max") \
 F(min_with_index, 1, "the smallest along an axis and its place", "", "min") \
 F(cumsum_with, 1, "running sum, exclusive or from the end", "CumSum", "cumsum") \
 F(linear, 1, "x W^T + b", "Gemm", "nn.functional.linear") \
 F(einsum, 1, "sums of products by NumPy's notation", "Einsum", "einsum") \
 F(addmm, 1, "beta c + alpha a b", "Gemm", "addmm") \
 F(outer, 1, "every product of two vectors' elements", "", "outer") \
 F(dot, 1, "the dot product of two vectors", "", "dot") \
 F(vdot, 1, "the dot product of two tensors, flattened", "", "vdot") \
 F(tensordot, 1, "products summed over pairs of axes", "", "tensordot") \
 F(kron, 1, "Kronecker product", "", "kron") \
 F(matrix_power, 1, "a matrix times itself", "", "linalg.matrix_power") \
 F(trace, 1, "sum of the diagonal", "", "trace") \
 F(solve_triangular, 1, "x of a x = b, a triangular", "", "linalg.solve_triangular") \
 F(cholesky_solve, 1, "x of a x = b by a's Cholesky factor", "", "cholesky_solve") \
 F(solve, 1, "x of a x = b by LU", "", "linalg.solve") \
 F(inverse, 1, "inverses of matrices", "", "linalg.inv") \
 F(det, 1, "determinants", "Det", "linalg.det") \
 F(slogdet, 1, "signs and logarithms of determinants", "", "linalg.slogdet") \
 F(eig, 1, "eigenvalues of general matrices, by LAPACK", "", "linalg.eig") \
 F(pinv, 1, "pseudo-inverses", "", "linalg.pinv") \
 F(matrix_rank, 0, "how many singular values count", "", "linalg.matrix_rank") \
 F(lstsq, 1, "least squares by QR", "", "linalg.lstsq") \
 F(complex, 1, "complex numbers from two parts", "", "complex") \
 F(real, 1, "the real parts", "", "real") \
 F(imag, 1, "the imaginary parts", "", "imag") \
 F(complex_mul, 1, "products of complex numbers", "", "mul") \
 F(complex_conj, 1, "complex conjugates", "", "conj") \
 F(complex_abs, 1, "magnitudes of complex numbers", "", "abs") \
 F(complex_abs2, 1, "squared magnitudes", "", "") \
 F(ifft, 1, "inverse Fourier transform", "DFT", "fft.ifft") \
 F(fft2, 1, "Fourier transform over two axes", "", "fft.fft2") \
 F(ifft2, 1, "inverse Fourier transform over two axes", "", "fft.ifft2") \
 F(rfft2, 1, "Fourier transform of real numbers over two axes", "", "fft.rfft2") \
 F(irfft2, 1, "inverse of rfft2", "", "fft.irfft2") \
 F(stft, 1, "short-time Fourier transform", "STFT", "stft") \
 F(istft, 1, "inverse of stft by overlap and add", "", "istft") \
 F(window, 0, "Hann, Hamming, Blackman, Kaiser, Bartlett windows", "HannWindow", "hann_window") \
 F(mel_filters, 0, "triangles on the mel scale", "MelWeightMatrix", "") \
 F(mel_spectrogram, 1, "power by mel and frame", "", "") \
 F(log_mel, 1, "its logarithm or decibels", "", "") \
 F(mfcc, 1, "mel-frequency cepstral coefficients", "", "") \
 F(dct, 1, "cosine transforms of types 1 to 4", "", "") \
 F(conv_transpose, 1, "transposed convolution", "ConvTranspose", "nn.functional.conv_transpose2d") \
 F(adaptive_max_pool, 1, "max pooling to a size", "", "nn.functional.adaptive_max_pool2d") \
 F(adaptive_avg_pool, 1, "average pooling to a size", "", "nn.functional.adaptive_avg_pool2d") \
 F(batch_norm, 1, "(x - mean) / sqrt(var + eps) * weight + bias over all but the channels", "BatchNormalization", "nn.functional.batch_norm") \
 F(group_norm, 1, "layer norm of groups of channels", "GroupNormalization", "nn.functional.group_norm") \
 F(instance_norm, 1, "layer norm of every channel", "InstanceNormalization", "nn.functional.instance_norm") \
 F(local_response_norm, 1, "x over a power of its neighbours' squares, across channels", "LRN", "nn.functional.local_response_norm") \
 F(normalize, 1, "x over its norm along an axis", "LpNormalization", "nn.functional.normalize") \
 F(random_bernoulli, 0, "1 with a chance of p, else 0", "Bernoulli", "bernoulli") \
 F(random_exponential, 0, "exponential numbers", "", "distributions.Exponential") \
 F(random_truncated_normal, 0, "normal numbers within bounds", "", "nn.init.trunc_normal_") \
 F(random_gamma, 0, "gamma numbers", "", "distributions.Gamma") \
 F(random_permutation, 0, "0 to n - 1 in a random order", "", "randperm") \
 F(random_shuffle, 1, "slices in a random order", "", "") \
 F(random_categorical, 0, "a place a row, with the chances softmax(logits)", "", "distributions.Categorical") \
 F(rotary, 1, "rotary positions: pairs of features turned", "RotaryEmbedding", "") \
 F(sinusoidal, 0, "sines and cosines of positions", "", "") \
 F(alibi, 0, "a mask that falls with the distance", "", "") \
 F(dropout, 1, "zeros with a chance of p, the rest over 1 - p", "Dropout", "nn.functional.dropout") \
 F(dropout_channels, 1, "dropout of whole channels", "", "nn.functional.dropout2d") \
 F(alpha_dropout, 1, "dropout that keeps mean and variance, for SELU", "", "nn.functional.alpha_dropout") \
 F(gumbel_softmax, 1, "softmax of logits with Gumbel noise, or its largest as one-hot", "", "nn.functional.gumbel_softmax") \
 F(nll_loss, 1, "negative log-likelihood of labels", "NegativeLogLikelihoodLoss", "nn.functional.nll_loss") \
 F(multi_margin_loss, 1, "hinge of all wrong classes", "", "nn.functional.multi_margin_loss") \
 F(mse_loss, 1, "squared differences", "", "nn.functional.mse_loss") \
 F(l1_loss, 1, "absolute differences", "", "nn.functional.l1_loss") \
 F(huber_loss, 1, "squares near 0, lines beyond", "", "nn.functional.huber_loss") \
 F(smooth_l1_loss, 1, "Huber over its bound", "", "nn.functional.smooth_l1_loss") \
 F(binary_cross_entropy, 1, "cross-entropy of probabilities of one class", "", "nn.functional.binary_cross_entropy") \
 F(binary_cross_entropy_logits, 1, "cross-entropy of logits of one class", "", "nn.functional.binary_cross_entropy_with_logits") \
 F(multilabel_soft_margin_loss, 1, "cross-entropy of logits of classes each by itself", "", "nn.functional.multilabel_soft_margin_loss") \
 F(focal_loss, 1, "cross-entropy that counts what is hard", "", "") \
 F(kl_div, 1, "Kullback-Leibler divergence", "", "nn.functional.kl_div") \
 F(poisson_nll_loss, 1, "negative log-likelihood of counts", "", "nn.functional.poisson_nll_loss") \
 F(gaussian_nll_loss, 1, "negative log-likelihood of a normal distribution", "", "nn.functional.gaussian_nll_loss") \
 F(margin_ranking_loss, 1, "which of two is larger, by a margin", "", "nn.functional.margin_ranking_loss") \
 F(hinge_embedding_loss, 1, "near or apart by a margin", "", "nn.functional.hinge_embedding_loss") \
 F(soft_margin_loss, 1, "log(1 + exp(-y x))", "", "nn.functional.soft_margin_loss") \
 F(cosine_embedding_loss, 1, "cosine near 1 or below a margin", "", "nn.functional.cosine_embedding_loss") \
 F(triplet_margin_loss, 1, "nearer to the same than to another, by a margin", "", "nn.functional.triplet_margin_loss") \
 F(dice_loss, 1, "1 - overlap of two masks", "", "") \
 F(mse, 1, "mean of squared differences", "", "nn.functional.mse_loss")
/* clang-format on */
#endif
