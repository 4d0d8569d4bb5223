package documents

import "time"

// WithPage returns the configuration with another page and another rest between two walks.
func (c Config) WithPage(page int, rest time.Duration) Config {
	c.page, c.rest = page, rest
	return c
}
