"""Learns which words of tools the words of requests imply, from requests and the tools that answer them.

    python associate.py --pairs pairs*.txt --sets DIR --out ../../crates/contextweaver/assets/associations.txt [--held 0.2]

A translation lexicon for query expansion (Berger and Lafferty, 1999) with weights that are trained end to end, as in learned
sparse retrieval (SPLADE; Formal et al., 2021), but without a network: a request's words and pairs of neighbouring words each
have a short list of words of tools. The lists begin with what is near by the token table; then a softmax over the tools of
some servers, by scores as the router computes them from words, says what each weight should be. Needs numpy, numba and
PyStemmer.
"""

import argparse
import json
import math
import random
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import scipy.sparse as sparse
import Stemmer
import sparse_training
from token_table import ASSETS, read_table, read_vocabulary
from train import CATALOG, PHRASE, STOP_WORDS, USUAL, Pieces, words

STEMMER, STEMS = Stemmer.Stemmer("english"), {}
GOALS = Path(__file__).parents[2] / "crates/contextweaver/tests/data/goals"
# Catalogs whose tools may be read; those of the others measure what is found over unknown servers.
READ = ["servers", "apps", "machines", "office"]
# What a field of a tool counts, and how long it usually is (`route/document.rs`).
FIELDS = {"name": (2.0, 3), "description": (1.0, 12), "namespace": (1.0, 2), "parameters": (0.3, 6), "texts": (0.3, 30)}
# How many requests of a set are trained on, of those that the token table is trained on too.
SETS = {"seal_dev": 700, "metatool": 6_000, "bfcl": 1_049}
# Where weights begin: nearness by the table, in units of what NEAR of 100 reach, above LEAST, times BEGIN.
NEAR, LEAST, BEGIN = 90, 0.3, 0.3
# Words of tools that are not as near as that are on no list.
FARTHEST = 0.12
# A word of requests and one of tools meet often if that is so on MEETINGS servers, and e**SURPRISE times as often as by chance.
MEETINGS, SURPRISE = 2, 0.5
# The strength in the file that counts as one, and how many words of tools the file can number.
FULL, MOST_TARGETS = 16, 4_096
HEAD = """# What the words of requests, and pairs of neighbours, imply of the words of tools, which the lines after this one name. Then
# lines of a source and what it implies: a strength in sixteenths (hexadecimal), and two characters for each word that has it:
# its number, from 0, in digits from 0 to 63, which the characters from "0" to "o" stand for. Written by benches/routing/associate.py.
"""


def stem(word):
    if word not in STEMS:
        plain = word.isascii() and word.isalpha() and len(word) <= 64
        STEMS[word] = STEMMER.stemWord(word) if plain else word
    return STEMS[word]


def content(text):
    return [stem(word) for word in words(text) if word not in STOP_WORDS]


def sources_of(text):
    """The words of a request and its pairs of neighbours, each once."""
    found = [stem(word) for word in words(text)]
    return list(dict.fromkeys(found + [f"{first} {second}" for first, second in zip(found, found[1:])]))


def document(fields):
    """The weight of each word of a tool, by BM25F as the router has it."""
    sums = defaultdict(float)
    for field, texts in fields.items():
        found = [word for text in texts for word in content(text)]
        boost, usual = FIELDS[field]
        for word, count in Counter(found).items():
            sums[word] += boost * count * 2 * usual / (usual + len(found))
    return {word: 2.2 * x / (x + 1.2) for word, x in sums.items()}


def read_servers(path):
    """Servers, each a list of the name of a tool, its description and its requests."""
    servers, server = [], []
    for line in Path(path).read_text().split("\n"):
        if " => " in line and not line.startswith("#"):
            requests, tool = line.split(" => ", 1)
            name, _, description = tool.partition(": ")
            server.append((name, description, [request.strip() for request in requests.split(" ; ")]))
        elif server:
            servers.append(server)
            server = []
    return servers + [server] * bool(server)


def catalogs(servers):
    """Servers together, as catalogs of some 150 tools: documents, and requests with the tool that is right."""
    found, documents, requests = [], [], []
    for server in servers:
        for name, description, texts in server:
            requests += [(text, len(documents)) for text in texts]
            documents.append(document({"name": [name], "description": [description]}))
        if len(documents) >= CATALOG:
            found.append((documents, requests))
            documents, requests = [], []
    return found + [(documents, requests)] * bool(documents)


