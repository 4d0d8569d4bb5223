package accounts

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// Balance is what a token account holds.
type Balance struct {
	Owner  pubkey.Key
	Amount uint64
	// State is nil in a Balance that comes from Known.
	State *tokenaccount.State
}

// Known is what the tables know of a mint.
type Known interface {
	// Program returns the token program of a mint; false if no mint with that address is known.
	Program(ctx context.Context, mint pubkey.Key) (program pubkey.Key, ok bool, err error)
	// Balances returns the open accounts of a mint, as the latest facts have them.
	Balances(ctx context.Context, mint pubkey.Key) (map[pubkey.Key]Balance, error)
}

// Holders reads all token accounts of a mint. Such a read is a base: from it on, all holders of the
// mint are known. Holders uses Endpoints, PageLimit, RequestsPerSecond and the waits of its Config.
// It reads one mint at a time.
type Holders struct {
	repeater
	deps   Deps
	known  Known
	client *client
	// unpaged is set once the servers turn out not to offer pages.
	unpaged bool
}

// NewHolders checks the configuration; it does no I/O.
func NewHolders(cfg Config, deps Deps, known Known) (*Holders, error) {
	cfg = cfg.withDefaults()
	if err := errors.Join(checkEndpoints(cfg.Endpoints), checkPageLimit(cfg.PageLimit)); err != nil {
		return nil, fmt.Errorf("bootstrap holders: %w", err)
	}
	if deps.Producer == nil || deps.Logger == nil || known == nil {
		return nil, errors.New("bootstrap holders: producer, logger and known are required")
	}
	return &Holders{repeater: repeater{cfg: cfg, logger: deps.Logger}, deps: deps, known: known, client: newClient(cfg)}, nil
}

// Base is one read of a mint's accounts.
type Base struct {
	// FirstSlot and Slot are the lowest and the highest slot of the pages. Without pages, both are
	// the slot of the answer.
	FirstSlot, Slot uint64
	// Accounts counts the accounts that were read, Closed those that were known and no longer
	// exist.
	Accounts, Closed int
}

// ErrUnknownMint is a mint that the registry does not know.
var ErrUnknownMint = errors.New("the registry does not know this mint")

// The fields of a token account (spl-token-2022-interface state.rs). All layouts of token accounts
// begin with these 165 bytes.
const (
	accountLength     = 165
	accountMintField  = 0
	accountOwnerField = 32
	accountAmount     = 64
	accountTypeToken  = 2
)

// Read reads the accounts of a mint, and writes them to chain.balances.v1. What was written before
// an error changes nothing: only the last record says that the read is whole.
func (h *Holders) Read(ctx context.Context, mint pubkey.Key) (Base, error) {
	program, ok, err := h.known.Program(ctx, mint)
	if err != nil || !ok {
		return Base{}, errors.Join(err, notKnown(ok))
	}
	found, err := h.read(ctx, program, mint)
	if err != nil {
		return Base{}, fmt.Errorf("read the accounts of %s: %w", mint, err)
	}
	known, err := h.known.Balances(ctx, mint)
	if err != nil {
		return Base{}, fmt.Errorf("read what is known of %s: %w", mint, err)
	}
	facts, closed := baseOf(found, known)
	if err := h.write(ctx, mint, program, found, facts); err != nil {
		return Base{}, err
	}
	return Base{FirstSlot: found.first, Slot: found.last, Accounts: len(found.accounts), Closed: closed}, nil
}

func notKnown(ok bool) error {
	if ok {
		return nil
	}
	return ErrUnknownMint
}

// accountFilters returns the filters for all token accounts of a mint. Token accounts of the Token
// program have one length, those of Token-2022 have any.
func accountFilters(program, mint pubkey.Key) []solana.Filter {
	filters := []solana.Filter{solana.Equals(accountMintField, mint[:]...)}
	if program == tokenaccount.ProgramToken {
		filters = append(filters, solana.Filter{DataSize: accountLength})
	}
	return filters
}

