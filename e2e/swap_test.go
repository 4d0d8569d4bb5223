package e2e

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/venue/all"
	"github.com/mintlake/mintlake/testworld/chain"
)

const solMint = "So11111111111111111111111111111111111111112"

// swapQuote is what the test reads of a quote.
type swapQuote struct {
	In     uint64    `json:"max_amount_in,string"`
	Out    uint64    `json:"amount_out,string"`
	Least  uint64    `json:"min_amount_out,string"`
	Slot   uint64    `json:"slot"`
	Txn    string    `json:"txn"`
	Route  []swapLeg `json:"route"`
	Routes []struct {
		Legs []swapLeg `json:"legs"`
	} `json:"routes"`
	// Residual is told where a venue has no exact-out sale.
	Residual []struct {
		Mint string `json:"mint"`
		Most int64  `json:"amount_max,string"`
	} `json:"residual"`
	Rent    int64    `json:"rent"`
	Version string   `json:"transaction_version"`
	Tables  []string `json:"lookup_tables"`
	// Height is the last block height at which the transaction is valid.
	Height uint64 `json:"last_valid_block_height"`
	// raw is the answer as it came.
	raw json.RawMessage
}

type swapLeg struct {
	Venue  string `json:"venue"`
	Pool   string `json:"pool"`
	Target string `json:"dst_mint"`
}

// swapResult is a landed transaction.
type swapResult struct {
	Slot uint64
	Meta struct {
		Err          any
		Fee          uint64
		PreBalances  []int64
		PostBalances []int64
		PreTokens    []swapBalance `json:"preTokenBalances"`
		PostTokens   []swapBalance `json:"postTokenBalances"`
		LogMessages  []string
	}
	// told is what the swap API told of it, if that sent it.
	told *swapSent
}

type swapBalance struct {
	AccountIndex  int
	Mint, Owner   string
	UITokenAmount struct {
		Amount int64 `json:",string"`
	} `json:"uiTokenAmount"`
}

// flows are what came into a user's accounts, by mint. Lamports of all of them together are SOL:
// rent only moves among them.
func (r *swapResult) flows(user string) map[string]int64 {
	flows, own := map[string]int64{}, map[int]bool{0: true}
	for _, side := range []struct {
		list []swapBalance
		sign int64
	}{{r.Meta.PreTokens, -1}, {r.Meta.PostTokens, 1}} {
		for _, b := range side.list {
			if b.Owner == user {
				own[b.AccountIndex] = true
				if b.Mint != solMint {
					flows[b.Mint] += side.sign * b.UITokenAmount.Amount
				}
			}
		}
	}
	flows[solMint] = int64(r.Meta.Fee)
	for i := range own {
		flows[solMint] += r.Meta.PostBalances[i] - r.Meta.PreBalances[i]
	}
	return flows
}

// swapper is a client of the swap API and the gateway with a key of its own.
type swapper struct {
	up    *instance
	key   solana.PrivateKey
	user  string
	rand  *rand.Rand
	mints []string
	held  map[string]uint64
	// own is the account for wrapped SOL that the user has before he swaps; zero if he has none.
	own solana.PublicKey
	// sends has the swap API send some of the transactions, which then follows them.
	sends bool
}

// call asks the gateway. That its node is away passes: on a slow machine, it may not answer in
// time.
func (s *swapper) call(result any, method string, params ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	var raw []byte
	for deadline := time.Now().Add(hang); ; time.Sleep(200 * time.Millisecond) {
		var code int
		raw, code, err = s.ask(http.MethodPost, s.up.addresses["rpc"], body)
		if err == nil && code == http.StatusOK {
			break
		}
		// Both say that nothing was sent.
		away := err == nil && (code == http.StatusBadGateway || code == http.StatusServiceUnavailable)
		if !away || time.Now().After(deadline) {
			return fmt.Errorf("%s: %d %s: %w", method, code, raw, err)
		}
	}
	var answer struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(raw, &answer); err != nil || answer.Error != nil {
		return fmt.Errorf("%s: %s: %w", method, answer.Error, err)
	}
	return json.Unmarshal(answer.Result, result)
}

func (s *swapper) ask(method, address string, body []byte) (answer []byte, code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return answer, response.StatusCode, err
}

