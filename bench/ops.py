"""Tables of ops beside PyTorch from what `wick bench ... --json` wrote.

    python3 bench/ops.py ops.json docs/ops-speed.md

writes the rows into the page, below the text before its table, and prints the geometric means by family, which docs/benchmarks/kernels.md has,
and the rows below 0.95. Ratios are PyTorch's time by Wick's.
"""
import collections, json, math, sys

NAMES = {"reduce": "reductions", "gemm": "products", "conv": "convolutions", "rnn": "recurrent"}
SIZES = ["1K", "64K", "16M", ""]


def mean(ratios):
    return "%.2f" % math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else ""


def main(source, page):
    rows = collections.OrderedDict()  # (family, op) -> {size: peer}
    for r in json.load(open(source))["rows"]:
        torch = [p for p in r.get("peers", []) if p["name"] == "PyTorch" and p.get("ratio")]
        if not torch:
            continue
        family, name = r["row"].split("/", 1)
        op, _, size = name.partition(" ")
        rows.setdefault((family, op), {})[size] = torch[0]
    head = open(page).read().split("| family |")[0]
    with open(page, "w") as f:
        f.write(head + "| family | op | 1K | 64K | 16M | its own size |\n|---|---|---|---|---|---|\n")
        for (family, op), of in rows.items():
            cells = ["%.2f (%.2f .. %.2f)" % (of[s]["ratio"], of[s]["ratio_low"], of[s]["ratio_high"]) if s in of else "" for s in SIZES]
            f.write("| %s | %s | %s |\n" % (family, op, " | ".join(cells)))
    print("| family | 1K | 64K | 16M | of one size | all | rows |\n|---|---|---|---|---|---|---|")
    for family in list(dict.fromkeys(f for f, _ in rows)) + ["all"]:
        own = [(s, p["ratio"]) for (f, _), of in rows.items() for s, p in of.items() if family in (f, "all")]
        cells = [mean([x for t, x in own if t == s]) for s in SIZES] + [mean([x for _, x in own])]
        print("| %s | %s | %d |" % (NAMES.get(family, family), " | ".join(cells), len(own)))
    slow = sorted((p["ratio"], op, s) for (_, op), of in rows.items() for s, p in of.items() if p["ratio"] < 0.95)
    print("\nbelow 0.95: " + ", ".join("%s %.2f" % (" ".join(filter(None, (op, s))), x) for x, op, s in slow))


main(*sys.argv[1:])
