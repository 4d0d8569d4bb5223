package legs

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/all"
	"github.com/mintlake/mintlake/testworld/chain"
)

// demoSwap is a swap instruction of the demo chain: its pool's place among the accounts, what it
// asks for, and what moved.
type demoSwap struct {
	pool    venue.Key
	amount  uint64
	out     bool
	in, got uint64
}

// demoPools are the places of the pool among the accounts.
var demoPools = map[chain.Key]int{
	chain.CPMMProgram: 3, chain.AMMv4Program: 1, chain.PumpSwapProgram: 0, chain.DAMMv2Program: 1, chain.CLMMProgram: 2, chain.WhirlpoolProgram: 4,
	chain.DLMMProgram: 0,
}

// swapOf reads the swap of outer instruction i; ok is false if it is none.
func swapOf(tx *chain.Tx, i int) (s demoSwap, ok bool) {
	ix := tx.Message.Instructions[i]
	program := tx.Message.AccountKeys()[ix.Program]
	place, known := demoPools[program]
	if !known || len(ix.Data) < 17 {
		return s, false
	}
	s.pool = tx.Message.AccountKeys()[ix.Accounts[place]]
	at := 8
	switch string(ix.Data[:min(8, len(ix.Data))]) {
	case "\x8f\xbe\x5a\xda\xc4\x1e\x33\xde", "\xc6\x2e\x15\x52\xb4\xd9\xe8\x70", "\x33\xe6\x85\xa4\x01\x7f\x83\xad", "\xf8\xc6\x9e\x91\xe1\x75\x87\xc8":
	case "\x66\x06\x3d\x12\x01\xda\xeb\xea":
		s.out = true
	case "\x41\x4b\x3f\x4c\xeb\x5b\x5b\x88": // swap2 of both programs of Meteora
		s.out = program == chain.DAMMv2Program
	case "\x2b\x04\xed\x0b\x1a\xc9\x1e\x62":
		s.out = ix.Data[40] == 0
	case "\x37\xd9\x62\x56\xa3\x4a\xb4\xad", "\x2b\xd7\xf7\x84\x89\x3c\xf3\x51":
		s.out, at = true, 16
	default:
		switch {
		case place == 1 && ix.Data[0] == 16:
			at = 1
		case place == 1 && ix.Data[0] == 17:
			s.out, at = true, 9
		default:
			return s, false
		}
	}
	s.amount = binary.LittleEndian.Uint64(ix.Data[at:])
	return s, s.moved(tx, i)
}

// moved reads the transfers: to the pool, from the pool, and what the buyer pays beside the pool.
func (s *demoSwap) moved(tx *chain.Tx, i int) bool {
	for _, inner := range tx.Meta.Inner {
		if int(inner.Index) != i {
			continue
		}
		transfer := func(n int) uint64 { return binary.LittleEndian.Uint64(inner.Instructions[n].Data[1:]) }
		s.in, s.got = transfer(0), transfer(1)
		ix := tx.Message.Instructions[i]
		if tx.Message.AccountKeys()[ix.Program] == chain.PumpSwapProgram && string(ix.Data[:8]) != "\x33\xe6\x85\xa4\x01\x7f\x83\xad" {
			s.in += transfer(2)
		}
		return true
	}
	return false
}

// vaultMint is the mint of the vault that the first transfer fills: what is sold.
func vaultMint(tx *chain.Tx, i int, held map[venue.Key]*account) venue.Key {
	const transferChecked = 12
	for _, inner := range tx.Meta.Inner {
		if int(inner.Index) == i {
			first, to := inner.Instructions[0], 1
			if first.Data[0] == transferChecked {
				to = 2
			}
			return venue.Key(held[tx.Message.AccountKeys()[first.Accounts[to]]].Data[:32])
		}
	}
	return venue.Key{}
}

// whole is a venue.State of all accounts: one that is not there does not exist.
type whole map[venue.Key]*account

func (w whole) Account(key venue.Key) (*account, bool) { return w[key], true }

func (whole) Memo(venue.Key) *venue.Memo { return nil }

// quoteOn asks the pool's venue. out is what leaves the pool.
func quoteOn(t *testing.T, held map[venue.Key]*account, pool venue.Key, o venue.Order) (name string, in, out uint64) {
	t.Helper()
	v := all.Venues().Owner(held[pool].Owner)
	ref, err := v.Open(pool, held[pool].Data)
	require.NoError(t, err)
	p, err := ref.Decode(whole(held))
	require.NoError(t, err)
	q, err := p.Quote(o)
	require.NoError(t, err)
	out = q.AmountOut
	for _, fee := range q.Fees.List() {
		if fee.Kind == venue.FeeTransfer && fee.OnOutput {
			out += fee.Amount
		}
	}
	return v.Name(), q.AmountIn, out
}

func apply(held map[venue.Key]*account, writes []chain.Write) {
	for _, w := range writes {
		if w.Account == nil {
			delete(held, w.Key)
			continue
		}
		held[w.Key] = &account{Owner: w.Account.Owner, Lamports: w.Account.Lamports, Data: w.Account.Data}
	}
}

// TestDemoSwapsAreTheVenues replays a demo chain: what each swap moved is what its venue quotes on
// the accounts before it. The demo has arithmetic of its own, so each proves the other.
func TestDemoSwapsAreTheVenues(t *testing.T) {
	g, err := chain.New(chain.Config{Seed: 11, TPS: 500, Tokens: 100, Wallets: 64})
	require.NoError(t, err)
	held := map[venue.Key]*account{}
	apply(held, g.Genesis())
	equal := map[string]int{}
	for range 140 {
		s, _ := g.Next(nil)
		if s.Kind != chain.Live {
			continue
		}
		clock := venue.ClockAt(s.Number, s.Block.Time)
		for _, tx := range s.Block.Txs {
			for i := range tx.Message.Instructions {
				swap, ok := swapOf(tx, i)
				if !ok || tx.Meta.Err != nil {
					continue
				}
				o := venue.Order{In: vaultMint(tx, i, held), Amount: swap.amount, ExactOut: swap.out, Clock: clock}
				name, in, out := quoteOn(t, held, swap.pool, o)
				require.Equal(t, [2]uint64{swap.in, swap.got}, [2]uint64{in, out}, "%s: %+v", name, swap)
				equal[name]++
			}
			apply(held, tx.Writes)
		}
	}
	require.Len(t, equal, 7)
	for name, n := range equal {
		require.Greater(t, n, 100, name)
	}
}
