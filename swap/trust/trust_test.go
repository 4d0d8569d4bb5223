package trust

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
	"github.com/mintlake/mintlake/swap/venue/guard"
)

// hang is what anything may take before it counts as hanging.
const hang = 3 * time.Minute

// plain is the kind of all swaps here.
const plain venue.Features = 0

// trust makes one of the scene, as after a start.
func (s *scene) trust(cfg Config, terms Terms) *Trust {
	s.t.Helper()
	tr, err := New(cfg, Deps{Terms: terms, RPC: s.chain, Venues: venue.List{s.venue}, Registerer: prometheus.NewRegistry()})
	require.NoError(s.t, err)
	s.look(tr)
	return tr
}

// look looks at the programs, and waits until their executables are read.
func (s *scene) look(tr *Trust) {
	s.t.Helper()
	require.NoError(s.t, tr.look(s.t.Context(), 0))
	require.Eventually(s.t, func() bool { return !tr.unread() }, hang, time.Millisecond)
}

// deploy puts a build of the venue's program into the next slot.
func (s *scene) deploy(code string) (slot uint64) {
	s.chain.Edit(swaptest.Clock, func([]byte) {})
	s.chain.Deploy(cpmm.Program, s.chain.Slot(), []byte(code))
	return s.chain.Slot()
}

// sees replays swaps of which each gives so much more than it should.
func (s *scene) sees(tr *Trust, count int, more uint64) {
	s.t.Helper()
	for range count {
		e := s.run(swaptest.Ran{}, more)
		tr.conclude(s.t.Context(), e, tr.replay(e))
	}
}

func (s *scene) quoted(tr *Trust) bool { return tr.Gate(cpmm.Name).Allows(plain) == nil }

func (s *scene) reason(tr *Trust) string {
	if stop := tr.Report(cpmm.Name).Stop; stop != nil {
		require.ErrorIs(s.t, stop, venue.ErrStopped)
		return stop.Reason
	}
	return ""
}

func TestARedeployedProgramStopsUntilItsSwapsAreWhatQuotesSay(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	tr, err := New(Config{}, Deps{RPC: s.chain, Venues: venue.List{s.venue}})
	require.NoError(t, err)
	require.Equal(t, ReasonUnread, s.reason(tr))
	s.look(tr)
	require.True(t, s.quoted(tr))
	require.Equal(t, BasisFirst, tr.Report(cpmm.Name).Basis)

	slot := s.deploy("second")
	require.NoError(t, tr.Check(t.Context(), slot+1))
	require.False(t, s.quoted(tr), "while the executable is read, too")
	s.look(tr)
	require.Equal(t, ReasonRedeployed, s.reason(tr))
	require.Contains(t, tr.Report(cpmm.Name).Stop.Message, cpmm.Program.String())
	require.Equal(t, []Program{{cpmm.Program, slot, Sum([]byte("second"))}}, tr.Report(cpmm.Name).Programs)

	s.sees(tr, 19, 0)
	require.False(t, s.quoted(tr))
	require.Equal(t, []Kind{{[]string{}, 19, false}}, tr.Report(cpmm.Name).Kinds)
	s.sees(tr, 1, 1)
	s.sees(tr, 19, 0)
	require.False(t, s.quoted(tr), "20 in a row")
	s.sees(tr, 1, 0)
	require.True(t, s.quoted(tr))
	require.Error(t, tr.Gate(cpmm.Name).Allows(plain+1), "another kind is to prove itself")
	require.True(t, tr.Report(cpmm.Name).Partly)
	require.Empty(t, tr.Report(cpmm.Name).Basis)

	s.sees(tr, 1, 1)
	require.False(t, s.quoted(tr), "the first mismatch stops it again")
	require.Equal(t, ReasonMismatch, s.reason(tr))
	require.EqualValues(t, 2, tr.Report(cpmm.Name).Mismatches)
	require.EqualValues(t, 2, testutil.ToFloat64(tr.metrics.mismatches.WithLabelValues(cpmm.Name)))

	s.deploy("first") // back to what was there before
	s.look(tr)
	require.True(t, s.quoted(tr))
}

// onlyTheChain is a venue whose program was never run by us.
type onlyTheChain struct{ venue.Venue }

func (onlyTheChain) Proof() venue.Proof { return venue.ProofChain }

func TestAVenueThatOnlyTheChainProvesStartsStopped(t *testing.T) {
	s := newScene(t)
	s.venue = onlyTheChain{s.venue}
	s.deploy("first")
	tr := s.trust(Config{}, Terms{Matches: 3})
	require.Equal(t, ReasonUnproved, s.reason(tr))
	require.Empty(t, tr.Report(cpmm.Name).Basis)
	s.sees(tr, 3, 0)
	require.True(t, s.quoted(tr))
	require.True(t, tr.Report(cpmm.Name).Partly)
	s.sees(tr, 1, 1)
	require.Equal(t, ReasonMismatch, s.reason(tr))
}

