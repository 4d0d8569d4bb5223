package layout

import (
	"encoding/binary"
	"iter"
)

// Token-2022 extension types (spl-token-2022, extension/mod.rs).
const (
	ExtTransferFeeConfig      = 1
	ExtTransferFeeAmount      = 2
	ExtMintClose              = 3
	ExtConfidential           = 4
	ExtDefaultState           = 6
	ExtImmutableOwner         = 7
	ExtNonTransferable        = 9
	ExtInterest               = 10
	ExtPermanentDelegate      = 12
	ExtNonTransferableAccount = 13
	ExtTransferHook           = 14
	ExtTransferHookAccount    = 15
	ExtMetadataPointer        = 18
	ExtTokenMetadata          = 19
	ExtGroupPointer           = 20
	ExtMemberPointer          = 22
	ExtScaledAmount           = 25
	ExtPausable               = 26
	ExtPausableAccount        = 27
	ExtPermissionedBurn       = 28
)

// Scaled amounts (spl-token-2022, extension/scaled_ui_amount): the size of the mint's value and
// offsets inside it.
const (
	ScaledSize   = 56
	ScaledNowAt  = 32
	ScaledFromAt = 40
	ScaledNextAt = 48
)

// ExtensionsAt is the offset of the first extension: the base padded to 165, the account type, then
// entries of a type, a length and a value.
const ExtensionsAt = TokenAccountSize + 1

// AppendExtension appends an entry.
func AppendExtension(b []byte, kind uint16, value []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, kind)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	return append(b, value...)
}

// PutExtension writes an entry at an offset.
func PutExtension(d []byte, at int, kind uint16, value []byte) {
	binary.LittleEndian.PutUint16(d[at:], kind)
	binary.LittleEndian.PutUint16(d[at+2:], uint16(len(value)))
	copy(d[at+4:], value)
}

// Entry is an extension of an account: its type, and where its value lies in the account's data.
type Entry struct {
	Kind     uint16
	At, Size int
}

// Extensions visits the entries in their order. It ends before one that is cut short.
func Extensions(d []byte) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for at := ExtensionsAt; at+4 <= len(d); {
			e := Entry{Kind: binary.LittleEndian.Uint16(d[at:]), At: at + 4, Size: int(binary.LittleEndian.Uint16(d[at+2:]))}
			at = e.At + e.Size
			if e.Kind == 0 || at > len(d) || !yield(e) {
				return
			}
		}
	}
}

// ExtensionsEnd returns the offset after the last entry.
func ExtensionsEnd(d []byte) int {
	end := ExtensionsAt
	for e := range Extensions(d) {
		end = e.At + e.Size
	}
	return end
}

// Extension returns the offset and the length of an extension's value; -1 if it is not there.
func Extension(d []byte, kind uint16) (at, n int) {
	for e := range Extensions(d) {
		if e.Kind == kind {
			return e.At, e.Size
		}
	}
	return -1, 0
}

// Transfer fees (spl-token-2022, extension/transfer_fee): the size of the mint's value and offsets
// inside it.
const (
	FeeConfigSize = 108
	FeeWithheldAt = 64
	FeeOlderAt    = 72
	FeeNewerAt    = 90
)

// TransferFee is a mint's rule for transfers. Config counts from the epoch Older and from Newer on;
// both say the same.
type TransferFee struct {
	ConfigAuthority, WithdrawAuthority Key
	// Older and Newer are the epochs from which the two rules hold.
	Older, Newer uint64
	BasisPoints  uint16
	Maximum      uint64
}

// Bytes returns the value of the extension TransferFeeConfig, with nothing withheld.
func (f *TransferFee) Bytes() []byte {
	v := make([]byte, 0, FeeConfigSize)
	v = append(append(v, f.ConfigAuthority[:]...), f.WithdrawAuthority[:]...)
	v = AppendU64(v, 0)
	for _, epoch := range []uint64{f.Older, f.Newer} {
		v = AppendU64(AppendU64(v, epoch), f.Maximum)
		v = binary.LittleEndian.AppendUint16(v, f.BasisPoints)
	}
	return v
}

// MetadataPointer returns the value of the extension MetadataPointer.
func MetadataPointer(authority, metadata Key) []byte {
	return append(append(make([]byte, 0, 64), authority[:]...), metadata[:]...)
}

// TokenMetadata is the value of the extension TokenMetadata. A zero UpdateAuthority means none.
type TokenMetadata struct {
	UpdateAuthority   Key
	Mint              Key
	Name, Symbol, URI string
	Extra             [][2]string
}

// Bytes returns the value.
func (m *TokenMetadata) Bytes() []byte {
	b := make([]byte, 0, 128+len(m.Name)+len(m.Symbol)+len(m.URI))
	b = append(b, m.UpdateAuthority[:]...)
	b = append(b, m.Mint[:]...)
	b = AppendString(AppendString(AppendString(b, m.Name), m.Symbol), m.URI)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.Extra)))
	for _, kv := range m.Extra {
		b = AppendString(AppendString(b, kv[0]), kv[1])
	}
	return b
}

// ReadTokenMetadata reads the value; ok is false if it is cut short.
func ReadTokenMetadata(b []byte) (m *TokenMetadata, ok bool) {
	r := Reader{Rest: b}
	m = &TokenMetadata{UpdateAuthority: r.Key(), Mint: r.Key(), Name: r.Text(), Symbol: r.Text(), URI: r.Text()}
	for n := r.U32(); n > 0 && !r.Bad; n-- {
		m.Extra = append(m.Extra, [2]string{r.Text(), r.Text()})
	}
	return m, !r.Bad
}
