-- Keeps the number of holders at the end of each hour of block time. In: {mints}, quoted.
INSERT INTO {database}.holder_counts_1h_raw (mint, hour, holders, as_of_slot)
SELECT c.mint, toStartOfHour(t.block_time), c.holders, c.as_of_slot
FROM (SELECT * FROM {database}.holder_counts_raw FINAL WHERE mint IN ({mints})) AS c
JOIN (
    SELECT mint, max(block_time) AS block_time FROM {database}.token_accounts_raw WHERE mint IN ({mints}) GROUP BY mint
) AS t ON t.mint = c.mint
WHERE toUnixTimestamp(t.block_time) > 0
