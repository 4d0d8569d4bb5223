-- A mint of few accounts and many changes is counted in a statement of its own.
ALTER TABLE {{.Database}}.holder_counts_raw {{onCluster}} ADD COLUMN IF NOT EXISTS changes UInt64
    COMMENT 'Changes of its accounts that were read for the count: those since the last base; 0 in older rows' CODEC(ZSTD(1)) AFTER unopened;
