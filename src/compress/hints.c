/* hints.c: what a network learns from the layers of another one besides its results. */
#define WICK_NO_SITES
#include "tensor/tensor.h"
#include "wick/compress.h"
#include "wick/ops.h"
#include "wick/pointwise.h"
#include "wick/shape.h"

/* "f32[32,16,8,8]" */
static void describe(const wick_tensor *x, char *text, size_t size) {
    wick_str s = wick_str_on(text, size);
    wick_type_print(&s, &x->value->type);
}
/* The dims of both but `apart` agree; NULL: they do. */
static wick_tensor *check(const char *what, wick_tensor *student, wick_tensor *teacher) {
    if (!student || !teacher) {
        const wick_tensor *other = student ? student : teacher;
        return other ? wick_poison(wick_tensor_context(other), WICK_ERR_INVALID, "%s: a tensor is NULL", what) : NULL;
    }
    if (student->error || teacher->error) return student->error ? student : teacher;
    wick_context *ctx = wick_tensor_context(student);
    const int rank = wick_tensor_rank(student);
    bool same = rank >= 2 && rank == wick_tensor_rank(teacher) && wick_dtype_is_float(wick_tensor_dtype(student)) &&
                wick_tensor_dtype(student) == wick_tensor_dtype(teacher);
    for (int d = 0; d < rank && same; d++) same = d == 1 || wick_tensor_dim(student, d) == wick_tensor_dim(teacher, d);
    if (same) return NULL;
    char a[160], b[160];
    describe(student, a, sizeof a);
    describe(teacher, b, sizeof b);
    return wick_poison(ctx, WICK_ERR_SHAPE,
                       "%s: the student's %s and the teacher's %s are to agree in all but their channels, dim 1", what,
                       a, b);
}

wick_tensor *wick_hint_features(wick_model *model, const char *name, wick_tensor *student, wick_tensor *teacher) {
    wick_tensor *wrong = check("hint_features", student, teacher);
    if (wrong || !student) return wrong;
    const int64_t channels = wick_tensor_dim(teacher, 1);
    wick_tensor *made = wick_tensor_rank(student) == 2 ? wick_nn_linear(model, name, student, channels)
                                                       : wick_nn_conv(model, name, student, channels, 1, NULL);
    return wick_mean(wick_square(wick_sub(made, wick_stop_gradient(teacher))), WICK_ALL_AXES, false);
}

/* [N, C, ...] -> [N, places]: the mean of squares over the channels, over its own length. */
static wick_tensor *attention_map(wick_tensor *x) {
    wick_tensor *map = wick_flatten(wick_mean(wick_square(x), WICK_AXES(1), false), 1);
    wick_tensor *squares = wick_sum(wick_square(map), WICK_AXES(1), true);
    /* of nothing but zeros there is no direction, and no gradient */
    return wick_div(map, wick_sqrt(wick_maximum(squares, wick_like(squares, 1e-24))));
}
wick_tensor *wick_hint_attention(wick_tensor *student, wick_tensor *teacher) {
    wick_tensor *wrong = check("hint_attention", student, teacher);
    if (wrong || !student) return wrong;
    if (wick_tensor_rank(student) < 3)
        return wick_poison(wick_tensor_context(student), WICK_ERR_SHAPE,
                           "hint_attention: a map is over places, behind the samples and channels; rank %d has none",
                           wick_tensor_rank(student));
    wick_tensor *apart = wick_sub(attention_map(student), wick_stop_gradient(attention_map(teacher)));
    return wick_mean(wick_square(apart), WICK_ALL_AXES, false);
}
