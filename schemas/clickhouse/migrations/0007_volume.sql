-- What legs were worth and how much was traded, by minute, hour and day of block time. Every row is computed from all legs of its bucket, never
-- added to: a bucket that gets a late leg is computed again under a higher generation, so repeats, kills and backfills count nothing twice.
-- docs/volume.md has the formulas.

-- Each valuation takes the next number before it writes.
CREATE TABLE IF NOT EXISTS {{.Database}}.valuations {{onCluster}}
(
    generation UInt64          COMMENT 'Number of the valuation' CODEC(Delta, ZSTD(1)),
    started_at DateTime('UTC') COMMENT 'Wall clock when it began; decides nothing' CODEC(Delta, ZSTD(1))
)
ENGINE = {{engine "MergeTree"}}
ORDER BY generation
TTL started_at + INTERVAL 30 DAY
COMMENT 'Runs of the valuation';

CREATE TABLE IF NOT EXISTS {{.Database}}.pool_minutes_raw {{onCluster}}
(
    minute    DateTime('UTC') COMMENT 'Start of the minute of block time' CODEC(Delta, ZSTD(1)),
    pool      String COMMENT 'Pool account, base58' CODEC(ZSTD(1)),
    mint_a    String COMMENT 'The mint that sorts first as text, base58' CODEC(ZSTD(1)),
    mint_b    String COMMENT 'The other mint, base58' CODEC(ZSTD(1)),
    amount_a  UInt128 COMMENT 'Raw amount of mint_a that changed hands, both directions' CODEC(ZSTD(1)),
    amount_b  UInt128 COMMENT 'Raw amount of mint_b that changed hands, both directions' CODEC(ZSTD(1)),
    reserve_a Nullable(UInt64) COMMENT 'Raw balance of the vault of mint_a after the minute''s last leg that states it' CODEC(ZSTD(1)),
    reserve_b Nullable(UInt64) COMMENT 'Raw balance of the vault of mint_b after the minute''s last leg that states it' CODEC(ZSTD(1)),
    decimals_a Nullable(UInt8) COMMENT 'Decimal places of mint_a' CODEC(ZSTD(1)),
    decimals_b Nullable(UInt8) COMMENT 'Decimal places of mint_b' CODEC(ZSTD(1)),
    generation UInt64 COMMENT 'Number of the valuation that made the row: decides between copies' CODEC(Delta, ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "generation"}}
PARTITION BY toYYYYMM(minute)
ORDER BY (minute, pool, mint_a, mint_b)
COMMENT 'What each pool traded in each minute, older valuations included until merges remove them: read pool_minutes';

CREATE OR REPLACE VIEW {{.Database}}.pool_minutes {{onCluster}}
(
    minute    DateTime('UTC') COMMENT 'Start of the minute of block time',
    pool      String COMMENT 'Pool account, base58',
    mint_a    String COMMENT 'The mint that sorts first as text, base58',
    mint_b    String COMMENT 'The other mint, base58',
    amount_a  UInt128 COMMENT 'Raw amount of mint_a that changed hands, both directions',
    amount_b  UInt128 COMMENT 'Raw amount of mint_b that changed hands, both directions',
    reserve_a Nullable(UInt64) COMMENT 'Raw balance of the vault of mint_a after the minute''s last leg that states it',
    reserve_b Nullable(UInt64) COMMENT 'Raw balance of the vault of mint_b after the minute''s last leg that states it',
    decimals_a Nullable(UInt8) COMMENT 'Decimal places of mint_a',
    decimals_b Nullable(UInt8) COMMENT 'Decimal places of mint_b'
)
AS SELECT minute, pool, mint_a, mint_b, amount_a, amount_b, reserve_a, reserve_b, decimals_a, decimals_b
FROM {{.Database}}.pool_minutes_raw FINAL;

