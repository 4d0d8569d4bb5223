// Package txn builds the transactions of quotes.
//
// In: a swap instruction and who makes it. Out: the bytes of a versioned transaction (v0) with zero
// signatures in the places of the required signers, which is what wallets sign. Guarantees: pure;
// at most MaxBytes; only the user signs and pays.
package txn

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// MaxBytes is the greatest transaction that the network carries: an IPv6 packet of 1,280 bytes less
// headers.
const MaxBytes = 1232

// ErrTooLarge is a swap that does not fit a transaction.
var ErrTooLarge = errors.New("the transaction would be larger than 1232 bytes")

var budgetProgram = venue.Key(solana.MustPublicKeyFromBase58("ComputeBudget111111111111111111111111111111"))

// Side is one of the two tokens.
type Side struct {
	Mint venue.Key
	// Program that owns the mint.
	Program venue.Key
}

func (s Side) native() bool { return s.Mint == mint.WrappedSOL }

// Request says what to build.
type Request struct {
	User    venue.Key
	In, Out Side
	// AmountIn is raw; of native SOL when In is its wrapped mint.
	AmountIn uint64
	// HasWrapped says that the user's account for wrapped SOL exists already. Then it is not
	// closed: closing it would unwrap what else the user keeps there.
	HasWrapped bool
	// Native says that the swap moves SOL from or to the wallet itself: nothing is wrapped.
	Native bool
	// Swap makes the venue's instructions for the user's accounts.
	Swap func(user venue.UserAccounts) ([]venue.Instruction, error)
	// SwapUnits are the compute units that Swap may use.
	SwapUnits uint32
	// UnitPrice is the priority fee in millionths of a lamport per compute unit.
	UnitPrice uint64
	// Blockhash makes the transaction valid for about a minute.
	Blockhash venue.Key
}

// Transaction is built and unsigned.
type Transaction struct {
	Bytes []byte
	// ComputeUnits is the limit that it sets.
	ComputeUnits uint32
	// Unwraps says that SOL arrives as SOL. False when the output is no SOL, or stays wrapped
	// because the user's account existed.
	Unwraps bool
}

// Compute units of the steps beside the swap, generous; an associated account's address takes a
// search of unknown length.
const (
	unitsCreateAccount = 35_000
	unitsWrap          = 5_000
	unitsClose         = 5_000
	unitsSpare         = 30_000
	maxUnits           = 1_400_000
)

// Build makes the transaction:
//
//	compute unit limit and price
//	create the destination account if missing (and the one for wrapped SOL, when SOL is sold)
//	SOL is sold:            transfer SOL into the account for wrapped SOL, sync it
//	the swap
//	SOL is sold or bought:  close the account for wrapped SOL, if the user had none before
//
// The source of any other token is the user's associated account.
func Build(r Request) (*Transaction, error) {
	source, err := AssociatedAccount(r.User, r.In)
	if err != nil {
		return nil, err
	}
	destination, err := AssociatedAccount(r.User, r.Out)
	if err != nil {
		return nil, err
	}
	units := r.SwapUnits
	var list []venue.Instruction
	if !r.Native || !r.Out.native() {
		list, units = append(list, createAccount(r.User, destination, r.Out)), units+unitsCreateAccount
	}
	wrapped := destination
	if r.In.native() && !r.Native {
		wrapped = source
		list = append(list, createAccount(r.User, source, r.In), transferSOL(r.User, source, r.AmountIn), syncNative(source))
		units += unitsCreateAccount + unitsWrap
	}
	swap, err := r.Swap(venue.UserAccounts{Owner: r.User, Source: source, Destination: destination})
	if err != nil {
		return nil, err
	}
	list = append(list, swap...)
	closes := (r.In.native() || r.Out.native()) && !r.HasWrapped && !r.Native
	if closes {
		list = append(list, closeAccount(wrapped, r.User))
		units += unitsClose
	}
	limit := min(units+units/5+unitsSpare, maxUnits)
	list = append([]venue.Instruction{unitLimit(limit), unitPrice(r.UnitPrice)}, list...)
	raw, err := encode(r.User, r.Blockhash, list)
	if err != nil {
		return nil, err
	}
	return &Transaction{Bytes: raw, ComputeUnits: limit, Unwraps: r.Out.native() && (closes || r.Native)}, nil
}

// AssociatedAccount is the user's associated token account.
func AssociatedAccount(owner venue.Key, side Side) (venue.Key, error) {
	return venue.AssociatedAccount(owner, side.Mint, side.Program)
}

// createAccount creates the user's associated account if it is missing.
func createAccount(user, account venue.Key, side Side) venue.Instruction {
	return venue.CreateAssociated(user, user, account, side.Mint, side.Program)
}

// transferSOL is the system program's Transfer (instruction 2).
func transferSOL(from, to venue.Key, lamports uint64) venue.Instruction {
	data := binary.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, lamports)
	return venue.Instruction{Program: venue.SystemProgram, Data: data, Accounts: []venue.Meta{
		{Key: from, Signer: true, Writable: true}, {Key: to, Writable: true},
	}}
}

// syncNative is the token program's SyncNative (instruction 17): the account's amount becomes what
// its lamports say.
func syncNative(account venue.Key) venue.Instruction {
	return venue.Instruction{Program: mint.Token, Data: []byte{17}, Accounts: []venue.Meta{{Key: account, Writable: true}}}
}

// closeAccount is the token program's CloseAccount (instruction 9): all lamports, wrapped ones and
// rent, go to the user.
func closeAccount(account, user venue.Key) venue.Instruction {
	return venue.Instruction{Program: mint.Token, Data: []byte{9}, Accounts: []venue.Meta{
		{Key: account, Writable: true}, {Key: user, Writable: true}, {Key: user, Signer: true},
	}}
}

// unitLimit is SetComputeUnitLimit (instruction 2), unitPrice SetComputeUnitPrice (instruction 3).
func unitLimit(units uint32) venue.Instruction {
	return venue.Instruction{Program: budgetProgram, Data: binary.LittleEndian.AppendUint32([]byte{2}, units)}
}

func unitPrice(price uint64) venue.Instruction {
	return venue.Instruction{Program: budgetProgram, Data: binary.LittleEndian.AppendUint64([]byte{3}, price)}
}

func encode(payer, blockhash venue.Key, list []venue.Instruction) ([]byte, error) {
	converted := make([]solana.Instruction, len(list))
	for i, in := range list {
		metas := make(solana.AccountMetaSlice, len(in.Accounts))
		for j, m := range in.Accounts {
			metas[j] = solana.NewAccountMeta(solana.PublicKey(m.Key), m.Writable, m.Signer)
		}
		converted[i] = solana.NewInstruction(solana.PublicKey(in.Program), metas, in.Data)
	}
	tx, err := solana.NewTransaction(converted, solana.Hash(blockhash), solana.TransactionPayer(solana.PublicKey(payer)))
	if err != nil {
		return nil, fmt.Errorf("build transaction: %w", err)
	}
	// Without lookup tables solana-go makes a legacy message, and the specification says versioned.
	tx.Message.SetVersion(solana.MessageVersionV0)
	raw, err := tx.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("encode transaction: %w", err)
	}
	if len(raw) > MaxBytes {
		return nil, fmt.Errorf("%w: %d", ErrTooLarge, len(raw))
	}
	return raw, nil
}
