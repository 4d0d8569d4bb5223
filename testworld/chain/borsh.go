package chain

import (
	"crypto/sha256"
	"encoding/binary"
)

func appendString(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

func appendU64(b []byte, n uint64) []byte { return binary.LittleEndian.AppendUint64(b, n) }

// reader reads little-endian borsh. After a read beyond the end, bad is set and every read returns
// a zero value.
type reader struct {
	b   []byte
	bad bool
}

// take reads n bytes. If there are fewer, the reader is bad and empty from then on.
func (r *reader) take(n int) []byte {
	if n < 0 || len(r.b) < n {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) u8() byte {
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

func (r *reader) key() (k Key) {
	copy(k[:], r.take(32))
	return k
}

func (r *reader) str() string {
	n := r.u32()
	if n > 10_000 {
		r.bad = true
		return ""
	}
	return string(r.take(int(n)))
}

// anchorDiscriminator is the first eight bytes of sha256("namespace:name").
func anchorDiscriminator(name string) [8]byte {
	sum := sha256.Sum256([]byte(name))
	return [8]byte(sum[:8])
}
