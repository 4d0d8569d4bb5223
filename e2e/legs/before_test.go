package legs

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

type account = solana.Account

// before is a pool at the state before a leg, the order that the leg answered, and what came of it.
type before struct {
	pool     venue.Key
	accounts map[venue.Key]*account
	order    venue.Order
	// in and out are what the user paid and got.
	in, out uint64
}

// compare quotes the order. want and got are the amounts in and out, of the leg and of the quote.
func (b *before) compare(v venue.Venue) (want, got [2]uint64, err error) {
	var mints []venue.Key
	for key, a := range b.accounts {
		if len(a.Data) == 82 {
			mints = append(mints, key)
		}
	}
	ref, err := v.Open(b.pool, b.accounts[b.pool].Data, mints...)
	if err != nil {
		return want, got, err
	}
	held := map[venue.Key]*account{}
	for _, key := range append(ref.Accounts(), mints...) {
		held[key] = b.accounts[key]
	}
	p, err := ref.Decode(venue.NewAccounts(held))
	if err != nil {
		return want, got, err
	}
	q, err := p.Quote(b.order)
	return [2]uint64{b.in, b.out}, [2]uint64{q.AmountIn, q.AmountOut}, err
}

// data builds an account's data.
type data []byte

func (d data) number(at int, n uint64)   { binary.LittleEndian.PutUint64(d[at:], n) }
func (d data) key(at int, key venue.Key) { copy(d[at:], key[:]) }

func (b *before) put(key, owner venue.Key, d data) {
	b.accounts[key] = &account{Owner: owner, Lamports: 1, Data: d}
}

func (b *before) mint(key, program venue.Key) {
	d := make(data, 82)
	d[45] = 1
	d.number(36, 1_000_000_000_000_000)
	b.put(key, program, d)
}

func (b *before) vault(key, program, mint venue.Key, amount uint64) {
	d := make(data, 165)
	d.key(0, mint)
	d.number(64, amount)
	d[108] = 1
	b.put(key, program, d)
}

// event reads a program's event.
type event []byte

func (e event) number(at int) uint64 { return binary.LittleEndian.Uint64(e[at:]) }
func (e event) key(at int) venue.Key { return venue.Key(e[at : at+32]) }

// tell is how a venue tells its legs.
type tell struct {
	// tells says whether an event is a leg's.
	tells func(e event, l *eventspb.SwapLeg) bool
	// before makes the state before the leg, or says why it cannot be made.
	before func(l *leg, b *before) (reason string)
}

var tells = map[string]tell{
	"raydium_amm_v4":  {rayTells, rayBefore},
	"raydium_cpmm":    {cpmmTells, cpmmBefore},
	"pumpswap":        {pumpswapTells, pumpswapBefore},
	"pump_curve":      {curveTells, curveBefore},
	"meteora_damm_v2": {dammTells, dammBefore},
}

// rayTells: log type 3 (base_in) or 4 (base_out), then seven numbers.
func rayTells(e event, l *eventspb.SwapLeg) bool {
	if len(e) != 57 || e[0] != 3 && e[0] != 4 {
		return false
	}
	in, out := e.number(1), e.number(49)
	if e[0] == 4 {
		in, out = e.number(49), e.number(9)
	}
	return in == l.GetAmountIn() && out == l.GetAmountOut()
}

// rayBefore: a direction of 2 sells the coin, 1 the price currency. All pools of the data have the
// venue's usual fee.
func rayBefore(l *leg, b *before) string {
	const size, coinToPrice = 752, 2
	e := event(l.event)
	side := 1
	if e.number(17) == coinToPrice {
		side = 0
	}
	var mints, vaults [2]venue.Key
	mints[side], mints[1-side] = venue.Key(l.GetMintIn()), venue.Key(l.GetMintOut())
	vaults[side], vaults[1-side] = venue.Key(l.GetVaultIn()), venue.Key(l.GetVaultOut())
	pool := make(data, size)
	pool.number(0, 6)
	pool.number(176, 25)
	pool.number(184, 10_000)
	for i := range mints {
		pool.key(336+32*i, vaults[i])
		pool.key(400+32*i, mints[i])
		b.mint(mints[i], mint.Token)
		b.vault(vaults[i], mint.Token, mints[i], e.number(33+8*i))
	}
	b.pool = venue.Key(l.GetPool())
	b.put(b.pool, venue.Key(l.GetProgramId()), pool)
	b.order = venue.Order{In: mints[side], Amount: l.GetAmountIn()}
	if e[0] == 4 {
		b.order.ExactOut, b.order.Amount = true, l.GetAmountOut()
	}
	b.in, b.out = l.GetAmountIn(), l.GetAmountOut()
	return ""
}

