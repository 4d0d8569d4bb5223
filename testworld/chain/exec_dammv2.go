package chain

import (
	"encoding/binary"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/testworld/layout"
)

// Meteora DAMM v2: places in Pool, instructions and the event (IDL 0.2.0). The chain's pools have a
// fixed fee, collected in token b alone.
var (
	dammPoolDisc  = [8]byte{0xf1, 0x9a, 0x6d, 0x04, 0x11, 0xb1, 0x6d, 0xbc}
	dammSwap      = [8]byte{0xf8, 0xc6, 0x9e, 0x91, 0xe1, 0x75, 0x87, 0xc8}
	dammSwap2     = [8]byte{0x41, 0x4b, 0x3f, 0x4c, 0xeb, 0x5b, 0x5b, 0x88}
	dammSwapEvent = [8]byte{0xbd, 0x42, 0x33, 0xa8, 0x26, 0x50, 0x75, 0x99}
	// The lowest and the highest square root price of a pool, times 2⁶⁴.
	dammLow  = uint256.NewInt(4_295_048_016)
	dammHigh = uint256.MustFromDecimal("79226673521066979257578248091")
)

const (
	dammPoolSize  = 1112
	dammFee       = 8
	dammMints     = 168
	dammVaults    = 232
	dammLiquidity = 360
	dammLowAt     = 424
	dammHighAt    = 440
	dammPrice     = 456
	dammCollect   = 484
	dammExactOut  = 2
	dammRate      = 2_500_000 // of 10⁹
	dammWhole     = 1_000_000_000
	dammExceeded  = 6002 // ExceededSlippage
	dammRange     = 6004 // PriceRangeViolation
)

func getWide(d []byte) *uint256.Int {
	return &uint256.Int{binary.LittleEndian.Uint64(d), binary.LittleEndian.Uint64(d[8:])}
}

func putWide(d []byte, n *uint256.Int) {
	binary.LittleEndian.PutUint64(d, n[0])
	binary.LittleEndian.PutUint64(d[8:], n[1])
}

// ceilDiv is ⌈a/b⌉.
func ceilDiv(a, b *uint256.Int) *uint256.Int {
	q, rest := new(uint256.Int), new(uint256.Int)
	q.DivMod(a, b, rest)
	if !rest.IsZero() {
		q.AddUint64(q, 1)
	}
	return q
}

// dammBetween returns how much of a token the pool has between two square root prices:
// L·(√P₁−√P₀)/(√P₀·√P₁) of a, L·(√P₁−√P₀)/2¹²⁸ of b; 0 if it does not fit 64 bits.
func dammBetween(liquidity, from, to *uint256.Int, ofA, up bool) uint64 {
	low, high := from, to
	if high.Lt(low) {
		low, high = high, low
	}
	part := new(uint256.Int).Sub(high, low)
	part.Mul(part, liquidity)
	divisor := new(uint256.Int).Lsh(uint256.NewInt(1), 128)
	if ofA {
		divisor.Mul(low, high)
	}
	if up {
		part = ceilDiv(part, divisor)
	} else {
		part.Div(part, divisor)
	}
	if !part.IsUint64() {
		return 0
	}
	return part.Uint64()
}

// dammIn returns what the pool gives for an amount that is sold to it, and the next square root
// price: ⌈L·√P/(L+n·√P)⌉ for token a (in 0), √P+⌊n·2¹²⁸/L⌋ for b. out is 0 if the price would leave
// the range.
func dammIn(d []byte, in int, amount uint64) (out uint64, next *uint256.Int) {
	liquidity, price, n := getWide(d[dammLiquidity:]), getWide(d[dammPrice:]), uint256.NewInt(amount)
	if in == 0 {
		n.Mul(n, price)
		n.Add(n, liquidity)
		next = ceilDiv(new(uint256.Int).Mul(liquidity, price), n)
	} else {
		n.Lsh(n, 128)
		next = n.Div(n, liquidity)
		next.Add(next, price)
	}
	if next.Lt(getWide(d[dammLowAt:])) || next.Gt(getWide(d[dammHighAt:])) {
		return 0, price
	}
	return dammBetween(liquidity, price, next, in == 1, false), next
}

// dammOut returns what an amount bought from the pool costs without the fee, and the next square
// root price: √P−⌈n·2¹²⁸/L⌉ for token b (in 0), ⌈L·√P/(L−n·√P)⌉ for a. pays is 0 if the pool does
// not hold so much.
func dammOut(d []byte, in int, amount uint64) (pays uint64, next *uint256.Int) {
	liquidity, price, n := getWide(d[dammLiquidity:]), getWide(d[dammPrice:]), uint256.NewInt(amount)
	if in == 0 {
		n = ceilDiv(n.Lsh(n, 128), liquidity)
		if !n.Lt(price) {
			return 0, price
		}
		next = n.Sub(price, n)
	} else {
		n.Mul(n, price)
		if !n.Lt(liquidity) {
			return 0, price
		}
		next = ceilDiv(new(uint256.Int).Mul(liquidity, price), n.Sub(liquidity, n))
	}
	if next.Lt(getWide(d[dammLowAt:])) || next.Gt(getWide(d[dammHighAt:])) {
		return 0, price
	}
	return dammBetween(liquidity, price, next, in == 0, true), next
}

