package enrich

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// TestWhatWasTakenBackIsReadAnew: although a read at a later slot is remembered, of the accounts
// and of the document. What is read then answers the requests after it.
func TestWhatWasTakenBackIsReadAnew(t *testing.T) {
	const retracted = eventspb.RequestReason_REQUEST_REASON_RETRACTED
	w := newWorld()
	w.rpc.putMint(mintKey(1), "Lake", "https://a.test/x")
	w.rpc.slot = 5000
	w.request(t, ask(mintKey(1), sighted, 1, ""))
	w.start(t)
	w.drained(t)
	w.rpc.mu.Lock()
	w.rpc.slot = 1000
	w.rpc.mu.Unlock()
	w.request(t, ask(mintKey(1), sighted, 900, ""))
	w.drained(t)
	require.Len(t, w.facts(t), 3, "the memory answers")
	w.request(t, ask(mintKey(1), retracted, 901, ""))
	w.drained(t)
	facts := w.facts(t)
	require.Len(t, facts, 6)
	for _, fact := range facts[3:] {
		require.EqualValues(t, 1000, fact.GetSlot())
	}
	require.Equal(t, 2, w.web.fetched("https://a.test/x"))
	w.request(t, ask(mintKey(1), sighted, 950, ""))
	w.drained(t)
	require.Len(t, w.facts(t), 6, "what was read anew is remembered")
}
