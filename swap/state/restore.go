package state

import "fmt"

// Restore takes over a checkpoint that was read. The Fold must be new. The stream must then go on
// behind the checkpoint's slot, or Reset must be called: it keeps the pools and pairs, but no
// state. The error wraps errCheckpoint if it has more pools or pairs than may be held; the Fold is
// then as before.
func (f *Fold) Restore(c *Checkpoint) error {
	pools, pairs := c.Len()
	if pools > f.cfg.MaxPools || pairs > f.cfg.MaxAsked {
		return fmt.Errorf("%w: it has %d pools and %d pairs, at most %d and %d are held", errCheckpoint, pools, pairs, f.cfg.MaxPools, f.cfg.MaxAsked)
	}
	f.tree.resume(c.Slot, &bank{complete: true, hash: c.Hash, blockTime: c.UnixTime})
	f.confirmed = c.Slot
	f.under = f.underlayOf(c.base)
	for n := range c.base.pairs {
		f.under.count(n)
	}
	f.bytes = c.base.bytes()
	if c.venues != sumOf(f.venues) {
		f.enterAll() // a pair may have pools of new venues
	}
	whole := true
	for _, address := range c.pools {
		h := f.history(address)
		whole = h != nil && f.discover(address, h.versions[0].account) && whole
	}
	for _, p := range c.pairs {
		f.Ask(p.pair.a, p.pair.b)
		// If a pool is missing now, nobody knows of which pair it was.
		if p.listed && whole {
			f.Complete(p.pair.a, p.pair.b)
		}
	}
	f.Publish()
	return nil
}
