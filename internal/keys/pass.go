package keys

import (
	"net/http"
	"strings"
	"sync"
)

// Pass is a request that was admitted.
type Pass struct {
	gate    *Gate
	request Request
	hash    Hash
	key     *Key // nil where no key was needed
}

// ID is the key's id, or OpenID.
func (p *Pass) ID() string {
	if p.key == nil {
		return OpenID
	}
	return p.key.ID
}

// Method says whether the key may call a method; nil means yes.
func (p *Pass) Method(name string) *Refusal {
	if p.key == nil || p.key.compiled.allowsMethod(name) {
		return nil
	}
	// Whoever may subscribe may end it.
	if kind, found := strings.CutSuffix(name, "Unsubscribe"); found && p.key.compiled.allowsMethod(kind+"Subscribe") {
		return nil
	}
	return refuse(http.StatusForbidden, RuleMethod, "the API key is not for the method %.64s", name)
}

// Take counts n calls against the key's requests a second.
func (p *Pass) Take(n int) (Budget, *Refusal) {
	if p.key == nil || p.key.Rules.RequestsPerSecond == 0 {
		return Budget{}, nil
	}
	budget, ok := p.key.meter.take(n, p.key.Rules.RequestsPerSecond, p.gate.now())
	if ok {
		return budget, nil
	}
	refused := refuse(http.StatusTooManyRequests, RuleRequests, "the API key is limited to %d requests a second", budget.Limit)
	refused.Budget = budget
	return budget, refused
}

// Open begins a stream of the key. The caller closes the lease when the stream is over.
func (p *Pass) Open() (*Lease, *Refusal) {
	l := &Lease{gate: p.gate, request: p.request, hash: p.hash, open: p.key == nil, ended: make(chan struct{})}
	if p.key != nil {
		l.meter = p.key.meter
		if limit := p.key.Rules.Streams; !l.meter.open(limit) {
			return nil, refuse(http.StatusTooManyRequests, RuleStreams, "the API key is limited to %d streams at the same time", limit)
		}
	}
	p.gate.mu.Lock()
	p.gate.leases[l] = struct{}{}
	p.gate.mu.Unlock()
	// A change between Admit and here was not seen by the gate's look at its leases.
	if _, refused := l.pass(); refused != nil {
		l.Close()
		return nil, refused
	}
	return l, nil
}

// Lease is an open stream. A nil Lease never ends and allows everything. A stream ends when its key
// is revoked or expires, when the grace of the secret that opened it is over, or when the rules on
// origin and address exclude it.
type Lease struct {
	gate    *Gate
	request Request
	hash    Hash
	open    bool   // no key was needed
	meter   *meter // nil where no key was needed

	ended  chan struct{}
	once   sync.Once
	closed sync.Once
	why    *Refusal
}

// pass is what the key may do now.
func (l *Lease) pass() (Pass, *Refusal) {
	if l.open {
		return l.gate.Admit(l.request)
	}
	found, known := l.gate.store.Find(l.hash)
	return l.gate.admitFound(found, known, l.request)
}

// Ended is closed when the stream must end; Why is known then.
func (l *Lease) Ended() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.ended
}

// Why is the reason of the end, once Ended is closed.
func (l *Lease) Why() *Refusal { return l.why }

func (l *Lease) end(why *Refusal) {
	l.once.Do(func() {
		l.why = why
		close(l.ended)
	})
}

// Close gives the stream back. It may be called more than once.
func (l *Lease) Close() {
	l.closed.Do(func() {
		l.gate.mu.Lock()
		delete(l.gate.leases, l)
		l.gate.mu.Unlock()
		if l.meter != nil {
			l.meter.close()
		}
	})
}

// Call checks one call within the stream: the method, and the requests a second.
func (l *Lease) Call(method string) *Refusal {
	if l == nil {
		return nil
	}
	pass, refused := l.pass()
	if refused != nil {
		return refused
	}
	if refused := pass.Method(method); refused != nil {
		return refused
	}
	_, refused = pass.Take(1)
	return refused
}

// Addresses checks how many addresses the filters of the stream may have.
func (l *Lease) Addresses(n int) *Refusal {
	if l == nil {
		return nil
	}
	pass, refused := l.pass()
	if refused != nil || pass.key == nil {
		return refused
	}
	if limit := pass.key.Rules.StreamAddresses; limit > 0 && n > limit {
		return refuse(http.StatusTooManyRequests, RuleAddresses, "the API key is limited to %d addresses in the filters of a stream", limit)
	}
	return nil
}