// balanceOf reads a token account; false if the account is not open, or is no token account. An
// account of another program or mint is an error, because it was not asked for.
func balanceOf(program, mint pubkey.Key, a *account) (Balance, bool, error) {
	switch {
	case len(a.data) < accountLength || len(a.data) > accountLength && a.data[accountLength] != accountTypeToken:
		return Balance{}, false, nil // the Token-2022 program has accounts of other kinds
	case a.owner != program || pubkey.Key(a.data[accountMintField:accountOwnerField]) != mint:
		return Balance{}, false, fmt.Errorf("%w: account %s is not of the mint", errMalformed, a.pubkey)
	}
	state, ok := tokenaccount.StateOf(a.data)
	if !ok {
		return Balance{}, false, nil
	}
	return Balance{
		Owner: pubkey.Key(a.data[accountOwnerField:accountAmount]), Amount: binary.LittleEndian.Uint64(a.data[accountAmount:]), State: &state,
	}, true, nil
}

// baseOf returns the facts of a read, by their slot, and how many accounts are closed. An account
// that was found has the slot of its page. An account that is known and was not found is closed at
// the lowest slot of the read, so that what blocks did to it while the pages were read comes after
// that. The place MaxUint64 is the end of a slot.
func baseOf(found *scan, known map[pubkey.Key]Balance) (facts map[uint64][]*eventspb.BalanceChange, closed int) {
	facts = map[uint64][]*eventspb.BalanceChange{}
	add := func(slot uint64, change *eventspb.BalanceChange) { facts[slot] = append(facts[slot], change) }
	for key, held := range found.accounts {
		change := &eventspb.BalanceChange{Place: math.MaxUint64, Account: key.Bytes(), After: stateOf(held.Balance)}
		if before, ok := known[key]; ok {
			change.Before = stateOf(before)
		}
		add(held.slot, change)
	}
	for key, before := range known {
		if _, ok := found.accounts[key]; !ok {
			add(found.first, &eventspb.BalanceChange{Place: math.MaxUint64, Account: key.Bytes(), Before: stateOf(before)})
			closed++
		}
	}
	for _, changes := range facts {
		slices.SortFunc(changes, func(a, b *eventspb.BalanceChange) int { return slices.Compare(a.GetAccount(), b.GetAccount()) })
	}
	return facts, closed
}

func stateOf(b Balance) *eventspb.BalanceState {
	state := &eventspb.BalanceState{Amount: b.Amount, Owner: b.Owner.Bytes()}
	if b.State != nil {
		b.State.Enter(state)
	}
	return state
}

// baseRecord is how many accounts a record has: some 300 KB.
const baseRecord = 2000

// write makes the facts durable, and then a record that says that the read is whole.
func (h *Holders) write(ctx context.Context, mint, program pubkey.Key, found *scan, facts map[uint64][]*eventspb.BalanceChange) error {
	message := func(slot uint64) *eventspb.BalanceChanges {
		return &eventspb.BalanceChanges{Slot: slot, Mint: mint.Bytes(), Program: program.Bytes(), IsRead: true}
	}
	for _, slot := range slices.Sorted(maps.Keys(facts)) {
		for chunk := range slices.Chunk(facts[slot], baseRecord) {
			part := message(slot)
			part.Changes = chunk
			if err := h.produce(ctx, part); err != nil {
				return err
			}
		}
	}
	whole := message(found.last)
	if whole.IsWhole = true; found.first < found.last {
		whole.FirstSlot = found.first
	}
	return h.produce(ctx, whole)
}

func (h *Holders) produce(ctx context.Context, message *eventspb.BalanceChanges) error {
	record, err := factrecord.Balances(message)
	if err != nil {
		return err
	}
	if err := h.deps.Producer.Produce(ctx, record); err != nil {
		return &writeError{fmt.Errorf("write %s: %w", schemas.TopicBalances, err)}
	}
	return nil
}
