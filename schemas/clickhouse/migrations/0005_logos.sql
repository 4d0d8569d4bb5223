-- What every check of a token's logo found. Which check it is stands in the key, so a repeated record changes nothing.
CREATE TABLE IF NOT EXISTS {{.Database}}.logo_checks_raw {{onCluster}}
(
    mint             String                    COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    slot             UInt64                    COMMENT 'Slot at which the URL was known to be the token''s' CODEC(ZSTD(1)),
    check_number     UInt64                    COMMENT 'Number of the check of this mint''s logo, from 1' CODEC(ZSTD(1)),
    url              String                    COMMENT 'URL that was fetched' CODEC(ZSTD(1)),
    status           LowCardinality(String)    COMMENT 'ok or broken',
    content_hash     String                    COMMENT 'SHA-256 of the bytes that were last found good under this URL, hexadecimal, also while it is broken; empty: never good' CODEC(ZSTD(1)),
    content_type     LowCardinality(String)    COMMENT 'Type of those bytes by their content',
    size             UInt64                    COMMENT 'Their length in bytes' CODEC(ZSTD(1)),
    width            UInt32                    COMMENT 'Pixels; 0 where an SVG does not say' CODEC(ZSTD(1)),
    height           UInt32                    COMMENT 'Pixels; 0 where an SVG does not say' CODEC(ZSTD(1)),
    perceptual_hash  Nullable(UInt64)          COMMENT 'Difference hash of the picture: bitCount(bitXor(a, b)) <= 4 means that two look alike; null for SVG and pictures of one colour' CODEC(ZSTD(1)),
    animated         Bool                      COMMENT 'More than one frame',
    content_verified Bool                      COMMENT 'The bytes were compared with the content identifier in the URL, and are its own',
    error_class      LowCardinality(String)    COMMENT 'Why the check failed, see docs/logos.md; empty when it did not',
    http_status      UInt16                    COMMENT 'Status of the answer when error_class is http_status, else 0',
    failures         UInt32                    COMMENT 'Checks in a row that failed',
    checked_at       DateTime64(3, 'UTC')      COMMENT 'When' CODEC(Delta, ZSTD(1)),
    next_check_at    Nullable(DateTime64(3, 'UTC')) COMMENT 'When it is looked at again; null: never' CODEC(ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree"}}
ORDER BY (mint, slot, check_number)
SETTINGS index_granularity = 1024
COMMENT 'Checks of logos as delivered: read logo_checks, or logos for the last one of each mint';

CREATE OR REPLACE VIEW {{.Database}}.logo_checks {{onCluster}}
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
    perceptual_hash  Nullable(UInt64)          COMMENT 'Difference hash of the picture: bitCount(bitXor(a, b)) <= 4 means that two look alike',
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
FROM {{.Database}}.logo_checks_raw FINAL;

CREATE OR REPLACE VIEW {{.Database}}.logos {{onCluster}}
AS SELECT * FROM {{.Database}}.logo_checks ORDER BY mint, slot DESC, check_number DESC LIMIT 1 BY mint;

-- Pictures that several mints show, with the mint that showed it first: the others may be impersonations.
CREATE OR REPLACE VIEW {{.Database}}.copied_logos {{onCluster}}
(
    picture UInt64        COMMENT 'Difference hash of the picture; for SVG the beginning of the content''s hash',
    mints   UInt64        COMMENT 'How many mints show it',
    first   String        COMMENT 'The mint whose logo it was at the lowest slot',
    others  Array(String) COMMENT 'The others, by slot, at most 1,000'
)
AS SELECT picture, count() AS mints, argMin(mint, (slot, mint)) AS first,
    arraySlice(arrayMap(m -> m.2, arraySort(groupArray((slot, mint)))), 2, 1000) AS others
FROM
(
    SELECT mint, slot, ifNull(perceptual_hash, if(content_type = 'image/svg+xml', reinterpretAsUInt64(unhex(substring(content_hash, 1, 16))), 0)) AS picture
    FROM {{.Database}}.logos WHERE content_hash != ''
)
WHERE picture != 0
GROUP BY picture
HAVING mints > 1;

-- Off-chain documents as they came.
CREATE TABLE IF NOT EXISTS {{.Database}}.off_chain_documents_raw {{onCluster}}
(
    mint             String COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    slot             UInt64 COMMENT 'Slot at which the URI was known to be the token''s' CODEC(ZSTD(1)),
    uri              String COMMENT 'URI that was fetched' CODEC(ZSTD(1)),
    document         String COMMENT 'The document in UTF-8, cut to 16 KiB' CODEC(ZSTD(3)),
    document_size    UInt64 COMMENT 'Length of the whole document in bytes' CODEC(ZSTD(1)),
    content_verified Bool   COMMENT 'The bytes were compared with the content identifier in the URI, and are its own'
)
ENGINE = {{engine "ReplacingMergeTree"}}
ORDER BY (mint, slot, uri)
SETTINGS index_granularity = 1024
COMMENT 'Off-chain documents as delivered: read off_chain_documents';

CREATE OR REPLACE VIEW {{.Database}}.off_chain_documents {{onCluster}}
(
    mint             String COMMENT 'Mint, base58',
    slot             UInt64 COMMENT 'Slot at which the URI was known to be the token''s',
    uri              String COMMENT 'URI that was fetched',
    document         String COMMENT 'The document in UTF-8, cut to 16 KiB: read it with JSONExtractString(document, ''…'')',
    document_size    UInt64 COMMENT 'Length of the whole document in bytes',
    content_verified Bool   COMMENT 'The bytes are those of the content identifier in the URI'
)
AS SELECT mint, slot, uri, document, document_size, content_verified FROM {{.Database}}.off_chain_documents_raw FINAL;
