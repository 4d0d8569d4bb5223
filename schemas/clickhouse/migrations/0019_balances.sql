-- Of which mints a slot's balances are here.
ALTER TABLE {{.Database}}.slots_raw {{onCluster}} ADD COLUMN IF NOT EXISTS balances UInt64 DEFAULT 0 COMMENT 'Of which mints balances and transfers of the slot are here: 0 of none, 1 of all, else a checksum of the list of mints' CODEC(ZSTD(1)) AFTER source;

-- Who holds what. Every change of a token account that a transaction made, as the node reports it, and accounts as they were read at a slot (the
-- base of a mint). Register: (mint, account); of its facts the one with the highest position holds. Keys of accounts and owners are raw: three of
-- them in each row of the largest tables would cost a third more as text. Sorted by register, so a register's facts lie together and cost its keys once.
CREATE TABLE IF NOT EXISTS {{.Database}}.balance_changes_raw {{onCluster}}
(
    mint          String                 COMMENT 'Mint, base58' CODEC(ZSTD(3)),
    account       FixedString(32)        COMMENT 'Token account, raw' CODEC(ZSTD(3)),
    slot          UInt64                 COMMENT 'Slot of the block, or of the read' CODEC(Delta, ZSTD(3)),
    place         UInt64                 COMMENT 'Order of the position: the end of the transaction; 2^64-1 for a read' CODEC(ZSTD(3)),
    block_time    DateTime('UTC')        COMMENT 'Time of the block; 1970-01-01 when the source does not say' CODEC(Delta, ZSTD(3)),
    is_read       Bool                   COMMENT 'Read as a whole at a slot: what was before is not known' CODEC(ZSTD(3)),
    open          Bool                   COMMENT 'Whether the account exists afterwards, for this mint' CODEC(ZSTD(3)),
    owner         FixedString(32)        COMMENT 'Wallet afterwards, raw; zeros when closed or not told' CODEC(ZSTD(3)),
    amount        UInt64                 COMMENT 'Raw amount afterwards' CODEC(T64, ZSTD(3)),
    open_before   Bool                   COMMENT 'Whether the account existed before, for this mint' CODEC(ZSTD(3)),
    owner_before  FixedString(32)        COMMENT 'Wallet before, raw; zeros when it was not open or not told' CODEC(ZSTD(3)),
    amount_before UInt64                 COMMENT 'Raw amount before' CODEC(T64, ZSTD(3)),
    stored_on     Date DEFAULT today()   COMMENT 'Day of this copy''s insertion, UTC: how long the row is kept counts from it' CODEC(ZSTD(3))
)
ENGINE = {{engine "ReplacingMergeTree" "stored_on"}}
PARTITION BY intDiv(slot, 2000000)
ORDER BY (mint, account, slot, place)
TTL stored_on + toIntervalDay(30)
SETTINGS index_granularity = 4096, ttl_only_drop_parts = 1
COMMENT 'Changes of token accounts as delivered, copies included until merges remove them: read balance_changes';

-- The latest fact of each register.
CREATE TABLE IF NOT EXISTS {{.Database}}.token_accounts_raw {{onCluster}}
(
    mint       String          COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    account    FixedString(32) COMMENT 'Token account, raw' CODEC(ZSTD(1)),
    owner      FixedString(32) COMMENT 'Wallet, raw; zeros when closed or not told' CODEC(ZSTD(1)),
    amount     UInt64          COMMENT 'Raw amount' CODEC(T64, ZSTD(1)),
    open       Bool            COMMENT 'Whether the account exists for this mint' CODEC(ZSTD(1)),
    on_curve   Bool            COMMENT 'Whether the owner is a point of the curve: a wallet can sign, an address of a program cannot' CODEC(ZSTD(1)),
    position   UInt128         COMMENT 'Position of the fact: the highest holds' CODEC(ZSTD(1)),
    block_time DateTime('UTC') COMMENT 'Time of its block; 1970-01-01 when the source does not say' CODEC(ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "position"}}
ORDER BY (mint, account)
SETTINGS index_granularity = 2048
COMMENT 'State of each token account, several rows each until merges join them: read token_accounts';

