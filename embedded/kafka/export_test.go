package kafka

import "time"

// WithRetentionInterval returns the configuration with another time between two rounds of deleting.
func (c Config) WithRetentionInterval(interval time.Duration) Config {
	c.retentionInterval = interval
	return c
}

// WithStateInterval returns the configuration with another time between two updates of the state
// file.
func (c Config) WithStateInterval(interval time.Duration) Config {
	c.stateInterval = interval
	return c
}