def read_set(folder, limit):
    """A set as a catalog; of goals those of parts named `tuned` alone."""
    documents, places, texts_read = [], {}, []
    for line in (folder / "tools.jsonl").read_text().splitlines():
        tool = json.loads(line)
        properties = (tool.get("schema") or {}).get("properties") or {}
        texts = [str(one.get("description") or "") for one in properties.values() if isinstance(one, dict)]
        fields = {"name": [tool.get("name") or tool["id"]], "description": [tool.get("description") or ""]}
        texts_read += fields["name"] + fields["description"]
        fields |= {"namespace": [tool.get("namespace") or ""], "parameters": list(properties), "texts": texts}
        places[tool["id"]] = len(documents)
        documents.append(document(fields))
    examples = folder / "examples.jsonl"
    lines = (examples if examples.exists() else folder / "queries.jsonl").read_text().splitlines()
    lines = [line for line in map(json.loads, lines) if line.get("part", "tuned").endswith("tuned")]
    pairs = [(line["query"], places[gold]) for line in lines for gold in line["gold"][:1] if gold in places]
    random.Random(3).shuffle(pairs)
    return documents, pairs[:limit], texts_read


class Lexicon:
    """The sources (words of requests, and pairs of neighbours), the words of tools, and the list of each source."""

    def __init__(self, servers, sets, table, near, meeting):
        offered, seen, written = Counter(), defaultdict(set), defaultdict(Counter)
        for at, server in enumerate(servers):
            for name, description, requests in server:
                offered.update(set(content(f"{name} {description}")))
                for text in [name, description, *requests]:
                    for word in words(text):
                        written[stem(word)][word] += 1
                for request in requests:
                    for source in sources_of(request):
                        seen[source].add(at)
        for documents, _, texts in sets:
            offered.update(word for one in documents for word in one)
            for text in texts:
                for word in words(text):
                    written[stem(word)][word] += 1
        pieces, phrases = read_vocabulary(table)
        rows, asked, of_phrases = read_table(table)
        split = Pieces(pieces)
        for piece in pieces:
            if piece.isalpha() and piece.isascii() and len(piece) > 2:
                written[stem(piece)][piece] += 1
        self.words = [word for word in written if word and (len(seen[word]) >= 2 or written[word].most_common(1)[0][0] in split.rows)]
        self.pairs = sorted(source for source, where in seen.items() if " " in source and len(where) >= 5)
        targets = [(-count, word) for word, count in offered.items() if count >= 3 and word.isalpha() and word in written]
        self.targets = sorted(word for _, word in sorted(targets)[:MOST_TARGETS])
        self.written = {word: self._spelling(found, split) for word, found in written.items()}
        known = {}
        for phrase, row in zip(phrases, of_phrases):
            known.setdefault(" ".join(map(stem, phrase.split())), row * (PHRASE / USUAL))
        self.source_places = {source: at for at, source in enumerate(self.words + self.pairs)}
        self.target_places = {target: at for at, target in enumerate(self.targets)}
        nothing = np.zeros(rows.shape[1], np.float32)
        of_words = [self._row(self.written[word], split, asked) for word in self.words]
        sources = np.vstack([*of_words, *(known.get(pair, nothing) for pair in self.pairs)])
        self.seen = np.array([len(seen[source]) for source in self.words + self.pairs])
        offered = np.vstack([self._row(self.written[word], split, rows) for word in self.targets])
        self._begin(sources, offered, near, self._meetings(servers), meeting)

    def _meetings(self, servers):
        """How much more often than by chance a source and a word of tools meet in a request and its tool."""
        size = (len(self.source_places), len(self.target_places))
        together, on_servers = sparse.csr_matrix(size), sparse.csr_matrix(size)
        of_source, of_target, count = np.zeros(size[0]), np.zeros(size[1]), 0
        for at in range(0, len(servers), 64):
            found = [self._meetings_of(server) for server in servers[at : at + 64]]
            together = together + sum(asked.T @ offered for asked, offered in found)
            on_servers = on_servers + sum(((asked.T @ offered) > 0).astype(int) for asked, offered in found)
            of_source += sum(np.asarray(asked.sum(axis=0)).ravel() for asked, _ in found)
            of_target += sum(np.asarray(offered.sum(axis=0)).ravel() for _, offered in found)
            count += sum(asked.shape[0] for asked, _ in found)
        together = together.tocoo()
        servers_of = np.asarray(on_servers[together.row, together.col]).ravel()
        surprise = np.log(together.data * count / (of_source[together.row] * of_target[together.col]))
        often = (servers_of >= MEETINGS) & (surprise > SURPRISE)
        worth = (surprise * np.sqrt(servers_of))[often]
        return sparse.csr_matrix((worth, (together.row[often], together.col[often])), size)

    def _meetings_of(self, server):
        asked, offered = [], []
        for name, description, requests in server:
            words_of_tool = {self.target_places[word] for word in content(f"{name} {description}") if word in self.target_places}
            for request in requests:
                asked.append([self.source_places[source] for source in sources_of(request) if source in self.source_places])
                offered.append(list(words_of_tool))
        return [
            sparse.csr_matrix((np.ones(len(places)), places, ends), (len(lists), width))
            for lists, width in ((asked, len(self.source_places)), (offered, len(self.target_places)))
            for places, ends in [sparse_training.ragged(lists)]
        ]

    @staticmethod
    def _spelling(found, split):
        """How a stem is written: its most frequent word, one with a row of its own before others."""
        common = [word for word, _ in found.most_common(4)]
        return next((word for word in common if word in split.rows), common[0])

    @staticmethod
    def _row(word, split, rows):
        return rows[split.of(word)].sum(axis=0) if split.of(word) else np.zeros(rows.shape[1], np.float32)

    def _begin(self, sources, offered, near, meetings, meeting):
        """The list of each source: the words of tools that are nearest by the table, with what they weigh at first, and
        those that it meets most."""
        offered = offered / np.maximum(np.linalg.norm(offered, axis=1, keepdims=True), 1e-6)
        sources = sources / np.maximum(np.linalg.norm(sources, axis=1, keepdims=True), 1e-6)
        self.starts, targets, weights = [0], [], []
        for at, source in enumerate(self.words + self.pairs):
            likeness = offered @ sources[at]
            best = np.argpartition(-likeness, near)[:near]
            met = meetings[[at]]
            most = met.indices[np.argsort(-met.data, kind="stable")[:meeting]]
            best = np.union1d(best[likeness[best] > FARTHEST], most)
            # The router scores the words of a request itself.
            own = [self.target_places[word] for word in source.split() if word in self.target_places]
            best = np.setdiff1d(best, own)
            targets.append(best)
            weights.append(likeness[best])
            self.starts.append(self.starts[-1] + len(best))
        self.starts, self.of_list = np.array(self.starts, np.int32), np.concatenate(targets).astype(np.int32)
        likeness = np.concatenate(weights)
        scale = np.percentile(likeness[likeness > FARTHEST], NEAR)
        self.weights = (BEGIN * np.maximum(likeness / scale - LEAST, 0) / (1 - LEAST)).astype(np.float32)

    def catalog(self, documents, requests):
        """A catalog as arrays; what a request's own words are worth is its base."""
        count = len(documents)
        frequency = Counter(word for one in documents for word in one)
        rarity = {word: math.log((2 * count + 2) / (2 * seen + 1)) for word, seen in frequency.items()}
        of_word = defaultdict(list)
        for at, one in enumerate(documents):
            for word, weight in one.items():
                of_word[word].append((at, weight * rarity[word]))
        places = [word for word in of_word if word in self.target_places]
        postings = [(self.target_places[word], at, worth) for word in places for at, worth in of_word[word]]
        sources, own, base, factors = [], [], [], []
        for text, _ in requests:
            found = [self.source_places[source] for source in sources_of(text) if source in self.source_places]
            asked, score = set(content(text)), np.zeros(count, np.float32)
            for word in asked:
                for at, worth in of_word.get(word, ()):
                    score[at] += worth
            sources.append(found)
            own.append([self.target_places[word] for word in asked if word in self.target_places])
            base.append(score)
            factors.append(8 / max(8, len(words(text))))
        right = [at for _, at in requests]
        return sparse_training.Catalog(len(self.targets), postings, sources, own, base, right, factors).arrays()

    def found(self, catalogs):
        hits = [sparse_training.found(self.starts, self.of_list, self.weights, one, len(self.targets)) for one in catalogs]
        return round(float(np.concatenate(hits).mean()), 4) if hits else None

    def lines(self, least, most):
        """The words of tools, and the lists as text: each source, then strengths, each with the numbers of the words that have it."""
        strengths = np.minimum(np.round(self.weights * FULL), FULL - 1).astype(int)
        lists = []
        for at in range(len(self.starts) - 1):
            places = range(self.starts[at], self.starts[at + 1])
            best = sorted((-strengths[place], self.of_list[place]) for place in places if strengths[place] >= max(least, 1))
            lists.append(best[:most])
        used = sorted({target for best in lists for _, target in best})
        numbers = {target: at for at, target in enumerate(used)}
        for at in range(0, len(used), 16):
            yield " ".join(["=", *(self.written[self.targets[target]] for target in used[at : at + 16])])
        for source, best in zip(self.words + self.pairs, lists):
            fields, before = [], 0
            for strength, target in best:
                if strength != before:
                    fields.append(f"{-strength:x}")
                fields[-1] += "".join(chr(ord("0") + digit) for digit in divmod(numbers[target], 64))
                before = strength
            if fields:
                yield " ".join(["_".join(self.written[stem] for stem in source.split()), *fields])


