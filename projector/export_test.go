package projector

// FoldInRangesOf makes large folds read about so many facts a statement.
func (c *ClickHouse) FoldInRangesOf(facts uint64) { c.foldRange = facts }

// WithBatches returns the configuration with other bounds of a batch: the usual one, and the one
// while a partition is far behind.
func (c Config) WithBatches(records, bulkRecords int) Config {
	c.batchRecords, c.bulkRecords = records, bulkRecords
	return c
}
