-- What is known of mints behind {after:String}, up to {last:String}; since when they are complete, if that was counted after {began:Int64}, in Unix milliseconds, or nothing came behind the count.
SELECT b.mint, if(b.first = 18446744073709551615, 0, b.first), b.based, b.based_from, if(c.complete AND (c.touched = b.touched OR c.counted_at >= fromUnixTimestamp64Milli({began:Int64})), c.since_slot, 0)
FROM (
    SELECT mint, min(at_first) AS first, max(at_based) AS based, max(at_from) AS based_from, sum(upto) AS touched
    FROM (
        SELECT mint, partition, min(m.first) AS at_first, max(m.based) AS at_based, max(m.based_from) AS at_from, max(m.touched) AS upto
        FROM {database}.balance_mints_raw AS m WHERE m.mint > {after:String} AND m.mint <= {last:String} GROUP BY mint, partition
    )
    GROUP BY mint
) AS b
LEFT JOIN (
    SELECT v.mint AS mint, v.complete AS complete, v.since_slot AS since_slot, r.touched AS touched, r.counted_at AS counted_at
    FROM (SELECT mint, complete, since_slot, counted_at FROM {database}.holder_counts WHERE mint > {after:String} AND mint <= {last:String}) AS v
    JOIN (SELECT mint, touched, counted_at FROM {database}.holder_counts_raw FINAL WHERE mint > {after:String} AND mint <= {last:String}) AS r
        ON v.mint = r.mint AND v.counted_at = r.counted_at
) AS c ON b.mint = c.mint
ORDER BY b.mint
SETTINGS max_threads = 2
