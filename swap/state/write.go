package state

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
)

// The file of a checkpoint, in little endian:
//
//   - checkpointMagic, the format (u32), the genesis hash; of the root the slot (u64), block hash
//     and Unix time (u64); a hash of the venues' names (u64)
//   - how many items each list below has (u32), and the bytes of all data (u64)
//   - accounts, in the order of their keys: headSize bytes each, see headSlot
//   - pools, grouped by pair: account, first need (u32), how many of the needs are its own, whether
//     it is only an address where the pair may have a pool
//   - needs of the pools: accounts (u32)
//   - pairs: the accounts of both mints, first pool (u32), whether it was asked for
//   - asked pairs, the oldest first (u32)
//   - other pools: addresses
//   - other asked pairs, the oldest first: both mints, whether all of their pools are known
//   - the data of the accounts
//   - the XXH64 of everything before it
//
// Accounts, pools and pairs are named by their number in the list. Pools and pairs are certain at
// the root; the other pools and pairs are not.
const (
	checkpointMagic = "mintpool"
	// checkpointFormat grows with each change of the layout. Other formats are refused.
	checkpointFormat = 2
	// maxData is the size of the largest account, in bytes (MAX_PERMITTED_DATA_LENGTH).
	maxData = 10 << 20
	// lists is how many lists there are. Then what an item of each takes, in bytes.
	lists         = 7
	poolSize      = 4 + 4 + 1 + 1
	pairSize      = 4 + 4 + 4 + 1
	otherPairSize = 32 + 32 + 1
)

// Flags of an account in the file.
const (
	flagExists = 1 << iota
	flagExecutable
	flagRead
)

// errCheckpoint is wrapped by the errors of a file that is no whole checkpoint.
var errCheckpoint = errors.New("no checkpoint of pools")

// WriteTo writes the file. Equal states give equal files.
func (c *Checkpoint) WriteTo(w io.Writer) (int64, error) {
	l := c.plan()
	digest := xxhash.New()
	out := &checkpointWriter{Writer: bufio.NewWriterSize(io.MultiWriter(w, digest), 1<<20)}
	out.put([]byte(checkpointMagic))
	out.u32(checkpointFormat)
	out.key(c.Genesis)
	out.u64(c.Slot)
	out.key(c.Hash)
	out.u64(uint64(c.UnixTime))
	out.u64(c.venues)
	slices.SortFunc(c.pools, func(a, b pubkey.Key) int { return bytes.Compare(a[:], b[:]) })
	size := uint64(0)
	for _, a := range l.accounts {
		size += uint64(len(c.data(a)))
	}
	for _, count := range [lists]int{len(l.accounts), len(l.pools), len(l.needs), len(l.pairs), len(l.asked), len(c.pools), len(c.pairs)} {
		out.u32(uint32(count))
	}
	out.u64(size)
	out.accounts(c, l.accounts)
	out.plan(l)
	for _, address := range c.pools {
		out.key(address)
	}
	for _, p := range c.pairs {
		out.key(p.pair.a)
		out.key(p.pair.b)
		out.flag(p.listed)
	}
	for _, a := range l.accounts {
		out.put(c.data(a))
	}
	if err := out.Flush(); err != nil {
		return out.count, err
	}
	c.sum = digest.Sum64()
	n, err := w.Write(binary.LittleEndian.AppendUint64(nil, c.sum))
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

func (w *checkpointWriter) accounts(c *Checkpoint, accounts []placed) {
	end := uint64(0)
	for _, a := range accounts {
		if end += uint64(len(c.data(a))); a.kept == nil {
			w.put(c.base.head(a.at)[:headEnd])
		} else {
			w.account(a.kept)
		}
		w.u64(end)
	}
}

func (w *checkpointWriter) plan(l *plan) {
	for _, p := range l.pools {
		w.u32(p.account)
		w.u32(p.needs)
		w.put([]byte{p.own})
		w.flag(p.asked)
	}
	for _, i := range l.needs {
		w.u32(i)
	}
	for _, p := range l.pairs {
		w.u32(p.a)
		w.u32(p.b)
		w.u32(p.pools)
		w.flag(p.asked)
	}
	for _, n := range l.asked {
		w.u32(n)
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
}
