package cpmm

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// computeUnits of a swap: 36,000 measured with plain tokens on the program of 2024, Token-2022
// transfers and the creator fee on top.
const computeUnits = 60_000

// swapBaseInput is the instruction's discriminator: sha256("global:swap_base_input")[:8].
var swapBaseInput = [8]byte{0x8f, 0xbe, 0x5a, 0xda, 0xc4, 0x1e, 0x33, 0xde}

// ref is a known pool.
type ref struct {
	address venue.Key
	state   PoolState
}

// Address implements venue.Ref.
func (r *ref) Address() venue.Key { return r.address }

// Accounts implements venue.Ref: pool, its two vaults, its config.
func (r *ref) Accounts() []venue.Key {
	return []venue.Key{r.address, r.state.Vaults[0], r.state.Vaults[1], r.state.Config}
}

// Decode implements venue.Ref.
func (r *ref) Decode(accounts []*solana.Account, shared *venue.Shared) (venue.Pool, error) {
	if len(accounts) != 4 {
		return nil, fmt.Errorf("pool %s: %d accounts", venue.Text(r.address), len(accounts))
	}
	for _, a := range accounts {
		if a == nil {
			return nil, fmt.Errorf("pool %s: %w: an account of it is gone", venue.Text(r.address), venue.ErrClosed)
		}
	}
	if accounts[0].Owner != Program || accounts[3].Owner != Program {
		return nil, fmt.Errorf("pool %s: %w: owned by another program", venue.Text(r.address), errMalformed)
	}
	p := &Pool{address: r.address, clock: shared.Clock}
	var err error
	if p.state, err = DecodePool(accounts[0].Data); err != nil {
		return nil, fmt.Errorf("pool %s: %w", venue.Text(r.address), err)
	}
	if p.config, err = DecodeConfig(accounts[3].Data); err != nil {
		return nil, fmt.Errorf("pool %s: %w", venue.Text(r.address), err)
	}
	for side := range p.vaults {
		if p.mints[side] = shared.Mint(p.state.Mints[side]); p.mints[side] == nil || p.mints[side].Program != p.state.Programs[side] {
			return nil, fmt.Errorf("pool %s: %w: other mints than asked for", venue.Text(r.address), errMalformed)
		}
		vault := accounts[1+side]
		if vault.Owner != p.state.Programs[side] {
			return nil, fmt.Errorf("pool %s: %w: a vault of another program", venue.Text(r.address), errMalformed)
		}
		if p.vaults[side], err = decodeVault(vault.Data, p.state.Mints[side]); err != nil {
			return nil, fmt.Errorf("pool %s: %w", venue.Text(r.address), err)
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
	clock   venue.Clock
}

// Address implements venue.Pool.
func (p *Pool) Address() venue.Key { return p.address }

// Quote implements venue.Pool.
func (p *Pool) Quote(in venue.Key, amount uint64) (venue.Quote, error) {
	side, err := p.side(in)
	if err != nil {
		return venue.Quote{}, err
	}
	switch {
	case p.state.Status&statusSwapDisabled != 0:
		return venue.Quote{}, fmt.Errorf("%w: swaps are disabled", venue.ErrClosed)
	case p.clock.UnixTime < 0 || uint64(p.clock.UnixTime) < p.state.OpenTime:
		return venue.Quote{}, fmt.Errorf("%w: it opens at %d", venue.ErrClosed, p.state.OpenTime)
	}
	curve, err := p.state.curve(p.config, p.vaults, side)
	if err != nil {
		return venue.Quote{}, err
	}
	source, destination := p.mints[side], p.mints[1-side]
	withheld := source.TransferFee(p.clock.Epoch, amount)
	if withheld >= amount {
		return venue.Quote{}, fmt.Errorf("%w: nothing would reach the pool", venue.ErrAmount)
	}
	if _, carry := bits.Add64(p.vaults[side], amount-withheld, 0); carry != 0 {
		return venue.Quote{}, fmt.Errorf("%w: the vault would hold more than 64 bits", venue.ErrAmount)
	}
	result, err := curve.ExactIn(amount - withheld)
	if err != nil {
		return venue.Quote{}, err
	}
	kept := destination.TransferFee(p.clock.Epoch, result.AmountOut)
	if kept >= result.AmountOut {
		return venue.Quote{}, fmt.Errorf("%w: nothing would reach the user", venue.ErrAmount)
	}
	q := venue.Quote{
		In: source.Address, Out: destination.Address, AmountIn: amount, AmountOut: result.AmountOut - kept,
		ImpactBps: curve.impactBps(result.Net), ComputeUnits: computeUnits,
	}
	creatorMint := destination.Address
	if curve.CreatorOnInput {
		creatorMint = source.Address
	}
	for _, fee := range []venue.Fee{
		{Kind: venue.FeeTransfer, Mint: source.Address, Amount: withheld},
		{Kind: venue.FeePool, Mint: source.Address, Amount: result.TradeFee},
		{Kind: venue.FeeCreator, Mint: creatorMint, Amount: result.CreatorFee},
		{Kind: venue.FeeTransfer, Mint: destination.Address, Amount: kept},
	} {
		if fee.Amount > 0 {
			q.Fees = append(q.Fees, fee)
		}
	}
	return q, nil
}

// side of a mint.
func (p *Pool) side(in venue.Key) (int, error) {
	for side := range p.mints {
		if p.mints[side].Address == in {
			return side, nil
		}
	}
	return 0, fmt.Errorf("%w: it has no %s", venue.ErrClosed, venue.Text(in))
}

// Instruction implements venue.Pool: swap_base_input(amount_in, minimum_amount_out). The program
// compares minimum_amount_out with what the user receives, after a Token-2022 fee.
func (p *Pool) Instruction(in venue.Key, amount, minOut uint64, user venue.UserAccounts) venue.Instruction {
	from := 0
	if p.state.Mints[1] == in {
		from = 1
	}
	to := 1 - from
	data := append([]byte{}, swapBaseInput[:]...)
	data = binary.LittleEndian.AppendUint64(data, amount)
	data = binary.LittleEndian.AppendUint64(data, minOut)
	return venue.Instruction{Program: Program, Data: data, Accounts: []venue.Meta{
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
	}}
}
