package market

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/e2e/oracle"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const (
	solUSD = 200.0
	tokens = 1e6 // raw units of a whole token
	hours  = 3 * time.Hour
)

// attack is one of docs/market-caps.md: a mint, why it gets no market cap, and the cell of the
// page's table that tells of it.
type attack struct {
	name, why, told string
	mint            []byte
}

// TestThePageTellsEachAttack: with the attacker's capital and what stops it, and of no other
// attack.
func TestThePageTellsEachAttack(t *testing.T) {
	page, err := os.ReadFile("../../docs/market-caps.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| attack | the attacker's capital | what stops it |\n|---|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	told := map[string]bool{}
	for row := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		require.Len(t, cells, 3, row)
		require.Regexp(t, "USD|fees|loan", cells[1], cells[0])
		told[cells[0]] = true
	}
	w := &world{random: rand.New(rand.NewPCG(1, 0)), until: noon.Add(hours)}
	made := map[string]bool{}
	for _, a := range w.attacks() {
		made[a.told] = true
	}
	require.Equal(t, told, made)
}

// TestAttacksGetNoMarketCap: in a world of honest tokens none of the attacks of docs/market-caps.md
// gets a market cap or reaches the first hundred of an order that people trade by, and 99 % of the
// honest tokens keep their cap. MINTLAKE_MARKET_FULL=1 has 2,000 honest tokens.
func TestAttacksGetNoMarketCap(t *testing.T) {
	honest := 150
	if os.Getenv("MINTLAKE_MARKET_FULL") == "1" {
		honest = 2_000
	}
	w := &world{random: rand.New(rand.NewPCG(testkit.Seed(t), 0)), until: noon.Add(hours)}
	w.anchors()
	mints := w.honestTokens(honest)
	attacks := w.attacks()
	s := newStored(t)
	s.tell(w.facts)
	s.deliver(t, w.random, w.legs)
	require.NoError(t, s.value(t, 1<<30))
	ask := s.node(t)
	read := func(mint []byte) (cap *float64, why *string) {
		var token struct {
			Cap *float64 `json:"market_cap_usd"`
			Why *string  `json:"market_cap_withheld"`
		}
		require.NoError(t, json.Unmarshal(ask("/tokens/"+base58.Encode(mint)+"?fields=market_cap_usd,market_cap_withheld"), &token))
		return token.Cap, token.Why
	}
	kept := 0
	for _, mint := range mints {
		if usd, _ := read(mint); usd != nil {
			kept++
		}
	}
	require.GreaterOrEqual(t, kept, honest*99/100, "honest tokens keep their cap")
	usdc, why := read(stableMint)
	require.NotNil(t, usdc, why)
	for _, a := range attacks {
		usd, why := read(a.mint)
		require.Nil(t, usd, a.name)
		require.NotNil(t, why, a.name)
		require.Equal(t, a.why, *why, a.name)
	}
	w.requireRanks(t, ask, attacks)
}

// requireRanks reads the first hundred of each order.
func (w *world) requireRanks(t *testing.T, ask oracle.Node, attacks []attack) {
	t.Helper()
	for _, sort := range []string{"market_cap_usd", "trending", "organic_volume_usd", "price_change_24h", "price_drop_24h", "price_change_1h"} {
		var page struct {
			Items []struct {
				Mint string `json:"mint"`
			} `json:"items"`
		}
		require.NoError(t, json.Unmarshal(ask("/tokens?limit=100&fields=mint&sort="+sort), &page))
		for _, a := range attacks {
			if a.why == "beyond_liquidity" { // its pool and its traders are real
				continue
			}
			require.False(t, slices.ContainsFunc(page.Items, func(item struct {
				Mint string `json:"mint"`
			}) bool {
				return item.Mint == base58.Encode(a.mint)
			}), "%s by %s", a.name, sort)
		}
	}
}

