"""Fits the weights of the classifier of the redactor, `crates/firewall/assets/classifier_weights.bin`.

    pip install numpy scipy
    python benches/redaction/fit_classifier.py                      # fit to all sets, and write the weights
    python benches/redaction/fit_classifier.py --leave-out mixed_17 # fit to the others, and test on this one

Data: the labelled texts of `xtask/harness/data/redaction`. Texts that are held back are never fitted to; a set
that is left out is tested with all of its texts. The crate itself describes the tokens (the test
`describes_the_tokens_of_texts`), so that what is fitted is what runs. A token is a secret if it holds a label of
a secret and at most three more bytes; a token that overlaps a label otherwise is left out. Tokens that no
label announces are fitted to as well: there are more of them, and they tell what is no secret.

Model: logistic regression with an L2 penalty, on features hashed to a table of 2^17 places. Weights are
written as signed bytes, in 32nds of a logit, and the intercept lies at the place of the feature `any`. A token is
masked above zero, which is a probability of one half plus `--margin`.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

ROOT = Path(__file__).resolve().parents[2]
SETS = ROOT / "xtask/harness/data/redaction"
WEIGHTS = ROOT / "crates/firewall/assets/classifier_weights.bin"
SECRETS = {"SECRET", "JWT", "PRIVATE_KEY", "CONN_STRING", "PASSWORD"}
MARK = re.compile("⟦([^:⟧]+):([^⟧]*)⟧")
BITS = 17
SCALE = 32


def fnv1a(text, value, prime, bits):
    for byte in text:
        value = (value ^ byte) * prime & (1 << bits) - 1
    return value


def read_sets():
    """The texts as (set, whether it is held back, text, labels); a label has a start, an end and a type, in bytes."""
    cases = []
    for path in sorted(SETS.glob("*.txt")):
        lines = path.read_text(encoding="utf-8").splitlines()
        comments = []
        while lines and lines[0].startswith("# "):
            comments.append(lines.pop(0))
        split = next((line[9:] for line in comments if line.startswith("# split: ")), "third")
        for line in lines:
            number = fnv1a(line.encode(), 0xCBF29CE484222325, 0x100000001B3, 64)
            part = {"third": 3, "half": 2, "held back": 1}.get(split)
            held = part is not None and number % part == 0
            text, labels, at = b"", [], 0
            line = line.replace("\\n", "\n").replace("\\t", "\t")
            for mark in MARK.finditer(line):
                text += line[at : mark.start()].encode()
                labels.append((len(text), len(text) + len(mark[2].encode()), mark[1]))
                text += mark[2].encode()
                at = mark.end()
            cases.append((path.stem, held, (text + line[at:].encode()).decode(), labels))
    return cases


def describe(texts):
    """The tokens of each text: start, end, whether a label announces it, and hashes of features."""
    with tempfile.TemporaryDirectory() as folder:
        names = {"CLASSIFIER_TEXTS": f"{folder}/texts", "CLASSIFIER_FEATURES": f"{folder}/features"}
        Path(names["CLASSIFIER_TEXTS"]).write_text("".join(json.dumps(text) + "\n" for text in texts))
        command = "cargo test -q -p weaver-firewall --all-features --lib -- --ignored describes_the_tokens_of_texts"
        subprocess.run(command.split(), cwd=ROOT, env=os.environ | names, check=True)
        return [json.loads(line) for line in Path(names["CLASSIFIER_FEATURES"]).open()]


def class_of(start, end, labels):
    """1 for a secret, 0 for none, and -1 for what is left out."""
    answer = 0
    for first, last, kind in labels:
        if first < end and start < last and kind in SECRETS:
            if start <= first and last <= end and end - start <= last - first + 3:
                return 1
            answer = -1
    return answer


def matrix(described):
    """A row for each token, and a column for each place of the table."""
    rows, ends = [], [0]
    for tokens in described:
        for *_, features in tokens:
            rows.extend({feature & (1 << BITS) - 1 for feature in features})
            ends.append(len(rows))
    shape = (len(ends) - 1, 1 << BITS)
    return sp.csr_matrix((np.ones(len(rows)), np.array(rows), np.array(ends)), shape=shape)


def fit(features, answers, penalty, weights=None):
    """The weights of a logistic regression."""
    turned = features.T.tocsr()
    signs = 2.0 * answers - 1
    weights = np.ones(len(signs)) if weights is None else weights

    def loss(values):
        margins = signs * (features @ values)
        slopes = -weights * signs / (1 + np.exp(np.clip(margins, -30, 30)))
        cost = (weights * np.logaddexp(0, -margins)).sum() + penalty / 2 * (values**2).sum()
        return cost, turned @ slopes + penalty * values

    start = np.zeros(features.shape[1])
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 80}).x


def quantised(values, margin):
    """The table as it is stored."""
    any_place = any_feature() & (1 << BITS) - 1
    values = values.copy()
    values[any_place] -= margin
    return np.clip(np.rint(values * SCALE), -127, 127).astype(np.int8)


def any_feature():
    """The hash of the feature that every token has; see `classifier/hash.rs`."""
    value = fnv1a(b"any\0", 0x811C9DC5, 0x01000193, 32)
    return value ^ value >> 15


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leave-out", action="append", default=[], metavar="SET")
    parser.add_argument("--penalty", type=float, default=0.5)
    parser.add_argument("--margin", type=float, default=0.25)
    options = parser.parse_args()
    cases = read_sets()
    described = describe([text for _, _, text, _ in cases])
    features = matrix(described)
    owners = np.array([n for n, tokens in enumerate(described) for _ in tokens])
    answers = np.array(
        [class_of(token[0], token[1], cases[n][3]) for n, tokens in enumerate(described) for token in tokens]
    )
    announced = np.array([token[2] for tokens in described for token in tokens])
    held = np.array([held for _, held, _, _ in cases])[owners]
    sets = np.array([name for name, _, _, _ in cases])[owners]
    fitted = ~held & (answers >= 0) & ~np.isin(sets, options.leave_out)
    values = fit(features[fitted], answers[fitted], options.penalty)
    table = quantised(values, options.margin)
    if not options.leave_out:
        WEIGHTS.write_bytes(table.tobytes())
    sums = features @ table.astype(float)
    for name in options.leave_out or sorted(set(sets)):
        tested = announced & (answers >= 0) & (sets == name)
        secrets, masked = answers[tested] == 1, sums[tested] > 0
        print(
            f"{name:10} tokens {tested.sum():6} secrets {secrets.sum():5} found {(secrets & masked).sum():5}"
            f" masked without need {(masked & ~secrets).sum():4}"
        )


if __name__ == "__main__":
    main()
