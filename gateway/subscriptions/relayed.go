package subscriptions

import (
	"encoding/json"
	"errors"
	"time"
)

var (
	errTooManyRelayed = errors.New("too many account, program and log subscriptions on this server")
	// errRelayGone ends the clients of a subscription that an upstream took and the next refuses.
	errRelayGone = errors.New("no upstream serves one of the subscriptions any more; connect again")
)

// errRelayAway is the answer while no upstream's WebSocket answers.
var errRelayAway = refusal(codeUnavailable, "no upstream's WebSocket answers: try again")

// relayed is a subscription that an upstream has for one or more clients. The hub's lock guards all
// but asked, which is the relay's.
type relayed struct {
	key    string
	kind   kind
	params json.RawMessage
	// subscribers are the clients' subscriptions; waiting those who wait for the upstream's answer.
	subscribers map[*subscription]struct{}
	waiting     []waiter
	state       relayState
	number      uint64 // the upstream's
	// taken says that an upstream has taken it before.
	taken bool
	// refusals counts the upstreams in a row that refused it after another had taken it.
	refusals int
	// slot is the highest that an account was told of.
	slot  uint64
	asked time.Time
}

type relayState uint8

const (
	relayNew    relayState = iota // nobody was asked
	relayAsked                    // the upstream was asked
	relayActive                   // the upstream has it
)

// waiter is a client's call.
type waiter struct {
	sub *subscription
	id  json.RawMessage
}

// goneRelayed is a subscription that the upstream has and nobody wants.
type goneRelayed struct {
	kind   kind
	number uint64
}

// subscribeRelayed registers a subscription of a client, at once where an upstream has an identical
// one, and else when an upstream has taken it.
func (h *hub) subscribeRelayed(sub *subscription, params, id json.RawMessage) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := kindNames[sub.kind] + " " + string(params)
	entry := h.relayed[key]
	switch {
	case len(sub.owner.subscriptions)+sub.owner.pending >= h.cfg.maxSubscriptions:
		return errTooMany
	case h.total >= h.cfg.maxSubscriptionsTotal:
		return errTooManyInAll
	case entry == nil && len(h.relayed) >= h.cfg.maxRelayed:
		return errTooManyRelayed
	case entry == nil:
		entry = &relayed{key: key, kind: sub.kind, params: params, subscribers: map[*subscription]struct{}{}}
		h.relayed[key] = entry
		wake(h.relayWanted)
	}
	h.total++
	sub.relayed = entry
	if entry.state == relayActive {
		h.join(entry, waiter{sub, id})
		return nil
	}
	sub.owner.pending++
	entry.waiting = append(entry.waiting, waiter{sub, id})
	return nil
}

// join registers a client's subscription and queues the answer that carries its number; the lock is
// held.
func (h *hub) join(entry *relayed, w waiter) {
	h.lastID++
	w.sub.id = h.lastID
	w.sub.owner.subscriptions[w.sub.id] = w.sub
	entry.subscribers[w.sub] = struct{}{}
	h.metrics.subscriptions.WithLabelValues(kindNames[w.sub.kind]).Inc()
	w.sub.owner.queue(encode(answer{Result: w.sub.id, ID: w.id}))
}

// leaveRelayed forgets a subscription of a client; the lock is held.
func (h *hub) leaveRelayed(sub *subscription) {
	delete(sub.relayed.subscribers, sub)
	h.tidy(sub.relayed)
}

// tidy gives up a subscription that nobody wants; the lock is held.
func (h *hub) tidy(entry *relayed) {
	if len(entry.subscribers)+len(entry.waiting) > 0 || entry.state == relayAsked {
		return
	}
	delete(h.relayed, entry.key)
	if entry.state == relayActive {
		h.unwanted = append(h.unwanted, goneRelayed{entry.kind, entry.number})
		wake(h.relayWanted)
	}
}

// forgetWaiting drops what a session that ends waits for; the lock is held.
func (h *hub) forgetWaiting(s *session) {
	if s.pending == 0 {
		return
	}
	for _, entry := range h.relayed {
		kept := entry.waiting[:0]
		for _, w := range entry.waiting {
			if w.sub.owner == s {
				h.total--
				continue
			}
			kept = append(kept, w)
		}
		entry.waiting = kept
		h.tidy(entry)
	}
}

// relays says whether somebody wants a subscription of an upstream.
func (h *hub) relays() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.relayed) > 0
}

// relayChanges are the subscriptions to ask for, and those to give up.
func (h *hub) relayChanges() (fresh []*relayed, gone []goneRelayed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, entry := range h.relayed {
		if entry.state == relayNew {
			entry.state = relayAsked
			fresh = append(fresh, entry)
		}
	}
	gone, h.unwanted = h.unwanted, nil
	return fresh, gone
}

// relayAccepted notes that the upstream has a subscription. again says that an upstream had it
// before.
func (h *hub) relayAccepted(entry *relayed, number uint64) (again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	again = entry.taken
	entry.state, entry.number, entry.taken, entry.refusals = relayActive, number, true, 0
	for _, w := range entry.waiting {
		w.sub.owner.pending--
		h.join(entry, w)
	}
	entry.waiting = nil
	h.tidy(entry)
	return again && len(entry.subscribers) > 0
}

// relayRefused tells those who wait what the upstream said. lost says that clients have the
// subscription from an earlier upstream, so that others are to be asked; when upstreams have
// refused it, these clients are cut off with the reason.
func (h *hub) relayRefused(entry *relayed, why *callError, upstreams int) (lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	entry.state = relayNew
	h.refuseWaiting(entry, why)
	if lost = len(entry.subscribers) > 0; lost {
		if entry.refusals++; entry.refusals >= upstreams {
			entry.giveUp()
		}
	}
	h.tidy(entry)
	return lost
}

// giveUp cuts off the clients of a subscription that no upstream serves any more, so that they
// know.
func (r *relayed) giveUp() {
	for sub := range r.subscribers {
		sub.owner.end(errRelayGone)
	}
}

// refuseWaiting answers those who wait with an error; the lock is held.
func (h *hub) refuseWaiting(entry *relayed, why *callError) {
	for _, w := range entry.waiting {
		h.total--
		w.sub.owner.pending--
		w.sub.owner.refuseLater(encode(answer{Error: why, ID: w.id}))
	}
	entry.waiting = nil
}

// relayLost makes all subscriptions new: the connection is gone.
func (h *hub) relayLost() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unwanted = nil
	for _, entry := range h.relayed {
		entry.state = relayNew
		h.tidy(entry)
	}
}

// relayAway answers all who wait: no upstream's WebSocket answers. After a long time it cuts off
// those who have a subscription.
func (h *hub) relayAway(long bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, entry := range h.relayed {
		h.refuseWaiting(entry, errRelayAway)
		if long {
			entry.giveUp()
		}
		h.tidy(entry)
	}
}

// relayNotify passes a notification on to all who want it. An account that was read may be older
// than what was told of it since; then it is left out.
func (h *hub) relayNotify(entry *relayed, result json.RawMessage, read bool) {
	var told struct {
		Context struct {
			Slot uint64 `json:"slot"`
		} `json:"context"`
	}
	if entry.kind == kindAccount {
		_ = json.Unmarshal(result, &told) // without a slot it is older than anything
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if read && told.Context.Slot < entry.slot {
		return
	}
	entry.slot = max(entry.slot, told.Context.Slot)
	for sub := range entry.subscribers {
		h.notify(sub, string(result), fromUpstream)
	}
}
