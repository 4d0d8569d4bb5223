"""Sends a transfer of each version, large ones too, and reads it back by Rust's own types."""

import base64
import itertools
import json
import os
import time
import urllib.error
import urllib.request

from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message, MessageV0, MessageV1, TransactionConfig
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from solders.transaction_status import EncodedConfirmedTransactionWithStatusMeta

URL = os.environ["MINTLAKE_RPC"]
ids = itertools.count(1)


def call(method, *params):
    """Returns the answer to a call: a node that is late is asked again for 90 seconds."""
    body = json.dumps({"jsonrpc": "2.0", "id": next(ids), "method": method, "params": params}).encode()
    end = time.time() + 90
    while True:
        request = urllib.request.Request(URL, body, {"Content-Type": "application/json"})
        try:
            return json.load(urllib.request.urlopen(request, timeout=60))
        except urllib.error.HTTPError as answer:
            if answer.code not in (429, 502, 503) or time.time() > end:
                raise
            time.sleep(0.5)


def result(method, *params):
    answer = call(method, *params)
    assert "error" not in answer, (method, answer["error"])
    return answer["result"]


def until(what, look):
    end = time.time() + 90
    while time.time() < end:
        if found := look():
            return found
        time.sleep(0.2)
    raise AssertionError(f"{what}: not seen within 90 s")


wallet = Keypair()
other = Pubkey.new_unique()
airdrop = result("requestAirdrop", str(wallet.pubkey()), 2_000_000_000)


def landed(signature):
    status = result("getSignatureStatuses", [signature])["value"][0]
    return status and status["confirmationStatus"] != "processed" and status


assert until("the airdrop", lambda: landed(airdrop))["err"] is None


def send(name, make):
    blockhash = Hash.from_string(result("getLatestBlockhash", {"commitment": "confirmed"})["value"]["blockhash"])
    tx = VersionedTransaction(make(blockhash), [wallet])
    raw = bytes(tx)
    signature = result("sendTransaction", base64.b64encode(raw).decode(), {"encoding": "base64", "preflightCommitment": "processed"})
    assert signature == str(tx.signatures[0]), "the signature of version 1 is at its end"
    assert until(name, lambda: landed(signature))["err"] is None
    options = {"commitment": "confirmed", "maxSupportedTransactionVersion": 1}
    got = result("getTransaction", signature, {"encoding": "base64", **options})
    assert base64.b64decode(got["transaction"][0]) == raw, f"{name}: other bytes"
    for encoding in ("base64", "json", "jsonParsed"):
        text = json.dumps(result("getTransaction", signature, {"encoding": encoding, **options}))
        EncodedConfirmedTransactionWithStatusMeta.from_json(text)
    print(f"{name}: {len(raw)} bytes")
    return signature


payer = wallet.pubkey()
pay = transfer(TransferParams(from_pubkey=payer, to_pubkey=other, lamports=1_000_000))
config = TransactionConfig(priority_fee=123, compute_unit_limit=200_000, loaded_accounts_data_size_limit=1 << 20, heap_size=64 << 10)
send("legacy", lambda h: Message.new_with_blockhash([pay], payer, h))
send("version 0", lambda h: MessageV0.try_compile(payer, [pay], [], h))
small = send("version 1", lambda h: MessageV1.try_compile(payer, [pay], h, config))
assert result("getTransaction", small, {"commitment": "confirmed", "encoding": "json", "maxSupportedTransactionVersion": 1})["meta"]["fee"] == 5_123
many = [transfer(TransferParams(from_pubkey=payer, to_pubkey=Pubkey.new_unique(), lamports=1_000_000)) for _ in range(62)]
send("version 1 above 1,232 bytes", lambda h: MessageV1.try_compile(payer, many, h, config))

refused = call("getTransaction", small, {"commitment": "confirmed", "maxSupportedTransactionVersion": 0})
assert refused["error"]["code"] == -32015, refused
