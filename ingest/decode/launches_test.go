package decode_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/decode/launchpads"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// told are the launches and graduations of a transaction.
func told(tx *chain.Transaction, block *chain.Block) (events []*eventspb.TokenEvent) {
	for _, event := range decode.New(nil).Decode(tx, block.Slot, block.BlockTime) {
		if kind := schemas.KindOf(event); kind == schemas.KindLaunch || kind == schemas.KindGraduate {
			events = append(events, event)
		}
	}
	return events
}

// pumpsOwnEvents are the calls of pump to itself with an event of this tag, without both prefixes.
func pumpsOwnEvents(tx *chain.Transaction, tag string) (events [][]byte) {
	const prefix = "\xe4\x45\xa5\x2e\x51\xcb\x9a\x1d"
	for i := range tx.Instructions {
		for _, call := range tx.Instructions[i].Inner {
			if program, ok := tx.Program(&call); ok && program.String() == "6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P" && bytes.HasPrefix(call.Data, []byte(prefix+tag)) {
				events = append(events, call.Data[16:])
			}
		}
	}
	return events
}

// TestLaunchesAreWhatTheProgramTold: in all recorded blocks and transactions, each launch and each
// graduation of pump is what the program's own event says, and there is none without an event.
func TestLaunchesAreWhatTheProgramTold(t *testing.T) {
	blocks := []*chain.Block{
		loadBlock(t, "data/blocks/254170887.json.gz"), loadBlock(t, "data/blocks/332254855.confirmedblock.pb"), loadBlock(t, "data/blocks/361774429.json.gz"),
	}
	for _, block := range loadTransactions(t) {
		blocks = append(blocks, block)
	}
	launched, graduated := 0, 0
	for _, block := range blocks {
		for i := range block.Transactions {
			tx := &block.Transactions[i]
			if tx.Failed || tx.Vote {
				continue
			}
			created, migrated := pumpsOwnEvents(tx, "\x1b\x72\xa9\x4d\xde\xeb\x63\x76"), pumpsOwnEvents(tx, "\xbd\xe9\x5d\xb9\x5c\x94\xea\x94")
			events := told(tx, block)
			require.Len(t, events, len(created)+len(migrated))
			for _, event := range events {
				if event.GetLaunch() != nil {
					launched++
					requireCreated(t, event, created)
				} else {
					graduated++
					requireMigrated(t, event, migrated)
				}
			}
		}
	}
	require.Equal(t, []int{2, 1}, []int{launched, graduated})
}

// requireCreated: CreateEvent is three texts, mint, bonding curve, user, creator.
func requireCreated(t *testing.T, event *eventspb.TokenEvent, created [][]byte) {
	t.Helper()
	require.Len(t, created, 1)
	rest := created[0]
	for range 3 {
		rest = rest[4+binary.LittleEndian.Uint32(rest):]
	}
	require.Equal(t, rest[:32], event.GetMint())
	require.Equal(t, rest[32:64], event.GetLaunch().GetCurve())
	require.Equal(t, rest[96:128], event.GetLaunch().GetCreator())
	require.Equal(t, schemas.LaunchpadPump, event.GetLaunch().GetLaunchpad())
}

// requireMigrated: CompletePumpAmmMigrationEvent is user, mint, three amounts, bonding curve, time,
// pool.
func requireMigrated(t *testing.T, event *eventspb.TokenEvent, migrated [][]byte) {
	t.Helper()
	require.Len(t, migrated, 1)
	require.Equal(t, migrated[0][32:64], event.GetMint())
	require.EqualValues(t, binary.LittleEndian.Uint64(migrated[0][64+24+32:]), event.GetBlockTime())
	require.Equal(t, migrated[0][64+24+32+8:][:32], event.GetGraduate().GetPool())
}

// TestOnlyCallsOfItsOwnCount: a migration that does nothing is told from one that calls the AMM by
// how deep calls stand.
func TestOnlyCallsOfItsOwnCount(t *testing.T) {
	pump := launchpads.All()[0]
	tx := &chain.Transaction{Keys: []pubkey.Key{pubkey.MustParse(pump.Program), {9}}}
	migrate := chain.Call{Data: []byte("\x9b\xea\xe7\x92\xec\x9e\xa2\x1e")}
	for i := range 12 {
		tx.Keys = append(tx.Keys, pubkey.Key{byte(i), 1})
		migrate.Accounts = append(migrate.Accounts, byte(i+2))
	}
	amm := 2 + 8 // the place of the AMM's program among the keys
	call := func(program, height int) chain.Call { return chain.Call{ProgramIndex: program, StackHeight: height} }
	at := func(height int) chain.Call {
		c := migrate
		c.StackHeight = height
		return c
	}
	outer := func(call chain.Call, inner ...chain.Call) []chain.Instruction {
		return []chain.Instruction{{Call: call, Inner: inner}}
	}
	for name, c := range map[string]struct {
		instructions []chain.Instruction
		want         int
	}{
		"outer, does it":                        {outer(at(1), call(amm, 2)), 1},
		"outer, does nothing":                   {outer(at(1)), 0},
		"inner, does it":                        {outer(call(1, 1), at(2), call(amm, 3)), 1},
		"inner, does nothing, another calls it": {outer(call(1, 1), at(2), call(amm, 2)), 0},
		"inner, after the call":                 {outer(call(1, 1), call(amm, 2), at(2)), 0},
		"inner, twice":                          {outer(call(1, 1), at(2), call(amm, 3), at(2)), 1},
		"inner, depths unknown":                 {outer(call(1, 0), at(0), call(amm, 0)), 1},
		"another instruction calls it":          {append(outer(at(1)), outer(call(amm, 1))...), 0},
	} {
		tx.Instructions = c.instructions
		require.Len(t, told(tx, &chain.Block{Slot: 1, BlockTime: 5}), c.want, name)
		tx.Failed = true
		require.Empty(t, told(tx, &chain.Block{Slot: 1}), "%s, failed", name)
		tx.Failed = false
	}
}

// FuzzLaunchpads: whatever the data, accounts and calls are, events are small, well-formed and the
// same twice.
func FuzzLaunchpads(f *testing.F) {
	for _, tag := range []string{"\x18\x1e\xc8\x28\x05\x1c\x07\x77", "\x9b\xea\xe7\x92\xec\x9e\xa2\x1e", "\xaf\xaf\x6d\x1f\x0d\x98\x9b\xed", "\x9c\xa9\xe6\x67\x35\xe4\x50\x40"} {
		f.Add([]byte(tag+"\x01\x00\x00\x00a\x01\x00\x00\x00b\x01\x00\x00\x00cdddddddddddddddddddddddddddddddd"), []byte("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e"), uint8(9))
	}
	f.Fuzz(func(t *testing.T, data, accounts []byte, inner uint8) {
		for _, launchpad := range launchpads.All() {
			tx := &chain.Transaction{Keys: []pubkey.Key{pubkey.MustParse(launchpad.Program)}}
			for i := range 14 {
				tx.Keys = append(tx.Keys, pubkey.Key{byte(i), 1})
			}
			call := chain.Call{Data: data, Accounts: accounts}
			tx.Instructions = []chain.Instruction{{Call: call, Inner: []chain.Call{call, {ProgramIndex: int(inner)}, {ProgramIndex: -1}, {ProgramIndex: 1 << 30}}}}
			events := decode.New(nil).Decode(tx, 9, 9)
			again := decode.New(nil).Decode(tx, 9, 9)
			require.Len(t, again, len(events))
			for i, event := range events {
				checkEvent(t, event, 200)
				require.Equal(t, event.String(), again[i].String())
			}
		}
	})
}
