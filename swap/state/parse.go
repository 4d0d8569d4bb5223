package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ReadCheckpoint reads a file of size bytes. The error wraps errCheckpoint if the file is no whole
// checkpoint of this format. It needs no more memory than the file has bytes, times a small
// constant.
func ReadCheckpoint(r io.Reader, size int64) (*Checkpoint, error) {
	const sum = 8
	if size < sum {
		return nil, fmt.Errorf("%w: it is cut off", errCheckpoint)
	}
	file := make([]byte, size)
	if _, err := io.ReadFull(r, file); err != nil {
		return nil, err
	}
	body := file[:size-sum]
	sums := make(chan uint64, 1)
	go func() { sums <- xxhash.Sum64(body) }() // takes a sixth of the time
	in := &checkpointReader{rest: body}
	c := in.checkpoint()
	if in.err != nil {
		return nil, in.err
	}
	if c.sum = <-sums; c.sum != binary.LittleEndian.Uint64(file[len(body):]) {
		return nil, fmt.Errorf("%w: the checksum differs", errCheckpoint)
	}
	return c, nil
}

// checkpointReader reads values. After an error, it returns zero values.
type checkpointReader struct {
	rest []byte
	err  error
}

func (r *checkpointReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", errCheckpoint, fmt.Sprintf(format, args...))
	}
}

