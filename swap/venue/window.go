package venue

import "github.com/mintlake/mintlake/solana"

// Arrayed is a Venue whose pools keep their liquidity in accounts of their own: arrays of ticks or
// of bins. Its Open returns a Windowed.
type Arrayed interface {
	Venue
	// Kinds match, by discriminator or by size, the accounts of Program that quotes need: pools,
	// arrays, and what else Windowed.Near names. A subscription asks for these alone, so that
	// observations, oracles and positions stay out. Accounts that only Ref.Accounts names, such as
	// configs, need not match: they are subscribed to by address.
	Kinds() []Filter
	// Shrink returns the compact form of the data of one of Program's accounts: what Open, Next and
	// Decode read of it. They accept both forms, and Shrink of a compact form returns it unchanged.
	// Data that are kept whole, or that are malformed, are returned as they are. The result shares
	// no memory with data unless it is data.
	Shrink(data []byte) []byte
}

// Windowed is the Ref of a pool of which only the arrays in a window around the price are read. An
// order that needs more is refused with ErrBeyond.
type Windowed interface {
	Ref
	// Depth is the liquidity at the price, as the geometric mean of the two reserves that a pool
	// without ranges would have, in raw units. If the pool account does not tell it, it is the
	// greatest uint64.
	Depth() uint64
	// Near are the arrays that Decode needs besides Accounts, each once. The account of an array
	// may not exist: State then has nil for it.
	Near() []Key
	// Spare are the arrays beyond, two in each direction. A stream holds them too, so that they are
	// there when the price has moved. Decode does without them.
	Spare() []Key
	// Next is Open with newer data of the pool's account. It takes over the addresses that it has
	// in common with this Ref: to derive an address takes 10 to 30 µs.
	Next(data []byte) (Ref, error)
	// Wider returns the pool with a wider window, for an order that was refused with ErrBeyond; nil
	// if there is no wider one. It is used for a second reading by JSON-RPC.
	Wider() Ref
}

// Needs returns all accounts that a Ref's Decode needs.
func Needs(r Ref) []Key {
	w, ok := r.(Windowed)
	if !ok {
		return r.Accounts()
	}
	accounts, near := r.Accounts(), w.Near()
	return append(append(make([]Key, 0, len(accounts)+len(near)), accounts...), near...)
}

// KindsOf returns a venue's Kinds; nil if all accounts of its program are needed.
func KindsOf(v Venue) []Filter {
	if a, ok := v.(Arrayed); ok {
		return a.Kinds()
	}
	return nil
}

// Shrunk returns an account with the compact form of its data, if one of the venues owns it and has
// such a form. account may be nil.
func (l List) Shrunk(account *solana.Account) *solana.Account {
	if account == nil {
		return nil
	}
	owner, ok := l.Owner(account.Owner).(Arrayed)
	if !ok {
		return account
	}
	data := owner.Shrink(account.Data)
	if len(data) == len(account.Data) {
		return account
	}
	compact := *account
	compact.Data = data
	return &compact
}

// Array returns what decode makes of the data of an array's account; nil if there is no account of
// the program at the address. Pools share the result, so it must not be changed. Each T must be
// decoded in one way only.
func Array[T any](state State, key, program Key, decode func(data []byte) (*T, error)) (*T, error) {
	account, held := state.Account(key)
	switch {
	case !held:
		return nil, ErrUnread
	case account == nil || account.Owner != program:
		return nil, nil
	}
	return once(state, key, func() (*T, error) { return decode(account.Data) })
}
