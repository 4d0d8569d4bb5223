package logos

import (
	"container/heap"
	"time"
)

// scheduled is embedded in what a dueHeap holds.
type scheduled struct {
	due   time.Time // zero: never
	place int       // in the heap, -1 = not in it
}

func (s *scheduled) schedule() *scheduled { return s }

// dueHeap is a heap by due time.
type dueHeap[E interface{ schedule() *scheduled }] []E

// put adds an element, or moves or removes it, after its due time was set.
func (h *dueHeap[E]) put(e E) {
	switch s := e.schedule(); {
	case s.due.IsZero() && s.place >= 0:
		heap.Remove(h, s.place)
	case s.due.IsZero():
	case s.place >= 0:
		heap.Fix(h, s.place)
	default:
		heap.Push(h, e)
	}
}

func (h dueHeap[E]) Len() int           { return len(h) }
func (h dueHeap[E]) Less(i, j int) bool { return h[i].schedule().due.Before(h[j].schedule().due) }
func (h dueHeap[E]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].schedule().place, h[j].schedule().place = i, j
}

// Push implements heap.Interface.
func (h *dueHeap[E]) Push(x any) {
	e := x.(E)
	e.schedule().place = len(*h)
	*h = append(*h, e)
}

// Pop implements heap.Interface.
func (h *dueHeap[E]) Pop() any {
	old := *h
	e := old[len(old)-1]
	var none E
	old[len(old)-1] = none
	*h = old[:len(old)-1]
	e.schedule().place = -1
	return e
}
