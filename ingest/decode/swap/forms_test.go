package swap_test

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/decode/swap"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Forms of instructions that the recorded data does not hold, laid out as their programs' sources
// and documents say.

const (
	token     = schemas.ProgramToken
	token2022 = schemas.ProgramToken2022
)

func programKey(t testing.TB, address string) pubkey.Key {
	t.Helper()
	raw, err := base58.Decode(address)
	require.NoError(t, err)
	return pubkey.Key(raw)
}

// scene builds a transaction of one outer instruction. Accounts are named by letters.
type scene struct {
	t   *testing.T
	tx  chain.Transaction
	out chain.Instruction
}

func newScene(t *testing.T, program string) *scene {
	t.Helper()
	s := &scene{t: t}
	s.tx.Keys = []pubkey.Key{{'u'}, programKey(t, program), programKey(t, token), programKey(t, token2022), {}}
	s.tx.Signers, s.tx.Index = 1, 3
	s.out.ProgramIndex, s.out.StackHeight = 1, 1
	return s
}

// at is the index of a named account.
func (s *scene) at(name string) byte {
	key := pubkey.Key{1: 1, 2: name[0], 3: name[len(name)-1], 4: byte(len(name))}
	copy(key[5:], name)
	return s.key(key)
}

func (s *scene) key(key pubkey.Key) byte {
	for i := range s.tx.Keys {
		if s.tx.Keys[i] == key {
			return byte(i)
		}
	}
	s.tx.Keys = append(s.tx.Keys, key)
	return byte(len(s.tx.Keys) - 1)
}

// accounts names the outer instruction's; "u" is the signer.
func (s *scene) call(tag string, names ...string) {
	s.out.Data = []byte(tag)
	for _, name := range names {
		if name == "u" {
			s.out.Accounts = append(s.out.Accounts, 0)
		} else {
			s.out.Accounts = append(s.out.Accounts, s.at(name))
		}
	}
}

// holds gives an account a balance before and after.
func (s *scene) holds(account, owner, mint string, pre, post uint64) {
	b := chain.TokenBalance{AccountIndex: int(s.at(account)), Owner: s.tx.Keys[s.at(owner)], Mint: s.tx.Keys[s.at(mint)], Decimals: 6, Amount: pre}
	s.tx.PreBalances = append(s.tx.PreBalances, b)
	b.Amount = post
	s.tx.PostBalances = append(s.tx.PostBalances, b)
}

func (s *scene) moves(from, to string, amount uint64) {
	s.out.Inner = append(s.out.Inner, chain.Call{
		ProgramIndex: 2, StackHeight: 2, Accounts: []byte{s.at(from), s.at(to), 0}, Data: binary.LittleEndian.AppendUint64([]byte{3}, amount),
	})
}

func (s *scene) tells(event []byte) {
	s.out.Inner = append(s.out.Inner, chain.Call{
		ProgramIndex: s.out.ProgramIndex, StackHeight: 2, Data: append([]byte("\xe4\x45\xa5\x2e\x51\xcb\x9a\x1d"), event...),
	})
}

func (s *scene) swaps() swap.Result {
	s.tx.Instructions = []chain.Instruction{s.out}
	return decode.New(nil).Swaps(&s.tx, 7, 8)
}

type amounts struct {
	pool    string
	in, out uint64
	batch   uint32
}

func (s *scene) legs() (all []amounts) {
	for _, leg := range s.swaps().Legs {
		a := amounts{in: leg.GetAmountIn(), out: leg.GetAmountOut(), batch: 99}
		for _, key := range s.tx.Keys {
			if string(key[:]) == string(leg.GetPool()) {
				a.pool = string(key[2:3])
			}
		}
		if leg.GetPosition().BatchIndex != nil {
			a.batch = leg.GetPosition().GetBatchIndex()
		}
		all = append(all, a)
	}
	return all
}

func list(names string) (all []string) {
	for _, c := range names {
		all = append(all, string(c))
	}
	return all
}

const whirlpools = "whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc"

