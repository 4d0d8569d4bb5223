package subscriptions

import (
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/mintlake/mintlake/access/shares"
	"github.com/mintlake/mintlake/gateway/socket"
	"github.com/mintlake/mintlake/solana"
)

// Why a connection ends.
var (
	errLagged = errors.New("the client reads slower than notifications come; connect again with fewer subscriptions or a faster reader")
)

// Why a connection or a subscription is refused.
var (
	errFull          = errors.New("the server has as many WebSocket connections as it may; try again later")
	errClientFull    = errors.New("this client has as many WebSocket connections as it may; close some, or share one")
	errTooMany       = errors.New("too many subscriptions on this connection")
	errTooManyInAll  = errors.New("too many subscriptions on this server")
	errTooManyOfOne  = errors.New("this client has as many subscriptions as are free for all others; end some")
	errUnknownNumber = errors.New("no such subscription")
)

// level is a commitment; a higher one is more certain.
type level uint8

const (
	processed level = iota
	confirmed
	finalized
)

// parseLevel reads a commitment. Its old names are valid, too, as on a node.
func parseLevel(name string) (level, bool) {
	rank, ok := solana.CommitmentRank(name)
	return level(rank), ok
}

// kind is what a subscription is about.
type kind uint8

const (
	kindSignature kind = iota
	kindSlot
	kindRoot
	// Upstreams serve the kinds below.
	kindAccount
	kindProgram
	kindLogs
)

var kindNames = [...]string{kindSignature: "signature", kindSlot: "slot", kindRoot: "root", kindAccount: "account", kindProgram: "program", kindLogs: "logs"}

// subscription is one subscription of a connection. The hub's lock guards it.
type subscription struct {
	id    uint64
	kind  kind
	owner *session
	// For kindSignature: the signature in base58, the commitment wanted, and whether the
	// notification receivedSignature is wanted and was not sent yet.
	signature string
	want      level
	received  bool
	// relayed is the upstream's subscription that serves this one; nil if it is served here.
	relayed *relayed
}

// watch is a signature of which clients wait for the transaction.
type watch struct {
	subscribers map[*subscription]struct{}
	since       time.Time // when the latest subscription was made
	due         time.Time // when to ask the upstream next
}

// hub has all subscriptions and queues their notifications in the buffers of the clients. It never
// waits for a client.
type hub struct {
	cfg     Config
	metrics *metrics
	// signaturesDue and slotsWanted wake the pollers of signatures and of slots when a new
	// subscription should not wait for their next tick.
	signaturesDue, slotsWanted chan struct{}
	// relayWanted wakes the relay when there are new subscriptions for an upstream, or unwanted
	// ones.
	relayWanted chan struct{}
	gone        sync.WaitGroup // counts the sessions that were not removed yet

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
	clients  map[string]int // sessions of each client
	lastID   uint64
	// open counts the subscriptions and the calls that wait for an upstream. upstream counts the
	// different subscriptions at upstreams. Both count by client.
	open, upstream *shares.Counts
	watches        map[string]*watch
	slots          map[*subscription]struct{}
	roots          map[*subscription]struct{}
	relayed        map[string]*relayed // by kind and parameters
	unwanted       []goneRelayed       // no client has them, but the upstream still does
	slot           uint64              // the highest slot that was notified
	root           uint64              // the highest root that was notified
	fedAt          time.Time           // when ingest last brought a new slot
}

func newHub(cfg Config, m *metrics) *hub {
	return &hub{
		cfg: cfg, metrics: m, signaturesDue: make(chan struct{}, 1), slotsWanted: make(chan struct{}, 1), relayWanted: make(chan struct{}, 1),
		open:     shares.New(shares.Dynamic(cfg.maxSubscriptionsTotal, errTooManyInAll, errTooManyOfOne)),
		upstream: shares.New(shares.Dynamic(cfg.maxRelayed, errTooManyRelayed, errTooManyRelayedOfOne)),
		sessions: map[*session]struct{}{}, clients: map[string]int{}, watches: map[string]*watch{},
		slots: map[*subscription]struct{}{}, roots: map[*subscription]struct{}{}, relayed: map[string]*relayed{},
	}
}

// wake puts a signal into c if there is none; it does not block. One signal is enough, because the
// receiver then looks at everything that is new.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (h *hub) addSession(s *session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return socket.ErrStops
	case len(h.sessions) >= h.cfg.maxConnections:
		return errFull
	case h.clients[s.client] >= h.cfg.maxConnectionsPerClient:
		return errClientFull
	}
	h.sessions[s] = struct{}{}
	h.clients[s.client]++
	h.gone.Add(1)
	return nil
}

// removeSession forgets a session, its subscriptions and its waiting calls. It is called once for
// each session that addSession took.
func (h *hub) removeSession(s *session) {
	h.mu.Lock()
	for _, sub := range s.subscriptions {
		h.drop(sub)
	}
	h.forgetWaiting(s)
	delete(h.sessions, s)
	s.server.queued.Add(-s.queued.Load())
	if h.clients[s.client]--; h.clients[s.client] == 0 {
		delete(h.clients, s.client)
	}
	h.mu.Unlock()
	h.gone.Done()
}

