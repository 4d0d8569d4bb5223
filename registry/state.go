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

// StateOf is the state that holds these facts and no others. They must be what Facts of a state
// gave, in that order; the slice becomes the state's own.
func StateOf(facts []Fact) State { return State{facts: facts} }

// Apply folds a fact in and says whether the state changed. What is dead is no part of the state,
// whichever came first: so a busy mint's state stays small as long as its account is read now and
// then, and a mint made anew begins anew.
func (s *State) Apply(fact Fact) bool {
	if s.dead(&fact) {
		return false
	}
	changed := s.hold(fact)
	if changed && ends(&fact) {
		s.dropDead()
	}
	return changed
}

// dropDead leaves out the facts that have become dead. A fact that makes others dead is never dead
// because of them, so one pass is enough.
func (s *State) dropDead() {
	if !slices.ContainsFunc(s.facts, func(held Fact) bool { return s.dead(&held) }) {
		return
	}
	kept := make([]Fact, 0, len(s.facts))
	for i := range s.facts {
		if !s.dead(&s.facts[i]) {
			kept = append(kept, s.facts[i])
		}
	}
	s.facts = kept
}

// hold keeps the fact if it beats the one held about the same.
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

// find is where the fact held of register and item is, or belongs, and whether there is one. It is
// the inner loop of the fold and of every lookup, so it is written out.
func (s *State) find(register Register, item string) (int, bool) {
	from, to := 0, len(s.facts)
	if to > 0 { // a state that is read comes in order
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

// Facts are the facts that hold, sorted by register and item. The slice is the state's own: read
// only.
func (s *State) Facts() []Fact {
	return s.facts
}

// Extensions are the kinds of the mint's Token-2022 extensions, sorted.
func (s *State) Extensions() []string {
	var kinds []string
	first, _ := s.find(RegisterExtension, "")
	for i := first; i < len(s.facts) && s.facts[i].Register == RegisterExtension; i++ {
		if !strings.Contains(s.facts[i].Item, ".") { // an attribute
			kinds = append(kinds, s.facts[i].Item)
		}
	}
	return kinds
}

func (s *State) fact(register Register) (*Fact, bool) {
	return s.held(register, "")
}

// value is the register's value, empty where nothing is known.
func (s *State) value(register Register) string {
	if fact, ok := s.fact(register); ok {
		return fact.Value
	}
	return ""
}

// supplyText is supply in decimal, empty where it is not known.
func (s *State) supplyText() string {
	base, ok := s.fact(RegisterSupply)
	if !ok {
		return ""
	}
	if i, _ := s.find(RegisterSupplyDelta, ""); i == len(s.facts) || s.facts[i].Register != RegisterSupplyDelta {
		if n, err := strconv.ParseUint(base.Value, 10, 64); err == nil && (base.Value[0] != '0' || n == 0 && len(base.Value) == 1) {
			return base.Value // as most are, and big numbers cost
		}
	}
	if supply, ok := s.supply(); ok {
		return strconv.FormatUint(supply, 10)
	}
	return ""
}

// supply is the amount at the highest read plus every mint_to and minus every burn behind it. False
// when nothing was read and the creation was not seen, or when the sum is no u64 (facts are still
// missing).
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

// wide is a sum of amounts, each a u64: math/big took most of the time of folding a busy mint.
type wide struct{ low, high uint64 }

// add is false, and changes nothing, for what is no amount.
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
