"""Writes losses.safetensors: values and gradients of PyTorch's losses, for tests/ops/test_losses.c. Made with torch==2.13.0.
Run: python make_losses.py (in this folder).

A case NAME has NAME/attr, ten i64: which loss (the order of KINDS), the reduction (0 mean, 1 sum, 2 none), and numbers of that loss, fractions
in millionths; NAME/in0 ..., NAME/out, and where there is a gradient NAME/r and NAME/grad0 ..., as in cases.py.
"""
import torch
import torch.nn.functional as F

from cases import begin, inputs_of, put, rand, result, save

begin(11)
REDUCTIONS = ["mean", "sum", "none"]  # in the order of wick_reduction
KINDS = ["cross_entropy", "nll", "multi_margin", "mse", "l1", "huber", "smooth_l1", "bce", "bce_logits", "multilabel", "focal", "kl_div", "poisson",
         "gaussian", "ranking", "hinge", "soft_margin", "cosine", "triplet", "dice"]


def case(name, fn, *inputs, attr=(), grad=True):
    """fn(reduction, *inputs) for every reduction; grad: the inputs that have a gradient, True for all floats."""
    kind = KINDS.index(name.split(".")[0])
    for i, reduction in enumerate(REDUCTIONS):
        at = f"{name}.{reduction}"
        numbers = [kind, i] + [round(a * 1e6) if isinstance(a, float) else int(a) for a in attr]
        put(f"{at}/attr", torch.tensor(numbers + [0] * (10 - len(numbers))))
        xs = inputs_of(at, inputs, grad)
        result(at, fn(reduction, *xs), xs)


# ---- cross-entropy: attr is smoothing, whether and which label is ignored, whether there are weights -------------------------------------------
def cross_entropy(smoothing, ignored=None):
    def fn(reduction, x, t, w=None):
        return F.cross_entropy(x, t, weight=w, reduction=reduction, label_smoothing=smoothing, ignore_index=-100 if ignored is None else ignored)
    return fn


shapes = {"1d": (5,), "2d": (7, 4), "one": (3, 1), "wide": (3, 37), "4d": (2, 3, 4, 2)}
for key, shape in shapes.items():
    classes = shape[0] if len(shape) == 1 else shape[1]
    places = shape[:1] * (len(shape) > 1) + shape[2:]
    x, labels, w = rand(*shape, lo=-5, hi=5), torch.randint(classes, places), rand(classes, lo=0.1, hi=3)
    q = torch.softmax(rand(*shape), 1 if len(shape) > 1 else 0)
    some = labels.clone()
    if some.dim():
        some.flatten()[::2] = -7
    for smoothing in (0.0, 0.15):
        tag = f"cross_entropy.{key}.{round(smoothing * 100)}"
        case(tag, cross_entropy(smoothing), x, labels, attr=(smoothing, 0, 0, 0))
        case(tag + ".weight", cross_entropy(smoothing), x, labels, w, attr=(smoothing, 0, 0, 1), grad=[0])
        case(tag + ".ignore", cross_entropy(smoothing, -7), x, some, attr=(smoothing, 1, -7, 0))
        case(tag + ".both", cross_entropy(smoothing, classes - 1), x, labels, w, attr=(smoothing, 1, classes - 1, 1), grad=[0])
        case(tag + ".soft", cross_entropy(smoothing), x, q, attr=(smoothing, 0, 0, 0))
        case(tag + ".soft_weight", cross_entropy(smoothing), x, q, w, attr=(smoothing, 0, 0, 1), grad=[0, 1])
case("cross_entropy.large", cross_entropy(0.1), rand(6, 5, lo=-900, hi=900), torch.tensor([4, 0, 2, 2, 1, 3]), attr=(0.1, 0, 0, 0))
case("cross_entropy.none", cross_entropy(0.1), rand(0, 3), torch.zeros(0, dtype=torch.int64), attr=(0.1, 0, 0, 0))
case("cross_entropy.all_ignored", cross_entropy(0.1, 2), rand(3, 4), torch.tensor([2, 2, 2]), attr=(0.1, 1, 2, 0))


