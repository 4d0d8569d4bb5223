// Package txn builds the transactions of quotes.
//
// In: swap instructions and the user. Out: the bytes of a versioned transaction (v0) with
// zero signatures in the places of the required signers, which is what wallets sign. Guarantees:
// pure; the same request gives the same bytes; at most MaxBytes and MaxAccounts; only the user
// signs and pays.
package txn

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// Limits of the network.
const (
	// MaxBytes is the size of the largest transaction that the network carries: an IPv6 packet of
	// 1,280 bytes less headers.
	MaxBytes = 1232
	// MaxAccounts is how many accounts a transaction may lock.
	MaxAccounts = 64
	// maxUnits is how many compute units a transaction may use.
	maxUnits = 1_400_000
)

// ErrTooLarge is a swap that does not fit a transaction.
var ErrTooLarge = errors.New("it does not fit a transaction")

var budgetProgram = venue.Key(solana.MustPublicKeyFromBase58("ComputeBudget111111111111111111111111111111"))

// Side is one token of a swap.
type Side struct {
	Mint venue.Key
	// Program owns the mint.
	Program  venue.Key
	Decimals uint8
	// AccountSize is the length of its token accounts.
	AccountSize int
}

func (s Side) native() bool { return s.Mint == mint.WrappedSOL }

// Swap is one swap of the route.
type Swap struct {
	In, Out Side
	// Instructions makes the venue's instructions for the user's accounts.
	Instructions func(user venue.UserAccounts) ([]venue.Instruction, error)
	// Opens returns the accounts that the instructions open if they are missing; may be nil.
	Opens func(user venue.Key) ([]venue.Opening, error)
	// Spend is the most that the instructions sell, in raw units.
	Spend uint64
	// Native says that SOL leaves or reaches the wallet itself: nothing is wrapped.
	Native bool
	// Units is how many compute units they may use.
	Units uint32
}

// wraps returns whether a swap moves wrapped SOL.
func (s Swap) wraps() bool { return !s.Native && (s.In.native() || s.Out.native()) }

// Fee is what the platform takes of the output.
type Fee struct {
	// Treasury is the wallet that gets it. Its associated account must exist, except for SOL that
	// is bought without wrapping: then the wallet itself gets lamports.
	Treasury venue.Key
	Amount   uint64
}

// Request says what to build.
type Request struct {
	User venue.Key
	// In and Out may be the mint of wrapped SOL. Then native SOL is sold or bought.
	In, Out Side
	// Swaps in the order of the transaction.
	Swaps []Swap
	// Fee may be nil.
	Fee *Fee
	// HasWrapped says that the user's account for wrapped SOL exists already. Then it is not
	// closed: that would also unwrap what the user keeps there.
	HasWrapped bool
	// UnitPrice is the priority fee in millionths of a lamport per compute unit. PriorityFee, when
	// not nil, is the whole priority fee in lamports instead.
	UnitPrice   uint64
	PriorityFee *uint64
	// MaxAccounts bounds the transaction's accounts, those in lookup tables too; 0: the network's
	// limit.
	MaxAccounts int
	// Tables are lookup tables that the transaction may use. It uses those that make it smaller.
	Tables []Table
	// Blockhash makes the transaction valid for 150 blocks: half a minute at 200 ms a slot.
	Blockhash venue.Key
	// Accounts are shared by the calls for one transaction; may be nil.
	Accounts Accounts
}

// Transaction is an unsigned transaction.
type Transaction struct {
	Bytes []byte
	// ComputeUnits is the limit that it sets.
	ComputeUnits uint32
	// PriorityFee in lamports.
	PriorityFee uint64
	// Unwraps says that SOL arrives as SOL. It is false if the output is not SOL, or stays wrapped
	// because the user's account existed.
	Unwraps bool
	// Tables are the lookup tables that it uses.
	Tables []venue.Key
}

