// Package txn builds the transactions of quotes.
//
// In: swap instructions and the user. Out: the bytes of a versioned transaction (v0) with
// zero signatures in the places of the required signers, which is what wallets sign. Guarantees:
// pure; the same request gives the same bytes; at most MaxBytes and MaxAccounts; only the user
// signs and pays.
package txn

import (
	"crypto/sha256"
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
	// Blockhash makes the transaction valid for about a minute.
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
	built, message, err := build(r, r.Accounts.Of)
	if err != nil {
		return nil, err
	}
	if built.Bytes, err = (&solana.Transaction{Message: message}).MarshalBinary(); err != nil {
		return nil, fmt.Errorf("encode transaction: %w", err)
	}
	return built, nil
}

// Fits returns an error if the transaction of a request would not fit. It is quick, as it neither
// derives the accounts' addresses nor encodes the transaction. User, Fee's treasury and Blockhash
// may be zero, and HasWrapped does not matter.
func Fits(r Request) error {
	r.User, r.HasWrapped = sha256.Sum256([]byte("user")), false
	if r.Fee != nil {
		fee := *r.Fee
		fee.Treasury, r.Fee = sha256.Sum256([]byte("treasury")), &fee
	}
	_, _, err := build(r, func(owner venue.Key, side Side) (venue.Key, error) {
		var text [2 * len(owner)]byte
		copy(text[copy(text[:], owner[:]):], side.Mint[:])
		return sha256.Sum256(text[:]), nil
	})
	return err
}

// Opens returns the accounts that the transaction of a request opens for the user if they are
// missing, and that stay open: the account for wrapped SOL does not, if it was opened for the swap.
func Opens(r Request) ([]venue.Opening, error) {
	b := newBuilder(r, r.Accounts.Of)
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

func newBuilder(r Request, accountOf func(venue.Key, Side) (venue.Key, error)) *builder {
	b := &builder{Request: r, accountOf: accountOf, list: make([]venue.Instruction, 2, 8)}
	for _, s := range r.Swaps {
		b.wraps, b.lamports = b.wraps || s.wraps(), b.lamports || s.Native && s.Out == r.Out && r.Out.native()
	}
	return b
}

// build makes the transaction but its Bytes, and the message that they encode. The accounts'
// addresses are those of accountOf.
func build(r Request, accountOf func(venue.Key, Side) (venue.Key, error)) (*Transaction, solana.Message, error) {
	var none solana.Message
	b := newBuilder(r, accountOf)
	for _, step := range []func() error{b.createBought, b.wrap, b.swap, b.payFee, b.unwrap, b.payLamports} {
		if err := step(); err != nil {
			return nil, none, err
		}
	}
	limit := min(b.units+b.units/unitsMargin+unitsSpare, maxUnits)
	if b.units > maxUnits {
		return nil, none, fmt.Errorf("%w: it takes %d compute units of at most %d", ErrTooLarge, b.units, maxUnits)
	}
	price := r.UnitPrice
	if r.PriorityFee != nil {
		hi, lo := bits.Mul64(*r.PriorityFee, lamport)
		// Div64 panics if its result exceeds 64 bits; min prevents that.
		price, _ = bits.Div64(min(hi, limit-1), lo, limit)
	}
	b.list[0], b.list[1] = unitLimit(uint32(limit)), unitPrice(price)
	message, tables, err := encode(r, b.list)
	if err != nil {
		return nil, none, err
	}
	hi, lo := bits.Mul64(price, limit)
	paid, _ := bits.Div64(min(hi, lamport-1), lo, lamport)
	return &Transaction{
		ComputeUnits: uint32(limit), PriorityFee: paid, Unwraps: r.Out.native() && (!b.wraps || !r.HasWrapped), Tables: tables,
	}, message, nil
}

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
	bought := []Side{b.Out}
	for _, s := range b.Swaps {
		bought = append(bought, s.Out)
	}
	for _, side := range bought {
		if side.native() && !b.wraps {
			continue
		}
		if err := b.create(side); err != nil {
			return err
		}
	}
	return nil
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
func (b *builder) payLamports() error {
	if b.Fee == nil || b.Fee.Amount == 0 || !b.lamports {
		return nil
	}
	b.list = append(b.list, transferSOL(b.User, b.Fee.Treasury, b.Fee.Amount))
	b.units += unitsTransfer
	return nil
}
