package keys

import (
	"net/http"
	"strings"
	"sync"

	"github.com/mintlake/mintlake/access/proxies"
	"github.com/mintlake/mintlake/access/usage"
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

// Client names who makes the request, for limits that each client has for itself. It names the key
// or, where no key is needed, the network of the address.
func (p *Pass) Client() string {
	if p.key == nil {
		return "address " + proxies.Network(p.request.Address).String()
	}
	return "key " + p.key.ID
}

// Method checks whether the key may call a method; nil means yes.
func (p *Pass) Method(name string) *Refusal {
	if p.key == nil || p.key.compiled.allowsMethod(name) {
		return nil
	}
	// A key that may subscribe may also unsubscribe.
	if kind, found := strings.CutSuffix(name, "Unsubscribe"); found && p.key.compiled.allowsMethod(kind+"Subscribe") {
		return nil
	}
	return refuse(http.StatusForbidden, RuleMethod, "the API key is not for the method %.64s", name)
}

// Take counts n calls against the key's requests per second. It returns what is left, and a refusal
// if the calls were too many. The budget is zero if the key has no such limit.
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

// Count adds to the key's usage. method must come from a finite set.
func (p *Pass) Count(method string, c usage.Counts) {
	p.gate.usage.Count(string(p.gate.product), p.ID(), method, c)
}

// Open begins a stream of the key, which counts as usage of method. The caller must close the lease
// when the stream is over.
func (p *Pass) Open(method string) (*Lease, *Refusal) {
	l := &Lease{gate: p.gate, request: p.request, hash: p.hash, open: p.key == nil, ended: make(chan struct{}), id: p.ID()}
	if p.key != nil {
		l.meter = p.key.meter
		if limit := p.key.Rules.Streams; !l.meter.open(limit) {
			return nil, refuse(http.StatusTooManyRequests, RuleStreams, "the API key is limited to %d streams at the same time", limit)
		}
	}
	p.gate.mu.Lock()
	p.gate.leases[l] = struct{}{}
	p.gate.mu.Unlock()
	// The key may have changed between Admit and the moment when the gate began to check this
	// lease.
	if _, refused := l.pass(); refused != nil {
		l.Close()
		return nil, refused
	}
	l.used = p.gate.usage.Open(string(p.gate.product), l.id, method)
	return l, nil
}

// Lease is an open stream. It ends when its key is revoked or expires, when the grace period of the
// secret that opened it is over, or when new rules exclude its origin or address. A stream that
// needed no key ends when the first key of the product closes the gate, unless its client presented
// a valid key all the same. A nil Lease never ends and allows everything.
type Lease struct {
	gate    *Gate
	request Request
	hash    Hash
	id      string // of the key
	open    bool   // no key was needed
	meter   *meter // nil where no key was needed
	used    *usage.Stream

	ended  chan struct{}
	once   sync.Once // closes ended
	closed sync.Once // for Close
	why    *Refusal  // valid when ended is closed
}

// pass admits the stream's request again, with the key as it is now.
func (l *Lease) pass() (Pass, *Refusal) {
	if l.open {
		return l.gate.Admit(l.request)
	}
	key, refused := l.gate.check(l.hash, &l.request)
	return Pass{gate: l.gate, request: l.request, hash: l.hash, key: key}, refused
}

// Ended is closed when the stream must end. Then Why returns the reason.
func (l *Lease) Ended() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.ended
}

// Why returns why the stream must end. It may be called when Ended is closed.
func (l *Lease) Why() *Refusal { return l.why }

func (l *Lease) end(why *Refusal) {
	l.once.Do(func() {
		l.why = why
		close(l.ended)
	})
}

// Close ends the lease: the stream no longer counts. It may be called more than once.
func (l *Lease) Close() {
	l.closed.Do(func() {
		l.gate.mu.Lock()
		delete(l.gate.leases, l)
		l.gate.mu.Unlock()
		l.used.Close()
		if l.meter != nil {
			l.meter.close()
		}
	})
}

// Call checks one call within the stream: the key, the method, and the requests per second. It
// counts one request or one refusal as usage of the method named label. The caller takes label from
// a fixed set, so that clients cannot make new ones without end.
func (l *Lease) Call(method, label string) *Refusal {
	if l == nil {
		return nil
	}
	pass, refused := l.pass()
	if refused == nil {
		refused = pass.Method(method)
	}
	if refused == nil {
		_, refused = pass.Take(1)
	}
	if refused != nil {
		l.count(label, usage.Counts{Refused: 1})
	} else {
		l.count(label, usage.Counts{Requests: 1, Units: 1})
	}
	return refused
}

func (l *Lease) count(method string, c usage.Counts) {
	l.gate.usage.Count(string(l.gate.product), l.id, method, c)
}

// ID is the key's id, or OpenID.
func (l *Lease) ID() string {
	if l == nil {
		return OpenID
	}
	return l.id
}

// Sent adds bytes that the stream sent to the key's usage.
func (l *Lease) Sent(n int) {
	if l != nil {
		l.used.Sent(n)
	}
}

// SetAddresses sets how many addresses the filters of the stream have now, for the key's usage.
func (l *Lease) SetAddresses(addresses int) {
	if l != nil {
		l.used.SetAddresses(addresses)
	}
}

// Addresses checks whether the filters of the stream may have n addresses.
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
