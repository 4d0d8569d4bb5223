package volume_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/volume"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

const (
	usdc = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	usdt = "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB"
	sol  = schemas.MintWrappedSOL
)

// noon is the block time of most legs here.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

type tables struct {
	conn  driver.Conn
	swaps *swaps.ClickHouse
	store *volume.ClickHouse
	room  *volume.Volume
}

func migrated(t testing.TB) *tables {
	t.Helper()
	conn, _ := chtest.Migrated(t)
	store := swaps.NewClickHouse(conn, schema.Database)
	require.NoError(t, store.Check(t.Context()))
	cfg := volume.DefaultConfig()
	valuation := volume.NewClickHouse(conn, schema.Database, cfg)
	room, err := volume.New(cfg, volume.Deps{Store: valuation, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return &tables{conn, store, valuation, room}
}

var swapTables = []string{
	"swaps_raw", "pools_raw", "last_trades_raw", "pool_reserves_raw", "swap_minutes_raw", "pool_minutes_raw", "prices_1m_raw", "volume_1m_raw", "volume_1h_raw", "volume_1d_raw",
	"pool_volume_1m_raw", "pool_volume_1h_raw", "pool_held_1h_raw", "pool_volume_1d_raw", "venue_volume_1m_raw", "trade_pools_1m_raw", "daily_volumes_raw",
}

func (s *tables) truncate(t require.TestingT) {
	for _, table := range swapTables {
		require.NoError(t, s.conn.Exec(context.Background(), "TRUNCATE TABLE mintlake."+table))
	}
}

// insert stores records as a batch of the projector.
func (s *tables) insert(t require.TestingT, records ...kafka.Record) {
	batch := swaps.NewBatch()
	for i := range records {
		require.NoError(t, batch.Add(&records[i]))
	}
	require.NoError(t, s.swaps.Insert(context.Background(), batch))
}

func (s *tables) value(t require.TestingT) {
	_, err := s.room.Once(context.Background())
	require.NoError(t, err)
}

// rows are the answer's lines.
func (s *tables) rows(t require.TestingT, query string) []string {
	var text string
	require.NoError(t, s.conn.QueryRow(context.Background(),
		"SELECT arrayStringConcat(arraySort(groupArray(formatRowNoNewline('TSV', *))), '\\n') FROM ("+query+")").Scan(&text))
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// leg is a leg in few words.
type leg struct {
	n             uint32 // its transaction
	instruction   uint32 // its place there
	at            time.Time
	pool, in, out string
	paid, got     uint64
	reserveIn     uint64
	reserveOut    uint64
	trader        string
}

func key(name string) []byte {
	if raw, err := base58.Decode(name); err == nil && len(raw) == 32 {
		return raw
	}
	sum := sha256.Sum256([]byte(name))
	return sum[:]
}

func address(name string) string { return base58.Encode(key(name)) }

func decimalsOf(mint string) uint32 {
	if mint == sol {
		return 9
	}
	return 6
}

// record is the leg as ingest writes it, at the offset of its transaction.
func (l leg) record(t require.TestingT) kafka.Record {
	signature := make([]byte, 64)
	copy(signature, key(fmt.Sprint("transaction ", l.n)))
	message := &eventspb.SwapLeg{
		Position:  &eventspb.Position{Slot: 400_000_000 + uint64(l.at.Sub(noon)/(400*time.Millisecond)), TransactionIndex: proto.Uint32(l.n), InstructionIndex: l.instruction},
		BlockTime: l.at.Unix(), Signature: signature, ProgramId: key("program"), Venue: "raydium_cpmm", Pool: key(l.pool),
		MintIn: key(l.in), MintOut: key(l.out), AmountIn: l.paid, AmountOut: l.got, Trader: key(l.trader),
		DecimalsIn: proto.Uint32(decimalsOf(l.in)), DecimalsOut: proto.Uint32(decimalsOf(l.out)),
	}
	if l.reserveIn != 0 {
		message.ReserveIn, message.ReserveOut = proto.Uint64(l.reserveIn), proto.Uint64(l.reserveOut)
	}
	value, err := proto.Marshal(message)
	require.NoError(t, err)
	return kafka.Record{
		Topic: schemas.TopicSwaps, Partition: int(l.n % 4), Offset: int64(l.n), Key: []byte(l.in), Value: value,
		Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeSwapLegIn)}},
	}
}

