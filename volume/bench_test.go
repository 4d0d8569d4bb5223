package volume_test

import (
	"context"
	"encoding/binary"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const (
	benchMints = 100_000
	benchLegs  = 300_000
	benchBatch = 40_000 // records: the projector's batch
	benchBots  = 300    // wallets that trade in every few blocks
	// benchPeople is about how many other wallets trade in a day.
	benchPeople = 4_000_000
	// benchDense is how many legs BenchmarkSwapBytes stores: two blocks of the columns of keys.
	benchDense = 760_000
)

// blockHops says how many of a hundred transactions with legs have one leg, two and so on, as our
// decoders find them in the three whole mainnet blocks that tests read: 165 transactions, 243 legs,
// 1.47 a transaction (by block 1.19, 1.33 and 2.15). routeHops has more arbitrage: 1.85.
var (
	blockHops = []int{78, 10, 6, 1, 3, 2}
	routeHops = []int{50, 25, 15, 10}
)

// market makes legs as mainnet's look to a compressor: random signatures and amounts; of the
// transactions a quarter by few bots (a block of 95 swaps has 70 wallets, the first of them nine
// times), the rest by very many wallets; pools and mints with a long tail; what one leg gave, the
// next one takes.
type market struct {
	random *rand.Rand
	pools  *rand.Zipf
	bots   *rand.Zipf
	people *rand.Zipf
	hops   []int
	slot   uint64
	place  uint32
	all    bool   // trade every mint
	next   uint64 // the next mint that nobody traded yet
}

func newMarket(hops []int) *market {
	random := rand.New(rand.NewPCG(1, 2))
	return &market{
		random: random, pools: rand.NewZipf(random, 1.1, 20, benchMints-1), bots: rand.NewZipf(random, 1.1, 10, benchBots-1),
		people: rand.NewZipf(random, 1.05, 5000, benchPeople-1), hops: hops, slot: 400_000_000,
	}
}

func numbered(kind byte, n uint64) []byte {
	random := rand.NewPCG(n, uint64(kind))
	raw := make([]byte, 0, 32)
	for range 4 {
		raw = binary.LittleEndian.AppendUint64(raw, random.Uint64())
	}
	return raw
}

func (m *market) trader() []byte {
	if m.random.IntN(4) == 0 {
		return numbered('b', m.bots.Uint64())
	}
	return numbered('t', m.people.Uint64())
}

// amount is a trade's size: 29 bits in the mean, as in the blocks.
func (m *market) amount() uint64 {
	return 1 + uint64(math.Exp2(29+4*m.random.NormFloat64()))
}

// pool is a pool with its mint: the popular ones, and with all set, every second time one that
// nobody has traded yet while there are such.
func (m *market) pool() uint64 {
	if m.all && m.next < benchMints && m.random.IntN(2) == 0 {
		m.next++
		return m.next - 1
	}
	return m.pools.Uint64()
}

// transaction is the legs of one trader: a swap, or a route from token to token through SOL.
func (m *market) transaction(at time.Time) []*eventspb.SwapLeg {
	signature := make([]byte, 0, 64)
	for range 8 {
		signature = binary.LittleEndian.AppendUint64(signature, m.random.Uint64())
	}
	m.place += 1 + uint32(m.random.IntN(8))
	trader, hops := m.trader(), 1
	for n := m.random.IntN(100); n >= m.hops[hops-1]; hops++ {
		n -= m.hops[hops-1]
	}
	legs, amount, buys := make([]*eventspb.SwapLeg, hops), m.amount(), m.random.IntN(2) == 0
	outer, inner := uint32(2+m.random.IntN(3)), uint32(m.random.IntN(3))
	for i := range legs {
		n := m.pool()
		l := &eventspb.SwapLeg{
			Position: &eventspb.Position{
				Slot: m.slot, TransactionIndex: proto.Uint32(m.place), InstructionIndex: outer, InnerInstructionIndex: proto.Uint32(inner),
			},
			BlockTime: at.Unix(), Signature: signature, ProgramId: numbered('v', n%4), Venue: []string{"pumpswap", "raydium_clmm", "meteora_dlmm", "orca_whirlpool"}[n%4],
			Pool: numbered('p', n), MintIn: key(sol), MintOut: numbered('m', n), AmountIn: amount, AmountOut: m.amount(),
			Trader: trader, DecimalsIn: proto.Uint32(9), DecimalsOut: proto.Uint32(6), Agreed: 3, Aggregator: []string{"", "jupiter_v6"}[min(hops-1, 1)], Instruction: "swap",
			ReserveIn: proto.Uint64(500e9 + m.random.Uint64N(1e12)), ReserveOut: proto.Uint64(m.random.Uint64N(1e15)),
		}
		if n%50 == 0 {
			l.MintOut, l.AmountOut = key(usdc), 1+l.AmountIn/5+m.random.Uint64N(1+l.AmountIn/500)
		}
		if buys = !buys; buys {
			l.MintIn, l.MintOut, l.DecimalsIn, l.DecimalsOut, l.ReserveIn, l.ReserveOut = l.MintOut, l.MintIn, l.DecimalsOut, l.DecimalsIn, l.ReserveOut, l.ReserveIn
			if n%50 == 0 {
				l.AmountOut = 1 + l.AmountIn*5 + m.random.Uint64N(1+l.AmountIn/100)
			}
		}
		legs[i], amount, inner = l, l.AmountOut, inner+4
	}
	return legs
}

// records are about n legs over a length of time as ingest writes them: each twice, under the mint
// that went in and the one that went out.
func (m *market) records(b *testing.B, from time.Time, length time.Duration, n int) []kafka.Record {
	b.Helper()
	records := make([]kafka.Record, 0, 2*n+16)
	for len(records) < 2*n {
		at := from.Add(length * time.Duration(len(records)) / time.Duration(2*n))
		if slot := 400_000_000 + uint64(at.Sub(noon)/(400*time.Millisecond)); slot != m.slot {
			m.slot, m.place = slot, 0
		}
		for _, leg := range m.transaction(at) {
			value, err := proto.Marshal(leg)
			require.NoError(b, err)
			for kind, mint := range map[string][]byte{schemas.TypeSwapLegIn: leg.GetMintIn(), schemas.TypeSwapLegOut: leg.GetMintOut()} {
				records = append(records, kafka.Record{
					Topic: schemas.TopicSwaps, Key: mint, Value: value, Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(kind)}},
				})
			}
		}
	}
	return records
}

