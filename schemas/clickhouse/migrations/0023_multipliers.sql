-- What shown amounts of a mint with scaled amounts (Token-2022) are multiplied by, out of the facts that rows have.
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
    tags                    Array(String)             COMMENT 'Tags of token lists and of the off-chain metadata; verified, strict and lst are of lists only',
    launchpad               LowCardinality(Nullable(String)) COMMENT 'Launchpad that created it: pump, raydium_launchlab, meteora_dbc; null when that was not seen',
    creator                 Nullable(String)          COMMENT 'Whom the launchpad''s instruction names as the creator, base58',
    graduated_at            Nullable(DateTime64(3, 'UTC')) COMMENT 'Block time at which the launchpad moved its trading to a pool; null when that was not seen',
    ui_multiplier           Nullable(Float64)         COMMENT 'Token-2022 scaled amounts: what wallets multiply shown amounts by until next_ui_multiplier_at. Prices, supply and amounts are of raw amounts',
    next_ui_multiplier      Nullable(Float64)         COMMENT 'The multiplier from next_ui_multiplier_at on; null when none was announced',
    next_ui_multiplier_at   Nullable(DateTime64(3, 'UTC')) COMMENT 'From when next_ui_multiplier holds; may have passed'
)
AS SELECT t.mint AS mint, symbol, name, decimals, logo_url, logo_status, is_token22, toFloat64(d.volume_usd) AS daily_volume_usd, first_seen_at,
    if(toUnixTimestamp(l.last_trade_at) = 0 OR isNull(t.first_seen_at), t.last_seen_at, greatest(ifNull(t.last_seen_at, toDateTime64(0, 3, 'UTC')), toDateTime64(l.last_trade_at, 3, 'UTC'))) AS last_seen_at,
    supply, mint_authority, freeze_authority, metaplex_uri, update_authority, seller_fee_basis_points, token_standard, description, external_url,
    extensions, tags, launchpad, creator, graduated_at,
    nullIf(if(multiplier_after > 0 AND (ifNull(multiplier_from <= 0, false) OR multiplier_now = multiplier_after), multiplier_after, multiplier_now), 0) AS ui_multiplier,
    if(multiplier_comes, multiplier_after, NULL) AS next_ui_multiplier,
    if(multiplier_comes, fromUnixTimestamp64Milli(assumeNotNull(multiplier_from) * 1000, 'UTC'), NULL) AS next_ui_multiplier_at
FROM
(
    -- registry.MultipliersOf. Numbers of JSON are read exactly, texts by toFloat64 nearly.
    SELECT *,
        greatest(JSONExtractFloat(arrayFirst(f -> f.1 = 18 AND f.2 = 'scaled_ui_amount.multiplier', facts).4), 0) AS multiplier_now,
        greatest(JSONExtractFloat(arrayFirst(f -> f.1 = 18 AND f.2 = 'scaled_ui_amount.new_multiplier', facts).4), 0) AS multiplier_after,
        toInt64OrNull(arrayFirst(f -> f.1 = 18 AND f.2 = 'scaled_ui_amount.new_multiplier_effective_timestamp', facts).4) AS multiplier_from,
        multiplier_after > 0 AND multiplier_now != multiplier_after AND ifNull(multiplier_from > 0 AND multiplier_from <= 10413791999, false) AS multiplier_comes
    FROM {{.Database}}.tokens_raw FINAL
    WHERE is_member
) AS t
LEFT JOIN (SELECT mint, volume_usd FROM {{.Database}}.daily_volumes) AS d ON t.mint = d.mint
LEFT JOIN (SELECT mint, max(last_trade_at) AS last_trade_at FROM {{.Database}}.last_trades_raw GROUP BY mint) AS l ON t.mint = l.mint;

ALTER TABLE {{.Database}}.tokens {{onCluster}} MODIFY COMMENT 'One row a token of the registry, with the API''s field names';
