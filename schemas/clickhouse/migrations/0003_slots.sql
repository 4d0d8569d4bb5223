-- The slot ledger. A slot can have several blocks (forks), of which at most one is not dead.
CREATE TABLE IF NOT EXISTS {{.Database}}.slots_raw {{onCluster}}
(
    slot             UInt64                    COMMENT 'Slot' CODEC(Delta, ZSTD(1)),
    blockhash        String                    COMMENT 'Hash of its block, base58; empty when it has none' CODEC(ZSTD(1)),
    parent_slot      Nullable(UInt64)          COMMENT 'Slot of the parent block' CODEC(ZSTD(1)),
    parent_blockhash String                    COMMENT 'Hash of the parent block, base58' CODEC(ZSTD(1)),
    block_time       Nullable(DateTime('UTC')) COMMENT 'Time of the block' CODEC(ZSTD(1)),
    status           Enum8('skipped' = 1, 'ingested' = 2, 'dead' = 3) COMMENT 'ingested: all its events are here; skipped: nobody produced a block; dead: its block lost the fork',
    transactions     UInt32                    COMMENT 'Transactions of the block that ingest received' CODEC(ZSTD(1)),
    token_events     UInt32                    COMMENT 'Token events of the block' CODEC(ZSTD(1)),
    source           LowCardinality(String)    COMMENT 'Where it came from: geyser, rpc, backfill, file, demo',
    version          UInt8                     COMMENT 'Rank of the status: decides between copies'
)
ENGINE = {{engine "ReplacingMergeTree" "version"}}
PARTITION BY intDiv(slot, 10000000)
ORDER BY (slot, blockhash)
COMMENT 'Slot ledger as delivered: read slots';

CREATE OR REPLACE VIEW {{.Database}}.slots {{onCluster}}
(
    slot             UInt64                    COMMENT 'Slot',
    blockhash        String                    COMMENT 'Hash of its block, base58; empty when it has none',
    parent_slot      Nullable(UInt64)          COMMENT 'Slot of the parent block',
    parent_blockhash String                    COMMENT 'Hash of the parent block, base58',
    block_time       Nullable(DateTime('UTC')) COMMENT 'Time of the block',
    status           Enum8('skipped' = 1, 'ingested' = 2, 'dead' = 3) COMMENT 'ingested: all its events are here; skipped: nobody produced a block; dead: its block lost the fork',
    transactions     UInt32                    COMMENT 'Transactions of the block that ingest received',
    token_events     UInt32                    COMMENT 'Token events of the block',
    source           LowCardinality(String)    COMMENT 'Where it came from: geyser, rpc, backfill, file, demo'
)
AS SELECT slot, blockhash, parent_slot, parent_blockhash, block_time, status, transactions, token_events, source
FROM {{.Database}}.slots_raw FINAL;
