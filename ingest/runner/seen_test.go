package runner

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestSeenMintsAreBounded(t *testing.T) {
	s := newSeenMints(100)
	mint := func(i int) (k pubkey.Key) { binary.BigEndian.PutUint64(k[:], uint64(i)); return k }
	require.True(t, s.add(mint(0), 7))
	for i := range 10_000 {
		s.add(mint(i+1), 7)
		require.LessOrEqual(t, len(s.young)+len(s.older), 100)
		require.False(t, s.add(mint(0), 7), "a mint in use stays")
	}
	require.True(t, s.add(mint(0), 6), "seen earlier than known")
	require.False(t, s.add(mint(0), 6))
	require.True(t, s.has(mint(10_000)))
	require.False(t, s.has(mint(5)), "one long unseen is forgotten")
	require.True(t, s.add(mint(5), 7))
}
