package chainid_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/chainid"
)

// memory is a log that several share.
type memory struct{ told []chainid.Told }

func (m *memory) Remembered(context.Context) (chainid.Told, bool, error) {
	if len(m.told) == 0 {
		return chainid.Told{}, false, nil
	}
	return m.told[0], true, nil
}

func (m *memory) Remember(_ context.Context, told chainid.Told) error {
	m.told = append(m.told, told)
	return nil
}

var (
	errLater = errors.New("away")
	errNever = errors.New("method not found")
)

func checker(log chainid.Log, told *bytes.Buffer) *chainid.Checker {
	return chainid.New(chainid.Deps{Log: log, Later: func(err error) bool { return errors.Is(err, errLater) }, Logger: slog.New(slog.NewTextHandler(told, nil))})
}

func server(name string, hash byte, errs ...error) chainid.Server {
	return chainid.Server{Name: name, Ask: func(context.Context) (pubkey.Key, error) {
		if len(errs) > 0 {
			err := errs[0]
			errs = errs[1:]
			return pubkey.Key{}, err
		}
		return pubkey.Key{hash}, nil
	}}
}

func TestAnotherChainIsNamed(t *testing.T) {
	log, told := &memory{}, &bytes.Buffer{}
	rest, err := checker(log, told).First(t.Context(), []chainid.Server{server("a", 1), server("b", 1)}, time.Minute)
	require.NoError(t, err)
	require.Len(t, rest, 2)
	require.Len(t, log.told, 1, "it is remembered once")

	_, err = checker(log, told).First(t.Context(), []chainid.Server{server("c", 2)}, time.Minute)
	var other *chainid.OtherChainError
	require.ErrorAs(t, err, &other)
	for _, hash := range []pubkey.Key{{1}, {2}} {
		require.ErrorContains(t, err, base58.Encode(hash[:]))
	}
	require.ErrorContains(t, err, "--data-dir")
	require.ErrorContains(t, err, "told by a")
	require.Len(t, log.told, 1)

	_, err = checker(&memory{}, told).First(t.Context(), []chainid.Server{server("a", 1), server("b", 2)}, time.Minute)
	require.ErrorContains(t, err, "b has the genesis hash", "servers of two clusters")
}

// TestAServerThatDoesNotTell is told once and trusted; one that is away is asked until it answers.
func TestAServerThatDoesNotTell(t *testing.T) {
	log, told := &memory{told: []chainid.Told{{Hash: pubkey.Key{1}, By: "a"}}}, &bytes.Buffer{}
	c := checker(log, told)
	rest, err := c.First(t.Context(), []chainid.Server{server("mute", 0, errNever), server("away", 2, errLater, errLater)}, time.Minute)
	require.NoError(t, err)
	require.Len(t, rest, 1)
	require.ErrorContains(t, c.Watch(t.Context(), rest, time.Millisecond, time.Minute), "away has the genesis hash")
	require.Equal(t, 1, strings.Count(told.String(), "server=mute"))
	require.NoError(t, c.Watch(t.Context(), nil, time.Millisecond, time.Minute))
}

// leavable is a server that can be left out; its hash may change.
type leavable struct {
	name string
	hash byte
	err  error
	out  []bool
}

func (l *leavable) server() chainid.Server {
	return chainid.Server{
		Name: l.name, LeaveOut: func(out bool) { l.out = append(l.out, out) },
		Ask: func(context.Context) (pubkey.Key, error) { return pubkey.Key{l.hash}, l.err },
	}
}

// TestAnUpstreamOfAnotherChainIsLeftOut, at the start and later, and taken back; one that cannot be
// left out ends it, and so does the last one if there is nothing else to read from.
func TestAnUpstreamOfAnotherChainIsLeftOut(t *testing.T) {
	told := &bytes.Buffer{}
	a, b := &leavable{name: "a", hash: 1}, &leavable{name: "b", hash: 2}
	for _, alone := range []bool{false, true} {
		a.hash, b.hash, b.err, a.out, b.out = 1, 2, nil, nil, nil
		told.Reset()
		c := chainid.New(chainid.Deps{Log: &memory{}, Later: func(err error) bool { return errors.Is(err, errLater) }, Alone: alone,
			Logger: slog.New(slog.NewTextHandler(told, nil))})
		servers := []chainid.Server{a.server(), b.server()}
		ask := func() error {
			rest, err := c.First(t.Context(), servers, time.Minute)
			if err == nil {
				require.Len(t, rest, 2, "it is asked again")
			}
			return err
		}
		require.NoError(t, ask())
		require.NoError(t, ask())
		b.err = errLater // it stays out while it is away
		require.NoError(t, ask())
		require.Equal(t, []bool{true, true, true}, b.out)
		require.Equal(t, 1, strings.Count(told.String(), "left out"))
		b.hash, b.err = 1, nil
		require.NoError(t, ask())
		require.Equal(t, []bool{true, true, true, false}, b.out)
		require.Equal(t, []bool{false, false, false, false}, a.out)
		require.Contains(t, told.String(), "serves the chain of the data again")

		a.hash, b.hash = 3, 3
		var other *chainid.OtherChainError
		if err := ask(); alone {
			require.ErrorAs(t, err, &other)
		} else {
			require.NoError(t, err)
			require.True(t, a.out[4] && b.out[4])
		}
		servers = append(servers, server("source", 3))
		require.ErrorAs(t, ask(), &other, "the source")
	}
}

// TestAServerThatDoesNotTellIsSomethingLeft to read from.
func TestAServerThatDoesNotTellIsSomethingLeft(t *testing.T) {
	wrong := &leavable{name: "wrong", hash: 2}
	mute := &leavable{name: "mute", err: errNever}
	c := chainid.New(chainid.Deps{Log: &memory{told: []chainid.Told{{Hash: pubkey.Key{1}, By: "x"}}}, Later: func(error) bool { return false }, Alone: true})
	rest, err := c.First(t.Context(), []chainid.Server{wrong.server(), mute.server()}, time.Minute)
	require.NoError(t, err)
	require.Len(t, rest, 1)
	_, err = c.First(t.Context(), rest, time.Minute)
	require.NoError(t, err)
}
