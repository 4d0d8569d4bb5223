package packed_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica/packed"
)

// TestTheFormIsTheOneThatItsNumberSays fails when states are packed in another way. Then raise form
// and put the new hash here: a checkpoint of the form before must not be read.
func TestTheFormIsTheOneThatItsNumberSays(t *testing.T) {
	hash, corpus := sha256.New(), registrytest.NewCorpus(1, nil)
	var facts []registry.Fact
	for token := range corpus.Tokens(200) {
		facts = corpus.AppendFacts(facts[:0], &token)
		_, _ = hash.Write(packed.NewWriter(packed.NewShared()).Append(nil, token.Mint, facts))
	}
	require.Equal(t, "1", packed.Form()[:1])
	require.Equal(t, "4455a83c80a45ba0", hex.EncodeToString(hash.Sum(nil)[:8]))
}
