package solana

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/internal/solana/txwire"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Commitment is how final the state must be that a node answers from. Empty means the server's
// default (finalized).
type Commitment string

// The commitments a node knows.
const (
	Processed Commitment = "processed"
	Confirmed Commitment = "confirmed"
	Finalized Commitment = "finalized"
)

// CommitmentRank returns 0 for processed, 1 for confirmed and 2 for finalized. It also accepts the
// names that Solana used before 1.5.5, as nodes do; ok is false for any other name.
func CommitmentRank(name string) (rank int, ok bool) {
	switch name {
	case string(Processed), "recent":
		return 0, true
	case string(Confirmed), "single", "singleGossip":
		return 1, true
	case string(Finalized), "root", "max":
		return 2, true
	}
	return 0, false
}

// MaxAccountsPerCall is the limit that nodes set for getMultipleAccounts.
const MaxAccountsPerCall = 100

// GetSlot returns the highest slot that reached the commitment.
func (c *Client) GetSlot(ctx context.Context, commitment Commitment) (uint64, error) {
	var slot uint64
	err := c.Call(ctx, "getSlot", []any{options{Commitment: commitment}}, &slot)
	return slot, err
}

// GetGenesisHash returns the genesis hash, which identifies the chain.
func (c *Client) GetGenesisHash(ctx context.Context) (pubkey.Key, error) {
	var text string
	if err := c.Call(ctx, "getGenesisHash", nil, &text); err != nil {
		return pubkey.Key{}, err
	}
	hash, err := pubkey.Parse(text)
	if err == nil {
		return hash, nil
	}
	return pubkey.Key{}, fmt.Errorf("getGenesisHash: %w: %.50q is no hash", ErrMalformed, text)
}

// BlockOptions are the options of GetBlock. The zero value asks for finalized, base64, no rewards,
// and all versions of transactions that are known.
type BlockOptions struct {
	// MaxVersion is the highest version of transactions that is asked for; nil = txwire.Highest. A
	// block with a higher one is an error, see UnsupportedVersion. HeaderOnly asks for none.
	MaxVersion *txwire.Version
	// Commitment is Confirmed or Finalized.
	Commitment Commitment
	// HeaderOnly leaves the transactions out.
	HeaderOnly bool
}

type options struct {
	Commitment         Commitment `json:"commitment,omitempty"`
	Encoding           string     `json:"encoding,omitempty"`
	TransactionDetails string     `json:"transactionDetails,omitempty"`
	MaxVersion         *int8      `json:"maxSupportedTransactionVersion,omitempty"`
	Rewards            *bool      `json:"rewards,omitempty"`
	DataSlice          *DataSlice `json:"dataSlice,omitempty"`
	MinContextSlot     uint64     `json:"minContextSlot,omitempty"`
	Filters            []Filter   `json:"filters,omitempty"`
}

func versioned(commitment Commitment, highest txwire.Version) options {
	asked := int8(highest)
	return options{Commitment: commitment, Encoding: "base64", MaxVersion: &asked}
}

// GetBlock returns the raw result of getBlock. If the slot has no block, SkippedSlot is true for
// the error.
func (c *Client) GetBlock(ctx context.Context, slot uint64, opts BlockOptions) (json.RawMessage, error) {
	highest, no := txwire.Highest, false
	if opts.MaxVersion != nil {
		highest = *opts.MaxVersion
	}
	o := versioned(opts.Commitment, highest)
	o.TransactionDetails, o.Rewards = "full", &no
	if opts.HeaderOnly {
		o.TransactionDetails = "none"
	}
	// Null means "not confirmed yet", never "skipped". If it were taken for skipped, a block would
	// be lost silently.
	return c.raw(ctx, "getBlock", slot, o, &RPCError{Code: CodeBlockNotAvailable, Message: "the node answered null"})
}

// ErrNotFound is returned if the node does not know the signature at that commitment.
var ErrNotFound = errors.New("not found")

// GetTransaction returns the raw result of getTransaction (base64), or ErrNotFound.
func (c *Client) GetTransaction(ctx context.Context, signature string, commitment Commitment) (json.RawMessage, error) {
	return c.raw(ctx, "getTransaction", signature, versioned(commitment, txwire.Highest), ErrNotFound)
}

