-- Every leg that traded on a pool, in the order of the chain: the legs of a transaction lie together, so its signature and its trader cost their
-- bytes once. The signature is stored raw and in two: its first 12 bytes tell transactions apart and stay, the other 52 go after a time
-- (docs/decisions/0011-bytes-of-a-leg.md). Position is computed: schemas.PositionOf in SQL. Keys come back far behind their last use, so
-- their columns compress in blocks of 16 MiB, at a level that still finds them there. A repeated leg falls together with its first copy by the
-- sorting key. Of two copies the higher version holds: bit 63 says that the place of the transaction is known, the rest counts the valuations
-- that changed usd_value (0: as delivered).
CREATE TABLE IF NOT EXISTS {{.Database}}.swaps_raw {{onCluster}}
(
    slot                    UInt64                             COMMENT 'Slot of the block' CODEC(Delta, ZSTD(3)),
    block_time              DateTime('UTC')                    COMMENT 'Time of the block; 1970-01-01 when the source does not say' CODEC(Delta, ZSTD(3)),
    transaction_index       Int32                              COMMENT 'Place in the block counting every transaction, from 0; -1 when the source does not say' CODEC(T64, ZSTD(3)),
    instruction_index       UInt16                             COMMENT 'Outer instruction, from 0' CODEC(ZSTD(3)),
    inner_instruction_index Int16                              COMMENT 'Place in the outer instruction''s flat inner list, from 0; -1 for the outer one itself' CODEC(ZSTD(3)),
    batch_index             Int16                              COMMENT 'Tells the legs of one instruction apart, from 0; -1 when it makes one' CODEC(ZSTD(3)),
    signature_head          FixedString(12)                    COMMENT 'First 12 bytes of the first signature of the transaction: tells transactions apart' CODEC(ZSTD(1)),
    signature_rest          FixedString(52)                    COMMENT 'The other 52; zeros when they were kept long enough' CODEC(ZSTD(1)) TTL stored_on + toIntervalDay(30),
    venue                   LowCardinality(String)             COMMENT 'raydium_amm_v4, orca_whirlpool …: docs/swaps.md has the list' CODEC(ZSTD(3)),
    program_id              LowCardinality(String)             COMMENT 'Program of the venue, base58' CODEC(ZSTD(3)),
    pool                    String                             COMMENT 'Pool account, base58' CODEC(ZSTD(9, 24)) SETTINGS (min_compress_block_size = 16777216, max_compress_block_size = 16777216),
    mint_a                  String                             COMMENT 'The mint that sorts first as text, base58' CODEC(ZSTD(9, 24)) SETTINGS (min_compress_block_size = 16777216, max_compress_block_size = 16777216),
    mint_b                  String                             COMMENT 'The other mint, base58' CODEC(ZSTD(9, 24)) SETTINGS (min_compress_block_size = 16777216, max_compress_block_size = 16777216),
    in_is_a                 Bool                               COMMENT 'Whether the pool received mint_a and gave mint_b' CODEC(ZSTD(3)),
    mint_in                 String ALIAS if(in_is_a, mint_a, mint_b) COMMENT 'Mint that the pool received, base58',
    mint_out                String ALIAS if(in_is_a, mint_b, mint_a) COMMENT 'Mint that the pool gave, base58',
    amount_in               UInt64                             COMMENT 'Raw amount that reached the pool''s vault, net of a Token-2022 fee' CODEC(T64, ZSTD(3)),
    amount_out              UInt64                             COMMENT 'Raw amount that left the pool''s vault, fees included' CODEC(T64, ZSTD(3)),
    decimals_in             Nullable(UInt8)                    COMMENT 'Decimal places of mint_in, where the transaction says' CODEC(ZSTD(3)),
    decimals_out            Nullable(UInt8)                    COMMENT 'Decimal places of mint_out, where the transaction says' CODEC(ZSTD(3)),
    trader                  String                             COMMENT 'Wallet that trades, base58' CODEC(ZSTD(9, 24)) SETTINGS (min_compress_block_size = 16777216, max_compress_block_size = 16777216),
    usd_value               Nullable(Decimal(18, 6))           COMMENT 'US dollars at the time of the block: docs/volume.md; null when no side has a price' CODEC(T64, ZSTD(3)),
    agreed                  UInt8                              COMMENT 'Sources that state these amounts: 1 transfers, 2 event, 4 log, 8 balances' CODEC(ZSTD(3)),
    disagreed               UInt8                              COMMENT 'Sources that state others, same bits' CODEC(ZSTD(3)),
    aggregator              LowCardinality(String)             COMMENT 'Aggregator that the leg was a part of; empty for none known' CODEC(ZSTD(3)),
    instruction             LowCardinality(String)             COMMENT 'The instruction''s published name' CODEC(ZSTD(3)),
    version                 UInt64                             COMMENT 'Decides between copies' CODEC(ZSTD(3)),
    stored_on               Date DEFAULT today()               COMMENT 'Day of this copy''s insertion, UTC: how long the signature is kept counts from it' CODEC(ZSTD(3)),
    position                UInt128 ALIAS bitOr(bitShiftLeft(toUInt128(slot), 64), toUInt128(bitOr(bitOr(bitOr(
        bitShiftLeft(if(transaction_index < 0, bitShiftRight(reinterpretAsUInt64(reverse(substring(signature_head, 1, 8))), 41), bitOr(toUInt64(8388608), least(toUInt64(transaction_index), toUInt64(8388607)))), 40),
        bitShiftLeft(least(toUInt64(instruction_index), toUInt64(4095)), 28)),
        bitShiftLeft(least(toUInt64(inner_instruction_index + 1), toUInt64(16383)), 14)),
        least(toUInt64(batch_index + 1), toUInt64(16383))))) COMMENT 'The place on the chain as one number: orders all events',
    INDEX time_index block_time TYPE minmax GRANULARITY 1,
    INDEX pool_index pool TYPE bloom_filter(0.01) GRANULARITY 2,
    INDEX mint_in_index if(in_is_a, mint_a, mint_b) TYPE bloom_filter(0.01) GRANULARITY 2,
    INDEX mint_out_index if(in_is_a, mint_b, mint_a) TYPE bloom_filter(0.01) GRANULARITY 2,
    INDEX trader_index trader TYPE bloom_filter(0.05) GRANULARITY 8
)
ENGINE = {{engine "ReplacingMergeTree" "version"}}
PARTITION BY intDiv(slot, 1000000)
ORDER BY (slot, signature_head, instruction_index, inner_instruction_index, batch_index)
SETTINGS merge_with_ttl_timeout = 86400
COMMENT 'Swap legs as delivered and as valued, copies included until merges remove them: read swaps';

