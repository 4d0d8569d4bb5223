package layout

import "encoding/binary"

// maxString is the longest string that Reader reads.
const maxString = 10_000

// Reader reads little-endian borsh. After a read beyond the end, Bad is set and every read returns
// a zero value.
type Reader struct {
	Rest []byte
	Bad  bool
}

// Take reads n bytes. If there are fewer, the reader is bad and empty from then on.
func (r *Reader) Take(n int) []byte {
	if n < 0 || len(r.Rest) < n {
		r.Bad, r.Rest = true, nil
		return nil
	}
	out := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return out
}

// U8 reads a byte.
func (r *Reader) U8() byte {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads two bytes.
func (r *Reader) U16() uint16 {
	if b := r.Take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 reads four bytes.
func (r *Reader) U32() uint32 {
	if b := r.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads eight bytes.
func (r *Reader) U64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Key reads an address.
func (r *Reader) Key() (k Key) {
	copy(k[:], r.Take(32))
	return k
}

// Text reads a string. One of more than 10,000 bytes makes the reader bad.
func (r *Reader) Text() string {
	n := r.U32()
	if n > maxString {
		r.Bad = true
		return ""
	}
	return string(r.Take(int(n)))
}
