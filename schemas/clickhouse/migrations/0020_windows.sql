-- The windows of a token's market, and what its pools held over the hours: what a market cap may rest on.
ALTER TABLE {{.Database}}.volume_1m_raw {{onCluster}} ADD COLUMN IF NOT EXISTS buys UInt64 COMMENT 'Legs in which the trader got the mint' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.volume_1m_raw {{onCluster}} ADD COLUMN IF NOT EXISTS bought_usd Decimal(38, 6) COMMENT 'US dollar values of these legs' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.volume_1h_raw {{onCluster}} ADD COLUMN IF NOT EXISTS buyer_set AggregateFunction(uniqExact, UInt64) COMMENT 'Hashes of the traders who got the mint: how hours add up' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.volume_1h_raw {{onCluster}} ADD COLUMN IF NOT EXISTS seller_set AggregateFunction(uniqExact, UInt64) COMMENT 'Hashes of the traders who gave the mint' CODEC(ZSTD(1));

CREATE TABLE IF NOT EXISTS {{.Database}}.pool_held_1h_raw {{onCluster}}
(
    pool       String           COMMENT 'Pool account, base58' CODEC(ZSTD(1)),
    mint_a     String           COMMENT 'The mint that sorts first as text, base58' CODEC(ZSTD(1)),
    mint_b     String           COMMENT 'The other mint, base58' CODEC(ZSTD(1)),
    bucket     DateTime('UTC')  COMMENT 'Start of the hour of block time, UTC' CODEC(Delta, ZSTD(1)),
    held_a     Nullable(UInt64) COMMENT 'Raw amount of mint_a that the pool held after three of four minutes in which it traded; null when no leg states it' CODEC(ZSTD(1)),
    held_b     Nullable(UInt64) COMMENT 'The same of mint_b' CODEC(ZSTD(1)),
    minutes    UInt64           COMMENT 'Minutes whose legs state what it held' CODEC(ZSTD(1)),
    generation UInt64           COMMENT 'Number of the valuation that made the row: decides between copies' CODEC(Delta, ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "generation"}}
PARTITION BY toYYYYMM(bucket)
ORDER BY (bucket, pool, mint_a, mint_b)
COMMENT 'What each pool held by hour, older valuations included until merges remove them: read pool_held_1h';

CREATE OR REPLACE VIEW {{.Database}}.pool_held_1h {{onCluster}}
(
    pool       String           COMMENT 'Pool account, base58',
    mint_a     String           COMMENT 'The mint that sorts first as text, base58',
    mint_b     String           COMMENT 'The other mint, base58',
    bucket     DateTime('UTC')  COMMENT 'Start of the hour of block time, UTC',
    held_a     Nullable(UInt64) COMMENT 'Raw amount of mint_a that the pool held after three of four minutes in which it traded; null when no leg states it',
    held_b     Nullable(UInt64) COMMENT 'The same of mint_b',
    minutes    UInt64           COMMENT 'Minutes whose legs state what it held'
)
AS SELECT pool, mint_a, mint_b, bucket, held_a, held_b, minutes
FROM {{.Database}}.pool_held_1h_raw FINAL;

