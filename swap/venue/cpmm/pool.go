package cpmm

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// computeUnits is how many compute units a swap may use. 36,000 were measured with plain tokens on
// the program of 2024. Token-2022 transfers and the creator fee take more.
const computeUnits = 60_000

// accountsOfSwap is how many accounts an instruction names, the program among them.
const accountsOfSwap = 14

// Discriminators of the instructions: sha256("global:swap_base_input")[:8] and that of
// swap_base_output.
var (
	swapBaseInput  = [8]byte{0x8f, 0xbe, 0x5a, 0xda, 0xc4, 0x1e, 0x33, 0xde}
	swapBaseOutput = [8]byte{0x37, 0xd9, 0x62, 0x56, 0xa3, 0x4a, 0xb4, 0xad}
)

// ref implements venue.Ref. data is a valid pool account. It is kept as bytes: many refs are held,
// and a decoded state would need as much memory again.
type ref struct {
	address venue.Key
	data    []byte
}

func (r *ref) key(at int) venue.Key { return venue.Key(r.data[at:]) }

// Address implements venue.Ref.
func (r *ref) Address() venue.Key { return r.address }

// Mints implements venue.Ref.
func (r *ref) Mints() [2]venue.Key { return [2]venue.Key{r.key(poolMint0), r.key(poolMint1)} }

// Rank implements venue.Ref.
func (r *ref) Rank() uint64 { return binary.LittleEndian.Uint64(r.data[poolLPSupply:]) }

// Accounts implements venue.Ref: pool, its two vaults, its config.
func (r *ref) Accounts() []venue.Key {
	return append(r.Own(), r.key(poolConfig))
}

// Own implements venue.Ref.
func (r *ref) Own() []venue.Key {
	return []venue.Key{r.address, r.key(poolVault0), r.key(poolVault1)}
}

// Decode implements venue.Ref.
func (r *ref) Decode(state venue.State) (venue.Pool, error) {
	p, err := decode(r.address, state)
	if err != nil {
		return nil, fmt.Errorf("pool %s: %w", r.address.String(), err)
	}
	return p, nil
}

// decode reads a pool, its config, its mints and its vaults.
func decode(address venue.Key, state venue.State) (*Pool, error) {
	data, err := venue.Owned(state, address, Program)
	if err != nil {
		return nil, err
	}
	p := &Pool{address: address}
	if p.state, err = DecodePool(data); err != nil {
		return nil, err
	}
	if data, err = venue.Owned(state, p.state.Config, Program); err != nil {
		return nil, err
	}
	if p.config, err = DecodeConfig(data); err != nil {
		return nil, err
	}
	for side := range p.vaults {
		if p.mints[side], err = venue.Mint(state, p.state.Mints[side]); err != nil {
			return nil, err
		}
		if p.mints[side].Program != p.state.Programs[side] {
			return nil, fmt.Errorf("%w: a mint of another program", venue.ErrMalformed)
		}
		if p.vaults[side], err = venue.Vault(state, p.state.Vaults[side], p.state.Mints[side], p.state.Programs[side]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Pool is a pool's state at one slot.
type Pool struct {
	address venue.Key
	state   PoolState
	config  Config
	vaults  [2]uint64
	mints   [2]*mint.Mint
}

// Address implements venue.Pool.
func (p *Pool) Address() venue.Key { return p.address }

// Mints implements venue.Pool.
func (p *Pool) Mints() [2]venue.Key { return p.state.Mints }

// swap computes an order on the curve. side is the side that is sold.
func (p *Pool) swap(order venue.Order) (side int, curve Curve, r Result, err error) {
	if side, err = venue.Side(p.state.Mints, order.In); err != nil {
		return
	}
	switch {
	case p.state.Status&statusSwapDisabled != 0:
		err = fmt.Errorf("%w: swaps are disabled", venue.ErrClosed)
	case order.Clock.UnixTime < 0 || uint64(order.Clock.UnixTime) < p.state.OpenTime:
		err = fmt.Errorf("%w: it opens at %d", venue.ErrClosed, p.state.OpenTime)
	}
	if err != nil {
		return
	}
	if curve, err = p.state.curve(p.config, p.vaults, side); err != nil {
		return
	}
	amount, err := p.pair(side).AtPool(order)
	if err != nil {
		return
	}
	if order.ExactOut {
		r, err = curve.ExactOut(amount)
	} else {
		r, err = curve.ExactIn(amount)
	}
	if err != nil {
		return
	}
	if _, carry := bits.Add64(p.vaults[side], r.AmountIn, 0); carry != 0 {
		err = fmt.Errorf("%w: the vault would hold more than 64 bits", venue.ErrTooLarge)
	}
	return
}

func (p *Pool) pair(side int) venue.Pair {
	return venue.Pair{In: p.mints[side], Out: p.mints[1-side]}
}

// Quote implements venue.Pool.
func (p *Pool) Quote(order venue.Order) (venue.Quote, error) {
	side, curve, r, err := p.swap(order)
	if err != nil {
		return venue.Quote{}, err
	}
	pair := p.pair(side)
	q, err := pair.Settle(order, r.AmountIn, r.AmountOut)
	if err != nil {
		return venue.Quote{}, err
	}
	q.Fees.Add(venue.FeePool, false, r.TradeFee)
	q.Fees.Add(venue.FeeCreator, !curve.CreatorOnInput, r.CreatorFee)
	q.ImpactBps, q.ComputeUnits, q.Accounts = arith.ImpactBps(r.Net, curve.ReserveIn), computeUnits, accountsOfSwap
	q.Features = q.Features.With(featureExactOut, order.ExactOut).With(featureTransferFee, pair.Taxed()).
		With(featureCreatorFee, curve.CreatorRate != 0).With(featureCreatorOnOutput, curve.CreatorRate != 0 && !curve.CreatorOnInput)
	return q, nil
}

// Instructions implements venue.Pool: swap_base_input(amount_in, minimum_amount_out) or
// swap_base_output(max_amount_in, amount_out). The program applies the limits to what leaves and
// what reaches the user's accounts. So a maximum includes the transfer fee of Token-2022 on the
// input, and a minimum is what is left after the transfer fee on the output.
func (p *Pool) Instructions(q venue.Quote, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	from, err := venue.Side(p.state.Mints, q.Order.In)
	if err != nil {
		return nil, err
	}
	to := 1 - from
	discriminator, first, second := swapBaseInput, q.Order.Amount, limit
	if q.Order.ExactOut {
		discriminator, first, second = swapBaseOutput, limit, q.Order.Amount
	}
	return []venue.Instruction{{Program: Program, Data: venue.InstructionData(discriminator[:], first, second), Accounts: []venue.Meta{
		{Key: user.Owner, Signer: true, Writable: true},
		{Key: Authority},
		{Key: p.state.Config},
		{Key: p.address, Writable: true},
		{Key: user.Source, Writable: true},
		{Key: user.Destination, Writable: true},
		{Key: p.state.Vaults[from], Writable: true},
		{Key: p.state.Vaults[to], Writable: true},
		{Key: p.state.Programs[from]},
		{Key: p.state.Programs[to]},
		{Key: p.state.Mints[from]},
		{Key: p.state.Mints[to]},
		{Key: p.state.Observation, Writable: true},
	}}}, nil
}
