#!/usr/bin/env python3
"""scripts/zoo_results.py WICK OUT: what `wick zoo train` left in OUT goes to tests/cli/zoo_results.tsv, model by model,
where its recipe is that of the command WICK; a seed that is not there keeps the score that is stored, and what is
behind the first that has neither is left. Rows of docs/zoo.md follow, and those that change are printed. Without OUT:
rows of models whose recipe changed lose their scores."""
import glob, hashlib, json, os, subprocess, sys

HEADER = "id\tname\tparameters\tinput\toutputs\tmetric\tdemand\trecipe\tbaseline\tscores"
HOUSE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
STORED = os.path.join(HOUSE, "tests", "cli", "zoo_results.tsv")
PAGE = os.path.join(HOUSE, "docs", "zoo.md")


def meets(metric, value, demand):
    return value <= demand if "MSE" in metric or "%" in metric else value >= demand


def digits(metric, value, demand=None):
    fixed = {"CER %": 100, "AUC": 0.5, "SI-SDR + dB": 0}  # what the trivial way reaches by itself
    if fixed.get(metric) == value:
        return f"{value:g}"
    places = 4 if metric == "MSE" else 2 if metric[-1] in "%B" else 3
    while demand is not None and meets(metric, float(f"{value:.{places}f}"), demand) != meets(metric, value, demand):
        places += 1  # what is rounded meets it no more and no less
    return f"{value:.{places}f}"


def lines_of(text):
    return "".join(s + "\n" for s in text.splitlines() if not s.startswith("#"))


def measured(out, name, recipe, known):
    """Scores of the seeds from 1 on, and the baseline, of runs by this recipe; known: those that are stored."""
    scores, baseline = [], None
    while True:
        run = f"{out}/{name}/seed-{len(scores) + 1}"
        if not os.path.exists(run + "/result.json"):
            if len(scores) >= len(known):
                break
            scores.append(known[len(scores)])
            continue
        was = lines_of(open(run + "/recipe.txt").read())
        if "".join(s + "\n" for s in was.splitlines() if not s.startswith("data = ")) != recipe:
            print(f"{run}: is of another recipe", file=sys.stderr)
            break
        r = json.load(open(run + "/result.json"))
        scores.append(digits(r["metric"], r["score"], r["demand"]))
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
        known = scores.split(", ") if scores else []
        new, of = measured(out, m["name"], recipe, known) if out else ([], None)
        if of and len(new) >= len(scores.split(", ")):
            baseline, scores = of, ", ".join(new)
        row = [m["id"], m["name"], str(m["parameters"]), m["network_input"], str(m["outputs"]), m["metric"], f"{m['demand']:g}", digest, baseline, scores]
        if row != old:
            print(f"{m['id']} {m['name']} | {m['parameters']:,} | {baseline} | {scores}")
        rows.append("\t".join(row))
    open(STORED, "w").write("\n".join(rows) + "\n")
    write_page(rows[1:])


def write_page(rows):
    """Parameters, baseline, scores and whether they are met, in the table of the page."""
    stored = {r.split("\t")[0]: r.split("\t") for r in rows}
    lines, within = open(PAGE).read().split("\n"), False
    for i, line in enumerate(lines):
        within = line == "## Scores" or (within and not line.startswith("- The score"))
        cells = [c.strip() for c in line.split("|")]
        row = stored.get(cells[1].split(" ")[0]) if within and len(cells) == 10 and cells[1] else None
        if not row or not row[9]:
            continue
        met = [meets(row[5], float(s), float(row[6])) for s in row[9].split(", ")]
        cells[3], cells[6], cells[7] = f"{int(row[2]):,}", row[8], row[9]
        cells[8] = "yes" if all(met) else f"{sum(met)} of {len(met)}" if any(met) else "no"
        lines[i] = " | ".join(cells).strip()
    open(PAGE, "w").write("\n".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
