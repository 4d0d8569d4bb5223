// Package withheld finds the transfer fees of Token-2022 that instructions do not state.
//
// In: the amounts that were sent to one account, and how much less the account received. Out: the
// fee of each amount. Guarantees: the sum of the fees is exactly what the account did not receive.
package withheld

import "math/bits"

const (
	maxBasisPoints = 10_000
	// near is how many basis points above and below the average rate are tried. The average is not
	// exact, because each fee is rounded up.
	near = 2
)

// Divide divides the missing amount into the fees of the given amounts, whose sum must fit 64 bits.
// If there is only one amount, its fee is the missing amount. If there are several, Divide looks
// for a rate whose fees have exactly the missing amount as their sum. It returns false if no rate
// fits.
func Divide(missing uint64, amounts []uint64) (fees []uint64, ok bool) {
	var sum uint64
	for _, amount := range amounts {
		sum += amount
	}
	switch {
	case len(amounts) == 0 || missing > sum:
		return nil, false
	case len(amounts) == 1:
		return []uint64{missing}, true
	case missing == 0:
		return make([]uint64, len(amounts)), true
	}
	high, low := bits.Mul64(missing, maxBasisPoints)
	if high >= sum {
		return nil, false
	}
	average, _ := bits.Div64(high, low, sum) // would be the rate if no fee were rounded
	for rate := max(average, near) - near; rate <= min(average+near, maxBasisPoints); rate++ {
		if fees, total := feesAt(rate, amounts); total == missing {
			return fees, true
		}
	}
	return nil, false
}

// feesAt returns the fees at a rate in basis points, and their sum. Each fee is rounded up, as the
// program does it.
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
