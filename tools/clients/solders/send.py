"""Sends a transfer of each version, large ones too, and reads it back by Rust's own types."""

import base64
import json

from chain import call, funded, landed, result, until
from solders.hash import Hash
from solders.message import Message, MessageV0, MessageV1, TransactionConfig
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from solders.transaction_status import EncodedConfirmedTransactionWithStatusMeta

wallet = funded(2_000_000_000)
other = Pubkey.new_unique()


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
