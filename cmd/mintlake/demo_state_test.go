package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestServedDemoRemembersItsChain: a node of its own goes on behind the last slot of its last run,
// on the address it is given.
func TestServedDemoRemembersItsChain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.json")
	const source = "demo:?past=0&tps=10&tokens=5&wallets=16&slot_time=20ms&base_url=http://demo.test"
	run := func(past uint64) (last demoState) {
		cfg, err := demo.ParseSource(source)
		require.NoError(t, err)
		cfg.GeyserAddr, cfg.HTTPAddr = "127.0.0.1:0", "127.0.0.1:0"
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- serveDemo(ctx, cfg, source, path) }()
		require.Eventually(t, func() bool {
			text, err := os.ReadFile(path)
			return err == nil && json.Unmarshal(text, &last) == nil && last.Slot > past+20
		}, time.Minute, 20*time.Millisecond)
		cancel()
		require.NoError(t, <-done)
		return last
	}
	first := run(demoFirstSlot)
	second := run(first.Slot)
	require.Equal(t, first.GenesisHash, second.GenesisHash)
	require.Equal(t, first.GenesisSlot, second.GenesisSlot, "the same chain goes on")
	require.NotEqual(t, first.HTTPAddr, second.HTTPAddr, "a free port each time")
}

// TestADemoWhoseAddressIsTakenTakesAnother, as up starts it: another chain begins behind the last
// slot, as the address is part of the URIs of the one before.
func TestADemoWhoseAddressIsTakenTakesAnother(t *testing.T) {
	cfg := defaults()
	cfg.DataDir, cfg.Source = t.TempDir(), []string{"demo:?past=0&tps=10&tokens=5&wallets=16&slot_time=20ms"}
	path, err := cfg.dataPath("demo.json")
	require.NoError(t, err)
	run := func() (last demoState) {
		mine := *cfg
		s := newSystem(&mine, newLogger(&mine))
		require.NoError(t, s.startDemo(t.Context()))
		begun := s.demoRPC
		require.Eventually(t, func() bool {
			text, err := os.ReadFile(path)
			return err == nil && json.Unmarshal(text, &last) == nil && "http://"+last.HTTPAddr+"/" == begun
		}, time.Minute, 20*time.Millisecond)
		require.NoError(t, s.stop())
		return last
	}
	first := run()
	again := run()
	require.Equal(t, first.HTTPAddr, again.HTTPAddr)
	require.Equal(t, first.GenesisSlot, again.GenesisSlot, "the same chain goes on")
	other, err := net.Listen("tcp", again.HTTPAddr)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	moved := run()
	require.NotEqual(t, again.HTTPAddr, moved.HTTPAddr)
	require.Greater(t, moved.GenesisSlot, again.GenesisSlot)
	require.Equal(t, again.GenesisHash, moved.GenesisHash)
	require.Equal(t, moved.GenesisSlot, run().GenesisSlot, "that one goes on")
}

// TestAChainOfOtherCodeIsNotMadeAgain: its blocks would be others.
func TestAChainOfOtherCodeIsNotMadeAgain(t *testing.T) {
	last := demoState{Source: "demo:", ChainVersion: demo.ChainVersion, GenesisSlot: 400, ParentSlot: 399, Slot: 500}
	cfg := demo.Config{}
	require.Equal(t, last, nextDemo(last, "demo:", &cfg, true))
	require.EqualValues(t, 400, cfg.GenesisSlot)
	last.ChainVersion--
	next := nextDemo(last, "demo:", &cfg, true)
	require.EqualValues(t, 501, next.GenesisSlot)
	require.Equal(t, demo.ChainVersion, next.ChainVersion)
	require.EqualValues(t, 500, cfg.ParentSlot)
}

// TestADamagedDemoStateIsMadeOfTheLog: the next chain has the genesis hash that the log knows, so
// the rooms accept it, and begins behind the last slot.
func TestADamagedDemoStateIsMadeOfTheLog(t *testing.T) {
	genesis := pubkey.Key{7, 31: 7}
	records := []kafka.Record{
		{Topic: schemas.TopicIdentity, Key: []byte(schemas.ChainIdentityKey), Value: marshal(t, &eventspb.ChainIdentity{GenesisHash: genesis[:], ToldBy: "demo"})},
		{Topic: schemas.TopicSlots, Key: []byte("1"), Value: marshal(t, &eventspb.SlotRecord{Slot: demoFirstSlot + 500})},
		{Topic: schemas.TopicSlots, Key: []byte("2"), Value: marshal(t, &eventspb.SlotRecord{Slot: demoFirstSlot + 400})},
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "demo.json")
	writeLog(t, dir, records, func(broker string) {
		for _, text := range []string{"", "{", "null", "[]", `{"slot":"7"}`, "\x00\xff", "folder", "loop"} {
			require.NoError(t, os.RemoveAll(path))
			switch text {
			case "folder":
				require.NoError(t, os.MkdirAll(filepath.Join(path, "inner"), 0o700))
			case "loop":
				require.NoError(t, os.Symlink("demo.json", path))
			default:
				require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			}
			mine := defaults()
			mine.DataDir = dir
			s := newSystem(mine, newLogger(mine))
			s.backends = &backends{brokers: []string{broker}}
			cfg := demo.Config{}
			state, err := resumeDemo(path, "demo:", &cfg, func(string) bool { return true },
				func(damaged error) (demoState, bool, error) { return s.demoOfLog(t.Context(), path, damaged) })
			require.NoError(t, err, text)
			require.Equal(t, genesis, state.GenesisHash, text)
			require.EqualValues(t, demoFirstSlot+502, cfg.StartSlot, text)
			require.Equal(t, genesis, cfg.GenesisHash, text)

			next := demo.Config{}
			state, err = resumeDemo(path, "demo:", &next, func(string) bool { return true }, nil)
			require.NoError(t, err, "a run that ended at once has left a state")
			require.Equal(t, genesis, state.GenesisHash)
			require.Equal(t, cfg.StartSlot, next.StartSlot)
		}
	})
}
