package dammv1

import (
	"bytes"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	rpc "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// After implements venuetest.Pool.
func (p *Pool) After(q venue.Quote) (venue.Pool, error) {
	m, r, err := p.swap(q.Order)
	if err != nil {
		return nil, err
	}
	next := *p
	for i, was := range [2]holding{m.in, m.out} {
		half, now := &next.sides[m.side], r.after[i]
		if i == 1 {
			half = &next.sides[1-m.side]
		}
		v := *half.vault
		v.total += now.free - was.free
		half.vault, half.shares, half.supply = &v, now.shares, now.supply
		half.tokens += now.free - was.free
	}
	return &next, nil
}

// drawPool draws a pool whose vaults have other holders, and have lent a part.
func drawPool(t *rapid.T) *Pool {
	p := &Pool{state: state{enabled: true, byTime: true}, kept: &memory{}}
	for side, name := range []string{"a", "b"} {
		p.state.mints[side] = swaptest.Named(name)
		total := rapid.OneOf(rapid.Uint64Range(1000, 1<<30), rapid.Uint64Range(1<<20, 1<<50)).Draw(t, "total")
		supply := total - rapid.Uint64Range(0, total/2).Draw(t, "earned")
		p.sides[side] = half{
			mint: &mint.Mint{Address: p.state.mints[side], Program: mint.Token}, vault: &vault{enabled: true, total: total},
			supply: supply, shares: supply - rapid.Uint64Range(0, supply/2).Draw(t, "of others"), tokens: total - rapid.Uint64Range(0, total/4).Draw(t, "lent"),
		}
		if rapid.Bool().Draw(t, "locks") {
			v := p.sides[side].vault
			v.profit, v.reported, v.degradation = rapid.Uint64Range(0, total/100).Draw(t, "profit"), 900, rapid.Uint64Range(0, unlocked/50).Draw(t, "degradation")
		}
	}
	p.state.fees = fees{fraction{rapid.Uint64Range(0, 15_000).Draw(t, "fee"), 100_000}, fraction{rapid.Uint64Range(0, 50_000).Draw(t, "protocol"), 100_000}}
	if rapid.Bool().Draw(t, "stable") {
		c := &p.state.curve
		c.stable, c.amplifier, c.multipliers = true, rapid.Uint64Range(1, maxAmplifier).Draw(t, "amplifier"), [2]uint64{1, 1}
		if rapid.Bool().Draw(t, "depeg") {
			c.depeg, c.price, c.cached = depegSPL, rapid.Uint64Range(1_000_000, 2_000_000).Draw(t, "price"), 900
		}
	}
	return p
}

// noise is how many units rounding to shares, and one unit more of a fee, may make of the output.
func noise(p *Pool) uint64 {
	most := uint64(1)
	for side := range p.sides {
		a, b := &p.sides[side], &p.sides[1-side]
		most = max(most, 1+b.vault.total/(a.shares+1))
	}
	return 8 * most
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		venuetest.Properties(t, venuetest.Case{
			Pool: p, Held: [2]uint64{p.sides[0].tokens, p.sides[1].tokens}, Clock: venue.Clock{UnixTime: 1000}, Rounding: noise(p), SplitGains: true,
		})
	})
}

// TestTheCurveKeepsItsInvariant compares with the formula of StableSwap in numbers without a size:
// a trade never lowers D by more than what its whole numbers lose.
func TestTheCurveKeepsItsInvariant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := curve{stable: true, amplifier: rapid.Uint64Range(1, maxAmplifier).Draw(t, "amplifier"), multipliers: [2]uint64{1, 1000}}
		before := trade{in: rapid.Uint64Range(1<<20, 1<<50).Draw(t, "in"), out: rapid.Uint64Range(1<<20, 1<<50).Draw(t, "out")}
		if c.begin(&before, 0, 1, nil) != nil {
			return
		}
		amount := rapid.Uint64Range(1, 1<<50).Draw(t, "amount")
		out, err := before.give(amount)
		if err != nil {
			require.NotEmpty(t, venue.RefusalOf(err))
			return
		}
		require.Less(t, out, before.out)
		x, y := new(big.Int).SetUint64(before.in), new(big.Int).Mul(new(big.Int).SetUint64(before.out), big.NewInt(1000))
		was := invariant(before.ann, x, y)
		lost := new(big.Int).Sub(before.d.ToBig(), was) // by rounding, before the trade
		y.Sub(y, new(big.Int).Mul(new(big.Int).SetUint64(out), big.NewInt(1000)))
		is := invariant(before.ann, x.Add(x, new(big.Int).SetUint64(amount)), y)
		is.Add(is, lost.Abs(lost)).Add(is, big.NewInt(2))
		require.GreaterOrEqual(t, is.Cmp(was), 0)
	})
}

