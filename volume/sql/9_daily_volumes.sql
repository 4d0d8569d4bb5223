-- The windows of block time that end with the highest block time seen; the first minute of each counts from its second on.
-- Of traders the first hour does.
INSERT INTO {database}.daily_volumes_raw
    (mint, until, volume_usd, user_volume_usd, organic_volume_usd, trades, price_usd, last_trade_at, volume_5m_usd, volume_1h_usd, volume_6h_usd,
    traders, price_at, price_before_usd, pools, first_pool_at, liquidity_usd, liquidity_at, generation)
SELECT
    mint, {until} AS until,
    if(sum(legs) > sum(legs_unpriced), sum(usd), NULL) AS volume_usd,
    if(sum(legs) > sum(legs_unpriced), sum(user_usd), NULL) AS user_volume_usd,
    if(sum(legs) > sum(legs_unpriced), any(hours.organic_usd), NULL) AS organic_volume_usd,
    sum(legs) AS trades, any(prices.price) AS price_usd, max(last) AS last_trade_at,
    -- 0: not traded; NULL: traded, and no leg has a value.
    if(sum(legs_5m) = 0 OR sum(legs_5m) > sum(unpriced_5m), sum(usd_5m), NULL) AS volume_5m_usd,
    if(sum(legs_1h) = 0 OR sum(legs_1h) > sum(unpriced_1h), sum(usd_1h), NULL) AS volume_1h_usd,
    if(sum(legs_6h) = 0 OR sum(legs_6h) > sum(unpriced_6h), sum(usd_6h), NULL) AS volume_6h_usd,
    any(people.traders) AS traders, any(prices.at) AS price_at, any(prices.before) AS price_before_usd,
    any(held.pools) AS pools, any(held.created) AS first_pool_at, any(held.liquidity) AS liquidity_usd, any(held.liquid) AS liquidity_at,
    {generation} AS generation
