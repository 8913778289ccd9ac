"""make_knees.py: knees of 100 curves by PyPI's kneed 0.9.0 (numpy as installed), for tests/profile/test_batch_size.c.
Run: python tests/golden/make_knees.py > tests/golden/knees.h"""
import numpy as np
from kneed import KneeLocator
rng=np.random.default_rng(1)
curves=[]
while len(curves)<100:
    n=int(rng.integers(5,12)); x=np.arange(n,dtype=float)
    kind=len(curves)%4
    if kind==0: y=1-np.exp(-x*rng.uniform(0.3,1.5))
    elif kind==1: y=x/(x+rng.uniform(0.3,4))
    elif kind==2: y=np.minimum(x,rng.integers(2,n))+rng.normal(0,0.05,n)
    else: y=np.cumsum(rng.uniform(0,1,n)/(1+x))
    k=KneeLocator(x,y,S=1,curve="concave",direction="increasing")
    curves.append((x,y,-1 if k.knee is None else int(np.where(x==k.knee)[0][0])))
print("/* 100 curves and their knees by PyPI's kneed 0.9.0 (sensitivity 1, concave, increasing): made by make_knees.py. */")
print("static const struct { int n, knee; double y[12]; } golden_knees[] = {")
for x, y, k in curves:
    rows = [repr(float(v)) for v in y]
    print("    {%d, %d, {%s}}," % (len(x), k, ",\n      ".join(", ".join(rows[i:i + 4]) for i in range(0, len(rows), 4))))
print("};")
