package geyser

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/ingest/source/repair"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

// badReplays are the ways in which a server may fail whenever it is asked to replay.
func badReplays(c sourcetest.Chain) map[string]func(*sub) error {
	ways := map[string]func(*sub) error{
		"ends in silence":          func(*sub) error { return nil },
		"ends after some blocks":   func(s *sub) error { return s.replay(2) },
		"pings, and nothing else":  func(s *sub) error { return s.chat(ping()) },
		"is silent":                func(s *sub) error { <-s.stream.Context().Done(); return nil },
		"silent after some blocks": func(s *sub) error { _ = s.replay(2); <-s.stream.Context().Done(); return nil },
		"has statuses, no block": func(s *sub) error {
			return s.chat(slotUpdate(c[40].Slot, &c[39].Slot, pb.SlotStatus_SLOT_PROCESSED))
		},
		"sends garbage after some blocks": func(s *sub) error { _ = s.replay(2); return s.send(raw("\xff\xff\xff")) },
	}
	for _, code := range []codes.Code{codes.Internal, codes.OutOfRange, codes.InvalidArgument, codes.Unavailable, codes.Unknown, codes.Aborted,
		codes.NotFound, codes.Unimplemented, codes.PermissionDenied, codes.ResourceExhausted, codes.DeadlineExceeded, codes.FailedPrecondition, codes.DataLoss} {
		refuses := func(*sub) error { return status.Error(code, "no replay") }
		ways[code.String()] = refuses
		ways[code.String()+" after some blocks"] = func(s *sub) error { _ = s.replay(2); return refuses(s) }
		ways[code.String()+" after statuses"] = func(s *sub) error {
			_ = s.send(slotUpdate(c[40].Slot, &c[39].Slot, pb.SlotStatus_SLOT_PROCESSED))
			return refuses(s)
		}
	}
	return ways
}

// TestAReplayThatAlwaysFails: whatever a server does whenever it is asked for earlier slots, live
// data comes after a bounded number of tries, and the slots between are asked for elsewhere, or
// told as a gap.
func TestAReplayThatAlwaysFails(t *testing.T) {
	c := sourcetest.NewChain(1000, 300)
	for name, bad := range badReplays(c) {
		for _, tells := range []bool{false, true} {
			for _, restarted := range []bool{false, true} {
				t.Run(fmt.Sprint(name, ", tells ", tells, ", restarted ", restarted), func(t *testing.T) {
					t.Parallel()
					f := &fake{chain: c, tells: tells, oldest: 1, badReplay: bad}
					resume := c[9].Slot
					want := c[10:]
					if !restarted {
						f.script, resume, want = []func(*sub) error{func(s *sub) error { return s.live(10) }}, 0, c
					}
					synctest.Test(t, func(t *testing.T) {
						fill, began := &filler{chain: c}, time.Now()
						sink := follow(t, f, nil, want, resume, func(cfg *Config, d *Deps) {
							cfg.Silence, cfg.firstPause, cfg.MaxPause, d.Filler = 5*time.Second, 250*time.Millisecond, 2*time.Second, fill
						})
						require.Less(t, time.Since(began), 2*time.Minute)
						got := sink.Slots()
						slices.Sort(got)
						require.Len(t, slices.Compact(got), len(want))
						require.NotEmpty(t, fill.gaps)
						for _, s := range sink.SkippedSlots() {
							require.Nil(t, c.At(s), "slot %d was called skipped", s)
						}
						require.LessOrEqual(t, f.count(), 25, "tries are bounded")
					})
					asked := 0
					for _, s := range f.subs {
						if s.req.FromSlot != nil {
							asked++
						}
					}
					require.Positive(t, asked, "it is tried")
					require.Len(t, f.subs[len(f.subs)-1].req.Accounts, 3, "account updates are not blamed")
				})
			}
		}
	}
}

// TestAReplayThatAlwaysFailsWithoutAFiller: live data comes too, and the gap is counted.
func TestAReplayThatAlwaysFailsWithoutAFiller(t *testing.T) {
	c := sourcetest.NewChain(1000, 300)
	f := &fake{chain: c, tells: true, oldest: 1, badReplay: func(*sub) error { return status.Error(codes.Internal, "no") }}
	metrics := prometheus.NewRegistry()
	synctest.Test(t, func(t *testing.T) {
		sink := follow(t, f, nil, c[299:], c[9].Slot, func(_ *Config, d *Deps) { d.Registerer = metrics })
		for _, s := range sink.SkippedSlots() {
			require.Nil(t, c.At(s), "slot %d was called skipped", s)
		}
	})
	require.Positive(t, gauge(t, metrics, "mintlake_source_gaps_total"))
}

// TestAServerThatIsAwayKeepsItsReplay: however long it takes to come back, what it can replay is
// replayed.
func TestAServerThatIsAwayKeepsItsReplay(t *testing.T) {
	c := sourcetest.NewChain(1000, 60)
	f := &fake{chain: c, script: []func(*sub) error{func(s *sub) error { return s.live(10) }}}
	synctest.Test(t, func(t *testing.T) {
		fill := &filler{chain: c}
		away := &refusing{until: time.Now().Add(time.Minute)}
		sink := follow(t, f, away.over, c, 0, func(_ *Config, d *Deps) { d.Filler = fill })
		sourcetest.RequireChain(t, c, sink.Blocks())
		require.Equal(t, []repair.Gap(nil), fill.gaps)
		require.Greater(t, away.refused, 50)
	})
}