// Compute units of the steps beside the swaps, estimated generously: the program searches for the
// address of an associated account, which takes an unknown number of tries.
const (
	unitsCreateAccount = 35_000
	unitsWrap          = 5_000
	unitsTransfer      = 10_000
	unitsClose         = 5_000
	// The limit has one part in unitsMargin, and unitsSpare, more than the sum of the steps.
	unitsMargin = 5
	unitsSpare  = 30_000
)

// Build makes the transaction:
//
//	compute unit limit and price
//	create the accounts of bought tokens that are missing, and the one for wrapped SOL
//	SOL is sold:       transfer SOL into the account for wrapped SOL, sync it
//	the swaps
//	the platform's fee
//	SOL was wrapped:   close the account for wrapped SOL, if the user had none before
//	the platform's fee in lamports, instead of the one above, if SOL is bought without wrapping
//
// The source of any other token is the user's associated account.
func Build(r Request) (*Transaction, error) {
	b := newBuilder(r, r.Accounts.Of, nil)
	price, err := b.assemble()
	if err != nil {
		return nil, err
	}
	message, tables, err := encode(&b.Request, b.list)
	if err != nil {
		return nil, err
	}
	bytes, err := (&solana.Transaction{Message: message}).MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("encode transaction: %w", err)
	}
	if err := check(bytes); err != nil {
		return nil, err
	}
	limit := b.limit()
	hi, lo := bits.Mul64(price, limit)
	paid, _ := bits.Div64(min(hi, lamport-1), lo, lamport)
	return &Transaction{
		Bytes: bytes, ComputeUnits: uint32(limit), PriorityFee: paid, Unwraps: r.Out.native() && (!b.wraps || !r.HasWrapped), Tables: tables,
	}, nil
}

// Opens returns the accounts that the transaction of a request opens for the user if they are
// missing, and that stay open: the account for wrapped SOL does not, if it was opened for the swap.
func Opens(r Request) ([]venue.Opening, error) {
	b := newBuilder(r, r.Accounts.Of, nil)
	if err := b.createBought(); err != nil {
		return nil, err
	}
	for _, s := range r.Swaps {
		if s.Opens == nil {
			continue
		}
		more, err := s.Opens(r.User)
		if err != nil {
			return nil, err
		}
		b.opens = append(b.opens, more...)
	}
	seen := map[venue.Key]bool{}
	var list []venue.Opening
	for _, o := range b.opens {
		if !seen[o.Account] {
			seen[o.Account] = true
			list = append(list, o)
		}
	}
	return list, nil
}

// builder collects the instructions of a transaction.
type builder struct {
	Request
	accountOf func(owner venue.Key, side Side) (venue.Key, error)
	// list begins with places for the compute unit limit and price, which are known last.
	list  []venue.Instruction
	units uint64
	// created has the mints of the accounts that are created.
	created []venue.Key
	opens   []venue.Opening
	// wraps: a swap moves wrapped SOL. lamports: SOL is bought without wrapping.
	wraps, lamports bool
}

// newBuilder makes a builder that collects instructions in list, which is empty.
func newBuilder(r Request, accountOf func(venue.Key, Side) (venue.Key, error), list []venue.Instruction) builder {
	b := builder{Request: r, accountOf: accountOf, list: append(list, venue.Instruction{}, venue.Instruction{})}
	for _, s := range r.Swaps {
		b.wraps, b.lamports = b.wraps || s.wraps(), b.lamports || s.Native && s.Out == r.Out && r.Out.native()
	}
	return b
}

// assemble collects the instructions of the transaction. It returns the price of a compute unit.
func (b *builder) assemble() (price uint64, err error) {
	// A step after one that failed does no harm.
	if err := cmp.Or(b.createBought(), b.wrap(), b.swap(), b.payFee(), b.unwrap()); err != nil {
		return 0, err
	}
	b.payLamports()
	if b.units > maxUnits {
		return 0, fmt.Errorf("%w: it takes %d compute units of at most %d", ErrTooLarge, b.units, maxUnits)
	}
	limit := b.limit()
	price = b.UnitPrice
	if b.PriorityFee != nil {
		hi, lo := bits.Mul64(*b.PriorityFee, lamport)
		// Div64 panics if its result exceeds 64 bits; min prevents that.
		price, _ = bits.Div64(min(hi, limit-1), lo, limit)
	}
	b.list[0], b.list[1] = unitLimit(uint32(limit)), unitPrice(price)
	return price, nil
}

