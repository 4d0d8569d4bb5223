package stream

import (
	"encoding/json"
	"errors"
	"fmt"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
)

// The WebSocket form speaks JSON-RPC 2.0 in the shape that Solana's own subscriptions have, and names and filters of the transactionSubscribe
// method that RPC providers offer, so that their clients work here:
//
//	→ {"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{"failed":false,"accountInclude":["…"]},{"commitment":"confirmed"}]}
//	← {"jsonrpc":"2.0","result":1,"id":1}
//	← {"jsonrpc":"2.0","method":"transactionNotification","params":{"subscription":1,"result":{…}}}
//	→ {"jsonrpc":"2.0","id":2,"method":"transactionUnsubscribe","params":[1]}

// JSON-RPC 2.0 error codes.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
)

type wsRequest struct {
	Version string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id"`
	Method  string            `json:"method"`
	Params  []json.RawMessage `json:"params"`
}

type wsReply struct {
	Version string          `json:"jsonrpc"`
	Result  any             `json:"result,omitempty"`
	Error   *wsError        `json:"error,omitempty"`
	ID      json.RawMessage `json:"id"`
}

type wsError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *wsError) Error() string { return e.Message }

// wsFilter is a transaction filter; each list has both the providers' spelling and Yellowstone's.
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

// wsOptions are what providers' clients send along. What would change the answer in a way that is not offered is refused.
type wsOptions struct {
	Commitment         string `json:"commitment"`
	Encoding           string `json:"encoding"`
	TransactionDetails string `json:"transactionDetails"`
}

// handle answers one message.
func (c *session) handle(message []byte) []byte {
	var in wsRequest
	reply := wsReply{Version: "2.0"}
	if err := json.Unmarshal(message, &in); err != nil {
		reply.Error = &wsError{codeParse, "the message is no JSON-RPC 2.0 call"}
	} else {
		reply.ID = in.ID
		result, err := c.call(&in)
		var refused *wsError
		switch {
		case errors.As(err, &refused):
			reply.Error = refused
			c.server.metrics.refused.WithLabelValues(formWebSocket, "invalid").Inc()
		default:
			reply.Result = result
		}
	}
	if reply.ID == nil {
		reply.ID = json.RawMessage("null")
	}
	out, err := json.Marshal(reply)
	if err != nil { // ids come out of valid JSON
		return []byte(`{"jsonrpc":"2.0","error":{"code":-32603,"message":"internal error"},"id":null}`)
	}
	return out
}

func (c *session) call(in *wsRequest) (any, error) {
	if in.Version != "2.0" {
		return nil, &wsError{codeInvalidRequest, `jsonrpc must be "2.0"`}
	}
	switch in.Method {
	case "transactionSubscribe":
		return c.subscribe(in.Params)
	case "transactionUnsubscribe":
		return c.unsubscribe(in.Params)
	case "ping":
		return "pong", nil
	}
	return nil, &wsError{codeNoMethod, "no such method: transactionSubscribe, transactionUnsubscribe, ping"}
}

func (c *session) subscribe(params []json.RawMessage) (any, error) {
	var want wsFilter
	var options wsOptions
	for i, into := range []any{&want, &options} {
		if len(params) > i && json.Unmarshal(params[i], into) != nil {
			return nil, &wsError{codeInvalidParams, fmt.Sprintf("params[%d] is not of the right shape", i)}
		}
	}
	if len(params) == 0 || len(params) > 2 {
		return nil, &wsError{codeInvalidParams, "params must be a filter and, if wanted, options"}
	}
	if err := c.checkOptions(options); err != nil {
		return nil, err
	}
	if len(c.filters) >= c.server.cfg.MaxFilters {
		return nil, &wsError{codeInvalidParams, fmt.Sprintf("at most %d subscriptions on a connection", c.server.cfg.MaxFilters)}
	}
	set, err := newFilterSet(map[string]*pb.SubscribeRequestFilterTransactions{"transactions": {
		Vote: want.Vote, Failed: want.Failed, Signature: want.Signature,
		AccountInclude:  append(want.AccountInclude, want.AccountInclude2...),
		AccountExclude:  append(want.AccountExclude, want.AccountExclude2...),
		AccountRequired: append(want.AccountRequired, want.AccountRequired2...),
	}}, limits{1, c.server.cfg.MaxAddresses - c.addresses()})
	if err != nil {
		return nil, &wsError{codeInvalidParams, err.Error()}
	}
	c.next++
	c.filters[c.next] = set.filters[0]
	c.publish()
	return c.next, nil
}

// addresses counts those of all subscriptions.
func (c *session) addresses() int {
	n := 0
	for _, f := range c.filters {
		n += len(f.include) + len(f.exclude) + len(f.required)
	}
	return n
}

func (c *session) checkOptions(o wsOptions) error {
	if o.Commitment != "" {
		rank, ok := commitmentRank(o.Commitment)
		if !ok {
			return &wsError{codeInvalidParams, "commitment must be processed, confirmed or finalized"}
		}
		if rank > c.server.rank {
			return &wsError{codeInvalidParams, "commitment: this stream is " + c.server.cfg.Commitment}
		}
	}
	if o.Encoding != "" && o.Encoding != "base64" {
		return &wsError{codeInvalidParams, "encoding: this stream has base64 only"}
	}
	if o.TransactionDetails != "" && o.TransactionDetails != "full" {
		return &wsError{codeInvalidParams, "transactionDetails: this stream has full only"}
	}
	return nil
}

func (c *session) unsubscribe(params []json.RawMessage) (any, error) {
	var id uint64
	if len(params) != 1 || json.Unmarshal(params[0], &id) != nil {
		return nil, &wsError{codeInvalidParams, "params must be one subscription number"}
	}
	if _, ok := c.filters[id]; !ok {
		return nil, &wsError{codeInvalidParams, "no such subscription"}
	}
	delete(c.filters, id)
	c.publish()
	return true, nil
}
