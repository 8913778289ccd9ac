"""Writes linalg.safetensors: einsum, products and factorizations of PyTorch and NumPy, for tests/ops/test_linalg.c. Made with
torch==2.13.0 and numpy. Run: python make_linalg.py (in this folder).

The layout of a case is that of cases.py. An einsum case NAME has NAME/text too: the expression's characters.
"""
import random

import numpy as np
import torch

from cases import begin, case, put, rand, save, tensors

begin(11)
random.seed(5)


count = 0


def einsum(text, *inputs):
    global count
    name = f"einsum.{count}"
    count += 1
    case(name, lambda *xs: torch.einsum(text, *xs), *inputs)
    put(f"{name}/text", torch.tensor(list(text.encode()), dtype=torch.uint8))
    if "..." in text.split("->")[-1] or "..." not in text:
        want = np.einsum(text, *[x.double().numpy() for x in inputs])
        got = tensors[f"{name}/out"].numpy()
        assert want.shape == got.shape and np.allclose(want, got, rtol=1e-12, atol=1e-12), text


# By hand: the forms people write.
a, b, c = rand(3, 4), rand(4, 5), rand(5, 2)
for text, xs in [
    ("ij,jk->ik", (a, b)), ("ij,jk", (a, b)), ("ij,jk->ki", (a, b)), ("ij,jk->", (a, b)), ("ij->ji", (a,)), ("ij->", (a,)), ("ij->j", (a,)), ("ji", (a,)),
    ("ij,ij->", (a, rand(3, 4))), ("ij,ij->i", (a, rand(3, 4))), ("ij,ij->ij", (a, rand(3, 4))), ("i,j->ij", (rand(3), rand(4))), ("i,i", (rand(5), rand(5))),
    ("ii", (rand(4, 4),)), ("ii->i", (rand(4, 4),)), ("iij->j", (rand(3, 3, 2),)), ("iii->i", (rand(3, 3, 3),)), ("ijij->ij", (rand(2, 3, 2, 3),)),
    ("ij,jk,kl->il", (a, b, c)), ("ij,jk,kl,lm->im", (a, b, c, rand(2, 6))), ("bij,bjk->bik", (rand(2, 3, 4), rand(2, 4, 5))),
    ("bqhd,bkhd->bhqk", (rand(2, 3, 2, 4), rand(2, 5, 2, 4))), ("bhqk,bkhd->bqhd", (rand(2, 2, 3, 5), rand(2, 5, 2, 4))),
    ("bn,anm,bm->ba", (rand(2, 5), rand(3, 5, 4), rand(2, 4))), ("...ij,...jk->...ik", (rand(2, 3, 4), rand(4, 5))),
    ("...ij,...jk", (rand(2, 1, 3, 4), rand(3, 4, 2))), ("i...,i...->...", (rand(3, 2, 4), rand(3, 4))), ("...->...", (rand(2, 3),)), ("...i->i...", (rand(2, 3, 4),)),
    ("i...j->...", (rand(2, 3, 4),)), ("...", (rand(2, 3),)), ("...ii->...i", (rand(2, 3, 3),)), ("...ij->...ji", (rand(2, 3, 4),)), ("...ij->ij", (rand(2, 3, 4),)),
    (" i j , j k -> i k ", (a, b)), (",", (rand(), rand())), (",ij->ij", (rand(), a)), ("->", (rand(),)), ("Ab,bA->Ab", (rand(3, 2), rand(2, 3))), ("aB,Bc", (a, b)),
    ("ij,j->ij", (rand(3, 1), rand(4))), ("ij,jk->ik", (rand(3, 1), rand(4, 2))), ("ij,kj->ik", (rand(3, 5), rand(1, 5))), ("abcd,cdef->abef", (rand(2, 3, 2, 2), rand(2, 2, 3, 2))),
    ("ab,ac,ad->abcd", (rand(2, 3), rand(2, 2), rand(2, 4))), ("i,i,i->i", (rand(4), rand(4), rand(4))), ("ij,jk->ik", (rand(0, 3), rand(3, 2))), ("ij,jk->ik", (rand(2, 0), rand(0, 3))),
    ("abi,acj,aij->abc", (rand(2, 3, 4), rand(2, 2, 3), rand(2, 4, 3))), ("ijk,ilm,njm,nlk,abc->", (rand(2, 3, 2), rand(2, 2, 2), rand(3, 3, 2), rand(3, 2, 2), rand(2, 2, 2))),
    ("ea,fb,abcd,gc,hd->efgh", (rand(2, 3), rand(3, 2), rand(3, 2, 2, 2), rand(2, 2), rand(2, 2))),
]:
    einsum(text, *xs)
