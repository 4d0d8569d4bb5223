package trust

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/state"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

// TestAServerThatIsBehindChangesNothing: servers differ in how far they are.
func TestAServerThatIsBehindChangesNothing(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	tr := s.trust(Config{}, Terms{})
	behind := tr.book.records[cpmm.Name].programs[0].mark
	slot := s.deploy("second")
	s.look(tr)
	require.False(t, s.quoted(tr))
	tr.noteDeployments(map[venue.Key]mark{cpmm.Program: behind}, slot-1)
	require.False(t, s.quoted(tr))
	tr.noteDeployments(map[venue.Key]mark{cpmm.Program: behind}, slot+1)
	require.True(t, s.quoted(tr), "the block of the deployment lost its fork")
}

// TestTheStreamTellsOfADeployment: at once, and quotes ask no server while it does.
func TestTheStreamTellsOfADeployment(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	tr := s.trust(Config{fresh: time.Nanosecond}, Terms{})
	looks := func() int { return s.chain.Calls(swaptest.Slices) }
	before := looks()
	require.NoError(t, tr.Check(t.Context(), 0))
	require.Greater(t, looks(), before, "without a stream each quote looks")
	tr.Live(true, 0)
	tr.lookNow(t.Context())
	before = looks()
	require.NoError(t, tr.Check(t.Context(), s.chain.Slot()))
	require.Equal(t, before, looks())

	slot := s.deploy("second")
	_, accounts, err := s.chain.GetMultipleAccounts(t.Context(), tr.Watched(), solana.AccountOptions{})
	require.NoError(t, err)
	tr.Wrote(state.Write{Slot: slot, Key: tr.Watched()[1], Account: accounts[1]})
	require.Equal(t, ReasonRedeployed, s.reason(tr))
	require.Equal(t, Sum([]byte("second")), tr.Report(cpmm.Name).Programs[0].SHA256)

	tr.Live(false, 0)
	require.NoError(t, tr.Check(t.Context(), s.chain.Slot()))
	require.Greater(t, looks(), before)
	tr.Live(true, 0)
	require.False(t, tr.live.Load(), "what happened before it is connected is not told")
	require.True(t, tr.behind())

	tr.Live(true, s.chain.Slot()+1)
	tr.lookNow(t.Context())
	require.False(t, tr.live.Load(), "the server is behind the stream: it may not have what went before")
	s.deploy("third")
	tr.lookNow(t.Context())
	require.True(t, tr.live.Load())
	tr.Wrote(state.Write{Slot: s.chain.Slot() + 1, Key: tr.Watched()[1]}) // it is closed
	tr.lookNow(t.Context())
	require.False(t, tr.live.Load(), "the server does not have that yet")

	tr.Live(true, 1<<60) // a server that lied
	tr.lookNow(t.Context())
	require.False(t, tr.live.Load())
	tr.leastAt = tr.leastAt.Add(-leastWindow - time.Second)
	tr.lookNow(t.Context())
	require.True(t, tr.live.Load())
}
