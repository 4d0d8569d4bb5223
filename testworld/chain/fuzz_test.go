package chain

import (
	"testing"
)

// FuzzExecute bends real transactions: swaps account indexes, flips data bytes, joins instructions
// of others. Whatever comes of it, nothing panics, lamports are conserved and only accounts locked
// for writing change.
func FuzzExecute(f *testing.F) {
	g, err := New(Config{Seed: 5, TPS: 500, Tokens: 60, Wallets: 16})
	if err != nil {
		f.Fatal(err)
	}
	var txs []*Tx
	for range 12 {
		s, _ := g.Next(nil)
		txs = append(txs, s.Block.Txs...)
	}
	f.Add(uint16(3), []byte{0, 1, 2})
	f.Add(uint16(200), []byte{2, 0, 9, 1, 3, 3, 7, 7, 7})
	f.Add(uint16(999), []byte{1, 1, 0, 255, 4, 4, 4, 4, 3, 200, 1, 1})
	f.Fuzz(func(t *testing.T, pick uint16, ops []byte) {
		base := txs[int(pick)%len(txs)]
		m := base.Message
		m.Instructions = append([]CompiledInstruction(nil), m.Instructions...)
		bend(&m, ops)
		tx := &Tx{Message: m}
		if g.Simulate(tx) != nil {
			return
		}
		var pre, post uint64
		for i := range tx.Meta.Pre {
			pre, post = pre+tx.Meta.Pre[i], post+tx.Meta.Post[i]
		}
		if pre != post+tx.Meta.Fee {
			t.Fatalf("lamports %d became %d with fee %d: %v", pre, post, tx.Meta.Fee, tx.Meta.Logs)
		}
		for _, w := range tx.Writes {
			if !m.IsWritable(m.index(w.Key)) {
				t.Fatalf("read-only account %s changed: %v", w.Key, tx.Meta.Logs)
			}
		}
	})
}

// bend applies operations of four bytes each: what, which instruction, where, value.
func bend(m *Message, ops []byte) {
	keys := len(m.AccountKeys())
	for ; len(ops) >= 4 && len(m.Instructions) > 0; ops = ops[4:] {
		ix := &m.Instructions[int(ops[1])%len(m.Instructions)]
		switch ops[0] % 6 {
		case 0:
			if len(ix.Accounts) > 0 {
				ix.Accounts = append([]byte(nil), ix.Accounts...)
				ix.Accounts[int(ops[2])%len(ix.Accounts)] = ops[3] % byte(min(keys, 255))
			}
		case 1:
			if len(ix.Data) > 0 {
				ix.Data = append([]byte(nil), ix.Data...)
				ix.Data[int(ops[2])%len(ix.Data)] = ops[3]
			}
		case 2:
			ix.Data = ix.Data[:int(ops[2])%(len(ix.Data)+1)]
		case 3:
			ix.Accounts = ix.Accounts[:int(ops[2])%(len(ix.Accounts)+1)]
		case 4:
			ix.Program = ops[3] % uint8(len(m.Keys))
		case 5:
			m.Instructions = append(m.Instructions, *ix)
		}
	}
}
