package socket

import (
	"errors"
	"sync"
)

// Why a session ends, whatever it serves.
var (
	ErrStops = errors.New("the server stops; connect again")
	// ErrInternal ends what panicked.
	ErrInternal = errors.New("internal error")
)

// Ending is how a client is given up: once, with a reason.
type Ending struct {
	ended chan struct{}
	once  sync.Once
	why   error
}

// NewEnding returns the Ending of a client that is served.
func NewEnding() *Ending { return &Ending{ended: make(chan struct{})} }

// End gives up the client, for the reason of the first call.
func (e *Ending) End(why error) {
	e.once.Do(func() {
		e.why = why
		close(e.ended)
	})
}

// Ended is closed when the client is given up.
func (e *Ending) Ended() <-chan struct{} { return e.ended }

// Over returns whether the client was given up.
func (e *Ending) Over() bool {
	select {
	case <-e.ended:
		return true
	default:
		return false
	}
}

// Why returns the reason. It may be called once Ended is closed.
func (e *Ending) Why() error { return e.why }
