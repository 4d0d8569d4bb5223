-- Counts the holders of mints. In: {mints}, quoted; {touched}, up to where each had changed before this began; {burned}, quoted raw keys; {floor}, the lowest slot of the changes that are held; {whole}, the slot
-- from which there is no gap; {begins}, the first slot of the ledger that is held; {partitions} and {begun}, the first offset that these tables had of each partition, where those below
-- 0 are of bases. Whether a mint is complete is for the view holder_counts to say: a gap may come, or be filled, after the count.
INSERT INTO {database}.holder_counts_raw
    (mint, holders, accounts, balance, top, top10, holes, unopened, changes, created_slot, based_slot, based_from, vouched_slot, vouched_since, pools, proved_since, as_of_slot, touched, counted_at)
WITH
    books AS (
        SELECT mint, transform(mint, [{mints}], [{touched}], toInt64(0)) AS upto, based, if(pages_from = 0, based, pages_from) AS based_from,
            -- The mark of a base holds if these tables had all records behind it and all of the base, and if no later read of all accounts took its place.
            mark.2 > 0 AND based <= mark.1 AND transform(-1 - base_partition, [{partitions}], [{begun}], toInt64(9223372036854775807)) <= mark.3
                AND transform(base_partition, [{partitions}], [{begun}], toInt64(9223372036854775807)) <= mark.4 AS is_marked,
            if(is_marked, mark.1, 0) AS vouched_slot, if(is_marked, mark.2, 0) AS vouched_since,
            vouched_since > 0 AND vouched_slot >= {begins} AND (vouched_since >= {whole} OR {whole} = {begins}) AS is_vouched
        FROM (
            SELECT mint, max(b.based) AS based, max(b.based_from) AS pages_from, max(b.vouched) AS mark, toInt64(argMax(b.partition, b.vouched)) AS base_partition
            FROM {database}.balance_mints_raw AS b WHERE b.mint IN ({mints}) GROUP BY mint
        )
    ),
    born AS (
        SELECT e.mint AS mint, min(e.slot) AS slot FROM {database}.token_events_raw AS e WHERE e.mint IN ({mints}) AND kind = 'initialize_mint' AND e.slot > 0 GROUP BY mint
    ),
    pools AS (
        SELECT mint, toFixedString(base58Decode(address), 32) AS key
        FROM (
            SELECT mint, address FROM {database}.pools_raw ARRAY JOIN [mint_a, mint_b, mint_a, mint_b] AS mint, [vault_a, vault_b, pool, pool] AS address
            WHERE mint_a IN ({mints}) OR mint_b IN ({mints})
        )
        WHERE mint IN ({mints}) AND address != ''
    ),
    owners AS (
        SELECT mint, owner, sum(toUInt128(a.amount)) AS amount, toUInt32(count()) AS accounts, any(on_curve) AS on_curve,
            max((mint, account) IN (SELECT mint, key FROM pools)) OR (mint, owner) IN (SELECT mint, key FROM pools) AS of_pool
        FROM (SELECT * FROM {database}.token_accounts_raw FINAL WHERE mint IN ({mints})) AS a
        WHERE open
        GROUP BY mint, owner
    ),
    counts AS (
        SELECT mint, countIf(o.amount > 0) AS holders, sum(o.accounts) AS accounts, sum(o.amount) AS balance,
            groupArraySortedIf(1000)((bitNot(o.amount), owner, o.accounts, on_curve), o.amount > 0) AS highest,
            groupArraySortedIf(10)((bitNot(o.amount), owner), o.amount > 0 AND NOT of_pool AND owner NOT IN ({burned})) AS held
        FROM owners AS o
        GROUP BY mint
    ),
    latest AS (
        SELECT mint, toUInt64(bitShiftRight(max(position), 64)) AS slot FROM {database}.token_accounts_raw WHERE mint IN ({mints}) GROUP BY mint
    ),
    -- A base whose pages were read at slots from based_from to based has each account at the slot of its page. What blocks did in between is held, and
    -- tells what came of an account; but whether an account was open before that is not known, so holes are counted behind based only.
    links AS (
        SELECT mint, slot, based, is_read, open_before, owner_before, amount_before,
            lagInFrame((open, owner, amount, toUInt8(1))) OVER (PARTITION BY mint, account ORDER BY slot, place ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS previous
        FROM (
            SELECT c.*, books.based AS based FROM (SELECT * FROM {database}.balance_changes_raw FINAL WHERE mint IN ({mints})) AS c
            JOIN books ON c.mint = books.mint
            WHERE c.slot > books.based_from OR c.slot = books.based_from AND c.is_read
        )
    ),
    -- A first change that does not open its account follows one that was never seen, or that is no longer held.
    holes AS (
        SELECT mint, count() AS changes,
            countIf(slot > based AND NOT is_read AND previous.4 = 1 AND (previous.1 != open_before OR open_before AND (previous.3 != amount_before OR
                previous.2 != owner_before AND previous.2 != toFixedString('', 32) AND owner_before != toFixedString('', 32)))) AS inside,
            countIf(slot > based AND NOT is_read AND previous.4 = 0 AND open_before) AS first
        FROM links GROUP BY mint
    ),
    before AS (
        SELECT mint, proved_since FROM {database}.holder_counts_raw FINAL WHERE mint IN ({mints})
    )
SELECT books.mint AS mint, counts.holders, counts.accounts, counts.balance,
    arrayMap(o -> (o.2, bitNot(o.1), o.3, o.4), counts.highest) AS top,
    arraySum(arrayMap(o -> bitNot(o.1), counts.held)) AS top10,
    holes.inside, if(books.is_vouched, 0, holes.first), holes.changes, born.slot, books.based, books.based_from, books.vouched_slot, books.vouched_since, listed.keys,
    multiIf((multiIf(books.is_vouched, books.vouched_since, born.slot > 0 AND born.slot >= {whole}, born.slot, books.based > 0 AND books.based_from >= {whole}, books.based, 0) AS since) = 0 OR holes.inside > 0, 0, books.is_vouched, since, since >= {floor}, if(holes.first = 0, since, 0), before.proved_since) AS proved_since,
    latest.slot AS as_of_slot, books.upto, now64(3)
FROM books
LEFT JOIN counts ON counts.mint = books.mint
LEFT JOIN born ON born.mint = books.mint
LEFT JOIN latest ON latest.mint = books.mint
LEFT JOIN holes ON holes.mint = books.mint
LEFT JOIN (SELECT mint, uniqExact(key) AS keys FROM pools GROUP BY mint) AS listed ON listed.mint = books.mint
LEFT JOIN before ON before.mint = books.mint
-- What is larger goes through files.
SETTINGS max_bytes_before_external_group_by = 268435456, max_bytes_before_external_sort = 268435456
