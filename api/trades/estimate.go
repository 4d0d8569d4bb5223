package trades

import (
	"math"

	"github.com/mr-tron/base58"
)

// worth returns the value of a raw amount at a price for a whole token; nil if price or decimals
// are unknown.
func worth(price *float64, amount uint64, decimals *uint8) *float64 {
	if price == nil || decimals == nil {
		return nil
	}
	usd := *price * float64(amount) / math.Pow10(int(*decimals))
	return &usd
}

// decimalsOf returns decimals as a byte; nil if they are unknown, or above 255, which no mint has.
func decimalsOf(decimals *uint32) *uint8 {
	if decimals == nil || *decimals > math.MaxUint8 {
		return nil
	}
	n := uint8(*decimals)
	return &n
}

func signatureOf(raw []byte) *string { return known(base58.Encode(raw)) }
