-- What analysts ask of every leg or every event, kept small.

-- A transaction's legs are found by the head of its signature: the index says which parts of the table cannot have it.
ALTER TABLE {{.Database}}.swaps_raw {{onCluster}} ADD INDEX IF NOT EXISTS signature_index signature_head TYPE bloom_filter(0.001) GRANULARITY 1;

-- block_time of the view swaps is an expression, so time_index, which is of the column, skipped nothing for whoever asked the view for a day.
ALTER TABLE {{.Database}}.swaps_raw {{onCluster}} ADD INDEX IF NOT EXISTS view_time_index if(toUnixTimestamp(block_time) = 0, NULL, block_time) TYPE minmax GRANULARITY 1;

ALTER TABLE {{.Database}}.routes_raw {{onCluster}} ADD INDEX IF NOT EXISTS view_time_index if(toUnixTimestamp(block_time) = 0, NULL, block_time) TYPE minmax GRANULARITY 1;

-- What is stored already gets them in the background.
ALTER TABLE {{.Database}}.swaps_raw {{onCluster}} MATERIALIZE INDEX signature_index;

ALTER TABLE {{.Database}}.swaps_raw {{onCluster}} MATERIALIZE INDEX view_time_index;

ALTER TABLE {{.Database}}.routes_raw {{onCluster}} MATERIALIZE INDEX view_time_index;

-- One row a minute, made by the valuation from all legs of the minute. A row has all venues of its minute, so a later valuation replaces them
-- all at once: a venue that a minute has no more leaves nothing behind.
CREATE TABLE IF NOT EXISTS {{.Database}}.venue_volume_1m_raw {{onCluster}}
(
    bucket     DateTime('UTC') COMMENT 'Start of the minute of block time, UTC' CODEC(Delta, ZSTD(1)),
    venues     Array(Tuple(venue LowCardinality(String), aggregator LowCardinality(String), volume_usd Decimal(38, 6), trades UInt64, unpriced UInt64, two_agree UInt64, disagree UInt64)) COMMENT 'Figures by venue and aggregator' CODEC(ZSTD(1)),
    generation UInt64 COMMENT 'Number of the valuation that made the row: decides between copies' CODEC(Delta, ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "generation"}}
PARTITION BY toYYYYMM(bucket)
ORDER BY bucket
COMMENT 'What was traded on each venue by minute, older valuations included until merges remove them: read venue_volume_1m';

CREATE OR REPLACE VIEW {{.Database}}.venue_volume_1m {{onCluster}}
(
    bucket     DateTime('UTC')        COMMENT 'Start of the minute of block time, UTC',
    venue      LowCardinality(String) COMMENT 'raydium_amm_v4, orca_whirlpool …: docs/swaps.md has the list',
    aggregator LowCardinality(String) COMMENT 'Aggregator that the legs were a part of; empty for none known',
    volume_usd Decimal(38, 6)         COMMENT 'Sum of the legs'' US dollar values',
    trades     UInt64                 COMMENT 'Legs',
    unpriced   UInt64                 COMMENT 'Legs without a US dollar value',
    two_agree  UInt64                 COMMENT 'Legs whose amounts two sources or more state',
    disagree   UInt64                 COMMENT 'Legs of which a source states other amounts'
)
AS SELECT bucket, v.1 AS venue, v.2 AS aggregator, v.3 AS volume_usd, v.4 AS trades, v.5 AS unpriced, v.6 AS two_agree, v.7 AS disagree
FROM {{.Database}}.venue_volume_1m_raw FINAL
ARRAY JOIN venues AS v;

CREATE TABLE IF NOT EXISTS {{.Database}}.trade_pools_1m_raw {{onCluster}}
(
    bucket     DateTime('UTC') COMMENT 'Start of the minute of block time, UTC' CODEC(Delta, ZSTD(1)),
    paths      Array(Tuple(aggregator LowCardinality(String), pools UInt64, trades UInt64)) COMMENT 'Trades by aggregator and number of pools' CODEC(ZSTD(1)),
    generation UInt64 COMMENT 'Number of the valuation that made the row: decides between copies' CODEC(Delta, ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "generation"}}
