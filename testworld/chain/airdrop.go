package chain

import "encoding/binary"

// Airdrop makes a signed transfer of lamports from the treasury, valid at the tip. number goes into
// a memo, so that two equal airdrops differ.
func (g *Generator) Airdrop(to Key, lamports, number uint64) (*Tx, error) {
	m, err := compile(g.treasury.Key, []Instruction{ixTransferSOL(g.treasury.Key, to, lamports), ixMemo("airdrop " + utoa(number))}, false, nil, g.hash)
	if err != nil {
		return nil, err
	}
	tx := &Tx{Message: m, sign: []*Signer{g.treasury}}
	return tx, tx.signAll()
}

// ComputePrice returns what the message offers per compute unit, in micro-lamports; 0 if it does
// not set a price.
func (m *Message) ComputePrice() uint64 {
	for i := range m.Instructions {
		ix := &m.Instructions[i]
		if int(ix.Program) < len(m.Keys) && m.Keys[ix.Program] == ComputeBudgetProgram && len(ix.Data) == 9 && ix.Data[0] == 3 {
			return binary.LittleEndian.Uint64(ix.Data[1:])
		}
	}
	return 0
}

// Writes returns whether the message locks an account for writing.
func (m *Message) Writes(k Key) bool {
	i := m.index(k)
	return i >= 0 && m.IsWritable(i)
}
