-- The windows of block time that end with the highest block time seen; the first minute of each counts from its second on.
-- Of traders the first hour does.
INSERT INTO {database}.daily_volumes_raw
    (mint, until, volume_usd, user_volume_usd, organic_volume_usd, trades, price_usd, last_trade_at, volume_5m_usd, volume_1h_usd, volume_6h_usd,
    traders, price_at, price_before_usd, pools, first_pool_at, liquidity_usd, liquidity_at,
    trades_5m, traders_5m, price_before_5m_usd, price_since_5m, buys_5m, bought_5m_usd, buyers_5m, sellers_5m, high_5m_usd, low_5m_usd, trades_1h, traders_1h, price_before_1h_usd, price_since_1h, buys_1h, bought_1h_usd, buyers_1h, sellers_1h, high_1h_usd, low_1h_usd, trades_6h, traders_6h, price_before_6h_usd, price_since_6h, buys_6h, bought_6h_usd, buyers_6h, sellers_6h, high_6h_usd, low_6h_usd, price_since_24h, buys_24h, bought_24h_usd, buyers_24h, sellers_24h, high_24h_usd, low_24h_usd, held_usd, anchor, generation)
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
    any(people.traders_24h) AS traders, any(prices.at) AS price_at, any(if(isNull(prices.held_24h), prices.first_24h, prices.held_24h)) AS price_before_usd,
    any(held.pools) AS pools, any(held.created) AS first_pool_at, any(held.liquidity) AS liquidity_usd, any(held.liquid) AS liquidity_at,
    sum(legs_5m) AS trades_5m, any(people.traders_5m) AS traders_5m, any(if(isNull(prices.held_5m), prices.first_5m, prices.held_5m)) AS price_before_5m_usd, any(if(isNull(prices.held_5m), prices.first_at_5m, NULL)) AS price_since_5m,
    sum(bought_5m) AS buys_5m, sum(bought_usd_5m) AS bought_5m_usd, any(people.buyers_5m) AS buyers_5m, any(people.sellers_5m) AS sellers_5m,
    max(high_5m) AS high_5m_usd, min(low_5m) AS low_5m_usd, sum(legs_1h) AS trades_1h, any(people.traders_1h) AS traders_1h,
    any(if(isNull(prices.held_1h), prices.first_1h, prices.held_1h)) AS price_before_1h_usd, any(if(isNull(prices.held_1h), prices.first_at_1h, NULL)) AS price_since_1h, sum(bought_1h) AS buys_1h, sum(bought_usd_1h) AS bought_1h_usd,
    any(people.buyers_1h) AS buyers_1h, any(people.sellers_1h) AS sellers_1h, max(high_1h) AS high_1h_usd, min(low_1h) AS low_1h_usd,
    sum(legs_6h) AS trades_6h, any(people.traders_6h) AS traders_6h, any(if(isNull(prices.held_6h), prices.first_6h, prices.held_6h)) AS price_before_6h_usd, any(if(isNull(prices.held_6h), prices.first_at_6h, NULL)) AS price_since_6h,
    sum(bought_6h) AS buys_6h, sum(bought_usd_6h) AS bought_6h_usd, any(people.buyers_6h) AS buyers_6h, any(people.sellers_6h) AS sellers_6h,
    max(high_6h) AS high_6h_usd, min(low_6h) AS low_6h_usd, any(if(isNull(prices.held_24h), prices.first_at_24h, NULL)) AS price_since_24h, sum(bought_24h) AS buys_24h,
    sum(bought_usd_24h) AS bought_24h_usd, any(people.buyers_24h) AS buyers_24h, any(people.sellers_24h) AS sellers_24h, max(high_24h) AS high_24h_usd,
    min(low_24h) AS low_24h_usd,
    any(carried.carried_usd) AS held_usd, mint IN ({anchors}) AS anchor,
    {generation} AS generation
