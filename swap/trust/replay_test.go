package trust

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
	"github.com/mintlake/mintlake/swap/venue/guard"
)

// scene is a CPMM pool whose swaps a test makes.
type scene struct {
	t     *testing.T
	chain *swaptest.Chain
	venue venue.Venue
	pool  swaptest.PoolKeys
	ref   venue.Ref
}

var coin = swaptest.Named("coin")

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, chain: swaptest.New()}
	s.chain.Mint(coin, swaptest.TokenProgram, 6)
	s.pool = s.chain.CPMM(swaptest.Pool{Name: "pool", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1 << 40, 1 << 40}, TradeRate: 2500})
	g, err := guard.New(venue.List{cpmm.Venue{}}, guard.Deps{})
	require.NoError(t, err)
	s.venue = g.Venues(nil)[0]
	s.ref, err = s.venue.Open(s.pool.Pool, s.before()[s.pool.Pool].Data)
	require.NoError(t, err)
	return s
}

// before are the pool's accounts now.
func (s *scene) before() map[venue.Key]*solana.Account {
	keys := []venue.Key{s.pool.Pool, s.pool.Config, s.pool.Vaults[0], s.pool.Vaults[1], s.pool.Mints[0], s.pool.Mints[1]}
	_, accounts, err := s.chain.GetMultipleAccounts(s.t.Context(), keys, solana.AccountOptions{})
	require.NoError(s.t, err)
	read := map[venue.Key]*solana.Account{}
	for i, key := range keys {
		read[key] = accounts[i]
	}
	return read
}

// gives is what the pool gives for an amount now.
func (s *scene) gives(amount uint64) uint64 {
	q, err := quoteOf(s.ref, s.before(), venue.Order{In: s.pool.Mints[0], Amount: amount})
	require.NoError(s.t, err)
	return q.AmountOut
}

// run makes a swap that gives so much more than the pool should.
func (s *scene) run(r swaptest.Ran, more uint64) *Evidence {
	before := s.before()
	r.Pool, r.In = s.pool, max(r.In, 1_000_000)
	r.Out = s.gives(r.In) + more
	tx, err := parseAnswer(s.chain.Run(r))
	require.NoError(s.t, err)
	return &Evidence{Venue: s.venue, Ref: s.ref, Before: before, Transaction: tx}
}

func TestASwapIsComputedAgainToTheUnit(t *testing.T) {
	s := newScene(t)
	e := s.run(swaptest.Ran{}, 0)
	r := e.replay()
	require.Equal(t, matched, r.outcome, r.why)
	require.Equal(t, [2]uint64{1_000_000, 997_499}, r.chain)
	require.Equal(t, r.chain, r.quoted)

	r = s.run(swaptest.Ran{In: 1_234_567}, 1).replay()
	require.Equal(t, mismatched, r.outcome)
	require.Equal(t, r.quoted[out]+1, r.chain[out])
}

// transfer of a vault beside a swap, as anybody can make one.
func (s *scene) transfer(to venue.Key) venue.Instruction {
	return venue.Instruction{Program: swaptest.TokenProgram, Data: []byte{3}, Accounts: []venue.Meta{{Key: swaptest.Named("mine"), Writable: true}, {Key: to, Writable: true}}}
}

// names is an instruction of the token program that names one account, as a burn names the mint.
func (s *scene) names(key venue.Key, writable bool) venue.Instruction {
	return venue.Instruction{Program: swaptest.TokenProgram, Data: []byte{8}, Accounts: []venue.Meta{{Key: key, Writable: writable}}}
}

// TestAMintThatIsOnlyReadBesideCounts: the creation of a token account names the mint, too.
func TestAMintThatIsOnlyReadBesideCounts(t *testing.T) {
	s := newScene(t)
	beside := []venue.Instruction{s.names(coin, false)}
	r := s.run(swaptest.Ran{Beside: beside}, 0).replay()
	require.Equal(t, matched, r.outcome, r.why)
	require.Equal(t, mismatched, s.run(swaptest.Ran{Beside: beside}, 1).replay().outcome)
}