// cpmmTells: pool, reserves before, amounts, transfer fees, base_input.
func cpmmTells(e event, l *eventspb.SwapLeg) bool {
	return len(e) >= 89 && string(e[:8]) == "\x40\xc6\xcd\xe8\x26\x08\x71\xe2" && e.key(8) == venue.Key(l.GetPool())
}

// cpmmBefore leaves transfer fees aside: the amounts are those of the vaults.
func cpmmBefore(l *leg, b *before) string {
	e := event(l.event)
	config, _ := l.tx.Account(l.call, 2)
	rate, ok := cpmmRates[config.String()]
	if !ok {
		return "the fee of its config is not known here"
	}
	if creator, ok := cpmmCreatorFee(e); ok && creator > 0 {
		return "a build that rounds the creator's fee up by itself, a unit more than the program's source of today"
	}
	mints := [2]venue.Key{venue.Key(l.GetMintIn()), venue.Key(l.GetMintOut())}
	vaults := [2]venue.Key{venue.Key(l.GetVaultIn()), venue.Key(l.GetVaultOut())}
	pool := make(data, 637)
	copy(pool, "\xf7\xed\xe3\xf5\xd7\xc3\xde\x46")
	pool.key(8, config)
	for i, mintKey := range mints {
		pool.key(72+32*i, vaults[i])
		pool.key(168+32*i, mintKey)
		pool.key(232+32*i, mint.Token)
		b.mint(mintKey, mint.Token)
		b.vault(vaults[i], mint.Token, mintKey, e.number(40+8*i))
	}
	b.pool = venue.Key(l.GetPool())
	b.put(b.pool, venue.Key(l.GetProgramId()), pool)
	terms := make(data, 236)
	copy(terms, "\xda\xf4\x21\x68\xcb\xcb\x2b\x6f")
	terms.number(12, rate)
	b.put(config, venue.Key(l.GetProgramId()), terms)
	b.order = venue.Order{In: mints[0], Amount: l.GetAmountIn()}
	if e[88] == 0 {
		b.order.ExactOut, b.order.Amount = true, l.GetAmountOut()
	}
	b.in, b.out = l.GetAmountIn(), l.GetAmountOut()
	return ""
}

// cpmmCreatorFee stands behind the mints and the trade fee.
func cpmmCreatorFee(e event) (fee uint64, told bool) {
	const at = 89 + 2*32 + 8
	if len(e) < at+8 {
		return 0, false
	}
	return e.number(at), true
}

// cpmmRates are the trade fees, in millionths, of the configs in the recorded data.
var cpmmRates = map[string]uint64{
	"D4FPEruKEHrG5TenZ2mpDGEfu1iUvTiqBxvpU8HLBvC2": 2_500,
	"G95xxie3XbkCqtE39GgQ9Ggc7xBC8Uceve7HFDEFApkc": 10_000,
}

// dammTells: EvtSwap or EvtSwap2.
func dammTells(e event, l *eventspb.SwapLeg) bool {
	return len(e) >= 40 && (string(e[:8]) == "\x1b\x3c\x15\xd5\x8a\xaa\xbb\x93" || string(e[:8]) == "\xbd\x42\x33\xa8\x26\x50\x75\x99") &&
		e.key(8) == venue.Key(l.GetPool())
}

// dammBefore: the price after is all that the event says of the pool.
func dammBefore(*leg, *before) string {
	return "the event tells neither the liquidity nor the price before"
}
