-- What pools held over time, as legs state it by minute and changes of liquidity each.
CREATE OR REPLACE VIEW {{.Database}}.pool_reserves_1h {{onCluster}}
(
    hour      DateTime('UTC') COMMENT 'Start of the hour of block time',
    pool      String          COMMENT 'Pool account, base58',
    mint_a    String          COMMENT 'The mint that sorts first as text, base58',
    mint_b    String          COMMENT 'The other mint, base58',
    reserve_a UInt64          COMMENT 'Raw balance of the vault of mint_a after the hour''s last leg or change of liquidity that states it',
    reserve_b UInt64          COMMENT 'The same of mint_b'
)
AS SELECT hour, pool, mint_a, mint_b, argMax(a, at) AS reserve_a, argMax(b, at) AS reserve_b
FROM (
    SELECT toStartOfHour(minute) AS hour, pool, mint_a, mint_b, last.1 AS at, last.2 AS a, last.3 AS b FROM {{.Database}}.pool_reserves_raw
    UNION ALL
    SELECT toStartOfHour(block_time) AS hour, pool, mint_a, mint_b, position AS at, assumeNotNull(reserve_a) AS a, assumeNotNull(reserve_b) AS b
    FROM {{.Database}}.liquidity_raw FINAL
    WHERE toUnixTimestamp(block_time) > 0 AND mint_b != '' AND isNotNull(reserve_a) AND isNotNull(reserve_b)
)
GROUP BY hour, pool, mint_a, mint_b;

ALTER TABLE {{.Database}}.pool_reserves_1h {{onCluster}} MODIFY COMMENT 'One row a pool and hour in which a leg or a change of liquidity states what it held: filter by pool or by mint';

-- What a pool held holds for 24 hours, until it is stated anew; SOL has its latest price of 24 hours. A mint that is an anchor now or was one is worth what valuations give it.
CREATE OR REPLACE VIEW {{.Database}}.liquidity_over_time {{onCluster}}
AS WITH
    stated AS (
        SELECT hour, pool, mint_a, mint_b, (reserve_a, reserve_b) AS held FROM {{.Database}}.pool_reserves_1h
        WHERE (mint_a = {mint:String} OR mint_b = {mint:String}) AND hour > {start:DateTime} - INTERVAL 1 DAY AND hour < {end:DateTime}
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
            WHERE mint = 'So11111111111111111111111111111111111111112' AND isNotNull(raw_price_usd) AND minute > {start:DateTime} - INTERVAL 1 DAY AND minute < {end:DateTime}
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
        WHERE bucket >= {start:DateTime} AND bucket < {end:DateTime}
        GROUP BY bucket, pool, mint_a, mint_b
    ) AS holding
    LEFT JOIN decimals USING (pool, mint_a, mint_b)
    WHERE known_a OR known_b
) AS sums
LEFT JOIN priced USING (bucket)
GROUP BY bucket;

ALTER TABLE {{.Database}}.liquidity_over_time {{onCluster}} MODIFY COMMENT 'US dollars in stables and SOL that the pools of a mint held at the end of each hour: liquidity_over_time(mint = …, start = …, end = …)';
