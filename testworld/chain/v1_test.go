package chain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/solana/txwire"
)

// TestBudgetOfVersion1: the config alone says what a transaction may use and what it pays. What the
// runtime has no default for makes it fail, and it pays all the same.
func TestBudgetOfVersion1(t *testing.T) {
	g, err := New(testConfig())
	require.NoError(t, err)
	for range 3 {
		g.Next(nil)
	}
	payer := g.wallets[0]
	u64, u32 := func(n uint64) *uint64 { return &n }, func(n uint32) *uint32 { return &n }
	whole := txwire.Config{PriorityFee: u64(777), ComputeUnitLimit: u32(30_000), LoadedAccountsDataSizeLimit: u32(1 << 20)}
	const base = 5000
	with := func(change func(*txwire.Config)) txwire.Config {
		c := whole
		change(&c)
		return c
	}
	for what, c := range map[string]struct {
		config txwire.Config
		fee    uint64
		err    *TxError
	}{
		"all that it wants":         {whole, base + 777, nil},
		"no fee":                    {with(func(c *txwire.Config) { c.PriorityFee = nil }), base, nil},
		"no units":                  {with(func(c *txwire.Config) { c.ComputeUnitLimit = nil }), base + 777, &TxError{Kind: ErrBudgetExceeded}},
		"0 units":                   {with(func(c *txwire.Config) { c.ComputeUnitLimit = u32(0) }), base + 777, &TxError{Kind: ErrBudgetExceeded}},
		"no size of accounts":       {with(func(c *txwire.Config) { c.LoadedAccountsDataSizeLimit = nil }), base + 777, &TxError{Kind: ErrLoadedSize}},
		"too small for its account": {with(func(c *txwire.Config) { c.LoadedAccountsDataSizeLimit = u32(100) }), base + 777, &TxError{Kind: ErrLoadedSize}},
		"more units than there are": {with(func(c *txwire.Config) { c.ComputeUnitLimit = u32(1 << 31) }), base + 777, nil},
	} {
		// In version 1 these two ask for nothing.
		ixs := []Instruction{ixComputeLimit(1), ixComputePrice(1 << 40), ixTransferSOL(payer.Key, g.wallets[1].Key, 5)}
		if c.config.ComputeUnitLimit == nil || *c.config.ComputeUnitLimit == 0 {
			ixs = ixs[2:]
		}
		m, err := compile(payer.Key, ixs, txwire.V1, nil, g.hash)
		require.NoError(t, err)
		m.Config = c.config
		tx := &Tx{Message: m, sign: []*Signer{payer}}
		require.NoError(t, g.Simulate(tx))
		require.Equal(t, c.err, tx.Meta.Err, what)
		require.Equal(t, c.fee, tx.Meta.Fee, what)
		require.Equal(t, c.fee, m.Fee(), what)
		require.Len(t, tx.Writes, map[bool]int{true: 2, false: 1}[c.err == nil], what)
	}
	require.Equal(t, []byte{32, 0, 0, 0}, (&TxError{Kind: ErrLoadedSize}).Bincode())
}

// TestShareOfVersion1: none if there are to be none, all if all.
func TestShareOfVersion1(t *testing.T) {
	for share, want := range map[int]float64{NoV1: 0, 100: 1} {
		cfg := testConfig()
		cfg.V1 = share
		g, err := New(cfg)
		require.NoError(t, err)
		all, v1 := 0, 0
		for range 10 {
			s, _ := g.Next(nil)
			if s.Block == nil {
				continue
			}
			for _, tx := range s.Block.Txs {
				require.False(t, tx.Vote)
				all++
				if tx.Message.Version == txwire.V1 {
					v1++
				}
			}
		}
		require.InDelta(t, want, float64(v1)/float64(all), 0.001)
	}
}

// TestBlocksThatAreReplaced: every so many slots a block loses to another one of its slot, with
// what was built on it or declared dead before. What stays is one chain, and all of it is signed.
func TestBlocksThatAreReplaced(t *testing.T) {
	cfg := testConfig()
	cfg.TPS, cfg.Switched, cfg.Dead = 100, 10, 14
	g, err := New(cfg)
	require.NoError(t, err)
	lost := map[uint64]*Block{}
	var parent *Block
	deep, revived, sent, landed := 0, 0, map[Signature]bool{}, 0
	for range 200 {
		s, _ := g.Next(nil)
		require.NoError(t, s.Sign())
		for _, one := range append(s.Again, s) {
			switch one.Kind {
			case Replaced, Dead:
				if first := lost[one.Block.Parent]; first != nil && first.Hash == one.Block.ParentHash {
					deep++
				}
				lost[one.Number] = one.Block
				for _, tx := range one.Block.Txs {
					sent[tx.Signatures[0]] = true
				}
			case Live:
				if parent != nil {
					require.Equal(t, parent.Slot, one.Block.Parent)
					require.Equal(t, parent.Hash, one.Block.ParentHash)
				}
				parent = one.Block
				if first := lost[one.Number]; first != nil {
					require.Less(t, one.Number, s.Number)
					require.NotEqual(t, first.Hash, one.Block.Hash)
					revived++
				}
				for _, tx := range one.Block.Txs {
					if sent[tx.Signatures[0]] {
						landed++
					}
				}
			case Orphaned, Skipped:
			}
		}
	}
	require.Positive(t, deep, "blocks on a block that loses")
	require.Greater(t, revived, 25)
	require.Positive(t, landed, "transactions of a block that lost are in one that won")
	require.Equal(t, run(t, cfg, 60), run(t, cfg, 60))
}
