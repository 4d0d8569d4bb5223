package venue

import "github.com/mintlake/mintlake/solana"

// Arrayed is a Venue whose pools keep their liquidity in separate accounts: arrays of ticks or of
// bins. Its Open returns a Windowed.
type Arrayed interface {
	Venue
	// Kinds returns filters that match, by discriminator or by size, the accounts of Program that
	// quotes need: pools, arrays, and what else Windowed.Near names. A subscription asks for these
	// alone, so that observations, oracles and positions stay out. Accounts that only Ref.Accounts
	// names, such as configs, need not match: they are subscribed to by address.
	Kinds() []Filter
	// Shrink returns the compact form of the data of one of Program's accounts: the part that Open,
	// Next and Decode read. These functions accept both forms. Shrink returns data unchanged if
	// they are compact already, are malformed, or have no compact form. The result shares no memory
	// with data unless it is data.
	Shrink(data []byte) []byte
}

// Windowed is the Ref of a pool of which only the arrays in a window around the price are read. Its
// pool refuses an order that needs more arrays, with ErrBeyond.
type Windowed interface {
	Ref
	// Depth returns the liquidity at the price: the geometric mean of the two reserves that a pool
	// without ranges would have, in raw units. It is the greatest uint64 if the pool account does
	// not tell the liquidity.
	Depth() uint64
	// Near returns the addresses of the arrays and other accounts that Decode needs besides
	// Accounts, each once. The account of an array may not exist: State then has nil for it.
	Near() []Key
	// Spare returns the addresses of the arrays next to the window, at most two in each direction.
	// A stream holds them too, so that they are there when the price has moved. Decode does without
	// them.
	Spare() []Key
	// Next is like Open, with newer data of the same pool account. It reuses the addresses of this
	// Ref, as deriving one takes 10 to 30 µs.
	Next(data []byte) (Ref, error)
	// Wider returns the Ref with a wider window, for an order that was refused with ErrBeyond; nil
	// if there is no wider one. It is used for a second reading by JSON-RPC.
	Wider() Ref
}

// Needs returns all accounts that a Ref's Decode needs, but for the mints.
func Needs(r Ref) []Key {
	w, ok := r.(Windowed)
	if !ok {
		return r.Accounts()
	}
	accounts, near := r.Accounts(), w.Near()
	return append(append(make([]Key, 0, len(accounts)+len(near)), accounts...), near...)
}

// KindsOf returns a venue's Kinds. It returns nil for a venue that is not Arrayed: all accounts of
// its program are needed.
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

// Array returns what decode makes of the data of an array's account. It returns nil if no account
// of the program is at the address, and ErrUnread if the account was not read. Pools share the
// result, so it must not be changed. The result is kept by address and type T, so all calls for an
// address must decode a T in the same way.
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
