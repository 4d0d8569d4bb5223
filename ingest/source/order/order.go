// Package order puts the blocks of a stream into the order of their parents.
//
// In: blocks in any order, any number of times, with gaps; slots that died or were finalised. Out:
// steps: each block once, parents first if the parent comes in time; slots without a block; gaps.
// Guarantees: pure (time is an argument). Memory is bounded by Config.MaxBlocks and the window.
// Every block that was added comes out, with two exceptions: blocks so far above the tip that they
// are not believed, which are counted, and waiting blocks whose slot died or lost its fork.
package order

import (
	"cmp"
	"time"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Config bounds the waiting for a parent.
type Config struct {
	// MaxBlocks is how many blocks may wait for a parent before the line is stuck. Default 64.
	MaxBlocks int
	// MaxWait is how long a block may wait for its parent before the line is stuck; 0 = for ever.
	MaxWait time.Duration
	// Skips means that the link of a block to its parent proves that the slots between have no
	// block. It is true at commitment confirmed and above, and false if the stream has several
	// forks.
	Skips bool
}

// window is how far back, in slots, blocks are remembered to recognise repeats and links. Geyser
// servers replay a few thousand slots at most.
const window = 16384

// maxJump bounds, in slots, how far above the tip a block without a waiting child is believed, and
// how long a run of skipped slots may be.
const maxJump = 10_000

// StepKind is what the caller has to do.
type StepKind int

// The kinds of steps.
const (
	// Deliver passes on Step.Block.
	Deliver StepKind = iota
	// Skip means that slot From has no block.
	Skip
	// Lost means that the block of slot From, which was delivered, lost its fork. At commitment
	// confirmed that is the provider's fault.
	Lost
	// Gap means that blocks from slot From to To, both included, are missing.
	Gap
)

// Step is one thing to do. Steps must be carried out in order.
type Step struct {
	Kind     StepKind
	Block    *chain.Block
	From, To uint64
}

// Line is the state: the blocks delivered lately, and those that wait. Not safe for concurrent use.
type Line struct {
	cfg       Config
	tip       uint64
	base      uint64 // everything up to here was ingested before the line started
	started   bool
	first     uint64 // the lowest slot delivered, if the line resumes nothing
	before    uint64 // the parent of first
	delivered map[place]link
	bySlot    map[uint64]pubkey.Key // the last hash delivered of each slot
	// jumped are slots that the link of a delivered block skips. contested are delivered blocks
	// that others contradict.
	jumped    map[uint64]bool
	contested map[place]bool
	waiting   map[place]waiter
	dropped   int // see Dropped
}

// place identifies a block. The hash alone is not enough: a block with a false slot could then keep
// the true one out.
type place struct {
	slot uint64
	hash pubkey.Key
}

func at(b *chain.Block) place { return place{b.Slot, b.Blockhash} }

// waiter is a block that waits for its parent.
type waiter struct {
	block *chain.Block
	since time.Time
}

// New starts a line after slot resume, up to which everything was ingested before. If resume is 0,
// it starts with the first block that comes.
func New(cfg Config, resume uint64) *Line {
	cfg.MaxBlocks = cmp.Or(max(cfg.MaxBlocks, 0), 64)
	return &Line{cfg: cfg, tip: resume, base: resume, started: resume > 0, delivered: map[place]link{}, bySlot: map[uint64]pubkey.Key{},
		jumped: map[uint64]bool{}, contested: map[place]bool{}, waiting: map[place]waiter{}}
}

// Tip returns the highest slot delivered, or the slot after which the line started; 0 if there is
// none.
func (l *Line) Tip() uint64 { return l.tip }

// Waiting returns the number of blocks that wait for a parent.
func (l *Line) Waiting() int { return len(l.waiting) }

// Dropped returns how many blocks, and reports of dead slots, were dropped because they cannot be
// true: see Release and SlotDead.
func (l *Line) Dropped() int { return l.dropped }

// Add adds a block, whose parent slot must be set. It returns no steps if the block has to wait for
// its parent, unless too many blocks wait already. repeated means that the line has the block
// already, delivered or waiting.
func (l *Line) Add(b *chain.Block, now time.Time) (steps []Step, repeated bool) {
	_, waits := l.waiting[at(b)]
	_, delivered := l.delivered[at(b)]
	switch {
	case waits || delivered:
		return nil, true
	case !l.started, l.fits(b):
		return l.drain(l.deliver(nil, b)), false
	}
	l.waiting[at(b)] = waiter{b, now}
	// The caller should have called Release long before. Keep the bound nevertheless.
	if len(l.waiting) > 4*l.cfg.MaxBlocks {
		return l.Release(), false
	}
	return nil, false
}

// fits reports whether b can be delivered now: its parent was delivered, or b is not above the tip
// (a late block, or one of another fork).
func (l *Line) fits(b *chain.Block) bool {
	return b.Slot <= l.tip || b.Slot-*b.ParentSlot <= maxJump && l.linked(b)
}

// linked reports whether b's parent was delivered, or ingested before the line started.
func (l *Line) linked(b *chain.Block) bool {
	if _, ok := l.delivered[place{*b.ParentSlot, b.ParentBlockhash}]; ok {
		return true
	}
	// The parent may be known by its slot only: it was ingested before the line started, or the
	// source gives no parent hash or the wrong parent slot.
	if _, known := l.bySlot[*b.ParentSlot]; known {
		return b.ParentBlockhash == (pubkey.Key{}) || b.ParentGuessed
	}
	return *b.ParentSlot == l.tip || *b.ParentSlot <= l.base && l.started
}

// deliver appends the steps for b: the skipped slots before it, b itself, and what it decides about
// contested blocks.
func (l *Line) deliver(steps []Step, b *chain.Block) []Step {
	l.contest(b)
	steps = l.begin(steps, b)
	if l.cfg.Skips && b.Slot-*b.ParentSlot <= maxJump {
		for s := max(*b.ParentSlot, l.base) + 1; s < b.Slot; s++ {
			if _, ok := l.bySlot[s]; !ok {
				l.jumped[s] = true
				steps = append(steps, Step{Kind: Skip, From: s})
			}
		}
	}
	l.delivered[at(b)], l.bySlot[b.Slot] = link{place{*b.ParentSlot, b.ParentBlockhash}}, b.Blockhash
	l.tip, l.started = max(l.tip, b.Slot), true
	l.forget()
	return l.settle(append(steps, Step{Kind: Deliver, Block: b}))
}

// begin notes the first block of the line. A late block below the first block becomes the first
// one. The slots from there up to the parent of the old first block are then missing.
func (l *Line) begin(steps []Step, b *chain.Block) []Step {
	switch {
	case l.started && b.Slot >= l.first:
		return steps
	case l.started && b.Slot < l.before && l.before-b.Slot <= maxJump:
		steps = append(steps, Step{Kind: Gap, From: b.Slot + 1, To: l.before})
	}
	l.first, l.before = b.Slot, *b.ParentSlot
	return steps
}

// drain delivers the waiting blocks that can be delivered now, lowest slot first.
func (l *Line) drain(steps []Step) []Step {
	for {
		next := l.lowest(l.fits)
		if next == nil {
			return steps
		}
		delete(l.waiting, at(next))
		steps = l.deliver(steps, next)
	}
}

// lowest returns the lowest waiting block for which ok is true.
func (l *Line) lowest(ok func(*chain.Block) bool) (b *chain.Block) {
	for _, w := range l.waiting {
		if (b == nil || w.block.Slot < b.Slot || w.block.Slot == b.Slot && string(w.block.Blockhash[:]) < string(b.Blockhash[:])) && ok(w.block) {
			b = w.block
		}
	}
	return b
}

// Stuck reports whether blocks have waited for a parent for too long, or too many wait. The missing
// blocks must then be asked for again, or given up with Release.
func (l *Line) Stuck(now time.Time) bool {
	if len(l.waiting) > l.cfg.MaxBlocks {
		return true
	}
	if l.cfg.MaxWait <= 0 {
		return false
	}
	for _, w := range l.waiting {
		if now.Sub(w.since) > l.cfg.MaxWait {
			return true
		}
	}
	return false
}

// Release gives up on the parent of the lowest waiting block. It returns a Gap, the block, and what
// follows from the block. If the block is far above the tip and has no waiting child, Release drops
// it and takes the next one.
func (l *Line) Release() []Step {
	for len(l.waiting) > 0 {
		b := l.lowest(func(*chain.Block) bool { return true })
		delete(l.waiting, at(b))
		if l.started && b.Slot > l.tip+maxJump && !l.vouched(b) {
			l.dropped++
			continue
		}
		gap := Step{Kind: Gap, From: min(l.tip+1, *b.ParentSlot), To: *b.ParentSlot}
		return l.drain(l.deliver([]Step{gap}, b))
	}
	return nil
}

// vouched reports whether a waiting block names b as its parent.
func (l *Line) vouched(b *chain.Block) bool {
	for _, w := range l.waiting {
		if w.block.ParentBlockhash == b.Blockhash && *w.block.ParentSlot == b.Slot {
			return true
		}
	}
	return false
}

// Flush releases all waiting blocks, at the end of a finite stream.
func (l *Line) Flush() (steps []Step) {
	for len(l.waiting) > 0 {
		steps = append(steps, l.Release()...)
	}
	return steps
}

// SlotDead handles the report that the block of a slot died. It drops a waiting block. If a
// delivered block has children, the server contradicts itself: SlotDead ignores the report and
// counts it in Dropped.
func (l *Line) SlotDead(slot uint64) []Step {
	for p := range l.waiting {
		if p.slot == slot {
			delete(l.waiting, p)
		}
	}
	hash, ok := l.bySlot[slot]
	switch p := (place{slot, hash}); {
	case !ok:
		return nil
	case l.built(p):
		l.dropped++
		return nil
	default:
		return l.lose(p)
	}
}

// Finalized handles the report that slot is final and parent is its parent. All blocks between them
// lost their fork: waiting ones are dropped, delivered ones become Lost.
func (l *Line) Finalized(slot, parent uint64) (steps []Step) {
	if slot <= parent || slot-parent > maxJump {
		return nil
	}
	for s := parent + 1; s < slot; s++ {
		for p := range l.waiting {
			if p.slot == s {
				delete(l.waiting, p)
			}
		}
		if hash, ok := l.bySlot[s]; ok {
			steps = append(steps, l.lose(place{s, hash})...)
		}
	}
	return steps
}

// forget removes what is below the window. Because a removal looks at everything, forget waits
// until the line remembers twice as many blocks as the window has slots.
func (l *Line) forget() {
	if len(l.delivered) < 2*window || l.tip < window {
		return
	}
	floor := l.tip - window
	for p := range l.delivered {
		if p.slot < floor {
			delete(l.delivered, p)
		}
	}
	for slot := range l.bySlot {
		if slot < floor {
			delete(l.bySlot, slot)
		}
	}
	for slot := range l.jumped {
		if slot < floor {
			delete(l.jumped, slot)
		}
	}
	for p := range l.contested {
		if p.slot < floor {
			delete(l.contested, p)
		}
	}
}
