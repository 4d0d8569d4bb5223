package dammv2

import (
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// computeUnits is how many compute units a swap may use. 21,000 to 27,000 were measured with plain
// tokens. Token-2022 transfers take more.
const computeUnits = 60_000

// accountsOfSwap is how many accounts an instruction names, the program among them.
const accountsOfSwap = 15

// Discriminators of the instructions: sha256("global:swap")[:8] and that of swap2.
var (
	swapExactIn = [8]byte{0xf8, 0xc6, 0x9e, 0x91, 0xe1, 0x75, 0x87, 0xc8}
	swap2       = [8]byte{0x41, 0x4b, 0x3f, 0x4c, 0xeb, 0x5b, 0x5b, 0x88}
)

// Modes of swap2.
const (
	modeExactIn  = 0
	modeExactOut = 2
)

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
	q.ImpactBps, q.ComputeUnits, q.Accounts = arith.RootImpact(&p.state.price, &r.move.price), computeUnits, accountsOfSwap
	q.Features = q.Features.With(featureExactOut, o.ExactOut).With(featureFeeOnInput, r.feeOnInput).With(featureFeeInB, p.state.collect == collectOnlyB).
		With(featureSchedule, p.state.base.frequency != 0).With(featureExponential, p.state.base.frequency != 0 && p.state.base.mode == modeExponential).
		With(featureDynamicFee, p.state.dynamic.on).With(featureTransferFee, pair.Taxed())
	return q, nil
}

// Instructions implements venue.Pool: swap(amount_in, minimum_amount_out), or swap2(amount_out,
// maximum_amount_in, ExactOut). The program id takes the place of the referral account, which is
// left out.
func (p *Pool) Instructions(q venue.Quote, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	discriminator := swapExactIn
	if q.Order.ExactOut {
		discriminator = swap2
	}
	data := venue.InstructionData(discriminator[:], q.Order.Amount, limit)
	if q.Order.ExactOut {
		data = append(data, modeExactOut)
	}
	s := &p.state
	return []venue.Instruction{{Program: Program, Data: data, Accounts: []venue.Meta{
		{Key: Authority}, {Key: p.address, Writable: true}, {Key: user.Source, Writable: true}, {Key: user.Destination, Writable: true},
		{Key: s.vaults[0], Writable: true}, {Key: s.vaults[1], Writable: true}, {Key: s.mints[0]}, {Key: s.mints[1]},
		{Key: user.Owner, Signer: true}, {Key: p.mints[0].Program}, {Key: p.mints[1].Program}, {Key: Program}, {Key: eventAuthority}, {Key: Program},
	}}}, nil
}