const whole = 1_000_000 // raw units of a token with 6 decimals

// TestWorkedExample is the example of docs/volume.md.
func TestWorkedExample(t *testing.T) {
	s := migrated(t)
	for i, l := range []leg{
		// A deep SOL pool: 10 SOL for 2,000 USDC, and 5 SOL for 1,010 USDT in another. A shallow
		// pool says 500 and counts for nothing.
		{at: noon, pool: "sol-usdc", in: sol, out: usdc, paid: 10e9, got: 2000 * whole, reserveIn: 5_000e9, reserveOut: 1_000_000 * whole, trader: "ann"},
		{at: noon, pool: "sol-usdt", in: usdt, out: sol, paid: 1010 * whole, got: 5e9, reserveIn: 500_000 * whole, reserveOut: 2_500e9, trader: "bob"},
		{at: noon, pool: "shallow", in: sol, out: usdc, paid: 1e9, got: 500 * whole, reserveIn: 1e9, reserveOut: 500 * whole, trader: "eve"},
		// CAT trades at 0.001 SOL, DOG has no anchor: its only pool is with CAT.
		{at: noon.Add(30 * time.Second), pool: "cat-sol", in: sol, out: "cat", paid: 2e9, got: 2000 * whole, reserveIn: 100e9, reserveOut: 100_000 * whole, trader: "ann"},
		{at: noon.Add(2 * time.Minute), pool: "cat-dog", in: "cat", out: "dog", paid: 500 * whole, got: 7 * whole, reserveIn: 5_000 * whole, reserveOut: 70 * whole, trader: "ann"},
	} {
		l.n = uint32(i)
		s.insert(t, l.record(t))
	}
	s.value(t)

	// SOL: (2000 + 1010) USD / (10 + 5) SOL = 200.666667 in both pools that are deep enough.
	require.Equal(t, []string{"2026-11-20 12:00:00\t200.667", "2026-11-20 12:02:00\t200.667"},
		s.rows(t, "SELECT minute, round(price_usd, 3) FROM mintlake.prices_1m WHERE mint = '"+sol+"'"))
	// CAT: 2 SOL / 2000 = 0.001 SOL.
	require.Equal(t, []string{"2026-11-20 12:00:00\t0.200667\t20066.667", "2026-11-20 12:02:00\t0.200667\t20066.667"},
		s.rows(t, "SELECT minute, round(price_usd, 6), round(liquidity_usd, 3) FROM mintlake.prices_1m WHERE mint = '"+address("cat")+"'"))
	require.Equal(t, []string{
		"0\t2000", "1\t1010", "2\t500", // the stable says what they are worth
		"3\t401.333333", // 2 SOL
		"4\t100.333333", // 500 CAT: DOG has no price
	}, s.rows(t, "SELECT transaction_index, usd_value FROM mintlake.swaps"))
	require.Equal(t, []string{
		address("cat") + "\t501.666666\t501.666666\t2", usdc + "\t2500\t2500\t2", address("dog") + "\t100.333333\t100.333333\t1",
		usdt + "\t1010\t1010\t1", sol + "\t3911.333333\t3911.333333\t4",
	}, s.rows(t, "SELECT mint, volume_usd, user_volume_usd, trades FROM mintlake.daily_volumes"))
}

