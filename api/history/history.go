// Package history answers questions about the past: the events of a mint with what each one
// changed, the registry as of a slot, and where each field of a token came from.
//
// In: token_fact_history, which the projector writes: every message that stated facts about a mint.
// Out: pages of entries, tokens as of a slot, origins. Guarantees: the fold is that of
// registry.State, so the values after the newest entry are the token that a lookup shows, once
// ClickHouse has everything. A page reads the rows that it shows. Of all rows before these, it
// reads only the facts that hold, which ClickHouse finds, so a mint with a million events costs
// little memory. An instruction that several sources delivered is one entry.
package history

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ErrUnknownMint is returned if there are no facts about the mint.
var ErrUnknownMint = errors.New("history: nothing is known about the mint")

// Row is one message about one mint: all facts that it stated, and where they came from.
type Row struct {
	// Position orders the rows of a mint.
	Position schemas.Position
	// Place is the place inside the transaction, packed by schemas.PackPlace.
	Place       uint64
	Kind        string
	Source      string
	Instruction string
	// Signature is in base58; empty if the row is not from an instruction.
	Signature string
	// TransactionIndex is -1 if no source named it.
	TransactionIndex int32
	// BlockTime is in Unix seconds; 0 if no source named it.
	BlockTime int64
	Facts     []registry.Fact
}

// Sources of rows that are treated specially. Origin.Source lists all sources.
const (
	sourceInstruction = "instruction"
	sourceImport      = "import"
)

// Held is a fact that holds, and its origin. Of all facts of a register and item, one holds.
type Held struct {
	Fact   registry.Fact
	Origin Origin
}

// Reader reads the rows of one mint.
type Reader interface {
	// Window returns all rows of the slots from..to. from is the highest slot for which these are
	// at least atLeast rows, copies counted; 0 if the mint has fewer rows.
	Window(ctx context.Context, mint pubkey.Key, to uint64, atLeast int) (rows []Row, from uint64, err error)
	// Held returns the facts of all rows up to a slot that hold. The supply deltas after the
	// supply's last read come as sums: one for each item in apart, and one for all other items.
	Held(ctx context.Context, mint pubkey.Key, to uint64, apart []string) ([]Held, error)
}

// History answers from a Reader.
type History struct {
	reader Reader
}

// New returns a history of what reader reads.
func New(reader Reader) *History { return &History{reader: reader} }

// Page is the body of GET /tokens/{mint}/history.
type Page struct {
	Mint  pubkey.Key `json:"mint"`
	Items []Entry    `json:"items"`
	Limit int        `json:"limit"`
	// Next is the cursor of the next page, which is older; nil on the last one.
	Next *string `json:"next"`
}

// Entry is one instruction, read or other message, with what it changed.
type Entry struct {
	Slot uint64 `json:"slot"`
	// BlockTime is in epoch milliseconds.
	BlockTime   *int64  `json:"block_time"`
	Source      string  `json:"source"`
	Kind        string  `json:"kind"`
	Instruction *string `json:"instruction"`
	Signature   *string `json:"signature"`
	// An index is null if the entry has no such index, or if no source named it.
	TransactionIndex      *int64 `json:"transaction_index"`
	InstructionIndex      *int64 `json:"instruction_index"`
	InnerInstructionIndex *int64 `json:"inner_instruction_index"`
	BatchIndex            *int64 `json:"batch_index"`
	// InRegistry reports whether the mint was a member of the registry after this entry.
	InRegistry bool     `json:"in_registry"`
	Changes    []Change `json:"changes"`
}

// Change is one field of the API, before and after an entry.
type Change struct {
	Field  string `json:"field"`
	Before any    `json:"before"`
	After  any    `json:"after"`
}

// windowGrowth is how many times wider the next window is, if a window has too few entries after
// its copies and imports were merged.
const windowGrowth = 4

// Page returns up to limit entries before a cursor, newest first. Errors: ErrUnknownMint, and the
// reader's.
func (h *History) Page(ctx context.Context, mint pubkey.Key, before Cursor, limit int) (Page, error) {
	ctx, cancel := context.WithTimeout(ctx, questionTime)
	defer cancel()
	to := uint64(math.MaxUint64)
	if !before.zero() {
		to = before.position.Slot
	}
	var groups []Row
	var from uint64
	// One entry more than the limit shows that there is a next page. Rows that are copies or
	// imports merge into entries, so the window must have more rows than entries are needed.
	for rows := 2 * (limit + 1); ; rows *= windowGrowth {
		window, start, err := h.reader.Window(ctx, mint, to, rows)
		if err != nil {
			return Page{}, fmt.Errorf("read history: %w", err)
		}
		groups, from = entries(window), start
		if !before.zero() {
			groups = slices.DeleteFunc(groups, func(row Row) bool { return cursorOf(&row).compare(before) >= 0 })
		}
		if len(groups) > limit || from == 0 {
			break
		}
	}
	if len(groups) == 0 && before.zero() {
		return Page{}, ErrUnknownMint
	}
	fold := newFold(mint)
	if from > 0 {
		held, err := h.reader.Held(ctx, mint, from-1, supplyItems(groups))
		if err != nil {
			return Page{}, fmt.Errorf("read history: %w", err)
		}
		fold.applyHeld(held)
	}
	return pageOf(mint, fold, groups, limit), nil
}

