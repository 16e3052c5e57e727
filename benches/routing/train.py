"""Tunes the token table on what people say and the tools that do it; `crates/contextweaver/assets/MODEL_CARD.md` says how
the table in use came about.

    python train.py --pairs pairs*.txt --phrases phrases.txt --out tuned.safetensors [--sets DIR] [--held 0.25] [--epochs 4]
    cargo run --release -p weaver-benches --bin routing -- missed GOALS --word-table tuned.safetensors

Requests and tools have rows of their own (two towers; Huang et al., 2013). Symmetric InfoNCE within batches (van den Oord et
al., 2018) that hold the tools of one server together, so that neighbours are the wrong answers for one another; row-wise
Adagrad; a share of all words left out at random. The result is the mean of several runs that differ in their order
(Wortsman et al., 2022). Requests are weighted as the router weights them. Two neighbouring words that requests of several
servers share have a row of their own, which is added to those of the words. Needs numpy and scipy.
"""

import argparse
import json
import math
import random
import re
import time
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.sparse as sparse
from token_table import ASSETS, read_table, read_vocabulary, write_table

WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")
STOP_WORDS = set(re.findall(r'"([a-z]+)"', (Path(__file__).parents[2] / "crates/weaver-text/src/stop.rs").read_text()))
# What a stop word and a phrase of two words count, where another word counts how rare it is in a catalog of so many tools.
STOP_WORD, PHRASE, CATALOG = 2.0, 6.0, 150
# What a word of a request counts in the mean.
USUAL = 4.0


class Pieces:
    """Words into the longest pieces of the vocabulary."""

    def __init__(self, pieces):
        self.rows = {piece: row for row, piece in enumerate(pieces)}
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
    return [word.lower() for word in WORD.findall(text)]


def document(name, description, parameters=(), namespace=""):
    """The words of a tool, weighted as the router weights them."""
    text = description.strip()
    end = re.search(r"[.!?](\s|$)|\n", text)
    end = end.start() if end else len(text)
    parts = [(name, 2.0), (namespace, 1.0), (text[:end], 1.0), (text[end:], 0.3)]
    parts += [(parameter, 0.5) for parameter in parameters]
    return [(word, weight) for part, weight in parts for word in words(part)]


def neighbours(text):
    """The phrases of two words in a request."""
    found = words(text)
    return [f"{first} {second}" for first, second in zip(found, found[1:])]


def common_phrases(blocks, servers):
    """Phrases in the requests of at least so many servers."""
    seen = {}
    for at, block in enumerate(blocks):
        for phrase in {phrase for _, texts in block for text in texts for phrase in neighbours(text)}:
            seen.setdefault(phrase, set()).add(at)
    return sorted(phrase for phrase, where in seen.items() if len(where) >= servers)


def phrase_matrix(texts, phrases):
    columns, rows = {phrase: at for at, phrase in enumerate(phrases)}, []
    for at, text in enumerate(texts):
        rows += [(at, columns[phrase]) for phrase in neighbours(text) if phrase in columns]
    rows = np.array(rows, np.int32).reshape(-1, 2)
    weights = np.full(len(rows), PHRASE, np.float32)
    return sparse.csr_matrix((weights, (rows[:, 0], rows[:, 1])), shape=(len(texts), len(phrases)))


def thinned(matrix, share, chance):
    """Without a share of the entries; a row that would have none keeps all."""
    kept = chance.random(matrix.nnz) >= share
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    kept |= (np.bincount(row, kept, matrix.shape[0]) == 0)[row]
    return sparse.csr_matrix((matrix.data * kept, matrix.indices, matrix.indptr), shape=matrix.shape)


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
    """The rows of both sides; those of phrases stand behind the rows for words of requests."""

    def __init__(self, offered, asked, rate, temperature):
        self.offered, self.asked, self.rate, self.temperature = offered.copy(), asked.copy(), rate, temperature
        self.squares = [np.full(len(rows), 1e-3, np.float32) for rows in (asked, offered)]

    def step(self, requests, documents, tools):
        """One batch; `tools` says which documents are the same tool, and no wrong answers for each other."""
        (asked_rows, asked), (offered_rows, offered) = used(requests), used(documents)
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


