-- The price of every other mint in each minute in which it traded: docs/volume.md, "Prices of other tokens".
INSERT INTO {database}.prices_1m_raw (mint, minute, price_usd, raw_price_usd, liquidity_usd, pool, generation)
SELECT
    traded.mint AS mint, traded.minute AS minute,
    if(stable > 0, 1, best.raw_price * exp10(traded.decimals)) AS price_usd,
    if(stable > 0, 1 / toFloat64(stable), best.raw_price) AS raw_price_usd,
    if(stable > 0, NULL, best.depth) AS liquidity_usd,
    if(stable > 0, '', substring(ifNull(best.pool, ''), 1, position(ifNull(best.pool, ''), ' ') - 1)) AS pool,
    {generation} AS generation
FROM
(
    SELECT minute, mint, max(decimals) AS decimals, transform(mint, {stables}, {stable_scales}, toUInt64(0)) AS stable
    FROM
    (
        SELECT minute, arrayJoin([(mint_a, decimals_a), (mint_b, decimals_b)]) AS side, side.1 AS mint, side.2 AS decimals
        FROM {database}.pool_minutes_raw FINAL
        WHERE minute IN ({minutes})
    )
    WHERE mint != '{sol}'
    GROUP BY minute, mint
) AS traded
LEFT JOIN
(
    SELECT target, mint, argMin(seen_pool, (-seen_depth, seen_pool)) AS pool, max(seen_depth) AS depth, argMin(seen_price, (-seen_depth, seen_pool)) AS raw_price
    FROM
    (
        SELECT
            target, mint, pool AS seen_pool, anchor_price,
            argMaxIf(reserve, minute, reserve > 0) * anchor_price AS seen_depth,
            -- A minute of less than a cent is dust: fees and roundings of a few raw units make its price.
            argMaxIf((anchor_amount, amount), minute, toFloat64(anchor_amount) * anchor_price >= 0.01) AS last,
            toFloat64(last.1) * anchor_price / toFloat64(last.2) AS seen_price
        FROM
        (
            SELECT
                target, minute, concat(pool, ' ', mint_a, ' ', mint_b) AS pool, anchor_is_a,
                if(anchor_is_a, mint_b, mint_a) AS mint,
                if(anchor_is_a, amount_a, amount_b) AS anchor_amount,
                if(anchor_is_a, amount_b, amount_a) AS amount,
                toFloat64(ifNull(if(anchor_is_a, reserve_a, reserve_b), 0)) AS reserve,
                transform(if(anchor_is_a, mint_a, mint_b), {stables}, {stable_scales}, toUInt64(0)) AS scale,
                if(scale > 0, 1 / toFloat64(scale), sol.raw_price_usd) AS anchor_price
            FROM
            (
                SELECT trades.*, wanted.minute AS target
                FROM
                (
                    SELECT *, mint_a IN ({anchors}) AS anchor_is_a, if(anchor_is_a, mint_b, mint_a) AS priced
                    FROM {database}.pool_minutes_raw FINAL
                    WHERE minute > toDateTime({from}, 'UTC') - INTERVAL 60 MINUTE AND minute < toDateTime({to}, 'UTC')
                        AND ((mint_a IN ({anchors})) != (mint_b IN ({anchors}))) AND amount_a > 0 AND amount_b > 0
                ) AS trades
                INNER JOIN
                (
                    SELECT DISTINCT minute, arrayJoin([mint_a, mint_b]) AS mint
                    FROM {database}.pool_minutes_raw FINAL
                    WHERE minute IN ({minutes})
                ) AS wanted ON trades.priced = wanted.mint
                WHERE trades.minute <= wanted.minute AND trades.minute > wanted.minute - INTERVAL 60 MINUTE
            ) AS seen
            LEFT JOIN
            (
                SELECT minute, raw_price_usd FROM {database}.prices_1m_raw FINAL WHERE mint = '{sol}' AND minute IN ({minutes})
            ) AS sol ON seen.target = sol.minute
            WHERE isNotNull(anchor_price)
        )
        GROUP BY target, mint, seen_pool, anchor_price
        HAVING seen_depth >= {floor} AND last.2 > 0
    )
    GROUP BY target, mint
) AS best ON traded.minute = best.target AND traded.mint = best.mint
SETTINGS join_use_nulls = 1
