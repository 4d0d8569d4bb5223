// Package txn builds the transactions of quotes.
//
// In: swap instructions and the user. Out: the bytes of a transaction (legacy, version 0 or 1) with
// zero signatures in the places of the required signers, which is what wallets sign. Guarantees:
// pure; the same request gives the same bytes; within the limits of the version and MaxAccounts;
// only the user signs, and those that the request names to pay in his place: the payer and the
// sender of the tip.
package txn

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/venue"
)

// Limits of the network.
const (
	// MaxBytes is the size of the largest transaction that the network carries, legacy or of
	// version 0: an IPv6 packet of 1,280 bytes less headers. Version 1 may have 4,096 bytes.
	MaxBytes = 1232
	// MaxAccounts is how many accounts a transaction may lock.
	MaxAccounts = 64
	// maxUnits is how many compute units a transaction may use.
	maxUnits = 1_400_000
)

// ErrTooLarge is a swap that does not fit a transaction.
var ErrTooLarge = errors.New("it does not fit a transaction")

var budgetProgram = venue.Key(solana.MustPublicKeyFromBase58("ComputeBudget111111111111111111111111111111"))

// Transaction is an unsigned transaction.
type Transaction struct {
	Bytes []byte
	// ComputeUnits is the limit of compute units that the transaction sets.
	ComputeUnits uint32
	// PriorityFee in lamports.
	PriorityFee uint64
	// Unwraps says that SOL arrives as SOL. It is false if the output is not SOL, or stays wrapped
	// because the user's account existed.
	Unwraps bool
	// Temporary says that the transaction opens the account for wrapped SOL and closes it again.
	Temporary bool
	// Tables are the lookup tables that the transaction uses.
	Tables []venue.Key
	// Budget are the instructions of the compute budget program, which a transaction of version 1
	// does not have. Steps are all other instructions.
	Budget, Steps []venue.Instruction
	// LastSwap is the index in Steps of the last instruction of a swap. TipAt is the index of the
	// tip; -1 if there is none.
	LastSwap, TipAt int
	// Fee is what the chain takes for signatures, in lamports, besides PriorityFee.
	Fee uint64
}

// SignatureFee is what each signature of a transaction costs, in lamports.
const SignatureFee = 5000

// Build makes the transaction:
//
//	compute unit limit and price
//	create the accounts of bought tokens that are missing, and the one for wrapped SOL
//	SOL is sold:       transfer SOL into the account for wrapped SOL, sync it
//	the swaps
//	the platform's fee
//	SOL was wrapped:   close the account for wrapped SOL, if the user had none before
//	the platform's fee in lamports, instead of the one above, if SOL is bought without wrapping
//	the tip
//
// In version 1 the config has the limits and the fee. The source of any other token is the user's
// associated account.
func Build(r Request) (*Transaction, error) {
	b := newBuilder(r, r.Accounts.Of, nil)
	price, err := b.assemble()
	if err != nil {
		return nil, err
	}
	limit := b.limit()
	hi, lo := bits.Mul64(price, limit)
	paid, part := bits.Div64(min(hi, lamport-1), lo, lamport)
	if part > 0 { // the chain rounds up
		paid++
	}
	if b.PriorityFee != nil && r.Version == txwire.V1 {
		paid = *b.PriorityFee
	}
	out := &Transaction{
		ComputeUnits: uint32(limit), PriorityFee: paid, Unwraps: r.Out.native() && r.Destination == nil && !r.keeps() && (!b.wraps || !r.HasWrapped),
		Budget: b.list[:budgetSteps], Steps: b.list[budgetSteps:], LastSwap: b.lastSwap - budgetSteps, TipAt: -1,
		Temporary: b.wraps && !r.HasWrapped && !r.keeps(),
	}
	if b.Tip != nil {
		out.TipAt = len(out.Steps) - 1
	}
	if r.Version == txwire.V1 {
		out.Bytes, err = b.version1(out)
		out.Budget = nil
	} else {
		out.Bytes, out.Tables, err = b.version0()
	}
	if err != nil {
		return nil, err
	}
	signers, err := check(out.Bytes)
	if err != nil {
		return nil, err
	}
	out.Fee = SignatureFee * uint64(signers)
	return out, nil
}

// version0 encodes a transaction of version 0, or a legacy one. It also returns the lookup tables
// that the transaction uses.
func (b *builder) version0() ([]byte, []venue.Key, error) {
	message, tables, err := encode(&b.Request, b.list)
	if err != nil {
		return nil, nil, err
	}
	wire, err := (&solana.Transaction{Message: message}).MarshalBinary()
	if err != nil {
		return nil, nil, fmt.Errorf("encode transaction: %w", err)
	}
	return wire, tables, nil
}

// Opens returns the accounts that the transaction of a request opens if they are missing, and that
// stay open. An account for wrapped SOL that is opened only for the swap is not among them.
// Request.Payer pays the rent of the first accounts, as many as created says, and the user pays
// that of the others.
func Opens(r Request) (list []venue.Opening, created int, err error) {
	b := newBuilder(r, r.Accounts.Of, nil)
	if err := b.createBought(); err != nil {
		return nil, 0, err
	}
	created = len(b.opens)
	for _, s := range r.Swaps {
		if s.Opens == nil {
			continue
		}
		more, err := s.Opens(r.User)
		if err != nil {
			return nil, 0, err
		}
		b.opens = append(b.opens, more...)
	}
	seen := map[venue.Key]bool{}
	for _, o := range b.opens {
		if !seen[o.Account] {
			seen[o.Account] = true
			list = append(list, o)
		}
	}
	return list, created, nil
}
