package volume_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// created is the record of a pool's creation.
func created(t require.TestingT, pool, mintA, mintB string, at time.Time, offset int64) kafka.Record {
	value, err := proto.Marshal(&eventspb.Pool{
		Position: &eventspb.Position{Slot: 100_000_000 + uint64(at.Unix()-noon.Unix()+1e6), TransactionIndex: proto.Uint32(0)}, BlockTime: at.Unix(), Signature: make([]byte, 64),
		ProgramId: key("program"), Venue: "raydium_cpmm", Pool: key(pool), MintA: key(mintA), MintB: key(mintB), Created: true, Creator: key("creator"),
	})
	require.NoError(t, err)
	return kafka.Record{Topic: schemas.TopicPools, Partition: 1, Offset: offset, Key: []byte(pool), Value: value}
}

// TestACreationAloneIsValued: the record of a pool's creation may be stored after the last leg was
// valued, and no further leg comes.
func TestACreationAloneIsValued(t *testing.T) {
	s := migrated(t)
	s.insert(t, leg{at: noon, pool: "cat-sol", in: sol, out: "cat", paid: 1e9, got: whole, reserveIn: 7e9, reserveOut: 1, trader: "ann"}.record(t))
	s.value(t)
	query := "SELECT pools, first_pool_at, liquidity_usd FROM mintlake.daily_volumes WHERE mint = '" + address("cat") + "'"
	require.Equal(t, []string{`1	\N	\N`}, s.rows(t, query), "SOL has no price here")
	s.insert(t, created(t, "cat-sol", sol, "cat", noon.Add(-time.Hour), 0))
	s.value(t)
	require.Equal(t, []string{`1	2026-11-20 11:00:00	\N`}, s.rows(t, query))
	require.Empty(t, s.rows(t, "SELECT * FROM mintlake.waiting_minutes"))
}

// TestMarketEqualsBruteForce: the figures of the market at some moments, against a walk over all
// legs. Legs come late and repeated. BenchmarkMarketEqualsBruteForce has more moments.
func TestMarketEqualsBruteForce(t *testing.T) { marketEqualsBruteForce(t, migrated(t), 60, 2) }

// BenchmarkMarketEqualsBruteForce is the same with 1,000 tokens and at 100 moments.
func BenchmarkMarketEqualsBruteForce(b *testing.B) {
	for b.Loop() {
		marketEqualsBruteForce(b, migrated(b), 1_000, 100)
	}
}

func marketEqualsBruteForce(t require.TestingT, s *tables, mints, moments int) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	b := &bruteForce{pools: map[string]poolOfTest{}}
	var known []kafka.Record
	for moment := range moments {
		until := noon.Add(2*24*time.Hour + time.Duration(moment)*13*time.Minute)
		var fresh []kafka.Record
		for n := range 6 * mints / moments {
			l := b.trade(random, mints, until.Add(-ago(random, moment == 0)))
			l.n = uint32(len(b.legs))
			b.legs = append(b.legs, l)
			fresh = append(fresh, l.record(t))
			if _, ok := b.pools[l.pool]; !ok {
				at := noon.Add(-time.Duration(random.IntN(1e6)) * time.Second)
				b.pools[l.pool] = poolOfTest{created: random.IntN(4) > 0, at: at}
				if b.pools[l.pool].created {
					fresh = append(fresh, created(t, l.pool, l.in, l.out, at, int64(n)))
				}
			}
		}
		known = append(known, fresh...)
		random.Shuffle(len(fresh), func(i, j int) { fresh[i], fresh[j] = fresh[j], fresh[i] })
		s.insert(t, fresh...)
		for range 5 { // a replay
			again := known[random.IntN(len(known))]
			again.Offset += int64(len(known))
			s.insert(t, again)
		}
		s.value(t)
		b.read(t, s)
		require.Equal(t, b.market(), s.market(t), "moment %d, seed %d", moment, seed)
	}
}

// ago is how old a leg is: about as old as a window is long, most often the shortest. The first
// legs are of all windows.
func ago(random *rand.Rand, first bool) time.Duration {
	windows := []time.Duration{0, 5 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 47 * time.Hour}
	window := windows[random.IntN(2)]
	if first || random.IntN(300) == 0 {
		window = windows[random.IntN(len(windows))]
	}
	return max(0, window+time.Duration(random.IntN(180)-90)*time.Second)
}

// poolOfTest is a pool, and whether its creation is told.
type poolOfTest struct {
	created bool
	at      time.Time
}

