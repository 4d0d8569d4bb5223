"""Says what solders reads in transactions.

In: a transaction in hex in each line. Out: for each, "refused" or "read" with its parts, in the form
that crate/src/main.rs writes too. What solders leaves unread behind a transaction counts as refused.
"""

import sys

from solders.transaction import VersionedTransaction


def text(data: bytes) -> str:
    try:
        tx = VersionedTransaction.from_bytes(data)
        tx.sanitize()
    except Exception:  # noqa: BLE001: solders has no common class
        return "refused"
    if bytes(tx) != data:
        return "refused"
    m = tx.message
    version = tx.version()
    h = m.header
    number = {"Legacy.Legacy": "legacy"}.get(str(version), str(version))
    parts = [
        number,
        f"{h.num_required_signatures},{h.num_readonly_signed_accounts},{h.num_readonly_unsigned_accounts}",
        bytes(m.recent_blockhash if not hasattr(m, "lifetime_specifier") else m.lifetime_specifier).hex(),
        ",".join(bytes(s).hex() for s in tx.signatures),
        ",".join(bytes(k).hex() for k in m.account_keys),
        ",".join(f"{i.program_id_index}:{bytes(i.accounts).hex()}:{bytes(i.data).hex()}" for i in m.instructions),
    ]
    lookups = getattr(m, "address_table_lookups", [])
    parts.append(",".join(f"{bytes(a.account_key).hex()}:{bytes(a.writable_indexes).hex()}:{bytes(a.readonly_indexes).hex()}" for a in lookups))
    config = getattr(m, "config", None)
    if config is not None:
        values = (config.priority_fee, config.compute_unit_limit, config.loaded_accounts_data_size_limit, config.heap_size)
        parts.append(",".join("-" if v is None else str(v) for v in values))
    return "read " + " ".join(p or "-" for p in parts)


for line in sys.stdin:
    print(text(bytes.fromhex(line.strip())))
