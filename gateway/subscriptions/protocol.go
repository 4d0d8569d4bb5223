package subscriptions

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/gateway/message"
)

// maxSignatureText bounds the text of a signature: base58 of 64 bytes.
const maxSignatureText = 88

func refusal(code int, text string) *message.Error { return &message.Error{Code: code, Message: text} }

// Handle implements socket.Client. The answer to a call that succeeds is queued here, so that it
// comes before any notification of a new subscription. An error answer is returned, so that the
// caller can delay it. A notification (a call without id, such as the clients' ping) is never
// answered.
func (c *session) Handle(text []byte) (answer []byte, refused bool) {
	in, err := message.Read(text)
	switch {
	case err == nil && in.Notification():
		c.server.metrics.calls.WithLabelValues("notification").Inc()
		return nil, false
	case err == nil:
		err = c.allowed(in.Method)
	}
	if err == nil {
		err = c.perform(&in)
	}
	if err == nil {
		// perform knows the method, so the metric has few labels
		c.server.metrics.calls.WithLabelValues(in.Method).Inc()
		return nil, false
	}
	wrong := refusal(message.CodeInternal, "Internal error")
	errors.As(err, &wrong)
	c.server.metrics.calls.WithLabelValues("refused").Inc()
	return message.Failure(in.ID, wrong), true
}

// allowed returns an error if the client's key may not make this call now. A ping is always
// allowed.
func (c *session) allowed(method string) error {
	if method == "ping" {
		return nil
	}
	if refused := c.lease.Call(method, countedAs(method)); refused != nil {
		return refusal(refused.RPCCode(), refused.Error())
	}
	return nil
}

// countedAs returns the name under which usage counts a method: other for a name that a client made
// up.
func countedAs(method string) string {
	for _, kind := range kindNames {
		if method == kind+"Subscribe" || method == kind+"Unsubscribe" {
			return method
		}
	}
	return "other"
}

// perform executes a call and queues its answer, unless it returns an error. The answer to a
// relayed subscription may be queued later.
func (c *session) perform(in *message.Call) error {
	params, err := in.List()
	if err != nil {
		return err
	}
	switch in.Method {
	case "ping":
		c.queue(message.Result(in.ID, "pong"))
		return nil
	case "signatureSubscribe":
		sub, err := c.signatureParams(params)
		if err != nil {
			return err
		}
		return c.subscribe(in, sub)
	case "slotSubscribe":
		return c.subscribe(in, &subscription{kind: kindSlot})
	case "rootSubscribe":
		if !c.server.learns(finalized) {
			return errNeverNotified
		}
		return c.subscribe(in, &subscription{kind: kindRoot})
	case "accountSubscribe", "programSubscribe", "logsSubscribe":
		return c.subscribeRelayed(in, params)
	case "accountUnsubscribe":
		return c.unsubscribe(in, kindAccount, params)
	case "programUnsubscribe":
		return c.unsubscribe(in, kindProgram, params)
	case "logsUnsubscribe":
		return c.unsubscribe(in, kindLogs, params)
	case "signatureUnsubscribe":
		return c.unsubscribe(in, kindSignature, params)
	case "slotUnsubscribe":
		return c.unsubscribe(in, kindSlot, params)
	case "rootUnsubscribe":
		return c.unsubscribe(in, kindRoot, params)
	}
	return refusal(message.CodeNoMethod, "Method not found: this WebSocket serves signatureSubscribe, slotSubscribe, rootSubscribe, accountSubscribe, programSubscribe, logsSubscribe and their unsubscribes")
}

// relayedKinds are the kinds of subscriptions that upstreams serve, by method.
var relayedKinds = map[string]kind{"accountSubscribe": kindAccount, "programSubscribe": kindProgram, "logsSubscribe": kindLogs}

// subscribeRelayed subscribes at an upstream. The client is answered when the upstream has accepted
// or refused the subscription, or at once if the upstream has an identical one already.
func (c *session) subscribeRelayed(in *message.Call, params []json.RawMessage) error {
	switch {
	case len(c.server.cfg.WebSockets) == 0:
		return refusal(message.CodeNoMethod, "Method not found: no upstream with WebSockets is configured (--rpc-upstream-ws)")
	case len(params) == 0 || len(params) > 2:
		return refusal(message.CodeInvalidParams, "Invalid params: 1 or 2 are needed")
	}
	compact, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return limitReached(c.server.hub.subscribeRelayed(&subscription{kind: relayedKinds[in.Method], owner: c}, compact, in.ID))
}

// limitReached returns err, which says that a limit is reached, as Agave's error for that; nil if
// err is nil.
func limitReached(err error) error {
	if err == nil {
		return nil
	}
	return refusal(message.CodeInternal, "Internal Error: Subscription refused. Node subscription limit reached: "+err.Error())
}

// errNeverNotified refuses a subscription that could never be notified.
var errNeverNotified = refusal(message.CodeUnavailable, "finalized slots are not known here: ingest reads confirmed blocks, and no JSON-RPC server is configured (--rpc-upstream)")

// learns returns whether the server learns when a block reaches a commitment.
func (s *Server) learns(l level) bool { return l <= s.fed || s.deps.RPC != nil }

// signatureParams reads the params of signatureSubscribe.
func (c *session) signatureParams(params []json.RawMessage) (*subscription, error) {
	var text string
	if len(params) == 0 || json.Unmarshal(params[0], &text) != nil {
		return nil, refusal(message.CodeInvalidParams, "Invalid params: the first must be a signature")
	}
	if len(params) > 2 {
		return nil, refusal(message.CodeInvalidParams, "Invalid params: at most 2")
	}
	// A long text is cut before it is decoded: base58 decoding takes time that grows with the
	// square of the length.
	if raw, err := base58.Decode(text[:min(len(text), maxSignatureText+1)]); err != nil || len(text) > maxSignatureText || len(raw) != 64 {
		return nil, refusal(message.CodeInvalidParams, "Invalid Request: Invalid signature provided")
	}
	var options struct {
		Commitment *string `json:"commitment"`
		Received   *bool   `json:"enableReceivedNotification"`
	}
	if len(params) == 2 && json.Unmarshal(params[1], &options) != nil {
		return nil, refusal(message.CodeInvalidParams, "Invalid params: the second must be an object of commitment and enableReceivedNotification")
	}
	sub := &subscription{kind: kindSignature, signature: text, want: finalized, received: options.Received != nil && *options.Received}
	if options.Commitment != nil {
		var ok bool
		if sub.want, ok = parseLevel(*options.Commitment); !ok {
			return nil, refusal(message.CodeInvalidParams, "Invalid params: commitment must be processed, confirmed or finalized")
		}
	}
	if !c.server.learns(sub.want) {
		return nil, errNeverNotified
	}
	return sub, nil
}

func (c *session) subscribe(in *message.Call, sub *subscription) error {
	sub.owner = c
	return limitReached(c.server.hub.subscribe(sub, func(id uint64) []byte { return message.Result(in.ID, id) }))
}

func (c *session) unsubscribe(in *message.Call, k kind, params []json.RawMessage) error {
	if len(params) != 1 {
		return refusal(message.CodeInvalidParams, "Invalid params: must be one subscription number")
	}
	id, err := strconv.ParseUint(string(params[0]), 10, 64)
	if err != nil || c.server.hub.unsubscribe(c, k, id) != nil {
		return refusal(message.CodeInvalidParams, "Invalid subscription id.")
	}
	c.queue(message.Result(in.ID, true))
	return nil
}
