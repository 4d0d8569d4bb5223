package whirlpool

import (
	"encoding/binary"
	"fmt"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

var memoProgram = pubkey.MustParse("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")

// Discriminators of the instructions: sha256("global:swap")[:8] and so on.
var (
	swapV1 = [8]byte{0xf8, 0xc6, 0x9e, 0x91, 0xe1, 0x75, 0x87, 0xc8}
	swapV2 = [8]byte{0x2b, 0x04, 0xed, 0x0b, 0x1a, 0xc9, 0x1e, 0x62}
)

// accountsOfSwap is how many accounts swap_v2 names, its program among them.
const accountsOfSwap = 16

// How many compute units a swap may use: unitsBase in any case, and more for each of its steps and
// for each Token-2022 mint. Runs of the program used 31,000 to 55,000 with one step, and 6,000 to
// 10,900 for each further step.
const (
	unitsBase  = 60_000
	unitsStep  = 11_000
	unitsToken = 15_000
)

// unitsOf returns how many compute units a swap with a number of steps may use.
func (p *Pool) unitsOf(steps int) uint32 {
	units := unitsBase + unitsStep*steps
	for _, m := range p.mints {
		if m.Program == mint.Token2022 {
			units += unitsToken
		}
	}
	return uint32(units)
}

// arrayMetas returns the three tick arrays that the instruction of a swap names. If the direction
// has fewer arrays, the last one is repeated: the program counts it once.
func (p *Pool) arrayMetas(aToB bool) ([]venue.Meta, error) {
	metas := make([]venue.Meta, 0, arraysPerSwap)
	for _, number := range p.state.sequence(aToB) {
		metas = append(metas, venue.Meta{Key: p.at(number).address, Writable: true})
	}
	if len(metas) == 0 {
		return nil, fmt.Errorf("%w: there are no tick arrays in this direction", venue.ErrNoLiquidity)
	}
	for len(metas) < arraysPerSwap {
		metas = append(metas, metas[len(metas)-1])
	}
	return metas, nil
}

// Instructions implements venue.Pool: swap_v2(amount, threshold, no price limit, exact in, a to b,
// no further accounts).
func (p *Pool) Instructions(q venue.Quote, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	aToB := q.Order.In == p.state.mints[0]
	data := venue.InstructionData(swapV2[:], q.Order.Amount, limit)
	data = append(data, make([]byte, 16)...)
	data = append(data, flag(!q.Order.ExactOut), flag(aToB), 0)
	accounts := [2]venue.Key{user.Source, user.Destination}
	if !aToB {
		accounts[0], accounts[1] = accounts[1], accounts[0]
	}
	arrays, err := p.arrayMetas(aToB)
	if err != nil {
		return nil, err
	}
	oracle, err := oracleOf(p.program, p.address)
	if err != nil {
		return nil, err
	}
	s := &p.state
	metas := []venue.Meta{
		{Key: p.mints[0].Program}, {Key: p.mints[1].Program}, {Key: memoProgram}, {Key: user.Owner, Signer: true}, {Key: p.address, Writable: true},
		{Key: s.mints[0]}, {Key: s.mints[1]}, {Key: accounts[0], Writable: true}, {Key: s.vaults[0], Writable: true},
		{Key: accounts[1], Writable: true}, {Key: s.vaults[1], Writable: true},
	}
	metas = append(append(metas, arrays...), venue.Meta{Key: oracle, Writable: true})
	return []venue.Instruction{{Program: p.program, Data: data, Accounts: metas}}, nil
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// Trade implements venue.Traced. A swap with a price limit before the end of the range is not a
// trade, as no order can express that it may end early.
func (Venue) Trade(c venue.Call) (venue.Trade, bool) {
	// Offsets in the data (amount, threshold, price limit, exact in, a to b), and its size.
	const amount, limit, exactIn, direction, size = 8, 24, 40, 41, 42
	if len(c.Data) < size {
		return venue.Trade{}, false
	}
	// Indexes of the user, the pool and the user's token accounts.
	user, pool, accountA, accountB := 1, 2, 3, 5
	switch [8]byte(c.Data) {
	case swapV1:
	case swapV2:
		user, pool, accountA, accountB = 3, 4, 7, 9
	default:
		return venue.Trade{}, false
	}
	aToB := c.Data[direction] != 0
	if len(c.Accounts) <= accountB || !unlimited(c.Data[limit:], aToB) {
		return venue.Trade{}, false
	}
	t := venue.Trade{
		Pool: c.Accounts[pool], User: c.Accounts[user], Source: c.Accounts[accountA], Destination: c.Accounts[accountB],
		Amount: binary.LittleEndian.Uint64(c.Data[amount:]), ExactOut: c.Data[exactIn] == 0,
	}
	if !aToB {
		t.Source, t.Destination = t.Destination, t.Source
	}
	return t, true
}
