package runner_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// newRunner is a runner on the log, which it reads back at its start.
func newRunner(t require.TestingT, l *log, sources ...source.Source) *runner.Runner {
	r, err := runner.New(runner.Config{Sources: sources}.WithMaxInFlight(4), runner.Deps{Producer: l, Ledger: l, Mints: l})
	require.NoError(t, err)
	return r
}

func TestRecordsOfABlock(t *testing.T) {
	l := &log{}
	mint, other := mintKey(1), mintKey(2)
	b := newBlock(100, 99, transactionOf(
		func(b *builder) { b.initialize(mint) },
		func(b *builder) { b.setURI(mint, "\x00 https://a.test/x \x00") },
		func(b *builder) { b.setURI(mint, "https://a.test/x") },
		func(b *builder) { b.mintTo(mint) },
		func(b *builder) { b.balance(other) },
	))
	b.ReceivedAt = time.UnixMilli(1_700_000_000_123)
	r := newRunner(t, l, blocks("file", b))
	require.NoError(t, r.Run(context.Background()))

	events := l.of("token_event.initialize_mint")
	require.Len(t, events, 1)
	require.Equal(t, schemas.TopicTokenEvents, events[0].Topic)
	require.Equal(t, base58.Encode(mint[:]), string(events[0].Key))
	require.Equal(t, "1", header(events[0], schemas.HeaderSchemaVersion))
	require.Equal(t, "1700000000123", header(events[0], schemas.HeaderReceivedAt))
	require.Equal(t, "00000000000000648000000000000000", header(events[0], schemas.HeaderPosition))
	require.Equal(t, "00000000000000648000000010000000", header(l.of("token_event.metadata_set")[0], schemas.HeaderPosition))
	require.Len(t, l.of("token_event.mint_to"), 1)

	sightings := l.of("token_event.sighting")
	require.Len(t, sightings, 1, "a mint initialised here needs no sighting")
	require.Equal(t, base58.Encode(other[:]), string(sightings[0].Key))
	require.Equal(t, "00000000000000648000000000000000", header(sightings[0], schemas.HeaderPosition))

	requests := l.of("enrichment_request")
	require.Len(t, requests, 2)
	var request eventspb.EnrichmentRequest
	require.NoError(t, proto.Unmarshal(requests[0].Value, &request))
	require.Equal(t, eventspb.RequestReason_REQUEST_REASON_METADATA_SET, request.GetReason())
	require.Equal(t, "https://a.test/x", string(request.GetUri()))
	require.Equal(t, uint64(100), request.GetSlot())
	require.NoError(t, proto.Unmarshal(requests[1].Value, &request))
	require.Equal(t, eventspb.RequestReason_REQUEST_REASON_SIGHTED, request.GetReason())
	require.Equal(t, other[:], request.GetMint())

	slots := l.of(schemas.TypeSlot)
	require.Len(t, slots, 1)
	require.Equal(t, "100", string(slots[0].Key))
	slot := l.slots(t)[0]
	require.Equal(t, uint64(99), slot.GetParentSlot())
	require.Equal(t, b.Blockhash[:], slot.GetBlockhash())
	require.Equal(t, uint32(1), slot.GetTransactions())
	require.Equal(t, uint32(4), slot.GetTokenEvents())
	require.Equal(t, "file", slot.GetSource())

	statuses := l.statuses(t)
	last := statuses[len(statuses)-1]
	require.True(t, last.GetDone())
	require.Equal(t, "file", last.GetKind())
	require.Equal(t, uint64(100), last.GetSlot())
	require.Equal(t, []uint64{1, 1, 4}, []uint64{last.GetBlocks(), last.GetTransactions(), last.GetTokenEvents()})
	p := r.Progress()
	require.True(t, p.Done)
	require.Equal(t, []uint64{1, 1}, []uint64{p.Read, p.Total})
	require.Equal(t, uint64(100), r.Coverage().ToSlot)
}

