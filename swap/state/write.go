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
//   - how many accounts, pools and pairs there are (u32 each)
//   - accounts in the order of their keys: key; slot, write_version and transaction (u64 each);
//     flags (u8); owner; lamports (u64); length of the data (u32); data
//   - pools: addresses
//   - asked pairs, the oldest first: both mints, whether all of their pools are known (u8)
//   - the XXH64 of everything before it
const (
	checkpointMagic = "mintpool"
	// checkpointFormat grows with each change of the layout, or of a venue's compact form. Other
	// formats are refused.
	checkpointFormat = 3
	// headSize is what an account takes without its data, and pairSize what a pair takes.
	headSize = 32 + 3*8 + 1 + 32 + 8 + 4
	pairSize = 32 + 32 + 1
	sumSize  = 8
	// maxData is the size of the largest account, in bytes (MAX_PERMITTED_DATA_LENGTH).
	maxData = 10 << 20
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
	slices.SortFunc(c.accounts, func(a, b kept) int { return bytes.Compare(a.key[:], b.key[:]) })
	slices.SortFunc(c.pools, func(a, b pubkey.Key) int { return bytes.Compare(a[:], b[:]) })
	digest := xxhash.New()
	out := bufio.NewWriterSize(io.MultiWriter(w, digest), 1<<20)
	size := int64(sumSize)
	put := func(b []byte) {
		n, _ := out.Write(b) // Flush returns the first error
		size += int64(n)
	}
	put(c.appendHead(nil))
	for _, k := range c.accounts {
		put(k.appendHead(out.AvailableBuffer()))
		if k.version.account != nil {
			put(k.version.account.Data)
		}
	}
	for _, address := range c.pools {
		put(address[:])
	}
	for _, p := range c.pairs {
		put(append(append(append(out.AvailableBuffer(), p.pair.a[:]...), p.pair.b[:]...), flag(p.listed, 1)))
	}
	if err := out.Flush(); err != nil {
		return size, err
	}
	_, err := w.Write(binary.LittleEndian.AppendUint64(nil, digest.Sum64()))
	return size, err
}

// appendHead appends everything before the accounts.
func (c *Checkpoint) appendHead(b []byte) []byte {
	number := binary.LittleEndian.AppendUint64
	b = binary.LittleEndian.AppendUint32(append(b, checkpointMagic...), checkpointFormat)
	b = number(append(b, c.Genesis[:]...), c.Slot)
	b = number(append(b, c.Hash[:]...), uint64(c.UnixTime))
	b = number(b, c.venues)
	for _, count := range []int{len(c.accounts), len(c.pools), len(c.pairs)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(count))
	}
	return b
}

// appendHead appends an account without its data.
func (k kept) appendHead(b []byte) []byte {
	number, v, account := binary.LittleEndian.AppendUint64, k.version, k.version.account
	if account == nil {
		account = &solana.Account{}
	}
	b = number(append(b, k.key[:]...), v.slot)
	b = number(number(b, v.order), v.transaction)
	b = append(b, flag(v.account != nil, flagExists)|flag(account.Executable, flagExecutable)|flag(v.read, flagRead))
	b = number(append(b, account.Owner[:]...), account.Lamports)
	return binary.LittleEndian.AppendUint32(b, uint32(len(account.Data)))
}

func flag(set bool, value byte) byte {
	if set {
		return value
	}
	return 0
}
