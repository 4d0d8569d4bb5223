package txn

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/swap/venue"
)

// encode makes the message and checks the limits of the network. It also returns the lookup tables
// that the message uses.
func encode(r Request, list []venue.Instruction) (raw []byte, tables []venue.Key, err error) {
	tx := solana.Transaction{Message: compile(r.User, r.Blockhash, list)}
	most := MaxAccounts
	if r.MaxAccounts > 0 {
		most = min(most, r.MaxAccounts)
	}
	if n := len(tx.Message.AccountKeys); n > most {
		return nil, nil, fmt.Errorf("%w: it names %d accounts of at most %d", ErrTooLarge, n, most)
	}
	tables = lookUp(&tx.Message, r.Tables)
	if raw, err = tx.MarshalBinary(); err != nil {
		return nil, nil, fmt.Errorf("encode transaction: %w", err)
	}
	if len(raw) > MaxBytes {
		return nil, nil, fmt.Errorf("%w: it has %d bytes of at most %d", ErrTooLarge, len(raw), MaxBytes)
	}
	return raw, tables, nil
}

// compile makes the message of instructions, version 0, without lookup tables. Its accounts stand
// in the order that the runtime wants: those that sign and are written, the payer first, those that
// only sign, those that are only written, the others. Accounts of one kind stand in the order of
// their first use, and programs after the accounts of instructions.
//
// It does what solana.NewTransaction does, which finds accounts by their base58 text and so takes
// three times as long. Each plan of a quote is built, to see whether it fits.
func compile(payer, blockhash venue.Key, list []venue.Instruction) solana.Message {
	metas, at := make([]venue.Meta, 0, MaxAccounts), make(map[venue.Key]int, MaxAccounts)
	use := func(m venue.Meta) {
		i, known := at[m.Key]
		if !known {
			at[m.Key] = len(metas)
			metas = append(metas, m)
			return
		}
		metas[i].Signer = metas[i].Signer || m.Signer
		metas[i].Writable = metas[i].Writable || m.Writable
	}
	use(venue.Meta{Key: payer, Signer: true, Writable: true})
	for _, in := range list {
		for _, m := range in.Accounts {
			use(m)
		}
	}
	for _, in := range list {
		use(venue.Meta{Key: in.Program})
	}
	slices.SortStableFunc(metas, func(a, b venue.Meta) int { return cmp.Compare(kind(a), kind(b)) })

	message := solana.Message{
		RecentBlockhash: solana.Hash(blockhash), AccountKeys: make(solana.PublicKeySlice, 0, len(metas)), Instructions: make([]solana.CompiledInstruction, 0, len(list)),
	}
	message.SetVersion(solana.MessageVersionV0)
	for i, m := range metas {
		at[m.Key] = i
		message.AccountKeys = append(message.AccountKeys, solana.PublicKey(m.Key))
		switch {
		case m.Signer && m.Writable:
			message.Header.NumRequiredSignatures++
		case m.Signer:
			message.Header.NumRequiredSignatures++
			message.Header.NumReadonlySignedAccounts++
		case !m.Writable:
			message.Header.NumReadonlyUnsignedAccounts++
		}
	}
	for _, in := range list {
		accounts := make([]uint16, len(in.Accounts))
		for i, m := range in.Accounts {
			accounts[i] = uint16(at[m.Key])
		}
		message.Instructions = append(message.Instructions, solana.CompiledInstruction{
			ProgramIDIndex: uint16(at[in.Program]), Accounts: accounts, Data: in.Data,
		})
	}
	return message
}

// kind returns the place of an account's kind in a message.
func kind(m venue.Meta) int {
	switch {
	case m.Signer && m.Writable:
		return 0
	case m.Signer:
		return 1
	case m.Writable:
		return 2
	}
	return 3
}
