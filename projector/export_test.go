package projector

// FoldInRangesOf makes large folds read about so many facts a statement.
func (c *ClickHouse) FoldInRangesOf(facts uint64) { c.foldRange = facts }
