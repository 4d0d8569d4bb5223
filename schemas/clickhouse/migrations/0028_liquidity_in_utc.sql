-- start and end are times in UTC, whatever the server's time zone is. What a pool held holds for 24 hours, until it is stated anew; SOL has its latest price of 24 hours. A mint that is an anchor now or was one is worth what valuations give it.
CREATE OR REPLACE VIEW {{.Database}}.liquidity_over_time {{onCluster}}
AS WITH
    stated AS (
        SELECT hour, pool, mint_a, mint_b, (reserve_a, reserve_b) AS held FROM {{.Database}}.pool_reserves_1h
        WHERE (mint_a = {mint:String} OR mint_b = {mint:String}) AND hour > {start:DateTime('UTC')} - INTERVAL 1 DAY AND hour < {end:DateTime('UTC')}
    ),
    anchors AS (SELECT mint FROM {{.Database}}.daily_volumes_raw GROUP BY mint HAVING argMax(anchor, generation)),
    decimals AS (
        SELECT pool, mint_a, mint_b, max(decimals_a) AS places_a, max(decimals_b) AS places_b FROM {{.Database}}.pools_raw
        WHERE mint_a = {mint:String} OR mint_b = {mint:String} GROUP BY pool, mint_a, mint_b
    ),
    priced AS (
        SELECT bucket, argMax(price, hour) AS sol_price
        FROM (
            SELECT toStartOfHour(minute) AS hour, argMax(raw_price_usd, minute) AS price, arrayJoin(arrayMap(n -> hour + 3600 * n, range(24))) AS bucket FROM {{.Database}}.prices_1m_raw FINAL
            WHERE mint = 'So11111111111111111111111111111111111111112' AND isNotNull(raw_price_usd) AND minute > {start:DateTime('UTC')} - INTERVAL 1 DAY AND minute < {end:DateTime('UTC')}
            GROUP BY hour
        )
        GROUP BY bucket
    )
SELECT bucket AS hour, multiIf(sum(lamports) = 0, sum(stables), isNull(any(sol_price)), NULL, sum(stables) + sum(lamports) * any(sol_price)) AS liquidity_usd, uniqExact(pool) AS pools
FROM (
    SELECT bucket, pool, held.1 AS a, held.2 AS b, mint_a IN (SELECT mint FROM anchors) AS known_a, mint_b IN (SELECT mint FROM anchors) AS known_b,
        mint_a = 'So11111111111111111111111111111111111111112' AS is_sol_a, mint_b = 'So11111111111111111111111111111111111111112' AS is_sol_b,
        if(known_a AND NOT is_sol_a, toFloat64(a) / pow(10, ifNull(places_a, 6)), 0) + if(known_b AND NOT is_sol_b, toFloat64(b) / pow(10, ifNull(places_b, 6)), 0) AS stables,
        if(is_sol_a, toFloat64(a), 0) + if(is_sol_b, toFloat64(b), 0) AS lamports
    FROM (
        SELECT bucket, pool, mint_a, mint_b, argMax(held, hour) AS held
        FROM (SELECT *, arrayJoin(arrayMap(n -> hour + 3600 * n, range(24))) AS bucket FROM stated)
        WHERE bucket >= {start:DateTime('UTC')} AND bucket < {end:DateTime('UTC')}
        GROUP BY bucket, pool, mint_a, mint_b
    ) AS holding
    LEFT JOIN decimals USING (pool, mint_a, mint_b)
    WHERE known_a OR known_b
) AS sums
LEFT JOIN priced USING (bucket)
GROUP BY bucket;

ALTER TABLE {{.Database}}.liquidity_over_time {{onCluster}} MODIFY COMMENT 'US dollars in stables and SOL that the pools of a mint held at the end of each hour: liquidity_over_time(mint = …, start = …, end = …)';
