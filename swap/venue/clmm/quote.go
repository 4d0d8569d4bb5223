package clmm

import (
	"encoding/binary"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// fixedAccounts is how many accounts swap_v2 names before the bitmap extension and the arrays,
// without the program itself.
const fixedAccounts = 13

// The compute units that a quote allows: for a swap without arrays, and in addition for each array,
// each step and each Token-2022 mint. maxUnits is the limit of a transaction.
const (
	unitsBase  = 90_000
	unitsArray = 15_000
	unitsStep  = 12_000
	unitsToken = 15_000
	maxUnits   = 1_400_000
)

var memoProgram = pubkey.MustParse("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")

// swapV2 is sha256("global:swap_v2")[:8].
var swapV2 = [8]byte{0x2b, 0x04, 0xed, 0x0b, 0x1a, 0xc9, 0x1e, 0x62}

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
	if q.ComputeUnits = p.units(&r); q.ComputeUnits > maxUnits {
		return venue.Quote{}, errSteps
	}
	q.Fees.Add(venue.FeePool, !r.onInput, r.fee)
	from, to := p.listed(&r)
	q.Accounts = uint8(fixedAccounts + 1 + to - from)
	if p.extended(from, to) {
		q.Accounts++
	}
	q.ImpactBps = p.impact(&r)
	q.Features = p.features(&r).With(featureExactOut, o.ExactOut).With(featureTransferFee, pair.Taxed())
	return q, nil
}

// units returns how many compute units a swap may use.
func (p *Pool) units(r *result) uint32 {
	units := unitsBase + unitsArray*int(r.last().touched) + unitsStep*len(r.steps)
	for _, m := range p.mints {
		if m.Program == mint.Token2022 {
			units += unitsToken
		}
	}
	return uint32(units)
}

// impact returns by how much a swap without fees gives less than the price before it would give, in
// basis points.
func (p *Pool) impact(r *result) uint64 {
	net, gross := r.in, r.out+r.fee
	if r.onInput {
		net, gross = r.in-r.fee, r.out
	}
	price := p.state.price.Wide()
	price.Mul(&price, &price) // below 2^192
	spot := uint256.NewInt(net)
	if r.side == 0 {
		spot.Mul(spot, &price)
		spot.Rsh(spot, 128)
	} else {
		spot.Lsh(spot, 128)
		spot.Div(spot, &price)
	}
	return arith.Shortfall(spot, gross)
}

// listed returns the range [from, to) of the pool's arrays that the instruction of a swap names.
// These are the arrays that the swap needs and the next one in its direction. If the price is
// within a tenth of an array from the array behind it, that array is named too. The additional
// arrays are for a price that moves before the swap is executed. The program ignores arrays that it
// does not need.
func (p *Pool) listed(r *result) (from, to int) {
	up := r.side == 1
	first, count := p.first(up), int(r.last().touched)
	if up {
		from, to = first, min(first+count+1, len(p.arrays))
	} else {
		from, to = max(first-count, 0), first+1
	}
	width := arrayTicks * p.state.spacing
	into := p.state.tick - width*numberOf(p.state.tick, p.state.spacing)
	switch near := width / 10; {
	case up && into < near && from > 0:
		from--
	case !up && into >= width-near && to < len(p.arrays):
		to++
	}
	return from, to
}

// extended returns whether the instruction names the bitmap extension: it must if an array is
// outside the pool's own bits. An extension that does not exist is left out, as the program stops
// reading its accounts there.
func (p *Pool) extended(from, to int) bool {
	outside := !own(numberOf(p.state.tick, p.state.spacing))
	for _, a := range p.arrays[from:to] {
		outside = outside || !own(a.number)
	}
	return outside && p.extension != nil
}

// Instructions implements venue.Pool: swap_v2(amount, other_amount_threshold, sqrt_price_limit_x64,
// is_base_input). A price limit of 0 stands for none. The program then fills the whole order or
// fails.
func (p *Pool) Instructions(q venue.Quote, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	r, err := p.swap(q.Order)
	if err != nil {
		return nil, err
	}
	data := venue.InstructionData(swapV2[:], q.Order.Amount, limit)
	data = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(data, 0), 0)
	base := byte(1)
	if q.Order.ExactOut {
		base = 0
	}
	s, in, out := &p.state, r.side, 1-r.side
	metas := append(make([]venue.Meta, 0, q.Accounts),
		venue.Meta{Key: user.Owner, Signer: true}, venue.Meta{Key: s.config}, venue.Meta{Key: p.address, Writable: true},
		venue.Meta{Key: user.Source, Writable: true}, venue.Meta{Key: user.Destination, Writable: true},
		venue.Meta{Key: s.vaults[in], Writable: true}, venue.Meta{Key: s.vaults[out], Writable: true}, venue.Meta{Key: s.observation, Writable: true},
		venue.Meta{Key: mint.Token}, venue.Meta{Key: mint.Token2022}, venue.Meta{Key: memoProgram}, venue.Meta{Key: s.mints[in]}, venue.Meta{Key: s.mints[out]},
	)
	return []venue.Instruction{{Program: p.program, Data: append(data, base), Accounts: append(metas, p.arrayMetas(&r)...)}}, nil
}

// arrayMetas returns the last accounts of an instruction: the bitmap extension if it is needed, and
// the arrays in the direction of the swap.
func (p *Pool) arrayMetas(r *result) (metas []venue.Meta) {
	from, to := p.listed(r)
	if p.extended(from, to) {
		metas = append(metas, venue.Meta{Key: p.extensionKey, Writable: true})
	}
	for i := range to - from {
		at := from + i
		if r.side == 0 {
			at = to - 1 - i
		}
		metas = append(metas, venue.Meta{Key: p.arrays[at].key, Writable: true})
	}
	return metas
}
