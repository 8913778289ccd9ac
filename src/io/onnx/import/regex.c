/* regex.c: Thompson's construction (1968), written to an array of instructions with relative jumps: a part of it stays
 * right where it is moved or copied, so that quantifiers and "|" put instructions around what stands there, and nothing
 * recurses. Matching follows all paths at once. */
#include "io/onnx/import/regex.h"

enum {
    MOST_CODE = 20000,
    MOST_RANGES = 20000,
    MOST_OPEN = 200,
    MOST_REPEAT = 1000,
    NO_ATOM = -1,
    LAST_POINT = 0x10ffff
};

typedef enum op { OP_RANGES, OP_SPLIT, OP_JUMP, OP_BEGIN, OP_END, OP_WORD, OP_NO_WORD, OP_MATCH } op;
typedef struct instr {
    op op;
    bool negated;
    int32_t x, y; /* RANGES: the first and how many; SPLIT: two ways from here; JUMP: one */
} instr;
typedef struct range {
    uint32_t low, high;
} range;

struct wick_regex {
    instr *code;
    range *ranges;
    int32_t n, n_ranges;
    int32_t *lists; /* two lists of threads, marks, a stack */
};

typedef struct open_group {
    /* where it and its last branch begin; the last of the jumps to its end, linked by x; -1: none */
    int32_t start, branch, jumps;
    bool fold, dot_all;           /* flags of what is around it */
} open_group;

typedef struct parser {
    wick_regex *r;
    const uint8_t *at, *end, *begin;
    open_group open[MOST_OPEN];
    int depth;
    int32_t atom; /* where what a quantifier applies to begins */
    bool fold, dot_all;
    wick_msg *msg;
    wick_status status;
} parser;

static bool fail(parser *p, wick_status status, const char *what) {
    if (p->status == WICK_OK)
        p->status = wick_msg_set(p->msg, status, "expression, byte %zu: %s", (size_t)(p->at - p->begin), what);
    return false;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

static bool insert(parser *p, int32_t at, instr i) {
    if (p->r->n >= MOST_CODE) return fail(p, WICK_ERR_UNSUPPORTED, "it is too large");
    memmove(&p->r->code[at + 1], &p->r->code[at], (size_t)(p->r->n++ - at) * sizeof i);
    p->r->code[at] = i;
    return true;
}
static bool append(parser *p, op o, int32_t x, int32_t y) {
    return insert(p, p->r->n, (instr){.op = o, .x = x, .y = y});
}
static bool copy(parser *p, int32_t from, int32_t n) {
    if (p->r->n + n > MOST_CODE) return fail(p, WICK_ERR_UNSUPPORTED, "it is too large");
    memmove(&p->r->code[p->r->n], &p->r->code[from], (size_t)n * sizeof(instr));
    p->r->n += n;
    return true;
}
static bool add_range(parser *p, uint32_t low, uint32_t high) {
    if (p->r->n_ranges + 3 > MOST_RANGES) return fail(p, WICK_ERR_UNSUPPORTED, "it is too large");
    p->r->ranges[p->r->n_ranges++] = (range){low, high};
    for (int up = 0; up < 2 && p->fold; up++) { /* the letters among them, in the other case */
        const uint32_t a = up ? 'A' : 'a', first = low > a ? low : a, last = high < a + 25 ? high : a + 25;
        if (first <= last) p->r->ranges[p->r->n_ranges++] = (range){first ^ 32, last ^ 32};
    }
    return true;
}
/* The ranges from `first` on are an atom. */
static bool end_ranges(parser *p, int32_t first, bool negated) {
    p->atom = p->r->n;
    return insert(p, p->r->n, (instr){.op = OP_RANGES, .negated = negated, .x = first, .y = p->r->n_ranges - first});
}

/* ---- quantifiers ------------------------------------------------------------------------------------------------- */

/* What begins at `from` at least and at most so often; most -1: without end. */
static bool repeat(parser *p, int32_t from, int32_t least, int32_t most) {
    const int32_t n = p->r->n - from;
    if (most == 0) {
        p->r->n = from;
        return true;
    }
    /* x{2,4}: x x (x (x)?)?; x{2,}: x x x*; x*: split x jump */
    for (int32_t i = 1; i < least; i++)
        if (!copy(p, from, n)) return false;
    if (most < 0) {
        if (least) return append(p, OP_SPLIT, -n, 1); /* the last again, or on */
        return insert(p, from, (instr){.op = OP_SPLIT, .x = 1, .y = n + 2}) && append(p, OP_JUMP, -(n + 1), 0);
    }
    const int32_t more = most - least;
    if (!least) { /* the first copy is one of those that may be left out */
        if (!insert(p, from, (instr){.op = OP_SPLIT, .x = 1, .y = more * (n + 1)})) return false;
        for (int32_t i = 1; i < more; i++)
            if (!append(p, OP_SPLIT, 1, (more - i) * (n + 1)) || !copy(p, from + 1, n)) return false;
        return true;
    }
    for (int32_t i = 0; i < more; i++)
        if (!append(p, OP_SPLIT, 1, (more - i) * (n + 1)) || !copy(p, from, n)) return false;
    return true;
}

static int32_t number(parser *p) {
    int32_t v = -1;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++) {
        v = (v < 0 ? 0 : v) * 10 + (*p->at - '0');
        if (v > MOST_REPEAT) return fail(p, WICK_ERR_FORMAT, "repeats more than 1000 times"), MOST_REPEAT;
    }
    return v;
}
/* "{n}", "{n,}" or "{n,m}"; anything else is text. */
static bool braces(parser *p, int32_t *least, int32_t *most) {
    const uint8_t *was = p->at++;
    *least = *most = number(p);
    if (*least >= 0 && p->at < p->end && *p->at == ',') {
        p->at++;
        *most = number(p);
    }
    if (*least >= 0 && p->at < p->end && *p->at == '}') return p->at++, true;
    p->at = was;
    return false;
}

