-- Every fact that an instruction of a successful transaction states about a mint. Append-only; a repeated event falls together
-- with its first copy by the sorting key. transaction_index + 1 is the version: a source that knows the index beats one that
-- does not.
CREATE TABLE IF NOT EXISTS {{.Database}}.token_events_raw {{onCluster}}
(
    slot                    UInt64                             COMMENT 'Slot of the block' CODEC(Delta, ZSTD(1)),
    block_time              Nullable(DateTime('UTC'))          COMMENT 'Time of the block; null when the source does not say' CODEC(ZSTD(1)),
    transaction_index       Int32                              COMMENT 'Place in the block counting every transaction, from 0; -1 when the source does not say' CODEC(ZSTD(1)),
    instruction_index       UInt16                             COMMENT 'Outer instruction, from 0' CODEC(ZSTD(1)),
    inner_instruction_index Int16                              COMMENT 'Place in the outer instruction''s flat inner list, from 0; -1 for the outer one itself' CODEC(ZSTD(1)),
    batch_index             Int16                              COMMENT 'Place in a p-token Batch, from 0; -1 outside of one' CODEC(ZSTD(1)),
    position                UInt128                            COMMENT 'The place on the chain as one number: orders all events' CODEC(ZSTD(1)),
    signature               String                             COMMENT 'First signature of the transaction, base58' CODEC(ZSTD(1)),
    program_id              LowCardinality(String)             COMMENT 'Program whose instruction it is, base58',
    kind                    LowCardinality(String)             COMMENT 'What it did: initialize_mint, mint_to, burn, set_authority, metadata_set, extension_set …',
    instruction             LowCardinality(String)             COMMENT 'The instruction''s published name, e.g. MintToChecked',
    mint                    String                             COMMENT 'Mint, base58; empty where the instruction names none' CODEC(ZSTD(1)),
    decimals                Nullable(UInt8)                    COMMENT 'Decimals, where the instruction states them' CODEC(ZSTD(1)),
    amount                  Nullable(UInt64)                   COMMENT 'Raw amount of mint_to and burn' CODEC(ZSTD(1)),
    token_account           String                             COMMENT 'Token account credited, debited, frozen or thawed, base58; empty when none' CODEC(ZSTD(1)),
    authority               String                             COMMENT 'Authority, owner or delegate that acted, base58; empty when the instruction names none' CODEC(ZSTD(1)),
    mint_authority          Nullable(String)                   COMMENT 'initialize_mint: the mint authority, empty = none' CODEC(ZSTD(1)),
    freeze_authority        Nullable(String)                   COMMENT 'initialize_mint: the freeze authority, empty = none' CODEC(ZSTD(1)),
    authority_type          LowCardinality(String)             COMMENT 'set_authority: mint_tokens, freeze_account, close_mint …',
    new_authority           Nullable(String)                   COMMENT 'set_authority: the new authority, empty = none, for ever' CODEC(ZSTD(1)),
    name                    Nullable(String)                   COMMENT 'metadata_set: name as in the instruction, padding included' CODEC(ZSTD(1)),
    symbol                  Nullable(String)                   COMMENT 'metadata_set: symbol as in the instruction' CODEC(ZSTD(1)),
    uri                     Nullable(String)                   COMMENT 'metadata_set: off-chain metadata URI as in the instruction' CODEC(ZSTD(1)),
    update_authority        Nullable(String)                   COMMENT 'metadata_set: update authority that is set, empty = none' CODEC(ZSTD(1)),
    seller_fee_basis_points Nullable(UInt16)                   COMMENT 'metadata_set: seller fee' CODEC(ZSTD(1)),
    token_standard          Nullable(UInt8)                    COMMENT 'metadata_set: Metaplex TokenStandard' CODEC(ZSTD(1)),
    extension               LowCardinality(String)             COMMENT 'extension_set: Token-2022 extension, snake case',
    details                 Map(LowCardinality(String), String) COMMENT 'Everything else the instruction states, by name' CODEC(ZSTD(1)),
    version                 UInt32                             COMMENT 'transaction_index + 1: decides between copies' CODEC(ZSTD(1)),
    INDEX slot_index slot TYPE minmax GRANULARITY 1,
    INDEX signature_index signature TYPE bloom_filter(0.01) GRANULARITY 4
)
ENGINE = {{engine "ReplacingMergeTree" "version"}}
PARTITION BY intDiv(slot, 10000000)
ORDER BY (mint, slot, signature, instruction_index, inner_instruction_index, batch_index, kind)
COMMENT 'Token events as delivered, copies included until merges remove them: read token_events';

