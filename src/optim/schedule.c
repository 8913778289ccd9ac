/* schedule.c: the learning rate as a function of the step. Each formula is written once, over numbers that are either
 * plain or recorded. */
#include <math.h>

#include "optim/optim.h"

static const double pi = 3.14159265358979323846;

/* A number: a 0-d f64 to be computed in the plan, or where tensor is NULL a value. Both operands of an operation are of
 * one sort. */
typedef struct num {
    wick_tensor *tensor;
    double value;
} num;
static num recorded(wick_tensor *t) { return (num){t, 0}; }
static num plain(double v) { return (num){NULL, v}; }
static num like(num a, double v) { return a.tensor ? recorded(wick_like(a.tensor, v)) : plain(v); }
static num add(num a, num b) { return a.tensor ? recorded(wick_add(a.tensor, b.tensor)) : plain(a.value + b.value); }
static num sub(num a, num b) { return a.tensor ? recorded(wick_sub(a.tensor, b.tensor)) : plain(a.value - b.value); }
static num mul(num a, num b) { return a.tensor ? recorded(wick_mul(a.tensor, b.tensor)) : plain(a.value * b.value); }
static num over(num a, num b) { return a.tensor ? recorded(wick_div(a.tensor, b.tensor)) : plain(a.value / b.value); }
static num power(num a, num b) {
    return a.tensor ? recorded(wick_pow(a.tensor, b.tensor)) : plain(pow(a.value, b.value));
}
static num least(num a, num b) {
    return a.tensor ? recorded(wick_minimum(a.tensor, b.tensor)) : plain(fmin(a.value, b.value));
}
static num most(num a, num b) {
    return a.tensor ? recorded(wick_maximum(a.tensor, b.tensor)) : plain(fmax(a.value, b.value));
}
static num floor_of(num a) { return a.tensor ? recorded(wick_floor(a.tensor)) : plain(floor(a.value)); }
static num log_of(num a) { return a.tensor ? recorded(wick_log(a.tensor)) : plain(log(a.value)); }
static num cos_of(num a) { return a.tensor ? recorded(wick_cos(a.tensor)) : plain(cos(a.value)); }
/* b where a >= bound, else c. */
static num from(num a, double bound, num b, num c) {
    if (!a.tensor) return a.value >= bound ? b : c;
    return recorded(wick_where(wick_ge(a.tensor, wick_like(a.tensor, bound)), b.tensor, c.tensor));
}
static num times(num a, double factor) { return mul(a, like(a, factor)); }
static num less(num a, double b) { return sub(a, like(a, b)); }
static num clamp(num a) { return least(like(a, 1), most(like(a, 0), a)); }

/* ---- the schedules ----------------------------------------------------------------------------------------------- */

typedef num (*schedule_fn)(const wick_schedule *s, num lr, num t);

/* From a to b as part goes from 0 to 1, along half a cosine. */
static num wave(num a, num b, num part) {
    num height = times(add(like(part, 1), cos_of(times(part, pi))), 0.5);
    return add(b, mul(sub(a, b), height));
}
/* How much of [warmup, total] has passed. */
static num passed(const wick_schedule *s, num t) {
    return clamp(over(less(t, (double)s->warmup), like(t, (double)(s->total - s->warmup))));
}

static num constant(const wick_schedule *s, num lr, num t) { return (void)s, (void)t, lr; }
static num step(const wick_schedule *s, num lr, num t) {
    return mul(lr, power(like(t, s->gamma), floor_of(over(t, like(t, (double)s->every)))));
}
static num multi_step(const wick_schedule *s, num lr, num t) {
    for (int i = 0; i < WICK_MILESTONES && s->milestones[i]; i++)
        lr = from(t, (double)s->milestones[i], times(lr, s->gamma), lr);
    return lr;
}
static num exponential(const wick_schedule *s, num lr, num t) { return mul(lr, power(like(t, s->gamma), t)); }
static num cosine(const wick_schedule *s, num lr, num t) { return wave(lr, like(t, s->lr_min), passed(s, t)); }
static num polynomial(const wick_schedule *s, num lr, num t) {
    num left = sub(like(t, 1), passed(s, t)), end = like(t, s->lr_min);
    if (s->power != 1) left = power(left, like(t, s->power));
    return add(end, mul(sub(lr, end), left));
}
static num linear(const wick_schedule *s, num lr, num t) {
    return mul(lr, add(like(t, s->from), times(passed(s, t), s->to - s->from)));
}
/* Periods of every, every mult, every mult^2 ...: period n begins at every (mult^n - 1) / (mult - 1). The small number
 * keeps a logarithm that is just below a whole number from being rounded down; it is nothing to periods of up to 10^9
 * steps. */