CREATE TABLE IF NOT EXISTS {{.Database}}.prices_1m_raw {{onCluster}}
(
    mint          String COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    minute        DateTime('UTC') COMMENT 'Start of the minute of block time' CODEC(Delta, ZSTD(1)),
    price_usd     Nullable(Float64) COMMENT 'US dollars for a whole token; null when no pool qualifies or its decimals are unknown' CODEC(ZSTD(1)),
    raw_price_usd Nullable(Float64) COMMENT 'US dollars for one raw unit; null when no pool qualifies' CODEC(ZSTD(1)),
    liquidity_usd Nullable(Float64) COMMENT 'US dollars on the anchor side of the pool that the price is from; null for anchors' CODEC(ZSTD(1)),
    pool          String COMMENT 'The pool that the price is from, base58; empty for anchors and none' CODEC(ZSTD(1)),
    generation    UInt64 COMMENT 'Number of the valuation that made the row: decides between copies' CODEC(Delta, ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "generation"}}
PARTITION BY toYYYYMM(minute)
ORDER BY (mint, minute)
COMMENT 'Price of each mint in each minute in which it traded, older valuations included until merges remove them: read prices_1m';

CREATE OR REPLACE VIEW {{.Database}}.prices_1m {{onCluster}}
(
    mint          String COMMENT 'Mint, base58',
    minute        DateTime('UTC') COMMENT 'Start of the minute of block time',
    price_usd     Nullable(Float64) COMMENT 'US dollars for a whole token; null when no pool qualifies or its decimals are unknown',
    raw_price_usd Nullable(Float64) COMMENT 'US dollars for one raw unit; null when no pool qualifies',
    liquidity_usd Nullable(Float64) COMMENT 'US dollars on the anchor side of the pool that the price is from; null for anchors',
    pool          String COMMENT 'The pool that the price is from, base58; empty for anchors and none'
)
AS SELECT mint, minute, price_usd, raw_price_usd, liquidity_usd, pool
FROM {{.Database}}.prices_1m_raw FINAL;

CREATE TABLE IF NOT EXISTS {{.Database}}.volume_1m_raw {{onCluster}}
(
    INDEX mint_index mint TYPE bloom_filter(0.01) GRANULARITY 1,
    mint            String COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    bucket          DateTime('UTC') COMMENT 'Start of the minute of block time, UTC' CODEC(Delta, ZSTD(1)),
    volume_usd      Decimal(38, 6) COMMENT 'Sum of the legs'' US dollar values' CODEC(ZSTD(1)),
    user_volume_usd Decimal(38, 6) COMMENT 'The same with each transaction netted: what passed through on its way counts nothing' CODEC(ZSTD(1)),
    trades          UInt64 COMMENT 'Legs' CODEC(ZSTD(1)),
    unpriced        UInt64 COMMENT 'Legs without a US dollar value' CODEC(ZSTD(1)),
    traders         UInt64 COMMENT 'Distinct traders, exact' CODEC(ZSTD(1)),
    last_trade_at   DateTime('UTC') COMMENT 'Block time of the latest leg' CODEC(ZSTD(1)),
    open            Nullable(Float64) COMMENT 'First price in US dollars for a whole token' CODEC(ZSTD(1)),
    high            Nullable(Float64) COMMENT 'Highest price' CODEC(ZSTD(1)),
    low             Nullable(Float64) COMMENT 'Lowest price' CODEC(ZSTD(1)),
    close           Nullable(Float64) COMMENT 'Last price' CODEC(ZSTD(1)),
    generation      UInt64 COMMENT 'Number of the valuation that made the row: decides between copies' CODEC(Delta, ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "generation"}}
PARTITION BY toYYYYMM(bucket)
ORDER BY (bucket, mint)
COMMENT 'What was traded of each mint by minute, older valuations included until merges remove them: read volume_1m';

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
    close           Nullable(Float64) COMMENT 'Last price'
)
AS SELECT mint, bucket, volume_usd, user_volume_usd, trades, unpriced, traders, last_trade_at, open, high, low, close
FROM {{.Database}}.volume_1m_raw FINAL;

