package parse

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/protofields"
)

// account parses SubscribeUpdateAccount (geyser.proto). An account that no transaction wrote (at a
// node's start, or by the runtime itself) becomes Other.
func (u *Update) account(data []byte) error {
	*u = Update{}
	a := chain.Account{Transaction: -1}
	var slot uint64
	var key, owner, signature []byte
	w := protofields.Fields{Rest: data}
	for w.Next() {
		switch {
		case w.IsBytes(1):
			info := protofields.Fields{Rest: w.Bytes}
			for info.Next() {
				switch {
				case info.IsBytes(1):
					key = info.Bytes
				case info.IsBytes(3):
					owner = info.Bytes
				case info.IsBytes(6):
					a.Data = info.Bytes
				case info.IsBytes(8):
					signature = info.Bytes
				}
			}
			if info.Err != nil {
				return info.Err
			}
		case w.IsVarint(2):
			slot = w.Value
		case w.IsVarint(4):
			a.Bank.ID = w.Value
		}
	}
	switch {
	case w.Err != nil:
		return w.Err
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
