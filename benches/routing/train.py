"""Tunes the token table on what people say and the tools that do it; `crates/contextweaver/assets/MODEL_CARD.md` says how
the table in use came about.

    python train.py --pairs pairs*.txt --phrases phrases.txt --out tuned.safetensors [--sets DIR] [--held 0.2] [--epochs 4]
    cargo run --release -p weaver-benches --bin routing -- missed GOALS --word-table tuned.safetensors

Requests and tools have rows of their own (two towers; Huang et al., 2013). Symmetric InfoNCE within batches (van den Oord et
al., 2018) that hold the tools of one server together, so that neighbours are the wrong answers for one another; row-wise
Adagrad; a share of all words left out at random. The result is the mean of several runs that differ in their order
(Wortsman et al., 2022). Needs numpy and scipy.
"""

import argparse
import json
import math
import random
import re
import shutil
import struct
import time
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.sparse as sparse

ASSETS = Path(__file__).parents[2] / "crates/contextweaver/assets"
# Rows of one piece that differ by less than this share of their length are one row.
SAME = 0.02
WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def read_table(path):
    """The rows for words of tools, and those for words of requests."""
    raw = Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8 : 8 + size])

    def tensor(name, kind):
        start, end = head[name]["data_offsets"]
        return np.frombuffer(raw[8 + size + start : 8 + size + end], kind).reshape(head[name]["shape"])

    rows = tensor("embeddings_i8", np.int8).astype(np.float32) * tensor("row_scale", np.float32).reshape(-1, 1)
    if "query_mapping" not in head:
        return rows, rows
    asked = tensor("query_mapping", np.int32)
    return rows[: len(asked)], rows[asked]


def write_table(path, offered, asked):
    """Rows for words of tools, then the rows for words of requests that differ from them."""
    own = np.flatnonzero(np.linalg.norm(asked - offered, axis=1) > SAME * (np.linalg.norm(offered, axis=1) + 1e-9))
    table = np.vstack([offered, asked[own]])
    mapping = np.arange(len(offered), dtype=np.int32)
    mapping[own] = len(offered) + np.arange(len(own))
    scales = np.maximum(np.abs(table).max(axis=1) / 127, 1e-8)
    values = np.round(table / scales[:, None]).clip(-127, 127).astype(np.int8)
    tensors = [("embeddings_i8", "I8", values), ("row_scale", "F32", scales.astype(np.float32)), ("query_mapping", "I32", mapping)]
    head, end = {}, 0
    for name, kind, values in tensors:
        head[name] = {"dtype": kind, "shape": values.shape, "data_offsets": [end, end + values.nbytes]}
        end += values.nbytes
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(values.tobytes() for _, _, values in tensors))
    shutil.copy(ASSETS / "token_table.vocab.txt", Path(path).with_suffix(".vocab.txt"))


class Pieces:
    """Words into the longest pieces of the vocabulary."""

    def __init__(self):
        lines = (ASSETS / "token_table.vocab.txt").read_text().split("\n")
        self.rows = {piece: row for row, piece in enumerate(lines) if piece}
        self.known = {}

    def of(self, word):
        if word not in self.known:
            self.known[word] = self._split(word)
        return self.known[word]

    def _split(self, word):
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.rows:
                    found.append(self.rows[piece])
                    start = end
                    break
            else:
                return []
        return found

    def matrix(self, texts):
        """One row a text, a list of words with their weights."""
        columns, weights, ends = [], [], [0]
        for text in texts:
            for word, weight in text:
                for piece in self.of(word):
                    columns.append(piece)
                    weights.append(weight)
            ends.append(len(columns))
        data = (np.array(weights, np.float32), np.array(columns, np.int32), np.array(ends))
        return sparse.csr_matrix(data, shape=(len(texts), len(self.rows)))


def words(text):
    return [word.lower() for word in WORD.findall(text.replace("'s ", " ").replace("'", ""))]


def document(name, description, parameters=(), namespace=""):
    """The words of a tool, weighted as the router weights them."""
    text = description.strip()
    end = re.search(r"[.!?](\s|$)|\n", text)
    end = end.start() if end else len(text)
    parts = [(name, 2.0), (namespace, 1.0), (text[:end], 1.0), (text[end:], 0.3)]
    parts += [(parameter, 0.5) for parameter in parameters]
    return [(word, weight) for part, weight in parts for word in words(part)]


