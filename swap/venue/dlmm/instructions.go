package dlmm

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

var memoProgram = pubkey.MustParse("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")

// Discriminators of the instructions: sha256("global:swap")[:8] and so on.
var (
	swapV1       = [8]byte{0xf8, 0xc6, 0x9e, 0x91, 0xe1, 0x75, 0x87, 0xc8}
	swapV2       = [8]byte{0x41, 0x4b, 0x3f, 0x4c, 0xeb, 0x5b, 0x5b, 0x88}
	exactOutV1   = [8]byte{250, 73, 101, 33, 38, 207, 75, 184}
	exactOutV2   = [8]byte{0x2b, 0xd7, 0xf7, 0x84, 0x89, 0x3c, 0xf3, 0x51}
	priceImpact2 = [8]byte{74, 98, 192, 214, 177, 51, 75, 51}
)

// fixedAccounts is how many accounts swap2 names besides bin arrays, its program among them.
const fixedAccounts = 17

// How many compute units a swap may use: unitsBase in any case, and more for each bin and each bin
// array that it uses and for each Token-2022 mint. Runs of the program used 40,000 to 55,000 with
// one bin, and 5,000 to 6,500 for each further bin.
const (
	unitsBase  = 55_000
	unitsBin   = 7_000
	unitsArray = 12_000
	unitsToken = 15_000
)

func (p *Pool) unitsOf(r *result) uint32 {
	units := unitsBase + unitsBin*r.bins + unitsArray*r.arrays
	for _, m := range p.mints {
		if m.Program == mint.Token2022 {
			units += unitsToken
		}
	}
	return uint32(units)
}

// named returns how many arrays an instruction names for a swap that uses a number of them. It is
// one array more, if the pool has read it, as the price may move before the swap is executed.
func (p *Pool) named(forY bool, used int) int { return min(used+1, len(p.side(forY).arrays)) }

// Instructions implements venue.Pool: swap2(amount, minimum, no further accounts) or
// swap_exact_out2(maximum, amount, no further accounts). The program id takes the place of an
// account that is left out.
func (p *Pool) Instructions(q venue.Quote, limit uint64, user venue.UserAccounts) ([]venue.Instruction, error) {
	forY := q.Order.In == p.state.mints[0]
	data := venue.InstructionData(swapV2[:], q.Order.Amount, limit)
	if q.Order.ExactOut {
		data = venue.InstructionData(exactOutV2[:], limit, q.Order.Amount)
	}
	data = append(data, 0, 0, 0, 0)
	s := &p.state
	extension := venue.Meta{Key: Program}
	if p.extension != (venue.Key{}) {
		extension = venue.Meta{Key: p.extension, Writable: true}
	}
	metas := []venue.Meta{
		{Key: p.address, Writable: true}, extension, {Key: s.reserves[0], Writable: true}, {Key: s.reserves[1], Writable: true},
		{Key: user.Source, Writable: true}, {Key: user.Destination, Writable: true}, {Key: s.mints[0]}, {Key: s.mints[1]},
		{Key: s.oracle, Writable: true}, {Key: Program}, {Key: user.Owner, Signer: true}, {Key: p.mints[0].Program}, {Key: p.mints[1].Program},
		{Key: memoProgram}, {Key: eventAuthority}, {Key: Program},
	}
	used := int(q.Accounts) - fixedAccounts
	for i, h := range p.side(forY).arrays {
		if i < used {
			metas = append(metas, venue.Meta{Key: h.address, Writable: true})
		}
	}
	return []venue.Instruction{{Program: Program, Data: data, Accounts: metas}}, nil
}

// Trade implements venue.Traced.
func (Venue) Trade(c venue.Call) (venue.Trade, bool) {
	const accounts, pool, source, destination, user = 15, 0, 4, 5, 10 // least number, and indexes
	const first, second, size = 8, 16, 24
	if len(c.Accounts) < accounts || len(c.Data) < first+8 {
		return venue.Trade{}, false
	}
	t := venue.Trade{
		Pool: c.Accounts[pool], User: c.Accounts[user], Source: c.Accounts[source], Destination: c.Accounts[destination],
		Amount: binary.LittleEndian.Uint64(c.Data[first:]),
	}
	switch [8]byte(c.Data) {
	case swapV1, swapV2, priceImpact2:
		return t, true
	case exactOutV1, exactOutV2:
		if len(c.Data) < size {
			return venue.Trade{}, false
		}
		t.Amount, t.ExactOut = binary.LittleEndian.Uint64(c.Data[second:]), true
		return t, true
	}
	return venue.Trade{}, false
}
