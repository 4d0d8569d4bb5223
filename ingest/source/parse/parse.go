// Package parse turns every format that a block or a transaction comes in into chain.Block: JSON of
// getBlock and getTransaction in all encodings, solana.storage.ConfirmedBlock, Geyser updates.
//
// In: whole messages, which may be hostile. Out: chain.Block values that borrow the message's
// bytes, so the message must not be reused.
// Guarantees: never panics. Work and memory are proportional to the input's length. What is not
// understood is an error that says where and why, never a guess. A transaction that cannot be read
// is listed in Block.Unread, and the block's other transactions are returned.
package parse

import (
	"errors"
	"fmt"
	"strings"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/protofields"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/bounds"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/unknowns"
)

// Reasons to refuse an input, for errors.Is and metric labels.
var (
	// ErrMalformed means that the bytes break their format, or that their content is impossible.
	ErrMalformed = protofields.ErrMalformed
	// ErrNoTransaction means that the input is well-formed but has neither a block nor a
	// transaction: it is an account, for example.
	ErrNoTransaction = errors.New("holds no block and no transaction")
	// ErrUnsupported means that the input is a transaction of an unknown version or encoding.
	ErrUnsupported = errors.New("unsupported")
)

// Bounds on one transaction and block. Account indexes are bytes, so there are at most 256 keys. An
// instruction trace has at most 64 entries (agave, MAX_INSTRUCTION_TRACE_LENGTH) and a CPI's data
// 10 KiB (MAX_INSTRUCTION_DATA_LEN). Our bounds leave room for change.
const (
	maxKeys         = 256
	maxAccounts     = 1232 // one byte each; a transaction has at most 1232 bytes
	maxInstructions = 1024
	maxInner        = 8192
	maxBalances     = 512
	maxData         = 64 << 10
	maxTransactions = 1 << 17
	maxIndex        = 1 << 23
	maxBlockTime    = 1 << 36
)

func malformed(format string, args ...any) error { return because(ErrMalformed, format, args...) }

func because(reason error, format string, args ...any) error {
	return fmt.Errorf("%w: %s", reason, fmt.Sprintf(format, args...))
}

