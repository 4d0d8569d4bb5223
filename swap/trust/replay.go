package trust

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/guard"
)

// Evidence is a transaction that may have swapped on a pool, with the state before it.
type Evidence struct {
	Venue venue.Venue
	Ref   venue.Ref
	// Before are the accounts that Ref.Decode needs.
	Before map[venue.Key]*solana.Account
	*Transaction
}

// outcome of a replay.
type outcome string

const (
	// matched: the chain gave exactly what our quote says.
	matched outcome = "match"
	// mismatched: it gave something else.
	mismatched outcome = "mismatch"
	// skipped: the transaction says nothing about our arithmetic.
	skipped outcome = "skipped"
)

// replayed is the result of a replay.
type replayed struct {
	outcome outcome
	// why is the reason of skipped.
	why      string
	order    venue.Order
	features venue.Features
	// chain and quoted are the amounts that reached and left the pool's side of the trade: on the
	// chain, and as our quote says. The pool's side is all accounts of the instruction that are not
	// the user's.
	chain, quoted [2]uint64
}

// Indexes of amounts of the pool's side.
const in, out = 0, 1

func skip(format string, args ...any) replayed {
	return replayed{outcome: skipped, why: fmt.Sprintf(format, args...)}
}

// replay quotes the swap of a transaction on the state before it, and compares the amounts.
//
// The amounts are the sums over all accounts of the swap's instruction that are not the user's.
// What reached and left these accounts is what the user paid and got, whatever else the transaction
// did with the user's accounts. That is true only if nothing else in the transaction touches the
// pool's side, so replay checks that: anybody can add a transfer to a vault to his transaction, and
// a false mismatch would stop a venue.
func (e *Evidence) replay() replayed {
	if e.failed {
		return skip("it failed")
	}
	at, trade, found := -1, venue.Trade{}, 0
	for i, c := range e.Calls {
		if e.Keys[c.Program] != e.Venue.Program() {
			continue
		}
		if t, ok := e.Venue.Trade(e.call(c)); ok && t.Pool == e.Ref.Address() {
			at, trade = i, t
			found++
		}
	}
	if found != 1 {
		return skip("%d swaps on the pool", found)
	}
	s := side{Evidence: e, at: at, trade: trade}
	if why := s.gather(); why != "" {
		return skip("%s", why)
	}
	return s.compare()
}

// call returns an instruction with its accounts' keys.
func (t *Transaction) call(c Invoked) venue.Call {
	call := venue.Call{Data: c.Data}
	for _, i := range c.Accounts {
		call.Accounts = append(call.Accounts, t.Keys[i])
	}
	return call
}

// side is the pool's side of a swap.
type side struct {
	*Evidence
	at    int
	trade venue.Trade
	// touched are the indexes of accounts whose balance the swap changed, that belong to the pool's
	// state, or that the quote is computed from and the transaction may write.
	touched map[byte]bool
	// flows are the amounts that reached and left the side, by mint.
	flows map[venue.Key]*[2]uint64
}

// gather sums the flows. If they do not show what the user paid and got, it returns the reason.
func (s *side) gather() (why string) {
	s.touched, s.flows = map[byte]bool{}, map[venue.Key]*[2]uint64{}
	call := s.Calls[s.at]
	seen := map[venue.Key]int{}
	for _, i := range call.Accounts {
		key := s.Keys[i]
		if seen[key]++; seen[key] > 1 || key == s.trade.Source || key == s.trade.Destination || key == s.trade.User {
			continue
		}
		if why := s.count(i); why != "" {
			return why
		}
	}
	if s.trade.Source == s.trade.Destination || seen[s.trade.Source] != 1 || seen[s.trade.Destination] != 1 {
		return "the user's accounts are not the user's alone"
	}
	state := s.Ref.Own()
	if w, ok := s.Ref.(venue.Windowed); ok { // another instruction may change an array of the pool
		state = slices.Concat(state, w.Near())
	}
	for i, key := range s.Keys {
		// The quote reads accounts whose token balances do not show a change, such as a mint, whose
		// supply decides pump's fees. Anybody can burn coins in the transaction of his swap.
		_, read := s.Before[key]
		if slices.Contains(state, key) || read && s.Writable[i] {
			s.touched[byte(i)] = true
		}
	}
	if !s.alone() {
		return "other instructions touch the same accounts"
	}
	return s.sameState()
}

// count adds the changes of an account to the flows. If these changes do not show what was traded,
// it returns the reason.
func (s *side) count(i byte) (why string) {
	was, had := s.Tokens[before][int(i)]
	is, has := s.Tokens[after][int(i)]
	if had || has {
		if had && has && was.Mint != is.Mint {
			return "an account changed its mint"
		}
		m := is.Mint
		if had {
			m = was.Mint
		}
		s.flow(m, i, was.Amount, is.Amount)
	}
	if !s.trade.Native {
		return ""
	}
	lamports := [2]uint64{s.Lamports[before][i], s.Lamports[after][i]}
	switch {
	case lamports[before] == lamports[after]:
	case had || has:
		return "lamports of a token account moved"
	case lamports[before] == 0 || lamports[after] == 0:
		return "rent was paid for an account"
	case i == 0:
		return "the fee of the transaction was paid by the pool's side"
	default:
		s.flow(mint.WrappedSOL, i, lamports[before], lamports[after])
	}
	return ""
}

