package txn

import (
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/swap/venue"
)

// encode makes the message and checks the limits of the network. It also returns the lookup tables
// that the message uses.
func encode(r Request, list []venue.Instruction) (m solana.Message, tables []venue.Key, err error) {
	m = compile(r.User, r.Blockhash, list)
	most := MaxAccounts
	if r.MaxAccounts > 0 {
		most = min(most, r.MaxAccounts)
	}
	if n := len(m.AccountKeys); n > most {
		return m, nil, fmt.Errorf("%w: it names %d accounts of at most %d", ErrTooLarge, n, most)
	}
	tables = lookUp(&m, r.Tables)
	if n := size(&m); n > MaxBytes {
		return m, nil, fmt.Errorf("%w: it has %d bytes of at most %d", ErrTooLarge, n, MaxBytes)
	}
	return m, tables, nil
}

// size returns how many bytes the transaction of a message has: the signatures and the message, in
// which each list begins with its length (solana.com/docs/core/transactions). So Fits need not
// encode it.
func size(m *solana.Message) int {
	const signature, version, header, key, blockhash = 64, 1, 3, 32, 32
	list := func(count, each int) int { return lengthSize(count) + count*each }
	n := list(int(m.Header.NumRequiredSignatures), signature) + version + header
	n += list(len(m.AccountKeys), key) + blockhash + lengthSize(len(m.Instructions))
	for _, in := range m.Instructions {
		n += 1 + list(len(in.Accounts), 1) + list(len(in.Data), 1)
	}
	n += lengthSize(len(m.AddressTableLookups))
	for _, l := range m.AddressTableLookups {
		n += key + list(len(l.WritableIndexes), 1) + list(len(l.ReadonlyIndexes), 1)
	}
	return n
}

// lengthSize returns how many bytes the length of a list takes: seven bits of it lie in each.
func lengthSize(length int) int {
	n := 1
	for ; length >= 1<<7; length >>= 7 {
		n++
	}
	return n
}

// compile makes the message of instructions, version 0, without lookup tables. Its accounts stand
// in the order that the runtime wants: those that sign and are written, the payer first, those that
// only sign, those that are only written, the others. Accounts of one kind stand in the order of
// their first use, and programs after the accounts of instructions.
//
// It does what solana.NewTransaction does, which finds accounts by their base58 text and so takes
// several times as long. Each plan of a quote is built, to see whether it fits. The accounts are so
// few that comparing them one by one is quicker than a map.
func compile(payer, blockhash venue.Key, list []venue.Instruction) solana.Message {
	metas := make([]venue.Meta, 0, MaxAccounts)
	use := func(m venue.Meta) {
		for i := range metas {
			if metas[i].Key == m.Key {
				metas[i].Signer = metas[i].Signer || m.Signer
				metas[i].Writable = metas[i].Writable || m.Writable
				return
			}
		}
		metas = append(metas, m)
	}
	use(venue.Meta{Key: payer, Signer: true, Writable: true})
	uses := 0
	for _, in := range list {
		uses += len(in.Accounts)
		for _, m := range in.Accounts {
			use(m)
		}
	}
	for _, in := range list {
		use(venue.Meta{Key: in.Program})
	}

	message := solana.Message{
		RecentBlockhash: solana.Hash(blockhash), AccountKeys: make(solana.PublicKeySlice, 0, len(metas)), Instructions: make([]solana.CompiledInstruction, 0, len(list)),
	}
	message.SetVersion(solana.MessageVersionV0)
	add := func(signer, writable bool) (count uint8) {
		for _, m := range metas {
			if m.Signer == signer && m.Writable == writable {
				message.AccountKeys = append(message.AccountKeys, solana.PublicKey(m.Key))
				count++
			}
		}
		return count
	}
	message.Header.NumRequiredSignatures = add(true, true)
	message.Header.NumReadonlySignedAccounts = add(true, false)
	message.Header.NumRequiredSignatures += message.Header.NumReadonlySignedAccounts
	add(false, true)
	message.Header.NumReadonlyUnsignedAccounts = add(false, false)

	places := make([]uint16, 0, uses)
	place := func(key venue.Key) uint16 { return uint16(slices.Index(message.AccountKeys, solana.PublicKey(key))) }
	for _, in := range list {
		from := len(places)
		for _, m := range in.Accounts {
			places = append(places, place(m.Key))
		}
		message.Instructions = append(message.Instructions, solana.CompiledInstruction{
			ProgramIDIndex: place(in.Program), Accounts: places[from:], Data: in.Data,
		})
	}
	return message
}
