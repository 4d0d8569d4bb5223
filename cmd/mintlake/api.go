package main

import (
	"github.com/mintlake/mintlake/api"
)

// apiConfig is the API room's configuration. It joins settings that are in sections of their own.
func (c *Config) apiConfig() api.Config {
	cfg := c.API
	cfg.RateLimits, cfg.AllowedHosts = c.RateLimits, c.AllowedHosts
	return cfg
}

// validateAPI returns the problems of the API's settings. It also checks that stop_timeout leaves
// the API enough time to stop.
func (c *Config) validateAPI(bad func(key string, value any, rule string)) []error {
	if c.API.DrainTime+c.API.ShutdownGrace >= c.StopTimeout {
		bad("api.drain_time", c.API.DrainTime, "must, together with api.shutdown_grace, be shorter than stop_timeout")
	}
	cfg := c.apiConfig()
	if err := cfg.Validate(); err != nil {
		// A joined error is split, so that the caller can sort its problems among all others.
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			return joined.Unwrap()
		}
		return []error{err}
	}
	return nil
}