// bruteForce knows all legs, what they were worth, and the prices.
type bruteForce struct {
	legs   []leg
	pools  map[string]poolOfTest
	values []*float64
	prices []priceOfTest
}

type priceOfTest struct {
	mint       string
	minute     time.Time
	price, raw *float64
}

// trade is on a pool of SOL and USDC, of a mint and one of them, or of two mints.
func (b *bruteForce) trade(random *rand.Rand, mints int, at time.Time) leg {
	mint := random.IntN(mints)
	l := leg{
		at: at.Truncate(time.Second), trader: fmt.Sprint("trader ", random.IntN(20)), in: fmt.Sprint("mint ", mint), out: sol,
		paid: 1 + random.Uint64N(1e9), got: 1 + random.Uint64N(1e9), reserveIn: 1 + random.Uint64N(1e12), reserveOut: 1 + random.Uint64N(1e12),
	}
	switch {
	case random.IntN(8) == 0:
		l.in, l.out, l.paid, l.got, l.reserveIn, l.reserveOut = sol, usdc, 10e9, 2_000*whole+random.Uint64N(whole), 5_000e9, 1_000_000*whole
	case mint%4 == 0:
		l.out = usdc
	case mint%9 == 0:
		l.out = fmt.Sprint("mint ", (mint+1)%mints)
	}
	l.pool = "pool " + l.in + l.out
	if random.IntN(2) == 0 {
		l.in, l.out, l.paid, l.got, l.reserveIn, l.reserveOut = l.out, l.in, l.got, l.paid, l.reserveOut, l.reserveIn
	}
	if random.IntN(6) == 0 {
		l.reserveIn, l.reserveOut = 0, 0 // the leg does not tell
	}
	return l
}

// read takes what the legs were worth and the prices by minute from the tables: how these are made
// is TestWorkedExample's.
func (b *bruteForce) read(t require.TestingT, s *tables) {
	b.values, b.prices = make([]*float64, len(b.legs)), nil
	rows, err := s.conn.Query(context.Background(), "SELECT transaction_index, toFloat64(usd_value) FROM mintlake.swaps")
	require.NoError(t, err)
	for rows.Next() {
		var n int32
		var value *float64
		require.NoError(t, rows.Scan(&n, &value))
		b.values[n] = value
	}
	require.NoError(t, rows.Err())
	rows, err = s.conn.Query(context.Background(), "SELECT mint, minute, price_usd, raw_price_usd FROM mintlake.prices_1m ORDER BY minute")
	require.NoError(t, err)
	for rows.Next() {
		var p priceOfTest
		require.NoError(t, rows.Scan(&p.mint, &p.minute, &p.price, &p.raw))
		b.prices = append(b.prices, p)
	}
	require.NoError(t, rows.Err())
}

// priceAt is the latest price of a mint in the 24 hours up to a time.
func (b *bruteForce) priceAt(mint string, until time.Time) (last priceOfTest) {
	for _, p := range b.prices {
		if p.mint == address(mint) && p.minute.After(until.Add(-24*time.Hour)) && !p.minute.After(until) && p.price != nil {
			last = p
		}
	}
	return last
}

// market is a line for each mint that was traded in the 24 hours up to the latest leg.
func (b *bruteForce) market() []string {
	var until time.Time
	mints := map[string]bool{}
	for _, l := range b.legs {
		if l.at.After(until) {
			until = l.at
		}
	}
	for _, l := range b.legs {
		if l.at.After(until.Add(-24 * time.Hour)) {
			mints[l.in], mints[l.out] = true, true
		}
	}
	lines := make([]string, 0, len(mints))
	for mint := range mints {
		line, trades := address(mint)+"\t", ""
		for _, window := range []time.Duration{5 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour} {
			var usd string
			usd, trades = b.volume(mint, until.Add(-window))
			line += usd + " "
		}
		line += trades
		now, before := b.priceAt(mint, until), b.priceAt(mint, until.Add(-24*time.Hour))
		for _, p := range b.prices { // else the first price of the 24 hours
			if before.price == nil && p.mint == address(mint) && p.minute.After(until.Add(-24*time.Hour)) && !p.minute.After(until) && p.price != nil {
				before = p
			}
		}
		at := `\N`
		if now.price != nil {
			at = now.minute.Format(time.DateTime)
		}
		lines = append(lines, line+"\t"+shown(now.price)+"\t"+at+"\t"+shown(before.price)+"\t"+b.pooled(mint, until))
	}
	slices.Sort(lines)
	return lines
}