static num restarts(const wick_schedule *s, num lr, num t) {
    const double every = (double)s->every, mult = s->mult;
    num at = most(like(t, 0), less(t, (double)s->warmup)), begin, length;
    if (mult == 1) {
        begin = times(floor_of(over(at, like(t, every))), every);
        length = like(t, every);
    } else {
        num n = over(log_of(add(times(at, (mult - 1) / every), like(t, 1))), like(t, log(mult)));
        num scale = power(like(t, mult), floor_of(add(n, like(t, 1e-9))));
        begin = times(less(scale, 1), every / (mult - 1));
        length = times(scale, every);
    }
    return wave(lr, like(t, s->lr_min), over(sub(at, begin), length));
}
/* Smith, Topin 2018, as PyTorch's OneCycleLR: up from lr / div by step `rise` total - 1, and down to lr / div /
 * final_div at step total - 1; with three phases down to lr / div as long as it went up, and then to the end. */
static num one_cycle(const wick_schedule *s, num lr, num t) {
    const double top = s->rise * (double)s->total - 1, end = (double)s->total - 1,
                 back = s->three_phases ? 2 * s->rise * (double)s->total - 2 : end;
    num low = times(lr, 1 / s->div), last = times(low, 1 / s->final_div), to = s->three_phases ? low : last;
    num up = clamp(times(t, 1 / top)), down = clamp(times(less(t, top), 1 / (back - top)));
    num rate = from(t, top, s->linear ? add(lr, mul(sub(to, lr), down)) : wave(lr, to, down),
                    s->linear ? add(low, mul(sub(lr, low), up)) : wave(low, lr, up));
    if (!s->three_phases) return rate;
    num out = clamp(times(less(t, back), 1 / (end - back)));
    return from(t, back, s->linear ? add(low, mul(sub(last, low), out)) : wave(low, last, out), rate);
}

/* The momentum beside it: from most to least as the rate rises, and back as it falls. */
static num momentum_at(const wick_schedule *s, num t) {
    const double top = s->rise * (double)s->total - 1,
                 back = s->three_phases ? 2 * s->rise * (double)s->total - 2 : (double)s->total - 1;
    num most_of = like(t, s->momentum_most), least_of = like(t, s->momentum_least);
    num down = clamp(times(t, 1 / top)), up = clamp(times(less(t, top), 1 / (back - top)));
    if (s->linear)
        return from(t, top, add(least_of, mul(sub(most_of, least_of), up)),
                    add(most_of, mul(sub(least_of, most_of), down)));
    return from(t, top, wave(least_of, most_of, up), wave(most_of, least_of, down));
}

static num rate_of(const wick_schedule *s, num lr, num t);

/* The product of the parts' factors. */
static num chained(const wick_schedule *s, num lr, num t) {
    num one = like(t, 1), rate = lr;
    for (int i = 0; i < s->n_parts; i++)
        rate =
            mul(rate, s->parts[i].lr_min == 0 ? rate_of(&s->parts[i], one, t) : over(rate_of(&s->parts[i], lr, t), lr));
    return rate;
}
/* Part i from its milestone on, each counting from 0. */
static num sequence(const wick_schedule *s, num lr, num t) {
    num rate = rate_of(&s->parts[0], lr, t);
    for (int i = 1; i < s->n_parts; i++) {
        const double begin = (double)s->milestones[i - 1];
        rate = from(t, begin, rate_of(&s->parts[i], lr, most(like(t, 0), less(t, begin))), rate);
    }
    return rate;
}

