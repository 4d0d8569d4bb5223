"""DuckDB over the Parquet files of `mintlake export`."""

import json
import os
import subprocess

import duckdb

folder = os.path.abspath("export")
subprocess.run([os.environ["MINTLAKE_BIN"], "export", "--to", folder, "--clickhouse-dsn", os.environ["MINTLAKE_CLICKHOUSE"]], check=True)
with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as f:
    counts = json.load(f)["counts"]


def one(query):
    return duckdb.sql(query).fetchall()[0]


assert one(f"SELECT count(*), count(DISTINCT mint) FROM '{folder}/facts-*.parquet'") == (counts["facts"], counts["mints"])
assert one(f"SELECT count(*), count(DISTINCT mint) FROM '{folder}/tokens.parquet'") == (counts["tokens"], counts["tokens"])
assert counts["tokens"] > 0
named = one(f"SELECT count(*) FROM '{folder}/tokens.parquet' WHERE symbol <> '' AND decimals BETWEEN 0 AND 255 AND length(mint) BETWEEN 32 AND 44")
assert named[0] > 0
joined = one(f"SELECT count(DISTINCT t.mint) FROM '{folder}/tokens.parquet' t JOIN '{folder}/facts-*.parquet' f USING (mint)")
assert joined == (counts["tokens"],), joined
print("DuckDB", duckdb.__version__, "reads an export:", counts["tokens"], "tokens of", counts["facts"], "facts")