ALTER TABLE {{.Database}}.pool_held_1h {{onCluster}} MODIFY COMMENT 'One row a pool and hour in which it traded: what it held';

ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS trades_5m UInt64 COMMENT 'Legs of the last 5 minutes' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS traders_5m UInt64 COMMENT 'Distinct traders of the last 5 minutes, exact' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS price_before_5m_usd Nullable(Float64) COMMENT 'Price that the change of the last 5 minutes is measured against: the one that held at their start, or else the first in them' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS price_since_5m Nullable(DateTime('UTC')) COMMENT 'Minute of the first price of the last 5 minutes when none held at their start' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS buys_5m UInt64 COMMENT 'Legs of the last 5 minutes in which the trader got the mint' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS bought_5m_usd Decimal(38, 6) COMMENT 'US dollar values of these legs' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS buyers_5m UInt64 COMMENT 'Distinct traders of these legs, exact' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS sellers_5m UInt64 COMMENT 'Distinct traders of the last 5 minutes who gave the mint, exact' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS high_5m_usd Nullable(Float64) COMMENT 'Highest price of the whole minutes of the last 5 minutes' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS low_5m_usd Nullable(Float64) COMMENT 'Lowest price of the whole minutes of the last 5 minutes' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS trades_1h UInt64 COMMENT 'Legs of the last hour' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS traders_1h UInt64 COMMENT 'Distinct traders of the last hour, exact' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS price_before_1h_usd Nullable(Float64) COMMENT 'Price that the change of the last hour is measured against: the one that held at their start, or else the first in them' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS price_since_1h Nullable(DateTime('UTC')) COMMENT 'Minute of the first price of the last hour when none held at their start' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS buys_1h UInt64 COMMENT 'Legs of the last hour in which the trader got the mint' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS bought_1h_usd Decimal(38, 6) COMMENT 'US dollar values of these legs' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS buyers_1h UInt64 COMMENT 'Distinct traders of these legs, exact' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS sellers_1h UInt64 COMMENT 'Distinct traders of the last hour who gave the mint, exact' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS high_1h_usd Nullable(Float64) COMMENT 'Highest price of the whole minutes of the last hour' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS low_1h_usd Nullable(Float64) COMMENT 'Lowest price of the whole minutes of the last hour' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS trades_6h UInt64 COMMENT 'Legs of the last 6 hours' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS traders_6h UInt64 COMMENT 'Distinct traders of the last 6 hours, exact' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS price_before_6h_usd Nullable(Float64) COMMENT 'Price that the change of the last 6 hours is measured against: the one that held at their start, or else the first in them' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS price_since_6h Nullable(DateTime('UTC')) COMMENT 'Minute of the first price of the last 6 hours when none held at their start' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS buys_6h UInt64 COMMENT 'Legs of the last 6 hours in which the trader got the mint' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS bought_6h_usd Decimal(38, 6) COMMENT 'US dollar values of these legs' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS buyers_6h UInt64 COMMENT 'Distinct traders of these legs, exact' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS sellers_6h UInt64 COMMENT 'Distinct traders of the last 6 hours who gave the mint, exact' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS high_6h_usd Nullable(Float64) COMMENT 'Highest price of the whole minutes of the last 6 hours' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS low_6h_usd Nullable(Float64) COMMENT 'Lowest price of the whole minutes of the last 6 hours' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS price_since_24h Nullable(DateTime('UTC')) COMMENT 'Minute of the first price of the last 24 hours when none held at their start' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS buys_24h UInt64 COMMENT 'Legs of the last 24 hours in which the trader got the mint' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS bought_24h_usd Decimal(38, 6) COMMENT 'US dollar values of these legs' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS buyers_24h UInt64 COMMENT 'Distinct traders of these legs, exact' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS sellers_24h UInt64 COMMENT 'Distinct traders of the last 24 hours who gave the mint, exact' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS high_24h_usd Nullable(Float64) COMMENT 'Highest price of the whole minutes of the last 24 hours' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS low_24h_usd Nullable(Float64) COMMENT 'Lowest price of the whole minutes of the last 24 hours' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS held_usd Nullable(Float64) COMMENT 'US dollars in stables and SOL that its pools held in three of four hours of the last 24 in which they traded: docs/market-caps.md' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS anchor Bool COMMENT 'SOL or a stable: others are priced by it' CODEC(ZSTD(1));