CREATE OR REPLACE VIEW {{.Database}}.swaps {{onCluster}}
(
    slot                    UInt64                             COMMENT 'Slot of the block',
    block_time              Nullable(DateTime('UTC'))          COMMENT 'Time of the block; null when the source does not say',
    transaction_index       Int32                              COMMENT 'Place in the block counting every transaction, from 0; -1 when the source does not say',
    instruction_index       UInt16                             COMMENT 'Outer instruction, from 0',
    inner_instruction_index Int16                              COMMENT 'Place in the outer instruction''s flat inner list, from 0; -1 for the outer one itself',
    batch_index             Int16                              COMMENT 'Tells the legs of one instruction apart, from 0; -1 when it makes one',
    signature               String                             COMMENT 'First signature of the transaction, base58; empty when it was kept long enough',
    venue                   LowCardinality(String)             COMMENT 'raydium_amm_v4, orca_whirlpool …: docs/swaps.md has the list',
    program_id              LowCardinality(String)             COMMENT 'Program of the venue, base58',
    pool                    String                             COMMENT 'Pool account, base58',
    mint_in                 String                             COMMENT 'Mint that the pool received, base58',
    mint_out                String                             COMMENT 'Mint that the pool gave, base58',
    amount_in               UInt64                             COMMENT 'Raw amount that reached the pool''s vault, net of a Token-2022 fee',
    amount_out              UInt64                             COMMENT 'Raw amount that left the pool''s vault, fees included',
    decimals_in             Nullable(UInt8)                    COMMENT 'Decimal places of mint_in, where the transaction says',
    decimals_out            Nullable(UInt8)                    COMMENT 'Decimal places of mint_out, where the transaction says',
    trader                  String                             COMMENT 'Wallet that trades, base58',
    usd_value               Nullable(Decimal(18, 6))           COMMENT 'US dollars at the time of the block: docs/volume.md; null when no side has a price',
    agreed                  UInt8                              COMMENT 'Sources that state these amounts: 1 transfers, 2 event, 4 log, 8 balances',
    disagreed               UInt8                              COMMENT 'Sources that state others, same bits',
    aggregator              LowCardinality(String)             COMMENT 'Aggregator that the leg was a part of; empty for none known',
    instruction             LowCardinality(String)             COMMENT 'The instruction''s published name',
    position                UInt128                            COMMENT 'The place on the chain as one number: orders all events'
)
AS SELECT slot, if(toUnixTimestamp(block_time) = 0, NULL, block_time) AS block_time, transaction_index, instruction_index,
    inner_instruction_index, batch_index, if(signature_rest = toFixedString('', 52), '', base58Encode(concat(signature_head, signature_rest))) AS signature, venue, program_id, pool, mint_in,
    mint_out, amount_in, amount_out, decimals_in,
    decimals_out, trader, usd_value, agreed, disagreed, aggregator, instruction, position
