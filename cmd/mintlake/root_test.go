package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	kafkabroker "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/metertest"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	operateroot "github.com/mintlake/mintlake/operate/root"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// writeLog fills a data folder as a run of ingest and enrich does, and calls while the broker still
// runs.
func writeLog(t *testing.T, dataDir string, records []kafka.Record, while func(broker string)) {
	t.Helper()
	logger, registerer := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	broker, err := kafkabroker.New(kafkabroker.Config{DataDir: filepath.Join(dataDir, "kafka"), Addr: "127.0.0.1:0"}, kafkabroker.Deps{})
	require.NoError(t, err)
	lc := newLifecycle(logger, defaults().StopTimeout)
	lc.start("broker", broker.Run)
	require.NoError(t, lc.await(t.Context(), broker.Ready()))
	deps := kafka.Deps{Logger: logger, Registerer: registerer}
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker.Addr()}}, deps)
	require.NoError(t, err)
	require.NoError(t, ensureTopics(t.Context(), defaults(), admin))
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{broker.Addr()}}, deps)
	require.NoError(t, err)
	require.NoError(t, producer.Produce(t.Context(), records...))
	while(broker.Addr())
	producer.Close()
	admin.Close()
	require.NoError(t, lc.stop())
}

func runRoot(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := rootCommand()
	cmd.SetOut(&out)
	cmd.SetArgs(append([]string{"root", "--log-level", "error"}, args...))
	err := cmd.ExecuteContext(context.WithoutCancel(t.Context()))
	return out.String(), err
}

func line(r root.Root) string {
	return "slot=" + strconv.FormatUint(r.Slot, 10) + " tokens=" + strconv.Itoa(r.Tokens) + " root=" + r.Hash.String() + "\n"
}

func TestRootOfALog(t *testing.T) {
	const highest = 9
	var events, all []registry.Fact
	records := []kafka.Record{
		{Topic: schemas.TopicTokenEvents, Key: []byte("x"), Value: []byte("\xff no event")},
		{Topic: schemas.TopicSlots, Key: []byte("9"), Value: marshal(t, &eventspb.SlotRecord{Slot: highest, Status: eventspb.SlotStatus_SLOT_STATUS_INGESTED})},
	}
	for seed := range 8 {
		for _, m := range registrytest.Messages(40).Example(seed) {
			all = append(all, m.Facts()...)
			if m.Event != nil {
				events = append(events, m.Facts()...)
				records = append(records, kafka.Record{Topic: schemas.TopicTokenEvents, Key: m.Event.GetMint(), Value: marshal(t, m.Event)})
			} else {
				records = append(records, kafka.Record{Topic: schemas.TopicEnrichments, Key: m.Enrichment.GetMint(), Value: marshal(t, m.Enrichment)})
			}
		}
	}
	want := func(facts []registry.Fact, slot uint64) root.Root {
		replay := root.NewReplay(slot)
		replay.Apply(facts)
		return replay.Root()
	}
	require.NotEqual(t, want(all, 3).Hash, want(all, highest).Hash)
	require.NotEqual(t, want(events, highest).Hash, want(all, highest).Hash)

	dir := t.TempDir()
	check := func(args ...string) {
		t.Helper()
		for _, c := range []struct {
			want root.Root
			args []string
		}{
			{want(all, highest), nil},
			{want(all, 3), []string{"--at-slot", "3"}},
			{want(events, highest), []string{"--events-only"}},
			{want(events, 2), []string{"--events-only", "--at-slot", "2"}},
			{want(all, 0), []string{"--at-slot", "0"}},
		} {
			out, err := runRoot(t, append(c.args, args...)...)
			require.NoError(t, err)
			require.Equal(t, line(c.want), out, c.args)
			out, err = runRoot(t, append(append(c.args, "--root-version", "2"), args...)...)
			require.NoError(t, err)
			c.want.Hash = c.want.HashV2
			require.Equal(t, strings.TrimSuffix(line(c.want), "\n")+" version=2\n", out, c.args)
		}
	}
	writeLog(t, dir, records, func(broker string) {
		check("--kafka-brokers", broker)
		_, err := runRoot(t, "--data-dir", dir)
		require.ErrorIs(t, err, kafkabroker.ErrLocked)
		require.ErrorContains(t, err, "--kafka-brokers")
	})
	check("--data-dir", dir)
	_, err := runRoot(t, "--data-dir", dir, "--root-version", "3")
	require.ErrorContains(t, err, "--root-version 3")
	requireRootTold(t, dir, len(records)-1)
}

// requireRootTold: what root tells has a total, and reaches it.
func requireRootTold(t *testing.T, dir string, records int) {
	t.Helper()
	var recorder metertest.Recorder
	cfg := defaults()
	cfg.DataDir = dir
	logger := slog.New(slog.DiscardHandler)
	log, done, err := openLog(cfg, logger, "root", recorder.Meter)
	require.NoError(t, err)
	defer done()
	query := operateroot.Query{AtSlot: root.EverySlot, Version: root.Default, Log: log, Logger: logger, Out: io.Discard, Progress: recorder.Meter}
	require.NoError(t, query.Run(t.Context()))
	require.EqualValues(t, records, recorder.RequireWhole(t, "root"))
	recorder.RequireWhole(t, "check the log")
}

func TestRootWithoutALog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	_, err := runRoot(t, "--data-dir", dir)
	require.ErrorContains(t, err, "--data-dir")
	require.NoDirExists(t, dir, "asking makes nothing")
}

func marshal(t require.TestingT, message proto.Message) []byte {
	value, err := proto.Marshal(message)
	require.NoError(t, err)
	return value
}