CREATE TABLE IF NOT EXISTS {{.Database}}.pool_volume_1m_raw {{onCluster}}
(
    pool            String COMMENT 'Pool account, base58' CODEC(ZSTD(1)),
    mint_a          String COMMENT 'The mint that sorts first as text, base58' CODEC(ZSTD(1)),
    mint_b          String COMMENT 'The other mint, base58' CODEC(ZSTD(1)),
    venue           LowCardinality(String) COMMENT 'Venue of the pool',
    bucket          DateTime('UTC') COMMENT 'Start of the minute of block time, UTC' CODEC(Delta, ZSTD(1)),
    volume_usd      Decimal(38, 6) COMMENT 'Sum of the legs'' US dollar values' CODEC(ZSTD(1)),
    user_volume_usd Decimal(38, 6) COMMENT 'The same with each transaction netted: what passed through on its way counts nothing' CODEC(ZSTD(1)),
    trades          UInt64 COMMENT 'Legs' CODEC(ZSTD(1)),
    unpriced        UInt64 COMMENT 'Legs without a US dollar value' CODEC(ZSTD(1)),
    traders         UInt64 COMMENT 'Distinct traders, exact' CODEC(ZSTD(1)),
    amount_a        UInt128 COMMENT 'Raw amount of mint_a that changed hands, both directions' CODEC(ZSTD(1)),
    amount_b        UInt128 COMMENT 'Raw amount of mint_b that changed hands, both directions' CODEC(ZSTD(1)),
    generation      UInt64 COMMENT 'Number of the valuation that made the row: decides between copies' CODEC(Delta, ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "generation"}}
PARTITION BY toYYYYMM(bucket)
ORDER BY (bucket, pool, mint_a, mint_b)
COMMENT 'What each pool traded by minute, older valuations included until merges remove them: read pool_volume_1m';

CREATE OR REPLACE VIEW {{.Database}}.pool_volume_1m {{onCluster}}
(
    pool            String COMMENT 'Pool account, base58',
    mint_a          String COMMENT 'The mint that sorts first as text, base58',
    mint_b          String COMMENT 'The other mint, base58',
    venue           LowCardinality(String) COMMENT 'Venue of the pool',
    bucket          DateTime('UTC') COMMENT 'Start of the minute of block time, UTC',
    volume_usd      Decimal(38, 6) COMMENT 'Sum of the legs'' US dollar values',
    user_volume_usd Decimal(38, 6) COMMENT 'The same with each transaction netted: what passed through on its way counts nothing',
    trades          UInt64 COMMENT 'Legs',
    unpriced        UInt64 COMMENT 'Legs without a US dollar value',
    traders         UInt64 COMMENT 'Distinct traders, exact',
    amount_a        UInt128 COMMENT 'Raw amount of mint_a that changed hands, both directions',
    amount_b        UInt128 COMMENT 'Raw amount of mint_b that changed hands, both directions'
)
AS SELECT pool, mint_a, mint_b, venue, bucket, volume_usd, user_volume_usd, trades, unpriced, traders, amount_a, amount_b
FROM {{.Database}}.pool_volume_1m_raw FINAL;

CREATE TABLE IF NOT EXISTS {{.Database}}.volume_1h_raw {{onCluster}}
(
    trader_set         AggregateFunction(uniqExact, UInt64) COMMENT 'sipHash64 of the hour''s traders: the day counts them anew' CODEC(ZSTD(1)),
    mint               String COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    bucket             DateTime('UTC') COMMENT 'Start of the hour of block time, UTC' CODEC(Delta, ZSTD(1)),
    volume_usd         Decimal(38, 6) COMMENT 'Sum of the legs'' US dollar values' CODEC(ZSTD(1)),
    user_volume_usd    Decimal(38, 6) COMMENT 'The same with each transaction netted: what passed through on its way counts nothing' CODEC(ZSTD(1)),
    trades             UInt64 COMMENT 'Legs' CODEC(ZSTD(1)),
    unpriced           UInt64 COMMENT 'Legs without a US dollar value' CODEC(ZSTD(1)),
    traders            UInt64 COMMENT 'Distinct traders, exact' CODEC(ZSTD(1)),
    organic_volume_usd Decimal(38, 6) COMMENT 'Resists wash trading: round trips of one trader within an hour removed, each trader capped' CODEC(ZSTD(1)),
    open               Nullable(Float64) COMMENT 'First price in US dollars for a whole token' CODEC(ZSTD(1)),
    high               Nullable(Float64) COMMENT 'Highest price' CODEC(ZSTD(1)),
    low                Nullable(Float64) COMMENT 'Lowest price' CODEC(ZSTD(1)),
    close              Nullable(Float64) COMMENT 'Last price' CODEC(ZSTD(1)),
    generation         UInt64 COMMENT 'Number of the valuation that made the row: decides between copies' CODEC(Delta, ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "generation"}}
