package status

import (
	"context"
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/slottime"
)

// fakeCopy is a copy at given offsets.
type fakeCopy struct {
	view  replica.View
	ready bool
	seals []uint64
}

func (c *fakeCopy) View() replica.View {
	view := c.view
	view.Applied = c.Applied()
	return view
}
func (c *fakeCopy) Applied() map[kafka.TopicPartition]int64 { return maps.Clone(c.view.Applied) }
func (c *fakeCopy) Checkpoint() *replica.CheckpointStatus   { return nil }
func (c *fakeCopy) Freshness() replica.Freshness            { return replica.Freshness{} }
func (c *fakeCopy) Tokens() int                             { return 7 }
func (c *fakeCopy) Ready() bool                             { return c.ready }
func (c *fakeCopy) Seal(slot uint64, _ bool)                { c.seals = append(c.seals, slot) }
func (c *fakeCopy) Root() (root.Root, bool) {
	if len(c.seals) == 0 {
		return root.Root{}, false
	}
	return root.Root{Slot: c.seals[len(c.seals)-1]}, true
}

func (c *fakeCopy) apply(log *apitest.Log) {
	c.view.Applied = map[kafka.TopicPartition]int64{}
	for _, topic := range apiTopics {
		for _, record := range log.Records(topic) {
			tp := kafka.TopicPartition{Topic: topic, Partition: record.Partition}
			c.view.Applied[tp] = max(c.view.Applied[tp], record.Offset+1)
		}
	}
}

func collector(t *testing.T, c Copy, log *apitest.Log) *Collector {
	t.Helper()
	s, err := New(c, log, nil, nil)
	require.NoError(t, err)
	return s
}

func filled() (*apitest.Log, *fakeCopy) {
	log := apitest.NewLog()
	log.Token(1, 10, "ONE", "One", time.Now())
	log.Token(2, 10, "TWO", "Two", time.Now())
	log.Append(kafka.Record{Topic: schemas.TopicEnrichmentRequests, Key: []byte("a")})
	log.Append(kafka.Record{Topic: schemas.TopicEnrichments, Key: []byte("a")})
	log.Source(&eventspb.SourceStatus{Kind: "file", Done: true, Slot: 10})
	c := &fakeCopy{ready: true}
	c.apply(log)
	c.view.Source = &eventspb.SourceStatus{Kind: "file", Done: true, Slot: 10}
	return log, c
}

func TestLagIsZeroOnlyWhenEveryReaderIsDone(t *testing.T) {
	log, c := filled()
	lag := func() Pipeline { return collector(t, c, log).Get(t.Context()).Pipeline }

	p := lag()
	require.EqualValues(t, 7, *p.LagRecords, "4 events, 1 enrichment, 1 report, 1 request; a record counts once")
	require.EqualValues(t, 6, *p.ProjectorLag)
	require.EqualValues(t, 1, *p.EnrichLag)
	require.Zero(t, *p.APILag)

	log.CommitAll(schemas.GroupEnrich, schemas.TopicEnrichmentRequests)
	require.EqualValues(t, 6, *lag().LagRecords)
	log.CommitAll(schemas.GroupProjector, projectorTopics...)
	p = lag()
	require.Zero(t, *p.LagRecords)
	require.Nil(t, p.Error)
	require.EqualValues(t, 4, p.Topics[schemas.TopicTokenEvents].Records)

	log.Token(3, 11, "NEW", "New", time.Now())
	p = lag()
	require.EqualValues(t, 2, *p.LagRecords)
	require.EqualValues(t, 2, *p.APILag)
	require.EqualValues(t, 2, p.Topics[schemas.TopicTokenEvents].LagRecords)
}

func TestExpiredRecordsAreNoLag(t *testing.T) {
	log, c := filled()
	log.CommitAll(schemas.GroupEnrich, schemas.TopicEnrichmentRequests)
	log.CommitAll(schemas.GroupProjector, schemas.TopicTokenEvents, schemas.TopicEnrichments)
	log.SetStart(kafka.TopicPartition{Topic: schemas.TopicSlots}, 1)
	require.Zero(t, *collector(t, c, log).Get(t.Context()).Pipeline.LagRecords)
}

