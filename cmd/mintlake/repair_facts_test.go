package main

import (
	"bytes"
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// liedTo is a log in which an upstream lied about two of three mints, once at a plausible slot.
func liedTo(t *testing.T) (records []kafka.Record, honest []registry.Fact) {
	t.Helper()
	read := func(mint int, slot, supply uint64, upstream string) {
		fact := &eventspb.Enrichment{Mint: registrytest.Mint(mint), Slot: slot, Upstream: upstream, Fact: &eventspb.Enrichment_MintAccount{
			MintAccount: &eventspb.MintAccount{ProgramId: registrytest.Mint(9), Decimals: 6, Supply: supply, MintAuthority: registrytest.Mint(8)},
		}}
		record, err := factrecord.Record(fact, time.Now())
		require.NoError(t, err)
		records = append(records, record)
		if upstream != "liar.example" {
			honest = append(honest, registry.FactsOfEnrichment(fact)...)
		}
	}
	for mint := 1; mint <= 3; mint++ {
		read(mint, 100, 500, "rpc.example")
	}
	read(1, math.MaxUint64-1, 1, "liar.example")
	read(1, 210, 2, "liar.example")
	read(1, 211, 3, "liar.example")
	read(2, 205, 4, "liar.example")
	read(1, 150, 600, "rpc.example")
	event := &eventspb.TokenEvent{
		Position: &eventspb.Position{Slot: 160, TransactionIndex: proto.Uint32(3)}, Mint: registrytest.Mint(2), ProgramId: registrytest.Mint(9), BlockTime: 1_700_000_000,
		Payload: &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: 5}},
	}
	honest = append(honest, registry.FactsOfEvent(event)...)
	return append(records,
		kafka.Record{Topic: schemas.TopicTokenEvents, Key: []byte(pubkey.Key(event.GetMint()).String()), Value: marshal(t, event)},
		kafka.Record{Topic: schemas.TopicSlots, Key: []byte("220"), Value: marshal(t, &eventspb.SlotRecord{Slot: 220, Status: eventspb.SlotStatus_SLOT_STATUS_INGESTED})},
	), honest
}

func runRepairFacts(t *testing.T, broker string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := rootCommand()
	cmd.SetOut(&out)
	cmd.SetArgs(append([]string{"repair", "facts", "--log-level", "error", "--kafka-brokers", broker}, args...))
	err := cmd.ExecuteContext(context.WithoutCancel(t.Context()))
	return out.String(), err
}

// TestRepairFactsTakesBackWhatAnUpstreamSaid: it shows first, takes back only with --yes, and the
// log's root is then that of a log without the lies.
func TestRepairFactsTakesBackWhatAnUpstreamSaid(t *testing.T) {
	records, honest := liedTo(t)
	writeLog(t, t.TempDir(), records, func(broker string) {
		replay := root.NewReplay(root.EverySlot)
		replay.Apply(honest)
		want := replay.Root()
		want.Slot = 220
		rootOf := func() string {
			out, err := runRoot(t, "--kafka-brokers", broker)
			require.NoError(t, err)
			return out
		}
		require.NotContains(t, rootOf(), want.Hash.String())

		one, two := pubkey.Key(registrytest.Mint(1)).String(), pubkey.Key(registrytest.Mint(2)).String()
		out, err := runRepairFacts(t, broker, "--upstream", "LIAR.example")
		require.NoError(t, err)
		require.Contains(t, out, one+": slots 210 to 211, slot 18446744073709551614\n")
		require.Contains(t, out, two+": slot 205\n")
		require.Contains(t, out, "of 2 mints, at slots 205 to 18446744073709551614 in 3 ranges\nnothing is written; --yes takes them back\n")
		require.NotContains(t, rootOf(), want.Hash.String())

		out, err = runRepairFacts(t, broker, "--upstream", "other.example", "--yes")
		require.NoError(t, err)
		require.Contains(t, out, "there is nothing to take back")

		_, err = runRepairFacts(t, broker, "--upstream", "liar.example", "--yes", "--reason", "a test")
		require.NoError(t, err)
		require.Equal(t, line(want), rootOf())
		requests := requestsIn(t, broker)
		require.Len(t, requests, 2)
		require.EqualValues(t, 212, requests[one].GetSlot(), "behind what was taken back; nothing waits for a slot that the chain has not reached")
		require.EqualValues(t, 206, requests[two].GetSlot())
		require.Equal(t, eventspb.RequestReason_REQUEST_REASON_RETRACTED, requests[one].GetReason())

		out, err = runRepairFacts(t, broker, "--upstream", "liar.example", "--yes")
		require.NoError(t, err)
		require.Contains(t, out, "there is nothing to take back", "a second time")
	})
}

