package stream

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/dchest/siphash"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// filterProto is the message CuckooFilter.
type filterProto struct {
	data                                 []byte
	buckets, entries, fingerprint, hash  uint64
	seed                                 uint64
	leaveOutEntries, leaveOutFingerprint bool
}

func (p *filterProto) message() *pb.CuckooFilter {
	m := &pb.CuckooFilter{Data: p.data, BucketCount: uint32(p.buckets), HashSeed: p.seed, HashAlgorithm: pb.CuckooHashAlgorithm(p.hash)}
	if !p.leaveOutEntries {
		m.EntriesPerBucket = uint32(max(p.entries, 4))
	}
	if !p.leaveOutFingerprint {
		m.FingerprintBits = uint32(max(p.fingerprint, 16))
	}
	return m
}

// withCuckoo is a filter with cuckoo_account_include.
func withCuckoo(p *filterProto) *pb.SubscribeRequestFilterTransactions {
	return &pb.SubscribeRequestFilterTransactions{CuckooAccountInclude: p.message()}
}

// cuckooBuilder makes cuckoo filters as the clients do, for tests: written from their description,
// apart from the code under test.
type cuckooBuilder struct {
	buckets [][4]uint16
	seed    uint64
}

// defaultSeed is the clients' (ASCII "yllwstn!").
const defaultSeed = 0x796c6c7773746e21

func newCuckooBuilder(capacity int, seed uint64) *cuckooBuilder {
	n := 1
	for float64(n)*4*0.95 < float64(capacity) {
		n *= 2
	}
	return &cuckooBuilder{make([][4]uint16, n), seed}
}

func (b *cuckooBuilder) hash(text []byte) uint64 {
	return siphash.Hash(b.seed, bits.RotateLeft64(b.seed, 32), text)
}

func (b *cuckooBuilder) places(key []byte) (one, two uint64, fingerprint uint16) {
	h := b.hash(append([]byte{32, 0, 0, 0, 0, 0, 0, 0}, key...))
	if fingerprint = uint16(h >> 32); fingerprint == 0 {
		fingerprint = 1
	}
	one = h % uint64(len(b.buckets))
	return one, one ^ b.step(fingerprint), fingerprint
}

func (b *cuckooBuilder) step(fingerprint uint16) uint64 {
	return b.hash([]byte{byte(fingerprint), byte(fingerprint >> 8)}) % uint64(len(b.buckets))
}

func (b *cuckooBuilder) put(place uint64, fingerprint uint16) bool {
	for i, old := range b.buckets[place] {
		if old == 0 {
			b.buckets[place][i] = fingerprint
			return true
		}
	}
	return false
}

func (b *cuckooBuilder) insert(key []byte) bool {
	one, two, fingerprint := b.places(key)
	if b.put(one, fingerprint) || b.put(two, fingerprint) {
		return true
	}
	at := one
	for n := range 500 {
		slot := (n + int(fingerprint)) % 4
		fingerprint, b.buckets[at][slot] = b.buckets[at][slot], fingerprint
		if at ^= b.step(fingerprint); b.put(at, fingerprint) {
			return true
		}
	}
	return false
}

func (b *cuckooBuilder) contains(key []byte) bool {
	one, two, fingerprint := b.places(key)
	for _, place := range []uint64{one, two} {
		for _, f := range b.buckets[place] {
			if f == fingerprint {
				return true
			}
		}
	}
	return false
}

func (b *cuckooBuilder) proto() *filterProto {
	p := &filterProto{buckets: uint64(len(b.buckets)), seed: b.seed}
	for _, bucket := range b.buckets {
		for _, f := range bucket {
			p.data = binary.LittleEndian.AppendUint16(p.data, f)
		}
	}
	return p
}

func randomKey(r *rand.Rand) address {
	var a address
	for i := range a {
		a[i] = byte(r.Uint32())
	}
	return a
}

// Every address that was put in is found, others are about once in ten thousand.
func TestCuckooContains(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 3, 40, 1000, 50_000} {
		b := newCuckooBuilder(size, r.Uint64())
		keys := make([]address, size)
		for i := range keys {
			keys[i] = randomKey(r)
			require.True(t, b.insert(keys[i][:]))
		}
		c, err := readCuckoo(b.proto().message())
		require.NoError(t, err)
		for _, k := range keys {
			require.True(t, c.contains(k))
		}
		wrong := 0
		for range 20_000 {
			if k := randomKey(r); c.contains(k) {
				wrong++
				require.True(t, b.contains(k[:]), "the same answer as the client's")
			}
		}
		require.LessOrEqual(t, wrong, 20)
	}
}

