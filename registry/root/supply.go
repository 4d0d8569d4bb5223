package root

import (
	"math/big"
	"math/bits"
	"strconv"

	"github.com/mintlake/mintlake/registry"
)

// supply is base plus every delta behind it, as registry.State reckons it; false when that is no
// u64. Hot mints have very many deltas, so the sum is kept in 128 bits, two's complement: 2^63 of
// them could not overflow it.
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

type total struct{ high, low uint64 }

// add adds an optional minus sign and the digits of a u64; false where text is anything else.
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

// slowSupply takes the numbers that no event of ours writes, as registry.State does: of any length,
// and none where there is none.
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