func requestsIn(t *testing.T, broker string) map[string]*eventspb.EnrichmentRequest {
	t.Helper()
	cfg := defaults()
	cfg.Kafka.Brokers = []string{broker}
	log, done, err := openLog(cfg, newLogger(cfg), "test", nil)
	require.NoError(t, err)
	defer done()
	requests := map[string]*eventspb.EnrichmentRequest{}
	require.NoError(t, log.Read(t.Context(), []string{schemas.TopicEnrichmentRequests}, func(record *kafka.Record) {
		request := new(eventspb.EnrichmentRequest)
		require.NoError(t, proto.Unmarshal(record.Value, request))
		requests[string(record.Key)] = request
	}))
	return requests
}

// TestRepairFactsByMintSlotAndTime: all that is given must be true of a fact, and facts of blocks
// are left alone without --events.
func TestRepairFactsByMintSlotAndTime(t *testing.T) {
	records, _ := liedTo(t)
	one, two, three := pubkey.Key(registrytest.Mint(1)).String(), pubkey.Key(registrytest.Mint(2)).String(), pubkey.Key(registrytest.Mint(3)).String()
	before, after := time.Now().Add(-time.Hour).Format(time.RFC3339), time.Now().Add(time.Hour).Format(time.RFC3339)
	writeLog(t, t.TempDir(), records, func(broker string) {
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"--mint", one}, one + ": slot 100, slot 150, slots 210 to 211, slot 18446744073709551614\n"},
			{[]string{"--mint", one, "--slots", "150-210"}, one + ": slot 150, slot 210\n"},
			{[]string{"--slots", "205-210"}, one + ": slot 210\n" + two + ": slot 205\n"},
			{[]string{"--mint", two, "--slots", "150-170"}, "there is nothing to take back"},
			{[]string{"--mint", two, "--slots", "150-170", "--events"}, two + ": slot 160\n"},
			{[]string{"--mint", three, "--read-from", before}, three + ": slot 100\n"},
			{[]string{"--mint", three, "--read-from", before, "--read-to", after}, three + ": slot 100\n"},
			{[]string{"--mint", three, "--read-from", after}, "there is nothing to take back"},
			{[]string{"--mint", three, "--read-to", before}, "there is nothing to take back"},
			{[]string{"--mint", three, "--upstream", "liar.example"}, "there is nothing to take back"},
		} {
			out, err := runRepairFacts(t, broker, c.args...)
			require.NoError(t, err, c.args)
			require.Contains(t, out, c.want, c.args)
		}
		_, err := runRepairFacts(t, broker, "--mint", two, "--slots", "160-160", "--events", "--yes")
		require.NoError(t, err)
		out, err := runRepairFacts(t, broker, "--mint", two, "--slots", "160-160", "--events")
		require.NoError(t, err)
		require.Contains(t, out, "there is nothing to take back")
	})
}

func TestRepairFactsNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "say which facts"},
		{[]string{"--slots", "5"}, `--slots is "5", must be such as`},
		{[]string{"--slots", "9-5"}, "must be such as"},
		{[]string{"--slots", "-5"}, "must be such as"},
		{[]string{"--mint", "nothing"}, "--mint nothing is no mint"},
		{[]string{"--read-from", "yesterday"}, `--read-from is "yesterday", must be such as 2026-`},
		{[]string{"--read-to", "12:00"}, "--read-to"},
		{[]string{"--upstream", "x", "--events"}, "facts of blocks do not tell their upstream"},
		{[]string{"--upstream", "x", "--reason", string(make([]byte, 201))}, "--reason has 201 bytes"},
	} {
		_, err := runRepairFacts(t, "127.0.0.1:1", c.args...)
		require.ErrorContains(t, err, c.want, c.args)
	}
}
