-- Minutes that were valued before migration 0020 have no buys, and so had figures that later valuations contradict. Each leg is a purchase of one of its mints, so a minute that was valued since has
-- some. These minutes are valued again, the latest first; the log has no partition -1, so no offset of a real one changes. Figures of minutes whose legs were dropped stay as they are: such a minute
-- has figures and no legs, and an hour of which legs were dropped would be made of those that are left.
INSERT INTO {{.Database}}.swap_minutes_raw (minute, partition, touched)
WITH
    (SELECT min(block_time) FROM {{.Database}}.swaps_raw WHERE toUnixTimestamp(block_time) > 0) AS first_leg,
    (SELECT min(bucket) FROM {{.Database}}.volume_1m_raw) AS first_figure
SELECT bucket, -1, toUnixTimestamp64Milli(now64(3)) FROM {{.Database}}.volume_1m_raw
WHERE toUnixTimestamp(first_leg) > 0 AND bucket >= if(first_figure < toStartOfMinute(first_leg), toStartOfHour(first_leg) + INTERVAL 1 HOUR, first_figure)
GROUP BY bucket HAVING max(buys) = 0 AND max(trades) > 0;