# At random: labels, repeated ones, ellipses, broadcast extents, any order of the result; up to ten operands.
for _ in range(120):
    letters = random.sample("abcdefgXYZ", random.randint(1, 6))
    extent = {x: random.choice([1, 2, 2, 3, 3, 4]) for x in letters}
    n = random.choice([1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 9, 10])
    dots = [random.choice([2, 3]) for _ in range(2)] if random.random() < 0.3 else None
    terms, xs = [], []
    for _ in range(n):
        labels = [random.choice(letters) for _ in range(random.randint(0, 4 if n < 5 else 2))]
        shape = [extent[x] for x in labels]
        if len(set(labels)) == len(labels):
            shape = [1 if random.random() < 0.06 else s for s in shape]
        term = "".join(labels)
        if dots and random.random() < 0.7:
            at, k = random.randint(0, len(labels)), random.randint(0, 2)
            own = [1 if random.random() < 0.2 else d for d in dots[2 - k:]]
            shape = shape[:at] + own + shape[at:]
            term = term[:at] + "..." + term[at:]
        terms.append(term)
        xs.append(rand(*shape))
    text = ",".join(terms)
    used = sorted(set(text) - set(",."))
    if random.random() < 0.7:
        out = random.sample(used, random.randint(0, min(len(used), 4)))
        if "..." in text:
            out.insert(random.randint(0, len(out)), "...")
        text += "->" + "".join(out)
    einsum(text, *xs)