PARTITION BY toYYYYMM(bucket)
ORDER BY (mint, bucket)
COMMENT 'What was traded of each mint by hour, older valuations included until merges remove them: read volume_1h';

CREATE OR REPLACE VIEW {{.Database}}.volume_1h {{onCluster}}
(
    mint               String COMMENT 'Mint, base58',
    bucket             DateTime('UTC') COMMENT 'Start of the hour of block time, UTC',
    volume_usd         Decimal(38, 6) COMMENT 'Sum of the legs'' US dollar values',
    user_volume_usd    Decimal(38, 6) COMMENT 'The same with each transaction netted: what passed through on its way counts nothing',
    trades             UInt64 COMMENT 'Legs',
    unpriced           UInt64 COMMENT 'Legs without a US dollar value',
    traders            UInt64 COMMENT 'Distinct traders, exact',
    organic_volume_usd Decimal(38, 6) COMMENT 'Resists wash trading: round trips of one trader within an hour removed, each trader capped',
    open               Nullable(Float64) COMMENT 'First price in US dollars for a whole token',
    high               Nullable(Float64) COMMENT 'Highest price',
    low                Nullable(Float64) COMMENT 'Lowest price',
    close              Nullable(Float64) COMMENT 'Last price'
)
AS SELECT mint, bucket, volume_usd, user_volume_usd, trades, unpriced, traders, organic_volume_usd, open, high, low, close
FROM {{.Database}}.volume_1h_raw FINAL;

CREATE TABLE IF NOT EXISTS {{.Database}}.pool_volume_1h_raw {{onCluster}}
(
    trader_set         AggregateFunction(uniqExact, UInt64) COMMENT 'sipHash64 of the hour''s traders: the day counts them anew' CODEC(ZSTD(1)),
    pool            String COMMENT 'Pool account, base58' CODEC(ZSTD(1)),
    mint_a          String COMMENT 'The mint that sorts first as text, base58' CODEC(ZSTD(1)),
    mint_b          String COMMENT 'The other mint, base58' CODEC(ZSTD(1)),
    venue           LowCardinality(String) COMMENT 'Venue of the pool',
    bucket          DateTime('UTC') COMMENT 'Start of the hour of block time, UTC' CODEC(Delta, ZSTD(1)),
    volume_usd      Decimal(38, 6) COMMENT 'Sum of the legs'' US dollar values' CODEC(ZSTD(1)),
    user_volume_usd Decimal(38, 6) COMMENT 'The same with each transaction netted: what passed through on its way counts nothing' CODEC(ZSTD(1)),
    trades          UInt64 COMMENT 'Legs' CODEC(ZSTD(1)),
    unpriced        UInt64 COMMENT 'Legs without a US dollar value' CODEC(ZSTD(1)),
    traders         UInt64 COMMENT 'Distinct traders, exact' CODEC(ZSTD(1)),
    amount_a        UInt128 COMMENT 'Raw amount of mint_a that changed hands, both directions' CODEC(ZSTD(1)),
    amount_b        UInt128 COMMENT 'Raw amount of mint_b that changed hands, both directions' CODEC(ZSTD(1)),
    generation      UInt64 COMMENT 'Number of the valuation that made the row: decides between copies' CODEC(Delta, ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "generation"}}
PARTITION BY toYYYYMM(bucket)
ORDER BY (pool, mint_a, mint_b, bucket)
COMMENT 'What each pool traded by hour, older valuations included until merges remove them: read pool_volume_1h';

