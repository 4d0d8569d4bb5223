-- Minutes that were valued before migration 0020 have no buys, and so had figures that later valuations contradict. Each leg is a purchase of one of its mints, so a minute that was valued since has
-- some. These minutes are valued again, the latest first; the log has no partition -1, so no offset of a real one changes.
INSERT INTO {{.Database}}.swap_minutes_raw (minute, partition, touched)
SELECT bucket, -1, toUnixTimestamp64Milli(now64(3)) FROM {{.Database}}.volume_1m_raw GROUP BY bucket HAVING max(buys) = 0 AND max(trades) > 0;