// limit is the limit of compute units that the transaction sets.
func (b *builder) limit() uint64 { return min(b.units+b.units/unitsMargin+unitsSpare, maxUnits) }

// lamport is how many millionths a lamport has.
const lamport = 1_000_000

// create adds the creation of the user's account for a token, once.
func (b *builder) create(side Side) error {
	if slices.Contains(b.created, side.Mint) {
		return nil
	}
	b.created = append(b.created, side.Mint)
	account, err := b.accountOf(b.User, side)
	if err != nil {
		return err
	}
	b.list = append(b.list, createAccount(b.User, account, side))
	b.units += unitsCreateAccount
	if !side.native() {
		b.opens = append(b.opens, venue.Opening{Account: account, Owner: side.Program, Size: side.AccountSize})
	}
	return nil
}

// createBought creates the accounts for what the swaps buy, if they are missing. Bought SOL needs
// none unless a swap moves wrapped SOL.
func (b *builder) createBought() error {
	if err := b.createOf(b.Out); err != nil {
		return err
	}
	for i := range b.Swaps {
		if err := b.createOf(b.Swaps[i].Out); err != nil {
			return err
		}
	}
	return nil
}

// createOf creates the account for a token that is bought.
func (b *builder) createOf(bought Side) error {
	if bought.native() && !b.wraps {
		return nil
	}
	return b.create(bought)
}

// wrap moves native SOL that is sold into the account for wrapped SOL, which it creates if it is
// missing.
func (b *builder) wrap() error {
	var lamports uint64
	for _, s := range b.Swaps {
		if s.wraps() && s.In == b.In && b.In.native() {
			lamports += s.Spend
		}
	}
	if lamports == 0 {
		return nil
	}
	if err := b.create(b.In); err != nil {
		return err
	}
	account, err := b.accountOf(b.User, b.In)
	if err != nil {
		return err
	}
	b.list = append(b.list, transferSOL(b.User, account, lamports), syncNative(account))
	b.units += unitsWrap
	return nil
}

// swap adds the swaps' instructions.
func (b *builder) swap() error {
	for _, s := range b.Swaps {
		source, err := b.accountOf(b.User, s.In)
		if err != nil {
			return err
		}
		destination, err := b.accountOf(b.User, s.Out)
		if err != nil {
			return err
		}
		list, err := s.Instructions(venue.UserAccounts{Owner: b.User, Source: source, Destination: destination})
		if err != nil {
			return err
		}
		b.list = append(b.list, list...)
		b.units += uint64(s.Units)
	}
	return nil
}

// payFee transfers the platform's part of the output, unless payLamports does.
func (b *builder) payFee() error {
	if b.Fee == nil || b.Fee.Amount == 0 || b.lamports {
		return nil
	}
	from, err := b.accountOf(b.User, b.Out)
	if err != nil {
		return err
	}
	to, err := b.accountOf(b.Fee.Treasury, b.Out)
	if err != nil {
		return err
	}
	b.list = append(b.list, transferChecked(from, to, b.User, b.Out, b.Fee.Amount))
	b.units += unitsTransfer
	return nil
}

// unwrap closes the account for wrapped SOL, unless the user had it before.
func (b *builder) unwrap() error {
	if !b.wraps || b.HasWrapped {
		return nil
	}
	account, err := b.accountOf(b.User, Side{Mint: mint.WrappedSOL, Program: mint.Token})
	if err != nil {
		return err
	}
	b.list = append(b.list, closeAccount(account, b.User))
	b.units += unitsClose
	return nil
}

// payLamports transfers the platform's part of SOL that was bought without wrapping.
func (b *builder) payLamports() {
	if b.Fee != nil && b.Fee.Amount > 0 && b.lamports {
		b.list = append(b.list, transferSOL(b.User, b.Fee.Treasury, b.Fee.Amount))
		b.units += unitsTransfer
	}
}
