package chain

import "crypto/ed25519"

// Listed is a token of genesis, as somebody who curates a list would write it down.
type Listed struct {
	Mint         Key
	Name, Symbol string
	Decimals     uint8
}

// Listed are the tokens that exist at genesis, the most traded first: the same whatever the chain
// does to them later. Safe for concurrent use.
func (g *Generator) Listed() []Listed { return g.listed }

// Curator is the key that signs the chain's list of tokens. Like all of its keys it follows from
// the seed.
func (g *Generator) Curator() ed25519.PrivateKey {
	return deriveSigner(g.cfg.Seed, "curator", 0).priv
}
