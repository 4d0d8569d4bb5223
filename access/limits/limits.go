// Package limits counts requests per client in exact sliding windows.
//
// In: a client, a route's window, the time. Out: a decision with what the rate limit headers need.
// Guarantees: in any span of one Window at most Limit requests of a client pass, and a request is
// refused only when that many passed in the window that ends with it, or when there is no room for
// a new client. Refused requests are not counted. Memory is bounded by MaxClients and by the
// requests that passed in the last window.
//
// When more than MaxClients clients are active, as in a flood of addresses, new ones displace those
// that have used less than a quarter of every limit, the least recently seen first. So a flood
// makes the limiter forget less than a quarter of a limit. A client that has used more keeps its
// windows until they are empty. If there are only such clients, new clients are refused. So a
// refused client gains nothing from a flood.
//
// A request of an IPv6 client also counts in the windows of the networks around it (Networks). It
// passes only if all have room. MaxClients also bounds the networks of each length that are
// remembered.
//
// Limiter is for one node. Shared keeps the same windows in Redis, for several nodes.
package limits

import (
	"errors"
	"fmt"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/internal/steady"
)

// shardCount is the number of shards: with many, two clients seldom wait for each other's lock.
const shardCount = 64

// maxWindows bounds the windows of one Limiter.
const maxWindows = 16

// crowdedRetry is when a new client may try again if there is no room for its windows.
const crowdedRetry = time.Second

// Rule is one window: at most Limit requests in any span of Window.
type Rule struct {
	Limit  int
	Window time.Duration
}

// Decision is the answer for one request. Durations are from the time of the request.
type Decision struct {
	Allowed bool
	// Limit and Remaining are those of the tightest window.
	Limit, Remaining int
	// Reset is when the oldest counted request leaves the tightest window; 0 if no request is
	// counted, and a second if the limiter has no room for the client.
	Reset time.Duration
	// RetryAfter is when a request would pass; 0 if this one did.
	RetryAfter time.Duration
	// Network is the prefix length of the network that the tightest window belongs to, 48 or 56; 0
	// if the window is the client's own.
	Network int
}

// Limiter has the windows of all clients. It is safe for concurrent use.
type Limiter struct {
	networks Networks
	// rules are the rules of the three levels: clients, their /56 networks, their /48 networks.
	rules  [maxScopes][]Rule
	seed   maphash.Seed
	shards [shardCount]shard

	forgotten, turnedAway atomic.Uint64 // see Stats
}

// New returns a limiter. The arguments windows of Take are indices into rules. maxClients is at
// least 64, since each of the 64 shards has room for its part.
func New(rules []Rule, maxClients int, networks Networks) (*Limiter, error) {
	if len(rules) == 0 || len(rules) > maxWindows {
		return nil, fmt.Errorf("rate limits: %d windows, must be 1 to %d", len(rules), maxWindows)
	}
	for i, rule := range rules {
		if rule.Limit < 1 || rule.Window <= 0 {
			return nil, fmt.Errorf("rate limits: window %d: limit %d in %s, both must be positive", i, rule.Limit, rule.Window)
		}
	}
	if maxClients < shardCount {
		return nil, errors.New("rate limits: max clients must be at least 64")
	}
	if networks.Factor56 < 0 || networks.Factor48 < 0 {
		return nil, errors.New("rate limits: negative factor of a network")
	}
	l := &Limiter{networks: networks, rules: networks.scaled(rules), seed: maphash.MakeSeed()}
	for i := range l.shards {
		if err := l.shards[i].init(l.rules, maxClients/shardCount); err != nil {
			return nil, fmt.Errorf("rate limits: %w", err)
		}
	}
	return l, nil
}

// shard returns the shard that has a client and all networks around it. widest is the key of the
// widest of these networks, or of the client if there is none.
func (l *Limiter) shard(widest string) *shard {
	return &l.shards[maphash.String(l.seed, widest)%shardCount]
}

