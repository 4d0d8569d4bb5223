package registry

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// State is everything known about one mint: the facts that hold, sorted by register and item. The
// zero value knows nothing.
type State struct {
	facts []Fact
}

// StateOf returns the state that holds exactly these facts. They must come from Facts of a state,
// in the same order. The state takes over the slice.
func StateOf(facts []Fact) State { return State{facts: facts} }

// Apply folds a fact into the state and reports whether the state changed. A state holds no dead
// facts, whatever order they come in. So the state of a busy mint stays small if its account is
// read now and then, and a mint that is closed and created again starts anew. Nor does it hold
// facts that were taken back; if a retraction takes facts from it, see TakesBack.
func (s *State) Apply(fact Fact) bool {
	if s.Retracted(&fact) || s.dead(&fact) {
		return false
	}
	changed := s.hold(fact)
	switch {
	case !changed:
	case mayEndOthers(&fact):
		s.drop(s.dead)
	case fact.Register == RegisterRetraction:
		if r, ok := ParseRetracted(fact.Item); ok {
			s.drop(r.Covers)
		}
	}
	return changed
}

// drop removes the facts that have become dead. One pass is enough. It may drop a fact that makes
// others dead, but what made that fact dead makes those others dead too.
func (s *State) drop(dead func(held *Fact) bool) {
	if !slices.ContainsFunc(s.facts, func(held Fact) bool { return dead(&held) }) {
		return
	}
	kept := make([]Fact, 0, len(s.facts))
	for i := range s.facts {
		if !dead(&s.facts[i]) {
			kept = append(kept, s.facts[i])
		}
	}
	s.facts = kept
}

// hold keeps the fact if it beats the one held for its register and item, and reports whether it
// does.
func (s *State) hold(fact Fact) bool {
	i, found := s.find(fact.Register, fact.Item)
	if !found {
		s.facts = slices.Insert(s.facts, i, fact)
		return true
	}
	if !fact.beats(&s.facts[i]) {
		return false
	}
	s.facts[i] = fact
	return true
}

// find returns the index of the fact held for register and item, and true; or the index where such
// a fact belongs, and false. It is a binary search, written out because it is the inner loop of the
// fold and of every lookup.
func (s *State) find(register Register, item string) (int, bool) {
	from, to := 0, len(s.facts)
	if to > 0 { // facts applied in order go to the end
		if last := &s.facts[to-1]; last.Register < register || last.Register == register && last.Item < item {
			return to, false
		}
	}
	for from < to {
		middle := int(uint(from+to) >> 1)
		held := &s.facts[middle]
		if held.Register < register || held.Register == register && held.Item < item {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from, from < len(s.facts) && s.facts[from].Register == register && s.facts[from].Item == item
}

// Facts returns the facts that hold, sorted by register and item. The slice belongs to the state:
// do not change it.
func (s *State) Facts() []Fact {
	return s.facts
}

// Extensions returns the names of the mint's Token-2022 extensions, sorted.
func (s *State) Extensions() []string {
	var kinds []string
	first, _ := s.find(RegisterExtension, "")
	for i := first; i < len(s.facts) && s.facts[i].Register == RegisterExtension; i++ {
		if !strings.Contains(s.facts[i].Item, ".") { // not an attribute
			kinds = append(kinds, s.facts[i].Item)
		}
	}
	return kinds
}

func (s *State) fact(register Register) (*Fact, bool) {
	return s.held(register, "")
}

// value returns the register's value; empty if it is unknown.
func (s *State) value(register Register) string {
	if fact, ok := s.fact(register); ok {
		return fact.Value
	}
	return ""
}

// supplyText returns the supply as a decimal number; empty if it is unknown.
func (s *State) supplyText() string {
	base, ok := s.fact(RegisterSupply)
	if !ok {
		return ""
	}
	if i, _ := s.find(RegisterSupplyDelta, ""); i == len(s.facts) || s.facts[i].Register != RegisterSupplyDelta {
		if n, err := strconv.ParseUint(base.Value, 10, 64); err == nil && (base.Value[0] != '0' || n == 0 && len(base.Value) == 1) {
			return base.Value // the usual case, without an allocation
		}
	}
	if supply, ok := s.supply(); ok {
		return strconv.FormatUint(supply, 10)
	}
	return ""
}

// supply returns the supply at the last read or creation, plus every mint_to and minus every burn
// after it. It returns false if no read and no creation is known, or if the sum does not fit a u64:
// then facts are still missing. The burns and mint_tos before that read are dead, so the state does
// not hold them.
func (s *State) supply() (uint64, bool) {
	base, ok := s.fact(RegisterSupply)
	if !ok {
		return 0, false
	}
	var minted, burned wide
	if !minted.add(base.Value) {
		return 0, false
	}
	first, _ := s.find(RegisterSupplyDelta, "")
	for i := first; i < len(s.facts) && s.facts[i].Register == RegisterSupplyDelta; i++ {
		if amount, isBurn := strings.CutPrefix(s.facts[i].Value, "-"); isBurn {
			burned.add(amount)
		} else {
			minted.add(amount)
		}
	}
	low, borrow := bits.Sub64(minted.low, burned.low, 0)
	return low, minted.high == burned.high+borrow
}

// wide is a 128-bit sum of amounts, each a u64. With math/big the sums took most of the time of
// folding a busy mint.
type wide struct{ low, high uint64 }

// add adds a decimal amount. It returns false, and changes nothing, if the text is not a u64.
func (w *wide) add(amount string) bool {
	n, err := strconv.ParseUint(amount, 10, 64)
	if err != nil {
		return false
	}
	var carry uint64
	w.low, carry = bits.Add64(w.low, n, 0)
	w.high += carry
	return true
}
