package stream

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/dchest/siphash"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
)

// maxCuckooBytes bounds the cuckoo filters in a request's transactions together, and those in its
// transactions_status together. It is room for half a million addresses.
const maxCuckooBytes = 1 << 20

// The only layout of a CuckooFilter's data that the clients' crate, yellowstone-grpc-proto,
// defines: buckets of four entries, each a fingerprint of 16 bits, little endian; 0 is an empty
// entry.
const (
	cuckooEntries         = 4
	cuckooFingerprintBits = 16
	cuckooBucketBytes     = cuckooEntries * cuckooFingerprintBits / 8
)

// cuckoo is a cuckoo filter: a set of addresses that has no false negatives and about one false
// positive in 10,000.
type cuckoo struct {
	data []byte
	mask uint64 // number of buckets - 1
	seed uint64
}

// hashed is an address, hashed for the cuckoo filters with one seed.
type hashed struct {
	// bucket is the address's hash, other is the fingerprint's. The address is in one of two
	// buckets: bucket or bucket^other, both masked.
	bucket, other uint64
	fingerprint   uint16
}

// readCuckoo reads a filter. It accepts only the layout above.
func readCuckoo(in *pb.CuckooFilter) (*cuckoo, error) {
	data, buckets := in.GetData(), in.GetBucketCount()
	switch {
	case in.GetHashAlgorithm() != pb.CuckooHashAlgorithm_SIP_HASH:
		return nil, fmt.Errorf("hash_algorithm %d: must be SIP_HASH (0)", in.GetHashAlgorithm())
	case in.GetEntriesPerBucket() != cuckooEntries:
		return nil, fmt.Errorf("entries_per_bucket %d: must be %d", in.GetEntriesPerBucket(), cuckooEntries)
	case in.GetFingerprintBits() != cuckooFingerprintBits:
		return nil, fmt.Errorf("fingerprint_bits %d: must be %d", in.GetFingerprintBits(), cuckooFingerprintBits)
	case bits.OnesCount32(buckets) != 1:
		return nil, fmt.Errorf("bucket_count %d: must be a power of two", buckets)
	case len(data) > maxCuckooBytes:
		return nil, fmt.Errorf("data of %d bytes: at most %d", len(data), maxCuckooBytes)
	case int(buckets) != len(data)/cuckooBucketBytes || len(data)%cuckooBucketBytes != 0:
		return nil, fmt.Errorf("data of %d bytes: must be bucket_count × %d", len(data), cuckooBucketBytes)
	}
	return &cuckoo{data: data, mask: uint64(buckets) - 1, seed: in.GetHashSeed()}, nil
}

// size is the length of the filter's data in bytes; 0 for a nil filter.
func (c *cuckoo) size() int {
	if c == nil {
		return 0
	}
	return len(c.data)
}

// entries is the number of addresses in the filter; 0 for a nil filter.
func (c *cuckoo) entries() (n int) {
	if c == nil {
		return 0
	}
	for i := 0; i < len(c.data); i += 2 {
		if binary.LittleEndian.Uint16(c.data[i:]) != 0 {
			n++
		}
	}
	return n
}

// hashAddress hashes an address as the clients' crate does: SipHash-2-4 with the keys seed and seed
// rotated by 32 bits. The input is what Rust's Hash writes: for an address its length in eight
// bytes and its content, for a fingerprint its two bytes.
func hashAddress(seed uint64, a *address) hashed {
	var text [8 + len(a)]byte
	binary.LittleEndian.PutUint64(text[:], uint64(len(a)))
	copy(text[8:], a[:])
	second := bits.RotateLeft64(seed, 32)
	h := hashed{bucket: siphash.Hash(seed, second, text[:])}
	if h.fingerprint = uint16(h.bucket >> 32); h.fingerprint == 0 {
		h.fingerprint = 1 // 0 is an empty entry
	}
	binary.LittleEndian.PutUint16(text[:], h.fingerprint)
	h.other = siphash.Hash(seed, second, text[:2])
	return h
}

func (c *cuckoo) containsHashed(h hashed) bool {
	first := h.bucket & c.mask
	return c.bucketHas(first, h.fingerprint) || c.bucketHas(first^h.other&c.mask, h.fingerprint)
}

func (c *cuckoo) bucketHas(bucket uint64, fingerprint uint16) bool {
	entries := c.data[bucket*cuckooBucketBytes:][:cuckooBucketBytes]
	for i := 0; i < len(entries); i += 2 {
		if binary.LittleEndian.Uint16(entries[i:]) == fingerprint {
			return true
		}
	}
	return false
}

func (c *cuckoo) contains(a address) bool { return c.containsHashed(hashAddress(c.seed, &a)) }

func (c *cuckoo) containsAny(list []hashed) bool {
	for _, h := range list {
		if c.containsHashed(h) {
			return true
		}
	}
	return false
}

// hashCache keeps the hashes of one transaction's accounts for one seed. Most clients set no seed,
// so their filters share these hashes.
type hashCache struct {
	seed  uint64
	list  []hashed
	valid bool
}

// reset is called before the cache is used for another transaction.
func (c *hashCache) reset() { c.valid = false }

// of returns the hashes of the transaction's accounts for a seed.
func (c *hashCache) of(seed uint64, accounts []address) []hashed {
	if c.valid && c.seed == seed {
		return c.list
	}
	c.list = c.list[:0]
	for i := range accounts {
		c.list = append(c.list, hashAddress(seed, &accounts[i]))
	}
	c.seed, c.valid = seed, true
	return c.list
}
