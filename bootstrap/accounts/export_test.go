package accounts

import "time"

// WithAttempts returns the configuration with another number of attempts.
func (c Config) WithAttempts(attempts int) Config {
	c.attempts = attempts
	return c
}

// WithWaits returns the configuration with another first pause and idle timeout.
func (c Config) WithWaits(firstPause, idleTimeout time.Duration) Config {
	c.firstPause, c.idleTimeout = firstPause, idleTimeout
	return c
}
