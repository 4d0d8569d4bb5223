package txn

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/swap/venue"
)

// encode makes the message and checks the limits of the network. It also returns the lookup tables
// that the message uses.
func encode(r Request, list []venue.Instruction) (raw []byte, tables []venue.Key, err error) {
	converted := make([]solana.Instruction, len(list))
	for i, in := range list {
		metas := make(solana.AccountMetaSlice, len(in.Accounts))
		for j, m := range in.Accounts {
			metas[j] = solana.NewAccountMeta(solana.PublicKey(m.Key), m.Writable, m.Signer)
		}
		converted[i] = solana.NewInstruction(solana.PublicKey(in.Program), metas, in.Data)
	}
	tx, err := solana.NewTransaction(converted, solana.Hash(r.Blockhash), solana.TransactionPayer(solana.PublicKey(r.User)))
	if err != nil {
		return nil, nil, fmt.Errorf("build transaction: %w", err)
	}
	most := MaxAccounts
	if r.MaxAccounts > 0 {
		most = min(most, r.MaxAccounts)
	}
	if n := len(tx.Message.AccountKeys); n > most {
		return nil, nil, fmt.Errorf("%w: it names %d accounts of at most %d", ErrTooLarge, n, most)
	}
	// Without lookup tables solana-go makes a legacy message, but the specification wants a
	// versioned one.
	tx.Message.SetVersion(solana.MessageVersionV0)
	tables = lookUp(&tx.Message, r.Tables)
	if raw, err = tx.MarshalBinary(); err != nil {
		return nil, nil, fmt.Errorf("encode transaction: %w", err)
	}
	if len(raw) > MaxBytes {
		return nil, nil, fmt.Errorf("%w: it has %d bytes of at most %d", ErrTooLarge, len(raw), MaxBytes)
	}
	return raw, tables, nil
}
