package apitest

import (
	"context"
	"fmt"
	"sync"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/api/history"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// History is a history.Reader in memory.
type History struct {
	mu   sync.Mutex
	rows map[pubkey.Key][]history.Row
	err  error
}

var _ history.Reader = (*History)(nil)

// Fail makes every read fail with err, until Fail is called with nil.
func (h *History) Fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

func (h *History) add(row history.Row) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rows == nil {
		h.rows = map[pubkey.Key][]history.Row{}
	}
	mint := row.Facts[0].Mint
	h.rows[mint] = append(h.rows[mint], row)
}

// Event adds the row of an instruction.
func (h *History) Event(event *eventspb.TokenEvent) {
	h.add(history.Row{
		Position: schemas.PositionOf(event.GetPosition(), event.GetSignature()), Place: schemas.PackPlace(event.GetPosition()),
		Kind: string(schemas.KindOf(event)), Source: "instruction", Instruction: event.GetInstruction(), Signature: base58.Encode(event.GetSignature()),
		TransactionIndex: int32(event.GetPosition().GetTransactionIndex()), BlockTime: event.GetBlockTime(), Facts: registry.FactsOfEvent(event),
	})
}

// Read adds the row of a read: facts of one position that are from no instruction.
func (h *History) Read(enrichment *eventspb.Enrichment, source, kind string) {
	facts := registry.FactsOfEnrichment(enrichment)
	h.add(history.Row{
		Position: facts[0].Position, Place: facts[0].Position.Order, Kind: kind, Source: source, TransactionIndex: -1, Facts: facts,
	})
}

// Window implements history.Reader.
func (h *History) Window(_ context.Context, mint pubkey.Key, to uint64, _ int) (rows []history.Row, from uint64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range h.rows[mint] {
		if row.Position.Slot <= to {
			rows = append(rows, row)
		}
	}
	return rows, 0, h.err
}

// Held implements history.Reader.
func (h *History) Held(_ context.Context, mint pubkey.Key, to uint64, _ []string) ([]history.Held, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var state registry.State
	origins := map[string]history.Origin{}
	for _, row := range h.rows[mint] {
		for _, fact := range row.Facts {
			if row.Position.Slot <= to && state.Apply(fact) {
				origins[fmt.Sprint(fact.Register, fact.Item)] = history.OriginOf(&row)
			}
		}
	}
	var held []history.Held
	for _, fact := range state.Facts() {
		held = append(held, history.Held{Fact: fact, Origin: origins[fmt.Sprint(fact.Register, fact.Item)]})
	}
	return held, h.err
}
