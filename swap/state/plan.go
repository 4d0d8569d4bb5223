package state

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// plan is what a file has of the certain pools and pairs. Until place is called, accounts are named
// by their number among all.
type plan struct {
	accounts []placed
	pools    []storedPool
	needs    []uint32
	pairs    []storedPair
	asked    []uint32
}

// placed is an account to be written: as it was entered, or else that of the base.
type placed struct {
	key  pubkey.Key
	kept *kept
	at   uint32
}

func (c *Checkpoint) data(p placed) []byte {
	switch {
	case p.kept == nil:
		return c.base.dataOf(p.at)
	case p.kept.version.account == nil:
		return nil
	}
	return p.kept.version.account.Data
}

// plan brings together what was entered and what only the base has.
func (c *Checkpoint) plan() *plan {
	all := c.all()
	groups := c.groups(numbersOf(all, c))
	slices.SortFunc(groups, func(x, y group) int { return compareStored(x.storedPair, y.storedPair) })
	l := &plan{}
	for _, g := range groups {
		first := uint32(len(l.pools))
		l.pairs = append(l.pairs, storedPair{a: g.a, b: g.b, pools: first, asked: g.asked})
		for _, p := range g.list {
			l.pools = append(l.pools, storedPool{account: p.needs[0], needs: uint32(len(l.needs)), own: p.own, asked: p.asked})
			l.needs = append(l.needs, p.needs...)
		}
	}
	for _, p := range c.order() {
		if n, ok := slices.BinarySearchFunc(l.pairs, storedPair{a: find(all, p.a), b: find(all, p.b)}, compareStored); ok {
			l.asked = append(l.asked, uint32(n))
		}
	}
	l.place(all)
	return l
}

// find returns the number of the account with a key.
func find(all []placed, key pubkey.Key) uint32 {
	i, _ := slices.BinarySearchFunc(all, key, func(p placed, key pubkey.Key) int { return bytes.Compare(p.key[:], key[:]) })
	return uint32(i)
}

// numbers are those of the accounts that were entered, and of the accounts of the base.
type numbers struct {
	all     []placed
	entered map[*history]uint32
	base    []uint32
}

func numbersOf(all []placed, c *Checkpoint) numbers {
	n := numbers{all, make(map[*history]uint32, len(c.accounts)), make([]uint32, c.base.len())}
	for i, a := range all {
		at, based := a.at, true
		if a.kept != nil {
			n.entered[a.kept.history] = uint32(i)
			at, based = c.base.find(a.key)
		}
		if based {
			n.base[at] = uint32(i)
		}
	}
	return n
}

// group is a pair with its pools, ordered by address.
type group struct {
	storedPair
	list []member
}

// member is a pool of a group.
type member struct {
	needs []uint32
	own   uint8
	asked bool
}

func (c *Checkpoint) groups(at numbers) (groups []group) {
	for _, q := range c.quiet {
		g := group{storedPair: storedPair{a: find(at.all, q.pair.a), b: find(at.all, q.pair.b), asked: q.asked}}
		for _, p := range q.pools {
			m := member{make([]uint32, len(p.needs)), p.own, p.asked}
			for i, h := range p.needs {
				m.needs[i] = at.entered[h]
			}
			g.list = append(g.list, m)
		}
		slices.SortFunc(g.list, func(x, y member) int { return cmp.Compare(x.needs[0], y.needs[0]) })
		groups = append(groups, g)
	}
	for n, stored := range c.base.pairs {
		if c.taken(n) {
			continue
		}
		g := group{storedPair: storedPair{a: at.base[stored.a], b: at.base[stored.b], asked: stored.asked}}
		for i, end := c.base.poolsOf(n); i < end; i++ {
			needs := slices.Clone(c.base.needsOf(i))
			for j, need := range needs {
				needs[j] = at.base[need]
			}
			g.list = append(g.list, member{needs, c.base.pools[i].own, c.base.pools[i].asked})
		}
		groups = append(groups, g)
	}
	return groups
}

// order returns the asked pairs that are certain, the oldest first.
func (c *Checkpoint) order() (pairs []pair) {
	for _, n := range c.base.asked {
		if !c.taken(int(n)) {
			pairs = append(pairs, c.base.pairOf(int(n)))
		}
	}
	return append(pairs, c.asked...)
}

// all returns the accounts of the root in the order of their keys.
func (c *Checkpoint) all() []placed {
	slices.SortFunc(c.accounts, func(a, b kept) int { return bytes.Compare(a.key[:], b.key[:]) })
	all := make([]placed, 0, len(c.accounts)+c.base.len())
	next := uint32(0)
	// below takes the accounts of the base that come before a key; nil for all.
	below := func(key *pubkey.Key) {
		for ; next < uint32(c.base.len()); next++ {
			k := c.base.key(next)
			if key != nil && bytes.Compare(k[:], key[:]) >= 0 {
				return
			}
			all = append(all, placed{key: k, at: next})
		}
	}
	for i := range c.accounts {
		k := &c.accounts[i]
		if below(&k.key); next < uint32(c.base.len()) && c.base.key(next) == k.key {
			next++
		}
		if !k.missing {
			all = append(all, placed{key: k.key, kept: k})
		}
	}
	below(nil)
	return all
}

// place leaves out the accounts that nothing needs any more.
func (l *plan) place(all []placed) {
	needed := make([]bool, len(all))
	for i, a := range all {
		needed[i] = a.kept != nil && a.kept.used
	}
	for _, i := range l.needs {
		needed[i] = true
	}
	for _, p := range l.pairs {
		needed[p.a], needed[p.b] = true, true
	}
	next := make([]uint32, len(all))
	for i, a := range all {
		next[i] = uint32(len(l.accounts))
		if needed[i] {
			l.accounts = append(l.accounts, a)
		}
	}
	for i := range l.pools {
		l.pools[i].account = next[l.pools[i].account]
	}
	for i := range l.needs {
		l.needs[i] = next[l.needs[i]]
	}
	for i := range l.pairs {
		l.pairs[i].a, l.pairs[i].b = next[l.pairs[i].a], next[l.pairs[i].b]
	}
}
