#!/usr/bin/env python3
"""Writes tunes.tsv, which A6 of wick zoo learns from: pieces of ten traditions out of the corpus of music21.

    pip download --no-deps music21==10.5.1 && scripts/zoo_tunes.py music21-10.5.1-py3-none-any.whl >tunes.tsv

Columns: tradition, tune, split, notes. A note is ONSET:LENGTH:PITCH, in 24ths of a quarter and MIDI's numbers. Of each
tradition at most 160 pieces are taken, evenly over its files, and of each the first 96 quarters. `tune` is a hash of
the first ten intervals of its highest line, so that settings of one melody go together; a fifth of the hashes is the
test. Ornaments, repeats, slurs and dynamics are left out, and so are pieces of fewer than 24 notes.
"""
import collections
import fractions
import hashlib
import io
import re
import sys
import xml.etree.ElementTree as tree
import zipfile

Q = 24
QUARTERS = 96
PIECES = 160
STEPS = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
SHARPS, FLATS = "FCGDAEB", "BEADGCF"


def of_music_xml(text):
    notes = []
    for part in tree.fromstring(text).findall("part"):
        at, divisions, ties = fractions.Fraction(0), 1, {}
        for measure in part.findall("measure"):
            last = at
            for e in measure:
                if e.tag == "attributes" and e.find("divisions") is not None:
                    divisions = int(float(e.find("divisions").text))
                length = e.find("duration")
                length = fractions.Fraction(length.text) / divisions if length is not None else 0
                if e.tag == "backup":
                    at -= length
                elif e.tag == "forward":
                    at += length
                elif e.tag == "note":
                    start = last if e.find("chord") is not None else at
                    pitch = e.find("pitch")
                    if pitch is not None and length:
                        alter = pitch.find("alter")
                        p = 12 * (int(pitch.find("octave").text) + 1) + STEPS[pitch.find("step").text]
                        p += int(float(alter.text)) if alter is not None else 0
                        kinds = {t.get("type") for t in e.findall("tie")}
                        if "stop" in kinds and p in ties:
                            notes[ties[p]][1] += length
                        else:
                            notes.append([start, length, p])
                            ties[p] = len(notes) - 1
                    if e.find("chord") is None:
                        last, at = at, at + length
    return notes


def of_kern(text):
    notes, at, held = [], collections.defaultdict(fractions.Fraction), {}
    for line in text.splitlines():
        if not line or line[0] in "!*=":
            if "*^" in line or "*v" in line:
                return []  # voices that part and join
            continue
        for k, cell in enumerate(line.split("\t")):
            m = re.search(r"(\d+)(\.*)", cell)
            if cell == "." or not m:
                continue
            length = fractions.Fraction(8) if set(m[1]) == {"0"} else fractions.Fraction(4, int(m[1]))
            length *= 2 - fractions.Fraction(1, 2 ** len(m[2]))
            n = re.search(r"([a-gA-G]+)([#-]*)", cell)
            if n and "r" not in cell:
                octave = 3 + len(n[1]) if n[1].islower() else 4 - len(n[1])
                p = 12 * (octave + 1) + STEPS[n[1][0].upper()] + n[2].count("#") - n[2].count("-")
                if ("]" in cell or "_" in cell) and k in held:
                    notes[held[k]][1] += length
                else:
                    notes.append([at[k], length, p])
                    held[k] = len(notes) - 1
            at[k] += length
    return notes


def key_of(text):
    m = re.match(r"\s*([A-G])([#b]?)\s*(\w*)", text)
    if not m:
        return {}
    fifths = "FCGDAEB".index(m[1]) - 1 + 7 * (m[2] == "#") - 7 * (m[2] == "b")
    mode = m[3].lower()
    fifths += {"m": -3, "min": -3, "aeo": -3, "dor": -2, "mix": -1, "phr": -4, "lyd": 1}.get(mode if mode == "m" else mode[:3], 0)
    return {s: 1 for s in SHARPS[:fifths]} if fifths > 0 else {s: -1 for s in FLATS[:-fifths]} if fifths < 0 else {}


TOKEN = re.compile(r"(\|)|\((\d)(?::\d*)*|([_^=]*)([A-Ga-gzx])([,']*)(\d*)(/*)(\d*)|(-)|([<>])")


