// Package recheck decides when to look again at what other people serve: logos and documents.
//
// In: a mint, and how often looking failed. Out: a delay. Guarantees: pure; delays of many mints
// are spread, so no crowd comes at once.
package recheck

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Delay returns first after one failure, and twice as much after each further one, at most longest.
func Delay(first, longest time.Duration, failures uint32) time.Duration {
	delay := first
	for n := uint32(1); n < failures && delay < longest; n++ {
		delay *= 2
	}
	return min(delay, longest)
}

// Jitter returns d plus a part of d between low and high, such as -0.2 and 0.2. The part looks
// random, but depends only on mint and salt.
func Jitter(d time.Duration, mint pubkey.Key, salt uint64, low, high float64) time.Duration {
	hash := fnv.New64a()
	_, _ = hash.Write(mint[:])
	_, _ = hash.Write(binary.LittleEndian.AppendUint64(nil, salt))
	// The last bytes hardly change FNV's high bits. The multiplication by 2^64 / golden ratio mixes
	// them.
	mixed := hash.Sum64() * 0x9e3779b97f4a7c15
	part := low + (high-low)*float64(mixed>>11)/(1<<53)
	return d + time.Duration(part*float64(d))
}
