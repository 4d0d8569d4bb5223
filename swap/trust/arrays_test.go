package trust

import (
	"bytes"
	"encoding/binary"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/clmm"
	"github.com/mintlake/mintlake/swap/venue/dlmm"
	"github.com/mintlake/mintlake/swap/venue/guard"
	"github.com/mintlake/mintlake/swap/venue/whirlpool"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/geyser"
	"github.com/mintlake/mintlake/testworld/layout"
)

// world is the accounts of a test chain.
type world map[venue.Key]*solana.Account

func (w world) apply(writes []chain.Write) {
	for _, write := range writes {
		if delete(w, write.Key); write.Account != nil {
			w[write.Key] = &solana.Account{Owner: write.Account.Owner, Lamports: write.Account.Lamports, Data: write.Account.Data}
		}
	}
}

// evidence is a transaction with the state before it that a pool's ref asks for.
func (w world) evidence(t *testing.T, v venue.Venue, pool venue.Key, tx *Transaction) *Evidence {
	t.Helper()
	ref, err := v.Open(pool, w[pool].Data)
	require.NoError(t, err)
	e := &Evidence{Venue: v, Ref: ref, Before: map[venue.Key]*solana.Account{}, Transaction: tx}
	mints := ref.Mints()
	for _, list := range [][]venue.Key{ref.Accounts(), ref.(venue.Windowed).Near(), mints[:]} {
		for _, key := range list {
			e.Before[key] = w[key]
		}
	}
	return e
}

// swapsOn calls visit with the swaps of venues that a test chain makes, and with the state before
// each.
func swapsOn(t *testing.T, venues venue.List, visit func(e *Evidence)) {
	t.Helper()
	g, err := chain.New(chain.Config{Seed: 11, TPS: 500, Tokens: 50, Wallets: 64})
	require.NoError(t, err)
	w := world{}
	w.apply(g.Genesis())
	for range 25 {
		s, _ := g.Next(nil)
		if s.Kind != chain.Live {
			continue
		}
		require.NoError(t, s.Sign())
		infos := geyser.Update(s.Block, nil).GetTransactions()
		for i, tx := range s.Block.Txs {
			if tx.Meta.Err == nil {
				parsed, err := parseUpdate(&pb.SubscribeUpdateTransaction{Transaction: infos[i], Slot: s.Number})
				require.NoError(t, err)
				parsed.UnixTime = s.Block.Time
				for _, c := range parsed.Calls {
					if v := venues.Owner(parsed.Keys[c.Program]); v != nil {
						if trade, is := v.Trade(parsed.call(c)); is {
							visit(w.evidence(t, v, trade.Pool, parsed))
						}
					}
				}
			}
			w.apply(tx.Writes)
		}
	}
}

// feeAt is where a venue's pool has its fee.
var feeAt = map[string]int{whirlpool.Name: layout.WhirlpoolRate, dlmm.Name: layout.DLMMFactor}

// TestSwapsOnPoolsOfArraysAreComputedAgain: to the unit, and a pool with another fee would have
// been found out.
func TestSwapsOnPoolsOfArraysAreComputedAgain(t *testing.T) {
	g, err := guard.New(venue.List{whirlpool.Venue{}, dlmm.Venue{}, clmm.Raydium}, guard.Deps{})
	require.NoError(t, err)
	matches, found := map[string]int{}, map[string]int{}
	swapsOn(t, g.Venues(nil), func(e *Evidence) {
		r := e.replay()
		require.Equal(t, matched, r.outcome, "%s: %s %+v", e.Venue.Name(), r.why, r)
		matches[e.Venue.Name()]++
		at, is := feeAt[e.Venue.Name()]
		if !is {
			return
		}
		pool := *e.Before[e.Ref.Address()]
		pool.Data = bytes.Clone(pool.Data)
		binary.LittleEndian.PutUint16(pool.Data[at:], 3*binary.LittleEndian.Uint16(pool.Data[at:]))
		e.Before[e.Ref.Address()] = &pool
		if r = e.replay(); r.outcome == mismatched {
			found[e.Venue.Name()]++
		} else {
			require.Less(t, r.chain[in], uint64(100_000), "a fee of so little is hidden by rounding")
		}
	})
	t.Log(matches, found)
	for _, name := range []string{whirlpool.Name, dlmm.Name, clmm.Raydium.Name()} {
		require.Greater(t, matches[name], 20, name)
	}
	for name := range feeAt {
		require.Greater(t, found[name], 20, name)
	}
}