// In a two-hop swap of version 2 the middle token goes from the first pool's vault straight into
// the second's.
func TestTwoHopSwapIsTwoLegs(t *testing.T) {
	s := newScene(t, whirlpools)
	s.call(swap.Anchor("two_hop_swap_v2", 0).Tag, append(list("PQ123456Aabcd7"), append([]string{"u"}, list("KLMNORSTUV")...)...)...)
	s.holds("a", "P", "1", 0, 100)
	s.holds("b", "P", "2", 90, 0)
	s.holds("c", "Q", "2", 0, 90)
	s.holds("d", "Q", "3", 80, 0)
	s.moves("A", "a", 100)
	s.moves("b", "c", 90)
	s.moves("d", "7", 80)
	require.Equal(t, []amounts{{"P", 100, 90, 0}, {"Q", 90, 80, 1}}, s.legs())
}

// The pools of swap_router_base_in stand among tick arrays; their vaults' owners tell where.
func TestRouterOfCLMMIsALegEach(t *testing.T) {
	s := newScene(t, "CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK")
	s.call(swap.Anchor("swap_router_base_in", 0).Tag, append([]string{"u"}, list("A1456"+"gPBab2o"+"xy"+"hQCcd3o"+"z")...)...)
	s.holds("a", "P", "1", 0, 100)
	s.holds("b", "P", "2", 90, 0)
	s.holds("c", "Q", "2", 0, 90)
	s.holds("d", "Q", "3", 80, 0)
	s.moves("A", "a", 100)
	s.moves("b", "B", 90)
	s.moves("B", "c", 90)
	s.moves("d", "C", 80)
	require.Equal(t, []amounts{{"P", 100, 90, 0}, {"Q", 90, 80, 1}}, s.legs())
}

// event of PumpSwap: fourteen numbers and keys.
func pumpSwapEvent(name string, pool pubkey.Key, numbers map[int]uint64, recipient pubkey.Key, tail []byte) []byte {
	data := []byte(anchorEvent(name))
	for i := range 14 {
		data = binary.LittleEndian.AppendUint64(data, numbers[i])
	}
	data = append(data, pool[:]...)
	data = append(data, make([]byte, 3*32)...) // user, accounts
	data = append(data, recipient[:]...)
	data = append(data, make([]byte, 2*32)...) // its account, the creator
	return append(data, tail...)
}

// A hop of multi_hop_swap over a pool is told by its event; one over a curve, which looks the same,
// is left to the curve's program.
func TestMultiHopSwapReadsPoolHops(t *testing.T) {
	s := newScene(t, "pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA")
	s.call(swap.Anchor("multi_hop_swap", 0).Tag, append([]string{"u"}, list("ABCDEFGHIJKLMNO"+"21Pab"+"32Qcd")...)...)
	s.holds("a", "P", "2", 500, 410)
	s.holds("b", "P", "1", 0, 100)
	s.moves("A", "b", 100)
	s.moves("a", "d", 90)
	pool := s.tx.Keys[s.at("P")]
	// Fees stay in the vault: the event names no recipient, and the buyer's 103 less the buyback's
	// 3 came in.
	tail := make([]byte, 8+8+1+4*8+8)
	tail = append(binary.LittleEndian.AppendUint32(tail, 3), "abc"...)
	tail = append(tail, make([]byte, 3*8)...)
	tail = binary.LittleEndian.AppendUint64(tail, 3)
	s.tells(pumpSwapEvent("BuyEvent", pool, map[int]uint64{1: 90, 7: 95, 12: 97, 13: 103}, pubkey.Key{}, tail))
	require.Equal(t, []amounts{{"P", 100, 90, 99}}, s.legs())
	leg := s.swaps().Legs[0]
	require.Equal(t, uint32(eventspb.LegSource_LEG_SOURCE_TRANSFERS|eventspb.LegSource_LEG_SOURCE_EVENT|eventspb.LegSource_LEG_SOURCE_BALANCES), leg.GetAgreed())
	require.Zero(t, leg.GetDisagreed())
	require.EqualValues(t, 100, leg.GetReserveIn())
	require.EqualValues(t, 410, leg.GetReserveOut())
}