// swap makes one trade: it sells SOL, or some of what it holds for SOL or a third token.
func (s *swapper) swap(seen *swapCounts) error {
	src, dst, amount := solMint, s.mints[s.rand.IntN(len(s.mints))], uint64(10_000_000)<<s.rand.IntN(12)
	for mint, held := range s.held {
		if held > 1000 && s.rand.IntN(3) > 0 {
			src, dst, amount = mint, solMint, held-held/4
			if other := s.mints[s.rand.IntN(len(s.mints))]; other != mint && s.rand.IntN(2) == 0 {
				dst = other
			}
			break
		}
	}
	q, err := s.quote(src, dst, amount)
	if q == nil {
		delete(s.held, src) // no route: its pools were drained, or three pools would be needed
		return err
	}
	result, err := s.land(q)
	if errors.Is(err, errExpired) { // as wallets do, it asks again
		return seen.expire()
	}
	if err != nil {
		return err
	}
	return s.judge(seen, q, result, src, dst)
}

// quote is nil without an error if there is no route. State that is older than allowed comes back
// by itself.
func (s *swapper) quote(src, dst string, amount uint64) (*swapQuote, error) {
	version := []string{"legacy", "0", "0", "1"}[s.rand.IntN(4)]
	ask := url.Values{"transaction_version": {version}, "src_mint": {src}, "dst_mint": {dst}, "amount_in": {strconv.FormatUint(amount, 10)}, "slippage_bps": {"500"}, "user_account": {s.user}}
	for deadline := time.Now().Add(hang); ; time.Sleep(200 * time.Millisecond) {
		raw, code, err := s.ask(http.MethodGet, s.up.addresses["swap"]+"/api/v2/quote?"+ask.Encode(), nil)
		switch {
		case err == nil && code == http.StatusNotFound:
			return nil, nil
		case err == nil && (code == http.StatusServiceUnavailable || code == http.StatusTooManyRequests) && time.Now().Before(deadline):
		case err != nil || code != http.StatusOK:
			return nil, fmt.Errorf("quote %s: %d %s: %w", ask.Encode(), code, raw, err)
		default:
			var q swapQuote
			q.raw = raw
			err := json.Unmarshal(raw, &q)
			return &q, err
		}
	}
}

// land signs, submits, and waits until the transaction of a quote is in a block.
func (s *swapper) land(q *swapQuote) (*swapResult, error) {
	raw, err := base64.StdEncoding.DecodeString(q.Txn)
	if err != nil {
		return nil, err
	}
	if raw, err = signed(raw, s.key); err != nil {
		return nil, err
	}
	if s.sends && s.rand.IntN(2) == 0 {
		told, err := s.send(q, raw)
		if err != nil {
			return nil, err
		}
		result, err := s.landed(told.Signature, math.MaxUint64)
		if err == nil {
			result.told = told
		}
		return result, err
	}
	return s.submit(raw, q.Height)
}

// submit sends a signed transaction, and waits until it is in a block, which may have that height
// at most.
func (s *swapper) submit(raw []byte, height uint64) (*swapResult, error) {
	var signature string
	if err := s.call(&signature, "sendTransaction", base64.StdEncoding.EncodeToString(raw), map[string]any{"encoding": "base64", "skipPreflight": true}); err != nil {
		// A node refuses what the next block would not take.
		if now, unknown := s.height("processed"); unknown == nil && now >= height {
			return nil, fmt.Errorf("%w: %w", errExpired, err)
		}
		return nil, err
	}
	return s.landed(signature, height)
}

// signed signs a transaction of any version that one key signs.
func signed(wire []byte, key solana.PrivateKey) ([]byte, error) {
	var tx txwire.Transaction
	if err := tx.Parse(wire); err != nil {
		return nil, err
	}
	message, err := tx.AppendMessage(nil)
	if err != nil {
		return nil, err
	}
	signature, err := key.Sign(message)
	if err != nil {
		return nil, err
	}
	tx.Signatures = [][]byte{signature[:]}
	return tx.Append(nil)
}

// height is the chain's block height.
func (s *swapper) height(commitment string) (height uint64, err error) {
	err = s.call(&height, "getBlockHeight", map[string]any{"commitment": commitment})
	return height, err
}

// errExpired is a transaction that was sent so late that no block takes it.
var errExpired = errors.New("the blockhash has expired")

