package runner

import "time"

// WithMaxInFlight returns the configuration with another bound of blocks in flight.
func (c Config) WithMaxInFlight(blocks int) Config {
	c.maxInFlight = blocks
	return c
}

// WithFollowInterval returns the configuration with another interval of Follow.
func (c Config) WithFollowInterval(interval time.Duration) Config {
	c.followInterval = interval
	return c
}

// WithStatusInterval returns the configuration with another interval of status records.
func (c Config) WithStatusInterval(interval time.Duration) Config {
	c.statusInterval = interval
	return c
}

// WithGrace returns the configuration with another grace period.
func (c Config) WithGrace(grace time.Duration) Config {
	c.grace = grace
	return c
}
