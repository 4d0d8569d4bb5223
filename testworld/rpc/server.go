// Package rpc serves the demo ledger over Solana's JSON-RPC.
//
// In: HTTP POST bodies, single or batched; the ledger.
// Out: results and errors in the shape of the real node, with its codes.
// Guarantees: bodies and batches are bounded; a malformed request is answered, never a panic;
// unknown methods get -32601.
package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// Limits of a request: the real node's 50 KiB body limit is raised, as providers do, to fit
// getMultipleAccounts batches.
const (
	maxBody  = 1 << 20
	maxBatch = 1000
)

// Error is a JSON-RPC error object.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// Codes of JSON-RPC and of Solana (rpc-client-api, custom_error.rs).
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeInternal           = -32603
	codePreflight          = -32002
	codeSignatureFailure   = -32003
	codeBlockNotAvailable  = -32004
	codeSlotSkipped        = -32007
	codeLongTermSkipped    = -32009
	codeMinContextSlot     = -32016
	codeUnsupportedVersion = -32015
	codeBlockCleanedUp     = -32001
)

func invalidParams(format string, args ...any) *Error {
	return &Error{Code: codeInvalidParams, Message: "Invalid params: " + fmt.Sprintf(format, args...)}
}

// Submitter takes transactions for coming blocks, and simulates them.
type Submitter interface {
	Submit(tx *chain.Tx) error
	Simulate(tx *chain.Tx) error
	// Airdrop makes a signed transfer from the treasury; it is not submitted yet.
	Airdrop(to chain.Key, lamports uint64) (*chain.Tx, error)
}

// Deps are the server's collaborators.
type Deps struct {
	Ledger      *ledger.Ledger
	Logger      *slog.Logger
	Registerer  prometheus.Registerer
	Submitter   Submitter
	GenesisHash chain.Hash
}

// Server is an http.Handler.
type Server struct {
	ledger   *ledger.Ledger
	log      *slog.Logger
	submit   Submitter
	genesis  chain.Hash
	methods  map[string]method
	requests *prometheus.CounterVec
}

// method answers one call; params is the raw array, never nil.
type method func(s *Server, params []json.RawMessage) (any, error)

// New makes a server; it opens no port.
func New(deps Deps) (*Server, error) {
	s := &Server{ledger: deps.Ledger, log: deps.Logger, submit: deps.Submitter, genesis: deps.GenesisHash, methods: methods(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mintlake_demo_rpc_requests_total",
			Help: "JSON-RPC calls by method and outcome."}, []string{"method", "outcome"})}
	for method := range s.methods {
		for _, outcome := range []string{"ok", "error"} {
			s.requests.WithLabelValues(method, outcome)
		}
	}
	s.requests.WithLabelValues("other", "not_found")
	if err := deps.Registerer.Register(s.requests); err != nil {
		return nil, fmt.Errorf("register rpc metrics: %w", err)
	}
	return s, nil
}

type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
	ID      json.RawMessage `json:"id"`
}

// nullResult is a result of null, which omitempty would drop.
var nullResult = json.RawMessage("null")

// ServeHTTP answers POST; other verbs get 405.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "Used HTTP Method is not allowed. POST is required", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "request body too large", http.StatusRequestEntityTooLarge)
		return
	}
	out := s.Handle(body)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if out != nil {
		_, _ = w.Write(out) // the client is gone: nobody is left to tell
	}
}

// Handle answers one body: a request, or a batch of them. It returns nil if there are only
// notifications.
func (s *Server) Handle(body []byte) []byte {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		return s.batch(body)
	}
	resp := s.one(body)
	if resp == nil {
		return nil
	}
	return marshal(resp)
}

// batch answers a list of requests; nil if all of them are notifications.
func (s *Server) batch(body []byte) []byte {
	var list []json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return marshal(failure(nil, &Error{Code: codeParse, Message: "Parse error"}))
	}
	if len(list) == 0 || len(list) > maxBatch {
		return marshal(failure(nil, &Error{Code: codeInvalidRequest, Message: "Invalid request"}))
	}
	out := make([]*response, 0, len(list))
	for _, raw := range list {
		if r := s.one(raw); r != nil {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return marshal(out)
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte(`{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":null}`)
	}
	return b
}

