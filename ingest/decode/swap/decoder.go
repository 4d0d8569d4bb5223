package swap

import (
	"sync"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Observer is told of swaps that yield no leg. Its method may be called from several goroutines.
type Observer interface {
	// Ignored is an instruction of a venue that exchanged nothing, or whose leg could not be read.
	Ignored(venue, reason string)
}

// Reasons of instructions without a leg.
const (
	// ReasonNothing: nothing went into or out of the vaults.
	ReasonNothing = "nothing_exchanged"
	// ReasonOneSided: tokens moved, and not in at one vault and out at the other.
	ReasonOneSided = "one_sided"
	// ReasonMint: no balance and no account says the mint of a vault.
	ReasonMint = "mint_unknown"
	// ReasonVault: what should be a vault belongs to a signer, so the program's accounts stand in
	// another order than is known.
	ReasonVault = "vault_of_signer"
	// ReasonAccounts: an account of the leg is missing.
	ReasonAccounts = "account_missing"
)

// Reasons are all of them.
func Reasons() []string {
	return []string{ReasonNothing, ReasonOneSided, ReasonMint, ReasonVault, ReasonAccounts}
}

// Result is what one transaction's instructions say of swaps, in the order of execution.
type Result struct {
	Legs   []*eventspb.SwapLeg
	Routes []*eventspb.Route
	// Pools are those that the transaction creates.
	Pools []*eventspb.Pool
}

// Decoder finds swaps. It holds no state between transactions and may be used by many goroutines at
// once.
type Decoder struct {
	venues      []Venue
	aggregators []Aggregator
	table       table
	observer    Observer
	scratch     sync.Pool // of *walk
}

// New makes a decoder of the venues and aggregators; observer may be nil. A program may stand in
// one entry only: of several the last counts, which a test of the tables refuses.
func New(venues []Venue, aggregators []Aggregator, observer Observer) *Decoder {
	d := &Decoder{venues: venues, aggregators: aggregators, observer: observer}
	all := otherPrograms()
	for i := range venues {
		all = append(all, known{key: pubkey.MustParse(venues[i].Program), kind: isVenue, index: int16(i)})
	}
	for i := range aggregators {
		all = append(all, known{key: pubkey.MustParse(aggregators[i].Program), kind: isAggregator, index: int16(i)})
	}
	d.table = newTable(all)
	d.scratch.New = func() any { return &walk{decoder: d, ledger: ledger{venues: venues}} }
	return d
}

// walk is the work on one transaction.
type walk struct {
	decoder   *Decoder
	programs  programs
	ledger    ledger
	slot      uint64
	blockTime int64
	event     Event
	out       Result
	// curves are the legs whose lamports are judged once all are known.
	curves []curveLeg
}

// Decode returns the swaps of one transaction of the block at slot. The result shares no memory
// with tx.
func (d *Decoder) Decode(tx *chain.Transaction, slot uint64, blockTime int64) Result {
	if tx.Failed || tx.Vote {
		return Result{}
	}
	w, _ := d.scratch.Get().(*walk)
	defer d.scratch.Put(w)
	if !w.programs.read(&d.table, tx.Keys) {
		return Result{}
	}
	w.slot, w.blockTime, w.out, w.curves = slot, blockTime, Result{}, w.curves[:0]
	l := &w.ledger
	l.layOut(tx, &w.programs)
	for i := range l.nodes {
		if n := &l.nodes[i]; n.venue >= 0 && len(n.call.Data) <= maxData && len(n.call.Accounts) <= maxKeys {
			w.instruction(i, &d.venues[n.venue])
		}
	}
	w.settleCurves()
	w.routes()
	l.tx = nil
	return w.out
}

// instruction reads one instruction of a venue.
func (w *walk) instruction(at int, v *Venue) {
	call := w.ledger.nodes[at].call
	for i := range v.Instructions {
		ins := &v.Instructions[i]
		if !ins.match(call) {
			continue
		}
		switch {
		case ins.Kind == Create:
			for j := range ins.Shapes {
				w.create(at, v, ins, &ins.Shapes[j])
			}
		case ins.ByEvent:
			w.byEvents(at, v, ins)
		default:
			w.shapes(at, v, ins)
		}
		return
	}
}

func (w *walk) shapes(at int, v *Venue, ins *Instruction) {
	l := &w.ledger
	shapes := ins.Shapes
	if ins.Find != nil {
		l.shapes = ins.Find(&Input{tx: l, at: at}, l.shapes[:0])
		shapes = l.shapes
	}
	for i := range shapes {
		index := none
		if len(shapes) > 1 {
			index = i
		}
		if reason := w.leg(at, index, v, ins, &shapes[i]); reason != "" && w.decoder.observer != nil {
			w.decoder.observer.Ignored(v.Name, reason)
		}
	}
}
