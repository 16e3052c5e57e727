"""contextweaver (Python) over a log that `compile-speed workloads DIR` wrote: processor time, one JSON object.

    python peer.py DIR [--smoke]
"""

import json
import os
import sys
import time

import contextweaver
from contextweaver.context.manager import ContextManager
from contextweaver.types import ContextItem, Phase

QUERY = "summarise the payment dispute and the rollback of the billing service"


def main(folder, smoke):
    count = 1000 if smoke else 10000
    with open(os.path.join(folder, f"events_{count}.jsonl"), encoding="utf-8") as file:
        items = [ContextItem.from_dict(json.loads(line)) for line in file]
    manager = ContextManager()
    start = time.process_time_ns()
    for item in items:
        manager.ingest(item)
    ingested = time.process_time_ns()
    pack = manager.build_sync(phase=Phase("answer"), query=QUERY)
    built = time.process_time_ns()
    print(
        json.dumps(
            {
                "version": getattr(contextweaver, "__version__", "?"),
                "events": count,
                "ingest_ms": (ingested - start) / 1e6,
                "build_ms": (built - ingested) / 1e6,
                "whole_ms": (built - start) / 1e6,
                "included": pack.stats.included_count,
                "reported_tokens": pack.stats.prompt_tokens,
            }
        )
    )


main(sys.argv[1], "--smoke" in sys.argv[2:])
