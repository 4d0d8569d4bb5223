package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/gateway/message"
)

// The WebSocket form speaks JSON-RPC 2.0. Its messages look like those of Solana's own
// subscriptions. Its names and filters are those of transactionSubscribe, a method of several RPC
// providers, so that their clients work here:
//
//	→ {"jsonrpc":"2.0","id":1,"method":"transactionSubscribe",
//	   "params":[{"failed":false,"accountInclude":["…"]},{"commitment":"confirmed"}]}
//	← {"jsonrpc":"2.0","result":1,"id":1}
//	← {"jsonrpc":"2.0","method":"transactionNotification",
//	   "params":{"subscription":1,"result":{…}}}
//	→ {"jsonrpc":"2.0","id":2,"method":"transactionUnsubscribe","params":[1]}

// methodSubscribe is also the name under which usage counts the stream of a WebSocket.
const methodSubscribe = "transactionSubscribe"

// wsFilter is a transaction filter. Each list has two names, the providers' and Yellowstone's; if
// both are given, the lists are joined.
type wsFilter struct {
	Vote             *bool    `json:"vote"`
	Failed           *bool    `json:"failed"`
	Signature        *string  `json:"signature"`
	AccountInclude   []string `json:"accountInclude"`
	AccountExclude   []string `json:"accountExclude"`
	AccountRequired  []string `json:"accountRequired"`
	AccountInclude2  []string `json:"account_include"`
	AccountExclude2  []string `json:"account_exclude"`
	AccountRequired2 []string `json:"account_required"`
}

// filterKeys and optionKeys are the JSON keys of wsFilter and of wsOptions.
var (
	filterKeys = []string{"vote", "failed", "signature", "accountInclude", "accountExclude", "accountRequired",
		"account_include", "account_exclude", "account_required"}
	optionKeys = []string{"commitment", "encoding", "transactionDetails", "showRewards", "maxSupportedTransactionVersion", "fromSlot"}
)

// wsOptions are the options that providers' clients send. An option that asks for something that
// this stream does not offer is refused.
type wsOptions struct {
	Commitment         string `json:"commitment"`
	Encoding           string `json:"encoding"`
	TransactionDetails string `json:"transactionDetails"`
	ShowRewards        bool   `json:"showRewards"`
	// MaxVersion is the highest version of a transaction that the client reads. Default 0: clients
	// that do not set it are older than version 1, and have always got version 0 from this stream.
	// A node would send them legacy transactions only.
	MaxVersion *uint8 `json:"maxSupportedTransactionVersion"`
	// FromSlot asks for a replay from this slot on, followed by live delivery.
	FromSlot *uint64 `json:"fromSlot"`
}

// readParam decodes raw, the element i of params, into the value that into points to. It refuses a
// key that is not in known: if it ignored a condition, the client would get all transactions.
func readParam(raw json.RawMessage, i int, known []string, into any) error {
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil || keys == nil {
		return &message.Error{Code: message.CodeInvalidParams, Message: fmt.Sprintf("params[%d] is not of the right shape: it must be an object", i)}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(known, key) {
			return &message.Error{Code: message.CodeInvalidParams, Message: fmt.Sprintf("params[%d]: unknown key %.40q; known are %s", i, key, strings.Join(known, ", "))}
		}
	}
	if err := json.Unmarshal(raw, into); err != nil {
		text := fmt.Sprintf("params[%d] is not of the right shape", i)
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			text += fmt.Sprintf(": %s cannot be a %s", wrong.Field, wrong.Value)
		}
		return &message.Error{Code: message.CodeInvalidParams, Message: text}
	}
	return nil
}

// Handle implements socket.Client.
func (c *session) Handle(text []byte) (answer []byte, refused bool) {
	in, err := message.Read(text)
	var result any
	if err == nil {
		result, err = c.call(&in)
	}
	var wrong *message.Error
	if errors.As(err, &wrong) {
		c.server.metrics.refused.WithLabelValues(formWebSocket, "invalid").Inc()
		return message.Failure(in.ID, wrong), true
	}
	return message.Result(in.ID, result), false
}

// countedAs returns the name under which usage counts a method: other for a name that a client made
// up.
func countedAs(method string) string {
	switch method {
	case methodSubscribe, "transactionUnsubscribe", "slotSubscribe", "slotUnsubscribe", "rootSubscribe", "rootUnsubscribe",
		"slotsUpdatesSubscribe", "slotsUpdatesUnsubscribe":
		return method
	}
	return "other"
}

