-- What analysts read without knowing Mintlake: names of tokens at hand, and a comment on every view and column.

-- Symbol, name and decimals of every token of the registry, in memory. It is read on its first use, and again each minute or two while it is in use.
-- A server whose user "default" has a password needs a user that may read tokens_raw: deploy/clickhouse/analyst.sql makes one.
CREATE OR REPLACE DICTIONARY {{.Database}}.token_names {{onCluster}}
(
    mint     String,
    symbol   String DEFAULT '',
    name     String DEFAULT '',
    decimals Nullable(UInt8) DEFAULT NULL
)
PRIMARY KEY mint
SOURCE(CLICKHOUSE(QUERY 'SELECT mint, symbol, name, decimals FROM {{.Database}}.tokens_raw FINAL WHERE is_member'))
LAYOUT(COMPLEX_KEY_HASHED_ARRAY())
LIFETIME(MIN 60 MAX 120)
COMMENT 'Symbol, name and decimals by mint: dictGet(''{{.Database}}.token_names'', ''symbol'', mint)';

CREATE OR REPLACE VIEW {{.Database}}.logos {{onCluster}}
(
    mint             String                    COMMENT 'Mint, base58',
    slot             UInt64                    COMMENT 'Slot at which the URL was known to be the token''s',
    check_number     UInt64                    COMMENT 'Number of the check of this mint''s logo, from 1',
    url              String                    COMMENT 'URL that was fetched',
    status           LowCardinality(String)    COMMENT 'ok or broken',
    content_hash     String                    COMMENT 'SHA-256 of the bytes that were last found good under this URL, hexadecimal; empty: never good',
    content_type     LowCardinality(String)    COMMENT 'Type of those bytes by their content',
    size             UInt64                    COMMENT 'Their length in bytes',
    width            UInt32                    COMMENT 'Pixels; 0 where an SVG does not say',
    height           UInt32                    COMMENT 'Pixels; 0 where an SVG does not say',
    perceptual_hash  Nullable(UInt64)          COMMENT 'Difference hash of the picture: bitCount(bitXor(a, b)) <= 4 means that two look alike; null for SVG and pictures of one colour',
    animated         Bool                      COMMENT 'More than one frame',
    content_verified Bool                      COMMENT 'The bytes are those of the content identifier in the URL',
    error_class      LowCardinality(String)    COMMENT 'Why the check failed, see docs/logos.md; empty when it did not',
    http_status      UInt16                    COMMENT 'Status of the answer when error_class is http_status, else 0',
    failures         UInt32                    COMMENT 'Checks in a row that failed',
    checked_at       DateTime64(3, 'UTC')      COMMENT 'When',
    next_check_at    Nullable(DateTime64(3, 'UTC')) COMMENT 'When it is looked at again; null: never'
)
AS SELECT mint, slot, check_number, url, status, content_hash, content_type, size, width, height, perceptual_hash, animated, content_verified, error_class,
    http_status, failures, checked_at, next_check_at
FROM {{.Database}}.logo_checks ORDER BY mint, slot DESC, check_number DESC LIMIT 1 BY mint;

CREATE OR REPLACE VIEW {{.Database}}.waiting_minutes {{onCluster}}
(
    minute DateTime('UTC') COMMENT 'Start of the minute of block time'
)
AS SELECT minute FROM {{.Database}}.swap_minutes_raw GROUP BY minute, partition HAVING max(touched) > max(valued)
ORDER BY minute LIMIT 1 BY minute;

ALTER TABLE {{.Database}}.waiting_minutes {{onCluster}} MODIFY COMMENT 'One row a minute with legs that no valuation has seen yet: their usd_value is null until it has';
ALTER TABLE {{.Database}}.tokens {{onCluster}} MODIFY COMMENT 'One row a token of the registry, with the API''s field names';
ALTER TABLE {{.Database}}.token_events {{onCluster}} MODIFY COMMENT 'One row an instruction about a mint';
ALTER TABLE {{.Database}}.token_fact_history {{onCluster}} MODIFY COMMENT 'One row a fact that an instruction or a read stated about a mint';
ALTER TABLE {{.Database}}.slots {{onCluster}} MODIFY COMMENT 'One row a block: a slot and what became of it';
ALTER TABLE {{.Database}}.swaps {{onCluster}} MODIFY COMMENT 'One row a swap leg, a trade on one pool; give a range of slot or block_time';
ALTER TABLE {{.Database}}.routes {{onCluster}} MODIFY COMMENT 'One row an aggregator''s route as its events say; never volume, the legs in swaps are';
ALTER TABLE {{.Database}}.pools {{onCluster}} MODIFY COMMENT 'One row a pool, with the reserves seen last';
ALTER TABLE {{.Database}}.pool_minutes {{onCluster}} MODIFY COMMENT 'One row a pool and minute: amounts traded and reserves at the end of it, which prices are made of';
ALTER TABLE {{.Database}}.prices_1m {{onCluster}} MODIFY COMMENT 'One row a mint and minute in which it traded: its price in US dollars';
ALTER TABLE {{.Database}}.volume_1m {{onCluster}} MODIFY COMMENT 'One row a mint and minute: what was traded of it';
ALTER TABLE {{.Database}}.volume_1h {{onCluster}} MODIFY COMMENT 'One row a mint and hour: what was traded of it';
ALTER TABLE {{.Database}}.volume_1d {{onCluster}} MODIFY COMMENT 'One row a mint and day: what was traded of it';
ALTER TABLE {{.Database}}.pool_volume_1m {{onCluster}} MODIFY COMMENT 'One row a pool and minute: what it traded';
ALTER TABLE {{.Database}}.pool_volume_1h {{onCluster}} MODIFY COMMENT 'One row a pool and hour: what it traded';
ALTER TABLE {{.Database}}.pool_volume_1d {{onCluster}} MODIFY COMMENT 'One row a pool and day: what it traded';
ALTER TABLE {{.Database}}.daily_volumes {{onCluster}} MODIFY COMMENT 'One row a mint: its last 24 hours of block time';
ALTER TABLE {{.Database}}.logo_checks {{onCluster}} MODIFY COMMENT 'One row a check of a token''s logo';
ALTER TABLE {{.Database}}.logos {{onCluster}} MODIFY COMMENT 'One row a mint: the last check of its logo';
ALTER TABLE {{.Database}}.copied_logos {{onCluster}} MODIFY COMMENT 'One row a picture that several mints show, and the mint that showed it first';
ALTER TABLE {{.Database}}.off_chain_documents {{onCluster}} MODIFY COMMENT 'One row an off-chain document as it came';
