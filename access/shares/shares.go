// Package shares shares a bounded number of places among clients.
//
// In: clients that take and give places. Out: a place, or why there is none. Guarantees: what one
// client takes leaves room for others. Counts refuses who wants too many; with Places they wait.
package shares

import "sync"

// Counts counts the places taken in all, and by each client. Many goroutines may use it at once.
type Counts struct {
	// refuse returns why a client that has own of total gets no more; nil if it does.
	refuse func(total, own int) error

	mu    sync.Mutex
	total int
	of    map[string]int
}

// New makes counts. refuse is called under a lock.
func New(refuse func(total, own int) error) *Counts {
	return &Counts{refuse: refuse, of: map[string]int{}}
}

// Take counts one more of a client, for which the caller must call Give. Its error is that of
// refuse.
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

// Dynamic bounds the places to most, and what one client may have of them to as many as are free
// beside it (dynamic thresholds: Choudhury and Hahne, 1998). So a client alone gets half of them,
// and n that want all they can get leave one of n+1 parts free. Many of them may take the last one.
// Then the error is all, and for a client that alone has too many it is own.
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