static const schedule_fn schedules[WICK_SCHEDULE_KINDS] = {
    [WICK_SCHEDULE_CONSTANT] = constant,     [WICK_SCHEDULE_STEP] = step,
    [WICK_SCHEDULE_COSINE] = cosine,         [WICK_SCHEDULE_MULTI_STEP] = multi_step,
    [WICK_SCHEDULE_EXPONENTIAL] = exponential, [WICK_SCHEDULE_RESTARTS] = restarts,
    [WICK_SCHEDULE_ONE_CYCLE] = one_cycle,   [WICK_SCHEDULE_POLYNOMIAL] = polynomial,
    [WICK_SCHEDULE_LINEAR] = linear,         [WICK_SCHEDULE_CHAINED] = chained,
    [WICK_SCHEDULE_SEQUENCE] = sequence,
};

static num rate_of(const wick_schedule *s, num lr, num t) {
    num rate = schedules[s->kind](s, lr, t);
    return s->warmup > 0 ? mul(rate, least(like(t, 1), over(add(t, like(t, 1)), like(t, (double)s->warmup)))) : rate;
}

/* ---- what is wrong with one, and its defaults -------------------------------------------------------------------- */

enum { DEEP = 4 }; /* schedules of schedules */

void wick_schedule_defaults(wick_schedule *s) {
    wick_by_default(&s->power, 1);
    wick_by_default(&s->from, 1.0 / 3);
    wick_by_default(&s->to, 1);
    wick_by_default(&s->mult, 1);
    wick_by_default(&s->rise, 0.3);
    wick_by_default(&s->div, 25);
    wick_by_default(&s->final_div, 1e4);
    wick_by_default(&s->momentum_least, 0.85);
    wick_by_default(&s->momentum_most, 0.95);
}

static const char *bad_list(const wick_schedule *s, int n) {
    for (int i = 0; i < n; i++)
        if (s->milestones[i] < 1 || (i && s->milestones[i] <= s->milestones[i - 1]))
            return "milestones must ascend from 1";
    return NULL;
}
static const char *bad_parts(const wick_schedule *s, int depth) {
    if (s->n_parts < 1 || !s->parts) return "a chained or sequential schedule needs parts";
    if (depth == DEEP) return "schedules of schedules are too deep";
    for (int i = 0; i < s->n_parts; i++) {
        wick_schedule part = s->parts[i];
        wick_schedule_defaults(&part);
        const char *bad = wick_schedule_bad(&part, depth + 1);
        if (bad) return bad;
    }
    if (s->kind == WICK_SCHEDULE_CHAINED) return NULL;
    return s->n_parts > WICK_MILESTONES ? "a sequence has too many parts" : bad_list(s, s->n_parts - 1);
}

