package txn

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// Compute units of the steps beside the swaps, estimated generously: to create an associated
// account, the program searches for its address, which takes an unknown number of tries.
const (
	unitsCreateAccount = 35_000
	unitsWrap          = 5_000
	unitsTransfer      = 10_000
	unitsClose         = 5_000
	// The limit exceeds the sum of the steps by a fifth of it (one part in unitsMargin) and by
	// unitsSpare.
	unitsMargin = 5
	unitsSpare  = 30_000
)

// builder collects the instructions of a transaction.
type builder struct {
	Request
	accountOf func(owner venue.Key, side Side) (venue.Key, error)
	// list begins with places for the compute unit limit and price, which are known last.
	list  []venue.Instruction
	units uint64
	// created has the mints of the accounts that are created.
	created []venue.Key
	// opens are the created accounts that stay open.
	opens []venue.Opening
	// wraps says that a swap moves wrapped SOL of the user's account, lamports that SOL is bought
	// without wrapping.
	wraps, lamports bool
	// lastSwap is the place in list of the last instruction of a swap.
	lastSwap int
}

// budgetSteps is how many instructions set the compute budget.
const budgetSteps = 2

// newBuilder makes a builder that collects instructions in list, which is empty.
func newBuilder(r Request, accountOf func(venue.Key, Side) (venue.Key, error), list []venue.Instruction) builder {
	b := builder{Request: r, accountOf: accountOf, wraps: r.Wraps(), list: append(list, venue.Instruction{}, venue.Instruction{})}
	for i := range r.Swaps {
		s := &r.Swaps[i]
		b.lamports = b.lamports || s.Native && s.Out == r.Out && r.Out.native()
	}
	return b
}

// assemble collects the instructions of the transaction. It returns the price of a compute unit.
func (b *builder) assemble() (price uint64, err error) {
	// cmp.Or evaluates all of these calls. A step that runs after one that failed does no harm,
	// because list is then not used.
	if err := cmp.Or(b.createBought(), b.wrap(), b.swap(), b.payFee(), b.unwrap()); err != nil {
		return 0, err
	}
	b.payLamports()
	b.tip()
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

// limit returns the limit of compute units that the transaction sets.
func (b *builder) limit() uint64 {
	if b.UnitLimit > 0 {
		return min(uint64(b.UnitLimit), maxUnits)
	}
	return min(b.units+b.units/unitsMargin+unitsSpare, maxUnits)
}

// lamport is one lamport in the unit of compute unit prices, millionths of a lamport.
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
	b.list = append(b.list, venue.CreateAssociated(b.payer(), b.User, account, side.Mint, side.Program))
	b.units += unitsCreateAccount
	if !side.native() || b.keeps() {
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
		s := &b.Swaps[i]
		if s.Middle != nil {
			if err := b.createOf(*s.Middle); err != nil {
				return err
			}
		}
		if err := b.createOf(s.Out); err != nil {
			return err
		}
	}
	return nil
}

// createOf creates the account for a token that is bought.
func (b *builder) createOf(bought Side) error {
	if bought.native() && !b.wraps || b.Destination != nil && bought.Mint == b.Out.Mint {
		return nil
	}
	return b.create(bought)
}

// wrap moves native SOL that is sold into the account for wrapped SOL, which it creates if it is
// missing.
func (b *builder) wrap() error {
	var lamports uint64
	for i := range b.Swaps {
		if s := &b.Swaps[i]; s.sellsWrapped() && s.In == b.In && !b.KeepWrapped {
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
		if b.delivers(&s) {
			destination = *b.Destination
		}
		user := venue.UserAccounts{Owner: b.User, Source: source, Destination: destination}
		if s.Middle != nil {
			if user.Middle, err = b.accountOf(b.User, *s.Middle); err != nil {
				return err
			}
		}
		list, err := s.Instructions(user)
		if err != nil {
			return err
		}
		b.list = append(b.list, list...)
		b.lastSwap = len(b.list) - 1
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
	if b.Destination != nil {
		from = *b.Destination
	}
	to, err := b.accountOf(b.Fee.Treasury, b.Out)
	if err != nil {
		return err
	}
	if b.Fee.Account != nil {
		to = *b.Fee.Account
	}
	b.list = append(b.list, transferChecked(from, to, b.User, b.Out, b.Fee.Amount))
	b.units += unitsTransfer
	return nil
}

// unwrap closes the account for wrapped SOL, unless the user had it before or keeps it. If its SOL
// and its rent belong to different accounts, the SOL goes first.
func (b *builder) unwrap() error {
	if !b.wraps || b.HasWrapped || b.keeps() {
		return nil
	}
	account, err := b.accountOf(b.User, Side{Mint: mint.WrappedSOL, Program: mint.Token})
	if err != nil {
		return err
	}
	to, rent := b.User, b.payer()
	if b.NativeTo != nil {
		to = *b.NativeTo
	}
	if to != rent {
		b.list = append(b.list, unwrapLamports(account, to, b.User))
		b.units += unitsClose
	}
	b.list = append(b.list, closeAccount(account, rent, b.User))
	b.units += unitsClose
	return nil
}

// tip transfers the tip.
func (b *builder) tip() {
	if b.Tip != nil {
		b.list = append(b.list, transferSOL(b.Tip.From, b.Tip.To, b.Tip.Lamports))
		b.units += unitsTransfer
	}
}

// payLamports transfers the platform's part of SOL that was bought without wrapping.
func (b *builder) payLamports() {
	if b.Fee != nil && b.Fee.Amount > 0 && b.lamports {
		b.list = append(b.list, transferSOL(b.User, b.Fee.Treasury, b.Fee.Amount))
		b.units += unitsTransfer
	}
}