FROM {{.Database}}.swaps_raw FINAL;

-- What aggregators say of the routes that they executed. Never volume: the legs are.
CREATE TABLE IF NOT EXISTS {{.Database}}.routes_raw {{onCluster}}
(
    slot                    UInt64                             COMMENT 'Slot of the block' CODEC(Delta, ZSTD(3)),
    block_time              DateTime('UTC')                    COMMENT 'Time of the block; 1970-01-01 when the source does not say' CODEC(Delta, ZSTD(3)),
    transaction_index       Int32                              COMMENT 'Place in the block counting every transaction, from 0; -1 when the source does not say' CODEC(ZSTD(3)),
    instruction_index       UInt16                             COMMENT 'Outer instruction, from 0' CODEC(ZSTD(3)),
    inner_instruction_index Int16                              COMMENT 'Place in the outer instruction''s flat inner list, from 0; -1 for the outer one itself' CODEC(ZSTD(3)),
    signature               String                             COMMENT 'First signature of the transaction, base58' CODEC(ZSTD(3)),
    aggregator              LowCardinality(String)             COMMENT 'jupiter_v6 …: docs/swaps.md has the list',
    program_id              LowCardinality(String)             COMMENT 'Program of the aggregator, base58',
    trader                  String                             COMMENT 'Wallet that trades, base58' CODEC(ZSTD(3)),
    mint_in                 String                             COMMENT 'Mint paid, base58; empty when its events do not say' CODEC(ZSTD(3)),
    mint_out                String                             COMMENT 'Mint received, base58; empty when its events do not say' CODEC(ZSTD(3)),
    amount_in               UInt64                             COMMENT 'Raw amount paid, as its events say' CODEC(ZSTD(3)),
    amount_out              UInt64                             COMMENT 'Raw amount received, as its events say' CODEC(ZSTD(3)),
    legs                    UInt16                             COMMENT 'Legs of known venues inside the instruction' CODEC(ZSTD(3)),
    hops                    Array(Tuple(amm String, mint_in String, mint_out String, amount_in UInt64, amount_out UInt64)) COMMENT 'Its events, in order' CODEC(ZSTD(3)),
    version                 UInt8                              COMMENT '1 when the place of the transaction is known: decides between copies'
)
ENGINE = {{engine "ReplacingMergeTree" "version"}}
PARTITION BY intDiv(slot, 1000000)
ORDER BY (slot, signature, instruction_index, inner_instruction_index)
COMMENT 'Routes of aggregators as delivered: read routes';

