package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// crowd is many clients that read at the same time and count together what they get.
type crowd struct {
	clients  []*client
	left     atomic.Int64
	done     chan struct{}
	ended    chan error
	stopping atomic.Bool
	reading  sync.WaitGroup
}

// newCrowd opens so many clients, which read until stop is called.
func newCrowd(count int, open func(i int) (*client, error)) (*crowd, error) {
	clients, err := connect(count, open)
	if err != nil {
		return nil, err
	}
	c := &crowd{clients: clients, done: make(chan struct{}, 1), ended: make(chan error, len(clients))}
	for _, one := range clients {
		c.reading.Go(func() {
			if err := one.count(&c.left, func() { c.done <- struct{}{} }); !c.stopping.Load() && !quiet(err) {
				c.ended <- fmt.Errorf("%w: %w", errEnd, err)
			}
		})
	}
	return c, nil
}

// expect sets how many transactions wait waits for. It collects the garbage of this process, so
// that this does not happen while the clock runs.
func (c *crowd) expect(deliveries int) {
	c.left.Store(int64(deliveries))
	runtime.GC()
}

// wait returns when the clients have read all that expect set.
func (c *crowd) wait() error {
	select {
	case <-c.done:
		return nil
	case err := <-c.ended:
		return err
	case <-time.After(patience):
		return fmt.Errorf("%d deliveries did not come within %s", c.left.Load(), patience)
	}
}

// stop closes the connections and waits for the clients.
func (c *crowd) stop() {
	c.stopping.Store(true)
	for _, one := range c.clients {
		_ = one.conn.Close()
	}
	c.reading.Wait()
}
