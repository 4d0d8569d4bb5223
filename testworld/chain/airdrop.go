package chain

import (
	"github.com/mintlake/mintlake/solana/txwire"
)

// Airdrop makes a signed transfer of lamports from the treasury, valid at the tip. number goes into
// a memo, so that two equal airdrops differ.
func (g *Generator) Airdrop(to Key, lamports, number uint64) (*Tx, error) {
	m, err := compile(g.treasury.Key, []Instruction{ixTransferSOL(g.treasury.Key, to, lamports), ixMemo("airdrop " + utoa(number))}, txwire.Legacy, nil, g.hash)
	if err != nil {
		return nil, err
	}
	tx := &Tx{Message: m, sign: []*Signer{g.treasury}}
	return tx, tx.signAll()
}

// Writes returns whether the message locks an account for writing.
func (m *Message) Writes(k Key) bool {
	i := m.index(k)
	return i >= 0 && m.IsWritable(i)
}
