package transfer

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/solana/borsh"
)

// Instruction numbers of the system program: solana-system-interface, instruction.rs.
const (
	systemCreate         = 0
	systemTransfer       = 2
	systemCreateWithSeed = 3
	systemTransferSeed   = 11
	systemCreatePrefund  = 13
)

// accountOverhead is what rent counts beside an account's data: solana-rent's
// ACCOUNT_STORAGE_OVERHEAD.
const accountOverhead = 128

// lamports are what the system program's instructions have put into each account of the
// transaction since the account was opened or synced. Programs can also move lamports without an
// instruction, so the amounts are only hints.
type lamports struct {
	accounts [maxKeys]struct {
		in uint64
		// space is the length of the account's data, if this transaction created the account; 0 if
		// it did not.
		space uint64
		// unclear means that lamports of an unknown amount came in or went out.
		unclear bool
	}
}

// system reads a call of the system program.
func (l *lamports) system(call *chain.Call) {
	if len(call.Data) < 4 || len(call.Data) > maxData {
		return
	}
	c := borsh.NewReader(call.Data[4:])
	switch binary.LittleEndian.Uint32(call.Data) {
	case systemCreate:
		l.create(account(call, 1), c.U64(), c.U64())
	case systemCreatePrefund:
		// CreateAccountAllowPrefund adds to lamports that are unknown.
		l.unclear(account(call, 0))
	case systemCreateWithSeed:
		skipSeed(c)
		l.create(account(call, 1), c.U64(), c.U64())
	case systemTransfer:
		l.add(account(call, 1), c.U64())
	case systemTransferSeed:
		l.add(account(call, 2), c.U64())
	}
}

// skipSeed passes over a base key and a seed, whose length is 64 bits.
func skipSeed(c *borsh.Reader) {
	c.Key()
	c.Skip(int(min(c.U64(), maxData)))
}

func (l *lamports) create(account int, amount, space uint64) {
	if account < 0 {
		return
	}
	l.accounts[account].in, l.accounts[account].space, l.accounts[account].unclear = amount, space, false
}

func (l *lamports) add(account int, amount uint64) {
	if account < 0 {
		return
	}
	sum, carry := bits.Add64(l.accounts[account].in, amount, 0)
	l.accounts[account].in = sum
	l.accounts[account].unclear = l.accounts[account].unclear || carry > 0
}

func (l *lamports) unclear(account int) {
	if account >= 0 {
		l.accounts[account].unclear = true
	}
}

func (l *lamports) closed(account int) {
	if account >= 0 {
		l.accounts[account].in, l.accounts[account].space, l.accounts[account].unclear = 0, 0, false
	}
}

// opened returns what a new account has above its rent, and sets its lamports to 0. It returns
// false if the amount is not known.
func (l *lamports) opened(account int, rent uint64) (uint64, bool) {
	if account < 0 {
		return 0, false
	}
	a := &l.accounts[account]
	defer func() { a.in, a.unclear = 0, false }()
	reserve := (accountOverhead + min(a.space, maxData)) * min(rent, maxRent)
	return a.in - reserve, a.space > 0 && !a.unclear && rent > 0 && a.in >= reserve
}

// synced returns what came into an account, and sets its lamports to 0. It returns false if the
// amount is not known. An amount of 0 counts as not known: lamports probably came without an
// instruction, because otherwise there would be no reason to sync.
func (l *lamports) synced(account int) (uint64, bool) {
	if account < 0 {
		return 0, false
	}
	a := &l.accounts[account]
	in, clear := a.in, !a.unclear
	a.in, a.unclear = 0, false
	return in, clear && in > 0
}

// maxRent bounds rents that are believed. The rent has never been above 6,960 lamports a byte.
const maxRent = 1 << 20

// Rent returns the block's rent in lamports a byte, or 0 if the block does not show it. A block has
// one rent: it changes with epochs only. The associated-token program creates its accounts with
// exactly the rent.
func Rent(transactions []chain.Transaction) uint64 {
	for i := range transactions {
		if rent := rentOf(&transactions[i]); rent > 0 {
			return rent
		}
	}
	return 0
}

// rentOf returns the rent that a transaction shows, or 0. It looks at accounts that the
// associated-token program creates by its inner instructions.
func rentOf(tx *chain.Transaction) uint64 {
	if tx.Failed || tx.Vote || !slices.Contains(tx.Keys, associatedProgram) {
		return 0
	}
	for i := range tx.Instructions {
		outer := &tx.Instructions[i]
		parent := &outer.Call // the outer call, or the last call of the associated-token program
		for j := range outer.Inner {
			call := &outer.Inner[j]
			if program, _ := tx.Program(call); program == associatedProgram {
				parent = call
				continue
			}
			if program, _ := tx.Program(parent); program != associatedProgram {
				continue
			}
			if rent := created(tx, call); rent > 0 {
				return rent
			}
		}
	}
	return 0
}

// created returns the rent that a CreateAccount shows, in lamports a byte. It returns 0 for any
// other call, or if the lamports are not a multiple of the bytes.
func created(tx *chain.Transaction, call *chain.Call) uint64 {
	program, ok := tx.Program(call)
	if !ok || program != systemProgram || len(call.Data) < 20 || binary.LittleEndian.Uint32(call.Data) != systemCreate {
		return 0
	}
	amount, space := binary.LittleEndian.Uint64(call.Data[4:]), binary.LittleEndian.Uint64(call.Data[12:])
	size := accountOverhead + space
	if space > maxData || amount%size != 0 || amount/size > maxRent {
		return 0
	}
	return amount / size
}
