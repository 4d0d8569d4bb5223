-- Bases of balances: the latest facts of all open accounts, from chain.balance-bases.v1, of which tables are made anew when chain.balances.v1 no longer has these facts.
ALTER TABLE {{.Database}}.balance_mints_raw {{onCluster}} MODIFY COLUMN partition Int32
    COMMENT 'Partition of chain.balances.v1; of chain.balance-bases.v1 if it is below 0: -1 is partition 0, -2 is partition 1' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.balance_mints_raw {{onCluster}} ADD COLUMN IF NOT EXISTS begun SimpleAggregateFunction(min, Tuple(offset Int64, slot UInt64))
    COMMENT 'Offset of the first record stored, and its slot: the lowest of a partition tells what these tables never had; 0 in older rows' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.balance_mints_raw {{onCluster}} ADD COLUMN IF NOT EXISTS vouched SimpleAggregateFunction(max, Tuple(slot UInt64, since UInt64, log Int64, base Int64))
    COMMENT 'What the last base says of the mint: up to which slot, complete since which slot (0: it was not), records of which offsets it needs of chain.balances.v1 and of its own topic' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.holder_counts_raw {{onCluster}} ADD COLUMN IF NOT EXISTS vouched_slot UInt64
    COMMENT 'Slot up to which a base says that the mint is complete; 0 if none does, or if records are missing since' CODEC(ZSTD(1)) AFTER based_from;
ALTER TABLE {{.Database}}.holder_counts_raw {{onCluster}} ADD COLUMN IF NOT EXISTS vouched_since UInt64
    COMMENT 'Slot since which it is, as that base says' CODEC(ZSTD(1)) AFTER vouched_slot;
ALTER TABLE {{.Database}}.balance_reach_raw {{onCluster}} ADD COLUMN IF NOT EXISTS begins UInt64
    COMMENT 'First slot of the slot ledger that is held: the same as whole if no slot is missing behind it' CODEC(ZSTD(1)) AFTER whole;

CREATE TABLE IF NOT EXISTS {{.Database}}.balance_bases_raw {{onCluster}}
(
    slot     UInt64               COMMENT 'Slot up to which the slot ledger was read' CODEC(ZSTD(1)),
    began    DateTime64(3, 'UTC') COMMENT 'When the base was begun' CODEC(ZSTD(1)),
    ended    DateTime64(3, 'UTC') COMMENT 'When its last record was durable' CODEC(ZSTD(1)),
    accounts UInt64               COMMENT 'Open token accounts' CODEC(ZSTD(1)),
    mints    UInt64               COMMENT 'Mints' CODEC(ZSTD(1)),
    complete UInt64               COMMENT 'Mints of which it says that they are complete' CODEC(ZSTD(1)),
    bytes    UInt64               COMMENT 'Bytes of its records before compression' CODEC(ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "ended"}}
ORDER BY began
COMMENT 'Bases of balances that these tables have written to chain.balance-bases.v1; the copies of a row are equal';

-- A base vouches for a mint that was complete when it was written: as long as no slot is missing since, but for those before the ledger that is held.
CREATE OR REPLACE VIEW {{.Database}}.holder_counts {{onCluster}}
(
    mint       String               COMMENT 'Mint, base58',
    holders    UInt64               COMMENT 'Owners whose accounts sum above 0',
    accounts   UInt64               COMMENT 'Open token accounts',
    balance    UInt128              COMMENT 'Sum of their raw amounts',
    top        Array(Tuple(owner FixedString(32), amount UInt128, accounts UInt32, on_curve Bool)) COMMENT 'The 1,000 owners with the most, keys raw, by amount and then by owner',
    top10      UInt128              COMMENT 'Sum of the ten owners with the most; vaults of pools, curves and burn addresses left out',
    holes      UInt64               COMMENT 'Changes whose before is not the after of the one in front of them',
    since_slot UInt64               COMMENT 'Slot from which every change is there; 0 when that is not known',
    complete   Bool                 COMMENT 'Seen from its creation or read as a whole, without a gap or a hole since',
    as_of_slot UInt64               COMMENT 'Slot of the latest change counted',
    counted_at DateTime64(3, 'UTC') COMMENT 'When it was counted'
)
AS WITH (SELECT (max(whole), max(floor), count(), max(begins)) FROM {{.Database}}.balance_reach_raw FINAL) AS reach
SELECT mint, holders, accounts, balance, top, top10,
    c.holes + if(since_slot > 0 AND since_slot < reach.2, 0, unopened) AS holes,
    multiIf(reach.3 = 0, 0,
        vouched_since > 0 AND vouched_slot >= reach.4 AND (vouched_since >= reach.1 OR reach.1 = reach.4), vouched_since,
        created_slot > 0 AND created_slot >= reach.1, created_slot,
        based_slot > 0 AND if(based_from = 0, based_slot, based_from) >= reach.1, based_slot, 0) AS since_slot,
    since_slot > 0 AND holes = 0 AND (since_slot >= reach.2 OR proved_since = since_slot) AS complete,
    as_of_slot, counted_at
FROM {{.Database}}.holder_counts_raw AS c FINAL;

ALTER TABLE {{.Database}}.holder_counts {{onCluster}} MODIFY COMMENT 'One row a mint: its holders as counted last, and whether they are all';