/* ---- characters -------------------------------------------------------------------------------------------------- */

/* The next code point of UTF-8; a byte that is none stands for itself. */
static uint32_t next_point(const uint8_t **at, const uint8_t *end) {
    const uint8_t *s = *at;
    const int n = s[0] < 0xc0 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    uint32_t v = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));
    if (end - s < n || s[0] >= 0xf8) return *at = s + 1, s[0];
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return *at = s + 1, s[0];
        v = v << 6 | (s[i] & 0x3f);
    }
    return *at = s + n, v;
}

static bool add_set(parser *p, const uint32_t (*set)[2], int n, bool negated) {
    uint32_t from = 0;
    const bool fold = p->fold;
    bool good = true;
    p->fold = false; /* they have both cases */
    for (int i = 0; i < n && good; i++) {
        if (!negated) good = add_range(p, set[i][0], set[i][1]);
        else if (set[i][0] > from) good = add_range(p, from, set[i][0] - 1);
        from = set[i][1] + 1;
    }
    if (negated && good) good = add_range(p, from, LAST_POINT);
    p->fold = fold;
    return good;
}
/* \d, \w, \s and their opposites; false: the letter is none of them. */
static bool letter_set(parser *p, uint8_t letter) {
    static const uint32_t digits[][2] = {{'0', '9'}}, words[][2] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
                          spaces[][2] = {{9, 10}, {12, 13}, {' ', ' '}};
    const bool negated = letter >= 'A' && letter <= 'Z';
    switch (letter | 32) {
    case 'd': add_set(p, digits, 1, negated); return true;
    case 'w': add_set(p, words, 4, negated); return true;
    case 's': add_set(p, spaces, 3, negated); return true;
    default: return false;
    }
}
static bool posix_set(parser *p) { /* at "[:" */
    static const struct {
        const char *name;
        int n;
        uint32_t set[4][2];
    } sets[] = {{"alnum", 3, {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
                {"alpha", 2, {{'A', 'Z'}, {'a', 'z'}}},
                {"ascii", 1, {{0, 127}}},
                {"blank", 2, {{9, 9}, {32, 32}}},
                {"cntrl", 2, {{0, 31}, {127, 127}}},
                {"digit", 1, {{'0', '9'}}},
                {"graph", 1, {{33, 126}}},
                {"lower", 1, {{'a', 'z'}}},
                {"print", 1, {{32, 126}}},
                {"punct", 4, {{33, 47}, {58, 64}, {91, 96}, {123, 126}}},
                {"space", 2, {{9, 13}, {32, 32}}},
                {"upper", 1, {{'A', 'Z'}}},
                {"word", 4, {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
                {"xdigit", 3, {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}}};
    const uint8_t *at = p->at + 2;
    const bool negated = at < p->end && *at == '^';
    at += negated;
    for (size_t i = 0; i < WICK_COUNTOF(sets); i++) {
        const size_t n = strlen(sets[i].name);
        if ((size_t)(p->end - at) < n + 2 || memcmp(at, sets[i].name, n) || at[n] != ':' || at[n + 1] != ']') continue;
        p->at = at + n + 2;
        return add_set(p, sets[i].set, sets[i].n, negated);
    }
    return fail(p, WICK_ERR_FORMAT, "no such class");
}

/* What stands behind a backslash for one character; at the letter. */
static bool escaped(parser *p, uint32_t *point) {
    static const char letters[] = "abfnrtv";
    static const uint8_t values[] = {7, 8, 12, 10, 13, 9, 11};
    if (p->at >= p->end) return fail(p, WICK_ERR_FORMAT, "ends with a backslash");
    const uint8_t c = *p->at;
    const char *known = c && c != 'b' ? strchr(letters, c) : NULL;
    if (known) return *point = values[known - letters], p->at++, true;
    if (c == 'x') {
        const bool braced = p->end - p->at > 1 && p->at[1] == '{';
        uint32_t v = 0;
        int n = 0;
        for (p->at += 1 + braced; p->at < p->end && n < (braced ? 6 : 2); p->at++, n++) {
            const uint8_t d = *p->at | 32;
            if (*p->at >= '0' && *p->at <= '9') v = v * 16 + (*p->at - '0');
            else if (d >= 'a' && d <= 'f') v = v * 16 + (uint32_t)(d - 'a') + 10;
            else break;
        }
        if (!n || v > LAST_POINT || (braced && (p->at >= p->end || *p->at++ != '}')))
            return fail(p, WICK_ERR_FORMAT, "\\x without a code point");
        return *point = v, true;
    }
    if (c == '0') return *point = 0, p->at++, true;
    if (c >= 128) return *point = next_point(&p->at, p->end), true;
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return fail(p, c == 'p' || c == 'P' || c == 'C' ? WICK_ERR_UNSUPPORTED : WICK_ERR_FORMAT,
                    "an escape that is none, or not known here");
    return *point = c, p->at++, true;
}

static bool class_set(parser *p) { /* behind "[" */
    const int32_t first = p->r->n_ranges;
    const bool negated = p->at < p->end && *p->at == '^';
    p->at += negated;
    for (bool any = false;; any = true) {
        uint32_t low, high;
        if (p->at >= p->end) return fail(p, WICK_ERR_FORMAT, "a class without its end");
        if (*p->at == ']' && any) break;
        if (*p->at == '[' && p->end - p->at > 1 && p->at[1] == ':') {
            if (!posix_set(p)) return false;
            continue;
        }
        if (*p->at == '\\') {
            p->at++;
            if (p->at < p->end && letter_set(p, *p->at)) {
                p->at++;
                continue;
            }
            if (!escaped(p, &low)) return false;
        } else low = next_point(&p->at, p->end);
        high = low;
        if (p->end - p->at > 1 && *p->at == '-' && p->at[1] != ']') {
            p->at++;
            if (*p->at == '\\') {
                p->at++;
                if (!escaped(p, &high)) return false;
            } else high = next_point(&p->at, p->end);
            if (high < low) return fail(p, WICK_ERR_FORMAT, "a range that runs backwards");
        }
        if (!add_range(p, low, high)) return false;
    }
    p->at++;
    return end_ranges(p, first, negated);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static bool open_at(parser *p) {
    if (p->depth >= MOST_OPEN) return fail(p, WICK_ERR_UNSUPPORTED, "groups lie within each other deeper than 200");
    p->open[p->depth++] =
        (open_group){.start = p->r->n, .branch = p->r->n, .jumps = -1, .fold = p->fold, .dot_all = p->dot_all};
    p->atom = NO_ATOM;
    return true;
}
/* Behind "(": "?:", "?P<name>", "?<name>", "?flags:", or flags for the rest of the group around it. */
static bool begin_group(parser *p) {
    if (p->at >= p->end || *p->at != '?') return open_at(p);
    p->at++;
    const uint8_t *name = p->at;
    if (name < p->end && *name == 'P') name++;
    if (name < p->end && *name == '<') {
        while (name < p->end && *name != '>') name++;
        if (name >= p->end) return fail(p, WICK_ERR_FORMAT, "a name without its end");
        p->at = name + 1;
        return open_at(p);
    }
    bool on = true, fold = p->fold, dot_all = p->dot_all;
    for (; p->at < p->end; p->at++) switch (*p->at) {
        case 'i': fold = on; break;
        case 's': dot_all = on; break;
        case '-': on = false; break;
        case ':':
            p->at++;
            if (!open_at(p)) return false;
            p->fold = fold, p->dot_all = dot_all;
            return true;
        case ')':
            p->at++;
            p->fold = fold, p->dot_all = dot_all;
            p->atom = NO_ATOM;
            return true;
        default: return fail(p, WICK_ERR_UNSUPPORTED, "a group of another kind, or flags other than i and s");
        }
    return fail(p, WICK_ERR_FORMAT, "a group without its end");
}
/* "|": what stood there gets a way around it, and a jump to the group's end. */
static bool next_branch(parser *p) {
    open_group *g = &p->open[p->depth - 1];
    const int32_t n = p->r->n - g->branch;
    if (!insert(p, g->branch, (instr){.op = OP_SPLIT, .x = 1, .y = n + 2}) || !append(p, OP_JUMP, g->jumps, 0))
        return false;
    g->jumps = p->r->n - 1;
    g->branch = p->r->n;
    p->atom = NO_ATOM;
    return true;
}
static void end_group(parser *p) {
    const open_group g = p->open[--p->depth];
    for (int32_t at = g.jumps, before; at >= 0; at = before) {
        before = p->r->code[at].x;
        p->r->code[at].x = p->r->n - at;
    }
    p->atom = g.start;
    p->fold = g.fold, p->dot_all = g.dot_all;
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

static bool literal(parser *p, uint32_t point) {
    const int32_t first = p->r->n_ranges;
    return add_range(p, point, point) && end_ranges(p, first, false);
}
static bool assertion(parser *p, op o) {
    p->atom = p->r->n;
    return append(p, o, 0, 0);
}
static bool backslash(parser *p) { /* at the letter */
    uint32_t point;
    const int32_t first = p->r->n_ranges;
    if (p->at < p->end) switch (*p->at) {
        case 'A': return p->at++, assertion(p, OP_BEGIN);
        case 'z': return p->at++, assertion(p, OP_END);
        case 'b': return p->at++, assertion(p, OP_WORD);
        case 'B': return p->at++, assertion(p, OP_NO_WORD);
        case 'Q':
            for (p->at++; p->at < p->end && !(p->end - p->at > 1 && p->at[0] == '\\' && p->at[1] == 'E');)
                if (!literal(p, next_point(&p->at, p->end))) return false;
            if (p->at < p->end) p->at += 2;
            return true;
        default:
            if (!letter_set(p, *p->at)) break;
            p->at++;
            return p->status == WICK_OK && end_ranges(p, first, false);
        }
    return escaped(p, &point) && literal(p, point);
}

static bool parse_one(parser *p) {
    const uint8_t c = *p->at;
    int32_t least = 0, most = -1;
    switch (c) {
    case '(': return p->at++, begin_group(p);
    case '|': return p->at++, next_branch(p);
    case '[': return p->at++, class_set(p);
    case '\\': return p->at++, backslash(p);
    case '^': return p->at++, assertion(p, OP_BEGIN);
    case '$': return p->at++, assertion(p, OP_END);
    case ')':
        if (p->depth < 2) return fail(p, WICK_ERR_FORMAT, "a \")\" without its \"(\"");
        p->at++;
        end_group(p);
        return true;
    case '.': {
        const int32_t first = p->r->n_ranges;
        const bool fold = p->fold;
        p->at++;
        p->fold = false;
        const bool good = p->dot_all ? add_range(p, 0, LAST_POINT) : add_range(p, 0, 9) && add_range(p, 11, LAST_POINT);
        p->fold = fold;
        return good && end_ranges(p, first, false);
    }
    case '*':
    case '+':
    case '?':
        p->at++;
        least = c == '+', most = c == '?' ? 1 : -1;
        break;
    case '{':
        if (!braces(p, &least, &most)) return p->status == WICK_OK && (p->at++, literal(p, '{'));
        if (most >= 0 && most < least) return fail(p, WICK_ERR_FORMAT, "repeats from many to few");
        break;
    default: return literal(p, next_point(&p->at, p->end));
    }
    if (p->atom == NO_ATOM) return fail(p, WICK_ERR_FORMAT, "nothing to repeat");
    if (p->at < p->end && *p->at == '?') p->at++; /* lazy */
    const int32_t atom = p->atom;
    p->atom = NO_ATOM; /* RE2 refuses "a**" too */
    return repeat(p, atom, least, most);
}

void wick_regex_free(wick_regex **regex) {
    wick_regex *r = *regex;
    if (!r) return;
    wick_release(NULL, r->code, (MOST_CODE + 1) * sizeof *r->code);
    wick_release(NULL, r->ranges, MOST_RANGES * sizeof *r->ranges);
    wick_release(NULL, r->lists, (size_t)5 * (MOST_CODE + 1) * sizeof *r->lists);
    wick_release(NULL, r, sizeof *r);
    *regex = NULL;
}

wick_status wick_regex_new(const char *text, size_t size, wick_regex **out, wick_msg *msg) {
    wick_regex *r = *out = wick_calloc(NULL, sizeof *r);
    if (!r) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory");
    r->code = wick_alloc(NULL, (MOST_CODE + 1) * sizeof *r->code);
    r->ranges = wick_alloc(NULL, MOST_RANGES * sizeof *r->ranges);
    r->lists = wick_calloc(NULL, (size_t)5 * (MOST_CODE + 1) * sizeof *r->lists);
    parser *p = wick_calloc(NULL, sizeof *p);
    wick_status status = WICK_ERR_NOMEM;
    if (r->code && r->ranges && r->lists && p) {
        p->r = r, p->msg = msg;
        p->begin = p->at = (const uint8_t *)text;
        p->end = p->at + size;
        bool good = open_at(p);
        while (good && p->at < p->end) good = parse_one(p);
        if (good && p->depth > 1) good = fail(p, WICK_ERR_FORMAT, "a \"(\" without its \")\"");
        if (good) end_group(p), append(p, OP_MATCH, 0, 0);
        status = p->status;
    } else wick_msg_set(msg, status, "out of memory");
    wick_release(NULL, p, sizeof *p);
    if (status != WICK_OK) wick_regex_free(out);
    return status;
}

size_t wick_regex_size(const wick_regex *r) { return (size_t)r->n; }

/* ---- matching ---------------------------------------------------------------------------------------------------- */

static bool is_word(const uint8_t *s, const uint8_t *begin, const uint8_t *end) {
    return s >= begin && s < end &&
           ((*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_');
}

/* Adds what is reached from `pc` without reading a character. marks: the round in which an instruction was added last.
 */
static int32_t reach(const wick_regex *r, int32_t pc, int32_t *list, int32_t n, int32_t *marks, int32_t round,
                     int32_t *stack, const uint8_t *at, const uint8_t *begin, const uint8_t *end) {
    int32_t depth = 0;
    stack[depth++] = pc;
    while (depth) {
        pc = stack[--depth];
        if (marks[pc] == round) continue;
        marks[pc] = round;
        const instr *i = &r->code[pc];
        bool on = false;
        switch (i->op) {
        case OP_SPLIT: /* each instruction is expanded once a round: 2 n entries are enough */
            stack[depth++] = pc + i->y;
            stack[depth++] = pc + i->x;
            break;
        case OP_JUMP: stack[depth++] = pc + i->x; break;
        case OP_BEGIN: on = at == begin; break;
        case OP_END: on = at == end; break;
        case OP_WORD: on = is_word(at - 1, begin, end) != is_word(at, begin, end); break;
        case OP_NO_WORD: on = is_word(at - 1, begin, end) == is_word(at, begin, end); break;
        default: list[n++] = pc;
        }
        if (on) stack[depth++] = pc + 1;
    }
    return n;
}

bool wick_regex_full_match(wick_regex *r, const char *text, size_t size, wick_watch *watch) {
    const uint8_t *begin = (const uint8_t *)text, *end = begin + size, *at = begin;
    int32_t *now = r->lists, *next = now + MOST_CODE + 1, *marks = next + MOST_CODE + 1, *stack = marks + MOST_CODE + 1,
            round = 1;
    memset(marks, 0, (size_t)r->n * sizeof *marks);
    int32_t n = reach(r, 0, now, 0, marks, round, stack, at, begin, end);
    while (at < end && n && wick_watch_spend(watch, 4 * (size_t)n + (size_t)r->n)) {
        const uint32_t point = next_point(&at, end);
        int32_t m = 0;
        if (round == INT32_MAX - 1) memset(marks, 0, (size_t)r->n * sizeof *marks), round = 0;
        round++;
        for (int32_t k = 0; k < n; k++) {
            const instr *i = &r->code[now[k]];
            if (i->op != OP_RANGES) continue;
            bool in = false;
            if (i->y > 16) wick_watch_spend(watch, (size_t)i->y); /* the next character looks */
            for (int32_t g = 0; g < i->y && !in; g++)
                in = point >= r->ranges[i->x + g].low && point <= r->ranges[i->x + g].high;
            if (in != i->negated) m = reach(r, now[k] + 1, next, m, marks, round, stack, at, begin, end);
        }
        int32_t *was = now;
        now = next, next = was, n = m;
    }
    for (int32_t k = 0; k < n && at == end; k++)
        if (r->code[now[k]].op == OP_MATCH) return true;
    return false;
}
