package limits

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
)

// neighbours are clients of one /48, each with a /64 of its own.
func neighbour(i int) string {
	var proxies Proxies
	return proxies.Client(netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%x::1", i)), "")
}

func TestScopes(t *testing.T) {
	scopes, count := Networks{8, 32}.Scopes("2001:db8:1:2fe::/64")
	require.Equal(t, []Scope{{"2001:db8:1:2fe::/64", 1, 0, 0}, {"2001:db8:1:200::/56", 8, 56, 1}, {"2001:db8:1::/48", 32, 48, 2}}, scopes[:count])
	for _, c := range []struct {
		networks Networks
		client   string
		count    int
	}{{Networks{}, "2001:db8::/64", 1}, {Networks{0, 32}, "2001:db8::/64", 2}, {Networks{8, 32}, "203.0.113.9", 1}, {Networks{8, 32}, "", 1}, {Networks{8, 32}, "x/64", 1}} {
		_, count := c.networks.Scopes(c.client)
		require.Equal(t, c.count, count, "%+v", c)
	}
}

// takers are a limiter of one node and two nodes that share theirs.
func takers(t *testing.T, rules []Rule, networks Networks) map[string]func(client string, now time.Time) Decision {
	local, err := New(rules, 1024, networks)
	require.NoError(t, err)
	server := miniredis.RunT(t)
	server.SetTime(time.Unix(1_000, 0))
	var nodes []*Shared
	for range 2 {
		own, err := New(rules, 1024, networks)
		require.NoError(t, err)
		node, err := NewShared(patient("redis://"+server.Addr()), SharedDeps{Local: own})
		require.NoError(t, err)
		t.Cleanup(func() { _ = node.client.Close() })
		node.up.Store(true)
		nodes = append(nodes, node)
	}
	turn := 0
	return map[string]func(string, time.Time) Decision{
		"local": func(client string, now time.Time) Decision { return local.Take(client, now, 0) },
		"shared": func(client string, now time.Time) Decision {
			server.SetTime(now)
			turn++
			return nodes[turn%2].Take(client, now, 0)
		},
	}
}

// TestNetworksAreBounded: neighbours pass together, but one /48 is no 65,536 clients.
func TestNetworksAreBounded(t *testing.T) {
	for name, take := range takers(t, []Rule{{10, time.Minute}}, Networks{Factor56: 3, Factor48: 8}) {
		now := time.Unix(1_000, 0)
		passed := func(client string, requests int) (n int) {
			for range requests {
				now = now.Add(time.Microsecond)
				if take(client, now).Allowed {
					n++
				}
			}
			return n
		}
		require.Equal(t, 10, passed(neighbour(0x100), 15), "%s: a client has its own limit", name)
		require.Equal(t, 10, passed(neighbour(0x101), 15), "%s: and its neighbour too", name)
		sum := 0
		for i := range 50 {
			sum += passed(neighbour(0x102+i), 15)
		}
		require.Equal(t, 10, sum, "%s: a /56 has three times as much", name)
		d := take(neighbour(0x1ff), now)
		require.Equal(t, Decision{Limit: 30, Reset: d.Reset, RetryAfter: d.RetryAfter, Network: 56}, d, name)
		for i := range 400 {
			sum += passed(neighbour(0x200+i*16), 1)
		}
		require.Equal(t, 10+50, sum, "%s: a /48 eight times", name)
		require.Equal(t, 48, take(neighbour(0xff00), now).Network, name)
		require.Equal(t, 10, passed("203.0.113.9", 15), "%s: nobody else notices", name)
		require.Equal(t, 10, passed("2001:db8:2::/64", 15), name)
		now = now.Add(time.Minute)
		require.Equal(t, 10, passed(neighbour(0x1ff), 15), "%s: it lasts a window", name)
	}
}

func TestCrowd(t *testing.T) {
	c := NewCrowd(2, Networks{Factor56: 2, Factor48: 3})
	enter := func(client string) bool {
		if c.Full(client) {
			return false
		}
		c.Add(client)
		return true
	}
	require.True(t, enter(neighbour(0x100)))
	require.True(t, enter(neighbour(0x100)))
	require.False(t, enter(neighbour(0x100)))
	require.True(t, enter(neighbour(0x101)))
	require.True(t, enter(neighbour(0x102)))
	require.False(t, enter(neighbour(0x103)), "the /56 holds four")
	require.True(t, enter(neighbour(0x200)))
	require.True(t, enter(neighbour(0x300)))
	require.False(t, enter(neighbour(0x400)), "the /48 holds six")
	require.True(t, enter("203.0.113.9"))
	c.Remove(neighbour(0x300))
	require.True(t, enter(neighbour(0x400)))
	for _, client := range []int{0x100, 0x100, 0x101, 0x102, 0x200, 0x400} {
		c.Remove(neighbour(client))
	}
	c.Remove("203.0.113.9")
	require.Zero(t, c.Len())
}