def read_pairs(path):
    """Blocks of neighbours: each a list of a tool's document and its requests."""
    blocks, block = [], []
    for line in Path(path).read_text().split("\n"):
        if " => " in line and not line.startswith("#"):
            requests, tool = line.split(" => ", 1)
            name, _, description = tool.partition(": ")
            block.append((document(name, description), [r.strip() for r in requests.split(" ; ")]))
        elif block:
            blocks.append(block)
            block = []
    return blocks + [block] * bool(block)


def read_phrases(path):
    """The lines of a lexicon as tools: the words on the right of a line, and its phrases as requests."""
    blocks, block = [], []
    for line in Path(path).read_text().split("\n"):
        if "=>" in line and not line.startswith("#") and ".." not in line and "{" not in line:
            phrases, rest = line.split("=>", 1)
            found = rest.split(";")[0].replace("|", " ").split()
            block.append((document("_".join(found[:2]), " ".join(found[2:] or found)), [p.strip() for p in phrases.split("|")]))
        if block and ("=>" not in line or len(block) == 24):
            blocks.append(block)
            block = []
    return blocks + [block] * bool(block)


def read_set(folder, limit):
    """Requests of a set with the tools that answer them; its examples, where it has some."""
    tools = {}
    for line in (folder / "tools.jsonl").read_text().splitlines():
        tool = json.loads(line)
        parameters = ((tool.get("schema") or {}).get("properties") or {}).keys()
        name = tool.get("name") or tool["id"]
        tools[tool["id"]] = document(name, tool.get("description") or "", parameters, tool.get("namespace") or "")
    examples = folder / "examples.jsonl"
    lines = (examples if examples.exists() else folder / "queries.jsonl").read_text().splitlines()
    pairs = [(tools[gold], line["query"]) for line in map(json.loads, lines) for gold in line["gold"][:2] if gold in tools]
    random.Random(3).shuffle(pairs)
    return pairs[:limit]


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True) + 1e-8
    return rows / lengths, lengths


