package subscriptions

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/mintlake/mintlake/gateway/message"
)

var (
	errTooManyRelayed      = errors.New("too many account, program and log subscriptions on this server")
	errTooManyRelayedOfOne = errors.New("this client has as many different account, program and log subscriptions as are free for all others; end some")
	// errRelayGone ends the sessions of the clients of a subscription that an upstream served and
	// that no upstream serves any more.
	errRelayGone = errors.New("no upstream serves one of the subscriptions any more; connect again")
)

// errRelayAway is the answer while no upstream's WebSocket can be reached.
var errRelayAway = refusal(message.CodeUnavailable, "no upstream's WebSocket answers: try again")

// relayed is a subscription at an upstream that serves one or more clients. The hub's lock guards
// all fields but asked, which only the goroutine of the connection uses.
type relayed struct {
	key    string
	kind   kind
	params json.RawMessage
	// client is the client that asked for the subscription first. The subscription counts for its
	// limit until no client wants it any more.
	client string
	// forks is set for commitment processed: a fork that is given up may take the account back to a
	// lower slot.
	forks bool
	// subscribers are the clients' subscriptions. waiting are the clients' calls that wait for the
	// upstream's answer.
	subscribers map[*subscription]struct{}
	waiting     []waiter
	state       relayState
	number      uint64 // given by the upstream; valid while state is relayActive
	// taken says that some upstream has accepted the subscription before.
	taken bool
	// refusals counts the upstreams that have refused the subscription one after the other since
	// the last one accepted it.
	refusals int
	// slot is the highest slot of a notification that clients were sent about the account.
	slot  uint64
	asked time.Time // when the present upstream was asked
}

type relayState uint8

const (
	relayNew    relayState = iota // nobody was asked
	relayAsked                    // the upstream was asked
	relayActive                   // the upstream has it
)

// waiter is a client's call that waits for the upstream's answer.
type waiter struct {
	sub *subscription
	id  json.RawMessage
}

// goneRelayed is a subscription that the upstream has and no client wants any more.
type goneRelayed struct {
	entry  *relayed
	number uint64
}

// subscribeRelayed registers a client's subscription: at once if the upstream has an identical one,
// otherwise when the upstream accepts it.
func (h *hub) subscribeRelayed(sub *subscription, params, id json.RawMessage) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := kindNames[sub.kind] + " " + string(params)
	entry := h.relayed[key]
	client := sub.owner.client
	if len(sub.owner.subscriptions)+sub.owner.pending >= h.cfg.maxSubscriptions {
		return errTooMany
	}
	if err := h.open.Take(client); err != nil {
		return err
	}
	if entry == nil {
		if err := h.upstream.Take(client); err != nil {
			h.open.Give(client)
			return err
		}
		entry = &relayed{key: key, kind: sub.kind, params: params, client: client, forks: atProcessed(params), subscribers: map[*subscription]struct{}{}}
		h.relayed[key] = entry
		wake(h.relayWanted)
	}
	sub.relayed = entry
	if entry.state == relayActive {
		h.join(entry, waiter{sub, id})
		return nil
	}
	sub.owner.pending++
	entry.waiting = append(entry.waiting, waiter{sub, id})
	return nil
}

// atProcessed returns whether the params of an account's subscription name the commitment
// processed.
func atProcessed(params json.RawMessage) bool {
	var list []json.RawMessage
	var options struct {
		Commitment string `json:"commitment"`
	}
	if json.Unmarshal(params, &list) != nil || len(list) < 2 || json.Unmarshal(list[1], &options) != nil {
		return false
	}
	at, known := parseLevel(options.Commitment)
	return known && at == processed
}

// join registers a client's subscription and queues the answer with its number. The caller holds
// the lock.
func (h *hub) join(entry *relayed, w waiter) {
	h.lastID++
	w.sub.id = h.lastID
	w.sub.owner.subscriptions[w.sub.id] = w.sub
	entry.subscribers[w.sub] = struct{}{}
	h.metrics.subscriptions.WithLabelValues(kindNames[w.sub.kind]).Inc()
	w.sub.owner.queue(message.Result(w.id, w.sub.id))
}