// Take counts a request in all the given windows, of the client and of the networks around it, if
// each window has room. Otherwise it counts the request in none. The times of one client should not
// go backwards. A time before the latest counted one counts as that one.
func (l *Limiter) Take(client string, now time.Time, windows ...int) Decision {
	scopes, count := l.networks.Scopes(client)
	s := l.shard(scopes[count-1].Key)
	at := steady.Nano(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries [maxScopes]*entry
	allowed := true
	for i, scope := range scopes[:count] {
		e, displaced := s.tables[scope.level].find(scope.Key, at)
		switch {
		case e == nil:
			l.turnedAway.Add(1)
			return l.crowded(windows)
		case displaced:
			l.forgotten.Add(1)
		}
		var room bool
		at, room = e.ask(l.rules[scope.level], at, windows)
		entries[i], allowed = e, allowed && room
	}
	decision := Decision{Allowed: allowed, Remaining: -1}
	for i, scope := range scopes[:count] {
		e, rules := entries[i], l.rules[scope.level]
		for _, w := range windows {
			if allowed {
				e.rings[w].add(at, rules[w].Limit)
			}
			decision.tighten(scope, rules[w], e.rings[w].state(rules[w], at))
		}
		s.tables[scope.level].weigh(scope.Key, e)
	}
	return decision
}

// crowded returns the refusal of a client for which there is no room.
func (l *Limiter) crowded(windows []int) Decision {
	rules := l.rules[0]
	decision := Decision{Limit: rules[windows[0]].Limit, Reset: crowdedRetry, RetryAfter: crowdedRetry}
	for _, w := range windows {
		decision.Limit = min(decision.Limit, rules[w].Limit)
	}
	return decision
}

// refused returns whether a request would be refused, and does not count it. It knows only what
// this limiter has counted, and what markFull has recorded.
func (l *Limiter) refused(client string, now time.Time, windows []int) (Decision, bool) {
	scopes, count := l.networks.Scopes(client)
	s := l.shard(scopes[count-1].Key)
	at := steady.Nano(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	allowed := true
	decision := Decision{Remaining: -1}
	for _, scope := range scopes[:count] {
		e := s.tables[scope.level].get(scope.Key)
		if e == nil {
			continue
		}
		rules := l.rules[scope.level]
		var room bool
		at, room = e.ask(rules, at, windows)
		allowed = allowed && room
		for _, w := range windows {
			state := e.rings[w].state(rules[w], at)
			if e.barred != nil && e.barred[w] > at && state.count < rules[w].Limit {
				allowed = false
				state = windowState{count: rules[w].Limit, reset: time.Duration(e.barred[w] - at)}
			}
			decision.tighten(scope, rules[w], state)
		}
	}
	return decision, !allowed
}

// markFull records that a window of a scope is full until a time. Other nodes may have filled it:
// see Shared. markFull does nothing if there is no room for the scope. widest is the key of the
// widest network around it, which selects the shard.
func (l *Limiter) markFull(scope Scope, widest string, now time.Time, window int, until time.Time) {
	s := l.shard(widest)
	s.mu.Lock()
	defer s.mu.Unlock()
	e, _ := s.tables[scope.level].find(scope.Key, steady.Nano(now))
	if e == nil {
		return
	}
	if e.barred == nil {
		e.barred = make([]int64, len(l.rules[scope.level]))
	}
	e.barred[window] = steady.Nano(until)
}

// windowState is how full one window is at one time. reset is how long until the oldest counted
// request leaves it; 0 if none is counted.
type windowState struct {
	count int
	reset time.Duration
}

// tighten merges one window into the decision. The decision shows the tightest window: the one with
// the fewest requests left, and of several such windows the one that resets last.
func (d *Decision) tighten(scope Scope, rule Rule, w windowState) {
	remaining := rule.Limit - w.count
	if remaining == 0 && !d.Allowed {
		d.RetryAfter = max(d.RetryAfter, w.reset)
	}
	if d.Remaining >= 0 && (remaining > d.Remaining || remaining == d.Remaining && w.reset <= d.Reset) {
		return
	}
	d.Limit, d.Remaining, d.Reset, d.Network = rule.Limit, remaining, w.reset, scope.Bits
}

// Sweep forgets clients without counted requests. The caller calls it about once per window length.
// It locks one shard at a time.
func (l *Limiter) Sweep(now time.Time) {
	for i := range l.shards {
		l.shards[i].sweep(steady.Nano(now))
	}
}

// Stats is a summary of how full the limiter is.
type Stats struct {
	// Clients is how many clients are remembered.
	Clients int
	// Forgotten counts clients that were displaced while they had requests counted. TurnedAway
	// counts requests of clients for which there was no room. Both since the start.
	Forgotten, TurnedAway uint64
}

// Stats returns a summary.
func (l *Limiter) Stats() Stats {
	stats := Stats{Forgotten: l.forgotten.Load(), TurnedAway: l.turnedAway.Load()}
	for i := range l.shards {
		stats.Clients += l.shards[i].clients()
	}
	return stats
}
