-- The slot from which balances are without a gap: the last one whose parent is not held, or whose balances are of other mints than its child's; the highest number if no
-- slot has balances. And the first and the last slot of the ledger that is held.
SELECT if(count() = 0, toUInt64(18446744073709551615), max(if(balances = 0, slot + 1, slot))),
    (SELECT min(slot) FROM {database}.slots_raw FINAL WHERE status = 'ingested'), (SELECT max(slot) FROM {database}.slots_raw FINAL WHERE status = 'ingested')
FROM (
    SELECT slot, parent_slot, balances,
        lagInFrame((slot, balances)) OVER (ORDER BY slot ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS parent
    FROM (SELECT slot, parent_slot, balances FROM {database}.slots_raw FINAL WHERE status = 'ingested')
)
WHERE balances = 0 OR isNull(parent_slot) OR parent_slot != parent.1 OR balances != parent.2
