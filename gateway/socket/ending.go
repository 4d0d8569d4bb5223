package socket

import (
	"errors"
	"sync"
)

// Why a session ends, whatever it serves.
var (
	ErrStops = errors.New("the server stops; connect again")
	// ErrInternal ends a session that panicked.
	ErrInternal = errors.New("internal error")
)

// Ending tells all goroutines that serve a client that they must end: once, with a reason. Any
// goroutine may use it.
type Ending struct {
	ended chan struct{}
	once  sync.Once
	why   error
}

// NewEnding returns an Ending that has not been ended.
func NewEnding() *Ending { return &Ending{ended: make(chan struct{})} }

// End ends the service of the client. Only the first call counts, and its reason.
func (e *Ending) End(why error) {
	e.once.Do(func() {
		e.why = why
		close(e.ended)
	})
}

// Ended returns a channel that is closed by the first call of End.
func (e *Ending) Ended() <-chan struct{} { return e.ended }

// Over returns whether End was called.
func (e *Ending) Over() bool {
	select {
	case <-e.ended:
		return true
	default:
		return false
	}
}

// Why returns the reason that End was given. It may be called once Ended is closed.
func (e *Ending) Why() error { return e.why }
