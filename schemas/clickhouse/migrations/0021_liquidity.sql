-- What was put into pools and taken out of them for a share of them: never a swap.
CREATE TABLE IF NOT EXISTS {{.Database}}.liquidity_raw {{onCluster}}
(
    pool                    String                 COMMENT 'Pool account, base58' CODEC(ZSTD(1)),
    slot                    UInt64                 COMMENT 'Slot of the block' CODEC(Delta, ZSTD(1)),
    block_time              DateTime('UTC')        COMMENT 'Time of the block; 1970-01-01 when the source does not say' CODEC(Delta, ZSTD(1)),
    transaction_index       Int32                  COMMENT 'Place in the block counting every transaction, from 0; -1 when the source does not say' CODEC(ZSTD(1)),
    instruction_index       UInt16                 COMMENT 'Outer instruction, from 0' CODEC(ZSTD(1)),
    inner_instruction_index Int16                  COMMENT 'Place in the outer instruction''s flat inner list, from 0; -1 for the outer one itself' CODEC(ZSTD(1)),
    batch_index             Int16                  COMMENT 'Tells the two changes of one instruction apart: 0 added, 1 removed; -1 when it makes one' CODEC(ZSTD(1)),
    signature               String                 COMMENT 'First signature of the transaction, base58' CODEC(ZSTD(1)),
    position                UInt128                COMMENT 'The place on the chain as one number: orders all events' CODEC(ZSTD(1)),
    venue                   LowCardinality(String) COMMENT 'raydium_amm_v4, orca_whirlpool …: docs/swaps.md has the list' CODEC(ZSTD(1)),
    program_id              LowCardinality(String) COMMENT 'Program of the venue, base58' CODEC(ZSTD(1)),
    added                   Bool                   COMMENT 'Tokens came into the pool; else they left it' CODEC(ZSTD(1)),
    mint_a                  String                 COMMENT 'The mint that sorts first as text, base58' CODEC(ZSTD(1)),
    mint_b                  String                 COMMENT 'The other mint, base58; empty when the instruction names one side of the pool only' CODEC(ZSTD(1)),
    amount_a                UInt64                 COMMENT 'Raw amount of mint_a that the vault received, net of a Token-2022 fee, or that left it' CODEC(ZSTD(1)),
    amount_b                UInt64                 COMMENT 'The same of mint_b' CODEC(ZSTD(1)),
    decimals_a              Nullable(UInt8)        COMMENT 'Decimal places of mint_a, where the transaction says' CODEC(ZSTD(1)),
    decimals_b              Nullable(UInt8)        COMMENT 'Decimal places of mint_b, where the transaction says' CODEC(ZSTD(1)),
    fees_a                  Nullable(UInt64)       COMMENT 'Swap fees of the position in amount_a, as the program''s event says; null when no event told them' CODEC(ZSTD(1)),
    fees_b                  Nullable(UInt64)       COMMENT 'The same in amount_b' CODEC(ZSTD(1)),
    provider                String                 COMMENT 'Wallet that provides the liquidity, base58' CODEC(ZSTD(1)),
    lp_mint                 String                 COMMENT 'Mint of the pool''s liquidity tokens, base58; empty when it has none' CODEC(ZSTD(1)),
    lp_amount               Nullable(UInt64)       COMMENT 'Liquidity tokens minted or burned, raw; null when unknown' CODEC(ZSTD(1)),
    reserve_a               Nullable(UInt64)       COMMENT 'Raw balance of the vault of mint_a after it; null when unknown or shared with other pools' CODEC(ZSTD(1)),
    reserve_b               Nullable(UInt64)       COMMENT 'The same of mint_b' CODEC(ZSTD(1)),
    agreed                  UInt8                  COMMENT 'Sources that state these amounts: 1 transfers, 2 event, 4 log, 8 balances' CODEC(ZSTD(1)),
    disagreed               UInt8                  COMMENT 'Sources that state others, same bits' CODEC(ZSTD(1)),
    instruction             LowCardinality(String) COMMENT 'The instruction''s published name' CODEC(ZSTD(1)),
    version                 UInt8                  COMMENT '1 when the place of the transaction is known: decides between copies' CODEC(ZSTD(1)),
    INDEX time_index block_time TYPE minmax GRANULARITY 1,
    INDEX mint_a_index mint_a TYPE bloom_filter(0.01) GRANULARITY 2,
    INDEX mint_b_index mint_b TYPE bloom_filter(0.01) GRANULARITY 2,
    INDEX provider_index provider TYPE bloom_filter(0.05) GRANULARITY 8
)
ENGINE = {{engine "ReplacingMergeTree" "version"}}
PARTITION BY intDiv(slot, 10000000)
ORDER BY (pool, slot, signature, instruction_index, inner_instruction_index, batch_index)
COMMENT 'Changes of liquidity as delivered, copies included until merges remove them: read liquidity_changes';

