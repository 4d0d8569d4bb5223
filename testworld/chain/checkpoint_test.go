package chain

import (
	"bytes"
	"encoding/gob"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAChainGoesOnFromItsCheckpoint: what is written and read again makes the same slots.
func TestAChainGoesOnFromItsCheckpoint(t *testing.T) {
	cfg := Config{Seed: 4, TPS: 10, Tokens: 60, Wallets: 32, ForkRate: 0.05, SkipRate: 0.05, Switched: 50, Dead: 70}
	plain, err := New(cfg)
	require.NoError(t, err)
	var again *Generator
	same := 0
	for slot := range 8000 {
		plain.Next(nil)
		if again != nil {
			again.Next(nil)
		}
		if slot%397 > 0 {
			continue
		}
		now := plain.Checkpoint()
		if now == nil {
			continue
		}
		if again != nil {
			require.Equal(t, now, again.Checkpoint())
			same++
		}
		var file bytes.Buffer
		require.NoError(t, gob.NewEncoder(&file).Encode(now))
		read := new(Checkpoint)
		require.NoError(t, gob.NewDecoder(&file).Decode(read))
		require.Equal(t, now, read)
		again, err = Resume(cfg, read)
		require.NoError(t, err)
	}
	require.Greater(t, same, 10)

	other := cfg
	other.Seed++
	_, err = Resume(other, new(Checkpoint))
	require.ErrorContains(t, err, "of another chain")
}