const char *wick_schedule_bad(const wick_schedule *s, int depth) {
    const wick_schedule_kind kind = s->kind;
    if ((unsigned)kind >= WICK_SCHEDULE_KINDS) return "no such schedule";
    if (s->warmup < 0) return "warmup is negative";
    if (!(s->lr_min >= 0)) return "lr_min is negative";
    if (kind == WICK_SCHEDULE_STEP && s->every < 1) return "the step schedule needs every >= 1";
    if (kind == WICK_SCHEDULE_RESTARTS && s->every < 1) return "restarts need every >= 1";
    if (kind == WICK_SCHEDULE_RESTARTS && !(s->mult >= 1 && s->mult == floor(s->mult)))
        return "mult of restarts is a whole number from 1";
    if ((kind == WICK_SCHEDULE_STEP || kind == WICK_SCHEDULE_EXPONENTIAL || kind == WICK_SCHEDULE_MULTI_STEP) &&
        !(s->gamma > 0))
        return "the schedule needs gamma > 0";
    if ((kind == WICK_SCHEDULE_COSINE || kind == WICK_SCHEDULE_POLYNOMIAL || kind == WICK_SCHEDULE_LINEAR) &&
        s->total <= s->warmup)
        return "the schedule needs total > warmup";
    if (s->cycle_momentum && (kind != WICK_SCHEDULE_ONE_CYCLE || depth))
        return "cycle_momentum is of one cycle, by itself";
    if (!(s->momentum_least >= 0 && s->momentum_least < 1 && s->momentum_most >= 0 && s->momentum_most < 1))
        return "momentum_least and momentum_most must be in [0, 1)";
    if (kind == WICK_SCHEDULE_POLYNOMIAL && !(s->power >= 0)) return "power is negative";
    if (kind == WICK_SCHEDULE_LINEAR && !(s->from >= 0 && s->to >= 0))
        return "the linear schedule's factors must not be negative";
    if (kind == WICK_SCHEDULE_ONE_CYCLE) {
        const double top = s->rise * (double)s->total - 1, back = s->three_phases ? 2 * top : (double)s->total - 1;
        if (s->warmup) return "one cycle has a rise of its own, and takes no warmup";
        if (!(s->rise > 0 && s->rise < 1 && s->div > 0 && s->final_div > 0))
            return "one cycle needs rise in (0, 1), and positive div and final_div";
        if (!(top > 0 && back > top && (!s->three_phases || (double)s->total - 1 > back)))
            return "one cycle needs a larger total for its phases";
    }
    if (kind == WICK_SCHEDULE_MULTI_STEP) {
        int n = 0;
        while (n < WICK_MILESTONES && s->milestones[n]) n++;
        return n ? bad_list(s, n) : "the multi-step schedule needs milestones";
    }
    return kind == WICK_SCHEDULE_CHAINED || kind == WICK_SCHEDULE_SEQUENCE ? bad_parts(s, depth) : NULL;
}

int wick_schedule_parts(const wick_schedule *s) {
    int n = 0;
    const bool whole = s->kind == WICK_SCHEDULE_CHAINED || s->kind == WICK_SCHEDULE_SEQUENCE;
    for (int i = 0; whole && i < s->n_parts; i++) n += 1 + wick_schedule_parts(&s->parts[i]);
    return n;
}

wick_schedule *wick_schedule_copy_parts(wick_schedule *s, wick_schedule *room) {
    if (s->kind != WICK_SCHEDULE_CHAINED && s->kind != WICK_SCHEDULE_SEQUENCE) return room;
    wick_schedule *parts = room;
    memcpy(parts, s->parts, (size_t)s->n_parts * sizeof *parts);
    s->parts = parts;
    room += s->n_parts;
    for (int i = 0; i < s->n_parts; i++) {
        wick_schedule_defaults(&parts[i]);
        room = wick_schedule_copy_parts(&parts[i], room);
    }
    return room;
}

/* ---- asked for --------------------------------------------------------------------------------------------------- */

/* The parts of the options' own schedule may still lack their defaults. */
static double rate_at(const wick_schedule *s, double lr, double t) {
    wick_schedule whole = *s, room[64];
    wick_schedule_defaults(&whole);
    if (wick_schedule_bad(&whole, 0) || wick_schedule_parts(&whole) > (int)WICK_COUNTOF(room)) return lr;
    wick_schedule_copy_parts(&whole, room);
    return rate_of(&whole, plain(lr), plain(t)).value;
}
double wick_optim_lr_at(const wick_optim_options *options, int64_t at) {
    const wick_optim_options o = wick_optim_defaults(options);
    return rate_at(&o.schedule, o.lr, (double)at);
}

/* Rates are slots: another one makes no new plan. The rest of a schedule is part of the plan. */
wick_tensor *wick_schedule_record(const wick_optim_options *o, wick_tensor *at) {
    num t = recorded(wick_cast(at, WICK_F64)), lr = recorded(wick_scalar(wick_tensor_context(at), WICK_F64, o->lr));
    return rate_of(&o->schedule, lr, t).tensor;
}
wick_tensor *wick_schedule_momentum(const wick_optim_options *o, wick_tensor *at) {
    return o->schedule.cycle_momentum ? momentum_at(&o->schedule, recorded(wick_cast(at, WICK_F64))).tensor : NULL;
}
