package listen

import "net"

// Bound reports where a server listens, once it does. Servers embed it.
type Bound struct {
	ready chan struct{}
	addr  string
}

// NewBound returns the Bound of a server that does not listen yet.
func NewBound() *Bound { return &Bound{ready: make(chan struct{})} }

// Announce notes that connections to addr are accepted from now on. It may be called once.
func (b *Bound) Announce(addr net.Addr) {
	b.addr = addr.String()
	close(b.ready)
}

// Ready is closed once the server accepts connections.
func (b *Bound) Ready() <-chan struct{} { return b.ready }

// Addr returns the host:port that the server listens on; empty until Ready is closed.
func (b *Bound) Addr() string {
	select {
	case <-b.ready:
		return b.addr
	default:
		return ""
	}
}