PARTITION BY toYYYYMM(bucket)
ORDER BY bucket
COMMENT 'Through how many pools trades went by minute, older valuations included until merges remove them: read trade_pools_1m';

CREATE OR REPLACE VIEW {{.Database}}.trade_pools_1m {{onCluster}}
(
    bucket     DateTime('UTC')        COMMENT 'Start of the minute of block time, UTC',
    aggregator LowCardinality(String) COMMENT 'Aggregator of the trade; empty for none known',
    pools      UInt64                 COMMENT 'Distinct pools of the trade',
    trades     UInt64                 COMMENT 'Trades: the legs of one trader in one transaction are one'
)
AS SELECT bucket, p.1 AS aggregator, p.2 AS pools, p.3 AS trades
FROM {{.Database}}.trade_pools_1m_raw FINAL
ARRAY JOIN paths AS p;

-- The events that created mints, in the order of the chain: token_events has them among all events, in the order of mints.
CREATE TABLE IF NOT EXISTS {{.Database}}.created_mints_raw {{onCluster}}
(
    slot                    UInt64                    COMMENT 'Slot of the block' CODEC(Delta, ZSTD(1)),
    block_time              Nullable(DateTime('UTC')) COMMENT 'Time of the block; null when the source does not say' CODEC(ZSTD(1)),
    mint                    String                    COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    program_id              LowCardinality(String)    COMMENT 'Token program of the mint, base58',
    signature               String                    COMMENT 'First signature of the transaction, base58' CODEC(ZSTD(1)),
    instruction_index       UInt16                    COMMENT 'Outer instruction, from 0' CODEC(ZSTD(1)),
    inner_instruction_index Int16                     COMMENT 'Place in the outer instruction''s flat inner list, from 0; -1 for the outer one itself' CODEC(ZSTD(1)),
    batch_index             Int16                     COMMENT 'Place in a p-token Batch, from 0; -1 outside of one' CODEC(ZSTD(1)),
    version                 UInt32                    COMMENT 'Decides between copies, as in token_events_raw' CODEC(ZSTD(1)),
    INDEX time_index block_time TYPE minmax GRANULARITY 1
)
ENGINE = {{engine "ReplacingMergeTree" "version"}}
PARTITION BY intDiv(slot, 10000000)
ORDER BY (slot, mint, signature, instruction_index, inner_instruction_index, batch_index)
SETTINGS index_granularity = 1024
COMMENT 'Events that created mints as delivered: read created_mints';

CREATE OR REPLACE VIEW {{.Database}}.created_mints {{onCluster}}
(
    slot       UInt64                    COMMENT 'Slot of the block',
    block_time Nullable(DateTime('UTC')) COMMENT 'Time of the block; null when the source does not say',
    mint       String                    COMMENT 'Mint, base58',
    program_id LowCardinality(String)    COMMENT 'Token program of the mint, base58',
    signature  String                    COMMENT 'First signature of the transaction, base58'
)
AS SELECT slot, block_time, mint, program_id, signature
FROM {{.Database}}.created_mints_raw FINAL;

-- What is stored already. Repeated rows fall together.
INSERT INTO {{.Database}}.created_mints_raw (slot, block_time, mint, program_id, signature, instruction_index, inner_instruction_index, batch_index, version)
SELECT slot, block_time, mint, program_id, signature, instruction_index, inner_instruction_index, batch_index, version
FROM {{.Database}}.token_events_raw
WHERE kind = 'initialize_mint';

ALTER TABLE {{.Database}}.venue_volume_1m {{onCluster}} MODIFY COMMENT 'One row a minute, venue and aggregator: what was traded there';
ALTER TABLE {{.Database}}.trade_pools_1m {{onCluster}} MODIFY COMMENT 'One row a minute, aggregator and number of pools: how many trades went through so many';
ALTER TABLE {{.Database}}.created_mints {{onCluster}} MODIFY COMMENT 'One row a creation of a mint (initialize_mint)';
