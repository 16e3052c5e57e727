"""Stands between an MCP client and a server on stdio, and notes in which era they speak.

Usage: tap.py NOTES [--modern-only] COMMAND [ARGUMENT...]

Every line passes unchanged. For each request that names its protocol version, the era and the
version are appended to NOTES, each pair once: `legacy 2025-11-25`, taken from the server's answer
to `initialize`, or `modern 2026-07-28`, taken from the `_meta` of a request. With --modern-only,
`initialize` is refused here, as a server that speaks only the modern era refuses it.
"""

import json
import subprocess
import sys
import threading

VERSION = "io.modelcontextprotocol/protocolVersion"
REFUSED = {"code": -32601, "message": "method `initialize` is not offered here"}


class Tap:
    def __init__(self, notes, modern_only):
        self.notes = notes
        self.modern_only = modern_only
        self.initialize = None
        self.seen = set()
        self.lock = threading.Lock()

    def note(self, era, version):
        if (era, version) not in self.seen and len(self.seen) < 16:
            self.seen.add((era, version))
            with open(self.notes, "a", encoding="utf-8") as file:
                file.write(f"{era} {version}\n")

    def write(self, stream, line):
        with self.lock:
            stream.write(line)
            stream.flush()

    def outward(self, line, server):
        """A line of the client."""
        message = parse(line)
        method = message.get("method")
        if method == "initialize":
            self.initialize = message.get("id")
            if self.modern_only:
                answer = {"jsonrpc": "2.0", "id": self.initialize, "error": REFUSED}
                self.write(sys.stdout.buffer, json.dumps(answer).encode() + b"\n")
                return
        meta = (message.get("params") or {}).get("_meta") or {}
        # The probe of a client that speaks both eras is no sign of what they agree on.
        if VERSION in meta and method != "server/discover":
            self.note("modern", meta[VERSION])
        server.write(line)
        server.flush()

    def inward(self, line):
        """A line of the server."""
        message = parse(line)
        if self.initialize is not None and message.get("id") == self.initialize:
            version = (message.get("result") or {}).get("protocolVersion")
            if version:
                self.note("legacy", version)
                self.initialize = None
        self.write(sys.stdout.buffer, line)


def parse(line):
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def main():
    notes, *command = sys.argv[1:]
    modern_only = command[0] == "--modern-only"
    if modern_only:
        command = command[1:]
    tap = Tap(notes, modern_only)
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def relay():
        try:
            for line in sys.stdin.buffer:
                tap.outward(line, child.stdin)
        except (BrokenPipeError, ValueError):
            pass
        try:
            child.stdin.close()
        except BrokenPipeError:
            pass

    threading.Thread(target=relay, daemon=True).start()
    try:
        for line in child.stdout:
            tap.inward(line)
    except BrokenPipeError:
        child.kill()
    sys.exit(child.wait())


main()