// curveEvent is a TradeEvent of October 2026.
func curveEvent(mint, quoteMint, recipient pubkey.Key, buy bool, sol, token, fee, creatorFee, buyback, quote uint64) []byte {
	u64 := binary.LittleEndian.AppendUint64
	data := append([]byte(anchorEvent("TradeEvent")), mint[:]...)
	data = u64(u64(data, sol), token)
	direction := byte(0)
	if buy {
		direction = 1
	}
	data = append(append(data, direction), make([]byte, 32+8)...)
	data = u64(u64(u64(u64(data, 1), 2), 3), 4)
	data = append(data, recipient[:]...)
	data = u64(u64(data, 100), fee)
	data = append(data, make([]byte, 32)...)
	data = u64(u64(data, 30), creatorFee)
	data = append(data, make([]byte, 1+4*8)...)
	data = append(binary.LittleEndian.AppendUint32(data, 6), "buy_v3"...)
	data = append(data, make([]byte, 1+3*8)...) // mayhem, cashback, the buyback's rate
	data = u64(data, buyback)
	data = append(binary.LittleEndian.AppendUint32(data, 1), make([]byte, 34)...)
	data = append(data, quoteMint[:]...)
	return u64(u64(u64(data, quote), 5), 6)
}

const pump = "6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P"

// A curve quoted in a token counts its quote_amount, and is checked by both vaults; fees of version
// 3 stay in the quote's.
func TestCurveQuotedInAToken(t *testing.T) {
	s := newScene(t, pump)
	s.call(swap.Anchor("buy_v3", 0).Tag, append(list("G12tqPab"), append([]string{"u"}, list("ABvfrsep")...)...)...)
	s.holds("a", "P", "1", 1000, 300)
	s.holds("b", "P", "2", 0, 55)
	s.moves("a", "A", 700)
	s.moves("B", "b", 55) // 50 and the fees of 5 that stay
	s.tells(curveEvent(s.tx.Keys[s.at("1")], s.tx.Keys[s.at("2")], pubkey.Key{}, true, 0, 700, 4, 2, 1, 50))
	require.Equal(t, []amounts{{"P", 50, 700, 99}}, s.legs())
	leg := s.swaps().Legs[0]
	require.Equal(t, uint32(eventspb.LegSource_LEG_SOURCE_TRANSFERS|eventspb.LegSource_LEG_SOURCE_EVENT|eventspb.LegSource_LEG_SOURCE_BALANCES), leg.GetAgreed())
	require.EqualValues(t, 56, leg.GetTraderPaid())
	require.EqualValues(t, 6, leg.GetReserveIn())
}

// Hops over curves inside multi_hop_swap come from the curve's program, whose instruction names
// nothing that could be relied on: the address follows from the mint.
func TestCurveHopsAreFoundByTheirMints(t *testing.T) {
	s := newScene(t, pump)
	s.call(swap.Anchor("multi_hop_curve_swap", 0).Tag, list("XYZ")...)
	mint, second := programKey(t, "8fFuHso3BTXoY1kNJBuVrz8fGhW24d7WNMxhMssWpump"), s.tx.Keys[s.at("2")]
	curve := s.key(programKey(t, "B9wQJbZrLufWzWtK3VJUJ7mrqNM3uqzYHzYpd8QGGmXx"))
	s.tx.Details = details{pre: make([]uint64, 16), post: make([]uint64, 16)}
	s.tx.Details.(details).pre[curve], s.tx.Details.(details).post[curve] = 100, 150 // made above
	s.tells(curveEvent(mint, pubkey.Key{}, pubkey.Key{1}, true, 50, 700, 4, 2, 1, 0))
	s.tells(curveEvent(second, mint, pubkey.Key{1}, true, 0, 80, 0, 0, 0, 700))
	legs := s.swaps().Legs
	require.Len(t, legs, 2)
	require.Equal(t, "B9wQJbZrLufWzWtK3VJUJ7mrqNM3uqzYHzYpd8QGGmXx", base58.Encode(legs[0].GetPool()))
	require.Equal(t, schemas.MintWrappedSOL, base58.Encode(legs[0].GetMintIn()))
	require.Equal(t, legs[0].GetMintOut(), legs[1].GetMintIn())
	require.EqualValues(t, 700, legs[1].GetAmountIn())
	require.NotEqual(t, legs[0].GetPosition().GetBatchIndex(), legs[1].GetPosition().GetBatchIndex())
	require.Zero(t, legs[0].GetDisagreed()&uint32(eventspb.LegSource_LEG_SOURCE_BALANCES), "that no balance of the vault is reported contradicts nothing")
}

