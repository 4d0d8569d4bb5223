-- The price of SOL in each minute: docs/volume.md, "The price of SOL". Amounts of stables are in millionths of a dollar, so sums are exact.
INSERT INTO {database}.prices_1m_raw (mint, minute, price_usd, raw_price_usd, liquidity_usd, pool, generation)
SELECT
    '{sol}' AS mint, minute, price_usd, price_usd / 1e9 AS raw_price_usd, NULL AS liquidity_usd, '' AS pool, {generation} AS generation
FROM
(
    SELECT target AS minute, if(empty(minute_prices), NULL, arraySum(carried) / length(carried)) AS price_usd
    FROM
    (
        SELECT
            target,
            arraySlice(arraySort(p -> (-p.1, p.2), groupArrayIf((toInt128(depth), pool, points), depth >= {sol_floor} * 1000000)), 1, 5) AS deepest,
            arrayFlatten(arrayMap(p -> p.3, deepest)) AS all_points,
            arraySort(arrayDistinct(arrayMap(p -> p.1, all_points))) AS traded_minutes,
            arrayMap(m -> (m, toFloat64(arraySum(arrayMap(p -> if(p.1 = m, p.2, toUInt128(0)), all_points))) * 1000
                / toFloat64(arraySum(arrayMap(p -> if(p.1 = m, p.3, toUInt128(0)), all_points)))), traded_minutes) AS minute_prices,
            -- The price that held in each of the last ten minutes: that of its last trade.
            arrayFilter(p -> p > 0, arrayMap(i -> arrayLast(x -> x.1 <= toUnixTimestamp(target) - 60 * i, minute_prices).2, range({twap_minutes}))) AS carried
        FROM
        (
            SELECT target, pool, argMaxIf(depth, minute, depth > 0) AS depth, groupArray((toUnixTimestamp(minute), stable, sol)) AS points
            FROM
            (
                SELECT
                    arrayJoin([{targets}]) AS target, minute, concat(pool, mint_a, mint_b) AS pool,
                    mint_a = '{sol}' AS sol_is_a,
                    transform(if(sol_is_a, mint_b, mint_a), {stables}, {stable_scales}, toUInt64(0)) AS scale,
                    intDiv(if(sol_is_a, amount_b, amount_a) * 1000000, toUInt128(greatest(scale, 1))) AS stable,
                    if(sol_is_a, amount_a, amount_b) AS sol,
                    intDiv(toUInt128(ifNull(if(sol_is_a, reserve_b, reserve_a), 0)) * 1000000, toUInt128(greatest(scale, 1))) AS depth
                FROM {database}.pool_minutes_raw FINAL
                WHERE minute > toDateTime({from}, 'UTC') - INTERVAL 60 MINUTE AND minute < toDateTime({to}, 'UTC')
                    AND (mint_a = '{sol}' AND mint_b IN ({stables}) OR mint_b = '{sol}' AND mint_a IN ({stables}))
                    AND minute <= target AND minute > target - INTERVAL 60 MINUTE AND sol > 0 AND stable > 0
            )
            GROUP BY target, pool
        )
        GROUP BY target
    )
)
-- A minute that has new pools or liquidity alone has no price, as of other mints.
WHERE minute IN (SELECT minute FROM {database}.pool_minutes_raw WHERE minute IN ({minutes}))
