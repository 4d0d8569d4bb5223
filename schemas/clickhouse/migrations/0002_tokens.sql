-- The facts that hold: one row a mint, register and item. The fold of the registry is max over (position, value).
CREATE TABLE IF NOT EXISTS {{.Database}}.token_facts_raw {{onCluster}}
(
    mint     String                                                             COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    register UInt8                                                              COMMENT 'What the fact is about: the numbers of registry.Register' CODEC(ZSTD(1)),
    item     String                                                             COMMENT 'Tells several values of one register apart; empty for most' CODEC(ZSTD(1)),
    fact     SimpleAggregateFunction(max, Tuple(position UInt128, value String)) COMMENT 'The value at its position on the chain; the highest holds' CODEC(ZSTD(1))
)
ENGINE = {{engine "AggregatingMergeTree"}}
ORDER BY (mint, register, item)
SETTINGS index_granularity = 1024
COMMENT 'Last facts per mint, the registry''s state: tokens is made from it';

-- The folded read model. row_version is the sum of the positions of the facts behind a row: facts only ever grow, so a row made of
-- more of them has the higher version, on any node and in any order.
CREATE TABLE IF NOT EXISTS {{.Database}}.tokens_raw {{onCluster}}
(
    mint                    String                    COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    symbol                  String                    COMMENT 'Symbol; on-chain metadata first, off-chain fills what is empty' CODEC(ZSTD(1)),
    name                    String                    COMMENT 'Name; as symbol' CODEC(ZSTD(1)),
    decimals                UInt8                     COMMENT 'Decimal places of the raw amount',
    logo_url                Nullable(String)          COMMENT 'Logo of the off-chain metadata' CODEC(ZSTD(1)),
    logo_status             LowCardinality(String)    COMMENT 'ok, unchecked, broken or missing',
    is_token22              Bool                      COMMENT 'Belongs to the Token-2022 program',
    daily_volume_usd        Nullable(Float64)         COMMENT 'USD value of the swap legs of the last 24 hours of block time; null when none could be priced' CODEC(ZSTD(1)),
    first_seen_at           Nullable(DateTime64(3, 'UTC')) COMMENT 'Block time of the earliest event known' CODEC(ZSTD(1)),
    last_seen_at            Nullable(DateTime64(3, 'UTC')) COMMENT 'Block time of the latest event known' CODEC(ZSTD(1)),
    supply                  Nullable(UInt64)          COMMENT 'Raw supply; null when unknown and for wrapped SOL' CODEC(ZSTD(1)),
    mint_authority          Nullable(String)          COMMENT 'Who may mint, base58; null when nobody or unknown' CODEC(ZSTD(1)),
    freeze_authority        Nullable(String)          COMMENT 'Who may freeze, base58; null when nobody or unknown' CODEC(ZSTD(1)),
    metaplex_uri            Nullable(String)          COMMENT 'Off-chain metadata URI' CODEC(ZSTD(1)),
    update_authority        Nullable(String)          COMMENT 'Who may change the metadata, base58' CODEC(ZSTD(1)),
    seller_fee_basis_points Nullable(UInt16)          COMMENT 'Seller fee of the metadata',
    token_standard          Nullable(UInt8)           COMMENT 'Metaplex TokenStandard',
    description             Nullable(String)          COMMENT 'Description of the off-chain metadata' CODEC(ZSTD(1)),
    external_url            Nullable(String)          COMMENT 'Link of the off-chain metadata' CODEC(ZSTD(1)),
    extensions              Map(String, String)       COMMENT 'Links of the off-chain metadata: website, twitter, telegram …' CODEC(ZSTD(1)),
    tags                    Array(String)             COMMENT 'Tags of the off-chain metadata' CODEC(ZSTD(1)),
    is_member               Bool                      COMMENT 'Is in the registry: decimals known, not closed, not known to be non-fungible',
    facts                   Array(Tuple(register UInt8, item String, position UInt128, value String)) COMMENT 'The facts behind the row: what the API loads' CODEC(ZSTD(1)),
    row_version             UInt256                   COMMENT 'Sum of the facts'' positions: decides between copies' CODEC(ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "row_version"}}
ORDER BY mint
SETTINGS index_granularity = 128
COMMENT 'Rows of the registry as folded, older ones included until merges remove them: read tokens';

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
AS SELECT mint, symbol, name, decimals, logo_url, logo_status, is_token22, daily_volume_usd, first_seen_at, last_seen_at, supply, mint_authority,
    freeze_authority, metaplex_uri, update_authority, seller_fee_basis_points, token_standard, description, external_url, extensions, tags
FROM {{.Database}}.tokens_raw FINAL
WHERE is_member;
