package swap_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/swap"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// event returns an event of an Anchor program: keys, then numbers of eight bytes behind other
// bytes.
func event(name string, keys, other int, numbers ...uint64) []byte {
	data := append([]byte(anchorEvent(name)), make([]byte, 32*keys+other)...)
	for _, n := range numbers {
		data = binary.LittleEndian.AppendUint64(data, n)
	}
	return data
}

// liquidity returns the changes with their amounts by the name of the mint.
func (s *scene) liquidity() (all []*eventspb.LiquidityChange, amounts []map[string]uint64) {
	all = s.swaps().Liquidity
	for _, m := range all {
		named := map[string]uint64{string(m.GetMintA()[2:3]): m.GetAmountA()}
		if m.GetMintB() != nil {
			require.Less(s.t, string(m.GetMintA()), string(m.GetMintB()))
			named[string(m.GetMintB()[2:3])] = m.GetAmountB()
		}
		amounts = append(amounts, named)
	}
	return all, amounts
}

// mints adds an SPL Token MintTo or Burn.
func (s *scene) mints(tag byte, first, second string, amount uint64) {
	s.out.Inner = append(s.out.Inner, chain.Call{
		ProgramIndex: 2, StackHeight: 2, Accounts: []byte{s.at(first), s.at(second), 0}, Data: binary.LittleEndian.AppendUint64([]byte{tag}, amount),
	})
}

// A deposit into a CPMM pool mints its liquidity tokens. The sides are told by mint, whatever their
// order in the instruction.
func TestDepositMintsShares(t *testing.T) {
	s := newScene(t, "CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C")
	s.call(swap.Anchor("deposit", 0).Tag, "u", "o", "P", "L", "A", "B", "a", "b", "t", "s", "2", "1", "l")
	s.holds("a", "o", "2", 10, 110)
	s.holds("b", "o", "1", 5, 25)
	s.holds("L", "W", "l", 0, 40)
	s.moves("A", "a", 100)
	s.moves("B", "b", 20)
	s.mints(7, "l", "L", 40)
	changes, amounts := s.liquidity()
	require.Equal(t, []map[string]uint64{{"2": 100, "1": 20}}, amounts)
	m := changes[0]
	require.True(t, m.GetAdded())
	require.Equal(t, []uint64{25, 110, 40}, []uint64{m.GetReserveA(), m.GetReserveB(), m.GetLpAmount()})
	require.Equal(t, s.tx.Keys[s.at("l")].Bytes(), m.GetLpMint())
	require.Equal(t, s.tx.Keys[0].Bytes(), m.GetProvider())
	require.Equal(t, "deposit", m.GetInstruction())
	require.EqualValues(t, 1|8, m.GetAgreed(), "transfers and balances")
	require.Empty(t, s.swaps().Legs)
}

// What leaves a position of a CLMM pool is liquidity and the fees that it earned: the event tells
// the two apart. Without liquidity, it is no removal.
func TestFeesThatLeaveWithLiquidity(t *testing.T) {
	build := func(liquidity uint64) *scene {
		s := newScene(t, "CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK")
		s.call(swap.Anchor("decrease_liquidity_v2", 0).Tag+string(binary.LittleEndian.AppendUint64(nil, liquidity))+string(make([]byte, 8+16)),
			"u", "n", "p", "P", "q", "a", "b", "x", "y", "A", "B", "t", "s", "m", "1", "2")
		s.holds("a", "P", "1", 100, 40)
		s.holds("b", "P", "2", 50, 47)
		s.moves("a", "A", 60)
		s.moves("b", "B", 3)
		return s
	}
	s := build(9)
	log := event("DecreaseLiquidityEvent", 1, 16, 55, 0, 5, 3, 0, 0, 0, 0, 0)
	s.tx.Details = details{lines: []string{
		"Program CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK invoke [1]", "Program data: " + encoded(log), "Program CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK success",
	}}
	changes, amounts := s.liquidity()
	require.Equal(t, []map[string]uint64{{"1": 60, "2": 3}}, amounts)
	require.False(t, changes[0].GetAdded())
	require.Equal(t, []uint64{5, 3}, []uint64{changes[0].GetFeesA(), changes[0].GetFeesB()})
	require.EqualValues(t, 1|4|8, changes[0].GetAgreed())
	s.tx.Details = nil
	changes, _ = s.liquidity()
	require.Nil(t, changes[0].FeesA, "no event was read")
	require.Empty(t, build(0).swaps().Liquidity)
}

const dlmm = "LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo"

// A position that is moved may take in more of one token and give back more of the other.
func TestRebalanceIsAChangeEach(t *testing.T) {
	s := newScene(t, dlmm)
	s.call(swap.Anchor("rebalance_liquidity", 0).Tag, append(list("pPeABab12"), append([]string{"u"}, list("rtsmyvw")...)...)...)
	s.holds("a", "P", "1", 0, 100)
	s.holds("b", "P", "2", 90, 0)
	s.moves("A", "a", 130)
	s.moves("a", "A", 30)
	s.moves("b", "B", 90)
	changes, amounts := s.liquidity()
	require.Equal(t, []map[string]uint64{{"1": 100, "2": 0}, {"1": 0, "2": 90}}, amounts)
	require.Equal(t, []bool{true, false}, []bool{changes[0].GetAdded(), changes[1].GetAdded()})
	require.Equal(t, []uint32{0, 1}, []uint32{changes[0].GetPosition().GetBatchIndex(), changes[1].GetPosition().GetBatchIndex()})
}

// An instruction for one side names one vault.
func TestOneSideIsAdded(t *testing.T) {
	s := newScene(t, dlmm)
	s.call(swap.Anchor("add_liquidity_one_side_precise2", 0).Tag, append(list("pPeAa1"), append([]string{"u"}, list("tvw")...)...)...)
	s.holds("a", "P", "1", 0, 100)
	s.moves("A", "a", 100)
	s.tells(append(event("AddLiquidity", 0, 0), append(s.tx.Keys[s.at("P")].Bytes(), event("", 2, 0, 100, 0)[8:]...)...))
	changes, amounts := s.liquidity()
	require.Equal(t, []map[string]uint64{{"1": 100}}, amounts)
	require.Empty(t, changes[0].GetMintB())
	require.EqualValues(t, 1|2|8, changes[0].GetAgreed())
}

// What does not move as the instruction says, or moves a signer's account, is no change.
func TestNoChangeIsBetterThanAWrongOne(t *testing.T) {
	build := func() *scene {
		s := newScene(t, whirlpools)
		s.call(swap.Anchor("increase_liquidity", 0).Tag, append(list("Pt"), append([]string{"u"}, list("pnABabxy")...)...)...)
		s.holds("a", "P", "1", 0, 100)
		s.holds("b", "P", "2", 90, 0)
		s.moves("A", "a", 100)
		return s
	}
	require.Len(t, build().swaps().Liquidity, 1)
	s := build()
	s.moves("b", "B", 90)
	require.Empty(t, s.swaps().Liquidity, "an addition gives nothing back")
	s = build()
	s.tx.PreBalances[0].Owner = s.tx.Keys[0]
	require.Empty(t, s.swaps().Liquidity, "a signer's account is no vault")
	s = build()
	s.out.Accounts = s.out.Accounts[:9]
	require.Empty(t, s.swaps().Liquidity, "an account is missing")
	s = build()
	s.out.Inner = nil
	require.Empty(t, s.swaps().Liquidity, "nothing moved")
}