// TestMetadataOfAnUnnamedMint: the event goes under its metadata account, and enrichment is asked
// to read that.
func TestMetadataOfAnUnnamedMint(t *testing.T) {
	l := &log{}
	account := named("metadata")
	update := func(b *builder) { b.updateMetadata(account) }
	require.NoError(t, newRunner(t, l, blocks("file", newBlock(100, 99, transactionOf(update, update)))).Run(context.Background()))
	events := l.of("token_event.metadata_set")
	require.Len(t, events, 2)
	require.Equal(t, base58.Encode(account[:]), string(events[0].Key))
	requests := l.of("enrichment_request")
	require.Len(t, requests, 1)
	require.Equal(t, base58.Encode(account[:]), string(requests[0].Key))
	var request eventspb.EnrichmentRequest
	require.NoError(t, proto.Unmarshal(requests[0].Value, &request))
	require.Equal(t, account[:], request.GetMetadataAccount())
	require.Empty(t, request.GetMint())
	require.Equal(t, uint64(100), request.GetSlot())
}

func TestMintsAreIntroducedOnce(t *testing.T) {
	l := &log{}
	mint, spoken := mintKey(1), mintKey(2)
	speak := func(b *builder) { b.setAuthority(spoken) }
	see := func(b *builder) { b.balance(mint) }
	require.NoError(t, newRunner(t, l, blocks("file",
		newBlock(100, 99, transactionOf(see), transactionOf(see, speak)),
		newBlock(101, 100, transactionOf(see), transactionOf(speak, func(b *builder) { b.balance(spoken) })),
		newBlock(102, 101, transactionOf(speak)),
	)).Run(context.Background()))
	require.Len(t, l.of("token_event.sighting"), 2)
	require.Len(t, l.of("enrichment_request"), 3, "one for each sighting, and one for the mint that was spoken of before it was sighted")
}

func TestSlotRecordComesLastAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := anyChain(t)
		l := &log{}
		// The broker is slow with some blocks, so that later ones are acknowledged first.
		l.onProduce = func(records []kafka.Record) {
			if records[0].Topic == schemas.TopicTokenEvents {
				time.Sleep(time.Duration(records[0].Value[len(records[0].Value)-1]%4) * 100 * time.Microsecond)
			}
		}
		require.NoError(t, newRunner(t, l, blocks("file", all...)).Run(context.Background()))

		var want []uint64
		for _, b := range all {
			if b.Whole {
				want = append(want, b.Slot)
			}
		}
		written := make(map[uint64]bool)
		var got []uint64
		for _, r := range l.records {
			switch header(r, schemas.HeaderType) {
			case schemas.TypeSourceStatus:
			case schemas.TypeSlot:
				var slot eventspb.SlotRecord
				require.NoError(t, proto.Unmarshal(r.Value, &slot))
				written[slot.GetSlot()] = true
				got = append(got, slot.GetSlot())
			case "enrichment_request":
				var request eventspb.EnrichmentRequest
				require.NoError(t, proto.Unmarshal(r.Value, &request))
				require.False(t, written[request.GetSlot()], "request after the slot record")
			default:
				var event eventspb.TokenEvent
				require.NoError(t, proto.Unmarshal(r.Value, &event))
				require.False(t, written[event.GetPosition().GetSlot()], "event after the slot record")
			}
		}
		require.Equal(t, want, got)
	})
}

// TestInterruptedRunsEqualOne kills runs at random places (the broker refuses after so many
// records, with a part of a call written) and starts again with what is in the log: in the end the
// log holds the records of one undisturbed run, no more and no less.
func TestInterruptedRunsEqualOne(t *testing.T) {
	rapidseed.Few(t, 40)
	rapid.Check(t, func(t *rapid.T) {
		all := anyChain(t)
		undisturbed := &log{}
		require.NoError(t, newRunner(t, undisturbed, blocks("file", all...)).Run(context.Background()))

		l := &log{}
		for range 20 {
			l.failAt = rapid.IntRange(1, 30).Draw(t, "fail after")
			err := newRunner(t, l, blocks("file", all...)).Run(context.Background())
			if err == nil {
				break
			}
			require.ErrorIs(t, err, errBroker)
		}
		l.failAt = 0
		require.NoError(t, newRunner(t, l, blocks("file", all...)).Run(context.Background()))
		require.Equal(t, undisturbed.facts(), l.facts())
	})
}

