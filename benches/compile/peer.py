"""contextweaver (Python) over a log that `compile-speed workloads DIR` wrote: one JSON object.

    python peer.py LOG                 processor time of append and build
    python peer.py --log LOG QUERY     what is shown, and what is left out
"""

import json
import sys
import threading
import time
from collections import Counter

import contextweaver
from contextweaver.context.manager import ContextManager
from contextweaver.types import ContextItem, Phase

QUERY = "summarise the payment dispute and the rollback of the billing service"


def read(path):
    with open(path, encoding="utf-8") as file:
        return [ContextItem.from_dict(json.loads(line)) for line in file]


def tell(started, done):
    while not done.wait(15):
        print(f"the peer: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def speed(path):
    items = read(path)
    done = threading.Event()
    threading.Thread(target=tell, args=(time.monotonic(), done), daemon=True).start()
    manager = ContextManager()
    start = time.process_time_ns()
    for item in items:
        manager.ingest(item)
    ingested = time.process_time_ns()
    pack = manager.build_sync(phase=Phase("answer"), query=QUERY)
    built = time.process_time_ns()
    done.set()
    return {
        "version": getattr(contextweaver, "__version__", "?"),
        "events": len(items),
        "ingest_ms": (ingested - start) / 1e6,
        "build_ms": (built - ingested) / 1e6,
        "whole_ms": (built - start) / 1e6,
        "included": pack.stats.included_count,
        "reported_tokens": pack.stats.prompt_tokens,
    }


def content(path, query):
    manager = ContextManager()
    for item in read(path):
        manager.ingest(item)
    pack = manager.build_sync(phase=Phase("answer"), query=query)
    dropped = [(d.item_id, d.reason) for d in pack.stats.dropped_items]
    return {
        "included": pack.stats.included_count,
        "reported_tokens": pack.stats.prompt_tokens,
        "dropped": [item for item, _ in dropped],
        "reasons": Counter(reason for _, reason in dropped),
        "prompt": pack.prompt,
    }


if sys.argv[1] == "--log":
    print(json.dumps(content(sys.argv[2], sys.argv[3])))
else:
    print(json.dumps(speed(sys.argv[1])))
