#!/usr/bin/env python3
"""Writes packages.tsv, which S10 of wick zoo learns from: descriptions of Debian packages, English.

    apt-get update -o Acquire::Languages=en
    /usr/lib/apt/apt-helper cat-file /var/lib/apt/lists/*_main_i18n_Translation-en* | scripts/zoo_packages.py >packages.tsv

Columns: package, group, split, summary (the short description) and text (the sentences of the long one, " || " between
them). Lists and indented parts are left out, and so are descriptions of fewer than three sentences; of longer ones the
first eight are taken. Packages whose names begin alike, without lib, python3- and such, are one group; half of the
groups are taken, and a fifth of those is the test, by a hash.
"""
import hashlib
import re
import sys

LANGUAGES = r"^(python3?|golang|ruby|node|r|haskell|php|librust|elpa|fonts|texlive|gir1\.2|libghc|lib|ocaml|cl|octave)-"


def group_of(name):
    name = re.sub(LANGUAGES, "", name)
    name = re.sub(r"^(r-cran|r-bioc|golang-github|cran|bioc|github)-", "", name)
    name = re.sub(r"^lib", "", name)
    return re.split(r"[-0-9.+]", name)[0] or name


def sentences_of(text):
    out = []
    for paragraph in re.split(r"^ \.\s*$", text, flags=re.M):
        lines = [line for line in paragraph.split("\n") if not line.startswith("  ")]
        words = " ".join(" ".join(lines).replace("||", " ").split())
        out += [s for s in re.split(r"(?<=[.!?:])\s+", words) if len(s.split()) > 2]
    return out


def main():
    print("package\tgroup\tsplit\tsummary\ttext")
    seen = set()
    for stanza in sys.stdin.buffer.read().decode("utf-8", "replace").split("\n\n"):
        name = re.match(r"Package: (\S+)", stanza)
        text = re.search(r"^Description-en: (.*)\n((?: .*\n?)*)", stanza, re.M)
        if not name or not text:
            continue
        sentences, group = sentences_of(text[2]), group_of(name[1])
        h = int(hashlib.sha1(group.encode()).hexdigest()[:8], 16)
        if len(sentences) < 3 or h % 2 or name[1] in seen:
            continue
        seen.add(name[1])
        split = "test" if h // 2 % 5 == 0 else "train"
        print(name[1], group, split, " ".join(text[1].split()), " || ".join(sentences[:8]), sep="\t")


main()