FROM
(
    SELECT
        mint, sum(volume_usd) AS usd, sum(user_volume_usd) AS user_usd, sum(trades) AS legs, sum(unpriced) AS legs_unpriced, max(last_trade_at) AS last,
        sumIf(volume_usd, bucket > {from_5m}) AS usd_5m, sumIf(trades, bucket > {from_5m}) AS legs_5m, sumIf(unpriced, bucket > {from_5m}) AS unpriced_5m,
        sumIf(volume_usd, bucket > {from_1h}) AS usd_1h, sumIf(trades, bucket > {from_1h}) AS legs_1h, sumIf(unpriced, bucket > {from_1h}) AS unpriced_1h,
        sumIf(volume_usd, bucket > {from_6h}) AS usd_6h, sumIf(trades, bucket > {from_6h}) AS legs_6h, sumIf(unpriced, bucket > {from_6h}) AS unpriced_6h,
        sumIf(buys, bucket > {from_5m}) AS bought_5m, sumIf(bought_usd, bucket > {from_5m}) AS bought_usd_5m, maxIf(high, bucket > {from_5m}) AS high_5m, minIf(low, bucket > {from_5m}) AS low_5m,
        sumIf(buys, bucket > {from_1h}) AS bought_1h, sumIf(bought_usd, bucket > {from_1h}) AS bought_usd_1h, maxIf(high, bucket > {from_1h}) AS high_1h, minIf(low, bucket > {from_1h}) AS low_1h,
        sumIf(buys, bucket > {from_6h}) AS bought_6h, sumIf(bought_usd, bucket > {from_6h}) AS bought_usd_6h, maxIf(high, bucket > {from_6h}) AS high_6h, minIf(low, bucket > {from_6h}) AS low_6h,
        sumIf(buys, bucket > {from_24h}) AS bought_24h, sumIf(bought_usd, bucket > {from_24h}) AS bought_usd_24h, maxIf(high, bucket > {from_24h}) AS high_24h, minIf(low, bucket > {from_24h}) AS low_24h
    FROM {database}.volume_1m_raw FINAL
    WHERE bucket > {from_24h} AND bucket <= {until}
    GROUP BY mint
    UNION ALL
    SELECT
        mint, sumIf(value_usd, in_24h) AS usd, sumIf(abs(net_usd), in_24h) AS user_usd, sumIf(n, in_24h) AS legs, sumIf(n_unpriced, in_24h) AS legs_unpriced,
        maxIf(time, in_24h) AS last,
        sumIf(value_usd, in_5m) AS usd_5m, sumIf(n, in_5m) AS legs_5m, sumIf(n_unpriced, in_5m) AS unpriced_5m,
        sumIf(value_usd, in_1h) AS usd_1h, sumIf(n, in_1h) AS legs_1h, sumIf(n_unpriced, in_1h) AS unpriced_1h,
        sumIf(value_usd, in_6h) AS usd_6h, sumIf(n, in_6h) AS legs_6h, sumIf(n_unpriced, in_6h) AS unpriced_6h,
        sumIf(n_bought, in_5m) AS bought_5m, sumIf(value_bought, in_5m) AS bought_usd_5m, CAST(NULL, 'Nullable(Float64)') AS high_5m, CAST(NULL, 'Nullable(Float64)') AS low_5m,
        sumIf(n_bought, in_1h) AS bought_1h, sumIf(value_bought, in_1h) AS bought_usd_1h, CAST(NULL, 'Nullable(Float64)') AS high_1h, CAST(NULL, 'Nullable(Float64)') AS low_1h,
        sumIf(n_bought, in_6h) AS bought_6h, sumIf(value_bought, in_6h) AS bought_usd_6h, CAST(NULL, 'Nullable(Float64)') AS high_6h, CAST(NULL, 'Nullable(Float64)') AS low_6h,
        sumIf(n_bought, in_24h) AS bought_24h, sumIf(value_bought, in_24h) AS bought_usd_24h, CAST(NULL, 'Nullable(Float64)') AS high_24h, CAST(NULL, 'Nullable(Float64)') AS low_24h
    FROM
    (
        SELECT
            mint, signature_head, trader, max(block_time) AS time,
            sum(value) AS value_usd, sum(if(sold, value, -value)) AS net_usd, count() AS n, countIf(isNull(usd_value)) AS n_unpriced,
            countIf(NOT sold) AS n_bought, sumIf(value, NOT sold) AS value_bought,
            time < toStartOfMinute({from_24h}) + INTERVAL 1 MINUTE AS in_24h,
            time > {from_6h} AND time < toStartOfMinute({from_6h}) + INTERVAL 1 MINUTE AS in_6h,
            time > {from_1h} AND time < toStartOfMinute({from_1h}) + INTERVAL 1 MINUTE AS in_1h,
            time > {from_5m} AND time < toStartOfMinute({from_5m}) + INTERVAL 1 MINUTE AS in_5m
        FROM
        (
            SELECT
                block_time, signature_head, trader, usd_value, toDecimal128(ifNull(usd_value, 0), 6) AS value,
                arrayJoin([(toString(mint_in), true), (toString(mint_out), false)]) AS side, side.1 AS mint, side.2 AS sold
            FROM {database}.swaps_raw FINAL
            WHERE block_time > {from_24h} AND block_time < toStartOfMinute({from_24h}) + INTERVAL 1 MINUTE
                OR block_time > {from_6h} AND block_time < toStartOfMinute({from_6h}) + INTERVAL 1 MINUTE
                OR block_time > {from_1h} AND block_time < toStartOfMinute({from_1h}) + INTERVAL 1 MINUTE
                OR block_time > {from_5m} AND block_time < toStartOfMinute({from_5m}) + INTERVAL 1 MINUTE
        )
        GROUP BY mint, signature_head, trader
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
    SELECT
        mint, uniqExactMergeIf(traded, in_24h) AS traders_24h, uniqExactMergeIf(buying, in_24h) AS buyers_24h, uniqExactMergeIf(selling, in_24h) AS sellers_24h,
        uniqExactMergeIf(traded, in_6h) AS traders_6h, uniqExactMergeIf(buying, in_6h) AS buyers_6h, uniqExactMergeIf(selling, in_6h) AS sellers_6h,
        uniqExactMergeIf(traded, in_1h) AS traders_1h, uniqExactMergeIf(buying, in_1h) AS buyers_1h, uniqExactMergeIf(selling, in_1h) AS sellers_1h,
        uniqExactMergeIf(traded, in_5m) AS traders_5m, uniqExactMergeIf(buying, in_5m) AS buyers_5m, uniqExactMergeIf(selling, in_5m) AS sellers_5m
    FROM
    (
        SELECT
            mint, trader_set AS traded, buyer_set AS buying, seller_set AS selling,
            bucket > {from_24h} AS in_24h, bucket > {from_6h} AS in_6h, bucket > {from_1h} AS in_1h, false AS in_5m
        FROM {database}.volume_1h_raw FINAL
        WHERE bucket > {from_24h} AND bucket <= {until}
        UNION ALL
        SELECT
            mint, uniqExactState(sipHash64(trader)) AS traded,
            uniqExactStateIf(sipHash64(trader), NOT sold) AS buying, uniqExactStateIf(sipHash64(trader), sold) AS selling,
            in_24h, in_6h, in_1h, in_5m
        FROM
        (
            SELECT
                trader, block_time AS time, arrayJoin([(toString(mint_in), true), (toString(mint_out), false)]) AS side, side.1 AS mint, side.2 AS sold,
                time > {from_24h} AND time < toStartOfHour({from_24h}) + INTERVAL 1 HOUR AS in_24h,
                time > {from_6h} AND time < toStartOfHour({from_6h}) + INTERVAL 1 HOUR AS in_6h,
                time > {from_1h} AND time < toStartOfHour({from_1h}) + INTERVAL 1 HOUR AS in_1h,
                time > {from_5m} AS in_5m
            FROM {database}.swaps_raw FINAL
            WHERE block_time > {from_24h} AND block_time < toStartOfHour({from_24h}) + INTERVAL 1 HOUR
                OR block_time > {from_6h} AND block_time < toStartOfHour({from_6h}) + INTERVAL 1 HOUR
                OR block_time > {from_1h} AND block_time < toStartOfHour({from_1h}) + INTERVAL 1 HOUR
                OR block_time > {from_5m}
        )
        GROUP BY mint, in_24h, in_6h, in_1h, in_5m
    )
    GROUP BY mint
) AS people USING (mint)
LEFT JOIN
(
    SELECT
        mint, argMaxIf(price_usd, minute, isNotNull(price_usd) AND minute > {from_24h}) AS price,
        maxOrNullIf(minute, isNotNull(price_usd) AND minute > {from_24h}) AS at,
        argMaxIf(price_usd, minute, isNotNull(price_usd) AND minute <= {from_5m} AND minute > {from_5m} - INTERVAL 24 HOUR) AS held_5m,
        argMinIf(price_usd, minute, isNotNull(price_usd) AND minute > {from_5m}) AS first_5m, minOrNullIf(minute, isNotNull(price_usd) AND minute > {from_5m}) AS first_at_5m,
        argMaxIf(price_usd, minute, isNotNull(price_usd) AND minute <= {from_1h} AND minute > {from_1h} - INTERVAL 24 HOUR) AS held_1h,
        argMinIf(price_usd, minute, isNotNull(price_usd) AND minute > {from_1h}) AS first_1h, minOrNullIf(minute, isNotNull(price_usd) AND minute > {from_1h}) AS first_at_1h,
        argMaxIf(price_usd, minute, isNotNull(price_usd) AND minute <= {from_6h} AND minute > {from_6h} - INTERVAL 24 HOUR) AS held_6h,
        argMinIf(price_usd, minute, isNotNull(price_usd) AND minute > {from_6h}) AS first_6h, minOrNullIf(minute, isNotNull(price_usd) AND minute > {from_6h}) AS first_at_6h,
        argMaxIf(price_usd, minute, isNotNull(price_usd) AND minute <= {from_24h} AND minute > {from_24h} - INTERVAL 24 HOUR) AS held_24h,
        argMinIf(price_usd, minute, isNotNull(price_usd) AND minute > {from_24h}) AS first_24h, minOrNullIf(minute, isNotNull(price_usd) AND minute > {from_24h}) AS first_at_24h
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
LEFT JOIN
(
    -- What pools held in three of four hours, of pools whose legs of ten minutes or more state it.
    SELECT
        mint, sum(stable) AS millionths, sum(lamports) AS sol_held,
        (SELECT argMaxIf(raw_price_usd, minute, isNotNull(raw_price_usd)) FROM {database}.prices_1m_raw FINAL
            WHERE mint = '{sol}' AND minute > {from_24h} AND minute <= {until}) AS sol_price,
        toFloat64(millionths) / 1e6 + if(sol_held = 0, 0, toFloat64(sol_held) * sol_price) AS carried_usd
    FROM
    (
        SELECT
            arrayJoin([mint_a, mint_b]) AS mint, pool,
            ifNull(quantileExactLow(0.25)(held_a), 0) AS quartile_a, ifNull(quantileExactLow(0.25)(held_b), 0) AS quartile_b,
            transform(mint_a, {stables}, {stable_scales}, toUInt64(0)) AS scale_a, transform(mint_b, {stables}, {stable_scales}, toUInt64(0)) AS scale_b,
            if(scale_a = 0, toUInt128(0), intDiv(toUInt128(quartile_a) * 1000000, toUInt128(greatest(scale_a, 1))))
                + if(scale_b = 0, toUInt128(0), intDiv(toUInt128(quartile_b) * 1000000, toUInt128(greatest(scale_b, 1)))) AS stable,
            if(mint_a = '{sol}', toUInt128(quartile_a), toUInt128(0)) + if(mint_b = '{sol}', toUInt128(quartile_b), toUInt128(0)) AS lamports
        FROM {database}.pool_held_1h_raw FINAL
        WHERE bucket > {from_24h} AND bucket <= {until} AND minutes > 0 AND (mint_a IN ({anchors}) OR mint_b IN ({anchors}))
        GROUP BY pool, mint_a, mint_b
        HAVING sum(minutes) >= 10
    )
    GROUP BY mint
) AS carried USING (mint)
GROUP BY mint
HAVING trades > 0
