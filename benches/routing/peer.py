"""contextweaver (Python) over catalogs that `routing workloads DIR` wrote: processor time, one JSON object.

    python peer.py DIR SIZE...
"""

import json
import os
import sys
import time

import contextweaver
from contextweaver.routing.catalog import load_catalog_dicts
from contextweaver.routing.router import Router
from contextweaver.routing.tree import TreeBuilder


def lines(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def size(folder, count):
    items = load_catalog_dicts(lines(folder, f"tools_{count}.jsonl"))
    requests = lines(folder, f"requests_{count}.jsonl")
    start = time.process_time_ns()
    graph = TreeBuilder().build(items, use_cache=False)
    router = Router(graph, items=items, top_k=10)
    router.route("warm up the index")
    built = time.process_time_ns()
    times = []
    for request in requests:
        start_one = time.process_time_ns()
        router.route(request)
        times.append((time.process_time_ns() - start_one) / 1e3)
    times.sort()
    return {
        "build_ms": (built - start) / 1e6,
        "p50_us": times[len(times) // 2],
        "requests": len(times),
    }


def main(folder, sizes):
    found = {str(count): size(folder, count) for count in sizes}
    found["version"] = getattr(contextweaver, "__version__", "?")
    print(json.dumps(found))


main(sys.argv[1], [int(count) for count in sys.argv[2:]])