def train(lexicon, groups, epochs, args):
    """Trains the weights; each pass has the servers in other company, so that others are the wrong answers."""
    chance, order = random.Random(1), np.random.default_rng(1)
    squares = np.full(len(lexicon.weights), 0.05, np.float32)
    for epoch in range(epochs):
        loss, count = 0.0, 0
        for one in groups(chance, epoch):
            lists = (lexicon.starts, lexicon.of_list, lexicon.weights, squares)
            requests = order.permutation(len(one[-1]))
            settings = (args.drop, args.sharpness, args.rate, args.sparsity)
            loss += sparse_training.train(requests, *lists, one, len(lexicon.targets), *settings)
            count += len(requests)
        print(f"epoch {epoch}: loss {loss / count:.3f}", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pairs", nargs="+", required=True, help="files of requests and tools")
    options.add_argument("--sets", type=Path, help="a folder of sets; those that the table is trained on are trained on here too")
    options.add_argument("--table", type=Path, default=ASSETS / "token_table.safetensors", help="the table to begin with")
    options.add_argument("--held", type=float, default=0.0, help="the share of servers that is held back, of files in --hold")
    options.add_argument("--hold", nargs="*", default=[], help="files of which servers may be held back; all, if none is named")
    options.add_argument("--near", type=int, default=48, help="how many of the nearest words of tools each source has")
    options.add_argument("--meeting", type=int, default=32, help="how many of those that it meets most")
    options.add_argument("--least", type=int, default=1, help="the least strength that is written")
    options.add_argument("--most", type=int, default=64, help="the most words of a list that are written")
    options.add_argument("--epochs", type=int, default=4)
    options.add_argument("--groups", type=int, default=2, help="how many ways there are to put servers together")
    options.add_argument("--rate", type=float, default=0.05)
    options.add_argument("--drop", type=float, default=0.2, help="the share of sources that is left out")
    options.add_argument("--sharpness", type=float, default=0.6, help="of the softmax")
    options.add_argument("--sparsity", type=float, default=0.0, help="how strongly weights are drawn to zero")
    options.add_argument("--out", type=Path, required=True)
    args = options.parse_args()

    servers = [(path, server) for path in args.pairs for server in read_servers(path)]
    random.Random(5).shuffle(servers)
    may_hold = [one for one in servers if not args.hold or one[0] in args.hold]
    held = may_hold[: int(len(may_hold) * args.held)]
    taken = {id(one) for one in held}
    servers, held = [one[1] for one in servers if id(one) not in taken], [server for _, server in held]
    sets = [read_set(GOALS / name, 1_000) for name in READ]
    sets += [read_set(args.sets / name, most) for name, most in SETS.items()] if args.sets else []
    lexicon = Lexicon(servers, sets, args.table, args.near, args.meeting)
    print(f"{len(servers)} servers, {len(lexicon.words)} words, {len(lexicon.pairs)} pairs, {len(lexicon.targets)} words of tools", flush=True)
    judged = [lexicon.catalog(*one) for one in catalogs(held)]
    print(f"found by the words themselves and what is near: {lexicon.found(judged)}", flush=True)
    of_sets, made = [lexicon.catalog(*one[:2]) for one in sets if one[1]], {}

    def groups(chance, epoch):
        at = epoch % args.groups
        if at not in made:
            made[at] = [lexicon.catalog(*one) for one in catalogs(chance.sample(servers, len(servers)))]
        return made[at] + of_sets

    train(lexicon, groups, args.epochs, args)
    print(f"trained: {lexicon.found(judged)}", flush=True)
    lines = list(lexicon.lines(args.least, args.most))
    args.out.write_text(HEAD + "\n".join(lines) + "\n")
    print(f"{len(lines)} lists, {args.out.stat().st_size} bytes", flush=True)


if __name__ == "__main__":
    main()
