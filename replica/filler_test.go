package replica

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica/search"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// calls is a Filler that remembers how it was told of which mint.
type calls []string

func (c *calls) told(how string, changes []Change) {
	for i := range changes {
		*c = append(*c, how+" "+changes[i].Mint.String())
	}
}

func (c *calls) Apply(changes []Change) { c.told("apply", changes) }
func (c *calls) Fill(changes []Change)  { c.told("fill", changes) }
func (c *calls) Filled()                { *c = append(*c, "filled") }

// indexCalls are those of an index.
type indexCalls []string

func (c *indexCalls) told(how string, documents []search.Document) {
	for i := range documents {
		*c = append(*c, how+" "+documents[i].Mint.String())
	}
}

func (c *indexCalls) Apply(documents []search.Document) { c.told("apply", documents) }
func (c *indexCalls) Fill(documents []search.Document)  { c.told("fill", documents) }
func (c *indexCalls) Filled()                           { *c = append(*c, "filled") }

// onlyApplies is a Listener that is no Filler.
type onlyApplies struct{ calls calls }

func (l *onlyApplies) Apply(changes []Change) { l.calls.Apply(changes) }

// TestWhoFillsIsFilledUntilTheCopyIsLive: whether a mint comes by the snapshot or by the topics.
func TestWhoFillsIsFilledUntilTheCopyIsLive(t *testing.T) {
	const first, second, third = "So11111111111111111111111111111111111111112", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB"
	member := func(text string) []registry.Fact {
		mint := pubkey.MustParse(text)
		at := schemas.Position{Slot: 5}
		return []registry.Fact{
			{Mint: mint, Register: registry.RegisterProgram, Position: at, Value: schemas.ProgramToken}, {Mint: mint, Register: registry.RegisterDecimals, Position: at, Value: "6"},
		}
	}
	snapshot := snapshotOf{}
	foldInto(snapshot, member(first))
	var index indexCalls
	var filler calls
	var plain onlyApplies
	s := newStore(&index, []Listener{&filler, &plain})
	require.NoError(t, s.load(t.Context(), snapshot))
	s.apply(member(second))
	s.goLive()
	s.apply(member(third))

	want := calls{"fill " + first, "fill " + second, "filled", "apply " + third}
	require.Equal(t, indexCalls(want), index)
	require.Equal(t, want, filler)
	require.Equal(t, calls{"apply " + first, "apply " + second, "apply " + third}, plain.calls)
}