CREATE OR REPLACE VIEW {{.Database}}.pool_volume_1h {{onCluster}}
(
    pool            String COMMENT 'Pool account, base58',
    mint_a          String COMMENT 'The mint that sorts first as text, base58',
    mint_b          String COMMENT 'The other mint, base58',
    venue           LowCardinality(String) COMMENT 'Venue of the pool',
    bucket          DateTime('UTC') COMMENT 'Start of the hour of block time, UTC',
    volume_usd      Decimal(38, 6) COMMENT 'Sum of the legs'' US dollar values',
    user_volume_usd Decimal(38, 6) COMMENT 'The same with each transaction netted: what passed through on its way counts nothing',
    trades          UInt64 COMMENT 'Legs',
    unpriced        UInt64 COMMENT 'Legs without a US dollar value',
    traders         UInt64 COMMENT 'Distinct traders, exact',
    amount_a        UInt128 COMMENT 'Raw amount of mint_a that changed hands, both directions',
    amount_b        UInt128 COMMENT 'Raw amount of mint_b that changed hands, both directions'
)
AS SELECT pool, mint_a, mint_b, venue, bucket, volume_usd, user_volume_usd, trades, unpriced, traders, amount_a, amount_b
FROM {{.Database}}.pool_volume_1h_raw FINAL;

CREATE TABLE IF NOT EXISTS {{.Database}}.volume_1d_raw {{onCluster}}
(
    mint               String COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    bucket             DateTime('UTC') COMMENT 'Start of the day of block time, UTC' CODEC(Delta, ZSTD(1)),
    volume_usd         Decimal(38, 6) COMMENT 'Sum of the legs'' US dollar values' CODEC(ZSTD(1)),
    user_volume_usd    Decimal(38, 6) COMMENT 'The same with each transaction netted: what passed through on its way counts nothing' CODEC(ZSTD(1)),
    trades             UInt64 COMMENT 'Legs' CODEC(ZSTD(1)),
    unpriced           UInt64 COMMENT 'Legs without a US dollar value' CODEC(ZSTD(1)),
    traders            UInt64 COMMENT 'Distinct traders, exact' CODEC(ZSTD(1)),
    organic_volume_usd Decimal(38, 6) COMMENT 'Resists wash trading: round trips of one trader within an hour removed, each trader capped' CODEC(ZSTD(1)),
    open               Nullable(Float64) COMMENT 'First price in US dollars for a whole token' CODEC(ZSTD(1)),
    high               Nullable(Float64) COMMENT 'Highest price' CODEC(ZSTD(1)),
    low                Nullable(Float64) COMMENT 'Lowest price' CODEC(ZSTD(1)),
    close              Nullable(Float64) COMMENT 'Last price' CODEC(ZSTD(1)),
    generation         UInt64 COMMENT 'Number of the valuation that made the row: decides between copies' CODEC(Delta, ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "generation"}}
PARTITION BY toYYYYMM(bucket)
ORDER BY (mint, bucket)
COMMENT 'What was traded of each mint by day, older valuations included until merges remove them: read volume_1d';

CREATE OR REPLACE VIEW {{.Database}}.volume_1d {{onCluster}}
(
    mint               String COMMENT 'Mint, base58',
    bucket             DateTime('UTC') COMMENT 'Start of the day of block time, UTC',
    volume_usd         Decimal(38, 6) COMMENT 'Sum of the legs'' US dollar values',
    user_volume_usd    Decimal(38, 6) COMMENT 'The same with each transaction netted: what passed through on its way counts nothing',
    trades             UInt64 COMMENT 'Legs',
    unpriced           UInt64 COMMENT 'Legs without a US dollar value',
    traders            UInt64 COMMENT 'Distinct traders, exact',
    organic_volume_usd Decimal(38, 6) COMMENT 'Resists wash trading: round trips of one trader within an hour removed, each trader capped',
    open               Nullable(Float64) COMMENT 'First price in US dollars for a whole token',
    high               Nullable(Float64) COMMENT 'Highest price',
    low                Nullable(Float64) COMMENT 'Lowest price',
    close              Nullable(Float64) COMMENT 'Last price'
)
AS SELECT mint, bucket, volume_usd, user_volume_usd, trades, unpriced, traders, organic_volume_usd, open, high, low, close
FROM {{.Database}}.volume_1d_raw FINAL;

