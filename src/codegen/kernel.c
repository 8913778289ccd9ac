/* kernel.c: from a formula to a graph. Recursive descent into a list of nodes, operands before what uses them; how deep
 * and how much is bounded before anything is made of it. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "ops/ops.h"
#include "wick/kernel.h"

enum { NAME_MAX_ = 32 };
typedef enum kind { NUMBER, INPUT, FUNCTION } kind;

typedef struct node {
    uint8_t kind, arity;
    bool whole; /* NUMBER: written without point and exponent, or made of such */
    uint16_t op; /* FUNCTION: wick_ew. INPUT: which */
    uint16_t in[3];
    double number;
} node;

struct wick_kernel {
    wick_context *ctx;
    int n, n_in;
    char names[WICK_KERNEL_INPUTS][NAME_MAX_];
    node nodes[WICK_KERNEL_NODES];
};

/* ---- the functions: the rows of the table, by name --------------------------------------------------------------- */

typedef struct function {
    const char *name;
    uint8_t arity;
    union {
        wick_tensor *(*one)(wick_tensor *);
        wick_tensor *(*two)(wick_tensor *, wick_tensor *);
        wick_tensor *(*three)(wick_tensor *, wick_tensor *, wick_tensor *);
    } call;
} function;
#define CALL_1(name) {.one = wick_##name}
#define CALL_2(name) {.two = wick_##name}
#define CALL_3(name) {.three = wick_##name}
#define ROW(name, arity, ...) {#name, arity, CALL_##arity(name)},
static const function functions[WICK_EW_COUNT] = {WICK_EW_TABLE(ROW)};