-- The same by owner. A fact that moves an account to another owner writes a closed row for the owner before.
CREATE TABLE IF NOT EXISTS {{.Database}}.wallet_accounts_raw {{onCluster}}
(
    owner      String          COMMENT 'Wallet, base58' CODEC(ZSTD(1)),
    mint       String          COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    account    FixedString(32) COMMENT 'Token account, raw' CODEC(ZSTD(1)),
    amount     UInt64          COMMENT 'Raw amount' CODEC(T64, ZSTD(1)),
    open       Bool            COMMENT 'Whether the account exists and is this owner''s' CODEC(ZSTD(1)),
    position   UInt128         COMMENT 'Position of the fact: the highest holds' CODEC(ZSTD(1)),
    block_time DateTime('UTC') COMMENT 'Time of its block; 1970-01-01 when the source does not say' CODEC(ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "position"}}
ORDER BY (owner, mint, account)
SETTINGS index_granularity = 2048
COMMENT 'Token accounts by owner, several rows each until merges join them: read wallet';

-- Movements of tokens, sorted for the newest of a mint. Of two copies the one whose transaction has a place in its block holds.
CREATE TABLE IF NOT EXISTS {{.Database}}.transfers_raw {{onCluster}}
(
    mint         String                   COMMENT 'Mint, base58; empty when the transaction does not tell it' CODEC(ZSTD(3)),
    slot         UInt64                   COMMENT 'Slot of the block' CODEC(Delta, ZSTD(3)),
    place        UInt64                   COMMENT 'Order of the position: transaction, instruction, inner instruction, batch' CODEC(ZSTD(3)),
    block_time   DateTime('UTC')          COMMENT 'Time of the block; 1970-01-01 when the source does not say' CODEC(Delta, ZSTD(3)),
    signature    FixedString(64)          COMMENT 'First signature of the transaction, raw' CODEC(ZSTD(1)),
    kind         LowCardinality(String)   COMMENT 'transfer, mint, burn, open_native …: docs/balances.md has the list' CODEC(ZSTD(3)),
    from_account FixedString(32)          COMMENT 'Token account that gave, raw; zeros when there is none' CODEC(ZSTD(3)),
    from_owner   FixedString(32)          COMMENT 'Its wallet then, raw; zeros when there is none, or the transaction does not tell' CODEC(ZSTD(3)),
    to_account   FixedString(32)          COMMENT 'Token account that got, raw; zeros when there is none' CODEC(ZSTD(3)),
    to_owner     FixedString(32)          COMMENT 'Its wallet then, raw; zeros when there is none, or the transaction does not tell' CODEC(ZSTD(3)),
    amount       Nullable(UInt64)         COMMENT 'Raw amount that left or was made; null when the transaction does not tell' CODEC(ZSTD(3)),
    fee          Nullable(UInt64)         COMMENT 'Raw amount withheld of it as a Token-2022 fee; null when the transaction does not tell' CODEC(ZSTD(3)),
    decimals     UInt8                    COMMENT 'Decimal places of the mint' CODEC(ZSTD(3)),
    stored_on    Date DEFAULT today()     COMMENT 'Day of this copy''s insertion, UTC: how long the row is kept counts from it' CODEC(ZSTD(3))
)
ENGINE = {{engine "ReplacingMergeTree" "stored_on"}}
PARTITION BY intDiv(slot, 2000000)
ORDER BY (mint, slot, place, signature)
TTL stored_on + toIntervalDay(30)
SETTINGS index_granularity = 4096, ttl_only_drop_parts = 1
COMMENT 'Transfers as delivered, copies included until merges remove them: read transfers';

