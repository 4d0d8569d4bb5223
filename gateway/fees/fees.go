// Package fees answers getPriorityFeeEstimate from the fees that the stream's transactions paid.
//
// In: records of the topic of transactions; calls of the JSON-RPC gateway. Out: prices of a compute
// unit in micro-lamports.
// Guarantees: only transactions of the last 150 slots count, as in a node's
// getRecentPrioritizationFees. If too few of them wrote to an account, an upstream is asked for its
// fees. Memory is bounded. Nothing is read while nobody asks.
package fees

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/gateway/jsonrpc"
	"github.com/mintlake/mintlake/gateway/message"
	"github.com/mintlake/mintlake/internal/steady"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// maxAccounts is getRecentPrioritizationFees' own bound.
	maxAccounts = 128
	// leastTransactions is how many transactions must have written to an account before their
	// prices make an estimate for it.
	leastTransactions = 10
	// wantedFor is how long transactions are read after a question.
	wantedFor = 10 * time.Minute
)

// Server answers estimates.
type Server struct {
	seen seen
	// asked is when the last question came, by steady.Now.
	asked atomic.Int64
}

// New returns a server that has not seen any transactions.
func New() *Server { return &Server{seen: newSeen()} }

// Wanted returns whether Take should be called with transactions.
func (s *Server) Wanted() bool { return steady.Since(s.asked.Load()) < wantedFor }

const method = "getPriorityFeeEstimate"

// Methods implements jsonrpc.Local.
func (s *Server) Methods() []string { return []string{method} }

// level is a kind of estimate: its name in questions, its field in answers, and its percentile.
type level struct {
	name, field string
	percentile  float64
}

var levels = []level{
	{"Min", "min", 0}, {"Low", "low", 25}, {"Medium", "medium", 50}, {"High", "high", 75}, {"VeryHigh", "veryHigh", 95}, {"UnsafeMax", "unsafeMax", 100},
}

// Answer implements jsonrpc.Local.
func (s *Server) Answer(ctx context.Context, _ string, params json.RawMessage, ask jsonrpc.Ask) (json.RawMessage, error) {
	q, err := parse(params)
	if err != nil {
		return nil, err
	}
	s.asked.Store(steady.Now())
	lists, uncovered := s.seen.prices(q.accounts, q.lookback)
	// A question without accounts leaves uncovered empty. Then lists is empty if the stream showed
	// too few transactions.
	if len(uncovered) > 0 || len(lists) == 0 {
		more, err := askUpstream(ctx, uncovered, q.lookback, ask)
		if err != nil {
			return nil, err
		}
		lists = append(lists, more)
	}
	// Each list gives its own estimate, and the highest one counts: a transaction competes for each
	// of its accounts.
	estimates := make(map[string]uint64, len(levels))
	for _, level := range levels {
		for _, prices := range lists {
			estimates[level.field] = max(estimates[level.field], percentile(prices, level.percentile))
		}
	}
	answer := map[string]any{"priorityFeeEstimate": estimates[q.level]}
	if q.all {
		answer = map[string]any{"priorityFeeLevels": estimates}
	}
	return json.Marshal(answer)
}

// percentile returns the percentile p of sorted prices, by nearest rank; 0 if there are none.
func percentile(prices []uint64, p float64) uint64 {
	if len(prices) == 0 {
		return 0
	}
	return prices[max(int(math.Ceil(p/100*float64(len(prices)))), 1)-1]
}