// flow adds a change of a balance to the flows of a mint.
func (s *side) flow(of venue.Key, i byte, was, is uint64) {
	f := s.flows[of]
	if f == nil {
		f = &[2]uint64{}
		s.flows[of] = f
	}
	switch {
	case is > was:
		f[in] += is - was
		s.touched[i] = true
	case was > is:
		f[out] += was - is
		s.touched[i] = true
	}
}

// alone returns whether only the swap, and the instructions that it called, name the touched
// accounts. Callers of the swap may name them too, because they pass them on. But a caller can move
// lamports without a call, so a swap of native SOL must be an outer instruction.
func (s *side) alone() bool {
	height := s.Calls[s.at].Height
	if s.trade.Native && height != 1 {
		return false
	}
	inside := true
	for i := s.at + 1; i < len(s.Calls); i++ {
		inside = inside && s.Calls[i].Height > height
		if !inside && s.names(s.Calls[i]) {
			return false
		}
	}
	for i := s.at - 1; i >= 0; i-- {
		if s.Calls[i].Height < height { // it is a caller of the swap
			height = s.Calls[i].Height
			continue
		}
		if s.names(s.Calls[i]) {
			return false
		}
	}
	return true
}

// names returns whether an instruction names one of the touched accounts.
func (s *side) names(c Invoked) bool {
	return slices.ContainsFunc(c.Accounts, func(i byte) bool { return s.touched[i] })
}

// sameState returns "" if the accounts from which the quote is computed have the balances that the
// transaction began with, or else the reason to skip the transaction.
func (s *side) sameState() (why string) {
	for i, key := range s.Keys {
		account, known := s.Before[key]
		if !known {
			continue
		}
		var lamports, amount uint64
		if account != nil {
			lamports, amount = account.Lamports, amountOf(account.Data)
		}
		if tokens, is := s.Tokens[before][i]; lamports != s.Lamports[before][i] || is && tokens.Amount != amount {
			return "its state is another one than was held"
		}
	}
	return ""
}

// amountOf returns the amount of a token account.
func amountOf(data []byte) uint64 {
	const at = 64
	if len(data) < at+8 {
		return 0
	}
	return binary.LittleEndian.Uint64(data[at:])
}

// compare quotes the order of the swap, and compares the amounts. A swap that we refuse to quote is
// skipped.
func (s *side) compare() replayed {
	mints := s.Ref.Mints()
	var r replayed
	r.outcome = skipped
	for i, m := range mints {
		sold, bought := s.net(m), s.net(mints[1-i])
		if sold.came > 0 && bought.left > 0 {
			r.order.In, r.chain = m, [2]uint64{sold.came, bought.left}
		}
	}
	if r.order.In == (venue.Key{}) {
		r.why = "nothing was exchanged"
		return r
	}
	r.order.Amount, r.order.ExactOut = s.trade.Amount, s.trade.ExactOut
	r.order.Clock = venue.ClockAt(s.Slot, s.UnixTime)
	quote, err := quoteOf(s.Ref, s.Before, r.order)
	if err != nil {
		// The program swaps where we refuse a quote: that does no harm.
		r.why = "we refuse it: " + err.Error()
		return r
	}
	r.features, r.quoted = quote.Features, poolSide(quote)
	r.outcome = mismatched
	if r.quoted == r.chain {
		r.outcome = matched
	}
	return r
}

// excess is by how much more of a mint came than left, or more left than came. The other value is
// 0.
type excess struct{ came, left uint64 }

// net returns the excess of a mint.
func (s *side) net(m venue.Key) excess {
	f := s.flows[m]
	if f == nil {
		return excess{}
	}
	if less, borrow := bits.Sub64(f[in], f[out], 0); borrow == 0 {
		return excess{came: less}
	}
	return excess{left: f[out] - f[in]}
}

// quoteOf quotes an order on these accounts, even if the venue is stopped.
func quoteOf(ref venue.Ref, accounts map[venue.Key]*solana.Account, order venue.Order) (venue.Quote, error) {
	pool, err := ref.Decode(venue.NewAccounts(accounts))
	if err != nil {
		return venue.Quote{}, err
	}
	return guard.Ungated(pool).Quote(order)
}

// poolSide returns what reaches and what leaves the pool's side as a quote says. What a mint
// withholds as transfer fee is part of what leaves the pool's side, but not of what reaches it.
func poolSide(q venue.Quote) [2]uint64 {
	amounts := [2]uint64{q.AmountIn, q.AmountOut}
	for _, fee := range q.Fees.List() {
		switch {
		case fee.Kind != venue.FeeTransfer:
		case fee.OnOutput:
			amounts[out] += fee.Amount
		default:
			amounts[in] -= fee.Amount
		}
	}
	return amounts
}
