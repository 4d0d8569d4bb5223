package txn

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// Accounts keeps the associated token accounts that were derived: each derivation is a search by
// SHA-256. A nil one keeps nothing. It is not safe for concurrent use.
type Accounts map[accountKey]venue.Key

type accountKey struct{ owner, mint, program venue.Key }

// Of returns the associated token account of a wallet.
func (a Accounts) Of(owner venue.Key, side Side) (venue.Key, error) {
	of := accountKey{owner, side.Mint, side.Program}
	if account, kept := a[of]; kept {
		return account, nil
	}
	account, err := venue.AssociatedAccount(owner, side.Mint, side.Program)
	if err == nil && a != nil {
		a[of] = account
	}
	return account, err
}

// transferSOL is the system program's Transfer (instruction 2).
func transferSOL(from, to venue.Key, lamports uint64) venue.Instruction {
	return venue.Instruction{Program: venue.SystemProgram, Data: venue.InstructionData([]byte{2, 0, 0, 0}, lamports), Accounts: []venue.Meta{
		{Key: from, Signer: true, Writable: true}, {Key: to, Writable: true},
	}}
}

// syncNative is the token program's SyncNative (instruction 17): it sets the account's amount from
// its lamports.
func syncNative(account venue.Key) venue.Instruction {
	return venue.Instruction{Program: mint.Token, Data: []byte{17}, Accounts: []venue.Meta{{Key: account, Writable: true}}}
}

// closeAccount is the token program's CloseAccount (instruction 9): all lamports, wrapped ones and
// rent, go to an address.
func closeAccount(account, to, owner venue.Key) venue.Instruction {
	return venue.Instruction{Program: mint.Token, Data: []byte{9}, Accounts: []venue.Meta{
		{Key: account, Writable: true}, {Key: to, Writable: true}, {Key: owner, Signer: true},
	}}
}

// unwrapLamports is the token program's UnwrapLamports (instruction 45, of p-token) without an
// amount: all wrapped lamports go to an address, and the rent stays.
func unwrapLamports(account, to, owner venue.Key) venue.Instruction {
	return venue.Instruction{Program: mint.Token, Data: []byte{45, 0}, Accounts: []venue.Meta{
		{Key: account, Writable: true}, {Key: to, Writable: true}, {Key: owner, Signer: true},
	}}
}

// transferChecked is the token programs' TransferChecked (instruction 12). Token-2022 refuses the
// plain Transfer if the mint has a fee.
func transferChecked(from, to, owner venue.Key, side Side, amount uint64) venue.Instruction {
	data := append(venue.InstructionData([]byte{12}, amount), side.Decimals)
	return venue.Instruction{Program: side.Program, Data: data, Accounts: []venue.Meta{
		{Key: from, Writable: true}, {Key: side.Mint}, {Key: to, Writable: true}, {Key: owner, Signer: true},
	}}
}

// unitLimit is SetComputeUnitLimit (instruction 2), unitPrice SetComputeUnitPrice (instruction 3).
func unitLimit(units uint32) venue.Instruction {
	return venue.Instruction{Program: budgetProgram, Data: binary.LittleEndian.AppendUint32([]byte{2}, units)}
}

func unitPrice(price uint64) venue.Instruction {
	return venue.Instruction{Program: budgetProgram, Data: venue.InstructionData([]byte{3}, price)}
}
