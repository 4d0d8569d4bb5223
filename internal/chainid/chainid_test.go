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

	"github.com/mintlake/mintlake/internal/chainid"
	"github.com/mintlake/mintlake/schemas/pubkey"
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
