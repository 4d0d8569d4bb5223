package search

import (
	"sync"
	"sync/atomic"
)

// manyTokens is from how many tokens on the segments are asked by two goroutines. Of fewer, an
// answer takes less than some milliseconds, and other clients can use the processor better.
const manyTokens = 5_000_000

// ask finds the candidates of each segment and returns how many documents have them. It calls each,
// one call at a time, with the candidates of each segment, in any order.
func (x *Inverted) ask(p *plan, v *version, isScored bool, each func(*candidates)) (total int) {
	var next atomic.Int64
	var one sync.Mutex
	work := func() {
		c := x.candidates.Get().(*candidates) // the pool makes no other
		for i := next.Add(1) - 1; i < int64(len(v.segments)); i = next.Add(1) - 1 {
			c.find(p, v.segments[i], isScored)
			count := c.count(&p.filter)
			func() {
				one.Lock()
				defer one.Unlock()
				total += count
				each(c)
			}()
			c.reset()
		}
		x.candidates.Put(c) // not deferred: after a panic c is not clean
	}
	// A slow filter may ask functions of the caller's, which are for one goroutine.
	if v.live < x.manyTokens || p.filter.isSlow {
		work()
		return total
	}
	var helper sync.WaitGroup
	var failure any
	helper.Go(func() {
		defer func() { failure = recover() }() // it must end the request, not the process
		work()
	})
	func() {
		defer helper.Wait() // after a panic too: what is asked belongs to the caller
		work()
	}()
	if failure != nil {
		panic(failure)
	}
	return total
}
