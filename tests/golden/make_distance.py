"""Writes distance.safetensors: distances, cosines, covariances and the like of PyTorch, for tests/ops/test_distance.c. Made with torch==2.13.0.
Run: python make_distance.py (in this folder). The layout of a case is that of cases.py.
"""
import torch
import torch.nn.functional as F

from cases import begin, case, rand, save

begin(12)
a, b = rand(3, 4, 5), rand(4, 5)
case("cosine.last", lambda x, y: F.cosine_similarity(x, y, dim=-1), a, b)
case("cosine.1", lambda x, y: F.cosine_similarity(x, y, dim=1), a, b)
case("cosine.zero", lambda x, y: F.cosine_similarity(x, y, dim=1, eps=0.5), torch.cat([torch.full((1, 3), 0.125), rand(2, 3)]), rand(3, 3), grad=False)  # below eps PyTorch goes on as if its norm still had a gradient
case("cosine.empty", lambda x, y: F.cosine_similarity(x, y, dim=1), rand(0, 3), rand(0, 3))
case("pairwise", lambda x, y: F.pairwise_distance(x, y), rand(6, 5), rand(6, 5))
case("pairwise.1", lambda x, y: F.pairwise_distance(x, y, p=1, eps=0, keepdim=True), a, b)
case("pairwise.inf", lambda x, y: F.pairwise_distance(x, y, p=float("inf")), rand(7), rand(6, 7))
x = rand(4, 3)
for p in (1.0, 2.0, 3.0, float("inf")):
    case(f"cdist.{p}", lambda x, y: torch.cdist(x, y, p), x, rand(5, 3))
case("cdist.batch", lambda x, y: torch.cdist(x, y), rand(2, 1, 4, 3), rand(3, 2, 3))
case("cdist.self", lambda x, y: torch.cdist(x, y), x, x)
case("cdist.empty", lambda x, y: torch.cdist(x, y), rand(0, 3), rand(2, 3))
case("cross", lambda x, y: torch.linalg.cross(x, y), rand(4, 3), rand(4, 3))
case("cross.0", lambda x, y: torch.linalg.cross(x, y, dim=0), rand(3, 4, 2), rand(3, 1, 2))
case("cov", torch.cov, rand(4, 7))
case("cov.vector", torch.cov, rand(6))
case("cov.0", lambda x: torch.cov(x, correction=0), rand(2, 5))
case("corrcoef", torch.corrcoef, rand(4, 7))
case("diff", lambda x: torch.diff(x), rand(3, 6))
case("diff.2", lambda x: torch.diff(x, n=2, dim=0), rand(5, 2))
case("diff.none", lambda x: torch.diff(x, n=9), rand(2, 4))
case("diff.bool", lambda x: torch.diff(x), rand(3, 6) > 0)
case("diff.integers", lambda x: torch.diff(x, dim=0), torch.randint(-9, 9, (4, 3)))
case("sinc", torch.sinc, torch.cat([torch.tensor([0.0, -0.0, 1.0, 0.5, 3.0]), rand(9)]))
case("heaviside", lambda x: torch.heaviside(x, torch.tensor(0.5, dtype=torch.float64)), torch.tensor([-1.0, -0.0, 0.0, 2.0, float("inf"), -float("inf")]), grad=False)
case("softmin", lambda x: F.softmin(x, dim=0), rand(4, 3))
save("distance.safetensors")
