package volume_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/volume"
)

// backlog is a store in which minutes wait. It counts what is valued, and values nothing.
type backlog struct {
	volume.Store
	minutes []time.Time // all that have legs, sorted
	dirty   map[time.Time]bool
	done    [][]volume.Minute // by call of Done
	valued  int
	// broken, if not nil, is called before each statement that values minutes.
	broken func() error
}

func newBacklog(minutes int) *backlog {
	b := &backlog{dirty: map[time.Time]bool{}}
	for n := range minutes {
		b.trade(noon.Add(time.Duration(n) * time.Minute))
	}
	return b
}

// trade adds a minute after all others.
func (b *backlog) trade(minute time.Time) {
	b.minutes, b.dirty[minute] = append(b.minutes, minute), true
}

func (b *backlog) Dirty(context.Context) (waiting []volume.Minute, err error) {
	for _, minute := range b.minutes {
		if b.dirty[minute] {
			waiting = append(waiting, volume.Minute{Start: minute})
		}
	}
	return waiting, nil
}

func (b *backlog) Minutes(_ context.Context, from, to time.Time) ([]time.Time, error) {
	return slices.DeleteFunc(slices.Clone(b.minutes), func(m time.Time) bool { return m.Before(from) || m.After(to) }), nil
}

func (b *backlog) Value(_ context.Context, _ uint64, minutes []time.Time) error {
	if b.broken != nil {
		if err := b.broken(); err != nil {
			return err
		}
	}
	b.valued += len(minutes)
	return nil
}

func (b *backlog) Done(_ context.Context, minutes []volume.Minute) error {
	b.done = append(b.done, minutes)
	for _, minute := range minutes {
		delete(b.dirty, minute.Start)
	}
	return nil
}

func (b *backlog) WithoutVenues(context.Context, time.Time, int) ([]time.Time, error) {
	return nil, nil
}
func (b *backlog) Begin(context.Context) (uint64, error)                  { return 1, nil }
func (b *backlog) PoolMinutes(context.Context, uint64, []time.Time) error { return nil }
func (b *backlog) Hours(context.Context, uint64, []time.Time) error       { return nil }
func (b *backlog) Days(context.Context, uint64, []time.Time) error        { return nil }
func (b *backlog) Daily(context.Context, uint64) error                    { return nil }

func (b *backlog) room(t *testing.T) *volume.Volume {
	t.Helper()
	room, err := volume.New(volume.DefaultConfig(), volume.Deps{Store: b, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return room
}

// TestAnErrorCostsAPartOfABacklog: a day waits, and one statement fails.
func TestAnErrorCostsAPartOfABacklog(t *testing.T) {
	const day = 24 * 60
	b, calls, broken := newBacklog(day), 0, errors.New("broken connection")
	b.broken = func() error {
		if calls++; calls == 15 {
			return broken
		}
		return nil
	}
	room := b.room(t)
	_, err := room.Once(t.Context())
	require.ErrorIs(t, err, broken)
	require.NotEmpty(t, b.done, "the parts before are valued")
	left := len(b.dirty)
	valued, err := room.Once(t.Context())
	require.NoError(t, err)
	require.Equal(t, left, valued)
	require.Empty(t, b.dirty)
	require.Less(t, b.valued, day*3/2)
}

// TestNewMinutesDoNotWaitForABacklog: the latest minutes are valued first, those too that come
// while it works.
func TestNewMinutesDoNotWaitForABacklog(t *testing.T) {
	b := newBacklog(2_000)
	latest := b.minutes[len(b.minutes)-1].Add(time.Minute)
	b.broken = func() error {
		if len(b.minutes) == 2_000 {
			b.trade(latest)
		}
		return nil
	}
	valued, err := b.room(t).Once(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2_001, valued)
	last := func(part []volume.Minute) time.Time { return part[len(part)-1].Start }
	require.Equal(t, latest.Add(-time.Minute), last(b.done[0]))
	require.Equal(t, latest, last(b.done[1]), "it came during the first part")
	for n, part := range b.done[2:] {
		require.True(t, last(part).Before(b.done[n+1][0].Start), "part %d", n+2)
	}
}
