package listen

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"github.com/mintlake/mintlake/access/proxies"
)

// Connections counts the open connections of a listener, and bounds them: those of all clients
// together, and those of each address. An IPv6 address counts as its /64 network, because one
// client usually has a whole one. Many goroutines may use it at once.
type Connections struct {
	most, mostOfOne int
	proxies         proxies.List

	mu   sync.Mutex
	open int
	of   map[netip.Prefix]int // by the client's network
}

// NewConnections returns the count of a listener that may have most connections, mostOfOne of them
// from one address. Only most applies to the connections of trusted proxies, which have many
// clients.
func NewConnections(most, mostOfOne int, trusted proxies.List) *Connections {
	return &Connections{most: most, mostOfOne: mostOfOne, proxies: trusted, of: map[netip.Prefix]int{}}
}

// Enter counts a connection and returns 0. The caller must call Leave once when the connection is
// over. If the connection is one too many, Enter does not count it, and returns the HTTP status and
// the message of its refusal.
func (c *Connections) Enter(peer net.Addr) (status int, message string) {
	client, counted := c.proxies.NetworkOf(peer)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.open >= c.most:
		return http.StatusServiceUnavailable, fmt.Sprintf("the server has as many connections as it may: %d", c.most)
	case counted && c.of[client] >= c.mostOfOne:
		return http.StatusTooManyRequests, fmt.Sprintf("the server has as many connections of your address as it may: %d", c.mostOfOne)
	}
	c.open++
	if counted {
		c.of[client]++
	}
	return 0, ""
}

// Leave takes a connection that Enter counted out of the count.
func (c *Connections) Leave(peer net.Addr) {
	client, counted := c.proxies.NetworkOf(peer)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if !counted {
		return
	}
	if c.of[client]--; c.of[client] == 0 {
		delete(c.of, client)
	}
}

// Open returns how many connections are open.
func (c *Connections) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// OpenOf returns how many connections of one client's network are open.
func (c *Connections) OpenOf(client netip.Prefix) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[client]
}
