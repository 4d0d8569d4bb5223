package swap

import (
	"math/bits"

	"github.com/mintlake/mintlake/ingest/decode/withheld"
)

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
		case !b.hasPost: // the account was closed: no balance is reported that could be compared
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

// maxMovements is far more than the 64 instructions of a transaction can make. If there are more,
// withhold looks for no fees, which bounds its time.
const maxMovements = 1 << 12

// withhold divides the amount that is missing in the account's balance into the fees of the
// movements into the account. It returns false if no rate fits.
func (l *ledger) withhold(account int, missing uint64) bool {
	if len(l.flows) > maxMovements {
		return false
	}
	var list []*flow
	var amounts []uint64 // their sum fits 64 bits, as expected has found
	for i := range l.flows {
		if f := &l.flows[i]; f.to == account && f.fee22 && !f.said {
			list, amounts = append(list, f), append(amounts, f.amount)
		}
	}
	fees, ok := withheld.Divide(missing, amounts)
	for i, fee := range fees {
		list[i].fee = fee
	}
	return ok
}