// volume is in millionths of a dollar, with the trades and the traders.
func (b *bruteForce) volume(mint string, from time.Time) (value, counts string) {
	var usd, trades, priced int64
	traders := map[string]bool{}
	for i, l := range b.legs {
		if l.in != mint && l.out != mint || !l.at.After(from) {
			continue
		}
		trades++
		traders[l.trader] = true
		if worth := b.values[i]; worth != nil {
			priced++
			usd += int64(*worth*1e6 + 0.5)
		}
	}
	if value = strconv.FormatInt(usd, 10); trades > 0 && priced == 0 {
		value = `\N`
	}
	return value, fmt.Sprint(trades, len(traders))
}

// pooled is the pools of a mint, when the first was created, and what they hold of anchors.
func (b *bruteForce) pooled(mint string, until time.Time) string {
	pools, last := map[string]leg{}, map[string]leg{}
	for _, l := range b.legs {
		if l.in != mint && l.out != mint {
			continue
		}
		if first, ok := pools[l.pool]; !ok || b.before(l, first) {
			pools[l.pool] = l
		}
		if was, ok := last[l.pool]; l.reserveIn != 0 && (!ok || b.before(was, l)) {
			last[l.pool] = l
		}
	}
	return fmt.Sprint(len(pools)) + "\t" + b.earliest(pools) + "\t" + b.liquidity(last, until)
}

// before is the order of the chain.
func (b *bruteForce) before(x, y leg) bool {
	if slotX, slotY := x.at.Unix(), y.at.Unix(); slotX != slotY {
		return slotX < slotY
	}
	return x.n < y.n
}

// earliest is when the first of the pools was created, if that was told.
func (b *bruteForce) earliest(pools map[string]leg) string {
	first, at := "", time.Time{}
	for pool, l := range pools {
		p := b.pools[pool]
		seen := l.at
		if p.created {
			seen = p.at
		}
		if first == "" || seen.Before(at) || seen.Equal(at) && pool < first {
			first, at = pool, seen
		}
	}
	if !b.pools[first].created {
		return `\N`
	}
	return at.Format(time.DateTime)
}

func (b *bruteForce) liquidity(last map[string]leg, until time.Time) string {
	var stable, lamports uint64
	told := false
	for _, l := range last {
		if !l.at.After(until.Add(-24 * time.Hour)) {
			continue
		}
		for mint, reserve := range map[string]uint64{l.in: l.reserveIn, l.out: l.reserveOut} {
			switch mint {
			case sol:
				lamports, told = lamports+reserve, true
			case usdc:
				stable, told = stable+reserve, true
			}
		}
	}
	price := b.priceAt(sol, until)
	if !told || lamports > 0 && price.raw == nil {
		return `\N`
	}
	usd := float64(stable) / 1e6
	if lamports > 0 {
		usd += float64(lamports) * *price.raw
	}
	return shown(&usd)
}

// shown is as many digits as sums in any order agree in.
func shown(value *float64) string {
	if value == nil {
		return `\N`
	}
	return strconv.FormatFloat(*value, 'g', 12, 64)
}

// market is what the table says, in the same lines.
func (s *tables) market(t require.TestingT) (lines []string) {
	rows, err := s.conn.Query(context.Background(), `SELECT mint, arrayStringConcat(arrayMap(v -> ifNull(toString(toInt64(v * 1000000)), '\\N'), [volume_5m_usd, volume_1h_usd, volume_6h_usd, volume_usd]), ' '),
		trades, traders, price_usd, ifNull(toString(price_at), '\\N'), price_before_usd, pools, ifNull(toString(first_pool_at), '\\N'), liquidity_usd FROM mintlake.daily_volumes`)
	require.NoError(t, err)
	for rows.Next() {
		var (
			mint, volumes, priceAt, firstPool string
			trades, traders, pools            uint64
			price, before, liquidity          *float64
		)
		require.NoError(t, rows.Scan(&mint, &volumes, &trades, &traders, &price, &priceAt, &before, &pools, &firstPool, &liquidity))
		lines = append(lines, fmt.Sprintf("%s\t%s %d %d\t%s\t%s\t%s\t%d\t%s\t%s", mint, volumes, trades, traders, shown(price), priceAt, shown(before), pools, firstPool, shown(liquidity)))
	}
	require.NoError(t, rows.Err())
	slices.Sort(lines)
	return lines
}
