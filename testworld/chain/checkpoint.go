package chain

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Checkpoint is what a chain is after a slot, in a form that can be written by encoding/gob. Tokens
// and pools name each other by index, as they refer to each other in both directions.
type Checkpoint struct {
	// Chain is the configuration, as far as it decides the slots before Next.
	Chain                string
	Next, Parent, Height uint64
	Hash                 Hash
	Owed                 float64
	Launched             uint64
	Pending              int
	ShortLivedMade       int
	Powered              int
	Accounts             map[Key]*Account
	Tokens               []checkpointToken
	Pools                []checkpointPool
	Frozen               []checkpointFrozen
	ShortLived           []int
}

type checkpointToken struct {
	Mint, Program, Metadata                   Key
	Decimals                                  uint8
	Name, Symbol, URI                         string
	MintAuth, FreezeAuth, UpdateAuth, FeeAuth ed25519.PrivateKey
	Holders                                   []uint32
	Pool                                      int // -1 for none
	Revision                                  int
	FeeBPS                                    uint16
	Unpoolable, Curve, Still                  bool
}

type checkpointPool struct {
	Dex                          int // its index in dexes
	Key, Config, Observation, LP Key
	Open                         int64
	Vaults                       [2]Key
	Tokens                       [2]int
	Quote                        int
	Target                       float64
	Table                        *Table
	Creator                      ed25519.PrivateKey
}

type checkpointFrozen struct {
	Token   int
	Account Key
}

// dexes is never changed but by new ones at its end: checkpoints have indexes into it.
var dexes = [...]dex{cpmmDex{}, v4Dex{}, pumpDex{}, dammDex{}, clmmDex{}, whirlDex{}, dlmmDex{}}

// until returns the configuration as far as it decides the slots before next.
func (c Config) until(next uint64) string {
	c.Anchors = slices.DeleteFunc(slices.Clone(c.Anchors), func(a Anchor) bool { return a.Slot >= next })
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // numbers and texts
	}
	return string(text)
}

// Checkpoint returns what the chain is now; nil after a slot whose block lost, as transactions wait
// then that cannot be written. The next slot does not change what it returned.
func (g *Generator) Checkpoint() *Checkpoint {
	if len(g.replay)+len(g.losing)+len(g.redo) > 0 {
		return nil
	}
	c := &Checkpoint{
		Chain: g.cfg.until(g.next), Next: g.next, Parent: g.parent, Height: g.height, Hash: g.hash, Owed: g.owed, Launched: g.launched,
		Pending: g.pending, ShortLivedMade: g.shortLivedMade, Powered: g.powered, Accounts: maps.Clone(g.st.accounts),
	}
	tokens, pools := make(map[*token]int, len(g.tokens)), make(map[*pool]int, len(g.pools))
	for i, t := range g.tokens {
		tokens[t] = i
	}
	for i, p := range g.pools {
		pools[p] = i
	}
	for _, t := range g.tokens {
		c.Tokens = append(c.Tokens, t.checkpoint(pools))
	}
	for _, p := range g.pools {
		c.Pools = append(c.Pools, p.checkpoint(tokens))
	}
	for _, f := range g.frozen {
		c.Frozen = append(c.Frozen, checkpointFrozen{tokens[f.token], f.account})
	}
	for _, p := range g.shortLived {
		c.ShortLived = append(c.ShortLived, pools[p])
	}
	return c
}

func (t *token) checkpoint(pools map[*pool]int) checkpointToken {
	at, ok := pools[t.pool]
	if !ok {
		at = -1
	}
	return checkpointToken{
		Mint: t.mint, Program: t.program, Metadata: t.metadata, Decimals: t.decimals, Name: t.name, Symbol: t.symbol, URI: t.uri,
		MintAuth: t.mintAuth.private(), FreezeAuth: t.freezeAuth.private(), UpdateAuth: t.updateAuth.private(), FeeAuth: t.feeAuth.private(),
		Holders: slices.Clone(t.holders), Pool: at, Revision: t.revision, FeeBPS: t.feeBPS, Unpoolable: t.unpoolable, Curve: t.curve, Still: t.still,
	}
}

func (p *pool) checkpoint(tokens map[*token]int) checkpointPool {
	return checkpointPool{
		Dex: slices.Index(dexes[:], p.dex), Key: p.key, Config: p.config, Observation: p.observation, LP: p.lp, Open: p.open, Vaults: p.vaults,
		Tokens: [2]int{tokens[p.tokens[0]], tokens[p.tokens[1]]}, Quote: p.quote, Target: p.target, Table: p.table, Creator: p.creator.private(),
	}
}

