package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/state"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
	"github.com/mintlake/mintlake/swap/venue/dammv2"
	"github.com/mintlake/mintlake/swap/venue/pumpswap"
	"github.com/mintlake/mintlake/testworld/layout"
)

// vectors is the folder of recorded accounts, below the folder of the data shared by tests.
var vectors = filepath.Join("..", "..", "shared", "data", "swap-vectors")

// account is one account of a pool.
type account struct {
	key pubkey.Key
	*solana.Account
	// own says that every swap of the pool writes it.
	own bool
}

// pool is a pool with all accounts that its quotes need. The first is the pool account.
type pool struct {
	venue venue.Venue
	// form says which of a venue's kinds of pools it is; empty if only one is measured.
	form     string
	mints    [2]pubkey.Key
	accounts []account
}

// template makes pools of a venue that differ in their addresses and reserves.
type template struct {
	venue venue.Venue
	data  []byte
	// mints and vaults are the offsets of the first of both in data.
	mints, vaults int
	// shared are accounts that all pools need.
	shared []account
}

func (t *template) pool(name string, mints [2]pubkey.Key, reserves [2]uint64) *pool {
	p := &pool{venue: t.venue, mints: mints}
	data := append([]byte(nil), t.data...)
	var vaults [2]account
	for side := range 2 {
		key := swaptest.Named(fmt.Sprint(name, " vault ", side))
		copy(data[t.mints+32*side:], mints[side][:])
		copy(data[t.vaults+32*side:], key[:])
		vaults[side] = account{key, tokenAccount(mints[side], reserves[side]), true}
	}
	p.accounts = append(p.accounts, account{swaptest.Named(name), &solana.Account{Owner: t.venue.Program(), Lamports: 1, Data: data}, true})
	if _, selfContained := t.venue.(dammv2.Venue); !selfContained {
		p.accounts = append(p.accounts, vaults[:]...)
	}
	p.accounts = append(p.accounts, t.shared...)
	return p
}

func tokenAccount(of pubkey.Key, amount uint64) *solana.Account {
	account := layout.TokenAccount{Mint: of, Amount: amount}
	return &solana.Account{Owner: swaptest.TokenProgram, Lamports: 1, Data: account.Bytes()}
}

func mintAccount() *solana.Account {
	m := layout.Mint{Supply: 1e15, Decimals: 6}
	return &solana.Account{Owner: swaptest.TokenProgram, Lamports: 1, Data: m.Bytes()}
}

func ammTemplate() *template {
	data := make([]byte, ammv4.PoolSize)
	svmtest.NumbersAt(data, map[int]uint64{0: 6, 176: 25, 184: 10_000})
	return &template{venue: ammv4.Venue{}, data: data, mints: 400, vaults: 336}
}

func cpmmTemplate() (*template, error) {
	chain := swaptest.New()
	coin := swaptest.Named("coin")
	chain.Mint(coin, swaptest.TokenProgram, 6)
	keys := chain.CPMM(swaptest.Pool{Name: "template", Mints: [2]pubkey.Key{coin, mint.WrappedSOL}, Amounts: [2]uint64{1, 1}, TradeRate: 2500})
	list := []pubkey.Key{keys.Pool, keys.Config}
	_, accounts, err := chain.GetMultipleAccounts(context.Background(), list, solana.AccountOptions{})
	if err != nil {
		return nil, err
	}
	return &template{venue: cpmm.Venue{}, data: accounts[0].Data, mints: 168, vaults: 72, shared: []account{{keys.Config, accounts[1], false}}}, nil
}