def of_abc(tune):
    fields = dict(re.findall(r"^([A-Z]):\s*(.*)$", tune, re.M)[::-1])
    meter = re.match(r"(\d+)/(\d+)", fields.get("M", "4/4"))
    unit = fractions.Fraction(fields["L"]) if "/" in fields.get("L", "") else None
    unit = unit or fractions.Fraction(1, 16 if meter and int(meter[1]) / int(meter[2]) < 0.75 else 8)
    key, bar, notes, at = key_of(fields.get("K", "C")), {}, [], fractions.Fraction(0)
    body = "\n".join(l for l in tune.splitlines() if not re.match(r"^[A-Za-z]:|^%|^I:", l))
    body = re.sub(r'"[^"]*"|\{[^}]*\}|![^!]*!|\[[A-Z]:[^\]]*\]|%.*', "", body)
    triplet, dotted, tied = 0, fractions.Fraction(1), False
    for m in TOKEN.finditer(body):
        if m[1]:
            bar = {}
        elif m[2]:
            triplet = int(m[2]) if m[2] == "3" else 0
        elif m[9]:
            tied = True
        elif m[10]:
            if notes:
                more = notes[-1][1] / 2 * (1 if m[10] == ">" else -1)
                notes[-1][1] += more
                at += more
                dotted = fractions.Fraction(1, 2) if m[10] == ">" else fractions.Fraction(3, 2)
        else:
            length = 4 * unit * int(m[6] or 1)
            length /= int(m[8]) if m[8] else 2 ** len(m[7])
            length *= dotted
            dotted = fractions.Fraction(1)
            if triplet:
                length, triplet = length * fractions.Fraction(2, 3), triplet - 1
            if m[4] not in "zx":
                s = m[4].upper()
                if m[3]:
                    bar[m[4] + m[5]] = m[3].count("^") - m[3].count("_")
                p = 60 + STEPS[s] + 12 * m[4].islower() + 12 * (m[5].count("'") - m[5].count(","))
                p += bar.get(m[4] + m[5], key.get(s, 0))
                if tied and notes and notes[-1][2] == p:
                    notes[-1][1] += length
                else:
                    notes.append([at, length, p])
            tied = False
            at += length
    return notes


def tunes_of(text):
    return [t for t in re.split(r"\n(?=X:)", "\n" + text.replace("\r", "")) if t.startswith("X:") and "\nK:" in t]


def read(z, name):
    data = z.read(name)
    if name.endswith(".mxl"):
        inner = zipfile.ZipFile(io.BytesIO(data))
        data = inner.read([n for n in inner.namelist() if "META-INF" not in n and not n.endswith("/")][0])
    if name.endswith((".mxl", ".xml")):
        return [lambda: of_music_xml(data)]
    text = data.decode("utf-8", "replace")
    if name.endswith(".krn"):
        return [lambda: of_kern(text)]
    return [lambda t=t: of_abc(t) for t in tunes_of(text)]


TRADITIONS = [
    ("chorale", r"bach/bwv\d+\.\d+\.mxl$"),
    ("mass", r"palestrina/.*\.krn$"),
    ("trecento", r"trecento/.*\.xml$"),
    ("madrigal", r"monteverdi/.*\.mxl$"),
    ("quartet", r"(haydn|mozart|beethoven)/.*\.mxl$"),
    ("chinese", r"essenFolksong/han\d\.abc$"),
    ("german", r"essenFolksong/(erk|boehme)\d+\.abc$"),
    ("irish", r"oneills1850/.*\.abc$"),
    ("american", r"ryansMammoth/.*\.abc$"),
    ("scottish", r"airdsAirs/.*\.abc$"),
]


def main():
    z = zipfile.ZipFile(sys.argv[1])
    names = sorted(z.namelist())
    print("tradition\ttune\tsplit\tnotes")
    for tradition, pattern in TRADITIONS:
        pieces = []
        for name in names:
            if re.search("music21/corpus/" + pattern, name):
                pieces += [(name, get) for get in read(z, name)]
        seen, taken = set(), 0
        order = [pieces[i * 997 % len(pieces)] for i in range(len(pieces))] if len(pieces) % 997 else pieces
        for name, get in order:
            if taken == PIECES:
                break
            try:
                notes = sorted(get())
            except Exception as e:  # a piece that is beyond these readers
                print(f"{name}: {e}", file=sys.stderr)
                continue
            line = [n[2] for i, n in enumerate(notes) if i + 1 == len(notes) or notes[i + 1][0] > n[0]]
            steps = " ".join(str(b - a) for a, b in zip(line, line[1:11]))
            if len(notes) < 24 or (steps, len(notes)) in seen:
                continue
            seen.add((steps, len(notes)))
            tune = hashlib.sha1((tradition + steps).encode()).hexdigest()[:8]
            first = notes[0][0]
            cells = [f"{round((a - first) * Q)}:{max(1, round(b * Q))}:{p}" for a, b, p in notes if a - first < QUARTERS]
            print(tradition, tune, "test" if int(tune, 16) % 5 == 0 else "train", " ".join(cells), sep="\t")
            taken += 1


main()
