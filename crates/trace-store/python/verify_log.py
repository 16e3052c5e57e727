#!/usr/bin/env python3
"""Verifies Weaver's logs, checkpoints, receipts and equivocation proofs. Written from docs/internals/trace-format.md
alone, with the standard library and `cryptography` for Ed25519. It never writes.
Exit codes: 0 verified, 1 refused, 2 called wrongly."""
import argparse, base64, functools, hashlib, json, re, sqlite3, sys, urllib.parse
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
ID = re.compile(r"[^\s\0-\x1f\x7f-\x9f]{1,128}")
KEEP = {"log.pruned", "run.restated", "log.key", "policy.loaded"}
ENDS = {"call.intent", "call.outcome", "call.outcome_unknown", "call.refused"}
P = 2**255 - 19
# The y coordinates of the points whose order divides eight.
SMALL = {0, 1, P - 1} | {int.from_bytes(bytes.fromhex(y), "little") for y in (
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")}
class Refused(Exception): pass
def need(holds, why):
    if not holds:
        raise Refused(why)
def sha(*parts): return hashlib.sha256(b"".join(parts)).digest()
def leaf_hash(header): return sha(b"\0", header)
def node(left, right): return sha(b"\1", left, right)
def is_count(value): return type(value) is int and value >= 0
def unb64(text, size=None):
    data = base64.b64decode(text, validate=True)
    need(base64.b64encode(data).decode() == text and size in (None, len(data)), "no canonical base64 of the right size")
    return data
def parse_json(data):
    def pairs(items):
        need(len({key for key, _ in items}) == len(items), "a key stands twice")
        return dict(items)
    def whole(digits):
        need(re.fullmatch("-?[0-9]{1,16}", digits) and abs(int(digits)) <= 2**53, "no integer up to 2^53")
        return int(digits)
    return json.loads(data.decode(), object_pairs_hook=pairs, parse_int=whole, parse_float=whole, parse_constant=whole)
def json_bytes(value): return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
def canonical(data, required, optional=frozenset()):  # An object of version 1 with these fields.
    value = parse_json(data)
    need(isinstance(value, dict) and is_count(value.get("v")) and value["v"] == 1, "no object of version 1")
    need({"v", *required} <= set(value) <= {"v", *required, *optional}, "a field is missing or unknown")
    need(json_bytes(value) == data, "not canonical JSON")
    return value

def inclusion_root(leaf, index, size, path):
    need(index < size and bool(path) == (size > 1), "the path does not fit place and size")
    if size == 1:
        return leaf
    left, rest = 1 << (size - 1).bit_length() - 1, path[:-1]
    if index < left:
        return node(inclusion_root(leaf, index, left, rest), path[-1])
    return node(path[-1], inclusion_root(leaf, index - left, size - left, rest))
def consistency_roots(old, new, path, known):  # `known` is the old root, where the path leaves it out.
    if old == new:
        need(len(path) == (known is None), "the path has the wrong length")
        return (path[0],) * 2 if known is None else (known,) * 2
    need(path, "the path is too short")
    left, rest = 1 << (new - 1).bit_length() - 1, path[:-1]
    if old <= left:
        before, after = consistency_roots(old, left, rest, known)
        return before, node(after, path[-1])
    return tuple(node(path[-1], root) for root in consistency_roots(old - left, new - left, rest, None))
def check_consistency(old, new, path, old_root, new_root):
    need(old <= new and (old > 0 or (not path and old_root == sha())), "the sizes do not fit")
    found = consistency_roots(old, new, path, old_root) if old > 0 or new == 0 else (old_root, new_root)
    need(found == (old_root, new_root), "the path does not lead to the roots")
class Frontier:  # The roots of the complete subtrees, and the interior nodes by tile and slot.
    def __init__(self): self.size, self.nodes, self.tiles = 0, [], {}
    def push(self, own):
        level, place = 0, self.size
        while place & 1:
            own, level, place = node(self.nodes.pop(), own), level + 1, place >> 1
            depth = 7 - (level - 1) % 8
            tile = self.tiles.setdefault(((level - 1) // 8, place >> depth), {})
            tile[2**depth - 1 + place % 2**depth] = own
        self.nodes.append(own)
        self.size += 1
    def root(self):
        return functools.reduce(lambda right, left: node(left, right), reversed(self.nodes)) if self.nodes else sha()

# Keys and notes.
def is_point(data):
    y = int.from_bytes(data[:32], "little") % 2**255
    return y < P and y not in SMALL
def verify_signature(public, message, signature):
    need(len(signature) == 64 and is_point(signature), "a signature is malformed")
    Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
def parse_key(text, usage):  # As (name, id, public).
    name, key_id, key = text.split("+", 2)
    need(ID.fullmatch(name) and len(name.encode()) <= 128, "the name of a key is malformed")
    data = unb64(key, 33)
    own = sha(name.encode(), b"\n", data)[:4]
    need(data[0] == usage and is_point(data[1:]) and own.hex() == key_id, "no verifier key of this use")
    return name, own, data[1:]
def parse_note(data):
    need(len(data) <= 65536, "the note is too large")
    note = re.fullmatch("((?:[^\0-\x1f]+\n){3,})\n((?:\u2014 [^\\s+]+ \\S+\n){1,64})", data.decode())
    need(note, "no signed checkpoint")
    origin, size, root = note[1].split("\n")[:3]
    need(ID.fullmatch(origin) and re.fullmatch("0|[1-9][0-9]{0,15}", size) and int(size) <= 2**53, "no origin or size")
    need(unb64(root, 32) == sha() or size != "0", "the empty log has another root")
    signatures = {}
    for _, name, text in (line.split(" ") for line in note[2][:-1].split("\n")):
        signature = unb64(text)
        need(len(signature) > 4 and (name, signature[:4]) not in signatures, "a signature is short, or stands twice")
        signatures[name, signature[:4]] = signature[4:]
    return {"log": origin, "size": int(size), "root": unb64(root), "body": note[1], "signatures": signatures}
class Keys:  # By the log's own events; a period is [key, declared at, ended at, handed over].
    def __init__(self, log): self.log, self.periods = log, []
    def take(self, seq, payload):
        value = canonical(payload, {"from"}, {"key", "previous", "signature"})
        need(is_count(value["from"]) and value["from"] <= seq, "`from` lies beyond the event")
        key, used = parse_key(value["key"], 1) if "key" in value else None, [period[0][2] for period in self.periods]
        need(key is None or (key[0] == self.log and key[2] not in used), "a key of another log, or in force before")
        now = next((period for period in self.periods if period[2] is None), None)
        if now:
            need(parse_key(value["previous"], 1) == now[0], "another key is in force")
            signature = unb64(value.pop("signature"), 64)
            verify_signature(now[0][2], b"weaver/log-key/v1\0" + json_bytes(value), signature)
            now[2] = seq
        need(now or (key and not {"previous", "signature"} & set(value)), "there is no key to end")
        self.periods += [[key, seq, None, bool(now)]] if key else []
    def check(self, anchor, key, size):
        upto = [period for period in self.periods if period[1] < size]
        if not upto:
            return need(key == anchor, "the key is declared for greater sizes only")
        need(upto[-1][0] == key and (upto[-1][2] is None or size <= upto[-1][2]), "the key does not count at this size")
        start = max(at for at in range(len(upto)) if not upto[at][3])
        need(anchor in [period[0] for period in upto[start:]], "no chain leads to the key from the trusted one")
def open_checkpoint(data, trust, keys=None):
    note = parse_note(data)
    keys, anchor, why = keys or Keys(note["log"]), parse_key(trust["key"], 1), "no trusted key signed the checkpoint"
    for key in [anchor, *(period[0] for period in keys.periods)]:
        if why is None or key[:2] not in note["signatures"]:
            continue
        verify_signature(key[2], note["body"].encode(), note["signatures"][key[:2]])
        try:
            until = trust.get("until", 2**53) if key == anchor else 2**53
            need(key[0] == note["log"] and note["size"] <= until, "the key is of another log, or ended before")
            keys.check(anchor, key, note["size"])
            why = None
        except Refused as error:
            why = str(error)
    need(why is None, why)
    seen = set()
    for name, key_id, public in (parse_key(text, 4) for text in trust.get("witnesses", ())):
        signature = note["signatures"].get((name, key_id))
        if signature and public not in seen:
            at = int.from_bytes(signature[:8], "big")
            need(len(signature) == 72 and at < 2**63, "a cosignature is malformed")
            verify_signature(public, f"cosignature/v1\ntime {at}\n{note['body']}".encode(), signature[8:])
            seen.add(public)
    need(len(seen) >= trust.get("quorum", 0), "too few witnesses signed")
    return note

# Logs.
def parse_header(data):
    header = canonical(data, {"log", "seq", "at", "type", "commit"}, {"run", "call"})
    texts = all(ID.fullmatch(header.get(name, "-")) for name in ("log", "type", "run", "call"))
    need(texts and re.fullmatch("sha256:[0-9a-f]{64}", header["commit"]), "a text of the header is malformed")
    need(is_count(header["seq"]) and type(header["at"]) is int, "a number of the header is none")
    return header
def check_payload(header, salt, payload):
    found = "sha256:" + sha(b"weaver/commit/v1\0", salt, payload).hex()
    need(len(salt) == 16 and found == header["commit"], "the payload is not the one committed to")
def pruned_places(payload):
    note, last, places = canonical(payload, {"by", "ranges", "reason"}), -2, set()
    known = note["reason"] in ("age", "principal", "tag", "kind")
    need(known and re.fullmatch("[^\0-\x1f\x7f-\x9f]{1,200}", note["by"]), "`reason` or `by` is malformed")
    for first, end in note["ranges"]:
        need(is_count(first) and is_count(end) and last + 1 < first <= end < first + 1024, "a range is malformed")
        last, places = end, places | set(range(first, end + 1))
    need(1 <= len(places) <= 1024, "it names no event, or too many")
    return places
def walk(events, trust, log=None):  # Over (header, salt, payload); gives the frontier, the last time, what is proven.
    frontier, highest, gone, missing, keys, at_size = Frontier(), None, set(), 0, None, None
    earlier = parse_note(trust["checkpoint"]) if "checkpoint" in trust else trust.get("head")
    for seq, (data, salt, payload) in enumerate(events):
        at_size = frontier.root() if earlier and earlier["size"] == seq else at_size
        header = parse_header(data)
        log, keys = log or header["log"], keys or Keys(log or header["log"])
        need(header["seq"] == seq and header["log"] == log, f"event {seq}: its header is of another place or log")
        need(highest is None or header["at"] >= highest, f"event {seq} is dated before the one before it")
        highest = header["at"]
        frontier.push(leaf_hash(data))
        if salt is None and payload is None:
            need(header["type"] not in KEEP, f"event {seq}: its payload must not be gone")
            gone.add(seq)
            missing += 1
            continue
        check_payload(header, salt or b"", payload or b"")
        if header["type"] == "log.pruned":
            gone -= pruned_places(payload)
        elif header["type"] == "log.key":
            keys.take(seq, payload)
    need(log, "there is no event")
    need(not gone, "a payload is gone, and no event says so")
    proven = f"{frontier.size} events fit their commitments and one root, {missing} of them pruned"
    if not earlier:
        return frontier, highest, proven + "; this cannot rule out truncation"
    at_size = frontier.root() if earlier["size"] == frontier.size else at_size
    need(log in (None, earlier["log"]) and at_size == earlier["root"], "the log was cut, rewritten or forked")
    if "checkpoint" in trust:
        open_checkpoint(trust["checkpoint"], trust, keys)
    return frontier, highest, f"{proven}; the first {earlier['size']} are those known from outside"
SCHEMA = {"meta", "events", "records", "records_expiry", "blobs", "tiles",
          "openings", "blob_written", "blob_names", "blob_named", "record_gone"}
def store(path, trust):
    db = sqlite3.connect(f"file:{urllib.parse.quote(path)}?mode=ro", uri=True)
    version = db.execute("BEGIN").execute("PRAGMA user_version").fetchone()[0]
    need(db.execute("PRAGMA application_id").fetchone()[0] == 0x57764C67 and version == 2, "no ledger of version 2")
    made = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE sql NOT NULL")}
    need(made == SCHEMA, "the schema is another one")
    log, size, root, nodes, time = db.execute("SELECT log, size, root, frontier, highest FROM meta").fetchone()
    def events():
        rows = db.execute("SELECT seq, header, leaf, salt, payload, durability FROM events ORDER BY seq")
        for place, (seq, header, leaf, salt, payload, level) in enumerate(rows):
            need(seq == place and leaf == leaf_hash(header) and level in (0, 1), f"event {place} is missing or changed")
            yield header, salt, payload
    frontier, highest, proven = walk(events(), trust, log)
    need(frontier.size == size and frontier.root() == root, "the events do not hash to the stored root")
    need(b"".join(frontier.nodes) == nodes and time == (highest or 0), "frontier or time is not that of the events")
    sql = "SELECT (SELECT total(durability) FROM events) = synced FROM meta"
    need(db.execute(sql).fetchone()[0], "the count of synced events is wrong")
    for at, tile in frontier.tiles.items():
        if at[0] > 0 or 0 in tile:  # A tile of level 0 stands once it is full.
            found = db.execute("SELECT nodes FROM tiles WHERE level = ? AND place = ?", at).fetchone()[0]
            need(len(found) == 8160 and all(found[32 * s:][:32] == h for s, h in tile.items()), f"tile {at} is wrong")
    return proven
def export(path, trust):
    def events():
        for value in map(parse_json, file):
            salt, payload = (value.get(name) for name in ("salt", "payload"))
            yield value["header"].encode(), salt and unb64(salt), payload and payload.encode()
    with open(path, "rb") as file:
        return walk(events(), trust)[2]

# Proofs.
def read(path, most=65536):
    with open(path, "rb") as file:
        return file.read(most + 1)
def form(path, kind, required, optional=frozenset()):
    value = canonical(read(path, 2**24).removesuffix(b"\n"), {"kind", *required}, optional)
    need(value["kind"] == kind, f"no {kind}")
    return value
def hashes(value):
    need(isinstance(value, list) and len(value) <= 64, "a path is no list of at most 64 hashes")
    return [unb64(text, 32) for text in value]
def receipt(path, trust):
    value, last, kinds = form(path, "weaver-receipt", {"checkpoint", "call", "events"}), -1, []
    note = parse_note(value["checkpoint"].encode())
    keys = Keys(note["log"])
    need(len(value["events"]) <= 1024, "too many events")
    for event in value["events"]:
        need(set(event) in ({"header", "path"}, {"header", "path", "salt", "payload"}), "an event has other fields")
        data = event["header"].encode()
        header = parse_header(data)
        need(header["log"] == note["log"] and header["seq"] > last, "a header of another log, or out of order")
        last = header["seq"]
        found = inclusion_root(leaf_hash(data), last, note["size"], hashes(event["path"]))
        need(found == note["root"], "a path does not lead to the checkpoint")
        if "salt" in event:
            check_payload(header, unb64(event["salt"]), event["payload"].encode())
        if header["type"] == "log.key":
            keys.take(last, event["payload"].encode())
        else:
            need(header.get("call") == value["call"], "an event of another call")
            kinds.append(header["type"])
    need(ENDS & set(kinds), "neither intent nor end of the call")
    open_checkpoint(value["checkpoint"].encode(), trust, keys)
    return f"call {value['call']}: {', '.join(kinds)}, in a log of {note['size']} events"
def checkpoint(path, trust):
    note = open_checkpoint(read(path), trust)
    return f"{note['log']} had {note['size']} events with the root {note['root'].hex()}"
def equivocation(path, trust):
    value = form(path, "weaver-equivocation", {"first", "second"}, {"prefix"})
    first, second = (open_checkpoint(value[name].encode(), {"key": trust["key"]}) for name in ("first", "second"))
    prefix = value.get("prefix", {"root": base64.b64encode(second["root"]).decode(), "path": []})
    root, order = unb64(prefix["root"], 32), first["size"] - second["size"]
    need(set(prefix) == {"root", "path"} and first["log"] == second["log"], "two logs, or unknown fields")
    need((order < 0) == ("prefix" in value) and order <= 0 < first["size"], "the sizes do not fit")
    need(root != first["root"], "no conflict is shown")
    check_consistency(first["size"], second["size"], hashes(prefix["path"]), root, second["root"])
    return f"the key signed two histories: of {first['size']} and of {second['size']} events"
KINDS = {work.__name__: work for work in (store, export, receipt, checkpoint, equivocation)}
def verdict(kind, path, trust):
    try:
        return True, KINDS[kind](path, trust)
    except Exception as error:  # Whatever goes wrong on the way, it is not verified.
        return False, f"{type(error).__name__}: {error}"
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("path")
    parser.add_argument("--key", help="the log's verifier key, name+id+base64")
    parser.add_argument("--until", type=int, help="the size up to which that key counts")
    parser.add_argument("--checkpoint", type=read, help="a signed checkpoint to hold a log against")
    parser.add_argument("--witness", action="append", dest="witnesses", help="a witness's verifier key")
    parser.add_argument("--quorum", type=int, help="how many witnesses must have signed")
    trust = {name: value for name, value in vars(parser.parse_args()).items() if value is not None}
    good, text = verdict(trust.pop("kind"), trust.pop("path"), trust)
    print("verified:" if good else "refused:", text)
    return 0 if good else 1
if __name__ == "__main__":
    sys.exit(main())
