package jsonrpc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mr-tron/base58"
)

const sendTransaction = "sendTransaction"

// unknownError says that a call may or may not have had its effect: it went out, and the answer was
// lost.
type unknownError struct {
	// signature is the transaction's, empty when it could not be read, and for calls that have
	// none.
	signature string
	// refusal is the error of another upstream that did answer; may be nil.
	refusal json.RawMessage
	timeout bool
}

func (e *unknownError) Error() string {
	if e.signature == "" {
		return "the outcome is unknown: the call went out, and the answer was lost"
	}
	return "the outcome is unknown: the transaction went out, and the answer was lost; ask for the signature's status before you sign another one"
}

// data is what a program reads of the error.
func (e *unknownError) data() any {
	return struct {
		Outcome   string          `json:"outcome"`
		Signature string          `json:"signature,omitempty"`
		Error     json.RawMessage `json:"error,omitempty"`
	}{"unknown", e.signature, e.refusal}
}

// forwardOnce makes a call that must not be made twice. Another upstream is asked only when the one
// before cannot have done it.
func (g *Gateway) forwardOnce(ctx context.Context, t *task) (*answer, error) {
	var missed misses
	for _, u := range g.pool.choose(t.level, t.least) {
		o := g.ask(ctx, u, t)
		if o.err == nil {
			return o.got, nil
		}
		missed.add(&o)
		if ctx.Err() != nil || !refused(o.err) {
			missed.close()
			return nil, &unknownError{timeout: ctx.Err() != nil}
		}
	}
	return missed.end(g.pool, t)
}

// refused says that the upstream cannot have done what it was asked for.
func refused(err error) bool {
	var failed *upstreamError
	return errors.As(err, &failed) && failed.refused
}

// sending is a sendTransaction on its way to one or more upstreams.
type sending struct {
	g         *Gateway
	t         *task
	order     []*upstream
	ended     chan outcome
	launched  int
	cancels   []context.CancelFunc
	signature string
	// lost says that an upstream may have taken it without a word; refusals are errors of upstreams
	// that answered, by place.
	lost     bool
	refusals map[int]*answer
	missed   misses
}

// forwardSend gives a transaction to SendUpstreams upstreams at once, and to the others one by one
// while none has taken it.
func (g *Gateway) forwardSend(ctx context.Context, t *task) (*answer, error) {
	order := g.pool.choose(t.level, t.least)
	s := &sending{g: g, t: t, order: order, ended: make(chan outcome, len(order)), signature: signatureOf(t.call.Params), refusals: map[int]*answer{}}
	for s.launched < min(g.cfg.SendUpstreams, len(order)) {
		s.launch(ctx)
	}
	pending := s.launched
	for pending > 0 {
		select {
		case <-ctx.Done():
			s.leave(pending, false)
			return nil, s.unknown(true)
		case o := <-s.ended:
			pending--
			if got := s.judge(ctx, &o); got != nil {
				s.leave(pending, true)
				return got, nil
			}
		}
		if pending == 0 && s.launched < len(order) && len(s.refusals) == 0 && ctx.Err() == nil {
			s.launch(ctx)
			pending++
		}
	}
	s.leave(0, false)
	return s.end(ctx)
}

// launch gives it to the next upstream. That goes on when another one has taken it, so that the
// transaction reaches all of them.
func (s *sending) launch(client context.Context) {
	place := s.launched
	s.launched++
	ctx, cancel := context.WithTimeout(context.WithoutCancel(client), s.g.cfg.timeout)
	s.cancels = append(s.cancels, cancel)
	go func() {
		o := s.g.ask(ctx, s.order[place], s.t)
		o.place = place
		s.ended <- o
	}()
}

// judge returns the answer to pass on, nil when others are to be waited for or asked.
func (s *sending) judge(ctx context.Context, o *outcome) *answer {
	if o.err == nil && o.got.rest != nil { // no answer to sendTransaction is that long
		o.drop()
		s.lost = true
		return nil
	}
	if o.err == nil && o.got.failure == nil {
		return o.got
	}
	if o.err == nil {
		if s.launched > 1 && s.signature != "" && alreadyProcessed(o.got.failure) {
			o.drop()
			s.g.metrics.sends.WithLabelValues("already_processed").Inc()
			result, err := json.Marshal(s.signature)
			if err != nil {
				return nil
			}
			return resultAnswer(s.t.call.ID, result)
		}
		s.refusals[o.place] = o.got
		return nil
	}
	if ctx.Err() != nil || !refused(o.err) {
		s.lost = true
	}
	s.missed.add(o)
	return nil
}

// end is what the client gets when no upstream said that it took the transaction.
func (s *sending) end(ctx context.Context) (*answer, error) {
	if s.lost {
		return nil, s.unknown(ctx.Err() != nil)
	}
	for place := range s.order {
		if refusal, ok := s.refusals[place]; ok {
			return refusal, nil // the preferred upstream's own words
		}
	}
	return s.missed.end(s.g.pool, s.t)
}

func (s *sending) unknown(timeout bool) error {
	s.g.metrics.sends.WithLabelValues("unknown").Inc()
	e := &unknownError{signature: s.signature, timeout: timeout}
	for place := range s.order {
		if refusal, ok := s.refusals[place]; ok && e.refusal == nil {
			e.refusal = refusal.failure
		}
	}
	return e
}

// leave lets the attempts that are still on their way end by themselves when the transaction was
// taken, and calls them off otherwise. So many may go on as requests may be in flight.
func (s *sending) leave(pending int, taken bool) {
	cancels, ended := s.cancels, s.ended
	if pending == 0 {
		for _, cancel := range cancels {
			cancel()
		}
		return
	}
	held := taken && s.g.afterwards.TryAcquire(1)
	if !held {
		for _, cancel := range cancels {
			cancel()
		}
	}
	go func() {
		for range pending {
			o := <-ended
			o.drop()
		}
		for _, cancel := range cancels {
			cancel()
		}
		if held {
			s.g.afterwards.Release(1)
		}
	}()
}

// alreadyProcessed says that a node refuses a transaction because the chain has it.
func alreadyProcessed(failure json.RawMessage) bool {
	var parsed struct {
		Message string `json:"message"`
		Data    struct {
			Err json.RawMessage `json:"err"`
		} `json:"data"`
	}
	_ = json.Unmarshal(failure, &parsed) // what cannot be read is no such error
	return string(parsed.Data.Err) == `"AlreadyProcessed"` || strings.Contains(parsed.Message, "already been processed") ||
		strings.Contains(parsed.Message, "AlreadyProcessed")
}

// signatureOf is the first signature of the transaction in sendTransaction's params, in base58;
// empty when there is none to read.
func signatureOf(params json.RawMessage) string {
	var list []json.RawMessage
	var text string
	if json.Unmarshal(params, &list) != nil || len(list) == 0 || json.Unmarshal(list[0], &text) != nil {
		return ""
	}
	var options struct {
		Encoding string `json:"encoding"`
	}
	if len(list) > 1 {
		_ = json.Unmarshal(list[1], &options) // the upstream refuses what is not valid
	}
	var raw []byte
	var err error
	if options.Encoding == "base64" {
		raw, err = base64.StdEncoding.DecodeString(text)
	} else {
		raw, err = base58.Decode(text)
	}
	// A count below 128 takes one byte of compact-u16, and no transaction has room for more
	// signatures.
	const signatureBytes = 64
	if err != nil || len(raw) < 1+signatureBytes || raw[0] == 0 || raw[0] > 127 {
		return ""
	}
	return base58.Encode(raw[1 : 1+signatureBytes])
}