// call executes a request and returns its result.
func (c *session) call(in *message.Call) (any, error) {
	params, err := in.List()
	if err != nil {
		return nil, err
	}
	if in.Method != "ping" {
		if refused := c.lease.Call(in.Method, countedAs(in.Method)); refused != nil {
			return nil, refusedCall(refused)
		}
	}
	switch in.Method {
	case methodSubscribe:
		return c.subscribe(params)
	case "transactionUnsubscribe", "slotUnsubscribe", "rootUnsubscribe", "slotsUpdatesUnsubscribe":
		return c.unsubscribe(params)
	case "slotSubscribe":
		return c.watch(watchSlots, params)
	case "rootSubscribe":
		return c.watch(watchRoots, params)
	case "slotsUpdatesSubscribe":
		return c.watch(watchUpdates, params)
	case "ping":
		return "pong", nil
	case "signatureSubscribe", "signatureUnsubscribe", "accountSubscribe", "accountUnsubscribe", "programSubscribe", "programUnsubscribe",
		"logsSubscribe", "logsUnsubscribe":
		return nil, &message.Error{Code: message.CodeNoMethod, Message: "no such method: this is the transaction stream. " + in.Method + " is served at the RPC address: leave the client's wsEndpoint out, or point it there"}
	}
	return nil, &message.Error{Code: message.CodeNoMethod, Message: "no such method: transactionSubscribe, slotSubscribe, rootSubscribe, slotsUpdatesSubscribe, their unsubscribes, ping"}
}

// subscribe adds a subscription to transactions and returns its number. With fromSlot a replay
// serves it first.
func (c *session) subscribe(params []json.RawMessage) (any, error) {
	var want wsFilter
	var options wsOptions
	if len(params) == 0 || len(params) > 2 {
		return nil, &message.Error{Code: message.CodeInvalidParams, Message: "params must be a filter and, if wanted, options"}
	}
	if err := readParam(params[0], 0, filterKeys, &want); err != nil {
		return nil, err
	}
	if len(params) == 2 {
		if err := readParam(params[1], 1, optionKeys, &options); err != nil {
			return nil, err
		}
	}
	at, form, err := c.checkOptions(options)
	if err != nil {
		return nil, err
	}
	if want.Vote != nil && *want.Vote {
		return nil, &message.Error{Code: message.CodeInvalidParams, Message: errVotes.Error()}
	}
	if err := c.checkRoom(); err != nil {
		return nil, err
	}
	read, err := readFilters(map[string]*pb.SubscribeRequestFilterTransactions{"transactions": {
		Vote: want.Vote, Failed: want.Failed, Signature: want.Signature,
		AccountInclude:  append(want.AccountInclude, want.AccountInclude2...),
		AccountExclude:  append(want.AccountExclude, want.AccountExclude2...),
		AccountRequired: append(want.AccountRequired, want.AccountRequired2...),
	}}, limits{1, c.server.cfg.maxAddresses - c.addresses()})
	if err != nil {
		return nil, &message.Error{Code: message.CodeInvalidParams, Message: err.Error()}
	}
	if refused := c.lease.Addresses(c.addresses() + addressesIn(read)); refused != nil {
		return nil, refusedCall(refused)
	}
	read[0].at, read[0].shape, read[0].highest = at, form, options.highest()
	var r *replay
	if options.FromSlot != nil {
		if r, err = c.server.newReplay(c.life, c.sub, *options.FromSlot, at); err != nil {
			return nil, refusedReplay(err)
		}
		read[0].gate = r.gate
	}
	c.next++
	c.promised.Store(c.next)
	c.filters[c.next] = read[0].filter
	if err := c.publish(); err != nil {
		delete(c.filters, c.next)
		if r != nil {
			r.release()
		}
		return nil, &message.Error{Code: message.CodeInvalidParams, Message: err.Error()}
	}
	if r != nil {
		c.runReplay(r)
	}
	c.lease.SetAddresses(c.addresses())
	return c.next, nil
}

// runReplay starts the replay of the latest subscription in a goroutine. The replay ends at the
// latest with the subscription.
func (c *session) runReplay(r *replay) {
	life, end := context.WithCancel(c.life)
	c.replays[c.next] = end
	go func() {
		defer end()
		r.run(life)
	}()
}

// codeSlotTooOld is the code of the error that refuses a replay from a slot that the log no longer
// has. The error's data.oldestSlot is the oldest slot that the log has.
const codeSlotTooOld = -32016

