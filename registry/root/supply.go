package root

import (
	"math/bits"
	"strconv"

	"github.com/mintlake/mintlake/registry"
)

// supply returns base plus every delta after it; false if base is no u64, or the result does not
// fit one. As in registry.State, a delta that is no u64 with an optional minus sign counts as 0.
// A busy mint has very many deltas, so the sum has 128 bits in two's complement: 2^63 deltas cannot
// overflow it.
func supply(base *registry.Fact, deltas []registry.Fact) (uint64, bool) {
	n, err := strconv.ParseUint(base.Value, 10, 64)
	if err != nil {
		return 0, false
	}
	sum := total{low: n}
	for i := range deltas {
		if deltas[i].Position.Compare(base.Position) > 0 {
			sum.add(deltas[i].Value)
		}
	}
	return sum.low, sum.high == 0
}

// total is a sum of 128 bits in two's complement.
type total struct{ high, low uint64 }

// add adds an optional minus sign and the digits of a u64. Any other text changes nothing.
func (t *total) add(text string) {
	negative := text != "" && text[0] == '-'
	if negative {
		text = text[1:]
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return
	}
	var carry uint64
	if negative {
		t.low, carry = bits.Sub64(t.low, n, 0)
		t.high -= carry
	} else {
		t.low, carry = bits.Add64(t.low, n, 0)
		t.high += carry
	}
}