func TestCuckooLayoutIsChecked(t *testing.T) {
	for want, p := range map[string]*filterProto{
		"bucket_count 0: must be a power of two":    {},
		"bucket_count 3: must be a power of two":    {buckets: 3, data: make([]byte, 24)},
		"data of 7 bytes: must be bucket_count × 8": {buckets: 1, data: make([]byte, 7)},
		"data of 8 bytes: must be bucket_count × 8": {buckets: 2, data: make([]byte, 8)},
		"hash_algorithm 1":                          {buckets: 1, data: make([]byte, 8), hash: 1},
		"entries_per_bucket 8":                      {buckets: 1, data: make([]byte, 8), entries: 8},
		"entries_per_bucket 0":                      {buckets: 1, data: make([]byte, 8), leaveOutEntries: true},
		"fingerprint_bits 32":                       {buckets: 1, data: make([]byte, 8), fingerprint: 32},
		"fingerprint_bits 0":                        {buckets: 1, data: make([]byte, 8), leaveOutFingerprint: true},
		"at most 1048576":                           {buckets: 1 << 18, data: make([]byte, 1<<21)},
	} {
		_, err := readCuckoo(p.message())
		require.ErrorContains(t, err, want)
	}
	two := filters{}
	for _, name := range []string{"a", "b"} {
		two[name] = withCuckoo(&filterProto{buckets: 1 << 17, data: make([]byte, 1<<20)})
	}
	_, err := readFilters(two, limits{2, 2})
	require.ErrorContains(t, err, "more than 1048576 bytes in all filters")
}

func FuzzCuckoo(f *testing.F) {
	b := newCuckooBuilder(3, 7)
	p := b.proto()
	f.Add(p.data, uint32(p.buckets), uint32(4), uint32(16), p.seed)
	f.Fuzz(func(_ *testing.T, data []byte, buckets, entries, fingerprint uint32, seed uint64) {
		in := &pb.CuckooFilter{Data: data, BucketCount: buckets, EntriesPerBucket: entries, FingerprintBits: fingerprint, HashSeed: seed}
		if c, err := readCuckoo(in); err == nil {
			c.contains(address{1})
		}
	})
}

// Filters that @triton-one/yellowstone-grpc 7 builds (tools/clients/yellowstone/vectors.mjs) are
// understood, and the builder of these tests makes the same bytes.
func TestFiltersOfTheNodeClient(t *testing.T) {
	raw, err := os.ReadFile("testdata/cuckoo.json")
	require.NoError(t, err)
	var cases []struct {
		Name                        string
		Capacity, Inserted, Removed int
		TokenAccounts               int
		Request                     []byte
	}
	require.NoError(t, json.Unmarshal(raw, &cases))
	require.NotEmpty(t, cases)
	key := func(n int) address { return sha256.Sum256(fmt.Appendf(nil, "address %d", n)) }
	for _, c := range cases {
		var request pb.SubscribeRequest
		require.NoError(t, proto.Unmarshal(c.Request, &request))
		read, err := readFilters(request.Transactions, limits{1, 0})
		require.NoError(t, err, c.Name)
		require.NoError(t, refusedFields.UnknownField(&request), "nothing is left over")
		f := read[0].filter
		require.Equal(t, []ownerMode{ownersNone, ownersAll, ownersChanged}[c.TokenAccounts+1], f.owners)
		require.False(t, *f.vote)
		build := newCuckooBuilder(c.Capacity, defaultSeed)
		for n := range c.Inserted {
			k := key(n)
			require.True(t, build.insert(k[:]))
			require.Equal(t, n >= c.Removed, f.cuckoo.contains(k), "%s: address %d", c.Name, n)
		}
		if c.Removed == 0 {
			require.Equal(t, build.proto().data, f.cuckoo.data, c.Name)
		}
		wrong := 0
		for n := range 10_000 {
			if f.cuckoo.contains(key(1_000_000 + n)) {
				wrong++
			}
		}
		require.LessOrEqual(t, wrong, 10, c.Name)
	}
}

// A key's limit counts what is in a compressed list, too.
func TestAddressesOfACompressedListCount(t *testing.T) {
	b := newCuckooBuilder(100, defaultSeed)
	for n := range byte(100) {
		require.True(t, b.insert(named(n)))
	}
	read, err := readFilters(filters{"a": withCuckoo(b.proto()), "b": {AccountInclude: []string{text(1), text(2)}}}, limits{16, 50_000})
	require.NoError(t, err)
	require.Equal(t, 102, askedFor(read))
	require.Equal(t, 2, addressesIn(read))
}