// Join joins the errors that are not nil into one error with a text of one line; nil if all are
// nil.
func Join(errs ...error) error {
	var all list
	for _, err := range errs {
		if err != nil {
			all = append(all, err)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

// list is the error of Join.
type list []error

func (l list) Error() string {
	texts := make([]string, len(l))
	for i, err := range l {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (l list) Unwrap() []error { return l }

// Reader reads transactions up to a highest version. The zero value reads all that are known.
type Reader struct {
	limited bool
	highest txwire.Version
	scanner *unknowns.Scanner
	bounds  *bounds.Bounds
}

// UpTo returns a reader that does not read versions above highest.
func UpTo(highest txwire.Version) Reader { return Reader{limited: true, highest: highest} }

// Noting returns a reader that also notes in book the fields of Geyser updates that this version
// does not know. It looks into blocks and transactions only now and then, see unknowns.Scanner.
func (r Reader) Noting(book *unknowns.Book) Reader {
	// 4 and 5 are the fields of SubscribeUpdate with a transaction and a block.
	r.scanner = unknowns.NewScanner(book, "ingest", (&pb.SubscribeUpdate{}).ProtoReflect().Descriptor(), 4, 5)
	return r
}

// Within returns a reader that refuses slots, parents and block times that cannot be true according
// to b. A reader without bounds compares nothing with the clock.
func (r Reader) Within(b *bounds.Bounds) Reader {
	r.bounds = b
	return r
}

// Highest returns the highest version that is read.
func (r Reader) Highest() txwire.Version {
	if r.limited {
		return r.highest
	}
	return txwire.Highest
}

func (r Reader) builder() *builder { return &builder{highest: r.Highest(), bounds: r.bounds} }

// builder assembles one block. The block's lists are parts of its slabs, which saves an allocation
// for each list. Slabs live as long as the block. The other slices are scratch space.
type builder struct {
	block    chain.Block
	keys     slab[pubkey.Key]
	calls    slab[chain.Call]
	outer    slab[chain.Instruction]
	balances slab[chain.TokenBalance]
	bytes    slab[byte]
	details  slab[details]
	raws     slab[rawTransaction]
	scratch  []chain.Call
	groups   []innerGroup
	// scratchBalances has the token balances before a transaction, or any list of JSON; scratchPost
	// those after it.
	scratchBalances []chain.TokenBalance
	scratchPost     []chain.TokenBalance
	rawKeys         [][]byte
	plain           []byte
	recent          recentKeys
	wire            txwire.Transaction
	// highest is the highest version of a transaction that is read.
	highest txwire.Version
	bounds  *bounds.Bounds
	// innerUnknown means that the node did not record the inner instructions of a transaction that
	// is neither a vote nor failed.
	innerUnknown bool
}

// innerGroup is the list of inner instructions of the outer instruction at index, before joinInner
// joins them: scratch[from:to].
type innerGroup struct {
	index    uint64
	from, to int
}

// slab allocates short slices from large ones.
type slab[T any] struct {
	free []T
	next int
}

// take returns n zero values. The slice has no spare capacity, so append cannot overwrite its
// neighbours.
func (s *slab[T]) take(n int) []T {
	if n > len(s.free) {
		s.next = min(max(64, s.next*2), 16384)
		s.free = make([]T, max(n, s.next))
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

func (s *slab[T]) copyOf(from []T) []T {
	if len(from) == 0 {
		return nil
	}
	out := s.take(len(from))
	copy(out, from)
	return out
}

// leaveOut moves the last transaction of the block, which could not be read, to Block.Unread.
func (b *builder) leaveOut(raw []byte, err error) {
	last := len(b.block.Transactions) - 1
	tx := &b.block.Transactions[last]
	b.block.Unread = append(b.block.Unread, chain.Unread{Index: tx.Index, Signature: tx.Signature, Raw: raw, Err: err})
	*tx = chain.Transaction{}
	b.block.Transactions = b.block.Transactions[:last]
}

// count returns how many transactions the block has so far, read or not.
func (b *builder) count() int { return len(b.block.Transactions) + len(b.block.Unread) }

// finish sets slot and Whole and checks the block. Whole stays false if a transaction could not be
// read, or the node did not record all inner instructions.
func (b *builder) finish(slot uint64, whole bool) (*chain.Block, error) {
	b.block.Slot, b.block.Whole = slot, whole && !b.innerUnknown && !b.block.Partial()
	if parent := b.block.ParentSlot; parent != nil {
		b.block.ParentGuessed = ownParent(slot, parent)
		if *parent >= slot && slot != 0 {
			return nil, malformed("parent slot %d is not before slot %d", *parent, slot)
		}
	}
	if b.block.BlockTime < 0 || b.block.BlockTime > maxBlockTime {
		return nil, malformed("block time %d", b.block.BlockTime)
	}
	if b.bounds != nil {
		if err := b.bounds.Block(slot, b.block.ParentSlot, b.block.BlockTime); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	return &b.block, nil
}

// ownParent changes a parent that is the block's own slot to the slot before, and reports whether
// it did. Surfpool, a development node, names the slot itself as the parent of every block with
// transactions. All its slots have a block.
func ownParent(slot uint64, parent *uint64) bool {
	if slot == 0 || *parent != slot {
		return false
	}
	*parent = slot - 1
	return true
}

// joinInner joins the inner instructions in scratch to their outer instructions.
func (b *builder) joinInner(tx *chain.Transaction) error {
	if err := b.deriveHeights(); err != nil {
		return err
	}
	for _, g := range b.groups {
		if g.index >= uint64(len(tx.Instructions)) {
			return malformed("inner instructions of instruction %d, of which there are %d", g.index, len(tx.Instructions))
		}
		at := &tx.Instructions[g.index]
		if at.Inner != nil {
			return malformed("inner instructions of instruction %d twice", g.index)
		}
		at.Inner = b.calls.copyOf(b.scratch[g.from:g.to])
	}
	return nil
}

// appendKeys appends to the transaction's keys, up to maxKeys.
func (b *builder) appendKeys(tx *chain.Transaction, more []pubkey.Key) error {
	if len(more) == 0 {
		return nil
	}
	if len(tx.Keys)+len(more) > maxKeys {
		return malformed("%d account keys, at most %d", len(tx.Keys)+len(more), maxKeys)
	}
	all := b.keys.take(len(tx.Keys) + len(more))
	copy(all[copy(all, tx.Keys):], more)
	tx.Keys = all
	return nil
}

// voteProgram is Vote111111111111111111111111111111111111111.
var voteProgram = pubkey.Key{0x07, 0x61, 0x48, 0x1d, 0x35, 0x74, 0x74, 0xbb, 0x7c, 0x4d, 0x76, 0x24, 0xeb, 0xd3, 0xbd, 0xb3,
	0xd8, 0x35, 0x5e, 0x73, 0xd1, 0x10, 0x43, 0xfc, 0x0d, 0xa3, 0x53, 0x80, 0x00, 0x00, 0x00, 0x00}

// isVote is agave's is_simple_vote_transaction: legacy, fewer than three signatures, and its only
// instruction calls the vote program.
func isVote(tx *chain.Transaction, signatures int, versioned bool) bool {
	if versioned || signatures >= 3 || len(tx.Instructions) != 1 {
		return false
	}
	program, ok := tx.Program(&tx.Instructions[0].Call)
	return ok && program == voteProgram
}

// drop clears what nobody reads of a failed transaction or a vote, so that such a transaction is
// the same whatever format it came in.
func drop(tx *chain.Transaction) {
	if tx.Failed || tx.Vote {
		tx.Keys, tx.Instructions, tx.PreBalances, tx.PostBalances = nil, nil, nil, nil
		tx.Signers, tx.Details = 0, nil
	}
}
