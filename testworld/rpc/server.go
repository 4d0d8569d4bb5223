// Package rpc serves the ledger of the test world over Solana's JSON-RPC.
//
// In: HTTP POST bodies, single or batched; the ledger.
// Out: results and errors in the shape of the real node, with its codes.
// Guarantees: those of package jsonrpc.
package rpc

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// Codes of Solana (rpc-client-api, custom_error.rs).
const (
	codePreflight          = -32002
	codeBlockNotAvailable  = -32004
	codeSlotSkipped        = -32007
	codeLongTermSkipped    = -32009
	codeMinContextSlot     = -32016
	codeUnsupportedVersion = -32015
	codeBlockCleanedUp     = -32001
)

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
	// Future, if set, returns whether the block of a slot is said to have a transaction of a
	// version above txwire.Highest: a client that does not ask for that version gets -32015.
	Future func(slot uint64) bool
	// WithoutPages leaves getProgramAccountsV2 out, as nodes without a provider in front do.
	WithoutPages bool
	// Chain is the configuration of the chain in the ledger, with its defaults filled in.
	Chain chain.Config
}

// Server is an http.Handler.
type Server struct {
	*jsonrpc.Handler
	ledger  *ledger.Ledger
	submit  Submitter
	genesis chain.Hash
	future  func(slot uint64) bool
	chain   chain.Config
}

// method answers one call; params is the raw array, never nil.
type method func(s *Server, params []json.RawMessage) (any, error)

// New makes a server; it opens no port.
func New(deps Deps) (*Server, error) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mintlake_demo_rpc_requests_total",
		Help: "JSON-RPC calls by method and outcome."}, []string{"method", "outcome"})
	s := &Server{ledger: deps.Ledger, submit: deps.Submitter, genesis: deps.GenesisHash, future: deps.Future, chain: deps.Chain, Handler: &jsonrpc.Handler{
		Methods: map[string]jsonrpc.Method{}, Log: deps.Logger,
		Count: func(method, outcome string) { requests.WithLabelValues(method, outcome).Inc() },
	}}
	for name, m := range methods() {
		if deps.WithoutPages && name == methodPages {
			continue
		}
		s.Methods[name] = func(params []json.RawMessage) (any, error) { return m(s, params) }
		for _, outcome := range []string{jsonrpc.OK, jsonrpc.Failed} {
			requests.WithLabelValues(name, outcome)
		}
	}
	requests.WithLabelValues("other", jsonrpc.NotFound)
	if err := deps.Registerer.Register(requests); err != nil {
		return nil, fmt.Errorf("register rpc metrics: %w", err)
	}
	return s, nil
}

// methodPages is the method that nodes do not have, but several providers do.
const methodPages = "getProgramAccountsV2"

func methods() map[string]method {
	return map[string]method{
		"getSlot": getSlot, "getBlockHeight": getBlockHeight, "getBlock": getBlock, "getBlocks": getBlocks,
		"getBlocksWithLimit": getBlocksWithLimit, "getBlockTime": getBlockTime, "getFirstAvailableBlock": getFirstAvailableBlock,
		"minimumLedgerSlot": getFirstAvailableBlock, "getTransaction": getTransaction, "getSignaturesForAddress": getSignaturesForAddress,
		"getSignatureStatuses": getSignatureStatuses, "getMultipleAccounts": getMultipleAccounts, "getAccountInfo": getAccountInfo,
		"getBalance": getBalance, "getTokenSupply": getTokenSupply, "getTokenAccountBalance": getTokenAccountBalance,
		"getProgramAccounts": getProgramAccounts, methodPages: getProgramAccountsV2, "getVersion": getVersion, "getHealth": getHealth, "getGenesisHash": getGenesisHash,
		"getEpochInfo": getEpochInfo, "getLatestBlockhash": getLatestBlockhash, "isBlockhashValid": isBlockhashValid,
		"getMinimumBalanceForRentExemption": getMinimumBalance, "minimumBalanceForRentExemption": getMinimumBalance,
		"sendTransaction": sendTransaction, "simulateTransaction": simulateTransaction, "getIdentity": getIdentity,
		"getFeeForMessage": getFeeForMessage, "getTokenAccountsByOwner": getTokenAccountsByOwner, "getTokenAccountsByDelegate": getTokenAccountsByDelegate,
		"getTokenLargestAccounts": getTokenLargestAccounts, "getRecentPrioritizationFees": getRecentPrioritizationFees, "requestAirdrop": requestAirdrop,
		"getSupply": getSupply, "getTransactionCount": getTransactionCount,
		"getEpochSchedule": getEpochSchedule, "getVoteAccounts": getVoteAccounts, "getAgGenesisCert": getAgGenesisCert,
		"getRecentPerformanceSamples": getRecentPerformanceSamples,
	}
}