var (
	solMint, _    = base58.Decode(schemas.MintWrappedSOL)
	stableMint, _ = base58.Decode("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
)

// world makes the legs and the facts.
type world struct {
	random      *rand.Rand
	until       time.Time
	n           uint32
	legs, facts []proto.Message
}

func named(name string, n int) []byte {
	sum := sha256.Sum256(fmt.Append(nil, name, n))
	return sum[:]
}

// introduce tells of a mint with six decimals and a supply in whole tokens.
func (w *world) introduce(mint []byte, supply float64, extensions ...*eventspb.ExtensionSet) {
	w.n++
	w.facts = append(w.facts, &eventspb.Enrichment{Mint: mint, Slot: 100, Fact: &eventspb.Enrichment_MintAccount{MintAccount: &eventspb.MintAccount{
		ProgramId: programOf(extensions), Decimals: 6, Supply: uint64(min(supply*tokens, math.MaxUint64/2)), Extensions: extensions,
	}}})
}

func programOf(extensions []*eventspb.ExtensionSet) []byte {
	name := schemas.ProgramToken
	if extensions != nil {
		name = schemas.ProgramToken2022
	}
	program, _ := base58.Decode(name)
	return program
}

// trade is a leg with mint for usd of an anchor, or of another mint of anchorPrice, at a price.
// reserve is what the pool holds of the other side in US dollars afterwards.
func (w *world) trade(at time.Time, pool, mint, anchor []byte, anchorDecimals uint32, anchorPrice, price, usd, reserve float64, trader string) {
	w.n++
	quote, base := uint64(usd/anchorPrice*math.Pow10(int(anchorDecimals))), uint64(usd/price*tokens)
	held, stock := uint64(reserve/anchorPrice*math.Pow10(int(anchorDecimals))), uint64(reserve/price*tokens)
	leg := &eventspb.SwapLeg{
		Position: &eventspb.Position{Slot: 1_000 + uint64(at.Unix()-noon.Unix()), TransactionIndex: proto.Uint32(w.n % 1_000_000)}, BlockTime: at.Unix(), Signature: append(named("signature", int(w.n)), named("rest", int(w.n))...),
		ProgramId: named("program", 0), Venue: "raydium_cpmm", Pool: pool, Trader: named(trader, 0), MintIn: anchor, MintOut: mint, AmountIn: quote, AmountOut: base,
		DecimalsIn: proto.Uint32(anchorDecimals), DecimalsOut: proto.Uint32(6), ReserveIn: proto.Uint64(held), ReserveOut: proto.Uint64(stock),
	}
	if w.random.IntN(2) == 0 {
		leg.MintIn, leg.MintOut, leg.AmountIn, leg.AmountOut = mint, anchor, base, quote
		leg.DecimalsIn, leg.DecimalsOut, leg.ReserveIn, leg.ReserveOut = proto.Uint32(6), proto.Uint32(anchorDecimals), proto.Uint64(stock), proto.Uint64(held)
	}
	w.legs = append(w.legs, leg)
}

// ofSOL is a trade with SOL.
func (w *world) ofSOL(at time.Time, name string, mint []byte, price, usd, reserve float64, trader int) {
	w.trade(at, named("pool of "+name, 0), mint, solMint, 9, solUSD, price, usd, reserve, fmt.Sprint(name, " wallet ", trader))
}

// anchors are SOL at 200 US dollars in each minute, and USDC with a supply.
func (w *world) anchors() {
	w.introduce(stableMint, 5e8)
	w.introduce(solMint, 0)
	for at := noon; at.Before(w.until); at = at.Add(time.Minute) {
		w.n++
		w.legs = append(w.legs, &eventspb.SwapLeg{
			Position: &eventspb.Position{Slot: 1_000 + uint64(at.Unix()-noon.Unix()), TransactionIndex: proto.Uint32(w.n)}, BlockTime: at.Unix(), Signature: append(named("signature", int(w.n)), named("rest", 0)...),
			ProgramId: named("program", 0), Venue: "raydium_cpmm", Pool: named("sol-usdc", 0), Trader: named("maker", int(w.n)%40), MintIn: solMint, MintOut: stableMint, AmountIn: 10e9, AmountOut: 10 * solUSD * 1e6,
			DecimalsIn: proto.Uint32(9), DecimalsOut: proto.Uint32(6), ReserveIn: proto.Uint64(250_000e9), ReserveOut: proto.Uint64(50_000_000e6),
		})
	}
}

// honestTokens have 20,000 to 2,000,000 US dollars of liquidity, 50 traders or more over three
// hours, and caps of 4 to 400 times their liquidity.
func (w *world) honestTokens(count int) (mints [][]byte) {
	for n := range count {
		name := fmt.Sprint("honest ", n)
		mint := named(name, 0)
		liquidity, price := 20_500*math.Pow(100, w.random.Float64()), math.Pow(10, -4+4*w.random.Float64())
		w.introduce(mint, liquidity*4*math.Pow(100, w.random.Float64())/price)
		for trader := range 50 + w.random.IntN(30) {
			price *= 1 + (w.random.Float64()-0.5)/50
			at := noon.Add(time.Duration(w.random.Int64N(int64(hours))))
			w.ofSOL(at.Truncate(time.Second), name, mint, price, 20+liquidity/100*w.random.Float64(), liquidity*(0.95+w.random.Float64()/10), trader)
		}
		mints = append(mints, mint)
	}
	return mints
}

// attacks are those of docs/market-caps.md, in its order. Each mint has a supply of 1e12.
func (w *world) attacks() (list []attack) {
	var told string
	begin := func(name, why string, extensions ...*eventspb.ExtensionSet) []byte {
		mint := named(name, 0)
		w.introduce(mint, 1e12, extensions...)
		list = append(list, attack{name, why, told, mint})
		return mint
	}
	each := func(count int, do func(at time.Time, n int)) {
		for n := range count {
			do(noon.Add(hours*time.Duration(n)/time.Duration(count)).Truncate(time.Second), n)
		}
	}
	told = "A pool of a dollar, a price of one, a trillion tokens"
	dollar := begin("one dollar", "no_price")
	each(60, func(at time.Time, n int) { w.ofSOL(at, "one dollar", dollar, 1+float64(n), 0.5, 1, n) })
	told = "A ring of ten mints that price one another in pools of a billion"
	ring := make([][]byte, 10)
	for i := range ring {
		ring[i] = begin(fmt.Sprint("ring ", i), "no_price")
	}
	each(400, func(at time.Time, n int) {
		w.trade(at, named("ring pool", n%10), ring[n%10], ring[(n+1)%10], 6, 1, 1, 1e6, 1e9, fmt.Sprint("ring wallet ", n))
	})
	told = "A pool with a mint that calls itself a stable"
	fake, paired := begin("fake stable", "no_price"), begin("paired with a fake stable", "no_price")
	each(200, func(at time.Time, n int) {
		w.trade(at, named("fake pool", 0), paired, fake, 6, 1, 5, 1e6, 1e8, fmt.Sprint("fake wallet ", n))
	})
	told = "A thousand wallets trade to and fro in a pool of 8,000 USD"
	wash := begin("wash", "thin_liquidity")
	each(2_000, func(at time.Time, n int) { w.ofSOL(at, "wash", wash, 1+float64(n)/2_000, 200, 8_000, n%1_000) })
	told = "A pool of 50,000 USD that is filled and emptied each minute"
	emptied := begin("filled and emptied", "thin_liquidity")
	each(360, func(at time.Time, n int) {
		// Of each second minute the last trade shows it filled.
		w.ofSOL(at, "filled and emptied", emptied, 1, 20, []float64{50_000, 50}[n/2%2], n)
	})
	told = "A token with a transfer fee of 99 %, in a pool of 30,000 USD"
	fee := begin("fee", "transfer_fee", &eventspb.ExtensionSet{Extension: "transfer_fee_config", Attributes: []*eventspb.Attribute{{Name: "newer_transfer_fee_basis_points", Value: "9900"}, {Name: "older_transfer_fee_basis_points", Value: "9900"}}})
	each(120, func(at time.Time, n int) { w.ofSOL(at, "fee", fee, 1, 100, 30_000, n) })
	told = "A flash of 5,000,000 USD in the minute of the valuation, on a pool of 1,500 USD"
	flash := begin("flash", "thin_liquidity")
	each(170, func(at time.Time, n int) { w.ofSOL(at, "flash", flash, 1, 20, 1_500, n) })
	w.ofSOL(w.until.Add(-time.Second), "flash", flash, 1, 100, 5_000_000, 1)
	told = "A printed supply: 25,000 USD in a pool for hours, 60 wallets, a cap of 80 trillion USD"
	supply := begin("printed supply", "beyond_liquidity")
	each(120, func(at time.Time, n int) { w.ofSOL(at, "printed supply", supply, 80, 100, 25_000, n%60) })
	return list
}
