package registry

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Retracted is a range of slots whose facts about a mint are not believed: the item of
// RegisterRetraction. From and To are both included.
type Retracted struct {
	From, To uint64
	// Events: facts from blocks are not believed either. Otherwise only facts that were read are
	// not believed.
	Events bool
}

// Kinds of Retracted, as items name them.
const (
	retractedReads  = "reads"
	retractedEvents = "events"
)

// Item returns the one text that an item has for the range, such as "reads 5-9".
func (r Retracted) Item() string {
	kind := retractedReads
	if r.Events {
		kind = retractedEvents
	}
	return fmt.Sprintf("%s %d-%d", kind, r.From, r.To)
}

// ParseRetracted is the inverse of Item. ok is false for any other text, which takes nothing back.
func ParseRetracted(item string) (r Retracted, ok bool) {
	kind, slots, _ := strings.Cut(item, " ")
	from, to, _ := strings.Cut(slots, "-")
	r.Events = kind == retractedEvents
	okFrom, okTo := parseSlot(from, &r.From), parseSlot(to, &r.To)
	return r, okFrom && okTo && r.From <= r.To && (r.Events || kind == retractedReads)
}

// parseSlot reads a decimal number without leading zeros.
func parseSlot(text string, slot *uint64) bool {
	var err error
	*slot, err = strconv.ParseUint(text, 10, 64)
	return err == nil && (text[0] != '0' || len(text) == 1)
}

// HasSlot reports whether a slot is in the range.
func (r Retracted) HasSlot(slot uint64) bool { return r.From <= slot && slot <= r.To }

// Covers reports whether the fact is one of those taken back. It compares the position only. What
// was read has the highest order of its slot. A check of a logo was read too, but its order is the
// number of the check, and its slot is that of the document that names the logo.
// projector/believed.sql has the same rule in SQL.
//
// A fact that is covered may have beaten one that is not. So covered facts must be removed before
// the highest facts are taken, unlike those that State.dead names.
func (r Retracted) Covers(fact *Fact) bool {
	position := fact.Position
	switch fact.Register {
	case RegisterTokenList, RegisterLogoOverride, RegisterRetraction:
		return false // no place on the chain
	case RegisterFirstSeen:
		position = position.Reverse()
	default: // the position is as it was stated
	}
	if !r.HasSlot(position.Slot) {
		return false
	}
	return r.Events || position.Order == math.MaxUint64 || fact.Register == RegisterLogo
}

// RetractedBy returns the ranges that an enrichment takes back, its own or imported ones; nil if it
// takes nothing back.
func RetractedBy(enrichment *eventspb.Enrichment) (ranges []Retracted) {
	if enrichment.GetRetraction() == nil && enrichment.GetFacts() == nil {
		return nil // the usual case
	}
	for _, fact := range FactsOfEnrichment(enrichment) {
		if r, ok := ParseRetracted(fact.Item); ok && fact.Register == RegisterRetraction {
			ranges = append(ranges, r)
		}
	}
	return ranges
}

func (l *factList) retraction(retraction *eventspb.Retraction) {
	l.position = schemas.Position{Order: retraction.GetVersion()}
	for _, slots := range retraction.GetSlots() {
		if slots.GetFrom() <= slots.GetTo() {
			l.setItem(RegisterRetraction, Retracted{From: slots.GetFrom(), To: slots.GetTo(), Events: retraction.GetEvents()}.Item(), "")
		}
	}
}

// Retracted reports whether a retraction that the state holds covers the fact.
func (s *State) Retracted(fact *Fact) bool {
	if last := len(s.facts) - 1; last < 0 || s.facts[last].Register < RegisterRetraction {
		return false // the usual case
	}
	first, _ := s.find(RegisterRetraction, "")
	for i := first; i < len(s.facts) && s.facts[i].Register == RegisterRetraction; i++ {
		if r, ok := ParseRetracted(s.facts[i].Item); ok && r.Covers(fact) {
			return true
		}
	}
	return false
}

// TakesBack reports whether fact is a retraction that covers facts that the state holds. If it is
// applied, the state lacks what those facts had beaten: the mint must be folded again, from all
// facts that were ever stated about it. If the state holds none of the covered facts, what they had
// beaten is also beaten by facts that it holds.
func (s *State) TakesBack(fact *Fact) bool {
	if fact.Register != RegisterRetraction {
		return false
	}
	r, ok := ParseRetracted(fact.Item)
	if !ok {
		return false
	}
	for i := range s.facts {
		if r.Covers(&s.facts[i]) {
			return true
		}
	}
	return false
}
