package swap

import (
	"sync"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Observer is called for swaps without a leg. Its method may be called concurrently.
type Observer interface {
	// Ignored is called for an instruction of a venue that exchanged nothing, or whose leg or
	// change of liquidity could not be read.
	Ignored(venue, reason string)
}

// Reasons of instructions without a leg.
const (
	// ReasonNothing: no tokens moved into or out of the vaults.
	ReasonNothing = "nothing_exchanged"
	// ReasonOneSided: tokens moved, but not into one vault and out of the other.
	ReasonOneSided = "one_sided"
	// ReasonMint: neither a balance nor an account tells the mint of a vault.
	ReasonMint = "mint_unknown"
	// ReasonVault: the account in the place of a vault belongs to a signer, so the accounts are in
	// an unknown order.
	ReasonVault = "vault_of_signer"
	// ReasonAccounts: an account of the leg is missing.
	ReasonAccounts = "account_missing"
)

// Reasons returns all reasons.
func Reasons() []string {
	return []string{ReasonNothing, ReasonOneSided, ReasonMint, ReasonVault, ReasonAccounts}
}

// Result is what one transaction's instructions state about swaps, in the order of execution.
type Result struct {
	Legs   []*eventspb.SwapLeg
	Routes []*eventspb.Route
	// Pools are the pools that the transaction creates.
	Pools []*eventspb.Pool
	// Liquidity is what was put into pools, or taken out, for a share of them.
	Liquidity []*eventspb.LiquidityChange
}

// Decoder finds swaps. It holds no state between transactions, and its methods may be called
// concurrently.
type Decoder struct {
	venues      []Venue
	aggregators []Aggregator
	table       table
	observer    Observer
	scratch     sync.Pool // of *walk
}

// New returns a decoder of the venues and aggregators. observer may be nil. Each program must be in
// only one entry, because the decoder would use only the last one. A test checks the tables for
// that.
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

// walk decodes one transaction. It is reused for other transactions.
type walk struct {
	decoder   *Decoder
	programs  programs
	ledger    ledger
	slot      uint64
	blockTime int64
	event     Event
	out       Result
	// curves are the legs that settleCurves checks once all legs are known.
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

// instruction decodes one instruction of a venue, if it is in the venue's table.
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
				if ins.Adds {
					w.changes(at, v, ins, &ins.Shapes[j])
				}
			}
		case ins.Kind != Swap:
			w.liquidity(at, v, ins)
		case ins.ByEvent:
			w.byEvents(at, v, ins)
		default:
			w.legs(at, v, ins)
		}
		return
	}
}

// liquidity makes the changes of an instruction that adds or removes liquidity.
func (w *walk) liquidity(at int, v *Venue, ins *Instruction) {
	for i := range ins.Shapes {
		if reason := w.changes(at, v, ins, &ins.Shapes[i]); reason != "" && w.decoder.observer != nil {
			w.decoder.observer.Ignored(v.Name, reason)
		}
	}
}

// legs makes the legs of an instruction whose amounts are token transfers.
func (w *walk) legs(at int, v *Venue, ins *Instruction) {
	l := &w.ledger
	shapes := ins.Shapes
	if ins.Find != nil {
		l.shapes = ins.Find(&Input{ledger: l, at: at}, l.shapes[:0])
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