static int function_named(const char *name) {
    if (!strcmp(name, "max")) return WICK_EW_maximum;
    if (!strcmp(name, "min")) return WICK_EW_minimum;
    for (int i = 0; i < WICK_EW_COUNT; i++)
        if (!strcmp(name, functions[i].name)) return i;
    return -1;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct reader {
    wick_kernel *k;
    const char *text, *at;
    int depth;
    locale_t c; /* numbers are written with a point, whatever the host's locale has */
} reader;

static int failed(reader *r, const char *at, const char *fmt, ...) WICK_PRINTF(3, 4);
static int failed(reader *r, const char *at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    wick_msg_setv(&r->k->ctx->msg, WICK_ERR_INVALID, fmt, args);
    va_end(args);
    wick_msg_prefix(&r->k->ctx->msg, "kernel: column %d: ", (int)(at - r->text) + 1);
    return -1;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static void skip(reader *r) { r->at += strspn(r->at, " \t\r\n"); }
/* Takes the sign if it comes next, and no longer one does: * is not the begin of **. */
static bool take(reader *r, const char *sign) {
    skip(r);
    const size_t n = strlen(sign);
    if (strncmp(r->at, sign, n) != 0) return false;
    const char next = r->at[n];
    if ((*sign == '*' && n == 1 && next == '*') || (strchr("<>!", *sign) && n == 1 && next == '=')) return false;
    r->at += n;
    return true;
}
static int add(reader *r, const char *at, node n) {
    if (r->k->n == WICK_KERNEL_NODES)
        return failed(r, at, "the expression has more than %d operations, numbers and names", WICK_KERNEL_NODES);
    r->k->nodes[r->k->n] = n;
    return r->k->n++;
}

/* Arithmetic of numbers alone is done now, in f64. */
static bool folds(const wick_kernel *k, int op, int arity, const int *in, double *number, bool *whole) {
    double v[3] = {0};
    *whole = op != WICK_EW_div;
    for (int i = 0; i < arity; i++) {
        if (k->nodes[in[i]].kind != NUMBER) return false;
        v[i] = k->nodes[in[i]].number;
        *whole &= k->nodes[in[i]].whole;
    }
    switch (op) {
    case WICK_EW_add: *number = v[0] + v[1]; return true;
    case WICK_EW_sub: *number = v[0] - v[1]; return true;
    case WICK_EW_mul: *number = v[0] * v[1]; return true;
    case WICK_EW_div: *number = v[0] / v[1]; return true;
    case WICK_EW_neg: *number = -v[0]; return true;
    default: return false;
    }
}
static int apply(reader *r, const char *at, int op, int arity, const int *in) {
    node n = {.kind = FUNCTION, .arity = (uint8_t)arity, .op = (uint16_t)op};
    for (int i = 0; i < arity; i++) {
        if (in[i] < 0) return -1;
        n.in[i] = (uint16_t)in[i];
    }
    if (folds(r->k, op, arity, in, &n.number, &n.whole)) n.kind = NUMBER;
    return add(r, at, n);
}

static int expression(reader *r);
/* A part of what is being read, one level further in. */
static int within(reader *r, int (*part)(reader *)) {
    if (r->depth == WICK_KERNEL_DEPTH)
        return failed(r, r->at, "the expression is nested deeper than %d", WICK_KERNEL_DEPTH);
    r->depth++;
    const int value = part(r);
    r->depth--;
    return value;
}

static int number(reader *r) {
    const char *at = r->at;
    char token[64];
    size_t n = strspn(at, "0123456789"), digits = n;
    bool whole = at[n] != '.';
    if (!whole) digits--, digits += strspn(at + n + 1, "0123456789") + 1, n += 1 + strspn(at + n + 1, "0123456789");
    if (!digits) return failed(r, at, "a number has digits");
    if (at[n] == 'e' || at[n] == 'E') {
        const size_t sign = at[n + 1] == '-' || at[n + 1] == '+', exponent = strspn(at + n + 1 + sign, "0123456789");
        if (!exponent) return failed(r, at + n, "an exponent has digits");
        n += 1 + sign + exponent;
        whole = false;
    }
    if (is_letter(at[n]) || at[n] == '.') return failed(r, at + n, "a number ends before \"%c\"", at[n]);
    if (n >= sizeof token) return failed(r, at, "a number of %zu characters is too long", n);
    memcpy(token, at, n);
    token[n] = 0;
    r->at += n;
    return add(r, at, (node){.kind = NUMBER, .whole = whole, .number = strtod_l(token, NULL, r->c)});
}

static int call(reader *r, const char *at, const char *name) {
    const int op = function_named(name);
    if (op < 0) return failed(r, at, "there is no elementwise function %s (`wick ops` lists them)", name);
    int in[3] = {0, 0, 0}, n = 0;
    for (bool more = !take(r, ")"); more; more = !take(r, ")")) {
        if (n && !take(r, ",")) return failed(r, r->at, "\",\" or \")\" must follow in %s(...)", name);
        skip(r);
        const char *argument = r->at;
        const int value = within(r, expression);
        if (value < 0) return -1;
        if (n == functions[op].arity)
            return failed(r, argument, "%s takes %d argument%s", name, functions[op].arity,
                          functions[op].arity > 1 ? "s" : "");
        in[n++] = value;
    }
    if (n < functions[op].arity)
        return failed(r, at, "%s takes %d argument%s, not %d", name, functions[op].arity,
                      functions[op].arity > 1 ? "s" : "", n);
    return apply(r, at, op, n, in);
}

static int named(reader *r) {
    const char *at = r->at;
    char name[NAME_MAX_];
    size_t n = 0;
    while (is_letter(at[n]) || is_digit(at[n])) n++;
    if (n >= sizeof name) return failed(r, at, "a name of %zu characters is too long", n);
    memcpy(name, at, n);
    name[n] = 0;
    r->at += n;
    if (take(r, "(")) return call(r, at, name);
    if (!strcmp(name, "pi")) return add(r, at, (node){.kind = NUMBER, .number = 3.14159265358979323846});
    if (!strcmp(name, "inf")) return add(r, at, (node){.kind = NUMBER, .number = INFINITY});
    if (!strcmp(name, "nan")) return add(r, at, (node){.kind = NUMBER, .number = NAN});
    int i = 0;
    while (i < r->k->n_in && strcmp(r->k->names[i], name) != 0) i++;
    if (i == WICK_KERNEL_INPUTS)
        return failed(r, at, "%s is one input too many: there may be %d", name, WICK_KERNEL_INPUTS);
    if (i == r->k->n_in) memcpy(r->k->names[r->k->n_in++], name, n + 1);
    return add(r, at, (node){.kind = INPUT, .op = (uint16_t)i});
}

static int primary(reader *r) {
    skip(r);
    if (is_digit(*r->at) || *r->at == '.') return number(r);
    if (is_letter(*r->at)) return named(r);
    const char *at = r->at;
    if (!*at) return failed(r, at, "the expression ends where a value must stand");
    if (!take(r, "("))
        return failed(r, at,
                      *at >= ' ' && *at <= '~' ? "a value must stand here, not \"%c\""
                                               : "a value must stand here, not byte %d",
                      *at);
    const int value = within(r, expression);
    if (value >= 0 && !take(r, ")")) return failed(r, r->at, "\")\" must follow");
    return value;
}

static int sign(reader *r);
static int power(reader *r) {
    const int base = primary(r);
    const char *at = r->at;
    if (base < 0 || !take(r, "**")) return base;
    return apply(r, at, WICK_EW_pow, 2, (int[]){base, within(r, sign)});
}
static int sign(reader *r) {
    skip(r);
    const char *at = r->at;
    if (take(r, "-")) return apply(r, at, WICK_EW_neg, 1, (int[]){within(r, sign)});
    if (take(r, "!")) return apply(r, at, WICK_EW_logical_not, 1, (int[]){within(r, sign)});
    return take(r, "+") ? within(r, sign) : power(r);
}

/* Operators of two operands, by level, from what binds least. */
static const struct {
    const char *sign;
    uint16_t op;
} operators[][7] = {
    {{"||", WICK_EW_logical_or}},
    {{"&&", WICK_EW_logical_and}},
    {{"<=", WICK_EW_le},
     {">=", WICK_EW_ge},
     {"==", WICK_EW_eq},
     {"!=", WICK_EW_ne},
     {"<", WICK_EW_lt},
     {">", WICK_EW_gt}},
    {{"+", WICK_EW_add}, {"-", WICK_EW_sub}},
    {{"*", WICK_EW_mul}, {"/", WICK_EW_div}, {"%", WICK_EW_remainder}},
};
enum { COMPARISONS = 2 };
static int operations(reader *r, size_t level) {
    if (level == WICK_COUNTOF(operators)) return sign(r);
    int value = operations(r, level + 1);
    for (bool any = false; value >= 0;) {
        skip(r);
        const char *at = r->at;
        int i = 0;
        while (operators[level][i].sign && !take(r, operators[level][i].sign)) i++;
        if (!operators[level][i].sign) return value;
        if (any && level == COMPARISONS) return failed(r, at, "comparisons don't chain: write a < b && b < c");
        any = true;
        value = apply(r, at, operators[level][i].op, 2, (int[]){value, operations(r, level + 1)});
    }
    return value;
}
static int expression(reader *r) {
    const int value = operations(r, 0);
    const char *at = r->at;
    if (value < 0 || !take(r, "?")) return value;
    const int yes = within(r, expression);
    if (yes >= 0 && !take(r, ":")) return failed(r, r->at, "\":\" must follow");
    return yes < 0 ? -1 : apply(r, at, WICK_EW_where, 3, (int[]){value, yes, within(r, expression)});
}

static wick_status read_expression(wick_kernel *k, const char *text, locale_t c) {
    reader r = {.k = k, .text = text, .at = text, .c = c};
    if (strnlen(text, WICK_KERNEL_TEXT + 1) > WICK_KERNEL_TEXT)
        return wick_msg_set(&k->ctx->msg, WICK_ERR_INVALID, "kernel: column %d: the expression is longer",
                            WICK_KERNEL_TEXT + 1);
    if (expression(&r) < 0) return k->ctx->msg.status;
    skip(&r);
    if (*r.at)
        return failed(&r, r.at,
                      *r.at >= ' ' && *r.at <= '~' ? "\"%c\" is not expected here" : "byte %d is not expected here",
                      *r.at),
               WICK_ERR_INVALID;
    if (!k->n_in) return failed(&r, text, "the expression names no input"), WICK_ERR_INVALID;
    return WICK_OK;
}

wick_status wick_kernel_from_expr(wick_context *ctx, const char *expr, wick_kernel **kernel) {
    if (!kernel) return wick_context_fail(ctx, WICK_ERR_INVALID, "kernel_from_expr: kernel is NULL");
    *kernel = NULL;
    if (!expr) return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "kernel: no expression");
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    wick_kernel *k = c ? wick_calloc(&ctx->alloc, sizeof *k) : NULL;
    wick_status status = k ? WICK_OK : wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory reading a kernel");
    if (k) k->ctx = ctx, status = read_expression(k, expr, c);
    if (c) freelocale(c);
    if (status == WICK_OK)
        *kernel = k;
    else
        wick_kernel_free(&k);
    return status;
}
void wick_kernel_free(wick_kernel **kernel) {
    wick_kernel *k = kernel ? *kernel : NULL;
    if (!k) return;
    *kernel = NULL;
    wick_release(&k->ctx->alloc, k, sizeof *k);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

int wick_kernel_inputs(const wick_kernel *k) { return k->n_in; }
const char *wick_kernel_input(const wick_kernel *k, int i) { return i >= 0 && i < k->n_in ? k->names[i] : NULL; }

static const char *operator_of(int op) {
    for (size_t level = 0; level < WICK_COUNTOF(operators); level++)
        for (int i = 0; operators[level][i].sign; i++)
            if (operators[level][i].op == op) return operators[level][i].sign;
    return op == WICK_EW_pow ? "**" : NULL;
}
typedef struct text {
    char *out;
    size_t size, total;
} text;
static void put(text *t, const char *s) {
    for (; *s; s++, t->total++)
        if (t->total + 1 < t->size) t->out[t->total] = *s;
}
static void show(const wick_kernel *k, int i, text *t) { /* at most WICK_KERNEL_NODES deep */
    const node *n = &k->nodes[i];
    if (n->kind == NUMBER) {
        char digits[40];
        wick_str s = wick_str_on(digits, sizeof digits);
        for (int precision = 1; precision <= 17; precision++) {
            s = wick_str_on(digits, sizeof digits);
            wick_str_add(&s, "%.*g", precision, n->number);
            if (strtod(digits, NULL) == n->number) break;
        }
        if (!n->whole && isfinite(n->number) && !strpbrk(digits, ".,e")) wick_str_add(&s, ".0");
        for (char *p = digits; *p; p++)
            if (*p == ',') *p = '.'; /* the host's locale */
        put(t, digits);
        return;
    }
    if (n->kind == INPUT) {
        put(t, k->names[n->op]);
        return;
    }
    const char *infix = operator_of(n->op);
    if (infix) {
        put(t, "(");
        show(k, n->in[0], t);
        put(t, " "), put(t, infix), put(t, " ");
        show(k, n->in[1], t);
    } else {
        put(t, functions[n->op].name);
        put(t, "(");
        for (int j = 0; j < n->arity; j++) {
            if (j) put(t, ", ");
            show(k, n->in[j], t);
        }
    }
    put(t, ")");
}
size_t wick_kernel_format(const wick_kernel *k, char *buffer, size_t size) {
    if (!buffer) size = 0;
    text t = {buffer, size, 0};
    show(k, k->n - 1, &t);
    if (size) buffer[WICK_MIN(t.total, size - 1)] = 0;
    return t.total;
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

/* A number as a tensor beside `like`, or of the kernel's own dtype. */
static wick_tensor *number_beside(const wick_kernel *k, const node *n, const wick_tensor *like, wick_dtype own) {
    wick_dtype d = like ? wick_tensor_dtype(like) : own;
    if (like && !wick_dtype_is_float(d)) d = n->whole && d != WICK_BOOL ? d : n->whole ? WICK_I32 : WICK_F32;
    return wick_constant(k->ctx, d, n->number);
}

wick_tensor *wick_kernel_call(const wick_kernel *k, int n, wick_tensor *const *in) {
    wick_context *ctx = k->ctx;
    if (n != k->n_in || !in)
        return wick_poison(ctx, WICK_ERR_INVALID, "kernel: takes %d inputs, not %d", k->n_in, in ? n : 0);
    wick_dtype own = WICK_F32;
    for (int i = 0; i < n; i++) {
        if (!in[i]) return wick_poison(ctx, WICK_ERR_INVALID, "kernel: input %s is NULL", k->names[i]);
        if (in[i]->error) return wick_poison_like(ctx, in[i]->error);
        const wick_dtype both = i ? wick_dtype_promote(own, wick_tensor_dtype(in[i])) : wick_tensor_dtype(in[i]);
        if (both == WICK_DTYPE_COUNT)
            return wick_poison(ctx, WICK_ERR_DTYPE, "kernel: no dtype holds both %s and %s (input %s)",
                               wick_dtype_name(own), wick_dtype_name(wick_tensor_dtype(in[i])), k->names[i]);
        own = both;
    }
    if (!wick_dtype_is_float(own)) own = WICK_F32;
    wick_tensor *values[WICK_KERNEL_NODES];
    for (int i = 0; i < k->n; i++) {
        const node *at = &k->nodes[i];
        if (at->kind == INPUT) values[i] = in[at->op];
        if (at->kind == NUMBER) values[i] = NULL; /* made where it is used, for its dtype */
        if (at->kind != FUNCTION) continue;
        wick_tensor *args[3] = {NULL, NULL, NULL}, *beside = NULL;
        const int first = at->op == WICK_EW_where; /* the condition says nothing of the others' dtype */
        for (int j = at->arity - 1; j >= first; j--)
            if (values[at->in[j]]) beside = values[at->in[j]];
        for (int j = 0; j < at->arity; j++)
            if (!(args[j] = values[at->in[j]]))
                args[j] = number_beside(k, &k->nodes[at->in[j]], beside && !beside->error ? beside : NULL, own);
        const function *f = &functions[at->op];
        values[i] = at->arity == 1   ? f->call.one(args[0])
                    : at->arity == 2 ? f->call.two(args[0], args[1])
                                     : f->call.three(args[0], args[1], args[2]);
    }
    return values[k->n - 1]; /* no number: those fold alone, and there is an input */
}

static wick_status body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const wick_kernel *k = user;
    out[0] = wick_kernel_call(k, k->n_in, in);
    return WICK_OK;
}
wick_status wick_kernel_compile(const wick_kernel *k, int n, const wick_spec *in, const wick_compile_options *options,
                                wick_plan **plan) {
    if (!plan) return wick_context_fail(k->ctx, WICK_ERR_INVALID, "kernel_compile: plan is NULL");
    *plan = NULL;
    if (n != k->n_in || !in)
        return wick_msg_set(&k->ctx->msg, WICK_ERR_INVALID, "kernel: takes %d inputs, not %d", k->n_in, in ? n : 0);
    for (int i = 0; i < n; i++)
        if (in[i].name && strcmp(in[i].name, k->names[i]) != 0)
            return wick_msg_set(&k->ctx->msg, WICK_ERR_INVALID, "kernel: input %d is %s, not %.64s", i, k->names[i],
                                in[i].name);
    return wick_compile(k->ctx, body, (void *)(uintptr_t)k, n, in, 1, options, plan);
}