def used(matrix):
    """The columns that a matrix uses, and the matrix over these alone."""
    columns, places = np.unique(matrix.indices, return_inverse=True)
    return columns, sparse.csr_matrix((matrix.data, places, matrix.indptr), shape=(matrix.shape[0], len(columns)))


class Corpus:
    """Blocks of tools and their requests as matrices."""

    def __init__(self, blocks, pieces, weight, phrases, loose=()):
        self.orders, tools, texts, self.tool = [], [], [], []
        for block in blocks:
            order = []
            for tool, requests in block:
                order.append(range(len(texts), len(texts) + len(requests)))
                texts += requests
                self.tool += [len(tools)] * len(requests)
                tools.append(tool)
            self.orders.append(order)
        self.loose, known = range(len(texts), len(texts) + len(loose)), {}
        for tool, text in loose:
            if id(tool) not in known:
                known[id(tool)] = len(tools)
                tools.append(tool)
            texts.append(text)
            self.tool.append(known[id(tool)])
        requests = pieces.matrix([[(word, weight(word)) for word in words(text)] for text in texts])
        self.requests = sparse.hstack([requests, phrase_matrix(texts, phrases)]).tocsr().astype(np.float32)
        self.documents, self.tool = pieces.matrix(tools), np.array(self.tool)

    def units(self, chance, again):
        """Requests for neighbours, one for each tool of a server; and a share of the loose ones."""
        units = []
        for order in self.orders:
            shuffled = [chance.sample(requests, len(requests)) for requests in order]
            units += [[one[at] for one in shuffled if at < len(one)] for at in range(max(map(len, order)))]
        loose = chance.sample(self.loose, int(len(self.loose) * again))
        units += [loose[at : at + 16] for at in range(0, len(loose), 16)]
        chance.shuffle(units)
        return units


def widened(path, start, phrases):
    """The rows of a narrower table, for the pieces of `start` and some phrases, with zeros in its further dimensions."""
    (offered, asked, of_phrases), (pieces, known) = read_table(path), read_vocabulary(path)
    of_piece, of_phrase = ({name: at for at, name in enumerate(names)} for names in (pieces, known))
    places = [of_piece[piece] for piece in read_vocabulary(start)[0]]
    nothing = np.zeros(offered.shape[1], np.float32)
    phrase_rows = [of_phrases[of_phrase[phrase]] if phrase in of_phrase else nothing for phrase in phrases]
    further = read_table(start)[0].shape[1] - offered.shape[1]
    return [np.pad(rows, ((0, 0), (0, further))) for rows in (offered[places], np.vstack([asked[places], *phrase_rows]))]


