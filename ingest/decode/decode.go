// Package decode turns transactions into token events and swap legs.
//
// In: transactions of blocks, from any source. Out: one event for each fact that an instruction
// states about a mint, including launches and graduations of launchpads, in the order of execution;
// the mints that token balances show; and swap legs (see package swap). Guarantees: pure and
// deterministic. Instructions are found by program id at any depth, never in logs. Failed and vote
// transactions contribute nothing. Hostile input never panics, and the output is never much larger
// than the input. An instruction of a token program that no decoder understands becomes a raw
// event.
package decode

import (
	"bytes"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/ingest/decode/launchpads"
	"github.com/mintlake/mintlake/ingest/decode/metaplex"
	"github.com/mintlake/mintlake/ingest/decode/spltoken"
	"github.com/mintlake/mintlake/ingest/decode/swap"
	"github.com/mintlake/mintlake/ingest/decode/token2022"
	"github.com/mintlake/mintlake/ingest/decode/venues"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Names of the programs as metric labels.
const (
	ProgramToken     = "spl_token"
	ProgramToken2022 = "token_2022"
	ProgramMetaplex  = "metaplex"
)

const (
	// maxData is more than any instruction can hold: calls between programs are bounded to 10 KiB
	// (MAX_CPI_INSTRUCTION_DATA_LEN), and transactions to less. Longer data is hostile. It is cut,
	// so that its record is not too large for the broker.
	maxData = 16 << 10
	// maxAccounts is how many accounts one instruction can name: an index is a byte.
	maxAccounts = 256
)

// reasonTooLong is the reason of a raw event whose data exceeded maxData and was cut.
const reasonTooLong = "data is too long"

// Programs returns the labels of the programs whose instructions become token events.
func Programs() []string { return []string{ProgramToken, ProgramToken2022, ProgramMetaplex} }

// IgnoredReasons returns the reasons with which Observer.Ignored is called for instructions of
// Programs.
func IgnoredReasons() []string {
	return []string{
		string(instruction.IgnoredTokenAccount), string(instruction.IgnoredReadOnly), string(instruction.IgnoredDelegation),
		string(instruction.IgnoredNonFungible), string(instruction.IgnoredInner), string(instruction.IgnoredConfidential),
	}
}

// Observer is called for instructions without a typed event. Its methods may be called
// concurrently.
type Observer interface {
	// Ignored is called for a well-formed instruction that changes no mint.
	Ignored(program, reason string)
	// Raw is called for an instruction that becomes a raw event.
	Raw(program, reason string)
}

type discard struct{}

func (discard) Ignored(string, string) {}
func (discard) Raw(string, string)     {}

// program is the decoder of one program. batches means that it has SPL Token's Batch instruction.
type program struct {
	label   string
	decode  func(instruction.View) (instruction.Outcome, error)
	batches bool
}

// Decoder decodes transactions. It holds no state between them, and its methods may be called
// concurrently.
type Decoder struct {
	observer Observer
	programs map[pubkey.Key]program
	// launchpads decode only launches and graduations. Their other instructions give no events.
	launchpads map[pubkey.Key]*launchpads.Launchpad
	keys       []pubkey.Key // of programs and launchpads
	swaps      *swap.Decoder
}

// New returns a decoder of SPL Token, Token-2022, Metaplex Token Metadata, the launchpads and the
// venues. observer may be nil.
func New(observer Observer) *Decoder {
	if observer == nil {
		observer = discard{}
	}
	d := &Decoder{observer: observer, programs: map[pubkey.Key]program{
		pubkey.MustParse(schemas.ProgramToken):     {ProgramToken, spltoken.Decode, true},
		pubkey.MustParse(schemas.ProgramToken2022): {ProgramToken2022, token2022.Decode, true},
		pubkey.MustParse(schemas.ProgramMetaplex):  {ProgramMetaplex, metaplex.Decode, false},
	}}
	for key := range d.programs {
		d.keys = append(d.keys, key)
	}
	d.launchpads = map[pubkey.Key]*launchpads.Launchpad{}
	for _, launchpad := range launchpads.All() {
		key := pubkey.MustParse(launchpad.Program)
		d.launchpads[key], d.keys = &launchpad, append(d.keys, key)
	}
	d.swaps = swap.New(venues.All(), Aggregators(), observer)
	return d
}

// Decode returns the events of one transaction of the block at slot, in the order of execution. The
// events share no memory with tx.
func (d *Decoder) Decode(tx *chain.Transaction, slot uint64, blockTime int64) []*eventspb.TokenEvent {
	if tx.Failed || tx.Vote {
		return nil
	}
	found, any := d.find(tx.Keys)
	if !any {
		return nil
	}
	w := walk{decoder: d, found: found, tx: tx, slot: slot, blockTime: blockTime, mints: instruction.NewMints(tx)}
	for i := range tx.Instructions {
		outer := &tx.Instructions[i]
		w.call(&outer.Call, place{outer: i, inner: none})
		for j := range outer.Inner {
			w.call(&outer.Inner[j], place{outer: i, inner: j})
		}
	}
	return w.events
}

// within returns the calls that the call at a place made, directly or through other calls. If the
// source does not state stack heights, within returns all later calls of the same outer
// instruction.
func (w *walk) within(at place) []chain.Call {
	outer := &w.tx.Instructions[at.outer]
	if at.inner == none {
		return outer.Inner
	}
	after := outer.Inner[at.inner+1:]
	for i := range after {
		if after[i].StackHeight != 0 && after[i].StackHeight <= outer.Inner[at.inner].StackHeight {
			return after[:i]
		}
	}
	return after
}

// mask has a bit for each of a transaction's first 256 keys. An instruction cannot name more, since
// it names a key by one byte.
type mask [4]uint64

func (m *mask) has(i int) bool { return i >= 0 && i < 256 && m[i/64]&(1<<(i%64)) != 0 }

// find marks the keys that are programs to decode. any is true if there is such a key. Most
// transactions have none, and checking the keys once is faster than checking each call.
func (d *Decoder) find(keys []pubkey.Key) (found mask, any bool) {
	for i := range keys[:min(len(keys), 256)] {
		for j := range d.keys {
			if keys[i] == d.keys[j] {
				found[i/64] |= 1 << (i % 64)
				any = true
			}
		}
	}
	return found, any
}

// none is the index of something that is absent.
const none = -1

// place is where an instruction is in its transaction. inner is none for an outer instruction.
type place struct{ outer, inner int }

// walk decodes one transaction.
type walk struct {
	decoder   *Decoder
	found     mask // the keys that are programs to decode
	tx        *chain.Transaction
	slot      uint64
	blockTime int64
	mints     *instruction.Mints
	events    []*eventspb.TokenEvent
}

// call decodes one call if its program is one to decode. It takes a Batch apart and decodes each
// part.
func (w *walk) call(call *chain.Call, at place) {
	if !w.found.has(call.ProgramIndex) {
		return
	}
	key, _ := w.tx.Program(call)
	if launchpad, ok := w.decoder.launchpads[key]; ok {
		if event, ok := launchpad.Decode(instruction.View{Tx: w.tx, Call: call, Mints: w.mints}, w.within(at)); ok {
			w.add(event, call, at, none)
		}
		return
	}
	p := w.decoder.programs[key]
	if len(call.Data) > maxData || len(call.Accounts) > maxAccounts {
		w.raw(p, call, at, none, reasonTooLong)
		return
	}
	if !p.batches || !spltoken.IsBatch(call.Data) {
		w.decode(p, call, at, none)
		return
	}
	parts, err := spltoken.SplitBatch(call)
	for i := range parts {
		w.decode(p, &parts[i], at, i)
	}
	if err != nil {
		w.raw(p, call, at, none, err.Error())
	}
}

// decode decodes one instruction that is not a Batch. batch is its index in a Batch, or none.
func (w *walk) decode(p program, call *chain.Call, at place, batch int) {
	outcome, err := p.decode(instruction.View{Tx: w.tx, Call: call, Mints: w.mints})
	switch {
	case err != nil:
		w.raw(p, call, at, batch, err.Error())
	case outcome.Event != nil:
		w.add(outcome.Event, call, at, batch)
	default:
		w.decoder.observer.Ignored(p.label, string(outcome.Ignored))
	}
}

// raw makes a raw event of an instruction. The event's mint is the first of the instruction's
// accounts that is known to be a mint. Without such an account, the event has no mint.
func (w *walk) raw(p program, call *chain.Call, at place, batch int, reason string) {
	w.decoder.observer.Raw(p.label, reason)
	cut := *call
	cut.Data = call.Data[:min(len(call.Data), maxData)]
	cut.Accounts = call.Accounts[:min(len(call.Accounts), maxAccounts)]
	view := instruction.View{Tx: w.tx, Call: &cut, Mints: w.mints}
	event := &eventspb.TokenEvent{Payload: &eventspb.TokenEvent_Raw{Raw: &eventspb.RawInstruction{
		Data: bytes.Clone(cut.Data), Accounts: view.AllAccounts(), Reason: reason,
	}}}
	if mint, ok := w.mints.Of(view); ok {
		event.Mint = mint.Bytes()
	}
	w.add(event, call, at, batch)
}

// add sets what events of all programs have in common, and appends the event.
func (w *walk) add(event *eventspb.TokenEvent, call *chain.Call, at place, batch int) {
	program, _ := w.tx.Program(call)
	event.Position = w.position(at, batch)
	event.BlockTime = w.blockTime
	event.Signature = bytes.Clone(w.tx.Signature[:])
	event.ProgramId = program.Bytes()
	w.events = append(w.events, event)
}

func (w *walk) position(at place, batch int) *eventspb.Position {
	position := &eventspb.Position{Slot: w.slot, InstructionIndex: uint32(at.outer)}
	position.TransactionIndex = optional(w.tx.Index)
	position.InnerInstructionIndex = optional(at.inner)
	position.BatchIndex = optional(batch)
	return position
}

// optional returns a pointer to the index; nil if the index is negative.
func optional(index int) *uint32 {
	if index < 0 {
		return nil
	}
	value := uint32(index)
	return &value
}
