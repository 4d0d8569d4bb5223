package registry

import (
	"math"
	"strconv"
)

// Attributes of Token-2022's scaled amounts (spl-token-2022, extension/scaled_ui_amount): the
// multiplier before a time, that time in Unix seconds, and the multiplier from then on.
const (
	scaledAmount          = "scaled_ui_amount"
	AttributeMultiplier   = scaledAmount + ".multiplier"
	attributeMultiplierAt = scaledAmount + ".new_multiplier_effective_timestamp"
	// AttributeNewMultiplier is the item of RegisterExtension for the multiplier that holds last.
	AttributeNewMultiplier = scaledAmount + ".new_multiplier"
)

// lastMultiplierAt is the last second that ClickHouse's DateTime64 can show, at the end of 2299. A
// multiplier that is to hold from a later one never does.
const lastMultiplierAt = 10_413_791_999

// Multipliers are what shown amounts of a mint are multiplied by. The raw amounts, which are traded
// and priced, stay what they are. No clock is asked, so that the fold stays a function of facts:
// Next holds from NextAt on, and Now until then.
type Multipliers struct {
	// Now is nil if the mint has no multiplier, or if it is unknown: an instruction that sets Next
	// does not state Now.
	Now *float64
	// Next and NextAt, in Unix milliseconds, are nil if no other multiplier was announced.
	Next   *float64
	NextAt *int64
	// NowItem is the item of RegisterExtension that Now comes from.
	NowItem string
}

// MultipliersOf returns the multipliers that a mint's attributes state. value returns the value of
// an item of RegisterExtension; empty if it is unknown. The view tokens has the same rule in SQL.
func MultipliersOf(value func(item string) string) (m Multipliers) {
	now, next := multiplier(value(AttributeMultiplier)), multiplier(value(AttributeNewMultiplier))
	m.Now, m.NowItem = now, AttributeMultiplier
	at, err := strconv.ParseInt(value(attributeMultiplierAt), 10, 64)
	switch {
	case next == nil || err != nil || at > lastMultiplierAt:
	case at <= 0 || now != nil && *now == *next:
		m.Now, m.NowItem = next, AttributeNewMultiplier
	default:
		at *= 1000
		m.Next, m.NextAt = next, &at
	}
	return m
}

// multiplier parses a multiplier; nil if the text is none. The program takes positive normal
// numbers only.
func multiplier(text string) *float64 {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return nil
	}
	return &n
}

// multipliers returns the multipliers of the mint.
func (s *State) multipliers() Multipliers {
	if at, found := s.find(RegisterExtension, scaledAmount); !found && (at == len(s.facts) || s.facts[at].Register != RegisterExtension) {
		return Multipliers{} // the usual case
	}
	return MultipliersOf(func(item string) string {
		if fact, held := s.held(RegisterExtension, item); held {
			return fact.Value
		}
		return ""
	})
}
