package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
)

// Names of the clusters by their genesis hashes (docs.anza.xyz/clusters/available).
var clusters = map[string]string{
	"5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d": "mainnet-beta",
	"4uhcVJyU9pJkvQyS88uRDiswHXSGkY3zQawwpjk2NsNY": "testnet",
	"EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG": "devnet",
}

const (
	// maxAnswer bounds an answer. A block of mainnet has some 5 MB.
	maxAnswer = 64 << 20
	// back is how many slots behind the tip a block is asked for: it is surely there.
	back = 32
	// tries is how many slots are asked for a block: some have none.
	tries = 8
)

// asker asks one JSON-RPC server.
type asker struct {
	*run
	rpc  *solana.Client
	host string
	// under is the first part of the names of its checks: source or upstream.
	under string
}

func (r *run) upstream(endpoint string) (*asker, error) {
	client, err := solana.NewClient(solana.Config{Endpoints: []string{endpoint}, Timeout: r.cfg.Wait, MaxElapsed: 2 * r.cfg.Wait, MaxAttempts: 1, MaxBodyBytes: maxAnswer}, solana.Deps{})
	return &asker{run: r, rpc: client, host: solana.Host(endpoint), under: "upstream"}, err
}

func (a *asker) check(name string, state State, means, found string, args ...any) {
	a.add(Check{Name: a.under + "." + name, Endpoint: a.host, State: state, Found: fmt.Sprintf(found, args...), Means: means})
}

// limited reports whether the server refused a call because of its rate limit.
func limited(err error) bool {
	var status *solana.HTTPError
	var rpc *solana.RPCError
	return errors.As(err, &status) && status.Status == http.StatusTooManyRequests ||
		errors.As(err, &rpc) && (rpc.Code == http.StatusTooManyRequests || rpc.Code == -32429)
}

// call makes a call. If the server's rate limit refuses it, call tries again, as retryLimited does:
// the check is about whether the server has the method.
func (a *asker) call(ctx context.Context, method string, params []any, result any) error {
	return a.retryLimited(ctx, func() error { return a.rpc.Call(ctx, method, params, result) })
}

// retryLimited makes a call again every half second while the server's rate limit refuses it, for
// Config.Wait at most.
func (a *asker) retryLimited(ctx context.Context, call func() error) error {
	for end := time.Now().Add(a.cfg.Wait); ; {
		err := call()
		if !limited(err) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second / 2):
		}
	}
}

// askUpstream makes the checks of all that Mintlake uses an upstream for.
func (r *run) askUpstream(ctx context.Context, endpoint string) {
	a, err := r.upstream(endpoint)
	if err != nil {
		r.add(Check{Name: "upstream.reach", Endpoint: solana.Host(endpoint), State: Fails, Found: said(err)})
		return
	}
	if !r.askBlocks(ctx, a, "upstream") {
		return
	}
	a.multiple(ctx)
	a.program(ctx)
	a.pages(ctx)
}

// askBlocks checks whether the server answers, which chain it serves, and whether it returns a
// block. It returns false if the server does not answer, or if it is the source and returns no
// block.
func (r *run) askBlocks(ctx context.Context, a *asker, under string) bool {
	a.under = under
	tip, ok := a.reach(ctx)
	if !ok {
		return false
	}
	if under == "source" {
		r.tip = max(r.tip, tip)
	}
	a.chain(ctx)
	read := a.block(ctx, max(tip-min(tip, back), a.history(ctx, tip)))
	return read || under == "upstream"
}

func (a *asker) reach(ctx context.Context) (tip uint64, ok bool) {
	var took []time.Duration
	for range latencyCalls {
		var slot uint64
		var begin time.Time
		err := a.retryLimited(ctx, func() error {
			begin = time.Now()
			return a.rpc.Call(ctx, "getSlot", []any{map[string]any{"commitment": "confirmed"}}, &slot)
		})
		if err != nil {
			a.check("reach", Fails, "nothing can be read", "%s", said(err))
			return 0, false
		}
		took, tip = append(took, time.Since(begin)), max(tip, slot)
	}
	a.add(Check{Name: a.under + ".reach", Endpoint: a.host, State: OK, Found: fmt.Sprintf("answers at slot %d", tip), Millis: median(took)})
	return tip, true
}

func (a *asker) chain(ctx context.Context) {
	var hash pubkey.Key
	err := a.retryLimited(ctx, func() (err error) {
		hash, err = a.rpc.GetGenesisHash(ctx)
		return err
	})
	if err != nil {
		a.check("chain", Unknown, "", "getGenesisHash is not answered: %s", said(err))
		return
	}
	a.genesis[a.host] = hash.String()
	name := clusters[hash.String()]
	if name == "" {
		name = "another chain than Solana's own clusters, genesis hash " + hash.String()
	}
	a.check("chain", OK, "", "%s", name)
}