// TestStoppedRunsEqualOne is the same with runs that are asked to stop.
func TestStoppedRunsEqualOne(t *testing.T) {
	rapidseed.Few(t, 40)
	rapid.Check(t, func(t *rapid.T) {
		all := anyChain(t)
		undisturbed := &log{}
		require.NoError(t, newRunner(t, undisturbed, blocks("file", all...)).Run(context.Background()))

		l := &log{}
		for range rapid.IntRange(1, 4).Draw(t, "stops") {
			ctx, stop := context.WithCancel(context.Background())
			var calls atomic.Int64
			after := int64(rapid.IntRange(0, 10).Draw(t, "stop after"))
			l.onProduce = func([]kafka.Record) {
				if calls.Add(1) > after {
					stop()
				}
			}
			require.NoError(t, newRunner(t, l, blocks("file", all...)).Run(ctx))
			stop()
		}
		l.onProduce = nil
		require.NoError(t, newRunner(t, l, blocks("file", all...)).Run(context.Background()))
		require.Equal(t, undisturbed.facts(), l.facts())
	})
}

func TestKnownBlocksAreLeftOut(t *testing.T) {
	l := &log{}
	b := newBlock(100, 99, transactionOf(func(b *builder) { b.mintTo(mintKey(1)) }))
	require.NoError(t, newRunner(t, l, blocks("file", b)).Run(context.Background()))
	before := l.facts()
	var resume uint64
	var known bool
	again := &steps{kind: "file", before: func(ledger source.Ledger) { resume = ledger.Resume() }}
	again.do = append(again.do, func(ctx context.Context, sink source.Sink) (err error) {
		known, err = sink.Block(ctx, copyOf(b))
		return err
	})
	r, err := runner.New(runner.Config{Sources: sourcesOf(again)}, runner.Deps{Producer: l, Ledger: l, Mints: l})
	require.NoError(t, err)
	require.NoError(t, r.Run(context.Background()))
	require.Equal(t, before, l.facts())
	require.Len(t, l.of("token_event.mint_to"), 1)
	require.Equal(t, uint64(100), resume)
	require.Equal(t, uint64(100), r.Progress().Slot, "the highest slot of earlier runs counts")
	require.True(t, known)
}

func sourcesOf(all ...*steps) []source.Source {
	var sources []source.Source
	for _, s := range all {
		sources = append(sources, s)
	}
	return sources
}

func TestSkippedAndDeadSlots(t *testing.T) {
	l := &log{}
	s := blocks("rpc", newBlock(100, 99), newBlock(101, 100))
	s.do = append(s.do,
		func(ctx context.Context, sink source.Sink) error { return sink.Dead(ctx, 101) },
		func(ctx context.Context, sink source.Sink) error { return sink.Skipped(ctx, 102) },
	)
	require.NoError(t, newRunner(t, l, s).Run(context.Background()))
	require.NoError(t, newRunner(t, l, s).Run(context.Background()), "known slots are not written again, but the dead one's block is")
	var got []string
	for _, r := range l.slots(t) {
		got = append(got, fmt.Sprint(r.GetSlot(), r.GetStatus()))
	}
	require.Equal(t, []string{
		"100 SLOT_STATUS_INGESTED", "101 SLOT_STATUS_INGESTED", "101 SLOT_STATUS_DEAD", "102 SLOT_STATUS_SKIPPED",
		"101 SLOT_STATUS_INGESTED", "101 SLOT_STATUS_DEAD",
	}, got)
}

