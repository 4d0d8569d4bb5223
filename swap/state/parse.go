package state

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
)

// ReadCheckpoint reads a file of size bytes. The error wraps errCheckpoint if the file is no whole
// checkpoint of this format. It needs no more memory than the file has bytes, times a small
// constant.
func ReadCheckpoint(r io.Reader, size int64) (*Checkpoint, error) {
	digest := xxhash.New()
	body := io.TeeReader(io.LimitReader(r, size-sumSize), digest)
	in := &checkpointReader{Reader: bufio.NewReaderSize(body, 1<<20), left: size - sumSize}
	c := in.checkpoint()
	if in.left != 0 {
		in.fail("%d bytes too many", in.left)
	}
	if in.err != nil {
		return nil, in.err
	}
	var told [sumSize]byte
	if _, err := io.ReadFull(r, told[:]); err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint64(told[:]) != digest.Sum64() {
		return nil, fmt.Errorf("%w: the checksum differs", errCheckpoint)
	}
	return c, nil
}

// checkpointReader reads values. After an error, it returns zero values.
type checkpointReader struct {
	*bufio.Reader
	// left is how many bytes may still be read.
	left int64
	err  error
	head [headSize]byte
}

func (r *checkpointReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", errCheckpoint, fmt.Sprintf(format, args...))
	}
}

// fill reads len(b) bytes into b and returns it; after an error b is all zeros. If the length of b
// stands in the file, the caller must have compared it with r.left before it allocated b.
func (r *checkpointReader) fill(b []byte) []byte {
	if int64(len(b)) > r.left {
		r.fail("it is cut off")
	}
	if r.err == nil {
		r.left -= int64(len(b))
		_, r.err = io.ReadFull(r.Reader, b)
	}
	if r.err != nil {
		clear(b)
	}
	return b
}

func (r *checkpointReader) key() pubkey.Key { return pubkey.Key(r.fill(r.head[:32])) }
func (r *checkpointReader) u32() uint32     { return binary.LittleEndian.Uint32(r.fill(r.head[:4])) }
func (r *checkpointReader) u64() uint64     { return binary.LittleEndian.Uint64(r.fill(r.head[:8])) }

// flag reads a byte that is 0 or 1.
func (r *checkpointReader) flag() bool {
	b := r.fill(r.head[:1])[0]
	if b > 1 {
		r.fail("a flag is %d", b)
	}
	return b == 1
}

func (r *checkpointReader) checkpoint() *Checkpoint {
	if magic := r.fill(r.head[:len(checkpointMagic)]); r.err == nil && string(magic) != checkpointMagic {
		r.fail("it begins with %q", magic)
	}
	if format := r.u32(); r.err == nil && format != checkpointFormat {
		r.fail("it has format %d, this version reads %d", format, checkpointFormat)
	}
	c := &Checkpoint{Genesis: r.key(), Slot: r.u64()}
	c.Hash, c.UnixTime, c.venues = r.key(), int64(r.u64()), r.u64()
	if c.Slot == 0 {
		r.fail("it has no slot")
	}
	accounts, pools, pairs := int64(r.u32()), int64(r.u32()), int64(r.u32())
	if least := accounts*headSize + pools*32 + pairs*pairSize; least > r.left {
		r.fail("its lists take at least %d bytes, and there are %d", least, r.left)
	}
	if r.err != nil {
		return nil
	}
	c.accounts, c.pools, c.pairs = make([]kept, accounts), make([]pubkey.Key, pools), make([]keptPair, pairs)
	for i := range c.accounts {
		c.accounts[i] = r.account(c.Slot)
		if i > 0 && bytes.Compare(c.accounts[i-1].key[:], c.accounts[i].key[:]) >= 0 {
			r.fail("its accounts are not in order")
		}
		if r.err != nil {
			return nil
		}
	}
	for i := range c.pools {
		c.pools[i] = r.key()
	}
	for i := range c.pairs {
		c.pairs[i] = keptPair{pair{r.key(), r.key()}, r.flag()}
	}
	return c
}

// account reads an account. It fails if the account's version is of a later slot than root.
func (r *checkpointReader) account(root uint64) (k kept) {
	head := r.fill(r.head[:])
	key, numbers, flags, rest := head[:32], head[32:56], head[56], head[57:]
	number := binary.LittleEndian.Uint64
	k.key = pubkey.Key(key)
	k.version = version{slot: number(numbers), order: number(numbers[8:]), transaction: number(numbers[16:]), read: flags&flagRead != 0}
	exists, size := flags&flagExists != 0, int64(binary.LittleEndian.Uint32(rest[40:]))
	switch {
	case k.version.slot > root:
		r.fail("an account is of a later slot")
	case size > r.left || size > maxData || !exists && size > 0:
		r.fail("an account of %d bytes", size)
	case exists:
		k.version.account = &solana.Account{Owner: pubkey.Key(rest), Lamports: number(rest[32:]), Executable: flags&flagExecutable != 0, Data: make([]byte, size)}
		r.fill(k.version.account.Data)
	}
	return k
}