// Every instruction of Meteora DBC that creates a token on a curve creates a pool.
func TestEveryCreationOfDBCMakesAPool(t *testing.T) {
	for _, name := range []string{
		"initialize_virtual_pool_with_spl_token", "initialize_virtual_pool_with_spl_token2", "initialize_virtual_pool_with_token2022", "initialize_virtual_pool_with_token2022_2",
		"initialize_virtual_pool_with_token2022_transfer_hook", "initialize_virtual_pool_with_token2022_transfer_hook2",
	} {
		s := newScene(t, "dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN")
		s.call(swap.Anchor(name, 0).Tag, append(append(list("ca"), "u"), list("12PABdefghijk")...)...)
		pools := s.swaps().Pools
		require.Len(t, pools, 1, name)
		pool, key := pools[0], func(name string) []byte { return s.tx.Keys[s.at(name)].Bytes() }
		require.Equal(t, key("P"), pool.GetPool())
		require.ElementsMatch(t, [][]byte{key("1"), key("2")}, [][]byte{pool.GetMintA(), pool.GetMintB()})
		require.ElementsMatch(t, [][]byte{key("A"), key("B")}, [][]byte{pool.GetVaultA(), pool.GetVaultB()})
		require.Equal(t, s.tx.Keys[0].Bytes(), pool.GetCreator())
	}
}

// What moves tokens into both vaults, or out of both, is no swap, whatever it calls itself.
func TestOneSidedMovementIsNoLeg(t *testing.T) {
	const dlmm = "LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo"
	build := func(tag string) *scene {
		s := newScene(t, dlmm)
		s.call(tag, append(list("PEabAB12oh"), append([]string{"u"}, list("tsvwxyz")...)...)...)
		s.holds("a", "P", "1", 0, 100)
		s.holds("b", "P", "2", 0, 90)
		s.moves("A", "a", 100)
		return s
	}
	s := build(swap.Anchor("swap", 0).Tag)
	s.moves("B", "b", 90)
	require.Empty(t, s.swaps().Legs)
	s = build(swap.Anchor("add_liquidity", 0).Tag)
	s.moves("b", "B", 90)
	require.Empty(t, s.swaps().Legs, "only swap instructions swap")
	s = build(swap.Anchor("swap", 0).Tag)
	s.moves("b", "B", 90)
	require.Len(t, s.swaps().Legs, 1)
}

// An account that a signer owns is no vault: a closed program changed its layout, and no leg is
// better than a wrong one.
func TestVaultOfASignerMakesNoLeg(t *testing.T) {
	s := newScene(t, "SoLFiHG9TfgtdUXUjWAxi3LtvYuFyDLVhBWxdMZxyCe")
	s.call("\x07", "u", "P", "a", "b", "A", "B", "t", "i")
	s.holds("a", "P", "1", 0, 100)
	s.holds("b", "P", "2", 90, 0)
	s.moves("A", "a", 100)
	s.moves("b", "B", 90)
	require.Len(t, s.swaps().Legs, 1)
	s.tx.PreBalances[0].Owner = s.tx.Keys[0]
	require.Empty(t, s.swaps().Legs)
}

