package swap

import (
	"crypto/ed25519"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	rpcclient "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	executed "github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
	"github.com/mintlake/mintlake/testworld/rpc"
)

// world is a chain that executes transactions, behind JSON-RPC. Its slots come when the test says
// so, and submitted transactions are the first of their block.
type world struct {
	t      *testing.T
	gen    *executed.Generator
	ledger *ledger.Ledger
	rpc    *rpcclient.Client

	mu    sync.Mutex
	queue []*executed.Tx
	drops uint64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	gen, err := executed.New(executed.Config{Seed: 18, TPS: 20, Tokens: 20, Wallets: 32})
	require.NoError(t, err)
	w := &world{t: t, gen: gen, ledger: ledger.New(ledger.Config{}, gen.Config().GenesisSlot, 0, gen.Genesis())}
	server, err := rpc.New(rpc.Deps{Ledger: w.ledger, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Submitter: w, GenesisHash: gen.GenesisHash(),
		Chain: gen.Config()})
	require.NoError(t, err)
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	w.rpc, err = rpcclient.NewClient(rpcclient.Config{Endpoints: []string{listener.URL}}, rpcclient.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	w.step()
	return w
}

// step makes the next slots, until one took all that was submitted.
func (w *world) step() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for first := true; first || len(w.queue) > 0; first = false {
		slot, taken := w.gen.Next(w.queue)
		w.queue = w.queue[taken:]
		require.NoError(w.t, slot.Sign())
		w.ledger.Add(slot)
	}
}

// Submit, Simulate and Airdrop are an rpc.Submitter.
func (w *world) Submit(tx *executed.Tx) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, tx)
	return nil
}

func (w *world) Simulate(tx *executed.Tx) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gen.Simulate(tx)
}

func (w *world) Airdrop(to executed.Key, lamports uint64) (*executed.Tx, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drops++
	return w.gen.Airdrop(to, lamports, w.drops)
}

// fund gives a wallet SOL.
func (w *world) fund(user solana.PublicKey) {
	w.t.Helper()
	for range 3 {
		require.NoError(w.t, w.rpc.Call(w.t.Context(), "requestAirdrop", []any{user.String(), uint64(1_000_000_000_000)}, nil))
	}
	w.step()
}

// send signs the transaction of an answer and submits it.
func (w *world) send(key solana.PrivateKey, r Response) {
	w.t.Helper()
	raw, err := base64.StdEncoding.DecodeString(r.Txn)
	require.NoError(w.t, err)
	tx, err := solana.TransactionFromBytes(raw)
	require.NoError(w.t, err)
	_, err = tx.Sign(func(solana.PublicKey) *solana.PrivateKey { return &key })
	require.NoError(w.t, err)
	require.NoError(w.t, w.rpc.Call(w.t.Context(), "sendTransaction", []any{tx.MustToBase64(), map[string]any{"encoding": "base64", "skipPreflight": true}}, nil))
}

// holds returns what a wallet has of a mint.
func (w *world) holds(user solana.PublicKey, mint string) (total uint64) {
	w.t.Helper()
	var list struct {
		Value []struct {
			Account struct {
				Data struct {
					Parsed struct {
						Info struct {
							TokenAmount struct {
								Amount uint64 `json:",string"`
							}
						}
					}
				}
			}
		}
	}
	require.NoError(w.t, w.rpc.Call(w.t.Context(), "getTokenAccountsByOwner", []any{user.String(), map[string]any{"mint": mint},
		map[string]any{"encoding": "jsonParsed", "commitment": "processed"}}, &list))
	for _, held := range list.Value {
		total += held.Account.Data.Parsed.Info.TokenAmount.Amount
	}
	return total
}

func walletOf(n byte) solana.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = n
	return solana.PrivateKey(ed25519.NewKeyFromSeed(seed))
}

// majors are the mints of genesis, but for SOL and USDC.
func (w *world) majors() (mints []venue.Key) {
	for _, write := range w.gen.Genesis() {
		if w.gen.Major(write.Key) != "" && write.Key != executed.NativeMint && write.Key != executed.USDCMint {
			mints = append(mints, write.Key)
		}
	}
	return mints
}

