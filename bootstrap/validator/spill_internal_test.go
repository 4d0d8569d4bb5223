package validator

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// addressOf returns the address of a made-up account. Addresses differ in few bits.
func addressOf(n int) (address pubkey.Key) {
	binary.LittleEndian.PutUint32(address[20:], uint32(n))
	return address
}

// olderAndLive is what a spill must say of entries, from a second reading of the rule: the highest
// version of an account counts, if it has lamports.
func olderAndLive(entries []entry) (older []version, live int64) {
	of := map[pubkey.Key][]version{}
	for _, e := range entries {
		of[e.address] = append(of[e.address], e.version)
	}
	for _, versions := range of {
		slices.Sort(versions)
		last := len(versions) - 1
		older = append(older, versions[:last]...)
		if !versions[last].empty() {
			live++
		}
	}
	slices.Sort(older)
	return older, live
}

func requireCompared(t *testing.T, s *spill, entries []entry) {
	t.Helper()
	wantOlder, wantLive := olderAndLive(entries)
	var older []version
	seen := int64(-1)
	live, err := s.compare(t.Context(), func(v version) { older = append(older, v) }, func(done int64) { seen = done })
	require.NoError(t, err)
	slices.Sort(older)
	require.Equal(t, wantOlder, older)
	require.Equal(t, wantLive, live)
	require.LessOrEqual(t, seen, int64(len(entries)))
	require.EqualValues(t, len(entries), s.entries)
}

// TestWhichVersionsAreOlder: in any order, over blocks of any length, and after a cut back to a
// checkpoint.
func TestWhichVersionsAreOlder(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, ofBlock := range []int{1, 3, blockEntries} {
		var entries []entry
		for place := range uint32(20_000) {
			entries = append(entries, entry{addressOf(random.IntN(9000)), versionOf(random.Uint32N(50), place, random.IntN(8) == 0)})
		}
		random.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		path, key := filepath.Join(t.TempDir(), "accounts"), newSpillKey()
		s, err := openSpill(path, key, 0, ofBlock)
		require.NoError(t, err)
		require.NoError(t, s.add(entries[:12_000]))
		require.NoError(t, s.flush())
		checkpoint := s.bytes
		require.NoError(t, s.add(entries[12_000:]))
		require.NoError(t, s.flush())
		requireCompared(t, s, entries)
		s.close()

		s, err = openSpill(path, key, checkpoint, ofBlock)
		require.NoError(t, err)
		requireCompared(t, s, entries[:12_000])
		require.NoError(t, s.add(entries[12_000:]))
		require.NoError(t, s.flush())
		requireCompared(t, s, entries)
		s.close()
	}
}

// TestNoPartGetsMost: whatever the addresses are, each part of the spill gets its share of them.
func TestNoPartGetsMost(t *testing.T) {
	counts, key := [spillParts]int{}, newSpillKey()
	for n := range 100 * spillParts {
		address := addressOf(n)
		counts[key.part(&address)]++
	}
	require.Less(t, slices.Max(counts[:]), 170, "of 100 on average")
}

// TestADamagedSpillIsNamed: a run does not go on with a file that is not what the progress file
// says.
func TestADamagedSpillIsNamed(t *testing.T) {
	path, key := filepath.Join(t.TempDir(), "accounts"), newSpillKey()
	s, err := openSpill(path, key, 0, 4)
	require.NoError(t, err)
	for n := range 3 * spillParts {
		require.NoError(t, s.add([]entry{{addressOf(n), versionOf(0, uint32(n), false)}}))
	}
	require.NoError(t, s.flush())
	s.close()
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for what, damage := range map[string]func(raw []byte) []byte{
		"short":            func(raw []byte) []byte { return raw[:len(raw)-1] },
		"empty":            func([]byte) []byte { return nil },
		"no such part":     func(raw []byte) []byte { raw[1] = 4; return raw },
		"no entries":       func(raw []byte) []byte { clear(raw[4:8]); return raw },
		"too many entries": func(raw []byte) []byte { raw[4] = 5; return raw },
	} {
		require.NoError(t, os.WriteFile(path, damage(slices.Clone(whole)), 0o600))
		_, err := openSpill(path, key, int64(len(whole)), 4)
		require.ErrorContains(t, err, "damaged at byte", what)
		require.ErrorContains(t, err, "begin anew with --restart", what)
	}
}
