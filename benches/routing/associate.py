"""Computes which words of tools are near to a word of a request, from the token table.

    python associate.py --sets DIR > ../../crates/contextweaver/assets/associations.txt

A word of a request is one piece of the table's vocabulary; a word of tools is one that several tools of the pairs, of the
goals for development and of the sets have in name or summary, or that the lexicon has. Needs numpy and scipy.
"""

import argparse
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np

from token_table import ASSETS, read_table, read_vocabulary
from train import Pieces, words

HERE = Path(__file__).parent
GOALS = HERE.parents[1] / "crates/contextweaver/tests/data/goals"
STOP_WORDS = HERE.parents[1] / "crates/weaver-text/src/stop.rs"
# Catalogs whose tools may be read; those of the others measure what is found over unknown servers.
READ = ["servers", "apps", "machines", "office"]
# A word of the name of a tool, of its summary, and of the right side of a line of the lexicon.
NAME, SUMMARY, LEXICON = 3, 1, 2
FEWEST = 6
MOST = 6
NEAREST = 0.3


def count_tool(counts, name, description):
    counts.update({word: NAME for word in set(words(name))})
    counts.update({word: SUMMARY for word in set(words(description.split(".")[0]))})


def tool_words(sets):
    counts = Counter()
    for path in sorted(HERE.glob("pairs*.txt")):
        for line in path.read_text().splitlines():
            if " => " in line and not line.startswith("#"):
                name, _, description = line.split(" => ")[1].partition(": ")
                count_tool(counts, name, description)
    folders = [GOALS / name for name in READ] + (sorted(sets.iterdir()) if sets else [])
    for folder in folders:
        for line in (folder / "tools.jsonl").read_text().splitlines():
            tool = json.loads(line)
            count_tool(counts, tool.get("name") or "", tool.get("description") or "")
    for name in ["everyday.txt", "phrases.txt"]:
        for line in (ASSETS / name).read_text().splitlines():
            if "=>" in line and not line.startswith("#"):
                counts.update({w: LEXICON for w in line.split("=>")[1].split(";")[0].replace("|", " ").split()})
    return counts


def unit(rows):
    return rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9)


def begin(word):
    """Words that begin alike are forms of one word, or near enough."""
    return word[: max(4, len(word) - 3)]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sets", type=Path, help="a folder of sets whose tools are read")
    args = options.parse_args()
    table = ASSETS / "token_table.safetensors"
    pieces, (tools, requests, _) = Pieces(read_vocabulary(table)[0]), read_table(table)
    stop = set(re.findall(r'"([a-z]+)"', STOP_WORDS.read_text()))

    def counts(word):
        return len(word) > 2 and word.isalpha() and word.isascii() and word not in stop

    seen = tool_words(args.sets)
    offered = [word for word, n in seen.items() if n >= FEWEST and counts(word) and len(pieces.of(word)) == 1]
    known = np.array([min(1.0, np.log(seen[word]) / 5) for word in offered])
    asked = [word for word in pieces.rows if counts(word)]
    near = unit(requests[[pieces.rows[word] for word in asked]]) @ unit(tools[[pieces.of(word)[0] for word in offered]]).T
    print("# Words of requests and the words of tools that are near to them by the token table: `word other:percent …`.")
    print("# Written by benches/routing/associate.py.")
    for word, scores in zip(asked, near):
        best = np.argsort(-(scores + 0.1 * known))[: MOST + 6]
        best = [at for at in best if scores[at] >= NEAREST and begin(offered[at]) != begin(word)][:MOST]
        if best:
            print(word, *(f"{offered[at]}:{round(100 * scores[at])}" for at in best))


if __name__ == "__main__":
    main()