// TestExactOutOverTwoPoolsBuysMore, and the answer tells how much, and what it costs: executed, the
// user pays amount_in, and has what he asked for and the residual of the bought token. If the price
// moves, he pays more, and never more than max_amount_in.
func TestExactOutOverTwoPoolsBuysMore(t *testing.T) {
	w := newWorld(t)
	f := startOver(t, Config{Hubs: []venue.Key{executed.NativeMint}, routing: hang}, w.rpc)
	user, other := walletOf(1), walletOf(2)
	buy := func(of solana.PrivateKey, mint venue.Key, sol uint64) {
		w.send(of, f.quoteOK(t, query(executed.NativeMint, mint, decimal(sol), fieldUser, of.PublicKey().String())))
		w.step()
	}
	w.fund(user.PublicKey())
	w.fund(other.PublicKey())
	var mints []venue.Key // that trade against SOL
	for _, mint := range w.majors() {
		if status, _ := f.do(t, http.MethodGet, query(executed.NativeMint, mint, "1000000000", fieldOnlyDirect, "true"), ""); status == http.StatusOK {
			mints = append(mints, mint)
		}
	}
	routes, moved := 0, 0
	for i := range mints[:6] {
		in, out := mints[i], mints[i+1]
		buy(user, in, 20_000_000_000)
		buy(other, in, 20_000_000_000)
		asked := number(t, f.quoteOK(t, query(in, out, decimal(w.holds(user.PublicKey(), in.String())/4))).AmountOut)
		ask := func(slippage uint64) string {
			return query(in, out, "", fieldMode, modeOut, fieldAmountOut, decimal(asked/4), fieldSlippage, decimal(slippage), fieldUser, user.PublicKey().String())
		}
		for _, slippage := range []uint64{0, 20, 100, 300} {
			for _, moves := range []bool{false, true} {
				if status, body := f.do(t, http.MethodGet, ask(slippage), ""); status == http.StatusNotFound && strings.Contains(string(body), "too_large_for_a_transaction") {
					continue // not all pools have lookup tables
				}
				r := f.quoteOK(t, ask(slippage))
				if moves { // another one sells first
					w.send(other, f.quoteOK(t, query(in, executed.NativeMint, decimal(w.holds(other.PublicKey(), in.String())/400), fieldUser, other.PublicKey().String())))
				}
				paid := w.land(user, r)
				if paid == 0 {
					require.True(t, moves, "the price did not move")
					continue // by more than the slippage
				}
				residual := map[string]uint64{}
				for _, left := range r.Residual {
					residual[left.Mint] += number(t, left.AmountMax)
				}
				if len(r.Route) == 2 {
					routes++
					require.InDelta(t, float64(asked/4*max(slippage/2, leastSlack))/10_000, float64(residual[r.TargetMint]), float64(asked)/1000, "half of the slippage")
				}
				require.Equal(t, number(t, r.AmountOut)-asked/4, residual[r.TargetMint])
				require.Equal(t, decimal(asked/4), r.MinAmountOut)
				require.LessOrEqual(t, paid, number(t, r.MaxAmountIn))
				if moves && paid > number(t, r.AmountIn) {
					moved++
				} else {
					require.Equal(t, number(t, r.AmountIn), paid)
				}
			}
		}
	}
	t.Logf("%d routes over two pools, %d with a price that moved", routes, moved)
	require.Greater(t, routes, 10)
	require.Positive(t, moved)
}

// land sends what an exact-out answer has and returns what the user paid; 0 if the chain refused.
// If not, he has what the answer says.
func (w *world) land(user solana.PrivateKey, r Response) (paid uint64) {
	in, out := w.holds(user.PublicKey(), r.SourceMint), w.holds(user.PublicKey(), r.TargetMint)
	w.send(user, r)
	w.step()
	got := w.holds(user.PublicKey(), r.TargetMint) - out
	if paid = in - w.holds(user.PublicKey(), r.SourceMint); paid > 0 {
		require.Equal(w.t, r.AmountOut, decimal(got))
	}
	return paid
}