// askUpstream returns the fees of the last lookback slots, sorted. The fee of a slot is the lowest
// price that a transaction in it paid to write to the account. With several accounts it is the
// highest of these prices, without accounts the lowest price of all transactions.
func askUpstream(ctx context.Context, accounts []pubkey.Key, lookback uint64, ask jsonrpc.Ask) ([]uint64, error) {
	if ask == nil {
		return nil, &jsonrpc.CallError{Code: message.CodeUnavailable,
			Message: "too few transactions of the stream wrote to these accounts, and no JSON-RPC server is configured (--rpc-upstream)"}
	}
	if accounts == nil {
		accounts = []pubkey.Key{}
	}
	params, err := json.Marshal([]any{accounts})
	if err != nil {
		return nil, fmt.Errorf("encode accounts: %w", err)
	}
	result, failure, err := ask(ctx, "getRecentPrioritizationFees", params)
	switch {
	case err != nil:
		return nil, err
	case failure != nil:
		return nil, failure
	}
	var slots []struct {
		Slot uint64 `json:"slot"`
		Fee  uint64 `json:"prioritizationFee"`
	}
	if json.Unmarshal(result, &slots) != nil {
		return nil, &jsonrpc.CallError{Code: message.CodeUnavailable, Message: "an upstream's answer is no list of fees: try again"}
	}
	newest := uint64(0)
	for _, slot := range slots {
		newest = max(newest, slot.Slot)
	}
	var prices []uint64
	for _, slot := range slots {
		if slot.Slot+lookback > newest {
			prices = append(prices, slot.Fee)
		}
	}
	slices.Sort(prices)
	return prices, nil
}

// question is a call's parameters.
type question struct {
	accounts []pubkey.Key
	// level is the field of the wanted estimate. all asks for the estimates of all levels instead.
	level    string
	all      bool
	lookback uint64
}

// options are the options that other providers' getPriorityFeeEstimate has.
type options struct {
	PriorityLevel               *string `json:"priorityLevel"`
	IncludeAllPriorityFeeLevels bool    `json:"includeAllPriorityFeeLevels"`
	LookbackSlots               *uint64 `json:"lookbackSlots"`
	Recommended                 bool    `json:"recommended"` // has no effect
	// Refused if true:
	IncludeVote             bool `json:"includeVote"`
	EvaluateEmptySlotAsZero bool `json:"evaluateEmptySlotAsZero"`
}

// parse reads [{"accountKeys": […], "options": {…}}].
func parse(params json.RawMessage) (*question, error) {
	var list []struct {
		AccountKeys []string        `json:"accountKeys"`
		Transaction json.RawMessage `json:"transaction"`
		Options     options         `json:"options"`
	}
	if json.Unmarshal(params, &list) != nil || len(list) != 1 {
		return nil, jsonrpc.InvalidParams("must be [{\"accountKeys\": [\"…\"], \"options\": {…}}]")
	}
	in := list[0]
	q := &question{level: "medium", all: in.Options.IncludeAllPriorityFeeLevels, lookback: lookback}
	switch {
	case len(in.Transaction) > 0 && string(in.Transaction) != "null":
		return nil, jsonrpc.InvalidParams("transaction is not taken: name the accounts that it writes to in accountKeys")
	case in.Options.IncludeVote:
		return nil, jsonrpc.InvalidParams("includeVote: the stream has no votes")
	case in.Options.EvaluateEmptySlotAsZero:
		return nil, jsonrpc.InvalidParams("evaluateEmptySlotAsZero: only transactions count here, not slots")
	case len(in.AccountKeys) > maxAccounts:
		return nil, jsonrpc.InvalidParams("accountKeys has %d accounts: at most %d", len(in.AccountKeys), maxAccounts)
	}
	for _, text := range in.AccountKeys {
		account, err := pubkey.Parse(text)
		if err != nil {
			return nil, jsonrpc.InvalidParams("accountKeys: %.60q is no address in base58", text)
		}
		q.accounts = append(q.accounts, account)
	}
	if n := in.Options.LookbackSlots; n != nil {
		if *n < 1 || *n > lookback {
			return nil, jsonrpc.InvalidParams("lookbackSlots must be 1 to %d", lookback)
		}
		q.lookback = *n
	}
	if name := in.Options.PriorityLevel; name != nil {
		i := slices.IndexFunc(levels, func(l level) bool { return l.name == *name })
		if i < 0 {
			return nil, jsonrpc.InvalidParams("priorityLevel must be Min, Low, Medium, High, VeryHigh or UnsafeMax")
		}
		q.level = levels[i].field
	}
	return q, nil
}