-- The same by owner: one row for who gave, one for who got.
CREATE TABLE IF NOT EXISTS {{.Database}}.wallet_transfers_raw {{onCluster}}
(
    owner      String                   COMMENT 'Wallet, base58' CODEC(ZSTD(3)),
    slot       UInt64                   COMMENT 'Slot of the block' CODEC(Delta, ZSTD(3)),
    place      UInt64                   COMMENT 'Order of the position: transaction, instruction, inner instruction, batch' CODEC(ZSTD(3)),
    signature  FixedString(64)          COMMENT 'First signature of the transaction, raw' CODEC(ZSTD(1)),
    is_in      Bool                     COMMENT 'Whether the owner got the tokens' CODEC(ZSTD(3)),
    mint       String                   COMMENT 'Mint, base58; empty when the transaction does not tell it' CODEC(ZSTD(3)),
    block_time DateTime('UTC')          COMMENT 'Time of the block; 1970-01-01 when the source does not say' CODEC(Delta, ZSTD(3)),
    kind       LowCardinality(String)   COMMENT 'transfer, mint, burn, open_native …: docs/balances.md has the list' CODEC(ZSTD(3)),
    account    FixedString(32)          COMMENT 'Token account of the owner, raw' CODEC(ZSTD(3)),
    other      FixedString(32)          COMMENT 'Wallet on the other side, raw; zeros when there is none, or the transaction does not tell' CODEC(ZSTD(3)),
    amount     Nullable(UInt64)         COMMENT 'Raw amount that left or was made; null when the transaction does not tell' CODEC(ZSTD(3)),
    fee        Nullable(UInt64)         COMMENT 'Raw amount withheld of it as a Token-2022 fee; null when the transaction does not tell' CODEC(ZSTD(3)),
    decimals   UInt8                    COMMENT 'Decimal places of the mint' CODEC(ZSTD(3)),
    stored_on  Date DEFAULT today()     COMMENT 'Day of this copy''s insertion, UTC: how long the row is kept counts from it' CODEC(ZSTD(3))
)
ENGINE = {{engine "ReplacingMergeTree" "stored_on"}}
PARTITION BY intDiv(slot, 2000000)
ORDER BY (owner, slot, place, signature, is_in)
TTL stored_on + toIntervalDay(30)
SETTINGS index_granularity = 4096, ttl_only_drop_parts = 1
COMMENT 'Transfers by owner, copies included until merges remove them: read wallet_transfers';

-- Up to where each mint's facts are in the log, and from where they are whole. A mint whose holders were counted at a lower offset waits to be counted. Each column outside the key is a join, so a repeated record changes nothing.
CREATE TABLE IF NOT EXISTS {{.Database}}.balance_mints_raw {{onCluster}}
(
    mint      String                                COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    partition Int32                                 COMMENT 'Partition of chain.balances.v1' CODEC(ZSTD(1)),
    touched   SimpleAggregateFunction(max, Int64)   COMMENT 'Offset behind the last record stored' CODEC(ZSTD(1)),
    first     SimpleAggregateFunction(min, UInt64)  COMMENT 'Slot of the first change stored' CODEC(ZSTD(1)),
    based     SimpleAggregateFunction(max, UInt64)  COMMENT 'Slot at which all accounts of the mint were read last; 0 for never' CODEC(ZSTD(1))
)
ENGINE = {{engine "AggregatingMergeTree"}}
ORDER BY (mint, partition)
COMMENT 'Book of the mints that have balances';

-- What was counted of a mint at the time of a count: the row with the highest counted_at holds.
CREATE TABLE IF NOT EXISTS {{.Database}}.holder_counts_raw {{onCluster}}
(
    mint         String                COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    holders      UInt64                COMMENT 'Owners whose accounts sum above 0' CODEC(ZSTD(1)),
    accounts     UInt64                COMMENT 'Open token accounts' CODEC(ZSTD(1)),
    balance      UInt128               COMMENT 'Sum of their raw amounts' CODEC(ZSTD(1)),
    top          Array(Tuple(owner FixedString(32), amount UInt128, accounts UInt32, on_curve Bool)) COMMENT 'The 1,000 owners with the most, by amount and then by owner' CODEC(ZSTD(3)),
    top10        UInt128               COMMENT 'Sum of the ten owners with the most; vaults of pools, curves and burn addresses left out' CODEC(ZSTD(1)),
    holes        UInt64                COMMENT 'Changes whose before is not the after of the one in front of them' CODEC(ZSTD(1)),
    unopened     UInt64                COMMENT 'Accounts whose first change does not open them' CODEC(ZSTD(1)),
    created_slot UInt64                COMMENT 'Slot of its creation; 0 when that is not known' CODEC(ZSTD(1)),
    based_slot   UInt64                COMMENT 'Slot at which all its accounts were read last; 0 for never' CODEC(ZSTD(1)),
    pools        UInt64                COMMENT 'Accounts of pools, and vaults, that were known of the mint' CODEC(ZSTD(1)),
    proved_since UInt64                COMMENT 'Slot from which it was complete while all changes since were held; 0 for never' CODEC(ZSTD(1)),
    as_of_slot   UInt64                COMMENT 'Slot of the latest change counted' CODEC(ZSTD(1)),
    touched      Int64                 COMMENT 'What balance_mints_raw.touched was then' CODEC(ZSTD(1)),
    counted_at   DateTime64(3, 'UTC')  COMMENT 'When it was counted' CODEC(ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "counted_at"}}
