"""Gives the Python verifier's verdict on every case of a list, and on the cases of RFC 6962.

Called by `cargo xtask crosscheck` as `judge.py VERIFIER CASES VECTORS`. Prints one JSON object a line.
"""

import base64
import importlib.util
import json
import sys


def load(path):
    spec = importlib.util.spec_from_file_location("verify_log", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tree_case(verifier, roots, case):
    """Whether the verifier takes the case for valid."""
    path = [bytes.fromhex(text) for text in case.get("proof", ())]
    try:
        if case["kind"] == "root":
            return roots[case["size"]].hex() == case["root"]
        if case["kind"] == "inclusion":
            leaf = bytes.fromhex(case["leaf_hash"])
            root = verifier.inclusion_root(leaf, case["index"], case["size"], path)
            return root.hex() == case["root"]
        ends = (bytes.fromhex(case[name]) for name in ("root1", "root2"))
        verifier.check_consistency(case["size1"], case["size2"], path, *ends)
        return True
    except verifier.Refused:
        return False


def main(verifier_path, cases_path, vectors_path):
    verifier = load(verifier_path)
    with open(cases_path, encoding="utf-8") as cases:
        for case in map(json.loads, cases):
            trust = case["trust"]
            if "checkpoint" in trust:
                trust["checkpoint"] = trust["checkpoint"].encode()
            good, text = verifier.verdict(case["kind"], case["path"], trust)
            print(json.dumps({"good": good, "text": text}))
    with open(vectors_path, encoding="utf-8") as file:
        vectors = json.load(file)
    frontier, roots = verifier.Frontier(), [verifier.sha()]
    for leaf in vectors["leaves_b64"]:
        frontier.push(verifier.leaf_hash(base64.b64decode(leaf)))
        roots.append(frontier.root())
    cases = vectors["vectors"]
    right = sum(tree_case(verifier, roots, case) == case.get("valid", True) for case in cases)
    print(json.dumps({"vectors": len(cases), "right": right}))


if __name__ == "__main__":
    main(*sys.argv[1:])