// invariant returns the greatest D for which 2A·(x+y) + D ≥ 2A·D + D³/(4xy), by bisection.
func invariant(ann uint64, x, y *big.Int) *big.Int {
	sum, product := new(big.Int).Add(x, y), new(big.Int).Mul(x, y)
	product.Lsh(product, 2)
	holds := func(d *big.Int) bool {
		side := new(big.Int).Sub(sum, d)
		side.Mul(side, new(big.Int).SetUint64(ann)).Add(side, d).Mul(side, product)
		return side.Cmp(new(big.Int).Exp(d, big.NewInt(3), nil)) >= 0
	}
	d := new(big.Int)
	for bit := sum.BitLen(); bit >= 0; bit-- {
		if d.SetBit(d, bit, 1); !holds(d) {
			d.SetBit(d, bit, 0)
		}
	}
	return d
}

func TestProfitUnlocksWithTime(t *testing.T) {
	v := vault{total: 1_000_000, profit: 100_000, reported: 1000, degradation: unlocked / 100}
	for now, want := range map[uint64]uint64{1000: 900_000, 1001: 901_000, 1050: 950_000, 1100: 1_000_000, 1101: 1_000_000, math.MaxUint64: 1_000_000} {
		free, ok := v.free(now)
		require.True(t, ok)
		require.Equal(t, want, free, "at %d", now)
	}
	_, ok := v.free(999)
	require.False(t, ok, "the report is of a later time")
	v.profit = 1_000_001
	_, ok = v.free(1000)
	require.False(t, ok)
}

func TestAFeeIsAtLeastOneUnit(t *testing.T) {
	f := fraction{250, 100_000}
	require.Equal(t, []uint64{0, 1, 1, 2}, []uint64{f.of(0), f.of(1), f.of(400), f.of(800)})
	require.Zero(t, fraction{0, 100_000}.of(1000))
}

// TestPoolsThatAreNotOnesAreRefused by name.
func TestPoolsThatAreNotOnesAreRefused(t *testing.T) {
	read := mainnet(t)
	address := pubkey.MustParse("HcjZvfeSNJbNkfLD4eEcRBr96AD3w1GpmMppaeRZf7ur")
	whole := read[address].Data
	opened, err := Venue{}.Open(address, whole)
	require.NoError(t, err)
	require.Equal(t, opened.Own(), opened.Accounts()[:3])
	require.Len(t, opened.Accounts(), 10)
	for name, c := range map[string]struct {
		at   int
		to   byte
		want error
	}{
		"another account": {0, 0, venue.ErrMalformed}, "an activation": {poolActivateBy, 2, venue.ErrUnverified}, "a curve": {poolCurve, 2, venue.ErrUnverified},
		"a price": {curveStable + 41, 4, venue.ErrUnverified}, "an amplifier": {curveStable + 7, 1, venue.ErrMalformed}, "a fee": {poolFees + 7, 1, venue.ErrMalformed},
	} {
		data := bytes.Clone(whole)
		data[c.at] = c.to
		r, err := Venue{}.Open(address, data)
		if err == nil { // it is listed, and refused
			_, err = r.Decode(venue.NewAccounts(changed(read, address, data)))
		}
		require.ErrorIs(t, err, c.want, name)
	}
	for _, size := range []int{0, poolCurve, curveStableEnd - 1} {
		_, err := Venue{}.Open(address, whole[:size])
		require.ErrorIs(t, err, venue.ErrMalformed)
	}
	disabled := bytes.Clone(whole)
	disabled[poolEnabled] = 0
	refused(t, opened, changed(read, address, disabled), venue.ErrClosed)
	keys := opened.Accounts()
	for name, c := range map[string]struct {
		key, owner venue.Key
		at         int
		want       error
	}{
		"a vault of another program": {keys[3], Program, 0, venue.ErrMalformed}, "a vault of another mint": {keys[3], VaultProgram, vaultMint, venue.ErrMalformed},
		"other tokens": {keys[6], VaultProgram, vaultTokens, venue.ErrMalformed}, "other shares": {keys[6], VaultProgram, vaultShareMint, venue.ErrUnverified},
		"shares of another vault": {keys[1], mint.Token, 0, venue.ErrMalformed}, "tokens of another mint": {keys[7], mint.Token, 0, venue.ErrMalformed},
	} {
		data := bytes.Clone(read[c.key].Data)
		data[c.at]++
		spoilt := changed(read, c.key, data)
		spoilt[c.key].Owner = c.owner
		_, err := opened.Decode(venue.NewAccounts(spoilt))
		require.ErrorIs(t, err, c.want, name)
	}
	missing := changed(read, keys[0], whole)
	delete(missing, marinadeState)
	_, err = opened.Decode(venue.NewAccounts(missing))
	require.ErrorIs(t, err, venue.ErrUnread)
	missing[marinadeState] = nil
	refused(t, opened, missing, venue.ErrMalformed)
}