// refusedReplay returns the JSON-RPC error for a replay that cannot begin.
func refusedReplay(err error) error {
	var old *oldSlotError
	switch {
	case errors.As(err, &old):
		return &message.Error{Code: codeSlotTooOld, Message: err.Error(), Data: map[string]uint64{"oldestSlot": old.oldest, "fromSlot": old.asked}}
	case errors.Is(err, errReplays), errors.Is(err, errKeyReplays):
		return &message.Error{Code: message.CodeUnavailable, Message: err.Error()}
	}
	return &message.Error{Code: message.CodeUnavailable, Message: errLostLog.Error()}
}

// checkRoom returns an error if the connection has as many subscriptions as it may.
func (c *session) checkRoom() error {
	if len(c.filters)+len(c.watches) >= c.server.cfg.maxFilters {
		return &message.Error{Code: message.CodeInvalidParams, Message: fmt.Sprintf("at most %d subscriptions on a connection", c.server.cfg.maxFilters)}
	}
	return nil
}

// watch adds a subscription to slots, to roots or to updates of slots, and returns its number.
func (c *session) watch(kind watchKind, params []json.RawMessage) (any, error) {
	w, err := c.readWatch(kind, params)
	if err != nil {
		return nil, err
	}
	if err := c.checkRoom(); err != nil {
		return nil, err
	}
	c.next++
	c.promised.Store(c.next)
	w.name = strconv.FormatUint(c.next, 10)
	c.watches[c.next] = w
	return c.next, c.publish()
}

// readWatch reads the parameters of a watch. A subscription to slots may name a commitment. A
// subscription to updates of slots has no parameters and is always at the commitment processed.
func (c *session) readWatch(kind watchKind, params []json.RawMessage) (*watch, error) {
	w := &watch{kind: kind, single: kind == watchSlots}
	// At processed a withdrawal must come after the transactions that it takes back.
	defer func() { w.ordered = w.at == levelProcessed }()
	switch {
	case kind == watchUpdates:
		if len(params) > 0 {
			return nil, &message.Error{Code: message.CodeInvalidParams, Message: "params must be empty"}
		}
		var err error
		w.interim = true
		w.at, err = c.levelOf("processed")
		return w, err
	case kind == watchSlots && len(params) == 1:
		var options struct {
			Commitment string `json:"commitment"`
		}
		if err := readParam(params[0], 0, []string{"commitment"}, &options); err != nil {
			return nil, err
		}
		at, err := c.levelOf(options.Commitment)
		if at == levelFinal {
			err = &message.Error{Code: message.CodeInvalidParams, Message: "commitment: finalized slots come with rootSubscribe"}
		}
		w.at = at
		return w, err
	case len(params) > 0:
		return nil, &message.Error{Code: message.CodeInvalidParams, Message: "params must be empty, or for slotSubscribe an object with a commitment"}
	}
	return w, nil
}

// addresses counts the addresses in the filters of all subscriptions.
func (c *session) addresses() int {
	n := 0
	for _, f := range c.filters {
		n += f.count()
	}
	return n
}

// checkOptions returns the level and the shape of the subscription's transactions.
func (c *session) checkOptions(o wsOptions) (at level, form shape, err error) {
	if at, err = c.levelOf(o.Commitment); err != nil {
		return at, form, err
	}
	if at == levelProcessed && o.FromSlot != nil {
		return at, form, &message.Error{Code: message.CodeInvalidParams, Message: errLiveOnly.Error()}
	}
	if form, err = readShape(o); err != nil {
		return at, form, &message.Error{Code: message.CodeInvalidParams, Message: err.Error()}
	}
	return at, form, nil
}

// levelOf returns the level of a subscription; levelLog if commitment is empty. Its errors are of
// type *message.Error.
func (c *session) levelOf(commitment string) (at level, err error) {
	if commitment == "" {
		return levelLog, nil
	}
	switch at, err = c.server.levelOf(commitment); {
	case errors.Is(err, errNotFinal):
		return at, &message.Error{Code: message.CodeUnavailable, Message: err.Error()}
	case err != nil:
		return at, &message.Error{Code: message.CodeInvalidParams, Message: err.Error()}
	}
	return at, nil
}

func (c *session) unsubscribe(params []json.RawMessage) (any, error) {
	var id uint64
	if len(params) != 1 || json.Unmarshal(params[0], &id) != nil {
		return nil, &message.Error{Code: message.CodeInvalidParams, Message: "params must be one subscription number"}
	}
	if c.filters[id] == nil && c.watches[id] == nil {
		return nil, &message.Error{Code: message.CodeInvalidParams, Message: "no such subscription"}
	}
	if end := c.replays[id]; end != nil {
		end()
	}
	delete(c.replays, id)
	delete(c.filters, id)
	delete(c.watches, id)
	c.lease.SetAddresses(c.addresses())
	return true, c.publish()
}
