package swap

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// made is a leg with everything that it points to, in one allocation. A leg has some twenty parts.
// Allocating each of them separately took most of the decoder's time.
type made struct {
	leg       eventspb.SwapLeg
	position  eventspb.Position
	signature chain.Signature
	keys      [9]pubkey.Key
	small     [5]uint32
	large     [4]uint64
	nKeys     int
	nSmall    int
	nLarge    int
}

// key copies a key and returns its bytes.
func (m *made) key(k *pubkey.Key) []byte {
	if m.nKeys == len(m.keys) {
		return k.Bytes()
	}
	at := &m.keys[m.nKeys]
	m.nKeys++
	*at = *k
	return at[:]
}

// number returns a pointer to n.
func (m *made) number(n uint32) *uint32 {
	if m.nSmall == len(m.small) {
		return &n
	}
	at := &m.small[m.nSmall]
	m.nSmall++
	*at = n
	return at
}

// amount returns a pointer to n.
func (m *made) amount(n uint64) *uint64 {
	if m.nLarge == len(m.large) {
		return &n
	}
	at := &m.large[m.nLarge]
	m.nLarge++
	*at = n
	return at
}

// index returns a pointer to n; nil if n is negative.
func (m *made) index(n int) *uint32 {
	if n < 0 {
		return nil
	}
	return m.number(uint32(n))
}
