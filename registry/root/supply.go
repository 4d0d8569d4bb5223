package root

import (
	"math/big"
	"math/bits"
	"strconv"

	"github.com/mintlake/mintlake/registry"
)

// supply returns base plus every delta after it; false if the result does not fit a u64. A busy
// mint has very many deltas, so the sum has 128 bits in two's complement: 2^63 deltas cannot
// overflow it.
func supply(base *registry.Fact, deltas []registry.Fact) (uint64, bool) {
	var sum total
	if !sum.add(base.Value) {
		return slowSupply(base, deltas)
	}
	for i := range deltas {
		if deltas[i].Position.Compare(base.Position) > 0 && !sum.add(deltas[i].Value) {
			return slowSupply(base, deltas)
		}
	}
	return sum.low, sum.high == 0
}

// total is a sum of 128 bits in two's complement.
type total struct{ high, low uint64 }

// add adds an optional minus sign and the digits of a u64. It returns false for any other text.
func (t *total) add(text string) bool {
	negative := text != "" && text[0] == '-'
	if negative {
		text = text[1:]
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return false
	}
	var carry uint64
	if negative {
		t.low, carry = bits.Sub64(t.low, n, 0)
		t.high -= carry
	} else {
		t.low, carry = bits.Add64(t.low, n, 0)
		t.high += carry
	}
	return true
}

// slowSupply is supply for numbers that our own events never contain. They may have any length. A
// delta that is not a number counts as 0; if base is not a number, the result is false.
func slowSupply(base *registry.Fact, deltas []registry.Fact) (uint64, bool) {
	sum, ok := new(big.Int).SetString(base.Value, 10)
	if !ok {
		return 0, false
	}
	for i := range deltas {
		if deltas[i].Position.Compare(base.Position) <= 0 {
			continue
		}
		if delta, ok := new(big.Int).SetString(deltas[i].Value, 10); ok {
			sum.Add(sum, delta)
		}
	}
	return sum.Uint64(), sum.IsUint64()
}