// dammTrade is a swap: what the user pays and gets, the fee, which is in token b, and the square
// root price afterwards.
type dammTrade struct {
	pays, sends, fee uint64
	next             *uint256.Int
}

// dammExactInput computes the trade of an exact input. The fee is always taken in token 1: from the
// input if that is token 1, else from the output.
func dammExactInput(d []byte, in int, amount uint64) dammTrade {
	t := dammTrade{pays: amount}
	if in == 1 {
		t.fee, _ = mulDivUp(amount, dammRate, dammWhole)
	}
	t.sends, t.next = dammIn(d, in, amount-t.fee)
	if in == 0 {
		t.fee, _ = mulDivUp(t.sends, dammRate, dammWhole)
		t.sends -= t.fee
	}
	return t
}

// dammExactOutput computes the trade of an exact output, with the fee in token 1 as well.
func dammExactOutput(d []byte, in int, amount uint64) dammTrade {
	t := dammTrade{sends: amount}
	gross := amount
	if in == 0 {
		gross, _ = mulDivUp(amount, dammWhole, dammWhole-dammRate)
		t.fee = gross - amount
	}
	net, next := dammOut(d, in, gross)
	t.pays, t.next = net, next
	if in == 1 {
		t.pays, _ = mulDivUp(net, dammWhole, dammWhole-dammRate)
		t.fee = t.pays - net
	}
	return t
}

// runDAMMv2 runs swap (amount in, least out) and swap2 (the same with a mode: 2 is amount out, most
// in). Accounts: authority, pool, source, destination, vault a, vault b, mint a, mint b, user, both
// token programs, referral, event authority, program.
func runDAMMv2(x *machine, f *frame) error {
	if len(f.data) >= 8 && [8]byte(f.data[:8]) == anchorEventPrefix {
		x.used += 2000
		return nil
	}
	x.used += 12_000
	if len(f.data) < 24 || [8]byte(f.data[:8]) != dammSwap && ([8]byte(f.data[:8]) != dammSwap2 || len(f.data) < 25) {
		return failCustom(anchorFallbackNotFound)
	}
	if err := f.need(14); err != nil {
		return failCustom(anchorNotEnoughKeys)
	}
	a := f.accs
	pool := x.acc(a[1])
	if pool.Owner != DAMMv2Program || len(pool.Data) != dammPoolSize {
		return failCustom(anchorWrongOwner)
	}
	mints := [2]Key{keyAt(pool.Data, dammMints), keyAt(pool.Data, dammMints+32)}
	in := 1
	if x.holds(a[2], mints[0]) {
		in = 0
	}
	if x.key(a[0]) != DAMMv2Authority || x.key(a[4]) != keyAt(pool.Data, dammVaults) || x.key(a[5]) != keyAt(pool.Data, dammVaults+32) ||
		x.key(a[6]) != mints[0] || x.key(a[7]) != mints[1] || !a[8].signer || x.key(a[12]) != dammEvents || x.key(a[13]) != DAMMv2Program ||
		!x.holds(a[2], mints[in]) || !x.holds(a[3], mints[1-in]) {
		return failCustom(anchorConstraintRaw)
	}
	first, second := binary.LittleEndian.Uint64(f.data[8:]), binary.LittleEndian.Uint64(f.data[16:])
	var t dammTrade
	var slipped bool
	if [8]byte(f.data[:8]) == dammSwap2 && f.data[24] == dammExactOut {
		t = dammExactOutput(pool.Data, in, first)
		slipped = t.pays > second
	} else {
		t = dammExactInput(pool.Data, in, first)
		slipped = t.sends < second
	}
	switch {
	case t.pays == 0 || t.sends == 0:
		return failCustom(dammRange)
	case slipped:
		x.log("Program log: AnchorError occurred. Error Code: ExceededSlippage. Error Number: 6002. Error Message: Exceeded slippage tolerance.")
		return failCustom(dammExceeded)
	}
	return dammSettle(x, f, in, t)
}