CREATE OR REPLACE VIEW {{.Database}}.token_events {{onCluster}}
(
    slot                    UInt64                             COMMENT 'Slot of the block',
    block_time              Nullable(DateTime('UTC'))          COMMENT 'Time of the block; null when the source does not say',
    transaction_index       Int32                              COMMENT 'Place in the block counting every transaction, from 0; -1 when the source does not say',
    instruction_index       UInt16                             COMMENT 'Outer instruction, from 0',
    inner_instruction_index Int16                              COMMENT 'Place in the outer instruction''s flat inner list, from 0; -1 for the outer one itself',
    batch_index             Int16                              COMMENT 'Place in a p-token Batch, from 0; -1 outside of one',
    signature               String                             COMMENT 'First signature of the transaction, base58',
    program_id              LowCardinality(String)             COMMENT 'Program whose instruction it is, base58',
    kind                    LowCardinality(String)             COMMENT 'What it did: initialize_mint, mint_to, burn, set_authority, metadata_set, extension_set …',
    mint                    String                             COMMENT 'Mint, base58; empty where the instruction names none',
    instruction             LowCardinality(String)             COMMENT 'The instruction''s published name, e.g. MintToChecked',
    decimals                Nullable(UInt8)                    COMMENT 'Decimals, where the instruction states them',
    amount                  Nullable(UInt64)                   COMMENT 'Raw amount of mint_to and burn',
    token_account           String                             COMMENT 'Token account credited, debited, frozen or thawed, base58; empty when none',
    authority               String                             COMMENT 'Authority, owner or delegate that acted, base58; empty when the instruction names none',
    mint_authority          Nullable(String)                   COMMENT 'initialize_mint: the mint authority, empty = none',
    freeze_authority        Nullable(String)                   COMMENT 'initialize_mint: the freeze authority, empty = none',
    authority_type          LowCardinality(String)             COMMENT 'set_authority: mint_tokens, freeze_account, close_mint …',
    new_authority           Nullable(String)                   COMMENT 'set_authority: the new authority, empty = none, for ever',
    name                    Nullable(String)                   COMMENT 'metadata_set: name as in the instruction, padding included',
    symbol                  Nullable(String)                   COMMENT 'metadata_set: symbol as in the instruction',
    uri                     Nullable(String)                   COMMENT 'metadata_set: off-chain metadata URI as in the instruction',
    update_authority        Nullable(String)                   COMMENT 'metadata_set: update authority that is set, empty = none',
    seller_fee_basis_points Nullable(UInt16)                   COMMENT 'metadata_set: seller fee',
    token_standard          Nullable(UInt8)                    COMMENT 'metadata_set: Metaplex TokenStandard',
    extension               LowCardinality(String)             COMMENT 'extension_set: Token-2022 extension, snake case',
    details                 Map(LowCardinality(String), String) COMMENT 'Everything else the instruction states, by name',
    position                UInt128                            COMMENT 'The place on the chain as one number: orders all events'
)
AS SELECT slot, block_time, transaction_index, instruction_index, inner_instruction_index, batch_index, signature, program_id, kind, mint,
    instruction, decimals, amount, token_account, authority, mint_authority, freeze_authority, authority_type, new_authority, name, symbol,
    uri, update_authority, seller_fee_basis_points, token_standard, extension, details, position
FROM {{.Database}}.token_events_raw FINAL;
