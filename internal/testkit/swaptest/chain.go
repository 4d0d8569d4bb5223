// Package swaptest is a chain in memory for the swap room's tests: it has accounts and answers the
// RPC calls that the room makes.
package swaptest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"sync"

	"github.com/gagliardetto/solana-go"
	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/schemas/pubkey"
	rpc "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
	"github.com/mintlake/mintlake/testworld/layout"
)

// Key is an address.
type Key = pubkey.Key

// Named returns the address that stands for a name.
func Named(name string) Key { return sha256.Sum256([]byte(name)) }

// Addresses that tests need.
var (
	TokenProgram     = tokenaccount.ProgramToken
	Token2022Program = tokenaccount.ProgramToken2022
	CPMMProgram      = pubkey.MustParse("CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C")
	Clock            = pubkey.MustParse("SysvarC1ock11111111111111111111111111111111")
	WrappedSOL       = pubkey.MustParse("So11111111111111111111111111111111111111112")
	Genesis          = Named("genesis")
)

// Chain is the accounts of a chain, and the transactions that Run and Execute remembered. Use New:
// the zero value is not ready.
type Chain struct {
	mu       sync.Mutex
	slot     uint64
	accounts map[Key]*rpc.Account
	calls    map[string]int
	// ran counts the transactions. transactions has them by signature, signatures what
	// getSignaturesForAddress returns for an account: the newest first.
	ran          int
	transactions map[string]json.RawMessage
	signatures   map[Key][]map[string]any
	version1     bool
	// fail, if set, is the error of every call.
	fail error
	// hold, if set, is a channel that every call waits for.
	hold chan struct{}
}

// New makes a chain at slot 1000, epoch 2, Unix second 1,700,000,000, with wrapped SOL, and with a
// rent of 5,080 lamports a byte.
func New() *Chain {
	c := &Chain{accounts: map[Key]*rpc.Account{}, calls: map[string]int{}, transactions: map[string]json.RawMessage{}, signatures: map[Key][]map[string]any{}}
	c.At(venue.Clock{Slot: 1000, Epoch: 2, UnixTime: 1_700_000_000})
	c.SetRent(5080, 1)
	c.Mint(WrappedSOL, TokenProgram, 9)
	return c
}

// Set adds or replaces an account.
func (c *Chain) Set(key, owner Key, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accounts[key] = &rpc.Account{Owner: owner, Lamports: 1, Data: bytes.Clone(data)}
}

// Put adds or replaces accounts, with their lamports.
func (c *Chain) Put(accounts map[Key]*rpc.Account) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.accounts, accounts)
}

// Replace puts accounts in the place of all others but the clock, the rent and deployed programs,
// in a new slot.
func (c *Chain) Replace(accounts map[Key]*rpc.Account) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.accounts
	c.accounts = maps.Clone(accounts)
	for key, account := range before {
		if key == Clock || key == venue.RentSysvar || account.Owner == Key(solana.BPFLoaderUpgradeableProgramID) {
			c.accounts[key] = account
		}
	}
	c.slot++
}

// At moves the chain to a slot and a time, which the Clock sysvar has from then on.
func (c *Chain) At(now venue.Clock) {
	clock := layout.Clock{Slot: now.Slot, Epoch: now.Epoch, UnixTime: now.UnixTime}
	c.Set(Clock, Key{}, clock.Bytes())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slot = now.Slot
}

// SetRent sets the Rent sysvar.
func (c *Chain) SetRent(lamportsPerByte uint64, threshold float64) {
	data := binary.LittleEndian.AppendUint64(nil, lamportsPerByte)
	data = binary.LittleEndian.AppendUint64(data, math.Float64bits(threshold))
	c.Set(venue.RentSysvar, Key{}, append(data, 50))
}

// Edit changes an account's data, in a new slot.
func (c *Chain) Edit(key Key, change func(data []byte)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	data := bytes.Clone(c.accounts[key].Data)
	change(data)
	c.accounts[key] = &rpc.Account{Owner: c.accounts[key].Owner, Lamports: 1, Data: data}
	c.slot++
}

// Remove takes an account away.
func (c *Chain) Remove(key Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.accounts, key)
}

// Fail makes every call return err; nil ends that.
func (c *Chain) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

// Hold makes calls wait until the returned function is called.
func (c *Chain) Hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hold := make(chan struct{})
	c.hold = hold
	return func() {
		c.mu.Lock()
		c.hold = nil
		c.mu.Unlock()
		close(hold)
	}
}

// Calls counts the calls of a method.
func (c *Chain) Calls(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[method]
}