ORDER BY mint
COMMENT 'Holders of each mint as counted last, several rows each until merges join them: read holder_counts';

-- From where balances are without a gap, and how far back changes are held. A count that was made before a gap, or before it was filled, is judged by this.
CREATE TABLE IF NOT EXISTS {{.Database}}.balance_reach_raw {{onCluster}}
(
    name  LowCardinality(String) COMMENT 'Always balances: there is one row',
    whole UInt64                 COMMENT 'Slot from which no slot is missing, and all have balances of the same mints' CODEC(ZSTD(1)),
    floor UInt64                 COMMENT 'Lowest slot of the changes that are held' CODEC(ZSTD(1)),
    at    DateTime64(3, 'UTC')   COMMENT 'When that was looked for' CODEC(ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "at"}}
ORDER BY name
COMMENT 'From where balances are whole: read holder_counts';

-- Holders at the end of each hour in which they were counted, for their number over time.
CREATE TABLE IF NOT EXISTS {{.Database}}.holder_counts_1h_raw {{onCluster}}
(
    mint       String                COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    hour       DateTime('UTC')       COMMENT 'Start of the hour of block time' CODEC(Delta, ZSTD(1)),
    holders    UInt64                COMMENT 'Owners whose accounts sum above 0, as counted last in the hour' CODEC(ZSTD(1)),
    as_of_slot UInt64                COMMENT 'Slot of the latest change counted' CODEC(ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "as_of_slot"}}
PARTITION BY toYYYYMM(hour)
ORDER BY (mint, hour)
COMMENT 'Holders of each mint by hour, several rows each until merges join them: read holders_over_time';

-- Who may spend from an account, and whether it is frozen: the latest fact of each kind. Each column outside the key is a join, so facts may come in any
-- order and several times. What an account is follows from the facts that are not before its last opening.
CREATE TABLE IF NOT EXISTS {{.Database}}.account_states_raw {{onCluster}}
(
    mint     String          COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    account  FixedString(32) COMMENT 'Token account, raw' CODEC(ZSTD(1)),
    opened   SimpleAggregateFunction(max, UInt128) COMMENT 'Position at which it was opened last, or read; 0 for neither' CODEC(ZSTD(1)),
    frozen   SimpleAggregateFunction(max, Tuple(position UInt128, is_frozen Bool)) COMMENT 'Whether it is frozen, and the position from which that is so; 0 for never told' CODEC(ZSTD(1)),
    approved SimpleAggregateFunction(max, Tuple(position UInt128, is_known Bool, delegate FixedString(32), amount UInt64))
        COMMENT 'Who may spend how much from that position on, not counting what was spent since; zeros for nobody; is_known is false when nobody can tell' CODEC(ZSTD(1))
)
ENGINE = {{engine "AggregatingMergeTree"}}
ORDER BY (mint, account)
SETTINGS index_granularity = 2048
COMMENT 'Facts about delegates and frozen accounts, several rows each until merges join them: read account_states';