// changed returns a copy of accounts with other data of one.
func changed(read map[venue.Key]*rpc.Account, key venue.Key, data []byte) map[venue.Key]*rpc.Account {
	next := map[venue.Key]*rpc.Account{}
	for k, account := range read {
		next[k] = account
	}
	next[key] = &rpc.Account{Owner: read[key].Owner, Data: data}
	return next
}

// refused asks for a quote at a time when the pool's price of mSOL is no longer kept.
func refused(t *testing.T, opened venue.Ref, read map[venue.Key]*rpc.Account, want error) {
	t.Helper()
	p, err := opened.Decode(venue.NewAccounts(read))
	require.NoError(t, err)
	_, err = p.Quote(venue.Order{In: opened.Mints()[0], Amount: 1_000_000, Clock: venue.ClockAt(1, 1_790_000_000)})
	require.ErrorIs(t, err, want)
}

// FuzzDecode: accounts are hostile. A quote ends after a bounded number of rounds.
func FuzzDecode(f *testing.F) {
	f.Add(make([]byte, curveStableEnd), make([]byte, vaultSize), make([]byte, 600), uint64(5), uint64(1000), uint64(900))
	f.Fuzz(func(t *testing.T, pool, held, stake []byte, amount, supply, shares uint64) {
		if len(pool) > poolCurve && len(held) >= 8 {
			copy(pool, poolDiscriminator[:])
			copy(held, vaultDiscriminator[:])
			pool[poolEnabled], pool[poolActivateBy], pool[poolCurve] = 1, pool[poolActivateBy]&1, pool[poolCurve]&1
		}
		s, err := decodeState(pool)
		if err != nil || s.err != nil {
			return
		}
		v, err := decodeVault(held)
		if err != nil {
			return
		}
		v.enabled = true
		p := &Pool{state: s, stakePrice: s.curve.depeg.priceOf(&rpc.Account{Data: stake})}
		p.state.activation = 0
		for side, key := range s.mints {
			p.sides[side] = half{mint: &mint.Mint{Address: key, Program: mint.Token}, vault: v, supply: supply, shares: shares, tokens: v.total}
			v = &vault{enabled: true, total: supply ^ v.total}
		}
		venuetest.Hostile(t, p, amount)
	})
}

func BenchmarkQuote(b *testing.B) {
	for name, c := range map[string]curve{"constant": {}, "stable": {stable: true, amplifier: 100, multipliers: [2]uint64{1, 1}}} {
		for _, exactOut := range []bool{false, true} {
			b.Run(name, func(b *testing.B) {
				p := &Pool{kept: &memory{}, state: state{enabled: true, curve: c, fees: fees{fraction{250, 100_000}, fraction{20_000, 100_000}}}}
				for side, key := range []string{"a", "b"} {
					p.state.mints[side] = swaptest.Named(key)
					p.sides[side] = half{vault: &vault{enabled: true, total: 1 << 40}, tokens: 1 << 40, shares: 1 << 38, supply: 1 << 39}
				}
				o := venue.Order{In: p.state.mints[0], Amount: 1_000_000, ExactOut: exactOut}
				_, err := p.Quote(o)
				require.NoError(b, err)
				b.ReportAllocs()
				for b.Loop() {
					_, _ = p.Quote(o)
				}
			})
		}
	}
}
