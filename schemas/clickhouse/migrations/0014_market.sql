-- What a token's row in the API says of its market. Rows of earlier valuations have none of it; the next valuation makes all rows anew.
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS volume_5m_usd Nullable(Decimal(38, 6)) COMMENT 'As volume_usd, of the last 5 minutes; 0 when it was not traded in them' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS volume_1h_usd Nullable(Decimal(38, 6)) COMMENT 'The same of the last hour' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS volume_6h_usd Nullable(Decimal(38, 6)) COMMENT 'The same of the last 6 hours' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS traders UInt64 COMMENT 'Distinct traders, exact' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS price_at Nullable(DateTime('UTC')) COMMENT 'Minute that price_usd is of' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS price_before_usd Nullable(Float64) COMMENT 'Price that held 24 hours before until; null when the 24 hours before that have none' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS pools UInt64 COMMENT 'Pools known that hold it, traded or not' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS first_pool_at Nullable(DateTime('UTC')) COMMENT 'Block time of the creation of its earliest pool; null when that was not seen' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS liquidity_usd Nullable(Float64) COMMENT 'Stables and SOL in the vaults of its pools that traded; null when no leg says' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.daily_volumes_raw {{onCluster}} ADD COLUMN IF NOT EXISTS liquidity_at Nullable(DateTime('UTC')) COMMENT 'Block time of the latest leg that liquidity_usd is made of' CODEC(ZSTD(1));

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
    liquidity_at       Nullable(DateTime('UTC')) COMMENT 'Block time of the latest leg that liquidity_usd is made of'
)
AS SELECT mint, until, volume_usd, user_volume_usd, organic_volume_usd, trades, price_usd, last_trade_at, volume_5m_usd, volume_1h_usd, volume_6h_usd,
    traders, price_at, price_before_usd, pools, first_pool_at, liquidity_usd, liquidity_at
FROM {{.Database}}.daily_volumes_raw FINAL
WHERE generation = (SELECT max(generation) FROM {{.Database}}.daily_volumes_raw);

ALTER TABLE {{.Database}}.daily_volumes {{onCluster}} MODIFY COMMENT 'One row a mint: its market in the last 24 hours of block time';