CREATE OR REPLACE VIEW {{.Database}}.liquidity_changes {{onCluster}}
(
    pool                    String                    COMMENT 'Pool account, base58',
    slot                    UInt64                    COMMENT 'Slot of the block',
    block_time              Nullable(DateTime('UTC')) COMMENT 'Time of the block; null when the source does not say',
    transaction_index       Int32                     COMMENT 'Place in the block counting every transaction, from 0; -1 when the source does not say',
    instruction_index       UInt16                    COMMENT 'Outer instruction, from 0',
    inner_instruction_index Int16                     COMMENT 'Place in the outer instruction''s flat inner list, from 0; -1 for the outer one itself',
    batch_index             Int16                     COMMENT 'Tells the two changes of one instruction apart: 0 added, 1 removed; -1 when it makes one',
    signature               String                    COMMENT 'First signature of the transaction, base58',
    position                UInt128                   COMMENT 'The place on the chain as one number: orders all events',
    venue                   LowCardinality(String)    COMMENT 'raydium_amm_v4, orca_whirlpool …: docs/swaps.md has the list',
    program_id              LowCardinality(String)    COMMENT 'Program of the venue, base58',
    added                   Bool                      COMMENT 'Tokens came into the pool; else they left it',
    mint_a                  String                    COMMENT 'The mint that sorts first as text, base58',
    mint_b                  String                    COMMENT 'The other mint, base58; empty when the instruction names one side of the pool only',
    amount_a                UInt64                    COMMENT 'Raw amount of mint_a that the vault received, net of a Token-2022 fee, or that left it',
    amount_b                UInt64                    COMMENT 'The same of mint_b',
    decimals_a              Nullable(UInt8)           COMMENT 'Decimal places of mint_a, where the transaction says',
    decimals_b              Nullable(UInt8)           COMMENT 'Decimal places of mint_b, where the transaction says',
    fees_a                  Nullable(UInt64)          COMMENT 'Swap fees of the position in amount_a, as the program''s event says; null when no event told them',
    fees_b                  Nullable(UInt64)          COMMENT 'The same in amount_b',
    provider                String                    COMMENT 'Wallet that provides the liquidity, base58',
    lp_mint                 String                    COMMENT 'Mint of the pool''s liquidity tokens, base58; empty when it has none',
    lp_amount               Nullable(UInt64)          COMMENT 'Liquidity tokens minted or burned, raw; null when unknown',
    reserve_a               Nullable(UInt64)          COMMENT 'Raw balance of the vault of mint_a after it; null when unknown or shared with other pools',
    reserve_b               Nullable(UInt64)          COMMENT 'The same of mint_b',
    agreed                  UInt8                     COMMENT 'Sources that state these amounts: 1 transfers, 2 event, 4 log, 8 balances',
    disagreed               UInt8                     COMMENT 'Sources that state others, same bits',
    instruction             LowCardinality(String)    COMMENT 'The instruction''s published name'
)
AS SELECT pool, slot, if(toUnixTimestamp(block_time) = 0, NULL, block_time) AS block_time, transaction_index, instruction_index,
    inner_instruction_index, batch_index, signature, position, venue, program_id, added, mint_a, mint_b, amount_a, amount_b, decimals_a,
    decimals_b, fees_a, fees_b, provider, lp_mint, lp_amount, reserve_a, reserve_b, agreed, disagreed, instruction
FROM {{.Database}}.liquidity_raw FINAL;

ALTER TABLE {{.Database}}.liquidity_changes {{onCluster}} MODIFY COMMENT 'One row a change: liquidity added to a pool or removed from it';

ALTER TABLE {{.Database}}.pools_raw {{onCluster}} ADD COLUMN IF NOT EXISTS lp_mint SimpleAggregateFunction(max, String) COMMENT 'Mint of its liquidity tokens, base58; empty when it has none or no record names it' CODEC(ZSTD(1));

CREATE OR REPLACE VIEW {{.Database}}.pools {{onCluster}}
(
    pool          String                    COMMENT 'Pool account, base58',
    venue         String                    COMMENT 'raydium_amm_v4, orca_whirlpool …: docs/swaps.md has the list',
    program_id    String                    COMMENT 'Program of the venue, base58',
    mint_a        String                    COMMENT 'The mint that sorts first as text, base58',
    mint_b        String                    COMMENT 'The other mint, base58',
    vault_a       String                    COMMENT 'Account that holds mint_a, base58; empty when unknown',
    vault_b       String                    COMMENT 'Account that holds mint_b, base58; empty when unknown',
    decimals_a    Nullable(UInt8)           COMMENT 'Decimal places of mint_a',
    decimals_b    Nullable(UInt8)           COMMENT 'Decimal places of mint_b',
    created_at    Nullable(DateTime('UTC')) COMMENT 'Block time of its creation; null when that was not seen',
    creator       String                    COMMENT 'Account that created it, base58; empty when unknown',
    first_seen_at Nullable(DateTime('UTC')) COMMENT 'Block time of the earliest record of it',
    reserve_a     Nullable(UInt64)          COMMENT 'Raw balance of vault_a after the latest leg or change of liquidity that states it',
    reserve_b     Nullable(UInt64)          COMMENT 'Raw balance of vault_b after the latest leg or change of liquidity that states it',
    reserves_at   Nullable(DateTime('UTC')) COMMENT 'Block time of that leg or change',
    lp_mint       String                    COMMENT 'Mint of its liquidity tokens, base58; empty when it has none or no record names it'
)
AS SELECT pool, venue, program_id, mint_a, mint_b, vault_a, vault_b, decimals_a, decimals_b,
    if(toUnixTimestamp(creation.2) = 0, NULL, creation.2) AS created_at, creation.4 AS creator,
    if(toUnixTimestamp(first.2) = 0, NULL, first.2) AS first_seen_at,
    if(last.1 = 0, NULL, last.3) AS reserve_a, if(last.1 = 0, NULL, last.4) AS reserve_b, if(last.1 = 0 OR toUnixTimestamp(last.2) = 0, NULL, last.2) AS reserves_at, lp_mint
FROM {{.Database}}.pools_raw FINAL;

ALTER TABLE {{.Database}}.pools {{onCluster}} MODIFY COMMENT 'One row a pool, with the reserves seen last';
