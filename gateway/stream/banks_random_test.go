package stream

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// modelClient is what clients are told, and what of it belongs together.
type modelClient struct {
	*believer
	t *testing.T
	m *model
	// gaps are slots that were told as missing.
	gaps map[uint64]bool
	// mixed allows transactions of several blocks of a slot for a while.
	mixed bool
}

func (c *modelClient) take(p *processed) {
	notes := p.notes
	tell := func(n *note) {
		switch n.kind {
		case noteGap:
			for slot := n.first; slot <= n.slot; slot++ {
				c.gaps[slot] = true
			}
		case noteDead:
			c.dead(n.slot, n.bank, n.why)
		case noteProcessed:
			if n.end.Blockhash != nil {
				c.block(n.slot, base58.Encode(n.end.Blockhash))
			}
		case noteInterim:
			delete(c.void, n.slot)
		case noteEnd, noteFinalized, noteStalled, noteResumed:
			c.t.Fatal("not at processed")
		}
	}
	for i, t := range p.list {
		for len(notes) > 0 && notes[0].before <= i {
			tell(notes[0].note)
			notes = notes[1:]
		}
		m, err := t.message()
		require.NoError(c.t, err)
		c.transaction(t.slot, placeOf(m)+fmt.Sprint(t.failed))
		if !c.mixed && !c.ofOneBlock(t.slot) {
			c.wrong = append(c.wrong, fmt.Sprintf("%d: transactions of two blocks", t.slot))
		}
	}
	for _, n := range notes {
		tell(n.note)
	}
	p.list, p.notes = nil, nil
}

// ofOneBlock returns whether all that is told of a slot is in one block.
func (c *modelClient) ofOneBlock(slot uint64) bool {
	return slices.ContainsFunc(c.m.blocks, func(b *modelBlock) bool {
		if b.slot != slot {
			return false
		}
		all := c.m.keys(b)
		for key := range c.slots[slot] {
			if !all[key] {
				return false
			}
		}
		return true
	})
}

// keys are a block's transactions as the client knows them.
func (m *model) keys(b *modelBlock) map[string]bool {
	if m.keysOf[b] == nil {
		m.keysOf[b] = map[string]bool{}
		for i, x := range b.txs {
			m.keysOf[b][placeOf(m.message(b, i))+fmt.Sprint(x.failed)] = true
		}
	}
	return m.keysOf[b]
}

// replayed is what the node says again of the slots from one on.
func (m *model) replayed(events []modelEvent, from uint64) (list []modelEvent) {
	alive := live(events)
	for _, e := range events {
		if e.kind < modelLogEnd && e.slot >= from && (m.rules.wholeReplay || alive[e.bank]) {
			list = append(list, e)
		}
	}
	return list
}

// run plays the schedule to p, and at the end the log's whole chain.
func (m *model) run(t *testing.T, p *processed, c *modelClient) {
	tell := func(e modelEvent, session int) {
		switch e.kind {
		case modelLogEnd:
			parent := e.bank.parent
			p.hear(heard{&note{kind: noteEnd, slot: e.slot, end: &eventspb.StreamBlock{
				Slot: e.slot, ParentSlot: &parent, Blockhash: e.bank.hash(), ParentBlockhash: e.bank.parentHash,
			}}, true})
		case modelLogDead:
			p.hear(heard{&note{kind: noteDead, slot: e.slot, why: deadFork}, true})
		default:
			p.take(received{message: wireOf(t, m.update(e, session)), at: time.Now()})
		}
		c.take(p)
	}
	session, at := 0, 0
	p.take(received{begins: true})
	for at < len(m.events) {
		stop := len(m.events)
		if session < m.rules.breaks {
			stop = at + m.IntN(len(m.events)-at+1)
		}
		for ; at < stop; at++ {
			tell(m.events[at], session)
		}
		if at == len(m.events) {
			break
		}
		session++
		missed := min(m.IntN(8), len(m.events)-at)
		for _, e := range m.events[at : at+missed] {
			if e.kind >= modelLogEnd {
				tell(e, session)
			}
		}
		at += missed
		p.take(received{begins: true, replays: !m.rules.noReplay})
		if m.rules.noReplay {
			continue
		}
		for _, e := range m.replayed(m.events[:at], p.slot()-min(p.slot(), replayBack)) {
			tell(e, session)
		}
	}
	slots := map[uint64]bool{}
	for _, b := range m.chain {
		slots[b.slot] = true
		tell(modelEvent{modelLogEnd, b.slot, &modelBank{b, 0}, 0}, session)
	}
	for range 2 + replayBack { // the node does not bring these
		next := m.block(m.blocks[len(m.blocks)-1].slot+1, m.blocks[len(m.blocks)-1])
		slots[next.slot] = true
		tell(modelEvent{modelLogEnd, next.slot, &modelBank{next, 0}, 0}, session)
	}
	for _, b := range m.blocks {
		if !slots[b.slot] && (b.slot > m.chain[len(m.chain)-1].slot || m.IntN(2) == 0) {
			tell(modelEvent{modelLogDead, b.slot, &modelBank{b, 0}, 0}, session)
		}
	}
}

