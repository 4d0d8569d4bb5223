package parse

import "github.com/mintlake/mintlake/ingest/chain"

// account parses SubscribeUpdateAccount (geyser.proto). An account that no transaction wrote (at a
// node's start, or by the runtime itself) becomes Other.
func (u *Update) account(data []byte) error {
	*u = Update{}
	a := chain.Account{Transaction: -1}
	var slot uint64
	var key, owner, signature []byte
	w := walk{rest: data}
	for w.next() {
		switch {
		case w.message(1):
			info := walk{rest: w.v}
			for info.next() {
				switch {
				case info.message(1):
					key = info.v
				case info.message(3):
					owner = info.v
				case info.message(6):
					a.Data = info.v
				case info.message(8):
					signature = info.v
				}
			}
			if info.err != nil {
				return info.err
			}
		case w.varint(2):
			slot = w.n
		case w.varint(4):
			a.Bank.ID = w.n
		}
	}
	switch {
	case w.err != nil:
		return w.err
	case slot > maxSlot || len(key) != len(a.Key) || len(owner) != len(a.Owner):
		return malformed("account update of slot %d with a key of %d bytes and an owner of %d", slot, len(key), len(owner))
	case len(signature) == 0:
		return nil
	case len(signature) != len(a.Signature):
		return malformed("account update with a signature of %d bytes", len(signature))
	}
	copy(a.Key[:], key)
	copy(a.Owner[:], owner)
	copy(a.Signature[:], signature)
	*u = Update{Kind: Account, Slot: slot, Account: &a}
	return nil
}
