-- Where a token was launched, by whom, and when its trading moved to a pool: new registers of the fold.
ALTER TABLE {{.Database}}.tokens_raw {{onCluster}} ADD COLUMN IF NOT EXISTS launchpad LowCardinality(Nullable(String)) COMMENT 'Launchpad that created it: pump, raydium_launchlab, meteora_dbc; null when that was not seen';
ALTER TABLE {{.Database}}.tokens_raw {{onCluster}} ADD COLUMN IF NOT EXISTS creator Nullable(String) COMMENT 'Whom the launchpad''s instruction names as the creator, base58' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.tokens_raw {{onCluster}} ADD COLUMN IF NOT EXISTS graduated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Block time at which the launchpad moved its trading to a pool; null when that was not seen' CODEC(ZSTD(1));

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
    graduated_at            Nullable(DateTime64(3, 'UTC')) COMMENT 'Block time at which the launchpad moved its trading to a pool; null when that was not seen'
)
AS SELECT t.mint AS mint, symbol, name, decimals, logo_url, logo_status, is_token22, toFloat64(d.volume_usd) AS daily_volume_usd, first_seen_at,
    if(toUnixTimestamp(l.last_trade_at) = 0 OR isNull(t.first_seen_at), t.last_seen_at, greatest(ifNull(t.last_seen_at, toDateTime64(0, 3, 'UTC')), toDateTime64(l.last_trade_at, 3, 'UTC'))) AS last_seen_at,
    supply, mint_authority, freeze_authority, metaplex_uri, update_authority, seller_fee_basis_points, token_standard, description, external_url,
    extensions, tags, launchpad, creator, graduated_at
FROM (SELECT * FROM {{.Database}}.tokens_raw FINAL WHERE is_member) AS t
LEFT JOIN (SELECT mint, volume_usd FROM {{.Database}}.daily_volumes) AS d ON t.mint = d.mint
LEFT JOIN (SELECT mint, max(last_trade_at) AS last_trade_at FROM {{.Database}}.last_trades_raw GROUP BY mint) AS l ON t.mint = l.mint;

ALTER TABLE {{.Database}}.tokens {{onCluster}} MODIFY COMMENT 'One row a token of the registry, with the API''s field names';

CREATE OR REPLACE VIEW {{.Database}}.token_fact_history {{onCluster}}
(
    mint                    String                    COMMENT 'Mint, base58',
    slot                    UInt64                    COMMENT 'Slot of the instruction or of the read',
    position                UInt128                   COMMENT 'The place on the chain as one number: orders all facts',
    block_time              Nullable(DateTime('UTC')) COMMENT 'Time of the block; null when no source said, and for reads',
    source                  String                    COMMENT 'instruction, sighting, account_read, off_chain, logo, token_list or import',
    kind                    LowCardinality(String)    COMMENT 'What it was: a kind of token_events, sighting, mint_account, metaplex_account, off_chain, logo, token_list or import',
    instruction             String                    COMMENT 'The instruction''s published name; empty for what is no instruction',
    signature               String                    COMMENT 'First signature of the transaction, base58; empty for what is no instruction',
    transaction_index       Int32                     COMMENT 'Place in the block, from 0; -1 when no source said',
    instruction_index       Int32                     COMMENT 'Outer instruction, from 0; -1 for what is no instruction',
    inner_instruction_index Int32                     COMMENT 'Place in the outer instruction''s flat inner list, from 0; -1 for the outer one itself',
    batch_index             Int32                     COMMENT 'Place in a p-token Batch, from 0; -1 outside of one',
    register                UInt8                     COMMENT 'What the fact is about: the numbers of registry.Register',
    register_name           String                    COMMENT 'The register by name',
    item                    String                    COMMENT 'Tells several values of one register apart; empty for most',
    value                   String                    COMMENT 'The value stated. Of all facts of one register and item the one with the highest (position, value) holds, for first_seen the one with the lowest position'
)
AS SELECT mint, slot, position, block_time, source, kind, instruction, signature, transaction_index,
    if(source = 'instruction', toInt32(bitAnd(bitShiftRight(place, 28), 4095)), -1) AS instruction_index,
    if(source = 'instruction', toInt32(bitAnd(bitShiftRight(place, 14), 16383)) - 1, -1) AS inner_instruction_index,
    if(source = 'instruction', toInt32(bitAnd(place, 16383)) - 1, -1) AS batch_index,
    fact.1 AS register,
    transform(fact.1, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29],
        ['program', 'decimals', 'supply', 'supply_delta', 'mint_authority', 'freeze_authority', 'metaplex_name', 'metaplex_symbol', 'metaplex_uri',
         'metaplex_update_authority', 'seller_fee_basis_points', 'token_standard', 'token22_name', 'token22_symbol', 'token22_uri',
         'token22_update_authority', 'metadata_pointer', 'extension', 'off_chain', 'logo', 'first_seen', 'last_seen', 'closed', 'token_list',
         'token22_field', 'logo_override', 'launchpad', 'creator', 'graduated'],
        toString(fact.1)) AS register_name,
    fact.2 AS item, fact.3 AS value
FROM {{.Database}}.token_fact_history_raw FINAL
ARRAY JOIN arraySort(facts) AS fact;

ALTER TABLE {{.Database}}.token_fact_history {{onCluster}} MODIFY COMMENT 'One row a fact that an instruction or a read stated about a mint';
