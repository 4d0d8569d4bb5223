package chengine

import "time"

// SetPing makes the engine look for a hanging child more often, before Run.
func (e *Engine) SetPing(every, timeout time.Duration) { e.pingEvery, e.pingTimeout = every, timeout }

// WithConnections returns the configuration with another number of queries at once.
func (c Config) WithConnections(connections int) Config {
	c.connections = connections
	return c
}

// WithMaxInsertBytes returns the configuration with another bound of one INSERT's data.
func (c Config) WithMaxInsertBytes(bytes int64) Config {
	c.maxInsertBytes = bytes
	return c
}

// WithStopTimeout returns the configuration with another time for queries to end.
func (c Config) WithStopTimeout(timeout time.Duration) Config {
	c.stopTimeout = timeout
	return c
}

// WithMaxFailedStarts returns the configuration with another number of failed starts.
func (c Config) WithMaxFailedStarts(starts int) Config {
	c.maxFailedStarts = starts
	return c
}