// Mint adds a mint. extensions are type-length-value bytes; a mint of SPL Token has none.
func (c *Chain) Mint(address, program Key, decimals byte, extensions ...byte) {
	mint := layout.Mint{Decimals: decimals, Extensions: extensions}
	c.Set(address, program, mint.Bytes())
}

// TokenAccount adds a token account that holds an amount of a mint.
func (c *Chain) TokenAccount(key, program, mint Key, amount uint64) {
	account := layout.TokenAccount{Mint: mint, Amount: amount}
	c.Set(key, program, account.Bytes())
}

// Extension returns the type-length-value bytes of an extension.
func Extension(kind uint16, value []byte) []byte { return layout.AppendExtension(nil, kind, value) }

// TransferFee returns a transfer fee extension. Its two rules are equal, so one fee holds from
// epoch 0 on.
func TransferFee(bps uint16, maximum uint64) []byte {
	fee := layout.TransferFee{Newer: 1, BasisPoints: bps, Maximum: maximum}
	return Extension(layout.ExtTransferFeeConfig, fee.Bytes())
}

// Slices is the name under which Calls counts getMultipleAccounts with a data slice.
const Slices = "getMultipleAccounts with a data slice"

// GetMultipleAccounts implements market.RPC.
func (c *Chain) GetMultipleAccounts(ctx context.Context, keys []Key, options rpc.AccountOptions) (uint64, []*rpc.Account, error) {
	if len(keys) > rpc.MaxAccountsPerCall {
		return 0, nil, fmt.Errorf("%d keys", len(keys))
	}
	method := "getMultipleAccounts"
	if options.DataSlice != nil {
		method = Slices
	}
	if err := c.enter(ctx, method); err != nil {
		return 0, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*rpc.Account, len(keys))
	for i, k := range keys {
		out[i] = c.accounts[k]
		if part := options.DataSlice; part != nil && out[i] != nil {
			one := *out[i]
			one.Data = (*jsonrpc.DataSlice)(part).Of(one.Data)
			out[i] = &one
		}
	}
	return c.slot, out, nil
}

// enter counts a call of method, waits until Hold is released, and returns the error of Fail.
func (c *Chain) enter(ctx context.Context, method string) error {
	c.mu.Lock()
	c.calls[method]++
	fail, hold := c.fail, c.hold
	c.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fail
}

// Slot returns the slot at which calls read.
func (c *Chain) Slot() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slot
}

// Call implements market.RPC for getProgramAccounts, getLatestBlockhash, getGenesisHash,
// getSignaturesForAddress and getTransaction. The last two have the transactions of Run and
// Execute.
func (c *Chain) Call(ctx context.Context, method string, params []any, result any) error {
	if err := c.enter(ctx, method); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var out any
	switch method {
	case "getLatestBlockhash":
		hash := Named("blockhash")
		out = map[string]any{"value": map[string]any{"blockhash": base58.Encode(hash[:]), "lastValidBlockHeight": 1150}}
	case "getGenesisHash":
		out = Genesis.String()
	case "getSignaturesForAddress":
		out = append([]map[string]any{}, c.signatures[pubkey.MustParse(fmt.Sprint(params[0]))]...)
	case "getTransaction":
		raw := c.transactions[fmt.Sprint(params[0])]
		options, _ := params[1].(map[string]any)
		if highest, ok := options["maxSupportedTransactionVersion"]; c.version1 && (!ok || fmt.Sprint(highest) != "1") {
			return &rpc.RPCError{Code: -32015, Message: "Transaction version (1) is not supported by the requesting client."}
		}
		out = raw
	case "getProgramAccounts":
		raw, err := rawParams(params)
		if err != nil {
			return err
		}
		if out, err = jsonrpc.ProgramAccounts(c.programAccounts)(raw); err != nil {
			return err
		}
	default:
		return &rpc.RPCError{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, result)
}

func rawParams(params []any) (raw []json.RawMessage, err error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	return raw, json.Unmarshal(text, &raw)
}

// programAccounts returns the accounts of program whose data matches, as getProgramAccounts does.
// The caller holds mu.
func (c *Chain) programAccounts(program Key, matches func([]byte) bool, part *jsonrpc.DataSlice) (slot uint64, list []jsonrpc.Keyed) {
	list = []jsonrpc.Keyed{}
	for key, account := range c.accounts {
		if account.Owner == program && matches(account.Data) {
			list = append(list, jsonrpc.Keyed{Pubkey: key.String(), Account: jsonrpc.AccountOf(account.Owner, account.Lamports, account.Data, part)})
		}
	}
	return c.slot, list
}