# ---- of labels: as cross-entropy; of the margin p and margin and whether there are weights ------------------------------------------------------
for key, shape in {"1d": (5,), "2d": (7, 4), "4d": (2, 3, 4, 2)}.items():
    classes = shape[0] if len(shape) == 1 else shape[1]
    places = shape[:1] * (len(shape) > 1) + shape[2:]
    x, labels, w = F.log_softmax(rand(*shape), 0 if len(shape) == 1 else 1), torch.randint(classes, places), rand(classes, lo=0.1, hi=3)
    some = labels.clone()
    if some.dim():
        some.flatten()[1::3] = -100
    case(f"nll.{key}", lambda r, t, i: F.nll_loss(t, i, reduction=r), x, labels)
    case(f"nll.{key}.weight", lambda r, t, i, w: F.nll_loss(t, i, w, reduction=r), x, labels, w, attr=(0, 0, 0, 1), grad=[0])
    case(f"nll.{key}.both", lambda r, t, i, w: F.nll_loss(t, i, w, reduction=r), x, some, w, attr=(0, 1, -100, 1), grad=[0])
    if len(shape) < 3:
        for p, margin in ((1, 1.0), (2, 0.3)):
            case(f"multi_margin.{key}.{p}", lambda r, t, i: F.multi_margin_loss(t, i, p, margin, reduction=r), x, labels, attr=(p, margin, 0))
            case(f"multi_margin.{key}.{p}.weight", lambda r, t, i, w: F.multi_margin_loss(t, i, p, margin, w, reduction=r), x, labels, w,
                 attr=(p, margin, 1), grad=[0])

# ---- elementwise ------------------------------------------------------------------------------------------------------------------------------
for key, shape in {"0d": (), "2d": (5, 7)}.items():
    x, t, w, p, y = rand(*shape), rand(*shape), rand(*shape, lo=0.1), rand(*shape, lo=0.02, hi=0.98), rand(*shape, lo=0.0, hi=1.0).round()
    q = rand(*shape, lo=0.0, hi=1.0)
    case(f"mse.{key}", lambda r, x, t: F.mse_loss(x, t, reduction=r), x, t)
    case(f"l1.{key}", lambda r, x, t: F.l1_loss(x, t, reduction=r), x, t)
    for d in (0.3, 1.5):
        case(f"huber.{key}.{d}", lambda r, x, t: F.huber_loss(x, t, reduction=r, delta=d), x, t, attr=(d,))
        case(f"smooth_l1.{key}.{d}", lambda r, x, t: F.smooth_l1_loss(x, t, reduction=r, beta=d), x, t, attr=(d,))
    case(f"smooth_l1.{key}.0", lambda r, x, t: F.smooth_l1_loss(x, t, reduction=r, beta=0.0), x, t)
    case(f"bce.{key}", lambda r, p, t: F.binary_cross_entropy(p, t, reduction=r), p, q)
    case(f"bce.{key}.weight", lambda r, p, t, w: F.binary_cross_entropy(p, t, w, reduction=r), p, q, w, grad=[0, 1], attr=(1,))
    case(f"bce_logits.{key}", lambda r, x, t: F.binary_cross_entropy_with_logits(x, t, reduction=r), 5 * x, q)
    case(f"bce_logits.{key}.weight", lambda r, x, t, w: F.binary_cross_entropy_with_logits(x, t, w, reduction=r), 5 * x, y, w, attr=(1,), grad=[0, 1])
    case(f"bce_logits.{key}.pos", lambda r, x, t, w: F.binary_cross_entropy_with_logits(x, t, reduction=r, pos_weight=w), 5 * x, y,
         rand(*shape[-1:], lo=0.2, hi=3), attr=(0, 1), grad=[0, 1])
    case(f"bce_logits.{key}.both", lambda r, x, t, w, pw: F.binary_cross_entropy_with_logits(x, t, w, reduction=r, pos_weight=pw), 5 * x, y, w,
         rand(*shape[-1:], lo=0.2, hi=3), attr=(1, 1), grad=[0, 1])
    case(f"kl_div.{key}", lambda r, x, t: F.kl_div(x, t, reduction=r), -w, p)
    case(f"kl_div.{key}.log", lambda r, x, t: F.kl_div(x, t, reduction=r, log_target=True), -w, t, attr=(1,))
    for full in (False, True):
        for log in (True, False):
            case(f"poisson.{key}.{full:d}{log:d}", lambda r, x, t: F.poisson_nll_loss(x, t, log_input=log, full=full, reduction=r), x if log else w,
                 (4 * q).round(), attr=(not log, full), grad=[0])
        case(f"gaussian.{key}.{full:d}", lambda r, x, t, v: F.gaussian_nll_loss(x, t, v, full=full, eps=0.4, reduction=r), x, t, q + 0.05,
             attr=(0.4, full)) if shape else None
    s = torch.where(y > 0, 1.0, -1.0)
    case(f"ranking.{key}", lambda r, a, b, y: F.margin_ranking_loss(a, b, y, 0.3, reduction=r), x, t, s, attr=(0.3,), grad=[0, 1])
    case(f"hinge.{key}", lambda r, x, y: F.hinge_embedding_loss(x, y, 0.7, reduction=r), x, s, attr=(0.7,), grad=[0])
    case(f"soft_margin.{key}", lambda r, x, y: F.soft_margin_loss(x, y, reduction=r), 5 * x, s, grad=[0])

    def focal(r, x, t, alpha, gamma):  # torchvision's sigmoid_focal_loss
        p, ce = torch.sigmoid(x), F.binary_cross_entropy_with_logits(x, t, reduction="none")
        loss = ce * (1 - (p * t + (1 - p) * (1 - t))) ** gamma
        loss = loss * (alpha * t + (1 - alpha) * (1 - t)) if alpha >= 0 else loss
        return loss if r == "none" else getattr(loss, r)()

    for alpha, gamma in ((0.25, 2.0), (-1.0, 1.5)):
        case(f"focal.{key}.{gamma}", lambda r, x, t: focal(r, x, t, alpha, gamma), x, y, attr=(alpha, gamma), grad=[0])
