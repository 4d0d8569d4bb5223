// Package shares shares a bounded number of places among clients.
//
// In: clients that take and give places. Out: a place, or why there is none. Guarantees: what one
// client takes leaves room for others. Counts refuses a client that wants too many, and Places lets
// it wait.
package shares

import "sync"

// Counts counts the places taken in all, and by each client. Many goroutines may use it at once.
type Counts struct {
	// refuse is the argument of New.
	refuse func(total, own int) error

	mu    sync.Mutex
	total int
	of    map[string]int // by the client
}

// New makes counts. refuse returns why a client with own of total taken places gets no further one;
// nil if it gets one. It is called under a mutex.
func New(refuse func(total, own int) error) *Counts {
	return &Counts{refuse: refuse, of: map[string]int{}}
}

// Take counts one more place of a client. It returns the error of refuse if the client gets none.
// Otherwise the caller must call Give.
func (c *Counts) Take(client string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refuse(c.total, c.of[client]); err != nil {
		return err
	}
	c.total++
	c.of[client]++
	return nil
}

// Give gives a place back.
func (c *Counts) Give(client string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total--
	if c.of[client]--; c.of[client] == 0 {
		delete(c.of, client)
	}
}

// Taken returns how many places are taken.
func (c *Counts) Taken() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// Dynamic returns a function refuse for New. It bounds all places to most, and the places of one
// client to as many as are free (dynamic thresholds: Choudhury and Hahne, 1998). So a client alone
// gets half of the places, and n clients that take all they can get leave one part in n+1 free. If
// many clients have taken even the last place, the error is all. If a client has as many as are
// free, the error is own.
func Dynamic(most int, all, own error) func(total, taken int) error {
	return func(total, taken int) error {
		switch free := most - total; {
		case free <= 0:
			return all
		case taken >= free:
			return own
		}
		return nil
	}
}