func failure(id json.RawMessage, e *Error) *response {
	if id == nil {
		id = nullResult
	}
	return &response{Version: "2.0", Error: e, ID: id}
}

// one answers one request; nil if it is a notification that a method took. An error of a method
// that is no *Error is logged, and the client gets only an internal error.
func (s *Server) one(body []byte) *response {
	if !json.Valid(body) {
		return failure(nil, &Error{Code: codeParse, Message: "Parse error"})
	}
	var req request
	if err := json.Unmarshal(body, &req); err != nil || req.Version != "2.0" || req.Method == "" || !validID(req.ID) {
		return failure(nil, &Error{Code: codeInvalidRequest, Message: "Invalid request"})
	}
	m, ok := s.methods[req.Method]
	if !ok {
		s.requests.WithLabelValues("other", "not_found").Inc()
		return failure(req.ID, &Error{Code: codeMethodNotFound, Message: "Method not found"})
	}
	params := []json.RawMessage{}
	if len(req.Params) > 0 && string(req.Params) != "null" {
		if err := json.Unmarshal(req.Params, &params); err != nil {
			s.requests.WithLabelValues(req.Method, "error").Inc()
			return failure(req.ID, invalidParams("`params` should be an array"))
		}
	}
	result, err := m(s, params)
	if req.ID == nil {
		return nil // a notification
	}
	if err != nil {
		s.requests.WithLabelValues(req.Method, "error").Inc()
		var re *Error
		if !errors.As(err, &re) {
			s.log.Error("rpc method failed", "method", req.Method, "err", err)
			re = &Error{Code: codeInternal, Message: "Internal error"}
		}
		return failure(req.ID, re)
	}
	s.requests.WithLabelValues(req.Method, "ok").Inc()
	if result == nil {
		result = nullResult
	}
	return &response{Version: "2.0", Result: result, ID: req.ID}
}

// validID accepts what JSON-RPC allows: absent, null, a number or a string.
func validID(id json.RawMessage) bool {
	if len(id) == 0 {
		return true
	}
	switch id[0] {
	case '{', '[', 't', 'f':
		return false
	}
	return true
}

func methods() map[string]method {
	return map[string]method{
		"getSlot": getSlot, "getBlockHeight": getBlockHeight, "getBlock": getBlock, "getBlocks": getBlocks,
		"getBlocksWithLimit": getBlocksWithLimit, "getBlockTime": getBlockTime, "getFirstAvailableBlock": getFirstAvailableBlock,
		"minimumLedgerSlot": getFirstAvailableBlock, "getTransaction": getTransaction, "getSignaturesForAddress": getSignaturesForAddress,
		"getSignatureStatuses": getSignatureStatuses, "getMultipleAccounts": getMultipleAccounts, "getAccountInfo": getAccountInfo,
		"getBalance": getBalance, "getTokenSupply": getTokenSupply, "getTokenAccountBalance": getTokenAccountBalance,
		"getProgramAccounts": getProgramAccounts, "getVersion": getVersion, "getHealth": getHealth, "getGenesisHash": getGenesisHash,
		"getEpochInfo": getEpochInfo, "getLatestBlockhash": getLatestBlockhash, "isBlockhashValid": isBlockhashValid,
		"getMinimumBalanceForRentExemption": getMinimumBalance, "minimumBalanceForRentExemption": getMinimumBalance,
		"sendTransaction": sendTransaction, "simulateTransaction": simulateTransaction, "getIdentity": getIdentity,
		"getFeeForMessage": getFeeForMessage, "getTokenAccountsByOwner": getTokenAccountsByOwner, "getTokenAccountsByDelegate": getTokenAccountsByDelegate,
		"getTokenLargestAccounts": getTokenLargestAccounts, "getRecentPrioritizationFees": getRecentPrioritizationFees, "requestAirdrop": requestAirdrop,
		"getSupply": getSupply, "getTransactionCount": getTransactionCount,
	}
}
