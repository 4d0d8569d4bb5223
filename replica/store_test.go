package replica

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica/search"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// heard is a listener that only remembers: of each mint the last change that says what it is,
// marked if a later one says that it is the same.
type heard map[uint32]Change

func (h heard) Apply(changes []Change) {
	for _, change := range changes {
		if change.Was != (h[change.ID].Token != nil) {
			panic("told wrongly whether the mint was a member before")
		}
		if change.Same {
			told := h[change.ID]
			if told.Token == nil {
				panic("told that nothing changed of what was never told")
			}
			told.Same = true
			h[change.ID] = told
			continue
		}
		if change.Token != nil {
			token := *change.Token
			change.Token = &token
		}
		h[change.ID] = change
	}
}

// searchedOf is what a token is searched by.
func searchedOf(t *registry.Token, extensions []string) []any {
	return []any{t.Mint, extensions, t.Symbol, t.Name, t.IsToken22, t.Tags, t.FirstSeenAt, t.DailyVolumeUSD}
}

// indexed is an index that only remembers: of each mint the last document.
type indexed map[uint32]search.Document

func (x indexed) Apply(documents []search.Document) {
	for _, document := range documents {
		x[document.ID] = document
	}
}
func (x indexed) Fill(documents []search.Document) { x.Apply(documents) }
func (x indexed) Filled()                          {}

// snapshotOf is a Snapshot of states, from several goroutines.
type snapshotOf map[pubkey.Key]*registry.State

func (s snapshotOf) Load(_ context.Context, _ []pubkey.Key, each func(pubkey.Key, []registry.Fact)) error {
	done := make(chan struct{})
	for mint, state := range s {
		go func() {
			lent := append([]registry.Fact{}, state.Facts()...)
			each(mint, lent)
			clear(lent)
			done <- struct{}{}
		}()
	}
	for range s {
		<-done
	}
	return nil
}

func foldInto(states map[pubkey.Key]*registry.State, facts []registry.Fact) {
	for _, fact := range facts {
		if states[fact.Mint] == nil {
			states[fact.Mint] = new(registry.State)
		}
		states[fact.Mint].Apply(fact)
	}
}

// said fails unless what the index was told last is what is searched for now.
func said(t *rapid.T, r *Replica, told heard, index indexed) {
	require.Len(t, index, len(told))
	for id, change := range told {
		token := r.Token(id)
		require.Equal(t, token == nil, change.Token == nil)
		if token != nil {
			require.Equal(t, searchedOf(token, extensionsOf(r, id)), searchedOf(change.Token, change.Extensions))
		}
		document := index[id]
		require.Equal(t, change.Mint, document.Mint)
		if token == nil {
			require.Nil(t, document.Token)
		} else {
			require.Equal(t, searchedOf(token, extensionsOf(r, id)), searchedOf(document.Token, document.Extensions))
		}
	}
}

func extensionsOf(r *Replica, id uint32) (kinds []string) {
	r.Row(id, func(row *Row) {
		for _, kind := range row.Extensions {
			kinds = append(kinds, strings.Clone(kind))
		}
	})
	return kinds
}

// TestStoreIsAMapOfStates: whatever comes by snapshot (once or twice) and whatever as facts, in
// batches of any size, before and after the copy is live, the packed store says what registry.State
// says, the index was told so, and the root is that of the replay.
func TestStoreIsAMapOfStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var facts []registry.Fact
		for _, message := range registrytest.Messages(60).Draw(t, "messages") {
			facts = append(facts, message.Facts()...)
		}
		durable := snapshotOf{}
		foldInto(durable, facts[:rapid.IntRange(0, len(facts)).Draw(t, "durable")])
		told, index := heard{}, indexed{}
		s := newStore(index, []Listener{told})
		r := &Replica{store: s}
		for range rapid.IntRange(0, 2).Draw(t, "loads") {
			require.NoError(t, s.load(t.Context(), durable))
		}
		liveFrom := rapid.IntRange(0, len(facts)).Draw(t, "live from")
		for from := 0; from < len(facts); {
			to := min(from+rapid.IntRange(1, 20).Draw(t, "batch"), len(facts))
			if from >= liveFrom && !s.live {
				s.goLive()
			}
			s.apply(facts[from:to])
			if s.live {
				said(t, r, told, index)
			}
			if rapid.IntRange(0, 5).Draw(t, "base") == 0 {
				s.makeBase(t.Context())
			}
			from = to
		}
		if !s.live {
			s.goLive()
		}
		s.makeBase(t.Context())
		s.seal(0, true)
		got, known := s.root()
		require.True(t, known)
		want := root.NewReplay(root.EverySlot)
		want.Apply(facts)
		require.Equal(t, want.Root(), got)

		states := map[pubkey.Key]*registry.State{}
		foldInto(states, facts)
		members := 0
		for mint, state := range states {
			token, member := state.Token(mint)
			id, isMember := r.ID(mint)
			require.Equal(t, member, isMember)
			if !member {
				require.Nil(t, r.Lookup(mint))
				require.False(t, r.Row(id, func(*Row) { t.Fatal("has a token of no member") }))
				continue
			}
			require.True(t, r.Row(id, func(row *Row) {
				require.Equal(t, &Row{ID: id, Mint: mint, Token: &token, Extensions: state.Extensions()}, row)
			}))
			members++
			require.Equal(t, &token, r.Lookup(mint))
			require.Equal(t, &token, r.Token(id))
			if told[id].Same {
				require.Equal(t, mint, told[id].Mint)
				require.Equal(t, searchedOf(&token, state.Extensions()), searchedOf(told[id].Token, told[id].Extensions))
			} else {
				require.Equal(t, Row{ID: id, Mint: mint, Token: &token, Extensions: state.Extensions()}, told[id].Row)
			}
		}
		require.Equal(t, members, s.table.tokens())
		for id, change := range told {
			if change.Token == nil {
				require.Nil(t, r.Token(id))
			}
		}
	})
}
