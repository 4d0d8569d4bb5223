package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica/checkpoint"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestTheFormIsTheOneThatItsNumberSays fails when segments are written in another way, or texts
// become other terms or grams. Then raise Form and put the new hash here: a checkpoint of the form
// before must not be read.
func TestTheFormIsTheOneThatItsNumberSays(t *testing.T) {
	x := NewInverted()
	var documents []Document
	for i := range 100 {
		seen := int64(1_700_000_000_000 + i)
		token := &registry.Token{
			Mint: pubkey.Key{byte(i)}, Symbol: fmt.Sprintf("Sym-%d É", i), Name: fmt.Sprintf("The %d. tok oke token №%d", i%7, i), IsToken22: i%3 == 0, FirstSeenAt: &seen,
		}
		documents = append(documents, Document{ID: uint32(i), Mint: token.Mint, Token: token, Extensions: []string{"transferFeeConfig"}[:i%2]})
	}
	x.Fill(documents)
	x.Filled()
	path := filepath.Join(t.TempDir(), "file")
	_, err := checkpoint.Write(context.Background(), path, func(w *checkpoint.Writer) (any, error) {
		w.Section("index")
		x.Checkpoint().Save(w)
		return nil, w.Err()
	})
	require.NoError(t, err)
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	hash := sha256.Sum256(file)
	require.Equal(t, 1, Form)
	require.Equal(t, "ae91950049541d6f", hex.EncodeToString(hash[:8]))
}