CREATE OR REPLACE VIEW {{.Database}}.routes {{onCluster}}
(
    slot                    UInt64                    COMMENT 'Slot of the block',
    block_time              Nullable(DateTime('UTC')) COMMENT 'Time of the block; null when the source does not say',
    transaction_index       Int32                     COMMENT 'Place in the block counting every transaction, from 0; -1 when the source does not say',
    instruction_index       UInt16                    COMMENT 'Outer instruction, from 0',
    inner_instruction_index Int16                     COMMENT 'Place in the outer instruction''s flat inner list, from 0; -1 for the outer one itself',
    signature               String                    COMMENT 'First signature of the transaction, base58',
    aggregator              LowCardinality(String)    COMMENT 'jupiter_v6 …: docs/swaps.md has the list',
    program_id              LowCardinality(String)    COMMENT 'Program of the aggregator, base58',
    trader                  String                    COMMENT 'Wallet that trades, base58',
    mint_in                 String                    COMMENT 'Mint paid, base58; empty when its events do not say',
    mint_out                String                    COMMENT 'Mint received, base58; empty when its events do not say',
    amount_in               UInt64                    COMMENT 'Raw amount paid, as its events say',
    amount_out              UInt64                    COMMENT 'Raw amount received, as its events say',
    legs                    UInt16                    COMMENT 'Legs of known venues inside the instruction',
    hops                    Array(Tuple(amm String, mint_in String, mint_out String, amount_in UInt64, amount_out UInt64)) COMMENT 'Its events, in order'
)
AS SELECT slot, if(toUnixTimestamp(block_time) = 0, NULL, block_time) AS block_time, transaction_index, instruction_index, inner_instruction_index,
    signature, aggregator, program_id, trader, mint_in, mint_out, amount_in, amount_out, legs, hops
FROM {{.Database}}.routes_raw FINAL;

