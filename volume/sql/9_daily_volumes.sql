-- The 24 hours of block time that end with the highest block time seen; the first minute of them counts from its second on.
INSERT INTO {database}.daily_volumes_raw
    (mint, until, volume_usd, user_volume_usd, organic_volume_usd, trades, price_usd, last_trade_at, generation)
SELECT
    mint, toDateTime({until}, 'UTC') AS until,
    if(sum(legs) > sum(legs_unpriced), sum(usd), NULL) AS volume_usd,
    if(sum(legs) > sum(legs_unpriced), sum(user_usd), NULL) AS user_volume_usd,
    if(sum(legs) > sum(legs_unpriced), any(hours.organic_usd), NULL) AS organic_volume_usd,
    sum(legs) AS trades, any(prices.price) AS price_usd, max(last) AS last_trade_at, {generation} AS generation
FROM
(
    SELECT mint, sum(volume_usd) AS usd, sum(user_volume_usd) AS user_usd, sum(trades) AS legs, sum(unpriced) AS legs_unpriced, max(last_trade_at) AS last
    FROM {database}.volume_1m_raw FINAL
    WHERE bucket > toDateTime({until}, 'UTC') - INTERVAL 24 HOUR AND bucket <= toDateTime({until}, 'UTC')
    GROUP BY mint
    UNION ALL
    SELECT mint, sum(value) AS usd, sum(abs(net_usd)) AS user_usd, sum(n) AS legs, sum(n_unpriced) AS legs_unpriced, max(time) AS last
    FROM
    (
        SELECT
            max(block_time) AS time, signature_head, trader,
            arrayJoin([(toString(mint_in), 1), (toString(mint_out), -1)]) AS side, side.1 AS mint,
            sum(toDecimal128(ifNull(usd_value, 0), 6)) AS value, sum(toDecimal128(ifNull(usd_value, 0), 6) * side.2) AS net_usd,
            count() AS n, countIf(isNull(usd_value)) AS n_unpriced
        FROM {database}.swaps_raw FINAL
        WHERE block_time > toDateTime({until}, 'UTC') - INTERVAL 24 HOUR
            AND block_time < toStartOfMinute(toDateTime({until}, 'UTC') - INTERVAL 24 HOUR) + INTERVAL 1 MINUTE
        GROUP BY signature_head, trader, side
    )
    GROUP BY mint
) AS minutes
LEFT JOIN
(
    SELECT mint, sum(organic_volume_usd) AS organic_usd
    FROM {database}.volume_1h_raw FINAL
    WHERE bucket > toDateTime({until}, 'UTC') - INTERVAL 24 HOUR AND bucket <= toDateTime({until}, 'UTC')
    GROUP BY mint
) AS hours USING (mint)
LEFT JOIN
(
    SELECT mint, argMaxIf(price_usd, minute, isNotNull(price_usd)) AS price
    FROM {database}.prices_1m_raw FINAL
    WHERE minute > toDateTime({until}, 'UTC') - INTERVAL 24 HOUR AND minute <= toDateTime({until}, 'UTC')
    GROUP BY mint
) AS prices USING (mint)
GROUP BY mint