FROM
(
    SELECT
        mint, sum(volume_usd) AS usd, sum(user_volume_usd) AS user_usd, sum(trades) AS legs, sum(unpriced) AS legs_unpriced, max(last_trade_at) AS last,
        sumIf(volume_usd, bucket > {from_5m}) AS usd_5m, sumIf(trades, bucket > {from_5m}) AS legs_5m, sumIf(unpriced, bucket > {from_5m}) AS unpriced_5m,
        sumIf(volume_usd, bucket > {from_1h}) AS usd_1h, sumIf(trades, bucket > {from_1h}) AS legs_1h, sumIf(unpriced, bucket > {from_1h}) AS unpriced_1h,
        sumIf(volume_usd, bucket > {from_6h}) AS usd_6h, sumIf(trades, bucket > {from_6h}) AS legs_6h, sumIf(unpriced, bucket > {from_6h}) AS unpriced_6h
    FROM {database}.volume_1m_raw FINAL
    WHERE bucket > {from_24h} AND bucket <= {until}
    GROUP BY mint
    UNION ALL
    SELECT
        mint, sumIf(value, in_24h) AS usd, sumIf(abs(net_usd), in_24h) AS user_usd, sumIf(n, in_24h) AS legs, sumIf(n_unpriced, in_24h) AS legs_unpriced,
        maxIf(time, in_24h) AS last,
        sumIf(value, in_5m) AS usd_5m, sumIf(n, in_5m) AS legs_5m, sumIf(n_unpriced, in_5m) AS unpriced_5m,
        sumIf(value, in_1h) AS usd_1h, sumIf(n, in_1h) AS legs_1h, sumIf(n_unpriced, in_1h) AS unpriced_1h,
        sumIf(value, in_6h) AS usd_6h, sumIf(n, in_6h) AS legs_6h, sumIf(n_unpriced, in_6h) AS unpriced_6h
    FROM
    (
        SELECT
            max(block_time) AS time, signature_head, trader,
            arrayJoin([(toString(mint_in), 1), (toString(mint_out), -1)]) AS side, side.1 AS mint,
            sum(toDecimal128(ifNull(usd_value, 0), 6)) AS value, sum(toDecimal128(ifNull(usd_value, 0), 6) * side.2) AS net_usd,
            count() AS n, countIf(isNull(usd_value)) AS n_unpriced,
            time < toStartOfMinute({from_24h}) + INTERVAL 1 MINUTE AS in_24h,
            time > {from_6h} AND time < toStartOfMinute({from_6h}) + INTERVAL 1 MINUTE AS in_6h,
            time > {from_1h} AND time < toStartOfMinute({from_1h}) + INTERVAL 1 MINUTE AS in_1h,
            time > {from_5m} AND time < toStartOfMinute({from_5m}) + INTERVAL 1 MINUTE AS in_5m
        FROM {database}.swaps_raw FINAL
        WHERE block_time > {from_24h} AND block_time < toStartOfMinute({from_24h}) + INTERVAL 1 MINUTE
            OR block_time > {from_6h} AND block_time < toStartOfMinute({from_6h}) + INTERVAL 1 MINUTE
            OR block_time > {from_1h} AND block_time < toStartOfMinute({from_1h}) + INTERVAL 1 MINUTE
            OR block_time > {from_5m} AND block_time < toStartOfMinute({from_5m}) + INTERVAL 1 MINUTE
        GROUP BY signature_head, trader, side
    )
    GROUP BY mint
) AS minutes
LEFT JOIN
(
    SELECT mint, sum(organic_volume_usd) AS organic_usd
    FROM {database}.volume_1h_raw FINAL
    WHERE bucket > {from_24h} AND bucket <= {until}
    GROUP BY mint
) AS hours USING (mint)
LEFT JOIN
(
    SELECT mint, uniqExactMerge(traded) AS traders
    FROM
    (
        SELECT mint, trader_set AS traded
        FROM {database}.volume_1h_raw FINAL
        WHERE bucket > {from_24h} AND bucket <= {until}
        UNION ALL
        SELECT mint, uniqExactState(sipHash64(trader)) AS traded
        FROM
        (
            SELECT trader, arrayJoin([toString(mint_a), toString(mint_b)]) AS mint
            FROM {database}.swaps_raw FINAL
            WHERE block_time > {from_24h} AND block_time < toStartOfHour({from_24h}) + INTERVAL 1 HOUR
        )
        GROUP BY mint
    )
    GROUP BY mint
) AS people USING (mint)
LEFT JOIN
(
    SELECT
        mint, argMaxIf(price_usd, minute, isNotNull(price_usd) AND minute > {from_24h}) AS price,
        maxOrNullIf(minute, isNotNull(price_usd) AND minute > {from_24h}) AS at,
        argMaxIf(price_usd, minute, isNotNull(price_usd) AND minute <= {from_24h}) AS before
    FROM {database}.prices_1m_raw FINAL
    WHERE minute > {from_24h} - INTERVAL 24 HOUR AND minute <= {until}
    GROUP BY mint
) AS prices USING (mint)
LEFT JOIN
(
    -- Sums of anchors are integers: millionths of a dollar, and lamports.
    SELECT
        mint, uniqExact(pool) AS pools, argMin(creation.2, (first.1, pool)) AS earliest,
        if(toUnixTimestamp(earliest) = 0, NULL, earliest) AS created,
        maxOrNullIf(last.2, anchored) AS liquid,
        (SELECT argMaxIf(raw_price_usd, minute, isNotNull(raw_price_usd)) FROM {database}.prices_1m_raw FINAL
            WHERE mint = '{sol}' AND minute > {from_24h} AND minute <= {until}) AS sol_price,
        sumIf(stable_a + stable_b, anchored) AS stable,
        sumIf(sol_a + sol_b, anchored) AS lamports,
        if(countIf(anchored) = 0, NULL, toFloat64(stable) / 1e6 + if(lamports = 0, 0, toFloat64(lamports) * sol_price)) AS liquidity
    FROM
    (
        SELECT
            pool, first, creation, last, arrayJoin([mint_a, mint_b]) AS mint,
            last.1 > 0 AND last.2 > {from_24h} AND (mint_a IN ({anchors}) OR mint_b IN ({anchors})) AS anchored,
            transform(mint_a, {stables}, {stable_scales}, toUInt64(0)) AS scale_a,
            transform(mint_b, {stables}, {stable_scales}, toUInt64(0)) AS scale_b,
            if(scale_a = 0, toUInt128(0), intDiv(toUInt128(last.3) * 1000000, toUInt128(greatest(scale_a, 1)))) AS stable_a,
            if(scale_b = 0, toUInt128(0), intDiv(toUInt128(last.4) * 1000000, toUInt128(greatest(scale_b, 1)))) AS stable_b,
            if(mint_a = '{sol}', toUInt128(last.3), toUInt128(0)) AS sol_a,
            if(mint_b = '{sol}', toUInt128(last.4), toUInt128(0)) AS sol_b
        FROM {database}.pools_raw FINAL
    )
    GROUP BY mint
) AS held USING (mint)
GROUP BY mint
HAVING trades > 0
