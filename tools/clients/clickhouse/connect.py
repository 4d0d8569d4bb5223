"""clickhouse-connect, and SQLAlchemy through it, against the embedded ClickHouse."""

import os
import threading
from urllib.parse import urlsplit

import clickhouse_connect
from clickhouse_connect.driver.exceptions import DatabaseError
from sqlalchemy import create_engine, inspect, text

address = urlsplit(os.environ["MINTLAKE_CLICKHOUSE"])
table = "default.client_connect"


def connect(**more):
    return clickhouse_connect.get_client(host=address.hostname, port=address.port, **more)


def queries(client):
    tokens = client.query("SELECT count() FROM mintlake.tokens").result_rows[0][0]
    assert tokens > 0
    assert client.command("SELECT count() FROM mintlake.tokens") >= tokens
    row = client.query("SELECT mint, symbol, decimals FROM mintlake.tokens WHERE symbol != '' LIMIT 1").first_item
    assert len(row["mint"]) >= 32 and row["symbol"], row
    # Not the symbol: the token may be renamed between two questions.
    again = client.query("SELECT mint, decimals FROM mintlake.tokens WHERE mint = {mint:String}", parameters={"mint": row["mint"]})
    assert again.result_rows == [(row["mint"], row["decimals"])]
    odd = "a'b\\c\td\ne"
    assert client.query("SELECT {x:String}, %s" % "'ü'", parameters={"x": odd}).result_rows == [(odd, "ü")]
    try:
        client.query("SELECT * FROM no_such_table")
        raise AssertionError("no error")
    except DatabaseError as e:
        assert "UNKNOWN_TABLE" in str(e), e


def inserts(client):
    client.command(f"CREATE OR REPLACE TABLE {table} (n UInt64, s Nullable(String), a Array(Float64), t DateTime64(3, 'UTC')) ENGINE = MergeTree ORDER BY n")
    from datetime import datetime, timezone

    moment = datetime(2026, 11, 23, 1, 2, 3, 456000, tzinfo=timezone.utc)
    rows = [[i, None if i % 7 == 0 else f"row\n\n{i}", [i / 2, i], moment] for i in range(50_000)]
    client.insert(table, rows, column_names=["n", "s", "a", "t"])
    got = client.query(f"SELECT n, s, a FROM {table} ORDER BY n").result_rows
    assert got == [(r[0], r[1], r[2]) for r in rows]
    assert client.query(f"SELECT max(t) = toDateTime64('2026-11-23 01:02:03.456', 3, 'UTC') FROM {table}").first_row == (1,)
    with client.query_row_block_stream(f"SELECT n FROM {table} CROSS JOIN numbers(20) AS more") as stream:
        assert sum(len(block) for block in stream) == 1_000_000
    raw = client.raw_query(f"SELECT n FROM {table} ORDER BY n LIMIT 3", fmt="CSV")
    assert raw == b"0\n1\n2\n", raw


def sessions(client):
    client.command("CREATE TEMPORARY TABLE mine (n UInt8)")
    client.insert("mine", [[1], [2]], column_names=["n"])
    assert client.query("SELECT sum(n) FROM mine").first_row == (3,)
    client.command("SET max_block_size = 4321")
    assert client.query("SELECT getSetting('max_block_size')").first_row == (4321,)
    assert client.query("SELECT getSetting('max_block_size')", settings={"max_block_size": 17}).first_row == (17,)
    assert client.query("SELECT getSetting('max_block_size')").first_row == (4321,)
    other = connect()
    assert other.query("SELECT getSetting('max_block_size')").first_row != (4321,)
    try:
        other.query("SELECT sum(n) FROM mine")
        raise AssertionError("a temporary table of another session")
    except DatabaseError as e:
        assert "UNKNOWN_TABLE" in str(e), e
    other.close()


def locked():
    """Two requests of one session at once: one of them is refused as a server does."""
    session = "client-connect-locked"
    seen = []

    def ask():
        try:
            raw = connect(session_id=session)
            for _ in range(20):
                raw.query("SELECT sleep(0.05)")
        except Exception as e:  # noqa: BLE001 - the client itself may notice first
            seen.append(str(e))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert any("SESSION_IS_LOCKED" in text for text in seen), seen


def compressions():
    for method in ("lz4", "zstd", "gzip", "deflate", True, False):
        client = connect(compress=method)
        assert client.query(f"SELECT sum(n) FROM {table}").first_row == (1249975000,), method
        client.close()


def sqlalchemy():
    engine = create_engine(f"clickhousedb://default@{address.hostname}:{address.port}/mintlake")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count() FROM tokens")).scalar() > 0
        assert connection.execute(text("SELECT symbol FROM tokens WHERE symbol != '' LIMIT 3")).fetchall()
        tables = inspect(connection).get_table_names("mintlake")
        assert "tokens_raw" in tables, tables
        columns = {c["name"] for c in inspect(connection).get_columns("tokens", schema="mintlake")}
        assert {"mint", "symbol", "decimals"} <= columns, columns
    engine.dispose()


client = connect()
queries(client)
inserts(client)
sessions(client)
locked()
compressions()
sqlalchemy()
client.command(f"DROP TABLE {table}")
client.close()
print("clickhouse-connect", clickhouse_connect.__version__, "and SQLAlchemy: queries, inserts, sessions, encodings")
