"""Swaps in transactions of versions 0 and 1: their bytes are those that solders makes of the same instructions, but for the order of accounts of one
role, and one of version 1 pays."""

import base64
import urllib.parse

from chain import SWAP, fetch, funded, landed, post, result, until
from solders.instruction import AccountMeta, CompiledInstruction, Instruction
from solders.message import MessageV0, MessageV1, TransactionConfig, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

SOL, USDC = "So11111111111111111111111111111111111111112", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
FEE, LOADED = 4321, 64 << 20
wallet = funded(10_000_000_000)


def theirs(i):
    metas = [AccountMeta(Pubkey.from_string(a["pubkey"]), a["isSigner"], a["isWritable"]) for a in i["accounts"]]
    return Instruction(Pubkey.from_string(i["programId"]), base64.b64decode(i["data"]), metas)


def sorted_keys(message):
    """Returns a message with the accounts of each role by address: solders sorts them, and we have them by their first use."""
    h, keys = message.header, message.account_keys
    signers, writable = h.num_required_signatures, h.num_required_signatures - h.num_readonly_signed_accounts
    ends = [1, writable, signers, len(keys) - h.num_readonly_unsigned_accounts, len(keys)]
    order, begin = [], 0
    for end in ends:
        order += sorted(range(begin, end), key=lambda i: bytes(keys[i]))
        begin = end
    place = {old: new for new, old in enumerate(order)}
    moved = [CompiledInstruction(place[i.program_id_index], i.data, bytes(place[a] for a in i.accounts)) for i in message.instructions]
    keys = [keys[i] for i in order]
    if isinstance(message, MessageV1):
        return MessageV1(h, message.config, message.lifetime_specifier, keys, moved)
    return MessageV0(h, keys, message.recent_blockhash, moved, message.address_table_lookups)


def compiled(version, parts, ours, message):
    """Returns what solders makes of the instructions."""
    setup = parts["computeBudgetInstructions"] + parts["setupInstructions"] + [parts["swapInstruction"]]
    instructions = [theirs(i) for i in setup + [parts["cleanupInstruction"]] + parts["otherInstructions"] if i]
    assert parts["addressLookupTableAddresses"] == []
    if version == "0":
        return MessageV0.try_compile(wallet.pubkey(), instructions, [], message.recent_blockhash)
    assert parts["computeBudgetInstructions"] == [], "version 1 has them in its config"
    config = TransactionConfig(priority_fee=FEE, compute_unit_limit=ours["computeUnitLimit"], loaded_accounts_data_size_limit=LOADED)
    return MessageV1.try_compile(wallet.pubkey(), instructions, message.lifetime_specifier, config)


def made(version, source, target, amount):
    """Compares the bytes of one direction. Returns the transaction, and the least that it pays."""
    ask = {"inputMint": source, "outputMint": target, "amount": amount, "slippageBps": 300}
    quote = fetch(f"{SWAP}/swap/v1/quote?{urllib.parse.urlencode(ask)}")
    swap = {"quoteResponse": quote, "userPublicKey": str(wallet.pubkey()), "transactionVersion": version, "prioritizationFeeLamports": FEE}
    for attempt in range(6):  # another state may give another amount of the transaction
        ours, parts = (post(f"{SWAP}/swap/v1/{name}", swap) for name in ("swap", "swap-instructions"))
        wire = base64.b64decode(ours["swapTransaction"])
        tx = VersionedTransaction.from_bytes(wire)
        assert isinstance(tx.message, MessageV1 if version == "1" else MessageV0)
        assert bytes(tx) == wire, "read and written again"
        a, b = (to_bytes_versioned(m) for m in (sorted_keys(tx.message), compiled(version, parts, ours, tx.message)))
        if a == b:
            print(f"version {version}: {len(wire)} bytes, as of solders")
            return tx, int(quote["otherAmountThreshold"])
    raise AssertionError(f"version {version}: {a.hex()} and {b.hex()} of solders")


def held():
    accounts = result("getTokenAccountsByOwner", str(wallet.pubkey()), {"mint": USDC}, {"encoding": "jsonParsed"})["value"]
    return sum(int(a["account"]["data"]["parsed"]["info"]["tokenAmount"]["amount"]) for a in accounts)


made("0", SOL, USDC, 1_500_000_000)
tx, least = made("1", SOL, USDC, 1_500_000_000)
signed = VersionedTransaction(tx.message, [wallet])
signature = result("sendTransaction", base64.b64encode(bytes(signed)).decode(), {"encoding": "base64", "skipPreflight": True})
assert until("the swap", lambda: landed(signature))["err"] is None
meta = result("getTransaction", signature, {"commitment": "confirmed", "encoding": "json", "maxSupportedTransactionVersion": 1})["meta"]
assert meta["fee"] == 5_000 + FEE
got = held()
assert got >= least, (got, least)
for version in ("0", "1"):
    made(version, USDC, SOL, got // 2)
