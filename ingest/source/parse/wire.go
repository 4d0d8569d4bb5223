package parse

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/txwire"
)

// message is what a transaction's signed part says, apart from keys and instructions.
type message struct {
	signatures int
	versioned  bool
	// writable and readonly count the addresses that the message looks up. If hasLookups, the
	// metadata must list as many.
	writable, readonly int
	hasLookups         bool
	// allKeys means that the message's own keys include the looked-up addresses (jsonParsed).
	allKeys bool
}

// wireTransaction parses a transaction in the network's format.
func (b *builder) wireTransaction(tx *chain.Transaction, data []byte) (m message, err error) {
	w := &b.wire
	if err := w.Parse(data); err != nil {
		return m, b.refusal(err)
	}
	if err := b.checkVersion(w.Version); err != nil {
		return m, err
	}
	if len(w.Instructions) > maxInstructions {
		return m, malformed("%d instructions, at most %d", len(w.Instructions), maxInstructions)
	}
	m.signatures, m.versioned = len(w.Signatures), w.Version != txwire.Legacy
	copy(tx.Signature[:], w.Signatures[0])
	tx.Keys = b.keys.take(len(w.Keys))
	for i, key := range w.Keys {
		tx.Keys[i] = pubkey.Key(key)
	}
	tx.Instructions = b.outer.take(len(w.Instructions))
	for i := range w.Instructions {
		ix := &w.Instructions[i]
		tx.Instructions[i].Call = chain.Call{ProgramIndex: int(ix.Program), Accounts: ix.Accounts, Data: ix.Data, StackHeight: 1}
	}
	m.hasLookups = m.versioned // version 1 has none, so its metadata must list none
	for i := range w.Lookups {
		m.writable, m.readonly = m.writable+len(w.Lookups[i].Writable), m.readonly+len(w.Lookups[i].Readonly)
	}
	b.checkLimits(w, len(data))
	return m, nil
}