// Resume makes the chain of cfg as it was at the checkpoint, which it takes over. A checkpoint of
// another chain is an error.
func Resume(cfg Config, c *Checkpoint) (*Generator, error) {
	g, err := New(cfg)
	if err != nil {
		return nil, err
	}
	if mine := g.cfg.until(c.Next); c.Chain != mine {
		return nil, fmt.Errorf("it is of another chain: of %s, not of %s", c.Chain, mine)
	}
	g.next, g.parent, g.height, g.hash, g.owed = c.Next, c.Parent, c.Height, c.Hash, c.Owed
	g.launched, g.pending, g.shortLivedMade, g.powered = c.Launched, c.Pending, c.ShortLivedMade, c.Powered
	g.st.accounts, g.genesis = c.Accounts, nil
	for k, a := range c.Accounts {
		g.genesis = append(g.genesis, Write{Key: k, Account: a})
	}
	if err := g.resumeLists(c); err != nil {
		return nil, err
	}
	return g, nil
}

var errIndex = errors.New("it names a token, a pool or a wallet that it does not have")

// resumeLists takes over the tokens and pools of a checkpoint.
func (g *Generator) resumeLists(c *Checkpoint) error {
	g.tokens, g.pools = make([]*token, len(c.Tokens)), make([]*pool, len(c.Pools))
	for i := range g.tokens {
		g.tokens[i] = new(token)
	}
	for i := range g.pools {
		g.pools[i] = new(pool)
	}
	all, ok := g.signers(), len(c.Tokens) > 1 // SOL and USDC
	for i := range c.Tokens {
		ok = ok && g.resumeToken(g.tokens[i], &c.Tokens[i], all)
	}
	for i := range c.Pools {
		ok = ok && g.resumePool(g.pools[i], &c.Pools[i], all)
	}
	for _, f := range c.Frozen {
		if ok = ok && uint(f.Token) < uint(len(g.tokens)); ok {
			g.frozen = append(g.frozen, frozen{g.tokens[f.Token], f.Account})
		}
	}
	for _, i := range c.ShortLived {
		if ok = ok && uint(i) < uint(len(g.pools)); ok {
			g.shortLived = append(g.shortLived, g.pools[i])
		}
	}
	if !ok {
		return errIndex
	}
	return nil
}

func (g *Generator) resumeToken(t *token, c *checkpointToken, all signers) bool {
	*t = token{
		mint: c.Mint, program: c.Program, metadata: c.Metadata, decimals: c.Decimals, name: c.Name, symbol: c.Symbol, uri: c.URI,
		mintAuth: all.of(c.MintAuth), freezeAuth: all.of(c.FreezeAuth), updateAuth: all.of(c.UpdateAuth), feeAuth: all.of(c.FeeAuth),
		holders: c.Holders, revision: c.Revision, feeBPS: c.FeeBPS, unpoolable: c.Unpoolable, curve: c.Curve, still: c.Still,
	}
	if c.Pool >= len(g.pools) || slices.ContainsFunc(c.Holders, func(w uint32) bool { return uint(w) >= uint(len(g.wallets)) }) {
		return false
	}
	if c.Pool >= 0 {
		t.pool = g.pools[c.Pool]
	}
	return g.st.get(t.mint) != nil
}

func (g *Generator) resumePool(p *pool, c *checkpointPool, all signers) bool {
	tokens := uint(len(g.tokens))
	if uint(c.Dex) >= uint(len(dexes)) || uint(c.Quote) > 1 || uint(c.Tokens[0]) >= tokens || uint(c.Tokens[1]) >= tokens {
		return false
	}
	*p = pool{
		dex: dexes[c.Dex], key: c.Key, config: c.Config, observation: c.Observation, lp: c.LP, open: c.Open, vaults: c.Vaults,
		tokens: [2]*token{g.tokens[c.Tokens[0]], g.tokens[c.Tokens[1]]}, quote: c.Quote, target: c.Target, table: c.Table, creator: all.of(c.Creator),
	}
	return g.st.get(p.key) != nil && g.st.get(p.vaults[0]) != nil && g.st.get(p.vaults[1]) != nil
}

func (s *Signer) private() ed25519.PrivateKey {
	if s == nil {
		return nil
	}
	return s.priv
}

// signers are the wallets and the treasury by address, as the chain compares these by pointer.
type signers map[Key]*Signer

func (g *Generator) signers() signers {
	all := signers{g.treasury.Key: g.treasury}
	for _, w := range g.wallets {
		all[w.Key] = w
	}
	return all
}

func (s signers) of(key ed25519.PrivateKey) *Signer {
	if len(key) != ed25519.PrivateKeySize {
		return nil
	}
	if known := s[Key(key[32:])]; known != nil {
		return known
	}
	return &Signer{Key: Key(key[32:]), priv: key}
}
