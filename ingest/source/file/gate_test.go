package file

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source/parse"
)

func status(slot uint64, status parse.SlotStatus, bank uint64) parse.Update {
	parent := slot - 1
	return parse.Update{Kind: parse.Slot, Slot: slot, Status: status, Parent: &parent, Bank: chain.Bank{ID: bank}}
}

func content(slot, bank uint64) parse.Update {
	parent := slot - 1
	return parse.Update{Kind: parse.Block, Slot: slot, Block: &chain.Block{Slot: slot, ParentSlot: &parent, Bank: chain.Bank{ID: bank}}}
}

// banks are the slots and banks of updates.
func banks(updates []parse.Update) (list [][2]uint64) {
	for _, u := range updates {
		list = append(list, [2]uint64{u.Slot, u.Block.Bank.ID})
	}
	return list
}

// TestTheGateOpensForTheWinner: a confirmed slot confirms its ancestors, before itself.
func TestTheGateOpensForTheWinner(t *testing.T) {
	var g gate
	for slot := uint64(10); slot < 13; slot++ {
		for _, bank := range []uint64{slot, 100 + slot} {
			require.Empty(t, g.status(status(slot, parse.SlotCreatedBank, bank)))
			require.Empty(t, g.content(content(slot, bank), 1))
		}
	}
	require.Equal(t, [][2]uint64{{10, 110}, {11, 111}, {12, 12}}, banks(g.status(status(12, parse.SlotConfirmed, 12))))
	require.Equal(t, [][2]uint64{{12, 12}}, banks(g.content(content(12, 12), 1)), "a repeat")
	require.Empty(t, g.content(content(12, 112), 1), "the loser's last words")
	require.Zero(t, g.bytes)
	require.Equal(t, 4, g.dropped)
}

// TestTheGateAndOtherNodes: after a reconnection another node numbers its banks otherwise.
func TestTheGateAndOtherNodes(t *testing.T) {
	var g gate
	g.status(status(10, parse.SlotCreatedBank, 31))
	require.Empty(t, g.content(content(10, 31), 1))
	require.Len(t, g.status(status(10, parse.SlotConfirmed, 5)), 1)
}

// TestTheGateOpensWhereNothingIsConfirmed: such a recording is believed, in the order of its slots.
// At the latest it opens when too much waits.
func TestTheGateOpensWhereNothingIsConfirmed(t *testing.T) {
	var g gate
	var passed []parse.Update
	for slot := uint64(10); slot < 15; slot++ {
		passed = append(passed, g.status(status(slot, parse.SlotCreatedBank, 0))...)
		passed = append(passed, g.content(content(slot, 0), 1)...)
	}
	require.Empty(t, passed)
	require.Equal(t, [][2]uint64{{10, 0}, {11, 0}, {12, 0}, {13, 0}, {14, 0}}, banks(g.end()))

	g = gate{}
	for slot := uint64(10); slot < 10+2*maxHeldSlots; slot++ {
		passed = append(passed, g.status(status(slot, parse.SlotCreatedBank, 0))...)
		passed = append(passed, g.content(content(slot, 0), 1)...)
	}
	require.Len(t, append(passed, g.end()...), 2*maxHeldSlots)

	g = gate{}
	g.status(status(10, parse.SlotCreatedBank, 0))
	require.Len(t, g.content(content(10, 0), maxHeldBytes+1), 1)
}

// TestTheGateForgets: where slots are confirmed, what waits for too long is dropped.
func TestTheGateForgets(t *testing.T) {
	var g gate
	g.status(status(9, parse.SlotConfirmed, 0))
	for slot := uint64(11); slot < 11+4*maxHeldSlots; slot += 2 {
		require.Empty(t, g.status(status(slot, parse.SlotCreatedBank, 0)))
		require.Empty(t, g.content(content(slot, 0), 1000))
		require.LessOrEqual(t, len(g.slots), maxHeldSlots+1)
		require.LessOrEqual(t, g.bytes, (maxHeldSlots+1)*1000)
	}
	require.Empty(t, g.end())
	require.Zero(t, g.bytes)
	require.Equal(t, 2*maxHeldSlots, g.dropped)
}
