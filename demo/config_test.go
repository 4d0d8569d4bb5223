package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseSource(t *testing.T) {
	for _, s := range []string{"demo:", "demo:?"} {
		c, err := ParseSource(s)
		require.NoError(t, err)
		require.Equal(t, 100, c.TPS)
		require.Equal(t, 300, c.Tokens)
		require.True(t, c.RealTime)
		require.Equal(t, 24*time.Hour, c.Past)
	}
	c, err := ParseSource("demo:?tps=2000&tokens=50000&seed=9&past=0&slot_time=100ms&fork_rate=0&skip_rate=0.1&v1=0&votes=true&switched=50&dead=70&bank_ids=false&replay=false&max_slots=7&start_slot=500&parent_slot=480&base_url=http://x.test/")
	require.NoError(t, err)
	require.Equal(t, Config{Seed: 9, TPS: 2000, Tokens: 50000, SlotTime: 100 * time.Millisecond, SkipRate: 0.1, V1: NoV1, Votes: true, Switched: 50, Dead: 70, WithoutBankIDs: true, WithoutReplay: true, maxSlots: 7, StartSlot: 500, ParentSlot: 480,
		publicBaseURL: "http://x.test", RealTime: true}, c)
}

func TestParseSourceTellsEveryProblem(t *testing.T) {
	for source, want := range map[string][]string{
		"demo:?tpss=1":                                {`unknown key "tpss"`, "must be one of", "tps"},
		"demo:?tps=x&seed=-1&zzz=1":                   {`tps="x": must be a whole number`, `seed="-1": must be a whole number, 0 or more`, `unknown key "zzz"`},
		"demo:?tps=0.5":                               {`tps="0.5"`},
		"demo:?tps=-3&tokens=-1":                      {"tps -3: must be 1 to", "tokens -1: must be 0 to"},
		"demo:?tps=1&tps=2":                           {"tps: given 2 times"},
		"demo:?fork_rate=2":                           {"fork_rate 2: must be 0 to 0.5"},
		"demo:?slot_time=fast":                        {"must be a duration such as 200ms"},
		"demo:?base_url=ftp://x":                      {"must be an http or https URL"},
		"demo:?start_slot=10&parent_slot=10":          {"parent_slot 10: must be below"},
		"demo:?genesis_slot=100&start_slot=50":        {"start_slot 50: must not be below genesis_slot 100"},
		"demo:?v1=101&votes=yes&bank_ids=2":           {`v1="101": must be a whole number from 0 to 100`, `votes="yes": must be true or false`, `bank_ids="2"`},
		"demo:?switched=3&dead=2":                     {"switched 3: must be 0, or 5", "dead 2: must be 0, or 5"},
		"demo:?past=90s":                              {"past 1m30s: must be whole minutes"},
		"demo:?past=-1m":                              {"past -1m0s: must be"},
		"demo:?past=48h":                              {"past 2880: must be at most 1440 slots"},
		"demo:?past=soon":                             {"must be a duration such as 24h"},
		"demo:?history=5":                             {"history 5: must be 100 to"},
		"demo:?%zz":                                   {"invalid URL escape"},
		"file:x":                                      {"must have the scheme demo"},
		"demo:?base_url=http://" + longHost(120) + "": {"at most 100 bytes"},
	} {
		_, err := ParseSource(source)
		require.Error(t, err, source)
		for _, w := range want {
			require.ErrorContains(t, err, w)
		}
	}
}

func longHost(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a'
	}
	return string(b)
}

// A node that starts later in the same history serves the same blocks and accounts as one that ran
// all along.
func TestRestartGoesOnWithTheSameChain(t *testing.T) {
	cfg := testConfig()
	cfg.publicBaseURL = "http://127.0.0.1:9"
	whole := start(t, cfg)
	require.NoError(t, whole.Step(80))
	later := cfg
	later.GenesisSlot, later.StartSlot = 1000, 1050
	second := start(t, later)
	require.EqualValues(t, 1049, second.Slot())
	require.NoError(t, second.Step(30))
	for slot := uint64(1050); slot < 1078; slot++ {
		a, _, okA := whole.Ledger().Block(slot)
		b, _, okB := second.Ledger().Block(slot)
		require.Equal(t, okA, okB, "slot %d", slot)
		if !okA {
			continue
		}
		require.Equal(t, a.Parent, b.Parent)
		require.Len(t, b.Txs, len(a.Txs))
		for i := range a.Txs {
			require.Equal(t, a.Txs[i].Wire(), b.Txs[i].Wire())
		}
	}
}

// After a long fast-forward only the last slots can be read, and those are whole.
func TestFastForwardKeepsTheLastSlots(t *testing.T) {
	cfg := testConfig()
	cfg.TPS, cfg.GenesisSlot, cfg.StartSlot = 20, 1000, 3000
	n := start(t, cfg)
	require.NoError(t, n.Step(40))
	require.GreaterOrEqual(t, n.Ledger().First(), uint64(2000))
	require.Equal(t, -32001, code(call(t, n, nil, "getBlock", 1500, opt())))
	var last uint64
	for slot := n.Ledger().First(); slot < 3030; slot++ {
		b, _, ok := n.Ledger().Block(slot)
		if !ok {
			continue
		}
		if last != 0 {
			require.Equal(t, last, b.Parent)
		}
		last = slot
		for _, tx := range b.Txs {
			require.NotEmpty(t, tx.Signatures)
		}
		require.Nil(t, call(t, n, nil, "getBlock", slot, opt("encoding", "base64", "maxSupportedTransactionVersion", 1)))
	}
	require.NotZero(t, last)
}

// The clock of a resumed chain: what was served keeps its block times, what comes is dated today.
func TestResumedClock(t *testing.T) {
	first := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cfg := Config{StartSlot: 1000, RealTime: true}.withDefaults()
	a := cfg.chain("", first)
	require.Equal(t, first.UnixMilli(), a.TimeMS(1000))
	cfg.GenesisSlot, cfg.StartSlot, cfg.Anchors = 1000, 1500, a.Anchors
	again := first.Add(time.Hour)
	b := cfg.chain("", again)
	for slot := uint64(1000); slot < 1500+resumeMargin; slot++ {
		require.Equal(t, a.TimeMS(slot), b.TimeMS(slot))
	}
	require.Equal(t, again.UnixMilli()+resumeMargin*200, b.TimeMS(1500+resumeMargin))
	require.NoError(t, b.Validate())
	cfg.StartSlot, cfg.Anchors = 1510, b.Anchors
	require.NoError(t, cfg.chain("", again.Add(-2*time.Hour)).Validate(), "a clock set back does not turn time around")
}