def catalogs(blocks):
    """Blocks together, as catalogs of some 150 tools."""
    found, size = [[]], 0
    for block in blocks:
        found[-1].append(block)
        size += len(block)
        if size >= CATALOG:
            found.append([])
            size = 0
    return found if size >= CATALOG // 2 else found[:-1]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pairs", nargs="+", required=True, help="files of requests and tools")
    options.add_argument("--phrases", nargs="*", default=[], help="lexicons, whose phrases are requests for their words")
    options.add_argument("--start", type=Path, default=ASSETS / "token_table.safetensors", help="the table to begin with")
    options.add_argument("--sets", type=Path, help="a folder of sets; those the table was trained on before are trained on again")
    options.add_argument("--held", type=float, default=0.0, help="the share of servers that is held back, of files in --hold")
    options.add_argument("--hold", nargs="*", default=[], help="files of which servers may be held back; all, if none is named")
    options.add_argument("--epochs", type=int, default=5)
    options.add_argument("--rate", type=float, default=0.02)
    options.add_argument("--temperature", type=float, default=0.1)
    options.add_argument("--drop", type=float, default=0.2, help="the share of words that is left out")
    options.add_argument("--batch", type=int, default=320)
    options.add_argument("--seeds", type=int, nargs="+", default=[1, 2], help="the result is the mean of a run for each")
    options.add_argument("--again", type=float, default=0.6, help="the share of the pairs of sets that an epoch has")
    options.add_argument("--servers", type=int, default=5, help="how many servers must have a phrase that gets a row")
    options.add_argument("--mean-with", type=Path, help="a table tuned before, which the result is a mean with")
    options.add_argument("--share", type=float, default=0.5, help="how much of that mean it is")
    options.add_argument("--rows", type=int, default=18_150, help="how many rows of requests and of phrases are kept")
    options.add_argument("--out", required=True)
    args = options.parse_args()

    names = read_vocabulary(args.start)[0]
    pieces, (offered, asked, _) = Pieces(names), read_table(args.start)
    blocks = [(path, block) for path in args.pairs for block in read_pairs(path)]
    random.Random(7).shuffle(blocks)
    may_hold = [one for one in blocks if not args.hold or one[0] in args.hold]
    held = may_hold[: int(len(may_hold) * args.held)]
    taken = {id(one) for one in held}
    held, blocks = [block for _, block in held], [one[1] for one in blocks if id(one) not in taken]
    phrases = common_phrases(blocks, args.servers)
    blocks += [block for path in args.phrases for block in read_phrases(path)]
    trained_before = {"seal_dev": 1_500, "metatool": 6_000, "bfcl": 1_500}
    sets = [pair for name, most in trained_before.items() for pair in read_set(args.sets / name, most)] if args.sets else []

    frequency = Counter(word for block in held + blocks for tool, _ in block for word in {word for word, _ in tool})
    total = sum(map(len, held + blocks))

    def weight(word):
        """As the router weights a word of a request over a catalog of usual size."""
        if word in STOP_WORDS:
            return STOP_WORD
        return math.log((2 * CATALOG + 2) / (2 * CATALOG * frequency[word] / total + 1))

    corpus = Corpus(blocks, pieces, weight, phrases, sets)
    judged = [Corpus(catalog, pieces, weight, phrases) for catalog in catalogs(held)]
    asked = np.vstack([asked, np.zeros((len(phrases), asked.shape[1]), np.float32)])

    def found(offered, asked):
        """The share of held requests whose tool is among five of some 150 tools."""
        hits, count = 0, 0
        for catalog in judged:
            scores = unit(catalog.requests @ asked)[0] @ unit(catalog.documents @ offered)[0].T
            right = scores[np.arange(len(scores)), catalog.tool]
            hits, count = hits + ((scores > right[:, None]).sum(axis=1) < 5).sum(), count + len(scores)
        return round(hits / count, 4) if count else None

    def trained(seed):
        chance, dropped = random.Random(seed), np.random.default_rng(seed)
        trainer = Trainer(offered, asked, args.rate, args.temperature)
        for epoch in range(args.epochs):
            begun, batch, losses = time.time(), [], []
            for unit_of_neighbours in [*corpus.units(chance, args.again), None]:
                batch += unit_of_neighbours or []
                if len(batch) >= args.batch or (unit_of_neighbours is None and batch):
                    tools = corpus.tool[batch]
                    requests = thinned(corpus.requests[batch], args.drop, dropped)
                    losses.append(trainer.step(requests, thinned(corpus.documents[tools], args.drop, dropped), tools))
                    batch = []
            share, took = found(trainer.offered, trainer.asked), time.time() - begun
            print(f"run {seed}, epoch {epoch}: loss {np.mean(losses):.3f}, found {share}, {took:.0f} s", flush=True)
        return trainer.offered, trainer.asked

    print(f"{total} tools, {len(corpus.tool)} requests, {len(phrases)} phrases; {sum(len(c.tool) for c in judged)} held back", flush=True)
    print(f"found before: {found(offered, asked)}", flush=True)
    runs = [trained(seed) for seed in args.seeds]
    offered, asked = (sum(tables) / len(runs) for tables in zip(*runs))
    print(f"the mean of {len(runs)} runs: found {found(offered, asked)}", flush=True)
    if args.mean_with:
        before = widened(args.mean_with, args.start, phrases)
        offered, asked = ((1 - args.share) * now + args.share * then for now, then in zip((offered, asked), before))
    seen, change = np.bincount(corpus.requests.indices, minlength=len(asked)), asked.copy()
    change[: len(names)] -= offered
    change[len(names) :] *= PHRASE / USUAL
    changes = np.linalg.norm(change, axis=1) * np.sqrt(seen)
    write_table(args.out, names, offered, asked, phrases, changes, args.rows)


if __name__ == "__main__":
    main()
