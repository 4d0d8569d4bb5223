-- A base that was read in pages: each page has a slot of its own.
ALTER TABLE {{.Database}}.balance_mints_raw {{onCluster}} ADD COLUMN IF NOT EXISTS based_from SimpleAggregateFunction(max, UInt64)
    COMMENT 'Lowest slot at which an account of the last base was read: the same as based unless it was read in pages; 0 for never, and in older rows' CODEC(ZSTD(1));
ALTER TABLE {{.Database}}.holder_counts_raw {{onCluster}} ADD COLUMN IF NOT EXISTS based_from UInt64
    COMMENT 'Lowest slot at which one of them was read then; 0 for never, and in older rows' CODEC(ZSTD(1)) AFTER based_slot;

-- A mint is complete from the last page on, if no slot is missing since the first.
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
AS WITH (SELECT (max(whole), max(floor), count()) FROM {{.Database}}.balance_reach_raw FINAL) AS reach
SELECT mint, holders, accounts, balance, top, top10,
    c.holes + if(since_slot > 0 AND since_slot < reach.2, 0, unopened) AS holes,
    multiIf(reach.3 = 0, 0, created_slot > 0 AND created_slot >= reach.1, created_slot, based_slot > 0 AND if(based_from = 0, based_slot, based_from) >= reach.1, based_slot, 0) AS since_slot,
    since_slot > 0 AND holes = 0 AND (since_slot >= reach.2 OR proved_since = since_slot) AS complete,
    as_of_slot, counted_at
FROM {{.Database}}.holder_counts_raw AS c FINAL;

ALTER TABLE {{.Database}}.holder_counts {{onCluster}} MODIFY COMMENT 'One row a mint: its holders as counted last, and whether they are all';

-- Only from a mint's creation on it is known what fees were withheld, and as long as all its transfers are held.
CREATE OR REPLACE VIEW {{.Database}}.supply_conservation {{onCluster}}
(
    mint            String           COMMENT 'Mint, base58',
    balance         UInt128          COMMENT 'Sum of the raw amounts of its accounts',
    withheld        Int128           COMMENT 'Fees that transfers withheld, less those that were withdrawn',
    supply          Nullable(UInt64) COMMENT 'Raw supply; null when unknown and for wrapped SOL',
    missing         Nullable(Int128) COMMENT 'Supply less balance and withheld: 0 for a complete mint without confidential balances; null if fees may have been withheld by transfers that are not held',
    is_confidential Bool             COMMENT 'Tokens were moved to confidential balances, which nobody can add up',
    complete        Bool             COMMENT 'Seen from its creation or read as a whole, without a gap or a hole since',
    as_of_slot      UInt64           COMMENT 'Slot of the latest change counted'
)
AS WITH (SELECT max(floor) FROM {{.Database}}.balance_reach_raw FINAL) AS floor
SELECT h.mint AS mint, h.balance AS balance, f.withheld AS withheld, t.supply AS supply,
    if(t.is_token22 AND NOT (c.created_slot = h.since_slot AND c.created_slot >= floor), NULL, toInt128(t.supply) - toInt128(h.balance) - f.withheld) AS missing, f.is_confidential AS is_confidential, h.complete AS complete, h.as_of_slot AS as_of_slot
FROM (SELECT * FROM {{.Database}}.holder_counts) AS h
JOIN (SELECT mint, created_slot FROM {{.Database}}.holder_counts_raw FINAL) AS c ON h.mint = c.mint
JOIN (SELECT mint, supply, is_token22 FROM {{.Database}}.tokens_raw FINAL) AS t ON h.mint = t.mint
LEFT JOIN (
    SELECT mint, toInt128(sumIf(ifNull(fee, 0), kind = 'transfer')) - toInt128(sumIf(ifNull(amount, 0), kind = 'withdraw_withheld')) AS withheld,
        max(kind IN ('confidential_deposit', 'confidential_withdraw')) AS is_confidential
    FROM {{.Database}}.transfers_raw FINAL
    GROUP BY mint
) AS f ON h.mint = f.mint;

ALTER TABLE {{.Database}}.supply_conservation {{onCluster}} MODIFY COMMENT 'Sum of balances beside the supply, by mint';