// dammSettle moves the price and the tokens, and emits EvtSwap2. The fee stays in the vault. The
// numbers in the event, after the instruction's two: the amount in with and without the fee (here
// both are all of it), what is left of the input, the amount out; the price; four fees, of which
// only the first is taken; what the user pays, what the vault sends and what the user gets (no mint
// here has a transfer fee); the time and what the vaults hold.
func dammSettle(x *machine, f *frame, in int, t dammTrade) error {
	a := f.accs
	putWide(x.mutable(a[1]).Data[dammPrice:], t.next)
	vaults, programs := [2]ref{a[4], a[5]}, [2]ref{a[9], a[10]}
	if err := cpmmTransfer(x, f, a[2], vaults[in], a[8], programs[in], a[6+in], t.pays); err != nil {
		return err
	}
	if err := cpmmTransfer(x, f, vaults[1-in], a[3], ref{idx: a[0].idx, signer: true}, programs[1-in], a[7-in], t.sends); err != nil {
		return err
	}
	pool := x.key(a[1])
	event := append(append(append([]byte(nil), anchorEventPrefix[:]...), dammSwapEvent[:]...), pool[:]...)
	event = append(event, byte(in), 1, 0)
	event = append(append(event, f.data[8:24]...), 0)
	event = layout.AppendU64(layout.AppendU64(layout.AppendU64(layout.AppendU64(event, t.pays), t.pays), 0), t.sends)
	event = layout.AppendU64(layout.AppendU64(event, t.next[0]), t.next[1])
	event = layout.AppendU64(layout.AppendU64(layout.AppendU64(layout.AppendU64(event, t.fee), 0), 0), 0)
	event = layout.AppendU64(layout.AppendU64(layout.AppendU64(event, t.pays), t.sends), t.sends)
	event = layout.AppendU64(event, uint64(x.now))
	event = layout.AppendU64(layout.AppendU64(event, layout.Amount(x.acc(a[4]).Data)), layout.Amount(x.acc(a[5]).Data))
	return x.call(f, DAMMv2Program, []ref{{idx: a[12].idx, signer: true}}, event)
}

type dammDex struct{}

// reserves returns the virtual reserves: L/√P and L·√P/2¹²⁸.
func (dammDex) reserves(g *Generator, p *pool) [2]uint64 {
	d := g.st.get(p.key).Data
	liquidity, price := getWide(d[dammLiquidity:]), getWide(d[dammPrice:])
	b := new(uint256.Int).Mul(liquidity, price)
	return [2]uint64{new(uint256.Int).Div(liquidity, price).Uint64(), b.Rsh(b, 128).Uint64()}
}

func (dammDex) exactIn(g *Generator, p *pool, in int, amount uint64) uint64 {
	return dammExactInput(g.st.get(p.key).Data, in, amount).sends
}

func (dammDex) exactOut(g *Generator, p *pool, in int, amount uint64) uint64 {
	return dammExactOutput(g.st.get(p.key).Data, in, amount).pays
}

// swap: with base, first is the exact amount in and second the least amount out. Without, first is
// the most in and second the exact amount out, and the instruction has them in the other order.
func (dammDex) swap(_ *Generator, user Key, p *pool, in int, accounts [2]Key, first, second uint64, base bool) Instruction {
	data := layout.AppendU64(layout.AppendU64(append([]byte(nil), dammSwap[:]...), first), second)
	if !base {
		data = append(layout.AppendU64(layout.AppendU64(append([]byte(nil), dammSwap2[:]...), second), first), dammExactOut)
	}
	return Instruction{Program: DAMMv2Program, Data: data, Accounts: []AccountMeta{readonly(DAMMv2Authority), writable(p.key), writable(accounts[in]),
		writable(accounts[1-in]), writable(p.vaults[0]), writable(p.vaults[1]), readonly(p.tokens[0].mint), readonly(p.tokens[1].mint), signer(user),
		readonly(p.tokens[0].program), readonly(p.tokens[1].program), readonly(DAMMv2Program), readonly(dammEvents), readonly(DAMMv2Program)}}
}

// genesisDAMMv2 adds a pool over the whole price range: √P = √(b/a)·2⁶⁴, L = √(a·b)·2⁶⁴.
func (g *Generator) genesisDAMMv2(a, b *token, amounts [2]uint64) {
	price := new(uint256.Int).Lsh(uint256.NewInt(amounts[1]), 128)
	price.Sqrt(price.Div(price, uint256.NewInt(amounts[0])))
	liquidity := new(uint256.Int).Lsh(uint256.NewInt(isqrt(amounts[0], amounts[1])), 64)
	g.genesisVenue(dammDex{}, DAMMv2Program, DAMMv2Authority, a, b, amounts, func(p *pool) []byte {
		d := make([]byte, dammPoolSize)
		copy(d, dammPoolDisc[:])
		binary.LittleEndian.PutUint64(d[dammFee:], dammRate)
		for i, t := range p.tokens {
			copy(d[dammMints+32*i:], t.mint[:])
			copy(d[dammVaults+32*i:], p.vaults[i][:])
		}
		putWide(d[dammLiquidity:], liquidity)
		putWide(d[dammLowAt:], dammLow)
		putWide(d[dammHighAt:], dammHigh)
		putWide(d[dammPrice:], price)
		d[dammCollect] = 1
		return d
	})
}