-- One row a pool; every column outside the key is a join (min or max), so a repeated record changes nothing.
CREATE TABLE IF NOT EXISTS {{.Database}}.pools_raw {{onCluster}}
(
    pool       String                                            COMMENT 'Pool account, base58' CODEC(ZSTD(1)),
    mint_a     String                                            COMMENT 'The mint that sorts first as text, base58' CODEC(ZSTD(1)),
    mint_b     String                                            COMMENT 'The other mint, base58' CODEC(ZSTD(1)),
    venue      SimpleAggregateFunction(max, String)              COMMENT 'raydium_amm_v4, orca_whirlpool …' CODEC(ZSTD(1)),
    program_id SimpleAggregateFunction(max, String)              COMMENT 'Program of the venue, base58' CODEC(ZSTD(1)),
    vault_a    SimpleAggregateFunction(max, String)              COMMENT 'Account that holds mint_a, base58; empty when unknown' CODEC(ZSTD(1)),
    vault_b    SimpleAggregateFunction(max, String)              COMMENT 'Account that holds mint_b, base58; empty when unknown' CODEC(ZSTD(1)),
    decimals_a SimpleAggregateFunction(max, Nullable(UInt8))     COMMENT 'Decimal places of mint_a' CODEC(ZSTD(1)),
    decimals_b SimpleAggregateFunction(max, Nullable(UInt8))     COMMENT 'Decimal places of mint_b' CODEC(ZSTD(1)),
    first      SimpleAggregateFunction(min, Tuple(position UInt128, block_time DateTime('UTC'))) COMMENT 'Earliest record of it' CODEC(ZSTD(1)),
    creation   SimpleAggregateFunction(min, Tuple(position UInt128, block_time DateTime('UTC'), signature String, creator String)) COMMENT 'The instruction that created it; the highest position when it was not seen' CODEC(ZSTD(1)),
    last       SimpleAggregateFunction(max, Tuple(position UInt128, block_time DateTime('UTC'), reserve_a UInt64, reserve_b UInt64)) COMMENT 'Vault balances after its latest leg that states them; position 0 when none does' CODEC(ZSTD(1)),
    INDEX mint_a_index mint_a TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX mint_b_index mint_b TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = {{engine "AggregatingMergeTree"}}
ORDER BY (pool, mint_a, mint_b)
SETTINGS index_granularity = 1024
COMMENT 'What is known of pools: read pools';

CREATE OR REPLACE VIEW {{.Database}}.pools {{onCluster}}
(
    pool          String                    COMMENT 'Pool account, base58',
    venue         String                    COMMENT 'raydium_amm_v4, orca_whirlpool …: docs/swaps.md has the list',
    program_id    String                    COMMENT 'Program of the venue, base58',
    mint_a        String                    COMMENT 'The mint that sorts first as text, base58',
    mint_b        String                    COMMENT 'The other mint, base58',
    vault_a       String                    COMMENT 'Account that holds mint_a, base58; empty when unknown',
    vault_b       String                    COMMENT 'Account that holds mint_b, base58; empty when unknown',
    decimals_a    Nullable(UInt8)           COMMENT 'Decimal places of mint_a',
    decimals_b    Nullable(UInt8)           COMMENT 'Decimal places of mint_b',
    created_at    Nullable(DateTime('UTC')) COMMENT 'Block time of its creation; null when that was not seen',
    creator       String                    COMMENT 'Account that created it, base58; empty when unknown',
    first_seen_at Nullable(DateTime('UTC')) COMMENT 'Block time of the earliest record of it',
    reserve_a     Nullable(UInt64)          COMMENT 'Raw balance of vault_a after the latest leg that states it',
    reserve_b     Nullable(UInt64)          COMMENT 'Raw balance of vault_b after the latest leg that states it',
    reserves_at   Nullable(DateTime('UTC')) COMMENT 'Block time of that leg'
)
AS SELECT pool, venue, program_id, mint_a, mint_b, vault_a, vault_b, decimals_a, decimals_b,
    if(toUnixTimestamp(creation.2) = 0, NULL, creation.2) AS created_at, creation.4 AS creator,
    if(toUnixTimestamp(first.2) = 0, NULL, first.2) AS first_seen_at,
    if(last.1 = 0, NULL, last.3) AS reserve_a, if(last.1 = 0, NULL, last.4) AS reserve_b, if(last.1 = 0 OR toUnixTimestamp(last.2) = 0, NULL, last.2) AS reserves_at
FROM {{.Database}}.pools_raw FINAL;

-- Vault balances at the end of each minute of block time in which a pool traded: what prices weigh pools by.
CREATE TABLE IF NOT EXISTS {{.Database}}.pool_reserves_raw {{onCluster}}
(
    minute DateTime('UTC') COMMENT 'Start of the minute' CODEC(Delta, ZSTD(1)),
    pool   String          COMMENT 'Pool account, base58' CODEC(ZSTD(1)),
    mint_a String          COMMENT 'The mint that sorts first as text, base58' CODEC(ZSTD(1)),
    mint_b String          COMMENT 'The other mint, base58' CODEC(ZSTD(1)),
    last   SimpleAggregateFunction(max, Tuple(position UInt128, reserve_a UInt64, reserve_b UInt64)) COMMENT 'Balances after the minute''s last leg that states them' CODEC(ZSTD(1))
)
ENGINE = {{engine "AggregatingMergeTree"}}
PARTITION BY toYYYYMM(minute)
ORDER BY (minute, pool, mint_a, mint_b)
COMMENT 'Vault balances of pools by minute';

-- When each mint traded last: what last_seen_at needs of legs.
CREATE TABLE IF NOT EXISTS {{.Database}}.last_trades_raw {{onCluster}}
(
    mint          String                                        COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    last_trade_at SimpleAggregateFunction(max, DateTime('UTC')) COMMENT 'Block time of its latest leg' CODEC(ZSTD(1))
)
ENGINE = {{engine "AggregatingMergeTree"}}
ORDER BY mint
SETTINGS index_granularity = 1024
COMMENT 'Latest leg of each mint, several rows a mint until merges join them';

-- Which minutes have legs that no valuation has seen: legs are in the log up to touched, valued up to valued, per partition of the log.
CREATE TABLE IF NOT EXISTS {{.Database}}.swap_minutes_raw {{onCluster}}
(
    minute    DateTime('UTC')                        COMMENT 'Start of the minute of block time' CODEC(Delta, ZSTD(1)),
    partition Int32                                  COMMENT 'Partition of chain.swaps.v1' CODEC(ZSTD(1)),
    touched   SimpleAggregateFunction(max, Int64)    COMMENT 'Offset behind the last leg stored' CODEC(ZSTD(1)),
    valued    SimpleAggregateFunction(max, Int64)    COMMENT 'What touched was when the minute was valued last' CODEC(ZSTD(1))
)
ENGINE = {{engine "AggregatingMergeTree"}}
PARTITION BY toYYYYMM(minute)
ORDER BY (minute, partition)
COMMENT 'Book of the minutes that wait for their valuation';
