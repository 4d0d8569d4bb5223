package venue

import (
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// SystemProgram and AssociatedProgram are programs that swaps of many venues call.
var (
	SystemProgram     = Key(solana.SystemProgramID)
	AssociatedProgram = Key(solana.SPLAssociatedTokenAccountProgramID)
)

// Derive returns a program derived address.
func Derive(program Key, seeds ...[]byte) (Key, error) {
	address, _, err := solana.FindProgramAddress(seeds, solana.PublicKey(program))
	if err != nil {
		return Key{}, fmt.Errorf("derive an address: %w", err)
	}
	return Key(address), nil
}

// MustDerive is Derive for package variables. It panics on an error.
func MustDerive(program Key, seeds ...[]byte) Key {
	address, err := Derive(program, seeds...)
	if err != nil {
		panic("venue: " + err.Error())
	}
	return address
}

// AssociatedAccount returns an owner's associated token account: the program derived address of
// [owner, token program, mint]. It depends on the token program, so functions made for SPL Token
// give a wrong address for a Token-2022 mint.
func AssociatedAccount(owner, mint, program Key) (Key, error) {
	return Derive(AssociatedProgram, owner[:], program[:], mint[:])
}

// InstructionData returns the data of an instruction: its discriminator, then amounts in little
// endian.
func InstructionData(discriminator []byte, amounts ...uint64) []byte {
	data := append(make([]byte, 0, len(discriminator)+8*len(amounts)), discriminator...)
	for _, amount := range amounts {
		data = binary.LittleEndian.AppendUint64(data, amount)
	}
	return data
}

// CreateAssociated returns the instruction CreateIdempotent (number 1) of the associated token
// account program. It does nothing if the account exists.
func CreateAssociated(payer, owner, account, mint, program Key) Instruction {
	return Instruction{Program: AssociatedProgram, Data: []byte{1}, Accounts: []Meta{
		{Key: payer, Signer: true, Writable: true}, {Key: account, Writable: true}, {Key: owner}, {Key: mint}, {Key: SystemProgram}, {Key: program},
	}}
}
