package solana

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/jsonwalk"
	"github.com/mintlake/mintlake/solana/txwire"
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
func (c *Client) GetGenesisHash(ctx context.Context) (hash pubkey.Key, err error) {
	var text string
	err = c.call(ctx, "getGenesisHash", nil, smallAnswer, func(result []byte) error {
		err := decode(result, &text)
		if err == nil {
			if hash, err = pubkey.Parse(text); err != nil {
				err = fmt.Errorf("%w: %.50q is no hash", ErrMalformed, text)
			}
		}
		return err
	})
	return hash, err
}

// BlockOptions are the options of GetBlock. The zero value asks for finalized, base64, no rewards,
// and all versions of transactions that are known.
type BlockOptions struct {
	// MaxVersion is the highest transaction version that the node may return; nil means
	// txwire.Highest. For a block with a higher version GetBlock returns an error, see
	// UnsupportedVersion. With HeaderOnly it has no effect.
	MaxVersion *txwire.Version
	// Commitment is Confirmed or Finalized.
	Commitment Commitment
	// HeaderOnly leaves the transactions out.
	HeaderOnly bool
	// NoWait makes GetBlock ask each endpoint only once for a block that none of them has.
	// BlockNotAvailable is true for the error then. Without NoWait, GetBlock asks again until the
	// block is there or a limit of Config is reached.
	NoWait bool
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

// GetBlock returns the raw result of getBlock. If the slot has no block, SkippedSlot is true for
// the error.
func (c *Client) GetBlock(ctx context.Context, slot uint64, opts BlockOptions) (json.RawMessage, error) {
	highest, no := txwire.Highest, false
	if opts.MaxVersion != nil {
		highest = *opts.MaxVersion
	}
	asked := int8(highest)
	o := options{Commitment: opts.Commitment, Encoding: "base64", MaxVersion: &asked, TransactionDetails: "full", Rewards: &no}
	if opts.HeaderOnly {
		o.TransactionDetails = "none"
	}
	bound := int64(unbounded)
	if opts.HeaderOnly {
		bound = headerAnswer
	}
	retryIf := Retryable
	if opts.NoWait {
		retryIf = func(err error) bool { return Retryable(err) && !BlockNotAvailable(err) }
	}
	var raw json.RawMessage
	err := c.callWithRetry(ctx, retryIf, "getBlock", []any{slot, o}, bound, func(text []byte) error {
		// Null means "not confirmed yet", never "skipped". If it were taken for skipped, a block
		// would be lost silently.
		if string(text) == "null" {
			return &RPCError{Code: CodeBlockNotAvailable, Message: "the node answered null"}
		}
		if text[0] != '{' {
			return fmt.Errorf("%w: the block is no object", ErrMalformed)
		}
		raw = text
		return nil
	})
	return raw, err
}

// maxSlots is the longest range of slots that nodes accept in getBlocks.
const maxSlots = 500_000

// GetBlocks returns the slots in [from, to] that have a block, ascending. Nodes refuse a range of
// more than 500,000 slots.
func (c *Client) GetBlocks(ctx context.Context, from, to uint64, commitment Commitment) ([]uint64, error) {
	var slots []uint64
	bound := smallAnswer + int64(min(to-min(from, to), maxSlots))*slotBytes
	err := c.call(ctx, "getBlocks", []any{from, to, options{Commitment: commitment}}, bound, func(text []byte) error { return decode(text, &slots) })
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
	Owner      string    `json:"owner"`
	Lamports   uint64    `json:"lamports"`
	Data       [2]string `json:"data"`
	Executable bool      `json:"executable"`
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
	length := uint64(accountData)
	if opts.DataSlice != nil {
		length = opts.DataSlice.Length
	}
	err = c.call(ctx, "getMultipleAccounts", []any{names, opts.wire()}, accountsBytes(len(keys), length), func(text []byte) (err error) {
		contextSlot, accounts, err = readAccounts(text, len(keys), length)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return contextSlot, accounts, nil
}

// readAccounts reads the result of getMultipleAccounts for n keys. It stops at the first account
// beyond n: a hostile answer within its bound of bytes may list very many accounts.
func readAccounts(text []byte, n int, length uint64) (contextSlot uint64, accounts []*Account, err error) {
	var at *struct {
		Slot uint64 `json:"slot"`
	}
	r := jsonwalk.New(text)
	err = r.Object(func(key []byte) error {
		switch string(key) {
		case "context":
			raw, err := r.Raw()
			if err == nil {
				err = json.Unmarshal(raw, &at)
			}
			return err
		case "value":
			accounts = make([]*Account, 0, n)
			return r.Array(func(i int) error {
				if i == n {
					return fmt.Errorf("more than %d accounts", n)
				}
				raw, err := r.Raw()
				if err != nil {
					return err
				}
				account, err := readAccount(raw, length)
				accounts = append(accounts, account)
				if err != nil {
					return fmt.Errorf("account %d: %w", i, err)
				}
				return nil
			})
		}
		return r.Skip()
	})
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	case at == nil || len(accounts) != n:
		return 0, nil, fmt.Errorf("%w: %d accounts for %d keys, or no context", ErrMalformed, len(accounts), n)
	}
	return at.Slot, accounts, nil
}

// readAccount reads one account. It returns nil for null, and an error if the account has more than
// length bytes of data.
func readAccount(raw []byte, length uint64) (*Account, error) {
	var w *wireAccount
	if err := json.Unmarshal(raw, &w); err != nil || w == nil {
		return nil, err
	}
	a := &Account{Lamports: w.Lamports, Executable: w.Executable}
	var err error
	if a.Owner, err = pubkey.Parse(w.Owner); err != nil {
		return nil, fmt.Errorf("owner: %w", err)
	}
	if w.Data[1] != "base64" {
		return nil, fmt.Errorf("data is not [base64, \"base64\"]")
	}
	if a.Data, err = base64.StdEncoding.DecodeString(w.Data[0]); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	if uint64(len(a.Data)) > length {
		return nil, fmt.Errorf("%d bytes of data where %d were asked for", len(a.Data), length)
	}
	return a, nil
}
