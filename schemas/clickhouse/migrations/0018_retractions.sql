-- Facts that are taken back: a new register of the fold. What is taken back lowers the sum of positions that decided between copies of a row.
ALTER TABLE {{.Database}}.tokens_raw {{onCluster}} MODIFY COLUMN row_version UInt256 COMMENT 'Sum of the facts'' positions, and above its 200 bits how many ranges of slots were taken back: decides between copies' CODEC(ZSTD(1));

CREATE OR REPLACE VIEW {{.Database}}.token_fact_history {{onCluster}}
(
    mint                    String                    COMMENT 'Mint, base58',
    slot                    UInt64                    COMMENT 'Slot of the instruction or of the read',
    position                UInt128                   COMMENT 'The place on the chain as one number: orders all facts',
    block_time              Nullable(DateTime('UTC')) COMMENT 'Time of the block; null when no source said, and for reads',
    source                  String                    COMMENT 'instruction, sighting, account_read, off_chain, logo, token_list, retraction or import',
    kind                    LowCardinality(String)    COMMENT 'What it was: a kind of token_events, sighting, mint_account, metaplex_account, off_chain, logo, token_list, retraction or import',
    instruction             String                    COMMENT 'The instruction''s published name; empty for what is no instruction',
    signature               String                    COMMENT 'First signature of the transaction, base58; empty for what is no instruction',
    transaction_index       Int32                     COMMENT 'Place in the block, from 0; -1 when no source said',
    instruction_index       Int32                     COMMENT 'Outer instruction, from 0; -1 for what is no instruction',
    inner_instruction_index Int32                     COMMENT 'Place in the outer instruction''s flat inner list, from 0; -1 for the outer one itself',
    batch_index             Int32                     COMMENT 'Place in a p-token Batch, from 0; -1 outside of one',
    register                UInt8                     COMMENT 'What the fact is about: the numbers of registry.Register',
    register_name           String                    COMMENT 'The register by name',
    item                    String                    COMMENT 'Tells several values of one register apart; empty for most',
    value                   String                    COMMENT 'The value stated. Of all facts of one register and item the one with the highest (position, value) holds, for first_seen the one with the lowest position; those that a retraction covers do not count'
)
AS SELECT mint, slot, position, block_time, source, kind, instruction, signature, transaction_index,
    if(source = 'instruction', toInt32(bitAnd(bitShiftRight(place, 28), 4095)), -1) AS instruction_index,
    if(source = 'instruction', toInt32(bitAnd(bitShiftRight(place, 14), 16383)) - 1, -1) AS inner_instruction_index,
    if(source = 'instruction', toInt32(bitAnd(place, 16383)) - 1, -1) AS batch_index,
    fact.1 AS register,
    transform(fact.1, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30],
        ['program', 'decimals', 'supply', 'supply_delta', 'mint_authority', 'freeze_authority', 'metaplex_name', 'metaplex_symbol', 'metaplex_uri',
         'metaplex_update_authority', 'seller_fee_basis_points', 'token_standard', 'token22_name', 'token22_symbol', 'token22_uri',
         'token22_update_authority', 'metadata_pointer', 'extension', 'off_chain', 'logo', 'first_seen', 'last_seen', 'closed', 'token_list',
         'token22_field', 'logo_override', 'launchpad', 'creator', 'graduated', 'retraction'],
        toString(fact.1)) AS register_name,
    fact.2 AS item, fact.3 AS value
FROM {{.Database}}.token_fact_history_raw FINAL
ARRAY JOIN arraySort(facts) AS fact;

ALTER TABLE {{.Database}}.token_fact_history {{onCluster}} MODIFY COMMENT 'One row a fact that an instruction or a read stated about a mint';
