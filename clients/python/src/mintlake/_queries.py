"""The parameters of operations. Their meaning is docs/api-reference.md's; what is left out has the API's default."""

from __future__ import annotations

from typing import Any, Literal, TypedDict
from urllib.parse import quote


class Parts(TypedDict, total=False):
    """What rows have besides."""

    evidence: bool
    lists: bool
    market: bool
    windows: bool


class Filters(Parts, total=False):
    include_token22: bool
    program: str
    ext: list[str]
    not_ext: list[str]
    tag: str
    launchpad: list[str]
    min_volume: float
    created_after: int


class SearchQuery(Filters, total=False):
    limit: int
    page: int
    sort: str
    cursor: str
    min_liquidity: float
    min_holders: int
    max_top10_pct: float
    min: list[str]
    max: list[str]
    explain: bool


class TokenQuery(Parts, total=False):
    as_of_slot: int
    provenance: bool


class Page(TypedDict, total=False):
    limit: int
    before: str


# "from" is a keyword of Python.
CandlesQuery = TypedDict(
    "CandlesQuery",
    {"interval": Literal["1s", "1m", "5m", "15m", "1h", "4h", "1d", "1w"], "pool": str, "in": Literal["usd", "quote"], "from_": int, "to": int, "limit": int},
    total=False,
)


class TradesQuery(Page, total=False):
    pool: str
    trader: str
    side: Literal["buy", "sell"]
    min_value: float
    from_: int
    to: int


class HoldersQuery(TypedDict, total=False):
    limit: int
    cursor: str
    exclude: list[str]
    at_slot: int


class HoursQuery(TypedDict, total=False):
    from_: int
    to: int
    limit: int


class PoolLiquidityQuery(TypedDict, total=False):
    limit: int
    before: str


class TransfersQuery(TypedDict, total=False):
    limit: int
    cursor: str
    from_: int
    to: int
    kind: list[str]
    min_amount: str


class OwnerAccountsQuery(TypedDict, total=False):
    limit: int
    cursor: str
    mint: str


class OwnerTokensQuery(TypedDict, total=False):
    limit: int
    cursor: str
    at_slot: int


class OwnerTransfersQuery(TransfersQuery, total=False):
    direction: Literal["in", "out"]
    mint: str


class TradeOptions(TypedDict, total=False):
    """Of a quote and of a swap: docs/swap-reference.md."""

    swap_mode: Literal["exact_in", "exact_out"]
    amount_in: int
    amount_out: int
    slippage_bps: int
    only_direct: bool
    only_hubs: bool
    dexes: list[str]
    exclude_dexes: list[str]
    max_accounts: int
    priority_fee: int | Literal["auto"]
    fee_bps: int
    treasury: str
    max_age_slots: int
    transaction_version: Literal["legacy", "0", "1"]
    payer: str
    destination_token_account: str
    native_destination_account: str
    fee_account: str
    wrap_and_unwrap_sol: bool
    compute_unit_price_micro_lamports: int
    dynamic_compute_unit_limit: bool
    skip_user_accounts_rpc_calls: bool
    allow_off_curve: bool
    sizes: bool


class SendOptions(TypedDict, total=False):
    """Of a transaction that is sent: who swaps, if others sign too, and who is paid, as in the quote."""

    user_account: str
    destination_token_account: str
    native_destination_account: str


def encoded(query: dict[str, Any]) -> dict[str, str]:
    """Parameters as a URL has them: lists joined by commas, no None."""
    out: dict[str, str] = {}
    for name, value in query.items():
        if value is None:
            continue
        if isinstance(value, bool):
            text = "true" if value else "false"
        elif isinstance(value, (list, tuple)):
            text = ",".join(str(item) for item in value)
        else:
            text = str(value)
        out[name.rstrip("_")] = text
    return out


def path(*parts: str) -> str:
    """The path of a URL, its parts escaped."""
    return "".join("/" + quote(part, safe="") for part in parts)