// landed waits until a transaction is in a block, which may have that height at most.
func (s *swapper) landed(signature string, height uint64) (*swapResult, error) {
	for deadline := time.Now().Add(hang); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		now, err := s.height("confirmed") // before the look: what is not there then, never will be
		if err != nil {
			return nil, err
		}
		var result *swapResult
		if err := s.call(&result, "getTransaction", signature, map[string]any{"encoding": "json", "commitment": "confirmed", "maxSupportedTransactionVersion": 1}); err != nil {
			return nil, err
		}
		if result != nil {
			return result, nil
		}
		if now > height {
			return nil, fmt.Errorf("%s: %w", signature, errExpired)
		}
	}
	return nil, fmt.Errorf("%s never landed", signature)
}

// pooledMints are the tokens with pools in SOL on each venue, by the demo's own accounts.
func (s *swapper) pooledMints(t testing.TB) (mints []string) {
	t.Helper()
	seen := map[string]bool{solMint: true}
	for _, v := range all.Venues() {
		var list []struct {
			Pubkey  string
			Account struct{ Data []string }
		}
		require.NoError(t, s.call(&list, "getProgramAccounts", v.Program().String(), map[string]any{"encoding": "base64", "commitment": "processed"}))
		for _, a := range list {
			data, err := base64.StdEncoding.DecodeString(a.Account.Data[0])
			require.NoError(t, err)
			ref, err := v.Open(pubkey.MustParse(a.Pubkey), data)
			if err != nil {
				continue
			}
			for _, mint := range ref.Mints() {
				if text := mint.String(); !seen[text] && v.Name() != "raydium_cpmm" {
					seen[text] = true
					mints = append(mints, text)
				}
			}
		}
	}
	require.NotEmpty(t, mints)
	return mints
}

// TestSwapsEndToEnd is what a wallet does, many times over all venues of the demo chain: a quote, a
// signature, the transaction through the gateway. Others trade meanwhile.
func TestSwapsEndToEnd(t *testing.T) {
	swaps := 200
	if n, err := strconv.Atoi(os.Getenv("MINTLAKE_TEST_SWAPS")); err == nil {
		swaps = n
	}
	var tables []string
	for pool := range 16 {
		tables = append(tables, chain.TableKey(18, pool).String())
	}
	up := launch(t, t.TempDir(), "--source", "demo:?past=0&tps=20&tokens=20&seed=18&wallets=64&slot_time=200ms&fork_rate=0&skip_rate=0", "--rooms", "gateway,swap",
		"--swap-lookup-tables", strings.Join(tables, ","))
	const workers = 10
	seen := &swapCounts{venues: map[string]int{}, versions: map[string]int{}, mostExpired: swaps / 10}
	var wg sync.WaitGroup
	errs := make(chan error, workers)
	var mints []string
	for w := range workers {
		seed := make([]byte, ed25519.SeedSize)
		seed[0] = byte(w + 1)
		key := solana.PrivateKey(ed25519.NewKeyFromSeed(seed))
		s := &swapper{up: up, key: key, user: key.PublicKey().String(), rand: rand.New(rand.NewPCG(18, uint64(w))), held: map[string]uint64{}, sends: w < 4}
		if mints == nil {
			mints = s.pooledMints(t)
		}
		s.mints = mints
		for range 3 {
			var signature string
			require.NoError(t, s.call(&signature, "requestAirdrop", s.user, uint64(1_000_000_000_000)))
			_, err := s.landed(signature, math.MaxUint64)
			require.NoError(t, err)
		}
		if w%2 == 1 {
			require.NoError(t, s.keep())
		}
		wg.Go(func() {
			for seen.more(swaps) {
				if err := s.swap(seen); err != nil {
					errs <- err
					return
				}
			}
			if err := s.kept(); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	t.Logf("%d landed: %d as quoted, %d after trades of others; %d failed whole, %d sent too late; %d over two pools, %d split, %d with lookup tables, %d sent by the swap API; by version %v; by venue %v",
		seen.landed, seen.equal, seen.moved, seen.failed, seen.expired, seen.hops, seen.splits, seen.tables, seen.sent, seen.versions, seen.venues)
	require.GreaterOrEqual(t, seen.landed, swaps*9/10)
	require.Greater(t, seen.equal, swaps/4)
	require.Positive(t, seen.hops)
	require.Positive(t, seen.splits)
	require.Positive(t, seen.tables)
	require.Positive(t, seen.sent)
	require.Len(t, seen.venues, swapVenues)
	require.Len(t, seen.versions, 3)
	requireReplayed(t, up, seen.venues)
}