CREATE OR REPLACE VIEW {{.Database}}.daily_volumes {{onCluster}}
(
    mint               String                   COMMENT 'Mint, base58',
    until              DateTime('UTC')          COMMENT 'The highest block time seen: the 24 hours end with it',
    volume_usd         Nullable(Decimal(38, 6)) COMMENT 'Sum of the legs'' US dollar values; null when no leg has one',
    user_volume_usd    Nullable(Decimal(38, 6)) COMMENT 'The same with each transaction netted',
    organic_volume_usd Nullable(Decimal(38, 6)) COMMENT 'Resists wash trading: of the 24 clock hours that end with the current one',
    trades             UInt64                   COMMENT 'Legs',
    price_usd          Nullable(Float64)        COMMENT 'Latest price in US dollars for a whole token',
    last_trade_at      DateTime('UTC')          COMMENT 'Block time of its latest leg',
    volume_5m_usd      Nullable(Decimal(38, 6)) COMMENT 'As volume_usd, of the last 5 minutes; 0 when it was not traded in them',
    volume_1h_usd      Nullable(Decimal(38, 6)) COMMENT 'The same of the last hour',
    volume_6h_usd      Nullable(Decimal(38, 6)) COMMENT 'The same of the last 6 hours',
    traders            UInt64                   COMMENT 'Distinct traders, exact',
    price_at           Nullable(DateTime('UTC')) COMMENT 'Minute that price_usd is of',
    price_before_usd   Nullable(Float64)        COMMENT 'Price that held 24 hours before until; null when the 24 hours before that have none',
    pools              UInt64                   COMMENT 'Pools known that hold it, traded or not',
    first_pool_at      Nullable(DateTime('UTC')) COMMENT 'Block time of the creation of its earliest pool; null when that was not seen',
    liquidity_usd      Nullable(Float64)        COMMENT 'Stables and SOL in the vaults of its pools that traded; null when no leg says',
    liquidity_at       Nullable(DateTime('UTC')) COMMENT 'Block time of the latest leg that liquidity_usd is made of',
    trades_5m UInt64 COMMENT 'Legs of the last 5 minutes',
    traders_5m UInt64 COMMENT 'Distinct traders of the last 5 minutes, exact',
    price_before_5m_usd Nullable(Float64) COMMENT 'Price that the change of the last 5 minutes is measured against: the one that held at their start, or else the first in them',
    price_since_5m Nullable(DateTime('UTC')) COMMENT 'Minute of the first price of the last 5 minutes when none held at their start',
    buys_5m UInt64 COMMENT 'Legs of the last 5 minutes in which the trader got the mint',
    bought_5m_usd Decimal(38, 6) COMMENT 'US dollar values of these legs',
    buyers_5m UInt64 COMMENT 'Distinct traders of these legs, exact',
    sellers_5m UInt64 COMMENT 'Distinct traders of the last 5 minutes who gave the mint, exact',
    high_5m_usd Nullable(Float64) COMMENT 'Highest price of the whole minutes of the last 5 minutes',
    low_5m_usd Nullable(Float64) COMMENT 'Lowest price of the whole minutes of the last 5 minutes',
    trades_1h UInt64 COMMENT 'Legs of the last hour',
    traders_1h UInt64 COMMENT 'Distinct traders of the last hour, exact',
    price_before_1h_usd Nullable(Float64) COMMENT 'Price that the change of the last hour is measured against: the one that held at their start, or else the first in them',
    price_since_1h Nullable(DateTime('UTC')) COMMENT 'Minute of the first price of the last hour when none held at their start',
    buys_1h UInt64 COMMENT 'Legs of the last hour in which the trader got the mint',
    bought_1h_usd Decimal(38, 6) COMMENT 'US dollar values of these legs',
    buyers_1h UInt64 COMMENT 'Distinct traders of these legs, exact',
    sellers_1h UInt64 COMMENT 'Distinct traders of the last hour who gave the mint, exact',
    high_1h_usd Nullable(Float64) COMMENT 'Highest price of the whole minutes of the last hour',
    low_1h_usd Nullable(Float64) COMMENT 'Lowest price of the whole minutes of the last hour',
    trades_6h UInt64 COMMENT 'Legs of the last 6 hours',
    traders_6h UInt64 COMMENT 'Distinct traders of the last 6 hours, exact',
    price_before_6h_usd Nullable(Float64) COMMENT 'Price that the change of the last 6 hours is measured against: the one that held at their start, or else the first in them',
    price_since_6h Nullable(DateTime('UTC')) COMMENT 'Minute of the first price of the last 6 hours when none held at their start',
    buys_6h UInt64 COMMENT 'Legs of the last 6 hours in which the trader got the mint',
    bought_6h_usd Decimal(38, 6) COMMENT 'US dollar values of these legs',
    buyers_6h UInt64 COMMENT 'Distinct traders of these legs, exact',
    sellers_6h UInt64 COMMENT 'Distinct traders of the last 6 hours who gave the mint, exact',
    high_6h_usd Nullable(Float64) COMMENT 'Highest price of the whole minutes of the last 6 hours',
    low_6h_usd Nullable(Float64) COMMENT 'Lowest price of the whole minutes of the last 6 hours',
    price_since_24h Nullable(DateTime('UTC')) COMMENT 'Minute of the first price of the last 24 hours when none held at their start',
    buys_24h UInt64 COMMENT 'Legs of the last 24 hours in which the trader got the mint',
    bought_24h_usd Decimal(38, 6) COMMENT 'US dollar values of these legs',
    buyers_24h UInt64 COMMENT 'Distinct traders of these legs, exact',
    sellers_24h UInt64 COMMENT 'Distinct traders of the last 24 hours who gave the mint, exact',
    high_24h_usd Nullable(Float64) COMMENT 'Highest price of the whole minutes of the last 24 hours',
    low_24h_usd Nullable(Float64) COMMENT 'Lowest price of the whole minutes of the last 24 hours',
    held_usd Nullable(Float64) COMMENT 'US dollars in stables and SOL that its pools held in three of four hours of the last 24 in which they traded: docs/market-caps.md',
    anchor Bool COMMENT 'SOL or a stable: others are priced by it'
)
AS SELECT mint, until, volume_usd, user_volume_usd, organic_volume_usd, trades, price_usd, last_trade_at, volume_5m_usd, volume_1h_usd, volume_6h_usd,
    traders, price_at, price_before_usd, pools, first_pool_at, liquidity_usd, liquidity_at,
    trades_5m, traders_5m, price_before_5m_usd, price_since_5m, buys_5m, bought_5m_usd, buyers_5m, sellers_5m, high_5m_usd, low_5m_usd, trades_1h, traders_1h, price_before_1h_usd, price_since_1h, buys_1h, bought_1h_usd, buyers_1h, sellers_1h, high_1h_usd, low_1h_usd, trades_6h, traders_6h, price_before_6h_usd, price_since_6h, buys_6h, bought_6h_usd, buyers_6h, sellers_6h, high_6h_usd, low_6h_usd, price_since_24h, buys_24h, bought_24h_usd, buyers_24h, sellers_24h, high_24h_usd, low_24h_usd, held_usd, anchor