CREATE TABLE IF NOT EXISTS {{.Database}}.pool_volume_1d_raw {{onCluster}}
(
    pool            String COMMENT 'Pool account, base58' CODEC(ZSTD(1)),
    mint_a          String COMMENT 'The mint that sorts first as text, base58' CODEC(ZSTD(1)),
    mint_b          String COMMENT 'The other mint, base58' CODEC(ZSTD(1)),
    venue           LowCardinality(String) COMMENT 'Venue of the pool',
    bucket          DateTime('UTC') COMMENT 'Start of the day of block time, UTC' CODEC(Delta, ZSTD(1)),
    volume_usd      Decimal(38, 6) COMMENT 'Sum of the legs'' US dollar values' CODEC(ZSTD(1)),
    user_volume_usd Decimal(38, 6) COMMENT 'The same with each transaction netted: what passed through on its way counts nothing' CODEC(ZSTD(1)),
    trades          UInt64 COMMENT 'Legs' CODEC(ZSTD(1)),
    unpriced        UInt64 COMMENT 'Legs without a US dollar value' CODEC(ZSTD(1)),
    traders         UInt64 COMMENT 'Distinct traders, exact' CODEC(ZSTD(1)),
    amount_a        UInt128 COMMENT 'Raw amount of mint_a that changed hands, both directions' CODEC(ZSTD(1)),
    amount_b        UInt128 COMMENT 'Raw amount of mint_b that changed hands, both directions' CODEC(ZSTD(1)),
    generation      UInt64 COMMENT 'Number of the valuation that made the row: decides between copies' CODEC(Delta, ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "generation"}}
PARTITION BY toYYYYMM(bucket)
ORDER BY (pool, mint_a, mint_b, bucket)
COMMENT 'What each pool traded by day, older valuations included until merges remove them: read pool_volume_1d';

CREATE OR REPLACE VIEW {{.Database}}.pool_volume_1d {{onCluster}}
(
    pool            String COMMENT 'Pool account, base58',
    mint_a          String COMMENT 'The mint that sorts first as text, base58',
    mint_b          String COMMENT 'The other mint, base58',
    venue           LowCardinality(String) COMMENT 'Venue of the pool',
    bucket          DateTime('UTC') COMMENT 'Start of the day of block time, UTC',
    volume_usd      Decimal(38, 6) COMMENT 'Sum of the legs'' US dollar values',
    user_volume_usd Decimal(38, 6) COMMENT 'The same with each transaction netted: what passed through on its way counts nothing',
    trades          UInt64 COMMENT 'Legs',
    unpriced        UInt64 COMMENT 'Legs without a US dollar value',
    traders         UInt64 COMMENT 'Distinct traders, exact',
    amount_a        UInt128 COMMENT 'Raw amount of mint_a that changed hands, both directions',
    amount_b        UInt128 COMMENT 'Raw amount of mint_b that changed hands, both directions'
)
AS SELECT pool, mint_a, mint_b, venue, bucket, volume_usd, user_volume_usd, trades, unpriced, traders, amount_a, amount_b
FROM {{.Database}}.pool_volume_1d_raw FINAL;

-- The last 24 hours of block time, made anew each time; the rows of the highest generation are the figures.
CREATE TABLE IF NOT EXISTS {{.Database}}.daily_volumes_raw {{onCluster}}
(
    mint               String                   COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    until              DateTime('UTC')          COMMENT 'The highest block time seen: the 24 hours end with it' CODEC(ZSTD(1)),
    volume_usd         Nullable(Decimal(38, 6)) COMMENT 'Sum of the legs'' US dollar values; null when no leg has one' CODEC(ZSTD(1)),
    user_volume_usd    Nullable(Decimal(38, 6)) COMMENT 'The same with each transaction netted' CODEC(ZSTD(1)),
    organic_volume_usd Nullable(Decimal(38, 6)) COMMENT 'Resists wash trading: of the 24 clock hours that end with the current one' CODEC(ZSTD(1)),
    trades             UInt64                   COMMENT 'Legs' CODEC(ZSTD(1)),
    price_usd          Nullable(Float64)        COMMENT 'Latest price in US dollars for a whole token' CODEC(ZSTD(1)),
    last_trade_at      DateTime('UTC')          COMMENT 'Block time of its latest leg' CODEC(ZSTD(1)),
    generation         UInt64                   COMMENT 'Number of the valuation' CODEC(ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "generation"}}
ORDER BY mint
SETTINGS index_granularity = 1024
COMMENT 'Rolling figures of mints, of past valuations too: read daily_volumes';