// TestWhatSaysNothingCountsNeitherWay: a false mismatch would stop a venue, and anybody can make
// transactions.
func TestWhatSaysNothingCountsNeitherWay(t *testing.T) {
	for name, make := range map[string]func(s *scene) *Evidence{
		"failed": func(s *scene) *Evidence { return s.run(swaptest.Ran{Failed: true}, 0) },
		"a transfer to a vault beside it": func(s *scene) *Evidence {
			return s.run(swaptest.Ran{Beside: []venue.Instruction{s.transfer(s.pool.Vaults[0])}}, 1)
		},
		"another call names the pool": func(s *scene) *Evidence {
			return s.run(swaptest.Ran{Beside: []venue.Instruction{s.transfer(s.pool.Pool)}}, 1)
		},
		"a burn of the mint beside it": func(s *scene) *Evidence {
			return s.run(swaptest.Ran{Beside: []venue.Instruction{s.names(coin, true)}}, 1)
		},
		"two swaps": func(s *scene) *Evidence {
			r := swaptest.Ran{Pool: s.pool, In: 1000}
			return s.run(swaptest.Ran{Beside: []venue.Instruction{r.Instruction()}}, 1)
		},
		"another state": func(s *scene) *Evidence {
			e := s.run(swaptest.Ran{}, 1)
			e.Before[s.pool.Vaults[1]] = s.before()[s.pool.Vaults[1]]
			return e
		},
		"a pool that is refused": func(s *scene) *Evidence {
			e := s.run(swaptest.Ran{}, 1)
			data := append([]byte{}, e.Before[s.pool.Pool].Data...)
			data[329] = 4 // swaps are disabled
			e.Before[s.pool.Pool] = &solana.Account{Owner: e.Before[s.pool.Pool].Owner, Lamports: 1, Data: data}
			return e
		},
		"the user's account is a vault": func(s *scene) *Evidence {
			e := s.run(swaptest.Ran{}, 1)
			call := &e.Calls[0]
			call.Accounts = append([]byte{}, call.Accounts...)
			call.Accounts[5] = call.Accounts[7] // receives at the vault itself
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := make(newScene(t)).replay()
			require.Equal(t, skipped, r.outcome)
			require.NotEmpty(t, r.why)
		})
	}
}

// TestASwapInsideOthersIsFound: an aggregator calls the venue, and names its accounts too.
func TestASwapInsideOthersIsFound(t *testing.T) {
	s := newScene(t)
	e := s.run(swaptest.Ran{Beside: []venue.Instruction{{Program: swaptest.Named("aggregator"), Data: []byte{1}}}}, 0)
	swap, transfers := e.Calls[1], e.Calls[2]
	outer := Invoked{Program: swap.Program, Accounts: swap.Accounts, Height: 1}
	outer.Program = e.Calls[0].Program
	swap.Height, transfers.Height = 2, 3
	sibling := Invoked{Program: transfers.Program, Height: 2, Accounts: []byte{0}}
	e.Calls = []Invoked{outer, sibling, swap, transfers, sibling}
	require.Equal(t, matched, e.replay().outcome)

	sibling.Accounts = transfers.Accounts // of the vaults
	e.Calls = []Invoked{outer, swap, transfers, sibling}
	require.Equal(t, skipped, e.replay().outcome, "the aggregator moved the vault's tokens by itself")
}

func TestAVectorIsComputedAgain(t *testing.T) {
	s := newScene(t)
	e := s.run(swaptest.Ran{}, 7)
	r := e.replay()
	dir := t.TempDir()
	path, err := vectorOf(e, r, []Program{{s.venue.Program(), 900, "00"}}).write(dir)
	require.NoError(t, err)
	v, err := ReadVector(path)
	require.NoError(t, err)
	require.Equal(t, Flow{1_000_000, 997_506}, v.Chain)
	got, err := v.Verify(venue.List{cpmm.Venue{}})
	require.NoError(t, err)
	require.Equal(t, v.Quoted, got, "the mismatch comes again")
	require.Equal(t, uint64(900), v.Programs[0].Slot)

	// What is no vector is an error, whatever is wrong.
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, member := range []string{"format", "venue", "pool", "order", "accounts"} {
		var broken map[string]any
		require.NoError(t, json.Unmarshal(raw, &broken))
		delete(broken, member)
		text, err := json.Marshal(broken)
		require.NoError(t, err)
		other := filepath.Join(dir, member)
		require.NoError(t, os.WriteFile(other, text, 0o600))
		v, err := ReadVector(other)
		if err == nil {
			_, err = v.Verify(venue.List{cpmm.Venue{}})
		}
		require.ErrorIs(t, err, ErrVector, member)
	}
}

func TestTheOldestVectorsGo(t *testing.T) {
	s := newScene(t)
	e := s.run(swaptest.Ran{}, 7)
	dir := t.TempDir()
	v := vectorOf(e, e.replay(), nil)
	for range maxVectors + 5 {
		v.Slot++
		_, err := v.write(dir)
		require.NoError(t, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, vectorFolder, "*"))
	require.NoError(t, err)
	require.Len(t, files, maxVectors)
	last, err := ReadVector(files[len(files)-1])
	require.NoError(t, err)
	require.Equal(t, v.Slot, last.Slot)
}

// FuzzTransaction: what servers answer is hostile.
func FuzzTransaction(f *testing.F) {
	f.Add([]byte(`{"slot":1,"transaction":["AAAA","base64"],"meta":{"innerInstructions":[{"index":0,"instructions":[{"programIdIndex":-1,"accounts":[300]}]}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if tx, err := parseAnswer(raw); err == nil {
			require.NoError(t, tx.check())
		}
	})
}