// broker is an embedded Kafka with the topics of swaps.
func broker(b *testing.B) (*kafka.Producer, *kafka.GroupConsumer) {
	b.Helper()
	brokers := kafkatest.Start(b)
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(b, err)
	defer admin.Close()
	var specs []kafka.TopicSpec
	for _, topic := range schemas.Topics() {
		if slices.Contains(swaps.Topics(), topic.Name) {
			specs = append(specs, kafka.TopicSpec{Name: topic.Name, Partitions: topic.Partitions, ReplicationFactor: 1, Config: topic.Config()})
		}
	}
	require.NoError(b, admin.EnsureTopics(b.Context(), specs))
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(b, err)
	b.Cleanup(producer.Close)
	consumer, err := kafka.NewGroupConsumer(kafka.GroupConsumerConfig{Brokers: brokers, Group: schemas.GroupSwaps, Topics: swaps.Topics()}, kafka.Deps{})
	require.NoError(b, err)
	b.Cleanup(consumer.Close)
	return producer, consumer
}

// throughKafka writes the records to the log and lets the projector store them, both at once; it
// returns when every leg is stored.
func (s *tables) throughKafka(b *testing.B, records []kafka.Record) {
	b.Helper()
	producer, consumer := broker(b)
	room, err := swaps.New(swaps.Deps{Consumer: consumer, Producer: producer, Store: s.swaps, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	begin := time.Now()
	go func() { done <- room.Run(ctx) }()
	for part := range slices.Chunk(records, 2000) {
		require.NoError(b, producer.Produce(b.Context(), part...))
	}
	for stored := uint64(0); stored < uint64(len(records)/2); {
		require.NoError(b, s.conn.QueryRow(b.Context(), "SELECT count() FROM mintlake.swaps_raw").Scan(&stored))
		time.Sleep(20 * time.Millisecond)
	}
	b.ReportMetric(float64(len(records)/2)/time.Since(begin).Seconds(), "stored-legs/s")
	cancel()
	require.NoError(b, <-done)
}

// BenchmarkSwaps stores legs of 100,000 mints, spread over a day, by way of the log, and values
// them: legs a second into ClickHouse, legs a second valued (all minutes of a day at once), and the
// time of one refresh of the daily volumes.
func BenchmarkSwaps(b *testing.B) {
	for b.Loop() {
		s, m := migrated(b), newMarket(blockHops)
		m.all = true
		records := m.records(b, noon, 24*time.Hour, benchLegs)
		s.throughKafka(b, records)
		s.room.InParts(24 * 60)
		begin := time.Now()
		s.value(b)
		b.ReportMetric(float64(len(records)/2)/time.Since(begin).Seconds(), "valued-legs/s")
		best := time.Hour
		for generation := range uint64(3) {
			begin = time.Now()
			require.NoError(b, s.store.Daily(b.Context(), 2+generation))
			best = min(best, time.Since(begin))
		}
		b.ReportMetric(best.Seconds(), "daily-refresh-s")
		var active uint64
		require.NoError(b, s.conn.QueryRow(b.Context(), "SELECT count() FROM mintlake.daily_volumes").Scan(&active))
		b.ReportMetric(float64(active), "active-mints")
		require.Greater(b, active, uint64(benchMints*9/10))
	}
}

// BenchmarkSwapBytes says what a leg takes on disk after all merges, when legs come as densely as
// on mainnet: about 1150 a second, 460 a slot. It prints three figures: with its signature;
// without, as it is after swaps.signature_days; and what a year of legs takes in the mean, of which
// the last swaps.signature_days have theirs. All files of the table are counted, indexes too; pools
// and minutes are other tables.
//
// What makes it honest about a year: codecs see at most 16 MiB of a column at once, 380,000 legs or
// five minutes and a half, so that more legs than a few such blocks change nothing but the share of
// the last, smaller one. What does matter is how many keys come back within them.
func BenchmarkSwapBytes(b *testing.B) {
	for _, mix := range []struct {
		name string
		hops []int
	}{{"blocks", blockHops}, {"routes", routeHops}} {
		b.Run(mix.name, func(b *testing.B) {
			for b.Loop() {
				s, market := migrated(b), newMarket(mix.hops)
				const parts = 4
				for part := range time.Duration(parts) {
					length := benchDense * time.Second / 1150 / parts
					for batch := range slices.Chunk(market.records(b, noon.Add(part*length), length, benchDense/parts), benchBatch) {
						s.insert(b, batch...)
					}
				}
				s.value(b)
				fresh, legs, transactions := s.bytesPerLeg(b)
				require.NoError(b, s.conn.Exec(b.Context(), "ALTER TABLE mintlake.swaps_raw UPDATE stored_on = stored_on - "+
					strconv.Itoa(swaps.DefaultSignatureDays)+" - 1 WHERE true SETTINGS mutations_sync = 2"))
				later, _, _ := s.bytesPerLeg(b)
				const share = swaps.DefaultSignatureDays / 365.
				b.ReportMetric(fresh, "fresh-B/leg")
				b.ReportMetric(later, "after-signature-B/leg")
				b.ReportMetric(fresh*share+later*(1-share), "year-mean-B/leg")
				b.ReportMetric(float64(legs)/float64(transactions), "legs/tx")
			}
		})
	}
}

// bytesPerLeg merges swaps_raw to its end, as often as its rows' age asks for, and says what a leg
// takes.
func (s *tables) bytesPerLeg(b *testing.B) (bytes float64, legs, transactions uint64) {
	b.Helper()
	for range 2 {
		require.NoError(b, s.conn.Exec(b.Context(), "OPTIMIZE TABLE mintlake.swaps_raw FINAL"))
	}
	const parts = " WHERE database = 'mintlake' AND table = 'swaps_raw' AND active"
	var size uint64
	require.NoError(b, s.conn.QueryRow(b.Context(), "SELECT sum(bytes_on_disk), sum(rows) FROM system.parts"+parts).Scan(&size, &legs))
	require.NoError(b, s.conn.QueryRow(b.Context(), "SELECT uniqExact(signature_head) FROM mintlake.swaps_raw").Scan(&transactions))
	b.Log("bytes a leg by column:", s.rows(b, "SELECT column, round(sum(column_data_compressed_bytes) / sum(rows), 2) AS b"+
		" FROM system.parts_columns"+parts+" GROUP BY column HAVING b >= 0.1"))
	return float64(size) / float64(legs), legs, transactions
}
