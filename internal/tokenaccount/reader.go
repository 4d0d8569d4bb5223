package tokenaccount

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// reader reads little-endian Borsh values. The first read beyond the end, or of a value that its
// type does not allow, sets failed. Every later read returns zero, so a parser without loops needs
// to check only once, at its end.
type reader struct {
	data   []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if r.failed || n < 0 || n > len(r.data) {
		r.failed = true
		return nil
	}
	out := r.data[:n:n]
	r.data = r.data[n:]
	return out
}

func (r *reader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) key() pubkey.Key {
	var key pubkey.Key
	copy(key[:], r.take(len(key)))
	return key
}

// bytes reads a u32 length and that many bytes. It copies them, because facts are kept longer than
// the account data.
func (r *reader) bytes() []byte {
	n := r.u32()
	if uint64(n) > uint64(len(r.data)) {
		r.failed = true
		return nil
	}
	return append([]byte{}, r.take(int(n))...)
}

// strictBool reads a Borsh bool, which is 0 or 1 and nothing else.
func (r *reader) strictBool() bool {
	b := r.u8()
	if b > 1 {
		r.failed = true
	}
	return b == 1
}

// coption reads the u32-tagged optional key of a mint account (solana-program-option's COption).
func (r *reader) coption() *pubkey.Key {
	tag := r.u32()
	key := r.key()
	switch {
	case r.failed:
		return nil
	case tag == 0:
		return nil
	case tag == 1:
		return &key
	default:
		r.failed = true
		return nil
	}
}
