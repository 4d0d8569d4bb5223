package simulation

import "time"

// Plan is what goes wrong, and how often. Chances are from 0 to 1. The zero value is a provider
// without faults.
type Plan struct {
	// Perfect means that nothing goes wrong, so ingest must know everything in the end.
	Perfect bool
	// Cut breaks a connection of the stream after some bytes, also in the middle of a message.
	Cut float64
	// End ends the stream, with or without an error. Hang keeps it open, and sends nothing more.
	End, Hang float64
	// Repeat sends a message twice, Reorder sends it after later ones, Garbage sends bytes that do
	// not parse before it, Drop does not send it.
	Repeat, Reorder, Garbage, Drop float64
	// Never is the chance that the stream never has a block.
	Never float64
	// Betrays is the chance that the stream gives the first block of a losing fork as confirmed.
	// NewPlan never sets it: no log can be right then.
	Betrays float64
	// Window is how many slots back from_slot reaches. Replay is how the server answers an older
	// one.
	Window uint64
	Replay Replay
	// Tells means that the server offers SubscribeReplayInfo.
	Tells bool
	// Accounts is how the server answers a subscription to accounts.
	Accounts AccountMode
	// Statuses are the slot statuses that the stream has. Each is up to StatusDelay late.
	Statuses    StatusMode
	StatusDelay time.Duration
	// Fail makes a call of the node fail. Lagging makes the node answer as if it were up to Lag
	// slots late. Missing makes it pretend for up to three minutes that there is no such block.
	// Rubbish makes it answer with a block that does not parse. Short makes getBlocks leave out the
	// last three of its list.
	Fail, Lagging, Missing, Rubbish, Short float64
	Lag                                    uint64
	// Stops are the times at which ingest is stopped, and Aways for how long. Kills has true for
	// each stop that is a kill.
	Stops, Aways []time.Duration
	Kills        []bool
}

// Replay is how a server answers a from_slot that it cannot serve.
type Replay int

// Answers to a from_slot that is too old.
const (
	ReplayRefuses     Replay = iota // OUT_OF_RANGE
	ReplayStartsLater               // without a word
	ReplayInternal                  // INTERNAL to every from_slot: no replay at all
	// SubscribeReplayInfo names the oldest slot. But until the world is calm, each replay breaks
	// off after some messages, or brings pings alone.
	ReplayBreaks
	ReplayPings
)

// StatusMode says which slot statuses the stream has.
type StatusMode int

// The statuses of a stream.
const (
	StatusAll StatusMode = iota
	StatusSome
	StatusNone
)

// AccountMode says which account updates the stream has.
type AccountMode int

// The account updates of a stream.
const (
	AccountsConfirmed AccountMode = iota // of confirmed blocks, right before them
	// of every block, also of losing and dead ones, during its slot
	AccountsEarly
	AccountsRefused // the subscription is refused
)

// NewPlan draws the faults of a world.
func NewPlan(w *World) *Plan {
	rng := random(w.Seed, 2)
	maybe := func(most float64) float64 {
		if rng.IntN(2) == 0 {
			return 0
		}
		return rng.Float64() * most
	}
	p := &Plan{
		Cut: maybe(0.8), End: maybe(0.01), Hang: maybe(0.003), Repeat: maybe(0.2), Reorder: maybe(0.2), Garbage: maybe(0.02), Drop: maybe(0.05), Never: maybe(0.05),
		Window: rng.Uint64N(120) + 1, Replay: Replay(rng.IntN(5)), Tells: rng.IntN(2) == 0, Statuses: StatusMode(rng.IntN(3)),
		Fail: maybe(0.3), Lagging: maybe(0.5), Missing: maybe(0.3), Rubbish: maybe(0.1), Lag: rng.Uint64N(60) + 1, Short: maybe(0.5),
	}
	p.Accounts = AccountMode(random(w.Seed, 6).IntN(3))
	if rng.IntN(2) == 0 {
		p.StatusDelay = time.Duration(rng.Int64N(int64(20 * time.Second)))
	}
	at := time.Duration(0)
	for range rng.IntN(4) {
		at += time.Duration(rng.Int64N(int64(w.Calm)/2)) + time.Millisecond
		away := time.Duration(rng.Int64N(int64(w.Calm) / 4))
		if at+away >= w.Calm {
			break
		}
		p.Stops, p.Aways, p.Kills = append(p.Stops, at), append(p.Aways, away), append(p.Kills, rng.IntN(2) == 0)
		at += away
	}
	return p
}

// Perfect returns a plan without faults.
func Perfect() *Plan { return &Plan{Perfect: true, Window: 1 << 40, Tells: true} }
