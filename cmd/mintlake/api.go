package main

import (
	"os"
	"runtime/debug"
	"time"

	"github.com/mintlake/mintlake/api"
)

// apiSettings are what the configuration says of the token API; package api has the meaning and the rules.
type apiSettings struct {
	Addr                    string        `koanf:"addr" usage:"token API"`
	Ranking                 string        `koanf:"ranking" usage:"what tokens are ordered by: volume, user_volume or organic_volume"`
	TrustedProxies          []string      `koanf:"trusted_proxies" usage:"addresses or networks whose X-Forwarded-For is believed"`
	BodyLimit               int           `koanf:"body_limit" usage:"largest request body in bytes"`
	ReadTimeout             time.Duration `koanf:"read_timeout" usage:"time in which a request must arrive whole"`
	WriteTimeout            time.Duration `koanf:"write_timeout" usage:"time in which a response must be taken"`
	IdleTimeout             time.Duration `koanf:"idle_timeout" usage:"how long a connection may wait for its next request"`
	MaxConnections          int           `koanf:"max_connections" usage:"most connections at once; beyond, those that wait longest for a request are closed"`
	MaxConnectionsPerClient int           `koanf:"max_connections_per_client" usage:"most connections of one client at once, trusted proxies aside; 0 = no bound"`
	DrainTime               time.Duration `koanf:"drain_time" usage:"how long a node that stops says so on /readyz and goes on serving, so that load balancers turn away first"`
	ShutdownGrace           time.Duration `koanf:"shutdown_grace" usage:"time requests under way get when the node stops"`
}

func defaultAPISettings() apiSettings {
	d := api.DefaultConfig()
	return apiSettings{
		Addr: d.Addr, Ranking: d.Ranking, TrustedProxies: d.TrustedProxies, BodyLimit: d.BodyLimit, ReadTimeout: d.ReadTimeout, WriteTimeout: d.WriteTimeout, IdleTimeout: d.IdleTimeout,
		MaxConnections: d.MaxConnections, MaxConnectionsPerClient: d.MaxConnectionsPerClient, DrainTime: d.DrainTime, ShutdownGrace: d.ShutdownGrace,
	}
}

// apiConfig is the API room's own configuration.
func (c *Config) apiConfig() api.Config {
	cfg, a := api.DefaultConfig(), &c.API
	cfg.Addr, cfg.Ranking, cfg.TrustedProxies, cfg.BodyLimit = a.Addr, a.Ranking, a.TrustedProxies, a.BodyLimit
	cfg.ReadTimeout, cfg.WriteTimeout, cfg.IdleTimeout = a.ReadTimeout, a.WriteTimeout, a.IdleTimeout
	cfg.MaxConnections, cfg.MaxConnectionsPerClient = a.MaxConnections, a.MaxConnectionsPerClient
	cfg.DrainTime, cfg.ShutdownGrace = a.DrainTime, a.ShutdownGrace
	cfg.RateLimits = c.RateLimits
	return cfg
}

// validateAPI tells the problems of the API room, and whether it has the time to stop.
func (c *Config) validateAPI(bad func(key string, value any, rule string)) []error {
	if c.API.DrainTime+c.API.ShutdownGrace >= c.StopTimeout {
		bad("api.drain_time", c.API.DrainTime, "must, together with api.shutdown_grace, be shorter than stop_timeout")
	}
	cfg := c.apiConfig()
	if err := cfg.Validate(); err != nil {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			return joined.Unwrap()
		}
		return []error{err}
	}
	return nil
}

// collectAt is by how many per cent the heap of a process with the token API may grow before it is collected, instead of Go's 100. The search
// index is hundreds of megabytes that live for ever and are soon looked through, as there is hardly a pointer in them: so collecting
// four times as often costs little, and waiting would double what the node takes.
const collectAt = 25

// boundHeap sets collectAt, unless the environment says otherwise.
func boundHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
}
