#!/usr/bin/env python3
"""scripts/zoo_results.py WICK OUT: what `wick zoo train` left in OUT goes to tests/cli/zoo_results.tsv, model by model,
where its recipe is that of the command WICK and the seeds 1, 2 ... are there without a gap. Prints the rows of
docs/zoo.md that change. Without OUT: rows of models whose recipe changed lose their scores."""
import glob, hashlib, json, os, subprocess, sys

HEADER = "id\tname\tparameters\tinput\toutputs\tmetric\tdemand\trecipe\tbaseline\tscores"
STORED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "cli", "zoo_results.tsv")


def digits(metric, value):
    fixed = {"CER %": 100, "AUC": 0.5, "SI-SDR + dB": 0}  # what the trivial way reaches by itself
    if fixed.get(metric) == value:
        return f"{value:g}"
    return f"{value:.{4 if metric == 'MSE' else 2 if metric[-1] in '%B' else 3}f}"


def lines_of(text):
    return "".join(s + "\n" for s in text.splitlines() if not s.startswith("#"))


def measured(out, name, recipe):
    """Scores of the seeds from 1 on, and the baseline, of runs by this recipe."""
    scores, baseline = [], None
    while os.path.exists(f"{out}/{name}/seed-{len(scores) + 1}/result.json"):
        run = f"{out}/{name}/seed-{len(scores) + 1}"
        was = lines_of(open(run + "/recipe.txt").read())
        if "".join(s + "\n" for s in was.splitlines() if not s.startswith("data = ")) != recipe:
            print(f"{run}: is of another recipe", file=sys.stderr)
            break
        r = json.load(open(run + "/result.json"))
        scores.append(digits(r["metric"], r["score"]))
        baseline = digits(r["metric"], r["baseline"])
    return scores, baseline


def main(wick, out=None):
    models = json.loads(subprocess.run([wick, "zoo", "list", "--json"], check=True, capture_output=True).stdout)["models"]
    before = {s.split("\t")[0]: s.split("\t") for s in open(STORED).read().splitlines()[1:]}
    rows = [HEADER]
    for m in models:
        recipe = lines_of(subprocess.run([wick, "zoo", "recipe", m["id"]], check=True, capture_output=True, text=True).stdout)
        digest = hashlib.sha256(recipe.encode()).hexdigest()[:16]
        old = before.get(m["id"], [""] * 10)
        same = old[7] == digest
        baseline, scores = (old[8], old[9]) if same else ("", "")
        new, of = measured(out, m["name"], recipe) if out else ([], None)
        if new and len(new) >= len(scores.split(", ")):
            baseline, scores = of, ", ".join(new)
        row = [m["id"], m["name"], str(m["parameters"]), m["network_input"], str(m["outputs"]), m["metric"], f"{m['demand']:g}", digest, baseline, scores]
        if row != old:
            print(f"{m['id']} {m['name']} | {m['parameters']:,} | {baseline} | {scores}")
        rows.append("\t".join(row))
    open(STORED, "w").write("\n".join(rows) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
