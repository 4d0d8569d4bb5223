package txwire

import (
	"bytes"
	"fmt"
)

// The runtime's limits on version 1 (solana-runtime-transaction 4.5, transaction_limits.rs;
// SIMD-0385). SIMD-0596 will raise the number of addresses, so readers of blocks must not refuse a
// transaction above these limits.
const (
	maxV1Signers      = 12
	maxV1Keys         = 64
	maxV1Instructions = 64
	minHeap, maxHeap  = 32 << 10, 256 << 10
	heapStep          = 1 << 10
)

// CheckLimits returns ErrLimit if the runtime would refuse the transaction, although Parse accepts
// it. size is the transaction's length in bytes. It is for transactions that are built and sent
// here. A node also refuses duplicates among the addresses from lookup tables, which CheckLimits
// cannot see.
func (t *Transaction) CheckLimits(size int) error {
	over := func(n, most int, what string) error {
		return fmt.Errorf("%w: %d %s, at most %d", ErrLimit, n, what, most)
	}
	if most := t.Version.MaxBytes(); size > most {
		return over(size, most, "bytes")
	}
	for i, key := range t.Keys {
		for _, other := range t.Keys[:i] {
			if bytes.Equal(key, other) {
				return fmt.Errorf("%w: key %d is there twice", ErrLimit, i)
			}
		}
	}
	if t.Version < V1 {
		return nil
	}
	switch heap := t.Config.HeapSize; {
	case len(t.Signatures) > maxV1Signers:
		return over(len(t.Signatures), maxV1Signers, "signatures")
	case len(t.Keys) > maxV1Keys:
		return over(len(t.Keys), maxV1Keys, "addresses")
	case len(t.Instructions) > maxV1Instructions:
		return over(len(t.Instructions), maxV1Instructions, "instructions")
	case heap != nil && (*heap < minHeap || *heap > maxHeap || *heap%heapStep != 0):
		return fmt.Errorf("%w: a heap of %d bytes: must be a multiple of %d from %d to %d", ErrLimit, *heap, heapStep, minHeap, maxHeap)
	}
	return nil
}
