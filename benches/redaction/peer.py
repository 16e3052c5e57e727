"""agent-kernel (Python) over the inputs that `redaction-speed workloads DIR` wrote: processor time, one JSON object.

    python peer.py DIR [--smoke]
"""

import asyncio
import json
import os
import statistics
import sys
import time

os.environ.setdefault("WEAVER_KERNEL_SECRET", "speed-0123456789abcdef0123456789abcdef")

import weaver_kernel as wk
from weaver_kernel.firewall import redact

QUERY = {"filter": {"status": "open"}, "fields": ["id", "amount", "note"], "offset": 1000, "limit": 50}


def load(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def kernel(rows, sensitivity):
    registry = wk.CapabilityRegistry()
    registry.register(wk.Capability("speed.list", "List", "Lists rows", wk.SafetyClass.READ, sensitivity=sensitivity))
    driver = wk.InMemoryDriver()
    driver.register_handler("speed.list", lambda _: rows)
    made = wk.Kernel(
        registry,
        policy=wk.DeclarativePolicyEngine.from_dict({"default": "allow"}),
        router=wk.StaticRouter(routes={"speed.list": ["memory"]}),
    )
    made.register_driver(driver)
    return made


def median(times):
    return statistics.median(times) / 1e3


async def main(folder, smoke):
    runs, calls = (1, 3) if smoke else (5, 100)
    text = load(folder, "text5mb.txt")
    if smoke:
        text = text[:200_000]
    times = []
    for _ in range(runs):
        start = time.process_time_ns()
        redact(text)
        times.append(time.process_time_ns() - start)
    out = {"version": wk.__version__, "redact_mb_s": len(text) / median(times)}

    who = wk.Principal("ana", ["reader"], {"tenant": "acme"})
    what = wk.CapabilityRequest("speed.list", "who is there?")
    made = kernel(json.loads(load(folder, "people.json")), wk.SensitivityTag.PII)
    token = made.get_token(what, who, justification="")
    for mode in ("summary", "table"):
        times = []
        for _ in range(calls + 1):
            start = time.process_time_ns()
            await made.invoke(token, principal=who, args={}, response_mode=mode)
            times.append(time.process_time_ns() - start)
        out[f"invoke_{mode}_us"] = median(times[1:])

    made = kernel(json.loads(load(folder, "orders.json")), wk.SensitivityTag.NONE)
    token = made.get_token(what, who, justification="")
    frame = await made.invoke(token, principal=who, args={}, response_mode="handle_only")
    times = []
    for _ in range(calls + 1):
        start = time.process_time_ns()
        page = made.expand(frame.handle, query=QUERY, principal=who)
        times.append(time.process_time_ns() - start)
    out["expand_us"], out["expand_rows"] = median(times[1:]), len(page.table_preview)
    print(json.dumps(out))


asyncio.run(main(sys.argv[1], "--smoke" in sys.argv[2:]))