class Trainer:
    def __init__(self, offered, asked, rate, temperature):
        self.offered, self.asked, self.rate, self.temperature = offered.copy(), asked.copy(), rate, temperature
        self.squares = [np.full(len(offered), 1e-3, np.float32) for _ in range(2)]

    def step(self, requests, documents, tools):
        """One batch; `tools` says which documents are the same tool, and no wrong answers for each other."""
        asked_rows, offered_rows = np.unique(requests.indices), np.unique(documents.indices)
        asked, offered = requests[:, asked_rows], documents[:, offered_rows]
        (q, q_lengths), (d, d_lengths) = unit(asked @ self.asked[asked_rows]), unit(offered @ self.offered[offered_rows])
        scores = q @ d.T / self.temperature
        size, diagonal = len(scores), np.arange(len(scores))
        same = tools[:, None] == tools[None, :]
        same[diagonal, diagonal] = False
        scores[same] = -1e9
        gradient, loss = np.zeros_like(scores), 0.0
        for axis in (0, 1):
            likely = np.exp(scores - scores.max(axis=axis, keepdims=True))
            likely /= likely.sum(axis=axis, keepdims=True)
            loss -= np.log(likely[diagonal, diagonal] + 1e-9).mean() / 2
            likely[diagonal, diagonal] -= 1
            gradient += likely / (2 * size * self.temperature)
        q_gradient, d_gradient = gradient @ d, gradient.T @ q
        q_gradient = (q_gradient - q * (q * q_gradient).sum(axis=1, keepdims=True)) / q_lengths
        d_gradient = (d_gradient - d * (d * d_gradient).sum(axis=1, keepdims=True)) / d_lengths
        self._move(self.asked, self.squares[0], asked_rows, asked.T @ q_gradient, size)
        self._move(self.offered, self.squares[1], offered_rows, offered.T @ d_gradient, size)
        return loss

    def _move(self, table, squares, rows, change, size):
        squares[rows] += (change**2).mean(axis=1) * size
        table[rows] -= self.rate * math.sqrt(size) * change / np.sqrt(squares[rows])[:, None]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pairs", nargs="+", required=True, help="files of requests and tools")
    options.add_argument("--phrases", nargs="*", default=[], help="lexicons, whose phrases are requests for their words")
    options.add_argument("--start", type=Path, default=ASSETS / "token_table.safetensors", help="the table to begin with")
    options.add_argument("--sets", type=Path, help="a folder of sets; those the table was trained on before are trained on again")
    options.add_argument("--held", type=float, default=0.0, help="the share of servers that is held back")
    options.add_argument("--epochs", type=int, default=4)
    options.add_argument("--rate", type=float, default=0.015)
    options.add_argument("--temperature", type=float, default=0.1)
    options.add_argument("--drop", type=float, default=0.2, help="the share of words that is left out")
    options.add_argument("--batch", type=int, default=320)
    options.add_argument("--runs", type=int, default=3, help="how many runs the result is the mean of")
    options.add_argument("--again", type=float, default=0.3, help="the share of the pairs of sets that an epoch has")
    options.add_argument("--out", required=True)
    args = options.parse_args()

    pieces, (offered, asked) = Pieces(), read_table(args.start)
    blocks = [block for path in args.pairs for block in read_pairs(path)]
    blocks += [block for path in args.phrases for block in read_phrases(path)]
    random.Random(7).shuffle(blocks)
    count = int(len(blocks) * args.held)
    held, blocks = blocks[:count], blocks[count:]
    trained_before = {"seal_dev": 1_500, "metatool": 6_000, "bfcl": 1_500}
    sets = [pair for name, most in trained_before.items() for pair in read_set(args.sets / name, most)] if args.sets else []

    frequency = Counter(word for block in held + blocks for tool, _ in block for word in {word for word, _ in tool})
    total = sum(map(len, held + blocks))

    def rarity(word):
        return min(8.0, math.log((total + 1) / (frequency[word] or 1)))

    def request(text):
        return [(word, rarity(word)) for word in words(text)]

    def found(offered, asked):
        """The share of held requests whose tool is among five of some 150 tools."""
        catalogs = [[]]
        for block in held:
            catalogs[-1] += block
            if len(catalogs[-1]) >= 150:
                catalogs.append([])
        hits, count = 0, 0
        for catalog in catalogs:
            texts = [(text, at) for at, (_, texts) in enumerate(catalog) for text in texts]
            if len(catalog) < 75:
                continue
            tools, _ = unit(pieces.matrix([tool for tool, _ in catalog]) @ offered)
            requests, _ = unit(pieces.matrix([request(text) for text, _ in texts]) @ asked)
            scores, gold = requests @ tools.T, np.array([at for _, at in texts])
            right = scores[np.arange(len(gold)), gold]
            hits, count = hits + ((scores > right[:, None]).sum(axis=1) < 5).sum(), count + len(gold)
        return round(hits / count, 3) if count else None

    def trained(seed):
        chance, trainer = random.Random(seed), Trainer(offered, asked, args.rate, args.temperature)

        def thinned(weighted):
            return [one for one in weighted if chance.random() >= args.drop] or weighted

        for epoch in range(args.epochs):
            begun, units, batch, losses = time.time(), [], [], []
            for block in blocks:
                orders = [chance.sample(texts, len(texts)) for _, texts in block]
                for at in range(max(map(len, orders))):
                    units.append([(tool, order[at]) for (tool, _), order in zip(block, orders) if at < len(order)])
            again = chance.sample(sets, int(len(sets) * args.again))
            units += [again[at : at + 16] for at in range(0, len(again), 16)]
            chance.shuffle(units)
            for neighbours in [*units, None]:
                batch += neighbours or []
                if len(batch) >= args.batch or (neighbours is None and batch):
                    requests = pieces.matrix([thinned(request(text)) for _, text in batch])
                    documents = pieces.matrix([thinned(tool) for tool, _ in batch])
                    losses.append(trainer.step(requests, documents, np.array([id(tool) for tool, _ in batch])))
                    batch = []
            share, took = found(trainer.offered, trainer.asked), time.time() - begun
            print(f"run {seed}, epoch {epoch}: loss {np.mean(losses):.3f}, found {share}, {took:.0f} s", flush=True)
        return trainer.offered, trainer.asked

    print(f"{total} tools, {len(sets)} pairs of sets; found of what is held back: {found(offered, asked)}", flush=True)
    runs = [trained(seed) for seed in range(1, args.runs + 1)]
    offered, asked = (sum(tables) / len(runs) for tables in zip(*runs))
    print(f"the mean of {len(runs)} runs: found {found(offered, asked)}", flush=True)
    write_table(args.out, offered, asked)


if __name__ == "__main__":
    main()
