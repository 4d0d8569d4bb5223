package dbc

import (
	"fmt"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// computeUnits is how many compute units a swap may use. 38,000 to 75,000 were measured. Token-2022
// transfers take more.
const computeUnits = 110_000

// accountsOfSwap is how many accounts an instruction names at most, its program among them.
const accountsOfSwap = 17

// swap1 is sha256("global:swap")[:8], an instruction that is only read in transactions of others.
// swap2 is sha256("global:swap2")[:8].
var (
	swap1 = [8]byte{0xf8, 0xc6, 0x9e, 0x91, 0xe1, 0x75, 0x87, 0xc8}
	swap2 = [8]byte{0x41, 0x4b, 0x3f, 0x4c, 0xeb, 0x5b, 0x5b, 0x88}
)

// Modes of swap2.
const (
	modeExactIn  = 0
	modeExactOut = 2
)

// result is the result of a swap.
type result struct {
	side int
	// in reaches the pool and out leaves it. in includes a fee on the input, out is without a fee
	// on the output.
	in, out, fee uint64
	feeOnInput   bool
	// limited says that the fee depends on the amount.
	limited bool
	price   uint256.Int
}

// rate returns the whole fee rate for an amount, in billionths. left says that amount is what is
// left after the fee.
func (p *Pool) rate(o *venue.Order, buys bool, amount uint64, left bool) (uint64, error) {
	point := p.point(o)
	fee, ok := p.config.base.scheduled(point, p.state.activation)
	if !ok {
		return 0, fmt.Errorf("%w: a fee below nothing", venue.ErrMalformed)
	}
	if p.config.base.growsWithAmount(point, p.state.activation, buys) {
		var err error
		if left {
			fee, err = p.config.base.onExcluded(amount)
		} else {
			fee, err = p.config.base.onIncluded(amount)
		}
		if err != nil {
			return 0, err
		}
	}
	return min(fee+p.config.dynamic.fee(&p.state.accumulator), maxFee), nil
}

// point returns the time of an order as the config counts it: in Unix seconds or in slots.
func (p *Pool) point(o *venue.Order) uint64 {
	if p.config.byTime {
		return uint64(max(o.Clock.UnixTime, 0))
	}
	return o.Clock.Slot
}

func (p *Pool) swap(o venue.Order) (r result, err error) {
	if r.side, err = venue.Side(p.keys, o.In); err != nil {
		return r, err
	}
	buys := r.side == 1
	switch {
	case p.state.migrated || p.state.quoteReserve >= p.config.threshold:
		return r, fmt.Errorf("%w: the curve is complete", venue.ErrClosed)
	case p.point(&o) < p.state.activation:
		return r, fmt.Errorf("%w: it opens at %d", venue.ErrClosed, p.state.activation)
	}
	amount, err := p.pair(r.side).AtPool(o)
	if err != nil {
		return r, err
	}
	r.feeOnInput = buys && p.config.collect == collectQuote
	r.limited = p.config.base.growsWithAmount(p.point(&o), p.state.activation, buys)
	if o.ExactOut {
		err = p.exactOut(&r, &o, amount, buys)
	} else {
		err = p.exactIn(&r, &o, amount, buys)
	}
	if err == nil && (r.in == 0 || r.out == 0) {
		err = venue.ErrTooSmall
	}
	return r, err
}

func (p *Pool) pair(side int) venue.Pair { return venue.Pair{In: p.mints[side], Out: p.mints[1-side]} }

// trade computes a swap on the curve without fees.
func (p *Pool) trade(amount uint64, exactOut, buys bool) (move, error) {
	if buys {
		return p.config.buy(&p.state.price, amount, exactOut)
	}
	return p.config.sell(&p.state.price, amount, exactOut)
}

// exactIn computes an order for which amount reaches the pool.
func (p *Pool) exactIn(r *result, o *venue.Order, amount uint64, buys bool) error {
	rate, err := p.rate(o, buys, amount, false)
	if err != nil {
		return err
	}
	r.in = amount
	if r.feeOnInput {
		r.fee = feeOf(amount, rate)
		amount -= r.fee
	}
	m, err := p.trade(amount, false, buys)
	if err != nil {
		return err
	}
	r.out, r.price = m.out, m.price
	if !r.feeOnInput {
		r.fee = feeOf(r.out, rate)
		r.out -= r.fee
	}
	return nil
}

// exactOut computes an order for which amount leaves the pool.
func (p *Pool) exactOut(r *result, o *venue.Order, amount uint64, buys bool) error {
	gross, ok := amount, true
	if !r.feeOnInput {
		rate, err := p.rate(o, buys, amount, true)
		if err != nil {
			return err
		}
		gross, ok = withFee(amount, rate)
	}
	if !ok {
		return errLarge
	}
	m, err := p.trade(gross, true, buys)
	if err != nil {
		return err
	}
	r.in, r.out, r.fee, r.price = m.in, amount, gross-amount, m.price
	if !r.feeOnInput {
		return nil
	}
	rate, err := p.rate(o, buys, m.in, true)
	if err != nil {
		return err
	}
	if r.in, ok = withFee(m.in, rate); !ok {
		return errLarge
	}
	r.fee = r.in - m.in
	return nil
}

// Quote implements venue.Pool.
func (p *Pool) Quote(o venue.Order) (venue.Quote, error) {
	r, err := p.swap(o)
	if err != nil {
		return venue.Quote{}, err
	}
	pair := p.pair(r.side)
	q, err := pair.Settle(o, r.in, r.out)
	if err != nil {
		return venue.Quote{}, err
	}
	q.Fees.Add(venue.FeePool, !r.feeOnInput, r.fee)
	q.ImpactBps, q.ComputeUnits, q.Accounts = arith.RootImpact(&p.state.price, &r.price), computeUnits, accountsOfSwap
	f := &p.config.base
	schedule := f.mode != modeLimiter && f.second != 0
	q.Features = q.Features.With(featureExactOut, o.ExactOut).With(featureFeeOnInput, r.feeOnInput).With(featureFeeInOutput, p.config.collect == collectOutput).
		With(featureSchedule, schedule).With(featureExponential, schedule && f.mode == modeExponential).With(featureLimiter, r.limited).
		With(featureDynamicFee, p.config.dynamic.on).With(featureTransferFee, pair.Taxed())
	return q, nil
}

// Instructions implements venue.Pool: swap2(amount, limit, mode). The program id takes the place of
// the referral account, which is left out. A pool whose fee grows with the amount must see the
// other instructions, as it allows one purchase in a transaction.
func (p *Pool) Instructions(q venue.Quote, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	mode := byte(modeExactIn)
	if q.Order.ExactOut {
		mode = modeExactOut
	}
	s := &p.state
	in := venue.Instruction{Program: Program, Data: append(venue.InstructionData(swap2[:], q.Order.Amount, limit), mode), Accounts: []venue.Meta{
		{Key: Authority}, {Key: s.config}, {Key: p.address, Writable: true}, {Key: user.Source, Writable: true}, {Key: user.Destination, Writable: true},
		{Key: s.vaults[0], Writable: true}, {Key: s.vaults[1], Writable: true}, {Key: p.keys[0]}, {Key: p.keys[1]}, {Key: user.Owner, Signer: true},
		{Key: p.mints[0].Program}, {Key: p.mints[1].Program}, {Key: Program}, {Key: eventAuthority}, {Key: Program},
	}}
	if p.config.base.mode == modeLimiter {
		in.Accounts = append(in.Accounts, venue.Meta{Key: instructionsSysvar})
	}
	return []venue.Instruction{in}, nil
}
