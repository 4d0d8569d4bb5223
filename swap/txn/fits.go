package txn

import (
	"crypto/sha256"
	"sync"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/venue"
)

// SurelyFits returns whether the transaction of some swaps certainly fits, whatever else it does,
// so that it need not be built to know. If it returns false, the transaction may still fit.
// accounts and units are the sums of the quotes' Accounts and ComputeUnits. maxAccounts is that of
// Request.
func SurelyFits(swaps, accounts int, units uint64, maxAccounts int) bool {
	// created is the most accounts that are created: one for what each swap buys, one for what the
	// whole buys, which may be the same, and one for wrapped SOL.
	created := swaps + 2
	// Each created account comes with its mint and token program. Beside them there are the user,
	// the treasury's account, and the programs for the compute budget, for SOL and for associated
	// accounts.
	keys := accounts + 3*created + 5
	n := listSize(1, signatureSize) + fixedSize + listSize(keys, keySize) + lengthSize(swaps+created+6)
	n += instructionSize(0, 5) + instructionSize(0, 9) // limit and price of compute units
	n += created*instructionSize(6, 1) + swaps*instructionSize(0, venue.MostData) + accounts
	n += instructionSize(2, 12) + instructionSize(1, 1) + instructionSize(3, 1) // SOL is wrapped
	n += instructionSize(4, 10)                                                 // the fee
	n += lengthSize(0)                                                          // lookup tables
	units += uint64(created)*unitsCreateAccount + unitsWrap + unitsTransfer + unitsClose
	r := Request{MaxAccounts: maxAccounts}
	return keys <= r.mostAccounts() && n <= MaxBytes && units <= maxUnits
}

// Fits returns an error if the transaction of a request would not fit. It is quick, as it neither
// derives the accounts' addresses nor encodes the transaction. User, Fee's treasury and Blockhash
// may be zero, and HasWrapped does not matter.
func Fits(r Request) error {
	r.User, r.HasWrapped = anyUser, false
	if r.Fee != nil {
		fee := *r.Fee
		fee.Treasury, r.Fee = anyTreasury, &fee
	}
	list, _ := lists.Get().(*[mostInstructions]venue.Instruction)
	defer lists.Put(list)
	b := newBuilder(r, placeholder, list[:0])
	if _, err := b.assemble(); err != nil {
		return err
	}
	if r.Version == txwire.V1 {
		_, err := b.wire1(0)
		return err
	}
	return fits(&b.Request, b.list)
}

// Sizes returns how many bytes the transaction of a request has in versions 0 and 1, whether it
// fits version 0 or not. As for Fits, User, Fee's treasury and Blockhash may be zero.
func Sizes(r Request) (zero, one int, err error) {
	r.User, r.HasWrapped = anyUser, false
	if r.Fee != nil {
		fee := *r.Fee
		fee.Treasury, r.Fee = anyTreasury, &fee
	}
	b := newBuilder(r, placeholder, nil)
	if _, err := b.assemble(); err != nil {
		return 0, 0, err
	}
	m := compile(b.payer(), b.Blockhash, b.list)
	lookUp(&m, r.Tables)
	t, err := b.wire1(0)
	if err != nil {
		return 0, 0, err
	}
	wire, err := t.Append(nil)
	return size(&m), len(wire), err
}

// fits returns an error if the transaction of these instructions exceeds the limits of the network.
// Mostly it fits without lookup tables, and then no message is made.
func fits(r *Request, list []venue.Instruction) error {
	var buffer [MaxAccounts]venue.Meta
	metas := accountsOf(buffer[:0], r.payer(), list)
	if len(metas) <= r.mostAccounts() && plainSize(metas, list) <= MaxBytes {
		return nil
	}
	_, _, err := encode(r, list)
	return err
}

// The wallets of the transactions that Fits and Sizes make, in the place of the real ones.
var anyUser, anyTreasury = venue.Key(sha256.Sum256([]byte("user"))), venue.Key(sha256.Sum256([]byte("treasury")))

// mostInstructions is how many instructions most transactions have at most.
const mostInstructions = 16

// lists are the lists of instructions that Fits uses.
var lists = sync.Pool{New: func() any { return new([mostInstructions]venue.Instruction) }}

// placeholder stands for the associated account of a wallet: another address for each token.
func placeholder(owner venue.Key, side Side) (account venue.Key, err error) {
	for i := range account {
		account[i] = owner[i] ^ side.Mint[i]
	}
	return account, nil
}
