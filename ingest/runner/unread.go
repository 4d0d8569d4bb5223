package runner

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"sync"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/unknowns"
)

// Reasons why a transaction could not be read: values of a metric's label.
const (
	unreadVersion   = "version"
	unreadMalformed = "malformed"
)

var unreadReasons = []string{unreadVersion, unreadMalformed}

const (
	// maxLetters is how many unread transactions of a run get a dead letter each. Of later ones,
	// only every maxLetters-th gets one, because a new transaction version may be in every block.
	maxLetters = 1000
	// maxPartial bounds the partial blocks that a run remembers. At the bound it forgets all.
	maxPartial = 1 << 16
)

// unread is what a run remembers of blocks and transactions that it could not read.
type unread struct {
	mu sync.Mutex
	// partial are the partial blocks of this run, by slot. They are remembered because a filler of
	// gaps reads them again and again.
	partial map[uint64]partialBlock
	// blocks counts partial blocks, and letters counts unread transactions.
	blocks  uint
	letters uint64
}

// partialBlock is a block of which something could not be read.
type partialBlock struct {
	hash   pubkey.Key
	unread int // number of unread transactions; noneRead if the source gave none
}

// noneRead is more than the unread transactions of any block of which some came.
const noneRead = math.MaxInt

// newPartial returns what is remembered of a partial block. A block that a node withholds has a
// single Unread, without an index, which stands for all its transactions.
func newPartial(block *chain.Block) partialBlock {
	if len(block.Transactions) == 0 && len(block.Unread) == 1 && block.Unread[0].Index < 0 {
		return partialBlock{block.Blockhash, noneRead}
	}
	return partialBlock{block.Blockhash, len(block.Unread)}
}

// news reports whether the block is new to this run, or has fewer unread transactions than when it
// came last. It remembers the block.
func (u *unread) news(block *chain.Block) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := newPartial(block)
	if before, ok := u.partial[block.Slot]; ok && before.hash == now.hash && before.unread <= now.unread {
		return false
	}
	if u.partial == nil || len(u.partial) >= maxPartial {
		u.partial = make(map[uint64]partialBlock)
	}
	u.partial[block.Slot] = now
	return true
}

// letter counts an unread transaction, and reports whether it gets a dead letter.
func (u *unread) letter() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.letters++
	return u.letters <= maxLetters || u.letters%maxLetters == 0
}

// logged counts a partial block, and reports whether it is logged: the first, second, fourth,
// eighth … are.
func (u *unread) logged() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.blocks++
	return bits.OnesCount(u.blocks) == 1
}

// partial counts a partial block, lists it among the failures of the status, and adds dead letters
// of its unread transactions to j.
func (s *sink) partial(block *chain.Block, j *job) {
	r := s.runner
	var reasons []string
	for i := range block.Unread {
		one := &block.Unread[i]
		reason := r.meet(one.Err, unknowns.Sighting{Slot: block.Slot, Place: unreadName(block.Slot, one), Sample: one.Raw})
		r.metrics.unread.WithLabelValues(reason).Inc()
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
			r.metrics.partial.WithLabelValues(reason).Inc()
		}
		if r.unread.letter() {
			j.letters = append(j.letters, letterOf(block, one, receivedAtHeader(j.receivedAt)))
		}
	}
	first := &block.Unread[0]
	name := unreadName(block.Slot, first)
	if more := len(block.Unread) - 1; more > 0 {
		name = fmt.Sprintf("%s and %d more", name, more)
	}
	r.status.refuse(name + ": " + shorten(first.Err.Error()))
	if r.unread.logged() {
		r.log.Warn("a part of a block cannot be read; its slot is a gap", "source", s.kind, "slot", block.Slot, "unread", len(block.Unread), "err", first.Err)
	}
}

// unreadName names an unread transaction by its slot and, if they are known, its index and
// signature.
func unreadName(slot uint64, one *chain.Unread) string {
	name := fmt.Sprintf("slot %d", slot)
	if one.Index >= 0 {
		name += fmt.Sprintf(", transaction %d", one.Index)
	}
	if one.Signature != (chain.Signature{}) {
		name += " " + base58.Encode(one.Signature[:])
	}
	return name
}

func letterOf(block *chain.Block, one *chain.Unread, header kafka.Header) kafka.Record {
	return deadletter.OfBytes(deadLetterSource, shorten(one.Err.Error()), unreadName(block.Slot, one), one.Raw, header)
}

// meet returns the reason of err as a metric label. Every error of an input that could not be read
// passes through meet. If the reason is a transaction version that this process does not read, meet
// notes the version as an unknown that was met at the given place.
func (r *Runner) meet(err error, at unknowns.Sighting) (reason string) {
	var version *txwire.VersionError
	if !errors.As(err, &version) {
		return unreadMalformed
	}
	r.status.meet(version.Version)
	at.Source = sourceName
	r.deps.Unknowns.Note(unknowns.TransactionVersion, strconv.Itoa(int(version.Version)), at)
	return unreadVersion
}

// CheckVersions returns an error that names the transaction versions that this run met and does not
// read; nil if it met no such version, or r is nil.
func (r *Runner) CheckVersions() error {
	if r == nil {
		return nil
	}
	versions := r.status.message().GetUnreadVersions()
	if len(versions) == 0 {
		return nil
	}
	return fmt.Errorf("the chain has transactions of versions that this process does not read, %d: their blocks are gaps until an upgrade", versions)
}