// TestANewReportIsNotHidden: the source starts anew between the first look and the lags. Then the
// old report's done must not stand beside lag 0.
func TestANewReportIsNotHidden(t *testing.T) {
	log, c := filled()
	log.CommitAll(schemas.GroupEnrich, schemas.TopicEnrichmentRequests)
	before := c.View()
	log.Source(&eventspb.SourceStatus{Kind: "file", Slot: 11})
	log.CommitAll(schemas.GroupProjector, projectorTopics...)
	c.apply(log)
	p, _, err := collector(t, c, log).pipeline(t.Context(), before)
	require.NoError(t, err)
	require.True(t, before.Source.GetDone())
	require.EqualValues(t, 1, *p.LagRecords)
}

func TestUnknownLagSaysSo(t *testing.T) {
	log, c := filled()
	log.SetDown(true)
	s := collector(t, c, log)
	d := s.Get(t.Context())
	require.Nil(t, d.Pipeline.LagRecords)
	require.NotNil(t, d.Pipeline.Error)
	require.Equal(t, 7, d.Registry.Tokens)
	require.True(t, d.Source.Done)
	encoded, err := json.Marshal(d)
	require.NoError(t, err)
	require.Contains(t, string(encoded), `"lag_records":null`)

	log.SetDown(false)
	require.Eventually(t, func() bool { return s.Get(t.Context()).Pipeline.LagRecords != nil }, 3*time.Minute, 10*time.Millisecond)
}

func TestLoadingCopyHasNoLag(t *testing.T) {
	log, c := filled()
	c.ready = false
	d := collector(t, c, log).Get(t.Context())
	require.Nil(t, d.Pipeline.LagRecords)
	require.Equal(t, "the copy of the registry is still loading", *d.Pipeline.Error)
	require.False(t, d.Ready)
}

func TestRunKeepsTheDocumentFresh(t *testing.T) {
	log, c := filled()
	s := collector(t, c, log)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	first := s.Get(t.Context()).Pipeline.MeasuredAtMS
	require.Eventually(t, func() bool {
		d, _ := s.peek()
		return d.Pipeline.MeasuredAtMS > first
	}, 3*time.Minute, 10*time.Millisecond)
	cancel()
	require.NoError(t, <-done)
}

// TestTheRootMovesOnlyToWhatIsApplied: a slot is sealed when everything the topics held behind it
// has been applied, and not before.
func TestTheRootMovesOnlyToWhatIsApplied(t *testing.T) {
	log, c := filled()
	c.view.Source = &eventspb.SourceStatus{Kind: "geyser", Slot: 18020}
	c.view.Coverage = coverage.Coverage{FromSlot: 10, ToSlot: 18020}
	status := collector(t, c, log)
	step := func() {
		status.making.Lock()
		defer status.making.Unlock()
		status.make(t.Context())
	}
	log.Token(3, 11, "NEW", "New", time.Now()) // not applied yet
	step()
	step()
	require.Empty(t, c.seals)
	c.apply(log)
	step()
	require.Equal(t, []uint64{18000}, c.seals)
	step()
	require.Equal(t, []uint64{18000}, c.seals, "the same slot is not sealed again")

	c.view.Source = &eventspb.SourceStatus{Kind: "file", Done: true, Slot: 18021}
	step()
	step()
	require.Equal(t, []uint64{18000, 18021}, c.seals, "the end of a finite source is sealed whole")
	step()
	step()
	require.Len(t, c.seals, 2, "nothing came in between")
	log.Token(3, 12, "LATE", "Late", time.Now())
	c.apply(log)
	step()
	step()
	require.Len(t, c.seals, 3, "an enrichment after the end is brought in")
}

// TestThereIsNoRootOfSlotZero: until there is a root, its slot and hashes are null; so is the root
// of nothing, which a copy has before the first block.
func TestThereIsNoRootOfSlotZero(t *testing.T) {
	log, c := filled()
	status := collector(t, c, log)
	for _, seals := range [][]uint64{nil, {0}} {
		c.seals = seals
		body, err := json.Marshal(status.root())
		require.NoError(t, err)
		require.JSONEq(t, `{"slot":null,"hash":null,"hash_v2":null}`, string(body))
	}
	c.seals = []uint64{18_000}
	require.EqualValues(t, 18_000, *status.root().Slot)
	require.NotNil(t, status.root().Hash)
	require.NotNil(t, status.root().HashV2)
}

// TestRootsAreAnHourApart at 200 ms a slot. Nodes compare the roots of equal slots: those of the
// versions before, which sealed each 9,000 slots, have every root of this one.
func TestRootsAreAnHourApart(t *testing.T) {
	require.EqualValues(t, slottime.Slots(time.Hour, slottime.Default), root.SealEvery)
	require.Zero(t, root.SealEvery%9000)
}
