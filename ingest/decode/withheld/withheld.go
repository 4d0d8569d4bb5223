// Package withheld finds the transfer fees of Token-2022 that instructions do not state.
//
// In: the amounts that were sent to one account, and how much less came than was sent. Out: the fee
// of each amount. Guarantees: the fees have exactly that sum.
package withheld

import "math/bits"

const (
	maxBasisPoints = 10_000
	// near is how many basis points above and below the average rate are tried: each fee is rounded
	// up, so the average is not exact.
	near = 2
)

// Divide divides what is missing into the fees of amounts, whose sum must fit 64 bits. The missing
// amount is the fee of a single amount. Of several, Divide looks for a rate whose fees have exactly
// that sum. It returns false if none fits.
func Divide(short uint64, amounts []uint64) (fees []uint64, ok bool) {
	var sum uint64
	for _, amount := range amounts {
		sum += amount
	}
	switch {
	case len(amounts) == 0 || short > sum:
		return nil, false
	case len(amounts) == 1:
		return []uint64{short}, true
	case short == 0:
		return make([]uint64, len(amounts)), true
	}
	high, low := bits.Mul64(short, maxBasisPoints)
	if high >= sum {
		return nil, false
	}
	average, _ := bits.Div64(high, low, sum) // the rate, were no fee rounded
	for rate := max(average, near) - near; rate <= min(average+near, maxBasisPoints); rate++ {
		if fees, total := feesAt(rate, amounts); total == short {
			return fees, true
		}
	}
	return nil, false
}

// feesAt returns the fees at a rate in basis points, and their sum. Each is rounded up, as the
// program does.
func feesAt(rate uint64, amounts []uint64) (fees []uint64, total uint64) {
	fees = make([]uint64, len(amounts))
	for i, amount := range amounts {
		high, low := bits.Mul64(amount, rate)
		fee, rest := bits.Div64(high, low, maxBasisPoints) // rate <= 10,000, so high < 10,000
		if rest > 0 {
			fee++
		}
		fees[i] = fee
		total += fee
	}
	return fees, total
}
