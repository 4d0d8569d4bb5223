package solana

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestAClosedProgramHasNoExecutable: whatever a server answers for the account that such a program
// does not have.
func TestAClosedProgramHasNoExecutable(t *testing.T) {
	for _, length := range []int{0, 1, ProgramDataCode, 100} {
		closed := ProgramDataDeployment(pubkey.Key{1}, nil)
		_, ok := closed.Executable(&Account{Data: make([]byte, length)})
		require.False(t, ok, length)
	}
}
