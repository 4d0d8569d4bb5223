package transfer

import (
	"math/bits"

	"github.com/mintlake/mintlake/ingest/decode/withheld"
)

// settle finds the amounts and fees that instructions do not state. A balance before, the movements
// and a balance after are an equation: it gives one unknown amount, or one unknown fee. settle
// returns how many accounts the movements do not explain.
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

// maxMovements is more than transactions make. With more, nothing is sought that is not stated:
// that takes time for each account and movement.
const maxMovements = 1 << 12

// sum adds the movements to their accounts.
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

// takeHints takes what the lamports tell, if an account has several unknown amounts.
func (w *walk) takeHints(at int) {
	for i := range w.flows {
		if f := &w.flows[i]; (f.from == at || f.to == at) && !f.known && f.hinted {
			f.amount, f.known = f.hint, true
			w.lives[at].unknown--
			w.count(f)
		}
	}
}

// solve finds what is unknown of one account, and leaves unknown what it cannot tell. It returns
// false if the movements do not lead to the account's balance.
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

// fill sets the one unknown amount of an account. It returns false if the movement goes the other
// way.
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

// forget takes back amounts that only hints told. It returns false if there are none.
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

// withhold divides what is missing into the fees of the movements into the account. It returns
// false if none fit.
func (w *walk) withhold(at int, short uint64) bool {
	list := w.unstated(at)
	amounts := make([]uint64, len(list))
	for i, f := range list {
		amounts[i] = f.amount // solve found that their sum fits
	}
	fees, ok := withheld.Divide(short, amounts)
	for i, fee := range fees {
		list[i].fee, list[i].feeKnown = fee, true
	}
	return ok
}
