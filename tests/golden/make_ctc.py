"""Writes ctc.txt: losses of torch.nn.functional.ctc_loss over log_softmax(x), and gradients of the logits x for sum(loss r), in f64. Made with
torch==2.13.0. Run: python make_ctc.py > ctc.txt (in this folder). NAME.attr: blank, zero_infinity, labels one after the other.
"""
import torch
import torch.nn.functional as F

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__
torch.manual_seed(5)
torch.set_num_threads(1)


def emit(name, value):
    value = value.detach().to(torch.float64)
    print(name, value.dim(), *value.shape, *("%.17g" % v for v in value.flatten().tolist()))


def case(name, T, N, C, S, lengths=None, counts=None, blank=0, zero_infinity=False, flat=False, labels=None):
    x = (torch.randn(T, N, C, dtype=torch.float64) * 2).requires_grad_()
    lengths = torch.tensor(lengths or [T] * N)
    counts = torch.tensor(counts or [S] * N)
    if labels is None:
        labels = torch.randint(0, C - 1, (N, S))
        labels = labels + (labels >= blank)
    given = torch.cat([labels[n, : counts[n]] for n in range(N)]) if flat else labels
    r = torch.randn(N, dtype=torch.float64)
    loss = F.ctc_loss(F.log_softmax(x, -1), given, lengths, counts, blank=blank, reduction="none", zero_infinity=zero_infinity)
    emit(f"{name}.attr", torch.tensor([blank, zero_infinity, flat]))
    for k, v in [("x", x), ("labels", given), ("lengths", lengths), ("counts", counts), ("r", r), ("loss", loss)]:
        emit(f"{name}.{k}", v)
    emit(f"{name}.grad", torch.autograd.grad((loss * r).sum(), x)[0])
    mean = F.ctc_loss(F.log_softmax(x, -1), given, lengths, counts, blank=blank, reduction="mean", zero_infinity=zero_infinity)
    emit(f"{name}.mean", mean)


print("# torch", torch.__version__.split("+")[0], "make_ctc.py")
case("plain", 8, 3, 5, 3)
case("lengths", 9, 4, 4, 4, lengths=[9, 7, 5, 8], counts=[4, 2, 1, 0])
case("flat", 9, 4, 4, 4, lengths=[9, 7, 5, 9], counts=[4, 0, 1, 3], flat=True)
case("blank", 7, 2, 4, 2, blank=3)
case("repeats", 9, 2, 3, 4, labels=torch.tensor([[1, 1, 2, 2], [2, 2, 2, 1]]))
case("impossible", 4, 3, 3, 3, zero_infinity=True, labels=torch.tensor([[1, 1, 1], [1, 2, 1], [2, 2, 1]]))
case("long", 60, 2, 12, 20, lengths=[60, 41])