// block reads the first block at or after a slot, with transactions of all versions. It returns
// false if the block cannot be read.
func (a *asker) block(ctx context.Context, from uint64) bool {
	means := "gaps of a stream stay open, and mintlake backfill cannot use it"
	state := Less
	if a.under == "source" {
		means, state = "nothing can be read", Fails
	}
	var raw json.RawMessage
	var err error
	begin := time.Now()
	for tried := range uint64(tries) {
		err = a.retryLimited(ctx, func() (err error) {
			begin = time.Now()
			raw, err = a.rpc.GetBlock(ctx, from+tried, solana.BlockOptions{Commitment: solana.Confirmed, NoWait: true})
			return err
		})
		if !solana.SkippedSlot(err) && !solana.BlockNotAvailable(err) {
			break
		}
	}
	took := time.Since(begin)
	if version, above := solana.UnsupportedVersion(err); above {
		a.check("versions", state, "blocks with such transactions stay gaps: upgrade Mintlake", "a transaction of version %d is withheld", version)
		return state != Fails
	}
	var block struct {
		Transactions []struct {
			Version any `json:"version"`
		} `json:"transactions"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &block)
	}
	if err != nil {
		a.check("blocks", state, means, "getBlock: %s", said(err))
		return false
	}
	a.blockBytes = max(a.blockBytes, len(raw))
	a.add(Check{Name: a.under + ".blocks", Endpoint: a.host, State: OK, Millis: median([]time.Duration{took}),
		Found: fmt.Sprintf("%d transactions, %d bytes", len(block.Transactions), len(raw))})
	version1 := 0
	for _, tx := range block.Transactions {
		if tx.Version == float64(1) {
			version1++
		}
	}
	if version1 > 0 {
		a.check("versions", OK, "", "%d of %d transactions are of version 1", version1, len(block.Transactions))
	} else {
		a.check("versions", Unknown, "", "version 1 is not refused, and no transaction of it was in the block")
	}
	return true
}

// slotsOfADay is how many slots back ingest closes gaps by itself: a day at 200 ms.
const slotsOfADay = 432_000

// history returns the first slot whose block the server has; 0 if it does not tell.
func (a *asker) history(ctx context.Context, tip uint64) uint64 {
	var first uint64
	if err := a.call(ctx, "getFirstAvailableBlock", nil, &first); err != nil {
		a.check("history", Unknown, "", "getFirstAvailableBlock: %s", said(err))
		return 0
	}
	reach := tip - min(tip, first)
	if reach < slotsOfADay {
		a.check("history", Less, "gaps that are older than that stay open; ingest would close those of a day", "blocks of the last %d slots, from slot %d on", reach, first)
	} else {
		a.check("history", OK, "", "blocks from slot %d on", first)
	}
	return min(first, tip)
}

// multiple reads as many accounts in a call as enrichment does.
func (a *asker) multiple(ctx context.Context) {
	const means = "mints are read only by chance: enrichment reads 100 accounts in a call"
	// All keys but the first are of accounts that do not exist, which keeps the answer short.
	keys := make([]string, solana.MaxAccountsPerCall)
	for i := range keys {
		keys[i] = pubkey.Key{0: 1, 31: byte(i)}.String()
	}
	keys[0] = schemas.MintWrappedSOL
	var result struct {
		Value []json.RawMessage `json:"value"`
	}
	begin := time.Now()
	err := a.call(ctx, "getMultipleAccounts", []any{keys, map[string]any{"commitment": "confirmed", "encoding": "base64", "dataSlice": map[string]int{"offset": 0, "length": 0}}}, &result)
	switch {
	case err != nil:
		a.check("accounts", Less, means, "getMultipleAccounts of %d: %s", len(keys), said(err))
	case len(result.Value) != len(keys):
		a.check("accounts", Less, means, "getMultipleAccounts of %d answers %d", len(keys), len(result.Value))
	default:
		a.add(Check{Name: "upstream.accounts", Endpoint: a.host, State: OK, Found: fmt.Sprintf("getMultipleAccounts of %d", len(keys)), Millis: median([]time.Duration{time.Since(begin)})})
	}
}

// programParams returns the parameters of getProgramAccounts for the mints of one mint authority.
// That authority has no mints, so the answer is short. more are further options.
func programParams(more map[string]any) []any {
	options := map[string]any{
		"encoding": "base64", "commitment": "finalized", "withContext": true,
		"filters": []any{map[string]any{"dataSize": 82}, map[string]any{"memcmp": map[string]any{"offset": 4, "bytes": schemas.MintWrappedSOL, "encoding": "base58"}}},
	}
	for name, value := range more {
		options[name] = value
	}
	return []any{schemas.ProgramToken, options}
}

func (a *asker) program(ctx context.Context) {
	var raw json.RawMessage
	if err := a.call(ctx, "getProgramAccounts", programParams(nil), &raw); err != nil {
		a.check("program_accounts", Less, "mintlake bootstrap rpc cannot fill the registry from it; with pages, --paged can; else a validator's snapshot or an import does", "getProgramAccounts: %s", said(err))
		return
	}
	a.check("program_accounts", OK, "", "getProgramAccounts is answered")
}

func (a *asker) pages(ctx context.Context) {
	var page struct {
		Value struct {
			Accounts []json.RawMessage `json:"accounts"`
		} `json:"value"`
	}
	if err := a.call(ctx, "getProgramAccountsV2", programParams(map[string]any{"limit": 1}), &page); err != nil {
		a.check("program_accounts_v2", Less, "mintlake bootstrap rpc works without --paged, if getProgramAccounts is answered, and cuts what is too large", "getProgramAccountsV2: %s", said(err))
		return
	}
	a.check("program_accounts_v2", OK, "", "getProgramAccountsV2 is answered: mintlake bootstrap rpc --paged works")
}
