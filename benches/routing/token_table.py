"""Reads and writes token tables: a safetensors file, and its vocabulary beside it (`.vocab.txt`). Needs numpy."""

import json
import struct
from pathlib import Path

import numpy as np

ASSETS = Path(__file__).parents[2] / "crates/contextweaver/assets"
# Rows of one piece that differ by less than this share of their length are one row.
SAME = 0.02
# The largest number of four bits, and the shares of the largest number of a row that it may stand for.
MOST, SHARES = 7, (0.6, 0.7, 0.8, 0.9, 1.0)
KINDS = {"I8": np.int8, "U8": np.uint8, "U16": np.uint16, "I32": np.int32, "F16": np.float16, "F32": np.float32}


def read_table(path):
    """The rows for words of tools, those for words of requests, and those for phrases."""
    raw = Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8 : 8 + size])

    def tensor(name):
        start, end = head[name]["data_offsets"]
        return np.frombuffer(raw[8 + size + start : 8 + size + end], KINDS[head[name]["dtype"]]).reshape(head[name]["shape"])

    if "embeddings_i4" in head:
        pairs = tensor("embeddings_i4")
        rows = np.stack([(pairs << 4).view(np.int8) >> 4, pairs.view(np.int8) >> 4], axis=2).reshape(len(pairs), -1)
    else:
        rows = tensor("embeddings_i8" if "embeddings_i8" in head else "embeddings")
    rows = rows.astype(np.float32)
    if "row_scale" in head:
        rows *= tensor("row_scale").astype(np.float32).reshape(-1, 1)
    pieces, phrases = read_vocabulary(path)
    if "query_mapping" not in head:
        return rows, rows, np.zeros((0, rows.shape[1]), np.float32)
    asked = rows[tensor("query_mapping")]
    return rows[: len(pieces)], asked[: len(pieces)], asked[len(pieces) :]


def read_vocabulary(path):
    """The pieces of words of a table, and the phrases of two words behind them."""
    lines = Path(path).with_suffix(".vocab.txt").read_text().rstrip("\n").split("\n")
    return [line for line in lines if " " not in line], [line for line in lines if " " in line]


def four_bits(rows):
    """Rows as whole numbers from -7 to 7 with one factor each: of several factors, the one that is nearest."""
    largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-8)
    best, factors = np.zeros(rows.shape, np.int8), np.ones((len(rows), 1), np.float32)
    errors = np.full((len(rows), 1), np.inf, np.float32)
    for share in SHARES:
        values = np.round(rows * (MOST / (largest * share))).clip(-MOST, MOST)
        factor = (rows * values).sum(axis=1, keepdims=True) / np.maximum((values**2).sum(axis=1, keepdims=True), 1)
        error = ((rows - values * factor) ** 2).sum(axis=1, keepdims=True)
        better = error < errors
        best = np.where(better, values, best).astype(np.int8)
        factors, errors = np.where(better, factor, factors), np.minimum(error, errors)
    return best, factors.astype(np.float16)


def write_tensors(path, tensors, vocabulary):
    head, end = {}, 0
    for name, kind, values in tensors:
        assert values.dtype == KINDS[kind], (name, kind)
        head[name] = {"dtype": kind, "shape": values.shape, "data_offsets": [end, end + values.nbytes]}
        end += values.nbytes
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(values.tobytes() for _, _, values in tensors))
    Path(path).with_suffix(".vocab.txt").write_text("\n".join(vocabulary) + "\n")


def write_table(path, pieces, offered, asked, phrases, changes, most):
    """Rows for words of tools, those for phrases, then the rows for words of requests that differ from those of tools.

    `most` rows of requests, those of phrases among them, are kept: those with the largest `changes`.
    """
    differs = np.linalg.norm(asked[: len(pieces)] - offered, axis=1) > SAME * np.linalg.norm(offered, axis=1)
    differs = np.append(differs, np.linalg.norm(asked[len(pieces) :], axis=1) > 0)
    order = np.argsort(-changes * differs, kind="stable")
    kept = np.sort(order[: min(most, differs.sum())])
    own, kept_phrases = kept[kept < len(pieces)], kept[kept >= len(pieces)]
    values, factors = four_bits(np.vstack([offered, asked[kept_phrases], asked[own]]))
    mapping = np.arange(len(pieces) + len(kept_phrases), dtype=np.uint16)
    mapping[own] = len(mapping) + np.arange(len(own))
    pairs = (values[:, 0::2].view(np.uint8) & 15) | (values[:, 1::2].view(np.uint8) << 4)
    tensors = [("embeddings_i4", "U8", pairs), ("row_scale", "F16", factors[:, 0]), ("query_mapping", "U16", mapping)]
    write_tensors(path, tensors, pieces + [phrases[at - len(pieces)] for at in kept_phrases])