FROM {{.Database}}.daily_volumes_raw FINAL
WHERE generation = (SELECT max(generation) FROM {{.Database}}.daily_volumes_raw);

ALTER TABLE {{.Database}}.daily_volumes {{onCluster}} MODIFY COMMENT 'One row a mint: its market in the last 24 hours of block time';

CREATE OR REPLACE VIEW {{.Database}}.volume_1m {{onCluster}}
(
    mint            String COMMENT 'Mint, base58',
    bucket          DateTime('UTC') COMMENT 'Start of the minute of block time, UTC',
    volume_usd      Decimal(38, 6) COMMENT 'Sum of the legs'' US dollar values',
    user_volume_usd Decimal(38, 6) COMMENT 'The same with each transaction netted: what passed through on its way counts nothing',
    trades          UInt64 COMMENT 'Legs',
    unpriced        UInt64 COMMENT 'Legs without a US dollar value',
    traders         UInt64 COMMENT 'Distinct traders, exact',
    last_trade_at   DateTime('UTC') COMMENT 'Block time of the latest leg',
    open            Nullable(Float64) COMMENT 'First price in US dollars for a whole token',
    high            Nullable(Float64) COMMENT 'Highest price',
    low             Nullable(Float64) COMMENT 'Lowest price',
    close           Nullable(Float64) COMMENT 'Last price',
    buys            UInt64 COMMENT 'Legs in which the trader got the mint',
    bought_usd      Decimal(38, 6) COMMENT 'US dollar values of these legs'
)
AS SELECT mint, bucket, volume_usd, user_volume_usd, trades, unpriced, traders, last_trade_at, open, high, low, close, buys, bought_usd
FROM {{.Database}}.volume_1m_raw FINAL;
ALTER TABLE {{.Database}}.volume_1m {{onCluster}} MODIFY COMMENT 'One row a mint and minute: what was traded of it';
ALTER TABLE {{.Database}}.daily_volumes {{onCluster}} MODIFY COMMENT 'One row a mint: its market in the last 24 hours of block time, and in parts of them';
