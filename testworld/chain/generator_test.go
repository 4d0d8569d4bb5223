package chain

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

func testConfig() Config {
	return Config{Seed: 7, TPS: 500, Tokens: 150, Wallets: 64, ForkRate: 0.05, SkipRate: 0.05}
}

// digest hashes every byte a reader of the chain could see.
func digest(h hash.Hash, s Slot) {
	fmt.Fprintf(h, "%d %d;", s.Number, s.Kind)
	if s.Block == nil {
		return
	}
	b := s.Block
	fmt.Fprintf(h, "%d %d %s %s %d;", b.Parent, b.Height, b.Hash, b.ParentHash, b.Time)
	for _, tx := range b.Txs {
		h.Write(tx.Wire())
		m := tx.Meta
		if m.Err != nil {
			h.Write(m.Err.Bincode())
			m.Err = nil
		}
		fmt.Fprintf(h, "%+v", m)
		for _, w := range tx.Writes {
			fmt.Fprintf(h, "%s%+v", w.Key, w.Account)
		}
	}
}

func run(t *testing.T, cfg Config, slots int) [32]byte {
	t.Helper()
	g, err := New(cfg)
	require.NoError(t, err)
	h := sha256.New()
	for range slots {
		s, _ := g.Next(nil)
		if s.Block != nil {
			require.NoError(t, s.Block.Sign())
		}
		digest(h, s)
	}
	return [32]byte(h.Sum(nil))
}

func TestSameSeedSameBytes(t *testing.T) {
	require.Equal(t, run(t, testConfig(), 12), run(t, testConfig(), 12))
	other := testConfig()
	other.Seed = 8
	require.NotEqual(t, run(t, testConfig(), 2), run(t, other, 2))
}

func TestSolanaGoDecodesEveryTransaction(t *testing.T) {
	g, err := New(testConfig())
	require.NoError(t, err)
	count, failed, v0, lookups := 0, 0, 0, 0
	for range 30 {
		s, _ := g.Next(nil)
		if s.Block == nil {
			continue
		}
		require.NoError(t, s.Block.Sign())
		for _, tx := range s.Block.Txs {
			wire := tx.Wire()
			require.LessOrEqual(t, len(wire), 1232)
			got, err := solana.TransactionFromBytes(wire)
			require.NoError(t, err)
			require.NoError(t, got.VerifySignatures())
			back, err := got.MarshalBinary()
			require.NoError(t, err)
			require.Equal(t, wire, back)
			require.Equal(t, len(tx.Message.AccountKeys()), len(tx.Meta.Pre))
			count++
			if tx.Meta.Err != nil {
				failed++
			}
			if tx.Message.Versioned {
				v0++
			}
			if len(tx.Message.Lookups) > 0 {
				lookups++
			}
		}
	}
	require.Greater(t, count, 1000)
	require.Greater(t, failed, count/50)
	require.Less(t, failed, count/8)
	require.Greater(t, v0, count/5)
	require.Greater(t, lookups, count/50)
}

// Lamports are neither made nor lost but for the fee, in every transaction.
func TestLamportsAreConserved(t *testing.T) {
	g, err := New(testConfig())
	require.NoError(t, err)
	for range 60 {
		s, _ := g.Next(nil)
		if s.Block == nil {
			continue
		}
		for _, tx := range s.Block.Txs {
			var pre, post uint64
			for i := range tx.Meta.Pre {
				pre, post = pre+tx.Meta.Pre[i], post+tx.Meta.Post[i]
			}
			require.Equal(t, pre, post+tx.Meta.Fee)
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	for _, sign := range []bool{false, true} {
		b.Run(fmt.Sprintf("sign=%v", sign), func(b *testing.B) {
			cfg := testConfig()
			cfg.TPS, cfg.Wallets = 20_000, 512
			g, err := New(cfg)
			require.NoError(b, err)
			b.ReportAllocs()
			b.ResetTimer()
			n := 0
			for n < b.N {
				s, _ := g.Next(nil)
				if s.Block == nil {
					continue
				}
				if sign {
					require.NoError(b, s.Block.Sign())
				}
				n += len(s.Block.Txs)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "tx/s")
		})
	}
}

// TestWritesAreAllThatIsLockedForWriting, where a transaction succeeds, as followers of accounts
// see it on the main network: a pool is written with its vaults, though its own bytes stay.
func TestWritesAreAllThatIsLockedForWriting(t *testing.T) {
	g, err := New(testConfig())
	require.NoError(t, err)
	v4 := map[Key]bool{}
	for _, p := range g.pools {
		if _, ok := p.dex.(v4Dex); ok {
			v4[p.key] = true
		}
	}
	failed, pools := 0, 0
	for range 20 {
		s, _ := g.Next(nil)
		if s.Block == nil {
			continue
		}
		for _, tx := range s.Block.Txs {
			var written []Key
			for _, w := range tx.Writes {
				require.NotContains(t, written, w.Key, "once")
				written = append(written, w.Key)
			}
			if tx.Meta.Err != nil {
				failed++
				require.Len(t, written, 1, "the payer")
				continue
			}
			for i, key := range tx.Message.AccountKeys() {
				switch locked := tx.Message.IsWritable(i); {
				case !locked:
					require.NotContains(t, written, key)
				case tx.Meta.Post[i] > 0:
					require.Contains(t, written, key)
					if v4[key] {
						pools++
					}
				}
			}
		}
	}
	require.Positive(t, failed)
	require.Positive(t, pools)
}
