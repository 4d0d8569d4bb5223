package transfer

import (
	"math/bits"

	"github.com/mintlake/mintlake/ingest/decode/withheld"
)

// settle finds the amounts and fees that instructions do not state. The balance of an account
// before, plus its movements, is its balance after. This equation gives one unknown amount, or the
// sum of the unknown fees. settle returns how many accounts have balances that the movements do not
// explain.
func (w *walk) settle() (unexplained int) {
	w.sum()
	if len(w.flows) > maxMovements {
		return 0
	}
	for i := range w.lives {
		if w.lives[i].unknown > 1 {
			w.takeHints(i)
		}
		if !w.solve(i) && !w.forget(i) {
			unexplained++
		}
	}
	return unexplained
}

// maxMovements is more than transactions make. If there are more, settle looks for nothing that is
// not stated, because its time grows with the product of accounts and movements.
const maxMovements = 1 << 12

// sum adds the known amounts to the sums of their accounts, and counts the unknown amounts and fees
// of each account.
func (w *walk) sum() {
	for i := range w.flows {
		f := &w.flows[i]
		if f.kind == Harvest {
			continue
		}
		for _, at := range [...]int{f.from, f.to} {
			if at != None && !f.known {
				w.lives[at].unknown++
			}
		}
		if f.known {
			w.count(f)
		}
		if f.to != None && !f.feeKnown {
			w.lives[f.to].fees++
		}
	}
}

// count adds a movement whose amount is known to the sums of its accounts.
func (w *walk) count(f *flow) {
	var carry uint64
	if f.from != None {
		l := &w.lives[f.from]
		l.out, carry = bits.Add64(l.out, f.amount, 0)
		l.over = l.over || carry > 0
	}
	if f.to != None {
		l := &w.lives[f.to]
		l.in, carry = bits.Add64(l.in, f.amount-f.fee, 0)
		l.over = l.over || carry > 0
	}
}

// takeHints sets the unknown amounts of an account's movements to their hints. The caller does this
// if several amounts are unknown, so that solve cannot find them.
func (w *walk) takeHints(at int) {
	for i := range w.flows {
		if f := &w.flows[i]; (f.from == at || f.to == at) && !f.known && f.hinted {
			f.amount, f.known = f.hint, true
			w.lives[at].unknown--
			w.count(f)
		}
	}
}

// solve finds an unknown amount, or unknown fees, of one account. It leaves unknown what it cannot
// tell. It returns false if the movements do not lead to the account's balance.
func (w *walk) solve(at int) bool {
	l := &w.lives[at]
	have, carry := bits.Add64(l.start, l.in, 0)
	need, over := bits.Add64(l.finish, l.out, 0)
	switch {
	case l.over || carry > 0 || over > 0:
		return false
	case !l.started:
		return true
	case !l.finished:
		return l.unknown > 0 || l.fees > 0 || have == need
	case l.unknown == 0 && have == need:
		return l.fees == 0 || w.withhold(at, 0)
	case l.unknown == 0:
		return l.fees > 0 && have > need && w.withhold(at, have-need)
	case l.unknown == 1 && l.fees == 0:
		return w.fill(at, have, need)
	default:
		return true
	}
}

// fill sets the one unknown amount of an account to the difference of have and need. have is the
// balance at the start plus what is known to come in. need is the balance at the end plus what is
// known to go out. fill returns false if the movement goes the other way.
func (w *walk) fill(at int, have, need uint64) bool {
	for i := range w.flows {
		f := &w.flows[i]
		if f.known || f.kind == Harvest || f.from != at && f.to != at {
			continue
		}
		if f.to == at && have <= need {
			f.amount, f.known = need-have, true
		} else if f.from == at && have >= need {
			f.amount, f.known = have-need, true
		}
		return f.known
	}
	return false
}

// forget makes the amounts of an account that only hints told unknown again, because hints may be
// wrong. It returns false if there are no such amounts.
func (w *walk) forget(at int) (any bool) {
	for i := range w.flows {
		if f := &w.flows[i]; f.hinted && f.known && (f.from == at || f.to == at) {
			f.amount, f.known, any = 0, false, true
		}
	}
	return any
}

// unstated returns the movements into an account whose fees are not known.
func (w *walk) unstated(at int) (list []*flow) {
	for i := range w.flows {
		if f := &w.flows[i]; f.to == at && !f.feeKnown {
			list = append(list, f)
		}
	}
	return list
}

// withhold divides the amount that is missing in the account's balance into the fees of the
// movements into the account. It returns false if no fees fit.
func (w *walk) withhold(at int, missing uint64) bool {
	list := w.unstated(at)
	amounts := make([]uint64, len(list))
	for i, f := range list {
		amounts[i] = f.amount // their sum fits 64 bits, as solve has found
	}
	fees, ok := withheld.Divide(missing, amounts)
	for i, fee := range fees {
		list[i].fee, list[i].feeKnown = fee, true
	}
	return ok
}