// pageOf folds all groups and returns the last limit of them as entries.
func pageOf(mint pubkey.Key, fold *fold, groups []Row, limit int) Page {
	first := max(len(groups)-limit, 0)
	for i := range groups[:first] {
		fold.apply(groups[i].Facts)
	}
	page := Page{Mint: mint, Items: make([]Entry, 0, len(groups)-first), Limit: limit}
	view, _ := fold.view()
	for i := range groups[first:] {
		row := &groups[first+i]
		fold.apply(row.Facts)
		next, member := fold.view()
		page.Items = append(page.Items, entryOf(row, member, changes(&view, &next)))
		view = next
	}
	slices.Reverse(page.Items)
	if first > 0 {
		next := cursorOf(&groups[first]).String()
		page.Next = &next
	}
	return page
}

func entryOf(row *Row, member bool, changes []Change) Entry {
	entry := Entry{
		Slot: row.Position.Slot, Source: row.Source, Kind: row.Kind, Instruction: optional(row.Instruction), Signature: optional(row.Signature),
		InRegistry: member, Changes: changes,
	}
	if row.BlockTime > 0 {
		ms := row.BlockTime * 1000
		entry.BlockTime = &ms
	}
	entry.TransactionIndex = index(int64(row.TransactionIndex))
	if row.Source == sourceInstruction {
		place := schemas.UnpackPlace(row.Place)
		entry.InstructionIndex = index(int64(place.Instruction))
		entry.InnerInstructionIndex = index(int64(place.Inner))
		entry.BatchIndex = index(int64(place.Batch))
	}
	return entry
}

func index(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// entries sorts rows in the order of the fold and merges rows that are one entry: imported facts at
// the position of a known instruction belong to that instruction.
func entries(rows []Row) []Row {
	slices.SortFunc(rows, func(a, b Row) int { return cursorOf(&a).compare(cursorOf(&b)) })
	out := rows[:0]
	for _, row := range rows {
		if row.Source == sourceImport {
			if n := len(out); n > 0 && out[n-1].Position == row.Position {
				out[n-1].Facts = append(out[n-1].Facts, row.Facts...)
				continue
			}
		}
		out = append(out, row)
	}
	return out
}

// mostItems bounds the items that one query names, because its parameters travel in a URL. No chain
// has a slot with more instructions for one mint.
const mostItems = 5_000

// supplyItems returns the items of the rows' supply deltas, for Reader.Held. An item names the
// instruction that changed the supply. The same instruction may also be in an earlier slot, in a
// block that lost its fork: then its row here replaces the earlier one. For that, Held must return
// the earlier amount apart from the sum of all others.
func supplyItems(rows []Row) []string {
	var items []string
	for i := range rows {
		for _, fact := range rows[i].Facts {
			if fact.Register == registry.RegisterSupplyDelta {
				items = append(items, fact.Item)
			}
		}
	}
	slices.Sort(items)
	items = slices.Compact(items)
	return items[:min(len(items), mostItems)]
}

// Snapshot is a mint as of a slot.
type Snapshot struct {
	mint pubkey.Key
	fold *fold
	held map[string]Held
}

// AsOf folds all facts up to slot. It returns ErrUnknownMint if there are no facts, or an error of
// the reader.
func (h *History) AsOf(ctx context.Context, mint pubkey.Key, slot uint64) (*Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, questionTime)
	defer cancel()
	held, err := h.reader.Held(ctx, mint, slot, nil)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	if len(held) == 0 {
		return nil, ErrUnknownMint
	}
	s := &Snapshot{mint: mint, fold: newFold(mint), held: map[string]Held{}}
	s.fold.applyHeld(held)
	for _, h := range held {
		s.held[registerKey(h.Fact.Register, h.Fact.Item)] = h
	}
	return s, nil
}

// Token returns the token as of the slot; false if the mint was no member of the registry.
func (s *Snapshot) Token() (registry.Token, bool) { return s.fold.token() }

// Lists returns the token lists that hold the token. A list has no slot, so these are all known
// lists, whatever the slot of the snapshot.
func (s *Snapshot) Lists() []registry.Listing { return s.fold.state.Lists() }

func registerKey(register registry.Register, item string) string {
	return string(rune(register)) + item
}