// TestAMintOnTheWayCountsNothing: also of a route in the first minute of the 24 hours, of which
// legs are counted by the second.
func TestAMintOnTheWayCountsNothing(t *testing.T) {
	s := migrated(t)
	at := noon.Add(30*time.Second - 24*time.Hour)
	for _, l := range []leg{
		{at: at, pool: "sol-usdc", in: sol, out: usdc, paid: 5e9, got: 1000 * whole, reserveIn: 5_000e9, reserveOut: 1_000_000 * whole, trader: "ann"},
		{at: at, instruction: 1, pool: "cat-usdc", in: usdc, out: "cat", paid: 1000 * whole, got: 500 * whole, reserveIn: 1_000_000 * whole, reserveOut: 500_000 * whole, trader: "ann"},
		{n: 1, at: noon, pool: "dog-usdt", in: usdt, out: "dog", paid: 10 * whole, got: 10 * whole, reserveIn: 100_000 * whole, reserveOut: 100_000 * whole, trader: "bob"},
	} {
		s.insert(t, l.record(t))
	}
	s.value(t)
	require.ElementsMatch(t, []string{
		address("cat") + "\t1000\t1000\t1\t1\t1000", usdc + "\t2000\t0\t2\t1\t1000", sol + "\t1000\t1000\t1\t0\t0", address("dog") + "\t10\t10\t1\t1\t10", usdt + "\t10\t10\t1\t0\t0",
	}, s.rows(t, "SELECT mint, volume_usd, user_volume_usd, trades, buys_24h, bought_24h_usd FROM mintlake.daily_volumes"))
}

// everything is all that users read.
func (s *tables) everything(t require.TestingT) map[string][]string {
	all := map[string][]string{}
	for _, view := range []string{
		"swaps", "pools", "pool_minutes", "prices_1m", "volume_1m", "volume_1h", "volume_1d", "pool_volume_1m", "pool_volume_1h", "pool_volume_1d",
		"venue_volume_1m", "trade_pools_1m", "pool_held_1h", "daily_volumes",
	} {
		all[view] = s.rows(t, "SELECT * FROM mintlake."+view)
	}
	return all
}

// TestDustMakesNoPrice: a minute in which less than a cent changed hands says nothing of the price,
// since of a few raw units a fee takes half. One of a cent does.
func TestDustMakesNoPrice(t *testing.T) {
	s := migrated(t)
	for i, l := range []leg{
		{at: noon, pool: "cat-usdc", in: usdc, out: "cat", paid: 20 * whole, got: 10 * whole, reserveIn: 50_000 * whole, reserveOut: 25_000 * whole, trader: "ann"},
		{at: noon.Add(time.Minute), pool: "cat-usdc", in: "cat", out: usdc, paid: 2, got: 2, reserveIn: 25_000 * whole, reserveOut: 50_000 * whole, trader: "eve"},
		{at: noon.Add(2 * time.Minute), pool: "cat-usdc", in: "cat", out: usdc, paid: 500_000, got: 9_999, reserveIn: 25_000 * whole, reserveOut: 50_000 * whole, trader: "eve"},
		{at: noon.Add(3 * time.Minute), pool: "cat-usdc", in: "cat", out: usdc, paid: 8_000, got: 10_000, reserveIn: 25_000 * whole, reserveOut: 50_000 * whole, trader: "bob"},
		// A pool in which nothing but dust was traded has no price, however deep it is.
		{at: noon, pool: "dog-usdc", in: usdc, out: "dog", paid: 9_999, got: 5, reserveIn: 50_000 * whole, reserveOut: 25_000 * whole, trader: "eve"},
	} {
		l.n = uint32(i)
		s.insert(t, l.record(t))
	}
	s.value(t)
	require.Equal(t, []string{"2026-11-20 12:00:00\t2", "2026-11-20 12:01:00\t2", "2026-11-20 12:02:00\t2", "2026-11-20 12:03:00\t1.25"},
		s.rows(t, "SELECT minute, round(price_usd, 6) FROM mintlake.prices_1m WHERE mint = '"+address("cat")+"'"))
	require.Equal(t, []string{"\\N"}, s.rows(t, "SELECT price_usd FROM mintlake.prices_1m WHERE mint = '"+address("dog")+"'"))
}

