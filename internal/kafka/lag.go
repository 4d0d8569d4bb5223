package kafka

import "context"

// Lag returns how many records of topics the group has not committed. A partition without a
// committed offset counts from its first record. Records that have expired do not count.
func (a *Admin) Lag(ctx context.Context, group string, topics []string) (int64, error) {
	// The committed offsets are read first: a commit in between makes the lag too high for a
	// moment, never too low.
	reached, err := a.reached(ctx, group, topics)
	if err != nil {
		return 0, err
	}
	ends, err := a.EndOffsets(ctx, topics)
	if err != nil {
		return 0, err
	}
	return lagOf(ends, reached), nil
}

// LagTo is like Lag, but of each partition of topics only the records below an offset count. ends
// has these offsets.
func (a *Admin) LagTo(ctx context.Context, group string, topics []string, ends map[TopicPartition]int64) (int64, error) {
	reached, err := a.reached(ctx, group, topics)
	if err != nil {
		return 0, err
	}
	return lagOf(ends, reached), nil
}

// reached returns for each partition of topics the offset below which the group has nothing to
// read: records below are committed, or have expired.
func (a *Admin) reached(ctx context.Context, group string, topics []string) (map[TopicPartition]int64, error) {
	committed, err := a.CommittedOffsets(ctx, group, topics)
	if err != nil {
		return nil, err
	}
	starts, err := a.StartOffsets(ctx, topics)
	if err != nil {
		return nil, err
	}
	for tp, start := range starts {
		committed[tp] = max(committed[tp], start)
	}
	return committed, nil
}

func lagOf(ends, reached map[TopicPartition]int64) int64 {
	lag := int64(0)
	for tp, end := range ends {
		lag += max(end-reached[tp], 0)
	}
	return lag
}
