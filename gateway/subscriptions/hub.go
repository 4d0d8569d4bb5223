package subscriptions

import (
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/solana"
)

// Why a connection ends.
var (
	errLagged = errors.New("the client reads slower than notifications come; connect again with fewer subscriptions or a faster reader")
	errStops  = errors.New("the server stops; connect again")
)

// Why a connection or a subscription is refused.
var (
	errFull          = errors.New("the server has as many WebSocket connections as it may; try again later")
	errClientFull    = errors.New("this client has as many WebSocket connections as it may; close some, or share one")
	errTooMany       = errors.New("too many subscriptions on this connection")
	errTooManyInAll  = errors.New("too many subscriptions on this server")
	errUnknownNumber = errors.New("no such subscription")
)

// level is how sure a block is.
type level uint8

const (
	processed level = iota
	confirmed
	finalized
)

// parseLevel reads a commitment. Old names count too, as at a node.
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
	// what upstreams tell
	kindAccount
	kindProgram
	kindLogs
)

var kindNames = [...]string{kindSignature: "signature", kindSlot: "slot", kindRoot: "root", kindAccount: "account", kindProgram: "program", kindLogs: "logs"}

// subscription is one of a connection's. The hub's lock guards it.
type subscription struct {
	id    uint64
	kind  kind
	owner *session
	// The rest is of signatures: the base58 text, the commitment wanted, and whether
	// receivedSignature is wanted and not yet told.
	signature string
	want      level
	received  bool
	// relayed is what an upstream tells; nil for what is told here.
	relayed *relayed
}

// watch is all that is known of a signature that somebody waits for.
type watch struct {
	subscribers map[*subscription]struct{}
	since       time.Time // of the youngest subscription
	due         time.Time // when the upstream is to be asked next
}

// hub knows all subscriptions and hands out notifications. Each goes into its client's buffer; the
// hub never waits for a client.
type hub struct {
	cfg     Config
	metrics *metrics
	// signaturesDue and slotsWanted wake the pollers: something is new that should not wait for
	// their next turn.
	signaturesDue, slotsWanted chan struct{}
	// relayWanted wakes the relay: there are new subscriptions for an upstream, or unwanted ones.
	relayWanted chan struct{}
	gone        sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
	clients  map[string]int
	lastID   uint64
	total    int
	watches  map[string]*watch
	slots    map[*subscription]struct{}
	roots    map[*subscription]struct{}
	relayed  map[string]*relayed // by kind and parameters
	unwanted []goneRelayed       // that the upstream still has
	slot     uint64
	root     uint64
	fedAt    time.Time // when ingest last brought a new slot
}

func newHub(cfg Config, m *metrics) *hub {
	return &hub{
		cfg: cfg, metrics: m, signaturesDue: make(chan struct{}, 1), slotsWanted: make(chan struct{}, 1), relayWanted: make(chan struct{}, 1),
		sessions: map[*session]struct{}{}, clients: map[string]int{}, watches: map[string]*watch{},
		slots: map[*subscription]struct{}{}, roots: map[*subscription]struct{}{}, relayed: map[string]*relayed{},
	}
}

// wake does not block: one signal is enough, whoever receives it looks at everything.
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
		return errStops
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

// removeSession is called once for each session that addSession took.
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
	switch {
	case len(sub.owner.subscriptions) >= h.cfg.maxSubscriptions:
		return errTooMany
	case h.total >= h.cfg.maxSubscriptionsTotal:
		return errTooManyInAll
	}
	h.lastID++
	sub.id = h.lastID
	sub.owner.subscriptions[sub.id] = sub
	h.total++
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
		w.since, w.due = time.Now(), time.Time{} // at once: it may have landed before
		wake(h.signaturesDue)
	case kindAccount, kindProgram, kindLogs: // the upstream's: subscribeRelayed
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

// drop forgets a subscription; the lock is held.
func (h *hub) drop(sub *subscription) {
	delete(sub.owner.subscriptions, sub.id)
	delete(h.slots, sub)
	delete(h.roots, sub)
	h.total--
	if sub.relayed != nil {
		h.leaveRelayed(sub)
	}
	if w := h.watches[sub.signature]; sub.kind == kindSignature && w != nil {
		if delete(w.subscribers, sub); len(w.subscribers) == 0 {
			delete(h.watches, sub.signature)
		}
	}
}

// watched says whether somebody waits for a signature, given as base58 text.
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

// follows says whether somebody wants slots or roots.
func (h *hub) follows() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.slots)+len(h.roots) > 0
}

// landed tells the subscribers of a signature that it is in a block. failure is the JSON of its
// error, null for none. A subscription that wanted no more than this commitment is over.
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

// newSlot tells of a slot, unless a higher one was told before.
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

// newRoot tells of a finalized slot, unless a higher one was told before.
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

// notify queues a notification; the lock is held.
func (h *hub) notify(sub *subscription, result, from string) {
	h.metrics.notifications.WithLabelValues(kindNames[sub.kind], from).Inc()
	sub.owner.queue([]byte(`{"jsonrpc":"2.0","method":"` + kindNames[sub.kind] + `Notification","params":{"result":` + result +
		`,"subscription":` + strconv.FormatUint(sub.id, 10) + `}}`))
}

// close ends all sessions and takes no more.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.sessions {
		s.end(errStops)
	}
}