// TestRandomBanks: whatever the node executes, clears, calls dead and executes again, in whatever
// order, with and without ids, over several connections: a client that believes what it is told is
// told of each withdrawal once and never has transactions of two blocks of a slot, and it ends with
// the confirmed chain.
func TestRandomBanks(t *testing.T) {
	runs := 3_000
	if testing.Short() {
		runs = 500
	}
	kinds := map[string]int{}
	s, err := New(Config{Addr: "127.0.0.1:0", Processed: ProcessedConfig{Endpoint: "http://127.0.0.1:1"}}, Deps{Keys: &keys.Static{}, Offsets: newTopic(), OpenTail: newTopic().open})
	require.NoError(t, err)
	for seed := uint64(0); seed < uint64(runs); seed++ {
		m := &model{Rand: rand.New(rand.NewPCG(seed, 29)), keysOf: map[*modelBlock]map[string]bool{}}
		m.rules = modelRules{ids: m.IntN(2) == 0, reorder: m.IntN(2) == 0, deadIDs: m.IntN(3) == 0, breaks: m.IntN(3), wholeReplay: m.IntN(2) == 0, noReplay: m.IntN(4) == 0}
		m.rules.noCreated = !m.rules.ids && m.IntN(3) == 0
		if m.rules.noCreated {
			m.rules.reorder, m.rules.breaks = false, 0
		}
		m.schedule()
		p, err := newProcessed(s)
		require.NoError(t, err)
		c := &modelClient{believer: newBeliever(), t: t, m: m, gaps: map[uint64]bool{}, mixed: m.rules.noCreated}
		m.run(t, p, c)

		for _, death := range c.deaths {
			kinds[strings.SplitN(death, " ", 3)[2]]++
		}
		require.Empty(t, c.wrong, "seed %d: %+v", seed, m.rules)
		// The node may never send again what a break took.
		lossy := m.rules.breaks > 0 && (m.rules.noReplay || m.rules.reorder && !m.rules.wholeReplay)
		for _, b := range m.chain {
			want := m.keys(b)
			switch {
			case c.gaps[b.slot] && m.rules.noCreated:
				// What two blocks share may have been told with the first.
			case lossy, c.gaps[b.slot] && m.rules.breaks > 0:
				for key := range c.slots[b.slot] {
					require.True(t, want[key], "seed %d: %+v: slot %d: of another block", seed, m.rules, b.slot)
				}
			default:
				require.Equal(t, want, c.slots[b.slot], "seed %d: %+v: slot %d", seed, m.rules, b.slot)
				require.Equal(t, base58.Encode(b.hash()), c.hashes[b.slot], "seed %d: %+v: slot %d", seed, m.rules, b.slot)
			}
			delete(c.slots, b.slot)
		}
		require.Empty(t, slices.Collect(maps.Keys(c.slots)), "seed %d: %+v: slots without a confirmed block", seed, m.rules)
	}
	for _, why := range []string{whyReplaced, whyOrphan, whyConfirmed, whyUnknown, deadFork} {
		require.NotZero(t, kinds[why], why)
	}
}
