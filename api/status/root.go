package status

import (
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
)

// seal is a slot whose root is due. ends are the ends of the topics when the coverage had reached
// the slot: once the replica has applied the records before them, the root can be made. done is set
// if the source is done: then the root is that of all slots.
type seal struct {
	slot uint64
	done bool
	ends offsets
}

// advanceRoot makes the root that is due, if the replica has applied enough, and finds the root
// that is due next. ends must have been read after view: then every fact of the view's slots is
// before them. ends is nil if the offsets could not be read.
func (c *Collector) advanceRoot(view replica.View, ends offsets) {
	if c.due != nil && reached(c.copy.Applied(), c.due.ends) {
		c.copy.Seal(c.due.slot, c.due.done)
		c.sealed, c.due = *c.due, nil
	}
	if c.due != nil || ends == nil {
		return
	}
	next := seal{slot: view.Coverage.ToSlot / root.SealEvery * root.SealEvery, ends: ends}
	if view.Source.GetDone() {
		next.slot, next.done = max(view.Source.GetSlot(), view.Coverage.ToSlot), true
	}
	if next.slot < view.Coverage.FromSlot {
		return // nothing is known of the slot
	}
	// A source that is done has no new slots, but facts may still be read, for example by enrich.
	if next.slot > c.sealed.slot || next.done && !same(next.ends, c.sealed.ends) {
		c.due = &next
	}
}

// rootTopics have the facts that the root is made of.
var rootTopics = []string{schemas.TopicTokenEvents, schemas.TopicEnrichments}

// reached returns whether applied is at ends, or after them, in all partitions of rootTopics.
func reached(applied, ends offsets) bool {
	for tp, end := range ends {
		for _, topic := range rootTopics {
			if tp.Topic == topic && applied[tp] < end {
				return false
			}
		}
	}
	return true
}

// same returns whether a and b are equal in all partitions of rootTopics.
func same(a, b offsets) bool { return reached(a, b) && reached(b, a) }

func (c *Collector) root() Root {
	current, known := c.copy.Root()
	if !known || current.Slot == 0 {
		return Root{}
	}
	hash, hashV2 := current.Hash.String(), current.HashV2.String()
	return Root{Slot: &current.Slot, Hash: &hash, HashV2: &hashV2}
}
