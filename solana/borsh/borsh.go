// Package borsh reads the little-endian and Borsh fields of instructions and accounts.
//
// In: bytes that may be hostile. Out: their fields, or the first failure. Guarantees: no bytes make
// it panic, and it allocates no more than there are bytes.
package borsh

import (
	"encoding/binary"
	"errors"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

var (
	// ErrTruncated means that the data ends before the last field.
	ErrTruncated = errors.New("data is too short")
	// ErrValue means that a field has a value that the program does not know.
	ErrValue = errors.New("field has an unknown value")
)

// Reader reads one field after the other. After the first failure all reads return zero values:
// read all fields, then check Err. Trailing bytes are allowed, because the programs allow them.
type Reader struct {
	rest []byte
	err  error
}

// NewReader returns a reader at the first byte of data.
func NewReader(data []byte) *Reader { return &Reader{rest: data} }

// Err returns the first failure; nil if there is none. A read fails with ErrTruncated or ErrValue.
func (r *Reader) Err() error { return r.err }

// Fail sets the reader's failure to err, unless it has one already.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

// Len is the number of bytes left.
func (r *Reader) Len() int { return len(r.rest) }

// Skip passes over n bytes.
func (r *Reader) Skip(n int) { r.Bytes(n) }

// Bytes returns the next n bytes, without copying them; nil after a failure.
func (r *Reader) Bytes(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.rest) {
		r.Fail(ErrTruncated)
		return nil
	}
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

// U8 reads one byte.
func (r *Reader) U8() uint8 {
	if b := r.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads two bytes.
func (r *Reader) U16() uint16 {
	if b := r.Bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 reads four bytes.
func (r *Reader) U32() uint32 {
	if b := r.Bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads eight bytes.
func (r *Reader) U64() uint64 {
	if b := r.Bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Bool reads a byte that must be 0 or 1, as Borsh demands.
func (r *Reader) Bool() bool {
	b := r.U8()
	if b > 1 {
		r.Fail(ErrValue)
	}
	return b == 1
}

// Key reads 32 bytes.
func (r *Reader) Key() pubkey.Key {
	var key pubkey.Key
	copy(key[:], r.Bytes(len(key)))
	return key
}

// OptionKey reads a one-byte flag and, if it is 1, a key; else it returns nil.
func (r *Reader) OptionKey() *pubkey.Key {
	if !r.Bool() {
		return nil
	}
	key := r.Key()
	return &key
}

// String reads a Borsh string: a four-byte length and that many bytes. It returns a copy, never
// nil. It checks the length before it allocates.
func (r *Reader) String() []byte {
	n := r.U32()
	if uint64(n) > uint64(len(r.rest)) {
		r.Fail(ErrTruncated)
		return []byte{}
	}
	return append([]byte{}, r.Bytes(int(n))...)
}