CREATE OR REPLACE VIEW {{.Database}}.daily_volumes {{onCluster}}
(
    mint               String                   COMMENT 'Mint, base58',
    until              DateTime('UTC')          COMMENT 'The highest block time seen: the 24 hours end with it',
    volume_usd         Nullable(Decimal(38, 6)) COMMENT 'Sum of the legs'' US dollar values; null when no leg has one',
    user_volume_usd    Nullable(Decimal(38, 6)) COMMENT 'The same with each transaction netted',
    organic_volume_usd Nullable(Decimal(38, 6)) COMMENT 'Resists wash trading: of the 24 clock hours that end with the current one',
    trades             UInt64                   COMMENT 'Legs',
    price_usd          Nullable(Float64)        COMMENT 'Latest price in US dollars for a whole token',
    last_trade_at      DateTime('UTC')          COMMENT 'Block time of its latest leg'
)
AS SELECT mint, until, volume_usd, user_volume_usd, organic_volume_usd, trades, price_usd, last_trade_at
FROM {{.Database}}.daily_volumes_raw FINAL
WHERE generation = (SELECT max(generation) FROM {{.Database}}.daily_volumes_raw);

-- The registry's rows, now with what swaps say of them.
CREATE OR REPLACE VIEW {{.Database}}.tokens {{onCluster}}
(
    mint                    String                    COMMENT 'Mint, base58',
    symbol                  String                    COMMENT 'Symbol; on-chain metadata first, off-chain fills what is empty',
    name                    String                    COMMENT 'Name; as symbol',
    decimals                UInt8                     COMMENT 'Decimal places of the raw amount',
    logo_url                Nullable(String)          COMMENT 'Logo of the off-chain metadata',
    logo_status             LowCardinality(String)    COMMENT 'ok, unchecked, broken or missing',
    is_token22              Bool                      COMMENT 'Belongs to the Token-2022 program',
    daily_volume_usd        Nullable(Float64)         COMMENT 'USD value of the swap legs of the last 24 hours of block time; null when none could be priced',
    first_seen_at           Nullable(DateTime64(3, 'UTC')) COMMENT 'Block time of the earliest event known',
    last_seen_at            Nullable(DateTime64(3, 'UTC')) COMMENT 'Block time of the latest event known',
    supply                  Nullable(UInt64)          COMMENT 'Raw supply; null when unknown and for wrapped SOL',
    mint_authority          Nullable(String)          COMMENT 'Who may mint, base58; null when nobody or unknown',
    freeze_authority        Nullable(String)          COMMENT 'Who may freeze, base58; null when nobody or unknown',
    metaplex_uri            Nullable(String)          COMMENT 'Off-chain metadata URI',
    update_authority        Nullable(String)          COMMENT 'Who may change the metadata, base58',
    seller_fee_basis_points Nullable(UInt16)          COMMENT 'Seller fee of the metadata',
    token_standard          Nullable(UInt8)           COMMENT 'Metaplex TokenStandard',
    description             Nullable(String)          COMMENT 'Description of the off-chain metadata',
    external_url            Nullable(String)          COMMENT 'Link of the off-chain metadata',
    extensions              Map(String, String)       COMMENT 'Links of the off-chain metadata: website, twitter, telegram …',
    tags                    Array(String)             COMMENT 'Tags of the off-chain metadata'
)
AS SELECT t.mint AS mint, symbol, name, decimals, logo_url, logo_status, is_token22, toFloat64(d.volume_usd) AS daily_volume_usd, first_seen_at,
    if(toUnixTimestamp(l.last_trade_at) = 0, t.last_seen_at, greatest(ifNull(t.last_seen_at, toDateTime64(0, 3, 'UTC')), toDateTime64(l.last_trade_at, 3, 'UTC'))) AS last_seen_at,
    supply, mint_authority, freeze_authority, metaplex_uri, update_authority, seller_fee_basis_points, token_standard, description, external_url,
    extensions, tags
FROM (SELECT * FROM {{.Database}}.tokens_raw FINAL WHERE is_member) AS t
LEFT JOIN (SELECT mint, volume_usd FROM {{.Database}}.daily_volumes) AS d ON t.mint = d.mint
LEFT JOIN (SELECT mint, max(last_trade_at) AS last_trade_at FROM {{.Database}}.last_trades_raw GROUP BY mint) AS l ON t.mint = l.mint;
