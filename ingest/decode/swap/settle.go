package swap

import "math/bits"

// settle finds the fees that Token-2022 withheld and says which accounts' balances the movements
// explain.
//
// A TransferChecked of a mint with a transfer fee does not say the fee: the receiver's balance
// does. Of an account with one such movement the shortfall is its fee; of several movements a rate
// is sought that explains the sum exactly.
func (l *ledger) settle() {
	for _, account := range l.touched {
		b := &l.balances[account]
		expected, ok := l.expected(account)
		if !ok {
			continue
		}
		switch {
		case !b.hasPost: // closed: what it held is not reported
		case expected == b.post:
			b.settled = true
		case expected > b.post && b.token22:
			b.settled = l.withhold(account, expected-b.post)
		}
	}
}

// expected is the balance that the movements lead to, fees that are not said left out; false when
// it would be negative or beyond 64 bits.
func (l *ledger) expected(account int) (uint64, bool) {
	in, carry := bits.Add64(l.balances[account].pre, l.in[account], 0)
	if carry > 0 || l.over[account] || l.out[account] > in {
		return 0, false
	}
	return in - l.out[account], true
}

const (
	maxBasisPoints = 10_000
	// near is how many basis points around the average rate are tried: each movement's fee is
	// rounded up to a unit.
	near = 2
	// maxMovements is far more than the 64 instructions of a transaction can make; beyond it no
	// fees are sought.
	maxMovements = 1 << 12
)

// withhold spreads a shortfall over the movements into the account.
func (l *ledger) withhold(account int, short uint64) bool {
	var sum uint64
	count, last := 0, none
	for i := range l.flows {
		if f := &l.flows[i]; f.to == account && f.fee22 && !f.said {
			sum += f.amount // expected() found no overflow
			count, last = count+1, i
		}
	}
	switch {
	case count == 0 || short > sum || len(l.flows) > maxMovements:
		return false
	case count == 1:
		l.flows[last].fee = short
		return true
	}
	high, low := bits.Mul64(short, maxBasisPoints)
	if high >= sum {
		return false
	}
	average, _ := bits.Div64(high, low, sum)
	for rate := max(average, near) - near; rate <= min(average+near, maxBasisPoints); rate++ {
		if l.feesAt(account, rate, false) == short {
			l.feesAt(account, rate, true)
			return true
		}
	}
	return false
}

// feesAt is the sum of the fees of the movements into the account at a rate in basis points, each
// rounded up as the program does; it notes them if told so.
func (l *ledger) feesAt(account int, rate uint64, note bool) (sum uint64) {
	for i := range l.flows {
		if f := &l.flows[i]; f.to == account && f.fee22 && !f.said {
			high, low := bits.Mul64(f.amount, rate)
			fee, rest := bits.Div64(high, low, maxBasisPoints) // rate <= 10,000, so high < 10,000
			if rest > 0 {
				fee++
			}
			sum += fee
			if note {
				f.fee = fee
			}
		}
	}
	return sum
}
