"""agent-kernel (Python): grants and calls as `kernel-speed` makes them; processor time, one JSON object.

    python peer.py [--smoke]
"""

import asyncio
import json
import os
import statistics
import sys
import time

os.environ.setdefault("WEAVER_KERNEL_SECRET", "speed-0123456789abcdef0123456789abcdef")

import weaver_kernel as wk

ROWS = [{"id": n, "name": f"Person {n}", "team": "north"} for n in range(5)]
WHO = wk.Principal("ana", ["reader"], {"tenant": "acme"})
WHAT = wk.CapabilityRequest("people.list", "who is there?")
BATCH = 50


class Seconds:
    """A clock that goes on by a second with each look, so that no rate is exceeded and few entries are kept."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


def kernel():
    registry = wk.CapabilityRegistry()
    registry.register(wk.Capability("people.list", "List", "List people", wk.SafetyClass.READ))
    driver = wk.InMemoryDriver()
    driver.register_handler("people.list", lambda _: ROWS)
    made = wk.Kernel(
        registry,
        policy=wk.DefaultPolicyEngine(clock=Seconds()),
        router=wk.StaticRouter(routes={"people.list": ["memory"]}),
    )
    made.register_driver(driver)
    return made


async def micros(batches, each, call):
    times = []
    for _ in range(batches + 1):
        start = time.process_time_ns()
        for _ in range(each):
            await call()
        times.append((time.process_time_ns() - start) / each)
    return statistics.median(times[1:]) / 1e3


async def main(smoke):
    batches, fill = (3, 300) if smoke else (25, 11_000)
    out = {"version": wk.__version__}

    made = kernel()

    async def grant():
        made.grant_capability(WHAT, WHO, justification="")

    out["grant_us"] = await micros(batches, BATCH, grant)

    async def both():
        granted = made.grant_capability(WHAT, WHO, justification="")
        await made.invoke(granted.token, principal=WHO, args={"team": "north"})

    made = kernel()
    fresh = await micros(batches, BATCH, both)
    out["grant_invoke_us"] = fresh
    for _ in range(fill):
        await both()
    full = await micros(max(batches // 5, 1), 10, both)
    out["caps"] = {"fresh_us": fresh, "full_us": full, "ratio": full / fresh}

    tokens = wk.HMACTokenProvider("speed-0123456789abcdef0123456789abcdef")
    token = tokens.issue("people.list", "ana", constraints={"max_rows": 50}, audit_id="a")

    async def verify():
        tokens.verify(token, expected_principal_id="ana", expected_capability_id="people.list")

    out["token_verify_us"] = await micros(batches, 200, verify)
    print(json.dumps(out))


asyncio.run(main("--smoke" in sys.argv[1:]))
