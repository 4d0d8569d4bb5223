package state

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Checkpoint is the state of a Fold at its root, from which another Fold goes on after a restart.
//
// Its file, in little endian: checkpointMagic; the format (u32); the genesis hash; the root's slot,
// block hash and Unix time; the accounts (a count, then for each the key, the slot, order and
// transaction of its version, flags, owner, lamports, the data's length and the data); the pools'
// addresses (a count, then each); the asked pairs, the oldest first (a count, then for each both
// mints and whether its pools are all known); and the XXH64 of everything before it. Counts and
// lengths are u32.
type Checkpoint struct {
	// Genesis is the genesis hash of the chain.
	Genesis pubkey.Key
	// Slot is final. Hash and UnixTime are those of its block.
	Slot     uint64
	Hash     pubkey.Key
	UnixTime int64

	accounts []kept
	pools    []pubkey.Key
	pairs    []keptPair
}

// kept is an account as it was at the root.
type kept struct {
	key     pubkey.Key
	version version
}

// keptPair is an asked pair. listed says that all of its pools are in the checkpoint.
type keptPair struct {
	pair   pair
	listed bool
}

const (
	checkpointMagic = "mintpool"
	// checkpointFormat grows with each change of the layout. Other formats are refused.
	checkpointFormat = 1
	// maxData is the size of the largest account, in bytes (MAX_PERMITTED_DATA_LENGTH).
	maxData = 10 << 20
	// keptHead is what an account takes beside its data, in bytes.
	keptHead = 32 + 3*8 + 1 + 32 + 8 + 4
)

// Flags of an account in the file.
const (
	flagExists = 1 << iota
	flagExecutable
	flagRead
)

// errCheckpoint is wrapped by the errors of a file that is no whole checkpoint.
var errCheckpoint = errors.New("no checkpoint of pools")

// WriteTo writes the file. It sorts the accounts and pools, so equal states give equal files.
func (c *Checkpoint) WriteTo(w io.Writer) (int64, error) {
	slices.SortFunc(c.accounts, func(a, b kept) int { return bytes.Compare(a.key[:], b.key[:]) })
	slices.SortFunc(c.pools, func(a, b pubkey.Key) int { return bytes.Compare(a[:], b[:]) })
	digest := xxhash.New()
	out := &checkpointWriter{Writer: bufio.NewWriterSize(io.MultiWriter(w, digest), 1<<20)}
	out.text(checkpointMagic)
	out.u32(checkpointFormat)
	out.key(c.Genesis)
	out.u64(c.Slot)
	out.key(c.Hash)
	out.u64(uint64(c.UnixTime))
	out.u32(uint32(len(c.accounts)))
	for i := range c.accounts {
		out.account(&c.accounts[i])
	}
	out.u32(uint32(len(c.pools)))
	for _, address := range c.pools {
		out.key(address)
	}
	out.u32(uint32(len(c.pairs)))
	for _, p := range c.pairs {
		out.key(p.pair.a)
		out.key(p.pair.b)
		out.flag(p.listed)
	}
	if err := out.Flush(); err != nil {
		return out.count, err
	}
	n, err := w.Write(binary.LittleEndian.AppendUint64(nil, digest.Sum64()))
	return out.count + int64(n), err
}

// checkpointWriter writes values. Flush returns the first error.
type checkpointWriter struct {
	*bufio.Writer
	count int64
}

func (w *checkpointWriter) put(b []byte) {
	n, _ := w.Write(b)
	w.count += int64(n)
}

func (w *checkpointWriter) text(s string)    { w.put([]byte(s)) }
func (w *checkpointWriter) key(k pubkey.Key) { w.put(k[:]) }
func (w *checkpointWriter) u32(n uint32) {
	w.put(binary.LittleEndian.AppendUint32(w.AvailableBuffer(), n))
}
func (w *checkpointWriter) u64(n uint64) {
	w.put(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), n))
}

func (w *checkpointWriter) flag(b bool) {
	if b {
		w.put([]byte{1})
	} else {
		w.put([]byte{0})
	}
}

func (w *checkpointWriter) account(k *kept) {
	v := &k.version
	w.key(k.key)
	w.u64(v.slot)
	w.u64(v.order)
	w.u64(v.transaction)
	flags, account := byte(0), v.account
	if v.read {
		flags |= flagRead
	}
	if account == nil {
		account = &solana.Account{}
	} else {
		flags |= flagExists
	}
	if account.Executable {
		flags |= flagExecutable
	}
	w.put([]byte{flags})
	w.key(account.Owner)
	w.u64(account.Lamports)
	w.u32(uint32(len(account.Data)))
	w.put(account.Data)
}