func TestRefusedInputs(t *testing.T) {
	l := &log{}
	s := &steps{kind: "file"}
	for i := range 150 {
		s.do = append(s.do, func(ctx context.Context, sink source.Sink) error {
			sink.Refused(ctx, fmt.Sprintf("file %d", i), errors.New("broken \xff"+string(make([]byte, 10_000))))
			return nil
		})
	}
	require.NoError(t, newRunner(t, l, s).Run(context.Background()))
	letters := l.of("dead_letter")
	require.Len(t, letters, 150)
	require.Equal(t, schemas.TopicDeadLetters, letters[0].Topic)
	require.Equal(t, "ingest", string(letters[0].Key))
	var letter eventspb.DeadLetter
	require.NoError(t, proto.Unmarshal(letters[7].Value, &letter))
	require.Equal(t, "ingest", letter.GetSource())
	require.Equal(t, "file 7", string(letter.GetKey()))
	require.Contains(t, letter.GetReason(), "broken")
	require.LessOrEqual(t, len(letter.GetReason()), 510)
	statuses := l.statuses(t)
	last := statuses[len(statuses)-1]
	require.True(t, last.GetDone(), "a broken input does not stop the rest")
	require.Equal(t, uint64(150), last.GetFailedInputs())
	require.Len(t, last.GetFailures(), 100)
}

func TestLoneTransactionsHaveNoSlotRecord(t *testing.T) {
	l := &log{}
	tx := transactionOf(func(b *builder) { b.mintTo(mintKey(1)) })
	require.NoError(t, newRunner(t, l, blocks("file", lone(7, tx))).Run(context.Background()))
	require.Len(t, l.of("token_event.mint_to"), 1)
	require.Empty(t, l.slots(t))
	require.Equal(t, uint64(7), l.statuses(t)[len(l.statuses(t))-1].GetSlot())
}

func TestSourcesRunInTurn(t *testing.T) {
	l := &log{}
	first, second := blocks("file", newBlock(1, 0)), blocks("rpc", newBlock(2, 1))
	r := newRunner(t, l, first, second)
	require.NoError(t, r.Run(context.Background()))
	require.Equal(t, "file", l.slots(t)[0].GetSource())
	require.Equal(t, "rpc", l.slots(t)[1].GetSource())
	require.Equal(t, []uint64{2, 2}, []uint64{r.Progress().Read, r.Progress().Total})

	none := &log{}
	require.NoError(t, newRunner(t, none).Run(context.Background()))
	require.True(t, none.statuses(t)[0].GetDone())
	require.Equal(t, "none", none.statuses(t)[0].GetKind())
}

func TestSourceErrorEndsTheRunAfterWhatItGave(t *testing.T) {
	l := &log{}
	broken := errors.New("no such path")
	s := blocks("file", newBlock(1, 0))
	s.do = append(s.do, func(context.Context, source.Sink) error { return broken })
	err := newRunner(t, l, s).Run(context.Background())
	require.ErrorIs(t, err, broken)
	require.Len(t, l.slots(t), 1)
	for _, status := range l.statuses(t) {
		require.False(t, status.GetDone())
	}
}

func TestProducerErrorStopsAnEndlessSource(t *testing.T) {
	l := &log{failAt: 5}
	endless := &steps{kind: "geyser", do: []step{func(ctx context.Context, sink source.Sink) error {
		for slot := uint64(0); ; slot++ {
			b := newBlock(slot+1, slot, transactionOf(func(b *builder) { b.mintTo(mintKey(1)) }))
			if err := deliver(b)(ctx, sink); err != nil {
				return err
			}
		}
	}}}
	require.ErrorIs(t, newRunner(t, l, endless).Run(context.Background()), errBroker)
}

func TestNewRefuses(t *testing.T) {
	_, err := runner.New(runner.Config{}, runner.Deps{})
	require.ErrorContains(t, err, "no producer")
	_, err = runner.New(runner.Config{}.WithMaxInFlight(-1), runner.Deps{Producer: &log{}})
	require.ErrorContains(t, err, "negative")
	_, err = runner.New(runner.Config{Sources: []source.Source{nil}}, runner.Deps{Producer: &log{}})
	require.ErrorContains(t, err, "source 0")
}

func TestRunFailsWhenTheLedgerCannotBeRead(t *testing.T) {
	r, err := runner.New(runner.Config{}, runner.Deps{Producer: &log{}, Ledger: brokenLedger{}})
	require.NoError(t, err)
	require.ErrorIs(t, r.Run(context.Background()), errBroker)
}

type brokenLedger struct{}

func (brokenLedger) ReadSlots(context.Context, func(*eventspb.SlotRecord)) error { return errBroker }
