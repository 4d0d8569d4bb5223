package simulation

import "time"

// Plan is what goes wrong, and how often. Chances are per message or call; the zero value is a
// perfect provider.
type Plan struct {
	// Perfect: nothing goes wrong, so everything must be known.
	Perfect bool
	// Cut breaks a connection of the stream after some bytes, also in the middle of a message.
	Cut float64
	// End ends the stream, with or without an error. Hang keeps it open, and sends nothing more.
	End, Hang float64
	// Repeat sends a message twice, Reorder sends it after later ones, Garbage sends bytes that are
	// none, Drop does not send it.
	Repeat, Reorder, Garbage, Drop float64
	// Never are blocks that the stream never has.
	Never float64
	// Betrays is how many blocks of losing forks the stream gives as confirmed. Never drawn: no log
	// can be right then.
	Betrays float64
	// Window is how many slots back from_slot reaches; Replay what the server says to older ones.
	Window uint64
	Replay Replay
	// Tells: SubscribeReplayInfo is offered.
	Tells bool
	// Accounts is what the server makes of a subscription to accounts.
	Accounts AccountMode
	// Statuses are told, each by up to StatusDelay late.
	Statuses    StatusMode
	StatusDelay time.Duration
	// Fail makes a call of the node fail. Lagging has it answered by one that is up to Lag slots
	// late. Missing says that there is no such block, until the fault is over. Rubbish answers with
	// bytes that are no JSON.
	Fail, Lagging, Missing, Rubbish float64
	Lag                             uint64
	// Stops are when ingest is stopped, Aways for how long; Kills says which of them are kills.
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
	// of every block, losing and dead ones too, as soon as it is processed
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
		Window: rng.Uint64N(120) + 1, Replay: Replay(rng.IntN(3)), Tells: rng.IntN(2) == 0, Statuses: StatusMode(rng.IntN(3)),
		Fail: maybe(0.3), Lagging: maybe(0.5), Missing: maybe(0.3), Rubbish: maybe(0.1), Lag: rng.Uint64N(60) + 1,
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

// Perfect is a provider without a fault.
func Perfect() *Plan { return &Plan{Perfect: true, Window: 1 << 40, Tells: true} }
