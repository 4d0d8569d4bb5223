package search

import (
	"sync"
	"sync/atomic"
)

// manyTokens is the number of tokens from which on two goroutines search the segments. With fewer,
// a search takes at most some milliseconds, and the second core serves other clients better.
const manyTokens = 5_000_000

// ask finds the candidates of each segment and returns how many documents have them. It calls each
// with the candidates of each segment, in any order, one call at a time.
func (x *Inverted) ask(p *plan, v *version, isScored bool, each func(*candidates)) (total int) {
	var next atomic.Int64
	var mu sync.Mutex
	work := func() {
		c := x.candidates.Get().(*candidates) // the pool's New makes nothing else
		for i := next.Add(1) - 1; i < int64(len(v.segments)); i = next.Add(1) - 1 {
			c.find(p, v.segments[i], isScored)
			count := c.count(&p.filter)
			func() {
				mu.Lock()
				defer mu.Unlock()
				total += count
				each(c)
			}()
			c.reset()
		}
		x.candidates.Put(c) // not deferred: after a panic c is not clean
	}
	// A slow filter may call functions of the caller, which are not made for two goroutines.
	if v.live < x.manyTokens || p.filter.isSlow {
		work()
		return total
	}
	var helper sync.WaitGroup
	var failure any
	helper.Go(func() {
		defer func() { failure = recover() }() // a panic must end the request, not the process
		work()
	})
	func() {
		defer helper.Wait() // after a panic too: the helper uses memory of the caller
		work()
	}()
	if failure != nil {
		panic(failure)
	}
	return total
}