func TestAMismatchStopsAVenueThatIsTrusted(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	dir := t.TempDir()
	tr := s.trust(Config{Dir: dir}, Terms{Matches: 3})
	s.sees(tr, 1, 0)
	s.sees(tr, 1, 5)
	require.Equal(t, ReasonMismatch, s.reason(tr))
	require.Error(t, tr.Gate(cpmm.Name).Allows(plain+1), "all kinds: the build is not what it was taken for")
	files, err := filepath.Glob(filepath.Join(dir, vectorFolder, "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	v, err := ReadVector(files[0])
	require.NoError(t, err)
	require.Equal(t, v.Quoted.Out+5, v.Chain.Out)
	require.Equal(t, Sum([]byte("first")), v.Programs[0].SHA256)
	got, err := v.Verify(venue.List{cpmm.Venue{}})
	require.NoError(t, err)
	require.Equal(t, v.Quoted, got)

	tr.save()
	again := s.trust(Config{Dir: dir}, Terms{Matches: 3})
	require.Equal(t, ReasonMismatch, s.reason(again), "a restart does not forget it")
	accepted := map[venue.Key][]string{cpmm.Program: {Sum([]byte("first"))}}
	again = s.trust(Config{Dir: dir, Accepted: accepted}, Terms{Matches: 3})
	require.Equal(t, ReasonMismatch, s.reason(again), "what is known to be wrong cannot be accepted")
	s.sees(again, 3, 0)
	require.True(t, s.quoted(again))
}

func TestSwapsOfTheBuildBeforeSayNothing(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	tr := s.trust(Config{}, Terms{Matches: 1})
	late := s.run(swaptest.Ran{}, 0)
	wrong := s.run(swaptest.Ran{}, 3)
	s.deploy("second")
	s.look(tr)
	for _, e := range []*Evidence{late, wrong} {
		tr.conclude(t.Context(), e, tr.replay(e))
	}
	require.Equal(t, ReasonRedeployed, s.reason(tr))
	require.Empty(t, tr.Report(cpmm.Name).Kinds)

	// A swap on a build that nobody noticed yet says nothing of the one before.
	s.deploy("third")
	s.sees(tr, 1, 3)
	s.look(tr)
	require.Zero(t, tr.book.records[cpmm.Name].builds[Sum([]byte("second"))].Mismatches)
	require.False(t, s.quoted(tr))
}

// TestABuildThatSwapsOtherwiseAsksNobody while the stream tells of deployments: it may be each swap
// on the chain, and other venues' swaps wait behind.
func TestABuildThatSwapsOtherwiseAsksNobody(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	tr := s.trust(Config{}, Terms{})
	s.deploy("second")
	s.look(tr)
	tr.Live(true, 0)
	tr.lookNow(t.Context())
	looks := s.chain.Calls(swaptest.Slices)
	s.sees(tr, 40, 1)
	require.Equal(t, looks, s.chain.Calls(swaptest.Slices))
	require.EqualValues(t, 40, tr.Report(cpmm.Name).Mismatches)
}

func TestABuildThatRunsCoverIsTrustedAtOnce(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	known := []KnownBuild{{Name: "tested", SHA256: map[venue.Key]string{cpmm.Program: Sum([]byte("second"))}}}
	tr := s.trust(Config{}, Terms{Known: known})
	s.deploy("second\x00\x00\x00") // the account is longer than the executable
	s.look(tr)
	require.True(t, s.quoted(tr))
	require.Equal(t, BasisKnown, tr.Report(cpmm.Name).Basis)
	s.deploy("third")
	s.look(tr)
	require.Equal(t, ReasonRedeployed, s.reason(tr))
}

func TestTheOperatorAcceptsABuild(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	dir := t.TempDir()
	tr := s.trust(Config{Dir: dir}, Terms{})
	s.deploy("second")
	s.look(tr)
	require.False(t, s.quoted(tr))
	tr.save()

	accepted, err := ParseAccepted([]string{cpmm.Program.String() + ":" + Sum([]byte("second"))})
	require.NoError(t, err)
	tr = s.trust(Config{Dir: dir, Accepted: accepted}, Terms{})
	require.True(t, s.quoted(tr))
	require.Equal(t, BasisOperator, tr.Report(cpmm.Name).Basis)
	tr.save()
	tr = s.trust(Config{Dir: dir}, Terms{})
	require.Equal(t, BasisOperator, tr.Report(cpmm.Name).Basis, "it is recorded")
	s.sees(tr, 1, 1)
	require.Equal(t, ReasonMismatch, s.reason(tr))

	for _, bad := range []string{"", "x:y", cpmm.Program.String(), cpmm.Program.String() + ":00", cpmm.Program.String() + ":" + Sum(nil)[1:] + "G"} {
		_, err := ParseAccepted([]string{bad})
		require.ErrorContains(t, err, "PROGRAM:SHA256", bad)
	}
}

// TestANewerVersionMayKnowABuild that stopped the venue before.
func TestANewerVersionMayKnowABuild(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	dir := t.TempDir()
	tr := s.trust(Config{Dir: dir}, Terms{})
	s.deploy("second")
	s.look(tr)
	require.False(t, s.quoted(tr))
	tr.save()
	known := []KnownBuild{{Name: "tested", SHA256: map[venue.Key]string{cpmm.Program: Sum([]byte("second"))}}}
	tr = s.trust(Config{Dir: dir}, Terms{Known: known})
	require.Equal(t, BasisKnown, tr.Report(cpmm.Name).Basis)
	s.sees(tr, 1, 1)
	s.look(tr)
	require.Equal(t, ReasonMismatch, s.reason(tr), "a mismatch takes the trust for good")
}

// TestARecordOfFewerPrograms: an earlier version may have watched fewer of a venue's programs.
func TestARecordOfFewerPrograms(t *testing.T) {
	other := swaptest.Named("another program")
	b := newBook(venue.List{severalPrograms{cpmm.Venue{}, []venue.Key{cpmm.Program, other}}}, Terms{Matches: 1}, map[venue.Key][]string{other: {"new"}})
	sum := Sum([]byte("first"))
	require.NoError(t, b.load(document{documentFormat, map[string]map[string]*verdict{
		cpmm.Name: {sum: {Basis: BasisFirst, Programs: []Program{{cpmm.Program, 1, sum}}}},
	}}))
	first, second := mark{Loader: solana.LoaderUpgradeable, Slot: 1, Code: other, At: solana.ProgramDataCode}, mark{Loader: solana.LoaderUpgradeable, Slot: 2, Code: other, At: solana.ProgramDataCode}
	b.noteDeployments(map[venue.Key]mark{cpmm.Program: first, other: second}, 3, time.Now())
	b.noteHash(cpmm.Program, first, sum, time.Now())
	b.noteHash(other, second, "new", time.Now())
	require.Equal(t, BasisOperator, b.report(cpmm.Name).Basis, "the one is accepted, the other was trusted")

	require.ErrorContains(t, b.load(document{documentFormat, map[string]map[string]*verdict{cpmm.Name: {sum: {Proofs: map[venue.Features]*proof{0: nil}}}}}), "nothing")
}

// severalPrograms is a venue of several.
type severalPrograms struct {
	cpmm.Venue
	programs []venue.Key
}

func (v severalPrograms) Programs() []venue.Key { return v.programs }

// TestARestartIsNoFirstLook: a node that was down while a program was deployed anew.
func TestARestartIsNoFirstLook(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	dir := t.TempDir()
	s.trust(Config{Dir: dir}, Terms{}).save()
	calls := s.chain.Calls("getMultipleAccounts")
	require.True(t, s.quoted(s.trust(Config{Dir: dir}, Terms{})))
	require.Equal(t, calls, s.chain.Calls("getMultipleAccounts"), "the executable is not read again")
	s.deploy("second")
	require.False(t, s.quoted(s.trust(Config{Dir: dir}, Terms{})))

	require.NoError(t, os.WriteFile(filepath.Join(dir, recordFile), []byte(`{"format":2}`), 0o600))
	_, err := New(Config{Dir: dir}, Deps{RPC: s.chain, Venues: venue.List{s.venue}})
	require.ErrorContains(t, err, "has format 2, this version reads 1")
}

// TestADamagedRecordTrustsNothing: it does not stop the node, and what is deployed now is not taken
// for what was there first.
func TestADamagedRecordTrustsNothing(t *testing.T) {
	for _, text := range []string{"", "{", "null", "[]", `{"format":"1"}`, `{"format":1,"venues":[]}`, `{"format":1,"venues":{"raydium_cpmm":{"x":null}}}`, "\x00\xff", "folder", "loop"} {
		s := newScene(t)
		s.deploy("first")
		dir := t.TempDir()
		path := filepath.Join(dir, recordFile)
		switch text {
		case "folder":
			require.NoError(t, os.MkdirAll(filepath.Join(path, "inner"), 0o700))
		case "loop":
			require.NoError(t, os.Symlink(recordFile, path))
		default:
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		tr := s.trust(Config{Dir: dir}, Terms{})
		require.False(t, s.quoted(tr), "%q: it must prove itself", text)
		tr.setDirty()
		tr.save()
		require.False(t, s.quoted(s.trust(Config{Dir: dir}, Terms{})), "%q: after a restart, too", text)
	}
}

// TestSwapsAreFoundOverRPC: pools that were asked for are read, and the first swap since is looked
// up.
func TestSwapsAreFoundOverRPC(t *testing.T) {
	for name, version1 := range map[string]bool{"legacy": false, "version 1": true} {
		t.Run(name, func(t *testing.T) { swapsAreFoundOverRPC(t, version1) })
	}
}

func swapsAreFoundOverRPC(t *testing.T, version1 bool) {
	s := newScene(t)
	if version1 {
		s.chain.SendVersion1()
	}
	s.deploy("first")
	tr := s.trust(Config{}, Terms{Matches: 2})
	s.deploy("second")
	s.look(tr)
	tr.deps.Pools = func() []Pool { return []Pool{{Venue: cpmm.Name, Ref: s.ref}} }
	round := func() {
		for _, p := range tr.chosen(0) {
			require.NoError(t, tr.probe(t.Context(), p))
		}
	}
	round()
	round()
	require.Empty(t, tr.Report(cpmm.Name).Kinds, "nothing happened")
	s.run(swaptest.Ran{Failed: true}, 0)
	s.run(swaptest.Ran{}, 0)
	s.run(swaptest.Ran{}, 9) // behind the first one: its state was not read
	round()
	require.Equal(t, []Kind{{[]string{}, 1, false}}, tr.Report(cpmm.Name).Kinds)
	s.run(swaptest.Ran{}, 0)
	round()
	require.True(t, s.quoted(tr))
	require.Len(t, tr.chosen(2), 1, "other kinds wait")
	s.deploy("first")
	s.look(tr)
	require.Empty(t, tr.chosen(2), "a trusted venue is looked at rarely")
	require.Len(t, tr.chosen(trustedRounds), 1)

	other := s.chain.CPMM(swaptest.Pool{Name: "other", Mints: s.ref.Mints(), Amounts: [2]uint64{1000, 1000}})
	_, accounts, err := s.chain.GetMultipleAccounts(t.Context(), []venue.Key{other.Pool}, solana.AccountOptions{})
	require.NoError(t, err)
	ref, err := s.venue.Open(other.Pool, accounts[0].Data)
	require.NoError(t, err)
	tr.deps.Pools = func() []Pool { return []Pool{{Venue: cpmm.Name, Ref: s.ref}, {Venue: cpmm.Name, Ref: ref}} }
	looked := map[venue.Key]bool{}
	for visit := range 4 {
		read, look := tr.chosen(visit*trustedRounds), tr.chosen(visit*trustedRounds+1)
		require.Equal(t, read, look, "the pool that was read is looked at")
		looked[look[0].Ref.Address()] = true
	}
	require.Len(t, looked, 2, "each has its turn")
}

// TestAGatedQuoteDoesNotAllocate: quotes are made thousands at a time.
func TestAGatedQuoteDoesNotAllocate(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	tr := s.trust(Config{}, Terms{Matches: 1})
	g, err := guard.New(venue.List{cpmm.Venue{}}, guard.Deps{})
	require.NoError(t, err)
	p, err := s.chain.Pool(t, g.Venues(tr.Gate)[0], s.pool.Mints)
	require.NoError(t, err)
	order := venue.Order{In: s.pool.Mints[0], Amount: 1_000_000, Clock: venue.Clock{UnixTime: 1_700_000_000}}
	measure := func() float64 { return testing.AllocsPerRun(100, func() { _, err = p.Quote(order) }) }
	require.Zero(t, measure(), "of a venue that is trusted as a whole")
	require.NoError(t, err)
	s.deploy("second")
	s.look(tr)
	_, err = p.Quote(order)
	require.ErrorIs(t, err, venue.ErrStopped, "the gate is asked")
	s.sees(tr, 1, 0)
	require.Zero(t, measure(), "of a kind that is proved")
	require.NoError(t, err)
}

// TestWhatIsNotWatchedIsNotQuoted: nobody knows how its programs are deployed.
func TestWhatIsNotWatchedIsNotQuoted(t *testing.T) {
	s := newScene(t)
	s.deploy("first")
	tr := s.trust(Config{}, Terms{})
	require.ErrorIs(t, tr.Gate("another").Allows(plain), venue.ErrStopped)
	stop, _ := tr.Stop("another")
	require.Equal(t, ReasonUnread, stop.Reason)
}