// raw calls a method and returns its raw result. If that is null, it returns the error absent.
func (c *Client) raw(ctx context.Context, method string, what any, o options, absent error) (json.RawMessage, error) {
	var raw json.RawMessage
	if err := c.Call(ctx, method, []any{what, o}, &raw); err != nil {
		return nil, err
	}
	if string(raw) == "null" {
		return nil, fmt.Errorf("%s: %w", method, absent)
	}
	return raw, nil
}

// GetBlocks returns the slots in [from, to] that have a block, ascending. Nodes allow at most
// 500,000 slots per call.
func (c *Client) GetBlocks(ctx context.Context, from, to uint64, commitment Commitment) ([]uint64, error) {
	var slots []uint64
	err := c.Call(ctx, "getBlocks", []any{from, to, options{Commitment: commitment}}, &slots)
	return slots, err
}

// DataSlice asks for a part of each account's data, in bytes.
type DataSlice struct {
	Offset uint64 `json:"offset"`
	Length uint64 `json:"length"`
}

// AccountOptions say how to read accounts.
type AccountOptions struct {
	Commitment Commitment
	// DataSlice limits the data returned; nil = all of it.
	DataSlice *DataSlice
	// MinContextSlot makes the node refuse, with a retryable error, if it has not reached this
	// slot; 0 means any slot.
	MinContextSlot uint64
}

func (o AccountOptions) wire() options {
	return options{Commitment: o.Commitment, Encoding: "base64", DataSlice: o.DataSlice, MinContextSlot: o.MinContextSlot}
}

// Account is an account's state at the context slot.
type Account struct {
	Owner      pubkey.Key
	Lamports   uint64
	Data       []byte
	Executable bool
}

type wireAccount struct {
	Owner      string   `json:"owner"`
	Lamports   uint64   `json:"lamports"`
	Data       []string `json:"data"`
	Executable bool     `json:"executable"`
}

// GetMultipleAccounts reads up to MaxAccountsPerCall accounts at one slot. accounts[i] belongs to
// keys[i], and is nil if the account does not exist.
func (c *Client) GetMultipleAccounts(ctx context.Context, keys []pubkey.Key, opts AccountOptions) (contextSlot uint64, accounts []*Account, err error) {
	if len(keys) == 0 || len(keys) > MaxAccountsPerCall {
		return 0, nil, fmt.Errorf("getMultipleAccounts: %d keys, want 1 to %d", len(keys), MaxAccountsPerCall)
	}
	names := make([]string, len(keys))
	for i := range keys {
		names[i] = keys[i].String()
	}
	var res struct {
		Context struct {
			Slot uint64 `json:"slot"`
		} `json:"context"`
		Value []*wireAccount `json:"value"`
	}
	if err := c.Call(ctx, "getMultipleAccounts", []any{names, opts.wire()}, &res); err != nil {
		return 0, nil, err
	}
	if len(res.Value) != len(keys) {
		return 0, nil, fmt.Errorf("getMultipleAccounts: %w: %d accounts for %d keys", ErrMalformed, len(res.Value), len(keys))
	}
	accounts = make([]*Account, len(keys))
	for i, w := range res.Value {
		if w == nil {
			continue
		}
		if accounts[i], err = w.account(); err != nil {
			return 0, nil, fmt.Errorf("getMultipleAccounts: %w: account %s: %w", ErrMalformed, names[i], err)
		}
	}
	return res.Context.Slot, accounts, nil
}

func (w *wireAccount) account() (*Account, error) {
	a := &Account{Lamports: w.Lamports, Executable: w.Executable}
	var err error
	if a.Owner, err = pubkey.Parse(w.Owner); err != nil {
		return nil, fmt.Errorf("owner: %w", err)
	}
	if len(w.Data) != 2 || w.Data[1] != "base64" {
		return nil, fmt.Errorf("data is not [base64, \"base64\"]")
	}
	if a.Data, err = base64.StdEncoding.DecodeString(w.Data[0]); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return a, nil
}