// subscribe registers sub and queues the reply that carries its number. Both happen under the lock,
// so that no notification comes before the reply.
func (h *hub) subscribe(sub *subscription, reply func(id uint64) []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(sub.owner.subscriptions) >= h.cfg.maxSubscriptions {
		return errTooMany
	}
	if err := h.open.Take(sub.owner.client); err != nil {
		return err
	}
	h.lastID++
	sub.id = h.lastID
	sub.owner.subscriptions[sub.id] = sub
	switch sub.kind {
	case kindSlot:
		h.slots[sub] = struct{}{}
		wake(h.slotsWanted)
	case kindRoot:
		h.roots[sub] = struct{}{}
		wake(h.slotsWanted)
	case kindSignature:
		w := h.watches[sub.signature]
		if w == nil {
			w = &watch{subscribers: map[*subscription]struct{}{}}
			h.watches[sub.signature] = w
		}
		w.subscribers[sub] = struct{}{}
		w.since, w.due = time.Now(), time.Time{} // due now: the transaction may have landed before
		wake(h.signaturesDue)
	case kindAccount, kindProgram, kindLogs: // do not come here: see subscribeRelayed
	}
	h.metrics.subscriptions.WithLabelValues(kindNames[sub.kind]).Inc()
	sub.owner.queue(reply(sub.id))
	return nil
}

func (h *hub) unsubscribe(s *session, k kind, id uint64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	sub := s.subscriptions[id]
	if sub == nil || sub.kind != k {
		return errUnknownNumber
	}
	h.drop(sub)
	return nil
}

// drop removes a subscription. The caller holds the lock.
func (h *hub) drop(sub *subscription) {
	delete(sub.owner.subscriptions, sub.id)
	delete(h.slots, sub)
	delete(h.roots, sub)
	h.open.Give(sub.owner.client)
	if sub.relayed != nil {
		h.leaveRelayed(sub)
	}
	if w := h.watches[sub.signature]; sub.kind == kindSignature && w != nil {
		if delete(w.subscribers, sub); len(w.subscribers) == 0 {
			delete(h.watches, sub.signature)
		}
	}
}

// watched returns whether somebody waits for a signature, given as base58 text.
func (h *hub) watched(signature []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watches[string(signature)] != nil
}

// waiting counts the signatures that somebody waits for.
func (h *hub) waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watches)
}

// follows returns whether somebody wants slots or roots.
func (h *hub) follows() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.slots)+len(h.roots) > 0
}

// landed notifies the subscribers of a signature that its transaction is in a block that has
// reached commitment at. failure is the JSON of the transaction's error; null if there is none. A
// subscription that wants receivedSignature gets that notification first, once. A subscription that
// wants no higher commitment than at gets the result and ends.
func (h *hub) landed(signature string, slot uint64, at level, failure json.RawMessage, from string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.watches[signature]
	if w == nil {
		return
	}
	context := `{"context":{"slot":` + strconv.FormatUint(slot, 10) + `},"value":`
	for sub := range w.subscribers {
		if sub.received {
			sub.received = false
			h.notify(sub, context+`"receivedSignature"}`, from)
		}
		if sub.want <= at {
			h.notify(sub, context+`{"err":`+string(failure)+`}}`, from)
			h.drop(sub)
		}
	}
}

// newSlot notifies of a slot, unless that or a higher one was reported before.
func (h *hub) newSlot(slot, parent uint64, from string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slot <= h.slot {
		return
	}
	h.slot = slot
	if from == fromIngest {
		h.fedAt = time.Now()
	}
	result := `{"parent":` + strconv.FormatUint(parent, 10) + `,"root":` + strconv.FormatUint(h.root, 10) + `,"slot":` + strconv.FormatUint(slot, 10) + `}`
	for sub := range h.slots {
		h.notify(sub, result, from)
	}
}

// newRoot notifies of a finalized slot, unless that or a higher one was reported before.
func (h *hub) newRoot(root uint64, from string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if root <= h.root {
		return
	}
	h.root = root
	for sub := range h.roots {
		h.notify(sub, strconv.FormatUint(root, 10), from)
	}
}

// notify queues a notification. The caller holds the lock.
func (h *hub) notify(sub *subscription, result, from string) {
	h.metrics.notifications.WithLabelValues(kindNames[sub.kind], from).Inc()
	sub.owner.queue([]byte(`{"jsonrpc":"2.0","method":"` + kindNames[sub.kind] + `Notification","params":{"result":` + result +
		`,"subscription":` + strconv.FormatUint(sub.id, 10) + `}}`))
}

// close ends all sessions and refuses new ones.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.sessions {
		s.End(socket.ErrStops)
	}
}