# ---- products ----------------------------------------------------------------------------------------------------------------------
case("addmm", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=-2.0), rand(3, 5), a, b)
case("addmm.row", lambda c, a, b: torch.addmm(c, a, b), rand(5), a, b)
case("outer", torch.outer, rand(3), rand(4))
case("dot", torch.dot, rand(7), rand(7))
case("vdot", lambda x, y: torch.dot(x.flatten(), y.flatten()), rand(2, 3), rand(3, 2))
case("tensordot.2", lambda x, y: torch.tensordot(x, y, 2), rand(2, 3, 4), rand(3, 4, 5))
case("tensordot.0", lambda x, y: torch.tensordot(x, y, 0), rand(2, 3), rand(4))
case("tensordot.lists", lambda x, y: torch.tensordot(x, y, ([0, 2], [1, 0])), rand(2, 3, 4), rand(4, 2, 3))
case("kron", torch.kron, rand(2, 3), rand(3, 2))
case("kron.ranks", torch.kron, rand(3), rand(2, 2, 2))
case("matrix_power", lambda x: torch.linalg.matrix_power(x, 5), rand(2, 3, 3) * 0.5)
case("matrix_power.0", lambda x: torch.linalg.matrix_power(x, 0), rand(2, 3, 3), grad=False)
case("trace", lambda x: x.diagonal(dim1=-2, dim2=-1).sum(-1), rand(2, 3, 4))
for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64):
    info = torch.iinfo(dtype)
    x, y = (torch.randint(info.min // 2, info.max // 2, s, dtype=dtype) for s in ((2, 9, 7), (7, 37)))
    put(f"integers.{dtype}/in0", x)
    put(f"integers.{dtype}/in1", y)
    put(f"integers.{dtype}/out", torch.from_numpy(np.matmul(x.numpy(), y.numpy())))
x, y = torch.rand(4, 6) < 0.3, torch.rand(6, 5) < 0.3
put("integers.bool/in0", x), put("integers.bool/in1", y), put("integers.bool/out", torch.from_numpy(x.numpy() @ y.numpy()))

# ---- factorizations: what has arbitrary signs is compared through functions that do not see them ---------------------------------------
def spd(*shape):
    x = rand(*shape)
    return (x @ x.mT + shape[-1] * torch.eye(shape[-1])).float()


def regular(*shape):
    return rand(*shape) + 3 * torch.eye(shape[-1])


L = torch.linalg
for name, a, b in [("2x2", spd(2, 2), rand(2, 1)), ("batch", spd(2, 3, 5, 5), rand(2, 3, 5, 4)), ("one", spd(1, 1), rand(1, 3)), ("large", spd(50, 50) / 30, rand(50, 2)), ("none", spd(0, 3, 3), rand(0, 3, 2))]:
    case(f"cholesky.{name}", lambda x: L.cholesky(x), a)
    case(f"cholesky_upper.{name}", lambda x: L.cholesky(x, upper=True), a)
    if name != "none":
        case(f"cholesky_solve.{name}", lambda x, y: torch.cholesky_solve(y, L.cholesky(x)), a, b)
for name, a, b in [("2x2", regular(2, 2), rand(2, 1)), ("batch", regular(2, 3, 4, 4), rand(2, 3, 4, 3)), ("broadcast", regular(3, 4, 4), rand(2, 1, 4, 2)), ("large", (rand(52, 52) + 20 * torch.eye(52))[torch.randperm(52)], rand(52, 3)),
                   ("vector", regular(5, 5), rand(5)), ("vectors", regular(2, 5, 5), rand(2, 5)), ("shared", regular(4, 4), rand(2, 4, 3)),
                   ("pivots", torch.tensor([[0.0, 2, 1], [1, 0, 0], [3, 1, 0]]), rand(3, 2))]:
    case(f"solve.{name}", lambda x, y: L.solve(x, y), a, b)
    case(f"inverse.{name}", lambda x: L.inv(x), a)
    if name != "large":
        case(f"det.{name}", lambda x: L.det(x), a)
        case(f"slogdet.{name}", lambda x: L.slogdet(x)[1], a)
        case(f"sign.{name}", lambda x: L.slogdet(x)[0], a, grad=False)
case("det.singular", lambda x: L.det(x), torch.ones(3, 3), grad=False)
case("det.none", lambda x: L.det(x), torch.zeros(2, 0, 0), grad=False)
case("inverse.twice", lambda x: torch.autograd.grad(L.inv(x).pow(2).sum(), x, create_graph=True)[0], regular(3, 3))
case("solve.twice", lambda x, y: torch.autograd.grad(L.solve(x, y).pow(2).sum(), x, create_graph=True)[0], regular(3, 3), rand(3, 2))
case("cholesky.twice", lambda x: torch.autograd.grad(L.cholesky(x).pow(3).sum(), x, create_graph=True)[0], spd(3, 3))
case("det.twice", lambda x: torch.autograd.grad(L.det(x).sin(), x, create_graph=True)[0], regular(3, 3))
for upper in (False, True):
    for transposed in (False, True):
        for unit in (False, True):
            for right in (False, True):
                n = 6 if unit or right else 50
                a = (regular(n, n) if n < 50 else regular(n, n) * 0.05 + torch.eye(n)).contiguous()
                fn = lambda x, y: L.solve_triangular((x.mT if transposed else x), y, upper=upper != transposed, left=not right, unitriangular=unit)
                case(f"triangular.{upper:d}{transposed:d}{unit:d}{right:d}", fn, a, rand(3, n) if right else rand(n, 3))
case("triangular.batch", lambda x, y: L.solve_triangular(x, y, upper=False), regular(2, 1, 3, 3), rand(4, 3, 2))
for m, n in [(3, 3), (5, 2), (2, 5), (1, 1), (4, 1), (30, 4), (3, 0)]:
    for complete in (False, True):
        mode = "complete" if complete else "reduced"
        for part in (0, 1):
            case(f"qr.{m}.{n}.{mode}.{part}", lambda x: L.qr(x, mode=mode)[part], rand(2, m, n), grad=m <= n or not complete)
for n in (1, 2, 5, 12):
    sym = lambda x: (x + x.mT) / 2
    c = rand(n, n)
    case(f"eigh.values.{n}", lambda x: L.eigvalsh(sym(x)), rand(2, n, n))
    case(f"eigh.function.{n}", lambda x: (lambda w, v: v * torch.sin(w)[..., None, :] @ v.mT)(*L.eigh(sym(x))), rand(2, n, n))
for m, n in [(1, 1), (3, 3), (6, 3), (3, 6), (12, 9)]:
    case(f"svd.values.{m}.{n}", lambda x: L.svdvals(x), rand(2, m, n))
    case(f"svd.function.{m}.{n}", lambda x: (lambda u, s, vt: u * torch.sin(s)[..., None, :] @ vt)(*L.svd(x, full_matrices=False)), rand(2, m, n))
    case(f"pinv.{m}.{n}", lambda x: L.pinv(x), rand(2, m, n))
    case(f"lstsq.{m}.{n}", lambda x, y: L.pinv(x) @ y, rand(2, m, n), rand(2, m, 2))
low = rand(5, 2) @ rand(2, 4)
case("pinv.low", lambda x: L.pinv(x, rtol=1e-5), low, grad=False)
case("matrix_rank.low", lambda x: L.matrix_rank(x, rtol=1e-5), low, grad=False)

save("linalg.safetensors")
