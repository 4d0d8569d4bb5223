"""Reads the stream's notifications with solders, and writes them again: nothing may be missing or added."""

import base64
import collections
import json
import math
import sys

from solders.transaction_status import EncodedTransactionWithStatusMeta

# What the short meta of the details accounts does not have, Rust's type writes as null.
SHORT = {"innerInstructions", "logMessages", "rewards"}
seen = collections.Counter()


def same(ours, rusts, path):
    """Compares what we wrote with what Rust makes of it."""
    if isinstance(ours, dict) and isinstance(rusts, dict):
        extra = rusts.keys() - ours.keys()
        assert not extra or (path == "accounts.meta" and extra == SHORT and not any(rusts[key] for key in extra)), (path, "Rust adds", extra)
        for key in ours:
            assert key in rusts, (path, "Rust does not know", key)
            same(ours[key], rusts[key], f"{path}.{key}")
    elif isinstance(ours, list) and isinstance(rusts, list) and len(ours) == len(rusts):
        for a, b in zip(ours, rusts):
            same(a, b, path)
    elif isinstance(ours, float) or isinstance(rusts, float):
        assert path.endswith(".uiAmount") and math.isclose(ours, rusts, rel_tol=1e-15), (path, ours, rusts)
    else:
        assert ours == rusts, (path, ours, rusts)


for line in open(sys.argv[1]):
    case = json.loads(line)
    transaction = case["message"]["params"]["result"]["transaction"]
    read = EncodedTransactionWithStatusMeta.from_json(json.dumps(transaction))
    shape = "accounts" if case["details"] == "accounts" else case["encoding"]
    same(transaction, json.loads(read.to_json()), shape)
    version = "legacy" if transaction["version"] == "legacy" else str(transaction["version"])
    assert version == case["version"], (version, case["version"])
    if shape in ("base58", "base64"):
        assert bytes(read.transaction) == base64.b64decode(case["bytes"]), "other bytes than those that were signed"
    seen[shape, version] += 1

for shape in ("base58", "base64", "json", "jsonParsed", "accounts"):
    for version in ("legacy", "0", "1"):
        count = seen[shape, version]
        assert (count == 0) == (shape == "base58" and version == "1"), (shape, version, count)
        print(f"{shape}, version {version}: {count}")
