package parse

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every successful transaction's log begins with the invocation of its first program that logs, and
// there is a balance for each key.
func TestDetailsOfRealBlocks(t *testing.T) {
	block, err := Reader{}.ConfirmedBlock(sharedBytes(t, "data/blocks/332254855.confirmedblock.pb"), 332254855)
	require.NoError(t, err)
	for _, tx := range block.Transactions {
		if tx.Failed || tx.Vote {
			require.Nil(t, tx.Details)
			require.Zero(t, tx.Signers)
			continue
		}
		require.Positive(t, tx.Signers)
		lines := 0
		tx.Details.Logs(func(line []byte) bool {
			require.Contains(t, string(line), "Program ")
			require.Contains(t, string(line), " invoke [1]")
			lines++
			return false
		})
		require.Equal(t, 1, lines, "visit said stop")
		lines = len(plain(tx.Details).(plainDetails).logs) // plain's own type
		require.Greater(t, lines, 1)
		pre, post := tx.Details.Lamports(nil, nil)
		require.Len(t, pre, len(tx.Keys))
		require.Len(t, post, len(tx.Keys))
	}
}

func TestDetailsOfBrokenBytes(t *testing.T) {
	for _, d := range []*details{
		{}, {json: true}, {json: true, logs: []byte("[1"), pre: []byte("[-1]"), post: []byte("null")},
		{logs: []byte{0x32, 0xff}, pre: []byte{0x80}, post: []byte{1, 0x80}},
	} {
		d.Logs(func([]byte) bool { return true })
		pre, post := d.Lamports(nil, nil)
		require.Empty(t, pre)
		require.LessOrEqual(t, len(post), 1)
	}
}
