-- The open accounts of mints behind {after:String}, up to {last:String}, by mint: the latest fact about each, and about its delegate.
SELECT mint, account, held.3, held.4, toUInt64(bitShiftRight(held.1, 64)), toUInt64(held.1), toInt64(toUnixTimestamp(held.5)),
    toUInt64(bitShiftRight(opened, 64)), toUInt64(opened),
    toUInt64(bitShiftRight(frozen.1, 64)), toUInt64(frozen.1), frozen.2,
    toUInt64(bitShiftRight(approved.1, 64)), toUInt64(approved.1), approved.2, approved.3, approved.4
FROM (
    SELECT mint, account, max(h) AS held, max(o) AS opened, max(f) AS frozen, max(a) AS approved
    FROM (
        SELECT mint, account, (position, open, owner, amount, block_time) AS h,
            toUInt128(0) AS o, (toUInt128(0), false) AS f, (toUInt128(0), false, toFixedString('', 32), toUInt64(0)) AS a
        FROM {database}.token_accounts_raw WHERE mint > {after:String} AND mint <= {last:String}
        UNION ALL
        SELECT mint, account, (toUInt128(0), false, toFixedString('', 32), toUInt64(0), toDateTime(0, 'UTC')),
            toUInt128(opened), (toUInt128(frozen.1), frozen.2), (toUInt128(approved.1), approved.2, approved.3, approved.4)
        FROM {database}.account_states_raw WHERE mint > {after:String} AND mint <= {last:String}
    )
    GROUP BY mint, account
)
WHERE held.2
ORDER BY mint
-- What is larger goes through files.
SETTINGS max_threads = 2, max_bytes_before_external_group_by = 268435456, max_bytes_before_external_sort = 268435456