-- What others than the owners moved out of accounts: it lowers what a delegate may spend.
CREATE TABLE IF NOT EXISTS {{.Database}}.delegate_spends_raw {{onCluster}}
(
    mint     String          COMMENT 'Mint, base58' CODEC(ZSTD(1)),
    account  FixedString(32) COMMENT 'Token account, raw' CODEC(ZSTD(1)),
    slot     UInt64          COMMENT 'Slot of the block' CODEC(Delta, ZSTD(1)),
    place    UInt64          COMMENT 'Order of the position of the instruction' CODEC(ZSTD(1)),
    delegate FixedString(32) COMMENT 'Who moved the tokens, raw' CODEC(ZSTD(1)),
    amount   UInt64          COMMENT 'Raw amount' CODEC(T64, ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree"}}
ORDER BY (mint, account, slot, place)
SETTINGS index_granularity = 2048
COMMENT 'Movements that the owner of an account did not make: account_states is made of them';

CREATE OR REPLACE VIEW {{.Database}}.balance_changes {{onCluster}}
(
    mint          String                    COMMENT 'Mint, base58',
    account       String                    COMMENT 'Token account, base58',
    slot          UInt64                    COMMENT 'Slot of the block, or of the read',
    position      UInt128                   COMMENT 'The place on the chain as one number: orders all facts',
    block_time    Nullable(DateTime('UTC')) COMMENT 'Time of the block; null when the source does not say',
    is_read       Bool                      COMMENT 'Read as a whole at a slot: what was before is not known',
    open          Bool                      COMMENT 'Whether the account exists afterwards, for this mint',
    owner         String                    COMMENT 'Wallet afterwards, base58; empty when closed or not told',
    amount        UInt64                    COMMENT 'Raw amount afterwards',
    open_before   Bool                      COMMENT 'Whether the account existed before, for this mint',
    owner_before  String                    COMMENT 'Wallet before, base58; empty when it was not open or not told',
    amount_before UInt64                    COMMENT 'Raw amount before'
)
AS SELECT mint, base58Encode(account) AS account, slot, bitOr(bitShiftLeft(toUInt128(slot), 64), toUInt128(place)) AS position,
    if(toUnixTimestamp(block_time) = 0, NULL, block_time) AS block_time, is_read, open,
    if(owner = toFixedString('', 32), '', base58Encode(owner)) AS owner, amount, open_before,
    if(owner_before = toFixedString('', 32), '', base58Encode(owner_before)) AS owner_before, amount_before
FROM {{.Database}}.balance_changes_raw FINAL;

ALTER TABLE {{.Database}}.balance_changes {{onCluster}} MODIFY COMMENT 'One row a token account that a transaction changed, or that was read at a slot';

CREATE OR REPLACE VIEW {{.Database}}.token_accounts {{onCluster}}
(
    mint       String                    COMMENT 'Mint, base58',
    account    String                    COMMENT 'Token account, base58',
    owner      String                    COMMENT 'Wallet, base58; empty when not told',
    amount     UInt64                    COMMENT 'Raw amount',
    position   UInt128                   COMMENT 'Position of the latest fact about it',
    block_time Nullable(DateTime('UTC')) COMMENT 'Time of its block; null when the source does not say'
)
AS SELECT mint, base58Encode(account) AS account, if(owner = toFixedString('', 32), '', base58Encode(owner)) AS owner, amount, position,
    if(toUnixTimestamp(block_time) = 0, NULL, block_time) AS block_time
FROM (SELECT * FROM {{.Database}}.token_accounts_raw FINAL WHERE open);

ALTER TABLE {{.Database}}.token_accounts {{onCluster}} MODIFY COMMENT 'One row a token account that is open, as the latest fact has it';

CREATE OR REPLACE VIEW {{.Database}}.account_states {{onCluster}}
(
    mint             String           COMMENT 'Mint, base58',
    account          String           COMMENT 'Token account, base58',
    account_key      FixedString(32)  COMMENT 'The same, raw: a filter by it reads little',
    is_frozen        Nullable(Bool)   COMMENT 'Whether it is frozen; null when that is not known',
    delegate         Nullable(String) COMMENT 'Who may spend, base58; empty for nobody, null when that is not known',
    delegated_amount Nullable(UInt64) COMMENT 'How much they may spend, raw; null when that is not known'
)
AS WITH (SELECT (max(whole), count()) FROM {{.Database}}.balance_reach_raw FINAL) AS reach,
    -- What is known from a position on is known if no slot is missing since.
    (at) -> reach.2 > 0 AND at > 0 AND toUInt64(bitShiftRight(at, 64)) >= reach.1 AS is_reached,
    arrayFilter(s -> s.1 > approved.1 AND s.2 = approved.3, spends) AS spent,
    approved.1 > 0 AND approved.1 >= opened AS is_approved,
    is_reached(greatest(opened, approved.1)) AND (approved.2 OR NOT is_approved) AS is_known,
    is_approved AND approved.3 != toFixedString('', 32) AND (empty(spent) OR arraySum(s -> s.3, spent) < approved.4) AS has_delegate
SELECT mint, base58Encode(key) AS account, key AS account_key,
    if(frozen.1 >= opened AND is_reached(frozen.1), toNullable(frozen.2), NULL) AS is_frozen,
    multiIf(NOT is_known, NULL, has_delegate, base58Encode(approved.3), '') AS delegate,
    multiIf(NOT is_known, NULL, has_delegate, approved.4 - arraySum(s -> s.3, spent), 0) AS delegated_amount
FROM (
    SELECT mint, key, max(o) AS opened, max(f) AS frozen, max(a) AS approved, groupUniqArrayArray(s) AS spends
    FROM (
        SELECT mint, account AS key, toUInt128(opened) AS o, (toUInt128(frozen.1), frozen.2) AS f,
            (toUInt128(approved.1), approved.2, approved.3, approved.4) AS a, CAST([], 'Array(Tuple(UInt128, FixedString(32), UInt64))') AS s
        FROM {{.Database}}.account_states_raw
        UNION ALL
        SELECT mint, account, toUInt128(0), (toUInt128(0), false), (toUInt128(0), false, toFixedString('', 32), toUInt64(0)),
            [(bitOr(bitShiftLeft(toUInt128(slot), 64), toUInt128(place)), delegate, amount)]
        FROM {{.Database}}.delegate_spends_raw
    )
    GROUP BY mint, key
);

ALTER TABLE {{.Database}}.account_states {{onCluster}} MODIFY COMMENT 'One row a token account that is open or was: who may spend from it, and whether it is frozen';

CREATE OR REPLACE VIEW {{.Database}}.holders {{onCluster}}
(
    mint     String  COMMENT 'Mint, base58',
    owner    String  COMMENT 'Wallet, base58; empty when not told',
    amount   UInt128 COMMENT 'Sum of the raw amounts of its accounts, above 0',
    accounts UInt64  COMMENT 'Its open accounts of the mint'
)
AS SELECT mint, if(holder = toFixedString('', 32), '', base58Encode(holder)) AS owner, total AS amount, accounts
FROM (
    SELECT mint, owner AS holder, sum(toUInt128(amount)) AS total, count() AS accounts
    FROM (SELECT mint, owner, amount FROM {{.Database}}.token_accounts_raw FINAL WHERE open)
    GROUP BY mint, holder
)
WHERE total > 0;

ALTER TABLE {{.Database}}.holders {{onCluster}} MODIFY COMMENT 'One row a mint and owner whose accounts sum above 0';

CREATE OR REPLACE VIEW {{.Database}}.holders_at {{onCluster}}
AS SELECT if(holder = toFixedString('', 32), '', base58Encode(holder)) AS owner, total AS amount, accounts
FROM (
    SELECT last.2 AS holder, sum(toUInt128(last.3)) AS total, count() AS accounts
    FROM (
        SELECT argMax((open, owner, amount), (slot, place)) AS last
        FROM {{.Database}}.balance_changes_raw WHERE mint = {mint:String} AND slot <= {slot:UInt64} GROUP BY account
    )
    WHERE last.1
    GROUP BY holder
)
WHERE total > 0;

ALTER TABLE {{.Database}}.holders_at {{onCluster}} MODIFY COMMENT 'The holders of a mint at the end of a slot: holders_at(mint = …, slot = …)';

CREATE OR REPLACE VIEW {{.Database}}.wallet {{onCluster}}
(
    owner      String                    COMMENT 'Wallet, base58',
    mint       String                    COMMENT 'Mint, base58',
    account    String                    COMMENT 'Token account, base58',
    amount     UInt64                    COMMENT 'Raw amount',
    position   UInt128                   COMMENT 'Position of the latest fact about it',
    block_time Nullable(DateTime('UTC')) COMMENT 'Time of its block; null when the source does not say'
)
AS SELECT owner, mint, base58Encode(account) AS account, amount, position, if(toUnixTimestamp(block_time) = 0, NULL, block_time) AS block_time
FROM (SELECT * FROM {{.Database}}.wallet_accounts_raw FINAL WHERE open);

ALTER TABLE {{.Database}}.wallet {{onCluster}} MODIFY COMMENT 'One row an open token account, sorted by its owner';

-- Every account that the wallet ever had is in wallet_accounts_raw; their changes up to the slot tell what it had then.
CREATE OR REPLACE VIEW {{.Database}}.wallet_at {{onCluster}}
AS SELECT mint, sum(toUInt128(last.3)) AS amount, count() AS accounts
FROM (
    SELECT mint, argMax((open, owner, amount), (slot, place)) AS last
    FROM {{.Database}}.balance_changes_raw
    WHERE (mint, account) IN (SELECT mint, account FROM {{.Database}}.wallet_accounts_raw WHERE owner = {owner:String}) AND slot <= {slot:UInt64}
    GROUP BY mint, account
)
WHERE last.1 AND last.2 = base58Decode({owner:String})
GROUP BY mint
HAVING amount > 0;

ALTER TABLE {{.Database}}.wallet_at {{onCluster}} MODIFY COMMENT 'What a wallet held at the end of a slot, by mint: wallet_at(owner = …, slot = …)';

CREATE OR REPLACE VIEW {{.Database}}.transfers {{onCluster}}
(
    mint         String                    COMMENT 'Mint, base58; empty when the transaction does not tell it',
    slot         UInt64                    COMMENT 'Slot of the block',
    position     UInt128                   COMMENT 'The place on the chain as one number: orders all facts',
    block_time   Nullable(DateTime('UTC')) COMMENT 'Time of the block; null when the source does not say',
    signature    String                    COMMENT 'First signature of the transaction, base58',
    kind         LowCardinality(String)    COMMENT 'transfer, mint, burn, open_native …: docs/balances.md has the list',
    from_account Nullable(String)          COMMENT 'Token account that gave, base58; null when there is none',
    from_owner   Nullable(String)          COMMENT 'Its wallet then, base58; null when there is none, or the transaction does not tell',
    to_account   Nullable(String)          COMMENT 'Token account that got, base58; null when there is none',
    to_owner     Nullable(String)          COMMENT 'Its wallet then, base58; null when there is none, or the transaction does not tell',
    amount       Nullable(UInt64)          COMMENT 'Raw amount that left or was made; null when the transaction does not tell',
    fee          Nullable(UInt64)          COMMENT 'Raw amount withheld of it as a Token-2022 fee; null when the transaction does not tell',
    decimals     UInt8                     COMMENT 'Decimal places of the mint'
)
AS SELECT mint, slot, bitOr(bitShiftLeft(toUInt128(slot), 64), toUInt128(place)) AS position,
    if(toUnixTimestamp(block_time) = 0, NULL, block_time) AS block_time, base58Encode(signature) AS signature, kind,
    if(from_account = toFixedString('', 32), NULL, base58Encode(from_account)) AS from_account,
    if(from_owner = toFixedString('', 32), NULL, base58Encode(from_owner)) AS from_owner,
    if(to_account = toFixedString('', 32), NULL, base58Encode(to_account)) AS to_account,
    if(to_owner = toFixedString('', 32), NULL, base58Encode(to_owner)) AS to_owner,
    amount, fee, decimals
FROM {{.Database}}.transfers_raw FINAL;

ALTER TABLE {{.Database}}.transfers {{onCluster}} MODIFY COMMENT 'One row an instruction that moved, made or removed tokens';

CREATE OR REPLACE VIEW {{.Database}}.wallet_transfers {{onCluster}}
(
    owner      String                    COMMENT 'Wallet, base58',
    slot       UInt64                    COMMENT 'Slot of the block',
    position   UInt128                   COMMENT 'The place on the chain as one number: orders all facts',
    block_time Nullable(DateTime('UTC')) COMMENT 'Time of the block; null when the source does not say',
    signature  String                    COMMENT 'First signature of the transaction, base58',
    direction  String                    COMMENT 'in or out',
    mint       String                    COMMENT 'Mint, base58; empty when the transaction does not tell it',
    kind       LowCardinality(String)    COMMENT 'transfer, mint, burn, open_native …: docs/balances.md has the list',
    account    String                    COMMENT 'Token account of the owner, base58',
    other      Nullable(String)          COMMENT 'Wallet on the other side, base58; null when there is none, or the transaction does not tell',
    amount     Nullable(UInt64)          COMMENT 'Raw amount that left or was made; null when the transaction does not tell',
    fee        Nullable(UInt64)          COMMENT 'Raw amount withheld of it as a Token-2022 fee; null when the transaction does not tell',
    decimals   UInt8                     COMMENT 'Decimal places of the mint'
)
AS SELECT owner, slot, bitOr(bitShiftLeft(toUInt128(slot), 64), toUInt128(place)) AS position,
    if(toUnixTimestamp(block_time) = 0, NULL, block_time) AS block_time, base58Encode(signature) AS signature, if(is_in, 'in', 'out') AS direction,
    mint, kind, base58Encode(account) AS account, if(other = toFixedString('', 32), NULL, base58Encode(other)) AS other, amount, fee, decimals
FROM {{.Database}}.wallet_transfers_raw FINAL;

ALTER TABLE {{.Database}}.wallet_transfers {{onCluster}} MODIFY COMMENT 'One row a transfer and wallet on a side of it, sorted by wallet';

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
    multiIf(reach.3 = 0, 0, created_slot > 0 AND created_slot >= reach.1, created_slot, based_slot > 0 AND based_slot >= reach.1, based_slot, 0) AS since_slot,
    since_slot > 0 AND holes = 0 AND (since_slot >= reach.2 OR proved_since = since_slot) AS complete,
    as_of_slot, counted_at
FROM {{.Database}}.holder_counts_raw AS c FINAL;

ALTER TABLE {{.Database}}.holder_counts {{onCluster}} MODIFY COMMENT 'One row a mint: its holders as counted last, and whether they are all';

CREATE OR REPLACE VIEW {{.Database}}.holders_over_time {{onCluster}}
(
    mint       String          COMMENT 'Mint, base58',
    hour       DateTime('UTC') COMMENT 'Start of the hour of block time',
    holders    UInt64          COMMENT 'Owners whose accounts sum above 0, as counted last in the hour',
    as_of_slot UInt64          COMMENT 'Slot of the latest change counted'
)
AS SELECT mint, hour, holders, as_of_slot FROM {{.Database}}.holder_counts_1h_raw FINAL;

ALTER TABLE {{.Database}}.holders_over_time {{onCluster}} MODIFY COMMENT 'One row a mint and hour in which its holders were counted';

CREATE OR REPLACE VIEW {{.Database}}.supply_conservation {{onCluster}}
(
    mint            String           COMMENT 'Mint, base58',
    balance         UInt128          COMMENT 'Sum of the raw amounts of its accounts',
    withheld        Int128           COMMENT 'Fees that transfers withheld, less those that were withdrawn',
    supply          Nullable(UInt64) COMMENT 'Raw supply; null when unknown and for wrapped SOL',
    missing         Nullable(Int128) COMMENT 'Supply less balance and withheld: 0 for a complete mint without confidential balances',
    is_confidential Bool             COMMENT 'Tokens were moved to confidential balances, which nobody can add up',
    complete        Bool             COMMENT 'Seen from its creation or read as a whole, without a gap or a hole since',
    as_of_slot      UInt64           COMMENT 'Slot of the latest change counted'
)
AS SELECT h.mint AS mint, h.balance AS balance, f.withheld AS withheld, t.supply AS supply,
    toInt128(t.supply) - toInt128(h.balance) - f.withheld AS missing, f.is_confidential AS is_confidential, h.complete AS complete, h.as_of_slot AS as_of_slot
FROM (SELECT * FROM {{.Database}}.holder_counts) AS h
JOIN (SELECT mint, supply FROM {{.Database}}.tokens_raw FINAL) AS t ON h.mint = t.mint
LEFT JOIN (
    SELECT mint, toInt128(sumIf(ifNull(fee, 0), kind = 'transfer')) - toInt128(sumIf(ifNull(amount, 0), kind = 'withdraw_withheld')) AS withheld,
        max(kind IN ('confidential_deposit', 'confidential_withdraw')) AS is_confidential
    FROM {{.Database}}.transfers_raw FINAL
    GROUP BY mint
) AS f ON h.mint = f.mint;

ALTER TABLE {{.Database}}.supply_conservation {{onCluster}} MODIFY COMMENT 'Sum of balances beside the supply, by mint';
