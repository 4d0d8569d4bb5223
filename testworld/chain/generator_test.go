package chain

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/solana/txwire"
)

func testConfig() Config {
	return Config{Seed: 7, TPS: 500, Tokens: 150, Wallets: 64, ForkRate: 0.05, SkipRate: 0.05}
}

// digest hashes every byte a reader of the chain could see.
func digest(h hash.Hash, s Slot) {
	for _, again := range s.Again {
		digest(h, again)
	}
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
		require.NoError(t, s.Sign())
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

// TestEveryTransactionIsReal: its bytes are read by the codec of the product, and those of older
// versions by solana-go too. They have the parts that the chain says, and the signatures verify.
func TestEveryTransactionIsReal(t *testing.T) {
	cfg := testConfig()
	cfg.Votes = true
	g, err := New(cfg)
	require.NoError(t, err)
	count, failed, lookups, long, full, budgets, heaps := 0, 0, 0, 0, 0, 0, 0
	versions := map[txwire.Version]int{}
	for range 60 {
		s, _ := g.Next(nil)
		if s.Block == nil {
			continue
		}
		require.NoError(t, s.Block.Sign())
		for _, tx := range s.Block.Txs {
			requireReal(t, tx)
			count++
			versions[tx.Message.Version]++
			if tx.Meta.Err != nil {
				failed++
			}
			if len(tx.Message.Lookups) > 0 {
				lookups++
			}
			if tx.Message.Version != txwire.V1 {
				continue
			}
			require.False(t, tx.Vote)
			switch size := len(tx.Wire()); {
			case size == 4096:
				full++
			case size > 1232:
				long++
			}
			if slices.Contains(tx.Message.Keys, ComputeBudgetProgram) {
				budgets++
			}
			if tx.Message.Config.HeapSize != nil {
				heaps++
			}
		}
	}
	require.Greater(t, count, 3000)
	require.Greater(t, failed, count/50)
	require.Less(t, failed, count/8)
	require.Greater(t, lookups, count/50)
	require.InDelta(t, 0.4*0.94, float64(versions[txwire.V1])/float64(count), 0.03)
	require.Greater(t, versions[txwire.V0], count/8)
	require.Greater(t, versions[txwire.Legacy], count/8)
	require.Positive(t, long)
	require.Positive(t, full)
	require.Positive(t, budgets)
	require.Positive(t, heaps)
}

// requireReal checks the bytes of one transaction.
func requireReal(t *testing.T, tx *Tx) {
	t.Helper()
	wire := tx.Wire()
	var got txwire.Transaction
	require.NoError(t, got.Parse(wire))
	require.NoError(t, got.CheckLimits(len(wire)))
	back, err := got.Append(nil)
	require.NoError(t, err)
	require.Equal(t, wire, back)
	message := MessageOf(&got)
	message.LoadedWritable, message.LoadedReadonly = tx.Message.LoadedWritable, tx.Message.LoadedReadonly
	require.Equal(t, tx.Message.Serialize(), message.Serialize())
	require.Equal(t, tx.Message.AccountKeys(), message.AccountKeys())
	require.Len(t, tx.Meta.Pre, len(tx.Message.AccountKeys()))
	require.Equal(t, tx.Message.Fee(), tx.Meta.Fee)
	signed := wire[1+64*len(tx.Signatures):]
	if got.Version == txwire.V1 {
		require.EqualValues(t, 0x81, wire[0])
		signed = wire[:len(wire)-64*len(tx.Signatures)]
	} else {
		old, err := solana.TransactionFromBytes(wire)
		require.NoError(t, err)
		require.NoError(t, old.VerifySignatures())
	}
	for i := range tx.Signatures {
		require.True(t, ed25519.Verify(tx.Message.Keys[i][:], signed, tx.Signatures[i][:]))
	}
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