edge = torch.tensor([0.0, 1.0, 1.0, 0.0, 1e-30])
case("bce.edge", lambda r, p, t: F.binary_cross_entropy(p, t, reduction=r), edge, torch.tensor([0.0, 1.0, 0.0, 1.0, 0.5]), grad=[])
case("bce_logits.edge", lambda r, x, t: F.binary_cross_entropy_with_logits(x, t, reduction=r), torch.tensor([-800.0, 800, 800, -800, 0]),
     torch.tensor([0.0, 1.0, 0.0, 1.0, 0.5]))
case("kl_div.edge", lambda r, x, t: F.kl_div(x, t, reduction=r), torch.tensor([-1.0, -2.0, -3.0]), torch.tensor([0.0, 0.5, 0.5]), grad=[0])
case("mse.none", lambda r, x, t: F.mse_loss(x, t, reduction=r), rand(0, 3), rand(0, 3))

# ---- over axes --------------------------------------------------------------------------------------------------------------------------------
for key, shape in {"2d": (6, 5), "3d": (2, 3, 4)}.items():
    x, t, y, w = rand(*shape), rand(*shape), rand(*shape, lo=0.0, hi=1.0).round(), rand(shape[-1], lo=0.1)
    case(f"multilabel.{key}", lambda r, x, t: F.multilabel_soft_margin_loss(x, t, reduction=r), 5 * x, y, grad=[0])
    case(f"multilabel.{key}.weight", lambda r, x, t, w: F.multilabel_soft_margin_loss(x, t, w, reduction=r), 5 * x, y, w, grad=[0], attr=(1,))
    for p in (2.0, 1.0, 3.0):
        for swap in (0, 1):
            case(f"triplet.{key}.{p}.{swap}", lambda r, a, b, c: F.triplet_margin_loss(a, b, c, 0.7, p, swap=bool(swap), reduction=r), x, t,
                 rand(*shape), attr=(0.7, p, swap))
for key, shape in {"1d": (6,), "2d": (7, 5)}.items():
    y = torch.where(rand(*shape[:-1]) > 0, 1.0, -1.0)
    case(f"cosine.{key}", lambda r, a, b, y: F.cosine_embedding_loss(a, b, y, 0.1, reduction=r), rand(*shape), rand(*shape), y, attr=(0.1,), grad=[0, 1])


def dice(r, p, t, smooth):
    axes = tuple(range(2, p.dim()))
    loss = 1 - (2 * (p * t).sum(axes) + smooth) / ((p + t).sum(axes) + smooth)
    return loss if r == "none" else getattr(loss, r)()


for key, shape in {"3d": (2, 3, 5), "4d": (2, 2, 3, 4)}.items():
    case(f"dice.{key}", lambda r, p, t: dice(r, p, t, 0.5), rand(*shape, lo=0.0, hi=1.0), rand(*shape, lo=0.0, hi=1.0).round(), attr=(0.5,))

save("losses.safetensors", metadata={"made_by": "make_losses.py", "torch": "2.13.0"})
print(len(tensors), "tensors")
