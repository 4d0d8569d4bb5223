package layout

import "encoding/binary"

// Sizes of the base layouts (spl-token, state.rs).
const (
	MintSize         = 82
	TokenAccountSize = 165
)

// Offsets in a mint (spl-token, state.rs). An optional key has a tag of four bytes before it.
const (
	MintSupplyAt      = 36
	MintDecimalsAt    = 44
	MintInitializedAt = 45
	MintFreezeAt      = 46
)

// Offsets in a token account; the mint is at 0.
const (
	AccountOwnerAt           = 32
	AccountAmountAt          = 64
	AccountDelegateAt        = 72
	AccountStateAt           = 108
	AccountNativeAt          = 109
	AccountReserveAt         = 113 // the rent of a native account
	AccountDelegatedAmountAt = 121
	AccountCloseAuthorityAt  = 129
)

// States of a token account.
const (
	StateInitialized = 1
	StateFrozen      = 2
)

// Account types: the byte of Token-2022 after the first 165.
const (
	TypeMint    = 1
	TypeAccount = 2
)

// Option is an optional address. SPL Token keeps the key of an authority that was given up, and
// only clears the tag: then Set is false and Key is the old one.
type Option struct {
	Key Key
	Set bool
}

// Some is an address that is set.
func Some(k Key) Option { return Option{Key: k, Set: true} }

func (o Option) append(b []byte) []byte {
	tag := uint32(0)
	if o.Set {
		tag = 1
	}
	return append(binary.LittleEndian.AppendUint32(b, tag), o.Key[:]...)
}

// Mint is an initialized mint of either token program.
type Mint struct {
	MintAuthority, FreezeAuthority Option
	Supply                         uint64
	Decimals                       byte
	// Extensions are the entries of Token-2022, see AppendExtension. A mint without has 82 bytes.
	Extensions []byte
}

// Bytes returns the account's data.
func (m *Mint) Bytes() []byte { return m.Append(nil) }

// Append appends the account's data.
func (m *Mint) Append(b []byte) []byte {
	b = AppendU64(m.MintAuthority.append(b), m.Supply)
	b = m.FreezeAuthority.append(append(b, m.Decimals, 1))
	if len(m.Extensions) == 0 {
		return b
	}
	b = append(b, make([]byte, TokenAccountSize-MintSize)...)
	return append(append(b, TypeMint), m.Extensions...)
}

// TokenAccount is an initialized token account without a delegate and a close authority.
type TokenAccount struct {
	Mint, Owner Key
	Amount      uint64
	// Native is set for wrapped SOL. Reserve is then the rent, which the amount does not include.
	Native  bool
	Reserve uint64
}

// Bytes returns the account's data: 165 bytes.
func (a *TokenAccount) Bytes() []byte {
	d := make([]byte, TokenAccountSize)
	copy(d, a.Mint[:])
	copy(d[AccountOwnerAt:], a.Owner[:])
	SetAmount(d, a.Amount)
	d[AccountStateAt] = StateInitialized
	if a.Native {
		SetNative(d, a.Reserve)
	}
	return d
}

// IsTokenAccount returns whether the data is an initialized token account: 165 bytes, or more with
// account type 2 after these.
func IsTokenAccount(d []byte) bool {
	return (len(d) == TokenAccountSize || len(d) > TokenAccountSize && d[TokenAccountSize] == TypeAccount) && d[AccountStateAt] != 0
}

// IsMint returns whether the data is an initialized mint: 82 bytes, or more than 165 with account
// type 1 after these.
func IsMint(d []byte) bool {
	return (len(d) == MintSize || len(d) > TokenAccountSize && d[TokenAccountSize] == TypeMint) && d[MintInitializedAt] != 0
}

// Supply reads a mint's supply.
func Supply(d []byte) uint64 { return binary.LittleEndian.Uint64(d[MintSupplyAt:]) }

// SetSupply writes a mint's supply.
func SetSupply(d []byte, n uint64) { binary.LittleEndian.PutUint64(d[MintSupplyAt:], n) }

// Amount reads what a token account holds.
func Amount(d []byte) uint64 { return binary.LittleEndian.Uint64(d[AccountAmountAt:]) }

// SetAmount writes what a token account holds.
func SetAmount(d []byte, n uint64) { binary.LittleEndian.PutUint64(d[AccountAmountAt:], n) }

// MintOf reads a token account's mint.
func MintOf(d []byte) Key { return Key(d[:AccountOwnerAt]) }

// OwnerOf reads the wallet that a token account belongs to.
func OwnerOf(d []byte) Key { return Key(d[AccountOwnerAt:AccountAmountAt]) }

// IsNative returns whether a token account holds wrapped SOL.
func IsNative(d []byte) bool { return d[AccountNativeAt] == 1 }

// SetNative makes a token account one of wrapped SOL with the given rent.
func SetNative(d []byte, reserve uint64) {
	copy(d[AccountNativeAt:], []byte{1, 0, 0, 0})
	binary.LittleEndian.PutUint64(d[AccountReserveAt:], reserve)
}

// ReadOption reads an optional address at the beginning of d.
func ReadOption(d []byte) (k Key, set bool) { return Key(d[4:36]), d[0] == 1 }

// SetOption writes an optional address at the beginning of d. To clear it, only the tag is cleared.
func SetOption(d []byte, k Key, set bool) {
	if !set {
		copy(d[:4], []byte{0, 0, 0, 0})
		return
	}
	copy(d[:4], []byte{1, 0, 0, 0})
	copy(d[4:36], k[:])
}
