package swap

import "math/bits"

// settle finds the fees that Token-2022 withheld, and which accounts' balances the movements
// explain.
//
// A TransferChecked of a mint with a transfer fee does not state the fee, but the receiver's
// balance shows it. If an account has one such movement, the amount missing in its balance is the
// fee. If it has several, settle looks for a rate whose fees have exactly that sum.
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

// expected returns the balance that the movements lead to, without the fees that are not stated. It
// returns false if the balance would be negative or exceed 64 bits.
func (l *ledger) expected(account int) (uint64, bool) {
	in, carry := bits.Add64(l.balances[account].pre, l.in[account], 0)
	if carry > 0 || l.over[account] || l.out[account] > in {
		return 0, false
	}
	return in - l.out[account], true
}

const (
	maxBasisPoints = 10_000
	// near is how many basis points above and below the average rate are tried: each movement's fee
	// is rounded up, so the average is not exact.
	near = 2
	// maxMovements is far more than the 64 instructions of a transaction can make. With more, no
	// fees are sought.
	maxMovements = 1 << 12
)

// withhold divides the missing amount into the fees of the movements into the account. It returns
// false if no rate fits.
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
	average, _ := bits.Div64(high, low, sum) // the rate, were no fee rounded
	for rate := max(average, near) - near; rate <= min(average+near, maxBasisPoints); rate++ {
		if l.feesAt(account, rate, false) == short {
			l.feesAt(account, rate, true)
			return true
		}
	}
	return false
}

// feesAt returns the sum of the fees of the movements into the account, at a rate in basis points.
// Each fee is rounded up, as the program does. If note is true, it sets the fees.
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
