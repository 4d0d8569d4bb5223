package txn

import (
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/venue"
)

// mostAccounts is how many accounts the transaction of a request may name.
func (r *Request) mostAccounts() int {
	if r.MaxAccounts > 0 {
		return min(r.MaxAccounts, MaxAccounts)
	}
	return MaxAccounts
}

// encode makes the message and checks the limits of the network. It also returns the lookup tables
// that the message uses.
func encode(r *Request, list []venue.Instruction) (m solana.Message, tables []venue.Key, err error) {
	m = compile(r.payer(), r.Blockhash, list)
	if r.Version == txwire.Legacy {
		m.SetVersion(solana.MessageVersionLegacy)
	}
	if n, most := len(m.AccountKeys), r.mostAccounts(); n > most {
		return m, nil, fmt.Errorf("%w: it names %d accounts of at most %d", ErrTooLarge, n, most)
	}
	if r.Version == txwire.V0 {
		tables = lookUp(&m, r.Tables)
	}
	n := size(&m)
	if r.Version == txwire.Legacy {
		n -= versionedSize
	}
	if n > MaxBytes {
		return m, nil, fmt.Errorf("%w: it has %d bytes of at most %d", ErrTooLarge, n, MaxBytes)
	}
	return m, tables, nil
}

// versionedSize is by how many bytes version 0 exceeds a legacy transaction: the version, and an
// empty list of lookup tables.
const versionedSize = 2

// check returns how many signatures a transaction that was built has, and an error if nodes would
// refuse it. It reads the bytes with txwire, which did not make those of a legacy or version 0
// transaction. Unlike the gateway, which passes on what nodes may accept tomorrow, a builder keeps
// to the limits of today.
func check(wire []byte) (signers int, err error) {
	var built txwire.Transaction
	if err := built.Parse(wire); err != nil {
		return 0, fmt.Errorf("check what was built: %w", err)
	}
	if err := built.CheckLimits(len(wire)); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return len(built.Signatures), nil
}

// Sizes of a transaction's parts, in bytes (solana.com/docs/core/transactions). Each list begins
// with its length.
const (
	signatureSize = 64
	keySize       = 32
	// fixedSize is the version, the header and the blockhash.
	fixedSize = 1 + 3 + 32
)

func listSize(count, each int) int { return lengthSize(count) + count*each }

func instructionSize(accounts, data int) int { return 1 + listSize(accounts, 1) + listSize(data, 1) }

// size returns how many bytes the transaction of a message has, its signatures and the message,
// without encoding it.
func size(m *solana.Message) int {
	n := listSize(int(m.Header.NumRequiredSignatures), signatureSize) + fixedSize
	n += listSize(len(m.AccountKeys), keySize) + lengthSize(len(m.Instructions))
	for _, in := range m.Instructions {
		n += instructionSize(len(in.Accounts), len(in.Data))
	}
	n += lengthSize(len(m.AddressTableLookups))
	for _, l := range m.AddressTableLookups {
		n += keySize + listSize(len(l.WritableIndexes), 1) + listSize(len(l.ReadonlyIndexes), 1)
	}
	return n
}

// plainSize returns the size of the message that compile makes of instructions, without making it.
// metas are their accounts, as accountsOf returns them.
func plainSize(metas []venue.Meta, list []venue.Instruction) int {
	signers := 0
	for i := range metas {
		if metas[i].Signer {
			signers++
		}
	}
	n := listSize(signers, signatureSize) + fixedSize + listSize(len(metas), keySize) + lengthSize(len(list)) + lengthSize(0)
	for i := range list {
		n += instructionSize(len(list[i].Accounts), len(list[i].Data))
	}
	return n
}

// lengthSize returns how many bytes the length of a list takes: each byte has seven bits of it
// (compact-u16).
func lengthSize(length int) int {
	n := 1
	for ; length >= 1<<7; length >>= 7 {
		n++
	}
	return n
}

// accountsOf appends the accounts of a transaction to metas, which is empty: the payer, then those
// of instructions in the order of their first use, then programs. Each account is in the list once,
// with the rights of all its uses. They are so few that comparing them one by one is quicker than a
// map.
func accountsOf(metas []venue.Meta, payer venue.Key, list []venue.Instruction) []venue.Meta {
	metas = append(metas, venue.Meta{Key: payer, Signer: true, Writable: true})
	for i := range list {
		for j := range list[i].Accounts {
			metas = use(metas, &list[i].Accounts[j])
		}
	}
	for i := range list {
		metas = use(metas, &venue.Meta{Key: list[i].Program})
	}
	return metas
}

// use adds an account to metas, or its rights if metas has the account.
func use(metas []venue.Meta, m *venue.Meta) []venue.Meta {
	for i := range metas {
		// Few keys begin with the same byte.
		if known := &metas[i]; known.Key[0] == m.Key[0] && known.Key == m.Key {
			known.Signer = known.Signer || m.Signer
			known.Writable = known.Writable || m.Writable
			return metas
		}
	}
	return append(metas, *m)
}

// compile makes the message of instructions, version 0, without lookup tables. Its accounts stand
// in the order that the runtime wants: those that sign and are written, the payer first, those that
// only sign, those that are only written, the others. Accounts of one kind stand in the order of
// accountsOf.
//
// It does what solana.NewTransaction does, which finds accounts by their base58 text and so takes
// several times as long.
func compile(payer, blockhash venue.Key, list []venue.Instruction) solana.Message {
	metas := accountsOf(make([]venue.Meta, 0, MaxAccounts), payer, list)
	uses := 0
	for _, in := range list {
		uses += len(in.Accounts)
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
