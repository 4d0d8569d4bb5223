-- What delegates of accounts spent since they were approved, of mints behind {after:String}, up to {last:String}, by mint.
SELECT s.mint, s.account, s.slot, s.place, s.delegate, s.amount
FROM (SELECT mint, account, slot, place, delegate, amount FROM {database}.delegate_spends_raw FINAL WHERE mint > {after:String} AND mint <= {last:String}) AS s
JOIN (
    SELECT mint, account, max(a) AS approved
    FROM (
        SELECT mint, account, (toUInt128(approved.1), approved.2, approved.3) AS a FROM {database}.account_states_raw
        WHERE mint > {after:String} AND mint <= {last:String}
    )
    GROUP BY mint, account HAVING approved.3 != toFixedString('', 32)
) AS r ON s.mint = r.mint AND s.account = r.account
WHERE bitOr(bitShiftLeft(toUInt128(s.slot), 64), toUInt128(s.place)) > r.approved.1 AND s.delegate = r.approved.3
ORDER BY s.mint
SETTINGS max_threads = 2, max_bytes_before_external_sort = 268435456