// take returns the next n bytes.
func (r *checkpointReader) take(n int) []byte {
	if r.err == nil && n > len(r.rest) {
		r.fail("it is cut off")
	}
	if r.err != nil {
		return make([]byte, min(n, 64))
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *checkpointReader) key() pubkey.Key { return pubkey.Key(r.take(32)) }
func (r *checkpointReader) u32() uint32     { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *checkpointReader) u64() uint64     { return binary.LittleEndian.Uint64(r.take(8)) }

// flag returns what a byte says that is 0 or 1.
func (r *checkpointReader) flag(b byte) bool {
	if b > 1 {
		r.fail("a flag is %d", b)
	}
	return b == 1
}

func (r *checkpointReader) checkpoint() *Checkpoint {
	if magic := r.take(len(checkpointMagic)); r.err == nil && string(magic) != checkpointMagic {
		r.fail("it begins with %q", magic)
	}
	if format := r.u32(); r.err == nil && format != checkpointFormat {
		r.fail("it has format %d, this version reads %d", format, checkpointFormat)
	}
	b := &base{}
	c := &Checkpoint{Genesis: r.key(), Slot: r.u64(), base: b}
	c.Hash, c.UnixTime, c.venues = r.key(), int64(r.u64()), r.u64()
	if c.Slot == 0 {
		r.fail("it has no slot")
	}
	var counts [lists]int
	for i := range counts {
		counts[i] = int(r.u32())
	}
	data := r.u64()
	total := data
	for i, each := range [lists]int{headSize, poolSize, 4, pairSize, 4, 32, otherPairSize} {
		total += uint64(counts[i]) * uint64(each)
	}
	if r.err == nil && (data > math.MaxInt32*2 || total != uint64(len(r.rest))) {
		r.fail("its lists take %d bytes, and there are %d", total, len(r.rest))
	}
	if r.err != nil {
		return nil
	}
	b.heads = r.take(counts[0] * headSize)
	r.lists(b, counts)
	for range counts[5] {
		c.pools = append(c.pools, r.key())
	}
	for range counts[6] {
		c.pairs = append(c.pairs, keptPair{pair{r.key(), r.key()}, r.flag(r.take(1)[0])})
	}
	b.data = r.take(int(data))
	if r.err == nil {
		r.check(c)
	}
	return c
}

// lists reads the lists of numbers. The lists are long, so they are taken whole.
func (r *checkpointReader) lists(b *base, counts [lists]int) {
	number := binary.LittleEndian.Uint32
	b.pools, b.needs = make([]storedPool, counts[1]), make([]uint32, counts[2])
	list := r.take(counts[1] * poolSize)
	for i := range b.pools {
		p := list[i*poolSize:][:poolSize]
		b.pools[i] = storedPool{number(p), number(p[4:]), p[8], r.flag(p[9])}
	}
	if r.err != nil {
		return
	}
	list = r.take(counts[2] * 4)
	for i := range b.needs {
		b.needs[i] = number(list[4*i:])
	}
	b.pairs, b.asked = make([]storedPair, counts[3]), make([]uint32, counts[4])
	list = r.take(counts[3] * pairSize)
	for i := range b.pairs {
		p := list[i*pairSize:][:pairSize]
		b.pairs[i] = storedPair{number(p), number(p[4:]), number(p[8:]), r.flag(p[12])}
	}
	if r.err != nil {
		return
	}
	list = r.take(counts[4] * 4)
	for i := range b.asked {
		b.asked[i] = number(list[4*i:])
	}
}

// check fails if the parts of a base do not agree, or else makes its index.
func (r *checkpointReader) check(c *Checkpoint) {
	b, end := c.base, uint64(0)
	for i := range uint32(b.len()) {
		if i > 0 && bytes.Compare(b.head(i - 1)[:headSlot], b.head(i)[:headSlot]) >= 0 {
			r.fail("its accounts are not in order")
		}
		if b.slotOf(i) > c.Slot {
			r.fail("an account is of a later slot")
		}
		size := b.end(i) - end
		if exists := b.head(i)[headFlags]&flagExists != 0; b.end(i) < end || b.end(i) > uint64(len(b.data)) || size > maxData || !exists && size > 0 {
			r.fail("an account of %d bytes", size)
			return
		}
		end = b.end(i)
	}
	if end != uint64(len(b.data)) {
		r.fail("%d bytes belong to no account", uint64(len(b.data))-end)
	}
	r.checkPools(b)
	r.checkPairs(b)
	if r.err == nil {
		b.index()
	}
}

func (r *checkpointReader) checkPools(b *base) {
	accounts, last := uint32(b.len()), uint32(0)
	for i, p := range b.pools {
		if i == 0 && p.needs > 0 || p.needs < last || p.needs > uint32(len(b.needs)) || p.account >= accounts {
			r.fail("pool %d names what is not there", i)
			return
		}
		last = p.needs
	}
	if len(b.pools) == 0 && len(b.needs) > 0 {
		r.fail("accounts that no pool needs")
	}
	for _, i := range b.needs {
		if i >= accounts {
			r.fail("a pool needs what is not there")
			return
		}
	}
	for n, p := range b.pools {
		if needs := b.needsOf(n); int(p.own) > len(needs) || len(needs) == 0 || needs[0] != p.account {
			r.fail("pool %d does not need itself", n)
			return
		}
	}
}

func (r *checkpointReader) checkPairs(b *base) {
	accounts, last, asked := uint32(b.len()), uint32(0), 0
	for n, p := range b.pairs {
		if p.a > p.b || p.b >= accounts || n > 0 && compareStored(b.pairs[n-1], p) >= 0 {
			r.fail("pair %d is not in order", n)
			return
		}
		if n == 0 && p.pools > 0 || p.pools < last || p.pools > uint32(len(b.pools)) {
			r.fail("pair %d names what is not there", n)
			return
		}
		if last = p.pools; p.asked {
			asked++
		}
	}
	if len(b.pairs) == 0 && len(b.pools) > 0 {
		r.fail("pools without a pair")
	}
	once := make([]bool, len(b.pairs))
	for _, n := range b.asked {
		if n >= uint32(len(b.pairs)) || once[n] || !b.pairs[n].asked {
			r.fail("a pair is asked for that is not there")
			return
		}
		once[n] = true
	}
	if asked != len(b.asked) {
		r.fail("%d pairs were asked for, %d are named", asked, len(b.asked))
	}
}