// TestAnyDeliveryGivesTheSameFigures: legs in any order, repeated, in any batches, with valuations
// between them that take few minutes at a time, against one delivery in order and one valuation.
func TestAnyDeliveryGivesTheSameFigures(t *testing.T) {
	s := migrated(t)
	for range testkit.Rounds(2, 8) {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		s.truncate(t)
		s.room.InParts(100)
		records := make([]kafka.Record, 1+random.IntN(30))
		for i := range records {
			records[i] = randomLeg(random, uint32(i)).record(t)
		}
		s.insert(t, records...)
		s.value(t)
		want := s.everything(t)
		require.Len(t, want["swaps"], len(records))

		s.truncate(t)
		s.room.InParts(5 + random.IntN(20))
		delivered := append(slices.Clone(records), records[:random.IntN(len(records))]...)
		random.Shuffle(len(delivered), func(i, j int) { delivered[i], delivered[j] = delivered[j], delivered[i] })
		for i := range delivered { // another delivery is another log
			delivered[i].Offset, delivered[i].Partition = int64(i), i%3
		}
		for len(delivered) > 0 {
			n := 1 + random.IntN(len(delivered))
			s.insert(t, delivered[:n]...)
			if delivered = delivered[n:]; random.IntN(2) == 0 {
				s.value(t)
			}
		}
		s.value(t)
		for view, rows := range s.everything(t) {
			require.Equal(t, want[view], rows, "%s, seed %d", view, seed)
		}
	}
}

// TestNumbersGoOnAfterTheBookExpired: rows of valuations expire, figures do not. So a node that was
// off for long, or whose tables are of an old backup, goes on with a higher number.
func TestNumbersGoOnAfterTheBookExpired(t *testing.T) {
	s := migrated(t)
	trade := func(n uint32, at time.Time) {
		s.insert(t, leg{
			n: n, at: at, pool: "sol-usdc", in: sol, out: usdc, paid: 10e9, got: 2000 * whole, reserveIn: 5_000e9, reserveOut: 1_000_000 * whole, trader: "ann",
		}.record(t))
		s.value(t)
	}
	trade(0, noon)
	trade(1, noon)
	// What its TTL does.
	require.NoError(t, s.conn.Exec(t.Context(), "TRUNCATE TABLE mintlake.valuations"))
	trade(2, noon)
	require.Equal(t, []string{"3"}, s.rows(t, "SELECT trades FROM mintlake.volume_1m WHERE mint = '"+sol+"'"))
	trade(3, noon.Add(40*24*time.Hour))
	require.Equal(t, []string{"1"}, s.rows(t, "SELECT trades FROM mintlake.daily_volumes WHERE mint = '"+sol+"'"))
}

// randomLeg is a trade of one of a few traders on one of a few pools, within some hours of two
// days.
func randomLeg(random *rand.Rand, n uint32) leg {
	pools := [][2]string{{sol, usdc}, {usdt, sol}, {sol, "cat"}, {"cat", "dog"}, {usdc, usdt}, {"dog", sol}, {"cat", usdc}}
	pool := random.IntN(len(pools))
	l := leg{
		n: n, pool: fmt.Sprint("pool ", pool), in: pools[pool][0], out: pools[pool][1], trader: []string{"ann", "bob", "eve"}[random.IntN(3)],
		at:   noon.Add(11*time.Hour + time.Duration(random.IntN(3*3600))*time.Second),
		paid: 1 + random.Uint64N(1e12), got: 1 + random.Uint64N(1e12),
	}
	if random.IntN(4) > 0 {
		l.reserveIn, l.reserveOut = 1+random.Uint64N(1e15), 1+random.Uint64N(1e15)
	}
	if random.IntN(2) == 0 {
		l.in, l.out = l.out, l.in
	}
	return l
}