// leaveRelayed removes a client's subscription. The caller holds the lock.
func (h *hub) leaveRelayed(sub *subscription) {
	delete(sub.relayed.subscribers, sub)
	h.tidy(sub.relayed)
}

// tidy removes a subscription that no client wants. If the upstream has it, the relay ends it
// there. If the upstream was asked and has not answered yet, tidy does nothing and is called again
// after the answer. The caller holds the lock.
func (h *hub) tidy(entry *relayed) {
	if len(entry.subscribers)+len(entry.waiting) > 0 || entry.state == relayAsked {
		return
	}
	delete(h.relayed, entry.key)
	h.upstream.Give(entry.client)
	if entry.state == relayActive {
		h.unwanted = append(h.unwanted, goneRelayed{entry, entry.number})
		wake(h.relayWanted)
	}
}

// forgetWaiting drops the waiting calls of a session that ends. The caller holds the lock.
func (h *hub) forgetWaiting(s *session) {
	if s.pending == 0 {
		return
	}
	for _, entry := range h.relayed {
		kept := entry.waiting[:0]
		for _, w := range entry.waiting {
			if w.sub.owner == s {
				h.open.Give(s.client)
				continue
			}
			kept = append(kept, w)
		}
		entry.waiting = kept
		h.tidy(entry)
	}
}

// hasRelayed returns whether any client wants a subscription that an upstream serves.
func (h *hub) hasRelayed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.relayed) > 0
}

// relayChanges returns the subscriptions to make at the upstream, fresh, and marks them as asked.
// It also returns those to end there, gone.
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

// relayAccepted records that the upstream has accepted a subscription, and answers the waiting
// calls. again is true if an upstream accepted it before and a client still wants it.
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

// relayRefused answers the waiting calls with the upstream's error. lost is true if clients have
// the subscription from an earlier upstream: then another upstream is to be asked. upstreams is how
// many there are: when so many have refused the subscription in a row, these clients are cut off.
func (h *hub) relayRefused(entry *relayed, why *message.Error, upstreams int) (lost bool) {
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

// giveUp ends the sessions of the clients of a subscription that no upstream serves any more.
func (r *relayed) giveUp() {
	for sub := range r.subscribers {
		sub.owner.End(errRelayGone)
	}
}

// refuseWaiting answers all waiting calls with an error. The caller holds the lock.
func (h *hub) refuseWaiting(entry *relayed, why *message.Error) {
	for _, w := range entry.waiting {
		h.open.Give(w.sub.owner.client)
		w.sub.owner.pending--
		w.sub.owner.refuseLater(message.Failure(w.id, why))
	}
	entry.waiting = nil
}

// relayLost marks all subscriptions as new, because the connection to the upstream is gone.
func (h *hub) relayLost() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unwanted = nil
	for _, entry := range h.relayed {
		entry.state = relayNew
		h.tidy(entry)
	}
}

// relayAway is called before a pause, after a round through all upstreams in which none served for
// long. It answers all waiting calls with errRelayAway. long says that upstreams have failed for
// longer than relayPatience: then relayAway also ends the sessions of the clients that have relayed
// subscriptions.
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

// relayTold returns whether clients were told anything of an account.
func (h *hub) relayTold(entry *relayed) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return entry.slot > 0
}

// relayNotify passes a notification on to all subscribers of entry. ordered says to drop the
// notification if its slot is below entry.slot, the slot that clients have of the account.
func (h *hub) relayNotify(entry *relayed, result json.RawMessage, ordered bool) {
	var told struct {
		Context struct {
			Slot uint64 `json:"slot"`
		} `json:"context"`
	}
	if entry.kind == kindAccount {
		_ = json.Unmarshal(result, &told) // a result without a slot counts as slot 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if ordered && told.Context.Slot < entry.slot {
		return
	}
	entry.slot = max(entry.slot, told.Context.Slot)
	for sub := range entry.subscribers {
		h.notify(sub, string(result), fromUpstream)
	}
}