func dammTemplate() (*template, error) {
	names, err := filepath.Glob(filepath.Join(vectors, "meteora-damm-v2", "fixtures", "*.bin"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no pool of DAMM v2 in %s: %w", vectors, err)
	}
	data, err := os.ReadFile(names[0])
	return &template{venue: dammv2.Venue{}, data: data, mints: 168, vaults: 232}, err
}

// recorded reads an account of the folder of recorded accounts.
func recorded(name string) (*solana.Account, error) {
	raw, err := os.ReadFile(filepath.Join(vectors, name))
	if err != nil {
		return nil, err
	}
	var file struct {
		Owner string `json:"owner"`
		Data  []byte `json:"data_base64"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	owner, err := pubkey.Parse(file.Owner)
	return &solana.Account{Owner: owner, Lamports: 1, Data: file.Data}, err
}

func pumpTemplate() (*template, error) {
	t := &template{venue: pumpswap.Venue{}, mints: 43, vaults: 139}
	p, err := recorded("pumpswap/mainnet_pool_sol_usdc_Gf7sXMoP.json")
	if err != nil {
		return nil, err
	}
	t.data = p.Data
	for name, key := range map[string]pubkey.Key{
		"pumpswap/mainnet_global_config_ADyA8hde.json":                                                    pumpswap.GlobalConfig,
		"pumpswap/mainnet_amm_fee_config_5PHirr8joyTMp9JMm6nW7hNDVyEYdkzDqazxPD7RaTjx_slot445186127.json": pumpswap.FeeConfig,
	} {
		a, err := recorded(name)
		if err != nil {
			return nil, err
		}
		t.shared = append(t.shared, account{key, a, false})
	}
	return t, nil
}

// venues are those with listed pools: for the pump curve, each pair needs one more account or two.
var venues = venue.List{ammv4.Venue{}, cpmm.Venue{}, pumpswap.Venue{}, dammv2.Venue{}}

// bounds are those of states of benchmarks: no pool is refused.
var bounds = state.FoldConfig{MaxPools: 4 * routedPools, MaxAsked: 4 * routedPools}

// usdc is a hub of routes, as in the swap API.
var usdc = pubkey.MustParse("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")

// chain is a made state of many pools.
type chain struct {
	fold *state.Fold
	// tokens are the mints beside the hubs. pools are their keys, without data.
	tokens []pubkey.Key
	pools  []*pool
	slot   uint64
	order  uint64
}

// realistic makes pools of constant products, as they lie on the chain: most tokens have one to
// four pools with SOL or USDC, whose depths spread over five orders of magnitude.
func realistic(count int, of venue.List) (*chain, error) {
	amm := ammTemplate()
	product, err := cpmmTemplate()
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(18, 1))
	templates := []*template{amm, product}
	var pools []*pool
	add := func(a, b pubkey.Key, depth float64) {
		reserves := [2]uint64{uint64(depth * math.Exp(random.NormFloat64())), uint64(depth)}
		t := templates[random.IntN(len(templates))]
		if t == product && string(a[:]) > string(b[:]) {
			a, b = b, a
		}
		pools = append(pools, t.pool(fmt.Sprint("pool ", len(pools)), [2]pubkey.Key{a, b}, reserves))
	}
	for range 8 {
		add(mint.WrappedSOL, usdc, 1e14)
	}
	var tokens []pubkey.Key
	for len(pools) < count {
		token := swaptest.Named(fmt.Sprint("token ", len(tokens)))
		tokens = append(tokens, token)
		for range 1 + random.IntN(4) {
			hub := mint.WrappedSOL
			if random.IntN(4) == 0 {
				hub = usdc
			}
			add(token, hub, min(max(math.Exp(random.NormFloat64()*2.3)*5e10, 1e6), 1e17))
		}
	}
	c := hold(pools, []pubkey.Key{mint.WrappedSOL, usdc}, of)
	c.tokens = tokens
	return c, nil
}

// hold makes a state that holds pools, and pairs that were asked for: each token with each hub.
func hold(pools []*pool, hubs []pubkey.Key, of venue.List) *chain {
	c := &chain{pools: pools, slot: 1}
	c.fold = state.NewFold(bounds, of)
	c.seal()
	for _, p := range pools {
		c.fold.Listed(p.accounts[0].key, p.accounts[0].Account)
	}
	asked := map[[2]pubkey.Key]bool{}
	var absent []account // where a pool might be
	for _, p := range pools {
		for _, token := range p.mints {
			for _, hub := range hubs {
				if token != hub && !asked[[2]pubkey.Key{token, hub}] && !asked[[2]pubkey.Key{hub, token}] {
					asked[[2]pubkey.Key{token, hub}] = true
					c.fold.Ask(token, hub)
					c.fold.Complete(token, hub)
					for _, v := range of {
						for _, address := range v.Lookup(token, hub).Addresses {
							absent = append(absent, account{key: address})
						}
					}
				}
			}
		}
	}
	c.fold.Covered(c.fold.Fresh(), 0)
	written := map[pubkey.Key]bool{}
	for i, p := range pools {
		for _, a := range p.accounts {
			if a.own || !written[a.key] {
				written[a.key] = true
				c.write(a, uint64(i+1))
			}
		}
		for _, key := range p.mints {
			if !written[key] {
				written[key] = true
				c.write(account{key: key, Account: mintAccount()}, uint64(i+1))
			}
		}
	}
	for i, a := range absent {
		c.write(a, uint64(len(pools)+i+1))
	}
	for _, key := range hubs {
		if !written[key] {
			c.write(account{key: key, Account: mintAccount()}, 1)
		}
	}
	c.seal()
	c.fold.Finalized(c.slot-1, 0)
	c.fold.Publish()
	return c
}

func (c *chain) write(a account, transaction uint64) {
	c.order++
	c.fold.Write(state.Write{Slot: c.slot, Order: c.order, Key: a.key, Transaction: transaction, Account: a.Account})
}

// seal ends a slot.
func (c *chain) seal() {
	c.fold.Block(state.Block{Slot: c.slot, Parent: c.slot - 1, UnixTime: time.Now().Unix(), At: time.Now()})
	c.fold.Confirmed(c.slot, 0)
	if c.slot > 32 {
		c.fold.Finalized(c.slot-32, 0)
	}
	c.slot++
}

// trade changes the reserves of a pool by one transaction.
func (c *chain) trade(p *pool, random *rand.Rand) {
	for _, a := range traded(p, random) {
		c.write(a, c.order+1_000_000)
	}
}

// traded returns the pool's own accounts with other reserves.
func traded(p *pool, random *rand.Rand) (changed []account) {
	for i, a := range p.accounts {
		if !a.own {
			continue
		}
		next := *a.Account
		if i > 0 {
			next.Data = append([]byte(nil), next.Data...)
			layout.SetAmount(next.Data, 1e9+uint64(random.IntN(1e9)))
		}
		changed = append(changed, account{a.key, &next, true})
	}
	return changed
}

// all returns the accounts by key, the mints among them.
func (p *pool) all() map[pubkey.Key]*solana.Account {
	accounts := map[pubkey.Key]*solana.Account{}
	for _, a := range p.accounts {
		accounts[a.key] = a.Account
	}
	for _, key := range p.mints {
		accounts[key] = mintAccount()
	}
	return accounts
}