// Token-2022 fees of several transfers into one vault are found by the rate that explains them all.
func TestFeesOfSeveralTransfers(t *testing.T) {
	s := newScene(t, whirlpools)
	one := []string{"t", "u", "P", "A", "a", "B", "b", "x", "y", "z", "o"}
	s.call(swap.Anchor("swap", 0).Tag, one...)
	transfer := func(from, to string, amount uint64) chain.Call {
		return chain.Call{ProgramIndex: 3, StackHeight: 2, Accounts: []byte{s.at(from), s.at(to), 0}, Data: binary.LittleEndian.AppendUint64([]byte{3}, amount)}
	}
	s.out.Inner = []chain.Call{transfer("A", "a", 1001)}
	s.moves("b", "B", 90)
	second := s.out
	second.Inner = []chain.Call{transfer("A", "a", 50_000)}
	s.out, second = second, s.out
	s.moves("b", "B", 910)
	// 1.5 %: 16 of 1,001 (15.015 rounded up), 750 of 50,000.
	s.holds("a", "P", "1", 10, 10+1001-16+50_000-750)
	s.holds("b", "P", "2", 1000, 0)
	s.tx.Instructions = []chain.Instruction{s.out, second}
	legs := decode.New(nil).Swaps(&s.tx, 1, 1).Legs
	require.Len(t, legs, 2)
	require.Equal(t, []uint64{50_000 - 750, 1001 - 16}, []uint64{legs[0].GetAmountIn(), legs[1].GetAmountIn()})
	require.Equal(t, uint32(eventspb.LegSource_LEG_SOURCE_BALANCES), legs[0].GetAgreed())
}

// Old nodes do not say how deep a call was: a swap's transfers are those that follow it, up to the
// next program.
func TestUnknownDepths(t *testing.T) {
	s := newScene(t, "routeUGWgWzqBWFcrCfv8tritsqukccJPu3q5GPP3xS")
	v4 := int(s.key(programKey(t, "675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8")))
	hop := func(names ...string) {
		call := chain.Call{ProgramIndex: v4, Data: append([]byte{0x10}, make([]byte, 16)...)}
		for _, name := range names {
			call.Accounts = append(call.Accounts, s.at(name))
		}
		s.out.Inner = append(s.out.Inner, call)
	}
	s.out.Accounts = []byte{0}
	hop("t", "P", "h", "a", "b", "A", "B", "w")
	s.moves("A", "a", 100)
	s.moves("b", "B", 90)
	hop("t", "Q", "h", "c", "d", "B", "C", "w")
	s.moves("B", "c", 90)
	s.moves("d", "C", 80)
	for i := range s.out.Inner {
		s.out.Inner[i].StackHeight = 0
	}
	s.holds("a", "h", "1", 0, 100)
	s.holds("b", "h", "2", 90, 0)
	s.holds("c", "h", "2", 0, 90)
	s.holds("d", "h", "3", 80, 0)
	require.Equal(t, []amounts{{"P", 100, 90, 99}, {"Q", 90, 80, 99}}, s.legs())
	r := s.swaps()
	require.Len(t, r.Routes, 1)
	require.EqualValues(t, 2, r.Routes[0].GetLegs())
	require.Equal(t, "raydium_router", r.Legs[0].GetAggregator())
	require.Equal(t, s.tx.Keys[0][:], r.Legs[0].GetTrader(), "the first signer that the outer instruction names")
	require.Equal(t, s.tx.Keys[s.at("w")][:], r.Legs[0].GetAuthority())
}

// The pool of a leg states the same as its creation would: mints in one order.
func TestPoolOfALegSortsMints(t *testing.T) {
	a, b := []byte{1}, []byte{2}
	forth := swap.PoolOf(&eventspb.SwapLeg{MintIn: a, MintOut: b, VaultIn: []byte("a"), VaultOut: []byte("b")})
	back := swap.PoolOf(&eventspb.SwapLeg{MintIn: b, MintOut: a, VaultIn: []byte("b"), VaultOut: []byte("a")})
	require.Equal(t, forth.GetMintA(), back.GetMintA())
	require.Equal(t, forth.GetVaultA(), back.GetVaultA())
	require.Equal(t, "a", string(back.GetVaultA()))
}

// anchorEvent returns the tag of an Anchor event.
func anchorEvent(name string) string {
	sum := sha256.Sum256([]byte("event:" + name))
	return string(sum[:8])
}