// ReadCheckpoint reads a file of size bytes. The error wraps errCheckpoint if the file is no whole
// checkpoint of this format. It needs no more memory than the file has bytes, times a small
// constant.
func ReadCheckpoint(r io.Reader, size int64) (*Checkpoint, error) {
	const sum = 8
	digest := xxhash.New()
	body := io.TeeReader(io.LimitReader(r, size-sum), digest)
	in := &checkpointReader{Reader: bufio.NewReaderSize(body, 1<<20), left: size - sum}
	c := in.checkpoint()
	if in.err == nil && in.left != 0 {
		in.fail("%d bytes too many", in.left)
	}
	if in.err != nil {
		return nil, in.err
	}
	var told [sum]byte
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
	head [keptHead]byte
}

func (r *checkpointReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", errCheckpoint, fmt.Sprintf(format, args...))
	}
}

// fill reads into b, which has no more than keptHead bytes or was checked against left.
func (r *checkpointReader) fill(b []byte) []byte {
	if r.err == nil && int64(len(b)) > r.left {
		r.fail("it is cut off")
	}
	if r.err == nil {
		r.left -= int64(len(b))
		if _, err := io.ReadFull(r.Reader, b); err != nil {
			r.err = err
		}
	}
	if r.err != nil {
		clear(b)
	}
	return b
}

func (r *checkpointReader) key() pubkey.Key { return pubkey.Key(r.fill(r.head[:32])) }
func (r *checkpointReader) u32() uint32     { return binary.LittleEndian.Uint32(r.fill(r.head[:4])) }
func (r *checkpointReader) u64() uint64     { return binary.LittleEndian.Uint64(r.fill(r.head[:8])) }

// count reads how many values of at least size bytes follow.
func (r *checkpointReader) count(size int64) int {
	n := int64(r.u32())
	if n*size > r.left {
		r.fail("it is cut off")
		return 0
	}
	return int(n)
}

func (r *checkpointReader) checkpoint() *Checkpoint {
	if magic := r.fill(r.head[:len(checkpointMagic)]); r.err == nil && string(magic) != checkpointMagic {
		r.fail("it begins with %q", magic)
	}
	if format := r.u32(); r.err == nil && format != checkpointFormat {
		r.fail("it has format %d, this version reads %d", format, checkpointFormat)
	}
	c := &Checkpoint{Genesis: r.key(), Slot: r.u64()}
	c.Hash, c.UnixTime = r.key(), int64(r.u64())
	if c.Slot == 0 {
		r.fail("it has no slot")
	}
	c.accounts = make([]kept, r.count(keptHead))
	for i := range c.accounts {
		c.accounts[i] = r.account()
		if i > 0 && r.err == nil && bytes.Compare(c.accounts[i-1].key[:], c.accounts[i].key[:]) >= 0 {
			r.fail("its accounts are not in order")
		}
		if c.accounts[i].version.slot > c.Slot {
			r.fail("an account is of a later slot")
		}
		if r.err != nil {
			return nil
		}
	}
	c.pools = make([]pubkey.Key, r.count(32))
	for i := range c.pools {
		c.pools[i] = r.key()
	}
	c.pairs = make([]keptPair, r.count(65))
	for i := range c.pairs {
		c.pairs[i].pair = pair{r.key(), r.key()}
		c.pairs[i].listed = r.fill(r.head[:1])[0] == 1
	}
	return c
}

func (r *checkpointReader) account() (k kept) {
	head := r.fill(r.head[:])
	copy(k.key[:], head)
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(head[at:]) }
	flags := head[56]
	k.version = version{slot: number(32), order: number(40), transaction: number(48), read: flags&flagRead != 0}
	size := int64(binary.LittleEndian.Uint32(head[97:]))
	if size > r.left || size > maxData {
		r.fail("an account of %d bytes", size)
		return k
	}
	if flags&flagExists == 0 {
		if size > 0 {
			r.fail("an account that does not exist has data")
		}
		return k
	}
	k.version.account = &solana.Account{Owner: pubkey.Key(head[57:89]), Lamports: number(89), Executable: flags&flagExecutable != 0, Data: make([]byte, size)}
	r.fill(k.version.account.Data)
	return k
}
