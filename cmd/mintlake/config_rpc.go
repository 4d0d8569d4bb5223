package main

import (
	"net"
	"net/url"
	"time"

	"github.com/mintlake/mintlake/gateway/jsonrpc"
)

// dasOff is the value of rpc.das_api with which the gateway passes DAS methods on to its upstreams.
const dasOff = "off"

// validateRPC reports the problems of the gateway's settings.
func (c *Config) validateRPC(bad func(key string, value any, rule string)) {
	if ws := c.RPC.WSAddr; ws != "" && ws != jsonrpc.WebSocketsOff {
		if _, _, err := net.SplitHostPort(ws); err != nil {
			bad("rpc.ws_addr", ws, "must be host:port, off, or empty")
		}
	}
	for _, upstream := range c.RPC.Upstream {
		if u, err := url.Parse(upstream); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			bad("rpc.upstream", redactURL(upstream), "must be an http or https URL")
		}
	}
	for _, upstream := range c.RPC.UpstreamWS {
		if u, err := url.Parse(upstream); err != nil || u.Host == "" || (u.Scheme != "ws" && u.Scheme != "wss") {
			bad("rpc.upstream_ws", redactURL(upstream), "must be a ws or wss URL")
		}
	}
	if c.RPC.DASAPI != "" && c.RPC.DASAPI != dasOff {
		if u, err := url.Parse(c.RPC.DASAPI); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" {
			bad("rpc.das_api", redactURL(c.RPC.DASAPI), "must be http(s)://host:port, off, or empty")
		}
	}
	if c.RPC.PollInterval < 100*time.Millisecond || c.RPC.PollInterval > time.Minute {
		bad("rpc.poll_interval", c.RPC.PollInterval, "must be 100ms to 1m")
	}
	if c.RPC.MaxLag < 0 || c.RPC.MaxLag > 1000 {
		bad("rpc.max_lag", c.RPC.MaxLag, "must be 0 to 1000 slots")
	}
	if c.RPC.SendUpstreams < 1 || c.RPC.SendUpstreams > 16 {
		bad("rpc.send_upstreams", c.RPC.SendUpstreams, "must be 1 to 16")
	}
	if !(c.RPC.HedgeShare >= 0 && c.RPC.HedgeShare <= 1) { // in this form NaN is refused too
		bad("rpc.hedge_share", c.RPC.HedgeShare, "must be 0 to 1")
	}
	if c.RPC.CacheBytes < 0 {
		bad("rpc.cache_bytes", c.RPC.CacheBytes, "must be 0 or more")
	}
}
