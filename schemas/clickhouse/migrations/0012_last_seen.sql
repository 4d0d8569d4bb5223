-- last_seen_at is null where first_seen_at is: a trade alone does not say when a mint was first seen.
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
    last_seen_at            Nullable(DateTime64(3, 'UTC')) COMMENT 'Block time of the latest event known, trades included; null where first_seen_at is',
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
    if(toUnixTimestamp(l.last_trade_at) = 0 OR isNull(t.first_seen_at), t.last_seen_at, greatest(ifNull(t.last_seen_at, toDateTime64(0, 3, 'UTC')), toDateTime64(l.last_trade_at, 3, 'UTC'))) AS last_seen_at,
    supply, mint_authority, freeze_authority, metaplex_uri, update_authority, seller_fee_basis_points, token_standard, description, external_url,
    extensions, tags
FROM (SELECT * FROM {{.Database}}.tokens_raw FINAL WHERE is_member) AS t
LEFT JOIN (SELECT mint, volume_usd FROM {{.Database}}.daily_volumes) AS d ON t.mint = d.mint
LEFT JOIN (SELECT mint, max(last_trade_at) AS last_trade_at FROM {{.Database}}.last_trades_raw GROUP BY mint) AS l ON t.mint = l.mint;

ALTER TABLE {{.Database}}.tokens {{onCluster}} MODIFY COMMENT 'One row a token of the registry, with the API''s field names';
