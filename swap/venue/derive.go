package venue

import (
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// Programs that venues call.
var (
	SystemProgram     = Key(solana.SystemProgramID)
	AssociatedProgram = Key(solana.SPLAssociatedTokenAccountProgramID)
)

// Derive is a program derived address.
func Derive(program Key, seeds ...[]byte) (Key, error) {
	address, _, err := solana.FindProgramAddress(seeds, solana.PublicKey(program))
	if err != nil {
		return Key{}, fmt.Errorf("derive an address: %w", err)
	}
	return Key(address), nil
}

// MustDerive is Derive for constants.
func MustDerive(program Key, seeds ...[]byte) Key {
	address, err := Derive(program, seeds...)
	if err != nil {
		panic("venue: " + err.Error())
	}
	return address
}

// AssociatedAccount is an owner's associated token account: the program derived address of [owner,
// token program, mint]. The token program is part of it, so a Token-2022 mint has another one than
// helpers made for SPL Token say.
func AssociatedAccount(owner, mint, program Key) (Key, error) {
	return Derive(AssociatedProgram, owner[:], program[:], mint[:])
}

// CreateAssociated is the associated token account program's CreateIdempotent (instruction 1): no
// error when the account exists.
func CreateAssociated(payer, owner, account, mint, program Key) Instruction {
	return Instruction{Program: AssociatedProgram, Data: []byte{1}, Accounts: []Meta{
		{Key: payer, Signer: true, Writable: true}, {Key: account, Writable: true}, {Key: owner}, {Key: mint}, {Key: SystemProgram}, {Key: program},
	}}
}
